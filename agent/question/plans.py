"""What a person is about to do: a variable, a direction, a value, told by verbs in the base form and by intention.

What was done already ("I halved the rate") is no plan, and neither is advice that somebody else follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...tools.patterns import bounded
from ...tools.registry import table
from .parts import clauses
from .topics import TOPICS

Direction = Literal["raise", "lower", "set", "enable", "disable", "remove", "do"]


@dataclass(frozen=True)
class Plan:
    """One action that the person has in mind."""

    variable: str
    """Canonical setting, or what else would be acted on: `data`, `checkpoint`, `code`, `run`."""
    direction: Direction
    value: str
    """As typed, empty where none is named."""
    text: str
    """The words that say it."""


_NAMES: dict[str, str] = table(
    "variables in words",
    (
        ("learning_rate", r"learning[- _]?rates?|l\.?r\.?|学习率"),
        ("grad_clip", r"(?:grad(?:ient)?[- _]?)?clip(?:ping)?|max[_ ]grad[_ ]norm|grad_clip|梯度裁剪|裁剪|剪裁"),
        ("warmup_steps", r"warm[- ]?up(?:[_ ](?:steps|ratio))?|预热|热身"),
        ("weight_decay", r"weight[- _]?decay|权重衰减"),
        ("grad_accumulation", r"grad(?:ient)?[- _]?accum\w*(?: steps)?|gas|梯度累[积计]"),
        ("micro_batch_size", r"(?:per[_ -]device[_ -]train[_ -]|micro[- _]?|per[- ]gpu )batch(?:[- _]?size)?|mbs|微批"),
        (
            "global_batch_size",
            r"(?:the |global[- _]|train[- _])?batch[- _]?size|gbs|bs|global batch|(?:the )?batch(?= (?:to|down|by"
            r"|from)\b|$|改|降|减|调|设|加)|批大小|批次大小|批量",
        ),
        ("sequence_length", r"(?:max[- _]?)?seq(?:uence)?[- _]?len(?:gth)?|max_seq_len|context length|序列长度"),
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
        ("kl_coef", r"kl(?:[- _]?(?:coef\w*|penalty|weight|loss[_ ]coef|term))?|KL\s*(?:系数|惩罚|权重)"),
        ("dpo_beta", r"(?:dpo[- _]?)?beta"),
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
        ("lora_rank", r"(?:lora[- _]?)?(?:rank|r)|lora_r|秩"),
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
        ("hardware", r"(?:the |that |this |bad )?(?:node|gpu|machine|host|card)s?|hardware|机器|节点|卡|显卡"),
        (
            "checkpoint",
            r"(?:last |step[- ]?\d+ |old(?:er)? |previous |earlier |the )?(?:checkpoint|ckpt)s?|weights|(?:to "
            r"|from "
            r"|back to )step[- ]?\d+\w*|检查点|断点|权重",
        ),
        (
            "data",
            r"(?:that |this |the |those |these |bad |which )*(?:data(?:[- ]?set)?|batch(?:es)?(?![-_ ]?size)"
            r"|samples?"
            r"|rows?|records?|shards?|examples?|duplicates?|corpus)|数据集?|样本|这一?批|那一?批|这个批次|那些?批次?"
            r"|语料|重复(?:的)?",
        ),
        ("code", r"code|script|commit|patch|pr\b|代码|脚本|提交"),
        (
            "run",
            r"(?:the )?(?:run|job|training|server|process|whole thing|everything|it from scratch|from scratch)"
            r"|任务|训练"
            r"|进程|作业|服务",
        ),
    ),
)
"""Variable -> how it is said; the first that a clause names nearest to its verb is meant."""
_BOUNDED = {
    name: bounded(
        rf"(?<![A-Za-z_])(?:{words})(?![A-Za-z])|(?<=[\u3400-\u9fff])(?:{words})(?=[\u3400-\u9fff0-9])", re.IGNORECASE
    )
    for name, words in _NAMES.items()
}

_VERBS: tuple[tuple[Direction, str, str], ...] = (
    (
        "disable",
        r"disabl(?:e|ing)|(?:turn|switch|flip|toggl)(?:e|ing)?(?: \S+){0,3} off|deactivate"
        r"|get(?:ting)? rid of"
        r"|(?:run|train|try|go|going)(?:ning|ing)? without|skip(?:ping)?(?= (?:the )?(?:warm|eval|packing))"
        r"|(?:drop"
        r"|kill)(?:ping|ing)?(?= (?:the )?(?:packing|flash|kl|amp|compile|clip))|no more",
        r"关(?:掉|闭|上)?|禁用|去掉(?=.{0,6}(?:裁剪|惩罚|KL|预热|flash|packing|打包|编译|混合))|不用|停用|取消",
    ),
    (
        "raise",
        r"doubl(?:e|ing)|tripl(?:e|ing)|quadrupl(?:e|ing)|increas(?:e|ing)|rais(?:e|ing)|bump(?:ing)?(?: up)?"
        r"|crank(?:ing)?(?: \S+){0,3}(?: up)?|push(?:ing)? up|turn(?:ing)?(?: \S+){0,3} up|go(?:ing)? up"
        r"|goes up"
        r"|scal(?:e|ing) up|up(?:ping)?(?=\s+the)|boost(?:ing)?|extend(?:ing)?|lengthen(?:ing)?|(?:us|try"
        r"|add|giv"
        r"|run|train)(?:e|ing)?(?: it| for)? (?:a |an? )?(?:much |far |even )?(?:bigger|larger|higher|longer"
        r"|more)",
        r"提高|增大|调大|加大|翻倍|加倍|拉高|调高|拉长|增加|调长|升(?=到|高)|改大|放大|延长|设大|开大|加到|提到|多训|多跑|拉大|调高|提升|升",
    ),
    (
        "lower",
        r"halv(?:e|ing)|lower(?:ing)?|reduc(?:e|ing)|decreas(?:e|ing)|drop(?:ping)?(?= (?:it|them) (?:to"
        r"|down|by)"
        r"| to\b| (?:the |my |our )?(?:l\.?r|learning|batch|mbs|temp|kl|beta|seq|max|gpu|weight|engine|lora"
        r"|rank|num"
        r"|rollout))|cut(?:ting)?(?: down)?|shrink(?:ing)?|go(?:ing|es)? (?:back )?down|scal(?:e|ing) down"
        r"|turn(?:ing)?(?: \S+){0,3} down|dial(?:ling|ing)?(?: \S+){0,3} (?:down|back)"
        r"|bring(?:ing)?(?: \S+){0,3} down|shorten(?:ing)?|(?:us|try)(?:e|ing)?(?: a| an)? (?:much |far "
        r"|even )?(?:smaller|lower|shorter|fewer|less)",
        r"降低|减小|调小|减半|降(?=到|为|一|点)|调低|缩小|改小|减少|缩短|砍(?:半|到|一半)?|压低|压到|设小|调短|减到|减|降",
    ),
    (
        "enable",
        r"enabl(?:e|ing)|(?:turn|switch)(?:ing)?(?: \S+){0,3} on|activat(?:e|ing)|add(?:ing)?|us(?:e|ing)"
        r"|try(?:ing)?|put(?:ting)? in|why not|how about|pin(?= mem)|introduc(?:e|ing)|apply(?:ing)?",
        r"开启|打开|启用|加上?(?!大|到|倍|载)|用上|上(?=梯度|flash|ZeRO|LoRA|个)|开(?=梯度|flash|ZeRO|LoRA|激活|一下|个"
        r"|混合|packing|overlap|检查点)|试试|引入|使用",
    ),
    (
        "remove",
        r"remov(?:e|ing)|delet(?:e|ing)|filter(?:ing)?(?: \S+){0,2}(?: out)?|skip(?:ping)?|drop(?:ping)?"
        r"|throw(?:ing)?(?: \S+){0,2} (?:out|away)|discard(?:ing)?|exclud(?:e|ing)|blacklist(?:ing)?"
        r"|clean(?:ing)?(?: up)?|de-?dup(?:licate|e|ing)?|prun(?:e|ing)|wip(?:e|ing)|toss(?:ing)?|purg(?:e"
        r"|ing)"
        r"|strip(?:ping)?",
        r"删(?:掉|除|了)?|过滤(?:掉)?|跳过|丢(?:掉|弃)?|剔除|剔|去掉|移除|清洗|清(?:掉|理)|去重|扔掉?|筛掉?|去除|洗一遍",
    ),
    (
        "set",
        r"set(?:ting)?|chang(?:e|ing)|switch(?:ing)?|swap(?:ping)?|mov(?:e|ing) to|go(?:ing)? with"
        r"|pin(?:ning)?"
        r"|fix(?:ing)?|mak(?:e|ing)|replac(?:e|ing)",
        r"设(?:成|为|置|到)?|改(?:成|为|到|用|回)?|换(?:成|到|个|用|回|掉)?|切(?:换)?(?:到|成|回)?|调(?:成|到|为|回)?"
        r"|用(?=\s*(?:bf16|fp16|fp32|sdpa|\d))|固定",
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
        r"|停(?=了|下)|继续(?:训|跑)?|恢复|重装|再跑一?(?:遍|次)|从头|更新|退回|上线|发布|接着(?:训|跑)|打补丁",
    ),
)
"""Direction, its verbs (never in the past form), its Chinese verbs; what stands earlier wins where two begin alike."""
_ACTS = [(d, re.compile(rf"(?<![A-Za-z-])(?:{en})(?![A-Za-z])|{zh}", re.IGNORECASE)) for d, en, zh in _VERBS]

_ALONE = (
    ("library", re.compile("upgrad|downgrad|pin|install|升级|降级|重装", re.IGNORECASE)),
    ("checkpoint", re.compile("roll|rewind|back|回滚|回退|退回", re.IGNORECASE)),
)
"""What a verb without an object acts on."""

_INTENT = re.compile(
    r"\b(?:should (?:i|we)|shall (?:i|we)|can (?:i|we)|could (?:i|we)|may i|do (?:i|we) (?:need|have) to"
    r"|need to"
    r"|ought to"
    r"|(?:i|we)(?:'?ll| will| am| are|'?m|'?re| was| were| would| wanna| want| plan| intend| could| might"
    r"| can"
    r"| should| just| gotta| have)\b"
    r"|(?:i|we)['’]?d (?:like|rather|just)|gonna|going to|about to|planning|plan(?: is)? to|the plan"
    r"|thinking (?:of"
    r"|about)|tempted|considering|let'?s|lets|let me|want to|wanna"
    r"|what if|how about|what about|ok(?:ay)? to|safe to|fine to|ok if|worth|why (?:not|don'?t)"
    r"|why can'?t (?:i|we)"
    r"|would it (?:help|be)|does it help to"
    r"|will it help|would .{1,40} help|(?:can|could|should) just|just|simply|fix(?:ing)? (?:it )?by|next step"
    r"|try(?:ing)?|before i|my fix|instead|please|pls|good idea|good plan|plan:|any objections?"
    r"|unless (?:you|that)"
    r"|make sense|does .{1,40} help|is .{1,40} enough)\b"
    r"|打算|准备|想(?!不|起|问)|要不要|能不能|可不可以|可以(?:吗|么|不)|行(?:吗|不行|么)|好吗|直接|干脆|应该|要不"
    r"|是不是(?:该|要|可以|得)|需要|该不该|试试|不如|先|就(?=把|先|直接|行)|把|为什么不|怎么不|计划|考虑|有必要"
    r"|有用吗|会好|一下",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:already|yesterday|last (?:night|week|run|time)|after (?:i|we)|when (?:i|we)|(?:don'?t|do not"
    r"|not going to"
    r"|won'?t|never) (?:touch|change|want)|did(?:n'?t)?|has|have been|had|was|were)\b(?=.{0,60}$)"
    r"|已经|早就|昨天|刚才|刚刚|之前|上次|试过|过了|改完|调完|换完|没有?用",
    re.IGNORECASE,
)
_IMMINENT = re.compile(r"要|准备|打算|想|把.{1,20}(?:吧|吗|行|可以)")
_VALUE = bounded(
    r"(?:\b(?:to|at|=|by|of)\s*|到|成|为|用)\s*(~?[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?\s?[%kKxX]?|b?f(?:loat"
    r"|p)?(?:16|32"
    r"|8)|true|false|none|sdpa|eager|adamw?|sgd)(?![\w.])"
    r"|(?<![\w.-])(\d+(?:\.\d+)?(?:e[-+]?\d+)?[%xX]?|bf16|fp16|fp32)(?![\w.])",
    re.IGNORECASE,
)


_SHIFT = re.compile(
    r"(?:\b(?:goes |going |moves |stays |dropped )?(?P<way>up|down)?\s*(?:to|=|->|→)|降到|到|改成"
    r"|设成)\s*(?P<value>~?\d+(?:\.\d+)?(?:e[-+]?\d+)?k?)",
    re.IGNORECASE,
)
"""A variable and its next value without any verb: "temperature to 0.7"."""


def plans(sentence: str, spoken_of: str = "") -> Iterator[Plan]:
    """The actions that one sentence has in mind: an intention, a verb that begins a clause, a value to go to.

    Args:
        spoken_of: the variable that was named last before it, which "it" means.
    """
    meant = _INTENT.search(sentence) is not None
    for clause in clauses(sentence):
        for plan in _of_clause(clause, spoken_of) if not _PAST.search(clause) else ():
            if meant or plan.value or _begins(clause):
                yield plan
        spoken_of = last_named(clause) or spoken_of


def last_named(text: str) -> str:
    """The variable that a text names last, empty for none."""
    return next((name for _, _, name in reversed(_named(text))), "")


def _begins(clause: str) -> bool:
    return any(m.start() <= 1 for _, pattern in _ACTS for m in pattern.finditer(clause[:40]))


def _of_clause(clause: str, spoken_of: str) -> Iterator[Plan]:
    """The actions of one clause; a verb without an object acts on what was spoken of before it."""
    acts = sorted(
        (m.start(), order, direction, m)
        for order, (direction, pattern) in enumerate(_ACTS)
        for m in pattern.finditer(clause)
    )
    covered, alone = -1, not spoken_of and len({m.start() for *_, m in acts}) == 1
    for start, _, direction, verb in acts:
        done = clause[verb.end() :].startswith("了") and not _IMMINENT.search(clause)
        if start < covered or done:
            continue
        covered = verb.end()
        variable = _object(clause, verb) or ("" if direction == "do" else spoken_of)
        if not variable and direction == "do":
            variable = next((name for name, verbs in _ALONE if verbs.search(verb[0])), "run" if alone else "")
        value = next((a or b for a, b in _VALUE.findall(clause[verb.end() :])), "") if direction != "do" else ""
        if variable:
            yield Plan(variable, _meant(direction, variable, value), value.strip(), clause)
    if not acts and (shift := _SHIFT.search(clause)):
        named = [n for n in _named(clause) if n[0] < shift.end()]
        if named:
            way = shift["way"] or ""
            direction = "lower" if way in ("down", "降") else "raise" if way in ("up", "升") else "set"
            yield Plan(max(named)[2], direction, shift["value"], clause)


def _meant(direction: Direction, variable: str, value: str) -> Direction:
    """The direction once it is known what is acted on."""
    if direction == "remove" and variable == "global_batch_size":
        return "lower" if value else direction
    if direction == "remove" and value and variable not in ("data", "checkpoint"):
        return "lower"
    if direction == "remove" and variable not in ("data", "checkpoint", "code", "run", "hardware", "library"):
        return "disable"
    if direction == "enable" and (value or variable in ("library", "optimizer", "tokenizer", "seed")):
        return "set"
    if direction in ("set", "enable") and variable in ("checkpoint", "run", "library", "code"):
        return "do" if direction == "enable" else "set"
    return direction


def _named(clause: str) -> list[tuple[int, int, str]]:
    """Place, minus length, and name of every variable in a clause; one inside a longer one is left out."""
    spans = sorted(
        (-len(m[0]), m.start(), name) for name, pattern in _BOUNDED.items() for m in pattern.finditer(clause)
    )
    kept: list[tuple[int, int, str]] = []
    for size, start, name in spans:
        if all(start - size <= s or start >= s - k for s, k, _ in kept):
            kept.append((start, size, name))
    return sorted(kept)


def _object(clause: str, verb: re.Match[str]) -> str:
    """The variable that the verb acts on: inside it, the nearest after it, else, as Chinese says it, before it."""
    named = _named(clause)
    inside = [n for n in named if verb.start() < n[0] < verb.end()]
    after = [n for n in named if n[0] >= verb.end() - 1 and n[0] - verb.end() < 40]
    before = [n for n in named if n[0] < verb.start() and verb.start() - n[0] < 40]
    han = re.search(r"[\u3400-\u9fff]", verb[0]) is not None
    if inside:
        return inside[0][2]
    if (
        before
        and han
        and (not after or re.search(r"[把将从给]", clause[: verb.start()]) or after[0][0] - verb.end() > 4)
    ):
        return before[-1][2]
    if after:
        return after[0][2]
    return before[-1][2] if before and not han and verb.start() - before[-1][0] < 14 else ""


def topic_of(variable: str) -> str:
    """The topic whose setting a variable is, empty for none."""
    return next((t.id for t in TOPICS.values() if variable in t.variables), "")
