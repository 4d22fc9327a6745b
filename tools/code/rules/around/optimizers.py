"""Rules on how an optimizer is made: how often, and what its weight decay is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import fields, made_of
from ...program import FUNCTIONS, Program, argument, key, last, passed, receiver
from ...source import walk
from ..look import always, epoch_loop, inside
from ..optimizer import TRAIN
from ..rule import Fault, View, rule


@rule("optimizer-rebuilt", "S1", "loss-stagnation", "backward",
      bad="""
      for epoch in range(3):
          optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
          for batch in loader:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      for epoch in range(3):
          for batch in loader:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def optimizer_rebuilt(view: View) -> Iterator[Fault]:
    """The optimizer is made anew inside the training loop.

    Why: its moments are thrown away each time, and a schedule that holds the old one changes nothing.
    Known gaps: a loop that makes its model anew as well (folds, trials) is left alone.
    """
    program = view.program
    for name, call in (*_rebuilt_inside(view), *_of_an_epoch(view)):
        if not any(_made_in(view, m, t.node) for m in view.roles.named("model") for t in view.trainings):
            yield Fault(call, f"`{name}` is made anew in each pass of the loop: its moments are lost",
                        f"`{name}` 在循环里每次重建：动量全部丢失")  # fmt: skip
    for name in view.roles.named("optimizer"):
        for scoped in program.bound.values():
            for binding in scoped.get(name, ()):
                call = binding.value
                if not isinstance(call, ast.Call) or binding.how != "assign" or view.roles.of(call) != "optimizer":
                    continue
                loops = [x for x in program.loops(call) if any(x is t.node or x in t.outer for t in view.trainings)]
                loops = [x for x in loops if not _of_pass(program, call, x)]
                fresh = [m for m in view.roles.named("model") for x in loops if _made_in(view, m, x)]
                if loops and not fresh and not program.guards(call):
                    yield Fault(call, f"`{name}` is made anew in each pass of the loop: its moments are lost",
                                f"`{name}` 在循环里每次重建：动量全部丢失")  # fmt: skip


def _of_an_epoch(view: View) -> Iterator[tuple[str, ast.Call]]:
    """Optimizers that are made in a function which makes one epoch of the training."""
    program = view.program
    for training in view.trainings:
        scope = program.scope(training.node)
        if not training.whole or not isinstance(scope, FUNCTIONS):
            continue
        for name, bindings in program.bound.get(scope, {}).items():
            made = bindings[0].value
            if (
                len(bindings) != 1
                or not isinstance(made, ast.Call)
                or view.roles.of(made) != "optimizer"
                or program.guards(made)
            ):
                continue
            for call in program.callers(scope):
                if (loop := epoch_loop(program, call)) is None or training.node in program.loops(made):
                    continue
                models = {key(n) for n in walk(made) if view.roles.of(n) == "model" and key(n)}
                given = {key(v) for own, v in passed(scope, call) if own in models}
                fresh = models - {own for own, _ in passed(scope, call)} or any(_made_in(view, m, loop) for m in given)
                if models and not fresh:
                    yield name, made


def _rebuilt_inside(view: View) -> Iterator[tuple[str, ast.Call]]:
    """Optimizers that a function makes which each pass calls."""
    for training in view.trainings:
        for event in training.of("assign"):
            node = event.node
            call = node.value if isinstance(node, ast.Assign) else None
            if event.depth and always(event) and isinstance(call, ast.Call) and view.roles.of(call) == "optimizer":
                stepped = {last(key(s.on)) for s in training.of("step")}
                name = key(node.targets[0]) if isinstance(node, ast.Assign) else ""
                if last(name) in stepped and training.whole and not view.program.guards(call):
                    yield name, call


def _of_pass(program: Program, call: ast.Call, loop: ast.AST) -> bool:
    """Whether what an optimizer takes is another thing in each pass: a layer, a fold."""
    target = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set()
    return bool(target & {n.id for a in call.args[:1] for n in program.traced(a) if isinstance(n, ast.Name)})


def _made_in(view: View, name: str, loop: ast.AST) -> bool:
    found = [b for s in view.program.bound.values() for b in s.get(name, ()) if b.how == "assign"]
    return any(inside(view.program, b.node, loop) and isinstance(b.value, ast.Call) for b in found)


@rule("decay-on-every-parameter", "S3", "weight-decay-misconfig", "weight_decay",
      bad="""
      model = AutoModelForCausalLM.from_pretrained(name)
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1)
      """ + TRAIN.format(inner="", outer="").replace("\n", "\n      "),
      good="""
      model = AutoModelForCausalLM.from_pretrained(name)
      decayed = [p for n, p in model.named_parameters() if p.ndim > 1]
      plain = [p for n, p in model.named_parameters() if p.ndim < 2]
      groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
      optimizer = torch.optim.AdamW(groups, lr=1e-4)
      """ + TRAIN.format(inner="", outer="").replace("\n", "\n      "))  # fmt: skip
def decay_on_every_parameter(view: View) -> Iterator[Fault]:
    """Weight decay pulls norms, biases and embeddings to zero as well.

    Why: recipes of large models decay matrices only; strong decay of norm weights slows or unsettles training.
    Known gaps: weak decay (below 0.05) is left alone.
    """
    for call in view.program.find("AdamW", "Adam", "FusedAdam", "AdamW8bit"):
        decay = argument(call, "weight_decay")
        value = view.program.const(decay) if decay is not None else None
        first = call.args[0] if call.args else None
        made = view.program.origin(first) if first is not None else None
        if isinstance(made, (ast.ListComp, ast.GeneratorExp)) and len(made.generators) == 1:
            tests = " ".join(view.program.code(t) for t in made.generators[0].ifs)
            made = made.generators[0].iter if re.fullmatch(r"(\w{1,40}\.requires_grad)?", tests) else None
        whole = isinstance(made, ast.Call) and last(view.program.path(made.func)) == "parameters" and not made.args
        if whole and isinstance(value, float) and value >= 0.05 and view.each_step:
            yield Fault(call, f"a weight decay of {value:g} goes to norms, biases and embeddings too",
                        f"weight decay {value:g} 也作用于 norm、bias 与 embedding")  # fmt: skip


@rule("decay-groups-swapped", "S1", "weight-decay-misconfig", "weight_decay",
      bad="""
      model = AutoModelForCausalLM.from_pretrained(name)
      decayed = [p for p in model.parameters() if p.ndim > 1]
      plain = [p for p in model.parameters() if p.ndim < 2]
      groups = [{"params": decayed, "weight_decay": 0.0}, {"params": plain, "weight_decay": 0.1}]
      optimizer = torch.optim.AdamW(groups, lr=1e-4)
      """,
      good="""
      model = AutoModelForCausalLM.from_pretrained(name)
      decayed = [p for p in model.parameters() if p.ndim > 1]
      plain = [p for p in model.parameters() if p.ndim < 2]
      groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
      optimizer = torch.optim.AdamW(groups, lr=1e-4)
      """)  # fmt: skip
def decay_groups_swapped(view: View) -> Iterator[Fault]:
    """Norms and biases are decayed, and matrices are not.

    Why: the decay pulls norms to zero and leaves what it is meant for alone.
    Known gaps: groups that are told apart by something else than names of norms and the number of dimensions.
    """
    program = view.program
    given = {n: n.args[0] for n in program.each(ast.Call) if n.args and view.roles.of(n) == "optimizer"}
    listed = [
        n
        for n in program.each(ast.List)
        if not given and len(n.elts) == 2 and all(isinstance(e, ast.Dict) for e in n.elts)
    ]
    for call, whole in (given or dict(zip(listed, listed, strict=True))).items():
        groups = [fields(program, s.node) for s in made_of(program, whole)]
        kinds = {
            (_vectors(program, g["params"]), program.const(g["weight_decay"]) == 0): g["params"]
            for g in groups if "params" in g and "weight_decay" in g
        }  # fmt: skip
        if (True, False) in kinds and (False, True) in kinds and (True, True) not in kinds:
            yield Fault(kinds[True, False], "norms and biases are decayed here, and matrices are not",
                        "这里对 norm 与 bias 做了衰减，矩阵反而没有", beside=(call,))  # fmt: skip


def _vectors(program: Program, expr: ast.expr) -> bool | None:
    """Whether parameters are those of norms and biases (True) or the others (False), as their choice tells."""
    made = program.origin(expr)
    tests = (
        [(t, True) for g in made.generators for t in g.ifs]
        if isinstance(made, (ast.ListComp, ast.GeneratorExp))
        else []
    )
    for value in program.put_into(expr)[:1]:
        tests += _turn(program, value, expr) or [(t, side) for t, side, _ in program.guards(value)[:1]]
    for test, side in [(p, s) for t, s in tests for p in (t.values if isinstance(t, ast.BoolOp) else [t])]:
        said = _chosen(program, test)
        if said is not None:
            return said is side
    return None


def _turn(program: Program, value: ast.expr, into: ast.expr) -> list[tuple[ast.expr, bool]]:
    """The condition of `(a if c else b).append(p)`, with the side of one of the two."""
    call = program.parent.get(value)
    on = receiver(call) if isinstance(call, ast.Call) else None
    end = (key(into).rpartition("[")[2] if isinstance(into, ast.Subscript) else key(into)) or "?"
    sides = [s for s in (True, False) if isinstance(on, ast.IfExp) and key(on.body if s else on.orelse).endswith(end)]
    return [(on.test, sides[0])] if len(sides) == 1 and isinstance(on, ast.IfExp) else []


def _chosen(program: Program, test: ast.expr) -> bool | None:
    """Whether a condition holds for norms and biases, or for the others."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _chosen(program, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and re.search(r"\.n?dim\b|len\(\w{1,40}\.shape\)", program.code(test.left)):
        number, how = program.const(test.comparators[0]), test.ops[0]
        if isinstance(how, (ast.Gt, ast.GtE)) and number == 1 + isinstance(how, ast.GtE):
            return False
        small = (isinstance(how, ast.Lt) and number == 2) or (isinstance(how, (ast.LtE, ast.Eq)) and number == 1)
        return True if small else None
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
        word = program.const(test.left)
        told = (
            isinstance(word, str)
            and re.search(r"bias|norm|^ln", word, re.I)
            and isinstance(test.comparators[0], ast.Name)
        )
        return isinstance(test.ops[0], ast.In) if told else None
    if isinstance(test, ast.Call) and last(program.path(test.func)) == "endswith" and test.args:
        word = program.const(test.args[0])
        return True if isinstance(word, str) and re.search(r"bias|norm", word, re.I) else None
    words = " ".join(program.code(n) for n in program.traced(test, 2) if isinstance(n, (ast.Constant, ast.Name)))
    named = re.search(r"bias|norm", words, re.I)
    return True if named and isinstance(test, ast.Call) and key(test.func) == "any" else None


@rule("undecayed-names-miss", "S2", "weight-decay-misconfig", "named_parameters",
      bad="""
      model = LlamaForCausalLM.from_pretrained(name)
      no_decay = ["bias", "LayerNorm.weight"]
      plain = [p for n, p in model.named_parameters() if any(s in n for s in no_decay)]
      """,
      good="""
      model = LlamaForCausalLM.from_pretrained(name)
      no_decay = ["bias", "norm.weight"]
      plain = [p for n, p in model.named_parameters() if any(s in n for s in no_decay)]
      """)  # fmt: skip
def undecayed_names_miss(view: View) -> Iterator[Fault]:
    """The names of what is not to be decayed are those of another family of models.

    Why: norms are called `input_layernorm` and `norm` there: they are decayed, and nobody is told.
    """
    program = view.program
    yield from _no_norm_named(view)
    if not program.mentions("Llama", "Qwen", "Mistral", "Gemma", "RMSNorm", "llama"):
        return
    for node in program.each(ast.Tuple, ast.List, ast.Set):
        names_ = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        cased = [n for n in names_ if n in ("LayerNorm.weight", "layer_norm.weight", "LayerNorm.bias")]
        if cased and not any(n in ("norm", "norm.weight", "layernorm", "ln") or "rms" in n.lower() for n in names_):
            yield Fault(node, f"`{cased[0]}` is in no name of this family of models: its norms are decayed",
                        f"这类模型的参数名中没有 `{cased[0]}`：norm 权重仍被衰减")  # fmt: skip


NORMS = (
    (re.compile(r"GPT2(?!Tok)|[\"']gpt2|distilgpt2", re.I), ("ln_1.weight", "ln_f.weight")),
    (re.compile(r"Bert(?!Tok)|bert-base|roberta", re.I), ("output.LayerNorm.weight",)),
    (re.compile(r"T5(?!Tok)|[\"'](google/)?(flan-)?t5-"), ("layer_norm.weight",)),
)
"""Family of models -> what the weights of its norms are called."""
AT_NORMS = re.compile(r"norm|^ln|\.ln|_ln|^bn", re.I)


def _no_norm_named(view: View) -> Iterator[Fault]:
    """Tests of a parameter's name that are meant for norms, none of which is called so in the only model here."""
    program = view.program
    names = _norms(view)
    for place, words in _tested_names(program) if names else ():
        meant = [w for w in words if AT_NORMS.search(w)]
        if meant and not any(w in n for w in meant for n in names):
            yield Fault(place, f"`{meant[0]}` is in no name of this model's norms (`{names[0]}`): they are decayed",
                        f"该模型的 norm 参数名（`{names[0]}`）里没有 `{meant[0]}`：它们仍被衰减")  # fmt: skip
            return


def _norms(view: View) -> list[str]:
    """What the norms' weights are called, where one family of models, or only classes of this file, can be meant."""
    program = view.program
    found = [names for pattern, names in NORMS if pattern.search(program.text)]
    if found or program.mentions("from_pretrained", "create_model", "torchvision"):
        return list(found[0]) if len(found) == 1 and not view.roles.modules else []
    made = [(name, b.value) for owner, scoped in program.bound.items() if isinstance(owner, ast.ClassDef)
            for name, bound in scoped.items() for b in bound if isinstance(b.value, ast.Call)]  # fmt: skip
    if any(not re.match(r"torch\.nn\.", program.path(c.func)) and last(program.path(c.func)) not in program.classes
           for n, c in made if n.startswith("self.") and "ModuleList" not in program.path(c.func)):  # fmt: skip
        return []
    return [f"{n[5:]}.weight" for n, c in made if re.search(r"torch\.nn\.\w{0,12}Norm\w{0,3}$", program.path(c.func))]


def _tested_names(program: Program) -> Iterator[tuple[ast.AST, list[str]]]:
    """(where, the words) of `"bias" in name` and `any(w in name for w in WORDS)`, of the names of parameters."""
    for node in program.each(ast.Compare):
        if not isinstance(node.ops[0], (ast.In, ast.NotIn)) or not isinstance(node.comparators[0], ast.Name):
            continue
        loop = program.binding(node.comparators[0])
        named = loop is not None and loop.how == "for" and loop.part == 0 and isinstance(loop.value, ast.Call)
        if not named or last(program.path(loop.value.func)) != "named_parameters":  # type: ignore[union-attr]
            continue
        word = program.binding(node.left)
        over = program.origin(word.value) if word is not None and word.how == "for" and word.value is not None else None
        words = over.elts if isinstance(over, (ast.Tuple, ast.List, ast.Set)) else [node.left]
        said = [program.const(w) for w in words]
        if all(isinstance(w, str) for w in said):
            yield node, [str(w) for w in said]


@rule("l2-in-adam", "S3", "weight-decay-misconfig", "weight_decay",
      bad="""
      def build(model):
          return torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=0.1)
      """,
      good="""
      def build(model):
          return torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
      """)  # fmt: skip
def l2_in_adam(view: View) -> Iterator[Fault]:
    """Weight decay is given to Adam, which adds it to the gradient as L2.

    Why: Adam divides the gradient by its own size, so weights with small gradients are pulled far more than others.
    Known gaps: decay below 0.01 is left alone.
    """
    program = view.program
    for call in program.find("Adam"):
        own, groups = argument(call, "weight_decay"), made_of(program, call.args[0]) if call.args else ()
        asked = [own] if own is not None else [fields(program, s.node).get("weight_decay") for s in groups]
        value = next((v for d in asked if d is not None and isinstance(v := program.usually(d), float) and v), None)
        plain = view.program.path(call.func) in ("torch.optim.Adam", "optim.Adam", "Adam")
        if plain and isinstance(value, float) and value >= 0.01:
            yield Fault(call, f"Adam adds the weight decay of {value:g} to the gradient as L2, it does not decouple it",
                        f"Adam 把 weight decay {value:g} 作为 L2 加进梯度，没有解耦")  # fmt: skip
