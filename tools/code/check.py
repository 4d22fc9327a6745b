"""Judging programs: every rule over every file that belongs to the run, with what could not be judged said so."""

from __future__ import annotations

import gc
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

from ..config.syntax.source import Refused
from ..findings import Check, Evidence, Finding, Report, Severity, declare
from ..registry import modules
from .patch import Edit, applied
from .program import Program
from .rules.rule import RULES, Fault, Rule, View
from .source import Parsed, longest, read

ROOMS = ("rules", *(f"rules.{room}" for room in ("apart", "around", "judging", "meaning", "narrow", "steps")))
tuple(m for room in ROOMS for m in modules(f"{__package__}.{room}"))
CODES = declare("code", *((code, code, rule.title) for code, rule in sorted(RULES.items())))
SECONDS = 5.0
"""Processor time for the rules of one file; a file of 1 MB takes about 2."""
MANY = 150
"""Files from which on several processes judge them: starting one takes as long as judging thirty files."""
MOST_WORKERS = 8
CHUNK = 4
MOST_FINDINGS = 50
"""Findings of one rule in one file that are told; more are counted."""
SHOWN = 200
"""Characters of a line that is shown."""
TRAINING = (
    "torch",
    "transformers",
    "backward",
    "DataLoader",
    "tokenizer",
    "vllm",
    "datasets",
    "optimizer",
    "logits",
    ".loss",
    "generate(",
    "Trainer(",
    "rewards",
    "advantage",
    "prediction",
    "logps",
    "_set",
    "input_ids",
    "use_cache",
    "gradient_checkpointing",
    "logratios",
    "logsigmoid",
    "named_parameters",
    "chat.completions",
    "completions.create",
    "sklearn",
    "optax",
    "keras",
    "lightning",
    "compute_score",
    "reward",
    "judge",
    "Judge",
    "accuracy",
    "prompt",
    "preds",
    "golds",
    "shots",
    "裁判",
)
"""Words of which every program that trains, evaluates or serves a model has one."""
EVERYWHERE = ("key-in-code", "pickle-from-elsewhere", "iterator-used-up", "kept-for-each-request")
HUMP = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
"""Where a part of a name ends without `_`: `valLoader`, `val2`."""
SILENT = re.compile(r"#\s{0,9}triage:\s{0,9}(?:ignore|off)(?:\[([\w\s,-]{0,400})\])?", re.IGNORECASE)
"""Suppression of the findings of a line: `# triage: ignore[code, code]`; of all without brackets."""


def check_files(files: Iterable[tuple[Path, str]], select: Iterable[str] = ()) -> Report:
    """Judge programs.

    Args:
        files: where each lies, and what evidence calls it.
        select: codes of the rules to ask; all of them if empty.

    Returns:
        Findings with `data.fix`, a patch of the file where one edit mends it; one check per rule.
    """
    codes = tuple(c for c in sorted(RULES) if not select or c in set(select))
    findings: list[Finding] = []
    checks: list[Check] = []
    read_ones = 0
    for was_read, found, told in _each([(path, name, codes) for path, name in files]):
        read_ones += was_read
        findings += found
        checks += told
    hit = {f.code for f in findings}
    if read_ones:
        checks += [Check(c, "found" if c in hit else "clear") for c in codes]
    findings.sort(key=lambda f: f.severity)
    return Report("code", tuple(findings), tuple(checks), {"programs": read_ones})


_Work = tuple[Path, str, tuple[str, ...]]
_Found = tuple[bool, list[Finding], list[Check]]


def _each(work: list[_Work]) -> Iterator[_Found]:
    """Every file judged, in order; many files by as many processes as this one may use."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(work) < MANY or workers < 2:
        yield from map(_one, work)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # a worker needs no collector, which would go through every tree: `View.close` leaves it nothing
    with ProcessPoolExecutor(min(workers, MOST_WORKERS), get_context("spawn"), initializer=gc.disable) as pool:
        yield from pool.map(_one, work, chunksize=CHUNK)


def _one(work: _Work) -> _Found:
    """(whether it was read, findings, checks that failed) of one file."""
    path, name, codes = work
    try:
        parsed = read(path, name)
    except Refused as error:
        return False, [], [Check(f"read {name}", "failed", str(error))]
    broken = [Check(f"read {name}", "failed", parsed.problem)] if parsed.problem else []
    found, ended = judged(parsed, [RULES[c] for c in codes], path.suffix == ".py")
    return True, found, [*broken, *ended]


def judged(parsed: Parsed, rules: Iterable[Rule], patched: bool = True) -> tuple[list[Finding], list[Check]]:
    """The findings of one program, and the rules that came to no end."""
    wanted = _wanted(parsed, rules)
    if not wanted:
        return [], []
    view, begun, end = View(Program(parsed)), time.monotonic(), time.thread_time() + SECONDS
    findings: list[Finding] = []
    checks: list[Check] = []
    for rule in wanted:
        if time.monotonic() - begun > SECONDS and time.thread_time() > end:  # the first is cheap to ask
            why = f"over the limit of {SECONDS:g} seconds for one file"
            checks.append(
                Check(f"judge {parsed.name}", "failed", f"{parsed.name}: {why}; the rules from {rule.code} on")
            )
            break
        try:
            findings += _told(rule, parsed, view, patched)
        except RecursionError:
            checks.append(Check(f"judge {parsed.name}", "failed", f"{parsed.name}: nested too deeply for {rule.code}"))
    view.close()
    return findings, checks


def _wanted(parsed: Parsed, rules: Iterable[Rule]) -> list[Rule]:
    """The rules that may object to a program, by its words."""
    told = {"", *chain.from_iterable(map(_told_by, parsed.names))}
    held = {w for w, name in _words().items() if name in told and (w == name or w in parsed.code)}
    trains = not held.isdisjoint(TRAINING)
    return [r for r in rules if (trains or r.code in EVERYWHERE) and not held.isdisjoint(r.words)]


@lru_cache(100_000)
def _told_by(name: str) -> tuple[str, ...]:
    """The words of rules that a name of a program holds; programs share their names."""
    begun, words = _beginnings(), _words()
    parts = (f"_{part}_" for part in HUMP.sub("_", name).lower().split("_"))
    anywhere = (w for i in range(len(name) - 1) for w in begun.get(name[i : i + 2], ()) if name.startswith(w, i))
    return (*anywhere, *(p for p in parts if p in words))


@cache
def _beginnings() -> dict[str, list[str]]:
    """The names in the words of rules, by their first two characters."""
    out: dict[str, list[str]] = defaultdict(list)
    for name in set(_words().values()):
        out[name[:2]].append(name)
    return out


@cache
def _words() -> dict[str, str]:
    """Each word of a rule, and the longest name in it: `masked_fill` of `masked_fill(`, none of `[:`."""
    words = {w for own in (TRAINING, *(r.words for r in RULES.values())) for w in own}
    return {w: longest(w) for w in words}


def _told(rule: Rule, parsed: Parsed, view: View, patched: bool) -> Iterator[Finding]:
    seen: set[int] = set()
    for fault in rule.judge(view):
        row = fault.node.lineno  # type: ignore[attr-defined]
        if row in seen or _suppressed(rule.code, parsed, row) or len(seen) >= MOST_FINDINGS:
            continue
        seen.add(row)
        rows = dict.fromkeys([row, *(n.lineno for n in fault.beside)])  # type: ignore[attr-defined]
        places = tuple(Evidence(parsed.name, parsed.line(r), text=parsed.lines[r - 1].strip()[:SHOWN]) for r in rows)
        fix = _fix(parsed, fault) if patched and fault.fix else None
        message = f"{fault.message[:1].upper()}{fault.message[1:]}."
        yield Finding(rule.code, Severity(fault.severity or rule.severity), message, f"{fault.zh}。", places,
                      {"entry": rule.entry, **({"fix": fix} if fix else {}),
                       **({"needs": fault.needs} if fault.needs else {})})  # fmt: skip


def edits_of(parsed: Parsed, rules: Iterable[Rule]) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """The safe edits of a program, with the code of each: suppressed ones left out."""
    wanted = _wanted(parsed, rules)
    view = View(Program(parsed))
    for rule in wanted:
        try:
            for fault in rule.judge(view):
                if fault.fix and not _suppressed(rule.code, parsed, fault.node.lineno):  # type: ignore[attr-defined]
                    yield rule.code, fault.fix
        except RecursionError:
            continue


def explain(code: str) -> str:
    """The documentation of a rule."""
    rule = RULES[code]
    return f"{rule.code} ({rule.severity})\n\n{rule.page}"


def _suppressed(code: str, parsed: Parsed, row: int) -> bool:
    for line in parsed.lines[max(0, row - 2) : row]:
        for match in SILENT.finditer(line):
            own = line is parsed.lines[row - 1] or line.lstrip().startswith("#")
            if own and (match[1] is None or code in re.split(r"[\s,]+", match[1])):
                return True
    return False


def _fix(parsed: Parsed, fault: Fault) -> dict[str, str] | None:
    """The edit as a patch; None where it would not leave a program that parses."""
    try:
        new = applied(parsed.text, fault.fix, parsed.name)
    except (Refused, IndexError, UnicodeDecodeError):
        return None
    patch = _patch(parsed, new)
    lines = patch.split("\n")[2:]
    old, now = (next((x[1:].strip() for x in lines if x.startswith(sign)), "") for sign in "-+")
    return {"old": old, "new": now, "patch": patch}


def _patch(parsed: Parsed, new: str) -> str:
    from ..config.edit import patch

    return patch(parsed.name, parsed.text, new)
