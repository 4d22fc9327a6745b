"""A gradient norm at its ceiling: logged behind the clip, or only small."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import told

STEPS = np.arange(20, 6001, 20)
HEAD = {"json": '{"max_grad_norm": 0.8, "lr": 3e-4}\n', "yaml": "optim:\n  clip: 0.8\n", "none": ""}


def raw(level=3.0, seed=1):
    """The norm before the clip: small at first, then far above 0.8."""
    rise = np.clip((STEPS - 400) / 600, 0, 1)
    return 0.4 + level * rise * np.exp(np.random.default_rng(seed).normal(0, 0.2, len(STEPS)))


def log(norm, form, loss=None):
    fell = 0.2 + 2 * np.exp(-STEPS / 900) if loss is None else loss
    rate = 3e-4 * np.minimum(STEPS / 500, 1)
    return "\n".join(form.format(s=s, v=v, g=g, r=r)
                     for s, v, g, r in zip(STEPS, fell, norm, rate, strict=True)) + "\n"  # fmt: skip


EN = "step {s} loss {v:.4f} grad_norm {g:.4f} lr {r:.3e}"
ZH = "步={s} 损失={v:.4f} 梯度范数={g:.4f} 学习率={r:.3e}"


@pytest.mark.parametrize("form", [EN, ZH])
def test_a_norm_at_its_ceiling_whose_raw_value_is_logged_elsewhere(tmp_path, form):
    beside = "step,grad_norm_before_clip\n" + "\n".join(f"{s},{g:.4f}" for s, g in zip(STEPS, raw(), strict=True))
    files = {"a.log": log(np.minimum(raw(), 0.8), form), "raw.csv": beside + "\n"}
    assert told(tmp_path, files) == ["norm-held-by-clip"]


@pytest.mark.parametrize("kind", HEAD)
def test_a_norm_at_its_ceiling_alone(tmp_path, kind):
    found = told(tmp_path, {"a.log": log(np.minimum(raw(), 0.8), EN), f"conf.{kind}": HEAD[kind] or "x"})
    assert found == ["norm-at-ceiling"]


def test_a_norm_at_the_set_clip_of_a_run_that_is_behind(tmp_path):
    fell = 0.2 + 2 * np.exp(-STEPS / 900)
    files = {"fast/a.log": log(np.minimum(raw(), 0.8), EN, fell + 0.05), "old/a.log": log(raw(0.1), EN, fell)}
    assert told(tmp_path, {**files, "fast/c.yaml": HEAD["yaml"]}) == ["norm-held-by-clip"]


@pytest.mark.parametrize(
    ("norm", "form"),
    [
        (raw(), EN),  # logged before the clip
        (np.minimum(raw(0.3), 0.8), EN),  # clipped at times
        (np.full(len(STEPS), 0.1), "step {s} loss {v:.4f} grad_norm {g:.1f} lr {r:.3e}"),  # one printed digit
        (np.full(len(STEPS), 0.0), EN),
        (np.minimum(raw(), 0.8), "step {s} reward {v:.4f} kl 0.01 entropy 0.4 loss 0.1 grad_norm {g:.4f} lr {r:.3e}"),
    ],
    ids=["before", "at-times", "coarse", "zero", "policy"],
)
def test_a_norm_that_moves_and_one_of_few_digits_say_nothing(tmp_path, norm, form):
    assert told(tmp_path, {"a.log": log(norm, form), "c.yaml": HEAD["yaml"]}) == []


def test_a_norm_of_other_things_is_not_the_one_before_the_clip(tmp_path):
    beside = "step,weight_norm\n" + "\n".join(f"{s},{300 + s / 100:.4f}" for s in STEPS)
    files = {"a.log": log(np.minimum(raw(), 0.8), EN), "w.csv": beside + "\n"}
    assert told(tmp_path, files) == ["norm-at-ceiling"]
