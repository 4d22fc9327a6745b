import pytest

from triage.agent.propose import Nothing, Proposal, propose, target
from triage.agent.session import ask
from triage.knowledge.entry import Fix


def fix(**how):
    t = {"en": "x", "zh": "x"}
    return Fix.model_validate({"variable": "learning_rate", "change": how, "why": t, "expect": t})


@pytest.mark.parametrize(
    ("value", "how", "new"),
    [
        (3e-4, {"multiply": 0.5}, 1.5e-4),
        (0.0, {"set": 1.0}, 1.0),
        (1.0, {"set": 1.0}, None),
        (1, {"set": 1.0}, None),
        (8, {"multiply": 0.5}, 4),
        (1, {"multiply": 0.5}, None),
        ("auto", {"multiply": 0.5}, None),
        (False, {"set": True}, True),
        ("fp16", {"set": "bf16"}, "bf16"),
        (float("nan"), {"multiply": 0.5}, None),
    ],
)
def test_a_change_that_would_change_nothing_is_none(value, how, new):
    assert target(value, fix(**how)) == new


@pytest.mark.parametrize("how", [{}, {"multiply": 0.5, "add": 1}, {"do": {"en": "a", "zh": "b"}}])
def test_a_fix_changes_exactly_one_thing(how):
    with pytest.raises(ValueError, match="Fix"):
        fix(**how)


def run_with(tmp_path, config):
    from triage.tools.config.combine import read_settings
    from triage.tools.discover import discover

    (tmp_path / "train.yaml").write_text(config)
    run = discover(tmp_path)
    return run, read_settings(run)[0]


def proposal(tmp_path, config, entry, *codes):
    from triage.agent.diagnose import diagnose
    from triage.knowledge.runbook import Runbook, load
    from triage.tools.findings import Finding, Severity

    run, settings = run_with(tmp_path, config)
    book = Runbook({entry: load().entries[entry]})
    diagnosis = diagnose(book, (), [Finding(c, Severity.S0, c) for c in codes], (), looked=True)
    return propose(diagnosis, settings, run)


HF = "model_name_or_path: m\noutput_dir: out\nper_device_train_batch_size: 4\n"


def test_the_patch_changes_one_line_of_the_users_file(tmp_path):
    p = proposal(tmp_path, HF + "learning_rate: 3e-4  # tuned\n", "loss-nan-high-lr", "grad-norm-climb-before-nan")
    changed = [s for s in p.patch.splitlines() if s[:1] in "+-" and s[:3] not in ("+++", "---")]
    assert changed == ["-learning_rate: 3e-4  # tuned", "+learning_rate: 1.5e-4  # tuned"]
    assert (p.file, p.line, p.old, p.new) == ("train.yaml", 4, "3e-4", "1.5e-4")
    assert (tmp_path / "train.yaml").read_text().endswith("3e-4  # tuned\n")


def test_a_value_already_in_force_by_default_is_not_proposed(tmp_path):
    p = proposal(tmp_path, HF + "learning_rate: 3e-4\n", "grad-explosion", "grad-norm-spike", "grad-clip-off")
    assert not isinstance(p, Proposal) or p.variable != "grad_clip"


def test_a_setting_that_no_file_shows_is_said_to_be_unseen(tmp_path):
    p = proposal(tmp_path, HF, "loss-scale-collapse", "loss-scale-collapse")
    assert p.old == "not visible in the files that were read"


def test_nothing_is_proposed_on_words_alone(tmp_path):
    from triage.agent.diagnose import diagnose
    from triage.knowledge.runbook import load
    from triage.knowledge.search import Hit

    run, settings = run_with(tmp_path, HF)
    words = diagnose(load(), [Hit(load().entries["loss-nan-high-lr"], 0.9)], (), (), looked=False)
    assert isinstance(propose(words, settings, run), Nothing)


@pytest.mark.parametrize(
    ("variable", "value", "new"),
    [
        ("warmup_steps", 0, 100), ("warmup_steps", 3, 100), ("warmup_steps", 400, 800), ("warmup_ratio", 0.0, 0.03),
        ("learning_rate", 0, None),
    ],
)  # fmt: skip
def test_a_warm_up_is_raised_to_the_least_that_sources_name(variable, value, new):
    assert target(value, fix(multiply=2).model_copy(update={"variable": variable})) == new
    assert target(0, fix(multiply=0.5).model_copy(update={"variable": variable})) is None


def test_of_two_close_hypotheses_the_one_with_a_strong_finding_of_its_own_is_tried(tmp_path):
    from triage.agent.diagnose import Diagnosis
    from triage.agent.ranking import Hypothesis
    from triage.knowledge.runbook import load
    from triage.tools.findings import Finding, Severity

    run, settings = run_with(tmp_path, HF + "learning_rate: 1e-3\nmax_grad_norm: 0.0\n")
    book, spike = load(), Finding("grad-norm-spike", Severity.S1, "x")
    off = Finding("grad-clip-off", Severity.S2, "x")

    def proposed(*mine):
        first = Hypothesis(book.get("grad-explosion"), None, "supported", 0.4, mine)
        second = Hypothesis(book.get("loss-nan-bad-data"), None, "supported", 0.35, (spike,))
        return propose(Diagnosis("diagnosed", (first, second), mine), settings, run)

    assert isinstance(proposed(spike, off), Proposal)
    assert isinstance(proposed(spike), Nothing)


def test_half_of_an_absurd_value_is_absurd_still(tmp_path):
    """A learning rate of 2 is not cured by 1: the rule that calls it absurd names the limit."""
    from triage.agent.session import ask

    (tmp_path / "train.yaml").write_text(HF + "learning_rate: 2.0\nnum_train_epochs: 3\nwarmup_ratio: 0.03\n")
    change = ask("loss does not go down", [tmp_path]).proposal
    assert isinstance(change, Proposal)
    assert change.variable == "learning_rate"
    assert float(change.new) <= 3e-3
    assert "learning_rate 2" in change.why


def test_the_length_limit_is_raised_where_answers_were_found_cut_off_and_not_for_a_loss_of_zero(tmp_path):
    config = HF + "max_seq_length: 512\n"
    cut = proposal(tmp_path, config, "all-labels-masked", "answer-cut-off")
    assert (cut.variable, cut.new) == ("sequence_length", "1024")
    assert isinstance(proposal(tmp_path, config, "all-labels-masked", "loss-zero"), Nothing)


@pytest.mark.parametrize(
    ("words", "old", "verdict"),
    [("lower", "0.35", "harmful"), ("raise", "0.35", "is-the-proposal"), ("lower", "not visible", "unchecked"),
     ("change", "not visible", "is-the-proposal")],
)  # fmt: skip
def test_a_plan_is_the_change_only_in_its_direction(words, old, verdict):
    from triage.agent.diagnose import Diagnosis
    from triage.agent.question.understand import understand
    from triage.agent.respond import respond
    from triage.knowledge.runbook import Runbook
    from triage.tools.series import SeriesTable

    change = Proposal(
        "kv-cache-oom", "gpu_memory_utilization", "a.txt", 1, "util", old, "0.47", "", False, (), "", "", "", "", ()
    )
    asked = understand(f"should i {words} gpu_memory_utilization?")
    [plan] = respond(asked, Runbook({}), Diagnosis("diagnosed"), change, SeriesTable()).plans
    assert plan.verdict == verdict


def test_what_only_a_log_prints_is_named_and_not_patched(tmp_path):
    (tmp_path / "train.log").write_text("Namespace(lr=0.5, max_steps=100, seed=1)\nstep 1 loss 9\nstep 2 loss 99\n")
    made = proposal(tmp_path, "", "loss-nan-high-lr", "grad-norm-climb-before-nan")
    assert (made.variable, made.old, made.new, made.file, made.patch) == ("learning_rate", "0.5", "0.25", None, "")


def test_a_sound_value_that_a_finding_names_is_better_than_a_part_of_the_value(tmp_path):
    (tmp_path / "train.yaml").write_text("learning_rate: 1.0e-4\nwarmup_steps: 2700\nmax_steps: 3000\n")
    proposal = ask("is the schedule right?", [tmp_path]).proposal
    assert (proposal.variable, proposal.old, proposal.new) == ("warmup_steps", "2700", "150")


SERVE = "vllm serve org/m --gpu-memory-utilization {} --max-num-seqs 256\n"


def served(tmp_path, share, *codes):
    from triage.agent.diagnose import diagnose
    from triage.knowledge.runbook import Runbook, load
    from triage.tools.config.combine import read_settings
    from triage.tools.discover import discover
    from triage.tools.findings import Finding, Severity

    (tmp_path / "serve.sh").write_text(SERVE.format(share))
    run = discover(tmp_path)
    book = Runbook({"inference-slow": load().entries["inference-slow"]})
    found = [Finding(c, Severity.S1, c) for c in codes]
    return propose(diagnose(book, (), found, (), looked=True), read_settings(run)[0], run)


def test_more_requests_at_once_are_not_proposed_where_the_cache_is_full(tmp_path):
    made = served(tmp_path, 0.8, "queue-grows", "cache-full-requests-wait")
    assert isinstance(made, Proposal)
    assert (made.variable, made.new) == ("gpu_memory_utilization", "0.85")
    assert served(tmp_path, 0.8, "queue-grows").variable == "max_num_seqs"


def test_a_change_whose_reason_the_run_contradicts_is_not_made(tmp_path):
    made = served(tmp_path, 0.95, "queue-grows", "cache-full-requests-wait")
    assert isinstance(made, Nothing)
    assert "cache-full-requests-wait" in str(made)
