"""One line of a log is read by the first format that fits it; which formats there are is declared in `formats`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...metrics import canonical, of_split, split_named, step_key
from ...patterns import bounded
from .format import Format, Record
from .formats import FORMATS
from .grammar import AFTER_KEY, HELD_OUT, Span, counted, counter, epoch_of, loose_pairs, number, telling, within

_RANK = bounded(r"(?<!\w)rank\s*[:=]\s*(\d{1,5})(?!\d)", re.IGNORECASE)
_STRING_STEP = bounded(r"['\"](?:global_step/max_steps|iteration)['\"]\s*:\s*['\"](\d+)/\d+")
_DICT_STEP = bounded(r"\b(step|rollout|iteration|iter|perf)\s+(\d+)\W{0,4}\{", re.IGNORECASE)


_NEST = bounded(r"(?:['\"]([^'\"\n]{1,100})['\"]\s*:\s*)?\{|\}")

_Triple = tuple[str, float, Span]
"""Key, value, place."""


def parse(text: str) -> Record | None:
    """The metrics of one line (rank prefix already cut), None if it has none."""
    for form in FORMATS:
        for word in form.needs:
            if word not in text:
                break
        else:
            record = _read(form, text)
            if record:
                return record
    return None


def wrapped(text: str) -> Format | None:
    """The format whose record starts in this line and does not end in it."""
    for form in _WRAPPED:
        if all(word in text for word in form.needs):
            start = form.opens.search(text) if form.opens else None
            if start and form.closes and not form.closes.search(text, start.end()):
                return form
    return None


_WRAPPED = tuple(form for form in FORMATS if form.opens)


def _read(form: Format, text: str) -> Record | None:
    step, name, at = None, "", None
    if form.step_from == "line":
        found_at = counter(text) if form.step is None else _own_counter(form.step, text)
        if not found_at:
            return None
        name, step, at = found_at
    if form.step_from == "last" and form.step is not None and not form.step.search(text):
        return None
    if form.training_only and HELD_OUT.match(text):
        return None
    triples = [p for p in _pairs(form, text) if form.step is None or step_key(p[0]) is None]
    if not triples and not form.always:
        return None
    own = form.epoch.search(text) if form.epoch is not None else None
    epoch, epoch_at = (float(own[1]), own.span(1)) if own else epoch_of(text)
    if form.step_from == "keys":
        step, name, at, triples = _step_of_keys(triples, text)
        epoch, epoch_at = next(((value, span) for key, value, span in triples if key == "epoch"), (None, None))
    if form.step_from == "epoch":
        if epoch is None or epoch_at is None:
            return None
        step, name, at = within(text, epoch_at) or (int(epoch), "epoch", epoch_at)
    found, places = tuple((key, value) for key, value, _ in triples), tuple(span for *_, span in triples)
    if not found or not (form.always or _says_something(found)):
        return None
    rank = _RANK.search(text)
    ranked = (int(rank.group(1)), rank.span(1)) if rank else (None, None)
    return Record(form.name, found, step, name, epoch, ranked[0], form.counts_alone, at, places, epoch_at, ranked[1])


def _own_counter(pattern: re.Pattern[str], text: str) -> tuple[str, int, Span] | None:
    match = pattern.search(text)
    if not match:
        return None
    last = match.lastindex or 1
    return match.group(1).lower() if last > 1 else "", counted(match.group(last)), match.span(last)


def _says_something(found: tuple[tuple[str, float], ...]) -> bool:
    """Whether one key is a metric that no configuration would print, or the loss scale stands alone."""
    return any(telling(key) for key, _ in found) or (
        len(found) == 1 and (canonical(found[0][0]) or ("",))[0] == "loss_scale"
    )


def _pairs(form: Format, text: str) -> Iterator[tuple[str, float, Span]]:
    text = text.split(form.before, 1)[0] if form.before else text
    if form.pairs is AFTER_KEY:
        yield from loose_pairs(text, form.rename, HELD_OUT.match(text) is not None)
        return
    seen: set[str] = set()
    above = nests(text) if form.keyed and text.count("{") > 1 else ()
    for match in form.pairs.finditer(text):
        key = match.group(1).strip()
        inside = next((name for name, start, end in above if start < match.start() < end), "")
        key = form.rename.get(key, of_split(key, split_named(inside)))
        if key not in seen and (form.keeps_unknown or canonical(key)):
            seen.add(key)
            yield key, number(match.group(2), match.group(3)), match.span(2)


def nests(text: str) -> list[tuple[str, int, int]]:
    """The records within a record, innermost first: name, beginning, end."""
    open_: list[tuple[str, int]] = []
    found: list[tuple[str, int, int]] = []
    for match in _NEST.finditer(text):
        if match[0] != "}":
            open_.append((match[1] or "", match.end()))
        elif open_:
            name, start = open_.pop()
            found.append((name, start, match.start()))
    return [nest for nest in found if nest[0]]


def _step_of_keys(found: list[_Triple], text: str) -> tuple[int | None, str, Span | None, list[_Triple]]:
    """The step among the keys of a dictionary, its name and place, and the other keys."""
    counts = [(order, *triple) for triple in found if (order := step_key(triple[0])) is not None]
    for _, key, value, span in sorted(counts, key=lambda c: c[0]):
        if value == value and abs(value) < 1e15:
            return int(value), key, span, [triple for triple in found if step_key(triple[0]) is None]
    for pattern in (_STRING_STEP, _DICT_STEP):
        match = pattern.search(text)
        if match:
            last = match.lastindex or 1
            name = match.group(1).lower() if last == 2 else "global_step"
            return int(match.group(last)), name, match.span(last), found
    return None, "", None, found


_BAR = r"(\d+)%\|[^|\n]{0,400}\|\s*(\d+)/(\d+)\s*\["
_PROGRESS = bounded(rf"^\s*(?:(?:train\w*|epochs?\b[^|%]{{0,20}}|steps?)\s*:?)?\s*{_BAR}", re.IGNORECASE)


def progress(text: str) -> tuple[int, int] | None:
    """Done and total of a training progress bar; bars of evaluation, loading and mapping are not."""
    match = _PROGRESS.match(text) if "%|" in text else None
    return (int(match.group(2)[:15]), int(match.group(3)[:15])) if match else None
