"""Parts of a loss that are not learned: flat from the first point to the last, while other parts of it fall."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...findings import Finding, Severity
from ..moves import Move

LEAST = 12
STILL, FALLS = 0.03, 0.15
"""Share of its first level by which a part stays, and by which others fall at least. Own judgement."""
LOSSES = ("loss", "eval_loss", "perplexity", "eval_perplexity")


def unlearned(moved: Sequence[Move]) -> Iterator[Finding]:
    """The parts of a measure in groups that stay where they began."""
    by: dict[tuple[str, str, str], list[Move]] = {}
    for move in moved:
        if move.line.group and move.line.name in LOSSES and len(move.line) >= LEAST and move.ends[0] > 0:
            by.setdefault((move.line.file, move.line.key, move.line.attempt), []).append(move)
    for same in by.values():
        gone = [m.ends[1] / m.ends[0] - 1 for m in same]
        still = [m for m, g in zip(same, gone, strict=True) if abs(g) <= STILL]
        fall = [m for m, g in zip(same, gone, strict=True) if g <= -FALLS]
        if still and fall and len(still) + len(fall) >= len(same) - 1:
            yield _told(still, fall)
            return


def _told(still: Sequence[Move], fall: Sequence[Move]) -> Finding:
    names = ", ".join(m.line.group for m in still[:6])
    low, high = min(m.ends[1] for m in still), max(m.ends[1] for m in still)
    first, last = fall[0].ends
    kind = still[0].line.group.split(" ")[0]
    return Finding(
        "part-not-learned", Severity.S2,
        f"{still[0].line.key} of {names} stays between {low:.4g} and {high:.4g} from the first point to the last, while "
        f"that of {fall[0].line.group} falls from {first:.4g} to {last:.4g}.",
        f"{names} 的 {still[0].line.key} 自始至终停在 {low:.4g} 到 {high:.4g}，而 {fall[0].line.group} 从 {first:.4g} 降"
        f"到 {last:.4g}。",
        (*(m.line.evidence(len(m.line) - 1) for m in still[:3]), fall[0].line.evidence(len(fall[0].line) - 1)),
        {"metric": still[0].line.name, "groups": [m.line.group for m in still][:20], "kinds": [kind]},
    )  # fmt: skip
