"""What a value looks like: whether it was drawn at random, or is a placeholder, a word, a name in code.

The scan of training data asks it beside a row's pattern; what stands before a value is for `naming`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

Valid = Callable[[str, str, str], bool]
"""(value, the characters before it, a few after it) -> whether it counts in training data."""
PLACEHOLDER = re.compile(
    r"example|your|xxxx|placeholder|dummy|sample|changeme|redacted|test|fake|\*\*\*|\.\.\.|1234567|abcdef0|0{8}|<|\$\{|\{\{",
    re.IGNORECASE,
)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""`settings.api.KEY_2`, `OPENAI_API_KEY`: what stands for a secret in code."""


def entropy(text: str) -> float:
    """Bits per character of the text's own character frequencies."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) if text else 0.0


def irregular(value: str, kinds: int = 2, run: float = 3) -> bool:
    """Whether capitals, small letters and digits alternate as if drawn: `k3Qz9xW1`, not `V1ObjectReference2`."""
    pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", value)
    found = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    return found >= kinds and sum(map(len, pieces)) <= run * len(pieces)


def token(least: int = 0, kinds: int = 0) -> Valid:
    """No placeholder, as irregular as a random token, of a length; with `kinds`, of so many kinds of letters, mixed."""

    def valid(value: str, before: str, after: str) -> bool:
        tail = re.sub(r"^[A-Za-z]+[_-](?:[a-z]+[_-])*", "", value)
        drawn = not kinds or irregular(value, kinds)
        return len(value) >= least and drawn and not PLACEHOLDER.search(value) and entropy(tail) > 2.8

    return valid


random_token = token()


def key_body(value: str, before: str, after: str) -> bool:
    """A private key with the key in it, and not only its heading."""
    return any(irregular(run, 2, 5) for run in re.findall(r"[A-Za-z0-9+/=]{40}", value[:1000])) or value.startswith(
        "AGE"
    )


def url_password(value: str, before: str, after: str) -> bool:
    """No template and no placeholder; without a user, it must look like a token."""
    _, colon, password = value.rpartition(":")
    if PLACEHOLDER.search(password) or set(value) & set("<>{}[]$"):
        return False
    if not colon:
        return irregular(value, 3)
    return len(password) >= 6 and password.lower() not in {"password", "passwd", "secret"}


def assigned(value: str, before: str, after: str) -> bool:
    """The value of a variable called token, password and the like: neither words nor code; a short one mixes more."""
    if len(value) < 10 or set(value) & set("(){}[]<>$") or IDENTIFIER.fullmatch(value):
        return False
    long = len(value) >= 20
    drawn = irregular(value, 2 if long else 3, 3.6 if long or set(value) & set("!@#^*~") else 3)
    return drawn and random_token(value, before, after)
