"""Lists of files as shells and stores print them (`ls -l`, `find -ls`, `aws s3 ls`, `hdfs dfs -ls`, `gsutil ls -l`,
`du`): one row a file, with its path, its size and its time; and those of `sha256sum` and its kin, with its digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...patterns import bounded
from ...reading import Line
from ..raw import Raw, Records

LEAST, SHARE, MOST = 4, 0.6, 20_000
"""Files of a list, their share of its lines, and lines that are looked at."""
_SIZE = r"(\d{1,18}(?:\.\d{1,3})?\s?(?:[KMGTP](?:i?B)?|B)?)"
_TIME = (
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|\s?[+-]\d{4})?"
    r"|[A-Z][a-z]{2}\s{1,2}\d{1,2}\s{1,2}(?:\d\d:\d\d|\d{4}))"
)
_PATH = r"(\S.{0,300}?)\s{0,8}$"
ROW = tuple(
    bounded(pattern)
    for pattern in (
        rf"^(?:\s{{0,12}}\d{{1,12}}\s{{1,8}}\d{{1,12}}\s)?\s{{0,8}}[-dlcbps][rwxsStT-]{{9}}[.+@]?\s.{{1,80}}?\s"
        rf"{_SIZE}\s{{1,4}}{_TIME}\s{_PATH}",
        rf"^\s{{0,12}}{_TIME}\s{{1,20}}{_SIZE}\s{_PATH}",
        rf"^\s{{0,20}}{_SIZE}\s{{1,20}}{_TIME}\s{{1,8}}{_PATH}",
    )
)
"""(size, time, path) of the first and third, (time, size, path) of the second."""
FOLDER = re.compile(r"([^\s$][^\n:]{0,300}):\s*$")
"""The heading of a folder, as `ls` prints it above its files."""
LINKED = " -> "


def read_listing(lines: Iterable[Line]) -> Iterator[Raw]:
    """The files of a list; nothing where most lines are none."""
    table, folder, seen = Records(), "", 0
    for line in lines:
        text = line.text.strip("\r\n")
        heading = FOLDER.match(text)
        if not text.strip() or text.startswith(("$", "total ")):
            continue
        if heading is not None:
            folder = heading[1].rstrip("/")
            continue
        seen += 1
        row = _row(text)
        if row is not None and not text.lstrip().startswith("d"):
            size, time, path = row
            path = path.split(LINKED)[0].strip()
            whole = path if "/" in path or not folder else f"{folder}/{path}"
            table.add({"path": whole, "size": size, "written": time}, line.number)
        elif row is not None:
            seen -= 1
        if seen > MOST or (seen >= 4 * LEAST and not len(table.raw)):
            break
    if len(table.raw) >= LEAST and len(table.raw) >= SHARE * seen:
        yield table.raw


SUMMED = (
    bounded(r"^\\?((?=\d{0,31}[a-fA-F]|\d{32})[0-9a-fA-F]{8,128})[ \t]{1,8}\*?(\S.{0,300}?)\s{0,8}$"),
    bounded(
        r"^(?:SHA[\d-]{1,8}|MD5|BLAKE\w{1,6}|CRC32|XXH\w{1,4}) ?\((\S.{0,300}?)\) ?= ?([0-9a-fA-F]{8,128})\s{0,8}$",
        re.I,
    ),
)
"""(digest, path) as coreutils write them, (path, digest) as BSD does; a short number without a letter is
none."""
LEAST_SUMMED = 2


def read_digests(lines: Iterable[Line]) -> Iterator[Raw]:
    """The files of a list of digests; nothing where a line besides comments and headings in brackets is none."""
    table = Records()
    for line in lines:
        text = line.text.strip()
        if not text or text.startswith(("#", "$", "=", "-", "[")):
            continue
        if (match := SUMMED[0].match(text)) is not None:
            digest, path = match.groups()
        elif (match := SUMMED[1].match(text)) is not None:
            path, digest = match.groups()
        else:
            return
        table.add({"path": path, "digest": digest.lower()}, line.number)
        if len(table.raw) > MOST:
            break
    if len(table.raw) >= LEAST_SUMMED and all("." in str(p) or "/" in str(p) for p in table.raw.columns[0]):
        yield table.raw


def _row(text: str) -> tuple[str, str, str] | None:
    for i, pattern in enumerate(ROW):
        if (match := pattern.match(text)) is not None:
            first, second, path = match.groups()
            return (second, first, path) if i == 1 else (first, second, path)
    return None
