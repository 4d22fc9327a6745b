"""Every recipe of docs/extending.md, taken from the page: put into a copy of triage, it works there and only there.

A recipe is a section with blocks of code; the line above a block says into which file it goes, and how.
"""

import ast
import json
import re
import shlex
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import NamedTuple

import pytest
from copies import ROOT, copy_with, python, triage
from typer.testing import CliRunner

from triage.agent.acceptance.observe import families
from triage.agent.acceptance.subject import metric
from triage.evals.lab.fault import Fault, faults
from triage.tools.catalogue import codes
from triage.tools.logs.detectors.detector import detector
from triage.ui.cli import app

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"(New file|At the end of|A row of `\w+` in|In) `([^`\n]+)`:\n\n(```+)\w+\n(.*?)^\3$", re.MULTILINE | re.DOTALL
)
RECIPES = {
    title: BLOCK.findall(text) for title, text in re.findall(r"^## (An? .+?)\n(.*?)(?=^## An? |\Z)", PAGE, re.M | re.S)
}
LOG = "".join(f"step: {i} loss: {9 - i / 40:.3f}\n" for i in range(1, 101))


class Seen(NamedTuple):
    """How it is seen that a recipe works."""

    command: str
    shows: str
    """Pattern of what the command prints with the recipe, and only with it."""
    files: Mapping[str, str] = MappingProxyType({})
    """Of the run that the command is given."""
    touches: int = 1
    """Files that are edited or made by hand."""


SEEN = {
    "A lint rule": Seen(
        "lint run --json", '"code": "save-after-end"', {"train.yaml": "save_steps: 2000\nmax_steps: 1000\n"}
    ),
    "A runbook entry": Seen(
        "ask 'the scratch quota is used up and nothing can be saved' --json",
        '"hypotheses": \\[\\s+{\\s+"entry": "scratch-quota-used-up"',
        touches=2,
    ),
    "An error signature": Seen(
        "scan run --json",
        '"code": "mount-lost"',
        {"train.log": LOG + "LustreError: 11-0: a-OST0001-osc: this client was evicted by a-OST0001\n"},
    ),
    "A secret shape": Seen(
        "data pii run/train.jsonl --json",
        "acme-key",
        {"train.jsonl": json.dumps({"text": "then login acme_3f9a0c7e1b6d82543f9a as usual"}) + "\n"},
    ),
    "A log format": Seen(
        "scan run --json",
        '"perplexity": ',
        {"train.log": "".join(f"[t={i}] ppl{40 - i / 10:.1f} kl0.05\n" for i in range(1, 101))},
    ),
    "A metric alias": Seen(
        "scan run --json",
        '"weight_norm": ',
        {"history.jsonl": "".join(json.dumps({"step": i, "wn": i / 7}) + "\n" for i in range(1, 101))},
    ),
    "A detector of curves": Seen(
        "scan run --json",
        '"code": "clock-set-back"',
        {"train.log": "".join(f"step: {i} loss: 2.5 step_time: {-3 if i == 60 else 2}\n" for i in range(1, 101))},
    ),
    "A framework's configuration": Seen(
        "lint run --json",
        '"code": "warmup-exceeds-training"',
        {"recipe.yaml": "forge:\n  heat: 1e-4\n  preheat: 500\n  strokes: 100\nmicro_batch_size: 4\n"},
    ),
    "An issue form": Seen("report run --bug torchtitan", r"# \[torchtitan\]", {"train.log": LOG}),
    "A finding code": Seen(
        "data codebook run/codes.jsonl --json",
        '"code": "codebook-single-code"',
        {"codes.jsonl": (json.dumps({"codes": [[7, 7, 7], [1, 2, 3]]}) + "\n") * 9},
    ),
    "An acceptance criterion": Seen(
        "verify --baseline run --candidate next --entry warmup-too-short --json",
        r'"metric": "launch_script_kept",[^{}]*"result": "pass"',
        {"train.log": LOG, "../next/train.log": LOG, "../next/launch.sh": "python train.py\n"},
        touches=2,
    ),
    "A fault of the lab": Seen("eval lab --list", "warmup-forever"),
    "A command": Seen("artifacts run", r"log +train\.log", {"train.log": LOG}),
}
"""Title of the recipe -> how it is seen. Beside its own file a criterion touches the entry that asks for it."""


def applied(recipe: list[tuple[str, str, str, str]]) -> dict[str, str]:
    """Path -> text of every file that the recipe changes or makes."""
    files: dict[str, str] = {}
    for how, path, _, block in recipe:
        before = files.get(path) or ("" if how == "New file" else (ROOT / path).read_text(encoding="utf-8"))
        assert how != "New file" or not (ROOT / path).exists()
        if how == "In":
            files[path] = patched(before, block)
        elif how.startswith("A row"):
            files[path] = with_row(before, re.findall("`(.*)`", how)[0], block)
        else:
            files[path] = f"{before.rstrip()}\n\n\n{block}" if before else block
    return files


def patched(text: str, diff: str) -> str:
    """The text after a change; `@@` separates its places, of which each must be there exactly once."""
    for place in diff.split("@@\n"):
        old, new = ("".join(x[1:] for x in place.splitlines(True) if x[0] in signs) for signs in (" -", " +"))
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def with_row(text: str, name: str, row: str) -> str:
    """The text with one more row, the first, in the table of this name."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id.strip("_") == name for target in targets):
            table = next(n for n in ast.walk(node.value) if isinstance(n, ast.Tuple))
            at = table.elts[0].lineno - 1
            return "".join([*lines[:at], row.rstrip() + ",\n", *lines[at:]])
    raise AssertionError(f"no table {name}")


def test_every_recipe_is_tried():
    assert [title for title, blocks in RECIPES.items() if blocks] == list(RECIPES)
    assert RECIPES.keys() == SEEN.keys()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data directory of ours, so that the runbook is indexed once."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("title", SEEN)
def test_a_recipe_works_where_it_was_followed_and_only_there(tmp_path, monkeypatch, home, title):
    seen, files = SEEN[title], applied(RECIPES[title])
    for name, text in seen.files.items():
        file = tmp_path / "run" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIAGE_HOME", str(home))
    assert not re.search(seen.shows, CliRunner().invoke(app, seen.command).stdout)
    assert re.search(seen.shows, triage(copy_with(tmp_path, files), *shlex.split(seen.command)))
    assert len(files) == seen.touches


ROWS = [
    ("tools/vocabulary.py", "VOCABULARY", '_metric("kl", "", UP, "m", "x")', "VOCABULARY: 'kl' is declared twice"),
    ("tools/vocabulary.py", "VOCABULARY", '_metric("x", "", UP, "m", "")', "VOCABULARY: 'x' is empty"),
    ("tools/vocabulary.py", "VOCABULARY", '_metric("x", "", UP, "m", "ppl")', "VOCABULARY: 'ppl' is declared twice"),
    ("tools/vocabulary.py", "UNITS", '("ms", Unit(1.0))', "UNITS: 'ms' is declared twice"),
    ("tools/logs/points/formats.py", "FORMATS", 'Format("mute", ("x",), AFTER_KEY)', "FORMATS: 'mute' is empty"),
    (
        "tools/logs/points/formats.py",
        "FORMATS",
        'Format("keras", ("x",), AFTER_KEY, samples=(Sample("x"),))',
        "FORMATS: 'keras' is declared twice",
    ),
    (
        "tools/logs/signatures/software.py",
        "ROWS",
        'Signature("x", S0, "", "m", "m", ("l",))',
        "error signatures: 'x' has an empty pattern",
    ),
]
"""Lint rules, secrets, finding codes and frameworks are tried in the tests of their own tables."""


@pytest.mark.parametrize(("path", "name", "row", "says"), ROWS, ids=[row[-1] for row in ROWS])
def test_a_row_that_stands_twice_or_is_empty_fails_by_its_name_at_import(path, name, row, says):
    dotted = "triage." + path.removesuffix(".py").replace("/", ".")
    import_module(dotted)
    text = with_row((ROOT / path).read_text(encoding="utf-8"), name, row)
    with pytest.raises(ValueError, match=says):
        exec(compile(text, path, "exec"), {"__name__": dotted, "__package__": dotted.rpartition(".")[0]})


@pytest.mark.parametrize(
    ("register", "says"),
    [
        (lambda f: detector("loss-spike", "m", ["loss"])(f), "DETECTORS: 'loss-spike' is declared twice"),
        (lambda f: detector("x", "m", [])(f), "DETECTORS: 'x' is empty"),
        (lambda f: metric("double_bos_rate")(f), "CRITERIA: 'double_bos_rate' is declared twice"),
        (lambda f: metric("")(f), "CRITERIA: '' is empty"),
        (lambda f: type("X", (Fault,), {"name": "lr-too-high"}), "faults of the lab: 'lr-too-high' is declared twice"),
        (lambda f: type("X", (Fault,), {"name": "x"}), "faults of the lab: 'x' is empty"),
    ],
)
def test_a_function_that_is_declared_twice_or_empty_fails_by_its_name(register, says):
    families(), faults(), codes()
    with pytest.raises(ValueError, match=says):
        register(lambda subject: None)


@pytest.mark.parametrize(
    ("title", "old", "new", "module", "says"),
    [
        (
            "An error signature",
            "GENERIC = ",
            "ROWS += ROWS[:1]\nGENERIC = ",
            "tools.logs.signatures.match",
            "'mount-lost ",
        ),
        (
            "An issue form",
            'IssueForm("torchtitan"',
            'IssueForm(""',
            "ui.bugreport",
            "issue forms: 'torchtitan' is empty",
        ),
        ("An issue form", 'issues", PLAIN', 'issues", PLAIN, name="vllm"', "ui.bugreport", "'vllm' is declared twice"),
        ("A command", "help=HELP)", 'name="scan", help=HELP)', "ui.cli", "commands: 'scan' is declared twice"),
        ("A command", "help=HELP)", "help='')", "ui.cli", "commands: 'artifacts' is empty"),
    ],
)
def test_a_recipe_that_is_followed_wrongly_fails_by_its_name_at_import(tmp_path, title, old, new, module, says):
    files = {path: text.replace(old, new) for path, text in applied(RECIPES[title]).items()}
    assert says in python(copy_with(tmp_path, files), f"import triage.{module}").stderr
