"""Lines of `key = value` or `key: value`, under `[section]` headings: INI files and dumps of arguments."""

from __future__ import annotations

from dataclasses import replace

from ...patterns import bounded
from .source import MAX_ITEMS, Item, Refused, Source

SECTION = bounded(r"\s{0,8}\[([\w.\- ]{1,80})\]\s{0,8}(?:[#;].*)?$")
PAIR = bounded(
    r"""\s{0,16}(?:--|export\s{1,4})?([^\W\d][\w./\-]{0,79})\s{0,40}[=:]\s{0,40}("[^"\n]{0,400}"|'[^'\n]{0,400}'|[^\n]{0,400})$"""
)
ASSIGNED = bounded(r"""(?:export\s{1,4})?[A-Za-z_]\w{0,79}=(?:"[^"]*"|'[^']*'|[^\s;&|]*)\s{0,40}(?:#.*)?$""")
COMMENT = bounded(r"\s{1,40}[#;](?:\s.{0,400})?$")
COMMON = frozenset(("default", "main", "global", "general"))
"""Headings that say nothing of the keys below them."""


def read(source: Source) -> list[Item]:
    """Every pair, under its heading; other lines are left out.

    Raises:
        Refused: too many values.
    """
    items: list[Item] = []
    section, offset = "", 0
    for line in source.text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if match := SECTION.match(bare):
            section = "" if match[1].strip().lower() in COMMON else match[1].strip().replace(" ", "_") + "."
        elif not bare.lstrip().startswith(("#", ";")) and (match := PAIR.match(bare)):
            value = COMMENT.sub("", match[2]).rstrip().rstrip(",")
            quoted = len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]
            start = offset + match.start(2)
            if value:
                text = value[1:-1] if quoted else value
                items.append(Item(section + match[1], text, "pair", start, start + len(value), quoted))
            if len(items) > MAX_ITEMS:
                raise Refused(f"{source.name}: more than {MAX_ITEMS} values; not read")
        offset += len(line)
    return items


MAKING = frozenset(("make", "build", "create", "get", "new", "init", "setup"))
"""Names of functions that say nothing of what they make."""


def of_gin(items: list[Item]) -> list[Item]:
    """The bindings of gin: a macro stands where it is named (`%BATCH`) and sets nothing itself; of a module's path the
    class or function is the heading."""
    macros = {i.key: i for i in items}
    named = {(i.text or "")[1:] for i in items if (i.text or "").startswith("%")} & macros.keys()
    out = []
    for item in items:
        if item.key in named:
            continue
        held = macros.get(item.text[1:]) if item.text and item.text[0] == "%" else None
        *above, last = item.key.replace("/", ".").split(".")
        kept = 2 if above and above[-1] in MAKING else 1
        out.append(replace(held or item, key=".".join([*above[-kept:], last])))
    return out


def only(text: str) -> bool:
    """Whether a text of variables holds assignments and nothing else, so that no command has to be followed."""
    lines = [line.strip() for line in text.splitlines()[:200]]
    said = [line for line in lines if line and not line.startswith(("#", "set "))]
    return bool(said) and all(ASSIGNED.match(line) for line in said) and "$" not in text


def holds(text: str) -> bool:
    """Whether most of the first lines of a text are pairs with `=`, or it has headings with pairs below."""
    lines = [line for line in text.splitlines()[:60] if line.strip() and not line.lstrip().startswith(("#", ";"))]
    pairs = [line for line in lines if "=" in line and PAIR.match(line) and " " not in line.split("=")[0].strip()]
    return len(pairs) >= 3 and len(pairs) + sum(bool(SECTION.match(line)) for line in lines) >= 0.8 * len(lines)
