"""Rules on adapters and moving averages of weights: what trains, what is a copy, what comes back."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, receiver
from ...source import walk
from ..look import option
from ..meaning.ways import given, opaque
from ..rule import Fault, View, rule


@rule("adapter-not-trainable", "S1", "finetune-no-effect", "PeftModel.from_pretrained PeftModelForCausalLM.from_pretrained",
      bad="""
      model = PeftModel.from_pretrained(base, "adapter")
      trainer = Trainer(model=model, args=args, train_dataset=data)
      trainer.train()
      """,
      good=("""
      model = PeftModel.from_pretrained(base, "adapter", is_trainable=True)
      trainer = Trainer(model=model, args=args, train_dataset=data)
      trainer.train()
      """, """
      model = PeftModel.from_pretrained(base, "adapter").merge_and_unload()
      trainer = Trainer(model=model, args=args, train_dataset=data)
      trainer.train()
      """))  # fmt: skip
def adapter_not_trainable(view: View) -> Iterator[Fault]:
    """An adapter is loaded to be trained on, and is loaded for use only.

    Why: without `is_trainable=True` its weights are frozen: nothing is trained, or there is nothing to optimise.
    """
    program = view.program
    for call in program.find("from_pretrained"):
        if not re.search(r"(Peft|LoRA)Model\w{0,40}\.from_pretrained$", program.path(call.func)) or opaque(view, call) or given(view, call, "is_trainable")[0]:  # fmt: skip
            continue
        taken = _taken(program, call)
        name = key(taken.targets[0]) if taken is not None else ""
        if not name or re.search(
            r"requires_grad(_\(|\s{0,4}=[^=])|disable_adapter|load_adapter|ref_model|reference",
            program.text,
        ):
            continue
        merged = [c.lineno for c in program.find("merge_and_unload", "merge_adapter")]
        every = list(_trained(view, name))
        here = [u for u in every if program.scope(u) is program.scope(taken)] if taken is not None else []
        later = [u for u in here if taken is not None and u.lineno > taken.lineno]
        used = next(iter(later), None) if here else next(iter(every), None)
        if used is not None and not any(m <= used.lineno for m in merged) and (here or not merged):
            yield Fault(call, f"`{name}` is trained, and its adapter is loaded for use only: `is_trainable=True` is missing",
                        f"要训练 `{name}`，但适配器以推理方式加载：缺少 `is_trainable=True`", beside=(used,))  # fmt: skip


def _taken(program: Program, call: ast.Call) -> ast.Assign | None:
    """What gives a name to a value, here or where the function that gives it back is called."""
    statement = program.statement(call)
    if isinstance(statement, ast.Return) and statement.value is call:
        found = program.callers(program.scope(call))
        call = found[0] if len(found) == 1 else call
        statement = program.statement(call)
    return statement if isinstance(statement, ast.Assign) and statement.value is call else None


def _trained(view: View, name: str) -> Iterator[ast.Call]:
    """Where a model is trained: by an optimizer of its parameters, or a trainer that is given it."""
    program = view.program
    for node in program.each(ast.Call):
        asked = (n for n in walk(node) if isinstance(n, ast.Call)) if view.roles.of(node) == "optimizer" else ()
        own = any(last(key(n.func)) in ("parameters", "named_parameters") and key(receiver(n)) == name for n in asked)
        trainer = last(program.path(node.func)).endswith("Trainer") and ".train(" in program.text
        if own or (trainer and key(option(program, node, "model") or next(iter(node.args), None)) == name):
            yield node


@rule("new-rows-not-trained", "S2", "untrained-special-tokens", "resize_token_embeddings",
      bad="""
      tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
      model.resize_token_embeddings(len(tokenizer))
      model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
      """,
      good="""
      tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
      model.resize_token_embeddings(len(tokenizer))
      model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"], modules_to_save=["embed_tokens", "lm_head"]))
      """)  # fmt: skip
def new_rows_not_trained(view: View) -> Iterator[Fault]:
    """Tokens are added, and the adapter leaves the embedding frozen.

    Why: the rows of the new tokens stay as they were made: random, and the same for ever.
    """
    program = view.program
    configs = list(program.find("LoraConfig"))
    added = [
        c
        for c in program.find("add_special_tokens", "add_tokens")
        if view.roles.of(receiver(c)) == "tokenizer" and c.args and not _padding_only(view, c.args[0])
    ]
    if not added or not configs or re.search(r"embed_tokens|lm_head|modules_to_save|trainable_token|wte|word_embeddings|get_input_embeddings\(\)", program.text,):  # fmt: skip
        return
    for call in program.find("resize_token_embeddings"):
        if not any(opaque(view, c) for c in configs):
            yield Fault(configs[0], "the adapter leaves the embedding frozen, and tokens were added",
                        "适配器冻结了 embedding，而词表里加了新 token", beside=(call, added[0]))  # fmt: skip
            return


def _padding_only(view: View, expr: ast.expr) -> bool:
    value = view.program.origin(expr)
    return isinstance(value, ast.Dict) and all(
        isinstance(k, ast.Constant) and k.value == "pad_token" for k in value.keys
    )


@rule("merged-into-quantised", "S2", "lora-merge-mismatch", "merge_and_unload",
      bad="""
      import torch
      base = AutoModelForCausalLM.from_pretrained(name, load_in_4bit=True)
      model = PeftModel.from_pretrained(base, "adapter").merge_and_unload()
      model.save_pretrained("merged")
      """,
      good="""
      base = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
      model = PeftModel.from_pretrained(base, "adapter").merge_and_unload()
      model.save_pretrained("merged")
      """)  # fmt: skip
def merged_into_quantised(view: View) -> Iterator[Fault]:
    """An adapter is merged into weights of 4 or 8 bit.

    Why: the sum is rounded to the few values that there are: what was learned is partly lost.
    """
    program = view.program
    quantised = [
        c
        for c in program.find("from_pretrained", "BitsAndBytesConfig")
        if given(view, c, "load_in_4bit")[1] is True or given(view, c, "load_in_8bit")[1] is True
    ]
    plain = [
        c
        for c in program.find("from_pretrained")
        if re.search(r"torch_dtype|[^_]dtype=", program.code(c, 400))
        and "quantization" not in program.code(c, 400)
        and "load_in" not in program.code(c, 400)
    ]
    for call in program.find("merge_and_unload"):
        if quantised and not plain and "dequantize" not in program.text:
            yield Fault(call, "the adapter is merged into quantised weights",
                        "适配器被合并进量化后的权重", beside=(quantised[0],))  # fmt: skip
