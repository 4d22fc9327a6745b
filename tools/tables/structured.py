"""JSON documents, JSON lines, YAML and notebooks as tables; what a value holds is `records`.

A document that breaks off (still being written, or past the limit) is read up to its last whole value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..findings import TriageError
from ..heads import scored
from ..patterns import bounded
from ..reading import Line, parse_json
from .console import read_text
from .lined.dicts import read_shown
from .raw import Raw, Records, short
from .records import Walk, flat, limited

JSON_LIMIT = 32 << 20
"""Bytes of a document parsed as one value: as Python's objects it takes ten times as much."""
YAML_LIMIT = 2 << 20
"""Bytes of a YAML file: its parser is slow."""
SCORED = 64 << 10
"""Characters of it in which names of scores are sought."""
PLACED = 8 << 20
"""Bytes of a document in which the line of every row is looked up."""
PRINTED = 5000
"""Lines of one output of a notebook."""
NESTED = 64
"""Levels of a damaged document that are closed again."""
_NUMBER = bounded(r"[-+]?\d{1,25}(?:\.\d{0,25})?(?:e[-+]?\d{1,3})?")
_GIVEN = bounded(rf"[(\[]?\s{{0,4}}{_NUMBER.pattern}(?:,\s{{0,4}}{_NUMBER.pattern}){{0,7}}\s{{0,4}}[)\]]?")
"""A number, or a few of them, and nothing else."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]|\n')


def read_json(text: str, cut: str = "", mend: bool = True) -> Iterator[Raw]:
    """The tables of one document; with `mend` also of one that breaks off.

    Raises:
        TriageError: nothing of it can be read.
    """
    try:
        value = parse_json(text.encode("utf-8", "replace"))
    except ValueError as error:
        if not mend:
            raise TriageError(f"no JSON: {str(error)[:120]}") from None
        value, cut = _mended(text, cut or f"it breaks off or is damaged: {str(error)[:120]}")
    for raw in limited(Walk(_lines(text, value)).tables(value)):
        raw.cut = raw.cut or cut
        yield raw


def _mended(text: str, why: str) -> tuple[Any, str]:
    """The value of a document up to its last whole part.

    Raises:
        TriageError: nothing of it can be read.
    """
    for end, closing in reversed(_whole(text)):
        try:
            return parse_json((text[:end] + closing).encode("utf-8", "replace")), why
        except ValueError:
            continue
    raise TriageError(f"no JSON: {why}")


def _whole(text: str) -> list[tuple[int, str]]:
    """The last places where a value has just ended, with the brackets that are open there."""
    open_, ends = [], []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("[", "{"):
            open_.append("]" if token == "[" else "}")
        elif token in ("]", "}"):
            if not open_ or open_.pop() != token:
                break
            if 0 < len(open_) <= NESTED:
                ends = [*ends[-4:], (match.end(), "".join(reversed(open_)))]
    return ends


def _lines(text: str, value: Any):
    """The line where each record of a document begins: the records in their order, the brackets in theirs."""
    if len(text) > PLACED or "\n" not in text.strip():
        return lambda value: 0
    number, lines = 1, []
    for match in _TOKEN.finditer(text):
        if match[0] == "\n":
            number += 1
        elif match[0] in ("[", "{"):
            lines.append(number)
        elif match[0][0] == '"':
            number += match[0].count("\n")
    order = list(_containers(value))
    if len(order) != len(lines):
        return lambda value: 0  # a key that stands twice has lost its first value
    places = {id(v): line for v, line in zip(order, lines, strict=True)}
    return lambda value: places.get(id(value), 0)


def _containers(value: Any) -> Iterator[Any]:
    """Lists and records in the order in which they begin."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (list, dict)):
            yield one
            inner = one if isinstance(one, list) else list(one.values())
            waiting.extend(v for v in reversed(inner) if isinstance(v, (list, dict)))


def read_json_lines(lines: Iterable[Line]) -> Iterator[Raw]:
    """One record in each line; what is within a record stands under joined keys."""
    table, lists, broken = Records(), [], 0
    for line in lines:
        text = line.text.strip().rstrip(",")
        if not text or text in "[]":
            continue
        try:
            value = parse_json(text.encode("utf-8", "replace"))
        except ValueError:
            broken += 1
            continue
        if isinstance(value, dict):
            if not table.add({k: _cell(v) for k, v in flat(value).items()}, line.number):
                break
        elif isinstance(value, list) and len(lists) < 200_000:
            lists.append((value, line.number))
    raw = table.raw
    if broken > 1:
        raw.cut = raw.cut or f"{broken} lines are no JSON"
    if len(raw):
        yield raw
    if lists:
        yield from Walk().tables([row for row, _ in lists])


def _cell(value: Any) -> Any:
    return str(value) if isinstance(value, (list, dict)) else value


def read_yaml(text: str, results: bool = False) -> Iterator[Raw]:
    """Tables of at least two rows: a single record is a configuration, where neither the file (`results`) nor a key of
    it names scores.

    Raises:
        TriageError: the file is no YAML.
    """
    import yaml

    if len(text) > YAML_LIMIT:
        raise TriageError(f"over the limit of {YAML_LIMIT >> 20} MiB for YAML")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    results = results or scored(text[:SCORED].encode("utf-8", "replace"))
    walk = Walk(single=results)
    try:
        for value in _stream(yaml.load_all(text, loader)):
            for raw in limited(walk.tables(_plain(value))):
                if (results or len(raw) > 1) and len(raw.names) > 1:
                    raw.loose = True
                    yield raw
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise TriageError(f"no YAML: {str(error)[:200]}") from None


def _stream(values: Iterable[Any]) -> Iterator[Any]:
    """The documents; several records, one after another, are one list."""
    found = list(islice(values, 200_000))
    records = [v for v in found if isinstance(v, dict)]
    if len(records) > 2:
        yield records
    yield from (v for v in found if len(records) < 3 or not isinstance(v, dict))


def _plain(value: Any, left: list[int] | None = None, depth: int = 40) -> Any:
    """Dates as text; aliases followed as far as the limit of values goes."""
    left = left if left is not None else [200_000]
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        return None
    if isinstance(value, dict):
        return {str(k): _plain(v, left, depth - 1) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v, left, depth - 1) for v in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def read_toml(text: str) -> Iterator[Raw]:
    """Tables of at least two rows, as in YAML.

    Raises:
        TriageError: the file is no TOML.
    """
    import tomllib

    if len(text) > YAML_LIMIT:
        raise TriageError(f"over the limit of {YAML_LIMIT >> 20} MiB for TOML")
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise TriageError(f"no TOML: {str(error)[:200]}") from None
    for raw in limited(Walk(single=False).tables(_plain(value))):
        if len(raw) > 1 and len(raw.names) > 1:
            raw.loose = True
            yield raw


def read_notebook(text: str) -> Iterator[Raw]:
    """Tables in the output cells of a notebook: HTML frames, tables in text beside them, and numbers that cells give.

    Raises:
        TriageError: the file is no notebook.
    """
    from .written.html import read_html

    try:
        value = parse_json(text.encode("utf-8", "replace"))
    except ValueError as error:
        raise TriageError(f"no notebook: {str(error)[:120]}") from None
    cells = value.get("cells") if isinstance(value, dict) else None
    cells = [cell if isinstance(cell, dict) else {} for cell in (cells if isinstance(cells, list) else ())]
    yield from _results(cells)
    for i, cell in enumerate(cells):
        outputs = cell.get("outputs")
        outputs = [o for o in outputs if isinstance(o, dict)] if isinstance(outputs, list) else []
        printed = "".join(_joined(o.get("text")) for o in outputs if o.get("output_type") == "stream")
        given = [o["data"] for o in outputs if isinstance(o.get("data"), dict)]
        found = [raw for data in given for raw in read_html(_joined(data.get("text/html")))]
        texts = [printed, *(_joined(data.get("text/plain")) for data in given if not data.get("text/html"))]
        for said in texts:
            lines = [Line(n, t) for n, t in enumerate(said.replace("\r", "\n").split("\n")[:PRINTED], 1)]
            found += [*read_text(lines), *read_shown(lines)]
        for raw in found:
            raw.part = f"cell {i}" + (f": {raw.part}" if raw.part else "")
            raw.lines = [0] * len(raw)
            yield raw


def _results(cells: list[dict[str, Any]]) -> Iterator[Raw]:
    """The numbers that cells give, `(2.41, 6.12)`: what was asked for, a row for each; one row tells nothing beside."""
    rows: dict[int, list[list[Any]]] = {}
    for i, cell in enumerate(cells):
        asked = [line.strip() for line in _joined(cell.get("source")).splitlines() if line[:1].isalpha()]
        for output in cell.get("outputs") or ():
            data = output.get("data") if isinstance(output, dict) else None
            given = _GIVEN.fullmatch(_joined(data.get("text/plain")).strip()) if isinstance(data, dict) else None
            if given and asked:
                numbers = [float(n) for n in _NUMBER.findall(given[0])]
                rows.setdefault(len(numbers), []).append([f"cell {i}", short(asked[-1]), *numbers])
    for wide, found in rows.items():
        if len(found) > 1:
            names = ["cell", "asked", *(f"value {n}" for n in range(1, wide + 1))]
            yield Raw.of_rows("results", names, found, [0] * len(found))


def _joined(value: Any) -> str:
    return (
        "".join(v for v in value if isinstance(v, str))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else ""
    )
