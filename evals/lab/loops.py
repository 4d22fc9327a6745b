"""The training programs of the lab with a loop of their own: two gloo processes, and mixed precision."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from .parts import Example, Hook, Parts, Trace, blocks, collate, held_loss, new_model
from .recording import as_of_a_script


def distributed(parts: Parts, trace: Trace, hook: Hook) -> None:
    """Two processes over gloo that average their gradients; each writes its own log."""
    import torch.multiprocessing as mp

    hook(parts)
    mp.start_processes(
        _rank, (parts.folder, parts.settings, parts.skip, parts.slow_sync), nprocs=2, start_method="fork"
    )
    trace.outcome["finished"] = 1.0
    for rank in range(2):
        kept = parts.folder / f".times{rank}"
        trace.times.append(json.loads(kept.read_text()))
        kept.unlink()
    log = (parts.folder / "rank0.log").read_text()
    losses = [float(v) for v in re.findall(r"loss ([\d.]+)", log)]
    trace.losses, trace.outcome["held_loss"] = losses, losses[-1] if losses else float("nan")


def _rank(rank: int, folder: Path, *how: Any) -> None:
    """One process with a log of its own, which holds its error too; whose error the parent shows is a race."""
    import os

    log = os.open(folder / f"rank{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    try:
        _averaged(rank, folder, *how)
    except BaseException as error:
        os.write(2, as_of_a_script(error).encode())
        raise


def _averaged(
    rank: int, folder: Path, settings: dict[str, Any], skip: Callable[[int, int], bool] | None, slow_sync: float
) -> None:
    """The training of one process, until its steps are done."""
    import datetime

    import torch.distributed as dist

    wait = datetime.timedelta(seconds=settings["ddp_timeout"])
    meet = f"{folder.resolve().as_uri()}/.rendezvous"  # a relative path would be read as a host, and waited for
    dist.init_process_group("gloo", meet, timeout=wait, rank=rank, world_size=2)
    torch.manual_seed(settings["seed"])
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["learning_rate"])
    draw = torch.Generator().manual_seed(settings["seed"] * 100 + rank)
    times = []
    for step in range(1, settings["max_steps"] + 1):
        begun = time.perf_counter()
        optimizer.zero_grad()
        for _ in range(settings["gradient_accumulation_steps"]):
            x = torch.randn(settings["per_device_train_batch_size"], 16, generator=draw)
            loss = torch.nn.functional.cross_entropy(model(x), x[:, :8].argmax(1))
            (loss / settings["gradient_accumulation_steps"]).backward()
        apart = skip and skip(rank, step)
        computed = time.perf_counter()
        time.sleep(slow_sync)
        if apart:
            dist.barrier()
        else:
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= 2  # pyright: ignore[reportOptionalOperand]
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings["max_grad_norm"])
        times.append([0.0, computed - begun, time.perf_counter() - computed])
        optimizer.step()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        rate = settings["learning_rate"]
        print(
            f"{stamp} [rank{rank}] step {step} | loss {float(loss):.4f} | grad_norm {float(norm):.4f} | lr {rate}",
            flush=True,
        )
        time.sleep(0.01)
    (folder / f".times{rank}").write_text(json.dumps(times))
    dist.destroy_process_group()


class Reader:
    """Batches in their order, read ahead by `dataloader_num_workers` threads, or when they are wanted with none."""

    def __init__(self, parts: Parts, settings: dict[str, Any], rng: random.Random):
        size, steps = settings["per_device_train_batch_size"], settings["max_steps"]
        self.slow, self.plan = parts.slow_read, [rng.sample(parts.train, size) for _ in range(steps)]
        workers = settings.get("dataloader_num_workers", 0)
        self.pool = ThreadPoolExecutor(workers) if workers else None
        self.ahead = [self.pool.submit(self._read, i) for i in range(steps)] if self.pool else []
        self.at = -1

    def next(self) -> list[Example]:
        self.at += 1
        return self.ahead[self.at].result() if self.ahead else self._read(self.at)

    def _read(self, step: int) -> list[Example]:
        if self.slow:
            time.sleep(self.slow(step))
        return self.plan[step]


def written(parts: Parts, trace: Trace, hook: Hook) -> None:
    """The program that lies in the run, in a process of its own, as its launch script starts it."""
    hook(parts)
    subprocess.run([sys.executable, "train.py"], cwd=parts.folder, check=True)
    log = (parts.folder / "train.log").read_text()
    trace.losses = [float(v) for v in re.findall(r"\| loss ([\d.]+|nan)", log)]
    trace.outcome["finished"] = 1.0
    trace.outcome["held_loss"] = float(re.findall(r"eval_loss ([\d.]+|nan)", log)[-1])


def mixed(parts: Parts, trace: Trace, hook: Hook) -> None:
    """A hand-written loop with autocast and a gradient scaler; prints the scale, as many such loops do."""
    settings = parts.settings
    size = settings["block_size"]
    parts.model = new_model(parts.folder)
    parts.train = blocks([r["text"] for r in parts.records("train")], parts.tokenizer, size)
    parts.held = blocks([r["text"] for r in parts.records("validation")], parts.tokenizer, size)
    hook(parts)
    half = torch.float16 if settings.get("fp16") else torch.bfloat16
    scaler = torch.amp.GradScaler("cpu", enabled=bool(settings.get("fp16")), growth_interval=200)
    optimizer = torch.optim.AdamW(
        parts.model.parameters(), lr=settings["learning_rate"], weight_decay=settings["weight_decay"]
    )
    rng, warm = random.Random(settings["seed"]), settings["warmup_steps"]
    times: list[list[float]] = []
    trace.times = [times]
    batches, clock = Reader(parts, settings, rng), time.perf_counter()
    for step in range(1, settings["max_steps"] + 1):
        rate = settings["learning_rate"] * min(1.0, step / warm)
        for group in optimizer.param_groups:
            group["lr"] = rate
        begun = time.perf_counter()
        read = batches.next()
        waited = time.perf_counter() - begun
        batch = collate(read, parts.tokenizer.pad_token_id)
        with torch.autocast("cpu", dtype=half):
            loss = parts.model(**batch).loss
        optimizer.zero_grad()
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(parts.model.parameters(), settings["max_grad_norm"])
        scaler.step(optimizer)
        scaler.update()
        trace.losses.append(float(loss.detach()))
        times.append([waited, time.perf_counter() - begun - waited, 0.0])
        if scaler.is_enabled() and scaler.get_scale() < before:
            print(f"step {step}: gradient overflow, skipping step, reducing loss scale to {scaler.get_scale():g}")
        if step % settings["logging_steps"] == 0:
            scale = scaler.get_scale() if scaler.is_enabled() else 1.0
            now = time.perf_counter()
            taken, clock = (now - clock) / settings["logging_steps"], now
            print(
                f"step {step}/{settings['max_steps']} | loss {float(loss.detach()):.4f} | grad_norm {float(norm):.4f}"
                f" | lr {rate:.3e} | loss_scale {scale:g} | step_time {taken:.4f}s",
                flush=True,
            )
        if parts.end:
            parts.end(step)
        if trace.hopeless():
            break
    trace.outcome["finished"] = 1.0
    trace.outcome["held_loss"] = held_loss(parts.model, parts.held, parts.tokenizer.pad_token_id)
