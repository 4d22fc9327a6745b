"""Two results of which one was asked with a chat template and the other without, where that one's scores are lower.

A model that was tuned on conversations answers raw text worse, or in a form that the scorer does not read: what the
scores part by is how it was asked. Two templates of two models are each its own and say nothing; a base model that is
asked raw and scores higher is usual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...findings import Evidence, Finding, Severity
from ...heads import beginning
from ...patterns import bounded
from ...run import Run
from .moved import Moved, Result

KEY = bounded(r"(?i)template(?!_?(?:sha|hash|name|path|file))|模板")
OFF = bounded(r"(?i)^(?:none|null|false|no|off|0|raw|plain|disabled|无|没有|关|关闭)$")
"""Values that say that no template was laid around the questions."""
HARNESS = bounded(
    r"(?i)\b(?:lm[_-]eval\w*|lighteval|opencompass|evalscope|evalplus|swift eval|bigcode\w*)\b|eval\w*\.py"
)
SETS = bounded(r"(?i)--?[\w-]{0,24}template[\w-]{0,24}|\b[\w.]{0,24}template[\w.]{0,24}\s?[=:]")
"""How a command asks for a template."""
BYTES, LENIENT = 1 << 18, 10.0
"""Bytes of a script that are looked at; points by which a lenient reading of the same answers scores higher."""


def asked_raw(run: Run, a: Result, b: Result, moved: Sequence[Moved]) -> Finding | None:
    """The one of two results that was asked without a template, and its scores beside those of the other."""
    keys = [k for k, v in a.general.items() if KEY.search(k) and k in b.general and _off(v) != _off(b.general[k])]
    if not keys or not moved or (a.model and a.model == b.model):
        return None
    flipped = _off(a.general[keys[0]])
    raw, other = (a, b) if flipped else (b, a)
    pairs = [(t.task, *((t.before, t.after) if flipped else (t.after, t.before))) for t in moved]
    if any(mine >= theirs for _, mine, theirs in pairs):
        return None
    pairs.sort(key=lambda p: p[1] - p[2])
    scores = ", ".join(f"{task} {mine:.1f} / {theirs:.1f}" for task, mine, theirs in pairs[:4])
    en, zh, places = _commands(run, raw, other)
    lenient = _lenient(raw, other)
    en, zh = (text + (f"; {lenient[i]}" if lenient else "") for i, text in enumerate((en, zh)))
    task, mine, theirs = pairs[0]
    return Finding(
        "asked-without-template", Severity.S2,
        f"{_of(raw)} was asked without a chat template ({keys[0]} none), {_of(other)} with one: {scores}{en}. Scores "
        "of two ways to ask cannot be compared.",
        f"{_of(raw)} 评测时没有用 chat template（{keys[0]} 为空），{_of(other)} 用了：{scores}{zh}。"
        "两种提问方式的得分不可比。",
        (Evidence(raw.file, raw.at(keys[0]), text=f"{keys[0]} {raw.general[keys[0]][:40]}"), *places,
         Evidence(raw.file, raw.at(task), metric="eval", value=round(mine, 4), text=task),
         Evidence(other.file, other.at(task), metric="eval", value=round(theirs, 4), text=task)),
        {"score": task, "task": task, "before": theirs, "after": mine, "settings": [[k, "none", "set"] for k in keys],
         "names": f"{_of(raw)}, {places[0].file}:{places[0].line}" if places else _of(raw)},
    )  # fmt: skip


def _off(value: str) -> bool:
    return not value.strip() or OFF.search(value.strip()) is not None


def _of(result: Result) -> str:
    """The model where the file names it, else the file."""
    return result.model or result.file


def _commands(run: Run, raw: Result, other: Result) -> tuple[str, str, list[Evidence]]:
    """The command of the scripts that made the raw result and asks for no template, and the other's that does."""
    lines = list(_launches(run))
    mine = next((x for x in lines if _names(x[2], raw) and not _names(x[2], other) and not SETS.search(x[2])), None)
    theirs = next(((x, m) for x in lines if _names(x[2], other) and (m := SETS.search(x[2]))), None)
    if mine is None:
        return "", "", []
    places = [Evidence(mine[0], mine[1], text=mine[2].strip()[:200])]
    en, zh = f"; {mine[0]}:{mine[1]} does not set it", f"；{mine[0]}:{mine[1]} 没有设置"
    if theirs is not None:
        (file, line, text), found = theirs
        places.append(Evidence(file, line, text=text.strip()[:200]))
        en, zh = f"{en}, {file}:{line} has {found[0].strip()}", f"{zh}，{file}:{line} 有 {found[0].strip()}"
    return en, zh, places


def _launches(run: Run) -> Iterator[tuple[str, int, str]]:
    """(file, line, text) of the commands of scripts that start an evaluation, with the lines that go on."""
    for artifact in run.of("script"):
        text = re.sub(r"\\\r?\n", "  ", beginning(artifact.path, BYTES))
        for n, line in enumerate(text.splitlines(), 1):
            if HARNESS.search(line) and not line.lstrip().startswith("#"):
                yield artifact.name, n, line[:2000]


def _names(command: str, result: Result) -> bool:
    """Whether a command names the model of a result, or the folder that it lies in."""
    folder = result.file.rpartition("/")[0].rpartition("/")[2]
    words = {w for w in (result.model, folder) if len(w) > 2}
    return any(re.search(rf"(?<![\w.-]){re.escape(w)}(?![\w-])", command) for w in words)


def _lenient(raw: Result, other: Result) -> tuple[str, str] | None:
    """A task whose answers a more lenient reading finds right in the raw result, far more than in the other."""
    for task, metrics in raw.scores.items():
        theirs = other.scores.get(task, {})
        shared = [m for m in metrics if m in theirs]
        scale = 100.0 if all(v <= 1 for v in (*metrics.values(), *theirs.values())) else 1.0
        if len(shared) > 1:
            low, high = min(shared, key=lambda m: metrics[m]), max(shared, key=lambda m: metrics[m])
            gap, usual = (scale * (x[high] - x[low]) for x in (metrics, theirs))
            if gap >= max(LENIENT, 2 * abs(usual)):
                x, y = scale * metrics[low], scale * metrics[high]
                return (f"{task} is {y:.1f} there by {high}, {x:.1f} by {low}: the form is off more than the answer",
                        f"同一批回答按 {high} 读 {task} 为 {y:.1f}，按 {low} 为 {x:.1f}：主要是格式不对")  # fmt: skip
    return None
