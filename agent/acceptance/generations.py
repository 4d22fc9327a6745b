"""Criteria on generated answers: stopping, repetition, diversity, length, reasoning, groups of one prompt.

Answers are taken as written. Thresholds that the sources leave open are printed
as assumed. Whether an answer is right is not judged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from ...knowledge.entry import Criterion
from ...tools.data.generations import IDENTICAL_SHARE, LENGTH_REASONS, SAMPLE_TOKENS, distinct, loop_period
from ...tools.data.records.plain import load_json
from ...tools.data.records.text_stats import MOJIBAKE, main_script, opening, token_estimate
from ...tools.findings import TriageError
from ...tools.relate.distributions import cut_ones
from ...tools.tables.read import read_tables
from .artifacts import Answer, answers, answers_of, files
from .subject import Observation, Subject, metric, missing, seen

MOST_BYTES = 16 << 20
"""Of a file of answers that is read as a table."""
ENOUGH = 30
"""Answers (or prompts) below which a share says nothing."""
STOPPED = 0.95
"""Share of the answers that must end by themselves; the source names none."""
LOOPING = 0.01
"""Share of repeating answers that is tolerated; the source names none."""
GARBLED = 0.005
REPEATED_GRAMS = 0.5
"""An answer of 50 words or more repeats itself when this share of its 4-grams occurred before."""
THINK = re.compile(r"<(think|reasoning|thought)>((?:[^<]++|<(?!/?\1>))*+)(?:</\1>|\Z)", re.IGNORECASE)
OPEN_ENDED = re.compile(r"<(think|reasoning|thought)>(?:[^<]++|<(?!/?\1>))*+\Z", re.IGNORECASE)
STEP = re.compile(
    r"(?im)^[^\S\n]*+(?:step\s{0,9}\d+|第\s{0,9}[一二三四五六七八九十\d]{1,9}\s{0,9}步"
    r"|\d{1,9}\s{0,9}[.)、:：]|[-*]\s)"
)
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
CHEATING = 0.5
"""Share of the best rewarded answers with one opening that counts as a pattern, if the others have it less."""


def _before(subject: Subject) -> tuple[list[Answer], str]:
    """Answers of the model before training where they are in the run, else the baseline's."""
    if found := answers_of(subject.run, base=True):
        return found, "the base model's generations"
    old = subject.baseline.run if subject.baseline else None
    return (answers_of(old, base=True) or answers_of(old), "the baseline's generations") if old else ([], "")


NONE = "a dump of generations is needed (`generations.jsonl`: prompt, response, finish_reason)"


def _share(
    subject: Subject, criterion: Criterion, bad: Callable[[Answer], bool], limit: float, words: str
) -> Observation:
    """Whether more than `limit` of the answers are bad."""
    said = answers(subject)
    if len(said) < ENOUGH:
        return missing(f"{NONE}; {ENOUGH} answers at least, {len(said)} found", len(said))
    count = sum(map(bad, said))
    share = count / len(said)
    noise = (share * (1 - share) / len(said)) ** 0.5
    done = seen(share > limit, criterion, f"{count} of {len(said)} answers {words}", len(said))
    return Observation(share, done.points, f"{len(said)} answers", done.definition, done.ok, noise)


@metric("generation_stops_normally")
def generation_stops_normally(subject: Subject, criterion: Criterion) -> Observation:
    """Share of the answers whose finish reason is not the length limit; 95% must stop (assumed)."""
    ended = [a.reason.lower() not in LENGTH_REASONS for a in answers(subject) if a.reason] or _ended(subject)
    if len(ended) < ENOUGH:
        return missing(
            f"generations with `finish_reason` are needed, {ENOUGH} at least; {len(ended)} found", len(ended)
        )
    stopped, share = sum(ended), sum(ended) / len(ended)
    noise = (share * (1 - share) / len(ended)) ** 0.5
    words = f"{stopped} of {len(ended)} answers stopped by themselves; {STOPPED:.0%} are asked for (assumed)"
    return Observation(share, len(ended), "finish reasons", words, agrees(share >= STOPPED, criterion), noise)


def _ended(subject: Subject) -> list[bool]:
    """Whether each answer of the run's tables ended by itself: of the table with most answers that say why they did.

    Files of answers are among them, for one may hold how each ended and nothing of what it said.
    """
    found = list(subject.tables)
    for artifact in subject.run.of("generations"):
        with suppress(TriageError, OSError):
            found += read_tables(artifact.path, artifact.name) if artifact.path.stat().st_size <= MOST_BYTES else ()
    known = (cut_ones(table) for table in found)
    cut = max((c for c in known if c is not None), key=len, default=None)
    return [] if cut is None else (~cut).tolist()


def agrees(truth: bool, criterion: Criterion) -> bool:
    return truth == (criterion.is_ != "false")


@metric("truncated_answer_share")
def truncated_answer_share(subject: Subject, criterion: Criterion) -> Observation:
    """Percent of the answers that were cut at the length limit or never close their reasoning."""
    said = answers(subject)
    ended = [] if said else _ended(subject)
    if len(ended) >= ENOUGH:
        share = 1 - sum(ended) / len(ended)
        words = f"{len(ended) - sum(ended)} of {len(ended)} answers cut at the length limit, percent"
        return seen(100 * share, criterion, words, len(ended), "", 100 * (share * (1 - share) / len(ended)) ** 0.5)
    if len(said) < ENOUGH or not any(a.reason or THINK.search(a.text) for a in said):
        return missing(f"generations with `finish_reason` or reasoning markers are needed; {len(said)} answers found")
    cut = sum(a.reason.lower() in LENGTH_REASONS or bool(OPEN_ENDED.search(a.text)) for a in said)
    share = cut / len(said)
    words = f"{cut} of {len(said)} answers cut at the length limit or without the end of their reasoning, percent"
    return seen(100 * share, criterion, words, len(said), "", 100 * (share * (1 - share) / len(said)) ** 0.5)


@metric("infinite_loop")
def infinite_loop(subject: Subject, criterion: Criterion) -> Observation:
    """Answers cut at the length limit that end in a loop; none is tolerated."""
    with_reason = sum(bool(a.reason) for a in answers(subject))
    if with_reason < ENOUGH:
        return missing(
            f"generations with `finish_reason` are needed, {ENOUGH} at least; {with_reason} found", with_reason
        )
    words = "reach the length limit and end by repeating one piece four times or more (assumed)"
    return _share(
        subject, criterion, lambda a: a.reason.lower() in LENGTH_REASONS and loop_period(a.text) > 0, 0.0, words
    )


@metric("repeated_output")
def repeated_output(subject: Subject, criterion: Criterion) -> Observation:
    """Answers that end in a loop or of whose 4-grams half are repeats; 1% is tolerated (assumed)."""
    words = f"loop at the end or repeat half of their 4-grams; {LOOPING:.0%} tolerated (assumed)"
    return _share(subject, criterion, _repeats, LOOPING, words)


def _repeats(answer: Answer) -> bool:
    tokens = re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", answer.text[:8000].lower())
    grams = list(zip(*(tokens[i:] for i in range(4)), strict=False))
    return loop_period(answer.text) > 0 or (len(tokens) >= 50 and 1 - len(set(grams)) / len(grams) >= REPEATED_GRAMS)


@metric("garbled_output")
def garbled_output(subject: Subject, criterion: Criterion) -> Observation:
    """Answers with replacement characters, control characters or wrongly decoded text; 0.5% is tolerated (assumed)."""
    words = f"hold replacement or control characters or wrongly decoded text; {GARBLED:.1%} tolerated (assumed)"
    return _share(subject, criterion, lambda a: _garbled(a.text), GARBLED, words)


def _garbled(text: str) -> bool:
    text = text.rstrip("\ufffd")  # an answer cut inside a character ends with one
    return bool(CONTROL.search(text) or MOJIBAKE.search(text))


def _distinct(said: Sequence[Answer]) -> tuple[float | None, int, str]:
    order = np.random.default_rng(0).permutation(len(said))
    return distinct([said[i].text for i in order], 2)


@metric("distinct_2")
def distinct_2(subject: Subject, criterion: Criterion) -> Observation:
    """Distinct word pairs over all, at a fixed sample size, because it falls as the sample grows (U-04)."""
    value, tokens, unit = _distinct(answers(subject))
    if value is None:
        return missing(f"{NONE}; a sample of {SAMPLE_TOKENS} tokens, {tokens} found", tokens)
    words = (
        f"distinct pairs of {unit} over {tokens} {unit}, the first 200 of each answer (assumed); depends on the size"
    )
    return seen(value, criterion, words, tokens, f"{len(answers(subject))} answers")


@metric("language_diversity")
def language_diversity(subject: Subject, criterion: Criterion) -> Observation:
    """Change of distinct-2 against the earlier generations, at equal sample size; the openings are printed."""
    old, where = _before(subject)
    sides = [_distinct(said)[0] for said in (old, answers(subject))]
    if sides[0] is None or sides[1] is None:
        return missing(
            f"needs a reference artifact: generations before and after, {SAMPLE_TOKENS} tokens each, same prompts"
        )
    tops = [Counter(opening(a.text) for a in said).most_common(1)[0][1] / len(said) for said in (old, answers(subject))]
    words = f"distinct-2 {sides[0]:.3f} -> {sides[1]:.3f}, top opening {tops[0]:.0%} -> {tops[1]:.0%}; before: {where}"
    change = sides[1] - sides[0]
    good = moved(change, criterion) and tops[1] <= tops[0] + 0.05
    return Observation(change, len(answers(subject)), f"{SAMPLE_TOKENS} tokens each", words, good)


def moved(change: float, criterion: Criterion) -> bool:
    return change < 0 if criterion.is_ == "decreases" else change > 0


@metric("response_length_growth")
def response_length_growth(subject: Subject, criterion: Criterion) -> Observation:
    """Mean tokens after over mean tokens before, minus one, in percent, on the prompts that both answered."""
    old, where = _before(subject)
    lengths = [_lengths(said) for said in (old, answers(subject))]
    both = lengths[0].keys() & lengths[1].keys()
    if len(both) < ENOUGH:
        return missing(
            f"generations before and after on the same prompts are needed ({ENOUGH} at least, {len(both)} found)",
            len(both),
        )
    before, after = (np.array([side[p] for p in both]) for side in lengths)
    growth = 100 * (after.mean() / max(before.mean(), 1e-9) - 1)
    noise = 100 * float(
        np.std(after - before * after.mean() / max(before.mean(), 1e-9)) / max(before.mean(), 1e-9) / len(both) ** 0.5
    )
    words = f"mean tokens (estimated) {before.mean():.0f} -> {after.mean():.0f}, {len(both)} prompts; before: {where}"
    return seen(float(growth), criterion, words + "; decoding assumed equal", len(both), "", noise)


def _lengths(said: Sequence[Answer]) -> dict[str, float]:
    """Prompt -> mean tokens of its answers."""
    out: dict[str, list[int]] = {}
    for a in said:
        if a.prompt:
            out.setdefault(a.prompt, []).append(token_estimate(a.text, main_script(a.text)))
    return {p: float(np.mean(n)) for p, n in out.items()}


def _reasoning(subject: Subject) -> list[str]:
    """The reasoning spans; an answer without one counts as empty where others have one."""
    spans = [THINK.search(a.text) for a in answers(subject)]
    return [m[2].strip() if m else "" for m in spans] if any(spans) else []


@metric("reasoning_length")
def reasoning_length(subject: Subject, criterion: Criterion) -> Observation:
    """Mean characters between the reasoning markers; padding games it, so report accuracy too (U-09)."""
    spans = _reasoning(subject)
    if len(spans) < ENOUGH:
        return missing(f"{NONE} with reasoning markers (<think>...</think>), {ENOUGH} at least", len(spans))
    sizes = np.array([len(s) for s in spans])
    words = f"mean characters between the markers, median {np.median(sizes):.0f} (assumed; can be padded)"
    return seen(float(sizes.mean()), criterion, words, len(spans), "", float(sizes.std() / len(spans) ** 0.5))


@metric("reasoning_steps")
def reasoning_steps(subject: Subject, criterion: Criterion) -> Observation:
    """Mean numbered or bulleted lines in the reasoning span, its non-empty lines where nothing is numbered (U-09)."""
    spans = _reasoning(subject)
    if len(spans) < ENOUGH:
        return missing(f"{NONE} with reasoning markers (<think>...</think>), {ENOUGH} at least", len(spans))
    counts = np.array([len(STEP.findall(s)) or sum(bool(x.strip()) for x in s.splitlines()) for s in spans])
    words = "mean steps: numbered or bulleted lines in the span, else its lines (assumed; can be padded)"
    return seen(float(counts.mean()), criterion, words, len(spans), "", float(counts.std() / len(spans) ** 0.5))


@metric("within_group_generations_differ")
def within_group_generations_differ(subject: Subject, criterion: Criterion) -> Observation:
    """Prompts whose answers are not all the same; the share of groups with equal rewards is printed."""
    groups: dict[str, list[Answer]] = {}
    for a in answers(subject):
        groups.setdefault(a.prompt, []).append(a)
    several = [g for p, g in groups.items() if p and len(g) > 1]
    if len(several) < ENOUGH:
        return missing(
            f"a rollout dump with several answers per prompt is needed ({ENOUGH} prompts, {len(several)} found)",
            len(several),
        )
    same = sum(len({a.text for a in g}) == 1 for g in several)
    flat = sum(len({a.reward for a in g}) == 1 for g in several if g[0].reward is not None)
    words = f"{same} of {len(several)} prompts got one and the same answer every time, {flat} have equal rewards"
    ok = agrees(same / len(several) < IDENTICAL_SHARE, criterion)
    words += f"; below {IDENTICAL_SHARE:.0%} asked for (assumed)"
    return Observation(1 - same / len(several), len(several), f"{len(several)} prompts", words, ok)


@metric("cheating_pattern_found")
def cheating_pattern_found(subject: Subject, criterion: Criterion) -> Observation:
    """One opening that dominates the highly rewarded answers and not the others, or rewards without content.

    A person confirms what the pattern means.
    """
    paid = [(a.reward, a) for a in answers(subject) if a.reward is not None]
    if bad := sorted({f.code for f in subject.found("format-reward-gaming", "empty-answer-rewarded")}):
        return seen(True, criterion, f"findings: {', '.join(bad)}", len(paid))
    if len(paid) < 2 * ENOUGH:
        return missing(f"a rollout dump with rewards is needed ({2 * ENOUGH} answers, {len(paid)} found)", len(paid))
    cut = float(np.quantile([r for r, _ in paid], 0.75))
    high, rest = [a for r, a in paid if r >= cut], [a for r, a in paid if r < cut]
    top, count = Counter(opening(a.text) for a in high).most_common(1)[0]
    share, elsewhere = count / len(high), sum(opening(a.text) == top for a in rest) / max(len(rest), 1)
    found = len(rest) >= ENOUGH and share >= CHEATING and elsewhere < share / 2
    words = f"most frequent opening in the {len(high)} best rewarded answers {share:.0%}, in the others {elsewhere:.0%}"
    if len(rest) < ENOUGH:
        return missing(f"{words}; rewards do not vary enough to tell best from rest", len(paid))
    return seen(found, criterion, words + "; a person confirms", len(paid))


@metric("valid_output_share")
def valid_output_share(subject: Subject, criterion: Criterion) -> Observation:
    """Generated items that are in the catalogue (`*.index.json`), over all generated items."""
    known: set[str] = set()
    for path in files(subject, r"\.index\.json$"):
        value = load_json(path)
        for tokens in value.values() if isinstance(value, dict) else ():
            known.add("".join(map(str, tokens)) if isinstance(tokens, list) else str(tokens))
    said = [a.text.strip() for a in answers(subject) if a.text.strip()]
    if not known or not said:
        return missing("the catalogue (`*.index.json`) is needed beside the generations")
    good = sum(text in known or "".join(text.split()) in known for text in said)
    return seen(
        good / len(said),
        criterion,
        f"{good} of {len(said)} generated items are among {len(known)} known ones",
        len(said),
    )
