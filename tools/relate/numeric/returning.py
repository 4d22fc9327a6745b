"""A dynamic loss scale at work: halved at an overflow, doubled again after a while, within a band that stays.

Each halving costs one step. What tells it from a collapse is that the scale comes back every time.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Finding, Severity
from ..line import Line

LEAST, TURNS = 40, 4
"""Points, and times that the scale was halved and came back."""
BAND, FEW = 4, 0.02
"""Powers of two between which it lies over the later half, and share of the steps that may be left out. Ours."""


def returning(lines: Sequence[Line]) -> Iterator[Finding]:
    """The scale that comes back each time, with the steps that were left out where they are counted."""
    for line in (x.finite() for x in lines if x.name == "loss_scale" and x.axis == "step" and len(x) >= LEAST):
        if (line.values <= 0).any():
            continue
        powers = np.log2(line.values)
        later = powers[len(powers) // 2 :]
        moved = np.diff(powers)
        down, up = int((moved < 0).sum()), int((moved > 0).sum())
        level = np.median(powers[len(powers) // 4 : len(powers) // 2]) - np.median(later)
        if not np.allclose(powers, np.round(powers), atol=1e-4) or min(down, up) < TURNS:
            continue
        if np.ptp(later) > BAND or level > 1 or moved.min() < -2:
            continue
        skipped = next((x for x in lines if x.name == "skipped_steps" and x.axis == "step" and len(x) >= LEAST), None)
        count = float(skipped.values[-1]) if skipped is not None and (np.diff(skipped.values) >= 0).all() else None
        if count is not None and count > FEW * (line.x[-1] - line.x[0]):
            continue
        yield _told(line, down, later, skipped if count is not None else None)
        return


def _told(line: Line, down: int, later: np.ndarray, skipped: Line | None) -> Finding:
    low, high = 2 ** float(later.min()), 2 ** float(later.max())
    share = skipped.values[-1] / max(float(line.x[-1]), 1) if skipped is not None else 0.0
    lost = (
        f"; {skipped.values[-1]:g} of {line.x[-1]:g} steps were left out ({share:.2%})" if skipped is not None else ""
    )
    zh = f"；{line.x[-1]:g} 步中共跳过 {skipped.values[-1]:g} 步（{share:.2%}）" if skipped is not None else ""
    return Finding(
        "scale-comes-back", Severity.S3,
        f"{line.said} was halved {down} times and came back each time, between {low:g} and {high:g} over the later "
        f"half{lost}: dynamic loss scaling as it should work, no collapse.",
        f"{line.said} 减半 {down} 次，每次都回升，后半程在 {low:g} 到 {high:g} 之间{zh}：动态 loss scaling 工作正常，不是崩溃。",
        (line.evidence(-1), line.evidence(int(np.flatnonzero(np.diff(line.values) < 0)[-1]) + 1),
         *((skipped.evidence(-1),) if skipped is not None else ())),
        {"halved": down, "low": low, "high": high, "skipped": share},
    )  # fmt: skip
