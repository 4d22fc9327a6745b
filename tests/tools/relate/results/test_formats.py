"""Rows of one model in several number formats."""

import json

import pytest

from triage.tools.relate.results.look import of_results
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables

CODES = {"quantised-as-large-as-whole", "quantised-behind-its-format"}


def found(folder, name, content):
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return CODES & {f.code for f in of_results(read_tables(folder / name, name), (), Settings())}


def table(int4, learned, head="variant,perplexity,size_mb,latency_ms"):
    size, ppl = int4
    rows = ["fp16,8.4121,512.4,21", f"gptq-int8,{learned[0]},260.1,19", f"awq-int8,{learned[1]},259.8,18"]
    return "\n".join([head, *rows, f"rtn-int4,{ppl},{size},20"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (table((512.4, 8.4121), (8.43, 8.44)), {"quantised-as-large-as-whole"}),
        (table((131.0, 8.9), (8.43, 15.7)), {"quantised-behind-its-format"}),
        (table((510.2, 8.4121), (21.5, 8.44), "模型,困惑度,大小(MB),延迟"), CODES),
        (table((131.0, 8.9), (8.43, 8.61)), set()),
        (table((131.0, 31.0), (8.43, 8.5)), set()),
        (table((131.0, 8.9), (15.2, 15.7)), set()),
    ],
    ids=["as large", "behind", "zh", "sound", "fewer bits lose", "the format loses"],
)
def test_rows_of_formats(tmp_path, text, told):
    assert found(tmp_path, "formats.csv", text) == told


@pytest.mark.parametrize(("size", "told"), [(2.31, {"quantised-as-large-as-whole"}), (0.71, set())])
def test_formats_as_the_keys_of_an_object(tmp_path, size, told):
    rows = {"Full precision": {"model_size_gb": 2.31, "ppl": 11.203}, "NF4": {"model_size_gb": size, "ppl": 11.203}}
    assert found(tmp_path, "report.json", rows) == told
