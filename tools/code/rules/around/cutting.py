"""Rules on texts on their way to the model: cut where their answer stands, tokenised while the GPU waits."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from ...flow import made_of
from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ..judging.texts import pairs_cut_on_the_right
from ..look import keyword, source
from ..rule import Fault, View, rule


@rule("truncation-cuts-the-answer", "S2", "all-labels-masked", "truncation [:",
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

    Why: long prompts lose their answers; where those alone are trained on, nothing is left. A prompt for generation
    loses its question and the opening of the answer.
    """
    yield from _long_prompts(view)
    yield from _opening_lost(view)
    yield from pairs_cut_on_the_right(view)
    program = view.program
    right = [n.value for n in program.each(ast.Assign) if isinstance(n.targets[0], ast.Attribute)
             and n.targets[0].attr == "truncation_side" and isinstance(n.value, ast.Constant) and n.value.value == "right"]  # fmt: skip
    for call in program.told("truncation") if right else ():
        if keyword(call, "truncation") is True and call.args:
            said = source(program, call.args[0])
            if re.search(r"prompt|question|instruction", said) and re.search(
                r"answer|response|completion|output", said
            ):
                yield Fault(right[0], "truncation on the right cuts the answer, not the prompt", "右侧截断会切掉答案",
                            (instead(right[0], '"left"'),), beside=(call,))  # fmt: skip


DOCUMENT = re.compile(
    r"document|passage|article|transcript|dialog|report|paper|story|chapter|(^|_)doc(_|$)|\b(thread|conversation|email)s?\b",
    re.I,
)
"""What is often longer than any limit."""
ANSWER = re.compile(r"answer|response|output|completion|summary|target|highlight|reply|abstract", re.I)
ENDS = re.compile(r"eos|im_end|</s>|\bend\b", re.I)
SMALL = 256
"""Tokens from which down a passage, its question and an answer do not fit together. Own judgement."""


def _long_prompts(view: View) -> Iterator[Fault]:
    """Prompt and answer put together and cut at the end, where the prompt holds a document that nothing shortens."""
    program = view.program
    learns = "-100" in program.text or program.has_word(r"label|target|log_?sigmoid|margin_ranking|chosen")
    if not learns or re.search(r"truncation_side\s{0,4}=\s{0,4}['\"]left", program.text):
        return
    for node in (*program.each(ast.Subscript), *program.told("truncation")):
        joined = _cut_at_the_end(view, node)
        parts = _pieces(program, joined) if joined is not None else []
        parts = [p for p in parts if not ENDS.search(p[0])]
        shortened = any(re.search(r"max_length|truncat|\[-?:|\[-", "".join(p)) for p in parts)
        if len(parts) < 2 or shortened or not ANSWER.search("".join(parts[-1])) or DOCUMENT.search(parts[-1][1]):
            continue
        passage = any(LONG.search(w) for p in parts[:-1] for w in p)
        long = any(DOCUMENT.search(w) for p in parts[:-1] for w in p) or (passage and _limit(program, node) <= SMALL)
        if long or passage:
            yield Fault(node, "prompt and answer are cut at the end, where the answer stands: long documents leave none of it",
                        "提示与答案拼接后从末尾截断：长文档会把答案截掉", severity="" if long else "S3")  # fmt: skip
            return


def _limit(program: Program, node: ast.AST) -> float:
    """How many tokens are kept; infinity where the program does not say."""
    if isinstance(node, ast.Subscript):
        told = node.slice.upper if isinstance(node.slice, ast.Slice) else None
    else:
        told = argument(node, "max_length") if isinstance(node, ast.Call) else None
    most = program.usually(told) if told is not None else None
    return most if isinstance(most, (int, float)) else float("inf")


def _cut_at_the_end(view: View, node: ast.AST) -> ast.expr | None:
    """What loses its end: `x[:n]`, or a text that a tokenizer is told to cut."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        first = node.slice.lower is None and node.slice.step is None and node.slice.upper is not None
        back = isinstance(node.slice.upper, ast.UnaryOp)
        return node.value if first and not back and isinstance(node.ctx, ast.Load) else None
    if isinstance(node, ast.Call) and keyword(node, "truncation") is True and len(node.args) == 1:
        return node.args[0] if view.roles.of(node.func) == "tokenizer" else None
    return None


def _pieces(program: Program, expr: ast.expr, deep: int = 6) -> list[tuple[str, str]]:
    """(what a piece is called, what it is made of), in the order of a text or a list that is put together."""
    if isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        return [p for side in (expr.left, expr.right) for p in _pieces(program, side, deep)]
    if isinstance(expr, ast.JoinedStr):
        inner = [v.value for v in expr.values if isinstance(v, ast.FormattedValue)]
        return [p for v in inner for p in _pieces(program, v, deep - 1)] if deep else []
    if isinstance(expr, (ast.Name, ast.Attribute)) and deep:
        found = program.binding(expr)
        value = found.value if found is not None and found.how == "assign" and found.part is None else None
        value = value.elt if isinstance(value, ast.ListComp) else value
        if isinstance(value, (ast.BinOp, ast.JoinedStr)):
            return _pieces(program, value, deep - 1)
    if isinstance(expr, ast.ListComp) and deep:
        return _pieces(program, expr.elt, deep - 1)
    if isinstance(expr, ast.Call) and last(program.path(expr.func)) == "format" and deep:
        return [p for value in _filled_in(program, expr) for p in _pieces(program, value, deep - 1)]
    for value in _column(program, expr) if deep else ():
        if len(parts := _pieces(program, value, deep - 1)) > 1:
            return parts
    if isinstance(expr, (ast.Constant, ast.List)):
        return []
    which = made_of(program, expr.slice, (), 3) if isinstance(expr, ast.Subscript) else ()
    nodes = (*islice(which, 20), *islice(made_of(program, expr, (), 4), 60))
    made = [program.code(n) for n, _, _ in nodes if isinstance(n, (ast.Call, ast.JoinedStr, ast.Subscript, ast.Name))
            or (isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier())]  # fmt: skip
    return [(program.code(expr), " ".join(made))]


def _filled_in(program: Program, call: ast.Call) -> list[ast.expr]:
    """What `template.format(...)` puts in, in the order of the template where that is known."""
    template = program.usually(on) if (on := receiver(call)) is not None else None
    named = {k.arg: k.value for k in call.keywords if k.arg}
    order = re.findall(r"\{(\w{0,80})", template) if isinstance(template, str) else []
    return [*call.args, *sorted(named.values(), key=lambda v: order.index(n) if (n := _of(named, v)) in order else -1)]


def _of(named: dict[str, ast.expr], value: ast.expr) -> str:
    return next(name for name, own in named.items() if own is value)


def _column(program: Program, expr: ast.expr) -> Iterator[ast.expr]:
    """What functions of this file put into the column that is read here, where they put it together themselves."""
    name = expr.slice.value if isinstance(expr, ast.Subscript) and isinstance(expr.slice, ast.Constant) else None
    if not isinstance(name, str):
        return
    for node in program.each(ast.Dict, ast.Assign):
        if isinstance(node, ast.Dict):
            values = [
                v
                for k, v in zip(node.keys, node.values, strict=True)
                if isinstance(k, ast.Constant) and k.value == name
            ]
        else:
            aims = [t.slice for t in node.targets if isinstance(t, ast.Subscript)]
            values = [node.value for a in aims if isinstance(a, ast.Constant) and a.value == name]
        for value in values:
            made = program.origin(value)
            if isinstance(made, (ast.JoinedStr, ast.BinOp, ast.Call)) and made is not expr:
                yield made


OPENING = re.compile(r"(\bA|answer|assistant|response|summary|output|tl;dr|translation|label|topic)\W{0,6}\s*$", re.I)
"""How a prompt ends that opens the answer."""
LONG = re.compile(
    r"(^|\W|_)docs?(\W|_|$)|context|passage|document|article|material|history|transcript|shots|examples|evidence|chunk",
    re.I,
)


def _opening_lost(view: View) -> Iterator[Fault]:
    """Prompts whose end opens the answer, cut on the right before the model goes on from them."""
    program = view.program
    if not program.told("truncation") or re.search(r"truncation_side\s{0,4}=\s{0,4}['\"]left", program.text):
        return
    used = [n for c in program.find("generate") for a in (*c.args, *(k.value for k in c.keywords))
            for n, _, _ in made_of(program, a, (), 4)]  # fmt: skip
    for call in (n for n in used if isinstance(n, ast.Call)):
        if view.roles.of(call.func) != "tokenizer" or keyword(call, "truncation") is not True or not call.args:
            continue
        nodes = [n for n, _, _ in made_of(program, call.args[0])]
        ends = [n for n in nodes if isinstance(n, (ast.JoinedStr, ast.Constant)) and OPENING.search(_end(n))]
        chats = [n for n in nodes if isinstance(n, ast.Call) and keyword(n, "add_generation_prompt") is True]
        texts = (n for n in nodes if isinstance(n, (ast.JoinedStr, ast.BinOp, ast.Constant)))
        if ends and LONG.search(" ".join(program.code(n) for n in texts)):
            yield Fault(call, "prompts are cut on the right: long ones lose the question and the opening of the answer",
                        "提示在右侧被截断：过长的提示会丢掉问题和回答的开头", beside=(ends[0],))  # fmt: skip
        elif chats:
            long = LONG.search(" ".join(program.code(n) for n in nodes if isinstance(n, (ast.JoinedStr, ast.BinOp))))
            yield Fault(call, "chat prompts are cut on the right: long ones lose the opening of the answer",
                        "对话提示在右侧被截断：过长的会丢掉回答的开头", severity="" if long else "S3", beside=(chats[0],))  # fmt: skip


def _end(node: ast.AST) -> str:
    """The last words of a text."""
    last_ = node.values[-1] if isinstance(node, ast.JoinedStr) and node.values else node
    return last_.value if isinstance(last_, ast.Constant) and isinstance(last_.value, str) else ""


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

    Why: the GPU waits for it in every step; a loader's workers or a mapped dataset do it beside. Where the loop is gone
    through in each epoch, the same texts are tokenised again and again.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if (
                isinstance(call, ast.Call)
                and _tokenises(view, call)
                and not event.guards
                and training.whole
                and not any(True for _ in view.program.find("generate"))
            ):
                again = any(isinstance(x, (ast.For, ast.While)) for x in training.outer)
                yield Fault(call, "text is tokenised in the training loop: the GPU waits", "在训练循环里分词：GPU 在等待",
                            severity="S2" if again and isinstance(training.node, ast.For) else "")  # fmt: skip
                break


def _tokenises(view: View, call: ast.Call) -> bool:
    """Whether a call turns text into numbers."""
    if view.roles.of(call.func) == "tokenizer" and (_encodes(call) or key(call.func) == "tokenizer"):
        return True
    named = last(view.program.path(call.func)) in ("encode", "encode_plus", "batch_encode_plus", "encode_batch")
    return named and view.roles.of(receiver(call)) == "tokenizer"


def _encodes(call: ast.Call) -> bool:
    """Whether a call has the arguments of a tokenizer."""
    return any(k.arg in ("padding", "truncation", "return_tensors", "max_length") for k in call.keywords)
