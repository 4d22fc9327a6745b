"""No regular expression of the package takes time that grows faster than the text it is given."""

import json
import os
import subprocess
import sys
from functools import cache

import pytest
from attack import patterns
from attack.growth import super_linear
from attack.patterns import Found

from triage.tools.patterns import bounded


@cache
def every() -> tuple[Found, ...]:
    done = subprocess.run(
        [sys.executable, patterns.__file__], capture_output=True, text=True, check=True, env=os.environ
    )
    return tuple(Found(**found) for found in json.loads(done.stdout))


def told(found: list[Found], often: int = 1) -> list[str]:
    said = [(one, next(super_linear(one, often), None)) for one in found]
    return [f"{one.place} {one.pattern[:200]!r} by {attack}" for one, attack in said if attack]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+#",
        r"(a+)+b",
        *(
            pytest.param(p, marks=pytest.mark.security)
            for p in (r"\w+\s*=\s*\w+;", r"<a>.*?</a>", r"^\s*\s*x$", r"x[^]]*\]")
        ),
    ],
)
def test_a_pattern_that_grows_too_fast_is_found(pattern):
    assert told([Found(pattern, 0, False, ("finditer",), "here")])


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"\s{1,16}#", "search"),
        (r"\s+#", "match"),
        (r"(?<!\w)\w++=", "sub"),
        (r"<a>[^<]*+</a>", "finditer"),
        ("a|b", "?"),
    ],
)
def test_a_pattern_that_grows_with_the_text_is_not(pattern, way):
    assert told([Found(pattern, 0, False, (way,), "here")]) == []


@pytest.mark.parametrize("pattern", [r"\s+#", r"\w+\s*=\s*\w+;", r"x{3,}y", r"<a>.*?</a>", r"(?:\w+ly\s+)*x"])
def test_bounded_patterns_match_what_they_matched(pattern):
    for text in ("a  # b", "key = value;", "xxxxy", "<a>b</a>", "nearly newly x"):
        assert [m.span() for m in bounded(pattern).finditer(text)] == [
            m.span() for m in patterns.re.finditer(pattern, text)
        ]
    assert told([Found(bounded(pattern).pattern, 0, False, ("finditer",), "here")], often=4) == []


def test_no_pattern_grows_faster_than_its_text_in_part():
    """Every pattern, with some of its attacks; collected from tables, functions and builders, and not by a list."""
    places = {found.place.split(":")[0] for found in every()}
    assert len(every()) > 600
    assert {
        "tools/secrets/table.py",
        "tools/logs/points/grammar.py",
        "tools/config/values.py",
        "ui/slack/text.py",
    } <= places
    assert {place.split("/")[0] for place in places} == set(patterns.WINGS)
    assert told(list(every()), often=36) == []


@pytest.mark.security
@pytest.mark.timeout(3600)
def test_no_pattern_grows_faster_than_its_text():
    assert told(list(every())) == []
