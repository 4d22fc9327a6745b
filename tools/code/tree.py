"""One program's tree with its names: what stands in what, who is called, what gives a name its value.

The tree is gone through once, in the order of the text; what stands in a function or a loop is a slice of that order.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from .plain import Names, plainer
from .source import LEAVES, Parsed, children, walk
from .syntax import FUNCTIONS, Binding, Function, Node, key, last

LOOPS = (ast.For, ast.AsyncFor, ast.While)
SPANS = frozenset((*FUNCTIONS, ast.ClassDef, *LOOPS))
"""Nodes of which it is known where their own end in the order of the text."""
IMPORT = re.compile(r"\s{0,40}(?:from\s[\w.]{1,200}\s{1,4})?import\b")
NOTHING: dict[str, list[Binding]] = {}


class Tree:
    """A parsed file, each node with its place."""

    def __init__(self, parsed: Parsed):
        self.parsed, self.name, self.text, self.tree = parsed, parsed.name, parsed.text, parsed.tree
        self.parent: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self.functions: dict[str, list[Function]] = defaultdict(list)
        self.imports: dict[str, str] = {}
        self.bound: dict[ast.AST, dict[str, list[Binding]]] = defaultdict(lambda: defaultdict(list))
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.classes: dict[str, ast.ClassDef] = {}
        self._scopes: dict[ast.AST, ast.AST] = {self.tree: self.tree}
        self._spans: dict[ast.AST, tuple[int, int]] = {}
        self._paths: dict[ast.AST, str] = {}
        self._read()
        notes = NOTES
        for node in self.nodes:
            if (note := notes.get(type(node))) is not None:
                note(self, node)
        self._paths.clear()  # until here imports were missing

    def _read(self) -> None:
        """Go through the tree, say what can be said more plainly, and go through that again."""
        fresh = not getattr(self.tree, "is_plain", False)
        names = Names() if fresh else None
        pieces: list[tuple[ast.stmt, list[ast.AST]]] = []
        for statement in self.tree.body:
            pieces.append((statement, self._walked(statement)))
            if names is not None:
                names.note(pieces[-1][1], statement)
        if names is not None:
            changed = plainer(names)
            self.tree.body = [s for was, _ in pieces for s in changed.get(was, [was])]
            again = {was: [(s, self._walked(s)) for s in said] for was, said in changed.items()}
            pieces = [p for was, nodes in pieces for p in again.get(was, [(was, nodes)])]
            self.tree.is_plain = True  # type: ignore[attr-defined]
        self.nodes.append(self.tree)
        for _, nodes in pieces:
            at = len(self.nodes)
            for node in nodes:
                if type(node) in SPANS:
                    start, end = self._spans[node]
                    self._spans[node] = (start + at, end + at)
            self.nodes += nodes
        self._spans[self.tree] = (0, len(self.nodes))

    def _walked(self, statement: ast.stmt) -> list[ast.AST]:
        """The nodes of a statement of the module in the order of the text, their places noted."""
        nodes: list[ast.AST] = []
        opened: list[ast.AST] = []
        parent, scopes, spans = self.parent, self._scopes, self._spans
        parent[statement], scopes[statement] = self.tree, self.tree
        waiting: list[ast.AST | None] = [statement]
        while waiting:
            node = waiting.pop()
            if node is None:
                node = opened.pop()
                spans[node] = (spans[node][0], len(nodes))
                continue
            kind = type(node)
            if kind in LEAVES:
                nodes.append(node)
                continue
            if kind in SPANS:
                spans[node] = (len(nodes), 0)
                opened.append(node)
                waiting.append(None)
            nodes.append(node)
            scope = node if isinstance(node, FUNCTIONS) else scopes[node]
            below = vars(node).pop("below", None)
            below = children(node) if below is None else below
            for child in below:
                parent[child] = node
                scopes[child] = scope
            below.reverse()
            waiting += below
        return nodes

    @cached_property
    def _kinds(self) -> dict[tuple[type[ast.AST], ...], list[int]]:
        """Where in the order of the text nodes of a kind stand; of several kinds once somebody has asked for them."""
        out: dict[tuple[type[ast.AST], ...], list[int]] = defaultdict(list)
        for i, node in enumerate(self.nodes):
            out[type(node),].append(i)
        return out

    def _places(self, *kinds: type[ast.AST]) -> list[int]:
        if kinds not in self._kinds:
            self._kinds[kinds] = sorted(i for kind in kinds for i in self._kinds.get((kind,), ()))
        return self._kinds[kinds]

    def each(self, *kinds: type[Node]) -> list[Node]:
        """All nodes of these kinds, in the order of the text."""
        return [self.nodes[i] for i in self._places(*kinds)]  # type: ignore[misc]

    def told(self, name: str) -> list[ast.Call]:
        """The calls that are given an argument by this name, in the order of the text."""
        return self._told.get(name, [])

    @cached_property
    def _told(self) -> dict[str, list[ast.Call]]:
        out: dict[str, list[ast.Call]] = defaultdict(list)
        for call in self.each(ast.Call):
            for given in call.keywords:
                if given.arg:
                    out[given.arg].append(call)
        return out

    def within(self, node: ast.AST, *kinds: type[Node]) -> list[Node]:
        """A function, class or loop and all that stands in it, in the order of the text; of these kinds, or all."""
        span = self._spans.get(node)
        if span is None:
            return [n for n in walk(node) if not kinds or type(n) in kinds]  # type: ignore[misc]
        if not kinds:
            return self.nodes[span[0] : span[1]]  # type: ignore[return-value]
        places = self._places(*kinds)
        return [self.nodes[i] for i in places[bisect_left(places, span[0]) : bisect_left(places, span[1])]]  # type: ignore[misc]

    # Names that are given ---------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        func = node.func
        if isinstance(func, ast.Attribute):
            name = func.attr
        elif isinstance(func, ast.Name):
            name = last(self.imports.get(func.id, func.id))
        else:
            name = last(self.path(func))
        self.calls[name].append(node)

    def _function(self, node: Function) -> None:
        self.functions[node.name].append(node)
        arguments = node.args
        rest = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest):
            self.bound[node][arg.arg].append(Binding(None, node, "parameter"))

    def _class(self, node: ast.ClassDef) -> None:
        self.classes[node.name] = node

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            first = alias.name.split(".")[0]
            self.imports[alias.asname or first] = alias.name if alias.asname else first

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.imports[alias.asname or alias.name] = f"{'.' * node.level}{node.module or ''}.{alias.name}"

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value, node, "assign")

    def _give(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        self._bind(node.target, node.value, node, "assign")

    def _augment(self, node: ast.AugAssign) -> None:
        self._bind(node.target, node.value, node, "augment")

    def _loop(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> None:
        self._bind(node.target, node.iter, node, "for")

    def _with(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self._bind(node.optional_vars, node.context_expr, node, "with")

    def _bind(self, target: ast.expr, value: ast.expr | None, node: ast.AST, how: str) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            for i, one in enumerate(target.elts):
                inner = value.elts[i] if same and how == "assign" else value  # type: ignore[union-attr]
                if isinstance(one, (ast.Tuple, ast.List)):
                    self._bind(one, inner, node, how)
                elif name := key(one.value if isinstance(one, ast.Starred) else one):
                    part = None if same and how == "assign" else i
                    self.bound[self.home(node, name)][name].append(Binding(inner, node, how, part))
        elif name := key(target):
            self.bound[self.home(node, name)][name].append(Binding(value, node, how))

    # Places ---------------------------------------------------------------------------------------------

    def up(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from inside out."""
        while (above := self.parent.get(node)) is not None:
            yield above
            node = above

    def scope(self, node: ast.AST) -> ast.AST:
        """The function (or the module) in which a node is run."""
        return self._scopes.get(node, self.tree)

    def home(self, node: ast.AST, name: str) -> ast.AST:
        """Where a name is kept: `self.x` in the class, any other in the function."""
        if name.startswith(("self.", "cls.")):
            return next((n for n in self.up(node) if isinstance(n, ast.ClassDef)), self.tree)
        return self.scope(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node belongs to."""
        if isinstance(node, ast.stmt):
            return node
        return next(n for n in self.up(node) if isinstance(n, ast.stmt))

    def loops(self, node: ast.AST) -> list[ast.AST]:
        """The loops around a node within its function, from inside out."""
        out = []
        inner = node
        for above in self.up(node):
            if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(above, LOOPS) and not (isinstance(above, (ast.For, ast.AsyncFor)) and inner is above.iter):
                out.append(above)
            inner = above
        return out

    def guards(self, node: ast.AST) -> list[tuple[ast.expr, bool, ast.If]]:
        """The conditions above a node within its function, with the branch it is in, from inside out."""
        out = []
        inner = node
        for above in self.up(node):
            if isinstance(above, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(above, ast.If) and inner is not above.test:
                out.append((above.test, inner in above.body, above))
            inner = above
        return out

    def path(self, expr: ast.AST) -> str:
        """The dotted name of what is called or read, imports resolved; `scaler.scale().backward` through calls."""
        if (known := self._paths.get(expr)) is None:
            known = self._paths[expr] = self._path(expr)
        return known

    def _path(self, expr: ast.AST) -> str:
        parts: list[str] = []
        while True:
            if isinstance(expr, ast.Attribute):
                parts.append(expr.attr)
                expr = expr.value
            elif isinstance(expr, ast.Call):
                expr = expr.func
                if parts:
                    parts.append("()")
            elif isinstance(expr, ast.Subscript):
                parts.append("[]")
                expr = expr.value
            else:
                break
        head = self.imports.get(expr.id, expr.id) if isinstance(expr, ast.Name) else "?"
        return ".".join([head, *reversed(parts)]).replace(".()", "()").replace(".[]", "[]")

    @cached_property
    def fields(self) -> frozenset[str]:
        """Every `x.y` that stands anywhere."""
        return frozenset(key(n) for n in self.nodes if isinstance(n, ast.Attribute))

    def find(self, *names: str) -> Iterator[ast.Call]:
        """Calls of anything whose last name is one of these."""
        for name in names:
            yield from self.calls.get(name, ())

    def bindings(self, expr: ast.AST, name: str = "") -> list[Binding]:
        """All that gives a name its value, in the nearest scope that does."""
        name = name or key(expr)
        if not name:
            return []
        if name.startswith(("self.", "cls.")):
            return self.bound.get(self.home(expr, name), {}).get(name, [])
        scope = self.scope(expr)
        while not (found := self.bound.get(scope, NOTHING).get(name)) and scope is not self.tree:
            scope = self.scope(scope)
        return found or []

    @cached_property
    def said(self) -> str:
        """The text without its lines of imports: what is imported need not be used."""
        return "\n".join(line for line in self.parsed.lines if "import" not in line or not IMPORT.match(line))

    def mentions(self, *words: str) -> bool:
        """Whether one of these words stands anywhere in the text."""
        return any(map(self.parsed.holds, words))

    def has_word(self, pattern: str) -> bool:
        """Whether a word of the text fits a pattern, which is asked of each word once and not of the whole text."""
        return re.search(pattern, self.parsed.words) is not None

    def code(self, node: ast.AST, most: int = 200) -> str:
        """The program's own words for a node."""
        first, last_ = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not first or not last_:
            return ""
        rows = self.parsed.lines[first - 1 : last_]
        if not rows or sum(map(len, rows)) > 20 * most + 4000:
            rows = rows[: most // 20 + 20]
            return "\n".join(rows)[node.col_offset :][:most]  # type: ignore[attr-defined]
        if all(row.isascii() for row in (rows[0], rows[-1])):
            start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        else:
            start = len(rows[0].encode()[: node.col_offset].decode("utf-8", "ignore"))  # type: ignore[attr-defined]
            end = len(rows[-1].encode()[: node.end_col_offset].decode("utf-8", "ignore"))  # type: ignore[attr-defined]
        cut = rows[0][start:end] if len(rows) == 1 else "\n".join([rows[0][start:], *rows[1:-1], rows[-1][:end]])
        return cut[:most]


NOTES = {
    ast.Call: Tree._call, ast.FunctionDef: Tree._function, ast.AsyncFunctionDef: Tree._function,
    ast.ClassDef: Tree._class,
    ast.Import: Tree._import, ast.ImportFrom: Tree._import_from, ast.Assign: Tree._assign, ast.AnnAssign: Tree._give,
    ast.NamedExpr: Tree._give, ast.AugAssign: Tree._augment, ast.For: Tree._loop, ast.AsyncFor: Tree._loop,
    ast.comprehension: Tree._loop, ast.withitem: Tree._with,
}  # fmt: skip
"""Kind of node -> what it tells of names."""
