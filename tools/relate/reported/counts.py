"""Tables of counts: rows that a stage read and kept, tokens of the person in the loss, why outputs ended, and how many
ended at each limit that was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...data.statistics import wilson
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import CUT, CUT_SHARE, ENDING, named, shown, texts
from ..line import means, plain
from ..rows import IN_LOSS, PERSON_NAME, TRAINED_SHARE
from ..summed.words import WHOLE, is_count

MOST_ROWS = 2000
READ = bounded(
    r"(?:^|_)(?:in|input|read|loaded|raw|total|before|scanned|lines_in|rows_in)(?:_|$)|读入|输入|读取|处理前|总"
)
KEPT = bounded(
    r"(?:^|_)(?:out|output|kept|keep|remaining|written|after|passed|valid|used)(?:_|$)|输出|保留|写出|剩余|有效|留下"
)
DATA = bounded(
    r"rows?|lines?|docs?|documents?|records?|samples?|examples?|texts?|件|条|行|样本|文档|输入|输出|保留|读入"
)
LEAST_READ = 100
LIMIT = bounded(r"^max_?(?:new_?|output_?|completion_?|gen_?)?(?:tokens|length|len)$|最大(?:生成|输出)?(?:长度|token)")
CUT_OFF = bounded(
    r"trunc|cut|length_stop|hit_(?:the_)?(?:limit|max)|finish(?:ed)?_?(?:reason_)?length|unfinished|截断|超长|未结束"
)
SPAN, STAYS, LARGE = 3.0, 0.15, 0.3
"""Times that the limit grows, share by which the cut ones may move, and the least share of them. Own judgement."""


def nothing_kept(table: Table) -> Iterator[Finding]:
    """Parts of the data of which a stage read rows and kept none."""
    counts = [c for c in table.columns if is_count(c) and means(DATA, c.name)]
    read = next((c for c in counts if means(READ, c.name)), None)
    kept = next((c for c in counts if c is not read and means(KEPT, c.name)), None)
    if read is None or kept is None or len(table) > MOST_ROWS or (kept.values > read.values).any():
        return
    rows = np.flatnonzero((kept.values == 0) & (read.values >= LEAST_READ)).tolist()
    if not rows:
        return
    why = [f"{c.name} {texts(c)[rows[0]]}" for c in table.columns if c.values.dtype.kind == "O"]
    yield Finding(
        "nothing-was-kept", Severity.S1,
        f"In {len(rows)} of {len(table)} parts {kept.name} is 0 of {read.values[rows[0]]:.0f} {read.name} "
        f"({', '.join(why)}): none of their rows has the form that the stage asks for.",
        f"{len(table)} 个部分中有 {len(rows)} 个的 {kept.name} 为 0（{read.name} 为 {read.values[rows[0]]:.0f}；"
        f"{'，'.join(why)}）：没有一行符合该步骤要求的格式。",
        shown(table, rows[:4], kept.name), {"parts": len(rows), "of": len(table)},
    )  # fmt: skip


def prompt_counted(table: Table) -> Iterator[Finding]:
    """The person's tokens, and how many of them are in the loss, in two columns."""
    for trained in table.columns:
        name = plain(trained.name)
        if not (is_count(trained) and PERSON_NAME.search(name) and IN_LOSS.search(name)):
            continue
        stem = IN_LOSS.sub("", name).strip("_")
        whole = next((c for c in table.columns if c is not trained and is_count(c) and plain(c.name) == stem), None)
        if whole is None or whole.values.sum() <= 0 or (trained.values > whole.values).any():
            continue
        share = float(trained.values.sum() / whole.values.sum())
        if share < TRAINED_SHARE:
            continue
        rows = np.argsort(-trained.values, kind="stable")[:3].tolist()
        yield Finding(
            "labels-on-prompt", Severity.S2,
            f"{trained.values.sum():.0f} of {whole.values.sum():.0f} {whole.name} ({share:.0%}) are in {trained.name}: "
            "tokens of the person are trained on.",
            f"{whole.values.sum():.0f} 个 {whole.name} 中有 {trained.values.sum():.0f} 个（{share:.0%}）计入 "
            f"{trained.name}：用户的 token 参与了训练。",
            shown(table, rows, trained.name), {"on_prompt": share},
        )  # fmt: skip
        return


def why_ended(table: Table) -> Iterator[Finding]:
    """A row for each reason why outputs ended, with how many there are."""
    ending = named(table, ENDING, "O")
    count = next((c for c in table.columns if is_count(c) and means(WHOLE, c.name)), None)
    if ending is None or count is None or not 2 <= len(table) <= 12 or len(set(texts(ending))) < len(table):
        return
    cut = np.array([bool(CUT.search(v.strip().lower())) for v in texts(ending)])
    k, n = int(count.values[cut].sum()), int(count.values.sum())
    low, high = wilson(k, n) if n else (0.0, 0.0)
    if low < CUT_SHARE:
        return
    yield Finding(
        "generation-not-stopping", Severity.S2,
        f"{k} of {n} outputs ({k / n:.0%}, 95%: {low:.0%} to {high:.0%}) end at the length limit.",
        f"{n} 条输出中有 {k} 条（{k / n:.0%}）因到达长度上限而结束。",
        shown(table, np.flatnonzero(cut).tolist(), ending.name),
        {"outputs": n, "cut": k, "share": k / n, "interval": [low, high]},
    )  # fmt: skip


def at_every_limit(table: Table) -> Iterator[Finding]:
    """As many outputs cut at a limit several times as large: it is not the limit that is too low."""
    limit = next((c for c in table.columns if c.values.dtype.kind == "f" and means(LIMIT, c.name)), None)
    cut = next((c for c in table.columns if c.values.dtype.kind == "f" and means(CUT_OFF, c.name)), None)
    if limit is None or cut is None or not 2 <= len(table) <= 40 or limit.values.min() <= 0:
        return
    share = _share(table, cut)
    low, high = int(limit.values.argmin()), int(limit.values.argmax())
    grows = limit.values[high] >= SPAN * limit.values[low]
    if share is None or not grows or share[high] < LARGE or share[low] - share[high] > STAYS * share[low]:
        return
    yield Finding(
        "cut-at-every-limit", Severity.S1,
        f"{cut.name} is {cut.values[low]:.4g} at {limit.name} {limit.values[low]:.0f} and {cut.values[high]:.4g} at "
        f"{limit.values[high]:.0f}: the outputs run into every limit.",
        f"{limit.name} 为 {limit.values[low]:.0f} 时 {cut.name} 是 {cut.values[low]:.4g}，为 "
        f"{limit.values[high]:.0f} 时"
        f"仍是 {cut.values[high]:.4g}：不管上限多大都会撞上。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=cut.name, value=float(cut.values[i]))
              for i in (low, high)),
        {"low": float(share[low]), "high": float(share[high])},
    )  # fmt: skip


def _share(table: Table, cut: Column) -> np.ndarray | None:
    values = cut.values
    if not np.isfinite(values).all() or values.min() < 0:
        return None
    if values.max() <= 1:
        return values
    whole = next((c for c in table.columns if c is not cut and is_count(c) and means(WHOLE, c.name)), None)
    if whole is not None and is_count(cut) and (values <= whole.values).all() and whole.values.min() > 0:
        return values / whole.values
    return values / 100 if values.max() <= 100 else None


LOOKS: tuple[Callable[[Table], Iterator[Finding]], ...] = (nothing_kept, prompt_counted, why_ended, at_every_limit)
