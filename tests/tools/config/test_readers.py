"""What each framework's files say, in small excerpts of real ones."""

# ruff: noqa: E501  (excerpts of real files are kept on one line)

import contextlib
import json
import time

import pytest
from configs import SYNTAX, read
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from triage.tools.config.read import read_file, read_source
from triage.tools.config.syntax.source import Refused, source
from triage.tools.settings import VARIABLES


def values(text: str, name: str = "train.yaml") -> dict:
    return {s.variable: s.value for s in read(text, name) if s.variable in VARIABLES}


TRL = """# full training
model_name_or_path: org/model
torch_dtype: bfloat16
bf16: true
beta: 0.01
max_prompt_length: 512
learning_rate:
  5.0e-7   # on the next line
per_device_train_batch_size: 8
gradient_accumulation_steps: 2
max_steps: -1
warmup_ratio: .1
weight_decay: 0.
"""
AXOLOTL = """base_model: org/base
adapter: qlora
micro_batch_size: 2
sequence_len: 4096
sample_packing: true
learning_rate: 2e-4
bf16: auto
rl: kto
rl_beta: 0.2
lora_model_dir:
special_tokens:
  pad_token: "<|end|>"
"""
LLAMA_FACTORY = """stage: sft
finetuning_type: lora
lora_rank: 8
cutoff_len: 2048  # 截断长度
template: qwen
learning_rate: 1.0e-4
ddp_timeout: 180000000
"""
NEOX = """# comment
{
  "pipe-parallel-size": 1,
  "model-parallel-size": 2,
  "optimizer": {"type": "Adam", "params": {"lr": 0.0006, "betas": [0.9, 0.95], "eps": 1.0e-8,}},
  "fp16": {"enabled": True, "loss_scale": 0},
  "train_micro_batch_size_per_gpu": 4, # per device
  "train-iters": 320_000,
  "warmup": 0.01,
}
"""
TORCHTUNE = """model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_rank: 64
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
lr_scheduler:
  num_warmup_steps: 20
clip_grad_norm: null
dtype: bf16
output_dir: /tmp/x
"""
LITGPT = """precision: bf16-true
devices: 2
train:
  global_batch_size: 8
  micro_batch_size: 4
  lr_warmup_steps: 200
  max_norm:
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 0.0002
"""
NANOTRON = """tokens:
  micro_batch_size: 2
  batch_accumulation_per_replica: 4
  sequence_length: 2048
  train_steps: 100
parallelism:
  dp: 8
  tp: 2
optimizer:
  clip_grad: 1.0
  learning_rate_scheduler:
    learning_rate: 0.0003
    lr_warmup_steps: 10
"""
LIGHTNING = """seed_everything: 7
trainer:
  precision: 16-mixed
  devices: 4
  accumulate_grad_batches: 2
  gradient_clip_val: 1.0
  max_steps: 500
model:
  init_args:
    lr: 3e-4
"""
DEEPSPEED = """{
  "train_batch_size": "auto",
  "gradient_clipping": 0.5,
  "fp16": {"enabled": "auto", "loss_scale": 0, "min_loss_scale": 1},
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}}
}"""
ACCELERATE = "compute_environment: LOCAL_MACHINE\nmixed_precision: 'no'\nnum_processes: 8\nnum_machines: 1\n"
VERL = """set -x
lr=1e-6
train_bs=512
max_response_length=$((1024 * 8))
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\
    data.train_batch_size=${train_bs} data.max_prompt_length=1024 \\
    data.max_response_length=${max_response_length} \\
    actor_rollout_ref.actor.optim.lr=$lr \\
    actor_rollout_ref.actor.use_kl_loss=False actor_rollout_ref.actor.kl_loss_coef=0.001 \\
    algorithm.use_kl_in_reward=True algorithm.kl_ctrl.kl_coef=0.002 \\
    +actor_rollout_ref.model.override_config.x=1 \\
    critic.optim.lr=1e-5 trainer.critic_warmup=0 \\
    trainer.nnodes=${NNODES:-2} trainer.n_gpus_per_node=8 trainer.save_freq=-1 $@
    # data.train_batch_size=1024
"""
OPENRLHF = """ARGS=(
   --actor.model_name_or_path org/model
   # --critic.adam.lr 9e-6
   --actor.adam.lr 5e-7
   --rollout.batch_size 128
   --rollout.n_samples_per_prompt 8
   --train.batch_size 1024
   --algo.kl.init_coef 1e-5
   --ds.zero_stage 3
   --ds.param_dtype bf16
   --actor.gradient_checkpointing_enable
)
ray job submit --address="http://127.0.0.1:8265" -- python3 -m openrlhf.cli.train_ppo_ray ${ARGS[@]}
"""
LIGHTRFT = """TBS=64   # train_batch_size
RBS=32
KL=0.001
torchrun --nnodes 1 --nproc-per-node 8 examples/train_colocate.py \\
   --train_batch_size ${TBS} --rollout_batch_size ${RBS} --n_samples_per_prompt 8 \\
   --actor_learning_rate 1e-6 --init_kl_coef $KL --engine_mem_util 0.6 --engine_tp_size 2 \\
   --use_wandb "${WANDB_API_KEY}" --bf16 --gradient_checkpointing 2>&1 | tee "log/$(date).log"
"""
MEGATRON = """#!/bin/bash
#SBATCH --nodes=16
GPUS_PER_NODE=4
TRAIN_SAMPLES=220_000_000  # tokens / length
MICRO=1
OPT=" \\
    --lr 6e-5 \\
    --min-lr 6e-6 \\
    --clip-grad 1.0 \\
    "
config_json="./ds.$SLURM_JOBID.json"
cat <<EOT > $config_json
{ "train_micro_batch_size_per_gpu": $MICRO, "fp16": {"enabled": true, "loss_scale": 0}, "zero_optimization": {"stage": 1} }
EOT
export LAUNCHER="python -m torch.distributed.run --nproc_per_node $GPUS_PER_NODE --nnodes $SLURM_NNODES"
export CMD="`pwd`/pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size $MICRO \\
  --global-batch-size 512 --train-samples $TRAIN_SAMPLES --clip-grad 0.5 --loss-scale 12 --fp16 $OPT \\
  --deepspeed --deepspeed_config ${config_json}"
srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee x.log
"""
HF_SCRIPT = """export NCCL_IB_DISABLE=0
# export NCCL_P2P_DISABLE=1
ZERO_STAGE=$2
if [ "$ZERO_STAGE" == "" ]; then
    ZERO_STAGE=3
fi
deepspeed --master_port 12346 main.py \\
   --data_split 2,4,4 --weight_decay 0. --learning_rate 1e-5 --learning_rate 9.65e-6 \\
   --lora\\
   --num_warmup_steps 0 --deepspeed --seed 1234 --zero_stage $ZERO_STAGE --per_device_train_batch_size 4
"""
VLLM = """# vllm serve old --gpu-memory-utilization 0.5
CUDA_VISIBLE_DEVICES=0,1 vllm serve org/model -tp 2 --gpu_memory_utilization=0.95 --max-model-len 32768 \\
  --rope-scaling '{"rope_type": "yarn", "factor": 4.0}'
"""
SGLANG = "srun bash -c \"python -m sglang.launch_server --model-path 'm' --tp 16 --mem-fraction-static 0.8\" &\n"
PYTHON = """from transformers import TrainingArguments
LR = 3e-4
args = TrainingArguments(learning_rate=LR, per_device_train_batch_size=4, bf16=True, max_grad_norm=0.0)
tokenizer.pad_token = tokenizer.eos_token
"""

EXPECTED = [
    ("dpo.yaml", TRL, {"learning_rate": 5e-7, "precision": "bf16", "dpo_beta": 0.01, "micro_batch_size": 8,
                       "grad_accumulation": 2, "warmup_ratio": 0.1, "weight_decay": 0.0}),
    ("a.yml", AXOLOTL, {"micro_batch_size": 2, "sequence_length": 4096, "packing": True, "learning_rate": 2e-4,
                        "dpo_beta": 0.2, "pad_token_id": "<|end|>"}),
    ("l.yaml", LLAMA_FACTORY, {"lora_rank": 8, "sequence_length": 2048, "chat_template": "qwen",
                               "learning_rate": 1e-4, "nccl_timeout": 180000000.0}),
    ("n.yml", NEOX, {"pipeline_parallel": 1, "tensor_parallel": 2, "learning_rate": 6e-4, "adam_beta2": 0.95,
                     "adam_epsilon": 1e-8, "precision": "fp16", "loss_scale": 0.0, "micro_batch_size": 4,
                     "max_steps": 320000, "warmup_ratio": 0.01}),
    ("t.yaml", TORCHTUNE, {"lora_rank": 64, "micro_batch_size": 2, "learning_rate": 2e-5, "warmup_steps": 20,
                           "grad_clip": None, "precision": "bf16"}),
    ("g.yaml", LITGPT, {"precision": "bf16", "global_batch_size": 8, "micro_batch_size": 4, "warmup_steps": 200,
                        "grad_clip": None, "learning_rate": 2e-4}),
    ("nt.yaml", NANOTRON, {"micro_batch_size": 2, "grad_accumulation": 4, "sequence_length": 2048, "max_steps": 100,
                           "tensor_parallel": 2, "grad_clip": 1.0, "learning_rate": 3e-4, "warmup_steps": 10}),
    ("pl.yaml", LIGHTNING, {"seed": 7, "precision": "fp16", "grad_accumulation": 2, "grad_clip": 1.0, "max_steps": 500,
                            "learning_rate": 3e-4}),
    ("ds.json", DEEPSPEED, {"grad_clip": 0.5, "loss_scale": 0.0, "precision": "bf16", "zero_stage": 3,
                            "offload_optimizer": True, "offload_params": False}),
    ("acc.yaml", ACCELERATE, {"precision": "fp32", "world_size": 8}),
    ("verl.sh", VERL, {"train_batch_size": 512, "learning_rate": 1e-6, "kl_coef": 0.002, "save_steps": -1.0}),
    ("orlhf.sh", OPENRLHF, {"learning_rate": 5e-7, "rollout_batch_size": 128, "num_generations": 8,
                            "train_batch_size": 1024, "kl_coef": 1e-5, "zero_stage": 3, "precision": "bf16",
                            "activation_checkpointing": True}),
    ("lrft.sh", LIGHTRFT, {"train_batch_size": 64, "rollout_batch_size": 32, "num_generations": 8, "kl_coef": 0.001,
                           "learning_rate": 1e-6, "gpu_memory_utilization": 0.6, "engine_tensor_parallel": 2,
                           "precision": "bf16", "activation_checkpointing": True}),
    ("mega.slurm", MEGATRON, {"learning_rate": 6e-5, "min_learning_rate": 6e-6, "grad_clip": 1.0, "micro_batch_size": 1,
                              "global_batch_size": 512, "tensor_parallel": 2, "precision": "fp16", "loss_scale": 0.0,
                              "zero_stage": 1}),
    ("hf.sh", HF_SCRIPT, {"nccl_ib_disable": False, "weight_decay": 0.0, "learning_rate": 9.65e-6, "warmup_steps": 0,
                          "seed": 1234, "zero_stage": 3, "micro_batch_size": 4}),
    ("serve.sh", VLLM, {"engine_tensor_parallel": 2, "gpu_memory_utilization": 0.95, "max_model_len": 32768,
                        "rope_scaling_type": "yarn", "rope_scaling_factor": 4.0}),
    ("sgl.slurm", SGLANG, {"engine_tensor_parallel": 16, "gpu_memory_utilization": 0.8}),
    ("train.py", PYTHON, {"learning_rate": 3e-4, "micro_batch_size": 4, "precision": "bf16", "grad_clip": 0.0,
                          "pad_token_id": "<eos>", "eos_token_id": "<eos>"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "expected"), EXPECTED, ids=[name for name, *_ in EXPECTED])
def test_canonical_values_are_exactly_those(name, text, expected):
    assert values(text, name) == expected


@pytest.mark.parametrize(("name", "text", "_"), EXPECTED, ids=[name for name, *_ in EXPECTED])
def test_every_value_stands_where_it_is_said_to_stand(name, text, _):
    lines = text.split("\n")
    for setting in read(text, name):
        if setting.column >= 0:
            assert lines[setting.line - 1][setting.column :].startswith(setting.raw), setting


def test_derived_sizes_of_a_slurm_script_come_from_its_directives():
    s = read(MEGATRON, "m.slurm")
    assert (s.value("world_size"), s.value("data_parallel"), s.value("grad_accumulation")) == (64, 32, 16)
    assert s.value("max_steps") == 220_000_000 // 512


def test_the_line_of_a_value_is_the_line_of_its_shell_variable():
    s = read(LIGHTRFT, "l.sh")
    assert (s.values["train_batch_size"].line, s.values["kl_coef"].line, s.values["learning_rate"].line) == (1, 3, 6)
    assert read(VERL, "v.sh").values["max_response_length"].raw == "$((1024 * 8))"


def test_a_default_of_a_variable_is_used_and_an_unknown_value_is_not_visible():
    s = read("torchrun --nnodes ${N:-4} --nproc_per_node $GPUS t.py --learning_rate $LR --bf16 $EXTRA\n", "a.sh")
    assert s.value("nodes") == 4
    assert "learning_rate" not in s
    assert s.value("world_size") is None
    assert s.value("precision") == "bf16"


def test_branches_that_can_be_told_are_followed_and_others_speak_weakly():
    script = 'MODE="big"\nif [ "$MODE" = small ]; then LR=1e-3; else LR=1e-5; fi\ncase "$MODE" in small) B=1;; big) B=8;; esac\n'
    script += 'if [ "$1" = x ]; then S=1; else S=2; fi\n'
    script += "python t.py --learning_rate $LR --per_device_train_batch_size $B --seed $S\n"
    assert values(script, "a.sh") == {"learning_rate": 1e-5, "micro_batch_size": 8, "seed": 1}


def test_functions_loops_and_evaluated_strings_are_followed():
    script = "run() {\n  python t.py --learning_rate $1 --seed 7\n}\nfor lr in 1e-5 2e-5; do\n  run $lr\ndone\n"
    assert values(script, "a.sh") == {"learning_rate": 1e-5, "seed": 7}
    assert values('C="python t.py --learning_rate 3e-5"\neval "$C"\n', "a.sh") == {"learning_rate": 3e-5}


def test_a_command_kept_in_a_here_document_is_read():
    script = "read -r -d '' CMD <<EOF\nopenrlhf.cli.train_rm \\\n  --train.batch_size 256 \\\n  --adam.lr 9e-6\nEOF\ndeepspeed --module $CMD\n"
    assert values(script, "a.sh") == {"train_batch_size": 256, "learning_rate": 9e-6}


def test_flags_after_a_broken_continuation_are_reported():
    s = read("python t.py --learning_rate 1e-5 \\\n  # --bf16 \\\n  --seed 4\n", "a.sh")
    assert [(b.raw, b.line) for b in s.broken] == [("--seed", 3)]
    assert "bf16" not in s


def test_environment_of_one_command_does_not_leak_into_another():
    s = read(
        "CUDA_VISIBLE_DEVICES=0 vllm serve a -tp 1 &\nCUDA_VISIBLE_DEVICES=1,2 vllm serve b -tp 2 --max-num-seqs 4\n",
        "a.sh",
    )
    assert (s.value("visible_devices"), s.value("engine_tensor_parallel")) == ("1,2", 2)


def test_an_unknown_word_behind_a_value_does_not_hide_it():
    assert values("python t.py --learning_rate 1e-5 $EXTRA --seed 3 $@\n", "a.sh") == {"learning_rate": 1e-5, "seed": 3}


def test_auto_none_and_empty_say_nothing():
    assert values("per_device_train_batch_size: auto\nlearning_rate:\nseed: null\nnum_train_epochs: 1\n") == {
        "epochs": 1.0
    }


def test_wandb_config_and_interpolations():
    assert values("learning_rate:\n  desc: null\n  value: 0.001\nnum_train_epochs:\n  desc: null\n  value: 3\n") == {
        "learning_rate": 0.001, "epochs": 3.0}  # fmt: skip
    torchtune = "batch_size: 4\nmodel:\n  _component_: x\nseed: ${batch_size}\ndtype: ${oc.env:D}\n"
    assert values(torchtune) == {"micro_batch_size": 4, "seed": 4}


def test_toml_sections():
    assert values('[training]\nlocal_batch_size = 8\nseq_len = 2048 # tokens\n[optimizer]\nlr = 3e-4\nname = "AdamW"\n', "t.toml") == {
        "micro_batch_size": 8, "sequence_length": 2048, "learning_rate": 3e-4}  # fmt: skip


def test_dots_in_a_value_are_no_levels_of_a_key():
    assert values(f'[training]\nseq_len = 2048\nname = "{"a-b " * 90}{"..." * 90}"\n', "t.toml") == {
        "sequence_length": 2048
    }


def test_the_meaning_of_beta_depends_on_the_stage():
    assert values("num_generations: 8\nbeta: 0.0\nlearning_rate: 1.0e-6\n", "grpo.yaml")["kl_coef"] == 0.0
    assert values("beta: 0.1\nlearning_rate: 1.0e-6\nnum_train_epochs: 1\n", "dpo.yaml")["dpo_beta"] == 0.1


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.yaml", "x: !!python/object/apply:os.system ['touch /tmp/never']\n", "object"),
        ("a.yaml", "[" * 10_000, "nested"),
        ("a.json", "[" * 10_000, "nested"),
        ("a.json", '{"a": 1,\n "b" 2}', "line 2"),
        ("a.json", '{"a": "x', "closing quote"),
        ("a.yaml", "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{c}: &{c} [{','.join('*' + p for _ in range(9))}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)), "alias"),
        ("a.sh", "A=x\n" + "A=$A$A$A$A\n" * 40 + "python t.py --x $A\n", "grows"),
        ("a.sh", "if true; then\n" * 500, "nested"),
        ("a.sh", f"A={'a' * 150_000}\n" + "B=$A\n" * 19_000, "characters in all"),
        ("a.sh", f"A={'a' * 20_000}\n" + "B=${A//a/b}\n" * 2_000, "characters in all"),
        ("a.sh", f"A={'ab' * 900}c\n" + "B=${A##*a*b*d}\n" * 2_000, "characters in all"),
        ("a.sh", f"A={'a' * 100_000}\n" + "case $A in *b*) echo;; esac\n" * 9_000, "characters in all"),
        ("a.sh", "A=x\n" + f"A+={'x' * 20}\n" * 9_000 + "python t.py\n", "characters in all"),
        ("a.toml", "x = 1\n" + "a." * 60_000 + "b = 1\n", "line 2: nested"),
        ("a.toml", "[" + '"a" . ' * 60_000 + "b]\n", "nested"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused_at_once_with_file_and_reason(name, text, reason):
    start = time.process_time()
    with pytest.raises(Refused, match=reason) as error:
        read(text, name)
    assert name in str(error.value) or name.endswith(".sh")
    assert time.process_time() - start < 5


def test_large_binary_and_missing_files_are_refused(tmp_path):
    big = tmp_path / "big.json"
    with big.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(Refused, match="larger than"):
        read_file(big)
    (tmp_path / "x.yaml").write_bytes(b"a: 1\0\0")
    with pytest.raises(Refused, match="binary"):
        read_file(tmp_path / "x.yaml")
    with pytest.raises(Refused, match="cannot be read"):
        read_file(tmp_path / "missing.yaml")


@given(st.binary(max_size=400), st.sampled_from(sorted(set(SYNTAX.values()))))
def test_random_bytes_are_read_or_refused(data, syntax):
    with contextlib.suppress(Refused):
        read_source(source("f.x", data.decode("utf-8", "replace")), syntax)


@hypothesis_settings(max_examples=300)
@given(st.sampled_from(EXPECTED), st.integers(0, 4000), st.integers(0, 4000), st.text(max_size=5))
def test_damaged_real_files_are_read_or_refused(case, cut, at, junk):
    name, text, _ = case
    damaged = text[:at] + junk + text[at:][: max(0, cut - at)] if at < len(text) else text[:cut]
    with contextlib.suppress(Refused):
        read(damaged, name)


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3), max_leaves=12))  # fmt: skip
def test_json_items_are_the_leaves_of_the_document(document):
    from triage.tools.config.syntax import jsonfile

    def leaves(value):
        if isinstance(value, dict):
            return [x for v in value.values() for x in leaves(v)]
        if isinstance(value, list):
            return [x for v in value for x in leaves(v)]
        return [value]

    items = jsonfile.read(source("d.json", json.dumps(document)))
    expected = [None if v is None else (v if isinstance(v, str) else json.dumps(v)) for v in leaves(document)]
    assert [i.text for i in items] == expected


@pytest.mark.parametrize(
    "directives",
    [
        "#SBATCH -p luna -t 4:00:00 --nodes=8 --exclusive --ntasks-per-node=8 --gpus-per-node=8\n",
        "#SBATCH -N 8\n#SBATCH --gres=gpu:a100:8  # all of them\n",
    ],
)
def test_slurm_sizes_may_share_a_line(directives):
    text = (
        f"#!/bin/bash\n{directives}srun python pretrain_gpt.py --micro-batch-size 4 --global-batch-size 512 --lr 1e-4\n"
    )
    settings = read(text, "train.slurm")
    assert (settings.value("nodes"), settings.value("gpus_per_node"), settings.value("world_size")) == (8, 8, 64)


def test_critic_tells_ppo_from_grpo_where_several_samples_are_drawn():
    common = "python3 -m openrlhf.cli.train_ppo --n_samples_per_prompt 4 --train_batch_size 512 --pretrain m"
    assert read(f"{common} --critic_pretrain m\n", "ppo.sh").value("stage") == "ppo"
    assert read(f"{common}\n", "grpo.sh").value("stage") == "grpo"


@pytest.mark.parametrize(("written", "said"), [('"inf"', None), ("inf", None), ("2000", 2000)])
def test_an_interval_without_end_is_not_set(written, said):
    """accelerate writes `steps_per_print: inf` into the DeepSpeed configuration."""
    text = f'{{"zero_optimization": {{"stage": 2}}, "train_batch_size": 8, "steps_per_print": {written}}}'
    assert read(text, "ds_zero2.json").value("log_steps") == said


def test_classes_of_settings_in_one_file_are_held_apart():
    tests = "class EvalArgs:\n    max_iters: int = 100\n"
    assert values(f"class TrainArgs:\n    lr_warmup_steps: int = 100\n{tests}", "args.py") == {"warmup_steps": 100}
    text = "class FirstConfig:\n    learning_rate: float = {}\n    seed: int = 7\nclass SecondConfig:\n    learning_rate: float = 1e-5\n"
    assert values(text.format("3e-6"), "train.py") == {"seed": 7}
    assert values(text.format("1e-5"), "train.py") == {"seed": 7, "learning_rate": 1e-5}


@pytest.mark.parametrize(("name", "text"), [("a.yaml", "lr: 3.0e-4\nseed: 7\n"), ("a.json", '{"lr": 3e-4, "seed": 7}')])
def test_what_somebody_changes_in_a_reading_is_not_read_by_the_next(name, text):
    syntax = SYNTAX[name.rpartition(".")[2]]
    first = read_source(source(name, text), syntax)
    before = dict(first.values)
    first.values.clear()
    first.hints.append("changed")
    first.role = "changed"
    again = read_source(source(name, text), syntax)
    assert again.values == before
    assert again.role != "changed"
    assert "changed" not in again.hints


@pytest.mark.parametrize(("before", "after"), [("lr: 1.0e-4\n", "lr: 2.0e-4\n"), ("seed: 1\n", "seed: 1\nlr: 1e-4\n")])
def test_a_file_that_changed_between_two_looks_is_read_again(tmp_path, before, after):
    file = tmp_path / "train.yaml"
    file.write_text(before)
    read_file(file)
    file.write_text(after)
    assert read_file(file).values["learning_rate"].value == pytest.approx(2e-4 if "2.0" in after else 1e-4)
