"""Numbers that the small files of a run set or change: read only once a course asks for an explanation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...documents.event import Event
from ...findings import Evidence
from ...heads import beginning
from ...patterns import bounded
from ...run import Run

MOST_FILES, BYTES, LOG_BYTES = 60, 32_768, 4_096
KINDS = ("config", "script", "code", "log", "document")
_NUMBER = (
    r"[\"']?\s{0,4}(?::\s?(?:float|Final\[float\]|int)\s?=|,\s?(?:type\s?=\s?float,\s?)?default\s?=|[:=\s|])\s{0,4}[\"']?"
    r"([0-9.]{1,12}(?:e[-+]?\d{1,3})?)(?![\w.])"
)
DECAY = bounded(
    r"(?i)(?<![a-z])(?:weight_?decay|wd|decay|reg|l2|l2_?reg\w*|lambda|w_?decay|weight decay|权重衰减|正则\S{0,2}|衰减)"
    + _NUMBER
)
CLIP = bounded(
    r"(?i)(?<![a-z])(?:(?:max[_-]?)?(?:grad(?:ient)?[_-]?)?clip(?:ping)?(?:[_-]?(?:grad\w*|norm|value|at|to))?"
    r"|max[_-](?:grad[_-])?(?:norm|gn)|gradient_clipping|clip_grad_norm|(?:梯度)?裁剪\S{0,2})" + _NUMBER
)
COEFFICIENT = bounded(
    r"(?i)(?<![a-z])(?:init_?)?(?:(?:ref_?)?kl(?!_?(?:target|estimator|type|horizon))(?:[_-](?:ref|loss|pen|penalty|ctl|ctrl|reg))?"
    r"(?:[_-]?(?:coef\w{0,8}|weight|beta|lambda|alpha|w|scale))?|(?:grpo_|ppo_)?beta(?![_\d])|(?:KL|散度)(?:惩罚)?(?:系数|权重))"
    + _NUMBER
)
"""The weight of the KL penalty."""
HANDED = bounded(
    r"(?i)(?<![a-z])(?:weight_?decay|w_?decay|wd)[\"']?\s?[:=]\s?(?:float\()?(?:[a-z_]\w{0,30}(?:\.|\[[\"'])){1,4}([a-z_]\w{0,30})"
)
"""A decay that code takes from a setting of another name."""
KIND = bounded(
    r"(?i)adam_?w_mode[\"']?\s?[:=]\s?(?:false|0)|decoupled\w*[\"']?\s?[:=]\s?(?:false|no|0)|\boptim\.Adam\b(?!W)"
    r"|(?<![a-z.])(?:Fused)?Adam\((?!.{0,200}(?:adam_?w_mode|decoupled\w*)\s?=\s?True)|\bl2_?(?:mode|in_grad\w*)[\"']?\s?[:=]\s?(?:true|1)|\badam_l2\b"
)


def numbers(run: Run, pattern: re.Pattern[str], words: Sequence[str]) -> Iterator[tuple[float, Evidence]]:
    """Every number that the small files give for a setting."""
    for name, number, line in lines_of_small(run, words):
        for match in pattern.finditer(line):
            with suppress(ValueError):
                yield float(match[1]), Evidence(name, number, text=line.strip())


def handed_on(run: Run) -> Iterator[tuple[float, Evidence]]:
    """The numbers of settings that code hands on as the decay, whatever they are called."""
    names = {m[1] for _, _, line in lines_of_small(run, ("decay", "wd")) for m in HANDED.finditer(line)}
    for name in sorted(n for n in names if not DECAY.search(f"{n}=1"))[:8]:
        yield from numbers(run, bounded(rf"(?<![\w.]){re.escape(name)}{_NUMBER}"), (name.lower(),))


def kinds(run: Run) -> Iterator[Evidence]:
    """Lines that make the decay a term of the gradient."""
    for name, number, line in lines_of_small(run, ("adam", "decoupled", "l2", "optim")):
        if not line.startswith("-") and KIND.search(line):
            yield Evidence(name, number, text=line.strip())


def changed(events: Sequence[Event], pattern: re.Pattern[str], times: float) -> Iterator[tuple[float, float, Evidence]]:
    """Settings that a diff changes from one number to another, by this many times or more."""
    for e in events:
        if e.what == "config" and e.old and e.new and pattern.search(f"{e.variable}: {e.new}"):
            with suppress(ValueError):
                old, new = float(e.old), float(e.new)
                if new >= times * old >= 0:
                    yield old, new, Evidence(e.file, e.line, text=e.text)


def lines_of_small(run: Run, words: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """(file, number, text) of the lines of small files and of the beginnings of logs that hold one of the words."""
    small = sorted((a for a in run.artifacts if a.kind in KINDS), key=lambda a: KINDS.index(a.kind))
    for artifact in small[:MOST_FILES]:
        text = beginning(artifact.path, LOG_BYTES if artifact.kind == "log" else BYTES)
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) <= 600 and any(word in line.lower() for word in words):
                yield artifact.name, number, line
