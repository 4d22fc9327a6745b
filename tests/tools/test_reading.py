"""Reading text of any kind in bounded memory with true line numbers."""

import gzip
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from triage.tools.findings import TriageError
from triage.tools.reading import HEAD_LIMIT, head, is_binary, iter_chunks, iter_lines, lines_of, listening, split_prefix


def write(tmp_path, data: bytes, name: str = "train.log"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def read(path):
    return [(line.number, line.text) for line in iter_lines(path)]


def test_lines_carry_their_number(tmp_path):
    assert read(write(tmp_path, b"a\n\nb")) == [(1, "a"), (2, ""), (3, "b")]


def test_progress_bar_pieces_share_the_number_of_their_line(tmp_path):
    data = b"start\n 1%|\r 2%|\r{'loss': 1}\nend\n"
    assert read(write(tmp_path, data)) == [
        (1, "start"), (2, " 1%|"), (2, " 2%|"), (2, "{'loss': 1}"), (3, "end"),
    ]  # fmt: skip


def test_crlf_is_a_line_end_and_not_a_progress_bar(tmp_path):
    assert read(write(tmp_path, b"a\r\nb\r\n")) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_files_of_several_frames_are_read_whole(tmp_path, pack):
    assert read(write(tmp_path, pack(b"a\n") + pack(b"b\n"), "x.bin")) == [(1, "a"), (2, "b")]


def test_a_packed_file_that_breaks_off_gives_what_is_there_and_says_so(tmp_path):
    data = gzip.compress(b"".join(b"line %d\n" % i for i in range(20_000)))
    lines = [text for _, text in read(write(tmp_path, data[: len(data) // 2]))]
    assert lines[0] == "line 0"
    assert len(lines) > 5_000
    assert "breaks off" in lines[-1]


def test_packed_junk_and_missing_files_are_refused_with_a_reason(tmp_path):
    with pytest.raises(TriageError, match=r"cannot read train\.log"):
        read(write(tmp_path, b"\x1f\x8bjunk"))
    with pytest.raises(TriageError, match=r"absent\.log"):
        read(tmp_path / "absent.log")
    with pytest.raises(TriageError):
        head(tmp_path)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("\ufeff损失".encode(), "损失"),
        ("损失 nan".encode("utf-16"), "损失 nan"),
        ("训练损失变为无穷大，请检查学习率设置".encode("gb18030"), "训练损失变为无穷大，请检查学习率设置"),
        (b"lo\0ss\0", "loss"),
        (b"\x1b[32mloss\x1b[0m 1", "loss 1"),
        (b"caf\xff ok, this line is otherwise plain", "caf\ufffd ok, this line is otherwise plain"),
    ],
)
def test_encodings_and_control_bytes(tmp_path, data, text):
    assert read(write(tmp_path, data)) == [(1, text)]


def test_a_line_of_megabytes_keeps_its_ends_and_says_what_was_left_out(tmp_path):
    path = write(tmp_path, b"first\nHEAD" + b"x" * 12_000_000 + b"TAIL\nlast\n")
    tracemalloc.start()
    (_, first), (_, long), (number, last) = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first, last, number) == ("first", "last", 3)
    assert long.startswith("HEAD")
    assert long.endswith("TAIL")
    assert "bytes left out" in long
    assert len(long) < 2 * HEAD_LIMIT
    assert peak < 40_000_000


def test_a_hole_of_nul_bytes_costs_nothing(tmp_path):
    assert read(write(tmp_path, b"a\n" + b"\0" * 3_000_000 + b"b\n")) == [(1, "a"), (2, "b")]


def test_endless_progress_bar_is_cut_at_carriage_returns(tmp_path):
    data = b"\r".join(b" %d%%|#| %d/100" % (i % 100, i) for i in range(50_000)) + b"\nend\n"
    chunks = list(iter_chunks(write(tmp_path, data), size=10_000))
    assert max(len(c.data) for c in chunks) < 40_000
    lines = list(lines_of(chunks))
    assert [line.number for line in lines[:50_000]] == [1] * 50_000
    assert lines[-1] == (2, "end")


def test_chunks_end_at_line_ends_and_count_lines(tmp_path):
    path = write(tmp_path, b"".join(b"line %d\n" % i for i in range(1, 1001)))
    for data, number in iter_chunks(path, size=100):
        assert data.endswith(b"\n")
        assert data.startswith(b"line %d\n" % number)


@pytest.mark.parametrize(
    ("text", "rank", "rest"),
    [
        ("[rank2]: Traceback", 2, "Traceback"),
        ("[Rank 1] Watchdog", 1, "Watchdog"),
        ("[default7]: iteration 5/ 10", 7, "iteration 5/ 10"),
        ("(WorkerDict pid=123) step:1 - x", None, "step:1 - x"),
        ("(main_task pid=77, ip=10.0.0.1) [rank3]: boom", 3, "boom"),
        ("(EngineCore_DP0 pid=99) INFO start", 0, "INFO start"),
        ("(APIServer pid=9) INFO start", None, "INFO start"),
        ("3: loss 1.5", 3, "loss 1.5"),
        ("[10:58:53] progress » step:50/500 loss:nan", None, "step:50/500 loss:nan"),
        ("# {'loss': 0.0}", None, "{'loss': 0.0}"),
        ("[2025-01-02 15:57:15,187] [INFO] [logging.py:128:log_dist] [Rank 0] step=840", 0, "step=840"),
        ("[1,4]<stdout>: loss 1", 4, "loss 1"),
        ("plain text", None, "plain text"),
        ("[INFO|trainer.py:1] {'loss': 1}", None, "[INFO|trainer.py:1] {'loss': 1}"),
        ("5: 10/100 done", None, "5: 10/100 done"),
    ],
)
def test_rank_and_process_prefixes(text, rank, rest):
    assert split_prefix(text) == (rank, rest)


def test_binary_and_text_are_told_apart():
    assert is_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    assert is_binary(b"\0" * 4096)
    assert not is_binary(b"")
    assert not is_binary("loss 变为 nan\n".encode("gb18030"))
    assert not is_binary(b"\x1b[31mred\x1b[0m\n" * 20)
    assert not is_binary("utf-16 text".encode("utf-16"))


@given(st.binary(max_size=3000), st.integers(1, 400))
def test_any_bytes_keep_their_line_count(tmp_path_factory, data, size):
    path = tmp_path_factory.mktemp("any") / "x.log"
    path.write_bytes(data)
    try:
        chunks = list(iter_chunks(path, size))
    except TriageError:
        return
    if data[:2] not in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff") and data[:4] != b"\x28\xb5\x2f\xfd":
        assert sum(c.data.count(b"\n") for c in chunks) == data.count(b"\n")
    for line in lines_of(chunks):
        assert "\0" not in line.text
        assert "\n" not in line.text
        split_prefix(line.text)


@given(st.text(max_size=200))
def test_prefixes_never_invent_text(text):
    rank, rest = split_prefix(text)
    assert text.endswith(rest)
    assert rank is None or rank >= 0


def test_holes_of_a_sparse_file_are_passed_over(tmp_path):
    path = tmp_path / "train.log"
    with path.open("wb") as file:
        file.write(b"step 1 loss 2\n")
        file.seek(1 << 30)
        file.write(b"step 2 loss 1\n")
    assert [line.text for line in iter_lines(path)] == ["step 1 loss 2", "step 2 loss 1"]


def test_packed_bomb_is_cut_and_says_so(tmp_path):
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(b"step 1 loss 2\n" + b"a" * (40 << 20)))
    *_, last = iter_lines(path)
    assert "not read further" in last.text


def test_a_listener_hears_every_byte_of_the_file_once(tmp_path):
    plain, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    plain.write_bytes(b"step 1 loss 2\n" * 700_000)
    packed.write_bytes(gzip.compress(b"step 1 loss 2\n" * 700_000))
    heard: list[int] = []
    opened: list[str] = []
    with listening(heard.append, opened.append):
        for path in (plain, packed):
            heard.clear()
            assert sum(len(c.data) for c in iter_chunks(path)) == plain.stat().st_size
            assert sum(heard) == path.stat().st_size
    list(iter_chunks(plain))
    assert sum(heard) == packed.stat().st_size
    assert opened == ["a.log", "b.log.gz"]


def test_a_file_that_grows_while_it_is_read_ends_where_it_ended_at_first(tmp_path):
    path = write(tmp_path, b"step 1 loss 2\n" * 1000)
    lines = 0
    for chunk in iter_chunks(path, 1024):
        lines += chunk.data.count(b"\n")
        with path.open("ab") as file:
            file.write(b"step 2 loss 1\n" * 1000)
    assert lines == 1000


def test_a_beginning_that_is_asked_for_again_is_that_of_the_file_as_it_is_now(tmp_path):
    file = tmp_path / "train.log"
    file.write_bytes(b"a" * 100)
    assert (head(file, 10), head(file, 2 << 20)) == (b"a" * 10, b"a" * 100)
    file.write_bytes(b"b" * 101)
    assert head(file, 10) == b"b" * 10
    file.write_bytes(b"c" * (3 << 20))
    assert [len(head(file, size)) for size in (10, 64 << 10, 65 << 10, 1 << 20, 2 << 20, 4 << 20)] == [
        10, 64 << 10, 65 << 10, 1 << 20, 2 << 20, 3 << 20,
    ]  # fmt: skip
