"""What training, export and serving say of one model, in files of a stranger's run."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.operation.places import check_places, family

TRAIN = """\
seq_len: 65536
lr: 1.0e-5
epochs: 1
rope:
  scaling: {type: yarn, factor: 8.0, original_max_position_embeddings: 8192}
"""
MODEL = {"architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
         "max_position_embeddings": 65536, "rope_theta": 500000.0, "rope_scaling": None}  # fmt: skip
CHATML = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
INST = "{% for m in messages %}[INST] {{ m['content'] }} [/INST]{% endfor %}"


def run(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
    return {f.code: f for f in check_places(discover(folder)).findings}


def test_an_export_that_lost_the_scaling_of_positions_is_named_with_both_places(tmp_path):
    found = run(tmp_path, train_dot_yaml=TRAIN, out__config_dot_json=MODEL)["rope-lost-at-export"]
    places = {(e.file, e.line) for e in found.evidence}
    assert ("train.yaml", 5) in places
    assert ("out/config.json", 10) in places
    asked = found.data["proposes"]
    assert (asked["file"], asked["key"], asked["old"]) == ("out/config.json", "rope_scaling", "null")
    assert '"rope_type": "yarn", "factor": 8.0' in asked["new"]


@pytest.mark.parametrize("change", [
    {"rope_scaling": {"rope_type": "yarn", "factor": 8.0}},
    {"max_position_embeddings": 8192},
])  # fmt: skip
def test_an_export_that_scales_and_the_base_model_are_fine(tmp_path, change):
    assert run(tmp_path, train_dot_yaml=TRAIN, out__config_dot_json=MODEL | change) == {}


def test_a_run_that_never_scaled_its_positions_is_fine(tmp_path):
    plain = TRAIN.partition("rope:")[0]
    assert run(tmp_path, train_dot_yaml=plain, out__config_dot_json=MODEL) == {}


SFT = (
    "model_name_or_path: base\ntemplate: {}\ncutoff_len: 2048\nlearning_rate: 1.0e-5\nnum_train_epochs: 2\nbf16: true\n"
)
SERVE = "python -m vllm.entrypoints.openai.api_server --model out --dtype {} --max-model-len 2048 {}\n"


def test_a_server_with_another_template_than_training_is_named(tmp_path):
    found = run(tmp_path, sft_dot_yaml=SFT.format("chatml"), tools__old_dot_jinja=INST,
                serve_dot_sh=SERVE.format("bfloat16", "--chat-template tools/old.jinja"))  # fmt: skip
    one = found["template-differs-when-served"]
    assert (one.data["trained"], one.data["served"]) == ("chatml", "inst")
    assert one.data["proposes"]["file"] == "serve.sh"
    assert {e.file for e in one.evidence} == {"sft.yaml", "serve.sh"}


@pytest.mark.parametrize(
    ("name", "jinja"), [("qwen", CHATML), ("chatml", CHATML), ("our_own", INST), ("chatml", "{{ x }}")]
)
def test_one_family_or_one_that_nobody_knows_is_no_difference(tmp_path, name, jinja):
    serve = SERVE.format("bfloat16", "--chat-template tools/t.jinja")
    assert run(tmp_path, sft_dot_yaml=SFT.format(name), tools__t_dot_jinja=jinja, serve_dot_sh=serve) == {}


def test_a_server_that_names_no_template_is_no_difference(tmp_path):
    assert run(tmp_path, sft_dot_yaml=SFT.format("chatml"), serve_dot_sh=SERVE.format("bfloat16", "")) == {}


def test_bf16_training_served_in_fp16_is_named(tmp_path):
    found = run(tmp_path, sft_dot_yaml=SFT.format("chatml"), serve_dot_sh=SERVE.format("float16", ""))
    assert list(found) == ["dtype-differs-when-served"]


@pytest.mark.parametrize(
    ("text", "name"), [(CHATML, "chatml"), (INST, "inst"), ("llama3", "llama3"), ("", ""), ("x" * 900, "")]
)
def test_families_of_templates(text, name):
    assert family(text) == name
