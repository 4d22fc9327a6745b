"""Personal data and secrets in training data, found by form, checksum and context; values are never shown.

A hit carries its kind and place, never its value: excerpts are masked before they leave this module. The kinds,
how they are found and what is not, are in `personal` and `secrets`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..findings import Check, Evidence, Finding, Report, Severity, clean, declare
from ..secrets.personal import KINDS, Hit, find
from .engine import Engine, Local
from .records.blocks import blocks, plan
from .records.record import Account, Broken, Lines, Part

CODES = declare(
    "data pii",
    ("pii-found", "personal data",
     "personal data (identity numbers, cards, phones, mail or network addresses) is in the training data"),
    ("secrets-found", "secrets", "an API key, token, password or private key is in the training data"),
)  # fmt: skip

HITS_KEPT = 50
"""Places of each part that are kept; the others are only counted."""
SHOWN = 8
WINDOW = 40
"""Characters around a hit in its masked excerpt."""
FEWEST, FEW = 5, 0.002
"""Records, and share of them, below which values that no checksum backs are a note: so many of any text look like
telephone numbers or addresses. Own judgement."""
NOT_DETECTED = (
    "names outside labelled fields, postal addresses, 15-digit Chinese identity numbers, licence plates, "
    "numbers written as words, images and audio"
)


def mask(text: str) -> str:
    """The text with every detected value replaced by `[kind]`."""
    out, at = [], 0
    for hit in find(text):
        out += [text[at : hit.start], f"[{hit.kind.name}]"]
        at = hit.end
    return "".join((*out, text[at:])) if out else text


def mask_value(value: Any) -> Any:
    """A record with the strings inside it masked; keys serve as context and stay."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {k: _mask_field(str(k), v) for k, v in value.items()}
    return [mask_value(v) for v in value] if isinstance(value, list) else value


def _mask_field(key: str, value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        masked = mask(f"{key}: {value}")
        return value if masked.endswith(str(value)) else masked[len(key) + 2 :]
    return mask(f"{key}: {value}")[len(key) + 2 :] if isinstance(value, str) else mask_value(value)


def record_text(value: Any) -> str:
    """Every string and long number of a record with its key before it, as context for the detectors."""
    return value if isinstance(value, str) else "\n".join(_lines(value, ""))


def _lines(value: Any, key: str, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield f"{key}: {value}" if key else value
    elif isinstance(value, Mapping) and depth < 64:
        for k, v in value.items():
            yield from _lines(v, str(k), depth + 1)
    elif isinstance(value, list) and depth < 64:
        for v in value:
            yield from _lines(v, key, depth + 1)
    elif isinstance(value, int) and value > 10**9:
        yield f"{key}: {value}"


@dataclass
class Scanned:
    """What one part holds; no values."""

    part: int
    lines: int = 0
    records: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    hit_records: Counter[str] = field(default_factory=Counter)
    """Records with at least one hit, by kind; key `any` for any kind."""
    places: list[tuple[str, int, int | None, str]] = field(default_factory=list)
    """(kind, line, byte, masked excerpt) of the first hits."""
    broken: list[Broken] = field(default_factory=list)
    """Those that end a file."""
    unread: int = 0


def scan_part(part: Part) -> Scanned:
    """Personal data and secrets in one part."""
    out = Scanned(part.number)
    for block in blocks(part):
        out.broken += [b for b in block.broken if b.ends_file]
        out.unread += len(block.broken)
        for record in block.records:
            out.records += 1
            if hits := find(text := record_text(record.value)):
                _note(out, record.line, record.byte, text, hits)
        out.lines += block.lines
    return out


def _note(out: Scanned, line: int, byte: int | None, text: str, hits: Sequence[Hit]) -> None:
    out.hits.update(h.kind.name for h in hits)
    out.hit_records.update({h.kind.name for h in hits} | {"any"})
    for hit in hits:
        seen = sum(1 for kind, *_ in out.places if kind == hit.kind.name)
        if len(out.places) < HITS_KEPT and seen < SHOWN:
            out.places.append((hit.kind.name, line, byte, excerpt(text, hits, hit)))


def excerpt(text: str, hits: Sequence[Hit], hit: Hit) -> str:
    """The surroundings of one hit, all hits masked; a neighbour that is cut by the window is masked whole."""
    low, high = max(0, hit.start - WINDOW), min(len(text), hit.end + WINDOW)
    out, at = [], low
    for h in hits:
        if h.end > low and h.start < high:
            out += [text[at : max(h.start, at)], f"[{h.kind.name}]"]
            at = h.end
    return clean("".join((*out, text[at:high])), 160)


def pii(paths: Sequence[Path | Part], *, engine: Engine | None = None) -> Report:
    """Personal data and secrets in all records under `paths`.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    parts = plan(paths)
    lines, total, account = Lines(), Scanned(-1), Account()
    places: list[tuple[str, Evidence]] = []
    for part, one in zip(parts, (engine or Local()).map(scan_part, parts), strict=True):
        lines.add(part, one.lines)
        total.records += one.records
        total.hits += one.hits
        total.hit_records += one.hit_records
        account.add(part.name, one.records, one.broken, one.unread)
        places += [
            (kind, Evidence(part.name, lines.absolute(part, line), value=kind, text=text))
            for kind, line, _, text in one.places
        ]
    return account.on(pii_report(total, places))


def pii_report(total: Scanned, places: list[tuple[str, Evidence]]) -> Report:
    findings = tuple(_findings(total, places))
    none = 3 / total.records if total.records else None
    bound = (
        ""
        if findings or none is None
        else (
            f"; none in {total.records} records: with 95% confidence fewer than {none:.2g} of records like these (3/n)"
        )
    )
    checks = [
        Check(
            name,
            "found" if any(f.code == code for f in findings) else "clear",
            f"{total.records} records scanned for {', '.join(kinds)}{bound}",
        )
        for name, code, kinds in (
            ("personal data", "pii-found", _names("personal")),
            ("secrets", "secrets-found", _names("secret")),
        )
    ]
    checks.append(Check("personal data in other forms", "not-applicable", f"not detected: {NOT_DETECTED}"))
    summary = {
        "records": total.records,
        "records_with_hits": total.hit_records["any"],
        "hits": dict(total.hits),
        "records_by_kind": {k: n for k, n in total.hit_records.items() if k != "any"},
        "upper_bound_when_none": none if not total.hits else None,
    }
    return Report("data pii", findings, tuple(checks), summary)


def _names(kind: str) -> list[str]:
    return [k.name for k in KINDS if k.kind == kind]


def _findings(total: Scanned, places: list[tuple[str, Evidence]]) -> Iterator[Finding]:
    for code, kind, what, zh in (
        ("pii-found", "personal", "personal data", "个人信息"),
        ("secrets-found", "secret", "secrets", "密钥或口令"),
    ):
        kinds = {k.name: k for k in KINDS if k.kind == kind and total.hits[k.name]}
        if not kinds:
            continue
        counts = ", ".join(f"{name} {total.hits[name]}" for name in kinds)
        few = total.hit_records["any"] < max(FEWEST, FEW * total.records)
        severity = Severity.S1 if any(k.strong for k in kinds.values()) else Severity.S3 if few else Severity.S2
        chosen = [e for name in kinds for n, e in places if n == name][: SHOWN * 2]
        yield Finding(
            code,
            severity,
            f"{what} among {total.records} records: {counts}. Values are masked in all output; remove or mask them "
            "before training (`triage data pii FILE --write CLEAN --removed REMOVED`).",
            f"{total.records} 条记录中发现{zh}：{counts}。"
            "所有输出均已打码；训练前请清除（`triage data pii FILE --write CLEAN --removed REMOVED`）。",
            tuple(chosen),
            {"hits": {n: total.hits[n] for n in kinds}, "records": total.records},
        )
