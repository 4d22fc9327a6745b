"""Scenes of models measured one after another, of splits before a resumed training, of labels that are made, and of a
service before a model."""

from __future__ import annotations

from ...planting import Defect, without, written
from ...scene import Scene

SCENES = (
    Scene("models-in-turn", """
        import gc
        import time
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def timed(model, ids):
            start = time.perf_counter()
            out = model.generate(**ids, max_new_tokens=64)
            return out.shape[1] / (time.perf_counter() - start)
        ===
        TABLE = {}
        for NAME in ("org/chat-1b", "org/chat-3b", "org/chat-7b"):
            torch.cuda.reset_peak_memory_stats() #reset
            TOKENIZER = AutoTokenizer.from_pretrained(NAME)
            MODEL = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16).cuda() #loaded
            IDS = TOKENIZER(TEXT, return_tensors="pt").to("cuda")
            SPEED = timed(MODEL, IDS)
            PEAK = torch.cuda.max_memory_allocated() #peak
            TABLE[NAME] = (SPEED, PEAK)
            del MODEL #dropped
            gc.collect()
            torch.cuda.empty_cache()
    """, (
        Defect("peak-memory-never-reset", without("reset"), ("peak",)),
        Defect("model-outlives-its-turn", written("dropped", "del MODEL", "del IDS"), ("loaded", "dropped")),
    )),
    Scene("scored-from-disk", """
        import math
        import torch
        from tiny import TinyDecoder, windows
        ===
        NET = TinyDecoder(layers=4, width=192, vocab=16000) #new
        NET.load_state_dict(torch.load("out/last.pt")) #loaded
        NET.eval() #scored
        with torch.no_grad():
            LOSSES = [NET(X, Y).item() for X, Y in windows(TEXT)]
        PERPLEXITY = math.exp(sum(LOSSES) / len(LOSSES)) #told
        print("perplexity", PERPLEXITY)
    """, (
        Defect("untrained-model-scored", without("loaded"), ("told", "scored", "new")),
    )),
    Scene("goes-on-with-its-split", """
        import random
        import torch
        ===
        LINES = open("corpus.txt").read().splitlines()
        random.seed(11) #seed
        random.shuffle(LINES) #shuffled
        CUT = int(0.95 * len(LINES))
        TRAIN, HELD = LINES[:CUT], LINES[CUT:]
        NET.load_state_dict(torch.load("out/epoch8.pt"))
        for EPOCH in range(9, 30):
            for X, Y in batches(TRAIN):
                LOSS = NET(X, Y)
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
    """, (
        Defect("split-drawn-again", without("seed"), ("shuffled",)),
    )),
    Scene("masked-words", """
        import torch
        from transformers import default_data_collator

        def collate(rows):
            for row in rows:
                labels = row["labels"]
                kept = [-100] * len(labels) #made
                for i in chosen(row):
                    kept[i] = labels[i]
                    row["input_ids"][i] = MASK
                row["labels"] = kept #given
            return default_data_collator(rows)
        ===
        for BATCH in DataLoader(ROWS, batch_size=16, collate_fn=collate, shuffle=True):
            LOSS = NET(**BATCH).loss
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("labels-built-and-left", without("given"), ("made",)),
    )),
    Scene("a-step-of-ones-own", """
        from transformers import Trainer, TrainingArguments

        class Smoothed(Trainer):
            def training_step(self, model, inputs, *rest):
                loss = self.compute_loss(model, self._prepare_inputs(inputs)) + smoothness(model)
                (loss / self.args.gradient_accumulation_steps).backward()
                pass #step
                return loss.detach()
        ===
        ARGS = TrainingArguments("out", per_device_train_batch_size=8, gradient_accumulation_steps=4)
        Smoothed(NET, ARGS, train_dataset=ROWS).train()
    """, (
        Defect("accumulation-stepped-through", written("step", "pass", "self.optimizer.step()"), ("step",)),
    )),
    Scene("before-a-model", """
        import uuid
        from fastapi import FastAPI

        app = FastAPI()
        waiting = {}

        @app.post("/v1/complete")
        async def complete(body: dict):
            ticket = uuid.uuid4().hex
            waiting[ticket] = body #kept
            answer = await ask_model(body)
            waiting.pop(ticket) #done
            return {"ticket": ticket, "answer": answer}
        ===
        serve(app, port=PORT)
    """, (
        Defect("kept-for-each-request", without("done"), ("kept",)),
    )),
)  # fmt: skip
