"""Answers of a results file that hold nothing: empty texts beside prompts, no characters though tokens were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from .read import is_score

RESULTS = bounded(r"(?i)result|eval|report|predict|generat|output|answer|response|infer|bench|judg|评测|预测|结果|回答")
"""In a file's name, its part or the columns beside: somebody let a model answer."""
GIVEN = bounded(
    r"(?:^|_)(?:pred(?:iction|icted)?s?|outputs?|responses?|completions?|generat\w{1,8}|hypothes[ie]s|model_answer|reply|decoded)"
    r"(?:_(?:text|answer|raw))?$|^(?:预测|输出|回答|回复|生成)"
)
ASKED = bounded(r"(?:^|_)(?:prompt|question|input|query|source|original|reference|target|gold|label|expected\w{0,10}"
                r"|instruction)(?:_text)?$|问题|题目|输入|提示|参考|原文|答案")  # fmt: skip
RIGHT = bounded(r"expect|gold|truth|target|refer|correct|label|actual|标准|正确|参考")
"""Words of the right answer, which a test that needs none leaves empty."""
LENGTH = bounded(r"(?:^|_)(?:response|answer|output|completion|generated|reply|gen)_?"
                 r"(?:len(?:gth)?|tokens?|chars?|words)$|(?:回答|输出|生成)(?:长度|字数|token)")  # fmt: skip
WRITTEN = bounded(r"(?:^|_)(?:content|answer|output|text|response|completion|final)_?(?:chars?|characters|len(?:gth)?"
                  r"|words)$|(?:正文|回答|输出)(?:字数|长度)")  # fmt: skip
TOKENS = bounded(r"(?:^|_)(?:completion|output|generated|gen|new)_?tokens?$|(?:输出|生成)(?:token|词元)")
THOUGHT = bounded(r"(?:^|_)(?:reasoning|thinking|thoughts?)_?(?:chars?|len(?:gth)?|tokens?)$|思考")
SEARCHED = bounded(
    r"(?:^|_)(?:context|retriev\w*|search|passages?|documents?)_?(?:precision|recall|relevanc[ey]|hit\w*|f1|entit"
    r"|score|rate)|(?:^|_)(?:recall|precision|hits?|hit_rate|ndcg|map|mrr)_?(?:at)?_?\d{0,3}$|检索|召回"
)
"""Measures of what a search found, before anybody answers."""
OF_ANSWERS = bounded(
    r"faithful|ground|answer_|correct|accura|similar|bleu|rouge|(?:^|_)(?:em|f1|judge\w*|exact_match)(?:_|$)"
    r"|halluc|忠实|正确|准确"
)
LEAST, BLANK, WROTE = 4, 0.3, 16
"""Answers of a file, share of them that are blank, and tokens of an answer that must have said something. Ours."""


def blank(tables: Sequence[Table]) -> list[Finding]:
    """Per file the surest of both, worst first, at most two."""
    found = [f for t in tables if len(t) >= LEAST for look in (_texts, _counts) for f in look(t)]
    return sorted(found, key=lambda f: (f.severity, -f.data["blank"]))[:2]


def _texts(table: Table) -> Iterator[Finding]:
    """Empty texts of the model beside texts that are there."""
    words = [c for c in table.columns if c.values.dtype.kind == "O"]
    given = [c for c in words if means(GIVEN, c.name) and not RIGHT.search(plain(c.name))]
    asked = [c for c in words if means(ASKED, c.name) and not means(GIVEN, c.name)]
    about = RESULTS.search(f"{table.file} {table.part}") or any(is_score(c.name) for c in table.columns)
    if not given or not asked or not about or of_search(table):
        return
    none = np.all([_empty(c) for c in given], axis=0)
    none &= ~_written(table)
    if none.sum() >= LEAST and none.mean() >= BLANK and not _empty(asked[0])[none].any():
        yield _told(table, none, given[0], "", "")


def of_search(table: Table) -> bool:
    """Whether a table scores what a search found and no answer: none was asked for."""
    names = [c.name for c in table.columns if c.role == "measure" or OF_ANSWERS.search(plain(c.name))]
    found = [n for n in names if SEARCHED.search(plain(n))]
    return bool(found) and not any(n not in found and (OF_ANSWERS.search(plain(n)) or is_score(n)) for n in names)


def _written(table: Table) -> np.ndarray:
    """Rows whose answer has a length: what is empty there is what was to be taken out of it."""
    long = [c for c in table.columns if c.values.dtype.kind == "f" and LENGTH.search(plain(c.name))]
    return np.any([c.values >= WROTE for c in long], axis=0) if long else np.zeros(len(table), bool)


def _empty(column: Column) -> np.ndarray:
    return np.array([not v.strip() or v.strip().lower() in ("none", "null", "nan") for v in texts(column).tolist()])


def _counts(table: Table) -> Iterator[Finding]:
    """No characters of an answer in rows that wrote tokens; all of one number of tokens are those of the limit."""
    numbers = [c for c in table.columns if c.values.dtype.kind == "f"]
    chars = next((c for c in numbers if means(WRITTEN, c.name) and not means(THOUGHT, c.name)), None)
    tokens = next((c for c in numbers if means(TOKENS, c.name)), None)
    if chars is None or tokens is None:
        return
    none = (chars.values == 0) & (tokens.values >= WROTE)
    if none.sum() < LEAST or none.mean() < BLANK:
        return
    top = float(np.nanmax(tokens.values))
    cut = float((tokens.values[none] == top).mean())
    thought = next((c for c in numbers if means(THOUGHT, c.name) and (c.values[none] > 0).all()), None)
    en = f"; all their tokens went into {thought.name}" if thought is not None else ""
    zh = f"；token 都用在 {thought.name} 上" if thought is not None else ""
    if cut >= 0.9:
        en += f", and they end at {top:g} tokens, the most of any row: the limit came before the answer"
        zh += f"，且都停在 {top:g} 个 token，即上限：还没写出回答就被截断"
    yield _told(table, none, chars, en, zh)


def _told(table: Table, none: np.ndarray, column: Column, en: str, zh: str) -> Finding:
    rows = np.flatnonzero(none)
    places = tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name, text=f"{column.name} empty")
                   for i in rows[:3].tolist())  # fmt: skip
    return Finding(
        "answers-blank", Severity.S1 if none.mean() >= 0.5 else Severity.S2,
        f"{len(rows)} of {len(table)} answers of {table.file} are empty ({column.name}){en}: what is counted of them "
        "says nothing of the model.",
        f"{table.file} 的 {len(table)} 条回答中有 {len(rows)} 条为空（{column.name}）{zh}："
        "由此得到的分数说明不了模型。",
        places, {"blank": len(rows), "of": len(table), "share": float(none.mean())},
    )  # fmt: skip
