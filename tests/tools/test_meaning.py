"""Names of measures that no table lists, understood word by word."""

import pytest

from triage.tools.meaning import quantity
from triage.tools.tables.vocabulary import name_of


@pytest.mark.parametrize(
    ("header", "means"),
    [
        ("占用内存(MiB)", "gpu_memory"),
        ("显存占用（GB）", "gpu_memory"),
        ("host RSS (GB)", "host_memory"),
        ("resident (MiB)", "host_memory"),
        ("smClkAvg [MHz]", "sm_clock"),
        ("clocks.sm [MHz]", "sm_clock"),
        ("核心频率MHz", "sm_clock"),
        ("t_data [ms]", "data_time"),
        ("取数等待(s)", "data_time"),
        ("allreduce_ms", "comm_time"),
        ("平均回复长度", "response_length"),
        ("response_tokens_avg", "response_length"),
        ("near_dup %", "duplicate_rate"),
        ("截断比例(%)", "completions_clipped_ratio"),
        ("单卡吞吐(tok/s)", "tokens_per_second"),
        ("验证集损失", "eval_loss"),
        ("KL散度", "kl"),
        ("policy_ref_kl_per_tok", "kl"),
        ("奖励均值", "reward"),
        ("胜率(%)", "win_rate"),
        ("策略熵(nats/token)", "entropy"),
        ("组内奖励std", "reward_std"),
        ("dup_rate_13gram", "duplicate_rate"),
        ("跨20天5-gram重复率", "duplicate_rate"),
        ("bwd_ms_p50", "compute_time"),
        ("gnorm_pre", "grad_norm"),
        ("pre_clip_gradnorm", "grad_norm"),
        ("grad_norm_before_clipping", "grad_norm"),
        ("裁剪之前的梯度模长", "grad_norm"),
    ],
)
def test_a_name_whose_every_word_is_known_means_a_quantity(header, means):
    name = name_of(header)
    assert quantity(name.plain, name.unit) == means


@pytest.mark.parametrize(
    "header",
    ["memory_free (GiB)", "显存上限(GB)", "mem_clock MHz", "max_response_length", "data_age_s", "latency_ms", "",
     "数据量(GB)", "loss_mask", "reward_model", "batch size", "num_samples", "accuracy_target", "compute_share %",
     "wait_ms", "温差", "kl_ref_target", "ref_path", "ms_ssim", "gnorm_post_clip", "裁剪后梯度范数", "pre_norm",
     "norm_pre"],
)  # fmt: skip
def test_a_word_that_is_not_understood_leaves_the_name_what_it_is(header):
    name = name_of(header)
    assert quantity(name.plain, name.unit) is None
