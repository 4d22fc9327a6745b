"""`triage bisect` from the directory to the report, with real processes."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.tools.checkpoints.bisect import search
from triage.tools.checkpoints.bisect.changes import between as changes_between
from triage.tools.checkpoints.bisect.drive import Plan
from triage.tools.checkpoints.bisect.evaluate import Command, read_value
from triage.tools.checkpoints.bisect.journal import Evaluation, Journal
from triage.tools.checkpoints.bisect.result import CODES, bisect_checkpoints
from triage.tools.checkpoints.bisect.row import Point, between, find_row
from triage.tools.findings import TriageError
from triage.ui.cli import app

SCRIPT = """
import os, sys, time
step = int(sys.argv[1].rsplit("-", 1)[1])
with open({log!r}, "a") as log: log.write(f"{{step}}\\n")
{body}
"""


@pytest.fixture
def lab(tmp_path):
    """A run of 16 checkpoints and a maker of evaluation commands that log each call."""
    run = tmp_path / "run"
    for step in range(100, 1700, 100):
        path = run / f"checkpoint-{step}"
        path.mkdir(parents=True)
        (path / "model.safetensors").write_bytes(b"weights")

    class Lab:
        root, log, cache = run, tmp_path / "calls.log", tmp_path / "cache.jsonl"

        def command(self, body: str, **options) -> Command:
            script = tmp_path / "evaluate.py"
            script.write_text(SCRIPT.format(log=str(self.log), body=body))
            return Command(f"{sys.executable} {script} {{checkpoint}}", **options)

        def bisect(self, body: str, retry_failed: bool = False, plan: dict | None = None, **options):
            plan = Plan(find_row(run), self.command(body, **options), **{"retries": 0} | (plan or {}))
            return bisect_checkpoints(plan, self.cache, run, retry_failed)[0]

        def calls(self) -> list[int]:
            return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    return Lab()


GOOD_UNTIL_900 = "print(0.8125 if step < 1000 else 0.4375)"


def test_finds_the_first_bad_and_reports_it(lab):
    report = lab.bisect(GOOD_UNTIL_900)
    assert report.codes() == {"eval-regression"}
    assert {c.name for c in report.checks} == {name for code in CODES.values() for name in code.checks}
    assert (report.summary["last_good"], report.summary["first_bad"]) == (900, 1000)
    assert report.summary["evaluations"] == len(lab.calls()) <= 5
    assert report.summary["rollback_steps"] == 700
    assert report.findings[0].data["supports"] == "checkpoint-regression"
    assert report.findings[0].data["proposal"]["variable"] == "dataset"
    assert "900" in report.findings[0].zh
    json.dumps(report.as_json(), allow_nan=False)


def test_the_same_metric_everywhere_is_no_change_point(lab):
    report = lab.bisect("print(0.8125)")
    assert report.findings == ()
    assert report.checks[0].result == "clear"
    assert report.summary["verdict"] == "no-change-point"


def test_resuming_repeats_no_evaluation(lab):
    short = lab.bisect(GOOD_UNTIL_900, plan={"budget": 2})
    assert short.codes() == {"bisect-inconclusive"}
    assert short.checks[0].result == "failed"
    whole = lab.bisect(GOOD_UNTIL_900)
    assert whole.summary["first_bad"] == 1000
    assert whole.summary["from_cache"] == 2
    assert len(lab.calls()) == whole.summary["evaluations"]


def test_a_torn_line_costs_one_evaluation_and_no_more(lab):
    lab.bisect(GOOD_UNTIL_900)
    lines = lab.cache.read_bytes()
    lab.cache.write_bytes(lines[:-20])
    before = len(lab.calls())
    report = lab.bisect(GOOD_UNTIL_900)
    assert report.summary["first_bad"] == 1000
    assert len(lab.calls()) == before + 1
    assert lab.bisect(GOOD_UNTIL_900).summary["from_cache"] == report.summary["evaluations"]


def test_overwritten_weights_are_measured_anew(lab):
    lab.bisect(GOOD_UNTIL_900)
    calls = len(lab.calls())
    for path in lab.root.glob("*/model.safetensors"):
        path.write_bytes(b"other weights")
        (path.parent / "results.json").write_text("{}")
    lab.bisect(GOOD_UNTIL_900)
    assert len(lab.calls()) == 2 * calls


def test_results_written_into_the_checkpoint_do_not_count_as_new_weights(lab):
    body = "open(sys.argv[1] + '/results.json', 'w').write('{}')\n" + GOOD_UNTIL_900
    lab.bisect(body)
    calls = len(lab.calls())
    lab.bisect(body)
    assert len(lab.calls()) == calls


def test_a_failing_checkpoint_is_no_observation_and_its_neighbours_stand_in(lab):
    body = "sys.exit('disk on fire') if step in (800, 1600) else None\n" + GOOD_UNTIL_900
    report = lab.bisect(body, plan={"retries": 1})
    assert report.summary["first_bad"] == 1000
    assert report.codes() == {"eval-regression", "checkpoint-not-evaluated"}
    failed = next(f for f in report.findings if f.code == "checkpoint-not-evaluated")
    assert "disk on fire" in failed.message
    assert lab.calls().count(1600) == 2


def test_a_change_inside_a_stretch_that_cannot_be_evaluated_stays_an_interval(lab):
    body = "sys.exit(125) if 700 <= step <= 1100 else None\n" + GOOD_UNTIL_900
    report = lab.bisect(body)
    assert "bisect-inconclusive" in report.codes()
    first, last = report.summary["interval"]
    assert first >= 700
    assert last <= 1200


def test_a_hanging_evaluation_is_ended_with_its_children(lab, tmp_path):
    child = tmp_path / "child.py"
    child.write_text(f"import time; time.sleep(12); open({str(tmp_path / 'alive')!r}, 'w')")
    body = (
        f"import subprocess\nif step == 800: subprocess.Popen([sys.executable, {str(child)!r}]); time.sleep(60)\n"
        + GOOD_UNTIL_900
    )
    began = time.monotonic()
    report = lab.bisect(body, timeout=4.0)
    assert report.summary["first_bad"] == 1000
    assert [e["step"] for e in report.summary["no_observation"]] == [800]
    time.sleep(max(0.0, 20 - (time.monotonic() - began)))
    assert not (tmp_path / "alive").exists()


def test_a_command_that_never_works_is_an_error_and_can_be_mended(lab):
    with pytest.raises(TriageError, match=r"no evaluation gave a number.*no module"):
        lab.bisect("sys.exit('no module named x')")
    assert len(set(lab.calls())) <= 4
    assert lab.bisect(GOOD_UNTIL_900).summary["first_bad"] == 1000


def test_failures_are_tried_again_only_when_asked(lab, tmp_path):
    fixed = str(tmp_path / "fixed")
    body = f"sys.exit(1) if step == 800 and not os.path.exists({fixed!r}) else None\n" + GOOD_UNTIL_900
    lab.bisect(body)
    (tmp_path / "fixed").touch()
    assert "checkpoint-not-evaluated" in lab.bisect(body).codes()
    assert "checkpoint-not-evaluated" not in lab.bisect(body, retry_failed=True).codes()


def test_several_at_a_time_find_the_same(lab):
    report = lab.bisect("import time; time.sleep(0.2)\n" + GOOD_UNTIL_900, plan={"jobs": 3})
    assert report.summary["first_bad"] == 1000
    assert len(lab.calls()) <= 12


def test_pass_or_fail_by_exit_status(lab):
    assert lab.bisect("sys.exit(0 if step < 1000 else 1)", reading="pass").summary["first_bad"] == 1000


def test_json_key(lab):
    body = "import json; print(json.dumps({'results': {'acc': 0.8 if step < 1000 else 0.4}})); print('done')"
    assert lab.bisect(body, key="results.acc").summary["first_bad"] == 1000


@pytest.mark.parametrize(
    ("out", "key", "value"),
    [
        ("loading\n0.5\n", "", 0.5),
        ("acc: 71.5%\n\n", "", 71.5),
        ("loss=2.5\n", "", None),
        ("nan\n", "", None),
        ("", "", None),
        ("1_000\n", "", 1000.0),
        ('{"a": {"b": 3}}\nbye\n', "a.b", 3.0),
        ('{\n "a": 1\n}\n', "a", 1.0),
        ('{"a": "0.25"}', "a", 0.25),
        ('{"a": null}', "a", None),
        ("[" * 100_000, "a", None),
    ],
)
def test_reading_a_value(out, key, value):
    assert read_value(out, key)[0] == value
    assert (read_value(out, key)[1] == "") == (value is not None)


def test_paths_with_blanks_and_shell_characters_are_one_argument(tmp_path):
    run = tmp_path / "my run; touch pwned $(touch pwned)"
    for step in (1, 2, 3):
        (run / f"checkpoint-{step}").mkdir(parents=True)
    command = Command(f"{sys.executable} -c 'import sys; print(len(sys.argv))' {{checkpoint}} --at={{step}}")
    report, _ = bisect_checkpoints(Plan(find_row(run), command), tmp_path / "cache", run)
    assert {e["value"] for e in report.summary["history"]} == {3.0}
    assert not list(tmp_path.rglob("pwned"))


IN_TEXT = [
    "sh -c 'eval.py {checkpoint}'", "bash -euo pipefail -c 'eval.py {checkpoint}'",
    "/bin/zsh -lc 'eval.py {checkpoint}'",
    "dash -c {checkpoint}/eval.sh", "env A=1 sh -c 'eval.py {checkpoint}'",
    "timeout 9 bash -c 'eval.py {checkpoint}' x",
    "python -c 'print({checkpoint})'", "python3.11 -W ignore -c'print(open(\"{checkpoint}\"))'",
    "perl -ne 'print {checkpoint}'",
    "node --eval='x({checkpoint})'", "bash -co pipefail 'eval.py {checkpoint}'",
]  # fmt: skip
AS_ARGUMENT = [
    "sh -c 'eval.py \"$1\"' _ {checkpoint}", "python -u -c 'import sys' {checkpoint}", "python eval.py -c {checkpoint}",
    "sh eval.sh -c {checkpoint}", "python -m lm_eval --model_args pretrained={checkpoint},dtype=bf16",
    "bash -x e.sh {checkpoint}",
    "perl -e'print 1' {checkpoint}", "sh -c 'eval.py \"$TRIAGE_CHECKPOINT\"'", "ssh node eval.py {checkpoint}",
    "./eval.py --with '{{\"model\": \"{checkpoint}\"}}'",
]  # fmt: skip
HOSTILE = [
    "$(touch $CANARY)",
    "`touch $CANARY`",
    "; touch $CANARY;",
    "' touch $CANARY '",
    '"; touch $CANARY; "',
    "\n touch $CANARY\n",
]


@pytest.mark.parametrize("text", IN_TEXT)
def test_a_name_inside_the_text_of_an_interpreter_is_refused_with_what_to_do_instead(text):
    with pytest.raises(TriageError, match=r'give it as an argument instead: sh -c \'eval.py "\$1"\' _ \{checkpoint\}'):
        Command(text)


@pytest.mark.parametrize("text", AS_ARGUMENT)
def test_a_name_as_an_argument_is_taken(text, tmp_path):
    words = Command(text).words(Point(100, tmp_path, "x"), 0)
    assert str(tmp_path) in " ".join(words) or "TRIAGE_CHECKPOINT" in text


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "text",
    [
        "sh -c 'echo 1 \"$1\"; echo 1' _ {checkpoint}", "sh -c 'echo \"$TRIAGE_CHECKPOINT\"; echo 1'",
        "env -S 'sh -c \"echo {checkpoint}; echo 1\"'",
        "su -c 'echo {checkpoint}'", "echo {checkpoint} 1",
    ],
)  # fmt: skip
def test_no_name_of_a_checkpoint_is_ever_run(tmp_path, monkeypatch, text, name):
    """Whatever stands around it: the name is one argument, or the command is refused before the first evaluation."""
    monkeypatch.setenv("CANARY", str(tmp_path / "canary"))
    for step in (1, 2, 3):
        (tmp_path / "run" / f"{name.replace('/', '')}" / f"checkpoint-{step}").mkdir(parents=True)
    row = find_row(tmp_path / "run" / name)
    with suppress(TriageError):
        bisect_checkpoints(Plan(row, Command(text), retries=0), tmp_path / "cache", tmp_path / "run")
    assert not (tmp_path / "canary").exists()


def test_a_dry_run_shows_names_without_escapes(tmp_path):
    for step in (1, 2, 3):
        (tmp_path / "r\x1b]0;owned\x07\n\u202ex" / f"checkpoint-{step}").mkdir(parents=True)
    argv = ["bisect", str(next(tmp_path.iterdir())), "--eval", "eval.py {checkpoint}", "--dry-run"]
    shown = CliRunner().invoke(app, argv).stderr
    assert "would run: eval.py" in shown
    assert not [c for c in shown if not c.isprintable() and c != "\n"]
    assert len([line for line in shown.splitlines() if "checkpoint-" in line]) == shown.count("would run")


@pytest.mark.parametrize("text", ["", "python eval.py", "echo 'unclosed {checkpoint}"])
def test_commands_that_cannot_work_are_refused(text):
    with pytest.raises(TriageError):
        Command(text)


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["checkpoint-9", "checkpoint-10", "tmp-checkpoint-11"], [9, 10]),
        (["global_step100", "global_step20", "latest"], [20, 100]),
        (["iter_0000500", "iter_0001000"], [500, 1000]),
        (["epoch=0-step=50.ckpt", "epoch=1-step=100.ckpt"], [50, 100]),
        (["epoch_0", "epoch_1"], [0, 1]),
        (["attempt1/checkpoint-1", "attempt2/checkpoint-2"], [1, 2]),
        (["step1000-unsharded", "step2000-unsharded"], [1000, 2000]),
    ],
)
def test_steps_from_names(tmp_path, names, steps):
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if path.suffix else path.mkdir()
    assert [p.step for p in find_row(tmp_path)] == steps


def test_row_ends_are_checked(lab):
    row = find_row(lab.root)
    assert [p.step for p in between(row, 300, 500)] == [300, 400, 500]
    with pytest.raises(TriageError, match="near it: 200, 300, 400"):
        between(row, 310, 900)
    with pytest.raises(TriageError, match="comes first"):
        between(row, 900, 300)
    with pytest.raises(TriageError, match="at least two"):
        find_row(lab.root / "checkpoint-100")


def test_two_bisections_do_not_share_a_cache(tmp_path):
    first = Journal(tmp_path / "c.jsonl", "x")
    with pytest.raises(TriageError, match="another bisection"):
        Journal(tmp_path / "c.jsonl", "x")
    first.close()


def test_foreign_lines_in_the_cache_are_passed_over(tmp_path, lab):
    cache = tmp_path / "c.jsonl"
    cache.write_bytes(b'\xff\xfe\nnull\n{"key": 1}\n{"key": "a", "repeat": 0, "value": NaN, "seconds": 1}\n')
    journal = Journal(cache, "x")
    point = find_row(lab.root)[0]
    assert journal.known(point, 0) is None
    journal.add(point, Evaluation(point.step, 0, 0.5, 1.0))
    journal.close()
    again = Journal(cache, "x")
    assert again.known(point, 0).value == 0.5
    again.close()


def test_what_changed_between_two_checkpoints(tmp_path):
    row = []
    for step, size, epoch in ((100, 8, 0.5), (200, 8, 0.9), (300, 4, 1.1)):
        path = tmp_path / f"checkpoint-{step}"
        path.mkdir()
        log = [{"step": s, "loss": 2.0 if s <= 200 else 5.0, "learning_rate": 1e-4 if s <= 200 else 1e-3}
               for s in range(10, step + 1, 10)]  # fmt: skip
        state = {"global_step": step, "epoch": epoch, "train_batch_size": size, "log_history": log}
        (path / "trainer_state.json").write_text(json.dumps(state))
        for rank in range(size):
            (path / f"rng_state_{rank}.pth").touch()
    row = find_row(tmp_path)
    changes = changes_between(row[1], row[2], row)
    by_name = {c.what: (c.before, c.after) for c in changes.found}
    assert by_name["train_batch_size"] == (8, 4)
    assert by_name["learning_rate"] == (1e-4, 1e-3)
    assert by_name["world_size (rng_state files)"] == (8, 4)
    assert by_name["steps"] == (201, 300)
    assert by_name["epochs (a new epoch begins)"] == (0.9, 1.1)
    assert "code revision" in changes.unknown


def test_a_broken_trainer_state_is_reported_as_not_recorded(tmp_path):
    for step in (1, 2):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{" * step)
    row = find_row(tmp_path)
    assert "trainer_state.json" in changes_between(row[0], row[1], row).unknown[0]


def test_the_command_prints_json_and_a_chart(lab):
    command = lab.command(GOOD_UNTIL_900).text
    base = ["bisect", str(lab.root), "--eval", command, "--cache", str(lab.cache), "--home", str(lab.cache.parent)]
    dry = CliRunner().invoke(app, [*base, "--dry-run"])
    assert (dry.exit_code, lab.calls()) == (0, [])
    assert "would run" in dry.stderr
    found = CliRunner().invoke(app, [*base, "--json"])
    assert found.exit_code == 1
    summary = json.loads(found.stdout)["summary"]
    assert {"first_bad", "last_good", "evaluations", "confidence", "history"} <= summary.keys()
    told = CliRunner().invoke(app, base)
    assert "first bad 1000..1000" in told.stdout
    assert max(map(len, told.stdout.splitlines()[:14])) <= 80


def test_budget_prediction_is_the_default_limit(lab):
    plan = Plan(find_row(lab.root), lab.command(GOOD_UNTIL_900))
    assert plan.most == max(search.predicted(16).values())


def test_evaluations_end_with_the_bisection(tmp_path, lab):
    """SIGKILL of the bisection takes the evaluation under way with it."""
    import signal
    import subprocess

    command = lab.command(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)").text
    main = [sys.executable, "-c", "from triage.ui.cli import main; main()", "bisect", str(lab.root), "--eval", command]
    process = subprocess.Popen([*main, "--cache", str(lab.cache)], stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (pid.exists() and pid.read_text()):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.5)
    child = Path(f"/proc/{pid.read_text()}/stat")
    assert not child.exists() or " Z " in child.read_text() or os.name != "posix"


def test_parallel_noisy_runs_end_settled_when_they_say_so(lab):
    body = "import random; random.seed(step * 7); print(0.8 - 0.3 * (step >= 1000) + random.gauss(0, 0.05))"
    report = lab.bisect(body, plan={"jobs": 2})
    assert (report.summary["verdict"] == "inconclusive") == ("reached" not in report.summary["stopped"])
