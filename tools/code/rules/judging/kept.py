"""The rule on services that keep something of each request, for as long as the process lives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....patterns import bounded
from ...program import FUNCTIONS, Function, Program, argument, key, last, receiver
from ..memory import base
from ..rule import Fault, View, rule

HOLDERS = ("dict", "list", "set", "defaultdict", "OrderedDict", "deque", "Counter", "WeakSet")
ADDS = ("append", "appendleft", "add", "extend", "setdefault", "insert")
TAKES = ("pop", "popitem", "popleft", "clear", "remove", "discard", "expire", "evict", "difference_update")
READS = (
    "len",
    "print",
    "str",
    "repr",
    "list",
    "sorted",
    "sum",
    "max",
    "min",
    "enumerate",
    "dumps",
    "iter",
    "any",
    "all",
)
"""Calls that a holder may be given to and comes out of as it was."""
UNIQUE = bounded(
    r"(?i)\b(?:uuid\w{0,4}|time|time_ns|monotonic\w{0,3}|perf_counter\w{0,3}|token_(?:hex|urlsafe|bytes)|urandom"
    r"|getrandbits|nanoid|ulid|hexdigest|now|next)\(|(?<![a-z])(?:rid|sid|cid|[a-z]{0,20}_?(?:request|session"
    r"|conversation|chat|turn|message|msg|trace|job|task|call|prompt|user)_?(?:id|key|hash)?)(?![a-z_])"
)
"""What is another one for each request: drawn, counted, or the request's own."""
ROUTE = ("route", "get", "post", "put", "patch", "delete", "websocket", "api_route", "add_route", "add_post", "add_get",
         "add_api_route", "add_url_rule")  # fmt: skip

SERVICE = """
import uuid
from fastapi import FastAPI

app = FastAPI()
REPLIES = {{}}

@app.post("/generate")
async def generate(body: dict):
    rid = uuid.uuid4().hex
    REPLIES[rid] = await engine.generate(body["prompt"])
    return {{"id": rid}}

@app.get("/reply/{{rid}}")
async def reply(rid: str):
    return REPLIES.{read}
"""


@rule("kept-for-each-request", "S3", "memory-leak", "route .get( .post( .put( .patch( .websocket( add_ do_POST",
      bad=SERVICE.format(read="get(rid)"), good=SERVICE.format(read="pop(rid, None)"))  # fmt: skip
def kept_for_each_request(view: View) -> Iterator[Fault]:
    """A service keeps something of each request in a table or list of the process, and nothing takes it out.

    Why: the host's memory grows with the requests served, until the process is killed; latencies and errors are flat
    until then.
    Known gaps: what another file takes out.
    """
    program = view.program
    told: set[str] = set()
    for handler in _handlers(program):
        for node, name in _puts(program, handler):
            if name not in told and _lives(program, node, name) and not _taken(program, name):
                told.add(name)
                yield Fault(node, f"`{name}` gets an entry with each request, and nothing takes one out or bounds it",
                            f"`{name}` 每来一个请求就多一项，没有任何地方删除，也没有上限")  # fmt: skip


def _handlers(program: Program) -> Iterator[Function]:
    """The functions that answer requests, and those of this file that they call."""
    waiting = [f for f in program.each(*FUNCTIONS) if _answers(program, f)]
    given = [a for c in program.find(*ROUTE) if _path(c) for a in c.args]
    named = {getattr(a, "attr", None) or getattr(a, "id", "") for a in given}
    waiting += [f for name in named for f in program.functions.get(name, ())]
    seen: set[ast.AST] = set()
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        yield function
        called = (program.function(c) for c in program.within(function, ast.Call))
        waiting += [f for f in called if f is not None]


def _answers(program: Program, function: Function) -> bool:
    routed = (d for d in function.decorator_list if isinstance(d, ast.Call) and last(key(d.func)) in ROUTE)
    return function.name in ("do_POST", "do_GET", "do_PUT") or any(_path(d) for d in routed)


def _path(call: ast.Call) -> bool:
    """Whether a call is given the path of a route."""
    texts = (a.value for a in call.args if isinstance(a, ast.Constant))
    return any(isinstance(t, str) and t.startswith("/") for t in texts)


def _puts(program: Program, function: Function) -> Iterator[tuple[ast.AST, str]]:
    """(where, holder) of what is put under a key of its own, or behind the rest."""
    for node in program.within(function, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _unique(program, target.slice):
                yield node, base(target)
    for call in program.within(function, ast.Call):
        on, how = receiver(call), getattr(call.func, "attr", "")
        if on is None or not call.args or how not in ADDS:
            continue
        if how != "setdefault" or _unique(program, call.args[0]):
            yield call, base(on)


def _unique(program: Program, where: ast.expr) -> bool:
    if isinstance(where, (ast.Constant, ast.Slice)):
        return False
    texts = (program.code(n) for n in program.traced(where) if isinstance(n, (ast.Call, ast.Name, ast.Attribute)))
    return any(UNIQUE.search(text) for text in texts)


def _lives(program: Program, node: ast.AST, name: str) -> bool:
    """Whether a holder without a bound of its own was made once, for the whole process."""
    home = program.home(node, name) if "." in name else program.tree
    made = [b for b in program.bound.get(home, {}).get(name, ()) if b.how == "assign"]
    if len(made) != 1 or made[0].value is None or not _holder(made[0].value):
        return False
    own = "." not in name and name in program.bound.get(program.scope(node), {}) and program.scope(node) is not home
    return not own and program.scope(made[0].node) is not program.scope(node)


def _holder(made: ast.expr) -> bool:
    if isinstance(made, (ast.Dict, ast.List, ast.Set)):
        return not (made.keys if isinstance(made, ast.Dict) else made.elts)
    bound = isinstance(made, ast.Call) and argument(made, "maxlen", 1) is not None
    return isinstance(made, ast.Call) and last(key(made.func)) in HOLDERS and not bound


def _taken(program: Program, name: str) -> bool:
    """Whether anything takes out of a holder, makes it anew, or is handed it and may."""
    if any(base(on) == name for c in program.find(*TAKES) if (on := receiver(c)) is not None):
        return True
    if any(base(t) == name for d in program.each(ast.Delete) for t in d.targets):
        return True
    made = [t for a in program.each(ast.Assign) for t in a.targets if key(t) == name or _sliced(t, name)]
    given = (c for c in program.each(ast.Call) for a in (*c.args, *(k.value for k in c.keywords)) if key(a) == name
             and last(key(c.func)) not in READS)  # fmt: skip
    return len(made) > 1 or next(given, None) is not None


def _sliced(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice) and key(target.value) == name
