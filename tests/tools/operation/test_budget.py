"""Requests that wait for a batch's token budget while the card has room, and queues of another cause."""

import pytest

from triage.tools.operation.requests.budget import at_budget
from triage.tools.relate.line import lines_of
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables


def found(folder, requests, card="", **set_):
    (folder / "requests.csv").write_text(requests)
    (folder / "card.csv").write_text(card or gpu())
    tables = [t for n in ("requests.csv", "card.csv") for t in read_tables(folder / n, n)]
    others = {k: Setting(k, str(v), str(v), f"--{k.replace('_', '-')}", "serve.sh", 3) for k, v in set_.items()}
    return list(at_budget(lines_of((), tables), Settings(others=others)))


def requests(wait=9.0, takes=2.0, loaded=2.1, head="time_s,queue_time_s,generation_time_s"):
    rows = [f"{i},{0.02 if i < 80 else wait},{(takes if i < 80 else loaded) + i % 7 / 100:.3f}" for i in range(400)]
    return "\n".join([head, *rows]) + "\n"


def gpu(busy=30, used=20000):
    return "minute,gpu_util,mem_used,mem_total\n" + "".join(f"{i},{busy + i % 3},{used},80000\n" for i in range(30))


TGI = {"max_batch_total_tokens": 24000, "max_total_tokens": 8000}


@pytest.mark.parametrize(
    ("text", "set_"),
    [
        (requests(), TGI),
        (requests(head="时间,排队时间,推理耗时"), TGI),
        (requests(), {"max_total_tokens": 40000, "context_length": 10000}),
        (requests(), {"max_num_tokens": 16384, "max_seq_len": 16384}),
    ],
    ids=["tgi", "zh", "sglang", "tensorrt"],
)
def test_a_budget_that_holds_a_few_requests_is_told_with_a_larger_one(tmp_path, text, set_):
    (told,) = found(tmp_path, text, **set_)
    assert told.code == "requests-wait-at-budget"
    assert told.data["proposes"]["new"] == 4 * next(iter(set_.values()))


@pytest.mark.parametrize(
    ("text", "card", "set_"),
    [
        (requests(), gpu(), {"max_batch_total_tokens": 800_000, "max_total_tokens": 8000}),
        (requests(), gpu(busy=97), TGI),
        (requests(), gpu(used=76000), TGI),
        (requests(loaded=6.0), gpu(), TGI),
        (requests(wait=0.5), gpu(), TGI),
        (requests(), gpu(), {"max_total_tokens": 8000}),
    ],
    ids=["a large budget", "a busy card", "a full card", "answers get slower", "no queue", "no budget"],
)
def test_queues_of_another_cause_are_left_alone(tmp_path, text, card, set_):
    assert not found(tmp_path, text, card, **set_)
