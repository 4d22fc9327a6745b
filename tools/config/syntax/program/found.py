"""What a program sets, and which of it holds where several of its parts say one thing differently."""

from __future__ import annotations

from typing import NamedTuple

from ..source import Item
from .calls import Row
from .names import SIZE


class Found(NamedTuple):
    """One value, and who sets it: two of one kind that disagree leave it open."""

    item: Item
    kind: str = ""
    """function, class, literal, or the variable that a call decides; empty for what stands alone."""
    owner: str = ""
    row: Row | None = None
    hidden: bool = False
    """A call of the row decides this variable by what is not visible."""


def agreed(found: list[Found]) -> list[Item]:
    """The values that nothing of the same kind contradicts."""
    told: dict[tuple[str, str], dict[str, str | None]] = {}
    for one in found:
        if one.kind and not one.hidden:
            told.setdefault((one.item.means or one.item.key, one.kind), {})[one.owner] = one.item.text
    apart = {pair for pair, said in told.items() if len(set(said.values())) > 1}
    hidden = {(one.item.means, _family(one.row)) for one in found if one.hidden}
    models = {
        name
        for key, kind in apart
        if kind == "class" and SIZE.fullmatch(key.rpartition(".")[2])
        for name in told[key, kind]
    }
    return [
        one.item for one in found
        if not one.hidden and (one.item.means or one.item.key, one.kind) not in apart
        and not (one.row and (one.item.means, _family(one.row)) in hidden)
        and not (one.kind == "class" and one.owner in models)
    ]  # fmt: skip


def _family(row: Row | None) -> str | int:
    """What calls are of one kind: all optimizers, else those of one row."""
    return row.itself or id(row) if row else 0
