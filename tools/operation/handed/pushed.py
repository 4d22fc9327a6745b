"""Weights that a trainer pushes to an engine and those that land there: their number, and their names.

An engine that fuses matrices holds fewer tensors than are sent, so a smaller number alone says little: it counts where
the engine says that it holds as many as were sent, or that names were not its own.
"""

# ruff: noqa: E501  one sentence, pattern or case on one line

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import Text, rows

PUSHES = 2
SHORT = 0.98
_N = r"[\"']?\s?[:=]?\s?(\d[\d,]{0,9})(?![\w.%])"
_SENT = r"(?:offer(?:ed|s|ing)?|sent|send(?:ing|s)?|push(?:ed|es|ing)?|broadcast(?:ed)?|publish(?:ed)?|emit(?:ted)?|shipped|streamed|total|发送|推送|发出|共)"
_LAND = (r"(?:land(?:ed)?|plac(?:ed|es)|load(?:ed)?|match(?:ed)?|appl(?:ied|y)|receiv(?:ed)?|accept(?:ed)?|updat(?:ed?)|copied|writ(?:ten)?|stored"
         r"|assigned|consumed|taken|加载|命中|写入|接收|落地|匹配|更新|生效)")  # fmt: skip
SENT = bounded(rf"(?i)(?<![a-z]){_SENT}(?:[ _](?:tensors?|params?|weights|names|keys|张量|参数))?{_N}")
SENT_BEHIND = bounded(
    rf"(?i)(\d[\d,]{{0,9}})\s?(?:tensors?|params?|parameters|weights|names|个?张量|个?参数)\s(?:were\s)?{_SENT}"
)
LANDED = bounded(rf"(?i)(?<![a-z]){_LAND}(?:[ _](?:tensors?|params?|weights|names|keys|张量|参数))?{_N}")
LANDED_BEHIND = bounded(
    rf"(?i)(\d[\d,]{{0,9}})\s?(?:tensors?|params?|parameters|weights|names|个?张量|个?参数)?\s?(?:were\s)?{_LAND}"
)
OF = bounded(rf"(?i){_LAND}\D{{0,16}}?(\d[\d,]{{0,9}})\s?(?:/|of|out of|，?共)\s?(\d[\d,]{{0,9}})(?![\w.%])")
WORDS = ("push", "sync", "weight", "tensor", "param", "bridge", "broadcast", "offer", "bucket", "transfer", "publish",
         "refit", "同步", "推送", "权重", "张量", "参数")  # fmt: skip
BYTES_OR_TIME = bounded(
    r"(?i)\b(?:tokens?|samples?|rows?|requests?|prompts?|rollouts?|images?|examples?|记录|样本|轨迹|条)\b"
)
HELD = bounded(
    r"(?i)(?:holds?|has|resident|own|expects?|registered|in engine|model has|共有|持有|期望).{0,24}?(\d[\d,]{1,9})\s?(?:tensors?|params?|parameters|names|weights|个?张量|个?参数)"
    r"|(\d[\d,]{1,9})\s?(?:tensors?|params?|parameters|names|weights|个?张量|个?参数)\s?(?:resident|held|in (?:the )?(?:engine|sampler|worker)|registered|expected|常驻)"
)
STRANGE = bounded(
    r"(?i)(?:no (?:home|match|target|destination|slot|such (?:param\w*|weight|name))|unmatched|not (?:found|matched|in (?:the )?(?:engine|model|params?_dict|worker|sampler))"
    r"|unknown (?:name|param\w*|weight|key)|unexpected (?:key|name|param\w*)|skip(?:s|ped|ping)?|ignor(?:ed|ing)|drop(?:ped|ping)?|missing"
    r"|未匹配|找不到|跳过|忽略|丢弃|没有对应)[^\n]{0,60}?((?:[A-Za-z_]\w{0,40}\.){2,10}[\w.]{1,60})"
)
PROPER = bounded(r"(?i)fus(?:ed|ing)|融合|frozen|tied|rotary_emb|inv_freq|lora_|optimizer|position_ids|冻结|共享")
NAME = re.compile(
    r"^[\s\"',\[]{0,8}((?:[A-Za-z_]\w{0,60}\.|\d{1,4}\.){1,14}(?:weight|bias|scale|gamma|beta|qweight|weight_scale))\b"
)
NAMES = 12


def lands_short(texts: Sequence[Text]) -> Iterator[Finding]:
    """At every push that says both numbers the same smaller one lands."""
    held = {n: t.at(i) for t in texts for i, line in enumerate(t.lines[:400], 1)
            for m in HELD.finditer(line) if (n := _int(m[1] or m[2]))}  # fmt: skip
    for text in texts:
        if text.name.endswith((".py", ".md")):
            continue
        pushes = list(_pushes(text))
        short = [p for p in pushes if p[1] < SHORT * p[0]]
        if len(short) < PUSHES or len(short) < 0.8 * len(pushes):
            continue
        (sent, there), times = Counter((a, b) for a, b, _ in short).most_common(1)[0]
        strange = [(m[1], t.at(i)) for t in texts if not t.name.endswith((".py", ".md"))
                   for i, line in enumerate(t.lines[:2000], 1)
                   if (m := STRANGE.search(line)) is not None and not PROPER.search(line)]  # fmt: skip
        backed = held.get(sent)
        if times >= PUSHES and sent >= 4 and _whole(text, short[0][2]):
            yield _short((sent, there, times), text.at(short[0][2]), backed, strange)
            return


def _whole(text: Text, number: int) -> bool:
    return not PROPER.search(text.lines[number - 1])


def _int(number: str) -> int:
    return int(number.replace(",", "") or 0)


def _pushes(text: Text) -> Iterator[tuple[int, int, int]]:
    """(sent, landed, line) of each push, what lands in parts summed up."""
    open_: tuple[int, int] | None = None
    parts: list[int] = []
    for number, line in rows(text):
        low = line.lower()
        if not any(w in low for w in WORDS) or (BYTES_OR_TIME.search(line) and "tensor" not in low):
            continue
        both = OF.search(line)
        sent = max((*SENT.finditer(line), *SENT_BEHIND.finditer(line)), key=lambda m: _int(m[1]), default=None)
        landed = LANDED.search(line)
        if both is not None and _int(both[1]) <= _int(both[2]) and _int(both[2]) > 3:
            yield _int(both[2]), _int(both[1]), number
        elif sent is not None:
            if open_ is not None and parts:
                yield open_[0], sum(parts), open_[1]
            open_, parts = None, []
            rest = line[: sent.start()] + line[sent.end() :]
            landed = LANDED.search(rest) or LANDED_BEHIND.search(rest)
            if landed is not None:
                yield _int(sent[1]), _int(landed[1]), number
            else:
                open_ = _int(sent[1]), number
        elif open_ is not None and landed is not None:
            parts.append(_int(landed[1]))
    if open_ is not None and parts and len(parts) > 1:
        yield open_[0], sum(parts), open_[1]


def _short(
    counts: tuple[int, int, int], where: Evidence, held: Evidence | None, strange: Sequence[tuple[str, Evidence]]
) -> Finding:
    sent, there, times = counts
    more, more_zh, places = "", "", [where]
    if held is not None:
        more, more_zh = (
            f"; the engine holds {sent} ({held.file}:{held.line})",
            f"；引擎本身持有 {sent} 个（{held.file}:{held.line}）",
        )
        places.append(held)
    if strange:
        name, place = strange[0]
        more += f"; {place.file}:{place.line} has no place for {name}"
        more_zh += f"；{place.file}:{place.line} 中 {name} 没有对应"
        places.append(place)
    return Finding(
        *(("push-lands-short", Severity.S1) if held or strange else ("fewer-tensors-land", Severity.S3)),
        f"{where.file}:{where.line} sends {sent} tensors and {there} land, at {times} pushes alike{more}: {sent - there} "
        "stay as they were at the start.",
        f"{where.file}:{where.line} 发送 {sent} 个张量，只落地 {there} 个，{times} 次推送都如此{more_zh}：其余 {sent - there} "
        "个一直停在最初的值。",
        tuple(places), {"sent": sent, "landed": there, "pushes": times},
    )  # fmt: skip


def named_otherwise(texts: Sequence[Text]) -> Iterator[Finding]:
    """Two lists of parameter names: many of the one stand in the other below another prefix."""
    lists = [(t, names) for t in texts if not t.name.endswith((".py", ".log")) and len(names := _names(t)) >= NAMES]
    for i, (a, mine) in enumerate(lists):
        for b, theirs in lists[i + 1 :]:
            only, other = mine.keys() - theirs.keys(), theirs.keys() - mine.keys()
            if not mine.keys() & theirs.keys() or not only or not other:
                continue
            moved = _moved(only, other)
            if moved is not None:
                yield _renamed((a, mine), (b, theirs), moved)
                return


def _names(text: Text) -> dict[str, int]:
    found = {m[1]: n for n, line in enumerate(text.lines, 1) if (m := NAME.match(line)) is not None}
    return found if len(found) > 0.6 * sum(1 for line in text.lines if line.strip()) else {}


def _moved(only: set[str], other: set[str]) -> tuple[str, str, int] | None:
    """(prefix, prefix on the other side, names) under which the most names go on alike."""
    counts: Counter[tuple[str, str]] = Counter()
    tails: dict[str, list[str]] = {}
    for name in other:
        parts = name.split(".")
        for k in range(1, min(len(parts) - 1, 4)):
            tails.setdefault(".".join(parts[k:]), []).append(".".join(parts[:k]))
    for name in only:
        parts = name.split(".")
        for k in range(1, min(len(parts) - 1, 4)):
            for prefix in tails.get(".".join(parts[k:]), ())[:4]:
                counts[".".join(parts[:k]), prefix] += 1
    if not counts:
        return None
    most = max(counts.values())
    best = max((c for c in counts if counts[c] == most), key=lambda c: -len(c[0]) - len(c[1]))
    return (*best, most) if most >= max(4, 0.5 * len(only)) else None


def _renamed(
    one: tuple[Text, dict[str, int]], other: tuple[Text, dict[str, int]], moved: tuple[str, str, int]
) -> Finding:
    (a, mine), (b, theirs), (left, right, many) = one, other, moved
    first = min((n for n in mine if n.startswith(left + ".") and n not in theirs), key=lambda n: mine[n])
    second = min((n for n in theirs if n.startswith(right + ".") and n not in mine), key=lambda n: theirs[n])
    return Finding(
        "names-differ-between-sides", Severity.S2,
        f"{many} of the {len(mine)} names in {a.name} ({left}.*, line {mine[first]}) stand as {right}.* in {b.name} "
        f"(line {theirs[second]}), the other {len(mine.keys() & theirs.keys())} are equal: what matches by name passes them over.",
        f"{a.name} 的 {len(mine)} 个参数名里有 {many} 个（{left}.*，第 {mine[first]} 行）在 {b.name} 中叫 {right}.*"
        f"（第 {theirs[second]} 行），另有 {len(mine.keys() & theirs.keys())} 个相同：按名字匹配时会漏掉它们。",
        (a.at(mine[first]), b.at(theirs[second])), {"names": many, "here": left, "there": right},
    )  # fmt: skip
