"""Whether a server did its work by its own log (`answered`), or was stopped in the middle of it.

Failures have their lines (`signatures`), load over time its series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..findings import Evidence, Finding, Severity, declare
from ..patterns import bounded
from ..run import Run
from .answered import READING
from .detectors.detect import HEALTHY_POINTS
from .signatures.signature import CHECK
from .texts import Text

CODES = declare(
    "served",
    ("server-stopped-busy", CHECK, "a server is shut down while many requests are running"),
    ("answers-end-together", CHECK, "all requests that run at a server end at one instant, as at a limit of tokens"),
    ("requests-failed", CHECK, "a server answers a good part of the requests with an error of its own (5xx)"),
    ("decode-slow", CHECK, "a server's answers come slower than people read"),
)
SUMMED = bounded(
    r"(?i)\b(?:throughput|speed|generation rate|tokens?[/ ]s(?:ec)?(?:ond)?)\b[^\d\n]{0,30}?[:=]\s{0,8}"
    r"(\d{1,6}(?:\.\d{1,12})?)\s{0,3}(?:tok(?:en)?s?\s?(?:/|per)\s?s\w{0,6}|t/s)\b"
)
"""The speed that a benchmark sums up with at its end."""
REPORTS = bounded(r"\bINFO\b|\bRunning:|(?i:\b(?:avg|accepted|drafted)\b.{0,20}\bthroughput)")
"""A server's report of the last seconds, in which it may have had nothing to do."""
SLOW, PART = 3, 0.1
"""Slow answers, and their share of all, from which on a server is slow. Own judgement."""
FAILED, FAILS = 20, 0.03
"""Answers with an error of the server's own, and their share of all, from which on it fails at them. Own judgement."""
LOGS = frozenset(("log", "config", "script", "document", "code"))
"""Kinds of files that hold no results."""


def stopped_busy(texts: Mapping[str, Text]) -> Iterable[Finding]:
    """A finding for each server that is shut down after a report of at least ten running requests."""
    for name, text in texts.items():
        s, shut = text.served, text.life.shut
        if s.burst:
            yield _together(name, text)
        elif s.busy and s.running >= HEALTHY_POINTS and shut > s.told:
            yield Finding(
                "server-stopped-busy",
                Severity.S2,
                f"{name}:{shut}: the server is shut down; at its last report before (line {s.told}) {s.running} "
                f"requests were running, of {s.good + s.bad} answered in all: their answers may be cut off.",
                f"{name}:{shut}：服务器被关闭；之前最后一次报告（第 {s.told} 行）还有 {s.running} 个请求在运行，"
                f"总共应答 {s.good + s.bad} 个：这些回答可能不完整。",
                (Evidence(name, shut), Evidence(name, s.told)),
                {"running": s.running, "answered": s.good + s.bad},
            )


def _together(name: str, text: Text) -> Finding:
    """Requests of one age that all end at once have reached one limit: nothing else ends them together."""
    s = text.served
    return Finding(
        "answers-end-together",
        Severity.S2,
        f"{name}:{s.told}: {s.running} requests were running, {s.pace} were answered between the two reports before; "
        f"then {s.since} were answered at once ({s.since / max(s.good + s.bad, 1):.0%} of all): requests that end "
        "together have reached a limit of tokens, and these answers are cut off.",
        f"{name}:{s.told}：此时有 {s.running} 个请求在运行，之前两次报告之间只应答了 {s.pace} 个；随后一下子应答了 "
        f"{s.since} 个（占全部的 {s.since / max(s.good + s.bad, 1):.0%}）：同时结束说明到达了 token 上限，"
        "这些回答被截断。",
        (Evidence(name, s.told), Evidence(name, s.last)),
        {"running": s.running, "answered": s.good + s.bad, "together": s.since},
    )


def fails_at_requests(texts: Mapping[str, Text]) -> Iterable[Finding]:
    """A finding for each server that answers many requests with an error of its own."""
    for name, text in texts.items():
        s = text.served
        share = s.broken / max(s.good + s.bad, 1)
        if s.broken >= FAILED and share >= FAILS:
            yield Finding(
                "requests-failed",
                Severity.S1,
                f"{name}:{s.broken_at}: {s.broken} of {s.good + s.bad} requests ({share:.0%}) were answered with an "
                "error of the server's own (5xx), from here on.",
                f"{name}:{s.broken_at}：{s.good + s.bad} 个请求中有 {s.broken} 个（{share:.0%}）"
                "得到服务器自身的错误（5xx），自此处起。",
                (Evidence(name, s.broken_at),),
                {"failed": s.broken, "answered": s.good + s.bad, "share": share},
            )


def decodes_slowly(texts: Mapping[str, Text]) -> Iterable[Finding]:
    """A finding for each log in which three answers and a tenth of all come at less than reading speed."""
    for name, text in texts.items():
        s = text.served
        if s.slow >= SLOW and s.slow >= PART * s.decoded:
            yield Finding(
                "decode-slow",
                Severity.S2,
                f"{name}:{s.slow_at}: {s.slow} of {s.decoded} answers come at less than {READING:g} tokens per second, "
                f"slower than people read; the slowest at {s.slowest:g}.",
                f"{name}:{s.slow_at}：{s.decoded} 次回答中有 {s.slow} 次低于每秒 {READING:g} 个 token，慢于阅读速度；"
                f"最慢 {s.slowest:g}。",
                (Evidence(name, s.slow_at),),
                {"slow": s.slow, "decoded": s.decoded, "value": s.slowest},
            )


def summed_up_slow(texts: Mapping[str, Text]) -> Iterable[Finding]:
    """A finding for each log that ends in a throughput, of all requests together, below reading speed."""
    for name, text in texts.items():
        told = [(n, float(m[1])) for n, line in text.tail if (m := SUMMED.search(line)) and not REPORTS.search(line)]
        if told and 0 < max(speed for _, speed in told) < READING:
            line, speed = max(told, key=lambda pair: pair[1])
            yield Finding(
                "decode-slow",
                Severity.S2,
                f"{name}:{line}: the throughput that it sums up with is {speed:g} tokens per second for all requests "
                f"together, below the {READING:g} at which one person reads.",
                f"{name}:{line}：最后汇总的总吞吐只有每秒 {speed:g} 个 token，低于一个人的阅读速度（{READING:g}）。",
                (Evidence(name, line),),
                {"value": speed},
            )


def did_its_work(run: Run, texts: Mapping[str, Text], findings: Iterable[Finding]) -> Finding | None:
    """The reassurance for a server: with those beside it, it answered ten requests, few with an error, and rests.

    None where anything more than a note was found, another server under the path was not at rest, or results lie beside
    the logs: of them the log of a server says nothing.
    """
    servers = {name: t for name, t in texts.items() if t.life.serves or t.served.good}
    if (
        not servers
        or any(a.kind not in LOGS for a in run.artifacts)
        or any(f.severity != Severity.S3 for f in findings)
    ):
        return None
    name, text = max(servers.items(), key=lambda pair: pair[1].served.good)
    s = text.served
    if sum(t.served.good for t in servers.values()) < HEALTHY_POINTS or any(
        t.served.busy or t.served.refused for t in servers.values()
    ):
        return None
    return Finding(
        "run-healthy",
        Severity.S3,
        f"Nothing wrong in {s.good + s.bad} answers of {name}: {s.good} were given, {s.bad} refused.",
        f"{name} 的 {s.good + s.bad} 次应答没有问题：成功 {s.good} 次，拒绝 {s.bad} 次。",
        (Evidence(name, s.last),),
        {"points": s.good + s.bad},
    )
