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

PUSHES, FEW = 2, 12
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
OF = bounded(
    rf"(?i)(?<![a-z]){_LAND}\D{{0,16}}?(\d[\d,]{{0,9}})\s?(?:/|of|out of|，?共)\s?(\d[\d,]{{0,9}})(?![\w.%])"
    r"(?!\s?(?:layers?|blocks?|shards?|files?|experts?|gpus?|devices?|ranks?|workers?|层|个?分片|个?文件|张?卡))"
)
"""What is counted is no tensor where another unit stands behind it: an engine puts 20 of 29 layers on the card."""
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
TENSORS = bounded(
    r"(?i)(?<![\w.])(\d[\d,]{0,9})\s?(?:tensors?|params?|parameters|weights|names|keys|entries|个?(?:张量|参数|权重))(?![a-z(=:])"
    r"|(?<![a-z])(?:n_?|num_?)?(?:tensors?|params?|names|keys|张量|参数)(?:_?(?:sent|pushed|count|n|num|数))?\s?[:=：]\s?(\d[\d,]{0,9})(?![\w.%])"
)
DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,60}\.(?:\w{1,60}\.){1,12}\w{1,40}")
GOES = bounded(
    r"(?i)push|sync|bridge|broadcast|bucket|transfer|publish|refit|update_weights|weight_update|send|sent|ship|同步|推送|广播|下发"
)
TRAINS = bounded(r"(?i)grad|train|optim|actor|policy|learner|updat|delta|moved|训练|更新")
HELD_STILL = bounded(
    r"(?i)(?<![a-z])(?:frozen|no_?grad|not[ _]trainable|false|requires_grad\s?[:=]\s?(?:0|no)|fixed|static)(?![a-z])|冻结"
)
FREEZES = bounded(r"(?i)freez|frozen|冻结|trainable|requires_grad")
TRUE = bounded(
    r"(?i)(?:freez\w*|frozen|冻结)[\w.\- ]{0,30}[\"']?\s?[:=]\s?[\"'\[]?(?!\{|false|no\b|none|null|0\b|off|\])\w"
    r"|[:=]\s?(?:frozen|freeze)\b|requires_grad_?\(?\s?=?\s?false|trainable[\"']?\s?[:=]\s?false|\{[^}]{0,200}(?:freez\w*|frozen)[^}]{0,60}:\s?true"
    r"|freeze:\s?\{[^}]{0,200}:\s?true"
)


def lands_short(texts: Sequence[Text]) -> Iterator[Finding]:
    """At every push that says both numbers the same smaller one lands."""
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
        held = {n: t.at(i) for t in texts for i, line in enumerate(t.lines[:400], 1)
                for m in HELD.finditer(line) if (n := _int(m[1] or m[2]))}  # fmt: skip
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


def branch_never_sent(texts: Sequence[Text]) -> Iterator[Finding]:
    """Every push has as many tensors as the trained list without one of its branches, which no push names."""
    lists = [
        (t, names) for t in texts if not t.name.endswith((".py", ".log", ".md")) and len(names := _trained(t)) >= FEW
    ]
    lists = [(t, names) for t, names in lists if GOES.search(t.name) or (TRAINS.search(f"{t.name} {t.whole[:2000]}")
             and "weight_map" not in t.whole[:2000])]  # fmt: skip
    if not lists or any(_frozen(t) for t in texts):
        return
    for trained, names in lists:
        for text, those in lists:
            if GOES.search(text.name) and not GOES.search(trained.name) and those.keys() < names.keys():
                for prefix, left in _branches(names):
                    if len(those) + left == len(names) and not any(n.startswith(prefix + ".") for n in those):
                        yield _branch((trained, names), (prefix, left), text, [min(those.values())], named=True)
                        return
    lists = [(t, names) for t, names in lists if not GOES.search(t.name)]
    for text in texts:
        if text.name.endswith((".py", ".md")) or any(text is t for t, _ in lists):
            continue
        counts, named = _sent(text)
        for trained, names in lists:
            for prefix, left in _branches(names):
                times = len(counts.get(len(names) - left, ()))
                whole = sum(len(v) for n, v in counts.items() if n >= len(names))
                spoken = [n for n in named if n.startswith(prefix + ".")]
                others = [p for p, n in _branches(names) if n == left and not f"{p}.".startswith(f"{prefix}.")]
                if times >= PUSHES and not whole and not spoken and (named or not others):
                    yield _branch((trained, names), (prefix, left), text, counts[len(names) - left], named=bool(named))
                    return


def _trained(text: Text) -> dict[str, int]:
    """The names of a list, without those that it says are not trained; none where adapters are what is trained."""
    names = _names(text)
    if any("lora_" in n for n in names):
        return {}
    return {n: i for n, i in names.items() if not HELD_STILL.search(text.lines[i - 1].replace(n, " "))}


def _frozen(text: Text) -> bool:
    """Whether settings say that something is frozen."""
    settings = text.name.endswith((".yaml", ".yml", ".json", ".toml", ".py", ".sh", ".ini", ".cfg"))
    return settings and any(FREEZES.search(x) and TRUE.search(x) for x in text.lines[:400])


def _sent(text: Text) -> tuple[dict[int, list[int]], set[str]]:
    """Lines by the number of tensors that they speak of, and the names of tensors, on lines of pushes."""
    counts: dict[int, list[int]] = {}
    named: set[str] = set()
    for number, line in rows(text):
        low = line.lower()
        if not (any(w in low for w in WORDS) or "sent" in low or "send" in low) or not GOES.search(
            f"{text.name} {line}"
        ):
            continue
        for m in TENSORS.finditer(line):
            counts.setdefault(_int(m[1] or m[2]), []).append(number)
        named.update(
            n for n in DOTTED.findall(line) if n.endswith(("weight", "bias", "scale", "kernel", "gamma", "beta"))
        )
    return counts, named


def _branches(names: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Prefixes with the number of names below them, a part of all."""
    found: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        found.update(".".join(parts[:k]) for k in range(1, min(len(parts) - 1, 4)))
    for prefix, n in sorted(found.items(), key=lambda p: (-p[1], len(p[0]))):
        if max(3, 0.02 * len(names)) <= n < len(names):
            yield prefix, n


def _branch(
    trained_: tuple[Text, dict[str, int]], branch: tuple[str, int], text: Text, at: Sequence[int], *, named: bool
) -> Finding:
    (trained, names), (prefix, left) = trained_, branch
    first = min(i for n, i in names.items() if n.startswith(prefix + "."))
    sent, times = len(names) - left, len(at)
    never = f", and no push names any of {prefix}.*" if named else ""
    never_zh = f"，也没有一次推送提到 {prefix}.*" if named else ""
    return Finding(
        *(("push-leaves-out-branch", Severity.S1) if named else ("fewer-tensors-land", Severity.S3)),
        f"{trained.name} lists {len(names)} trained tensors, {left} of them {prefix}.* (from line {first} on); {text.name}:{at[0]} "
        f"pushes {sent}, at {times} pushes alike, as many as the others are{never}: {prefix} stays in the engine as at the start.",
        f"{trained.name} 列出 {len(names)} 个参与训练的张量，其中 {left} 个是 {prefix}.*（从第 {first} 行起）；{text.name}:{at[0]} 每次只推送 "
        f"{sent} 个（共 {times} 次），正好等于其余的个数{never_zh}：引擎中的 {prefix} 一直停在最初的值。",
        (text.at(at[0]), trained.at(first)), {"sent": sent, "trained": len(names), "left": left, "branch": prefix, "pushes": times},
    )  # fmt: skip


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
