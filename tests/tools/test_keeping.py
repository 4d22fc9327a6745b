import errno
import os
import signal
import sqlite3
import stat
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.tools.keeping import append, held, losses, lost, mend, whole


class Stop(BaseException):
    """Whatever ends a block: a kill that Python hears of, an error, Ctrl-C."""


ERRORS = [Stop(), OSError(errno.ENOSPC, "No space left on device"), ValueError("x"), KeyboardInterrupt()]


@given(st.integers(0, 3), st.booleans(), st.sampled_from(ERRORS))
def test_files_are_written_all_of_them_or_none_and_no_part_stays(tmp_path_factory, stops, there, error):
    folder = tmp_path_factory.mktemp("out")
    paths = [folder / name for name in "abc"]
    if there:
        for path in paths:
            path.write_text("before")
    with suppress(type(error)), whole(*paths) as drafts:
        for number, draft in enumerate(drafts):
            if number == stops:
                raise error
            draft.write_text("after")
    left = {p.name: p.read_text() for p in folder.iterdir()}
    assert left == dict.fromkeys("abc", "after" if stops == 3 else "before") if there or stops == 3 else left == {}


def test_a_new_file_never_replaces_one_that_is_there_or_came_meanwhile(tmp_path):
    path = tmp_path / "report.zip"
    for late in (True, False):
        with pytest.raises(FileExistsError) as raised, whole(path, new=True) as (draft,):  # noqa: PT012
            assert late
            draft.write_text("ours")
            path.write_text("theirs")
        assert raised.value.filename == str(path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"report.zip": "theirs"}


def test_a_file_that_cannot_be_written_is_named_as_it_was_asked_for(tmp_path):
    for path in (tmp_path / "none" / "x", tmp_path):
        with pytest.raises(OSError, match=r"No such file|directory") as raised, whole(path) as (draft,):
            draft.write_text("x")
        assert raised.value.filename == str(path)
    with pytest.raises(OSError, match="elsewhere") as raised, whole(tmp_path / "x"):
        (tmp_path / "elsewhere").read_bytes()
    assert raised.value.filename == str(tmp_path / "elsewhere")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_and_a_pipe_is_written_as_it_is(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with whole(tmp_path / "link") as (draft,):
        draft.write_text("x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "x"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole(tmp_path / "pipe") as (draft,):
        draft.write_text("x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_file_of_ones_own_is_private_before_a_word_is_in_it(tmp_path):
    with whole(tmp_path / "x", mode=0o600) as (draft,):
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_a_torn_line_takes_no_other_along(tmp_path):
    path = tmp_path / "x.jsonl"
    append(path, b"one")
    path.write_bytes(path.read_bytes() + b"tor")
    append(path, b"two")
    append(path, b"three")
    assert path.read_bytes().splitlines() == [b"one", b"tor", b"two", b"three"]


def test_a_sound_database_is_not_set_aside(tmp_path):
    path = tmp_path / "x.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("create table t(a)")
    with losses() as told:
        mend(path)
        mend(tmp_path / "none.sqlite3")
    assert (told, [p.name for p in tmp_path.iterdir()]) == ([], ["x.sqlite3"])


def test_a_loss_is_told_once_to_every_block_around_it(tmp_path):
    with losses() as outer:
        with losses() as inner:
            for _ in range(3):
                lost(tmp_path / "x", "not kept", OSError(errno.ENOSPC, "No space left on device"))
        lost(tmp_path / "y", "not used", "torn")
    lost(tmp_path / "z", "not used", "nobody hears")
    assert inner == [f"{tmp_path / 'x'}: not kept (No space left on device)"]
    assert outer == [*inner, f"{tmp_path / 'y'}: not used (torn)"]


def test_a_signal_that_another_thread_is_given_waits_too():
    awake, done = threading.Event(), []
    other = threading.Thread(target=awake.wait)
    other.start()
    with suppress(KeyboardInterrupt):
        with held(signal.SIGINT):
            signal.pthread_kill(other.ident or 0, signal.SIGINT)
            time.sleep(0.05)
            done.append("block")
        done.append("after")
    awake.set()
    other.join()
    assert done == ["block"]
