"""An answer that names no cause says what was measured: what was asked about first, as the files have it."""

import json

import pytest
from making import fill

from triage.agent.session import ask


def told(answer):
    return " ".join(line.strip() for line in answer.short.splitlines())


def steps(count, **more):
    rows = ({"step": 10 * i, "loss": round(1.9 - i / 200, 4)} | more for i in range(count))
    return "\n".join(map(json.dumps, rows)) + "\n"


BENCH = "clients,ttft_ms,output_tok_s\n1,21.5,139.4\n8,33.1,880.2\n32,95.25,1770.9\n"


def test_a_sound_run_is_told_with_its_loss(tmp_path):
    answer = ask("how did it go?", [fill(tmp_path, {"train.log": steps(60)})])
    assert answer.diagnosis.state != "diagnosed"
    assert "Measured: `loss` 1.9 to 1.605 (60 points, train.log)" in told(answer)


@pytest.mark.parametrize(
    ("question", "first"),
    [("is the ttft normal?", "`ttft_ms` between 21.5 and 95.25 in 3 rows (bench.csv)"),
     ("首字延迟正常吗？", "`ttft_ms` 在 3 行中介于 21.5 和 95.25 之间（bench.csv）"),
     ("are the tok/s plausible?", "`output_tok_s` between 139.4 and 1771")],
)  # fmt: skip
def test_what_the_question_names_is_told_first(tmp_path, question, first):
    said = told(ask(question, [fill(tmp_path, {"bench.csv": BENCH})]))
    assert said.partition("Measured: ")[2].startswith(first) or said.partition("测得：")[2].startswith(first)


def test_a_value_is_told_with_the_unit_in_which_it_was_read(tmp_path):
    log = "".join(f"step:{i}/90 train_loss:{2 - i / 90:.4f} step_avg:{240 + i % 3}.50ms\n" for i in range(1, 90))
    assert "`step_avg` 0.2415 to 0.2425 s (89 points, train.log)" in told(
        ask("is the step time stable?", [fill(tmp_path, {"train.log": log})])
    )


def test_a_long_path_is_told_by_its_name(tmp_path):
    folder = fill(tmp_path, {f"{'deep-folder/' * 5}train.log": steps(60)})
    assert "(60 points, train.log)" in told(ask("how did it go?", [folder]))


@pytest.mark.parametrize("files", [{"config.yaml": "learning_rate: 1e-4\n"}, {"notes.md": "to do: buy tea\n"}])
def test_nothing_is_told_where_nothing_was_measured(tmp_path, files):
    answer = ask("how did it go?", [fill(tmp_path, files)])
    assert "Measured" not in answer.text


@pytest.mark.parametrize("bad", ["NaN", "9.5e4"])
def test_where_something_serious_was_found_the_findings_tell(tmp_path, bad):
    rows = "".join(f'{{"step": {i}, "loss": {1.9 - i / 300 if i < 140 else bad}}}\n' for i in range(180))
    answer = ask("what happened?", [fill(tmp_path, {"train.log": rows})])
    assert ("Measured" in answer.text, answer.diagnosis.state == "healthy") == (False, False)
