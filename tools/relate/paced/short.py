"""Results that hold fewer answers than there were items, while the score is over all of them.

A record gives the two counts, and the score says what it was divided by, or a record of an earlier evaluation has both
counts alike. Where a record counts by topic, its sums are held against those of its siblings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...metrics import split_named
from ...patterns import bounded
from ...tables.table import Table
from ..distributions import texts
from ..joined.experiment import WORDS, one_row
from ..line import plain

DUE = bounded(
    r"^(?:n|num|total|items?|count|size|samples|questions|queries|prompts|problems|tasks|examples|expected|gold|rows)$"
    r"|^(?:n|num|total|all|full|expected|gold|ref|reference|dataset|testset|test|eval|suite|set|whole)_?"
    r"(?:n|num|count|size|total|items?|samples|questions|queries|prompts|problems|tasks|examples|rows|lines|set)$"
    r"|^(?:items?|samples|questions|prompts|examples|problems)_(?:total|all|expected|in_set|n|count)$"
    r"|^(?:总数|总题数|题数|题目数|总条数|总样本数|样本数|全部|应有|应答|期望|满题)$"
)
GOT = bounded(
    r"(?:^|_)(?:preds?|predictions?|predicted|answers?|answered|lines|rows|records|outputs?|responses?|received|got"
    r"|merged|collected|gathered|joined|found|read|seen|scored|done|finished|completed|written|actual|generated|have"
    r"|loaded|present|returned|evaluated|used|lines_in|rows_in)(?:_|$)|实收|实际|已答|预测|行数|读到|收到|合并|完成|到齐|读入"
)
NOT_GOT = bounded(
    r"correct|right|(?:^|_)(?:hits?|pass(?:ed)?|ok|wrong|fail\w{0,4}|errors?|any|with|has|no|non|valid|parsed|parsable|parseable|extracted"
    r"|invalid|empty|tokens?|len|length|unique|distinct|dups?|kept|filtered|truncated|stop\w{0,5}|refus\w{0,4}|time\w{0,4}"
    r"|sec|s|ms|shots?|few_?shot|max|min|seed|batch|k|chars?|words?|size_mb|bytes|step|epoch|train\w{0,4})(?:_|$)"
    r"|正确|答对|命中|有效|解析|错误|失败|截断|去重|训练"
)
TAKEN = bounded(
    r"remov|drop|filter|dedup|dup|skip|discard|exclud|reject|refus|timeout|timed_out|error|fail|invalid|too_long"
    r"|过滤|跳过|去重|剔除|失败|超时|拒答|超长"
)
CORRECT = bounded(
    r"^(?:n_?|num_?)?(?:correct|right|hits?|passed|pass|solved|ok|wins?)(?:_?(?:n|count))?$|正确数|答对|命中数|正确"
)
LIMITS = bounded(r"limit|subset|max_(?:samples|items|examples)|first_n|抽样|子集|上限")
OF_ITEMS = bounded(
    r"(?:^|_)(?:n|num|count|total|items?|questions?|prompts?|samples?|examples?|support|asked|cases|problems?|rows|lines)(?:_|$)"
    r"|题数|条数|样本|数量|总数"
)
SCORE = bounded(
    r"^(?:acc|accuracy|score|em|exact_match|pass_?rate|pass_?1|rate|mean|avg|overall|f1|result)$|准确率|得分|分数|正确率|总分"
)
NAMES = bounded(
    r"(?i)result|eval|metric|score|bench|summary|test|out|report|ans|pred|nightly|评测|结果|成绩|得分|step|ckpt"
)
LEAST, SHORT, FEWEST = 40, 0.01, 0.2
"""Items of an evaluation, share of them that is missing at least, and share that is there at least."""
SAME = 0.006
"""Part of a score up to which rounding goes."""
MOST_ROWS, MOST_GROUPS = 64, 200


@dataclass(frozen=True)
class Record:
    """Numbers that one report, or one row of a history, gives beside each other."""

    file: str
    label: str
    numbers: Mapping[str, float]
    lines: Mapping[str, int | None]

    def evidence(self, name: str) -> Evidence:
        return Evidence(self.file, self.lines.get(name), metric=name, value=self.numbers[name])


def fewer(tables: Sequence[Table], stated: Sequence[Stated]) -> Iterator[Finding]:
    """Records with fewer answers than items."""
    records = [*_records(tables, stated)]
    for record in records:
        for got, due in _pairs(record.numbers):
            have, need = record.numbers[got], record.numbers[due]
            full = [r for r in records if r is not record and r.numbers.get(got) == r.numbers.get(due, -1.0)]
            full = [r for r in full if abs(r.numbers[due] - need) <= 0.02 * need]
            fewest = [r for r in records if r is not record and r.numbers.get(got, 0) < r.numbers.get(due, 0)]
            by = _divided(record.numbers, have, need)
            if by is None and (not full or len(fewest) > len(full) or not _lower(record, full[0], have, need)):
                continue
            yield _short(record, got, due, by, full[0] if full else None)
            return


def _records(tables: Sequence[Table], stated: Sequence[Stated]) -> Iterator[Record]:
    """The rows of small tables of results, and small files of `key: number`."""
    read = set()
    for t in tables:
        numbers = [c for c in t.columns if c.values.dtype.kind == "f"]
        if not 1 <= len(t) <= MOST_ROWS or len(numbers) < 2:
            continue
        read.add(t.file)
        words = [c for c in t.columns if c.values.dtype.kind == "O"]
        for i in range(len(t)):
            label = " ".join(str(c.values[i]) for c in words)[:60]
            values = {c.name: float(c.values[i]) for c in numbers if np.isfinite(c.values[i])}
            yield Record(t.file, label, values, dict.fromkeys(values, int(t.lines[i]) or None))
    by_file: dict[str, list[Stated]] = {}
    for one in stated:
        named = NAMES.search(one.file) and one.file.endswith((".json", ".yaml", ".yml", ".txt", ".toml"))
        if named and one.how == "said" and one.number is not None and one.file not in read:
            by_file.setdefault(one.file, []).append(one)
    for file, some in by_file.items():
        if len(some) <= MOST_ROWS:
            first = {s.key: s for s in reversed(some)}
            yield Record(
                file, "", {k: s.number or 0.0 for k, s in first.items()}, {k: s.line for k, s in first.items()}
            )


def _pairs(numbers: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """(what came, what was due) of a record, where nothing beside them says where the rest is."""
    whole = {n: v for n, v in numbers.items() if v >= 1 and float(v).is_integer()}
    for due, need in whole.items():
        if need < LEAST or not DUE.search(_last(due)):
            continue
        for got, have in whole.items():
            if got == due or not GOT.search(_last(got)) or NOT_GOT.search(_last(got)) or _parent(got) != _parent(due):
                continue
            accounted = any(
                v == need - have and n not in (got, due) and TAKEN.search(plain(n)) for n, v in whole.items()
            )
            accounted |= any(LIMITS.search(plain(n)) for n in numbers)
            if FEWEST * need <= have < (1 - SHORT) * need and not accounted:
                yield got, due


def _last(name: str) -> str:
    return plain(name.rpartition(".")[2])


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def _divided(numbers: Mapping[str, float], have: float, need: float) -> tuple[str, str, float] | None:
    """(right answers, score, score over what came) where the score is that over all items."""
    for right, k in numbers.items():
        if not CORRECT.search(_last(right)) or not 0 < k <= have or k != int(k):
            continue
        for score, value in numbers.items():
            if score == right or not SCORE.search(_last(score)) or value <= 0:
                continue
            scale = 100.0 if value > 1 else 1.0
            over_all, over_got = scale * k / need, scale * k / have
            if abs(value - over_all) <= SAME * value and abs(value - over_got) > 2 * SAME * value:
                return right, score, over_got
    return None


def _lower(record: Record, full: Record, have: float, need: float) -> bool:
    """Whether the score of the record is as far below its sibling's as what is missing may explain, or none is "
    "given."""
    if any(CORRECT.search(_last(n)) and float(v).is_integer() for n, v in record.numbers.items() if v >= 1):
        return False  # what it was divided by can be told, and it was not all items
    scores = [n for n in record.numbers if SCORE.search(_last(n)) and n in full.numbers and full.numbers[n] > 0]
    return not scores or any(record.numbers[n] / full.numbers[n] <= 1 - 0.4 * (1 - have / need) for n in scores)


def _short(record: Record, got: str, due: str, by: tuple[str, str, float] | None, full: Record | None) -> Finding:
    have, need = record.numbers[got], record.numbers[due]
    missing = need - have
    en = [f"{got} is {have:.0f} of {due} {need:.0f} in {record.file}: {missing:.0f} answers "
          f"({missing / need:.1%}) never "
          "came into the score"]  # fmt: skip
    zh = [
        f"{record.file} 中 {got} 为 {have:.0f}，而 {due} 为 {need:.0f}：有 {missing:.0f} 条（"
        f"{missing / need:.1%}）没有进入评分"
    ]
    places = [record.evidence(got), record.evidence(due)]
    if by is not None:
        right, score, fair = by
        en.append(f"{score} {record.numbers[score]:.4g} is {record.numbers[right]:.0f} / {need:.0f}, over what "
                  f"came it is "
                  f"{fair:.4g}")  # fmt: skip
        zh.append(
            f"{score} {record.numbers[score]:.4g} 是 {record.numbers[right]:.0f} / {need:.0f}，按实际条数为 {fair:.4g}"
        )
        places += [record.evidence(score), record.evidence(right)]
    if full is not None:
        label = f" ({full.label})" if full.label else ""
        en.append(f"{full.file}{label} has {full.numbers[got]:.0f} of {full.numbers[due]:.0f}")
        zh.append(f"{full.file}{label} 则为 {full.numbers[got]:.0f} / {full.numbers[due]:.0f}")
        places.append(full.evidence(got))
    return Finding("answers-short-of-items", Severity.S2, f"{'; '.join(en)}.", f"{'；'.join(zh)}。", tuple(places),
                   {"have": have, "need": need, "missing": missing, "divided": by is not None})  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """A count of a table by its labels."""

    table: Table
    name: str
    by: Mapping[str, float]
    lines: Mapping[str, int]

    @property
    def total(self) -> float:
        return sum(self.by.values())


def summing(tables: Sequence[Table], stated: Sequence[Stated]) -> Iterator[Finding]:
    """Reports by topic whose counts add up to less than those of their siblings, which all agree."""
    alike: dict[tuple[str, str, frozenset[str]], list[Counts]] = {}
    for table in tables:
        for counts in _counted(table):
            key = (plain(table.part), plain(counts.name), frozenset(counts.by))
            alike.setdefault(key, []).append(counts)
    due = [s for s in stated if s.how == "said" and s.number and DUE.search(plain(s.key))]
    for some in alike.values():
        most = max(c.total for c in some)
        full = next(c for c in some if c.total == most)
        some = [c for c in some if c is full or _of_one_row(c.table.file, full.table.file)]
        if len(some) < 2 or len({c.table.file for c in some}) < len(some):
            continue
        full = [c for c in some if c.total == most]
        short = [c for c in some if c.total < (1 - SHORT) * most]
        same = all(c.by == full[0].by for c in full)
        own = {c.table.file for c in some}  # what a report says of itself binds no other
        totals = {s.number for s in due if s.file not in own}
        if not short or len(short) > len(full) or not same or (len(full) < 2 and most not in totals):
            continue
        for one in short:
            lower = [k for k, v in one.by.items() if v < full[0].by[k]]
            if any(v > full[0].by[k] for k, v in one.by.items()) or not lower or one.total < FEWEST * most:
                continue
            yield _sums(one, full[0], lower, most in totals)
            return


def _of_one_row(mine: str, theirs: str) -> bool:
    """Whether two reports are of one test by their names: of one row of files, and of no two held-out sets."""
    words = {*WORDS.findall(mine.lower())} ^ {*WORDS.findall(theirs.lower())}
    return one_row(mine, theirs) and not any(split_named(word) for word in words)


def _counted(table: Table) -> Iterator[Counts]:
    if not 2 <= len(table) <= MOST_GROUPS:
        return
    label = next(
        (c for c in table.columns if c.values.dtype.kind == "O" and len(set(texts(c).tolist())) == len(table)), None
    )
    if label is None:
        return
    said = texts(label).tolist()
    for c in table.columns:
        v = c.values
        if c is not label and v.dtype.kind == "f" and np.isfinite(v).all() and (v == np.round(v)).all():
            name = _last(c.name)
            named = (OF_ITEMS.search(name) or GOT.search(name)) and not NOT_GOT.search(name)
            if v.min() >= 0 and v.sum() >= LEAST and named:
                yield Counts(table, c.name, dict(zip(said, v.tolist(), strict=True)),
                             dict(zip(said, table.lines.tolist(), strict=True)))  # fmt: skip


def _sums(one: Counts, full: Counts, lower: Sequence[str], stated: bool) -> Finding:
    missing = full.total - one.total
    parts = full.total / missing
    part = f", 1 part of {parts:.0f}" if 2 <= round(parts) <= 64 and abs(parts - round(parts)) < 0.05 else ""
    part_zh = f"，约为 1/{parts:.0f}" if part else ""
    also = " and as many items are set" if stated else ""
    also_zh = "，与题集的总数一致" if stated else ""
    return Finding(
        "answers-short-of-items", Severity.S2,
        f"{one.name} adds up to {one.total:.0f} in {one.table.file} and to {full.total:.0f} in "
        f"{full.table.file}{also}: "
        f"{missing:.0f} answers are missing{part}, in {len(lower)} of {len(one.by)} groups.",
        f"{one.table.file} 的 {one.name} 合计 {one.total:.0f}，而 {full.table.file} 为 {full.total:.0f}{also_zh}：缺 "
        f"{missing:.0f} 条{part_zh}，涉及 {len(one.by)} 组中的 {len(lower)} 组。",
        (Evidence(one.table.file, one.lines[lower[0]] or None, metric=one.name, value=one.by[lower[0]], text=lower[0]),
         Evidence(full.table.file, full.lines[lower[0]] or None, metric=full.name, value=full.by[lower[0]],
                  text=lower[0])),
        {"have": one.total, "need": full.total, "missing": missing, "divided": False},
    )  # fmt: skip
