"""Scenes of optimizers that are made again, resumed, or chained."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, moved, without, written
from ...scene import Scene

SCENES = (
    Scene("two-phases", """
        import torch
        from torch.optim.lr_scheduler import OneCycleLR

        def one_pass(MODEL, OPT, SCHED):
            for X, Y in DATA:
                LOSS = torch.nn.functional.cross_entropy(MODEL(X), Y)
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
                SCHED.step()
        ===
        OPT = torch.optim.AdamW(MODEL.fc.parameters(), lr=1e-3)
        SCHED = OneCycleLR(OPT, max_lr=1e-3, total_steps=len(DATA)) #head-sched
        one_pass(MODEL, OPT, SCHED)
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-5) #again
        SCHED = OneCycleLR(OPT, max_lr=1e-4, total_steps=5 * len(DATA)) #sched
        for EP in range(5):
            one_pass(MODEL, OPT, SCHED)
    """, (
        Defect("schedule-of-another-optimizer", without("sched"), ("again", "head-sched")),
    )),
    Scene("sharded-later", """
        import torch
        from torch.distributed.fsdp import FullyShardedDataParallel
        from transformers import AutoModelForCausalLM, get_cosine_schedule_with_warmup

        def make_optimizer(MODEL):
            return torch.optim.AdamW(MODEL.parameters(), lr=2e-5, weight_decay=0.01)
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        MODEL = FullyShardedDataParallel(MODEL, use_orig_params=True) #wrap
        OPT = make_optimizer(MODEL) #opt
        SCHED = get_cosine_schedule_with_warmup(OPT, 100, 5000) #sched
        for BATCH in DATA: #steps
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            OPT.step()
            SCHED.step()
            OPT.zero_grad()
    """, (
        Defect("schedule-of-another-optimizer", ahead("steps", "OPT = make_optimizer(MODEL)", "again"), ("again", "sched")),
    )),
    Scene("going-on", """
        import os
        import torch
        ===
        MODEL = build().cuda()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4) #opt
        first = 0
        if os.path.exists("last.pt"):
            STATE = torch.load("last.pt", map_location="cpu", weights_only=True)
            MODEL.load_state_dict(STATE["model"])
            OPT.load_state_dict(STATE["optimizer"]) #loaded
            first = STATE["epoch"] + 1 #first
        for EP in range(first, 50): #epochs
            for BATCH in DATA:
                LOSS = MODEL(**BATCH).loss
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
            torch.save({"model": MODEL.state_dict(), "optimizer": OPT.state_dict(), "epoch": EP}, "last.pt.tmp")
            os.replace("last.pt.tmp", "last.pt")
    """, (
        Defect("optimizer-remade-after-loading", ahead("epochs", "OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)", "again"), ("again",)),
    )),
    Scene("runner", """
        import torch

        class Runner:
            def __init__(self, MODEL, lr):
                self.MODEL = MODEL
                self.lr = lr
                self.OPT = self.make_optimizer()

            def make_optimizer(self):
                return torch.optim.AdamW(self.MODEL.parameters(), lr=self.lr)

            def resume(self, path):
                STATE = torch.load(path, map_location="cpu", weights_only=True)
                self.MODEL.load_state_dict(STATE["model"])
                self.OPT.load_state_dict(STATE["optimizer"]) #loaded
                return STATE["step"] #back

            def update(self, BATCH):
                LOSS = self.MODEL(**BATCH).loss
                LOSS.backward()
                self.OPT.step()
                self.OPT.zero_grad()
        ===
        runner = Runner(MODEL, 1e-4)
        first = runner.resume("last.pt")
        for I, BATCH in enumerate(DATA):
            if I >= first:
                runner.update(BATCH)
    """, (
        Defect("optimizer-remade-after-loading", ahead("back", "self.OPT = self.make_optimizer()", "again"), ("again",)),
    )),
    Scene("optax", """
        import jax
        import optax

        def make_tx(steps):
            schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 1000, steps)
            return optax.chain(
                optax.clip_by_global_norm(1.0), #clip
                optax.adamw(schedule, weight_decay=0.1), #adam
            )

        def make_plain(rate):
            parts = [optax.clip(1.0), optax.scale_by_adam(b2=0.95), optax.add_decayed_weights(0.1), optax.scale(-rate)] #parts
            return optax.chain(*parts)
        ===
        tx, other = make_tx(10000), make_plain(1e-3)
        states = tx.init(params), other.init(params)
    """, (
        Defect("clip-behind-the-optimizer", moved("clip", "adam"), ("clip",)),
        Defect("clip-behind-the-optimizer", written("parts", "[optax.clip(1.0), optax.scale_by_adam(b2=0.95)", "[optax.scale_by_adam(b2=0.95), optax.clip(1.0)"), ("parts",)),
    )),
)  # fmt: skip
