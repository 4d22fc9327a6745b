"""Slack's text and ours: what a person typed as plain text, and Markdown as `mrkdwn` in which nothing can fire.

Everything that goes out is escaped whole, so that no mention, channel call or link in a run's text has an effect; the
blocks are sent `verbatim` and without previews, because a preview is a request to whoever wrote the link.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_MARKUP = re.compile(r"<(?P<target>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")
_RUN = re.compile(r"""--run[= ]+(?P<path>"[^"\n]+"|\S+)""")
_BARE = re.compile(r"(?<![\w/.:~-])`?(?P<path>~?/[\w.+@=~-]+/[\w.+@=~/-]+)`?")
_RULE = re.compile(r"\|[\s:|-]{1,400}\|")
_CODE = re.compile(r"(`[^`\n]*`)")
_NAME = re.compile(r"(?<![\w/.:~-])(?=[\w.+=-]{0,60}[\d/_-])\w[\w.+=-]{1,60}(?:/[\w.+=-]{1,60}){0,4}")
"""What may be the name of a run: a word with a digit, a dash, an underscore or a slash in it."""
NAMES = 12
"""Of such words looked for in the folders."""
PASTED = 4
"""From this many lines on a message is a pasted log, in which a path is not a run that is named."""


def plain(text: str) -> str:
    """What a person typed, without Slack's markup: mentions gone, links as their text, entities resolved."""

    def shown(match: re.Match[str]) -> str:
        target, label = match["target"], match["label"]
        return "" if target[0] in "@!" else label or target.removeprefix("mailto:")

    lines = html.unescape(_MARKUP.sub(shown, text)).splitlines()
    return "\n".join(line for line in lines if line.strip() != "```").replace("```", "").strip()


def named_runs(text: str) -> tuple[str, list[str], list[str]]:
    """The text without the paths it names, those named with `--run`, and bare absolute ones."""
    asked = [m["path"].strip("`'\"") for m in _RUN.finditer(text)]
    text = _RUN.sub("", text)
    bare = [m["path"] for m in _BARE.finditer(text)] if text.count("\n") < PASTED else []
    return (_BARE.sub("", text) if bare else text).strip(), asked, bare


def names(text: str) -> list[str]:
    """The words that may name a run below an allowed folder; none of a pasted log."""
    words = [m[0].rstrip(".") for m in _NAME.finditer(text)] if text.count("\n") < PASTED else []
    return list(dict.fromkeys(words))[:NAMES]


def escape(text: str) -> str:
    return html.escape(text, quote=False)


def flowing(text: str) -> str:
    """Lines that were broken for a terminal, whole again: Slack breaks them where its own window ends."""
    return re.sub(r"\n {3}(?![ >])", " ", text)


def parted(markdown: str) -> tuple[str, list[list[str]], str]:
    """What stands before the first table, its rows of cells as plain text, and what stands behind it."""
    lines = markdown.splitlines()
    first = next((i for i in range(len(lines) - 1) if lines[i].startswith("|") and _RULE.fullmatch(lines[i + 1])), None)
    if first is None or "```" in "".join(lines[:first]):
        return markdown, [], ""
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("|")), len(lines))
    rows = [_cells(line) for line in (lines[first], *lines[first + 2 : last])]
    return "\n".join(lines[:first]), rows, "\n".join(lines[last:])


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    return [cell.strip().replace("\\|", "|").replace("`", "").replace("**", "") for cell in cells]


def sections(markdown: str, limit: int) -> Iterator[str]:
    """Markdown as pieces of `mrkdwn`, each at most `limit` characters, cut at headings and lines.

    Args:
        markdown: one of our answers: headings, lists, tables, fences, bold, code.
        limit: at least 200.
    """
    piece, fence = "", False
    for line in markdown.splitlines():
        if line.startswith("```"):
            fence = not fence
            shown = "```"
        else:
            shown = escape(line) if fence else _line(line)
        heading = not fence and line.startswith("#")
        for part in _parts(shown, limit - 20):
            if piece and (heading or len(piece) + len(part) + 10 > limit):
                yield piece.strip() + ("\n```" if fence and part != "```" else "")
                piece = "```" if fence and part != "```" else ""
            piece = f"{piece}\n{part}" if piece else part
    if piece.strip():
        yield piece.strip() + ("\n```" if fence else "")


def _parts(line: str, limit: int) -> list[str]:
    return [line[i : i + limit] for i in range(0, len(line), limit)] or [""]


def _line(line: str) -> str:
    """One line outside a fence."""
    if _RULE.fullmatch(line):
        return ""
    if line.startswith("|"):
        line = "- " + " · ".join(cell for cell in map(str.strip, line.split("|")) if cell)
    if heading := re.match(r"#+ (.*)", line):
        return f"*{escape(heading[1])}*"
    line = re.sub(r"^(\s*)- ", r"\1• ", line)
    pieces = _CODE.split(line)
    return "".join(escape(p) if p.startswith("`") else re.sub(r"\*\*(.+?)\*\*", r"*\1*", escape(p)) for p in pieces)
