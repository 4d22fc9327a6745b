"""Weights that are pushed against those that land."""

# ruff: noqa: E501  one sentence, pattern or case on one line

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed.look import check_handed


def codes(folder, files):
    return [f.code for f in check_handed(discover(fill(folder, files))).findings]


def keys(*prefixes: str) -> str:
    return "".join(f"{p}.{i}.{m}.weight\n" for p in prefixes for i in range(8) for m in ("attn.qkv", "mlp.up"))


@pytest.mark.parametrize(
    "files",
    [
        {"sync.log": "engine holds 400 tensors\n" + "".join(f"sync {i}: sent=400 loaded=290 in 2.1s\n" for i in range(9))},
        {"w.log": "".join(f"weights v{i}: broadcast 612 tensors, matched 410\nskipping unknown name model.experts.{i}.w1.weight\n" for i in range(5))},
        {"engine.log": "310 params resident\n" + "".join(
            f"refit {i}: offered 310\n  bucket 0 landed 100\n  bucket 1 landed 90\n  bucket 2 landed 0\n" for i in range(4))},
        {"同步.log": "引擎共有 729 个张量\n" + "".join(f"第{i}次同步 发送 729 个张量，加载 339 个\n" for i in range(5))},
        {"b.log": "worker expects 500 tensors\n" + "".join(f"push {i} tensors applied 320/500 ok\n" for i in range(5))},
    ],
    ids=["both", "names", "buckets", "Chinese", "of"],
)  # fmt: skip
def test_fewer_land(tmp_path, files):
    assert codes(tmp_path, files) == ["push-lands-short"]


def test_fewer_land_as_fusing_would_show(tmp_path):
    files = {"sync.log": "".join(f"sync {i}: sent=400 loaded=290 in 2.1s\n" for i in range(9))}
    assert codes(tmp_path, files) == ["fewer-tensors-land"]


@pytest.mark.parametrize(
    "files",
    [
        {"sync.log": "engine holds 400 tensors\n" + "".join(f"sync {i}: sent=400 loaded=400 in 2.1s\n" for i in range(9))},
        {"sync.log": "engine holds 400 tensors\nsync 0: sent=400 loaded=290\n" + "".join(
            f"sync {i}: sent=400 loaded=400\n" for i in range(9))},
        {"roll.log": "".join(f"push {i}: sent 512 prompts, received 480 samples\n" for i in range(9))},
        {"load.log": "".join(f"loaded {i} / 30 shards of weights\n" for i in range(30))},
        {"x.log": "".join(f"step {i} total 900 tokens updated 400\n" for i in range(9))},
        {"srv.log": "engine holds 33 tensors\n" + "load_tensors: offloaded 21/33 layers to GPU\n" * 4},
        {"载入.log": "共有 40 个张量\n" + "权重 已加载 12/40 层\n" * 5},
    ],
    ids=["all", "once", "samples", "progress", "tokens", "layers on the card", "layers, Chinese"],
)  # fmt: skip
def test_all_land(tmp_path, files):
    assert codes(tmp_path, files) == []


@pytest.mark.parametrize(
    ("files", "many"),
    [
        ({"a.txt": keys("model.layers", "model.visual.blocks"), "b.txt": keys("model.layers", "visual.blocks")}, 16),
        ({"trainer_keys.txt": keys("lm.h", "lm.experts"), "engine_keys.txt": keys("lm.h", "moe.experts")}, 16),
        ({"x/names.txt": keys("m.layers", "m.vit"), "y/names.txt": keys("m.layers", "tower.encoder")}, 16),
    ],
    ids=["visual", "experts", "tower"],
)
def test_other_names(tmp_path, files, many):
    (found,) = check_handed(discover(fill(tmp_path, files))).findings
    assert (found.code, found.data["names"]) == ("names-differ-between-sides", many)


@pytest.mark.parametrize(
    "files",
    [
        {"a.txt": keys("model.layers"), "b.txt": keys("model.layers")},
        {"a.txt": keys("model.layers"), "b.txt": keys("transformer.h")},
        {"a.txt": keys("model.layers", "model.visual"), "b.txt": keys("model.layers")},
        {"a.txt": "lm_head.weight\nmodel.norm.weight\n", "b.txt": "head.weight\nmodel.norm.weight\n"},
    ],
    ids=["equal", "two models", "fewer", "few"],
)
def test_the_same_names(tmp_path, files):
    assert codes(tmp_path, files) == []


def trained(branch="vision.blocks", flag="\ttrainable", other="lm.layers") -> str:
    return "tensor\tstate\n" + "".join(
        f"{p}.{i}.{m}.weight{f}\n"
        for p, f in ((branch, flag), (other, "\ttrainable"))
        for i in range(8)
        for m in ("q", "up")
    )


def pushes(n=16, name="lm.layers.{}.q.weight", times=5, form="[sync] v{i}: {name} ... {n} tensors sent\n") -> str:
    return "".join(form.format(i=i, n=n, name=name.format(i)) for i in range(times))


@pytest.mark.parametrize(
    "files",
    [
        {"params.tsv": trained(), "run.log": pushes()},
        {"optimizer_params.txt": trained("audio.enc"), "bridge.log": pushes(form="push {i} {name} +15 params=16\n", n=16)},
        {"可训练.tsv": trained("experts.mlp"), "推送.log": pushes(form="第{i}次 推送 {name} 等 {n} 个张量\n")},
        {"trainable.txt": trained(), "pushed_names.txt": "".join(x for x in trained().splitlines(keepends=True) if x[:2] == "lm")},
    ],
    ids=["tensors", "params", "Chinese", "two lists"],
)  # fmt: skip
def test_a_branch_that_no_push_holds(tmp_path, files):
    assert codes(tmp_path, files) == ["push-leaves-out-branch"]


@pytest.mark.parametrize(
    "files",
    [
        {"params.tsv": trained(), "run.log": pushes(32)},
        {"params.tsv": trained(flag="\tfrozen"), "run.log": pushes()},
        {"params.tsv": trained(), "run.log": pushes(), "c.yaml": "train:\n  freeze_vision: true\n"},
        {"params.tsv": trained(), "run.log": pushes(times=1)},
        {"params.tsv": trained(), "run.log": pushes() + pushes(name="vision.blocks.{}.q.weight")},
        {"params.tsv": trained(), "run.log": pushes(11)},
        {"params.tsv": trained().replace("q.weight", "lora_A.weight"), "run.log": pushes()},
    ],
    ids=["all", "frozen", "frozen by settings", "once", "named", "another number", "adapters"],
)
def test_all_branches_are_sent(tmp_path, files):
    assert codes(tmp_path, files) == []
