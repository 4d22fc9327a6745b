"""Whether anything is trained in what was looked at: what explains a training explains no benchmark, no served model
and no agents over interfaces, however a number of theirs moves.

A training shows in what it alone logs (a loss, a gradient, a learning rate), in what is set for it, in its weights and
programs, and in names: of models, of files and of what the person or the notes tell.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ...knowledge.entry import Entry
from ...knowledge.runbook import Runbook
from ...tools.findings import Finding
from ...tools.patterns import bounded
from ...tools.run import Artifact
from .standing import kind_of

if TYPE_CHECKING:
    from ..evidence import Look

TRAINING = frozenset(("pretrain", "sft", "dpo", "rm", "rl", "preference"))
"""Stages of what a training goes through."""
TOGETHER = TRAINING | {"data", "performance"}
"""Stages beside which an entry still needs a training; of data first, or of speed alone, it may be of anything."""
LOGGED = frozenset((
    "loss", "train_loss_mean", "eval_loss", "policy_loss", "value_loss", "aux_loss", "grad_norm", "loss_scale",
    "critic_grad_norm", "learning_rate", "grad_clip_rate", "explained_variance", "ppo_kl", "clip_fraction",
    "frac_reward_zero_std", "reward_std", "advantage_mean", "reward_margin", "reward_chosen", "logps_chosen",
    "weight_norm", "nan_iterations", "skipped_steps", "moe_load_imbalance",
))  # fmt: skip
"""Metrics that only a training has."""
IN_COLUMNS = bounded(r"(?:^|[_.\s/-])loss(?:$|[_.\s/-])|learning[_ ]?rate|损失|学习率", re.IGNORECASE)
"""Names of columns that only a training has, whether they make a curve or not."""
PLACED = ("epoch", "checkpoint")
"""Ways that only a training goes."""
SET = (
    "stage", "learning_rate", "min_learning_rate", "lr_schedule", "warmup_ratio", "epochs", "grad_clip",
    "grad_accumulation", "optimizer", "dpo_beta", "kl_coef", "lora_rank", "num_generations", "rollout_batch_size",
    "train_batch_size", "train_samples", "train_tokens", "zero_stage",
)  # fmt: skip
"""Settings that only a training has."""
LEARNED = ("checkpoint", "metrics")
"""Kinds of files of a training: weights, a trainer's own state."""
JUDGED = ("data", "code", "lint", "checkpoint", "corpora", "shards", "marks", "copies", "engines")
"""Beginnings of the names of tools that judge data, programs, settings, weights and what an engine notes, and nothing
that was measured."""
LEARNS = bounded(r"\.backward\(|optimi[sz]er\.step\(|Trainer\(|\.fit\(|train_step|GradScaler\(")
"""What stands in a program that trains."""
PROGRAMS, LETTERS = 40, 200_000
"""Programs that are looked at, and letters of each."""
_KINDS = (
    r"(?<![a-z])(?:s?ft|cpt|dpo|orpo|kto|grpo|ppo|rlhf|rlvr|q?lora|dora|peft|(?:fine|instruction)[ _-]?tun(?:ed?|ing)"
    r"|distill(?:ed|ation)?|(?:pre|re)?[ _-]?train(?:ed|er|ing)?)(?![a-z])|训练|微调|蒸馏|灾难性遗忘|学习率"
    r"|forget|overfit|learning rate"
)
TOLD = bounded(_KINDS, re.IGNORECASE)
"""What people and notes say of a training."""
CALLED = bounded(
    _KINDS + r"|(?<![a-z])(?:rl|tuned|ckpts?|checkpoints?|epochs?|adapter|merged|continued|before|after"
    r"|base[ _-]?model|(?:step|iter)[ _-]?\d+)(?![a-z])|(?:^|/)base(?=$|[/.])|dataloader"
    r"|(?:^|[/_ -])(?:v\d{1,3}|old|new)(?![\w.]*\d|[a-z])|检查点|基座|对齐",
    re.IGNORECASE,
)
"""What names models that were trained, and their files."""
LABEL = 60
"""Letters up to which a cell of a table is a name and no text."""
CELLS = 4000
"""Labels of tables that are looked at."""


def fitting(book: Runbook, seen: Look, said: str) -> Runbook:
    """The entries that can stand over what was looked at: beside anything that is trained, all of them; else without
    those that need a training and rest on what was measured alone."""
    if trains(seen, said):
        return book
    stands = {f.code for r in seen.reports if r.tool.startswith(JUDGED) for f in r.findings}
    found = tuple(seen.findings)
    return Runbook({e.id: e for e in book if not (needs_training(e) and _measured(e, found, stands))})


def needs_training(entry: Entry) -> bool:
    """Whether an entry is about what a training does, and about nothing else that models are used for."""
    stages = set(entry.stages)
    trained = bool(stages & TRAINING) and entry.stages[0] != "data"
    return stages <= TOGETHER and (trained or stages == {"data", "performance"})


def _measured(entry: Entry, found: Iterable[Finding], stands: Container[str]) -> bool:
    """Whether what speaks for an entry is what was measured, and neither an error's own text nor what stands in
    settings, data, programs and weights."""
    speaking = [f for f in found if f.code in entry.speaks.for_]
    return bool(speaking) and not any("role" in f.data or kind_of(f) or f.code in stands for f in speaking)


def trains(seen: Look, said: str) -> bool:
    """Whether anything that was read or told is of a training."""
    return (
        any(s.metric in LOGGED or s.axis in PLACED for s in seen.series)
        or any(
            IN_COLUMNS.search(c.name) if c.role == "measure" else c.role == "axis" and c.of in PLACED
            for t in seen.tables
            for c in t.columns
        )
        or any(seen.settings.value(name) is not None for name in SET)
        or any(a.kind in LEARNED for a in seen.run.artifacts)
        or any(LEARNS.search(_program(a)) for a in [a for a in seen.run.artifacts if a.kind == "code"][:PROGRAMS])
        or any(TOLD.search(text) for text in (said, *(x.text for x in (*seen.events, *seen.claims))))
        or any(CALLED.search(name) for name in _names(seen))
    )


def _program(a: Artifact) -> str:
    with suppress(OSError):
        return a.path.read_bytes()[:LETTERS].decode("utf-8", "replace")
    return ""


def _names(seen: Look) -> Iterator[str]:
    """Names of files, and of what their rows are of."""
    yield from (a.name for a in seen.run.artifacts)
    left = CELLS
    for table in seen.tables:
        yield table.part
        for column in table.columns:
            yield column.name
            if column.role in ("group", "identifier") and column.values.dtype.kind == "O" and left > 0:
                labels = {str(v) for v in column.values[:left].tolist()}
                left -= len(labels)
                yield from (label for label in labels if len(label) <= LABEL)
