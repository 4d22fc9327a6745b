"""Words of a stranger, a model's say, as dead text: nothing in them is acted on where they are shown."""

from __future__ import annotations

import re

from ..patterns import bounded
from .table import redact

_LINK = bounded(r"(?i)\b([a-z][a-z0-9+.-]{1,12})://|\b(javascript|data|vbscript|mailto|file):(?=\S)|\b(www)\.(?=\w)")
_DOMAIN = re.compile(
    r"(?i)(?<![\w/])((?:[\w-]{1,60}\.){0,4}[\w-]{1,60})\.(com|net|org|io|ai|cn|dev|app|example|xyz|top|ru|info|me|co|site|online)\b(?!\.?\w)"
)
_INERT = str.maketrans({"`": "'", "*": "∗", "\u2028": " ", "\u2029": " "})


def inert(text: str) -> str:
    """Text of a model on one line: without credentials, and nothing in it that a page, a chat or a terminal acts on."""
    text = "".join(c if c.isprintable() else " " for c in redact(text))
    text = " ".join(text.split()).translate(_INERT) if text.strip() else ""
    text = _LINK.sub(lambda m: f"{m[1]}[:]//" if m[1] else f"{m[2]}[:]" if m[2] else f"{m[3]}[.]", text)
    text = _DOMAIN.sub(r"\1[.]\2", text)
    text = re.sub(r"<(?=[A-Za-z/!?@#])", "‹", text)
    text = re.sub(r"\](?=[(\[:])", "] ", text)
    return re.sub(r"^(?=[#>+|=~-]|\d+[.)]\s)", "· ", re.sub(r"!(?=\[)|~~|\$\$|__(?=\w)", " ", text))
