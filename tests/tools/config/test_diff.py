"""What counts as one change between two runs: a block that is switched off, or replaced by another, is its switch."""

import json
import time

import pytest

from triage.tools.config.combine import read_settings
from triage.tools.config.diff import diff
from triage.tools.discover import discover
from triage.tools.settings import Setting, Settings

LAUNCH = "deepspeed tune.py --learning_rate 1e-5 --deepspeed ds.json --{flag} True\n"
SCALED = {"fp16": {"enabled": True, "initial_scale_power": 12, "hysteresis": 4, "loss_scale": 0}}
WIDE = {"bf16": {"enabled": True}}


def counted(tmp_path, before, after):
    sides = []
    for name, files in (("a", before), ("b", after)):
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
        sides.append(read_settings(discover(tmp_path / name))[0])
    return sorted(d.variable for d in diff(*sides) if d.counts)


def engine(flag, block):
    return {"go.sh": LAUNCH.format(flag=flag), "ds.json": {**block, "zero_optimization": {"stage": 3}}}


OFF = {"fp16": {**SCALED["fp16"], "enabled": False}, **WIDE}
YAML = "optimizer:\n  lr: 1.0e-4\nema:\n  enabled: {on}\n  decay: {decay}\n  every: 4\n"
NO_EMA = YAML.partition("ema:")[0]


@pytest.mark.parametrize("after", [WIDE, OFF], ids=["removed", "switched off"])
def test_one_block_replaced_by_another_is_one_change(tmp_path, after):
    assert counted(tmp_path, engine("fp16", SCALED), engine("bf16", after)) == ["precision"]


@pytest.mark.parametrize("after", [NO_EMA, YAML.format(on="false", decay=0.5)], ids=["removed", "switched off"])
def test_a_block_with_a_switch_is_one_change(tmp_path, after):
    before = {"conf.yaml": YAML.format(on="true", decay=0.99)}
    assert counted(tmp_path, before, {"conf.yaml": after}) == ["ema.enabled"]


def test_what_stands_in_a_block_that_is_off_changes_nothing(tmp_path):
    sides = [{"conf.yaml": YAML.format(on="false", decay=d)} for d in (0.9, 0.8)]
    assert counted(tmp_path, *sides) == []


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (YAML.format(on="true", decay=0.99), YAML.format(on="true", decay=0.9), ["ema.decay"]),
        (NO_EMA + "ema:\n  decay: 0.9\n  every: 4\n", NO_EMA, ["ema.decay", "ema.every"]),
    ],
    ids=["on in both", "without a switch"],
)
def test_what_stands_in_a_block_that_is_on_still_counts(tmp_path, before, after, changed):
    assert counted(tmp_path, {"conf.yaml": before}, {"conf.yaml": after}) == changed


def test_two_changes_beside_a_replaced_block_are_two(tmp_path):
    after = engine("bf16", WIDE)
    after["go.sh"] = after["go.sh"].replace("1e-5", "4e-5")
    assert counted(tmp_path, engine("fp16", SCALED), after) == ["learning_rate", "precision"]


def test_the_work_of_a_comparison_grows_as_its_keys():
    def took(many):
        keys = [f"case_{i}.answer.text" for i in range(many)]
        a, b = (Settings(others={k: Setting(k, v, v, k, "report.json", 1) for k in keys}) for v in ("one", "other"))
        start = time.process_time()
        assert len(diff(a, b)) == many
        return time.process_time() - start

    took(100)  # patterns are compiled
    assert took(8000) < 40 * took(1000)  # 8 times as much; each key against each were 64 times
