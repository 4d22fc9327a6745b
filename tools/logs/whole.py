"""Whether the files that evidence comes from are whole, and the account of what was not read.

Told by the format: a JSON document parses, a binary dump is a pickle (whose structure is read, never its objects).
Lines of text are whole as far as they go: their readers say what they could not read. Nothing is judged here.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..data.records.plain import JSON_BYTES
from ..findings import Check, TriageError
from ..reading import head, is_binary, parse_json
from ..run import Artifact, Run

"""Files that the account names; each has a check of its own."""
TEXT = (".json", ".txt", ".log", ".out")
"""Ends of names that promise text."""
TOLD_BY = 8 << 10
"""Bytes by which text is told from a binary file."""
Why = tuple[str, str]
"""A reason in both languages."""
CUT: Why = (
    "the file ends in the middle of its JSON (a save that was cut off?)",
    "文件在 JSON 中间结束（保存被中断？）",
)
UNLIKE: Why = ("is binary, not the text that its name promises", "是二进制文件，不是文件名所说的文本")
_RECORDER = re.compile(r"^(?:nccl_trace|fr_trace|flight_?recorder)|\.json$", re.IGNORECASE)
"""Dumps that are JSON or a pickle; of others, stacks in text are told by nothing."""


def broken(run: Run) -> tuple[Check, ...]:
    """A failed check for each metric file, result or dump that is not whole."""
    faults = ((a, fault(a)) for a in run.of("metrics", "eval", "stack") if a.path.is_file())
    return tuple(Check(f"read {a.name} to its end", "failed", *why) for a, why in faults if why)


def fault(artifact: Artifact) -> Why | None:
    """Why the file is not whole; None where it is, or where its format does not tell."""
    lenient = artifact.kind == "metrics"
    if lenient and artifact.path.suffix.lower() != ".json":
        return None
    try:
        data = head(artifact.path, JSON_BYTES + 1)
    except TriageError as error:
        return str(error), "无法读取"
    if lenient:  # as its reader takes it
        data = data.decode("utf-8-sig", "replace").encode()
    elif is_binary(data[:TOLD_BY]) or data[:1] == b"\x80":
        return UNLIKE if artifact.path.suffix in TEXT else _pickle(artifact.path)
    if artifact.kind == "stack" and not _RECORDER.search(artifact.path.name) and data.lstrip()[:1] not in (b"{", b"["):
        return None
    return _document(data, lenient) if len(data) <= JSON_BYTES else _long(artifact)


def _document(data: bytes, lenient: bool) -> Why | None:
    """What is wrong with one JSON document; of metrics, lines of JSON are left to their reader."""
    try:
        parse_json(data)
    except ValueError as error:
        if not data.rstrip().endswith((b"}", b"]")):
            return CUT
        return None if lenient and _in_lines(data) else (f"it is not valid JSON ({error})", "不是合法 JSON")
    return None


def _in_lines(data: bytes) -> bool:
    first, _, rest = data.lstrip().partition(b"\n")
    try:
        parse_json(first)
    except ValueError:
        return False
    return bool(rest.strip())


def _long(artifact: Artifact) -> Why | None:
    """Too long to be parsed at once: the reader of metrics takes it piece by piece, that of results not at all."""
    if artifact.kind != "metrics":
        return f"it was not read: JSON over the limit of {JSON_BYTES} bytes", f"没有读取：JSON 超过 {JSON_BYTES} 字节"
    with artifact.path.open("rb") as file:
        file.seek(-4096, 2)
        return None if file.read().rstrip().endswith((b"}", b"]")) else CUT


def _pickle(path: Path) -> Why | None:
    from ..checkpoints.files.beside import harmless
    from ..checkpoints.files.tensors import Broken

    try:
        harmless(path)
    except Broken as error:
        return error.why, error.zh
    except OSError as error:
        return f"cannot be read: {error.strerror}", "无法读取"
    return None
