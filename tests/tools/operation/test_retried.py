"""Requests that are the same ones again: a row for each with its attempt, or counts along a way."""

import numpy as np
import pytest

from triage.tools.operation.requests.retried import retried
from triage.tools.tables.read import read_tables


def found(folder, text, name="t.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return list(retried(read_tables(folder / name, name)))


def requests(
    after=0.6, before=0.01, rate=3, head="time,attempt,latency_ms,status", n=600, first=1, gone="200", early="200"
):
    """A row for each request; from the middle on `rate` times as many in a second, of which `after` are retries."""
    rng, rows, at = np.random.default_rng(2), [head], 36_000.0
    for i in range(n):
        late = i >= n // 2
        at += 0.5 / rate if late else 0.5
        again = rng.random() < (after if late else before)
        clock = f"{int(at // 3600):02d}:{int(at // 60) % 60:02d}:{int(at) % 60:02d}"
        rows.append(
            f"{clock},{first + again * int(rng.integers(1, 4))},{300 + i % 50},{gone if late and again else 200}"
        )
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        requests(),
        requests(head="ts,retry_count,latency_ms,code", first=0),
        requests(head="time,尝试次数,latency_ms,状态", gone="超时"),
        requests(before=0.6, gone="timeout", early="504"),
    ],
    ids=["attempts", "counts of retries", "words", "from the beginning on"],
)
def test_many_retries_are_told(tmp_path, text):
    (told,) = found(tmp_path, text)
    assert told.data["share"] == pytest.approx(0.6, abs=0.1)


def test_how_much_more_comes_in_is_told_beside_the_first_attempts(tmp_path):
    (told,) = found(tmp_path, requests(gone="499 closed"))
    assert "all together 3 times as many come in, first attempts 1.3 times" in told.message
    assert told.data["gave_up"] > 0.4


@pytest.mark.parametrize(
    "text",
    [
        requests(after=0.02),
        requests(after=0.15),
        requests(before=0.2),
        requests(head="time,batch,latency_ms,status"),
        requests(before=0.6),
        "time,question,attempt,latency_ms,correct\n"
        + "".join(f"{i},q{i // 4},{1 + i % 4},{200 + i % 9},{i % 3 == 0}\n" for i in range(600)),
        "time,task,attempt,score\n" + "".join(f"{i},q{i // 3},{1 + i % 3},{i % 2}\n" for i in range(600)),
        "step,attempt,loss\n" + "".join(f"{i},{1 + i // 150},{2 - i / 900}\n" for i in range(600)),
    ],
    ids=[
        "few",
        "some",
        "as before, nearly",
        "no attempts",
        "none in vain",
        "several answers each",
        "no server",
        "attempts of a job",
    ],
)
def test_few_retries_and_other_counts_are_not(tmp_path, text):
    assert found(tmp_path, text) == []


def counts(later, requests="requests", retries="retries"):
    rows = [f"{i},{100 + (200 if i > 20 else 0) + i % 7},{1 if i <= 20 else later + i % 5}" for i in range(48)]
    return f"minute,{requests},{retries}\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("names", [("requests", "retries"), ("req_total", "num_retries"), ("qps", "retry_rps")])
def test_counts_of_retries_beside_those_of_requests_are_read(tmp_path, names):
    text = counts(190, *names).replace("minute", "step")
    assert [f.code for f in found(tmp_path, text)] == ["retries-multiply-load"]


@pytest.mark.parametrize("later", [2, 20])
def test_counts_of_few_retries_are_not_told(tmp_path, later):
    assert found(tmp_path, counts(later).replace("minute", "step")) == []
