"""Planted faults are found and named by tensor and file; sound checkpoints stay silent; nothing from a file runs."""

import argparse
import datetime
import json
import os
import pickle
import shutil
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.tools.checkpoints import check_run_checkpoints
from triage.tools.checkpoints.files.pickled import parse
from triage.tools.checkpoints.files.tensors import Broken, Reader, Tensor, decode, read_safetensors
from triage.tools.checkpoints.files.torchfile import read_torch
from triage.tools.checkpoints.health import check_checkpoints
from triage.tools.discover import discover
from triage.tools.run import Run

CONFIG = {"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2}
LAST = "model-00002-of-00002.safetensors"


def weights(seed=0):
    random = np.random.default_rng(seed)
    shapes = {"model.embed_tokens.weight": (64, 32), "lm_head.weight": (64, 32), "model.norm.weight": (32,)}
    for layer in range(2):
        for part in ("self_attn.q_proj", "mlp.up_proj"):
            shapes[f"model.layers.{layer}.{part}.weight"] = (32, 32)
    return {k: random.normal(0, 0.02, s).astype(np.float32) for k, s in shapes.items()}


def save(path, tensors):
    from safetensors.numpy import save_file

    save_file(tensors, path)


def sharded(folder, tensors, config=CONFIG):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    names = sorted(tensors)
    where = {n: f"model-0000{1 + (i >= len(names) // 2)}-of-00002.safetensors" for i, n in enumerate(names)}
    for shard in set(where.values()):
        save(folder / shard, {n: tensors[n] for n in names if where[n] == shard})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def adapter(folder, step=0, r=4, b=0.01, **config):
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"peft_type": "LORA", "r": 4, "target_modules": ["q_proj"], "base_model_name_or_path": "base"} | config
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    head = "base_model.model.model.layers.0.self_attn.q_proj"
    save(folder / "adapter_model.safetensors", {
        f"{head}.lora_A.weight": np.random.default_rng(0).normal(size=(r, 32)).astype(np.float32),
        f"{head}.lora_B.weight": np.full((32, r), b, np.float32) * np.arange(1, r + 1, dtype=np.float32),
    })  # fmt: skip
    if step:
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    return folder


def the(report, code):
    found = [f for f in report.findings if f.code == code]
    assert len(found) == 1, [f.message for f in report.findings]
    assert found[0].zh
    return found[0]


def test_a_sound_sharded_checkpoint_is_clear(tmp_path):
    report = check_checkpoints([sharded(tmp_path / "checkpoint-10", weights())])
    assert report.findings == ()
    assert [c.result for c in report.checks][:3] == ["clear", "clear", "clear"]


def test_one_nan_in_the_last_shard_is_named_by_tensor_and_file(tmp_path):
    tensors = weights()
    tensors["model.norm.weight"][7] = np.nan
    found = the(check_checkpoints([sharded(tmp_path / "checkpoint-10", tensors)]), "checkpoint-nonfinite")
    assert (found.data["tensor"], found.data["nan"], found.evidence[0].file) == ("model.norm.weight", 1, LAST)
    assert "index 7" in found.message


def test_a_truncated_shard(tmp_path):
    folder = sharded(tmp_path / "checkpoint-10", weights())
    os.truncate(folder / LAST, (folder / LAST).stat().st_size - 100)
    report = check_checkpoints([folder])
    assert report.codes() == {"checkpoint-incomplete"}, "the layers that were cut off are not a wrong config"
    found = the(report, "checkpoint-incomplete")
    assert (found.data["missing_bytes"], found.evidence[0].file) == (100, LAST)
    assert found.data["tensor"] in weights()


def test_a_missing_shard(tmp_path):
    folder = sharded(tmp_path / "checkpoint-10", weights())
    (folder / LAST).unlink()
    found = the(check_checkpoints([folder]), "checkpoint-incomplete")
    assert (found.data["shard"], str(found.severity)) == (LAST, "S1")


def test_a_swapped_index(tmp_path):
    folder = sharded(tmp_path / "checkpoint-10", weights())
    index = folder / "model.safetensors.index.json"
    value = json.loads(index.read_text())
    value["weight_map"]["model.norm.weight"] = "model-00001-of-00002.safetensors"
    index.write_text(json.dumps(value))
    found = the(check_checkpoints([folder]), "checkpoint-incomplete")
    assert found.data["tensor"] == "model.norm.weight"
    assert LAST in found.message


def test_a_zeroed_layer(tmp_path):
    tensors = weights()
    tensors["model.layers.1.mlp.up_proj.weight"] *= 0  # leaves zeros of both signs
    found = the(check_checkpoints([sharded(tmp_path / "checkpoint-10", tensors)]), "checkpoint-tensor-constant")
    assert found.data["tensors"] == ["model.layers.1.mlp.up_proj.weight"]


def test_zero_in_every_layer_alike_is_the_design(tmp_path):
    tensors = weights()
    for layer in range(2):
        tensors[f"model.layers.{layer}.mlp.up_proj.weight"][:] = 0
    assert check_checkpoints([sharded(tmp_path / "checkpoint-10", tensors)]).findings == ()


def test_infinities_in_a_mask_are_meant(tmp_path):
    tensors = weights() | {"model.layers.0.attn.masked_bias": np.full((1,), -np.inf, np.float32)}
    assert check_checkpoints([sharded(tmp_path / "checkpoint-10", tensors)]).findings == ()


@pytest.mark.parametrize(("tokens", "found"), [(64, set()), (60, set()), (70, {"vocab-embedding-mismatch"})])
def test_the_tokenizer_may_be_smaller_than_the_embedding_but_not_larger(tmp_path, tokens, found):
    folder = sharded(tmp_path / "checkpoint-10", weights())
    vocab = {f"t{i}": i for i in range(tokens)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}, "added_tokens": []}))
    assert check_checkpoints([folder]).codes() == found


@pytest.mark.parametrize("change", [{"vocab_size": 100}, {"hidden_size": 48}, {"num_hidden_layers": 3}])
def test_weights_against_the_config(tmp_path, change):
    folder = sharded(tmp_path / "checkpoint-10", weights(), CONFIG | change)
    found = the(check_checkpoints([folder]), "checkpoint-shape-mismatch")
    assert found.data["key"] in change


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, set()),
        ({"b": 0.0}, set()),
        ({"b": 0.0, "step": 500}, {"adapter-empty"}),
        ({"step": 500}, set()),
        ({"r": 8}, {"adapter-mismatch"}),
        ({"target_modules": ["v_proj"]}, {"adapter-mismatch"}),
        ({"target_modules": ["q_proj", "c_attn"]}, set()),
    ],
)
def test_adapters(tmp_path, options, codes):
    assert check_checkpoints([adapter(tmp_path / "adapter", **options)]).codes() == codes


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, None),
        ({"base_model_name_or_path": "org/other-name"}, None),
        ({"model.layers.0.self_attn.q_proj.weight": (48, 32)}, "needs 48"),
        ({"model.layers.0.self_attn.q_proj.weight": (32, 48)}, "needs 48"),
        ({"elsewhere.weight": (48, 48)}, None),
    ],
)
def test_an_adapter_against_its_base(tmp_path, change, says):
    shapes = {k: v for k, v in change.items() if k.endswith("weight")}
    tensors = weights() | {k: np.random.default_rng(0).normal(size=v).astype(np.float32) for k, v in shapes.items()}
    base = sharded(tmp_path / "base", tensors)
    config = {k: v for k, v in change.items() if k not in shapes}
    report = check_checkpoints([adapter(tmp_path / "adapter", **config), base])
    assert report.codes() == ({"adapter-mismatch"} if says else set())
    if says:
        found = the(report, "adapter-mismatch")
        assert says in found.message
        assert (found.data["tensor"].split(".")[-3], found.data["base"]) == ("q_proj", "base")


def test_an_adapter_for_a_layer_that_the_base_does_not_have(tmp_path):
    base = sharded(tmp_path / "base", weights())
    folder = adapter(tmp_path / "adapter")
    heads = [f"base_model.model.model.layers.{n}.self_attn.q_proj" for n in (0, 7)]
    shapes = {f"{h}.lora_{m}.weight": s for h in heads for m, s in (("A", (4, 32)), ("B", (32, 4)))}
    random = np.random.default_rng(0)
    save(folder / "adapter_model.safetensors", {n: random.normal(size=s).astype("f4") for n, s in shapes.items()})
    assert "layers.7" in the(check_checkpoints([folder, base]), "adapter-mismatch").data["tensor"]
    assert not check_checkpoints([folder]).codes()


def test_an_adapter_without_tensors_or_with_empty_ones(tmp_path):
    folder = adapter(tmp_path / "adapter")
    save(folder / "adapter_model.safetensors", {})
    assert check_checkpoints([folder]).codes() == {"adapter-empty"}
    save(folder / "adapter_model.safetensors", {"a.q_proj.lora_B.weight": np.zeros((0,), np.float32)})
    assert check_checkpoints([folder]).codes() == {"adapter-empty"}


@pytest.mark.parametrize(("kept", "code"), [(1, {"empty-tensors"}), (99, set())])
def test_a_model_whose_weights_were_saved_without_values(tmp_path, kept, code):
    """`kept` tensors have their values, as small ones do that every rank holds."""
    folder = sharded(tmp_path / "release", weights())
    full = {k: v if i < kept else np.zeros((0,), np.float32) for i, (k, v) in enumerate(weights().items())}
    for file in folder.glob("model*"):
        file.unlink()
    save(folder / "model.safetensors", full)
    assert code <= check_checkpoints([folder]).codes()
    assert ("empty-tensors" in check_checkpoints([folder]).codes()) == bool(code)


def test_a_norm_that_jumps_between_two_saves(tmp_path):
    later = {k: v * 1.01 for k, v in weights().items()}
    sharded(tmp_path / "checkpoint-100", weights())
    sharded(tmp_path / "checkpoint-200", later)
    assert check_checkpoints([tmp_path]).findings == ()
    later["model.layers.0.mlp.up_proj.weight"] *= 5
    sharded(tmp_path / "checkpoint-200", later)
    found = the(check_checkpoints([tmp_path]), "checkpoint-norm-jump")
    assert found.data["tensor"] == "model.layers.0.mlp.up_proj.weight"
    assert found.data["ratio"] == pytest.approx(5.05, rel=0.01)


def test_special_rows_that_never_moved(tmp_path):
    tokenizer = {"model": {"vocab": {f"t{i}": i for i in range(62)}},
                 "added_tokens": [{"id": 62, "content": "<|im_start|>"}, {"id": 63, "content": "<|x|>"}]}  # fmt: skip
    after = weights(1)
    after["model.embed_tokens.weight"][62:] = weights()["model.embed_tokens.weight"][62:]
    for step, tensors in ((100, weights()), (200, after)):
        folder = sharded(tmp_path / f"checkpoint-{step}", tensors)
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        (folder / "chat_template.jinja").write_text("<|im_start|>{{ message }}")
    assert the(check_checkpoints([tmp_path]), "embedding-rows-unmoved").data["tokens"] == ["<|im_start|>"]


class Attack:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def torch_zip(path, payload):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", payload)


@pytest.mark.parametrize("form", ["zip", "plain", "metadata"])
def test_a_malicious_pickle_is_refused_and_nothing_runs(tmp_path, form):
    mark, folder = tmp_path / "ran", tmp_path / "checkpoint-5"
    folder.mkdir()
    payload = pickle.dumps({"w": Attack(os.system, f"touch {mark}")}, protocol=2)
    if form == "zip":
        torch_zip(folder / "pytorch_model.bin", payload)
    elif form == "plain":
        (folder / "pytorch_model.bin").write_bytes(payload)
    else:
        (folder / ".metadata").write_bytes(payload)
        (folder / "__0_0.distcp").write_bytes(b"x")
    found = the(check_checkpoints([folder]), "checkpoint-unsafe-pickle")
    assert found.data["name"] in ("posix.system", "nt.system")
    assert str(found.severity) == "S1"
    assert not mark.exists()


@pytest.mark.parametrize("name", [(b"torch.hub", b"load"), (b"builtins", b"eval"), (b"numpy", b"load")])
def test_functions_of_known_libraries_are_refused_too(name):
    with pytest.raises(Broken, match=b".".join(name).decode()):
        parse(b"\x80\x02c" + name[0] + b"\n" + name[1] + b"\n.")


class Mine:
    """A class of somebody's project: not known, not an attack."""


def test_objects_of_unknown_projects_are_not_read_and_no_alarm(tmp_path):
    torch_zip(tmp_path / "step=3.ckpt", pickle.dumps({"state_dict": {}, "cfg": Mine()}, protocol=2))
    found = the(check_checkpoints([tmp_path]), "checkpoint-unsafe-pickle")
    assert (str(found.severity), found.data["unread"]) == ("S3", True)


def test_what_trainers_keep_beside_the_weights_is_admitted(tmp_path):
    torch = pytest.importorskip("torch")
    random = np.random.RandomState(0)
    state = {"model": {"w": torch.ones(2, 2)}, "args": argparse.Namespace(path=tmp_path), "np_rng": random.get_state(),
             "rng": random, "sizes": torch.Size([2]), "when": datetime.timedelta(1), "set": {1, 2}}  # fmt: skip
    torch.save(state, tmp_path / "model_step_3.pt")
    report = check_checkpoints([tmp_path])
    assert report.findings == ()
    assert report.summary["checkpoints"][0]["values_read"] == 1


def test_getattr_is_admitted_for_members_of_enumerations_only():
    head, args = b"\x80\x02c__builtin__\ngetattr\n", b"X\x04\x00\x00\x00NAME\x86R."
    parse(head + b"cdeepspeed.runtime.zero.config\nZeroStageEnum\n" + args)
    with pytest.raises(Broken, match="getattr"):
        parse(head + b"N" + args)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_random_pickles_are_refused_or_parsed_never_more(data):
    with suppress(Broken):
        parse(b"\x80\x02" + data)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 400))
def test_random_headers_are_broken_never_a_crash(tmp_path_factory, junk, length):
    path = tmp_path_factory.mktemp("junk") / "model.safetensors"
    path.write_bytes(struct.pack("<Q", length) + junk)
    with pytest.raises(Broken):
        read_safetensors(path)


def test_a_header_beyond_the_format_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    with pytest.raises(Broken, match="more than"):
        read_safetensors(path)


def test_overlapping_tensors_are_refused(tmp_path):
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header = json.dumps({"a": entry, "b": entry}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(Broken, match="overlaps"):
        read_safetensors(path)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_every_bit_pattern_agrees_with_torch(tmp_path, dtype):
    torch = pytest.importorskip("torch")
    names = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
             "float8_e5m2": "F8_E5M2"}  # fmt: skip
    kind, name = getattr(torch, dtype), names[dtype]
    width = torch.empty(0, dtype=kind).element_size()
    raw = np.random.default_rng(0).integers(0, 256, 65_536 * width, dtype=np.uint8)
    if width <= 2:
        raw = np.arange(256**width, dtype=f"<u{width}").view(np.uint8)
    values = torch.from_numpy(raw.copy()).view(kind).double().numpy()
    (tmp_path / "raw").write_bytes(b"xyz" + raw.tobytes())
    with Reader() as reader:
        stats = reader.stats(Tensor("t", name, values.shape, tmp_path / "raw", 3, raw.size))
    assert stats.nan == np.isnan(values).sum()
    assert stats.inf == np.isinf(values).sum()
    assert stats.first == (np.argmax(~np.isfinite(values)) if not np.isfinite(values).all() else None)
    np.testing.assert_array_equal(decode(raw.view(f"<u{width}"), name), values)


def tiny(layers=2):
    transformers = pytest.importorskip("transformers")
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2,
    ))  # fmt: skip


def test_what_transformers_peft_and_torch_save_is_sound(tmp_path):
    torch, peft = pytest.importorskip("torch"), pytest.importorskip("peft")
    import torch.distributed.checkpoint as dcp

    model = tiny()
    model.save_pretrained(tmp_path / "one")
    model.bfloat16().save_pretrained(tmp_path / "many", max_shard_size="40KB")
    optimizer = torch.optim.AdamW(model.parameters())
    model(input_ids=torch.arange(8)[None], labels=torch.arange(8)[None]).loss.backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optim": optimizer.state_dict(), "step": 7}
    dcp.save(state, checkpoint_id=tmp_path / "dcp", no_dist=True)
    torch.save(
        {"state_dict": model.state_dict(), "optimizer_states": [optimizer.state_dict()]}, tmp_path / "step=7.ckpt"
    )
    lora = peft.get_peft_model(tiny(), peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    lora.save_pretrained(tmp_path / "lora")
    report = check_checkpoints([tmp_path])
    assert report.findings == ()
    seen = {c["name"]: (c["layout"], c["values_read"]) for c in report.summary["checkpoints"]}
    assert {n: layout for n, (layout, _) in seen.items()} == {
        "one": "huggingface", "many": "huggingface", "dcp": "torch-dcp", "step=7.ckpt": "lightning", "lora": "adapter",
    }  # fmt: skip
    assert all(values for _, values in seen.values())


def test_a_nan_in_a_torch_file_and_in_a_distributed_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    import torch.distributed.checkpoint as dcp

    state = tiny().state_dict()
    state["model.layers.1.mlp.up_proj.weight"][3, 4] = float("nan")
    torch.save(state, tmp_path / "model.pt")
    assert "model.layers.1.mlp.up_proj.weight" in {t.name for t in read_torch(tmp_path / "model.pt")}
    dcp.save({"model": state}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    report = check_checkpoints([tmp_path])
    assert {(f.code, f.data["nan"]) for f in report.findings} == {("checkpoint-nonfinite", 1)}
    assert {f.evidence[0].file for f in report.findings} == {"model.pt", "dcp/__0_0.distcp"}
    os.truncate(tmp_path / "dcp" / "__0_0.distcp", 1000)
    assert "checkpoint-incomplete" in check_checkpoints([tmp_path / "dcp"]).codes()
    os.truncate(tmp_path / "model.pt", 1000)
    assert check_checkpoints([tmp_path / "model.pt"]).codes() == {"checkpoint-incomplete"}


def test_every_rank_is_looked_at_although_their_tensors_have_the_same_names(tmp_path):
    torch = pytest.importorskip("torch")
    for rank in range(2):
        folder = tmp_path / "iter_0000010" / f"mp_rank_0{rank}"
        folder.mkdir(parents=True)
        part = torch.full((4, 4), float("nan")) if rank else torch.randn(4, 4)
        torch.save({"model": {"dense": {"weight": part}}, "iteration": 10}, folder / "model_optim_rng.pt")
    found = the(check_checkpoints([tmp_path]), "checkpoint-nonfinite")
    assert (found.evidence[0].file, found.data["nan"]) == ("iter_0000010/mp_rank_01/model_optim_rng.pt", 16)


def test_a_diagnosis_looks_at_the_checkpoints_of_a_run(tmp_path):
    assert [c.result for c in check_run_checkpoints(Run(tmp_path)).checks] == ["not-applicable"]
    bad = weights()
    bad["lm_head.weight"][0, 0] = np.inf
    sharded(tmp_path / "checkpoint-10", weights())
    sharded(tmp_path / "checkpoint-20", bad)
    report = check_run_checkpoints(discover(tmp_path))
    found = the(report, "checkpoint-nonfinite")
    assert (found.evidence[0].step, found.evidence[0].file.split("/")[0]) == (20, "checkpoint-20")
    assert all("checkpoint-20" in c.why for c in report.checks)
    shutil.rmtree(tmp_path / "checkpoint-20")
    assert check_run_checkpoints(discover(tmp_path)).findings == ()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:573efe\nsize 104677479\n"


def test_what_git_did_not_fetch_is_a_note_and_says_nothing_of_the_save(tmp_path):
    folder = adapter(tmp_path / "checkpoint-10", step=10)
    for name in ("adapter_model.safetensors", "optimizer.pt", "training_args.bin", "tokenizer.json"):
        (folder / name).write_bytes(POINTER)
    report = check_checkpoints([tmp_path])
    assert {(f.code, f.severity.name) for f in report.findings} == {("checkpoint-not-fetched", "S3")}
    assert len(report.findings) == 4
    assert "Git LFS pointer" in report.findings[0].message


def test_a_text_that_only_begins_like_a_pointer_is_damaged(tmp_path):
    folder = adapter(tmp_path / "checkpoint-10", step=10)
    (folder / "adapter_model.safetensors").write_bytes(b"version 2 of the weights, by mistake\n" * 4)
    assert "S1" in {f.severity.name for f in check_checkpoints([tmp_path]).findings}


def test_an_adapter_that_cannot_be_read_is_not_called_empty_as_well(tmp_path):
    folder = adapter(tmp_path / "checkpoint-10", step=10)
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", 4000) + b"{")
    assert "adapter-empty" not in {f.code for f in check_checkpoints([tmp_path]).findings}


def test_the_header_of_a_save_without_tensors_is_an_empty_adapter(tmp_path):
    folder = adapter(tmp_path / "checkpoint-10", step=10)
    header = b'{},"__metadata__":{"format":"pt"}}      '
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert [f.code for f in check_checkpoints([tmp_path]).findings] == ["adapter-empty"]
