"""Scenes of optimizers: their groups and their rates."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("matrices", """
        import torch
        from transformers import AutoModelForCausalLM

        def groups_of(MODEL, decay):
            named = {n: p for n, p in MODEL.named_parameters() if p.requires_grad}
            matrices = [p for n, p in named.items() if p.dim() >= 2]
            vectors = [p for n, p in named.items() if p.dim() < 2] #vectors
            return [
                {"params": matrices, "weight_decay": decay}, #first
                {"params": vectors, "weight_decay": 0.0}, #second
            ]
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        beta1, beta2 = 0.9, 0.95
        OPT = torch.optim.AdamW(groups_of(MODEL, 0.1), lr=6e-4, betas=(beta1, beta2)) #opt
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
            OPT.step() #step
            OPT.zero_grad()
    """, (
        Defect("decay-groups-swapped", all_of(written("first", "matrices", "vectors"), written("second", "vectors", "matrices")), ("first", "second", "opt")),
        Defect("parameters-in-no-group", written("vectors", "p.dim() < 2", 'n.endswith(".bias")'), ("opt", "vectors", "second")),
        Defect("betas-swapped", written("opt", "(beta1, beta2)", "(beta2, beta1)"), ("opt",)),
        Defect("l2-in-adam", written("opt", "AdamW(", "Adam("), ("opt",)),
        Defect("clip-on-a-part", written("clip", "MODEL.parameters()", "MODEL.lm_head.parameters()"), ("clip",)),
    )),
    Scene("sorted-by-name", """
        import torch

        def configure_optimizers(MODEL, settings):
            decay, no_decay = [], []
            for name, p in MODEL.named_parameters():
                if not p.requires_grad:
                    continue
                if name.endswith("bias") or "norm" in name: #spared
                    no_decay.append(p) #put
                else: #rest
                    decay.append(p) #put-decay
            groups = [{"params": decay, "weight_decay": settings.weight_decay}, {"params": no_decay, "weight_decay": 0.0}] #groups
            return torch.optim.AdamW(groups, lr=settings.lr, betas=(0.9, 0.999), eps=1e-8) #opt
        ===
        OPT = configure_optimizers(MODEL, settings)
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            for p in MODEL.parameters(): #each
                p.grad.clamp_(-1.0, 1.0) #clamp
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("decay-groups-swapped", all_of(written("put", "no_decay", "decay"), written("put-decay", "decay", "no_decay")), ("put", "put-decay", "groups", "opt")),
        Defect("parameters-in-no-group", all_of(written("spared", 'name.endswith("bias") or "norm" in name', 'name.endswith("bias")'), written("rest", "else", 'elif p.ndim > 1')), ("opt", "groups")),
        Defect("betas-swapped", written("opt", "(0.9, 0.999)", "(0.999, 0.9)"), ("opt",)),
        Defect("clip-on-a-part", written("clamp", "p.grad.clamp_(-1.0, 1.0)", "torch.nn.utils.clip_grad_norm_(p, 1.0)"), ("clamp",)),
    )),
    Scene("nano", """
        import math
        import torch

        learning_rate, min_lr, warmup_iters, decay_iters = 6e-4, 6e-5, 2000, 600000

        def get_lr(it):
            if it < warmup_iters:
                return learning_rate * (it + 1) / (warmup_iters + 1) #warm
            if it > decay_iters:
                return min_lr
            coeff = 0.5 * (1.0 + math.cos(math.pi * (it - warmup_iters) / (decay_iters - warmup_iters)))
            return min_lr + coeff * (learning_rate - min_lr) #end
        ===
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=learning_rate) #opt
        for it, (X, Y) in enumerate(DATA):
            lr = get_lr(it) #rate
            for group in OPT.param_groups: #groups
                group["lr"] = lr #put
            LOSS = MODEL(X, Y)
            LOSS.backward()
            OPT.step() #step
            OPT.zero_grad(set_to_none=True) #zero
            if it % 100 == 0:
                print(f"iter {it} lr {lr:.2e}") #told
    """, (
        Defect("rate-not-put-in", all_of(unwrapped("groups"), without("put")), ("rate",)),
        Defect("warmup-by-whole-numbers", written("warm", " / (warmup_iters", " // (warmup_iters"), ("warm",)),
        Defect("factor-is-the-rate", all_of(unwrapped("groups"), without("rate", "put"), ahead("zero", "SCHED.step()", "sched"), written("told", "lr {lr:.2e}", "lr {SCHED.get_last_lr()}"),
                                            lambda lines: [y for x in lines for y in ([x, x[: len(x) - len(x.lstrip())] + "SCHED = torch.optim.lr_scheduler.LambdaLR(OPT, get_lr) #made"] if x.endswith("#opt") else [x])]), ("warm", "end", "made")),
    )),
    Scene("lambda", """
        import math
        import torch
        from torch.optim.lr_scheduler import LambdaLR

        peak, floor = 3e-4, 0.1

        def factor(step, warmup=500, total=20000):
            if step < warmup:
                return step / max(1, warmup) #warm
            done = min(1.0, (step - warmup) / (total - warmup))
            return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)) #end
        ===
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=peak)
        SCHED = LambdaLR(OPT, lr_lambda=factor) #sched
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            OPT.step()
            SCHED.step()
            OPT.zero_grad()
    """, (
        Defect("factor-is-the-rate", all_of(written("warm", "step / max", "peak * step / max"), written("end", "return floor", "return peak * floor"), written("end", "(1 - floor) *", "peak * (1 - floor) *")), ("warm", "end", "sched")),
        Defect("factor-is-the-rate", written("sched", "lr_lambda=factor", "lr_lambda=lambda step: peak * factor(step)"), ("sched",)),
        Defect("warmup-by-whole-numbers", written("warm", "step / max(1, warmup)", "step // max(1, warmup)"), ("warm",)),
    )),
    Scene("ratio", """
        import torch
        from transformers import get_scheduler
        ===
        warmup_ratio, epochs = 0.03, 3
        steps = len(DATA) * epochs
        OPT = torch.optim.Adam(MODEL.parameters(), lr=1e-5) #opt
        SCHED = get_scheduler("cosine", OPT, num_warmup_steps=int(warmup_ratio * steps), num_training_steps=steps) #sched
        for EP in range(epochs):
            for BATCH in DATA:
                LOSS = MODEL(**BATCH).loss
                LOSS.backward()
                OPT.step()
                SCHED.step()
                OPT.zero_grad()
    """, (
        Defect("warmup-by-whole-numbers", written("sched", "int(warmup_ratio * steps)", "warmup_ratio"), ("sched",)),
        Defect("warmup-by-whole-numbers", written("sched", "num_warmup_steps=int(warmup_ratio * steps)", "0.03"), ("sched",)),
        Defect("l2-in-adam", written("opt", "lr=1e-5", "lr=1e-5, weight_decay=0.1"), ("opt",)),
        Defect("l2-in-adam", all_of(ahead("opt", "weight_decay = 0.05", "decay"), written("opt", "lr=1e-5", "lr=1e-5, weight_decay=weight_decay")), ("opt",)),
    )),
    Scene("adjusted", """
        import torch

        def adjust_learning_rate(OPT, EP, base=0.1):
            lr = base * 0.1 ** (EP // 30) #rate
            for group in OPT.param_groups: #groups
                group["lr"] = lr #put
            return lr
        ===
        OPT = torch.optim.SGD(MODEL.parameters(), lr=0.1, momentum=0.9)
        for EP in range(90):
            lr = adjust_learning_rate(OPT, EP) #call
            print("epoch", EP, "lr", lr)
            MODEL.train()
            for X, Y in DATA:
                LOSS = torch.nn.functional.cross_entropy(MODEL(X), Y)
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
    """, (
        Defect("rate-not-put-in", all_of(unwrapped("groups"), without("put")), ("rate", "call")),
        Defect("rate-not-put-in", all_of(unwrapped("groups"), written("put", 'group["lr"] = lr', "OPT.lr = lr")), ("put", "rate", "call")),
    )),
)  # fmt: skip
