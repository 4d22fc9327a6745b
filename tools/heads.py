"""How the first bytes of a file say that it holds metrics: records of JSON, tables with a head row, tracked scalars.

Both the recognition of a run's files and the reader of tables ask here; the names are those of `tools.vocabulary`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from .findings import TriageError
from .metrics import canonical, counts, split_named, step_key, tells
from .patterns import bounded
from .reading import NUL_HEAD, NUL_LIMIT, UTF16, head, parse_json

SCALAR_TABLE = re.compile(rb"\"?wall[_ ]time\"?,\"?step\"?,\"?value\"?\s*$", re.I)
"""The head of a TensorBoard download: one metric, named by the file."""
TRACKED = re.compile(rb"\d{13} [-+\d.eEnaif]{1,40} \d{1,12}\s*$")
"""A line of an MLflow metric file (clock in ms, value, step), named by the file."""
SWANLAB_POINT = re.compile(rb"\{\"index\": \d{1,15}, \"data\": [-+\d.eENaIinfty]{1,40}, \"create_time\"")
"""A line of SwanLab's own files, one for each metric."""
NOTEBOOK, SETTINGS_HEAD = 20 << 20, 256 << 10
"""Bytes of a notebook, and of a file of settings, that are searched for rows."""
_PRINTED = re.compile(rb"<table|\"output_type\"\s{0,4}:\s{0,4}\"(?:stream|execute_result)\"")
"""What a notebook holds beside programs."""
RECORDS = 4
"""Records of one shape from which on they are rows."""
_NUMBERS_LISTED = bounded(
    rb"[\[,]\s{0,40}(?:\"?[-+]?(?:[\d.]{1,30}(?:e[-+]?\d{1,3})?|nan|infinity)\"?\s{0,40},\s{0,40}){8}",
    re.IGNORECASE,
)
_PAIRED = bounded(
    rb"(?:\[\s{0,40}\d{1,12}\s{0,40},\s{0,40}[-+]?[\d.]{1,30}(?:e[-+]?\d{1,3})?\s{0,40}\]\s{0,40}[,\]]\s{0,40}){3}",
    re.IGNORECASE,
)
"""A list of counts, each with a number."""
_COUNTED = bounded(
    rb"(?m)^\[\[\w"
    rb"|^[ \t]{0,40}(?:- )?[\"']?(?:global_)?(?:epoch|step|iter(?:ation)?|update)[\"']?\s{0,4}[:=]\s{0,4}\"?\d",
    re.IGNORECASE,
)
ROWED, PREAMBLE = 24, 6
"""Lines by which a table is told, and lines that may stand above its head."""
_WORD_CELL = re.compile(rb"[#%\w./()\[\]:-]{0,40}[^\W\d][\w%./()\[\]:-]{0,40}$")
_NUMBER_CELL = re.compile(
    rb"[-+]?[\d.,]{1,24}(?:[eE][-+]?\d{1,3})?(?:%|[A-Za-z]{1,3})?$|[\d:./T-]{5,25}$|(?:nan|n/a|-)$", re.IGNORECASE
)
_SECTIONS = bounded(rb"(?mi)^[ \t]{0,8}\[\s?(?:epoch|step|iter(?:ation)?|round|update|checkpoint|eval)[\s_.:#-]{0,3}\d")
"""Sections of an INI file that go along the way."""
_NUMBER_KEY = re.compile(
    rb"['\"]([^'\"\\\n]{1,100})\\?['\"]\s*:\s*(?:np\.\w+\(|tensor\(|[\[\\'\"])*(?:[-+.]?\d|nan\b|[-+]?inf)", re.I
)

SCORED_TASKS = bounded(
    rb"\A\s{0,8}\{\s{0,16}\"results?\"\s{0,4}:\s{0,4}\{\s{0,16}\"[^\"\n]{1,120}\"\s{0,4}:\s{0,4}\{\s{0,40}"
    rb"\"[^\"\n]{1,60}\"\s{0,4}:\s{0,4}(?:[-\d.]|NaN|null|\"[^\"\n]{0,60}\",\s{0,40}\"[^\"\n]{1,60}\"\s{0,4}:\s{0,4}[-\d.])"
)
"""Tasks with their measures in front, however the evaluation was set up behind them."""

_SCORED = bounded(
    rb"(?i)(?:^|[\"'_.\s-])(?:acc(?:uracy)?|(?:balanced|top[15])_acc\w{0,6}|f1(?:[_-]\w{1,12})?|precision(?:[_@]\w{1,12})?|recall(?:[_@]\w{1,12})?|(?:roc_?|pr_?)?auc(?:_\w{1,12})?"
    rb"|bleu\w{0,8}|rouge\w{0,8}|exact_match|em|wer|cer|mrr(?:@\d{1,3})?|ndcg\w{0,4}(?:@\d{1,3})?|pass(?:@|_at_)\d{1,4}|win_?rate|perplexity"
    rb"|matthews?\w{0,12}|mcc|ece|m?iou|map(?:@\d{1,3})?)[\"']?\s{0,4}[:=]\s{0,4}\"?[-\d.n]"
)
"""A number under the name of a score."""
_SHARED = bounded(rb"(?m)^[^\n:=]{2,60}[:=]\s{0,8}\d{1,3}(?:\.\d{1,6})?\s?%\s{0,4}$")
"""A line of a name and a share in percent."""
_EXACT = re.compile(rb"[:=]\s{0,4}-?(?:0\.0{0,9}[1-9]\d{5,22}|[1-9]\d{0,9}\.\d{5,22})\s{0,4}(?:[,}\r\n]|$)")
"""A number with more digits than anybody types: it was computed."""
_VALUED = bounded(rb"(?m)^\s{0,24}-?\s{0,4}name:[^\n]{1,80}\n\s{1,24}value:\s{0,4}-?[\d.]{1,24}\s{0,4}$")
"""A measure whose name and value are two fields."""
COMPUTED = 2
"""Such numbers, or such pairs, from which on a file is one of results as well."""
SCORES = 3
"""Scores from which on a text is one of results."""


def scored(start: bytes, settings: int = 0) -> bool:
    """Whether it names scores, and more of them than twice the settings beside them."""
    found = len(_SCORED.findall(start)) + len(_SHARED.findall(start))
    return found >= SCORES and found > 2 * settings


MARKUP = {
    ".html": re.compile(rb"<table", re.I), ".htm": re.compile(rb"<table", re.I),
    ".tex": re.compile(rb"\\begin\{(?:tabular|longtable)"), ".latex": re.compile(rb"\\begin\{(?:tabular|longtable)"),
    ".xml": re.compile(rb"[\"'>]\s{0,40}-?\d{1,9}(?:\.\d{1,18})?\s{0,8}[\"'<]"),
}  # fmt: skip
"""Documents in a markup of their own -> what of it shows a table."""
RULED = re.compile(rb"(?m)^[^\n]{0,400}\|[^\n]{0,400}\n\|?[ :]{0,4}-{2,}[-:| ]{0,200}\|[-:| ]{0,200}$")
"""The rule below the header of a paper's table."""
NAMES_ONLY = bounded(rb"\s{0,40}\[\s{0,40}(?:\"[^\"\n]{1,60}\"\s{0,40}(?:,\s{0,40})?){2,64}\]\s{0,40}$")
ARRAYS = re.compile(
    rb"\x93NUMPY(?s:.){0,12}'descr': '[<>|=]f[248]'.{0,60}'shape': \(\d{2,8}, \d{1,2}\)"
    rb"|\x93NUMPY(?s:.){0,12}'descr': \[\('.{0,2000}'shape': \(\d{2,8},\)"
    rb"|PK\x03\x04(?s:.){26}(?i:[\w./-]{0,40}?(?:steps?|epochs?|loss(?:es)?|acc(?:uracy)?|lrs?|rewards?|iters?|metrics?))\.npy"
)
"""A matrix of few columns, records with names, or an archive whose first array is called like what is measured."""
_SENT = bounded(
    rb"\"(?:ts|@?timestamp|time|date|datetime|sent_at|created_at|_time)\"\s{0,8}:\s{0,8}\"?"
    rb"(?:1[4-9]\d{8}|20\d\d-\d\d-\d\d[T ])",
    re.I,
)
_SENT_TEXT = re.compile(rb"\"(?:text|message|msg|log|line|content)\"\s*:\s*\"[^\"\n]{0,200}\d", re.I)
"""Records of a chat or a log store: when, and a text with numbers."""
_GROUP_COLUMN = re.compile(
    rb"(?:^|[,\t;])\"?(?:task|rank|gpu|host(?:name)?|node|source|lang(?:uage)?|dataset|domain|expert|layer|annotator)\"?(?:[,\t;\r]|$)",
    re.IGNORECASE,
)  # fmt: skip
"""A column that says whose row it is: the rows are several curves, which the reader of tables tells apart."""
_LABEL = bounded(r"(?!nan$|none$|null$|true$|false$|[-+]?inf)[^\W\d][\w./@-]{0,40}$", re.IGNORECASE)
"""What a row may be called by."""


_TEXT_OF_CLASS = re.compile(
    rb"(?i)(?:^|[,\t])\"?(?:query|queries|utterances?|sentences?[12]?|reviews?|tweets?|comments?|titles?|headlines?"
    rb"|posts?|messages?|premise)\"?(?=[,\t\r\n]|$)"
)
_CLASS_COLUMN = re.compile(  # of a data set of texts and their classes
    rb"(?i)(?:^|[,\t])\"?(?:labels?|intents?|class(?:es)?|categor(?:y|ies)|targets?|sentiments?)\"?(?=[,\t\r\n]|$)"
)


def classed(first: bytes) -> bool:
    """Whether a header is that of texts and their classes."""
    return bool(_TEXT_OF_CLASS.search(first) and _CLASS_COLUMN.search(first))


def metric_records(start: bytes) -> bool:
    """Whether numbers stand under the names of a metric and of a step or epoch."""
    keys = _keys(start)
    return any(map(counts, keys)) and any(map(tells, keys))


def names_metric(start: bytes) -> bool:
    """Whether a number stands under the name of a metric."""
    return any(map(tells, _keys(start)))


def _keys(start: bytes) -> set[str]:
    return {key.decode("utf-8", "replace") for key in _NUMBER_KEY.findall(start)}


def csv_header(first: bytes) -> list[str] | None:
    """The columns if the line is the head of a metrics table: a step-like and a metric column."""
    text = first.decode("utf-8", "replace").strip()
    if len(text) > 100_000 or ("," not in text and "\t" not in text and ";" not in text):
        return None
    columns = [c.strip().strip('"') for c in cells(text, delimiter(text))]
    if not columns or any(re.fullmatch(r"[-+]?[\d.]+(?:e[-+]?\d+)?", c) for c in columns):
        return None
    known = {hit[0] for c in columns if (hit := canonical(column_key(c)))} - {"epoch"}
    return columns if known and step_column(columns) is not None else None


UNORDERED, STRAY = 4, 0.2
"""Rows from which on their order tells, and share of them that a restart sets back."""


def grouped(start: bytes) -> bool:
    """Whether rows of one step tell the same metric of several things, by the name of a column (`rank`) or by labels
    (`"domain": "math"`), or each row is of a thing of its own: several curves in one, or none, which the reader of
    tables tells apart. Splits are none: their rows are metrics of another name."""
    if _GROUP_COLUMN.search(start.lstrip().split(b"\n", 1)[0]) or scattered(start):
        return True
    held: dict[tuple[object, str, str], set[str]] = {}
    for row in _rows(start):
        at = next((value for key, value in row.items() if counts(key)), None)
        told = [key for key, value in row.items() if value[:1] in "-.0123456789" and value and tells(key)]
        for key, value in row.items() if at is not None else ():
            if _LABEL.match(value) and not split_named(value):
                for metric in told:
                    held.setdefault((at, key, metric), set()).add(value)
    return sum(len(labels) > 1 for labels in held.values()) * 2 > len({(at, key) for at, key, _ in held})


def scattered(start: bytes) -> bool:
    """Whether each row is of something of its own, as experiments with their best epochs are: every row has a name that
    no other has, in which its step does not stand, and the steps go up and down along the rows."""
    names, steps = list[str](), list[float]()
    for row in _rows(start):
        said = next((value for key, value in row.items() if counts(key)), "")
        with suppress(ValueError):
            steps.append(float(said))
            names.append(" ".join(v for v in row.values() if _LABEL.match(v)))
    return unordered(names, steps)


def unordered(names: Sequence[str], places: Sequence[float]) -> bool:
    """The same of rows by their names and places."""
    turns = [b - a for a, b in pairwise(places) if b != a]
    back = min(sum(t < 0 for t in turns), sum(t > 0 for t in turns))
    if len(places) < UNORDERED or back <= STRAY * len(turns) or len({*names}) < len(names) or not all(names):
        return False
    return 2 * sum(f"{p:g}" in name for p, name in zip(places, names, strict=True)) < len(names)


def _rows(start: bytes) -> Iterator[dict[str, str]]:
    """The whole rows of a head of JSON lines or CSV, every value as text."""
    first, *lines = start.decode("utf-8", "replace").split("\n")[:-1] or [""]
    if first.lstrip().startswith(("{", "[")):
        for line in (first, *lines):
            try:
                row = parse_json(line.strip().strip("[],").encode())
            except ValueError:
                continue
            if isinstance(row, dict):
                yield {str(key): str(value) for key, value in row.items() if isinstance(value, (str, int, float))}
        return
    cut = delimiter(first)
    columns = [column_key(c.strip()) for c in cells(first, cut)]
    with suppress(csv.Error):  # a quoted cell may go over several lines
        for row in csv.reader((f"{line.strip()}\n" for line in lines), delimiter=cut):
            yield dict(zip(columns, row, strict=False))


COUNTED_ROWS, BACK, FEW_LENGTHS = 6, 6, 4
"""Rows by which a length is told, of how many rows one at least goes back where a column counts no way, and different
numbers that lengths have: of fewer, rows of several places stand mixed."""
_RECORD = bounded(r"\{[^{}]{1,8000}\}")
_NUMBERED = bounded(r'"([^"\\\n]{1,100})"\s{0,8}:\s{0,8}([-+]?\d[\d.eE+-]{0,30})')
_ROW_NUMBERS = frozenset(
    ("", "id", "uid", "sample_id", "index", "idx", "unnamed: 0", "line", "row", "no", "no.", "序号", "行号")
)
"""Columns that number the rows of whatever table."""


def lengths(columns: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """Counts that are no way but how long each row lasted (`steps` of an episode, of an epoch).

    They go back again and again, or stand still, while another column counts the rows one by one.
    """
    if not row_counter(columns):
        return frozenset()
    steps = {k: v for k, v in columns.items() if (plain := k.strip().lower()) != "epoch" and counts(plain)}
    return frozenset(k for k, v in steps.items() if goes_back(v))


def row_counter(columns: Mapping[str, Sequence[float]]) -> str:
    """The column that counts what the rows are, one by one; empty for none."""
    return next((k for k, v in columns.items() if k.strip().lower() not in _ROW_NUMBERS and _numbers_rows(v)), "")


def _numbers_rows(values: Sequence[float]) -> bool:
    """Whether each row stands as far behind the last as the second behind the first; a restart begins again."""
    moves = [b - a for a, b in pairwise(values)]
    if len(values) < COUNTED_ROWS or moves[0] <= 0:
        return False
    return sum(move == moves[0] for move in moves) * 10 >= len(moves) * 9


def goes_back(values: Sequence[float]) -> bool:
    """Whether whole numbers fall in a good part of the rows, or are one number."""
    if len(values) < COUNTED_ROWS or any(v != v or v % 1 for v in values):
        return False
    falls = sum(b < a for a, b in pairwise(values))
    different = len({*values})
    return (falls > 1 and falls * BACK >= len(values) and different >= FEW_LENGTHS) or different == 1


def row_lengths(rows: Sequence[Mapping[str, object]]) -> frozenset[str]:
    """`lengths` of rows as they were read; a column that is no number in one of them is none."""
    held: dict[str, list[float]] = {key: [] for key in (rows[0] if rows else ())}
    for row in rows:
        for key in [*held]:
            try:
                held[key].append(float(str(row[key])))
            except (KeyError, ValueError):
                del held[key]
    return lengths(held)


def head_lengths(start: bytes) -> frozenset[str]:
    """`lengths` of a head of JSON lines, of a list of JSON records, or of CSV."""
    records = _RECORD.findall(start.decode("utf-8", "replace"))
    return row_lengths([*_rows(start)] or [dict(_NUMBERED.findall(one)) for one in records])


OF_RESULTS = re.compile(r"(?:^|[_.-])(?:metrics|results?|scores?|summary|evals?|evaluation)(?:[_.-]|$)")
"""In the names of files of results, though settings stand in them too."""


def holds_rows(path: Path) -> bool:
    """Whether a file of settings, or a notebook, also keeps rows: numbers in lists, records with steps, frames."""
    suffix = path.suffix.lower()
    if suffix == ".ipynb":
        return _PRINTED.search(head(path, NOTEBOOK)) is not None
    if suffix not in (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg"):
        return False
    told = suffix in (".json", ".yaml", ".yml")
    if told and OF_RESULTS.search(path.stem.lower()):
        return True
    start = head(path, SETTINGS_HEAD)
    if suffix in (".ini", ".cfg"):
        return len(_SECTIONS.findall(start)) >= RECORDS
    listed = any(p.search(start) for p in (_NUMBERS_LISTED, _PAIRED)) or (
        told and (scored(start) or any(len(p.findall(start)) >= COMPUTED for p in (_EXACT, _VALUED)))
    )
    return listed or len(_COUNTED.findall(start)) >= RECORDS


def columned(start: bytes) -> bool:
    """Whether a text is a head of words and then rows of as many cells, most of them numbers: a table and no log."""
    lines = [line for line in start.split(b"\n")[:-1] if line.strip()][: ROWED + PREAMBLE]
    for i, line in enumerate(lines[: PREAMBLE + 1]):
        for sign in (None, b"|", b";", b"\t"):
            names, rows = line.split(sign), [row.split(sign) for row in lines[i + 1 :]]
            if len(names) >= 3 and sum(_WORD_CELL.match(n.strip()) is not None for n in names) >= len(names) - 1:
                even = [row for row in rows if len(row) == len(names)]
                cells = [c.strip() for row in even for c in row]
                numbers = sum(_NUMBER_CELL.match(c) is not None for c in cells)
                if len(even) >= 4 and len(even) >= 0.9 * len(rows) and numbers * (2 if sign else 1.4) >= len(cells):
                    return True
    return False


def exported(start: bytes) -> bool:
    """Whether records are messages of a chat or a log store."""
    return _SENT.search(start) is not None and _SENT_TEXT.search(start) is not None


def delimiter(text: str) -> str:
    return max(",\t;", key=text.count)


def column_key(name: str) -> str:
    """The key of a column; exports of experiment trackers put the name of the run before it."""
    return name.rsplit(" - ", 1)[-1]


EPISODES = ("epoch", "episode", "episodes", "ep", "round", "game", "trial", "回合", "轮次", "轮", "局")
"""Columns that count the rows where no column counts the steps, the one to be preferred first."""


def step_column(columns: list[str], without: frozenset[str] = frozenset()) -> int | None:
    """The column that counts the steps, or else the epochs; `without` those that are lengths, what these are of."""
    plain = [c.lower() for c in columns]
    steps = [
        (order, i) for i, c in enumerate(plain) if (order := step_key(c)) is not None and columns[i] not in without
    ]
    if steps:
        return min(steps)[1]
    return next((plain.index(c) for c in (EPISODES if without else EPISODES[:1]) if c in plain), None)


def cells(text: str, delimiter: str) -> list[str]:
    if '"' not in text:
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def sniffed(path: Path, size: int) -> tuple[bytes, int]:
    """The first bytes after those NUL bytes with which a file begins that was not written out, and how many those are.

    Raises:
        TriageError: as `iter_chunks`.
    """
    first = head(path, size)
    if wide := next((name for mark, name in UTF16.items() if first.startswith(mark)), ""):
        return first.decode(wide, "ignore").removeprefix("\ufeff").encode(), 0  # what PowerShell writes by `>`
    if not first.startswith(bytes(NUL_HEAD)):
        return first, 0
    longer = head(path, NUL_LIMIT + size)
    rest = longer.lstrip(b"\0")
    return (rest[:size], len(longer) - len(rest)) if rest else (first, 0)


def beginning(path: Path, size: int) -> str:
    """The first bytes as text, bad ones replaced; empty where the file cannot be read, which its own reader tells."""
    with suppress(TriageError, OSError):
        return head(path, size).decode("utf-8", "replace")
    return ""


def mostly_pairs(head: bytes) -> bool:
    """Whether a text is one pair a line, each of another key, as arguments are dumped."""
    lines = [line for line in head.splitlines()[:-1] if line.strip() and not line.lstrip().startswith((b"#", b"["))]
    keys = [line.partition(b"=")[0] for line in lines if _PAIRS.match(line)]
    return len(keys) >= max(3, 0.8 * len(lines)) and len(set(keys)) * 2 > len(keys)


def logged(head: bytes) -> bool:
    """Whether most lines are those of a log, whatever stands between their parts: a count that goes up, and two names
    with their numbers behind colons."""
    lines = [line for line in head.splitlines()[:-1] if line.strip()]
    told = [int(m[1]) for line in lines if (m := _COUNT.match(line)) and _TOLD.search(line)]
    return len(told) > 3 and len(told) * 2 > len(lines) and all(a < b for a, b in pairwise(told))


_COUNT = bounded(rb"\D{0,40}?(\d{1,9})(?![\d.])")
_TOLD = bounded(rb"(?:(?:^|[\s,;])[A-Za-z][\w '-]{0,40}:\s{0,4}[-+]?\d[^\s,;]{0,20}.{0,12}){2}")
_PAIRS = bounded(rb"(?m)^[A-Za-z_][\w.-]{0,60}\s{0,40}=\s{0,40}[^\s=].{0,200}$")
