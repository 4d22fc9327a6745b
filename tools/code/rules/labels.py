"""Rules on the labels of language models: shift, padding, mask."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import instead
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..source import walk
from .look import model_call, no_grad, source
from .loss import base, entropies
from .rule import Fault, View, rule
from .steps.aligned import labels_filled_with_pad
from .steps.padding import targets_padded
from .steps.shifts import moved_by_one, moved_labels, one_later, same_positions, sliced

LENGTH = re.compile(r"\blen\([^()]{0,80}\)")
COLLATOR = "DataCollatorForLanguageModeling"
SHIFTED = """
import torch.nn.functional as F
for batch in loader:
    ids = batch["input_ids"]
    logits = model(ids).logits
    loss = F.cross_entropy({logits}.reshape(-1, vocab), {labels}.reshape(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def _fed(view: View, logits: ast.expr) -> set[str]:
    """The names of what was put into the model that made the logits."""
    for node in view.program.traced(logits, 3):
        own = isinstance(node, ast.Call) and key(node.func) == "self"
        if isinstance(node, ast.Call) and (own or (model_call(view, node) and view.roles.of(node.func) == "model")):
            return {
                base(view, a)
                for a in (*node.args, *(k.value for k in node.keywords if k.arg in ("input_ids", "x", "idx")))
            }
    return set()


@rule("labels-not-shifted", "S1", "loss-mask-misaligned", "cross_entropy CrossEntropyLoss",
      bad=SHIFTED.format(logits="logits", labels="ids"), good=SHIFTED.format(logits="logits[:, :-1]", labels="ids[:, 1:]"))  # fmt: skip
def labels_not_shifted(view: View) -> Iterator[Fault]:
    """The logits of a position are compared with the token of the same position.

    Why: the model learns to copy its input; the loss falls to zero and generation is rubbish.
    Known gaps: masked language models are meant so; they are told by their word.
    """
    if re.search(r"MaskedLM|masked_lm|mlm|T5|(?<!CollatorFor)Seq2Seq|encoder_decoder|diffusion", view.program.text):
        return
    yield from same_positions(view)
    for call, logits, labels in entropies(view):
        same = base(view, labels)
        told = _of_batch(view, logits, labels) or (same and same in _fed(view, logits))
        if told and not sliced(view, logits, same) and not sliced(view, labels, same):
            yield Fault(call, "logits and labels stand at the same positions: the model learns to copy",
                        "logits 与 labels 位置相同，没有错位：模型学会的是复制")  # fmt: skip


def _of_batch(view: View, logits: ast.expr, labels: ast.expr) -> bool:
    """Whether the labels of a batch are set against the logits of a causal model of Transformers as they stand."""
    program = view.program
    if not program.mentions("ForCausalLM", "LMHeadModel") or re.search(r"\[1:\]|\[:-1\]|roll\(", program.said):
        return False
    given = [n for n in program.traced(labels, 3) if isinstance(n, ast.Constant) and n.value == "labels"]
    made = [n for n in program.traced(logits, 4) if isinstance(n, ast.Attribute) and n.attr == "logits"]
    return bool(given and made)


@rule("labels-shifted-twice", "S1", "loss-mask-misaligned", "labels",
      bad="""
      for batch in loader:
          ids = batch["input_ids"]
          loss = model(input_ids=ids[:, :-1], labels=ids[:, 1:]).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          ids = batch["input_ids"]
          loss = model(input_ids=ids, labels=ids).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def labels_shifted_twice(view: View) -> Iterator[Fault]:
    """Labels that are shifted already go to a model that shifts them itself.

    Why: each position is trained on the token after the next.
    Known gaps: told only where the model is one of Transformers' by its `labels` argument and `.loss`.
    """
    yield from _shifted_pairs(view)
    program = view.program
    own = {n.name for n in program.each(ast.ClassDef)}
    for node in program.told("labels"):
        labels = argument(node, "labels")
        inputs = argument(node, "input_ids", 0)
        if labels is None or not model_call(view, node) or view.roles.of(node.func) != "model":
            continue
        made = program.origin(node.func)
        if (isinstance(made, ast.Call) and last(program.path(made.func)) in own) or not _takes_loss(view, node):
            continue
        cut = inputs is not None and _shift(view, labels) == "1:" and _shift(view, inputs) == ":-1"
        later = inputs is not None and one_later(program, inputs, labels)
        if cut or later or moved_by_one(program, labels) is not None:
            fix = _unshifted(view, labels, inputs) if cut and inputs is not None else ()
            yield Fault(labels, "the labels are shifted here, and the model shifts them again",
                        "labels 在这里已经错位，模型内部还会再错位一次", fix)  # fmt: skip


def _shifted_pairs(view: View) -> Iterator[Fault]:
    """A dataset that shifts, in a program whose model shifts too."""
    program = view.program
    foreign = program.mentions("from_pretrained", "LMHeadModel", "ForCausalLM")
    if not foreign or program.mentions("cross_entropy", "CrossEntropyLoss"):
        return
    models = [n for n in program.told("labels") if _takes_loss(view, n) and argument(n, "input_ids", 0) is not None]
    models = models or [n for n in program.each(ast.Call) if any(k.arg is None for k in n.keywords)
                        and _takes_loss(view, n) and model_call(view, n)]  # fmt: skip
    trainers = [c for n in program.calls if re.search(r"Trainer$", n) for c in program.find(n)]
    models = models or (trainers if not program.mentions("def compute_loss") else [])
    if not models:
        return
    for node in moved_labels(program):
        yield Fault(node, "the labels are shifted here, and the model shifts them again",
                    "labels 在这里已经错位，模型内部还会再错位一次", beside=(models[0],))  # fmt: skip
    for node in program.each(ast.Dict):
        parts = {k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)}
        if "labels" in parts and "input_ids" in parts:
            if _shift(view, parts["labels"]) == "1:" and _shift(view, parts["input_ids"]) == ":-1":
                yield Fault(node, "the labels are shifted here, and the model shifts them again",
                            "labels 在这里已经错位，模型内部还会再错位一次", beside=(models[0],))  # fmt: skip


def _takes_loss(view: View, call: ast.Call) -> bool:
    above = view.program.parent.get(call)
    if isinstance(above, ast.Attribute):
        return above.attr == "loss"
    name = key(above.targets[0]) if isinstance(above, ast.Assign) else ""
    return bool(name) and f"{name}.loss" in view.program.fields


def _shift(view: View, expr: ast.expr) -> str:
    """`1:` or `:-1` of the last cut of a value along its positions."""
    for node in view.program.traced(expr, 3):
        if isinstance(node, ast.Slice) and node.step is None:
            low, high = view.program.const(node.lower), view.program.const(node.upper)
            if low == 1 and node.upper is None:
                return "1:"
            if high == -1 and node.lower is None:
                return ":-1"
    return ""


def _unshifted(view: View, labels: ast.expr, inputs: ast.expr) -> tuple:
    if (
        isinstance(labels, ast.Subscript)
        and isinstance(inputs, ast.Subscript)
        and key(labels.value) == key(inputs.value) != ""
    ):
        return instead(labels, source(view.program, labels.value)), instead(inputs, source(view.program, inputs.value))
    return ()


@rule("pad-in-loss", "S1", "pad-eos-misconfig", "labels collate_fn",
      bad="""
      def encode(batch):
          out = tokenizer(batch["text"], padding="max_length", truncation=True, max_length=512)
          out["labels"] = out["input_ids"].copy()
          return out
      """,
      good="""
      def encode(batch):
          out = tokenizer(batch["text"], padding="max_length", truncation=True, max_length=512)
          labels = [[t if t != tokenizer.pad_token_id else -100 for t in ids] for ids in out["input_ids"]]
          out["labels"] = labels
          return out
      """)  # fmt: skip
def pad_in_loss(view: View) -> Iterator[Fault]:
    """Labels are a copy of padded inputs, padding included.

    Why: the model is trained to produce padding; where padding is the end token, it learns to stop nowhere or at once.
    Known gaps: a collator in another file may mask it.
    """
    program = view.program
    yield from targets_padded(view)
    yield from labels_filled_with_pad(view)
    if program.mentions("DataCollatorForLanguageModeling", "DataCollatorForCompletion", "loss_mask") or _masks(program):
        return
    calls = (*program.told("padding"), *program.find("pad", "pad_sequence", "full", "full_like", "new_full"))
    padded = sorted({c for c in calls if _pads(view, c) or _filled(view, c)}, key=lambda c: (c.lineno, c.col_offset))
    if not padded or program.has_word(r"(?i)ignore_?(?:ind|id)|label_pad"):
        return
    for node in program.each(ast.Assign, ast.Call, ast.Dict):
        place, value = _labels_of(node)
        if value is None or place is None:
            continue
        hands_on = getattr(program.scope(node), "name", "") == "pad"  # who calls it masks what it filled up
        if hands_on or no_grad(program.contexts(node)) or _unpadded(view, value):
            continue
        made = base(view, value)
        copied = isinstance(place, ast.Dict) and made in {key(v) for v in place.values} - {""} and _batch(place)
        if "input_ids" in made or copied or re.search(r"input_ids\b", LENGTH.sub("", source(program, value))):
            alone = len(padded) == 1 and last(program.path(padded[0].func)) != "pad"
            if alone or any(program.scope(c) is program.scope(node) for c in padded):
                yield Fault(node if isinstance(node, ast.stmt) else value, "the labels are the padded inputs: padding is trained on",
                            "labels 就是填充后的输入：padding 也计入 loss", beside=(padded[0],))  # fmt: skip
                return


def _batch(made: ast.Dict) -> bool:
    """Whether a dictionary is a batch of a model: labels of a report stand beside no inputs."""
    return any(isinstance(k, ast.Constant) and k.value in ("input_ids", "inputs", "attention_mask") for k in made.keys)


def _masks(program: Program) -> bool:
    """Whether -100 is given to anything; that labels are compared with it, when scores are computed, masks nothing."""
    if "-100" not in program.text:
        return False
    unread = [n for n in program.each(ast.UnaryOp) if program.const(n) == -100]
    return not unread or any(not isinstance(program.parent.get(n), ast.Compare) for n in unread)


def _unpadded(view: View, value: ast.expr) -> bool:
    """Whether labels come from a call of the tokenizer that pads nothing."""
    calls = [n for n in walk(value) if isinstance(n, ast.Call) and view.roles.of(n.func) == "tokenizer"]
    return bool(calls) and not any(_pads(view, c) for c in calls)


def _pads(view: View, call: ast.Call) -> bool:
    value = argument(call, "padding")
    on = isinstance(value, ast.Constant) and value.value in (True, "max_length", "longest")
    if value is None and last(view.program.path(call.func)) == "pad" and view.roles.of(receiver(call)) == "tokenizer":
        return True  # it pads unless told otherwise
    return (on and (view.roles.of(call.func) == "tokenizer" or last(view.program.path(call.func)) in ("encode_plus", "pad"))) or (
        last(view.program.path(call.func)) == "pad_sequence")  # fmt: skip


def _filled(view: View, call: ast.Call) -> bool:
    """`torch.full(..., pad)`: a batch that is filled up by hand."""
    name = last(view.program.path(call.func))
    return name in ("full", "full_like", "new_full") and any("pad" in view.program.code(a).lower() for a in call.args)


def _labels_of(node: ast.AST) -> tuple[ast.AST | None, ast.expr | None]:
    """(where, what) of `x["labels"] = ...`, `labels = ...` that is a copy, and `labels=...` of a call."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        part = node.targets[0].slice
        if isinstance(part, ast.Constant) and part.value == "labels":
            return node, node.value
    if isinstance(node, ast.Call):
        value = argument(node, "labels")
        return (node, value) if value is not None else (None, None)
    if isinstance(node, ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            if isinstance(name, ast.Constant) and name.value == "labels":
                return node, value
    return None, None


@rule("prompt-in-loss", "S2", "loss-mask-misaligned", "labels",
      bad="""
      def encode(row):
          text = row["prompt"] + row["response"] + tokenizer.eos_token
          out = tokenizer(text, truncation=True, max_length=1024)
          out["labels"] = out["input_ids"].copy()
          return out
      """,
      good="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          answer = tokenizer(row["response"] + tokenizer.eos_token, add_special_tokens=False)["input_ids"]
          return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}
      """)  # fmt: skip
def prompt_in_loss(view: View) -> Iterator[Fault]:
    """Labels are a copy of the inputs though prompt and answer are known apart.

    Why: the model is trained to write prompts; short answers hardly count.
    Known gaps: training on prompts may be meant.
    """
    program = view.program
    if program.mentions("-100", "loss_mask", "ignore_index", "DataCollatorForCompletion", "train_on_responses"):
        return
    for node in program.each(ast.Assign, ast.Call, ast.Dict):
        place, value = _labels_of(node)
        scope = program.scope(node)
        if value is None or place is None or not isinstance(scope, FUNCTIONS) or not _inputs(view, value, scope):
            continue
        body = program.code(scope, 20_000)
        pair = re.search(r"prompt|instruction|question", body, re.I) and re.search(
            r"response|answer|completion|output\b", body, re.I
        )
        if pair and not isinstance(node, ast.Call):
            yield Fault(node, "the prompt is part of the labels", "prompt 也进入了 labels")


def _inputs(view: View, value: ast.expr, scope: ast.AST) -> bool:
    """Whether labels are the inputs: by their word, or the same name as what is returned as them."""
    if "input_ids" in source(view.program, value) + base(view, value):
        return True
    made = view.program.origin(value)
    if isinstance(made, ast.Call) and view.program.path(made.func) == "list" and made.args:
        made = made.args[0]
    own = {key(v) for n in view.program.within(scope, ast.Dict) for k, v in zip(n.keys, n.values, strict=True)
           if isinstance(k, ast.Constant) and k.value == "input_ids"} - {""}  # fmt: skip
    return bool({key(made), base(view, made)} & own)


@rule("end-token-masked", "S1", "pad-eos-misconfig", "pad_token",
      bad="""
      tokenizer.pad_token = tokenizer.eos_token
      labels = batch["input_ids"].clone()
      labels[labels == tokenizer.pad_token_id] = -100
      """,
      good="""
      tokenizer.add_special_tokens({"pad_token": "<pad>"})
      labels = batch["input_ids"].clone()
      labels[labels == tokenizer.pad_token_id] = -100
      """)  # fmt: skip
def end_token_masked(view: View) -> Iterator[Fault]:
    """Padding is the end token, and labels equal to padding are masked.

    Why: the true end token is masked as well: the model never learns to stop.
    """
    program = view.program
    same = [n for n in program.each(ast.Assign) if isinstance(n.targets[0], ast.Attribute)
            and n.targets[0].attr in ("pad_token", "pad_token_id") and isinstance(n.value, ast.Attribute)
            and n.value.attr.startswith("eos_token")]  # fmt: skip
    masked = _padding_masked(view) if same else None
    if masked is not None:
        yield Fault(masked, "labels equal to padding are masked, and padding is the end token: the model never learns to stop",
                    "填充符就是结束符，屏蔽填充的同时也屏蔽了结束符：模型学不会停止", severity="S2" if COLLATOR in source(program, masked) else "S1", beside=(same[0],))  # fmt: skip


@rule("padding-masked-by-token", "S3", "pad-eos-misconfig", "pad_token PAD pad_id PAD_ID",
      bad=("""
      labels = batch["input_ids"].clone()
      labels[labels == tokenizer.pad_token_id] = -100
      """, """
      PAD = tokenizer.convert_tokens_to_ids("<end>")
      labels[token_ids == PAD] = -100
      """),
      good=("""
      labels = batch["input_ids"].clone()
      labels[batch["attention_mask"] == 0] = -100
      """, """
      PAD = tokenizer.convert_tokens_to_ids("<end>")
      labels[torch.arange(n) >= lengths[:, None]] = -100
      """))  # fmt: skip
def padding_masked_by_token(view: View) -> Iterator[Fault]:
    """Labels are masked wherever the padding token stands, not where the attention mask says padding.

    Why: right as long as padding has a token of its own; where it is the end token, the end is never learned.
    """
    masked = _padding_masked(view)
    if masked is not None:
        yield Fault(masked, "labels equal to the padding token are masked: an end token that is the same would be masked too",
                    "标签里等于填充符的位置被屏蔽：若结束符与填充符相同，结束符也会被屏蔽")  # fmt: skip


def _padding_masked(view: View) -> ast.AST | None:
    """Where labels equal to the padding token are masked; the collator of transformers does so in its own file."""
    program = view.program
    if not program.mentions(COLLATOR, "-100"):
        return None
    for node in program.each(ast.Assign, ast.Call, ast.IfExp):
        called = last(program.path(node.func)) if isinstance(node, ast.Call) else ""
        if called == COLLATOR and not re.search(r"mlm\s*=\s*True", source(program, node)):
            return node
        tested = node.test if isinstance(node, ast.IfExp) else node if re.match(r"masked_fill|where$", called) else None
        text = source(program, tested) if tested is not None and "-100" in source(program, node) else ""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            text = source(program, node.targets[0].slice) if program.const(node.value) == -100 else ""
        if re.search(r"(?i)[!=]=\s*[\w.]*pad(_token)?(_id)?\b", text) and "attention_mask" not in text:
            return node
    return None
