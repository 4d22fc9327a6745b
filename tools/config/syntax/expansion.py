"""Shell words with their variables put in: parameters, defaults, replacements, arithmetic.

Nothing is run: `$(...)` and what only the machine knows are `UNKNOWN`.
"""

from __future__ import annotations

import re

from .shellvalues import UNKNOWN, Budget, Fields, calculate, replaced, trimmed, unknown
from .shellwords import MAX_NESTING, Traced, closing, continuation
from .source import Refused

Value = Traced | list[Traced]


class Expansion:
    """Expands words by the variables it holds."""

    def __init__(self) -> None:
        self.variables: dict[str, Value] = {}
        self.spans: dict[int, int] = {}
        """Start -> end of arithmetic expressions: their digits are nowhere in the file."""
        self.depth = 0
        self.budget = Budget()

    def text(self, word: Traced) -> str:
        return self.one(word).text

    def one(self, word: Traced) -> Traced:
        """The word as one value, without field splitting."""
        fields = Fields(False, self.budget)
        self._expand_into(word, fields)
        return fields.joined()

    def expand(self, word: Traced) -> list[Traced]:
        """The word as the fields that a command would receive."""
        fields = Fields(True, self.budget)
        self._expand_into(word, fields)
        return fields.done()

    def expand_text(self, body: Traced) -> Traced:
        """A here-document: expansions, but quotes are plain characters."""
        fields = Fields(False, self.budget)
        i, t = 0, body.text
        self.budget.spend(len(t))
        while i < len(t):
            if t[i] == "\\":
                if skip := continuation(t, i):
                    i = skip
                    continue
                escaped = t[i + 1 : i + 2] in ("$", "`", "\\")
                fields.add(body[i + 1 : i + 2] if escaped else body[i : i + 1])
                i += 2 if escaped else 1
            elif t[i] in "$`":
                i = self._expansion(body, i, fields, quoted=True)
            else:
                end = next((j for j in range(i + 1, len(t)) if t[j] in "$`\\"), len(t))
                fields.add(body[i:end])
                i = end
        return fields.joined()

    def _expand_into(self, word: Traced, fields: Fields) -> None:
        i, t, quote = 0, word.text, False
        self.budget.spend(len(t))
        while i < len(t):
            c = t[i]
            if c == "'" and not quote:
                end = t.find("'", i + 1)
                end = len(t) if end < 0 else end
                fields.add(word[i + 1 : end], quoted=True)
                i = end + 1
            elif c == '"':
                quote = not quote
                fields.present = True
                i += 1
            elif c == "\\":
                i = self._backslash(word, i, quote, fields)
            elif c in "$`":
                i = self._expansion(word, i, fields, quote)
            else:
                fields.add(word[i : i + 1], quoted=True)
                i += 1

    @staticmethod
    def _backslash(word: Traced, i: int, quote: bool, fields: Fields) -> int:
        t = word.text
        if t.startswith("\r\n", i + 1):
            return i + 3
        following = t[i + 1 : i + 2]
        if following == "\n":
            return i + 2
        if quote and following not in ('"', "$", "`", "\\"):
            fields.add(word[i : i + 2], quoted=True)
        else:
            fields.add(word[i + 1 : i + 2], quoted=True)
        return i + 2

    def _expansion(self, word: Traced, i: int, fields: Fields, quoted: bool) -> int:
        t = word.text
        if t[i] == "`":
            end = t.find("`", i + 1)
            fields.add(unknown(), quoted)
            return len(t) if end < 0 else end + 1
        if t.startswith("$((", i):
            end = closing(t, i + 1)
            fields.add(self._arithmetic(word[i:end]), quoted)
            return end
        if t.startswith("$(", i):
            fields.add(unknown(), quoted)
            return closing(t, i + 1)
        if t.startswith("${", i):
            end = closing(t, i + 1)
            self._braced(word[i + 2 : end - 1], fields, quoted)
            return end
        match = re.compile(r"\$([A-Za-z_]\w*|[0-9@*#?$!-])").match(t, i)
        if not match:
            fields.add(word[i : i + 1], quoted=True)
            return i + 1
        self._plain(match[1], word, i, fields, quoted)
        return match.end()

    def _plain(self, name: str, word: Traced, i: int, fields: Fields, quoted: bool) -> None:
        if name in "@*":
            given = self.variables.get("@")
            if isinstance(given, list) and given:
                fields.add_all(given)
            else:
                fields.present = fields.present and not quoted
            return
        value = self.variables.get(name)
        if isinstance(value, list):
            value = value[0] if value else Traced("", [])
        fields.add(unknown() if value is None else value, quoted)

    def _braced(self, inner: Traced, fields: Fields, quoted: bool) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise Refused(f"shell expansion nested deeper than {MAX_NESTING} levels; not read")
        match = re.match(r"([#!]?)([A-Za-z_]\w*|[0-9@*])(\[[^\]]*\])?", inner.text)
        if not match or match[1]:
            fields.add(unknown(), quoted)
        elif match[2] in "@*":
            pass
        else:
            value = self.variables.get(match[2])
            rest = inner[match.end() :]
            if match[3] and isinstance(value, list):
                value = self._element(value, match[3][1:-1])
            if isinstance(value, list) and not match[3]:
                value = value[0] if value else Traced("", [])
            if isinstance(value, list):
                fields.add_all(value)
            else:
                fields.add(self._operator(value, rest, inner), quoted)
        self.depth -= 1

    @staticmethod
    def _element(value: list[Traced], index: str) -> Value | None:
        if index in ("@", "*"):
            return value
        return value[int(index)] if index.isdigit() and int(index) < len(value) else None

    def _operator(self, value: Traced | None, rest: Traced, inner: Traced) -> Traced:
        """`:-`, `:=`, `:+`, replacement, prefix and suffix removal, case."""
        known = value is not None and bool(value.text) and UNKNOWN not in value.text
        text = rest.text
        if match := re.match(r":?[-=]", text):
            return value if known and value is not None else self.one(rest[match.end() :])
        if match := re.match(r":?\+", text):
            return self.one(rest[match.end() :]) if known else Traced("", [])
        if value is None:
            return unknown()
        if text.startswith("//") or text.startswith("/"):
            pattern, _, replacement = text.lstrip("/").partition("/")
            return replaced(value, pattern, replacement, everywhere=text.startswith("//"))
        if match := re.match(r"(##?|%%?)(.*)", text, re.DOTALL):
            return trimmed(value, match[1], match[2], self.budget)
        if text in ("^^", ",,"):
            changed = value.text.upper() if text == "^^" else value.text.lower()
            return Traced(changed, value.at) if len(changed) == len(value.text) else value
        if text and not text.startswith(":?"):
            return unknown()
        return value

    def _arithmetic(self, whole: Traced) -> Traced:
        """`$((...))` over integers; the result points at the whole expression."""
        expression = whole.text[3:-2]
        expression = re.sub(r"\$\{?([A-Za-z_]\w*)\}?|([A-Za-z_]\w*)", self._number, expression)
        result = calculate(expression)
        if result is None or whole.start < 0:
            return unknown()
        start = whole.start
        self.spans[start] = max(whole.at) + 1
        return Traced(str(result), [start] * len(str(result)))

    def _number(self, match: re.Match[str]) -> str:
        value = self.variables.get(match[1] or match[2])
        text = value.text.strip().strip("'\"") if isinstance(value, Traced) else ""
        return f"({text})" if re.fullmatch(r"-?\d{1,18}", text) else "UNKNOWN"
