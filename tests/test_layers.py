"""Promises between files: packaging, layers, finding codes."""

import ast
import tomllib
from pathlib import Path

import pytest

from triage.knowledge.runbook import load
from triage.knowledge.sign import code_of, parse_sign
from triage.tools.catalogue import codes

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("agent", "evals", "knowledge", "tools", "ui")
MAY_IMPORT = {
    "tools": set(),
    "knowledge": set(),
    "agent": {"tools", "knowledge"},
    "ui": {"agent", "tools", "knowledge", "evals"},
    "evals": {"agent", "tools", "knowledge"},
}
EXCEPT = {"knowledge": {"tools.phrase", "tools.keeping", "tools.patterns"}}
"""A sentence in two languages knows nothing of runs, nor do the writing of files and the bounds of a pattern."""


def test_every_package_folder_is_listed_for_the_wheel():
    on_disk = {
        "triage." + ".".join(p.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for p in (ROOT / folder).rglob("__init__.py")
    }
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == on_disk


def python_files():
    return [p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize("path", python_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    here = path.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = list(here[: len(here) - node.level])
            target = base + (node.module.split(".") if node.module else [])
        elif node.module and node.module.split(".")[0] == "triage":
            target = node.module.split(".")[1:]
        else:
            continue
        top = target[0] if target else node.names[0].name
        allowed = top == here[0] or top in MAY_IMPORT[here[0]] or ".".join(target) in EXCEPT.get(here[0], ())
        assert allowed, f"line {node.lineno} imports triage.{'.'.join(target)}"


def known_codes() -> set[str]:
    return {code for wing in codes().values() for code in wing}


def test_entries_name_only_findings_that_a_tool_can_make():
    named = {
        code: entry.id
        for entry in load()
        for part in (entry.findings.for_, entry.findings.against, *(c.for_ for c in entry.causes))
        for code in part
    }
    known = known_codes() | {code_of(text) for e in load() for text in (*e.signs.for_, *e.signs.against)}
    assert {code: entry for code, entry in named.items() if code not in known} == {}


def test_conflicts_are_decided_by_findings_that_exist():
    named = {code for entry in load() for c in entry.conflicts for code in c.decided_by_findings}
    assert named <= known_codes()


def test_every_finding_of_consequence_is_explained_by_an_entry():
    explained = {
        code for entry in load() for part in (entry.findings.for_, *(c.for_ for c in entry.causes)) for code in part
    }
    explained |= {p.names[0] for e in load() for s in e.signs.for_ for p in parse_sign(s).parts if p.asks == "found"}
    notes = {
        "run-healthy",
        "log-ends-before-plan",
        "metrics-not-recognised",
        "memory-row-remapped",
        "continuation-broken",
        "number-read-as-string",
        "bisect-inconclusive",
        "checkpoint-not-evaluated",
        "metric-changed",
        "onset",
        "changes-together",
        "group-differs",
        "score-changes-at-checkpoint",
        "score-differs",
        "said-differently",
        "lengths-over-window",
        "setting-without-effect",
        "rates-differ",
        "score-follows-factor",
        "composition-moved",
        "formats-score-alike",
        "scorer-confirmed",
        "scores-hold",
        "advice-not-followed",
        "errors-alike",
        "tasks-score-alike",
        "long-documents-plenty",
        "versions-differ",
        "versions-within-noise",
    }
    notes |= {
        "named-elsewhere",
        "splits-alike",
        "predictions-as-came",
        "features-stable",
        "set-otherwise",
        "log-still-written",
        "rate-long-steady",
        "corrected-errors-few",
        "steps-do-more",
        "differs-beside",
    }
    shown = {p.names[0] for e in load() for text in e.signs.for_ for p in parse_sign(text).parts if p.asks == "shows"}
    assert known_codes() - explained - notes - shown == set()
