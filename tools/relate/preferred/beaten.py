"""A tuned model that a judge clearly finds worse than the one that it was tuned from."""

# ruff: noqa: E501  one sentence or pattern on one line

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...data.statistics import wilson
from ...findings import Finding, Severity
from ...patterns import bounded
from .bout import LEAST, Bout

STAGES = (
    bounded(r"(?i)(?:^|[^a-z])(?:base(?:[_ -]?model)?|pre[_-]?train(?:ed)?|original|untuned|before|vanilla)(?:[^a-z]|$)"
            r"|底座|原始|微调前|训练前"),
    bounded(r"(?i)(?:^|[^a-z])(?:sft|instruct|fine[_-]?tuned?|lora|tuned|cpt)(?:[^a-z]|$)|微调后|指令"),
    bounded(r"(?i)(?:^|[^a-z])(?:dpo|ppo|grpo|rlhf|rl|kto|orpo|simpo|aligned|rloo)(?:[^a-z]|$)|对齐|强化"),
)  # fmt: skip
"""Words of a model's name by what was done to it, one after the other."""

_WORDS = bounded(r"[a-z]{2,30}|[\u3400-\u9fff]{2,20}")


def beaten(bouts: Iterable[Bout]) -> Iterator[Finding]:
    """The clearest of the pairs in which the earlier model wins, both orders taken together."""
    pairs: dict[tuple[str, str], tuple[float, float, list[Bout]]] = {}
    for one in bouts:
        first, second = _stage(one.first), _stage(one.second)
        if first is None or second is None or first == second or not _akin(one.first, one.second):
            continue
        early = (one.first, one.second) if first < second else (one.second, one.first)
        won = one.won if early[0] == one.first else one.of - one.won
        sum_won, of, kept = pairs.get(early, (0.0, 0.0, []))
        pairs[early] = (sum_won + won, of + one.of, [*kept, one])
    clear = [(wilson(round(won), round(of)), won, of, pair, kept)
             for pair, (won, of, kept) in pairs.items() if of >= LEAST]  # fmt: skip
    if clear and (best := max(clear, key=lambda c: c[0][0]))[0][0] > 0.5:
        (low, high), won, of, (base, tuned), kept = best
        yield Finding(
            "tuned-loses-to-base", Severity.S2,
            f"{base} beats {tuned}, which was made from it, in {won / of:.0%} of {of:.0f} verdicts, ties left out (95%: "
            f"{low:.0%} to {high:.0%}): the tuning made the answers worse for this judge.",
            f"{base} 胜过由它训练得到的 {tuned}：{of:.0f} 条评判中（不计平局）占 {won / of:.0%}（95% 区间 {low:.0%} 到 "
            f"{high:.0%}）：在这个评审看来，训练使回答变差了。",
            tuple(e for one in kept for e in one.places[:2])[:4],
            {"base": base, "tuned": tuned, "share": won / of, "of": of, "interval": [low, high]},
        )  # fmt: skip


def _akin(one: str, other: str) -> bool:
    """Whether two names can be of one family: what they say beside their stages has a word in common."""
    mine, others = (set(_WORDS.findall(_unstaged(name.lower()))) for name in (one, other))
    return not mine or not others or bool(mine & others)


def _unstaged(name: str) -> str:
    for words in STAGES:
        name = words.sub(" ", name)
    return name


def _stage(name: str) -> int | None:
    """The last stage that a name speaks of; None for none."""
    return max((i for i, words in enumerate(STAGES) if words.search(name)), default=None)
