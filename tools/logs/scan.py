"""The log scan of a run: `scan(run)` reads its series, judges them, and searches its logs for error signatures.

It judges little itself: detectors are in `detectors`, signatures in `signatures`, cause and echo in `causes`. Every
file is read once (`read_run`), for its series and its text together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, account, clean, declare
from ..keeping import reason, whole
from ..phrase import LOG, Phrase, counted
from ..reading import head
from ..run import Artifact, Run, one_log
from ..series import Series, SeriesTable
from ..vocabulary import ALIASES, COUNTS, VOCABULARY
from . import whole as wholeness
from .attempts import TRAINING
from .benchmarks import benchmarks
from .classes import classes_of
from .detectors.detect import detect, healthy
from .ended import ran_out
from .ends.again import measured_again
from .ends.newest import joined, newest
from .ends.overcome import at_the_end, continued, ends_worse, overcome
from .ends.repeated import repeated, survived
from .ends.saving import ended_while_saving
from .ends.scored import one_class
from .history import unlogged
from .judged.far_out import far_out
from .judged.nameless import after_earlier, nameless
from .judged.written import written
from .notebooks import notebooks
from .plan import PLANNED, Plan, cut_short, decayed, never_peaked, out_of_reach, planned, says_over, unfinished
from .points.read import read_series
from .served import decodes_slowly, did_its_work, fails_at_requests, stopped_busy, summed_up_slow
from .signatures.causes import judge
from .signatures.match import TABLE
from .signatures.signature import CHECK
from .starting import starting
from .texts import SMALL_LOGS, Text, Watch, line_at
from .waits.meeting import meeting
from .waits.waiting import waiting
from .waits.working import working
from .warned import warned

CODES = declare(
    "scan",
    ("hang-no-progress", CHECK, "the log goes on, but no further step is logged"),
    ("metrics-not-recognised", CHECK, "the log has lines, but none in a known metric format: nothing could be judged"),
)

SILENCE = 20 * 60
"""Seconds of log without a step before a hang is suspected. Own judgement; PyTorch's NCCL limit is 10 minutes."""
STEPS_ON = 3
"""Steps that a log goes on to count from which on it has not stopped. Own judgement."""

UNENDING = ("loss-divergence",)
"""Of a curve that goes wrong while the program runs on."""
NUMERIC = {"nan-in-forward", "sampling-nonfinite", "loss-scale-collapse"}
"""Errors that a jump of the loss leads to."""

_TOLD = "|".join(name for name in VOCABULARY if "_" not in name and name not in COUNTS)
_TOLD_ZH = "|".join(alias for alias in ALIASES if not alias.isascii())
BUILDS = re.compile(r"(?i)(?:Docker|Container|Jenkins|Vagrant|Proc)file(?:\.|$)")
"""Recipes of a machine, which log nothing."""
METRIC_TALK = re.compile(rf"(?i)\b\w*(?:{_TOLD})\b\W{{0,4}}[-\d.nN]|\bstep\W{{1,3}}\d|{_TOLD_ZH}".encode())
"""A line that prints a metric or a step in some way."""


@dataclass(frozen=True)
class Read:
    """What one reading of the logs and metric files of a run gave."""

    table: SeriesTable = field(default_factory=SeriesTable)
    checks: tuple[Check, ...] = ()
    texts: Mapping[str, Text] = field(default_factory=dict)
    """By the name of the log."""
    broken: tuple[Check, ...] = ()
    """What could not be read, or not to its end."""

    def only(self, run: Run) -> Read:
        """What of it belongs to the artifacts of one run, which may be another attempt there."""
        placed = {a.name: a.attempt for a in run.artifacts}
        series = tuple(
            replace(s, attempt=placed[s.file] + s.attempt[len(s.attempt.partition("#")[0]) :])
            for s in self.table
            if s.file in placed
        )
        texts = {name: text for name, text in self.texts.items() if name in placed}
        gone = {s.file for s in self.table} | set(self.texts)
        gone -= set(placed)

        def kept(checks: tuple[Check, ...]) -> tuple[Check, ...]:
            return tuple(c for c in checks if not any(f" {name}" in c.name for name in gone))

        return Read(SeriesTable(series), kept(self.checks), texts, kept(self.broken))


def read_run(run: Run, every: Callable[[], object] = lambda: None) -> Read:
    """Read every log and metric file once; `every` as in `read_series`."""
    watches: list[Watch] = []

    def watch(artifact: Artifact) -> Watch:
        watches.append(Watch(artifact, len(watches) < SMALL_LOGS))
        return watches[-1]

    table, checks = read_series(run, every, watch)
    trained = any(s.metric in TRAINING and len(s) > 1 for s in table)
    broken = [Check(f"signatures in {w.artifact.name}", "failed", w.failed) for w in watches if w.failed]
    texts = {w.artifact.name: w.text for w in watches if w.text}
    texts |= {} if trained else notebooks(run)
    broken += [Check(f"read {name} to its end", "failed", t.broken) for name, t in texts.items() if t.broken]
    broken += wholeness.broken(run)
    return Read(table, checks, texts, tuple(broken))


def scan(
    run: Run, grad_clip: float | None = None, read: Read | None = None, planned_steps: float | None = None
) -> Report:
    """Scan the logs and metric files of a run.

    Args:
        run: what was discovered in the path.
        grad_clip: clipping threshold from the run's settings, where known.
        read: what `read_run(run)` gave, if the caller has it already.
        planned_steps: optimizer steps that the run's settings ask for, where known.

    Returns:
        Tool `scan`: findings, most severe first; one check for each file, detector and the signature table;
        `summary["series"]` as in the contract.
    """
    read = read or read_run(run)
    table, texts = read.table, read.texts
    lost = tuple(account((*run.lost(), *read.checks, *read.broken)))
    found, detector_checks = detect(table, grad_clip, classes_of(run))
    found = [*after_earlier(found, [*nameless(table)]), *far_out(table)]
    matched = judge({name: t.hits for name, t in texts.items()}, {n: t.life for n, t in texts.items()})
    matched = written(overcome(matched, table, texts), texts)
    begins = list(repeated({name: (t.errors, t.lines) for name, t in texts.items()}, matched))
    matched = joined(newest([*(survived(f, begins) for f in matched), *begins], texts))
    findings: list[Finding] = [*_survived(found, matched), *matched, *_hangs(texts, matched, table), *unlogged(run)]
    findings += meeting(texts, findings)
    findings += starting(texts, findings, any(s.metric in TRAINING and len(s) > 1 for s in table))
    findings += [*ended_while_saving(texts, matched), *one_class(texts)]
    findings += waiting(texts, findings)
    findings += working(texts, findings)
    findings += _unread(run, table, texts, findings)
    told, looked_up = warned(run, {name: t.warned for name, t in texts.items()})
    findings += [*told, *ran_out(texts, table, matched)]
    findings += [*stopped_busy(texts), *decodes_slowly(texts), *summed_up_slow(texts), *fails_at_requests(texts)]
    findings += [*benchmarks(texts, table), *measured_again(texts, table)]
    plan = planned(run, filter(None, (t.said for t in texts.values())), planned_steps)
    earlier = continued(table, texts) if len(texts) > 1 else set[str]()
    last = at_the_end(table, earlier)
    short = _short(last, {n: t for n, t in texts.items() if n not in earlier}, plan, findings)
    fine = healthy(last, findings, bool(plan.steps) and short is None) or did_its_work(run, texts, findings)
    fine = None if fine and ends_worse(table, last) else fine
    fine = _in_part(fine) if fine and lost else fine
    findings += filter(None, [fine, short, out_of_reach(table, short), never_peaked(plan, findings)])
    ends = (Check(PLANNED, "found" if short else "clear"),) if short or plan.steps or plan.epochs else ()
    findings.sort(key=lambda f: f.severity)
    return Report(
        "scan",
        tuple(findings),
        (
            *run.checks(),
            *read.checks,
            *detector_checks,
            *read.broken,
            *lost,
            _signature_check(texts, matched),
            looked_up,
            *ends,
        ),
        {"series": summary(table)},
    )


def _short(table: SeriesTable, texts: Mapping[str, Text], plan: Plan, found: Sequence[Finding]) -> Finding | None:
    """The note that the logs end before the plan, by the steps that were logged, else by what the text counts;
    nothing of a log whose twin (`job.out` of `job.err`) says that the run is over."""
    failed = any(f.severity < Severity.S2 for f in found)
    ended = not failed and decayed(table)
    over = any(t.life.alive or (ended and says_over(t.tail, _logged(t))) for t in texts.values())
    done = {one_log(name) for name, t in texts.items() if t.life.alive}
    open_ = {name: t for name, t in texts.items() if t.life.alive or one_log(name) not in done}
    told = (cut_short(name, t.counts, t.tail, t.life.alive, failed) for name, t in open_.items())
    return (None if over else unfinished(table, plan, failed)) or next(filter(None, told), None)


def _logged(text: Text) -> int:
    """The last line of a log at which a step was logged, its last line where none was."""
    return max((last for _, _, last in text.life.attempts), default=text.lines)


def _in_part(fine: Finding) -> Finding:
    """The reassurance for a run of which not all was read."""
    more, zh = (
        " Not all of the run was read, so this does not make it healthy.",
        "但并非全部内容都已读取，不能据此判断运行正常。",
    )
    return replace(fine, message=fine.message + more, zh=fine.zh + zh)


def _survived(found: Sequence[Finding], matched: Sequence[Finding]) -> Iterator[Finding]:
    """The findings of the series; a jump that recovered, or a curve with which the program ran on, is S2 where an error
    that is none of values ends the run.

    Both are shown, but what ended the run leads.
    """
    fatal = {f.code for f in matched if f.severity in (Severity.S0, Severity.S1)}
    for finding in found:
        survived = finding.data.get("recovered") or finding.code in UNENDING
        if finding.severity == Severity.S1 and survived and fatal and not fatal & NUMERIC:
            yield replace(
                finding,
                severity=Severity.S2,
                message=f"{finding.message} The run survived it: it ended for another reason.",
                zh=f"{finding.zh} 运行挺过了这次跳变，结束另有原因。",
            )
        else:
            yield finding


def _hangs(texts: Mapping[str, Text], matched: Sequence[Finding], table: SeriesTable) -> Iterator[Finding]:
    """The log's clock goes on for `SILENCE` and ten logging intervals after the last step, nothing explains it, no
    other line counts on and the log does not end with saying that it is done."""
    ended = {one_log(e.file) for f in matched if f.severity != Severity.S3 for e in f.evidence if e.file}
    for name, text in texts.items():
        if text.stopped is None or one_log(name) in ended:
            continue
        first, last, end = text.stopped
        lines = max((len(at) for at in (text.life.lines or {}).values()), default=0)
        last_line = max(stop for _, _, stop in text.life.attempts)
        if any(start > last_line for start in text.life.starts) or says_over(text.tail, last_line):
            continue
        if _counted_on([s for s in table if s.file == name], last_line):
            continue
        interval = (last - first) / max(lines - 11, 1)
        if lines < 15 or text.life.alive > last_line or interval <= 0 or end - last < max(SILENCE, 10 * interval):
            continue
        minutes = (end - last) / 60
        yield Finding(
            "hang-no-progress",
            Severity.S1,
            f"{name}:{last_line}: no step is logged in the last {minutes:.0f} minutes of the log; before, one came "
            f"every {interval:.0f} s.",
            f"{name}:{last_line}：日志最后 {minutes:.0f} 分钟没有任何步；此前每 {interval:.0f} 秒一步。",
            (Evidence(name, last_line, text=clean("last metric line")),),
            {"silent_seconds": end - last, "interval_seconds": interval},
        )


def _counted_on(own: Sequence[Series], line: int) -> bool:
    """Whether the count of a log goes on after a line where it was then, in lines that read otherwise."""
    numbered = [s for s in own if s.step_is == "step"]
    at = max((int(s.steps[s.lines <= line].max()) for s in numbered if (s.lines <= line).any()), default=0)
    later = [s.steps[s.lines > line] for s in numbered]
    ways = [(int(steps[0]) - at, np.diff(steps)) for steps in later if len(steps) >= STEPS_ON]
    return any(0 < first <= 2 * np.median(way) and way.min() > 0 for first, way in ways)


def _unread(run: Run, table: SeriesTable, texts: Mapping[str, Text], found: Sequence[Finding]) -> list[Finding]:
    """What to say of logs in which no metric was recognised and nothing else was found: that is no health.

    A log of an inference server has no training metrics and is left alone.
    """
    read = any(series.metric in VOCABULARY and series.metric not in COUNTS for series in table)
    logs = [a for a in run.of("log") if not BUILDS.match(a.path.name)]
    blind = [a for a in logs if (t := texts.get(a.name)) and t.lines and not t.life.serves]
    if read or not blind or any(f.severity != Severity.S3 for f in found):
        return []
    chosen = max(blind, key=lambda a: texts[a.name].lines)
    name, text, beginning = chosen.name, texts[chosen.name], head(chosen.path, 1 << 20)
    like = METRIC_TALK.search(beginning)
    line, words = (1 + beginning.count(b"\n", 0, like.start()), line_at(beginning, like.start())) if like else (1, "")
    shown, shown_zh = (f" (line {line} comes nearest)", f"（最接近的是第 {line} 行）") if like else ("", "")
    more, more_zh = (
        (f" and {counted(len(blind) - 1, Phrase('more log', '个日志'))}", f"等 {len(blind)} 个日志")
        if blind[1:]
        else ("", "")
    )
    return [
        Finding(
            "metrics-not-recognised",
            Severity.S3,
            f"{name}{more}: {text.lines} lines, but no metric was recognised, so the training was not judged: this "
            "is no sign of health. Looked for a step with loss, grad_norm, learning rate, reward or speed, as "
            f"`key: value`, dictionary, JSON line, table or progress bar{shown}. Next: name the file with the metrics "
            "(trainer_state.json, a CSV or JSONL export), or log lines such as `step: 10 loss: 2.1 grad_norm: 0.9`.",
            f"{name}{more_zh}：共 {text.lines} 行，但没有识别出任何指标，因此没有判断训练情况：这并不表示健康。"
            "查找了步数与 loss、grad_norm、学习率、奖励或速度（`key: value`、字典、JSON 行、表格或进度条）"
            f"{shown_zh}。下一步：指定保存指标的文件（trainer_state.json、导出的 CSV 或 JSONL），"
            "或打印 `step: 10 loss: 2.1 grad_norm: 0.9` 这样的行。",
            (Evidence(name, line, text=clean(words)),),
            {"lines": text.lines, "logs": len(blind)},
        )
    ]


def _signature_check(texts: Mapping[str, Text], matched: Sequence[Finding]) -> Check:
    if not texts:
        return Check(CHECK, "not-applicable", "the run has no log file", "没有日志文件")
    result = "found" if matched else "clear"
    why = f"{len(TABLE)} signatures over {counted(len(texts), LOG)}"
    return Check(CHECK, result, why, f"{len(TABLE)} 条特征，{len(texts)} 个日志")


def summary(table: SeriesTable) -> dict[str, dict[str, Any]]:
    """Metric -> points, first and last step, first non-finite step, last value, over the whole run."""
    result: dict[str, dict[str, Any]] = {}
    for metric in table.metrics():
        found = table.all(metric)
        final = table.get(metric)
        counted = {s.attempt: len(s) for s in sorted(found, key=len)}  # a metric file repeats what the log says
        bad = [int(s.steps[i]) for s in found for i in np.flatnonzero(~np.isfinite(s.values))[:1]]
        if final is None or not len(final):
            continue
        result[metric] = {
            "points": sum(counted.values()),
            "first_step": int(min(s.steps.min() for s in found if len(s))),
            "last_step": int(final.steps[-1]),
            "first_nonfinite_step": bad[0] if bad else None,
            "last": float(final.values[-1]),
            "key": final.key,
            "file": final.file,
        }
    return result


def write_series(table: SeriesTable, path: Path) -> None:
    """Write every point as Parquet: metric, key, step, value, line, file, attempt, rank.

    Raises:
        TriageError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [("metric", "string"), ("key", "string"), ("step", "int64"), ("value", "float64"), ("line", "int64"),
         ("file", "string"), ("attempt", "string"), ("rank", "int32")]
    )  # fmt: skip
    try:
        with whole(path) as (draft,), pq.ParquetWriter(draft, schema) as writer:
            for series in table:
                writer.write_table(pa.table(_columns(series), schema=schema))
    except OSError as error:
        why = reason(error)
        raise TriageError(f"{path}: cannot write the series ({why}); choose a path you may write to") from None


def _columns(series: Series) -> dict[str, Any]:
    n = len(series)
    return {
        "metric": [series.metric] * n, "key": [series.key] * n, "step": series.steps, "value": series.values,
        "line": series.lines, "file": [series.file] * n, "attempt": [series.attempt] * n, "rank": [series.rank] * n,
    }  # fmt: skip
