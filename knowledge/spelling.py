"""Slips of typing put right, so that a question typed at three in the morning finds its entry.

English: a word that no entry knows becomes the word of the runbook that is one slip away (two in a long word), a slip
being a letter too many, too few, another one, or two exchanged. Chinese: a term typed with other characters of the same
sound. What is right already is never touched, and what is shown is always as the person typed it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from types import ModuleType

from .entry import Entry
from .words import stem

NO_PHRASES = "PYPINYIN_NO_PHRASES"
"""What that library is told by."""
SHORTEST, SURE, LONG = 4, 7, 12
"""Letters of a word that may be put right, of one in which a letter may be another one, and of one with two slips."""
_WORD = re.compile(r"(?<![\w./-])(?:[A-Z](?=[a-z]{3})|[a-z])[a-z]{3,24}(?![\w/-]|\.\w)")
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")
PLAIN = frozenset(
    re.findall(
        r"\w+",
        "about above actually after again against almost alone already although always anyone anything around "
        "asked away  back because been before being believe best better between both bring came cannot care "
        "change changed check come  could days didn does doesn doing done down each early either else enough even "
        "ever every everyone everything  exactly explain fact fast feel fewer fine first fixed following friday "
        "from full getting gets give given goes  going gone good great guess half hand happen happened happens "
        "have having hear heard help here hours idea into  issue just keep keeps kind know last late later least "
        "left less like little long longer look looking looks made  make makes making many maybe mean means might "
        "minutes monday month more most much must near need needs never  night nobody none nothing often okay "
        "once only open other over part people perhaps place plan please point  pretty problem quite rather read "
        "ready real really reason right running said same saying says seconds seem seems  seen several shall "
        "should show shows side since sleep some someone something soon sorry still stop such suddenly  sunday "
        "sure swear swears take team tell than thank thanks that their them then there these they thing things "
        "think this those though thought through thursday time times today together told tomorrow tonight took "
        "toward  tried trust tuesday turn twice under until upon using usual very want wants wasn wednesday week "
        "weeks well went  were what when where whether which while whole whose will wish with within without "
        "wonder word words work worked  working works worse would wouldn write wrong year yesterday your yours "
        "bug bugs don dont isnt wasnt doesnt didnt cant wont couldnt arent havent hasnt thats alice bob ",
    )
)
"""Everyday words, which are right though no entry has them."""
TERMS = re.findall(
    r"\w+",
    "学习率 梯度裁剪 梯度累积 梯度爆炸 梯度消失 过拟合 欠拟合 奖励模型 奖励函数 奖励黑客 对话模板 "
    "半精度 混合精度 批大小 检查点  权重衰减 优化器 分词器 序列长度 序列太长 上下文 脏数据 重复数据 "
    "适配器 推理引擎 张量并行 流水线 数据加载 注意力 不收敛 停不下来  利用率 越来越长 胡言乱语 结束符 "
    "参考模型 灾难性遗忘 敏感信息 准确率 困惑度 交换机 随机种子 显存不够 显存溢出 爆显存 内存泄漏 "
    "损失函数 梯度范数 熵坍塌 不下降 合成数据 通信超时 硬件坏了 数据坏了 裁剪 ",
)
"""Terms that are often typed with other characters of the same sound; a shorter one must be no other word's sound."""


@dataclass(frozen=True)
class Spelling:
    """What is spelled right: the words that people say about the entries."""

    counts: Counter[str]
    """Word -> how many texts have it."""
    known: frozenset[str] = PLAIN
    """Other words that are right."""
    han: str = ""
    """Chinese texts that are right."""

    @classmethod
    def of(cls, entries: Iterable[Entry], others: Iterable[str] = ()) -> Spelling:
        """Of the entries' words; those of other texts are right too, but nothing is put right to them."""
        entries, others = list(entries), list(others)
        texts = (
            text.lower() for e in entries for text in (e.id.replace("-", " "), e.title.en, e.check_first.en, *e.says.en)
        )
        said = Counter(chain.from_iterable(map(set, map(re.compile("[a-z]{3,}").findall, texts))))
        known = PLAIN | {word for text in others for word in re.findall(r"[a-z]{3,}", text.lower())}
        han = "\n".join((*others, *(text for e in entries for text in (e.title.zh, e.check_first.zh, *e.says.zh))))
        return cls(said, known, han)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in (*self.counts, *self.known))

    @cached_property
    def _near(self) -> dict[str, list[str]]:
        """First letter -> words, commonest first."""
        out: dict[str, list[str]] = {}
        for word, _ in self.counts.most_common():
            if len(word) >= SHORTEST:
                out.setdefault(word[0], []).append(word)
        return out

    def corrected(self, text: str) -> str:
        """The text with its slips put right."""
        text = _WORD.sub(lambda m: self._word(m[0]), text)
        return _HAN.sub(lambda m: self._han(m[0]), text) if _HAN.search(text) else text

    def _word(self, word: str) -> str:
        low = word.lower()
        if word.isupper() or low in self.known or stem(low) in self._stems:
            return word
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extractOne

        slips = 2 if len(low) >= LONG else 1
        near = [
            w for w in self._near.get(low[0], ()) if len(low) >= SURE or len(w) > len(low) or sorted(w) == sorted(low)
        ]
        found = extractOne(low, near, scorer=OSA.distance, score_cutoff=slips)
        inflected = found is None or low.startswith(found[0]) or found[0].startswith(low)
        return word if found is None or (inflected and len(low) > SHORTEST) else found[0]

    def _han(self, run: str) -> str:
        heard, out = [_sounds(c) for c in run], list(run)
        for term, sounds in _heard_terms():
            for start in range(len(run) - len(term) + 1):
                window = slice(start, start + len(term))
                same = all(a & b for a, b in zip(heard[window], sounds, strict=True))
                if same and run[window] not in self.han:
                    out[window] = term
        return "".join(out)


@cache
def _heard_terms() -> list[tuple[str, list[frozenset[str]]]]:
    return [(term, [_sounds(c) for c in term]) for term in TERMS]


@lru_cache(maxsize=8192)
def _sounds(character: str) -> frozenset[str]:
    """The syllables, without tones, that a character may be read as."""
    pypinyin = _pypinyin()
    return frozenset(pypinyin.pinyin(character, style=pypinyin.Style.NORMAL, heteronym=True)[0])


@cache
def _pypinyin() -> ModuleType:
    """The library without its 47,000 phrases, which say nothing of single characters and take most of its import."""
    ours = NO_PHRASES not in os.environ
    os.environ.setdefault(NO_PHRASES, "yes")
    import pypinyin

    if ours:
        del os.environ[NO_PHRASES]  # a program that is started from here may want its phrases
    return pypinyin
