"""Settings of a config file that is given as text."""

from triage.tools.config.combine import settings_of
from triage.tools.config.read import read_source
from triage.tools.config.syntax.source import source

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
