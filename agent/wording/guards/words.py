# ruff: noqa: E501  (patterns are read as a table)
"""The words by which the guards recognise a cause, advice or a claim of having acted, in two languages."""

from __future__ import annotations

import re

from ....tools.patterns import bounded


def _any(*patterns: str) -> re.Pattern[str]:
    return bounded("|".join(patterns), re.IGNORECASE)


MARKUP = _any(
    r"!\[[^\]]*\]\(",
    r"<(?:script|img|iframe|a|svg|style|form|input)\b",
    r"javascript:",
    r"<\|",
    r"</?(?:think|tool_call|tool_response)>",
    r"data:text/html",
)
"""Markup that could load something, or belongs to the model's own protocol."""

PART = re.compile(
    r"[,，;；:：。!！?？、](?!\d)|\.(?=\s|$)|\s[-–—]+\s|—|\b(?:and|but|so|then|while|because)\b|而且|但是?|所以|然后|因此|因为",
    re.IGNORECASE,
)
"""Where one statement of a sentence ends and the next begins."""

_SAYING = r"would|could|should|might|judge|look|see|saw|seen|read\b|think|thought|believe|know|need|suspect|suggest|recommend|propos|f[io]u?nd|guess|mean|sa[yi]|assum|compar|expect|list|want|wonder|explain|tell|told|ask|describ|quot|cite|rely|infer|conclud|point|walk|help|answer|hope|understand|understood|not\b|never\b|\w+n't\b|cannot|no\b|nothing|only|lack|(?:start|begin|go|stay) (?:with|by|from|through)|give you|show|summari|interpret|refer|focus|rank|word|comput|measur|notic|note|was given|were given"
_FILLER = r"have|had|does|has|am|was|were|are|will|would|can|could|should|may|might|must|do|did|just|also|already|then|now|only|first|next|been|be|to|going|able|happy|glad|still|even|rather|\w+ly"
OWN_PART = _any(
    rf"\b(?:I|we|triage|the (?:agent|assistant|tool))\b(?:'(?:ve|d|m|re|ll))?(?:\s+(?:{_FILLER})\b)*\s+(?!(?:{_FILLER})\b|{_SAYING})[a-z]",
    r"\b(?:my|our)\s+(?!(?:best |first |honest |short |own )*(?:answer|reading|view|suggestion|evidence|knowledge|guess|list|understanding|opinion|question|advice|explanation|summary|words))",
    rf"\blet (?:me|us)\s+(?!{_SAYING})|\blet's\s+(?!{_SAYING})",
    r"(?<![给告诉让跟对向帮发])(?:我们?|咱们?|本助手)(?!(?:这边|这里|目前|暂时|也|都|只是?|先|会|再|就|能|可以|来|想|还|并|更|仅)*(?:不|没|无法|未|看|读|建议|认为|觉得|猜|需要|想|对比|比较|解释|说|梳理|帮你(?:看|分析|对比|比较|解释|梳理|理)|告诉|推荐|怀疑|列|给出|给你|找|注意|发现|倾向|理解|判断|的(?:建议|判断|理解|看法|回答|依据|结论|推测)|从|按|根据|所[看知见]|知道|引用|指的|手上))",
    r"(?:帮|替|为|给)(?:你|您)(?!看|分析|判断|解释|对比|比较|梳理|理|找|定位|列|说|指|参考|的|一|提供|决定|两|几)",
    r"(?:本系统|本工具|本助手|系统|工具|助手)(?:已|刚|现在|也|又|先|自动)",
)
"""The writer speaking of itself, except to look, to think, to tell or to deny."""

VERBS = r"set|change|increase|decrease|reduce|lower|raise|halve|double|triple|cut|drop|bump|tune|adjust|enable|disable|turn|switch|use|try|add|remove|delete|replace|swap|upgrade|downgrade|install|reinstall|restart|re-?run|run|execute|resume|retrain|train|apply|kill|clear|move|rename|edit|modify|patch|freeze|unfreeze|scale|shrink|extend|lengthen|shorten|filter|deduplicate|shuffle|roll|revert|rebuild|download|curl|wget|pip|sudo|rm|chmod|ssh|export|send|paste|post|upload|email|share|open a shell|type|launch|start|stop|disable|skip|ignore|rewrite|cap|clip|normali[sz]e|put|go (?:to|back)|fall back"
_GERUNDS = r"setting|changing|increasing|decreasing|reducing|lowering|raising|halving|doubling|tripling|cutting|dropping|bumping|tuning|adjusting|enabling|disabling|turning|switching|using|trying|adding|removing|deleting|replacing|swapping|upgrading|downgrading|installing|reinstalling|restarting|re-?running|running|resuming|retraining|applying|clearing|editing|modifying|freezing|scaling|shrinking|extending|lengthening|shortening|filtering|deduplicating|shuffling|rolling|reverting|rebuilding|downloading|sending|clipping|capping|moving"
_PARTICIPLES = r"set|changed|increased|decreased|reduced|lowered|raised|halved|doubled|cut|dropped|tuned|adjusted|enabled|disabled|turned|switched|used|added|removed|deleted|replaced|swapped|upgraded|downgraded|installed|restarted|rerun|run|resumed|retrained|applied|edited|modified|frozen|scaled|shortened|lengthened|extended|filtered|shuffled|rolled|reverted|clipped|capped|moved|larger|smaller|higher|lower|longer|shorter"
_HAPPENS = r"climbed|moved|risen|rose|jumped|fallen|fell|dropped|grown|grew|spiked|exploded|diverged|collapsed|failed|started|begun|began|stopped|ended|crashed|died|hung|stalled|frozen|happened|occurred|appeared|become|became|stayed|remained|reached|passed|crossed|exceeded|peaked|oscillated|swung|turned|overshot|accumulated|shown|seen|hit|lost|left|printed|logged|had"
_DESCRIBES = rf"{_HAPPENS}|pushed|pulled|recorded|read|found|noticed|given|listed|named|reported|supported|refuted|based|needed|required|expected|called|measured|computed|observed|detected|caused|triggered|driven|explained|affected|accompanied|followed|preceded|limited|bounded|described|mentioned|stated|written|saved|loaded|interrupted|killed|terminated|aborted|exhausted|overwhelmed|damaged|corrupted|skipped|masked|truncated|padded|duplicated|leaked|kept|held|ruled|amplified|rejected|refused|overwritten|concentrated|trained|allocated|reserved|requested|evicted|preempted|initiali[sz]ed|imported|looked|asked|used|meant|known|unknown|placed|related|compared|configured|scheduled|disabled|throttled|throw[n]|taken from|due|checked|examined|proposed|supposed|intended|tied|linked|repeated|involved|reset by"
_ADVERB = r"(?:(?:now|just|also|already|since|then|all|both|first|successfully|\w+ly)\s+)*"
_CHANGE_ZH = r"改|调|换|设|删|清|修|重启|重跑|重训|拉起|打开|关掉|加上|更新|替换|回滚|提交|部署|安装|执行|验证|复现|应用|恢复|搞|处理|弄|生效|解决|降|升"
_STATE_ZH = r"\s*(?:在|被)?(?:关闭|关掉|禁用|经|达到?|升|降(?!低|成|为)|离|超|变|开始|停|失|连续|不|跳|有|是(?!正常)|没|无|给出|知|列|显示|说明|读|看|检查|记录|崩|发散|出现|爆|远|很|接近|到|高|低|损坏|丢|用尽|耗尽|满|溢出|存在|占|结束|中断|退出|杀|断|超时|挂|卡|偏离|明显|足够|支持|证据否定|指向|包含|写|落后|退化|下滑|上涨|增|攀|飙|坏)"
DONE = [
    bounded(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:was|were|been|being|got)\s+{_ADVERB}(?!(?:{_DESCRIBES})\b)(?:\w+(?<!e)ed|set|re-?run|run|made|done|put|cut|built|sent|rebuilt|reset|undone|brought|rewritten|swapped)\b",
        rf"\b(?:has|have|had|it's|everything's|that's)\s+{_ADVERB}(?!(?:{_DESCRIBES})\b)(?:\w+(?<!e)ed|gone|run|re-?run|come|made|done)\b",
        rf"^{_ADVERB}(?!(?:{_HAPPENS}|based|compared|given|followed|caused|proposed|expected|stated|supported|refuted|established)\b)(?:\w+(?<!e)ed|made|done|sent|built|went|took|ran|wrote)(?=\s+(?:the|a|an|your|my|our|it|this|that|all|both|every|everything|one)\b|\s*$)",
        r"\b(?:is|are|am)\s+(?:all |now |already |finally |fully )*(?:live|back(?! (?:near|to its|at its))|up|up and running|done|gone|good to go|resolved|solved|fixed|repaired|patched|sorted|cured|mended|corrected|restarted|relaunched|in (?:place|effect)|handled|taken care of|on track|recovering|successful)\b(?!\s+(?:when|if|once|as soon|only))",
        r"\b(?:is|are|stands?|runs?|looks?|works?|stays?)\s+(?:now|again)\b(?! (?:nan|unknown))|\bnow\s+(?:is|are|stands?|runs?|looks?|works?|stays?|has|have|on|off|at|[a-z]+[^s\W]s)\b",
        r"\b(?:fix|patch|edit|hotfix|workaround|correction|repair)\s+(?:is|are|was|has|have|went|took|works?|worked|holds?|helped)\b|\bchange\s+(?:is|was|has been|went)\s+(?:in\b|live|applied|made|active|done|through|saved|deployed)",
        r"^(?:please )?(?:consider|count) (?:it|this|that)\b|\brest assured\b|\btaken care of\b",
        r"^(?:all )?(?:done|fixed|ready|finished|completed?|solved|resolved|sorted|all set)$",
        r"\b(?:new|next|second|latest|restarted|test|verification|trial|follow-up) (?:run|job|training|attempt) (?:is|was|has|shows?|showed|finished|completed|confirms?|confirmed|passed|succeeded|looks?|runs?|went|stays?|stayed)\b|\bre-?run (?:shows?|showed|finished|completed|confirms?|confirmed|passed|succeeded|went)",
        r"\b(?:run|training|job|loss|gradients?|norm|it|everything|things)\s+(?:is|are|was|were|has|have|continues?|looks?|seems?|comes?|came|went|runs?|works?)\s+(?:\w+\s+)?(?:back(?! (?:near|at|to) its)|again|recovered|resumed|as expected)\b|\bno longer\b|\b(?:run|job|training) continues\b|\bback (?:up|online|to normal|on track|in business)\b",
        r"\bafter$|\[x\]|\bafter (?:the |a |this |that )?(?:fix|patch|re-?run|relaunch|rerunning|re-running|restarting|applying|changing|patching|retraining|relaunching)\b|\bafter (?:the |a |this |that )?(?:restart|change|edit|update|second try)\b.*\b(?:came|fell|dropped|went|was|were|is|looks?|stays?|stayed|improved|recovered|behaves?)\b|\bsuccessfully\b|\btests? (?:now )?pass",
        r"\b(?:runs?|running|going|training|started?) again\b|\b(?:experiments?|tests?|trials?|simulations?|comparisons?|ablations?|reproductions?) (?:also |all |both |clearly )?(?:shows?|showed|confirms?|confirmed|supports?|says?|agrees?|suggests?)\b",
        rf"\b(?:after|since|having)\s+(?!clipping)(?:the |a |this |that |your |it )?(?:change|fix|edit|{_GERUNDS}|freed|{_PARTICIPLES})\b|\bno more \w+ (?:after|since|with)\b|\b(?:problem|error|nan|issue)s? (?:is |are )?gone\b",
        r"(?<!\bone )\b(?:updated|corrected|edited|changed|revised|patched|lowered|halved|reduced|repaired) (?:config\w*|files?|rate|run|value|settings?|version|script|job)\b",
        rf"(?:{_CHANGE_ZH})\S{{0,2}}?(?:之|以)?后就?(?:没|不再|恢复|正常|稳)",
        r"(?:实验|测试|试验|对比|验证|复现|模拟)\S{0,6}(?:显示|表明|证明|证实|支持|说明|来看)",
        rf"(?<![而])已经?(?!{_STATE_ZH})",
        rf"(?:{_CHANGE_ZH})\S{{0,2}}?(?:了|好|完|成功|到位|妥|过(?![大小高低程短长多少快慢早度]))(?!.{{0,4}}(?:后|时|再|的))",
        r"(?:补丁|修复|改动|更改|修改|新的?(?:配置|设置|运行|训练|任务)).{0,6}(?:生效|上线|就位|正常|跑|成功|应用)|不再(?:发散|出现|是|为|有|报)|恢复正常|(?:目前|现在)(?:一切)?正常|搞定|跑通|(?:问题|故障|错误)\S{0,4}(?:解决|修复|消失)|(?:直接|可以|能够?)上线|^(?:都|全)?好了",
        r"^(?:\d+ )?\w+ (?:\w+ )?(?:lowered|raised|halved|changed|edited|fixed|patched|updated|applied|restarted|reduced|set|removed|added|replaced|reverted)$|^(?:[\w-]+ ){1,3}(?:done|complete|completed|finished)$|^(?:had|took|gave|did) (?:a|an|another|one|two|some)\b",
        r"重新(?:运行|训练|拉起|启动|跑)(?:之)?后|(?:重跑|重启)(?:之)?后",
    )
]
"""Forms in which an act is told as done. A run climbs, fails and is logged; it is not relaunched, edited or resolved."""
PRESENT = _any(r"\b(?:is|are|now|has|was|reads|shows|runs?|uses|at)\b", r"现在|目前|已|是|为")
"""Tells of how things are."""
PROPOSED = _any(
    r"\b(?:propos\w+|suggest\w*|change|would|should|next|instead|try|set|from)\b|\(now$",
    r"建议|改动|改[成为到]|提议|下一次|应",
)
"""Tells of how they might be."""
NOT_CLAIMED = _any(
    r"\b(?:not|never|no|nothing|none|nobody|neither|without|cannot|if|once|when|whenever|whether|until|unless|before|would|could|should|might|may|must|can|needs? to|ha(?:s|ve) to|to be|assuming|suppose|provided|in case)\b|n't\b|\byou(?:'ve)?\s+(?:have|had|already|just|did)\b",
    r"如果|若|一旦|假如|要是|是否|有没有|没|未|不|无|等(?:到|你)|之前|以前|(?<!刚)才|只要|什么时候|怎样算",
)
"""What stands before an act that is only denied, supposed or asked for."""
SUPPOSED = _any(NOT_CLAIMED.pattern, r"\bwhen\b|(?:之|以)后|时(?![间刻])|会|需要")
"""Marks of a clause that may speak of an act, since it does not claim one."""
MOVED = re.compile(
    r"\b(?:raised|lowered|reduced|increased|decreased|scaled|cut|clipped|multiplied|updated|doubled|halved)\b",
    re.IGNORECASE,
)
"""Changes that a run makes to its own metrics."""
MEASURES = re.compile(r"\b(?:loss|norm|gradients?|entropy|kl|reward|throughput|accuracy)\b", re.IGNORECASE)
BY_ITSELF = re.compile(r"\bby the (?:warm|sched|optim|scaler|trainer)|\bduring (?:the )?warm", re.IGNORECASE)

_DENIES = r"(?<!not )(?<!n't )(?<!not yet )(?<!never )(?<!cannot )(?<!to )(?<!be )(?<!make )(?<!can )"
_DENIES_ZH = r"(?<![不没未才能否还尚先请])(?<!没有)(?<!完全)(?<!不能)"
CERTAIN = _any(
    rf"\b{_DENIES}(?:definitely|certainly|clearly|undoubtedly|obviously|surely|absolutely|unquestionably|undeniabl[ey]|unmistakabl[ey]|conclusive(?:ly)?|unambiguous(?:ly)?|proven|proves?(?! nothing)|proof|confirmed|confirms|established|guaranteed|sure|bound to|(?<!\ba )certain)\b",
    r"\b(?:without|beyond|no|zero) (?:a |any )?(?:\w+ )?(?:doubt|question)\b|\b100 ?%|\b(?:must|can only|has to|have to) (?:have been|be)\b|\bfor (?:sure|certain)\b|\bno other (?:explanation|cause|reason)\b|\btextbook\b|\bcase closed\b|\bdoubts?\b|\bperiod$|\bmake no mistake\b|\bnothing else (?:explains|can|could|would|fits|is|was|does)\b|\bfull stop\b",
    r"\b(?:had|were)\b.{0,60}\bwould\b|\b(?:nothing|none) of (?:this|it)\b|\bwould(?:n't| not| never) have\b|\blook no further\b|\bonly one (?:reading|explanation|answer|candidate|cause)\b|\bas anyone\b|\bplainly\b|\bwhat you get (?:when|if|from)\b|\b(?:we|I) know (?:from|that|it|for)\b|\bnobody (?:will|would)\b|\bwill (?:never|ever)\b|\bwon't\b",
    r"\bI can (?:tell|see) (?:from|that|by)\b",
    r"要不是|若不是|本可以|本不会|就不会|任何人|谁(?:来|都)|你?(?:这|那)就是(?!说)|只有一个",
    rf"{_DENIES_ZH}(?:肯定|一定是|必然|必定|铁定|绝对(?=是|就|没)|准是|确定(?:是|就)|证实|证明|确认(?:是|为|了|无误)|断定|坐实|锁定|实锤)",
    r"毫无疑问|毋庸置疑|无疑|显然|只能是|只可能|不可能是(?:别|其他)|凶手|没有(?:别的|其他)(?:原因|可能)|就是因为|百分之?百|板上钉钉|没跑|妥妥|不用再查|唯一的?(?:原因|可能|解释)|已经?确认",
)
"""Words of certainty, where they are not denied."""
CAUSAL = _any(
    r"\b(?:root )?causes?\b(?! of)(?: here)? (?:is|was|are|were|lies)|\b(?:is|was|are|were|be|being|been) (?:\w+ly )?(?:caused|triggered|driven|produced|induced|explained) by",
    r"\b(?:is|was|are|were) (?:\w+ly )?(?:due to|because of|the (?:real |root |main |actual |only )?(?:cause|reason|culprit|problem|explanation))|\bbecause of\b|\bthe (?:\w+ )?(?:culprit|cause|reason(?! for))\b.{0,60}\b(?:is|was)\b",
    r"\b(?:stems?|stemmed|comes?|came|results?|resulted|arises?|arose) from\b(?! (?:the )?(?:`|\w+\.\w|logs?|files?|config|runbook|entry|it\b))|\b(?:comes?|came|boils?) down to\b(?! \d)|\b(?:caused|killed|broke|destroyed|triggered|led to|leads to|drove) (?:this|the|your|it|loss|training|a|an)\b|\bmade (?:\w+ ){1,3}(?:fail|diverge|explode|crash|collapse|go|become|hang)\b|\b(?:explains|is responsible for|is to blame|is at fault)\b",
    r"\b(?:this|it|the run|your run|training|here)\b.{0,20}\b(?:is|was|suffers? from|suffered from|has|had|hit|shows) (?:a (?:case|classic case|clear case|textbook case) of|suffering from)|\bdiagnosis\s*(?:is|:)|\b(?:is|was|are|were) (?:\w+ly )?the (?:bottleneck|issue|trouble|root|origin|trigger|weak (?:spot|point))\b|\bso (?:it|training) (?:exploded|diverged|crashed|collapsed|broke|blew up)\b|\b(?:which|that)(?:'s| is) why (?:it|this|you|training|the (?:run|loss|job))\b",
    r"原因(?:就|肯定|一定|显然|应该|很可能|可能|也许|或许|大概|正|其实|无疑)*(?:是|在于|为|：|出在)|(?:由|是)[^，。；]{0,30}(?:导致|引起|造成|触发|引发)(?:的)?|罪魁祸首|根因|根源|源于|问题(?:就)?出在|是因为|(?:导致|引起|造成|引发)了|(?:所以|因此|于是)(?:才|就|它)?(?:炸|崩|发散|爆|挂|飞|卡死|坏掉)|所以才|归咎于|诊断(?:结果)?(?:是|为|：)(?!健康|正常)",
)
"""Words that say what caused this failure."""

WITHDRAWN = _any(
    r"\bif\b|(?:\b(?:not|never|cannot|no|nobody|hardly)\b|n't\b)[^,;.]*$",
    r"如果|若|(?:不|没|无法|未|难以)[^，。；]{0,6}$",
)
"""What takes a word of certainty back."""
LOWERED = _any(
    r"\b(?:less |un)likely\b|\bless probable\b", r"(?:不太|没那么|更不|不大)可能|可能性(?:更|较|很)?(?:小|低)"
)
"""Says that something is not likely."""
HEDGE_LOW = _any(
    r"\b(?:may|might|could|possibl[ey]|perhaps|maybe|cannot be ruled out|can't be ruled out|one possibility|hypothes[ie]s|unclear|unknown|inconclusive|not (?:yet )?(?:established|proven|certain|clear|known)|not (?:settle|say|tell)|would|if|whether|does not show|unlikely|suspect(?:ed)?|candidates?)\b|\?",
    r"可能|也许|或许|不排除|不能\S{0,4}排除|有一种可能|未必|不确定|尚未|还没有?|无法(?:确定|下结论|判断)|如果|若|是否|假设|怀疑|候选|会想到|没有这个现象|吗|？",
)
"""Says that something is possible, and no more."""
HEDGE_MIDDLE = _any(
    r"\b(?:likely|probabl[ey]|suggests?|points? (?:to|towards)|consistent with|speaks? for|supports?|supported|indicates?|in favou?r of|leading|appears?|seems?|evidence|for F\d|leads? the)\b",
    r"很可能|最可能|大概|倾向|表明|说明|指向|支持|符合|相符|吻合|一致|证据|看起来|似乎|更像",
)
"""Says that evidence speaks for it."""
DENIED = _any(
    r"(?<!not )(?<!n't )(?<!not be )\b(?:ruled out|refuted|excluded|disproved|not the (?:cause|reason|culprit|problem)|nothing to do with|irrelevant|is innocent)\b",
    r"(?<!不)(?<!未)(?<!能)(?<!完全)(?:已|可以)?(?:排除|否定)|不是(?:原因|由)|与.{0,12}无关",
)
_SOUND = r"(?:completely |perfectly |all |still )?(?:fine|healthy|clean|ok|okay|correct|sound|good|normal)\b"
REASSURED = _any(
    rf"\b(?:nothing (?:is |was )?wrong|everything (?:is|looks|seems) {_SOUND}|(?:run|training|job) (?:is|looks?|seems?|counts? as|passes as) {_SOUND}|(?:loss|gradients?|norm|it|things) (?:is|are|looks?|seems?|stays?|runs?) (?:\w+ )?(?:normal|stable|fine|healthy|smooth|clean|converging)\b|no problems?|safe to (?:ignore|continue|proceed)|no action (?:is )?needed|nothing to worry|all is well|(?:looks?|going) good|\ball clear\b|nothing to see\b|ignore (?:the|this|it)\b)",
    r"一切正常|(?:这次)?(?:运行|训练)(?:是|都|完全|看起来)*(?:正常|健康|没有?问题)|没有(?:任何|什么)?(?:问题|异常|错误|毛病)|状态良好|无异常|直接上线|(?:可以|能够?)(?:上线|发布|交付)|无需(?:担心|处理)|不用(?:担心|管|再看)|可以忽略|放心",
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
_LEAD = r"(?:(?:and|then|also|next|first|second|finally|now|please|instead|simply|just|additionally|afterwards|meanwhile|therefore|so|or|either|alternatively|in addition|at the same time|step \d+|to fix (?:this|it)|as a fix|fix)[,:]? +)*"
_URGE = r"(?:you|we|one|they|i|it)?(?:'d| would| will| may| might)? ?(?:(?:should|could|can|must|need(?:s)? to|ought to|want to|have to|has to|better to|best to|recommend(?:ed)?(?: that you)?(?: to)?|suggest(?:ed)?(?: that you)?|advise(?: you)?(?: to)?|propose(?: to)?|consider|try(?: to)?|remember to|make sure to|be sure to|go ahead and|let's|let us|feel free to|is to|are to|worth)[ ,]+(?:also |then |just |simply |either |now |first |even |probably |instead )*)"
ADVICE = _any(
    rf"^{_LEAD}(?:{VERBS})\b(?= \S)(?! (?:is|was|are|were|has|had|:)\b)",
    rf"\b{_URGE}(?:{VERBS}|{_GERUNDS})\b",
    rf"\b(?:should|must|needs? to|ought to|can|could|has to|have to) (?:also |then |probably |really |just )*be (?:{_PARTICIPLES})\b",
    rf"\b(?:{_GERUNDS})\b.{{0,60}}\b(?:would|will|should|may|might|could|can|usually|often) (?:also )?(?:help|fix|solve|cure|work|stabili[sz]e|prevent|stop|avoid)",
    r"\b(?:lower|smaller|larger|higher|longer|shorter|bigger|different|newer) .{0,40}\b(?:would|will|should|may|might|could|can) (?:also )?(?:help|fix|solve|work|stabili[sz]e|prevent|be better|smooth|damp|calm|soften|reduce)|\bwould benefit from\b|\bhave you (?:ever )?(?:thought|considered|tried)\b|\b(?:recommendation|suggestion|next step|solution|fix|remedy)\s*(?:is|:)",
    r"(?:建议|请|应该?|应当|可以|可|需要?|最好|不妨|试试|推荐|务必|必须|记得|考虑|方案是|办法是|解决(?:方法|办法|方案)|还要|还得|也要|顺便|同时|然后|接着|再|先).{0,24}?(?:修改|更改|设(?:为|成|置)|改(?:成|为|用|一下|小|大)|调(?:整|低|高|大|小|到)|降(?:低|到|至)|提高|增大|增加|加大|减小|减少|减半|加倍|翻倍|启用|开启|打开|关闭|关掉|禁用|换(?:成|用|掉|个|一)|替换|升级|降级|安装|重装|重启|重跑|重新|运行|执行|删除|删掉|清空|移除|添加|加上|加入|采用|使用|改用|尝试|回滚|冻结|过滤|去重|下载|发送|上传|延长|缩短|放大|缩小)",
    r"^[\s\-*\d.、]*(?:并|并且|再|然后|同时|另外|也|把|将)?(?![^，。；]{0,16}(?:从|一路|已|自动)[^，。；]{0,16}(?:降|升|提|调))[^，。；]{0,16}?(?:设为|设成|设置为|改成|改为|改用|调低|调高|调大|调小|调到|降到|降低到|提高到|减半|加倍|翻倍|换成|升级到|重启|重装|删掉|关掉|打开|启用|禁用|延长到|延长)",
    r"^[\s\-*\d.、]*(?:把|将).{1,24}(?:设|改|调|降|提|增|减|加|换|关|开|删|延长|缩短)",
    r"^[\s\-*\d.、]*(?:降低|提高|增大|增加|减小|减少|关闭|开启|启用|禁用|升级|安装|重启|删除|运行(?![中时的记后到里])|执行(?![中时的后])|尝试|使用(?![中时的])|换用|加长|延长)",
)
"""A clause that tells the person to change or run something."""
LOOKING = _any(
    r"^start with F\d|^start by (?:\w+ing)\b(?<!changing)(?<!setting)(?<!lowering)(?<!raising)(?<!running)|^(?:compute|calculate|work out)\b",
    rf"^{_LEAD}(?:{_URGE})?(?:look|check|compare|inspect|read|plot|see|watch|count|print|monitor|confirm|examine|view|note|wait|verify|look at)\b",
    r"\btriage\b|--run\b",
    rf"^{_LEAD}(?:if )?(?:{_URGE})?(?:send|give|show|share|point|tell|attach|paste)\b.{{0,40}}\b(?:runs?|logs?|director\w*|output|metrics|path|traceback|more)\b",
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
    "batch": r"batch[ _-]?size|micro[ _-]?batch|global[ _-]?batch|\bbatch(?:es)?\b|批(?:次)?(?:大小|量|再|更)|batch",
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
    "sequence_length": r"sequence[ _-]?length|seq_?len|max_(?:seq_)?length|context length|max_model_len|序列长度|上下文长度|最大长度",
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

MEASURED: dict[str, re.Pattern[str]] = {
    name: SETTING_WORDS[name]
    for name in ("learning_rate", "warmup", "grad_clip", "accumulation", "weight_decay", "beta", "epsilon", "lora")
} | {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "loss": r"\b(?:train_|eval_)?loss\b(?![ _-]?scal)|损失",
        "loss_scale": r"loss[ _-]?scal|缩放",
        "grad_norm": r"(?<!max_)(?<!critic_)grad(?:ient)?[ _]?norm|梯度范数",
        "kl": r"\bkl(?:_\w+)?\b",
        "entropy": r"\bentropy\b|熵",
        "reward": r"\brewards?\b|奖励",
        "throughput": r"throughput|tokens?_per_second|吞吐",
        "batch_size": r"batch[ _-]?size|批大小",
    }.items()
}
"""Metrics and settings whose values a sentence may state: none is lent to another."""
_SETTING = "|".join(pattern for name, pattern in SETTINGS.items() if name not in ("length_of_run", "model"))
IT_IS = re.compile(
    r"(?:\b(?:it|this|problem|answer|failure)|^that)(?:'s|’s|\s+(?:is|was|means?))\s+(.{3,60})|(?:就|正|问题|原因|答案)是(.{2,30})",
    re.IGNORECASE,
)
"""Says what this failure is."""
IDENTIFIED = _any(
    rf"\b(?:it|this|that|problem|answer|failure|nan|what (?:you see|happened)(?: here)?)(?:'s|\s+(?:\w+\s+)?(?:can only be|has to be|must be|is|was|means?))\s+(?:(?:just|all|about|the|a|an|too|your|\w+ly)\s+)*(?:{_SETTING})",
    rf"(?<![么些])(?<![看查疑]的)是(?:因为)?(?:[过太][高低大小短长松]的)?\s?(?:{_SETTING})\s*(?=$|[。，,！!；、)）]|的(?:问题|锅|原因|错|缘故)|过|太|偏|不|没|导致|造成|引起|引发|搞|惹|出|设|问题|本身)",
)
"""Says which setting or part this failure is, without any word for a cause."""
CHANGE = _any(
    r"\b(?:change|increase|decrease|reduce|raise|halve|double|triple|bump|tune|adjust|enable|disable|turn (?:on|off|up|down)|switch|add|remove|replace|swap|upgrade|downgrade|shorten|lengthen|extend|shrink|freeze|use|try|lower|cut)\b",
    r"(?:加上|加大|加入|添加|调(?!度)|改(?!变)|换|设(?:为|成|置|到)|打开|(?<!同时)(?<!都)开启|启用|关掉|关闭|减半|加倍|翻倍|延长|缩短|增大|减小|提高|降低|增加|减少|用上)(?!时|的|后|了|着|状态|中|是)",
)
"""Verbs of changing a setting, in the form that advice takes."""
ASSIGNED = re.compile(r"^\W*(?:\w+ ){0,2}\w+\s*(?:\bto|->|→|=>)\s*\d[\d.e-]*\W*$")
"""Gives a setting a value without a verb."""
DISPUTED = _any(
    r"\b(?:sources|runbooks)\b.*\b(?:differ|disagree|contradict)", r"(?:来源|手册).*(?:分歧|不一致|说法不同)"
)
"""Tells that the sources disagree: what they advise is then no advice."""
SOURCES = _any(r"\bsources?\b|\brunbooks?\b|\bdisagree", r"来源|手册")
EXPECTED = _any(
    r"^expected (?:effect|result|outcome)\b|^expect:|^if\b.*\b(?:stays?|reports?|finishes|reaches|remains?|keeps?|falls?|holds?|finite)\b",
    r"^预期(?:效果|结果)?[：:]",
)
"""Starts a line that says what the change should do, or by what it will be judged."""
DESCRIBED = _any(
    r"\b(?:because|which|who|does|did|do you|sources?|was|were|if|when|whether)\b",
    r"时|被|一直|逐步|逐渐|正在|如果|若|会|让|使(?!用)|来源|手册|已|着|意思|没|不(?!妨)|未|保持|是否|因为|从.*到",
)
"""Signs that a clause describes the change rather than asking for it."""

BENEFIT = _any(
    r"\b(?:safer|wise|wiser|better|helps?|helpful|stabili[sz]e\w*|smoother|robust|advisable|worth(?! (?:knowing|noting|a look|remembering|keeping in mind|checking|reading|looking))|good idea|benefi\w+|pays?)\b",
    r"\b(?:a|an) (?:\w+ )?(?:shorter|longer|larger|bigger|smaller) (?!.{0,30}\b(?:was|were|would have|makes?|delays?|means?)\b)",
    r"\b(?:lower|smaller|larger|higher|longer|shorter|bigger|fewer) .{0,40}\b(?:would|could|might|may)\b",
    r"(?:要|得|该|应|需|建议|最好)[^，。不没看]{0,4}(?:开|关|改|调|加|减|换|设|降|升)",
    r"(?:^|再|稍|还)\S{0,3}(?:高|低|大|小|长|短)(?:一?点|些)|更(?:稳|好|安全|合适|保险|平滑)|有帮助|有好处|改善|缓解|值得(?!留意|注意|一看|知道|看|记)",
)
"""Praise for a change, or a wish for one: advice without an order."""
JUDGED = _any(
    r"\btoo (?:\w+ )?(?:high|low|large|small|short|long|loose|tight|aggressive|big|fast)\b(?! to judge\b)|\bexcessive\b",
    r"[过太](?:高|低|大|小|短|长|松|紧|快)",
)
"""Calls a value wrong, which names a cause in passing."""
GENERAL = _any(
    r"\b(?:when|whenever|if|a|an|any|each|every|means|before|until|usually|often|typically|generally|sometimes|always)\b",
    r"时|如果|若|会|之前|以后|还没|一旦|的话|通常|往往|一般|常常|常见|总是|有时|每",
)
"""Marks of a sentence that explains how things go in general."""

UNITS: dict[str, re.Pattern[str]] = {
    name: bounded(rf"\s*(?:{pattern})", re.IGNORECASE)
    for name, pattern in {
        "%": r"%|％|per ?cent\b",
        "times": r"times\b|-?fold\b|x\b|×|[多余来]?倍",
        "steps": r"(?:(?:more|further|consecutive|training|optimi[sz]er|logged)\s+)?(?:steps?|iterations?)\b|[多余来]?个?(?:训练)?步",
        "points": r"(?:logged |data )?points?\b|个?点",
        "milliseconds": r"ms\b|milliseconds?\b|毫秒",
        "seconds": r"s\b|secs?\b|seconds?\b|秒",
        "minutes": r"mins?\b|minutes?\b|分钟",
        "hours": r"h\b|hours?\b|个?半?小时",
        "days": r"days?\b|天",
        **{f"{p}B": rf"{p}i?B\b" for p in "KMGT"},
    }.items()
}
"""Units that belong to a number: with another one it is another number."""
ZH_COUNTERS = "步|倍|次|张|卡|轮|天|小时|分钟|秒|条|行|个(?!原因)|块|台|层|批|周|月|年|名|页|章"
COUNTED = _any(
    r"\b(?:two|three) (?:\w+ )?(?:things?|ways?|kinds?|sorts?|explanations?|causes?|candidates?|questions?|readings?|possibilities|options|reasons?|remarks?|notes?|sides?|files?|halves)\b",
    r"(?:这|那|有|前|以上)?[两几](?:种|点|条|者|边|方面|个方面|类|个?(?:原因|解释|候选|问题|文件|说法|可能))",
)
"""How many things the answer itself speaks of: no measurement."""
STEP = _any(
    r"\b(?:steps?|iterations?|iter)\s*(?:#|number )?\s*\d[\d,]*(?!\.?\d)(?:\s*(?:to|and|or|through|until|-|–)\s*(?:step\s*)?\d[\d,]*(?!\.?\d))?(?!\s*(?:times|point|%))",
    r"第\s*\d[\d,]*\s*(?:[-–~～到至]\s*\d[\d,]*\s*)?步",
)
"""A step, or a range of them."""
VAGUE = _any(
    r"\b(?:dozens?|tens|hundreds|thousands|millions)\b|\borders? of magnitude\b|\b(?:an?|one|two|three)[ -](?:third|quarter|fifth|tenth)s?\b|\bmost of the\b",
    r"\b(?:one|two|three|four|five) (?:\w+ )?(?:in|out of) (?:every )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|a hundred)\b",
    r"[几数成][十百千万]+|几倍|数量级|[一二两三四五六七八九十]分之[一二三四五六七八九]|大半",
)
"""Amounts without a number."""
LABELLED = _any(
    r"\b(?:rank|gpu|node|epoch|batch|shard|layer|worker|host|seed|version|chapter|page|attempt|replica|expert)\s*#?\s*\d+\b",
    r"第\s*\d+\s*(?:号|张|个)?(?:卡|节点|层|轮|批|页|章|分片)",
)
"""One of several things, by its number."""

OUTSIDE = _any(
    r"\bet al\b|\barxiv\b|\bdoi\b|\bissue #?\d+|#\d{2,}|\[\d+\]|as (?:shown|reported|described) (?:in|by)|\band (?:colleagues|co-?workers|co-?authors)\b|\([12][09]\d\d\)",
    r"\b(?:papers?|study|studies|literature|publications?|preprint|blog|articles?|books?|textbook|tutorial|documentation|docs|wiki|forum|stack ?overflow|reddit|survey|researchers|authors)\b",
    r"(?<![\d,.])\b00\d(?:\s*§\s*[\w.-]*\w)?|§\s*[\w.-]*\w|\bappendix\b|\bsection \d|\b[XIRD]-\d{2}\b",
    r"论文|文献|官方文档|教程|博客|文章|《[^》]+》|第.{1,3}章|研究(?:表明|显示|指出)|据.{1,12}(?:所说|报道|称)",
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
SENTENCE_END = bounded(
    r"(?<=[。！？；])|(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!^\d\.)(?<!^\d\d\.)(?<!\n\d\.)(?<!\n\d\d\.)(?<=[.!?])(?=\s)|(?<=[.!?][*_)\]\"'])(?=\s)|(?<=\n)"
)
CLAUSE = bounded(
    r"[;；,，。：:、]|\s[-–—]+\s|\b(?:and|but|then|also|or|while|plus|along with|together with|as well as)\b|并且|同时|然后|以及|而且|再|并|和|但",
    re.IGNORECASE,
)
ACTS_EN = frozenset(
    re.findall(
        r"\S+",
        "attach command edit execut finish fix instal launch manag modify past rerun resolv restart resum retrain retry revert "
        "run send shar solv start stop suc test tri undo undon upload work correct corrupt cure prov proven end enabl disabl switch rollback",
    )
)
ACTS_ZH = frozenset(
    re.findall(
        r"\S+",
        "修改 改 动 调 调整 换 换成 跑 跑完 试 重启 启动 启用 开启 关闭 设 设为 加 减半 重新 执行 命令 操作 运行 验证 发 发给 生效 打开 关掉 完成 成功 解决 通过 跑通 修 修复 坐实 打乱 别 贴出来 治好 打印",
    )
)
"""Words of acting, for clauses that deny, suppose or ask: stems and pieces."""
CRITERIA = re.compile("it is fixed when")
"""Starts the line of the evidence that holds the acceptance criteria, each its own fact."""
ENTRY = re.compile(r"\b(?:entry|entries|runbook|finding|code)\b|条目|手册|发现项", re.IGNORECASE)
ENTRY_LIKE = re.compile(r"(?!.*\b(?:of|to|by|the|in|at|a|and|up|on|or|one|two|per|non)\b)[a-z0-9]+(?:-[a-z0-9]+){2,}")
"""Words joined as entries' names are, and not as English joins them (step-by-step)."""
