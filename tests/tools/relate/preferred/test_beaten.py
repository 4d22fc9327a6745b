"""A tuned model that loses to the one that it was made from, in verdicts of a row each and in summaries."""

import json

import pytest

from tests.tools.relate.preferred.test_positions import rows, told

CODE = "tuned-loses-to-base"


@pytest.mark.parametrize(("base", "tuned"), [("qwen3-base", "qwen3-sft"), ("sft", "sft-dpo"), ("底座", "微调后")])
@pytest.mark.parametrize(("share", "found"), [(0.75, True), (0.52, False), (0.25, False)])
def test_verdicts_of_both_orders(tmp_path, base, tuned, share, found):
    files = {"judge.jsonl": rows(base, tuned, 120, share) + rows(tuned, base, 120, 1 - share, seed=2)}
    assert (CODE in told(tmp_path, files)) is found


@pytest.mark.parametrize(("wins", "losses", "found"), [(26, 6, True), (17, 15, False), (5, 1, False), (6, 26, False)])
def test_a_summary_of_pairs(tmp_path, wins, losses, found):
    summed = {"base_vs_sft": {"n": wins + losses + 20, "n_A_wins": wins, "n_B_wins": losses, "n_ties": 20}}
    from triage.tools.relate.preferred.positions import positions
    from triage.tools.tables.read import read_tables

    (tmp_path / "winrates.json").write_text(json.dumps({"overall": summed | {"other_vs_sft": summed["base_vs_sft"]}}))
    assert (CODE in [f.code for f in positions(read_tables(tmp_path / "winrates.json", "winrates.json"))]) is found


@pytest.mark.parametrize(
    ("one", "two"),
    [("gpt-4o", "qwen3-sft"), ("sft-a", "sft-b"), ("llama-base", "qwen-base"), ("llama-3-base", "qwen3-sft")],
)
def test_models_of_which_neither_was_made_from_the_other(tmp_path, one, two):
    assert CODE not in told(tmp_path, {"judge.jsonl": rows(one, two, 200, 0.8) + rows(two, one, 200, 0.2, seed=3)})
