# ruff: noqa: E501, SIM905  (patterns and words are read as a table)
"""Values that are known by the name before them: `db_password=`, `--hub_token`, `密码：`, a pair in code, XML, a list.

`ASSIGNED` is their pattern and `named` decides by name and value; that a value looks drawn is for `forms`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .forms import irregular

_VALUES = (
    r"(?:\\{1,3}[\"'](?P<quoted>[^\"'\\\n]{1,300})\\|\"(?P<double>[^\"\n]{1,300})\"|'(?P<single>[^'\n]{1,300})'"
    r"|\\{0,3}[\"']?(?P<value>(?:(?!</)[^\s\"',;，；。\\`]|,(?=[^\s\"',])(?!\w{1,40}[=:])){3,300}))"
)
WORDS = ("key", "token", "secret", "pass", "pwd", "credential", "auth", "密码", "口令", "密钥", "令牌", "私钥")
"""One of them is in every name of a credential."""
_LATIN, _CHINESE = ("|".join(word for word in WORDS if word.isascii() is latin) for latin in (True, False))
_NAMING = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_LONGEST = 80
"""Characters of a name before its word, and after it."""
_NAME = (
    rf"(?:(?<![\[A-Za-z0-9_.-])[A-Za-z0-9_.-]{{0,{_LONGEST}}}(?i:{_LATIN})[A-Za-z0-9_.-]{{0,{_LONGEST}}}|{_CHINESE})"
)
_SEPARATOR = (
    r"\\{0,3}[\"']?,?\s{1,40}\\{0,3}[\"']?(?i:value)\\{0,3}[\"']?[ \t]{0,9}[:=][ \t]{0,9}|</name>\s{0,40}<value>"
    r"|(?:\\{0,3}[\"']\]?)?(?:[ \t]{0,40}(?:=>|:[ ]?str[ ]?=|[:=：]|[是为])[ \t]{0,40}|,?[ \t]{1,9}(?=[^\s-]))"
    r"|\\{0,3}[\"'],(?=\\{0,3}[\"'])"
)
"""Between a name and its value: of an assignment, an option, a pair in code, XML or a list of names and values."""
ASSIGNED = rf"{_NAME}(?:{_SEPARATOR}){_VALUES}"
YAML_LINE = (
    r"(?m:^[ \t]{0,40}(?:-[ ])?)[\w-]{0,80}(?i:password|passwd|passphrase|pwd|secret|credentials?|(?:db|root|admin|user)[_-]?pass|密码|口令)[\"']?:[ \t]{1,9}"
    r"(?!(?i:none|null|not|is|unset|invalid|missing|required|optional)\b)(?P<line>[^\s\"'\[\]{}|>&*!%@`$<(#\\-]\S{0,200}(?:[ \t]{1,9}[^\s#]\S{0,200}){1,30})"
)
"""A line of YAML: without quotes, the value of a password goes on over blanks, to the end or a comment."""
_COARSE = rf"(?i:{'|'.join(WORDS)})[\w.-]*[\\\"'\]]*"
SIEVE = (
    rf"{_COARSE}[ \t]*(?:=|:|：|是|为|<)",
    rf"{_COARSE},?\s+[\\\"']*(?i:value)",
    rf"{_COARSE}(?:,|,?[ \t]+)(?:[^\s\"']*\d|[\\\"'][^\n]*\d)",
    rf"--[\w.-]*{_COARSE}(?:,|,?[ \t]+)\S",
)
"""Coarser patterns, for hyperscan: one of them is in every text of which `ASSIGNED` and `named` make a credential."""

_WORD = re.compile("|".join(WORDS))
NO_VALUE = re.compile(
    r"\$\{?[\w.:-]*\}?|\$\(.*|\{\{?[^{}]*\}\}?|<[A-Za-z_| /-]*>|\[[A-Z_ ]+\]|<\|.*|[*.x•…]+|[-\d.,]{1,3}[a-z%]{0,3}|\[secret:.*|\[[a-z-]+-\d+\]|[\[({][\s\"'\])}]?|\w+\(.*|\w+(?:\.\w+)+[\[(].*"
    r"|.*(?:\.{3}|…)|(?i:your[_ -].*|none|null|nil|true|false|yes|no|on|off|str|string|bool|int|float|bytes|optional|required|missing|not|is|unset|invalid|empty|redacted|auto|default|ok|failed)",
    re.DOTALL,
)
"""References to a variable, templates, placeholders, brackets that open a structure, calls, small numbers, plain words."""
_ABOUT = set(
    "file path dir directory env name names ref refs len length field type class policy store manager provider count size id ids index hash version prefix suffix url uri format kind mode found stdin".split()
)
"""Last words of names that say something of a credential, not the credential."""
_KEYS = set(
    "api access secret private encrypt encryption decrypt decryption signing master auth client deploy ssh license admin consumer hmac jwt fernet subscription git gh hub slack wandb openai hf anthropic account app".split()
)
_TOKENS = set(
    "access auth bot hub hf refresh api session npm vault git github gitlab gh slack wandb openai security personal deploy oauth csrf".split()
)
_PASSES = re.compile(
    r"(?:require|db|user|ssh|root|my|pg|admin|ftp|smtp|redis|proxy|http|vpn|wifi|sudo|become)?pass(?:code)?"
)
_NOT_PASS = set("forward backward bwd fwd first second third one two single multi last next by".split())


def begins(text: str) -> Iterator[int]:
    """Where the names begin that hold one of the words: ten times as fast as to search for such a name."""
    last, low = -1, text.lower()
    low = low if len(low) == len(text) else "".join(min(c.lower(), c, key=len) for c in text)
    for word in _WORD.finditer(low):
        begin, first = word.start(), max(word.start() - _LONGEST, 0)
        while word[0].isascii() and begin > first and text[begin - 1] in _NAMING:
            begin -= 1
        if begin > last:
            yield (last := begin)


def _words(name: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\x00-\x7f]+", name)]


def _is_password(words: list[str]) -> bool:
    """Whether the name says that its value is a secret, whatever the value looks like."""
    whole = "".join(words)
    if re.search(r"passw|passphrase|密码|口令|密钥|令牌|私钥|(?:secret|credential)s?(?!ar|iv|ed)", whole):
        return True
    before = words[-2] if len(words) > 1 else ""
    return words[-1] == "pwd" or bool(_PASSES.fullmatch(words[-1]) and before not in _NOT_PASS)


def _is_key(words: list[str]) -> bool:
    whole = any(re.fullmatch(r"(?:api|secret|access|private|auth)key|(?:auth|access)token", word) for word in words)
    return whole or any((b == "key" and a in _KEYS) or (b == "token" and a in _TOKENS) for a, b in pairwise(words))


def named(head: str, value: str) -> bool:
    """Whether the name that stands before the value makes it a credential.

    A value named as a password counts whatever it looks like; one named as some token or key when it looks drawn.
    """
    match = re.match(r"[\w.-]+", head)
    name, value = (match[0] if match else ""), value.strip()
    words = _words(name)
    if not words or words[-1] in _ABOUT or any(map(NO_VALUE.fullmatch, (value, value.rstrip(")]},")))):
        return False
    path = re.match(r"[~.]{0,2}/(?:[\w.@+-]+/|[\w-]+\.\w+$)|[A-Z]:\\", value) and not re.search(r"[+=]|//", value)
    if path and not any(len(part) >= 16 and irregular(part, 3) for part in value.split("/")):
        return False
    digit, letter = re.search(r"\d", value), re.search("[A-Za-z]", value)
    blank, option = not re.search(r"[=:：是为<]", head[len(name) :]), name.startswith("--")
    if blank and not option and not (digit and len(value) >= 6 and re.fullmatch(r"[^().*]+|[\w+/=.-]+", value)):
        return False
    if (_is_password(words) and not (blank and words[-1] == "pass")) or _is_key(words):
        return blank or name[:1] == "-" or len(value) > 5 or not value.isdigit()
    if blank and not option:
        return False
    if words[-1] == "token":
        long = len(value) >= (8 if name.isupper() else 16)
        return bool(digit and letter and long and re.fullmatch(r"[\w.~+/=-]+", value))
    if words[-1] == "auth":
        return bool(re.search("[A-Z]", value) and re.fullmatch(r"[A-Za-z0-9+/]{11,}={0,2}", value))
    drawn = digit and re.search("[a-z]", value) and re.search("[A-Z]", value)
    return bool(words[-1] == "key" and len(words) > 1 and drawn and re.fullmatch(r"[A-Za-z0-9+/=]{20,}", value))
