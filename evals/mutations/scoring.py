"""Every defect in every program that has room for it: is it found, where, and does the safe edit mend it?"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context

from ...tools.registry import modules
from .loops import DEFECTS, programs
from .planting import Defect, Lines, named, plain, tag
from .scene import Scene, forms

SCENES: tuple[Scene, ...] = tuple(
    s for part in ("learning", "answering") for room in modules(f"{__package__}.scenes.{part}") for s in room.SCENES
)


@dataclass(frozen=True)
class Case:
    """A defect in one program."""

    name: str
    code: str
    text: str
    sound: str
    """The same program without the defect."""
    rows: frozenset[int]
    """Lines of which one must be named."""


def cases() -> Iterator[Case]:
    """Every defect in every program that has room for it."""
    for i, (name, lines, defects) in enumerate(sound()):
        for j, defect in enumerate(defects):
            spoilt = defect.plant(lines)
            if [x for x in spoilt if x.strip()] != [x for x in lines if x.strip()]:
                seed = 1000 * i + j
                rows = frozenset(n for n, x in enumerate(spoilt, 1) if tag(x) in defect.shown)
                yield Case(name, defect.code, plain(named(spoilt, seed)), plain(named(lines, seed)), rows)


def sound() -> Iterator[tuple[str, Lines, tuple[Defect, ...]]]:
    """(name, lines, what can be planted) of every program: the loops, and each scene in each form."""
    yield from ((name, lines, DEFECTS) for name, lines in programs())
    for scene in SCENES:
        yield from ((f"{scene.name}-{form}", lines, scene.defects) for form, lines in forms(scene))


@dataclass
class Score:
    """What was found of one defect."""

    planted: int = 0
    found: int = 0
    on_line: int = 0


def measure() -> tuple[dict[str, Score], list[str], Counter[str]]:
    """Scores by defect, the cases that were missed, and what else was found in sound programs."""
    from ...tools.code.check import RULES, judged
    from ...tools.code.source import parse

    scores: dict[str, Score] = defaultdict(Score)
    missed: list[str] = []
    for case in cases():
        found, _ = judged(parse(case.text, "train.py"), [RULES[case.code]])
        score = scores[case.code]
        score.planted += 1
        score.found += bool(found)
        right = any(e.line in case.rows for f in found for e in f.evidence[:1])
        score.on_line += right
        if not right:
            missed.append(f"{case.code} in {case.name}: {'another line' if found else 'not found'}")
    alarms: Counter[str] = Counter()
    for i, (name, lines, _) in enumerate(sound()):
        found, _ = judged(parse(plain(named(lines, 1000 * i)), "train.py"), RULES.values())
        alarms.update(f"{f.severity} {f.code} in {name}" for f in found)
    return dict(scores), missed, alarms


def restored() -> tuple[int, int, list[str]]:
    """(programs that train as before once mended, programs that were mended and run, the others).

    Only the twenty-five loops are run: the scenes name devices, ranks and models that are not there.
    """
    from ...tools.code.mend import mended

    pairs = []
    runnable = {name for name, _ in programs()}
    for case in cases():
        text = mended(case.text, "train.py", {case.code}) if case.name in runnable else case.text
        if text != case.text:
            pairs.append((f"{case.code} in {case.name}", text, case.sound))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same = list(pool.map(_same, pairs, chunksize=8))
    return sum(same), len(same), [name for (name, _, _), ok in zip(pairs, same, strict=True) if not ok]


def _same(pair: tuple[str, str, str]) -> bool:
    return _trained(pair[1]) == _trained(pair[2])


def _trained(text: str) -> str:
    """The size of the weights that a program made here trains, its last line; or why it ended."""
    import torch

    torch.set_num_threads(1)
    told = io.StringIO()
    try:
        with redirect_stdout(told):
            exec(compile(text, "train.py", "exec"), {"__name__": "__main__"})
    except Exception as error:  # what a spoilt program dies of is its result
        return f"{type(error).__name__}: {error}"
    return told.getvalue().strip().rpartition("\n")[2]
