"""What servers count is no score, and what few items, untouched models and tests without answers show is no fault."""

import json

import numpy as np
import pytest

from triage.tools.data.statistics import items_of
from triage.tools.relate.joined.look import joined
from triage.tools.relate.results.look import of_results
from triage.tools.relate.summed.lengths import worse_beyond
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def tables(folder, **files):
    out = []
    for key, content in files.items():
        path = folder / key.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        out += read_tables(path, path.name)
    return out


def codes(folder, **files):
    return {f.code for f in of_results(tables(folder, **files), (), Settings())}


def scraped(name, label, values):
    rows = "\n".join(f'{name}{{model="wren",{label}="{at}"}} {v}' for at, v in values)
    return f"# TYPE {name} counter\n{rows}\n"


DRAFTED = [(i, v) for i, v in enumerate((9100.0, 8700.0, 4100.0, 2200.0, 900.0))]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"m__prom": scraped("spec_accepted_tokens_per_pos_total", "position", DRAFTED)}, False),
        ({"a__csv": "draft_position,acceptance_rate\n" + "".join(f"{i},{v / 1e4}\n" for i, v in DRAFTED)}, False),
        ({"a__csv": "position,hits_total\n" + "".join(f"{i},{v}\n" for i, v in DRAFTED)}, False),
        ({"a__csv": "context_length,accuracy\n2048,0.91\n4096,0.9\n8192,0.41\n16384,0.1\n"}, True),
        ({"a__csv": "长度,准确率\n2048,0.91\n4096,0.9\n8192,0.41\n16384,0.1\n"}, True),
    ],
)
def test_a_counter_by_the_place_in_a_draft_is_no_quality_by_length(tmp_path, files, told):
    assert any(f.code == "worse-beyond-length" for t in tables(tmp_path, **files) for f in worse_beyond(t)) is told


@pytest.mark.parametrize(
    ("name", "told"),
    [("support_per_layer", False), ("tokens_per_total", False), ("wer_total", False), ("dev_per", True), ("wer", True)],
)
def test_what_is_counted_for_each_is_no_error_rate(tmp_path, name, told):
    rates = (0.2, 0.1, 0.3, 2.4, 0.25, 0.15)
    text = f"system,{name}\n" + "".join(f"s{i},{v}\n" for i, v in enumerate(rates))
    assert ("error-rate-above-one" in codes(tmp_path, rates__csv=text)) is told


ASKED = [f"what is {i} and {i}?" for i in range(10)]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"expected_answer": None, "reference_text": "four", "replayed_text": "four"}, False),
        ({"predicted": None, "gold": "4", "response_length": 900}, False),
        ({"predicted": None, "gold": "4", "output_tokens": 320}, False),
        ({"predicted": None, "gold": "4", "response_length": 0}, True),
        ({"model_answer": "", "gold": "4"}, True),
    ],
)
def test_an_answer_with_a_length_and_a_test_without_right_answers_are_not_blank(tmp_path, row, told):
    rows = [{"question": q, **row} for q in ASKED]
    assert ("answers-blank" in codes(tmp_path, results__json=rows)) is told


@pytest.mark.parametrize(
    ("shares", "n"),
    [
        ((0.0, 1 / 3, 2 / 3, 1.0), 3), ((16.67, 83.33, 50.0, 100.0), 6), ((0.971, 0.643, 0.512, 0.388), 0),
        ((0.6, 0.4, 0.0, 0.2), 0), ((33.3, 66.7), 0),
    ],
)  # fmt: skip
def test_of_how_few_items_shares_are(shares, n):
    assert items_of(np.array(shares)) == n


def board(*rows):
    head = "system,arc,bbh,gsm8k,mean\n"
    return head + "".join(f"{name},{a},{b},{a},{(a + b) / 2:.4f}\n" for name, a, b in rows)


FEW = board(("oak", 100.0, 83.33), ("elm", 100.0, 83.33), ("fir", 66.67, 83.33), ("yew", 66.67, 83.33),
            ("ash", 0.0, 50.0), ("bay", 33.33, 16.67))  # fmt: skip
MANY = board(("oak", 81.27, 64.93), ("elm", 81.27, 64.93), ("fir", 81.27, 64.93), ("yew", 77.64, 60.11),
             ("ash", 70.58, 52.39), ("bay", 33.41, 17.02))  # fmt: skip


@pytest.mark.parametrize(("text", "told"), [(FEW, False), (MANY, True)])
def test_shares_of_a_handful_of_items_come_out_the_same(tmp_path, text, told):
    assert ("variants-come-out-equal" in codes(tmp_path, board__csv=text)) is told
    low = {f.code for f in joined(tables(tmp_path, board__csv=text), (), Settings(), ())}
    assert "score-below-guessing" not in low


@pytest.mark.parametrize(("kept", "told"), [((1.0, 2e-9, 4e-11, 1.0), False), ((0.7213, 0.3187, 0.1204, 0.8891), True)])
def test_methods_that_take_nothing_away_come_out_the_same(tmp_path, kept, told):
    names = ("match", "mean_kl", "median_kl", "top5")
    rows = {m: dict(zip(names, kept, strict=True)) for m in ("window", "sinks", "heavy")}
    rows["learned"] = {"match": 0.9127, "mean_kl": 0.0417, "median_kl": 0.0123, "top5": 0.9811}
    rows["random"] = {"match": 0.3127, "mean_kl": 4.0417, "median_kl": 3.0123, "top5": 0.4811}
    assert ("variants-come-out-equal" in codes(tmp_path, kept__json={"methods": rows})) is told


def result(knots, other, seconds=1.0):
    return {"knots": {"accuracy": knots, "format_rate": 0.91734, "seconds": seconds}, "vowels": {"accuracy": other}}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"full__json": result(0.64821, 0.456), "lora__json": result(0.64821, 0.458),
          "pissa__json": result(0.64821, 0.4), "plain__json": result(0.55419, 0.386)}, True),
        ({"全量__csv": "task,em,len\nknots,61.237,1490.3\nvowels,44.1,310.2\n",
          "低秩__csv": "task,em,len\nknots,61.237,1490.3\nvowels,45.2,309.7\n",
          "冻结__csv": "task,em,len\nknots,61.237,1490.3\nvowels,40.8,350.4\n",
          "原始__csv": "task,em,len\nknots,55.418,665.4\nvowels,38.6,270.1\n"}, True),
        ({"full__json": result(0.64821, 0.456), "lora__json": result(0.63974, 0.458),
          "pissa__json": result(0.65203, 0.4), "plain__json": result(0.55419, 0.386)}, False),
        ({f"seed{i}__json": result(0.64821, 0.45 + i / 100) for i in range(4)}, False),
        ({f"copy_{c}__json": result(0.64821, 0.456) for c in "abcd"}, False),
    ],
)  # fmt: skip
def test_one_benchmark_that_is_the_same_in_several_files(tmp_path, files, told):
    assert ("variants-come-out-equal" in codes(tmp_path, **files)) is told


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"speed__csv": "quant,trial,decode_tps\n" + "".join(f"q{i % 3},{i},0\n" for i in range(6))}, True),
        ({"速度__json": [{"批大小": b, "吞吐": 0, "输出字节": 90} for b in (1, 2, 4, 8)]}, True),
        ({"speed__csv": "quant,trial,decode_tps\n" + "".join(f"q{i % 3},{i},{i % 2 * 7}\n" for i in range(6))}, False),
        ({"server__csv": "timestamp,tokens_per_s\n" + "".join(f"2031-01-01T10:0{i}:00,0\n" for i in range(6))}, False),
        ({"speed__csv": "quant,target_tps,drop_rps\n" + "".join(f"q{i},0,0\n" for i in range(6))}, False),
    ],
)
def test_a_speed_of_nothing_in_every_row_was_never_measured(tmp_path, files, told):
    assert ("speed-never-measured" in codes(tmp_path, **files)) is told


@pytest.mark.parametrize(("scores", "told"), [
    ({"context_precision": 0.9, "context_recall": 1.0}, False),  # nobody was asked to answer
    ({"recall@5": 0.8, "mrr": 0.71, "latency_ms": 12}, False),
    ({"context_recall": 1.0, "faithfulness": 0.0}, True),
    ({"exact_match": 0, "recall@5": 0.8}, True),
])  # fmt: skip
def test_a_search_that_is_scored_alone_has_no_answers(tmp_path, scores, told):
    rows = [{"question": f"what is {i}?", "response": "", "reference": f"{i}", **scores} for i in range(12)]
    found = codes(tmp_path, rag_results__json=rows)
    assert (not found.isdisjoint({"answers-blank", "outputs-empty"})) is told
