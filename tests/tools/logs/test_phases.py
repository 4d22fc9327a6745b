"""The traceback above an out-of-memory error names the phase, or nothing is said of it."""

import pytest

from triage.tools.logs.signatures.causes import Timeline, judge
from triage.tools.logs.signatures.match import Matcher
from triage.tools.reading import Chunk

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB\n"
)


def trace(*frames: str, rank: str = "") -> str:
    head = f"{rank}Traceback (most recent call last):\n"
    return head + "".join(
        f'{rank}  File "/x/{f[0]}", line 7, in {f[1]}\n{rank}    call(x)\n' for f in map(str.split, frames)
    )


def found(text: str):
    matcher = Matcher(len(text))
    matcher.look(Chunk(text.encode(), 1))
    return {f.code: f for f in judge({"a.log": matcher.hits()}, {"a.log": Timeline()})}


OPTIMIZER = ("train.py main", "torch/optim/adamw.py step", "torch/optim/adamw.py _init_group")
EVALUATION = ("transformers/trainer.py _inner_training_loop", "transformers/trainer.py evaluation_loop")


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (OPTIMIZER, "oom-in-optimizer-step"),
        (("run.py main", "deepspeed/runtime/zero/stage3.py initialize_optimizer_states"), "oom-in-optimizer-step"),
        (
            ("run.py main", "bitsandbytes/optim/optimizer.py step", "bitsandbytes/optim/optimizer.py init_state"),
            "oom-in-optimizer-step",
        ),
        (EVALUATION, "oom-in-evaluation"),
        ((*EVALUATION, "torch/nn/modules/module.py _call_impl", "m.py forward"), "oom-in-evaluation"),
        (("megatron/training/training.py evaluate_and_print_results",), "oom-in-evaluation"),
    ],
)
def test_the_frames_name_the_phase(frames, code):
    phase = found(trace(*frames) + OOM)[code]
    assert phase.severity == "S0"
    assert phase.evidence[0].text.startswith("File")


@pytest.mark.parametrize(
    "text",
    [
        OOM,
        trace("train.py main", "torch/nn/modules/module.py _call_impl", "m.py forward") + OOM,
        trace("train.py main", "torch/optim/adamw.py step", "loop.py closure", "m.py forward") + OOM,
        trace("train.py main", "torch/optim/lr_scheduler.py step") + OOM,
        trace(*OPTIMIZER) + "ValueError: bad group\nretrying\n" + trace("m.py forward") + OOM,
        trace(*OPTIMIZER, rank="[rank1]: ") + "[rank0]: " + OOM,
        trace(*OPTIMIZER) + "ValueError: no memory was short\n",
    ],
)
def test_no_phase_is_named_without_a_frame_of_it_in_this_traceback(text):
    assert not {"oom-in-optimizer-step", "oom-in-evaluation"} & found(text).keys()


def test_lines_of_other_ranks_between_the_frames_do_not_hide_the_phase():
    mine = trace(*OPTIMIZER, rank="[rank0]: ").splitlines(keepends=True)
    mixed = "".join(line + "[rank1]: step 3 goes on\n" for line in mine) + "[rank0]: " + OOM
    assert found(mixed)["oom-in-optimizer-step"].evidence[0].rank == 0


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (("train.py main", "torch/utils/checkpoint.py checkpoint", "m.py forward"), True),
        (("train.py main", "megatron/core/transformer/block.py _checkpointed_forward", "m.py forward"), True),
        (("train.py main", "fleet/recompute/recompute.py recompute", "m.py forward"), True),
        (("train.py main", "m.py forward"), False),
        (("train.py main", "torch/distributed/checkpoint/state_dict.py load", "m.py forward"), False),
        (("train.py main", "trainer.py save_checkpoint"), False),
    ],
)
def test_a_frame_of_the_recomputation_shows_that_it_is_on(frames, told):
    assert ("oom-while-recomputing" in found(trace(*frames) + OOM)) == told
