"""Models that were scored alike on the same items: the reassurance, and what takes it away."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

TASKS = {"boolq": (3270, 0.78, 0.0072), "winogrande": (1267, 0.691, 0.013), "mbpp": (500, 0.402, 0.0219)}


def results(name: str, shift: float = 0.0, **other: Any) -> dict[str, Any]:
    """A result file of one model, every score moved by so many standard errors."""
    shots = other.pop("shots", 5)
    scores = {t: {"n": n, "acc": round(p + shift * e, 4), "stderr": e} for t, (n, p, e) in TASKS.items()}
    return {"model": name, "harness": {"commit": "77b0"}, "num_fewshot": {t: shots for t in TASKS},
            "results": scores | other}  # fmt: skip


def harness(path: str, shift: float = 0.0, shots: int = 5) -> dict[str, Any]:
    """What lm-evaluation-harness writes of one model."""
    scores = {t: {"acc,none": p + shift * e, "acc_stderr,none": e} for t, (_, p, e) in TASKS.items()}
    sizes = {t: {"original": n, "effective": n} for t, (n, *_) in TASKS.items()}
    return {"results": scores, "n-shot": {t: shots for t in TASKS}, "n-samples": sizes, "git_hash": "55e1",
            "config": {"model": "hf", "model_args": f"pretrained={path}"}}  # fmt: skip


def rows(names: tuple[str, str], shift: float = 0.0, heads: str = "model,task,accuracy,std_err,n,shots") -> str:
    out = [heads]
    for i, name in enumerate(names):
        out += [f"{name},{t},{p + i * shift * e:.4f},{e},{n},3" for t, (n, p, e) in TASKS.items()]
    return "\n".join(out) + "\n"


def healthy(tmp_path: Path, files: Mapping[str, Any]) -> bool:
    for name, text in files.items():
        (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text))
    return any(f.code == "run-healthy" and "versions" in f.data for f in look([tmp_path]).findings)


@pytest.mark.parametrize("files", [
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8)},
    {"scores.csv": rows(("jade-3", "jade-4"), -1.1)},
    {"results_1.json": harness("/m/aa"), "results_2.json": harness("/m/bb", 0.7)},
    {"scores.csv": rows(("甲", "乙"), 0.9, "模型,task,accuracy,stderr,样本数,n_shot")},
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8), "overlap.csv": "test_set,items,hits\nboolq,3270,0\n",
     "eval.log": "boolq: 3270/3270 questions graded, 0 failed\nmbpp: 500/500 questions graded, 0 failed\n"},
])  # fmt: skip
def test_models_scored_alike_that_lie_within_the_noise_are_sound(tmp_path, files):
    assert healthy(tmp_path, files)


@pytest.mark.parametrize("files", [
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8, shots=0)},  # asked otherwise
    {"results_1.json": harness("/m/aa"), "results_2.json": harness("/m/bb", 0.7, shots=0)},
    {"a.json": results("day-1"), "b.json": results("day-2", -6)},  # worse
    {"a.json": results("day-1"), "b.json": results("day-2")},  # the same to the last digit
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8, mbpp={"n": 350, "acc": 0.41, "stderr": 0.026})},
    {"a.json": results("day-1", mbpp={"n": 500, "acc": 0.0, "stderr": 0.0}),
     "b.json": results("day-2", 0.8, mbpp={"n": 500, "acc": 0.0, "stderr": 0.0})},  # nothing is right
    {"a.json": results("day-1", boolq={"n": 3270, "acc": 0.507, "stderr": 0.0087}),
     "b.json": results("day-2", 0.8, boolq={"n": 3270, "acc": 0.511, "stderr": 0.0087})},  # guessed
    {"base.json": results("base"), "b.json": results("tuned", 0.8)},  # the training changed nothing
    {"scores.csv": rows(("jade-3", "jade-4"), 0.5).replace(",3270,", ",20,")
     .replace("0.0072", "0.09").replace("0.013", "0.09").replace("0.0219", "0.09")},  # too few items
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8),
     "overlap.csv": "test_set,items,hits\nboolq,3270,212\n"},
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8),
     "eval.log": "boolq: 2711/3270 answers read\n"},  # not all there
    {"a.json": results("day-1"), "b.json": results("day-2", 0.8),
     "log.csv": "step,loss\n" + "".join(f"{i},{4 - i / 50}\n" for i in range(1, 40))},  # a training
    {"a.json": results("day-1")},  # one alone
])  # fmt: skip
def test_what_takes_the_reassurance_away(tmp_path, files):
    assert not healthy(tmp_path, files)


@pytest.mark.parametrize(("question", "state"), [
    ("both candidates are scored, is the table right?", "healthy"),
    ("两个版本的评测都跑完了，结果正常吗？", "healthy"),
    ("why does the new one loop in long chats?", "inconclusive"),
    ("新模型在长对话里停不下来，为什么？", "inconclusive"),
])  # fmt: skip
def test_what_is_answered(tmp_path, question, state):
    for name, shift in (("day-1", 0.0), ("day-2", 0.8)):
        (tmp_path / f"{name}.json").write_text(json.dumps(results(name, shift), indent=1))
    assert ask(question, [tmp_path]).diagnosis.state == state
