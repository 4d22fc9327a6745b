"""What stands around a number decides what it counts, and whether it holds: units, alternatives, neighbours."""

import json
import time

import pytest
from configs import read

from triage.tools.config.combine import read_settings
from triage.tools.discover import discover


def values(text: str, name: str = "conf.yaml") -> dict:
    return {s.variable: s.value for s in read(text, name)}


def of_run(folder, files) -> dict:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return {s.variable: s.value for s in read_settings(discover(folder))[0]}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("lr: 1.0e-4\nsave_every: 20   # epochs\n", "conf.yaml"),
        ("lr = 1e-4\nsave_every = 20  # in minutes\n", "conf.toml"),
        ("lr: 1.0e-4\nsave_every: 20  # 单位：轮\n", "conf.yaml"),
        ("lr: 1.0e-4\ncheckpoint_freq: 2\nepochs: 30\n", "conf.yaml"),
        ("lr: 1.0e-4\nhooks: {checkpoint: {interval: 10, by_epoch: true}}\n", "conf.yaml"),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=1e-4)\n"
         "p.add_argument('--save-every', type=int, default=20, help='epochs between two')\n", "fit.py"),
    ],
)  # fmt: skip
def test_what_counts_epochs_or_minutes_counts_no_steps(text, name):
    got = values(text, name)
    assert got["learning_rate"] == 1e-4
    assert "save_steps" not in got


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("lr: 1.0e-4\nsave_every: 300   # steps, about two epochs\n", "conf.yaml"),
        ("lr: 1.0e-4\nsave_steps: 300   # three a day\n", "conf.yaml"),
        ("lr: 1.0e-4\nhooks: {save: {every: 300}}\nckpt_every: 300\n", "conf.yaml"),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=1e-4)\n"
         "p.add_argument('--save-every', type=int, default=300, help='steps between two, not epochs')\n", "fit.py"),
    ],
)  # fmt: skip
def test_steps_stay_steps(text, name):
    assert values(text, name)["save_steps"] == 300


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lr: 1.0e-4\nsched: {kind: poly, warmup: 4%, max_steps: 120k}\n",
         {"warmup_ratio": 0.04, "max_steps": 120_000}),
        ("lr: 1.0e-4\nmax_len: 16k\nwarmup_steps: 2.5k\n", {"sequence_length": 16_384, "warmup_steps": 2500}),
        ("engine: {name: vllm, mem_util: 84%, ctx: 32k}\n", {"gpu_memory_utilization": 0.84, "max_model_len": 32_768}),
        ("lr: 1.0e-4\nmodel: {untie_embeddings: true}\nactivation_checkpointing: {enabled: true}\n",
         {"tie_embeddings": False, "activation_checkpointing": True}),
        ("sampling: {greedy: true, max_new: 300, rep_pen: 1.1}\n",
         {"sampling": False, "max_response_length": 300, "repetition_penalty": 1.1}),
        ("engine: {name: vllm, max_len: 9000}\ndecode: {stop: ['</s>', '###']}\n", {"stop_tokens": '["</s>", "###"]'}),
    ],
)  # fmt: skip
def test_a_value_is_read_in_its_unit_and_sense(text, found):
    got = values(text)
    assert {k: got.get(k) for k in found} == found


@pytest.mark.parametrize("text", ["lr: 30k\n", "lr: 1.0e-4\ngrad_clip: 4%\n", "lr: 1.0e-4\nseed: 5%\nepochs: 3m\n"])
def test_a_power_where_nothing_is_counted_is_no_number(text):
    assert not {"learning_rate", "grad_clip", "seed", "epochs"} & set(values(text)) - {"learning_rate"}
    assert values(text).get("learning_rate") in (None, 1e-4)


ALTERNATIVES = (
    "{key}: night\nnight: {{lr: 3.0e-5, epochs: 4, bs: 6}}\nday: {{lr: 1.0e-3, epochs: 1, bs: 60}}\nseed: 3\n"
)


@pytest.mark.parametrize("key", ["active", "profile", "当前"])
def test_the_part_of_a_file_that_it_names_itself_is_in_force(key):
    got = values(ALTERNATIVES.format(key=key))
    assert (got["learning_rate"], got["epochs"], got["micro_batch_size"], got["seed"]) == (3e-5, 4, 6, 3)


@pytest.mark.parametrize(
    "text",
    [
        ALTERNATIVES.format(key="resume_from"),
        ALTERNATIVES.format(key="active").replace("night\n", "dusk\n", 1),
        "active: night\nnight: {lr: 3.0e-5, epochs: 4}\nplots: {width: 4, dpi: 90}\n",
    ],
)
def test_no_part_is_in_force_that_the_file_does_not_choose_among_its_like(text):
    assert "learning_rate" not in values(text)


def test_the_chosen_part_may_stand_one_heading_below():
    below = "".join(f"  {line}\n" for line in ALTERNATIVES.format(key="active").splitlines())
    assert values(f"runs:\n{below}".replace("  active: night\n", "") + "active: night\n")["learning_rate"] == 3e-5


def test_a_part_of_that_name_in_two_places_is_not_chosen():
    twice = (
        "{active: night, one: {night: {lr: 3.0e-5, epochs: 4}, day: {lr: 1.0e-3, epochs: 1}}, two: {night: {lr: 5}}}"
    )
    assert "learning_rate" not in values(twice)


def test_the_work_on_a_report_whose_rows_name_a_mode_grows_as_its_rows():
    def took(many):
        rows = {f"case_{i}": {"mode": f"kind {i}", "score": 0.5, "note": "n"} for i in range(many)}
        start = time.process_time()
        assert "learning_rate" not in values(json.dumps(rows), "report.json")
        return time.process_time() - start

    took(100)  # patterns are compiled
    assert took(3000) < 35 * took(400)  # 7.5 times as much; each row against each were 56 times


def test_of_a_sweep_only_what_is_held_fixed_is_set():
    got = values(
        "program: fit.py\nmethod: random\nparameters:\n  lr: {min: 1.0e-6, max: 1.0e-3}\n"
        "  wd: {values: [0.0, 0.2]}\n  epochs: {value: 5}\n  max_len: {value: 700}\n"
    )
    assert got == {"epochs": 5, "sequence_length": 700}


def test_parameters_of_a_job_are_no_sweep():
    assert values("parameters:\n  lr: 2.0e-5\n  epochs: 3\n  seed: 4\n")["learning_rate"] == 2e-5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("stage: kto\nlr: 1.0e-6\nbeta: 0.2\n", {"dpo_beta": 0.2}),
        ("loss: {type: simpo, beta: 2.2}\noptim: {lr: 1.0e-6}\n", {"dpo_beta": 2.2}),
        ("lr: 1.0e-4\nmbs: 4\nbs: 256\n", {"micro_batch_size": 4, "global_batch_size": 256}),
        ("group_size: 8\nkl_coef: 0.02\nlr: 1.0e-6\ntemperature: 0.8\n", {"rollout_temperature": 0.8}),
        ("gen: {temp: 0.4, max_new: 300}\nengine: {kind: hf}\n", {"sampling_temperature": 0.4}),
        ("actor_lr: 2.0e-6\nactor_warmup_steps: 12\npolicy_weight_decay: 0.02\n",
         {"learning_rate": 2e-6, "warmup_steps": 12, "weight_decay": 0.02}),
        ("backend: vllm\ntp: 4\nctx: 9000\nreplicas: 3\n",
         {"engine_tensor_parallel": 4, "max_model_len": 9000, "engine_data_parallel": 3}),
        ("reward: {clip: 4.0}\nadvantage: {whiten: true}\nkl: {reward_coef: 0.03, target: 5}\nlr: 1.0e-6\n",
         {"reward_clip": 4.0, "advantage_normalization": True, "kl_reward_coef": 0.03, "kl_target": 5}),
        ("method: orpo\nlr: 1.0e-6\nloop: {per_gpu: 3, accum: 4}\n", {"stage": "orpo", "micro_batch_size": 3}),
        ("lr: 1.0e-6\nhardware: {nodes: 2, gpus: 8}\n", {"gpus_per_node": 8}),
        ("lr: 1.0e-6\nnum_nodes: 2\ndevices: 4\n", {"gpus_per_node": 4}),
    ],
)  # fmt: skip
def test_neighbours_tell_what_a_name_means(text, found):
    got = values(text)
    assert {k: got.get(k) for k in found} == found


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("stage: sft\nlr: 1.0e-5\nbeta: 0.2\n", "dpo_beta"),
        ("teacher: {beta: 0.2}\nstage: dpo\nlr: 1.0e-6\n", "dpo_beta"),
        ("lr: 1.0e-4\nmbs: 4\nbs: 255\n", "global_batch_size"),
        ("kd: {temperature: 2.0}\nlr: 1.0e-4\nmax_len: 900\n", "rollout_temperature"),
        ("critic_lr: 2.0e-6\ncritic_warmup_steps: 12\n", "warmup_steps"),
        ("lr: 1.0e-6\nengine: sglang\ntp: 4\n", "engine_tensor_parallel"),
        ("lr: 1.0e-6\nnum_nodes: 2\ndevices: 16\n", "gpus_per_node"),
        ("lr: 1.0e-6\nnum_nodes: 2\ngpus: 4\n", "world_size"),
        ("method: bayes\nlr: 1.0e-4\n", "stage"),
        ("loss: 1.7\nlr: 1.0e-4\n", "loss_type"),
        ("loss: cross_entropy\nlr: 1.0e-4\n", "loss_type"),
        ("reward_model: {clip: 4.0}\nlr: 1.0e-6\n", "reward_clip"),
        ("adapter: ./out/adapter-3\nlr: 1.0e-6\n", "adapter"),
    ],
)
def test_a_name_without_such_neighbours_is_left(text, absent):
    assert absent not in values(text)


PARTS = {"conf/optim.ini": "[optim]\nlr = 3e-4\nwd = 0.05\nclip_norm = 0.7\nwarmup_steps = 30\nmax_steps = 900\n",
         "conf/loader.properties": "loader.workers=6\nrandom.seed=91\ncheckpoint.every.steps=700\n"}  # fmt: skip


def test_small_files_that_say_different_things_are_one_configuration(tmp_path):
    got = of_run(tmp_path, PARTS)
    assert (got["learning_rate"], got["num_workers"], got["seed"], got["save_steps"]) == (3e-4, 6, 91, 700)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conf/eval.properties", "loader.workers=6\nrandom.seed=91\ncheckpoint.every.steps=700\n"),
        ("conf/loader.properties", "loader.workers=6\nrandom.seed=91\nwd=0.3\ncheckpoint.every.steps=700\n"),
        ("other/loader.properties", "loader.workers=6\nrandom.seed=91\ncheckpoint.every.steps=700\n"),
    ],
)
def test_files_of_something_else_or_that_repeat_a_setting_are_not_joined(tmp_path, name, text):
    got = of_run(tmp_path, {"conf/optim.ini": PARTS["conf/optim.ini"], name: text})
    assert "num_workers" not in got


CHART = "model: {id: org/mini-3b}\nengine: {maxModelLen: 4096, maxNumSeqs: 64, gpuMemoryUtilization: 0.8}\n"


def test_values_laid_over_a_chart_leave_it_the_rest(tmp_path):
    got = of_run(tmp_path, {"c/values.yaml": CHART, "c/values-live.yaml": "engine: {maxModelLen: 9000}\n"})
    assert (got["max_model_len"], got["max_num_seqs"], got["gpu_memory_utilization"]) == (9000, 64, 0.8)


def test_of_two_files_for_one_chart_none_is_taken_for_the_one_in_force(tmp_path):
    files = {"c/values.yaml": CHART, "c/values-a.yaml": "engine: {maxModelLen: 9000}\n",
             "c/values-b.yaml": "engine: {maxModelLen: 700}\n"}  # fmt: skip
    assert of_run(tmp_path, files)["max_model_len"] == 4096
