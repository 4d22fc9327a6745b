"""Rules on decoding and vocabularies: answers cut at the wrong place, samples that are alike, tokenizers of another model."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ...source import walk
from ..look import model_call, source
from ..meaning.ways import given
from ..rule import Fault, View, rule
from .generation import generations


@rule("answer-cut-by-its-own-length", "S1", "eval-harness-drift", "sum( generate",
      bad="""
      tokenizer.padding_side = "left"
      inputs = tokenizer(prompts, padding=True, return_tensors="pt")
      out = model.generate(**inputs, max_new_tokens=64)
      lengths = inputs["attention_mask"].sum(dim=1)
      answers = [tokenizer.decode(row[n:], skip_special_tokens=True) for row, n in zip(out, lengths)]
      from transformers import AutoTokenizer
      """,
      good="""
      tokenizer.padding_side = "left"
      inputs = tokenizer(prompts, padding=True, return_tensors="pt")
      out = model.generate(**inputs, max_new_tokens=64)
      width = inputs["input_ids"].shape[1]
      answers = [tokenizer.decode(row[width:], skip_special_tokens=True) for row in out]
      from transformers import AutoTokenizer
      """)  # fmt: skip
def answer_cut_by_its_own_length(view: View) -> Iterator[Fault]:
    """In a batch padded on the left, answers are cut off by the length of each prompt without its padding.

    Why: all prompts end at the same place: what is left of a short one's prompt counts as its answer.
    """
    program = view.program
    if not re.search(r"padding_side\s{0,4}=\s{0,4}['\"]left", program.text) or not any(True for _ in generations(view)):
        return
    for call in program.find("decode", "batch_decode"):
        for node in (n for a in call.args for n in walk(a)):
            if not isinstance(node, ast.Slice) or node.lower is None or node.upper is not None:
                continue
            name = (
                key(node.lower.value)
                if isinstance(node.lower, ast.Subscript) and not key(node.lower)
                else key(node.lower)
            )
            for binding in program.bindings(call, name) if name else ():
                value = binding.value
                parts = value.args if isinstance(value, ast.Call) and program.path(value.func) == "zip" else [value]
                for part in parts:
                    text = program.code(program.origin(part), 300) if part is not None else ""
                    if re.search(r"attention_mask['\"\]]{0,3}\.sum\(", text) and isinstance(part, ast.expr):
                        yield Fault(node.lower, "the batch is padded on the left: every prompt ends at the full width, not at its own length",
                                    "批次在左侧填充：每个提示都在整体宽度处结束，而不是自身长度", beside=(call,))  # fmt: skip
                        return


@rule("samples-are-alike", "S1", "sampling-params-wrong", "SamplingParams temperature",
      bad="""
      from vllm import LLM, SamplingParams
      params = SamplingParams(n=8, temperature=0.0, max_tokens=512)
      """,
      good="""
      from vllm import LLM, SamplingParams
      params = SamplingParams(n=8, temperature=0.8, max_tokens=512)
      """)  # fmt: skip
def samples_are_alike(view: View) -> Iterator[Fault]:
    """Several samples are asked for at temperature 0.

    Why: all of them are the same: groups have no advantage, votes no meaning, pass@k is pass@1.
    """
    for call in view.program.find("SamplingParams", "create", "completion", "GenerationConfig"):
        several = next(
            (v for n in ("n", "num_return_sequences", "best_of") for told, v in [given(view, call, n)] if told), None
        )
        told, heat = given(view, call, "temperature")
        if (
            isinstance(several, int)
            and not isinstance(several, bool)
            and several > 1
            and told
            and heat in (0, 0.0)
            and heat is not False
        ):
            yield Fault(call, f"{several} samples are asked for at temperature 0: all are the same",
                        f"在温度 0 下要求 {several} 个采样：结果完全相同")  # fmt: skip


@rule("seed-set-before-each-sample", "S1", "sampling-params-wrong", "seed",
      bad="""
      answers = []
      for _ in range(16):
          torch.manual_seed(0)
          out = model.generate(**inputs, do_sample=True, max_new_tokens=64)
          answers.append(tokenizer.decode(out[0]))
      from transformers import AutoTokenizer
      """,
      good="""
      answers = []
      torch.manual_seed(0)
      for _ in range(16):
          out = model.generate(**inputs, do_sample=True, max_new_tokens=64)
          answers.append(tokenizer.decode(out[0]))
      from transformers import AutoTokenizer
      """)  # fmt: skip
def seed_set_before_each_sample(view: View) -> Iterator[Fault]:
    """The same seed is set before each of several samples.

    Why: all samples are the same: a vote, or a group of answers, is of one.
    """
    program = view.program
    for call in program.find("manual_seed", "set_seed", "seed", "manual_seed_all"):
        value = call.args[0] if call.args else argument(call, "seed")
        if not program.loops(call) and (again := _sampled_again(view, call, value)) is not None:
            yield Fault(call, "the same seed before each sample: all samples are the same",
                        "每次采样前都设同一个种子：所有样本相同", beside=(again,))  # fmt: skip
        for loop in program.loops(call)[:1]:
            counted = (
                isinstance(loop, ast.For)
                and isinstance(loop.iter, ast.Call)
                and program.path(loop.iter.func) == "range"
            )
            varies = value is None or (
                {key(n) for n in walk(value)} & {key(n) for n in walk(loop.target)} - {""}
                if isinstance(loop, ast.For)
                else False
            )
            samples = [
                c for c in generations(view) if loop in program.loops(c) and given(view, c, "do_sample")[1] is True
            ]
            fixed = value is not None and not any(isinstance(n, ast.Call) for n in walk(value))
            if counted and samples and fixed and not varies:
                yield Fault(call, "the same seed before each sample: all samples are the same",
                            "每次采样前都设同一个种子：所有样本相同", beside=(samples[0],))  # fmt: skip


def _sampled_again(view: View, call: ast.Call, value: ast.expr | None) -> ast.AST | None:
    """Where a function that sets a written seed and samples is called several times for the same thing."""
    program, scope = view.program, view.program.scope(call)
    if not isinstance(scope, FUNCTIONS) or not isinstance(program.const(value), int):
        return None
    draws = [
        c
        for c in generations(view)
        if program.scope(c) is scope and c.lineno > call.lineno and given(view, c, "do_sample")[1] is True
    ]
    for site in program.callers(scope) if draws else ():
        around = [g for a in program.up(site) for g in getattr(a, "generators", ())] + [
            x for x in program.loops(site)[:1]
        ]
        for loop in around[:1]:
            over = getattr(loop, "iter", None)
            counted = isinstance(over, ast.Call) and program.path(over.func) == "range"
            used = {key(n) for n in walk(site)} & {key(n) for n in walk(loop.target)} - {""} if counted else {"?"}  # type: ignore[attr-defined]
            if not used:
                return site
    return None


@rule("drawn-from-raw-scores", "S1", "sampling-params-wrong", "multinomial",
      bad="""
      logits = model(ids).logits[:, -1] / temperature
      token = torch.multinomial(logits, num_samples=1)
      """,
      good="""
      logits = model(ids).logits[:, -1] / temperature
      token = torch.multinomial(torch.softmax(logits, dim=-1), num_samples=1)
      """)  # fmt: skip
def drawn_from_raw_scores(view: View) -> Iterator[Fault]:
    """Tokens are drawn by their logits, not by their probabilities.

    Why: `multinomial` takes weights: negative ones raise, and the others are no probabilities.
    """
    program = view.program
    for call in program.find("multinomial"):
        table = call.args[0] if call.args and key(receiver(call)) in ("torch", "th") else receiver(call)
        if table is None:
            continue
        value = program.origin(table)
        nodes = list(program.traced(table, 4))
        names = {last(program.path(n.func)) for n in nodes if isinstance(n, ast.Call)}
        scores = any(isinstance(n, ast.Attribute) and n.attr == "logits" for n in nodes) and re.search(
            r"logit", key(table) + program.code(value)
        )
        scores = scores or _still_scores(view, table)
        changed = [b for b in program.bindings(table) if b.how == "assign"] if key(table) else []
        soft = any("softmax" in program.code(b.value, 300) for b in changed if b.value is not None)
        if scores and not names & {"softmax", "exp", "sigmoid", "log_softmax"} and not soft:
            yield Fault(call, "tokens are drawn by their logits, not by their probabilities", "按 logits 而不是概率来抽取 token",
                        (instead(table, f"torch.softmax({source(program, table)}, dim=-1)"),) if call.args and table is call.args[0] else ())  # fmt: skip


def _still_scores(view: View, expr: ast.expr) -> bool:
    """Whether a value is the logits of a model as they were made, scaled, cut or masked at most."""
    program, called = view.program, ""
    for _ in range(16):
        called = last(key(expr)) or called
        expr = program.origin(expr)
        called = last(key(expr)) or called
        found = program.binding(expr) if isinstance(expr, ast.Name) else None
        if found is not None and found.how == "assign" and found.part == 0 and found.value is not None:
            expr = found.value  # `logits, loss = model(ids)`
        if isinstance(expr, ast.Attribute) and expr.attr == "logits":
            return model_call(view, program.origin(expr.value))
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Div, ast.Mult)):
            expr = expr.left
        elif isinstance(expr, ast.Subscript):
            expr = expr.value
        elif isinstance(expr, ast.Call) and model_call(view, expr):
            return "logit" in called
        elif (
            isinstance(expr, ast.Call) and last(program.path(expr.func)) in KEPT and (on := receiver(expr)) is not None
        ):
            torch_ = key(on) in ("torch", "th")
            expr = on if not torch_ else expr.args[-1] if expr.args else on
        else:
            return False
    return False


KEPT = ("where", "masked_fill", "masked_fill_", "to", "float", "squeeze", "contiguous")
"""Calls behind which scores are still scores; of `torch.where` the last part."""


@rule("temperature-multiplied", "S2", "sampling-params-wrong", "_temp_ temperature _tau_",
      bad="""
      temperature = 0.07
      logits = image_vectors @ text_vectors.t() * temperature
      loss = F.cross_entropy(logits, torch.arange(len(logits)))
      """,
      good="""
      temperature = 0.07
      logits = image_vectors @ text_vectors.t() / temperature
      loss = F.cross_entropy(logits, torch.arange(len(logits)))
      """)  # fmt: skip
def temperature_multiplied(view: View) -> Iterator[Fault]:
    """Scores are multiplied by a temperature.

    Why: a small temperature is to sharpen; multiplied, it makes all scores alike, and nothing is learned.
    """
    program = view.program
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        for scores, heat in ((node.left, node.right), (node.right, node.left)):
            named = re.fullmatch(r"temp|temperature|tau", last(key(heat)))
            number = program.const(heat)
            product = isinstance(scores, ast.BinOp) and isinstance(scores.op, ast.MatMult)
            product |= isinstance(scores, ast.Call) and last(program.path(scores.func)) in (
                "matmul",
                "mm",
                "einsum",
                "cosine_similarity",
            )
            product |= bool(re.search(r"logits$|sim(ilarity)?$", last(key(scores))))
            product |= _becomes_scores(program, node)
            squared = isinstance(program.parent.get(node), ast.BinOp) and re.search(
                r"T\s{0,4}\*\*|\.exp\(\)", program.code(program.parent[node])
            )
            number = number if isinstance(number, float) or not named else program.const(program.origin(heat))
            small = (isinstance(number, float) and 0 < number < 1) or _default(program, heat)
            if (
                named
                and product
                and small
                and not squared
                and not re.search(r"exp\(|logit_scale|inverse|inv_", program.code(heat))
            ):
                yield Fault(node, f"scores are multiplied by `{key(heat)}`, which is below 1: they are to be divided", f"分数乘以小于 1 的 `{key(heat)}`：应当相除",
                            (instead(node, f"{source(program, scores)} / {source(program, heat)}"),))  # fmt: skip
                break


def _becomes_scores(program: Program, node: ast.BinOp) -> bool:
    """Whether a product is named as scores, or goes into a softmax as it is."""
    above = program.parent.get(node)
    if isinstance(above, ast.Assign):
        return above.value is node and bool(re.search(r"logits$|scores$", last(key(above.targets[0]))))
    return (
        isinstance(above, ast.Call)
        and last(program.path(above.func)) == "softmax"
        and node in (*above.args, receiver(above))
    )


def _default(program: Program, heat: ast.expr) -> bool:
    """Whether a parameter's default is below 1."""
    scope = program.scope(heat)
    arguments = getattr(scope, "args", None)
    if arguments is None or not isinstance(heat, ast.Name):
        return False
    named = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(named), reversed(arguments.defaults), strict=False),
        *((a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None),
    ]
    return any(
        a.arg == heat.id and isinstance(d, ast.Constant) and isinstance(d.value, float) and 0 < d.value < 1
        for a, d in pairs
    )
