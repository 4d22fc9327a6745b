"""Answers of a trained model beside those of its base to the same prompts: word for word the same.

Greedy answers of two models that differ in a single weight part sooner or later; where nearly all of them are equal,
and not all prompts are answered alike, what was trained is not what answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from ...findings import Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import OUTPUT, named, shown, texts
from ..kinds.names import demand
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
WROTE = bounded(
    r"(?i)pred|generat|infer|result|respon|outputs?|answer|repl(?:y|ies)|eval|sampled?|decoded?|预测|生成|结果|回答|回复|推理"
)
"""Names of files that a model wrote."""
LEAST, SHARE, LONG, APART = 4, 0.9, 20, 0.5
"""Prompts in common, share of equal answers, letters of an answer in the middle, and share of different answers among
one model's: short or stock answers are alike for any model."""


def of_the_base(table: Table) -> Iterator[Finding]:
    """The answers of a model are those of its base."""
    if LEAST <= len(table) <= 20_000:
        found = (_judged(table, table, *one) for one in (*_long(table), *_wide(table)))
        yield from [f for f in found if f is not None][:1]


def across(tables: Sequence[Table]) -> Iterator[Finding]:
    """The same of two files, one for each model."""
    some = [t for t in tables if len(t) >= LEAST and _first(t, ASKED) is not None and _said(t) is not None]
    some = [t for t in some if not _taught(t)][:24]
    for one, two in permutations(some, 2):
        if one.file == two.file or not BASE.search(one.file) or BASE.search(two.file):
            continue
        found = _judged(one, two, one.file, two.file, *_matched(one, two))
        if found is not None:
            yield found
            return


def _taught(table: Table) -> bool:
    """Whether a table has the fields of what is trained on, and its file does not say that a model wrote it: two
    forms of one set, as it came and converted, are no two models."""
    names = {plain(c.name) for c in table.columns}
    taught = "instruction" in names or {"system", "history"} & names or {"conversations", "messages"} & names
    return bool(taught) and not WROTE.search(table.file)


def of_another(table: Table, tables: Sequence[Table]) -> bool:
    """Whether a table holds what a base answers, and another one what a trained model answers to the same prompts."""
    if not BASE.search(table.file) or (asked := _first(table, ASKED)) is None:
        return False
    own = set(texts(asked).tolist())
    others = (t for t in tables if t.file != table.file and not BASE.search(t.file) and _said(t) is not None)
    return any((a := _first(t, ASKED)) is not None and own and own <= set(texts(a).tolist()) for t in others)


def trained(table: Table) -> np.ndarray:
    """Which rows are not those of a base, in a table that has a row for each model and prompt; all of any other."""
    model = _first(table, MODEL)
    own = np.array([not BASE.search(name) for name in texts(model).tolist()] if model is not None else [])
    return own if own.any() else np.ones(len(table), bool)


def _judged(
    table: Table, other_table: Table, base: str, other: str, pairs: list[tuple[str, str]], rows: list[int]
) -> Finding | None:
    """The finding where nearly all answers are equal, and neither short nor one stock answer."""
    equal = sum(a.strip() == b.strip() for a, b in pairs)
    said = sorted(len(a) for a, _ in pairs)
    if len(pairs) < LEAST or equal < SHARE * len(pairs) or said[len(said) // 2] < LONG:
        return None
    if len({a for a, _ in pairs}) < APART * len(pairs):
        return None
    beside = () if table is other_table else shown(other_table, rows[:1], other)
    where, of, zh = f" in {clean(table.file, 80)}", clean(other, 60), f"{clean(table.file, 80)} 中 "
    if beside:
        where = zh = ""
    return Finding(
        "answers-of-the-base", Severity.S2,
        f"{equal} of {len(pairs)} answers of {of}{where} are those of {clean(base, 60)}, word for word: what "
        "answers is the base.",
        f"{zh}{of} 的 {len(pairs)} 条回答有 {equal} 条与 {clean(base, 60)} 逐字相同："
        "回答的其实是底座模型。",
        (*shown(table, rows[:3], base), *beside),
        {"pairs": len(pairs), "equal": equal, "base": base, "other": other,
         "asks": [demand("equal_answer_share", "at-most", 0.5, "answers like those of the base", "与底座相同")]},
    )  # fmt: skip


def _matched(one: Table, two: Table) -> tuple[list[tuple[str, str]], list[int]]:
    """Answers of two tables to the same items: by what tells rows apart, in their order where it is one order."""
    keys = [list(zip(*(map(str, c.values.tolist()) for c in t.columns if _tells(c)), strict=True)) for t in (one, two)]
    answers = [texts(column).tolist() if (column := _said(t)) is not None else [] for t in (one, two)]
    if keys[0] == keys[1]:
        rows = list(range(len(one)))
        return list(zip(*answers, strict=True)), rows
    mine, theirs = (dict(zip(k, range(len(k)), strict=True)) for k in keys)
    both = sorted((mine[k], theirs[k]) for k in mine.keys() & theirs.keys())
    return [(answers[0][i], answers[1][j]) for i, j in both], [i for i, _ in both]


def _tells(column: Column) -> bool:
    """Whether a column says what was asked."""
    return bool(means(ASKED, column.name)) or column.role == "group"


def _said(table: Table) -> Column | None:
    """The column of answers; of several side by side one that is not called as a base is."""
    own = replace(table, columns=tuple(c for c in table.columns if not BASE.search(c.name)))
    return _answered(own) or _answered(table)


def _answered(table: Table) -> Column | None:
    return named(table, OUTPUT, "O") or _first(table, ANSWER)


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
    said = _said(table)
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
