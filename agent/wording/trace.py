"""Each turn as one JSON line in `traces/CASE.jsonl` of the data directory, and as OpenTelemetry spans where configured.

Everything passes the boundary first: no credential, no personal data. Nothing is sent anywhere unless
OTEL_EXPORTER_OTLP_ENDPOINT names a collector and the package `opentelemetry-exporter-otlp` can be imported.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...tools.boundary import Boundary
from ...tools.findings import TriageError, json_ready
from ...tools.keeping import append, lost, reason

LONGEST = 20_000
"""Characters kept of one message."""
SHOWN = {
    "at": str, "model": str, "outcome": str, "state": str, "seconds": (int, float), "question": str, "tools": list,
    "calls": int, "tokens": dict, "said": dict,
}  # fmt: skip
"""What is shown of a turn; `TOOL` of each tool call."""
TOOL = {"name", "args", "chars"}


def record(home: Path, case: str, turn: dict[str, Any], boundary: Boundary) -> None:
    """Append one turn; where that cannot be done, it is said.

    Args:
        home: the data directory.
        case: id of the case.
        turn: JSON-ready; `seconds` and `tools` (each with `seconds`) also give the spans their lengths.
        boundary: what hides credentials and personal data in every string.
    """
    import orjson

    turn = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "case": case, **_hidden(turn, boundary)}
    folder = home / "traces"
    line = orjson.dumps(json_ready(turn), option=orjson.OPT_NON_STR_KEYS)
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        append(folder / f"{case}.jsonl", line)
    except OSError as error:
        lost(folder / f"{case}.jsonl", "not kept", error)
    if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        export(turn)


def read(home: Path, case: str) -> list[dict[str, Any]]:
    """The turns of a case, oldest first; lines that a kill or a bad disk has torn are passed over, and counted.

    Raises:
        TriageError: nothing was traced for this case, or it cannot be read.
    """
    file = home / "traces" / f"{case}.jsonl"
    try:
        lines = [line for line in file.read_bytes().splitlines() if line.strip()] if case.isalnum() else []
    except FileNotFoundError:
        lines = []
    except OSError as error:
        raise TriageError(f"{file}: the trace cannot be read ({reason(error)})") from None
    if not lines:
        raise TriageError(f"no trace of case {case!r} under {file.parent}; `triage cases` lists the cases")
    turns = [turn for line in lines if (turn := _turn(line))]
    if torn := len(lines) - len(turns):
        lost(file, "not used", f"{torn} of {len(lines)} lines are torn")
    return turns


def _turn(line: bytes) -> dict[str, Any] | None:
    """None for a line that is no whole turn."""
    import orjson

    try:
        turn = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    whole = isinstance(turn, dict) and all(isinstance(turn.get(k), kind) for k, kind in SHOWN.items())
    return turn if whole and all(isinstance(t, dict) and t.keys() >= TOOL for t in turn["tools"]) else None


def _hidden(value: Any, boundary: Boundary) -> Any:
    if isinstance(value, str):
        return boundary.hide(value[:LONGEST])
    if isinstance(value, dict):
        return {k: _hidden(v, boundary) for k, v in value.items()}
    return [_hidden(v, boundary) for v in value] if isinstance(value, (list, tuple)) else value


def export(turn: dict[str, Any], exporter: Any = None) -> None:
    """The turn as a span with one child for each tool call; `exporter` defaults to OTLP by the OTEL_* variables."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    if exporter is None:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter(timeout=2)
    provider = TracerProvider(resource=Resource.create({"service.name": "triage"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer, end = provider.get_tracer("triage"), time.time_ns()
    start = end - int(turn["seconds"] * 1e9)
    span = tracer.start_span("triage.turn", start_time=start)
    for key in ("case", "model", "outcome", "calls"):
        span.set_attribute(f"triage.{key}", turn[key])
    for key, count in {**turn["tokens"], **turn["said"]}.items():
        span.set_attribute(f"triage.{key}", count)
    from opentelemetry.trace import set_span_in_context

    for tool in turn["tools"]:
        child = tracer.start_span(f"triage.tool.{tool['name']}", set_span_in_context(span), start_time=start)
        child.end(start + int(tool["seconds"] * 1e9))
    span.end(end)
    provider.shutdown()
