"""What is known of a run when its programs are read: its settings, how many processes it had, what its logs show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath

from ...patterns import bounded
from ...run import Run
from ...settings import Setting, Settings

LAUNCHED = frozenset(("flag", "switch", "override", "env"))
OF_PROGRAM = frozenset(("default", "python", "call"))
"""How a setting is written that somebody may have overridden where nobody sees it."""
PLAIN = bounded(rb"(?m)^[^\n#]{0,200}\bpython[\d.]{0,5}\s[^\n]{0,200}\.py\b")
SEVERAL = bounded(rb"torchrun|accelerate\s|deepspeed\s|mpirun|mpiexec|srun\s|distributed\.(?:run|launch)|nproc")
WORDS = {"true": True, "false": False, "none": None, "null": None, "~": None}


class Unknown(Enum):
    """What nobody knows before a program runs."""

    STATE = 0
    """It depends on what the run does."""
    SETTING = 1
    """Whoever starts it says so, and what he said is not seen."""


Said = tuple[object, bool]
"""A value, and whether this run has it for certain; else it is what holds unless somebody says otherwise."""


@dataclass(frozen=True)
class Known:
    settings: Mapping[str, Said] = field(default_factory=dict)
    """Dotted keys and options -> their values."""
    shown: str = ""
    """The words of its logs."""
    processes: int = 0
    """How many run its program; 0 where nothing tells."""

    def setting(self, path: str) -> Said | None:
        """The value under a path of keys, of which the outermost may be missing; an option has no path."""
        name, inside = path.rpartition(".")[2], f".{path}"
        found = {said for k, said in self.settings.items() if k == name or f".{k}".endswith(inside)}
        return None if not found else next(iter(found)) if len(found) == 1 else (Unknown.SETTING, False)


def known(run: Run, settings: Settings, scripts: Iterable[bytes], shown: str) -> Known:
    """What a run's files tell.

    Args:
        run: its files.
        settings: what was read of them.
        scripts: the texts of its launches.
        shown: the text of its logs.
    """
    configs = {a.name for a in run.of("config") if a.path.suffix not in (".py", ".ipynb")}
    others = {PurePath(name).suffix for name in configs - set(settings.files)}
    said = {s.key.lstrip("-").replace("-", "_"): _said(s, others)
            for s in (*settings.others.values(), *settings.values.values())}  # fmt: skip
    return Known(said, shown, _processes(settings, list(scripts)))


def _said(setting: Setting, others: set[str]) -> Said:
    """What a place says, for certain where it is the launch, or a configuration beside which there is no other."""
    if setting.style in LAUNCHED or setting.style in OF_PROGRAM:
        return _value(setting), setting.style in LAUNCHED
    return (_value(setting), True) if PurePath(setting.file).suffix not in others else (Unknown.SETTING, False)


def _value(setting: Setting) -> object:
    if setting.style == "switch":
        return True
    text = setting.raw.strip().strip("'\"")
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _processes(settings: Settings, scripts: list[bytes]) -> int:
    """One where every launch that is seen starts a program by `python` alone."""
    world = settings.value("world_size")
    if isinstance(world, int) and world > 0:
        return world
    plain = any(PLAIN.search(text) for text in scripts)
    return int(plain and not any(SEVERAL.search(text) for text in scripts))
