"""Which memory a finding is of: the GPU's or the host's. What grows in one says nothing of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...knowledge.entry import Criterion
from ...tools.findings import Finding
from ...tools.patterns import bounded

GPU, HOST = "gpu_memory", "host_memory"
OF = {
    "gpu-memory-growth": GPU,
    "memory-fragmented": GPU,
    "cuda-oom": GPU,
    "kv-cache-oom": GPU,
    "host-memory-grows": HOST,
    "host-oom": HOST,
}
"""Findings that are of one memory alone; `memory-grows-on` says itself of which."""
GROWS = ("gpu-memory-growth", "memory-grows-on", "host-memory-grows")
_SAID = {
    GPU: bounded(r"(?i)(?<![a-z])(?:gpus?|vram|cuda|device|hbm)(?![a-z])|显存|显卡"),
    HOST: bounded(r"(?i)(?<![a-z])(?:host|cpu|ram|rss|system memory|main memory)(?![a-z])|主机内存|主存|系统内存"),
}
"""How people name each; a memory without a name may be either."""


def of(findings: Iterable[Finding]) -> set[str]:
    """The memories that findings are of."""
    named = {str(f.data.get("memory") or OF.get(f.code, "")) for f in findings if f.code in OF or f.code in GROWS}
    return named & {GPU, HOST}


def meant(text: str) -> str:
    """The memory that a text names, empty for none or for both."""
    named = [memory for memory, said in _SAID.items() if said.search(text)]
    return named[0] if len(named) == 1 else ""


def other(text: str, findings: Sequence[Finding]) -> bool:
    """Whether a text speaks of one memory, and all that was found is of the other."""
    named, found = meant(text), of(findings)
    return bool(named and found) and named not in found


def judged_by(criteria: Sequence[Criterion], findings: Sequence[Finding]) -> tuple[Criterion, ...]:
    """The criteria, where one on a memory that did not grow gives way to the end of what did."""
    found = of(f for f in findings if f.code in GROWS)
    wrong = [c for c in criteria if c.metric in (GPU, HOST) and found and c.metric not in found]
    gone = [Criterion.model_validate({"metric": f.code.replace("-", "_"), "is": "false"}) for f in findings
            if f.code in GROWS]  # fmt: skip
    return (*(c for c in criteria if c not in wrong), *(gone[:1] if wrong else ()))
