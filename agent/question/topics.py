"""What people blame: each topic with the words for it, and the entries and settings that are about it.

A row of the table is all that a topic is. An entry belongs to a topic by its name or by the variable that its fix
changes, so an entry that a person adds belongs to one too. How a mention is meant is decided in `understand`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...knowledge.entry import Entry
from ...knowledge.search import Hit
from ...tools.patterns import Sought
from ...tools.phrase import Phrase
from ...tools.registry import table

SIZED = (
    r" (?:is |was |being |looks |got )?(?:way |far |much |too |so |very |really )*(?:small|large|big|huge|tiny)"
    r"|\s?(?:设|设置|开|调|取)?得?(?:实在|有点|是不是)?[太过偏][大小]"
)
"""What follows a "batch" whose size is spoken of, and not what is in it."""


@dataclass(frozen=True)
class Topic:
    """One thing that people suspect."""

    id: str
    name: Phrase
    words: str
    """English words, as alternatives of a pattern that is matched between word boundaries, case ignored."""
    zh: str
    """Chinese words, as alternatives of a pattern."""
    entries: str
    """Names of the entries about it, as alternatives of a pattern that must match a whole name."""
    variables: tuple[str, ...] = ()
    """Canonical settings that it is about."""
    codes: tuple[str, ...] = ()
    """Findings that say by themselves that it is so, whatever follows from it."""

    @cached_property
    def said(self) -> Sought:
        return Sought(rf"(?<![A-Za-z])(?:{self.words})(?![A-Za-z])|{self.zh}", re.IGNORECASE)

    def about(self, entry: Entry) -> bool:
        """Whether the entry is a failure of this kind."""
        fix = entry.fix.variable if entry.fix else ""
        return fix in self.variables or re.fullmatch(self.entries, entry.id) is not None


def _topic(
    id: str, en: str, zh: str, words: str, han: str, entries: str, variables: str = "", codes: str = ""
) -> tuple[str, Topic]:
    """A topic; the name that answers give it is one of its words: people repeat that."""
    named = re.escape(en.removeprefix("the "))
    return id, Topic(id, Phrase(en, zh), rf"{words}|{named}", rf"{han}|{zh}", entries, tuple(variables.split()),
                     tuple(codes.split()))  # fmt: skip


TOPICS: dict[str, Topic] = table(
    "topics",
    (
        _topic(
            "learning-rate",
            "the learning rate",
            "学习率",
            r"learning[- ]?rates?|(?:peak |max |base )?l\.?r\.?s?|step size|(?:cosine |lr |l\.r\. |rate )?schedul(?:e"
            r"|er)(?: decay)?",
            r"学习率|学习速率|步长",
            r"loss-nan-high-lr|.*-lr-.*|lr-.*|dpo-kl-explosion|loss-oscillation",
            "learning_rate min_learning_rate lr_schedule",
        ),
        _topic(
            "gradient-clipping",
            "gradient clipping",
            "梯度裁剪",
            r"(?:grad(?:ient)?s?[- _]?)?clip(?:p?ing|p?ed|s)?|gradients?(?! (?:norm|check|accum))"
            r"|max[_ ]grad[_ ]norm",
            r"梯度裁剪|裁剪|剪裁|梯度截断",
            r"grad-clip-saturation|grad-explosion",
            "grad_clip",
        ),
        _topic(
            "data-order",
            "the order of the data",
            "数据顺序",
            r"(?:data|sample|batch|doc(?:ument)?|example)[- ]?order(?:ing)?"
            r"|order of (?:the |our )?(?:data|docs|documents|samples|batches|examples|shards)"
            r"|(?:docs|documents|data|samples|batches|examples) (?:\w{1,10} ){0,4}(?:different|wrong|same) order"
            r"|(?:docs|documents|data|samples|examples) (?:\w{1,10} ){0,3}(?:un)?shuffled|shuffl(?:e|ing|ed)"
            r"|curriculum|data mix(?:ture)?|mixture",
            r"(?:数据|样本|读取|语料|batch)\s?(?:的)?顺序|洗牌|打乱|乱序|数据(?:配比|混合)|配比",
            r"data-mixture-drift|noisy-data-mixture",
        ),
        _topic(
            "data",
            "the data",
            "数据",
            r"(?:(?:training|train|bad|dirty|our|the|new|this|that|corrupt(?:ed)?|broken"
            r"|poisoned)[- ])*(?:data(?:[- ]?sets?)?|samples?|batch|batches|shards?|records?|corpus"
            r"|examples?)(?! ?(?:size|loader|parallel|mix|order)"
            rf"|(?<=batch)(?:{SIZED}))"
            r"|dedup(?:lication)?|duplicates?|duplicated (?:documents|docs|rows|texts?)|labels?(?! smoothing)"
            r"|annotations?|preference pairs",
            r"数据(?!加载|顺序|并行|读取|配比|混合|泄)|样本|脏数据|坏(?:数据|样本|batch)|语料|标注|重复数据|这批"
            r"|那批"
            r"|那一批|标签",
            r"loss-nan-bad-data|noisy-data-mixture|.*data.*|duplicate-surge|ranks-share-samples|pii-.*|preference-gap-too-small|kto-label-imbalance"
            r"|knowledge-overinjection"
            r"|annotation-disagreement|toxic-data|av-text-desync|all-labels-masked|loss-mask-misaligned"
            r"|sid-index-missing",
            "dataset",
        ),
        _topic(
            "tokenizer",
            "the tokenizer",
            "分词器",
            r"tokeni[sz](?:er|ers|ation|ing)|bpe|sentencepiece|vocab(?:ulary)?(?: size)?|special tokens?"
            r"|bos(?: token)?",
            r"分词器?|词汇?表|特殊\s*token",
            r"device-side-assert|tokenizer-.*|vocab-.*|double-bos|untrained-special-tokens|pad-eos-misconfig",
        ),
        _topic(
            "precision",
            "the number format",
            "数值精度",
            r"(?:mixed[- ])?precision|b?f(?:loat)?p?(?:16|32|8)|fp(?:16|32|8)|bf16|half precision|amp|autocast"
            r"|(?:over|under)flow(?:ing)?"
            r"|tf32|mxfp\d|nvfp\d|dtype|numerics?|numerical(?: (?:issue|instability|stability))?",
            r"(?:混合|低)?精度|半精度|[上下]?溢出?(?=了|$|[，。？])|溢出|数值(?:问题|稳定|不稳定)",
            r"precision-.*|bf16-.*|both-precisions-on|fp16-.*|loss-scale-collapse|unstable-op"
            r"|attention-kernel-nan",
            "precision",
        ),
        _topic(
            "batch-size",
            "the batch size",
            "批大小",
            rf"batch(?={SIZED})|(?:(?:global|micro|mini|train"
            r"|per[- ]device|effective)[- _]?)*batch(?:[- _]?sizes?)|bs|gbs|mbs"
            r"|grad(?:ient)?[- _]?accum(?:ulation)?(?: steps)?",
            r"批(?=次?(?:实在)?[太过][大小])|批大小|批次大小|批量大小|全局批|梯度累[积计]",
            r"gbs-.*|lr-batch-mismatch|group-size-.*|grad-accum-.*",
            "global_batch_size micro_batch_size grad_accumulation train_batch_size rollout_batch_size",
        ),
        _topic(
            "warmup",
            "the warm-up",
            "预热",
            r"warm[- ]?up(?:[_ ](?:steps|ratio))?",
            r"预热|热身",
            r"warmup-.*|cpt-lr-restart",
            "warmup_steps warmup_ratio",
        ),
        _topic(
            "loss-scale",
            "the loss scale",
            "loss scale",
            r"loss[- _]?scal(?:e|er|ing)|(?<!grad )(?<!gradient )scaler|grad(?:ient)?[- _]?scal(?:e|er|ing)",
            r"损失缩放|(?:动态)?缩放(?:因子|系数)",
            r"loss-scale-.*|fp16-overflow-.*",
            "loss_scale",
        ),
        _topic(
            "kl-coefficient",
            "the KL coefficient",
            "KL 系数",
            r"kl(?:[- _]?(?:coef(?:f(?:icient)?)?|penalt(?:y|ies)|weight|term|beta|control(?:ler)?|target))?"
            r"|dpo beta",
            r"KL\s*(?:系数|惩罚|权重|项)",
            r".*-?kl-.*|negative-kl|diversity-loss",
            "kl_coef kl_target dpo_beta",
        ),
        _topic(
            "reward-model",
            "the reward",
            "奖励模型",
            r"reward(?:[- ](?:models?|functions?|fn|hacking|signal|shaping))?|rm|verifier|judge|grader",
            r"奖励(?:模型|函数|黑客)?|打分(?:模型|器)|裁判",
            r"reward-.*|rm-.*|rlvr-.*|judge-bias|zero-advantage-groups|response-length-collapse",
            "reward_clip",
        ),
        _topic(
            "hardware",
            "the hardware",
            "硬件",
            r"hard[- ]?ware|hbm(?: stack)?|dram|rack|chassis|the card|gpus?(?= (?:is|are|was|were|died|has|have) )"
            r"|[ahbv]\d{2,3}s|[ahb]\d00|gpu\d|(?:bad|faulty|broken|dying|flaky|dead|the|that|this"
            r"|our|one) (?:gpu(?! mem)|node"
            r"|card|host|machine|cable"
            r"|nvlink)s?"
            r"|ecc(?: errors?)?|xid|nvlink|overheat(?:ing)?|thermal(?:s| throttling)?|throttl(?:e|ing)|pcie"
            r"|driver|dimms?|cosmic rays?|bit[- ]?flips?|power supply|psus?|cooling"
            r"|gpu (?:fault|failure|died|is (?:bad|dying|broken))|node",
            r"硬件|坏卡|(?:[这那]|旧|新)+块?(?:显卡|gpu)|(?<=是)卡(?![住死顿在了])|卡(?=有?(?:故障|坏|问题))|(?:显卡"
            r"|gpu) ?(?=坏|掉|挂|没|有?问题|出|故障|不|的锅|吧|呢|吗|应该|肯定)|机器(?:坏|问题"
            r"|故障)?|(?:这|那)(?:张|块)卡|过热|降频|驱动|节点",
            r"gpu-.*|degraded-link|cuda-version-mismatch|illegal-memory-access|invalid-device-ordinal",
        ),
        _topic(
            "network",
            "the network",
            "网络",
            r"networks?|nccl|infini ?band|ib|roce|nic|ethernet|interconnect|(?:the |network |bad )switch(?:es)?"
            r"|switches|rdma|firewall"
            r"|optics?|transceivers?|gloo"
            r"|communication|comms?",
            r"网络|网卡|光模块|光纤|网线|(?<=是)网(?![络卡线])|交换机|通信|带宽|防火墙",
            r"nccl-.*|network-.*|comm-.*|multinode-.*|dist-init-.*|degraded-link|hub-.*|timeout-hides-error"
            r"|gpu-p2p-hang",
            "nccl_p2p_disable nccl_ib_disable nccl_timeout",
        ),
        _topic(
            "memory",
            "the memory",
            "内存与显存",
            r"(?:gpu |host |cpu |system |shared )?(?:memory|ram|vram|(?<=gpu )mem)(?:[- ](?:leak|fragmentation"
            r"|pressure))?"
            r"|oom(?:[- ]?killer)?|out of memory|kv[- ]?cache|fragmentation|shm|leak(?:ing|s)?(?= memory)"
            r"|(?<!model )swap(?! of| in)",
            r"(?:显存|内存)(?:泄[漏露]|碎片)|显存|内存|爆显存|共享内存|内存泄漏|碎片",
            r".*oom.*|memory-leak|host-memory-.*|shared-memory-.*|vllm-device-conflict",
            "gpu_memory_utilization activation_checkpointing zero_stage offload_optimizer offload_params max_num_seqs",
        ),
        _topic(
            "checkpoint",
            "the checkpoint",
            "检查点",
            r"(?:bad |broken |corrupt(?:ed)? |the )?(?:check[- ]?points?|ckpts?|resum(?:e|ing|ed)"
            r"|weights(?: file)?"
            r"|safetensors|state dict|merg(?:ed|ing) (?:the )?(?:model|weights|adapters?|checkpoint)|(?:lora|weight"
            r"|model|adapter) merg(?:e|ing))",
            r"检查点|断点|存档|权重|续训|恢复训练|合并(?!请求)",
            r"checkpoint-.*|resume-.*|empty-weights-saved|truncated-safetensors|.*weight-sync.*",
            "checkpoint save_total_limit",
        ),
        _topic(
            "optimizer",
            "the optimizer",
            "优化器",
            r"optimi[sz]er(?: states?)?|adam(?:w)?(?: beta2?| eps(?:ilon)?)?|beta_?2|muon|lion|momentum"
            r"|adafactor|sgd",
            r"优化器|动量",
            r"oom-optimizer-states|weight-decay-.*|zero-overlap-.*|unstable-op|deepspeed-.*",
            "adam_beta2 adam_epsilon optimizer",
        ),
        _topic(
            "chat-template",
            "the chat template",
            "对话模板",
            r"chat[- _]?templates?|prompt[- ](?:templates?|formats?)|templates?|system prompt|stop (?:tokens?"
            r"|strings?)"
            r"|chatml|jinja|role tags?|eos(?: token)?(?:_id)?",
            r"对话模板|聊天模板|模板|提示词格式|停止(?:符|词)|结束符",
            r"chat-template-.*|endless-generation|loss-mask-.*|tool-call-.*|pad-eos-.*",
            "chat_template eos_token_id stop_tokens",
        ),
        _topic(
            "padding",
            "the padding",
            "填充",
            r"pad(?:ding)?(?:[- _](?:side|tokens?|id|token_id))?|attention mask|loss mask(?:ing)?"
            r"|label mask(?:ing)?"
            r"|packing|packed",
            r"填充|掩码|打包",
            r"pad-.*|padding-.*|packing-.*|loss-mask-.*|all-labels-masked",
            "pad_token_id packing",
        ),
        _topic(
            "sequence-length",
            "the sequence length",
            "序列长度",
            r"sequences?(?! parallel)|(?:max[- _]?)?(?:seq(?:uence)?|context|ctx|model|prompt|response"
            r"|completion|max)[- _]?len(?:gth)?s?|(?:length|token) limit"
            r"|long[- ]context|context window|\d+k context|rope(?:[- ]scaling| theta)?|yarn|truncat(?:ion|ed|ing)"
            r"|max[_ ]tokens|cut ?off",
            r"序列长度|上下文(?:长度)?|长上下文|截断|序列(?!化|并行)(?:太长)?|最大长度|长度限制",
            r"context-.*|long-context-.*|rope-.*|short-data-.*|completions-truncated|eval-output-truncated"
            r"|kv-cache-oom",
            "sequence_length max_model_len rope_scaling_type rope_scaling_factor rope_theta "
            "max_response_length "
            "max_prompt_length",
        ),
        _topic(
            "contamination",
            "contamination",
            "数据污染",
            r"contaminat(?:ion|ed)|leak(?:age|ed|s)?|test[- ](?:set )?leak(?:age)?|train(?:ed"
            r"|ing)? on (?:the )?test"
            r"|(?:benchmark|eval|test)(?:[- ](?:set|items?|data|questions?))? leak\w*|memori[sz](?:ed|ation|ing)",
            r"污染|泄[露漏题]|背题|(?:测试|评测|验证|考)(?:集|题|数据|样本)?(?:是不是|有没有"
            r"|会不会)?[^没无不，。]{0,6}(?:混[进入到]|漏[题进到了]|泄[露漏题])(?:了?训练(?:集|数据)?)?"
            r"|训练(?:集|数据|语料)?[里中]?(?:面|头)?(?:混)?有(?:了)?(?:测试|评测|验证|考)(?:集|题|数据|样本)",
            r".*contamination|eval-leakage|rlvr-memorization",
        ),
        _topic(
            "overfitting",
            "overfitting",
            "过拟合",
            r"over[- ]?fit(?:t?ing|s|t?ed)?|too many epochs|memori[sz]ing the (?:train|data)\w*",
            r"过拟合|轮数太多|训(?:练)?过头",
            r"overfitting|catastrophic-forgetting|rlvr-memorization",
            "epochs",
        ),
        _topic(
            "sampling",
            "the sampling parameters",
            "采样参数",
            r"(?:sampling|sampler|generation|decoding)(?: (?:params?|parameters?|temperature|settings|config))"
            r"|sampling|sampler|min[-_ ]p|temperature|temp|top[-_ ]?[pk]"
            r"|repetition[- _]?penalty|decoding(?: params?)?|greedy",
            r"采样|(?<!机器)(?<!显卡)温度|解码参数|重复惩罚",
            r"sampling-.*|repetitive-output|entropy-.*|constrained-.*",
            "sampling_temperature rollout_temperature repetition_penalty top_p",
        ),
        _topic(
            "engine",
            "the inference engine",
            "推理引擎",
            r"v ?llm|sglang|tgi|tensorrt(?:-llm)?|inference (?:engine|server)|rollout (?:engine|worker)s?|engine"
            r"|weight sync|stale weights|off[- ]policy|stale(?:ness)?",
            r"推理引擎|推理框架|引擎|权重同步",
            r"engine-.*|.*engine.*|vllm-.*|slow-rollout|stale-.*|off-policy-.*|weight-sync-.*|inference-.*"
            r"|lora-not-applied-.*",
        ),
        _topic(
            "weight-decay",
            "the weight decay",
            "权重衰减",
            r"weight[- _]?decay|wd|l2(?: regulari[sz]ation)?",
            r"权重衰减|正则",
            r"weight-decay-.*",
            "weight_decay",
        ),
        _topic(
            "attention-kernel",
            "the attention kernel",
            "注意力内核",
            r"(?:flash|paged|sdpa|fused|xformers)[- _]?(?:attention|attn)(?:[- ]?\d)?|attention(?: kernels?"
            r"| implementation| backend)?|fa[-_ ]?[23]|sdpa|kernels?|triton|cuda graphs?|torch\.?compile"
            r"|compile(?:r)?",
            r"注意力(?:核|内核|实现|算子)?|算子|内核|编译",
            r"attention-.*|kernel-.*|op-build-.*|illegal-memory-.*|extension-abi-.*",
            "flash_attention",
        ),
        _topic(
            "initialization",
            "the initialization",
            "初始化",
            r"init(?:iali[sz]ation)?|random init|init[_ ]std|warm[- ]start(?:ing|ed)?|freez(?:e|ing)"
            r"|frozen (?:layers?|params?)",
            r"初始化|冻结",
            r"bad-init|frozen-.*",
            "init_std freeze",
        ),
        _topic(
            "reference-model",
            "the reference model",
            "参考模型",
            r"ref(?:erence)?[- ](?:model|policy|log-?probs?)|chosen and rejected|rejected answers?",
            r"参考模型|参考策略",
            r"dpo-chosen-reward-falling|dpo-loss-stuck-ln2",
        ),
        _topic(
            "critic",
            "the critic",
            "价值模型",
            r"critic|value[- ](?:function|head|model|network|loss)|advantages?|gae",
            r"价值(?:模型|函数|网络|头)|优势(?:估计|函数)?",
            r"critic-failure",
            "advantage_normalization",
        ),
        _topic(
            "codec",
            "the codec",
            "编解码器",
            r"codec|codebooks?|r?vq|vae|quantizer levels?|reconstruction",
            r"码本|编解码|残差量化|重建",
            r"codec-.*|codebook-collapse|rvq-level-imbalance",
        ),
        _topic(
            "instability",
            "an unstable training",
            "训练不稳定",
            r"(?:training |general )?instabilit(?:y|ies)|unstable training|non-?convergence|local (?:minimum"
            r"|minima|optimum)",
            r"训练不稳定|局部最优",
            r"loss-nan|rl-no-convergence|loss-oscillation",
        ),
        _topic(
            "throughput",
            "the throughput",
            "吞吐",
            r"throughput|bottleneck|compute[- ]bound|mfu",
            r"吞吐|瓶颈",
            r"low-throughput",
        ),
        _topic(
            "logging",
            "the logging",
            "日志",
            r"(?:our |the )?logging(?: interval| config)?|logger|missing metrics",
            r"日志(?:太少|不全|配置)|打点",
            r"insufficient-logging",
        ),
        _topic(
            "seed",
            "the seed",
            "随机种子",
            r"(?:random )?seeds?|bad luck|randomness|rng|unlucky",
            r"随机种子|种子|运气",
            r"loss-jitter-.*",
            "seed",
        ),
        _topic(
            "parallelism",
            "the parallel layout",
            "并行配置",
            r"(?:tensor|pipeline|data|context|expert|sequence)[- ]?parallel(?:ism)?|parallelism|tp|pp|dp|fsdp"
            r"|zero(?:[- ]?[123])?|deepspeed|ddp|shard(?:ing|ed)|moe(?: (?:routing|balance))?|expert(?:s)?"
            r"|world size|pipeline stages?"
            r"|ranks",
            r"张量并行|流水线?并行|数据并行|并行(?:度|配置|策略)?|专家",
            r"deepspeed-.*|zero-.*|zero3-.*|parallel-.*|moe-.*|collective-.*|gpu-load-.*|rank0-.*"
            r"|empty-weights-saved",
            "tensor_parallel pipeline_parallel context_parallel world_size zero_stage engine_tensor_parallel",
        ),
        _topic(
            "disk-full",
            "a full disk",
            "磁盘满",
            r"disks? (?:\w{1,12} ){0,3}full|full disks?|(?:out of|no|enough|low) (?:disk )?space|disk space"
            r"|no space left(?: on device)?|enospc|quota",
            r"(?:磁盘|硬盘|存储|盘)(?:空间)?(?:是不是|是否|会不会|已经|都|被)?[写塞占]?(?:满|不足|不够)"
            r"|没(?:有)?空间|配额",
            r"checkpoint-save-failure",
            codes="disk-full quota-reached",
        ),
        _topic(
            "tools",
            "the tools or the sandbox",
            "工具或沙箱",
            r"sandbox(?:es)?(?: pool)?|tools?(?! ?(?:call(?:s|ing)? )?(?:format|schema|template|pars))"
            r"|tool (?:calls?|servers?)|(?:reward|verifier|execution|environment|env) (?:service|server)s?",
            r"沙箱|工具(?!调用格式|格式)|(?:奖励|验证|执行|环境)服务",
            r"part-of-system-failing|retry-storm|tool-call-format-error",
        ),
        _topic(
            "dataloader",
            "the data loader",
            "数据加载",
            r"(?:data|file|our|the)?[- ]?loaders?|data[- ]?loading|data pipeline|num[- _]?workers?|workers"
            r"|prefetch(?:ing)?|i/?o|disk(?! (?:\w{1,12} ){0,3}(?:full|space))|storage|nfs"
            r"|lustre|s3"
            r"|file ?system|preprocessing|input pipeline",
            r"数据加载|加载数据|数据读取|读取?数据|数据(?:管道|流水线)|(?:磁盘|存储)(?!.{0,6}(?:满|不足|不够))|加载器",
            r"dataloader-.*|h2d-.*|shared-memory-.*|data-path-.*|stale-dataset-cache|rank0-work-.*|cuda-fork-.*"
            r"|checkpoint-save-failure",
            "num_workers pin_memory",
        ),
        _topic(
            "evaluation",
            "the evaluation",
            "评测",
            r"eval(?:uation|uations|s|uator)?(?:[- ](?:set|harness|code|script|setup|config|prompt|split))?"
            r"|harness"
            r"|bench(?:mark)?s?|metric(?:s)? (?:code|computation)|few[- ]?shot|answer (?:parser|extraction)"
            r"|parser"
            r"|scor(?:er|ing)|validation (?:set|split|data)",
            r"评测|测评|评估|评分脚本|评测(?:集|脚本|框架)|验证集|打分脚本|答案(?:解析|抽取)",
            r"eval-.*|judge-bias|benchmark-.*",
        ),
        _topic(
            "lora",
            "LoRA",
            "LoRA",
            r"q?lora(?:[- _](?:rank|alpha|r|adapter|merge|target modules?))?|adapters?|peft|rank \d+",
            r"适配器|秩",
            r"lora-.*|empty-weights-saved|untrained-special-tokens|finetune-no-effect|frozen-.*",
            "lora_rank lora_alpha freeze",
        ),
        _topic(
            "quantization",
            "the quantization",
            "量化",
            r"quanti[sz](?:ation|ed|ing|e)(?: (?:weights|models?|checkpoints?|ckpts?))?|awq|gptq|int[48]"
            r"|4[- ]?bit|8[- ]?bit|bnb|bitsandbytes|nf4|gguf",
            r"量化|[48]\s*比特",
            r"quantization-.*|bf16-unsupported",
        ),
        _topic(
            "library-version",
            "a library version",
            "库版本",
            r"(?:torch|pytorch|transformers|trl|cuda|driver|flash-attn|peft|accelerate|deepspeed|vllm|numpy|nccl|sglang"
            r"|megatron|ray|triton|xformers|bitsandbytes) ?(?:==|v|version )?\d{1,3}(?:\.\w{1,6}){1,3}(?: wheel)?"
            r"|(?:library|package|lib|torch|pytorch|transformers|trl|cuda|driver|flash-attn|peft|accelerate"
            r"|deepspeed"
            r"|vllm|numpy)?[- ]?(?:versions?|upgrad(?:e[ds]?|ing)|release|wheel)"
            r"|(?:upgrad(?:ed|ing)|bump(?:ed|ing)|updat(?:ed|ing)) (?:to )?(?:torch|pytorch|transformers|trl|cuda"
            r"|drivers?|vllm|peft|accelerate|deepspeed|numpy|flash-attn)|dependenc(?:y|ies)|environment|conda|pip"
            r"|docker image"
            r"|incompatib\w+|new (?:torch|transformers|trl|vllm|cuda)",
            r"版本|新版|旧版|依赖|升级|环境|镜像|装包|兼容",
            r"dependency-.*|.*version.*|package-.*|renamed-argument|extension-.*|vllm-install-.*|op-build-.*",
        ),
        _topic(
            "code-change",
            "a change in the code",
            "代码改动",
            r"(?:the |our |my |a )?(?:code(?:[- ]?(?:change|bug))?|bugs?|commits?|refactor(?:ing|ed)?"
            r"|patch(?:es)?"
            r"|pull request|pr|merge request|custom (?:loss|trainer|model|code)|implementation|script"
            r"|recent change|merge|rebase|(?:git )?diff|monkey[- ]?patch|hack"
            r"|regression)|model code|framework bug|megatron bug",
            r"代码|改动|提交|重构|框架|实现(?:有|错)|脚本",
            r"blame-code-first|.*-mismatch|renamed-argument|grad-accum-.*|parallel-.*|loss-mask-.*|.*-misconfig",
        ),
    ),
)
"""More particular topics stand before broader ones whose words theirs contain."""


def of_entry(entry: Entry) -> Iterable[Topic]:
    """The topics that an entry is about."""
    return (topic for topic in TOPICS.values() if topic.about(entry))


def of_hits(hits: Sequence[Hit]) -> Topic | None:
    """Entries that were looked up as a topic of their own, named as the first; None for none."""
    if not hits:
        return None
    first = hits[0].entry
    return Topic(first.id, first.title, "(?!)", "(?!)", "|".join(re.escape(h.entry.id) for h in hits))


def mentions(text: str) -> list[tuple[Topic, int, int]]:
    """Topics named in a text with the place of each name: longer names win where two overlap."""
    found = [(t, m.start(), m.end()) for t in TOPICS.values() for m in t.said.finditer(text)]
    kept: list[tuple[Topic, int, int]] = []
    for topic, start, end in sorted(found, key=lambda f: f[1] - f[2]):
        if all(end <= s or start >= e for _, s, e in kept):
            kept.append((topic, start, end))
    return sorted(kept, key=lambda f: f[1])
