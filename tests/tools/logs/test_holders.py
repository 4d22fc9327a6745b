"""Who holds the card when it is full: other processes are named, the one that failed and a small one are not."""

import pytest

from tests.tools.logs.test_phases import trace
from triage.tools.logs.signatures.causes import Timeline, judge
from triage.tools.logs.signatures.match import Matcher
from triage.tools.reading import Chunk

CARD = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 68.00 MiB. "
    "GPU 0 has a total capacity of 23.69 GiB of which 50.94 MiB is free. "
)
PYTORCH = (
    "Of the allocated memory 1.86 GiB is allocated by PyTorch, and 73.76 MiB is reserved by PyTorch but unallocated."
)
OWN = "Including non-PyTorch memory, this process has 2.22 GiB memory in use. "


def found(text: str, **life):
    matcher = Matcher(len(text))
    matcher.look(Chunk(text.encode(), 1))
    return {f.code: f for f in judge({"a.log": matcher.hits()}, {"a.log": Timeline(**life)})}


@pytest.mark.parametrize(
    "held",
    [
        "Process 90 has 21.40 GiB memory in use. " + OWN + PYTORCH,
        "Process 90 has 21.40 GiB memory in use. Process 107 has 2.22 GiB memory in use. " + PYTORCH,
    ],
)
@pytest.mark.parametrize("spelled", ["capacity", "capacty"])
def test_the_process_that_holds_the_card_is_named(held, spelled):
    finding = found(CARD.replace("capacity", spelled) + held)["gpu-memory-held-elsewhere"]
    assert "process 90 holds 21.4 GiB" in finding.message
    assert finding.severity.name == "S0"
    assert "90" in finding.zh


@pytest.mark.parametrize(
    "held",
    [
        "Including non-PyTorch memory, this process has 23.50 GiB memory in use. " + PYTORCH,
        "Process 5366 has 23.40 GiB memory in use. Of the allocated memory 15.2 GiB is allocated by PyTorch, "
        "and 7.24 GiB is reserved by PyTorch but unallocated.",  # itself, in a container
        "Process 90 has 0.80 GiB memory in use. " + OWN.replace("2.22", "22.8") + PYTORCH,  # a desktop
        "",
    ],
)
def test_nobody_else_is_blamed_for_a_card_that_the_process_filled(held):
    assert found(CARD + held).keys() == {"cuda-oom"}


@pytest.mark.parametrize(
    "held",
    [
        "Process 811 has 5.02 GiB memory in use. Process 812 has 5.02 GiB memory in use. Including non-PyTorch memory, "
        "this process has 5.40 GiB memory in use. Process 813 has 5.10 GiB memory in use. " + PYTORCH,
        "Process 70 has 1.20 GiB memory in use. Process 71 has 1.20 GiB memory in use. Process 73 has 1.20 GiB memory "
        "in use. Process 75 has 1.20 GiB memory in use. " + OWN.replace("2.22", "17.9") + PYTORCH,
    ],
)
def test_ranks_of_one_run_on_one_card_are_nobody_else(held):
    all_found = found(CARD + held)
    assert all_found.keys() == {"cuda-oom", "ranks-share-a-card"}
    assert ", ".join(sorted(n for n in ("811", "812", "813", "70", "71", "73", "75") if f"Process {n} " in held)) in (
        all_found["ranks-share-a-card"].message
    )


@pytest.mark.parametrize(
    "held",
    [
        "Process 90 has 11.40 GiB memory in use. Process 4107 has 8.22 GiB memory in use. " + OWN + PYTORCH,
        "Process 90 has 2.40 GiB memory in use. Process 91 has 17.22 GiB memory in use. " + OWN + PYTORCH,
    ],
)
def test_processes_of_strangers_are_not_taken_for_ranks(held):
    assert found(CARD + held).keys() == {"cuda-oom", "gpu-memory-held-elsewhere"}


def test_a_start_that_failed_beside_a_server_that_answers_is_more_than_a_note():
    frames = trace("vllm/engine/async_llm_engine.py _init_engine", "vllm/worker/worker.py load_model")
    answered = {"alive": 90, "serves": 20, "end": 100}
    assert found(frames + CARD, **answered)["cuda-oom"].severity.name == "S2"
    request = trace("vllm/v1/engine/core.py run_busy_loop", "vllm/v1/worker/gpu_worker.py execute_model")
    assert found(request + CARD, **answered)["cuda-oom"].severity.name == "S3"


START = (
    "ERROR 07-01 09:41:21 [core.py:888] ValueError: Free memory on device cuda:0 ({}/79.18 GiB) on startup is less "
    "than desired GPU memory utilization (0.92, 72.84 GiB). Decrease GPU memory utilization or reduce GPU memory used "
    "by other processes."
)


def test_a_card_that_is_taken_when_an_engine_starts_is_named():
    told = found(START.format("54.34"))["gpu-memory-held-elsewhere"]
    assert "24.84 GiB" in told.message
    assert told.data["share"] == pytest.approx(0.314)


def test_a_card_that_is_nearly_free_is_held_by_nobody_else():
    assert "gpu-memory-held-elsewhere" not in found(START.format("72.1"))
