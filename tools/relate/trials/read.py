"""Tables of trials: one row a run, with what was set and how it ended. What is a setting, and what an ending, by words."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...config.values import number
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, metric_of

LEAST, MOST = 3, 60
"""Rows of a table of trials."""
FACTORS: Mapping[str, re.Pattern[str]] = MappingProxyType({
    kind: bounded(pattern, re.IGNORECASE) for kind, pattern in (
        ("warmup_steps", r"warm_?up|ramp|预热"),
        ("learning_rate", r"(?:^|_)(?:peak_|max_|base_)?(?:lr|learning_rate|eta)(?:_|$)|学习率"),
        ("weight_decay", r"(?:^|_)(?:weight_decay|wd|l2)(?:_|$)|权重衰减"),
        ("grad_clip", r"(?:^|_)(?:grad_?)?clip\w{0,6}(?:_|$)|max_grad_norm|裁剪"),
        ("precision", r"(?:^|_)(?:d?type|precision|amp|format|compute_dtype)(?:_|$)|精度|数值格式"),
        ("init", r"(?:^|_)init\w{0,12}(?:_|$)|初始化"),
        ("recompute", r"recomput|(?:^|_)(?:act\w{0,8}_)?(?:ckpt|checkpointing|remat)(?:_on)?$|重计算|重算"),
        ("length", r"(?:^|_)(?:seq\w{0,6}|ctx|context|tokens_per_(?:sample|seq\w{0,6}))(?:_?len\w{0,4})?(?:_|$)"
                   r"|max_?len|序列长度|上下文长度"),
        ("micro_batch", r"(?:^|_)(?:micro_?(?:batch|bs|bsz)\w{0,5}|mbs|per_(?:gpu|device)_\w{0,8}_?batch\w{0,5})(?:_|$)"
                        r"|微批|单卡批"),
        ("batch", r"(?:^|_)(?:global_)?(?:batch(?:_?size)?|bs|bsz|gbs)(?:_|$)|批大小|全局批"),
        ("epochs", r"(?:^|_)(?:n_?|num_?)?epochs?(?:_|$)|(?:^|_)passes(?:_|$)|轮数|轮次"),
        ("dataset", r"(?:^|_)(?:data|dataset|corpus|mixture|subset)(?:_(?:set|version|name))?(?:_|$)|数据|语料|配比"),
        ("optimizer", r"(?:^|_)optim\w{0,6}(?:_|$)|优化器"),
        ("zero_stage", r"zero|shard\w{0,4}_stage"),
        ("dropout", r"dropout"),
        ("temperature", r"(?:^|_)temp\w{0,8}(?:_|$)|温度"),
    )
})  # fmt: skip
"""Setting that trials vary -> how the tables call it, the first that fits."""
NUMBERS = ("learning_rate", "warmup_steps", "weight_decay", "length", "micro_batch", "batch", "epochs", "grad_clip")
"""Settings that are numbers: a batch that is named is data."""
TRIAL = bounded(r"(?:^|_)(?:run|trial|attempt|try|exp\w{0,8}|job|replay|rerun|name|no|id)(?:_(?:id|no|name))?$"
                r"|实验|试验|尝试|编号|作业|次数|^运行$", re.IGNORECASE)  # fmt: skip
SEED = bounded(r"(?:^|_)seed(?:_|$)|种子")
RESULT = bounded(r"loss|(?:^|_)(?:ce|nll|ppl|acc\w{0,6}|score|gnorm|grad_norm|norm|status|outcome|result|time|hours?"
                 r"|last|final|first|peak_(?:mem\w{0,6}|gi?b|vram|usage))(?:_|$)|损失|范数|结果|状态|得分|失败|时长|显存", re.IGNORECASE)  # fmt: skip
HELD = bounded(r"(?:^|_)(?:eval|val|valid\w{0,6}|dev|test|held_?out)(?:_|$)|验证|测试|留出", re.IGNORECASE)
WORSE = bounded(r"loss|(?:^|_)(?:ce|nll|ppl|perplexity|xent|bpb|error)(?:_|$)|损失|困惑度|错误率", re.IGNORECASE)
"""Results of which less is better."""
ENDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("oom", bounded(r"(?i)\boom\b|out.?of.?memory|显存不足|显存溢出|爆显存")),
    ("breaks", bounded(r"(?i)\bnan\b|\binf\b|diverg|blew|blow|explo|spik|发散|爆炸|飞了|非数|不收敛|崩")),
    ("fails", bounded(r"(?i)fail|crash|error|time.?out|(?<![a-z])(?:hang|hung)|abort|失败|超时|卡死|挂|中断|报错")),
    ("fine", bounded(r"(?i)\b(?:ok|fine|good|normal|stable|done|success\w{0,4}|pass\w{0,2}|yes)\b|complet|finish|converg"
                     r"|finite|healthy|正常|稳定|完成|成功|收敛|通过|平稳")),
)  # fmt: skip
"""How a trial ended -> the words, the worst first."""
DECIMALS, UNIQUE = re.compile(r"\d\.\d{2,}"), 8
"""A number that was measured, and rows up to which each may have a word of its own for a setting."""
SPOKEN = 0.8
"""Share of the rows whose cell must say how they ended."""
STEADY = ("step", "time", "epoch", "tokens", "samples", "index", "checkpoint")


@dataclass(frozen=True)
class Trials:
    """The rows of a table of trials."""

    table: Table
    factors: Mapping[str, tuple[Column, np.ndarray]]
    """Setting -> its column, and a value of each row that can be compared."""
    ends: np.ndarray
    """How each row ended, by a word; empty text where nothing says it."""
    results: tuple[Column, ...]
    """Measured at the end of each row, of which less is better, what is held out first."""

    @property
    def bad(self) -> np.ndarray:
        return np.isin(self.ends, ("oom", "breaks", "fails"))


def factor_of(name: str) -> str:
    """Which setting a column is of, empty where it is of none."""
    if SEED.search(name) or means(SEED, name):
        return ""
    return next((kind for kind, pattern in FACTORS.items() if means(pattern, name)), "")


def trials(table: Table) -> Trials | None:
    """The table as one of trials; None for curves and whatever names no setting."""
    if not LEAST <= len(table) <= MOST:
        return None
    factors: dict[str, tuple[Column, np.ndarray]] = {}
    for column in table.columns:
        kind = "" if means(RESULT, column.name) else factor_of(column.name)
        values = _values(column) if kind and kind not in factors else None
        if values is not None and values.dtype.kind == "O" and _measured(values):
            continue
        if values is not None and (kind not in NUMBERS or values.dtype.kind == "f"):
            factors[kind] = column, values
    ends = _ends(table, {id(c) for c, _ in factors.values()})
    if not _named(table) and not (ends != "").any():  # a column that goes on with every row is the way of one run
        factors = {kind: f for kind, f in factors.items() if f[0].role != "axis" or f[0].of not in STEADY}
        if _moves(table, factors):
            return None
    if not factors:
        return None
    results = [c for c in table.columns if c.values.dtype.kind == "f" and not factor_of(c.name)
               and means(WORSE, c.name) and np.isfinite(c.values).sum() >= LEAST]  # fmt: skip
    results.sort(key=lambda c: (not means(HELD, c.name), -table.columns.index(c)))
    return Trials(table, factors, ends, tuple(results))


def _measured(said: np.ndarray) -> bool:
    """Whether the words of a column are no choices: each row has its own, or most hold several numbers with decimals, as
    what an epoch was scored."""
    scored = np.mean([len(DECIMALS.findall(text)) >= 2 for text in said.tolist()])
    return bool(scored > 0.5) or (len(said) > UNIQUE and len(set(said.tolist())) == len(said))


def _named(table: Table) -> bool:
    """Whether a column names each row as a trial of its own."""
    return any(means(TRIAL, c.name) and len(set(texts(c).tolist())) == len(table) for c in table.columns)


def _moves(table: Table, factors: Mapping[str, tuple[Column, np.ndarray]]) -> bool:
    """Whether the rows are places of one way."""
    own = {id(c) for c, _ in factors.values()}
    return any(c.of in STEADY and id(c) not in own and len(set(texts(c).tolist())) > len(table) / 2
               for c in table.of("axis"))  # fmt: skip


def _values(column: Column) -> np.ndarray:
    """Numbers where all cells are numbers, else texts in lower case."""
    if column.values.dtype.kind == "f":
        return column.values
    said = [t.strip().lower() for t in texts(column).tolist()]
    numbers = [number(t) for t in said]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in numbers):
        return np.array(numbers, float)
    return np.array(said, object)


def _ends(table: Table, factors: set[int]) -> np.ndarray:
    """How each row ended: by a column of words, else by results that are no numbers."""
    best = np.full(len(table), "", object)
    for column in sorted(table.columns, key=lambda c: c.values.dtype.kind == "f"):
        if id(column) in factors:
            continue
        said = np.array([_end(t) for t in texts(column).tolist()], object)
        if column.values.dtype.kind == "f":
            if not (means(WORSE, column.name) or metric_of(column) == "grad_norm") or not len(column.nans):
                continue
            said = np.where(np.isin(np.arange(len(table)), column.nans), "breaks", "fine").astype(object)
        if (said != "").mean() >= SPOKEN and len(set(said.tolist())) > len(set(best.tolist()) - {""}):
            best = said
    return best


def _end(text: str) -> str:
    if number(text.strip()) is not None and text.strip().lower() not in ("nan", "inf"):
        return "fine"
    return next((kind for kind, pattern in ENDS if pattern.search(text)), "")
