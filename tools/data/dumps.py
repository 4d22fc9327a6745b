"""A dump of tokens and what each is trained on, as trainers and people write it.

JSON records with the tokens (`input_ids`, or `tokens` as text), the labels (`labels`, -100 where the loss is off, or a
`loss_mask`), optionally `attention_mask`, whose they are (`spans` of `{"role", "start", "end"}`, one `role` for each
token, `prompt_length`, else the markers of the template), and `eos_token_id`/`pad_token_id`/`bos_token_id`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..findings import Evidence
from .records.blocks import Stream
from .records.record import Account, Part

IGNORED = -100
IDS, TEXTS = ("input_ids", "token_ids", "ids"), ("tokens", "token", "pieces", "token_strings", "input_tokens")
LABELS, MASKS = ("labels", "label_ids", "target_ids"), ("loss_mask", "label_mask", "train_mask", "assistant_masks",
                                                      "assistant_mask", "completion_mask", "trained")  # fmt: skip
ROLES = ("spans", "roles", "role", "segments", "speaker", "speakers")
ANSWERS = frozenset(("assistant", "gpt", "model", "bot", "completion", "answer", "助手"))
"""Whose tokens are to be learned."""
MARKER = re.compile(
    r"(?i)(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\||###\s?|\[)"
    r"(system|user|human|assistant|model|gpt|tool)(?:<\|end_header_id\|>\s{0,2}|\|>|\]|:)?\n?"
)
"""Where a turn begins in a template, with whose it is."""
FIRST_TEXT = -1000
"""The number of the first token that is known as text alone."""
SEQUENCES_KEPT = 20_000


@dataclass(frozen=True)
class Sequence_:
    """One labelled sequence without its padding."""

    file: str
    line: int
    ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    pad: NDArray[np.int64]
    """The token ids under the padding."""
    spans: tuple[tuple[str, int, int], ...] = ()
    cut: bool = False
    """Longest of all: probably truncated, so it has no end token."""


@dataclass
class Dump:
    """All sequences of a dump."""

    sequences: list[Sequence_] = field(default_factory=list)
    special: dict[str, int] = field(default_factory=dict)
    """`eos`, `pad`, `bos` as the dump gives them."""
    odd: list[Evidence] = field(default_factory=list)
    """Records whose ids and labels have different lengths."""
    texts: dict[str, int] = field(default_factory=dict)
    """Numbers of tokens that are given as text."""
    skipped: int = 0
    account: Account = field(default_factory=Account)


def read_dump(paths: Sequence[Path | Part]) -> Dump:
    """The labelled sequences under `paths`; other records are counted as skipped.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    out = Dump()
    stream = Stream(paths)
    for file, line, record in stream:
        if len(out.sequences) < SEQUENCES_KEPT:
            add_sequence(out, file, line, record.value)
    out.account = stream.account
    return out


def add_sequence(out: Dump, file: str, line: int, value: Any) -> None:
    """Add one record to the dump."""
    ids, labels = _tokens(out, value), _labels(value)
    if ids is None or labels is None or not len(ids):
        out.skipped += 1
        return
    if len(ids) != len(labels):
        out.odd.append(Evidence(file, line, text=f"{len(ids)} input_ids, {len(labels)} labels"))
        return
    if (mask := _masks(value)) is not None and len(mask) == len(ids):
        labels = np.where(mask > 0, ids, IGNORED)
    elif not _named(value, IDS):
        ids = np.where(labels != IGNORED, labels, ids)  # tokens as text have the ids that their labels have
    for name in ("eos", "pad", "bos"):
        given = value.get(f"{name}_token_id")
        if isinstance(given, int) and _named(value, IDS):  # tokens as text have no ids where nothing labels them
            out.special[name] = given
    mask = _whole(value.get("attention_mask"))
    seen = mask > 0 if mask is not None and len(mask) == len(ids) else np.ones(len(ids), bool)
    if mask is None and "pad" in out.special and out.special.get("eos") != out.special["pad"]:
        seen = ids != out.special["pad"]
    first = int(np.argmax(seen))
    spans = _spans(value, first, len(ids))
    out.sequences.append(Sequence_(file, line, ids[seen], labels[seen], ids[~seen], spans, bool(seen.all())))


def _named(value: Any, names: Sequence[str]) -> list[Any] | None:
    """The first list of a record under one of these names."""
    found = (value.get(name) for name in names) if isinstance(value, Mapping) else ()
    return next((v for v in found if isinstance(v, list)), None)


def _tokens(out: Dump, value: Any) -> NDArray[np.int64] | None:
    """The ids of a record; of tokens that are text a number of its own for each, below zero."""
    if (given := _named(value, IDS)) is not None:
        return _whole(given)
    texts = _named(value, TEXTS)
    if texts is None or not all(isinstance(t, str) for t in texts):
        return _whole(texts)
    return np.array([out.texts.setdefault(t, FIRST_TEXT - len(out.texts)) for t in texts], np.int64)


def _labels(value: Any) -> NDArray[np.int64] | None:
    """The labels of a record, or as many numbers as its mask has."""
    given = _whole(_named(value, LABELS))
    return given if given is not None else _masks(value)


def _masks(value: Any) -> NDArray[np.int64] | None:
    """1 for each token in the loss, where a record has a mask and no labels."""
    return None if _named(value, LABELS) is not None else _whole(_named(value, MASKS))


def _whole(value: Any) -> NDArray[np.int64] | None:
    if not isinstance(value, list) or not all(isinstance(v, (int, bool)) for v in value[:64]):
        return None
    try:
        return np.asarray(value, np.int64)
    except (ValueError, TypeError, OverflowError):
        return None


def _spans(value: Mapping[str, Any], first: int, length: int) -> tuple[tuple[str, int, int], ...]:
    """Whose tokens they are: as spans, as one role for each token, as the length of the prompt, or by its markers."""
    given = _named(value, ROLES)
    if given and all(isinstance(s, Mapping) and _placed(s) for s in given):
        return tuple((str(s.get("role", "")), s["start"] - first, s["end"] - first) for s in given)
    if given and len(given) == length and all(isinstance(s, str) for s in given):
        return _runs(given, first)
    if isinstance(n := value.get("prompt_length"), int):
        return (("prompt", 0, n), ("assistant", n, 1 << 30))
    texts = _named(value, TEXTS)
    if texts and len(texts) == length and all(isinstance(t, str) for t in texts):
        return _marked(texts, first)
    return ()


def _runs(roles: Sequence[str], first: int) -> tuple[tuple[str, int, int], ...]:
    """Spans of tokens beside each other with one role."""
    edges = [i for i in range(len(roles)) if not i or roles[i] != roles[i - 1]]
    return tuple((roles[a], a - first, b - first) for a, b in zip(edges, [*edges[1:], len(roles)], strict=True))


def _marked(texts: Sequence[str], first: int) -> tuple[tuple[str, int, int], ...]:
    """Spans between the markers of a chat template; the marker itself, and what is not marked, is the prompt's."""
    ends = np.cumsum([len(t) for t in texts])
    found = list(MARKER.finditer("".join(texts)))
    spans = [("prompt", -first, int(np.searchsorted(ends, found[0].end(), "left")) + 1 - first)] if found else []
    for mark, following in zip(found, [*found[1:], None], strict=True):
        begin = int(np.searchsorted(ends, mark.end(), "left")) + 1
        stop = int(np.searchsorted(ends, following.start(), "right")) if following else len(texts)
        spans.append((mark[1].lower(), begin - first, stop - first))
        if following:
            spans.append(("prompt", stop - first, int(np.searchsorted(ends, following.end(), "left")) + 1 - first))
    return tuple(spans) if any(role in ANSWERS for role, _, _ in spans) else ()


def _placed(span: Mapping[str, Any]) -> bool:
    return isinstance(span.get("start"), int) and isinstance(span.get("end"), int)
