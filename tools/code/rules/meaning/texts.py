"""Rules on labels that are filled up, joined texts, answers without end, and accuracy by position."""

# ruff: noqa: SIM102  one sentence, pattern or question on one line

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ..around.tokens import NO_START, as_handed, handed_metrics
from ..look import source
from ..rule import Fault, View, rule


@rule("labels-padded-with-a-class", "S1", "pad-eos-misconfig", "pad_sequence",
      bad="""
      def collate(rows):
          labels = pad_sequence([r["labels"] for r in rows], batch_first=True)
          return pad_sequence([r["input_ids"] for r in rows], batch_first=True), labels
      loss = F.cross_entropy(logits.transpose(1, 2), labels)
      """,
      good="""
      def collate(rows):
          labels = pad_sequence([r["labels"] for r in rows], batch_first=True, padding_value=-100)
          return pad_sequence([r["input_ids"] for r in rows], batch_first=True), labels
      loss = F.cross_entropy(logits.transpose(1, 2), labels)
      """)  # fmt: skip
def labels_padded_with_a_class(view: View) -> Iterator[Fault]:
    """Labels are filled up with 0, which is a class or a token.

    Why: cross-entropy leaves out -100 only: padding is trained on as class 0.
    """
    program = view.program
    said = re.sub(r"ignore_index\s{0,4}=\s{0,4}-100", "", program.text)  # what it is unless told
    if re.search(r"ignore_index|loss_mask|reduction\s{0,4}=\s{0,4}['\"](none|sum)|[Mm]ask", said) or not re.search(
        r"cross_entropy|CrossEntropyLoss|\.loss\b", said
    ):
        return
    if len(program.calls.get("pack_padded_sequence", ())) > len(program.calls.get("pad_packed_sequence", ())):
        return  # labels are packed as well
    for call in program.find("pad_sequence"):
        value = argument(call, "padding_value", 2)
        number = 0 if value is None else program.const(value)
        text = (program.code(call.args[0]) if call.args else "") + _target(program, call)
        if number == 0 and not isinstance(number, bool) and re.search(r"label|tags?\b|target", text) and not re.search(r"input|\bids\b|src|source", text):  # fmt: skip
            if not re.search(r"-100|== 0|!= 0", said):
                yield Fault(call, "labels are filled up with 0, which is a class: padding is trained on",
                            "标签用 0 填充，而 0 是一个类别：padding 也计入 loss")  # fmt: skip


def _target(program: Program, call: ast.Call) -> str:
    statement = program.statement(call)
    return (
        " " + program.code(statement.targets[0])
        if isinstance(statement, ast.Assign) and statement.value is call
        else ""
    )


@rule("special-tokens-in-the-middle", "S2", "double-bos", "input_ids",
      bad="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          answer = tokenizer(row["answer"])["input_ids"]
          return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}
      """,
      good="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          answer = tokenizer(row["answer"], add_special_tokens=False)["input_ids"]
          return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}
      """)  # fmt: skip
def special_tokens_in_the_middle(view: View) -> Iterator[Fault]:
    """Two tokenised texts are joined, the second with a start token of its own.

    Why: the model sees a start, or an end, between prompt and answer that it never sees in use.
    Known gaps: whether a tokenizer adds one is told by the model's name.
    """
    program = view.program
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        first, second = (_tokenised(view, side) for side in (node.left, node.right))
        if (
            first is not None
            and second is not None
            and not any(argument(second, n) is not None for n in ("add_special_tokens", "is_split_into_words"))
            and not NO_START.search(program.text)
        ):
            yield Fault(second, "the second text is tokenised with special tokens and joined behind the first",
                        "第二段文本带着特殊 token 被接在第一段后面", beside=(node,))  # fmt: skip
            return


def _tokenised(view: View, expr: ast.expr) -> ast.Call | None:
    """The call of the tokenizer whose ids a value is."""
    value = view.program.origin(expr)
    for _ in range(3):
        rest = _joined(value) if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) else None
        value = view.program.origin(rest) if rest is not None else value
    if (
        isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and value.slice.value == "input_ids"
    ) or (isinstance(value, ast.Attribute) and value.attr == "input_ids"):
        value = view.program.origin(value.value)
    elif not (isinstance(value, ast.Call) and last(view.program.path(value.func)) == "encode"):
        return None
    if not isinstance(value, ast.Call):
        return None
    on = receiver(value) if last(view.program.path(value.func)) == "encode" else value.func
    return value if view.roles.of(on) == "tokenizer" and not re.search(r"\[1:|\[:-1", view.program.code(expr)) else None


def _joined(value: ast.BinOp) -> ast.expr | None:
    """What is joined with a list that is written out: `ids` of `ids + [end]`."""
    sides = (value.left, value.right)
    return next((sides[1 - i] for i in (0, 1) if isinstance(sides[i], ast.List)), None)


@rule("answers-without-end", "S2", "endless-generation", "labels",
      bad="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          answer = tokenizer(row["response"], add_special_tokens=False)["input_ids"]
          return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}
      """,
      good="""
      def encode(row):
          prompt = tokenizer(row["prompt"])["input_ids"]
          answer = tokenizer(row["response"], add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
          return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}
      """)  # fmt: skip
def answers_without_end(view: View) -> Iterator[Fault]:
    """Answers are trained on without a token that ends them.

    Why: the model never learns to stop: in use it goes on to the limit.
    """
    program = view.program
    if re.search(
        r"eos|<\|im_end\|>|</s>|<\|end|eot|apply_chat_template|sep_token|append_concat|EOS|stop_token|T5|Seq2Seq",
        program.text,
    ):
        return
    for node in program.each(ast.Dict):
        if not isinstance(node, ast.Dict):
            continue
        parts = {k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)}
        labels, ids = parts.get("labels"), parts.get("input_ids")
        text = source(program, program.origin(labels)) if labels is not None else ""
        scope = program.scope(node)
        if (
            ids is not None
            and re.search(r"\[\s{0,4}(-100|\w*IGNORE\w*)\s{0,4}\]\s{0,4}\*\s{0,4}len\(", text)
            and isinstance(scope, FUNCTIONS)
        ):
            calls = [
                n
                for n in program.within(scope, ast.Call)
                if argument(n, "add_special_tokens") is not None
                and "tokenizer" in (view.roles.of(n.func), view.roles.of(receiver(n)))
            ]
            if calls:
                yield Fault(node, "no token ends the answer: the model never learns to stop",
                            "回答末尾没有结束符：模型学不会停止", beside=(calls[-1],))  # fmt: skip


@rule("accuracy-not-shifted", "S1", "eval-harness-drift", "argmax",
      bad="""
      out = model(input_ids=ids, labels=labels)
      predicted = out.logits.argmax(dim=-1)
      right = (predicted == labels)[labels != -100].float().mean()
      model = AutoModelForCausalLM.from_pretrained(name)
      """,
      good="""
      out = model(input_ids=ids, labels=labels)
      predicted = out.logits[:, :-1].argmax(dim=-1)
      right = (predicted == labels[:, 1:])[labels[:, 1:] != -100].float().mean()
      model = AutoModelForCausalLM.from_pretrained(name)
      """)  # fmt: skip
def accuracy_not_shifted(view: View) -> Iterator[Fault]:
    """Predictions of a causal model are compared with the labels at the same position.

    Why: logits at a position are of the next token: the accuracy is of nothing.
    """
    program = view.program
    if not program.mentions("CausalLM", "LMHeadModel") or program.mentions("SequenceClassification", "Seq2Seq"):
        return
    handed = handed_metrics(program)
    for node in program.each(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            continue
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            best = program.origin(one)
            on = receiver(best) if isinstance(best, ast.Call) and last(program.path(best.func)) == "argmax" else None
            logits = program.origin(on) if on is not None else None
            if (
                isinstance(logits, ast.Attribute)
                and logits.attr == "logits"
                and re.search(r"(^|_|\['|\[\")(labels|input_ids)('\]|\"\])?$", key(other))
                and not _changed(program, other)
            ) or (on is not None and (as_handed(program, on, handed), as_handed(program, other, handed)) == (0, 1)):
                yield Fault(node, "predictions are compared with the labels of their own position, not of the next",
                            "预测与同一位置的标签比较，没有错开一位")  # fmt: skip
                break


def _changed(program: Program, labels: ast.expr) -> bool:
    """Whether labels are cut or made by a call, not a field of a batch."""
    made = program.origin(labels)
    field = isinstance(made, ast.Subscript) and isinstance(program.const(made.slice), str)
    return isinstance(made, ast.Call) or (isinstance(made, ast.Subscript) and not field)
