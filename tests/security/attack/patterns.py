"""Every regular expression of the package, and strings made to slow each of them down.

Collected, not listed: `spied` imports every module and plays some commands with `re` under watch, so it sees what
tables, functions and builders compile; `written` reads the sources for patterns that no command came by. A pattern
that is only ever matched at the beginning of a text is attacked so; any other is searched for everywhere.

Run as a program it prints what it found, as JSON: the watch needs a process in which `re` is its own.
"""

import ast
import contextlib
import importlib
import io
import json
import pkgutil
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from re import _constants as code
from re import _parser

ROOT = Path(__file__).parents[3]
WINGS = ("agent", "evals", "knowledge", "tools", "ui")
EXAMPLE = str(ROOT / "evals" / "example" / "run-1")
PLAYED = (
    ("scan", EXAMPLE), ("lint", EXAMPLE), ("ask", "loss is nan at step 4000", "--run", EXAMPLE),
    ("ask", "卡死了，没有任何日志"), ("data", "pii", EXAMPLE), ("checkpoint", "check", EXAMPLE),
    ("report", EXAMPLE, "--bug", "trl"), ("verify", "--baseline", EXAMPLE, "--candidate", EXAMPLE),
)  # fmt: skip
PROGRAMS = "triage.evals.lab."
"""Programs that train: their sources are read, but torch is not loaded for them."""
CALLS = ("compile", "search", "match", "fullmatch", "split", "sub", "subn", "findall", "finditer")
BUILDERS = ("bounded", "Sought")
"""Functions of the package that compile what they are given, in the file `tools/patterns.py`."""
COMPILING = ("/re/__init__.py", "/functools.py", "tools/patterns.py")
"""Files on the way from who asks for a pattern to where it is compiled."""
AT_THE_START = {"match", "fullmatch"}


@dataclass(frozen=True)
class Found:
    """One pattern of the package."""

    pattern: str
    """Of a pattern for bytes, decoded as Latin-1."""
    flags: int
    bytes: bool
    ways: tuple[str, ...]
    """The methods of patterns that it is used by."""
    place: str

    def compiled(self) -> re.Pattern:
        return re.compile(self.pattern.encode("latin-1") if self.bytes else self.pattern, self.flags)


def key(pattern: str | bytes, flags: int) -> tuple[str, int, bool]:
    is_bytes = isinstance(pattern, bytes)
    return (pattern.decode("latin-1") if is_bytes else pattern, int(flags), is_bytes)


# --- where a pattern is used -------------------------------------------------


@cache
def sources() -> dict[str, ast.Module]:
    files = [f for wing in WINGS for f in (ROOT / wing).rglob("*.py")]
    return {str(f): ast.parse(f.read_text("utf-8")) for f in files}


@cache
def uses() -> dict[tuple[str, str], set[str]]:
    """(file, name) -> the methods called on it there; "?" where it is handed on. An attribute may be any file's: ""."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for file, tree in sources().items():
        over = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if not name or not isinstance(node.ctx, ast.Load):
                continue
            user = over.get(node)
            if isinstance(user, ast.Call) and user.func is node:
                user = over.get(user)
            place = file if isinstance(node, ast.Name) else ""
            found[place, name].add(user.attr if isinstance(user, ast.Attribute) and user.attr in CALLS else "?")
    return found


@cache
def importers() -> dict[str, set[str]]:
    """Name -> the files that import something of that name."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, tree in sources().items():
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                found[alias.name].add(file)
    return found


@cache
def owners(file: str) -> dict[int, str]:
    """Line -> the name that holds, or the function that returns, what is compiled there alone."""
    found = {}
    for node in ast.walk(sources()[file]):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, made = node.targets[0].id, node.value
        elif isinstance(node, ast.FunctionDef) and node.body and isinstance(node.body[-1], ast.Return):
            name, made = node.name, node.body[-1].value
        else:
            continue
        call = made.func if isinstance(made, ast.Call) else None
        if getattr(call, "attr", "") == "compile" or getattr(call, "id", "") in BUILDERS:
            found |= dict.fromkeys(range(made.lineno, (made.end_lineno or made.lineno) + 1), name)
    return found


def ways(method: str, file: str, line: int) -> set[str]:
    if method != "compile":
        return {method}
    name = owners(file).get(line, "")
    places = ("", file, *importers().get(name, ()))
    return set().union(*(uses().get((place, name), set()) for place in places)) or {"?"}


# --- collecting ---------------------------------------------------------------


def spied() -> Iterator[tuple[tuple[str, int, bool], str, str, int]]:
    """(pattern, method, file, line) of whatever is compiled while the package is imported and used."""
    seen = set()
    inner, files = re._compile, set(sources())

    def watch(pattern, flags):
        if isinstance(pattern, (str, bytes)):
            frame = sys._getframe(1)
            method = frame.f_code.co_name
            while frame and frame.f_code.co_filename.endswith(COMPILING):
                frame = frame.f_back
            if frame and frame.f_code.co_filename in files:
                value = flags.value if isinstance(flags, re.RegexFlag) else flags
                seen.add((key(pattern, value), method, frame.f_code.co_filename, frame.f_lineno))
        return inner(pattern, flags)

    re._compile = watch
    try:
        play()
    finally:
        re._compile = inner
    yield from seen


def play() -> None:
    sys.path.insert(0, str(ROOT))
    importlib.import_module("triage.tools.patterns").at_once = True
    for wing in WINGS:
        package = importlib.import_module(f"triage.{wing}")
        for module in pkgutil.walk_packages(package.__path__, f"triage.{wing}."):
            if module.name.startswith(PROGRAMS):
                continue
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    for module in [m for name, m in sys.modules.items() if name.startswith("triage.")]:
        for row in rows(list(vars(module).values())):
            [re.compile(v) for f, v in vars(row).items() if "pattern" in f and isinstance(v, str)]
    main = importlib.import_module("triage.ui.cli").main
    with tempfile.TemporaryDirectory() as home, contextlib.redirect_stdout(io.StringIO()) as out:
        for argv in PLAYED:
            sys.argv = ["triage", *argv, *(("--home", home) if argv[0] in ("ask", "verify") else ())]
            with contextlib.suppress(SystemExit), contextlib.redirect_stderr(out):
                main()


def rows(values: list, depth: int = 3) -> Iterator[object]:
    """The rows of a module's tables, of which many compile their patterns when they are needed."""
    for value in values:
        if is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__"):
            yield value
        elif depth and isinstance(value, (tuple, list, dict)):
            yield from rows(list(value.values() if isinstance(value, dict) else value), depth - 1)


def written() -> Iterator[tuple[tuple[str, int, bool], str, str, int]]:
    """The same of what stands in the sources; what a function puts into a pattern is a plain word."""
    for file, tree in sources().items():
        module = sys.modules.get("triage." + str(Path(file).relative_to(ROOT))[:-3].replace("/", "."))
        names = vars(module) if module else {"re": re}
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in CALLS):
                continue
            pattern = value_of(node.args[0], names)
            flags = [value_of(k.value, names) for k in node.keywords if k.arg == "flags"]
            at = {"sub": 4, "subn": 4, "split": 3}.get(node.func.attr, 1 if node.func.attr == "compile" else 2)
            flags += [value_of(a, names) for a in node.args[at : at + 1]]
            if isinstance(pattern, (str, bytes)):
                number = next((int(f) for f in flags if isinstance(f, int)), 0)
                yield key(pattern, number), node.func.attr, file, node.lineno


def value_of(node: ast.expr, names: dict):
    """The value of an expression of literals and the module's names; inside f-strings unknown parts are `word`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(value_of(part, names) or "word") for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return value_of(node.value, names)
    try:
        return eval(compile(ast.Expression(node), "pattern", "eval"), dict(names))
    except Exception:
        return None


def collected() -> list[Found]:
    methods, places = defaultdict(set), {}
    for one, method, file, line in [*spied(), *written()]:
        with contextlib.suppress(re.error):
            re.compile(one[0].encode("latin-1") if one[2] else one[0], one[1])
            methods[one] |= ways(method, file, line)
            places.setdefault(one, f"{Path(file).relative_to(ROOT)}:{line}")
    return sorted((Found(*one, tuple(sorted(methods[one])), places[one]) for one in methods), key=lambda f: f.place)


# --- strings that take long ---------------------------------------------------

GENERIC = (
    *" 0a.A[]({\"'=,-_/\t\n\\`*#|:<@$%&?!é中\x1b", "a.", "0.", "a ", "0 ", "a=", "a=1,", "0,", "a-", "a_", "a/", "x: ",
    "[0", "'a", '"a"', "a\n", " \n", "\n\n", "a|", "-0", "1e", "\\\"", "{}", "()", "<a", "A_",
)  # fmt: skip
FLAVOURS = ("a0 .-_/A\n", "0a.-, ", " \t,:;", ".-/_=", "A_Z\"'", "中é,:([{<")
"""Which letter is taken out of a class, the first that is in it."""


def inside(members: list, letter: str) -> bool:
    negated, point, hit = False, ord(letter), False
    for kind, value in members:
        negated |= kind is code.NEGATE
        hit |= kind is code.LITERAL and value == point
        hit |= kind is code.RANGE and value[0] <= point <= value[1]
        hit |= kind is code.CATEGORY and _category(value, letter)
    return hit != negated


def _category(kind, letter: str) -> bool:
    name = str(kind).lower()
    is_in = {"digit": letter.isdecimal(), "space": letter.isspace(), "word": letter.isalnum() or letter == "_"}
    return next(v for n, v in is_in.items() if name.endswith(n)) != ("not" in name)


LETTERS = "a0 .-_/A\n\t,:;='\"()[]{}<>#|*@中é\x00zZ19+%$&?!~`^\\"


def letter_of(members: list, flavour: int) -> str:
    return next((c for c in FLAVOURS[flavour] + LETTERS if inside(members, c)), "") or _first(members)


def _first(members: list) -> str:
    points = [v[0] if k is code.RANGE else v for k, v in members if k in (code.RANGE, code.LITERAL)]
    return chr(points[0]) if points else ""


REPEATS = {code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT}


def sample(nodes, flavour: int) -> str:
    """Some text that the pattern matches, but for what its assertions ask."""
    return "".join(_sample(kind, value, flavour) for kind, value in nodes)


def _sample(kind, value, flavour: int) -> str:
    if kind is code.LITERAL:
        return chr(value)
    if kind is code.NOT_LITERAL:
        return letter_of([(code.NEGATE, None), (code.LITERAL, value)], flavour)
    if kind is code.ANY:
        return FLAVOURS[flavour][0]
    if kind is code.IN:
        return letter_of(value, flavour)
    if kind is code.BRANCH:
        return sample(value[1][flavour % len(value[1])], flavour)
    if kind in REPEATS:
        return sample(value[2], flavour) * max(1 if value[1] and flavour % 2 else 0, min(value[0], 64))
    inner = _inner(kind, value)
    return sample(inner, flavour) if inner is not None and kind not in (code.ASSERT, code.ASSERT_NOT) else ""


def _inner(kind, value):
    if kind is code.SUBPATTERN:
        return value[3]
    if kind is code.ATOMIC_GROUP:
        return value
    return value[1] if kind in (code.ASSERT, code.ASSERT_NOT) else None


def repeats(nodes, before: str, flavour: int) -> Iterator[tuple[str, str]]:
    """(what precedes a repeat, what it repeats) of each that may go on for long."""
    for kind, value in nodes:
        if kind in REPEATS:
            if value[1] > 1:
                yield before, sample(value[2], flavour)
            yield from repeats(value[2], before, flavour)
        elif kind is code.BRANCH:
            for branch in value[1]:
                yield from repeats(branch, before, flavour)
        elif (inner := _inner(kind, value)) is not None:
            yield from repeats(inner, before, flavour)
        before += _sample(kind, value, flavour)


def attacks(found: Found) -> Iterator[tuple[str, str, str]]:
    """(beginning, what is pumped, end) made from the pattern itself, then those that are tried on every pattern."""
    pattern = found.pattern.encode("latin-1") if found.bytes else found.pattern
    tree = _parser.parse(pattern, found.flags)
    made: dict[tuple[str, str, str], None] = {}
    for flavour in range(len(FLAVOURS)):
        for before, pump in repeats(tree, "", flavour):
            for end in ("\x01", "\n\x01"):
                made |= {(before, pump, end): None, ("", before + pump, end): None} if pump else {}
            if before:
                made["", before, "\x01"] = None
    yield from made
    yield from (("", pump, "\x01") for pump in GENERIC if not found.bytes or pump.isascii())


if __name__ == "__main__":
    print(json.dumps([vars(found) for found in collected()]))
