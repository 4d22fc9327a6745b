"""A loss whose log writes more often than before, and is otherwise as it was."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import told

COARSE, FINE = np.arange(40, 12001, 40), np.arange(12001, 13601)
NOISE = 0.06


def way(steps):
    return 2.2 + 2 * np.exp(-steps / 2500) - steps / 90_000


def log(later, form="step {s} loss {v:.4f} lr 2e-4", every=40, wide=NOISE):
    rng = np.random.default_rng(5)
    before = way(COARSE) + rng.normal(0, NOISE / np.sqrt(40), len(COARSE))
    fine = FINE if every == 1 else np.arange(12040, 24001, 40)
    after = later(fine) + rng.normal(0, wide if every == 1 else NOISE / np.sqrt(40), len(fine))
    pairs = zip(np.concatenate([COARSE, fine]), np.concatenate([before, after]), strict=True)
    return "".join(form.format(s=s, v=v) + "\n" for s, v in pairs)


@pytest.mark.parametrize(
    "form", ["step {s} loss {v:.4f} lr 2e-4", "[03-04 10:00:00] it {s}/50000  xent {v:.4f}  lr 2e-4"]
)
def test_only_the_printing_changed(tmp_path, form):
    assert told(tmp_path, {"train.log": log(way, form, every=1)}) == ["loss-printed-finer"]


@pytest.mark.parametrize(
    "text",
    [
        log(way),  # printed as before
        log(lambda s: way(s) + (s - 12000) / 4000, every=1),  # rises
        log(lambda s: way(s) + 0.4, every=1),  # jumps at the joint
        log(way, every=1, wide=6 * NOISE),  # noisier than single steps were
    ],
)
def test_a_loss_that_changed_itself_is_not_excused(tmp_path, text):
    assert "loss-printed-finer" not in told(tmp_path, {"train.log": text})
