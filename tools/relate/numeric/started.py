"""A training from scratch whose first loss is far above that of guessing, before any rate can have done anything."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ...tables.table import Table
from ..distributions import texts
from ..line import Line, means, plain

TIMES, EARLY, NEAR, SURE = 1.8, 5, 0.2, 5.0
"""Times guessing, steps, the share within which another run begins at guessing, and a spread of logits that only a
model that is sure of itself has. Own judgement."""
FAR, LEAST = 3.0, 0.8
"""Times guessing, and nats. A loss that is a sum is as many times too high at its end: where that share of the last loss
is less than a model that learns from nothing reaches, it is no sum, and the start itself is too high."""
SOON = 20
"""Of so many parts of a run the first, in which a loss that began above guessing is below it for good. Own judgement."""
WORDS = (1000, 2_000_000)
VOCABULARY = bounded(r"^(?:\w{1,20}_)?(?:n_?)?(?:vocab(?:ulary)?|n_tokens|tokens_total|ntoken)(?:_?(?:size|n))?$|词表")
SUMS = bounded(r"accum|(?:^|_)(?:acc|micro\w*|ga|world|dp|n_?gpus?|chunks?)(?:_|$)|累积")
"""What a loss may be summed over."""
FIRST = bounded(r"(?:^|_)(?:it|iter|step|upd)_?[01](?:_|$)|first|init|start|before|第_?[01一]_?步|初始|首步")
LOSS = bounded(r"loss|xent|(?:^|_)(?:ce|nll)(?:_|$)|损失")
RATE = bounded(r"(?:^|_)(?:lr|learning_rate|rate|eta)(?:_|$)|学习率")
LOGITS = bounded(r"logits?|输出层")
SPREAD = bounded(r"rms|std|spread|标准差|均方根")


def started(
    lines: Sequence[Line], tables: Sequence[Table], settings: Settings, stated: Sequence[Stated]
) -> Iterator[Finding]:
    """The first loss against guessing, and what else says that the untrained model does it."""
    if any(line.name in ("reward", "kl") for line in lines):
        return
    losses = [x for line in lines if line.name == "loss" and not line.group and len(x := line.finite()) >= 3]
    if not losses or max(float(x.values[0]) for x in losses) < TIMES * math.log(WORDS[0]):
        return
    size = _vocabulary(settings, stated)
    if size is None:
        return
    words, where = size
    guess = math.log(words)
    over = next((x for x in losses if x.values[0] > TIMES * guess and 0 <= x.x[0] <= EARLY and x.axis == "step"), None)
    if over is None or _is_sum(float(over.values[0]) / guess, stated):
        return
    first = float(over.values[0])
    logits, tries = _logits(tables), _tries(tables, TIMES * guess)
    sure = first / guess >= FAR and float(over.values[-1]) * guess / first <= LEAST
    sound = next((x for x in losses if abs(x.values[0] / guess - 1) <= NEAR and x.x[0] <= EARLY), None)
    en, zh, places = [], [], [over.evidence(0), where]
    if sound is not None:
        en.append(f"{sound.file} begins at {sound.values[0]:.4g}")
        zh.append(f"{sound.file} 从 {sound.values[0]:.4g} 开始")
        places.append(sound.evidence(0))
    if tries is not None:
        en.append(f"with {tries[1]} learning rates it is the same")
        zh.append(f"换了 {tries[1]} 个学习率都一样")
        places.append(tries[0])
    if logits is not None:
        en.append(f"the logits have a spread of {logits.value:.3g}")
        zh.append(f"logits 的幅度为 {logits.value:.3g}")
        places.append(logits)
    if not en and _got_over(over, guess):
        return
    told, told_zh = ("; " + "; ".join(en), "；" + "；".join(zh)) if en else ("", "")
    yield Finding(
        "starts-above-guessing", Severity.S2 if en or sure else Severity.S3,
        f"{over.key} is {first:.4g} at {over.where(0)} ({over.file}), {first / guess:.1f} times what guessing among "
        f"{words:,.0f} tokens gives ({guess:.4g}), before a rate can have done anything{told}.",
        f"{over.file} 中 {over.key} 在{over.where(0)}就是 {first:.4g}，为在 {words:,.0f} 个 token 中随机猜测（{guess:.4g}）的 "
        f"{first / guess:.1f} 倍，此时学习率还来不及起作用{told_zh}。",
        tuple(places), {"first": first, "guessing": guess, "metric": "loss"},
    )  # fmt: skip
    if logits is not None:
        yield Finding(
            "logits-large-at-start", Severity.S2,
            f"The logits of the untrained model have a spread of {logits.value:.3g}, where about 1 or less is usual: it "
            f"is sure of itself before it has seen anything, and so {over.key} begins at {first:.4g}.",
            f"未训练模型的 logits 幅度为 {logits.value:.3g}，通常不超过 1 左右：什么都没学就已非常自信，所以 {over.key} 从 "
            f"{first:.4g} 开始。",
            (logits, over.evidence(0)), {"spread": logits.value, "first": first},
        )  # fmt: skip


def _got_over(line: Line, guess: float) -> bool:
    """Whether the loss is below guessing soon, stays there and has halved it since: a start that a warm-up mends."""
    above = np.flatnonzero(line.values >= guess)
    return len(line) >= SOON and above[-1] < len(line) / SOON and line.values[-len(line) // SOON :].max() <= guess / 2


def _vocabulary(settings: Settings, stated: Sequence[Stated]) -> tuple[float, Evidence] | None:
    size = settings.get("vocab_size")
    if size is not None and isinstance(size.value, int | float) and WORDS[0] <= size.value <= WORDS[1]:
        return float(size.value), size.evidence()
    for one in stated:
        if VOCABULARY.search(plain(one.key)) and (value := _number(one.value)) and WORDS[0] <= value <= WORDS[1]:
            return value, one.evidence()
    return None


def _number(text: str) -> float:
    try:
        return float(text.replace("_", "").replace(",", ""))
    except ValueError:
        return 0.0


def _is_sum(times: float, stated: Sequence[Stated]) -> bool:
    """Whether the loss is as many times guessing as something that it may be summed over."""
    counts = {_number(s.value) for s in stated if SUMS.search(plain(s.key))}
    return any(k > 1 and abs(times / k - 1) <= 0.05 for k in counts)


def _logits(tables: Sequence[Table]) -> Evidence | None:
    """A spread of the logits that an untrained model should not have: as a row by its label, or as a column."""
    for table in (t for t in tables if len(t) <= 60):
        label = next((c for c in table.columns if c.values.dtype.kind == "O"), None)
        rows = [] if label is None else [i for i, v in enumerate(texts(label).tolist())
                                         if LOGITS.search(v.lower()) and SPREAD.search(v.lower())]  # fmt: skip
        for column in table.columns:
            if column.values.dtype.kind != "f":
                continue
            named = LOGITS.search(plain(column.name)) and SPREAD.search(plain(column.name))
            for i in range(len(table)) if named else rows:
                if np.isfinite(column.values[i]) and column.values[i] >= SURE:
                    return Evidence(table.file, int(table.lines[i]) or None, metric=column.name,
                                    value=float(column.values[i]))  # fmt: skip
    return None


def _tries(tables: Sequence[Table], high: float) -> tuple[Evidence, int] | None:
    """Tries with different rates that all begin at one and the same high loss."""
    for table in (t for t in tables if 2 <= len(t) <= 40):
        rate = next((c for c in table.columns if c.values.dtype.kind == "f" and means(RATE, c.name)), None)
        first = next((c for c in table.columns if c.values.dtype.kind == "f" and FIRST.search(plain(c.name))
                      and LOSS.search(plain(c.name))), None)  # fmt: skip
        if rate is None or first is None or rate is first or not np.isfinite(first.values).all():
            continue
        kinds = len(set(rate.values.tolist()))
        if kinds > 1 and first.values.min() >= high and np.ptp(first.values) <= 0.02 * first.values.mean():
            return Evidence(
                table.file, int(table.lines[0]) or None, metric=first.name, value=float(first.values[0])
            ), kinds
    return None
