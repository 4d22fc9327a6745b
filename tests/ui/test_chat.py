"""`triage chat` piped and at a real pseudo-terminal."""

import os
import re
import sys
from pathlib import Path

import pexpect
import pytest
from typer.testing import CliRunner

from triage.ui.cli import app
from triage.ui.commands.chat import paragraphs

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"
TRIAGE = str(Path(sys.executable).with_name("triage"))


class TestPiped:
    @pytest.fixture
    def chat(self, tmp_path):
        def run(said, *args):
            environment = {"TRIAGE_HOME": str(tmp_path / "home")}
            return CliRunner().invoke(app, ["chat", *map(str, args)], input=said, env=environment)

        return run

    def test_a_case_from_the_question_to_the_verdict(self, chat):
        said = f"/run {EXAMPLE / 'run-1'}\nloss is nan\n\n/findings\n/findings f1\n/next\n/verify {EXAMPLE / 'run-2'}\n"
        done = chat(said)
        assert done.exit_code == 0, done.stderr
        told = [
            "1 log",
            "Most likely: Loss diverges because the learning rate is too high",
            "F1  S0 loss-nonfinite",
            ">     347 | {'loss': 'nan'",
            "Change one thing",
            "**fixed**",
            "is kept: triage chat --case",
        ]
        rest = done.stdout
        for text in told:
            assert text in rest
            rest = rest.partition(text)[2]

    def test_a_kept_case_goes_on(self, chat):
        case = re.search(r"case (\w{6,})", chat("loss is nan\n", "--run", EXAMPLE / "run-1").stdout).group(1)
        again = chat("/case\n/findings F1\n", "--case", case)
        assert again.exit_code == 0, again.stderr
        assert f"case {case}   run run-1" in again.stdout
        assert "train.log:347" in again.stdout

    def test_a_log_is_one_message(self, chat):
        log = "what happened?\n" + "".join(f"step: {i} loss: {'nan' if i > 60 else 2.5}\n" for i in range(100))
        told = chat(log).stdout
        assert told.count("Looked at: ") == 1
        assert "loss is nan from step 61" in told

    def test_the_language_is_chosen(self, chat):
        told = chat("/lang zh\nloss is nan\n/help\n", "--run", EXAMPLE / "run-1").stdout
        assert "只改一处" in told
        assert "下一步先做的检查" in told

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ("/nope\n", "/help lists them"),
            ("/run /no/such/run\n", "/no/such/run"),
            ("/run\n", "name a path"),
            ("/verify runs/x\n", "no run to compare with"),
            ("/findings F9\n", "no finding 'F9'"),
            ("/lang de\n", "use en, zh or auto"),
            ("/case zzzz\n", "zzzz"),
        ],
    )
    def test_what_cannot_be_done_is_said_and_the_chat_goes_on(self, chat, said, told):
        done = chat(said + "/next\n")
        assert told in done.stdout
        assert "ask about a run first" in done.stdout
        assert done.exit_code == 2

    def test_nothing_said_is_no_error(self, chat):
        assert chat("\n\n").exit_code == 0


def test_messages_of_a_pipe_end_at_an_empty_line_or_a_command():
    lines = ["/run a\n", "one\n", "\n", "\n", "three\n", "/next\n", "four"]
    assert list(paragraphs(lines)) == ["/run a\n", "one\n", "three\n", "/next\n", "four"]


@pytest.mark.parametrize(
    "block",
    [
        ["loss is nan\n", "explain F1\n", "what next?\n"],
        ["奖励为什么不涨\n", "是不是学习率太低？\n", "下一步呢"],
    ],
)
def test_where_nothing_piped_looks_like_a_log_each_line_is_a_message(block):
    assert list(paragraphs(block)) == block


@pytest.mark.parametrize(
    "block",
    [
        ["loss is nan, here is the log\n", "step 10 loss 2.1\n", "step 20 loss nan\n", "Saving what is left\n"],
        ["Traceback (most recent call last):\n", '  File "a.py", line 3, in f\n', "KeyError: 'x'\n"],
        ["we moved the run to the new cluster last night and since then the\n", "loss is higher at the same step\n"],
        ["Loading the weights\n"] * 30,
    ],
)
def test_a_log_with_what_is_said_of_it_and_a_sentence_over_two_lines_stay_together(block):
    assert list(paragraphs(block)) == ["".join(block)]


@pytest.fixture
def terminal(tmp_path):
    children = []

    def open_terminal(command=TRIAGE, args=("chat",)):
        env = os.environ | {"TRIAGE_HOME": str(tmp_path / "home"), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        child = pexpect.spawn(command, list(args), env=env, encoding="utf-8", timeout=120, dimensions=(40, 100))
        children.append(child)
        child.expect("triage>")
        return child

    yield open_terminal
    for child in children:
        child.close(force=True)


ENDLESS = """
import sys, time
from triage.agent.conversation import Conversation
from triage.agent.events import ToolStarted
from triage.ui.cli import main

def ask(self, text, paths, listen):
    listen(ToolStarted("scan"))
    time.sleep(600)

Conversation.ask = ask
sys.argv = ["triage", "chat"]
main()
"""
"""A chat whose turns never end by themselves."""


class TestAtATerminal:
    def test_a_pasted_log_is_one_message_and_is_remembered_without_its_secret(self, terminal, tmp_path):
        token = "hf_" + "aB3d" * 9
        chat = terminal()
        log = f"why?\nHF_TOKEN={token}\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\nstep 3"
        chat.send(f"\x1b[200~{log}\x1b[201~")
        chat.send("\r")
        chat.expect("cuda-oom")
        chat.expect(r"case \w{6}")
        chat.expect("triage>")
        chat.sendeof()
        chat.expect("is kept: triage chat --case")
        chat.expect(pexpect.EOF)
        chat.wait()
        assert chat.exitstatus == 0
        history = (tmp_path / "home" / "chat-history").read_text()
        assert "CUDA out of memory" in history
        assert token not in history

    def test_ctrl_c_stops_the_turn_and_not_the_chat(self, terminal):
        chat = terminal(sys.executable, ["-c", ENDLESS])
        chat.sendline("is this run fine?")
        chat.expect("scan")
        chat.sendintr()
        chat.expect("stopped")
        chat.expect("triage>")
        chat.sendline("/next")
        chat.expect("ask about a run first")

    def test_commands_and_paths_complete(self, terminal):
        chat = terminal()
        chat.send("/fin\t")
        chat.expect("dings")
        chat.send("\r")
        chat.expect("No findings yet")
        chat.send(f"/run {EXAMPLE}/run-1/tra\t")
        chat.expect("trainer_state.json")
