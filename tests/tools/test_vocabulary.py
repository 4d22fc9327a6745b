"""The vocabulary is said once: what recognises, filters and reads logs is compared with it here."""

import json
import re

import pytest

from triage.agent.acceptance.verify import NEIGHBOURS
from triage.tools.heads import csv_header, step_column
from triage.tools.kinds import recognise
from triage.tools.logs.detectors.evaluation import EVALUATED
from triage.tools.logs.points.grammar import HELD_OUT, VALUE, counters, number
from triage.tools.logs.points.hints import candidates
from triage.tools.metrics import canonical, counts, held_out, step_key, tells
from triage.tools.registry import table
from triage.tools.vocabulary import ALIASES, BARE_TIMES, COUNTERS, COUNTS, SPLITS, STEPS, UNITS, VOCABULARY

TELLING = sorted(a for a, (name, _) in ALIASES.items() if name not in COUNTS and a not in BARE_TIMES)
WORDS = [word.replace("*", "") for word in SPLITS]


def test_every_alias_means_its_metric_and_the_canonical_name_is_one():
    assert {alias: hit[0] for alias in ALIASES if (hit := canonical(alias))} == {a: m for a, (m, _) in ALIASES.items()}
    assert {name for name in VOCABULARY if (hit := canonical(name)) is None or hit[0] != name} == set()
    assert [alias for alias in TELLING if not tells(alias)] == []


def test_an_alias_that_is_said_twice_or_a_metric_without_one_is_refused_by_name():
    with pytest.raises(ValueError, match=r"aliases of VOCABULARY: 'lm_loss' is declared twice"):
        table("aliases of VOCABULARY", [("lm_loss", ("loss", 2)), ("lm_loss", ("eval_loss", 0))])
    with pytest.raises(ValueError, match=r"VOCABULARY: 'loss' is empty"):
        table("VOCABULARY", [("loss", None)])


@pytest.mark.parametrize("alias", TELLING)
def test_a_file_of_records_with_any_alias_is_metrics(alias):
    record = json.dumps({"step": 10, alias: 1.5}, ensure_ascii=False).encode() + b"\n"
    found = recognise("history.jsonl", record * 3)
    text_key = alias in ("score",)  # an answer of a model has a score too
    assert text_key or (found is not None and getattr(found, "kind", "") == "metrics")
    assert csv_header(f"step,{alias}".encode()) == ["step", alias]


@pytest.mark.parametrize("key", STEPS)
def test_every_step_counter_counts_in_records_tables_and_recognition(key):
    assert step_key(key) == STEPS[key]
    assert counts(key)
    assert step_column(["loss", key]) == 1
    found = recognise("history.jsonl", (json.dumps({key: 10, "lm_loss": 1.5}) + "\n").encode() * 3)
    assert getattr(found, "kind", "") == "metrics"


@pytest.mark.parametrize("word", [*(re.sub(r"\(\?:(\w+)\)\?", r"\1", c).replace("?", "") for c in COUNTERS), "第"])
def test_every_counter_of_a_line_is_read_and_lets_the_line_through(word):
    line = f"{word} 12" + ("步" if word == "第" else "") + ", reward 2.5"
    assert counters(line)[0][2] == 12
    assert candidates(line.encode()) == [0]
    head = f"loss  {word}\n{word}  loss\n| loss | {word} |\n".encode()
    assert word == "第" or len(candidates(head)) == 3


@pytest.mark.parametrize("word", WORDS)
def test_every_split_is_held_out_in_keys_and_in_lines(word):
    assert held_out(f"{word}_loss")
    hit = canonical(f"{word}/accuracy")
    assert hit is not None
    assert hit[0] == "eval_accuracy"
    assert HELD_OUT.match(f"{word.replace('_', '-')} | step 10 | loss: 2.0")


@pytest.mark.parametrize("unit", [unit for unit in UNITS if " " not in unit])
def test_every_unit_scales_a_value_as_it_scales_a_key(unit):
    match = re.search(VALUE, f"x: 4 {unit}".replace("4 %", "4%"), re.I)
    assert match is not None
    assert number(match.group(1), match.group(2)) == pytest.approx(4 * UNITS[unit].scale)
    key = canonical(f"reward ({unit})")
    assert key is not None
    assert key[1] == pytest.approx(UNITS[unit].scale)


def test_neighbours_and_judged_evaluations_have_a_direction():
    assert {name for name in (*NEIGHBOURS, *EVALUATED) if not VOCABULARY[name].better} == set()


def test_metrics_that_units_name_exist():
    assert {unit.metric for unit in UNITS.values()} - {""} <= VOCABULARY.keys()


@pytest.mark.parametrize(
    ("key", "scale"),
    [("lr_1e4", 1e-4), ("LR (x1e6)", 1e-6), ("learning_rate*1e5", 1e-5), ("学习率(×1e6)", 1e-6), ("lr (1e-4)", 1e-4)],
)
def test_a_rate_that_was_multiplied_before_it_was_written(key, scale):
    hit = canonical(key)
    assert hit is not None
    assert (hit[0], hit[1]) == ("learning_rate", pytest.approx(scale))


@pytest.mark.parametrize("key", ["lr_1e-4", "loss_1e4", "steps_1e6"])
def test_what_names_a_setting_or_another_measure_is_no_rate(key):
    assert (canonical(key) or ("",))[0] != "learning_rate"
