"""Positions in training against those of what is exported or served."""

# ruff: noqa: E501  one sentence, pattern or case on one line

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.places import check_places

LOSSES = "".join(f"it {i} lm_loss {2 - i / 100:.3f} lr 1e-4\n" for i in range(20))


def model(**more) -> str:
    return json.dumps(
        {"hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 65536, **more}, indent=1
    )


def codes(folder, files):
    return [f.code for f in check_places(discover(fill(folder, files))).findings if f.code.startswith("rope")]


@pytest.mark.parametrize(
    "files",
    [
        {"cpt.yaml": "seq: 65536\nlr: 1e-5\npos_emb:\n  kind: rope\n  theta: 5.0e+6   # was 1e6\n",
         "release/config.json": model(rope_theta=1000000.0)},
        {"long.log": "rotary base freq raised 500000 -> 4000000 seq_len=65536\n".replace("raised", "=") + LOSSES,
         "out_hf/config.json": model(rope_theta=500000.0)},
        {"train.sh": "torchrun train.py --seq-length 65536 --rotary-base 8000000 --lr 1e-5 --warmup 10\n",
         "deploy/run.sh": "vllm serve /m/x --hf-overrides '{\"rope_theta\": 1000000}' --max-model-len 65536\n"},
        {"训练/设置.toml": "lr = 1e-5\nwarmup = 20\n[rope]\nkind = \"yarn\"\nfactor = 8\noriginal_window = 8192\n",
         "线上/config.json": model(rope_theta=1e6, rope_scaling={
             "rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32768})},
        {"stage2.log": "RoPE theta: 10000000\n" + LOSSES, "convert.log": "converting to hf\nwriting rope_theta=10000.0\n"},
    ],
    ids=["section", "log", "flags", "factor", "export log"],
)  # fmt: skip
def test_other_positions(tmp_path, files):
    assert codes(tmp_path, files) == ["rope-differs-at-export"]


def test_scaling_that_is_gone(tmp_path):
    files = {"long.yaml": "lr: 1e-5\nwarmup: 9\nyarn:\n  scale_factor: 4\n  native_window: 16384\n".replace("scale_f", "f"),
             "export/config.json": model(rope_theta=1e6, rope_scaling=None)}  # fmt: skip
    assert codes(tmp_path, files) == ["rope-lost-at-export"]


@pytest.mark.parametrize(
    "files",
    [
        {"cpt.yaml": "seq: 65536\nlr: 1e-5\nrope:\n  base: 5.0e+6\n", "release/config.json": model(rope_theta=5000000.0)},
        {"cpt.yaml": "seq: 65536\nlr: 1e-5\nrope:\n  base: 5.0e+6\n", "base/config.json": model(rope_theta=10000.0)},
        {"cpt.yaml": "seq: 65536\nlr: 1e-5\nrope:\n  base: 5.0e+6\n", "hf/config.json": model(rope_theta=10000.0),
         "deploy/run.sh": "vllm serve /m/x --hf-overrides '{\"rope_theta\": 5000000}'\n"},
        {"sft.yaml": "lr: 1e-5\nwarmup: 3\ncutoff_len: 4096\n", "deploy/config.json": model(rope_theta=1e6, rope_scaling={
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})},
        {"cpt.yaml": "lr: 1e-5\nwarmup: 3\nrope:\n  theta: 1e6\n  scaling: null\n", "deploy/run.sh":
         "vllm serve m --rope-scaling '{\"rope_type\": \"yarn\", \"factor\": 4.0}'\n"},
        {"cpt.yaml": "lr: 1e-5\nwarmup: 3\nplateau:\n  factor: 2\nbase: 500000\n", "deploy/config.json": model(rope_theta=1e6)},
        {"train.log": LOSSES, "deploy/config.json": model(rope_theta=1e6)},
    ],
    ids=["equal", "the starting model", "overridden", "stretched when served", "unscaled", "no rope", "unsaid"],
)  # fmt: skip
def test_the_same_positions(tmp_path, files):
    assert codes(tmp_path, files) == []
