"""The registry of acceptance metrics: every shipped criterion is one, and none passes on nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judging import criterion

from triage.agent.acceptance.needs import WANTED, needs
from triage.agent.acceptance.observe import families, known, observe
from triage.agent.acceptance.subject import Subject, metric
from triage.knowledge.runbook import load
from triage.tools.catalogue import codes
from triage.tools.findings import Check, Evidence, Finding, Report, Severity
from triage.tools.run import Artifact, Run
from triage.tools.series import Series, SeriesTable
from triage.tools.settings import Setting, Settings
from triage.tools.vocabulary import VOCABULARY

SHIPPED = [(e.id, c) for e in load() for c in e.acceptance]
EMPTY = Subject(Run(Path()), SeriesTable(), Settings(), Report("scan"))


def series(metric: str, values, step: int = 10, step_is: str = "step") -> Series:
    n = len(values)
    steps = np.arange(1, n + 1) * step
    return Series(metric, metric, steps, np.array(values, float), np.arange(1, n + 1), "train.log", step_is=step_is)


def run_of(must_reach: int = 0, findings=(), checks=(), settings=None, **metrics) -> Subject:
    table = SeriesTable(tuple(series(name, values) for name, values in metrics.items()))
    values = {k: Setting(k, v, str(v), k, "train.yaml", 1) for k, v in (settings or {}).items()}
    report = Report("scan", tuple(findings), tuple(checks))
    return Subject(Run(Path()), table, Settings(values), report, must_reach)


def test_every_shipped_criterion_is_a_known_metric():
    unknown = [f"{id}: {c.metric} is {c.is_}" for id, c in SHIPPED if not known(c)]
    assert not unknown, unknown


def test_no_shipped_criterion_passes_or_ends_unknown_on_an_empty_run():
    for id, c in SHIPPED:
        done = observe(EMPTY, c)
        assert done.ok is None, f"{id}: {c.metric} is judged on nothing: {done}"
        assert done.definition, id
        assert "unknown metric" not in done.definition, id


def test_no_metric_passes_on_an_empty_run():
    ways = [
        ("true", {}), ("false", {}), ("equals", {"value": 0}), ("equals", {"value": 1}), ("at-most", {"high": 1}),
        ("below", {"high": 1e9}), ("at-least", {"low": -1e9}), ("above", {"low": -1e9}), ("increases", {}),
        ("decreases", {}), ("between", {"low": -1e9, "high": 1e9}), ("finite", {}), ("stable", {}),
    ]  # fmt: skip
    for name in {*families(), *VOCABULARY, *WANTED, *(c.metric for _, c in SHIPPED)}:
        for is_, more in ways:
            assert observe(EMPTY, criterion(name, is_, **more)).ok is None, (name, is_)


def test_the_absence_of_every_finding_of_every_tool_is_a_criterion_that_does_not_pass_on_nothing():
    for code in {code for wing in codes().values() for code in wing}:
        done = observe(EMPTY, criterion(code.replace("-", "_"), "false"))
        assert done.ok is None, code
        assert "unknown metric" not in done.definition, code


def test_all_criteria_of_the_sources_are_placed():
    """77 in the list of criteria; the two thresholds of the benchmark drop and of the response time are two each."""
    assert len({c.criterion for _, c in SHIPPED if c.criterion}) == 77


def test_a_criterion_that_needs_people_or_references_says_what_is_missing():
    for id, c in SHIPPED:
        if c.needs:
            said = observe(EMPTY, c).definition
            assert said.startswith("needs ") or "needed" in said or "not logged" in said, (id, said)
            assert len(said) > 25, (id, said)


def test_a_metric_without_artifacts_names_what_would_settle_it():
    for id, c in SHIPPED:
        if not needs(c):
            assert len(observe(EMPTY, c).definition) > 15, (id, c.metric)


def test_a_metric_defined_twice_is_refused():
    families()
    with pytest.raises(ValueError, match="near_dup_ratio"):
        metric("near_dup_ratio")(observe)
    with pytest.raises(ValueError, match="CRITERIA: '' is empty"):
        metric("")(observe)


class TestSeries:
    def test_a_short_run_is_not_yet_a_pass(self):
        c = criterion("loss", "finite")
        assert observe(run_of(0, loss=[1.0] * 50), c).ok is True
        assert observe(run_of(600, loss=[1.0] * 50), c).ok is None
        assert observe(run_of(600, loss=[1.0] * 49 + [np.nan]), c).ok is False

    def test_a_window_must_be_as_long_as_the_criterion_says(self):
        c = criterion("loss", "finite", window={"steps": 1000})
        assert observe(run_of(loss=[1.0] * 50), c).ok is None
        assert observe(run_of(loss=[1.0] * 101), c).ok is True

    def test_lines_are_not_taken_for_steps(self):
        table = SeriesTable((series("loss", [1.0] * 50, step_is="line"),))
        s = replace(run_of(400), table=table)
        assert observe(s, criterion("loss", "finite")).ok is None

    @pytest.mark.parametrize(
        ("values", "ok"), [([1.0] * 50, True), ([9.0] * 50, False), ([1.0] * 40 + [9.0] * 10, False)]
    )
    def test_a_band_holds_for_the_median_and_nearly_all_points(self, values, ok):
        c = criterion("grad_norm", "between", low=0.5, high=5.0)
        assert observe(run_of(grad_norm=values), c).ok is ok

    def test_the_warmup_is_left_out(self):
        c = criterion("grad_norm", "between", low=0.5, high=5.0, after="warmup")
        values = [50.0] * 20 + [1.0] * 60
        assert observe(run_of(settings={"warmup_steps": 210}, grad_norm=values), c).ok is True
        assert observe(run_of(grad_norm=values), c).ok is False

    @pytest.mark.parametrize(
        ("is_", "values", "ok"),
        [
            ("increases", range(60), True), ("increases", range(60, 0, -1), False),
            ("decreases", range(60, 0, -1), True), ("stable", [5.0] * 60, True), ("stable", range(1, 61), False),
        ],
    )  # fmt: skip
    def test_direction(self, is_, values, ok):
        assert observe(run_of(reward=list(values)), criterion("reward", is_)).ok is ok

    def test_a_spike_finding_is_no_stable_training(self):
        spike = Finding("loss-spike", Severity.S1, "spike", evidence=(Evidence("train.log", 5, 50),))
        assert observe(run_of(loss=[1.0] * 50), criterion("training_stable")).ok is True
        assert observe(run_of(loss=[1.0] * 50, findings=[spike]), criterion("training_stable")).ok is False
        assert observe(run_of(900, loss=[1.0] * 50), criterion("training_stable")).ok is None
        assert observe(run_of(loss=[1.0] * 50, findings=[spike]), criterion("sudden_collapse", "false")).ok is False

    def test_a_falling_loss_falls(self):
        c = criterion("loss_decreases_smoothly")
        assert observe(run_of(loss=np.linspace(3, 1, 60)), c).ok is True
        assert observe(run_of(loss=np.linspace(1, 3, 60)), c).ok is False

    @pytest.mark.parametrize(
        ("first", "last", "ok"),
        [
            (2.0, 1.8, True),
            (2.0, 1.95, False),
            (6.3, 6.0, False),
            (11.0, 7.0, True),
            (6.3, 5.2, False),
            (6.3, 4.0, True),
        ],
    )
    def test_a_loss_that_creeps_has_not_left_its_plateau(self, first, last, ok):
        loss = np.concatenate([np.full(30, first), np.linspace(first, last, 100), np.full(30, last)])
        assert observe(run_of(loss=loss), criterion("loss_leaves_plateau")).ok is ok
        assert observe(run_of(9000, loss=loss), criterion("loss_leaves_plateau")).ok is (None if ok else False)

    def test_the_clip_rate_counts_steps_above_the_clip_value(self):
        c = criterion("clip_trigger_rate", "at-most", high=1)
        quiet = run_of(settings={"grad_clip": 1.0}, grad_norm=[0.2] * 200)
        wild = run_of(settings={"grad_clip": 1.0}, grad_norm=[30.0] * 200)
        assert observe(quiet, c).ok is True
        assert observe(wild, c).ok is False
        assert observe(run_of(grad_norm=[0.2] * 200), c).ok is None

    def test_a_healthy_norm_above_the_clip_value_is_disputed_not_failed(self):
        c = criterion("clip_trigger_rate", "at-most", high=1)
        done = observe(run_of(settings={"grad_clip": 1.0}, grad_norm=[2.0] * 200), c)
        assert (done.ok, done.applies, done.value) == (None, False, 100)


class TestFindings:
    LOG = Check("error signatures", "clear")

    def test_absence_needs_a_log_that_was_searched_and_a_run_that_got_past_the_failure(self):
        c = criterion("cuda_oom", "false")
        assert observe(run_of(loss=[1.0] * 50), c).ok is None
        assert observe(run_of(loss=[1.0] * 50, checks=[self.LOG]), c).ok is True
        assert observe(run_of(900, loss=[1.0] * 50, checks=[self.LOG]), c).ok is None
        assert observe(run_of(checks=[self.LOG]), c).ok is None

    def test_a_detector_that_had_nothing_to_look_at_saw_nothing(self):
        c = criterion("straggler", "false")
        seen = [Check("straggler", "clear"), self.LOG]
        blind = [Check("straggler", "not-applicable", "step_time is not logged"), self.LOG]
        assert observe(run_of(loss=[1.0] * 50, checks=seen), c).ok is True
        done = observe(run_of(loss=[1.0] * 50, checks=blind), c)
        assert done.ok is None
        assert "step_time is not logged" in done.definition

    def test_a_lint_rule_needs_no_step(self):
        c = criterion("rope_scaling_inconsistent", "false")
        assert observe(run_of(checks=[Check("rope-scaling-inconsistent", "clear")]), c).ok is True
        assert observe(run_of(), c).ok is None

    def test_a_finding_that_is_there_fails(self):
        bad = Finding("cuda-oom", Severity.S0, "out of memory", evidence=(Evidence("train.log", 7),))
        done = observe(run_of(findings=[bad]), criterion("cuda_oom", "false"))
        assert done.ok is False
        assert "train.log:7" in done.definition


def test_an_unknown_metric_is_said_to_be_one():
    done = observe(run_of(loss=[1.0] * 50), criterion("no_such_metric"))
    assert done.ok is None
    assert "unknown metric" in done.definition
    assert not known(criterion("no_such_metric"))


def test_deepspeed_and_trainer_must_agree():
    c = criterion("zero_config_consistent")
    fine = run_of(settings={"zero_stage": 2, "micro_batch_size": 4})
    clash = Finding("global-batch-mismatch", Severity.S1, "mismatch")
    assert observe(fine, c).ok is True
    assert observe(replace(fine, findings=(clash,)), c).ok is False
    assert observe(run_of(), c).ok is None


def test_a_checkpoint_is_complete_when_the_tool_looked_and_found_no_fault():
    c = criterion("checkpoint_complete")
    kept = Run(Path(), (Artifact("checkpoint", Path("checkpoint-500"), "checkpoint-500", "directory name"),))
    looked = (Check("checkpoints", "clear"),)
    cut = Finding("checkpoint-incomplete", Severity.S1, "a shard is missing")
    assert observe(replace(EMPTY, run=kept), c).ok is None
    assert observe(replace(EMPTY, run=kept, checks=looked), c).ok is True
    assert observe(replace(EMPTY, run=kept, checks=looked, findings=(cut,)), c).ok is False
