"""Answers of a results file that hold nothing: empty texts beside prompts, no characters though tokens were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means, plain
from ..summed.words import named_score
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
ROWS, PART, MOST = 3, 0.3, 3
"""Rows of a table, the part of them without a score from which on that is told, and scores that are named. Ours."""
JUDGED = bounded(
    r"(?:^|_)(?:faithful|relevan|precision|recall|correct|similarit|ground(?:ed|ing)|coheren|fluen|helpful|complete(?:ness)?)"
    r"\w{0,8}(?:_(?:mean|avg|score))?$|忠实|相关[性度]|精确率|召回率|正确[性率]|准确率|相似度"
)
"""What a judge scores an answer or what was retrieved by."""
SPREAD = bounded(r"(?:^|_)(?:std\w{0,3}|var|variance|stderr|se|ci\w{0,3}|human|manual)(?:_|$)|人工|标准差")
"""What is no score of its own, or is left for people to fill in."""
LEAST, BLANK, WROTE = 4, 0.3, 16
"""Answers of a file, share of them that are blank, and tokens of an answer that must have said something. Ours."""


def blank(tables: Sequence[Table]) -> list[Finding]:
    """Per file the surest of both, worst first, at most two."""
    found = [f for t in tables if len(t) >= LEAST for look in (_texts, _counts) for f in look(t)]
    return sorted(found, key=lambda f: (f.severity, -f.data["blank"]))[:2]


def unscored(tables: Sequence[Table]) -> list[Finding]:
    """Scores that are missing for a good part of the items of a table which has other scores for them: the worst."""
    found = [(t, some) for t in tables if len(t) >= ROWS and (some := _without_score(t))]
    if not found:
        return []
    table, some = max(found, key=lambda one: sum(float(none.mean()) for _, none, _ in one[1]))
    en = ", ".join(f"{clean(c.name, 40)} has no value in {int(none.sum())}" for c, none, _ in some[:MOST])
    zh = "、".join(f"{clean(c.name, 40)} 有 {int(none.sum())} 行" for c, none, _ in some[:MOST])
    beside = clean(some[0][2].name, 40)
    places = tuple(Evidence(table.file, int(table.lines[int(np.flatnonzero(none)[0])]) or None, metric=c.name,
                            text=f"{c.name}: no value") for c, none, _ in some[:MOST])  # fmt: skip
    return [Finding(
        "score-cells-empty", Severity.S2,
        f"{en} of {len(table)} rows of {table.file}, while {beside} has one there: these items were not scored by it "
        "(the judge's call failed, or its answer was not read), and its mean is over the rest.",
        f"{table.file} 的 {len(table)} 行中 {zh}没有值，而同一行的 {beside} 有值：这些条目没有算出该分数"
        "（评审调用失败或其回答没有被解析），平均值只来自其余条目。",
        places, {"rows": len(table), "empty": {c.name: int(none.sum()) for c, none, _ in some}},
    )]  # fmt: skip


def _without_score(table: Table) -> list[tuple[Column, np.ndarray, Column]]:
    """(score, rows without it, a score that these rows have), the score with the most first."""
    scores = [c for c in table.columns if _scores(c.name)]
    none = {c.name: _missing(c) for c in scores}
    whole = next((c for c in scores if not none[c.name].any() and c.values.dtype.kind == "f"), None)
    if whole is None:
        return []
    items = any(means(ASKED, c.name) and not _empty(c).any() for c in table.columns if c.values.dtype.kind == "O")
    least = PART * len(table) if items else len(table)
    some = [c for c in scores if none[c.name].sum() >= max(2, least) and not _of_a_kind(table, none[c.name])]
    return sorted(((c, none[c.name], whole) for c in some), key=lambda one: -int(one[1].sum()))


def _scores(name: str) -> bool:
    return bool(named_score(name) or means(JUDGED, name)) and not means(SPREAD, name)


def _missing(column: Column) -> np.ndarray:
    values = column.values
    return ~np.isfinite(values) if values.dtype.kind == "f" else _empty(column) | (texts(column) == "nan")


def _of_a_kind(table: Table, none: np.ndarray) -> bool:
    """Whether only some rows need the score: those of one group, or with a text that the others lack."""
    if none.all():
        return False
    for column in (c for c in table.columns if c.values.dtype.kind == "O"):
        said = texts(column)
        different = set(said.tolist())
        if 1 < len(different) <= len(table) / 2 and not set(said[none].tolist()) & set(said[~none].tolist()):
            return True
    return False


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
