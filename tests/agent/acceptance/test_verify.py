"""The verdict on two runs: which rule decides, and what it says is missing."""

import json
from pathlib import Path

import numpy as np
import pytest
from judging import look_at
from safetensors.numpy import save_file

from triage.agent.acceptance.verify import compare, failure_step, verify
from triage.agent.evidence import Look
from triage.agent.narrate.verdict import verdict_text
from triage.agent.narrate.words import VERDICTS
from triage.knowledge.entry import Entry
from triage.knowledge.runbook import load
from triage.tools.findings import TriageError
from triage.tools.run import Run

EXAMPLE = Path(__file__).parents[3] / "evals" / "example"
CONFIG = """\
learning_rate: {lr}
max_steps: 500
per_device_train_batch_size: {micro}
gradient_accumulation_steps: {accumulation}
weight_decay: {decay}
logging_steps: {every}
"""
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB\n"


def config(lr="1e-4", micro=4, accumulation=1, decay=0.0, every=10) -> str:
    return CONFIG.format(lr=lr, micro=micro, accumulation=accumulation, decay=decay, every=every)


def log(steps=500, every=10, loss=lambda i: 3 - i / 400, norm=lambda i: 1 + i % 7 / 10, extra="") -> str:
    rows = [f"step: {i} loss: {loss(i):.4f} grad_norm: {norm(i):.4f}" for i in range(every, steps + 1, every)]
    return "\n".join(rows) + "\n" + extra


def run(folder: Path, settings: str | None, text: str, **files: str) -> Look:
    folder.mkdir()
    (folder / "train.log").write_text(text)
    if settings:
        (folder / "train.yaml").write_text(settings)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return look_at(folder)


def entry(*criteria: dict, variable="learning_rate") -> Entry:
    change = {"multiply": 0.5} if variable == "learning_rate" else {"do": {"en": "x", "zh": "x"}}
    t = {"en": "x", "zh": "x"}
    fix = {"variable": variable, "change": change, "why": t, "expect": t}
    template = load().get("loss-nan-high-lr").model_dump(by_alias=True)
    acceptance = [{"metric": "loss", "is": "finite"}, *criteria]
    return Entry.model_validate({**template, "fix": fix, "acceptance": acceptance})


@pytest.fixture
def failed(tmp_path) -> Look:
    """A run whose loss is NaN from step 300 on."""
    nan = log(loss=lambda i: 3 - i / 400 if i < 300 else float("nan"))
    return run(tmp_path / "failed", config("2e-4"), nan)


def test_one_change_and_a_healthy_run_is_fixed(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config(), log()), entry())
    assert (v.verdict, v.why, [d.variable for d in v.changed]) == ("fixed", "all-pass", ["learning_rate"])
    assert (v.must_reach, v.reached) == (300, 500)


def test_two_changes_are_confounded(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config(decay=0.1), log()), entry())
    assert (v.verdict, v.why) == ("confounded", "several-changes")


def test_how_often_is_logged_is_no_change(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config(every=5), log(every=5)), entry())
    assert v.verdict == "fixed"


def test_the_same_failure_is_not_fixed(tmp_path, failed):
    again = log(loss=lambda i: 3 - i / 400 if i < 400 else float("nan"))
    v = compare(failed, run(tmp_path / "now", config(), again), entry())
    assert (v.verdict, v.why) == ("not-fixed", "failure-remains")
    assert "loss-nonfinite" in v.remaining


def test_another_failure_is_not_fixed(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config(), log(350, extra=OOM)), entry())
    assert (v.verdict, v.new) == ("not-fixed", ("cuda-oom",))


def test_a_run_that_has_not_reached_the_failure_is_inconclusive_and_says_where_it_must_go(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config(), log(200)), entry())
    assert (v.verdict, v.why) == ("inconclusive", "too-little-seen")
    assert "must reach step 300" in verdict_text(v, "en")
    assert "300" in verdict_text(v, "zh")


def test_nothing_changed_is_inconclusive(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config("2e-4"), log()), entry())
    assert (v.verdict, v.why) == ("inconclusive", "nothing-changed")


def test_a_fix_that_is_not_a_setting_changes_no_setting(tmp_path, failed):
    v = compare(failed, run(tmp_path / "now", config("2e-4"), log()), entry(variable="dataset"))
    assert v.verdict == "fixed"
    both = compare(failed, run(tmp_path / "both", config(decay=0.1), log()), entry(variable="dataset"))
    assert both.verdict == "confounded"


def test_a_criterion_that_needs_people_does_not_block(tmp_path, failed):
    people = {"metric": "fluent", "is": "true", "needs": "human labels"}
    v = compare(failed, run(tmp_path / "now", config(), log()), entry(people))
    assert v.verdict == "fixed"
    assert v.criteria[1].result == "no-observation"
    assert "judged by a person" in v.criteria[1].observation.definition


def test_a_criterion_that_a_run_could_answer_blocks_and_names_the_artifact(tmp_path, failed):
    computable = {"metric": "near_dup_ratio", "is": "below", "high": 3}
    v = compare(failed, run(tmp_path / "now", config(), log()), entry(computable))
    assert v.verdict == "inconclusive"
    assert v.unseen == ("near_dup_ratio: training data is needed in the run",)
    assert "training data is needed" in verdict_text(v, "en")
    assert v.as_json("")["missing"] == list(v.unseen)


def test_only_criteria_that_need_others_prove_nothing(tmp_path, failed):
    people = {"metric": "fluent", "is": "true", "needs": "human labels"}
    alone = entry().model_copy(update={"acceptance": entry(people).acceptance[1:]})
    v = compare(failed, run(tmp_path / "now", config(), log()), alone)
    assert (v.verdict, v.why) == ("inconclusive", "nothing-computable")


def test_the_disputed_pair_of_norm_and_clip_rate_does_not_fail_a_run(tmp_path, failed):
    pair = (
        {"metric": "grad_norm", "is": "between", "low": 0.5, "high": 5.0},
        {"metric": "clip_trigger_rate", "is": "at-most", "high": 1},
    )
    old = run(tmp_path / "old", config("2e-4") + "max_grad_norm: 1.0\n", (failed.run.root / "train.log").read_text())
    v = compare(old, run(tmp_path / "now", config() + "max_grad_norm: 1.0\n", log()), entry(*pair))
    assert [j.result for j in v.criteria] == ["pass", "pass", "no-observation"]
    assert v.criteria[2].observation.value > 50
    assert v.verdict == "fixed"


def test_micro_batch_against_accumulation_is_one_change_at_the_same_global_batch(tmp_path):
    unchanged = {"metric": "global_batch_size", "is": "equals", "value": "unchanged"}
    oom = {"metric": "cuda_oom", "is": "false"}
    old = run(tmp_path / "old", config(), log(120, extra=OOM))
    v = compare(old, run(tmp_path / "now", config(micro=2, accumulation=2), log()), entry(oom, unchanged))
    assert (v.verdict, len(v.changed)) == ("fixed", 1)
    smaller = compare(old, run(tmp_path / "small", config(micro=2), log()), entry(oom, unchanged))
    assert (smaller.verdict, smaller.why) == ("not-fixed", "criterion-failed")


def test_at_another_global_batch_the_losses_of_a_step_are_not_compared(tmp_path):
    old = run(tmp_path / "old", config(accumulation=4), log())
    worse = log(loss=lambda i: 3.6 - i / 5000)
    v = compare(old, run(tmp_path / "now", config(accumulation=1), worse), entry())
    assert [d.variable for d in v.changed] == ["grad_accumulation"]
    assert "loss" not in {n.metric for n in v.neighbours}
    same = compare(old, run(tmp_path / "same", config(micro=1, accumulation=16), worse), entry())
    assert "loss" in {n.metric for n in same.neighbours}


def test_a_crash_without_a_step_of_its_own_lies_after_the_last_step(tmp_path):
    old = run(tmp_path / "old", config(), log(120, extra=OOM))
    assert failure_step(old) == 120
    v = compare(old, run(tmp_path / "now", config("5e-5"), log(60)), entry({"metric": "cuda_oom", "is": "false"}))
    assert v.verdict == "inconclusive"


def test_a_neighbour_that_got_worse_spoils_the_verdict(tmp_path, failed):
    slower = run(tmp_path / "now", config(), log(loss=lambda i: 3.6 - i / 5000))
    v = compare(failed, slower, entry())
    assert (v.verdict, v.why) == ("not-fixed", "neighbour-worse")
    loss = v.neighbours[0]
    assert (loss.metric, loss.result) == ("loss", "fail")
    assert loss.window == "steps 261..290 of both runs"


def test_a_neighbour_within_its_noise_is_no_worse(tmp_path, failed):
    jitter = run(tmp_path / "now", config(), log(loss=lambda i: 3 - i / 400 + (0.7 if i % 20 else -0.6)))
    assert [n.result for n in compare(failed, jitter, entry()).neighbours if n.metric == "loss"] == ["pass"]


def test_a_value_near_its_threshold_is_marked(tmp_path, failed):
    near = {"metric": "grad_norm", "is": "below", "high": 1.31}
    v = compare(failed, run(tmp_path / "now", config(), log()), entry(near))
    told = v.as_json("")["criteria"][1]
    assert told["near_threshold"] is True
    assert told["noise"] > 0


def test_a_candidate_with_nothing_to_read_is_refused(tmp_path, failed):
    (tmp_path / "now").mkdir()
    empty = Look(Run(tmp_path / "now"), *[type(failed.table)(), type(failed.settings)()], type(failed.scan)("scan"), ())
    with pytest.raises(TriageError, match="nothing to verify"):
        compare(failed, empty, entry())


@pytest.mark.parametrize("id", ["loss-nan-high-lr", "loss-nan"])
@pytest.mark.parametrize(
    ("candidate", "verdict"),
    [("run-2", "fixed"), ("run-3", "confounded"), ("run-4", "inconclusive"), ("run-1", "not-fixed")],
)
def test_the_bundled_examples_keep_their_verdicts(id, candidate, verdict):
    v = compare(look_at(EXAMPLE / "run-1"), look_at(EXAMPLE / candidate), load().get(id))
    assert v.verdict == verdict


def test_every_reason_has_words_in_both_languages():
    from triage.agent.acceptance.verify import VERDICT_OF

    assert VERDICT_OF.keys() == VERDICTS.keys()


def test_what_spoke_for_the_entry_must_be_looked_for_again_and_be_gone(tmp_path):
    plateau = load().get("loss-stagnation")
    flat = log(2000, loss=lambda i: 6.2 + i % 3 / 1000)
    before = run(tmp_path / "flat", config("1e-6"), flat)
    again = compare(before, run(tmp_path / "again", config("1e-5"), flat), plateau)
    assert (again.verdict, again.criteria[-1].criterion.metric) == ("not-fixed", "loss_unmoved")
    better = compare(before, run(tmp_path / "better", config("1e-5"), log(2000, loss=lambda i: 6.2 - i / 500)), plateau)
    assert better.verdict == "fixed"


def test_an_adapter_that_was_saved_empty_must_be_looked_at_again_and_hold_something(tmp_path):
    empty, whole = ({"q_proj.lora_B.weight": np.ones(shape, np.float32)} for shape in ((0,), (32, 4)))
    before, now = (run(tmp_path / name, config(), log()).run.root for name in ("before", "now"))
    for folder, tensors in ((before, empty), (now, whole)):
        (folder / "adapter_config.json").write_text("{}")
        save_file(tensors, folder / "adapter_model.safetensors")
    entry = load().get("empty-weights-saved")
    gone, again = verify(before, now, entry), verify(before, before, entry)
    assert {j.criterion.metric: j.result for j in gone.criteria}["adapter_empty"] == "pass"
    assert {j.criterion.metric: j.result for j in again.criteria}["adapter_empty"] == "fail"


def test_a_loss_that_the_fault_made_look_good_is_no_neighbour(tmp_path):
    rising = "".join(f"step: {i} eval_loss: {2 + i / 500:.4f}\n" for i in range(100, 2001, 100))
    over = run(tmp_path / "over", config(), log(2000, loss=lambda i: 3 - i / 700, extra=rising))
    assert "eval-loss-rising" in {f.code for f in over.findings}
    v = compare(over, run(tmp_path / "now", config("5e-5"), log(2000, loss=lambda i: 3 - i / 1400)), entry())
    assert "loss" not in {n.metric for n in v.neighbours}


def test_a_policy_loss_and_the_entropy_of_supervised_training_are_no_neighbours(tmp_path):
    def lines(metric, value):
        return "".join(f"step: {i} {metric}: {value:.4f}\n" for i in range(10, 501, 10))

    def judged(name, extra):
        sides = [
            run(tmp_path / f"{name}{i}", config(lr), log(loss=lambda _, i=i: 0.1 + i, extra=extra(i)))
            for i, lr in ((0, "2e-4"), (1, "1e-4"))
        ]
        return {n.metric: n.result for n in compare(*sides, entry()).neighbours}

    supervised = judged("sft", lambda i: lines("entropy", 3 - 2 * i))
    reinforced = judged("rl", lambda i: lines("reward", 1.0) + lines("entropy", 3 - 2 * i))
    assert (supervised.get("loss"), supervised.get("entropy")) == ("fail", None)
    assert (reinforced.get("loss"), reinforced.get("entropy")) == (None, "fail")


def test_a_policy_that_stood_still_had_no_divergence_to_keep(tmp_path):
    def lines(reward, silent, kl):
        return "".join(
            f"step: {i} reward: {reward} frac_reward_zero_std: {silent} kl: {kl}\n" for i in range(10, 501, 10)
        )

    def judged(name, before):
        after = lines(0.4, 0.2, 0.004)
        sides = [
            run(tmp_path / f"{name}{lr}", config(lr), log(extra=extra))
            for lr, extra in (("2e-4", before), ("1e-4", after))
        ]
        return {n.metric: n.result for n in compare(*sides, entry()).neighbours}.get("kl")

    assert judged("still", lines(0.0, 1.0, 0.0001)) is None
    assert judged("moves", lines(0.3, 0.2, 0.0001)) == "fail"


def rl(reward, clipped=lambda i: 0.02, every=2, steps=400) -> str:
    rows = (
        json.dumps({"step": i, "reward": round(reward(i) + 0.01 * (i % 5), 4), "kl": 0.01, "entropy": 0.6,
                    "completions/clipped_ratio": round(clipped(i) + 0.001 * (i % 3), 4)})
        for i in range(every, steps + 1, every)
    )  # fmt: skip
    return "\n".join(rows) + "\n"


def collapses(at: int):
    return lambda i: 0.2 + 0.35 * i / at if i < at else 0.17


def test_what_spoke_for_the_entry_at_all_and_is_there_again_is_not_fixed(tmp_path):
    entry = load().get("rl-instability")
    before = run(tmp_path / "was", "kl_coef: 0.01\n", "", metrics__jsonl=rl(collapses(242)))
    for name, reward, verdict in (("again", collapses(236), "not-fixed"), ("sound", lambda i: 0.2 + i / 900, "fixed")):
        now = run(tmp_path / name, "kl_coef: 0.01\nmax_grad_norm: 0.5\n", "", metrics__jsonl=rl(reward))
        assert compare(before, now, entry).verdict == verdict, name


def test_a_share_that_still_rises_far_below_its_threshold_is_repaired(tmp_path):
    entry = load().get("completions-truncated")

    def reward(i):
        return 0.2 + i / 900

    was = run(tmp_path / "was", "max_completion_length: 512\n", "", m__jsonl=rl(reward, lambda i: 0.05 + i / 600))
    now = run(tmp_path / "now", "max_completion_length: 4096\n", "", m__jsonl=rl(reward, lambda i: 0.02 + i / 12000))
    still = run(tmp_path / "still", "max_completion_length: 640\n", "", m__jsonl=rl(reward, lambda i: 0.04 + i / 700))
    assert (compare(was, now, entry).verdict, compare(was, still, entry).verdict) == ("fixed", "not-fixed")


def test_settings_in_a_file_that_nothing_refers_to_are_compared(tmp_path, failed):
    model = "model:\n  n_layers: {layers}\n  router_aux_loss_coef: {aux}\n"
    before = run(tmp_path / "was", config("2e-4"), log(loss=lambda i: 3 - i / 400 if i < 300 else float("nan")),
                 model__yaml=model.format(layers=24, aux=0.0))  # fmt: skip
    for name, layers, aux, lr, why in (
        ("one", 24, 0.01, "2e-4", "all-pass"),
        ("two", 24, 0.01, "1e-4", "several-changes"),
        ("none", 24, 0.0, "2e-4", "nothing-changed"),
        ("alike", 12, 0.01, "2e-4", "several-changes"),
    ):
        now = run(tmp_path / name, config(lr), log(), model__yaml=model.format(layers=layers, aux=aux))
        assert compare(before, now, entry()).why == why, name


def test_where_nothing_that_was_changed_is_seen_the_words_say_so(tmp_path):
    nan = log(loss=lambda i: 3 - i / 400 if i < 300 else float("nan"))
    v = compare(run(tmp_path / "was", None, nan), run(tmp_path / "now", None, log()), entry(variable="dataset"))
    assert (v.verdict, v.why) == ("fixed", "all-pass-unseen")
    assert "No changed setting was seen" in verdict_text(v, "en")
    assert "one change" not in verdict_text(v, "en")


NETWORK = "seed: 7\nmodel:\n  d_model: 2048\n  n_layers: {layers}\n  moe:\n    drop_a: {a}\n    drop_b: {b}\n"
OPTIMIZER = "seed: 11\noptim:\n  name: adamw\n  lr: 2.0e-4\nrun:\n  steps: 500\n  log_every: 10\n"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, "nothing-changed"),
        ({"a": 0.0}, "all-pass"),
        ({"layers": 12}, "all-pass"),
        ({"a": 0.0, "b": 0.0}, "several-changes"),
    ],
    ids=["none", "one", "known", "two that move alike"],
)
def test_a_file_of_settings_that_is_not_in_force_is_held_against_the_one_of_its_name(tmp_path, change, why):
    def laid(name, text, **how):
        (tmp_path / name / "conf").mkdir(parents=True)
        (tmp_path / name / "conf" / "train.yaml").write_text(OPTIMIZER)
        network = NETWORK.format(**{"layers": 24, "a": 0.1, "b": 0.1, **how})
        (tmp_path / name / "conf" / "model.yaml").write_text(network)
        (tmp_path / name / "train.log").write_text(text)
        return look_at(tmp_path / name)

    before = laid("was", log(loss=lambda i: 3 - i / 400 if i < 300 else float("nan")))
    assert "conf/model.yaml" not in before.settings.files
    assert compare(before, laid("now", log(), **change), entry()).why == why
