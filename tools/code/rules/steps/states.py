"""Rules on what a run that goes on does not get back: its schedule, its loss scale, its random numbers."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...checkpoints import asked_for, saves
from ...program import FUNCTIONS, Program, key, last, receiver
from ...source import walk
from ..around.restoring import goes_on, state_roles
from ..rule import Fault, View, rule

SEEDS = ("manual_seed", "seed", "set_seed", "seed_everything")
DRAWS = re.compile(r"^(torch\.(randint|randperm)|(np|numpy)\.random\.(randint|permutation|choice|shuffle)|"
                   r"random\.(randint|randrange|sample|choice|choices|shuffle))$")  # fmt: skip
"""Calls that choose among the data with the random numbers of all."""
NOISE = re.compile(r"^torch\.(rand|randn|bernoulli|rand_like|randn_like)$")
"""Calls that draw masks or noise beside the rows: all of the beginning is repeated, not its rows alone."""
KEPT = re.compile(
    r"rng_state|getstate|setstate|[gs]et_state\(|bit_generator|Generator\(|default_rng|RandomState|save_state|load_state\("
)
COUNTERS = frozenset(("step", "epoch", "global_step", "iteration", "iter", "it", "iter_num", "update"))

RUN = """
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
start = 0
if args.resume:
    state = torch.load(args.resume, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    {load}
    start = state["epoch"] + 1
for epoch in range(start, 10):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()
    torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(), {save}"epoch": epoch}}, f"{{epoch}}.pt")
"""
DRAWN = """
torch.manual_seed(0)
optimizer = torch.optim.AdamW(model.parameters())
step = 0
if args.resume:
    state = torch.load(args.resume, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    {load}
while step < 10_000:
    rows = data[torch.randint(len(data), (32,))]
    loss = model(rows)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    if step % 1000 == 0:
        torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(), {save}"step": step}}, f"{{step}}.pt")
"""


@rule("schedule-not-kept", "S2", "resume-loss-jump", "load_state_dict",
      bad=RUN.format(load="pass", save=""),
      good=RUN.format(load='scheduler.load_state_dict(state["scheduler"])', save='"scheduler": scheduler.state_dict(), '))  # fmt: skip
def schedule_not_kept(view: View) -> Iterator[Fault]:
    """A run goes on with its optimizer, and its schedule begins anew.

    Why: the warm-up runs a second time and the decay ends late: the loss jumps, and the run is not the one that was planned.
    The same of the loss scale, which is lost with the steps that overflow until it has found its place again.
    """
    program = view.program
    if program.mentions("last_epoch", "save_state", "load_state(", "ckpt_path"):
        return
    loads = [c for c in program.find("load_state_dict") if "optimizer" in state_roles(view, c) and goes_on(view, c)]
    states = [state_roles(view, c) for c in program.find("state_dict", "load_state_dict") if receiver(c) is not None]
    if not loads or not all(states) or not any(t.of("step") for t in view.trainings):
        return
    for role, severity, zh in (("scheduler", "", "学习率调度"), ("scaler", "", "loss scale")):
        made = [c for c in program.each(ast.Call) if view.roles.of(c) == role and not key(c.func).startswith("self.")
                and program.function(c) is None]  # fmt: skip
        if not made or any(role in s for s in states) or (role == "scheduler" and not _moves(view, made[0])):
            continue
        yield Fault(loads[0], f"the run goes on with the optimizer, and the state of the {role} was never kept",
                    f"恢复了优化器，却从未保存{zh}的状态", severity=severity, beside=(made[0],))  # fmt: skip


def _moves(view: View, made: ast.Call) -> bool:
    """Whether a schedule goes by its own count, is stepped in the training and nowhere else."""
    program = view.program
    if last(program.path(made.func)) in ("ReduceLROnPlateau", "SequentialLR", "ChainedScheduler"):
        return False
    steps = [c for c in program.find("step") if view.roles.of(receiver(c)) == "scheduler"]
    around = {x for t in view.trainings for x in (t.node, *t.outer)}
    called = {e.node for t in view.trainings for e in t.of("schedule")}
    return bool(steps) and all(c in called or around & set(program.loops(c)) for c in steps)


@rule("random-numbers-not-kept", "S3", "resume-loss-jump", "seed",
      bad=DRAWN.format(load="pass", save=""),
      good=DRAWN.format(load='torch.set_rng_state(state["random"])', save='"random": torch.get_rng_state(), '))  # fmt: skip
def random_numbers_not_kept(view: View) -> Iterator[Fault]:
    """A run goes on with the random numbers of its beginning.

    Why: the seed is set again, and batches are drawn by it: the rows of the first steps are trained on again, in the same order.
    Known gaps: told only where the program draws its batches by itself; where the rows alone are drawn, which many do, only a hint.
    """
    program = view.program
    if KEPT.search(program.text):
        return
    fixed = [
        c
        for c in program.find(*SEEDS)
        if c.args and isinstance(program.usually(c.args[0]), int) and not program.loops(c)
    ]
    loads = [c for c in program.find("load_state_dict") if view.roles.of(receiver(c)) == "optimizer"]
    if not fixed or not loads or not asked_for(program) & COUNTERS:
        return
    for training in view.trainings:
        drawn = [e.node for e in training.of("call") if isinstance(e.node, ast.Call) and DRAWS.match(program.path(e.node.func))
                 and not any(k.arg == "generator" for k in e.node.keywords)]  # fmt: skip
        more = any(isinstance(e.node, ast.Call) and NOISE.match(program.path(e.node.func)) for e in training.of("call"))
        if drawn and training.whole:
            yield Fault(_kept(view) or loads[0], "random numbers are neither kept nor restored: after a resume the first batches are drawn again",
                        "随机数状态既没有保存也没有恢复：恢复后会重新抽到开头的批次", severity="S2" if more else "", beside=(drawn[0], fixed[0]))  # fmt: skip
            return


def _kept(view: View) -> ast.AST | None:
    """What is written as the state of the run."""
    program: Program = view.program
    for saved in saves(view):
        made = program.origin(saved.call.args[0])
        function = program.function(made) if isinstance(made, ast.Call) else None
        return function if isinstance(function, FUNCTIONS) else made
    return None


@rule("trainer-begins-anew", "S2", "resume-loss-jump", "get_last_checkpoint checkpoint-",
      bad="""
      last = get_last_checkpoint("out")
      model = AutoModelForCausalLM.from_pretrained(last or "gpt2")
      trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows)
      trainer.train()
      """,
      good="""
      last = get_last_checkpoint("out")
      model = AutoModelForCausalLM.from_pretrained("gpt2")
      trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows)
      trainer.train(resume_from_checkpoint=last)
      """)  # fmt: skip
def trainer_begins_anew(view: View) -> Iterator[Fault]:
    """A trainer is given the weights of its last checkpoint, and is not told to go on with it.

    Why: the optimizer, the schedule and the place in the data begin anew: the loss jumps, and rows are trained on twice.
    """
    program = view.program
    if "resume_from_checkpoint" in program.said:
        return
    trained = [c for c in program.find("train") if not c.args and not c.keywords]
    for call in program.find("from_pretrained") if trained else ():
        nodes = list(program.traced(call.args[0], 4)) if call.args and view.roles.of(call) == "model" else []
        if any(
            isinstance(n, ast.Call)
            and (last(program.path(n.func)) == "get_last_checkpoint" or _of_this_run(program, n))
            for n in nodes
        ):
            yield Fault(call, "the weights of the last checkpoint are loaded, and the trainer begins anew: no optimizer, no schedule",
                        "只加载了最近检查点的权重，训练器从头开始：优化器与调度都没有恢复", beside=(trained[0],))  # fmt: skip


def _of_this_run(program: Program, call: ast.Call) -> bool:
    """Whether a call lists the checkpoints of the folder that the trainer writes to."""
    if last(program.path(call.func)) not in ("glob", "iterdir", "listdir", "rglob"):
        return False
    words = [str(v) for n in walk(call) if isinstance(v := program.const(n), str)]
    folders = {
        program.const(k.value) for made in program.each(ast.Call) for k in made.keywords if k.arg == "output_dir"
    }
    return any("checkpoint-" in w for w in words) and any(
        w.split("/checkpoint-")[0].rstrip("/") == f for w in words for f in folders if isinstance(f, str))  # fmt: skip
