"""The scale of a merge against the one that the adapter's settings ask for."""

# ruff: noqa: E501  one sentence, pattern or case on one line

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed.look import check_handed


def adapter(alpha=32, r=16, **more) -> str:
    return json.dumps({"peft_type": "LORA", "r": r, "lora_alpha": alpha, "use_rslora": False, **more}, indent=1)


def found(folder, files):
    return [(f.code, round(f.data["want"], 2), round(f.data["is"], 2))
            for f in check_handed(discover(fill(folder, files))).findings]  # fmt: skip


FOLD = "# merge the adapter\nfor k in names:\n    w[k] += (B @ A) * {}\n"


@pytest.mark.parametrize(
    ("files", "want", "used"),
    [
        ({"a/adapter_config.json": adapter(64, 64, use_rslora=True), "merge.py": FOLD.format("(cfg['lora_alpha'] / cfg['r'])")}, 8, 1),
        ({"adapter_config.json": adapter(16, 16, use_rslora=True), "fuse.py": "ALPHA = 16\nR = 16\n" + FOLD.format("ALPHA / R")}, 4, 1),
        ({"adapter_config.json": adapter(), "fuse.log": "".join(f"fused layers.{i}.q_proj scale=1.0 ok\n" for i in range(9))}, 2, 1),
        ({"adapter_config.json": adapter(64, 16), "合并.log": "底座 /m/a\n合并 layers.0 缩放系数: 2.0\n合并 layers.1 缩放系数: 2.0\n"}, 4, 2),
    ],
    ids=["rooted", "own numbers", "log", "Chinese"],
)  # fmt: skip
def test_another_scale(tmp_path, files, want, used):
    assert found(tmp_path, files) == [("merge-scaled-otherwise", want, used)]


@pytest.mark.parametrize(
    "files",
    [
        {"a/adapter_config.json": adapter(), "merge.py": FOLD.format("(cfg['lora_alpha'] / cfg['r'])")},
        {"a/adapter_config.json": adapter(use_rslora=True),
         "merge.py": "s = alpha / math.sqrt(r) if cfg['use_rslora'] else alpha / r\n" + FOLD.format("s")},
        {"a/adapter_config.json": adapter(), "fuse.log": "fused layers.0 scale=2.0\nfused layers.1 scale=2.0\n"},
        {"a/adapter_config.json": adapter(rank_pattern={"q_proj": 8}), "fuse.log": "fused layers.0 scale=4.0\n"},
        {"a/adapter_config.json": adapter(), "fuse.log": "fused layers.0 scale=4.0\nfused layers.1 scale=2.0\n"},
        {"a/adapter_config.json": adapter(), "merge.log": "merging adapter\nrope scale=1.0\nloss scale=1.0\n"},
        {"a/adapter_config.json": adapter(), "b/adapter_config.json": adapter(64), "merge.log": "merging scale=2.0\n"},
    ],
    ids=["plain", "both ways", "log", "patterns", "several", "other scales", "two adapters"],
)  # fmt: skip
def test_its_own_scale(tmp_path, files):
    assert found(tmp_path, files) == []
