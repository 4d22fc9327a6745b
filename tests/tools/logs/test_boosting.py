"""Logs of boosted trees: lines between tabs, a bare `test` and `learn` beside their best."""

import math

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.logs.scan import read_run, scan


def log(way, n=120, shape="{i}:\tlearn: {a:.6f}\ttest: {b:.6f}\tbest: {best:.6f} ({i})\ttotal: {s:.1f}s\n"):
    rows, best = [], None
    for i in range(n):
        a, b = 0.7 - way * 0.3 * math.exp(-i / 40), 0.69 - way * 0.28 * math.exp(-i / 30)
        best = b if best is None else (max if way > 0 else min)(best, b)
        rows.append(shape.format(i=i, a=a, b=b, best=best, s=i / 10))
    return "".join(rows)


SPACED = "iter {i} learn: {a:.5f} valid: {b:.5f} best: {best:.5f} total: {s:.1f}s\n"


@pytest.mark.parametrize("name", ["fit.tsv", "out/fit_stdout.tsv", "fit.log"])
@pytest.mark.parametrize(("way", "metrics"), [(-1, {"loss", "eval_loss"}), (1, {"accuracy", "eval_accuracy"})])
@pytest.mark.parametrize("shape", [{}, {"shape": SPACED}], ids=["tabs", "blanks"])
def test_what_the_best_says_of_a_bare_test(tmp_path, name, way, metrics, shape):
    run = discover(fill(tmp_path, {name: log(way, **shape)}))
    assert metrics <= {s.metric for s in read_run(run).table}
    assert {f.code for f in scan(run).findings if f.severity != "S3"} == set()
    assert "run-healthy" in scan(run).codes()


@pytest.mark.parametrize("text", ["id\tq\ta\n1\twhat: 3\tthree: 1\n2\tso\tno\n3\tx\ty\n4\tz\tw\n5\tu\tv\n",
                                  "a\tb\tc\n1\t2\t3\n2\t3\t4\n3\t4\t5\n4\t4\t5\n"])  # fmt: skip
def test_a_table_between_tabs_stays_one(tmp_path, text):
    assert {a.kind for a in discover(fill(tmp_path, {"rows.tsv": text})).artifacts} <= {"table", "data"}
