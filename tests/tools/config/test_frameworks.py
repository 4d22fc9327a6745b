"""Every framework's own file or launch script, rewritten in small: which it is, what it sets, on which line."""

import contextlib
from pathlib import Path

import pytest
from frameworks import engines, pretraining, rl, trainers
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from making import fill

from triage.tools.config.combine import read_settings
from triage.tools.config.read import read_source, syntax_of
from triage.tools.config.syntax.source import Refused, source
from triage.tools.discover import discover
from triage.tools.settings import VARIABLES

ROWS = [*engines.ROWS, *pretraining.ROWS, *rl.ROWS, *trainers.ROWS]


@pytest.mark.parametrize(("name", "framework", "text", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_file_is_read_as_its_framework_means_it(tmp_path, name, framework, text, expected):
    settings, checks = read_settings(discover(fill(tmp_path, {name: text})))
    assert settings.framework == framework, checks
    assert {s.variable: s.value for s in settings if s.variable in VARIABLES} == pytest.approx(expected)
    lines = text.split("\n")
    for setting in settings:
        if setting.column >= 0:
            assert lines[setting.line - 1][setting.column :].startswith(setting.raw), setting


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.sampled_from(ROWS), st.integers(0, 3000), st.integers(0, 3000), st.text(max_size=5))
def test_damaged_files_are_read_or_refused(row, at, cut, junk):
    name, _, text, _ = row
    damaged = text[:at] + junk + text[at + cut % 40 :]
    with contextlib.suppress(Refused):
        read_source(source(name, damaged), syntax_of(Path(name), name))
