"""Rows before failures, and servers that run out of memory again and again."""

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.findings import Evidence
from triage.tools.relate.joined.preceded import preceded
from triage.tools.tables.read import read_tables

FAILED = (140, 371, 512)


def stamp(second):
    return f"2026-02-03 {8 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def requests(special=lambda i: "heavy" if i in FAILED else "usual", often=3, size=None):
    """600 requests, one every ten seconds; every `often`th failing kind comes without a failure as well."""
    r = np.random.default_rng(3)
    rows = ["received,tenant,route,chars,in_flight"]
    for i in range(600):
        kind = special(i) if i in FAILED or i % (600 // often) else "heavy"
        chars = (size or (lambda i: r.integers(100, 900)))(i)
        rows.append(f"{stamp(10 * i)},{kind},/v{r.integers(3)},{chars},{r.integers(1, 40) if i not in FAILED else 3}")
    return "\n".join(rows) + "\n"


TIMES = tuple(stamp(10 * i + 2) for i in FAILED)


def told(tmp_path, text, times=TIMES):
    (tmp_path / "access.csv").write_text(text)
    failures = [(t, Evidence("server.log", 9)) for t in times]
    return [*preceded(read_tables(tmp_path / "access.csv", "access.csv"), failures)]


def test_the_sender_of_the_rows_before_every_failure_is_named_with_the_load_that_was_not_to_blame(tmp_path):
    (found,) = told(tmp_path, requests())
    assert "tenant = heavy" in found.data["values"]
    assert "in_flight is 3, 3, 3" in found.message
    assert [e.line for e in found.evidence[:3]] == [i + 2 for i in FAILED]


def test_a_bound_of_a_number_is_named(tmp_path):
    (found,) = told(tmp_path, requests(lambda i: "usual", 1, lambda i: 90_000 + i if i in FAILED else 400 + i % 50))
    assert found.data["column"] == "chars"


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (requests(lambda i: f"t{i % 7}"), None),
        (requests(lambda i: "heavy" if i % 3 else "usual"), None),
        (requests(), (stamp(1402), stamp(3712))),
        (requests(), ("2026-03-03 09:00:00", "2026-03-03 10:00:00", "2026-03-03 11:00:00")),
        (requests(), ("soon", "later", "never")),
    ],
    ids=["nothing shared", "what most have", "two failures", "another month", "no times"],
)
def test_rows_that_say_nothing_are_left_alone(tmp_path, text, times):
    assert told(tmp_path, text, *([times] if times else [])) == []


def server(deaths, load, after=2):
    """A server's log in which it dies at some reports, and is started again."""
    lines = [
        "INFO 02-03 08:00:00 [api_server.py:12] vLLM API server version 0.9",
        "INFO:     Application startup complete.",
    ]
    for i in range(900):
        clock = f"02-03 {8 + i // 60:02d}:{i % 60:02d}:00"
        lines.append(f"INFO {clock} [loggers.py:1] Engine 000: Avg prompt throughput: {i + 0.5} tokens/s, Avg "
                     f"generation throughput: 99.5 tokens/s, Running: {load(i)} reqs, Waiting: 0 reqs")  # fmt: skip
        if i in deaths:
            lines += [f"ERROR {clock} [core.py:7] EngineCore encountered a fatal error.",
                      f'ERROR {clock} [core.py:7]   File "/x/sampler.py", line 9, in gather_scores',
                      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total "
                      "capacity of 79.00 GiB of which 2.00 GiB is free.",
                      "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."]  # fmt: skip
            lines += [lines[0], lines[1]] * after
    return "\n".join(lines) + "\n"


def codes(tmp_path, text):
    (tmp_path / "vllm.log").write_text(text)
    return {f.code: f for f in look([tmp_path]).findings}


def test_a_server_that_dies_of_the_same_error_time_after_time_has_not_survived_it(tmp_path):
    found = codes(tmp_path, server((200, 450, 800), lambda i: 90 if i % 300 == 60 else 12 + i % 5))
    assert (found["cuda-oom"].severity, found["oom-while-serving"].severity) == ("S1", "S1")
    assert "gather_scores" in found["oom-while-serving"].message
    assert found["oom-off-peak"].data["most"] == 90


LOADED = "07-11 02:{m:02d}:05 INFO sched {active}={n} tokens={t} {queue}=0\n"


@pytest.mark.parametrize(
    ("active", "queue"), [("running", "waiting"), ("active", "queued"), ("concurrency", "pending")]
)
def test_a_server_of_ones_own_is_known_by_the_load_that_it_reports(tmp_path, active, queue):
    lines = [LOADED.format(m=m, active=active, n=9 + m % 4, t=9000 + m, queue=queue) for m in range(50)]
    oom = "07-11 02:51:02 ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB.\n"
    found = codes(tmp_path, "".join(lines) + 7 * oom)
    assert "7 times" in found["oom-while-serving"].message


def test_a_training_that_reports_a_queue_of_its_loader_is_no_server(tmp_path):
    lines = [f"step {i} loss {4 - i / 100:.3f} queue={i % 3}\n" for i in range(50)]
    assert "oom-while-serving" not in codes(tmp_path, "".join(lines) + "RuntimeError: CUDA out of memory.\n")


def test_at_the_peak_of_the_load_the_load_is_not_excluded(tmp_path):
    found = codes(tmp_path, server((200, 450, 800), lambda i: 90 if i in (200, 450, 800) else 12 + i % 5))
    assert "oom-while-serving" in found
    assert "oom-off-peak" not in found


def test_a_single_failure_that_a_server_survived_cost_a_request(tmp_path):
    assert codes(tmp_path, server((200,), lambda i: 12 + i % 5))["cuda-oom"].severity == "S2"


def test_the_process_that_writes_the_error_is_not_another_one(tmp_path):
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 79.00 GiB of which 2.00 GiB is free. Process 77 has 70.00 GiB memory in use."  # noqa: E501
    for name, pid in (("own", 77), ("other", 78)):
        (tmp_path / name).mkdir()
        found = codes(tmp_path / name, f"(Worker pid={pid}) ERROR starting\n(Worker pid={pid}) ERROR {oom}\n")
        assert ("gpu-memory-held-elsewhere" in found) == (name == "other")
