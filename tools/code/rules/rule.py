"""What a rule on programs is: a function over a `View`, with an example that must fire and one that must not.

A rule yields `Fault`s, each with the node that shows it and, where one safe edit mends it, the edit. Its docstring says
why it matters, its examples stand beside it; all of that together is its page, and its test.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from textwrap import dedent

from ..patch import Edit
from ..program import Function, Program
from ..roles import Roles
from ..running import Running
from ..training import Event, Training, events_of, hooks, hot_functions, passes

MANY = ("init_process_group", "DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel", "init_distributed",
        "init_device_mesh", "fully_shard")  # fmt: skip
"""Calls that only a program of several processes makes."""


class View:
    """One program as rules see it."""

    def __init__(self, program: Program):
        self.program = program

    def close(self) -> None:
        """Let the program go at once: its parts hold one another, and only the collector would find them."""
        vars(self.program).clear()
        vars(self).clear()

    @cached_property
    def roles(self) -> Roles:
        return Roles(self.program)

    @cached_property
    def trainings(self) -> list[Training]:
        calls = self.program.calls
        return passes(self.program, self.roles) if "backward" in calls or "manual_backward" in calls else []

    @cached_property
    def running(self) -> Running:
        return Running(self.program)

    @cached_property
    def distributed(self) -> bool:
        """Whether several processes run this program, as far as it says itself."""
        return any(True for _ in self.program.find(*MANY))

    @cached_property
    def among_ranks(self) -> bool:
        """Whether it is one of several processes, also where another file has started them."""
        calls = self.program.find("get_rank", "get_world_size", "all_reduce", "broadcast", "barrier")
        paths = (self.program.path(c.func) for c in calls)
        return self.distributed or any(p.startswith(("torch.distributed", "dist.")) for p in paths)

    @cached_property
    def hot(self) -> list[Function]:
        """Methods that a trainer calls for each batch."""
        return list(hot_functions(self.program))

    @cached_property
    def each_step(self) -> list[Pace]:
        """All that runs once a step: training loops, functions that make a step, methods that a trainer calls."""
        own = [Pace(t.node, t.events, t) for t in self.trainings]
        called = [*self.hot, *hooks(self.program)]
        return own + [Pace(f, events_of(self.program, self.roles, f), None) for f in called]


@dataclass(frozen=True)
class Pace:
    """What runs once a step."""

    node: ast.AST
    """The loop, or the function that is called for each batch."""
    events: tuple[Event, ...]
    training: Training | None
    """None for a method that a trainer of another file calls."""

    @property
    def looped(self) -> bool:
        """Whether its loop stands in this file, so that what is outside it lives longer than a step."""
        return self.training is not None and self.training.whole

    def of(self, *kinds: str) -> list[Event]:
        return [e for e in self.events if e.kind in kinds]


@dataclass(frozen=True)
class Fault:
    """One thing that a rule objects to."""

    node: ast.AST
    message: str
    zh: str
    fix: tuple[Edit, ...] = ()
    """Edits that mend it together, empty where none is safe."""
    severity: str = ""
    """The rule's own severity if empty."""
    beside: tuple[ast.AST, ...] = ()
    """Other places that belong to the evidence."""
    needs: str = ""
    """`processes`: it is one only where several run the program, which the program does not say itself."""


Judge = Callable[[View], Iterator[Fault]]


@dataclass(frozen=True)
class Rule:
    code: str
    severity: str
    entry: str
    """The runbook entry about what it leads to."""
    words: tuple[str, ...]
    """One of them stands in every program that it may object to; `_val_`: as a part of a name, not in `value`."""
    judge: Judge
    bad: tuple[str, ...]
    good: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.says.splitlines()[0]

    @property
    def says(self) -> str:
        """Title, why, and what it does not see."""
        return inspect.cleandoc(self.judge.__doc__ or "")

    @property
    def page(self) -> str:
        """The documentation, in the order of the pages of configuration rules."""
        head, _, gaps = self.says.partition("\nKnown gaps:")
        examples = [f"{name}:\n{_fenced(texts)}" for name, texts in (("Bad", self.bad), ("Good", self.good))]
        rest = [f"Known gaps:{gaps}"] if gaps else []
        return "\n".join([head.rstrip(), *examples, *rest, f"Source: runbook entry `{self.entry}`."])


def _fenced(texts: tuple[str, ...]) -> str:
    return "\n".join(f"\n    ```\n{_indented(text)}\n    ```\n" for text in texts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip().split("\n"))


RULES: dict[str, Rule] = {}
"""Code -> rule, filled by importing the modules of this package."""


def rule(
    code: str, severity: str, entry: str, words: str, bad: str | tuple[str, ...], good: str | tuple[str, ...]
) -> Callable[[Judge], Judge]:
    """Register a rule under its code.

    Args:
        code: its name, which the function has too.
        severity: how bad what it finds is.
        entry: the runbook entry that explains it.
        words: blank-separated; one of them stands in every program that it may object to.
        bad: programs that it objects to.
        good: the same ones mended.

    Raises:
        ValueError: the code is taken, the function is not called like it, or it says nothing of why or has no example.
    """

    def register(judge: Judge) -> Judge:
        texts = tuple(tuple(dedent(t).lstrip("\n") for t in ((e,) if isinstance(e, str) else e)) for e in (bad, good))
        made = Rule(code, severity, entry, tuple(words.split()), judge, *texts)
        if code in RULES:
            raise ValueError(f"code rules: {code!r} is declared twice")
        if judge.__name__ != code.replace("-", "_"):
            raise ValueError(f"code rules: the function of {code!r} is called {judge.__name__}")
        if "\nWhy:" not in made.says or not all(t.strip() for t in (*made.bad, *made.good)) or not made.words:
            raise ValueError(f"code rules: {code!r} lacks why, an example or words")
        RULES[code] = made
        return judge

    return register
