"""What differs between two runs, counted in variables.

Halving the micro-batch and doubling the accumulation at one global batch is one change. Spelling, names,
places and logging are no change. Keys that no table knows are compared too: whatever differs may be the cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..settings import Setting, Settings
from .keys import UNIMPORTANT, normal
from .syntax.source import short
from .values import HELPERS, boolean, number

INERT = {"log_steps", "eval_steps", "save_steps", "save_total_limit", "visible_devices"}
"""Differences that cannot change what is learned; shown, but not counted."""
BATCH = ("micro_batch_size", "grad_accumulation", "global_batch_size", "world_size", "nodes", "gpus_per_node",
         "data_parallel")  # fmt: skip
SAME_BATCH = "counted as one change"
"""How the note of sizes ends that trade against each other."""
SWITCHES = ("enabled", "enable", "use", "active", "on")
"""Keys of a block that say whether it is in force."""
OFF = "of a block that is switched off on one side"
LENGTH = ("warmup_steps", "warmup_ratio", "warmup_samples")
SPELLED = {"max_steps": ("train_samples", "train_tokens"), "decay_steps": ("decay_samples",)}
"""Lengths in steps, and the other units in which they are given: of one length in two units nothing differs."""


@dataclass(frozen=True)
class Difference:
    """One variable that differs."""

    variable: str
    """Canonical name, or the framework's own key."""
    old: Any
    """None where it is not set in the first."""
    new: Any
    """None where it is not set in the second."""
    where: str
    """`file:line` in the second run, else in the first."""
    note: str = ""
    counts: bool = True
    """False for logging and saving, which cannot confound a comparison."""


def diff(a: Settings, b: Settings) -> tuple[Difference, ...]:
    """Differences from `a` to `b`, canonical ones first.

    Two runs of which one has no settings at all cannot be compared; the caller checks `values` first.
    """
    out = [*_batch(a, b), *_warmup(a, b)]
    other_units = {v for steps, others in SPELLED.items() if _as_long(steps, others, a, b) for v in (steps, *others)}
    for variable in sorted(a.values.keys() | b.values.keys()):
        if variable in HELPERS or variable in BATCH or variable in LENGTH or variable in other_units:
            continue
        old, new = a.get(variable), b.get(variable)
        if not _same(old, new):
            if variable == "deepspeed" and old and new and short(str(old.value)) == short(str(new.value)):
                continue
            out.append(_difference(variable, old, new))
    sides = tuple(map(_side, (a, b)))
    return tuple(replace(d, counts=False, note=OFF) if _switched(d, sides) else d for d in (*out, *_others(a, b)))


Side = tuple[Settings, dict[str, Setting], set[str]]
"""Settings, all of them by their own keys, and the blocks that those stand in."""


def _side(settings: Settings) -> Side:
    keys = {normal(one.key): one for one in (*settings, *settings.others.values())}
    return settings, keys, {key[:at] for key in keys for at, c in enumerate(key) if c == "."}


def _switched(d: Difference, sides: tuple[Side, ...]) -> bool:
    """Whether it belongs to a block that is switched on in one run at most: whether the block is on is the change, and
    what stands in one that is off changes nothing."""
    known = (s.key for settings, *_ in sides for of in (settings.values, settings.others) if (s := of.get(d.variable)))
    for key in {normal(k) for k in (d.variable, *known)}:
        parts = key.split(".")
        if parts[-1] in SWITCHES:
            return False
        for n in range(1, len(parts)):
            on = [_on(".".join(parts[:n]), side) for side in sides]
            if None not in on and not all(on):
                return True
    return False


def _on(block: str, side: Side) -> bool | None:
    """Whether a block is switched on; None for one without a switch. One that is not there is off."""
    settings, keys, blocks = side
    if block not in blocks:
        return False
    switch = next((keys[k] for name in SWITCHES if (k := f"{block}.{name}") in keys), None)
    said = boolean(str(switch.value)) if switch is not None else None
    own = settings.value(block.rpartition(".")[2])
    return said if said is not None else own if isinstance(own, bool) else None


def _difference(variable: str, old: Setting | None, new: Setting | None, note: str = "") -> Difference:
    place = new or old
    where = f"{place.file}:{place.line}" if place else ""
    return Difference(
        variable, old.value if old else None, new.value if new else None, where, note, variable not in INERT
    )


def _same(old: Setting | None, new: Setting | None) -> bool:
    if old is None or new is None:
        return old is new
    if isinstance(old.value, float) and isinstance(new.value, (int, float)):
        return abs(old.value - new.value) <= 1e-12 * max(abs(old.value), abs(new.value))
    return old.value == new.value


def _batch(a: Settings, b: Settings) -> list[Difference]:
    """The batch variables; one change where micro-batch, accumulation and devices trade against each other."""
    changed = [v for v in BATCH if not _same(a.get(v), b.get(v)) and a.value(v) != b.value(v)]
    if "world_size" in changed or ("nodes" not in changed and "gpus_per_node" not in changed):
        changed = [v for v in changed if v not in ("nodes", "gpus_per_node", "data_parallel")] or changed
    if not changed:
        return []
    before, after = _total(a), _total(b)
    if before is not None and before == after and len(changed) > 1:
        first = changed[0]
        parts = ", ".join(f"{v} {a.value(v)} -> {b.value(v)}" for v in changed)
        note = f"{parts}: the global batch stays {before}, {SAME_BATCH}"
        return [_difference(first, a.get(first), b.get(first), note)]
    note = f"global batch {before} -> {after}" if before is not None and before != after else ""
    return [_difference(v, a.get(v), b.get(v), note) for v in changed]


def _total(settings: Settings) -> int | None:
    """The global batch, or micro-batch times accumulation where the number of devices is not visible."""
    if (total := settings.value("global_batch_size")) is not None:
        return total
    micro, steps = settings.value("micro_batch_size"), settings.value("grad_accumulation")
    sizes = ("world_size", "nodes", "gpus_per_node")
    if isinstance(micro, int) and isinstance(steps, int) and not any(v in settings for v in sizes):
        return micro * steps
    return None


def _warmup(a: Settings, b: Settings) -> list[Difference]:
    """Warm-up given in steps, as a ratio or in samples; equal when the steps are."""
    spelled_alike = all(_same(a.get(v), b.get(v)) for v in LENGTH if v in a and v in b)
    if spelled_alike and (steps := a.value("warmup_steps")) is not None and steps == b.value("warmup_steps"):
        return []
    changed = [v for v in LENGTH if not _same(a.get(v), b.get(v))]
    spelled_both_ways = len(changed) == 2 and len({v for v in changed if v in a}) == 1
    if spelled_both_ways:
        old = next((a.get(v) for v in changed if v in a), None)
        new = next((b.get(v) for v in changed if v in b), None)
        if old and new:
            note = f"{old.key} {old.raw} became {new.key} {new.raw}"
            return [
                Difference(
                    "warmup_steps", a.value("warmup_steps"), b.value("warmup_steps"), f"{new.file}:{new.line}", note
                )
            ]
    return [_difference(v, a.get(v), b.get(v)) for v in changed]


def _as_long(steps: str, others: tuple[str, ...], a: Settings, b: Settings) -> bool:
    """Whether one gives a length in steps and the other in another unit, and both are the same steps."""
    said = [[v for v in (steps, *others) if v in s] for s in (a, b)]
    old, new = a.value(steps), b.value(steps)
    return bool(said[0] and said[1] and said[0] != said[1] and old and new) and abs(old - new) <= 1e-3 * old


def _others(a: Settings, b: Settings) -> list[Difference]:
    """Keys without a canonical name, unless they only name or place something."""
    old = {normal(k): s for k, s in a.others.items()}
    new = {normal(k): s for k, s in b.others.items()}
    compared = {normal(s.key) for s in (*a, *b)}
    out = []
    for key in sorted(old.keys() | new.keys()):
        if UNIMPORTANT.search(key) or key in a.values or key in b.values or key in compared:
            continue
        left, right = old.get(key), new.get(key)
        if _plain(left) != _plain(right) and not (_points(left, a) and _points(right, b)):
            out.append(_difference(key, left, right))
    return out


def _points(setting: Setting | None, settings: Settings) -> bool:
    """Whether a key says no more than which of the files to read, whose contents are compared themselves."""
    return setting is None or short(str(setting.value)) in map(short, settings.files)


def _plain(setting: Setting | None) -> object:
    """A value without the differences of spelling; a missing key and one that says nothing are alike."""
    if setting is None:
        return None
    text = str(setting.value).strip().strip("'\"")
    if text.lower() in ("", "null", "none", "auto"):
        return None
    if (value := number(text)) is not None:
        return value
    flag = boolean(text)
    return text if flag is None else flag
