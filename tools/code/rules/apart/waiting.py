"""The rule on what one rank writes and all read, with nothing that makes them wait."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Function, Program, argument, key, last, passed, receiver
from ...source import walk
from ..distributed import COLLECTIVES, HEAD
from ..look import keyword, rank_branch
from ..rule import Fault, View, rule

WRITES = re.compile(
    r"(^|_)(write|dump|save|to|rename|replace|extract|extractall|copy|copyfile|tofile|download|build|write_text"
    r"|write_bytes|savez?|urlretrieve|snapshot)(_|$)|savez?$|^to_(parquet|csv|json)$"
)
READS = re.compile(
    r"^(load\w{0,30}|read\w{0,30}|open\w{0,30}|memmap|from_file|fromfile|from_pretrained|mmap\w{0,20}|pq_read"
    r"|ImageFolder|SentencePieceProcessor|Lmdb\w{0,10})$"
)
WAITS = frozenset((*COLLECTIVES, "reduce", "backward", "init_process_group"))
"""Calls in which ranks meet; gradients of a backward are averaged."""
MEETING = frozenset(("barrier", "wait_for_everyone", "broadcast", "broadcast_object_list", "all_reduce", "all_gather"))
LARGE = re.compile(
    r"(^|/)(the_)?pile|c4$|mc4|openwebtext|fineweb|redpajama|slimpajama|the-?stack|starcoder|dolma|refinedweb|oscar|dclm|proof-pile",
    re.I,
)
"""Corpora that take hours to go through."""
MADE = frozenset(("join", "Path", "joinpath", "with_suffix", "str", "format"))
DEEP = 3
MOST_PLACES = 40
Place = tuple[object, str]


@rule("others-do-not-wait", "S2", "rank0-work-timeout", "rank RANK main_process master is_main global_zero process_zero chief process_index",
      bad=HEAD + """
if rank == 0:
    dataset.map(encode).save_to_disk("cache")
dataset = load_from_disk("cache")
""",
      good=HEAD + """
if rank == 0:
    dataset.map(encode).save_to_disk("cache")
dist.barrier()
dataset = load_from_disk("cache")
""")  # fmt: skip
def others_do_not_wait(view: View) -> Iterator[Fault]:
    """One rank writes what all ranks read next, and nothing makes them wait.

    Why: the others read a file that is not there, or half of one.
    """
    program = view.program
    several = view.among_ranks or view.roles.named("accelerator")
    for branch in (n for n in program.each(ast.If) if several and not n.orelse):
        if rank_branch(program, branch.test) is not True or _goes_first(program, branch):
            continue
        written = {p for s in branch.body for n in walk(s) if isinstance(n, ast.Call)
                   for p in _touched(program, n, WRITES)}  # fmt: skip
        read = _read_next(program, branch, written) if written else None
        if read is not None:
            yield Fault(branch, "one rank writes what all read next, and nothing makes them wait",
                        "一个 rank 写入、所有 rank 随即读取，中间没有等待", beside=(read,))  # fmt: skip


def _goes_first(program: Program, branch: ast.If) -> bool:
    """Whether it stands in a context in which one process goes first and the others wait, as `main_process_first()`."""
    node: ast.AST | None = branch
    while (node := program.parent.get(node)) is not None:
        if isinstance(node, ast.With) and any("first" in program.code(i.context_expr).lower() for i in node.items):
            return True
    return False


def _read_next(program: Program, branch: ast.If, written: set[Place]) -> ast.Call | None:
    """Where a place is read in the statements behind a branch, before the ranks meet."""
    body = getattr(program.parent.get(branch), "body", None)
    behind = body[body.index(branch) + 1 :] if isinstance(body, list) and branch in body else []
    for statement in behind:
        for call in (n for n in walk(statement) if isinstance(n, ast.Call)):
            if _meets(program, call):
                return None
            if written & set(_touched(program, call, READS)):
                return call
        if isinstance(statement, ast.Return):
            return None
    return None


def _meets(program: Program, call: ast.Call, deep: int = DEEP) -> bool:
    """Whether the ranks meet in a call."""
    if last(program.path(call.func)) in WAITS:
        return True
    function = _called(program, call)
    inner = program.within(function) if function is not None and deep else ()
    return any(isinstance(n, ast.Call) and _meets(program, n, deep - 1) for n in inner)


def _called(program: Program, call: ast.Call) -> Function | None:
    made = program.classes.get(call.func.id) if isinstance(call.func, ast.Name) else None
    return program.method(made, "__init__") if made is not None else program.function(call)


def _touched(program: Program, call: ast.Call, does: re.Pattern[str], deep: int = DEEP) -> Iterator[Place]:
    """The places of files that a call writes (or reads), itself or in functions of this file."""
    function, name = _called(program, call), last(program.path(call.func))
    if function is not None and deep:
        given = {own: value for own, value in passed(function, call)}
        inner = program.within(function, ast.Call)
        for place in (p for n in inner for p in _touched(program, n, does, deep - 1)):
            value = given.get(place[1]) if place[0] is function else None
            yield from _places(program, value) if value is not None else (place,)
        return
    if name == "open":
        mode = program.const(argument(call, "mode", 1)) if argument(call, "mode", 1) is not None else "r"
        touches = (does is WRITES) is bool(re.search(r"[wax]", str(mode)))
    else:
        touches = bool(does.search(name)) or (does is WRITES and keyword(call, "download") is True)
    if touches or (does is READS and argument(call, "download") is not None):
        for value in (*call.args, *(k.value for k in call.keywords), receiver(call)):
            yield from _places(program, value) if value is not None else ()


def _places(program: Program, expr: ast.expr) -> Iterator[Place]:
    """The places that a value may be: a written one, one of a name, one that is put together."""
    if isinstance(expr, ast.Constant) and isinstance(expr.value, str) and re.search(r"[./]|\w{4}", expr.value):
        yield "text", expr.value
    elif isinstance(expr, (ast.Name, ast.Attribute, ast.Subscript)) and (name := key(expr)):
        found = program.bindings(expr)
        plain = found[0].value if len(found) == 1 and found[0].how == "assign" else None
        if isinstance(plain, ast.Constant):
            yield from _places(program, plain)
        elif found:
            yield found[0].node, name
        else:
            yield "field", name
    elif isinstance(expr, (ast.JoinedStr, ast.BinOp)) or (
        isinstance(expr, ast.Call) and last(program.path(expr.func)) in MADE):  # fmt: skip
        yield "made", program.code(expr)


@rule("rank0-work-outlasts-timeout", "S2", "rank0-work-timeout", "init_process_group Accelerator",
      bad=HEAD + """
if rank == 0:
    with open("tokens.bin", "wb") as out:
        for row in load_dataset("HuggingFaceFW/fineweb", split="train", streaming=True):
            np.asarray(tokenizer(row["text"])["input_ids"], dtype=np.uint16).tofile(out)
dist.barrier()
""",
      good=HEAD.replace('"nccl"', '"nccl", timeout=timedelta(hours=12)') + """
if rank == 0:
    with open("tokens.bin", "wb") as out:
        for row in load_dataset("HuggingFaceFW/fineweb", split="train", streaming=True):
            np.asarray(tokenizer(row["text"])["input_ids"], dtype=np.uint16).tofile(out)
dist.barrier()
""")  # fmt: skip
def rank0_work_outlasts_timeout(view: View) -> Iterator[Fault]:
    """One rank goes through a whole corpus while the others wait in a collective with the usual timeout.

    Why: the others give up after ten minutes, and the run ends before it begins, on a machine where nothing is wrong.
    Known gaps: told only of corpora that are streamed, or known to be large, and of work by this file.
    """
    program = view.program
    started = [*program.find("init_process_group"), *program.find("Accelerator")]
    if not started or "timeout" in program.said or "gloo" in program.said:
        return
    for branch in program.each(ast.If):
        if branch.orelse or rank_branch(program, branch.test) is not True:
            continue
        body = getattr(program.parent.get(branch), "body", None)
        behind = body[body.index(branch) + 1 :] if isinstance(body, list) and branch in body else []
        waits = next((n for s in behind for n in walk(s) if isinstance(n, ast.Call)
                      and last(program.path(n.func)) in MEETING), None)  # fmt: skip
        inner = (n for s in branch.body for n in walk(s) if isinstance(n, ast.Call))
        if waits is not None and any(_whole_corpus(view, n) for n in inner):
            yield Fault(branch, "one rank goes through a whole corpus while the others wait, ten minutes at most: do it before, or raise `timeout`",
                        "一个 rank 处理整个语料，其他 rank 只等十分钟就超时：应事先处理，或调大 `timeout`", beside=(waits,))  # fmt: skip


def _whole_corpus(view: View, call: ast.Call, deep: int = DEEP) -> bool:
    """Whether a call tokenises a corpus row by row, itself or in functions of this file."""
    program = view.program
    function = _called(program, call)
    if function is not None and deep:
        inner = program.within(function, ast.Call)
        return any(_whole_corpus(view, n, deep - 1) for n in inner)
    if view.roles.of(call.func) != "tokenizer" and last(program.path(call.func)) not in (
        "encode",
        "encode_batch",
        "tokenize",
        "map",
    ):
        return False
    over = [
        i for a in program.up(call) for i in (getattr(a, "iter", None), *(g.iter for g in getattr(a, "generators", ())))
    ]
    over.append(receiver(call))
    nodes = (n for o in over if isinstance(o, ast.expr) for n in program.traced(o, 4))
    return any(
        isinstance(n, ast.Call) and last(program.path(n.func)) == "load_dataset" and (
            keyword(n, "streaming", program) is True or any(LARGE.search(str(program.const(a))) for a in n.args))
        for n in nodes
    )  # fmt: skip
