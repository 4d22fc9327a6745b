"""Rules on the modes of a model: training, evaluation, gradients, cache."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import after, before, instead
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..source import walk
from .apart.forwards import cache_grown_twice
from .apart.moods import HELPERS, each_batch, left_in_evaluation, never_trained, phases_alike, told_alike
from .look import OFF, TEST, inside, keyword, model_call, no_grad
from .meaning.answering import scored_with_gradients, served, through_helpers
from .rule import Fault, View, rule

EVALUATE = """
{decorator}
def evaluate(model, loader):
    {mode}
    total = 0.0
    for batch in loader:
        total += model(**batch).loss.item()
    return total / len(loader)
"""
ENDING = """
for epoch in range(3):
    {train}
    for batch in train_loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        for batch in val_loader:
            total += model(**batch).loss.item()
    {back}
"""


@rule("evaluation-mode-not-left", "S1", "loss-stagnation", "eval() train(False",
      bad="model.train()\n" + ENDING.format(train="print(epoch)", back="print(total)"),
      good=(ENDING.format(train="model.train()", back="print(total)"), ENDING.format(train="print(epoch)", back="model.train()")))  # fmt: skip
def evaluation_mode_not_left(view: View) -> Iterator[Fault]:
    """The model is put into evaluation mode inside the training and never back.

    Why: from the first evaluation on it trains without dropout, and norms with running statistics stand still.
    """
    program = view.program
    yield from never_trained(view)
    for training in view.trainings:
        if not training.whole:
            yield from left_in_evaluation(view, training)
            continue
        loops = (training.node, *training.outer)
        for call, at in _evals(view, loops):
            name = last(key(receiver(call)))
            back = [c for c in program.find("train") if isinstance(receiver(c), ast.expr) and not _off(c)]
            around = [c for c in back if any(inside(program, c, x) for x in loops) or (program.scope(c) is not program.scope(loops[-1])
                      and program.scope(c) is not program.tree)]  # fmt: skip
            trained = {last(key(n)) for b in training.of("backward") if b.on is not None for n in program.traced(b.on)
                       if view.roles.of(n) == "model"}  # fmt: skip
            own = name in trained or program.scope(call) is not program.scope(training.node)
            if not around and own and not re.search(r"ref|teacher|reward|frozen|target|critic|ema", name):
                statement = program.statement(at)
                fix = (after(statement, f"{key(receiver(call))}.train()"),) if at is not call and isinstance(statement, (ast.Expr, ast.Assign)) and program.scope(at) is program.scope(training.node) and key(receiver(call)) in {key(a) for a in at.args} else _entered(view, training, call)  # fmt: skip
                yield Fault(call, f"`{name}.eval()` is called inside the training, and nothing calls `{name}.train()` again",
                            f"训练过程中调用了 `{name}.eval()`，之后没有再 `{name}.train()`", fix)  # fmt: skip


def _entered(view: View, training: object, call: ast.Call) -> tuple:
    """`train()` as the first line of the loop in which the mode is changed."""
    from ..patch import first_in

    node = getattr(training, "node", None)
    same = (
        node is not None
        and view.program.scope(node) is view.program.scope(call)
        and isinstance(node, (ast.For, ast.While))
    )
    return (first_in(node, f"{key(receiver(call))}.train()"),) if same else ()  # type: ignore[arg-type]


def _off(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value is False


def _evals(view: View, loops: tuple[ast.AST, ...]) -> Iterator[tuple[ast.Call, ast.Call]]:
    """(`x.eval()`, the call in the loops that leads to it)."""
    program = view.program
    for call in (*program.find("eval"), *(c for c in program.find("train") if _off(c))):
        if (
            (call.args and not _off(call))
            or receiver(call) is None
            or view.roles.of(receiver(call)) != "model"
            or _frozen(program, call)
        ):
            continue
        if any(inside(program, call, x) for x in loops):
            yield call, call
            continue
        scope = program.scope(call)
        if isinstance(scope, FUNCTIONS) and not any(inside(program, x, scope) for x in loops):
            callers = [c for c in program.calls.get(scope.name, ()) if any(inside(program, c, x) for x in loops)]
            if callers:
                yield call, callers[0]


def _frozen(program: Program, call: ast.Call) -> bool:
    """Whether the model is frozen in the same breath: `net.eval().requires_grad_(False)`."""
    inner = program.within(program.statement(call))
    return any(isinstance(n, ast.Attribute) and n.attr == "requires_grad_" for n in inner)


MODAL = re.compile(
    r"[Dd]rop|BatchNorm|InstanceNorm|from_pretrained|models\.|timm|Transformer|Encoder|[a-z]net\d|load|hub\."
)
"""Words of programs whose models differ between the modes."""


def _modal(view: View, expr: ast.expr | None) -> bool:
    """Whether a model may do one thing in training and another in evaluation."""
    known = view.program.kind(expr) if expr is not None else None
    return known is None or bool(MODAL.search(view.program.said))


def _evaluating(view: View) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions that evaluate a model, by name and by what they do."""
    program = view.program
    for functions in program.functions.values():
        for function in functions:
            if re.search(r"train|generate|sample|embed|encode", function.name):
                continue
            closed = any(OFF.search(program.path(d)) for d in function.decorator_list)
            if not (TEST.search(function.name) or closed or _closed_loop(view, function)):
                continue
            nodes = program.within(function, ast.Call)
            each = (ast.For, ast.comprehension)
            if any(isinstance(n, each) for n in program.within(function)) and not any(
                last(program.path(c.func)) == "backward" for c in nodes):  # fmt: skip
                yield function


def _closed_loop(view: View, function: ast.AST) -> bool:
    """Whether a function goes over batches without gradients."""
    if not view.program.mentions("no_grad", "inference_mode", "set_grad_enabled"):
        return False
    loops = [n for n in view.program.within(function, ast.For, ast.comprehension) if any(
        view.roles.of(i) == "loader" or TEST.search(last(key(i))) for i in walk(n.iter) if key(i))]  # fmt: skip
    return any(no_grad(view.program.contexts(s)) for x in loops for s in (x, *getattr(x, "body", ())))


@rule("evaluated-in-training-mode", "S2", "eval-harness-drift", "no_grad inference_mode backward from_pretrained",
      bad=EVALUATE.format(decorator="@torch.no_grad()", mode="print(len(loader))"),
      good=EVALUATE.format(decorator="@torch.no_grad()", mode="model.eval()"))  # fmt: skip
def evaluated_in_training_mode(view: View) -> Iterator[Fault]:
    """An evaluation does not put the model into evaluation mode.

    Why: dropout stays on; scores are lower, and change from one run to the next.
    Known gaps: a caller that does it in another file.
    """
    program = view.program
    if _no_dropout(program):
        return
    if (
        any(not HELPERS.search(last(key(receiver(c)))) for c in program.find("eval"))
        or any(map(_off, program.find("train")))
        or any(n.attr == "training" and key(n) for n in program.each(ast.Attribute))
        or any(n.id == "training" for n in program.each(ast.Name))
    ):
        return
    trained = {key(receiver(c)) for c in program.find("train") if not c.args} - {"", "self"}
    yield from phases_alike(view)
    yield from told_alike(view)
    yield from _between_epochs(view, trained)
    yield from served(view)
    for function in _evaluating(view):
        runs = [n for n in program.within(function) if model_call(view, n) and view.roles.of(getattr(n, "func", None)) == "model"
                and (not key(getattr(n, "func", None)).startswith("self.") or program.also(n.func) & trained)]  # type: ignore[attr-defined]  # fmt: skip
        inner = [n for n in runs if each_batch(program, n)]
        name = key(inner[0].func) if inner and isinstance(inner[0], ast.Call) else ""
        if (
            name
            and _modal(view, getattr(inner[0], "func", None))
            and (view.trainings or any(True for _ in program.find("no_grad", "inference_mode", "from_pretrained")))
        ):
            first = next(
                (s for s in function.body if not isinstance(s, ast.Expr) or not isinstance(s.value, ast.Constant)),
                function.body[0],
            )
            own = any(a.arg == name for a in function.args.args)
            fix = (before(first, f"{name}.eval()"),) if own else ()
            yield Fault(inner[0], f"`{name}` is evaluated without `{name}.eval()`: dropout stays on",
                        f"评测时没有调用 `{name}.eval()`：dropout 仍然开启", fix)  # fmt: skip


def _no_dropout(program: Program) -> bool:
    """Whether the adapter is given no dropout, and the program has no layer of it and gives none to anything else."""
    given = [k for c in program.each(ast.Call) for k in c.keywords if k.arg and "dropout" in k.arg]
    adapter = any(k.arg == "lora_dropout" for k in given)
    return adapter and all(program.const(k.value) == 0 for k in given) and not program.mentions("Dropout(", "BatchNorm")


def _between_epochs(view: View, trained: set[str]) -> Iterator[Fault]:
    """Held-out batches that go through the trained model inside the loop of the training, where `train()` was called."""
    program = view.program
    for training in view.trainings:
        for call in (n for n in program.each(ast.Call) if key(n.func) in trained):
            placed = any(inside(program, call, x) for x in training.outer) and not inside(program, call, training.node)
            if (
                placed
                and (model_call(view, call) or view.roles.of(call.func) == "model")
                and no_grad(program.contexts(call))
                and _batches(program, call)
            ):
                yield Fault(call, f"`{key(call.func)}` is evaluated without `{key(call.func)}.eval()`: dropout stays on",
                            f"评测时没有调用 `{key(call.func)}.eval()`：dropout 仍然开启")  # fmt: skip
                return


def _batches(program: Program, call: ast.Call) -> bool:
    """Whether a call is made for each batch of held-out data."""
    for above in program.up(call):
        iters = [above.iter] if isinstance(above, ast.For) else [g.iter for g in getattr(above, "generators", ())]
        if any(TEST.search(last(k)) for i in iters for n in walk(i) if (k := key(n))):
            return True
    return False


@rule("evaluated-with-gradients", "S2", "eval-loop-oom", "eval",
      bad=EVALUATE.format(decorator="", mode="model.eval()").lstrip(),
      good=EVALUATE.format(decorator="@torch.no_grad()", mode="model.eval()"))  # fmt: skip
def evaluated_with_gradients(view: View) -> Iterator[Fault]:
    """An evaluation builds the graph of every batch.

    Why: it needs the memory of training for nothing, and runs out of it with larger batches.
    """
    program = view.program
    if program.mentions("set_grad_enabled(False)"):
        return
    yield from through_helpers(view)
    yield from scored_with_gradients(view)
    for function in _evaluating(view):
        runs = [
            n
            for n in program.within(function)
            if model_call(view, n) and view.roles.of(getattr(n, "func", None)) == "model" and each_batch(program, n)
        ]
        open_ = [n for n in runs if not no_grad(program.contexts(n))]
        called = [c for c in program.calls.get(function.name, ()) if no_grad(program.contexts(c))]
        modes = [c for c in program.within(function, ast.Call) if last(program.path(c.func)) == "eval" and not c.args]
        if open_ and len(open_) == len(runs) and not called and modes and program.calls.get(function.name):
            yield Fault(open_[0], "the evaluation builds a graph for every batch: no `no_grad` around it",
                        "评测没有放在 no_grad 内：每个批次都在建计算图", (before(function, "@torch.no_grad()"),))  # fmt: skip
        elif open_ and len(open_) == len(runs) and not called and modes and program.parent.get(function) is not None:
            if not isinstance(program.parent[function], ast.ClassDef):
                yield Fault(open_[0], "the evaluation builds a graph for every batch: no `no_grad` around it",
                            "评测没有放在 no_grad 内：每个批次都在建计算图", (before(function, "@torch.no_grad()"),))  # fmt: skip


@rule("evaluation-in-loop-with-gradients", "S2", "eval-loop-oom", "eval()",
      bad=ENDING.format(train="model.train()", back="pass").replace("with torch.no_grad():", "if True:"),
      good=ENDING.format(train="model.train()", back="pass"))  # fmt: skip
def evaluation_in_loop_with_gradients(view: View) -> Iterator[Fault]:
    """The evaluation inside the training loop builds the graph of every batch.

    Why: it needs the memory of training for nothing.
    """
    program = view.program
    if program.mentions("set_grad_enabled(False)"):
        return
    for training in view.trainings:
        for loop in [n for n in program.each(ast.For) if n is not training.node]:
            tested = any(TEST.search(last(k)) for n in walk(loop.iter) if (k := key(n)))
            if not tested or not any(inside(program, loop, x) for x in (training.node, *training.outer)):
                continue
            runs = [
                n
                for n in program.within(loop)
                if model_call(view, n) and view.roles.of(getattr(n, "func", None)) == "model"
            ]
            trained = any(
                isinstance(n, ast.Call) and last(program.path(n.func)) == "backward" for n in program.within(loop)
            )
            if runs and not trained and all(not no_grad(program.contexts(n)) for n in runs):
                yield Fault(runs[0], "the evaluation builds a graph for every batch: no `no_grad` around it",
                            "评测没有放在 no_grad 内：每个批次都在建计算图")  # fmt: skip


@rule("cache-with-checkpointing", "S2", "oom-activations", "gradient_checkpointing checkpoint(",
      bad="""
      model = AutoModelForCausalLM.from_pretrained(name, use_cache=True)
      model.gradient_checkpointing_enable()
      """,
      good="""
      model = AutoModelForCausalLM.from_pretrained(name, use_cache=False)
      model.gradient_checkpointing_enable()
      """)  # fmt: skip
def cache_with_checkpointing(view: View) -> Iterator[Fault]:
    """The key-value cache is on while activations are recomputed.

    Why: the cache keeps what checkpointing throws away, or is switched off with a warning in each step; a block that is run
    again in the backward pass adds its keys to it twice.
    """
    program = view.program
    yield from cache_grown_twice(view)
    enabled = [c for c in program.find("gradient_checkpointing_enable")] + [
        k for c in program.each(ast.Call) for k in c.keywords
        if k.arg == "gradient_checkpointing" and isinstance(k.value, ast.Constant) and k.value.value is True]  # fmt: skip
    if not enabled:
        return
    written = [n for n in program.each(ast.Assign) if key(n.targets[0]).endswith("use_cache")]
    for node in program.nodes:
        value = None
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Attribute)
            and node.targets[0].attr == "use_cache"
        ):
            value = node.value
        elif isinstance(node, ast.Call) and last(program.path(node.func)) != "generate":
            value = argument(node, "use_cache")
        if isinstance(value, ast.Constant) and value.value is True and not any(n is not node for n in written):
            yield Fault(value, "the cache is on together with gradient checkpointing", "开启梯度检查点的同时又打开了 use_cache",
                        (instead(value, "False"),))  # fmt: skip


@rule("checkpointing-without-input-gradients", "S2", "frozen-no-trainable-params", "gradient_checkpointing_enable",
      bad="""
      model = AutoModelForCausalLM.from_pretrained(name)
      model.gradient_checkpointing_enable()
      model = get_peft_model(model, LoraConfig(r=8))
      """,
      good="""
      model = AutoModelForCausalLM.from_pretrained(name)
      model.gradient_checkpointing_enable()
      model.enable_input_require_grads()
      model = get_peft_model(model, LoraConfig(r=8))
      """)  # fmt: skip
def checkpointing_without_input_gradients(view: View) -> Iterator[Fault]:
    """Activations of a frozen base model are recomputed, and its inputs need no gradient.

    Why: reentrant checkpointing finds nothing that needs a gradient, and the adapter gets none.
    Known gaps: `use_reentrant=False` needs no such call, and is left alone.
    """
    program = view.program
    if re.search(
        r"enable_input_require_grads|prepare_model_for_kbit_training|use_reentrant|Trainer\(|make_inputs_require_grad|accelerator|requires_grad_\(True",
        program.text,
    ):
        return
    for call in program.find("gradient_checkpointing_enable"):
        if any(True for _ in program.find("get_peft_model")) and keyword(call, "gradient_checkpointing_kwargs") is None:
            on = key(receiver(call))
            statement = program.statement(call)
            fix = (
                (after(statement, f"{on}.enable_input_require_grads()"),)
                if on and isinstance(statement, ast.Expr)
                else ()
            )
            yield Fault(call, "checkpointing over a frozen base: its inputs need no gradient, so the adapter gets none",
                        "冻结的底座加梯度检查点：输入不需要梯度，适配器得不到梯度", fix)  # fmt: skip
