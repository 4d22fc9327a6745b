"""Files and scripts of frameworks for reinforcement learning, rewritten in small: which it is, what it sets, on which line."""

# ruff: noqa: E501  (rows of a table)

ROWS = [
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
(".hydra/overrides.yaml", "verl", """- actor_rollout_ref.actor.optim.lr=1e-6
- data.train_batch_size=256
- actor_rollout_ref.rollout.n=8
- +algorithm.use_kl_in_reward=False
""", {"learning_rate": 1e-6, "train_batch_size": 256, "num_generations": 8}),
]  # fmt: skip
