"""Rules on samplers, loaders and what goes through them."""

# ruff: noqa: E501, SIM102  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..patch import first_in, instead
from ..program import FUNCTIONS, argument, key, last
from .look import EPOCH, TEST, epoch_loop, inside, keyword, source
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
    told = any(True for _ in program.find("set_epoch", "prepare", "setup_dataloaders"))
    if told:
        return
    for call in program.find("DistributedSampler"):
        if keyword(call, "shuffle") is False or isinstance(program.statement(call), (ast.ClassDef, ast.Return)):
            continue
        statement = program.statement(call)
        name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        if TEST.search(name) or any(TEST.search(k) for a in call.args if (k := key(a))):
            continue
        loops = [x for t in view.trainings for x in (*t.outer, t.node) if isinstance(x, ast.For)
                 and any(EPOCH.search(k) for n in ast.walk(x.target) if (k := key(n)))]  # fmt: skip
        if not loops:
            continue
        direct = name and isinstance(statement, ast.Assign) and statement.value is call and not name.startswith("self.")
        seen = program.scope(loops[0]) in (program.scope(call), program.tree) or program.scope(call) is program.tree
        fix = (
            (first_in(loops[0], f"{name}.set_epoch({source(program, loops[0].target)})"),)
            if direct and seen and isinstance(loops[0].target, ast.Name)
            else ()
        )
        yield Fault(call, "the sampler is never told the epoch: every epoch has the same order",
                    "没有调用 set_epoch：每个 epoch 的顺序完全相同", fix, beside=(loops[0],))  # fmt: skip


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


@rule("ranks-share-the-data", "S1", "duplicate-surge", "DataLoader",
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
    """
    program = view.program
    split = re.search(
        r"Sampler|split_dataset_by_node|\.shard\(|prepare\(|rank::|\[rank|skip=rank|IterableDataset|num_replicas|deepspeed\.initialize",
        program.text,
    )
    if not view.distributed or split or not view.trainings:
        return
    used = {
        key(n) for t in view.trainings for x in (t.node, *t.outer) if isinstance(x, ast.For) for n in ast.walk(x.iter)
    }
    for call, name in loaders(view):
        if name and name in used and not TEST.search(name) and argument(call, "batch_sampler") is None:
            yield Fault(call, "every rank goes through all of the data: the loader has no distributed sampler",
                        "每个 rank 都遍历全部数据：没有分布式采样器")  # fmt: skip


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
    used = {
        key(n) for t in view.trainings for x in (t.node, *t.outer) if isinstance(x, ast.For) for n in ast.walk(x.iter)
    }
    if re.search(r"\.shuffle\(|IterableDataset|streaming=True|shuffled", view.program.text):
        return
    for call, name in loaders(view):
        value = argument(call, "shuffle")
        plain = argument(call, "sampler") is None and argument(call, "batch_sampler") is None
        if value is not None and keyword(call, "shuffle") is False and plain and name in used and not TEST.search(name):
            yield Fault(call, "the training data are not shuffled", "训练数据没有打乱", (instead(value, "True"),))


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
        function = given if isinstance(given, ast.Lambda) else next(iter(program.functions.get(key(given), [])), None)
        if not isinstance(function, (ast.Lambda, *FUNCTIONS)):
            continue
        own = {a.arg for a in function.args.args}
        inner = [
            n
            for n in ast.walk(function)
            if isinstance(n, ast.Call) and last(program.path(n.func)) in ("seed", "manual_seed", "set_seed")
        ]
        for seeded in inner:
            fixed = seeded.args and not own & {n.id for n in ast.walk(seeded.args[0]) if isinstance(n, ast.Name)}
            if fixed and program.const(seeded.args[0]) is not None:
                parameter = next(iter(own), "")
                fix = (
                    (instead(seeded.args[0], f"{source(program, seeded.args[0])} + {parameter}"),) if parameter else ()
                )
                yield Fault(seeded, "all workers of the loader get the same seed", "所有 worker 使用同一个种子", fix, beside=(call,))  # fmt: skip


@rule("iterator-used-up", "S1", "loss-stagnation", "iter( map( filter( zip( islice",
      bad="""
      batches = iter(loader)
      for epoch in range(3):
          for batch in batches:
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """,
      good="""
      for epoch in range(3):
          for batch in iter(loader):
              loss = model(**batch).loss
              loss.backward()
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def iterator_used_up(view: View) -> Iterator[Fault]:
    """An iterator is made once and gone through in every epoch.

    Why: after the first epoch it is empty: the others do nothing, in no time and without an error.
    """
    program = view.program
    for loop in [n for n in program.nodes if isinstance(n, ast.For)]:
        name, outer = key(loop.iter), epoch_loop(program, loop)
        if (
            isinstance(loop.iter, ast.Call)
            and last(program.path(loop.iter.func)) in ("enumerate", "tqdm")
            and loop.iter.args
        ):
            name = key(loop.iter.args[0])
        if not name or outer is None:
            continue
        made = [b for b in program.bindings(loop, name) if b.how == "assign"]
        once = [
            b for b in made if isinstance(b.value, (ast.Call, ast.GeneratorExp)) and not inside(program, b.node, outer)
        ]
        if (
            len(made) == 1
            and once
            and (
                isinstance(once[0].value, ast.GeneratorExp)
                or program.path(once[0].value.func)
                in (
                    "iter",
                    "map",
                    "filter",
                    "zip",
                    "itertools.chain",
                    "itertools.islice",
                    "itertools.chain.from_iterable",
                )
            )
        ):
            yield Fault(loop.iter, f"`{name}` is an iterator made once: it is empty after the first epoch",
                        f"`{name}` 是只能遍历一次的迭代器：第一个 epoch 之后就空了", beside=(once[0].node,))  # fmt: skip


@rule("first-batch-again", "S1", "overfitting", "next(iter(",
      bad="""
      for step in range(1000):
          batch = next(iter(loader))
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      batches = iter(loader)
      for step in range(1000):
          batch = next(batches)
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def first_batch_again(view: View) -> Iterator[Fault]:
    """Each step makes the loader's iterator anew and takes its first batch.

    Why: workers start again for every step; without shuffling it is the same batch for ever.
    """
    for training in view.trainings:
        for event in training.of("call"):
            call = event.node
            if (
                not isinstance(call, ast.Call)
                or view.program.path(call.func) != "next"
                or not call.args
                or event.guards
            ):
                continue
            inner = call.args[0]
            if (
                isinstance(inner, ast.Call)
                and view.program.path(inner.func) == "iter"
                and view.roles.of(inner.args[0]) == "loader"
            ):
                yield Fault(
                    call,
                    "each step begins the loader anew and takes its first batch",
                    "每一步都重新开始遍历，只取第一个批次",
                )


@rule("workers-repeat-the-stream", "S2", "duplicate-surge", "IterableDataset",
      bad="""
      class Stream(IterableDataset):
          def __iter__(self):
              for line in open(self.path):
                  yield line


      loader = DataLoader(Stream(), batch_size=8, num_workers=4)
      """,
      good="""
      class Stream(IterableDataset):
          def __iter__(self):
              worker = get_worker_info()
              for i, line in enumerate(open(self.path)):
                  if i % worker.num_workers == worker.id:
                      yield line


      loader = DataLoader(Stream(), batch_size=8, num_workers=4)
      """)  # fmt: skip
def workers_repeat_the_stream(view: View) -> Iterator[Fault]:
    """Every worker of a loader goes through the whole stream.

    Why: with four workers each sample comes four times.
    """
    program = view.program
    if re.search(r"get_worker_info|worker_id|split_dataset", program.text):
        return
    for node in [n for n in program.nodes if isinstance(n, ast.ClassDef)]:
        if not any(last(program.path(b)) == "IterableDataset" for b in node.bases):
            continue
        for call, _ in loaders(view):
            workers, data = program.const(argument(call, "num_workers")), argument(call, "dataset", 0)
            made = program.origin(data) if data is not None else None
            own = isinstance(made, ast.Call) and last(program.path(made.func)) == node.name
            if own and isinstance(workers, int) and workers > 1:
                method = next((f for f in node.body if isinstance(f, FUNCTIONS) and f.name == "__iter__"), node)
                yield Fault(method, f"each of {workers} workers goes through the whole stream", f"{workers} 个 worker 各自遍历整个数据流",
                            beside=(call,))  # fmt: skip
