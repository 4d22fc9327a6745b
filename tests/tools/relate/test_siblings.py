"""A run against a better one beside it."""

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

NOISE = np.random.default_rng(5).normal(0, 0.02, 80)


def curve(end, noise):
    return "\n".join(f'{{"step": {50 * i}, "loss": {end + 6 * 0.9**i + noise[i % 80]:.4f}}}' for i in range(1, 80))


def runs(tmp_path, ends, configs):
    for name, end, config in zip("abcd", ends, configs, strict=False):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "train.yaml").write_text(config)
        (folder / "metrics.jsonl").write_text(curve(end, NOISE) + "\n")
    return look([tmp_path])


BASE = "learning_rate: 3.0e-4\nmax_steps: 4000\nper_device_train_batch_size: 8\n"


def of(seen):
    return next((f for f in seen.findings if f.code == "behind-sibling"), None)


def test_the_worse_of_two_is_looked_at_and_what_is_set_differently_is_named(tmp_path):
    seen = runs(tmp_path, [2.0, 3.0], [f"{BASE}weight_decay: 0.1\n", f"{BASE}weight_decay: 0.5\n"])
    found = of(seen)
    assert seen.about == "b"
    assert found is not None
    assert found.data["changed"] == {"weight_decay": [0.1, 0.5]}
    assert any(e.file == "b/train.yaml" and e.line == 4 for e in found.evidence)


@pytest.mark.parametrize(
    ("ends", "configs"),
    [
        ([2.0, 2.01], [f"{BASE}weight_decay: 0.1\n", f"{BASE}weight_decay: 0.5\n"]),
        ([2.0, 3.0], [BASE, BASE]),
        ([2.0, 3.0, 2.5], [f"{BASE}weight_decay: {x}\n" for x in (0.1, 0.5, 0.2)]),
        (
            [2.0, 3.0],
            [f"{BASE}seed: 1\n", "learning_rate: 1.0e-3\nmax_steps: 900\nweight_decay: 0.5\nwarmup_steps: 9\n"],
        ),
    ],
    ids=["no worse", "nothing differs", "a sweep", "everything differs"],
)
def test_nothing_follows_from_runs_that_are_alike_or_many_or_all_different(tmp_path, ends, configs):
    assert of(runs(tmp_path, ends, configs)) is None


def test_a_run_that_is_no_number_where_the_other_goes_on_is_behind(tmp_path):
    seen = runs(tmp_path, [2.0, 2.0], [BASE, BASE.replace("3.0e-4", "3.0e-3")])
    assert of(seen) is None
    text = curve(2.0, -NOISE).split("\n")
    text[50:] = [f'{{"step": {50 * i}, "loss": NaN}}' for i in range(51, 80)]
    (tmp_path / "b" / "metrics.jsonl").write_text("\n".join(text) + "\n")
    found = of(look([tmp_path]))
    assert found is not None
    assert found.data["changed"] == {"learning_rate": [3e-4, 3e-3]}
    assert (found.data["step"], found.data["value"]) == (2550, None)
    assert "no number from step 2550" in found.message


def arms(tmp_path, ends, configs):
    """Runs of their own noise, the first of them looked at."""
    for i, (name, end, config) in enumerate(zip("abcd", ends, configs, strict=False)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "train.yaml").write_text(config)
        (folder / "metrics.jsonl").write_text(curve(end, np.random.default_rng(i).normal(0, 0.02, 80)) + "\n")
    return look([tmp_path])


@pytest.mark.parametrize(
    ("ends", "values", "told"),
    [
        ([3.0, 2.02, 2.0], (0.5, 0.1, 0.2), 0.2),
        ([3.0, 2.0, 2.01, 2.02], (0.02, 0.1, 0.2, 0.3), 0.1),
        ([3.0, 2.0, 2.5], (0.5, 0.1, 0.2), None),
        ([2.0, 2.01, 2.02], (0.1, 0.5, 0.2), None),
    ],
    ids=["one of three", "one of four", "each on its own level", "all alike"],
)
def test_one_arm_of_several_that_breaks_is_held_against_the_nearest(tmp_path, ends, values, told):
    found = of(arms(tmp_path, ends, [f"{BASE}weight_decay: {v}\n" for v in values]))
    assert (found.data["changed"]["weight_decay"] if found else None) == ([told, values[0]] if told else None)


def test_arms_that_differ_in_two_settings_say_nothing(tmp_path):
    configs = [f"{BASE}weight_decay: 0.5\n", f"{BASE}weight_decay: 0.1\n", f"{BASE}warmup_steps: 50\n"]
    assert of(arms(tmp_path, [3.0, 2.0, 2.02], configs)) is None


def flat(tmp_path, bad, sets, rate=lambda name: 1.0e-4):
    """Runs side by side in two folders, told apart by one letter; those of `bad` turn and climb."""
    (tmp_path / "out").mkdir()
    (tmp_path / "conf").mkdir()
    for name, more in sets.items():
        way = [1.4 + 2.0 * 0.9**i + (0.05 * max(i - 15, 0) if name in bad else 0) for i in range(80)]
        noise = np.random.default_rng(ord(name)).normal(0, 0.02, 80)
        rows = [f"it {10 * i} loss {v + noise[i]:.4f} lr {rate(name):.2e}" for i, v in enumerate(way)]
        (tmp_path / "out" / f"exp_{name}.log").write_text("\n".join(rows) + "\n")
        (tmp_path / "conf" / f"exp_{name}.yaml").write_text(f"max_steps: 800\nweight_decay: 0.1\n{more}")
    return look([tmp_path])


def test_what_all_that_fail_have_and_the_sound_one_has_not_is_told_though_they_differ_otherwise(tmp_path):
    sets = {"k": "fused: true\nseed: 1\n", "m": "fused: true\nseed: 2\n", "p": "fused: false\nseed: 1\n"}
    seen = flat(tmp_path, "km", sets, lambda name: 3e-5 if name == "m" else 1e-4)
    found = of(seen)
    assert seen.about in ("k", "m")
    assert found is not None
    assert found.data["changed"] == {"fused": ["false", "true"]}
    other = next(f for f in seen.findings if f.code == "rate-not-the-cause")
    assert other.data["sibling"] in ("m", "p")


def test_where_one_that_fails_has_what_the_sound_one_has_it_is_not_that(tmp_path):
    sets = {"k": "fused: true\n", "m": "fused: false\n", "p": "fused: false\n"}
    assert of(flat(tmp_path, "km", sets)) is None


def test_the_rate_is_not_cleared_by_runs_that_are_sound_at_less(tmp_path):
    sets = {"k": "", "m": ""}
    seen = flat(tmp_path, "k", sets, lambda name: 3e-5 if name == "m" else 1e-4)
    assert "rate-not-the-cause" not in {f.code for f in seen.findings}


def on_nodes(tmp_path, steps=(3, 3)):
    """Two runs, of six nodes and of two, with their accumulation."""
    runs(tmp_path, [2.0, 2.3], [f"{BASE}gradient_accumulation_steps: {n}\n" for n in steps])
    for name, nodes in (("a", 6), ("b", 2)):
        text = f"srun torchrun --nnodes {nodes} --nproc_per_node 4 tune.py --config train.yaml\n"
        (tmp_path / name / "go.sh").write_text(text)
    return of(look([tmp_path]))


def test_fewer_nodes_are_another_batch_and_the_accumulation_gives_it_back(tmp_path):
    found = on_nodes(tmp_path)
    assert found is not None
    assert found.data["changed"] == {"nodes": [6, 2], "global_batch_size": [576, 192]}
    assert "576 there, 192 here" in found.message
    assert found.data["proposes"] == {"variable": "grad_accumulation", "new": 9}


@pytest.mark.parametrize("steps", [(2, 6), (3, 9)])
def test_a_batch_that_the_accumulation_keeps_is_not_told(tmp_path, steps):
    found = on_nodes(tmp_path, steps)
    assert found is None or "global_batch_size" not in found.data["changed"]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("the loss is worse at the same step since we have fewer machines", "lr-batch-mismatch"),
        ("换机器以后 loss 在相同步数下更高，怎么回事", "lr-batch-mismatch"),
        ("is b a healthy run?", None),
    ],
)
def test_the_reassurance_of_one_curve_yields_to_the_other_run_where_that_is_asked(tmp_path, question, first):
    on_nodes(tmp_path)
    made = ask(question, [tmp_path]).diagnosis
    assert (made.top.entry.id if made.state == "diagnosed" else None) == first
