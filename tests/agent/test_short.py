"""What an on-call engineer looks for on the screen: each finding with its place, and the error as it was printed."""

from dataclasses import replace

import pytest

from triage.agent.diagnose import diagnose
from triage.agent.narrate.short import LINES, short_text
from triage.agent.propose import Nothing
from triage.agent.session import ask
from triage.knowledge.runbook import load
from triage.tools.findings import Evidence, Finding

LONG = "the embedding and every tensor of the model hold values that are not finite " * 5


def shown(finding, lang="en"):
    d = diagnose(load(), [], [finding], [], looked=True)
    return short_text(d, Nothing("nothing", "没有"), ["**head**"], lang)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_finding_that_is_cut_keeps_its_place(lang):
    found = Finding("checkpoint-nonfinite", "S0", LONG, LONG, (Evidence("out/model.safetensors", 7),))
    short = shown(found, lang)
    assert "… (out/model.safetensors:7)" in " ".join(line.strip() for line in short.splitlines())
    assert len(short.splitlines()) <= LINES


def test_the_error_is_shown_as_it_was_printed(tmp_path):
    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\nKeyError: 'labels_of_the_batch'\n")
    lines = ask("what went wrong?", [tmp_path]).short.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("F1"))
    assert lines[at].count("train.log:3") == 1
    assert "   > KeyError: 'labels_of_the_batch'" in lines[at : at + 3]


def test_a_record_of_the_data_is_not_shown_as_an_error():
    where = Evidence("data.jsonl", 2, text="a private record")
    found = Finding("eval-leakage", "S1", "3 of 9 items leaked", "", (where,))
    assert "a private record" not in shown(found)


def test_what_could_not_be_read_is_named_with_its_reason(tmp_path):
    (tmp_path / "train.yaml").write_text("learning_rate: 1e-4\nper_device: [1, 2")
    (tmp_path / "train.log").write_bytes(bytes(range(256)) * 20)
    short = ask("loss is nan", [tmp_path]).short
    assert "Not read: train.log: is binary" in short
    assert "Not read: train.yaml: line 2: not YAML" in short


def test_what_says_again_what_was_shown_makes_room_for_the_next():
    said = "the labels of 61 in every 100 rows hold the prompt as well, so that most of the loss is on it"
    found = [
        Finding("sign-above-loss-1", "S2", f"{said}; loss 2 > 1.", "", (Evidence("a.jsonl", 1),)),
        Finding("loss-on-prompt", "S2", f"{said}.", "", (Evidence("a.jsonl", 1),)),
        Finding("loss-nonfinite", "S0", "loss is nan from step 9.", "", (Evidence("train.log", 9),)),
    ]
    d = diagnose(load(), [], found, [], looked=True)
    short = short_text(d, Nothing("nothing", "没有"), ["**head**"], "en")
    assert short.count("the labels of 61") == 1
    assert "loss is nan from step 9" in short


@pytest.mark.parametrize(
    "question", ["训练到一半显存爆了怎么办？", "GPU out of memory halfway through training, what now?"]
)
def test_words_that_several_causes_fit_begin_with_the_likeliest_and_what_tells_them_apart(question):
    answer = ask(question, [])
    assert answer.diagnosis.state == "inconclusive"
    assert "train-oom" in answer.short
    assert "First to look at: " in answer.short or "可以先看：" in answer.short
    assert "Check first: " in answer.short or "先检查：" in answer.short


@pytest.mark.parametrize("question", ["help", "what is going on with it?", "不行了"])
def test_words_that_mean_no_cause_begin_with_none(question):
    short = ask(question, []).short
    assert "First to look at" not in short
    assert "可以先看" not in short


@pytest.mark.parametrize(("second", "said"), [(0.40, True), (0.08, False)])
def test_a_cause_that_is_nearly_as_likely_is_named(second, said):
    d = diagnose(load(), [], [Finding("cuda-oom", "S0", "out of memory", "")], [], looked=True)
    first, other = (replace(h, status="supported", probability=p, for_=f)
                    for h, p, f in zip(d.hypotheses[:2], (0.45, second), (d.findings, ()), strict=True))  # fmt: skip
    short = short_text(
        replace(d, state="diagnosed", hypotheses=(first, other)), Nothing("no", "没有"), ["**head**"], "en"
    )
    assert (f"(`{other.entry.id}`)" in short and "Nearly as likely" in short) == said
