"""The vocabulary of training logs, each fact said once: metrics, step counters, held-out splits, units.

Everything that recognises, filters or reads a log derives its words from these tables. How a name is understood with
what trainers put around it is `tools.metrics`; how lines are built is `tools.logs.points`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from .registry import table

Better = Literal[-1, 0, 1]
DOWN, EITHER, UP = -1, 0, 1


@dataclass(frozen=True)
class Metric:
    """One canonical metric."""

    unit: str
    better: Better
    """Which way is good: `UP`, `DOWN`, or `EITHER` where a level says nothing."""
    means: str
    aliases: tuple[str, ...]
    """Keys of all frameworks as `tools.metrics.plain` writes them, the one to prefer first."""


def _metric(name: str, unit: str, better: Better, means: str, aliases: str) -> tuple[str, Metric | None]:
    keys = tuple(aliases.split())
    return name, Metric(unit, better, means, keys) if keys and means else None


VOCABULARY: Mapping[str, Metric] = MappingProxyType(table("VOCABULARY", (
    _metric("loss", "", DOWN, "training loss at a step",
        "loss train_loss lm_loss train/loss training_loss loss/train avg_train_loss train_loss_step loss_train "
        "gpt_loss sft_loss train/loss_step loss_mean train/loss_mean total_loss train/total_loss ce_loss "
        "cross_entropy_loss crossentropyloss train/crossentropyloss train/cross_entropy_loss nll_loss train/lm_loss "
        "loss_metrics/global_avg_loss training/loss train/sft_loss running_loss language_model_loss mlm_loss "
        "global_avg_loss lm-loss-training/lm_loss main_loss final_loss step_loss batch_loss avg_loss smooth_loss "
        "language_cross_entropy languagecrossentropy llm_loss 损失 训练损失 损失值 train/languagecrossentropy "
        "avr_loss ce bt_loss xent cross_entropy logloss mlogloss binary_logloss multi_logloss verlust "
        "mse mse_loss train/mse train_mse diffusion_loss ctc_loss rnnt_loss transducer_loss contrastive_loss "
        "infonce_loss denoising_loss trainingsverlust perte pérdida 損失 訓練損失 学習損失"),
    _metric("train_loss_mean", "", DOWN, "training loss averaged over an epoch or the whole run",
        "train_loss_mean train_loss_epoch loss_epoch epoch_loss train/loss_epoch average_loss"),
    _metric("eval_loss", "", DOWN, "loss on held-out data",
        "eval_loss val_loss valid_loss validation_loss eval/loss val/loss validation/loss valid/loss val_loss_epoch "
        "loss_val dev_loss eval_lm_loss_value lm_loss_value eval_lm_loss validation_metrics/global_avg_loss "
        "val/loss_epoch val_loss_step eval_nll_loss test_loss loss_eval"
        " 验证损失 评估损失 测试损失 eval/languagecrossentropy validierungsverlust perte_de_validation "
        "pérdida_de_validación 検証損失 テスト損失"),
    _metric("policy_loss", "", EITHER, "policy (actor) loss of reinforcement learning; near zero, noisy in good runs",
        "policy_loss rl_loss actor/pg_loss act_loss actor_loss pg_loss actor/policy_loss actor/loss train/policy_loss "
        "loss/policy_avg loss/policy train/policy_gradient_loss policy_gradient_loss "
        "ploss surrogate_loss l_pi loss_pi pi_loss"),
    _metric("explained_variance", "share", UP, "share of the returns' variance that the critic explains",
        "explained_variance explained_var expl_var vf_explained_var value_explained_variance critic/explained_variance"
        " critic/vf_explained_var 解释方差"),
    _metric("value_loss", "", EITHER, "value (critic) loss",
        "value_loss critic/vf_loss cri_loss critic_loss critic/loss vf_loss loss/value_avg loss/value v_loss lossv"),
    _metric("aux_loss", "", EITHER, "auxiliary loss (load balancing, router z-loss)",
        "aux_loss load_balancing_loss moe_aux_loss router_aux_loss train/aux_loss moe/aux_loss "
        "load_balancing_loss_unscaled unsuper_loss z_loss"),
    _metric("grad_norm", "", EITHER, "norm of the gradient before clipping; in fp16 Megatron times the loss scale",
        "grad_norm actor/grad_norm train/grad_norm global_grad_norm train/global_grad_norm gradient_norm gradnorm "
        "gnorm grad_norms policy/grad_norm train/gradient_norm grad/norm total_norm total_grad_norm "
        "optim/total_grad_norm optimizer/grad_norm train/grad-norm grad_norm/total actor_grad_norm norm "
        "training/grad_norm train/actor_grad_norm grad_norm_avg ||grad|| global_norm l2_norm/grad 梯度范数 "
        "optim/grad_norm l2_norm_grads grad_l2_norm l2_grad_norm grads_norm"),
    _metric("critic_grad_norm", "", EITHER, "gradient norm of the critic", "critic_grad_norm critic/grad_norm"),
    _metric("learning_rate", "", EITHER, "learning rate of the first parameter group",
        "learning_rate lr actor/lr train/learning_rate train/lr actor_lr optim/learning_rate_group0 lr-adamw lr-adam "
        "lr/group0 optimizer/lr training/lr train/actor_lr policy/lr lr_0 optim/lr learning_rates cur_lr 学习率 "
        "lernrate 学習率 lrate opt/lr sched/lr scheduler/lr act_lr"),
    _metric("loss_scale", "", EITHER, "loss scale of fp16",
        "loss_scale lossscale train/loss_scale cur_scale grad_scale amp_scale scaler"),
    _metric("tokens_per_second", "tokens/s", UP, "tokens per second (per device where the log says so)",
        "tokens_per_second tokens_per_sec tokens_per_s tok_per_s tok/s tok/sec toks/s tokens/s tokens/sec tps tgs "
        "perf/throughput "
        "train_tokens_per_second tokens_per_second_per_gpu tokens_per_sec_per_gpu throughput(tps) "
        "throughput/device/tokens_per_sec throughput/device/tokens_per_second perf/tokens_per_sec throughput 吞吐 "
        "吞吐量 tokens/s/device tokens_per_gpu tok_per_sec tokens_per_second_per_device toks_per_s tokens/gpu/second "
        "train_throughput tok_s toks_s tokens_s tok_p_s wps"),
    _metric("samples_per_second", "samples/s", UP, "samples per second",
        "samples_per_second samples_per_s currsamplespersec cursamplespersec samples_per_sec samples/sec samples/s "
        "train_samples_per_second runningavgsamplespersec avgsamplespersec throughput/samples_per_sec seqs_per_sec "
        "images_per_s images_per_sec imgs_per_s imgs_per_sec img/s images/s imgs/s utt/s seq/s samples_s fps time/fps "
        "ips sps charts/sps"),
    _metric("eval_runtime", "s", EITHER, "wall time of one evaluation",
        "eval_runtime eval/runtime validation_runtime val_runtime test_runtime"),
    _metric("step_time", "s", DOWN, "wall time of one step",
        "step_time time_per_step perf/time_per_step timing_s/step elapsed_time_per_iteration "
        "elapsed_time_per_iteration_s iter_time iteration_time time_per_iteration seconds_per_step sec/step s/it "
        "e2e_latency dt step_avg time/step time_step train/step_time timing/step sec_per_step seconds_per_iteration "
        "time_metrics/end_to_end train_step_time per_step_time step_timing iter_time_s train_speed(s/it) "
        "sec/iter total_step_time seconds time step_total 每步耗时 duration ms/step s/step ms/it s/iter step_duration "
        "time_per_iter step_s s_step sec_step s_per_step s_per_it sec_per_it s_per_iter "
        "单步 单步耗时 单步用时 timing/total batch_cost schrittzeit"),
    _metric("data_time", "s", DOWN, "time a step waits for data",
        "data_time dataloader_time data_loading_time data_wait_time dataload_time batch_generator_time loader_time "
        "data_load_time data_fetch_time time_data load_time_per_step dataloading_time data_latency reader_cost"),
    _metric("compute_time", "s", DOWN, "time of forward and backward pass of a step",
        "compute_time forward_backward_time fwd_bwd_time time_compute model_time"),
    _metric("comm_time", "s", DOWN, "time a step waits for other devices",
        "comm_time communication_time allreduce_time all_reduce_time nccl_time sync_time exposed_comm_time"),
    _metric("rollout_time", "s", DOWN, "time of the rollouts of a step",
        "rollout_time generation_time gen_time timing_s/gen time_rollout generate_time timing/rollout"),
    _metric("grad_clip_rate", "1", EITHER, "share of the steps whose gradient is clipped",
        "grad_clip_rate clip_rate clipped_steps_ratio clipped_steps_frac grad_clipped_frac grad_clip_ratio"),
    _metric("mfu", "1", UP, "model FLOPs utilisation, 0..1", "mfu perf/mfu/actor perf/mfu bf16_mfu train/mfu mfu_pct"),
    _metric("tflops", "TFLOP/s", UP, "TFLOP/s per device",
        "tflops tflops_per_gpu throughput_per_gpu tflop/s/gpu approx_flops_per_gpu model_tflops_per_gpu flops/s/gpu "
        "throughput_tflops_per_gpu tflop/s/device tflop/s model_tflops tflop/s_per_device"),
    _metric("kl", "nats", DOWN, "divergence from the reference policy",
        "kl objective/kl actor/kl_loss critic/kl actor/reward_kl_penalty kl_loss kl_div kl_divergence policy_kl "
        "train/kl mean_kl kl_mean kl_to_ref ref_kl kl_ref kl_est rollout/kl_ref_mean kl_divergence_loss"),
    _metric("ppo_kl", "nats", EITHER, "divergence from the policy that made the samples",
        "ppo_kl actor/ppo_kl approx_kl approxkl policy/approxkl_avg train/ppo_kl actor/approx_kl"),
    _metric("entropy", "nats", UP, "entropy of the policy",
        "entropy actor/entropy actor/entropy_loss policy_entropy policy/entropy_avg objective/entropy train/entropy "
        "entropy_loss entropy_mean mean_entropy policy/entropy token_entropy mean_token_entropy avg_entropy "
        "entropy/mean pi_entropy"),
    _metric("reward", "", UP, "mean reward of the samples (verl: the score before the KL penalty)",
        "reward critic/score/mean reward_mean mean_reward rewards/mean average_reward_score average_reward "
        "reward/mean objective/scores critic/rewards/mean objective/rlhf_reward env/reward_mean train/reward "
        "env_runners/episode_return_mean episode_return_mean "
        "avg_reward rewards rollout/reward score return rollout/raw_reward mean_score raw_reward ep_rew_mean "
        "task_reward episode_reward 奖励 平均奖励 averageepret ep_ret ep_return episode_return ret_mean mean_return "
        "avg_return average_return return_mean eprewmean averagereturn episodereward episode_reward_mean "
        "ep_reward_mean episodic_return charts/episodic_return mean_episode_return mean_episode_reward"),
    _metric("success_rate", "1", UP, "share of the episodes that reach their goal",
        "success_rate test/success_rate train/success_rate rollout/success_rate eval/success_rate test_success_rate "
        "train_success_rate eval_success_rate mean_success_rate success_ratio success_once success_at_end "
        "eval/success_once eval/success_at_end eval/success 任务成功率 成功率"),
    _metric("reward_std", "", EITHER, "spread of the reward",
        "reward_std reward/std rewards/std critic/score/std critic/rewards/std std_reward train/reward_std"),
    _metric("eval_reward", "", UP, "reward on held-out prompts", "eval_reward eval/reward val/reward val_reward"),
    _metric("advantage_mean", "", EITHER, "mean advantage",
        "advantage_mean critic/advantages/mean advantages advantages/mean"),
    _metric("response_length", "tokens", EITHER, "mean length of the responses",
        "response_length response_length/mean completions/mean_length completion_length completions_mean_length "
        "response_lengths mean_response_length response_len average_response_length gen_len output_length resp_len "
        "rollout/response_len/mean mean_length rollout/response_lengths average_answer_length generation_length "
        "generate/avg_num_tokens 回复长度 mean_generation_length"),
    _metric("response_length_max", "tokens", EITHER, "longest response",
        "response_length_max response_length/max completions/max_length"),
    _metric("prompt_length", "tokens", EITHER, "mean length of the prompts", "prompt_length prompt_length/mean"),
    _metric("completions_clipped_ratio", "1", DOWN, "share of the responses cut at the length limit",
        "completions_clipped_ratio completions/clipped_ratio response_length/clip_ratio truncated_ratio "
        "truncated_rate rollout/truncated_ratio"),
    _metric("clip_fraction", "1", EITHER, "share of the tokens clipped by the policy loss",
        "clip_fraction clipfrac actor/pg_clipfrac pg_clipfrac clip_ratio/region_mean clip_ratio policy/clipfrac_avg "
        "ppo_clip_ratio actor/clipfrac clip_frac train/clip_fraction clip_ratio_mean"),
    _metric("frac_reward_zero_std", "1", DOWN, "share of the groups whose rewards are all equal (no learning signal)",
        "frac_reward_zero_std zero_variance_groups zero_std_share train/frac_reward_zero_std zero_std_ratio "
        "rollout/zero_std_frac"),
    _metric("logprob_diff", "nats", DOWN, "difference of token log-probabilities between trainer and rollout engine",
        "logprob_diff logp_diff training/rollout_probs_diff_mean sampling/sampling_logp_difference/mean "
        "train_rollout_logprob_abs_diff rollout_log_probs_diff train/train_rollout_logprob_abs_diff logprobs_diff "
        "rollout_probs_diff_mean rollout_corr/kl"),
    _metric("accuracy", "1", UP, "accuracy on training data",
        "accuracy acc train_acc train_accuracy mean_token_accuracy token_accuracy token_acc train/accuracy "
        "train/mean_token_accuracy train/acc top1 top_1 acc1 acc@1 top1_acc train_top1 train_acc1 train/top1 准确率 "
        "genauigkeit 正解率"),
    _metric("eval_accuracy", "1", UP, "accuracy on held-out data",
        "eval_accuracy val_acc eval_acc val_accuracy eval/accuracy eval/acc eval_mean_token_accuracy eval_token_acc "
        "val/acc val/accuracy valid_acc test_acc val_top1 eval_top1 test_top1 val_acc1 eval_acc1 val/top1 验证准确率 "
        "validierungsgenauigkeit 検証精度"),
    _metric("reward_accuracy", "1", UP, "share of the pairs whose chosen answer is preferred",
        "reward_accuracy rewards/accuracies reward_accuracies rewards_accuracies acc_mean train/rewards/accuracies"),
    _metric("reward_margin", "", UP, "reward of the chosen minus the rejected answer",
        "reward_margin rewards/margins reward_margins rewards_margins train/rewards/margins"),
    _metric("reward_chosen", "", EITHER, "(implicit) reward of the chosen answer",
        "reward_chosen rewards/chosen chosen_reward rewards_chosen train/rewards/chosen chosen_last_scores"),
    _metric("reward_rejected", "", EITHER, "(implicit) reward of the rejected answer",
        "reward_rejected rewards/rejected rejected_reward reject_reward rewards_rejected train/rewards/rejected "
        "rejected_last_scores"),
    _metric("logps_chosen", "nats", EITHER, "log-probability of the chosen answer", "logps_chosen logps/chosen"),
    _metric("logps_rejected", "nats", EITHER, "log-probability of the rejected answer",
        "logps_rejected logps/rejected"),
    _metric("eval_reward_accuracy", "1", UP, "as `reward_accuracy`, held out",
        "eval_reward_accuracy eval_rewards/accuracies"),
    _metric("eval_reward_margin", "", UP, "as `reward_margin`, held out", "eval_reward_margin eval_rewards/margins"),
    _metric("gpu_memory", "GiB", DOWN, "device memory in use (the peak where both are logged)",
        "gpu_memory perf/max_memory_allocated_gb maxmemallocated max_memory_allocated peak_memory_active memory(gib) "
        "memory peak_memory max_mem gpu_mem memallocated mem peak_memory_alloc gpu_memory_gb max_memory "
        "system/peak_gpu_memory gpu_mem_max memory_max memory/max_reserved(gib) peak_mem peak_mem_gb 显存"),
    _metric("gpu_utilization", "1", UP, "share of time the device is busy, 0..1",
        "gpu_utilization gpu_util gpu_utilisation"),
    _metric("skipped_steps", "", DOWN, "optimizer steps skipped (DeepSpeed: so far; Megatron: since the last line)",
        "skipped_steps number_of_skipped_iterations skipped skipped_iterations"),
    _metric("nan_iterations", "", DOWN, "iterations with NaN since the last line",
        "nan_iterations number_of_nan_iterations"),
    _metric("weight_norm", "", EITHER, "norm of the parameters", "weight_norm params_norm param_norm parameter_norm"),
    _metric("num_zeros", "", EITHER, "zeros in the gradient", "num_zeros"),
    _metric("perplexity", "", DOWN, "training perplexity", "perplexity ppl train_ppl train_perplexity train/ppl"
        " 困惑度"),
    _metric("eval_perplexity", "", DOWN, "perplexity on held-out data",
        "eval_perplexity val_perplexity eval_ppl val_ppl valid_ppl eval_lm_loss_ppl lm_loss_ppl"),
    _metric("eval_bpb", "bits/byte", DOWN, "bits per byte on held-out data", "eval_bpb val_bpb val/bpb validation_bpb"),
    _metric("codebook_entropy", "nats", UP, "entropy of the use of a codebook",
        "codebook_entropy codebook/entropy code_entropy"),
    _metric("codebook_perplexity", "", UP, "exponential of the entropy of the use of a codebook",
        "codebook_perplexity codebook/perplexity vq_perplexity code_perplexity 码本困惑度"),
    _metric("dead_codes", "1", DOWN, "share of codes that nothing maps to",
        "dead_codes dead_code_share dead_code_ratio dead_code_rate codebook/dead_codes 死码占比 死码率 死码比例"),
    _metric("codebook_usage", "1", UP, "share of the codes in use",
        "codebook_usage codebook/usage codebook_utilization code_usage"),
    _metric("moe_load_imbalance", "1", DOWN, "largest over mean expert load, minus one",
        "moe_load_imbalance moe/load_imbalance max_vio moe/max_vio expert_load_imbalance moe/maxvio"),
    _metric("batch_size", "samples", EITHER, "global batch size", "batch_size global_batch_size"),
    _metric("epoch", "epochs", EITHER, "epochs done", "epoch train/epoch training/epoch"),
)))  # fmt: skip
"""Canonical name -> unit, meaning, and the keys that frameworks use for it.

A second key of one metric in the same file keeps its own name. Units of keys (`_ms`, `(GiB)`, `(1e-3)`) are
converted; units of values (`5.1ms`, `9.5GiB`, `12.1%`) too.
"""

ALIASES: Mapping[str, tuple[str, int]] = table(
    "aliases of VOCABULARY", ((a, (name, i)) for name, m in VOCABULARY.items() for i, a in enumerate(m.aliases))
)
"""Key -> metric and order of preference among the keys of it."""

STEPS: Mapping[str, int] = table("STEPS", ((key, order) for order, key in enumerate((
    "step", "global_step", "current_steps", "global_step/max_steps", "iteration", "train/global_step",
    "trainer/global_step", "num_updates", "iter", "steps", "training/global_step", "train/step", "update",
    "training_step", "global_steps", "train_step", "rollout/step", "iterations", "_step", "opt_step",
    "optimizer_step", "optim_step", "num_timesteps", "total_timesteps", "updates", "upd", "itr", "it", "u",
    "update_step", "update_steps", "updates_done", "gradient_step", "grad_step", "policy_step", "learner_step",
    "update_idx", "step_idx", "cur_step", "current_step", "n_updates", "steps_done", "n_iter",
))))  # fmt: skip
"""Key that counts steps in dictionaries, JSON lines and CSV columns -> how soon it is believed."""
COUNTS = ("epoch", "batch_size")
"""Names of the table that say how far a run is or how it is set, and nothing of how it goes."""
BARE_TIMES = ("time", "seconds", "duration")
"""Keys that are the time of one step only where they stand alone (not `elapsed seconds`)."""

ANSWER_SCORES = frozenset((
    "bleu", "blue", "sacrebleu", "sbleu", "rouge", "rougel", "rougelsum", "meteor", "chrf", "cider", "spice",
    "bertscore",
))  # fmt: skip
"""Scores of written answers, which nothing but an evaluation has (`blue` is how many spell BLEU)."""

COUNTERS = ("steps?", "iter(?:ation)?", "num_updates", "update", "batch", "步数", "步骤", "迭代(?:次数)?")
"""Words that count steps in a line of text, as patterns (`global step 3`, `num_updates=3`, `步数：3`)."""

SPLITS = (
    "eval*",
    "valid*",
    "val",
    "vld",
    "test*",
    "tst",
    "va",
    "dev",
    "held_out",
    "heldout",
    "holdout",
    "验证",
    "评估",
    "测试",
)
"""Words for data that is not trained on; `*` stands for the rest of the word."""


class Unit(NamedTuple):
    scale: float
    """What one of it is in the canonical unit of its metric."""
    metric: str = ""
    """The metric that a number with this unit is, where the unit says so by itself (`3500 tok/s`)."""


_TOKENS = ("tok", "toks", "token", "tokens")
UNITS: Mapping[str, Unit] = table("UNITS", (
    ("us", Unit(1e-6)), ("ms", Unit(1e-3)), ("s", Unit(1.0)), ("sec", Unit(1.0)), ("seconds", Unit(1.0)),
    ("gib", Unit(1.0)), ("gb", Unit(1.0)), ("mib", Unit(1 / 1024)), ("mb", Unit(1 / 1024)),
    ("%", Unit(0.01)), ("pct", Unit(0.01)), ("% mfu", Unit(0.01, "mfu")), ("% bf16 mfu", Unit(0.01, "mfu")),
    ("k", Unit(1e3)), ("m", Unit(1e6)), ("b", Unit(1e9)), ("t", Unit(1.0)), ("tflops", Unit(1.0)),
    *((f"ms/{of}", Unit(1e-3, "step_time")) for of in ("step", "it", "iter")),
    *((f"s/{of}", Unit(1.0, "step_time")) for of in ("step", "it", "iter")),
    *((f"samples/{time}", Unit(1.0, "samples_per_second")) for time in ("s", "sec")),
    *((f"{word}/{time}", Unit(1.0, "tokens_per_second")) for word in _TOKENS for time in ("s", "sec")),
    *((f"{k}{word}/{time}", Unit(scale, "tokens_per_second"))
      for k, scale in (("k", 1e3), ("m", 1e6)) for word in _TOKENS for time in ("s", "sec")),
    ("nats", Unit(1.0)), ("nat", Unit(1.0)),
    ("tps", Unit(1.0, "tokens_per_second")), ("ktps", Unit(1e3, "tokens_per_second")),
))  # fmt: skip
"""Unit of a value or a key, in lower case; one that is not listed is canonical."""
