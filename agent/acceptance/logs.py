"""Criteria that are read off lines of a log: what a person or server printed, not a metric series.

Serving and operational metrics; the bounded search of the logs is in `artifacts`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from ...knowledge.entry import Criterion
from ...tools.data.records.plain import load_json
from ...tools.findings import TriageError
from ...tools.reading import head
from .artifacts import Hit, files, search, started
from .subject import LOGGED, Observation, Subject, last_step, metric, missing, seen

CONFIG_BYTES = 256 << 10


@metric("oom_under_high_concurrency")
def oom_under_high_concurrency(subject: Subject, criterion: Criterion) -> Observation:
    """Out-of-memory signatures in the serving log of a load test, with the load it reached."""
    load = [int(h.match[1]) for h in search(subject, r"(?:Running: |#running-req: ?)(\d+)")]
    count = len(subject.found("cuda-oom", "kv-cache-oom", "host-oom"))
    if count:
        return seen(count, criterion, "out-of-memory findings in the logs", max(len(load), 1))
    if not subject.ran(LOGGED) or max(load, default=0) < 2:
        return missing("the serving log of a load test is needed (lines with `Running: N reqs`, N above 1)")
    before = _load(subject)
    words = f"out-of-memory signatures in the serving log; up to {max(load)} requests at once"
    if before and max(load) < before:
        return missing(f"the load is lower than in the baseline: {max(load)} requests at once, {before} before")
    return seen(count, criterion, words, len(load))


def _load(subject: Subject) -> int:
    """Most requests at once in the baseline's log, 0 where it does not say."""
    if not subject.baseline:
        return 0
    old = Subject(subject.baseline.run, subject.baseline.table, subject.baseline.settings, subject.baseline.scan)
    return max((int(h.match[1]) for h in search(old, r"(?:Running: |#running-req: ?)(\d+)")), default=0)


GENERATED = (
    r"(?i)(?:avg generation throughput|gen(?:eration)? throughput \(token/s\)|generation_tokens_per_s\w*)"
    r"\W{1,3}(\d[\d.]*)"
)
"""How vLLM, SGLang and rollout logs print the speed of generation."""


@metric("generation_tokens_per_s")
def generation_tokens_per_s(subject: Subject, criterion: Criterion) -> Observation:
    """Median generation throughput of the engine's own lines while it generates; whole engine (assumed, U-12)."""
    found = [float(h.match[1].rstrip(".")) for h in search(subject, GENERATED)]
    values = np.array([v for v in found if v > 0])
    if len(values) < 5:
        return missing("no generation throughput in the logs (`Avg generation throughput: N tokens/s`)", len(values))
    words = "median of the engine's own figures above 0, whole engine (assumed; the source names no model size)"
    return seen(
        float(np.median(values)), criterion, words, len(values), "log lines", float(values.std() / len(values) ** 0.5)
    )


MEASURED = {
    "qps": r"(?i)(?:request throughput \(req/s\)|\bqps)\W{1,3}(\d[\d.]*)",
    "latency": r"(?i)\bp95[ _-]?(?:e2el?|latency|ttft)?(?:[ _]?\(?(ms|s)\))?\W{1,3}(\d[\d.]*)",
}
TARGETS = {
    "qps": r"(?:(?:target|slo|required)[_.-]?(?:qps|request[_-]throughput|rps)|(?:qps|rps)[_.-](?:target|slo))",
    "latency": r"(?:target|slo|max)[_.-]?(?:p95[_.-]?)?(?:latency|ttft)(?:[_.-](?:p95))?(?:[_.-](?P<unit>ms|s))?",
}
"""How a configuration names the user's own target."""


@metric("qps_and_latency_target_met")
def qps_and_latency_target_met(subject: Subject, criterion: Criterion) -> Observation:
    """Requests per second and p95 latency of a load test against the user's own target in the configuration."""
    wanted = {name: v for name, key in TARGETS.items() if (v := _target(subject, key)) is not None}
    got = {name: _measured(h[-1]) for name, p in MEASURED.items() if (h := search(subject, p))}
    if not wanted:
        return missing("a target is needed in the configuration (`target_qps`, `target_p95_latency_ms`)")
    if lacking := [n for n in wanted if n not in got]:
        return missing(
            f"the load test's log has no {' and no '.join(lacking)} (`Request throughput (req/s)`, `P95 ...`)"
        )
    met = all(got[n] >= wanted[n] if n == "qps" else got[n] <= wanted[n] for n in wanted)
    words = ", ".join(f"{n} {got[n]:g} against {wanted[n]:g}" for n in wanted) + " (latency in seconds)"
    return seen(met, criterion, words, len(wanted))


def _measured(hit: Hit) -> float:
    """The number of a load test's line, milliseconds turned into seconds."""
    unit = hit.match[1] if hit.match.re.groups > 1 else ""
    return float(hit.match[hit.match.re.groups].rstrip(".")) / (1000 if unit == "ms" else 1)


def _target(subject: Subject, key: str) -> float | None:
    """The number after the key in a configuration file or launch script, milliseconds turned into seconds."""
    pattern = re.compile(rf"(?im)^[^#\n]*?(?<![\w]){key}[\"']?[\s:=]+(?P<number>\d+(?:\.\d+)?)\b")
    for artifact in subject.run.of("config", "script"):
        try:
            text = head(artifact.path, CONFIG_BYTES).decode("utf-8", "replace") if artifact.path.is_file() else ""
        except TriageError:
            continue
        if match := pattern.search(text):
            return float(match["number"]) / (1000 if match.groupdict().get("unit") == "ms" else 1)
    return None


@metric("engine_sleep_errors")
def engine_sleep_errors(subject: Subject, criterion: Criterion) -> Observation:
    """Sleep and wake errors of the rollout engine over at least ten steps."""
    count = len(subject.found("engine-sleep-error"))
    if count:
        return seen(count, criterion, "sleep or wake errors in the logs", count)
    if not subject.ran(LOGGED):
        return missing("the run has no log to look at")
    last = last_step(subject.table) or 0
    if last < 10:
        return missing(f"ten rollout phases are needed, the log shows {last} steps")
    return seen(0, criterion, "sleep or wake errors in the logs; one rollout phase a step (assumed)", last)


@metric("process_group_initialised")
def process_group_initialised(subject: Subject, criterion: Criterion) -> Observation:
    """The first step is logged and no rendezvous error is: all ranks must have joined for that (assumed)."""
    codes = (
        "rendezvous-timeout",
        "port-in-use",
        "network-error",
        "gloo-interface-error",
        "nccl-interface-error",
        "nccl-system-error",
        "nccl-timeout",
        "rank-missing",
    )
    if bad := sorted({f.code for f in subject.found(*codes)}):
        return seen(False, criterion, f"the logs show {', '.join(bad)}", len(bad))
    if not subject.ran(LOGGED) or last_step(subject.table) is None:
        return missing("a log that goes past initialisation to its first step is needed")
    return seen(
        True, criterion, "a step is logged and no rendezvous or interface error (assumed sign that all joined)", 1
    )


@metric("dependencies_consistent")
def dependencies_consistent(subject: Subject, criterion: Criterion) -> Observation:
    """What `pip check` printed into a log, or a version conflict that the log shows."""
    if bad := sorted({f.code for f in subject.found("dependency-conflict", "version-mismatch", "import-error")}):
        return seen(False, criterion, f"the logs show {', '.join(bad)}", len(bad))
    broken = search(subject, r"has requirement .{1,200}?, but you have |requires .{1,200}?, which is not installed")
    if broken:
        return seen(False, criterion, "conflicts that `pip check` printed", len(broken))
    if search(subject, r"No broken requirements found"):
        return seen(True, criterion, "`pip check` printed no conflict", 1)
    return missing("the output of `pip check` is needed in a log of the run (`pip check | tee pip.log`)")


@metric("cuda_smoke_test_passed")
def cuda_smoke_test_passed(subject: Subject, criterion: Criterion) -> Observation:
    """A logged step without a CUDA error stands for the matrix product (assumed)."""
    codes = ("cuda-version-mismatch", "cuda-error", "cuda-fork-error", "cuda-illegal-access", "device-assert")
    return without(subject, criterion, codes, "a step is logged and no CUDA error (a step stands for the product)")


@metric("referenced_paths_exist")
def referenced_paths_exist(subject: Subject, criterion: Criterion) -> Observation:
    """No missing file in the log and a first step: paths of another machine cannot be looked at from here."""
    return without(subject, criterion, ("file-missing", "permission-denied"), "a step is logged and no missing file")


def without(subject: Subject, criterion: Criterion, codes: tuple[str, ...], words: str) -> Observation:
    """None of the findings, in a run whose log was searched and that got past its start."""
    if bad := sorted({f.code for f in subject.found(*codes)}):
        return seen(False, criterion, f"the logs show {', '.join(bad)}", len(bad))
    if not subject.ran(LOGGED):
        return missing("the run has no log that could be searched for errors")
    if why := started(subject, criterion):
        return missing(why)
    return seen(True, criterion, words, 1)


@metric("response_time")
def response_time(subject: Subject, criterion: Criterion) -> Observation:
    """Hours from the alert to the first response, from an `incident*.json` of the run."""
    for path in files(subject, r"^incident[\w.-]*\.json$"):
        times = _times(load_json(path))
        if times:
            hours = (times[1] - times[0]).total_seconds() / 3600
            return seen(hours, criterion, "hours from the alert to the first response (assumed)", 1, path.name)
    return missing("needs operational data: incident.json with `alerted_at` and `responded_at` (ISO times)")


def _times(value: Any) -> tuple[datetime, datetime] | None:
    keys = (("alerted_at", "detected_at", "opened_at"), ("responded_at", "acknowledged_at", "first_action_at"))
    if not isinstance(value, Mapping):
        return None
    try:
        start, end = (datetime.fromisoformat(str(next(value[k] for k in names if k in value))) for names in keys)
        return (start, end) if end >= start else None
    except (ValueError, TypeError, StopIteration):
        return None
