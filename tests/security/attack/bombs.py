"""Small inputs that ask for much: time, memory, depth or number. Each is made at run time, most from a few bytes.

A bomb need not be refused; it must end. Where a reader cannot read it whole, `unread` says that it has to say so.
"""

import gzip
import json
import os
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ASK = ("ask", "loss is nan at step 40", "--run", "{run}", "--json")
SCAN = ("scan", "{run}")
LINT = ("lint", "{run}")
REPORT = ("report", "{run}", "--bug", "trl")
SOUND = ("checkpoint", "check", "{run}")
CHECK = ("data", "check", "{run}/data", "--workers", "1")
PII = ("data", "pii", "{run}/data", "--workers", "1")
DEDUP = ("data", "dedup", "{run}/data", "--workers", "1")
CODEBOOK = ("data", "codebook", "{run}/data")


@dataclass(frozen=True)
class Bomb:
    name: str
    make: Callable[[Path], object]
    commands: tuple[tuple[str, ...], ...]
    unread: str
    quick: bool
    """Belongs to the fast part: it ends in a second or two today."""


BOMBS: dict[str, Bomb] = {}


def bomb(*commands: tuple[str, ...], unread: str = "", quick: bool = False):
    def keep(make: Callable[[Path], object]):
        name = make.__name__.replace("_", "-")
        assert name not in BOMBS, name
        BOMBS[name] = Bomb(name, make, commands, unread, quick)
        return make

    return keep


def text_bomb(name: str, path: str, commands: tuple, content: Callable[[], str], **more) -> None:
    def make(run: Path) -> None:
        put(run, path, content().encode())

    make.__name__ = name
    bomb(*commands, **more)(make)


def put(run: Path, path: str, data: bytes) -> Path:
    (run / path).parent.mkdir(parents=True, exist_ok=True)
    (run / path).write_bytes(data)
    return run / path


def safetensors(header: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + bytes(64)


def torch_zip(data: bytes, run: Path, path: str) -> None:
    put(run, path, b"")
    with zipfile.ZipFile(run / path, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data/0", bytes(64))


# tensors and pickles
@bomb(SOUND, ASK)
def tensor_of_a_million_dimensions(run):
    shape = ",".join(["4294967295"] * 1_000_000)
    put(run, "checkpoint-1/model.safetensors", safetensors(
        f'{{"w":{{"dtype":"F32","shape":[{shape}],"data_offsets":[0,64]}}}}'.encode()
    ))  # fmt: skip


@bomb(SOUND, ASK)
def pickled_shape_of_a_million_dimensions(run):
    size = b"(" + b"\x8a\x05\xff\xff\xff\xff\x00" * 1_000_000 + b"t"
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x10tQ"
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + size + b"(t\x89ccollections\nOrderedDict\n)RtR"
    )
    torch_zip(b"\x80\x02}X\x01\x00\x00\x00w" + tensor + b"s.", run, "checkpoint-1/pytorch_model.bin")


@bomb(SOUND, ASK)
def tensor_header_of_99_mb(run):
    rows = ",".join(f'"w{i:07d}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(1_650_000))
    put(run, "checkpoint-1/model.safetensors", safetensors(f"{{{rows}}}".encode()))


@bomb(SOUND, ASK)
def pickle_that_copies_a_dictionary(run):
    """3,000 copies of 200,000 pairs from one pair list in the memo."""
    pairs = b"}q\x00(" + b"".join(b"J" + struct.pack("<i", i) + b"N" for i in range(200_000)) + b"u0"
    copies = b"".join(b"ccollections\nOrderedDict\n(h\x00tRa" for _ in range(3000))
    torch_zip(b"\x80\x02" + pairs + b"]" + copies + b".", run, "checkpoint-1/pytorch_model.bin")


@bomb(SOUND, ASK)
def pickle_that_doubles(run):
    value: object = [0]
    for _ in range(60):
        value = [value, value]
    torch_zip(pickle.dumps({"w": value}, 2), run, "checkpoint-1/pytorch_model.bin")


@bomb(SOUND, ASK, unread="part", quick=True)
def pickle_of_a_huge_frame(run):
    torch_zip(
        b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"\x8e" + struct.pack("<Q", 2**61), run, "checkpoint-1/a.bin"
    )


@bomb(SOUND, ASK)
def pickle_of_a_million_marks(run):
    torch_zip(b"\x80\x02" + b"(" * 1_000_000 + b"]" * 1_000_000 + b".", run, "checkpoint-1/pytorch_model.bin")


@bomb(SOUND)
def ordered_pickle_in_pickle(run):
    torch_zip(pickle.dumps(OrderedDict((str(i), OrderedDict()) for i in range(300_000))), run, "checkpoint-1/a.bin")


@bomb(SOUND, quick=True)
def shape_beyond_64_bits(run):
    put(run, "checkpoint-1/model.safetensors", safetensors(
        b'{"w":{"dtype":"F32","shape":[18446744073709551615,18446744073709551615],"data_offsets":[0,64]}}'
    ))  # fmt: skip


# arrays and tables
@bomb(CODEBOOK, unread="part")
def npz_of_zeros(run):
    """Four GB of zeros in four MB, the compressed stream made of one repeated piece."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(64 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    size = 60 * (64 << 20)
    head = b"{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % ((size - 64) // 8)
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.ljust(117) + b"\n"
    first = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = first.compress(head) + first.flush(zlib.Z_FULL_FLUSH) + piece * 60 + b"\x03\x00"
    size, name = size + len(head), b"codes.npy"
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(data), size, len(name), 0) + name
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(data), size, len(name), 0, 0, 0, 0, 0, 0)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry + name), len(local + data), 0)
    put(run, "data/codes.npz", local + data + entry + name + end)


@bomb(CODEBOOK, unread="all", quick=True)
def npy_that_promises_much(run):
    head = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\n"
    put(run, "data/codes.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head)


@bomb(CODEBOOK, unread="all", quick=True)
def npy_with_a_broken_header(run):
    head = b"{'descr': '<i8', 'fortran_order': False, 'shape': (((((4, }".ljust(117) + b"\n"
    put(run, "data/codes.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head)


@bomb(CODEBOOK, unread="all", quick=True)
def npz_with_an_unknown_packing(run):
    path = put(run, "data/codes.npz", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("codes.npy", b"x" * 100)
    path.write_bytes(
        path.read_bytes().replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x63\x00"
        )
    )


@bomb(CHECK, DEDUP)
def parquet_dictionary_of_one_long_string(run):
    import pyarrow
    from pyarrow import parquet

    (run / "data").mkdir(parents=True)
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 3000, pyarrow.int32()), ["x " * (4 << 20)])
    parquet.write_table(pyarrow.table({"text": column}), run / "data" / "train.parquet", compression="zstd")


@bomb(CHECK, PII, unread="part")
def tar_member_of_2_to_the_40(run):
    info = tarfile.TarInfo("000000.txt")
    info.size = 1 << 40
    put(run, "data/shard-000000.tar", info.tobuf(tarfile.GNU_FORMAT) + b"xx")


@bomb(CHECK)
def sparse_records(run):
    os.truncate(put(run, "data/train.jsonl", b'{"text": "one record"}\n'), 300 << 30)


@bomb(SCAN, ASK)
def sparse_log(run):
    os.truncate(put(run, "train.log", b"step 1 loss 2.0\n" * 100), 300 << 30)


# compression without a ratio limit: whole streams, one after the other
PIECE = b" " * (16 << 20)
TIMES = 1200


@bomb(CHECK, unread="part")
def gz_of_20_gb(run):
    put(run, "data/train.jsonl.gz", gzip.compress(PIECE) * TIMES)


@bomb(CHECK, unread="part")
def bz2_of_20_gb(run):
    import bz2

    put(run, "data/train.jsonl.bz2", bz2.compress(PIECE) * TIMES)


@bomb(CHECK, unread="part")
def xz_of_20_gb(run):
    import lzma

    put(run, "data/train.jsonl.xz", lzma.compress(PIECE) * TIMES)


def zst(blocks: int, byte: bytes = b" ", window: int = 7) -> bytes:
    """One frame of runs of 128 KiB, four bytes each. The window is 2 ** (10 + window)."""
    block = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + byte
    return b"\x28\xb5\x2f\xfd\x00" + bytes([window << 3]) + block * (blocks - 1) + bytes([block[0] | 1]) + block[1:]


@bomb(CHECK, unread="part")
def zst_of_20_gb(run):
    put(run, "data/train.jsonl.zst", zst(160_000))


@bomb(CHECK, unread="part", quick=True)
def zst_of_a_huge_window(run):
    put(run, "data/train.jsonl.zst", zst(100, window=21))


@bomb(SCAN, ASK, unread="part")
def log_in_gz_of_20_gb(run):
    put(run, "train.log.gz", gzip.compress(b"step 1 loss 2.0\n" * (1 << 20)) * TIMES)


@bomb(CHECK, unread="part")
def zst_of_one_line(run):
    put(run, "data/train.jsonl.zst", zst(40_000, b"x"))


# records
@bomb(DEDUP, PII)
def one_looped_record_of_10_mb(run):
    put(run, "data/train.jsonl", json.dumps({"text": "ab cd " * 1_700_000}).encode() + b"\n")


@bomb(DEDUP)
def one_record_of_half_a_million_words(run):
    put(run, "data/train.jsonl", json.dumps({"text": "a " * 500_000}).encode() + b"\n")


@bomb(CHECK, PII, DEDUP, unread="all")
def line_of_70_mib(run):
    put(run, "data/train.jsonl", b'{"text": "' + b"ab cd " * (12 << 20) + b'"}\n')


@bomb(CHECK, PII, DEDUP, unread="part")
def field_of_csv_that_never_ends(run):
    put(run, "data/train.csv", b'text,id\n"' + b"word,\n" * 2_000_000)


@bomb(CHECK, PII, unread="all", quick=True)
def brackets_in_a_record(run):
    put(run, "data/train.jsonl", b"[" * 3_000_000 + b"\n")


@bomb(CHECK, unread="all", quick=True)
def brackets_in_a_document(run):
    put(run, "data/train.json", b'{"a":' * 600_000)


@bomb(CHECK, DEDUP)
def record_of_200_000_keys(run):
    put(run, "data/train.jsonl", json.dumps({f"k{i}": "x" for i in range(200_000)}).encode() + b"\n")


@bomb(CHECK)
def records_that_share_no_key(run):
    put(run, "data/train.jsonl", b"".join(b'{"k%d": "some text"}\n' % i for i in range(100_000)))


# shell, make and configuration
text_bomb("shell-several-stars", "launch.sh", (LINT, ASK), lambda: f"A={'bc' * 35_000}\nB=${{A##*b*c*d}}\necho $B\n")
text_bomb(
    "shell-replacements", "launch.sh", (LINT, ASK),
    lambda: f"A={'a' * 20_000}\n" + "".join(f"B{i}=${{A//a/b}}\n" for i in range(2000)),
)  # fmt: skip
text_bomb(
    "shell-variables-in-a-row", "launch.sh", (LINT, ASK),
    lambda: f"A={'a' * 200_000}\n" + "".join(f"B{i}=$A\n" for i in range(19_000)),
)  # fmt: skip
text_bomb(
    "shell-doubling", "launch.sh", (LINT, ASK),
    lambda: "A0=xxxxxxxx\n" + "".join(f"A{i + 1}=$A{i}$A{i}\n" for i in range(60)) + "torchrun train.py --lr $A60\n",
)  # fmt: skip
text_bomb("shell-nesting", "launch.sh", (LINT, ASK), lambda: "A=" + "$(echo " * 30_000 + ")" * 30_000 + "\n")
text_bomb("shell-defaults-nesting", "launch.sh", (LINT, ASK), lambda: "A=" + "${B:-" * 30_000 + "}" * 30_000 + "\n")
text_bomb(
    "shell-braces",
    "launch.sh",
    (LINT, ASK),
    lambda: "torchrun train.py --lr " + "{a,b}" * 40 + "{1..999999999}\n",
    quick=True,
)
text_bomb("shell-quotes", "launch.sh", (LINT, ASK), lambda: "torchrun train.py " + "'\"" * 100_000 + "\n")
text_bomb("shell-continued", "launch.sh", (LINT, ASK), lambda: "torchrun train.py \\\n" + "  --a b \\\n" * 60_000)
text_bomb("shell-heredocs", "launch.sh", (LINT, ASK), lambda: "".join(f"cat <<E{i}\nx\n" for i in range(20_000)))
text_bomb(
    "make-doubling", "Makefile", (LINT, ASK),
    lambda: "A0=xxxxxxxx\n" + "".join(f"A{i + 1}=$(A{i})$(A{i})\n" for i in range(60))
    + "t:\n\ttorchrun t.py --lr $(A60)\n",
)  # fmt: skip
text_bomb("make-itself", "Makefile", (LINT, ASK), lambda: "A=$(A) $(A)\nt:\n\ttorchrun t.py --lr $(A)\n", quick=True)
text_bomb("toml-dots", "train.toml", (LINT, ASK), lambda: "a." * 60_000 + "b = 1\n")
text_bomb("toml-nesting", "train.toml", (LINT, ASK), lambda: "a = " + "[" * 100_000 + "]" * 100_000 + "\n", quick=True)
text_bomb(
    "toml-tables", "train.toml", (LINT, ASK), lambda: "".join(f"[a{'.b' * 200}.c{i}]\nx = 1\n" for i in range(3000))
)
text_bomb(
    "ini-doubling", "train.ini", (LINT, ASK),
    lambda: "[t]\na0 = xxxxxxxx\n" + "".join(f"a{i + 1} = %(a{i})s%(a{i})s\n" for i in range(60)),
)  # fmt: skip
text_bomb("yaml-sexagesimal", "train.yaml", (LINT, ASK), lambda: "learning_rate: 1" + ":1" * 100_000 + "\n")
text_bomb("yaml-digits", "train.yaml", (LINT, ASK), lambda: "learning_rate: " + "9" * 1_000_000 + "\n")
text_bomb(
    "yaml-laughs", "train.yaml", (LINT, ASK), lambda: "a0: &a0 [lol, lol]\n" + "".join(
        f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(12)
    ), quick=True,
)  # fmt: skip
text_bomb(
    "yaml-merges", "train.yaml", (LINT, ASK), lambda: "a0: &a0 {x: 1}\n" + "".join(
        f"a{i + 1}: &a{i + 1} {{<<: [{', '.join([f'*a{i}'] * 9)}], k{i}: 1}}\n" for i in range(12)
    ), quick=True,
)  # fmt: skip
text_bomb("yaml-nesting", "train.yaml", (LINT, ASK), lambda: "a: " + "[" * 50_000 + "\n", quick=True)
text_bomb("yaml-anchors", "train.yaml", (LINT, ASK), lambda: "".join(f"k{i}: &a{i} v\n" for i in range(40_000)))
text_bomb("yaml-depth", "train.yaml", (LINT, ASK), lambda: "".join(" " * i + "a:\n" for i in range(1500)))
text_bomb("json-nesting", "ds_config.json", (LINT, ASK), lambda: '{"a":' * 100_000, quick=True)
text_bomb("python-nesting", "train.py", (LINT, ASK), lambda: "x = " + "(" * 50_000 + ")" * 50_000 + "\n")
text_bomb("python-sum", "train.py", (LINT, ASK), lambda: "lr = " + "1+" * 50_000 + "1\n")
text_bomb(
    "python-power",
    "train.py",
    (LINT, ASK),
    lambda: "TrainingArguments(learning_rate=9**9**9, x=1 << 10**10)\n",
    quick=True,
)
text_bomb(
    "python-string", "train.py", (LINT, ASK), lambda: "TrainingArguments(learning_rate='a' * 10**10)\n", quick=True
)
text_bomb(
    "python-names", "train.py", (LINT, ASK), lambda: "a0=1\n" + "".join(f"a{i + 1}=a{i}+a{i}\n" for i in range(3000))
)
text_bomb(
    "env-doubling", ".env", (LINT, ASK), lambda: "A0=xxxxxxxx\n" + "".join(f"A{i + 1}=$A{i}$A{i}\n" for i in range(60))
)
text_bomb("config-digits", "train.yaml", (REPORT,), lambda: "note: key " + "0" * 200_000 + "\n")
text_bomb(
    "template-loops", "checkpoint-1/tokenizer_config.json", (SOUND, ASK), lambda: json.dumps(
        {"chat_template": "{% for i in range(10**9) %}{% for j in range(10**9) %}{{ i }}{% endfor %}{% endfor %}"}
    ), quick=True,
)  # fmt: skip


# questions
for piece, called in (("0", "question-digits"), ("a.", "question-dots"), ("eyJ", "question-token")):
    text_bomb(called, "notes.txt", (("ask", "the key " + piece * 20_000, "--json"),), lambda: "nothing\n")


# logs: tokens and lines
for piece, called in (
    ("a.", "log-dotted-epoch"), ("torch.", "log-torch"), ("0", "log-digits"), ("/a", "log-path"), (" ", "log-blanks"),
    ("a=1,", "log-pairs"), ("[", "log-brackets"), ("a:", "log-colons"), ("eyJ", "log-token"), ("-", "log-dashes"),
    ("é", "log-accents"), ("1e", "log-exponents"), ("\t", "log-tabs"), ("'", "log-quotes"), ("x@y.", "log-mail"),
    ("key=", "log-keys"), ("http://a:", "log-addresses"), ("https", "log-schemes"), ("nan ", "log-nan"),
    ('File "', "log-frames"), ("%|", "log-bars"), ("(a", "log-parentheses"), ("\\", "log-backslashes"),
):  # fmt: skip
    text_bomb(
        called, "train.log", (SCAN, ASK, REPORT),
        lambda piece=piece: "step 1 loss 2.0\n" + f"Epoch 1: {piece * (60_000 // len(piece))}!\n" * 2
        + f"Error: key {piece * (60_000 // len(piece))} failed\nRuntimeError: {piece * (60_000 // len(piece))}\n",
    )  # fmt: skip


@bomb(SCAN, ASK)
def log_of_one_line_of_100_mb(run):
    put(run, "train.log", b"step 1 loss 2.0 " * (100 << 16))


@bomb(SCAN, ASK)
def log_of_two_million_empty_lines(run):
    put(run, "train.log", b"\n" * 2_000_000)


@bomb(SCAN, ASK)
def metrics_of_many_names(run):
    put(run, "metrics.jsonl", b"".join(b'{"step": %d, "m%d": 1.0}\n' % (i, i) for i in range(50_000)))


# folders
@bomb(CHECK, PII, SCAN, ASK, SOUND, unread="all", quick=True)
def folders_that_link_to_each_other(run):
    (run / "data").mkdir(parents=True)
    (run / "data" / "a").symlink_to("b")
    (run / "data" / "b").symlink_to("a")


@bomb(CHECK, SCAN, LINT, ASK, SOUND)
def two_thousand_nested_folders(run):
    (run / "data").mkdir(parents=True)
    here = os.getcwd()
    try:
        os.chdir(run / "data")
        for _ in range(2000):
            os.mkdir("d")
            os.chdir("d")
        Path("train.jsonl").write_text('{"text": "deep"}\n')
    finally:
        os.chdir(here)


@bomb(ASK, SOUND)
def twenty_thousand_checkpoints(run):
    for i in range(20_000):
        (run / f"checkpoint-{i}").mkdir(parents=True)


@bomb(ASK, SCAN, LINT)
def twenty_thousand_files(run):
    for i in range(20_000):
        put(run, f"logs/{i % 100}/rank{i}.log", b"step 1 loss 2.0\n")


@bomb(SCAN, LINT, ASK, unread="all", quick=True)
def links_to_devices(run):
    run.mkdir(parents=True)
    for name in ("train.log", "train.yaml", "metrics.jsonl", "launch.sh"):
        (run / name).symlink_to("/dev/zero")


@bomb(CHECK, PII, DEDUP, unread="all", quick=True)
def data_that_is_a_device(run):
    (run / "data").mkdir(parents=True)
    (run / "data" / "train.jsonl").symlink_to("/dev/zero")


@bomb(SOUND, unread="part", quick=True)
def shards_outside(run):
    put(run, "checkpoint-1/config.json", b'{"model_type": "llama"}')
    put(run, "checkpoint-1/model.safetensors.index.json", json.dumps(
        {"metadata": {}, "weight_map": {"a": "../../../../../../etc/passwd", "b": "/dev/zero", "c": "a\x00b", "d": 7}}
    ).encode())  # fmt: skip
