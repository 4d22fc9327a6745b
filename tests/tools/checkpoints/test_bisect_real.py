"""A tiny language model trained with bad data from a hidden step on; the real command finds it, killed in between."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

VOCAB, LENGTH, EVERY, SAVES = 32, 16, 8, 24

EVALUATE = """
import sys, random, time, torch
from transformers import LlamaForCausalLM
sys.path.insert(0, {here!r})
from lab_data import batch
path, repeat = sys.argv[1], int(sys.argv[2])
with open({log!r}, "a") as log: log.write(path + " " + str(repeat) + "\\n")
torch.set_num_threads(1); torch.manual_seed(hash((path, repeat)) % 2**31)
model = LlamaForCausalLM.from_pretrained(path).eval()
ids = batch(8, False)
with torch.no_grad(): print("eval_loss", float(model(ids, labels=ids).loss))
"""
DATA = f"""
import torch
def batch(n, bad):
    # good text counts upwards from a random start; bad text is shuffled
    ids = (torch.randint(0, {VOCAB}, (n, 1)) + torch.arange({LENGTH}) * torch.randint(1, 4, (n, 1))) % {VOCAB}
    return ids[:, torch.randperm({LENGTH})] if bad else ids
"""


def train(folder, bad_from: int) -> None:
    """`SAVES` real checkpoints with their trainer state; the data is bad from a step on."""
    torch.set_num_threads(1)  # on a busy machine more threads only wait for each other
    space: dict = {}
    exec(DATA, space)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=24, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=LENGTH)  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(200):  # a model that works, so that the row begins on level ground
        _learn(model, optimizer, space["batch"](8, False))
    log = []
    for step in range(1, SAVES * EVERY + 1):
        loss = _learn(model, optimizer, space["batch"](8, step >= bad_from))
        log.append({"step": step, "loss": loss, "learning_rate": 1e-2, "epoch": step / 200})
        if step % EVERY == 0:
            path = folder / f"checkpoint-{step}"
            model.save_pretrained(path)
            state = {"global_step": step, "epoch": step / 200, "train_batch_size": 8, "log_history": log}
            (path / "trainer_state.json").write_text(json.dumps(state))


def _learn(model, optimizer, ids) -> float:
    loss = model(ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_finds_the_bad_data_window_and_survives_sigkill(tmp_path):
    hidden = random.Random(3).randrange(4, 20) * EVERY + 1  # the first step behind a save
    run, log, here = tmp_path / "run", tmp_path / "evaluated.log", tmp_path / "lab"
    here.mkdir()
    (here / "lab_data.py").write_text(DATA)
    script = here / "evaluate.py"
    script.write_text(EVALUATE.format(here=str(here), log=str(log)))
    began = time.monotonic()
    train(run, hidden)
    print(f"hidden step {hidden}, trained in {time.monotonic() - began:.0f} s")
    main = "from triage.ui.cli import main; main()"
    evaluate = f"{sys.executable} {script} {{checkpoint}} {{repeat}}"
    cache = tmp_path / "cache.jsonl"
    command = [sys.executable, "-c", main, "bisect", str(run), "--json", "--cache", str(cache), "--eval", evaluate]

    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    while first.poll() is None and (not cache.exists() or len(cache.read_text().splitlines()) < 3):
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = [json.loads(line) for line in cache.read_text().splitlines()]
    assert 3 <= len(kept) < 8

    resumed = subprocess.run(command, capture_output=True, text=True)
    assert resumed.returncode == 1, resumed.stderr
    summary = json.loads(resumed.stdout)["summary"]
    first_bad = -(-hidden // EVERY) * EVERY
    print(json.dumps(summary, indent=1))
    assert summary["first_bad"] == first_bad
    assert summary["last_good"] == first_bad - EVERY
    assert summary["from_cache"] == len(kept)

    evaluated = log.read_text().splitlines()
    done = [f"{run.resolve()}/checkpoint-{r['step']} {r['repeat']}" for r in kept]
    assert all(evaluated.count(e) == 1 for e in done), "a finished evaluation was repeated"
    again = subprocess.run(command, capture_output=True, text=True)
    whole = json.loads(again.stdout)["summary"]
    assert len(log.read_text().splitlines()) == len(evaluated), "nothing is measured when all is on file"
    assert {k: whole[k] for k in ("first_bad", "confidence")} == {k: summary[k] for k in ("first_bad", "confidence")}
