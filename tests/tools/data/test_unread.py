"""Clean means read: where records, files or folders could not be read, no command says that nothing is wrong."""

import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from making import prose
from typer.testing import CliRunner

from triage.tools.data.records.record import MAX_RECORD, UNREAD_ACCEPTED
from triage.ui.cli import app

EVERY = ["check", "pii", "dedup", "preference", "generations", "labels"]
BARE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
"""Root without its power over the modes of files."""


def run(*arguments):
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def unprivileged(*arguments):
    argv = [sys.executable, "-c", "from triage.ui.cli import main; main()", "data", *map(str, arguments)]
    return subprocess.run(BARE * (os.geteuid() == 0) + argv, capture_output=True, text=True, check=False)


def good(path, count=200, seed=1):
    rng = random.Random(seed)
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"text": prose(rng, 40)}) + "\n" for _ in range(count)))
    return path


def noise(path):
    path.write_bytes(random.Random(3).randbytes(5000))


def empty_table(path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)


def cut_table(path):
    pq.write_table(pa.table({"text": ["some words"] * 100}), path)
    path.write_bytes(path.read_bytes()[:-60])


UNREADABLE = {
    "noise.jsonl": noise, "noise.txt": noise, "noise.csv": noise, "zeros.txt": lambda p: p.write_bytes(bytes(4000)),
    "cut.parquet": cut_table, "none.parquet": empty_table, "empty.jsonl": lambda p: p.write_bytes(b""),
}  # fmt: skip


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("name", UNREADABLE)
def test_data_of_which_nothing_was_read_is_not_called_clean(tmp_path, command, name):
    UNREADABLE[name](path := tmp_path / name)
    done = run(command, path)
    assert done.exit_code == 1, done.output
    assert "could not be checked: records read" in done.stdout
    assert "Nothing wrong" not in done.stdout
    assert " clear: " not in done.stdout or name == "noise.txt"  # some of its lines might be text


@pytest.mark.parametrize("command", ["pii", "dedup"])
def test_a_line_longer_than_a_record_may_be_is_said(tmp_path, command):
    path = good(tmp_path / "a.jsonl", 3)
    with path.open("ab") as file:
        file.write(b'{"text": "' + b"a" * MAX_RECORD + b'"}\n')
    done = run(command, path, "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["summary"]["unread"]) == (1, 1)
    assert {c["name"] for c in answer["checks"] if c["result"] == "failed"} == {"records read"}


@pytest.mark.parametrize(("broken", "code"), [(1, 0), (5, 1)])
def test_the_share_of_unread_records_decides(tmp_path, broken, code):
    assert 1 / 201 <= UNREAD_ACCEPTED < 5 / 205
    path = good(tmp_path / "a.jsonl")
    path.write_text(path.read_text() + "{broken\n" * broken)
    done = run("pii", path, "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["summary"]["unread"]) == (code, broken)
    assert ("failed" if code else "clear") in [c["result"] for c in answer["checks"] if c["name"] == "records read"]


@pytest.fixture
def open_folder():
    """A folder that everyone can enter."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        good(Path(folder) / "data" / "a.jsonl")
        good(Path(folder) / "data" / "sub" / "b.jsonl", seed=2)
        yield Path(folder) / "data"


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read all")
@pytest.mark.parametrize("shut", ["sub", "sub/b.jsonl"])
@pytest.mark.parametrize("command", ["check", "pii", "dedup"])
def test_what_may_not_be_opened_is_named_and_the_rest_is_read(open_folder, command, shut):
    (open_folder / shut).chmod(0)
    done = unprivileged(command, open_folder, "--workers", "1", "--json")
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    failed = [c for c in answer["checks"] if c["result"] == "failed"]
    assert [c["name"] for c in failed] == ["records read", f"read {shut}"]
    assert failed[1]["why"] == "Permission denied"
    assert answer["summary"]["records"] == 200


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read all")
def test_a_path_that_cannot_be_opened_at_all_ends_with_two(open_folder):
    (open_folder / "a.jsonl").chmod(0)
    done = unprivileged("pii", open_folder / "a.jsonl")
    assert (done.returncode, "Error" in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_links_in_a_circle_and_deep_folders_are_named(tmp_path):
    good(tmp_path / "data" / "a.jsonl")
    (tmp_path / "data" / "b").symlink_to("c")
    (tmp_path / "data" / "c").symlink_to("b")
    (tmp_path / "data" / "d.jsonl").symlink_to("d.jsonl")
    here = os.open(tmp_path / "data", os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("deep", dir_fd=here)
        here, above = os.open("deep", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    try:
        done = run("check", tmp_path / "data", "--json")
        assert done.exit_code == 1, done.exception
        failed = [c for c in json.loads(done.stdout)["checks"] if c["result"] == "failed"]
        assert [c["name"][:14] for c in failed] == ["records read", "read d.jsonl", "read deep/deep"]
        assert failed[2]["why"] == "File name too long"
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "data"], check=True)


def bad_utf8(path):
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, pa.schema([("text", pa.string())])) as writer:
        writer.write_table(pa.table({"text": ["some plain words"] * 50}))
    path.write_bytes(path.read_bytes().replace(b"plain", b"\xff\xfe\xff\xfe\xff"))


@pytest.mark.parametrize("command", ["check", "pii", "dedup"])
def test_arrow_with_bad_utf_8_has_a_reason(tmp_path, command):
    bad_utf8(tmp_path / "a.arrow")
    done = run(command, tmp_path / "a.arrow")
    assert done.exit_code == 1
    assert "could not be read any further: UnicodeDecodeError" in done.stdout


def broken_header(path):
    np.save(path, np.arange(100))
    path.write_bytes(path.read_bytes().replace(b"{'descr'", b"{{{{{{(("))


def unknown_packing(path):
    np.savez(path, codes=np.arange(100))
    with zipfile.ZipFile(path) as held:
        at = held.start_dir
    raw = bytearray(path.read_bytes())
    raw[8:10] = raw[at + 10 : at + 12] = (99).to_bytes(2, "little")
    path.write_bytes(raw)


@pytest.mark.parametrize(("make", "name"), [(broken_header, "b.npy"), (unknown_packing, "b.npz"), (os.mkfifo, "b.npy")])
def test_codes_that_numpy_cannot_read_have_a_reason(tmp_path, make, name):
    np.save(tmp_path / "a.npy", np.random.default_rng(1).integers(0, 16, 4000))
    make(tmp_path / name)
    done = run("codebook", tmp_path)
    assert done.exit_code == 1, done.exception
    assert f"could not be checked: read {name}: could not be read as numpy arrays" in done.stdout


LINE = b'{"text": "a record of some words"}\n'
HOLED = {
    "a.jsonl": LINE * 30, "a.txt": b"some words\n" * 30, "a.csv": b"text,n\n" + b"words,1\n" * 30,
    "a.json": b"[" + LINE.strip() + b"," + LINE, "wide.jsonl": (LINE * 30).decode().encode("utf-16"),
    "a.tar": LINE * 30,
}  # fmt: skip


@pytest.mark.parametrize("name", HOLED)
def test_a_file_that_is_nearly_all_hole_is_read_up_to_it_and_says_so(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(HOLED[name])
    os.truncate(path, 300 << 30)
    done = run("pii", path, "--workers", 1)
    assert (done.exit_code, "Nothing wrong" in done.stdout) == (1, False)
    assert "hole of" in done.stdout or name == "a.tar"  # this one begins like no archive


def test_records_before_a_small_hole_and_after_it_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(LINE * 50)
        file.seek(8 << 20)
        file.write(b"\n" + LINE * 50)
    summary = json.loads(run("pii", path, "--json").stdout)["summary"]
    assert (summary["records"], summary["unread"]) == (100, 1)


def shard(path, samples=9):
    with tarfile.open(path, "w") as tar:
        for i in range(samples):
            info = tarfile.TarInfo(f"{i:06d}.txt")
            info.size = len(text := f"the words of sample {i}".encode())
            tar.addfile(info, io.BytesIO(text))
    return path.read_bytes()


BROKEN_SHARDS = {
    "a second archive": lambda data: data + data,
    "a header of zeros": lambda data: data[:4096] + bytes(512) + data[4608:],
    "cut in a member": lambda data: data[:4200], "cut after a member": lambda data: data[:4096],
    "halves": lambda data: data[5120:] + data[:5120], "a member of 2 ** 40": lambda data: HUGE + data,
}  # fmt: skip
huge = tarfile.TarInfo("0.txt")
huge.size = 1 << 40
HUGE = huge.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", BROKEN_SHARDS)
def test_what_a_broken_archive_hides_is_said(tmp_path, name, packed):
    data = BROKEN_SHARDS[name](shard(tmp_path / "a.tar"))
    (tmp_path / "a.tar").unlink()
    (tmp_path / f"b.tar{packed}").write_bytes(gzip.compress(data) if packed else data)
    done = run("pii", tmp_path / f"b.tar{packed}", "--workers", 1)
    assert (done.exit_code, "could not be checked: records read" in done.stdout) == (1, True)


@pytest.mark.parametrize("blocking", [2, 3, 20, 64])
def test_a_whole_archive_is_read_whatever_its_padding(tmp_path, blocking):
    data = shard(tmp_path / "a.tar").rstrip(b"\0")
    data += bytes(-len(data) % 512 + 1024)
    (tmp_path / "a.tar").write_bytes(data + bytes(-len(data) % (512 * blocking)))
    done = run("pii", tmp_path / "a.tar", "--json")
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["summary"]["records"]) == (0, 9)
