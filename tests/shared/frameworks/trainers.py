"""Files and scripts of trainers, of programs of nobody's too, rewritten in small: which it is, what it sets, on which line."""

# ruff: noqa: E501  (rows of a table)

import json

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
]  # fmt: skip
