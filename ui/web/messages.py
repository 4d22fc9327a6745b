"""What stands in the conversation, as Gradio messages: an answer, a verdict, a person's words; text stays text."""

from __future__ import annotations

import re
from typing import Any

from ...agent.narrate.short import INDENT
from ...agent.session import shown
from ...tools.findings import clean

_COMMAND = re.compile(r"(?:Then: |之后：)triage verify ")
_WIDE = re.compile(r"^[\u3000-\u9fff\uff00-\uffef]|[\u3000-\u9fff\uff00-\uffef]$")
Message = dict[str, Any]
"""`{"role", "content", "metadata"}` of Gradio's chat."""


def said(text: str) -> list[Message]:
    """A short answer as a message; the panels have the rest, and a button for the command that judges the next run."""
    short, _, more = text.partition("\n\n")
    lines = [line for line in _whole(short) if not _COMMAND.match(line)]
    told = "\n\n".join(f"> `{line[2:].replace('`', chr(39))}`" if line.startswith("> ") else line for line in lines)
    return [{"role": "assistant", "content": safe("\n\n".join(filter(None, (told, more))))}]


def _whole(text: str) -> list[str]:
    """The lines of a terminal as they were before they were wrapped."""
    out: list[str] = []
    for line in text.splitlines():
        begun = line.startswith(INDENT) and out and not line.startswith(f"{INDENT}> ")
        if begun:
            gap = "" if _WIDE.search(out[-1]) and _WIDE.match(line.strip()) else " "
            out[-1] = out[-1].removesuffix("\\").rstrip() + gap + line.strip()
        else:
            out.append(line.strip())
    return [line for line in out if line]


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
