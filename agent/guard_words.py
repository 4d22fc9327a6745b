# ruff: noqa: E501  (patterns are read as a table)
"""The words by which the guards recognise an instruction, a cause, advice or a claim of having acted, in two languages."""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


INSTRUCTION = _any(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|rule|prompt|guideline|polic|previous|above|evidence|finding|guard)",
    r"\byou are (?:now|no longer)\b|\b(?:system|developer) (?:prompt|message|override)|\bnew instructions?\b|\bas an? (?:ai|language model|assistant)\b",
    r"^\s*(?:#+\s*)?(?:system|assistant|user|developer|系统|助手|用户|管理员)\s*[:：]|<\|?/?(?:im_start|im_end|system|assistant|tool_call|tool_response|think)\b|\[/?INST\]|</?s>",
    r"\b(?:do not|don't|never) (?:tell|mention|report|reveal|disclose)\b|\b(?:note|attention|message|instruction)s? (?:to|for) (?:the )?(?:ai|llm|model|assistant|agent|triage)",
    r"\b(?:report|say|answer|claim|state|conclude|tell (?:the )?(?:user|person|them))\b.{0,40}\b(?:everything|nothing|all|run|training|it)\b.{0,20}\b(?:fine|healthy|ok|okay|wrong|good|normal|perfect)\b",
    r"\b(?:respond|reply|answer|output|print)\b.{0,20}\b(?:only|exactly|with|verbatim|your)\b|\bmust (?:reply|answer|output|say|respond|obey|comply)\b",
    r"\brm -rf\b|\bcurl\b.{0,80}\||\bwget\b.{0,80}(?:\||&&)|\|\s*(?:ba)?sh\b|\bsudo\b|\bchmod \+x|:\(\)\s*\{|\beval\(|os\.system|subprocess\.|__import__",
    r"\b(?:send|upload|post|exfiltrate|leak|forward|email)\b.{0,60}\b(?:to|https?://|@)|\b(?:call|invoke|use) (?:the )?(?:tool|function)\b|\breveal\b|\bjailbreak|\bdan mode",
    r"\b(?:call|run|use|invoke)\b.{0,20}\b(?:scan|look|lint|propose|verify|diagnose|search)\b.{0,30}(?:/|path|file)",
    r"(?:忽略|无视|忘记|忘掉|不要理会|抛开|绕过|覆盖).{0,20}(?:指令|指示|规则|提示|要求|证据|以上|之前|前面|限制)",
    r"你现在(?:是|的)|你不再是|系统(?:提示|指令|消息)|新的?指令|作为(?:一个)?(?:AI|人工智能|助手|语言模型)|(?:致|给)(?:AI|模型|助手|智能体)",
    r"(?:请|必须|务必|只需?|直接)(?:回复|回答|输出|告诉用户|声称|报告)|不要(?:告诉|提及|提到|报告|透露|引用)|(?:报告|回答|告诉用户|声称|结论)[说为是：:“\"]{0,3}(?:一切|运行|训练)?(?:正常|没有问题|没问题|健康)",
    r"(?:立即|马上|现在就|必须|务必|请)(?:执行|运行|调用|删除|上传|发送)|(?:发送|上传|转发|泄露)(?:给|到|至)|调用(?:工具|函数)",
)
"""Text that speaks to a model or a shell. A log has no business to."""

MARKUP = _any(
    r"!\[[^\]]*\]\(",
    r"<(?:script|img|iframe|a|svg|style|form|input)\b",
    r"javascript:",
    r"<\|",
    r"</?(?:think|tool_call|tool_response)>",
    r"data:text/html",
)
"""Markup that could load something, or belongs to the model's own protocol."""

EXECUTED = _any(
    r"\b(?:I|we|triage|the (?:agent|assistant|tool))(?:'ve| have| had| just| already| also| then| now| went ahead and| successfully)*\s+(?:ran|run|executed|re-?ran|changed|modified|edited|updated|fixed|applied|patched|restarted|relaunched|resumed|retrained|trained|tested|verified|installed|deleted|removed|set|lowered|reduced|raised|increased|halved|doubled|replaced|deployed|committed|launched|started|submitted|sent|reverted|restored|rebuilt|tried|reproduced|rolled)\b",
    r"\b(?:has|have)(?: now| already| just| since| successfully)* been (?:successfully )?(?:fixed|repaired|resolved|patched|applied|changed|updated|corrected|restarted|modified|edited|lowered|reduced|raised|increased|halved|verified|deployed|rolled back|solved|set|rerun|executed)\b",
    r"\b(?:is|are|was|were) (?:now|successfully|already) (?:fixed|resolved|running|stable|repaired|correct|set|applied|patched|solved|verified|restarted|healthy|lowered|changed)\b",
    r"\b(?:fix|patch|repair|change|workaround|update) (?:was|is|has been|got) (?:applied|deployed|made|done|verified|confirmed|tested|in place)|\bsuccessfully (?:ran|applied|fixed|executed|restarted|changed|patched|verified)|\b(?:problem|issue|bug) (?:is |was )?(?:solved|fixed|gone)\b",
    r"\b(?:re-?run|new run|second run|rerun|my run|test run|restart) (?:shows?|showed|finished|completed|confirms?|confirmed|passed|succeeded)|\bafter (?:I |we )?(?:re-?running|rerunning|applying|restarting|changing|patching)\b|\btests? (?:now )?pass",
    r"(?:我|我们|系统|助手|本工具)(?:已经?|刚刚?|刚才|现在|也|又|帮你|替你|为你|为您|都|先|直接)*(?:运行|执行|跑了|改了|改成|改为|修改|修复|修好|调整|调低|应用|重启|重新|更新|删除|替换|安装|部署|测试|验证|复现|提交|启动|设置|设为|降低|提高|把)",
    r"已(?:经)?(?:为你|帮你|替你|为您|成功|自动|全部|顺利)*(?:修复|修好|修改|改好|改为|改成|更改|更新|应用|执行|重启|重跑|运行|替换|删除|部署|安装|调整|解决|设置|降低|提高|验证|提交|启动|回滚)",
    r"(?:问题|故障|错误)(?:现在)?(?:已经?|都)?(?:解决|修复|消失)了|修好了|搞定了|跑通了|重跑(?:之)?后|重新(?:运行|训练)后",
)
"""Claims of having run, changed or mended something. Nothing here can."""

CERTAIN = _any(
    r"\b(?:definitely|certainly|clearly|undoubtedly|obviously|surely|without (?:a )?doubt|no doubt|proven|proves|confirmed|confirms|established|guaranteed|100 ?%|must be)\b",
    r"肯定|一定是|毫无疑问|无疑|显然|必然|确定(?:是|就)|证实|证明|确认(?:是|为)|就是因为|百分之百",
)
CAUSAL = _any(
    r"\b(?:root )?causes?\b(?! of)(?: here)? (?:is|was|are|were|lies)|\b(?:is|was|are|were|be|being|been) (?:\w+ly )?(?:caused|triggered|driven|produced|induced|explained) by",
    r"\b(?:is|was|are|were) (?:\w+ly )?(?:due to|because of|the (?:real |root |main |actual |only )?(?:cause|reason|culprit|problem|explanation))|\bbecause of\b|\bthe (?:root |real |main |actual )?(?:culprit|cause|reason)\b.{0,60}\b(?:is|was)\b",
    r"\b(?:stems?|stemmed|comes?|came|results?|resulted|arises?|arose) from\b|\b(?:caused|killed|broke|destroyed|triggered|led to|leads to|made|drove) (?:this|the|your|it|loss|training|a|an)\b|\b(?:explains|is responsible for|is to blame|is at fault)\b",
    r"\b(?:this|it|the run|your run|training|here)\b.{0,20}\b(?:is|was|suffers? from|suffered from|has|had|hit|shows) (?:a (?:case|classic case|clear case|textbook case) of|suffering from)|\bdiagnosis\s*(?:is|:)",
    r"原因(?:就|肯定|一定|显然|应该|很可能|可能|也许|或许|大概|正|其实|无疑)*(?:是|在于|为|：|出在)|(?:由|是)[^，。；]{0,30}(?:导致|引起|造成|触发|引发)(?:的)?|罪魁祸首|根因|源于|问题(?:就)?出在|是因为|(?:导致|引起|造成|引发)了|归咎于|诊断(?:结果)?(?:是|为|：)",
)
"""Words that say what caused this failure."""

HEDGE_LOW = _any(
    r"\b(?:may|might|could|possibl[ey]|perhaps|maybe|cannot be ruled out|can't be ruled out|one possibility|hypothes[ie]s|unclear|unknown|inconclusive|not (?:yet )?(?:established|proven|certain|clear|known)|would|if|whether|does not show|unlikely|suspect(?:ed)?|candidates?)\b|\?",
    r"可能|也许|或许|不排除|有一种可能|未必|不确定|尚未|还没有?|无法(?:确定|下结论|判断)|如果|若|是否|假设|怀疑|候选|会想到|没有这个现象|吗|？",
)
"""Says that something is possible, and no more."""
HEDGE_MIDDLE = _any(
    r"\b(?:likely|probabl[ey]|suggests?|points? (?:to|towards)|consistent with|speaks? for|supports?|supported|indicates?|in favou?r of|leading|appears?|seems?|evidence|for F\d|leads? the)\b",
    r"很可能|最可能|大概|倾向|表明|说明|指向|支持|符合|一致|证据|看起来|似乎|更像",
)
"""Says that evidence speaks for it."""
DENIED = _any(
    r"\b(?:ruled out|refuted|excluded|disproved|not the (?:cause|reason|culprit|problem)|nothing to do with|irrelevant|is innocent)\b",
    r"(?:已|可以)?(?:排除|否定)|不是(?:原因|由)|与.{0,12}无关",
)
_SOUND = r"(?:completely |perfectly |all |still )?(?:fine|healthy|clean|ok|okay|correct|sound|good|normal)\b"
REASSURED = _any(
    rf"\b(?:nothing (?:is |was )?wrong|everything (?:is|looks|seems) {_SOUND}|(?:run|training|job) (?:is|looks?|seems?) {_SOUND}|no problems?|safe to (?:ignore|continue|proceed)|no action (?:is )?needed|nothing to worry|ignore (?:the|this|it)\b)",
    r"一切正常|(?:这次)?(?:运行|训练)(?:是|都|完全|看起来)*(?:正常|健康|没有?问题)|无需(?:担心|处理)|不用(?:担心|管|再看)|可以忽略|放心",
)
"""Says that the run is sound: for a healthy run only."""
PART_SOUND = _any(
    rf"\b(?:data|dataset|config\w*|settings?|gpus?|hardware|network|code|checkpoints?|tokenizer|model|optimizer|driver)s? (?:is|are|looks?|seems?) {_SOUND}",
    r"(?:数据|数据集|配置|硬件|显卡|网络|代码|检查点|模型|分词器|优化器|驱动)(?:是|都|完全|看起来|本身)*(?:正常|健康|干净|没事|正确|没有?问题|无误)",
)
"""Says that a part of it is sound: only where a check looked at it."""

NEGATED = _any(
    r"\b(?:do not|don't|never|avoid|without|no need|not yet|rather than|instead of|leave|keep|unchanged|should not|shouldn't|must not|cannot|can't|nothing)\b",
    r"不要|别(?![的人处名样])|勿|不必|无需|避免|不建议|暂不|不应|不能|不可|不变|保持|不用|先不|没有|没|未|已",
)
VERBS = r"set|change|increase|decrease|reduce|lower|raise|halve|double|triple|cut|drop|bump|tune|adjust|enable|disable|turn|switch|use|try|add|remove|delete|replace|swap|upgrade|downgrade|install|reinstall|restart|re-?run|run|execute|resume|retrain|train|apply|kill|clear|move|rename|edit|modify|patch|freeze|unfreeze|scale|shrink|extend|lengthen|shorten|filter|deduplicate|shuffle|roll|revert|rebuild|download|curl|wget|pip|sudo|rm|chmod|ssh|export|send|paste|post|upload|email|share|open a shell|type|launch|start|stop|disable|skip|ignore|rewrite|cap|clip|normali[sz]e|put|go (?:to|back)|fall back"
_GERUNDS = r"setting|changing|increasing|decreasing|reducing|lowering|raising|halving|doubling|tripling|cutting|dropping|bumping|tuning|adjusting|enabling|disabling|turning|switching|using|trying|adding|removing|deleting|replacing|swapping|upgrading|downgrading|installing|reinstalling|restarting|re-?running|running|resuming|retraining|applying|clearing|editing|modifying|freezing|scaling|shrinking|extending|lengthening|shortening|filtering|deduplicating|shuffling|rolling|reverting|rebuilding|downloading|sending|clipping|capping|moving"
_PARTICIPLES = r"set|changed|increased|decreased|reduced|lowered|raised|halved|doubled|cut|dropped|tuned|adjusted|enabled|disabled|turned|switched|used|added|removed|deleted|replaced|swapped|upgraded|downgraded|installed|restarted|rerun|run|resumed|retrained|applied|edited|modified|frozen|scaled|shortened|lengthened|extended|filtered|shuffled|rolled|reverted|clipped|capped|moved|larger|smaller|higher|lower|longer|shorter"
_LEAD = r"(?:(?:and|then|also|next|first|second|finally|now|please|instead|simply|just|additionally|afterwards|meanwhile|therefore|so|or|either|alternatively|in addition|at the same time|step \d+|to fix (?:this|it)|as a fix|fix)[,:]? +)*"
_URGE = r"(?:you|we|one|they|i|it)?(?:'d| would| will| may| might)? ?(?:(?:should|could|can|must|need(?:s)? to|ought to|want to|have to|has to|better to|best to|recommend(?:ed)?(?: that you)?(?: to)?|suggest(?:ed)?(?: that you)?|advise(?: you)?(?: to)?|propose(?: to)?|consider|try(?: to)?|remember to|make sure to|be sure to|go ahead and|let's|let us|feel free to|is to|are to|worth)[ ,]+(?:also |then |just |simply |either |now |first |even |probably |instead )*)"
ADVICE = _any(
    rf"^{_LEAD}(?:{VERBS})\b(?= \S)(?! (?:is|was|are|were|has|had|:)\b)",
    rf"\b{_URGE}(?:{VERBS}|{_GERUNDS})\b",
    rf"\b(?:should|must|needs? to|ought to|can|could|has to|have to) (?:also |then |probably |really |just )*be (?:{_PARTICIPLES})\b",
    rf"\b(?:{_GERUNDS})\b.{{0,60}}\b(?:would|will|should|may|might|could|can|usually|often) (?:also )?(?:help|fix|solve|cure|work|stabili[sz]e|prevent|stop|avoid)",
    r"\b(?:a|an) (?:lower|smaller|larger|higher|longer|shorter|bigger|different|newer) .{0,40}\b(?:would|will|should|may|might|could|can) (?:also )?(?:help|fix|solve|work|stabili[sz]e|prevent|be better)|\bwould benefit from\b|\b(?:recommendation|suggestion|next step|solution|fix|remedy)\s*(?:is|:)",
    r"(?:建议|请|应该?|应当|可以|可|需要?|最好|不妨|试试|推荐|务必|必须|记得|考虑|方案是|办法是|解决(?:方法|办法|方案)|还要|还得|也要|顺便|同时|然后|接着|再|先).{0,24}?(?:修改|更改|设(?:为|成|置)|改(?:成|为|用|一下|小|大)|调(?:整|低|高|大|小|到)|降(?:低|到|至)|提高|增大|增加|加大|减小|减少|减半|加倍|翻倍|启用|开启|打开|关闭|关掉|禁用|换(?:成|用|掉|个|一)|替换|升级|降级|安装|重装|重启|重跑|重新|运行|执行|删除|删掉|清空|移除|添加|加上|加入|采用|使用|改用|尝试|回滚|冻结|过滤|去重|下载|发送|上传|延长|缩短|放大|缩小)",
    r"^[\s\-*\d.、]*(?:并|并且|再|然后|同时|另外|也|把|将)?(?![^，。；]{0,16}(?:从|一路|已|自动)[^，。；]{0,16}(?:降|升|提|调))[^，。；]{0,16}?(?:设为|设成|设置为|改成|改为|改用|调低|调高|调大|调小|调到|降到|降低到|提高到|减半|加倍|翻倍|换成|升级到|重启|重装|删掉|关掉|打开|启用|禁用|延长到|延长)",
    r"^[\s\-*\d.、]*(?:把|将).{1,24}(?:设|改|调|降|提|增|减|加|换|关|开|删|延长|缩短)",
    r"^[\s\-*\d.、]*(?:降低|提高|增大|增加|减小|减少|关闭|开启|启用|禁用|升级|安装|重启|删除|运行(?![中时的记后到里])|执行(?![中时的后])|尝试|使用(?![中时的])|换用|加长|延长)",
)
"""A clause that tells the person to change or run something."""
LOOKING = _any(
    rf"^{_LEAD}(?:{_URGE})?(?:look|check|compare|inspect|read|plot|see|watch|count|print|monitor|confirm|examine|view|note|wait|verify|look at)\b",
    r"\btriage\b|--run\b",
    r"^[\s\-*\d.、]*(?:先|请|建议|可以|应该|再)*(?:看|查看|检查|比较|对比|观察|确认|核对|统计|留意|等待|先做)",
)
"""A clause that only tells them to look."""
UP = _any(
    r"\b(?:increase|increasing|raise|raising|double|doubling|bump|higher|larger|longer|lengthen|extend|triple)\b",
    r"提高|增大|增加|加大|调高|调大|翻倍|加倍|延长",
)
DOWN = _any(
    r"\b(?:decrease|decreasing|reduce|reducing|lower|lowering|halve|halving|cut|smaller|shorter|shorten|drop)\b",
    r"降低|减小|减少|调低|调小|减半|缩短|降到",
)

SETTINGS: dict[str, str] = {
    "learning_rate": r"learning[ _-]?rate|\blr\b|学习率|步长",
    "warmup": r"warm-?\s?up|预热",
    "grad_clip": r"clipping|clip\b|clip_|max_grad_norm|grad(?:ient)?_clip|裁剪",
    "batch": r"batch[ _-]?size|micro[ _-]?batch|global[ _-]?batch|\bbatch(?:es)?\b|批(?:次)?(?:大小|量)|batch",
    "accumulation": r"accumulation|累积",
    "weight_decay": r"weight[ _-]?decay|权重衰减",
    "precision": r"\b(?:fp16|bf16|fp32|fp8|float16|bfloat16|float32|tf32|precision|amp)\b|精度",
    "loss_scale": r"loss[ _-]?scal",
    "seed": r"\bseed\b|随机种子",
    "optimizer": r"optimi[sz]er|\badam\w*|\bsgd\b|\blion\b|\bmuon\b|优化器",
    "beta": r"\bbeta[s12_]*\b|dpo_beta",
    "epsilon": r"epsilon|\beps\b",
    "dropout": r"dropout|label smoothing",
    "schedule": r"schedul|cosine|调度|退火",
    "length_of_run": r"\bepochs?\b|max_steps|num_train|训练轮",
    "kl": r"\bkl\b|kl_",
    "temperature": r"temperature|温度|top[ _-]?[pk]\b",
    "sequence_length": r"sequence[ _-]?length|seq_?len|max_(?:seq_)?length|context length|max_model_len|序列长度|上下文长度",
    "packing": r"packing|打包",
    "lora": r"lora|\br=\d|adapter rank",
    "zero": r"\bzero[ _-]?[123]?\b(?! ?(?:loss|grad))|deepspeed|fsdp|offload|zero_stage",
    "workers": r"workers?\b|pin_memory|预取",
    "communication": r"nccl|timeout|超时|infiniband|overlap_comm",
    "checkpointing": r"activation[ _-]checkpointing|gradient[ _-]checkpointing|重计算",
    "attention": r"flash|attention|sdpa|注意力",
    "tokenizer": r"tokeni[sz]er|vocab|分词|词表|pad(?:ding)?[ _]token|eos",
    "template": r"chat[ _-]?template|模板",
    "data": r"\bdata(?:set)?s?\b|corpus|数据|语料|样本",
    "reward": r"reward|奖励",
    "memory": r"gpu_memory_utilization|memory utilization|显存(?:占用|利用)",
    "parallel": r"parallel|并行",
    "sequences": r"max_num_seqs|num_generations|rollout|group size",
    "model": r"\barchitecture|model size|\bmodel\b|模型(?!还没)|layers?\b|initiali[sz]ation|初始化",
    "environment": r"pytorch|\btorch\b|cuda|driver|transformers|python|kernel|docker|version|驱动|版本|内核",
    "hardware": r"\bgpus?\b|\bnodes?\b|hardware|\bh100|\ba100|显卡|机器|节点|硬件",
    "saving": r"save_steps|save_total",
    "rope": r"\brope\b|rope_",
    "penalty": r"repetition[ _-]?penalty|stop[ _]tokens?|重复惩罚",
}
"""Words that name a thing one could change, so that advice on a second one is seen."""
SETTING_WORDS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in SETTINGS.items()}

OUTSIDE = _any(
    r"\bet al\b",
    r"\barxiv\b",
    r"\bdoi\b",
    r"\bissue #?\d+",
    r"#\d{2,}",
    r"\[\d+\]",
    r"\b(?:the|official|pytorch|vllm|nvidia|deepspeed|huggingface|hugging face) (?:paper|docs|documentation|blog|authors)\b",
    r"§",
    r"\bappendix\b",
    r"\bsection \d",
    r"论文",
    r"文献",
    r"官方文档",
    r"\b[XIRD]-\d{2}\b",
    r"\b00\d\b",
    r"as (?:shown|reported|described) (?:in|by)",
)
"""Ways to cite something; what is cited must have been shown."""
EXTENSIONS = r"py|ya?ml|jsonl?|log|txt|sh|csv|toml|md|bin|pt|pth|safetensors|out|err|ini|cfg|parquet|ckpt|so|slurm|ipynb|npy|npz|tar|gz|zip|html?|xml|conf|env|pkl|arrow|jinja"
_WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORD_NUMBERS: dict[str, int] = {
    **{word: n for n, word in enumerate(_WORDS.split())},
    **{word: 10 * n for n, word in enumerate(_TENS.split(), 2)},
    **{"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9},
    **{"dozens": 12, "hundreds": 100, "thousands": 1000, "millions": 10**6},
}
SENTENCE_END = re.compile(
    r"(?<=[。！？；])|(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!^\d\.)(?<!^\d\d\.)(?<!\n\d\.)(?<!\n\d\d\.)(?<=[.!?])(?=\s)|(?<=[.!?][*_)\]\"'])(?=\s)|(?<=\n)"
)
CLAUSE = re.compile(
    r"[;；,，。：:、]|\s[-–—]+\s|\b(?:and|but|then|also|or|while|plus|along with|together with|as well as)\b|并且|同时|然后|以及|而且|再|并|和|但",
    re.IGNORECASE,
)
