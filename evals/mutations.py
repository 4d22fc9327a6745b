"""Defects planted in small training programs: are they found, on the right line, and does the safe edit mend them?

    python -m triage.evals.mutations            # found and on the right line
    python -m triage.evals.mutations --run      # and what the mended programs train to, on this machine's CPU

Twenty-five loops (five ways of writing one, five sets of what it does), each defect in every loop that has room for it,
every name drawn anew. The programs are made here and are the only ones that are run.
"""

# ruff: noqa: E501  one sentence, pattern or program on one line

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
PARTS: dict[str, tuple[list[str], list[str]]] = {
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


def _indented(lines: list[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]


def _script(pass_: list[str], epoch: list[str]) -> list[str]:
    return [
        "for EP in range(3): #epochs",
        "    for I, (X, Y) in enumerate(DATA): #steps",
        *_indented([*pass_, SUMMED], 8),
        *_indented(epoch, 4),
    ]


def _function(pass_: list[str], epoch: list[str]) -> list[str]:
    inner = [
        "for EP in range(3): #epochs",
        "    for I, (X, Y) in enumerate(DATA): #steps",
        *_indented([*pass_, SUMMED], 8),
        *_indented(epoch, 4),
    ]
    return ["def FIT(MODEL, OPT, TOTAL):", *_indented([*inner, "return TOTAL"], 4), "TOTAL = FIT(MODEL, OPT, TOTAL)"]


def _helper(pass_: list[str], epoch: list[str]) -> list[str]:
    inner = ["for EP in range(3): #epochs", "    for I, (X, Y) in enumerate(DATA): #steps", "        LOSS = PASS(MODEL, OPT, I, X, Y)",
             f"        {SUMMED}", *_indented(epoch, 4)]  # fmt: skip
    return ["def PASS(MODEL, OPT, I, X, Y):", *_indented([*pass_, "return LOSS"], 4), *inner]


def _class(pass_: list[str], epoch: list[str]) -> list[str]:
    body = ["for EP in range(3): #epochs", "    for I, (X, Y) in enumerate(DATA): #steps", *_indented([*pass_, SUMMED.replace("TOTAL", "self.TOTAL")], 8),
            *_indented(epoch, 4)]  # fmt: skip
    own = [re.sub(r"\b(OPT|MODEL)\b", r"self.\1", line) for line in body]
    return ["class RUN:", "    def __init__(self, MODEL, OPT):", "        self.MODEL, self.OPT, self.TOTAL = MODEL, OPT, 0.0", "",
            "    def FIT(self):", *_indented(own, 8), "        return self.TOTAL", "", "TOTAL = RUN(MODEL, OPT).FIT()"]  # fmt: skip


def _while(pass_: list[str], epoch: list[str]) -> list[str]:
    inner = ["X, Y = DATA[I % len(DATA)]", *pass_, SUMMED, "I += 1"]
    checked = ["if I % 8 == 0:", *_indented(epoch, 4)] if epoch else []
    return ["I = 0", "while I < 24: #steps", *_indented([*inner, *checked], 4)]


STYLES: dict[str, Callable[[list[str], list[str]], list[str]]] = {
    "script": _script, "function": _function, "helper": _helper, "class": _class, "while": _while,
}  # fmt: skip


@dataclass(frozen=True)
class Defect:
    """One way to spoil a program, by its tagged lines."""

    code: str
    plant: Callable[[list[str]], list[str]]
    shown: tuple[str, ...]
    """Tags of the lines of which one must be named."""


def _tag(line: str) -> str:
    return line.rpartition("#")[2].strip() if "#" in line else ""


def _without(tag: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [x for x in lines if _tag(x) != tag]


def _moved(tag: str, behind: str) -> Callable[[list[str]], list[str]]:
    def plant(lines: list[str]) -> list[str]:
        taken = [x for x in lines if _tag(x) == tag]
        rest = [x for x in lines if _tag(x) != tag]
        at = next((i for i, x in enumerate(rest) if _tag(x) == behind), None)
        if not taken or at is None or len(rest[at]) - len(rest[at].lstrip()) != len(taken[0]) - len(taken[0].lstrip()):
            return lines
        return [*rest[: at + 1], taken[0], *rest[at + 1 :]]

    return plant


def _written(tag: str, old: str, new: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [x.replace(old, new) if _tag(x) == tag else x for x in lines]


def _ahead(tag: str, line: str, named: str) -> Callable[[list[str]], list[str]]:
    """A line more before a tagged one."""
    return lambda lines: [
        y
        for x in lines
        for y in ([" " * (len(x) - len(x.lstrip())) + f"{line} #{named}", x] if _tag(x) == tag else [x])
    ]


DEFECTS = (
    Defect("zero-grad-missing", _without("zero"), ("step",)),
    Defect("gradients-cleared-before-step", _moved("zero", "backward"), ("zero",)),
    Defect("loss-kept-with-graph", _written("sum", ".item()", ""), ("sum",)),
    Defect("tensors-kept-with-graph", lambda lines: _ahead("sum", "KEPT.append(LOSS)", "kept")(["KEPT = []", *lines]), ("kept",)),
    Defect("accumulated-loss-not-divided", _without("divide"), ("backward",)),
    Defect("accumulation-counts-differ", _written("divide", "/ 4", "/ 2"), ("divide",)),
    Defect("accumulated-gradients-lost", lambda lines: [re.sub(r"^    ", "", x, count=1) if _tag(x) == "zero" and any(
        _tag(y) == "boundary" for y in lines) else x for x in lines], ("zero",)),
    Defect("accumulation-boundary-early", _written("boundary", "(I + 1)", "I"), ("boundary",)),
    Defect("clip-without-effect", _moved("clip", "step"), ("clip",)),
    Defect("clip-before-unscale", _without("unscale"), ("clip",)),
    Defect("scaler-not-updated", _without("update"), ("step",)),
    Defect("scaled-gradients-stepped", lambda lines: _written("step", "SCALER.step(OPT)", "OPT.step()")(
        _without("unscale")(lines)), ("step",)),
    Defect("scheduler-before-optimizer", _moved("sched", "backward"), ("sched",)),
    Defect("scheduler-never-stepped", _without("sched"), ("sched-made",)),
    Defect("loss-cut-from-graph", _ahead("backward", "LOSS = torch.tensor(LOSS.item(), requires_grad=True)", "cut"), ("cut",)),
    Defect("evaluation-mode-not-left", _without("back"), ("eval",)),
    Defect("softmax-before-cross-entropy", _written("forward", "MODEL(X)", "MODEL(X).softmax(-1)"), ("forward",)),
    Defect("seed-set-every-step", _ahead("forward", "torch.manual_seed(7)", "seed"), ("seed",)),
    Defect("empty-cache-every-step", _ahead("forward", "torch.cuda.empty_cache()", "cache"), ("cache",)),
    Defect("synchronised-every-step", _ahead("forward", "torch.cuda.synchronize()", "sync"), ("sync",)),
    Defect("tensor-printed-every-step", _ahead("sum", "print(LOSS)", "print"), ("print",)),
    Defect("optimizer-rebuilt", _ahead("forward", "OPT = torch.optim.AdamW(MODEL.parameters(), lr=0.01)", "again"), ("again",)),
    Defect("graph-retained", _written("backward", "backward()", "backward(retain_graph=True)"), ("backward",)),
    Defect("backward-under-autocast", lambda lines: [y for x in lines for y in (
        [x[: len(x) - len(x.lstrip())] + "with torch.autocast('cpu', dtype=torch.bfloat16):", "    " + x] if _tag(x) == "backward" else [x])],
        ("backward",)),
    Defect("loss-arguments-swapped", _written("loss", "(OUT, Y)", "(labels, logits)"), ("loss",)),
)  # fmt: skip
NAMES = {
    "MODEL": ("model", "net", "policy", "clf", "student", "m", "backbone"),
    "OPT": ("optimizer", "opt", "optim", "adam", "updater", "o"),
    "SCHED": ("scheduler", "sched", "lr_plan", "warm"),
    "SCALER": ("scaler", "gs", "amp_scaler"),
    "LOSS": ("loss", "objective", "ce", "total_loss", "l"),
    "OUT": ("out", "logits", "y_hat", "scores"),
    "TOTAL": ("running", "acc_loss", "summed", "epoch_total"),
    "KEPT": ("history", "curve", "seen"),
    "DATA": ("loader", "batches", "train_data"),
    "HELD": ("val_loader", "held_out", "dev"),
    "CHECK": ("evaluate", "dev_score", "validate"),
    "PASS": ("one_pass", "train_step", "update_once"),
    "FIT": ("fit", "train", "run_all"),
    "RUN": ("Runner", "Job", "Loop"),
    "EP": ("epoch", "ep", "e"),
    "I": ("i", "step_no", "k"),
    "SUM": ("s", "acc"),
    "X": ("x", "feats"),
    "Y": ("y", "gold"),
}
"""Name in a template -> names that it may get."""


def programs() -> Iterator[tuple[str, list[str]]]:
    """(name, tagged lines) of the twenty-five loops."""
    for style, write in STYLES.items():
        for part, (pass_, epoch) in PARTS.items():
            head = HEAD.splitlines()
            head = [x for x in head if _tag(x) != "sched-made" or part == "clipped"]
            head = [x for x in head if _tag(x) != "scaler-made" or part == "scaled"]
            tail = ["print(round(float(TOTAL), 4))"]
            yield f"{style}-{part}", [*head, *(EVALUATE.splitlines() if epoch else []), *write(pass_, epoch), *tail]


def named(lines: list[str], seed: int) -> list[str]:
    """The lines with every name drawn anew."""
    draw = random.Random(seed)
    chosen = {name: draw.choice(words) for name, words in NAMES.items()}
    return [re.sub(r"\b(" + "|".join(NAMES) + r")\b", lambda m: chosen[m[1]], x) for x in lines]


@dataclass(frozen=True)
class Case:
    """A defect in one program."""

    name: str
    code: str
    text: str
    sound: str
    """The same program without the defect."""
    rows: frozenset[int]
    """Lines of which one must be named."""


def cases() -> Iterator[Case]:
    """Every defect in every program that has room for it."""
    for i, (name, lines) in enumerate(programs()):
        for j, defect in enumerate(DEFECTS):
            spoilt = defect.plant(lines)
            if [x for x in spoilt if x.strip()] == [x for x in lines if x.strip()]:
                continue
            seed = 1000 * i + j
            rows = frozenset(n for n, x in enumerate(spoilt, 1) if _tag(x) in defect.shown)
            yield Case(name, defect.code, _plain(named(spoilt, seed)), _plain(named(lines, seed)), rows)


def _plain(lines: list[str]) -> str:
    return "\n".join(re.sub(r"(?<!\s)\s{0,9}#[\w-]{1,40}$", "", x) for x in lines) + "\n"


@dataclass
class Score:
    """What was found of one defect."""

    planted: int = 0
    found: int = 0
    on_line: int = 0


def measure() -> tuple[dict[str, Score], list[str], Counter[str]]:
    """Scores by defect, the cases that were missed, and what else was found in sound programs."""
    from ..tools.code.check import RULES, judged
    from ..tools.code.source import parse

    scores: dict[str, Score] = defaultdict(Score)
    missed: list[str] = []
    for case in cases():
        found, _ = judged(parse(case.text, "train.py"), [RULES[case.code]])
        score = scores[case.code]
        score.planted += 1
        score.found += bool(found)
        right = any(e.line in case.rows for f in found for e in f.evidence[:1])
        score.on_line += right
        if not right:
            missed.append(f"{case.code} in {case.name}: {'another line' if found else 'not found'}")
    alarms: Counter[str] = Counter()
    for i, (_, lines) in enumerate(programs()):
        alarms.update(f.code for f in judged(parse(_plain(named(lines, i)), "train.py"), RULES.values())[0])
    return dict(scores), missed, alarms


def restored() -> tuple[int, int, list[str]]:
    """(programs that train as before once mended, programs that were mended, the others)."""
    from ..tools.code.mend import mended

    good = tried = 0
    others = []
    for case in cases():
        text = mended(case.text, "train.py", {case.code})
        if text == case.text:
            continue
        tried += 1
        same = _trained(text) == _trained(case.sound)
        good += same
        if not same:
            others.append(f"{case.code} in {case.name}")
    return good, tried, others


def _trained(text: str) -> str:
    """What a program made here prints."""
    done = subprocess.run(
        [sys.executable, "-c", "import torch; torch.set_num_threads(1)\n" + text],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout.strip().rpartition("\n")[2] if done.returncode == 0 else done.stderr[-200:]


def main() -> None:
    scores, missed, alarms = measure()
    for code, s in sorted(scores.items()):
        print(f"{code:34} planted {s.planted:3} found {s.found:3} right line {s.on_line:3}")
    planted, found, on_line = (
        sum(getattr(s, name) for s in scores.values()) for name in ("planted", "found", "on_line")
    )
    print(
        f"{len(scores)} defects, {planted} planted: recall {found / planted:.3f}, right line {on_line / max(found, 1):.3f}"
    )
    print(f"sound programs: {dict(alarms) or 'no finding'}", *missed, sep="\n")
    if "--run" in sys.argv[1:]:
        good, tried, others = restored()
        print(f"mended and trained as before: {good} of {tried}", *others, sep="\n")


if __name__ == "__main__":
    main()
