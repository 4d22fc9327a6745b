"""Rules on decoding and vocabularies: answers cut at the wrong place, samples that are alike, tokenizers of another model."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import LOOPS, Program, argument, key, last, receiver
from ..look import option, source
from ..rule import Fault, View, rule
from .generation import generations
from .ways import given

FAMILY = re.compile(
    r"(?i)(qwen|llama|mistral|mixtral|gemma|phi|gpt2|gpt-neo|pythia|opt|bloom|falcon|bert|roberta|deberta|t5|bart|smollm|olmo|internlm|baichuan|chatglm|glm|yi|deepseek|starcoder|codellama|electra|albert|xlnet|mpt|stablelm|cerebras)"
)
ALIKE = ({"bert", "electra"}, {"gpt2", "opt"}, {"gpt-neo", "gpt2"}, {"pythia", "mpt"}, {"llama", "mistral"}, {"llama", "codellama"}, {"gpt2", "cerebras"}, {"roberta", "gpt2"}, {"deepseek", "qwen"}, {"deepseek", "llama"}, {"smollm", "llama"}, {"t5", "flan"}, {"mistral", "mixtral"}, {"stablelm", "pythia"})  # fmt: skip
"""Families of which some share a tokenizer."""


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
        for node in (n for a in call.args for n in ast.walk(a)):
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
                        yield Fault(
                            node.lower,
                            "the batch is padded on the left: every prompt ends at the full width, not at its own length",
                            "批次在左侧填充：每个提示都在整体宽度处结束，而不是自身长度",
                            beside=(call,),
                        )
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
            yield Fault(
                call,
                f"{several} samples are asked for at temperature 0: all are the same",
                f"在温度 0 下要求 {several} 个采样：结果完全相同",
            )


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
        for loop in program.loops(call)[:1]:
            counted = (
                isinstance(loop, ast.For)
                and isinstance(loop.iter, ast.Call)
                and program.path(loop.iter.func) == "range"
            )
            varies = value is None or (
                {key(n) for n in ast.walk(value)} & {key(n) for n in ast.walk(loop.target)} - {""}
                if isinstance(loop, ast.For)
                else False
            )
            samples = [
                c for c in generations(view) if loop in program.loops(c) and given(view, c, "do_sample")[1] is True
            ]
            fixed = value is not None and not any(isinstance(n, ast.Call) for n in ast.walk(value))
            if counted and samples and fixed and not varies:
                yield Fault(
                    call,
                    "the same seed before each sample: all samples are the same",
                    "每次采样前都设同一个种子：所有样本相同",
                    beside=(samples[0],),
                )


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
        changed = [b for b in program.bindings(table) if b.how == "assign"] if key(table) else []
        soft = any("softmax" in program.code(b.value, 300) for b in changed if b.value is not None)
        if scores and not names & {"softmax", "exp", "sigmoid", "log_softmax"} and not soft:
            yield Fault(call, "tokens are drawn by their logits, not by their probabilities", "按 logits 而不是概率来抽取 token",
                        (instead(table, f"torch.softmax({source(program, table)}, dim=-1)"),) if call.args and table is call.args[0] else ())  # fmt: skip


@rule("temperature-multiplied", "S2", "sampling-params-wrong", "temp tau",
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
    for node in program.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
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
            squared = isinstance(program.parent.get(node), ast.BinOp) and re.search(
                r"T\s{0,4}\*\*|\.exp\(\)", program.code(program.parent[node])
            )
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


@rule("resized-without-the-new", "S1", "vocab-size-mismatch", "resize_token_embeddings",
      bad="""
      tokenizer.add_special_tokens({"additional_special_tokens": ["<think>"]})
      model.resize_token_embeddings(tokenizer.vocab_size)
      """,
      good="""
      tokenizer.add_special_tokens({"additional_special_tokens": ["<think>"]})
      model.resize_token_embeddings(len(tokenizer))
      """)  # fmt: skip
def resized_without_the_new(view: View) -> Iterator[Fault]:
    """The embedding is resized to `vocab_size`, which does not count added tokens.

    Why: the new ids lie outside of the embedding: an index error, or a device-side assert.
    """
    program = view.program
    added = [c for c in program.find("add_special_tokens", "add_tokens") if c.args]
    for call in program.find("resize_token_embeddings"):
        value = call.args[0] if call.args else None
        origin = program.origin(value) if value is not None else None
        if (
            added
            and isinstance(origin, ast.Attribute)
            and origin.attr == "vocab_size"
            and view.roles.of(origin.value) == "tokenizer"
        ):
            yield Fault(
                call,
                "`vocab_size` does not count the added tokens",
                "`vocab_size` 不包含新加的 token",
                (instead(value, f"len({key(origin.value)})"),),
                beside=(added[0],),
            )  # type: ignore[arg-type]


@rule("tokenizer-of-another-model", "S2", "tokenizer-version-mismatch", "from_pretrained",
      bad="""
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      model = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-410m")
      import torch
      """,
      good="""
      tokenizer = AutoTokenizer.from_pretrained("EleutherAI/pythia-410m")
      model = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-410m")
      import torch
      """)  # fmt: skip
def tokenizer_of_another_model(view: View) -> Iterator[Fault]:
    """The only tokenizer of a program is of another family than its only model.

    Why: the same number is another token: text goes in, and comes out, as noise.
    """
    program = view.program
    named: dict[str, list[tuple[str, ast.Call]]] = {"tokenizer": [], "model": []}
    for call in program.find("from_pretrained"):
        role = view.roles.of(call)
        told = option(program, call, "pretrained_model_name_or_path") or (call.args[0] if call.args else None)
        if role in named and told is not None:
            value = program.const(program.origin(told))
            named[role].append((str(value) if isinstance(value, str) else "", call))
    if any(len({n for n, _ in found}) != 1 for found in named.values()):
        return
    (one, call), (two, _) = named["tokenizer"][0], named["model"][0]
    first, second = (m.group(1).lower() if (m := FAMILY.search(n.rsplit("/", 1)[-1])) else "" for n in (one, two))
    if (
        first
        and second
        and first != second
        and {first, second} not in ALIKE
        and not re.search(r"clip|vision|encoder_?decoder|from_encoder", program.text, re.I)
    ):
        yield Fault(
            call,
            f"the tokenizer is of `{one}`, the model is `{two}`",
            f"分词器来自 `{one}`，模型却是 `{two}`",
            beside=(named["model"][0][1],),
        )


@rule("entropy-punished", "S1", "entropy-collapse", "entropy",
      bad="""
      for batch in loader:
          policy_loss, entropy = step(policy, batch)
          loss = policy_loss + entropy_coef * entropy
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          policy_loss, entropy = step(policy, batch)
          loss = policy_loss - entropy_coef * entropy
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def entropy_punished(view: View) -> Iterator[Fault]:
    """The entropy bonus is added to the loss.

    Why: the optimizer makes entropy small: the policy stops exploring at once.
    """
    program = view.program
    for node in program.nodes:
        if (
            not isinstance(node, ast.BinOp)
            or not isinstance(node.op, ast.Add)
            or not isinstance(node.right, ast.BinOp)
            or not isinstance(node.right.op, ast.Mult)
        ):
            continue
        factors = [last(key(_mean(program, s))) for s in (node.right.left, node.right.right)]
        bonus = [f for f in factors if re.fullmatch(r"(mean_|dist_|policy_)?entropy(_bonus|_mean)?|ent", f)]
        coefficient = [
            f for f in factors if re.search(r"ent\w{0,8}_?(coef\w{0,8}|weight|beta|scale|c)$|^(c2|c_ent|beta_ent)$", f)
        ]
        statement = program.statement(node)
        target = last(key(statement.targets[0])) if isinstance(statement, ast.Assign) else ""
        minus = any(isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub) for n in ast.walk(node.right)) or any(
            isinstance(a, (ast.UnaryOp,)) or (isinstance(a, ast.BinOp) and isinstance(a.op, ast.Sub))
            for a in program.up(node)
            if isinstance(a, ast.expr)
        )
        if bonus and coefficient and "loss" in target and not minus and not _negative(program, node.right):
            yield Fault(node, "the entropy is added to the loss: exploring is punished", "熵被加到损失上：探索受到惩罚",
                        (instead(node, f"{source(program, node.left)} - {source(program, node.right)}"),))  # fmt: skip


def _mean(program: Program, expr: ast.expr) -> ast.expr:
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in ("mean", "sum"):
        expr = expr.func.value
    return expr


def _negative(program: Program, expr: ast.BinOp) -> bool:
    """Whether a factor is negative itself: an entropy loss, or a sum without its minus."""
    for side in (expr.left, expr.right):
        value = program.origin(_mean(program, side))
        text = program.code(value, 300)
        number = program.const(side)
        if (
            (isinstance(value, ast.UnaryOp))
            or (isinstance(number, (int, float)) and number < 0)
            or re.search(r"log_?prob|p \* |\blogp", text)
        ):
            return True
    return False


@rule("penalty-without-graph", "S1", "loss-oscillation", "grad(",
      bad="""
      mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
      grads = torch.autograd.grad(critic(mixed).sum(), mixed)[0]
      penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
      loss = fake_score - real_score + 10 * penalty
      loss.backward()
      """,
      good="""
      mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
      grads = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]
      penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
      loss = fake_score - real_score + 10 * penalty
      loss.backward()
      """)  # fmt: skip
def penalty_without_graph(view: View) -> Iterator[Fault]:
    """A penalty on gradients is made of gradients without a graph.

    Why: it is a constant to backward: it shows in the loss, and changes nothing.
    """
    program = view.program
    for call in program.find("grad"):
        if (
            not program.path(call.func).endswith("autograd.grad")
            or argument(call, "create_graph") is not None
            or any(k.arg is None for k in call.keywords)
        ):
            continue
        scope = program.scope(call)
        text = program.code(scope, 20_000) if not isinstance(scope, ast.Module) else program.text
        if (
            re.search(
                r"(penalty|gp|r1|reg)\w{0,20}\s{0,4}=|return [^\n]{0,80}(-\s{0,4}1(\.0)?\)\s{0,4}\*\*\s{0,4}2|\.pow\(2\))",
                text,
            )
            and re.search(r"\.norm\(|\.pow\(2\)|\*\*\s{0,4}2", text)
            and re.search(r"penal|gp\b|gradient_pen|\br1\b", text, re.I)
        ):
            inner = source(program, call)
            yield Fault(call, "the penalty is made of gradients without a graph: `create_graph=True` is missing", "惩罚项所用的梯度没有计算图：缺少 `create_graph=True`",
                        (instead(call, f"{inner[:-1].rstrip().rstrip(',')}, create_graph=True)"),) if "\n" not in inner else ())  # fmt: skip


@rule("unscaled-per-micro-batch", "S1", "loss-scale-collapse", "unscale_",
      bad="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / 4
          scaler.scale(loss).backward()
          scaler.unscale_(optimizer)
          if (i + 1) % 4 == 0:
              scaler.step(optimizer)
              scaler.update()
              optimizer.zero_grad()
      """,
      good="""
      for i, batch in enumerate(loader):
          loss = model(**batch).loss / 4
          scaler.scale(loss).backward()
          if (i + 1) % 4 == 0:
              scaler.unscale_(optimizer)
              scaler.step(optimizer)
              scaler.update()
              optimizer.zero_grad()
      """)  # fmt: skip
def unscaled_per_micro_batch(view: View) -> Iterator[Fault]:
    """Gradients are unscaled on each pass and stepped on once in a while.

    Why: the scaler refuses a second unscale before its update; gradients of several scales would be added up.
    """
    for training in view.trainings:
        steps = [s for s in training.of("step") if s.via == "scaler"]
        if training.accumulation is None or not steps:
            continue
        for event in training.of("unscale"):
            if all(len(event.guards) < len(s.guards) for s in steps) and not any(
                isinstance(x, LOOPS) for x in event.loops
            ):
                yield Fault(
                    event.node,
                    "gradients are unscaled on each pass, and the scaler is updated once in a while",
                    "每一遍都 unscale，而 scaler 隔若干遍才更新",
                    beside=(steps[0].node,),
                )
