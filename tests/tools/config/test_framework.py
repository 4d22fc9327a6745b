"""What a framework declares: complete, said once; how one is added is seen in `tests/test_extending.py`."""

import re

import pytest
from copies import copy_with, python

from triage.tools.config.combine import PRECEDENCE
from triage.tools.config.framework import Framework
from triage.tools.config.frameworks import FRAMEWORKS, named
from triage.tools.config.keys import normal, table
from triage.tools.settings import CONTEXT, VARIABLES


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


def test_a_framework_declared_in_two_files_fails_at_import(tmp_path):
    again = 'from ...framework import Framework\n\nFRAMEWORK = Framework(name="megatron", keys={"seed": "s"})\n'
    env = copy_with(tmp_path, {"tools/config/frameworks/rl/again.py": again})
    done = python(env, "import triage.tools.config.frameworks")
    assert "frameworks: 'megatron' is declared twice" in done.stderr
