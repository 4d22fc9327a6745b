"""What is hidden where text leaves for a model, a trace or Slack.

Credentials are masked for good (`secrets`); personal data and, on request, names of machines, people and folders go
behind stable placeholders, which can be put back in the answer shown here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from .secrets import redact
from .secrets.personal import find

Identity = Literal["hosts", "users", "paths"]
IDENTITY: dict[Identity, str] = {
    "paths": r"(?<![\w./])(?:/[\w.@+-]+){2,}/?|\b[A-Z]:\\[^\s\"']+",
    "hosts": r"(?<![\w.:/-])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)|(?<=@)[a-z][\w-]*(?:\.[\w-]+)*(?=[:\s]|$)"
    r"|(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}(?:com|net|org|io|ai|cn|local|internal|corp|lan|cluster)\b"
    r"|\b(?:node|host|gpu|worker|compute|dgx|ip)-?\d[\w-]*\b|(?<=hostname[:= ])[\w.-]+|(?<=hostname: )[\w.-]+",
    "users": r"(?<=/home/)[\w.-]+|(?<=/Users/)[\w.-]+|(?i:(?<=user=))[\w.-]+"
    r"|(?<![\w.-])[a-z][\w.-]{0,63}(?=@[a-z][\w.-]*:)",
}
"""What names a machine, a person or a folder of the asker; hidden only where it is asked for."""


class Boundary:
    """Text on its way out, and answers on their way back, for one conversation.

    Args:
        also: what to hide beside credentials and personal data.
    """

    def __init__(self, also: Iterable[Identity] = ()):
        self._also = [(kind, re.compile(IDENTITY[kind])) for kind in IDENTITY if kind in set(also)]
        self._names: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def hide(self, text: str) -> str:
        """The text as it may leave: the same value always becomes the same placeholder (`[email-1]`)."""
        text, out, at = redact(text), "", 0
        for hit in find(text):
            if hit.kind.kind == "personal":
                out += text[at : hit.start] + self._placeholder(hit.kind.name, text[hit.start : hit.end])
                at = hit.end
        text = out + text[at:]
        for kind, pattern in self._also:
            text = pattern.sub(lambda match, kind=kind: self._placeholder(kind[:-1], match[0]), text)
        return text

    def restore(self, text: str) -> str:
        """The text with the placeholders of this conversation replaced by their values; for the local answer only."""
        return re.sub(r"\[[a-z-]+-\d+\]", lambda match: self._values.get(match[0], match[0]), text)

    def _placeholder(self, kind: str, value: str) -> str:
        if value not in self._names:
            count = sum(name.startswith(f"[{kind}-") for name in self._names.values())
            self._names[value] = f"[{kind}-{count + 1}]"
            self._values[self._names[value]] = value
        return self._names[value]
