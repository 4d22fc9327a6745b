"""The web app without a browser: turns, panels, uploads, who sees what (also over HTTP), words."""

import json
import re
import shutil
from copy import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from webclient import served

import triage.evals
import triage.ui
from triage.agent.casebook import Casebook
from triage.agent.evidence import look
from triage.tools.findings import TriageError
from triage.ui.commands.web import read_accounts
from triage.ui.roots import Roots
from triage.ui.web import desk as desk_module
from triage.ui.web import panels, turns
from triage.ui.web.desk import Desk
from triage.ui.web.messages import safe
from triage.ui.web.talk import Talk
from triage.ui.web.words import WORDS

EXAMPLES = Path(triage.evals.__path__[0]) / "example"
WEB = Path(triage.ui.__path__[0]) / "web"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "home").mkdir()
    return Desk(tmp_path / "home", Roots([EXAMPLES]), tmp_path / "scratch", kept=0)


def asked(desk, question="loss is nan at step 4000", paths=(EXAMPLES / "run-1",), owner="user:ann", lang="en"):
    talk = Talk(owner, lang)
    frames = list(turns.ask(desk, talk, question, paths))
    return talk, frames


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    desk = Desk(folder, Roots([EXAMPLES]), folder / "scratch")
    return desk, asked(desk)[0]


def sent(desk, owner, folder, *names, text="step 1 loss 2.0\n"):
    """Files as the server has received them from the owner, with the names that the page gives them."""
    files = []
    for i, name in enumerate(names):
        path = folder / f"incoming-{i}"
        path.write_text(text)
        files.append((path, name))
    desk.enter(owner, "tab", owner)
    desk.received(desk.begin(owner), 0, [path for path, _ in files])
    return files


def runbook(desk):
    from triage.agent.session import index

    return index(desk.home).runbook


# Turns ----------------------------------------------------------------------------------------------


def test_a_turn_ends_with_steps_and_the_short_answer(told):
    _, talk = told
    question, steps, words = talk.messages
    assert question["role"] == "user"
    assert steps["metadata"]["status"] == "done"
    assert "configuration" in steps["content"]
    assert "Most likely" in words["content"]
    assert "Change one thing: train.yaml:5 `learning_rate` 0.3 -> 0.15" in words["content"]
    assert "train.log:347" in words["content"]
    assert "triage verify" not in words["content"]


def test_the_first_picture_comes_before_any_work(desk):
    turn = turns.ask(desk, talk := Talk("user:ann"), "loss is nan", [EXAMPLES / "run-1"])
    assert next(turn) is False
    assert [m["role"] for m in talk.messages] == ["user", "assistant"]
    turn.close()


def test_a_turn_that_waits_for_a_worker_says_so(desk):
    held = 0
    while desk.workers.acquire(blocking=False):
        held += 1
    turn = turns.ask(desk, talk := Talk("user:ann"), "loss is nan", [EXAMPLES / "run-1"])
    next(turn)
    next(turn)
    assert talk.messages[-1]["metadata"]["title"] == WORDS["waiting"].say("en")
    for _ in range(held):
        desk.workers.release()
    assert list(turn)[-1] is True


def test_what_cannot_be_read_is_said_and_opens_no_case(desk, tmp_path):
    talk, frames = asked(desk, paths=[tmp_path / "gone"])
    assert frames[-1] is False
    assert "could not be answered" in talk.messages[-1]["content"]
    assert Casebook(desk.home).cases() == []


def test_a_defect_of_our_own_is_not_shown_as_nothing_found(desk, monkeypatch, capsys):
    monkeypatch.setattr(turns.Conversation, "ask", lambda *a, **k: 1 / 0)
    talk, _ = asked(desk)
    assert "ZeroDivisionError" in talk.messages[-1]["content"]
    assert talk.view is None
    assert "Traceback" in capsys.readouterr().err


def test_the_page_follows_the_language_of_the_question_until_one_is_chosen(desk):
    talk, _ = asked(desk, "loss 变成 nan 了")
    assert talk.lang == "zh"
    assert "最可能" in talk.messages[2]["content"]
    assert "学习率" in talk.view["hypotheses"][0]["title"]
    assert "nan" in talk.view["findings"][0]["message"]
    assert "改回" in talk.view["proposal"]["undo"] or "恢复" in talk.view["proposal"]["undo"]
    turns.speak(talk, "en")
    assert "Most likely" in talk.messages[2]["content"]
    assert talk.view["hypotheses"][0]["title"].startswith("Loss diverges")
    list(turns.ask(desk, talk, "学习率是不是太高了？"))
    assert talk.lang == "en"
    assert "Most likely" in talk.messages[-1]["content"]


def test_an_english_question_after_a_chinese_one_is_answered_in_english(desk):
    talk, _ = asked(desk, "loss 变成 nan 了")
    list(turns.ask(desk, talk, "what speaks against it?"))
    assert not re.search("[\u3400-\u9fff]", talk.messages[-1]["content"])


@pytest.mark.parametrize(("question", "said"), [("explain F1", "F1"), ("what next?", "learning_rate"), ("thanks", "")])
def test_a_follow_up_is_answered_in_its_own_few_lines(desk, question, said):
    talk, _ = asked(desk)
    list(turns.ask(desk, talk, question))
    last = talk.messages[-1]["content"]
    assert said in last
    assert "Looked at:" not in last
    assert len(last) < 1500


def test_a_tab_keeps_no_run_in_memory(told):
    _, talk = told
    assert talk.conversation.answer.seen is None
    assert talk.look() is not None


# Evidence -------------------------------------------------------------------------------------------


def test_a_finding_opens_to_its_lines_and_closes_again(told):
    _, talk = told
    found = next(f["id"] for f in talk.view["findings"] if f["code"] == "loss-nonfinite")
    [first, *_] = turns.lines(talk, found)
    assert "nan" in dict(first.lines)[first.line]
    html = panels.findings(talk.view, "en", found, [first])
    assert 'class="tri-hit"' in html
    assert turns.lines(talk, found) == []
    assert talk.picked == ""
    with pytest.raises(TriageError, match="no finding"):
        turns.lines(talk, "F999")


def test_lines_of_a_log_pasted_into_the_question_are_shown_from_it(desk):
    log = "what is wrong?\n" + "\n".join(f"step {i} loss {1 / i if i < 40 else 'nan'}" for i in range(1, 60))
    talk, _ = asked(desk, log, [])
    found = next(f for f in talk.view["findings"] if f["code"] == "loss-nonfinite")
    [first, *_] = turns.lines(talk, found["id"])
    assert "loss nan" in dict(first.lines)[first.line + 1]  # the place is counted in the paste, below the question


def test_the_diff_stands_side_by_side():
    patch = "--- a/x\n+++ b/x\n@@ -2,3 +2,4 @@\n same\n-old\n+new\n+more\n last\n"
    assert panels.side_by_side(patch) == [
        ((2, "same", "same"), (2, "same", "same")),
        ((3, "gone", "old"), (3, "come", "new")),
        ((None, "none", ""), (4, "come", "more")),
        ((4, "same", "last"), (5, "same", "last")),
    ]


def test_the_label_view_marks_what_is_trained(tmp_path):
    rows = [{"input_ids": [5, 6, 7, 8], "labels": [-100, -100, 7, 8]} for _ in range(4)]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = look([tmp_path]).run
    html = panels.labels(panels.token_dump(run), run, "en")
    assert "50% of 16 tokens in 4 sequences" in html
    assert '<span class="tri-tok tri-t">7</span>' in html
    assert '<span class="tri-tok">6</span>' in html
    assert "no token dump" in panels.labels(None, None, "en").lower()


def test_series_are_drawn_from_a_stored_answer(told):
    _, talk = told
    html = panels.plots(talk.look(), talk.view, "en")
    assert "first bad step 3450" in html
    assert "candidate" in panels.plots(talk.look(), talk.view, "en", look([EXAMPLES / "run-2"]))


def test_nothing_of_a_run_becomes_markup(desk, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    lines = [f"step {i} loss {1 / i if i < 60 else 'nan'} {HOSTILE} ![x](http://h/p.png)" for i in range(1, 90)]
    (run / f"train {HOSTILE}.log").write_text("\n".join(lines))
    (run / "train.yaml").write_text(f"learning_rate: 1.0 # {HOSTILE}\nmax_grad_norm: 0.0 # {HOSTILE}\n")
    talk, _ = asked(desk, f"loss is nan {HOSTILE} ![x](http://h/q.png)", [run])
    excerpts = turns.lines(talk, talk.view["findings"][0]["id"])
    drawn = [
        panels.head(talk.view, runbook(desk), "en", talk.case, runs=[HOSTILE]),
        panels.findings(talk.view, "en", talk.picked, excerpts),
        panels.causes(talk.view, runbook(desk), "en"),
        panels.change(talk.view, runbook(desk), "en"),
        panels.plots(talk.look(), talk.view, "en"),
        panels.cases(desk.cases(talk.owner), runbook(desk), "en"),
        panels.reads([HOSTILE], "en", HOSTILE),
        panels.line([HOSTILE], "en"),
    ]
    assert any("&lt;img" in html for html in drawn)
    assert not [html for html in drawn if "<img" in html]
    said = "".join(m["content"] for m in talk.messages)
    assert not re.search(r"(?<!\\)!\[", said)
    assert "<img" not in re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", said).replace("\\<img", "")


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("![x](http://h/p)", "!\\[x]\\(http://h/p)"),
        ("<script>", "&lt;script>"),
        ("`a < b`", "`a < b`"),
        ("```diff\n+a < b\n```\n<b>", "```diff\n+a < b\n```\n&lt;b>"),
    ],
)
def test_an_answers_markdown_is_made_harmless(markdown, shown):
    assert safe(markdown) == shown


# Verification, cases, feedback ----------------------------------------------------------------------


def test_the_next_run_gets_its_verdict_in_the_panel_and_on_the_case(desk):
    talk, _ = asked(desk)
    assert list(turns.verify(desk, talk, EXAMPLES / "run-2"))[-1] is True
    assert talk.verdict.verdict == "fixed"
    html = panels.verdict(talk.verdict, "zh")
    assert "已修复" in html
    assert "通过" in html
    assert desk.cases(talk.owner)[0].status == "fixed"


@pytest.mark.parametrize("candidate", [None, Path("/nowhere/run")])
def test_a_verification_without_a_readable_run_says_what_is_missing(desk, candidate):
    talk, _ = asked(desk)
    list(turns.verify(desk, talk, candidate))
    assert talk.verdict is None
    assert talk.problem
    assert talk.problem in panels.verdict(None, "en", talk.problem)


def test_a_case_is_shown_again_to_its_owner_only(desk):
    talk, _ = asked(desk)
    turns.feedback(desk, talk, "resolved")
    again = Talk("user:ann")
    assert turns.open_case(desk, again, talk.case)
    assert again.view["hypotheses"] == talk.view["hypotheses"]
    assert turns.lines(again, "F1")
    assert list(turns.ask(desk, again, "and now?"))[-1] is True
    assert again.case == talk.case
    stranger = Talk("user:bob")
    assert not turns.open_case(desk, stranger, talk.case)
    assert stranger.view is None
    assert desk.cases("user:bob") == []


def test_a_case_whose_paths_are_no_longer_allowed_opens_without_reading_them(desk, tmp_path):
    talk, _ = asked(desk)
    shut = Desk(desk.home, Roots([]), tmp_path / "other")
    again = Talk("user:ann")
    assert turns.open_case(shut, again, talk.case)
    assert again.paths == []
    with pytest.raises(TriageError, match="no longer here"):
        turns.lines(again, "F1")
    list(turns.verify(shut, again, EXAMPLES / "run-2"))
    assert "no longer here" in again.problem


def test_feedback_is_kept_on_the_case(desk):
    talk, _ = asked(desk)
    turns.feedback(desk, talk, "unhelpful")
    assert [e["content"] for e in desk.book.get(talk.case).events if e["kind"] == "feedback"] == [{"says": "unhelpful"}]
    assert turns.feedback(desk, Talk("user:ann"), "helpful") == WORDS["first-ask"].say("en")


# Uploads and paths ----------------------------------------------------------------------------------


def test_a_folder_keeps_its_shape_and_a_file_stays_a_file(desk, tmp_path):
    [folder] = desk.take("a", sent(desk, "a", tmp_path, "run-2/train.log", "run-2/rank_1/train.log"))
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.log")) == ["rank_1/train.log", "train.log"]
    assert desk.shown(folder) == "run-2"
    [file] = desk.take("a", sent(desk, "a", tmp_path, "train.log"))
    assert file.is_file()
    assert desk.shown(file) == "train.log"
    [both] = desk.take("a", sent(desk, "a", tmp_path, "train.log", "train.yaml"))
    assert both.is_dir()


@pytest.mark.parametrize("name", ["../../x.log", "/etc/x.log", "a/../../../x.log", "..\\..\\x.log", "", "\x00\n.log"])
def test_an_uploads_name_cannot_leave_its_folder(desk, tmp_path, name):
    [path] = desk.take("a", sent(desk, "a", tmp_path, name))
    assert path.resolve().is_relative_to(desk.scratch)
    assert desk.allowed("a", path)
    assert not desk.allowed("b", path)


def test_an_upload_beyond_the_limits_is_refused_and_removed(desk, tmp_path, monkeypatch):
    monkeypatch.setattr(desk_module, "BYTES_LIMIT", desk_module.LEAST)
    files = sent(desk, "a", tmp_path, "a.log", "b.log")
    with pytest.raises(TriageError, match="limit of 0 MB for the uploads of one person"):
        desk.take("a", files)
    assert not any(path.exists() for path, _ in files)
    assert desk.take("a", sent(desk, "a", tmp_path, "c.log"))


def test_the_same_content_under_several_names_arrives_each_time(desk, tmp_path):
    [(path, _)] = sent(desk, "a", tmp_path, "config.json", text="{}")
    names = ["run/checkpoint-1/config.json", "run/checkpoint-2/config.json"]
    [run] = desk.take("a", [(path, name) for name in names])
    assert sorted(p.relative_to(run.parent).as_posix() for p in run.rglob("*.json")) == names
    sent(desk, "a", tmp_path, "config.json", text="{}")
    [twice] = desk.take("a", [(path, "config.json"), (path, "config.json")])
    assert [p.read_text() for p in twice.rglob("config.json")] == ["{}", "{}"]


def test_two_people_may_send_the_same_file(desk, tmp_path):
    desk.kept = 900
    [[file], _] = [sent(desk, owner, tmp_path, "train.log") for owner in ("a", "b")]
    [[first], [second]] = [desk.take(owner, [file]) for owner in ("a", "b")]
    assert first.read_text() == second.read_text()
    assert not desk.allowed("a", second)
    desk.sweep()
    assert file[0].exists()
    desk.kept = 0
    desk.sweep()
    assert not file[0].exists()


def test_what_another_sent_cannot_be_attached(desk, tmp_path):
    files = sent(desk, "a", tmp_path, "train.log")
    desk.enter("b", "other")
    with pytest.raises(TriageError, match="not an uploaded file"):
        desk.take("b", files)
    with pytest.raises(TriageError, match="not an uploaded file"):
        desk.take("a", [(Path("/etc/passwd"), "train.log")])
    assert desk.take("a", files)


def test_uploads_go_with_the_last_tab(desk, tmp_path):
    desk.enter("a", "one")
    desk.enter("a", "two")
    [path] = desk.take("a", sent(desk, "a", tmp_path, "train.log"))
    desk.leave("tab")
    desk.leave("one")
    assert path.exists()
    desk.leave("two")
    assert not path.exists()
    assert not desk.allowed("a", path)


def test_only_roots_and_own_uploads_are_allowed(desk, tmp_path):
    roots = tmp_path / "roots"
    shutil.copytree(EXAMPLES / "run-1", roots / "run-1")
    (roots / "out").symlink_to("/etc")
    inside = Desk(desk.home, Roots([roots]), tmp_path / "s2")
    assert inside.allowed("a", roots / "run-1")
    assert not inside.allowed("a", Path("/etc/passwd"))
    assert not inside.allowed("a", roots / "out" / "passwd")
    assert not inside.allowed("a", roots / ".." / "home")
    assert inside.offered() == [str(roots / "run-1")]


def test_a_browsers_secret_is_not_the_owners_name():
    assert "s3cret" not in Desk.owner(None, "s3cret")
    assert Desk.owner("ann", "x") == Desk.owner("ann", "y") != Desk.owner(None, "x")


# Nobody in particular -------------------------------------------------------------------------------

BROWSERS = ["b" * 32, "c" * 32]
PEOPLE = ["", *(f"user:{name}" for name in ("ann", "bob")), *(Desk.owner(None, browser) for browser in BROWSERS)]


@pytest.fixture(scope="module")
def page(told, tmp_path_factory):
    """A page over a casebook in which everybody has a case, the terminal too; `cases` names them."""
    from triage.ui.web.app import Page

    folder = tmp_path_factory.mktemp("page")
    desk = Desk(folder, Roots([EXAMPLES]), folder / "scratch")
    cases = {}
    for owner in PEOPLE:
        mark = f"secret of ({owner})"
        cases[owner] = desk.book.open_case(mark, [str(EXAMPLES / "run-1")])
        desk.book.record(cases[owner], "answer", told[1].view | {"question": mark, "answer": mark})
        desk.book.claim(cases[owner], owner)
    page = Page(desk)
    page.of = cases
    return page


def happens(page, talk, name, what):
    """One event of a tab; what the browser gets back."""
    import gradio as gr

    if name == "start":
        user, browser, place = what
        return page.start(browser, place, talk, SimpleNamespace(username=user, headers={}, session_hash="tab"))
    if name in ("open", "pick", "drop"):
        picked = {"open": page.of.get(what), "pick": "F1", "drop": "run-1"}[name]
        try:
            return getattr(page, name)(talk, SimpleNamespace(_data={"pick": picked}))
        except gr.Error as refused:
            return refused.message
    if name == "ask":
        return list(page.ask(talk))
    inputs = {
        "find": "secret",
        "speak": "zh",
        "add_path": "run-1",
        "verify_path": "run-1",
    }
    if name == "begin":
        return page.begin({"text": "loss"}, None, talk)
    return getattr(page, name)(*([inputs[name]] if name in inputs else []), talk)


def test_the_tab_that_is_looked_at_is_the_persons_while_an_answer_arrives(page, told):
    talk = copy(told[1])
    talk.tab = "plots"
    assert page.tabbed not in page.shown(talk)
    talk.tab = "evidence"
    assert {page.tabbed, page.plots}.isdisjoint(page.shown(talk))
    talk.tab = "labels"
    assert page.shown(talk)[page.tabbed]["selected"] == "evidence"


STARTS = st.tuples(
    st.just("start"),
    st.tuples(
        st.sampled_from([None, "ann", "bob"]),
        st.sampled_from(BROWSERS),
        st.sampled_from(["", '{"tab": "t"}', "[]", "{"]),
    ),
)
OTHERS = st.sampled_from(
    ["find", "fresh", "pick", "drop", "speak", "add_path", "verify_path", "begin", "shown", "finish", "ask", "stop"]
)
EVENTS = st.one_of(
    STARTS, st.tuples(st.just("open"), st.sampled_from(PEOPLE)), st.tuples(OTHERS, st.none()),
    st.just(("find", None)),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EVENTS, max_size=12))
def test_no_order_of_events_shows_the_case_of_another(page, events):
    talk = Talk()
    for name, what in events:
        given = repr(happens(page, talk, name, what))
        seen = given + repr(talk.messages) + repr(talk.view)
        foreign = [o for o in PEOPLE if (not talk.owner or o != talk.owner) and (f"secret of ({o})" in seen)]
        assert foreign == [], f"{talk.owner!r} saw {foreign} after {name}"
        listed = [id for o, id in page.of.items() if id in given and (not o or o != talk.owner)]
        assert listed == [], f"{talk.owner!r} was given {listed} after {name}"
        if name == "find" and talk.owner:
            assert page.of[talk.owner] in given


def test_whoever_skips_the_start_of_the_page_gets_nothing(desk, tmp_path):
    nobody = Talk()
    for refused in (
        lambda: turns.ask(desk, nobody, "loss is nan"),
        lambda: turns.verify(desk, nobody, EXAMPLES / "run-2"),
        lambda: desk.take("", [(tmp_path / "train.log", "train.log")]),
        lambda: desk.begin("a" * 43),
        lambda: desk.enter("", "tab"),
    ):
        with pytest.raises(TriageError, match="load it again"):
            refused()
    assert not desk.allowed("", EXAMPLES / "run-1")
    assert nobody.conversation is None
    assert Casebook(desk.home).cases() == []


def test_an_answer_that_comes_after_the_tab_changed_hands_stays_with_who_asked(desk):
    talk = Talk("user:ann")
    turn = turns.ask(desk, talk, "loss is nan")
    next(turn)
    talk.enter("user:bob")
    assert list(turn)
    assert (talk.messages, talk.view, talk.conversation, desk.cases("user:bob")) == ([], None, None, [])
    assert len(desk.cases("user:ann")) == 1


@pytest.mark.parametrize("accounts", [{}, {"bob": "pw"}], ids=["browser", "signed-in"])
def test_over_http_a_session_without_a_start_neither_lists_nor_opens_the_terminals_cases(page, accounts):
    id, mark = page.of[""], "secret of"
    with served(page.desk.home, accounts) as (web, _):
        for account in accounts.items():
            assert web.log_in(*account).status_code == 200
        send = web.event
        listed = send("skipped", "find", "secret")
        assert '"success":true' in listed.replace(" ", "")
        assert mark not in listed
        refused = send("skipped", "open", pick=id)
        assert '"success":false' in refused.replace(" ", "")
        assert mark not in refused
        begun = send("skipped", "begin", {"text": "loss is nan", "files": []})
        assert "load it again" in begun
        own = send("started", "start", "") + send("started", "find", "secret")
        assert ("secret of (user:bob)" in own) == bool(accounts)
        assert "secret of ()" not in own


# Words and the command ------------------------------------------------------------------------------


def test_every_word_is_in_use():
    source = "".join(p.read_text() for p in [*WEB.glob("*.py"), *WEB.glob("templates/*.html")])
    for key in WORDS:
        stem = re.sub(r"^(state|line|status|is|tab|tool|example)-.*", r"\1-", key)
        assert len(re.findall(rf"[\"']{re.escape(stem)}", source)) >= (2 if stem == key else 1), f"{key} is not used"


def test_the_pictures_of_the_documentation_are_small_and_each_is_shown():
    docs = WEB.parents[1] / "docs"
    pages = "".join(p.read_text() for p in [docs / "web.md", docs.parent / "README.md"])
    pictures = list((docs / "images").iterdir())
    assert {p.name for p in pictures if p.stat().st_size > 150_000 or f"images/{p.name}" not in pages} == set()


def test_accounts_come_from_options_and_from_a_private_file(tmp_path):
    file = tmp_path / "accounts"
    file.write_text("# people\nbob:p:q\n\n")
    file.chmod(0o600)
    assert read_accounts(["ann:secret", str(file)]) == {"ann": "secret", "bob": "p:q"}
    file.chmod(0o644)
    with pytest.raises(TriageError, match="chmod 600"):
        read_accounts([str(file)])
    with pytest.raises(TriageError, match="user:password"):
        read_accounts(["ann"])
