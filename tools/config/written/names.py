"""Which setting a name means that a person chose: `Peak learning rate`, `QUESTIONS_PER_ROLLOUT`, `tokens.response.max`.

A name is a bag of words, each brought to one spelling, and means what the same bag of the table means: so `min_lr`,
`lr-min` and `Minimum learning rate` are one. All words count but those that only count or measure; a word that the
table does not know (`critic`, `eval`, `teacher`) makes it the name of something else.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ...documents.names import PHRASES
from ...patterns import bounded
from ...settings import CONTEXT, VARIABLES
from ..keys import normal
from ..names import AS_WRITTEN, JOINED, LOOSE, NAMES, NEUTRAL, TOLD, spelled

_EMPTY = frozenset(
    ("the", "of", "a", "an", "number", "num", "n", "no", "count", "size", "sizes", "degree", "used", "our")
)
"""Words that only count or measure."""
_PAIRS = {(first, second): one for first, second, one in JOINED} | {
    ("data", "loader"): "dataloader", ("kv", "head"): "kvhead",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]+\d*(?![a-z])|[A-Za-zβεϵγ][a-zβεϵγ]*+[\d₁₂]*|\d+|[\u4e00-\u9fff]+")
_SHOUTED = bounded(r"[A-Z0-9_.-]+$")

_SORTING = """
    batch batching data dist distributed lr_schedule model opt optim optimization optimiser optimizer parallel
    parallelism ranks rl rope sched schedule scheduler serve serving sft vllm tokens ppo grpo dpo kl random
    deepspeed hf megatron fsdp learner agent adamw adam sgd lion muon lamb candidate decode decoding sampling
    generation engine server 模型 优化 偏好训练 适配器 数据 批次 批量 调度 并行
"""
PLAIN = NEUTRAL | frozenset(_SORTING.split())
"""Headings that need not be part of a name; all others must."""


def _spelled(word: str) -> list[str]:
    return [word] if word in AS_WRITTEN else spelled(word)


@lru_cache(4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in their one spelling, in order; Chinese letters stand together."""
    text = name.lower() if _SHOUTED.match(name) else name
    words = [w for part in _WORD.findall(text.replace("·", " ")) for w in _spelled(part.lower())]
    flat = [w for word in words for w in (LOOSE.get(word) or word).split()]
    out: list[str] = []
    for word in flat:
        if out and (pair := _PAIRS.get((out[-1], word))):
            out[-1] = pair
        elif word == "size" and out[-1:] == ["batch"]:
            continue
        elif out[-1:] == ["per"]:
            out[-1] = f"per_{word}"  # a prompt per rollout is no rollout per prompt
        else:
            out.append(word)
    return tuple(out)


def _bag(words: tuple[str, ...]) -> tuple[str, ...]:
    if any("\u4e00" <= c <= "\u9fff" for word in words for c in word):
        return ("".join(words),)
    return tuple(sorted(set(words) - _EMPTY))


@cache
def _table() -> dict[tuple[str, ...], str]:
    """Bag of words -> what it means; the names of notes count where the table of names has none."""
    rows = [(of, name) for of, names in TOLD.items() for name in names.split(";")]
    rows += [(of, name[1:]) for of, names in NAMES.items() for name in names.split("; ") if name[0] == "+"]
    known = {*VARIABLES, *CONTEXT} - {"beta", "train_batch_size"}
    rows += [(of, phrase) for of, phrases in PHRASES.items() if of in known for phrase in phrases.split("|")]
    table: dict[tuple[str, ...], str] = {}
    for of, name in rows:
        if bag := _bag(words_of(name)):
            table.setdefault(bag, of)
    return table


@lru_cache(4096)
def whole(name: str) -> str:
    """What a name means that stands alone (a cell, the words before a colon); empty where it is no setting's."""
    words = words_of(name)
    return _table().get(_bag(words), "") if 0 < len(words) < 9 else ""


@lru_cache(4096)
def meant(key: str) -> str:
    """What a dotted key means; its headings are part of the name unless they say nothing.

    Empty for a key below the heading of something else (`critic.lr`, `judge.temperature`).
    """
    *sections, last = key.lstrip("-+~").split(".")
    plain = [normal(part) in PLAIN or part in PLAIN for part in sections]
    needed = " ".join([part for part, bare in zip(sections, plain, strict=True) if not bare] + [last])
    own = words_of(needed)
    for part, bare in zip(reversed(sections), reversed(plain), strict=True):
        if bare and (found := _table().get(_bag((*words_of(part), *own)))):
            return found
    return _table().get(_bag(own), "")
