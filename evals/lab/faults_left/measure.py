"""What is measured on the tiny models for the tables that are left: right answers and losses, by source or setting."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..parts import Example, Parts


def marks(model: Any, examples: Sequence[Example]) -> list[float]:
    """The share of each example's trained tokens that are the likeliest: partial credit, as tiny models need."""
    import torch

    from ..parts import IGNORED, collate

    out = []
    with torch.no_grad():
        for example in examples:
            batch = collate([example], 0)
            labels = batch["labels"][:, 1:]
            kept = labels != IGNORED
            same = model.eval()(**batch).logits[:, :-1].argmax(-1) == labels
            out.append(float(same[kept].float().mean()) if kept.any() else 0.0)
    return out


def mean(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    middle = sum(values) / len(values)
    return middle, math.sqrt(sum((v - middle) ** 2 for v in values)) / len(values)


def losses_by_source(parts: Parts) -> dict[str, float]:
    """The held-out loss on each language."""
    from ..parts import held_loss

    sides: dict[str, list[Any]] = {"en_web": [], "zh_web": []}
    for example, record in zip(parts.held, parts.records("validation"), strict=True):
        sides["en_web" if record["messages"][0]["content"].isascii() else "zh_web"].append(example)
    return {k: held_loss(parts.model, v, parts.tokenizer.pad_token_id) for k, v in sides.items()}


def asked(parts: Parts, count: int, seed: int) -> list[tuple[Any, Example]]:
    """New questions of the same kind, as records and as examples."""
    from ..parts import chat_example
    from ..text import conversations

    return [(r, chat_example(parts.tokenizer, r)) for r in conversations(count, seed)]


def unframed(parts: Parts, example: Example) -> Example:
    """The same example without the special tokens of the chat template."""
    special = set(parts.tokenizer.all_special_ids) | {1}
    ids = example["input_ids"]
    return {key: [v for v, i in zip(values, ids, strict=True) if i not in special] for key, values in example.items()}


def coarse(model: Any, levels: int) -> Any:
    """A copy of the model whose matrices hold so many values a row."""
    import torch

    made = copy.deepcopy(model)
    with torch.no_grad():
        for p in made.parameters():
            if p.ndim == 2:
                scale = p.abs().amax(1, keepdim=True) / (levels // 2)
                p.copy_((p / scale).round() * scale)
    return made


def sampled(parts: Parts, record: Any, heat: float, longest: int) -> tuple[str, bool]:
    """One answer at a temperature (0 is greedy), and whether it ended by itself."""
    tokenizer = parts.tokenizer
    made = tokenizer.apply_chat_template(
        record["messages"][:1], add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    how = {"do_sample": True, "temperature": heat} if heat else {"do_sample": False}
    ids = parts.model.generate(
        **made, **how, max_new_tokens=longest, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id
    )
    new = ids[0, made["input_ids"].shape[1] :].tolist()
    return tokenizer.decode(new, skip_special_tokens=True), tokenizer.eos_token_id in new
