"""Settings that people write down in prose: of the lowest standing, and only of this run."""

# ruff: noqa: E501  notes as they are written

import pytest

from triage.tools.config.combine import read_settings
from triage.tools.config.edit import set_value
from triage.tools.discover import discover
from triage.tools.findings import TriageError

TABLE = """# Alder 500M

## Hyperparameters

| Name | Value |
|---|---|
| Layers | 18 |
| Attention heads / KV heads | 12 / 3 |
| Highest learning rate | 5 × 10⁻⁴ |
| Adam (β1, β2, ε) | 0.9, 0.98, 1e-9 |
| Schedule | linear, 3% warmup |
| Global batch size | 2,048 sequences |
| Precision | bf16 |

Trained on 32 GPUs (4 nodes).
"""
CHINESE = """# 0603 实验记录

基座：Acme-3B，领域数据 data/law.jsonl。
- 学习率 8e-6，预热 120 步，余弦衰减到 8e-7
- 全局 batch 96，单卡 micro batch 3，梯度累积 4
- 3 机 × 8 卡，ZeRO-2，重计算打开，样本打包关闭
- 训练 5 个 epoch，随机种子 11
"""
LINE = (
    "run 3 notes\nlr=6e-6 epochs=4 wd=0.03, grad accum 5, bf16\nzero-3, gradient checkpointing on, LoRA r=24 alpha=48\n"
)
CARD = """---
license: mit
tags:
- generated_from_trainer
---
### Training hyperparameters

The following hyperparameters were used during training:
- learning_rate: 4e-06
- train_batch_size: 6
- eval_batch_size: 7
- seed: 3
- num_devices: 2
- total_train_batch_size: 12
- lr_scheduler_type: cosine
- num_epochs: 2.0
"""


def of(folder, name: str, text: str, **files) -> dict:
    (folder / name).write_text(text, encoding="utf-8")
    for other, content in files.items():
        (folder / other.replace("__", ".")).write_text(content, encoding="utf-8")
    return {s.variable: s.value for s in read_settings(discover(folder))[0]}


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("README.md", TABLE, {"num_layers": 18, "num_heads": 12, "num_kv_heads": 3, "learning_rate": 5e-4,
                              "adam_beta2": 0.98, "adam_epsilon": 1e-9, "lr_schedule": "linear", "warmup_ratio": 0.03,
                              "global_batch_size": 2048, "precision": "bf16", "nodes": 4, "world_size": 32}),
        ("实验记录.md", CHINESE, {"model": "Acme-3B", "learning_rate": 8e-6, "warmup_steps": 120,
                                 "min_learning_rate": 8e-7, "global_batch_size": 96, "micro_batch_size": 3,
                                 "grad_accumulation": 4, "nodes": 3, "gpus_per_node": 8, "zero_stage": 2,
                                 "activation_checkpointing": True, "packing": False, "epochs": 5, "seed": 11}),
        ("notes.txt", LINE, {"learning_rate": 6e-6, "epochs": 4, "weight_decay": 0.03, "grad_accumulation": 5,
                             "precision": "bf16", "zero_stage": 3, "activation_checkpointing": True, "lora_rank": 24,
                             "lora_alpha": 48}),
        ("README.md", CARD, {"learning_rate": 4e-6, "micro_batch_size": 6, "global_batch_size": 12, "world_size": 2,
                             "lr_schedule": "cosine", "epochs": 2}),
    ],
)  # fmt: skip
def test_what_notes_tell_of_the_run_is_read(tmp_path, name, text, read):
    assert read.items() <= of(tmp_path, name, text, train__log="step 1 loss 2.0\nstep 2 loss 1.9\n").items()


def test_the_command_in_the_fence_of_notes_is_read(tmp_path):
    text = "# eval\n\nServer:\n\n```\npython -m sglang.launch_server --model-path /w/step-9 \\\n  --tp-size 2 --context-length 8192\n```\n\nSampling: temperature 0.3, at most 900 new tokens.\n"
    seen = of(tmp_path, "NOTES.md", text)
    assert (seen["engine_tensor_parallel"], seen["max_model_len"], seen["max_response_length"]) == (2, 8192, 900)
    assert seen["sampling_temperature"] == 0.3


OTHER_RUNS = "# log\nLast week: lr 3e-5, 2 epochs, seed 1, diverged.\nNext time try lr 1e-5, 200 warmup steps, seed 2.\nThe baseline has lr 4e-5, 3 epochs.\n"
SWEEP = "# ablations\n| lr | epochs | seed |\n|---|---|---|\n| 1e-5 | 3 | 1 |\n| 3e-5 | 3 | 2 |\n"
STAGES = "# How\n## SFT\n- learning rate: 2e-5\n- epochs: 2\n- seed: 1\n## DPO\n- max prompt length: 512\n- weight decay: 0.1\n"
WISHES = "# Todo\n- learning rate 2e-5\n- seed 4\n- 3 epochs\n- weight decay 0.1\n"


@pytest.mark.parametrize("text", [OTHER_RUNS, SWEEP, STAGES, WISHES])
def test_what_notes_tell_of_other_runs_or_wish_is_not(tmp_path, text):
    assert of(tmp_path, "README.md", text, train__log="step 1 loss 2.0\nstep 2 loss 1.9\n") == {}


@pytest.mark.parametrize("name", ["PLAN.md", "CHANGELOG.md", "train_log.txt"])
def test_a_plan_a_changelog_and_a_log_are_no_notes(tmp_path, name):
    seen = of(tmp_path, name, CHINESE, config__yaml="learning_rate: 8.0e-6\nseed: 11\nmax_steps: 10\n")
    assert seen.keys() == {"learning_rate", "seed", "max_steps"}


def test_notes_add_to_a_configuration_and_override_nothing(tmp_path):
    seen = of(tmp_path, "实验记录.md", CHINESE, config__yaml="learning_rate: 8.0e-6\nseed: 11\nmax_steps: 10\n")
    assert (seen["max_steps"], seen["global_batch_size"]) == (10, 96)


def test_notes_that_contradict_the_configuration_are_of_another_run(tmp_path):
    seen = of(tmp_path, "实验记录.md", CHINESE, config__yaml="learning_rate: 2.0e-5\nseed: 11\nmax_steps: 10\n")
    assert seen == {"learning_rate": 2e-5, "seed": 11, "max_steps": 10}


def test_notes_are_no_file_to_edit(tmp_path):
    of(tmp_path, "实验记录.md", CHINESE)
    setting = read_settings(discover(tmp_path))[0].values["learning_rate"]
    assert (setting.file, setting.line, setting.style) == ("实验记录.md", 4, "notes")
    with pytest.raises(TriageError):
        set_value(setting, 1e-6, tmp_path / "实验记录.md")


PAPER = r"""\section{Details}
We compare with earlier work & others \\
\begin{table}
\caption{Settings of our run}
\begin{tabular}{lr}
\toprule
Hyperparameter & Value \\ \midrule
Policy learning rate & $2.5 \times 10^{-6}$ \\
Value-function learning rate & $4 \times 10^{-5}$ \\
% Weight decay & 0.3 \\
Optimizer & AdamW \\
Adam $\beta_2$ & 0.97 \\
Adam $\epsilon$ & $10^{-7}$ \\
Optimizer steps & 6{,}500 \\
Prompts per rollout & 96 \\
Rollout temperature & 0.85 \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_the_table_of_a_papers_source_is_read(tmp_path):
    got = of(tmp_path, "appendix.tex", PAPER)
    assert (got["learning_rate"], got["adam_beta2"], got["adam_epsilon"]) == (2.5e-6, 0.97, 1e-7)
    assert (got["max_steps"], got["rollout_batch_size"], got["rollout_temperature"]) == (6500, 96, 0.85)
    assert "weight_decay" not in got


@pytest.mark.parametrize(
    "text",
    [
        PAPER.replace("Settings of our run", "Settings of the baselines").replace("Details", "Baselines"),
        PAPER.replace(" & ", " & 1 & "),
    ],
)
def test_a_table_of_baselines_or_of_several_runs_is_none(tmp_path, text):
    assert of(tmp_path, "appendix.tex", text) == {}


def test_notes_count_how_often_and_say_what_is_off(tmp_path):
    text = (
        "# 第五版记录\n\n底座：org/elm-3b，3 台机器，每台 6 卡。\n- 学习率 2e-5，预热 40 步\n"
        "- 每 150 步存一次，最多保留 4 个\n- 每隔 75 步评测一次\n- ZeRO-2，不做 offload\n- 开启样本打包\n"
    )
    got = of(tmp_path, "训练记录.md", text)
    assert (got["nodes"], got["gpus_per_node"], got["save_steps"], got["save_total_limit"]) == (3, 6, 150, 4)
    assert (got["eval_steps"], got["offload_params"], got["packing"], got["model"]) == (75, False, True, "org/elm-3b")


def test_english_notes_count_so_too(tmp_path):
    text = (
        "# Notes\n\nlr 2e-5, warmup 40 steps, 3 epochs.\n"
        "We saved a checkpoint every 150 steps and keep the last 4.\nEvaluated every 75 steps, no offloading.\n"
    )
    got = of(tmp_path, "NOTES.md", text)
    assert (got["save_steps"], got["save_total_limit"], got["eval_steps"]) == (150, 4, 75)
    assert got["offload_optimizer"] is False


@pytest.mark.parametrize(
    "line",
    [
        "备注：第四版用的是 LoRA（r=24，alpha=48），效果不好，这一版改成全参。",
        "LoRA(rank 24) 是另外一组那边的实验。",
        "The colleagues next door ran LoRA with r=24, alpha=48.",
    ],
)
def test_what_another_version_or_group_used_is_not_this_runs(tmp_path, line):
    text = f"# 记录\n\n- 学习率 2e-5，预热 40 步\n- 训练 3 轮，随机种子 5\n\n{line}\n"
    got = of(tmp_path, "训练记录.md", text)
    assert got["learning_rate"] == 2e-5
    assert not {"lora_rank", "lora_alpha"} & set(got)


def test_notes_of_a_server_speak_of_its_engine(tmp_path):
    text = "推理引擎参数\n  张量并行（TP）：4\n  显存占比：0.8\n  最大上下文长度：9000\n  最大并发数：48\n  温度：0.3；top_p：0.9\n"
    got = of(tmp_path, "部署说明.txt", text)
    assert (got["engine_tensor_parallel"], got["max_model_len"], got["max_num_seqs"]) == (4, 9000, 48)
    assert got["sampling_temperature"] == 0.3
    assert "tensor_parallel" not in got


def test_notes_of_a_training_speak_of_the_trainer(tmp_path):
    text = "训练参数\n  张量并行：4\n  显存占比：0.8\n  最大长度：9000\n  学习率：1e-5\n"
    got = of(tmp_path, "训练说明.txt", text)
    assert (got["tensor_parallel"], got["sequence_length"]) == (4, 9000)
