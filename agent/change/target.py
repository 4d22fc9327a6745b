"""What a value becomes by a fix: the new value, within the range in which it means something."""

from __future__ import annotations

import math

from ...knowledge.entry import Fix

LEAST_RAISED: dict[str, float] = {"warmup_steps": 100, "warmup_ratio": 0.03}
"""What a setting becomes at least when it is raised: the lower end of what the runbook's sources name."""
BOUNDS: dict[str, tuple[float, float]] = {
    "zero_stage": (0, 3),
    "gpu_memory_utilization": (0.05, 0.95),
    "dpo_beta": (0.0, 10.0),
}
"""Range in which a changed value stays; beyond it the change has no meaning."""


def target(value: object, fix: Fix) -> float | str | bool | None:
    """The new value; None when the fix does not apply to this value or would not change it."""
    [(how, amount)] = fix.change.items()
    was, wanted = number(value), number(amount)
    if how == "set":
        same = str(amount) == str(value) or (wanted is not None and wanted == was)
        return None if same else amount
    if was is None or wanted is None or not math.isfinite(was):
        return None
    low, high = BOUNDS.get(fix.variable, (-math.inf, math.inf))
    result = min(max(was * wanted if how == "multiply" else round(was + wanted, 12), low), high)
    if how == "multiply" and wanted > 1:
        result = max(result, LEAST_RAISED.get(fix.variable, result))
    if isinstance(value, int) and was:
        result = max(round(result), 1)
    return None if result == was else result


def number(value: object) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return None
