"""The books of a data preparation: what adds up and is confirmed is sound, anything else is left open."""

import json

import pytest
from making import fill

from triage.agent.evidence import look

ROWS = [("web", 5000, 300, 120, 80), ("forum", 3000, 150, 90, 10), ("books", 2000, 20, 30, 0)]
CLEAN = {"exact_duplicates": 0, "near_duplicate_share": 0.004, "pii": {"hits": 0, "sampled": 400},
         "benchmark_overlap": {"mmlu": {"n": 14042, "hits": 0}}}  # fmt: skip
ZH = {"样本": 900, "完全重复": 0, "个人信息": {"命中": 0, "抽检": 300},
      "评测集碰撞": {"CMMLU": {"n": 11500, "命中": 0}, "C-Eval": {"n": 900, "命中": 0}}}  # fmt: skip


def ledger(head="source,input,too_short,exact_dup,toxic,kept", off=0, total="total"):
    rows = [(name, n, *gone, n - sum(gone)) for name, n, *gone in ROWS]
    sums = [total, *(sum(r[i] for r in rows) for i in range(1, 6))]
    sums[-1] += off
    return "\n".join((head, *(",".join(map(str, r)) for r in (*rows, sums)))) + "\n"


def files(report=CLEAN, log="read 10,000 docs, wrote 9,200 docs", expected="expected_rows: [9000, 9600]", **more):
    return {"filter.csv": ledger(), "report.json": json.dumps(report, indent=1, ensure_ascii=False),
            "prep.log": f"start\n{log}\n", "prep.yaml": f"min_chars: 40\n{expected}\n", **more}  # fmt: skip


ZH_LEDGER = ledger("来源,输入,过短,完全重复,低质量,保留", total="合计")
TWO = json.dumps({"code": {"rows_in": 800, "dup": 30, "short": 25, "rows_out": 745},
                  "math": {"rows_in": 100, "dup": 4, "short": 1, "rows_out": 95}})  # fmt: skip


def sound(folder, some):
    return [f for f in look([fill(folder, some)]).findings if f.code == "run-healthy"]


@pytest.mark.parametrize(
    "some",
    [
        files(),
        files(expected=""),
        files(log="done", expected="kept_share_expected: [0.85, 0.95]"),
        files(report=ZH, log="完成：读取 10000 条，保留 9200 条", expected="", **{"filter.csv": ZH_LEDGER}),
        files(log="in=900 out=840", expected="", **{"filter.csv": "a,b\n1,2\n", "books.json": TWO}),
    ],
    ids=["all", "log only", "range only", "chinese", "two records"],
)
def test_books_that_add_up_and_are_confirmed(tmp_path, some):
    (told,) = sound(tmp_path, some)
    assert told.evidence


@pytest.mark.parametrize(
    "some",
    [
        files(**{"filter.csv": ledger(off=37)}),
        files(report={**CLEAN, "pii": {"hits": 12}}),
        files(report={**CLEAN, "near_duplicate_share": 0.21}),
        files(report={"exact_duplicates": 0}),
        files(expected="expected_rows: [9500, 9900]"),
        files(log="done", expected=""),
        files(**{"train.log": "".join(f"step {i} loss {2 + i / 9}\n" for i in range(4))}),
    ],
    ids=["does not add up", "personal data", "duplicates", "hardly checked", "too few left", "said once", "trains"],
)
def test_books_that_do_not_agree_or_were_hardly_looked_at(tmp_path, some):
    assert not sound(tmp_path, some)
