"""Token ids as logs and dumps write them: whether sequences begin with the begin-of-sequence token twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...patterns import bounded
from ...reading import head
from ...run import Run

CHECK = "begin token once, in logs of requests"
CODES = declare("starts", ("double-bos", CHECK, "requests or samples begin with the begin-of-sequence token twice"))
BYTES, FILES, LISTS = 128 << 10, 40, 200
LEAST, SHARE = 3, 0.9
"""Sequences of a file, and the share of them that begin alike."""
WORDS = (b"token_ids", b"input_ids", b"prompt_ids", b"tokens", b"ids")
IDS = bounded(
    r"(?i)(?<![a-z])(?:prompt_?)?(?:input_?|token_?|prompt_?)?(?:ids|tokens)(?:\[:\d{1,3}\])?[\"']?\s{0,3}[:=]?\s{0,3}"
    r"\[\s{0,3}(\d{1,7}),\s{0,3}(\d{1,7}),\s{0,3}(\d{1,7})"
)
SUFFIXES = (".log", ".jsonl", ".txt", ".json", ".out", ".csv", ".tsv")


def check_starts(run: Run) -> Report:
    """Files in which nearly every sequence begins with one id twice, and one in which it stands once."""
    twice: list[tuple[str, int, int, int, str]] = []
    once: list[tuple[str, int, int]] = []
    for name, starts in _files(run):
        first = starts[0][0]
        alike = [s for s in starts if s[0] == first]
        if len(starts) < LEAST or len(alike) < SHARE * len(starts):
            continue
        double = [s for s in alike if s[1] == first and s[2] != first]
        if len(double) >= SHARE * len(starts):
            twice.append((name, first, len(double), double[0][3], f"{first}, {first}, {double[0][2]}"))
        elif not any(s[1] == first for s in alike):
            once.append((name, first, alike[0][3]))
    if not twice:
        return Report("starts", (), (Check(CHECK, "clear" if once else "not-applicable"),))
    name, first, count, line, text = twice[0]
    other = next((o for o in once if o[1] == first), None)
    en = f", where those of {other[0]} begin with it once" if other else ""
    zh = f"，而 {other[0]} 中只有一个" if other else ""
    found = Finding(
        "double-bos", Severity.S2,
        f"{count} sequences of {name} begin with token {first} twice{en}: the begin-of-sequence token is added to a "
        "text that has it.",
        f"{name} 中有 {count} 条序列以 token {first} 连续两次开头{zh}：文本里已有 BOS，编码时又加了一个。",
        (Evidence(name, line, text=text), *((Evidence(other[0], other[2]),) if other else ())),
        {"token": first, "sequences": count, "standing": True},
    )  # fmt: skip
    return Report("starts", (found,), (Check(CHECK, "found"),))


def _files(run: Run) -> Iterator[tuple[str, list[tuple[int, int, int, int]]]]:
    """Of each file its first sequences: their first three ids, and the line."""
    some = [a for a in run.artifacts if a.path.suffix.lower() in SUFFIXES and a.kind not in ("tokenizer", "checkpoint")]
    for artifact in some[:FILES]:
        with suppress(TriageError, OSError):
            raw = head(artifact.path, BYTES)
            if b"[" not in raw or not any(word in raw for word in WORDS):
                continue
            starts = []
            for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
                if "[" in line and (hit := IDS.search(line[:6000])):
                    starts.append((int(hit[1]), int(hit[2]), int(hit[3]), number))
                if len(starts) >= LISTS:
                    break
            if starts:
                yield artifact.name, starts
