"""Engine and trainer apart from the first step on: number formats, kernels or sampling, and no weights left behind."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look

FP8 = "rollout:\n  quantization: fp8\n"
STEPS = np.arange(0, 240, 2)


def told(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return sorted({f.code for f in look([tmp_path]).findings if f.code.startswith("engine-gap")})


def log(gap, key="logprob_diff", ratio=1.0, seed=0):
    noise = np.random.default_rng(seed).normal(1, 0.03, len(STEPS))
    gaps = np.broadcast_to(gap, len(STEPS)) * noise
    form = "step {} reward {:.4f} kl 0.001 entropy 0.6 {} {:.4f} importance_ratio {:.4f}\n"
    return "".join(form.format(s, 0.3 + s / 2000, key, g, ratio)
                   for s, g in zip(STEPS, gaps, strict=True))  # fmt: skip


def probe(gaps, lag=0):
    rows = [f"{v},{v},{max(v - lag, 0)},{g:.4f}" for v, g in gaps]
    return "step,trainer_version,engine_version,logp_gap_mean\n" + "\n".join(rows) + "\n"


FLAT = [(0, 0.071), (1, 0.069), (5, 0.073), (20, 0.07), (80, 0.072), (200, 0.07)]
SAID = [(-0.3 - i % 7 / 10, 0.09 * (-1) ** i) for i in range(40)]
TOKENS = "".join(
    json.dumps({"step": 0, "pos": i, "rollout_logprob": p, "trainer_logprob": p + gap}) + "\n"
    for i, (p, gap) in enumerate(SAID)
)


def sides(head, gaps, seed=3):
    """Log-probabilities of 120 tokens by the trainer, and by engines that are off by so much."""
    r, rows = np.random.default_rng(seed), [head]
    for i in range(120):
        p = -r.exponential(0.9)
        rows.append(",".join([str(7 * i), f"{p:.5f}", *(f"{min(p + r.normal(0, gap), -1e-5):.5f}" for gap in gaps)]))
    return "\n".join(rows) + "\n"


GROWN = np.concatenate([np.full(len(STEPS) // 2, 0.075), np.linspace(0.075, 0.16, len(STEPS) - len(STEPS) // 2)])


@pytest.mark.parametrize(
    "files",
    [
        {"r.log": log(0.08)},
        {"tokens.jsonl": TOKENS},
        {"r.log": log(GROWN, "lp_absdiff_mean")},
        {"initial_weights.csv": sides("tok,learner,vllm_live,vllm_dev", (0.12, 0.006))},
        {"compare_step0.csv": sides("tok,fsdp,sglang", (0.1,))},
    ],
    ids=["series", "tokens", "grows as the run ends", "two engines", "named by its file"],
)
def test_a_gap_that_is_there_before_any_update(tmp_path, files):
    assert told(tmp_path, files) == ["engine-gap-from-start"]


@pytest.mark.parametrize(
    "files",
    [
        {"probe.csv": probe(FLAT)},
        {"new/r.log": log(0.08, ratio=0.93), "old/r.log": log(0.004, seed=1), "new/c.yaml": FP8},
        {"r.log": log(0.08), "tokens.jsonl": TOKENS, "engine.yaml": "kv_cache_dtype: int8\n"},
    ],
    ids=["versions", "other run", "format"],
)  # fmt: skip
def test_a_gap_at_equal_versions_or_in_a_narrow_format(tmp_path, files):
    assert told(tmp_path, files) == ["engine-gap-explained"]


@pytest.mark.parametrize(
    "files",
    [
        {"r.log": log(0.006)},
        {"r.log": log(np.linspace(0.004, 0.3, len(STEPS)))},  # it grows: weights that are not sent
        {"probe.csv": probe([(v, 0.01 + v / 1000) for v, _ in FLAT], lag=3)},
        {"r.log": log(0.4, "clip_ratio")},
        {"r.log": log(0.006), "engine.yaml": FP8},
        {"compare_step0.csv": sides("tok,fsdp,sglang", (0.008,))},
        {"compare_step400.csv": sides("tok,fsdp,sglang", (0.1,))},
        {"r.log": log(GROWN / 10, "lp_absdiff_mean")},
    ],
    ids=["rounding", "grows", "lags", "another ratio", "fp8 that agrees", "engine agrees", "trained", "small, grows"],
)
def test_rounding_and_a_gap_that_grows_say_nothing(tmp_path, files):
    assert told(tmp_path, files) == []
