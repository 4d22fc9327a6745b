"""What cannot be kept or used costs a line, never the answer."""

import json
import subprocess
import sys
from pathlib import Path

from triage.agent.conversation import Conversation
from triage.agent.events import Notice
from triage.agent.wording.trace import read
from triage.tools.keeping import losses

RUN = Path(__file__).parents[2] / "evals" / "example" / "run-1"
TRIAGE = str(Path(sys.executable).with_name("triage"))


def triage(*args):
    return subprocess.run([TRIAGE, *map(str, args)], capture_output=True, text=True)


def test_an_answer_that_cannot_be_kept_is_given_and_says_so_once_in_every_form(tmp_path):
    sound = triage("ask", "loss is nan", "--run", RUN, "--home", tmp_path / "sound", "--json")
    (tmp_path / "home" / "cases.sqlite3").mkdir(parents=True)
    done = triage("ask", "loss is nan", "--run", RUN, "--home", tmp_path / "home", "--json")
    assert (done.returncode, sound.returncode) == (1, 1)
    answer, before = json.loads(done.stdout), json.loads(sound.stdout)
    assert ("losses" in before, sound.stderr, answer["case"]) == (False, "", "")
    assert answer["hypotheses"] == before["hypotheses"]
    [line] = answer["losses"]
    assert line == f"{tmp_path / 'home' / 'cases.sqlite3'}: not kept (unable to open database file)"
    assert done.stderr == f"triage: {line}\n"


def test_a_report_is_printed_before_a_page_that_cannot_be_written_is_refused(tmp_path):
    for more in (["--html", tmp_path / "none" / "x.html"], ["--series", tmp_path / "none" / "x.parquet"]):
        done = triage("scan", RUN, *more)
        assert done.returncode == 2
        assert "loss" in done.stdout
        assert str(more[1]) in done.stderr


def test_whoever_watches_a_turn_is_told_what_was_not_kept(tmp_path):
    (tmp_path / "cases.sqlite3").mkdir()
    events = []
    assert Conversation(tmp_path, use_model=False).ask("loss is nan", listen=events.append).case == ""
    assert [e.text.partition(": ")[2] for e in events if isinstance(e, Notice)] == [
        "not kept (unable to open database file)"
    ]


def test_torn_lines_of_a_trace_are_passed_over_and_counted(tmp_path):
    case = Conversation(tmp_path, use_model=False).ask("loss is nan").case
    file = tmp_path / "traces" / f"{case}.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + whole[: len(whole) // 2] + b"\n{}\n[1]\n\x00\xff\n" + whole)
    with losses() as told:
        assert len(read(tmp_path, case)) == 2
    assert told == [f"{file}: not used (4 of 6 lines are torn)"]
    assert triage("cases", "trace", case, "--home", tmp_path).returncode == 0
