"""A sentence in the two languages that triage speaks; the one thing of `tools` that `knowledge` may use."""

from __future__ import annotations

from dataclasses import dataclass

from .registry import table


def pick(lang: str, en: str, zh: str) -> str:
    """The Chinese where `lang` is `zh` and there is any; anything else is English."""
    return zh if lang == "zh" and zh else en


@dataclass(frozen=True)
class Phrase:
    """The same sentence in English and Chinese, with `{names}` for what differs each time."""

    en: str
    zh: str

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  # read where an entry's front matter holds one

    def __post_init__(self):
        if not (self.en and self.zh):
            raise ValueError(f"a sentence needs both languages: {self}")

    def say(self, lang: str, **values: object) -> str:
        """The sentence in `lang` (`zh`, anything else is English), its names filled in."""
        text = pick(lang, self.en, self.zh)
        return text.format(**values) if values else text


def phrases(name: str, *rows: tuple[str, str, str]) -> dict[str, Phrase]:
    """A table of sentences, each row its key and the two languages.

    Raises:
        ValueError: a key is given twice, or something is empty; the message names the table and the key.
    """
    table(name, ((key, en and zh) for key, en, zh in rows))
    return {key: Phrase(en, zh) for key, en, zh in rows}


def counted(n: int, what: Phrase, lang: str = "en") -> str:
    """`1 line`, `2 lines`, `3 checks`, `4 entries`: a number with its noun, which is given in the singular."""
    if lang == "zh":
        return f"{n} {what.zh}"
    return f"{n} {what.en if n == 1 else plural(what.en)}"


LINE, POINT, LOG = Phrase("line", "行"), Phrase("point", "个点"), Phrase("log", "个日志")
"""What findings count most."""


def plural(noun: str) -> str:
    """The plural of a regular English noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
