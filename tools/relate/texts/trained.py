"""The file that is trained on: told by the configuration or by its name; its prompts held against the length limit.

What stands in it was written to be learned, so none of it is an output of the model. A prompt that is longer than the
limit leaves no room for its answer, wherever the end is what is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

import numpy as np

from ...data.statistics import wilson
from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...settings import Settings
from ...tables.table import Table
from ..distributions import ENOUGH, named, shown, texts

BETWEEN = bounded(r"[,;\s\[\]\"']+")
"""What stands between several sets in one setting."""
CALLED = bounded(
    r"(?i)^(?:\w{1,40}[_.-])?train(?:ing)?(?:[_.-]?(?:data|set|dataset|split))?(?:[_.-]?\d{1,6})?$|训练(?:集|数据)"
)
"""Names of files that say by themselves that they are trained on."""
ASKED = bounded(
    r"(?i)^(?:system|instruction|prompt|question|query|input|source|context|document)s?(?:_text)?$"
    r"|^(?:系统|指令|提示词?|问题|输入|上下文)(?:文本|内容)?$"
)
ANSWERED = bounded(
    r"(?i)^(?:outputs?|completion|response|answer|target|chosen|reply)(?:_text)?$|^(?:输出|回答|回复|答案|目标)(?:文本|内容)?$"
)
WIDE = bounded(r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]")
MOST_LETTERS, MOST_WIDE = 6.0, 2.0
"""Characters of a token at the most, of scripts with spaces and of Chinese, Japanese and Korean. Own judgement: common
tokenizers have about 4 and 1.5, so that what is counted is rather too little."""
SHARE = 0.1
"""Share of records, at the lower end of its interval, whose prompt alone is longer than the limit. Own judgement."""
MIDDLE = bounded(r"(?i)^(?:p50|median|mean|avg|average|p_?50|中位数?|平均)$")
OF_PROMPTS = bounded(r"(?i)\b(?:prompt|question|instruction|input|query|source)|提示|问题|指令|输入")
OF_ANSWERS = bounded(r"(?i)answer|response|completion|output|回答|回复|输出")
IN_TOKENS = bounded(r"(?i)tok|len|长度|词元")


def trained_on(table: Table, settings: Settings | None) -> bool:
    """Whether the configuration names the table's file as its data, or the file is called so."""
    stem = _stem(table.file)
    if CALLED.search(stem):
        return True
    said = str(settings.value("dataset") or "") if settings is not None else ""
    return stem.lower() in {_stem(one).lower() for one in BETWEEN.split(said) if one}


def over_limit(tables: Sequence[Table], settings: Settings | None, stated: Sequence[Stated]) -> Iterator[Finding]:
    """Prompts that alone are longer than the limit, by the data itself or by what a file says of its lengths."""
    limit = settings.value("sequence_length") if settings is not None else None
    if settings is None or not isinstance(limit, int) or limit <= 0 or settings.value("packing") is True:
        return
    found = [f for t in tables if trained_on(t, settings) and (f := _records(t, limit, settings)) is not None]
    yield from found[:1] or _said(limit, settings, stated)


def _records(table: Table, limit: int, settings: Settings) -> Finding | None:
    """The records of a table whose prompt has more tokens than the limit, counted rather too few."""
    asked = [c for c in table.columns if c.values.dtype.kind == "O" and ASKED.search(c.name)]
    if not asked or named(table, ANSWERED, "O") is None or len(table) < ENOUGH:
        return None
    tokens = np.sum([[least(t) for t in texts(c).tolist()] for c in asked], axis=0)
    over = np.flatnonzero(tokens > limit)
    if wilson(len(over), len(table))[0] < SHARE:
        return None
    half = int(np.median(tokens))
    return _finding(
        f"{len(over)} of {len(table)} prompts of {table.file} are longer than the limit of {limit} tokens, half of all "
        f"have at least {half}",
        f"{table.file} 的 {len(table)} 条提示词中有 {len(over)} 条超过长度上限 {limit} 个 token，一半不少于 {half}",
        (*shown(table, over[:2].tolist(), asked[0].name), *settings.sources("sequence_length")),
        {"rows": len(table), "over": len(over), "limit": limit, "median": half},
    )


def _said(limit: int, settings: Settings, stated: Sequence[Stated]) -> Iterator[Finding]:
    """What a file says of the middle of the prompts' lengths."""
    for one in stated:
        before = one.text.partition(one.key)[0]
        ours = OF_PROMPTS.search(before) and IN_TOKENS.search(before) and not OF_ANSWERS.search(before)
        if MIDDLE.search(one.key) and ours and (number := one.number) is not None and number > limit:
            yield _finding(
                f"prompts have {number:.0f} tokens in the middle ({one.file}), more than the limit of {limit}",
                f"提示词的中位长度为 {number:.0f} 个 token（{one.file}），超过长度上限 {limit}",
                (one.evidence(), *settings.sources("sequence_length")),
                {"median": number, "limit": limit},
            )
            return


def _finding(en: str, zh: str, where: tuple[Evidence, ...], data: dict[str, object]) -> Finding:
    return Finding(
        "prompts-over-limit", Severity.S2,
        f"{en[0].upper()}{en[1:]}: where the end is cut, no token of the answer is left to learn.",
        f"{zh}：若从末尾截断，回答就一个 token 也不剩。",
        where, data,
    )  # fmt: skip


def least(text: str) -> float:
    """Tokens that a text has at the least.

    >>> least("word " * 60), least("条款" * 50)
    (50.0, 50.0)
    """
    wide = len(WIDE.findall(text))
    return (len(text) - wide) / MOST_LETTERS + wide / MOST_WIDE


def _stem(name: str) -> str:
    """A file's name without its folder and endings, and what some trainers write behind it (`#500`, `:train`)."""
    return re.split(r"[#:.@]", PurePath(name).name, maxsplit=1)[0]
