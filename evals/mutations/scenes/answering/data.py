"""Scenes of data, labels and evaluation."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("encode", """
        from transformers import AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained(path)

        def encode(ROW):
            prompt = TOK(ROW["prompt"], add_special_tokens=False)["input_ids"]
            answer = TOK(ROW["response"] + TOK.eos_token, add_special_tokens=False)["input_ids"]
            INPUTS = (prompt + answer)[:1024]
            LABELS = ([-100] * len(prompt) + answer)[:1024] #labels
            return {"input_ids": INPUTS, "labels": LABELS} #row
    """, (
        Defect("prompt-in-loss", written("labels", "([-100] * len(prompt) + answer)[:1024]", "list(INPUTS)"), ("labels", "row")),
    )),
    Scene("padded", """
        from transformers import AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained(path)
        TOK.add_special_tokens({"pad_token": "<|pad|>"}) #pad

        def encode(rows):
            BATCH = TOK(rows["text"], padding="max_length", truncation=True, max_length=512, return_tensors="pt")
            LABELS = BATCH["input_ids"].clone()
            LABELS[LABELS == TOK.pad_token_id] = -100 #masked
            BATCH["labels"] = LABELS #set
            return BATCH
    """, (
        Defect("pad-in-loss", without("masked"), ("set",)),
        Defect("end-token-masked", written("pad", 'TOK.add_special_tokens({"pad_token": "<|pad|>"})', "TOK.pad_token = TOK.eos_token"), ("masked",)),
    )),
    Scene("searched", """
        from transformers import AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained(path)

        def encode(ROW):
            INPUTS = TOK(ROW["text"])["input_ids"]
            start = ROW["prompt_tokens"] #start
            return {"input_ids": INPUTS, "labels": [-100] * start + INPUTS[start:]}
    """, (
        Defect("mask-by-text-search", written("start", 'ROW["prompt_tokens"]', 'len(TOK(ROW["text"].split("<|assistant|>")[0])["input_ids"])'), ("start",)),
    )),
    Scene("shifted", """
        import torch
        import torch.nn.functional as F
        ===
        for BATCH in DATA:
            INPUTS = BATCH["input_ids"]
            LABELS = INPUTS.masked_fill(BATCH["attention_mask"] == 0, -100)
            LOGITS = MODEL(INPUTS, attention_mask=BATCH["attention_mask"]).logits #forward
            LOSS = F.cross_entropy(LOGITS[:, :-1].reshape(-1, vocab), LABELS[:, 1:].reshape(-1), ignore_index=-100) #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("labels-not-shifted", all_of(written("loss", "LOGITS[:, :-1]", "LOGITS"), written("loss", "LABELS[:, 1:]", "LABELS")), ("loss",)),
        Defect("ignore-index-differs", written("loss", "ignore_index=-100", "ignore_index=0"), ("loss",)),
        Defect("softmax-before-cross-entropy", written("forward", ".logits", ".logits.softmax(-1)"), ("forward", "loss")),
    )),
    Scene("shifting-model", """
        import torch
        from transformers import AutoModelForCausalLM
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        for BATCH in DATA:
            INPUTS = BATCH["input_ids"]
            LOSS = MODEL(input_ids=INPUTS, labels=INPUTS).loss #forward
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("labels-shifted-twice", all_of(written("forward", "input_ids=INPUTS", "input_ids=INPUTS[:, :-1]"), written("forward", "labels=INPUTS", "labels=INPUTS[:, 1:]")), ("forward",)),
    )),
    Scene("loaders", """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader
        ===
        train_loader = DataLoader(DATASET, batch_size=16, shuffle=True, num_workers=4, worker_init_fn=lambda w: np.random.seed(7 + w)) #loader
        test_loader = DataLoader(HELDSET, batch_size=32, drop_last=False) #held
        for EP in range(3): #epochs
            for BATCH in train_loader: #steps
                LOSS = MODEL(**BATCH).loss
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
    """, (
        Defect("training-data-not-shuffled", written("loader", "shuffle=True", "shuffle=False"), ("loader",)),
        Defect("workers-share-a-seed", written("loader", "7 + w", "7"), ("loader",)),
        Defect("evaluation-drops-items", written("held", "drop_last=False", "drop_last=True"), ("held",)),
        Defect("iterator-used-up", all_of(ahead("epochs", "batches = iter(train_loader)", "made"), written("steps", "train_loader", "batches")), ("steps",)),
    )),
    Scene("stepped", """
        import torch
        ===
        batches = iter(DATA) #made
        for I in range(1000): #steps
            BATCH = next(batches) #next
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("first-batch-again", all_of(without("made"), written("next", "next(batches)", "next(iter(DATA))")), ("next",)),
    )),
    Scene("stream", """
        import json
        from torch.utils.data import DataLoader, IterableDataset, get_worker_info

        class Lines(IterableDataset):
            def __init__(self, path):
                self.path = path

            def __iter__(self): #iter
                worker = get_worker_info() #worker
                for k, line in enumerate(open(self.path)): #lines
                    if k % worker.num_workers == worker.id: #mine
                        yield json.loads(line) #yield
        ===
        DATA = DataLoader(Lines("train.jsonl"), batch_size=8, num_workers=4) #loader
    """, (
        Defect("workers-repeat-the-stream", all_of(without("worker"), unwrapped("mine")), ("loader", "iter", "lines", "yield")),
    )),
    Scene("split", """
        from datasets import concatenate_datasets, load_dataset
        from transformers import Trainer
        ===
        whole = load_dataset("json", data_files="all.jsonl", split="train")
        parts = whole.train_test_split(test_size=0.05) #split
        more = concatenate_datasets([parts["train"]] * 3) #repeat
        trainer = Trainer(model=MODEL, train_dataset=more, eval_dataset=parts["test"]) #trainer
    """, (
        Defect("split-after-duplication", lambda lines: [x.replace("whole.train_test_split", "concatenate_datasets([whole] * 3).train_test_split") if x.endswith("#split") else x for x in lines], ("split",)),
        Defect("evaluated-on-training-data", written("trainer", 'eval_dataset=parts["test"]', "eval_dataset=more"), ("trainer",)),
    )),
    Scene("validate", """
        import torch

        @torch.no_grad() #nograd
        def validate(MODEL, HELD): #def
            MODEL.eval() #eval
            SUM, count, kept = 0.0, 0, []
            for BATCH in HELD: #loop
                OUT = MODEL(**BATCH) #run
                LOSS = torch.nn.functional.cross_entropy(OUT.logits, BATCH["y"], reduction="sum") #loss
                SUM += LOSS.item()
                count += len(BATCH["y"])
                kept.append(OUT.logits.argmax(-1).cpu()) #kept
            return SUM / count, torch.cat(kept) #mean
        ===
        print(validate(MODEL, HELD))
    """, (
        Defect("evaluated-in-training-mode", without("eval"), ("loop", "nograd", "def", "run")),
        Defect("evaluated-with-gradients", without("nograd"), ("loop", "eval", "def", "run")),
        Defect("outputs-kept-on-device", written("kept", ".argmax(-1).cpu()", ""), ("kept",)),
        Defect("loss-averaged-over-batches", written("mean", "SUM / count", "SUM / len(HELD)"), ("mean",)),
    )),
    Scene("asked", """
        import random
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def clean(text):
            return text.strip().lower()
        ===
        TOK = AutoTokenizer.from_pretrained("org/Base-7B-Instruct", padding_side="left") #tok
        MODEL = AutoModelForCausalLM.from_pretrained("org/Base-7B-Instruct")
        shots = random.sample(train_items, 4) #shots
        right = 0
        for ROW in test_items: #items
            prompt = build(shots, ROW["question"])
            text = TOK.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True) #template
            inputs = TOK([text], return_tensors="pt", padding=True, add_special_tokens=False)
            OUT = MODEL.generate(**inputs, max_new_tokens=64, do_sample=False) #generate
            said = TOK.decode(OUT[0], skip_special_tokens=True)
            right += said.strip().lower() == ROW["answer"].strip().lower() #compare
        accuracy = right / len(test_items)
    """, (
        Defect("test-items-in-prompts", written("shots", "train_items", "test_items"), ("shots",)),
        Defect("chat-template-missing", written("template", 'TOK.apply_chat_template([{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True)', "prompt"), ("generate",)),
        Defect("batched-generation-padded-right", written("tok", 'padding_side="left"', 'padding_side="right"'), ("tok",)),
        Defect("one-side-normalised", written("compare", 'ROW["answer"].strip().lower()', 'ROW["answer"]'), ("compare",)),
    )),
    Scene("sampled", """
        import torch

        def evaluate(MODEL, items): #function
            MODEL.eval()
            right = 0
            for ROW in items:
                with torch.no_grad():
                    OUT = MODEL.generate(**ROW["inputs"], do_sample=False) #generate
                right += OUT[0].tolist() == ROW["answer"]
            return right / len(items)
        ===
        print(evaluate(MODEL, test_items))
    """, (
        Defect("evaluation-samples", written("generate", "do_sample=False", "do_sample=True, temperature=0.9"), ("generate",)),
    )),
    Scene("fetched", """
        import os
        import torch
        from huggingface_hub import hf_hub_download
        ===
        where = hf_hub_download("someone/weights", "model.pt")
        STATE = torch.load(where, map_location="cpu", weights_only=True) #load
        MODEL.load_state_dict(STATE)
    """, (
        Defect("pickle-from-elsewhere", written("load", "weights_only=True", "weights_only=False"), ("load",)),
    )),
)  # fmt: skip
