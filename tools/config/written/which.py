"""Which files are notes of this run, by their names, and how much a text must set to be one about settings."""

# ruff: noqa: E501  one pattern on one line

from __future__ import annotations

from pathlib import PurePath

from ...patterns import bounded

SUFFIXES = frozenset((".md", ".markdown", ".rst", ".org", ".adoc", ".txt", ".mdx", ".tex"))
LEAST = 3
"""Settings from which on a text is one about settings."""
_OTHER_FILE = bounded(
    r"(?i)plan|to-?do|proposal|change|history|roadmap|ideas?|incident|post-?mortem|chat|slack|timeline|journal|diary"
    r"|commit|commands?|usage|guide|tutorial|install|faq|design|adr|contributing|report|requirements|licen[cs]e|minutes|meeting|计划|提案|待办|变更|复盘|群聊|时间线|纪要|会议"
)
_NOTES = bounded(
    r"(?i)^(?!.*(?:log|out))(?:.{0,40}[_. -])?(?:read-?me|notes?|memo|hparams?|hyper-?param\w*|setup|recipe|card|about|desc\w*|run[_-]?info|experiment)"
    r"|说明|笔记|记录|参数|配置|实验|备忘"
)
"""Names of plain texts that are notes: others are logs and dumps."""
_ELSEWHERE = frozenset(("docs", "doc", "examples", "example", "tests", "third_party", "templates"))
"""Folders whose texts are about a program."""


def readable(name: str) -> bool:
    """Whether a file of this name may tell of this run's settings."""
    path = PurePath(name)
    kind = path.suffix.lower() in SUFFIXES or not path.suffix
    told = path.suffix.lower() not in ("", ".txt") or _NOTES.search(path.name)
    return bool(kind and told) and not _OTHER_FILE.search(path.name) and not _ELSEWHERE.intersection(path.parts[:-1])
