"""Whether a run's own results can be believed: the rows they count, and scores that cannot both be right.

Trainers write how many rows each had (`train_samples`, `eval_samples`); equal numbers of no round size are one file
used twice. Overlap of the texts themselves is `similar`. A ROUGE of exactly 0 says that no word is shared, beside
which no score of shared words can be above 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...run import Run
from ..records.plain import load_json

CHECK = "rows of training and evaluation"
CODES = declare(
    "evalrows",
    ("scores-contradict", CHECK, "scores of one evaluation that measure the same thing exclude each other"),
    ("scores-all-zero", CHECK, "every score of an evaluation is exactly 0"),
    ("eval-on-training-rows", CHECK, "the evaluation had exactly as many rows as the training, no round number"),
)
TRAIN = re.compile(r"^(?:num_)?train(?:ing)?_(?:samples|examples|rows|size)$")
EVAL = re.compile(r"^(?:num_)?(?:eval|val|validation|test)(?:uation)?_(?:samples|examples|rows|size)$")
LEAST, ROUND = 50, 100
"""Rows from which on equal numbers are no accident, and multiples that are a limit set for both rather than a count."""
NO_WORD = re.compile(r"rouge[-_]?(?:1|l|lsum)(?:$|[^a-z0-9])")
"""Scores that are exactly 0 only where prediction and reference share no word."""
SHARED = re.compile(r"(?:^|[^a-z])(?:sacre)?bleu|meteor|exact_?match|(?:^|[^a-z])(?:em|f1)(?:$|[^a-z])")
"""Scores that are above 0 only where words are shared."""
ZEROS = 2
"""Scores from which on it is told that all are 0."""
FILES = 200
"""Result files that are looked at."""


@dataclass
class _Counts:
    """What the results of one folder say."""

    train: dict[int, str] = field(default_factory=dict)
    held: dict[int, str] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)


def check_eval_rows(run: Run) -> Report:
    """Compare the numbers of rows that a run's result files give."""
    folders: dict[str, _Counts] = {}
    excluded: list[Finding] = []
    small = [a for a in run.of("eval", "table", "metrics") if a.name.endswith(".json")]
    for artifact in small[:FILES]:
        try:
            told = load_json(artifact.path)
        except (TriageError, OSError, ValueError):
            continue
        if isinstance(told, Mapping):
            _count(told, artifact.name, folders.setdefault(artifact.name.rpartition("/")[0], _Counts()))
            excluded += filter(None, [_excluded(told, artifact.name)])
    both = [c for c in folders.values() if c.train and c.held]
    if not both and not excluded:
        return Report(
            "evals", (), (Check(CHECK, "not-applicable", "no result counts both", "结果文件没有同时给出两者的行数"),)
        )
    found = tuple(_same(c, n) for c in both for n in c.train.keys() & c.held.keys() if n >= LEAST and n % ROUND)
    found = (*found[:1], *excluded[:1])
    return Report("evals", found, (Check(CHECK, "found" if found else "clear"),))


def _excluded(told: Mapping[str, object], file: str) -> Finding | None:
    """The finding of a result file in which no word is shared by one score, and some are by another."""
    numbers = {k: v for k, v in told.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
    none = [k for k, v in numbers.items() if v == 0 and NO_WORD.search(k.lower())]
    some = {k: v for k, v in numbers.items() if v > 0 and SHARED.search(k.lower())}
    if not none or not some:
        return _nothing(numbers, file)
    key, value = max(some.items(), key=lambda item: item[1])
    return Finding(
        "scores-contradict",
        Severity.S2,
        f"{none[0]} is exactly 0 (prediction and reference share no word) while {key} is {value:.3g}: the references "
        "are placeholders, or one of the metrics cannot read this script. Neither score says anything of the model.",
        f"{none[0]} 恰好为 0（预测与参考没有任何共同的词），而 {key} 为 {value:.3g}："
        "参考答案是占位符，或其中一个指标读不了这种文字。两个分数都说明不了模型。",
        tuple(Evidence(file, metric=k, value=numbers[k], text=f"{k}: {numbers[k]:.4g}") for k in (none[0], key)),
        {"zero": none, "above": sorted(some)},
    )


def _nothing(numbers: Mapping[str, float], file: str) -> Finding | None:
    """The note of a result file whose scores of words are all exactly 0."""
    scores = {k: v for k, v in numbers.items() if NO_WORD.search(k.lower()) or SHARED.search(k.lower())}
    if len(scores) < ZEROS or any(scores.values()):
        return None
    names = ", ".join([*scores][:4])
    return Finding(
        "scores-all-zero",
        Severity.S3,
        f"All {len(scores)} scores of {file} are exactly 0 ({names}).",
        f"{file} 的 {len(scores)} 个分数全部恰好为 0（{names}）。",
        tuple(Evidence(file, metric=k, value=0.0, text=f"{k}: 0") for k in [*scores][:2]),
        {"zero": [*scores]},
    )


def _count(told: Mapping[str, object], file: str, counts: _Counts) -> None:
    for key, value in told.items():
        name = key.removeprefix("metrics/").lower()
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40:
            into = counts.train if TRAIN.match(name) else counts.held if EVAL.match(name) else {}
            into.setdefault(value, file)
        elif isinstance(value, float) and name in ("train_loss", "eval_loss"):
            counts.losses.setdefault(name, value)


def _same(counts: _Counts, rows: int) -> Finding:
    below = counts.losses.get("eval_loss", 1.0) < counts.losses.get("train_loss", 0.0)
    gap = f"eval_loss {counts.losses['eval_loss']:.3g} < train_loss {counts.losses['train_loss']:.3g}" if below else ""
    return Finding(
        "eval-on-training-rows",
        Severity.S2,
        f"{rows} rows were trained on and {rows} evaluated: the same rows, as far as numbers tell"
        + (f" ({gap}). " if gap else ". ")
        + "Such an evaluation says nothing of other rows.",
        f"训练 {rows} 行，评测也是 {rows} 行：从数量看是同一批数据"
        + (f"（{gap}）。" if gap else "。")
        + "这样的评测说明不了泛化。",
        tuple(
            Evidence(file, metric="eval", value=rows, text=f"{rows} rows")
            for file in dict.fromkeys((counts.held[rows], counts.train[rows]))
        ),
        {"rows": rows, "below_train": below},
    )
