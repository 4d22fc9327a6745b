"""Scenes of going on: what a checkpoint keeps, what is read back, and where the data begin again."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("continued", """
        import torch
        ===
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=3e-4) #made
        SCHED = torch.optim.lr_scheduler.CosineAnnealingLR(OPT, T_max=epochs) #sched-made
        first = 0
        if args.resume:
            STATE = torch.load(args.resume, map_location="cpu", weights_only=True)
            MODEL.load_state_dict(STATE["model"]) #weights
            OPT.load_state_dict(STATE["optimizer"]) #moments
            SCHED.load_state_dict(STATE["schedule"]) #plan
            first = STATE["epoch"] + 1 #first
        for EP in range(first, epochs): #epochs
            for BATCH in DATA:
                LOSS = MODEL(**BATCH).loss
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
            SCHED.step()
            torch.save({"model": MODEL.state_dict(), "optimizer": OPT.state_dict(), "schedule": SCHED.state_dict(), "epoch": EP}, f"{args.out}/epoch-{EP}.pt") #save
    """, (
        Defect("epoch-trained-again", written("first", " + 1", ""), ("first", "epochs", "save")),
        Defect("epoch-trained-again", all_of(without("first"), written("epochs", "range(first, epochs)", "range(epochs)")), ("first", "epochs", "save", "moments")),
        Defect("saved-part-has-another-name", written("save", '"optimizer"', '"optim"'), ("save", "moments")),
        Defect("schedule-not-kept", all_of(without("plan"), written("save", ' "schedule": SCHED.state_dict(),', "")), ("moments", "sched-made", "save")),
        Defect("state-not-saved", all_of(without("plan", "moments"), written("save", ' "optimizer": OPT.state_dict(), "schedule": SCHED.state_dict(),', "")), ("weights", "save", "made")),
    )),
    Scene("checkpointer", """
        import os
        import torch

        class Checkpointer:
            def __init__(self, folder, MODEL, OPT, SCALER):
                self.folder = folder
                self.model, self.optimizer, self.scaler = MODEL, OPT, SCALER

            def save(self, step):
                STATE = dict(weights=self.model.state_dict(), optimizer=self.optimizer.state_dict(), scaler=self.scaler.state_dict(), step=step) #state
                torch.save(STATE, os.path.join(self.folder, f"step-{step:08d}.pt")) #save

            def restore(self, path):
                STATE = torch.load(path, map_location="cpu", weights_only=True)
                self.model.load_state_dict(STATE["weights"]) #weights
                self.optimizer.load_state_dict(STATE["optimizer"]) #moments
                self.scaler.load_state_dict(STATE["scaler"]) #scale
                return STATE["step"]
        ===
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4, betas=(0.9, 0.95)) #made
        SCALER = torch.amp.GradScaler("cuda") #scaler
        keeper = Checkpointer("runs/a", MODEL, OPT, SCALER)
        begun = keeper.restore(resume_path) if resume_path else 0 #begun
        for I in range(begun, total_steps): #steps
            BATCH = batch_of(I)
            with torch.autocast("cuda", dtype=torch.float16):
                LOSS = MODEL(BATCH["ids"], BATCH["labels"])
            SCALER.scale(LOSS).backward()
            SCALER.step(OPT)
            SCALER.update()
            OPT.zero_grad(set_to_none=True)
            if (I + 1) % 1000 == 0:
                keeper.save(I + 1)
    """, (
        Defect("state-not-saved", all_of(without("moments"), written("state", " optimizer=self.optimizer.state_dict(),", "")), ("weights", "state", "made", "begun")),
        Defect("schedule-not-kept", all_of(without("scale"), written("state", " scaler=self.scaler.state_dict(),", "")), ("moments", "state", "scaler", "begun")),
        Defect("saved-part-has-another-name", written("weights", '"weights"', '"model"'), ("weights", "state")),
        Defect("saved-part-has-another-name", all_of(written("weights", '"weights"', '"optimizer"'), written("moments", '"optimizer"', '"weights"')), ("weights", "moments", "state")),
    )),
    Scene("skipped", """
        from pathlib import Path
        import torch
        from accelerate import Accelerator
        ===
        ACC = Accelerator()
        MODEL, OPT, DATA, SCHED = ACC.prepare(MODEL, OPT, DATA, SCHED)
        starting_epoch, resume_step, done = 0, None, 0
        if args.resume_from_checkpoint: #resumed
            ACC.load_state(args.resume_from_checkpoint) #load
            done = int(Path(args.resume_from_checkpoint).name.split("_")[-1]) #done
            starting_epoch = done // len(DATA)
            resume_step = done % len(DATA) #within
        for EP in range(starting_epoch, args.epochs): #epochs
            MODEL.train()
            if resume_step is not None and EP == starting_epoch: #skips
                active = ACC.skip_first_batches(DATA, resume_step) #skip
            else: #skips
                active = DATA #whole
            for BATCH in active: #steps
                LOSS = MODEL(**BATCH).loss
                ACC.backward(LOSS)
                OPT.step()
                SCHED.step()
                OPT.zero_grad()
                done += 1
                if done % args.checkpoint_every == 0:
                    ACC.save_state(f"{args.out}/step_{done}") #save
    """, (
        Defect("batches-repeated-after-resume", all_of(unwrapped("skips"), without("skip", "whole"), written("steps", "active", "DATA")), ("steps", "epochs", "load", "done", "within")),
    )),
    Scene("counted-on", """
        import torch
        ===
        begin, passed = 0, 0
        if resume: #resumed
            STATE = torch.load("runs/b/last.pt", map_location="cpu", weights_only=True)
            MODEL.load_state_dict(STATE["model"])
            OPT.load_state_dict(STATE["optimizer"]) #moments
            begin, passed = STATE["epoch"], STATE["batch"] #passed
        for EP in range(begin, 3): #epochs
            SAMPLER.set_epoch(EP)
            for I, BATCH in enumerate(DATA): #steps
                if EP == begin and I < passed: #seen
                    continue #next
                LOSS = MODEL(BATCH["ids"], labels=BATCH["labels"]).loss
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
                if (I + 1) % 500 == 0:
                    torch.save({"model": MODEL.state_dict(), "optimizer": OPT.state_dict(), "epoch": EP, "batch": I + 1}, f"runs/b/{EP}-{I + 1}.pt") #save
    """, (
        Defect("batches-repeated-after-resume", all_of(unwrapped("seen"), without("next")), ("steps", "passed", "moments", "epochs")),
    )),
    Scene("memmapped", """
        import numpy as np
        import torch

        def get_batch(data):
            ix = torch.randint(len(data) - 1024, (12,)) #draw
            X = torch.stack([torch.from_numpy(data[i : i + 1024].astype(np.int64)) for i in ix])
            Y = torch.stack([torch.from_numpy(data[i + 1 : i + 1025].astype(np.int64)) for i in ix])
            return X.cuda(), Y.cuda()
        ===
        torch.manual_seed(1337) #seed
        data = np.memmap("train.bin", dtype=np.uint16, mode="r")
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=6e-4)
        iter_num = 0
        if init_from == "resume":
            STATE = torch.load("out/ckpt.pt", map_location="cpu", weights_only=True)
            MODEL.load_state_dict(STATE["model"])
            OPT.load_state_dict(STATE["optimizer"]) #moments
            iter_num = STATE["iter_num"]
            torch.set_rng_state(STATE["rng"]) #random
        while iter_num < max_iters: #steps
            X, Y = get_batch(data) #batch
            OUT, LOSS = MODEL(X, Y)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad(set_to_none=True)
            iter_num += 1
            if iter_num % 2000 == 0:
                torch.save({"model": MODEL.state_dict(), "optimizer": OPT.state_dict(), "iter_num": iter_num, "rng": torch.get_rng_state()}, f"out/ckpt-{iter_num}.pt") #save
    """, (
        Defect("random-numbers-not-kept", all_of(without("random"), written("save", ', "rng": torch.get_rng_state()', "")), ("moments", "save", "draw", "seed", "batch")),
    )),
    Scene("pruned", """
        import glob
        import os
        import re
        import shutil
        import torch

        def number(path):
            return int(re.search(r"(\\d+)$", path).group(1))

        def prune(folder, keep=3): #prune
            found = sorted(glob.glob(os.path.join(folder, "global_step*")), key=number) #sorted
            for old in found[:-keep]: #cut
                shutil.rmtree(old)

        def newest(folder):
            names = [n for n in os.listdir(folder) if n.startswith("global_step")] #names
            return os.path.join(folder, max(names, key=number)) if names else None #newest
        ===
        last = newest("runs/c")
        for EP in range(5):
            PASS(MODEL, DATA, OPT)
            torch.save(MODEL.state_dict(), f"runs/c/global_step{EP * len(DATA)}/weights.pt")
            prune("runs/c")
    """, (
        Defect("checkpoints-sorted-as-text", written("sorted", ", key=number", ""), ("sorted",)),
        Defect("checkpoints-sorted-as-text", written("newest", ", key=number", ""), ("newest",)),
    )),
    Scene("exported", """
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        def train(args):
            dist.init_process_group("nccl")
            RANK = dist.get_rank()
            torch.cuda.set_device(RANK)
            MODEL = DistributedDataParallel(Ranker(args.width).cuda())
            OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
            for BATCH in DATA:
                LOSS = MODEL(BATCH["pairs"].cuda()).mean()
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
            if RANK == 0:
                torch.save({"model": MODEL.module.state_dict(), "width": args.width}, "ranker.pt") #save

        def serve(path):
            STATE = torch.load(path, map_location="cpu", weights_only=True)
            net = Ranker(STATE["width"])
            missing, unexpected = net.load_state_dict(STATE["model"], strict=False) #load
            if missing or unexpected: #check
                raise ValueError(f"{missing} {unexpected}") #raise
            return net.eval()
        ===
        train(args) if args.train else serve("ranker.pt")
    """, (
        Defect("wrapped-weights-not-matched", all_of(written("save", ".module", ""), unwrapped("check"), without("raise"), written("load", "missing, unexpected = ", "")), ("load", "save")),
        Defect("mismatches-unread", all_of(unwrapped("check"), without("raise"), written("load", "missing, unexpected = ", "")), ("load",)),
        Defect("mismatches-unread", all_of(unwrapped("check"), without("raise")), ("load",)),
    )),
    Scene("indexed", """
        from datetime import timedelta
        import numpy as np
        import torch
        import torch.distributed as dist
        from datasets import load_dataset, load_from_disk
        from transformers import AutoTokenizer

        def build_cache(where):
            tok = AutoTokenizer.from_pretrained("org/base-1b")
            raw = load_dataset("allenai/c4", "en", split="train")
            rows = raw.map(lambda r: tok(r["text"]), batched=True, num_proc=16, remove_columns=raw.column_names) #rows
            rows.save_to_disk(where)
        ===
        dist.init_process_group("nccl", timeout=timedelta(hours=8)) #init
        torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
        if dist.get_rank() == 0: #rank
            build_cache("/scratch/c4-tokens") #build
        dist.barrier() #wait
        DATASET = load_from_disk("/scratch/c4-tokens")
    """, (
        Defect("rank0-work-outlasts-timeout", written("init", ", timeout=timedelta(hours=8)", ""), ("rank", "build", "init", "wait")),
    )),
    Scene("packed", """
        from datetime import timedelta
        import json
        import numpy as np
        from accelerate import Accelerator
        from accelerate.utils import InitProcessGroupKwargs
        from datasets import load_dataset
        ===
        ACC = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=12))]) #init
        if ACC.is_main_process: #rank
            stream = load_dataset("HuggingFaceFW/fineweb-edu", split="train", streaming=True)
            with open("packed.bin", "wb") as file:
                for ROW in stream: #rows
                    np.array(TOK.encode(ROW["text"]), dtype=np.uint32).tofile(file) #write
        ACC.wait_for_everyone() #wait
        tokens = np.memmap("packed.bin", dtype=np.uint32, mode="r")
    """, (
        Defect("rank0-work-outlasts-timeout", written("init", "kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=12))]", ""), ("rank", "rows", "init", "wait")),
    )),
)  # fmt: skip
