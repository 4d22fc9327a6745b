"""A source of the training data whose loss stays far above those of all others and does not fall, and its weight.

What is never learned, however long it is trained, is no text of a language: scans read badly, dumps, broken encodings.
Its gradient is noise in every batch, and the loss over all sources stands still at the height that its weight gives.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ...settings import Setting, Settings
from ..kinds.names import demand
from ..line import means, plain
from ..moves import Move
from .learned import LEAST, LOSSES, STILL, unlearned

TIMES = 1.8
"""Times the highest of the others that its loss is from the first point to the last. Own judgement."""
MOST = 20.0
"""Losses per token lie below; what is above is a count or a time."""
HEAVY = 0.2
"""Share of the mixture from which on it keeps the whole from being learned. Own judgement."""
NEARLY = 0.02
"""By how much the weights of a mixture may miss the whole."""
SAID = bounded(r"(?:^|_)(?:loss(?:es)?|nll|ce|xent|cross_entropy)(?:_|$)|损失")
SHARE = re.compile(r"\d{1,3}(?:\.\d{0,12})?|\.\d{1,12}")
KINDS = bounded(
    r"(?:^|[_ ])(?:source|src|domain|subset|corpus|dataset|data|shard|component|lang(?:uage)?)s?(?:[_ ]|$)|来源|数据|语料|领域|语种"
)


def not_learned(moved: Sequence[Move], settings: Settings) -> list[Finding]:
    """Parts of a loss that stay where they began, and sources that stay far above the others."""
    return [*unlearned(moved), *apart(moved, settings)]


def apart(moved: Sequence[Move], settings: Settings) -> Iterator[Finding]:
    """The source whose loss stays far above the others, of each set of sources that was logged together."""
    weights = weights_of(settings)
    for same in _sets(moved, weights):
        if len(same) < 3 or any(len(m.line) < LEAST or not 0 < m.ends[0] < MOST for m in same.values()):
            continue
        name, worst = max(same.items(), key=lambda of: of[1].ends[1])
        rest = [m for n, m in same.items() if n != name]
        above = [float(min(worst.ends) / max(m.ends)) for m in rest]
        if min(above) < TIMES or abs(worst.ends[1] / worst.ends[0] - 1) > STILL:
            continue
        yield _told(name, worst, rest, weights.get(plain(name)))
        return


def _sets(moved: Sequence[Move], weights: Mapping[str, tuple[Setting, float]]) -> Iterator[dict[str, Move]]:
    """Curves of a loss by source: groups of one measure, or columns that are called as the parts of the mixture are."""
    groups: dict[tuple[str, ...], dict[str, Move]] = {}
    columns: dict[tuple[str, ...], dict[str, Move]] = {}
    for move in moved:
        line = move.line
        if line.group and line.name in LOSSES and KINDS.search(line.group.lower()):
            groups.setdefault((line.file, line.key, line.attempt), {})[line.group.partition(" ")[2]] = move
        elif not line.group and (name := _source(line.key, weights)):
            about = means(SAID, line.key) or means(SAID, PurePosixPath(line.file).stem)
            if about:
                columns.setdefault((line.file, line.attempt), {})[name] = move
    yield from groups.values()
    yield from columns.values()


def _source(key: str, weights: Mapping[str, tuple[Setting, float]]) -> str:
    """The part of the mixture that a column is of: its name, with or without what is measured of it."""
    bare = SAID.sub("_", plain(key)).strip("_")
    return next((bare for name in (plain(key), bare) if name in weights), "")


def weights_of(settings: Settings) -> dict[str, tuple[Setting, float]]:
    """Name of a part of the mixture -> where it is set, and its share of one, for numbers under one key that sum to one or to a hundred."""
    under: dict[str, dict[str, Setting]] = {}
    for key, setting in settings.others.items():
        parent, _, last = key.rpartition(".")
        listed = parent.rpartition(".")[2].isdecimal()
        named = _beside(parent, settings) if listed else last
        place = f"{parent.rpartition('.')[0]}[].{last}" if listed else parent
        if parent and named and _number(setting) is not None:
            under.setdefault(place, {})[plain(named)] = setting
    for some in under.values():
        total = sum(_number(s) or 0.0 for s in some.values())
        if len(some) > 1 and any(abs(total - whole) <= NEARLY * whole for whole in (1.0, 100.0)):
            return {name: (s, (_number(s) or 0.0) / total) for name, s in some.items()}
    return {}


def _beside(parent: str, settings: Settings) -> str:
    """What an item of a list is called: the last part of the one text beside its number."""
    said = [s for k, s in settings.others.items() if k.rpartition(".")[0] == parent and _number(s) is None]
    return PurePosixPath(str(said[0].value)).name if len(said) == 1 else ""


def _number(setting: Setting) -> float | None:
    text = setting.raw.strip("'\" ").removesuffix("%")
    return float(text) if SHARE.fullmatch(text) else None


def _told(name: str, worst: Move, rest: Sequence[Move], of: tuple[Setting, float] | None) -> Finding:
    others = max(m.ends[1] for m in rest)
    low, high = sorted(worst.ends)
    weight, share = of or (None, 0.0)
    heavy = share >= HEAVY
    en = f" It is {share:.0%} of the mixture ({weight.file}:{weight.line})." if weight else ""
    zh = f"它占配比的 {share:.0%}（{weight.file}:{weight.line}）。" if weight else ""
    last = len(worst.line) - 1
    return Finding(
        "source-stays-apart", Severity.S1 if heavy else Severity.S2,
        f"The loss of {clean(name, 60)} stays between {low:.4g} and {high:.4g} from the first point to the last, "
        f"{low / others:.1f} times the highest of the other {len(rest)} sources ({others:.4g}), which learn: nothing in "
        f"it is learned.{en}",
        f"{clean(name, 60)} 的 loss 自始至终停在 {low:.4g} 到 {high:.4g}，是其余 {len(rest)} 个来源中最高者"
        f"（{others:.4g}）的 {low / others:.1f} 倍：这个源学不到东西。{zh}",
        (worst.line.evidence(last), worst.line.evidence(0), *([weight.evidence()] if weight is not None else [])),
        {"metric": "loss", "source": name, "share": share if weight else None, "others": others,
         "names": f"{clean(name, 60)}{f' ({weight.key} = {weight.raw} -> 0)' if weight is not None else ''}",
         "asks": [demand("loss", "at-most", others,
                         f"the sources without {clean(name, 60)} lie at most at {others:.4g}",
                         f"去掉 {clean(name, 60)} 后其余来源最高为 {others:.4g}")]},
    )  # fmt: skip
