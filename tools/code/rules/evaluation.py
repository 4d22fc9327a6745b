"""Rules on what is measured: decoding, templates, comparison, and items that should not be there."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..flow import part
from ..patch import instead
from ..program import FUNCTIONS, Program, argument, key, last, receiver
from ..source import walk
from .judging.measures import asked_bare, drawn_by_hand, halves, measured_apart
from .judging.texts import one_side_of_a_metric
from .look import option, source, tested
from .rule import Fault, View, rule

NORMAL = ("lower", "strip", "normalize", "normalize_answer", "casefold", "rstrip", "lstrip", "upper")
GOLD = re.compile(r"gold|ref(erence)?|target|answer|label|expected|truth|solution", re.I)
TRAINED = re.compile(r"(^|_)train(ing)?(_?(set|data|ds|dataset|split|loader))?$")
DATA = re.compile(r"set|data|ds|split|loader")
"""Names of training data, and of anything that is data."""
HELD = re.compile(
    r"(^|_)(test|eval|val|valid|validation|heldout|dev|bench\w{0,40})(_?(set|data|ds|dataset|split|items|rows|examples"
    r"|questions|loader|dataloader|dl))?$",
    re.I,
)


@rule("evaluation-samples", "S2", "eval-harness-drift", "do_sample temperature multinomial",
      bad="""
      def evaluate(model, items):
          for item in items:
              out = model.generate(**item["inputs"], do_sample=True, temperature=0.8)
              score(out, item["answer"])
      """,
      good="""
      def evaluate(model, items):
          for item in items:
              out = model.generate(**item["inputs"], do_sample=False)
              score(out, item["answer"])
      """)  # fmt: skip
def evaluation_samples(view: View) -> Iterator[Fault]:
    """An evaluation draws its answers at random.

    Why: the score changes from run to run by more than most changes are worth.
    Known gaps: pass@k and majority votes draw on purpose; several samples an item are left alone.
    """
    program = view.program
    if (
        re.search(r"pass@|pass_at|majority|self.consistency|best_of|maj@|reward|rollout", program.said)
        or view.trainings
    ):
        return
    for node in drawn_by_hand(view):
        if _judges(view, node):
            yield Fault(
                node,
                "the evaluation samples its answers: the score changes from run to run",
                "评测时使用了随机采样：分数每次都不同",
            )
            return
    told: set[ast.Call] = set()
    for call in (*program.find("generate", "chat", "create"), *_pipelines(view), *program.find("SamplingParams")):
        settings = _settings(view, call)
        if settings is None or settings in told or not _judges(view, call):
            continue
        told.add(settings)
        many = next((v for n in ("n", "num_return_sequences") if (v := option(program, settings, n)) is not None), None)
        if many is not None and program.const(many) != 1:
            continue
        sampled, heat = option(program, settings, "do_sample"), option(program, settings, "temperature")
        value = program.const(heat) if heat is not None else None
        hot = isinstance(value, (int, float)) and value > 0
        served = last(program.path(settings.func)) in ("SamplingParams", "create")
        if (sampled is not None and program.const(sampled) is True) or (served and hot):
            off = (sampled, "False") if sampled is not None else (heat, "0.0")
            fix = (instead(off[0], off[1]),) if off[0] is not None else ()
            yield Fault(settings, "the evaluation samples its answers: the score changes from run to run", "评测时使用了随机采样：分数每次都不同", fix)  # fmt: skip


def _pipelines(view: View) -> Iterator[ast.Call]:
    """Calls of a pipeline of Transformers."""
    program = view.program
    if any(True for _ in program.find("pipeline")):
        for node in program.each(ast.Call):
            made = program.origin(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
            if isinstance(made, ast.Call) and last(program.path(made.func)) == "pipeline":
                yield node  # type: ignore[misc]


def _settings(view: View, call: ast.Call) -> ast.Call | None:
    """The call that holds the settings of a generation: itself, or that of the object it is given."""
    program = view.program
    for value in (*call.args, *(k.value for k in call.keywords)):
        made = program.origin(value)
        if isinstance(made, ast.Call) and last(program.path(made.func)) in ("SamplingParams", "GenerationConfig"):
            return made
    name = last(program.path(call.func))
    if name == "create" and not re.search(r"completions\.create$", program.path(call.func)):
        return None
    return call


JUDGED = re.compile(
    r"accuracy|exact_match|pass_rate|score|correct|hits|right|bleu|rouge|chrf|(^|_|\b)(em|f1|acc|wer|cer)(_|\b)"
)


def _judges(view: View, call: ast.AST, deep: int = 2) -> bool:
    """Whether answers are compared with what is right where they are generated."""
    program = view.program
    scope = program.scope(call)
    text = program.code(scope, 20_000) if isinstance(scope, FUNCTIONS) else program.text
    nodes = program.within(scope)
    compared = any(isinstance(n, ast.Compare) and isinstance(n.ops[0], (ast.Eq, ast.In)) for n in nodes)
    if tested(view, call) or (
        JUDGED.search(text) and (compared or re.search(r"match|score|grade|judge|bleu|rouge|chrf|wer", text))
    ):
        return True
    return bool(deep) and any(_judges(view, c, deep - 1) for c in program.callers(scope))


@rule("chat-template-missing", "S2", "chat-template-mismatch", "generate pipeline completions",
      bad="""
      model = AutoModelForCausalLM.from_pretrained("org/Some-7B-Instruct")
      inputs = tokenizer(question, return_tensors="pt")
      out = model.generate(**inputs)
      """,
      good="""
      model = AutoModelForCausalLM.from_pretrained("org/Some-7B-Instruct")
      text = tokenizer.apply_chat_template([{"role": "user", "content": question}], tokenize=False)
      inputs = tokenizer(text, return_tensors="pt")
      out = model.generate(**inputs)
      """)  # fmt: skip
def chat_template_missing(view: View) -> Iterator[Fault]:
    """A chat model is asked without its template.

    Why: it was trained on turns with their marks; on bare text it rambles, and scores far below what it can.
    """
    program = view.program
    yield from asked_bare(view)
    if program.mentions("chat_template", "<|im_start|>", "[INST]", "<|start_header_id|>", ".chat(", "<start_of_turn>",
                        "conv_template", "pipeline(", "TextStreamer") or "generate" not in program.calls:  # fmt: skip
        return
    chat = [n for n in program.each(ast.Constant) if isinstance(n.value, str) and len(n.value) < 100
            and re.search(r"^[\w./-]+-(Instruct|Chat|it|instruct|chat)(-[\w.]+)?$", n.value)]  # fmt: skip
    loaded = [c for c in (program.parent.get(n) for n in chat) if c is not None]
    for call in program.find("generate"):
        if chat and loaded and view.roles.of(receiver(call)) in ("model", "rollout"):
            yield Fault(call, f"`{chat[0].value}` is asked without its chat template", f"`{chat[0].value}` 没有使用对话模板",
                        beside=(chat[0], *_tokenised(view, call)))  # fmt: skip
            return


def _tokenised(view: View, call: ast.Call) -> list[ast.Call]:
    """Where the text is tokenised that a call gets."""
    scope = view.program.scope(call)
    return [
        n
        for n in view.program.within(scope, ast.Call)
        if view.roles.of(n.func) == "tokenizer" and n.lineno <= call.lineno
    ][:2]


@rule("one-side-normalised", "S2", "eval-harness-drift", "lower strip normalize Normalizer casefold norm per_token clean",
      bad="correct = prediction.strip().lower() == reference\n",
      good="correct = prediction.strip().lower() == reference.strip().lower()\n")  # fmt: skip
def one_side_normalised(view: View) -> Iterator[Fault]:
    """The answer is normalised before it is compared, and the reference is not, or in another way.

    Why: right answers count as wrong; the score measures capitals and blanks.
    """
    yield from one_side_of_a_metric(view)
    yield from measured_apart(view)
    if not view.program.has_word(r"\b(lower|casefold|upper|sub|translate|normalize(_answer)?)\b"):
        return
    yield from _systems_apart(view)
    told = list(_bare_references(view))
    yield from told
    yield from (f for f in halves(view) if f.node not in {t.node for t in told})


def _bare_references(view: View) -> Iterator[Fault]:
    program = view.program
    for node in program.each(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.In)):
            continue
        sides = (node.left, node.comparators[0])
        if not any(GOLD.search(" ".join((source(program, s), *_from(program, s)))) for s in sides):
            continue
        done = [_normalised(view, s) for s in sides]
        names = [source(program, s) for s in sides]
        bare = next((i for i in (0, 1) if not done[i]), None)
        if bare is None or not done[1 - bare] & {"lower", "casefold", "upper", "normalize", "normalize_answer"}:
            continue
        plain = key(sides[bare]) and not isinstance(program.origin(sides[bare]), ast.Constant)
        other = re.search(r"pred|out|gen|resp|answer|completion|result|guess|hyp", names[1 - bare], re.I) or any(
            isinstance(n, ast.Call) and last(program.path(n.func)) in ("decode", "batch_decode", "generate", "complete", "chat")
            for n in program.traced(sides[1 - bare], 3))  # fmt: skip
        other = other or any(re.search(r"pred|output|respon|generat", w) for w in _from(program, sides[1 - bare]))
        gold = " ".join((names[bare], *_from(program, sides[bare])))
        if plain and GOLD.search(gold) and other and _raw(view, sides[bare]):
            chain = _chain(view, sides[1 - bare])
            fix = (instead(sides[bare], f"{names[bare]}{chain}"),) if chain else ()
            yield Fault(
                node, "one side of the comparison is normalised and the other is not", "比较时只规范化了一侧", fix
            )


def _systems_apart(view: View) -> Iterator[Fault]:
    """Systems that are compared in one table, each cleaned in a way of its own."""
    program = view.program
    if not JUDGED.search(program.text):
        return
    for table in (n for n in program.each(ast.Dict) if 2 <= len(n.values) <= 8):
        rows = [_entries(v) for v in table.values]
        for name in rows[0]:
            made = [program.functions.get(key(r.get(name)), []) for r in rows]
            inner = [
                {last(program.path(n.func)) for n in program.within(m[0]) if isinstance(n, ast.Call)} for m in made if m
            ]
            ways = [i & {"lower", "casefold", "sub", "translate", "normalize"} for i in inner]
            if len(ways) == len(rows) and any(ways) and not all(ways):
                yield Fault(rows[0][name], "the systems that are compared are normalised in different ways",
                            "被比较的系统用了不同的规范化方式", beside=(rows[1][name],))  # fmt: skip
                break


def _entries(row: ast.expr) -> dict[object, ast.expr]:
    """Place or key -> value of a row of a table."""
    if isinstance(row, ast.Dict):
        return {k.value: v for k, v in zip(row.keys, row.values, strict=True) if isinstance(k, ast.Constant)}
    return dict(enumerate(row.elts)) if isinstance(row, ast.Tuple) else {0: row}


def _from(program: Program, expr: ast.expr) -> list[str]:
    """The words of what the names in an expression are taken from, one by one."""
    bound = [program.binding(n) for n in walk(expr) if isinstance(n, ast.Name)]
    return [program.code(part(program, b)) for b in bound if b is not None and b.how == "for" and b.value is not None]


def _normalised(view: View, expr: ast.expr) -> set[str]:
    """How a text was normalised on its way here."""
    calls = [n for n in view.program.traced(expr, 3) if isinstance(n, ast.Call)]
    inner = [
        c for n in calls if (f := view.program.function(n)) is not None for c in walk(f) if isinstance(c, ast.Call)
    ]
    return {name for n in (*calls, *inner) if (name := last(view.program.path(n.func))) in NORMAL}


def _raw(view: View, expr: ast.expr) -> bool:
    """Whether a value comes as it is from data: no call on the way, and no parameter of a helper that compares."""
    origin = view.program.origin(expr)
    if isinstance(origin, ast.Call):
        return last(view.program.path(origin.func)) == "get"
    return not isinstance(origin, (ast.ListComp, ast.SetComp, ast.Set, ast.List, ast.Tuple))


def _chain(view: View, expr: ast.expr) -> str:
    """`.strip().lower()` of a value that ends so."""
    parts: list[str] = []
    while (
        isinstance(expr, ast.Call)
        and isinstance(expr.func, ast.Attribute)
        and expr.func.attr in NORMAL
        and not expr.args
    ):
        parts.append(f".{expr.func.attr}()")
        expr = expr.func.value
    return "".join(reversed(parts))


@rule("evaluated-on-training-data", "S1", "eval-leakage", "eval_dataset eval_data valid _val_ valset valdata valsplit valloader test",
      bad=("trainer = Trainer(model=model, train_dataset=data, eval_dataset=data)\n", """
      train_loader = DataLoader(train_data, batch_size=64, shuffle=True)
      test_loader = DataLoader(train_data, batch_size=64)
      """),
      good=('trainer = Trainer(model=model, train_dataset=data["train"], eval_dataset=data["test"])\n', """
      train_loader = DataLoader(train_data, batch_size=64, shuffle=True)
      train_eval_loader = DataLoader(train_data, batch_size=64)
      test_loader = DataLoader(test_data, batch_size=64)
      """))  # fmt: skip
def evaluated_on_training_data(view: View) -> Iterator[Fault]:
    """The data of the evaluation are those of the training.

    Why: the score says how well they are remembered; overfitting cannot be seen.
    """
    program = view.program
    for call in program.told("eval_dataset"):
        trained, held = argument(call, "train_dataset"), argument(call, "eval_dataset")
        if trained is None or held is None:
            continue
        same = source(program, trained) == source(program, held) and isinstance(
            trained, (ast.Name, ast.Attribute, ast.Subscript)
        )
        alias = key(program.origin(held)) and key(program.origin(held)) == key(program.origin(trained))
        if (
            (same or alias or _piece_of(program, held, trained))
            and not isinstance(program.parent.get(call), ast.Return)
            and key(held) not in ("None",)
        ):
            yield Fault(held, "the evaluation data are the training data", "评测数据就是训练数据")
    yield from _two_of_one(program)
    for node in program.each(ast.Assign):
        target = key(node.targets[0])
        if target and HELD.search(last(target)) and isinstance(node, ast.Assign):
            value = last(key(_loaded(program, node.value)))
            named = TRAINED.search(value) and DATA.search(last(target))
            if named and not ("train" in last(target) and value != "train"):  # `train_eval_loader` says what it is
                yield Fault(node, f"`{target}` is the training data", f"`{target}` 就是训练数据")


def _two_of_one(program: Program) -> Iterator[Fault]:
    """A function that gives a loader to train with and one to evaluate with, both of the training data."""
    for node in program.each(ast.Assign):
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else []
        if not any(HELD.search(last(key(t))) or re.fullmatch(r"va|vl|te", key(t)) for t in targets):
            continue
        ends = program.ends(node.value) if targets and isinstance(node.value, ast.Call) else []
        parts = ends[0].elts if len(ends) == 1 and isinstance(ends[0], ast.Tuple) else []
        made = [program.origin(p, inside=False) for p in parts] if len(parts) == len(targets) else []
        data = [key(_loaded(program, m)) if _loaded(program, m) is not m else "" for m in made]
        for target, held, own in zip(targets, made, data, strict=False):
            shared = own and data.count(own) > 1 and TRAINED.search(last(own))
            if shared and (HELD.search(last(key(target))) or re.fullmatch(r"va|vl|te", key(target))):
                yield Fault(
                    held,
                    f"`{key(target)}` reads the training data",
                    f"`{key(target)}` 读的就是训练数据",
                    beside=(node,),
                )


def _piece_of(program: Program, held: ast.expr, trained: ast.expr) -> bool:
    """Whether data are a selection of other data, all of which are used: `data.select(range(200))`, `data[:200]`."""
    made, whole = program.origin(held), {key(trained), key(program.origin(trained))} - {""}
    for _ in range(3):
        if isinstance(made, ast.Call) and last(program.path(made.func)) in ("select", "shuffle", "take", "Subset"):
            made = (made.args[0] if last(program.path(made.func)) == "Subset" and made.args else receiver(made)) or made
        elif isinstance(made, ast.Subscript) and isinstance(made.slice, ast.Slice):
            made = made.value
        else:
            return False
        if key(made) in whole:
            return True
    return False


def _loaded(program: Program, expr: ast.expr) -> ast.expr:
    """What a loader reads, of another value itself."""
    if isinstance(expr, ast.Call) and last(program.path(expr.func)).endswith("DataLoader"):
        return argument(expr, "dataset", 0) or expr
    return expr
