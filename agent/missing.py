"""What is missing before a run in which nothing wrong was found may be called healthy, worst first.

Files that could show a fault and were not read; what the person describes and nobody measured, or what is there after
all; a sign that something strange was measured; a run that had not come to its planned end; a main series too short for
the check that would call it clear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..tools.findings import Check, Finding, clean
from ..tools.kinds import shows
from ..tools.logs.plan import PLANNED
from ..tools.phrase import phrases, pick
from ..tools.vocabulary import VOCABULARY
from .coverage import Covered
from .question.symptoms import Symptom

SIGN = "sign-"
"""Beginning of the codes of signs."""
SHOWN = ("S0", "S1", "S2")
FINE = "run-healthy"
"""The reassurance; of a whole run it may rest on few points."""
FAR_APART = 1.5
"""Times by which one side of a grouping takes longer, from which on a run is not called healthy. Own judgement."""
MAIN = ("loss-spike", "reward-flat")
"""The checks of the main series: what they are too short for, nobody has looked at."""
SAID = phrases(
    "what is missing",
    ("file", "{file} was not read ({why})", "没有读 {file}（{why}）"),
    ("plain", "{file} was not read", "没有读 {file}"),
    ("open-end", "{name} cannot be excluded: nothing shows that the run came to its planned end",
     "不能排除“{name}”：没有看到运行走到计划的终点"),
    ("unmeasured", "{name} was not measured", "没有测到“{name}”相关的量"),
    ("short", "{name} cannot be judged yet ({why})", "“{name}”还无法判断（{why}）"),
    ("there", "{name} is there, if only as a note", "“{name}”确实存在，虽只是提示"),
    ("sign", "{what}", "{what}"),
    ("unfinished", "nothing shows how it ended, and it had not come to its planned end",
     "看不到它是怎样结束的，且还没有走到计划的终点"),
    ("main", "the main series are too short ({why})", "主要曲线太短（{why}）"),
)  # fmt: skip


@dataclass(frozen=True)
class Missing:
    """One thing that is missing."""

    en: str
    zh: str
    file: str = ""
    """The file that was not read."""

    def say(self, lang: str) -> str:
        return pick(lang, self.en, self.zh)


def missing(
    covered: Iterable[Covered], symptoms: Iterable[Symptom], checks: Sequence[Check], findings: Sequence[Finding]
) -> tuple[Missing, ...]:
    """Everything that keeps a run from being called healthy.

    Args:
        covered: the account of its files.
        symptoms: what the person describes.
        checks: what was looked at.
        findings: what was found.
    """
    unread = sorted((c for c in covered if c.missed), key=_first)
    return (
        *(_file(c) for c in unread),
        *(one for s in symptoms if (one := undecided(s, checks, findings))),
        *_strange(findings),
        *_unfinished(checks),
        *(() if any(f.code == FINE and f.data.get("whole") for f in findings) else _short(checks)),
    )


def _first(c: Covered) -> tuple[bool, bool, str]:
    """Trackers and what is named like a log, metrics or results before notes."""
    name = PurePosixPath(c.file).name
    return not ("tfevents" in name or name.endswith(".wandb")), not shows(name), c.file


def _file(c: Covered) -> Missing:
    why, file = clean(c.why, 120).rstrip("."), clean(c.file, 80)
    known = why and why != "no reader knows this kind of file"
    said = SAID["file" if known else "plain"]
    return Missing(said.say("en", file=file, why=why), said.say("zh", file=file, why=why), c.file)


def undecided(symptom: Symptom, checks: Sequence[Check], findings: Sequence[Finding]) -> Missing | None:
    """Why a symptom is not known to be absent; None where the checks that look for it came to a result.

    One that ends a run leaves no trace where the log only breaks off: that it came to its planned end is asked for too.
    """
    if any(f.code in symptom.kind.codes or _moved(f, symptom) for f in findings):
        return _said("there", symptom)
    looking = list(_looking(symptom))
    made = [c for name in looking for c in checks if c.name == name]
    judged = any(c.result in ("clear", "found") for c in made)
    if symptom.kind.ends and not any(c.name == PLANNED and c.result == "clear" for c in checks):
        return _said("open-end", symptom)
    short = next((c for c in made if c.result == "too-short" and (c.name == looking[0] or not judged)), None)
    if short:
        return _said("short", symptom, short)
    return None if judged else _said("unmeasured", symptom)


def _moved(f: Finding, symptom: Symptom) -> bool:
    """Whether the finding is more than a note on a metric that shows the symptom, whatever it calls it."""
    return f.severity in SHOWN and any(e.metric in symptom.kind.metrics for e in f.evidence)


def _looking(symptom: Symptom) -> dict[str, None]:
    """Names of the checks that look for a symptom; of one that metrics show, those that read these metrics."""
    from ..tools.catalogue import checks as that_look_for  # imports every tool
    from ..tools.logs.detectors.detect import DETECTORS

    names = dict.fromkeys(name for code in symptom.kind.codes for name in that_look_for(code))
    wanted = set(symptom.kind.metrics)
    measuring = {name for name in names if name in DETECTORS and wanted.intersection(DETECTORS[name].needs)}
    return {name: None for name in names if name in measuring} if measuring else names


def _said(key: str, symptom: Symptom, check: Check | None = None) -> Missing:
    name = symptom.kind.name
    en, zh = ((check.say(lang) if check else "") for lang in ("en", "zh"))
    return Missing(SAID[key].say("en", name=name.en, why=en), SAID[key].say("zh", name=name.zh, why=zh))


def _strange(findings: Sequence[Finding]) -> Iterator[Missing]:
    """The signs of failures that are more than notes, and every such finding where the run is judged by few points:
    somebody has to say what they mean."""
    few = any(f.code == FINE and f.data.get("whole") for f in findings)
    for f in findings:
        doubtful = f.severity in SHOWN and (few or f.code.startswith(SIGN))
        if doubtful or _apart(f):
            en, zh = (clean(f.say(lang), 120).rstrip(".。") for lang in ("en", "zh"))
            yield Missing(SAID["sign"].say("en", what=en), SAID["sign"].say("zh", what=zh))


def _apart(f: Finding) -> bool:
    """Whether groups lie far apart in a measure of which one side is worse, and nobody says why."""
    metric = VOCABULARY.get(str(f.data.get("metric")))
    value, others = f.data.get("value"), f.data.get("others")
    if f.code != "group-differs" or metric is None or not metric.better or not value or not others:
        return False
    return metric.unit == "s" and max(value / others, others / value) >= FAR_APART


def _unfinished(checks: Sequence[Check]) -> Iterator[Missing]:
    if any(c.name == PLANNED and c.result == "found" for c in checks):
        yield Missing(SAID["unfinished"].say("en"), SAID["unfinished"].say("zh"))


def _short(checks: Sequence[Check]) -> Iterator[Missing]:
    main = [c for c in checks if c.name in MAIN]
    short = [c for c in main if c.result == "too-short"]
    if short and not any(c.result in ("clear", "found") for c in main):
        yield Missing(SAID["main"].say("en", why=short[0].why), SAID["main"].say("zh", why=short[0].say("zh")))
