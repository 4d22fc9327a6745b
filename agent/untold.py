"""Why what a person complains of is not known to be absent: what measures it, which way that goes, which scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath

from ..tools.findings import Finding, clean
from ..tools.logs.detectors.robust import finite, mann_kendall
from ..tools.metrics import named
from ..tools.patterns import bounded
from ..tools.phrase import phrases, pick
from ..tools.scores import NOT_A_SCORE
from ..tools.series import Series
from ..tools.tables.table import Table
from ..tools.vocabulary import VOCABULARY
from .printed import Printed
from .question.complaints import Complaint

MOVES = 3.0
"""The z of Kendall's tau over the later half of a series, from which on it goes the way that the person says."""
CLAUSE = 90
"""Characters of the person's own words that are said back."""
NOTED = "differs-beside"
"""The note of what an earlier run beside this one measured otherwise."""
SLOW = "slow"
"""The symptom of a speed that is too low."""
BESIDE = ("behind-sibling", "batch-fell-rate-kept", NOTED)
"""Findings of one run against another, beside it."""
MOST_SCORES = 4
"""Values of a score that are said back."""
SAID = phrases(
    "what is told and not measured",
    ("told", "nothing that was read measures what you say (“{said}”): bring the file in which it is seen, outputs or "
     "an evaluation before and after", "读到的内容都没有测到你说的“{said}”：请给出能看到它的文件，或前后的输出、评测"),
    ("told-there", "{key} goes {way} as you say ({first:.4g} to {last:.4g} over the later half)",
     "{key} 确如你所说在{way}（后半程从 {first:.4g} 到 {last:.4g}）"),
    ("told-between", "nothing that was read explains what you say (“{said}”): bring both sides with their settings, "
     "data and how each was measured", "读到的内容解释不了你说的“{said}”：请给出两边各自的设置、数据和评测方式"),
    ("told-sudden", "nothing that was read explains what you say (“{said}”): bring what changed then, in data, code or "
     "settings", "读到的内容解释不了你说的“{said}”：请给出当时数据、代码或设置的改动"),
    ("told-scored", "the scores that you name were read ({scores}), and nothing else that was read says what parts "
     "them (“{said}”): bring how each was measured and what was changed in between",
     "你说的得分读到了（{scores}），但读到的内容没有说明差别从何而来（“{said}”）：请给出各自的评测方式和其间的改动"),
    ("told-versions", "what you compare was measured ({scores}), and nothing that was read says what parts the two: "
     "bring what was changed in between",
     "你比较的两者测过（{scores}），但读到的内容没有说明差别从何而来：请给出其间的改动"),
    ("told-measured", "what you say (“{said}”) was measured: {went}; nothing that was read says whether that is wrong",
     "你说的“{said}”有记录：{went}；但读到的内容没有说明这是否不正常"),
    ("went", "{key} {first:.4g} to {last:.4g}, between {low:.4g} and {high:.4g} ({file})",
     "{key} 从 {first:.4g} 到 {last:.4g}，介于 {low:.4g} 和 {high:.4g} 之间（{file}）"),
)  # fmt: skip
STEM, ENDING = 4, 4
"""Letters of a part of a name that a word may begin with, and the most by which the word is longer."""
MOST_SERIES = 2
"""Series that are said back."""
USUAL = frozenset((
    "accuracy", "score", "scores", "loss", "train", "training", "eval", "evaluation", "valid", "validation", "test",
    "rate", "ratio", "frac", "fraction", "share", "percent", "mean", "total", "time", "step", "steps", "model", "base",
    "acc", "val", "dev", "avg", "max", "min", "norm", "grad", "token", "tokens", "sample", "samples", "per", "sec",
    "data", "batch", "num", "count", "learn", "learning", "reward", "speed", "memory", "number", "results", "result",
    "exact", "match", "pass", "task", "new", "old", "set", "all", "run",
))  # fmt: skip
"""Parts of names of measures that tell none from another."""
_YEARS, _LINE = re.compile(r"(?<![\w.])\d{4}(?![\w.])"), re.compile(r":\d+$")
Said = tuple[str, float, str]
"""Name of a score, its value in points, its file."""


@dataclass(frozen=True)
class Missing:
    """One thing that is missing."""

    en: str
    zh: str
    file: str = ""
    """The file that was not read."""
    later: bool = False
    """Whether only what the run does next will tell."""
    told: bool = False
    """Whether it is how the measure stands that is asked about, and no gap in what was read."""

    def say(self, lang: str) -> str:
        return pick(lang, self.en, self.zh)


def untold(
    complaint: Complaint,
    series: Sequence[Series],
    findings: Sequence[Finding],
    scores: Sequence[Said],
    clear: frozenset[str] = frozenset(),
) -> Missing | None:
    """Why what the person complains of is not known to be absent; None where it is measured and does not go so, a
    finding says that it does, or it goes as a policy's does whose reward rises.

    Args:
        complaint: what the person says.
        series: what was measured.
        findings: what was found.
        scores: those of the tables.
        clear: names of the checks that found nothing.
    """
    if shown_beside(complaint, findings):
        return None
    held = next((f for f in findings if f.code in COMPARED and speaks_of(complaint.text, f)), None)
    if held is not None:
        numbers = [{"scores": clean(held.say(lang), CLAUSE * 2).rstrip(".。")} for lang in ("en", "zh")]
        en, zh = (SAID["told-versions"].say(lang, **n) for lang, n in zip(("en", "zh"), numbers, strict=True))
        return None if held.code == CHANCE else Missing(en, zh)
    named = [s for s in series if s.metric in complaint.metrics]
    own = named or [s for s in series if _called(s, complaint)]
    said = clean(complaint.text, CLAUSE).rstrip(".。?？!！")
    scored = "" if own else _scored(complaint, scores)
    if scored:
        return Missing(SAID["told-scored"].say("en", said=said, scores=scored),
                       SAID["told-scored"].say("zh", said=said, scores=scored))  # fmt: skip
    if not own and (went := _went(series, complaint, said)):
        return went
    if not own or complaint.sudden or complaint.between:
        key = "told-between" if complaint.between else "told-sudden" if own else "told"
        return Missing(SAID[key].say("en", said=said), SAID[key].say("zh", said=said))
    for s in [s for s in own if _parts(s) & complaint.words - _WHOLE] or own:
        worse = -VOCABULARY[metric].better if (metric := _metric(s, complaint)) else 0
        late = finite(s).values[len(s) // 2 :]
        up = complaint.way == "up"
        by_design = BY_DESIGN.get(s.metric, "") in clear and any(f.code == "run-healthy" for f in findings)
        if complaint.way and worse == (1 if up else -1) and worse * mann_kendall(late)[1] >= MOVES and not by_design:
            numbers = {"key": clean(s.key, 60), "first": float(late[0]), "last": float(late[-1])}
            return Missing(
                SAID["told-there"].say("en", way=complaint.way, **numbers),
                SAID["told-there"].say("zh", way="上升" if up else "下降", **numbers),
            )
    return None


BY_DESIGN = {"kl": "kl-above-range", "entropy": "entropy-collapse"}
"""Measures that a policy which learns moves, and the check that tells when they went too far."""
CHANCE = "versions-within-noise"
COMPARED = (CHANCE, "versions-differ", "version-worse", "checkpoint-worse")
"""Findings that hold one version against another."""
_VERSION = bounded(
    r"\b(?:checkpoints?|ckpts?|versions?|releases?|models?|new one|seeds?)\b|检查点|版本|模型|种子", re.IGNORECASE
)
_AGAINST = bounded(
    r"\b(?:worse|better|regress\w*|degrad\w*|drop\w*|fell|fall\w*|improv\w*|lower|higher)\b|差|退步|退化|变好|提升|掉|降",
    re.IGNORECASE,
)


def speaks_of(text: str, f: Finding) -> bool:
    """Whether a clause names one of the two versions that a finding compares, or its measure, or is of versions at all
    and of better and worse."""
    said = {w.strip(".").lower() for w in re.findall(r"[\w.]+", text)}
    versions = {str(v).lower() for v in f.data.get("versions", ())}
    short = {f"{float(v) / 1000:g}k" for v in versions if v.isdecimal()}
    measure = {w[:5] for w in re.split(r"[\W_]+", str(f.data.get("measure", "")).lower()) if len(w) > 4}
    if said & (versions | short) or any(w[:5] in measure for w in said):
        return True
    return bool(_VERSION.search(text) and _AGAINST.search(text))


def _went(series: Sequence[Series], complaint: Complaint, said: str) -> Missing | None:
    """How the series went whose name holds a word that tells, in another form of it: `drop%` of what is dropped."""
    words = {w for w in complaint.words if len(w) >= STEM}
    held = [s for s in series if any(_same(p, w) for p in _parts(replace(s, group="")) - USUAL for w in words)]
    shown = [(s, v) for s in held if len(v := finite(s).values)][:MOST_SERIES]
    if not shown:
        return None
    en, zh = (
        ", ".join(
            SAID["went"].say(lang, key=clean(s.key, 60), file=clean(s.file, 80), first=float(v[0]), last=float(v[-1]),
                             low=float(v.min()), high=float(v.max()))
            for s, v in shown
        ) for lang in ("en", "zh")
    )  # fmt: skip
    return Missing(SAID["told-measured"].say("en", said=said, went=en),
                   SAID["told-measured"].say("zh", said=said, went=zh))  # fmt: skip


def _same(part: str, word: str) -> bool:
    """Whether a part of a name is a word but for its ending."""
    return len(part) >= STEM and word.startswith(part) and len(word) - len(part) <= ENDING


_WHOLE = frozenset(("loss", "train", "eval", "val"))
"""Parts of names that tell no series from another."""


def _parts(s: Series) -> set[str]:
    return set(re.split(r"[\W_]+", f"{s.key} {s.group}".lower()))


def _called(s: Series, complaint: Complaint) -> bool:
    """Whether the clause names an unknown series, by all the parts of its name or by what one of them means."""
    parts = {p for p in _parts(replace(s, group="")) if p}
    means = {name[0] for p in parts if (name := named(p))}
    return (
        bool(parts)
        and len(max(parts, key=len)) > 2
        and (parts <= complaint.words or s.key.lower() in complaint.words or bool(means & {*complaint.metrics}))
    )


def _metric(s: Series, complaint: Complaint) -> str:
    return next((m for m in (s.metric, *complaint.metrics) if m in VOCABULARY), "")


def shown_beside(complaint: Complaint, findings: Sequence[Finding]) -> bool:
    """Whether a better run beside this one shows the measure that is complained of, or any that is held against it."""
    beside = [f for f in findings if f.code in BESIDE]
    return any(e.metric in complaint.metrics for f in beside for e in f.evidence) or (
        complaint.between and not complaint.metrics and bool(beside)
    )


def noted_beside(metrics: Iterable[str], findings: Sequence[Finding]) -> Finding | None:
    """The note of an earlier run beside this one in which one of the metrics was otherwise."""
    wanted = {*metrics}
    return next((f for f in findings if f.code == NOTED and wanted & {e.metric for e in f.evidence}), None)


def _scored(complaint: Complaint, scores: Sequence[Said]) -> str:
    """The values of the scores that the clause names, where they were read: whole, or by a part of the name that is
    no word for any score."""
    words = {_bare(w) for w in complaint.words} | set(_YEARS.findall(complaint.text))
    whole = [one for one in scores if _bare(one[0]) in words]
    found = whole or [one for one in scores if _telling(one[0]) & words]
    said = dict.fromkeys(f"{name} {value:.4g} ({_place(file)})" for name, value, file in found)
    return ", ".join(clean(one, 80) for one in list(said)[:MOST_SCORES])


def _place(file: str) -> str:
    """A line of a log as it is, of a file of results its folder."""
    return file if _LINE.search(file) else PurePosixPath(file).parent.name or file


def _telling(name: str) -> set[str]:
    return {p for p in re.split(r"[\W_]+", name.lower()) if len(p) > 2 and p not in USUAL}


def scores_of(tables: Sequence[Table], printed: Sequence[Printed] = ()) -> list[Said]:
    """The scores of tables: those of result files, measures beside a task or named as a score; and what logs print."""
    said = [(name, value, f"{file}:{line}") for name, value, file, line in printed]
    return [*chain.from_iterable((_of_results(tables), *map(_of_scores, tables))), *said] if tables else said


def _of_results(tables: Sequence[Table]) -> list[Said]:
    """Scores of rows; of a file of one row with a score, its other measures too: they are scores that nobody knows."""
    from ..tools.relate.scores.read import scored_rows

    found = [(r.task or r.metric, r.value, r.evidence.file or "") for r in scored_rows(tables) if not r.item]
    files = {file for *_, file in found}
    known = {(_bare(name), file) for name, _, file in found}
    for table in (t for t in tables if len(t) == 1 and t.file in files):
        measures = [c for c in table.of("measure") if c.values.dtype.kind == "f" and not NOT_A_SCORE.search(c.name)]
        found += [
            (c.name, float(c.values[0]), table.file) for c in measures if (_bare(c.name), table.file) not in known
        ]
    return found


def _of_scores(table: Table) -> Iterator[Said]:
    if table.part != "scores":
        return
    columns = {c.name: c.values.tolist() for c in table.columns}
    values = [float(v) for v in columns.get("value", ())]
    scale = 100.0 if values and max(map(abs, values)) <= 1 else 1.0
    tasks = columns.get("task") or columns.get("metric") or [""] * len(values)
    yield from ((str(t), scale * v, table.file) for t, v in zip(tasks, values, strict=True))


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())
