"""Load tests: requests that fail or are put in a row, and those that are served."""

import json

import pytest

from triage.tools.operation.requests.loads import unserved
from triage.tools.reading import iter_lines
from triage.tools.tables.read import read_pairs, read_tables


def told(tmp_path, **summary):
    path = tmp_path / "load.json"
    path.write_text(json.dumps(summary))
    return [*unserved(read_tables(path, "load.json"))]


def test_requests_that_are_not_run_together_are_told_with_their_arithmetic(tmp_path):
    found = told(tmp_path, config={"concurrency": 8, "model": "m"}, summary={
        "total_requests": 80, "successful_requests": 30, "failed_requests": 50, "total_duration": 400.0},
        latency={"mean": 2.0, "p50": 2.0})  # fmt: skip
    assert [f.code for f in found] == ["load-not-served"]
    assert "50 of 80" in found[0].message
    assert "8 / 2 s = 4/s" in found[0].message


@pytest.mark.parametrize(("total", "failed"), [(80, 2), (6, 5), (80, 0)], ids=["few", "short", "none"])
def test_a_test_with_hardly_a_failure_is_served(tmp_path, total, failed):
    assert not told(tmp_path, total_requests=total, successful_requests=total - failed, failed_requests=failed,
                    concurrency=8, total_duration=20.0, avg_latency=2.0)  # fmt: skip


WRK = """Running 1m test @ http://127.0.0.1:8000/v1/completions
  8 threads and 80 connections
    Latency     1.39s    17.53ms   1.42s    66.67%
  {} requests in 1.00m, 555.17KB read
  Socket errors: connect 0, read 0, write 0, timeout {}
Requests/sec:      5.72
"""
HEY = (
    '\nStatus code distribution:\n  [200]\t{} responses\n\nError distribution:\n  [{}]\tPost "http://a/v1": deadline\n'
)
AB = "Complete requests:      {}\nFailed requests:        {}\n   (Connect: 0, Receive: 0, Length: {}, Exceptions: {})\n"


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (WRK.format(344, 335), "335 of 344"), (WRK.format(1998, 3), ""), (HEY.format(88, 72), "72 of 160"),
        (HEY.format(880, 2), ""), (AB.format(500, 490, 40, 450), "450 of 500"), (AB.format(500, 490, 490, 0), ""),
        ("Successful requests:   120\nFailed requests:    880\n", "880 of 1000"),
        ("http_req_failed......: 60.30% ✓ 1809 ✗ 1191\nhttp_reqs......: 3000 9.9/s\n", "1809 of 3000"),
    ],
)  # fmt: skip
def test_what_load_testers_report_is_read(tmp_path, report, said):
    (tmp_path / "press.log").write_text(report + "done\n" + WRK.format(2000, 1))
    found = [f.message for f in unserved(read_pairs(iter_lines(tmp_path / "press.log"), "press.log"))]
    assert (said in found[0]) if said else not found


def several(tmp_path, *tests):
    tables = []
    for i, summary in enumerate(tests):
        (tmp_path / f"t{i}.json").write_text(json.dumps({"summary": summary, "rows": [{"ms": 4}, {"ms": 5}]}))
        tables += read_tables(tmp_path / f"t{i}.json", f"t{i}.json")
    return [*unserved(tables)]


def test_a_part_that_fails_in_every_test_is_told_with_all_its_kinds(tmp_path):
    one = {"total_requests": 400, "ok": 351, "timeouts": 0, "http_errors": 47, "client_errors": 2}
    found = several(tmp_path, one, {**one, "total_requests": 800, "ok": 702, "http_errors": 95, "client_errors": 3})
    assert [f.code for f in found] == ["requests-failed"]
    assert "whatever the load" in found[0].message
    assert len(found[0].evidence) == 2


def test_a_part_that_fails_under_one_load_alone_is_no_part_of_the_requests(tmp_path):
    rows = [{"num_requests": 900, "succeeded": s} for s in (900, 899, 810)]
    (found,) = several(tmp_path, *rows)
    assert (found.code, "whatever" in found.message) == ("requests-failed", False)


@pytest.mark.parametrize("summary", [
    {"total_requests": 2500, "ok": 2497, "timeouts": 3, "http_errors": 0},
    {"total_requests": 40, "ok": 38, "timeouts": 2, "http_errors": 0},
    {"total_requests": 500, "successful_requests": 500, "failed_requests": 0, "errors": 0},
])  # fmt: skip
def test_requests_of_which_hardly_one_fails(tmp_path, summary):
    assert not several(tmp_path, summary)


def rates(tmp_path, *failed):
    out = []
    for i, n in enumerate(failed):
        path = tmp_path / f"rate_{i}.json"
        path.write_text(json.dumps({"total_requests": 2000, "failed_requests": n, "requested_rps": 5 * (i + 1)}))
        out += read_tables(path, path.name)
    return [*unserved(out)]


def test_a_share_that_fails_at_every_rate_is_not_the_load(tmp_path):
    [found] = rates(tmp_path, 300, 296, 304, 620)
    assert found.code == "requests-failed"
    assert "in 3 of 4 tests" in found.message
    assert "whatever the load" in found.message


def test_a_share_that_grows_with_the_rate_is_not_served(tmp_path):
    assert [f.code for f in rates(tmp_path, 4, 6, 90, 620)] == ["load-not-served"]
