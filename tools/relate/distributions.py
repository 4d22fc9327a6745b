"""How values and texts of tables are spread: truncated and identical outputs, lengths against the window, agreement of
annotators.

Records of the run's data are judged in `tools.data`; here the same is asked of whatever became a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..data.statistics import krippendorff, wilson
from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..settings import Settings
from ..tables.table import Column, Table
from .line import means

ENOUGH = 30
"""Rows, pairs, groups or items below which nothing is said."""
ALPHA = 0.67
"""000: Krippendorff's alpha of at least 0.67."""
CUT_SHARE = 0.3
"""Share of outputs that end at the limit. Own judgement."""
CAPPED_SHARE, CAPPED = 0.9, 600
"""Share of outputs at one low limit, and their characters, from which and up to which they were asked for so short, as
a capture or a benchmark does: whether they would have stopped is not seen. Own judgement."""
SAME_SHARE = 0.9
"""Share of prompts whose output never changes along the way."""
LONG_SHARE = 0.05
ANNOTATOR = bounded(
    r"(?:^|_)(?:annotator|rater|labell?er|worker|reviewer|judge|coder)s?(?:_id|_name)?$|标注[员者人]|评审员?$|打分人"
)
ANNOTATORS = bounded(
    r"^(?:(?:annotator|rater|labell?er|reviewer|coder)_?(?:\d{1,3}|[a-h])|标注[员者人]_?\w{1,3})"
    r"(?:_(?:label|choice|vote|score|rating|preference|标签|评分))?$"
)
"""Columns of what one annotator said each."""
LEVELS = 12
"""Different labels in such columns, beyond which they are measurements."""
UNIT = bounded(
    r"^(?:item|unit|example|prompt|pair|sample|question|query|doc(?:ument)?|q|id|uid|task|case|record|row|cmp"
    r"|comparison|conversation|dialog(?:ue)?)(?:_?(?:id|idx|index|no|num))?$"
    r"|^(?:题号|题目|样本|条目|编号|对比编号|数据编号|问题编号|会话)"
)
LABEL = bounded(
    r"^(?:label|rating|score|grade|choice|chosen|preference|prefer(?:red|s)?|vote|annotation|answer|verdict|winner"
    r"|judge?ment|decision|pick(?:ed)?|select(?:ed|ion)|class|category|better)(?:_(?:id|value|label|side|answer))?$"
    r"|^(?:标注结果|标注|标签|选择|评分|打分|偏好|判断|判定|结论|胜者|更好的?)$"
)
SHOWN_ORDER = bounded(r"^(?:order|position|shown_first|first(?:_position)?|swap(?:ped)?|展示顺序|顺序)$")
"""What says that one label means different things in different rows."""
ENDING = bounded(
    r"(?:finish|stop|end|done|termination|exit|completion)(?:ed|ped)?_?(?:reason|cause|by|type|why)$|^(?:why|finished_with)$"
    r"|(?:结束|停止|终止|截断|完成)(?:原因|方式|类型)"
)
CUT = bounded(
    r"(?i)^(?:(?:max_?|token_?|output_?)?(?:length|tokens?|new_?tokens)(?:_?(?:limit|reached|exceeded))?|limit|max_output_tokens"
    r"|truncated|cut(?:_?off)?|model_length|(?:长度)?(?:上限|截断|超长)|达到(?:长度)?上限|长度)$"
)
FLAGGED = bounded(
    r"^(?:is_|was_)?(?:truncated|cut_?off|hit_(?:the_)?(?:limit|max(?:_tokens)?)|length_capped)$|^是否截断$|^截断$"
)
"""Columns of yes and no that say the same."""
YES = bounded(r"(?i)^(?:1(?:\.0)?|true|yes|y|是)$")
CUT_SHORT = 24
"""Characters of an output that ends at the limit, up to which it is the limit that is too low. Own judgement."""
OUTPUT = bounded(
    r"^(?:model_)?(?:output|completion|response|generation|generated|text|answer|prediction|reply)(?:_text)?$"
    r"|^(?:模型)?(?:输出|回答|回复|生成|生成结果|答案)(?:文本|内容)?$"
)
PROMPT = bounded(
    r"^(?:prompt|question|input|query|group)(?:_?(?:id|idx|index|text))?$|^(?:提示词?|问题|输入|题目)(?:文本|内容)?$"
)
LENGTH = bounded(r"(?:^|_)(?:length|len|tokens|num_tokens|n_tokens|token_count)$")

LONG_WINDOW, FAR_SHARE = 4096, 0.01
"""Windows of which it is asked whether documents fill them, and share of the tokens below which they do not."""
DOCUMENT = bounded(r"(?:^|_)(?:doc|document|text|article|file|page|sample)s?(?:_|$)")


def spread(tables: Sequence[Table], settings: Settings) -> list[Finding]:
    """What the tables' distributions say."""
    found = [f for table in tables if len(table) >= ENOUGH for look in LOOKS for f in look(table)]
    return found + [f for table in tables if len(table) >= ENOUGH for f in _lengths(table, settings)]


def named(table: Table, pattern: re.Pattern[str], *kinds: str) -> Column | None:
    """The first column of that name, text or numbers."""
    return next((c for c in table.columns if means(pattern, c.name) and c.values.dtype.kind in (kinds or "Of")),
                None)  # fmt: skip


def texts(column: Column) -> np.ndarray:
    """Its cells as text."""
    return column.texts


def shown(table: Table, rows: Sequence[int], metric: str) -> tuple[Evidence, ...]:
    return tuple(Evidence(table.file, int(table.lines[i]) or None, metric=metric) for i in rows)


def votes(table: Table) -> list[dict[str, object]]:
    """What each annotator said of each item that several labelled: in a column each, or in a row each."""
    by_unit: dict[str, dict[str, object]] = {}
    wide = [c for c in table.columns if means(ANNOTATORS, c.name)]
    who, unit, label = (named(table, pattern) for pattern in (ANNOTATOR, UNIT, LABEL))
    if len(wide) > 1:
        said = [set(texts(c).tolist()) for c in wide]
        if len({c.values.dtype.kind for c in wide}) == 1 and len(set.union(*said)) <= LEVELS:
            by_unit = {str(i): {c.name: v for c in wide if (v := c.values[i]) == v and str(v)}
                       for i in range(len(table))}  # fmt: skip
    elif who is not None and unit is not None and label is not None:
        numeric = label.values.dtype.kind == "f"
        for u, w, v in zip(texts(unit), texts(who), label.values.tolist(), strict=True):
            if v == v and str(v):
                by_unit.setdefault(u, {})[w] = v if numeric else str(v)
    return [u for u in by_unit.values() if len(u) > 1]


def agreement(table: Table) -> Iterator[Finding]:
    """Annotators who label the same items apart."""
    units = votes(table) if named(table, SHOWN_ORDER) is None else []
    if len(units) < ENOUGH or len({w for u in units for w in u}) < 2:
        return
    numeric = all(isinstance(v, float) for u in units for v in u.values())
    level = "ordinal" if numeric and len({v for u in units for v in u.values()}) > 2 else "nominal"
    alpha = krippendorff([list(u.values()) for u in units], level)  # type: ignore[arg-type]
    low, high = _alpha_interval(units, level)
    if not alpha < ALPHA or not high < ALPHA:
        return
    without = {w: krippendorff([[v for k, v in u.items() if k != w] for u in units], level)  # type: ignore[arg-type]
               for w in sorted({w for u in units for w in u})[:20]}  # fmt: skip
    single = [w for w, a in without.items() if a >= ALPHA and len(without) > 2]
    one = f" Without {single[0]} it is {without[single[0]]:.2f}." if single else " No single annotator explains it."
    one_zh = f"去掉 {single[0]} 后为 {without[single[0]]:.2f}。" if single else "不是某一个标注者造成的。"
    yield Finding(
        "annotator-disagreement", Severity.S2,
        f"Krippendorff's alpha of {len(without)} annotators over {len(units)} items is {alpha:.2f} (95%: {low:.2f} to "
        f"{high:.2f}), below {ALPHA}.{one}",
        f"{len(without)} 名标注者对 {len(units)} 个条目的 Krippendorff α 为 {alpha:.2f}（95% 区间 {low:.2f} 到 "
        f"{high:.2f}），低于 {ALPHA}。{one_zh}",
        shown(table, [0], "alpha"),
        {"alpha": alpha, "interval": [low, high], "items": len(units), "annotators": len(without), "without": without},
    )  # fmt: skip


def _alpha_interval(units: list[dict[str, object]], level: str) -> tuple[float, float]:
    """95% interval over items drawn again, the same draws every time."""
    draws = np.random.default_rng(0).integers(0, len(units), (40, min(len(units), 200)))
    rows = [list(u.values()) for u in units]
    found = np.array([krippendorff([rows[i] for i in draw], level) for draw in draws])  # type: ignore[arg-type]
    narrow = np.sqrt(draws.shape[1] / len(units))
    if np.isnan(found).all():
        return float("nan"), float("nan")  # everybody says one thing in every draw
    middle = float(np.nanmean(found))
    half = 1.96 * float(np.nanstd(found)) * narrow
    return middle - half, middle + half


def truncated(table: Table) -> Iterator[Finding]:
    """Outputs that end at the limit instead of stopping."""
    cut = cut_ones(table)
    if cut is None:
        return
    low, high = wilson(int(cut.sum()), len(cut))
    if low < CUT_SHARE:
        return
    output = named(table, OUTPUT, "O")
    size = float(np.median([len(v) for v in texts(output)[cut]])) if output is not None else np.inf
    if size <= CUT_SHORT:
        yield _cut_short(table, cut, size, (low, high))
        return
    capped = cut.mean() >= CAPPED_SHARE and size <= CAPPED
    yield Finding(
        "generation-not-stopping", Severity.S3 if capped else Severity.S2,
        f"{cut.sum()} of {len(cut)} outputs ({cut.mean():.0%}, 95%: {low:.0%} to {high:.0%}) end at the length limit"
        f"{f', which is low ({size:.0f} characters): whether they would stop is not seen' if capped else ''}.",
        f"{len(cut)} 条输出中有 {cut.sum()} 条（{cut.mean():.0%}）因到达长度上限而结束"
        f"{f'，而上限很低（{size:.0f} 个字符），看不出它们会不会停下' if capped else ''}。",
        shown(table, np.flatnonzero(cut)[:3].tolist(), "finish_reason"),
        {"outputs": len(cut), "cut": int(cut.sum()), "share": float(cut.mean()), "interval": [low, high]},
    )  # fmt: skip


def cut_ones(table: Table) -> np.ndarray | None:
    """Which outputs ended at the limit, by a column that says why each ended, or whether; None without one."""
    for names, yes in ((ENDING, CUT), (FLAGGED, YES)):
        if (column := named(table, names)) is not None:
            return np.array([bool(yes.search(v.strip().lower())) for v in texts(column)])
    return None


def _cut_short(table: Table, cut: np.ndarray, size: float, interval: tuple[float, float]) -> Finding:
    """Outputs that a limit cuts before they can have said anything: the limit's fault, not the model's."""
    return Finding(
        "outputs-cut-short", Severity.S2,
        f"{cut.sum()} of {len(cut)} outputs ({cut.mean():.0%}, 95%: {interval[0]:.0%} to {interval[1]:.0%}) end at the "
        f"length limit after {size:.0f} characters (median): the limit cuts the answers, they do not run on.",
        f"{len(cut)} 条输出中有 {cut.sum()} 条（{cut.mean():.0%}）到达长度上限，而中位长度只有 {size:.0f} 个字符：是"
        "上限截断了回答，不是停不下来。",
        shown(table, np.flatnonzero(cut)[:3].tolist(), "finish_reason"),
        {"outputs": len(cut), "cut": int(cut.sum()), "share": float(cut.mean()), "median": size},
    )  # fmt: skip


def unchanged(table: Table) -> Iterator[Finding]:
    """Outputs to the same prompt that stay the same along the way."""
    output, prompt = named(table, OUTPUT, "O"), named(table, PROMPT)
    axis = next((c for c in table.of("axis") if c.values.dtype.kind == "f"), None)
    if output is None or prompt is None or axis is None:
        return
    by_prompt: dict[str, dict[float, str]] = {}
    for p, x, text in zip(texts(prompt), axis.values.tolist(), texts(output), strict=True):
        by_prompt.setdefault(p, {})[x] = text
    several = {p: found for p, found in by_prompt.items() if len(found) > 1}
    same = [p for p, found in several.items() if len(set(found.values())) == 1]
    if (
        len(several) < 8
        or len(same) < SAME_SHARE * len(several)
        or len({v for f in several.values() for v in f.values()}) < 4
    ):
        return
    steps = sorted({x for found in several.values() for x in found})
    i = texts(prompt).tolist().index(same[0])
    yield Finding(
        "outputs-unchanged", Severity.S2,
        f"{len(same)} of {len(several)} prompts get the very same output at {len(steps)} places from {axis.name} "
        f"{steps[0]:.10g} to {steps[-1]:.10g}: whatever answers there does not change with training.",
        f"{len(several)} 个提示中有 {len(same)} 个在 {axis.name} {steps[0]:.10g} 到 {steps[-1]:.10g} 之间的 "
        f"{len(steps)} 处输出完全相同：生成所用的模型没有随训练变化。",
        shown(table, [i], "output"),
        {"prompts": len(several), "same": len(same), "share": len(same) / len(several), "steps": steps[:50]},
    )  # fmt: skip


def _lengths(table: Table, settings: Settings) -> Iterator[Finding]:
    """Texts that are longer than the window."""
    window = next(
        (v for name in ("sequence_length", "max_model_len") if isinstance(v := settings.value(name), int)), None
    )
    column = named(table, LENGTH, "f")
    if not window or column is None or column.role != "measure" or table.of("axis"):
        return
    values = column.values[np.isfinite(column.values)]
    if window == settings.value("sequence_length"):  # what a server may be sent teaches nothing
        yield from _unfilled(table, column, values, window)
    over = values > window
    if len(values) < ENOUGH or over.mean() < LONG_SHARE:
        return
    low, high = wilson(int(over.sum()), len(values))
    lost = float((values - window)[over].sum() / values.sum())
    yield Finding(
        "lengths-over-window", Severity.S3,
        f"{over.sum()} of {len(values)} rows ({over.mean():.0%}) are longer than the window of {window}; "
        f"{lost:.0%} of all "
        f"tokens lie beyond it.",
        f"{len(values)} 行中有 {over.sum()} 行（{over.mean():.0%}）超过窗口 {window}，占全部 token 的 {lost:.0%}。",
        (*shown(table, np.flatnonzero(column.values > window)[:2].tolist(), "length"),
         *settings.sources("sequence_length", "max_model_len")),
        {"rows": len(values), "over": int(over.sum()), "share": float(over.mean()), "interval": [low, high],
         "window": window, "lost": lost},
    )  # fmt: skip


def _unfilled(table: Table, column: Column, values: np.ndarray, window: int) -> Iterator[Finding]:
    """Documents that are far shorter than a long window: nothing to learn its far end from."""
    if (
        window < LONG_WINDOW
        or named(table, ENDING) is not None  # answers of a model, and no documents
        or len(values) < ENOUGH
        or values.sum() <= 0
        or not means(DOCUMENT, " ".join(c.name for c in table.columns))
    ):
        return
    far = float(values[values > window / 2].sum() / values.sum())
    if far >= FAR_SHARE:
        return
    middle, most = np.percentile(values, (50, 99))
    yield Finding(
        "window-hardly-filled", Severity.S2,
        f"{far:.1%} of the tokens of {len(values)} documents lie in documents longer than half the window of "
        f"{window}: half of "
        f"them have at most {middle:.0f}, 99% at most {most:.0f} tokens.",
        f"{len(values)} 篇文档中只有 {far:.1%} 的 token 属于超过窗口 {window} 一半的文档：一半的文档不超过 "
        f"{middle:.0f}，99% 不超过 "
        f"{most:.0f} 个 token。",
        shown(table, [int(values.argmax())], "length"),
        {"window": window, "far": far, "median": float(middle), "p99": float(most)},
    )  # fmt: skip


LOOKS: tuple[Callable[[Table], Iterator[Finding]], ...] = (agreement, truncated, unchanged)
