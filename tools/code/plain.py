"""Ways of saying the same thing in Python, said in one: what a rule is told is the plain program.

A partial function is called with all that it is given, `**options` are the keywords that they hold, a function without
a name has the one that it is put under, what is done for each of a few things that are written out is done to each.
Only the tree changes; every node keeps its place in the text.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter

from .source import walk
from .syntax import FUNCTIONS, Node, key, last

MOST = 8
"""Things for each of which something is said out."""
MOST_SAID = 40
"""Nodes of what is said out for each."""
MOST_STATEMENTS = 5
NOTED = frozenset((ast.arg, *FUNCTIONS, ast.ClassDef, ast.Subscript, ast.Assign, ast.Call,
                   ast.For, ast.comprehension, ast.Match))  # fmt: skip
CHANGES = frozenset(("update", "pop", "setdefault", "append", "extend", "insert", "remove", "clear"))
"""Methods after which a table or list is another one."""
Table = dict[str, ast.expr]


class Names:
    """What names stand for that are given a value once in the whole file."""

    def __init__(self) -> None:
        self.given: Counter[str] = Counter()
        self.values: dict[str, ast.expr] = {}
        self.changed: set[str] = set()
        self.conditions: dict[str, ast.FunctionDef] = {}
        """Functions that only compare what they are given."""
        self.asking: list[tuple[ast.stmt, ast.AST]] = []
        """What may be said more plainly, with the statement of the module that it stands in."""
        self.asked: list[tuple[ast.stmt, str]] = []

    def note(self, nodes: list[ast.AST], statement: ast.stmt) -> None:
        """Take down the nodes of a statement of the module."""
        given = self.given
        for node in nodes:
            kind = type(node)
            if kind is ast.Name or kind is ast.Attribute:  # most nodes are one of these, and few are given a value
                if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                    given[key(node)] += 1
            elif kind in NOTED:
                self._note(node, statement)

    def _note(self, node: ast.AST, statement: ast.stmt) -> None:
        given = self.given
        if isinstance(node, ast.arg):
            given[node.arg] += 1
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            given[node.name] += 1
            if isinstance(node, ast.FunctionDef) and len(node.body) <= 2 and _condition(node):
                self.conditions[node.name] = node
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Store):
                self.changed.add(key(node.value))
            if isinstance(node.slice, ast.IfExp):
                self.asking.append((statement, node))
        elif isinstance(node, ast.Assign):
            if len(node.targets) == 1 and (name := key(node.targets[0])):
                self.values[name] = node.value
                if isinstance(node.value, ast.Lambda):
                    self.asking.append((statement, node))
        else:
            on = node.func if isinstance(node, ast.Call) else None
            if isinstance(on, ast.Name) and isinstance(node, ast.Call):
                self.asked.append((statement, on.id))
            if isinstance(on, ast.Attribute) and on.attr in CHANGES:
                self.changed.add(key(on.value))
            self.asking.append((statement, node))

    def wanting(self) -> list[ast.stmt]:
        """The statements of the module in which something is said more plainly."""
        self.values = {n: v for n, v in self.values.items() if self.given[n] == 1}
        partials = {n for n, v in self.values.items() if isinstance(v, ast.Call) and last(key(v.func)) == "partial"}
        self.conditions = {n: f for n, f in self.conditions.items() if self.given[n] == 1}
        asked = [s for s, name in self.asked if name in self.conditions] if self.conditions else []
        return list(dict.fromkeys((*asked, *(s for s, node in self.asking if self._wants(node, partials)))))

    def _wants(self, node: ast.AST, partials: set[str]) -> bool:
        if isinstance(node, ast.Call):
            if partials and key(node.func) in partials:
                return True
            return any(k.arg is None and self.table(k.value) is not None for k in node.keywords)
        if isinstance(node, (ast.For, ast.comprehension)):
            return self.several(node.iter) is not None
        return True

    def table(self, expr: ast.expr) -> Table | None:
        """Key -> value of a dictionary that is written out and stays so."""
        name = key(expr)
        made = self.values.get(name) if name and name not in self.changed else expr
        if isinstance(made, ast.Dict) and all(isinstance(k, ast.Constant) for k in made.keys):
            pairs = zip(made.keys, made.values, strict=True)
            return {k.value: v for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str)}
        if isinstance(made, ast.Call) and key(made.func) == "dict" and not made.args and all(
            k.arg for k in made.keywords):  # fmt: skip
            return {str(k.arg): k.value for k in made.keywords}
        return None

    def partial(self, expr: ast.expr) -> ast.Call | None:
        """`partial(...)` where a name stands for one."""
        made = self.values.get(key(expr)) if key(expr) else expr
        if isinstance(made, ast.Call) and last(key(made.func)) == "partial" and made.args:
            return made
        return None

    def several(self, expr: ast.expr) -> list[ast.expr] | None:
        """The few things that a loop goes over, where they are written out."""
        made = self.values.get(key(expr), expr) if key(expr) not in self.changed else expr
        if isinstance(made, (ast.Tuple, ast.List)):
            found: list[ast.expr] = made.elts
        elif isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and not made.args:
            on = made.func.value
            held = self.values.get(key(on), on) if key(on) not in self.changed else None
            if not isinstance(held, ast.Dict) or None in held.keys:
                return None
            keys = [k for k in held.keys if k is not None]
            if made.func.attr == "items":
                pairs = zip(keys, held.values, strict=True)
                found = [ast.copy_location(ast.Tuple([k, v], ast.Load()), v) for k, v in pairs]
            elif made.func.attr in ("values", "keys"):
                found = held.values if made.func.attr == "values" else keys
            else:
                return None
        else:
            return None
        return found if 0 < len(found) <= MOST and not any(isinstance(f, ast.Starred) for f in found) else None


def plainer(names: Names) -> dict[ast.stmt, list[ast.stmt]]:
    """Statement of the module -> what it says, more plainly; those alone that can be said so."""
    said = _Plain(names)
    new = {statement: said.visit(statement) for statement in names.wanting()}
    return {was: s if isinstance(s, list) else [s] for was, s in new.items()}


class _Plain(ast.NodeTransformer):
    def __init__(self, names: Names):
        self.names = names

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`f = lambda x: y` is a function."""
        self.generic_visit(node)
        only = node.targets[0]
        if isinstance(node.value, ast.Lambda) and len(node.targets) == 1 and isinstance(only, ast.Name):
            back = ast.copy_location(ast.Return(node.value.body), node.value.body)
            made = ast.FunctionDef(name=only.id, args=node.value.args, body=[back], decorator_list=[], returns=None,
                                   type_comment=None)  # fmt: skip
            vars(made)["type_params"] = []  # from Python 3.12 on
            return ast.copy_location(made, node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        made = self.names.partial(node.func)
        if made is not None and made is not node and not isinstance(made.args[0], ast.Lambda):
            node.func = ast.copy_location(copy.deepcopy(made.args[0]), node.func)
            own = {k.arg for k in node.keywords}
            node.args = [*copy.deepcopy(made.args[1:]), *node.args]
            node.keywords += copy.deepcopy([k for k in made.keywords if k.arg not in own])
        if any(k.arg is None for k in node.keywords):
            node.keywords = [x for k in node.keywords for x in self._said(k)]
        if key(node.func) in ("tuple", "list") and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            kind = ast.Tuple if key(node.func) == "tuple" else ast.List
            if (each := self._each(node.args[0], [node.args[0].elt])) is not None:
                return ast.copy_location(kind([e[0] for e in each], ast.Load()), node)
        return node

    def _said(self, given: ast.keyword) -> list[ast.keyword]:
        table = self.names.table(given.value) if given.arg is None else None
        if table is None or len(table) > 4 * MOST:
            return [given]
        return [ast.copy_location(ast.keyword(k, copy.deepcopy(v)), v) for k, v in table.items()]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`table[a if c else b]` is `table[a] if c else table[b]`."""
        self.generic_visit(node)
        if not isinstance(node.slice, ast.IfExp) or not isinstance(node.ctx, ast.Load):
            return node
        one, other = (ast.copy_location(ast.Subscript(copy.deepcopy(node.value), part, ast.Load()), node)
                      for part in (node.slice.body, node.slice.orelse))  # fmt: skip
        return ast.copy_location(ast.IfExp(node.slice.test, one, other), node)

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """`match` over values is one `if` after the other."""
        self.generic_visit(node)
        out: list[ast.stmt] = []
        for case in reversed(node.cases):
            test = _matched(node.subject, case)
            if test is None:
                return node
            if isinstance(test, ast.Constant):
                out = case.body
            else:
                out = [ast.copy_location(ast.If(test, case.body, out), case.body[0])]
        only = out[0] if len(out) == 1 else None
        return (
            only
            if isinstance(only, ast.If)
            else ast.copy_location(ast.If(ast.copy_location(ast.Constant(True), node), out, []), node)
        )

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if better(a, b):` is the condition that the function gives back."""
        self.generic_visit(node)
        node.test = self._asked(node.test)
        return node

    def _asked(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self._asked(test.operand)
            return test
        function = (
            self.names.conditions.get(test.func.id)
            if isinstance(test, ast.Call) and isinstance(test.func, ast.Name)
            else None
        )
        if function is None or not isinstance(test, ast.Call) or test.keywords or not all(map(_plain_value, test.args)):
            return test
        own = [a.arg for a in function.args.args]
        back = function.body[-1]
        if len(own) != len(test.args) or not isinstance(back, ast.Return) or back.value is None:
            return test
        return _put(copy.deepcopy(back.value), dict(zip(own, test.args, strict=True)))

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        each = self._each(node, [node.elt])
        return ast.copy_location(ast.List([e[0] for e in each], ast.Load()), node) if each is not None else node

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        self.generic_visit(node)
        each = self._each(node, [node.key, node.value])
        if each is None:
            return node
        return ast.copy_location(ast.Dict([e[0] for e in each], [e[1] for e in each]), node)

    def _each(self, node: ast.ListComp | ast.DictComp | ast.GeneratorExp, said: list[ast.expr]
              ) -> list[list[ast.expr]] | None:  # fmt: skip
        """What is said for each of the few things that a comprehension goes over."""
        over = node.generators[0]
        things = self.names.several(over.iter) if len(node.generators) == 1 and not over.ifs else None
        if things is None or all(isinstance(t, ast.Constant) for t in things) or sum(map(_size, said)) > MOST_SAID:
            return None
        pairs = [_taken(over.target, thing) for thing in things]
        if any(p is None for p in pairs):
            return None
        return [[_put(copy.deepcopy(s), p or {}) for s in said] for p in pairs]

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """`for o in (a, b): o.step()` is `a.step()` and `b.step()`."""
        self.generic_visit(node)
        things = self.names.several(node.iter) if isinstance(node.iter, (ast.Tuple, ast.List, ast.Name)) else None
        if things is None or node.orelse or len(node.body) > MOST_STATEMENTS:
            return node
        if not all(map(_thing, things)) and not (_words(things) and _keyed(node)):
            return node
        if any(isinstance(n, (ast.Break, ast.Continue)) for s in node.body for n in walk(s)):
            return node
        pairs = [_taken(node.target, t) for t in things]
        if any(p is None for p in pairs) or any(_stored(node.body, p or {}) for p in pairs):
            return node
        return [_put(copy.deepcopy(s), p or {}) for p in pairs for s in node.body]


def _matched(subject: ast.expr, case: ast.match_case) -> ast.expr | None:
    """The condition of a case: a literal for one that takes all, None for one that takes something apart."""
    patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.pattern.name is None:
        return case.guard or ast.Constant(True)
    if case.guard is not None or not all(isinstance(p, (ast.MatchValue, ast.MatchSingleton)) for p in patterns):
        return None
    tests: list[ast.expr] = []
    for pattern in patterns:
        value = pattern.value  # type: ignore[attr-defined]
        value = value if isinstance(value, ast.expr) else ast.copy_location(ast.Constant(value), pattern)
        tests.append(ast.copy_location(ast.Compare(copy.deepcopy(subject), [ast.Eq()], [value]), pattern))
    return tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), tests), case.pattern)


def _plain_value(expr: ast.expr) -> bool:
    return isinstance(expr, (ast.Name, ast.Attribute, ast.Constant))


def _condition(function: ast.AST) -> bool:
    """Whether a function does nothing but compare what it is given."""
    body = [s for s in function.body if not isinstance(s, ast.Expr)] if isinstance(function, ast.FunctionDef) else []
    back = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    own = {a.arg for a in function.args.args} if isinstance(function, ast.FunctionDef) else set()
    known = all(n.id in own for n in walk(back) if isinstance(n, ast.Name)) if back is not None else False
    return known and isinstance(back, ast.Compare) and not function.decorator_list  # type: ignore[attr-defined]


def _thing(expr: ast.expr) -> bool:
    """Whether something is an object of the program, or several of them."""
    if isinstance(expr, ast.Tuple):
        return any(_thing(e) for e in expr.elts) and all(_thing(e) or isinstance(e, ast.Constant) for e in expr.elts)
    if isinstance(expr, ast.Call):
        return isinstance(expr.func, ast.Name) and expr.func.id[:1].isupper()
    return isinstance(expr, (ast.Name, ast.Attribute))


def _words(things: list[ast.expr]) -> bool:
    return all(isinstance(t, ast.Constant) and isinstance(t.value, str) for t in things)


def _keyed(loop: ast.For) -> bool:
    """Whether what a loop goes over are keys of what it changes: `parts[name].load(state[name])`."""
    name, only = key(loop.target), loop.body[0]
    call = only.value if len(loop.body) == 1 and isinstance(only, ast.Expr) else None
    on = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    return bool(name) and isinstance(on, ast.Subscript) and key(on.slice) == name


def _size(node: ast.AST) -> int:
    return sum(1 for _ in walk(node))


def _stored(body: list[ast.stmt], pairs: Table) -> bool:
    """Whether the loop gives its own name another value."""
    return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in pairs
               for s in body for n in walk(s))  # fmt: skip


def _taken(target: ast.expr, value: ast.expr) -> Table | None:
    """Name -> what of a value it is given; None where that cannot be said."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple) and isinstance(value, (ast.Tuple, ast.List)):
        if len(target.elts) != len(value.elts) or not all(isinstance(t, ast.Name) for t in target.elts):
            return None
        return {key(t): v for t, v in zip(target.elts, value.elts, strict=True)}
    return None


def _put(node: Node, pairs: Table) -> Node:
    """The node with names as what they stand for, at the places of the names."""
    return _Put(pairs).visit(node)


class _Put(ast.NodeTransformer):
    def __init__(self, pairs: Table):
        self.pairs = pairs

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and (value := self.pairs.get(node.id)) is not None:
            return ast.copy_location(copy.deepcopy(value), node)
        return node
