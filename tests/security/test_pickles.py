"""Pickles that act when loaded are refused by the name of what they call, wherever they lie; sound ones are not."""

import argparse
import collections
import functools
import io
import os
import pathlib
import pickle
import struct
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest

from triage.tools.checkpoints.files import admitted
from triage.tools.checkpoints.files.beside import harmless
from triage.tools.checkpoints.files.pickled import KNOWN, parse
from triage.tools.checkpoints.files.tensors import Broken
from triage.tools.checkpoints.health import check_checkpoints

torch = pytest.importorskip("torch")


class Call:
    """Pickled as a call of a function."""

    def __init__(self, function, *args, state=None):
        self.how = (function, args) if state is None else (function, args, state)

    def __reduce__(self):
        return self.how


def touch(canary):
    return ["/bin/sh", "-c", f"touch {canary}"]


def named(module, name):
    return f"c{module}\n{name}\n".encode()


def string(value):
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def handler():
    from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import SubprocessHandler

    return SubprocessHandler


CALLS = {
    "system": ("posix.system", lambda c: Call(os.system, f"touch {c}")),
    "popen": ("os.popen", lambda c: Call(os.popen, f"touch {c}")),
    "execv": ("posix.execv", lambda c: Call(os.execv, "/bin/sh", touch(c))),
    "spawn": ("os.spawnv", lambda c: Call(os.spawnv, os.P_WAIT, "/bin/sh", touch(c))),
    "subprocess": ("subprocess.Popen", lambda c: Call(subprocess.Popen, touch(c))),
    "check_output": ("subprocess.check_output", lambda c: Call(subprocess.check_output, touch(c))),
    "eval": ("builtins.eval", lambda c: Call(eval, f"open({str(c)!r}, 'w')")),
    "exec": ("builtins.exec", lambda c: Call(exec, f"open({str(c)!r}, 'w')")),
    "open": ("io.open", lambda c: Call(open, str(c), "w")),
    "import": ("builtins.__import__", lambda c: Call(__import__, "antigravity")),
    "map": ("builtins.map", lambda c: Call(list, Call(map, os.system, [f"touch {c}"]))),
    "partial": ("functools.partial", lambda c: Call(functools.partial, os.system, f"touch {c}")),
    "reduce": ("functools.reduce", lambda c: Call(functools.reduce, os.spawnl, [1])),
    "getattr": ("builtins.getattr", lambda c: Call(getattr, torch.Tensor, "share_memory_")),
    "touch": ("t", lambda c: Call(pathlib.Path.touch, pathlib.PosixPath(c))),
    "handler": ("SubprocessHandler",
                lambda c: Call(handler(), "/bin/sh", ("-c", f"touch {c}"), {}, None, None, 0, None)),
    "torch.load": ("torch.serialization.load", lambda c: Call(torch.load, str(c))),
    "load_library": ("ctypes", lambda c: Call(__import__("ctypes").CDLL, str(c))),
    "hub": ("torch.hub.load", lambda c: Call(torch.hub.load, str(c), "m")),
    "nested": ("_load_from_bytes",
               lambda c: Call(torch.storage._load_from_bytes, pickle.dumps(Call(os.system, f"touch {c}")))),
    "numpy.load": ("numpy", lambda c: Call(np.load, str(c))),
    "build": ("subprocess.Popen", lambda c: Call(argparse.Namespace, state={"x": Call(subprocess.Popen, touch(c))})),
    "key": ("posix.system", lambda c: collections.OrderedDict([(Call(os.system, f"touch {c}"), 1)])),
}  # fmt: skip
"""What is called -> the name in the refusal, and the object to pickle."""


def zipped(payload, name="archive/data.pkl", **more):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, payload)
        archive.writestr("archive/version", "3\n")
        for other, data in more.items():
            archive.writestr(f"archive/{other}", data)
    return out.getvalue()


def legacy(payload, keys=None):
    parts = [pickle.dumps(n, 2) for n in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    return b"".join([*parts, payload, keys or pickle.dumps([], 2)])


def array(payload):
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + payload


FORMS = {"plain": bytes, "zip": zipped, "legacy": legacy,
         "legacy keys": lambda p: legacy(pickle.dumps({"w": 1}, 2), p),
         "second": lambda p: pickle.dumps({"fine": 1}, 4) + p}  # fmt: skip
PLACES = (
    "pytorch_model.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "scheduler.bin", "rng_state.pth",
    "rng_state_3.pth", "random_states_0.pkl", "training_args.bin", "scaler.pt", "sampler.bin",
    "custom_checkpoint_0.pkl", "state.pickle",
    "global_step4/zero_pp_rank_0_mp_rank_00_optim_states.pt", "mp_rank_00/distrib_optim.pt",
    "dist/common.pt", "pytorch_model_fsdp_0/.metadata", "notes", "data.p", "arrays.joblib", "weights.ckpt",
)  # fmt: skip


def sound(folder):
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    save_file({"w.weight": np.eye(4, dtype=np.float32)}, folder / "model.safetensors")
    return folder


def place(folder, name, data):
    path = sound(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def unsafe(folder):
    return [f for f in check_checkpoints([folder]).findings if f.code == "checkpoint-unsafe-pickle"]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("what", CALLS)
def test_what_acts_is_refused_by_name_in_every_protocol(tmp_path, what, protocol):
    canary, (name, build) = tmp_path / "canary", CALLS[what]
    payload = pickle.dumps({"state": [build(canary)]}, protocol)
    for form in FORMS.values():
        with pytest.raises(Broken) as refused:
            harmless(place(tmp_path / "ck", "optimizer.pt", form(payload)))
        assert refused.value.code == "checkpoint-unsafe-pickle"
        assert name in refused.value.data["name"]
        assert not refused.value.data.get("unread")
    assert not canary.exists()


@pytest.mark.parametrize("form", ["plain", "zip", "legacy"])
@pytest.mark.parametrize("where", PLACES)
def test_wherever_it_lies_in_the_folder(tmp_path, where, form):
    canary = tmp_path / "canary"
    place(tmp_path / "checkpoint-5", where, FORMS[form](pickle.dumps(Call(os.system, f"touch {canary}"), 2)))
    (found,) = unsafe(tmp_path / "checkpoint-5")
    assert (found.data["name"], str(found.severity)) == ("posix.system", "S1")
    assert found.evidence[0].file == where
    assert not canary.exists()


def test_loose_in_a_folder_of_checkpoints_and_in_a_distributed_item(tmp_path):
    import torch.distributed.checkpoint as dcp

    canary = tmp_path / "canary"
    sound(tmp_path / "run" / "checkpoint-1")
    place(tmp_path / "run", "extra/rng.pkl", pickle.dumps(Call(os.system, f"touch {canary}")))
    assert [f.evidence[0].file for f in unsafe(tmp_path / "run")] == ["extra/rng.pkl"]
    dcp.save(
        {"m": torch.ones(2), "optim": Call(os.system, f"touch {canary}")}, checkpoint_id=tmp_path / "d", no_dist=True
    )
    assert [f.data["name"] for f in unsafe(tmp_path / "d")] == ["posix.system"]
    assert not canary.exists()


BY_HAND = {
    "getattr of a tensor": ("builtins.getattr", named("__builtin__", "getattr") + named("torch", "Tensor")
                            + string("load") + b"\x86R."),
    "result called": ("getattr", named("__builtin__", "getattr") + named("peft.utils.peft_types", "TaskType")
                      + string("mro") + b"\x86R)R."),
    "newobj": ("copyreg.__newobj__", named("copyreg", "__newobj__") + named("subprocess", "Popen") + b"\x85R."),
    "inst": ("subprocess.Popen", b"(X\x01\x00\x00\x00xisubprocess\nPopen\n."),
    "obj": ("subprocess.Popen", b"(csubprocess\nPopen\nX\x01\x00\x00\x00xo."),
    "extension": ("copyreg", b"\x80\x02\x82\x01."),
    "constructor": ("TrainingArguments", named("transformers.training_args", "TrainingArguments")
                    + string("x") + b"\x85R."),
    "base": ("PartialState", named("copyreg", "_reconstructor") + named("argparse", "Namespace")
             + named("accelerate.state", "PartialState") + b"N\x87R."),
    "passed on": ("PartialState", named("numpy.random._pickle", "__generator_ctor") + string("MT19937")
                  + named("accelerate.state", "PartialState") + b"\x86R."),
    "class changed": ("argparse.Namespace", named("argparse", "Namespace") + b"N}" + string("__init__")
                      + named("builtins", "set") + b"s\x86b."),
    "old name": ("subprocess.getoutput", named("commands", "getoutput") + string("x") + b"\x85R."),
    "dotted": ("posix.system", b"\x80\x04" + string("posix") + string("system") + b"\x93" + string("x") + b"\x85R."),
    "memo": ("posix.system", named("posix", "system") + b"q\x000h\x00" + string("x") + b"\x85R."),
    "cut after": ("posix.system", named("posix", "system") + string("x") + b"\x85R"),
    "alias": ("Tensor.share", b"\x80\x04" + string("torch") + string("Tensor.share_memory_") + b"\x93."),
}  # fmt: skip
"""Pickles that no pickler writes -> the name in the refusal."""


@pytest.mark.parametrize("what", BY_HAND)
def test_tricks_of_the_machine(what):
    name, data = BY_HAND[what]
    with pytest.raises(Broken) as refused:
        parse(data)
    assert refused.value.code == "checkpoint-unsafe-pickle"
    assert name in refused.value.data["name"]


@pytest.mark.parametrize("name", ["transformers.Pipeline", "torch.nn.modules.fold.Fold", "mine.Model"])
def test_what_is_not_known_is_not_clean(tmp_path, name):
    module, _, short = name.rpartition(".")
    place(tmp_path, "training_args.bin", zipped(b"\x80\x02" + named(module, short) + b")\x81."))
    report = check_checkpoints([tmp_path])
    (found,) = report.findings
    assert found.data["name"] == name
    assert found.data["unread"]
    assert [c.why for c in report.checks if c.result == "failed"] == ["not read: training_args.bin"]


def test_a_library_class_that_starts_a_process_is_dangerous():
    for module, name in (("torch.utils.cpp_extension", "CppExtension"), ("torch.hub", "load")):
        with pytest.raises(Broken, match="could run code"):
            parse(named(module, name) + b")R.")


@pytest.mark.parametrize("what", ["twice", "case", "code", "tar", "packed"])
def test_files_that_are_two_things_or_packed_are_not_clean(tmp_path, what):
    fine, tar = pickle.dumps({"w": 1}, 2), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("pickle"), io.BytesIO())
    data = {"twice": zipped(fine, **{"../b/data.pkl": fine}), "case": zipped(fine, **{"DATA.pkl": fine}),
            "code": zipped(fine, **{"constants.pkl": fine}), "tar": tar.getvalue(),
            "packed": b"\x1f\x8b\x08"}  # fmt: skip
    place(tmp_path, "optimizer.pt", data[what])
    assert [f.evidence[0].file for f in unsafe(tmp_path)] == ["optimizer.pt"]


def test_arrays_of_objects_are_pickles(tmp_path):
    payload = array(pickle.dumps(Call(os.system, f"touch {tmp_path / 'canary'}")))
    place(tmp_path / "a", "rng.npy", payload)
    with zipfile.ZipFile(sound(tmp_path / "a") / "states.npz", "w") as archive:
        archive.writestr("x.npy", payload)
    assert {f.evidence[0].file for f in unsafe(tmp_path / "a")} == {"rng.npy", "states.npz"}


@pytest.mark.parametrize("what", ["system", "subprocess", "handler", "partial"])
def test_these_pickles_are_real(tmp_path, what):
    """Loaded with torch, they act; this alone shows that the others were refused for a reason."""
    import time

    canary = tmp_path / "canary"
    harmful = CALLS[what][1](canary)
    (tmp_path / "x.pt").write_bytes(zipped(pickle.dumps(harmful, 2)))
    loaded = torch.load(tmp_path / "x.pt", weights_only=False)
    if what == "partial":
        loaded()
    for _ in range(100):
        if canary.exists():
            break
        time.sleep(0.05)
    assert canary.exists()


def test_everything_that_torch_admits_is_admitted_and_nothing_twice():
    from torch._weights_only_unpickler import _get_allowed_globals

    assert set(_get_allowed_globals()) <= KNOWN
    tables = (admitted.CALLED, admitted.HELD, admitted.ENUMS)
    assert len(frozenset().union(*tables)) == sum(map(len, tables))


def trainer(folder):
    """A Trainer's checkpoint, with all that it keeps."""
    transformers = pytest.importorskip("transformers")
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
    ))  # fmt: skip
    data = [{"input_ids": torch.arange(4), "labels": torch.arange(4)}] * 4
    args = transformers.TrainingArguments(str(folder), max_steps=1, save_steps=1, report_to=[], use_cpu=True)
    transformers.Trainer(model=model, args=args, train_dataset=data).train()


def accelerate_state(folder, **how):
    accelerate = pytest.importorskip("accelerate")
    model, optimizer = step()
    one = accelerate.Accelerator(cpu=True)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    loader = torch.utils.data.DataLoader(torch.ones(4, 4), shuffle=True)
    one.prepare(model, optimizer, rate, loader)
    one.save_state(str(folder), **how)


def step(kind="AdamW", **how):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1, **how)
    model(torch.ones(2, 4)).square().sum().backward()
    optimizer.step()
    return model, optimizer


def lora(folder, **how):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules=["0"], init_lora_weights=False)
    model = peft.get_peft_model(torch.nn.Sequential(torch.nn.Linear(4, 4)), config)
    model.save_pretrained(folder, **how)


def distributed(folder):
    import torch.distributed.checkpoint as dcp

    model, optimizer = step()
    dcp.save({"model": model.state_dict(), "optim": optimizer.state_dict(), "n": 3}, checkpoint_id=folder, no_dist=True)


def saved(name, build, **how):
    return lambda folder: (folder.mkdir(), torch.save(build(), folder / name, **how))


def dumped(name, build, protocol=None):
    return lambda folder: (sound(folder) / name).write_bytes(pickle.dumps(build(), protocol))


def made(name, module, kind, state, protocol=2):
    """As a library that is not installed pickles an object: built without its constructor and filled."""
    body = pickle.dumps(state, 2)[2:-1]
    return lambda folder: place(folder, name, zipped(b"\x80\x02" + named(module, kind) + b")\x81" + body + b"b."))


def rng():
    import random

    return {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.get_rng_state()}


def lightning():
    model, optimizer = step()
    return {"epoch": 1, "global_step": 5, "pytorch-lightning_version": "2.4", "state_dict": model.state_dict(),
            "optimizer_states": [optimizer.state_dict()], "lr_schedulers": [{"last_epoch": 5}], "loops": {},
            "callbacks": {"ModelCheckpoint{'monitor': None}": {"best_model_path": "x", "best_k_models": {}}},
            "hyper_parameters": collections.OrderedDict(lr=0.1)}  # fmt: skip


def deepspeed():
    model, optimizer = step()
    return {"module": model.state_dict(), "optimizer": optimizer.state_dict(), "dp_world_size": 1, "ds_version": "0.16",
            "param_shapes": [collections.OrderedDict(w=torch.Size([4, 4]))], "buffer_names": [], "shared_params": {},
            "random_rng_state": rng(), "args": argparse.Namespace(lr=0.1, out=pathlib.Path("x"))}  # fmt: skip


GOOD = {
    "trainer": trainer,
    "accelerate": accelerate_state,
    "accelerate bin": lambda f: accelerate_state(f, safe_serialization=False),
    "peft": lora,
    "peft bin": lambda f: lora(f, safe_serialization=False),
    "torch dcp": distributed,
    "state dict": saved("model.pt", lambda: step()[0].state_dict()),
    "whole module": saved("model.pt", lambda: step()[0]),
    "adamw": saved("model.pt", lambda: {"model": step()[0].state_dict(), "optimizer": step()[1].state_dict()}),
    "sgd": saved("model.pt", lambda: {"model": {}, "o": step("SGD", momentum=0.9)[1].state_dict()}),
    "adafactor": saved("model.pt", lambda: {"o": step("Adafactor")[1].state_dict()}),
    "half": saved("model.pt", lambda: step()[0].bfloat16().state_dict()),
    "protocol 4": saved("model.pt", lambda: {"w": torch.ones(2), "s": {1, 2}, "b": b"x"}, pickle_protocol=4),
    "protocol 5": saved("model.pt", lambda: {"w": torch.ones(2), "a": np.arange(3)}, pickle_protocol=5),
    "parameters": saved("model.pt", lambda: {"w": torch.nn.Parameter(torch.ones(2)), "size": torch.Size([2])}),
    "dtypes": saved("model.pt", lambda: {"d": torch.float16, "v": torch.device("cpu"), "s": torch.ones(2).to_sparse()}),
    "quantized": saved("model.pt", lambda: {"q": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}),
    "rng": saved("model.pt", lambda: {"rng": rng(), "state": np.random.RandomState(0), "g": np.random.default_rng(0)}),
    "rng pickled 0": dumped("random_states_0.pkl", lambda: np.random.get_state(), 0),
    "rng pickled 2": dumped("random_states_0.pkl", lambda: np.random.get_state(), 2),
    "rng pickled 5": dumped("rng.pkl", lambda: [np.random.default_rng(1), np.float32(1), {1}, frozenset("a")], 5),
    "counts pickled": dumped("data_state.pkl", lambda: [collections.Counter("ab"), collections.defaultdict(list)]),
    "lightning": saved("epoch=1-step=5.ckpt", lightning),
    "deepspeed": lambda f: (
        saved("mp_rank_00_model_states.pt", deepspeed)(f),
        torch.save({"optimizer_state_dict": deepspeed()}, f / "zero_pp_rank_0_mp_rank_00_optim_states.pt"),
    ),
    "loss scaler": made("optim.pt", "deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler", {"cur_scale": 65536.0}),
    "omegaconf": made("hparams.pt", "omegaconf.dictconfig", "DictConfig", {"_content": {"lr": 0.1}}),
    "attributes": made("hparams.pt", "lightning.fabric.utilities.data", "AttributeDict", {"lr": 0.1}),
    "trl": made("training_args.bin", "trl.trainer.sft_config", "SFTConfig", {"lr": 0.1}),
    "torchtune": lambda f: (saved("hf_model_0001_0.pt", lambda: step()[0].state_dict())(f),
                            torch.save({"epochs_run": 1, "seed": 2, "optimizer": step()[1].state_dict()},
                                       f / "recipe_state.pt")),
    "megatron": lambda f: ((f / "iter_0000005" / "mp_rank_00").mkdir(parents=True),
                           torch.save(deepspeed(), f / "iter_0000005" / "mp_rank_00" / "model_optim_rng.pt")),
}  # fmt: skip


@pytest.mark.parametrize("what", GOOD)
def test_sound_checkpoints_are_not_refused(tmp_path, what):
    GOOD[what](tmp_path / "checkpoint-1")
    report = check_checkpoints([tmp_path / "checkpoint-1"])
    assert [f.message for f in report.findings] == []
    assert all(c.result != "failed" for c in report.checks)


def test_the_old_torch_form_is_looked_through_and_said_to_be_unread(tmp_path):
    saved("model.pt", lambda: step()[0].state_dict(), _use_new_zipfile_serialization=False)(tmp_path / "a")
    (found,) = unsafe(tmp_path / "a")
    assert found.data["unread"]
    assert "names nothing harmful" in found.message


def test_a_zip_with_a_name_that_is_not_utf_8_is_a_reason(tmp_path):
    data = zipped(b"", "é/data.pkl").replace("é".encode(), b"\xff\xfe")
    (sound(tmp_path) / "scheduler.pt").write_bytes(data)
    report = check_checkpoints([tmp_path])
    assert any("scheduler.pt" in f.message for f in report.findings)
