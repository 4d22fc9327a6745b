"""What explains a training stands over none where nothing was trained."""

import json
from dataclasses import replace

import pytest

from triage.agent.evidence import look
from triage.agent.signs.trained import fitting, needs_training, trains
from triage.knowledge.runbook import load
from triage.tools.findings import Finding, Report, Severity


def seen(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return look([folder])


def scores(**some):
    return {"results": {task: {"acc": value, "n": 2000} for task, value in some.items()}}


WIDE = {"mmlu": 0.66, "bbh": 0.58, "arc_challenge": 0.61}
SERVED = "clients,ttft_ms,output_tokens_per_s\n1,40,70\n8,66,410\n32,180,900\n"
BASE, DOMAIN = scores(**WIDE, medqa=0.41), scores(mmlu=0.52, bbh=0.43, arc_challenge=0.45, medqa=0.66)


@pytest.mark.parametrize(
    ("files", "said", "told"),
    [
        ({"load.csv": SERVED}, "is this fine?", False),
        ({"压测.md": "| 并发 | 首字延迟 ms |\n|---|---|\n| 1 | 40 |\n| 16 | 300 |\n"}, "结果正常吗？", False),
        ({"agents.json": [{"agent": a, "score": s, "seconds": 3.0} for a, s in (("x", 0.4), ("y", 0.6))]}, "", False),
        ({"load.csv": SERVED}, "we fine-tuned it before, is it forgetting?", True),
        ({"load.csv": SERVED}, "微调之后变差了", True),
        ({"log.csv": "step,loss,grad_norm\n1,2.0,1\n2,1.9,1\n"}, "", True),
        ({"e/base.json": BASE, "e/medical.json": DOMAIN}, "", True),
        ({"scores.csv": "model,mmlu,medqa\nqwen-sft,0.5,0.6\nqwen,0.6,0.4\n"}, "", True),
        ({"train.yaml": "learning_rate: 1e-5\nnum_train_epochs: 3\n", "load.csv": SERVED}, "", True),
    ],
)
def test_whether_anything_is_trained(tmp_path, files, said, told):
    assert trains(seen(tmp_path, files), said) is told


def test_entries_that_need_a_training():
    need = {e.id for e in load() if needs_training(e)}
    assert need >= {"catastrophic-forgetting", "dpo-kl-explosion", "dataloader-bottleneck", "reward-hacking"}
    assert not need & {"inference-slow", "quantization-quality-loss", "eval-harness-drift", "gpu-hardware-fault",
                       "dependency-conflict", "kernel-not-optimized"}  # fmt: skip


@pytest.mark.parametrize(("names", "kept"), [(("base", "medical"), True), (("mix_v4", "mix_v5"), True),
                                             (("llama", "mistral"), False), (("请求一", "请求二"), False)])  # fmt: skip
def test_forgetting_needs_a_base_and_what_was_made_of_it(tmp_path, names, kept):
    found = seen(tmp_path, {f"e/{name}.json": some for name, some in zip(names, (BASE, DOMAIN), strict=True)})
    lost = Finding("ability-lost", Severity.S2, "bbh is lost")
    found = replace(found, reports=(*found.reports, Report("relate", (lost,))))
    assert ("catastrophic-forgetting" in fitting(load(), found, "").entries) is kept
    assert "eval-harness-drift" in fitting(load(), found, "").entries


def test_an_error_and_a_setting_speak_for_a_training_wherever_they_stand(tmp_path):
    found = seen(tmp_path, {"load.csv": SERVED})
    for data in ({"role": "cause"}, {"variable": "learning_rate"}):
        speaks = Finding("loader-timeout", Severity.S1, "timed out", data=data)
        other = replace(found, reports=(Report("scan", (speaks,)),))
        assert "dataloader-bottleneck" in fitting(load(), other, "").entries
