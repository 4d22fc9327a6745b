"""The two sides of a comparison, in names of columns and in verdicts: places (`left`, `card_top`, `甲`) and choices
(`chosen`, `winner`, `胜`). Two columns are a pair where their names differ in that one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts

PLACES: Mapping[str, int] = {
    **dict.fromkeys(
        ["a", "1", "l", "left", "lhs", "first", "1st", "top", "upper", "one", "甲", "左", "上", "先", "一"], 0
    ),
    **dict.fromkeys(
        ["b", "2", "r", "right", "rhs", "second", "2nd", "bottom", "lower", "two", "乙", "右", "下", "后", "二"], 1
    ),
}
CHOICES: Mapping[str, int] = {
    **dict.fromkeys(
        [
            "chosen",
            "preferred",
            "winner",
            "win",
            "won",
            "better",
            "pos",
            "accepted",
            "good",
            "w",
            "胜",
            "优",
            "赢",
            "正",
        ],
        0,
    ),
    **dict.fromkeys(
        ["rejected", "dispreferred", "loser", "lose", "lost", "worse", "neg", "bad", "l", "负", "劣", "输", "败"], 1
    ),
}
PEOPLE = bounded(
    r"human|people|expert|annot|rater|reviewer|crowd|panel|blind|gold|manual|user|人工|人选|人评|人类|专家|标注|盲评|审核"
    r"|评审组|业务|众测|用户"
)
SIZE = bounded(
    r"(?:^|_)(?:len|lens|length|toks?|tokens?|n_?toks?|chars?|words?|nchars|nwords|ntoks?)(?:_|\d|$)|length|tokens"
    r"|长度|字数|词数|字符|词元|篇幅|长短"
)
SCORE = bounded(
    r"(?:^|_)(?:s|r|rm|score|scores|reward|rewards|rating|logit|sc|pts|points)(?:_|\d|$)"
    r"|score|reward|分(?:[前后]|_|$)|得分|分数|奖励|打分|模型分"
)
TIES = bounded(
    r"(?i)^\W*(?:tie|tied|draw|equal|same|both|neither|none|c|0|null|nan|n/?a|invalid|error|unparsed|平|平局|平手|持平"
    r"|差不多|一样|相当|无效|解析失败)?\W*$"
)
"""Verdicts for neither side, and those that could not be read."""
WHO = bounded(
    r"^(?:annotator|rater|labell?er|reviewer|evaluator|assessor|worker|who|标注员|标注人|评审员|评审人|审核人|评估员)$"
)
"""Who gave a verdict, where a column says so."""
_CAMEL = bounded(r"(?<=[a-z0-9])(?=[A-Z])")
_PIECES = bounded(r"1st|2nd|[a-z]+|\d+|[一-鿿]+")
_BETTER = bounded(r"^(.{1,24}?)\s{0,3}(>{1,3}|<{1,3})\s{0,3}(.{1,24})$")
_AROUND = bounded(
    r"^(?:card|answers?|ans|model|response|resp|reply|assistant|output|option|slot|candidate|cand|side|text|system|position"
    r"|pos|wins?|won|better|is|the|one|choice|verdict|回答|答案|答|模型|胜出|胜|赢|更好|更优|优|好|者|边|侧|位|方|选手|候选|卡片|卡"
    r"|选|面|条|号|个|第|那)*$"
)
"""What may stand around the word for a place in a verdict; a model's name may not."""
MOST_SAID = 8
"""Different verdicts from which on a column is no column of verdicts."""


def spelled(name: str) -> str:
    """A name in small letters, its words apart by `_` where capitals or marks part them."""
    return re.sub(r"[^a-z0-9一-鿿]{1,40}", "_", _CAMEL.sub("_", name).lower()).strip("_")


def sides_of(name: str, words: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """(side, the rest of the name) for each word of a name that is one of the two sides."""
    said = spelled(name)
    for m in _PIECES.finditer(said):
        piece = m[0]
        if piece in words:
            yield words[piece], f"{said[: m.start()]}|{said[m.end() :]}".replace("_", "")
        elif piece[0] >= "一" and len(piece) > 1:
            for at, end in ((m.start(), m.start() + 1), (m.end() - 1, m.end())):
                if said[at] in words:
                    yield words[said[at]], f"{said[:at]}|{said[end:]}".replace("_", "")


def pairs_of(table: Table, kind: str, words: Mapping[str, int]) -> list[tuple[str, Column, Column]]:
    """(rest of the name, column of the first side, of the second) of every pair of columns of this kind."""
    found: dict[str, dict[int, Column]] = {}
    for column in table.columns:
        if column.values.dtype.kind == kind:
            for side, rest in sides_of(column.name, words):
                found.setdefault(rest, {}).setdefault(side, column)
    return [(rest, by[0], by[1]) for rest, by in found.items() if len(by) == 2 and by[0] is not by[1]]


def place_of(said: str) -> int | None:
    """The place that a verdict names: 0 the first, 1 the second; None for a tie and for anything else."""
    if m := _BETTER.match(said.strip()):
        said = m[1] if m[2][0] == ">" else m[3]
    if len(said) > 24:
        return None
    found = {side for side, rest in sides_of(said, PLACES) if _AROUND.match(rest.replace("|", ""))}
    return found.pop() if len(found) == 1 else None


def by_people(table: Table) -> bool:
    """Whether people gave the verdicts of a table: its file says so, or a column has names of several of them."""
    if PEOPLE.search(spelled(table.file.rpartition("/")[2])):
        return True
    said = [set(texts(c).tolist()) for c in table.columns if c.values.dtype.kind == "O" and WHO.search(spelled(c.name))]
    return any(len(names) > 1 and all(name.isalpha() for name in names) for names in said)


def cells(column: Column) -> np.ndarray:
    """Its cells as text; whole numbers without a point."""
    if column.values.dtype.kind != "f":
        return texts(column)
    return np.array([f"{v:.10g}" if np.isfinite(v) else "" for v in column.values.tolist()], object)


def placed(column: Column) -> np.ndarray | None:
    """(n,) 0 and 1 where a verdict names a place, NaN where it does not; None for a column of other things."""
    said = cells(column)
    names = set(said.tolist())
    if not 2 <= len(names) <= MOST_SAID:
        return None
    of = {name: place_of(name) for name in names}
    if not {0, 1} <= {*of.values()} or any(v is None and not TIES.search(k) for k, v in of.items()):
        return None
    return np.array([np.nan if of[v] is None else float(of[v] or 0) for v in said.tolist()])
