"""Files and scripts of pre-training frameworks, rewritten in small: which it is, what it sets, on which line."""

# ruff: noqa: E501  (rows of a table)

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
("olmo_core_train.py", "olmo-core", """from olmo_core.optim import SkipStepAdamWConfig
def build():
    return TrainerConfig(max_duration=Duration.tokens(10))
config = ExperimentConfig(
    train_module=TransformerTrainModuleConfig(rank_microbatch_size=16384, max_sequence_length=4096,
        optim=SkipStepAdamWConfig(lr=4e-4, weight_decay=0.1, betas=(0.9, 0.95)), max_grad_norm=1.0,
        scheduler=CosWithWarmup(warmup_steps=2000)),
    data_loader=NumpyDataLoaderConfig(global_batch_size=1048576, seed=0, num_workers=4))
""", {'sequence_length': 4096, 'learning_rate': 0.0004, 'weight_decay': 0.1, 'adam_beta2': 0.95, 'grad_clip': 1.0, 'seed': 0, 'num_workers': 4}),
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
