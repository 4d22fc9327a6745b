"""Files that answer one list of questions: what several models gave, or several passes. Nobody trains on all of them.

Copies of one file answer alike too, and are duplicates: here the answers must differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from ..patterns import bounded
from .records.blocks import blocks
from .records.record import Part
from .records.shapes import view

LEAST, SHARED, SAME = 10, 0.9, 0.95
"""Questions of a file, the share of them that the other file asks too, and the share of equal answers from which on the
second is a copy. Ours."""
FEW, LETTERS = 3, 20
"""Records of a table of answers, and letters of a text that comes from somewhere. Ours."""
FILES, RECORDS = 24, 5000
"""Files that are compared, and records of each."""
WHOSE = bounded(
    r"(?i)^(?P<who>[\w.-]{1,40}?)[ _-]?(?:response|answer|output|completion|reply|generation|回答|回复|输出)s?$"
    r"|^(?:response|answer|output|completion|reply|generation)s?[ _-](?P<by>[\w.-]{1,40})$"
)
"""A field that says whose answer it is: `baseline_response`, `v2_output`, `answer_qwen`."""
CHOICE = bounded(
    r"(?i)^(?:chosen|rejected|(?:dis|un|less_?|most_?)?preferred|accepted|better|worse|best|worst|good|bad|safe|unsafe|win(?:ner|ning)?"
    r"|los(?:er|ing)|positive|negative|pos|neg|w|l|a|b|[01-9]|expected|correct|incorrect|wrong|right|gold(?:en)?|ref(?:erence)?"
    r"|target|ideal|true|false|human|user|assistant|final|short|long|full|raw|draft|revised|edited|text|ids?|len(?:gth)?"
    r"|tokens?|type|format|好|坏|正确|错误|参考|标准|优选|拒绝)$"
)
"""What an answer of data to train on is called beside another one: a choice, a target, a stage of its writing."""


def answer_the_same(files: Sequence[tuple[str, Sequence[Part]]]) -> set[str]:
    """The names of those files that ask what another one asks and answer it otherwise, and of those whose records hold
    what several models answered."""
    read = {name: [*_records(parts)] for name, parts in files[:FILES]}
    out = {name for name, records in read.items() if records and all(len(_whose(one)) > 1 for one in records)}
    asked = {name: found for name, records in read.items() if len(found := _answers(records)) >= LEAST}
    for (one, mine), (other, theirs) in combinations(asked.items(), 2):
        both = mine.keys() & theirs.keys()
        if len(both) < SHARED * max(len(mine), len(theirs)):
            continue
        if sum(mine[question] == theirs[question] for question in both) < SAME * len(both):
            out |= {one, other}
    told = {hash(text) for name in out for record in read[name] for text in _long(record)}
    return out | {name for name, records in read.items() if told and _holds(records, told)}


def _holds(records: Sequence[Any], told: set[int]) -> bool:
    """Whether nearly all records hold several of the long texts of other files: a table that sets answers side by
    side."""
    each = [sum(hash(text) in told for text in _long(record)) > 1 for record in records]
    return len(each) >= FEW and sum(each) >= SHARED * len(each)


def _long(record: Any) -> Iterator[str]:
    values = record.values() if isinstance(record, Mapping) else ()
    return (text for text in values if isinstance(text, str) and len(text) >= LETTERS)


def _records(parts: Sequence[Part]) -> Iterator[Any]:
    return islice((record.value for part in parts for block in blocks(part) for record in block.records), RECORDS)


def _whose(record: Any) -> list[str]:
    """The fields of a record that are answers of somebody by name."""
    named = ((key, WHOSE.match(key)) for key in record if isinstance(key, str)) if isinstance(record, Mapping) else ()
    return [k for k, m in named if m and isinstance(record[k], str) and not CHOICE.match(m["who"] or m["by"] or "")]


def _answers(records: Sequence[Any]) -> dict[int, int]:
    """Hash of each question -> hash of its answer; empty where questions come back within the file."""
    seen = [_asked(one) for one in records]
    if not all(question and answer for question, answer in seen):
        return {}
    out = {hash(question): hash(answer) for question, answer in seen}
    return out if len(out) >= SHARED * len(seen) else {}


def _asked(record: Any) -> tuple[str, str]:
    """Question and answer of a record, the answer from the one field that says whose it is where none is usual."""
    one, own = view(record), _whose(record)
    return one.prompt, one.response or (str(record[own[0]]) if len(own) == 1 else "")
