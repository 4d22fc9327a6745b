"""Settings of a config file that is given as text."""

import contextlib
from pathlib import Path

import pytest
from making import fill

from triage.tools.config.combine import read_settings, settings_of
from triage.tools.config.read import read_source, syntax_of
from triage.tools.config.syntax.source import Refused, source
from triage.tools.discover import discover
from triage.tools.settings import VARIABLES

SYNTAX = {
    "yaml": "yaml",
    "yml": "yaml",
    "json": "json",
    "sh": "shell",
    "slurm": "shell",
    "toml": "toml",
    "py": "python",
}


def read(text: str, name: str = "train.yaml"):
    return settings_of(read_source(source(name, text), SYNTAX[name.rsplit(".", 1)[1]]))


def reads_as(folder: Path, name: str, framework: str, text: str, expected: dict) -> None:
    """The file in a run of its own is that framework's, sets just that, and each value stands where it is said to."""
    settings, checks = read_settings(discover(fill(folder, {name: text})))
    assert settings.framework == framework, checks
    assert {s.variable: s.value for s in settings if s.variable in VARIABLES} == pytest.approx(expected)
    lines = text.split("\n")
    for setting in settings:
        if setting.column >= 0:
            assert lines[setting.line - 1][setting.column :].startswith(setting.raw), setting


def damaged(name: str, text: str, at: int, cut: int, junk: str) -> None:
    """A text that breaks off, or with letters in it that do not belong there, is read or refused."""
    with contextlib.suppress(Refused):
        read_source(source(name, text[:at] + junk + text[at + cut % 40 :]), syntax_of(Path(name), name))
