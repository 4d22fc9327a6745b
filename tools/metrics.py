"""Which key of which framework means which metric: one table of names, and the grammar of what is put around them.

`METRICS` holds the names. `canonical` also understands what trainers add to a name in the same few ways: the owner
(`actor/`), the split (`eval/`), the way of averaging (`interval_`, `/mean`), the device (`_per_gpu`) and the unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType


@dataclass(frozen=True)
class Metric:
    """One canonical metric."""

    unit: str
    means: str
    aliases: tuple[str, ...]
    """Keys of all frameworks in the form of `_plain`, the one to prefer first."""


def _metric(unit: str, means: str, aliases: str) -> Metric:
    return Metric(unit, means, tuple(aliases.split()))


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "loss": _metric(
            "", "training loss at a step",
            "loss train_loss lm_loss train/loss training_loss loss/train avg_train_loss train_loss_step loss_train"
            " gpt_loss sft_loss train/loss_step loss_mean train/loss_mean total_loss train/total_loss ce_loss"
            " cross_entropy_loss train/crossentropyloss train/cross_entropy_loss nll_loss train/lm_loss"
            " loss_metrics/global_avg_loss training/loss train/sft_loss running_loss language_model_loss mlm_loss"
            " global_avg_loss lm-loss-training/lm_loss main_loss final_loss step_loss batch_loss avg_loss smooth_loss"
            " language_cross_entropy languagecrossentropy llm_loss 损失 训练损失 损失值 train/languagecrossentropy",
        ),
        "train_loss_mean": _metric(
            "", "training loss averaged over an epoch or the whole run",
            "train_loss_mean train_loss_epoch loss_epoch epoch_loss train/loss_epoch average_loss",
        ),
        "eval_loss": _metric(
            "", "loss on held-out data",
            "eval_loss val_loss valid_loss validation_loss eval/loss val/loss validation/loss valid/loss val_loss_epoch"
            " loss_val dev_loss eval_lm_loss_value lm_loss_value eval_lm_loss validation_metrics/global_avg_loss"
            " val/loss_epoch val_loss_step eval_nll_loss test_loss loss_eval"
            " 验证损失 评估损失 测试损失 eval/languagecrossentropy",
        ),
        "policy_loss": _metric(
            "", "policy (actor) loss of reinforcement learning; near zero and noisy in good runs",
            "policy_loss actor/pg_loss act_loss actor_loss pg_loss actor/policy_loss actor/loss train/policy_loss"
            " loss/policy_avg loss/policy",
        ),
        "value_loss": _metric(
            "", "value (critic) loss",
            "value_loss critic/vf_loss cri_loss critic_loss critic/loss vf_loss loss/value_avg loss/value",
        ),
        "aux_loss": _metric(
            "", "auxiliary loss (load balancing, router z-loss)",
            "aux_loss load_balancing_loss moe_aux_loss router_aux_loss train/aux_loss moe/aux_loss"
            " load_balancing_loss_unscaled unsuper_loss z_loss",
        ),
        "grad_norm": _metric(
            "", "norm of the gradient before clipping; fp16 Megatron multiplies it by the loss scale",
            "grad_norm actor/grad_norm train/grad_norm global_grad_norm train/global_grad_norm gradient_norm gradnorm"
            " gnorm grad_norms policy/grad_norm train/gradient_norm grad/norm total_norm total_grad_norm"
            " optim/total_grad_norm optimizer/grad_norm train/grad-norm grad_norm/total actor_grad_norm norm"
            " training/grad_norm train/actor_grad_norm grad_norm_avg ||grad||"
            " global_norm l2_norm/grad 梯度范数 optim/grad_norm",
        ),
        "critic_grad_norm": _metric("", "gradient norm of the critic", "critic_grad_norm critic/grad_norm"),
        "learning_rate": _metric(
            "", "learning rate of the first parameter group",
            "learning_rate lr actor/lr train/learning_rate train/lr actor_lr optim/learning_rate_group0 lr-adamw"
            " lr-adam lr/group0 optimizer/lr training/lr train/actor_lr policy/lr lr_0 optim/lr learning_rates"
            " 学习率",
        ),
        "loss_scale": _metric(
            "", "loss scale of fp16", "loss_scale lossscale train/loss_scale cur_scale grad_scale amp_scale scaler"
        ),
        "tokens_per_second": _metric(
            "tokens/s", "tokens per second (per device where the log says so)",
            "tokens_per_second tokens_per_sec tok/s tok/sec toks/s tokens/s tokens/sec tps tgs perf/throughput"
            " train_tokens_per_second tokens_per_second_per_gpu tokens_per_sec_per_gpu throughput(tps)"
            " throughput/device/tokens_per_sec throughput/device/tokens_per_second perf/tokens_per_sec wps throughput"
            " 吞吐 吞吐量 tokens/s/device tokens_per_gpu tok_per_sec tokens_per_second_per_device toks_per_s"
            " tokens/gpu/second train_throughput",
        ),
        "samples_per_second": _metric(
            "samples/s", "samples per second",
            "samples_per_second currsamplespersec cursamplespersec samples_per_sec samples/sec samples/s"
            " train_samples_per_second runningavgsamplespersec avgsamplespersec throughput/samples_per_sec"
            " seqs_per_sec",
        ),
        "step_time": _metric(
            "s", "wall time of one step",
            "step_time time_per_step perf/time_per_step timing_s/step elapsed_time_per_iteration"
            " elapsed_time_per_iteration_s iter_time iteration_time time_per_iteration seconds_per_step sec/step"
            " s/it e2e_latency dt step_avg time/step time_step train/step_time timing/step sec_per_step"
            " seconds_per_iteration time_metrics/end_to_end train_step_time"
            " per_step_time step_timing iter_time_s train_speed(s/it) total_step_time seconds time"
            " time step_total 每步耗时 duration ms/step s/step ms/it s/iter step_duration time_per_iter",
        ),
        "mfu": _metric("1", "model FLOPs utilisation, 0..1", "mfu perf/mfu/actor perf/mfu bf16_mfu train/mfu mfu_pct"),
        "tflops": _metric(
            "TFLOP/s", "TFLOP/s per device",
            "tflops tflops_per_gpu throughput_per_gpu tflop/s/gpu approx_flops_per_gpu model_tflops_per_gpu"
            " flops/s/gpu throughput_tflops_per_gpu"
            " tflop/s/device tflop/s model_tflops tflop/s_per_device",
        ),
        "kl": _metric(
            "nats", "divergence from the reference policy",
            "kl objective/kl actor/kl_loss critic/kl actor/reward_kl_penalty kl_loss kl_div kl_divergence policy_kl"
            " train/kl mean_kl kl_mean kl_to_ref ref_kl kl_ref rollout/kl_ref_mean"
            " kl_divergence_loss",
        ),
        "ppo_kl": _metric(
            "nats", "divergence from the policy that made the samples",
            "ppo_kl actor/ppo_kl approx_kl approxkl policy/approxkl_avg train/ppo_kl actor/approx_kl",
        ),
        "entropy": _metric(
            "nats", "entropy of the policy",
            "entropy actor/entropy actor/entropy_loss policy_entropy policy/entropy_avg objective/entropy"
            " train/entropy entropy_loss entropy_mean mean_entropy policy/entropy",
        ),
        "reward": _metric(
            "", "mean reward of the samples (verl: the score before the KL penalty)",
            "reward critic/score/mean reward_mean mean_reward rewards/mean average_reward_score average_reward"
            " reward/mean objective/scores critic/rewards/mean objective/rlhf_reward env/reward_mean train/reward"
            " avg_reward rewards rollout/reward score return rollout/raw_reward mean_score"
            " raw_reward ep_rew_mean task_reward episode_reward 奖励 平均奖励",
        ),
        "reward_std": _metric(
            "", "spread of the reward",
            "reward_std reward/std rewards/std critic/score/std critic/rewards/std std_reward train/reward_std",
        ),
        "eval_reward": _metric("", "reward on held-out prompts", "eval_reward eval/reward val/reward val_reward"),
        "advantage_mean": _metric(
            "", "mean advantage", "advantage_mean critic/advantages/mean advantages advantages/mean",
        ),
        "response_length": _metric(
            "tokens", "mean length of the responses",
            "response_length response_length/mean completions/mean_length completion_length completions_mean_length"
            " response_lengths mean_response_length response_len average_response_length gen_len output_length"
            " resp_len rollout/response_len/mean mean_length rollout/response_lengths average_answer_length"
            " generation_length generate/avg_num_tokens 回复长度 mean_generation_length",
        ),
        "response_length_max": _metric(
            "tokens", "longest response", "response_length_max response_length/max completions/max_length"
        ),
        "prompt_length": _metric("tokens", "mean length of the prompts", "prompt_length prompt_length/mean"),
        "completions_clipped_ratio": _metric(
            "1", "share of the responses cut at the length limit",
            "completions_clipped_ratio completions/clipped_ratio response_length/clip_ratio truncated_ratio"
            " truncated_rate rollout/truncated_ratio",
        ),
        "clip_fraction": _metric(
            "1", "share of the tokens clipped by the policy loss",
            "clip_fraction clipfrac actor/pg_clipfrac pg_clipfrac clip_ratio/region_mean clip_ratio"
            " policy/clipfrac_avg ppo_clip_ratio actor/clipfrac clip_frac train/clip_fraction clip_ratio_mean",
        ),
        "frac_reward_zero_std": _metric(
            "1", "share of the groups whose rewards are all equal (no learning signal)",
            "frac_reward_zero_std train/frac_reward_zero_std zero_std_ratio rollout/zero_std_frac",
        ),
        "logprob_diff": _metric(
            "nats", "difference of token log-probabilities between trainer and rollout engine",
            "logprob_diff training/rollout_probs_diff_mean sampling/sampling_logp_difference/mean"
            " train_rollout_logprob_abs_diff rollout_log_probs_diff train/train_rollout_logprob_abs_diff"
            " logprobs_diff rollout_probs_diff_mean rollout_corr/kl",
        ),
        "accuracy": _metric(
            "1", "accuracy on training data",
            "accuracy acc train_acc train_accuracy mean_token_accuracy token_accuracy token_acc train/accuracy"
            " train/mean_token_accuracy train/acc"
            " 准确率",
        ),
        "eval_accuracy": _metric(
            "1", "accuracy on held-out data",
            "eval_accuracy val_acc eval_acc val_accuracy eval/accuracy eval/acc eval_mean_token_accuracy eval_token_acc"
            " val/acc val/accuracy valid_acc test_acc"
            " 验证准确率",
        ),
        "reward_accuracy": _metric(
            "1", "share of the pairs whose chosen answer is preferred",
            "reward_accuracy rewards/accuracies reward_accuracies rewards_accuracies acc_mean train/rewards/accuracies",
        ),
        "reward_margin": _metric(
            "", "reward of the chosen minus the rejected answer",
            "reward_margin rewards/margins reward_margins rewards_margins train/rewards/margins",
        ),
        "reward_chosen": _metric(
            "", "(implicit) reward of the chosen answer",
            "reward_chosen rewards/chosen chosen_reward rewards_chosen train/rewards/chosen chosen_last_scores",
        ),
        "reward_rejected": _metric(
            "", "(implicit) reward of the rejected answer",
            "reward_rejected rewards/rejected rejected_reward reject_reward rewards_rejected train/rewards/rejected"
            " rejected_last_scores",
        ),
        "logps_chosen": _metric("nats", "log-probability of the chosen answer", "logps_chosen logps/chosen"),
        "logps_rejected": _metric("nats", "log-probability of the rejected answer", "logps_rejected logps/rejected"),
        "eval_reward_accuracy": _metric(
            "1", "as `reward_accuracy`, held out", "eval_reward_accuracy eval_rewards/accuracies",
        ),
        "eval_reward_margin": _metric("", "as `reward_margin`, held out", "eval_reward_margin eval_rewards/margins"),
        "gpu_memory": _metric(
            "GiB", "device memory in use (the peak where both are logged)",
            "gpu_memory perf/max_memory_allocated_gb maxmemallocated max_memory_allocated"
            " peak_memory_active memory(gib)"
            " memory peak_memory max_mem gpu_mem memallocated mem peak_memory_alloc gpu_memory_gb max_memory"
            " system/peak_gpu_memory gpu_mem_max memory_max memory/max_reserved(gib) peak_mem"
            " peak_mem_gb 显存",
        ),
        "gpu_utilization": _metric(
            "1", "share of time the device is busy, 0..1", "gpu_utilization gpu_util gpu_utilisation",
        ),
        "skipped_steps": _metric(
            "", "optimizer steps skipped (DeepSpeed: so far; Megatron: since the last line)",
            "skipped_steps number_of_skipped_iterations skipped skipped_iterations",
        ),
        "nan_iterations": _metric(
            "", "iterations with NaN since the last line", "nan_iterations number_of_nan_iterations",
        ),
        "weight_norm": _metric("", "norm of the parameters", "weight_norm params_norm param_norm parameter_norm"),
        "num_zeros": _metric("", "zeros in the gradient", "num_zeros"),
        "perplexity": _metric("", "training perplexity", "perplexity ppl train_ppl train_perplexity train/ppl"
            " 困惑度"),
        "eval_perplexity": _metric(
            "", "perplexity on held-out data",
            "eval_perplexity val_perplexity eval_ppl val_ppl valid_ppl eval_lm_loss_ppl lm_loss_ppl"
        ),
        "eval_bpb": _metric("bits/byte", "bits per byte on held-out data", "eval_bpb val_bpb val/bpb"
            " validation_bpb"),
        "codebook_entropy": _metric(
            "nats", "entropy of the use of a codebook", "codebook_entropy codebook/entropy code_entropy",
        ),
        "codebook_usage": _metric(
            "1", "share of the codes in use", "codebook_usage codebook/usage codebook_utilization code_usage",
        ),
        "moe_load_imbalance": _metric(
            "1", "largest over mean expert load, minus one",
            "moe_load_imbalance moe/load_imbalance max_vio moe/max_vio expert_load_imbalance moe/maxvio",
        ),
        "batch_size": _metric("samples", "global batch size", "batch_size global_batch_size"),
        "epoch": _metric("epochs", "epochs done", "epoch train/epoch training/epoch"),
    }
)  # fmt: skip
"""Canonical name -> unit, meaning, and the keys that frameworks use for it, the preferred one first.

A second key of one metric in the same file keeps its own name. Units of keys (`_ms`, `(GiB)`, `(1e-3)`) are
converted; units of values (`5.1ms`, `9.5GiB`, `12.1%`) too.
"""

_ALIASES = {a: (name, i) for name, metric in METRICS.items() for i, a in enumerate(metric.aliases)}
_FAMILIES = (
    (re.compile(r"^val-core/[^ ]*/acc/mean@\d+$|^val/test_score/"), "eval_accuracy"),
    (re.compile(r"^val-(?:core|aux)/[^ ]*/(?:reward|score)/mean@\d+$"), "eval_reward"),
    (re.compile(r"^eval_(?!.*(?:aux|policy|value)_loss$)\w+_loss$"), "eval_loss"),
    (
        re.compile(r"^(?:\w+[/_])?lr(?:-\w+|[_/](?:pg_?|group_?|adam\w*)\d*)(?:/(?:pg|group)\d+)?$"),
        "learning_rate",
    ),
)
"""Keys that hold the name of a data set or of an optimizer."""

_LOOSE = 100
"""Order of preference of a key that only the grammar understands: after every name of the table."""
_SPLIT = re.compile(r"^(?:eval(?:uation)?|val(?:id(?:ation|ate)?)?|test|dev|held_?out)[_/]")
_OWNER = re.compile(r"^(policy|actor|ppo_actor|grpo_actor|pg|critic|value)[_/]")
_OWNED = {
    "critic": {"loss": "value_loss", "grad_norm": "critic_grad_norm", "reward": "reward", "kl": "kl"},
    "value": {"loss": "value_loss", "grad_norm": "critic_grad_norm"},
}
"""What a metric is called where the critic owns it; the policy's own loss is `policy_loss`."""
_AROUND = tuple(
    re.compile(pattern)
    for pattern in (
        r"[_/](?:per|/)_?(?:gpu|device|npu|chip|card|rank|worker)$|/(?:gpu|device|npu|chip)$",
        r"[_/](?:mean|avg|average|total|all|global|global_avg|smoothed)$",
        r"^(?:avg|average|mean|interval|current|curr?|running|reduced|smooth(?:ed)?|global|raw|total|overall|e2e)[_/]",
        r"^(?:train(?:ing|er)?|metrics?|perf(?:ormance)?|throughput|optim(?:izer)?|update|rollout|stats|time|timing(?:_s)?"
        r"|timeperf|rewards?|tokens|system|env|device|data)[_/]",
    )
)
"""What is cut off a name, one at a time: the device, the way of averaging (two places), the group it is shown in."""
_SUFFIX_UNITS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "gib": 1.0, "gb": 1.0, "mib": 1 / 1024, "mb": 1 / 1024,
    "%": 0.01, "pct": 0.01,
}  # fmt: skip
_UNIT = re.compile(r"_?\(([^()]{1,24})\)$|_(?:in_)?(ms|mib|mb|gb)$|_in_(s|sec|seconds)$")
_WORD = re.compile(r"[_/(). ]")
_VOCABULARY = frozenset(word for alias in _ALIASES for word in _WORD.split(alias) if len(word) > 1)


@lru_cache(maxsize=8192)
def canonical(key: str) -> tuple[str, float, int] | None:
    """Metric, scale to its unit and order of preference of a key, None for an unknown one.

    >>> canonical("elapsed time per iteration (ms)")
    ('step_time', 0.001, 4)
    >>> canonical("ppo_actor/update/grad_norm")[0], canonical("interval_tokens_per_second_per_device")[0]
    ('grad_norm', 'tokens_per_second')
    """
    plain = _plain(key)
    hit = _ALIASES.get(plain)
    if hit:
        return hit[0], 1.0, hit[1]
    if len(plain) > 120 or _VOCABULARY.isdisjoint(_WORD.split(plain)):
        return None
    found = _meaning(plain, 6)
    return found or next(((name, 1.0, _LOOSE - 1) for pattern, name in _FAMILIES if pattern.search(plain)), None)


def _meaning(plain: str, left: int) -> tuple[str, float, int] | None:
    """What a name means once at most `left` things around it are cut off."""
    hit = _ALIASES.get(plain)
    if hit or not left:
        return (hit[0], 1.0, hit[1]) if hit else None
    unit = _UNIT.search(plain)
    if unit:
        return _measured(plain[: unit.start()], unit.group(1) or unit.group(2) or unit.group(3), left)
    split = _SPLIT.match(plain)
    if split:
        inner = _meaning(plain[split.end() :], left - 1)
        name = inner[0] if inner and inner[0].startswith("eval_") else f"eval_{inner[0]}" if inner else ""
        return (name, inner[1], _LOOSE + inner[2]) if inner and name in METRICS else None
    owner = _OWNER.match(plain)
    if owner:
        inner = _meaning(plain[owner.end() :], left - 1)
        names = _OWNED.get(owner.group(1))
        name = (names.get(inner[0]) if names else {"loss": "policy_loss"}.get(inner[0], inner[0])) if inner else None
        return (name, inner[1], _LOOSE + inner[2]) if inner and name else None
    for pattern in _AROUND:
        shorter = pattern.sub("", plain, count=1)
        inner = _meaning(shorter, left - 1) if shorter not in (plain, "", "time", "seconds") else None
        if inner:
            return inner[0], inner[1], _LOOSE + inner[2]
    return None


def _measured(name: str, unit: str, left: int) -> tuple[str, float, int] | None:
    """A name with its unit: a known unit scales it, a rate (`(tokens/s/gpu)`) may be all that is known of it."""
    scale = _SUFFIX_UNITS.get(unit)
    if scale is None and re.fullmatch(r"\d+(?:\.\d+)?e-?\d+", unit):
        scale = float(unit)
    inner = _meaning(name, left - 1)
    if inner:
        return inner[0], inner[1] * (scale or 1.0), inner[2]
    rate = _meaning(unit, left - 1) if "/" in unit else None
    return (rate[0], rate[1], _LOOSE + rate[2]) if rate else None


def _plain(key: str) -> str:
    return re.sub(r"[\s_]+", "_", key.strip("'\" \t").lower()).replace(".", "/")
