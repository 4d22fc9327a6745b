"""The words of notes, changelogs and plans, English and Chinese: a table, and no rule.

What a line says with them is `changes`, `claims` and `sentences`; which words name a setting is `names`.
"""

from __future__ import annotations

from ..patterns import bounded
from .event import Kind

WISH = bounded(
    r"\b(?:should|shall|could|can|able to|ability to|may|might|maybe|perhaps|would|will|if"
    r"|whether|plan(?:s|ned|ning)? (?:to|for)"
    r"|propos\w*|suggest\w*|consider(?:ing)?|recommend\w*|wants? to|wanted to|needs? to"
    r"|needed|let'?s|going to|gonna|will|intend\w*|to ?do"
    r"|try(?:ing)? (?:a|an|to|with)|what about|how about|think(?:ing)? about|pending|tbd|not yet|scheduled"
    r"|in case|unless|ideas?|you(?:'d|'ll| can| want| need| should| may| must| have to)"
    r"|(?:if|when|where|once|do|did|are|as) you|your own|expected|estimated|projected|eta"
    r"|must|ought to|hope(?:s|fully)?|wish|please|do not|don'?t|next (?:step|week|time|run"
    r"|we)"
    r"|tomorrow|soon|someday|ask(?:ed|s|ing)? (?:to|for|whether)|wonder\w*|would-be|in the future|awaiting"
    r"|why not|better to|aim(?:s|ing)? to|about to|waiting for)\b|'ll\b|\?",
    2,
)
"""A wish, a question, an intention: nothing that happened."""
WISH_ZH = bounded(
    r"建议|计划|打算|准备(?!好|完|工作)|考虑|如果|假如|要是|若(?!干)|要不要|是否|能不能|可不可以|可以|应该|应当|可能|也许|希望|拟(?!合)"
    r"|待(?!遇)|将(?:会|要|在|于|来)|会再|需要|想(?:要|把|试)|尝试|试试|吗|下次|下一步|明天|下周|下个月|后续(?:要|再|会)|不如|最好|(?<!申)请"
    r"|暂不|讨论|再把|再将|要把|预定|预备|何时|什么时候|怎么|呢(?:$|[?.])|吧(?:$|[?.])|还没|会(?=升|改|换|调|切|重启|更|把)"
)
NOT = bounded(
    r"\b(?:did(?: not|n't)|(?:was|were|is|has|have|had)(?: not|n't)|never|no (?:change"
    r"|restart|switch|upgrade)s?|unchanged|untouched|not (?:chang|touch|modifi)ed"
    r"|without (?:chang|restart|touch)\w*|refused|rejected|declined|cancel\w*|abandoned"
    r"|postponed|nothing (?:was )?changed"
    r"|same as before|kept|remains?|stays?|nobody|no one)\b",
    2,
)
"""What did not happen."""
STEADY = bounded(r"\b(?:same (?:as (?:ever|always)|since)|(?:pinned|frozen|locked|unchanged|identical) since)\b", 2)
"""What has been so for long."""
NOT_ZH = bounded(
    r"没有?(?:再|被|做|作|去|动|改|变|换|升|重|调|切|更|上|任何|修)|未(?:被|做|改|动|变|更|升|作|调|换|重|切|修|生|上)|不(?:变|改|动|调|换|再|做|重启)"
    r"|无(?:变|改|任何)|保持|一直(?:固定|锁定|没|未)|取消|推迟|否决|放弃|并未|照旧"
)
LOST = bounded(
    r"\b(?:not|never|weren'?t|wasn'?t|isn'?t|didn'?t|nobody|no one)\b.{0,24}\b(?:saved?|kept|logged|recorded|stored"
    r"|written down|archived)\b"
    r"|\b(?:logs?|metrics|outputs?|records?|history|screenshots?|predictions|results|traces?)\b.{0,30}"
    r"\b(?:gone|lost|deleted|overwritten|rotated|purged|expired|wiped)\b"
    r"|\bretention\b.{0,40}\d{1,3} ?h\b|\bnothing\b.{0,24}\bleft\b"
    r"|没有?(?:保存|存|留|记录?|做记录)(?!的必要)|未(?:保存|留存|记录)|(?:日志|记录|结果|版本|指标).{0,8}(?:丢|没了|没记|没存|被覆盖|被清|找不到)",
    2,
)
"""What would have told and was not kept."""
BECAUSE = bounded(
    r"(?:,? (?:because|since|so that|as (?:the|it|we)|which|due to|in order to|to (?:see"
    r"|avoid|check|test|make|get|keep)\b)"
    r"|,?(?:因为|由于|原因是?|以便|为了|避免|防止)).*",
    2,
)
"""The end of a sentence that gives the reason."""

PLAN_HEADING = bounded(
    r"\b(?:plans?|planned|targets?|goals?|budget|expect(?:ed|ations?)|objectives?|criteria"
    r"|acceptance|spec(?:ification)?|recipe|hyper-?param(?:eter)?s?|hparams?|settings?"
    r"|setup)\b"
    r"|计划|规划|方案|规格|标准|验收|目标|预期|预算|超参|参数|配置",
    2,
)
"""A heading under which quantities are meant and nothing has happened."""
WISH_HEADING = bounded(
    r"\b(?:to-?dos?|ideas?|next(?: steps?| week)?|proposals?|suggestions?|open questions?"
    r"|questions?|future(?: work)?|wish ?list"
    r"|action items?|follow-?ups?|recommendations?|how to|guide|manual|sop|tutorial|faq"
    r"|checklist|instructions|procedure|playbook|references|backlog|roadmap|options?"
    r"|lessons|agenda)\b"
    r"|手册|如何|教程|流程|指南|常见问题|参考|待办|想法|下一步|建议|改进(?:措施)?|下周|后续|问题|提案|展望|议程|行动项",
    2,
)
"""A heading under which nothing is said that holds."""
AIM = bounded(
    r"\b(?:expect(?:ed|s|ing)?|targets?|goals?|aim(?:s|ing)?|plan(?:ned|s)?|should (?:reach|be|end|give)|hop(?:e|ing)"
    r"|at least|at most|baseline|budget|promised|forecast|estimated?|acceptance|threshold)\b"
    r"|预计|预期|目标|期望|计划|不低于|不高于|基线|预估|估计|验收|要求|至少|至多",
    2,
)
"""The words of a quantity that is meant to come out."""
BOUND = bounded(
    r"(?>>=|<=|>|<|≥|≤|~|≈|=|:|\b(?:is|of|to|at least|at most|at|about|around|above|below|over|under|reach(?:es)?"
    r"|near|be|was|were|approximately|roughly|up to)\b"
    r"|为|是|达到|约|大约|到|不低于|不高于|至少|至多|超过|低于|高于|不超过|以上|以下|以内)",
    2,
)
"""What stands between a name and its quantity."""

PAST = (
    r"changed|raised|lowered|increased|decreased|reduced|set|switched|moved|replaced"
    r"|swapped|restarted|re-started|resumed"
    r"|relaunched|upgraded|downgraded|bumped|enabled|disabled|turned (?:on|off)|dropped"
    r"|removed|added|deployed|redeployed"
    r"|rolled (?:back|out)|merged|fixed|patched|halved|doubled|tripled|quadrupled|froze|unfroze|frozen|unfrozen|drained"
    r"|cordoned|rebooted|crashed|died|killed|preempted|pre-empted|requeued|interrupted|pushed|shuffled|reshuffled"
    r"|regenerated|rebuilt|migrated|reverted|pinned|updated|skipped|restored|reset"
    r"|released|went live|came back|installed"
    r"|uninstalled|scaled|started|stopped|paused|launched|filtered|deduplicated|deduped"
    r"|relabel+ed|retokenized|tokenized|re-?trained"
    r"|left|joined|arrived|fell|rose|jumped|spiked|flap(?:ped)?|outage|hung|stalled"
    r"|diverged|exploded|collapsed|terminated|lost|failed|dropped out|re-?ran|adjusted"
    r"|tweaked|tightened"
    r"|relaxed|loosened|cut|excluded|included|introduced|refactored"
    r"|rewrote|implemented|loaded|continued|shrank|grew|extended|shortened|hot-?fixed"
    r"|evicted|reseated|began|taken (?:out|down)"
    r"|took (?:out|down)|brought (?:back|up|in)|put back|went|quanti[sz]ed|converted"
    r"|exported|shipped|doubling|shrunk|onboarded|refreshed|recompiled|rescheduled"
    r"|reinstalled|aborted"
)
"""Words for what somebody did or what befell the run."""
NOW = (
    r"change|raise|lower|increase|decrease|reduce|set|switch|move|replace|swap|restart"
    r"|resume|relaunch|upgrade|downgrade"
    r"|bump|enable|disable|turn (?:on|off)|drop|remove|add|deploy|redeploy|roll (?:back"
    r"|out)|merge|fix|patch|halve|half|double|freeze"
    r"|unfreeze|drain|reboot|push|shuffle|reshuffle|regenerate|rebuild|migrate|revert|pin"
    r"|update|skip|restore|reset|release"
    r"|install|uninstall|scale|stop|filter|dedup(?:licate)?|cut|use|exclude|include"
    r"|introduce|refactor|rewrite|implement|adjust|tune"
    r"|tweak|extend|clamp|mask|correct|prevent|avoid|handle|support|hotfix|fixes|adds"
    r"|changes|updates|make|cap|start|apply"
)
"""The same as commit messages and changelogs write it."""
DONE_ZH = (
    r"改[为成到用了回]|调[整到至低高大小为成]|降[低到至为了]|升[级高到至为]|提[高升到]|增[加大至]|减[少小半至]|(?<!一)切换?[到成为]?|换[成为了上]?|更换|替换|更新|启用|禁用|开启|打开"
    r"|关闭|关掉|重启|恢复|续训|回滚|回退|中断|中止|停止|暂停|崩溃|挂[了掉]|上线|下线|部署|发布|修复|修正|修改|合并|重构|加入|新增|添加|加[了上]|删除|去掉|移除|去重|清洗"
    r"|过滤|跳过|打乱|踢出|摘除|剔除|量化|转换|推送|重新|翻倍|加倍|减半|冻结|解冻|掉线|掉卡|宕机|断电|隔离|迁移|扩容|缩容|采用|使用新|引入|安装|卸载|重装|被杀|抢占|启动|开始训练|接着训|重训|重跑"
)

Kinds = tuple[tuple[Kind, str], ...]
PACKAGES = (
    r"(?:py)?torch|transformers|trl|peft|accelerate|datasets|tokenizers|deepspeed|vllm"
    r"|sglang|ray|verl|openrlhf|llama-?factory"
    r"|axolotl|lightning|megatron(?:[-_ ](?:lm|core))?|nemo|torchtune|nanotron"
    r"|flash[-_ ]attn|flash[-_ ]attention|xformers|triton"
    r"|bitsandbytes|transformer[-_ ]engine|apex|numpy|safetensors|unsloth|cuda|cudnn|nccl"
    r"|rccl|rocm|python|driver|flashinfer"
    r"|liger[-_ ]kernel|(?:lm[-_ ])?eval[-_ ]harness|harness(?=[^.]{0,24}\d)|lighteval|opencompass"
    r"|firmware|驱动|固件|框架|tensorrt(?:-llm)?|jax|flax"
    r"|pyarrow|pandas|wandb|ms-swift|modelscope|mlflow"
)
"""What has a version."""
_NODE = r"(?:nodes?|hosts?|machines?|racks?|gpus?|nics?|servers?|blades?|cards?|dimms?|cables?|transceivers?|psus?)"
KINDS: Kinds = (
    ("dependency", rf"\b(?:upgrad|downgrad|bump|pin|updat|install|reinstall)\w*\b.{{0,40}}\b(?:{PACKAGES})\b"
                   rf"|\b(?:{PACKAGES})\b.{{0,30}}\b(?:upgrad|downgrad|bump|pinn|updat|install)\w*"
                   rf"|(?:升级|降级|更新|安装|重装|回退)[^,]{{0,12}}(?:{PACKAGES})|(?:{PACKAGES})[^,]{{0,16}}(?:升级|降级|更新)"),
    ("restart", r"\b(?:re-?start(?:ed|ing)?|resum(?:ed?|es|ing)|re-?launch(?:ed)?|re-?queued?"
    r"|crash(?:ed|es)?|preempt(?:ed|ion)?|pre-empted"
                r"|interrupted|(?:rolled|roll|rolling) (?:\w+ ){0,3}?back (?:\w+ ){0,2}to (?:step|ckpt|checkpoint|iter)"
                r"|killed|(?:job|run|training) (?:died|was lost|failed|stopped|aborted|started|ended)"
                r"|(?:re)?loaded (?:the )?(?:ckpt|checkpoint)|back to (?:step|ckpt|checkpoint)"
    r"|rolled back to (?:\w+[ -]){0,2}\d{3,}"
                r"|continu(?:ed|ing) from|came back from (?:ckpt|checkpoint)|launched|started training"
    r"|training started|oom-?killed)\b"
                r"|重启|重新启动|恢复训练|续训|断点|继续训?|中断|被杀|抢占|崩溃|挂掉|挂了|回滚到?第?\s?\d+\s?步|开始训练|重新拉起|拉起|恢复运行|作业恢复"
    r"|任务恢复|恢复作业|恢复任务|回退到?第?\s?\d+"),
    ("node", rf"\b(?:replac|swap|drain|cordon|reboot|remov|evict|lost|reseat|fail|down\b|died|ecc\b"
    rf"|xid\b|moved|added|exclud|kick)\w*[^.]{{0,30}}\b{_NODE}\b"
             rf"|\b{_NODE}\b[-\w]*[^.]{{0,30}}\b(?:replac|swap|drain|cordon|reboot|remov|evict|lost"
    rf"|reseat|fail|down\b|died|ecc\b|xid|offline|dead|hung|broke|missing|maintenance|kick)\w*"
    r"|\b[a-z]{1,8}-?\d{2,6}\b[^.]{0,30}\b(?:br(?:ea|o)ke?s? down|down\b|loses|lost"
    r"|missing|cpu error|died|hangs?)|nvlink error"
             r"|\b(?:power|network|switch|infiniband|ib|nfs|filesystem|storage|cooling)\b[^.]{0,20}\b(?:outage|cut"
    r"|failure|flap|flapped|failed|maintenance)|maintenance\b"
             r"|(?:更换|替换|换|下线|隔离|剔除|新增|扩容|重启|维修)[^,.]{0,10}(?:节点|机器|网卡|号机|主机|显卡|机房|交换机|光模块|服务器|卡"
    r"|node|host|gpu)|(?:机器|节点|服务器|主机)[^,.]{0,6}(?:踢出|摘除|剔除|挂)|坏掉|失联|坏了|制冷|供电|断电|降频"
             r"|(?:节点|机器|网卡|号机|主机|显卡|机房|交换机|光模块|服务器)[^,.]{0,14}(?:更换|替换|下线|掉线|掉卡|宕机|断电|故障|隔离|重启|离线|坏)|掉卡"),
    ("deployment", r"\b(?:(?:re-?)?deploy(?:ed|s|ment)?|rolled out|roll out|went live|go live|released?"
    r"|promoted|canary|migrat(?:ed|ion)|(?:container|docker) image"
                   r"|(?:rolled|roll) back(?: the)? (?:image|release|deployment|version)"
    r"|moved (?:\w+ ){0,2}(?:from|to) (?:the )?(?:cluster|region|partition|queue|zone|pod)"
                   r"|(?:new|switched) (?:image|cluster|endpoint)|image|(?:service|endpoint|server|model"
    r"|api) (?:was |were )?rolled back|rolled back to v?\d+\.\d+|(?:to|in"
    r"|into) prod(?:uction)?)\b"
                   r"|上线|部署|发布|灰度|迁移|镜像|切流|扩容|缩容|推理服务|回滚(?:镜像|版本)|回滚到 ?v?\d+\.\d|集群"),
    ("data", r"\b(?:data ?sets?|data|shards?|corpus|corpora|mix(?:ture)?|subsets?|samples|tokenizer"
    r"|batches|rows|records|documents|blend"
             r"|guidelines?|annotat(?:ion|or)s?|labels?|prompts?|sft set|dedup\w*|re-?shuffl\w*"
    r"|vocab(?:ulary)?|splits?)\b(?!'? (?:\w+ ){0,2}(?:meetings?|teams?|calls?|stand-?ups?|channels?|owners?|folks"
    r"|people|workshops?|seminars?|talks?|reading group)\b)"
             r"|(?:数据|语料|标注|样本|分片|词表|分词|配比|去重|个 ?batch|prompt 集|题库)"
    r"(?!.{0,4}(?:会议|周会|例会|组会|讨论会|同学|小组|负责人))"),
    ("config", r"\b(?:config(?:uration)?|cfg|hyper-?param\w*|schedule[rd]?|optimizer|dropout|warm-?up"
    r"|clip(?:ping)?|batch(?: size)?|(?:un)?fr[eo]ze?n?|lora|fp8|bf16|fp16"
               r"|packing|offload|checkpointing|temperature|beta|kl|coefficient|reward (?:model"
    r"|function|v\d\w*)|judge|precision|loss (?:scale|weight)|muon|adamw?|lion"
               r"|flash attention|parallel(?:ism)?|timeout|seed|few-shot|template)\b"
               r"|配置|参数|超参|优化器|调度|批|冻结|精度|混合精度|裁剪|系数|温度|奖励模型|奖励函数|裁判|模板|并行"),
    ("code", r"\b(?:fix(?:ed|es)?|bug(?:fix)?|merged?|refactor(?:ed)?|patch(?:ed)?|commit(?:ted)?"
    r"|pr ?#?\d+|implement(?:ed)?|rewr(?:ote|ite|itten)|code|off-by-one"
             r"|revert(?:ed)?|kernel|hot-?fix\w*|mask(?:ing)?|branch)\b|修复|修正|合并|重构|代码|补丁|修改了"),
)  # fmt: skip
"""Kinds of event, the one to prefer first, with the words that tell it."""
DOING = (
    r"(?:re)?start|resum|chang|switch|replac|reduc|increas|lower|rais|remov|add|kick|skipp|shrink|mov|us|load"
    r"|disabl|enabl"
)
"""Beginnings of what a log's entry does: `restarting from step 25000`."""
ON = r"enabled?|turned on|turn on|switched on|activated|启用|开启|打开"
OFF = r"disabled?|turned off|turn off|switched off|deactivated|禁用|关闭|关掉|停用"
