"""Rules on groups of parameters that are chosen by their names: what is in none of them."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import fields, made_of
from ...program import Function, Program, key, last, receiver
from ..rule import Fault, View, rule

USUAL = (
    ("layers.0.attn.q_proj.weight", 2, "matrix"),
    ("layers.0.attn.q_proj.bias", 1, "bias"),
    ("layers.0.norm.weight", 1, "norm"),
    ("layers.0.layernorm.weight", 1, "norm"),
    ("layers.0.LayerNorm.weight", 1, "norm"),
    ("layers.0.layer_norm.weight", 1, "norm"),
    ("layers.0.ln_1.weight", 1, "norm"),
)
ROWS = (
    ("tok_emb.weight", 2, "embedding"), ("embed_tokens.weight", 2, "embedding"), ("wte.weight", 2, "embedding"),
    ("embeddings.word_embeddings.weight", 2, "embedding"), ("token_embedding.weight", 2, "embedding"), ("emb.weight", 2, "embedding"),
    ("lm_head.weight", 2, "embedding"),
)  # fmt: skip
"""Names of parameters, how many dimensions they have, and what they are: each kind is in nearly every model."""
EMBEDS = re.compile(r"[\"'|(.](tok_)?emb|wte|lm_head|embedding|embed_tokens")
"""Words of conditions by which embeddings are told, whose usual names these are."""
WORDS = re.compile(r"^\.?(emb|embed|embedding|embeddings|embed_tokens|tok_emb|wte|lm_head|weight|bias|biases|norm|ln|ln_|ln_f|ln_1|ln_2|bn|LayerNorm|layernorm|layer_norm|RMSNorm|rmsnorm|"
                   r"(norm|LayerNorm|layernorm|layer_norm)\.(weight|bias))$")  # fmt: skip
"""Words that tell kinds of parameters apart, not parts of one model."""


@rule("parameters-in-no-group", "S1", "loss-stagnation", "named_parameters",
      bad="""
      decayed = [p for n, p in model.named_parameters() if n.endswith("weight") and "norm" not in n]
      plain = [p for n, p in model.named_parameters() if n.endswith("bias")]
      optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-4)
      """,
      good="""
      decayed = [p for n, p in model.named_parameters() if n.endswith("weight") and "norm" not in n]
      plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "norm" in n]
      optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-4)
      """)  # fmt: skip
def parameters_in_no_group(view: View) -> Iterator[Fault]:
    """The conditions by which parameters are put into groups leave a kind of them out.

    Why: the norms, or the biases, are trained by nothing, and nothing complains.
    Known gaps: conditions on the parts of one model, whose names are not known here.
    """
    program = view.program
    for call in (c for c in program.each(ast.Call) if c.args and view.roles.of(c) == "optimizer"):
        groups = [g["params"] for s in made_of(program, call.args[0]) if "params" in (g := fields(program, s.node))]
        chosen = [c for g in groups if (c := _choice(program, g)) is not None]
        if len(chosen) < 2 or len(chosen) < len(groups) or "add_param_group" in program.text:
            continue
        out = [kind for name, dims, kind in (*USUAL, *(ROWS if EMBEDS.search(program.said) else ()))
               if not any(_holds(program, t, name, dims) is not False for t in chosen)]  # fmt: skip
        if out and "matrix" not in out:
            kinds = {
                "embedding": ("embeddings", "embedding"),
                "norm": ("the weights of norms", "norm 的权重"),
                "bias": ("biases", "bias"),
            }
            en, zh = kinds[out[0]]
            yield Fault(call, f"{en} are in no group of the optimizer: nothing trains them", f"{zh}不在优化器的任何一组里：没有训练",
                        beside=(groups[0],))  # fmt: skip


Test = list[tuple[ast.expr, bool]]


def _choice(program: Program, params: ast.expr) -> Test | None:
    """The conditions under which a parameter is put into a group; None where that cannot be told."""
    made = program.origin(params)
    if isinstance(made, (ast.ListComp, ast.GeneratorExp)):
        whole = len(made.generators) == 1 and _named(program, made.generators[0].iter)
        return [(t, True) for t in made.generators[0].ifs] if whole else None
    put = program.put_into(params)
    loops = program.loops(put[0]) if len(put) == 1 else []
    if not loops or not isinstance(loops[0], ast.For) or not _named(program, loops[0].iter):
        return None
    return [(t, side) for t, side, _ in program.guards(put[0])]


def _named(program: Program, over: ast.expr) -> bool:
    """Whether all parameters of a model are gone through."""
    handed = program.origin(over, inside=False)
    if (
        isinstance(handed, ast.Call)
        and (function := program.function(handed)) is not None
        and _handed_on(program, function)
    ):
        return True
    made = program.origin(over)
    if isinstance(made, ast.Call) and last(program.path(made.func)) == "items" and (on := receiver(made)) is not None:
        made = program.origin(on)
    if isinstance(made, ast.Call) and key(made.func) in ("dict", "list") and made.args:
        made = program.origin(made.args[0])
    if isinstance(made, ast.DictComp) and len(made.generators) == 1:
        chosen = made.generators[0]
        return _named(program, chosen.iter) and not _telling(" ".join(program.code(t) for t in chosen.ifs))
    return isinstance(made, ast.Call) and last(program.path(made.func)) == "named_parameters"


def _handed_on(program: Program, function: Function) -> bool:
    """Whether a function gives on, one by one, the parameters of a model that are trained, each of them once."""
    loops = program.within(function, ast.For)
    given = program.within(function, ast.Yield)
    if len(loops) != 1 or len(given) != 1 or not _named(program, loops[0].iter):
        return False
    tests = " ".join(program.code(t) for t, _, _ in program.guards(given[0]))
    return not _telling(tests)


def _telling(tests: str) -> bool:
    """Whether conditions tell kinds of parameters apart."""
    return bool(re.search(r"ndim|dim\(|shape|endswith|startswith|match|search|['\"]", tests))


def _holds(program: Program, test: Test, name: str, dims: int) -> bool | None:
    """Whether a parameter is chosen; None where that cannot be told."""
    said = [None if (v := _true(program, t, name, dims)) is None else v is side for t, side in test]
    return False if False in said else None if None in said else True


def _true(program: Program, test: ast.expr, name: str, dims: int) -> bool | None:
    """What a condition is for a parameter of this name; None where that cannot be told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _true(program, test.operand, name, dims)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        wins = isinstance(test.op, ast.Or)
        said = [_true(program, v, name, dims) for v in test.values]
        return wins if wins in said else None if None in said else not wins
    if isinstance(test, ast.Attribute) and test.attr == "requires_grad":
        return True
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(program, test, name, dims)
    if isinstance(test, ast.Call):
        return _called(program, test, name, dims)
    return None


ORDERS = {
    ast.Gt: int.__gt__,
    ast.GtE: int.__ge__,
    ast.Lt: int.__lt__,
    ast.LtE: int.__le__,
    ast.Eq: int.__eq__,
    ast.NotEq: int.__ne__,
}


def _compared(program: Program, test: ast.Compare, name: str, dims: int) -> bool | None:
    """`"bias" in n`, `p.ndim > 1`."""
    how, right = test.ops[0], test.comparators[0]
    if isinstance(how, (ast.In, ast.NotIn)):
        word = program.const(test.left)
        known = isinstance(word, str) and WORDS.match(word) and isinstance(right, ast.Name)
        return (str(word) in name) is isinstance(how, ast.In) if known else None
    number = program.const(right)
    order = ORDERS.get(type(how))
    if (
        order is not None
        and isinstance(number, int)
        and re.search(r"\.n?dim\b|len\(\w{1,40}\.shape\)", program.code(test.left))
    ):
        return order(dims, number)
    return None


def _pattern(program: Program, test: ast.Call) -> re.Pattern[str] | None:
    """The pattern by which names are told, where it is written and short: `PATTERN.search(n)`, `re.search("...", n)`."""
    on = receiver(test)
    made = program.origin(on) if on is not None and key(on) != "re" else test
    text = program.const(made.args[0]) if isinstance(made, ast.Call) and made.args else None
    if not isinstance(text, str) or len(text) > 200 or re.search(r"[*+]\)?[*+{]", text):
        return None
    try:
        return re.compile(text)
    except re.error:
        return None


def _called(program: Program, test: ast.Call, name: str, dims: int) -> bool | None:
    """`n.endswith("bias")`, `any(w in n for w in WORDS)`."""
    how = last(program.path(test.func))
    if how in ("search", "match", "fullmatch") and (pattern := _pattern(program, test)) is not None:
        return getattr(pattern, how)(name) is not None
    if how in ("endswith", "startswith") and test.args and isinstance(receiver(test), ast.Name):
        given = program.origin(test.args[0])
        words = [program.const(e) for e in (given.elts if isinstance(given, ast.Tuple) else [given])]
        known = how == "endswith" and all(isinstance(w, str) and WORDS.match(w) for w in words)
        return any(name.endswith(str(w)) for w in words) if known else None
    made = test.args[0] if how in ("any", "all") and len(test.args) == 1 else None
    if not isinstance(made, (ast.GeneratorExp, ast.ListComp)) or len(made.generators) != 1:
        return None
    over = program.origin(made.generators[0].iter)
    words = [program.const(e) for e in over.elts] if isinstance(over, (ast.List, ast.Tuple, ast.Set)) else []
    if (
        not words
        or not all(isinstance(w, str) and WORDS.match(w) for w in words)
        or not isinstance(made.elt, ast.Compare)
    ):
        return None
    inside = isinstance(made.elt.ops[0], ast.In) and key(made.elt.left) == key(made.generators[0].target)
    return (any if how == "any" else all)(str(w) in name for w in words) if inside else None
