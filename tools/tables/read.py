"""Any file as tables: which reader it is for is told by its first bytes, then by its name.

What a column is for is `roles`. Nothing is written and nothing executed; every reader has its limits and says in `cut`
which one it came to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from ..findings import TriageError
from ..heads import OF_RESULTS
from ..patterns import bounded
from ..reading import Line, head, is_binary, iter_chunks, iter_lines
from . import binary
from .console import read_text
from .delimited import SAMPLE_LINES, read_delimited
from .lined.called import read_called
from .lined.dicts import read_printed, read_shown
from .lined.listings import read_digests, read_listing
from .lined.pairs import read_lined
from .lined.pressed import read_pressed
from .lined.profiler import read_profiled
from .lined.told import read_ends
from .prometheus import is_prometheus, read_prometheus
from .raw import TABLES, Raw, words_of
from .roles import with_roles
from .shaped.beside import named_beside
from .shaped.wide import shaped
from .structured import JSON_LIMIT, read_json, read_json_lines, read_notebook, read_toml, read_yaml
from .table import Column, Table
from .vocabulary import SET, is_result, name_of
from .written.html import read_html
from .written.latex import read_latex
from .written.mail import MAIL_LIMIT, mail_lines
from .written.sections import read_sections
from .written.xml import read_xml

SETTINGS = words_of("learning_rate batch_size epoch loss_scale")
"""Metrics that a configuration names too."""
COUNTED = bounded(r"(?:n|n_?items|n_?samples|num_?samples|n_?questions|num_?examples|total)$")
"""Of how many items a result is: a configuration has no such number."""
EXACT = 6
"""Digits from which on a number was computed and not typed."""
RESULT_ROWS = 200
"""Rows of a table of results in a log; what has more is a log of its own."""
LEAD = bounded(
    r"^\W{0,3}(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)(?:[ \t|:-]{1,4}(?:\[[^\[\]]{1,60}\]|[\w.]{1,40}(?=\s(?:-|\|)\s)"
    r"|(?:INFO|WARN(?:ING)?|DEBUG|ERROR|CRITICAL)\b)){0,4}[ \t]?(?:[|:-]{1,3}(?:[ \t]|$))?"
    r"|^(?:INFO|WARNING|DEBUG|ERROR):[\w.]{1,40}:[ \t]?"
)
"""A clock, who speaks and how loud, before what a line of a log says."""
ABOUT = bounded(r"(?i)\b(?:results?|evaluation|scores?|reviews?|benchmarks?)\b|评测|评估|结果|得分")
"""Headings above results, whatever these are called."""
SAMPLE = 64 << 10
"""Bytes by which a file is told."""
LINES = frozenset((".md", ".log", ".out", ".err"))
"""Suffixes of texts that are no table as a whole."""
TEXT_LINES = 200_000
"""Lines of a text looked at for tables printed in it."""
LOG_LINES = 50_000
"""Lines of a log looked at for them: what it says line by line is read in `tools.logs`."""
LINED = 20_000
"""Lines of a text looked at for pairs."""
SOURCES = frozenset(
    (".py", ".sh", ".c", ".cc", ".cpp", ".h", ".cu", ".js", ".ts", ".go", ".rs", ".java", ".diff", ".patch")
)
"""Programs, which hold no table of results."""
_NUMBERS = re.compile(r"\[-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[,\]]")
_JSON = frozenset((".json", ".jsonl"))
DELIMITED = frozenset((".csv", ".tsv", ".tab", ".psv", ".ssv", ".dat", ".data"))
_PACKED = (".gz", ".zst", ".zstd")
_MAGIC: tuple[tuple[bytes, Callable[[Path], Iterator[Raw]]], ...] = (
    (b"PAR1", binary.read_arrow),
    (b"ARROW1", binary.read_arrow),
    (b"FEA1", binary.read_arrow),
    (b"SQLite format 3\0", binary.read_sqlite),
    (b"\x93NUMPY", binary.read_numpy),
)
_MARKED: dict[str, Callable[[str], Iterator[Raw]]] = {
    ".html": read_html, ".htm": read_html, ".xml": read_xml, ".tex": read_latex, ".latex": read_latex,
    ".ini": read_sections, ".cfg": read_sections, ".conf": read_sections,
}  # fmt: skip
"""Suffixes of documents in a markup of their own."""
_BY_NAME = {".arrow": binary.read_arrow, ".npz": binary.read_numpy}


def read_tables(path: Path, name: str) -> tuple[Table, ...]:
    """The tables of a file, with the role of each column; empty where it holds none.

    Raises:
        TriageError: the file is damaged or cannot be read.
    """
    raws = (form for raw in _raws(path) for form in shaped(named_beside(path, raw)))
    found = [(with_roles(raw, name), raw.loose) for raw in islice(raws, TABLES)]
    results = any(len(table) and _tells(table) for table, _ in found)
    return tuple(t for t, loose in found if len(t) and (not loose or _tells(t) or (results and len(t) == 1)))


def read_pairs(lines: Iterable[Line], name: str) -> tuple[Table, ...]:
    """The table that the lines of a log make where each says the same keys, and reports of load tests and profiles."""
    some = [*islice(lines, LINED)]
    return tuple(with_roles(raw, name) for raw in (*read_lined(some), *read_pressed(some), *read_called(some)))


def read_results(lines: Iterable[Line], name: str) -> tuple[Table, ...]:
    """The results that a log prints in blocks of their own: tables, reports of classes, names with their values.

    What stands before every line (a clock, who speaks, how loud) is left out; what goes along the way is no result.
    """
    plain = [Line(line.number, LEAD.sub("", line.text[:1000])) for line in islice(lines, LOG_LINES)]
    raws = (raw for raw in (*read_text(plain), *read_shown(plain), *read_ends(plain)) if len(raw) <= RESULT_ROWS)
    found = [with_roles(form, name) for raw in raws for form in shaped(raw)]
    return tuple(t for t in found if len(t) and not t.of("axis") and is_scored(t))


def is_scored(table: Table) -> bool:
    """Whether half of what a table measures is named as results are, or a share in percent; or two measures of one row
    have more digits than anybody types."""
    measures = table.of("measure")
    told = [c for c in measures if _is_result(c)]
    exact = [c for c in measures if len(table) == 1 and _is_computed(c)]
    return (len(told) * 2 >= max(len(measures), 1) and bool(told)) or len(exact) > 1


def _is_computed(column: Column) -> bool:
    """Whether its number was computed, and is none of a setting."""
    value = float(column.values[0])
    digits = f"{abs(value):.15g}".split("e")[0].replace(".", "").strip("0")
    is_set = column.of in SETTINGS or bool(SET.intersection(name_of(column.name).words))
    return not is_set and value % 1 != 0 and len(digits) >= EXACT


def _tells(table: Table) -> bool:
    """Whether what may be no table at all is one of results: something measured, and no configuration."""
    measures = table.of("measure")
    if len(table) > 1:
        return bool(measures)
    told = [c for c in measures if _is_result(c)]
    settings = any(SET.intersection(name_of(c.name).words) for c in measures)
    about = len(measures) > 1 and ABOUT.search(table.part) and not settings
    counted = told and any(COUNTED.match(c.name.lower()) for c in measures)
    return len(told) * 4 >= max(len(measures), 1) or bool(counted or about)


def _is_result(column: Column) -> bool:
    """Whether it is named as results are, the setting in brackets behind its name aside, or a share in percent."""
    name = re.split(r"\s?[@(\[]", column.name, maxsplit=1)[0] or column.name
    return column.of not in SETTINGS and (is_result(column.name) or is_result(name) or column.unit == "%")


def _raws(path: Path) -> Iterator[Raw]:
    start = head(path, SAMPLE)
    suffix = next((s for s in reversed(path.suffixes) if s.lower() not in _PACKED), "").lower()
    reader = next((read for magic, read in _MAGIC if start.startswith(magic)), _BY_NAME.get(suffix))
    if reader:
        yield from reader(path)
    elif start.strip() and not is_binary(start[:4096]):
        yield from _of_text(path, suffix)


def _of_text(path: Path, suffix: str) -> Iterator[Raw]:
    sample = [line.text for line in islice(iter_lines(path), SAMPLE_LINES)]
    filled = [text for text in sample if text.strip()]
    first = filled[0].lstrip() if filled else ""
    if suffix in SOURCES:
        return
    if suffix == ".ipynb":
        yield from read_notebook(_whole(path)[0])
    elif suffix in (".yaml", ".yml"):
        yield from read_yaml(_whole(path)[0], OF_RESULTS.search(path.stem.lower()) is not None)
    elif suffix == ".toml":
        yield from read_toml(_whole(path)[0])
    elif first[:1] == "{" and "'" in first and (shown := list(read_printed(_Bounded(path, LINED)))):
        yield from shown
    elif first[:1] in ("{", "[") and _is_json_lines(filled):
        yield from read_json_lines(iter_lines(path))
    elif suffix == ".json" or (first[:1] in ("{", "[") and suffix not in DELIMITED and _opens_json(filled)):
        try:
            yield from read_json(*_whole(path), mend=suffix in _JSON)
        except TriageError:
            if suffix in _JSON:
                raise
            yield from _of_lines(path, suffix)
    elif is_prometheus(sample):
        yield from read_prometheus(iter_lines(path))
    elif suffix in _MARKED:
        yield from _MARKED[suffix](_whole(path)[0])
    elif suffix == ".eml":
        yield from read_text(mail_lines(head(path, MAIL_LIMIT)))
    else:
        yield from _of_lines(path, suffix)


def _is_json_lines(filled: list[str]) -> bool:
    """Whether every line is a value of its own; a single line is a document."""
    whole = [t.strip() for t in filled]
    return (
        len(whole) > 1
        and all(t[:1] in "{[" and t.rstrip(",")[-1:] in "}]" for t in whole[:3] if t)
        and len(whole[0]) > 2
    )


def _opens_json(filled: list[str]) -> bool:
    text = "".join(filled[:3]).replace(" ", "").replace("\t", "")
    return text[:2] in ("[]", "{}", "[{", "[[", '{"', '["') or _NUMBERS.match(text) is not None


def _whole(path: Path) -> tuple[str, str]:
    """The text of a document, and why not all of it."""
    parts, size = [], 0
    for chunk in iter_chunks(path):
        parts.append(chunk.data)
        size += len(chunk.data)
        if size > JSON_LIMIT:
            text = b"".join(parts)[:JSON_LIMIT].decode("utf-8", "ignore")
            return text, f"over the limit of {JSON_LIMIT >> 20} MiB for one document"
    return b"".join(parts).decode("utf-8", "replace"), ""


def _of_lines(path: Path, suffix: str) -> Iterator[Raw]:
    """Text: what is cut by a sign as a whole, else tables printed in it."""
    if suffix in DELIMITED:
        found = list(read_delimited(iter_lines(path), strict=False))
        if found:
            yield from found
            return
    for reader in (read_listing, read_digests) if suffix not in DELIMITED else ():
        if listed := list(reader(_Bounded(path, LINED))):
            yield from listed
            return
    lines = _Bounded(path, LOG_LINES if suffix in LINES else TEXT_LINES)
    printed = list(read_text(lines))
    for raw in printed:
        raw.cut = raw.cut or lines.cut
    cells = _cells(printed)
    parted = [] if suffix in DELIMITED or suffix in LINES else list(read_delimited(iter_lines(path)))
    found = parted if _cells(parted) > 2 * cells else printed
    lined = [] if suffix in DELIMITED else list(read_lined(_Bounded(path, LINED)))
    dicts = [] if suffix in DELIMITED else list(read_printed(_Bounded(path, LINED)))
    found = dicts if _cells(dicts) > _cells([raw for raw in found if not raw.loose]) else found
    yield from lined if _cells(lined) > 2 * _cells([raw for raw in found if not raw.loose]) else found
    for reported in () if suffix in DELIMITED else (read_shown, read_pressed, read_called, read_profiled):
        yield from reported(_Bounded(path, LINED))


def _cells(raws: list[Raw]) -> int:
    return sum(len(raw) * len(raw.names) for raw in raws)


class _Bounded:
    """The first lines of a file; `cut` says afterwards whether there were more."""

    def __init__(self, path: Path, most: int) -> None:
        self._lines = iter_lines(path)
        self._most = most
        self.cut = ""

    def __iter__(self) -> Iterator[Line]:
        yield from islice(self._lines, self._most)
        if next(self._lines, None) is not None:
            self.cut = f"over the limit of {self._most:,} lines of text"
