"""Results of evaluations as rows: what each is about, its measures, and of how many items, whatever file holds them.

A row of a table is one, and of a nested object each part: `{"before": {"acc": 0.4}, "after": {"acc": 0.3}}` is two.
A word that tells a training from its base is taken out of a measure's name (`base_acc`) and put to the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import PurePosixPath

import numpy as np

from ...data.statistics import items_of
from ...findings import Evidence
from ...patterns import bounded
from ...tables.series import apart
from ...tables.table import Column, Table
from ..line import plain
from ..scores.read import HOLDERS
from ..summed.words import WHOLE, named_score

MOST_ROWS, MOST, SHORT = 200, 4000, 60
"""Rows of a table, rows of a run, and characters of a cell that says what a row is about."""
COARSE_VALUES = 5
"""Values of a score in many rows up to which it is of a handful of items."""
ALONG = ("step", "epoch", "time", "tokens", "samples")
"""Ways along which a table is a curve and no result."""
TRAINED = bounded(
    r"(?:sft|dpo|simpo|ppo|orpo|grpo|gspo|dapo|kto|rlhf|rloo|rlvr|rl|reinforce|lora|qlora|dora|peft|cpt|ft|finetun(?:e|ed|ing)|"
    r"tun(?:ed|ing)|trained|aligned|distill(?:ed)?|after|post|posttrained)\d{0,2}|дообученн\w{2,3}|미세조정|微调后?|训练后|强化后?|精调|蒸馏后?|后训练|对齐后"
)
"""Words of a name that say that the model was trained here."""
BASE = bounded(
    r"(?:base|baseline|basemodel|before|pre|pretrained|orig(?:inal)?|initial|vanilla|untuned|untrained|raw|reference|ref|pt)"
    r"|базов\w{2,3}|исходн\w{2,3}|기본|베이스|ベース|基座|底座|基线|基准|原始|训练前|微调前|之前"
)
"""Words that say that it is the model before it."""
FILLER = bounded(r"(?:fine|model|training|train|eval|evaluation|result|results|report|metrics?|scores?|summary|test|out"
                 r"|output|full|final|best|only|v\d{1,2}|模型|结果)")  # fmt: skip
"""Words that name no other thing."""
_WORDS = re.compile(r"[^a-z0-9一-鿿а-яё가-힣ァ-ヶー]+")
HIGHER = bounded(
    r"(?:^|_)(?:acc(?:uracy)?(?:_norm)?|f1\w{0,12}|exact(?:_match)?|em|bleu\w{0,8}|chrf\w{0,4}|rouge\w{0,8}|meteor|bertscore\w{0,8}|sari"
    r"|precision\w{0,12}|recall\w{0,12}|auc|auroc|mrr\w{0,6}|ndcg\w{0,8}|hits?_?\d{0,3}|pass_?(?:at_?)?\d{0,4}|success(?:_rate)?|win_?rate"
    r"|spearman\w{0,6}|pearson\w{0,6}|mc[12]|\w{0,20}scores?|\w{0,20}_rating)$|准确率|正确率|得分|分数|胜率|召回率|精确率|精度"
)
"""Measures of which more is better."""
LOWER = bounded(
    r"std|stderr|(?:^|_)se$|loss|ppl|perplex|error|err(?:_|$)|fail|time|latency|halluc|toxic|refus|violat|harm|bias|unsafe|leak|repeat"
    r"|repetition|invalid|wer$|cer$|mse|mae|distance|diff|delta|minus|change|gain|improve|cost|threshold|val_score|anomal|p_value|误差"
    r"|错误|损失|困惑|幻觉|毒性|拒答|提升|差值"
)
"""Measures of which less is better, and what is no level."""
LESS = bounded(
    r"(?:^|_)(?:wer|cer|mer|ter|(?:\w{1,20}_)?(?:errors?|err|failures?|fail(?:ed)?|violations?|hallucinations?|toxic(?:ity)?"
    r"|harmful(?:ness)?|refusals?|invalid|unsafe|leak(?:age)?|repetition|crash(?:es)?)_(?:rate|ratio|share|pct|percent))$"
    r"|(?:错误|失败|违规|幻觉|毒性|拒答|无效|重复)率"
)
"""Levels of which less is better."""
SHARE = bounded(r"(?:^|_)(?:acc(?:uracy)?(?:_norm)?|f1\w{0,12}|exact(?:_match)?|em|precision|recall"
                r"|pass_?(?:at_?)?\d{0,4}|success(?:_rate)?|win_?rate|hits?_?\d{0,3}|mc[12])$"
                r"|准确率|正确率|胜率|召回率")  # fmt: skip
"""Measures that are a share of items."""


@dataclass(frozen=True)
class Row:
    """The measures of one model, task, method or group of items."""

    file: str
    part: str
    line: int | None
    names: tuple[str, ...]
    """What the row is about: its labels and the keys above it, `HOLDERS` left out."""
    values: Mapping[str, float]
    """Measure -> value as the file writes it; NaN where the file says so."""
    n: int | None
    """Items that were measured, where it is said."""

    @property
    def said(self) -> str:
        """How people find it."""
        names = " / ".join(self.names)
        return f"{names} ({self.file})" if names else self.file

    def evidence(self, metric: str) -> Evidence:
        value = self.values[metric]
        return Evidence(self.file, self.line, metric=metric, value=value if isfinite(value) else None,
                        text=f"{' / '.join(self.names)} {metric} {value:.4g}".strip()[:120])  # fmt: skip

    def scores(self) -> dict[str, float]:
        """Its measures of which more is better."""
        return {k: v for k, v in self.values.items() if is_score(k)}


TRIVIAL = bounded(
    r"(?:^|_)(?:no|without)_?(?:filter\w*|model|method|defen[cs]e|guard\w*|classifier|detector|check)(?:_|$)|(?:^|_)(?:always"
    r"|dummy|majority(?:_class)?|most_frequent|null_model|(?:all|accept|reject|flag|pass|block)_(?:positives?|negatives?|all|everything|none))"
    r"(?:_|$)|不过滤|无过滤|多数类|全部(?:通过|拒绝)"
)
"""What people call a row that is to answer one thing, and shows what that scores."""


def is_trivial(row: Row) -> bool:
    """Whether a row is called one that flags everything or nothing, as a bar for the others."""
    return any(TRIVIAL.search(plain(name)) for name in (*row.names, row.part, PurePosixPath(row.file).stem))


def is_score(name: str) -> bool:
    said = plain(name)
    return bool((HIGHER.search(said) or named_score(name)) and not LOWER.search(said))


def good_way(name: str) -> int:
    """1 for a measure of which more is better, -1 for one of which less is, 0 for what is no level of either."""
    return 1 if is_score(name) else -1 if LESS.search(plain(name)) else 0


def words(text: str) -> frozenset[str]:
    return frozenset(w for w in _WORDS.split(text.lower()) if w)


def place_words(row: Row) -> frozenset[str]:
    """The words of the path of a row's file and of its names."""
    path = PurePosixPath(row.file)
    return words(f"{path.parent}/{path.stem} {' '.join(row.names)}")


def results(tables: Sequence[Table]) -> list[Row]:
    """The rows of every table that is no curve."""
    found: dict[tuple[str, tuple[str, ...], tuple[str, int] | None], Row] = {}
    for table in tables:
        if not len(table) or len(table) > MOST_ROWS or _is_curve(table) or len(found) > MOST:
            continue
        for i, row in enumerate(_rows(table)):
            key = (row.file, row.names, (table.part, i) if len(table) > 1 else None)
            if key not in found or _says_more(row, found[key]):
                found[key] = row
    return _counted(found.values())


def _is_curve(table: Table) -> bool:
    """Whether its rows go along a way, most of them; a duration is none where every row has a label of its own."""
    placed = [c for c in table.of("axis") if c.values.dtype.kind != "f" or np.isfinite(c.values).mean() > 0.5]
    ways = {c.of for c in placed if c.values.dtype.kind != "f" or not apart(table, c)}
    ways = ways & {*ALONG} if len(table) > 1 else set()
    own = any(len({*c.values.tolist()}) == len(table) for c in table.of("group") if c.values.dtype.kind == "O")
    if own and _both_sides(table):
        return False
    return bool(ways - {"time"} if own else ways)


def _both_sides(table: Table) -> bool:
    """Whether each row has a measure of a training and of its base: the steps beside them say how long it took."""
    sides = [_side(c.name.rpartition(".")[2]) for c in table.columns]
    trained, base = ({rest for side, rest in sides if rest and of.fullmatch(side)} for of in (TRAINED, BASE))
    return bool(trained & base)


def _side(name: str) -> tuple[str, str]:
    """The word of a name that tells a training from its base, and the rest of it; both empty where there is none."""
    parts = [w for w in plain(name).split("_") if w]
    side = next((w for w in parts if TRAINED.fullmatch(w) or BASE.fullmatch(w)), "")
    return (side, "_".join(w for w in parts if w != side)) if side and len(parts) > 1 else ("", "")


def _says_more(row: Row, other: Row) -> bool:
    """Whether a part is read more fully there: by its measures, then by where it stands."""
    return (len(row.values), row.line or 0) > (len(other.values), other.line or 0)


def _counted(rows: Iterable[Row]) -> list[Row]:
    """The rows, with the number of items that the file says once for those that do not say it."""
    some = list(rows)
    whole = {r.file: r.n for r in some if r.n and not r.names}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in some:
        groups.setdefault((row.file, row.part), []).append(row)
    few = {key: _few(group) for key, group in groups.items()}
    said = (r.n or whole.get(r.file) or few[r.file, r.part] for r in some)
    return [r if r.n else replace(r, n=n) for r, n in zip(some, said, strict=True)]


def _few(rows: Sequence[Row]) -> int | None:
    """Of how few items all scores of a table are shares, where every one of them shows it."""
    names = dict.fromkeys(k for r in rows for k in r.values if SHARE.search(plain(k)) or _benchmark(k))
    found = [items_of(np.array([r.values[k] for r in rows if k in r.values])) for k in names]
    return (
        max(found, default=0) or None if all(n or _bounds(rows, k) for n, k in zip(found, names, strict=True)) else None
    )


def _benchmark(name: str) -> bool:
    return named_score(name) and not LOWER.search(plain(name))


def _bounds(rows: Sequence[Row], name: str) -> bool:
    """Whether a score has hardly any value but none and all."""
    values = {r.values[name] for r in rows if name in r.values}
    return len(values) <= COARSE_VALUES and len(values) * 2 < len(rows)


def _rows(table: Table) -> Iterator[Row]:
    labels = [c for c in table.columns if c.values.dtype.kind == "O" and not _numbers(c)]
    numbers = [c for c in table.columns if c.values.dtype.kind == "f" or _numbers(c)]
    above = tuple(p for p in _above(table.part) if p and plain(p) not in HOLDERS) if len(table) == 1 else ()
    for i in range(len(table)):
        own = [str(c.values[i]).strip() for c in labels if "." not in c.name]
        own = [s for s in own if s and len(s) <= SHORT and s.lower() not in ("true", "false", "nan", "none")][:6]
        for names, values in _split(numbers, i).items():
            kept = (*above, *own, *names)
            yield Row(table.file, table.part, int(table.lines[i]) or None, kept, values, _size(values))


def _above(part: str) -> list[str]:
    """The headings, or the keys, above a table."""
    return part.split(" / ") if " " in part else re.split(r"[./]", part)


def _numbers(column: Column) -> bool:
    """Whether the cells of a column of labels are numbers all the same: `tp`, `precision` of a single row."""
    cells = column.values.tolist()
    return column.values.dtype.kind == "O" and len(cells) <= 8 and all(_number(v) is not None for v in cells)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _split(columns: Sequence[Column], i: int) -> dict[tuple[str, ...], dict[str, float]]:
    """The measures of a row by the keys above them, and by a word of their name that tells a training from its base."""
    out: dict[tuple[str, ...], dict[str, float]] = {}
    for column in columns:
        value = _number(column.values[i])
        if value is None or (not isfinite(value) and not (column.nans == i).any()):
            continue
        *above, leaf = column.name.split(".")
        names = tuple(p for p in above if plain(p) not in HOLDERS)
        side, rest = _side(leaf)
        names, leaf = ((*names, side), rest) if side else (names, leaf)
        out.setdefault(names, {})[leaf] = value
    return out


def _size(values: Mapping[str, float]) -> int | None:
    """How many items, by the name of a count."""
    name = count_of(values)
    return int(values[name]) if name else None


def count_of(values: Mapping[str, float]) -> str:
    """The measure that says of how many items the others are; empty where none does."""
    for name, value in values.items():
        said = plain(name)
        scored = is_score(name) and not said.endswith(("_count", "_n"))
        counts = WHOLE.search(said) and not (LOWER.search(said) or _PARTIAL.search(said) or scored)
        if counts and np.isfinite(value) and value >= 1 and float(value).is_integer():
            return name
    return ""


_PARTIAL = bounded(
    r"correct|right|token|char|word|param|step|epoch|route|shot|wins?(?:_|$)|flag|worker|rank|layer|vocab|正确"
)
