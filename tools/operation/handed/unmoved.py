"""An engine whose own digest is the same after every push: what it was sent did not become its weights.

Trainers that write a checksum of the engine beside each push show at once whether a push did anything. Where an adapter
is trained and only the base is sent, that digest never moves, whatever the adapter has learned.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .pushed import GOES
from .read import Text

WORDS = ("crc", "md5", "sha", "digest", "checksum", "hash", "fingerprint", "校验", "指纹", "摘要")
LEAST = 5
"""Pushes with a digest from which on an unmoved one is told. Ours."""
_DIGEST = (
    r"(?:crc(?:32)?|md5|sha-?\d{0,3}|digest|checksum|hash|fingerprint|校验[和码值]?|指纹|摘要)[\"']?\s?[:=：]?\s?[\"']?(?:0x)?"
    r"([0-9a-f]{6,64})(?![\w.])"
)
OF_ENGINE = bounded(
    rf"(?i)(?:engine|rollout|sampler|infer\w{{0,5}}|vllm|sglang|server|replica|引擎|推理|采样)[^\n]{{0,60}}?{_DIGEST}"
)
OF_TRAINER = bounded(rf"(?i)(?:trainer|actor|policy|learner|adapter|lora|训练端|适配器)[^\n]{{0,60}}?{_DIGEST}")
LEFT = bounded(
    r"(?i)(?:skip(?:ped|s)?|ignored|dropped|unmatched|not sent|跳过|忽略|未匹配)[\"']?\s?[:=：]?\s?(\d[\d,]{0,9})(?![\w.%])"
)
ADAPTED = bounded(
    r"(?i)lora[_ -]?(?:r|rank|dim)[\"']?[\s:=]{1,3}[1-9]|(?:adapter|lora|适配器)[^\n]{0,20}?\b(?:r|rank)\s?[=:]\s?[1-9]"
    r"|peft_type|LoraConfig\("
)
UNABLE = bounded(r"(?i)enable[_-]?lora[\"']?\s?[:=]\s?[\"']?(?:false|no|0|off)\b")


def unmoved(texts: Sequence[Text]) -> Iterator[Finding]:
    """The one digest that an engine has after all of its pushes."""
    for text in texts:
        if text.name.endswith((".py", ".md")):
            continue
        shown = ((i, line[:400]) for i, line in enumerate(text.lines, 1) if _speaks(line[:400].lower()))
        said = [(m[1].lower(), i) for i, line in shown if GOES.search(line) and (m := OF_ENGINE.search(line))]
        lines = {text.lines[i - 1].strip() for _, i in said}
        if len(said) < LEAST or len({d for d, _ in said}) != 1 or len(lines) < LEAST or _trainer_still(text):
            continue
        yield _told(text, said, texts)
        return


def _speaks(line: str) -> bool:
    """Whether a line, in lower case, may hold a digest."""
    return any(word in line for word in WORDS)


def _trainer_still(text: Text) -> bool:
    """Whether the trainer writes a digest of its own that does not move either: then there was nothing to send."""
    own = Counter(m[1].lower() for line in text.lines if (m := OF_TRAINER.search(line[:400])) is not None)
    engine = {m[1].lower() for line in text.lines if (m := OF_ENGINE.search(line[:400])) is not None}
    return len(own) == 1 and max(own.values()) >= LEAST and not own.keys() & engine


def _first(texts: Sequence[Text], pattern: re.Pattern[str]) -> Evidence | None:
    return next((t.at(i) for t in texts if not t.name.endswith(".md") for i, line in enumerate(t.lines[:400], 1)
                 if pattern.search(line[:400])), None)  # fmt: skip


def _told(text: Text, said: Sequence[tuple[str, int]], texts: Sequence[Text]) -> Finding:
    digest, number = said[-1]
    left = LEFT.search(text.lines[number - 1])
    adapter, unable = _first(texts, ADAPTED), _first(texts, UNABLE)
    of = f", {left[1]} tensors left out each time" if left else ""
    of_zh = f"，每次都有 {left[1]} 个张量被跳过" if left else ""
    why, why_zh = "; what generates is not what is trained", "；生成用的并不是训练中的权重"
    if adapter:
        why = f"; what is trained is an adapter ({adapter.file}:{adapter.line}), so only the base reaches the engine"
        why_zh = f"；训练的是适配器（{adapter.file}:{adapter.line}），到达引擎的只有底座"
    if adapter and unable:
        why += f", which takes none ({unable.file}:{unable.line})"
        why_zh += f"，而引擎没有打开适配器（{unable.file}:{unable.line}）"
    places = [text.at(said[0][1]), text.at(number), *(p for p in (adapter, unable) if p)]
    return Finding(
        "adapter-left-behind" if adapter else "engine-never-changes", Severity.S1,
        f"The engine's digest is {digest} after each of {len(said)} pushes ({text.name}){of}: its weights never "
        f"changed{why}.",
        f"{len(said)} 次推送之后引擎的校验值始终是 {digest}（{text.name}）{of_zh}：引擎权重从未改变{why_zh}。",
        tuple(places), {"pushes": len(said), "digest": digest, "left_out": left[1] if left else ""},
    )  # fmt: skip
