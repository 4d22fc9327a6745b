"""What a fault of the lab is, and the registry of all of them.

A fault is one small class: defining it registers it. It says what it changes (settings, model, data, code,
environment), which runbook entries count as right, and which changes repair it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...tools.registry import modules, table
from .text import Record

if TYPE_CHECKING:
    from .desk import Desk
    from .parts import Parts

Family = Literal[
    "optimiser", "numerics", "data", "labels", "alignment", "system", "checkpoint", "code", "healthy", "double"
]
Onset = Literal["none", "nonfinite", "rise", "severity"] | int
Split = tuple[list[Record], list[Record]]
"""The training records and the evaluation records."""
FAULTS: dict[str, Fault] = {}


class Fault:
    """One thing that is wrong with a training. Subclasses set the class variables and override the hooks they need."""

    name: ClassVar[str]
    family: ClassVar[Family]
    recipe: ClassVar[str]
    """Name of the healthy training that it is injected into."""
    version: ClassVar[int] = 1
    """Raised when the injection changes, so that old recordings are made again."""
    severities: ClassVar[tuple[Any, ...]] = (1,)
    """Case of seed s uses severity (s - 1) mod n: seeds of the fit part and of the test part differ in it."""
    edits: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Words of the recipe's own program, and what stands there instead."""
    changes: ClassVar[str] = ""
    """Keys of `train.yaml` that differ from the healthy run, as the file spells them; `{}` is the severity."""
    right: ClassVar[tuple[str, ...]] = ()
    """Entries that count as the right diagnosis; empty for a healthy run."""
    near: ClassVar[tuple[str, ...]] = ()
    """Entries that are a near miss: not counted as right, shown in the report."""
    shows: ClassVar[tuple[str, ...]] = ()
    """Finding codes of which any one means that the fault was seen; empty where any may."""
    also: ClassVar[tuple[str, ...]] = ()
    """Further findings that it causes: they do not count as seeing it, and are taken away with `shows`."""
    repairs: ClassVar[tuple[str, ...]] = ()
    """Variables (settings, `dataset`, `code`, ...) whose change repairs it; empty when no single change does."""
    actions: ClassVar[dict[str, dict[str, str]]] = {}
    """What an action that is no setting (`code`, ...) comes down to in `train.yaml`, where it has no hook to undo."""
    onset: ClassVar[Onset] = "none"
    """Where the failure begins: a step, the step that is the severity, or how to find it in the recorded losses."""
    asks: ClassVar[tuple[str, str]] = ("what is wrong with this run?", "这个训练有什么问题？")
    """What a user would type, in English and Chinese; does not name the cause."""
    own_best: ClassVar[bool] = False
    """A repair is measured by the best that the faulty run itself reached on the way, not by the healthy run."""
    shards: ClassVar[int] = 1
    """Files that the training records lie in."""
    crashes: ClassVar[bool] = False
    """The training program is meant to fail."""

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            whole = cls() if hasattr(cls, "family") and hasattr(cls, "recipe") else None
            FAULTS.update(table("faults of the lab", (*FAULTS.items(), (cls.name, whole))))

    @property
    def healthy(self) -> bool:
        return not self.right

    def settings(self, severity: Any) -> dict[str, str]:
        """What `changes` says for this severity."""
        return dict(change.split("=") for change in self.changes.format(severity).split())

    def model(self, severity: Any) -> dict[str, Any]:
        """Keys of `config.json` that differ from the healthy model."""
        return {}

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> Split | None:
        """The records with the fault in them; None when they were changed where they are."""

    def environment(self, severity: Any) -> None:
        """Done in the training process before anything else."""

    def code(self, parts: Parts, severity: Any) -> None:
        """Change the parts of the training program."""

    def left(self, desk: Desk, severity: Any) -> None:
        """Leave tables and notes beside the run once it has ended; `desk.fixed` says whether a repair came before."""


def touched(fault: Fault) -> tuple[str, ...]:
    """The kinds of change, other than settings, that take the fault's hooks away."""
    hooks = {"records": "dataset", "environment": "environment", "code": "code", "left": "left"}
    return tuple(kind for hook, kind in hooks.items() if getattr(type(fault), hook) is not getattr(Fault, hook))


@cache
def faults() -> dict[str, Fault]:
    """Every fault by name; importing a module that defines one is what registers it."""
    here = __package__ or "triage.evals.lab"
    list(modules(here, "faults_", "healthy"))
    list(modules(f"{here}.faults_left"))
    list(modules(f"{here}.faults_code"))
    return FAULTS


@dataclass(frozen=True)
class Case:
    """One run to make and to diagnose."""

    faults: tuple[str, ...]
    seed: int

    @property
    def id(self) -> str:
        return f"{'+'.join(self.faults)}/{self.seed}"

    @property
    def split(self) -> str:
        """Odd seeds may be looked at while strengths are fitted; figures are reported on the even ones."""
        return "fit" if self.seed % 2 else "test"

    @property
    def fault(self) -> Fault:
        """The fault that the answers are judged by (the first of a double)."""
        return faults()[self.faults[0]]

    def all(self) -> list[Fault]:
        return [faults()[name] for name in self.faults]

    def severity(self, fault: Fault) -> Any:
        return fault.severities[(self.seed - 1) % len(fault.severities)]

    @property
    def question(self) -> str:
        return self.fault.asks[self.seed // 2 % 2]
