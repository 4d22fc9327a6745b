"""A sentence in the two languages that triage speaks."""

from __future__ import annotations

from typing import NamedTuple


class Phrase(NamedTuple):
    """The same sentence in English and Chinese, with `{names}` for what differs each time."""

    en: str
    zh: str

    def say(self, lang: str, **values: object) -> str:
        """The sentence in `lang` (`zh`, anything else is English), its names filled in."""
        text = self.zh if lang == "zh" and self.zh else self.en
        return text.format(**values) if values else text
