"""Rules on samplers, loaders and what goes through them."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ..flow import made_of
from ..patch import first_in, instead, without
from ..program import FUNCTIONS, Program, argument, key, last, passed, receiver
from ..source import walk
from .apart.draws import drawn_alike
from .look import EPOCH, TEST, always, inside, keyword, no_grad, source
from .rule import Fault, View, rule

TRAINED = re.compile(r"(^|_)train", re.I)
SAMPLED = """
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=8, sampler=sampler)
for epoch in range(3):
    {first}
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def loaders(view: View) -> Iterator[tuple[ast.Call, str]]:
    """Every loader that is made, with the name it gets."""
    for call in view.program.find("DataLoader", "StatefulDataLoader"):
        statement = view.program.statement(call)
        name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        if isinstance(statement, ast.Return):
            scope = view.program.scope(call)
            name = getattr(scope, "name", "")
        yield call, name


@rule("epoch-not-set-on-sampler", "S1", "loss-oscillation", "DistributedSampler",
      bad=SAMPLED.format(first="model.train()"), good=SAMPLED.format(first="sampler.set_epoch(epoch)"))  # fmt: skip
def epoch_not_set_on_sampler(view: View) -> Iterator[Fault]:
    """The distributed sampler is never told the epoch.

    Why: every epoch has the same order, and the same shards on the same ranks.
    Known gaps: loaders that a library prepares are told by it.
    """
    program = view.program
    yield from _always_the_same(program)
    told = any(True for _ in program.find("set_epoch", "prepare", "setup_dataloaders")) or any(
        f.endswith(".set_epoch") for f in program.fields) or _asked_by_name(program, "set_epoch")  # fmt: skip
    if told:
        return
    for call in program.find("DistributedSampler"):
        handed = isinstance(program.statement(call), ast.Return) and not program.callers(program.scope(call))
        if keyword(call, "shuffle") is False or isinstance(program.statement(call), ast.ClassDef) or handed:
            continue
        statement = program.statement(call)
        name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        if TEST.search(name) or any(TEST.search(k) for a in call.args if (k := key(a))):
            continue
        loops = _again_and_again(view, call)
        if not loops:
            continue
        direct = name and isinstance(statement, ast.Assign) and statement.value is call and not name.startswith("self.")
        first = loops[0]
        seen = program.scope(loops[0]) in (program.scope(call), program.tree) or program.scope(call) is program.tree
        fix = (
            (first_in(first, f"{name}.set_epoch({source(program, first.target)})"),)
            if direct and seen and isinstance(first, ast.For) and isinstance(first.target, ast.Name)
            else ()
        )
        yield Fault(call, "the sampler is never told the epoch: every epoch has the same order",
                    "没有调用 set_epoch：每个 epoch 的顺序完全相同", fix, beside=(loops[0],))  # fmt: skip


def _always_the_same(program: Program) -> Iterator[Fault]:
    """A sampler that is told one number in every epoch."""
    calls = list(program.find("set_epoch"))
    for call in calls if len(calls) == 1 and program.calls.get("DistributedSampler") else ():
        fixed = call.args and isinstance(call.args[0], ast.Constant) and key(receiver(call)) and program.loops(call)
        if fixed and not TEST.search(last(key(receiver(call)))):
            yield Fault(call, "the sampler is told the same epoch each time: every epoch has the same order",
                        "每次都告诉采样器同一个 epoch：每个 epoch 的顺序完全相同")  # fmt: skip


def _asked_by_name(program: Program, name: str) -> bool:
    """Whether a method is taken by its written name: `getattr(x, "set_epoch", None)`, `methodcaller("set_epoch", 3)`."""
    calls = program.find("getattr", "methodcaller")
    return any(program.const(a) == name for c in calls for a in c.args[:2])


def _hands_on(view: View, loop: ast.AST) -> bool:
    """Whether a loop gives on all batches of a loader, again and again."""
    each = [n.value for n in walk(loop) if isinstance(n, ast.YieldFrom)]
    yields = any(isinstance(n, ast.Yield) for n in walk(loop))
    each += [n.iter for n in walk(loop) if isinstance(n, ast.For) and yields]
    return any(view.roles.of(n) == "loader" for n in each)


def _again_and_again(view: View, made: ast.Call) -> Sequence[ast.AST]:
    """The loops that go through the data once in each pass: over epochs by their words, or around a training."""
    program = view.program
    named = [x for t in view.trainings for x in (*t.outer, t.node) if isinstance(x, ast.For)
             and any(EPOCH.search(k) for n in walk(x.target) if (k := key(n)))]  # fmt: skip
    endless = [x for x in program.each(ast.While) if program.const(x.test) in (True, 1) and program.scope(x) is program.scope(made)
               and not inside(program, made, x) and _hands_on(view, x)]  # fmt: skip
    if endless:
        return endless
    around = [x for t in view.trainings if isinstance(t.node, ast.For) and t.whole for x in t.outer]
    return named or [x for x in around if not inside(program, made, x)]


@rule("sampler-with-shuffle", "S1", "data-schema-mismatch", "sampler",
      bad="loader = DataLoader(dataset, sampler=DistributedSampler(dataset), shuffle=True)\n",
      good="loader = DataLoader(dataset, sampler=DistributedSampler(dataset))\n")  # fmt: skip
def sampler_with_shuffle(view: View) -> Iterator[Fault]:
    """A loader is given both a sampler and `shuffle=True`.

    Why: PyTorch refuses the two together, at the start of the run.
    """
    for call, _ in loaders(view):
        value = argument(call, "shuffle")
        if keyword(call, "shuffle") is True and value is not None and (s := argument(call, "sampler")) is not None:
            if not isinstance(program_none := view.program.origin(s), ast.Constant) and not isinstance(
                program_none, ast.IfExp
            ):
                yield Fault(call, "a sampler and shuffle=True exclude each other", "sampler 与 shuffle=True 不能同时使用",
                            (instead(value, "False"),))  # fmt: skip


@rule("ranks-share-the-data", "S1", "duplicate-surge", "DataLoader seed Random RandomState default_rng",
      bad="""
      torch.distributed.init_process_group("nccl")
      model = DistributedDataParallel(model)
      loader = DataLoader(train_set, batch_size=8, shuffle=True)
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      torch.distributed.init_process_group("nccl")
      model = DistributedDataParallel(model)
      loader = DataLoader(train_set, batch_size=8, sampler=DistributedSampler(train_set))
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def ranks_share_the_data(view: View) -> Iterator[Fault]:
    """Several ranks train, and each goes through the whole of the data.

    Why: an epoch is as long as without the other ranks; with one seed all ranks even see the same batches.
    Likewise batches that are drawn at random, on each rank with the same seed.
    """
    yield from drawn_alike(view)
    program = view.program
    split = re.search(
        r"(?<!\bRandom)(?<!\bSequential)Sampler|manual_seed\([^\n]*rank|split_dataset_by_node|\.shard\(|prepare\(|rank::"
        r"|\w\[\w*rank\b|skip=rank|IterableDataset|num_replicas|deepspeed\.initialize",
        program.said,
    )
    if not view.distributed or split or not view.trainings:
        return
    loops = (x for t in view.trainings for x in (t.node, *t.outer) if isinstance(x, ast.For))
    nodes = [n for x in loops for n in walk(x.iter)]
    used = {key(n) for n in nodes} - {""}
    for call, own in loaders(view):
        name = next((n for n in (own, *_kept_as(program, call)) if n in used), "")
        if name and not TEST.search(name) and argument(call, "batch_sampler") is None:
            yield Fault(call, "every rank goes through all of the data: the loader has no distributed sampler",
                        "每个 rank 都遍历全部数据：没有分布式采样器")  # fmt: skip


def _kept_as(program: Program, made: ast.Call) -> Iterator[str]:
    """The names that the result of the function gets which gives back what is made."""
    if isinstance(program.statement(made), ast.Return) and program.parent.get(made) is program.statement(made):
        for call in program.callers(program.scope(made)):
            statement = program.statement(call)
            if isinstance(statement, ast.Assign) and statement.value is call:
                yield key(statement.targets[0])


@rule("training-data-not-shuffled", "S2", "loss-oscillation", "DataLoader",
      bad="""
      train_loader = DataLoader(train_set, batch_size=8, shuffle=False)
      for batch in train_loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
      for batch in train_loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def training_data_not_shuffled(view: View) -> Iterator[Fault]:
    """The training loader is told not to shuffle.

    Why: data sorted by source or length make the loss go in waves, and the model forgets what came first.
    Known gaps: data that were shuffled before, or are streamed, need none.
    """
    loops = (x for t in view.trainings for x in (t.node, *t.outer) if isinstance(x, ast.For))
    nodes = [n for x in loops for n in walk(x.iter)]
    if view.program.mentions(".shuffle(", "IterableDataset", "streaming=True", "shuffled"):
        return
    for call, name in loaders(view):
        if no_grad(view.program.contexts(call)):
            continue
        value, used = argument(call, "shuffle"), _goes_through(view, call, name, nodes)
        plain = argument(call, "sampler") is None and argument(call, "batch_sampler") is None
        sorted_ = value is None and _by_class(view.program, call)
        if sorted_ and plain and used and not TEST.search(name):
            yield Fault(
                call, "the training data lie class by class, and are not shuffled", "训练数据按类别排列且没有打乱"
            )
        if (
            value is not None
            and keyword(call, "shuffle", view.program) is False
            and plain
            and (used or any(call is n for n in nodes))
            and not TEST.search(name)
        ):
            yield Fault(call, "the training data are not shuffled", "训练数据没有打乱", (instead(value, "True"),))


def _goes_through(view: View, call: ast.Call, name: str, nodes: list[ast.AST]) -> bool:
    """Whether one of these names is that of the loader, and no other's that the function makes itself."""
    program, made = view.program, set(_made(view))
    where = [program.scope(n) for n in nodes if name and key(n) == name]
    return any(scope is program.scope(call) or (scope, name) not in made for scope in where)


def _made(view: View) -> Iterator[tuple[ast.AST, str]]:
    for call, name in loaders(view):
        if isinstance(view.program.statement(call), ast.Assign):
            yield view.program.scope(call), name


def _by_class(program: Program, call: ast.Call) -> bool:
    """Whether a loader goes through folders of classes, one after the other."""
    given = argument(call, "dataset", 0)
    made = program.origin(given) if given is not None else None
    return isinstance(made, ast.Call) and last(program.path(made.func)) in ("ImageFolder", "DatasetFolder")


@rule("workers-share-a-seed", "S1", "duplicate-surge", "worker_init_fn",
      bad="loader = DataLoader(dataset, num_workers=4, worker_init_fn=lambda worker: np.random.seed(42))\n",
      good="loader = DataLoader(dataset, num_workers=4, worker_init_fn=lambda worker: np.random.seed(42 + worker))\n")  # fmt: skip
def workers_share_a_seed(view: View) -> Iterator[Fault]:
    """All workers of a loader are seeded alike.

    Why: they augment and sample alike: the data are fewer than they seem.
    """
    program = view.program
    for call, _ in loaders(view):
        given = argument(call, "worker_init_fn")
        function = given if isinstance(given, ast.Lambda) or given is None else program.objects.target(given)
        if not isinstance(function, (ast.Lambda, *FUNCTIONS)):
            continue
        told = program.origin(given) if given is not None else None
        held = (
            dict(passed(function, ast.Call(told.func, told.args[1:], told.keywords)))
            if isinstance(told, ast.Call)
            else {}
        )
        own = {a.arg for a in function.args.args} - {*held, "self"}
        inner = [n for n in program.within(function, ast.Call) if _seeds(program, n)]
        for seeded in inner:
            fixed = seeded.args and not own & {n.id for n in walk(seeded.args[0]) if isinstance(n, ast.Name)}
            fixed = fixed and (_settled(program, seeded.args[0], own) or key(seeded.args[0]) in held)
            if fixed:
                parameter = next(iter(own), "") if not held else ""
                fix = (
                    (instead(seeded.args[0], f"{source(program, seeded.args[0])} + {parameter}"),) if parameter else ()
                )
                yield Fault(seeded, "all workers of the loader get the same seed", "所有 worker 使用同一个种子", fix, beside=(call,))  # fmt: skip


SEEDS = ("seed", "manual_seed", "set_seed", "seed_everything", "default_rng", "RandomState")


def _seeds(program: Program, call: ast.Call) -> bool:
    """Whether a call sets a seed to what it is given, itself or in a function of this file."""
    if last(program.path(call.func)) in SEEDS:
        return True
    function = program.function(call)
    inner = program.within(function, ast.Call) if function is not None else []
    own = {a.arg for a in function.args.args} if function is not None else set()
    return any(last(program.path(n.func)) in SEEDS and own & {key(a) for a in n.args} for n in inner)


def _settled(program: Program, expr: ast.expr, own: set[str]) -> bool:
    """Whether a value is the same in each worker: written, or of an object that all of them have."""
    if program.const(expr) is not None:
        return True
    nodes = [n for n, _, _ in made_of(program, expr)]
    known = isinstance(expr, ast.Attribute) or any(isinstance(n, (ast.Attribute, ast.Constant)) for n in nodes)
    return known and not any(isinstance(n, ast.Call) or key(n) in own for n in nodes)


@rule("seed-set-every-step", "S1", "loss-stagnation", "seed manual_seed",
      bad=SAMPLED.format(first="sampler.set_epoch(epoch)").replace("        loss =", "        torch.manual_seed(42)\n        loss ="),
      good="torch.manual_seed(42)\n" + SAMPLED.format(first="sampler.set_epoch(epoch)"))  # fmt: skip
def seed_set_every_step(view: View) -> Iterator[Fault]:
    """The same seed is set in every step.

    Why: dropout, sampling and augmentation repeat the same choice for ever.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if not isinstance(call, ast.Call) or not always(event) or not training.whole or not training.of("step"):
                continue
            name = last(view.program.path(call.func))
            given = call.args[0] if call.args else argument(call, "seed")
            fixed = given is not None and view.program.const(given) is not None
            if name in ("manual_seed", "manual_seed_all", "seed", "set_seed", "seed_everything", "seed_all") and fixed:
                yield Fault(call, "the same seed is set in every step: dropout and sampling repeat themselves",
                            "每一步都设置同一个随机种子：dropout 与采样完全重复",
                            (without(view.program.statement(call)),))  # fmt: skip
