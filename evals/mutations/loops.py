"""Twenty-five training loops: five ways of writing one, five sets of what it does; and the defects planted in them."""

# ruff: noqa: E501  one sentence, pattern or program on one line

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .planting import Defect, Lines, ahead, all_of, indented, moved, tag, without, written

HEAD = """\
import torch
from torch import nn
torch.manual_seed(0)
MODEL = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 4))
OPT = torch.optim.AdamW(MODEL.parameters(), lr=0.01)
SCHED = torch.optim.lr_scheduler.LinearLR(OPT, total_iters=40) #sched-made
SCALER = torch.amp.GradScaler("cpu", enabled=False) #scaler-made
DATA = [(torch.randn(16, 8), torch.randint(0, 4, (16,))) for _ in range(8)]
HELD = [(torch.randn(16, 8), torch.randint(0, 4, (16,))) for _ in range(2)]
TOTAL = 0.0
"""
EVALUATE = """\
def CHECK(MODEL):
    MODEL.eval() #eval
    SUM = 0.0
    with torch.no_grad():
        for X, Y in HELD: #held-loop
            SUM += nn.functional.cross_entropy(MODEL(X), Y).item()
    MODEL.train() #back
    return SUM
"""
FORWARD = ["OUT = MODEL(X) #forward", "LOSS = nn.functional.cross_entropy(OUT, Y) #loss"]
PARTS: dict[str, tuple[Lines, Lines]] = {
    "plain": ([*FORWARD, "OPT.zero_grad() #zero", "LOSS.backward() #back", "OPT.step() #step"], []),
    "clipped": (
        [*FORWARD, "LOSS.backward() #backward", "nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip", "OPT.step() #step",
         "SCHED.step() #sched", "OPT.zero_grad() #zero"], []),
    "accumulated": (
        [*FORWARD, "LOSS = LOSS / 4 #divide", "LOSS.backward() #backward", "if (I + 1) % 4 == 0: #boundary", "    OPT.step() #step",
         "    OPT.zero_grad() #zero"], []),
    "scaled": (
        [*FORWARD, "SCALER.scale(LOSS).backward() #backward", "SCALER.unscale_(OPT) #unscale",
         "nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip", "SCALER.step(OPT) #step", "SCALER.update() #update",
         "OPT.zero_grad() #zero"], []),
    "evaluated": (
        [*FORWARD, "LOSS.backward() #backward", "OPT.step() #step", "OPT.zero_grad() #zero"], ["print(CHECK(MODEL)) #check"]),
}  # fmt: skip
PARTS["plain"][0][3] = "LOSS.backward() #backward"
SUMMED = "TOTAL += LOSS.item() #sum"


def _script(pass_: Lines, epoch: Lines) -> Lines:
    return [
        "for EP in range(3): #epochs",
        "    for I, (X, Y) in enumerate(DATA): #steps",
        *indented([*pass_, SUMMED], 8),
        *indented(epoch, 4),
    ]


def _function(pass_: Lines, epoch: Lines) -> Lines:
    inner = [
        "for EP in range(3): #epochs",
        "    for I, (X, Y) in enumerate(DATA): #steps",
        *indented([*pass_, SUMMED], 8),
        *indented(epoch, 4),
    ]
    return ["def FIT(MODEL, OPT, TOTAL):", *indented([*inner, "return TOTAL"], 4), "TOTAL = FIT(MODEL, OPT, TOTAL)"]


def _helper(pass_: Lines, epoch: Lines) -> Lines:
    inner = ["for EP in range(3): #epochs", "    for I, (X, Y) in enumerate(DATA): #steps", "        LOSS = PASS(MODEL, OPT, I, X, Y)",
             f"        {SUMMED}", *indented(epoch, 4)]  # fmt: skip
    return ["def PASS(MODEL, OPT, I, X, Y):", *indented([*pass_, "return LOSS"], 4), *inner]


def _class(pass_: Lines, epoch: Lines) -> Lines:
    body = ["for EP in range(3): #epochs", "    for I, (X, Y) in enumerate(DATA): #steps", *indented([*pass_, SUMMED.replace("TOTAL", "self.TOTAL")], 8),
            *indented(epoch, 4)]  # fmt: skip
    own = [re.sub(r"\b(OPT|MODEL)\b", r"self.\1", line) for line in body]
    return ["class RUN:", "    def __init__(self, MODEL, OPT):", "        self.MODEL, self.OPT, self.TOTAL = MODEL, OPT, 0.0", "",
            "    def FIT(self):", *indented(own, 8), "        return self.TOTAL", "", "TOTAL = RUN(MODEL, OPT).FIT()"]  # fmt: skip


def _while(pass_: Lines, epoch: Lines) -> Lines:
    inner = ["X, Y = DATA[I % len(DATA)]", *pass_, SUMMED, "I += 1"]
    checked = ["if I % 8 == 0:", *indented(epoch, 4)] if epoch else []
    return ["I = 0", "while I < 24: #steps", *indented([*inner, *checked], 4)]


STYLES: dict[str, Callable[[Lines, Lines], Lines]] = {
    "script": _script, "function": _function, "helper": _helper, "class": _class, "while": _while,
}  # fmt: skip


DEFECTS = (
    Defect("zero-grad-missing", without("zero"), ("step",)),
    Defect("gradients-cleared-before-step", moved("zero", "backward"), ("zero",)),
    Defect("loss-kept-with-graph", written("sum", ".item()", ""), ("sum",)),
    Defect("tensors-kept-with-graph", lambda lines: ahead("sum", "KEPT.append(LOSS)", "kept")(["KEPT = []", *lines]), ("kept",)),
    Defect("accumulated-loss-not-divided", without("divide"), ("backward",)),
    Defect("accumulation-counts-differ", written("divide", "/ 4", "/ 2"), ("divide",)),
    Defect("accumulated-gradients-lost", lambda lines: [re.sub(r"^    ", "", x, count=1) if tag(x) == "zero" and any(
        tag(y) == "boundary" for y in lines) else x for x in lines], ("zero",)),
    Defect("accumulation-boundary-early", written("boundary", "(I + 1)", "I"), ("boundary",)),
    Defect("clip-without-effect", moved("clip", "step"), ("clip",)),
    Defect("clip-before-unscale", without("unscale"), ("clip",)),
    Defect("scaler-not-updated", without("update"), ("step",)),
    Defect("scaled-gradients-stepped", lambda lines: [re.sub(r"SCALER\.step\((.{1,40})\) #step", r"\1.step() #step", x)
        for x in without("unscale")(lines)] if any(tag(x) == "unscale" for x in lines) else lines, ("step",)),
    Defect("scheduler-before-optimizer", moved("sched", "backward"), ("sched",)),
    Defect("scheduler-never-stepped", without("sched"), ("sched-made",)),
    Defect("loss-cut-from-graph", ahead("backward", "LOSS = torch.tensor(LOSS.item(), requires_grad=True)", "cut"), ("cut",)),
    Defect("evaluation-mode-not-left", without("back"), ("eval",)),
    Defect("softmax-before-cross-entropy", written("forward", "MODEL(X)", "MODEL(X).softmax(-1)"), ("forward",)),
    Defect("seed-set-every-step", ahead("forward", "torch.manual_seed(7)", "seed"), ("seed",)),
    Defect("empty-cache-every-step", ahead("forward", "torch.cuda.empty_cache()", "cache"), ("cache",)),
    Defect("synchronised-every-step", ahead("forward", "torch.cuda.synchronize()", "sync"), ("sync",)),
    Defect("tensor-printed-every-step", ahead("sum", "print(LOSS)", "print"), ("print",)),
    Defect("optimizer-rebuilt", ahead("forward", "OPT = torch.optim.AdamW(MODEL.parameters(), lr=0.01)", "again"), ("again",)),
    Defect("graph-retained", written("backward", "backward()", "backward(retain_graph=True)"), ("backward",)),
    Defect("backward-under-autocast", lambda lines: [y for x in lines for y in (
        [x[: len(x) - len(x.lstrip())] + "with torch.autocast('cpu', dtype=torch.bfloat16):", "    " + x] if tag(x) == "backward" else [x])],
        ("backward",)),
    Defect("loss-arguments-swapped", all_of(ahead("loss", "labels, logits = Y, OUT", "named"), written("loss", "(OUT, Y)", "(labels, logits)")), ("loss",)),
)  # fmt: skip


def programs() -> Iterator[tuple[str, Lines]]:
    """(name, tagged lines) of the twenty-five loops."""
    for style, write in STYLES.items():
        for part, (pass_, epoch) in PARTS.items():
            head = HEAD.splitlines()
            head = [x for x in head if tag(x) != "sched-made" or part == "clipped"]
            head = [x for x in head if tag(x) != "scaler-made" or part == "scaled"]
            tail = [
                "print(round(float(TOTAL), 4))",
                "print(round(sum(p.abs().sum() for p in MODEL.parameters()).item(), 5))",
            ]
            yield f"{style}-{part}", [*head, *(EVALUATE.splitlines() if epoch else []), *write(pass_, epoch), *tail]
