"""By what a file shows of itself that a model wrote it, or a person with one, whoever reads it: the kinds of files, the
roles of data, and the comparisons of texts all ask here.

Fields of a record, labels of a text, names of a file; what lies beside it is `tools.data.roles`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from .patterns import bounded

PREDICTED = bounded(
    r"(?i)^(?:pred(?:iction|icted)?s?|(?:(?:model|raw|llm)_){1,2}(?:output|answer|response|prediction)s?|hyp(?:othes[ie]s)?"
    r"|预测|模型输出|模型回答)$"
)
ANSWER = bounded(r"(?i)^(?:response|completion|generat(?:ed|ion)(?:_?text)?|output|answer|输出|回答)s?$")
REFERENCE = bounded(
    r"(?i)^(?:gold\w{0,8}|ground_?truth(?:_\w{1,12})?|references?|expected(?:_(?:answer|output|response|behaviou?r|result)s?)?|verdicts?|judge\w{0,12}"
    r"|标准答案|参考答案|评审|裁判|判定)$"
)
"""Fields of what a model answered, and of what that is held against or judged by: rows with both are an
evaluation's."""
TIMED = bounded(
    r"(?i)(?:^|_)(?:ttft|tpot|latency|tokens?_per_s(?:ec\w{0,4})?|tok_s|elapsed|time_taken)(?:_|$)|耗时|时延|延迟"
)
"""Fields of a request that was measured."""
RESULTS = bounded(r"(?i)(?:^|[_.-])(?:results?|pred(?:iction)?s?|transcripts?)(?:[_.-]?\d{1,4})?$|(?:结果|预测)$")
"""What a name says last is what the file is: the results of a fine-tuned model are no data of its training."""
SAYS, SAID = ("role", "from"), ("content", "value")
_LABEL = bounded(rb"(?m)^[ \t#*>-]{0,6}([A-Za-z][\w' -]{1,40}?)\*{0,2}[ \t]?:[ \t]")
_GIVEN = bounded(rb"(?i)\b(?:pred(?:icted|iction)?|hypothesis|generated|model(?:'s)? (?:answer|output|response))\b")
_MEANT = bounded(
    rb"(?i)\b(?:actual|expected|gold|reference|ground[ _]truth|target|correct|question|prompt|query|input)\b"
)
_LOGGED = bounded(rb"(?m)^.{0,20}\d\d:\d\d:\d\d|\b(?:INFO|WARNING|ERROR|DEBUG)\b|^Traceback ")
SAMPLED = re.compile(
    rb"['\"](?:repetition_penalty|temperature|(?:top|min)_[pk]|max(?:_completion|_new)?_tokens|stream)['\"]\s{0,16}:"
)
_DRAWN = re.compile(rb"['\"](?:outputs?|responses?|completions?|generat\w{1,8}|repl(?:y|ies)|answers?)['\"]\s{0,16}:")
_ENDED = bounded(
    r"(?i)(?:^|[,;\t{ ])['\"]?(?:(?:finish|stop|end)(?:ed|ped)?_?(?:reason|cause|by)|why|(?:结束|停止|终止)原因)['\"]?"
    r"\s{0,4}(?:[,;\t:\r\n]|$)".encode()
)  # fmt: skip
"""A column that says why a text ended: somebody sampled it."""
_ASKED = re.compile(
    r"(?i)['\",;\t{ ](?:prompts?|question|query|input|instruction|messages|conversations?|chosen|source|context|problem"
    r"|提示词?|问题|输入|题目)['\",;\t: ]".encode()
)
"""A column of what was asked, without which texts train nobody."""
TWICE = 2
"""Times that a label comes again where a text is made of items."""
_STATE = bounded(rb"(?i)['\"](?:next_)?(?:state|observation|obs)s?['\"]\s{0,4}:\s{0,4}[\[{\"]")
_ACTION = bounded(rb"(?i)['\"](?:\w{1,20}_)?actions?['\"]\s{0,4}:")
_PAID = bounded(rb"(?i)['\"]rewards?['\"]\s{0,4}:")


def is_answered(fields: Collection[str]) -> bool:
    """Whether the fields of a record are a prediction, an answer beside what it is held against or judged by, or how
    long an answer took."""
    held = any(REFERENCE.search(k) for k in fields)
    return any(PREDICTED.search(k) or TIMED.search(k) or (held and ANSWER.search(k)) for k in fields)


def fields_of(record: Any) -> list[str]:
    """The names of a record's fields, and of those of the records in it."""
    inner = [record, *record.values()] if isinstance(record, Mapping) else []
    return [k for one in inner if isinstance(one, Mapping) for k in one if isinstance(k, str)]


def is_turn(record: Any) -> bool:
    """Whether a record is one turn of a conversation: the file is what was said in one."""
    fields = record.keys() if isinstance(record, Mapping) else ()
    return any(who in fields and what in fields for who, what in zip(SAYS, SAID, strict=True))


def called_results(name: str) -> bool:
    """Whether a file's own name says last that it holds results or predictions."""
    return RESULTS.search(PurePosixPath(name).stem) is not None


def is_transcript(head: bytes) -> bool:
    """Whether a text is made of items, each with what was asked or meant and what a model said to it, under labels that
    come again; what it quotes has not happened to the program that wrote it."""
    if _LOGGED.search(head):
        return False
    often = Counter(label.lower() for label in _LABEL.findall(head))
    again = [label for label, times in often.items() if times >= TWICE]
    return any(map(_GIVEN.search, again)) and any(_MEANT.search(a) and not _GIVEN.search(a) for a in again)


def is_episode(first: bytes) -> bool:
    """Whether a record is one step of an agent in its world: what it saw, what it did, what that paid. It was shown to
    somebody or is learned from, and is no measure of a training."""
    return all(pattern.search(first) for pattern in (_STATE, _ACTION, _PAID))


def is_sampled(first: bytes) -> bool:
    """Whether a header or a first record is that of outputs: why each ended and nothing asked, or how it was drawn."""
    drawn = SAMPLED.search(first) and _DRAWN.search(first)
    return bool(drawn or (_ENDED.search(first) and not _ASKED.search(b"," + first + b",")))
