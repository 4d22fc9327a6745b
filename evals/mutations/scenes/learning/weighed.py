"""Scenes of how ranks and micro-batches are weighed: means over ranks, token counts, gathered rows, groups of ranks."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, placed, without, written
from ...scene import Scene

SCENES = (
    Scene("validated", """
        import torch
        import torch.distributed as dist
        import torch.nn.functional as F
        from torch.nn.parallel import DistributedDataParallel as DDP

        @torch.no_grad()
        def validation_loss(model, loader, device):
            model.eval()
            loss_sum = torch.zeros((), device=device)
            n_tokens = torch.zeros((), device=device)
            for ids, labels in loader:
                logits = model(ids.to(device))
                loss_sum += F.cross_entropy(logits.flatten(0, 1), labels.to(device).flatten(), ignore_index=-100, reduction="sum")
                n_tokens += (labels != -100).sum().to(device)
            dist.all_reduce(loss_sum) #sum-loss
            dist.all_reduce(n_tokens) #sum-tokens
            mean = loss_sum / n_tokens #mean
            return mean.item()
        ===
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank())
        MODEL = DDP(build().cuda())
        print(validation_loss(MODEL, HELD, "cuda"))
    """, (
        Defect("means-averaged-over-ranks", all_of(without("sum-tokens"), placed("sum-loss", "mean"), written("sum-loss", "dist.all_reduce(loss_sum)", "dist.all_reduce(mean, op=dist.ReduceOp.AVG)")), ("mean", "sum-loss")),
    )),
    Scene("perplexed", """
        import math
        import torch
        from accelerate import Accelerator
        from torch.utils.data import DataLoader
        from transformers import AutoModelForCausalLM, DataCollatorForSeq2Seq
        ===
        ACC = Accelerator()
        HELD = DataLoader(HELDSET, batch_size=8, collate_fn=DataCollatorForSeq2Seq(TOK, padding=True, label_pad_token_id=-100))
        MODEL, HELD = ACC.prepare(AutoModelForCausalLM.from_pretrained(path), HELD)
        MODEL.eval()
        total = torch.zeros(1, device=ACC.device)
        tokens = torch.zeros(1, device=ACC.device)
        for BATCH in HELD:
            with torch.no_grad():
                result = MODEL(input_ids=BATCH["input_ids"], attention_mask=BATCH["attention_mask"], labels=BATCH["labels"])
            seen = (BATCH["labels"][:, 1:] != -100).sum() #seen
            total += result.loss * seen #total
            tokens += seen #tokens
        total, tokens = ACC.reduce(total, "sum"), ACC.reduce(tokens, "sum") #reduced
        mean_loss = total / tokens #mean
        ACC.print("perplexity", math.exp(mean_loss.item())) #print
    """, (
        Defect("means-averaged-over-ranks", all_of(written("reduced", 'total, tokens = ACC.reduce(total, "sum"), ACC.reduce(tokens, "sum")', 'mean_loss = total / tokens'),
                                                   written("mean", "total / tokens", 'ACC.reduce(mean_loss, "mean")')), ("reduced", "mean")),
        Defect("means-averaged-over-ranks", all_of(without("seen"), written("total", "result.loss * seen", "result.loss"), written("tokens", "seen", "1")), ("total", "tokens", "reduced", "mean")),
    )),
    Scene("rescaled", """
        import torch
        import torch.distributed as dist
        import torch.nn.functional as F
        from torch.nn.parallel import DistributedDataParallel as DDP
        ===
        dist.init_process_group("nccl")
        RANK, world_size = dist.get_rank(), dist.get_world_size()
        torch.cuda.set_device(RANK)
        MODEL = DDP(build().cuda(), device_ids=[RANK])
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        for ids, targets in DATA:
            ids, targets = ids.cuda(), targets.cuda()
            valid = (targets != -100).sum() #count
            dist.all_reduce(valid) #reduce
            summed = F.cross_entropy(MODEL(ids).flatten(0, 1), targets.flatten(), reduction="sum")
            LOSS = summed * world_size / valid #loss
            LOSS.backward() #backward
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("averaged-once-more", written("loss", " * world_size", ""), ("loss",)),
        Defect("means-averaged-over-ranks", all_of(without("reduce"), written("loss", " * world_size", "")), ("loss",)),
    )),
    Scene("sharded-sft", """
        import torch
        import torch.distributed as dist
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

        def token_loss(logits, labels):
            return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="sum", ignore_index=-100)
        ===
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank())
        MODEL = FSDP(build().cuda())
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-5)
        for BATCH in DATA:
            everywhere = BATCH["labels"][:, 1:].ne(-100).sum().float()
            dist.all_reduce(everywhere, op=dist.ReduceOp.SUM)
            each = everywhere / dist.get_world_size() #each
            LOSS = token_loss(MODEL(BATCH["input_ids"]), BATCH["labels"]) / each #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("averaged-once-more", all_of(without("each"), written("loss", "/ each", "/ everywhere")), ("loss",)),
    )),
    Scene("accumulated", """
        import torch
        from transformers import AutoModelForCausalLM

        def to_example(prompt, response):
            return {"input_ids": prompt + response, "labels": [-100] * len(prompt) + response}

        def shifted_nll(model, batch): #helper
            logits = model(batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1] #logits
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten(), ignore_index=-100, reduction="sum") #nll
        ===
        steps_per_update = 8
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-5)
        for group in grouped(DATA, steps_per_update): #groups
            answered = sum((b["labels"][:, 1:] != -100).sum() for b in group) #answered
            for BATCH in group: #micro
                LOSS = shifted_nll(MODEL, BATCH) / answered #loss
                LOSS.backward() #backward
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("token-means-averaged", all_of(without("answered"), written("nll", ', reduction="sum"', ""), written("loss", "/ answered", "/ steps_per_update")), ("loss",)),
        Defect("token-means-averaged", all_of(without("answered", "helper", "logits", "nll"), written("loss", "shifted_nll(MODEL, BATCH) / answered", "MODEL(**BATCH).loss / steps_per_update")), ("loss",)),
    )),
    Scene("counted", """
        import torch

        IGNORE_INDEX = -100

        def mask_prompt(ids, prompt_len):
            return [IGNORE_INDEX] * prompt_len + ids[prompt_len:]
        ===
        accum = 16
        OPT.zero_grad()
        tokens_seen = 0 #start
        for I, BATCH in enumerate(DATA):
            tokens_in_batch = (BATCH["labels"] != IGNORE_INDEX).sum() #count
            tokens_seen += tokens_in_batch #seen
            LOSS = MODEL(**BATCH).loss #forward
            (LOSS * tokens_in_batch).backward() #backward
            if (I + 1) % accum == 0:
                for p in MODEL.parameters(): #params
                    p.grad /= tokens_seen #divided
                tokens_seen = 0 #again
                OPT.step()
                OPT.zero_grad()
    """, (
        Defect("token-means-averaged", all_of(without("start", "count", "seen", "params", "divided", "again"), written("backward", "LOSS * tokens_in_batch", "LOSS / accum")), ("forward", "backward")),
    )),
    Scene("glue", """
        import evaluate
        import torch
        from accelerate import Accelerator
        from transformers import AutoModelForSequenceClassification
        ===
        ACC = Accelerator()
        MODEL = AutoModelForSequenceClassification.from_pretrained(path, num_labels=3)
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=2e-5)
        MODEL, OPT, DATA, HELD = ACC.prepare(MODEL, OPT, DATA, HELD)
        metric = evaluate.load("accuracy")
        for EP in range(3):
            MODEL.train()
            for BATCH in DATA:
                ACC.backward(MODEL(**BATCH).loss)
                OPT.step()
                OPT.zero_grad()
            MODEL.eval()
            for BATCH in HELD:
                with torch.no_grad():
                    outputs = MODEL(**BATCH)
                predictions = outputs.logits.argmax(dim=-1)
                predictions, references = ACC.gather_for_metrics((predictions, BATCH["labels"])) #gather
                metric.add_batch(predictions=predictions, references=references)
            ACC.print(EP, metric.compute())
    """, (
        Defect("gathered-with-duplicates", written("gather", "gather_for_metrics", "gather"), ("gather",)),
    )),
    Scene("regressed", """
        import torch
        from accelerate import Accelerator

        @torch.inference_mode()
        def collect(ACC, MODEL, HELD):
            MODEL.eval()
            every, true = [], []
            for BATCH in HELD:
                guess = MODEL(BATCH["pixel_values"]).squeeze(-1)
                every.append(ACC.gather_for_metrics(guess).cpu()) #first
                true.append(ACC.gather_for_metrics(BATCH["age"]).cpu()) #second
            return torch.cat(every), torch.cat(true)
        ===
        ACC = Accelerator(mixed_precision="bf16")
        MODEL, HELD = ACC.prepare(build(), HELD)
        every, true = collect(ACC, MODEL, HELD)
        ACC.print("MAE", (every - true).abs().mean().item())
    """, (
        Defect("gathered-with-duplicates", all_of(written("first", "gather_for_metrics", "gather"), written("second", "gather_for_metrics", "gather")), ("first", "second")),
    )),
    Scene("tensorgroups", """
        import torch
        import torch.distributed as dist
        ===
        dist.init_process_group("nccl")
        RANK, world = dist.get_rank(), dist.get_world_size()
        torch.cuda.set_device(RANK % 8)
        tp_size, tp_group = 4, None
        for start in range(0, world, tp_size):
            ranks = list(range(start, start + tp_size))
            group = dist.new_group(ranks) #group
            if RANK in ranks: #mine
                tp_group = group #kept
        dist.all_reduce(activations, group=tp_group)
    """, (
        Defect("group-made-by-some-ranks", all_of(without("group"), written("kept", "= group", "= dist.new_group(ranks)")), ("kept",)),
    )),
    Scene("meshes", """
        import torch
        import torch.distributed as dist

        def pipeline_group(stages, global_rank):
            mine = None
            for replica in range(dist.get_world_size() // stages): #replicas
                members = [replica * stages + s for s in range(stages)] #members
                made = dist.new_group(ranks=members, backend="nccl") #made
                if global_rank in members: #mine
                    mine = made #kept
            return mine
        ===
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
        group = pipeline_group(2, dist.get_rank())
        dist.broadcast(weights, src=0)
    """, (
        Defect("group-made-by-some-ranks", written("replicas", "range(dist.get_world_size() // stages)", "[global_rank // stages]"), ("made",)),
        Defect("group-made-by-some-ranks", all_of(without("made"), written("kept", "= made", '= dist.new_group(ranks=members, backend="nccl")')), ("kept",)),
    )),
)  # fmt: skip
