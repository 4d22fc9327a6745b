"""Rules on policies trained by reward: advantages, ratios, rollouts."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..checkpoints import repeated
from ..flow import made_of, written
from ..patch import instead
from ..program import Program, key, last, receiver
from ..source import walk
from .look import model_call, no_grad, source
from .preference import negated
from .rule import Fault, View, rule

ADVANTAGE = re.compile(r"(^|_)(adv(s|antages?)?|advantage\w{0,40})$", re.I)


SHAPES = ("unsqueeze", "squeeze", "view", "reshape", "float", "to", "expand_as", "flatten")


@rule("advantage-with-graph", "S1", "critic-failure", "adv log_p logp",
      bad="""
      for batch in loader:
          values = critic(batch["states"])
          advantages = batch["returns"] - values
          ratio = (policy(batch["states"]) - batch["old"]).exp()
          policy_loss = -(ratio * advantages).mean()
          policy_loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          values = critic(batch["states"])
          advantages = (batch["returns"] - values).detach()
          ratio = (policy(batch["states"]) - batch["old"]).exp()
          policy_loss = -(ratio * advantages).mean()
          policy_loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def advantage_with_graph(view: View) -> Iterator[Fault]:
    """Advantages that the policy loss is made of still hold the graph of the critic.

    Why: the policy loss then trains the critic to make its own advantages large.
    """
    program = view.program
    weighing = _weights(view)
    yield from _handed_over(view)
    for node in program.each(ast.Assign):
        target = node.targets[0]
        filled = isinstance(target, ast.Subscript) and not key(target)  # `adv[t] = ...`
        name = key(target.value if filled else target)  # type: ignore[union-attr]
        if (
            not isinstance(node, ast.Assign)
            or not (ADVANTAGE.search(last(name)) or (name in weighing and not filled))
            or no_grad(program.contexts(node))
        ):
            continue
        deep = 9 if isinstance(node.value, ast.Call) else 5
        runs = [s.node for s in made_of(program, node.value, (), deep) if not s.cut and _critic(view, s.node)]
        cuts = [n for n in program.traced(node.value, 3) if (isinstance(n, ast.Call) and last(program.path(n.func)) == "detach")
                or (isinstance(n, ast.Attribute) and n.attr == "data")]  # fmt: skip
        later = [
            n
            for n in program.each(ast.Call)
            if last(program.path(n.func)) in ("detach", "detach_") and key(receiver(n)) == name
        ]
        live = [r for r in runs if not no_grad(program.contexts(r))]
        used = any(
            isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and name in (_bare(n.left), _bare(n.right))
            for n in program.nodes
        )
        whole = filled or isinstance(node.value, ast.BinOp) or _of_this_file(program, node.value)
        if live and not cuts and not later and used and whole:
            yield Fault(node, f"`{name}` holds the graph of the critic and goes into the policy loss",
                        f"`{name}` 带着 critic 的计算图进入策略损失", (instead(node.value, f"({source(program, node.value)}).detach()"),))  # fmt: skip


def _bare(expr: ast.expr | None) -> str:
    """The name of a factor behind its sign, its places and its shape: `-adv[idx].unsqueeze(-1)`."""
    while True:
        if isinstance(expr, ast.UnaryOp):
            expr = expr.operand
        elif isinstance(expr, ast.Subscript) and not key(expr):
            expr = expr.value
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in SHAPES:
            expr = expr.func.value
        else:
            return key(expr)


def _of_this_file(program: Program, value: ast.expr) -> bool:
    """Whether a value is what a function of this file gives back, with its graph."""
    function = program.function(value) if isinstance(value, ast.Call) else None
    return function is not None and not any(no_grad([program.path(d)]) for d in function.decorator_list)


def _handed_over(view: View) -> Iterator[Fault]:
    """An advantage that a function of this file gives, put into the product as it comes."""
    program = view.program
    for product in (n for n in program.each(ast.BinOp) if isinstance(n.op, ast.Mult)):
        for side in (product.left, product.right):
            call = side if isinstance(side, ast.Call) and ADVANTAGE.search(last(key(side.func))) else None
            if call is None or program.function(call) is None or no_grad(program.contexts(call)):
                continue
            sources = [s for s in made_of(program, call, (), 5) if isinstance(s.node, ast.Call)]
            live = [s for s in sources if not s.cut and model_call(view, s.node)
                    and view.roles.of(getattr(s.node, "func", None)) == "model"]  # fmt: skip
            if live and not any(s.cut for s in sources):
                yield Fault(live[0].node, "the advantage holds the graph of the critic and goes into the policy loss",
                            "优势带着 critic 的计算图进入策略损失", beside=(call,))  # fmt: skip


def _critic(view: View, node: ast.AST) -> bool:
    """Whether a call runs a model, or what is called like one of values and stands for nothing else."""
    if not isinstance(node, ast.Call):
        return False
    if model_call(view, node) and view.roles.of(node.func) == "model":
        return True
    found = view.program.binding(node.func) if isinstance(node.func, ast.Name) else None
    unknown = found is not None and found.how == "parameter" and view.program.function(node) is None
    return unknown and re.search(r"value|critic|baseline|^vf$", key(node.func)) is not None


def _weights(view: View) -> set[str]:
    """Names that log-probabilities or ratios are multiplied with."""
    out: set[str] = set()
    for node in view.program.each(ast.BinOp):
        if isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if (
                    isinstance(other, ast.Name)
                    and re.search(r"log_prob\(|ratio|(^|_)log_?p(robs?|i|s)?$|^lp$", view.program.code(one))
                    and isinstance(one, (ast.Call, ast.Name))
                ):
                    out.add(other.id)
    return out


@rule("old-logprobs-recomputed", "S2", "off-policy-staleness", "exp(",
      bad="""
      for epoch in range(4):
          for batch in minibatches:
              logps = logprobs(policy, batch)
              with torch.no_grad():
                  old_logps = logprobs(policy, batch)
              ratio = torch.exp(logps - old_logps)
              loss = -torch.min(ratio * batch["adv"], ratio.clamp(0.8, 1.2) * batch["adv"]).mean()
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for epoch in range(4):
          for batch in minibatches:
              logps = logprobs(policy, batch)
              old_logps = batch["old_logps"]
              ratio = torch.exp(logps - old_logps)
              loss = -torch.min(ratio * batch["adv"], ratio.clamp(0.8, 1.2) * batch["adv"]).mean()
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def old_logprobs_recomputed(view: View) -> Iterator[Fault]:
    """The old log-probabilities are computed anew with the policy that is being updated.

    Why: the ratio is 1 in every step, clipping never acts, and stale samples count as fresh ones.
    """
    program = view.program
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if not isinstance(call, ast.Call) or last(program.path(call.func)) != "exp":
                continue
            value = program.origin(call.args[0] if call.args else receiver(call) or call)
            if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Sub):
                continue
            texts = [written(program, side, event.calls) for side in (value.left, value.right)]
            if texts[0] != texts[1] or "(" not in texts[0] or not program.mentions("clamp", "clip"):
                continue
            old, again = _old(program, value.right)
            if (
                isinstance(old, ast.stmt)
                and program.scope(old) is program.scope(call)
                and program.loops(old) != program.loops(call)
            ):
                continue  # made before the passes
            several = any(
                isinstance(x, ast.For) and _counts(program, x) and not _sampled_in(program, x)
                for x in (training.node, *training.outer, *event.loops)
            )
            if again or several:
                yield Fault(old, "the old log-probabilities are computed anew with the policy of this step: the ratio is always 1",
                            "旧的 log 概率用当前策略重新计算：比值恒为 1", beside=(call,))  # fmt: skip


def _old(program: Program, side: ast.expr) -> tuple[ast.AST, bool]:
    """(where the old value is made, whether it is computed a second time and not only cut off)."""
    found = program.binding(side)
    if found is not None and found.how == "parameter" and (value := program.given(found, key(side))) is not None:
        return _old(program, value)
    made = program.origin(side)
    detached = isinstance(made, ast.Call) and last(program.path(made.func)) == "detach"
    inner = program.origin(receiver(made) or made) if detached and isinstance(made, ast.Call) else made
    again = isinstance(inner, ast.Call) and not (detached and key(receiver(made)))  # type: ignore[arg-type]
    return (found.node if found is not None and found.how == "assign" else side), again


def _counts(program: Program, loop: ast.For) -> bool:
    """Whether a loop goes over the same samples several times."""
    return isinstance(loop.iter, ast.Call) and program.path(loop.iter.func) == "range"


def _sampled_in(program: Program, loop: ast.For) -> bool:
    """Whether each pass of a loop has samples of its own."""
    drawn = re.compile(r"generate|rollout|sample|collect|play|\breset\(")
    if any(isinstance(n, ast.Call) and drawn.search(last(program.path(n.func))) for s in loop.body for n in walk(s)):
        return True
    calls = (n for s in loop.body for n in walk(s) if isinstance(n, ast.Call))
    return any((f := program.function(c)) is not None and drawn.search(program.code(f, 20_000)) for c in calls)


@rule("surrogate-takes-the-larger", "S1", "rl-instability", "clamp clip",
      bad="loss = -torch.max(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()\n",
      good="loss = -torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()\n")  # fmt: skip
def surrogate_takes_the_larger(view: View) -> Iterator[Fault]:
    """The clipped objective takes the larger of the two terms.

    Why: clipping never holds the policy back; updates grow until the training collapses.
    Known gaps: losses with the minus inside take the larger rightly.
    """
    program = view.program
    for call in program.find("max", "maximum", "min", "minimum"):
        if len(call.args) != 2:
            continue
        parts = [program.origin(a) for a in call.args]
        text = [source(program, p) for p in parts]
        deep = [
            " ".join(source(program, n) for n in program.traced(p, 2) if isinstance(n, ast.Call)) + t
            for p, t in zip(parts, text, strict=True)
        ]
        clipped = [bool(re.search(r"clamp|clip", d)) for d in deep]
        if (
            sum(clipped) != 1
            or not all(re.search(r"adv", t, re.I) for t in text)
            or not any("ratio" in t or "exp" in t for t in deep)
        ):
            continue
        minus_in = sum(t.lstrip("(").startswith("-") for t in text)
        larger = last(program.path(call.func)) in ("max", "maximum")
        out = negated(program, call)
        name = last(program.path(call.func))
        if (larger and minus_in == 0 and out) or (not larger and minus_in == 2 and not out):
            new = {"max": "min", "maximum": "minimum", "min": "max", "minimum": "maximum"}[name]
            func = source(program, call.func)
            yield Fault(call, "the clipped objective takes the wrong of its two terms: clipping never holds",
                        "裁剪目标取错了一边：裁剪不起作用", (instead(call.func, func[: -len(name)] + new),))  # fmt: skip


@rule("advantage-divided-by-zero", "S2", "zero-advantage-groups", "std(",
      bad="advantages = (rewards - rewards.mean()) / rewards.std()\n",
      good="advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)\n")  # fmt: skip
def advantage_divided_by_zero(view: View) -> Iterator[Fault]:
    """Advantages are divided by a standard deviation that may be zero.

    Why: where all answers of a group get the same reward, the advantage is NaN, and so is the loss.
    """
    program = view.program
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        low = program.origin(node.right)
        spread = isinstance(low, ast.Call) and last(program.path(low.func)) == "std"
        if (
            spread
            and re.search(
                r"reward|adv|return|score", f"{source(program, node)} {getattr(program.scope(node), 'name', '')}", re.I
            )
            and isinstance(node.left, ast.BinOp)
        ):
            text = source(program, node.right)
            yield Fault(node, "divided by a standard deviation that may be zero", "除以可能为 0 的标准差",
                        (instead(node.right, f"({text} + 1e-6)"),))  # fmt: skip


@rule("engine-weights-not-synced", "S1", "stale-engine-weights", "vllm LLM( sglang deepcopy rollout sample generate",
      bad="""
      from vllm import LLM
      engine = LLM(model=name)
      for prompts in loader:
          samples = engine.generate(prompts)
          loss = policy_loss(policy, samples)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      from vllm import LLM
      engine = LLM(model=name)
      for prompts in loader:
          samples = engine.generate(prompts)
          loss = policy_loss(policy, samples)
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
          sync_weights(policy, engine)
      """)  # fmt: skip
def engine_weights_not_synced(view: View) -> Iterator[Fault]:
    """The rollout engine never gets the weights that are being trained.

    Why: it samples from the first policy for ever; the training goes off policy, and rewards stand still.
    """
    program = view.program
    synced = re.compile(
        r"sync|load_weights|update_weight|update_param|collective_rpc|broadcast|reload|refit|move_model|push_weights|send_weights|wake_up|load_lora|LoRARequest|add_lora"
    )
    yield from _kept_copy(view)
    yield from _pushed_once(view)
    if any(map(synced.search, program.calls)):
        return
    for call in sorted(program.find("generate", "chat", "encode", "async_generate"), key=lambda c: c.lineno):
        engine = receiver(call)
        if engine is None or view.roles.sure(engine) != "rollout" or not repeated(view, call):
            continue
        if _made_anew(view, engine):
            continue
        yield from _unsynced(view, call)
        return


SAMPLES = re.compile(r"rollout|sample|collect|generate|(^|_)act(_|$)|play|episode|trajector", re.I)
HELPS = re.compile(r"ref|target|teacher|ema|frozen|init|sft|average|best|shadow|opponent|old_?\w{0,10}$", re.I)
GIVES = ("load_state_dict", "copy_", "lerp_", "mul_", "set_weights", "deepcopy")


def _kept_copy(view: View) -> Iterator[Fault]:
    """A copy of the policy, made once, that draws the samples of a loop and is never given what was trained."""
    program = view.program
    trainings = [t for t in view.trainings if t.of("step")]
    for made in program.find("deepcopy") if trainings else ():
        statement = program.statement(made)
        name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        source_ = key(made.args[0]) if made.args and view.roles.of(made.args[0]) == "model" else ""
        if not name or not source_ or HELPS.search(last(name)) or repeated(view, made):
            continue
        uses = [c for c in program.each(ast.Call) if SAMPLES.search(last(program.path(c.func))) and program.scope(c) is program.scope(made)
                and (name in {key(a) for a in c.args} or key(receiver(c)) == name)]  # fmt: skip
        drawn = next((c for c in uses if repeated(view, c)), None)
        given = any(c is not made and name.split(".")[0] in {key(n) for n in walk(c)} for c in program.find(*GIVES))
        again = len(program.bindings(statement, name)) > 1
        if drawn is not None and not given and not again:
            yield Fault(drawn, f"`{name}` is a copy made once: it samples in the loop and never gets the trained weights",
                        f"`{name}` 是一次性的副本：在循环中采样，却从未得到训练后的权重", beside=(made,))  # fmt: skip


PUSHES = re.compile(r"^push(?!_to_hub)|sync|update_weight|load_weights|send_weights|refit|reload|publish")


def _pushed_once(view: View) -> Iterator[Fault]:
    """Weights that are handed to what samples before the loop, and never in it."""
    program = view.program
    named = program.find(*filter(PUSHES.search, program.calls))
    pushes = sorted((c for c in named if any(view.roles.of(a) == "model" for a in c.args)), key=lambda c: c.lineno)
    if not pushes or any(repeated(view, c) for c in pushes) or not any(t.of("step") for t in view.trainings):
        return
    for call in program.each(ast.Call):
        same = receiver(call) is not None and key(receiver(call)) in {key(receiver(p)) for p in pushes} - {"", "self"}
        if same and SAMPLES.search(last(program.path(call.func))) and repeated(view, call):
            yield Fault(call, f"`{key(receiver(call))}` samples in the loop, and gets the weights before it only",
                        f"`{key(receiver(call))}` 在循环中采样，却只在循环之前得到过权重", beside=(pushes[0],))  # fmt: skip
            return


def _made_anew(view: View, engine: ast.expr) -> bool:
    """Whether the engine itself is built again and again."""
    made = [
        b.value for s in view.program.bound.values() for b in s.get(key(engine), ()) if isinstance(b.value, ast.Call)
    ]
    return any(repeated(view, m) for m in made)


def _unsynced(view: View, call: ast.Call) -> Iterator[Fault]:
    place = call
    for _ in range(3):  # where the loop calls what samples
        callers = view.program.callers(view.program.scope(place))
        if view.program.loops(place) or len(callers) != 1:
            break
        place = callers[0]
    place = place if view.program.loops(place) else call
    yield Fault(place, f"`{key(receiver(call))}` samples in the loop and never gets the trained weights",
                f"`{key(receiver(call))}` 在循环中采样，却从未得到训练后的权重",
                beside=(call,))  # fmt: skip
