"""What the terminal shows: a finding a line, counts below, links on a terminal, names explained, early refusals."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from triage.agent.casebook import Casebook
from triage.agent.narrate.explain import names
from triage.knowledge.runbook import load
from triage.tools.catalogue import codes

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "evals" / "example"
TRIAGE = Path(sys.executable).with_name("triage")
LINE = re.compile(r"^(?P<path>\S+):(?P<line>\d+): (?P<code>[a-z0-9-]+) (?P<severity>S[0-3]) \S.*$")


@pytest.fixture
def triage(tmp_path):
    def run(*args, cwd=ROOT):
        env = os.environ | {"TRIAGE_HOME": str(tmp_path / "home")}
        command = [TRIAGE, *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, timeout=120)

    return run


@pytest.mark.parametrize("command", ["scan", "lint"])
def test_a_finding_is_a_line_that_names_a_place_which_exists(triage, command):
    done = triage(command, EXAMPLE / "run-1", "--quiet")
    found = [LINE.match(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert len(found) > 1
    assert all(found), done.stdout
    assert all(len((ROOT / m["path"]).read_text().splitlines()) >= int(m["line"]) for m in found)


def test_a_run_elsewhere_is_named_by_its_whole_path(triage, tmp_path):
    first = triage("scan", EXAMPLE / "run-1", "-q", cwd=tmp_path).stdout.splitlines()[0]
    assert first.startswith(f"{EXAMPLE / 'run-1' / 'train.log'}:347: ")


def test_the_footer_counts_and_verbose_names(triage):
    short, long = (triage("scan", EXAMPLE / "run-1", *more).stdout for more in ([], ["-v"]))
    assert re.search(r"^\d+ findings \(2 S0, .*\); \d+ checks: \d+ found something, \d+ clear", short, re.M)
    assert "loss-at-chance" not in short
    assert "loss-at-chance" in long
    assert "S0 stops the run" in long


def test_statistics_count_codes(triage):
    lines = triage("scan", EXAMPLE / "run-1", "-q", "--statistics").stdout.splitlines()
    assert lines
    assert all(re.fullmatch(r" +\d+ [a-z-]+ S[0-3]", line) for line in lines)


def test_scan_fails_from_the_severity_that_was_asked_for(triage, tmp_path):
    assert triage("scan", EXAMPLE / "run-1", "--fail-on", "S0").returncode == 1
    (tmp_path / "train.yaml").write_text("max_grad_norm: 0\nlearning_rate: 1.0e-5\n")
    assert triage("lint", tmp_path).returncode == 1
    assert triage("lint", tmp_path, "--fail-on", "S0").returncode == 0
    refused = triage("scan", EXAMPLE / "run-1", "--fail-on", "S7")
    assert (refused.returncode, "S0, S1, S2 or S3" in refused.stderr) == (2, True)


def test_normal_jitter_is_no_reason_to_fail(triage, tmp_path):
    import random

    dice = random.Random(3)
    (tmp_path / "train.yaml").write_text("learning_rate: 1.0e-5\nmax_grad_norm: 1.0\n")
    rows = (
        f"step: {i} loss: {3 - i / 1000 + dice.gauss(0, 0.12):.4f} grad_norm: 1.0 learning_rate: 1e-5\n"
        for i in range(1, 1001)
    )
    (tmp_path / "train.log").write_text("".join(rows))
    done = triage("scan", tmp_path, "--json")
    found = {f["code"] for f in json.loads(done.stdout)["findings"]}
    assert found <= {"run-healthy", "loss-jitter-benign"}
    assert "loss-jitter-benign" in found
    assert done.returncode == 0


@pytest.mark.parametrize("command", [["scan", EXAMPLE / "run-1"], ["lint", EXAMPLE / "run-1"]])
def test_chinese_is_chinese(triage, command):
    done = triage(*command, "--lang", "zh")
    assert "条发现" in done.stdout
    assert not re.search(r"had nothing to look at|findings|Files:", done.stdout)
    said = json.loads(triage(*command, "--lang", "zh", "--json").stdout)["findings"]
    assert all(re.search(r"[\u4e00-\u9fff]", f["message"]) for f in said)
    assert triage(*command, "--lang", "fr").returncode == 2


def test_a_place_is_a_link_on_a_terminal_and_plain_in_a_pipe(tmp_path, triage):
    env = os.environ | {"TRIAGE_HOME": str(tmp_path), "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    seen = pexpect.run(f"{TRIAGE} lint {EXAMPLE / 'run-1'}", env=env, cwd=str(ROOT), timeout=60).decode()
    assert "\x1b]8;id=" in seen
    assert (EXAMPLE / "run-1" / "train.yaml").as_uri() in seen
    assert "\x1b" not in triage("lint", EXAMPLE / "run-1").stdout


def test_the_version_is_told_quickly(triage):
    assert re.fullmatch(r"triage \d+\.\d+\S*\n", triage("--version").stdout)


class TestExplain:
    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("loss-spike", "Speaks for"),
            ("precision-conflict", "Lint rule, severity"),
            ("loss-nan-high-lr", "# Loss diverges"),
            ("rises(grad_norm) before nonfinite(loss)", "holds where"),
            ("s1", "serious"),
            ("probability", "not a frequency"),
        ],
    )
    def test_everything_that_a_report_names(self, triage, name, says):
        done = triage("explain", name)
        assert (done.returncode, says in done.stdout) == (0, True), done.stderr

    def test_every_finding_rule_entry_and_sign_is_explained_in_both_languages(self):
        from triage.agent.narrate.explain import explain

        book, known = load(), names(load())
        assert {code for wing in codes().values() for code in wing} | book.entries.keys() <= set(known)
        for name in known:
            for lang in ("en", "zh"):
                assert all(part.text.strip() for part in explain(name, book, lang)), name

    @pytest.mark.parametrize(("name", "meant"), [("los-spike", "loss-spike"), ("grad-clip", "grad-clip-off")])
    def test_a_near_miss_is_told_what_was_meant(self, triage, name, meant):
        done = triage("explain", name)
        assert done.returncode == 2
        assert re.search(rf"did you mean .*\b{meant}\b", done.stderr)

    def test_nothing_is_near_to_nonsense(self, triage):
        done = triage("explain", "zzzzqqq" * 50)
        assert (done.returncode, "did you mean" in done.stderr, len(done.stderr) < 400) == (2, False, True)

    def test_json(self, triage):
        told = json.loads(triage("explain", "loss-spike", "S0", "--json").stdout)
        assert (told["schema"], [t["name"] for t in told["explained"]]) == (
            "triage.explanation/1", ["loss-spike", "S0"],
        )  # fmt: skip
        assert told["explained"][0]["parts"][0]["entries"]["for"]


class TestGoingOn:
    def test_with_the_case_that_was_worked_on_last(self, triage, tmp_path):
        first = json.loads(triage("ask", "loss is nan", "--run", EXAMPLE / "run-1", "--json").stdout)["case"]
        second = json.loads(triage("ask", "it hangs", "--run", EXAMPLE / "run-2", "--json").stdout)["case"]
        on = json.loads(triage("ask", "-c", "and now?", "--json").stdout)
        assert (on["case"], on["run"]["name"] if isinstance(on["run"], dict) else "run-2") == (second, "run-2")
        time.sleep(1.1)  # times are kept in seconds
        triage("ask", "and this one?", "--case", first)
        assert Casebook(tmp_path / "home").latest() == first

    def test_without_a_case_it_says_so(self, triage):
        done = triage("ask", "-c", "and now?")
        assert (done.returncode, "no case to go on with" in done.stderr) == (2, True)

    def test_one_case_is_named_once(self, triage):
        assert triage("ask", "-c", "--case", "4be1c9", "and now?").returncode == 2


class TestEarly:
    def test_a_port_that_is_taken_is_told_before_anything_is_loaded(self, triage):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            began = time.monotonic()
            done = triage("web", "--port", port)
        assert (done.returncode, f"127.0.0.1:{port}" in done.stderr) == (2, True)
        assert "launch()" not in done.stderr
        assert time.monotonic() - began < 5

    @pytest.mark.parametrize("command", ["web", "mcp"])
    def test_a_root_that_is_not_there(self, triage, command, tmp_path):
        done = triage(command, "--root", tmp_path / "nowhere")
        assert (done.returncode, "nowhere" in done.stderr) == (2, True)


class TestData:
    def test_comparing_nothing_is_no_all_clear(self, triage, tmp_path):
        (tmp_path / "rows.jsonl").write_text('{"a": 1, "b": 2}\n' * 20)
        done = triage("data", "dedup", tmp_path / "rows.jsonl")
        assert (done.returncode, "could not be checked: near duplicates" in done.stdout) == (2, True)
        assert "Nothing wrong" not in done.stdout

    def test_metrics_in_a_folder_are_no_data(self, triage, tmp_path):
        refused = triage("data", "check", EXAMPLE / "run-1")
        assert (refused.returncode, "files of metrics are none" in refused.stderr) == (2, True)
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "trainer_state.json").write_bytes((EXAMPLE / "run-1" / "trainer_state.json").read_bytes())
        (tmp_path / "run" / "sft.jsonl").write_text(
            "".join(json.dumps({"text": f"record {i} of many: {i * 37}"}) + "\n" for i in range(40))
        )
        done = triage("data", "check", tmp_path / "run", "--json")
        assert json.loads(done.stdout)["summary"]["records"] == 40
