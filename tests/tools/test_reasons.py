"""Every reason for which the walk over a run leaves a file is known in Chinese, whatever stands in it."""

import ast
import re
from pathlib import Path

import pytest

from triage.tools.findings import Check
from triage.tools.phrase import in_chinese

ROOT = Path(__file__).parents[2] / "tools"
CALLED = {"kinds.py": {"Refused"}, "discover.py": {"skip", "append"}, "packed.py": {"OSError", "EOFError"}}
ANY = "XX"


def worded(node):
    """The sentence of a string or an f-string, with `XX` for what differs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(worded(v) or ANY for v in node.values)
    return None


def reasons():
    for name, called in CALLED.items():
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        given = [a for c in calls if getattr(c.func, "id", getattr(c.func, "attr", "")) in called for a in c.args]
        given += [
            n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and n.targets[0].__dict__.get("id") == "why"
        ]
        for node in [x for a in given for x in (a.elts if isinstance(a, ast.Tuple) else [a])]:
            if (said := worded(node)) and " " in said:
                yield said


def test_the_walk_words_its_reasons():
    assert len(set(reasons())) >= 15


@pytest.mark.parametrize("why", sorted(set(reasons())))
def test_every_reason_is_said_in_chinese(why):
    assert re.search("[\u4e00-\u9fff]", in_chinese(why)), why


def test_what_differs_stays_and_a_name_before_it_too():
    assert in_chinese("more than 9 files: this and later ones were not looked at; name a subdirectory").startswith(
        "超过 9 "
    )
    assert in_chinese("train.yaml: nested deeper than 50 levels; not read") == "train.yaml：嵌套超过 50 层；没有读取"
    why = "a hole of 7 bytes from byte 12 on, where nothing was ever written"
    assert in_chinese(why) == "从第 12 字节起有 7 字节的空洞，从未写入"


def test_an_unknown_reason_stays_as_it_is_and_a_given_translation_wins():
    assert in_chinese("the moon is in the way") == "the moon is in the way"
    assert Check("x", "failed", "is empty", "别的").say("zh") == "别的"
    assert Check("x", "failed", "is empty").say("zh") == "是空文件"
    assert Check("x", "failed", "is empty").say("en") == "is empty"
