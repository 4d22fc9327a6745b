"""Every layout is recognised with its step and what lies beside; what is missing is named, what is normal is not."""

import json
import os

import numpy as np
import pytest
from making import fill

from triage.tools.checkpoints.compare import compare
from triage.tools.checkpoints.files.layout import find_checkpoints
from triage.tools.findings import TriageError


def make(root, *names):
    return fill(root, dict.fromkeys(names, b"x"))


@pytest.mark.parametrize(
    ("files", "layout", "step", "weights"),
    [
        (["checkpoint-500/model.safetensors", "checkpoint-500/optimizer.pt"], "huggingface", 500, 1),
        (["checkpoint-500/pytorch_model.bin"], "huggingface", 500, 1),
        (["checkpoint-9/adapter_config.json", "checkpoint-9/adapter_model.safetensors"], "adapter", 9, 1),
        (["iter_0000100/mp_rank_00/model_rng.pt", "iter_0000100/mp_rank_01/model_rng.pt"], "megatron", 100, 2),
        (["iter_0000100/.metadata", "iter_0000100/__0_0.distcp", "iter_0000100/common.pt"], "torch-dcp", 100, 1),
        (["global_step7/mp_rank_00_model_states.pt", "global_step7/zero_pp_rank_0_mp_rank_00_optim_states.pt"],
         "deepspeed", 7, 1),
        (["step-30/.metadata", "step-30/__0_0.distcp", "step-30/__1_0.distcp"], "torch-dcp", 30, 2),
        (["epoch=1-step=500.ckpt"], "lightning", 500, 1),
        (["epoch_2/hf_model_0001_0.pt", "epoch_2/hf_model_0002_0.pt"], "torchtune", 2, 2),
        (["weights/model_step_40.pt"], "file", 40, 1),
    ],
)  # fmt: skip
def test_layouts(tmp_path, files, layout, step, weights):
    (found,) = find_checkpoints(make(tmp_path, *files))
    assert (found.layout, found.step, len(found.weights), found.problems) == (layout, step, weights, ())


def test_checkpoints_come_in_the_order_of_their_steps_with_what_lies_beside(tmp_path):
    for step in (1000, 90, 500):
        make(tmp_path, *(f"checkpoint-{step}/{n}" for n in (
            "model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state_0.pth", "config.json", "tokenizer.json",
        )))  # fmt: skip
    found = find_checkpoints(tmp_path)
    assert [c.step for c in found] == [90, 500, 1000]
    assert set(found[0].beside) == {"optimizer", "scheduler", "rng", "config", "tokenizer"}
    assert found[0].time > 0


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        (["checkpoint-5/model-00001-of-00002.safetensors"], "S1"),
        (["checkpoint-5/optimizer.pt", "checkpoint-5/trainer_state.json"], "S2"),
        (["checkpoint-5/__0_0.distcp"], "S1"),
        (["tmp-checkpoint-5/model.safetensors"], "S2"),
        (["global_step5/mp_rank_00_model_states.pt", "global_step5/mp_rank_02_model_states.pt"], "S1"),
    ],
)
def test_what_is_missing_is_named(tmp_path, files, severity):
    (found,) = find_checkpoints(make(tmp_path, *files))
    assert [(p.code, str(p.severity)) for p in found.problems] == [("checkpoint-incomplete", severity)]


@pytest.mark.parametrize(
    ("tracker", "named", "codes"),
    [
        ("latest_checkpointed_iteration.txt", "200", []),
        ("latest_checkpointed_iteration.txt", "300", ["S1"]),
        ("latest_checkpointed_iteration.txt", "100", ["S2"]),
        ("latest_checkpointed_iteration.txt", "release", []),
    ],
)
def test_megatron_tracker(tmp_path, tracker, named, codes):
    make(tmp_path, "iter_0000100/mp_rank_00/model_optim_rng.pt", "iter_0000200/mp_rank_00/model_optim_rng.pt")
    (tmp_path / tracker).write_text(named)
    assert [str(p.severity) for c in find_checkpoints(tmp_path) for p in c.problems] == codes


def test_a_run_of_which_only_the_trainer_state_was_kept_has_no_checkpoint(tmp_path):
    assert find_checkpoints(make(tmp_path, "checkpoint-500/trainer_state.json", "train.log")) == []


def test_a_link_out_of_the_run_is_not_followed(tmp_path):
    outside = make(tmp_path / "outside", "model.safetensors")
    run = make(tmp_path / "run", "checkpoint-1/config.json")
    (run / "checkpoint-1" / "model.safetensors").symlink_to(outside / "model.safetensors")
    assert find_checkpoints(run) == []


def test_pipes_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    assert find_checkpoints(tmp_path) == []


def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(TriageError, match="cannot open"):
        find_checkpoints(tmp_path / "nothing")


def save(folder, step, **tensors):
    from safetensors.numpy import save_file

    folder.mkdir()
    save_file(tensors, folder / "model.safetensors")
    logged = [{"learning_rate": 1e-4 * step, "step": step}]
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": logged}))
    return folder


def test_compare_says_what_moved_and_by_how_much(tmp_path):
    still, wide = np.ones((4, 4), np.float32), np.ones((300, 300), np.float32)
    a = save(tmp_path / "checkpoint-1", 1, still=still, wide=wide, gone=still, grown=still)
    b = save(
        tmp_path / "checkpoint-2", 2, still=still, wide=(wide * 1.5).astype(np.float16), grown=np.ones((5, 4), "f4")
    )
    report = compare(a, b)
    assert report.findings == ()
    assert report.summary["moved"] == [{"tensor": "wide", "relative_change": pytest.approx(0.5)}]
    assert (report.summary["unmoved"], report.summary["reshaped"]) == (["still"], ["grown"])
    assert report.summary["only_before"] == ["gone"]
    assert report.summary["recorded"]["global_step"] == {"before": 1, "after": 2}
    assert report.summary["recorded"]["learning_rate"]["after"] == pytest.approx(2e-4)


def test_compare_wants_two_checkpoints_of_one_model(tmp_path):
    a = save(tmp_path / "checkpoint-1", 1, w=np.ones(3, np.float32))
    b = save(tmp_path / "checkpoint-2", 2, v=np.ones(3, np.float32))
    with pytest.raises(TriageError, match="no tensor in common"):
        compare(a, b)
    with pytest.raises(TriageError, match="holds 2 checkpoints"):
        compare(tmp_path, b)
