"""The answer that fits a screen, on every surface; what leaves a chat; what is not looked at again; bad questions."""

import json
import os
import re
import shlex
import shutil
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.agent.casebook import Casebook
from triage.agent.conversation import Conversation
from triage.agent.events import Notice, Token, ToolStarted
from triage.agent.narrate.short import INDENT, LINES, WIDTH, command, wrapped
from triage.agent.session import ask
from triage.agent.wording.tongue import third
from triage.tools.findings import TriageError
from triage.ui.cli import app

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"
RUNS = ("run-1", "run-2", "run-3", "run-4")


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fits(short):
    lines = short.splitlines()
    return len(lines) <= LINES == 20 and max(map(columns, lines)) <= WIDTH == 80


@pytest.fixture
def triage(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIAGE_HOME", str(tmp_path / "home"))

    def run(*args, said=None):
        return CliRunner().invoke(app, [*map(str, args)], input=said)

    return run


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """A conversation that has answered one question about a run."""
    talk = Conversation(tmp_path_factory.mktemp("home"), use_model=False)
    talk.ask("loss is nan", [EXAMPLE / "run-1"])
    return talk


class TestAScreen:
    @pytest.mark.parametrize(
        "question",
        [
            "what went wrong? my boss says bad data, and I want to double the learning rate",
            "出了什么问题？我怀疑数据有问题，打算把学习率调高一倍，也想开启梯度裁剪",
        ],
    )
    @pytest.mark.parametrize("run", RUNS)
    def test_every_bundled_run_fits_in_both_languages(self, run, question):
        answer = ask(question, [EXAMPLE / run])
        short = answer.short
        assert fits(short)
        d = answer.as_json()
        if d["state"] == "diagnosed":
            assert d["hypotheses"][0]["entry"] in short.replace("\n" + INDENT, "")
        if d["proposal"]:
            p = d["proposal"]
            assert f"{p['file']}:{p['line']} `{p['key']}` {p['old']} -> {p['new']}" in short
            assert re.search(r"^F\d S\d .*(?:\n   .*)?\([\w.]+:\d+\)$", short, re.M), "a finding with its place"
            assert "triage verify --baseline" in short
        else:
            assert "triage verify" not in short

    def test_the_command_is_to_be_copied_as_it_stands(self, triage, tmp_path):
        runs = tmp_path / "a folder whose name takes most of a line by itself, and goes on a little" / "run-1"
        shutil.copytree(EXAMPLE / "run-1", runs)
        short = json.loads(triage("ask", "loss is nan", "--run", runs, "--json").stdout)["short"]
        text = short[short.index("triage verify") : short.index("\nLooked at")]
        words = shlex.split(text.replace("\\\n", ""))
        assert words[:3] == ["triage", "verify", "--baseline"]
        assert words[3] == str(runs)
        done = triage(*[str(EXAMPLE / "run-2") if w == "NEXT_RUN" else w for w in words[1:]])
        assert done.exit_code == 0, done.output

    @pytest.mark.parametrize("path", ["runs/a", "/data/" + "x" * 30, "/data/" + "long/" * 40 + "end"])
    def test_a_command_means_the_same_on_several_lines(self, path):
        words = ["triage verify", f"--baseline {path}", "--candidate NEXT_RUN", "--case 4be1c9"]
        lines = command("Then: ", words)
        assert max(map(len, lines)) <= WIDTH
        assert shlex.split("".join(line.removesuffix("\\") for line in lines))[1:] == " ".join(words).split()

    def test_words_and_pieces_of_code_stay_whole(self):
        text = (
            "**Most likely: "
            + "a cause of many words " * 3
            + "** (`warmup-too-short-for-this`), 概率 80%。"
            + "学习率过高" * 9
        )
        lines = wrapped(text, 9)
        assert max(map(columns, lines)) <= WIDTH
        assert all(line.count("**") % 2 == 0 for line in lines), "each line has its own emphasis"
        assert any("`warmup-too-short-for-this`" in line for line in lines)
        assert not any(line.strip().startswith(("，", "。", "）")) for line in lines)

    def test_many_opinions_leave_the_change_the_command_and_a_finding(self):
        suspects = "data, the tokenizer, nccl, the gpu, the optimizer, warmup, precision, clipping and the loader"
        plans = "double the learning rate, disable clipping, halve the batch size, and turn off packing"
        said = f"I suspect the {suspects}. I want to {plans}."
        short = ask(said, [EXAMPLE / "run-1"]).short
        assert fits(short)
        for part in ("F1 S0", "train.yaml:5 `learning_rate` 0.3 -> 0.15", "triage verify", "Looked at"):
            assert part in short

    def test_the_terminal_prints_it_and_v_prints_the_whole(self, triage):
        words = ("ask", "loss is nan", "--run", EXAMPLE / "run-1")
        brief, whole, also = triage(*words).stdout, triage(*words, "-v").stdout, triage(*words, "--full").stdout
        assert fits(brief.rstrip().rpartition("\n")[0])
        assert "-v shows the whole answer" in brief
        assert "###" not in brief
        for part in ("### Possible causes", "### One change", "-learning_rate: 0.3", "### Cautions", "### Sources"):
            assert part in whole
            assert part in also

    def test_the_whole_answer_begins_with_the_same_lines(self):
        answer = ask("I suspect the data, loss is nan", [EXAMPLE / "run-1"])
        first, _, rest = answer.text.partition("\n\n")
        assert first == answer.head[0]
        assert rest.startswith("".join(f"- {line}\n" for line in answer.head[1:]))
        flat = re.sub(r"\n {3}", " ", answer.short).replace("** **", " ")
        assert all(line in flat for line in answer.head)


class TestChat:
    @pytest.mark.parametrize("word", ["quit", "exit", "bye", "BYE", "/quit", "再见"])
    def test_a_word_leaves(self, triage, word):
        done = triage("chat", "--run", EXAMPLE / "run-1", said=f"loss is nan\n\n{word}\n\nwhy is the loss nan?\n")
        assert done.exit_code == 0
        assert done.stdout.count("Most likely") == 1
        assert "is kept: triage chat --case" in done.stdout

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ("thanks", "You are welcome"),
            ("explain F1", "loss-nonfinite"),
            ("谢谢", "不客气"),
            ("почему loss стал nan?", "English or Chinese, please"),
        ],
    )
    def test_what_needs_no_look_runs_no_tool_and_keeps_the_diagnosis(self, talk, said, told):
        events = []
        before = talk.answer.diagnosis
        answer = talk.ask(said, listen=events.append)
        assert told in answer.text
        assert [e for e in events if isinstance(e, ToolStarted)] == []
        assert answer.diagnosis == before
        assert "".join(e.text for e in events if isinstance(e, Token)) == answer.text

    def test_at_a_terminal_the_lines_stay_lines(self, tmp_path):
        pexpect = pytest.importorskip("pexpect")
        words = ["chat", "--home", str(tmp_path), "--run", str(EXAMPLE / "run-1")]
        env = os.environ | {"TERM": "dumb", "PROMPT_TOOLKIT_NO_CPR": "1"}
        chat = pexpect.spawn(str(Path(sys.executable).with_name("triage")), words, env=env, encoding="utf-8",
                             timeout=120, dimensions=(24, 80))  # fmt: skip
        chat.expect("triage>")
        chat.sendline("loss is nan")
        chat.expect("Looked at")
        shown = chat.before
        chat.sendline("quit")
        chat.expect(pexpect.EOF)
        assert re.search(r"^Change one thing: train.yaml:5 `learning_rate` 0.3 -> 0.15\r?$", shown, re.M)
        assert re.search(r"^Then: triage verify --baseline ", shown, re.M)


class TestARunThatIsNotGivenByAnOption:
    @pytest.fixture
    def here(self, tmp_path, monkeypatch):
        folder = tmp_path / "here"
        shutil.copytree(EXAMPLE / "run-1", folder / "runs" / "exp42")
        shutil.copytree(EXAMPLE / "run-2", tmp_path / "beside" / "exp9")
        (folder / "runs" / "out").symlink_to(tmp_path / "beside" / "exp9")
        monkeypatch.chdir(folder)
        return folder

    def test_a_path_in_the_words_is_read_and_that_is_said(self, triage, here):
        done = triage("ask", "why did runs/exp42 diverge?").stdout
        assert "read runs/exp42, named in the question" in done
        assert "train.log:347" in done
        assert "--baseline runs/exp42 " in done

    @pytest.mark.parametrize(("said", "read"), [("exp42", True), ("exp-43", False), ("loss", False)])
    def test_a_folder_beside_is_named_by_its_name_alone(self, triage, here, monkeypatch, said, read):
        monkeypatch.chdir(here / "runs")
        (here / "runs" / "loss").mkdir()
        assert ("named in the question" in triage("ask", f"why did {said} diverge?").stdout) is read

    @pytest.mark.parametrize(
        "name", ["../beside/exp9", "{tmp}/beside/exp9", "runs/out", "runs/none", "runs/../../beside/exp9"]
    )
    def test_nothing_outside_the_folder_is(self, triage, here, tmp_path, name):
        a = json.loads(triage("ask", f"why did {name} diverge?".replace("{tmp}", str(tmp_path)), "--json").stdout)
        assert (a["run"], a["findings"]) == (None, [])

    def test_one_that_is_given_stands(self, triage, here):
        a = json.loads(triage("ask", "why did runs/exp42 diverge?", "--run", EXAMPLE / "run-2", "--json").stdout)
        assert a["run"] == str(EXAMPLE / "run-2")

    def test_the_folder_one_stands_in_is_offered_and_not_read(self, triage, here, monkeypatch):
        assert "add --run ." not in triage("ask", "why did the loss diverge?").stdout
        monkeypatch.chdir(here / "runs" / "exp42")
        done = triage("ask", "why did the loss diverge?").stdout
        assert "add --run ." in done
        assert "train.log:" not in done

    def test_a_path_in_the_words_is_only_words_to_a_service(self, here):
        assert ask("why did runs/exp42 diverge?").seen is None


class TestTwoTrainings:
    @pytest.mark.parametrize("order", [("run-1", "run-2"), ("run-2", "run-1")])
    def test_the_other_one_is_the_candidate(self, triage, order):
        done = triage("ask", "what happened?", *(w for r in order for w in ("--run", EXAMPLE / r)), "--json")
        a = json.loads(done.stdout)
        said = re.sub(r"\\\n *", "", a["short"])
        assert a["run"] == str(EXAMPLE / "run-1")
        assert f"--baseline {EXAMPLE / 'run-1'} --candidate {EXAMPLE / 'run-2'} --case {a['case']}" in said

    def test_beside_a_case_too(self, tmp_path):
        talk = Conversation(tmp_path, use_model=False)
        talk.ask("loss is nan", [EXAMPLE / "run-1"])
        again = Conversation(tmp_path, talk.case, use_model=False).ask("and this one?", [EXAMPLE / "run-2"])
        assert again.candidate == str(EXAMPLE / "run-2")

    def test_of_many_none_is_guessed(self):
        assert "--candidate NEXT_RUN" in ask("what happened?", [EXAMPLE]).short


class TestTheRunOfACase:
    @pytest.fixture
    def kept(self, tmp_path, monkeypatch):
        shutil.copytree(EXAMPLE / "run-1", tmp_path / "work" / "a")
        monkeypatch.chdir(tmp_path / "work")
        talk = Conversation(tmp_path / "home", use_model=False)
        talk.ask("loss is nan", [Path("a")])
        return talk

    def notices(self, talk, text, *paths):
        events = []
        answer = talk.ask(text, [*map(Path, paths)], events.append)
        return answer, [e.text for e in events if isinstance(e, Notice)]

    def test_it_is_kept_with_its_absolute_path_and_once(self, kept, tmp_path, monkeypatch):
        assert Casebook(kept.home).get(kept.case).runs == [str(tmp_path / "work" / "a")]
        monkeypatch.chdir(tmp_path)
        answer, told = self.notices(Conversation(kept.home, kept.case, use_model=False), "what now?", "work/a")
        assert (answer.diagnosis.state, told, answer.candidate) == ("diagnosed", [], "")
        assert Casebook(kept.home).get(kept.case).runs == [str(tmp_path / "work" / "a")]

    def test_one_that_is_gone_is_said(self, kept, tmp_path):
        (tmp_path / "work" / "a").rename(tmp_path / "work" / "b")
        again = Conversation(kept.home, kept.case, use_model=False)
        with pytest.raises(TriageError, match=r"no longer at .*/work/a; give the path where it is now"):
            again.ask("what now?")
        answer, [told] = self.notices(again, "what now?", "b")
        assert "no longer at" in told
        assert answer.diagnosis.top.entry.id == "loss-nan-high-lr"
        assert Casebook(kept.home).get(kept.case).runs == [str(tmp_path / "work" / "b")]

    @pytest.mark.parametrize("again", [True, False], ids=["another process", "the same chat"])
    def test_one_that_has_changed_is_said_and_read_anew(self, kept, tmp_path, again):
        talk = Conversation(kept.home, kept.case, use_model=False) if again else kept
        log = tmp_path / "work" / "a" / "train.log"
        log.write_bytes(log.read_bytes() + b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        os.utime(log, (time.time() + 60,) * 2)
        answer, told = self.notices(talk, "explain F1")
        assert told == ["The run has changed since the last answer: it was read and diagnosed anew."]
        assert "cuda-oom" in {f.code for f in answer.diagnosis.findings}

    def test_one_that_has_not_is_not(self, kept):
        assert self.notices(Conversation(kept.home, kept.case, use_model=False), "loss is nan, why?")[1] == []
        assert self.notices(kept, "and is it the data?")[1] == []

    def test_the_terminal_says_it(self, kept, triage, tmp_path):
        (tmp_path / "work" / "a").rename(tmp_path / "work" / "b")
        done = triage("ask", "what now?", "--case", kept.case, "--run", "b", "--home", kept.home)
        assert "The run of this case is no longer at" in done.stdout


class TestQuestionsThatAreNone:
    @pytest.mark.parametrize("question", ["", "   ", "\n\n"])
    def test_an_empty_one_is_refused_with_an_example(self, triage, question):
        done = triage("ask", question, "--run", EXAMPLE / "run-1")
        assert done.exit_code == 2
        assert "ask a question" in done.stderr

    @pytest.mark.parametrize("unit", ["loss is nan ", "x", "学习率", "a.b/c ", "step: 3 loss: 2.5\n", "почему "])
    def test_a_hundred_thousand_characters_are_answered_soon_and_bounded(self, unit):
        begun = time.process_time()
        answer = ask(unit * (100_000 // len(unit)), [EXAMPLE / "run-1"])
        assert time.process_time() - begun < 20
        assert fits(answer.short)
        assert len(answer.question) < 21_000

    def test_at_the_command_line_too(self, triage):
        said = "loss is nan, and " * 6000
        done = triage("ask", "-", "--run", EXAMPLE / "run-1", said=said)
        assert (done.exit_code, "Most likely" in done.stdout) == (1, True)

    def test_a_log_is_piped_beside_a_question_or_alone_and_says_the_same(self, triage, tmp_path):
        rows = [f"{{'loss': {1.6 - n / 900:.4f}, 'grad_norm': 1.1, 'epoch': {n / 50:.2f}}}" for n in range(60)]
        log = "\n".join([*rows, "Exception: Current loss scale already at minimum - cannot decrease scale anymore."])
        (tmp_path / "train.log").write_text(log)
        asked = triage("ask", "why did it end?", "--run", tmp_path / "train.log", "--json")
        for args in (("ask", "why did it end?", "-", "--json"), ("ask", "-", "--json")):
            piped = triage(*args, said=log)
            a, b = (json.loads(x.stdout) for x in (asked, piped))
            assert [h["entry"] for h in a["hypotheses"]][:1] == [h["entry"] for h in b["hypotheses"]][:1]
            assert {f["code"] for f in a["findings"]} == {f["code"] for f in b["findings"]}
            assert b["understood"]["suspicions"] == []

    def test_a_question_without_quotes_or_input_is_told_how(self, triage):
        assert "in quotes" in triage("ask", "why", "nan").output
        assert "nothing came" in triage("ask", "why is it nan?", "-", said="").output

    @pytest.mark.parametrize(
        "question",
        [
            "почему loss стал nan на шаге 4000?",
            "학습률이 너무 높은가요?",
            "学習率が高すぎて loss が nan になりました",
            "Warum ist der Loss NaN?",
            "¿Por qué la pérdida es nan?",
            "pourquoi ma loss est nan ?",
            "لماذا الخسارة nan",
        ],
    )
    @pytest.mark.parametrize("run", [(), (EXAMPLE / "run-1",)], ids=["words", "run"])
    def test_a_third_language_is_asked_for_one_of_the_two_in_both(self, question, run):
        answer = ask(question, run)
        assert answer.diagnosis.state == ("diagnosed" if run else "out-of-scope")
        for said in (answer.text, answer.short):
            assert "English or Chinese, please" in said
            assert "请用英文或中文" in said

    @pytest.mark.parametrize(
        "question",
        [
            "why does it print ошибка in the log?",
            "模型输出了 ありがとう 怎么办",
            "is β too high, or λ?",
            "loss nan",
            "the answers are all in 日本語です",
            "die rate of workers, was fp16 a mistake?",
        ],
    )
    def test_a_foreign_word_is_none(self, question):
        assert not third(question)

    def test_pasted_lines_in_another_language_are_evidence(self):
        log = "loss is nan, why?\n" + "".join(f"step: {i} loss: {'nan' if i > 60 else 2.5}\n" for i in range(100))
        answer = ask(log + "2026-01-01 00:00:00 Ошибка: не удалось выделить память\n" * 3)
        assert "loss-nonfinite" in {f.code for f in answer.diagnosis.findings}


def test_an_empty_question_to_an_agent_asks_for_one(tmp_path):
    import anyio
    from mcp import Client

    from triage.ui.mcp import build
    from triage.ui.roots import Roots

    async def main():
        async with Client(build(Roots([EXAMPLE]), tmp_path)) as client:
            return await client.call_tool("diagnose", {"question": "  ", "paths": ["run-1"]})

    done = anyio.run(main)
    assert not done.is_error
    assert done.structured_content["hypotheses"][0]["entry"] == "loss-nan-high-lr"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("It is the learning rate. It is definitely not the learning rate.", "You say both that it is"),
        ("我怀疑是学习率。不是学习率的问题。", "你既说是"),
    ],
)
def test_contradictory_statements_are_named_and_the_run_decides(question, said):
    answer = ask(question, [EXAMPLE / "run-1"])
    assert said in answer.short
    assert answer.as_json()["understood"]["suspicions"][0]["verdict"] == "supported"
