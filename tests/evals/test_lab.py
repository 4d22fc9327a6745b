"""The fault lab: what faults declare, how a proposal is applied, how cases are scored, one recorded case end to end,
and `--quick`, which trains for real."""

import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from triage.agent.propose import Proposal
from triage.evals.lab import recording, scoring
from triage.evals.lab.baselines import BASELINES, WORDS
from triage.evals.lab.fault import Case, faults, touched
from triage.evals.lab.fit import Ratio, idle, ratios
from triage.evals.lab.loop import Attempt, Triage, _further, apply, expected_step, repair
from triage.evals.lab.recipes import RECIPES, first_files, write_data
from triage.evals.lab.recording import Recording, Spec, first, healthy_of
from triage.evals.lab.report import report, results
from triage.evals.lab.runner import DOUBLES, QUICK, QUICK_HEALTHY, cases
from triage.knowledge.entry import NOT_A_SETTING
from triage.knowledge.runbook import load
from triage.tools.findings import TriageError
from triage.tools.settings import VARIABLES

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"
RUNBOOK = load()


@pytest.mark.parametrize("fault", faults().values(), ids=lambda f: f.name)
def test_a_fault_names_entries_variables_and_a_recipe_that_exist(fault):
    assert fault.recipe in RECIPES
    assert [e for e in (*fault.right, *fault.near) if RUNBOOK.get(e) is None] == []
    assert [v for v in fault.repairs if v not in VARIABLES and v not in NOT_A_SETTING] == []
    assert fault.healthy or (fault.repairs and (fault.shows or "left" in touched(fault)))
    assert not set(fault.right) & set(fault.near)


@pytest.mark.parametrize("fault", faults().values(), ids=lambda f: f.name)
def test_no_file_of_a_run_says_which_fault_it_has(fault):
    files = first_files(RECIPES[fault.recipe], [(fault, s) for s in fault.severities], 1)
    spec = first(Case((fault.name,), 1))
    for text in (*files, *files.values(), spec.key):
        assert fault.name not in text
        assert not re.search(r"fault|inject|lab\b", text)


def test_two_severities_are_two_runs_and_a_seed_chooses_between_them():
    one, two = (first(Case(("lr-too-high",), seed)) for seed in (1, 2))
    assert one.key != two.key
    assert [Case(("lr-too-high",), seed).split for seed in (1, 2)] == ["fit", "test"]
    assert replace(one, repaired=frozenset({"lr-too-high/dataset"})).key != one.key
    assert first(Case(("lr-too-high",), 1)).key == one.key


def test_questions_come_in_both_languages_in_both_parts():
    asked = {(Case(("lr-too-high",), seed).split, Case(("lr-too-high",), seed).question) for seed in range(1, 5)}
    assert len(asked) == 4


def test_generated_data_has_the_fault_and_only_the_fault(tmp_path):
    from triage.tools.data import check_run_data
    from triage.tools.discover import discover

    def codes(*names):
        folder = tmp_path / "-".join(names or ("none",))
        folder.mkdir()
        write_data(folder, RECIPES["chat"], [(faults()[n], faults()[n].severities[0]) for n in names], 1)
        return {f.code for f in check_run_data(discover(folder)).findings}

    assert codes() == set()
    assert codes("personal-data") == {"pii-found"}
    assert "eval-leakage" in codes("eval-leakage")
    assert "exact-duplicates" in codes("duplicated-data")


def recorded(spec: Spec, root: Path, run: Path | None = None, **trace) -> Recording:
    """A recording in place, with the files of an existing run or with the spec's own configuration only."""
    folder = root / "recordings" / spec.key
    if run:
        shutil.copytree(run, folder / "run")
    else:
        (folder / "run").mkdir(parents=True)
        for name, text in spec.files.items():
            (folder / "run" / name).write_text(text)
    (folder / "trace.json").write_text(json.dumps({"losses": [], "outcome": {}} | trace))
    return Recording(spec, folder)


def proposal(variable: str, new: str, entry: str = "loss-nan-high-lr") -> Proposal:
    return Proposal(entry, variable, None, None, variable, "", new, "", False, (), "", "", "", "", ())


def test_a_setting_is_edited_in_the_runs_own_file(tmp_path):
    made = recorded(first(Case(("lr-too-high",), 1)), tmp_path)
    after = apply(proposal("learning_rate", "3.0e-2"), made)
    before = made.spec.files["train.yaml"].splitlines()
    changed = [b for a, b in zip(before, after.files["train.yaml"].splitlines(), strict=True) if a != b]
    assert changed == ["learning_rate: 3.0e-2"]
    assert {k: v for k, v in after.files.items() if k != "train.yaml"} == {
        k: v for k, v in made.spec.files.items() if k != "train.yaml"
    }


def test_a_setting_that_is_not_written_can_be_set_but_not_scaled(tmp_path):
    made = recorded(first(Case(("lr-too-high",), 1)), tmp_path)
    assert "adam_beta2: 0.95" in apply(proposal("adam_beta2", "0.95"), made).files["train.yaml"]
    with pytest.raises(TriageError, match="nothing to start from"):
        apply(proposal("num_workers", "x 0.5"), made)


def test_a_setting_that_was_not_changed_enough_is_changed_again_and_an_action_is_not(tmp_path):
    made = recorded(first(Case(("lr-too-high",), 1)), tmp_path)
    halved = Attempt("loss-nan-high-lr", "learning_rate", "x", ("learning_rate",), "not-fixed", "", False)
    further = _further(halved, None, made.run)
    assert further is not None
    assert (further.variable, further.old, further.new) == ("learning_rate", "6.0e-2", "3.0e-2")
    assert _further(replace(halved, entry="pii-in-data", variable="dataset"), None, made.run) is None


def test_records_in_shards_are_read_back_in_their_order(tmp_path):
    (tmp_path / "data").mkdir()
    lost = faults()["language-lost"]
    write_data(tmp_path, RECIPES["chat"], [], 1, lost.shards)
    names = sorted(p.name for p in (tmp_path / "data").glob("train*"))
    assert names == ["train-00000.jsonl", "train-00001.jsonl"]
    assert lost.settings(0.5)["train_file"] == "data/train-*.jsonl"


def test_an_action_counts_only_for_the_fault_that_it_is_about(tmp_path):
    made = recorded(first(Case(("personal-data",), 1)), tmp_path)
    assert apply(proposal("dataset", "", "pii-in-data"), made).repaired == {"personal-data/dataset"}
    assert apply(proposal("dataset", "", "eval-leakage"), made) is None
    assert apply(proposal("code", "", "pii-in-data"), made) is None


class Stillborn:
    """A process context whose children end before they do anything."""

    exitcode = 1

    def __init__(self, **_):
        pass

    Process = property(lambda self: lambda **_: self)
    set_forkserver_preload = start = join = is_alive = lambda self, *_: False


def test_a_training_that_could_not_start_is_no_recording(tmp_path, monkeypatch):
    monkeypatch.setattr(recording.multiprocessing, "get_context", lambda _: Stillborn())
    spec = first(Case(("healthy-mixed",), 1))
    with pytest.raises(TriageError, match="healthy-mixed/1 could not start"):
        recording.record(spec, tmp_path)
    assert not (tmp_path / "recordings" / spec.key).exists()


def test_recorded_mini_case_is_diagnosed_repaired_and_verified(tmp_path):
    """A real NaN run and its halved rate, recorded once, in place of training."""
    case = Case(("lr-explodes",), 1)
    files = {name: (EXAMPLE / "run-1" / name).read_text() for name in ("train.yaml", "launch.sh")}
    losses = [2.0] * 4130 + [math.nan] * 870
    made = recorded(Spec(case, files), tmp_path, EXAMPLE / "run-1", losses=losses)
    halved = {**files, "train.yaml": (EXAMPLE / "run-2" / "train.yaml").read_text()}
    recorded(Spec(case, halved), tmp_path, EXAMPLE / "run-2", outcome={"finished": 1.0, "held_loss": 1.3})
    recorded(healthy_of(case), tmp_path, outcome={"finished": 1.0, "held_loss": 1.3})

    triage = Triage()
    advice = triage.advise(made.run, "loss went to nan")
    tried = repair(triage, advice, made, tmp_path)
    [attempt] = tried
    assert (attempt.variable, attempt.differs, attempt.verdict, attempt.cured) == (
        "learning_rate", ("learning_rate",), "fixed", True,
    )  # fmt: skip
    got = scoring.score("triage", made, advice, tried, None)
    assert (got.state, got.rank1, got.one_variable, got.repaired) == ("diagnosed", True, True, 1)


def test_a_hidden_detector_leaves_less_to_say():
    seen = Triage().advise(EXAMPLE / "run-1", "what is wrong with this run?")
    codes = tuple({f.code for f in seen.diagnosis.findings})
    blind = Triage(codes).advise(EXAMPLE / "run-1", "what is wrong with this run?")
    assert seen.proposal is not None
    assert blind.proposal is None
    assert {f.code for f in blind.diagnosis.findings} == {"run-healthy"}
    assert blind.diagnosis.state == "healthy"


def test_every_baseline_gives_an_opinion_on_the_same_run():
    given = {b.name: b.advise(EXAMPLE / "run-1", "loss is nan").diagnosis.top for b in BASELINES}
    assert all(top is not None for top in given.values())
    assert given["always lower lr"].entry.id == "loss-nan-high-lr"
    assert [entry for _, entry in WORDS if RUNBOOK.get(entry) is None] == []


def test_the_true_onset_comes_from_the_recorded_losses(tmp_path):
    nan = recorded(first(Case(("clipping-off",), 1)), tmp_path, losses=[3.0] * 400 + [math.nan] * 60)
    low, high = expected_step(nan)
    assert low <= 401 <= high
    risen = recorded(first(Case(("lr-explodes",), 1)), tmp_path, losses=[3.0] * 400 + [9.0] * 600)
    low, high = expected_step(risen)
    assert low <= 401 <= high
    assert expected_step(recorded(first(Case(("personal-data",), 1)), tmp_path, losses=[3.0])) is None


def a_score(**changes) -> scoring.Score:
    base = scoring.Score(
        "triage", "x/2", "x", "data", "test", "diagnosed", ("a",), 0.9, True, True, True, False, None, (), True, True,
        True, 1, (), "", 1.0, (),
    )  # fmt: skip
    return replace(base, **changes)


def test_figures_over_cases():
    scores = [
        a_score(),
        a_score(fault="y", rank1=False, top3=False, probability=0.7, repaired=0),
        a_score(fault="y", rank1=True, probability=0.7, repaired=3),
        a_score(
            fault="h",
            family="healthy",
            rank1=False,
            state="healthy",
            ranked=(),
            alarms=("loss-spike",),
            codes=("loss-spike",),
        ),
    ]
    figures = scoring.summary(scores)
    assert (figures["cases"], figures["healthy_cases"], figures["false_alarms"]) == (3, 1, 1.0)
    assert figures["rank1"] == pytest.approx(2 / 3)
    assert figures["macro_rank1"] == pytest.approx(0.75)
    assert [figures[f"repaired_{k}"] for k in (1, 2, 3)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert figures["ece"] == pytest.approx((0.1 * 1 + 0.2 * 2) / 3)


def test_the_report_has_every_case_and_every_advisor():
    out = results([a_score(), a_score(advisor="keyword rules", rank1=False)])
    text = report(out, "triage eval lab")
    assert json.loads(json.dumps(out))["summary"]["test"]["triage"]["rank1"] == 1.0
    assert "| x/2 | diagnosed | a |" in text
    assert "| right entry first | 100% | 0% |" in text


def test_measured_ratios_stand_beside_the_words():
    chosen = cases(["personal-data", "healthy-chat", "wrong-fields"], 2)
    seen = {c.id: frozenset({"pii-found"} if c.fault.name == "personal-data" else {"logging-sparse"}) for c in chosen}
    found = {(r.entry, r.code): r for r in ratios(chosen, seen)}
    assert found["pii-in-data", "pii-found"].ratio > 5
    assert found["pii-in-data", "secrets-found"].fitted == "unseen"
    assert idle(chosen, seen) == ["logging-sparse"]
    assert Ratio("e", "c", "weak", 0.9, 0.1, 4).fitted == "strong"


def test_cases_of_a_run_of_the_lab():
    assert {c.seed for c in cases(seeds=3)} == {1, 2, 3}
    assert {c.seed for c in cases(seeds=1, first_seed=6)} == {6}
    assert {c.faults for c in cases()} >= set(DOUBLES)
    assert [c.faults[0] for c in cases(quick=True)] == [*QUICK, *QUICK_HEALTHY]
    assert all({faults()[n].recipe for n in d} for d in DOUBLES)
    with pytest.raises(TriageError, match="no-such"):
        cases(["no-such"])


def test_the_lab_is_as_large_as_promised():
    known = faults().values()
    assert sum(not f.healthy for f in known) >= 30
    assert sum(f.name.startswith("ugly") for f in known) + sum(f.name.startswith("healthy") for f in known) >= 8
    assert len(DOUBLES) >= 4
    assert all(
        touched(f) or f.edits or f.settings(f.severities[0]) or f.model(f.severities[0]) for f in known if not f.healthy
    )


@pytest.mark.timeout(1200)
def test_quick_lab_trains_diagnoses_repairs_and_verifies(tmp_path):
    """The command as a person gives it: every run is trained here and now, and so is every repaired one."""
    out = tmp_path / "results.json"
    command = ["eval", "lab", "--quick", "--jobs", "2", "--home", str(tmp_path), "--json", str(out)]
    start = [sys.executable, "-c", "from triage.ui.cli import main; main()"]
    done = subprocess.run([*start, *command], capture_output=True, text=True, timeout=1100)
    assert done.returncode == 0, done.stderr
    made = json.loads(out.read_text())
    mine = {c["case"]: c for c in made["cases"] if c["advisor"] == "triage"}
    healthy = [mine.pop(f"{name}/2") for name in QUICK_HEALTHY]
    assert mine.keys() == {f"{name}/2" for name in QUICK}
    assert [(c["state"], c["alarms"]) for c in healthy] == [("healthy", [])]
    assert {name: c["rank1"] and c["detected"] for name, c in mine.items()} == dict.fromkeys(mine, True)
    tried = {name: (c["attempts"], c["why_not"]) for name, c in mine.items()}
    assert {name: c["repaired"] for name, c in mine.items()} == dict.fromkeys(mine, 1), tried
    assert all(c["one_variable"] and c["abstains"] for c in mine.values())
    trained = [json.loads(f.read_text()) for f in (tmp_path / "lab" / "recordings").glob("*/case.json")]
    assert len(trained) >= 2 * len(QUICK) + len(QUICK_HEALTHY)
    assert made["summary"]["test"]["keyword rules"]["rank1"] < 1.0
