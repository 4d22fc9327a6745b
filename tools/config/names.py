"""The one vocabulary of settings: what strangers call a variable, word by word, whatever joins the words and in whatever
order.

`naming.py` splits the keys of configurations into these words, `written/names.py` what people call a setting in notes
and in formats of their own; both ask the tables here. `frameworks/` has the full keys of known programs.
"""

# ruff: noqa: E501  one row of the table on one line

from __future__ import annotations

ALIASES = {
    word: meant
    for meant, words in {
        "lr": "lr learningrate 学习率",
        "batch": "batch bs bsz batchsize batches 批 批量 批次 批大小",
        "micro batch": "mbs microbatch microbatchsize mbsz",
        "device": "device gpu card 每卡 单卡",
        "devices": "devices gpus cards ngpus",
        "node": "node machine",
        "nodes": "nodes machines nnodes",
        "accum": "累积 accum accumulate accumulation acc ga gas accums",
        "grad": "梯度 grad grads gradient gradients",
        "clip": "裁剪 clip clipping clipnorm",
        "checkpoint": "checkpoint checkpoints checkpointing checkpointer ckpt ckpts ckpting 检查点",
        "recompute": "recompute rematerialize remat recomputation 重计算",
        "save": "save saving saves saver",
        "keep": "keep retain kept",
        "eval": "eval evaluate evaluation val valid validate validation",
        "log": "log logging report",
        "every": "every interval freq frequency period",
        "step": "step steps iter iters iterations updates",
        "epoch": "epoch epochs 轮数",
        "warmup": "预热 warmup warm wu rampup",
        "ratio": "ratio frac fraction share proportion",
        "schedule": "调度 调度器 schedule scheduler sched",
        "optimizer": "优化 优化器 optimizer optimiser optim opt",
        "weight decay": "wd weightdecay 权重衰减",
        "grad clip": "梯度裁剪",
        "grad accum": "梯度累积 梯度累加",
        "device batch": "单卡批量 每卡批量",
        "global batch": "gbs globalbatch gbsz 全局批量",
        "warmup ratio": "预热比例",
        "warmup step": "预热步数",
        "seed": "seed 种子 随机种子",
        "seq": "seq sequence",
        "len": "len length lens",
        "seq len": "seqlen seqlength",
        "max len": "maxlen maxlength",
        "max token": "maxtokens",
        "ctx": "ctx context ctxlen",
        "max": "max maximum",
        "min": "min minimum",
        "layer": "layer layers blocks depth",
        "head": "head heads nhead",
        "ffn": "ffn ff ffw feedforward intermediate mlp",
        "vocab": "vocab vocabulary vocabsize",
        "expert": "expert experts",
        "tensor parallel": "tp",
        "pipeline parallel": "pp",
        "data parallel": "dp",
        "context parallel": "cp",
        "expert parallel": "ep",
        "parallel": "parallel parallelism par 并行",
        "temperature": "temperature temp",
        "token": "token tokens tok toks",
        "response": "response responses answer answers completion completions resp reply replies",
        "prompt": "prompt prompts question questions query queries problem problems",
        "sample": "sample samples",
        "generation": "generation generations",
        "rollout": "rollout rollouts",
        "attention": "attention attn",
        "eps": "eps epsilon",
        "beta2": "beta2 b2",
        "coef": "coef coeff coefficient",
        "mem": "mem memory vram",
        "utilization": "utilization utilisation util",
        "worker": "worker workers",
        "pretrained": "pretrained pretrain",
        "normalization": "normalize normalise normalization normalisation whiten whitening whitened",
        "advantage": "advantage advantages adv",
        "penalty": "penalty pen",
        "init": "init initial",
        "gen": "gen generate",
        "file": "file files",
    }.items()
    for word in words.split()
}
"""What is written -> the words that it stands for."""
AS_WRITTEN = frozenset(("acc", "resp", "mlp", "ff", "单卡", "每卡"))
"""Words that stand for themselves in notes: `acc` is no accumulation there."""


def spelled(word: str) -> list[str]:
    """The words that one in lower case stands for."""
    return (ALIASES.get(word) or word).split()


LOOSE = {
    word: meant
    for meant, words in {
        "max": "longest limit cap most up highest largest",
        "min": "lowest floor final smallest",
        "clip": "clipped clips",
        "accum": "accumulated accumulations accumulating",
        "step": "update",
        "train": "training trained",
        "seq": "sequences ctx",
        "length": "len lengths",
        "prompt": "instruction instructions",
        "response": "generation output outputs",
        "gpu": "device devices accelerator accelerators",
        "node": "nodes host hosts",
        "save": "checkpoint",
        "every": "between",
        "log": "logs",
        "coef": "coefficients",
        "sample": "sampling sampled",
        "memory": "mem",
        "fraction": "utilization",
        "decay": "decays annealing anneal",
        "param": "params parameter parameters",
        "peak": "base init starting start",
        "keep": "retained",
        "recompute": "rematerialization",
        "normalization": "normalisation normalize normalise normalized whiten whitening whitened",
        "advantage": "advantages adv",
        "pack": "packing packed",
        "stage": "phase",
        "grad norm": "gradnorm",
        "grad clip": "gradclip",
        "mini batch": "minibatch",
        "beta": "β",
        "beta1": "β1 β₁",
        "beta2": "β2 β₂",
        "eps": "ε ϵ",
    }.items()
    for word in words.split()
}
"""Further words that mean one only where people write a name that stands alone, in notes and in formats of their own."""
JOINED = (
    ("learning", "rate", "lr"),
    ("warm", "up", "warmup"),
    ("batch", "size", "batch"),
    ("beta", "2", "beta2"),
    ("betas", "2", "beta2"),
    ("feed", "forward", "ffn"),
    ("per", "rollout", "perrollout"),
)
"""Two words that are one."""
_FILLING = "num n nb number count of the per size value degree in to a for"
FILLERS = frozenset(_FILLING.split())
"""Words that only say that something is counted."""
_SORTING = """
    train training trainer config configuration conf cfg args arg arguments argument param params
    parameter parameters hparam hparams hyperparameters hyperparams hyper options opts settings setup set
    run runtime experiment exp loop main common default defaults base shared general global all kwargs
    system algo algorithm finetune finetuning ft pretrain sft job launch task pipeline recipe loader
    dataloader precision 0 step basic 训练 配置 参数 加载 misc other scaling applications deployments deployment
    llm llms loading spec services configs option make build create get lib fn factory
"""
NEUTRAL = frozenset(_SORTING.split())
"""Headings that only sort, with `0` for the first of a list; of every other unknown heading nothing is believed."""
OPEN_SCOPES = frozenset(
    ("optimizer", "schedule", "model", "student", "data", "batch", "parallel", "lora", "algorithm", "loss", "save")
)
"""Headings below which the common names mean what they mean everywhere."""
SCOPES = {
    word: scope
    for scope, words in {
        "optimizer": "optimizer adam adamw lion sgd adafactor optimization optimisation",
        "schedule": "schedule lr",
        "model": "模型 model backbone network net arch architecture transformer policy actor",
        "student": "student",
        "data": "数据 data dataset corpus input datasets",
        "batch": "batch batching",
        "parallel": "hardware cluster resources parallel dist distributed mesh topology ranks",
        "rope": "rope rotary",
        "rollout": "rollout",
        "engine": "engine vllm sglang serve serving server inference",
        "length": "len token limits",
        "loss": "loss objective",
        "eval": "eval",
        "lora": "lora peft adapter qlora",
        "algorithm": "ppo grpo rl dpo kto orpo simpo",
        "save": "save checkpoint",
        "log": "log logger",
        "init": "init",
        "reward": "reward rewards",
        "advantage": "advantage",
        "kl": "kl",
        "decode": "decode decoding gen generation sampling sampler",
    }.items()
    for word in words.split()
}
"""Word of a heading -> what it is about."""
ONLY_ALONE = frozenset(("init", "reward", "advantage", "kl"))
"""Words of a heading that say this only where they are all of it: a `reward_model` is another model."""

NAMES: dict[str, str] = {
    "model": "+model; +model name; +model path; model name path; base model; init from; policy init; base; +backbone; +policy; model source; +model id; pretrained model name path; pretrained path; pretrained name; arch; +pretrained model; student; network; llm; +checkpoint init; init checkpoint; model init",
    "dataset": "dataset; data; +train file; +data path; train data; training data; data dir; data root; train dir; train data dir; +corpus; +train set; +data file; +dataset path; train path; training file; pref data; +prompt data; prompt path; prompt file; prompt dataset; preference data; data train; +train dataset; pairs; train file data",
    "stage": "+stage; +train stage; training stage; finetune stage",
    "optimizer": "optimizer; +optimizer name; +optimizer type; optimizer class",
    "learning_rate": "lr; peak lr; max lr; base lr; init lr; lr peak; actor lr; +policy lr; lr max",
    "min_learning_rate": "min lr; lr floor; +end lr; final lr; lr end",
    "min_lr_ratio": "min lr ratio; lr min ratio; final lr ratio; lr end ratio; min lr rate; lr floor ratio; floor lr ratio",
    "lr_schedule": "schedule; lr schedule; +lr decay style; +schedule name; +schedule type; +lr schedule type",
    "warmup_steps": "warmup; warmup step; +lr warmup; +lr warmup step; warmup iter; warmup update",
    "warmup_ratio": "warmup ratio; +lr warmup ratio",
    "max_steps": "step; max step; total step; train step; +optimizer step; step total; +max train step; max update; total update; train max step",
    "decay_steps": "lr decay step; decay step",
    "epochs": "epoch; +max epoch; +train epoch; +total epoch",
    "weight_decay": "weight decay",
    "grad_clip": "clip global norm; clip by global norm; grad clip; clip grad; max grad norm; grad norm max; grad norm clip; +clip norm; clip grad norm; +max norm; grad max norm; grad norm limit; +grad clip value; norm clip; +clip",
    "adam_beta2": "beta2; adam beta2; betas; adam betas; optimizer betas; betas 1; adam betas 1",
    "adam_epsilon": "adam eps; +optimizer eps",
    "precision": "precision; mixed precision; +amp dtype; +train dtype; +compute dtype; +dtype; autocast dtype; amp precision; amp; autocast",
    "model_dtype": "torch dtype; model dtype; param dtype; weight dtype; load dtype",
    "micro_batch_size": "micro batch; +device batch; batch device; batch; train batch device; micro batch device; device train batch; +local batch; batch local; train batch; device micro batch; img device; sample device",
    "grad_accumulation": "accum; grad accum; accum grad; accum step; grad accum step; accum every; update every; accum grad batch; grad step accum",
    "global_batch_size": "global batch; total batch; effective batch; global train batch; batch global; batch total",
    "sequence_length": "seq len; max seq len; +max seq; max len; ctx; ctx len; max ctx; max ctx len; block; ctx window; max token; seq; +max seq token; max token seq; +token seq; max text token; max sample token; max token row; max token sample; +cutoff len",
    "tensor_parallel": "tensor parallel; +tensor model parallel",
    "pipeline_parallel": "pipeline parallel; pipeline model parallel",
    "context_parallel": "context parallel",
    "expert_parallel": "expert parallel; expert model parallel",
    "data_parallel": "data parallel",
    "zero_stage": "zero stage; zero; +deepspeed zero stage; +deepspeed stage",
    "activation_checkpointing": "grad checkpoint; activation checkpoint; checkpoint activation; checkpoint grad; activation recompute; recompute; full recompute; use grad checkpoint; enable grad checkpoint",
    "flash_attention": "flash attention; use flash attention; flash; attention implementation; attention impl; attention; attention backend; attention kernel",
    "num_workers": "worker; loader worker; +data worker; dataloader worker; worker device; data loader worker",
    "pin_memory": "pin mem; +loader pin mem",
    "seed": "seed; random seed; +random state; +train seed; +rng seed; +seed everything; +global seed",
    "save_steps": "save every; save; save step; checkpoint every; +save every step; checkpoint every step; checkpoint step; save checkpoint every; save step every",
    "save_total_limit": "+keep last; +keep checkpoint; +save total limit; checkpoint total limit; +keep latest; keep last k; +max checkpoint; checkpoint keep; +keep latest k; checkpoint max; +keep last checkpoint; save keep; save limit; checkpoint limit; max keep; keep",
    "log_steps": "log every; log; log step; +log every step; print every; +log every step",
    "eval_steps": "eval every; eval; eval step; +eval every step; test every",
    "dpo_beta": "dpo beta; +kto beta; +simpo beta; ipo beta; +preference beta",
    "kl_coef": "kl coef; kl weight; kl beta; kl penalty; init kl coef; +kl penalty coef; grpo beta; ppo beta; grpo kl; ppo kl; ref kl coef; ref kl weight; kl loss coef",
    "num_generations": "generation; group; sample prompt; response prompt; rollout prompt; generation prompt; group sample; sample response prompt; prompt response",
    "rollout_batch_size": "rollout batch; prompt step; prompt per rollout; rollout prompt batch; prompt batch; prompt iteration",
    "rollout_temperature": "rollout temperature; sample temperature; train temperature; gen temperature",
    "max_response_length": "max response len; +max response token; max new token; response len; +max response; response token; response max; response max len; token response max; max gen len; gen max len; max gen token; generation max len; +new token; response max token",
    "max_prompt_length": "max prompt len; +max prompt token; prompt len; +max prompt; prompt token; prompt max len; prompt max token; token prompt max; prompt max",
    "lora_rank": "lora rank; lora r; adapter rank; lora dim; qlora r; qlora rank",
    "lora_alpha": "lora alpha; +adapter alpha; qlora alpha",
    "freeze": "freeze; freeze layer; freeze module; frozen module; frozen",
    "deepspeed": "deepspeed; deepspeed config; ds config",
    "world_size": "world; devices; +total devices; +distributed world",
    "nodes": "nodes",
    "gpus_per_node": "devices node; device node; process node; nproc node; processes node",
    "gpu_memory_utilization": "device mem utilization; mem utilization; +mem fraction static; +device mem fraction; engine mem utilization; mem fraction",
    "max_num_seqs": "max seqs; +max running requests; max concurrent requests; max running seqs; max concurrency",
    "max_model_len": "max model len; +engine max len",
    "engine_tensor_parallel": "+engine tensor parallel; vllm tensor parallel; +rollout tensor parallel; sglang tensor parallel; inference tensor parallel; engine tensor; rollout tensor model parallel",
    "hidden_size": "hidden; +hidden dim; d model; embd; embed dim; +model dim; dim; width; hidden width; +embedding dim; d hidden; +model width; emb dim",
    "num_layers": "layer; +model layer; hidden layer; +transformer layer",
    "num_heads": "+head; +attention head; +model head; q head; +query head",
    "num_kv_heads": "+kv head; +key value head; kv; query group; attention kv head; head kv",
    "head_dim": "head dim; d head; dim head; dim kv",
    "intermediate_size": "+ffn; +ffn dim; d ffn; +ffn hidden; ffn width; dim ffn; ffn hidden dim; inner dim; d inner",
    "vocab_size": "vocab",
    "num_experts": "expert; moe expert; local expert; routed expert",
    "tie_embeddings": "tie emb; tie embedding; tie embeddings; tied embeddings; tied; tie word embeddings; weight tying; tied emb; share embeddings; untie emb; untie embeddings; untie word embeddings; untie embeddings and output weights; untied embeddings; logits via embedding",
    "init_std": "init std; init method std; initializer range; std init",
    "norm_epsilon": "+norm eps; +rms norm eps; rms eps; +layer norm eps; ln eps; +layernorm eps; +rmsnorm eps",
    "rope_theta": "rope theta; rope base; rotary base; rotary theta; rope freq base; rotary emb base",
    "nccl_timeout": "nccl timeout; dist timeout; ddp timeout; distributed timeout; pg timeout; pg timeout s; pg timeout sec; process group timeout; collective timeout",
    "max_position_embeddings": "max pos; max position; max positions; max position embeddings",
    "loss_scale": "loss scale; static loss scale",
    "reward_clip": "reward clip; clip reward",
    "advantage_normalization": "advantage normalization; normalization advantage",
    "engine_kind": "rollout engine; engine; engine name; inference engine; generation backend; rollout backend",
    "use_kl_loss": "kl in loss; use kl loss",
    "kl_target": "kl target; target kl",
    "fp8": "fp8; use fp8",
    "stop_tokens": "stop token; stop string; stop words",
    "train_tokens": "train token; total token; training token; token total; token budget",
    "sampling": "+do sample",
    "repetition_penalty": "+repetition penalty; rep penalty; repeat penalty",
    "chat_template": "chat template; template",
    "packing": "packing; pack; pack sequences; pack samples; sample packing; packed; pack example; pack examples",
}
"""Variable -> names for it, best first, separated by semicolons; the order of the words of a name counts for nothing.

A name with a + is one where it stands alone in a note, too.
"""
TOLD: dict[str, str] = {
    "learning_rate": "train lr; optimizer lr; actor optimizer lr; lr value; 基础学习率; 初始学习率; 最大学习率; 策略学习率",
    "min_learning_rate": "最终学习率",
    "lr_schedule": "schedule kind; lr decay; decay type; decay schedule; decay style; 学习率策略; 学习率衰减; 衰减方式; 衰减策略",
    "warmup_steps": "schedule warmup step; schedule warmup; 热身步数",
    "warmup_ratio": "schedule warmup ratio; 预热占比; 热身比例",
    "max_steps": "train total step; schedule total step; 训练总步数",
    "epochs": "训练轮次; 轮次",
    "weight_decay": "optimizer wd; actor wd; 权重衰减系数",
    "grad_clip": "optimizer clip; actor max grad norm; actor grad clip; actor optimizer clip norm; actor clip norm; global norm clip; 梯度裁剪阈值; 裁剪阈值; 梯度范数上限; 最大梯度范数",
    "adam_beta2": "optimizer beta2",
    "adam_epsilon": "adamw eps",
    "precision": "train precision; data type; 训练精度; 数据精度; 计算精度",
    "micro_batch_size": "per gpu train batch; 单卡micro batch; 每卡micro batch; 每卡batch; 单卡批次; 单卡批次大小; 每卡批次大小; 微批次",
    "grad_accumulation": "batch accum; grad accum factor; 梯度累积步数; 累积次数",
    "global_batch_size": "overall batch; 全局批次大小; 有效批量",
    "world_size": "gpu world; distributed train world; 显卡; 显卡数; 硬件; 设备",
    "nodes": "节点",
    "gpus_per_node": "每节点卡数",
    "tensor_parallel": "张量并行度; 训练张量并行",
    "pipeline_parallel": "流水线并行度",
    "context_parallel": "seq parallel group",
    "sequence_length": "max token per seq; train seq length; data max token; data max length; max input length; 最大序列长度; 截断长度",
    "offload_params": "offload param; 参数卸载",
    "offload_optimizer": "offload optimizer; 优化器卸载",
    "num_workers": "数据加载进程; 加载进程数; 数据加载线程数",
    "pin_memory": "dataloader pin memory; 锁页内存",
    "save_steps": "保存步数; 每 步保存; 每n步保存",
    "save_total_limit": "save keep latest k; max save to keep; save to keep; 保留检查点数; 最多保留检查点; 最多保留检查点数; 保留检查点; 检查点保留数",
    "log_steps": "train log every; 日志间隔",
    "eval_steps": "验证间隔",
    "packing": "打包",
    "dpo_beta": "beta preference loss; dpo loss beta; 偏好损失beta",
    "kl_coef": "kl control coef",
    "num_generations": "rollout response per prompt; rollout sample per prompt; prompt rollout per; group response; 每题回答数; 每个提示采样数; 每个问题采样数; 每题采样; 每组采样数",
    "rollout_batch_size": "rollout prompt; 每轮提示数; 每步提示数",
    "rollout_temperature": "actor temperature; policy temperature",
    "temperature": "temperature; sample temperature; decode temperature; 采样温度; 温度; 生成温度",
    "reward_clip": "奖励截断",
    "advantage_normalization": "advantage normalization; 优势归一化; 优势标准化",
    "max_prompt_length": "提示最长; 提示长度; 提示长度上限; 问题最长",
    "max_response_length": "max new response token; rollout max new token; rollout max token; rollout max response length; rollout max length; 回复最长; 生成最长; 回答最长; 最大回答长度; 回复长度",
    "lora_rank": "peft rank; 适配器秩; 秩",
    "lora_alpha": "peft alpha; 适配器alpha; loraalpha",
    "adapter": "adapter; adapter type; peft type; peft method; 适配器; 适配器类型; 微调方式",
    "optimizer": "optimizer kind",
    "stage": "train type; algorithm; algo; 训练阶段; 训练方式; 算法",
    "loss_type": "loss; loss type; preference loss; preference train loss; dpo loss; 损失; 损失函数; 损失类型",
    "model": "policy model; foundation model; actor model; model dir; 底座模型; 策略模型; 初始模型; 模型; 模型路径; 预训练模型; 被评模型",
    "dataset": "dataset name; train corpus; 数据; 训练集; 提示数据; 领域数据; 训练语料; 语料",
    "engine_kind": "rollout engine; inference engine; rollout backend; generation engine; 推理引擎; 采样引擎",
    "engine_tensor_parallel": "推理张量并行",
    "num_layers": "模型层数",
    "hidden_size": "model hidden; hidden dimension; 隐藏维度; 隐层维度",
    "num_heads": "注意力头数; 注意力头; 头数",
    "num_kv_heads": "kv头数; kv头",
    "intermediate_size": "mlp hidden; mlp dim; 前馈维度; 中间层大小",
    "vocab_size": "model vocab",
    "train_tokens": "total train token; 训练token数",
    "max_model_len": "engine seq length; server seq length",
    "gpu_memory_utilization": "engine memory fraction",
    "max_num_seqs": "max batch seq",
    "repetition_penalty": "重复惩罚",
    "stop_tokens": "stop; stop token; stop string; stop word; 停止符; 停止词",
    "nccl_timeout": "collective timeout",
    "hardware": "hardware; compute; 硬件配置; 训练硬件; 算力; 机器",
}
"""Variable (and `temperature`, `hardware`, which its company decides) -> further names that are one only in notes and in
formats of people's own: among keys a heading or the size of a value would have to bear them out."""

SCOPED: dict[str, dict[str, str]] = {
    "optimizer": {
        "optimizer": "name; type; kind; class; cls; _name; algo; algorithm",
        "learning_rate": "rate; peak",
        "weight_decay": "decay",
        "adam_epsilon": "eps",
        "grad_clip": "clip; norm; grad norm; clip value; max grad; max norm; grad",
    },
    "schedule": {
        "lr_schedule": "name; type; kind; policy; style; shape; decay; decay style; class",
        "learning_rate": "peak; max; base",
        "min_learning_rate": "min; floor; end; final",
        "max_steps": "total; total step; max step",
        "warmup_ratio": "ratio",
        "min_lr_ratio": "floor ratio; min ratio; end ratio; final ratio",
    },
    "model": {
        "model": "path; name path; name; id; source; from; init; base; checkpoint; pretrained; repo; hf; hub; weight",
        "model_dtype": "dtype; torch dtype",
        "flash_attention": "attention",
        "vocab_size": "vocab",
        "rope_theta": "theta",
        "max_position_embeddings": "max pos; max positions",
        "eos_token_id": "eos token; eos",
        "pad_token_id": "pad token; pad",
        "freeze": "freeze",
    },
    "student": {"model": "path; name; model; id; name path; base; checkpoint; init", "model_dtype": "dtype"},
    "data": {
        "dataset": "path; name; source; root; dir; file; train; train file; uri; id; repo; folder; src",
        "sequence_length": "len; max token; cutoff",
        "pin_memory": "pin; pinned",
    },
    "batch": {
        "micro_batch_size": "device; micro; local; micro device; device micro",
        "grad_accumulation": "accum",
        "global_batch_size": "global; total; effective",
    },
    "parallel": {
        "tensor_parallel": "tensor",
        "pipeline_parallel": "pipeline",
        "data_parallel": "data",
        "context_parallel": "ctx",
        "expert_parallel": "expert",
    },
    "rope": {
        "rope_theta": "theta; base",
        "rope_scaling_type": "type; kind; rope type; scaling type; scaling",
        "rope_scaling_factor": "factor; scale; scaling factor",
        "rope_original_positions": "original; original max position embeddings; original ctx; original len",
    },
    "rollout": {
        "num_generations": "n; sample; response; group; generation; sample prompt; response prompt",
        "rollout_batch_size": "prompt; batch; prompt step; prompt batch; prompt per rollout",
        "rollout_temperature": "temperature; sample temperature",
        "max_response_length": "max new token; max token; max response len; response len; max response; max response token; max len; max gen len",
        "max_prompt_length": "max prompt len; max prompt token; prompt len; prompt token; max prompt",
        "engine_kind": "engine; backend; kind; name; engine kind; engine name",
        "engine_tensor_parallel": "tensor parallel; tensor; tensor model parallel; engine tensor parallel",
        "gpu_memory_utilization": "device mem utilization; mem utilization; mem fraction; mem fraction static; mem; device mem fraction",
        "max_num_seqs": "max seqs; seqs",
        "max_model_len": "max model len",
    },
    "engine": {
        "engine_kind": "kind; name; type; backend",
        "engine_tensor_parallel": "tensor parallel; tensor; tensor model parallel",
        "engine_pipeline_parallel": "pipeline parallel; pipeline",
        "engine_data_parallel": "data parallel; replica; replicas",
        "gpu_memory_utilization": "device mem utilization; mem utilization; mem fraction; mem fraction static; mem; device mem fraction",
        "max_num_seqs": "max seqs; seqs; max running requests; max batch; slots",
        "engine_sleep": "sleep; sleep mode; sleep between; enable sleep mode; sleep level",
        "max_model_len": "max model len; max len; ctx len; ctx; max seq len",
        "rope_scaling_type": "rope type; rope scaling type; rope scaling rope type",
        "rope_scaling_factor": "rope factor; rope scaling factor",
        "rope_theta": "rope theta",
    },
    "length": {
        "max_prompt_length": "prompt; max prompt",
        "max_response_length": "response; max response; new",
        "sequence_length": "total; max; seq; max seq",
    },
    "loss": {"loss_type": "type; kind; name; variant"},
    "eval": {"eval_steps": "every; every step; step every"},
    "lora": {"lora_rank": "rank; r; dim", "lora_alpha": "alpha"},
    "save": {"save_steps": "every; step; every step", "save_total_limit": "keep; limit; keep last; last; max"},
    "log": {"log_steps": "every; step; every step"},
    "decode": {
        "max_response_length": "max new token; max token; max len; new token; max response; max response token; max new",
        "repetition_penalty": "repetition penalty; rep penalty; repetition; repeat penalty",
        "sampling": "do sample; sample; greedy",
        "stop_tokens": "stop; stop strings; stop tokens",
    },
    "algorithm": {},
    "init": {"init_std": "std; sigma; stddev"},
    "reward": {"reward_clip": "clip; clip value; clip range; max abs; limit"},
    "advantage": {"advantage_normalization": "normalization"},
    "kl": {
        "kl_coef": "coef; beta; weight; penalty; init coef; init",
        "kl_reward_coef": "reward coef; reward",
        "kl_loss_coef": "loss coef; loss",
        "kl_target": "target",
    },
}
"""What a short name means below a heading of that scope."""
SERVED: dict[str, dict[str, str]] = {
    "engine": {
        "model": "model source; model path; model; path; source; model id; model name; weight; weights",
        "model_dtype": "dtype",
    },
    "decode": {"sampling_temperature": "temperature"},
}
"""What belongs to the engine, or to decoding, where the file trains nothing."""
