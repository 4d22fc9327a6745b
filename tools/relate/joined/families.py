"""Files that belong together: rows of one family that call a field differently, and outputs that are all empty."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import means
from ..results.blank import of_search

LEAST_ROWS, MOST_COLUMNS = 10, 60
SHARED = 2
"""Fields that two files have in common at least, to be of one family."""
SAME_STEM = 1
PREDICTS = bounded(r"^(?:pred(?:iction)?s?|output|answer|response|generated|completion|model_output|预测|回答|输出)$")
CONTENT = bounded(
    r"^(?:text|content|body|prompt|instruction|messages|conversations?|question|query|input|doc(?:ument)?"
    r"|正文|内容|文本|问题)$"
)
OUTPUTS = bounded(r"^(?:pred(?:iction)?s?|outputs?|answers?|responses?|generated|completions?|beams?|generation"
                  r"|hypothesis|预测|回答|输出|束|生成)$")  # fmt: skip
EXTRACTED = bounded(
    r"^(?:extract(?:ed)?|pars(?:ed?))_(?:label|answer|class|choice|option|value|pred(?:iction)?|output|result|verdict)s?$"
    r"|^(?:label|answer|choice|verdict)_(?:extracted|parsed)$"
    r"|^(?:提取|解析|抽取)(?:到|出)?的?(?:标签|答案|类别|选项|结果)$"
)
"""Names of what a scorer has read out of an answer."""
GIVEN = bounded(r"(?:^|_)(?:outputs?|responses?|completions?|generat(?:ed|ion)s?|answers?|reply|raw)(?:_text)?$"
                r"|^(?:模型)?(?:回答|回复|输出|生成)$")  # fmt: skip
EXPECTED = bounded(r"^(?:outputs?|answers?|labels?|targets?|references?|gold|ground_?truth|solutions?|tgt|summary"
                   r"|translation|回答|答案|输出|标签|标准答案|参考答案)$")  # fmt: skip
"""Names of what the answers of a model are compared with, where they stand beside what it is asked."""
ASKED = bounded(
    r"^(?:instruction|prompt|questions?|query|inputs?|source|src|problem|article|document|问题|输入|指令|题目)$"
)
HELD = bounded(r"(?i)(?:^|[^a-z])(?:test|dev|eval|val|valid|validation)(?:[^a-z]|$)|测试|验证|评测")
MADE = bounded(r"(?i)pred|generat|infer|result|respon|output|rollout|预测|生成|结果")
"""Names of files that models write."""
EMPTY = re.compile(r"""[\s\[\]"',{}]*|(?:null|none|nan)""", re.I)
BLANK = re.compile(rf"{EMPTY.pattern}|(?:no|without)[_ -]?(?:gold|label|answer|reference|truth)s?|n/?a|-", re.I)
PREDICTED = bounded(r"^(?:pred(?:iction|icted)?s?|(?:model|raw|llm)_(?:output|answer|response)s?|预测|模型回答)$")
REFERENCE = bounded(
    r"^(?:gold(?:en)?|references?|ground_?truth|gt|labels?|targets?|expected(?:_\w{1,20})?|gold_\w{1,20}|标准答案|参考答案)$"
)
"""What predictions are compared with, whatever the file is called."""
MOSTLY = 0.95


def families(tables: Sequence[Table]) -> Iterator[Finding]:
    """Fields that are called differently in one file of a family, and outputs that are all empty."""
    some = [t for t in tables if len(t) >= LEAST_ROWS and 2 <= len(t.columns) <= MOST_COLUMNS and not t.part]
    tasks = (c for t in tables for c in t.columns if c.of == "task" and c.values.dtype.kind == "O" and len(t) <= 200)
    yield from _renamed(some, {v.lower() for c in tasks for v in texts(c).tolist()})
    for table in some:
        yield from _empty(table) if (lost := _unasked(table)) is None else [lost]


def _renamed(tables: Sequence[Table], scored: set[str]) -> Iterator[Finding]:
    for i, a in enumerate(tables[:200]):
        for b in tables[i + 1 : 200]:
            if a.file == b.file or _kind(a.file) != _kind(b.file):
                continue
            names = [{c.name for c in t.columns} for t in (a, b)]
            common = names[0] & names[1]
            alike = _stem(a.file) == _stem(b.file)
            if len(common) < (SAME_STEM if alike else SHARED):
                continue
            for pattern in (PREDICTS, CONTENT) if alike else (PREDICTS,):
                only = [[n for n in own - common if means(pattern, n)] for own in names]
                both = [n for n in common if means(pattern, n)]
                if all(only) and not both:
                    yield _apart(a, b, (min(only[0]), min(only[1])), pattern is PREDICTS, _unscored(a, b, scored))
                    return


def _kind(file: str) -> tuple[str, str]:
    folder, _, name = file.rpartition("/")
    return folder, name.rpartition(".")[2]


def _stem(file: str) -> str:
    return re.sub(r"[\d_.\-v]+", "", file.rpartition("/")[2].rpartition(".")[0].lower())


def _unscored(a: Table, b: Table, scored: set[str]) -> str:
    """The one of the two files that no table of results names, where one names the other."""
    names = [t.file.rpartition("/")[2].rpartition(".")[0].lower() for t in (a, b)]
    gone = [name for name in names if name not in scored]
    return gone[0] if len(gone) == 1 else ""


def _apart(a: Table, b: Table, fields: tuple[str, str], predicts: bool, gone: str) -> Finding:
    x, y = fields
    without = f"; the results have no score of {gone}" if gone else ""
    without_zh = f"；结果里没有 {gone} 的分数" if gone else ""
    return Finding(
        "prediction-field-renamed" if predicts else "fields-renamed", Severity.S1 if gone else Severity.S3,
        f"The rows of {a.file} have `{x}` where those of {b.file} have `{y}`, and neither has the other's: what reads "
        f"one name finds nothing in the other file{without}.",
        f"{a.file} 的字段是 `{x}`，而 {b.file} 是 `{y}`，彼此都没有对方的字段："
        f"按其中一个名字读，另一个文件就是空的{without_zh}。",
        (Evidence(a.file, int(a.lines[0]) or None, metric=x, text=x),
         Evidence(b.file, int(b.lines[0]) or None, metric=y, text=y)),
        {"files": [a.file, b.file], "fields": [x, y]},
    )  # fmt: skip


def _unasked(table: Table) -> Finding | None:
    """What a file of predictions asked or was to compare them with, where nearly all of that is empty."""
    if not any(means(PREDICTED, c.name) for c in table.columns):
        return None
    for code, pattern, severity in (
        ("questions-empty", ASKED, Severity.S1),
        ("references-empty", REFERENCE, Severity.S2),
    ):
        for column in table.columns:
            if column.values.dtype.kind == "O" and means(pattern, column.name):
                bare = np.array([bool(BLANK.fullmatch(v[:400])) for v in texts(column).tolist()])
                if bare.mean() >= MOSTLY:
                    return _lost(table, column, int(bare.sum()), code, severity)
    return None


def _lost(table: Table, column: Column, many: int, code: str, severity: Severity) -> Finding:
    asked = code == "questions-empty"
    en = "the answers are to nothing" if asked else "there is nothing to compare a prediction with"
    zh = "模型回答的是空题" if asked else "没有可供比较的参考答案"
    return Finding(
        code, severity,
        f"{column.name} is empty in {many} of {len(table)} rows of {table.file}, which hold predictions: {en}.",
        f"{table.file} 存有预测，但 {len(table)} 行中有 {many} 行的 {column.name} 为空：{zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name) for i in (0, 1)),
        {"field": column.name, "empty": many / len(table)},
    )  # fmt: skip


def _empty(table: Table) -> Iterator[Finding]:
    """Outputs of which nearly all are empty strings or lists of them; what a held-out file asks for and does not hold
    is no output."""
    held = HELD.search(table.file) and not MADE.search(table.file)
    asks = held and any(means(ASKED, c.name) for c in table.columns)
    for column in table.columns:
        expected = bool(asks and means(EXPECTED, column.name))
        taken, answers = means(EXTRACTED, column.name) is not None, ""
        if not (bare := _bare(column, taken)).size or not (expected or taken or means(OUTPUTS, column.name)):
            continue
        if not (expected or taken) and of_search(table):
            continue
        if bare.mean() >= MOSTLY and (not taken or (answers := _answers(table, bare))):
            yield _unread(table, column, bare, answers) if taken else _told(table, column, bare, expected)
            return


def _bare(column: Column, numbers: bool) -> np.ndarray:
    """Which cells hold nothing; of a column of numbers only where it is asked for."""
    if column.values.dtype.kind != "O":
        return np.isnan(column.values) if numbers and column.values.dtype.kind == "f" else np.empty(0, bool)
    return np.array([bool(EMPTY.fullmatch(v[:400])) for v in texts(column).tolist()])


def _answers(table: Table, bare: np.ndarray) -> str:
    """The column of the answers themselves, which are there where nothing was read out of them."""
    for column in table.columns:
        given = column.values.dtype.kind == "O" and means(GIVEN, column.name)
        if given and not any(EMPTY.fullmatch(v[:400]) for v in texts(column)[bare].tolist()):
            return column.name
    return ""


def _unread(table: Table, column: Column, bare: np.ndarray, answers: str) -> Finding:
    rows = np.flatnonzero(bare)[:2].tolist()
    return Finding(
        "outputs-empty", Severity.S1,
        f"{column.name} is empty in {bare.sum()} of {len(bare)} rows of {table.file}, and {answers} holds an answer in "
        "each of them: nothing was read out of the answers, so they are cut off before the verdict or the pattern does "
        "not fit; what is scored from it says nothing of the model.",
        f"{table.file} 的 {len(bare)} 行中有 {bare.sum()} 行的 {column.name} 为空，而 {answers} 都有回答：没能从"
        "回答里抽出结果（结论之前就被截断，或抽取规则不匹配），由此算出的分数说明不了模型。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name) for i in rows),
        {"field": column.name, "empty": float(bare.mean()), "answers": answers},
    )  # fmt: skip


def _told(table: Table, column: Column, bare: np.ndarray, expected: bool) -> Finding:
    cell = Counter(texts(column)[bare].tolist()).most_common(1)[0][0][:40]
    rows = np.flatnonzero(bare)[:2].tolist()
    of = (f" of {table.file}: there is nothing to compare an answer with", f"（{table.file}）：没有可供比较的参考答案")
    en, zh = of if expected else ("", "")
    return Finding(
        "references-empty" if expected else "outputs-empty", Severity.S3 if expected else Severity.S1,
        f"{column.name} is empty in {bare.sum()} of {len(bare)} rows ({cell or 'nothing'}){en}.",
        f"{len(bare)} 行中有 {bare.sum()} 行的 {column.name} 为空串（{cell or '空'}）{zh}。",
        tuple(Evidence(table.file, int(table.lines[i]) or None, metric=column.name) for i in rows),
        {"field": column.name, "empty": float(bare.mean())},
    )  # fmt: skip
