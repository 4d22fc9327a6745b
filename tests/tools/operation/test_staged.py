"""A stage that saw nothing of one source is told; one that found nothing there, or left it out on purpose, is not."""

import pytest

from triage.tools.operation.staged import staged
from triage.tools.tables.read import read_tables


def told(tmp_path, rows, file="redact_report.csv"):
    path = tmp_path / file
    path.write_text("\n".join(rows) + "\n")
    return [(f.code, f.data["sources"]) for f in staged(read_tables(path, file))]


def shards(seen, head="part,corpus,records,bytes_scanned,masked,state", state="done"):
    return [head, *(f"{c}-{i:02d},{c},{9000 + i},{seen(c)},{hits},{state if not seen(c) else 'done'}"
                    for c, hits in (("mail", 70), ("wiki", 3), ("tickets", 0)) for i in range(6))]  # fmt: skip


def blind(corpus):
    return 0 if corpus == "tickets" else 4_200_000


def test_a_source_that_the_stage_never_saw(tmp_path):
    assert told(tmp_path, shards(blind)) == [("masking-saw-nothing", ["tickets"])]
    by_source = ["source,docs,tokens_seen", "law,81000,9100000", "news,74000,8800000", "forum,90500,0"]
    assert told(tmp_path, by_source, "quality_filter.csv") == [("stage-saw-nothing", ["forum"])]


@pytest.mark.parametrize(
    "rows",
    [
        shards(lambda corpus: 4_200_000),
        shards(blind, state="skipped"),
        ["source,docs,tokens_seen", "law,81000,9100000", "news,74000,8800000", "forum,0,0"],
        ["source,docs,tokens_seen", "law,81000,0", "news,74000,0", "forum,90500,700"],
    ],
    ids=["seen and nothing found", "left out on purpose", "no records", "most saw nothing"],
)
def test_what_was_seen_or_is_left_out_or_has_no_records_is_silent(tmp_path, rows):
    assert told(tmp_path, rows) == []
