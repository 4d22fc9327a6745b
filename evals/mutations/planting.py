"""How a defect is planted into the tagged lines of a program, and how every name of it is drawn anew."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

Lines = list[str]
Plant = Callable[[Lines], Lines]
STEP = 4
"""Blanks of one level."""


@dataclass(frozen=True)
class Defect:
    """One way to spoil a program, by its tagged lines."""

    code: str
    plant: Plant
    shown: tuple[str, ...]
    """Tags of the lines of which one must be named."""


def tag(line: str) -> str:
    """What a line is called: the word behind its last `#`."""
    return line.rpartition("#")[2].strip() if "#" in line else ""


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def indented(lines: Lines, by: int) -> Lines:
    return [" " * by + line if line.strip() else line for line in lines]


def without(*tags: str) -> Plant:
    """The lines left out."""
    return lambda lines: [x for x in lines if tag(x) not in tags]


def moved(what: str, behind: str) -> Plant:
    """A line put behind another of the same block."""

    def plant(lines: Lines) -> Lines:
        taken = [x for x in lines if tag(x) == what]
        rest = [x for x in lines if tag(x) != what]
        at = next((i for i, x in enumerate(rest) if tag(x) == behind), None)
        if not taken or at is None or indent(rest[at]) != indent(taken[0]):
            return lines
        return [*rest[: at + 1], taken[0], *rest[at + 1 :]]

    return plant


def placed(what: str, behind: str, by: int = 0) -> Plant:
    """A line put behind another, so many levels deeper than that (or less deep)."""

    def plant(lines: Lines) -> Lines:
        taken = next((x for x in lines if tag(x) == what), None)
        rest = [x for x in lines if tag(x) != what]
        at = next((i for i, x in enumerate(rest) if tag(x) == behind), None)
        if taken is None or at is None:
            return lines
        line = " " * (indent(rest[at]) + STEP * by) + taken.lstrip()
        return [*rest[: at + 1], line, *rest[at + 1 :]]

    return plant


def written(what: str, old: str, new: str) -> Plant:
    """Words of a line replaced."""
    return lambda lines: [x.replace(old, new) if tag(x) == what else x for x in lines]


def ahead(what: str, line: str, named: str) -> Plant:
    """A line more before a tagged one, or several with `|` between them."""
    return lambda lines: [
        y
        for x in lines
        for y in ([*(" " * indent(x) + f"{one} #{named}" for one in line.split("|")), x] if tag(x) == what else [x])
    ]


def shallower(*tags: str) -> Plant:
    """Lines one level out."""
    return lambda lines: [x[STEP:] if tag(x) in tags else x for x in lines]


def unwrapped(what: str) -> Plant:
    """A line that opens a block left out, and the block one level out."""

    def plant(lines: Lines) -> Lines:
        out: Lines = []
        depth: int | None = None
        for line in lines:
            if depth is not None and line.strip() and indent(line) <= depth:
                depth = None
            if tag(line) == what:
                depth = indent(line)
            else:
                out.append(line[STEP:] if depth is not None else line)
        return out

    return plant


def all_of(*plants: Plant) -> Plant:
    """One after the other; nothing where one of them finds no place."""

    def plant(lines: Lines) -> Lines:
        new = lines
        for one in plants:
            after = one(new)
            if after == new:
                return lines
            new = after
        return new

    return plant


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
    "BATCH": ("batch", "data", "minibatch", "b"),
    "POLICY": ("policy", "actor", "model", "student_model"),
    "REF": ("ref_model", "reference", "ref_policy", "frozen"),
    "CRITIC": ("critic", "value_model", "value_net"),
    "TOK": ("tokenizer", "tok"),
    "RANK": ("rank", "global_rank", "my_rank"),
    "SAMPLER": ("sampler", "train_sampler"),
    "DATASET": ("dataset", "train_set", "train_dataset"),
    "HELDSET": ("val_set", "test_set", "eval_dataset"),
    "LOGITS": ("logits", "outs", "preds"),
    "LABELS": ("labels", "target_ids", "tgt"),
    "INPUTS": ("ids", "input_ids", "tokens"),
    "VALUES": ("values", "v_pred"),
    "ADV": ("advantages", "adv", "advs"),
    "RATIO": ("ratio", "prob_ratio", "rho"),
    "REWARDS": ("rewards", "scores", "reward_batch"),
    "STATE": ("state", "ckpt", "saved"),
    "ENGINE": ("llm", "engine", "sampler_llm"),
    "ACC": ("accelerator",),
    "ROW": ("row", "example", "item"),
    "EVERY": ("grad_accum", "accum", "n_micro"),
}
"""Name in a template -> names that it may get."""
_NAMED = re.compile(r"\b(" + "|".join(NAMES) + r")\b")


def named(lines: Lines, seed: int) -> Lines:
    """The lines with every name drawn anew, no two alike."""
    draw = random.Random(seed)
    chosen: dict[str, str] = {}
    for name, words in NAMES.items():
        free = [w for w in words if w not in chosen.values()]
        chosen[name] = draw.choice(free or [f"{words[0]}_{len(chosen)}"])
    return [_NAMED.sub(lambda m: chosen[m[1]], x) for x in lines]


def plain(lines: Lines) -> str:
    """The program without its tags."""
    return "\n".join(re.sub(r"(?<!\s)\s{0,9}#[\w-]{1,40}$", "", x) for x in lines) + "\n"
