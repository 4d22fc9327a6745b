"""What a run measured, in one line, for an answer that names no cause: so that the person sees what was read of it.

Measures that the question names come first, then those that most runs are judged by. Every number is read off.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from ...tools.findings import clean
from ...tools.meaning import quantity
from ...tools.metrics import named as metric_of
from ...tools.phrase import phrases
from ...tools.tables.table import Table
from ...tools.vocabulary import ANSWER_SCORES, VOCABULARY
from ..evidence import Look
from ..printed import printed_scores
from ..question.understand import Question

SAID = phrases(
    "what a run measured",
    ("measured", "Measured: {what}.", "测得：{what}。"),
    ("went", "`{name}` {first:.4g} to {last:.4g}{unit} ({n} points, {place})",
     "`{name}` 从 {first:.4g} 到 {last:.4g}{unit}（{n} 个点，{place}）"),
    ("is", "`{name}` {last:.4g}{unit} ({place})", "`{name}` 为 {last:.4g}{unit}（{place}）"),
    ("rows", "`{name}` between {low:.4g} and {high:.4g}{unit} in {n} rows ({place})",
     "`{name}` 在 {n} 行中介于 {low:.4g} 和 {high:.4g}{unit} 之间（{place}）"),
    ("nowhere", "Nothing that was read is called {what}, which you name: bring the file in which it stands.",
     "读到的内容里没有你提到的 {what}：请给出有它的文件。"),
)  # fmt: skip
MOST = 3
"""Measures told."""
FIRST = (
    "loss", "eval_loss", "reward", "eval_reward", "accuracy", "eval_accuracy", "success_rate", "reward_accuracy",
    "perplexity", "eval_perplexity", "eval_bpb", "wer", "cer", "f1", "exact_match", "win_rate", "bleu", "chrf",
    "tokens_per_second", "samples_per_second", "ttft", "tpot", "step_time",
)  # fmt: skip
"""What most runs are judged by, in the order in which it is told: metrics, kinds of quantity, names of scores."""
SCORES = ANSWER_SCORES | {name for name in FIRST if name not in VOCABULARY}
"""Scores that nothing but an evaluation has, each called by its name in whatever stands around it."""
PERCENTILE = re.compile(r"p\d\d\d?")
SKIPPED = frozenset(("epoch", "batch_size", "learning_rate"))
"""Metrics that say how a run was set, and not how it went."""
LONG = 3
"""Letters of a word of a name from which on the question can mean it."""
LETTERS = 2_000
"""Letters of a question in which measures are looked for: more is no sentence of a person."""
ZH = (2, 3, 4, 5)
"""Characters of a Chinese name of a measure."""
PATH = 40
"""Characters of a path that is shown whole; of a longer one its name."""
UNITS = frozenset(("ms", "s", "sec", "secs", "seconds", "us", "pct", "percent", "frac", "gb", "gib", "mb", "mib"))
"""Parts of names that say in what something is measured."""


@dataclass(frozen=True)
class Shown:
    """One measure as it was read."""

    name: str
    """As its file calls it."""
    kind: str
    """Its canonical metric, kind of quantity, or own name."""
    values: np.ndarray
    """(n,) float64, finite, in file order: of others the findings tell."""
    file: str
    line: int
    """Of the last point; 0 where its file has no lines."""
    way: bool
    """Whether the values follow each other; else they are of rows side by side."""

    def say(self, lang: str) -> str:
        """The measure in words."""
        v = self.values
        key = "is" if len(v) == 1 or (not self.way and v.min() == v.max()) else "went" if self.way else "rows"
        file = clean(self.file if len(self.file) <= PATH else PurePosixPath(self.file).name, PATH)
        place = f"{file}:{self.line}" if key == "is" and self.line else file
        unit = VOCABULARY[self.kind].unit if self.kind in VOCABULARY else ""
        parts = {
            "unit": f" {unit}" if unit not in ("", "1") else "",
            "first": v[0],
            "last": v[-1],
            "low": v.min(),
            "high": v.max(),
            "n": len(v),
            "place": place,
        }
        return SAID[key].say(lang, name=clean(self.name, 40), **parts)


def shown(every: Sequence[Shown], asked: Question) -> list[Shown]:
    """What was measured, at most `MOST` measures: those that the question names, then the usual ones."""
    usual = [s for kind in FIRST for s in every if s.kind == kind]
    once: dict[str, Shown] = {}
    for s in (*named(every, asked), *usual):
        once.setdefault(s.kind, s)
    return list(once.values())[:MOST]


def measures(seen: Look) -> list[Shown]:
    """Everything that was measured, each name and kind once: where it has most values."""
    return [*{(s.kind, s.name.lower()): s for s in sorted(_all(seen), key=lambda s: len(s.values))}.values()]


def spoken(asked: Question) -> Spoken:
    """The measures that a question names, or that its symptoms and complaints are of."""
    return Spoken.of(asked.own, (m for c in (*asked.complaints, *(s.kind for s in asked.symptoms)) for m in c.metrics))


def named(every: Iterable[Shown], asked: Question) -> list[Shown]:
    """The measures that the question names."""
    words = spoken(asked)
    return [s for s in every if words.name(s.name, s.kind)]


def measured(seen: Look, asked: Question, lang: str) -> Iterator[str]:
    """The line, nothing where nothing was measured that is asked about or usual; and what is asked about and was found
    nowhere."""
    every = measures(seen)
    if told := [s.say(lang) for s in shown(every, asked)]:
        yield SAID["measured"].say(lang, what=("；" if lang == "zh" else "; ").join(told))
    written = {(s.key, s.metric) for s in seen.series} | {(c.name, c.of) for t in seen.tables for c in t.columns}
    if absent := spoken(asked).nowhere(written | {(s.name, s.kind) for s in every}):
        yield SAID["nowhere"].say(lang, what=("、" if lang == "zh" else ", ").join(f"`{name}`" for name in absent))


def _all(seen: Look) -> Iterator[Shown]:
    """Every series, the measures of tables that are none, and what logs print as a score besides."""
    courses = set()
    for s in seen.series:
        if len(s) and np.isfinite(s.values).all() and s.metric not in SKIPPED and s.confidence == 1:
            courses.add(s.file)
            yield Shown(s.key, kind_of_name(s.key, s.metric), s.values, s.file, int(s.lines[-1]), True)
    for table in seen.tables:
        if table.file not in courses:
            yield from _rows(table)
    for name, value, file, line in printed_scores(seen.logs):
        if file not in courses:
            yield Shown(name, kind_of_name(name, name), np.array([value]), file, line, False)


def _rows(table: Table) -> Iterator[Shown]:
    for c in table.of("measure"):
        real = np.isfinite(c.values) if c.values.dtype.kind == "f" else np.zeros(len(table), bool)
        if real.any():
            kind = kind_of_name(c.name, c.of, c.unit)
            yield Shown(c.name, kind, c.values[real], table.file, int(table.lines[real][-1]), False)


def kind_of_name(name: str, metric: str, unit: str = "") -> str:
    own = plainly(name)
    known = metric if metric in VOCABULARY else (found := metric_of(own)) and found[0]
    return known or quantity(name, unit) or quantity(own, unit) or own.lower()


def plainly(name: str) -> str:
    """A name without what is said of it in brackets behind it, and without the path of keys that leads to it."""
    bare = name.rpartition("(")[0].rstrip() if name.rstrip().endswith(")") else name
    return re.split(r"\.(?=[A-Za-z_])", bare)[-1] or name


@dataclass(frozen=True)
class Spoken:
    """What a question names of measures."""

    words: frozenset[str]
    kinds: frozenset[str]
    """Canonical metrics, and kinds of quantity."""

    @staticmethod
    def of(own: str, kinds: Iterable[str] = ()) -> Spoken:
        """What the person's own sentences name."""
        own = own[:LETTERS]
        words = re.findall(r"[a-z0-9_]+", own.lower())
        runs = [" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)]
        runs += re.findall(r"[a-z_]{1,20}/[a-z_]{1,20}", own.lower())
        runs += [zh[i : i + n] for zh in re.findall(r"[一-鿿]+", own) for n in ZH for i in range(len(zh) - n + 1)]
        meant = {m[0] for run in runs if (m := metric_of(run))} | {q for run in runs if (q := quantity(run))}
        parts = frozenset(part for w in words for part in w.split("_"))
        return Spoken(parts | {*words}, frozenset(meant | {*kinds}))

    def name(self, name: str, kind: str) -> bool:
        """Whether a measure of this name and kind is meant."""
        name = plainly(name).lower()
        parts = {p for p in re.split(r"[\W_]+", name) if p and p not in UNITS}
        said = name in self.words or (max(map(len, parts), default=0) > LONG and parts <= self.words)
        return said or kind in self.kinds or any(map(self.scored, parts))

    @property
    def own(self) -> frozenset[str]:
        """Scores and percentiles that are named by a name which means nothing else."""
        return frozenset(w for w in self.words if w in SCORES or PERCENTILE.fullmatch(w))

    def scored(self, part: str) -> bool:
        """Whether a part of a name is one of these scores, or one kind of it: ROUGE-1 and ROUGE-L of ROUGE."""
        bare = part.rstrip("0123456789")
        return part in self.own or bare in self.own or (bare in SCORES and bare.startswith(tuple(self.own)))

    def nowhere(self, names: Collection[tuple[str, str]]) -> list[str]:
        """What is named by its own name and stands under none of these names and kinds; the loss on other rows is one,
        too."""
        had = {kind.removeprefix("eval_") for _, kind in names}
        kinds = {k for k in self.words & self.kinds if k in FIRST} - had
        alone = (Spoken(frozenset((w,)), frozenset()) for w in self.own)
        return sorted(kinds | {w for one in alone for w in one.words if not any(one.name(*n) for n in names)})
