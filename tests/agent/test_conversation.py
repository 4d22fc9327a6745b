"""A case in several turns, its events, and what an interface shows of a finding."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import triage.evals
from triage.agent.casebook import Casebook
from triage.agent.conversation import Answered, Conversation
from triage.agent.events import Cancelled, FindingMade, Token, ToolStarted, stream
from triage.agent.session import ProposalMade, ask, ready
from triage.knowledge.entry import RunbookError
from triage.tools.findings import TriageError

EXAMPLES = Path(triage.evals.__path__[0]) / "example"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    talk = Conversation(tmp_path_factory.mktemp("home"))
    return talk, list(stream(lambda listen: talk.ask("loss is nan at step 4000", [EXAMPLES / "run-1"], listen)))


def test_a_turn_tells_tools_then_findings_then_the_change_then_the_words(told):
    talk, events = told
    kinds = [type(e) for e in events]
    assert kinds.index(ToolStarted) < kinds.index(FindingMade) < kinds.index(ProposalMade) < kinds.index(Token)
    assert kinds[-1] is Answered
    assert "".join(e.text for e in events if isinstance(e, Token)) == talk.answer.text


def test_a_finding_shows_the_lines_around_it(told):
    talk, _ = told
    found = next(i for i, f in enumerate(talk.answer.diagnosis.findings, 1) if f.code == "loss-nonfinite")
    shown = talk.excerpts(f"F{found}")[0]
    assert shown.line in dict(shown.lines)
    assert "nan" in dict(shown.lines)[shown.line].lower()
    with pytest.raises(TriageError, match="F999"):
        talk.excerpts("F999")


def test_the_next_run_is_judged_by_the_case_and_noted_in_it(told):
    talk, _ = told
    assert talk.verify(EXAMPLES / "run-2").verdict == "fixed"
    assert Casebook(talk.home).get(talk.case).status == "fixed"


def test_a_continued_case_knows_its_runs_and_reads_a_bare_follow_up_with_its_question(told):
    talk, _ = told
    again = Conversation(talk.home, talk.case)
    assert again.paths == (EXAMPLES / "run-1",)
    assert again.ask("and now?").diagnosis.state == "diagnosed"
    assert again.case == talk.case


def test_without_a_run_there_is_nothing_to_verify(tmp_path):
    with pytest.raises(TriageError, match="failed run first"):
        Conversation(tmp_path).verify(EXAMPLES / "run-2")


def test_a_run_given_later_belongs_to_the_case(tmp_path):
    talk = Conversation(tmp_path)
    talk.ask("loss is nan")
    talk.ask("and in this run?", [EXAMPLES / "run-1"])
    assert Conversation(tmp_path, talk.case).paths == (EXAMPLES / "run-1",)


def test_a_cancelled_first_turn_leaves_no_case(tmp_path):
    def stop(event):
        if isinstance(event, Token):
            raise Cancelled

    talk = Conversation(tmp_path)
    with pytest.raises(Cancelled):
        talk.ask("loss is nan", (), stop)
    assert (talk.case, Casebook(tmp_path).cases()) == ("", [])
    answer = talk.ask("loss is nan")
    assert [c.id for c in Casebook(tmp_path).cases()] == [answer.case] == [talk.case]


def test_closing_the_stream_stops_the_turn_and_an_error_arrives_after_its_events(tmp_path):
    seen = []

    def endless(listen):
        while True:
            listen(Token("x"))
            seen.append(1)

    events = stream(endless)
    next(events)
    events.close()

    def breaks(listen):
        listen(Token("x"))
        raise TriageError("no such run")

    events = stream(breaks)
    assert next(events) == Token("x")
    with pytest.raises(TriageError, match="no such run"):
        next(events)


def test_a_continued_case_still_shows_the_lines_and_the_next_check(told):
    talk, _ = told
    again = Conversation(talk.home, talk.case)
    assert again.next_check() == talk.next_check()
    assert again.excerpts("F1") == talk.excerpts("F1")
    with pytest.raises(TriageError, match="F999"):
        again.excerpts("F999")


@pytest.mark.parametrize("asked", ["explain F1", "what next?", "thanks", "I suspect the data", "again: why?"])
def test_a_follow_up_reads_no_run_again(told, asked):
    talk, _ = told
    proposed = talk.answer.proposal
    events = list(stream(lambda listen: talk.ask(asked, (), listen)))
    assert {e.name for e in events if isinstance(e, ToolStarted)} <= {"search"}
    assert talk.answer.proposal == proposed


def said(talk, text):
    return "".join(e.text for e in stream(lambda listen: talk.ask(text, (), listen)) if isinstance(e, Token))


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A case whose first answer stands, as a person has it on the screen."""
    talk = Conversation(tmp_path_factory.mktemp("known"), brief=True)
    talk.ask("loss is nan at step 4000", [EXAMPLES / "run-1"])
    return talk


WHOLE = ("Fixed when", "满足才算修好", "Looked at:", "检查：")
"""What stands in a whole answer alone."""


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("why not overfitting?", "(`overfitting`)"),
        ("why not kv-cache-oom?", "(`kv-cache-oom`): nothing that was found speaks for it"),
        ("could it be the network instead?", "Before it stands `"),
        ("why is it not a hardware fault?", "Before it stands `"),
        ("what about a data leak?", "Before it stands `"),
        ("为什么不是过拟合？", "（`overfitting`）"),
        ("会不会是网络的问题？", "排在它前面的是 `"),
        ("is it safe to resume?", "Not before the one change"),
        ("can I just continue?", "Not before the one change"),
        ("现在可以直接续训吗？", "先完成那一处改动"),
        ("show me the lines of F1", "F1, "),
        ("show the log lines", " | "),
        ("给我看 F1 的日志", "F1，"),
        ("how sure are you?", "Behind it: "),
        ("what else could it be?", "Behind it: "),
        ("有多大把握？", "其后："),
        ("what speaks against it?", "against"),
        ("I suspect the tokenizer", "You suspect"),
        ("is the moon full?", "no answer of its own"),
        ("which rank of the moon is it?", "no answer of its own"),
        ("from which step on is it bad?", "The first sign of it is at step 3350: F"),
        ("when did it start to go wrong?", "The first sign of it is at step 3350: F"),
        ("从哪一步开始坏的？", "最早的迹象在第 3350 步：F"),
        ("from which step should I resume?", "Not before the one change"),
        ("what is the weight decay?", "`weight_decay` is 0.0 (train.yaml:"),
        ("how high is grad_norm?", "156 values are nan or infinite"),
        ("which line?", " | "),
    ],
)
def test_a_question_about_the_answer_gets_an_answer_of_its_own_in_a_few_lines(known, asked, told):
    text = said(known, asked)
    assert told in text
    assert len(text.splitlines()) < 16
    assert not any(part in text for part in WHOLE)


def test_lines_of_a_finding_are_those_of_its_file(known):
    number, place = next(
        (f"F{n}", f.evidence[0])
        for n, f in enumerate(known.answer.diagnosis.findings, 1)
        if f.evidence and f.evidence[0].line and f.evidence[0].file.endswith(".log")
    )
    line = (EXAMPLES / "run-1" / place.file).read_text().splitlines()[place.line - 1].split()[-1]
    shown = said(known, f"show me the lines of {number}")
    assert f"{place.file}:{place.line}" in shown
    assert line in shown
    assert "There is no F99" in said(known, "show me the lines of F99")


@pytest.mark.parametrize(
    "asked", ["why lower the {}?", "why would I change the {} if grad_norm is fine?", "为什么要改 {}？"]
)
def test_why_the_change_is_asked_for_is_told_with_what_it_rests_on(known, asked):
    change = known.answer.proposal
    text = said(known, asked.format(change.variable))
    assert change.why[:40] in text
    assert "F" in text
    assert not any(part in text for part in WHOLE)


@pytest.mark.parametrize("asked", ["why not lower the batch size?", "为什么不把 batch size 调小？"])
def test_why_not_before_something_to_do_is_a_plan_and_no_cause(known, asked):
    text = said(known, asked)
    assert "learning_rate" in text or "loss-nan-high-lr" in text
    assert "Before it stands" not in text
    assert "排在它前面的" not in text
    assert not any(part in text for part in WHOLE)


def test_a_paste_and_a_new_run_are_answered_whole(known, tmp_path):
    talk = Conversation(tmp_path / "home", brief=True)
    talk.ask("loss is nan", [EXAMPLES / "run-1"])
    rows = "\n".join(f"step {n} loss {2 - n / 100:.2f} grad_norm 0.9" for n in range(40))
    assert "Looked at:" in said(talk, f"why not overfitting?\n{rows}\nRuntimeError: CUDA out of memory.")


def test_a_log_that_grew_is_read_again(tmp_path):
    shutil.copytree(EXAMPLES / "run-1", tmp_path / "run")
    talk = Conversation(tmp_path / "home")
    talk.ask("what went wrong?", [tmp_path / "run"])
    with (tmp_path / "run" / "train.log").open("a") as log:
        log.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    events = list(stream(lambda listen: talk.ask("explain F1", (), listen)))
    assert "scan" in {e.name for e in events if isinstance(e, ToolStarted)}
    assert "cuda-oom" in {f.code for f in talk.answer.diagnosis.findings}


def test_verify_of_a_case_judges_the_run_that_its_answer_was_about(tmp_path):
    for name in ("run-1", "run-2", "run-3"):
        shutil.copytree(EXAMPLES / name, tmp_path / "runs" / name)
    talk = Conversation(tmp_path / "home")
    talk.ask("why did run-1 fail?", [tmp_path / "runs"])
    verdict = talk.verify(EXAMPLES / "run-2")
    assert (verdict.verdict, verdict.baseline) == ("fixed", str(tmp_path / "runs" / "run-1"))


def test_what_a_message_is_understood_by_is_loaded_while_a_person_types(tmp_path):
    """In a process of its own: nothing may be loaded yet. A program that is started from it keeps its environment."""
    code = """
import os, sys
from pathlib import Path
from triage.agent.question import blamed
from triage.agent.session import ready
assert "pypinyin" not in sys.modules and not blamed.phrases.cache_info().currsize
ready(Path(sys.argv[1])).join()
assert "pypinyin" in sys.modules and blamed.phrases.cache_info().currsize
assert "PYPINYIN_NO_PHRASES" not in os.environ
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_encoder_that_is_none_is_told_to_who_asks_and_not_before(tmp_path, capfd):
    nowhere = str(tmp_path / "no-model")
    ready(tmp_path, nowhere).join()
    assert capfd.readouterr() == ("", "")
    with pytest.raises(RunbookError, match="no-model"):
        ask("loss is nan", home=tmp_path, encoder=nowhere)
