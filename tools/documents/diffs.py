"""Unified diffs and lists of packages: which setting, package or line of code was changed, from what to what.

The line given is the diff's own, which can be looked up; the changed file and its line stand in the text. Comments,
documentation and blank lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..findings import clean
from ..patterns import bounded
from ..reading import Line
from . import names
from .event import Event

_OLD = bounded(r"^--- (?:a/)?(\S+)")
_NEW = bounded(r"^\+\+\+ (?:b/)?(\S+)")
_GIT = bounded(r"^diff --git \"?a/\S+ \"?b/([^\s\"]+)")
_HUNK = bounded(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_META = re.compile(
    r"^(?:diff --git |index [0-9a-f]+\.\.|new file mode|deleted file mode|similarity index"
    r"|rename (?:from|to)|old mode|new mode|Only in |\\ No newline)"
)
_PROSE = bounded(
    r"\.(?:md|rst|txt|html?|css|svg|ipynb|lock|csv)$|(?:^|/)(?:LICENSE|README"
    r"|CHANGELOG)[^/]*$|^/dev/null$",
    re.I,
)
_PACKAGES = bounded(
    r"(?:^|/)(?:[\w.-]*requirements?[\w./-]*\.(?:txt|in)|pip[_-]?(?:freeze|list)[\w.-]*"
    r"|environment[\w.-]*\.ya?ml|conda[\w.-]*\.ya?ml|constraints[\w.-]*\.txt"
    r"|freeze[\w.-]*\.txt|packages?[\w.-]*\.txt)$",
    re.I,
)
_CONFIG = bounded(
    r"\.(?:ya?ml|json|jsonc|toml|ini|cfg|conf|sh|bash|slurm|sbatch|env)$|config|args"
    r"|hparams|settings|recipe",
    re.I,
)
_DATA_FILE = bounded(r"data|mix|corpus|blend", re.I)
_KEYED = bounded(
    r"^(?P<indent>\s*)(?:-\s+)?(?:export\s+|set\s+)?[\"']?(?P<flag>-{1,2}"
    r"|\+{1,2})?(?P<key>[A-Za-z_][\w.-]*)[\"']?\s*(?P<sep>:|=|\s)\s*(?P<value>.*)$"
)
_FLAG = bounded(r"(?<!\S)--?(?P<key>[A-Za-z][\w.-]+)(?:[ =](?P<value>(?!-)[^\s\\]+))?")
_PIN = bounded(
    r"^\s*(?:-\s+)?[\"']?(?P<name>[A-Za-z][\w.-]*(?:\[[\w,-]+\])?)\s*(?P<how>===?|>=|~=|<="
    r"|=|<|>|!=|@|\s)?\s*(?P<version>[\w.!+*,<>=~:/@-]*)[\"',]*\s*(?:[;#].*)?$"
)
_OPENS = bounded(r"^(?P<indent>\s*)[\"']?(?P<key>[A-Za-z_][\w.-]*)[\"']?\s*:\s*(?:\{|\[)?\s*$")
_COMMENT = re.compile(r"^\s*(?:#(?!SBATCH|PBS|BSUB|\$)|//|\*|/\*|\"\"\"|'''|--\s)|^\s*$")
_CALL = re.compile(r"[({\[]\s*$|[()]")


@dataclass
class _Hunk:
    """The lines of one place: what was there, what is there now, and the sections that are open around them."""

    file: str
    removed: list[tuple[int, int, str, str]] = field(default_factory=list)
    """Line of the diff, line of the file, dotted section, text."""
    added: list[tuple[int, int, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Value:
    line: int
    at: int
    key: str
    value: str


def split(lines: Sequence[Line]) -> tuple[list[_Hunk], list[Line]]:
    """The hunks of the unified diffs in a text, and the lines that belong to none."""
    hunks: list[_Hunk] = []
    rest: list[Line] = []
    file, at, inside, before = "", 0, False, ""
    old_open: list[tuple[int, str]] = []
    new_open: list[tuple[int, str]] = []
    i = 0
    while i < len(lines):
        number, text = lines[i]
        following = lines[i + 1][1] if i + 1 < len(lines) else ""
        if (old := _OLD.match(text)) and (new := _NEW.match(following)):
            file, inside, i = (old[1] if new[1] == "/dev/null" else new[1]), False, i + 2
            continue
        if git := _GIT.match(text):  # `git show` pasted without its index and file lines
            file, inside = git[1], False
        elif file and (hunk := _HUNK.match(text)):
            hunks.append(_Hunk(file))
            at, inside, old_open, new_open, before = int(hunk[1]), True, [], [], ""
        elif inside and text[:1] in ("+", "-", " ", "") and (text or following[:1] in ("+", "-", " ")):
            before, at = _line(hunks, (old_open, new_open), Line(number, text), before, at)
        elif not _META.match(text):
            inside = False
            rest.append(lines[i])
        i += 1
    return hunks, rest


def _line(
    hunks: list[_Hunk], opened: tuple[list[tuple[int, str]], list[tuple[int, str]]], line: Line, before: str, at: int
) -> tuple[str, int]:
    """Take one line of a hunk; a removal after an addition or after context begins a new place."""
    number, text = line
    sign, body = text[:1], text[1:2000]
    if (sign == "-" and before != "-") or (sign == "+" and before not in ("-", "+")):
        hunks.append(_Hunk(hunks[-1].file))
    if sign in ("-", "+"):
        rows = hunks[-1].removed if sign == "-" else hunks[-1].added
        rows.append((number, at, _section(opened[sign == "+"], body), body))
    else:
        _section(opened[0], body)
        _section(opened[1], body)
    return sign, at + (sign != "-")


def _section(opened: list[tuple[int, str]], body: str) -> str:
    """The dotted sections that are open at a line of YAML or JSON, which the line may close and open."""
    if not body.strip():
        return ""
    indent = len(body) - len(body.lstrip())
    while opened and opened[-1][0] >= indent:
        opened.pop()
    here = ".".join(key for _, key in opened)
    if (opens := _OPENS.match(body)) and len(opened) < 20:
        opened.append((indent, opens["key"]))
    return here


def events(hunks: Sequence[_Hunk], name: str) -> Iterator[Event]:
    """What the hunks changed."""
    for hunk in hunks:
        if _PACKAGES.search(hunk.file):
            yield from _packages(hunk, name)
        elif not _PROSE.search(hunk.file):
            yield from _settings(hunk, name)


def _packages(hunk: _Hunk, name: str) -> Iterator[Event]:
    old, new = _pins(hunk.removed), _pins(hunk.added)
    for package in [*new, *(p for p in old if p not in new)]:
        was, now = old.get(package), new.get(package)
        if (was and was.value) != (now and now.value) or not (was and now):
            yield _event(hunk, name, "dependency", package, was, now)


def _pins(lines: Sequence[tuple[int, int, str, str]]) -> dict[str, _Value]:
    found = {}
    for n, at, _, text in lines:
        pin = None if _COMMENT.match(text) else _PIN.match(text)
        if pin:
            name, how = pin["name"].lower().replace("_", "-"), (pin["how"] or "").strip()
            exact = how in ("", "=", "==", "===", "@")
            found[name] = _Value(n, at, name, pin["version"] if exact else how + pin["version"])
    return found


def _settings(hunk: _Hunk, name: str) -> Iterator[Event]:
    old, new = _values(hunk.removed), _values(hunk.added)
    if len(old) == len(new) == 1 and not old.keys() & new.keys():
        old = _moved(old, new)
    config = _CONFIG.search(hunk.file)
    told = False
    for key in [*new, *(k for k in old if k not in new)]:
        was, now = old.get(key), new.get(key)
        known = names.of_key(key)
        if (was and now and was.value == now.value) or not (
            known or config or (was and now and _scalar(was.value) and _scalar(now.value))
        ):
            continue
        told = True
        data = not known and (_DATA_FILE.search(hunk.file) or _DATA_FILE.search(key))
        yield _event(hunk, name, "data" if data else "config", known or key.rpartition(".")[2], was, now)
    code = [row for row in (*hunk.added, *hunk.removed) if not _COMMENT.match(row[3])]
    if code and not told and not config:
        first = code[0]
        was, now = (next((r[3].strip() for r in rows if r in code), "") for rows in (hunk.removed, hunk.added))
        told = clean(f"{hunk.file}:{first[1]} {first[3].strip()}")
        yield Event("code", told, name, first[0], old=clean(was, 120), new=clean(now, 120))


def _moved(old: dict[str, _Value], new: dict[str, _Value]) -> dict[str, _Value]:
    """The one value that was there under the key it has now, where both end alike."""
    (was, value), (now, _) = *old.items(), *new.items()
    return {now: value} if was.rpartition(".")[2] == now.rpartition(".")[2] else old


def _scalar(value: str) -> bool:
    return bool(re.fullmatch(r"[\"']?[\w.+/:@-]{1,80}[\"']?", value))


def _values(lines: Sequence[tuple[int, int, str, str]]) -> dict[str, _Value]:
    """Dotted key -> value of the lines; a command's flags each for itself."""
    found: dict[str, _Value] = {}
    for n, at, section, text in lines:
        if _COMMENT.match(text):
            continue
        flags = list(_FLAG.finditer(text))
        if flags:
            for flag in flags[:200]:
                found[flag["key"]] = _Value(n, at, flag["key"], (flag["value"] or "true").strip("\"'"))
        elif (row := _KEYED.match(text)) and (row["sep"].strip() or row["flag"]):
            value = f" {row['value']}".partition(" #")[0].strip().rstrip(",\\ ").strip("\"'")
            if value and not (row["sep"] == "=" and value.startswith("=")):
                key = f"{section}.{row['key']}" if section else row["key"]
                found[key] = _Value(n, at, key, value)
    return found


def _event(hunk: _Hunk, name: str, kind, variable: str, was: _Value | None, now: _Value | None) -> Event:
    here = now or was
    assert here is not None
    told = (
        f"{hunk.file}:{here.at} {here.key}: {was.value if was else '(not set)'} -> {now.value if now else '(removed)'}"
    )
    return Event(
        kind, clean(told), name, here.line, variable=clean(variable, 80),
        old=clean(was.value, 80) if was else "", new=clean(now.value, 80) if now else "",
    )  # fmt: skip


def between(before: Sequence[Line], after: Sequence[Line], name: str) -> Iterator[Event]:
    """What changed from one list of packages to another; the places are those of the later list, named `name`."""
    hunk = _Hunk(name, [(n, n, "", t) for n, t in before], [(n, n, "", t) for n, t in after])
    yield from _packages(hunk, name)


def between_commands(before: Line, after: Line, name: str) -> Iterator[Event]:
    """What the flags of two commands set differently, in a file called `name`."""
    yield from _settings(_Hunk(name, [(*before[:1], 0, "", before.text)], [(*after[:1], 0, "", after.text)]), name)
