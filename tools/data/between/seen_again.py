"""How often a reinforcement learning has gone over its prompts, by the last epoch that a log counts beside a reward.

A policy that is paid for the same few problems again and again learns their answers; what it does on others is for an
evaluation to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...looking.kept import NOT_KEPT, Kept, kept_lines
from ...patterns import bounded
from ...reading import Chunk
from ...run import Artifact, Run

CHECK = "passes over the prompts"
CODES = declare(
    "seen again", ("prompts-seen-often", CHECK, "a reinforcement learning goes over its prompts dozens of times")
)
OFTEN = 20.0
"""Passes from which on answers can be known by heart; runs over large sets make less than five. Own judgement."""
FILES, LINES, LEAST = 60, 200_000, 10
"""Logs and lines of each that are looked at, and lines that must count epochs."""
EPOCH = bounded(
    r"(?i)(?<![a-z])(?:epochs?|passes|轮次|轮数)[\"']?\s?[=:：|]?\s?(\d{1,6}(?:\.\d{1,6})?)(?![\d/])(?!\s?/)"
)
REWARD = bounded(r"(?i)reward|奖励")


def check_seen_again(run: Run, logs: Kept = NOT_KEPT) -> Report:
    """The epochs of the logs whose lines also say a reward."""
    counted = [e for a in islice(run.of("log", "metrics"), FILES) if (e := _last(a, logs.get(a.name, ())))]
    if not counted:
        why = "no log counts epochs beside a reward"
        return Report("data", (), (Check(CHECK, "not-applicable", why, "没有日志在奖励旁记录 epoch"),))
    most = max(counted, key=lambda e: float(e.value or 0))
    passes = float(most.value or 0)
    if passes < OFTEN:
        return Report("data", (), (Check(CHECK, "clear", f"{passes:g} passes over the prompts"),))
    told = Finding(
        "prompts-seen-often", Severity.S3,
        f"The training went over its prompts {passes:.0f} times: their answers can be known by heart.",
        f"训练把同一批提示过了 {passes:.0f} 遍：这些题的答案可能已被背下。",
        (most,), {"passes": passes},
    )  # fmt: skip
    return Report("data", (told,), (Check(CHECK, "found"),))


def _last(artifact: Artifact, kept: Sequence[Chunk]) -> Evidence | None:
    """The last epoch of a log, where it only ever rises and stands in lines with a reward."""
    before, n, last = 0.0, 0, None
    try:
        for line in islice(kept_lines(artifact.path, kept), LINES) if kept else ():
            text = line.text[:1000]
            if not REWARD.search(text) or (found := EPOCH.search(text)) is None:
                continue
            value = float(found[1])
            if value < before:
                return None
            before, n = value, n + 1
            last = Evidence(artifact.name, line.number, metric="epoch", value=value, text=found[0][:80])
    except (TriageError, OSError):
        return None
    return last if n >= LEAST else None
