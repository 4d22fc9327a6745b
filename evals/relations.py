"""Runs with planted relations, drawn at random, and how often `tools.relate` finds them first and in the right place.

`python -m triage.evals.relations` draws, relates and prints the table. What is drawn: shape, noise, length and logging
interval of every series, headers (of known measures any of their names), units, separators and the files they lie in.
Nothing here knows how the relations are computed.
"""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..tools.documents.event import Claim, Event
from ..tools.findings import Finding
from ..tools.relate.relate import Related, relate
from ..tools.series import SeriesTable
from ..tools.settings import Setting, Settings
from ..tools.tables.table import Table
from ..tools.vocabulary import VOCABULARY

DRAWS, HEALTHY_DRAWS = 100, 300
SERIES = 40
WORDS = ("queue", "router", "cache", "fetch", "copy", "shard", "gate", "expert", "buffer", "lag", "wait", "depth",
         "frame", "page", "disk", "socket", "mixer", "probe", "hidden", "codec", "pack", "sync", "poll",
         "arena")  # fmt: skip
ENDS = ("", "_s", "_ms", "_pct", "_count", " mean", "/avg", "_p95", ".max", "_gib")
SYMPTOMS = ("tokens_per_second", "samples_per_second", "loss", "reward", "mfu", "step_time", "eval_loss", "accuracy")
GROUPS = ("rank", "host", "node", "gpu", "shard", "hostname", "device", "local_rank")
Rng = np.random.Generator
Rows = list[tuple[str, ...]]


@dataclass
class Run:
    """One drawn run and what was planted in it."""

    kind: str
    files: dict[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    events: list[Event] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    codes: tuple[str, ...] = ()
    """Findings of which one must come first."""
    about: tuple[str, ...] = ()
    """Headers or groups of which that finding must name one."""
    place: float | None = None
    """What its interval must hold."""


def noise(rng: Rng, n: int, size: float) -> np.ndarray:
    """White, wandering back, or with heavy tails."""
    kind = rng.integers(4)
    white = rng.normal(0, size, n)
    if kind == 1:
        out = np.zeros(n)
        for i in range(1, n):
            out[i] = 0.6 * out[i - 1] + 0.8 * white[i]
        return out
    return rng.standard_t(4, n) * size * 0.7 if kind == 2 else white


def course(rng: Rng, metric: str, n: int) -> tuple[np.ndarray, float]:
    """A healthy course of a measure and the size of its noise: loss falls, reward climbs, the rest goes as it "
    "likes."""
    t = np.arange(1, n + 1)
    level = float(10 ** rng.uniform(-2, 4))
    if metric in ("loss", "eval_loss"):
        level = float(rng.uniform(1, 3))
        way = level + 8 * (t + rng.integers(1, 50)) ** -rng.uniform(0.3, 0.6)
    elif metric in ("reward", "accuracy", "mfu"):
        level = float(rng.uniform(0.3, 0.6))
        way = level + (0.2 if metric != "mfu" else 0.0) * (1 - np.exp(-3 * t / n))
    elif metric in VOCABULARY or rng.random() < 0.6:
        way = np.full(n, level)
    else:
        way = level * (1 + rng.uniform(-0.5, 0.5) * t / n)
    return way, level * float(rng.uniform(0.005, 0.03))


def header(rng: Rng, taken: set[str]) -> str:
    while True:
        name = f"{WORDS[rng.integers(len(WORDS))]}_{WORDS[rng.integers(len(WORDS))]}{ENDS[rng.integers(len(ENDS))]}"
        if name not in taken:
            taken.add(name)
            return name


def known(rng: Rng, metric: str) -> str:
    """One of the names of a metric."""
    names = VOCABULARY[metric].aliases[:6]
    return str(names[rng.integers(len(names))])


def text(rng: Rng, head: Sequence[str], rows: Sequence[Sequence[object]]) -> tuple[str, str]:
    """(end of the file's name, its text) with a separator of its own."""
    separator, end = ((",", "csv"), ("\t", "tsv"), (";", "csv"))[rng.integers(3)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\r\n" if rng.random() < 0.2 else "\n")
    writer.writerows([head, *rows])
    return end, out.getvalue()


def shown(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else ""


def bent(rng: Rng, way: np.ndarray, size: float, at: int, sign: int, drift: bool) -> np.ndarray:
    """The course with a step, or a drift to the end, from `at` on."""
    height = sign * max(float(rng.uniform(0.15, 0.6)) * abs(float(way[at])), 8 * size)
    add = np.zeros(len(way))
    add[at:] = height * (np.arange(1, len(way) - at + 1) / (len(way) - at) * 1.5 if drift else 1.0)
    return way + add


def monitored(rng: Rng, planted: bool) -> Run:
    """40 series in one to three files; planted, one known measure gets worse somewhere, up to five others with it."""
    n, every = int(rng.integers(150, 2000)), int(rng.choice([1, 1, 5, 10, 50]))
    steps = int(rng.integers(0, 1000)) + every * np.arange(1, n + 1)
    symptom, drift = str(rng.choice(SYMPTOMS)), bool(rng.random() < 0.3)
    at, company = int(rng.integers(n // 4, 3 * n // 4)), int(rng.integers(0, 6))
    run, taken, columns = Run("onset" if planted else "healthy"), set[str](), []
    name = known(rng, symptom)
    for i in range(SERIES):
        metric = symptom if not i else ""
        title = name if not i else header(rng, taken)
        way, size = course(rng, metric, n)
        if planted and i <= company:
            sign = -VOCABULARY[symptom].better if not i else int(rng.choice([-1, 1]))
            way = bent(rng, way, size, at, sign, drift)
        values = way + noise(rng, n, size)
        values[rng.random(n) < rng.choice([0, 0, 0.02])] = np.nan
        columns.append((title, values))
    _spread(rng, run, steps, columns)
    if planted:
        run.codes, run.about, run.place = ("onset",), (name,), float(steps[at])
        run.events = [Event("config", "changed", "NOTES.md", 3, int(steps[at]))] if rng.random() < 0.5 else []
    return run


def _spread(rng: Rng, run: Run, steps: np.ndarray, columns: list[tuple[str, np.ndarray]]) -> None:
    """The columns over one to three files, the later ones written more rarely."""
    count = int(rng.integers(1, 4))
    for f, part in enumerate(np.array_split(np.arange(len(columns)), count)):
        rare = 1 if not f or len(steps) < 400 else int(rng.choice([1, 2, 5]))
        head = [str(rng.choice(["step", "global_step", "iteration"])), *(columns[i][0] for i in part)]
        rows = [[int(steps[r]), *(shown(columns[i][1][r]) for i in part)] for r in range(0, len(steps), rare)]
        end, out = text(rng, head, rows)
        run.files[f"{WORDS[rng.integers(len(WORDS))]}{f}.{end}"] = out


def grouped(rng: Rng, planted: bool) -> Run:
    """Rows of several ranks, hosts or shards, of which a few percent apart is usual; planted, one is much worse."""
    count, rows, by = int(rng.integers(4, 33)), int(rng.integers(8, 60)), str(rng.choice(GROUPS))
    level = float(10 ** rng.uniform(-2, 3))
    own = level * (1 + rng.normal(0, rng.uniform(0.001, 0.02), count))
    odd, share = int(rng.integers(count)), float(rng.uniform(0.2, 0.8))
    labels = [f"{by[:2]}-{i:02d}" if rng.random() < 0.5 else str(i) for i in range(count)]
    way = 1 + rng.uniform(-0.3, 0.3) * np.linspace(-1, 1, rows)
    title = str(rng.choice(["step_time", "iter_time", "compute_ms", "forward_s"]))
    base = float(np.median(np.delete(own, odd)))
    own[odd] = own[odd] if not planted else base * (1 + share)
    out = [[r * 10, labels[g], shown(float(own[g] * way[r] * rng.normal(1, 0.02))), shown(rng.normal(50, 1))]
           for r in range(rows) for g in range(count)]  # fmt: skip
    end, body = text(rng, ["step", by, title, "temperature"], out)
    run = Run("group" if planted else "healthy", {f"ranks.{end}": body})
    if planted:
        seconds = 1e-3 if title == "compute_ms" else 1.0  # known times are told in seconds
        run.codes, run.about, run.place = ("group-differs",), (labels[odd],), float(own[odd] - base) * seconds
    return run


def evaluated(rng: Rng, planted: bool) -> Run:
    """A row of checkpoints with scores over n items; planted, they fall at one of them."""
    count, n = int(rng.integers(10, 40)), int(rng.choice([500, 1000, 2000]))
    each, at = int(rng.choice([500, 1000, 5000])), int(rng.integers(3, count - 3))
    level = float(rng.uniform(40, 75))
    error = 100 * np.sqrt(level / 100 * (1 - level / 100) / n)
    truth = np.full(count, level)
    if planted:
        truth[at:] -= max(3.0, 4 * error) * rng.uniform(1, 1.6)
    scale = 1.0 if rng.random() < 0.5 else 0.01
    scores = rng.binomial(n, truth / 100, (count,)) / n * 100 * scale
    title = str(rng.choice(["acc", "score", "exact_match", "pass@1", "accuracy"]))
    head = [str(rng.choice(["step", "iteration"])), title, "n", "harness"]
    end, out = text(rng, head, [[each * (i + 1), f"{scores[i]:.5g}", n, "e41c"] for i in range(count)])
    run = Run("scores" if planted else "healthy", {f"eval.{end}": out})
    if planted:
        run.codes, run.place = ("score-falls-at-checkpoint",), float(each * (at + 1))
    return run


def rescored(rng: Rng, planted: bool) -> Run:
    """Two tables of scores; planted, one model is in both, measured differently."""
    n, level = int(rng.choice([1000, 2000, 4000])), float(rng.uniform(45, 75))
    how = str(rng.choice(["num_fewshot", "harness_version", "chat_template", "judge"]))
    drop = float(rng.uniform(6, 12)) if planted else 0.0
    said = ("5", "0") if planted else ("5", "5")
    run = Run("rescored" if planted else "healthy")
    for part, (setup, less) in enumerate(zip(said, (0.0, drop), strict=True)):
        rows = [[m, f"{rng.binomial(n, (level - less) / 100) / n * 100:.4g}", n, setup]
                for m in (("base", "A") if not part else ("A", "B"))]  # fmt: skip
        end, out = text(rng, ["model", "acc", "n", how], rows)
        run.files[f"results_{part}.{end}"] = out
    if planted:
        run.codes, run.about = ("same-weights-scored-apart",), ("A",)
    return run


def planned(rng: Rng, planted: bool) -> Run:
    """Settings, a plan and a counter of tokens; planted, the plan counts a factor too much or the steps are too "
    "few."""
    tensor, pipeline = int(rng.choice([1, 2, 4, 8])), int(rng.choice([2, 4, 8]))
    replicas, micro, gather = int(rng.choice([2, 4, 16])), int(rng.choice([1, 2, 4])), int(rng.choice([2, 8, 16]))
    length, world = int(rng.choice([2048, 4096, 8192])), tensor * pipeline * replicas
    tokens = micro * gather * replicas * length
    total = tokens * int(rng.integers(5000, 50_000))
    wrong = float(rng.choice([tensor * pipeline, gather])) if planted else 1.0
    in_plan = bool(rng.random() < 0.5)
    steps = round(total / tokens / (1.0 if in_plan else wrong))
    values = {"micro_batch_size": micro, "grad_accumulation": gather, "world_size": world, "tensor_parallel": tensor,
              "pipeline_parallel": pipeline, "sequence_length": length, "max_steps": steps,
              "train_tokens": total}  # fmt: skip
    run = Run("arithmetic" if planted else "healthy", settings=settings_of(values))
    said = tokens * (wrong if in_plan else 1.0) * float(rng.uniform(0.99, 1.01))
    run.claims = [Claim("tokens_per_step", said, "tokens", f"{said:.3g} tokens a step", "plan.md", 5)]
    seen = np.arange(1, 200) * tokens
    rows = [[i, int(s), shown(rng.normal(2 + 8 * i**-0.4, 0.02))] for i, s in enumerate(seen, 1)]
    end, out = text(rng, ["step", "tokens", "loss"], rows)
    run.files[f"log.{end}"] = out
    if planted:
        run.codes = ("batch-contradicts-plan",) if in_plan else ("steps-contradict-tokens",)
    return run


def settings_of(values: dict[str, float]) -> Settings:
    return Settings({v: Setting(v, n, str(n), v, "config.yaml", i + 1) for i, (v, n) in enumerate(values.items())})


KINDS: tuple[Callable[[Rng, bool], Run], ...] = (monitored, grouped, evaluated, rescored, planned)
Reader = Callable[[Path, str], Sequence[Table]]


def judged(run: Run, read: Reader) -> tuple[Related, bool, bool]:
    """(the report, whether the right relation came first, whether the place is in its interval)."""
    tables: list[Table] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, body in run.files.items():
            path = Path(folder) / name
            path.write_text(body, encoding="utf-8", newline="")
            tables += read(path, name)
    found = relate(SeriesTable(), tables, run.settings, run.events, run.claims)
    first = found.findings[0] if found.findings else None
    right = first is not None and first.code in run.codes and _names(first, run.about)
    return found, right, right and first is not None and _holds(first, run.place)


def _names(finding: Finding, about: Sequence[str]) -> bool:
    named = {str(finding.data.get("key")), *map(str, finding.data.get("groups", ()))}
    return not about or bool(named & set(about)) or any(f"({name})" in finding.message for name in about)


def _holds(finding: Finding, place: float | None) -> bool:
    if place is None:
        return True
    low, high = finding.data["interval"]
    return low <= place <= high


def measure(read: Reader, draws: int = DRAWS, healthy: int = HEALTHY_DRAWS, seed: int = 0) -> Iterator[str]:
    """Lines of the table: for each kind how often right and in place, and what healthy draws are accused of."""
    for kind in KINDS:
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        got = [judged(kind(rng, True), read)[1:] for _ in range(draws)]
        right, held = sum(r for r, _ in got), sum(h for _, h in got)
        yield f"{kind.__name__:10} right first {right / draws:6.1%}   in its interval {held / max(1, right):6.1%}"
    rng, accused = np.random.default_rng([seed, 99]), Counter[str]()
    for i in range(healthy):
        found, *_ = judged(KINDS[i % len(KINDS)](rng, False), read)
        accused.update(f.code for f in found.findings if f.severity < "S3")
    yield f"healthy    {healthy} draws, findings S0-S2: {dict(accused) or 'none'}"


if __name__ == "__main__":
    from ..tools.tables.read import read_tables

    for line in measure(read_tables, *(int(a) for a in sys.argv[1:])):
        print(line)
