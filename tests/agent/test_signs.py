"""Signs asked of runs: what holds, what does not, and what cannot be told."""

from dataclasses import replace

import numpy as np
import pytest

from triage.agent.diagnose import diagnose
from triage.agent.evidence import look
from triage.agent.signs.ask import ask, holds, read
from triage.agent.signs.held import Asked
from triage.knowledge.entry import parse
from triage.knowledge.runbook import SHIPPED, Runbook, load
from triage.tools.documents.event import Event
from triage.tools.findings import Evidence, Finding, Severity
from triage.tools.relate.relate import relate
from triage.tools.series import SeriesTable
from triage.tools.settings import Setting, Settings
from triage.tools.tables.read import read_tables
from triage.tools.tables.table import Column, Table

N = 400
RNG = np.random.default_rng(5)


def level(height):
    return height * RNG.normal(1, 0.01, N)


def stepped(before, after, at=250):
    return np.where(np.arange(1, N + 1) < at, before, after) * RNG.normal(1, 0.01, N)


def asked(events=(), findings=(), settings=None, **measures):
    columns = [Column("step", "axis", "step", "", np.arange(1.0, N + 1))]
    columns += [Column(name, "measure", name, "", np.asarray(values)) for name, values in measures.items()]
    table = Table("log.csv", "", tuple(columns), np.arange(2, N + 2))
    chosen = Settings({v: Setting(v, n, str(n), v, "c.yaml", 1) for v, n in (settings or {}).items()})
    return Asked(relate(SeriesTable(), [table], chosen, events), findings)


def told_in(code, file):
    return Finding(code, Severity.S1, code, code, (Evidence(file, 7),))


@pytest.mark.parametrize(
    ("files", "holds_with", "holds_and"),
    [
        (("eval.log", "eval.log"), True, True),
        (("plots.log", "serve.log"), False, True),
        (("a.out", "b.err"), False, True),
    ],
)
def test_two_errors_go_together_only_in_one_file(files, holds_with, holds_and):
    run = asked(findings=[told_in("file-missing", files[0]), told_in("exception-in-checkpoint-load", files[1])])
    two = (f"found(file-missing) {w} found(exception-in-checkpoint-load)" for w in ("with", "and"))
    assert [holds(read(text), run) is not None for text in two] == [holds_with, holds_and]


@pytest.mark.parametrize(("follow", "is_one"), [((True, True), True), ((True, False), False)])
def test_what_consequences_alone_make_up_is_a_consequence(follow, is_one):
    first = {"follows": {"code": "cuda-oom", "file": "a.log", "line": 3}}
    codes, name = ("file-missing", "exception-in-checkpoint-load"), "checkpoint-load-failure.md"
    told = [replace(told_in(c, "a.log"), data=first if f else {}) for c, f in zip(codes, follow, strict=True)]
    entry = parse((SHIPPED / name).read_text(encoding="utf-8"), name, None)
    found = {f.code: f for f in ask([entry], asked(findings=told).related, told).findings}
    sign = found["sign-found-file-missing-with-found-exception-in-checkpoint-load"]
    assert ("follows" in sign.data) == is_one


SLOW = asked(
    data_time=stepped(0.04, 0.7), compute_time=level(0.9), step_time=stepped(0.94, 1.6), sm_clock_mhz=level(1755),
    queue=stepped(8, 2, 200), events=[Event("data", "switched to shard group B", "loader.log", 9, 250)],
    settings={"num_workers": 2, "pin_memory": False}, findings=[Finding("cuda-oom", Severity.S1, "out of memory")],
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "rises(data_time)",
        "rises(data_time) with flat(compute_time)",
        "rises(data_time) with rises(step_time)",
        "falls(queue) before rises(data_time)",
        "rises(data_time, 0.5) and falls(queue, 0.5)",
        "rises(data_time) after falls(queue)",
        "flat(sm_clock) with rises(step_time)",
        "event(data) at onset",
        "event(data, group) and rises(data_time)",
        "rises(data_time) at onset",
        "above(data_share, 10%)",
        "above(data_time, compute_share) and set(pin_memory, false)".replace(
            "data_time, compute_share", "step_time, 1"
        ),
        "near(num_workers, 2)",
        "found(cuda-oom)",
        "absent(loss)",
        "not rises(compute_time)",
        "not found(nccl-timeout)",
    ],
)
def test_a_sign_holds(text):
    assert holds(read(text), SLOW) is not None


@pytest.mark.parametrize(
    "text",
    [
        "falls(data_time)",
        "rises(step_time, 0.9)",
        "rises(data_time) before falls(queue)",
        "falls(queue) with rises(data_time)",
        "rises(compute_time)",
        "flat(data_time)",
        "event(data) and event(node)",
        "event(data, party)",
        "falls(queue) at onset",
        "below(data_share, 10%)",
        "set(num_workers, 8)",
        "absent(data_time)",
        "not found(cuda-oom)",
        "rises(loss)",
        "not rises(loss)",
        "differs(step_time, by=rank)",
    ],
)
def test_a_sign_does_not_hold(text):
    assert holds(read(text), SLOW) is None


@pytest.mark.parametrize(
    ("severity", "data", "held"), [("S3", {"survived": "the run goes on"}, False), ("S2", {}, True)]
)
def test_a_failure_that_the_run_survived_as_a_note_is_no_part_of_a_sign(severity, data, held):
    run = asked(findings=[Finding("cuda-oom", Severity(severity), "out of memory", data=data)], gpu_mem=stepped(8, 20))
    assert (holds(read("found(cuda-oom) and rises(gpu_mem)"), run) is not None) is held


def test_what_is_not_measured_cannot_be_told():
    entry = parse((SHIPPED / "entropy-collapse.md").read_text(encoding="utf-8"), "entropy-collapse.md", None)
    report = ask([entry], SLOW.related, ())
    assert {result for result, _ in report.summary["signs"].values()} == {"cannot-tell"}
    assert report.findings == ()


def test_a_sign_is_a_finding_with_its_places():
    entry = parse((SHIPPED / "dataloader-bottleneck.md").read_text(encoding="utf-8"), "dataloader-bottleneck.md", None)
    found = {f.code: f for f in ask([entry], SLOW.related, ()).findings}
    shown = found["sign-rises-data-time-with-flat-compute-time"]
    assert shown.severity == "S2"
    assert ("log.csv", 251) in {(e.file, e.line) for e in shown.evidence}


NEW = (SHIPPED / "low-throughput.md").read_text(encoding="utf-8")


def save(path, head, rows):
    path.write_text("\n".join([head, *(",".join(f"{v:.6g}" for v in row) for row in rows)]) + "\n")


def entry_of(tmp_path, signs):
    """A new entry, one file, with these signs and nothing else that speaks for it."""
    front, _, rest = NEW.partition("findings:")
    rest = rest[rest.index("\ncauses:" if "\ncauses:" in rest else "\ncheck_first:") + 1 :]
    text = f"{front.replace('id: low-throughput', 'id: coolant-pump')}signs:\n  for:\n{signs}{rest}"
    return parse(text, "coolant-pump.md")


def test_an_entry_with_two_signs_in_one_file_ends_in_a_diagnosis(tmp_path):
    entry = entry_of(
        tmp_path, '    "falls(pump_rpm) with rises(inlet_temp)": decisive\n    "falls(pump_rpm)": strong\n'
    )
    rows = [f"{i},{r:.4g},{t:.4g},{v:.4g}" for i, (r, t, v) in enumerate(zip(stepped(4000, 1200), stepped(24, 41),
            stepped(4e5, 2e5), strict=True), 1)]  # fmt: skip
    (tmp_path / "rack.csv").write_text("step,pump_rpm,inlet_temp_c,tokens_per_second\n" + "\n".join(rows) + "\n")
    seen = look([tmp_path], entries=[entry])
    d = diagnose(Runbook({entry.id: entry}), (), seen.findings, seen.checks, looked=True)
    assert (d.state, d.top.entry.id, d.top.status) == ("diagnosed", "coolant-pump", "established")


def test_a_healthy_run_stays_healthy(tmp_path):
    loss = 2 + 8 * np.arange(1, N + 1) ** -0.4 + RNG.normal(0, 0.02, N)
    rows = [
        f"{i},{a:.5g},{b:.4g},{c:.4g}" for i, (a, b, c) in enumerate(zip(loss, level(0.6), level(4e5), strict=True), 1)
    ]
    (tmp_path / "log.csv").write_text("step,loss,grad_norm,tokens_per_second\n" + "\n".join(rows) + "\n")
    seen = look([tmp_path])
    assert [f.message for f in seen.findings if f.severity != "S3"] == []
    assert "run-healthy" in {f.code for f in seen.findings}


@pytest.mark.parametrize(
    ("others", "held"),
    [({}, True), ({"step": lambda i: i // 2}, True), ({"policy": lambda i: f"p{i % 7}"}, False),
     ({"method": lambda i: f"m{i % 5}"}, False)],
)  # fmt: skip
def test_texts_that_differ_in_every_variant_are_no_loss_by_source(tmp_path, others, held):
    rows = [(("novels", "wiki")[i % 2], *(f(i) for f in others.values()), 3.4 + 0.5 * (i % 2) + 0.02 * RNG.normal())
            for i in range(42)]  # fmt: skip
    head = ",".join(["source", *others, "loss"])
    (tmp_path / "by_source.csv").write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]) + "\n")
    tables = read_tables(tmp_path / "by_source.csv", "by_source.csv")
    seen = Asked(relate(SeriesTable(), tables), [])
    assert (holds(read("differs(loss, by=source)"), seen) is not None) is held


def beside(metric="loss", **changed):
    return Finding("behind-sibling", Severity.S2, "behind.", "落后。", (), {"changed": changed, "metric": metric})


@pytest.mark.parametrize(
    ("text", "changed", "metric", "held"),
    [
        ("alone(learning_rate)", {"learning_rate": [3e-4, 3e-3]}, "loss", True),
        ("alone(learning_rate, higher)", {"learning_rate": [3e-4, 3e-3]}, "loss", True),
        ("alone(learning_rate, lower)", {"learning_rate": [3e-4, 3e-3]}, "loss", False),
        ("alone(warmup_steps, lower)", {"warmup_steps": [2000, 50]}, "loss", True),
        ("alone(optimizer)", {"optimizer": ["adamw", "sgd"]}, "loss", True),
        ("alone(learning_rate)", {"learning_rate": [3e-4, 3e-3], "weight_decay": [0.1, 0.0]}, "loss", False),
        ("alone(weight_decay)", {"learning_rate": [3e-4, 3e-3]}, "loss", False),
        ("alone(dataset)", {"dataset": ["a", "b"]}, "eval_loss", True),
        ("alone(dataset)", {"dataset": ["a", "b"]}, "loss", False),
    ],
)
def test_what_is_all_that_differs_from_a_better_run(text, changed, metric, held):
    seen = asked(findings=[beside(metric, **changed)], loss=level(2.0))
    assert (holds(read(text), seen) is not None) is held
    assert holds(read(text), asked(loss=level(2.0))) is None


def deployed(*events, name="error_rate"):
    begin = 1_777_714_000.0
    rate = stepped(0.004, 0.14, 100)
    rate[300:] = level(0.004)[300:]
    columns = [Column("time", "axis", "time", "", begin + 60 * np.arange(N)), Column(name, "measure", name, "", rate)]
    told = [Event(kind, text, "ops.md", i, at=begin + 60 * minute) for i, (kind, text, minute) in enumerate(events)]
    return Asked(relate(SeriesTable(), [Table("m.csv", "", tuple(columns), np.arange(2, N + 2))], events=told), [])


UP, BACK = ("deployment", "deployed model-v31"), ("deployment", "rolled back to v30")


@pytest.mark.parametrize(
    ("events", "name", "held"),
    [
        ([(*UP, 98), (*BACK, 300)], "error_rate", True),
        ([(*UP, 99), (*BACK, 301)], "http_5xx_error_rate", True),
        ([(*UP, 20), (*BACK, 300)], "error_rate", False),
        ([(*UP, 98), (*BACK, 380)], "error_rate", False),
        ([(*UP, 98)], "error_rate", False),
        ([(*UP, 98), ("deployment", "rolled out v32", 300)], "error_rate", False),
    ],
)
def test_a_release_that_brings_errors_which_its_withdrawal_takes_away(events, name, held):
    text = "rises(*error*rate*) with event(deployment) and falls(*error*rate*) with event(deployment, back)"
    assert (holds(read(text), deployed(*events, name=name)) is not None) is held


def test_a_growth_without_one_place_rises_and_is_not_flat():
    grown = 0.9 * np.exp(np.clip((np.arange(N) - 300) / 16, 0, 6)) * RNG.normal(1, 0.05, N)
    seen = asked(grad_norm=grown)
    assert holds(read("rises(grad_norm)"), seen) is not None
    assert holds(read("flat(grad_norm)"), seen) is None
    noisy = asked(grad_norm=RNG.normal(1, 0.2, N))
    assert holds(read("rises(grad_norm)"), noisy) is None
    assert holds(read("flat(grad_norm)"), noisy) is not None


def leading(entries, findings):
    some = Runbook({e.id: e for e in load() if e.id in entries})
    return [h.entry.id for h in diagnose(some, [], findings, (), looked=True).hypotheses]


def test_a_clock_that_falls_tells_a_slow_card_from_unequal_work():
    two = ("gpu-load-imbalance", "gpu-throttling-straggler")

    def first(compute, clock):
        ranks = np.repeat([0.0, 1.0], N)
        slow = np.concatenate([level(0.9), compute])
        measured = {"compute_time": slow, "sm_clock_mhz": np.concatenate([level(1755), clock])}
        columns = (
            Column("step", "axis", "step", "", np.tile(np.arange(1.0, N + 1), 2)),
            Column("rank", "group", "rank", "", ranks),
            *(Column(name, "measure", name, "", values) for name, values in measured.items()),
        )
        related = relate(SeriesTable(), [Table("log.csv", "", columns, np.arange(2, 2 * N + 2))], Settings({}), ())
        signs = ask([e for e in load() if e.id in two], related, ()).findings
        return leading(two, signs)[0]

    assert first(stepped(0.9, 2.4, 60), stepped(1755, 800, 60)) == two[1]
    assert first(level(2.4), level(1755)) == two[0]


@pytest.mark.parametrize(("before", "after", "told"), [(0.4, 0.1, True), (0.001, 0.0, False)])
def test_hits_of_a_cache_that_hardly_hits_are_no_loss(before, after, told):
    hits = np.where(np.arange(1, N + 1) < 250, before, after)
    run = asked(**{"Prefix cache hit rate": hits}, tokens_per_second=level(500))
    assert (holds(read("falls(*cache*hit*, 0.3)"), run) is not None) == told


@pytest.mark.parametrize(("drafted", "told"), [("with it", False), ("steady", True)])
def test_an_amount_that_falls_with_what_is_asked_for_is_no_fall(drafted, told):
    busy = np.where(np.arange(1, N + 1) < 250, 40.0, 2.0) * RNG.normal(1, 0.03, N)
    run = asked(
        **{"Accepted throughput": 0.6 * busy, "Drafted throughput": busy if drafted == "with it" else level(40)}
    )
    assert (holds(read("falls(*accept*)"), run) is not None) == told


def test_what_two_runs_in_folders_of_their_own_show_is_not_joined():
    def found(*folders):
        files = [Finding(code, Severity.S2, "m", evidence=(Evidence(f"{folder}/trace.jsonl", 3),))
                 for code, folder in zip(("reward-decline", "kl-above-range"), folders, strict=True)]  # fmt: skip
        return holds(read("found(reward-decline) and found(kl-above-range)"), asked(findings=files, loss=level(1.0)))

    assert found("exp_40", "exp_41") is None
    assert found("exp_40", "exp_40")
    assert found("rank0", "rank1")


@pytest.mark.parametrize(
    ("name", "sign", "told"),
    [
        ("second_judge_score", "falls(*second*)", True),
        ("score_of_second_rm", "falls(*second*)", True),
        ("frames_per_second", "falls(*second*)", False),
        ("rollout_seconds", "falls(*second*)", False),
        ("env_time_second", "falls(*second*)", False),
        ("hidden_tests_passed", "falls(*hidden*)", True),
        ("hidden_state_norm", "falls(*hidden*)", False),
        ("human_rating_std", "falls(*human*)", False),
    ],
)
def test_what_is_counted_by_the_second_or_how_wide_it_is_is_no_quality(name, sign, told):
    run = asked(reward=stepped(0.2, 0.8), **{name: stepped(6.0, 2.0)})
    assert (holds(read(f"rises(reward) with {sign}"), run) is not None) == told


@pytest.mark.parametrize(
    ("beside", "name", "holds_"),
    [
        ("approx_kl_old", "clip_pct", False),
        ("importance_ratio_max", "clip_share", False),
        ("grad_norm", "clip_pct", True),
        ("approx_kl_old", "grad_clip_share", True),
    ],
)
def test_what_is_clipped_beside_a_ratio_is_the_policy_and_no_gradient(tmp_path, beside, name, holds_):
    rows = "".join(
        f"{i},{0.02 + i / 900:.4f},{(4 if name.endswith('pct') else 0.04) * (1 + i / 30):.3f}\n" for i in range(1, 200)
    )
    (tmp_path / "a.csv").write_text(f"update,{beside},{name}\n{rows}")
    run = Asked(relate(SeriesTable(), read_tables(tmp_path / "a.csv", "a.csv"), Settings()), ())
    assert bool(holds(read("above(grad_clip_rate, 0.05) and rises(grad_clip_rate)"), run)) is holds_
    assert bool(holds(read("rises(clip_fraction)"), run)) is not holds_


@pytest.mark.parametrize(("last", "told"), [(3.1, False), (31.0, True)])
def test_a_share_in_percent_is_compared_as_a_share(last, told):
    column = Column("grad_clip_pct", "measure", "grad_clip_rate", "", np.full(N, last))
    axis = Column("step", "axis", "step", "", np.arange(1.0, N + 1))
    table = Table("log.csv", "", (axis, column), np.arange(2, N + 2))
    run = Asked(relate(SeriesTable(), [table], Settings()), ())
    assert bool(holds(read("above(grad_clip_rate, 0.05)"), run)) is told


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (("ttft_ms",), True),
        (("reward", "prefill_tokens"), True),
        (("gpu_util",), True),
        (("reward", "epsilon"), False),
        (("loss", "batch_size"), False),
        (("density",), False),
    ],
)
def test_a_queue_is_a_server_s_where_something_else_is(beside, told):
    """Cars before a light and parcels in a yard queue up, too, and what learns to clear them logs its reward."""
    others = {name: level(40) for name in beside}
    run = asked(north_queue=stepped(2, 9), **others)
    assert (holds(read("rises(*queue*)"), run) is not None) == told
    assert holds(read("rises(north_queue)"), run) is not None


@pytest.mark.parametrize(
    ("measure", "way", "held"),
    [("loss", 1, True), ("loss", -1, False), ("throughput", -1, True), ("eval_accuracy", 1, False)],
)
def test_a_point_that_sticks_out_to_the_good_side_is_no_spike(measure, way, held):
    values = 2.0 * RNG.normal(1, 0.01, N)
    values[200] += way * 1.5
    assert bool(holds(read(f"spikes({measure})"), asked(**{measure: values}))) == held


SHOT = np.where(np.arange(N) == 60, 4.0, 1.0)
"""One point of four times the level."""


@pytest.mark.parametrize(
    "found", [["run-healthy"], ["run-healthy", "grad-norm-spike"], ["loss-spike", "grad-norm-spike"]]
)
def test_single_points_that_their_checks_let_pass_are_a_note_and_no_sign(found):
    notes = [Finding(code, Severity.S3, "seen") for code in found]
    run = asked(findings=notes, loss=level(2.0) * SHOT, grad_norm=level(0.5) * np.roll(SHOT, -3))
    assert {h.note for h in holds(read("spikes(grad_norm) before spikes(loss)"), run)} == {True}


@pytest.mark.parametrize("found", [[], ["loss-spike", "run-healthy"]])
def test_points_that_no_check_let_pass_are_more_than_a_note(found):
    some = [Finding(code, Severity.S2, "seen") for code in found]
    run = asked(findings=some, loss=level(2.0) * SHOT, grad_norm=level(0.5) * np.roll(SHOT, -3))
    assert False in {h.note for h in holds(read("spikes(grad_norm) before spikes(loss)"), run)}


def passed(*ways):
    """Held-out scores of several tests in one file, each with its way."""
    return asked(**{f"val/t{i}/acc": level(0.4 + 0.2 * np.linspace(0, way, N)) for i, way in enumerate(ways)})


@pytest.mark.parametrize("ways", [(0,), (0, 0), (0, 0, 0)])
def test_held_out_scores_that_all_stay_are_flat(ways):
    assert holds(read("flat(eval_accuracy)"), passed(*ways)) is not None


@pytest.mark.parametrize("ways", [(0, 1), (0, 0, 1), (1,)])
def test_one_test_of_several_that_is_passed_more_often_leaves_none_flat(ways):
    assert holds(read("flat(eval_accuracy)"), passed(*ways)) is None


LOSES = "falls(reward_chosen) with rises(reward_margin) and above(chosen_lost, margin_gained)"


def preferred(chosen, margin):
    way = 1 - np.exp(-np.arange(N) / 80)
    noise = RNG.normal(0, 0.02, N)
    return asked(reward_chosen=chosen * way + noise, reward_margin=margin * way + noise)


@pytest.mark.parametrize(("chosen", "margin"), [(-3.0, 1.2), (-0.9, 0.4)])
def test_chosen_answers_that_lose_more_than_the_margin_gains_are_a_sign(chosen, margin):
    assert holds(read(LOSES), preferred(chosen, margin)) is not None


@pytest.mark.parametrize(("chosen", "margin"), [(-0.3, 0.9), (-2.0, 4.5), (0.5, 1.5)])
def test_chosen_answers_that_lose_less_than_the_margin_gains_are_none(chosen, margin):
    assert holds(read(LOSES), preferred(chosen, margin)) is None
