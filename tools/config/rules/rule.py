"""What a lint rule is: a function over `Settings` whose docstring is its documentation and its test.

A rule yields `Fault`s; `lint` turns them into findings. Rules judge what is written down; what only the program
sets is not visible and never counts as fine or wrong.

What stands under `Bad:` must fire and what stands under `Good:` must not; `;` separates examples. Each piece of inline
code is a line of `train.yaml`, or of `launch.sh` where it does not begin with a key and a colon, unless a file is named
behind it: `eos_token_id: 7` in `config.json`. A fenced block says its file's name behind the fence. A bad example has
the rule's own severity unless another stands in it, as (S3). The rest is for people.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import dedent

from ...patterns import bounded
from ...settings import Settings

HEADINGS = ("Why", "Bad", "Good", "Known gaps", "Source")
"""What the page of every rule says, in this order."""
EXAMPLE = re.compile(r"(?:```.*?```|`[^`]*`|[^;`])+", re.DOTALL)
CODE = bounded(r"```(\S+)\n(.*?)```|`([^`]+)`", re.DOTALL)
FILE = bounded(r"[\w-]+\.(ya?ml|json|toml|sh|py)")
YAML = bounded(r"[\w.]+: ")


@dataclass(frozen=True)
class Fault:
    """One thing that a rule objects to."""

    variable: str
    """Variable the finding is about."""
    message: str
    zh: str
    severity: str = ""
    """The rule's own severity if empty."""
    fix: str = ""
    """New value as the file would spell it, empty where no single value is right."""
    beside: tuple[str, ...] = ()
    """Other variables whose lines belong to the evidence."""


Judge = Callable[[Settings], Iterator[Fault]]


@dataclass(frozen=True)
class Example:
    """Files of a run, as the page of a rule shows them."""

    files: dict[str, str]
    """Name -> text."""
    severity: str
    """Of the finding that a bad example gives."""


@dataclass(frozen=True)
class Rule:
    code: str
    severity: str
    needs: tuple[str, ...]
    """Variables that must be visible, written or derived; without them the check does not apply."""
    judge: Judge

    @property
    def page(self) -> str:
        """The documentation: why, bad, good, known gaps, source."""
        return inspect.cleandoc(self.judge.__doc__ or "")

    @property
    def title(self) -> str:
        return self.page.splitlines()[0] if self.page else ""

    def section(self, heading: str) -> str:
        """What the page says under a heading, empty where it has none."""
        found = re.search(rf"^{heading}:(.*(?:\n(?!\S).*)*)", self.page, re.MULTILINE)
        return found[1].strip() if found else ""

    def examples(self, heading: str) -> list[Example]:
        """The configurations under `Bad` or `Good`; a part without code is for people only."""
        made = []
        for part in EXAMPLE.findall(self.section(heading)):
            if files := _files(part):
                said = re.search(r"\((S\d)\)", part)
                made.append(Example(files, said[1] if said else self.severity))
        return made


RULES: dict[str, Rule] = {}
"""Code -> rule, filled by importing the modules of this package."""


def rule(code: str, severity: str, needs: tuple[str, ...] = ()) -> Callable[[Judge], Judge]:
    """Register a rule under its code.

    Raises:
        ValueError: the code is taken, the function is not called like it, or its page lacks a heading or an example.
    """

    def register(judge: Judge) -> Judge:
        made = Rule(code, severity, needs, judge)
        if code in RULES:
            raise ValueError(f"lint rules: {code!r} is declared twice")
        if judge.__name__ != code.replace("-", "_"):
            raise ValueError(f"lint rules: the function of {code!r} is called {judge.__name__}")
        if empty := [h for h in HEADINGS if not made.section(h)]:
            raise ValueError(f"lint rules: {code!r} says nothing under {', '.join(empty)}")
        if empty := [h for h in ("Bad", "Good") if not made.examples(h)]:
            raise ValueError(f"lint rules: {code!r} has no example under {', '.join(empty)}")
        RULES[code] = made
        return judge

    return register


def _files(example: str) -> dict[str, str]:
    """File name -> text of one example."""
    files: dict[str, str] = {}
    loose: list[str] = []
    for name, block, code in CODE.findall(example):
        if name:
            files[name] = dedent(block)
        elif FILE.fullmatch(code):
            files[code], loose = "\n".join(loose) + "\n", []
        else:
            loose.append(" ".join(code.split()))
    for line in loose:
        name = "train.yaml" if YAML.match(line) else "launch.sh"
        files[name] = files.get(name, "") + line + "\n"
    return files
