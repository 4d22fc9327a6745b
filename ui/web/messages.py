"""What stands in the conversation, as Gradio messages: an answer, a verdict, a person's words; text stays text."""

from __future__ import annotations

import re
from typing import Any

from ...agent.narrate.words import WORDS
from ...agent.session import shown
from ...tools.findings import clean

FOLDED = ("shows", "causes", "conflicts", "cautions", "own", "looked", "sources")
"""Sections of an answer that the panels show too: closed in the conversation."""
Message = dict[str, Any]
"""`{"role", "content", "metadata"}` of Gradio's chat."""


def said(text: str) -> list[Message]:
    """An answer as messages: what to do is open, what the panels show as well is folded."""
    folded = {WORDS[key].say(code).lstrip("# ") for key in FOLDED for code in ("en", "zh")}
    first, *sections = re.split(r"^### ", text, flags=re.MULTILINE)
    open_parts, closed = [first.strip()], list[Message]()
    for section in sections:
        title, _, body = section.partition("\n")
        if title.strip() in folded:
            meta = {"title": title.strip(), "status": "done"}
            closed.append({"role": "assistant", "content": safe(body.strip()), "metadata": meta})
        else:
            open_parts.append(f"### {section.strip()}")
    return [{"role": "assistant", "content": safe("\n\n".join(open_parts))}, *closed]


def judged(text: str) -> list[Message]:
    """A verdict as a message; its table is for the panel."""
    return [{"role": "assistant", "content": safe(text.partition("\n\n|")[0].strip())}]


def safe(markdown: str) -> str:
    """Markdown of an answer in which a run's own text can neither fetch a picture nor be a tag or a hidden link.

    What counts as code here may be none for the page's own reader (a backtick that a backslash or another line takes):
    so inside it an opening of a tag is broken too, by a blank that has no width.
    """
    markdown = re.sub(r"^([^\w\n]*?)~{3,}", r"\1", markdown, flags=re.MULTILINE)
    parts = re.split(r"(^```[\w-]*\n.*?^```|(?<![\\`])`[^`\n]*`(?!`))", markdown, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(parts), 2):
        parts[i] = parts[i].replace("<", "&lt;").replace("![", "!\\[").replace("](", "]\\(")
    for i in range(1, len(parts), 2):
        parts[i] = re.sub(r"<(?=[A-Za-z/!?])", "<\u200b", parts[i]).replace("![", "!\u200b[").replace("](", "]\u200b(")
    return "".join(parts)


def escaped(text: str) -> str:
    """Plain text as Markdown that shows just this text."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~$])", r"\\\1", clean(text, 2_000))


def spoken(text: str) -> str:
    """A person's message: words as words, pasted lines as they are, bounded, without credentials."""
    first, *rest = shown(text).strip().splitlines()
    if not rest:
        return escaped(first)
    lines = [clean(line, 300).replace("```", "'''") for line in [first, *rest][:40]]
    more = f"\n… {len(rest) + 1 - 40}" if len(rest) >= 40 else ""
    return "```text\n" + "\n".join(lines) + more + "\n```"
