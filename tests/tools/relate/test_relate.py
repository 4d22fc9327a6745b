import numpy as np
import pytest

from triage.tools.documents.event import Claim, Event
from triage.tools.relate.line import lines_of, place
from triage.tools.relate.relate import relate
from triage.tools.series import Series, SeriesTable
from triage.tools.settings import Setting, Settings
from triage.tools.tables.table import Column, Table

RNG = np.random.default_rng(3)
N = 600


def column(name, values, role="measure", of=None):
    kind = np.asarray(values, float if role in ("measure", "axis") else object)
    return Column(name, role, of or name, "", kind)


def table(*columns, file="run.csv", part=""):
    return Table(file, part, columns, np.arange(2, len(columns[0].values) + 2))


def steps(n=N, every=1):
    return column("step", np.arange(1, n + 1) * every, "axis")


def level(height, size=0.01, n=N):
    return height * (1 + RNG.normal(0, size, n))


def stepped(before, after, at, size=0.01, n=N):
    return np.where(np.arange(1, n + 1) < at, before, after) * (1 + RNG.normal(0, size, n))


def settings(**values):
    return Settings({v: Setting(v, n, str(n), v, "config.yaml", i + 1) for i, (v, n) in enumerate(values.items())})


def codes(report, *grades):
    return [f.code for f in report.findings if not grades or f.severity in grades]


def the(report, code):
    return next(f for f in report.findings if f.code == code)


def slow():
    """Throughput falls at step 400 together with the loader's time, while the device computes as before."""
    return table(
        steps(), column("tokens_per_s", stepped(410e3, 233e3, 400), of="tokens_per_second"),
        column("data_time", stepped(0.04, 0.76, 400)), column("compute_time", level(0.9)),
        column("queue", stepped(8, 2, 380)),
    )  # fmt: skip


def test_the_onset_names_the_symptom_its_company_what_stayed_and_the_event():
    event = Event("data", "switched to shard group B", "loader.log", 512, 400)
    found = relate(SeriesTable(), [slow()], events=[event, Event("note", "lunch", "notes.md", 1, 20)])
    first = found.findings[0]
    assert (first.code, first.severity) == ("onset", "S2")
    assert first.data["metric"] == "tokens_per_second"
    assert first.data["interval"][0] <= 400 <= first.data["interval"][1]
    assert [c["metric"] for c in first.data["with"]] == ["data_time"]
    assert [c["metric"] for c in first.data["before"]] == ["queue"]
    assert "compute_time" in first.data["flat"]
    assert [e["line"] for e in first.data["events"]] == [512]
    assert (first.evidence[0].file, first.evidence[0].line) == ("run.csv", 401)


def test_an_unknown_measure_that_changes_alone_is_a_note():
    found = relate(SeriesTable(), [table(steps(), column("queue", stepped(8, 2, 300)), column("heat", level(60)))])
    assert codes(found) == ["metric-changed"]
    assert codes(found, "S0", "S1", "S2") == []


def test_a_measure_that_gets_better_is_no_symptom():
    found = relate(SeriesTable(), [table(steps(), column("tok/s", stepped(2e5, 4e5, 300), of="tokens_per_second"))])
    assert codes(found, "S0", "S1", "S2") == []


@pytest.mark.parametrize(("running", "waiting", "grades"), [
    ((40, 8), (0, 0), []), ((40, 38), (0, 0), ["S2"]), ((40, 8), (0, 20), ["S2"]),
], ids=["less is asked", "as much is asked", "some wait"])  # fmt: skip
def test_a_servers_rate_that_falls_with_what_is_asked_of_it_is_no_symptom(running, waiting, grades):
    load = (column(name, stepped(*height, 400)) for name, height in (("Running", running), ("Waiting", waiting)))
    served = table(steps(), column("tok/s", stepped(4e3, 8e2, 400), of="tokens_per_second"), *load)
    found = relate(SeriesTable(), [served])
    assert [
        f.severity for f in found.findings if f.code == "onset" and f.data["metric"] == "tokens_per_second"
    ] == grades


@pytest.mark.parametrize(("name", "beside", "grades"), [
    ("offered_rps", (64, 12), []), ("arrivals/s", (64, 12), []), ("在线用户", (64, 12), []),
    ("offered_rps", (64, 64), ["S2"]), ("rps", (64, 12), ["S2"]), ("offered_rps", (64, 48), ["S2"]),
], ids=["offered", "arrivals", "users", "as much", "answered", "a little less"])  # fmt: skip
def test_a_rate_that_wanes_with_what_is_offered_is_no_symptom(name, beside, grades):
    served = table(steps(), column("tok/s", stepped(6400, 1200, 300), of="tokens_per_second"),
                   column(name, stepped(*beside, 300)))  # fmt: skip
    found = relate(SeriesTable(), [served]).findings
    assert [f.severity for f in found if f.code == "onset" and f.data["metric"] == "tokens_per_second"] == grades


def test_series_of_a_log_and_columns_of_a_monitor_meet_at_one_onset():
    values = stepped(410e3, 233e3, 400)
    log = Series("tokens_per_second", "tok/s", np.arange(1, N + 1), values, np.arange(1, N + 1), "train.log")
    rare = table(steps(12, 50), column("mount_read", [0.0] * 7 + [180.0] * 5), file="host.csv")
    assert [c["metric"] for c in relate(SeriesTable((log,)), [rare]).findings[0].data["with"]] == ["mount_read"]


def test_a_monitor_without_steps_is_joined_by_the_clock_of_the_run():
    clock = table(steps(), column("time", 1.7e9 + np.arange(N) * 2.0, "axis"), column("tok/s", stepped(4e5, 2e5, 400),
                  of="tokens_per_second"))  # fmt: skip
    times = 1.7e9 + np.arange(0, 1200, 20.0)
    monitor = table(column("time", times, "axis"), column("cpu", np.where(times < 1.7e9 + 800, 20.0, 95.0)),
                    file="host.csv")  # fmt: skip
    assert [c["metric"] for c in relate(SeriesTable(), [clock, monitor]).findings[0].data["with"]] == ["cpu"]


def ranked(odd=1.4, count=8, rows=20):
    where = [(r, g) for r in range(rows) for g in range(count)]
    values = [(odd if g == 5 else 1.0) * RNG.normal(1, 0.01) for _, g in where]
    return table(column("step", [r for r, _ in where], "axis"), column("rank", [str(g) for _, g in where], "group"),
                 column("step_time", values))  # fmt: skip


def test_the_rank_that_differs_is_named_with_by_how_much():
    found = the(relate(SeriesTable(), [ranked()]), "group-differs")
    assert (found.severity, found.data["by"], found.data["groups"]) == ("S2", "rank", ["5"])
    low, high = found.data["interval"]
    assert low <= 0.4 <= high
    assert found.data["sizes"]["5"] == 20


@pytest.mark.parametrize("count", [1, 2, 8])
def test_equal_ranks_and_one_or_two_groups_are_not_told_apart(count):
    assert codes(relate(SeriesTable(), [ranked(1.0, count)])) == []


def test_groups_that_differ_by_nature_are_a_note():
    values = [RNG.normal({"code": 1.0, "web": 2.5}[s], 0.05) for s in ["code", "web"] * 50]
    rows = table(column("source", ["code", "web"] * 50, "group"), column("loss", values))
    assert [(f.code, f.severity) for f in relate(SeriesTable(), [rows]).findings] == [("group-differs", "S3")]


def test_one_language_that_gets_worse_alone_is_told():
    where = [(s, g) for s in range(1, 61) for g in ("de", "en", "fr", "zh")]
    values = [(12 - s * 0.02 + (0.2 * s if g == "zh" else 0)) * RNG.normal(1, 0.005) for s, g in where]
    rows = table(column("step", [s for s, _ in where], "axis"), column("language", [g for _, g in where], "group"),
                 column("eval_ppl", values, of="eval_perplexity"))  # fmt: skip
    found = the(relate(SeriesTable(), [rows]), "group-worsens")
    assert (found.data["group"], found.data["way"], found.severity) == ("language zh", "rises", "S2")


def checkpoints(values, n=1000, **constant):
    more = [column(name, [value] * len(values), "group") for name, value in constant.items()]
    return table(column("ckpt_k", np.arange(len(values)) * 5 + 10, "axis", "step"), column("acc", values),
                 column("n", [n] * len(values)), *more, file="eval.csv")  # fmt: skip


FELL = [59.5, 58.9, 62.2, 57.7, 57.3, 58.7, 58.5, 55.7, 58.0, 58.6, 53.2, 53.6, 52.7, 55.2, 54.3, 55.2, 53.8]


def test_a_row_of_noisy_scores_falls_where_the_posterior_says_and_not_at_the_first_low_value():
    found = the(relate(SeriesTable(), [checkpoints(FELL)]), "score-falls-at-checkpoint")
    assert found.data["interval"][0] < found.data["at"] == 60_000 <= found.data["interval"][1]
    assert found.data["before"] == pytest.approx(58.5, abs=0.7)
    assert found.data["after"] == pytest.approx(54.0, abs=0.7)


def test_a_fall_behind_the_first_checkpoint_is_that_of_the_whole_training():
    values = [61.2, 46.9, 49.3, 50.1, 51.4, 52.0, 52.1, 53.2, 54.2, 54.1, 54.7, 54.8]
    found = codes(relate(SeriesTable(), [checkpoints(values)]))
    assert "score-falls-from-start" in found
    assert "score-falls-at-checkpoint" not in found


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([36.5, 43.6, 49.4, 53.4, 53.7, 51.3, 49.1, 45.4, 42.5, 38.3, 39.0, 34.6], False),
        ([71.0, 74.5, 74.0, 70.9, 67.2, 63.0, 58.9, 55.8, 51.2], False),
        ([36.5, 43.6, 49.4, 51.4, 53.7, 54.1, 54.9, 46.4, 45.5, 46.3, 47.0, 47.6], True),
        ([71.0, 72.5, 72.0, 73.9, 74.2, 61.0, 61.9, 60.8, 62.2], True),
    ],
    ids=["a slide", "another", "a fall", "another fall"],
)
def test_a_row_that_comes_down_bit_by_bit_fell_at_no_checkpoint(values, told):
    found = codes(relate(SeriesTable(), [checkpoints([v / 100 for v in values], n=800)]))
    assert ("score-falls-at-checkpoint" in found) is told


def test_noise_alone_and_rows_measured_differently_are_no_fall():
    assert codes(relate(SeriesTable(), [checkpoints(FELL[:10])])) == []
    mixed = checkpoints(FELL)
    other = column("num_fewshot", ["5"] * 10 + ["0"] * 7, "group")
    mixed = table(*mixed.columns, other, file="eval.csv")
    assert "score-falls-at-checkpoint" not in codes(relate(SeriesTable(), [mixed]))


def results(file, weights, values, **setup):
    said = table(*(column(k, [v], "group") for k, v in setup.items()), file=file)
    rows = table(column("ckpt", ["A", "B"][: len(values)], "identifier"), column("hash", weights, "identifier"),
                 column("acc", values), column("n", [2000] * len(values)), file=file, part="results")  # fmt: skip
    return [said, rows]


def test_the_same_weights_scored_apart_by_two_harnesses_is_the_harness():
    tables = [*results("may.json", ["9f2c"], [61.0], commit="71ab", num_fewshot="5"),
              *results("june.json", ["9f2c", "b71e"], [55.7, 56.1], commit="c03e", num_fewshot="0")]  # fmt: skip
    found = relate(SeriesTable(), tables).findings[0]
    assert (found.code, found.data["before"], found.data["after"]) == ("same-weights-scored-apart", 61.0, 55.7)
    assert found.data["alike_difference"] == pytest.approx(0.4)
    assert found.data["alike_error"] == pytest.approx(1.6, abs=0.1)


def test_other_weights_measured_differently_are_not_compared_and_measured_alike_are():
    may = results("may.json", ["9f2c"], [61.0], num_fewshot="5")
    apart = relate(SeriesTable(), [*may, *results("june.json", ["b71e"], [56.1], num_fewshot="0")])
    assert codes(apart) == ["eval-settings-differ"]
    alike = relate(SeriesTable(), results("june.json", ["9f2c", "b71e"], [61.0, 56.1], num_fewshot="0"))
    assert codes(alike) == ["score-differs"]


def pairs(gaps):
    base = RNG.uniform(0, 5, len(gaps))
    return table(column("chosen_score", base + gaps), column("rejected_score", base), file="pairs.csv")


def test_pairs_that_hardly_differ_are_counted():
    found = the(relate(SeriesTable(), [pairs(np.array([0.1] * 61 + [1.2] * 39))]), "preference-gap-small")
    assert (found.data["small"], found.data["pairs"], found.severity) == (61, 100, "S1")
    assert codes(relate(SeriesTable(), [pairs(np.array([0.1] * 10 + [1.2] * 90))])) == []


def labels(agree):
    given = [(f"q{i}", f"a{a}", "AB"[(i + (RNG.random() > agree)) % 2]) for i in range(200) for a in range(3)]
    return table(*(column(name, [g[k] for g in given], role) for k, (name, role) in
                   enumerate([("item", "identifier"), ("annotator", "group"), ("label", "text")])))  # fmt: skip


def test_annotators_who_disagree_are_told_with_alpha_and_its_interval():
    found = the(relate(SeriesTable(), [labels(0.75)]), "annotator-disagreement")
    assert found.data["interval"][0] < found.data["alpha"] < found.data["interval"][1] < 0.67
    assert codes(relate(SeriesTable(), [labels(0.98)])) == []


@pytest.mark.parametrize(
    "heads", [("qid", "rater", "preferred"), ("对比编号", "标注员", "偏好"), ("cmp", "labeler", "pick")]
)
def test_so_they_are_under_other_names(heads):
    renamed = table(*(column(h, c.values, c.role) for h, c in zip(heads, labels(0.75).columns, strict=True)))
    assert "annotator-disagreement" in codes(relate(SeriesTable(), [renamed]))


def in_columns(agree, names):
    given = [[n, *("AB"[(n + (RNG.random() > agree)) % 2] for _ in names)] for n in range(200)]
    return table(*(column(name, [g[k] for g in given], "text") for k, name in enumerate(["id", *names])))


@pytest.mark.parametrize("names", [("rater_1", "rater_2", "rater_3"), ("标注员1", "标注员2", "标注员3")])
def test_annotators_in_a_column_each_are_compared_as_well(names):
    assert "annotator-disagreement" in codes(relate(SeriesTable(), [in_columns(0.75, names)]))
    assert "annotator-disagreement" not in codes(relate(SeriesTable(), [in_columns(0.98, names)]))


def test_labels_that_mean_another_answer_in_another_order_and_measurements_are_no_votes():
    shown = table(*labels(0.75).columns, column("shown_first", ["x", "y"] * 300, "text"))
    timed = table(steps(200), *(column(f"rater_{k}", level(0.9, n=200)) for k in (1, 2)))
    assert {*codes(relate(SeriesTable(), [shown, timed]))}.isdisjoint({"annotator-disagreement"})


def probes(change):
    rows = [(s, p, f"answer {p} {s if change else ''}") for s in (5, 100, 250) for p in range(16)]
    return table(column("step", [r[0] for r in rows], "axis"), column("prompt_id", [str(r[1]) for r in rows], "group"),
                 column("output", [r[2] for r in rows], "text"))  # fmt: skip


def test_outputs_that_never_change_are_told():
    assert codes(relate(SeriesTable(), [probes(False)])) == ["outputs-unchanged"]
    assert codes(relate(SeriesTable(), [probes(True)])) == []


WHOLE = {"micro_batch_size": 4, "grad_accumulation": 8, "world_size": 128, "tensor_parallel": 2, "pipeline_parallel": 4,
         "sequence_length": 4096}  # fmt: skip


def test_a_plan_that_multiplies_by_the_world_is_contradicted_with_the_formula():
    plan = Claim("tokens_per_step", 16_777_216, "tokens", "GBS = 4*8*128*4096 = 16.8M tokens", "plan.md", 6)
    found = relate(SeriesTable(), (), settings(**WHOLE), claims=[plan]).findings[0]
    assert (found.code, found.severity) == ("batch-contradicts-plan", "S1")
    assert "128 / (2 x 4) = 16; 4 x 8 x 16 x 4096 = 2.1M tokens a step" in found.message
    assert "exactly tensor_parallel x pipeline_parallel" in found.message
    assert (
        codes(relate(SeriesTable(), (), settings(**WHOLE), claims=[Claim(*("tokens_per_step", 2.1e6), *[""] * 3, 1)]))
        == []
    )


def test_steps_that_do_not_fit_the_tokens_are_contradicted():
    found = relate(SeriesTable(), (), settings(**WHOLE, max_steps=17882, train_tokens=3e11))
    assert codes(found) == ["steps-contradict-tokens"]
    assert found.quantities["steps_needed"].value == pytest.approx(143051, rel=1e-3)
    assert codes(relate(SeriesTable(), (), settings(**WHOLE, max_steps=143051, train_tokens=3e11))) == []


@pytest.mark.parametrize(
    ("key", "steps", "told"),
    [("dataset.train_tokens", 17882, 0), ("corpus.total_tokens", 17882, 0), ("dataset.train_tokens", 500_000, 1),
     ("trainer.train_tokens", 17882, 1)],
)  # fmt: skip
def test_a_part_of_the_data_that_lies_there_is_enough(key, steps, told):
    names = {**WHOLE, "max_steps": steps, "train_tokens": 3e11}
    found = {v: Setting(v, n, str(n), key if v == "train_tokens" else v, "c.yaml", 1) for v, n in names.items()}
    assert codes(relate(SeriesTable(), (), Settings(found))) == ["steps-contradict-tokens"] * told


def test_a_counter_of_the_log_is_held_against_the_parts():
    counted = table(steps(), column("tokens", np.arange(1, N + 1) * 4_194_304.0))
    assert codes(relate(SeriesTable(), [counted], settings(**WHOLE))) == ["batch-contradicts-log"]


@pytest.mark.parametrize("of", [1e3, 1e6, 1e9], ids=["thousands", "millions", "billions"])
def test_a_counter_in_another_unit_contradicts_no_plan(of):
    counted = table(steps(every=50), column("tokens", np.arange(1, N + 1) * 50 * 2_097_152 / of))
    plan = [Claim("train_tokens", 4.2e10, "tokens", "42B tokens", "plan.md", 2),
            Claim("max_steps", 20_000, "steps", "20k steps", "plan.md", 2)]  # fmt: skip
    assert codes(relate(SeriesTable(), [counted], Settings(), claims=plan)) == []
    assert codes(relate(SeriesTable(), [counted], settings(**WHOLE))) == []


@pytest.mark.parametrize("wrong", [2, 8, 64])
def test_a_counter_contradicts_a_plan_that_is_off_by_a_factor(wrong):
    counted = table(steps(every=50), column("tokens", np.arange(1, N + 1) * 50 * 2_097_152.0))
    plan = [Claim("train_tokens", 4.2e10, "tokens", "42B tokens", "plan.md", 2),
            Claim("max_steps", 20_000 * wrong, "steps", "steps", "plan.md", 2)]  # fmt: skip
    assert codes(relate(SeriesTable(), [counted], Settings(), claims=plan)) == ["batch-contradicts-plan"]


def test_a_rate_at_its_floor_long_before_the_end_is_told():
    way = np.maximum(3e-5, 3e-4 * (1 - np.arange(N) / 300))
    rate = table(steps(), column("lr", way, of="learning_rate"))
    found = the(relate(SeriesTable(), [rate], settings(max_steps=5000, learning_rate=3e-4)), "lr-floor-early")
    assert found.data["at"] == pytest.approx(271, abs=4)
    assert "lr-floor-early" not in codes(relate(SeriesTable(), [rate], settings(max_steps=330, learning_rate=3e-4)))


SHAPE = {"num_layers": 48, "num_kv_heads": 8, "head_dim": 128, "hidden_size": 5120, "num_heads": 40,
         "intermediate_size": 13824, "vocab_size": 152064, "max_model_len": 8192}  # fmt: skip


def card(total=79.15, held=34.0):
    return table(column("gpu", ["0", "1"], "group"), column("total_gib", [total] * 2),
                 column("trainer_gib", [held] * 2), file="gpu.csv")  # fmt: skip


def test_a_pool_below_one_sequence_names_the_shares_that_would_do():
    found = relate(SeriesTable(), [card()], settings(**SHAPE, gpu_memory_utilization=0.35)).findings[0]
    assert found.code == "kv-pool-below-need"
    assert (
        "2 x 48 x 8 x 128 x 2 = 196,608 bytes a token" in found.data.get("formula", "")
        or found.data["kv_per_token"] == 196608
    )
    assert 0.35 < found.data["least_share"] < 0.41
    assert found.data["most_share"] == pytest.approx(0.56, abs=0.02)
    assert codes(relate(SeriesTable(), [card()], settings(**SHAPE, gpu_memory_utilization=0.5))) == []


def test_a_setting_that_the_log_contradicts_is_told():
    rate = table(steps(), column("lr", 1e-4 * np.minimum(np.arange(1, N + 1) / 50, 1 - np.arange(N) / 1000),
                 of="learning_rate"))  # fmt: skip
    found = relate(SeriesTable(), [rate], settings(learning_rate=3e-4))
    assert [(f.code, f.severity) for f in found.findings if f.code == "said-differently"] == [
        ("said-differently", "S2")
    ]


def test_what_could_not_be_looked_at_is_not_called_clear():
    assert {c.result for c in relate(SeriesTable()).checks} == {"not-applicable"}


ONCE = ("data", "node", "dependency", "config")


@pytest.mark.parametrize(("count", "told"), [(1, False), (2, False), (3, True), (4, True)])
def test_changes_that_fall_together_are_told_as_such(count, told):
    events = [Event(kind, f"{kind} was changed", "ops.md", i, 400) for i, kind in enumerate(ONCE[:count], 3)]
    found = relate(SeriesTable(), [slow()], events=events)
    assert ("changes-together" in codes(found)) is told
    if told:
        assert [e.line for e in the(found, "changes-together").evidence] == list(range(3, 3 + count))


def test_changes_elsewhere_do_not_fall_together():
    events = [Event(kind, f"{kind} was changed", "ops.md", i, 100) for i, kind in enumerate(ONCE)]
    assert "changes-together" not in codes(relate(SeriesTable(), [slow()], events=events))


def worse(**more):
    """A loss that rises for good at step 400."""
    rest = (column(name, values) for name, values in more.items())
    return table(steps(), column("loss", stepped(2.1, 3.4, 400), of="loss"), *rest)


SWITCHED = Event("data", "switched shard list at 400", "notes.md", 3, 400)


def test_data_that_were_changed_where_the_loss_rose_and_nothing_else_are_told():
    assert "data-changed-at-onset" in codes(relate(SeriesTable(), [worse()], events=[SWITCHED]), "S2")


@pytest.mark.parametrize(
    ("rows", "events"),
    [
        (worse(), []),
        (worse(), [Event("data", "switched shard list at 200", "notes.md", 3, 200)]),
        (worse(), [SWITCHED, Event("config", "raised the rate", "notes.md", 4, 400)]),
        (worse(), [Event("node", "swapped a node", "notes.md", 4, 400)]),
        (slow(), [SWITCHED]),
        (table(steps(), column("loss", level(2.1), of="loss")), [SWITCHED]),
    ],
    ids=["nothing told", "elsewhere", "something else too", "no data", "only slower", "no worse"],
)
def test_data_that_were_changed_elsewhere_or_with_something_else_or_without_harm_are_not(rows, events):
    assert "data-changed-at-onset" not in codes(relate(SeriesTable(), [rows], events=events))


@pytest.mark.parametrize(("letters", "code"), [(5, "outputs-cut-short"), (900, "generation-not-stopping")])
def test_outputs_that_a_low_limit_cuts_are_not_endless(letters, code):
    rows = table(column("id", range(80), "identifier"), column("output", ["a" * letters] * 80, "text"),
                 column("finish_reason", ["length"] * 60 + ["stop"] * 20, "text"))  # fmt: skip
    found = codes(relate(SeriesTable(), [rows]))
    assert {"outputs-cut-short", "generation-not-stopping"} & {*found} == {code}


@pytest.mark.parametrize(("letters", "at_limit", "severity"), [(300, 80, "S3"), (300, 40, "S2"), (2400, 80, "S2")])
def test_outputs_that_were_asked_for_so_short_tell_little(letters, at_limit, severity):
    ends = ["length"] * at_limit + ["stop"] * (80 - at_limit)
    rows = table(column("id", range(80), "identifier"), column("output", ["a" * letters] * 80, "text"),
                 column("finish_reason", ends, "text"))  # fmt: skip
    found = [f for f in relate(SeriesTable(), [rows]).findings if f.code == "generation-not-stopping"]
    assert [f.severity for f in found] == [severity]


ENDINGS = [("stopped_by", "output", "length"), ("why", "text", "max_tokens"), ("结束原因", "输出", "length"),
           ("stop_reason", "response", "max_length"), ("停止原因", "模型回答", "截断"),
           ("truncated", "output", "True")]  # fmt: skip


@pytest.mark.parametrize(("ending", "output", "cut"), ENDINGS)
def test_why_outputs_ended_is_read_under_other_names_and_words(ending, output, cut):
    def found(often):
        rows = table(column("qid", range(80), "identifier"), column(output, ["abcd"] * 80, "text"),
                     column(ending, [cut] * often + ["False"] * (80 - often), "text"))  # fmt: skip
        return codes(relate(SeriesTable(), [rows]))

    assert "outputs-cut-short" in found(60)
    assert "outputs-cut-short" not in found(4)


def test_a_time_without_a_year_and_one_that_was_not_taken():
    assert place("time", 16_189_200.0) == "07-07 09:00:00"
    assert place("time", 3_600.0) == "time 3600"
    axis = Column("time", "axis", "time", "", np.arange(4.0))
    waits = Column("ttft_p95_s", "measure", "ttft_p95_s", "s", np.array([0.2, 0.0, 0.3, 0.0]))
    (line,) = lines_of((), [Table("m.csv", "", (axis, waits), np.arange(2, 6))])
    assert list(line.values) == [0.2, 0.3]


SIZES = 2.0 ** np.arange(3, 33)


@pytest.mark.parametrize("axis", ["load", "length"])
@pytest.mark.parametrize(
    ("took", "told"),
    [
        (lambda x: 120 + x / 170e3, False),
        (lambda x: np.sqrt(x), False),
        (lambda x: np.where(x < 2**20, 120.0, 0.001 * x**1.5), True),
    ],
    ids=["in proportion", "less", "far more"],
)
def test_more_work_that_takes_longer_is_no_onset(axis, took, told):
    name = "size" if axis == "load" else "prompt_length"
    rows = table(column(name, SIZES, "axis", axis), column("time", took(SIZES), of="step_time"))
    assert ("onset" in codes(relate(SeriesTable(), [rows]))) is told


@pytest.mark.parametrize(("peaks", "grave"), [((3e-4,), True), ((3e-4, 3e-4), True), ((1e-4, 3e-4, 5e-4), False)])
def test_tries_with_rates_of_their_own_do_not_contradict_one_setting(peaks, grave):
    way = np.concatenate([np.linspace(0.1, 1, 30), np.linspace(1, 0.1, 60)])
    tables = [table(steps(90), column("lr", p * way, of="learning_rate"), file=f"try{i}.csv")
              for i, p in enumerate(peaks)]  # fmt: skip
    found = relate(SeriesTable(), tables, settings(learning_rate=1e-4)).findings
    assert any(f.code == "said-differently" and f.severity == "S2" for f in found) is grave


def members(prefix, measure, count, beside=("fwdbwd",)):
    keys = [*(f"{prefix}{i}:{measure}" for i in range(count)), *beside]
    values = np.linspace(0.1, 0.2, 9)
    series = [Series(k, k, np.arange(9), values, np.arange(9), "a.log") for k in keys]
    return {(line.name, line.group, line.rank) for line in lines_of(series, ()) if line.key not in beside}


@pytest.mark.parametrize(
    ("prefix", "measure", "beside", "first"),
    [
        ("n", "data", ("fwdbwd",), ("data_time", "host n1", None)),
        ("node-", "loader", ("backward",), ("data_time", "host node-1", None)),
        ("rank", "step_time", ("x",), ("step_time", "rank 1", 1)),
        ("节点", "数据", ("前向",), ("data_time", "host 节点1", None)),
    ],
)
def test_a_machine_before_a_colon_is_a_group_of_one_measure(prefix, measure, beside, first):
    found = members(prefix, measure, 4, beside)
    assert first in found
    assert len(found) == 4


@pytest.mark.parametrize(
    ("prefix", "measure", "count", "beside"),
    [("n", "data", 2, ("fwdbwd",)), ("layer", "grad", 4, ("fwdbwd",)), ("v", "data", 5, ("fwdbwd",))],
)
def test_few_of_them_and_parts_of_a_model_keep_their_names(prefix, measure, count, beside):
    assert {group for _, group, _ in members(prefix, measure, count, beside)} == {""}
