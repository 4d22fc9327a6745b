"""A saved adapter of fewer bytes than the parameters that were trained holds no weights."""

import pytest

from triage.tools.discover import discover
from triage.tools.operation.handed import check_handed

LS = "-rw-r--r-- 1 ml ml {size:>9} Mar  6 04:51 {name}\n"
LOG = (
    "trainable params: 167,772,160 || all params: 8,198,033,408 || trainable%: 2.0465\nstep 1/1200 loss 1.83 lr 2e-6\n"
)
NAMES = {"safetensors": "adapter_model.safetensors", "bin": "adapter_model.bin", "lora": "out/lora_weights.pt"}


def told(tmp_path, listing, log=LOG):
    (tmp_path / "train.txt").write_text(log)
    (tmp_path / "listing.txt").write_text(listing)
    return [f.code for f in check_handed(discover(tmp_path)).findings]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("log", [LOG, "可训练参数量: 167772160\nstep 1 loss 1.8\n"], ids=["peft", "zh"])
def test_a_file_of_headers_alone(tmp_path, name, log):
    assert told(tmp_path, LS.format(size=56784, name=name), log) == ["weights-below-parameters"]


def test_sizes_before_names(tmp_path):
    assert told(tmp_path, "56784  final/adapter_model.safetensors\n") == ["weights-below-parameters"]


@pytest.mark.parametrize(
    "listing",
    [
        LS.format(size=335_604_696, name="adapter_model.safetensors"),  # two bytes each
        LS.format(size=83_900_000, name="adapter_model.safetensors"),  # half a byte each
        LS.format(size=771, name="adapter_config.json"),
        LS.format(size=56784, name="adapter_model-00001-of-00004.safetensors"),  # one part
        LS.format(size=56784, name="tokenizer.model"),
        "",
    ],
)
def test_whole_files_parts_and_others_are_silent(tmp_path, listing):
    assert told(tmp_path, listing) == []


def test_without_a_count_nothing_is_told(tmp_path):
    assert told(tmp_path, LS.format(size=56784, name="adapter_model.safetensors"), "step 1 loss 1.8\n") == []


BASE = "16060556376  /m/base-8b/model-00001-of-00001.safetensors\n"
PLAIN = "step 1 loss 1.8\n"


@pytest.mark.parametrize(
    "listing",
    [
        BASE + "31244  out/final/model.safetensors\n",
        "out/final:\n"
        + LS.format(size=31244, name="pytorch_model.bin")
        + "\nout/base:\n"
        + LS.format(size=9_124_001_280, name="pytorch_model.bin"),
        "release/consolidated.00.pth,31K\nbase/consolidated.00.pth,13G\n",
        "文件 大小\n导出/model.safetensors 40960\n底座/model-1.safetensors 7.6G\n",
    ],
)
def test_a_whole_model_of_kilobytes_beside_gigabytes(tmp_path, listing):
    assert told(tmp_path, listing, PLAIN) == ["weights-below-parameters"]


@pytest.mark.parametrize(
    "listing",
    [
        BASE + "135  out/final/model.safetensors\n",  # a pointer
        BASE + "31244  out/final/training_args.bin\n",
        BASE + "31244  out/final/rank0_weights_index.bin\n",
        BASE + "31244  /m/base-8b/model.safetensors\n",  # beside the others in one folder
        BASE + "988097824  draft/model.safetensors\n",
        "31244  tiny/model.safetensors\n88121  tiny2/model.safetensors\n",
    ],
)
def test_small_files_of_other_kinds_are_silent(tmp_path, listing):
    assert told(tmp_path, listing, PLAIN) == []
