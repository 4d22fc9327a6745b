"""A run beside an earlier one: what is not alike over the same steps is a note, which answers who compares them."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

N = 120


def rows(loss=1.9, speed=900.0, memory=31.0, seed=1, gap=0.5):
    """Records of a training whose loss falls to `loss` (nats); tokens per second, GiB."""
    rng = np.random.default_rng(seed)
    for i in range(N):
        yield {"step": 5 * i, "loss": round(loss + 3 * np.exp(-i / 25) + rng.normal(0, 0.01), 4),
               "tokens_per_sec": round(speed + rng.normal(0, 9), 1), "gpu_mem": round(memory + rng.normal(0, 0.1), 2),
               "stall_ms": round(gap + rng.normal(0, 0.01), 3)}  # fmt: skip


def write(path, how="json", first="", **made):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(r) if how == "json" else " | ".join(f"{k}: {v}" for k, v in r.items()) for r in rows(**made))
    path.write_text(first + "\n".join(lines) + "\n", encoding="utf-8")


def note(seen):
    return next((f for f in seen.findings if f.code == "differs-beside"), None)


def pair(tmp_path, names=("v1/train.log", "v2/train.log"), how="text", first=("", ""), **made):
    write(tmp_path / names[0], how, first[0], seed=3)
    write(tmp_path / names[1], how, first[1], **made)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (("old/run.log", "new/run.log"), "text"),
        (("baseline/metrics.jsonl", "v2/metrics.jsonl"), "json"),
        (("previous_metrics.jsonl", "metrics.jsonl"), "json"),
        (("旧镜像/run.log", "新镜像/run.log"), "text"),
    ],
)
def test_a_slower_run_beside_the_earlier_one_is_told_with_both_levels(tmp_path, names, how):
    found = note(look([pair(tmp_path, names, how, speed=560.0, memory=44.0)]))
    assert found is not None
    assert set(found.data["worse"]) == {"tokens_per_second", "gpu_memory"}
    assert found.data["levels"]["tokens_per_second"] == pytest.approx([900, 560], rel=0.01)
    assert found.severity == "S3"


def test_a_higher_loss_and_what_both_files_call_their_own_are_told_too(tmp_path):
    found = note(look([pair(tmp_path, ("last_metrics.jsonl", "metrics.jsonl"), "json", loss=2.1, gap=4.0)]))
    assert found is not None
    assert {"loss", "stall_ms"} <= set(found.data["levels"])


def test_what_both_print_of_themselves_and_otherwise_is_told(tmp_path):
    first = ("load m, kernel_backend=fused\n", "load m, kernel_backend=plain\n")
    pair(tmp_path, ("before/train.log", "after/train.log"), "text", first, speed=500.0)
    for name, version in (("before", "2.1.0"), ("after", "2.3.1")):
        (tmp_path / name / "requirements.txt").write_text(f"numkit=={version}\nsame==1.0.0\n")
    found = note(look([tmp_path]))
    assert found is not None
    assert found.data["changed"] == {"kernel_backend": ["fused", "plain"], "numkit": ["2.1.0", "2.3.1"]}


def test_what_the_earlier_file_logs_as_one_number_is_held_against_the_setting(tmp_path):
    pair(tmp_path, ("prev_metrics.jsonl", "metrics.jsonl"), "json", loss=2.2)
    old = (json.loads(x) | {"router_pull": 0.002} for x in (tmp_path / "prev_metrics.jsonl").read_text().splitlines())
    (tmp_path / "prev_metrics.jsonl").write_text("\n".join(map(json.dumps, old)))
    (tmp_path / "c.toml").write_text("[opt]\nlr = 1e-4\n[moe]\nrouter_pull = 0.2\n")
    found = note(look([tmp_path]))
    assert found is not None
    assert found.data["changed"] == {"router_pull": ["0.002", "0.2"]}


@pytest.mark.parametrize(
    ("names", "made"),
    [
        (("old/run.log", "new/run.log"), {}),
        (("old/run.log", "new/run.log"), {"speed": 880.0, "loss": 1.92}),
        (("metrics_rank0.jsonl", "metrics_rank1.jsonl"), {"speed": 500.0}),
        (("old/run.log", "new/run.log"), {"gap": 0.9}),
    ],
    ids=["alike", "two seeds", "ranks", "only what nobody knows"],
)
def test_runs_that_are_alike_and_files_of_one_run_are_not_told(tmp_path, names, made):
    assert note(look([pair(tmp_path, names, "text" if "old" in names[0] else "json", **made)])) is None


def test_of_a_sweep_none_is_held_against_another(tmp_path):
    for i in range(3):
        write(tmp_path / f"w{i}" / "train.log", "text", speed=500.0 + 200 * i, seed=i)
    assert note(look([tmp_path])) is None


@pytest.mark.parametrize("question", ["the new run is slower than the previous one, why?", "换机器后训练慢了三成",
                                      "memory is higher than in the previous run"])  # fmt: skip
def test_who_compares_is_answered_with_both_levels_and_not_reassured(tmp_path, question):
    pair(tmp_path, ("prev/run.log", "next/run.log"), "text", speed=640.0, memory=47.0)
    answer = ask(question, [tmp_path])
    assert answer.diagnosis.state == "inconclusive"
    assert answer.seen is not None
    assert answer.seen.about == "next"
    assert answer.reply is not None
    assert answer.reply.compared is not None
    assert "640" in answer.reply.compared.message


@pytest.mark.parametrize("question", ["is this run ok?", "训练正常吗？"])
def test_who_does_not_compare_hears_of_a_sound_run(tmp_path, question):
    pair(tmp_path, ("prev/run.log", "next/run.log"), "text", speed=640.0)
    assert ask(question, [tmp_path]).diagnosis.state == "healthy"
