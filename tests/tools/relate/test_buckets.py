"""Documents by source that lie far below the window: by upper bounds and by quantiles."""

import pytest

from triage.tools.relate.distributions import spread
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


BOTH = "set,tok_from,tok_to,docs\n" + "".join(
    f"{s},{a},{b},{n}\n"
    for s in ("zh", "en")
    for a, b, n in ((0, 512, 9000), (512, 2048, 4000), (2048, 8192, 40), (8192, 32768, 1))
)
CELLS = "来源\t长度区间\t篇数\n" + "".join(
    f"{s}\t{r}\t{n}\n"
    for s in ("网页", "问答")
    for r, n in (("0-1k", 8000), ("1k-4k", 2100), ("4k-16k", 30), (">=16k", 1))
)
WIDE = "corpus,<512,512-2k,2k-8k,>=8k\nweb,9000,4000,90,1\nforum,7000,1000,10,0\nwiki,2000,900,40,1\n"
ABOVE = "length,docs\n>=1,100000\n>=1k,20100\n>=4k,700\n>=16k,11\n>=32k,1\n"


@pytest.mark.parametrize("text", [BOTH, CELLS, WIDE, ABOVE])
def test_other_forms_of_the_same(tmp_path, text):
    name = "lengths.tsv" if "\t" in text else "doc_lengths.csv"
    assert told(tmp_path, text, 32768, name) == ["documents-far-below-window"]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (BOTH, 4096),
        (BOTH.replace("8192,32768,1", "8192,32768,900"), 32768),
        (BOTH.replace("8192,32768,1", "8192,32768,200"), 32768),  # few documents and a good part of the tokens
        (CELLS.replace(">=16k\t1", ">=16k\t2600"), 32768),
        (WIDE.replace("90,1\n", "90,3000\n"), 32768),
        (ABOVE.replace("700", "9000"), 32768),
        (BOTH.replace("tok_", "ms_").replace("docs", "requests"), 32768),
        (BOTH.splitlines()[0] + "\nzh,0,512,100\nzh,512,1024,3\n", 32768),
        ("node,it_from,it_to,n\n" + "".join(f"{s},{i},{i + 50},9\n" for s in "ab" for i in (0, 50, 100, 150)), 32768),
    ],
)
def test_other_forms_that_are_silent(tmp_path, text, window):
    assert told(tmp_path, text, window, "lengths.tsv" if "\t" in text else "doc_lengths.csv") == []


@pytest.mark.parametrize(("head", "last", "found"), [
    ("doc,doc_length,source", "web", True),
    ("text_id,text_len,shard", "7", True),
    ("sample,sample_len,finish_reason", "stop", False),  # answers of a model fill no window
    ("sample,sample_len,结束原因", "正常", False),
])  # fmt: skip
def test_short_documents_in_a_long_window_and_answers(tmp_path, head, last, found):
    rows = "".join(f"d{i},{120 + i * 7 % 170},{last}\n" for i in range(150))
    (tmp_path / "rows.csv").write_text(f"{head}\n{rows}")
    of = Setting("sequence_length", 8192, "8192", "seq_len", "run.yaml", 2)
    codes = [f.code for f in spread(read_tables(tmp_path / "rows.csv", "rows.csv"), Settings({of.variable: of}))]
    assert ("window-hardly-filled" in codes) is found
