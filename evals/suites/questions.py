"""Is a question understood? `python -m triage.evals.suites.questions FILE.jsonl [--wrong]`.

A line has `q`, the topics that it `suspects`, `denies`, `doubts` or that others told of (`told_by_others`), and `plans`
of variable and direction; or `text`, and what it `suspects` by entry (`normalized`). Prints how many suspicions and
plans were recognised, with the right polarity and direction, and how many were seen where there are none.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...agent.question.polarity import Suspicion
from ...agent.question.topics import of_entry
from ...agent.question.understand import Question, understand
from ...agent.session import index

SAME: dict[str, str] = {
    line.split()[0]: line.split()[1]
    for line in """
max_grad_norm grad_clip
per_device_train_batch_size micro_batch_size
global_batch_size micro_batch_size
batch_size micro_batch_size
train_batch_size micro_batch_size
num_train_epochs epochs
num_epochs epochs
temperature rollout_temperature
sampling_temperature rollout_temperature
data_mixture data
bf16 precision
fp16 precision
gradient_checkpointing activation_checkpointing
gradient_accumulation_steps grad_accumulation
max_seq_length sequence_length
max_tokens max_response_length
max_new_tokens max_response_length
max_completion_length max_response_length
lr_scheduler_type lr_schedule
lora_dropout dropout
kl_beta kl_coef
beta kl_coef
dpo_beta kl_coef
dataset data
tensor_parallel_size tensor_parallel
dataloader_num_workers num_workers
dataloader_pin_memory pin_memory
lora_r lora_rank
warmup_ratio warmup_steps
load_in_4bit quantization
transformers library
vllm library
attn_implementation flash_attention
resume_from_checkpoint checkpoint
node hardware
""".strip().splitlines()
}
"""Names of one setting -> the name that it is compared by."""
ALIKE = ({"set", "enable", "do"}, {"remove", "disable"})
"""Directions that say the same of one variable."""


DIRECTIONS = {"up": "raise", "down": "lower", "on": "enable", "off": "disable", "set": "set"}


def meant(said: Suspicion, truth: Mapping[str, str]) -> list[str]:
    """Which of the topics or entries of a row a suspicion means; its own name where it means none of them."""
    entry = index(None).runbook.get(said.topic.id)
    names = {said.topic.id, *(t.id for t in of_entry(entry))} if entry else {said.topic.id}
    return [n for n in truth if n in names or re.fullmatch(said.topic.entries, n)] or [said.topic.id]


def normalized(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `suspects` with `cause` and `polarity` and of `plans`, or one `plan` (up, down, on, off), as one with
    topics."""
    if "text" not in row:
        return dict(row)
    kinds = {kind: [s["cause"] for s in row["suspects"] if s["polarity"] == kind] for kind in ("denies", "doubts")}
    suspects = [s["cause"] for s in row["suspects"] if s["polarity"] in ("suspects", "told")]
    wished = row["plans"] if "plans" in row else [row["plan"]] if row["plan"] else []
    plans = [{**p, "direction": DIRECTIONS[p["direction"]]} for p in wished if p["direction"] in DIRECTIONS]
    return {"q": row["text"], "suspects": suspects, **kinds, "told_by_others": [], "plans": plans}


def scored(row: Mapping[str, Any], asked: Question) -> Counter[str]:
    """What of one question was right; "fp16 off, bf16 on" is one plan that sets the precision."""
    count: Counter[str] = Counter()
    truth = {topic: kind for kind in ("suspects", "denies", "doubts") for topic in row[kind]}
    found = {topic: s.polarity for s in asked.suspicions[::-1] for topic in meant(s, truth)}
    for topic, polarity in truth.items():
        count["suspicions"] += 1
        count["recognised"] += topic in found
        count["polarity"] += found.get(topic) == polarity
    count["extra"] += sum(topic not in truth and topic not in row["told_by_others"] for topic in found)
    plans: dict[str, set[str]] = {}
    for p in asked.plans:
        plans.setdefault(SAME.get(p.variable, p.variable), set()).add(p.direction)
    wished: dict[str, set[str]] = {}
    for plan in row["plans"]:
        name = str(plan["variable"])
        wished.setdefault(SAME.get(name, name), set()).add(plan["direction"])
    for variable, ways in wished.items():
        found, right = plans.get(variable, set()), "set" if len(ways) > 1 else min(ways)
        way = "set" if len(found) > 1 else min(found, default=None)
        count["plans"] += 1
        count["variable"] += way is not None
        count["direction"] += way == right or any({way, right} <= group for group in ALIKE)
    count["extra plans"] += max(len(plans) - len(row["plans"]), 0)
    return count


def rows(file: Path) -> Iterator[dict[str, Any]]:
    return (normalized(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--wrong", action="store_true", help="print the questions that were not understood")
    options = parser.parse_args()
    books, total = index(None), Counter[str]()
    for row in rows(options.file):
        count = scored(row, asked := understand(row["q"], books.corrected, books.search))
        total += count
        wrong = count["polarity"] < count["suspicions"] or count["direction"] < count["plans"] or count["extra"]
        if options.wrong and wrong:
            print(
                row["q"],
                [(s.topic.id, s.polarity) for s in asked.suspicions],
                [(p.variable, p.direction) for p in asked.plans],
            )
    for part, whole in (
        ("recognised", "suspicions"),
        ("polarity", "recognised"),
        ("variable", "plans"),
        ("direction", "plans"),
    ):
        print(f"{part:12} {total[part]:4} of {total[whole]}")
    print(f"seen where there is none: {total['extra']} suspicions, {total['extra plans']} plans")


if __name__ == "__main__":
    main()
