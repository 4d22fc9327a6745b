"""Scores in a run's evaluation results, and whether training lost what the model could do before.

Result files of lm-evaluation-harness, of the Hugging Face Trainer and plain `{"task": score}` JSON are read. "Before"
is a result file named as that of the base model (`base_results.json`). Scores that were measured differently are not
compared, and a score at the level of guessing is no loss of ability. Evaluations in a log are judged in `logs.trends`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import hypot, sqrt
from pathlib import Path
from typing import Any

from .data.records.plain import load_json
from .findings import Check, Evidence, Finding, Report, Severity, declare
from .logs.chance import chance_of
from .patterns import bounded
from .run import Run

CHECK = "scores before and after training"
CODES = declare(
    "scores",
    ("benchmark-drop", CHECK, "a score of the trained model is well below that of the model before training"),
    ("score-lost-in-export", CHECK, "a score of the exported model is well below that of the trained one"),
    ("abilities-traded", CHECK, "general scores fall beyond their errors while others rise, all measured alike"),
    ("instructions-lost-alone", CHECK, "only scores of following instructions fall, those of knowledge do not"),
    ("score-at-chance", CHECK, "a score fell to what guessing gives: a matter of loading or asking the model first"),
    ("eval-settings-differ", CHECK, "scores before and after training were measured with different settings"),
)  # fmt: skip
TARGET, LIMIT = 5.0, 10.0
"""Points that a general score may lose: the target and the hard limit. Source: 000 §1 data and §2 SFT."""
CLEAR = 3.0
"""Standard errors that a drop must exceed."""

GENERAL = bounded(
    r"(?i)(?:^|[^a-z])(?:c?mmlu|c-?eval|hellaswag|arc|winogrande|truthfulqa|boolq|piqa|bbh|agieval|gsm8k|lambada|openbookqa"
    r"|commonsense\w*|triviaqa|nq|humaneval|mbpp|ifeval|mt_?bench|general)(?:[^a-z]|$)"
)
"""Public benchmarks of general ability; any other score counts as the domain's."""
FOLLOWING = bounded(
    r"(?i)(?:^|[^a-z])(?:ifeval|mt_?bench|alpaca_?eval|arena_?hard|infobench|followbench|instruct\w*)(?:[^a-z]|$)"
)
"""Benchmarks of following instructions."""
KNOWING = bounded(
    r"(?i)(?:^|[^a-z])(?:c?mmlu(?:_pro)?|c-?eval|triviaqa|nq|naturalqs?|arc\w*|openbookqa|simpleqa|medqa)(?:[^a-z]|$)"
)
"""Benchmarks of knowledge."""
QUALITY = re.compile(
    r"(?i)(?:^|[_/,@.-])(?:acc(?:uracy)?|acc_norm|exact_match|em|f1|score|pass(?:@\d+)?|correct|win_?rate|bleu|rouge\w*|mc[12]"
    r"|(?:prompt|inst)_level\w*)(?:[_,@./-]|$)"
)
"""Keys of scores of which more is better."""
NOT_A_SCORE = re.compile(
    r"(?i)stderr|loss|perplexity|ppl|runtime|per_second|steps?$|epoch|alias|samples?$|bits_per|seconds|time"
)
COUNTED = re.compile(
    r"(?i)(?:^|[_.-])(?:counts?|numbers?|num|support|confusion|matri(?:x|ces)|incorrect|wrong|errors?|samples|hits"
    r"|totals?)(?:[_.-]|$)|^n_|数量|个数|样本"
)
"""Names of what holds numbers of items and no scores, of which a change is in items."""
COUNT = ("n", "num_samples", "n_samples", "samples", "total", "count", "eval_samples", "num_examples", "total_count",
         "n_total", "num_total", "n_items", "num_items", "num_questions", "n_examples")  # fmt: skip
NEAR_CHANCE = 2.0
"""Points from chance within which a score says nothing of the model. Own judgement."""
SETUP = {"n-shot": ("shots", "示例数"), "versions": ("task version", "任务版本")}
"""What lm-evaluation-harness notes for each task beside its score, and how people call it."""
BASE_MODEL = re.compile(
    r"(?i)(?:^|[/_.-])(?:base|before|pre|pretrained|reference|ref|orig(?:inal)?|initial|step_?0|sft_?ref)(?:[/_.-]|$)"
)
"""Name of a file of the model before training, or before what `EXPORTED` names."""
EXPORTED = re.compile(r"(?i)(?:^|[/_.-])(?:export|merge|deploy|quanti[sz]|convert|conversion|serv|release)")
"""In the name of the first file of `before_export`: what lies between the two models is no training."""


@dataclass(frozen=True)
class Score:
    """One score in percentage points."""

    value: float
    n: int | None
    stderr: float | None
    """In points, where the file gives it."""
    file: str
    setup: tuple[tuple[str, str], ...] = ()
    """(key of `SETUP`, value) of how it was measured, where the file says it."""

    @property
    def error(self) -> float | None:
        """Standard error in points: the file's own, or sqrt(p(1-p)/n) (U-05)."""
        if self.stderr is not None:
            return self.stderr
        p = self.value / 100
        return 100 * sqrt(p * (1 - p) / self.n) if self.n and 0 <= p <= 1 else None


Scores = dict[str, Score]
Pair = tuple[str, Score, Score]
"""Name, before, after."""


def scores(run: Run, base: bool = False) -> Scores:
    """Scores by task and metric of a run's evaluation files; `base` picks those of the model before training."""
    out: Scores = {}
    for artifact in run.of("eval"):
        if bool(BASE_MODEL.search(_whose(artifact.name))) == base:
            out |= dict(_read(load_json(artifact.path), artifact.name))
    return out


def _whose(name: str) -> str:
    """What a file's name says of the model; of `base/results.json` its folder says it."""
    path = Path(name)
    return path.parent.name if re.fullmatch(r"(?i)results?|scores?|eval|metrics", path.stem) else path.stem


def _read(value: Any, file: str) -> Iterator[tuple[str, Score]]:
    if not isinstance(value, Mapping):
        return
    counts = value.get("n-samples")
    tasks = value.get("results") if isinstance(value.get("results"), Mapping) else value
    for name, score in _walk(tasks, (), None):
        task = name.split("/", 1)[0]
        sizes = counts.get(task) if isinstance(counts, Mapping) else None
        n = sizes.get("effective", sizes.get("original")) if isinstance(sizes, Mapping) else None
        n = n if isinstance(n, int) and 0 < n < 1 << 40 else None
        noted = ((key, value.get(key)) for key in SETUP)
        setup = tuple((key, str(of[task])[:40]) for key, of in noted if isinstance(of, Mapping) and task in of)
        yield name, Score(score.value, score.n or n, score.stderr, file, setup)


def _walk(value: Any, path: tuple[str, ...], n: int | None) -> Iterator[tuple[str, Score]]:
    if not isinstance(value, Mapping) or len(path) > 3:
        return
    n = next((int(value[k]) for k in COUNT if isinstance(value.get(k), int) and 0 < value[k] < 1 << 40), n)
    for key, item in value.items():
        where = (*path, str(key))
        if isinstance(item, Mapping):
            yield from () if COUNTED.search(str(key)) else _walk(item, where, n)
        elif isinstance(item, (int, float)) and not isinstance(item, bool) and key not in COUNT:
            name = "/".join(where)
            if not NOT_A_SCORE.search(str(key)) and (QUALITY.search(name) or GENERAL.search(name)):
                scale = 100 if 0 <= item <= 1 else 1
                yield name, Score(item * scale, n, _stderr(value, str(key), scale), "")


def _stderr(values: Mapping[str, Any], key: str, scale: int) -> float | None:
    """lm-evaluation-harness puts `acc_stderr,none` beside `acc,none`."""
    name, comma, rest = key.partition(",")
    found = values.get(f"{name}_stderr{comma}{rest}")
    return float(found) * scale if isinstance(found, (int, float)) else None


def pairs(before: Scores, after: Scores) -> list[Pair]:
    """The scores that both sides have and measured alike; of a group of tasks only the group."""
    return _whole(before, after, [n for n in after if n in before and not differing(before[n], after[n])])


def differing(a: Score, b: Score) -> list[tuple[str, str, str]]:
    """(key of `SETUP`, value of a, value of b) where both files note the setting and it is not the same."""
    other = dict(b.setup)
    return [(key, value, other[key]) for key, value in a.setup if other.get(key, value) != value]


def _whole(before: Scores, after: Scores, names: list[str]) -> list[Pair]:
    groups = {n.split("/", 1)[0] for n in names}
    whole = [n for n in names if not any(n.split("/", 1)[0].startswith(f"{g}_") for g in groups)]
    return [(n, before[n], after[n]) for n in whole or names]


def joint_error(a: Score, b: Score) -> float | None:
    """Standard error of the difference of two scores, where both are known."""
    return None if a.error is None or b.error is None else hypot(a.error, b.error)


def check_run_evals(run: Run) -> Report:
    """The scores of a run against those of the model before training, where its results are there."""
    before, after = scores(run, base=True), scores(run)
    both = pairs(before, after)
    apart = _whole(before, after, [n for n in after if n in before and differing(before[n], after[n])])
    if not both and not apart:
        why = "no task has results of both the trained and the base model (`results.json`, `base_results.json`)"
        zh = "没有同时包含训练后与基座模型得分的评测结果（`results.json`、`base_results.json`）"
        return Report("evals", (), (Check(CHECK, "not-applicable", why, zh),))
    fell = sorted((p for p in both if _fell(*p[1:])), key=lambda p: p[2].value - p[1].value)
    if exported := [p for p in fell if EXPORTED.search(p[1].file)]:
        return Report("evals", (_drop(exported, both, "score-lost-in-export"),), (Check(CHECK, "found"),))
    guessed = [p for p in fell if _at_chance(*p)]
    lost = [p for p in fell if p not in guessed]
    found = (
        *([_drop(lost, both)] if lost else ()),
        *_traded(lost, both),
        *_instructions(lost, both),
        *([_chance(guessed)] if guessed else ()),
        *([_apart(apart)] if apart else ()),
    )
    check = Check(CHECK, "found" if found else "clear", f"{len(both)} scores compared", f"比较了 {len(both)} 项得分")
    return Report("evals", found, (check,))


def _traded(lost: list[Pair], both: list[Pair]) -> Iterator[Finding]:
    """Several general tasks are lost and another is won in one comparison that notes how it was measured.

    A model that was loaded or asked wrongly wins nowhere; one harness against another would be noted otherwise.
    """
    sure = [p for p in both if joint_error(*p[1:]) is not None and p[1].setup and p[2].setup]
    fell = [p for p in lost if p in sure and GENERAL.search(p[0])]
    won = [p for p in sure if _fell(p[2], p[1])]
    if len({name.split("/", 1)[0] for name, *_ in fell}) < 2 or not won:
        return
    lost_, won_ = (", ".join(f"{n} {a.value:.1f} -> {b.value:.1f}" for n, a, b in some[:3]) for some in (fell, won))
    yield Finding(
        "abilities-traded", Severity.S1,
        f"Measured alike before and after training, {lost_} are lost and {won_} won, each beyond its error.",
        f"训练前后评测设置相同：{lost_} 下降，{won_} 上升，均超出各自的误差。",
        tuple(
            Evidence(s.file, metric="eval", value=round(s.value, 4), text=n) for n, *ab in (fell[0], won[0]) for s in ab
        ),
        {"fell": len(fell), "rose": len(won)},
    )  # fmt: skip


def _instructions(lost: list[Pair], both: list[Pair]) -> Iterator[Finding]:
    """The model knows what it knew and no longer does as it is told."""
    kept = [p for p in both if KNOWING.search(p[0]) and p not in lost]
    if not lost or not kept or not all(FOLLOWING.search(name) for name, *_ in lost):
        return
    name, old, new = lost[0]
    known, was, now = kept[0]
    yield Finding(
        "instructions-lost-alone", Severity.S2,
        f"Only following instructions is lost ({name} {old.value:.1f} -> {new.value:.1f}); knowledge is not ({known} "
        f"{was.value:.1f} -> {now.value:.1f}).",
        f"只有指令遵循下降（{name} {old.value:.1f} -> {new.value:.1f}），知识没有（{known} {was.value:.1f} -> "
        f"{now.value:.1f}）。",
        tuple(Evidence(s.file, metric="eval", value=round(s.value, 4), text=name) for s in (new, old)),
        {"score": name, "before": old.value, "after": new.value, "kept": len(kept)},
    )  # fmt: skip


def _at_chance(name: str, before: Score, after: Score) -> bool:
    """Whether the score is what guessing gives, and was clearly more before."""
    chance = chance_of(name)
    if chance is None:
        return False
    return abs(after.value - chance.points) <= NEAR_CHANCE and before.value > chance.points + LIMIT


def _chance(guessed: list[Pair]) -> Finding:
    shown = ", ".join(f"{name} {old.value:.1f} -> {new.value:.1f}" for name, old, new in guessed[:3])
    name, old, new = guessed[0]
    return Finding(
        "score-at-chance",
        Severity.S1,
        f"{shown}: that is what guessing gives. A loss of ability seldom goes so far; look first at how the trained "
        "model was loaded and asked.",
        f"{shown}：等于随机猜测的水平。能力下降很少会掉到这个程度，先查训练后的模型是怎么加载、怎么提问的。",
        tuple(Evidence(s.file, metric="eval", value=round(s.value, 4), text=name) for s in (new, old)),
        {"score": name, "before": old.value, "after": new.value, "at_chance": len(guessed)},
    )


def _apart(apart: list[Pair]) -> Finding:
    name, old, new = apart[0]
    said = [(*SETUP[key], a, b) for key, a, b in differing(old, new)]
    return Finding(
        "eval-settings-differ",
        Severity.S2,
        f"{name} was measured with {', '.join(f'{en} {a} before and {b} after' for en, _, a, b in said)}: the scores "
        f"({old.value:.1f}, {new.value:.1f}) cannot be compared.",
        f"{name} 前后评测设置不同（{'，'.join(f'{zh} {a} → {b}' for _, zh, a, b in said)}），分数（{old.value:.1f}、"
        f"{new.value:.1f}）不可比。",
        tuple(Evidence(s.file, metric="eval", value=round(s.value, 4), text=name) for s in (new, old)),
        {"score": name, "before": old.value, "after": new.value, "scores": len(apart)},
    )


def _fell(before: Score, after: Score) -> bool:
    """Beyond the target and the noise; without a known noise, beyond the hard limit."""
    drop, error = before.value - after.value, joint_error(before, after)
    return drop > LIMIT if error is None else drop > TARGET and drop > CLEAR * error


def _drop(fell: list[Pair], both: list[Pair], code: str = "benchmark-drop") -> Finding:
    name, old, new = fell[0]
    drop, error = old.value - new.value, joint_error(old, new)
    gains = [f"{n} {a.value:.1f} -> {b.value:.1f}" for n, a, b in both if b.value > a.value]
    noise = f", standard error {error:.1f}" if error is not None else ""
    also = f"; {len(fell) - 1} other score(s) fell too" if len(fell) > 1 else ""
    gained = f"; gained: {', '.join(gains[:3])}" if gains else ""
    what, what_zh = ("training", "训练") if code == "benchmark-drop" else ("the export", "导出")
    message = f"{name} is {new.value:.1f} after {what} and was {old.value:.1f} before ({drop:.1f} points{noise})"
    zh = f"{name} {what_zh}前 {old.value:.1f}，{what_zh}后 {new.value:.1f}（下降 {drop:.1f} 个点）"
    evidence = tuple(Evidence(s.file, metric="eval", value=round(s.value, 4), text=name) for s in (new, old))
    data = {"score": name, "before": old.value, "after": new.value, "drop": drop, "standard_error": error,
            "fell": len(fell), "compared": len(both)}  # fmt: skip
    severity = Severity.S1 if drop > LIMIT else Severity.S2
    return Finding(code, severity, f"{message}{also}{gained}.", f"{zh}。", evidence, data)
