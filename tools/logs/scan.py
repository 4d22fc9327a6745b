"""The log scan of a run: `scan(run)` reads its series, judges them, and searches its logs for error signatures.

It judges nothing itself: detectors are in `detectors`, signatures in `signatures`, cause and echo in `causes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ..metrics import METRICS
from ..reading import BREAKS_OFF, Chunk, head, iter_chunks, pieces, split_prefix, text_chunks
from ..run import Run
from ..series import Series, SeriesTable, read_series
from .detectors.detect import detect, healthy
from .plan import PLANNED, printed, unfinished
from .signatures.causes import ALIVE, SERVES, Timeline, cut_traceback, judge, timelines
from .signatures.match import TABLE, Hit, Hits, match_chunks
from .signatures.phases import FRAME
from .signatures.signature import CHECK
from .signatures.software import GENERIC

CODES = declare(
    "scan",
    ("hang-no-progress", CHECK, "the log goes on, but no further step is logged"),
    ("metrics-not-recognised", CHECK, "the log has lines, but none in a known metric format: nothing could be judged"),
)

SILENCE = 20 * 60
"""Seconds of log without a step before a hang is suspected. Own judgement; PyTorch's NCCL limit is 10 minutes."""

NUMERIC = {"nan-in-forward", "sampling-nonfinite", "loss-scale-collapse"}
"""Errors that a jump of the loss leads to."""

CLOCK = re.compile(r"(20\d\d-\d\d-\d\d)[ T_](\d\d:\d\d:\d\d)|(?:^|\[)(\d\d:\d\d:\d\d)\]")


METRIC_TALK = re.compile(rb"(?i)\b(?:\w*loss|reward)\b\W{0,4}[-\d.nN]|\bstep\W{1,3}\d|" + "损失".encode())
"""A line that prints a loss, a reward or a step in some way."""

Read = tuple[SeriesTable, tuple[Check, ...]]


def scan(
    run: Run, grad_clip: float | None = None, read: Read | None = None, planned_steps: float | None = None
) -> Report:
    """Scan the logs and metric files of a run.

    Args:
        run: what was discovered in the path.
        grad_clip: clipping threshold from the run's settings, where known.
        read: what `read_series(run)` gave, if the caller has it already.
        planned_steps: optimizer steps that the run's settings ask for, where known.

    Returns:
        Tool `scan`: findings, most severe first; one check for each file, detector and the signature table;
        `summary["series"]` as in the contract.
    """
    table, checks = read or read_series(run)
    found, detector_checks = detect(table, grad_clip)
    lives = timelines(table)
    texts, text_checks = _scan_texts(run, lives)
    matched = judge({name: t.hits for name, t in texts.items()}, {n: t.life for n, t in texts.items()})
    findings: list[Finding] = [*_survived(found, matched), *matched, *_hangs(texts, lives, matched)]
    findings += _unread(run, table, texts, findings)
    fine = healthy(table, findings)
    ends: tuple[Check, ...] = ()
    if fine is not None:
        over = any(t.life.alive for t in texts.values())
        plan = printed(run)
        plan = replace(plan, steps=planned_steps) if planned_steps and planned_steps > 0 else plan
        short = None if over else unfinished(table, plan)
        findings += [fine, *filter(None, [short])]
        ends = (Check(PLANNED, "found" if short else "clear"),) if plan.steps or plan.epochs else ()
    findings.sort(key=lambda f: f.severity)
    return Report(
        "scan",
        tuple(findings),
        (*run.checks(), *checks, *detector_checks, *text_checks, _signature_check(texts, matched), *ends),
        {"series": summary(table)},
    )


def _survived(found: Sequence[Finding], matched: Sequence[Finding]) -> Iterator[Finding]:
    """The findings of the series; a jump that recovered is S2 where an error that is none of values ends the run.

    Both are shown, but what ended the run leads.
    """
    fatal = {f.code for f in matched if f.severity in (Severity.S0, Severity.S1)}
    for finding in found:
        if finding.severity == Severity.S1 and finding.data.get("recovered") and fatal and not fatal & NUMERIC:
            yield replace(
                finding,
                severity=Severity.S2,
                message=f"{finding.message} The run survived it: it ended for another reason.",
                zh=f"{finding.zh} 运行挺过了这次跳变，结束另有原因。",
            )
        else:
            yield finding


@dataclass(frozen=True)
class _Text:
    """What one pass over a log's text gave."""

    hits: dict[int, Hits]
    life: Timeline
    stopped: tuple[float, float, float] | None = None
    """Clock (s) at the first metric line, the last one, and the end of the log, where all are printed."""
    broken: str = ""
    """Why a packed file could not be read to its end."""
    lines: int = 0


def _scan_texts(run: Run, lives: dict[str, Timeline]) -> tuple[dict[str, _Text], tuple[Check, ...]]:
    texts: dict[str, _Text] = {}
    failed: list[Check] = []
    for artifact in run.of("log"):
        try:
            size = artifact.path.stat().st_size if artifact.path.suffix not in (".gz", ".zst") else None
            text = texts[artifact.name] = _scan_text(iter_chunks(artifact.path), size, lives.get(artifact.name))
            if text.broken:
                failed.append(Check(f"read {artifact.name} to its end", "failed", text.broken))
        except (TriageError, OSError) as error:
            failed.append(Check(f"signatures in {artifact.name}", "failed", str(error)))
    if run.pasted:
        name = "<question>"
        texts[name] = _scan_text(text_chunks(run.pasted), len(run.pasted), lives.get(name))
    return texts, tuple(failed)


def _scan_text(chunks: Iterable[Chunk], size: int | None, life: Timeline | None) -> _Text:
    watch = _Watch(life or Timeline())
    hits = match_chunks(watch.pass_on(chunks), size)
    _add_cut_traceback(hits, watch.frames)
    return _Text(hits, watch.life_now(), watch.stopped(), watch.broken, watch.lines)


class _Watch:
    """Looks at chunks on their way: signs of life, traceback frames, and clocks around the metric lines."""

    def __init__(self, life: Timeline):
        self.life = life
        self.alive = self.serves = self.lines = 0
        self.frames: list[tuple[int, str]] = []
        self.first_line = min((first for _, first, _ in life.attempts), default=0)
        self.last_line = max((last for _, _, last in life.attempts), default=0)
        self.clocks: dict[str, float] = {}
        self.broken = ""

    def pass_on(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            self._look(chunk)
            yield chunk

    def _look(self, chunk: Chunk) -> None:
        data, number = chunk.data, chunk.first_line
        sign = max(data.rfind(word) for word in ALIVE)
        if sign >= 0:
            self.alive = number + data.count(b"\n", 0, sign)
        served = [at for word in SERVES if (at := data.find(word)) >= 0] if sign >= 0 and not self.serves else []
        self.serves = number + data.count(b"\n", 0, min(served)) if served else self.serves
        self.lines = number + data.count(b"\n") - 1
        spot = data.rfind(b'  File "')
        if spot >= 0:
            line = number + data.count(b"\n", 0, spot)
            self.frames = [(line, _line(data, spot))]
        cut = data.rfind(BREAKS_OFF.encode(), len(data) - 1000)
        self.broken = data[cut + 1 :].decode("utf-8", "replace").strip(" ]\n") if cut >= 0 else ""
        end = number + data.count(b"\n")
        for name, at in (("first", self.first_line), ("last", self.last_line)):
            if number <= at <= end:
                _put(self.clocks, name, _clock_near(data.split(b"\n", at - number + 1)[: at - number + 1]))
        _put(self.clocks, "end", _clock_near(data[-8192:].split(b"\n")))

    def life_now(self) -> Timeline:
        return Timeline(self.life.attempts, self.life.lines, self.alive, self.serves)

    def stopped(self) -> tuple[float, float, float] | None:
        clocks = [self.clocks.get(name) for name in ("first", "last", "end")]
        return None if None in clocks else tuple(clocks)  # type: ignore[return-value]


def _put(clocks: dict[str, float], name: str, clock: float | None) -> None:
    if clock is not None:
        clocks[name] = clock


def _line(data: bytes, spot: int) -> str:
    start, stop = data.rfind(b"\n", 0, spot) + 1, data.find(b"\n", spot)
    raw = data[start : stop if stop >= 0 else len(data)][:2000]
    return split_prefix(next(pieces(raw), ""))[1]


def _clock_near(lines: Sequence[bytes]) -> float | None:
    """The clock of the last of these lines, or of one of the 20 before it, in seconds."""
    for raw in reversed(lines[-20:]):
        match = CLOCK.search(raw[:300].decode("utf-8", "replace"))
        if match:
            day = match.group(1) or "2000-01-01"
            try:
                return datetime.fromisoformat(f"{day} {match.group(2) or match.group(3)}").timestamp()
            except ValueError:
                return None
    return None


def _add_cut_traceback(hits: dict[int, Hits], frames: Sequence[tuple[int, str]]) -> None:
    """An exception whose own line is missing, above the first watchdog line: the cause of the time-out."""
    timeouts = [h.first[0].line for row, h in hits.items() if TABLE[row].code == "nccl-timeout"]
    row = TABLE.index(GENERIC)
    if timeouts and row not in hits:
        frame = cut_traceback(frames, min(timeouts))
        if frame is not None and FRAME.match(frame[1]):
            hits[row] = Hits()
            hits[row].add(Hit(row, frame[0], None, frame[1]))


def _hangs(texts: dict[str, _Text], lives: dict[str, Timeline], matched: Sequence[Finding]) -> Iterator[Finding]:
    """The log's clock goes on for `SILENCE` and ten logging intervals after the last step, and nothing explains it."""
    ended = {e.file for f in matched if f.severity != Severity.S3 for e in f.evidence}
    for name, text in texts.items():
        if text.stopped is None or name in ended or name not in lives:
            continue
        first, last, end = text.stopped
        lines = max((len(at) for at in (text.life.lines or {}).values()), default=0)
        last_line = max(stop for _, _, stop in text.life.attempts)
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


def _unread(run: Run, table: SeriesTable, texts: dict[str, _Text], found: Sequence[Finding]) -> list[Finding]:
    """What to say of logs in which no metric was recognised and nothing else was found: that is no health.

    A log of an inference server has no training metrics and is left alone.
    """
    read = any(series.metric in METRICS and series.metric not in ("epoch", "batch_size") for series in table)
    blind = [a for a in run.of("log") if (t := texts.get(a.name)) and t.lines and not t.life.serves]
    if read or not blind or any(f.severity != Severity.S3 for f in found):
        return []
    chosen = max(blind, key=lambda a: texts[a.name].lines)
    name, text, beginning = chosen.name, texts[chosen.name], head(chosen.path, 1 << 20)
    like = METRIC_TALK.search(beginning)
    line, words = (1 + beginning.count(b"\n", 0, like.start()), _line(beginning, like.start())) if like else (1, "")
    shown, shown_zh = (f" (line {line} comes nearest)", f"（最接近的是第 {line} 行）") if like else ("", "")
    more, more_zh = (f" and {len(blind) - 1} more log(s)", f"等 {len(blind)} 个日志") if blind[1:] else ("", "")
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


def _signature_check(texts: dict[str, _Text], matched: Sequence[Finding]) -> Check:
    if not texts:
        return Check(CHECK, "not-applicable", "the run has no log file", "没有日志文件")
    result = "found" if matched else "clear"
    why = f"{len(TABLE)} signatures over {len(texts)} log(s)"
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
        with pq.ParquetWriter(path, schema) as writer:
            for series in table:
                writer.write_table(pa.table(_columns(series), schema=schema))
    except OSError as error:
        raise TriageError(f"{path}: cannot write the series ({error}); choose a path you may write to") from error


def _columns(series: Series) -> dict[str, Any]:
    n = len(series)
    return {
        "metric": [series.metric] * n, "key": [series.key] * n, "step": series.steps, "value": series.values,
        "line": series.lines, "file": [series.file] * n, "attempt": [series.attempt] * n, "rank": [series.rank] * n,
    }  # fmt: skip
