"""The page of what is read: frameworks, lines of logs, trackers, tables, data, checkpoints; made from the tables.

What triage does with them is said elsewhere; this page answers "does it read mine?".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

KINDS = {
    "trainers": "Trainers and fine-tuning", "pretraining": "Pretraining", "rl": "Reinforcement learning",
    "engines": "Serving", "launch": "Launchers and engines below a trainer", "models": "Beside a model's weights",
}  # fmt: skip
"""Folder of `tools.config.frameworks` -> heading."""
TOP = """\
# Formats and frameworks read

Made from the code by `python -m triage.ui.docs`. Point triage at the run's folder: it tells every file by its content
and its name, and lists those it did not read with the reason (`triage scan RUN -v`). A framework that is missing here
is read too, where it writes known names (`learning_rate`, `loss`, ...): JSON, YAML, TOML, command lines, `key: value`
lines, tables. What it never reads: [limits.md](limits.md).

## Configurations and commands

YAML, JSON, TOML, INI, shell and Slurm scripts, notebooks, programs that set training arguments. The frameworks below
have their own names for settings, which are understood.
"""


def formats_page() -> str:
    from ..tools.checkpoints.files.layout import LAYOUTS
    from ..tools.data.records.blocks import FORMATS
    from ..tools.packed import PACKINGS
    from ..tools.tables.read import DELIMITED

    parts = [
        TOP,
        "| for | framework or file |\n|---|---|",
        *_frameworks(),
        "\n## Lines of logs\n\nOne of each kind. Ranks, prefixes and wrapped lines are seen through, and a line with a "
        "step and numbers is read whoever wrote it.\n\n```text",
        *_lines(),
        "```\n\n## Trackers, harnesses, benchmarks\n\nTheir files on disk; nothing is asked of a server.\n",
        "| written by | file |\n|---|---|",
        *_trackers(),
        f"\n## Tables\n\n{_codes(DELIMITED)}, JSON and JSON lines, YAML, Parquet, Arrow, Feather, NumPy, SQLite, "
        "notebooks, HTML tables, Prometheus text, tables printed in a log or in Markdown.\n",
        f"## Data\n\n`triage data` reads {_codes(FORMATS)}: [data.md](data.md).\n",
        f"## Checkpoints\n\n`triage checkpoint` knows these layouts: {', '.join(LAYOUTS)}, and single weight files: "
        "[checkpoints.md](checkpoints.md).\n",
        f"## Packed\n\nAll of them packed as {_codes(PACKINGS)}; unpack archives first, tar files of data aside.",
    ]
    return "\n".join(parts)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _frameworks() -> Iterator[str]:
    from ..tools.config import frameworks
    from ..tools.registry import modules

    kinds = {kind.__name__.rpartition(".")[2]: kind.__name__ for kind in modules(frameworks.__name__)}
    for kind in sorted(kinds, key=list(KINDS).index):
        told = [(module.__doc__ or "").strip().splitlines()[0].rstrip(".") for module in modules(kinds[kind])]
        yield f"| {KINDS[kind]} | {'; '.join(told)} |"


def _lines() -> Iterator[str]:
    from ..tools.logs.points.formats import FORMATS

    for format in FORMATS:
        yield format.samples[0].line.strip()


def _trackers() -> Iterator[str]:
    from ..tools.trackers.read import RECOGNISED

    for tracker in RECOGNISED:
        yield f"| {tracker.tracker} | `{tracker.file}` |"
