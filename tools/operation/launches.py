"""How the processes of a job are started: more of them than they are given devices, a size of the model that their
number does not divide, one rank given to two of them.

Read from scripts, from the end of logs and from lines in which each process says its rank and the world, whatever the
program is called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from ..findings import Check, Evidence, Finding, Report, Severity, clean, declare
from ..heads import beginning
from ..patterns import bounded
from ..run import Run

CHECK = "processes against the devices, sizes and ranks that they are given"
CODES = declare(
    "launches",
    ("processes-exceed-devices", CHECK, "a launcher starts more processes on a machine than its job is given devices"),
    ("heads-cut-unevenly", CHECK, "weights are cut by a number of devices that does not divide the model's heads"),
    ("ranks-given-twice", CHECK, "machines of one job start the same ranks, and others are started by none"),
)
FILES, BYTES, END, LINE = 80, 256 << 10, 64 << 10, 600
GIVEN = bounded(
    r"gres[= ]gpu(?::[A-Za-z][\w-]{0,30})?:(\d{1,3})\b|--gpus-per-node[= ](?:[a-z]\w{0,20}:)?(\d{1,3})\b"
    r"|\bngpus=(\d{1,3})\b|nvidia\.com/gpu[\"']?\s?:\s?[\"']?(\d{1,3})\b|docker run .{0,80}--gpus[= ](\d{1,3})\b"
)
VISIBLE = bounded(r"\b(?:CUDA|ASCEND_RT|HIP)_VISIBLE_DEVICES=[\"']?(\d{1,3}(?:,\d{1,3}){0,127})(?![\w,$])")
ASKED = bounded(
    r"--?(?:nproc[_-]per[_-]node|num_gpus|n_?gpus_per_node|devices_per_node)[= ][\"']?(\$?\{?[A-Za-z_0-9:-]{1,60}\}?)"
)
FALLS_BACK = bounded(r"^\$?\{?([A-Za-z_]\w{0,40})(?::?[-=](\d{1,3}))?\}?$")
ELSEWHERE = bounded(r"(?i)\bgloo\b|oversubscribe|\bmps\b|nvidia-cuda-mps|use_cpu|--cpu\b")
CUT = bounded(r"shape '\[(-?\d{1,12}(?:, -?\d{1,12}){1,7})\]' is invalid for input of size (\d{1,15})")
HEADS = bounded(r"\"(num_attention_heads|num_heads|n_heads?|num_key_value_heads|n_kv_heads)\"\s?:\s?(\d{1,4})\b")
RANKED = bounded(
    r"(?<![\w.])(?:global_?|g)?r(?:an)?k?[=: ]\s?(\d{1,5})[,;\s/|]{1,3}(?:\w{1,12}[=: ]\s?\d{1,5}[,;\s]{1,2}){0,2}?"
    r"(?:of |w(?:orld)?(?:_?s(?:ize)?)?[=: ]\s?|n?procs[=: ]\s?|size[=: ]\s?)(\d{1,5})\b", re.IGNORECASE
)  # fmt: skip
LEAST_FILES = 3


class At(NamedTuple):
    """A number, and where it stands."""

    value: int
    evidence: Evidence


def check_launches(run: Run) -> Report:
    """Where the processes of a job cannot be what they are started as."""
    found = [*_exceed(run), *_uneven(run), *_twice(run)]
    scripts = any(True for _ in run.of("script"))
    return Report(
        "launches", tuple(found), (Check(CHECK, "found" if found else "clear" if scripts else "not-applicable"),)
    )


def _exceed(run: Run) -> Iterator[Finding]:
    """Scripts that start more processes on a machine than it gives devices."""
    for artifact in islice(run.of("script", "config"), FILES):
        text = (
            beginning(artifact.path, BYTES) if artifact.path.suffix not in (".py", ".ipynb", ".diff", ".patch") else ""
        )
        if not ("nproc" in text or "gpus" in text) or ELSEWHERE.search(text):
            continue
        lines = [(i, line[:LINE]) for i, line in enumerate(text.splitlines(), 1) if _speaks(line)]
        given, asked = [*_given(lines, artifact.name)], [*_asked(lines, artifact.name)]
        if not given or not asked:
            continue
        most, least = max(given), min(asked)
        if least.value <= most.value:
            continue
        yield Finding(
            "processes-exceed-devices", Severity.S1,
            f"{artifact.name}:{least.evidence.line} starts {least.value} processes on a machine, and line "
            f"{most.evidence.line} gives the job {most.value} devices: processes {most.value} to {least.value - 1} "
            "have none.",
            f"{artifact.name}:{least.evidence.line} 每台机器启动 {least.value} 个进程，而第 {most.evidence.line} 行只给"
            f" {most.value} 张卡：第 {most.value} 到 {least.value - 1} 号进程没有卡可用。",
            (least.evidence, most.evidence), {"processes": least.value, "devices": most.value},
        )  # fmt: skip
        return


def _speaks(line: str) -> bool:
    bare = line.lstrip()
    return not bare.startswith("#") or bare.startswith(("#SBATCH", "#PBS", "#BSUB", "#$"))


def _given(lines: list[tuple[int, str]], name: str) -> Iterator[At]:
    for i, line in lines:
        for found in GIVEN.finditer(line):
            number = int(next(g for g in found.groups() if g))
            if number:
                yield At(number, Evidence(name, i, text=clean(line.strip(), 200)))
        for found in VISIBLE.finditer(line):
            yield At(found[1].count(",") + 1, Evidence(name, i, text=clean(line.strip(), 200)))


def _asked(lines: list[tuple[int, str]], name: str) -> Iterator[At]:
    for i, line in lines:
        for found in ASKED.finditer(line):
            if (number := _number(found[1], lines)) is not None:
                yield At(number, Evidence(name, i, text=clean(line.strip(), 200)))


def _number(said: str, lines: list[tuple[int, str]]) -> int | None:
    """The number that is said, or that the variable has which is named; None where it is told twice."""
    if said.isdecimal():
        return int(said)
    variable = FALLS_BACK.match(said)
    if variable is None or not said.startswith("$"):
        return None
    if variable[2]:
        return int(variable[2])
    given = re.compile(
        rf"\b{re.escape(variable[1])}=[\"']?(?:\$\{{{re.escape(variable[1])}:?[-=])?(\d{{1,3}})\}}?(?![\w.])"
    )
    numbers = {int(m[1]) for _, line in lines if (m := given.search(line))}
    return numbers.pop() if len(numbers) == 1 else None


def _uneven(run: Run) -> Iterator[Finding]:
    """A log that ends in weights cut by a number that does not divide the heads."""
    heads = [h for a in islice(run.of("config", "tokenizer"), FILES) if a.path.suffix == ".json"
             for h in _heads(a.path, a.name)]  # fmt: skip
    for artifact in islice(run.of("log"), FILES) if heads else ():
        for number, dims, size, text in _cuts(artifact.path):
            for head_ in heads:
                ways = next((w for w, own in pairwise(dims)
                             if w > 1 and head_.value % w and own == head_.value // w), None)  # fmt: skip
                rest = math.prod(d for d in dims if d > 0)
                if ways is None or size % rest == 0 or size % head_.value:
                    continue
                ours = [w for w in range(1, head_.value + 1) if head_.value % w == 0][:6]
                where = f"{artifact.name}:{number}" if number else artifact.name
                yield Finding(
                    "heads-cut-unevenly", Severity.S1,
                    f"{where} cuts {head_.value} heads ({head_.evidence.file}:{head_.evidence.line}) over {ways} "
                    f"devices: {head_.value} is no multiple of {ways}, and {ways} x {head_.value // ways} heads are "
                    f"not the whole matrix. It divides by {', '.join(map(str, ours))}.",
                    f"{where} 把 {head_.value} 个头（{head_.evidence.file}:{head_.evidence.line}）切到 {ways} 张卡："
                    f"{head_.value} 不是 {ways} 的整数倍，{ways} x {head_.value // ways} 个头凑不成整个矩阵。可用 "
                    f"{', '.join(map(str, ours))}。",
                    (Evidence(artifact.name, number or None, text=clean(text, 200)), head_.evidence),
                    {"heads": head_.value, "ways": ways},
                )  # fmt: skip
                return


def _heads(path: Path, name: str) -> Iterator[At]:
    for i, line in enumerate(beginning(path, BYTES).splitlines()[:2000], 1):
        for found in HEADS.finditer(line[:LINE]):
            yield At(int(found[2]), Evidence(name, i, text=clean(line.strip(), 200)))


def _cuts(path: Path) -> Iterator[tuple[int, list[int], int, str]]:
    """(line, dimensions, size, text) of refused shapes in the end of a log; line 0 where its start was not read."""
    with suppress(OSError):
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - BYTES))
            data = file.read(BYTES)
        if b"is invalid for input of size" not in data:
            return
        for i, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if "is invalid for input" in line and (found := CUT.search(line[:LINE])):
                yield i if size <= BYTES else 0, [int(d) for d in found[1].split(", ")], int(found[2]), line.strip()


def _twice(run: Run) -> Iterator[Finding]:
    """Logs, one for each machine, of which two say the same ranks while others are said by none."""
    told: dict[str, dict[int, Evidence]] = {}
    worlds: set[int] = set()
    for artifact in islice(run.of("log"), FILES):
        text = beginning(artifact.path, BYTES)[:END]
        if "r=" not in text and "ank" not in text and "RANK" not in text:
            continue
        for i, line in enumerate(text.splitlines(), 1):
            if ("=" in line or "ank" in line) and (found := RANKED.search(line[:LINE])):
                told.setdefault(artifact.name, {}).setdefault(
                    int(found[1]), Evidence(artifact.name, i, text=clean(line))
                )
                worlds.add(int(found[2]))
    world = worlds.pop() if len(worlds) == 1 else 0
    if len(told) < LEAST_FILES or world < LEAST_FILES or sum(map(len, told.values())) != world:
        return
    missing = sorted(set(range(world)) - {rank for ranks in told.values() for rank in ranks})
    same = [(a, b) for i, a in enumerate(told) for b in list(told)[:i] if told[a].keys() == told[b].keys()]
    if not missing or not same or any(rank >= world for ranks in told.values() for rank in ranks):
        return
    a, b = sorted(same[0])
    ranks = sorted(told[a])
    said = f"{ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else str(ranks[0])
    none = f"{missing[0]} to {missing[-1]}" if len(missing) > 1 else str(missing[0])
    yield Finding(
        "ranks-given-twice", Severity.S1,
        f"{a} and {b} both start the ranks {said} of a world of {world}, and {none} are started by nobody: the group "
        "can never be complete.",
        f"{a} 和 {b} 都启动了 rank {said.replace(' to ', ' 到 ')}（world {world}），而 {none.replace(' to ', ' 到 ')} "
        "没有任何进程：进程组永远凑不齐。",
        (told[a][ranks[0]], told[b][ranks[0]]), {"twice": ranks[:40], "missing": missing[:40], "whole": world},
    )  # fmt: skip
