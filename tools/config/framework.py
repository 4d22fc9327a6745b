"""What a framework's file under `frameworks/` declares. Which there are is known to that folder alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class Keys(NamedTuple):
    """Keys by which a file or a command is told."""

    marks: tuple[str, ...] = ()
    """Sets of normalised keys, of which one must be present in full; a key that ends in `.` is a prefix."""
    turn: int = 0
    """0 where nobody else writes such keys; the more common they are, the later it is asked."""


class Program(NamedTuple):
    """What the commands are called."""

    pattern: str = ""
    turn: int = 0
    """As of `Keys`; -1 for an engine, because the model that it serves may carry anybody's name."""


NOT_TOLD, UNNAMED = Keys(), Program()


class IssueForm(NamedTuple):
    """What the makers ask for in a bug report."""

    project: str
    issues: str
    sections: tuple[tuple[str, str], ...]
    """Heading of the form, and the parts of a report that answer it; none where only the reporter can."""
    environment: str = "python -m torch.utils.collect_env"
    """The command whose output the form asks for."""
    name: str = ""
    """What a user calls the project, if not by the framework's name."""


HUGGING_FACE = (
    ("System Info", "versions hardware variables"),
    ("Who can help?", ""),
    ("Information", "command"),
    ("Tasks", ""),
    ("Reproduction", "error settings tried"),
    ("Expected behavior", ""),
)
"""Sections of the form that Hugging Face's projects share."""
PLAIN = (
    ("Describe the bug", "error findings"),
    ("Steps/Code to reproduce bug", "command settings"),
    ("Expected behavior", ""),
    ("Environment", "versions hardware variables"),
    ("Additional context", "tried"),
)
"""Sections of a form as most projects have it; also for those that publish none."""


@dataclass(frozen=True, kw_only=True)
class Framework:
    """How one framework's files and commands are told, and what they mean."""

    name: str
    parents: tuple[str, ...] = ()
    """Frameworks whose keys it understands too; its own come first."""
    role: str = "trainer"
    """What a file of it is for: see `combine.PRECEDENCE`."""
    file_name: str = ""
    """Pattern of file names that are its own whatever they hold."""
    file_keys: Keys = NOT_TOLD
    only_keys: str = ""
    """Keys, separated by spaces: a file that has no others, and at least two of them, is its own."""
    command_keys: Keys = NOT_TOLD
    program: Program = UNNAMED
    keys: Mapping[str, str] = field(default_factory=dict)
    """Canonical variable -> its keys for it, best first, separated by spaces; a dot separates levels."""
    also: str = ""
    """Other keys that it reads, separated by spaces: what is spelled nearly like one of all these is a slip."""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """Variable -> value in force when no file sets it."""
    train_batch: Literal["", "samples", "prompts", "either"] = ""
    """What `train_batch_size` counts per optimizer step; either: prompts where each is answered several times."""
    programmed: bool = False
    """Its configuration files are Python."""
    tolerant: bool = False
    """Its scripts add arguments of their own, so that common names are believed."""
    checks_deepspeed: bool = False
    """It compares its arguments with its DeepSpeed file and stops where they differ."""
    own_devices: bool = False
    """Its inference engine has devices of its own, or gives the memory back while the trainer works."""
    issue_form: IssueForm | None = None

    def __post_init__(self) -> None:
        if self.name and not (self.keys or self.parents or self.issue_form):
            raise ValueError(f"framework {self.name!r} is empty")
        seen: set[str] = set()
        for variable, keys in self.keys.items():
            if not keys.strip():
                raise ValueError(f"framework {self.name!r}: {variable} is empty")
            for key in keys.split():
                if key in seen:
                    raise ValueError(f"framework {self.name!r}: the key {key} is declared twice")
                seen.add(key)
