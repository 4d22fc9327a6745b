import os
import sqlite3
import stat
import threading

import pytest

from triage.agent.casebook import Casebook, Unusable, home, private
from triage.tools.findings import TriageError
from triage.tools.keeping import losses


def test_a_case_keeps_its_events_in_order(tmp_path):
    book = Casebook(tmp_path)
    case = book.open_case("loss is nan", ["runs/a"])
    book.record(case, "answer", {"state": "diagnosed"})
    book.record(case, "verdict", {"verdict": "fixed"}, status="fixed")
    kept = Casebook(tmp_path).get(case)
    assert [e["kind"] for e in kept.events] == ["answer", "verdict"]
    assert (kept.question, kept.runs, kept.status) == ("loss is nan", ["runs/a"], "fixed")


def test_an_unknown_case_is_refused_by_name(tmp_path):
    with pytest.raises(TriageError, match="no case 'zzz'"):
        Casebook(tmp_path).record("zzz", "note", {})


def test_writers_do_not_lose_each_others_events(tmp_path):
    book = Casebook(tmp_path)
    case = book.open_case("q", [])
    threads = [threading.Thread(target=book.record, args=(case, "note", {"n": n})) for n in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(e["content"]["n"] for e in book.get(case).events) == list(range(20))


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [cut, lambda path: path.write_bytes(b"not a database" * 100)])
def test_a_damaged_casebook_is_set_aside_whole_and_a_new_one_begins(tmp_path, damage):
    book, path = Casebook(tmp_path), tmp_path / "cases.sqlite3"
    case = book.open_case("before", [])
    damage(path)
    broken = path.read_bytes()
    with losses() as told:
        book.open_case("after", [])
        book.open_case("again", [])
    assert [c.question for c in Casebook(tmp_path).cases()] == ["again", "after"]
    assert (tmp_path / "cases.sqlite3.damaged-1").read_bytes() == broken
    [line] = told
    assert f"{path}: set aside as cases.sqlite3.damaged-1" in line
    with pytest.raises(TriageError, match="no case"):
        book.get(case)


def test_many_who_meet_a_damaged_casebook_lose_nothing_of_the_new_one(tmp_path):
    (tmp_path / "cases.sqlite3").write_bytes(b"not a database" * 100)
    threads = [threading.Thread(target=lambda n: Casebook(tmp_path).open_case(str(n), []), args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(c.question for c in Casebook(tmp_path).cases()) == sorted(map(str, range(8)))
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


def test_a_casebook_that_is_no_file_is_named_and_left_alone(tmp_path):
    (tmp_path / "cases.sqlite3").mkdir()
    with pytest.raises(Unusable, match=r"cases\.sqlite3"):
        Casebook(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["cases.sqlite3"]


def test_a_row_that_a_bad_disk_has_changed_hides_no_other(tmp_path):
    book = Casebook(tmp_path)
    case = book.open_case("q", ["runs/a"])
    book.record(case, "answer", {"n": 1})
    book.record(case, "answer", {"n": 2})
    with sqlite3.connect(tmp_path / "cases.sqlite3") as db:
        db.execute("update events set content = '{torn' where rowid = 1")
        db.execute("update cases set runs = '[torn'")
    assert [e["content"] for e in book.get(case).events] == [{"n": 2}]
    assert [c.runs for c in book.cases()] == [[]]


def test_home_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAGE_HOME", str(tmp_path / "here"))
    assert home() == tmp_path / "here"
    assert home(tmp_path / "there") == tmp_path / "there"


def test_owners_see_their_own_cases_and_words_find_them_by_question_run_and_answer(tmp_path):
    book = Casebook(tmp_path)
    first, second = book.open_case("loss is nan", ["runs/exp_42"]), book.open_case("卡死了", [])
    book.claim(first, "ann")
    book.claim(second, "bob")
    book.record(second, "answer", {"answer": "a **straggler** 100%"})
    assert [c.id for c in book.cases(owner="ann")] == [first]
    assert [c.id for c in book.cases()] == [second, first]
    for words, found in {"NAN": [first], "exp_42": [first], "exp%42": [], "卡死": [second], "100%": [second]}.items():
        assert [c.id for c in book.cases(words=words)] == found
    assert book.cases(owner="ann", words="straggler") == []


def test_a_casebook_from_before_cases_had_owners_still_opens(tmp_path):
    with sqlite3.connect(tmp_path / "cases.sqlite3") as db:
        db.execute("create table cases(id text, opened text, question text, runs text, status text)")
        db.execute("insert into cases values('a1', '2026-01-01', 'old', '[]', 'open')")
    assert Casebook(tmp_path).get("a1").owner == ""


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder):
    """What others could read, were the folder itself open: not what lies in a folder that is shut."""
    for path in folder.iterdir():
        shut = not stat.S_IMODE(path.lstat().st_mode) & 0o077
        yield from () if shut else [path]
        if path.is_dir() and not path.is_symlink() and not shut:
            yield from open_to_others(path)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_what_is_kept_in_a_home_that_was_there_is_its_owners_only(tmp_path, usual_umask, mode):
    from triage.agent.wording.trace import record
    from triage.knowledge.compiled import compiled
    from triage.knowledge.library import Library
    from triage.knowledge.vectors import Store
    from triage.tools.boundary import Boundary

    tmp_path.chmod(mode)
    folder = home(tmp_path)
    book = Casebook(folder)
    book.open_case("q", [])
    record(folder, "a1", {}, Boundary())
    compiled(folder / "cache", {})
    with Library(folder).alone():
        assert Library(folder).name
    Store.open(folder / "chroma")
    assert [*open_to_others(folder)] == []
    assert {p.name for p in folder.iterdir()} >= {"cases.sqlite3", "cache", "chroma", "traces"}
    assert stat.S_IMODE(tmp_path.stat().st_mode) == mode


def test_what_an_older_version_left_open_is_shut_and_the_persons_own_is_left_alone(tmp_path, usual_umask):
    ours = ["cases.sqlite3", "cases.sqlite3-wal", "conversations.sqlite3", "slack.sqlite3", "chat-history"]
    for name in [*ours, "notes.txt"]:
        (tmp_path / name).touch()
    for name in ("cache", "chroma", "traces", "mine"):
        (tmp_path / name).mkdir()
    (tmp_path / "lab").symlink_to(tmp_path / "mine")
    home(tmp_path)
    assert {p.name for p in open_to_others(tmp_path)} == {"notes.txt", "mine", "lab"}


def test_a_private_file_keeps_what_is_in_it(tmp_path):
    (tmp_path / "kept").write_text("x")
    assert private(tmp_path / "kept").read_text() == "x"
    assert private(tmp_path / "gone" / "file") == tmp_path / "gone" / "file"
