"""What a check of the data says it found: how many of all samples have a fault, and which.

The counts must fit together (the samples with a fault lie between the largest count and their sum, and a share that
passed is the rest of all), so that numbers of the same names about anything else tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ..line import plain
from .read import Said

_END = r"(?:_|$)"
_THINGS = (
    r"(?:samples?|records?|rows?|examples?|items?|documents?|docs?|entries|conversations?|dialogues?|pairs?|lines?)"
)
TOTAL = bounded(rf"^(?:total|num|n|all|count|checked|scanned|read|input){_END}(?:of_)?(?:{_THINGS}$|$)"
                rf"|^{_THINGS}(?:_(?:total|checked|scanned|read|in))?$"
                r"|^(?:样本|记录|数据)?总[数量]$|^总(?:样本|条|行)数$")  # fmt: skip
"""What counts all that were looked at."""
AFFECTED = bounded(rf"(?:^|_)(?:affected|bad|flagged|rejected|failed|faulty|invalid|dropped|problematic|unusable)_?"
                   rf"(?:{_THINGS})?$|^{_THINGS}_(?:with_(?:issues|errors|problems)|affected|rejected|failed)$"
                   r"|^(?:问题|不合格|异常|有误)(?:样本|记录|数据)?(?:数|量)?$")  # fmt: skip
PASSED = bounded(r"(?:^|_)(?:pass|valid|clean|good|ok|accept(?:ance|ed)?)_?(?:rate|share|ratio|fraction|pct|percent)"
                 rf"{_END}|通过率|合格率|有效率")  # fmt: skip
FAULT = bounded(
    r"duplicat|(?:^|_)dup(?:e?s)?(?:_|$)|missing|not_?found|unknown|(?:^|_)empty|blank|malformed|mismatch|broken|corrupt"
    r"|invalid|bad_|schema|parse_?(?:error|fail)|json_?error|encoding|truncat|too_(?:long|short)|out_of_range|conflict|leak"
    r"|wrong_|unresolved|inconsisten|role_(?:order|sequence)|重复|缺失|未找到|为空|空值|格式错|解析失败|损坏|无效|不一致|乱码|超长"
)
"""What names one fault of a sample."""
DATA = bounded(r"data|dataset|corpus|quality|audit|validat|sft|train|preference|pairs|samples|语料|数据|质检|审核|校验")
OTHER = bounded(
    r"(?:^|_)(?:acc(?:uracy)?|exact_match|f1|bleu|latency|tokens_per_s\w*|throughput|kept|remaining|survived|after|cleaned"
    r"|deduped)(?:_|$)|保留|剩余|清洗后|准确率"
)
"""What the report of an evaluation, of a server or of a cleaning has beside such counts."""
TAKEN_OUT = bounded(r"drop|remov|discard|exclud|filtered_out|rejected|剔除|删除|丢弃|过滤")
"""What counts the samples that a cleaning took out."""
LEAST, TOLD, GRAVE, NEAR = 50, 0.05, 0.2, 0.006
"""Samples, shares with a fault from which on it is told and is grave, and how near a share that passed must be."""


@dataclass(frozen=True)
class Audit:
    """The counts of one check."""

    about: Said
    total: float
    affected: float
    faults: tuple[tuple[str, float], ...]
    """(name, count), the largest first."""


def audited(said: Sequence[Said], stated: Sequence[Stated], trained: bool = False) -> Iterator[Finding]:
    """Checks of data by which many of its samples have a fault; none of which a training lies beside, and just as many
    were taken out: it may have seen the rest alone."""
    seen: set[int] = set()
    for one in said:
        if id(one.beside) not in seen:
            seen.add(id(one.beside))
            audit = _audit(one)
            if audit is not None and audit.affected >= TOLD * audit.total:
                out = _taken_out(audit, stated)
                yield from () if out and trained else (_told(audit, stated, out),)


def _audit(one: Said) -> Audit | None:
    last = {name: plain(name.rpartition(".")[2]) for name in one.beside}
    if any(OTHER.search(x) for x in last.values()) or not DATA.search(f"{one.about} {one.label}".lower()):
        return None

    def first(pattern: object) -> float | None:
        return next((one.beside[n] for n, x in last.items() if pattern.search(x)), None)  # type: ignore[attr-defined]

    total, passed, counted = first(TOTAL), first(PASSED), first(AFFECTED)
    share = passed / 100 if passed is not None and passed > 1 else passed
    by_share = None if share is None or total is None else total * (1 - share)
    affected = counted if counted is not None else by_share
    if total is None or affected is None or not LEAST <= total >= affected:
        return None
    agree = by_share is not None and counted is not None and abs(by_share - counted) <= NEAR * total
    for faults in _listed(one.beside, last):
        most, whole = faults[0][1], sum(v for _, v in faults)
        if most <= affected * (1 + NEAR) + 1 and (agree or whole >= affected * (1 - NEAR)):
            return Audit(one, total, affected, tuple(f for f in faults if f[1]))
    return None


def _listed(beside: Mapping[str, float], last: Mapping[str, str]) -> Iterator[list[tuple[str, float]]]:
    """The counts of faults that stand together in one part of the report, two or more, the largest first."""
    parts: dict[str, list[tuple[str, float]]] = {}
    for name, value in beside.items():
        if FAULT.search(last[name]) and not AFFECTED.search(last[name]) and float(value).is_integer() and value >= 0:
            parts.setdefault(name.rpartition(".")[0], []).append((name, value))
    yield from (sorted(some, key=lambda f: -f[1]) for some in parts.values() if len(some) > 1)


def _taken_out(audit: Audit, stated: Sequence[Stated]) -> Stated | None:
    """Where another file says that a cleaning took out as many."""
    others = (s for s in stated if s.file != audit.about.place.file and s.number == audit.affected)
    return next((s for s in others if TAKEN_OUT.search(s.key)), None)


def _told(audit: Audit, stated: Sequence[Stated], out: Stated | None) -> Finding:
    share = audit.affected / audit.total
    some = [(name.rpartition(".")[2], value) for name, value in audit.faults[:4]]
    en, zh = ", ".join(f"{n} {v:.0f}" for n, v in some), "、".join(f"{n} {v:.0f}" for n, v in some)
    place = audit.about.place
    lines = [s.evidence() for n, v in some for s in stated if s.file == place.file and s.key == n and s.number == v]
    also, also_zh = (f" {out.file} takes as many out.", f"{out.file} 正好剔除了这么多。") if out else ("", "")
    lines += [out.evidence()] if out else []
    return Finding(
        "audit-found-faults", Severity.S1 if share >= GRAVE else Severity.S2,
        f"By the check of data in {place.file} {audit.affected:.0f} of {audit.total:.0f} samples ({share:.0%}) have "
        f"a fault ({en}): as they are they are not to be trained on.{also}",
        f"{place.file} 的数据检查：{audit.total:.0f} 条中有 {audit.affected:.0f} 条（{share:.0%}）有问题（{zh}）："
        f"不能原样用于训练。{also_zh}",
        tuple(lines) or (Evidence(place.file, place.line, metric=some[0][0] if some else None),),
        {"share": share, "affected": audit.affected, "total": audit.total, "faults": [n for n, _ in some]},
    )  # fmt: skip
