"""The parts of an evaluation that was split over cards: lists of them in which one has nothing, or was written after
the merged file, a merge in the log while a worker goes on, and a script that merges without waiting.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from ...findings import Check, Evidence, Finding, Report, Severity, declare
from ...heads import beginning
from ...patterns import bounded
from ...run import Artifact, Run

LISTED, LOGGED, WRITTEN = "parts of an evaluation in lists", "merging while workers go on", "scripts that merge parts"
CODES = declare(
    "shards",
    (
        "part-without-rows",
        LISTED,
        "of the numbered parts of an evaluation one has no rows, or far fewer than all others",
    ),
    ("merged-before-part", (LISTED, LOGGED), "parts were merged before the last of them had been written"),
    (
        "merges-without-waiting",
        WRITTEN,
        "a script starts workers in the background and merges without waiting for them",
    ),
)
FILES, BYTES, LINES = 80, 4 << 20, 60_000
ROWS = bounded(r"\.(?:jsonl?|csv|tsv|txt|parquet|arrow|pkl|pt|out|ndjson)(?:\.gz)?$")
COUNTED = bounded(
    r"^\s{0,20}(\d{1,9})\s{1,8}(\S{3,200})\s*$"
    r"|^\s{0,8}[-*|]?\s{0,4}`?([\w./-]{3,200})`?\s{0,8}[:=|,\t ]\s{0,8}(\d{1,9})\s?(?:lines|rows|records|items"
    r"|answers|行|条|题)?\s?\|?\s*$"
)
SIZED = bounded(
    r"\s(\d{1,15})\s{1,4}(?:(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)\S{0,12}|([A-Z][a-z]{2}\s{1,2}\d{1,2}) "
    r"(\d\d:\d\d))"
    r"(?:\s[+-]\d{4})?\s{1,3}(\S{3,200})\s*$"
)
EVALUATES = bounded(
    r"(?i)(?<![a-z])(?:ans(?:wers?)?|preds?|predictions?|eval\w{0,8}|gen(?:erations?)?|outputs?|out|resp(?:onses?)?"
    r"|results?|scores?|merged?|infer\w{0,6}|bench\w{0,6}|complet\w{0,6}|hyps?)(?![a-z])|答|预测|评测|结果|合并|推理"
)
TRAINS = bounded(
    r"(?i)(?<![a-z])(?:train|corpus|pretrain|checkpoints?|ckpts?|optim\w{0,6}|model|weights)(?![a-z])|训练|语料"
)
MERGED = bounded(
    r"(?i)(?<![a-z])(?:merged?|all|final|total|joined|combined|scores?|results?|summary|metrics|report)(?![a-z])|合并|汇总|成绩"
)
LEAST, FEW = 4, 0.5
"""Parts of one pattern at least, and share of the usual rows below which a part is short."""


@dataclass(frozen=True)
class Part:
    """One file as a list tells of it."""

    name: str
    count: float | None
    """Rows, or bytes where only these are told."""
    time: float | None
    place: Evidence


def check_shards(run: Run) -> Report:
    """Look at every small text of a run for lists of parts, progress of workers, and scripts that merge."""
    texts = [(a, text) for a in run.artifacts[: FILES * 2] if (text := _text(a))][:FILES]
    found = {
        LISTED: [f for a, text in texts if not _is_script(a) for f in listed(_parts(a, text))],
        LOGGED: [*_logged([(a, text) for a, text in texts if not _is_script(a)])],
        WRITTEN: [f for a, text in texts if _is_script(a) for f in _scripts(a, text)],
    }
    checks = [Check(name, "found" if some else "clear") for name, some in found.items()]
    return Report("shards", tuple(f for some in found.values() for f in some[:2]), tuple(checks))


def _is_script(artifact: Artifact) -> bool:
    return artifact.path.suffix.lower() in (".sh", ".bash", ".slurm", ".sbatch")


def _text(artifact: Artifact) -> list[str]:
    suffix = artifact.path.suffix.lower()
    if suffix not in (".txt", ".log", ".out", ".err", ".md", ".sh", ".bash", ".slurm", ".sbatch", ".lst", ""):
        return []
    with suppress(OSError):
        if artifact.path.is_file() and artifact.path.stat().st_size <= BYTES:
            return beginning(artifact.path, BYTES).splitlines()[:LINES]
    return []


def _parts(artifact: Artifact, text: Sequence[str]) -> list[list[Part]]:
    """The files that the lines of a text list, with their rows, and those with their bytes and times."""
    rows, sizes = [], []
    for number, line in enumerate(text, 1):
        if len(line) > 400:
            continue
        if found := SIZED.search(line):
            when = _when(*found.group(2, 3, 4, 5))
            sizes.append(Part(found[6], float(found[1]), when, _place(artifact, number, line)))
        elif found := COUNTED.search(line):
            count, name = (found[1], found[2]) if found[1] else (found[4], found[3])
            if ROWS.search(name):
                rows.append(Part(name, float(count), None, _place(artifact, number, line)))
    return [rows, sizes]


def _place(artifact: Artifact, number: int, line: str) -> Evidence:
    return Evidence(artifact.name, number, text=line.strip()[:160])


def _when(day: str | None, clock: str | None, month: str | None, short: str | None) -> float | None:
    with suppress(ValueError):
        if day and clock:
            return datetime.fromisoformat(f"{day} {clock}").timestamp()
        if month and short:
            return datetime.strptime(f"2024 {month} {short}", "%Y %b %d %H:%M").timestamp()
    return None


def listed(lists: Sequence[Sequence[Part]]) -> Iterator[Finding]:
    """What lists of files say of their numbered parts."""
    for parts in lists:
        families: dict[str, list[Part]] = defaultdict(list)
        for part in parts:
            families[re.sub(r"\d{1,9}", "#", part.name)].append(part)
        for family in _last_numbers(families):
            if len(family) < LEAST or len({p.name for p in family}) < len(family):
                continue
            rest = [p for p in parts if p not in family]
            if found := _early(family, rest) or _bare(family, rest):
                yield found
                break


def _last_numbers(families: dict[str, list[Part]]) -> Iterator[list[Part]]:
    """Parts whose names differ in one number only."""
    for family in families.values():
        numbers = [re.findall(r"\d{1,9}", p.name) for p in family]
        for place in range(len(numbers[0])):
            alike: dict[tuple[str, ...], list[Part]] = defaultdict(list)
            for part, own in zip(family, numbers, strict=True):
                alike[*own[:place], "", *own[place + 1 :]].append(part)
            yield from (some for some in alike.values() if len(some) >= LEAST)


def _bare(family: Sequence[Part], rest: Sequence[Part]) -> Finding | None:
    counts = sorted(p.count for p in family if p.count is not None)
    if len(counts) < len(family):
        return None
    usual = counts[len(counts) // 2]
    last = max(family, key=lambda p: [int(n) for n in re.findall(r"\d{1,9}", p.name)])
    odd = [p for p in family if p.count == 0 or ((p.count or 0) < FEW * usual and p is not last)]
    others = [p.count or 0 for p in family if p not in odd]
    even = others and max(others) <= 1.5 * min(others)
    whole = next((p for p in rest if p.count and p.count == sum(counts)), None)
    names = f"{family[0].name} {' '.join(p.name for p in rest[:6])}"
    told = whole is not None or (EVALUATES.search(names) and not TRAINS.search(names))
    if not odd or len(odd) > len(family) // 3 or usual < 10 or not even or not told:
        return None
    said = ", ".join(f"{p.name} {p.count:.0f}" for p in odd[:4])
    with_ = f", and {whole.name} holds {whole.count:.0f} in all" if whole is not None else ""
    with_zh = f"，{whole.name} 合计只有 {whole.count:.0f}" if whole is not None else ""
    return Finding(
        "part-without-rows", Severity.S2,
        f"Of {len(family)} parts {len(odd)} fall short ({said}), the others have about {usual:.0f} each{with_}: "
        f"what was "
        "merged is incomplete.",
        f"{len(family)} 个分片中有 {len(odd)} 个缺行（{said}），其余各约 {usual:.0f}{with_zh}：合并结果不完整。",
        (*(p.place for p in odd[:3]), next(p.place for p in family if p not in odd)),
        {"parts": len(family), "short": [p.name for p in odd[:8]], "usual": usual},
    )  # fmt: skip


def _early(family: Sequence[Part], rest: Sequence[Part]) -> Finding | None:
    """A merged file that was written after most parts and before some."""
    timed = [p for p in family if p.time is not None]
    names = " ".join(p.name for p in family[:2])
    if len(timed) < LEAST or TRAINS.search(names):
        return None
    for whole in rest:
        name, when = PurePosixPath(whole.name).name, whole.time
        if when is None or not (MERGED.search(name) or (EVALUATES.search(names) and name.endswith((".json", ".csv")))):
            continue
        late = [p for p in timed if p.time is not None and p.time > when]
        if late and len(late) <= len(timed) // 2:
            return _merged_early(
                len(timed), [p.name for p in late], whole.name, (whole.place, *(p.place for p in late[:3]))
            )
    return None


def _merged_early(parts: int, late: Sequence[str], whole: str, places: tuple[Evidence, ...]) -> Finding:
    said = ", ".join(late[:6])
    return Finding(
        "merged-before-part", Severity.S2,
        f"{whole} was made before {len(late)} of {parts} parts were finished ({said}): their answers are missing "
        f"from it.",
        f"{whole} 生成时，{parts} 个部分中还有 {len(late)} 个没有完成（{said}）：它们的结果没有并入。",
        places, {"parts": parts, "late": list(late[:16])},
    )  # fmt: skip


CLOCK = bounded(r"(?:(\d{4})[-/](\d\d)[-/](\d\d)[ T])?(?<!\d)(\d\d):(\d\d):(\d\d)")
WORKER = bounded(
    r"(?i)(?<![a-z])(card|gpu|rank|worker|w|shard|part|chunk|proc(?:ess)?|split|replica|node|cuda|device|dp)[ "
    r"_:#=-]{0,2}(\d{1,3})(?!\d)"
    r"|([卡片])\s?(\d{1,3})(?!\d)|(进程|分片|显卡|工作)\s?(\d{1,3})(?!\d)"
)
PROGRESS = bounded(r"(?<![\d./:-])(\d{1,8})\s?(?:/|of)\s?(\d{1,8})(?![\d./:-])")
MERGES = bounded(
    r"(?i)(?<![a-z_])(?:merg(?:e|ed|ing)|gather(?:ed|ing)?|join(?:ed|ing)?|collect(?:ed|ing)?|aggregat(?:e|ed|ing)|collat(?:e|ed|ing)"
    r"|combin(?:e|ed|ing)|concat\w{0,8}|scor(?:e|ed|ing)|grad(?:ed|ing))(?![a-z])|合并|汇总|汇集|收集|评分|判分"
)
NO_MERGE = bounded(
    r"(?i)all.?gather|lora|adapter|checkpoint|weights?|reduce|bucket|fsdp|grad(?:ient)?s?_|garbage|metrics "
    r"collector|tokenizer"
    r"|waiting|will|before|after all|kernel|权重|等待"
)
DONE = bounded(
    r"(?i)(?<![a-z])(?:wrote|written|flushed|saved|finished|done|completed|exit(?:ed)?)(?![a-z])|写完|完成|结束|落盘"
)


@dataclass(frozen=True)
class Step:
    """How far a worker was at a time; without a worker, a merge."""

    time: float
    worker: str
    share: float
    place: Evidence


def _logged(texts: Sequence[tuple[Artifact, Sequence[str]]]) -> Iterator[Finding]:
    """Merges in logs at which most workers were done, and others go on."""
    steps = sorted((s for a, text in texts for s in _steps(a, text)), key=lambda s: s.time)
    workers: dict[str, list[Step]] = defaultdict(list)
    for s in steps:
        if s.worker:
            workers[s.worker].append(s)
    kinds: dict[str, list[str]] = defaultdict(list)
    for worker in workers:
        kinds[re.sub(r"\d", "", worker)].append(worker)
    for merge in [s for s in steps if not s.worker]:
        for some in kinds.values():
            late = [w for w in some if _goes_on(workers[w], merge.time)]
            done = [w for w in some if any(s.share >= 1 and s.time <= merge.time for s in workers[w]) and w not in late]
            if late and len(done) >= max(2, len(late)) and not _again(steps, workers, late, merge):
                after = [next(s for s in workers[w] if s.time > merge.time) for w in late]
                what = f"{merge.place.file}:{merge.place.line} ({(merge.place.text or '')[:80]})"
                yield _merged_early(len(some), late, what, (merge.place, *(s.place for s in after[:3])))
                return


def _again(steps: Sequence[Step], workers: dict[str, list[Step]], late: Sequence[str], merge: Step) -> bool:
    """Whether parts are merged once more when the late ones are done."""
    end = max((s.time for w in late for s in workers[w] if s.share >= 1), default=float("inf"))
    return any(not s.worker and s.time >= end and s is not merge for s in steps)


def _goes_on(steps: Sequence[Step], time: float) -> bool:
    """Whether a worker was on its way at a time, and went on from where it was."""
    before = [s for s in steps if s.time <= time]
    after = [s for s in steps if s.time > time]
    return bool(before and after and before[-1].share < 1 and after[0].share >= before[-1].share)


def _steps(artifact: Artifact, text: Sequence[str]) -> Iterator[Step]:
    day, last = 0.0, 0.0
    for number, line in enumerate(text, 1):
        clock = CLOCK.search(line[:200]) if len(line) < 600 else None
        if clock is None:
            continue
        hour = int(clock[4]) * 3600 + int(clock[5]) * 60 + int(clock[6])
        if clock[1]:
            with suppress(ValueError):
                day = datetime(int(clock[1]), int(clock[2]), int(clock[3])).timestamp()
        elif hour < last - 43_200:
            day += 86_400.0
        last = hour
        said = line[clock.end() :]
        worker, place = WORKER.search(said), Evidence(artifact.name, number, text=line.strip()[:160])
        if worker is not None:
            name = "".join(g for g in worker.groups() if g).lower()
            rest = said[worker.end() :]
            if (shares := PROGRESS.search(rest)) and int(shares[2]) > 1 and int(shares[1]) <= int(shares[2]):
                yield Step(day + hour, name, int(shares[1]) / int(shares[2]), place)
            elif DONE.search(rest):
                yield Step(day + hour, name, 1.0, place)
        elif MERGES.search(said) and not NO_MERGE.search(said):
            yield Step(day + hour, "", 0.0, place)


BACKGROUND = bounded(
    r"[^&>|]&\s*(?:#.{0,200})?$|(?<![\w-])(?:nohup|srun|ssh)\s.{1,400}[^&>]&\s*$|&\s*(?:done|disown|pids?\+?=)"
)
WAITS = bounded(
    r"^\s{0,20}(?:wait(?:\s|;|$|\|)|.{0,80}(?:;|&&|then|do)\s{0,8}wait(?:\s|;|$))|while.{1,120}(?:jobs|pgrep"
    r"|kill -0|ls|wc|\[)"
)
SLEEPS = bounded(r"^\s{0,20}sleep\s{1,4}[\"$\w]")
JOINS = bounded(
    r"(?i)(?<![a-z])(?:merge|gather|join|collect|aggregat\w{1,4}|combine|concat|score|grade|summar\w{1,6}|metrics?|calc|evaluate)\w{0,20}\.py"
    r"|^\s{0,20}cat\s.{1,200}\*.{0,100}>|合并|汇总"
)


def _scripts(artifact: Artifact, text: Sequence[str]) -> Iterator[Finding]:
    """A script whose workers run in the background when their parts are merged."""
    started: int | None = None
    slept: int | None = None
    for number, line in enumerate(text, 1):
        code = "" if line.lstrip().startswith("#") else line
        if WAITS.search(code):
            started = slept = None
        elif started is not None and SLEEPS.search(code):
            slept = number
        elif started is not None and JOINS.search(code) and not BACKGROUND.search(code):
            said = f"a fixed sleep in line {slept}" if slept else "nothing"
            said_zh = f"只有第 {slept} 行固定的 sleep" if slept else "没有任何等待"
            yield Finding(
                "merges-without-waiting", Severity.S3,
                f"{artifact.name}:{started} starts workers in the background and line {number} merges their "
                f"parts; between "
                f"them is {said}, no wait: a part that takes longer is left out.",
                f"{artifact.name}:{started} 在后台启动各进程，第 {number} 行就合并结果；两者之间{said_zh}，没有 wait："
                "跑得慢的部分会被漏掉。",
                tuple(Evidence(artifact.name, n, text=text[n - 1].strip()[:160])
                      for n in (started, slept, number) if n),
                {"started": started, "merged": number, "slept": bool(slept)},
            )  # fmt: skip
            return
        elif BACKGROUND.search(code):
            started = number
