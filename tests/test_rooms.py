"""The house itself: no circles, no room that nobody can overlook, nothing upstairs needed downstairs."""

import ast
import fnmatch
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("agent", "evals", "knowledge", "tools", "ui")
SOURCES = {
    ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
    for folder in FOLDERS
    for p in (ROOT / folder).rglob("*.py")
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
ABOVE = {"tools.scores", "tools.catalogue"}
BASES = (ROOT / "tools", ROOT / "tools" / "secrets")
GROUND = {name for name, path in SOURCES.items() if path.parent in BASES} - ABOVE - {"tools"}
"""The modules directly in `tools/`, which the wings stand on, and what may be shown of a run."""


def imports(name: str) -> set[str]:
    """The modules of the package that a module imports, lazily or for types only as well."""
    path = SOURCES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".") * bool(node.module)
            found |= {".".join([*base, a.name]) for a in node.names} | {".".join(base)}
    return (found & SOURCES.keys()) - {name}


GRAPH = {name: imports(name) for name in SOURCES}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen, todo = set(), list(graph[start])
        while todo:
            if (here := todo.pop()) not in seen:
                seen.add(here)
                todo += graph[here]
        reached[start] = seen
    groups = {frozenset({a, *(b for b in reached[a] if a in reached[b])}) for a in graph if a in reached[a]}
    return sorted(sorted(group) for group in groups)


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_no_modules_import_each_other_lazily_or_for_types_only_either():
    assert circles(GRAPH) == []


def test_the_ground_floor_stands_on_itself():
    assert {name: up for name in GROUND if (up := GRAPH[name] - GROUND - {"tools"})} == {}


def test_a_folder_can_be_overlooked():
    assert {str(f): n for f, n in Counter(p.parent for p in SOURCES.values()).items() if n > 20} == {}


def test_a_function_fits_a_screen():
    functions = [
        n for t in TREES.values() for n in ast.walk(t) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = sorted(n.end_lineno - n.lineno + 1 for n in functions)
    assert lengths[len(lengths) * 9 // 10] <= 22


def test_a_file_fits_a_reading_unless_it_is_a_table():
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in SOURCES.items()}
    assert {name: lines for name, lines in sizes.items() if lines > 400 and not is_table(name, lines)} == {}


def is_table(name: str, lines: int) -> bool:
    """Whether nine lines in ten are data."""
    built = [n for n in TREES[name].body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return sum(node.end_lineno - node.lineno + 1 for node in built) < 0.1 * lines


PAGES = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("architecture.md", "extending.md")]
FILES = {p.relative_to(ROOT).as_posix() for top in (*FOLDERS, "docs", "tests") for p in (ROOT / top).glob("**/*")}
NAMED = {text for page in PAGES for text in re.findall(r"`(\w[\w/-]*(?:/|[\w*]\.(?:py|md|txt))(?::\w+)?)`", page)}
MADE = {path for page in PAGES for path in re.findall(r"^New file `(.+)`:$", page, re.MULTILINE)}


def leads_somewhere(text: str) -> bool:
    """From the root, or behind a folder that was named before it; `ID` stands for any, `:NAME` for what is in there."""
    path, _, name = text.rstrip("/").partition(":")
    pattern = path.replace("ID", "*")
    there = path in FOLDERS or fnmatch.filter(FILES, pattern) or fnmatch.filter(FILES, f"*/{pattern}")
    return bool(there) and (not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"))


def test_every_path_on_the_map_leads_somewhere():
    assert len(NAMED) > 60
    assert [text for text in sorted(NAMED - MADE) if not leads_somewhere(text)] == []
