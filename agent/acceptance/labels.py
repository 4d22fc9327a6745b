"""Criteria on the loss mask: which tokens of a dump of `input_ids` and `labels` are trained.

The token that ends the assistant's turn is special and must be trained: a mask that skips every special token
certifies a model that never stops (I-03).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...knowledge.entry import Criterion
from ...tools.data.dumps import IGNORED, Dump, Sequence_, read_dump
from ...tools.data.records.plain import load_json
from ...tools.run import Run
from .artifacts import sample
from .subject import Observation, Subject, metric, missing, once, seen

ASSISTANT = ("assistant", "gpt", "model")
DUMP = (
    "a dump of tokens is needed: records with `input_ids`, `labels` and `spans` (role, start, end) or `prompt_length`"
)


@once
def dump(subject: Subject) -> Dump:
    """The labelled sequences of the run's data files."""
    data = sample([*subject.run.of("data"), *subject.run.of("generations")])
    return read_dump(data.parts) if data.parts else Dump()


def _spans(s: Sequence_) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(tokens of the assistant, tokens of everybody else that a span names)."""
    mine, others = np.zeros(len(s.ids), bool), np.zeros(len(s.ids), bool)
    for role, start, end in s.spans:
        (mine if role in ASSISTANT else others)[max(start, 0) : max(end, 0)] = True
    return mine, others


@metric("assistant_tokens_trained_fraction")
def assistant_tokens_trained_fraction(subject: Subject, criterion: Criterion) -> Observation:
    """Tokens inside the assistant's spans whose label is not -100."""
    spanned = [s for s in dump(subject).sequences if s.spans]
    total = sum(int(_spans(s)[0].sum()) for s in spanned)
    if not total:
        return missing(DUMP)
    on = sum(int((_spans(s)[0] & (s.labels != IGNORED)).sum()) for s in spanned)
    return seen(
        on / total, criterion, f"{on} of {total} assistant tokens have a label", total, f"{len(spanned)} sequences"
    )


@metric("user_system_tokens_skipped_fraction")
def user_system_tokens_skipped_fraction(subject: Subject, criterion: Criterion) -> Observation:
    """Tokens inside the spans of user and system whose label is -100."""
    spanned = [s for s in dump(subject).sequences if s.spans]
    total = sum(int(_spans(s)[1].sum()) for s in spanned)
    if not total:
        return missing(DUMP)
    off = sum(int((_spans(s)[1] & (s.labels == IGNORED)).sum()) for s in spanned)
    return seen(
        off / total,
        criterion,
        f"{off} of {total} user and system tokens are skipped",
        total,
        f"{len(spanned)} sequences",
    )


@metric("special_tokens_skipped_fraction")
def special_tokens_skipped_fraction(subject: Subject, criterion: Criterion) -> Observation:
    """Special tokens whose label is -100, without the token that ends a turn, which must be trained (I-03)."""
    held = dump(subject)
    special = set(held.special.values()) | set(_special_ids(subject.run))
    spanned = [s for s in held.sequences if s.spans]
    if not special or not spanned:
        return missing(f"{DUMP}; and the special tokens (`eos_token_id` in the dump, or `tokenizer.json` in the run)")
    total = off = ends = untrained = 0
    for s in spanned:
        mark = np.isin(s.ids, list(special))
        closing = np.zeros(len(mark), bool)
        for i in _turn_ends(s, mark, held.special.get("eos")):
            closing[i] = True
        ends += int(closing.sum())
        untrained += int((closing & (s.labels == IGNORED)).sum())
        total += int((mark & ~closing).sum())
        off += int((mark & ~closing & (s.labels == IGNORED)).sum())
    words = (
        f"{off} of {total} special tokens are skipped; {ends - untrained} of {ends} tokens that end a turn are trained"
    )
    window = f"{len(spanned)} sequences"
    if untrained:
        return Observation(off / max(total, 1), total, window, f"{words}: the model does not learn to stop", False)
    if not total or not ends:
        return missing(f"{words}; a dump with special tokens inside and at the end of turns is needed", total, window)
    return seen(off / total, criterion, words, total, window)


@metric("label_free_sample_rate")
def label_free_sample_rate(subject: Subject, criterion: Criterion) -> Observation:
    """Sequences without a single label, over all."""
    found = dump(subject).sequences
    if not found:
        return missing("a dump of tokens is needed: records with `input_ids` and `labels`, as the model gets them")
    bare = sum(not (s.labels != IGNORED).any() for s in found)
    words = f"{bare} of {len(found)} sequences have no label"
    return seen(bare / len(found), criterion, words, len(found))


@metric("double_bos_rate")
def double_bos_rate(subject: Subject, criterion: Criterion) -> Observation:
    """Sequences that begin with the begin token twice, over all."""
    held = dump(subject)
    firsts = [int(s.ids[0]) for s in held.sequences if len(s.ids) > 1]
    if len(firsts) < 3:
        return missing("a dump of tokens is needed: records with `input_ids` and `labels`, as the model gets them")
    twice = sum(len(s.ids) > 1 and s.ids[0] == s.ids[1] == held.special.get("bos", s.ids[0]) for s in held.sequences)
    words = f"{twice} of {len(firsts)} sequences begin with the same token twice"
    return seen(twice / len(firsts), criterion, words, len(firsts))


def _turn_ends(s: Sequence_, special: NDArray[np.bool_], eos: int | None) -> Iterator[int]:
    """Index of the special token that closes each assistant turn: its last token, the one after, or the end token."""
    for role, _, end in s.spans:
        if role in ASSISTANT:
            last = min(end, len(s.ids)) - 1
            if found := [i for i in (last + 1, last) if 0 <= i < len(s.ids) and special[i]]:
                yield found[-1] if special[last] else found[0]
            elif eos is not None and len(s.ids) and s.ids[-1] == eos:
                yield len(s.ids) - 1


def _special_ids(run: Run) -> Iterator[int]:
    """Ids of the tokens that the tokenizer files call special."""
    for artifact in run.of("tokenizer"):
        value = load_json(artifact.path) if artifact.path.suffix == ".json" else None
        if not isinstance(value, Mapping):
            continue
        added = value.get("added_tokens")
        for token in added if isinstance(added, list) else ():
            if isinstance(token, Mapping) and token.get("special") and isinstance(token.get("id"), int):
                yield token["id"]
        decoder = value.get("added_tokens_decoder")
        for key, token in decoder.items() if isinstance(decoder, Mapping) else ():
            if isinstance(token, Mapping) and token.get("special") and str(key).isdecimal():
                yield int(key)
