"""What the logs of a run print of its settings when it starts: the weakest of all sources, where nothing else says it.

The beginning of each log is read, and in a log of several starts the last dump. Settings that two logs tell differently
are left out, and so is a log that contradicts the files in force: it is of another run. Files that agree with it in
nothing are of another program: what was logged went by what the log says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from mmap import ACCESS_READ, mmap
from typing import Any

from ...findings import TriageError
from ...reading import head, is_binary
from ...run import Artifact, Run
from ...settings import Setting
from ..collect import Reading
from ..frameworks import named
from ..keys import normal, table
from ..read import read_source, reading_of
from ..syntax.source import DEFAULT, PRINTED, Item, Source, short, source
from ..values import UNSET, convert
from . import logdump, spoken
from .logdump import Dump

ROLE = "log"
BEGINNING = 65_536
"""Bytes of a log in which a program says what is set."""
SHORTEST_MARK = 4
LARGEST = 64_000_000
"""Bytes of a log that is searched for a later start."""
MOST_LOGS, MOST_COMMANDS = 24, 8
FEWEST = {"literal": 4, "dotted": 3, "table": 3, "block": 3, "columns": 4, "line": 3}
"""Known settings that a dump without a telling title must hold, by its form."""
FEWEST_NAMED = 2
SHARE = 0.2
"""Share of the pairs of a block or line that must be known settings."""
NEVER = ("model", "tokenizer", "generation", "request", "launcher")
"""Roles of what is printed of files that lie elsewhere; of several models nothing tells whose it is."""
ENGINES = ("engine",)
FILES, STRAY = ("trainer", "generic"), 4
"""Roles of files that may have come from elsewhere, and numbers of such a file that a log says otherwise from which on
it has. Own judgement."""
_TRAINS = """
    learning_rate max_steps epochs weight_decay warmup_steps warmup_ratio grad_accumulation train_samples train_tokens
    grad_clip min_learning_rate lr_schedule global_batch_size num_generations
"""
TRAINS = frozenset(_TRAINS.split())
"""What only a training sets: a dump of none of these is of an evaluation or a server."""
DECIDES = TRAINS | {"micro_batch_size", "sequence_length", "kl_coef", "dpo_beta", "train_batch_size", "lora_rank"}
"""Of two files of one run none says these otherwise."""


def with_logs(run: Run, attempt: str, readings: list[Reading]) -> list[Reading]:
    """The files in force, and last what the logs of the attempt print beyond them, if anything.

    Args:
        run: what `discover` found.
        attempt: directory of the attempt, empty for the run itself.
        readings: the files in force; what a program only assumes gives way to what it printed.
    """
    logs = [a for a in run.of("log") if not attempt or a.attempt in ("", attempt)]
    logs.sort(key=lambda a: (a.rank or 0, a.name.count("/"), a.name))
    ours = [r for r in readings if r.role not in NEVER]
    found = [r for a in logs[:MOST_LOGS] if (r := _read(a))]
    for reading in ours:
        _overridden(reading, found)
    told = [r for r in found if not _of_another(r, ours)]
    if not told:
        stray = _of_another_program(found, ours)
        return [*(r for r in readings if not any(r is s for s in stray)), *([_joined(found)] if stray else ())]
    log = _joined(told)
    return [*(replace(r, values=_said(r, log)) for r in readings), log]


def _overridden(reading: Reading, logs: Iterable[Reading]) -> None:
    """Lay over a file what the one command says that a log shows to have started with it."""
    if reading.role == "script":
        return
    started = [r for r in logs if r.started and short(reading.name) in map(short, r.files)]
    given = {v: s for r in started for v, s in r.started.items()}
    for key, setting in [pair for r in started for pair in r.others.items()]:
        variable = table(reading.framework).get(normal(key), ("",))[0]
        value = convert(variable, setting.raw, normal(key)) if variable and variable not in given else UNSET
        if value is not UNSET:
            given[variable] = replace(setting, variable=variable, value=value)
    if any(r.started[v].value != given[v].value for r in started for v in r.started):
        return
    for variable, setting in given.items():
        old = reading.values.get(variable)
        if old is None or old.value != setting.value:
            reading.shadowed += [old] if old else []
            reading.values[variable] = setting


def _said(reading: Reading, log: Reading) -> dict[str, Setting]:
    return {v: s for v, s in reading.values.items() if s.style != DEFAULT or v not in log.values}


def _of_another(log: Reading, ours: Iterable[Reading]) -> bool:
    """Whether the log is not seen to be of the run that the files configure.

    It is where the settings that decide a training are equal in both, and most others that both say; files that set no
    training tell nothing of it.
    """
    same = other = 0
    training = [values for r in ours if TRAINS & (values := _set(r)).keys()]
    for values in training:
        for variable in log.values.keys() & values.keys():
            mine, theirs = values[variable], log.values[variable].value
            if isinstance(mine, str) or isinstance(theirs, str):
                continue
            if mine != theirs and variable in DECIDES:
                return True
            same, other = same + (mine == theirs), other + (mine != theirs)
    return bool(training) and other >= same


def _set(reading: Reading) -> dict[str, Any]:
    """What a file sets, without what it leaves as it was."""
    return {v: s.value for v, s in reading.values.items() if s.style != DEFAULT}


def _of_another_program(logs: list[Reading], ours: Iterable[Reading]) -> list[Reading]:
    """The files that set a training, where each says `STRAY` numbers that decide one, and none as a log does."""
    training = [r for r in ours if logs and TRAINS & _set(r).keys()]
    for file in training:
        mine = {v: x for v, x in _set(file).items() if v in DECIDES and not isinstance(x, str)}
        both = [(mine[v], log.values[v].value) for log in logs for v in mine.keys() & log.values.keys()]
        own = file.role in FILES and not any(short(file.name) in map(short, log.files) for log in logs)
        if not own or len(both) < STRAY or any(a == b for a, b in both):
            return []
    return training


def _joined(logs: list[Reading]) -> Reading:
    """One reading of several logs, without what they tell differently."""
    lead = max(logs, key=lambda r: len(r.values))
    rest = [r for r in logs if r is not lead]
    out = replace(lead, values=dict(lead.values), others=dict(lead.others))
    unsure: set[str] = set()
    for reading in rest:
        for mine, theirs in ((out.values, reading.values), (out.others, reading.others)):
            unsure |= {v for v in mine.keys() & theirs.keys() if mine[v].value != theirs[v].value}
            mine |= {v: s for v, s in theirs.items() if v not in mine}
    out.values = {v: s for v, s in out.values.items() if v not in unsure}
    out.others = {v: s for v, s in out.others.items() if v not in unsure}
    return out


def _read(artifact: Artifact) -> Reading | None:
    """What one log prints of settings at its last start."""
    try:
        found = artifact.path.stat()
    except OSError:
        return None
    return _read_once(artifact, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=2 * MOST_LOGS)
def _read_once(artifact: Artifact, changed: int, size: int) -> Reading | None:
    try:
        data = head(artifact.path, BEGINNING)
        if is_binary(data[:8192]):
            return None
        parts = [*_dumps(data, artifact.name, 0)]
        if len(data) == BEGINNING and any(d.kind != "command" for d, _ in parts):
            parts += _later(artifact, parts)
    except (TriageError, OSError, EOFError, ValueError):
        return None
    readings = _sure(_last(parts))
    values = {v for r in readings for v in r.values}
    if not values & TRAINS:
        readings = [r for r in readings if named(r.framework).role in ENGINES]
    return _merged(readings, artifact.name) if readings else None


def _dumps(data: bytes, name: str, before: int) -> Iterator[tuple[Dump, Reading]]:
    """The dumps of a part of a log that hold settings, with what they set; `before`: lines in front of that part."""
    text = data.decode("utf-8", "replace")
    if len(data) == BEGINNING:
        text = text[: text.rfind("\n") + 1] or text
    whole = source(name, text)
    for dump in logdump.read(text):
        if reading := _judged(dump, whole):
            yield dump, _moved(reading, before)
    for start, command in islice(logdump.commands(text), MOST_COMMANDS):
        if reading := _launched(command, name):
            dump = Dump("command", "command", start, [Item(k, None, PRINTED, 0, 0) for k in reading.values])
            yield dump, _moved(reading, before + whole.line(start) - 1)


def _launched(command: str, name: str) -> Reading | None:
    """What a command sets that a launcher prints as it starts it."""
    reading = read_source(source(name, command), "shell")
    by_script = command.split(None, 1)[0].endswith(".sh")
    given = [one for names in reading.programs for one in (names if by_script else names[1:])]
    fewest = 1 if reading.files or given else FEWEST_NAMED
    if len(reading.values) < fewest or named(reading.framework).role in NEVER:
        return None
    shown = Reading(name, ROLE, reading.framework, reading.values, reading.others, hints=reading.hints)
    shown.files = {*reading.files, *given}
    shown = shown.each(lambda s: replace(s, style=PRINTED, column=-1))
    shown.started = dict(shown.values)
    return shown


def _judged(dump: Dump, whole: Source) -> Reading | None:
    """What a dump sets, if it is one of settings that are in force."""
    items = dump.items
    if logdump.OTHERS.search(dump.title) or any(_measured(i) for i in items):
        return None
    items = [spoken.item(i) for i in items] if dump.kind != "literal" else items
    if sum(spoken.known(i.key) for i in items) < FEWEST_NAMED:
        return None
    reading = reading_of(whole, items)
    if named(reading.framework).role in NEVER:
        return None
    count, fewest = len(reading.values), FEWEST_NAMED if dump.named else FEWEST[dump.kind]
    loose = dump.kind in ("block", "line", "columns") and count < SHARE * len(items)
    whole_line = dump.kind == "line" and count == len(items) >= FEWEST_NAMED
    if (count < fewest and not whole_line) or loose:
        return None
    reading.role, reading.problems = ROLE, []
    reading.hints = [dump.made_by] if dump.made_by else []
    return reading


def _measured(item: Item) -> bool:
    """A number under the name of a measure: what training prints while it runs."""
    return item.text is not None and bool(logdump.METRIC.fullmatch(item.key)) and spoken.is_number(item.text)


def _later(artifact: Artifact, parts: list[tuple[Dump, Reading]]) -> Iterator[tuple[Dump, Reading]]:
    """The same dump where a later start printed it again, behind the beginning of a large log."""
    mark = _mark(artifact, max((p for p in parts if p[0].kind != "command"), key=lambda p: len(p[1].values)))
    if len(mark) <= SHORTEST_MARK or not BEGINNING < artifact.path.stat().st_size <= LARGEST:
        return
    with artifact.path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        at = data.rfind(mark)
        if at < BEGINNING:
            return
        start = data.rfind(b"\n", 0, max(0, data.rfind(b"\n", 0, at))) + 1
        window, before = data[start : start + BEGINNING], data[:start].count(b"\n")
    yield from _dumps(window, artifact.name, before)


def _mark(artifact: Artifact, part: tuple[Dump, Reading]) -> bytes:
    """Text by which the dump is found again, without clocks: its opening, or its first line up to the value."""
    dump, text = part[0], head(artifact.path, BEGINNING).decode("utf-8", "replace")
    if dump.kind == "literal":
        return text[dump.start : dump.start + 80].split("=")[0].split(":")[0].encode()
    bare = logdump.blanked(text)
    first = dump.items[0].start
    return bare[bare.rfind("\n", 0, first) + 1 : first].strip().encode()


def _last(parts: list[tuple[Dump, Reading]]) -> list[tuple[Dump, Reading]]:
    """Of dumps with one title and mostly the same keys the last."""
    kept: list[tuple[Dump, Reading]] = []
    for dump, reading in parts:
        keys = {i.key for i in dump.items}
        kept = [
            (d, r)
            for d, r in kept
            if d.title != dump.title or d.kind != dump.kind or 2 * len(keys & {i.key for i in d.items}) < len(d.items)
        ]
        kept.append((dump, reading))
    return kept


def _sure(parts: list[tuple[Dump, Reading]]) -> list[Reading]:
    """Without lines of two settings, unless more is printed beside them."""
    more = [r for d, r in parts if d.kind != "line" or len(r.values) >= FEWEST["line"]]
    return [r for _, r in parts] if more else []


def _merged(readings: list[Reading], name: str) -> Reading:
    """The dump that says most, and what the others add; what they tell otherwise is left out."""
    lead = max(readings, key=lambda r: (r.framework != "generic", len(r.values)))
    out = Reading(name, ROLE, lead.framework, dict(lead.values), dict(lead.others), list(lead.shadowed))
    out.files = {f for r in readings for f in r.files if r.started}
    out.started = {v: s for r in readings for v, s in r.started.items()}
    out.hints = [h for r in (lead, *(r for r in readings if r is not lead)) for h in r.hints]
    unsure = set()
    for reading in readings:
        unsure |= {v for v, s in reading.values.items() if v in out.values and out.values[v].value != s.value}
        out.values |= {v: s for v, s in reading.values.items() if v not in out.values}
        out.others |= {v: s for v, s in reading.others.items() if v not in out.others}
    out.values = {v: s for v, s in out.values.items() if v not in unsure}
    return out


def _moved(reading: Reading, lines: int) -> Reading:
    return reading.each(lambda s: replace(s, line=s.line + lines))
