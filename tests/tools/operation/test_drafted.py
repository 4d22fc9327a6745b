"""Speculative decoding that is slower than plain decoding at high load, and one that is worth its passes."""

import json

import pytest
from making import fill

from triage.tools.operation.requests.drafted import drafted
from triage.tools.tables.read import read_tables


def told(folder, **files):
    names = {name.replace("__", "."): text for name, text in files.items()}
    fill(folder, names)
    return list(drafted([t for name in names for t in read_tables(folder / name, name)], ()))


def long(spec, plain, head="clients,mode,output_tokens_per_s", names=("eagle", "off")):
    rows = [
        f"{c},{n},{v}"
        for c, *values in zip((2, 16, 96), spec, plain, strict=True)
        for n, v in zip(names, values, strict=True)
    ]
    return "\n".join([head, *rows]) + "\n"


def wide(spec, plain):
    rows = [f"{c},{p},{s}" for c, s, p in zip((1, 8, 48), spec, plain, strict=True)]
    return "\n".join(["并发,tpot_ms_plain,tpot_ms_spec", *rows]) + "\n"


def apart(values):
    return json.dumps([{"concurrency": c, "output_throughput": v} for c, v in zip((4, 32, 128), values, strict=True)])


@pytest.mark.parametrize(
    "files",
    [
        {"b__csv": long((95, 410, 900), (60, 400, 1700))},
        {"b__csv": wide((14, 31, 88), (21, 28, 47))},
        {"bench_draft__json": apart((210, 700, 1100)), "bench_no_draft__json": apart((150, 800, 2300))},
        {"b__csv": long((30, 70, 260), (55, 60, 120), "qps,decoding,e2e_latency_ms", ("投机解码", "普通解码"))},
    ],
    ids=["rows", "columns", "files", "zh"],
)
def test_speculation_that_costs_more_than_it_gives_is_told(tmp_path, files):
    (found,) = told(tmp_path, **files)
    assert found.code == "speculation-slower-at-load"
    assert found.data["share"] < 0.6


@pytest.mark.parametrize(
    "files",
    [
        {"b__csv": long((95, 410, 1690), (60, 400, 1700))},
        {"b__csv": wide((14, 24, 44), (21, 28, 47))},
        {"b__csv": long((95, 410, 900), (60, 400, 1700), names=("fp8", "bf16"))},
        {"b__csv": "clients,mode,output_tokens_per_s\n8,eagle,200\n8,off,900\n"},
        {"b__csv": long((95, 410, 900), (60, 400, 1700), "layer,mode,output_tokens_per_s")},
    ],
    ids=["even", "faster", "two formats", "one load", "no load"],
)
def test_speculation_that_keeps_up_and_other_pairs_are_left_alone(tmp_path, files):
    assert not told(tmp_path, **files)
