"""Every framework's own file or launch script, rewritten in small: which it is, what it sets, on which line."""

# ruff: noqa: E501  (rows of a table)

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from making import fill

from triage.tools.config.combine import read_settings
from triage.tools.config.read import read_source, syntax_of
from triage.tools.config.syntax.source import Refused, source
from triage.tools.discover import discover
from triage.tools.settings import VARIABLES

TITAN_PY = """from torchtitan.trainer import Trainer


def moe_16b() -> Trainer.Config:
    return Trainer.Config(
        optimizer=OptimizersContainer.Config(lr=2.2e-4),
        lr_scheduler=LRSchedulersContainer.Config(warmup_steps=200, decay_ratio=0.8),
        training=TrainingConfig(local_batch_size=4, seq_len=4096, steps=1000),
        parallelism=ParallelismConfig(tensor_parallel_degree=2),
        checkpoint=CheckpointManager.Config(interval=250),
        validator=Validator.Config(freq=500, steps=1200),
    )
"""
TITAN_TWO = (
    TITAN_PY
    + """

def dense_8b() -> Trainer.Config:
    return Trainer.Config(
        optimizer=OptimizersContainer.Config(lr=3e-4),
        training=TrainingConfig(local_batch_size=1, seq_len=4096, steps=3000),
    )
"""
)
BRIDGE_PY = """def pretrain_config() -> ConfigContainer:
    return ConfigContainer(
        model=provider,
        train=TrainingConfig(train_iters=1000, global_batch_size=512, micro_batch_size=2, eval_interval=200),
        optimizer=OptimizerConfig(optimizer="adam", lr=3e-4, min_lr=3e-5, weight_decay=0.1, clip_grad=1.0, bf16=True),
        scheduler=SchedulerConfig(lr_decay_style="cosine", lr_warmup_iters=100),
        dataset=GPTDatasetConfig(random_seed=1234, sequence_length=4096, num_workers=8),
        checkpoint=CheckpointConfig(save_interval=500),
    )
"""
NEMO2_PY = """from nemo.collections import llm

recipe = llm.llama3_8b.pretrain_recipe(name="x", num_nodes=2, num_gpus_per_node=8)
recipe.trainer.max_steps = 2000
recipe.trainer.strategy.tensor_model_parallel_size = 2
recipe.trainer.strategy.context_parallel_size = 2
recipe.data.global_batch_size = 128
recipe.data.micro_batch_size = 1
recipe.data.seq_length = 8192
recipe.optim.config.lr = 3e-4
recipe.optim.lr_scheduler.warmup_steps = 50
"""
XTUNER_PY = """from mmengine.optim import AmpOptimWrapper
pretrained_model_name_or_path = 'org/base-7b'
max_length = 2048
pack_to_max_length = True
batch_size = 1  # per device
accumulative_counts = 16
dataloader_num_workers = 0
max_epochs = 3
lr = 2e-4
betas = (0.9, 0.999)
weight_decay = 0.1
max_norm = 1  # clipping
warmup_ratio = 0.03
save_steps = 500
save_total_limit = 2
model = dict(
    type=SupervisedFinetune,
    llm=dict(torch_dtype=torch.float16, quantization_config=dict(load_in_4bit=True)),
    lora=dict(type=LoraConfig, r=64, lora_alpha=16))
train_dataloader = dict(batch_size=batch_size, num_workers=dataloader_num_workers)
optim_wrapper = dict(
    type=AmpOptimWrapper,
    optimizer=dict(type=AdamW, lr=lr, betas=betas, weight_decay=weight_decay),
    clip_grad=dict(max_norm=max_norm, error_if_nonfinite=False),
    accumulative_counts=accumulative_counts,
    loss_scale='dynamic',
    dtype='bfloat16')
default_hooks = dict(logger=dict(type=LoggerHook, interval=10))
"""
XTUNER1_PY = """from xtuner.v1.train import TrainerConfig
trainer = TrainerConfig(
    load_from="org/m",
    model_cfg=Qwen3Dense8BConfig(),
    optim_cfg=AdamWConfig(lr=6e-5, weight_decay=0.1, foreach=False),
    lr_cfg=LRConfig(lr_type="cosine", warmup_ratio=0.05, lr_min=1e-6),
    fsdp_cfg=FSDPConfig(tp_size=2, recompute_ratio=1.0),
    dataloader_cfg=DataloaderConfig(pack_max_length=32768, num_workers=4),
    global_batch_size=64,
    total_epoch=2,
    seed=7,
)
"""
UNSLOTH_PY = """from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
max_seq_length = 2048
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/x-bnb-4bit", max_seq_length=max_seq_length, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(
    model, r=16, lora_alpha=32, lora_dropout=0, use_gradient_checkpointing="unsloth", random_state=3407)
trainer = SFTTrainer(
    model=model,
    dataset_num_proc=2,
    packing=False,
    args=SFTConfig(
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        warmup_steps=5,
        max_steps=60,
        learning_rate=2e-4,
        optim="adamw_8bit",
        weight_decay=0.01,
        lr_scheduler_type="linear",
        seed=3407,
    ),
)
"""
CELLS = ["%%capture\n!pip install unsloth\n", "x = 1 +\n", UNSLOTH_PY]
NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "code", "source": c.splitlines(keepends=True), "outputs": []} for c in CELLS]}, indent=1
)
UNSLOTH = {"sequence_length": 2048, "lora_rank": 16, "lora_alpha": 32.0, "packing": False, "micro_batch_size": 2,
           "grad_accumulation": 4, "warmup_steps": 5, "max_steps": 60, "learning_rate": 2e-4, "weight_decay": 0.01,
           "lr_schedule": "linear", "seed": 3407, "activation_checkpointing": True}  # fmt: skip

ROWS = [
("torchtitan.toml", "torchtitan", """[job]
description = "pretrain"
[metrics]
log_freq = 10
[model]
name = "llama3"
flavor = "8B"
[optimizer]
name = "AdamW"
lr = 3e-4
eps = 1e-8
[lr_scheduler]
warmup_steps = 200  # linear
decay_ratio = 0.8
min_lr_factor = 0.1
[training]
local_batch_size = 1
global_batch_size = 128
seq_len = 8192
max_norm = 1.0  # clipping
steps = 1000
mixed_precision_param = "bfloat16"
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 1
context_parallel_degree = 1
[checkpoint]
interval = 500
[activation_checkpoint]
mode = "selective"
""", {"learning_rate": 3e-4, "adam_epsilon": 1e-8, "warmup_steps": 200, "micro_batch_size": 1, "global_batch_size": 128,
      "sequence_length": 8192, "grad_clip": 1.0, "max_steps": 1000, "precision": "bf16", "tensor_parallel": 2,
      "pipeline_parallel": 1, "context_parallel": 1, "save_steps": 500.0, "activation_checkpointing": True,
      "min_learning_rate": 3e-5}),
("titan_registry.py", "torchtitan", TITAN_PY, {
    "learning_rate": 2.2e-4, "warmup_steps": 200, "micro_batch_size": 4, "sequence_length": 4096, "max_steps": 1000,
    "tensor_parallel": 2, "save_steps": 250.0}),
("titan_two_config.py", "torchtitan", TITAN_TWO, {
    "warmup_steps": 200, "sequence_length": 4096, "tensor_parallel": 2, "save_steps": 250.0}),
("titan.sh", "torchtitan", """NGPU=8
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d -m torchtitan.train --job.config_file ./llama3_8b.toml \\
  --training.steps 500 --optimizer.lr 1e-4 --parallelism.tensor_parallel_degree 4
""", {"max_steps": 500, "learning_rate": 1e-4, "tensor_parallel": 4}),
("nemo_gpt.yaml", "nemo", """name: megatron_gpt
trainer:
  devices: 8
  num_nodes: 2
  precision: bf16
  logger: False
  max_epochs: -1
  max_steps: 100000
  log_every_n_steps: 10
  val_check_interval: 100
  accumulate_grad_batches: 1
  gradient_clip_val: 1.0
exp_manager:
  explicit_log_dir: null
model:
  mcore_gpt: True
  micro_batch_size: 4
  global_batch_size: 256
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  encoder_seq_length: 2048
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 12
  hidden_size: 768
  num_attention_heads: 12
  init_method_std: 0.02
  layernorm_epsilon: 1e-5
  activations_checkpoint_granularity: selective
  seed: 1234
  data:
    num_workers: 2
  optim:
    name: fused_adam
    lr: 2e-4
    weight_decay: 0.01
    betas:
    - 0.9
    - 0.98
    sched:
      name: CosineAnnealing
      warmup_steps: 500
      constant_steps: 50000
      min_lr: 2e-5
""", {"precision": "bf16", "max_steps": 100000, "grad_clip": 1.0, "micro_batch_size": 4,
      "global_batch_size": 256, "tensor_parallel": 2, "pipeline_parallel": 1, "sequence_length": 2048, "init_std": 0.02,
      "norm_epsilon": 1e-5, "activation_checkpointing": True, "seed": 1234, "num_workers": 2, "learning_rate": 2e-4,
      "weight_decay": 0.01, "adam_beta2": 0.98, "lr_schedule": "CosineAnnealing", "warmup_steps": 500,
      "min_learning_rate": 2e-5}),
("nemo_sft.sh", "nemo", """TP=4
torchrun --nproc_per_node=8 /opt/NeMo/examples/nlp/language_modeling/tuning/megatron_gpt_finetuning.py \\
  trainer.devices=8 trainer.num_nodes=1 trainer.precision=bf16 trainer.max_steps=200 ++trainer.gradient_clip_val=1.0 \\
  model.restore_from_path=m.nemo model.micro_batch_size=1 model.global_batch_size=128 \\
  model.tensor_model_parallel_size=${TP} model.optim.lr=5e-6 model.optim.sched.warmup_steps=10 \\
  model.peft.peft_scheme=lora model.peft.lora_tuning.adapter_dim=32 model.data.train_ds.max_seq_length=2048 \\
  exp_manager.exp_dir=/results
""", {"precision": "bf16", "max_steps": 200, "grad_clip": 1.0, "micro_batch_size": 1, "global_batch_size": 128,
      "tensor_parallel": 4, "learning_rate": 5e-6, "warmup_steps": 10, "lora_rank": 32, "sequence_length": 2048}),
("nemo2_config.py", "nemo", NEMO2_PY, {
    "max_steps": 2000, "tensor_parallel": 2, "context_parallel": 2, "global_batch_size": 128, "micro_batch_size": 1,
    "sequence_length": 8192, "learning_rate": 3e-4, "warmup_steps": 50}),
("bridge.yaml", "megatron-bridge", """model:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  seq_length: 4096
train:
  train_iters: 1000
  global_batch_size: 256
  micro_batch_size: 2
  eval_interval: 200
optimizer:
  lr: 0.0003
  min_lr: 0.00003
  weight_decay: 0.1
  adam_beta2: 0.95
  adam_eps: 1.0e-8
  clip_grad: 1.0
scheduler:
  lr_decay_style: cosine
  lr_warmup_iters: 100
dataset:
  sequence_length: 4096
checkpoint:
  save_interval: 500
mixed_precision: bf16_mixed
""", {"tensor_parallel": 2, "pipeline_parallel": 1, "sequence_length": 4096, "max_steps": 1000,
      "global_batch_size": 256, "micro_batch_size": 2, "learning_rate": 3e-4, "min_learning_rate": 3e-5,
      "weight_decay": 0.1, "adam_beta2": 0.95, "adam_epsilon": 1e-8, "grad_clip": 1.0, "lr_schedule": "cosine",
      "warmup_steps": 100, "save_steps": 500.0, "precision": "bf16"}),
("bridge_recipe_config.py", "megatron-bridge", BRIDGE_PY, {
    "max_steps": 1000, "global_batch_size": 512, "micro_batch_size": 2, "learning_rate": 3e-4, "min_learning_rate": 3e-5,
    "weight_decay": 0.1, "grad_clip": 1.0, "precision": "bf16", "lr_schedule": "cosine", "warmup_steps": 100,
    "seed": 1234, "sequence_length": 4096, "num_workers": 8, "save_steps": 500.0}),
("automodel.yaml", "nemo-automodel", """step_scheduler:
  global_batch_size: 64
  local_batch_size: 8
  ckpt_every_steps: 1000
  num_epochs: 2
rng:
  seed: 1111
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: org/model-1b
distributed:
  tp_size: 2
  cp_size: 1
  sequence_parallel: false
peft:
  _target_: nemo_automodel.components._peft.lora.PeftConfig
  dim: 8
  alpha: 32
optimizer:
  _target_: torch.optim.Adam
  betas: [0.9, 0.999]
  eps: 1e-8
  lr: 1.0e-5
  weight_decay: 0
clip_grad_norm:
  max_norm: 1.0
lr_scheduler:
  lr_decay_style: cosine
  lr_warmup_steps: 50
  min_lr: 1.0e-6
""", {"global_batch_size": 64, "micro_batch_size": 8, "save_steps": 1000.0, "epochs": 2.0, "seed": 1111,
      "tensor_parallel": 2, "context_parallel": 1, "lora_rank": 8, "lora_alpha": 32.0, "adam_beta2": 0.999,
      "adam_epsilon": 1e-8, "learning_rate": 1e-5, "weight_decay": 0.0, "grad_clip": 1.0, "lr_schedule": "cosine",
      "warmup_steps": 50, "min_learning_rate": 1e-6}),
("nemorl_grpo.yaml", "nemo-rl", """grpo:
  num_prompts_per_step: 32
  num_generations_per_prompt: 16
  max_num_epochs: 1
  max_num_steps: 1000
  normalize_rewards: true
  val_period: 10
  seed: 42
loss_fn:
  reference_policy_kl_penalty: 0.01
  ratio_clip_min: 0.2
checkpointing:
  save_period: 10
policy:
  model_name: "org/m"
  train_global_batch_size: 512
  train_micro_batch_size: 4
  logprob_batch_size: 4
  max_total_sequence_length: 1024
  precision: "bfloat16"
  dtensor_cfg:
    enabled: true
    cpu_offload: False
    activation_checkpointing: true
    tensor_parallel_size: 2
    context_parallel_size: 1
  megatron_cfg:
    enabled: false
    tensor_model_parallel_size: 8
    optimizer:
      lr: 9.0e-2
      clip_grad: 0
    scheduler:
      lr_warmup_iters: 13
  max_grad_norm: 1.0
  optimizer:
    name: "torch.optim.AdamW"
    kwargs:
      lr: 5.0e-6
      weight_decay: 0.01
      betas: [0.9, 0.999]
      eps: 1e-8
  generation:
    backend: "vllm"
    max_new_tokens: ${policy.max_total_sequence_length}
    temperature: 1.0
    vllm_cfg:
      tensor_parallel_size: 1
      gpu_memory_utilization: 0.6
      max_model_len: ${policy.max_total_sequence_length}
cluster:
  gpus_per_node: 8
  num_nodes: 1
""", {"rollout_batch_size": 32, "num_generations": 16, "epochs": 1.0, "max_steps": 1000, "seed": 42, "kl_coef": 0.01,
      "save_steps": 10.0, "global_batch_size": 512, "micro_batch_size": 4, "sequence_length": 1024,
      "precision": "bf16", "offload_params": False, "activation_checkpointing": True, "tensor_parallel": 2,
      "context_parallel": 1, "grad_clip": 1.0, "learning_rate": 5e-6, "weight_decay": 0.01, "adam_beta2": 0.999,
      "adam_epsilon": 1e-8, "rollout_temperature": 1.0, "engine_tensor_parallel": 1, "gpu_memory_utilization": 0.6,
      "max_model_len": 1024, "advantage_normalization": True}),
("nemorl_dpo.yaml", "nemo-rl", """dpo:
  max_num_epochs: 1
  max_num_steps: 150
  val_global_batch_size: 8
  reference_policy_kl_penalty: 0.05
  preference_loss_weight: 1
policy:
  train_global_batch_size: 128
  train_micro_batch_size: 2
  max_total_sequence_length: 1024
  precision: "bfloat16"
  dtensor_cfg:
    enabled: false
    tensor_parallel_size: 1
  megatron_cfg:
    enabled: true
    tensor_model_parallel_size: 2
    optimizer:
      optimizer: "adam"
      lr: 5.0e-6
      min_lr: 5.0e-7
      weight_decay: 0.1
      clip_grad: 1.0
    scheduler:
      lr_warmup_iters: 10
""", {"epochs": 1.0, "max_steps": 150, "dpo_beta": 0.05, "global_batch_size": 128, "micro_batch_size": 2,
      "sequence_length": 1024, "precision": "bf16", "tensor_parallel": 2, "learning_rate": 5e-6,
      "min_learning_rate": 5e-7, "weight_decay": 0.1, "grad_clip": 1.0, "warmup_steps": 10}),
("slime.sh", "slime", """ROLLOUT_ARGS=(
   --prompt-data d.jsonl
   --num-rollout 3000
   --rollout-batch-size 32
   --n-samples-per-prompt 8
   --rollout-max-response-len 8192
   --rollout-temperature 0.8
   --global-batch-size 256
)
EVAL_ARGS=(
   --eval-interval 20
   --n-samples-per-eval-prompt 16
   --eval-max-response-len 16384
)
PERF_ARGS=(
   --tensor-model-parallel-size 2
   --recompute-granularity full
   --use-dynamic-batch-size
   --max-tokens-per-gpu 9216
)
GRPO_ARGS=(
   --advantage-estimator grpo
   --use-kl-loss
   --kl-loss-coef 0.001
)
OPTIMIZER_ARGS=(
   --optimizer adam
   --lr 1e-6
   --lr-decay-style constant
   --weight-decay 0.1
   --adam-beta2 0.98
)
ray job submit --address="http://127.0.0.1:8265" -- python3 train.py \\
   --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate \\
   --hf-checkpoint org/m --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7 \\
   ${ROLLOUT_ARGS[@]} ${EVAL_ARGS[@]} ${PERF_ARGS[@]} ${GRPO_ARGS[@]} ${OPTIMIZER_ARGS[@]}
""", {"rollout_batch_size": 32, "num_generations": 8, "rollout_temperature": 0.8, "global_batch_size": 256,
      "tensor_parallel": 2, "activation_checkpointing": True, "kl_coef": 0.001, "learning_rate": 1e-6,
      "lr_schedule": "constant", "weight_decay": 0.1, "adam_beta2": 0.98, "engine_tensor_parallel": 2,
      "gpu_memory_utilization": 0.7}),
("areal.yaml", "areal", """experiment_name: gsm8k-grpo
allocation_mode: sglang.d4p1t1+d4p1t1
cluster:
  n_nodes: 1
  n_gpus_per_node: 8
seed: 1
total_train_epochs: 10
rollout:
  max_concurrent_rollouts: 256
  max_head_offpolicyness: 4
gconfig:
  n_samples: 4
  max_new_tokens: 512
  temperature: 1.0
actor:
  path: org/m
  gradient_checkpointing: false
  dtype: bfloat16
  optimizer:
    type: adam
    lr: 1e-5
    weight_decay: 0.01
    beta2: 0.999
    eps: 1e-8
    lr_scheduler_type: constant
    gradient_clipping: 1.0
    warmup_steps_proportion: 0.001
  kl_ctl: 0.0
  eps_clip: 0.4
ref:
  path: ${actor.path}
  dtype: ${actor.dtype}
  optimizer: null
sglang:
  dtype: ${actor.dtype}
  context_length: 32768
  mem_fraction_static: 0.8
train_dataset:
  batch_size: 256
  pin_memory: true
  max_length: 1024
valid_dataset:
  batch_size: 64
saver:
  freq_epochs: 1
""", {"seed": 1, "epochs": 10.0, "num_generations": 4, "rollout_temperature": 1.0, "activation_checkpointing": False,
      "precision": "bf16", "learning_rate": 1e-5, "weight_decay": 0.01, "adam_beta2": 0.999, "adam_epsilon": 1e-8,
      "lr_schedule": "constant", "grad_clip": 1.0, "warmup_ratio": 0.001, "kl_coef": 0.0, "max_model_len": 32768,
      "gpu_memory_utilization": 0.8, "train_batch_size": 256, "pin_memory": True}),
("areal_dpo.yaml", "areal", """experiment_name: hh-dpo
total_train_epochs: 1
beta: 0.1
loss_type: sigmoid
cluster:
  n_nodes: 1
  n_gpus_per_node: 8
actor:
  backend: "fsdp:d8p1t1"
  path: org/base
  gradient_checkpointing: true
  dtype: bfloat16
  optimizer:
    lr: 5e-6
    lr_scheduler_type: cosine
    min_lr_ratio: 0.1
    gradient_clipping: 10.0
    warmup_steps_proportion: 0.1
train_dataset:
  batch_size: 64
  num_workers: 4
  type: dpo
  max_length: 2048
""", {"epochs": 1.0, "dpo_beta": 0.1, "activation_checkpointing": True, "precision": "bf16", "learning_rate": 5e-6,
      "lr_schedule": "cosine", "min_learning_rate": 5e-7, "grad_clip": 10.0, "warmup_ratio": 0.1,
      "num_workers": 4, "train_batch_size": 64}),
("roll.yaml", "roll", """exp_name: "rlvr"
seed: 42
num_gpus_per_node: 8
max_steps: 1000
save_steps: 100
logging_steps: 1
rollout_batch_size: 64
prompt_length: 2048
response_length: 1024
num_return_sequences_in_group: 8
ppo_epochs: 1
adv_estimator: "reinforce"
reward_clip: 10
whiten_advantages: true
init_kl_coef: 0.0
pretrain: org/m
validation:
  generating_args:
    temperature: 0.7
actor_train:
  model_args:
    dtype: bf16
    disable_gradient_checkpointing: false
  training_args:
    learning_rate: 1.0e-6
    weight_decay: 0.0
    per_device_train_batch_size: 1
    gradient_accumulation_steps: 32
    warmup_steps: 20
    num_train_epochs: 3
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      tensor_model_parallel_size: 2
      pipeline_model_parallel_size: 2
actor_infer:
  generating_args:
    max_new_tokens: ${response_length}
    temperature: 0.95
  strategy_args:
    strategy_name: vllm
    strategy_config:
      gpu_memory_utilization: 0.7
      max_model_len: 8000
reference:
  strategy_args:
    strategy_config:
      tensor_model_parallel_size: 1
""", {"seed": 42, "max_steps": 1000, "save_steps": 100.0, "rollout_batch_size": 64, "num_generations": 8,
      "reward_clip": 10.0, "advantage_normalization": True, "kl_coef": 0.0, "precision": "bf16",
      "learning_rate": 1e-6, "weight_decay": 0.0, "micro_batch_size": 1, "grad_accumulation": 32, "warmup_steps": 20,
      "epochs": 3.0, "tensor_parallel": 2, "pipeline_parallel": 2, "rollout_temperature": 0.95,
      "gpu_memory_utilization": 0.7, "max_model_len": 8000}),
("prime_rl.toml", "prime-rl", """max_steps = 200
seq_len = 2048

[model]
name = "org/m-sft"

[orchestrator]
batch_size = 128
rollouts_per_example = 16

[orchestrator.sampling]
max_tokens = 128
temperature = 1.0

[[orchestrator.env]]
id = "reverse-text"

[trainer.optim]
lr = 3e-6
weight_decay = 0.0
max_norm = 1.0

[inference]
gpu_memory_utilization = 0.8

[inference.parallel]
tp = 2
""", {"max_steps": 200, "sequence_length": 2048, "train_batch_size": 128, "num_generations": 16,
      "rollout_temperature": 1.0, "learning_rate": 3e-6, "weight_decay": 0.0, "grad_clip": 1.0,
      "gpu_memory_utilization": 0.8, "engine_tensor_parallel": 2}),
("prime_sft.toml", "prime-rl", """max_steps = 100

[ckpt]
interval = 50

[model]
name = "org/m"

[data]
seq_len = 4096
batch_size = 32

[optim]
lr = 2e-5

[scheduler]
type = "cosine"
warmup_steps = 10

[eval.sampling]
max_completion_tokens = 1024
""", {"max_steps": 100, "save_steps": 50.0, "sequence_length": 4096, "global_batch_size": 32, "learning_rate": 2e-5,
      "lr_schedule": "cosine", "warmup_steps": 10}),
("skyrl.sh", "skyrl", """: "${NUM_GPUS:=4}"
: "${INFERENCE_BACKEND:=vllm}"
uv run --isolated --extra fsdp -m skyrl.train.entrypoints.main_base \\
  data.train_data="['x/train.parquet']" \\
  trainer.algorithm.advantage_estimator="grpo" \\
  trainer.policy.model.path="org/m" \\
  trainer.placement.policy_num_gpus_per_node=$NUM_GPUS \\
  generator.inference_engine.num_engines=2 \\
  generator.inference_engine.tensor_parallel_size=2 \\
  trainer.epochs=20 \\
  trainer.eval_batch_size=1024 \\
  trainer.train_batch_size=1024 \\
  trainer.policy_mini_batch_size=256 \\
  trainer.micro_train_batch_size_per_gpu=64 \\
  trainer.ckpt_interval=10 \\
  trainer.max_prompt_length=512 \\
  generator.sampling_params.max_generate_length=1024 \\
  generator.sampling_params.temperature=0.9 \\
  trainer.policy.optimizer_config.lr=1.0e-6 \\
  trainer.policy.optimizer_config.max_grad_norm=1.0 \\
  trainer.algorithm.use_kl_loss=true trainer.algorithm.kl_loss_coef=0.001 \\
  generator.n_samples_per_prompt=5 \\
  generator.inference_engine.gpu_memory_utilization=0.8
""", {"engine_tensor_parallel": 2, "epochs": 20.0, "train_batch_size": 1024, "micro_batch_size": 64,
      "save_steps": 10.0, "rollout_temperature": 0.9, "learning_rate": 1e-6, "grad_clip": 1.0, "kl_coef": 0.001,
      "num_generations": 5, "gpu_memory_utilization": 0.8}),
("foundry.yaml", "llm-foundry", """variables:
  global_seed: 17
  max_seq_len: 2048
max_seq_len: ${variables.max_seq_len}
model:
  name: mpt_causal_lm
  d_model: 4096
  n_heads: 32
  n_layers: 32
  vocab_size: 50368
  attn_config:
    attn_impl: flash
train_loader:
  name: text
  drop_last: true
  num_workers: 8
eval_loader:
  name: text
  num_workers: 2
scheduler:
  name: cosine_with_warmup
  t_warmup: 100ba
  alpha_f: 0.1
optimizer:
  name: decoupled_adamw
  lr: 1.2e-4
  betas:
  - 0.9
  - 0.95
  eps: 1.0e-08
  weight_decay: 0.0
algorithms:
  gradient_clipping:
    clipping_type: norm
    clipping_threshold: 1.0
max_duration: 63900ba
eval_interval: 10000ba
global_train_batch_size: 1024
seed: ${variables.global_seed}
device_eval_batch_size: 16
device_train_microbatch_size: 8
precision: amp_bf16
fsdp_config:
  sharding_strategy: FULL_SHARD
  activation_checkpointing: true
save_interval: 500ba
""", {"sequence_length": 2048, "num_workers": 8, "lr_schedule": "cosine_with_warmup", "warmup_steps": 100,
      "learning_rate": 1.2e-4, "adam_beta2": 0.95, "adam_epsilon": 1e-8, "weight_decay": 0.0, "grad_clip": 1.0,
      "max_steps": 63900, "global_batch_size": 1024, "seed": 17, "micro_batch_size": 8, "precision": "bf16",
      "activation_checkpointing": True, "save_steps": 500.0, "min_learning_rate": 1.2e-5, "flash_attention": True}),
("mcloud.yaml", "llm-foundry", """command: |
  cd llm-foundry/scripts
  composer train/train.py /mnt/config/parameters.yaml
image: mosaicml/llm-foundry:latest
name: finetune
compute:
  gpus: 8
parameters:
  max_seq_len: 4096
  global_seed: 17
  scheduler:
    name: linear_decay_with_warmup
    t_warmup: 0.02dur
  optimizer:
    name: decoupled_lionw
    lr: 5.0e-7
  algorithms:
    gradient_clipping:
      clipping_threshold: 1.0
  max_duration: 2ep
  global_train_batch_size: 64
  seed: ${global_seed}
  device_train_microbatch_size: 8
  precision: amp_bf16
""", {"sequence_length": 4096, "lr_schedule": "linear_decay_with_warmup", "warmup_ratio": 0.02, "learning_rate": 5e-7,
      "grad_clip": 1.0, "epochs": 2.0, "global_batch_size": 64, "micro_batch_size": 8, "precision": "bf16", "seed": 17}),
("olmo.yaml", "olmo", """run_name: OLMo-7B
seed: 6198
model:
  d_model: 4096
  n_heads: 32
  n_layers: 32
  max_sequence_length: 2048
  flash_attention: true
  init_std: 0.02
optimizer:
  name: adamw
  learning_rate: 3.0e-4
  weight_decay: 0.1
  betas:
  - 0.9
  - 0.95
scheduler:
  name: linear_with_warmup
  t_warmup: 5000
  alpha_f: 0.1
max_duration: 2e12T
global_train_batch_size: 2160
device_train_microbatch_size: 2
precision: amp_bf16
max_grad_norm: 1.0
save_interval: 1000
data:
  num_workers: 16
  pin_memory: true
""", {"seed": 6198, "sequence_length": 2048, "flash_attention": True, "init_std": 0.02, "learning_rate": 3e-4,
      "weight_decay": 0.1, "adam_beta2": 0.95, "lr_schedule": "linear_with_warmup", "warmup_steps": 5000,
      "global_batch_size": 2160, "micro_batch_size": 2, "precision": "bf16", "grad_clip": 1.0, "save_steps": 1000.0,
      "num_workers": 16, "pin_memory": True, "min_learning_rate": 3e-5}),
("fairseq.sh", "fairseq", """MAX_TOKENS=4096
CUDA_VISIBLE_DEVICES=0,1 fairseq-train data-bin/x \\
    --arch transformer_lm --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 0.0 \\
    --lr 7e-4 --lr-scheduler inverse_sqrt --warmup-updates 4000 --weight-decay 0.01 --adam-eps 1e-9 \\
    --tokens-per-sample 512 --max-tokens $MAX_TOKENS --update-freq 16 --fp16 --max-update 50000 \\
    --seed 1 --save-interval-updates 1000 --num-workers 4 --log-interval 100
""", {"grad_clip": 0.0, "learning_rate": 7e-4, "lr_schedule": "inverse_sqrt", "warmup_steps": 4000,
      "weight_decay": 0.01, "adam_beta2": 0.98, "adam_epsilon": 1e-9, "sequence_length": 512, "grad_accumulation": 16,
      "precision": "fp16", "max_steps": 50000, "seed": 1, "save_steps": 1000.0, "num_workers": 4}),
("fairseq_hydra.yaml", "fairseq", """common:
  fp16: true
  log_interval: 200
checkpoint:
  save_interval_updates: 25000
task:
  _name: language_modeling
  tokens_per_sample: 1024
criterion:
  _name: cross_entropy
dataset:
  batch_size: 2
  num_workers: 6
optimization:
  max_update: 400000
  lr: [0.0005]
  update_freq: [8]
  clip_norm: 1.0
optimizer:
  _name: adam
  adam_betas: (0.9,0.98)
  adam_eps: 1e-06
  weight_decay: 0.01
lr_scheduler:
  _name: polynomial_decay
  warmup_updates: 32000
""", {"precision": "fp16", "save_steps": 25000.0, "sequence_length": 1024, "micro_batch_size": 2, "num_workers": 6,
      "max_steps": 400000, "learning_rate": 5e-4, "grad_accumulation": 8, "grad_clip": 1.0, "adam_beta2": 0.98,
      "adam_epsilon": 1e-6, "weight_decay": 0.01, "lr_schedule": "polynomial_decay", "warmup_steps": 32000}),
("maxtext.yml", "maxtext", """run_name: "r1"
model_name: "default"
normalization_layer_epsilon: 1.e-05
checkpoint_period: 10_000
dtype: "bfloat16"
base_emb_dim: 2048
base_num_query_heads: 16
base_num_decoder_layers: 16
remat_policy: 'full'
ici_fsdp_parallelism: -1
ici_tensor_parallelism: 4
per_device_batch_size: 12.0
steps: 150_001
log_period: 100
learning_rate: 3.e-5
cosine_learning_rate_final_fraction: 0.1
warmup_steps_fraction: 0.1
max_target_length: 2048
gradient_clipping_threshold: 1.0
gradient_accumulation_steps: 1
opt_type: "adamw"
adam_b2: 0.95
adam_eps: 1.e-8
adam_weight_decay: 0.1
decode_sampling_temperature: 1.
""", {"norm_epsilon": 1e-5, "save_steps": 10000.0, "precision": "bf16", "micro_batch_size": 12, "max_steps": 150001,
      "learning_rate": 3e-5, "warmup_ratio": 0.1, "sequence_length": 2048, "grad_clip": 1.0, "grad_accumulation": 1,
      "adam_beta2": 0.95, "adam_epsilon": 1e-8, "weight_decay": 0.1, "min_learning_rate": 3e-6}),
("maxtext.sh", "maxtext", """export LIBTPU_INIT_ARGS="--xla_x=true"
python3 -m MaxText.train MaxText/configs/base.yml run_name=r base_output_directory=gs://b/o \\
  per_device_batch_size=4 learning_rate=1e-4 steps=2000 max_target_length=4096 enable_checkpointing=false
""", {"micro_batch_size": 4, "learning_rate": 1e-4, "max_steps": 2000, "sequence_length": 4096}),
("easylm.sh", "easylm", """python -m EasyLM.models.llama.llama_train \\
    --mesh_dim='-1,32,1' --dtype='bf16' --total_steps=250000 --log_freq=50 --save_milestone_freq=2500 \\
    --optimizer.type='adamw' --optimizer.adamw_optimizer.weight_decay=0.1 --optimizer.adamw_optimizer.lr=3e-4 \\
    --optimizer.adamw_optimizer.end_lr=3e-5 --optimizer.adamw_optimizer.lr_warmup_steps=2000 \\
    --optimizer.adamw_optimizer.lr_decay_steps=250000 --optimizer.accumulate_gradient_steps=2 \\
    --train_dataset.huggingface_dataset.seq_length=2048 --train_dataset.huggingface_dataset.batch_size=2048
""", {"precision": "bf16", "max_steps": 250000, "weight_decay": 0.1, "learning_rate": 3e-4, "min_learning_rate": 3e-5,
      "warmup_steps": 2000, "sequence_length": 2048, "grad_accumulation": 2}),
("levanter.yaml", "levanter", """data:
  id: org/text
  tokenizer: org/tok
model:
  type: llama
  seq_len: 2048
  hidden_dim: 4096
trainer:
  wandb:
    project: "levanter"
  mp: p=f32,c=bfloat16
  train_batch_size: 512
  per_device_parallelism: 4
  num_train_steps: 10000
  steps_per_eval: 1000
  seed: 3
optimizer:
  learning_rate: 6E-4
  weight_decay: 0.1
  min_lr_ratio: 0.1
  warmup: 0.01
  max_grad_norm: 1.0
  beta2: 0.95
""", {"sequence_length": 2048, "global_batch_size": 512, "max_steps": 10000, "seed": 3, "learning_rate": 6e-4,
      "weight_decay": 0.1, "warmup_ratio": 0.01, "min_learning_rate": 6e-5, "grad_clip": 1.0, "adam_beta2": 0.95,
      "micro_batch_size": 4}),
("swift_sft.sh", "ms-swift", """CUDA_VISIBLE_DEVICES=0 \\
swift sft \\
    --model org/Qwen-7B \\
    --train_type lora \\
    --dataset 'a/b#500' \\
    --torch_dtype bfloat16 \\
    --num_train_epochs 1 \\
    --per_device_train_batch_size 1 \\
    --learning_rate 1e-4 \\
    --lora_rank 8 \\
    --lora_alpha 32 \\
    --target_modules all-linear \\
    --gradient_accumulation_steps 16 \\
    --save_steps 50 \\
    --max_length 2048 \\
    --warmup_ratio 0.05 \\
    --deepspeed zero3 \\
    --dataloader_num_workers 4
""", {"precision": "bf16", "epochs": 1.0, "micro_batch_size": 1, "learning_rate": 1e-4, "lora_rank": 8,
      "lora_alpha": 32.0, "grad_accumulation": 16, "save_steps": 50.0, "sequence_length": 2048, "warmup_ratio": 0.05,
      "num_workers": 4, "zero_stage": 3}),
("swift_rlhf.sh", "ms-swift", """NPROC_PER_NODE=8 \\
swift rlhf \\
    --rlhf_type grpo \\
    --model org/m \\
    --tuner_type full \\
    --torch_dtype bfloat16 \\
    --per_device_train_batch_size 2 \\
    --gradient_accumulation_steps 8 \\
    --num_generations 16 \\
    --beta 0.04 \\
    --temperature 0.9 \\
    --vllm_mode colocate \\
    --vllm_gpu_memory_utilization 0.6 \\
    --vllm_max_model_len 16384 \\
    --max_completion_length 8192 \\
    --offload_optimizer true \\
    --learning_rate 1e-6 \\
    --deepspeed zero2
""", {"precision": "bf16", "micro_batch_size": 2, "grad_accumulation": 8, "num_generations": 16, "kl_coef": 0.04,
      "rollout_temperature": 0.9, "gpu_memory_utilization": 0.6, "max_model_len": 16384, "learning_rate": 1e-6,
      "zero_stage": 2, "offload_optimizer": True}),
("swift_args/args.json", "ms-swift", """{
  "model": "org/m",
  "model_type": "qwen2",
  "torch_dtype": "bfloat16",
  "train_type": "lora",
  "template": "qwen2_5",
  "max_length": 2048,
  "per_device_train_batch_size": 1,
  "learning_rate": 0.0001,
  "lr_scheduler_type": "cosine",
  "lora_rank": 8,
  "lora_alpha": 32,
  "max_grad_norm": 1.0,
  "rlhf_type": null
}""", {"precision": "bf16", "sequence_length": 2048, "micro_batch_size": 1, "learning_rate": 1e-4,
       "lr_schedule": "cosine", "lora_rank": 8, "lora_alpha": 32.0, "grad_clip": 1.0, "chat_template": "qwen2_5"}),
("xtuner_qlora_config.py", "xtuner", XTUNER_PY, {
    "sequence_length": 2048, "packing": True, "micro_batch_size": 1, "grad_accumulation": 16, "num_workers": 0,
    "epochs": 3.0, "learning_rate": 2e-4, "weight_decay": 0.1, "grad_clip": 1.0, "warmup_ratio": 0.03,
    "save_steps": 500.0, "save_total_limit": 2, "lora_rank": 64, "lora_alpha": 16.0, "precision": "bf16",
    "adam_beta2": 0.999}),
("xtuner_v1_config.py", "xtuner", XTUNER1_PY, {
    "learning_rate": 6e-5, "weight_decay": 0.1, "lr_schedule": "cosine", "warmup_ratio": 0.05,
    "min_learning_rate": 1e-6, "tensor_parallel": 2, "sequence_length": 32768, "num_workers": 4,
    "global_batch_size": 64, "epochs": 2.0, "seed": 7}),
("unsloth_train.py", "hf", UNSLOTH_PY, UNSLOTH),
("unsloth.ipynb", "hf", NOTEBOOK, UNSLOTH),
("paddle_pretrain.json", "paddlenlp", """{
    "model_name_or_path": "org/llama",
    "input_dir": "./data",
    "per_device_train_batch_size": 1,
    "gradient_accumulation_steps": 16,
    "tensor_parallel_degree": 2,
    "pipeline_parallel_degree": 1,
    "sharding": "stage2",
    "use_flash_attention": true,
    "max_seq_length": 4096,
    "learning_rate": 3e-05,
    "min_learning_rate": 3e-06,
    "warmup_steps": 30,
    "max_steps": 10000,
    "save_steps": 5000,
    "weight_decay": 0.01,
    "bf16": true,
    "fp16_opt_level": "O2",
    "max_grad_norm": 1.0,
    "recompute": true
}""", {"micro_batch_size": 1, "grad_accumulation": 16, "tensor_parallel": 2, "pipeline_parallel": 1, "zero_stage": 2,
       "flash_attention": True, "sequence_length": 4096, "learning_rate": 3e-5, "min_learning_rate": 3e-6,
       "warmup_steps": 30, "max_steps": 10000, "save_steps": 5000.0, "weight_decay": 0.01, "precision": "bf16",
       "grad_clip": 1.0, "activation_checkpointing": True}),
("mindformers.yaml", "mindformers", """seed: 0
load_checkpoint: 'x.ckpt'
run_mode: 'finetune'
trainer:
  type: CausalLanguageModelingTrainer
  model_name: 'llama2_7b'
runner_config:
  epochs: 2
  batch_size: 1
  sink_mode: True
optimizer:
  type: FP32StateAdamWeightDecay
  beta1: 0.9
  beta2: 0.999
  eps: 1.e-8
  learning_rate: 1.e-6
lr_schedule:
  type: CosineWithWarmUpLR
  learning_rate: 1.e-6
  lr_end: 0
  warmup_ratio: 0.03
  total_steps: -1
train_dataset:
  batch_size: 1
  num_parallel_workers: 8
parallel_config:
  data_parallel: 8
  model_parallel: 2
  pipeline_stage: 1
  micro_batch_num: 1
recompute_config:
  recompute: False
model:
  model_config:
    type: LlamaConfig
    seq_length: 4096
    hidden_size: 4096
    num_layers: 32
    num_heads: 32
    vocab_size: 32000
    rms_norm_eps: 1.0e-5
    eos_token_id: 2
    pad_token_id: 0
    compute_dtype: "bfloat16"
    use_flash_attention: True
    repetition_penalty: 1
runner_wrapper:
  scale_sense:
    loss_scale_value: 65536
  use_clip_grad: True
""", {"seed": 0, "epochs": 2.0, "micro_batch_size": 1, "adam_beta2": 0.999, "adam_epsilon": 1e-8, "learning_rate": 1e-6,
      "lr_schedule": "CosineWithWarmUpLR", "min_learning_rate": 0.0, "warmup_ratio": 0.03, "tensor_parallel": 2,
      "pipeline_parallel": 1, "activation_checkpointing": False, "sequence_length": 4096, "norm_epsilon": 1e-5,
      "eos_token_id": 2, "pad_token_id": 0, "precision": "bf16", "flash_attention": True}),
("mindspeed.sh", "megatron", """NPUS_PER_NODE=8
NNODES=2
TP=2
DISTRIBUTED_ARGS="--nproc_per_node $NPUS_PER_NODE --nnodes $NNODES"
GPT_ARGS="
    --use-mcore-models --tensor-model-parallel-size ${TP} --micro-batch-size 1 --global-batch-size 64
    --seq-length 4096 --train-iters 2000 --lr 1.25e-6 --min-lr 1.25e-7 --lr-warmup-fraction 0.01
    --clip-grad 1.0 --adam-beta2 0.95 --bf16 --weight-decay 1e-1"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS --distributed-backend nccl | tee logs/train.log
""", {"tensor_parallel": 2, "micro_batch_size": 1, "global_batch_size": 64, "sequence_length": 4096, "max_steps": 2000,
      "learning_rate": 1.25e-6, "min_learning_rate": 1.25e-7, "warmup_ratio": 0.01, "grad_clip": 1.0,
      "adam_beta2": 0.95, "precision": "bf16", "weight_decay": 0.1}),
("tgi.sh", "tgi", """docker run --gpus all --shm-size 1g -p 8080:80 -e NCCL_P2P_DISABLE=1 \\
  ghcr.io/huggingface/text-generation-inference:3.0 --model-id org/m --num-shard 4 --max-total-tokens 8192 \\
  --max-input-length 7168 --cuda-memory-fraction 0.9 --dtype bfloat16 --max-concurrent-requests 64
""", {"nccl_p2p_disable": True, "engine_tensor_parallel": 4, "max_model_len": 8192, "gpu_memory_utilization": 0.9,
      "precision": "bf16"}),
("lmdeploy.sh", "lmdeploy", """CUDA_VISIBLE_DEVICES=0,1 lmdeploy serve api_server org/m --tp 2 --session-len 32768 \\
  --cache-max-entry-count 0.8 --max-batch-size 128 --rope-scaling-factor 2.0
""", {"engine_tensor_parallel": 2, "max_model_len": 32768, "max_num_seqs": 128, "rope_scaling_factor": 2.0}),
("trtllm.sh", "tensorrt-llm", """cat > extra.yml <<EOF
kv_cache_config:
    dtype: fp8
    free_gpu_memory_fraction: 0.8
EOF
trtllm-serve org/m --backend pytorch --tp_size 8 --pp_size 1 --ep_size 4 --max_batch_size 256 --max_seq_len 16384 \\
  --kv_cache_free_gpu_memory_fraction 0.8 --extra_llm_api_options extra.yml
""", {"engine_tensor_parallel": 8, "max_num_seqs": 256, "max_model_len": 16384}),
("llamacpp.sh", "llama-cpp", """llama-server -m model.gguf --ctx-size 32768 --parallel 4 --n-gpu-layers 99 \\
  --rope-scaling yarn --rope-scale 4 --temp 0.7 --repeat-penalty 1.1 --seed 5
""", {"max_num_seqs": 4, "rope_scaling_type": "yarn", "rope_scaling_factor": 4.0, "sampling_temperature": 0.7,
      "repetition_penalty": 1.1, "seed": 5}),
("ray_job.yaml", "hf", """apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: sft
spec:
  entrypoint: python train.py --learning_rate 2e-5 --per_device_train_batch_size 4 --bf16 true
  runtimeEnvYAML: |
    env_vars:
      NCCL_IB_DISABLE: "1"
""", {"learning_rate": 2e-5, "micro_batch_size": 4, "precision": "bf16", "nccl_ib_disable": True}),
("k8s_vllm.yaml", "vllm", """apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:latest
        args: ["--model", "org/m", "--gpu-memory-utilization", "0.95",
               "--max-model-len=16384"]
        env:
        - name: NCCL_P2P_DISABLE
          value: "1"
        resources:
          limits:
            nvidia.com/gpu: 1
""", {"gpu_memory_utilization": 0.95, "max_model_len": 16384, "nccl_p2p_disable": True}),
("pytorchjob.yaml", "hf", """apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: x/y:1
            command:
            - /bin/bash
            - -c
            - |
              pip install -e .
              export LR=3e-5
              torchrun --nnodes 2 --nproc_per_node 8 train.py \\
                --learning_rate $LR \\
                --max_grad_norm 0.5 --gradient_accumulation_steps 4
            env:
            - {name: NCCL_IB_DISABLE, value: "0"}
""", {"learning_rate": 3e-5, "grad_clip": 0.5, "grad_accumulation": 4, "nccl_ib_disable": False}),
("docker-compose.yml", "vllm", """services:
  ui:
    image: x/ui
    command: npm start
  llm:
    image: vllm/vllm-openai:v0.9
    environment:
      - CUDA_VISIBLE_DEVICES=0,1
      - NCCL_P2P_DISABLE=1
    command: >
      --model org/m
      --tensor-parallel-size ${TP:-2}
      --gpu-memory-utilization 0.9
      --max-num-seqs 64
""", {"nccl_p2p_disable": True, "engine_tensor_parallel": 2, "gpu_memory_utilization": 0.9, "max_num_seqs": 64}),
("sky.yaml", "axolotl", """resources:
  accelerators: A100:8
num_nodes: 2
envs:
  LR: 1e-4
setup: |
  pip install axolotl
run: |
  axolotl train cfg.yml --learning-rate $LR --micro-batch-size 2
""", {"learning_rate": 1e-4, "micro_batch_size": 2}),
("slurm_srun.sbatch", "hf", """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
export NCCL_IB_DISABLE=0
srun --container-image=x.sqsh torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 \\
  run_sft.py --learning_rate 1e-5 --warmup_ratio 0.03 --per_device_train_batch_size 2 --seed 3
""", {"nccl_ib_disable": False, "learning_rate": 1e-5, "warmup_ratio": 0.03, "micro_batch_size": 2, "seed": 3}),
("Makefile", "hf", """LR ?= 2e-5
GPUS := 8
.PHONY: train

train: data
\t@echo "training with $(LR)"
\ttorchrun --nproc_per_node $(GPUS) sft.py \\
\t  --learning_rate $(LR) --num_train_epochs 3 \\
\t  --per_device_train_batch_size 4 | tee log.$$RANDOM
""", {"learning_rate": 2e-5, "epochs": 3.0, "micro_batch_size": 4}),
("wandb/config.yaml", "hf", """_wandb:
  value:
    cli_version: 0.17.0
    python_version: 3.11.9
learning_rate:
  desc: null
  value: 2e-05
per_device_train_batch_size:
  desc: null
  value: 8
bf16:
  desc: null
  value: true
max_grad_norm:
  value: 1
model/num_parameters:
  value: 7615616512
""", {"learning_rate": 2e-5, "micro_batch_size": 8, "precision": "bf16", "grad_clip": 1.0}),
(".hydra/overrides.yaml", "verl", """- actor_rollout_ref.actor.optim.lr=1e-6
- data.train_batch_size=256
- actor_rollout_ref.rollout.n=8
- +algorithm.use_kl_in_reward=False
""", {"learning_rate": 1e-6, "train_batch_size": 256, "num_generations": 8}),
("hparams.yaml", "lightning", """accumulate_grad_batches: 4
batch_size: 8
gradient_clip_val: 1.0
learning_rate: 0.0001
max_epochs: 5
precision: bf16-mixed
weight_decay: 0.01
""", {"grad_accumulation": 4, "micro_batch_size": 8, "grad_clip": 1.0, "learning_rate": 1e-4, "epochs": 5.0,
      "precision": "bf16", "weight_decay": 0.01}),
("training_args.json", "hf", """{"output_dir": "out", "learning_rate": 5e-05, "per_device_train_batch_size": 8, "fp16": false, "bf16": true,
 "max_grad_norm": 1.0, "lr_scheduler_type": "linear", "adam_beta2": 0.999, "adam_epsilon": 1e-08, "seed": 42}
""", {"learning_rate": 5e-5, "micro_batch_size": 8, "precision": "bf16", "grad_clip": 1.0, "lr_schedule": "linear",
      "adam_beta2": 0.999, "adam_epsilon": 1e-8, "seed": 42}),
("sweep.yaml", "hf", """program: train.py
method: bayes
metric: {name: loss, goal: minimize}
parameters:
  learning_rate: {min: 1.0e-6, max: 1.0e-4}
  per_device_train_batch_size: {values: [4, 8]}
command: ["${env}", python, "${program}", --num_train_epochs, "3", --warmup_ratio, "0.1", "${args}"]
""", {'epochs': 3.0, 'warmup_ratio': 0.1}),
("azure.yml", "hf", """$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: >-
  python train.py --learning_rate 2e-5 --per_device_train_batch_size ${{inputs.bs}} --max_grad_norm 1.0
code: src
environment: azureml:x@latest
compute: azureml:gpu
environment_variables:
  NCCL_IB_DISABLE: "1"
""", {'learning_rate': 2e-05, 'grad_clip': 1.0, 'nccl_ib_disable': True}),
("det.yaml", "hf", """name: ft
environment:
  environment_variables: [NCCL_P2P_DISABLE=1]
resources: {slots_per_trial: 8}
entrypoint: >-
  python -m determined.launch.torch_distributed
  python finetune.py --learning_rate 1e-5 --warmup_ratio 0.03 --num_train_epochs 2
max_restarts: 0
""", {'learning_rate': 1e-05, 'warmup_ratio': 0.03, 'epochs': 2.0, 'nccl_p2p_disable': True}),
("trl.sh", "trl", """trl dpo --model_name_or_path m --dataset_name d --beta 0.1 --learning_rate 5e-7 --max_length 1024 --bf16
""", {'dpo_beta': 0.1, 'learning_rate': 5e-07, 'sequence_length': 1024, 'precision': 'bf16'}),
("lws.yaml", "sglang", """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec:
        containers:
        - name: l
          image: lmsysorg/sglang:latest
          command:
          - sh
          - -c
          - "python3 -m sglang.launch_server --model-path m --tp 16 --nnodes 2 --mem-fraction-static 0.9"
""", {'engine_tensor_parallel': 16, 'gpu_memory_utilization': 0.9}),
("k8s.json", "vllm", """{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"v","image":"vllm/vllm-openai:v1","args":["--model","m","--max-num-seqs","128"],"env":[{"name":"NCCL_P2P_DISABLE","value":"1"}]}]}}""", {'max_num_seqs': 128, 'nccl_p2p_disable': True}),
("olmo_core_train.py", "olmo-core", """from olmo_core.optim import SkipStepAdamWConfig
def build():
    return TrainerConfig(max_duration=Duration.tokens(10))
config = ExperimentConfig(
    train_module=TransformerTrainModuleConfig(rank_microbatch_size=16384, max_sequence_length=4096,
        optim=SkipStepAdamWConfig(lr=4e-4, weight_decay=0.1, betas=(0.9, 0.95)), max_grad_norm=1.0,
        scheduler=CosWithWarmup(warmup_steps=2000)),
    data_loader=NumpyDataLoaderConfig(global_batch_size=1048576, seed=0, num_workers=4))
""", {'sequence_length': 4096, 'learning_rate': 0.0004, 'weight_decay': 0.1, 'adam_beta2': 0.95, 'grad_clip': 1.0, 'seed': 0, 'num_workers': 4}),
("pl_train.py", "lightning", """import lightning as L
trainer = L.Trainer(max_epochs=3, precision="bf16-mixed", gradient_clip_val=1.0, accumulate_grad_batches=4, devices=8)
""", {'epochs': 3.0, 'precision': 'bf16', 'grad_clip': 1.0, 'grad_accumulation': 4}),
("sagemaker_args.py", "hf", """from sagemaker.huggingface import HuggingFace
hyperparameters = {"model_name_or_path": "m", "learning_rate": 2e-5, "num_train_epochs": 3, "per_device_train_batch_size": 4, "fp16": True}
""", {'learning_rate': 2e-05, 'epochs': 3.0, 'micro_batch_size': 4, 'precision': 'fp16'}),
("nanogpt.py", "generic", """# adamw
learning_rate = 6e-4
max_iters = 600000
weight_decay = 1e-1
beta2 = 0.95
grad_clip = 1.0
warmup_iters = 2000
batch_size = 12
block_size = 1024
gradient_accumulation_steps = 5 * 8
dtype = 'bfloat16'
""", {'learning_rate': 0.0006, 'max_steps': 600000, 'weight_decay': 0.1, 'adam_beta2': 0.95, 'grad_clip': 1.0, 'warmup_steps': 2000, 'micro_batch_size': 12, 'grad_accumulation': 40, 'sequence_length': 1024, 'precision': 'bf16'}),
("megatron_args.yaml", "megatron", """tensor_model_parallel_size: 2
micro_batch_size: 1
global_batch_size: 128
lr: 3.0e-4
train_iters: 1000
clip_grad: 1.0
bf16: true
""", {'tensor_parallel': 2, 'micro_batch_size': 1, 'global_batch_size': 128, 'learning_rate': 0.0003, 'max_steps': 1000, 'grad_clip': 1.0, 'precision': 'bf16'}),
("swift_mcore.sh", "megatron", """NPROC_PER_NODE=8 megatron sft --load m --tensor_model_parallel_size 2 --micro_batch_size 1 --global_batch_size 16 --lr 1e-5 --train_iters 500 --max_length 4096
""", {'tensor_parallel': 2, 'micro_batch_size': 1, 'global_batch_size': 16, 'learning_rate': 1e-05, 'max_steps': 500}),
]  # fmt: skip


def read(tmp_path, name, text):
    return read_settings(discover(fill(tmp_path, {name: text})))


@pytest.mark.parametrize(("name", "framework", "text", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_file_is_read_as_its_framework_means_it(tmp_path, name, framework, text, expected):
    settings, checks = read(tmp_path, name, text)
    assert settings.framework == framework, checks
    assert {s.variable: s.value for s in settings if s.variable in VARIABLES} == pytest.approx(expected)
    lines = text.split("\n")
    for setting in settings:
        if setting.column >= 0:
            assert lines[setting.line - 1][setting.column :].startswith(setting.raw), setting


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.sampled_from(ROWS), st.integers(0, 3000), st.integers(0, 3000), st.text(max_size=5))
def test_damaged_files_are_read_or_refused(row, at, cut, junk):
    name, _, text, _ = row
    damaged = text[:at] + junk + text[at + cut % 40 :]
    with contextlib.suppress(Refused):
        read_source(source(name, damaged), syntax_of(Path(name), name))
