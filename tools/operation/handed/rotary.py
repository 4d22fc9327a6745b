"""How positions are turned in training against how the exported or served model turns them, whatever the keys.

`places` compares the keys that frameworks have; here are names of anybody's: `position.base_freq`, `[rope] base`, a
line of a log, the override in a launch command. Only what both sides say is compared: a server that stretches
positions which training never scaled is no fault.
"""

# ruff: noqa: E501  one sentence, pattern or case on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import SERVED, SERVES, Text, sections

_NUMBER = r"[\"']?(\d[\d_,]*(?:\.\d*)?(?:e\+?\d+)?)\s?([kKmM]?)(?![\w.])"
_GAP = r"[\"'\])]{0,2}\s{0,4}(?:[:=]{1,2}|\bis\b|\bf32\s{0,12}=|为|是)?\s{0,4}"
AFTER = bounded(rf"^\s{{0,3}}(?:->|=>|→|to\b|改为|改成)\s{{0,3}}{_NUMBER}")
NEEDS = bounded(r"(?i)rope|rotary|yarn|freq|theta|旋转|位置")
CONTEXT = bounded(r"(?i)rope|rotary|yarn|position|pos_?emb|旋转|位置编码|\bntk\b")
THETA = bounded(
    rf"(?i)(?<![a-z])((?:rope|rotary)[ _.-]{{0,2}}(?:emb(?:edding)?s?[ _.-])?(?:freq(?:uency)?[ _-])?(?:theta|base)"
    rf"|(?:freq(?:uency)?|theta)[ _-]?base|base[ _-]?(?:freq(?:uency)?|theta)|rope[ _-]?freq|theta|旋转基数|基频"
    rf"|(?:旋转|位置)编码(?:的)?(?:基数|底数|base))(?:[ _-]?(?:value|freq))?{_GAP}{_NUMBER}"
)
BASE = bounded(rf"(?i)(?<![a-z_.-])(base|theta|freq|基数|底数){_GAP}{_NUMBER}")
FACTOR = bounded(rf"(?i)(?<![a-z_])((?:rope|yarn|scal(?:e|ing)|rotary)[ _.-]{{0,2}}(?:scal(?:e|ing)[ _.-])?factor"
                 rf"|factor|rope[ _-]scale|(?:缩放|扩展)(?:系数|倍数|因子)){_GAP}{_NUMBER}")  # fmt: skip
ORIGINAL = bounded(
    rf"(?i)(?<![a-z])((?:yarn|rope)?[ _.-]?orig(?:inal)?[ _-]?(?:max[ _-]?)?(?:position(?:s|_embeddings)?|pos|ctx|context"
    rf"|len(?:gth)?|window|seq(?:_?len)?)?(?:[ _-]?(?:len(?:gth)?|size))?|native[ _-]?(?:window|ctx|len(?:gth)?|context)"
    rf"|old[ _-]?(?:ctx|context|len(?:gth)?|window)|原(?:始|生)?(?:长度|窗口)){_GAP}{_NUMBER}"
)
UNSCALED = bounded(r"(?i)rope_scaling[\"']?\s?[:=]\s?(?:null|none)\b")
LENGTH = bounded(
    rf"(?i)(?<![a-z])(max_position_embeddings|seq(?:uence)?_?(?:len(?:gth)?)?|window|cutoff(?:_len)?|context(?:_len(?:gth)?)?"
    rf"|max_seq_len(?:gth)?|block_size){_GAP}{_NUMBER}"
)
START = bounded(r"(?i)(?:^|[/_.-])(?:base|init|start|orig(?:inal)?|pretrain(?:ed)?|ref|source|src|teacher|draft|old)"
                r"(?:[/_.-]|$)|起点|底座|基座")  # fmt: skip
COMPARED = bounded(r"(?i)\b(?:ablat|sweep|tried|try|compare|vs|versus|instead of|was)\b|对比|试过|原来")
LEAST = {"theta": 1000.0, "factor": 1.0001, "original": 256.0}
MOST = {"theta": 1e12, "factor": 512.0, "original": 1e8}


@dataclass(frozen=True)
class Said:
    """One number of positions in one place."""

    what: str
    number: float
    key: str
    file: str
    line: int
    where: Evidence


def rotary(texts: Sequence[Text]) -> Iterator[Finding]:
    """The first number of positions that both sides say, and say differently."""
    some = [t for t in texts if NEEDS.search(t.whole) or any(NEEDS.search(line) for line in t.lines[:2000])]
    trained = [s for t in some if t.role == "train" for s in _said(t)]
    launched = [s for t in some if t.role == "serve" for s in _said(t)]
    length = max((n for t in texts if t.role == "train" for n in _lengths(t)), default=0.0)
    models = [t for t in some if t.role == "model" and _handed(t, length)]
    exported = [s for t in models for s in _said(t)]
    if not trained:
        return
    for what in ("theta", "factor", "original"):
        before = [s for s in trained if s.what == what]
        after = [s for s in launched if s.what == what] or [s for s in exported if s.what == what]
        values = {s.number for s in before}
        told = len(values) == 1 or (values and what == "theta")
        if told and after and not values & {s.number for s in after}:
            yield _apart(before[-1], after[0], (trained, launched or exported))
            return
    if not any(s.what == "factor" for s in (*launched, *exported)):
        yield from _lost([s for s in trained if s.what in ("factor", "original")], models)


def _handed(text: Text, length: float) -> bool:
    """Whether a model's configuration is of what was trained: named as handed on, or as long as training was."""
    folder = text.name.rpartition("/")[0]
    if START.search(folder):
        return False
    return bool(SERVED.search(folder)) or (length > 0 and max(_lengths(text), default=0.0) >= length)


def _lengths(text: Text) -> Iterator[float]:
    for line in text.lines[:400]:
        yield from (_value(m[2], m[3]) for m in LENGTH.finditer(line))


def _value(number: str, unit: str) -> float:
    try:
        value = float(number.replace("_", "").replace(",", ""))
    except ValueError:
        return 0.0
    return value * {"k": 1000.0, "m": 1e6}.get(unit.lower(), 1.0)


def _said(text: Text) -> Iterator[Said]:
    """The numbers of positions that a file says, of logs those before training begins."""
    override = text.role == "serve"
    for number, line, under in sections(text):
        if number > 2000 or (not NEEDS.search(line) and not CONTEXT.search(under)) or COMPARED.search(line):
            continue
        if override and SERVES.search(text.whole) is None and SERVED.search(text.name) is None:
            continue
        context = bool(CONTEXT.search(under) or CONTEXT.search(line))
        patterns = {"theta": (THETA, BASE), "factor": (FACTOR,), "original": (ORIGINAL,)}
        for what, tried in patterns.items():
            for pattern in tried if context else tried[:1]:
                if what != "theta" and not context:
                    continue
                found = pattern.search(line)
                if found is not None:
                    later = AFTER.match(line[found.end() :])
                    value = _value(*(later.groups() if later else found.groups()[1:]))
                    if LEAST[what] <= value <= MOST[what]:
                        yield Said(what, value, found[1].strip("\"' "), text.name, number, text.at(number))
                    break


def _apart(was: Said, now: Said, both: tuple[Sequence[Said], Sequence[Said]]) -> Finding:
    reach = [_reach(side) for side in both]
    equal = all(reach) and reach[0] == reach[1]
    same = f" (both reach {reach[0]:.0f} positions, by other angles)" if equal else ""
    same_zh = f"（两边乘积同为 {reach[0]:.0f}，但各频率的角度不同）" if equal else ""
    return Finding(
        "rope-differs-at-export", Severity.S1,
        f"{was.file}:{was.line} trains with {was.key} {was.number:.10g}, and {now.file}:{now.line} exports or serves "
        f"with {now.key} {now.number:.10g}{same}: the served model sees positions at other angles than it learned.",
        f"{was.file}:{was.line} 训练时 {was.key} 为 {was.number:.10g}，而 {now.file}:{now.line} 导出或部署时 {now.key} "
        f"为 {now.number:.10g}{same_zh}：线上模型看到的位置角度与训练不同。",
        (was.where, now.where),
        {"variable": f"rope_{was.what}", "trained": was.number, "exported": now.number},
    )  # fmt: skip


def _reach(side: Sequence[Said]) -> float:
    factor, original = (next((s.number for s in side if s.what == w), 0.0) for w in ("factor", "original"))
    return factor * original


def _lost(scaled: Sequence[Said], models: Sequence[Text]) -> Iterator[Finding]:
    """Training scales, and every configuration that was handed on says that nothing is scaled."""
    factor = next((s for s in scaled if s.what == "factor"), None)
    gone = [(t, n) for t in models for n, line in enumerate(t.lines, 1) if UNSCALED.search(line)]
    if factor is None or not gone or len(gone) < len(models):
        return
    text, number = gone[0]
    yield Finding(
        "rope-lost-at-export", Severity.S1,
        f"{factor.file}:{factor.line} trains with positions scaled by {factor.key} {factor.number:g}, the exported "
        f"{text.name}:{number} does not scale them: beyond the original length the served model sees positions that it "
        "never learned.",
        f"{factor.file}:{factor.line} 训练时位置按 {factor.key} {factor.number:g} 缩放，导出的 {text.name}:{number} "
        "没有缩放：超过原长度后，线上模型看到的位置从未学过。",
        (factor.where, text.at(number)), {"trained": factor.number, "exported": text.name},
    )  # fmt: skip
