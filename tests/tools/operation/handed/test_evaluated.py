"""An evaluation that is meant for an adapter and is given its base alone."""

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed import check_handed

BASE = "mistralai/Mistral-Small-24B"
CONFIG = {
    "ad/adapter_config.json": json.dumps({"base_model_name_or_path": BASE, "peft_type": "LORA", "r": 8}, indent=1)
}
CALL = "lm_eval --model vllm --model_args pretrained={model}{more} --tasks mmlu,bbh --output_path {out}\n"


def call(model=BASE, out="res/sft", more=""):
    return CALL.format(model=model, out=out, more=more)


LOCAL = call(model="/models/Mistral-Small-24B")


def codes(folder, files):
    return [f.code for f in check_handed(discover(fill(folder, files))).findings]


@pytest.mark.parametrize(
    "files",
    [
        {**CONFIG, "bench/run.sh": "LORA_DIR=../ad/checkpoint-900\n" + call(out="x")},
        {**CONFIG, "bench/run.sh": "set -e\n" + LOCAL.replace(" --tasks", " \\\n  --tasks")},
        {**CONFIG, "bench/eval.yaml": f"model_args: pretrained={BASE}\ntasks: [mmlu]\noutput_path: out/lora\n"},
        {**CONFIG, "评测.sh": f"evalscope eval --model {BASE} --datasets ceval --work-dir out/微调后\n"},
        {"bench/run.sh": "CKPT=/out/step_400\npython eval_all.py --model-path /models/base --tag sft\n"},
    ],
    ids=["unused", "called after it", "settings", "zh", "no configuration"],
)  # fmt: skip
def test_the_base_is_scored_for_the_adapter(tmp_path, files):
    assert codes(tmp_path, files) == ["adapter-left-out-of-evaluation"]


@pytest.mark.parametrize(
    "files",
    [
        {**CONFIG, "bench/run.sh": "LORA_DIR=../ad/checkpoint-900\n" + call(more=",peft=$LORA_DIR")},
        {**CONFIG, "bench/run.sh": "CK=../ad/checkpoint-900\n" + call(more=",lora_local_path=${CK}")},
        {**CONFIG, "bench/run.sh": call(out="res/base") + call(more=",peft=../ad")},
        {**CONFIG, "bench/run.sh": call(out="res/before_sft")},
        {**CONFIG, "bench/run.sh": "OUT=/out/merged\n" + call(model="$OUT")},
        {**CONFIG, "bench/run.sh": call(model="out/checkpoint-900", out="res/sft")},
        {"bench/run.sh": "STEPS=900\n" + call()},
        {**CONFIG, "train.sh": f"ADAPTER=x\npython train_sft.py --model {BASE} --output_dir out/sft\n"},
    ],
    ids=["peft", "by a variable", "both", "before", "merged", "a full model", "no adapter", "a training"],
)
def test_what_loads_it_or_means_the_base_is_left_alone(tmp_path, files):
    assert not codes(tmp_path, files)
