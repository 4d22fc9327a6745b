"""Whether the data of a run is there to be trained on, or is only what a model is asked and answered.

A folder of data alone is what a training will read. Beside programs, settings and logs of which not one speaks of
training, its files are questions and answers of a benchmark or of a load test: what repeats in them, who is named there
and what two of them share says nothing of a model's weights.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from ..patterns import bounded
from ..run import Run

NAMED = bounded(
    r"(?i)(?:^|[^a-z])(?:pre|re|un)?train(?!scr)|fine[_-]?tun|(?:^|[^a-z])(?:sft|dpo|grpo|ppo|orpo|kto|rlhf|q?lora|peft|corpus|corpora"
    r"|distill\w{0,5}|pairs|preferences?|adapters?|checkpoints?)(?:[^a-z]|$)|训练|微调|语料|预训练|偏好|蒸馏"
)
"""Names of what belongs to a training."""
SAID = bounded(
    r"\.backward\(|learning_rate|(?:^|\W)lr\s{0,3}[=:]|optimi[sz]er|Trainer\(|\.fit\(|LoraConfig|trainable|fine[_-]?tun"
    r"|loss[ _]?scale|grad(?:ient)?[ _]?norm|zero_optimization|(?:^|\W)loss\W{1,4}\d"
    r"|num_train|train_(?:batch|loader|data|set|df|steps)|(?:^|\W)(?:sft|dpo|grpo)(?:\W|$)|学习率|微调|训练(?:集|数据|步)",
    re.IGNORECASE,
)
"""What a program, a setting or a log of a training says."""
FILE = bounded(r"(?i)[\w-]\.(?:jsonl?|csv|tsv|parquet|arrow)\b")
"""A file of data in a text."""
KINDS = ("code", "script", "config", "log", "metrics", "checkpoint")
HEAD, MOST = 64 << 10, 60
"""Bytes of each, and files, that are looked at."""


def only_measured(run: Run) -> bool:
    """Whether the run has programs, settings or logs, and none of its files speaks of a training."""
    others = [a for a in run.artifacts if a.kind in KINDS]
    if not others or any(a.kind in ("metrics", "checkpoint") for a in others):
        return False
    if any(NAMED.search(a.name) for a in run.artifacts):
        return False
    return next(_speaking(run), None) is None


def trained_on(run: Run, names: Collection[str]) -> set[str]:
    """Those of some data files that are trained on: that their own names call so, or that a program, a setting or a
    log which speaks of a training names; all of them where none of these names a file of data at all.

    A raw original, a store that is searched and what an agent was shown lie beside a training, too.
    """
    texts = list(_speaking(run))
    told = {n for n in names if NAMED.search(n) or any(PurePosixPath(n).name in text for text in texts)}
    return told if told or any(map(FILE.search, texts)) else set(names)


def _speaking(run: Run) -> Iterator[str]:
    """The heads of programs, settings and logs that speak of a training."""
    others = [a for a in run.artifacts if a.kind in KINDS]
    yield from (text for a in others[:MOST] if SAID.search(text := _head(a.path)))


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
