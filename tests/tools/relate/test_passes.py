"""Verdicts in two files, tasks of two models, thoughts that shrink, and curves by length in two files."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.tools.relate.rows import looked
from triage.tools.relate.summed.look import summed
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(8)


def told(tmp_path, **files):
    tables = []
    for name, rows in files.items():
        stem, _, kind = name.rpartition("_")
        path = tmp_path / f"{stem}.{kind}"
        path.write_text("\n".join(rows) + "\n")
        tables += read_tables(path, path.name)
    return {f.code: f for f in summed(tables)[0]}


def verdicts(share, ids, of=None, flips=0.0):
    """Winners of items; those of another pass with a share of its wins turned to the base."""
    if of is None:
        return {i: "cand" if RNG.random() < share else "base" for i in ids}
    return {i: "base" if of[i] == "cand" and RNG.random() < flips else of[i] for i in ids}


def rows(by):
    return ["id,winner", *(f"{i},{w}" for i, w in by.items())]


@pytest.mark.parametrize(
    ("second", "flips", "code"),
    [("verdicts_bc_csv", 0.35, "verdicts-follow-order"), ("verdicts_swapped_csv", 0.35, "verdicts-follow-order"),
     ("verdicts_monday_csv", 0.35, "verdicts-change-between-passes"), ("verdicts_bc_csv", 0.02, None)],
)  # fmt: skip
def test_winners_that_go_one_way_between_two_passes(tmp_path, second, flips, code):
    main = verdicts(0.6, [f"q{i:04d}" for i in range(800)])
    other = verdicts(0, [i for i in main if int(i[1:]) % 5 < 2], main, flips)
    found = told(tmp_path, verdicts_main_csv=rows(main), **{second: rows(other)})
    assert [c for c in found if c.startswith("verdicts-")] == ([code] if code else [])


def test_winners_that_change_both_ways_are_noise(tmp_path):
    main = verdicts(0.5, [f"q{i:04d}" for i in range(400)])
    other = {i: w if RNG.random() < 0.75 else ("base" if w == "cand" else "cand") for i, w in main.items()}
    assert not told(tmp_path, verdicts_main_csv=rows(main), verdicts_bc_csv=rows(other))


@pytest.mark.parametrize(("last", "alike"), [(65.1, True), (72.9, False)])
def test_two_models_that_score_the_same_on_every_task_are_a_note(tmp_path, last, alike):
    table = ["task,n,A,B", "closed_qa,2000,71.4,71.1", "tool_call,1200,83.2,83.6", f"ifeval,541,64.9,{last}"]
    assert ("tasks-score-alike" in told(tmp_path, tasks_csv=table)) is alike


def outputs(step, words, marked=1.0):
    body = " ".join(["divide", "by", "seven", "and", "check"] * 40)
    for i in range(64):
        thought = " ".join(body.split()[: words + i % 3])
        text = f"<think>{thought}</think><answer>{'ABCD'[i % 4]}</answer>" if i < 64 * marked else thought
        yield json.dumps({"step": step, "uid": f"p{i // 8}", "output": text, "score": 0.7})


@pytest.mark.parametrize(("late", "code"), [(3, True), (40, False), (25, False)])
def test_thoughts_that_shrink_to_a_few_words(tmp_path, late, code):
    found = told(tmp_path, rollouts_5_jsonl=outputs(5, 60, 0.5), rollouts_240_jsonl=outputs(240, late))
    assert ("thoughts-shrunk" in found) is code


LENGTHS = (2048, 4096, 8192, 12288, 16384, 20480, 24576, 32768)


def curve(broken, level):
    for n in LENGTHS:
        yield f"{n},{(40 if broken and n > 16384 else level - n / 40000):.2f}"


@pytest.mark.parametrize(("served", "trained", "level", "told_"),
                         [(True, False, 6.8, True), (True, True, 6.8, False), (False, False, 6.8, False),
                          (True, False, 12.0, False)])  # fmt: skip
def test_a_curve_by_length_that_breaks_in_one_file_alone(tmp_path, served, trained, level, told_):
    found = told(tmp_path, ppl_served_csv=["input_len,ppl", *curve(served, 7.1)],
                 ppl_trainer_csv=["input_len,ppl", *curve(trained, level)])  # fmt: skip
    assert ("worse-beyond-in-one-file" in found) is told_


@pytest.mark.parametrize(("factor", "told_"), [(2.0, True), (4.0, False)])
def test_scaling_of_positions_that_is_exported_with_another_factor(tmp_path, factor, told_):
    scaling = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 8192}
    model = {"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "max_position_embeddings": 32768,
             "rope_theta": 500000.0, "rope_scaling": scaling}  # fmt: skip
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "config.json").write_text(json.dumps(model, indent=2))
    (tmp_path / "train.yaml").write_text(
        "model: base-8k\nmax_seq_len: 32768\nlearning_rate: 1.0e-5\nrope_theta: 500000.0\nrope_scaling:\n"
        "  rope_type: yarn\n  factor: 4.0\n  original_max_position_embeddings: 8192\n"
    )
    found = {f.code: f for f in look([tmp_path]).findings}.get("rope-differs-at-export")
    assert bool(found) is told_
    assert not found or found.data["proposes"]["new"] == 4.0


@pytest.mark.parametrize(("far", "told_"), [(0.34, True), (0.03, False)])
def test_tokens_in_long_documents_are_counted_against_the_window(tmp_path, far, told_):
    (tmp_path / "train.yaml").write_text("max_seq_len: 32768\nlearning_rate: 1.0e-5\ntotal_tokens: 4.0e9\n")
    table = ["range,documents,token share", "0-2k,181220,0.2", "2k-8k,98280,0.2", f"8k-16k,19020,{0.6 - far:.2f}",
             f"16k-32k,18330,{far}"]  # fmt: skip
    (tmp_path / "lengths.csv").write_text("\n".join(table) + "\n")
    assert ("long-documents-plenty" in {f.code for f in look([tmp_path]).findings}) is told_


def test_a_base_model_that_ends_where_its_window_does_is_no_fault(tmp_path):
    found = told(tmp_path, ppl_base_csv=["input_len,ppl", *curve(True, 7.1)],
                 ppl_tuned_csv=["input_len,ppl", *curve(False, 6.8)])  # fmt: skip
    assert "worse-beyond-in-one-file" not in found


def placed(models, share_left, n=400):
    """Verdicts by place: which model stands left and right in each row, and how often the left one wins."""
    out = ["prompt_id,left_model,right_model,verdict"]
    for i in range(n):
        left, right = models(i)
        out.append(f"p{i:03d},{left},{right},{'left' if RNG.random() < share_left(left) else 'right'}")
    return out


def test_verdicts_that_name_a_place_are_those_of_the_models_that_stood_there(tmp_path):
    one, other = placed(lambda i: ("ft9", "ft8"), lambda m: 0.7), placed(lambda i: ("ft8", "ft9"), lambda m: 0.7, 150)
    assert "verdicts-follow-order" in told(tmp_path, monday_csv=one, tuesday_csv=other)
    better = [placed(lambda i, m=m: m, lambda m: 0.7 if m == "ft9" else 0.3) for m in (("ft9", "ft8"), ("ft8", "ft9"))]
    assert not told(tmp_path, monday_csv=better[0], tuesday_csv=better[1])


def test_verdicts_by_place_in_one_table_of_both_orders(tmp_path):
    def codes(share):
        path = tmp_path / "all.csv"
        path.write_text("\n".join(placed(lambda i: ("ft9", "ft8") if i % 2 else ("ft8", "ft9"), share)) + "\n")
        return [f.code for f in looked(read_tables(path, path.name))]

    assert "verdicts-follow-order" in codes(lambda m: 0.72)
    assert codes(lambda m: 0.72 if m == "ft9" else 0.28) == []
