"""The training programs of the lab around a library's trainer: pre-training, SFT, DPO, GRPO.

They stand for the `train.py` that a user has and triage does not see. Each reads the run directory's own `train.yaml`
and `config.json`, so that an edit of those files is an edit of the run. Runs in a child process, one thread.
"""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments

from .parts import (
    IGNORED,
    Example,
    Hook,
    Parts,
    StopAt,
    Trace,
    arguments,
    blocks,
    chat_example,
    collate,
    held_loss,
    new_model,
    records,
    run,
    traced,
)
from .text import Record, conversation, ticket


def pretrain(parts: Parts, trace: Trace, hook: Hook) -> None:
    """Hugging Face Trainer on blocks of plain text."""
    size = parts.settings["block_size"]
    parts.model = new_model(parts.folder)
    parts.train = blocks([r["text"] for r in parts.records("train")], parts.tokenizer, size)
    parts.held = blocks([r["text"] for r in parts.records("validation")], parts.tokenizer, size)
    hook(parts)
    _supervised(parts, trace)


def sft(parts: Parts, trace: Trace, hook: Hook) -> None:
    """Hugging Face Trainer on chat records, loss on the assistant's tokens."""
    base = Path(parts.settings["model_name_or_path"])
    parts.model = AutoModelForCausalLM.from_pretrained(base) if base.is_dir() else new_model(parts.folder)
    parts.label = chat_example
    start = parts.settings.get("resume_from_checkpoint")
    if start:
        parts.model.save_pretrained(str(parts.folder / start))
    hook(parts)
    if start:
        print(f"Loading weights from checkpoint {start}", flush=True)
        parts.model = AutoModelForCausalLM.from_pretrained(str(parts.folder / start))
    label, limit = parts.label or chat_example, parts.settings["max_length"]

    def example(record: Record) -> Any:
        made = {k: v[:limit] for k, v in label(parts.tokenizer, record).items()}
        return made | ({"weight": record["weight"]} if "weight" in record else {})

    parts.train = [example(r) for r in parts.records("train")]
    parts.held = [example(r) for r in parts.records("validation")]
    _dump(parts, limit)
    if parts.settings.get("benchmark"):
        _benchmark(parts, "base_results")
    _supervised(parts, trace)
    if parts.settings.get("benchmark"):
        trace.outcome["general"] = _benchmark(parts, "results")
    trace.outcome["stops"] = _generations(parts)


def _supervised(parts: Parts, trace: Trace) -> None:
    args = arguments(TrainingArguments, parts, label_names=["labels"], remove_unused_columns=False)
    pad = parts.tokenizer.pad_token_id
    if parts.settings.get("freeze_base_model"):
        for name, p in parts.model.named_parameters():
            p.requires_grad_("ln_f" in name)
    trainer = _trainer(parts, args, trace)
    if parts.settings.get("eval_answers"):
        trainer.add_callback(Answers(trainer, parts))
    if parts.restart_at:
        _first_attempt(parts, trace)
    if parts.decay_steps:
        from transformers import get_scheduler

        trainer.create_optimizer()
        trainer.lr_scheduler = get_scheduler("cosine", trainer.optimizer, args.warmup_steps, parts.decay_steps)
        hold = trainer.lr_scheduler.lr_lambdas[0]
        trainer.lr_scheduler.lr_lambdas = [lambda step: hold(min(step, parts.decay_steps))] * len(
            trainer.optimizer.param_groups
        )
    run(parts, trainer, trace)
    trace.outcome["held_loss"] = held_loss(parts.model, parts.held, pad)
    kept = parts.folder / "final"
    if parts.settings.get("save_final"):
        trainer.save_model(str(kept))


@torch.no_grad()
def right_answers(model: Any, examples: list[Example], pad: int) -> float:
    """Share of the examples whose every trained token is the likeliest: what greedy decoding answers exactly right."""
    model.eval()
    right = 0
    for i in range(0, len(examples), 32):
        batch = collate(examples[i : i + 32], pad)
        batch.pop("weight", None)
        labels = batch["labels"][:, 1:]
        same = model(**batch).logits[:, :-1].argmax(-1) == labels
        right += int((same | (labels == IGNORED)).all(1).sum())
    return right / len(examples)


class Answers(TrainerCallback):
    """Logs the share of held-out questions answered exactly right, after every evaluation and for the last model."""

    def __init__(self, trainer: Any, parts: Parts):
        self.trainer, self.parts = trainer, parts

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        share = right_answers(self.trainer.model, self.parts.held, self.parts.tokenizer.pad_token_id)
        self.trainer.log({"eval_accuracy": share})
        told = {"eval_accuracy": share, "eval_samples": len(self.parts.held), "step": state.global_step}
        (self.parts.folder / "eval_results.json").write_text(json.dumps(told, indent=1) + "\n")


BENCHMARK = 400
"""Questions of each task that a model is asked before and after fine-tuning."""


def _benchmark(parts: Parts, name: str) -> float:
    """Exact match on general questions and on the domain's, written as an evaluation harness does; the general one."""
    rng = random.Random(f"benchmark {parts.settings['seed']}")
    tasks = {"general_questions": conversation, "tickets": ticket}
    results, pad = {}, parts.tokenizer.pad_token_id
    for task, make in tasks.items():
        asked = [chat_example(parts.tokenizer, make(rng)) for _ in range(BENCHMARK)]
        share = right_answers(parts.model, asked, pad)
        error = math.sqrt(share * (1 - share) / BENCHMARK)
        results[task] = {"alias": task, "exact_match,none": share, "exact_match_stderr,none": error}
    sizes = {task: {"original": BENCHMARK, "effective": BENCHMARK} for task in tasks}
    (parts.folder / "eval").mkdir(exist_ok=True)
    out = json.dumps({"results": results, "n-samples": sizes}, indent=1)
    (parts.folder / "eval" / f"{name}.json").write_text(out + "\n")
    return results["general_questions"]["exact_match,none"]


def _trainer(parts: Parts, args: Any, trace: Trace) -> Any:
    pad = parts.tokenizer.pad_token_id
    return traced(Trainer, trace)(
        model=parts.model,
        args=args,
        train_dataset=parts.train,
        eval_dataset=parts.held,
        data_collator=lambda batch: collate(batch, pad),
    )


def _first_attempt(parts: Parts, trace: Trace) -> None:
    """Train to `restart_at` and leave a checkpoint there; what is printed is the first part of the log."""
    more = {"label_names": ["labels"], "remove_unused_columns": False, "save_steps": parts.restart_at}
    trainer = _trainer(parts, arguments(TrainingArguments, parts, **more, save_strategy="steps"), trace)
    trainer.add_callback(StopAt(parts.restart_at))
    trainer.train()
    print("slurmstepd: error: *** STEP CANCELLED DUE TO PREEMPTION ***", flush=True)


def _dump(parts: Parts, limit: int) -> None:
    """The first tokenised examples, as a program writes them for debugging: padded, with pad and end ids."""
    tokenizer, out = parts.tokenizer, []
    for example, record in zip(parts.train[:32], parts.records("train"), strict=False):
        ids, labels = example["input_ids"], example["labels"]
        prompt = len(
            tokenizer.apply_chat_template(record["messages"][:1], add_generation_prompt=True, return_dict=True)[
                "input_ids"
            ]
        )
        fill = limit - len(ids)
        out.append({
            "input_ids": ids + [tokenizer.pad_token_id] * fill, "labels": labels + [IGNORED] * fill,
            "attention_mask": [1] * len(ids) + [0] * fill,
            "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id,
            "prompt_length": prompt,
        })  # fmt: skip
    lines = "".join(json.dumps(o) + "\n" for o in out)
    (parts.folder / "tokenized_sample.jsonl").write_text(lines)


@torch.no_grad()
def _generations(parts: Parts, count: int = 40) -> float:
    """Write greedy answers to the first held prompts as `generations.jsonl`; the share that stops by itself."""
    tokenizer, out, stopped = parts.tokenizer, [], 0
    limit = parts.settings.get("max_new_tokens", 24)
    parts.model.eval()
    for record in parts.records("validation")[:count]:
        prompt = record["messages"][:1]
        made = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=True, return_tensors="pt")
        ids = parts.model.generate(
            **made, max_new_tokens=limit, do_sample=False, pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )  # fmt: skip
        new = ids[0, made["input_ids"].shape[1] :].tolist()
        ends = tokenizer.eos_token_id in new
        stopped += ends
        out.append({
            "prompt": prompt[0]["content"], "completion": tokenizer.decode(new, skip_special_tokens=True),
            "completion_tokens": len(new), "max_new_tokens": limit, "finish_reason": "stop" if ends else "length",
        })  # fmt: skip
    text = "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in out)
    (parts.folder / "generations.jsonl").write_text(text, encoding="utf-8")
    return stopped / count


def dpo(parts: Parts, trace: Trace, hook: Hook) -> None:
    """TRL's DPOTrainer from the lab's own SFT model."""
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    base = parts.settings["model_name_or_path"]
    parts.model, parts.reference = (AutoModelForCausalLM.from_pretrained(base) for _ in range(2))
    keep = ("prompt", "chosen", "rejected")
    sets = {
        name: [{k: r[k] for k in keep} for r in records(parts.folder / f"data/{name}.jsonl")]
        for name in ("train", "validation")
    }
    parts.train, parts.held = [_as_chat(r) for r in sets["train"]], [_as_chat(r) for r in sets["validation"]]
    hook(parts)
    args = arguments(DPOConfig, parts)
    trainer = traced(DPOTrainer, trace)(
        model=parts.model,
        ref_model=parts.reference,
        args=args,
        processing_class=parts.tokenizer,
        train_dataset=Dataset.from_list(parts.train),
        eval_dataset=Dataset.from_list(parts.held),
    )
    run(parts, trainer, trace)
    history = [h for h in trainer.state.log_history if "eval_rewards/accuracies" in h]
    last = history[-1] if history else {}
    trace.outcome |= {
        "accuracy": last.get("eval_rewards/accuracies", 0.0),
        "chosen": last.get("eval_rewards/chosen", float("nan")),
    }


def _as_chat(record: Record) -> Record:
    roles = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
    return {k: [{"role": roles[k], "content": v}] for k, v in record.items()}


def grpo(parts: Parts, trace: Trace, hook: Hook) -> None:
    """TRL's GRPOTrainer from the lab's own SFT model; the reward is the share of the answer's words that are right."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    parts.model = AutoModelForCausalLM.from_pretrained(parts.settings["model_name_or_path"])
    parts.train = [{"prompt": r["messages"][:1], "answer": r["messages"][1]["content"]} for r in parts.records("train")]
    parts.reward = overlap_reward
    hook(parts)
    args = arguments(GRPOConfig, parts)
    trainer = traced(GRPOTrainer, trace)(
        model=parts.model,
        reward_funcs=parts.reward,
        args=args,
        processing_class=parts.tokenizer,
        train_dataset=Dataset.from_list(parts.train),
    )
    if parts.quiz:
        trainer.add_callback(Quiz(trainer, parts))
    run(parts, trainer, trace)
    history = trainer.state.log_history
    for key in ("reward", "entropy", "reward_std", "frac_reward_zero_std"):
        values = [h[key] for h in history if key in h]
        tail = values[-max(1, len(values) // 5) :]
        trace.outcome[key] = sum(tail) / max(len(tail), 1)


class Quiz(TrainerCallback):
    """How well greedy decoding answers held-out questions, every five steps, as a program of one's own logs it."""

    def __init__(self, trainer: Any, parts: Parts):
        self.trainer, self.parts = trainer, parts
        self.asked = [r["messages"] for r in parts.records("validation")[:16]]

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % 5 == 0:
            told = [self._answer(messages[:1]) for messages in self.asked]
            right = [similarity(t, m[1]["content"]) for t, m in zip(told, self.asked, strict=True)]
            self.trainer.log({"eval_accuracy": sum(right) / len(right)})

    @torch.no_grad()
    def _answer(self, prompt: list[dict[str, str]]) -> str:
        tokenizer, model = self.parts.tokenizer, self.trainer.model
        made = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=True, return_tensors="pt")
        ids = model.generate(**made, max_new_tokens=12, do_sample=False, pad_token_id=tokenizer.pad_token_id)
        return tokenizer.decode(ids[0, made["input_ids"].shape[1] :], skip_special_tokens=True)


def overlap_reward(completions: list[Any], answer: list[str], **_: Any) -> list[float]:
    """Overlap of the answer's characters with the reference, in [0, 1]; graded, so that groups differ."""
    return [similarity(c[0]["content"], a) for c, a in zip(completions, answer, strict=True)]


def similarity(text: str, wanted: str) -> float:
    pieces = [re.findall(r"\w{1,2}", s.lower()) for s in (text, wanted)]
    common = sum(min(pieces[0].count(p), pieces[1].count(p)) for p in set(pieces[1]))
    return 2 * common / max(len(pieces[0]) + len(pieces[1]), 1)
