"""The failures that the source runbooks describe: each from the files of one small run, told from its rival.

The runs are made by the builders beside this file, which know nothing of how a failure is found.
"""

import planted_curves
import planted_data
import planted_rl
import planted_scores
import planted_system
import pytest
from making import fill
from planted import FAILURES

from triage.agent.session import ask

BUILDERS = (planted_curves, planted_data, planted_rl, planted_scores, planted_system)
ESTABLISHED = [
    "annotation-disagreement",
    "av-text-desync",
    "bad-init",
    "benchmark-contamination",
    "bf16-unsupported",
    "catastrophic-forgetting",
    "chat-template-mismatch",
    "checkpoint-load-failure",
    "checkpoint-regression",
    "checkpoint-save-failure",
    "chinese-dedup-ineffective",
    "codebook-collapse",
    "codec-reconstruction-poor",
    "collective-mismatch",
    "comm-bottleneck",
    "cuda-version-mismatch",
    "data-mixture-drift",
    "data-path-missing",
    "data-rollback",
    "data-schema-mismatch",
    "data-takedown",
    "dataloader-bottleneck",
    "deepspeed-zero-misconfig",
    "dependency-conflict",
    "dist-init-hang",
    "diversity-loss",
    "dpo-kl-explosion",
    "duplicate-surge",
    "endless-generation",
    "engine-sleep-failure",
    "entropy-collapse",
    "eval-harness-drift",
    "eval-leakage",
    "eval-metrics-empty",
    "eval-split-merge-failure",
    "frozen-no-trainable-params",
    "gbs-miscalculation",
    "gpu-load-imbalance",
    "grad-vanishing",
    "h2d-transfer-bottleneck",
    "incident-response",
    "inference-oom",
    "inference-slow",
    "judge-bias",
    "kernel-not-optimized",
    "kv-cache-oom",
    "long-context-degradation",
    "loss-mask-misaligned",
    "loss-nan-bad-data",
    "loss-nan-high-lr",
    "loss-oscillation",
    "loss-scale-collapse",
    "loss-stagnation",
    "low-throughput",
    "lr-batch-mismatch",
    "lr-schedule-misconfig",
    "memory-leak",
    "multinode-failure",
    "network-fault",
    "noisy-data-mixture",
    "num-rollouts-zero",
    "oom-activations",
    "oom-optimizer-states",
    "overfitting",
    "package-import-error",
    "pad-eos-misconfig",
    "pii-in-data",
    "precision-overflow",
    "preference-gap-too-small",
    "repetitive-output",
    "reward-hacking",
    "rl-instability",
    "rl-no-convergence",
    "rlvr-answer-guessing",
    "rlvr-memorization",
    "rm-length-bias",
    "rope-scaling-misconfig",
    "rvq-level-imbalance",
    "short-data-long-context",
    "sid-index-missing",
    "silent-degradation",
    "slow-rollout",
    "stale-engine-weights",
    "synthetic-data-collapse",
    "tokenizer-train-contamination",
    "toxic-data",
    "train-oom",
    "unstable-op",
    "verbosity-drift",
    "vllm-device-conflict",
    "vllm-engine-init-failure",
    "vllm-install-failure",
    "warmup-too-short",
    "weight-decay-misconfig",
]
"""What the files alone establish."""
SUPPORTED = [
    "constrained-decoding-failure",
    "crash-recovery",
    "grad-explosion",
    "insufficient-logging",
    "knowledge-overinjection",
    "loss-nan",
    "nccl-hang",
]
"""What they support: an experiment or a person decides, or a rival rests on the same evidence."""
OPEN = [
    "blame-code-first",
    "bug-report-checklist",
    "grad-clip-saturation",
    "loss-jitter-benign",
    "panic-tuning",
    "triage-order",
]
"""What the files of these runs do not show the tools yet; whoever makes one found moves it up."""


def standing(folder, key: str, shown: bool) -> tuple[str, str]:
    """(status of the entry in the answer, leader), empty where there is none."""
    found = ask("what is wrong with this run?", [fill(folder, FAILURES[key](shown))]).diagnosis
    mine = next((h.status for h in found.hypotheses if h.entry.id == key), "")
    return mine, found.top.entry.id if found.top else ""


def test_every_failure_of_the_sources_has_a_run():
    assert sorted(FAILURES) == sorted([*ESTABLISHED, *SUPPORTED, *OPEN])
    assert len(FAILURES) == 107


@pytest.mark.parametrize("key", ESTABLISHED)
def test_a_run_that_shows_the_failure_establishes_it(tmp_path, key):
    assert standing(tmp_path / "run", key, True) == ("established", key)


@pytest.mark.parametrize("key", SUPPORTED)
def test_a_run_that_shows_the_failure_supports_it(tmp_path, key):
    assert standing(tmp_path / "run", key, True)[0] == "supported"


@pytest.mark.parametrize("key", OPEN)
def test_what_is_open_is_not_found_yet(tmp_path, key):
    assert standing(tmp_path / "run", key, True)[0] in ("", "possible", "refuted")


@pytest.mark.parametrize("key", sorted(FAILURES))
def test_a_healthy_run_or_one_of_the_rival_does_not_establish_it(tmp_path, key):
    status, leader = standing(tmp_path / "run", key, False)
    assert status != "established"
    assert leader != key or status == "possible" or key in SHARED


SHARED = ("endless-generation", "package-import-error", "loss-nan-bad-data", "noisy-data-mixture", "judge-bias")
"""Failures whose rival shows a weaker form of the same sign, or whose notes speak of the thing itself, and is told from
it by what is established only."""
