"""What the small files of a run say of any quantity, whatever its name: `key: value` in configurations, flags of
commands, defaults that a program falls back to, and which of several alike parts of a configuration lacks a key.

No name has to be known. Who asks decides which kinds of quantity can be set against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from ..findings import Evidence, TriageError
from ..patterns import bounded
from ..reading import head
from ..run import Artifact, Run

BYTES, LINES, FILES, MOST = 256 << 10, 3000, 60, 20_000
"""Bytes and lines of a file, files, and statements of a run that are read."""
ALIKE = 3
"""Parts of a configuration from which on they are of one kind, so that one may lack what all others have."""
How = Literal["said", "default", "lacks", "code", "discards", "one-stream"]
_VALUE = (
    r"[\"']?(-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?![\w.])|(?=\d{1,63}[a-f])[0-9a-f]{6,64}(?![\w.-])"
    r"|[A-Za-z/.][\w./-]{0,80})"
)
_WORD = r"[fib][a-z]{0,16}[\d_]|false\b|flash|fsdp|inductor\b|infiniband\b|b(?:itsandbytes|nb)\b"
"""Values that may follow a name behind a blank alone, as in commands; in prose any word does."""
SAYS = bounded(rf"(?<![\w.-])(?:--?)?[\"']?([A-Za-z_][\w.-]{{0,48}})[\"']?(?:\s?[:=]\s?|\s(?=[\d\"']|{_WORD})){_VALUE}")
FALLS_BACK = bounded(
    rf"(?:\.get|getattr|environ\.get|pop|setdefault)\((?:\w+,\s?)?[\"']([A-Za-z_][\w.-]{{1,48}})[\"'],\s?{_VALUE}"
)
PART = bounded(r"^(\s*)[\"']?([A-Za-z_][\w./-]{0,60})[\"']?\s?:\s{0,8}\{([^{}]{1,400})\}")
SCALES = bounded(r"alpha[\"'\])]{0,4}\s?/")
"""A program's line that divides an adapter's alpha."""
DISCARDS = bounded(
    r"^#(?:SBATCH|PBS|BSUB|\$)\s.{0,120}(?:--output|--error|-[oe])[= ]\s?/dev/null"
    r"|(?:\b(?:torchrun|deepspeed|mpirun|accelerate launch|vllm serve)\b|\.py\b)[^|;]{0,200}(?:2>|&>)\s?/dev/null"
    r"|(?:\b(?:torchrun|deepspeed|mpirun|accelerate launch|vllm serve)\b|\.py\b)[^|;]{0,200}>\s?/dev/null 2>&1"
)
"""Where a launch throws away what its program writes to standard error."""
STARTS = bounded(r"\b(?:torchrun|deepspeed|mpirun|accelerate launch|vllm serve|python3?)\b|\.py\b")
BEHIND = bounded(r"(?:^|\s)(?:nohup|setsid)\s|[^&]&\s{0,4}(?:#.*)?$")
ONE_STREAM = bounded(r"(?<![0-9&>])1?>{1,2}\s{0,3}(?!/dev/null)[\w$~./{}-]{1,160}|\|\s{0,3}tee\s")
BOTH = bounded(r"2>|&>|>&|\|&")
"""A launch in the background that keeps standard output alone: its errors go where nobody looks."""
HEADS = bounded(
    r"^\s*[\"']?([A-Za-z_][\w./-]{0,60})[\"']?\s?:\s?\{?\s*$|^\[{1,2}[\w-]{1,40}\.([\w.-]{1,60})\]{1,2}\s*$"
)
"""A part's name with its keys in the lines below: of YAML or JSON, of TOML."""
ASSIGNED = bounded(r"^\s*([A-Za-z_][\w.-]{0,48})\s?=")
KEYS = bounded(r"[\"']?([A-Za-z_][\w.-]{0,48})[\"']?\s?:")


@dataclass(frozen=True)
class Stated:
    """One quantity as one line says it."""

    file: str
    line: int
    key: str
    value: str
    text: str
    how: How = "said"
    part: str = ""
    """Of what lacks a key: which of the alike parts."""

    @property
    def number(self) -> float | None:
        try:
            return float(self.value.replace("_", ""))
        except ValueError:
            return None

    def evidence(self) -> Evidence:
        number = self.number
        return Evidence(self.file, self.line, metric=self.key, value=self.value if number is None else number,
                        text=self.text)  # fmt: skip


def stated(run: Run) -> tuple[Stated, ...]:
    """The statements of configurations, commands, programs and small documents."""
    found: list[Stated] = []
    files = [*run.of("config", "script", "code", "tokenizer", "checkpoint", "document")]
    files = [
        *files,
        *(a for a in run.of("table", "data", "eval") if a.path.suffix.lower() == ".json" and _settings(a)),
    ][:FILES]
    for artifact in files:
        for path, name in _files(artifact):
            with suppress(TriageError, OSError):
                if path.stat().st_size <= BYTES:
                    text = head(path, BYTES).decode("utf-8", "replace")
                    found += _of([*islice(enumerate(text.splitlines(), 1), LINES)], name)
        if len(found) > MOST:
            break
    return tuple(found[:MOST])


def _settings(artifact: Artifact) -> bool:
    """Whether a JSON file that no table knows by its keys is one object, as configurations are, and no list of rows."""
    with suppress(OSError):
        return artifact.path.is_file() and head(artifact.path, 64).lstrip()[:1] == b"{"
    return False


def _files(artifact: Artifact) -> Iterator[tuple]:
    """The file, or the small JSON files of a checkpoint's folder."""
    if artifact.path.is_dir():
        for path in sorted(artifact.path.glob("*.json"))[:8]:
            yield path, f"{artifact.name}/{path.name}"
    elif artifact.kind != "checkpoint" or artifact.path.suffix == ".json":
        yield artifact.path, artifact.name


def _of(lines: list[tuple[int, str]], file: str) -> Iterator[Stated]:
    program = file.endswith((".py", ".ipynb"))
    for number, text in lines:
        shown = text.strip()[:200]
        for key, value in FALLS_BACK.findall(text):
            yield Stated(file, number, key, value, shown, "default")
        if program and SCALES.search(text):
            yield Stated(file, number, "lora_alpha", "", shown, "code")
        if not program and DISCARDS.search(text):
            yield Stated(file, number, "/dev/null", "", shown, "discards")
        if not program:
            for key, value in SAYS.findall(text):
                yield Stated(file, number, key, value, shown)
    if not program:
        yield from _one_stream(lines, file)
    yield from _lacking(lines, file)


def _one_stream(lines: list[tuple[int, str]], file: str) -> Iterator[Stated]:
    """Launches in the background of which only what they print is kept; a command may go over several lines."""
    whole, begin = "", 0
    for number, text in lines:
        if not whole and text.lstrip().startswith("#"):
            continue
        begin, whole = begin if whole else number, whole + text.rstrip("\\")
        if text.rstrip().endswith("\\") and len(whole) < 4000:
            continue
        if STARTS.search(whole) and BEHIND.search(whole) and ONE_STREAM.search(whole) and not BOTH.search(whole):
            yield Stated(file, begin, "stderr", "", whole.strip()[:200], "one-stream")
        whole = ""


def _lacking(lines: list[tuple[int, str]], file: str) -> Iterator[Stated]:
    """Parts of one kind of which one lacks a key that all others beside it have."""
    for alike in _parts(lines):
        if len(alike) < ALIKE:
            continue
        for number, name, text, keys in alike:
            rest = [other for _, n, _, other in alike if n != name]
            for key in sorted(set.intersection(*rest) - keys) if rest else ():
                yield Stated(file, number, key, "", text, "lacks", name)


def _parts(lines: list[tuple[int, str]]) -> Iterator[list[tuple[int, str, str, set[str]]]]:
    """(line, name, text, keys) of the parts beside each other: in one line each, or headings with keys below them."""
    alike: dict[int, list[tuple[int, str, str, set[str]]]] = {}
    open_: list[tuple[int, tuple[int, str, str, set[str]]]] = []
    for number, text in lines:
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        deep = len(text) - len(text.lstrip())
        for gone in [d for d in alike if d > deep]:
            yield alike.pop(gone)
        open_ = [(d, part) for d, part in open_ if d < deep]
        inline, heading = PART.match(text), HEADS.match(text)
        if inline is not None:
            part = (number, inline[2], text.strip()[:200], set(KEYS.findall(inline[3])))
            alike.setdefault(deep, []).append(part)
        elif heading is not None:
            part = (number, heading[1] or heading[2], text.strip()[:200], set[str]())
            alike.setdefault(deep, []).append(part)
            open_.append((deep if heading[1] else -1, part))
        elif ((key := KEYS.match(text.strip().removeprefix("- "))) is not None and open_) or (
            (key := ASSIGNED.match(text)) is not None and open_
        ):
            open_[-1][1][3].add(key[1])
    yield from alike.values()


def near(one: Stated, number: float) -> bool:
    """Whether it says this number."""
    return one.number is not None and abs(one.number - number) <= 1e-6 * max(1.0, abs(number))


def word(text: str, name: str) -> bool:
    """Whether a name stands in a text as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
