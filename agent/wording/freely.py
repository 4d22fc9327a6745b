# ruff: noqa: E501  (patterns are read as rows)
"""Numbers that tell nothing of the run: of others' practice, of an example, of advice, of what is not known."""

from __future__ import annotations

import re

from ...tools.looking.amounts import Number
from ...tools.patterns import bounded
from .reply import Said

_OBSERVES = bounded(
    r"(?i)\b(?:steps?|lines?|ranks?|nodes?|gpus?|loss|norm|epoch|throughput|accuracy|memory|was|were|reached|shows?|showed|fell|rose"
    r"|drops?|dropped|jump\w{0,3}|logged|logs|hit|measured|observed|recorded|at (?:step|line|rank|epoch))\b|第|步|显示|日志|记录|达到|降到|升到|跌|显存|测得|观察"
)
"""Words that tell of this run: only beside them is a number of advice or of an explanation held against the case."""
_TELLS = bounded(r"(?i)\b(?:needs only|was|were|reached|showed|shows|fell|rose|dropped|jumped|hung|died|failed|logged|hit|measured|observed|recorded|since|reports?|reported|counts|counted|printed|prints)\b"
                 r"|\b(?:I|we)(?:'ve| have| had| already| just| then)\b|我们?(?:刚|已|把)|已经?(?:把|将|给)|刚刚?把|显示|达到|降到了|升到了|跌到|测得|观察到|崩溃")  # fmt: skip
"""Words that tell what was, in advice."""
_GENERAL = bounded(
    r"(?i)\b(?:commonly|usual(?:ly)?|typical(?:ly)?|customary|often|in general|rule of thumb|by default|people)\b|一般|通常|常见|默认|经验"
)
"""Words by which a clause tells of others' practice."""
_ADVICE = bounded(
    r"(?i)^\s?(?:then |and |or |so |but |please )?(?:set|try|use|raise|lower|reduce|increase|keep|rerun|restart|evaluate|save|give|put|leave|don't|do not|stop|check|compare|choose|pick)\b"
    r"|\b(?:next time|I would|I'd|should|better to|had better)\b|建议|不妨|试试|改成|设成|设为|换成|调到|调成|下次"
)
"""Words by which a clause advises."""
_EXAMPLE = bounded(
    r"(?i),\s?say\b|\bsay,|\b(?:for example|for instance|suppose|imagine)\b|\bwith an? \d|\be\.g\.|例如|比如|假设|假如|譬如"
)
_ABSENT = bounded(
    r"(?i)\b(?:not (?:in|known|told|logged|read|recorded|answerable|seen|shown|visible)|n't (?:logged|known|read|told|in|seen|say|tell|shown)|no (?:record|evaluation|value|trace|sign|word)|nothing|unknown|unread|whether|cannot be told)\b"
    r"|没有?[^，。]{0,8}(?:读|看到|记录|写|给)|不知道|看不出|不清楚|未知|没有直接"
)
"""Words by which a clause says that something is not known."""
_PLACED = bounded(r"(?i)\b(?:lines?|ranks?|node) $|第 ?$")
_CHANGES = bounded(
    r"(?i)\b(?:delete|remove|restart|replace|edit|change|kill|drop|exclude)\b|删|重启|改|换|去掉|剔除|杀"
)
"""Words of advice that changes something: the places that it names must be there."""
_KNOWN = (
    ({65504.0, 65535.0, 57344.0, 448.0, 8.0, 5.0, 10.0, 7.0}, bounded(r"(?i)fp16|float16|bf16|fp8|half precision|overflow|半精度|溢出")),
    ({-6.0, -9.0, -11.0, -15.0, -7.0, 1.0, 2.0, 137.0, 139.0, 134.0, 143.0, 6.0, 9.0, 11.0, 15.0}, bounded(r"(?i)SIG[A-Z]{3,4}|signal|exit (?:code|status)|segmentation|killer|退出码|信号|崩溃")),
    ({200.0, 404.0, 429.0, 500.0, 503.0}, bounded(r"HTTP|状态码")),
)  # fmt: skip
"""Numbers that everybody knows, and what of."""
_END = re.compile(r"[。！？]|[.!?](?=\s|$)")
_CLAUSE = re.compile(r"[,;，；。:：(（]\s?(?!\d)|\.\s")


def free(said: Said, n: Number) -> bool:
    """Whether the clause tells of others' practice, of an example, or of what to do, and not of what was."""
    told = clause(said.text, n)
    if said.kind == "next" and _CHANGES.search(said.text) and _PLACED.search(said.text[max(0, n.start - 8) : n.start]):
        return False
    if _ABSENT.search(sentence(said.text, n) if said.kind == "unknown" else told):
        return True
    if _everybody(said.text, n):
        return True
    if _TELLS.search(told):
        return False
    if _GENERAL.search(told) or _ADVICE.search(told) or _EXAMPLE.search(sentence(said.text, n)):
        return True
    observes = {"next": _TELLS, "explain": _OBSERVES if said.cites else _TELLS}.get(said.kind)
    return bool(observes) and not observes.search(told)


def _everybody(text: str, n: Number) -> bool:
    """Whether it is a number that everybody knows of what the sentence names."""
    return any(n.values[0] in of and named.search(sentence(text, n)) for of, named in _KNOWN)


def clause(text: str, n: Number) -> str:
    return text[begin(text, n) : next((m.start() for m in _CLAUSE.finditer(text) if m.start() >= n.end), len(text))]


def begin(text: str, n: Number) -> int:
    """Where the clause of a number begins."""
    return max((m.end() for m in _CLAUSE.finditer(text) if m.end() <= n.start), default=0)


def sentence(text: str, n: Number) -> str:
    start = max((m.end() for m in _END.finditer(text) if m.end() <= n.start), default=0)
    return text[start : next((m.start() for m in _END.finditer(text) if m.start() >= n.end), len(text))]
