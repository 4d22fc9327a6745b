"""What triage must beat: a grep for the usual words, retrieval of the question, always lowering the learning rate."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from ...agent.diagnose import Diagnosis
from ...agent.propose import Nothing, propose
from ...agent.ranking import Hypothesis
from ...agent.session import index
from ...tools.config.combine import read_settings
from ...tools.discover import discover
from .loop import Advice

WORDS: tuple[tuple[str, str], ...] = (
    (r"out of memory|can't allocate memory|MemoryError|\bKilled\b", "host-memory-exhausted"),
    (r"ModuleNotFoundError|ImportError", "package-import-error"),
    (r"unexpected keyword argument|unrecognized arguments", "renamed-argument"),
    (r"safetensors|checkpoint.{0,40}(corrupt|incomplete|error)", "checkpoint-load-failure"),
    (r"JSONDecodeError|KeyError|UnicodeDecodeError", "data-schema-mismatch"),
    (r"FileNotFoundError|No such file", "data-path-missing"),
    (r"divisible", "group-size-not-divisible"),
    (r"timed? ?out|hang|stuck|卡住|卡死", "nccl-hang"),
    (r"overflow|loss.scale", "loss-scale-collapse"),
    (r"\bnan\b|\binf\b", "loss-nan-high-lr"),
    (r"entropy", "entropy-collapse"),
    (r"overfit|validation gets worse|验证集越来越差", "overfitting"),
    (r"never stops|停不下来|repeat|重复", "endless-generation"),
    (r"rewards/chosen", "dpo-kl-explosion"),
    (r"plateau|barely|not go down|不降|不下降", "loss-stagnation"),
)
"""Pattern in the question or the logs -> entry, most specific first; what a person would write in an hour."""


def _advice(entries: Iterator[str], run: Path, start: float) -> Advice:
    """The entries as a ranking, first one believed, and its change on this run's files."""
    runbook = index().runbook
    chosen = [entry for id in dict.fromkeys(entries) if (entry := runbook.get(id))][:5]
    ranked = [Hypothesis(entry, None, "supported", 0.7 * 0.3**i) for i, entry in enumerate(chosen)]
    diagnosis = Diagnosis("diagnosed" if ranked else "healthy", tuple(ranked))
    found = discover(run)
    proposal = propose(diagnosis, read_settings(found)[0], found)
    seconds = time.perf_counter() - start
    if isinstance(proposal, Nothing):
        return Advice(diagnosis, None, proposal.en, seconds)
    return Advice(diagnosis, proposal, "", seconds)


class Keywords:
    """A grep through the question and the logs."""

    name = "keyword rules"

    def advise(self, run: Path, question: str) -> Advice:
        start = time.perf_counter()
        logs = [a.path.read_text(encoding="utf-8", errors="replace") for a in discover(run).of("log")]
        text = "\n".join([question, *logs])
        return _advice((entry for p, entry in WORDS if re.search(p, text, re.IGNORECASE)), run, start)


class Retrieval:
    """The entries nearest to the words of the question; the run is not read."""

    name = "retrieval only"

    def advise(self, run: Path, question: str) -> Advice:
        start = time.perf_counter()
        return _advice((hit.entry.id for hit in index().search(question)), run, start)


class LowerRate:
    """Whatever it is: halve the learning rate."""

    name = "always lower lr"

    def advise(self, run: Path, question: str) -> Advice:
        return _advice(iter(["loss-nan-high-lr"]), run, time.perf_counter())


BASELINES = (Keywords(), Retrieval(), LowerRate())
