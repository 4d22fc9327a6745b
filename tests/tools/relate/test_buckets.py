"""Documents by source that lie far below the window: by upper bounds and by quantiles."""

import pytest

from triage.tools.relate.joined.buckets import by_source, short
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables

SHORT = "source,tokens_up_to,documents,tokens\n" + "".join(
    f"{s},{top},{n},{n * top * 0.7:.0f}\n"
    for s in ("web", "forum")
    for top, n in ((512, 90000), (2048, 40000), (8192, 600), (32768, 3))
)
LONG = SHORT.replace(",32768,3,68813", ",32768,9000,206438400")
CHINESE = "来源,上限,文档数\n" + "".join(
    f"{s},{top},{n}\n" for s in ("网页", "新闻") for top, n in ((1000, 800), (4000, 250), (16000, 2))
)
QUANTILES = """source,docs,p50,p90,p95,p99,p99.9,max
web,9000,391,1180,1490,1980,3120,9904
wiki,800,330,1290,1630,1990,3410,12120
"""
PLAIN = "corpus\tdoc_len_p50\tdoc_len_p90\tdoc_len_p99\na\t420\t900\t1700\nb\t380\t1100\t1950\n"
BOOKS = QUANTILES + "books,40,30000,90000,120000,200000,400000,900000\n"
LATENCY = "endpoint,p50,p90,p95,p99\nchat_latency_ms,391,702,1180,1490\nlen,330,1290,1630,1990\n"


def told(tmp_path, text, window, name="lengths.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    tables = read_tables(tmp_path / name, name)
    of = Setting("sequence_length", window, str(window), "seq_len", "run.yaml", 2)
    settings = Settings({"sequence_length": of})
    return [f.code for f in [*short(tables, settings), *by_source(tables, settings)]]


@pytest.mark.parametrize("text", [SHORT, CHINESE, QUANTILES, PLAIN])
def test_far_below_the_window(tmp_path, text):
    assert told(tmp_path, text, 32768) == ["documents-far-below-window"]


@pytest.mark.parametrize(
    ("text", "window"),
    [(SHORT, 4096), (LONG, 32768), (QUANTILES, 8192), (BOOKS, 32768), (LATENCY, 32768), (SHORT.splitlines()[0], 32768),
     ("source,p50,p99\nweb,300,1200\n", 32768)],
)  # fmt: skip
def test_silent(tmp_path, text, window):
    assert told(tmp_path, text, window) == []
