"""A prepared copy of the data is held against what its record says of the source; a fresh and whole one is not told."""

import json

import pytest
from making import fill

from triage.tools.data.cached import check_cached
from triage.tools.discover import discover

OLD, NEW, NEWER = "2026-05-02T10:11:40", "2026-06-09T18:22:51", "2026-06-09T18:30:02"


def checked(tmp_path, record):
    report = check_cached(discover(fill(tmp_path, {"prep/meta.json": json.dumps(record), "train.yaml": "lr: 0.1\n"})))
    return [f.code for f in report.findings], report.checks[0].result


@pytest.mark.parametrize(
    ("record", "codes"),
    [
        ({"source": "a.jsonl", "cached": OLD, "file_written": NEW}, ["cache-older-than-source"]),
        ({"source": "a.jsonl", "tokenized_at": 1777000000, "source_mtime": 1781000000}, ["cache-older-than-source"]),
        ({"train": {"text": "x", "processedAt": OLD, "rawModifiedAt": NEW}}, ["cache-older-than-source"]),
        ({"text": "x", "rows": 3200, "loaded_rows": 1600, "cache_dir": "a"}, ["cache-has-fewer-rows"]),
        ({"text": "x", "num_examples": 3200, "cached_examples": 1600}, ["cache-has-fewer-rows"]),
        ({"text": "x", "源文件行数": 3200, "已加载行数": 1600, "缓存时间": OLD, "源文件修改时间": NEW},
         ["cache-older-than-source", "cache-has-fewer-rows"]),
    ],
)  # fmt: skip
def test_a_copy_that_is_older_or_smaller_than_its_source_is_told(tmp_path, record, codes):
    assert checked(tmp_path, record) == (codes, "found")


@pytest.mark.parametrize(
    "record",
    [
        {"text": "x", "rows": 3200, "loaded_rows": 3200, "cached": NEWER, "file_written": NEW},
        {"text": "x", "rows": 3200, "cached_rows": 3190},
        {"text": "x", "rows": 3200, "loaded_rows": 1600},
        {"text": "x", "rows": 3200, "cached_rows": 1600, "filtered": 1600},
        {"text": "x", "rows": 3200, "cached_rows": 1600, "max_samples": 1600},
        {"text": "x", "cached": "soon", "file_written": NEW},
        {"text": "x", "cached": NEW, "file_written": NEWER},
    ],
    ids=["fresh", "nearly all", "no copy", "filtered", "limited", "no time", "one pipeline"],
)
def test_a_fresh_copy_and_one_that_says_what_it_left_out_are_not(tmp_path, record):
    assert checked(tmp_path, record) == ([], "clear")


def test_a_record_without_both_is_not_asked(tmp_path):
    for made in ("created_at", "processed_at"):
        record = {"text": "x", made: OLD, "last_modified": NEW, "dataset_created_at": NEW, "rows": 5}
        assert checked(tmp_path, record) == ([], "not-applicable")


def printed(tmp_path, *lines):
    text = "\n".join((*lines, *(f"step {i} loss {3 - i / 100:.3f}" for i in range(1, 60)))) + "\n"
    return [f.code for f in check_cached(discover(fill(tmp_path, {"run.log": text}))).findings]


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        (("2031-04-02 08:00:01 raw: corpus/*.jsonl rows=910,000 mtime=2031-04-01 21:00",
          "2031-04-02 08:00:03 Loading cached processed dataset at /c/tok (created 2031-02-11 10:00:00)",
          "2031-04-02 08:00:09 packed: 9000 sequences from 400000 rows"),
         ["cache-older-than-source", "cache-has-fewer-rows"]),
        (("[data] cache hit: tok.bin (mtime 2031-03-02 10:00), source law.jsonl (mtime 2031-03-09 09:00)",),
         ["cache-older-than-source"]),
        (("源数据 a.jsonl 修改时间：2031-05-09 10:00:00 行数：52000",
          "加载缓存 tok/ 生成于 2031-05-01 10:00:00，行数：30000"),
         ["cache-older-than-source", "cache-has-fewer-rows"]),
        (("reusing tokenized set built 1990000000", "input shards modified 1990600000"), ["cache-older-than-source"]),
    ],
)  # fmt: skip
def test_a_log_that_loads_a_copy_older_or_smaller_than_its_source_is_told(tmp_path, lines, codes):
    assert printed(tmp_path, *lines) == codes


@pytest.mark.parametrize(
    "lines",
    [
        (
            "raw: corpus rows=910000 mtime=2031-02-01 21:00",
            "Loading cached dataset at /c (created 2031-02-11 10:00:00)",
        ),
        ("2031-04-02 08:00 raw: corpus/*.jsonl", "2031-04-03 08:00 Loading cached processed dataset at /c/tok"),
        ("raw: rows=910000", "filtered: 500000 rows dropped from source", "loading processed set, 410000 rows"),
        ("source written 2031-04-02", "packed set written 2031-03-01"),  # nothing is loaded
        ("raw rows=910000", "loading cached set rows=809100"),
        ("raw samples=910000", "loading cache", "packed samples=30000"),
        ("raw docs=910000", "loading cached set samples=30000"),
    ],
)
def test_a_log_with_a_fresh_whole_or_filtered_copy_is_not_told(tmp_path, lines):
    assert printed(tmp_path, *lines) == []
