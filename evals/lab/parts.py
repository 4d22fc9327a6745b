"""What the lab's training programs are put together from: parts, trace, batches, chat examples."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, TrainerCallback

from .text import Record

IGNORED = -100
Example = dict[str, list[int]]


@dataclass
class Parts:
    """What a training is put together from; the code hook of a fault changes it before the trainer is made."""

    folder: Path
    settings: dict[str, Any]
    model: Any = None
    reference: Any = None
    tokenizer: Any = None
    train: list[Any] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)
    reward: Callable[..., list[float]] | None = None
    label: Callable[[Any, Record], Example] | None = None
    """Turns one chat record into ids and labels."""
    end: Callable[[int], None] | None = None
    """Called with the step after every optimizer step."""
    skip: Callable[[int, int], bool] | None = None
    """Whether a rank waits at a barrier of its own instead of averaging the gradients of a step."""
    restart_at: int = 0
    """Step at which the job is stopped and started again from its checkpoint."""
    decay_steps: int = 0
    """Steps over which the program's own schedule decays; 0 leaves the schedule to the trainer."""
    quiz: bool = False
    """Whether held-out questions are answered now and then and the score is logged."""
    slow_read: Callable[[int], float] | None = None
    """Seconds that reading the batch of a step takes."""
    slow_sync: float = 0.0
    """Seconds that averaging the gradients takes longer than it would."""

    def records(self, name: str) -> list[Record]:
        """The records of all files that the setting `NAME_file` stands for, in their order."""
        files = sorted(self.folder.glob(self.settings.get(f"{name}_file", f"data/{name}.jsonl")))
        return [record for file in files for record in records(file)]


@dataclass
class Trace:
    """What really happened, for scoring only: never in the run directory."""

    losses: list[float] = field(default_factory=list)
    outcome: dict[str, float] = field(default_factory=dict)
    times: list[list[list[float]]] = field(default_factory=list)
    """Per rank and step, the seconds of reading, computing and averaging; for the tables that some faults leave."""

    def hopeless(self) -> bool:
        recent = self.losses[-PATIENCE:]
        return len(recent) == PATIENCE and not any(map(math.isfinite, recent))

    def save(self, file: Path) -> None:
        file.write_text(json.dumps({"losses": self.losses, "outcome": self.outcome}))


Hook = Callable[[Parts], None]


def settings_of(folder: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load((folder / "train.yaml").read_text())


def arguments(kind: Any, parts: Parts, **more: Any) -> Any:
    """The trainer's arguments out of the settings; keys that only the program knows are left out."""
    known = {f.name for f in fields(kind)}
    given = {k: v for k, v in parts.settings.items() if k in known}
    return kind(output_dir=str(parts.folder), disable_tqdm=True, use_cpu=True, **(given | more))


def new_model(folder: Path) -> Any:
    config = json.loads((folder / "config.json").read_text())
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config))


def records(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


PATIENCE = 60
"""Steps after which a person stops a run whose every loss is NaN."""


class Watch(TrainerCallback):
    """Calls the program's own hook after every step, and stops a hopeless run."""

    def __init__(self, end: Callable[[int], None] | None, trace: Trace):
        self.end, self.trace = end, trace

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.end:
            self.end(state.global_step)
        control.should_training_stop = control.should_training_stop or self.trace.hopeless()


class StopAt(TrainerCallback):
    def __init__(self, step: int):
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = state.global_step == self.step


def traced(base: type, trace: Trace) -> type:
    """The trainer class, noting the loss of every step before any filter or average touches it."""

    class Traced(base):
        def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            weight = inputs.pop("weight", None) if model.training else None
            loss = super().compute_loss(model, inputs, *args, **kwargs)
            return loss if weight is None else loss * weight.mean()

        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            loss = super().training_step(*args, **kwargs)
            trace.losses.append(float(loss.detach()))
            return loss

    Traced.__name__ = base.__name__
    return Traced


def run(parts: Parts, trainer: Any, trace: Trace) -> None:
    trainer.add_callback(Watch(parts.end, trace))
    print(f"***** Running training *****\n  Num examples = {len(parts.train):,}", flush=True)
    print(f"  Number of trainable parameters = {sum(p.numel() for p in trainer.model.parameters()):,}", flush=True)
    trainer.train(
        resume_from_checkpoint=str(parts.folder / f"checkpoint-{parts.restart_at}") if parts.restart_at else None
    )
    trainer.save_state()
    trace.outcome["finished"] = 1.0


@torch.no_grad()
def held_loss(model: Any, examples: list[Example], pad: int) -> float:
    """Mean loss per trained token over the held examples, computed apart from the trainer."""
    model.eval()
    total = count = 0.0
    for i in range(0, len(examples), 32):
        batch = collate(examples[i : i + 32], pad)
        kept = int((batch["labels"][:, 1:] != IGNORED).sum())
        total += float(model(**batch).loss) * kept
        count += kept
    return total / max(count, 1)


def collate(examples: list[Example], pad: int) -> dict[str, torch.Tensor]:
    longest = max(len(e["input_ids"]) for e in examples)

    def grid(key: str, fill: int) -> torch.Tensor:
        return torch.tensor([e[key] + [fill] * (longest - len(e[key])) for e in examples])

    mask = torch.tensor([[1] * len(e["input_ids"]) + [0] * (longest - len(e["input_ids"])) for e in examples])
    batch = {"input_ids": grid("input_ids", pad), "labels": grid("labels", IGNORED), "attention_mask": mask}
    if "weight" in examples[0]:
        batch["weight"] = torch.tensor([e["weight"] for e in examples])
    return batch


def blocks(texts: list[str], tokenizer: Any, size: int) -> list[Example]:
    """Texts one after the other, cut into blocks of `size` tokens."""
    ids: list[int] = []
    for text in texts:
        ids += [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]
    cut = [ids[i : i + size] for i in range(0, len(ids) - size + 1, size)]
    return [{"input_ids": c, "labels": list(c)} for c in cut]


def chat_example(tokenizer: Any, record: Record) -> Example:
    """Ids of the chat template; labels on what the assistant says, its end token included."""
    made = tokenizer.apply_chat_template(
        record["messages"], tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    ids, mask = list(made["input_ids"]), list(made["assistant_masks"])
    return {"input_ids": ids, "labels": [i if m else IGNORED for i, m in zip(ids, mask, strict=True)]}
