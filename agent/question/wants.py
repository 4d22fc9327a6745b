"""What a message asks for: an explanation, a next step, leave to do something, thanks, nothing of the field."""

from __future__ import annotations

import re
from typing import Literal

from ...tools.patterns import bounded
from ...tools.registry import table

Want = Literal[
    "why",
    "next",
    "ok_to",
    "is_fixed",
    "explain",
    "compare",
    "how_in",
    "lines",
    "short",
    "resume",
    "thanks",
    "bye",
    "none",
]

_WANTS: dict[str, re.Pattern[str]] = {
    want: bounded(pattern, re.IGNORECASE)
    for want, pattern in table(
        "wants",
        (
            (
                "thanks",
                r"^\W*(?:(?:ok(?:ay)?|great|cool|awesome|perfect|nice|alright|wow)\W+)*(?:many |big )?(?:thanks?"
                r"|thank you|thx|ty|tysm|cheers|much appreciated|you(?:'re| are) (?:the best|a life ?saver|great"
                r"|awesome)|appreciate it|great (?:help|job|work)|life ?saver|that (?:helped|worked|did it"
                r"|fixed it))\b(?!.*(?:\?|\b(?:why|but|what|how|should)\b|怎么|为什么)).{0,80}$|^\W*.{0,12}(?:谢谢"
                r"|多谢|感谢|辛苦了?|谢了|太好了|帮大忙|thx|thanks"
                r"|牛)(?!.*[?？吗]).{0,30}$",
            ),
            (
                "bye",
                r"^\W*(?:ok(?:ay)?\W+|thanks?\W+|thx\W+|great\W+)*(?:good ?)?(?:bye|bye bye|see (?:you|ya)|cya"
                r"|quit(?! \w{2,12}ing)|exit"
                r"|good ?night|later|ttyl|i'?m (?:off|done)|going to bed|signing off|gn)\b.{0,40}$|再见|拜拜"
                r"|^.{0,14}(?:先这样"
                r"|下线了|晚安|回头见|我去睡|撤了|收工)",
            ),
            (
                "explain",
                r"^\W*(?:please |pls |can you |could you |ok,? )*explain\b|\b(?:elaborate|what (?:on earth "
                r"|exactly |the hell )?(?:does|do|is"
                r"|are) (?:[fF]\d+|.{1,40} mean|an? |the difference|meant)|what'?s (?:[fF]\d+|an? )|meaning of"
                r"|define"
                r"|tell me (?:more )?about|walk me through|what do you mean)\b|\b[fF]\d{1,2}\b(?!\S)"
                r"|[讲说](?:一?下|说|讲)? ?[fF]\d|解释|是什么意思"
                r"|什么意思|啥意思|讲讲|说明一下|(?<!到底)(?<!你说)是啥|什么叫|怎么理解",
            ),
            (
                "lines",
                r"\b(?:show|print|see|give|quote) (?:me )?(?:all )?(?:the )?(?:raw |log |actual |exact )?"
                r"(?:lines?|log|evidence|excerpt)\b|^\W*(?:and |so )?(?:in |on )?which (?:files?|lines?)\W*$"
                r"|(?:看|给我?)(?:一?下)?(?:原始|那几|日志)?(?:行(?![吗不么嘛])|原文|日志)",
            ),
            (
                "short",
                r"^\W*(?:make it |keep it )?short(?:er)?(?: please| pls| version)?\W*$"
                r"|\b(?:tl;?dr|in one (?:line|sentence)|short version|in short|briefly|summar(?:y|i[sz]e))\b"
                r"|一句话|简短"
                r"|太长(?:不|了不|没)看|总结|简单说",
            ),
            (
                "resume",
                r"\b(?:safe|ok|okay|fine|possible) to (?:just |simply )?(?:resume|restart|continue|go on|carry on)"
                r"|\b(?:can|could|may|should|shall) (?:i|we) (?:just |simply |safely |now )*"
                r"(?:resume|continue|go on|carry on)\b"
                r"(?! (?:with|at) (?:a |the )?(?:lower|higher|smaller|larger|less|more|half|new)\b)|(?:resume|restart"
                r"|continue) from (?:which|where|what)|where (?:to|should i|do i|can i) resume|which checkpoint\b"
                r"|从哪(?:个|里)?.{0,8}(?:恢复|续|开始)|能(?:不能|否)?(?:直接|安全地?)?(?:续训|恢复|继续|接着训)"
                r"|(?:可以|可不可以|现在)(?:直接|现在|就)?(?:续训|恢复训练|继续训练?|接着训).{0,6}(?:吗|么|安全|[?？])",
            ),
            (
                "is_fixed",
                r"\b(?:is|was|are) (?:it|this|that|we|things|the .{1,30}?) (?:now |actually |really |finally "
                r"|all )*(?:fixed|solved|resolved|good now|ok now|okay now|better|healthy now|repaired|gone)"
                r"|did (?:it"
                r"|that|this|(?:that|this|my|our|the) .{1,30}?|\w{1,20}'s .{1,20}?) (?:actually "
                r"|really )?(?:fix|help|work|solve)"
                r"|(?:fixed|solved|resolved)(?: now)? ?\?"
                r"|has (?:it|this|that) been fix(?:e?d|ed)|are we (?:good|ok|fine|done)\b|does (?:this"
                r"|the new) .{1,30} look (?:fixed|better|ok)|修好(?:了)?(?:吗|没|么)?"
                r"|好了(?:吗|没)|解决(?:了)?(?:吗|没)|算(?:是)?(?:修|好)|有没有(?:修|解决)|恢复(?:正常)?了(?:吗|没)",
            ),
            (
                "compare",
                r"\b(?:compare[ds]?|comparison|(?:runs?|one|this|that|mine|baseline|[a-z0-9]) (?:versus|vs\.?)"
                r"|difference between|differ(?:s|ent)? from"
                r"|which (?:run|one"
                r"|of (?:the|these)).{0,30}(?:better|worse)|side by side|the same (?:one )?as (?:here|in|the)"
                r"|better than (?:the )?(?:last|previous|run"
                r"|baseline))\b"
                r"|对比|比较一下|比一?下|区别|哪个(?:run|更)?好|相比|[跟和与].{1,12}[次回个]比|差在哪|有(?:啥|什么)不同|和上(?:次|个).{0,8}比",
            ),
            (
                "how_in",
                r"\b(?:(?:how (?:do|to|would|can|should) .{0,60}|where (?:is|do|can|would) .{0,60})\b(?:in|with"
                r"|for|under) (?:the )?(?:torchtitan|axolotl|deepspeed"
                r"|megatron\S*"
                r"|trl|verl|hf|hugging ?face|transformers|llama-?factory|lightning|torchtune|openrlhf|accelerate"
                r"|fsdp"
                r"|nemo|vllm|sglang|ms-?swift|neox|colossal\w*)|what'?s the (?:flag|option|arg(?:ument)?|key"
                r"|syntax"
                r"|setting|equivalent)|(?:syntax|flag|equivalent) (?:in|for))\b|(?:在|用)\s*(?:axolotl|deepspeed"
                r"|megatron|trl|verl|llama-?factory|openrlhf|swift|accelerate|vllm|transformers).{0,20}(?:怎么"
                r"|如何|哪|which)"
                r"|(?:怎么|如何)在.{1,20}(?:里|中|配)|对应(?:的)?(?:参数|写法|配置)|哪个参数",
            ),
            (
                "next",
                r"\b(?:what(?:'s| is| are)? (?:the )?next|what (?:now|next)|what (?:should|do|can|would"
                r"|shall) (?:i|we"
                r"|you) (?:do|try|check|look|run|change|test)|next (?:step|check|move|thing)s?|where (?:do"
                r"|should) (?:i"
                r"|we) (?:start|look|begin)|how (?:do|can|should|would|to) (?:(?:i|we) )?(?:fix|solve|debug"
                r"|proceed"
                r"|check|verify|stop|avoid|confirm|repair|find out|tell)|now what|then what|what else|what'?s left"
                r"|recommend|advise|any (?:ideas?"
                r"|suggestions?|advice)|what to (?:do|check|try))\b|下一步|接下来|怎么(?:办|修|解决|查|排查|改|弄|处理"
                r"|验证|确认)|如何(?:解决|修|排查|处理|验证)|该(?:怎么|做什么|查|从哪)|咋(?:办|整|搞|修)"
                r"|从哪(?:里)?(?:查|开始)|有什么建议|建议",
            ),
            (
                "ok_to",
                r"\b(?:ok(?:ay)?|fine(?![- ]?tun)|safe|alright|good idea|wise|worth|reasonable|acceptable|make sense"
                r"|bad idea|a mistake|dumb|stupid)(?: (?:to|if|or|idea))?\b.{0,80}\?|\b(?:should|shall|can|could"
                r"|may) (?:i|we"
                r"|you just|it just)\b(?! (?:do|try|check|look)\b)|\b(?:would|will|does|do) .{1,60}\b(?:help"
                r"|hurt|work"
                r"|fix|break|be (?:ok|fine|enough|safe|better))\b.{0,40}\?|, (?:ok(?:ay)?|right|fine|yes|no|good"
                r"|thoughts)\s*\?|(?:ok|right|no|yes|thoughts|objections|yay or nay|good)\s*\?\s*$|why (?:not"
                r"|don'?t (?:i|we)|can'?t (?:i|we))|what if (?:i|we)|how about|what about|\b(?:gonna|going to"
                r"|planning"
                r"|thinking (?:of|about)|tempted|about to|considering|let'?s|i'?ll|i will|i'?d like|i want"
                r"|i plan)\b"
                r"|行(?:吗|不行|么)|可以(?:吗|么|不)|好吗|要不要|能不能|可不可以|该不该|合适吗|有用吗|打算|准备|为什么不"
                r"|怎么不|直接.{1,30}(?:吧|吗|行|可以|不就)|是不是(?:该|要|应该|可以)|想把|想(?:先|直接)|有必要",
            ),
            (
                "why",
                r"\b(?:why|what(?:'s| is| was| are|s)? (?:wrong|going|happening|the (?:cause|reason|problem"
                r"|issue|matter"
                r"|deal)|up with|causing|broken|this)|what (?:went|caused|happened|broke|killed|made)|how come"
                r"|root cause|reason|cause|explanation|wtf|is (?:it|this|that)|could (?:it|this)|diagnos\w+"
                r"|because"
                r"|suspect\w*|think|help|what the)\b|\?|为什么|为啥|怎么回事|原因|什么情况|咋回事|怎么会|哪里(?:有|出)"
                r"|啥问题|什么问题|哪(?:儿|里)不对|怎么了|是不是|吗|呢|怀疑|看(?:一)?下|帮",
            ),
        ),
    ).items()
}
"""In the order in which they win."""

_WORK = (
    r"runs?|training|fine-?tun\w{1,5}|pre-?training|job|model|adapter|probe|server|experiment|benchmark|evaluation|scores?"
    r"|results?|numbers?|curves?|logs?|rewards?|answers?|generations?|outputs?|losses|loss|LoRAs?"
)
_WORK_ZH = "训练|模型|运行|任务|服务|评测|微调|结果|曲线|日志|这次|这个"
_OPEN = bounded(
    r"^\W*(?:so,? |and |hi,? |hey,? |hello,? )?(?:"
    rf"(?:did|does|has|have|is|are|was|were|do|will) (?:[\w'%/.-]{{1,30}} ){{0,6}}?(?:{_WORK})\b"
    r".{0,80}\b(?:work|learn(?:ed|t|ing)?|go(?:ne)? (?:well|fine|ok(?:ay)?|right|as)|train(?:ed)?|come up|finish(?:ed)?"
    r"|succeed(?:ed)?|converg(?:e|ed|ing)|sensible|usable|useful|healthy|sound|fine|ok(?:ay)?|properly|correctly"
    r"|normal(?:ly)?|good|right|well|anything|everything|plausible|believable|trust(?:ed|worthy)?|done|answering)\b[^?？]{0,90}"
    r"|(?:is there )?any(?:thing|body)? (?:to worry|wrong|odd|strange|suspicious|unusual|problems?|issues?)\b.{0,80}"
    r"|(?:why(?! (?:not|don'?t|can'?t)\b)|when|how (?:did|does|is|was|are|were|do) (?:the|this|my|our|it)"
    r"|what (?:happened|went|killed|stopped|does|do|did|is wrong|goes|caused|made|broke))\b"
    r"(?!.{0,200}\b(?:because|due to|thanks to|blame|fault|culprit)\b).{1,200}"
    r")[?？.!]*\s*$"
    rf"|^(?:.{{0,40}}(?:{_WORK_ZH}).{{0,8}})?(?:有没有|有什么|是否有|存在|有)(?:什么|任何|哪些)?(?:异常|问题|不对|毛病|隐患)"
    r"(?:吗|么|嘛|没有)?[?？。]?$"
    rf"|^.{{0,40}}(?:{_WORK_ZH}).{{0,12}}(?:正常|健康|成功|合理|学到|训好|跑通|收敛|可以用|能用)了?(?:东西|什么)?(?:吗|么|没有?)[?？。]?$"
    rf"|^.{{0,60}}(?:{_WORK_ZH}).{{0,16}}(?:怎么样|如何)(?:[，,]可以用了?吗|[，,]能用了?吗)?[?？。]?$",
    re.IGNORECASE,
)
"""How the run went, or why it did what it did, with no cause named: what stands in these is what was run or seen."""


def open_question(sentence: str) -> bool:
    """Whether a sentence only asks how a run went or why something happened."""
    return _OPEN.match(sentence) is not None


_LINES_OF = bounded(
    r"\b(?:show|print|see|give|quote|display)\b.{0,30}\b(?:lines?|logs?|excerpt)\b"
    r"|\b(?:which|what) (?:log )?lines?\b|\bwhere (?:in|of) (?:the )?(?:logs?|files?)\b"
    r"|\b(?:log )?lines? (?:of|for|around|behind) f\d|f\d{1,2}.{0,6}(?:原文|日志|行(?![吗不]))",
    re.IGNORECASE,
)
"""Asks for the lines of a finding that is named, rather than for what it means."""


def wanted(text: str) -> Want:
    """What the person's own words ask for; `why` for a bare description of a failure, `none` for no words at all."""
    found = next((want for want, pattern in _WANTS.items() if pattern.search(text)), "why" if text.strip() else "none")
    return "lines" if found == "explain" and _LINES_OF.search(text) else found  # pyright: ignore[reportReturnType]
