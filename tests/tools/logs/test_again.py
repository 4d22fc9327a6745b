"""What is measured again behind the last step, of weights that were averaged, merged or exported."""

from pathlib import Path

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

STEPS = [f"step {100 * i}/2000 | train_loss {4.2 - 0.11 * i:.4f} | val_loss {4.3 - 0.1 * i:.4f}" for i in range(1, 21)]
OURS = {"averaged-weights-worse", "merged-weights-worse", "exported-weights-worse"}


def codes(folder: Path, *behind: str, steps: list[str] = STEPS) -> set[str]:
    (folder / "train.log").write_text("\n".join([*steps, "saving model", *behind, "done"]) + "\n")
    return {f.code for f in look([folder]).findings} & OURS


@pytest.mark.parametrize(
    ("behind", "code"),
    [
        (("[eval] after EMA: val_loss: 2.6120",), "averaged-weights-worse"),
        (("swapping in averaged weights", "SWA model val_loss=2.551"), "averaged-weights-worse"),
        (("ema val_loss 2.2960", "gptq int4 roundtrip val_loss 2.7011"), "exported-weights-worse"),
        (("合并 LoRA 后 val_loss: 3.02",), "merged-weights-worse"),
        (("quantized (fp8) | val_loss 2.410",), "exported-weights-worse"),
    ],
)
def test_what_is_handed_over_and_worse_is_told_with_the_part_that_lost_it(tmp_path, behind, code):
    assert codes(tmp_path, *behind) == {code}


@pytest.mark.parametrize(
    "behind",
    [
        ("[eval] after EMA: val_loss: 2.2710",),  # better
        ("ema val_loss 2.33",),  # within a few hundredths
        ("after EMA: train_loss: 2.9",),  # another measure
        ("EMA, test set: val_loss 2.9",),  # another set
        ("ema val_loss 2.9", "after re-tuning, exported: val_loss 2.3000"),  # mended behind
        ("final val_loss 2.9",),  # of which weights is not said
        ("ema_val_loss: 2.9",),  # a name of its own
    ],
)
def test_what_is_as_good_or_not_the_same_is_not(tmp_path, behind):
    assert codes(tmp_path, *behind) == set()


def test_an_average_that_is_worse_leads_to_the_weights_and_not_to_the_data(tmp_path):
    codes(tmp_path, "ema: applying", "post_ema val_loss: 2.6120")
    answer = ask("the submitted number is worse than in training", [tmp_path])
    assert answer.diagnosis.top.entry.id == "checkpoint-regression"
    assert "2.612" in answer.text
