# ruff: noqa: E501  (cases are rows of a table)
"""Records of every format, located, with broken ones counted and never fatal."""

import csv
import gzip
import io
import json
import resource
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.tools.data.records.blocks import Stream, blocks, plan
from triage.tools.data.records.shapes import shape_of, view
from triage.tools.findings import Report, TriageError

ROWS = [{"text": f"第 {i} 行\nline {i}", "n": i} for i in range(300)]


def lines(rows=ROWS):
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)


def values(path, part_bytes=2 << 20):
    return [r.value for p in plan([path], part_bytes) for b in blocks(p) for r in b.records]


def write_tar(path):
    with tarfile.open(path, "w") as tar:
        for row in ROWS:
            for name, data in (
                ("txt", row["text"].encode()),
                ("json", json.dumps({"n": row["n"]}).encode()),
                ("jpg", b"\xff\xd8"),
            ):
                info = tarfile.TarInfo(f"{row['n']:05}.{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def write_arrow(path):
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_stream(path, table.schema) as out:
        out.write_table(table, max_chunksize=100)


def write_csv(path):
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, ["text", "n"])
        writer.writeheader()
        writer.writerows(ROWS)


WRITERS = {
    "a.jsonl": lambda p: p.write_text(lines()),
    "a.json": lambda p: p.write_text(json.dumps(ROWS, indent=1, ensure_ascii=False)),
    "object.json": lambda p: p.write_text(json.dumps({"version": "1", "data": ROWS})),
    "lines.json": lambda p: p.write_text(lines()),
    "bom.jsonl": lambda p: p.write_text("\ufeff" + lines()),
    "wide.jsonl": lambda p: p.write_text(lines(), encoding="utf-16"),
    "crlf.jsonl": lambda p: p.write_bytes(lines().replace("\n", "\r\n").encode()),
    "a.jsonl.gz": lambda p: p.write_bytes(gzip.compress(lines(ROWS[:100]).encode()) + gzip.compress(lines(ROWS[100:]).encode())),
    "a.jsonl.zst": lambda p: p.write_bytes(zstandard.compress(lines(ROWS[:9]).encode()) + zstandard.compress(lines(ROWS[9:]).encode())),
    "a.parquet": lambda p: pq.write_table(pa.Table.from_pylist(ROWS), p, row_group_size=70),
    "a.arrow": write_arrow,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_records(tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert values(tmp_path / name) == ROWS


def test_csv_gives_text_cells_and_tar_merges_the_members_of_a_sample(tmp_path):
    write_csv(tmp_path / "a.csv")
    assert values(tmp_path / "a.csv") == [{"text": r["text"], "n": str(r["n"])} for r in ROWS]
    write_tar(tmp_path / "a.tar")
    assert [(v["text"], v["n"], v["jpg"]) for v in values(tmp_path / "a.tar")] == [
        (r["text"], r["n"], {"bytes": 2}) for r in ROWS
    ]


def test_a_hugging_face_folder_is_read_without_its_metadata(tmp_path):
    write_arrow(tmp_path / "data-00000-of-00001.arrow")
    (tmp_path / "dataset_info.json").write_text('{"features": {}}')
    (tmp_path / "state.json").write_text('{"_split": "train"}')
    assert values(tmp_path) == ROWS


@pytest.mark.parametrize("part_bytes", [64, 1000, 4096, 10**6])
def test_parts_of_a_file_hold_each_record_once_with_its_absolute_line_and_byte(tmp_path, part_bytes):
    path = tmp_path / "a.jsonl"
    path.write_text(lines())
    raw = path.read_bytes().splitlines(keepends=True)
    places, at = [], 0
    for n, piece in enumerate(raw, 1):
        places.append((n, at))
        at += len(piece)
    seen = [(line, record.byte) for _, line, record in Stream(plan([path], part_bytes))]
    assert seen == places


def test_broken_records_are_located_and_the_rest_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": \n\n{"text": NaN}\n{"text": "\xff\xfe"}\n' + b"[" * 5000 + b"\n")
    stream = Stream([path])
    good = [(line, r.recoded) for _, line, r in stream]
    assert good == [(1, False), (4, False), (5, True)]
    broken = [b for p in plan([path]) for block in blocks(p) for b in block.broken]
    assert [(b.line, b.byte) for b in broken] == [(2, 14), (6, path.read_bytes().index(b"[[["))]
    [check] = stream.account.on(Report("data")).checks
    assert (check.name, check.result, check.why[:16]) == ("records read", "failed", "2 of 5 records c")


@pytest.mark.parametrize(
    ("name", "keep"), [("a.jsonl.gz", 0.7), ("a.parquet", 0.7), ("a.arrow", 0.5), ("a.tar", 0.5), ("a.jsonl.zst", 0.6)]
)
def test_a_truncated_file_is_a_failed_check_and_not_a_crash(tmp_path, name, keep):
    path = tmp_path / name
    {**WRITERS, "a.tar": write_tar}[name](path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    stream = Stream([path])
    assert sum(1 for _ in stream) < len(ROWS)
    assert any(c.result == "failed" and name in c.name for c in stream.account.on(Report("data")).checks)


def test_an_array_that_breaks_in_the_middle_keeps_what_came_before(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"n": 1},\n {"n": 2},\n {"n": oops}, {"n": 4}]')
    stream = Stream([path])
    assert [(line, r.value["n"]) for _, line, r in stream] == [(1, 1), (2, 2)]
    assert [b.line for p in plan([path]) for block in blocks(p) for b in block.broken] == [3]


def test_a_folder_without_data_and_a_missing_path_say_what_is_needed(tmp_path):
    with pytest.raises(TriageError, match="no data file"):
        plan([tmp_path])
    with pytest.raises(TriageError, match="no such file"):
        plan([tmp_path / "none.jsonl"])


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    outside = tmp_path / "outside.jsonl"
    outside.write_text(lines())
    inside = tmp_path / "run"
    inside.mkdir()
    (inside / "link.jsonl").symlink_to(outside)
    with pytest.raises(TriageError):
        plan([inside])


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=3000), st.sampled_from(["a.jsonl", "a.json", "a.csv", "a.tsv", "a.parquet", "a.arrow", "a.tar",
                                                  "a.txt", "a.jsonl.gz", "a.jsonl.zst", "a.csv.xz", "a.tar.bz2"]))  # fmt: skip
def test_random_bytes_never_crash_a_reader(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("x") / name
    path.write_bytes(data)
    for _, line, record in Stream([path]):
        assert line >= 1
        view(record.value)


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5),
                    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(
                        ["messages", "role", "content", "chosen", "rejected", "prompt", "responses", "text", "input_ids"]), x), max_leaves=12))  # fmt: skip
def test_any_json_has_a_shape_and_a_text(value):
    assert isinstance(view(value).text, str)


@pytest.mark.parametrize(
    ("value", "shape", "prompt", "response"),
    [
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}, "chat", "q", "a"),
        ({"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}, "chat", "q", "a"),
        ({"instruction": "do", "input": "this", "output": "done"}, "instruction", "do\nthis", "done"),
        ({"question": "q", "answer": "a"}, "prompt-completion", "q", "a"),
        ({"prompt": "q", "chosen": "a", "rejected": "b"}, "preference", "q", "a"),
        ({"chosen": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "rejected": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "b"}]}, "preference", "q", "a"),
        ({"prompt": "q", "responses": ["a", "b"], "rewards": [1, 0]}, "rollout", "q", "a"),
        ({"prompt": [{"role": "user", "content": "q"}], "reward_model": {"ground_truth": "4"}}, "prompt-completion", "q", ""),
        ({"text": "t"}, "pretrain", "", "t"),
        ("t", "pretrain", "", "t"),
        ({"input_ids": [1, 2], "labels": [-100, 2]}, "tokens", "", ""),
        ({"foo": {"bar": "t"}}, "other", "", "t"),
    ],
)  # fmt: skip
def test_shapes(value, shape, prompt, response):
    seen = view(value)
    assert (shape_of(value), seen.prompt, seen.response) == (shape, prompt, response)


def blown(count, size):
    """One long text many times over, stored once."""
    words = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["words " * (size // 6)])
    return {"text": words, "lists": pa.ListArray.from_arrays(pa.array(range(count + 1), pa.int32()), words)}


def stream(path, table):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


BLOWN = {
    "a.arrow": stream,
    "dictionary.parquet": lambda path, table: pq.write_table(table, path),
    "plain.parquet": lambda path, table: pq.write_table(table, path, store_schema=False),
}


@pytest.mark.parametrize("column", ["text", "lists"])
@pytest.mark.parametrize("name", BLOWN)
def test_a_table_that_stores_a_long_text_once_is_unfolded_within_its_budget(tmp_path, name, column):
    table = pa.table({column: blown(3000, 4 << 20)[column]})
    BLOWN[name](tmp_path / name, table)
    before, read, why = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0, []
    for part in plan([tmp_path / name]):
        for block in blocks(part):
            read += len(block.records)
            why += [b.why for b in block.broken]
            if read > 100:
                break  # of an Arrow file 200 times its size is read
    assert read >= 32
    assert read > 100 or ("not read further" in why[0] and len(why) == 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


@pytest.mark.parametrize("name", BLOWN)
def test_ordinary_dictionaries_are_read_whole(tmp_path, name):
    table = pa.table({column: values.take(pa.array(range(700))) for column, values in blown(700, 3000).items()})
    BLOWN[name](tmp_path / name, table)
    rows = [record.value for part in plan([tmp_path / name]) for block in blocks(part) for record in block.records]
    assert rows == table.to_pylist()
