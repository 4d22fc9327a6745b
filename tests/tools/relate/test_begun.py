"""The beginning of a run, a restart that is slower, runs side by side, and errors that are the same on every card."""

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.relate.earlier.begun import climbed
from triage.tools.relate.line import Line
from triage.tools.relate.summed.look import summed
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(6)
X = np.arange(1.0, 321.0)


def line(name, values):
    return Line(name, name, "train.log", X, np.asarray(values, float), np.arange(1, len(X) + 1))


def thrown_out():
    return np.where(X < 15, 3.5 + 0.1 * X, np.where(X < 60, 60, 12)) * RNG.normal(1, 0.05, len(X))


@pytest.mark.parametrize(
    ("warmup", "norm", "told"),
    [(2, thrown_out(), True), (200, thrown_out(), False), (2, 3.0 / np.sqrt(X), False),
     (2, 1 + 0.002 * X, False), (2, np.where(X == 40, 90, 3.0), False)],
    ids=["thrown out", "a warm-up", "falls as usual", "creeps up", "one spike"],
)  # fmt: skip
def test_a_norm_that_climbs_behind_a_rate_at_its_peak_at_once(warmup, norm, told):
    rate = 3e-4 * np.minimum(X / warmup, 1)
    assert bool([*climbed([line("learning_rate", rate), line("grad_norm", norm)], Settings())]) is told


def log(first, last, loss, seconds, tokens=262144):
    return "\n".join(
        f" iteration {i}/ 20000 | elapsed time per iteration (ms): {1000 * seconds:.1f} | "
        f"learning rate: {min(i / 200, 1) * 3e-4:.6E} | global batch size: 64 | lm loss: {loss(i):.6E} | "
        f"grad norm: {0.4 + 0.01 * RNG.normal():.3f} |"
        for i in range(first, last, 5)
    )  # fmt: skip


def write(folder, **files):
    for name, text in files.items():
        stem, _, kind = name.rpartition("_")
        (folder / f"{stem}.{kind}").write_text(text + "\n")
    return look([folder])


def yaml(**more):
    base = {"tensor_model_parallel_size": 8, "pipeline_model_parallel_size": 2, "num_layers": 80,
            "micro_batch_size": 1, "global_batch_size": 64, "seq_length": 4096, "lr": "1.5e-4"}  # fmt: skip
    return "\n".join(f"{k}: {v}" for k, v in {**base, **more}.items())


def falling(i):
    return 2 + 6 * 0.999**i + 0.01 * RNG.normal()


def test_a_run_that_is_slower_since_it_was_restarted_names_what_is_set_otherwise(tmp_path):
    then = {"args_0303_yaml": yaml(), "train_0303_log": log(1, 600, falling, 17.9)}
    wide = yaml(tensor_model_parallel_size=16)
    seen = write(tmp_path, **then, args_0312_yaml=wide, train_0312_log=log(600, 1200, falling, 41.8))
    found = next(f for f in seen.findings if f.code == "slower-since-restart")
    assert found.data["changed"] == {"tensor_parallel": [8, 16]}
    assert found.data["ratio"] == pytest.approx(2.33, abs=0.05)
    assert seen.settings.get("tensor_parallel").file == "args_0312.yaml"


@pytest.mark.parametrize(("config", "seconds"), [(yaml(tensor_model_parallel_size=16), 18.1), (yaml(), 41.8)])
def test_a_restart_as_fast_or_with_nothing_set_otherwise_says_nothing(tmp_path, config, seconds):
    seen = write(tmp_path, args_a_yaml=yaml(), train_a_log=log(1, 600, falling, 17.9),
                 args_b_yaml=config, train_b_log=log(600, 1200, falling, seconds))  # fmt: skip
    assert not [f for f in seen.findings if f.code == "slower-since-restart"]


def launch(**flags):
    base = {"num-layers": 32, "seq-length": 4096, "micro-batch-size": 4, "global-batch-size": 1024, "lr": "3.0e-4",
            "min-lr": "3.0e-5", "lr-decay-style": "cosine"}  # fmt: skip
    said = " ".join(f"--{k.replace('_', '-')} {v}" for k, v in {**base, **flags}.items())
    return f"torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py {said}"


STEPS = launch(train_iters=24000, lr_decay_iters=24000, lr_warmup_iters=2000)
SAMPLES = launch(train_samples=24576000, lr_decay_samples=24576000, lr_warmup_samples=2000)


def stuck(i):
    return 7.8 + 0.01 * RNG.normal()


def test_two_runs_side_by_side_in_one_folder_are_told_apart_by_their_names(tmp_path):
    seen = write(tmp_path, launch_old_sh=STEPS, old_cluster_log=log(1, 1500, falling, 6.8),
                 launch_new_sh=SAMPLES, new_cluster_log=log(1, 1200, stuck, 2.9))  # fmt: skip
    found = next(f for f in seen.findings if f.code == "behind-sibling")
    assert (seen.about, found.data["changed"]) == ("new", {"warmup_steps": [2000, 1]})
    assert found.data["proposes"] == {"variable": "warmup_samples", "new": 2000 * 1024}


def test_logs_of_one_configuration_are_one_run(tmp_path):
    seen = write(tmp_path, launch_sh=STEPS, old_cluster_log=log(1, 700, falling, 6.8),
                 new_cluster_log=log(700, 1200, falling, 6.8))  # fmt: skip
    assert not seen.about


@pytest.mark.parametrize(("h200", "alike"), [((0.0039, 0.0070, 0.0038), True), ((0.0039, 0.031, 0.0038), False)])
def test_errors_that_are_the_same_on_both_cards_are_a_note(tmp_path, h200, alike):
    ops = ("gemm", "attention", "rmsnorm")
    rows = [f"{card},{op},bf16,{e}" for card, errors in (("A100", (0.0039, 0.0071, 0.0038)), ("H200", h200))
            for op, e in zip(ops, errors, strict=True)]  # fmt: skip
    (tmp_path / "n.csv").write_text("\n".join(["card,op,dtype,max_rel_err", *rows]) + "\n")
    codes = {f.code for f in summed(read_tables(tmp_path / "n.csv", "n.csv"))[0]}
    assert ("errors-alike" in codes) is alike
