import sqlite3
import threading

import pytest

from triage.agent.casebook import Casebook, home
from triage.tools.findings import TriageError


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


def test_a_damaged_casebook_is_named(tmp_path):
    (tmp_path / "cases.sqlite3").write_bytes(b"not a database" * 100)
    with pytest.raises(TriageError, match=r"cases\.sqlite3"):
        Casebook(tmp_path)


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
