"""A part of the weights that no push carries: the stage of another rank, or tensors that keep their first value.

A trainer that is cut into stages holds in each rank what belongs to its own: who sends from one rank sends one stage.
"""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...findings import Finding, Severity
from ...patterns import bounded
from .pushed import PROPER, PUSHES, SENT, SENT_BEHIND, TENSORS
from .read import Text, rows

PART = bounded(
    r"(?i)(?<![a-z])(?:(?:pp|pipeline|stage|rank|part|shard|chunk|vpp|virtual)[ _-]?(?:stage|rank|part)?|第|阶段|流水线)[ _#-]?(\d{1,3})(?:级|段)?"
    r"\s?(?:[:=：]|has|holds|有)?\s?(\d[\d,]{0,9})(?![\w.%])"
)
"""(which, how many tensors) of a part of the model: `stage0 97`, `pp rank 1: 98`."""
LEAST, MOST_ROWS, CELLS = 3, 20_000, 4
"""Tensors that move and that do not, rows of a list, and columns that it has at least."""
STEP = bounded(r"(?i)^(?:update|upd|step|iter(?:ation)?|round|version|push|sync|更新|步|步数|轮次|版本)$")
TENSOR = bounded(r"(?i)^(?:tensor|name|param(?:eter)?|key|layer|module|weight|张量|参数|参数名|名称|层)s?$")
ENGINE = bounded(
    r"(?i)(?:^|_)(?:engine|rollout|sampler|infer\w{0,5}|vllm|sglang|server|generator|worker)(?:_|$)|引擎|推理|采样"
)
TRAINER = bounded(r"(?i)(?:^|_)(?:train(?:er|ing)?|actor|policy|learner|megatron|fsdp)(?:_|$)|训练")
SPLIT = re.compile(r"\s*[\t,;|]\s*|\s{2,}")


def one_part_sent(texts: Sequence[Text]) -> Iterator[Finding]:
    """Every push has as many tensors as one part of the model, where a line says all parts and their sum."""
    logs = [t for t in texts if not t.name.endswith((".py", ".md"))]
    for text in logs:
        for number, line in rows(text):
            parts = {m[1]: _int(m[2]) for m in PART.finditer(line)} if TENSORS.search(line) else {}
            whole = sum(parts.values())
            if len(parts) < 2 or not any(_int(m[1] or m[2]) == whole for m in TENSORS.finditer(line)):
                continue
            counts = [(n, i) for i, row in rows(text) if i != number and not PROPER.search(row) and (n := _pushed(row))]
            sent = {n for n, _ in counts}
            if len(counts) >= PUSHES and len(sent) == 1 and (one := sent.pop()) in parts.values() and one < whole:
                which = next(k for k, n in parts.items() if n == one)
                yield _one_part((text, number), parts, (which, one), counts)
                return


def _pushed(line: str) -> int:
    hits = [_int(m[1]) for m in (*SENT.finditer(line), *SENT_BEHIND.finditer(line))] if TENSORS.search(line) else []
    return max(hits, default=0)


def _int(number: str) -> int:
    return int(number.replace(",", "") or 0)


def _one_part(
    said: tuple[Text, int], parts: dict[str, int], one: tuple[str, int], counts: Sequence[tuple[int, int]]
) -> Finding:
    (text, line), (which, sent), whole = said, one, sum(parts.values())
    return Finding(
        "push-leaves-out-branch", Severity.S1,
        f"The model has {whole} tensors in {len(parts)} parts ({text.name}:{line}); each of {len(counts)} pushes sends {sent}, as "
        f"many as part {which} alone holds ({text.name}:{counts[0][1]}): the other {whole - sent} stay in the engine as at the start.",
        f"模型共 {whole} 个张量，分成 {len(parts)} 段（{text.name}:{line}）；{len(counts)} 次推送每次都只发 {sent} 个，正好是第 {which} 段的个数"
        f"（{text.name}:{counts[0][1]}）：其余 {whole - sent} 个在引擎中一直停在最初的值。",
        (text.at(line), text.at(counts[0][1])),
        {"sent": sent, "trained": whole, "left": whole - sent, "branch": f"part {which}", "pushes": len(counts)},
    )  # fmt: skip


@dataclass
class Held:
    """What one tensor was on both sides along the way."""

    line: int
    engine: list[str] = field(default_factory=list)
    trainer: list[str] = field(default_factory=list)

    @property
    def left(self) -> bool:
        """Whether it moves in training and never in the engine."""
        return len(set(self.engine)) == 1 and len(set(self.trainer)) > 1

    @property
    def follows(self) -> bool:
        return len(set(self.engine)) > 1


def part_unmoved(texts: Sequence[Text]) -> Iterator[Finding]:
    """A list of both sides' sums along the updates: some tensors of the engine keep the first one, others follow."""
    for text in texts:
        if text.name.endswith((".py", ".md", ".json", ".jsonl")):
            continue
        held = _held(text)
        left = {name: h for name, h in held.items() if h.left}
        if len(left) < LEAST or sum(h.follows for h in held.values()) < LEAST:
            continue
        yield _left_behind(text, held, left)
        return


def _held(text: Text) -> dict[str, Held]:
    """Each tensor of a list with its values on both sides, by the names of its columns."""
    where: dict[str, int] = {}
    held: dict[str, Held] = {}
    for number, line in enumerate(text.lines[:MOST_ROWS], 1):
        cells = [c.strip() for c in SPLIT.split(line.strip())]
        if not where:
            where = _columns(cells)
            if number > 12 and not where:
                return {}
            continue
        if len(cells) > max(where.values()):
            one = held.setdefault(cells[where["tensor"]], Held(number))
            one.engine.append(cells[where["engine"]])
            one.trainer.append(cells[where["trainer"]])
    return held


def _columns(cells: Sequence[str]) -> dict[str, int]:
    """Where each column stands that is needed; empty where one is missing."""
    kinds = {"step": STEP, "tensor": TENSOR, "engine": ENGINE, "trainer": TRAINER}
    found = {kind: next((i for i, c in enumerate(cells) if p.search(c)), -1) for kind, p in kinds.items()}
    return found if len(cells) >= CELLS and min(found.values()) >= 0 and len(set(found.values())) == CELLS else {}


def _left_behind(text: Text, held: dict[str, Held], left: dict[str, Held]) -> Finding:
    names = list(left)
    first, follows = left[names[0]], next(h for h in held.values() if h.follows)
    places = (text.at(first.line), text.at(left[names[-1]].line), text.at(follows.line))
    return Finding(
        "engine-part-never-changes", Severity.S1,
        f"{len(left)} of {len(held)} tensors keep their first value in the engine while training moves them ({text.name}: "
        f"{names[0]} … {names[-1]}), the others follow: those are never sent, or never land.",
        f"{len(held)} 个张量中有 {len(left)} 个在引擎里一直是最初的值，而训练端在变（{text.name}：{names[0]} … {names[-1]}），其余的都跟着更新："
        "这些张量从未发送，或从未写入。",
        places, {"left": len(left), "tensors": len(held), "names": ", ".join(names[:6])},
    )  # fmt: skip
