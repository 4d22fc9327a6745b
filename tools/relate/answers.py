"""Answers of two models to the same prompts, against each other: how long they are, and how alike.

Two files are compared where they hold answers to at least `ENOUGH` prompts in common and say the same about how they
were sampled; which of them is the later one is told by their names. Answers are judged alone in `tools.data`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np

from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..tables.table import Table
from .distributions import ENOUGH, OUTPUT, PROMPT, cut_ones, named, texts

GROWTH, LONGER = 0.3, 0.6
"""000: answers grow by less than 30% after preference tuning; share of prompts whose answer is longer."""
DISTINCT = 0.3
"""000: distinct-2 above 0.3."""
OPENING = 0.3
"""Share of answers that begin alike from which on they count as alike, where the earlier model's did not."""
MOST = 2000
FEW, EMPTIED, SOME = 8, 0.5, 0.1
"""Prompts in common that show it, and shares of empty answers of the later and of the earlier model. Own judgement."""
EARLIER = bounded(
    r"(?i)(?:^|[/_.\-])(?:before|base|sft|ref|reference|pre|initial|old|step_?0|prev|v1|baseline)(?:[/_.\-]|$)"
)
LATER = bounded(r"(?i)(?:^|[/_.\-])(?:after|dpo|kto|rl|ppo|grpo|tuned|new|post|final|aligned|v2|latest)(?:[/_.\-]|$)")
SAMPLED = bounded(r"^(?:temperature|top_p|top_k|max_tokens|max_new_tokens|system|system_prompt)$")


@dataclass(frozen=True)
class Answers:
    """What one file answers."""

    file: str
    by_prompt: dict[str, str]
    lines: dict[str, int]
    sampled: tuple[tuple[str, str], ...]
    cut: float


def compared(tables: Sequence[Table]) -> list[Finding]:
    """What changed between the earlier and the later answers."""
    read = [a for t in tables if len(t) >= ENOUGH and (a := _answers(t)) is not None]
    for a, b in permutations(read[:8], 2):
        both = sorted(a.by_prompt.keys() & b.by_prompt.keys())[:MOST]
        if EARLIER.search(a.file) and LATER.search(b.file) and len(both) >= ENOUGH and a.sampled == b.sampled:
            return [*_longer(a, b, both), *_alike(a, b, both)]
    return []


def emptied(tables: Sequence[Table]) -> list[Finding]:
    """Answers of the later model that hold nothing beyond the prompt, where the earlier model's did."""
    read = [(t, a) for t in tables if FEW <= len(t) <= MOST and (a := _answers(t)) is not None][:8]
    for (one, a), (other, b) in permutations(read, 2):
        both = sorted(a.by_prompt.keys() & b.by_prompt.keys())
        in_order = (EARLIER.search(a.file) or LATER.search(b.file)) and not (
            EARLIER.search(b.file) or LATER.search(a.file)
        )
        if len(both) < FEW or a.file == b.file or not in_order:
            continue
        was, now = (float(np.mean([not _beyond(p, x.by_prompt[p]) for p in both])) for x in (a, b))
        if now >= EMPTIED and was <= SOME:
            return [_emptied(a, b, both, now, _paid(one), _paid(other))]
    return []


def _beyond(prompt: str, answer: str) -> str:
    """What an answer holds that the prompt, which some files write before it, does not."""
    return answer.removeprefix(prompt).strip()


def _paid(table: Table) -> float | None:
    """The mean reward of the answers."""
    column = next((c for c in table.columns if c.values.dtype.kind == "f" and c.of in ("reward", "eval_reward")), None)
    return None if column is None or not np.isfinite(column.values).all() else float(column.values.mean())


def _emptied(a: Answers, b: Answers, both: list[str], now: float, before: float | None, after: float | None) -> Finding:
    paid = before is not None and after is not None and after >= before
    en = f", and yet they are paid {after:.3g} on the mean, the others {before:.3g}" if paid else ""
    zh = f"，而它们的平均奖励是 {after:.3g}，前者是 {before:.3g}" if paid else ""
    return Finding(
        "empty-answer-rewarded" if paid else "answers-emptied", Severity.S1,
        f"{now:.0%} of the answers of {b.file} to {len(both)} prompts hold nothing but blanks; those of {a.file} to "
        f"the same prompts hold text{en}.",
        f"{b.file} 对 {len(both)} 个提示的回答有 {now:.0%} 只是空白，而 {a.file} 对同样的提示有正文{zh}。",
        (_at(b, both[0]), _at(a, both[0])), {"empty": now, "prompts": len(both), "before": before, "after": after},
    )  # fmt: skip


def _answers(table: Table) -> Answers | None:
    prompt, output = named(table, PROMPT, "O"), named(table, OUTPUT, "O")
    if prompt is None or output is None or prompt is output:
        return None
    prompts, outputs = texts(prompt), texts(output)
    sampled = tuple((c.name, str(c.values[0])) for c in table.columns if SAMPLED.search(c.name.lower()))
    ended = cut_ones(table)
    cut = float(ended.mean()) if ended is not None else 0.0
    return Answers(table.file, dict(zip(prompts, outputs, strict=True)),
                   dict(zip(prompts, table.lines.tolist(), strict=True)), sampled, cut)  # fmt: skip


def _longer(a: Answers, b: Answers, both: list[str]) -> Iterator[Finding]:
    """The later answers are longer, and not because they do not stop."""
    sizes = np.array([(len(a.by_prompt[p]), len(b.by_prompt[p])) for p in both], float)
    growth = float(np.median(sizes[:, 1]) / max(np.median(sizes[:, 0]), 1.0)) - 1
    share = float((sizes[:, 1] > sizes[:, 0]).mean())
    if growth < GROWTH or share < LONGER or b.cut > a.cut + 0.1:
        return
    yield Finding(
        "answers-longer", Severity.S2,
        f"The answers of {b.file} to {len(both)} prompts are {growth:.0%} longer than those of {a.file} (median in "
        f"characters {np.median(sizes[:, 0]):.0f} to {np.median(sizes[:, 1]):.0f}; {share:.0%} of the prompts), "
        f"runbook: below {GROWTH:.0%}; they stop as before.",
        f"对同样的 {len(both)} 个提示，{b.file} 的回答比 {a.file} 长 {growth:.0%}（字符数中位数 "
        f"{np.median(sizes[:, 0]):.0f} → "
        f"{np.median(sizes[:, 1]):.0f}，{share:.0%} 的提示变长；Runbook：低于 {GROWTH:.0%}），停止方式与之前相同。",
        (_at(a, both[0]), _at(b, both[0])), {"growth": growth, "share": share, "prompts": len(both)},
    )  # fmt: skip


def _alike(a: Answers, b: Answers, both: list[str]) -> Iterator[Finding]:
    """The later answers repeat each other where the earlier did not."""
    sizes = {p: min(len(a.by_prompt[p]), len(b.by_prompt[p])) for p in both}  # variety is one of equal amounts of text
    old, new = ([x.by_prompt[p][: sizes[p]] for p in both] for x in (a, b))
    was, now = distinct(old), distinct(new)
    opens, opened = (max(Counter(t[:24] for t in some).values()) / len(some) for some in (new, old))
    same_opening = opens >= OPENING and opens > 3 * opened
    if not (now < 0.7 * was and (now < DISTINCT or same_opening)):
        return
    yield Finding(
        "answers-alike", Severity.S2,
        f"Over the same {len(both)} prompts distinct-2 of the answers falls from {was:.2f} ({a.file}) to {now:.2f} "
        f"({b.file}; runbook: above {DISTINCT}); {opens:.0%} begin alike, {opened:.0%} before.",
        f"同样的 {len(both)} 个提示，回答的 distinct-2 从 {was:.2f}（{a.file}）降到 {now:.2f}（{b.file}；Runbook：高"
        f"于 {DISTINCT}）；开头相同的占 {opens:.0%}（之前 {opened:.0%}）。",
        (_at(a, both[0]), _at(b, both[0])), {"before": was, "after": now, "opening": opens, "opening_before": opened},
    )  # fmt: skip


def distinct(some: Sequence[str]) -> float:
    """Different pairs of words among all; of characters where there are no spaces."""
    pairs: Counter[tuple[str, str]] = Counter()
    for text in some:
        words = text.split() if " " in text.strip() else re.findall(r"\S", text)
        pairs.update(pairwise(words))
    return len(pairs) / max(1, sum(pairs.values()))


def _at(answers: Answers, prompt: str) -> Evidence:
    return Evidence(answers.file, answers.lines[prompt] or None, metric="output")
