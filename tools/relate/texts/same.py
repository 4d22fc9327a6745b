"""Answers of a trained model beside those of its base to the same prompts: word for word the same.

Greedy answers of two models that differ in a single weight part sooner or later; where nearly all of them are equal,
and not all prompts are answered alike, what was trained is not what answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import OUTPUT, named, shown, texts
from ..line import means, plain

BASE = bounded(
    r"(?i)(?:^|[/_.\s-])(?:base(?:line|_?model)?|original|vanilla|untuned|untrained|pre_?trained|stock|before)(?:[/_.\s-]|$)"
    r"|^(?:[\w.-]+/)*(?:meta-)?(?:llama|qwen|mistral|mixtral|gemma|phi|deepseek|yi|chatglm|glm|baichuan|internlm|falcon"
    r"|gpt|olmo|smollm|pythia)[\w.]{0,8}[-_][\w.-]*\d+(?:\.\d+)?b\b[\w.-]*$|底座|基座|原始模型|训练前"
)
"""What the model before a training is called, and names of published models."""
MODEL = bounded(
    r"(?:^|_)(?:model|ckpt|checkpoint|run|variant|system|source|engine|arm|which|from|adapter|version)(?:_?(?:name|id|field"
    r"|tag))?$|^(?:模型|版本|来源)$"
)
ASKED = bounded(
    r"(?:^|_)(?:prompt|question|input|query|q|case|item|id|n|idx)(?:_?(?:id|idx|index|text|no))?$|^(?:提示词?|问题|输入|题目|编号)"
)
ANSWER = bounded(r"(?:^|_)(?:output|completion|response|generation|answer|prediction|reply|text|says|out)(?:_text)?$"
                 r"|回答|回复|输出|答案")  # fmt: skip
LEAST, SHARE, LONG, APART = 4, 0.9, 20, 0.5
"""Prompts in common, share of equal answers, letters of an answer in the middle, and share of different answers among
one model's: short or stock answers are alike for any model."""


def of_the_base(table: Table) -> Iterator[Finding]:
    """The answers of a model are those of its base."""
    if not LEAST <= len(table) <= 20_000:
        return
    for base, other, pairs, rows in (*_long(table), *_wide(table)):
        equal = [i for i, (a, b) in enumerate(pairs) if a.strip() == b.strip()]
        said = sorted(len(a) for a, _ in pairs)
        if len(pairs) < LEAST or len(equal) < SHARE * len(pairs) or said[len(said) // 2] < LONG:
            continue
        if len({a for a, _ in pairs}) < APART * len(pairs):
            continue
        yield Finding(
            "answers-of-the-base", Severity.S2,
            f"{len(equal)} of {len(pairs)} answers of {clean(other, 40)} in {table.file} are those of "
            f"{clean(base, 40)}, word for word: what answers is the base.",
            f"{table.file} 中 {clean(other, 40)} 的 {len(pairs)} 条回答有 {len(equal)} 条与 {clean(base, 40)} "
            "逐字相同：回答的其实是底座模型。",
            shown(table, rows[:3], base), {"pairs": len(pairs), "equal": len(equal), "base": base, "other": other},
        )  # fmt: skip
        return


_Pairs = tuple[str, str, list[tuple[str, str]], list[int]]


def _wide(table: Table) -> Iterator[_Pairs]:
    """Two columns of texts, one of them called as a base is."""
    columns = [c for c in table.columns if c.values.dtype.kind == "O" and not means(ASKED, c.name)]
    bases = [c for c in columns if BASE.search(plain(c.name)) or BASE.search(c.name)]
    for base in bases[:2]:
        for other in (c for c in columns if c not in bases):
            pairs = [(a, b) for a, b in zip(texts(base).tolist(), texts(other).tolist(), strict=True) if a and b]
            yield base.name, other.name, pairs, list(range(min(3, len(table))))


def _long(table: Table) -> Iterator[_Pairs]:
    """A row for each model and prompt."""
    model, asked = _first(table, MODEL), _first(table, ASKED)
    said = named(table, OUTPUT, "O") or _first(table, ANSWER)
    if model is None or asked is None or said is None or said is asked:
        return
    names, keys, answers = texts(model).tolist(), [str(v) for v in asked.values.tolist()], texts(said).tolist()
    by: dict[str, dict[str, int]] = {}
    for i, (name, key) in enumerate(zip(names, keys, strict=True)):
        by.setdefault(name, {})[key] = i
    bases = [n for n in by if BASE.search(n)]
    for base in bases[:2]:
        for other in (n for n in by if n not in bases):
            both = [(by[base][k], by[other][k]) for k in by[base].keys() & by[other].keys()]
            both.sort()
            yield base, other, [(answers[i], answers[j]) for i, j in both], [i for i, _ in both]


def _first(table: Table, pattern: re.Pattern[str]) -> Column | None:
    """The first column of that name, text before numbers."""
    return named(table, pattern, "O") or named(table, pattern)
