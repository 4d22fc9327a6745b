"""Mixtures of data that a configuration plans by phases: what changes of the shares where one phase follows another.

A phase is a part of YAML or JSON with shares of sources (two at least, none below zero) and where it begins or ends, in
steps. Names of keys may be of any trainer; that shares come in phases with a place each is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..config.values import number
from ..findings import TriageError
from ..patterns import bounded
from ..reading import head
from ..run import Run
from .event import Event

BYTES, NODES, FILES, DEPTH = 64 << 10, 4000, 40, 8
SUFFIXES = (".yaml", ".yml", ".json")
HINT = bounded(r"(?i)phase|stage|schedule|curricul|mix|until|step|阶段|配比")
UNTIL = bounded(
    r"(?i)^(?:(?:until|to|end(?:s|_at)?|stop|last|up_?to|till)(?:_?(?:step|iter(?:ation)?)s?)?|结束步|截止步)$"
)
FROM = bounded(
    r"(?i)^(?:(?:from|start(?:s|_at)?|begin|first|at|since|after)(?:_?(?:step|iter(?:ation)?)s?)?|step|起始步|开始步)$"
)
LONG = bounded(r"(?i)^(?:(?:num|n|max|train|for|duration)_?)?(?:steps|iters|iterations|duration)$|^(?:步数|时长)$")
"""Keys of a phase that say where it ends, where it begins, how long it is."""
STAGE = bounded(r"(?i)(?:phase|stage|step|part|iter|阶段)s?[_ -]?\d|^\d+$")
"""Keys of a mapping whose values are phases, in this order."""
SOURCE = ("name", "source", "dataset", "path", "data", "corpus", "id", "数据源", "名称")
WEIGHT = ("weight", "ratio", "share", "prob", "probability", "proportion", "fraction", "mix", "权重", "比例", "占比")
LEAST_SHARE, DROPPED = 0.05, 0.25
"""Share that a source has at least to be missed, and part of it that is left at most where it was dropped."""


@dataclass(frozen=True)
class Phase:
    """One phase of a plan."""

    begin: float | None
    end: float | None
    length: float | None
    shares: dict[str, tuple[float, int]]
    """Source -> (share of the whole, line)."""


def phased(run: Run) -> list[Event]:
    """The changes of planned shares, each at the step from which on it holds."""
    found: list[Event] = []
    some = [a for a in run.artifacts if a.path.suffix.lower() in SUFFIXES and a.kind not in ("tokenizer", "checkpoint")]
    for artifact in some[:FILES]:
        with suppress(TriageError, OSError, ValueError, RecursionError):
            if artifact.path.stat().st_size <= BYTES:
                text = head(artifact.path, BYTES).decode("utf-8", "replace")
                if HINT.search(text):
                    found += [e for phases in _plans(text) for e in _changes(phases, artifact.name)]
    return found


def dropped(event: Event) -> bool:
    """Whether a source of a planned mixture is (nearly) left out from there on."""
    return event.what == "data" and bool(event.old) and event.text.startswith(BEGINS)


BEGINS = "the planned data share of "


def _changes(phases: Sequence[Phase], file: str) -> Iterator[Event]:
    """One event for each phase that follows another, at its first step."""
    at = phases[0].begin or 0.0
    for before, after in pairwise(phases):
        end = before.end if before.end is not None else at + before.length if before.length is not None else None
        begin = after.begin if after.begin is not None else end
        if begin is None or begin < at:
            return
        at = begin
        moved = {n: (share, after.shares.get(n, (0.0, 0))) for n, (share, _) in before.shares.items()}
        moved |= {n: (0.0, new) for n, new in after.shares.items() if n not in moved}
        lost = [n for n, (old, (new, _)) in moved.items() if old >= LEAST_SHARE and new <= DROPPED * old]
        others = [n for n, (old, (new, _)) in moved.items() if n not in lost and abs(old - new) > 1e-3 * max(old, new)]
        named = sorted(lost, key=lambda n: -moved[n][0]) or others[:1]
        if not named:
            continue
        pairs = ", ".join(f"{n} {moved[n][0]:.3g} -> {moved[n][1][0]:.3g}" for n in [*named, *others][:5])
        line = moved[named[0]][1][1] or next(iter(after.shares.values()))[1]
        first = moved[named[0]]
        old, new = (f"{named[0]} {x:.3g}" for x in (first[0], first[1][0])) if lost else ("", "")
        yield Event("data", f"{BEGINS}{pairs} from step {begin:.0f}", file, line, int(begin), old=old, new=new)


def _plans(text: str) -> Iterator[list[Phase]]:
    """Every row of phases in a file."""
    import yaml

    with suppress(yaml.YAMLError):
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        root = yaml.compose(text, Loader=loader) if "*" not in text and "&" not in text else None
        for node in _nodes(root, yaml) if root is not None else ():
            parts = _parts(node, yaml)
            phases = [p for key, part in parts if (p := _phase(key, part, yaml)) is not None]
            if len(phases) == len(parts) >= 2 and sum(bool(p.shares) for p in phases) == len(phases):
                yield phases


def _nodes(root: Any, yaml: Any) -> Iterator[Any]:
    """All mappings and lists, outer ones first."""
    queue, seen = [(root, 0)], 0
    while queue and seen < NODES:
        node, depth = queue.pop(0)
        seen += 1
        below = [v for _, v in node.value] if isinstance(node, yaml.MappingNode) else node.value
        if isinstance(node, (yaml.MappingNode, yaml.SequenceNode)):
            yield node
            queue += [(n, depth + 1) for n in below if depth < DEPTH]


def _parts(node: Any, yaml: Any) -> list[tuple[str, Any]]:
    """What may be the phases of a node, each with its key: rows of a list, or values of keys that count."""
    if isinstance(node, yaml.SequenceNode):
        return [("", n) for n in node.value] if all(isinstance(n, yaml.MappingNode) for n in node.value) else []
    parts = [(str(k.value), v) for k, v in node.value]
    counted = [(k, v) for k, v in parts if STAGE.search(k) and isinstance(v, yaml.MappingNode)]
    return (
        sorted(counted, key=lambda p: number(p[0]) or 0.0)
        if all(number(k) is not None for k, _ in counted)
        else counted
    )


def _phase(key: str, node: Any, yaml: Any) -> Phase | None:
    """A mapping as a phase; None for one without shares, or without a place along the steps."""
    own = [(str(k.value), v) for k, v in node.value]
    begin = number(key) if key else None
    end = length = None
    for name, value in own:
        said = _steps(value, yaml)
        if UNTIL.search(name):
            end = said[-1] if said else end
        elif LONG.search(name) and len(said) == 1:
            length = said[0]
        elif (FROM.search(name) or LONG.search(name)) and said:
            begin, end = said[0], said[1] if len(said) > 1 else end
    shares = _shares(node, yaml) if begin is not None and key and number(key) is not None else {}
    shares = shares or next((s for _, v in own if (s := _shares(v, yaml))), {})
    placed = begin is not None or end is not None or length is not None
    return Phase(begin, end, length, shares) if shares and placed else None


def _steps(node: Any, yaml: Any) -> list[float]:
    """The numbers of a place: one, or the two ends of a stretch (`[0, 3200]`, `0-3200`)."""
    if isinstance(node, yaml.SequenceNode):
        return [n for v in node.value if isinstance(v, yaml.ScalarNode) and (n := number(v.value)) is not None]
    if not isinstance(node, yaml.ScalarNode):
        return []
    parts = node.value.replace("–", "-").replace("~", "-").split("-")
    return [n for p in parts if (n := number(p.strip().replace("_", ""))) is not None]


def _shares(node: Any, yaml: Any) -> dict[str, tuple[float, int]]:
    """Sources with their parts of the whole: `name: share`, or rows with a name and a weight."""
    found: dict[str, tuple[float, int]] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            share = number(value.value) if isinstance(value, yaml.ScalarNode) else None
            if share is None:
                return {}
            found[str(key.value)[:60]] = (share, value.start_mark.line + 1)
    elif isinstance(node, yaml.SequenceNode):
        for row in node.value:
            pairs = {str(k.value).lower(): v for k, v in row.value} if isinstance(row, yaml.MappingNode) else {}
            name = next((pairs[k].value for k in SOURCE if isinstance(pairs.get(k), yaml.ScalarNode)), None)
            weight = next((pairs[k] for k in WEIGHT if isinstance(pairs.get(k), yaml.ScalarNode)), None)
            share = number(weight.value) if weight is not None else None
            if name is None or share is None or weight is None:
                return {}
            found[str(name)[:60]] = (share, weight.start_mark.line + 1)
    whole = sum(share for share, _ in found.values())
    if len(found) < 2 or whole <= 0 or any(share < 0 for share, _ in found.values()):
        return {}
    return {name: (share / whole, line) for name, (share, line) in found.items()}
