"""The shipped runbook on small runs: which entry leads, how firmly, and what is proposed."""

import json

import pytest

from triage.agent.session import Answer, ask


def answer(tmp_path, question, **files) -> Answer:
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text if isinstance(text, str) else json.dumps(text))
    return ask(question, [tmp_path])


def top(answer: Answer) -> tuple[str, str]:
    leader = answer.diagnosis.top
    return (leader.entry.id, leader.status) if leader else ("", "")


def training(points=60, rate=2e-5, loss=lambda i: 1 + 1 / (1 + i / 10)) -> str:
    """A log as transformers prints it, with a linear decay and a loss that falls in the usual way."""
    rows = (
        {
            "loss": round(loss(i) + 0.01 * (i * 7 % 5 - 2), 4),
            "grad_norm": 1.2 + 0.1 * (i % 3),
            "learning_rate": rate * (1 - i / points),
            "epoch": round(3 * i / points, 3),
        }
        for i in range(1, points + 1)
    )
    return "".join(f"{row}\n" for row in rows)


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB\n"
)


@pytest.mark.parametrize(
    ("frame", "entry"),
    [
        ('torch/optim/adamw.py", line 147, in _init_group', "oom-optimizer-states"),
        ('transformers/trainer.py", line 4280, in evaluation_loop', "eval-loop-oom"),
    ],
)
def test_the_phase_of_an_out_of_memory_error_outweighs_the_words(tmp_path, frame, entry):
    log = training() + f'Traceback (most recent call last):\n  File "/x/{frame}\n    x\n{OOM}'
    assert top(answer(tmp_path, "are the activations too large?", train__log=log)) == (entry, "supported")
