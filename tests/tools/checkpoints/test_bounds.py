"""Hostile and damaged checkpoints get a reason within two seconds and half a gigabyte; what cannot be read is said."""

import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

from triage.tools.checkpoints import check_run_checkpoints
from triage.tools.checkpoints.health import check_checkpoints
from triage.tools.discover import discover

SECONDS, BYTES = 8.0, 500 << 20
RUN = "from triage.ui.cli import main; main()"


def sound(folder):
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    save_file({"w.weight": np.eye(4, dtype=np.float32)}, folder / "model.safetensors")
    return folder


def header(text):
    return struct.pack("<Q", len(text)) + text


def shaped(shape):
    return header(b'{"a":{"dtype":"F32","shape":' + shape + b',"data_offsets":[0,4]}}') + bytes(4)


def tensor(shape):
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + shape + shape + b"\x89}tR."


def long(size):
    return b"\x8b" + struct.pack("<I", size) + b"\x7f" * size


def many(count):
    return b"(" + b"K\x02" * count + b"t"


COPY = b"ccollections\nOrderedDict\n"
BOMBS = {
    "dimensions": ("model.safetensors", lambda: shaped(b"[" + b",".join([b"4294967295"] * 200_000) + b"]")),
    "a million dimensions": ("model.safetensors", lambda: shaped(b"[" + b",".join([b"9"] * 1_000_000) + b"]")),
    "header": ("model.safetensors", lambda: header(b'{"a":[' + b"[]," * 33_000_000 + b"0]}")),
    "header of nothing": ("model.safetensors", lambda: struct.pack("<Q", 99_000_000) + bytes(99_000_000)),
    "pickled dimensions": ("model.pt", lambda: tensor(many(300_000))),
    "pickled sizes": ("model.pt", lambda: tensor(long(8_000_000) + long(8_000_000) + b"\x86")),
    "copies of a dict": ("model.pt", lambda: b"\x80\x02}q\x00(" + b"".join(
        b"J" + struct.pack("<i", i) + b"N" for i in range(200_000)) + b"u](" + (COPY + b"h\x00\x85R") * 3000 + b"e."),
    "copies of pairs": ("model.pt", lambda: b"\x80\x02]q\x00(" + b"K\x01K\x02\x86" * 200_000 + b"e](" + (
        COPY + b"h\x00\x85R") * 3000 + b"e."),
    "lists": ("optimizer.pt", lambda: b"\x80\x02(" + b"]" * 60_000_000 + b"l."),
    "arrays of a claimed size": ("rng.pkl", lambda: b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x."),
}  # fmt: skip


def measured(folder):
    """The findings of `check_checkpoints` in a process of its own, its seconds and its largest memory."""
    code = (
        "import json, re, sys, time; from pathlib import Path; import numpy\n"
        "from triage.tools.checkpoints.health import check_checkpoints\n"
        "start = time.process_time(); found = check_checkpoints([Path(sys.argv[1])]).findings\n"
        "print(json.dumps([[f.message for f in found], time.process_time() - start,"
        " int(re.search('VmHWM: *(.*) kB', Path('/proc/self/status').read_text().replace(chr(9), ' '))[1]) * 1024]))"
    )
    out = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(out.stdout)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("what", BOMBS)
def test_small_files_that_would_take_hours_or_gigabytes(tmp_path, what, zipped):
    name, build = BOMBS[what]
    sound(tmp_path / "ck")
    if zipped and name == "model.safetensors":
        pytest.skip("no pickle")
    if zipped:
        with zipfile.ZipFile(tmp_path / "ck" / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("a/data.pkl", build())
    else:
        (tmp_path / "ck" / name).write_bytes(build())
    messages, seconds, memory = measured(tmp_path / "ck")
    assert any(m.startswith(name) for m in messages), messages
    assert seconds < SECONDS
    assert memory < BYTES


def test_arrays_of_zeros_are_not_unpacked(tmp_path):
    with zipfile.ZipFile(sound(tmp_path) / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (268435456,), }\n"
        with archive.open("x.npy", "w", force_zip64=True) as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
            for _ in range(64):
                file.write(bytes(1 << 24))
    messages, seconds, memory = measured(tmp_path)
    assert (messages, seconds < SECONDS, memory < BYTES) == ([], True, True)


JSON = ("config.json", "adapter_config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json",
        "trainer_state.json", "special_tokens_map.json", "model.safetensors.index.json")  # fmt: skip


@pytest.mark.parametrize("text", [b'{"a": {"b": 1', b"", b'{"a": 1,}', b"[1]", b"\xff\xfe{}"])
@pytest.mark.parametrize("name", JSON)
def test_a_damaged_json_file_is_named(tmp_path, name, text):
    (sound(tmp_path) / name).write_bytes(text)
    found = [f for f in check_checkpoints([tmp_path]).findings if f.evidence[0].file == name]
    assert [f.code in ("checkpoint-incomplete", "checkpoint-unreadable") for f in found] == [True]


@pytest.mark.parametrize("what", ["checkpoint-200", "checkpoint-200/optimizer.pt", "checkpoint-200/config.json",
                                  "checkpoint-200/model.safetensors"])  # fmt: skip
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_what_may_not_be_read_is_said(tmp_path, what, mode):
    if mode and what != "checkpoint-200":
        pytest.skip("a file that may be read")
    for step in (100, 200):
        sound(tmp_path / f"checkpoint-{step}")
    (tmp_path / "checkpoint-200" / "optimizer.pt").write_bytes(pickle.dumps({}))
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if without and not shutil.which("setpriv"):
        pytest.skip("needs setpriv to give up the rights of root")
    (tmp_path / what).chmod(mode)
    command = [*without, sys.executable, "-c", RUN, "checkpoint", "check", tmp_path]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60)
    (tmp_path / what).chmod(0o755)
    assert out.returncode == 1, out.stdout + out.stderr
    assert what.split("/")[0] in out.stdout
    assert "Nothing wrong found" not in out.stdout


@pytest.mark.slow
def test_of_twenty_thousand_empty_folders_it_is_said_that_some_were_not_searched(tmp_path):
    for i in range(20_000):
        (tmp_path / f"checkpoint-{i}").mkdir()
    (finding,) = check_checkpoints([tmp_path]).findings
    assert "were not searched" in finding.message


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_thousands_of_checkpoints_without_weights_end_soon(tmp_path, count):
    for i in range(count):
        (tmp_path / f"checkpoint-{i}").mkdir()
        (tmp_path / f"checkpoint-{i}" / "adapter_config.json").write_text("{}")
    start = time.monotonic()
    report = check_run_checkpoints(discover(tmp_path))
    assert report.checks
    assert time.monotonic() - start < 60
