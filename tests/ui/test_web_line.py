"""Turns of the web app that nobody has to watch, the line behind them, and what a tab keeps when it is loaded again."""

import threading
import time
from pathlib import Path

import pytest
from webclient import served

import triage.evals
from triage.agent.casebook import Casebook
from triage.tools.findings import TriageError
from triage.ui.roots import Roots
from triage.ui.web import desk as desk_module
from triage.ui.web import turns
from triage.ui.web.app import where
from triage.ui.web.desk import Desk
from triage.ui.web.line import LONGEST, Turn, Waiting
from triage.ui.web.talk import Talk

EXAMPLES = Path(triage.evals.__path__[0]) / "example"


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "home").mkdir()
    return Desk(tmp_path / "home", Roots([EXAMPLES]), tmp_path / "scratch", kept=0)


class Work:
    """Frames that come one by one when they are let."""

    def __init__(self, frames=3, panels=True):
        self.gate, self.frames, self.panels, self.closed = threading.Semaphore(0), frames, panels, threading.Event()

    def __call__(self):
        try:
            for i in range(self.frames):
                self.gate.acquire()
                yield self.panels and i == self.frames - 1
        finally:
            self.closed.set()

    def let(self, times=1):
        self.gate.release(times)


def over(turn):
    turn.join(10)
    assert turn.over


# Turns ----------------------------------------------------------------------------------------------


def test_a_turn_goes_on_though_nobody_watches():
    work = Work()
    turn = Turn(work())
    assert not turn.over
    work.let(3)
    over(turn)


def test_whoever_joins_later_sees_that_the_panels_changed():
    work = Work()
    turn = Turn(work())
    work.let(3)
    over(turn)
    assert any(turn.watch())
    assert any(turn.watch()), "another watcher sees it as well"


def test_several_watch_one_turn():
    work, seen = Work(5), []
    turn = Turn(work())
    watchers = [threading.Thread(target=lambda: seen.append(sum(turn.watch()))) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    work.let(5)
    for watcher in watchers:
        watcher.join(10)
    assert seen == [1, 1, 1]


def test_what_waits_is_done_in_its_order():
    first, done = Work(1), []

    def step(name):
        return lambda: iter([done.append(name) or True])

    turn = Turn(first())
    assert [turn.add(Waiting(name, step(name))) for name in "abc"] == [True] * 3
    assert turn.labels == ["a", "b", "c"]
    first.let()
    over(turn)
    assert done == ["a", "b", "c"]
    assert turn.labels == []


def test_the_line_has_an_end_and_a_turn_that_is_over_takes_nothing():
    work = Work(1)
    turn = Turn(work())
    waiting = Waiting("more", lambda: iter([]))
    assert [turn.add(waiting) for _ in range(LONGEST)] == [True] * LONGEST
    assert turn.add(waiting) is False
    work.let()
    over(turn)
    assert turn.add(waiting) is None


def test_a_stopped_turn_is_over_at_once_and_gives_its_line_back():
    work, waiting = Work(), Waiting("next", lambda: iter([]))
    turn = Turn(work())
    turn.add(waiting)
    assert turn.stop() == [waiting]
    assert turn.over
    assert list(turn.watch()) == [False]
    work.let()
    turn.join(10)
    assert work.closed.wait(10), "its generator was closed at its next frame"


def test_a_turn_that_breaks_is_over():
    def broken():
        yield False
        raise RuntimeError

    turn = Turn(broken())
    turn.join(10)
    assert turn.over


# Questions ------------------------------------------------------------------------------------------


def finished(talk):
    deadline = time.monotonic() + 60
    while talk.busy and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not talk.busy


def hold(desk):
    """All workers, so that nothing is answered until they are let go."""
    held = 0
    while desk.workers.acquire(blocking=False):
        held += 1
    return held


def test_a_second_question_waits_and_both_are_answered(desk):
    talk, held = Talk("user:ann"), hold(desk)
    assert turns.start(desk, talk, "loss is nan", [EXAMPLES / "run-1"])
    assert turns.start(desk, talk, "should I enable gradient clipping?", [])
    assert talk.turn.labels == ["should I enable gradient clipping?"]
    desk.workers.release(held)
    finished(talk)
    assert [m["content"] for m in talk.messages if m["role"] == "user"] == [
        "loss is nan",
        "should I enable gradient clipping?",
    ]
    assert len(desk.cases("user:ann")) == 1


def test_a_question_beyond_the_line_is_refused(desk):
    talk, held = Talk("user:ann"), hold(desk)
    put = [turns.start(desk, talk, f"what is warm-up {i}?", []) for i in range(LONGEST + 2)]
    assert put == [True] * (LONGEST + 1) + [False]
    desk.workers.release(held)
    talk.turn.stop()


def test_the_turns_under_way_are_bounded(desk, monkeypatch):
    monkeypatch.setattr(desk_module, "TURNS", (2, 3))
    talks = [Talk(owner) for owner in ("user:ann", "user:ann", "user:ann", "user:bob", "user:eve")]
    held = hold(desk)
    assert [turns.start(desk, talk, "what is warm-up?", []) for talk in talks] == [True, True, False, True, False]
    desk.workers.release(held)
    finished(talks[0])
    talks[0].turn.join(30)
    assert turns.start(desk, talks[4], "what is warm-up?", [])


def test_what_is_stopped_opens_no_case_and_keeps_what_was_attached(desk):
    talk, held = Talk("user:ann"), hold(desk)
    turns.start(desk, talk, "loss is nan", [EXAMPLES / "run-1"])
    turns.stop(desk, talk)
    assert "Stopped" in talk.messages[-1]["content"]
    assert not any(m.get("metadata", {}).get("status") == "pending" for m in talk.messages)
    assert talk.waiting == [EXAMPLES / "run-1"]
    shown = [dict(m) for m in talk.messages]
    desk.workers.release(held)
    talk.turn.join(30)
    time.sleep(0.2)
    assert talk.messages == shown
    assert Casebook(desk.home).cases() == []


def test_after_a_stop_the_next_in_line_is_answered(desk):
    talk, held = Talk("user:ann"), hold(desk)
    turns.start(desk, talk, "loss is nan", [EXAMPLES / "run-1"])
    turns.start(desk, talk, "what does warm-up do?", [])
    turns.stop(desk, talk)
    desk.workers.release(held)
    finished(talk)
    assert [m["content"] for m in talk.messages if m["role"] == "user"][-1] == "what does warm-up do?"
    assert talk.view


def test_an_answer_that_is_on_its_way_stays_with_whoever_asked(desk):
    """However the tab goes on: to another case, or to another person."""
    for leave in (Talk.fresh, lambda talk: talk.enter("user:bob")):
        talk, held = Talk("user:ann"), hold(desk)
        turns.start(desk, talk, "loss is nan", [EXAMPLES / "run-1"])
        turns.start(desk, talk, "what does warm-up do?", [])
        turn = talk.turn
        leave(talk)
        desk.workers.release(held)
        turn.join(60)
        assert (talk.messages, talk.view, talk.conversation, talk.paths) == ([], None, None, [])
    assert len(desk.cases("user:ann")) == 2
    assert desk.cases("user:bob") == []


def test_a_run_that_is_taken_out_is_read_no_more(desk):
    talk = Talk("user:ann")
    list(turns.ask(desk, talk, "loss is nan", [EXAMPLES / "run-1"]))
    turns.drop(desk, talk, "example/run-1")
    assert talk.paths == []
    assert desk.book.get(talk.case).runs == []
    list(turns.ask(desk, talk, "what is wrong with this one?", [EXAMPLES / "run-2"]))
    assert talk.view["state"] == "healthy"


# A tab that is loaded again -------------------------------------------------------------------------


def test_a_tab_is_found_again_by_its_owner_only(desk):
    talk = Talk("user:ann")
    desk.keep(talk, "t" * 32)
    assert desk.talk("user:ann", "t" * 32) is talk
    assert desk.talk("user:bob", "t" * 32) is None
    assert desk.talk("user:ann", "other") is None
    assert desk.talk("", "t" * 32) is None


def test_tabs_without_an_owner_or_a_name_are_not_kept_and_their_number_is_bounded(desk):
    desk.keep(Talk(), "t")
    desk.keep(Talk("user:ann"), "")
    assert desk.talk("user:ann", "") is None
    for i in range(desk_module.TALKS_KEPT + 5):
        desk.keep(Talk("user:ann"), f"tab {i}")
    assert desk.talk("user:ann", "tab 0") is None
    assert desk.talk("user:ann", f"tab {desk_module.TALKS_KEPT + 4}")


def test_what_a_tab_showed_goes_with_its_owner(desk):
    desk.enter("user:ann", "session")
    desk.keep(Talk("user:ann"), "tab")
    desk.leave("session")
    assert desk.talk("user:ann", "tab") is None


@pytest.mark.parametrize("said", [None, "", "{", "[]", "7", '{"tab": {"a": 1}}', '{"lang": "fr", "case": null}'])
def test_what_a_page_says_of_itself_is_only_words(said):
    tab, lang, case = where(said)
    assert (lang, case) == ("", "")
    assert isinstance(tab, str)
    assert where('{"tab": "t", "lang": "zh", "case": "4be1c9"}') == ("t", "zh", "4be1c9")


# Links ----------------------------------------------------------------------------------------------


def test_a_link_leads_to_the_page_of_its_case_and_to_nothing_else(tmp_path):
    with served(tmp_path) as (web, _):
        answer = web.get("/case/4be1c9")
        assert (answer.status_code, answer.headers["location"]) == (303, "/?case=4be1c9")
        for other in (
            "/case/../etc",
            "/case/4be1c9/x",
            "/case/<b>",
            "/case/",
            "/case/" + "a" * 41,
        ):
            assert web.get(other).headers.get("location", "") in ("", "/"), other


def test_over_http_a_link_opens_the_case_for_its_owner_only(tmp_path):
    with served(tmp_path) as (web, desk):
        mark = "a secret question"
        id = desk.book.open_case(mark, [])
        desk.book.claim(id, "user:somebody")
        given = web.event("tab", "start", "", f'{{"tab": "t", "case": "{id}"}}')
        assert '"success":true' in given.replace(" ", "")
        assert mark not in given


def test_a_list_of_cases_names_the_cause_of_each(desk):
    talk = Talk("user:ann")
    list(turns.ask(desk, talk, "loss is nan", [EXAMPLES / "run-1"]))
    [case] = desk.cases("user:ann")
    assert case.cause == "loss-nan-high-lr"
    with pytest.raises(TriageError):
        desk.book.get("nothing")


def test_what_is_said_about_the_turn_stands_below_its_answer(desk, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log").write_text("\n".join(f"step: {i} loss: {2 - i / 1000:.3f}" for i in range(400)))
    talk = Talk("user:ann")
    list(turns.ask(desk, talk, "is it healthy?", [run]))
    (run / "train.log").write_text("\n".join(f"step: {i} loss: {2 - i / 1000:.3f}" for i in range(800)))
    list(turns.ask(desk, talk, "is it healthy?"))
    assert "*The run has changed since the last answer" in talk.messages[-1]["content"]
