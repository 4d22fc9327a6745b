"""Error signatures of the checks that trainers make of their settings and data: TRL, verl, OpenRLHF, ms-swift,
LLaMA-Factory, DeepSpeed, Megatron, Lightning, Transformers."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .signature import S0, S1, Signature

ALONE = r"(must|should|has to|needs to) be (at least 2|(greater|larger|more) than (1|one)|> ?1|>= ?2)"
"""How a check says that one is too few."""
FP16, BF16 = r"[`'\"]?(--)?(fp16|float16|FP16)[`'\"]?", r"[`'\"]?(--)?(bf16|bfloat16|BF16)[`'\"]?"
EITHER = rf"({FP16} (and|or|/|&|with) {BF16}|{BF16} (and|or|/|&|with) {FP16})"
"""The two half precisions, named together."""

ROWS = (
    Signature(
        "group-of-one", S0,
        rf"(num_generations|n_samples_per_prompt|rollout\.n|num_return_sequences|group.?size|responses per prompt).{{0,40}}{ALONE}|requires at least 2 (generations|samples|responses) per prompt",
        "a group of one sample has nothing to compare with", "组内只有一个样本，没有可比的对象",
        ("ValueError: num_generations must be greater than 1 for RLOO", "AssertionError: n_samples_per_prompt should be > 1 for group_norm", "ValueError: rollout.n must be larger than 1 for GRPO",
         "ValueError: GRPO requires at least 2 generations per prompt to calculate the advantages. You provided 1"),
        ("num_generations: 8", "group size should be 8"),
    ),
    Signature(
        "groups-without-signal", S1,
        r"num_gen_batches ?= ?\d+ ?>= ?max_num_gen_batches|Generated too many\. Please check if your data are too difficult|[Aa]ll (groups|prompts) .{0,40}(filtered|zero (std|variance|advantage)).{0,40}(stop|abort|giv|exceed)",
        "batch after batch is thrown away because all answers of a group have the same reward", "一批批样本因组内奖励全相同而被丢弃",
        ("ValueError: num_gen_batches=6 >= max_num_gen_batches=6. Generated too many. Please check if your data are too difficult.",),
        ("num_gen_batches=3. Keep generating...", "There are still std=0 groups present after 3 retries."),
    ),
    Signature(
        "both-precisions-refused", S0,
        rf"(cannot|can't|Can't|Cannot|can not|not allowed to) (set|use|enable|specify|have|turn on|pass) (both )?{EITHER}|{EITHER}.{{0,30}}(cannot|can't|can not|must not|should not|may not) (both )?be|{EITHER} (are|is) mutually exclusive|([Oo]nly|[Aa]t most) one of {EITHER}",
        "fp16 and bf16 are both on", "fp16 和 bf16 同时打开",
        ("AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled".replace("modes ", "") , "ValueError: Can't set both fp16 and bf16", "AssertionError: cannot use both `fp16` and `bf16`",
         "ValueError: fp16 and bf16 are mutually exclusive", "argument check: only one of --bf16 or --fp16 may be given"),
        ("fp16=False, bf16=True", "bf16 and fp16 kernels are built"),
    ),
    Signature(
        "both-precisions-refused", S0,
        r"(bfloat16|bf16|fp16|float16) and (bfloat16|bf16|fp16|float16) (modes?|precision|training) (cannot|can't|can not|must not) (both )?be",
        "fp16 and bf16 are both on", "fp16 和 bf16 同时打开",
        ("AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled",),
        ("bf16 and fp16 modes are supported",),
    ),
    Signature(
        "deepspeed-config-error", S0,
        r"ZeRO-Offload with a client provided optimizer|[Zz]e[Rr][Oo] stage \d .{0,20}requires an optimizer|ZeRO inference only makes sense with ZeRO Stage 3|[Pp]ipeline parallelism .{0,40}(not|in)compatible with ZeRO|validation errors? for DeepSpeed\w{0,20}Config|Either train_batch_size or train_micro_batch_size_per_gpu needs to be|auto` values.{0,60}(not|cannot)|ZeRORuntimeException: You are using|ZeRO-?3 .{0,60}(not supported|is not compatible|cannot be used)|stage3_gather_\w{1,40}(must|needs to|should) be|`device_map`? .{0,40}(with|in) DeepSpeed|You can't use `?device_map`? .{0,40}DeepSpeed",
        "DeepSpeed refuses its configuration", "DeepSpeed 拒绝该配置",
        ("deepspeed.runtime.zero.utils.ZeRORuntimeException: You are using ZeRO-Offload with a client provided optimizer (<class 'torch.optim.adamw.AdamW'>)",
         "AssertionError: zero stage 2 requires an optimizer", "ValueError: ZeRO inference only makes sense with ZeRO Stage 3 - please adjust your config",
         "AssertionError: Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided"),
        ("DeepSpeed ZeRO stage 3 enabled", "ZeRO-Offload with DeepSpeedCPUAdam"),
    ),
    Signature(
        "exception-in-scheduler", S0,
        r"Tried to step \d+ times\. The specified number of total steps is|number of total steps is \d+\b.{0,20}[Tt]ried|[Ww]arm-?up.?(steps|iters|ratio|tokens)\w{0,10}.{0,40}(must|should|has to|needs to) (be (less|smaller|lower|fewer)|lie in|be in|not exceed|be (strictly )?between)|OptimizerParamScheduler: class input value|(min_lr|min_lr_rate).{0,60}should be set through|Expected positive integer total_steps",
        "the learning-rate schedule stopped it: a value of it is of the wrong kind or out of its range", "是学习率调度出的错：它的某个取值类型不对或越界",
        ("ValueError: Tried to step 1001 times. The specified number of total steps is 1000", "AssertionError: The warmup_steps (2000) must be less than the total number of steps (1000)",
         "ValueError: warmup_ratio must lie in range [0,1]", "AssertionError: OptimizerParamScheduler: class input value 5000 and checkpoint value 9000 for total number of iterations do not match"),
        ("warmup_steps: 100", "lr scheduler: cosine, warmup iters 200"),
    ),
    Signature(
        "argument-error", S0,
        r"'(\w{0,40}(Training|Trainer|Model|Data)Arguments|\w{1,20}Config|Namespace)' object has no attribute '(?:[a-z]\w{1,20}_\w{1,40})'|ConfigKeyError: |Key '\w{1,60}' is not in struct|Extra inputs are not permitted|remaining_argv: \[|[Uu]nknown (config )?(argument|option|key|parameter)s?: |[Uu]nrecognized (config )?(argument|option|key|parameter)s?: ",
        "an argument is unknown, missing or of the wrong type", "参数未知、缺失或类型错误",
        ("AttributeError: 'TrainingArguments' object has no attribute 'evaluation_strategy'", "omegaconf.errors.ConfigKeyError: Key 'rollout_len' is not in struct",
         "ValueError: remaining_argv: ['--lora_dim', '8']"),
        ("WARNING Unknown config key: foo, ignored", "t.py: error: unrecognized arguments: --max_int 3", "AttributeError: 'NoneType' object has no attribute 'shape'"),
        must_not=r"(?i)ignor|warning|\berror: un(known|recognized) ",
    ),
    Signature(
        "data-schema-mismatch", S0,
        r"[Cc]annot find valid samples|[Tt]rain(ing)? ?data_?loader is empty|[Dd]atas?et .{0,40}(must|should) (have|contain) (a |an |the )?['\"`]\w{1,40}['\"`] (column|field|key)|[Nn]o ['\"`]?\w{1,40}['\"`]? (column|field) (was )?(found )?in (the )?data|[Uu]n(known|supported) data(set)? (format|type)|[Ii]nvalid (conversation|message|data|dataset) format|cannot mix list and non-list|too many dimensions 'str'|[Mm]issing (required )?(column|field|key)s? .{1,60} in (the )?(dataset|data|sample|record|example)",
        "rows of the data are not of the form or length that the program expects", "数据行的格式或长度不是程序所期望的",
        ("RuntimeError: Cannot find valid samples, check `data/README.md` for the data format.", "AssertionError: Train dataloader is empty!", "ValueError: No 'messages' column found in the dataset",
         "ValueError: The dataset must have a 'prompt' column", "pyarrow.lib.ArrowInvalid: cannot mix list and non-list, non-null values"),
        ("No label column in dataset, skipping evaluation", "dataset format: alpaca", "ValueError: expected sequence of length 512 at dim 1 (got 388)"),
        must_not=r"(?i)skipping|warning|ignor",
    ),
    Signature(
        "collective-mismatch", S0,
        r"Cannot apply desired operation due to shape mismatches|DDP expects same model across all ranks|appears not to match (sizes|strides) of the same param in process|operands to (scatter/gather|all_?gather) must have the same size|all_?gather.{0,60}(different|same) (size|shape)s? (on|across|in) (all |the )?(ranks|processes)|gather.{0,60}shape mismatch (across|between) (ranks|processes)",
        "ranks did not bring the same to a collective: shapes or parameters differ between them", "各 rank 交给集合通信的内容不一致：形状或参数不同",
        ("accelerate.utils.operations.DistributedOperationException: Cannot apply desired operation due to shape mismatches. All shapes across devices must be valid.",
         "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 290 params, while rank 0 has inconsistent 291 params."),
        ("all_gather took 3 ms", "shapes match across processes"),
    ),
    Signature(
        "global-batch-not-divisible", S0,
        r"[a-z_.]{0,40}batch_size \(?\d+\)? (must|should) be (>=|at least|(greater|larger) than( or equal to)?) ([a-z_]{1,20}\.){0,4}[a-z_]{0,20}(mini|micro)_?batch_size|(mini|micro)_batch_size(_per_gpu)? 0 should be larger than 0",
        "the batch is smaller than the parts that it is split into", "批大小小于要切分成的小批",
        ("ValueError: train_batch_size (16) must be >= actor.ppo_mini_batch_size (128)", "AssertionError: ppo_mini_batch_size 0 should be larger than 0 after normalization"),
        ("ppo_mini_batch_size: 64",),
    ),
    Signature(
        "sizes-not-divisible", S0,
        r"num_query_groups \(?\d*\)? ?(must|should) be (a multiple of|divisible by)|[Dd]ata parallel size .{0,20}must be divisible by (the )?number of nodes|world_size is not divisible by",
        "a size of the model or of the job is no multiple of the parallel size that splits it", "模型或作业的某个尺寸不是切分它的并行数的整数倍",
        ("AssertionError: num_query_groups (2) must be a multiple of tensor_model_parallel_size (4)", "AssertionError: data parallel size must be divisible by number of nodes"),
        ("num_query_groups: 8",),
    ),
    Signature(
        "collective-mismatch", S0, r"Expected to mark a variable ready only once",
        "ranks did not run the same collective", "各 rank 没有执行相同的集合通信",
        ("RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons",),
        ("all variables are marked ready",),
    ),
    Signature(
        "file-missing", S0, r"BuilderConfig '.{1,80}' not found|Config name is missing\. Please pick one|Unknown split \"\w{1,40}\"\. Should be one of",
        "a part of a data set that is asked for is not there", "数据集里没有所要求的子集或划分",
        ("ValueError: Unknown split \"validation\". Should be one of ['train'].", "ValueError: BuilderConfig 'zh' not found. Available: ['default']"),
        ("Generating train split: 100 examples",),
    ),
)  # fmt: skip
