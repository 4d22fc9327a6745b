"""Settings in names of nobody's: told by their words, their headings, their neighbours and the size of their values."""

import pytest
from configs import read


def values(text: str, name: str = "conf.yaml") -> dict:
    return {s.variable: s.value for s in read(text, name)}


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("optimiser:\n  kind: lion\n  peakLearningRate: 3.0e-4\n  betas: [0.9, 0.97]\n  eps: 1.0e-9\n  norm: 0.7\n",
         "conf.yaml",
         {"optimizer": "lion", "learning_rate": 3e-4, "adam_beta2": 0.97, "adam_epsilon": 1e-9, "grad_clip": 0.7}),
        ('[opt]\ntype = "adamw"\nlr = 2e-5\nwd = 0.05\n[lr_sched]\n_name = "poly"\nwarmup_frac = 0.04\n', "conf.toml",
         {"optimizer": "adamw", "learning_rate": 2e-5, "weight_decay": 0.05, "lr_schedule": "poly",
          "warmup_ratio": 0.04}),
        ("arch: {width: 640, depth: 10, heads: 10, kv: 5, d_ff: 2048}\nlr: 1.0e-3\n", "conf.yaml",
         {"hidden_size": 640, "num_layers": 10, "num_heads": 10, "num_kv_heads": 5, "intermediate_size": 2048,
          "learning_rate": 1e-3}),
        ('{"per_gpu_bs": 6, "accum_grad": 3, "ctxLen": 3072, "ckptEvery": 700, "keep_last": 4, "lr": 1e-4}',
         "conf.json",
         {"micro_batch_size": 6, "grad_accumulation": 3, "sequence_length": 3072, "save_steps": 700.0,
          "save_total_limit": 4, "learning_rate": 1e-4}),
        ("优化:\n  lr: 4.0e-5\n  预热步数: 120\n批:\n  单卡: 3\n  accum: 8\n", "conf.yaml",
         {"learning_rate": 4e-5, "warmup_steps": 120, "micro_batch_size": 3, "grad_accumulation": 8}),
    ],
)  # fmt: skip
def test_words_and_headings_tell_a_setting_whatever_joins_them(text, name, found):
    got = values(text, name)
    assert {k: got.get(k) for k in found} == found


@pytest.mark.parametrize(
    "text",
    [
        "teacher: {path: org/big-32b, dtype: float16, temperature: 0.7}\n",
        "critic: {lr: 9.0e-6, bs: 4}\nref: {path: org/old}\nreward_model: {base: org/judge}\n",
        "评测: {batch: 32, 最大长度: 512}\n",
        "decoder: {layers: 6}\ndiscriminator: {lr: 1.0e-4, betas: [0.5, 0.9]}\n",
        "eval: {bs: 64, seed: 4, every: 0}\nlogger: {name: wandb, step: 0}\n",
        "runs:\n  - {lr: 1.0e-4, seed: 2}\n  - {lr: 3.0e-4, seed: 3}\n",
    ],
)  # fmt: skip
def test_what_stands_below_a_heading_of_something_else_is_not_believed(text):
    assert {v for v in values(text) if v not in ("eval_steps", "log_steps")} <= {"stage"}


def test_the_size_of_a_value_decides_where_a_name_means_two_things():
    assert values("lr_warmup: 900\nlr: 1.0e-4\n")["warmup_steps"] == 900
    assert "warmup_steps" not in values("lr_warmup: 1.0e-6\nlr: 1.0e-4\n")
    assert values("clip: 1.5\nlr: 1.0e-4\n")["grad_clip"] == 1.5
    assert "grad_clip" not in values("actor: {lr: 1.0e-6, clip: 0.25}\nrollout: {n: 4}\n")
    assert values("train_batch_size: 6\ngrad_accum: 2\nlr: 1.0e-4\n")["micro_batch_size"] == 6
    assert "micro_batch_size" not in values("data: {train_batch_size: 640}\nrollout: {n: 4}\nlr: 1.0e-6\n")


@pytest.mark.parametrize("value", ["vllm", "gpt-4o-mini", "conf/m.json", "true", "12", "https://host/v1", "m.yaml"])
def test_a_kind_a_server_or_a_file_is_no_model(value):
    assert "model" not in values(f"base: {value}\nlr: 1.0e-4\n")


@pytest.mark.parametrize(
    ("value", "key"), [("org/tiny-1b", "backbone"), ("/m/ck-900", "init_from"), ("nano-90m", "arch")]
)
def test_a_name_or_path_is_one(value, key):
    assert values(f"{key}: {value}\nlr: 1.0e-4\n")["model"] == value


def test_which_step_or_device_it_is_is_no_count():
    assert values("step: 4000\ndevice: 3\nepoch: 2\nlr: 1.0e-4\n") == {"learning_rate": 1e-4}


def test_a_bare_save_is_a_number_of_steps_or_a_switch():
    assert values("train: {lr: 1.0e-4, save: 700, log: 25}\n")["save_steps"] == 700.0
    assert not {"save_steps", "log_steps"} & set(values("train: {lr: 1.0e-4, save: true, log: 1}\n"))


def test_sampling_is_the_rollouts_where_answers_are_trained_on():
    text = "algo: {group_size: 6}\npolicy: {lr: 1.0e-6}\nsampling: {temperature: 0.9, tensor_parallel: 2}\n"
    assert values(text)["rollout_temperature"] == 0.9
    assert values(text)["engine_tensor_parallel"] == 2
    assert "rollout_temperature" not in values("train: {lr: 1.0e-6}\nsampling: {temperature: 0.9}\n")
    assert "world_size" not in values("hardware: {nodes: 2, gpus: 8}\nlr: 1.0e-6\n")


def test_an_engine_inside_a_training_or_alone():
    rl = values("lr: 1.0e-6\nrollout: {engine: sglang, tp: 4, n: 12, temp: 0.9, prompts: 64, max_new: 900}\nseed: 4\n")
    assert (rl["engine_kind"], rl["engine_tensor_parallel"], rl["num_generations"]) == ("sglang", 4, 12)
    assert (rl["rollout_temperature"], rl["rollout_batch_size"]) == (0.9, 64)
    assert "tensor_parallel" not in rl
    served = values(
        "deployments:\n  - args:\n"
        "      engine_kwargs: {tensor_parallel_size: 2, max_model_len: 9000, dtype: bfloat16}\n"
        "      model_loading_config: {model_source: org/coder-9b}\n"
    )
    assert (served["engine_tensor_parallel"], served["max_model_len"], served["model_dtype"]) == (2, 9000, "bf16")
    assert served["model"] == "org/coder-9b"


def test_lengths_of_prompt_and_answer_below_a_common_heading():
    assert values("lens: {prompt: 700, answer: 300}\nlr: 1.0e-6\n")["max_prompt_length"] == 700
    assert values("tokens: {response: {max: 300}}\nlr: 1.0e-6\n")["max_response_length"] == 300
    assert "max_prompt_length" not in values("templates: {prompt: 700}\nlr: 1.0e-6\n")
