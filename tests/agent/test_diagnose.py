"""The rules of a diagnosis, on three made-up entries."""

from dataclasses import replace

import pytest

from triage.agent.diagnose import LEAST, SURE, diagnose
from triage.agent.missing import Missing
from triage.agent.narrate.answer import headline
from triage.agent.ranking import Hypothesis
from triage.agent.signs import record
from triage.knowledge.entry import Entry
from triage.knowledge.runbook import Runbook
from triage.knowledge.search import Hit
from triage.tools.findings import Evidence, Finding, Severity


def text(s):
    return {"en": s, "zh": s}


def entry(id, for_=None, against=None, **more):
    return Entry.model_validate(
        {
            "id": id,
            "title": text(id),
            "severity": "S0",
            "stages": ["sft"],
            "says": {"en": ["a", "b", "c"], "zh": ["甲", "乙", "丙"]},
            "findings": {"for": for_ or {}, "against": against or {}},
            "check_first": text("look"),
            "sources": ["001 A"],
            **more,
        }
    )


HIGH_LR = entry("high-lr", {"climb": "strong", "nan": "moderate"}, {"same-batch": "strong"})
BAD_DATA = entry("bad-data", {"same-batch": "decisive", "nan": "moderate"}, {"climb": "strong"})
DISK = entry("disk-full", {"enospc": "decisive"})
BOOK = Runbook({e.id: e for e in (HIGH_LR, BAD_DATA, DISK)})


def finding(code, severity="S0"):
    return Finding(code, Severity(severity), code)


def run(*codes, words=(), **more):
    hits = [Hit(BOOK.entries[id], score) for id, score in words]
    return diagnose(BOOK, hits, [c if isinstance(c, Finding) else finding(c) for c in codes], (), looked=True, **more)


def test_a_decisive_finding_establishes_its_entry_whatever_the_words_say():
    d = run("nan", "same-batch", words=[("high-lr", 0.9)])
    assert (d.state, d.top.entry.id, d.top.status) == ("diagnosed", "bad-data", "established")


def test_a_strong_finding_supports_and_the_rival_is_refuted_and_ranked_last():
    d = run("nan", "climb")
    assert [(h.entry.id, h.status) for h in d.hypotheses] == [("high-lr", "supported"), ("bad-data", "refuted")]


def test_an_ambiguous_finding_leaves_the_leaders_close():
    d = run("nan")
    assert d.close
    assert {h.entry.id for h in d.hypotheses} == {"high-lr", "bad-data"}


def test_words_alone_are_only_possible_and_never_supported():
    d = diagnose(BOOK, [Hit(DISK, 0.9)], (), (), looked=False)
    assert (d.state, d.top.status) == ("diagnosed", "possible")


def test_words_alone_never_diagnose_an_entry_that_rests_on_public_reports():
    reported = entry("reported", sources=[])
    d = diagnose(Runbook({"reported": reported}), [Hit(reported, 0.9)], (), (), looked=False)
    assert (d.state, d.top.entry.id) == ("inconclusive", "reported")


def test_weak_words_are_inconclusive():
    assert diagnose(BOOK, [Hit(DISK, 0.1)], (), (), looked=False).state == "inconclusive"


def test_a_run_with_nothing_wrong_is_healthy_even_if_the_words_name_a_failure():
    d = run(finding("run-healthy", "S3"), words=[("high-lr", 0.9)])
    assert d.state == "healthy"


def test_a_run_where_nothing_could_be_read_is_not_healthy():
    assert run().state == "inconclusive"


def test_an_unexplained_failure_is_inconclusive_and_named():
    d = run("something-new", words=[("high-lr", 0.3)])
    assert d.state == "inconclusive"
    assert [f.code for f in d.unexplained] == ["something-new"]


def test_a_question_outside_the_field_is_out_of_scope_unless_the_run_shows_a_failure():
    assert diagnose(BOOK, (), (), (), in_field=False).state == "out-of-scope"
    assert run("enospc", in_field=False).top.entry.id == "disk-full"


def test_a_question_that_names_no_failure_names_none_beside_a_run_that_shows_none():
    """ "What is wrong?" is nearer to some entry than to others; that means nothing."""
    assert not run(words=[("high-lr", 0.07)], in_field=False).hypotheses
    assert run(words=[("high-lr", 0.07)]).hypotheses
    assert [h.entry.id for h in run("nan", words=[("disk-full", 0.07)], in_field=False).hypotheses][:1] == ["bad-data"]


def test_probabilities_leave_room_for_none_of_these():
    d = run("nan", "climb")
    assert 0 < sum(h.probability for h in d.hypotheses) < 1


def test_the_cause_inside_an_entry_is_the_one_with_evidence():
    book = Runbook(
        {
            "a": entry(
                "a",
                {"nan": "moderate"},
                causes=[
                    {"id": "x", "text": text("x"), "for": {"climb": "strong"}},
                    {"id": "y", "text": text("y"), "for": {"flat": "strong"}},
                ],
            )
        }
    )
    d = diagnose(book, (), [finding("nan"), finding("flat")], (), looked=True)
    assert d.top.cause.id == "y"


def test_a_conflict_is_decided_by_the_finding_that_the_entry_names():
    conflict = {
        "about": text("order"),
        "positions": [text("data first"), text("rate first")],
        "decided_by": text("the norm"),
        "decided_by_findings": {"climb": 1, "same-batch": 0},
    }
    book = Runbook({"a": entry("a", {"nan": "strong"}, conflicts=[conflict])})
    decided = diagnose(book, (), [finding("nan"), finding("climb")], (), looked=True)
    open_ = diagnose(book, (), [finding("nan")], (), looked=True)
    assert [side for _, side in decided.conflicts] == [1]
    assert [side for _, side in open_.conflicts] == [None]


def test_a_conflict_of_an_improbable_second_entry_is_not_shown():
    conflict = {"about": text("order"), "positions": [text("a"), text("b")], "decided_by": text("the norm")}
    book = Runbook({"a": entry("a", {"nan": "strong"}), "b": entry("b", {"nan": "weak"}, conflicts=[conflict])})
    d = diagnose(book, (), [finding("nan")], (), looked=True)
    assert [h.entry.id for h in d.hypotheses] == ["a", "b"]
    assert not d.conflicts


@pytest.mark.parametrize("severity", ["S0", "S1"])
def test_healthy_is_withheld_while_anything_serious_is_found(severity):
    assert run(finding("run-healthy", "S3"), finding("enospc", severity)).state == "diagnosed"


def test_what_the_run_shows_comes_before_words_that_nothing_in_it_supports():
    d = run("climb", words=[("disk-full", 0.8)])
    assert (d.state, d.top.entry.id) == ("diagnosed", "high-lr")
    assert diagnose(BOOK, [Hit(DISK, 0.8)], (), (), looked=False).top.entry.id == "disk-full"


def test_words_alone_are_no_diagnosis_of_a_run_that_was_looked_at():
    assert run(words=[("disk-full", 0.9)]).state == "inconclusive"


def test_an_entry_that_accounts_for_every_serious_finding_beats_one_that_does_not():
    book = Runbook({i: entry(i, w) for i, w in (("half", {"a": "strong"}), ("whole", {"a": "strong", "b": "weak"}))})
    d = diagnose(book, (), [finding("a"), finding("b")], (), looked=True)
    assert [h.entry.id for h in d.hypotheses] == ["whole", "half"]


def test_a_note_is_no_more_than_a_weak_word_and_the_worst_of_one_code_counts():
    book = Runbook({i: entry(i, {i: "strong"}) for i in ("note", "real")})
    codes = [finding("note", "S3"), finding("real", "S2"), finding("real", "S3")]
    note, real = sorted(diagnose(book, (), codes, (), looked=True).hypotheses, key=lambda h: h.entry.id)
    assert real.probability > 4 * note.probability


def test_sound_metrics_with_personal_data_in_the_files_are_a_diagnosis():
    book = Runbook({"pii": entry("pii", {"pii-found": "decisive"})})
    sound = finding("run-healthy", "S3")
    assert diagnose(book, (), [finding("pii-found", "S2"), sound], (), looked=True).state == "diagnosed"
    assert diagnose(book, (), [finding("pii-found", "S3"), sound], (), looked=True).state == "healthy"


@pytest.mark.parametrize(
    ("status", "probability", "said"),
    [
        ("supported", 0.0001, "<1%"),
        ("supported", 0.174, "17%"),
        ("supported", 0.97, "97%"),
        ("established", 1.0, "100%"),
    ],
)
def test_no_cause_is_shown_as_impossible_and_none_as_certain_without_proof(status, probability, said):
    assert Hypothesis(DISK, None, status, probability).percent == said


def test_this_is_normal_is_no_diagnosis_of_a_run():
    book = Runbook({"jitter": entry("jitter", {"noisy": "decisive"}, kind="benign")})
    noisy, hits = finding("noisy", "S3"), [Hit(book.entries["jitter"], 0.9)]
    assert diagnose(book, hits, [noisy, finding("run-healthy", "S3")], (), looked=True).state == "healthy"
    assert diagnose(book, hits, [noisy, finding("nan")], (), looked=True).state == "inconclusive"
    assert diagnose(book, (), [noisy], (), looked=True).state == "inconclusive"


def test_a_sound_run_that_was_measured_to_be_normal_in_what_is_asked_is_told_so():
    book = Runbook({"jitter": entry("jitter", {"noisy": "decisive"}, kind="benign")})
    hits, found = [Hit(book.entries["jitter"], 0.9)], [finding("noisy", "S3"), finding("run-healthy", "S3")]
    named = diagnose(book, hits, found, (), looked=True, named=lambda: hits)
    assert (named.state, [h.entry.id for h in named.hypotheses]) == ("healthy", ["jitter"])
    assert diagnose(book, hits, found, (), looked=True, named=tuple).hypotheses == ()


def test_words_of_files_and_people_are_no_lead_and_beside_what_a_program_says_or_a_finding_they_are():
    book = Runbook({"known": entry("known", {"loss-spike": "weak"}), "other": entry("other")})
    words, said = ((1.0, finding("lead-subject", "S3")),), ((0.5, finding("lead-says", "S3")),)

    def named(leads, *findings):
        found = diagnose(book, (), findings, (), looked=True, leads=lambda: leads)
        return [h.entry.id for h in found.hypotheses]

    assert named({"other": words}) == []
    wrote = ((0.9, finding("lead-writes", "S3")),)
    assert named({"other": words + wrote}) == []
    assert named({"other": words + said}) == ["other"]
    assert named({"known": words}, finding("loss-spike", "S2")) == ["known"]


def test_what_was_not_kept_leads_where_the_run_stopped_and_only_notes_were_found():
    book = Runbook({"kept": entry("kept", {"errors-not-kept": "strong"}), "other": entry("other")})
    lost, leads = [finding("errors-not-kept", "S3")], {"other": ((1.0, finding("lead-says", "S3")),)}

    def named(findings, stopped):
        found = diagnose(book, (), findings, (), looked=True, stopped=stopped, leads=lambda: leads)
        return sorted(h.entry.id for h in found.hypotheses)

    assert named(lost, True) == ["kept"]
    assert named([*lost, finding("job-ended-badly", "S3")], False) == ["kept"]
    assert "other" in named(lost, False)
    assert "other" in named([*lost, finding("something", "S2")], True)


def test_an_unusual_setting_of_a_sound_run_is_no_diagnosis_whatever_the_words_ask_for():
    book = Runbook({"warm": entry("warm", {"no-warmup": "strong"}), "worse": entry("worse")})
    found = [Finding("no-warmup", Severity.S2, "x", data={"variable": "warmup_steps"}), finding("run-healthy", "S3")]
    asked = {id: diagnose(book, [Hit(book.entries[id], 0.9)], found, (), looked=True).state for id in book.entries}
    assert asked == {"warm": "healthy", "worse": "healthy"}


@pytest.mark.parametrize(("weight", "counts"), [("weak", False), ("moderate", False), ("strong", True)])
def test_a_cause_is_a_diagnosis_once_a_finding_says_more_than_a_little_whatever_the_words(weight, counts):
    """ "It crashed" names a symptom of many failures: a weak sign must not make one of them nearly certain."""
    crash = entry("crash")
    fault = entry("fault", {"cuda-error": weight}, explains=["crash"])
    book = Runbook({e.id: e for e in (crash, fault)})
    d = diagnose(book, [Hit(crash, 0.9)], [finding("cuda-error", "S1")], (), looked=True)
    assert d.state == ("diagnosed" if counts else "inconclusive")


def test_what_explains_the_symptom_that_the_words_name_is_listed_after_it():
    symptom = entry("crash", sources=[])
    causes = [entry(f"cause-{i}", explains=["crash"], prior="rare" if i else "usual") for i in range(3)]
    book = Runbook({e.id: e for e in (symptom, *causes, entry("other"))})
    for score in (0.9, 0.2):
        d = diagnose(book, [Hit(symptom, score), Hit(causes[2], 0.01), Hit(book.entries["other"], 0.02)], (), ())
        assert d.state == "inconclusive"
        assert [h.entry.id for h in d.hypotheses] == ["crash", "cause-0", "cause-2", "cause-1"]
        assert d.hypotheses[1].probability < d.hypotheses[0].probability / 2


def test_a_symptom_is_no_diagnosis_where_what_would_tell_its_causes_apart_is_not_logged():
    symptom = entry("diverged", {"nan": "strong"})
    rate = entry("rate", {"nan": "weak", "climb": "strong"}, explains=["diverged"])
    data = entry("data", {"nan": "weak", "same-batch": "strong"}, explains=["diverged"])
    blind = entry("blind", {"nan": "weak", "metrics-not-logged": "moderate"})
    full = entry("full", {"oom": "strong"})
    book = Runbook({e.id: e for e in (symptom, rate, data, blind, full)})

    def state(*codes):
        found = [finding(code, "S3" if code == "metrics-not-logged" else "S0") for code in codes]
        d = diagnose(book, [], found, (), looked=True)
        return d.state, d.top.entry.id

    assert state("nan", "metrics-not-logged") == ("inconclusive", "diverged")
    assert state("nan") == ("diagnosed", "diverged")
    assert state("nan", "climb", "metrics-not-logged") == ("diagnosed", "rate")
    assert state("oom", "metrics-not-logged") == ("diagnosed", "full")


def noted(code, severity="S2", **data):
    return Finding(code, Severity(severity), code, data=data)


def test_what_follows_from_the_first_failure_or_was_survived_says_nothing_against_it():
    def against(found):
        top = run("climb", found).top
        return (top.entry.id, bool(top.against)) if top else None

    assert against(noted("same-batch", follows={"code": "climb"})) == ("high-lr", False)
    assert against(noted("same-batch", "S3", survived="the run goes on after it")) == ("high-lr", False)
    assert against(noted("same-batch")) == ("bad-data", True)


@pytest.mark.parametrize(
    ("data", "state"), [({}, "diagnosed"), ({"standing": True}, "healthy"), ({"variable": "x"}, "healthy")]
)
def test_what_files_say_of_a_model_is_no_diagnosis_of_a_run_whose_metrics_are_sound(data, state):
    book = Runbook({"endless": entry("endless", {"stop-token-not-set": "strong"})})
    apart, sound = Finding("stop-token-not-set", Severity("S2"), "apart", data=data), finding("run-healthy", "S3")
    assert diagnose(book, (), [apart, sound], (), looked=True).state == state


def test_what_befalls_any_job_is_no_matter_of_the_kind_of_training():
    book = Runbook(
        {i: entry(i, {"killed": "strong"}, stages=s) for i, s in (("any", ["ops", "sft"]), ("sft", ["sft"]))}
    )
    d = diagnose(book, (), [finding("killed")], (), looked=True, stage="dpo")
    odds = {h.entry.id: h.probability for h in d.hypotheses}
    assert odds["any"] > 4 * odds["sft"]


FELL = entry("got-worse", {"score-fell": "decisive", "score-low": "moderate"}, generic=True)
SHRUNK = entry("thoughts-gone", {"shrank": "strong", "format-up": "moderate", "shape-up": "moderate"}, stages=["rl"])
QUOTA = entry("quota", {"shrank": "strong"}, stages=["ops"])
WORSE = Runbook({e.id: e for e in (FELL, SHRUNK)})


def moved(code, severity, *steps, **data):
    return Finding(code, Severity(severity), code, evidence=tuple(Evidence("m.csv", s, s) for s in steps), data=data)


FALL = moved("score-fell", "S2", 400, at=400.0, before=0.6, after=0.2)


@pytest.mark.parametrize(
    "found",
    [
        [moved("shrank", "S2", 100, 900)],
        [moved("shrank", "S2", 400, before=200.0)],
        [moved("format-up", "S2", 50, 900), moved("shape-up", "S2", 60, 900)],
    ],
)
def test_what_only_says_that_it_got_worse_yields_to_what_began_before(found):
    top = diagnose(WORSE, [], [FALL, *found], (), looked=True).top
    assert top.entry.id == "thoughts-gone"


@pytest.mark.parametrize(
    "found",
    [
        [],
        [moved("shrank", "S3", 100, 900)],  # a note
        [moved("shrank", "S2", 600, 900)],  # began after the fall
        [moved("shrank", "S2", 100)],  # no change between two places
        [moved("format-up", "S2", 50, 900)],  # one moderate finding
        [moved("shrank", "S2", 100, 900, standing="set")],  # what is set
    ],
)
def test_what_says_that_it_got_worse_stays_first_beside_what_is_weak_or_later(found):
    top = diagnose(WORSE, [], [FALL, *found], (), looked=True).top
    assert top.entry.id == "got-worse"


def test_what_befalls_a_job_explains_no_fall_of_a_score():
    book = Runbook({e.id: e for e in (FELL, QUOTA)})
    assert diagnose(book, [], [FALL, moved("shrank", "S2", 100, 900)], (), looked=True).top.entry.id == "got-worse"


SEEN = entry("zz-blown", {"nan": "moderate"}, prior="common")
WHY = [
    entry(f"why-{i}", {"nan": "moderate", "climb": "strong"}, explains=["zz-blown"], prior="common") for i in range(3)
]


def test_one_finding_that_says_the_same_of_all_its_causes_names_none_of_them():
    made = diagnose(Runbook({e.id: e for e in (*WHY, SEEN)}), (), [finding("nan")], (), looked=True)
    assert (made.state, made.top.entry.id) == ("inconclusive", "zz-blown")


@pytest.mark.parametrize("more", ["climb", "tells"], ids=["stronger", "of one alone"])
def test_a_second_finding_tells_the_causes_apart(more):
    told = entry(
        "told", {"nan": "moderate", "tells": "strong", "climb": "decisive"}, explains=["zz-blown"], prior="common"
    )
    made = diagnose(
        Runbook({e.id: e for e in (*WHY, SEEN, told)}), (), [finding("nan"), finding(more)], (), looked=True
    )
    assert (made.state, made.top.entry.id) == ("diagnosed", "told")


@pytest.mark.parametrize(("severity", "state"), [("S0", "diagnosed"), ("S2", "inconclusive")])
def test_a_cause_that_others_leave_little_room_is_a_diagnosis_only_with_an_error_that_stopped_the_run(severity, state):
    speaks = [{"seen": "strong"}, {"seen": "moderate", "also": "weak"}, {"also": "strong"}]
    book = Runbook({name: entry(name, how) for name, how in zip("abc", speaks, strict=True)})
    found = [finding("seen", severity), finding("also", "S2")]
    d = diagnose(book, (), found, (), looked=True)
    assert LEAST <= d.top.probability < SURE
    assert d.state == state
    head = headline(d, "en", True)
    assert ("Most likely" in head, "too little for a diagnosis" in head) == (severity == "S0", severity != "S0")


@pytest.mark.parametrize(
    ("severity", "id", "held"),
    [("S0", "a", record.S0), ("S2", "a", record.OTHERS), ("S2", "overfitting", record.RECORD["overfitting"])],
)
def test_the_headline_says_how_often_such_answers_were_right(severity, id, held):
    book = Runbook({id: entry(id, {"seen": "strong"})})
    d = diagnose(book, (), [finding("seen", severity)], (), looked=True)
    assert d.state == "diagnosed"
    assert "; {} of {} such answers about strangers' runs were right".format(*held) in headline(d, "en", True)


@pytest.mark.parametrize(
    ("code", "severity", "state"),
    [("seen", "S2", "inconclusive"), ("metrics-empty", "S2", "diagnosed"), ("seen", "S0", "diagnosed")],
)
def test_a_cause_that_was_hardly_ever_right_is_a_diagnosis_by_what_was_right_or_stopped_the_run(code, severity, state):
    book = Runbook({"eval-metrics-empty": entry("eval-metrics-empty", {code: "strong"})})
    d = diagnose(book, (), [finding(code, severity)], (), looked=True)
    assert (d.state, d.top.entry.id) == (state, "eval-metrics-empty")
    assert ("too little for a diagnosis" in headline(d, "en", True)) == (state == "inconclusive")


def test_a_failure_that_only_notes_speak_for_is_no_diagnosis():
    book = Runbook({"a": entry("a", {"seen": "decisive"}), "b": entry("b", {"told": "decisive"}, kind="benign")})
    d = diagnose(book, (), [finding("seen", "S3")], (), looked=True)
    assert (d.state, d.top.entry.id) == ("inconclusive", "a")
    assert d.top.probability <= 0.5


def test_what_is_likely_wrong_beside_sound_metrics_stays_on_the_list_though_it_is_no_diagnosis():
    book = Runbook({name: entry(name, {"seen": how}) for name, how in (("a", "strong"), ("b", "moderate"))})
    found = [finding("seen", "S2"), finding("run-healthy", "S3")]
    d = diagnose(book, (), found, (), looked=True)
    assert d.top.entry.id == "a"
    assert (d.state == "diagnosed") == (d.top.probability >= SURE)
    rivals = Runbook({name: entry(name, {"seen": "strong"}) for name in "ab"})
    d = diagnose(rivals, (), found, (), looked=True)
    assert (d.state, [h.entry.id for h in d.hypotheses]) == ("inconclusive", ["a", "b"])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([("seen", "S1", {})], "Trouble was seen (F1);"),
        ([(f"seen-{i}", "S2", {}) for i in range(5)], "Trouble was seen (F1, F2, F3 … (5));"),
        ([("rule", "S2", {"entry": "b"})], "No failure was seen in what was read, which is too little to call the run "
         "healthy: the end is missing. Worth a look all the same (S2, likely wrong): F1."),
        ([("told", "S3", {})], "No failure was seen in what was read, which is too little to call the run healthy: the "
         "end is missing."),
    ],
)  # fmt: skip
def test_an_answer_without_a_cause_says_whether_trouble_was_seen(found, said):
    """What stands in a program, and what is only worth knowing, is no trouble that was seen."""
    book = Runbook({"a": entry("a", {"seen": "weak", "told": "weak"})})
    some = [replace(finding(code, severity), data=data) for code, severity, data in found]
    d = diagnose(book, (), some, (), looked=True, missing=(Missing("the end is missing", "缺少结尾"),))
    assert d.state == "inconclusive"
    assert said in headline(d, "en", True)
    assert ("看到了异常" in headline(d, "zh", True)) == said.startswith("Trouble")


@pytest.mark.parametrize(("told", "state"), [(True, "inconclusive"), (False, "diagnosed")])
@pytest.mark.parametrize("severity", ["S0", "S1"])
def test_a_symptom_that_the_person_told_is_no_diagnosis_however_grave(severity, told, state):
    symptom, cause = entry("nan", {"seen": "strong"}), entry("rate", {"climb": "strong"}, explains=["nan"])
    book = Runbook({e.id: e for e in (symptom, cause)})
    d = diagnose(book, (), [finding("seen", severity)], (), looked=True, restates=lambda f: told)
    assert (d.state, d.top.entry.id) == (state, "nan")
