"""Scenes of 16 bits, scalers, accumulation, and what is read in each step."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, placed, without, written
from ...scene import Scene

SCENES = (
    Scene("scaled-micro", """
        import torch
        ===
        EVERY = 4
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        SCALER = torch.amp.GradScaler("cuda") #scaler
        for EP in range(3):
            for I, (X, Y) in enumerate(DATA): #loop
                with torch.autocast("cuda", dtype=torch.float16): #cast
                    LOSS = torch.nn.functional.cross_entropy(MODEL(X.cuda()), Y.cuda()) / EVERY
                SCALER.scale(LOSS).backward() #backward
                if (I + 1) % EVERY == 0 or I + 1 == len(DATA): #boundary
                    SCALER.unscale_(OPT) #unscale
                    torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
                    SCALER.step(OPT) #step
                    SCALER.update()
                    OPT.zero_grad(set_to_none=True)
    """, (
        Defect("unscaled-per-micro-batch", placed("unscale", "backward"), ("unscale",)),
        Defect("scaler-made-every-step", placed("scaler", "loop", 1), ("scaler",)),
        Defect("boundary-turned-round", written("boundary", "(I + 1) % EVERY == 0 or I + 1 == len(DATA)", "(I + 1) % EVERY"), ("boundary",)),
        Defect("last-window-left-over", written("boundary", " or I + 1 == len(DATA)", ""), ("boundary",)),
        Defect("counted-from-one-twice", written("loop", "enumerate(DATA)", "enumerate(DATA, start=1)"), ("boundary",)),
    )),
    Scene("amp-step", """
        import torch

        SCALER = torch.cuda.amp.GradScaler() #scaler

        def PASS(MODEL, OPT, labelled, unlabelled): #def
            OPT.zero_grad()
            with torch.cuda.amp.autocast():
                sure = torch.nn.functional.cross_entropy(MODEL(labelled["x"]), labelled["y"])
            SCALER.scale(sure).backward() #sure
            with torch.cuda.amp.autocast():
                guess = MODEL(unlabelled["strong"])
                unsure = torch.nn.functional.cross_entropy(guess, unlabelled["pseudo"])
            SCALER.scale(unsure).backward() #unsure
            SCALER.step(OPT) #step
            SCALER.update()
            return sure.detach() + unsure.detach()
        ===
        OPT = torch.optim.SGD(MODEL.parameters(), lr=0.03, momentum=0.9)
        for labelled, unlabelled in zip(DATA, more):
            PASS(MODEL, OPT, labelled, unlabelled)
    """, (
        Defect("part-of-loss-not-scaled", written("unsure", "SCALER.scale(unsure)", "unsure"), ("unsure",)),
        Defect("scaler-made-every-step", placed("scaler", "def", 1), ("scaler",)),
    )),
    Scene("router", """
        import torch
        ===
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        SCALER = torch.amp.GradScaler("cuda")
        for BATCH in DATA:
            with torch.autocast("cuda", dtype=torch.float16):
                OUT = MODEL(**BATCH)
            scaled = SCALER.scale(OUT.loss)
            scaled.backward(retain_graph=True) #main
            balance = SCALER.scale(0.01 * OUT.aux_loss) #balance
            balance.backward() #aux
            SCALER.step(OPT)
            SCALER.update()
            OPT.zero_grad()
    """, (
        Defect("part-of-loss-not-scaled", written("balance", "SCALER.scale(0.01 * OUT.aux_loss)", "0.01 * OUT.aux_loss"), ("aux",)),
    )),
    Scene("boundaries", """
        import torch

        def grad_size(MODEL):
            return torch.stack([p.grad.norm() for p in MODEL.parameters() if p.grad is not None]).norm()
        ===
        EVERY, updates = 8, 0
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        for I, BATCH in enumerate(DATA, 1): #loop
            LOSS = MODEL(**BATCH).loss / EVERY
            LOSS.backward()
            if I % EVERY != 0: #boundary
                continue #skip
            size = grad_size(MODEL) #size
            OPT.step() #step
            OPT.zero_grad() #zero
            updates += 1
            print(updates, size)
    """, (
        Defect("boundary-turned-round", written("boundary", "!= 0", "== 0"), ("boundary", "skip")),
        Defect("counted-from-one-twice", written("boundary", "I % EVERY", "(I + 1) % EVERY"), ("boundary",)),
        Defect("gradient-read-after-clearing", placed("size", "zero"), ("size",)),
    )),
    Scene("named-boundary", """
        import torch
        ===
        EVERY = 16
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        for EP in range(2): #epochs
            for I, BATCH in enumerate(DATA):
                is_update = (I + 1) % EVERY == 0 or I + 1 == len(DATA) #boundary
                LOSS = MODEL(**BATCH).loss / EVERY
                LOSS.backward()
                if is_update: #guard
                    norm = sum(p.grad.pow(2).sum() for p in MODEL.parameters()).sqrt() #norm
                    OPT.step() #step
                    OPT.zero_grad() #zero
                    print(EP, I, norm)
    """, (
        Defect("boundary-turned-round", written("boundary", "(I + 1) % EVERY == 0 or I + 1 == len(DATA)", "(I + 1) % EVERY != 0"), ("boundary", "guard")),
        Defect("last-window-left-over", written("boundary", " or I + 1 == len(DATA)", ""), ("boundary", "guard")),
        Defect("gradient-read-after-clearing", placed("norm", "zero"), ("norm",)),
    )),
    Scene("upcast", """
        import torch
        import torch.nn.functional as F
        from transformers import AutoModelForCausalLM

        def causal_loss(LOGITS, LABELS, vocab_size):
            LOGITS = LOGITS.float() #upcast
            shift_logits = LOGITS[..., :-1, :].contiguous()
            shift_labels = LABELS[..., 1:].contiguous()
            return F.cross_entropy(shift_logits.view(-1, vocab_size), shift_labels.view(-1), ignore_index=-100) #loss

        def running_accuracy(LOGITS, LABELS):
            said = LOGITS[:, :-1].argmax(-1) #said
            return (said == LABELS[:, 1:]).float().mean().detach() #hits
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16)
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-5)
        for BATCH in DATA:
            LOGITS = MODEL(BATCH["input_ids"], attention_mask=BATCH["attention_mask"]).logits #forward
            LOSS = causal_loss(LOGITS, BATCH["labels"], MODEL.config.vocab_size)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            hits = running_accuracy(LOGITS, BATCH["labels"]) #call
    """, (
        Defect("loss-computed-in-half", written("upcast", ".float()", ".to(torch.bfloat16)"), ("upcast", "loss")),
        Defect("logits-copied-every-step", all_of(written("said", "LOGITS[:, :-1].argmax(-1)", "LOGITS[:, :-1].detach().float().cpu().argmax(-1)"), written("hits", "LABELS[:, 1:]", "LABELS[:, 1:].cpu()")), ("said", "call")),
    )),
    Scene("entropies", """
        import torch
        import torch.nn.functional as F
        from transformers import AutoModelForCausalLM

        compute_dtype = torch.float32 #dtype

        def token_entropy(LOGITS):
            probs = LOGITS.float().softmax(dim=-1) #probs
            return -(probs * torch.log(probs + 1e-8)).sum(-1) #entropy
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-5)
        for BATCH in DATA:
            OUT = MODEL(BATCH["input_ids"]) #forward
            flat = OUT.logits[:, :-1].flatten(0, 1).to(compute_dtype) #flat
            LOSS = F.cross_entropy(flat, BATCH["labels"][:, 1:].flatten()) #loss
            LOSS = LOSS - 0.01 * token_entropy(OUT.logits).mean() #bonus
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            right = (OUT.logits[:, :-1].argmax(-1) == BATCH["labels"][:, 1:]).sum() #right
    """, (
        Defect("epsilon-lost-in-half", written("probs", "LOGITS.float()", "LOGITS.half()"), ("entropy",)),
        Defect("loss-computed-in-half", written("dtype", "torch.float32", "torch.bfloat16"), ("flat", "loss")),
        Defect("logits-copied-every-step", written("right", '(OUT.logits[:, :-1].argmax(-1) == BATCH["labels"][:, 1:])', '(OUT.logits[:, :-1].detach().cpu().numpy().argmax(-1) == BATCH["labels"][:, 1:].cpu().numpy())'), ("right",)),
    )),
    Scene("normed", """
        import torch
        from torch import nn

        class RMSNorm(nn.Module):
            def __init__(self, width, eps=1e-8):
                super().__init__()
                self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

            def forward(self, hidden):
                wide = hidden.float() #wide
                size = wide.pow(2).mean(-1, keepdim=True)
                return (self.weight * (wide * torch.rsqrt(size + self.eps))).to(hidden.dtype) #norm
        ===
        norm = RMSNorm(4096).cuda()
        print(norm(hidden_states).shape)
    """, (
        Defect("epsilon-lost-in-half", written("wide", "hidden.float()", "hidden.to(torch.float16)"), ("norm",)),
    )),
    Scene("recurrent", """
        import torch
        import torch.nn.functional as F

        def repackage(h):
            return tuple(v.detach() for v in h)
        ===
        MODEL = RNNModel("LSTM", 10000, 650, 650, 2).cuda()
        OPT = torch.optim.SGD(MODEL.parameters(), lr=20.0)
        hidden = MODEL.init_hidden(20)
        for X, Y in DATA:
            hidden = repackage(hidden) #cut
            OUT, hidden = MODEL(X, hidden) #run
            LOSS = F.cross_entropy(OUT.view(-1, 10000), Y) #loss
            OPT.zero_grad()
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 0.25) #clip
            OPT.step()
    """, (
        Defect("state-carried-with-graph", without("cut"), ("run",)),
        Defect("loss-clamped", written("loss", "F.cross_entropy(OUT.view(-1, 10000), Y)", "torch.clamp(F.cross_entropy(OUT.view(-1, 10000), Y), 0.0, 10.0)"), ("loss",)),
    )),
    Scene("memories", """
        import torch
        ===
        OPT = torch.optim.Adam(MODEL.parameters(), lr=2.5e-4)
        mems = None
        for INPUTS, LABELS in DATA:
            OUT = MODEL(INPUTS, labels=LABELS, mems=mems) #run
            mems = [m.detach() for m in OUT.mems] #carried
            OUT.loss.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("state-carried-with-graph", written("carried", "[m.detach() for m in OUT.mems]", "OUT.mems"), ("carried", "run")),
    )),
)  # fmt: skip
