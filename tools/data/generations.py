"""Generated answers: diversity, loops, stopping, empty and format-gaming answers, and growth between two runs.

Answers are taken as written; whether they are right is not judged. Diversity is measured at a fixed sample size,
because distinct-n falls as the sample grows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, clean, declare
from .looping import loop_period
from .pii import mask
from .preference import rewards_of
from .records.blocks import Stream
from .records.record import Account, Part
from .records.shapes import GENERATED, STOP, responses_of, view
from .records.text_stats import main_script

CODES = declare(
    "data generations",
    ("low-diversity", "distinct-2", "answers repeat the same word pairs: distinct-2 is low at a fixed sample size"),
    ("repetition-loop", "loops", "answers end in a loop that repeats itself"),
    ("answers-mostly-loop", "loops", "a large share of the answers ends in a loop that repeats itself"),
    ("generation-not-stopping", "stopping", "answers run into the length limit instead of stopping"),
    ("empty-answer-rewarded", "reward of empty answers", "empty answers get a reward like full ones"),
    ("format-reward-gaming", "format without content",
     "answers with the right tags and nothing inside them are rewarded"),
    ("group-identical", "answers within a group", "all answers to one prompt are the same, so a group teaches nothing"),
    ("response-length-growth", "length before and after", "answers to the same prompts have become much longer"),
    ("response-length-collapse", "length before and after", "answers to the same prompts have become much shorter"),
)  # fmt: skip

SAMPLE_TOKENS = 20_000
"""distinct-n is taken over this many tokens, spread over the answers."""
PER_ANSWER = 200
"""Tokens of one answer that count for distinct-n."""
DISTINCT_ACCEPTED = 0.3
"""distinct-2 above 0.3: runbook 000, `diversity-loss`, at our sample size."""
LOOP_NOTED, LOOP_SERIOUS, LOOP_COMMON = 0.01, 0.05, 0.3
LOOP_BULK, LOOP_FEW = 1 / 3, 5
"""Part of all that was written, and answers, from which on few loops are serious: they take the time and the scores."""
CUT_SERIOUS = 0.2
"""From this share of answers cut at the length limit on, generation does not stop; our choice."""
IDENTICAL_SHARE = 0.3
GROWTH = 1.5
"""Median ratio of lengths on the same prompts; our choice."""
ENOUGH, ANSWERS_KEPT = 30, 200_000
LENGTH_REASONS = {"length", "max_tokens", "max_length", "truncated"}
TAGS = re.compile(
    r"<(think|reasoning|answer|solution)>((?:[^<]++|<(?!/?\1>))*+)</\1>|\\boxed\{([^{}]*+)\}", re.IGNORECASE
)
WORDS = re.compile(r"\w+")


@dataclass
class Answers:
    """What is kept of all answers."""

    records: int = 0
    total: int = 0
    empty: int = 0
    lengths: list[int] = field(default_factory=list)
    prompts: dict[int, list[int]] = field(default_factory=dict)
    """Prompt hash -> lengths of its answers."""
    groups: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    """(file, prompt hash) -> hashes of the answers: those of other files are of other models or steps."""
    rewards: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    loops: int = 0
    looped: int = 0
    """Characters of the answers that end in a loop."""
    empty_rewards: list[float] = field(default_factory=list)
    full_rewards: list[float] = field(default_factory=list)
    hollow_rewards: list[float] = field(default_factory=list)
    hollow: int = 0
    texts: list[str] = field(default_factory=list)
    """Answers sampled for distinct-n."""
    places: dict[str, list[Evidence]] = field(default_factory=dict)
    account: Account = field(default_factory=Account)

    def place(self, name: str, file: str, line: int, text: str) -> None:
        places = self.places.setdefault(name, [])
        if len(places) < 5:
            places.append(Evidence(file, line, text=clean(mask(text[-600:]), 160)))


def read_answers(paths: Sequence[Path | Part]) -> Answers:
    """Everything about the answers under `paths`.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    out = Answers()
    stream = Stream(paths)
    for file, line, record in stream:
        add_answers(out, file, line, record.value)
    out.account = stream.account
    return out


def add_answers(out: Answers, file: str, line: int, value: Any) -> None:
    """Add the answers of one record."""
    out.records += 1
    seen = view(value)
    if seen.shape == "rollout":
        answers, rewards = responses_of(value), rewards_of(value)
        reasons = next((value[k] for k in STOP if k in value), None)
        out.reasons.update(str(r) for r in (reasons if isinstance(reasons, list) else [reasons]) if r)
    else:
        own = next((value[k] for k in GENERATED if isinstance(value, Mapping) and isinstance(value.get(k), str)), None)
        answers, rewards = [seen.response if own is None else own], []
    prompt = hash(seen.prompt)
    for i, answer in enumerate(answers):
        reward = rewards[i] if i < len(rewards) else None
        _add_answer(out, file, line, answer, reward)
        if out.total < ANSWERS_KEPT and seen.prompt:
            out.prompts.setdefault(prompt, []).append(len(answer))
            if not _greedy(value):
                out.groups.setdefault((file, prompt), []).append(hash(answer))
            if reward is not None:
                out.rewards.setdefault((file, prompt), []).append(reward)


def _greedy(value: Any) -> bool:
    """Whether a record says that its answer was not drawn: asked again, it must come out the same."""
    said = value if isinstance(value, Mapping) else {}
    return said.get("temperature") == 0 or said.get("do_sample") is False or said.get("top_k") == 1


def _add_answer(out: Answers, file: str, line: int, answer: str, reward: float | None) -> None:
    out.total += 1
    out.lengths.append(len(answer))
    if not answer.strip():
        out.empty += 1
        out.place("empty", file, line, f"reward {reward}")
        out.empty_rewards += [reward] if reward is not None else []
        return
    if loop_period(answer):
        out.loops += 1
        out.looped += len(answer)
        out.place("loop", file, line, answer)
    if _hollow(answer):
        out.hollow += 1
        out.place("hollow", file, line, answer)
        out.hollow_rewards += [reward] if reward is not None else []
    elif reward is not None:
        out.full_rewards.append(reward)
    if len(out.texts) < 2000:
        out.texts.append(answer[:4000])


def _hollow(answer: str) -> bool:
    """The tags are there, and hardly a letter inside or beside them."""
    pieces = [next((p for p in m.groups()[1:] if p is not None), "") for m in TAGS.finditer(answer)]
    beside = TAGS.sub("", answer)
    return bool(pieces) and len("".join(pieces).strip()) < 4 and len(beside.strip()) < 4


def distinct(texts: Sequence[str], n: int) -> tuple[float | None, int, str]:
    """(distinct n-grams / n-grams, tokens used, unit); None below `SAMPLE_TOKENS` tokens.

    Each text gives its first `PER_ANSWER` tokens: words, or characters where the script has no spaces.
    """
    if not texts:
        return None, 0, "words"
    by_char = Counter(main_script(t) for t in texts[:200]).most_common(1)[0][0] in ("han", "kana", "hangul", "thai")
    seen: set[tuple[str, ...]] = set()
    grams = tokens = 0
    for text in texts:
        words = ([c for c in text if c.isalnum()] if by_char else WORDS.findall(text.lower()))[:PER_ANSWER]
        tokens += len(words)
        for i in range(len(words) - n + 1):
            seen.add(tuple(words[i : i + n]))
            grams += 1
        if tokens >= SAMPLE_TOKENS:
            return len(seen) / max(grams, 1), tokens, "characters" if by_char else "words"
    return None, tokens, "characters" if by_char else "words"


def generations(paths: Sequence[Path | Part], *, before: Sequence[Path | Part] = ()) -> Report:
    """Statistics of the answers under `paths`.

    Args:
        paths: files or folders.
        before: answers of an earlier run to the same prompts, for growth.

    Raises:
        TriageError: a path does not exist or holds no data.
    """
    answers, earlier = read_answers(paths), read_answers(before) if before else None
    summary: dict[str, Any] = {
        "records": answers.records,
        "answers": answers.total,
        "empty": answers.empty,
        "median_characters": float(np.median(answers.lengths)) if answers.lengths else None,
        "finish_reasons": dict(answers.reasons),
    }
    results: list[Finding | Check] = []
    for look in (_diversity, _loops, _stopping, _empty, _format, _groups):
        results += look(answers, summary)
    results += _growth(answers, earlier, summary)
    report = Report(
        "data generations",
        tuple(r for r in results if isinstance(r, Finding)),
        tuple(r for r in results if isinstance(r, Check)),
        summary,
    )
    report = answers.account.on(report)
    return earlier.account.on(report, "earlier answers") if earlier else report


def _diversity(a: Answers, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    order = np.random.default_rng(0).permutation(len(a.texts))
    texts = [a.texts[i] for i in order]
    value, tokens, unit = distinct(texts, 2)
    summary |= {
        "distinct_1": distinct(texts, 1)[0],
        "distinct_2": value,
        "distinct_sample_tokens": tokens,
        "distinct_unit": unit,
    }
    if value is None:
        yield Check("distinct-2", "not-applicable", f"{tokens} tokens, a sample of {SAMPLE_TOKENS} is needed")
        return
    words = f"distinct-2 {value:.2f} over {tokens} {unit} (fixed sample, first {PER_ANSWER} of each answer)"
    yield Check("distinct-2", "found" if value < DISTINCT_ACCEPTED else "clear", words)
    if value < DISTINCT_ACCEPTED:
        yield Finding(
            "low-diversity",
            Severity.S2,
            f"Answers are monotonous: {words}; the runbook asks for more than {DISTINCT_ACCEPTED}.",
            f"回复单调：{words}；手册要求大于 {DISTINCT_ACCEPTED}。",
            data={"distinct_2": value, "tokens": tokens, "unit": unit},
        )


def _loops(a: Answers, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    share = a.loops / max(a.total, 1)
    bulk = a.looped / max(sum(a.lengths), 1)
    summary["loops"] = a.loops
    yield Check("loops", "found" if share >= LOOP_NOTED else "clear", f"{a.loops} of {a.total} answers end in a loop")
    if share >= LOOP_NOTED:
        heavy = a.loops >= LOOP_FEW and bulk >= LOOP_BULK
        en, zh = (f"; they are {bulk:.0%} of all that was written", f"，占全部输出的 {bulk:.0%}") if heavy else ("", "")
        yield Finding(
            "repetition-loop",
            Severity.S2 if share >= LOOP_SERIOUS or heavy else Severity.S3,
            f"{a.loops} of {a.total} answers ({share:.1%}) end by repeating one piece four times or more{en}.",
            f"{a.total} 条回复中有 {a.loops} 条（{share:.1%}）结尾陷入重复循环{zh}。",
            tuple(a.places.get("loop", ())),
            {"loops": a.loops, "share": share, "bulk": bulk},
        )
    if share >= LOOP_COMMON and a.total >= ENOUGH:
        yield Finding(
            "answers-mostly-loop",
            Severity.S2,
            f"Loops are the rule, not single answers: {share:.0%} of {a.total} end in one.",
            f"循环不是个别现象：{a.total} 条回复中有 {share:.0%} 如此。",
            tuple(a.places.get("loop", ())),
            {"loops": a.loops, "share": share},
        )


def _stopping(a: Answers, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    known = sum(a.reasons.values())
    cut = sum(n for r, n in a.reasons.items() if r.lower() in LENGTH_REASONS)
    share = cut / known if known else 0.0
    summary["cut_at_length_share"] = share if known else None
    found = known >= ENOUGH and share >= CUT_SERIOUS
    yield Check(
        "stopping",
        "found" if found else "clear" if known else "not-applicable",
        f"{cut} of {known} answers were cut at the length limit" if known else "no finish reasons",
    )
    if found:
        yield Finding(
            "generation-not-stopping",
            Severity.S2,
            f"{cut} of {known} answers ({share:.0%}) ran into the length limit instead of stopping.",
            f"{known} 条回复中有 {cut} 条（{share:.0%}）达到长度上限而没有正常停止。",
            data={"cut": cut, "share": share},
        )


def _empty(a: Answers, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    if not a.empty_rewards or len(a.full_rewards) < ENOUGH:
        yield Check(
            "reward of empty answers",
            "not-applicable" if not a.full_rewards else "clear",
            f"{a.empty} empty answers, {len(a.empty_rewards)} of them with a reward",
        )
        return
    mean, full = float(np.mean(a.empty_rewards)), float(np.mean(a.full_rewards))
    summary |= {"mean_reward_empty": mean, "mean_reward_full": full}
    found = len(a.empty_rewards) >= 5 and mean >= full and mean > min(a.full_rewards)
    words = f"{len(a.empty_rewards)} empty answers have a mean reward of {mean:.3g}, the others {full:.3g}"
    yield Check("reward of empty answers", "found" if found else "clear", words)
    if found:
        yield Finding(
            "empty-answer-rewarded",
            Severity.S1,
            f"The reward pays for silence: {words}.",
            f"空回复也得到奖励：{len(a.empty_rewards)} 条空回复平均 {mean:.3g}，其余 {full:.3g}。",
            tuple(a.places.get("empty", ())),
            {"empty": mean, "full": full, "count": len(a.empty_rewards)},
        )


def _format(a: Answers, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    summary["hollow_answers"] = a.hollow
    rewards = a.hollow_rewards
    if not a.full_rewards and not rewards:
        yield Check("format without content", "not-applicable", "no rewards")
        return
    full = float(np.mean(a.full_rewards)) if a.full_rewards else 0.0
    paid = float(np.mean(rewards)) if rewards else 0.0
    found = len(rewards) >= 5 and a.hollow >= 0.02 * a.total and paid > 0 and paid >= 0.5 * full
    words = f"{a.hollow} answers hold tags with nothing in them, mean reward {paid:.3g} against {full:.3g}"
    yield Check("format without content", "found" if found else "clear", words)
    if found:
        yield Finding(
            "format-reward-gaming",
            Severity.S2,
            f"The format reward is gamed: {words}.",
            f"格式奖励被钻空子：{a.hollow} 条回复只有标签没有内容，平均奖励 {paid:.3g}，其余 {full:.3g}。",
            tuple(a.places.get("hollow", ())),
            {"hollow": a.hollow, "paid": paid, "full": full},
        )


def _groups(a: Answers, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    groups = [g for g in a.groups.values() if len(g) > 1]
    same = sum(len(set(g)) == 1 for g in groups)
    flat = sum(len(set(r)) == 1 for r in a.rewards.values() if len(r) > 1)
    rewarded = sum(len(r) > 1 for r in a.rewards.values())
    share = same / len(groups) if groups else 0.0
    summary |= {
        "groups": len(groups),
        "identical_groups": same,
        "groups_with_equal_rewards": flat,
        "rewarded_groups": rewarded,
    }
    drawn = Counter(map(len, a.groups.values()))
    sampled = bool(groups) and drawn.most_common(1)[0][0] > 1  # else an evaluation set holds some rows twice
    found = sampled and len(groups) >= ENOUGH and share >= IDENTICAL_SHARE
    yield Check(
        "answers within a group",
        "found" if found else "clear" if groups else "not-applicable",
        f"{same} of {len(groups)} prompts got the same answer every time"
        if groups
        else "no prompt with several answers",
    )
    if found:
        yield Finding(
            "group-identical",
            Severity.S2,
            f"All answers are the same for {same} of {len(groups)} prompts ({share:.0%}): their group "
            "advantages are zero.",
            f"{len(groups)} 个提示中有 {same} 个（{share:.0%}）的所有回复完全相同，组内优势为零。",
            data={"identical": same, "groups": len(groups), "share": share},
        )


def _growth(a: Answers, earlier: Answers | None, summary: dict[str, Any]) -> Iterator[Finding | Check]:
    if earlier is None:
        return
    ratios = [
        np.mean(a.prompts[p]) / max(np.mean(earlier.prompts[p]), 1.0) for p in a.prompts.keys() & earlier.prompts.keys()
    ]
    ratio = float(np.median(ratios)) if ratios else 0.0
    summary |= {"shared_prompts": len(ratios), "length_ratio": ratio if ratios else None}
    if len(ratios) < ENOUGH:
        yield Check("length before and after", "not-applicable", f"{len(ratios)} shared prompts, {ENOUGH} needed")
        return
    moved = "growth" if ratio >= GROWTH else "collapse" if ratio <= 1 / GROWTH else ""
    words = f"median length ratio {ratio:.2f} on {len(ratios)} shared prompts"
    yield Check("length before and after", "found" if moved else "clear", words)
    if moved:
        yield Finding(
            f"response-length-{moved}",
            Severity.S2,
            f"Answers to the same prompts became much {'longer' if moved == 'growth' else 'shorter'}: {words}.",
            f"同一批提示的回复明显变{'长' if moved == 'growth' else '短'}："
            f"长度比中位数 {ratio:.2f}（{len(ratios)} 个提示）。",
            data={"ratio": ratio, "prompts": len(ratios)},
        )
