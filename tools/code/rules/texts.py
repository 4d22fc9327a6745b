"""Rules on how texts are tokenised, padded and cut, and which items are left out."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import instead
from ..program import argument, key, last, receiver
from .data import TRAINED, loaders
from .look import TEST, keyword, source
from .rule import Fault, View, rule


@rule("tokenised-in-the-loop", "S3", "dataloader-bottleneck", "tokenizer tok padding=",
      bad="""
      for batch in loader:
          inputs = tokenizer(batch["text"], return_tensors="pt", padding=True)
          loss = model(**inputs, labels=batch["labels"]).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def tokenised_in_the_loop(view: View) -> Iterator[Fault]:
    """Text is tokenised inside the training loop.

    Why: the GPU waits for it in every step; a loader's workers or a mapped dataset do it beside.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if (
                (
                    (isinstance(call, ast.Call) and view.roles.of(call.func) == "tokenizer" and _encodes(call))
                    or (isinstance(call, ast.Call) and key(call.func) == "tokenizer")
                )
                and not event.guards
                and training.whole
                and not any(True for _ in view.program.find("generate"))
            ):
                yield Fault(
                    call, "text is tokenised in the training loop: the GPU waits", "在训练循环里分词：GPU 在等待"
                )
                break


@rule("evaluation-drops-items", "S2", "eval-metrics-empty", "drop_last",
      bad="test_loader = DataLoader(test_set, batch_size=64, drop_last=True)\n",
      good="test_loader = DataLoader(test_set, batch_size=64, drop_last=False)\n")  # fmt: skip
def evaluation_drops_items(view: View) -> Iterator[Fault]:
    """The loader of an evaluation drops its last batch.

    Why: some items are never scored, and the score depends on the batch size.
    """
    for call, name in loaders(view):
        value = argument(call, "drop_last")
        data = key(argument(call, "dataset", 0))
        if value is not None and keyword(call, "drop_last") is True and (TEST.search(name) or TEST.search(last(data))):
            if not TRAINED.search(name) and not TRAINED.search(data):
                yield Fault(
                    call, "the evaluation drops its last batch", "评测丢弃了最后一个批次", (instead(value, "False"),)
                )


@rule("batched-generation-padded-right", "S1", "padding-side-wrong", "padding_side",
      bad="""
      tokenizer.padding_side = "right"
      inputs = tokenizer(prompts, padding=True, return_tensors="pt")
      out = model.generate(**inputs)
      """,
      good="""
      tokenizer.padding_side = "left"
      inputs = tokenizer(prompts, padding=True, return_tensors="pt")
      out = model.generate(**inputs)
      """)  # fmt: skip
def batched_generation_padded_right(view: View) -> Iterator[Fault]:
    """Prompts are padded on the right before generation.

    Why: a decoder goes on from padding: short prompts of a batch give rubbish.
    """
    program = view.program
    generated = [c for c in program.find("generate") if view.roles.of(receiver(c)) != "rollout"]
    if not generated or re.search(r"""padding_side\s*=\s*["']left""", program.text) or "Seq2Seq" in program.text:
        return
    for node in program.nodes:
        value = None
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Attribute)
            and node.targets[0].attr == "padding_side"
        ):
            value = node.value
        elif isinstance(node, ast.Call):
            value = argument(node, "padding_side")
        if isinstance(value, ast.Constant) and value.value == "right" and not view.trainings:
            yield Fault(value, "prompts are padded on the right, and the model generates from padding",
                        "右侧填充后再生成：模型从 padding 之后续写", (instead(value, '"left"'),), beside=(generated[0],))  # fmt: skip


@rule("truncation-cuts-the-answer", "S2", "all-labels-masked", "truncation_side",
      bad="""
      tokenizer.truncation_side = "right"
      ids = tokenizer(prompt + answer, truncation=True, max_length=512)["input_ids"]
      trainer = SFTTrainer(model, train_dataset=data)
      """,
      good="""
      tokenizer.truncation_side = "left"
      ids = tokenizer(prompt + answer, truncation=True, max_length=512)["input_ids"]
      trainer = SFTTrainer(model, train_dataset=data)
      """)  # fmt: skip
def truncation_cuts_the_answer(view: View) -> Iterator[Fault]:
    """Prompt and answer are cut on the right, where the answer stands.

    Why: long prompts lose their answers; where those alone are trained on, nothing is left.
    """
    program = view.program
    right = [n.value for n in program.nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Attribute)
             and n.targets[0].attr == "truncation_side" and isinstance(n.value, ast.Constant) and n.value.value == "right"]  # fmt: skip
    for call in program.nodes:
        if isinstance(call, ast.Call) and right and keyword(call, "truncation") is True and call.args:
            said = source(program, call.args[0])
            if re.search(r"prompt|question|instruction", said) and re.search(
                r"answer|response|completion|output", said
            ):
                yield Fault(right[0], "truncation on the right cuts the answer, not the prompt", "右侧截断会切掉答案",
                            (instead(right[0], '"left"'),), beside=(call,))  # fmt: skip


def _encodes(call: ast.Call) -> bool:
    """Whether a call has the arguments of a tokenizer."""
    return any(k.arg in ("padding", "truncation", "return_tensors", "max_length") for k in call.keywords)
