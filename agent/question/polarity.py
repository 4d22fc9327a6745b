"""How a mentioned cause is meant: suspected, denied, doubted, or only mentioned; and whether somebody else said it.

One clause at a time, with the words right around the mention; a sign in another clause of the sentence counts where the
sentence names one cause only. Of two readings the more cautious wins: a doubt over a denial, a denial over a suspicion;
a mention without any sign is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...tools.patterns import bounded
from .parts import clauses
from .topics import Topic, mentions

Polarity = Literal["suspects", "denies", "doubts"]
BEFORE, AFTER = 70, 48
"""Characters around a mention in which a sign is looked for."""


@dataclass(frozen=True)
class Suspicion:
    """A cause that the person names."""

    topic: Topic
    polarity: Polarity
    told_by: bool
    """Whether it is somebody else's opinion."""
    text: str
    """The sentence that says it."""
    both: bool = False
    """Whether another sentence says the contrary."""


def _signs(*parts: str) -> re.Pattern[str]:
    return bounded("|".join(parts), re.IGNORECASE)


_SAY = (
    r"(?:thinks?|thought|believes?|guess(?:es)?|bets?|feels?|reckons?|figures?|assumes?|swears?|insists?"
    r"|claims?"
    r"|says?|said|blames?|suspects?|argues?|told|suggests?|suggested|keeps? saying|is (?:sure|certain"
    r"|convinced))"
)
_DOUBTS = _signs(
    r"\b(?:not (?:so |too |really |entirely |totally |fully |100% |at all )?(?:sure|convinced|certain|buying"
    r"|sold)"
    r"|how (?:sure|certain)|doubt(?:s|ful|ing)?|hardly|skeptical|sceptical|unconvinced|hard to believe|(?:is"
    r"|was|can"
    r"|could) (?:it|this|that) really)\b",
    r"\breally (?:the|a|an|be|just|down|because|due|about|our|my)\b|\bdon'?t (?:really |quite )?buy\b"
    r"|\bunlikely\b"
    r"|\bfar-?fetched\b|\ba stretch\b|\bnot obviously\b|\bcan'?t believe\b|\bsurely not\b",
    r"\bare (?:you|we) sure\b|\bdo you really think\b|\bfeels? wrong\b|\bno idea (?:if|whether)\b"
    r"|\bcan .{1,30} really\b|\bwould .{1,30} really\b|\bdoes .{1,30} really\b|\bseriously\?",
    r"真的?是|真是|不(?:太|大|怎么|敢|能)?(?:确定|相信|信(?!息)|像)|不见得|未必|不一定|存疑|怀疑(?:不是|未必)|说不通"
    r"|真(?:的假的|的吗|的么|会|有)|不太可能|不大可能|牵强|不是.{1,12}吧\W*$",
)
_DENIED_BEFORE = _signs(
    r"\b(?:(?:is|was|are|were)n['o]?t|(?:is|was|are|were|'s|'re|be|it|that|this|and|so|but|definitely"
    r"|certainly"
    r"|clearly|just|also)(?: \w+ly| just| also)? not|ca(?:n'?t|nnot) be|couldn'?t be|it\'?s not|not (?:the|a"
    r"|an|my"
    r"|our|your|because|due|down|caused|about|from|related|it|with)|^not|nothing (?:to do|wrong) with|no way"
    r"|rul(?:e"
    r"|ed|es|ing) out|exclud(?:e|ed|ing)|eliminated|never (?:was |were )?the)\b(?! (?:sure|convinced|only"
    r"|just))",
    r"\b(?:don'?t|do not|didn'?t|never|stop|quit) (?:tell|say(?:ing)?|blam(?:e|ing)|give me|start with|think"
    r"|believe"
    r"|suspect|telling)\b|\bunrelated to\b|\b(?:checked|verified|validated|tested|ruled|excluded"
    r"|cleared) (?:the|my"
    r"|our|all|every|out)\b|\bleave\b|\b(?:haven'?t|hasn'?t|didn'?t|nobody|no one)(?: has)? (?:touch(?:ed)?"
    r"|chang(?:ed?))\b",
    r"(?<![是怕])不是|不可能是?|并非|不(?:会|应该)是|排除|别(?:跟我|再)?(?:说|怪|提|扯)|不怪|不关|(?:跟|和"
    r"|与)(?=.{1,14}(?:无关|没(?:有)?(?:什么)?关系))|不觉得|没说|(?:没|没有)(?:动|改|碰|换)过?|不信|查过|检查过"
    r"|核对过|验证过",
)
_DENIED_AFTER = _signs(
    r"^\W*(?:\S+ ){0,4}?(?:is|are|was|were|looks?|seems?|'s|'re|'m|be|been)(?: \w+ly| all| also| just| been"
    r"| already)* (?:fine|ok|okay|clean|correct|good|innocent|healthy|solid|identical|unchanged|not|ruled out"
    r"|excluded|right|sane)\b",
    r"^\W*(?:\S+ ){0,4}?(?:isn'?t|aren'?t|wasn'?t|weren'?t|ca(?:n'?t|nnot) be|has nothing|have nothing"
    r"|had nothing"
    r"|is irrelevant|is unrelated|is not|doesn'?t explain|checks? out|hasn'?t changed|haven'?t changed"
    r"|didn'?t change|is out|passed|matches)\b",
    r"^[^，。,吗]{0,8}?(?:没(?:有)?(?:什么)?(?:问题(?!吧)|毛病|动过|改过|变|关系|动)|无关|不背锅|(?:都|很"
    r"|是)?(?:正常|干净|没变|好的)|查过|检查过|核对过|验证过|排除|不可能|(?<!是)不是(?!吧))",
)
_SUSPECTS = _signs(
    rf"\b(?:suspect(?:s|ed|ing)?|suspicious|(?:i|we|he|she|they|everyone|everybody|people|someone|somebody"
    rf"|colleagues?|boss|manager|lead|[A-Z]\w+)(?: (?:do|still|just|really|kinda|strongly|personally"
    rf"|honestly|all"
    rf"|also))* {_SAY}|i'?d (?:bet|guess|say)|imo|imho)\b",
    r"\b(?:(?:im|i'm|we're|he's|she's|they're|i am|we are) (?:\S+ )?(?:sure|certain|convinced|betting"
    r"|positive"
    r"|guessing|leaning|worried|afraid)|my (?:guess|bet|money|hunch|theory|hypothesis|gut|suspicion|feeling"
    r"|take"
    r"|vote)|(?:must|might|may|could|can|gotta|ha[sd] to|have to|got to)(?:'ve| have)?(?: it| this| that"
    r"| just)? be(?:en)?)\b",
    r"\b(?:maybe|perhaps|probably|prob|presumably|likely|obviously|clearly|definitely|surely|apparently|def"
    r"|looks? like|smell(?:s|ing)?(?: like| of)?|sounds? like|feels? like|seems? (?:like|to be)"
    r"|points? (?:to|at)"
    r"|pointing|culprit|to blame|blam(?:e|ing|es)|because(?: of)?|due to|caused by|comes? from|coming from"
    r"|related to|(?:something|anything) to do|fault|guilty|responsible|root cause)\b",
    r"\b(?:(?:cause|reason|problem|issue) (?:is|was|being)|too (?:high|low|large|big|small|short|long"
    r"|aggressive"
    r"|strong|weak|noisy|hot)|(?:is|was) (?:it|this|that)|isn'?t (?:it|this|that)|it'?s(?: all| just"
    r"| obviously"
    r"| gotta)*(?: about| the| our| my| a)?|it is|that'?s (?:the|our|a)|what about|how about|wonder(?:ing)?"
    r"|lying"
    r"|gamed|hacked|either)\b",
    r"\b(?:bro?ke(?:n|s)?|break(?:s|ing)?|messed|screwed|corrupt(?:ed)?|bad|buggy|wrong|busted|dying|faulty"
    r"|flaky"
    r"|mismatch(?:ed)?|misconfigured|dirty|poisoned|stale|odd|weird|strange|fishy|lost|looks? off|kill(?:ed"
    r"|ing)"
    r"|did (?:it|this)|caus(?:ing|ed|es)|explains?|ruin(?:ed|ing|s)|wreck(?:ed|ing|s)|starv(?:ed|ing"
    r"|ation))\b",
    r"怀疑|是不是|是否|会不会|觉得|应该是|可能是?|估计|肯定|八成|多半|大概|感觉|认为|猜|难道|怪|导致|引起|造成|的锅"
    r"|锅是|的问题|因为|由于|一定是|就是|说是|坚持|咬定|有关|搞的|惹的|坏了|有问题|太(?:大|小|高|低|短|长|激进|少"
    r"|多)|疑似|像|归咎|出(?:了)?问题|没对齐|写错|错了|不对|害的|惹|高了|低了|大了|小了|被|赖|觉的|怕不是|莫非|弄成"
    r"|漏了|没(?:问题|错)吧|了吧|没加载|存坏|扛不住",
)
_TOLD = _signs(
    rf"\b(?!I\b|We\b|It\b|The\b|This\b|That\b|What\b|My\b|So\b|And\b"
    rf"|But\b)(?-i:[A-Z])[a-z]+(?: from \w+)?(?: \(?\w+\)?)? {_SAY}\b",
    rf"\b(?:colleagues?|co-?worker|boss|manager|lead|pm|teammate|team|senior|intern|advisor|professor|infra"
    rf"|ops|sre"
    rf"|someone|somebody|people|everyone|everybody|vendor|support|reviewer|he|she|they|guys?|folks|twitter"
    rf"|reddit"
    rf"|stack ?overflow|chatgpt|claude|gpt|gemini|copilot|docs?|internet|blog|paper|forum|post|thread"
    rf"|slack) (?:\S+ ){{0,4}}?{_SAY}\b",
    r"\baccording to\b|\bi(?:'ve| have| keep)? (?:was |been )?(?:told|hear(?:d|ing)?|read(?:ing)?)\b"
    r"|\brumou?r\b"
    r"|\bsupposedly\b|\ballegedly\b|\bblames\b",
    r"(?:同事|老板|导师|组长|师兄|师姐|领导|运维|有人|群里|别人|大家|网上|网友|他们?|她们?|队友"
    r"|[小老][\u4e00-\u9fff]|[\u4e00-\u9fff]哥|[\u4e00-\u9fff]工|客服|厂商|博客|论文|文档|知乎"
    r"|\b[A-Z][a-z]+ ?)[^，。,.]{0,8}?(?:说|觉得|认为|怀疑|坚持|咬定|猜|讲|怪|建议|告诉|判断)|据说|听说",
)


def suspicions(sentence: str, planned: tuple[str, ...] = ()) -> Iterator[Suspicion]:
    """The causes that one sentence names, and how it means them.

    Args:
        planned: topics that the sentence plans to act on; naming one for that is no suspicion.
    """
    named = [(c, t, start, end) for c in clauses(sentence) for t, start, end in _told_apart(c)]
    lonely = len({t.id for _, t, _, _ in named}) == 1
    signs = {t.id: p for c, t, start, end in reversed(named) if (p := _polarity(c, start, end))}
    for clause, topic, start, end in {t.id: n for n in reversed(named) if (t := n[1])}.values():
        polarity = signs.get(topic.id)
        if lonely and polarity != "denies" and _DOUBTS.search(sentence):
            polarity = "doubts"
        if polarity is None and (lonely or _bare(clause, start, end)):
            polarity = "suspects" if _SUSPECTS.search(sentence) or _asked(sentence) else None
        if polarity and (topic.id not in planned or _surely(clause, start, end)):
            told = _TOLD.search(clause) or (lonely and _TOLD.search(sentence))
            yield Suspicion(topic, polarity, bool(told), sentence)


def _told_apart(clause: str) -> list[tuple[Topic, int, int]]:
    """The mentions of a clause; "a bug in X" is about X."""
    found = mentions(clause)
    return [f for f in found if f[0].id != "code-change" or len(found) == 1]


def _bare(clause: str, start: int, end: int) -> bool:
    """Whether the clause is hardly more than the name."""
    return (
        len((clause[:start] + clause[end:]).strip(" ?？!吗呢么吧the,.").split()) <= 2
        and len(clause) - (end - start) <= 14
    )


def _polarity(clause: str, start: int, end: int) -> Polarity | None:
    """How a clause means the topic named at a place in it."""
    before, after = clause[max(0, start - BEFORE) : start], clause[end : end + AFTER]
    if _DOUBTS.search(f"{before} {clause[start:end]}{after}"):
        return "doubts"
    if _DENIED_BEFORE.search(before) or _DENIED_AFTER.search(after):
        return "denies"
    return "suspects" if _surely(clause, start, end) else None


def _surely(clause: str, start: int, end: int) -> bool:
    return _SUSPECTS.search(f"{clause[max(0, start - BEFORE) : start]} , {clause[end : end + AFTER]}") is not None


def _asked(sentence: str) -> bool:
    """Whether the sentence is a short question, which asks about what it names."""
    return re.search(r"[?？吗呢么]\W*$", sentence) is not None and len(sentence) < 60
