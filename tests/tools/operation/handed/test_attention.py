"""Attention of training against that of the service, with and without a place up to which both agree."""

# ruff: noqa: E501  small files are kept on one line

import random

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed import check_handed

TRAIN = {"sft/train.yaml": "model: m\nlearning_rate: 2.0e-5\nattn_implementation: flash_attention_2\nepochs: 2\n"}
MODEL = {
    "model/config.json": '{"hidden_size": 512, "num_attention_heads": 8,\n "sliding_window": 512,\n "vocab_size": 9}\n'
}


def serve(kind):
    return {"serve/app.py": f'import torch\nmodel = Net.from_pretrained(P, attn_implementation="{kind}")\n'}


def apart(at, n=40, step=32, big=4.0):
    rows = (f"{i * step},{0.02 + 0.001 * (i % 4) if i * step < at else big + 0.1 * (i % 5):.4f}\n" for i in range(n))
    return "position,logprob_diff\n" + "".join(rows)


def scored(at, low, n=200):
    rng = random.Random(3)
    rows = []
    for i in range(n):
        length = 40 + 10 * i
        rows.append(f"q{i},{length},{(0.8 if length <= at else low) + rng.uniform(-0.1, 0.1):.3f}\n")
    return "id,prompt_tokens,score\n" + "".join(rows)


def codes(tmp_path, *files):
    made = {name: text for some in files for name, text in some.items()}
    return {f.code: f for f in check_handed(discover(fill(tmp_path, made))).findings}


@pytest.mark.parametrize(
    "files",
    [
        (TRAIN, serve("eager"), MODEL, {"ab.csv": apart(512)}),
        (TRAIN, serve("sdpa"), {"replay.csv": scored(900, 0.3)}),
        ({"训练/train.log": "".join(f"step {i} loss {2 - i / 50:.3f} lr 1e-5\n" for i in range(20)) + "前向: FA3 window=(511,0)\n"},
         {"部署/serve.yaml": "port: 80\nattention_backend: eager\n"}, {"logit.tsv": apart(544).replace(",", "\t")}),
        ({"cpt/train.toml": "lr = 1e-5\nsliding_window = 512\n"}, {"deploy/run.sh": "vllm serve m --disable-sliding-window\n"},
         {"replay.csv": scored(560, 0.4)}),
    ],
)  # fmt: skip
def test_the_service_attends_otherwise_and_answers_part_at_a_place(tmp_path, files):
    assert codes(tmp_path, *files)["attention-differs-when-served"].severity == "S1"


@pytest.mark.parametrize(
    ("files", "note"),
    [
        ((TRAIN, serve("eager"), MODEL), True),  # most services run another one: a note
        ((TRAIN, serve("eager"), {"ab.csv": apart(9999)}), True),  # they agree all along
        (
            (TRAIN, serve("eager"), MODEL, {"replay.csv": scored(1500, 0.3)}),
            True,
        ),  # the window does not explain the place
        ((TRAIN, serve("sdpa"), {"replay.csv": scored(900, 0.75)}), True),
        ((TRAIN, serve("flash_attn"), {"ab.csv": apart(512)}), False),
        (({"sft/train.yaml": "model: m\nlearning_rate: 2.0e-5\n"}, serve("eager"), {"ab.csv": apart(512)}), False),
    ],
)
def test_without_a_place_another_implementation_is_a_note_and_the_same_is_none(tmp_path, files, note):
    found = codes(tmp_path, *files)
    assert "attention-differs-when-served" not in found
    assert ("attention-set-otherwise" in found) == note
