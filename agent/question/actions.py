"""What can be acted on and how acting is said: two tables, of variables and of verbs, in English and Chinese.

How a clause puts a verb and a variable together is decided in `plans`.
"""

from __future__ import annotations

import re
from typing import Literal

from ...tools.patterns import bounded
from ...tools.registry import table

Direction = Literal["raise", "lower", "set", "enable", "disable", "remove", "do"]

VARIABLES: dict[str, str] = table(
    "variables in words",
    (
        ("learning_rate", r"learning[- _]?rates?|l\.?r\.?|学习率"),
        ("grad_clip", r"(?:grad(?:ient)?[- _]?)?clip(?:p?ing)?|max[_ ]grad[_ ]norm|grad_clip|梯度裁剪|裁剪|剪裁"),
        ("warmup_steps", r"warm[- ]?up(?:[_ ](?:steps|ratio))?|预热|热身"),
        ("weight_decay", r"weight[- _]?decay|wd|权重衰减"),
        ("grad_accumulation", r"grad(?:ient)?[- _]?accum\w*(?: steps)?|accumulation(?: steps)?|gas|梯度累[积计]"),
        ("micro_batch_size", r"(?:per[_ -]device[_ -]train[_ -]|micro[- _]?|per[- ]gpu )batch(?:[- _]?size)?|mbs|微批"),
        (
            "global_batch_size",
            r"(?:the |global[- _]|train[- _])?batch[- _]?size|gbs|bs|global batch|(?:the )?batch(?= ?(?:to|down|by"
            r"|from|=)|改|降|减|调|设|加)|批大小|批次大小|批量",
        ),
        (
            "sequence_length",
            r"(?:max[- _]?)?seq(?:uence)?[- _]?len(?:gth)?|max_seq_len|sequences?|truncat(?:e|ing)"
            r"|context(?:[- ](?:len(?:gth)?|window|size))?|序列长度|序列|上下文",
        ),
        ("max_model_len", r"max[- _]model[- _]len|上下文长度"),
        (
            "max_response_length",
            r"max[- _](?:response|completion|new)[- _](?:len(?:gth)?|tokens)|max_tokens|最大(?:回复|生成)长度|生成长度",
        ),
        (
            "gpu_memory_utilization",
            r"gpu[- _]mem(?:ory)?[- _]util(?:i[sz]ation)?|engine[- _]mem\w*|gpu_mem\w*|显存(?:占用|利用率?)(?:比例)?"
            r"|mem_fraction\w*",
        ),
        ("max_num_seqs", r"max[- _]num[- _]seqs|concurrency|并发"),
        ("kl_coef", r"KL\s*(?:系数|惩罚|权重)|kl(?:[- _]?(?:coef\w*|penalty|weight|loss[_ ]coef|term))?"),
        ("enable_prefix_caching", r"(?:enable_)?prefix[- _]?cach(?:e|ing)|前缀缓存"),
        ("dropout", r"drop-?outs?"),
        ("freeze", r"embeddings?|backbone|vision (?:tower|encoder)|冻结"),
        ("lr_schedule", r"(?:lr[- _]?|cosine )?schedul(?:e|er)|调度器?"),
        ("entropy_coef", r"entropy[- _]?(?:coef\w*|bonus|loss|term)|熵(?:系数|奖励|正则)"),
        ("dpo_beta", r"(?:dpo[- _]?)?beta(?![- _]?[12])"),
        ("rollout_temperature", r"(?:rollout |sampling )?temp(?:erature)?|采样温度|(?<!机器)(?<!显卡)温度"),
        ("repetition_penalty", r"rep(?:etition)?[- _]?penalty|重复惩罚"),
        ("num_generations", r"num[_ ]generations|group[- ]size|rollouts? per prompt|组大小|采样数"),
        ("epochs", r"(?:num[_ ](?:train[_ ])?)?epochs?|轮数?|epoch"),
        ("max_steps", r"max[_ ]steps|more steps|训练步数|步数"),
        ("precision", r"b?f(?:loat|p)?(?:16|32|8)|precision|amp|autocast|混合精度|精度"),
        ("loss_scale", r"loss[- _]scal\w*|loss\s*scale"),
        (
            "activation_checkpointing",
            r"(?:grad(?:ient)?|activation)[- _]checkpoint(?:ing)?|recompute|激活重(?:计算|算)|梯度检查点",
        ),
        ("flash_attention", r"flash[- _]?att\w*(?:[- ]?2)?|fa2|sdpa|xformers|attention kernel"),
        ("zero_stage", r"zero(?:[- _]?(?:stage)?[- _]?[123])?|ZeRO"),
        ("offload_optimizer", r"(?:cpu[- _]?|optimizer[- _]?)?offload(?:ing)?|卸载"),
        ("tensor_parallel", r"tensor[- _]?parallel(?:ism|_size)?|tp(?:[_ ]size)?|张量并行"),
        ("pipeline_parallel", r"pipeline[- _]?parallel\w*|pp(?:[_ ]size)?|流水线?并行"),
        ("num_workers", r"(?:dataloader )?(?:num[_ ])?workers|num_workers|加载进程"),
        ("pin_memory", r"pin[_ ]memory"),
        ("packing", r"packing|打包"),
        ("seed", r"(?:random )?seeds?|随机种子|种子"),
        ("lora_rank", r"lora[- _]?(?:rank|r)|rank(?! ?\d)|r(?= ?(?:=|to\b|从|到))|秩"),
        ("lora_alpha", r"(?:lora[- _]?)?alpha"),
        ("adam_beta2", r"(?:adam[- _]?)?beta_?2"),
        ("adam_epsilon", r"(?:adam[- _]?)?eps(?:ilon)?"),
        ("nccl_timeout", r"(?:nccl[- _]?|ddp[- _]?)?time[- ]?out|超时(?:时间)?"),
        ("nccl_p2p_disable", r"nccl[_ ]p2p[_ ]disable|p2p"),
        ("nccl_ib_disable", r"nccl[_ ]ib[_ ]disable|infiniband|ib"),
        ("top_p", r"top[-_ ]?p"),
        ("quantization", r"load_in_[48]bit|quanti[sz]ation|[48][- ]?bit|int[48]|量化"),
        ("chat_template", r"chat[- _]template|template|对话模板|模板"),
        ("tokenizer", r"tokeni[sz]er|分词器"),
        ("optimizer", r"optimi[sz]er|adamw?|sgd|muon|lion|优化器"),
        ("reward", r"reward(?: function| model)?|rm|奖励(?:模型|函数)?"),
        ("evaluation", r"eval(?:uation)?(?: harness| set)?|harness|评测"),
        (
            "library",
            r"transformers|trl|torch|pytorch|vllm|flash-attn|deepspeed|cuda|drivers?|libs?|librar(?:y|ies)"
            r"|packages?"
            r"|version|版本|依赖|库",
        ),
        (
            "hardware",
            r"(?:the |that |this |bad )?(?:node|gpu|machine|host|card)s?(?:[- ]?\d{1,4})?|hardware|机器|节点|卡|显卡",
        ),
        (
            "checkpoint",
            r"(?:last |step[- ]?\d+ |old(?:er)? |previous |earlier |the )?(?:checkpoint|ckpt)s?|weights|(?:to "
            r"|from "
            r"|back to )step[- ]?\d+\w*|检查点|断点|权重",
        ),
        (
            "data",
            r"(?:that |this |the |those |these |bad |which )*(?:data(?:[- ]?set)?|batch(?:es)?(?![-_ ]?size| (?:to"
            r"|down|by|from)\b|改|降|减|调|设|加| ?=)"
            r"|samples?"
            r"|rows?|records?|shards?|examples?|duplicates?|corpus)|de-?dup\w*|数据集?|样本|这一?批|那一?批|这个批次|那些?批次?"
            r"|语料|重复(?:的)?",
        ),
        ("code", r"code|script|commit|patch|(?:\w{1,12} )?refactor(?:ing)?|pull request|pr\b|代码|脚本|提交"),
        (
            "run",
            r"(?:the )?(?:run|job|training|server|process|whole thing|everything|it from scratch|from scratch)"
            r"|任务|训练"
            r"|进程|作业|服务",
        ),
    ),
)
"""Variable -> how it is said; the first that a clause names nearest to its verb is meant."""
SAID_AS = {
    name: bounded(
        rf"(?<![A-Za-z_])(?:{words})(?![A-Za-z])|(?<=[\u3400-\u9fff])(?:{words})(?=[\u3400-\u9fff0-9])", re.IGNORECASE
    )
    for name, words in VARIABLES.items()
}

VERBS: tuple[tuple[Direction, str, str], ...] = (
    (
        "disable",
        r"disabl(?:e|ing)|(?:turn|switch|flip|toggl)(?:e|ing)?(?: \S+){0,3} off|deactivate"
        r"|get(?:ting)? rid of"
        r"|(?:run|train|try|go|going)(?:ning|ing)? without|skip(?:ping)?(?= (?:the )?(?:warm|eval|packing))"
        r"|(?:drop"
        r"|kill)(?:ping|ing)?(?= (?:the )?(?:packing|flash|kl|amp|compile|clip))|no more",
        r"(?<![无有没相])关(?:掉|闭|上)?(?![系于键注心联])|禁用|去掉(?=.{0,6}(?:裁剪|惩罚|KL|预热|flash|packing|打包|编译|混合))|不用|停用|取消",
    ),
    (
        "raise",
        r"\d{1,3}x(?= the\b| our\b| my\b| l\.?r)|doubl(?:e|ing)|(?:train|run|do|add"
        r"|go)(?:ing)? (?:for )?\w{1,8} more|tripl(?:e|ing)|quadrupl(?:e|ing)|increas(?:e|ing)|rais(?:e|ing)"
        r"|bump(?:ing)?(?: up)?"
        r"|crank(?:ing)?(?: \S+){0,3}(?: up)?|push(?:ing)? up|turn(?:ing)?(?: \S+){0,3} up|go(?:ing)? up"
        r"|goes up"
        r"|scal(?:e|ing) up|up(?:ping)?(?=\s+the)|boost(?:ing)?|extend(?:ing)?|lengthen(?:ing)?|(?:us|try"
        r"|add|giv"
        r"|run|train)(?:e|ing)?(?: it| for)? (?:a |an? )?(?:much |far |even )?(?:bigger|larger|higher|longer"
        r"|more)",
        r"拉到|开到|提高|增大|调大|加大|翻倍|加倍|拉高|调高|拉长|增加|调长|升(?=到|高)|改大|放大|延长|设大|开大|加到|提到|多训|多跑|拉大|调高|提升|升",
    ),
    (
        "lower",
        r"halv(?:e|ing)|half(?= (?:the|my|our|it)\b)|truncat(?:e|ing)|cap(?:ping)?|lower(?:ing)?|reduc(?:e|ing)"
        r"|decreas(?:e|ing)|drop(?:ping)?(?= (?:it|them) (?:to"
        r"|down|by)"
        r"| to\b| (?:the |my |our )?(?:l\.?r|learning|batch|mbs|temp|kl|beta|seq|max|gpu|weight|engine|lora"
        r"|rank|num"
        r"|rollout))|cut(?:ting)?(?: down)?|shrink(?:ing)?|go(?:ing|es)? (?:back )?down|scal(?:e|ing) down"
        r"|turn(?:ing)?(?: \S+){0,3} down|dial(?:ling|ing)?(?: \S+){0,3} (?:down|back)"
        r"|bring(?:ing)?(?: \S+){0,3} down|shorten(?:ing)?|(?:us|try)(?:e|ing)?(?: a| an)? (?:much |far "
        r"|even )?(?:smaller|lower|shorter|fewer|less)",
        r"降低|减小|调小|减半|降(?=到|为|一|点)|调低|缩小|改小|减少|缩短|砍(?:半|到|一半)?|压低|压到|设小|调短|减到|减|截(?:断|短|到)|降(?![频级噪维])",
    ),
    (
        "enable",
        r"enabl(?:e|ing)|(?:turn|switch)(?:ing)?(?: \S+){0,3} on|activat(?:e|ing)|clip(?:ping)?(?= (?:the|our|my"
        r"|grad|at|it))|freez(?:e|ing)|add(?:ing)?|us(?:e|ing)"
        r"|try(?:ing)?|put(?:ting)? in|why not|how about|pin(?= mem)|introduc(?:e|ing)|apply(?:ing)?",
        r"开启|打开|启用|加上?(?!大|到|倍|载)|用上|上(?=梯度|flash|ZeRO|LoRA|个)|开(?=梯度|flash|ZeRO|LoRA|激活|一下|个"
        r"|混合|packing|overlap|检查点)|试试|引入|使用",
    ),
    (
        "remove",
        r"remov(?:e|ing)|exempt(?:ing)?|tak(?:e|ing)(?: \S+){1,3} out|pull(?:ing)?(?: \S+){1,3} (?:out|from)"
        r"|delet(?:e|ing)|filter(?:ing)?(?: \S+){0,2}(?: out)?|skip(?:ping)?|drop(?:ping)?"
        r"|throw(?:ing)?(?: \S+){0,2} (?:out|away)|discard(?:ing)?|exclud(?:e|ing)|blacklist(?:ing)?"
        r"|clean(?:ing)?(?: up)?|de-?dup(?:licate|e|ing)?|prun(?:e|ing)|wip(?:e|ing)|toss(?:ing)?|purg(?:e"
        r"|ing)"
        r"|strip(?:ping)?",
        r"删(?:掉|除|了)?|过滤(?:掉)?|跳过|丢(?:掉|弃)?|剔除|剔|去掉|移除|清洗|清(?:掉|理)|去重|扔掉?|筛掉?|去除|洗一遍",
    ),
    (
        "set",
        r"set(?:ting)?|go(?:ing)?(?: from| to|(?= b?fp?\d))|chang(?:e|ing)|switch(?:ing)?|swap(?:ping)?|mov(?:e"
        r"|ing) to|go(?:ing)? with"
        r"|pin(?:ning)?"
        r"|fix(?:ing)?|mak(?:e|ing)|replac(?:e|ing)",
        r"设(?:成|为|置|到)?|改(?:成|为|到|用|回)?|换(?:成|到|个|用|回|掉)?|切(?:换)?(?:到|成|回)?|调(?:成|到|为|回)?"
        r"|用(?=\s*(?:bf16|fp16|fp32|sdpa|\d))|固定|(?:调整|定|配|弄|搞|给|放)(?:到|成|为)",
    ),
    (
        "do",
        r"re-?start(?:ing)?|resum(?:e|ing)|re-?run(?:ning)?|re-?train(?:ing)?|roll(?:ing)?(?: \S+){0,3} ?back"
        r"|revert(?:ing)?|upgrad(?:e|ing)|downgrad(?:e|ing)|reboot(?:ing)?|re-?launch(?:ing)?|kill(?:ing)?"
        r"|stop(?:ping)?|continu(?:e|ing)|re-?build(?:ing)?|re-?install(?:ing)?|re-?tokeni[sz](?:e|ing)"
        r"|re-?shuffl(?:e|ing)|retry|start(?:ing)? (?:over|again)|updat(?:e|ing)|merg(?:e|ing)|requeue"
        r"|cordon(?:ing)?|drain(?:ing)?|go(?:ing)? back|rewind(?:ing)?|bisect(?:ing)?|reset(?:ting)?|redo"
        r"|let it run"
        r"|keep (?:going|training|running)|ship(?:ping)?|deploy(?:ing)?|regenerat(?:e|ing)|relabel(?:l?ing)?"
        r"|patch(?:ing)?|carry on",
        r"重启|续训|重跑|重训|重新(?:训练|跑|开始|启动|下载|编译|安装|分词|切|生成|标注)|回滚|回退|升级|降级|杀掉|停掉"
        r"|停(?=了|下)|继续(?:训|跑)?|恢复|重装|再(?:跑|训|来一)(?:一?[遍次])?|从头|更新|退回|上线|发布|接着(?:训|跑)|打补丁",
    ),
)
"""Direction, its verbs (never in the past form), its Chinese verbs; what stands earlier wins where two begin alike."""
ACTS: list[tuple[Direction, re.Pattern[str]]] = [
    (d, bounded(rf"(?<![A-Za-z-])(?:{en})(?![A-Za-z])|{zh}", re.IGNORECASE)) for d, en, zh in VERBS
]
