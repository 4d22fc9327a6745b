"""Healthy trainings: settings, model, data and program of each. A fault is injected into one of these."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import text
from .fault import Fault
from .faults_code import written

GPT2 = {
    "model_type": "gpt2", "vocab_size": text.VOCABULARY, "n_positions": 128, "n_embd": 48, "n_layer": 2, "n_head": 2,
    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "layer_norm_epsilon": 1e-05, "initializer_range": 0.02,
    "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
QWEN3 = {
    "model_type": "qwen3", "vocab_size": text.VOCABULARY, "hidden_size": 48, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 24,
    "max_position_embeddings": 256, "rms_norm_eps": 1e-06, "initializer_range": 0.02, "tie_word_embeddings": True,
    "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """One healthy training."""

    name: str
    version: int
    """Raised when anything about it changes, so that old recordings are made again."""
    program: str
    """`module.function` of the training program."""
    settings: dict[str, str]
    model: dict[str, Any]
    data: Callable[[int, int], list[text.Record]]
    """(count, seed) -> records."""
    count: int
    """Training records."""
    launch: str = "python train.py --config train.yaml 2>&1 | tee train.log"
    text: str = ""
    """The program as it lies in the run, where the recipe has one of its own."""
    base: str = ""
    """Recipe whose trained model this one starts from."""


COMMON = {
    "optim": "adamw_torch_fused", "lr_scheduler_type": "cosine", "max_grad_norm": "1.0", "weight_decay": "0.01",
    "gradient_accumulation_steps": "1", "seed": "17", "report_to": "none", "save_strategy": "'no'",
}  # fmt: skip
RECIPES: dict[str, Recipe] = {
    r.name: r
    for r in (
        Recipe("pretrain", 3, "programs.pretrain",
            {"model_name_or_path": "tiny-gpt2", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "block_size": "32", "learning_rate": "2.0e-3",
             "warmup_steps": "50", "max_steps": "1030", "per_device_train_batch_size": "3", "logging_steps": "5",
             "eval_strategy": "steps", "eval_steps": "100"} | COMMON,
            GPT2, text.documents, 2000),
        Recipe("momentum", 3, "programs.pretrain",
            {"model_name_or_path": "tiny-gpt2", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "block_size": "32"} | COMMON | {
             "optim": "sgd", "optim_args": "momentum=0.9", "learning_rate": "0.2", "lr_scheduler_type":
             "constant_with_warmup", "warmup_steps": "300", "max_steps": "1060", "max_grad_norm": "1.0",
             "weight_decay": "0.0", "per_device_train_batch_size": "3", "logging_steps": "5",
             "logging_nan_inf_filter": "false", "eval_strategy": "steps", "eval_steps": "200"},
            GPT2, text.documents, 3000),
        Recipe("sft", 3, "programs.sft",
            {"model_name_or_path": "tiny-qwen3", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "max_length": "128", "learning_rate": "2.0e-3",
             "warmup_steps": "60", "max_steps": "1060", "per_device_train_batch_size": "4", "logging_steps": "5",
             "eval_strategy": "steps", "eval_steps": "200", "save_final": "true"} | COMMON,
            QWEN3, text.conversations, 5000),
        Recipe("chat", 5, "programs.sft",
            {"model_name_or_path": "tiny-qwen3", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "max_length": "128", "learning_rate": "3.0e-3",
             "warmup_steps": "20", "max_steps": "450", "per_device_train_batch_size": "8", "logging_steps": "3",
             "eval_strategy": "steps", "eval_steps": "40"} | COMMON,
            QWEN3, text.conversations, 3000),
        Recipe("watched", 1, "programs.sft",
            {"model_name_or_path": "tiny-qwen3", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "max_length": "128", "learning_rate": "3.0e-3",
             "warmup_steps": "20", "max_steps": "450", "per_device_train_batch_size": "8", "logging_steps": "3",
             "train_sampling_strategy": "sequential", "eval_strategy": "steps", "eval_steps": "30",
             "eval_answers": "true"} | COMMON | {
             "save_strategy": "steps", "save_steps": "90", "save_only_model": "true"},
            QWEN3, text.conversations, 3600),
        Recipe("domain", 2, "programs.sft",
            {"model_name_or_path": "base", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "max_length": "128", "learning_rate": "1.0e-3",
             "warmup_steps": "20", "max_steps": "400", "per_device_train_batch_size": "8", "logging_steps": "4",
             "eval_strategy": "steps", "eval_steps": "50", "max_new_tokens": "48", "benchmark": "true"} | COMMON,
            QWEN3, text.mixed_tickets, 3200, base="sft"),
        Recipe("dpo", 4, "programs.dpo",
            {"model_name_or_path": "base", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "beta": "0.1", "loss_type": "sigmoid", "max_length": "128",
             "learning_rate": "1.0e-5", "warmup_steps": "20", "max_steps": "200", "per_device_train_batch_size": "8",
             "per_device_eval_batch_size": "16", "logging_steps": "5", "eval_strategy": "steps", "eval_steps": "50",
             "gradient_checkpointing": "false"} | COMMON,
            QWEN3, text.preferences, 1500, "trl dpo --config train.yaml 2>&1 | tee train.log", base="sft"),
        Recipe("grpo", 5, "programs.grpo",
            {"model_name_or_path": "base", "train_file": "data/train.jsonl", "beta": "0.02",
             "num_generations": "4", "max_completion_length": "12", "temperature": "1.0", "learning_rate": "1.0e-5",
             "warmup_steps": "5", "max_steps": "70", "per_device_train_batch_size": "16", "logging_steps": "1",
             "gradient_checkpointing": "false"} | COMMON,
            QWEN3, text.conversations, 1000, "trl grpo --config train.yaml 2>&1 | tee train.log", base="sft"),
        Recipe("distributed", 3, "loops.distributed",
            {"train_file": "data/train.jsonl", "learning_rate": "1.0e-3", "max_steps": "400",
             "per_device_train_batch_size": "32", "gradient_accumulation_steps": "1", "global_batch_size": "64",
             "max_grad_norm": "1.0", "ddp_timeout": "20", "seed": "17"},
            {}, text.documents, 50,
            "torchrun --nproc_per_node 2 train.py --config train.yaml"),
        Recipe("mixed", 4, "loops.mixed",
            {"model_name_or_path": "tiny-gpt2", "train_file": "data/train.jsonl",
             "validation_file": "data/validation.jsonl", "block_size": "24", "fp16": "true",
             "learning_rate": "2.0e-3", "warmup_steps": "50", "max_steps": "1060", "max_grad_norm": "1.0",
             "weight_decay": "0.01", "per_device_train_batch_size": "4", "logging_steps": "5", "seed": "17"},
            GPT2 | {"n_embd": 32, "n_layer": 1}, text.documents, 1500),
        *(Recipe(name, 1, "loops.written", written.SETTINGS | written.MORE.get(name, {}), {}, text.documents, 20,
                 "python train.py 2>&1 | tee train.log", program)
          for name, program in (("written", written.LOOP), ("accumulated", written.ACCUMULATED),
                                ("preferred", written.PREFERRED))),
    )
}  # fmt: skip
HELD = 96
"""Evaluation records."""


def first_files(recipe: Recipe, faults: Sequence[tuple[Fault, Any]], seed: int) -> dict[str, str]:
    """Text of the run's own configuration files before any repair, by relative name."""
    settings = dict(recipe.settings) | {"seed": str(seed)}
    model = dict(recipe.model)
    for fault, severity in faults:
        settings |= fault.settings(severity)
        model |= fault.model(severity)
    out = {
        "train.yaml": "".join(f"{key}: {value}\n" for key, value in settings.items() if value),
        "launch.sh": f"#!/bin/bash\nset -e\n{recipe.launch}\n",
    }
    if recipe.text:
        out["train.py"] = _program(recipe.text, [fault for fault, _ in faults])
    if model:
        out["config.json"] = json.dumps(model, indent=2) + "\n"
    return out


def _program(text: str, faults: Sequence[Fault]) -> str:
    """The recipe's own program with the edits of the faults.

    Raises:
        ValueError: the words that a fault replaces are not in it.
    """
    for old, new in (edit for fault in faults for edit in fault.edits):
        if old not in text:
            raise ValueError(f"no {old!r} in the program")
        text = text.replace(old, new)
    return text


def write_data(folder: Path, recipe: Recipe, faults: Sequence[tuple[Fault, Any]], seed: int, shards: int = 1) -> None:
    """The training and evaluation records, with what the faults do to them; the training records in equal shards."""
    train, held = recipe.data(recipe.count, seed), recipe.data(HELD, 10_000 + seed)
    for fault, severity in faults:
        train, held = fault.records(train, held, severity, random.Random(seed)) or (train, held)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "manifest.json").write_text(json.dumps({"train": {"num_examples": recipe.count}}) + "\n")
    files = {"validation": held, "train": train}
    if shards > 1:
        size = -(-len(train) // shards)
        files = {"validation": held} | {f"train-{i:05d}": train[i * size : (i + 1) * size] for i in range(shards)}
    for name, records in files.items():
        lines = "".join(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) + "\n" for r in records)
        (folder / "data" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
