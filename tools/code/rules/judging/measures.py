"""What makes two measurements differ: chat models asked bare, draws by hand, comparisons in two ways."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from ...flow import made_of
from ...program import FUNCTIONS, Program, argument, key, last, passed, receiver
from ...source import walk
from ..rule import Fault, View

CHAT = re.compile(r"^[\w./-]+-(Instruct|Chat|it|instruct|chat|sft|dpo|zephyr)(-[\w.]+)?$|/zephyr-")
STRONG = frozenset(("lower", "casefold", "upper", "normalize", "normalize_answer", "translate"))
"""What makes two texts alike that were not."""
EACH = (ast.SetComp, ast.ListComp, ast.GeneratorExp)
BARE = frozenset((
    "strip", "zip", "get", "rstrip", "lstrip", "enumerate", "generate", "decode", "batch_decode", "list", "tqdm", "map", "loads",
    "load", "open", "items", "values", "keys", "readlines", "splitlines", "read_text", "read", "load_dataset", "DictReader", "str",
    "dict", "tuple", "select", "argv",
))  # fmt: skip
"""Calls behind which a text is what it was in the data."""
GUESS = re.compile(r"pred|out|gen|resp|answer|completion|result|guess|hyp|reply|cand", re.I)
GOLD = re.compile(r"gold|ref|target|answer|label|expected|truth|solution", re.I)
ALIKE = re.compile(r"norm|per_token|length|lower|strip|clean|strict|case|template|shots|punct", re.I)
"""Options of a measurement that change what it measures."""


def chat_names(program: Program) -> list[ast.Constant]:
    """The names of chat models that stand in a program."""
    return [
        n
        for n in program.each(ast.Constant)
        if isinstance(n.value, str) and len(n.value) < 100 and CHAT.search(n.value)
    ]


def asked_bare(view: View) -> Iterator[Fault]:
    """Chat models that are asked for completions of bare text: of a server, or of a pipeline."""
    program = view.program
    names = {n.value: n for n in chat_names(program)}
    if not names or re.search(r"apply_chat_template|<\|im_start\|>|\[INST\]|<start_of_turn>", program.text):
        return
    for call in program.find("create"):
        told = argument(call, "model")
        chat = names.get(program.const(told)) if told is not None else None  # type: ignore[arg-type]
        if (
            program.path(call.func).endswith(".completions.create")
            and "chat" not in program.path(call.func)
            and chat is not None
        ):
            yield _bare(call, chat)
    for node in program.each(ast.Call) if program.calls.get("pipeline") else ():
        made = program.origin(node.func) if isinstance(node.func, ast.Name) else None
        own = isinstance(made, ast.Call) and last(program.path(made.func)) == "pipeline"
        chat = names.get(program.const(argument(made, "model", 1))) if own and isinstance(made, ast.Call) else None  # type: ignore[arg-type]
        if chat is not None and node.args and _text(program, node.args[0]):
            yield _bare(node, chat)


def _bare(call: ast.Call, chat: ast.Constant) -> Fault:
    return Fault(
        call, f"`{chat.value}` is asked without its chat template", f"`{chat.value}` 没有使用对话模板", beside=(chat,)
    )


def _text(program: Program, expr: ast.expr) -> bool:
    """Whether a value is plain text, or texts, and no turns of a chat."""
    nodes = [n for n, _, _ in made_of(program, expr)]
    turns = any(isinstance(n, ast.Dict) and "role" in [getattr(k, "value", "") for k in n.keys] for n in nodes)
    named = any(re.search(r"message|chat|conversation|turns|dialog", key(n), re.I) for n in nodes if key(n))
    texts = any(
        isinstance(n, (ast.JoinedStr, ast.Subscript)) or (isinstance(n, ast.Constant) and " " in str(n.value))
        for n in nodes
    )
    return texts and not turns and not named


def strong(program: Program, expr: ast.expr) -> set[str]:
    """The ways in which a text was made alike on its way here."""
    calls = [n for n, _, _ in made_of(program, expr, (), 6) if isinstance(n, ast.Call)]
    inner = [c for n in calls if (f := program.function(n)) is not None for c in program.within(f, ast.Call)]
    return {name for n in (*calls, *inner) if (name := last(program.path(n.func))) in STRONG}


def halves(view: View) -> Iterator[Fault]:
    """Answers and references of which one side alone is made alike: by a function, in a list, in words."""
    program = view.program
    for node in program.each(ast.Compare):
        sides = (node.left, node.comparators[0])
        among = isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(program.origin(sides[1]), EACH)
        if len(node.ops) != 1 or not (among or isinstance(node.ops[0], (ast.Eq, ast.NotEq))):
            continue
        if any(isinstance(s, ast.Constant) for s in sides) or not all(
            isinstance(s, (ast.Name, ast.Call, ast.Subscript, *(EACH if among else ()))) for s in sides
        ):
            continue
        words = [_words(program, s) for s in sides]
        which = next(
            (
                i
                for i in (0, 1)
                if GUESS.search(words[i])
                and GOLD.search(words[1 - i])
                and not re.search(r"gold|ref|label|truth", words[i])
            ),
            None,
        )
        if which is None:
            continue
        done = [strong(program, s) for s in sides]
        if bool(done[0]) is bool(done[1]) or (done[0] | done[1]) == {"upper"}:
            continue
        bare = sides[1] if done[0] else sides[0]
        if _cleaned(program, bare) and _seen(program, bare):
            yield Fault(node, "one side of the comparison is normalised and the other is not", "比较时只规范化了一侧")
    yield from _words_apart(program)


def _words(program: Program, expr: ast.expr) -> str:
    """The names that a value has on its way."""
    nodes = (*walk(expr), *(n for n, _, _ in made_of(program, expr, (), 3)))
    return " ".join({last(k) for n in nodes if (k := key(n))})


def _cleaned(program: Program, expr: ast.expr) -> bool:
    """Whether a value is a text of data: a field or a part of a list, blanks cut off at most."""
    calls = [n for n, _, _ in made_of(program, expr, (), 4) if isinstance(n, ast.Call)]
    return all(last(program.path(c.func)) in BARE or program.function(c) is not None for c in calls)


def _seen(program: Program, expr: ast.expr) -> bool:
    """Whether it is seen where the text comes from: no parameter of a helper that compares two things of any kind."""
    nodes = [n for n, _, _ in made_of(program, expr, (), 4)]
    return any(isinstance(n, (ast.Subscript, ast.comprehension)) for n in nodes) or any(
        b.how == "for" for n in nodes for b in program.bindings(n))  # fmt: skip


def _words_apart(program: Program) -> Iterator[Fault]:
    """Words of an answer and of a reference, of which one alone was made lower case."""
    for function in (f for fs in program.functions.values() for f in fs):
        made: dict[str, tuple[ast.AST, bool]] = {}
        for node in program.within(function, ast.Assign):
            value = (
                node.value.args[0]
                if isinstance(node.value, ast.Call) and key(node.value.func) in ("set", "Counter") and node.value.args
                else node.value
            )
            if isinstance(value, ast.Call) and last(program.path(value.func)) == "split" and not value.args:
                made[program.code(value)] = (
                    node,
                    any(isinstance(n, ast.Attribute) and n.attr in STRONG for n in walk(value)),
                )
        texts = list(made)
        pairs = ((a, b) for a in texts for b in texts if made[a][1] and not made[b][1])
        for one, other in pairs:
            apart = (GUESS.search(one) and GOLD.search(other)) or (GOLD.search(one) and GUESS.search(other))
            if len(texts) == 2 and apart and "(" not in other.replace(".split()", ""):
                yield Fault(made[other][0], "one side of the comparison is normalised and the other is not", "比较时只规范化了一侧",
                            beside=(made[one][0],))  # fmt: skip


def measured_apart(view: View) -> Iterator[Fault]:
    """Systems that are compared, each measured with another option, or by a function that cleans where the other does not."""
    program = view.program
    for function in (
        f
        for fs in program.functions.values()
        for f in fs
        if re.search(r"acc|score|eval|measure|bench|em$|f1|recall|metric", f.name)
    ):
        calls = program.callers(function)
        for one, other in pairwise(calls):
            same = program.scope(one) is program.scope(other) and not program.guards(one) and not program.guards(other)
            name = _differs(program, function, one, other) if same else ""
            if name:
                yield Fault(other, f"what is compared is measured in two ways: `{name}` differs", f"被比较的两者用了不同的测法：`{name}` 不同",
                            beside=(one,))  # fmt: skip
    yield from _two_functions(view)


def _differs(program: Program, function: ast.AST, one: ast.Call, other: ast.Call) -> str:
    """The option in which two calls differ that measure two systems of the same data."""
    given = [dict(passed(function, c)) for c in (one, other)]
    shared = given[0].keys() & given[1].keys()
    apart = [n for n in shared if program.code(given[0][n]) != program.code(given[1][n])]
    told = [n for n in apart if ALIKE.search(n) and all(isinstance(g[n], ast.Constant) for g in given)]
    systems = [n for n in apart if n not in told]
    return (
        told[0]
        if len(told) == 1
        and len(systems) == 1
        and re.search(
            r"model|scorer|lm|system|predict|name|^outs?$|output|preds?$|answers|hyp|generat|texts", systems[0]
        )
        else ""
    )


def _two_functions(view: View) -> Iterator[Fault]:
    """Two functions that compare answers with the same field of the same rows, one of them as they are."""
    program = view.program
    found: list[tuple[ast.Compare, set[str], frozenset[str]]] = []
    for node in program.each(ast.Compare):
        scope = program.scope(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq) and isinstance(scope, FUNCTIONS):
            fields = frozenset(k.split("[")[-1] for s in (node.left, node.comparators[0]) for n in walk(s)
                               if isinstance(n, ast.Subscript) and (k := key(n)) and GOLD.search(k.split("[")[-1]))  # fmt: skip
            ways = [strong(program, s) for s in (node.left, node.comparators[0])] if fields else []
            if fields and bool(ways[0]) is bool(ways[1]):
                found.append((node, ways[0] | ways[1], fields))
    for one in found:
        for other in found:
            apart = program.scope(one[0]) is not program.scope(other[0])
            if apart and one[1] and not other[1] and one[2] == other[2]:
                yield Fault(other[0], "the systems that are compared are normalised in different ways",
                            "被比较的系统用了不同的规范化方式", beside=(one[0],))  # fmt: skip
                return


def drawn_by_hand(view: View) -> Iterator[ast.AST]:
    """Where answers are drawn without settings in the call: token by token, or by what the model itself is told."""
    program = view.program
    for call in program.find("multinomial"):
        counts = [
            a for a in (argument(call, "num_samples", 1 if key(receiver(call)) == "torch" else 0),) if a is not None
        ]
        if not program.guards(call) and program.loops(call) and all(program.const(a) == 1 for a in counts):
            yield call
    for node in program.each(ast.Assign):
        if key(node.targets[0]).endswith("generation_config.do_sample") and program.const(node.value) is True:
            yield node


def answer_given(view: View) -> Iterator[Fault]:
    """A prompt that holds the very field with which the answer is compared."""
    program = view.program
    asked = [
        c
        for c in program.each(ast.Call)
        if isinstance(c.func, ast.Name) and re.fullmatch(r"model|llm|lm|ask|answer_with|query", c.func.id)
    ]
    for call in (*program.find("generate", "complete", "chat", "predict"), *asked):
        nodes = [
            (n, calls) for a in call.args for n, _, calls in made_of(program, a, (), 4) if isinstance(n, ast.Subscript)
        ]
        named = [
            (_as_given(program, n, calls), n) for n, calls in nodes if key(n) and GOLD.search(key(n).split("[")[-1])
        ]
        held = {name: n for name, n in named if name}
        scope = program.scope(call)
        for test in (n for n in program.within(scope) if held and isinstance(n, (ast.Compare, ast.Call))):
            sides = (
                (test.left, *test.comparators)
                if isinstance(test, ast.Compare)
                else test.args
                if last(key(test.func)) in ("endswith", "startswith") or _after(program, test)
                else ()
            )
            shared = next((k for s in sides for n in walk(s) if (k := key(n)) in held and n is not held[k]), None)
            if shared is not None:
                yield Fault(held[shared], f"the prompt holds `{shared}`, with which the answer is compared",
                            f"提示中已含有用于比对的 `{shared}`", beside=(test,))  # fmt: skip
                return


def _as_given(program: Program, node: ast.Subscript, calls: tuple[ast.Call, ...]) -> str:
    """The name of a field where the one call that it came through was made."""
    if len(calls) != 1:
        return "" if calls else key(node)
    function, root = program.function(calls[0]), key(node).split("[")[0]
    given = next((v for own, v in passed(function, calls[0]) if own == root), None) if function is not None else None
    return key(node).replace(root, key(given), 1) if given is not None and key(given) else ""


def _after(program: Program, call: ast.Call) -> bool:
    """Whether an answer is what a method is called on that compares."""
    return last(program.path(call.func)) in ("endswith", "startswith", "exact_match", "is_correct")
