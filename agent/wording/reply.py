"""The form of a model's reply, as the server is told it and as it is read: facts by id, a cause by id, and statements.

Where the server decodes by the schema, no citation can be invented. A reply in prose, or cut off, is read as far as it
goes; ids that do not exist are left out of its citations.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Literal, get_args

import pydantic_core
from pydantic import BaseModel

from ...tools.patterns import bounded

Kind = Literal["answer", "because", "explain", "next", "unknown"]
STATEMENTS, CITED, WORDS = 12, 8, 900
"""Most statements of a reply, citations of one, and characters of its text."""
ID = bounded(r"(?<![\w-])([FCXVRMQLBPAT]\d{1,3})(?![\w%])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


class Said(BaseModel):
    """One statement."""

    kind: Kind
    text: str
    cites: list[str]


class Reply(BaseModel):
    """What the model adds to triage's own answer."""

    facts: list[str]
    cause: str | None
    say: list[Said]


def spoken(text: str) -> str:
    """The text without what a reasoning model thinks aloud; thoughts that never end are never shown."""
    kept, rest = "", text
    while "<think>" in rest:
        before, _, rest = rest.partition("<think>")
        kept, rest = kept + before, rest.partition("</think>")[2]
    return kept + rest.rpartition("</think>")[2]


def schema(ids: Collection[str]) -> dict[str, Any]:
    """The JSON schema of a reply that can cite these ids and no others."""
    some = {"type": "string", "enum": sorted(ids, key=lambda i: (i[0], int(i[1:])))}
    causes = [i for i in some["enum"] if i[0] == "C"]
    statement = _object(
        kind={"type": "string", "enum": list(get_args(Kind))},
        text={"type": "string"},
        cites={"type": "array", "items": some, "maxItems": CITED},
    )
    return _object(
        facts={"type": "array", "items": some, "maxItems": CITED},
        cause={"enum": [*causes, None]},
        say={"type": "array", "items": statement, "minItems": 1, "maxItems": STATEMENTS},
    )


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read(text: str, ids: Collection[str]) -> Reply | None:
    """The reply in a text, whole or cut off; None where it says nothing."""
    start = text.find("{")
    data: Any = None
    if start >= 0 and '"say"' in text:
        try:
            data = pydantic_core.from_json(text[start : text.rfind("}") + 1] or text[start:])
        except ValueError:
            try:
                data = pydantic_core.from_json(text[start:], allow_partial="trailing-strings")
            except ValueError:
                data = None
    if not isinstance(data, dict) or not isinstance(data.get("say"), list):
        return None if start >= 0 and '"say"' in text else _prose(text, ids)
    said = [one for item in data["say"][:STATEMENTS] if (one := _said(item, ids))]
    cause = data.get("cause")
    cause = cause if isinstance(cause, str) and cause in ids and cause.startswith("C") else None
    return Reply(facts=_known(data.get("facts"), ids), cause=cause, say=said) if said else None


def _said(item: Any, ids: Collection[str]) -> Said | None:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str) or not item["text"].strip():
        return None
    kind: Any = item.get("kind")
    return Said(
        kind=kind if kind in get_args(Kind) else "explain",
        text=item["text"][:WORDS],
        cites=_known(item.get("cites"), ids),
    )


def _known(cites: Any, ids: Collection[str]) -> list[str]:
    given = [c for c in cites if isinstance(c, str) and c in ids] if isinstance(cites, list) else []
    return list(dict.fromkeys(given))[:CITED]


def _prose(text: str, ids: Collection[str]) -> Reply | None:
    """Plain sentences with ids in them, each a statement."""
    if re.search(r"<\|?/?(?:tool_call|think|im_start)", text):
        return None
    sentences = [s.strip() for s in _SENTENCE.split(text) if len(s.strip(" -*#>\t`")) > 1][:STATEMENTS]
    said = [Said(kind="answer", text=s[:WORDS], cites=_known(ID.findall(s), ids)) for s in sentences]
    return Reply(facts=[], cause=None, say=said) if said else None
