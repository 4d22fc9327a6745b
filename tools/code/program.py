"""One program as rules ask of it: who is called, what a name stands for, which branch and loop a line is in.

Nothing is evaluated: names are followed through assignments, imports and parameters of the same file, a bounded way.
What a value is for (optimizer, loader, model, ...) is in `roles`, what a training loop does in `training`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from .objects import Objects, asks, given_back
from .source import Parsed, children, walk
from .syntax import FUNCTIONS as FUNCTIONS
from .syntax import Binding as Binding
from .syntax import Function as Function
from .syntax import argument as argument
from .syntax import default as default
from .syntax import key as key
from .syntax import last as last
from .syntax import names as names
from .syntax import passed as passed
from .syntax import receiver as receiver
from .tree import LOOPS as LOOPS
from .tree import Tree

FOLLOWED = 5
"""How many assignments a value is followed back through."""
MOST_TRACED = 600
"""Nodes that are looked at when a value is followed."""


class Program(Tree):
    """A parsed file with its names resolved."""

    def __init__(self, parsed: Parsed):
        super().__init__(parsed)
        self._functions: dict[ast.Call, Function | None] = {}
        self._ends: dict[Function, list[ast.expr]] = {}
        self._asking: dict[Function, bool] = {}
        self._asked: set[ast.Subscript] = set()

    def contexts(self, node: ast.AST) -> list[str]:
        """What `with` blocks and decorators a node stands in, within its function."""
        out: list[str] = []
        for above in self.up(node):
            if isinstance(above, (ast.With, ast.AsyncWith)):
                for item in above.items:
                    out += [self.path(item.context_expr), *self._managed(item.context_expr)]
            elif isinstance(above, FUNCTIONS):
                return out + [self.path(d) for d in above.decorator_list]
        return out

    def _managed(self, expr: ast.expr) -> list[str]:
        """The `with` blocks in which a context manager of this file gives way."""
        function = self.function(expr) if isinstance(expr, ast.Call) and self.functions else None
        if function is None or not any(last(self.path(d)) == "contextmanager" for d in function.decorator_list):
            return []
        gives = next((n for n in walk(function) if isinstance(n, ast.Yield)), None)
        around = self.up(gives) if gives is not None else ()
        return [self.path(i.context_expr) for n in around if isinstance(n, ast.With) and self.scope(n) is function
                for i in n.items]  # fmt: skip

    # Values ---------------------------------------------------------------------------------------------

    def binding(self, expr: ast.AST) -> Binding | None:
        """What gives the name its value here: the last before it that is no addition to it."""
        every = self.bindings(expr)
        if not every and isinstance(expr, ast.Attribute):
            return self.objects.field(expr)
        found = [b for b in every if b.how != "augment"] or every
        if len(found) < 2:
            return found[0] if found else None
        line = getattr(expr, "lineno", 0)
        above = {expr, *self.up(expr)}
        before = [b for b in found if getattr(b.node, "lineno", getattr(b.value, "lineno", 0)) <= line
                  and not (b.how == "assign" and b.value in above)]  # fmt: skip
        return (before or found)[-1]

    @cached_property
    def _put(self) -> dict[tuple[ast.AST, str], list[ast.expr]]:
        out: dict[tuple[ast.AST, str], list[ast.expr]] = defaultdict(list)
        for call in self.find("append", "appendleft", "add", "extend", "insert", "setdefault"):
            on = receiver(call)
            if isinstance(on, ast.Call) and last(self.path(on.func)) in ("setdefault", "get"):
                on = receiver(on)
            for one in (on.body, on.orelse) if isinstance(on, ast.IfExp) else (on,):
                if one is not None and (name := key(one)) and call.args:
                    out[self.home(call, name), name].append(call.args[-1])
        for node in self.each(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and not key(target) and (name := key(target.value)):
                    out[self.home(node, name), name].append(node.value)
        return out

    def put_into(self, expr: ast.expr) -> list[ast.expr]:
        """What is put into the list or dictionary of this name, where the name is used."""
        if not key(expr):
            return []
        found = self._put.get((self.home(expr, key(expr)), key(expr)), [])
        if found or not isinstance(expr, ast.Subscript):
            return found
        base: ast.expr | None = expr.value  # the table by the name that it has where it is filled
        for _ in range(FOLLOWED):
            base = self._before(base) if base is not None else None
            if base is not None and (own := key(base)):
                name = f"{own}[{expr.slice.value!r}]"  # type: ignore[attr-defined]
                found = found or self._put.get((self.home(base, name), name), [])
        return found

    def put_in(self, ending: str) -> list[ast.expr]:
        """What is put into any list or dictionary whose name ends so."""
        return [v for (_, name), values in self._put.items() if name.endswith(ending) for v in values]

    def given(self, binding: Binding, name: str) -> ast.expr | None:
        """What a parameter is given, where one call of this file gives it."""
        calls = self.callers(binding.node)
        if not calls:
            return self._made_by_default(binding.node, name)
        if len(calls) != 1:
            return None
        return next((value for own, value in passed(binding.node, calls[0]) if own == name), None)

    def _made_by_default(self, function: ast.AST, name: str) -> ast.expr | None:
        """The object of a class of this file that a parameter is by default, where nobody here gives another."""
        made = default(function, name)
        kept = isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id in self.classes
        return made if kept else None

    def origin(self, expr: ast.expr, inside: bool = True) -> ast.expr:
        """What a name stands for: through assignments, the one call that gives it, entries and fields.

        Args:
            expr: the name.
            inside: whether a call of a function of this file is what that gives back.
        """
        for _ in range(FOLLOWED):
            if not inside and isinstance(expr, ast.Call):
                break
            before = self._before(expr)
            if before is None or before is expr:
                break
            expr = before
        return expr

    def also(self, expr: ast.expr) -> set[str]:
        """The names that a value has here and on its way."""
        out = {key(expr)}
        for _ in range(FOLLOWED):
            before = self._before(expr)
            if before is None or not key(before):
                break
            expr = before
            out.add(key(expr))
        return out

    def _before(self, expr: ast.expr) -> ast.expr | None:
        """What a name, an entry or a field is given, one step back."""
        if isinstance(expr, ast.Call):
            ends = self.ends(expr)
            return ends[0] if len(ends) == 1 else None
        found = self.binding(expr)
        if found is None:
            return self.entry(expr) or self._property(expr)
        if found.how == "parameter":
            return self.given(found, key(expr))
        if found.value is None or found.how != "assign":
            return None
        if found.part is None:
            return found.value
        ends = self.ends(found.value)
        alone = isinstance(ends[0], ast.Tuple) and found.part < len(ends[0].elts) if len(ends) == 1 else False
        return ends[0].elts[found.part] if alone else None  # type: ignore[attr-defined]

    def _property(self, expr: ast.expr) -> ast.expr | None:
        """What a property of a class of this file gives back."""
        if not isinstance(expr, ast.Attribute) or expr.attr not in self.functions:
            return None
        made = self.kind(expr.value)
        function = self.method(made, expr.attr) if made is not None else None
        if function is None or not any(
            last(key(d)) in ("property", "cached_property") for d in function.decorator_list
        ):
            return None
        ends = self.returned(function)
        return ends[0] if len(ends) == 1 else None

    def ends(self, call: ast.expr) -> list[ast.expr]:
        """What a call of a function of this file may give back."""
        function = self.function(call) if isinstance(call, ast.Call) and self.functions else None
        if function is None:
            return []
        ends = self.returned(function)
        if function not in self._asking:
            self._asking[function] = len(ends) > 0 and asks(function, ends)
        return given_back(self, function, call) if self._asking[function] else ends  # type: ignore[arg-type]

    def returned(self, function: Function) -> list[ast.expr]:
        """What a function gives back, the last first."""
        if function not in self._ends:
            given = self.within(function, ast.Return, ast.Yield, ast.YieldFrom)
            own = [n.value for n in given if n.value is not None and self.scope(n) is function]
            self._ends[function] = own[::-1]
        return self._ends[function]

    def entry(self, expr: ast.AST) -> ast.expr | None:
        """What stands under a known key of a dictionary that is written out: `table["k"]`, `TABLE[cfg.kind]`."""
        if not isinstance(expr, ast.Subscript) or not isinstance(expr.value, (ast.Name, ast.Attribute)):
            return None
        wanted = self.const(expr.slice)
        table = self._table(expr) if wanted is not None else None
        if table is None:
            return None
        pairs = zip(table.keys, table.values, strict=True)
        return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == wanted), None)

    def _table(self, expr: ast.Subscript) -> ast.Dict | None:
        """The dictionary of which an entry is asked for; not where that leads back to the question."""
        if expr in self._asked:
            return None
        self._asked.add(expr)
        table = self.usual(expr.value)
        self._asked.discard(expr)
        if isinstance(table, ast.Call) and key(table.func) == "dict" and table.keywords and not table.args:
            words: list[ast.expr | None] = [ast.Constant(k.arg) for k in table.keywords if k.arg]
            table = ast.Dict(words, [k.value for k in table.keywords if k.arg])
        return table if isinstance(table, ast.Dict) else None

    def traced(self, expr: ast.AST, deep: int = FOLLOWED) -> Iterator[ast.AST]:
        """The nodes of an expression, and of what the names in it stand for."""
        waiting: list[tuple[ast.AST, int]] = [(expr, deep)]
        seen: set[int] = set()
        while waiting and len(seen) < MOST_TRACED:
            node, left = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            if left and isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and key(node):
                waiting += [(value, left - 1) for value in self._behind(node)]
            elif left and isinstance(node, ast.Call):
                waiting += [(value, left - 1) for value in self.ends(node)]
            if not isinstance(node, (*FUNCTIONS, ast.Lambda)):
                waiting += [(child, left) for child in children(node)]

    def _behind(self, node: ast.expr) -> list[ast.expr]:
        """All that a name may have got its value from, one step back."""
        found = self.binding(node)
        if found is None:
            entry = self.entry(node)
            return [entry] if entry is not None else []
        if found.how == "parameter":
            value = self.given(found, key(node))
            return [value] if value is not None else []
        if found.value is None or found.how not in ("assign", "augment"):
            return []
        raised = [b.value for b in self.bindings(node) if b.how == "augment" and b.value is not None]
        return [found.value, *raised]

    def const(self, expr: ast.AST | None) -> object:
        """The value of a literal, of a name that is one, or of a default of the command line; else None."""
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
            inner = self.const(expr.operand)
            return -inner if isinstance(inner, (int, float)) else None
        if isinstance(expr, ast.Constant):
            return expr.value
        if isinstance(expr, (ast.Name, ast.Attribute)):
            found = [b for b in self.bindings(expr) if b.how != "parameter"]
            if len(found) == 1 and found[0].how == "assign" and isinstance(found[0].value, (ast.Constant, ast.UnaryOp)):
                return self.const(found[0].value)
            given = found[0].value if len(found) == 1 and found[0].how == "assign" else expr if not found else None
            if isinstance(given, ast.Name) and (left := self._left(given)) is not None:
                return self.const(left)
            if isinstance(expr, ast.Attribute) and not found:
                return self.options.get(expr.attr)
        return None

    def _left(self, name: ast.Name) -> ast.expr | None:
        """The literal default of a parameter to which the calls of this file, of which there are some, give nothing."""
        found = self.bindings(name)
        if len(found) != 1 or found[0].how != "parameter":
            return None
        made = default(found[0].node, name.id)
        calls = self.callers(found[0].node) if isinstance(made, (ast.Constant, ast.UnaryOp)) else []
        spread = any(k.arg is None for c in calls for k in c.keywords) or any(
            isinstance(a, ast.Starred) for c in calls for a in c.args)  # fmt: skip
        told = any(own == name.id for c in calls for own, _ in passed(found[0].node, c))
        return made if calls and not spread and not told else None

    @cached_property
    def defaults(self) -> dict[str, ast.expr | None]:
        """Options of the command line and fields of dataclasses -> what they are unless told."""
        out: dict[str, ast.expr | None] = {}
        for call in self.find("add_argument"):
            flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if flags:
                name = argument(call, "dest")
                given = name.value if isinstance(name, ast.Constant) else flags[-1].lstrip("-").replace("-", "_")
                out[str(given)] = argument(call, "default")
        for made in self.each(ast.ClassDef):
            if any(last(self.path(d)) in ("dataclass", "dataclass()") for d in made.decorator_list):
                fields = [s for s in made.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
                out |= {key(s.target): s.value for s in fields if s.value is not None}
        return out

    @cached_property
    def options(self) -> dict[str, object]:
        """The same, those alone that are literals; an option of the command line without one is None."""
        asked = {k: v for k, v in self.defaults.items() if v is None or isinstance(v, ast.Constant)}
        return {k: v.value if isinstance(v, ast.Constant) else None for k, v in asked.items()}

    def usual(self, expr: ast.expr) -> ast.expr:
        """What a value is unless somebody says otherwise: through names, defaults and tables."""
        for _ in range(FOLLOWED):
            expr = self.origin(expr)
            before = self._by_default(expr)
            if before is None:
                break
            expr = before
        return expr

    def usually(self, expr: ast.expr) -> object:
        """The literal that a value is unless somebody says otherwise; else None."""
        return self.const(self.usual(expr))

    def _by_default(self, expr: ast.expr) -> ast.expr | None:
        """What a parameter, an option or an entry of a table is by default."""
        if isinstance(expr, ast.Subscript):
            table = self._table(expr)
            self._asked.add(expr)
            wanted = self.usually(expr.slice) if table is not None else None
            self._asked.discard(expr)
            pairs = (
                zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) and wanted is not None else ()
            )
            return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == wanted), None)
        found = self.binding(expr)
        if found is None:
            return self.defaults.get(expr.attr) if isinstance(expr, ast.Attribute) else None
        if found.how != "parameter":
            return None
        given = (value for c in self.callers(found.node) for name, value in passed(found.node, c) if name == key(expr))
        return default(found.node, key(expr)) if next(given, None) is None else None

    def function(self, call: ast.Call) -> Function | None:
        """The function of this file that is called: by its name, or as a method of what is known to be of a class."""
        if call not in self._functions:
            self._functions[call] = None  # a question that leads back to itself
            self._functions[call] = self.objects.called(call)
        return self._functions[call]

    @cached_property
    def objects(self) -> Objects:
        return Objects(self)

    def kind(self, expr: ast.expr) -> ast.ClassDef | None:
        """The class of this file that a value is of."""
        return self.objects.kind(expr)

    def method(self, made: ast.ClassDef, name: str) -> Function | None:
        """A method of a class, or of those of this file that it is made from."""
        return self.objects.method(made, name)

    def meant(self, func: ast.expr) -> str:
        """The resolved name of what is called, through a name that was given it and through `partial`."""
        path = self.path(func)
        if isinstance(func, ast.Name) and func.id not in self.imports and func.id not in self.functions:
            made = self.origin(func)
            if isinstance(made, ast.Call) and last(self.path(made.func)) == "partial" and made.args:
                return self.path(made.args[0])
            return self.path(made) if isinstance(made, ast.Name) and made.id in self.imports else path
        return path

    def callers(self, function: ast.AST) -> list[ast.Call]:
        """The calls of a function of this file; those of a class for its `__init__`."""
        return self.objects.callers(function)
