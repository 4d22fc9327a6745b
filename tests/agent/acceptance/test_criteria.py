# ruff: noqa: E501 one row of the table is one case
"""Every acceptance metric on small real artifacts: a run that passes, one that fails, one that says nothing."""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judging import criterion, look_at
from making import fill

from triage.agent.acceptance.observe import families, observe
from triage.agent.acceptance.subject import Subject


def subject(tmp_path, files, before=None, must_reach=0) -> Subject:
    now = look_at(fill(tmp_path / "now", files))
    old = look_at(fill(tmp_path / "before", before)) if before is not None else None
    return Subject(now.run, now.table, now.settings, now.scan, must_reach, now.findings, now.checks, old)


def result(done) -> str:
    return "no-observation" if done.ok is None else "pass" if done.ok else "fail"


def endings(why: str, key: str = "finish_reason", n: int = 40) -> str:
    """How each answer ended, with nothing of what it said."""
    return lines({"id": i, "n_tokens": 90 + i, key: why, "tail": f"... part {i}"} for i in range(n))


def lines(records) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def log(steps=300, extra="", **metrics) -> str:
    """A log with one line a step; a metric is a number or a function of the step."""
    metrics = metrics or {"loss": lambda i: 2 - i / 400}
    out = [
        f"step: {i} " + " ".join(f"{k}: {v(i) if callable(v) else v:.6g}" for k, v in metrics.items())
        for i in range(1, steps + 1)
    ]
    return "\n".join(out) + "\n" + extra + "\n"


def sentence(seed: int, n: int = 40, vocabulary: int = 5000) -> str:
    r = random.Random(str(seed))
    return " ".join(f"w{r.randrange(vocabulary)}" for _ in range(n))


def docs(start: int, n: int) -> str:
    return lines({"text": sentence(i)} for i in range(start, start + n))


def rollouts(n=60, **fields) -> str:
    """Rollout records; a field is a value or a function of the record's number."""
    base = {"prompt": lambda i: f"question {i}", "response": lambda i: sentence(i), "finish_reason": "stop"}
    return lines({k: v(i) if callable(v) else v for k, v in (base | fields).items()} for i in range(n))


def lm_eval(n=1000, **tasks) -> str:
    return json.dumps(
        {
            "results": {t: {"alias": t, "acc,none": v} for t, v in tasks.items()},
            "n-samples": {t: {"original": n, "effective": n} for t in tasks},
            "git_hash": "abc",
            "versions": dict.fromkeys(tasks, 1),
            "n-shot": dict.fromkeys(tasks, 5),
        }
    )


def tokens(**change) -> str:
    """Twenty sequences: <s> user user <e> | answer answer answer <e>."""
    record = {
        "input_ids": [1, 11, 12, 2, 1, 21, 22, 23, 2],
        "labels": [-100, -100, -100, -100, -100, 21, 22, 23, 2],
        "spans": [{"role": "user", "start": 0, "end": 5}, {"role": "assistant", "start": 5, "end": 9}],
        "eos_token_id": 2,
        "bos_token_id": 1,
    } | change
    return lines([record] * 20)


def think(text: str) -> str:
    return f"<think>{text}</think> 42"


TRAIN, EVAL = "train.jsonl", "eval.jsonl"
QUESTIONS = lines({"question": sentence(i), "answer": "x"} for i in range(500, 520))
LEAKED = docs(0, 60) + lines([{"text": sentence(505)}])
MORE = docs(0, 80)
LOOP = "the same words again. " * 40
ROWS = "\n".join(f"{n}. because of reason number {n} this follows from that" for n in range(1, 6))
TOKENS_DECLARED = (
    "per_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nworld_size: 8\nmax_seq_length: 1024\n"
)
MEGATRON = "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --micro-batch-size 2 --seq-length 1024 "
SEVEN_B = "torchrun --nproc_per_node 8 --nnodes 8 train.py --model_name_or_path org/base-7B --learning_rate 1e-5"
OPENRLHF = "python -m openrlhf.cli.train_ppo_ray --rollout_batch_size 128 --n_samples_per_prompt 8 "
HF = "per_device_train_batch_size: {0}\ngradient_accumulation_steps: {1}\nlearning_rate: 1e-5\nmax_steps: 100\n"
SERVING = "INFO 10:00:0{0} Avg generation throughput: {1} tokens/s, Running: {2} reqs, Waiting: 0 reqs\n"
LOADED = "Resuming from checkpoint outputs/checkpoint-200\n"

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
CASES = [
    # data
    ("train_eval_leak_rate", "below", {"high": 0.1}, {TRAIN: MORE, EVAL: QUESTIONS}, None, "pass"),
    ("train_eval_leak_rate", "below", {"high": 0.1}, {TRAIN: LEAKED, EVAL: QUESTIONS}, None, "fail"),
    ("train_eval_leak_rate", "below", {"high": 0.1}, {TRAIN: MORE}, None, "no-observation"),
    ("leak_canary_matches", "equals", {"value": 0}, {TRAIN: MORE, EVAL: QUESTIONS}, None, "pass"),
    ("leak_canary_matches", "equals", {"value": 0}, {TRAIN: LEAKED, EVAL: QUESTIONS}, None, "fail"),
    ("pairwise_3gram_overlap", "at-most", {"high": 80}, {TRAIN: MORE, EVAL: QUESTIONS}, None, "pass"),
    ("pairwise_3gram_overlap", "at-most", {"high": 80}, {TRAIN: LEAKED, EVAL: QUESTIONS}, None, "fail"),
    ("train_val_hash_collisions", "equals", {"value": 0}, {TRAIN: MORE, "val.jsonl": docs(90, 9)}, None, "pass"),
    ("train_val_hash_collisions", "equals", {"value": 0}, {TRAIN: MORE, "val.jsonl": docs(79, 9)}, None, "fail"),
    ("benchmark_overlap", "equals", {"value": 0}, {TRAIN: MORE, EVAL: QUESTIONS}, None, "pass"),
    ("benchmark_overlap", "equals", {"value": 0}, {TRAIN: LEAKED, EVAL: QUESTIONS}, None, "fail"),
    ("near_dup_ratio", "below", {"high": 3}, {TRAIN: MORE}, None, "pass"),
    ("near_dup_ratio", "below", {"high": 3}, {TRAIN: docs(0, 40) + lines({"text": sentence(i) + " end"} for i in range(9))}, None, "fail"),
    ("near_dup_ratio", "below", {"high": 3}, {"train.log": log()}, None, "no-observation"),
    ("pii_hits", "equals", {"value": 0}, {TRAIN: MORE}, None, "pass"),
    ("pii_hits", "equals", {"value": 0}, {TRAIN: lines([{"text": "身份证号 11010519491231002X 电话 13800138000"}])}, None, "fail"),
    ("takedown_hits", "equals", {"value": 0}, {TRAIN: LEAKED, "takedown.jsonl": QUESTIONS}, None, "fail"),
    ("takedown_hits", "equals", {"value": 0}, {TRAIN: MORE, "takedown.jsonl": QUESTIONS}, None, "pass"),
    ("takedown_hits", "equals", {"value": 0}, {TRAIN: MORE}, None, "no-observation"),
    ("quarantined_shards_served", "equals", {"value": 0}, {"train.log": log(extra="reading shard-007.jsonl"), "quarantine.txt": "shard-007.jsonl"}, None, "fail"),
    ("quarantined_shards_served", "equals", {"value": 0}, {"train.log": log(extra="reading shard-008.jsonl"), "quarantine.txt": "shard-007.jsonl"}, None, "pass"),
    ("quarantined_shards_served", "equals", {"value": 0}, {"train.log": log(), "quarantine.txt": "shard-007.jsonl"}, None, "no-observation"),
    ("language_share_deviation", "at-most", {"high": 2}, {TRAIN: MORE, "recipe.json": '{"latin": 1.0}'}, None, "pass"),
    ("language_share_deviation", "at-most", {"high": 2}, {TRAIN: MORE, "recipe.json": '{"latin": 0.5, "han": 0.5}'}, None, "fail"),
    ("language_share_deviation", "at-most", {"high": 2}, {TRAIN: MORE}, None, "no-observation"),
    ("filter_rate_explained", "true", {}, {TRAIN: lines({"text": sentence(i), "kept": i > 3, "filter_reason": "short" if i < 4 else None} for i in range(30))}, None, "pass"),
    ("filter_rate_explained", "true", {}, {TRAIN: lines({"text": sentence(i), "kept": i > 3} for i in range(30))}, None, "fail"),
    ("filter_rate_explained", "true", {}, {TRAIN: MORE}, None, "no-observation"),
    ("loaded_sample_count", "equals", {"value": "expected_count"}, {TRAIN: MORE, "manifest.json": '{"num_examples": 80}'}, None, "pass"),
    ("loaded_sample_count", "equals", {"value": "expected_count"}, {TRAIN: MORE, "manifest.json": '{"num_examples": 90}'}, None, "fail"),
    ("loaded_sample_count", "equals", {"value": "expected_count"}, {TRAIN: MORE}, None, "no-observation"),
    ("first_batch_built", "true", {}, {"train.log": log()}, None, "pass"),
    ("first_batch_built", "true", {}, {TRAIN: MORE}, None, "no-observation"),
    ("first_batch_built", "true", {}, {TRAIN: MORE, "tokenizer.json": "{broken"}, None, "fail"),
    ("length_reward_correlation", "below", {"high": 0.3}, {"rollouts.jsonl": rollouts(200, response=lambda i: "a" * (1 + i % 37), reward=lambda i: (i * 7919) % 101)}, None, "pass"),
    ("length_reward_correlation", "below", {"high": 0.3}, {"rollouts.jsonl": rollouts(200, response=lambda i: "a" * (1 + i), reward=lambda i: i)}, None, "fail"),
    ("length_reward_correlation", "below", {"high": 0.3}, {TRAIN: MORE}, None, "no-observation"),
    ("krippendorff_alpha", "at-least", {"low": 0.67}, {"labels.jsonl": lines({"prompt": str(i), "labels": [i % 2, i % 2, i % 2]} for i in range(60))}, None, "pass"),
    ("krippendorff_alpha", "at-least", {"low": 0.67}, {"labels.jsonl": lines({"prompt": str(i), "labels": [i % 2, i % 3 % 2, 1]} for i in range(60))}, None, "fail"),
    ("krippendorff_alpha", "at-least", {"low": 0.67}, {TRAIN: MORE}, None, "no-observation"),
    ("preference_gap_mean", "above", {"low": 0.5}, {TRAIN: lines({"prompt": "q", "chosen": "good", "rejected": "bad", "chosen_score": 8.0, "rejected_score": 4 + i % 3} for i in range(60))}, None, "pass"),
    ("preference_gap_mean", "above", {"low": 0.5}, {TRAIN: lines({"prompt": "q", "chosen": "good", "rejected": "bad", "chosen_score": 8.0, "rejected_score": 7.8} for i in range(60))}, None, "fail"),
    ("preference_gap_mean", "above", {"low": 0.5}, {TRAIN: lines({"prompt": "q", "chosen": "good", "rejected": "bad", "chosen_score": 0.9, "rejected_score": 0.2} for i in range(60))}, None, "no-observation"),
    ("segments_beyond_media_end", "equals", {"value": 0}, {TRAIN: lines([{"text": "a", "duration": 3.0, "segments": [{"end": 2.9}]}])}, None, "pass"),
    ("segments_beyond_media_end", "equals", {"value": 0}, {TRAIN: lines([{"text": "a", "duration": 3.0, "segments": [{"end": 4.0}]}])}, None, "fail"),
    ("segments_beyond_media_end", "equals", {"value": 0}, {TRAIN: MORE}, None, "no-observation"),
    ("short_data_for_context", "false", {}, {TRAIN: docs(0, 120), "config.yaml": "max_seq_length: 32768\nlearning_rate: 1e-5\n"}, None, "fail"),
    ("short_data_for_context", "false", {}, {TRAIN: docs(0, 120), "config.yaml": "max_seq_length: 128\nlearning_rate: 1e-5\n"}, None, "pass"),
    ("short_data_for_context", "false", {}, {TRAIN: docs(0, 120)}, None, "no-observation"),
    # token labels
    ("assistant_tokens_trained_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens()}, None, "pass"),
    ("assistant_tokens_trained_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens(labels=[-100] * 8 + [2])}, None, "fail"),
    ("assistant_tokens_trained_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens(spans=None)}, None, "no-observation"),
    ("user_system_tokens_skipped_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens()}, None, "pass"),
    ("user_system_tokens_skipped_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens(labels=[1, 11, 12, 2, 1, 21, 22, 23, 2])}, None, "fail"),
    ("special_tokens_skipped_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens()}, None, "pass"),
    ("special_tokens_skipped_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens(labels=[-100] * 5 + [21, 22, 23, -100])}, None, "fail"),
    ("special_tokens_skipped_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens(labels=[1, -100, -100, 2, 1, 21, 22, 23, 2])}, None, "fail"),
    ("special_tokens_skipped_fraction", "equals", {"value": 1}, {"dump.jsonl": tokens(eos_token_id=None, bos_token_id=None)}, None, "no-observation"),
    ("label_free_sample_rate", "at-most", {"high": 0.01}, {"dump.jsonl": tokens()}, None, "pass"),
    ("label_free_sample_rate", "at-most", {"high": 0.01}, {"dump.jsonl": tokens(labels=[-100] * 9)}, None, "fail"),
    ("double_bos_rate", "equals", {"value": 0}, {"dump.jsonl": tokens()}, None, "pass"),
    ("double_bos_rate", "equals", {"value": 0}, {"dump.jsonl": tokens(input_ids=[1, 1, 12, 2, 1, 21, 22, 23, 2])}, None, "fail"),
    # generations
    ("generation_stops_normally", "true", {}, {"generations.jsonl": rollouts()}, None, "pass"),
    ("generation_stops_normally", "true", {}, {"generations.jsonl": rollouts(finish_reason="length")}, None, "fail"),
    ("generation_stops_normally", "true", {}, {"generations.jsonl": rollouts(9)}, None, "no-observation"),
    ("generation_stops_normally", "true", {}, {"outputs_eval.jsonl": endings("eos")}, None, "pass"),
    ("generation_stops_normally", "true", {}, {"gen_probe.jsonl": endings("max_tokens", "stop_reason")}, None, "fail"),
    ("generation_stops_normally", "true", {}, {"gen_probe.jsonl": endings("stop", "mood")}, None, "no-observation"),
    ("truncated_answer_share", "at-most", {"high": 2}, {"outputs_eval.jsonl": endings("length")}, None, "fail"),
    ("truncated_answer_share", "at-most", {"high": 2}, {"generations.jsonl": rollouts()}, None, "pass"),
    ("truncated_answer_share", "at-most", {"high": 2}, {"generations.jsonl": rollouts(response="<think>and then")}, None, "fail"),
    ("infinite_loop", "false", {}, {"generations.jsonl": rollouts()}, None, "pass"),
    ("infinite_loop", "false", {}, {"generations.jsonl": rollouts(finish_reason="length", response=LOOP)}, None, "fail"),
    ("infinite_loop", "false", {}, {"generations.jsonl": rollouts(finish_reason=None)}, None, "no-observation"),
    ("repeated_output", "false", {}, {"generations.jsonl": rollouts()}, None, "pass"),
    ("repeated_output", "false", {}, {"generations.jsonl": rollouts(response=LOOP)}, None, "fail"),
    ("garbled_output", "false", {}, {"generations.jsonl": rollouts()}, None, "pass"),
    ("garbled_output", "false", {}, {"generations.jsonl": rollouts(response="锟斤拷锟斤拷 ok")}, None, "fail"),
    ("distinct_2", "above", {"low": 0.3}, {"generations.jsonl": rollouts(200, response=lambda i: sentence(i, 150))}, None, "pass"),
    ("distinct_2", "above", {"low": 0.3}, {"generations.jsonl": rollouts(200, response=lambda i: sentence(i, 150, 12))}, None, "fail"),
    ("distinct_2", "above", {"low": 0.3}, {"generations.jsonl": rollouts(40)}, None, "no-observation"),
    ("language_diversity", "increases", {}, {"generations.jsonl": rollouts(200, response=lambda i: sentence(i, 150))}, {"generations.jsonl": rollouts(200, response=lambda i: sentence(i, 150, 12))}, "pass"),
    ("language_diversity", "increases", {}, {"generations.jsonl": rollouts(200, response=lambda i: sentence(i, 150, 12))}, {"generations.jsonl": rollouts(200, response=lambda i: sentence(i, 150))}, "fail"),
    ("language_diversity", "increases", {}, {"generations.jsonl": rollouts(200)}, None, "no-observation"),
    ("response_length_growth", "below", {"high": 30}, {"generations.jsonl": rollouts()}, {"generations.jsonl": rollouts()}, "pass"),
    ("response_length_growth", "below", {"high": 30}, {"generations.jsonl": rollouts(response=lambda i: sentence(i, 90))}, {"generations.jsonl": rollouts()}, "fail"),
    ("response_length_growth", "below", {"high": 30}, {"generations.jsonl": rollouts(prompt=lambda i: f"other {i}")}, {"generations.jsonl": rollouts()}, "no-observation"),
    ("reasoning_length", "above", {"low": 100}, {"generations.jsonl": rollouts(response=think(ROWS))}, None, "pass"),
    ("reasoning_length", "above", {"low": 100}, {"generations.jsonl": rollouts(response=think("42"))}, None, "fail"),
    ("reasoning_length", "above", {"low": 100}, {"generations.jsonl": rollouts()}, None, "no-observation"),
    ("reasoning_steps", "above", {"low": 3}, {"generations.jsonl": rollouts(response=think(ROWS))}, None, "pass"),
    ("reasoning_steps", "above", {"low": 3}, {"generations.jsonl": rollouts(response=think("42"))}, None, "fail"),
    ("within_group_generations_differ", "true", {}, {"rollouts.jsonl": lines({"prompt": f"q{i}", "responses": [sentence(i), sentence(-i - 1)]} for i in range(40))}, None, "pass"),
    ("within_group_generations_differ", "true", {}, {"rollouts.jsonl": lines({"prompt": f"q{i}", "responses": ["same", "same"]} for i in range(40))}, None, "fail"),
    ("within_group_generations_differ", "true", {}, {"rollouts.jsonl": rollouts()}, None, "no-observation"),
    ("cheating_pattern_found", "false", {}, {"rollouts.jsonl": rollouts(200, reward=lambda i: i % 7)}, None, "pass"),
    ("cheating_pattern_found", "false", {}, {"rollouts.jsonl": rollouts(200, reward=lambda i: i % 2, response=lambda i: f"As everybody surely knows {sentence(i)}" if i % 2 else sentence(i))}, None, "fail"),
    ("cheating_pattern_found", "false", {}, {"rollouts.jsonl": rollouts(200)}, None, "no-observation"),
    ("valid_output_share", "equals", {"value": 1}, {"generations.jsonl": rollouts(response="<a_1><b_2>"), "beauty.index.json": '{"7": ["<a_1>", "<b_2>"]}'}, None, "pass"),
    ("valid_output_share", "equals", {"value": 1}, {"generations.jsonl": rollouts(response="<a_9><b_9>"), "beauty.index.json": '{"7": ["<a_1>", "<b_2>"]}'}, None, "fail"),
    ("valid_output_share", "equals", {"value": 1}, {"generations.jsonl": rollouts(response="<a_9><b_9>")}, None, "no-observation"),
    ("verbatim_training_regurgitation", "false", {}, {TRAIN: docs(0, 60), "generations.jsonl": rollouts(response=lambda i: sentence(3) if i == 7 else sentence(-i - 1, 60))}, None, "fail"),
    ("verbatim_training_regurgitation", "false", {}, {TRAIN: docs(0, 60), "generations.jsonl": rollouts(response=lambda i: sentence(-i - 1, 60))}, None, "pass"),
    ("verbatim_training_regurgitation", "false", {}, {TRAIN: docs(0, 60)}, None, "no-observation"),
    # evaluation results
    ("general_benchmark_drop", "below", {"high": 5}, {"results.json": lm_eval(mmlu=0.60, shop=0.7)}, {"results.json": lm_eval(mmlu=0.62, shop=0.5)}, "pass"),
    ("general_benchmark_drop", "below", {"high": 5}, {"results.json": lm_eval(mmlu=0.50)}, {"results.json": lm_eval(mmlu=0.62)}, "fail"),
    ("general_benchmark_drop", "below", {"high": 5}, {"results.json": lm_eval(mmlu=0.50), "base_results.json": lm_eval(mmlu=0.62)}, {"results.json": lm_eval(mmlu=0.45)}, "fail"),
    ("general_benchmark_drop", "below", {"high": 5}, {"results.json": lm_eval(mmlu=0.50)}, {"train.log": log()}, "no-observation"),
    ("domain_gain_retained", "true", {}, {"results.json": lm_eval(shop=0.70)}, {"results.json": lm_eval(shop=0.71)}, "pass"),
    ("domain_gain_retained", "true", {}, {"results.json": lm_eval(shop=0.50)}, {"results.json": lm_eval(shop=0.71)}, "fail"),
    ("domain_gain_retained", "true", {}, {"results.json": '{"shop_accuracy": 0.69}'}, {"results.json": '{"shop_accuracy": 0.71}'}, "no-observation"),
    ("output_quality_retained", "true", {}, {"results.json": lm_eval(shop=0.70)}, {"results.json": lm_eval(shop=0.71)}, "pass"),
    ("output_quality_retained", "true", {}, {"results.json": lm_eval(shop=0.50)}, {"results.json": lm_eval(shop=0.71)}, "fail"),
    ("eval_regression", "at-most", {"high": 0}, {"results.json": lm_eval(shop=0.70)}, {"results.json": lm_eval(shop=0.71)}, "pass"),
    ("eval_regression", "at-most", {"high": 0}, {"results.json": lm_eval(shop=0.50)}, {"results.json": lm_eval(shop=0.71)}, "fail"),
    ("eval_regression", "at-most", {"high": 0}, {"results.json": lm_eval(shop=0.70)}, None, "no-observation"),
    ("ood_accuracy_gap", "below", {"high": 10}, {"results.json": lm_eval(math_train=0.72, math_ood=0.68)}, None, "pass"),
    ("ood_accuracy_gap", "below", {"high": 10}, {"results.json": lm_eval(math_train=0.92, math_ood=0.48)}, None, "fail"),
    ("ood_accuracy_gap", "below", {"high": 10}, {"results.json": lm_eval(math=0.92)}, None, "no-observation"),
    ("eval_setup_identical", "true", {}, {"results.json": lm_eval(shop=0.70)}, {"results.json": lm_eval(shop=0.71)}, "pass"),
    ("eval_setup_identical", "true", {}, {"results.json": lm_eval(shop=0.70).replace("abc", "abd")}, {"results.json": lm_eval(shop=0.71)}, "fail"),
    ("eval_setup_identical", "true", {}, {"results.json": '{"shop_accuracy": 0.7}'}, {"results.json": lm_eval(shop=0.71)}, "no-observation"),
    ("metrics_present", "true", {}, {"results.json": lm_eval(shop=0.70)}, None, "pass"),
    ("metrics_present", "true", {}, {"results.json": '{"accuracy": NaN}'}, None, "fail"),
    ("metrics_present", "true", {}, {"train.log": log()}, None, "no-observation"),
    # settings
    ("global_batch_size", "equals", {"value": "unchanged"}, {"train.yaml": HF.format(1, 8)}, {"train.yaml": HF.format(2, 4)}, "pass"),
    ("global_batch_size", "equals", {"value": "unchanged"}, {"train.yaml": HF.format(1, 4)}, {"train.yaml": HF.format(2, 4)}, "fail"),
    ("global_batch_size", "equals", {"value": "unchanged"}, {"train.log": log()}, {"train.yaml": HF.format(2, 4)}, "no-observation"),
    ("global_batch_tokens", "equals", {"value": "formula"}, {"run.sh": MEGATRON + "--global-batch-size 64"}, None, "pass"),
    ("global_batch_tokens", "equals", {"value": "formula"}, {"run.sh": MEGATRON + "--global-batch-size 60"}, None, "fail"),
    ("global_batch_tokens", "equals", {"value": "formula"}, {"train.log": log()}, None, "no-observation"),
    ("steps_reached", "at-least", {"low": 250}, {"train.log": log()}, None, "pass"),
    ("steps_reached", "at-least", {"low": 350}, {"train.log": log()}, None, "no-observation"),
    ("steps_reached", "at-least", {"low": 350}, {"train.log": log(extra=OOM)}, None, "fail"),
    ("steps_reached", "at-least", {"low": 1}, {"train.yaml": HF.format(1, 8)}, None, "no-observation"),
    ("first_loss", "at-most", {"high": 11.0}, {"train.log": log(loss=lambda i: 10 - i / 100)}, None, "pass"),
    ("first_loss", "at-most", {"high": 11.0}, {"train.log": log(loss=lambda i: 100 / i)}, None, "fail"),
    ("first_loss", "at-most", {"high": 11.0}, {"train.yaml": HF.format(1, 8)}, None, "no-observation"),
    ("lr_floor_step", "at-least", {"low": 200}, {"train.log": log(loss=2.0, lr=lambda i: 1e-3 - 3e-6 * i)}, None, "pass"),
    ("lr_floor_step", "at-least", {"low": 200}, {"train.log": log(loss=2.0, lr=lambda i: max(1e-3 - 2e-5 * i, 1e-5))}, None, "fail"),
    ("lr_floor_step", "at-least", {"low": 200}, {"train.log": log()}, None, "no-observation"),
    ("train_batch_size", "true", {"value": "formula"}, {"run.sh": OPENRLHF + "--train_batch_size 1024"}, None, "pass"),
    ("train_batch_size", "true", {"value": "formula"}, {"run.sh": OPENRLHF + "--train_batch_size 512"}, None, "fail"),
    ("train_batch_size", "true", {"value": "formula"}, {"run.sh": OPENRLHF + "--train_batch_size 1024 --max_epochs 2"}, None, "fail"),
    ("train_batch_size", "true", {"value": "formula"}, {"train.yaml": HF.format(1, 8)}, None, "no-observation"),
    ("batch_size_mod_world_size", "equals", {"value": 0}, {"run.sh": MEGATRON + "--global-batch-size 64"}, None, "pass"),
    ("batch_size_mod_world_size", "equals", {"value": 0}, {"run.sh": MEGATRON + "--global-batch-size 60"}, None, "fail"),
    ("batch_size_mod_world_size", "equals", {"value": 0}, {"train.yaml": HF.format(1, 8)}, None, "no-observation"),
    ("changed_settings", "at-most", {"high": 1}, {"train.yaml": HF.format(1, 8)}, {"train.yaml": HF.format(2, 4)}, "pass"),
    ("changed_settings", "at-most", {"high": 1}, {"train.yaml": HF.format(1, 8).replace("1e-5", "2e-5")}, {"train.yaml": HF.format(1, 8) + "weight_decay: 0.1\n"}, "fail"),
    ("changed_settings", "at-most", {"high": 1}, {"train.yaml": HF.format(1, 8)}, None, "no-observation"),
    ("groups_are_whole", "true", {}, {"run.sh": OPENRLHF + "--train_batch_size 1024"}, None, "pass"),
    ("groups_are_whole", "true", {}, {"run.sh": OPENRLHF + "--train_batch_size 1020"}, None, "fail"),
    ("groups_are_whole", "true", {}, {"train.yaml": HF.format(8, 1)}, None, "no-observation"),
    # series
    ("tokens_per_second_against_baseline", "increases", {}, {"train.log": log(loss=1.0, tokens_per_second=lambda i: 900 + i % 5)}, {"train.log": log(loss=1.0, tokens_per_second=lambda i: 700 + i % 5)}, "pass"),
    ("tokens_per_second_against_baseline", "increases", {}, {"train.log": log(loss=1.0, tokens_per_second=lambda i: 700 + i % 5)}, {"train.log": log(loss=1.0, tokens_per_second=lambda i: 700 + i % 5)}, "fail"),
    ("tokens_per_second", "increases", {}, {"train.log": log(loss=1.0, tokens_per_second=lambda i: 500 + i)}, {"train.log": log(loss=1.0, tokens_per_second=lambda i: 5000)}, "fail"),
    ("tokens_per_second", "increases", {}, {"train.log": log(loss=1.0, tokens_per_second=900)}, {"train.log": log(loss=1.0, tokens_per_second=700)}, "pass"),
    ("tokens_per_second_against_baseline", "increases", {}, {"train.log": log(loss=1.0, tokens_per_second=700)}, None, "no-observation"),
    ("gpu_utilization", "at-least", {"low": 80, "unit": "%"}, {"train.log": log(loss=1.0, gpu_utilization=0.93)}, None, "pass"),
    ("gpu_utilization", "at-least", {"low": 80, "unit": "%"}, {"train.log": log(loss=1.0, gpu_utilization=0.43)}, None, "fail"),
    ("gpu_utilization", "at-least", {"low": 80, "unit": "%"}, {"train.log": log(loss=1.0, gpu_utilization=93.0)}, None, "pass"),
    ("mfu", "at-least", {"low": 50, "unit": "%"}, {"train.log": log(loss=1.0, mfu=0.43)}, None, "no-observation"),
    ("mfu", "at-least", {"low": 50, "unit": "%"}, {"train.log": log(loss=1.0, mfu=0.53, extra="GPU: NVIDIA H100 80GB HBM3"), "run.sh": SEVEN_B}, None, "pass"),
    ("mfu", "at-least", {"low": 50, "unit": "%"}, {"train.log": log(loss=1.0, mfu=0.43, extra="GPU: NVIDIA H100 80GB HBM3"), "run.sh": SEVEN_B}, None, "fail"),
    ("samples_per_minute_8xA100", "at-least", {"low": 100}, {"train.log": log(loss=1.0, samples_per_second=3.0, extra="GPU: NVIDIA A100-SXM4-80GB"), "run.sh": MEGATRON}, None, "pass"),
    ("samples_per_minute_8xA100", "at-least", {"low": 100}, {"train.log": log(loss=1.0, samples_per_second=1.0, extra="GPU: NVIDIA A100-SXM4-80GB"), "run.sh": MEGATRON}, None, "fail"),
    ("samples_per_minute_8xA100", "at-least", {"low": 100}, {"train.log": log(loss=1.0, samples_per_second=1.0)}, None, "no-observation"),
    ("eval_loss", "decreases", {}, {"train.log": log(60, eval_loss=lambda i: 2 - i / 100)}, None, "pass"),
    ("eval_loss", "decreases", {}, {"train.log": log(60, eval_loss=lambda i: 2 + abs(i - 30) / 50)}, None, "fail"),
    ("lr_range_test_window", "between", {"low": 1000, "high": 2000}, {"a/train.log": log(1500, loss=1.0, learning_rate=1e-4), "b/train.log": log(1500, loss=1.0, learning_rate=3e-4)}, None, "pass"),
    ("lr_range_test_window", "between", {"low": 1000, "high": 2000}, {"a/train.log": log(300, loss=1.0, learning_rate=1e-4), "b/train.log": log(300, loss=1.0, learning_rate=3e-4)}, None, "fail"),
    ("lr_range_test_window", "between", {"low": 1000, "high": 2000}, {"train.log": log(1500, loss=1.0, learning_rate=1e-4)}, None, "no-observation"),
    ("reward_human_trend_agreement", "true", {}, {"metrics.jsonl": lines({"step": i, "reward": i / 60, "eval_reward": i / 90} for i in range(60))}, None, "pass"),
    ("reward_human_trend_agreement", "true", {}, {"metrics.jsonl": lines({"step": i, "reward": i / 60, "eval_reward": 1 - i / 90} for i in range(60))}, None, "fail"),
    ("reward_human_trend_agreement", "true", {}, {"train.log": log(60, loss=1.0, reward=lambda i: i / 60)}, None, "no-observation"),
    ("microbatches_equal_across_dp_ranks", "true", {}, {f"rank_{r}.log": log(20, extra="micro-batch 1\nmicro-batch 2") for r in range(2)}, None, "pass"),
    ("microbatches_equal_across_dp_ranks", "true", {}, {"rank_0.log": log(20, extra="micro-batch 1\nmicro-batch 2"), "rank_1.log": log(20, extra="micro-batch 1")}, None, "fail"),
    ("microbatches_equal_across_dp_ranks", "true", {}, {"train.log": log()}, None, "no-observation"),
    # logs
    ("oom_under_high_concurrency", "equals", {"value": 0}, {"serve.log": "".join(SERVING.format(i, 900.0, 64) for i in range(9))}, None, "pass"),
    ("oom_under_high_concurrency", "equals", {"value": 0}, {"serve.log": SERVING.format(1, 9.0, 64) + OOM + "\n"}, None, "fail"),
    ("oom_under_high_concurrency", "equals", {"value": 0}, {"train.log": log()}, None, "no-observation"),
    ("oom_under_high_concurrency", "equals", {"value": 0}, {"serve.log": "".join(SERVING.format(i, 900.0, 8) for i in range(9))}, {"serve.log": SERVING.format(1, 900.0, 64)}, "no-observation"),
    ("generation_tokens_per_s", "at-least", {"low": 100}, {"serve.log": "".join(SERVING.format(i, 900.0 + i, 8) for i in range(9))}, None, "pass"),
    ("generation_tokens_per_s", "at-least", {"low": 100}, {"serve.log": "".join(SERVING.format(i, 9.0 + i, 8) for i in range(9))}, None, "fail"),
    ("generation_tokens_per_s", "at-least", {"low": 100}, {"train.log": log()}, None, "no-observation"),
    ("qps_and_latency_target_met", "true", {}, {"bench.log": log() + "Request throughput (req/s): 12.5\nP95 TTFT (ms): 180.0\n", "slo.yaml": "target_qps: 10\ntarget_p95_latency_ms: 500\n"}, None, "pass"),
    ("qps_and_latency_target_met", "true", {}, {"bench.log": log() + "Request throughput (req/s): 2.5\nP95 TTFT (ms): 180.0\n", "slo.yaml": "target_qps: 10\ntarget_p95_latency_ms: 500\n"}, None, "fail"),
    ("qps_and_latency_target_met", "true", {}, {"bench.log": log() + "Request throughput (req/s): 2.5\n"}, None, "no-observation"),
    ("engine_sleep_errors", "equals", {"value": 0}, {"train.log": log()}, None, "pass"),
    ("engine_sleep_errors", "equals", {"value": 0}, {"train.log": log(extra="RuntimeError: Engine already sleeping")}, None, "fail"),
    ("engine_sleep_errors", "equals", {"value": 0}, {"train.log": log(4)}, None, "no-observation"),
    ("process_group_initialised", "true", {}, {"train.log": log()}, None, "pass"),
    ("process_group_initialised", "true", {}, {"train.log": "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n"}, None, "fail"),
    ("process_group_initialised", "true", {}, {"train.log": "waiting for all ranks to join\n" * 30}, None, "no-observation"),
    ("dependencies_consistent", "true", {}, {"pip.log": log() + "No broken requirements found.\n"}, None, "pass"),
    ("dependencies_consistent", "true", {}, {"pip.log": log() + "vllm 0.9 has requirement torch==2.7, but you have torch 2.6.\n"}, None, "fail"),
    ("dependencies_consistent", "true", {}, {"train.log": log()}, None, "no-observation"),
    ("cuda_smoke_test_passed", "true", {}, {"train.log": log()}, None, "pass"),
    ("cuda_smoke_test_passed", "true", {}, {"train.log": "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"}, None, "fail"),
    ("cuda_smoke_test_passed", "true", {}, {"train.log": "starting\n" * 5}, None, "no-observation"),
    ("referenced_paths_exist", "true", {}, {"train.log": log()}, None, "pass"),
    ("referenced_paths_exist", "true", {}, {"train.log": "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.jsonl'\n"}, None, "fail"),
    ("cuda_oom", "false", {"window": {"steps": 200}}, {"train.log": log(300)}, None, "pass"),
    ("cuda_oom", "false", {"window": {"steps": 200}}, {"train.log": log(100)}, None, "no-observation"),
    ("cuda_oom", "false", {}, {"train.log": log(300, extra=OOM)}, None, "fail"),
    ("engine_init_failure", "false", {}, {"serve.log": SERVING.format(1, 900.0, 8)}, None, "pass"),
    ("engine_init_failure", "false", {}, {"serve.log": "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"}, None, "fail"),
    ("engine_init_failure", "false", {}, {"serve.log": "Loading weights took 10 seconds\n" * 5}, None, "no-observation"),
    ("response_time", "at-most", {"high": 1, "needs": "operational"}, {"incident.json": '{"alerted_at": "2026-01-01T10:00:00", "responded_at": "2026-01-01T10:30:00"}', "train.log": log()}, None, "pass"),
    ("response_time", "at-most", {"high": 1, "needs": "operational"}, {"incident.json": '{"alerted_at": "2026-01-01T10:00:00", "responded_at": "2026-01-01T12:30:00"}', "train.log": log()}, None, "fail"),
    ("response_time", "at-most", {"high": 1, "needs": "operational"}, {"train.log": log()}, None, "no-observation"),
    # losses
    ("loss_starts_lower", "true", {}, {"train.log": log(loss=lambda i: 5 - i / 400)}, {"train.log": log(loss=lambda i: 6.2 - i / 300)}, "pass"),
    ("loss_starts_lower", "true", {}, {"train.log": log(loss=lambda i: 5 - i / 400)}, {"train.log": log(loss=lambda i: 5 + (-1) ** i / 10)}, "fail"),
    ("loss_starts_lower", "true", {}, {"train.log": log(loss=lambda i: 5 - i / 400)}, {"train.log": log(grad_norm=1.0)}, "no-observation"),
    # files
    ("sid_index_and_item_files_exist", "true", {}, {"out/b.index.json": '{"7": ["<a_1>"]}', "out/b.item.json": '{"7": {"title": "x"}}', "train.log": log()}, None, "pass"),
    ("sid_index_and_item_files_exist", "true", {}, {"out/b.index.json": '{"7": ["<a_1>"]}', "out/b.item.json": '{"7": 1, "8": 1}', "train.log": log()}, None, "fail"),
    ("sid_index_and_item_files_exist", "true", {}, {"out/b.index.json": "{", "out/b.item.json": '{"7": {"title": "x"}}', "train.log": log()}, None, "fail"),
    ("per_gpu_outputs_equal_splits", "true", {}, {"r/result_0.jsonl": docs(0, 4), "r/result_1.jsonl": docs(4, 4), "r/result.jsonl": docs(0, 8), "train.log": log()}, None, "pass"),
    ("per_gpu_outputs_equal_splits", "true", {}, {"r/result_0.jsonl": docs(0, 4), "r/result_1.jsonl": docs(4, 4), "r/result.jsonl": docs(0, 4), "train.log": log()}, None, "fail"),
    ("per_gpu_outputs_equal_splits", "true", {}, {"r/out_0.csv": 'id,text\n1,"a\nb"\n', "r/out_1.csv": 'id,text\n2,c\n', "r/out.csv": 'id,text\n1,"a\nb"\n2,c\n', "train.log": log()}, None, "pass"),
    ("per_gpu_outputs_equal_splits", "true", {}, {"r/out_0.csv": 'id,text\n1,"a\nb"\n', "r/out_1.csv": 'id,text\n2,c\n', "r/out.csv": 'id,text\n1,"a\nb\n\nc"\n', "train.log": log()}, None, "fail"),
    ("per_gpu_outputs_equal_splits", "true", {}, {"r/result_0.jsonl": docs(0, 4), "r/result_2.jsonl": docs(4, 4), "r/result.jsonl": docs(0, 8), "train.log": log()}, None, "fail"),
    ("per_gpu_outputs_equal_splits", "true", {}, {"r/result_0.jsonl": docs(0, 4), "r/result_1.jsonl": docs(4, 4), "train.log": log()}, None, "no-observation"),
    ("checkpoint_complete", "true", {}, {"train.log": log()}, None, "no-observation"),
    ("checkpoint_loads", "true", {}, {"train.log": LOADED + log()}, None, "pass"),
    ("checkpoint_loads", "true", {}, {"train.log": LOADED + "Missing keys: ['model.layers.0.mlp.up_proj.weight']\n" + log()}, None, "fail"),
    ("checkpoint_loads", "true", {}, {"train.log": log()}, None, "no-observation"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "is_", "more", "files", "before", "expected"),
    CASES,
    ids=[f"{c[0]}-{c[5]}-{i}" for i, c in enumerate(CASES)],
)
def test_a_criterion_is_judged_on_the_artifacts(tmp_path, metric, is_, more, files, before, expected):
    done = observe(subject(tmp_path, files, before), criterion(metric, is_, **more))
    assert result(done) == expected, done
    assert done.definition


def test_every_metric_has_a_run_that_passes_and_one_that_fails():
    """Those on series alone are in test_subject."""
    elsewhere = {"training_stable", "sudden_collapse", "loss_decreases_smoothly", "loss_leaves_plateau",
                 "clip_trigger_rate", "total_steps", "zero_config_consistent", "checkpoint_complete"}  # fmt: skip
    for wanted in ("pass", "fail"):
        assert families().keys() - elsewhere <= {c[0] for c in CASES if c[5] == wanted}


def test_a_score_carries_its_standard_error(tmp_path):
    files = {"results.json": lm_eval(100, mmlu=0.58)}
    done = observe(
        subject(tmp_path, files, {"results.json": lm_eval(100, mmlu=0.62)}),
        criterion("general_benchmark_drop", "below", high=5),
    )
    assert done.value == pytest.approx(4)
    assert done.noise == pytest.approx(100 * (0.62 * 0.38 / 100 + 0.58 * 0.42 / 100) ** 0.5)


def test_sub_tasks_do_not_count_beside_their_group(tmp_path):
    now = {"results.json": lm_eval(mmlu=0.61, mmlu_law=0.3)}
    old = {"results.json": lm_eval(mmlu=0.62, mmlu_law=0.6)}
    done = observe(subject(tmp_path, now, old), criterion("general_benchmark_drop", "below", high=5))
    assert done.value == pytest.approx(1)


def test_none_of_a_few_items_does_not_hide_the_size_of_the_evaluation_set(tmp_path):
    done = observe(
        subject(tmp_path, {TRAIN: MORE, EVAL: QUESTIONS}), criterion("train_eval_leak_rate", "below", high=0.1)
    )
    assert "smallest rate above zero is 5%" in done.definition
    assert done.points == 20


def test_no_hit_in_the_head_of_the_data_is_no_pass(tmp_path, monkeypatch):
    monkeypatch.setattr("triage.agent.acceptance.artifacts.FILE_BYTES", 4000)
    clean = observe(subject(tmp_path, {TRAIN: MORE}), criterion("pii_hits", "equals", value=0))
    assert result(clean) == "no-observation"
    assert "head of the data" in clean.definition


@pytest.mark.parametrize(("steps", "expected"), [(1000, "pass"), (2000, "fail")])
def test_the_schedule_is_as_long_as_the_tokens(tmp_path, steps, expected):
    files = {"run.sh": MEGATRON + f"--global-batch-size 64 --train-iters {steps}"}
    s = subject(tmp_path, files)
    from dataclasses import replace

    from triage.tools.settings import Setting

    tokens_ = Setting("train_tokens", 64 * 1024 * 1000, "65536000", "train_tokens", "run.sh", 1)
    settings = replace(s.settings, values={**s.settings.values, "train_tokens": tokens_})
    done = observe(replace(s, settings=settings), criterion("total_steps", "equals", value="T_tokens / GB_tok"))
    assert result(done) == expected, done


def test_damaged_result_files_are_no_scores(tmp_path):
    files = {"results.json": "{" * 5000, "eval_results.json": '[1, {"acc": "high"}]', "train.log": log()}
    for metric in ("general_benchmark_drop", "domain_gain_retained", "eval_regression", "ood_accuracy_gap"):
        done = observe(subject(tmp_path / metric, files, files), criterion(metric, "below", high=5))
        assert result(done) == "no-observation"


SCALARS = st.sampled_from([None, True, 0, -3, 1e308, float("nan"), 2**70, "", "x", "2026", [], {}])
NAMED = st.dictionaries(st.sampled_from(["mmlu", "shop", "acc,none", "acc_stderr,none", "n", "effective"]), SCALARS)


def records(*names: str, **nested) -> st.SearchStrategy:
    """JSON lines of three records with these keys and strange values."""
    record = st.fixed_dictionaries({n: SCALARS for n in names} | nested)
    return st.lists(record, min_size=1, max_size=3).map(lambda rs: lines(rs * 15))


def objects(*names: str, **nested) -> st.SearchStrategy:
    return st.fixed_dictionaries({n: SCALARS for n in names} | nested).map(json.dumps)


TOKEN_LISTS = {k: st.lists(st.integers(-100, 9), min_size=3, max_size=3) for k in ("input_ids", "labels")}
STRANGE = {
    "results.json": objects("git_hash", "versions", results=st.dictionaries(st.sampled_from(["mmlu", "shop"]), NAMED | SCALARS), **{"n-samples": st.dictionaries(st.just("mmlu"), NAMED) | SCALARS}),
    "base_results.json": objects("mmlu", "acc", "n"),
    "generations.jsonl": records("prompt", "response", "finish_reason", "reward"),
    "rollouts.jsonl": records("prompt", "finish_reasons", "rewards", responses=st.lists(SCALARS, max_size=3)),
    "train.jsonl": records("text", "kept", "filter_reason", "duration", segments=st.lists(st.fixed_dictionaries({"end": SCALARS}) | SCALARS, max_size=3)),
    "pairs.jsonl": records("prompt", "chosen", "rejected", "chosen_score", "rejected_score"),
    "eval.jsonl": records("question", "answer"),
    "dump.jsonl": records("eos_token_id", "bos_token_id", **TOKEN_LISTS),
    "takedown.jsonl": records("text"),
    "manifest.json": objects("num_examples", train=NAMED),
    "recipe.json": objects("latin", "han"),
    "incident.json": objects("alerted_at", "responded_at"),
    "quarantine.json": objects("shards"),
    "b.index.json": objects("7"),
    "b.item.json": objects("7", "8"),
    "result_0.json": objects("a"),
    "result_1.json": objects("a"),
    "tokenizer.json": objects("added_tokens"),
    "tokenizer_config.json": objects(added_tokens_decoder=st.dictionaries(st.sampled_from(["1", "x"]), SCALARS)),
    "train.yaml": st.just("max_steps: .nan\nlearning_rate: .inf\nper_device_train_batch_size: 0\nworld_size: 0\n"),
    "run.sh": st.just(OPENRLHF + "--train_batch_size 0 --max_epochs nan"),
}  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_strange_files_never_break_a_metric(data):
    with TemporaryDirectory() as name:
        files = {file: data.draw(strategy) for file, strategy in STRANGE.items() if data.draw(st.booleans())}
        now = look_at(fill(Path(name) / "run", files | {"train.log": log(20)}))
        s = Subject(now.run, now.table, now.settings, now.scan, 0, (), (), now)
        for metric in families():
            done = observe(s, criterion(metric, "at-most", high=1))
            assert "the metric broke" not in done.definition, (metric, done.definition, files)


def test_random_bytes_never_break_a_metric(tmp_path):
    noise = random.Random(0)
    folder = fill(tmp_path / "run", {"train.log": log(20)})
    for file in STRANGE:
        (folder / file).write_bytes(noise.randbytes(400))
    now = look_at(folder)
    s = Subject(now.run, now.table, now.settings, now.scan, 0, (), (), now)
    for metric in families():
        assert "the metric broke" not in observe(s, criterion(metric, "at-most", high=1)).definition
