"""What a message complains of, whether or not a table of symptoms knows it: the clauses that tell something odd,
worse, absent, or another number than before.

A complaint keeps a run in which nobody measured it from being called healthy (`agent.missing`); it chooses no cause.
What is asked in general ("is anything wrong?"), planned or told as a known symptom is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ...tools.metrics import named
from ...tools.patterns import bounded
from .parts import clauses, sentences
from .plans import last_named, plans
from .polarity import by_phrases
from .symptoms import spans

Way = Literal["up", "down", ""]


@dataclass(frozen=True)
class Complaint:
    """One clause that complains."""

    text: str
    words: frozenset[str]
    """Its words, by which a series of the run may be called."""
    metrics: tuple[str, ...] = ()
    """Canonical metrics that it, or the clause that it speaks back to, names; none for what no log calls so."""
    way: Way = ""
    """Which way it says that a measure goes."""
    sudden: bool = False
    """Whether it is a change that came at some time and that nobody made."""
    compared: bool = False
    """Whether it is a number then against a number now: so people speak of scores, whatever their names."""
    between: bool = False
    """Whether one model, run or version is held against another, or what is set against its absence."""


_ODD = bounded(
    r"\b(?:always|never|every ?time|over and over|all the same|(?:the|one|always) same|identical|repeat\w*|parrot\w*"
    r"|echo\w*|copies|copying|br[eo]a?k(?:s|en|ing)?|broke|fail(?:s|ed|ing|ures?)?|wrong(?:ly)?|worse|worst"
    r"|bad(?:ly)?|odd(?:ly)?|weird\w*|strange\w*|implausibl\w*|suspicious\w*|unbelievabl\w*|unexpected\w*|surpris\w+"
    r"|(?:is|are|at|stays?|reads?|shows?|gives?|only|of) (?:just |exactly |always |still )?(?:0(?:\.0+)?|zero)(?![\d.])"
    r"|too (?:good|high|low|short|long|slow|smooth\w*|much|many|few)|gone|missing|lost|los(?:es|ing)|empty|blank"
    r"|ignor\w+|refus\w+|forg[eo]t\w*|garbage|gibberish|nonsense|rubbish|useless|unusable|halluc\w+|garbl\w+"
    r"|(?:read|sound|look|feel)(?:s|ing)? (?:all |so )?(?:the same|similar)|fabricat\w+"
    r"|alikes?|mak(?:es?|ing) (?:\w+ )?up|made[- ]?up|invents?|inventing|muffled|dull"
    r"|mix(?:es|ing)? up|cut off|truncat\w+|doubled|tripled|halved|times (?:slower|longer|shorter|more|less|fewer)"
    r"|(?:learn(?:s|ed|t|ing)?|did|does|chang(?:es|ed)|gain(?:s|ed)?) nothing"
    r"|(?:no|any|little) (?:effect|gain|difference)"
    r"|(?:only |about |just |barely )?(?:a|one) (?:third|half|quarter|fifth|tenth) (?:of|at|on|for|from)"
    r"|lower than|higher than|below the|behind the|worse than|no better|complain\w*|no longer|not any ?more|any ?more"
    r"|degrad\w+|regress\w+|is a mess|plummet\w*|collaps\w+|creep\w+ (?:up|down)"
    r"|glued|(?:alert|alarm)\w* (?:(?:is|are|keeps?) )?(?:fires?|fired|firing)"
    r"|as (?:if|though)|still (?!(?:has|is|was|runs|trains|needs|falls|drops|rises|goes|takes|learns|looks)\b)\w{3,}s"
    r"|(?:but|yet|however),? (?:it|they|(?:the |our )?(?:model|answers?|outputs?|responses?|results?|users?|people"
    r"|customers?|raters?))"
    r"|(?:talks?|speaks?|behaves?|answers?|repl(?:y|ies)|responds?|acts?|sounds?|outputs?) (?:\w+ ){0,3}"
    r"(?:like|as|to) (?:\w+ ){0,2}(?:base|original|vanilla|untrained|untuned|stock|pre-?trained)"
    r"|cannot|can'?t|(?:does|did|do|has|have|had)(?: not|n'?t)|won'?t|hardly|barely|stuck)\b"
    r"|却|依然|仍(?:然|旧)?(?:是|在|给|说|答|输出)"
    r"|总是|总把|老是|老(?:在|把)|一直(?:是|只|都|没|不|为)|都是(?:一|同)|[一同]个?(?:腔调|样子|味|句式)|千篇一律"
    r"|一模一样|重复|复读|照抄|抄一遍|复述|乱码|胡(?:说|言|编)|乱(?:答|说|来)|答非所问|编造|瞎编|凭空|(?:还是)?只(?:有|会|能|剩|产出)|不见了"
    r"|没了|丢了|为?空的|是空|空串|变(?:差|坏|短|长|笨|弱|傻)|不(?:会|再|听|遵|理|回)|忽略|无视|掉了|掉到|降到|跌|少了|多了"
    r"|翻倍|(?<!对)不对(?!吗)|不正常|奇怪|离谱|蹊跷|诡异|太(?:好|高|低|顺|短|长|差)|投诉|抱怨|跟.{1,8}一样|没(?:变|效|用|长进|学)|没有(?:效果|变化|提升)|白[训练跑]|坏了"
    r"|出错|失败|不如|退化|爬升|报警|告警|大同小异",
    re.IGNORECASE,
)
"""What people call odd, worse or absent: a language's words for trouble, not those of one field."""
_GENERAL = bounded(
    r"^(?:and |but )?i (?:do not|don'?t) (?:\w+ )?like (?:it|this|that)|^(?:did|has|have)\b.{3,60}\?$"
    r"|\bi(?:'?m| am|'?m getting| am getting)? (?:so |really |very |a bit |pretty |getting )*(?:nervous|worried|scared"
    r"|afraid|anxious|concerned|freak(?:ing|ed) out|panick?(?:ing|ed))\b.{0,40}"
    r"|我?(?:现在|真的|有点|好|很|非常|特别|太|比较)*(?:慌|担心|紧张|着急|害怕|焦虑|心慌|发慌)了?[。.!！]?$"
    r"|\b(?:any|some|no|every)(?:thing|body|one)\b.{0,30}|\bwhat(?:'?s| is| was| has| could| might| may| did| exactly)?"
    r"(?: be| go| gone| going| went)? (?:wrong|happened|broke\w*|bad)\b.{0,20}"
    r"|\b(?:went|go(?:es|ing)?|gone) wrong|wrong (?:here|with (?:it|this|that|them|my|the|our))\b"
    r"|\b(?:is|was|are|were|looks?|seems?) (?:it|this|that|they|these|there|(?:the|my|our|this|that) (?:whole )?(?:run"
    r"|training|job|log|experiment)) (?:a |an )?(?:\w+ )?(?:bad|wrong|broken"
    r"|odd|suspicious|suspect|strange|weird|unexpected|surprising)\b"
    r"|\b(?:these|those|the|some|all) (?:\w+ )?(?:warnings?|messages?|lines?) (?:in (?:it|the logs?) )?"
    r"(?:look|sound|seem|are) (?:\w+ )?(?:bad|scary|serious|odd|weird|strange|alarming)\b"
    r"|(?:警告|告警|提示)(?:信息)?看(?:着|起来)\S{0,4}"
    r"|\b(?:did|have|has|could) (?:it|we|i|he|she|they|someone|something|(?:the|my|our) (?:\w+ ){1,3})"
    r" ?(?:just |really )?(?:br[eo]ak|broken?|ruin|damage|mess(?:ed)? up|screw(?:ed)? up|go(?:ne)? wrong)\w*\b.{0,30}"
    r"|\b(?:don'?t|do not|doesn'?t|didn'?t|can'?t|cannot) (?:know|understand|see|tell|find|think|worry|get why|want"
    r"|need|have to|mind|care|trust|decide|wait)\b|\bwhy (?:did|does|do|was|is) (?:it|this|that|the \w+|training)"
    r" (?:stop|end)\w*"
    r"|(?:有没?有?|出了?|有什么|是什么|什么)(?:什么|啥)?(?:问题|毛病)|哪(?:里|儿|一步|个|步)?.{0,6}(?:不对|出错|问题|错了?)"
    r"|(?:是不是|有没有|会不会)(?:是?我们?)?(?:把.{1,8})?[弄搞跑训练]坏了?.{0,6}|有(?:什么|啥)不(?:对|正常)|(?:正常|可疑|奇怪|对|好|行|可以)吗|不知道|不懂|不明白|不放心",
    re.IGNORECASE,
)
"""What asks how a run went without saying what was seen."""
_ALL_WELL = (
    r"(?:ok|okay|fine|good|healthy|normal|sane|sound|right|alright|reasonable|expected|usable|safe|bad|wrong|broken"
    r"|suspicious|worr\w+|concern\w*|benign|harmless|overfit\w*|learn\w*|work\w*|leak\w*|break|broke|well"
    r"|converg\w+|success\w*|corrupt\w*|valid|trust\w*|ruined|wasted|dead|real|true)"
)
_WHETHER = bounded(
    r"\b(?:is|are|was|were|looks?|seems?|does|did|do|has|have|should|need|am|can) .{0,80}\b" + _ALL_WELL + r"\b"
    r"|\b(?:any|some)thing (?:\w+ )?(?:wrong|off|bad|odd|broken|suspicious|weird|fishy|amiss)"
    r"|\b(?:go|went|going|run|ran) (?:ok|okay|fine|well|right|all right)\b|\bhealthy\b|\bhealth check"
    r"|\bany (?:problem|issue|error|trouble|anomal|concern|red flag)\w*|\bhow (?:did|does|is|was|do)\b"
    r"|\bworr(?:y|ied)\b|\bwhat (?:do you (?:see|think|make)|happened|went|am i looking)|\bhave a look\b"
    r"|\b(?:look at|check|review|diagnose|analy[sz]e|assess|judge|summar\w+|report on|explain) (?:this|it|my|the"
    r"|that|these|our)\b"
    r"|正常|有没?有?.{0,6}问题|有什么问题|没问题|没事|可以吗|行吗|好吗|对吗|能用|健康|担心|看看|看一下|看下|检查|分析|诊断"
    r"|总结|怎么样|如何|跑得|训得|要不要紧|有影响|可疑|是否|是不是|成功|靠谱|可信",
    re.IGNORECASE,
)
"""What asks whether all is well, or only to look: what is told beside it is asked about, and no trouble by itself."""
_WAYS: tuple[tuple[Way, re.Pattern[str]], ...] = (
    ("up", bounded(r"\b(?:creep\w*|go(?:es|ing)?|went|mov\w+|climb\w*|drift\w*|inch\w*) up|\b(?:ris(?:es?|ing|en)|rose"
                   r"|climb\w*|grow(?:s|ing)?|grew|increas\w*)\b|上升|升高|爬升|变高|变大|越来越[高大]"
                   r"|[在一]?路?涨", re.I)),
    ("down", bounded(r"\b(?:go(?:es|ing)?|went|mov\w+|drift\w*) down|\b(?:fall(?:s|ing|en)?|fell|drop\w*|declin\w*"
                     r"|decreas\w*|sinks?|sank)\b|下降|下滑|往下|变低|变小|越来越[低小]|掉", re.I)),
)  # fmt: skip
_BETTER = bounded(
    r"\b(?:better|improv\w+|lower|drop\w*|fell|down|gain\w*|jump\w*)\b|变好|更好|掉了|往下|下降|提升|涨了", re.I
)
_SUDDEN = bounded(
    r"\b(?:sudden\w*|out of (?:nowhere|the blue)|nobody (?:touched|changed)|no one (?:touched|changed)|overnight"
    r"|without (?:any|a) (?:change|reason))\b|突然|忽然|莫名|没人(?:动|改)"
    r"|\b(?:since|as of|starting) (?:yesterday|last (?:night|week)|this (?:morning|week)|\w+day)\b"
    r"|(?:昨天|前天|今天|上周|周[一二三四五六日])\S{0,4}(?:开始|起)",
    re.IGNORECASE,
)
_N = r"(?<![\w.@/-])~?\d+(?:\.\d+)?(?:%| ?(?:points?|pct|pp|s|ms|min|分|个点))?(?![\w@/-])"
_NOW, _THEN = r"(?:现在|如今|这次|新的|新模型)", r"(?:之前|原来|以前|上次|旧的|老的|旧模型)"
_COMPARED = bounded(
    rf"\bfrom {_N}.{{0,12}}\b(?:to|down to|up to) {_N}|{_N} ?(?:->|→|=>|to|vs\.?|against|versus|比) ?{_N}"
    rf"|{_N}.{{0,40}}\b(?:now|today|this (?:week|time|month)|currently)\b"
    rf"|\b(?:now|today)\b.{{0,12}}{_N}.{{0,40}}\b(?:was|were|had|before|used to)\b"
    rf"|{_N}.{{0,60}}\b(?:was|were|before|had|scored|reached|got|stood)(?: (?:at|on|about))? {_N}"
    rf"|从 ?{_N}.{{0,8}}(?:到|成|至|为) ?{_N}"
    rf"|{_THEN}.{{0,16}}{_N}.{{0,16}}{_NOW}.{{0,16}}{_N}|{_NOW}.{{0,16}}{_N}.{{0,16}}{_THEN}.{{0,16}}{_N}",
    re.IGNORECASE,
)
"""A number then and a number now."""
_THING = (r"(?:\b(?:base(?:line)?|original|vanilla|teacher|reference|previous|earlier|old(?:er)?|new(?:er)?|merged"
          r"|siblings?|others?|the rest|published|leaderboard"
          r"|exported|converted|quantized|quantised|fine-?tuned|trained|tuned|public|official|upstream"
          r"|(?:run|model|version|checkpoint|ckpt|arm|variant|engine|node|rank|card|gpu) ?[a-d1-9]\b|v\d[\w.]{0,4}"
          r"|(?:bf16|fp16|fp8|int8|int4|awq|gptq|hf|vllm|sglang)\b)"
          r"|基座|原版|原模型|旧版|旧模型|新版|新模型|上一?版|上个版本|合并后|量化后|导出|训练后|微调后"
          r"|官方|对照|上一?(?:次|个|轮|回)(?:的?(?:跑|run|训练|实验|任务))?)")  # fmt: skip
_MORE = r"\b(?:higher|lower|worse|better|noisier|noisy|larger|bigger|slower|rougher|spikier|above|behind)\b"
_HOPED = (
    r"(?:\b(?:promis\w+|expect\w*|should(?:'ve| have)? (?:be|been|have|get|give)|supposed to|advertis\w+|claim\w*"
    r"|paper|blog|report(?:s|ed)? (?:in|by)|reference|recipe|others (?:get|see|report)|usual(?:ly)?|normal(?:ly)?"
    r"|target|spec|planned|aim(?:ed|ing)?)\b|(?:应该|本该|本来|预期|预计|论文|官方|号称|目标|别人|正常|通常|往常))"
)
"""What a number was hoped to be."""
_BETWEEN = bounded(
    rf"{_THING}.{{0,48}}{_N}.{{0,48}}{_THING}.{{0,32}}{_N}"
    rf"|{_N}.{{0,24}}\b(?:while|whereas|but|and|vs)\b.{{0,24}}{_THING}.{{0,48}}{_N}"
    rf"|{_N}.{{0,24}}(?:而|但).{{0,12}}{_THING}.{{0,24}}{_N}"
    rf"|\b(?:than|versus|vs\.?|against|compared (?:to|with))"
    rf" (?:on |in |with |that of )?(?:the |our |my |its )?(?:[\w-]{{2,20}} )?{_THING}"
    rf"|比(?:不上|不过|起)? ?{_THING}|不如 ?{_THING}"
    rf"|{_N}.{{0,48}}{_HOPED}.{{0,48}}{_N}"
    rf"|{_HOPED}.{{0,48}}{_N}.{{0,48}}(?:but|only|while|got|get|see|just|但|却|只).{{0,24}}{_N}"
    rf"|{_MORE}.{{0,24}}\b(?:at|after|for) (?:the |an? )?(?:same|equal|equivalent) "
    r"(?:number of )?(?:steps?|iters?|iterations?|tokens?|epochs?|points?|budget|compute)\b"
    r"|(?:同一?|相同|一样的?)(?:的)?(?:步数?|token|轮)(?:数|时|下)?.{0,6}(?:更|偏|高|低|差|抖)",
    re.IGNORECASE,
)
"""One model, run or version held against another."""
_UNCHANGED = (
    r"(?:\b(?:not|never)|n'?t)(?: \w+)? (?:change|move|drop|budge)d?\b|\b(?:no change|unchanged|the same|identical)\b"
)
_WITHOUT = bounded(
    r"\b(?:as (?:if|though)) (?:\w+ ){1,3}(?:(?:were|was|is|are|had|did|has)(?: not|n'?t| never)\b|never\b)"
    r"|\b(?:as (?:if|though)|like) (?:\w+ ){1,3}(?:were|was|is|are|had been)(?: \w+)? (?:off|disabled|ignored|unset)\b"
    r"|\b(?:same|identical|equal|no different|no difference|unchanged|no better|as (?:much|high|slow|low|large|long))\b"
    r".{0,30}\b(?:without|(?:when|if|while) (?:it is |it'?s )?(?:off|disabled|not set))\b"
    r"|\b(?:with or without|on or off)\b.{0,40}\b(?:same|alike|identical|no difference)\b"
    r"|\b(?:ha(?:s|d|ve)|mak(?:es?|ing)|made|shows?|seems? to have) (?:absolutely )?(?:no|zero|hardly any)"
    r" (?:\w+ )?(?:effect|difference|impact)\b"
    r"|(?:\bnot|n'?t) (?:seem to |really |actually )?(?:tak(?:e|ing) (?:any )?effect|kick(?:ing)? in|have any effect"
    r"|do(?:ing)? anything|make any difference|help(?:ing)? at all)\b"
    rf"|\b(?:turn(?:ed|ing)? on|enabl(?:ed|ing)|switch(?:ed|ing)? on|add(?:ed|ing))\b.{{0,60}}(?:{_UNCHANGED})"
    rf"|(?:{_UNCHANGED}).{{0,40}}\b(?:turning on|enabling|switching on|adding|with it on)\b"
    r"|(?:跟|和|与|同|像)(?:没有?|未|不)\S{0,8}?(?:一样|似的|一个样|差不多|没区别|没差别|无异)|形同虚设"
    r"|(?:没有?|不|未)(?:真正?|能|见|曾)?(?:生效|起作用|起效|见效)|(?:没有?|毫无|看不出)(?:任何|什么|啥)?(?:作用|区别|差别)"
    r"|(?:打开|开启|启用|加上|加了|开了|设了|配了).{0,24}(?:没变|没有变化|没什么变化|不变|没降|没下降|没有下降|没减|没少|没快)"
    r"|开(?:不开|没开|和不开|与不开|跟不开)\S{0,6}(?:一样|一个样|没区别|没差别)",
    re.IGNORECASE,
)
"""What is set and shows nothing of it: no measure of the run alone can deny that, only one without the setting."""
_BACK = bounded(
    r"(?:窜|蹿|飙|冲|跳|涨|掉|降|升)(?:到|了|至)"
    r"|\b(?:shot|jump\w*|spiked|climbed|rose|fell|dropped) (?:up |down |back )?to\b"
    r"|\b(?:it|its|this|that|they|these)\b|^.{0,9}$|[它这那]|^(?:开头|一?开始|后来|然后|接着|随后|中间|最后|偶尔|而且|并且|也)"
    rf"|^(?:and |but )?(?:then|afterwards?)\b"
    rf"|^(?:and |but |also )?(?:much |far |a (?:bit|lot) )?{_MORE}",
    re.IGNORECASE,
)
"""A clause that speaks of what the one before it named, or names nothing."""
_AND = re.compile(r" and |而且|并且")
_FOREIGN = bounded(r"[\w-]{1,20}@\d+|\bwin ?-?rate|胜率|命中率|召回率?", re.IGNORECASE)
"""Scores that no training loop logs."""
_WORD = bounded(r"[A-Za-z][A-Za-z0-9_/@.-]{0,40}|[\u3400-\u9fff]{1,20}")
_HAN = bounded(r"[\u3400-\u9fff]")
GOES_ON = bounded(
    r"\bstill (?:running|training|going)\b|\b(?:is|it'?s) (?:currently )?(?:running|training) (?:now|since|for)\b"
    r"|\bcurrently (?:running|training)\b|\bin progress\b"
    r"|\b(?:now|it'?s|it is) at (?:about )?(?:(?:step|iter(?:ation)?|update|epoch) ~?\d|\d[\d,.]*[kKmM]?/\d)"
    r"|\d[kKmM]? ?(?:/|of|out of) ?\d[\d,.]*[kKmM]?(?: (?:steps|updates|iter\w*|epochs))?,? (?:now|done|so far)\b"
    r"|还在(?:跑|训|进行)|正在(?:跑|训)|(?:跑|训|练)到了?第?\s*[\d.]+\s*[万kK]?\s*(?:步|轮|epoch)|到\s*[\d.]+\s*[万kK]?\s*步了|还没(?:跑|训)完",
    re.IGNORECASE,
)
"""What says that a run has not come to its end yet."""
LEAST_TOLD = 4
"""Words of a clause that tells something."""
MOST = 40
"""Clauses of a message that are looked at."""


def complaints(own: str) -> Iterator[Complaint]:
    """The complaints of a person's own words."""
    found = list(_odd(own))
    asked = " ".join(s for s in sentences(own) if not by_phrases([s], ()))  # a suspicion does not ask if all is well
    if not found and not _WHETHER.search(asked) and not next(spans(own), None):
        apart = [s for s in sentences(own)[:MOST] if _says(s)]  # beside a suspicion or a plan it is its reason
        found = [c for s in apart for c in _told(clauses(s))]
    yield from found


def _told(parts: Sequence[str]) -> Iterator[Complaint]:
    """The clauses of a sentence that tell something, where nothing in it is odd by its words."""
    before: tuple[str, ...] = ()
    for clause in parts:
        metrics = _metrics(clause) or (before if _BACK.search(clause) else ())
        rest = GOES_ON.sub(" ", clause)
        if (len(_words(rest)) >= LEAST_TOLD or _HAN.search(rest)) and not _asks(clause):
            yield Complaint(clause, _words(clause), metrics)
        before = metrics


def _odd(own: str) -> Iterator[Complaint]:
    """The complaints that are told by odd words, by numbers held against each other, or as a change."""
    for sentence in sentences(own)[:MOST]:
        between = _BETWEEN.search(sentence) is not None or _WITHOUT.search(sentence) is not None
        if between or (_COMPARED.search(sentence) and not last_named(sentence)):
            yield Complaint(sentence, _words(sentence), _metrics(sentence), compared=True, between=between)
        before: tuple[str, ...] = ()
        for clause in [one for c in clauses(sentence)[:MOST] for one in _AND.split(c) if one.strip()]:
            metrics = _metrics(clause) or (before if _BACK.search(clause) else ())
            if _says(clause) and _is_odd(clause):
                sudden = _SUDDEN.search(sentence) is not None and _BETTER.search(clause) is not None
                ways: list[Way] = [way for way, pattern in _WAYS if pattern.search(clause)]
                yield Complaint(clause, _words(clause), metrics, ways[0] if ways else "", sudden)
            before = metrics


def _says(clause: str) -> bool:
    """Whether a clause tells something that is no known symptom, no plan and no suspicion, which `agent.respond`
    answers."""
    return not next(spans(clause), None) and not by_phrases([clause], ()) and next(plans(clause), None) is None


def _is_odd(clause: str) -> bool:
    """Whether it tells of trouble beyond what it asks in general."""
    rest = _GENERAL.sub(" ", clause)
    return any(pattern.search(rest) for pattern in (_ODD, _SUDDEN, *(pattern for _, pattern in _WAYS)))


def _asks(clause: str) -> bool:
    """Whether it only asks."""
    return clause.endswith(("?", "？")) or not _GENERAL.sub(" ", clause).strip()


@lru_cache(256)
def _metrics(clause: str) -> tuple[str, ...]:
    """The canonical metrics that its words name, longer names first; none where a score that no loop logs is named."""
    if _FOREIGN.search(clause):
        return ()
    words = [w for piece in _WORD.findall(clause) for w in ([piece] if not _HAN.search(piece) else _pieces(piece))]
    found = {
        n[0] for size in (3, 2, 1) for i in range(len(words) - size + 1) if (n := named(" ".join(words[i : i + size])))
    }
    return tuple(sorted(found))


def _pieces(text: str) -> list[str]:
    """The stretches of a Chinese text that a measure may be called by."""
    return [text[i : i + n] for n in (4, 3, 2) for i in range(len(text) - n + 1)]


def _words(text: str) -> frozenset[str]:
    return frozenset(w.lower() for w in _WORD.findall(text))
