"""The memory of the host and that of the GPU are two: what is suspected, what grew, what the next run is judged by."""

import pytest
from making import fill

from triage.agent.session import ask

OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.\n"


def curve(name, grows, **also):
    """A log in which one memory grows to the end (or none does), and another stays."""
    rows = []
    for i in range(140):
        at = " ".join(f"{key}: {value:.2f}" for key, value in also.items())
        value = 21.0 + 1.7 * i + 0.4 * (i * 7 % 5) if grows else 21.0 + 0.4 * (i * 7 % 5)
        rows.append(f"step: {10 * i} loss: {2.2 - i / 300:.4f} {name}: {value:.2f} {at}")
    return "\n".join(rows) + "\n"


HOST = {"train.log": curve("rss_gb", True, gpu_memory_gb=38.5) + OOM}


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("is there a GPU memory leak?", "of the host's memory"),
        ("I suspect a leak of VRAM", "of the host's memory"),
        ("是不是显存泄漏了？", "主机的内存"),
    ],
)
def test_a_leak_of_the_gpu_is_not_shown_by_the_memory_of_the_host(tmp_path, question, told):
    assert told in "".join(ask(question, [fill(tmp_path, HOST)]).text)


@pytest.mark.parametrize("question", ["is there a memory leak?", "host RAM leak?", "内存泄漏？"])
def test_a_leak_of_the_host_or_of_any_memory_is(tmp_path, question):
    reply = ask(question, [fill(tmp_path, HOST)]).reply
    assert [j.verdict for j in reply.suspicions] == ["supported"]


def test_the_next_run_is_judged_by_the_memory_that_grew(tmp_path):
    answer = ask("why was it killed?", [fill(tmp_path / "a", HOST)])
    metrics = [c.metric for c in answer.proposal.acceptance]
    assert "gpu_memory" not in metrics
    assert "memory_grows_on" in metrics or "killed_without_reason" in metrics


def test_both_findings_of_one_memory_say_the_same_ends(tmp_path):
    findings = ask("why was it killed?", [fill(tmp_path, HOST)]).diagnosis.findings
    told = [f.message for f in findings if f.code in ("memory-grows-on", "host-memory-grows")]
    assert len(told) == 2
    assert all("from 21 to 258.5" in message for message in told)


def test_a_level_memory_is_no_leak(tmp_path):
    answer = ask("is there a GPU memory leak?", [fill(tmp_path, {"train.log": curve("rss_gb", False)})])
    assert not answer.diagnosis.top or answer.diagnosis.top.entry.id != "memory-leak"
    assert "of the host" not in answer.text


@pytest.mark.parametrize(("question", "told"), [
    ("worker killed, VRAM looks normal", "right for that of the GPU; what was found is of the host's"),
    ("进程被 OOM 杀掉了，不是显存的问题", "就 GPU 而言确实如此"),
    ("pod OOMKilled, host memory looks fine", "but the run supports it"),
])  # fmt: skip
def test_ruling_out_the_memory_of_the_gpu_is_no_word_on_that_of_the_host(tmp_path, question, told):
    assert told in ask(question, [fill(tmp_path, HOST)]).text


def test_a_level_memory_of_the_gpu_does_not_speak_against_a_leak_of_the_host(tmp_path):
    top = ask("why was it killed?", [fill(tmp_path, HOST)]).diagnosis.top
    assert top.entry.id == "memory-leak"
    assert not top.against


GATE = """
import time
from fastapi import FastAPI

app = FastAPI()
OPEN = {}


@app.post("/v2/say")
async def say(request_id: str, body: dict):
    OPEN[request_id] = (time.time(), body)
    answer = await backend(body)
    {done}
    return answer
"""


def usage(grows):
    """A monitor's table of a service under steady load."""
    rows = [f"{60 * i},{(400 + 30 * i * grows) / 1024:.3f},{12 + i % 3}" for i in range(120)]
    return "\n".join(["t_s,front_rss_gib,open_fds", *rows]) + "\n"


@pytest.mark.parametrize(("grows", "done", "state"), [
    (1, "pass", "diagnosed"), (1, "OPEN.pop(request_id)", "inconclusive"), (0, "pass", "inconclusive"),
])  # fmt: skip
def test_a_service_whose_memory_grows_is_diagnosed_by_what_it_never_takes_out(tmp_path, grows, done, state):
    run = fill(tmp_path, {"mem.csv": usage(grows), "front/app.py": GATE.replace("{done}", done)})
    answer = ask("may it go live?", [run])
    assert answer.diagnosis.state == state
    if state == "diagnosed":
        assert answer.diagnosis.top.entry.id == "memory-leak"
        assert "pop" in answer.proposal.new
        assert "front/app.py:11" in answer.text
