"""One setting changed in the text of its file, and what differs between two runs."""

# ruff: noqa: E501  (excerpts of real files are kept on one line)

import shutil
import subprocess

import pytest
from configs import read
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from triage.tools.config.combine import settings_of
from triage.tools.config.diff import diff
from triage.tools.config.edit import add_value, changed_variables, like, set_value
from triage.tools.config.read import read_file, read_source
from triage.tools.config.syntax.source import source
from triage.tools.findings import TriageError
from triage.tools.settings import VARIABLES

YAML = (
    'learning_rate: 2e-5  # peak\r\nbf16: true\r\noptim: "adamw"\r\nper_device_train_batch_size: 4\r\nlist: [1,  2]\r\n'
)
SHELL = """LR=3e-4   # 学习率
OFFLOAD=true
BS=${BS:-8}
torchrun train.py --learning_rate $LR --per_device_train_batch_size "$BS" \\
  --max_grad_norm=1.0 --bf16 --gradient_checkpointing \\
  --num_train_epochs 3
"""
VERL = """lr=1e-6
python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.optim.lr=$lr \\
  actor_rollout_ref.actor.fsdp_config.param_offload=$off \\
  data.max_response_length=$((1024 * 8))
"""
SHARED = """off=True
python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.optim.lr=1e-6 \\
  actor_rollout_ref.actor.fsdp_config.param_offload=$off actor_rollout_ref.actor.fsdp_config.optimizer_offload=$off
"""
JSON = '{\n\t"optimizer": {"params": {"lr": 1e-4}},\n\t"fp16": {\n\t\t"enabled": true\n\t},\n\t"train_micro_batch_size_per_gpu": 4\n}\n'


def file(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path, settings_of(read_file(path))


def changed_lines(edit):
    lines = edit.patch.splitlines()[2:]
    return [x[1:] for x in lines if x.startswith("-")], [x[1:] for x in lines if x.startswith("+")]


@pytest.mark.parametrize(
    ("name", "text", "variable", "new", "line"),
    [
        ("a.yaml", YAML, "learning_rate", 1e-5, "learning_rate: 1e-5  # peak"),
        ("a.yaml", YAML, "precision", "fp16", "fp16: true"),
        ("a.yaml", YAML, "micro_batch_size", 2, "per_device_train_batch_size: 2"),
        ("a.sh", SHELL, "learning_rate", 1.5e-4, "LR=1.5e-4   # 学习率"),
        ("a.sh", SHELL, "micro_batch_size", 4, "BS=${BS:-4}"),
        ("a.sh", SHELL, "grad_clip", 0.5, "  --max_grad_norm=0.5 --bf16 --gradient_checkpointing \\"),
        ("a.sh", SHELL, "activation_checkpointing", False, "  --max_grad_norm=1.0 --bf16 \\"),
        ("a.sh", SHELL, "precision", "fp16", "  --max_grad_norm=1.0 --fp16 --gradient_checkpointing \\"),
        ("v.sh", VERL, "learning_rate", "5e-7", "lr=5e-7"),
        ("d.json", JSON, "learning_rate", 5e-5, '\t"optimizer": {"params": {"lr": 5e-5}},'),
        ("d.json", JSON, "precision", "bf16", '\t"bf16": {'),
        ("l.yaml", "train:\n  max_norm:\n  lr_warmup_steps: 3\n", "grad_clip", 1.0, "  max_norm: 1.0"),
        ("p.yaml", "trainer:\n  precision: bf16-mixed\n  devices: 2\n", "precision", "fp16", "  precision: 16-mixed"),
    ],
)
def test_exactly_one_line_changes(tmp_path, name, text, variable, new, line):
    path, settings = file(tmp_path, name, text)
    edit = set_value(settings.values[variable], new, path)
    removed, added = changed_lines(edit)
    assert len(removed) == len(added) == 1
    assert added[0].rstrip("\r") == line
    assert edit.patch.startswith(f"--- a/{name}\n+++ b/{name}\n")
    assert path.read_bytes().decode() == text
    assert edit.text.count("\r\n") == text.count("\r\n")


def test_a_computed_value_is_replaced_as_a_whole(tmp_path):
    path, settings = file(tmp_path, "v.sh", VERL)
    edit = set_value(settings.values.get("max_response_length"), 4096, path)
    assert edit.text.endswith("data.max_response_length=4096\n")


def test_two_switches_of_one_precision_change_together(tmp_path):
    path, settings = file(tmp_path, "a.yaml", "bf16: true\nfp16: false\nlearning_rate: 1.0e-5\n")
    edit = set_value(settings.values["precision"], "fp16", path)
    assert edit.text == "bf16: false\nfp16: true\nlearning_rate: 1.0e-5\n"


def test_an_edit_that_would_change_two_settings_is_refused(tmp_path):
    path, settings = file(tmp_path, "a.sh", SHARED)
    with pytest.raises(TriageError, match=r"a\.sh:1: .* shares its value with offload_optimizer"):
        set_value(settings.values["offload_params"], False, path)


def test_a_file_that_changed_since_it_was_read_is_refused(tmp_path):
    path, settings = file(tmp_path, "a.yaml", YAML)
    path.write_text("seed: 1\nlearning_rate: 2e-5\n")
    with pytest.raises(TriageError, match="changed since"):
        set_value(settings.values["learning_rate"], 1e-5, path)


@pytest.mark.parametrize("new", ["1e-5\nx: 1", "1e-5 # c\r\nseed: 3"])
def test_a_value_of_several_lines_is_refused(tmp_path, new):
    path, settings = file(tmp_path, "a.yaml", YAML)
    with pytest.raises(TriageError, match="one line"):
        set_value(settings.values["learning_rate"], new, path)


@pytest.mark.parametrize(
    ("name", "text", "variable", "new", "line"),
    [
        ("a.yaml", "learning_rate: 1.0e-5\nnum_train_epochs: 1", "grad_clip", 1.0, "max_grad_norm: 1.0"),
        ("a.sh", SHELL, "warmup_steps", 100, "  --num_train_epochs 3 --warmup_steps 100"),
        ("v.sh", VERL, "grad_clip", 1.0, None),
        ("d.json", JSON, "grad_clip", 1.0, '\t"gradient_clipping": 1.0,'),
        ("t.yaml", "optimizer:\n  _component_: x\n  lr: 1e-4\nbatch_size: 2\n", "weight_decay", 0.1, "  weight_decay: 0.1"),
        ("m.sh", "python pretrain_gpt.py --micro-batch-size 4 --train-iters 10 --lr 1e-4\n", "grad_clip", 1.0,
         "python pretrain_gpt.py --micro-batch-size 4 --train-iters 10 --lr 1e-4 --clip-grad 1.0"),
    ],
)  # fmt: skip
def test_a_missing_setting_is_added_in_the_style_of_the_file(tmp_path, name, text, variable, new, line):
    path, before = file(tmp_path, name, text)
    edit = add_value(variable, new, path)
    after = settings_of(read_source(source(name, edit.text), {"sh": "shell"}.get(name[-2:], name.split(".")[1])))
    assert after.value(variable) == new
    assert set(changed_variables(before, after)) == {variable}
    if line is not None:
        assert line in changed_lines(edit)[1]


def test_a_framework_without_the_key_says_so(tmp_path):
    path, _ = file(tmp_path, "s.sh", "vllm serve m --max-model-len 100\n")
    with pytest.raises(TriageError, match="no key for learning_rate"):
        add_value("learning_rate", 1e-5, path)


@pytest.mark.skipif(not shutil.which("patch"), reason="patch is not installed")
@pytest.mark.parametrize(("name", "text"), [("a.yaml", YAML.rstrip("\r\n")), ("a.sh", SHELL)])
def test_the_patch_applies(tmp_path, name, text):
    path, settings = file(tmp_path, name, text)
    edit = set_value(settings.values["learning_rate"], 7e-5, path)
    subprocess.run(
        ["patch", "-p1", "--binary"], input=edit.patch.encode(), cwd=tmp_path, check=True, capture_output=True
    )
    assert path.read_bytes().decode() == edit.text


@pytest.mark.parametrize(
    ("raw", "value", "spelled"),
    [("5e-5", 2.5e-5, "2.5e-5"), ("1.0e-05", 5e-6, "5.0e-06"), ("0.0002", 0.0001, "0.0001"), ("200_000", 100_000, "100_000"),
     ("8", 4, "4"), ("True", False, "False"), ("yes", False, "no"), ("1.0", 0.5, "0.5"), ("3E-4", 1e-4, "1E-4")],
)  # fmt: skip
def test_a_number_is_spelled_like_the_one_it_replaces(raw, value, spelled):
    assert like(raw, value) == spelled


KEYS = {"learning_rate": "learning_rate", "per_device_train_batch_size": "micro_batch_size", "seed": "seed",
        "weight_decay": "weight_decay", "max_grad_norm": "grad_clip", "warmup_ratio": "warmup_ratio"}  # fmt: skip


@hypothesis_settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(sorted(KEYS)), st.integers(1, 50), min_size=2),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "  # 注释: 1", "   #x"]),
    st.booleans(),
    st.integers(51, 99),
)
def test_the_new_text_differs_in_one_setting_only(tmp_path_factory, numbers, newline, comment, shell, new):
    if shell:
        flags = newline.replace("\r", "").join(f"  --{k} {v} \\" for k, v in numbers.items())
        text, name = f"python train.py \\\n{flags}\n  --output_dir x\n", "a.sh"
    else:
        text, name = "".join(f"{k}: {v}{comment}{newline}" for k, v in numbers.items()), "a.yaml"
    path = tmp_path_factory.mktemp("edit") / name
    path.write_bytes(text.encode())
    before = settings_of(read_file(path))
    variable = KEYS[next(iter(numbers))]
    edit = set_value(before.values[variable], new, path)
    after = settings_of(read_source(source(name, edit.text), "shell" if shell else "yaml"))
    changed = {v for v in changed_variables(before, after) if v in VARIABLES}
    assert changed == {variable}
    assert after.value(variable) == new
    assert len(edit.text.split("\n")) == len(text.split("\n"))
    assert [d.variable for d in diff(before, after)] == [variable]


BASE = "learning_rate: 5e-5\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 4\nseed: 1\noutput_dir: x\nfoo: 1\n"


@pytest.mark.parametrize(
    ("old", "new", "variables"),
    [
        ("", "", []),
        ("5e-5", "0.00005", []),
        ("output_dir: x", "output_dir: y", []),
        ("5e-5", "1e-5", ["learning_rate"]),
        ("seed: 1", "seed: 2", ["seed"]),
        ("foo: 1", "foo: 2", ["foo"]),
        ("foo: 1", "foo: 1.0", []),
        ("foo: 1", "logging_steps: 3", ["log_steps", "foo"]),
        ("foo: 1", "weight_decay: 0.1", ["weight_decay", "foo"]),
    ],
)
def test_differences_are_counted_in_variables(old, new, variables):
    assert [d.variable for d in diff(read(BASE), read(BASE.replace(old, new)))] == variables


def test_trading_micro_batch_against_accumulation_is_one_change():
    other = BASE.replace("batch_size: 4", "batch_size: 2").replace("steps: 4", "steps: 8")
    found = diff(read(BASE), read(other))
    assert [(d.variable, d.old, d.new) for d in found] == [("micro_batch_size", 4, 2)]
    assert "global batch stays 16" in found[0].note
    assert "grad_accumulation 4 -> 8" in found[0].note


def test_a_changed_global_batch_is_two_changes_and_says_so():
    other = BASE.replace("batch_size: 4", "batch_size: 2").replace("steps: 4", "steps: 16")
    found = diff(read(BASE), read(other))
    assert [d.variable for d in found] == ["micro_batch_size", "grad_accumulation"]
    assert all("16 -> 32" in d.note for d in found)


def test_logging_differs_but_does_not_count():
    found = diff(read(BASE + "logging_steps: 1\n"), read(BASE + "logging_steps: 5\n"))
    assert [(d.variable, d.counts) for d in found] == [("log_steps", False)]


def test_a_ratio_written_as_the_same_steps_is_no_change():
    a, b = read(BASE + "max_steps: 100\nwarmup_ratio: 0.1\n"), read(BASE + "max_steps: 100\nwarmup_steps: 10\n")
    assert diff(a, b) == ()
    c = read(BASE + "max_steps: 100\nwarmup_steps: 20\n")
    assert [(d.variable, d.old, d.new) for d in diff(a, c)] == [("warmup_steps", 10, 20)]
