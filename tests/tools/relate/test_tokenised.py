"""The same text as other tokens in two places."""

import json
import random

import pytest

from triage.tools.relate.texts.tokenised import counted_otherwise, two_lists
from triage.tools.tables.read import read_tables

DRAW = random.Random(3)
LISTS = [[DRAW.randrange(100, 60_000) for _ in range(DRAW.randrange(6, 14))] for _ in range(9)]


def read(tmp_path, name, data):
    file = tmp_path / name
    lines = (
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in data) if name.endswith("l") else json.dumps(data)
    )
    file.write_text(lines, encoding="utf-8")
    return [t for t in read_tables(file, name) if len(t) > 1]


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        (lambda ids: [i + 210 for i in ids[:3]] + [7, *ids[3:]], True),
        (lambda ids: [i + 1 for i in ids], True),
        (lambda ids: ids, False),
        (lambda ids: [1, *ids, 2], False),
        (lambda ids: [i + 5 for i in ids] * 8, False),
    ],
    ids=["another vocabulary", "shifted", "equal", "with marks of begin and end", "an answer to it"],
)
def test_two_lists_of_ids_of_one_text(tmp_path, other, is_found):
    rows = [{"text": f"第 {n} 条", "ids_train": ids, "ids_serve": other(ids)} for n, ids in enumerate(LISTS)]
    found = [f.code for t in read(tmp_path, "ids.jsonl", rows) for f in two_lists(t)]
    assert found == ["texts-tokenised-otherwise"] * is_found


def test_lists_beside_two_texts_may_be_of_either(tmp_path):
    rows = [
        {"prompt": f"a {n}", "text": f"b {n}", "chosen_ids": ids, "rejected_ids": ids[::-1]}
        for n, ids in enumerate(LISTS)
    ]
    assert not [f for t in read(tmp_path, "ids.jsonl", rows) for f in two_lists(t)]


@pytest.mark.parametrize(
    ("tokens", "chars", "is_found"),
    [
        (lambda n: n * 1.16, lambda n: n, True),
        (lambda n: n + 40, lambda n: n, False),
        (lambda n: n, lambda n: n, False),
        (lambda n: n * 1.16, lambda n: n + 9, False),
    ],
    ids=["more pieces", "a mark for each document", "equal", "another version of the file"],
)
def test_two_counts_of_one_file(tmp_path, tokens, chars, is_found):
    prepared = [
        {"file": f"part-{n}.jsonl", "docs": 40, "chars": 90_000 + 70 * n, "tokens": 52_000 + n} for n in range(8)
    ]
    scored = [{**row, "chars": chars(row["chars"]), "tokens": round(tokens(row["tokens"]))} for row in prepared[2:5]]
    tables = [*read(tmp_path, "prepared.json", {"files": prepared}), *read(tmp_path, "scored.json", {"texts": scored})]
    assert [f.code for f in counted_otherwise(tables)] == ["texts-tokenised-otherwise"] * is_found
