"""Scenes of one process: precision, accumulation, schedules, optimizers, checkpoints, the costs of a step."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, placed, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("half", """
        import torch
        ===
        MODEL = build().cuda() #model
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=3e-4)
        SCALER = torch.cuda.amp.GradScaler() #scaler
        for I, BATCH in enumerate(DATA):
            OPT.zero_grad(set_to_none=True) #zero
            with torch.autocast("cuda", dtype=torch.float16): #cast
                OUT = MODEL(BATCH["x"].cuda()) #forward
                LOSS = torch.nn.functional.cross_entropy(OUT, BATCH["y"].cuda()) #loss
            SCALER.scale(LOSS).backward() #backward
            SCALER.unscale_(OPT) #unscale
            torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
            SCALER.step(OPT) #step
            SCALER.update() #update
            if I % 50 == 0: #every
                norms = [p.grad.norm().item() for p in MODEL.parameters()] #norms
    """, (
        Defect("fp16-without-scaler", all_of(without("scaler", "unscale", "update"), written("backward", "SCALER.scale(LOSS)", "LOSS"),
                                             written("step", "SCALER.step(OPT)", "OPT.step()")), ("backward", "cast")),
        Defect("weights-trained-in-half", written("model", "build()", "build().half()"), ("model",)),
        Defect("clip-before-unscale", without("unscale"), ("clip",)),
        Defect("scaled-gradients-stepped", all_of(without("unscale", "update"), written("step", "SCALER.step(OPT)", "OPT.step()")), ("step",)),
        Defect("device-read-every-step", unwrapped("every"), ("norms",)),
        Defect("scaler-not-updated", without("update"), ("step",)),
    )),
    Scene("micro", """
        import torch
        from transformers import get_cosine_schedule_with_warmup
        ===
        EVERY = 8
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=2e-5)
        SCHED = get_cosine_schedule_with_warmup(OPT, num_warmup_steps=100, num_training_steps=len(DATA) * 3 // EVERY) #sched-made
        for EP in range(3): #epochs
            for I, BATCH in enumerate(DATA):
                LOSS = MODEL(**BATCH).loss / EVERY #loss
                LOSS.backward() #backward
                if (I + 1) % EVERY == 0: #boundary
                    torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
                    OPT.step() #step
                    SCHED.step() #sched
                    OPT.zero_grad() #zero
    """, (
        Defect("schedule-per-micro-batch", placed("sched", "loss"), ("sched",)),
        Defect("clip-per-micro-batch", placed("clip", "backward"), ("clip",)),
        Defect("accumulated-loss-not-divided", written("loss", " / EVERY", ""), ("backward",)),
        Defect("accumulation-counts-differ", written("loss", "/ EVERY", "/ 4"), ("loss",)),
        Defect("accumulation-boundary-early", written("boundary", "(I + 1)", "I"), ("boundary",)),
        Defect("schedule-counted-wrongly", placed("sched", "epochs", 1), ("sched",)),
        Defect("learning-rate-overwritten", ahead("step", "for g in OPT.param_groups:|    g['lr'] = 2e-5", "set"), ("set",)),
        Defect("scheduler-never-stepped", without("sched"), ("sched-made",)),
    )),
    Scene("groups", """
        import torch
        from transformers import AutoModelForCausalLM
        from peft import LoraConfig, get_peft_model
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path, use_cache=False) #made
        MODEL.gradient_checkpointing_enable() #recompute
        MODEL.enable_input_require_grads() #inputs
        MODEL = get_peft_model(MODEL, LoraConfig(r=16)) #adapter
        params = [p for p in MODEL.parameters() if p.requires_grad]
        OPT = torch.optim.AdamW(params, lr=1e-4) #optimizer
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward() #backward
            OPT.step() #step
            OPT.zero_grad()
    """, (
        Defect("checkpointing-without-input-gradients", without("inputs"), ("recompute", "adapter")),
        Defect("cache-with-checkpointing", written("made", "use_cache=False", "use_cache=True"), ("made", "recompute")),
        Defect("optimizer-never-stepped", without("step"), ("backward", "optimizer")),
    )),
    Scene("whole", """
        import torch
        from transformers import AutoModelForCausalLM
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path) #made
        MODEL.resize_token_embeddings(len(TOK)) #resize
        MODEL.train() #train
        decayed = [p for n, p in MODEL.named_parameters() if p.ndim > 1] #decayed
        others = [p for n, p in MODEL.named_parameters() if p.ndim < 2] #others
        parts = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}] #parts
        OPT = torch.optim.AdamW(parts, lr=1e-4) #optimizer
        for BATCH in DATA: #steps
            LOSS = MODEL(**BATCH).loss #forward
            LOSS.backward() #backward
            OPT.step() #step
            OPT.zero_grad() #zero
    """, (
        Defect("decay-on-every-parameter", all_of(without("decayed", "others", "parts"),
                                                  written("optimizer", "parts,", "MODEL.parameters(), weight_decay=0.1,")), ("optimizer",)),
        Defect("optimizer-holds-old-parameters", all_of(without("decayed", "others", "parts"), written("optimizer", "parts", "MODEL.parameters()"),
                                                        placed("resize", "optimizer")), ("resize",)),
        Defect("nothing-trainable", ahead("train", "for p in MODEL.parameters():|    p.requires_grad = False", "frozen"), ("frozen",)),
        Defect("backward-without-graph", lambda lines: [y for x in lines for y in (
            [x[: len(x) - len(x.lstrip())] + "with torch.no_grad(): #grad", "    " + x] if x.endswith("#forward") else [x])], ("backward", "grad", "forward")),
        Defect("failed-steps-swallowed", lambda lines: [y for x in lines for y in (
            [x[: len(x) - len(x.lstrip())] + "try:", "    " + x, x[: len(x) - len(x.lstrip())] + "except Exception: #swallow",
             x[: len(x) - len(x.lstrip())] + "    continue #swallow"] if x.endswith("#backward") else [x])], ("swallow",)),
        Defect("anomaly-detection-left-on", ahead("train", "torch.autograd.set_detect_anomaly(True)", "anomaly"), ("anomaly",)),
        Defect("hook-added-every-step", ahead("forward", "MODEL.lm_head.register_forward_hook(keep)", "hook"), ("hook",)),
        Defect("saved-every-step", ahead("zero", "torch.save(MODEL.state_dict(), 'last.pt')", "save"), ("save",)),
        Defect("tokenised-in-the-loop", all_of(written("forward", "MODEL(**BATCH)", "MODEL(**INPUTS, labels=BATCH['labels'])"),
                                               ahead("forward", "INPUTS = TOK(BATCH['text'], return_tensors='pt', truncation=True)", "tok")), ("tok",)),
        Defect("loss-cut-from-graph", written("forward", ".loss", ".loss.detach()"), ("forward", "backward")),
        Defect("gradients-cleared-before-step", placed("zero", "backward"), ("zero",)),
    )),
    Scene("llama", """
        import torch
        from transformers import LlamaForCausalLM
        ===
        MODEL = LlamaForCausalLM.from_pretrained(path)
        spared = ["bias", "norm.weight"] #spared
        parts = [
            {"params": [p for n, p in MODEL.named_parameters() if not any(s in n for s in spared)], "weight_decay": 0.1},
            {"params": [p for n, p in MODEL.named_parameters() if any(s in n for s in spared)], "weight_decay": 0.0},
        ]
        OPT = torch.optim.AdamW(parts, lr=1e-4)
    """, (
        Defect("undecayed-names-miss", written("spared", '"norm.weight"', '"LayerNorm.weight"'), ("spared",)),
    )),
    Scene("resumed", """
        import os
        import torch
        ===
        def keep(path, step):
            STATE = {"model": MODEL.state_dict(), "optimizer": OPT.state_dict(), "scheduler": SCHED.state_dict(), "step": step} #kept
            torch.save(STATE, path + ".tmp") #save
            os.replace(path + ".tmp", path)

        def resume(path):
            STATE = torch.load(path, map_location="cpu", weights_only=True) #load
            MODEL.load_state_dict(STATE["model"]) #weights
            OPT.load_state_dict(STATE["optimizer"]) #moments
            SCHED.load_state_dict(STATE["scheduler"]) #plan
            return STATE["step"]
    """, (
        Defect("checkpoint-part-not-restored", without("moments"), ("kept", "load", "weights", "save")),
        Defect("checkpoint-part-not-restored", without("plan"), ("kept", "load", "weights", "save")),
    )),
    Scene("overwritten", """
        import os
        import torch
        ===
        for I, BATCH in enumerate(DATA):
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            if I % 500 == 0: #every
                torch.save(MODEL.state_dict(), "last.pt.tmp") #save
                os.replace("last.pt.tmp", "last.pt") #replace
    """, (
        Defect("checkpoint-overwritten-in-place", all_of(without("replace"), written("save", ".tmp", "")), ("save",)),
        Defect("saved-every-step", unwrapped("every"), ("save",)),
    )),
    Scene("options", """
        import argparse
        import torch
        ===
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float, default=3e-4) #option
        parser.add_argument("--grad-accum", type=int, default=4)
        args = parser.parse_args()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=args.lr) #optimizer
        for I, BATCH in enumerate(DATA):
            LOSS = MODEL(**BATCH).loss / args.grad_accum #loss
            LOSS.backward()
            if (I + 1) % args.grad_accum == 0:
                OPT.step()
                OPT.zero_grad()
    """, (
        Defect("option-ignored", written("optimizer", "args.lr", "1e-3"), ("option",)),
        Defect("accumulation-counts-differ", written("loss", "args.grad_accum", "16"), ("loss",)),
    )),
    Scene("regression", """
        import torch
        ===
        for BATCH in DATA:
            OUT = MODEL(BATCH["x"]) #forward
            LOSS = torch.nn.functional.mse_loss(OUT.squeeze(-1), BATCH["y"]) #loss
            LOSS.backward() #backward
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("loss-through-argmax", written("forward", 'BATCH["x"])', 'BATCH["x"]).argmax(-1, keepdim=True).float()'), ("loss", "forward", "backward")),
        Defect("graph-retained", written("backward", "()", "(retain_graph=True)"), ("backward",)),
    )),
)  # fmt: skip
