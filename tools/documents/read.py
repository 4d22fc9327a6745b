"""Changelogs, notes, plans, chats, timelines, commit logs and diffs as what happened when, and what was meant.

What they say is evidence of when something was done, and no instruction and no diagnosis. A licence, a model card and
the page of a package say nothing about a run. Which lines mean what: `sentences`, `changes`, `claims`, `diffs`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath

from ..findings import TriageError
from ..patterns import bounded
from ..reading import Line, is_binary, iter_lines
from . import changes, claims, diffs
from .event import Claim, Event
from .sentences import LINE_LIMIT, sentences

BYTES = 20 << 20
"""Text that is read of one document: more than anybody writes by hand."""
LINES, SENTENCES = 200_000, 20_000
"""Lines that are read, and sentences that are understood: some seconds of work."""
QUIET, UNNAMED = 1_000, 100
"""Sentences of which not one tells of a run on average, from which on a text is a corpus; those from which on one is no
document that tells nothing at all and has neither a name nor a suffix that people give to notes (a decoder's
hypotheses lie in dozens of such files)."""
EVENTS, CLAIMS = 2000, 500
"""What is kept of one document: more would tell nobody anything."""


@dataclass(frozen=True)
class Document:
    """What one document tells."""

    events: tuple[Event, ...] = ()
    claims: tuple[Claim, ...] = ()
    cut: str = ""
    """Why not all of it was read; empty where it was."""
    left: bool = False
    """Whether that is because nothing before tells of a run, and no name says that it should: it is no document."""


def read_document(path: Path, name: str) -> Document:
    """The events and claims of a document; none of a text that tells nothing about a run.

    Args:
        path: the file.
        name: what evidence calls it.

    Raises:
        TriageError: it cannot be opened or is not text.
    """
    lines, cut = _lines(path, name)
    return _read(lines, name, cut)


def package_changes(before: Path, after: Path, name: str) -> Document:
    """What changed from one list of packages (`requirements.txt`, `pip freeze`) to a later one called `name`."""
    (old, cut), (new, cut2) = _lines(before, name), _lines(after, name)
    found = tuple(islice(diffs.between(old, new, name), EVENTS + 1))
    return Document(found[:EVENTS], cut=cut or cut2 or _over(found, EVENTS, "events"))


def _lines(path: Path, name: str) -> tuple[list[Line], str]:
    lines: list[Line] = []
    size, long = 0, ""
    for line in iter_lines(path):
        size += len(line.text)
        if len(lines) >= LINES:
            return lines, f"over the limit of {LINES} lines"
        if size > BYTES:
            return lines, f"over the limit of {BYTES >> 20} MiB"
        if not lines and is_binary(line.text[:4096].encode()):
            raise TriageError(f"{name} is binary and no document; name a text file")
        if len(line.text) > LINE_LIMIT and not long:
            long = f"line {line.number} is over the limit of {LINE_LIMIT} characters"
        lines.append(Line(line.number, line.text[:LINE_LIMIT]))
    return lines, long


def _read(lines: Sequence[Line], name: str, cut: str = "") -> Document:
    if _says_nothing(lines):
        return Document(cut=cut)
    hunks, rest = diffs.split(lines)
    events = list(islice(diffs.events(hunks, name), EVENTS + 1))
    meant: list[Claim] = []
    called = _NAMES.search(PurePath(name).name) or _MARKUP.search(name)
    for i, said in enumerate(sentences(rest, name)):
        if i >= SENTENCES:
            cut = cut or f"over the limit of {SENTENCES} sentences"
            break
        if i >= UNNAMED and not called and not events and not meant:
            return Document(cut=cut or f"its first {UNNAMED} sentences tell nothing of a run", left=not cut)
        if i >= QUIET and len(events) + len(meant) < i / QUIET:
            cut = cut or f"{QUIET} sentences tell nothing of a run"
            break
        new = list(changes.events(said, name)) + list(changes.lost(said, name))
        events += new
        if not new:
            meant += claims.claims(said, name)
        if len(events) > EVENTS or len(meant) > CLAIMS:
            break
    cut = cut or _over(events, EVENTS, "events") or _over(meant, CLAIMS, "claims")
    if not meant and all(e.what == "note" and e.step is None for e in events):
        return Document(cut=cut)  # a calendar, a shopping list
    told = {e.line for e in events if e.what != "note"}
    kept = {
        (e.line, e.what, e.variable, e.old, e.new): e for e in events[:EVENTS] if e.what != "note" or e.line not in told
    }
    return Document(tuple(sorted(kept.values(), key=lambda e: e.line)), tuple(meant[:CLAIMS]), cut)


def _over(found: Sequence[object], limit: int, what: str) -> str:
    return f"over the limit of {limit} {what}" if len(found) > limit else ""


_CARD = bounded(
    r"^(?:license|library_name|base_model|model-index|pipeline_tag|tags|datasets|language"
    r"|metrics)\s?:",
    re.M,
)
_CARD_TEXT = bounded(r"model card for|this model is a fine-tuned version of|generated_from_trainer|# model card", re.I)
_LICENCE = bounded(
    r"permission is hereby granted|apache license,? version|gnu (?:lesser "
    r"|affero )?general public license|redistribution and use in source"
    r"|all rights reserved\.|mozilla public license|creative commons (?:legal code"
    r"|attribution)",
    re.I,
)
_PACKAGE = (
    bounded(r"\[!\[[^\]]*\]\(|img\.shields\.io|badge", re.I),
    bounded(r"^#{1,4}\s.{0,12}\b(?:installation|install|quick ?start|getting started|usage|安装|快速开始"
    r"|使用方法|环境(?:安装|配置))\b|^#{1,4}\s.{0,8}(?:安装|快速开始|使用)", re.I | re.M),
    bounded(r"^#{1,4}\s.{0,12}(?:licen[cs]e|citation|contributing|contributors|acknowledge?ments?"
    r"|references|star history|许可|引用|致谢|贡献)", re.I | re.M),
    bounded(r"(?:pip3?|uv pip|conda|npm|apt(?:-get)?) install |git clone ", re.I),
    bounded(r"@(?:article|misc|inproceedings)\{", re.I),
    bounded(r"huggingface\.co/|modelscope\.cn|pan\.baidu\.com|arxiv\.org/abs|star-history", re.I),
    bounded(r"^#{1,4}\s.{0,8}(?:介绍|简介|模型下载|news\b|features\b|demo\b|更新日志)", re.I | re.M),
)  # fmt: skip
_RELEASE = bounded(
    r"^#{0,4}\s*(?:\[?v?(?!(?:19|20)\d\d\.)\d+\.\d+\.\d+[\w.]*\]?(?:\(|\s|$)|(?:version|release) v?\d+\.\d+)",
    re.I | re.M,
)
_METRIC_LINE = bounded(
    r"^\W{0,3}(?:\S+ ){0,4}?(?:step|iter(?:ation)?"
    r"|epoch)\W{0,3}\d+.{0,20}\bloss\b\W{0,3}\d|\d+%\||^\{['\"]loss|\b(?:INFO|WARNING"
    r"|ERROR|DEBUG)\b|^\s*--?[a-z][\w-]+(?:[ =]|$)|^\s*(?:export )?[A-Z_]{3,}="
    r"|^\s*(?:torchrun|python3?|srun|deepspeed|accelerate) ",
    re.I,
)
_HEAD = 40_000


def _says_nothing(lines: Sequence[Line]) -> bool:
    """Whether it is a licence, a model card, the page or changelog of a package, or a log."""
    text = "\n".join(t for _, t in islice(lines, 600))[:_HEAD]
    front = re.match(r"\s*---\n(.{0,3000}?)\n---\n", text, re.S)
    if (front and _CARD.search(front[1])) or _CARD_TEXT.search(text) or _LICENCE.search(text):
        return True
    if sum(p.search(text) is not None for p in _PACKAGE) >= 2 or len(_RELEASE.findall(text)) >= 2:
        return True
    some = [t for _, t in islice(lines, 300) if t.strip()]
    return bool(some) and sum(
        _METRIC_LINE.search(t[:300]) is not None and "->" not in t and "→" not in t for t in some
    ) * 2 > len(some)


_NAMES = bounded(
    r"\.(?:diff|patch)$|(?:^|[_.-])(?:changes?|changelog|history|news|notes?|plans?"
    r"|timeline|incident|post-?mortem|slack|chat|journal|diary|todo"
    r"|run-?log|commits?|git-?log|runbook|readme|report|summary|decisions?|minutes|meeting"
    r"|retro|ops|hand-?over|status|experiments?|worklog|lab)"
    r"[\w.-]*$|变更|记录|计划|日志|时间线|复盘|纪要|周报|日报|说明|笔记|群聊|故障|交接|值班",
    re.I,
)
_MARKUP = re.compile(r"\.(?:md|markdown|mdx|rst|adoc|org|diff|patch)$", re.I)
_SUFFIX = re.compile(r"\.(?:md|markdown|mdx|rst|adoc|org|txt|text|diff|patch|log)?$|^[^.]*$", re.I)
_GIT = bounded(r"^commit [0-9a-f]{7,40}\b.*\n(?:Merge:.*\n)?Author:", re.M)
_UNIFIED = bounded(r"^--- \S.*\n\+\+\+ \S.*\n@@ -\d", re.M)


def is_document(name: str, head: bytes) -> bool:
    """Whether a file of this name and these first bytes is one to be read here; a log, licence or model card is not."""
    plain = PurePath(name).name
    if (not _SUFFIX.search(plain) and not re.search(r"\.(?:diff|patch)$", plain, re.I)) or is_binary(head):
        return False
    text = head.decode("utf-8", "replace") if b"\0" not in head[:200] else head.decode("utf-16", "replace")
    if _GIT.search(text) or _UNIFIED.search(text):
        return True
    lines = [Line(i, t[:LINE_LIMIT]) for i, t in enumerate(text.splitlines(), 1)]
    if not text.strip() or _says_nothing(lines):
        return False
    if _MARKUP.search(plain):
        return True
    found = _read(lines, plain)
    return bool(found.events or found.claims) and (_NAMES.search(plain) is not None or not plain.endswith(".log"))
