"""What a framework declares: complete, said once, and read as soon as its file is in the folder."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from triage.tools.config.combine import PRECEDENCE
from triage.tools.config.framework import Framework
from triage.tools.config.frameworks import FRAMEWORKS, named
from triage.tools.config.keys import normal, table
from triage.tools.settings import CONTEXT, VARIABLES

ROOT = Path(__file__).parents[3]
ADDED = '''"""Forge, which nobody has heard of."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="forge",
    parents=("megatron",),
    file_keys=Keys(("forge.heat",)),
    program=Program("forge-train"),
    keys=dict(learning_rate="forge.heat", warmup_steps="forge.preheat", max_steps="forge.strokes"),
    defaults={"grad_accumulation": 1},
)
'''
CONFIG = "forge:\n  heat: 1e-4\n  preheat: 500\n  strokes: 100\nmicro_batch_size: 4\n"


@pytest.mark.parametrize("framework", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_a_framework_speaks_of_known_variables_in_keys_as_they_are_compared(framework):
    assert {*framework.keys, *framework.defaults} <= VARIABLES.keys() | CONTEXT.keys()
    assert all(parent in FRAMEWORKS for parent in framework.parents)
    assert framework.role in PRECEDENCE
    marks = [
        mark for keys in (framework.file_keys, framework.command_keys) for text in keys.marks for mark in text.split()
    ]
    for key in [*marks, *(key for keys in framework.keys.values() for key in keys.split())]:
        assert key == normal(key)
    for pattern in (framework.program.pattern, framework.file_name):
        re.compile(pattern)


def test_a_child_is_asked_before_its_parents():
    for framework in FRAMEWORKS.values():
        for parent in map(named, framework.parents):
            for way in ("file_keys", "command_keys"):
                mine, theirs = getattr(framework, way), getattr(parent, way)
                assert not (mine.marks and theirs.marks) or (mine.turn, framework.name) < (theirs.turn, parent.name)


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (dict(), "framework 'x' is empty"),
        (dict(keys={"seed": " "}), "framework 'x': seed is empty"),
        (dict(keys={"seed": "s", "epochs": "e s"}), "framework 'x': the key s is declared twice"),
    ],
)
def test_what_is_said_twice_or_not_at_all_fails_with_its_name(declared, says):
    with pytest.raises(ValueError, match=says):
        Framework(name="x", **declared)


def test_a_parents_keys_are_understood_and_rank_behind_its_own():
    rows = table("llama-factory")
    assert rows["cutoff_len"][0] == "sequence_length"
    assert rows["learning_rate"][0] == "learning_rate"
    assert rows["learning_rate"][1] > rows["cutoff_len"][1]


def copy_with(tmp_path: Path, path: str, text: str) -> dict[str, str]:
    """The environment of a copy of triage that has one more file."""
    house = tmp_path / "copy" / "triage"
    house.mkdir(parents=True)
    for folder in ("agent", "evals", "knowledge", "ui"):
        (house / folder).symlink_to(ROOT / folder)
    shutil.copytree(ROOT / "tools", house / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (house / path).write_text(text)
    return os.environ | {"PYTHONPATH": str(house.parent), "TRIAGE_HOME": str(tmp_path / "home")}


def test_a_framework_is_added_by_one_file(tmp_path):
    env = copy_with(tmp_path, "tools/config/frameworks/trainers/forge.py", ADDED)
    run = tmp_path / "run"
    run.mkdir()
    (run / "recipe.yaml").write_text(CONFIG)
    command = [sys.executable, "-c", "from triage.ui.cli import main; main()", "lint", str(run), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    found = {f["code"]: f for f in json.loads(done.stdout)["findings"]}
    assert found["warmup-exceeds-training"]["evidence"][0]["line"] == 3


def test_a_framework_declared_in_two_files_fails_at_import(tmp_path):
    env = copy_with(tmp_path, "tools/config/frameworks/rl/megatron.py", ADDED.replace('"forge"', '"megatron"'))
    command = [sys.executable, "-c", "import triage.tools.config.frameworks"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert "frameworks: 'megatron' is declared twice" in done.stderr
