"""Statistics that a report gives by name, and the limits beyond which they are a fault.

The statistic was computed by whoever wrote the report; here only its name is recognised and its number compared. What
the files of a run let us compute ourselves is computed elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import means, plain
from ..summed.words import WHOLE
from .read import Said

SHARE = bounded(r"(?:^|_)(?:rate|ratio|share|pct|percent|frac|fraction|prop)(?:_|$)|率|占比|比例")
EARLIER = bounded(r"(?:^|_)(?:before|baseline|previous|prev|old|reference|ref|human|gold|target|limit|threshold|max|min"
                  r"|goal|expected)(?:_|$)|之前|修复前|基线|参考|阈值|上限|下限|目标")  # fmt: skip
"""What says that a number is not that of the run itself."""
ITEMS = (r"(?:^|_)(?:eval|valid|val|test|dev|held|bench|items?|rows?|questions?|prompts?|samples?|examples?|docs?"
         r"|documents?|records?|pairs?|problems?|tasks?|texts?|ids?|urls?|hits?|matches)")  # fmt: skip
"""What can stand in the training data: `x_in_train` of anything else is a setting of the trainer."""
COUNTS = bounded(
    rf"{ITEMS}|{SHARE.pattern}|^(?:n|num|count|number|total|value|exact|near|fuzzy|\d{{1,2}}_?grams?)(?:_|$)|个|条|数"
)
"""What a number under such a word may be called, to count items: `leakage.vars` counts variables."""


@dataclass(frozen=True)
class Limit:
    """A statistic, how it is called, and from where on it is a fault."""

    code: str
    severity: Severity
    name: re.Pattern[str]
    en: str
    zh: str
    low: float | None = None
    high: float | None = None
    about: re.Pattern[str] | None = None
    """What file, labels or name must speak of besides."""
    unless: re.Pattern[str] | None = None
    of_whole: bool = False
    """A count is judged by its share of the items that stand beside it."""
    counts: re.Pattern[str] | None = None
    """What the last part of a path must be called where only those before it have the name."""
    both: bool = False
    """Whether the number counts without its sign."""


LIMITS = (
    Limit(
        "annotator-disagreement", Severity.S2, bounded(r"krippendorff|(?:^|_)alpha(?:_|$)|一致性系数"),
        "agreement of annotators (limit 0.67)", "标注一致性（下限 0.67）", low=0.67,
        about=bounded(r"annot|label|rater|agree|krippendorff|iaa|标注|一致"),
        unless=bounded(r"lora|focal|smooth|adam|mixup|judge|评审"),
    ),
    Limit(
        "annotator-disagreement", Severity.S2,
        bounded(r"spot_?check|抽检|质检|复核.{0,4}一致"),
        "agreement with the spot check (limit 80%)", "抽检一致率（下限 80%）", low=0.8,
        about=bounded(r"agree|accura|consisten|match|一致|准确|合格"), unless=bounded(r"disagree|error|不一致|错误"),
    ),
    Limit(
        "length-reward-correlation", Severity.S2,
        bounded(r"(?:spearman|pearson|corr(?!ect|upt)\w{0,10}|rho|kendall)\w{0,20}(?:_len(?:s|gths?)?(?:_|$)|tokens)"
                r"|(?:(?:^|_)len(?:s|gths?)?_|tokens)\w{0,20}(?:spearman|pearson|corr(?!ect|upt)|rho|kendall)"
                r"|长度.{0,8}相关|相关.{0,8}长度"),
        "correlation of score and length (limit 0.3)", "得分与长度的相关（上限 0.3）", high=0.3, both=True,
        unless=bounded(r"loss|latency|perplexity|ppl|judge|verdict|评审|损失"),
    ),
    Limit(
        "eval-leakage", Severity.S1,
        bounded(r"leak|contaminat|overlap|collision|(?:found|seen|matched|present)_in_(?:the_)?train|^in_train"
                rf"|{ITEMS}\w{{0,20}}_in_(?:the_)?train|exact_match_in|泄漏|泄露|重合|重叠|碰撞"),
        "items that stand in the training data (limit 0.1%)", "出现在训练数据中的评测条目（上限 0.1%）",
        high=0.001, of_whole=True, counts=COUNTS, about=bounded(r"eval|test|valid|dev|held|bench|评测|验证|测试|题"),
        unless=bounded(r"solution|hint|reveal|spoiler|secret|system_prompt|privacy|泄密|mem|gpu|comm|compute|window|chunk|context|stride|gram|threshold|kernel|time|_ms|removed|显存|内存"
                       r"|overlap_?(?:tokens?|chars?|words?|sentences?|size|len)|(?:tokens?|chars?|words?|split)_?overlap"),
    ),
    Limit(
        "pii-found", Severity.S1,
        bounded(r"(?:id_?(?:card|number)|national_id|passport|(?:^|_)ssn|phone|mobile|bank_?card|credit_?card|api_?key"
                r"|credential|身份证|手机|电话|银行卡|护照|密钥)"),
        "personal data counted by a scan (limit 0)", "扫描计数的个人信息（应为 0）", high=0.0,
        about=bounded(r"hit|count|found|match|detect|leak|scan|命中|检出|条数|扫描"),
        unless=bounded(r"mask|placeholder|redact|replaced|removed|recall|precision|rate|capacity|脱敏后|占位|已删|准确"),
    ),
    Limit(
        "ineffective-dedup-features", Severity.S1,
        bounded(r"(?:tokens?|words?|shingles?|features?|n_?grams?|词|特征|token).{0,8}(?:per|每|doc|篇|text)"
                r"|每篇.{0,8}(?:词|特征|token)"),
        "features per document that duplicates are sought by (limit 2)", "去重所用的每篇特征数（下限 2）", low=2.0,
        about=bounded(r"dedup|minhash|simhash|shingle|lsh|去重|近重复"),
    ),
    Limit(
        "near-duplicates", Severity.S2, bounded(r"near_?dup|近重复|近似重复"),
        "near duplicates that are left (limit 3%)", "残留的近重复（上限 3%）", high=0.03, of_whole=True,
        about=bounded(r"rate|ratio|share|left|after|remain|率|占比|残留|复核"),
        unless=bounded(r"removed|threshold|移除|剔除"),
    ),
    Limit(
        "eos-not-trained", Severity.S1,
        bounded(r"(?<![a-z])(?:eos|eot)(?![a-z])|end_token|end_of_turn|terminator|结束符|终止符"),
        "samples whose end token is trained or present (limit 50%)", "结束符参与训练或存在的样本（下限 50%）", low=0.5,
        of_whole=True, about=bounded(r"in_loss|trained|ending|ends?_with|labell?ed|terminat|参与|带|结尾"),
        unless=bounded(r"(?:^|_)id(?:_|$)|without|missing|masked|缺|没有"),
    ),
    Limit(
        "repetition-loop", Severity.S2,
        bounded(r"(?:^|_)rep(?:etition|eat)?_?(?:n_?)?[2-5](?:_?grams?)?(?:_|$)|seq_rep|tail_cycle|(?:^|_)loop(?:ing|ed|s)?_"
                r"(?:share|rate|ratio)|重复率|循环率|循环占比"),
        "repetition within outputs (limit 20%)", "输出内的重复（上限 20%）", high=0.2,
        unless=bounded(r"penalty|dup|train|corpus|doc|data|惩罚|训练|语料|去重|近重复"),
    ),
    Limit(
        "verdicts-change-between-passes", Severity.S2,
        bounded(r"flip_?(?:rate|share|ratio|pct)|(?:winner|verdict)s?_(?:changed?|flipped)|换序.{0,6}(?:翻转|改变|不一致)|翻转率"),
        "pairs with another winner after the swap (limit 20%)", "换序后胜者改变的对（上限 20%）", high=0.2,
        of_whole=True, about=bounded(r"judge|swap|order|arena|pair|verdict|评审|换序|顺序"),
    ),
    Limit(
        "answers-longer", Severity.S2, bounded(r"len(?:gth)?_?(?:growth|increase)|长度(?:增长|增幅)"),
        "growth of the answers' length (limit 30%)", "回答长度增幅（上限 30%）", high=0.3,
        unless=bounded(r"context|train|seq|prompt|上下文"),
    ),
)  # fmt: skip
"""Sources: 000 for alpha, spot checks, correlation, leaks, personal data, near duplicates and growth; else own."""


def beyond_limits(said: Sequence[Said]) -> Iterator[Finding]:
    """Each statistic that lies beyond its limit, the worst number of it first."""
    for limit in LIMITS:
        found = [(s, v) for s in said if (v := _value(limit, s)) is not None and _beyond(limit, v)]
        if found:
            sign = -1 if limit.low is not None else 1
            found.sort(key=lambda one: -sign * one[1])
            yield _finding(limit, found)


def _value(limit: Limit, s: Said) -> float | None:
    """The number that is compared; None where this is another statistic."""
    if not means(limit.name, s.name):
        return None
    name = plain(s.name)
    around = f"{name} {s.about}"
    if limit.about and not (limit.about.search(around) or limit.about.search(s.names)):
        return None
    own = s.name.rpartition(".")[2]
    if limit.counts and own != s.name and not means(limit.name, own) and not means(limit.counts, own):
        return None
    if (limit.unless and limit.unless.search(around)) or EARLIER.search(name) or EARLIER.search(plain(s.label)):
        return None
    if limit.of_whole and not SHARE.search(name):
        wholes = [v for n, v in s.beside.items() if n != s.name and means(WHOLE, n) and v >= max(s.value, 1)]
        return s.value / max(wholes) if wholes and s.value == round(s.value) else None
    share = (limit.high is not None and 0 < limit.high < 1) or (limit.low is not None and limit.low < 1)
    percent = share and not limit.both and 1 < s.value <= 100
    return abs(s.value) if limit.both else s.value / 100 if percent else s.value


def _beyond(limit: Limit, value: float) -> bool:
    return (limit.low is not None and value < limit.low) or (limit.high is not None and value > limit.high)


def _finding(limit: Limit, found: Sequence[tuple[Said, float]]) -> Finding:
    each = "; ".join(f"{s.name}{f' ({s.label})' if s.label else ''} {s.value:.6g}" for s, _ in found[:3])
    files = ", ".join(dict.fromkeys(s.place.file or "" for s, _ in found[:3]))
    return Finding(
        limit.code, limit.severity, f"{files} reports {each}: {limit.en}.", f"{files} 报告 {each}：{limit.zh}。",
        tuple(s.place for s, _ in found[:4]),
        {"metric": found[0][0].name, "value": found[0][1], "places": len(found)},
    )  # fmt: skip
