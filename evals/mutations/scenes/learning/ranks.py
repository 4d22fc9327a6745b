"""Scenes of several ranks: DDP, FSDP, DeepSpeed and Accelerate."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, placed, shallower, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("ddp", """
        import os
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel as DDP
        from torch.utils.data import DataLoader, DistributedSampler
        ===
        dist.init_process_group("nccl")
        RANK = dist.get_rank()
        local = int(os.environ["LOCAL_RANK"])
        device = torch.device("cuda", local) #device
        MODEL = DDP(build().to(device), device_ids=[local]) #model
        SAMPLER = DistributedSampler(DATASET) #sampler
        DATA = DataLoader(DATASET, batch_size=8, sampler=SAMPLER, num_workers=2) #loader
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        for EP in range(4): #epochs
            SAMPLER.set_epoch(EP) #epoch
            for I, BATCH in enumerate(DATA): #steps
                OUT = MODEL(BATCH["x"].to(device)) #forward
                LOSS = torch.nn.functional.cross_entropy(OUT, BATCH["y"].to(device))
                LOSS.backward() #backward
                OPT.step() #step
                OPT.zero_grad() #zero
            TOTAL = LOSS.detach().clone()
            dist.all_reduce(TOTAL, op=dist.ReduceOp.AVG) #reduce
            if RANK == 0: #rank
                print(f"epoch {EP}: {TOTAL.item()}") #report
                torch.save(MODEL.module.state_dict(), f"epoch-{EP}.pt") #save
    """, (
        Defect("collective-on-one-rank", placed("reduce", "rank", 1), ("reduce",)),
        Defect("epoch-not-set-on-sampler", without("epoch"), ("sampler",)),
        Defect("sampler-with-shuffle", written("loader", "sampler=SAMPLER", "sampler=SAMPLER, shuffle=True"), ("loader",)),
        Defect("ranks-share-the-data", all_of(written("loader", "sampler=SAMPLER", "shuffle=True"), without("sampler", "epoch")), ("loader",)),
        Defect("saved-on-every-rank", shallower("save"), ("save",)),
        Defect("all-ranks-on-one-gpu", written("device", '"cuda", local', '"cuda:0"'), ("device", "model")),
        Defect("sum-taken-for-mean", written("reduce", ", op=dist.ReduceOp.AVG", ""), ("reduce",)),
        Defect("gradient-sync-bypassed", written("forward", "MODEL(", "MODEL.module("), ("forward",)),
        Defect("rank-stops-on-its-own", ahead("backward", "if not torch.isfinite(LOSS):|    break", "left"), ("left",)),
        Defect("rank-leaves-early", ahead("reduce", "if RANK != 0:|    continue", "left"), ("left",)),
        Defect("wrapped-weights-saved", written("save", "MODEL.module.", "MODEL."), ("save",)),
        Defect("zero-grad-missing", without("zero"), ("step",)),
        Defect("seed-set-every-step", ahead("forward", "torch.manual_seed(1234)", "seed"), ("seed",)),
    )),
    Scene("fsdp", """
        import torch
        import torch.distributed as dist
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
        ===
        dist.init_process_group("nccl")
        RANK = dist.get_rank()
        torch.cuda.set_device(RANK % torch.cuda.device_count())
        MODEL = FSDP(build().cuda())
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=2e-5)
        for I, BATCH in enumerate(DATA): #steps
            LOSS = MODEL(**BATCH).loss #forward
            LOSS.backward() #backward
            MODEL.clip_grad_norm_(1.0) #clip
            OPT.step() #step
            OPT.zero_grad() #zero
        STATE = MODEL.state_dict() #state
        if RANK == 0: #rank
            torch.save(STATE, "final.pt") #save
        dist.barrier() #barrier
    """, (
        Defect("clip-on-part-of-model", written("clip", "MODEL.clip_grad_norm_(1.0)", "torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0)"), ("clip",)),
        Defect("sharded-work-on-one-rank", all_of(without("state"), written("save", "STATE,", "MODEL.state_dict(),")), ("save",)),
        Defect("collective-on-one-rank", placed("barrier", "save"), ("barrier",)),
        Defect("zero-grad-missing", without("zero"), ("step",)),
        Defect("clip-without-effect", placed("clip", "step"), ("clip",)),
    )),
    Scene("deepspeed", """
        import deepspeed
        import torch
        import torch.distributed as dist
        ===
        deepspeed.init_distributed()
        MODEL, OPT, DATA, SCHED = deepspeed.initialize(model=build(), config="zero3.json", training_data=DATASET)
        for EP in range(2):
            for I, BATCH in enumerate(DATA):
                LOSS = MODEL(**BATCH).loss #forward
                MODEL.backward(LOSS) #backward
                MODEL.step() #step
            MODEL.save_checkpoint("out", tag=f"e{EP}") #save
            if dist.get_rank() == 0: #rank
                print("epoch", EP, LOSS.item()) #report
    """, (
        Defect("sharded-work-on-one-rank", placed("save", "rank", 1), ("save",)),
    )),
    Scene("accelerate", """
        import torch
        from accelerate import Accelerator
        ===
        ACC = Accelerator(gradient_accumulation_steps=4)
        MODEL, OPT, DATA, HELD, SCHED = ACC.prepare(MODEL, OPT, DATA, HELD, SCHED)
        for EP in range(3):
            MODEL.train()
            for BATCH in DATA:
                with ACC.accumulate(MODEL):
                    LOSS = MODEL(**BATCH).loss #forward
                    ACC.backward(LOSS) #backward
                    OPT.step() #step
                    SCHED.step() #sched
                    OPT.zero_grad() #zero
            MODEL.eval() #eval
            SUM = 0.0
            for BATCH in HELD: #held
                with torch.no_grad(): #nograd
                    SUM += MODEL(**BATCH).loss.item() #score
            ACC.print(EP, SUM)
            ACC.wait_for_everyone() #wait
            if ACC.is_main_process: #main
                ACC.unwrap_model(MODEL).save_pretrained("out") #save
    """, (
        Defect("accumulated-loss-divided-twice", written("forward", ".loss", ".loss / 4"), ("forward", "backward")),
        Defect("zero-grad-missing", without("zero"), ("step",)),
        Defect("collective-on-one-rank", placed("wait", "main", 1), ("wait",)),
        Defect("evaluation-in-loop-with-gradients", unwrapped("nograd"), ("held", "score")),
    )),
    Scene("cache", """
        import torch
        import torch.distributed as dist
        from datasets import load_from_disk
        ===
        dist.init_process_group("nccl")
        RANK = dist.get_rank()
        if RANK == 0:  #rank
            raw.map(tokenize).save_to_disk("cache/train") #write
        dist.barrier() #barrier
        DATASET = load_from_disk("cache/train") #load
    """, (
        Defect("others-do-not-wait", without("barrier"), ("rank", "write")),
    )),
    Scene("dealt", """
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        ===
        dist.init_process_group("nccl")
        RANK, world = dist.get_rank(), dist.get_world_size()
        torch.cuda.set_device(RANK)
        MODEL = DistributedDataParallel(build().cuda())
        rows = rows[: len(rows) // world * world] #even
        mine = rows[RANK::world] #dealt
        for ROW in mine: #steps
            LOSS = MODEL(ROW).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("ranks-have-unequal-work", without("even"), ("dealt",)),
    )),
)  # fmt: skip
