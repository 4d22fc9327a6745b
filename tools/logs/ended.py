"""A server that ran out of GPU memory while it answered: how often, in which call, for how much, and under which load.

The load at each time is held against the most that the same log shows without a failure: what fails far below it was
no matter of load. Who sent the request is looked for in the run's tables (`relate.joined.preceded`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..findings import Evidence, Finding, Severity, clean, declare
from ..patterns import bounded
from ..series import Series, SeriesTable
from .signatures.match import TABLE, Hit
from .signatures.signature import CHECK
from .texts import Text

CODES = declare(
    "ended",
    ("oom-while-serving", CHECK, "a server ran out of GPU memory while it answered requests"),
    ("oom-off-peak", CHECK, "a server ran out of GPU memory far below the load that it carries at other times"),
)
OOM = frozenset(i for i, row in enumerate(TABLE) if row.code == "cuda-oom")
RUNNING = bounded(r"(?i)^(?:num[_ ]?)?running(?:[_ ]?(?:reqs|requests))?$")
INSIDE = bounded(r'File "[^"\n]{1,300}", line \d{1,7}, in (\w{1,80})')
WANTED = bounded(r"Tried to allocate (\d{1,6}(?:\.\d{1,3})?) ([GM]iB)")
STAMP = bounded(r"(?<![\d-])((?:20\d\d-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d)")
LOAD = bounded(
    r"(?i)(?:^|[_ /])(?:queued?|waiting|running|active|pending|in[_-]?flight|concurren\w*|requests?|reqs?|rps|qps|"
    r"ttft|tpot|kv_?(?:usage|cache\w*))(?:$|[_ /])|排队|并发|请求"
)
"""Names of measures of a server's load."""
LEARNS = frozenset({"loss", "eval_loss", "learning_rate", "grad_norm", "reward", "policy_loss"})
BELOW = 0.5
"""Share of the most requests at once that were carried, below which a failure is no matter of load. Own judgement."""
REPORTS, SHOWN = 20, 4
"""Reports of the load from which on they show its most; failures that are shown."""


def ran_out(texts: Mapping[str, Text], table: SeriesTable, matched: Sequence[Finding]) -> Iterator[Finding]:
    """A finding for each server's log with such failures."""
    graded = {e.file: f.severity for f in matched if f.code == "cuda-oom" for e in f.evidence[:1]}
    for name, text in texts.items():
        serves = text.life.serves or _loaded(name, table)
        hits = [h for row in OOM for h in _kept(text, row) if 0 < serves < h.line]
        if hits and name in graded:
            running = [s for s in table if s.file == name and RUNNING.match(s.key)]
            before = sum(h.line <= serves for row in OOM for h in _kept(text, row))
            times = sum(text.hits[row].count for row in OOM if row in text.hits) - before
            yield from _told(name, hits, times, graded[name])
            yield from _load(name, hits, running, graded[name])


def _loaded(name: str, table: SeriesTable) -> int:
    """The first line at which a server of nobody's reports its load, 0 for a log that trains, too."""
    own = [s for s in table if s.file == name]
    loads = [int(s.lines[0]) for s in own if len(s) and LOAD.search(s.key)]
    return 0 if any(s.metric in LEARNS for s in own) else min(loads, default=0)


def _kept(text: Text, row: int) -> list[Hit]:
    hits = text.hits.get(row)
    return [] if hits is None else [*hits.first, *([hits.last] if hits.last and hits.last not in hits.first else [])]


def _told(name: str, hits: Sequence[Hit], times: int, severity: Severity) -> Iterator[Finding]:
    called = list(dict.fromkeys(m[-1] for h in hits if (m := INSIDE.findall(h.above[-4000:]))))
    sizes = [f"{m[1]} {m[2]}" for h in hits if (m := WANTED.search(h.text))]
    stamps = [m[-1] for h in hits if (m := STAMP.findall(h.above))]
    inside, inside_zh = (f" in `{called[0]}`", f"（在 `{called[0]}` 中）") if len(called) == 1 else ("", "")
    sizes_said = f", for {', '.join(sizes[:SHOWN])}" if sizes else ""
    sizes_zh = f"，申请 {'、'.join(sizes[:SHOWN])}" if sizes else ""
    evidence = tuple(Evidence(name, h.line, rank=h.rank, text=clean(h.text)) for h in hits[:SHOWN])
    yield Finding(
        "oom-while-serving", severity,
        f"{name}: GPU memory ran out {times} times while the server answered{inside}{sizes_said}.",
        f"{name}：服务过程中显存耗尽 {times} 次{inside_zh}{sizes_zh}。",
        evidence, {"times": stamps, "inside": called[:SHOWN], "file": name},
    )  # fmt: skip


def _load(name: str, hits: Sequence[Hit], running: Sequence[Series], severity: Severity) -> Iterator[Finding]:
    """How much it carried when it failed, and at most; nothing where that is about the same."""
    lines = np.concatenate([s.lines for s in running]) if running else np.zeros(0)
    values = np.concatenate([s.values for s in running]) if running else np.zeros(0)
    order = np.argsort(lines, kind="stable")
    lines, values = lines[order], values[order]
    at = np.searchsorted(lines, [h.line for h in hits]) - 1
    if len(lines) < REPORTS or not np.isfinite(values).all() or (at < 0).any():
        return
    loads, top = values[at].tolist(), int(np.argmax(values))
    most = float(values[top])
    if max(loads) < BELOW * most:
        said = ", ".join(f"{x:.0f}" for x in loads[:SHOWN])
        yield Finding(
            "oom-off-peak", severity,
            f"{name}: {said} requests were running when the memory ran out; at other times {most:.0f} were carried "
            f"(line {int(lines[top])}): it is no matter of how many run at once.",
            f"{name}：显存耗尽时正在运行的请求为 {said} 个，而其他时候承受过 {most:.0f} 个（第 "
            f"{int(lines[top])} 行）：与并发数无关。",
            (Evidence(name, hits[0].line), Evidence(name, int(lines[top]), value=most)), {"loads": loads, "most": most},
        )  # fmt: skip
