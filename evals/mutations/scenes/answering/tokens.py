"""Scenes of tokens and labels: what is masked, what ends an answer, which tokens a model has."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("alpaca", """
        import copy
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer

        IGNORE_INDEX = -100

        def preprocess(sources, targets, tokenizer):
            examples = [s + t for s, t in zip(sources, targets)]
            tokenized = [torch.tensor(tokenizer(t, truncation=True, max_length=512)["input_ids"]) for t in examples]
            sources_lens = [len(tokenizer(s)["input_ids"]) for s in sources]
            labels = copy.deepcopy(tokenized)
            for label, source_len in zip(labels, sources_lens):
                label[:source_len] = IGNORE_INDEX #masked
            return dict(input_ids=tokenized, labels=labels)
        ===
        TOK = AutoTokenizer.from_pretrained("huggyllama/llama-7b") #tok
        MODEL = AutoModelForCausalLM.from_pretrained("huggyllama/llama-7b") #model
        TOK.add_special_tokens({"pad_token": "[PAD]", "additional_special_tokens": ["<|tool|>"]}) #added
        MODEL.resize_token_embeddings(len(TOK)) #resize
        DATASET = Pairs(preprocess([prompt_of(r) for r in rows], [r["output"] + TOK.eos_token for r in rows], TOK))
        Trainer(model=MODEL, train_dataset=DATASET, data_collator=PadLabels(TOK)).train()
    """, (
        Defect("answer-masked-instead", written("masked", "label[:source_len]", "label[source_len:]"), ("masked",)),
        Defect("embeddings-not-resized", without("resize"), ("added", "model")),
        Defect("resized-without-the-new", written("resize", "len(TOK)", "TOK.vocab_size"), ("resize",)),
        Defect("tokenizer-of-another-model", written("tok", "huggyllama/llama-7b", "EleutherAI/gpt-neox-20b"), ("tok",)),
    )),
    Scene("dialogues", """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        class SFTDataset:
            def __init__(self, rows, tokenizer, max_len=2048):
                self.rows, self.tokenizer, self.max_len = rows, tokenizer, max_len

            def __len__(self):
                return len(self.rows)

            def __getitem__(self, index):
                row = self.rows[index]
                prompt_ids = self.tokenizer(row["instruction"]).input_ids
                answer_ids = self.tokenizer(row["answer"], add_special_tokens=False).input_ids #answer
                answer_ids = answer_ids + [self.tokenizer.eos_token_id] #end
                input_ids = (prompt_ids + answer_ids)[: self.max_len] #joined
                labels = ([-100] * len(prompt_ids) + answer_ids)[: self.max_len] #labels
                return {"input_ids": input_ids, "labels": labels} #row
        ===
        name = "meta-llama/Llama-3.1-8B"
        TOK = AutoTokenizer.from_pretrained(name)
        MODEL = AutoModelForCausalLM.from_pretrained(name)
        DATASET = SFTDataset(load_rows("train.jsonl"), TOK)
    """, (
        Defect("special-tokens-in-the-middle", written("answer", ", add_special_tokens=False", ""), ("answer", "joined")),
        Defect("answers-without-end", without("end"), ("row", "labels", "answer")),
        Defect("answer-masked-instead", written("labels", "[-100] * len(prompt_ids) + answer_ids", "prompt_ids + [-100] * len(answer_ids)"), ("labels",)),
    )),
    Scene("formatted", """
        from datasets import load_dataset
        from transformers import AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained("google/gemma-2-2b")

        def tokenize(example):
            question = TOK.encode(f"Question: {example['question']}\\nAnswer:")
            reply = TOK.encode(" " + example["answer"] + TOK.eos_token, add_special_tokens=False) #reply
            ids = question + reply #joined
            targets = [-100] * len(question) + ids[len(question):] #targets
            return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": targets} #row

        DATASET = load_dataset("json", data_files="qa.jsonl", split="train").map(tokenize)
    """, (
        Defect("special-tokens-in-the-middle", written("reply", ", add_special_tokens=False", ""), ("reply", "joined")),
        Defect("answers-without-end", written("reply", " + TOK.eos_token", ""), ("row", "targets", "reply")),
        Defect("answer-masked-instead", written("targets", "[-100] * len(question) + ids[len(question):]", "ids[:len(question)] + [-100] * len(reply)"), ("targets",)),
    )),
    Scene("templated", """
        from datasets import load_dataset
        from transformers import AutoModelForCausalLM, AutoTokenizer
        ===
        checkpoint = "mistralai/Mistral-7B-v0.3"
        TOK = AutoTokenizer.from_pretrained(checkpoint)
        MODEL = AutoModelForCausalLM.from_pretrained(checkpoint)
        TOK.add_tokens(["<|im_start|>", "<|im_end|>"], special_tokens=True) #added
        TOK.chat_template = CHATML
        MODEL.resize_token_embeddings(len(TOK), pad_to_multiple_of=64) #resize

        def render(rows):
            texts = [TOK.apply_chat_template(m, tokenize=False) for m in rows["messages"]] #rendered
            return TOK(texts, truncation=True, max_length=4096, add_special_tokens=False) #tokenised

        DATASET = load_dataset("json", data_files="chats.jsonl", split="train").map(render, batched=True)
    """, (
        Defect("special-tokens-twice", written("tokenised", ", add_special_tokens=False", ""), ("tokenised",)),
        Defect("embeddings-not-resized", without("resize"), ("added",)),
        Defect("resized-without-the-new", written("resize", "len(TOK), pad_to_multiple_of=64", "TOK.vocab_size"), ("resize",)),
    )),
    Scene("mlm", """
        import torch

        class MaskingCollator:
            def __init__(self, tokenizer, probability=0.15):
                self.tokenizer, self.probability = tokenizer, probability

            def __call__(self, rows):
                batch = self.tokenizer.pad(rows, return_tensors="pt")
                inputs, labels = batch["input_ids"], batch["input_ids"].clone()
                chance = torch.full(labels.shape, self.probability)
                chance.masked_fill_(special_mask(labels, self.tokenizer), value=0.0)
                hidden = torch.bernoulli(chance).bool()
                labels[~hidden] = -100 #labels
                replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & hidden
                inputs[replaced] = self.tokenizer.convert_tokens_to_ids(self.tokenizer.mask_token) #replaced
                return {"input_ids": inputs, "attention_mask": batch["attention_mask"], "labels": labels}
        ===
        DATA = torch.utils.data.DataLoader(DATASET, batch_size=32, shuffle=True, collate_fn=MaskingCollator(TOK))
    """, (
        Defect("masked-tokens-not-predicted", written("labels", "~hidden", "hidden"), ("labels",)),
    )),
    Scene("bertstyle", """
        import torch

        def corrupt(ids, tokenizer):
            picked = torch.rand(ids.shape, device=ids.device) < 0.15
            picked &= ids != tokenizer.pad_token_id
            targets = ids.masked_fill(~picked, -100) #targets
            corrupted = ids.masked_fill(picked, tokenizer.mask_token_id) #corrupted
            return corrupted, targets
        ===
        for BATCH in DATA:
            corrupted, targets = corrupt(BATCH["input_ids"], TOK)
            LOSS = MODEL(input_ids=corrupted, attention_mask=BATCH["attention_mask"], labels=targets).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("masked-tokens-not-predicted", written("targets", "~picked", "picked"), ("targets",)),
    )),
    Scene("weighted", """
        import torch
        import torch.nn.functional as F
        from transformers import AutoModelForCausalLM

        def masked_nll(model, tokens, attention_mask, loss_mask):
            logits = model(tokens, attention_mask=attention_mask).logits[:, :-1] #logits
            targets = tokens[:, 1:]
            keep = loss_mask[:, 1:].float() #keep
            nll = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
            return (nll * keep).sum() / keep.sum().clamp(min=1) #mean
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        for BATCH in DATA:
            LOSS = masked_nll(MODEL, BATCH["tokens"], BATCH["attention_mask"], BATCH["loss_mask"])
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("mask-cut-at-the-other-end", written("keep", "[:, 1:]", "[:, :-1]"), ("keep",)),
        Defect("mean-over-what-is-masked", written("mean", "(nll * keep).sum() / keep.sum().clamp(min=1)", "(nll * keep).mean()"), ("mean",)),
    )),
    Scene("sequence", """
        import torch
        from transformers import AutoModelForCausalLM
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        for BATCH in DATA:
            INPUTS = BATCH["input_ids"]
            scores = MODEL(INPUTS, attention_mask=BATCH["attention_mask"]).logits.float()
            logp = scores[:, :-1].log_softmax(-1).gather(-1, INPUTS[:, 1:, None]).squeeze(-1) #logp
            mask = BATCH["completion_mask"][:, 1:] #mask
            LOSS = -(logp * mask).sum() / mask.sum() #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("logprobs-not-shifted", all_of(written("logp", "scores[:, :-1]", "scores"), written("logp", "INPUTS[:, 1:, None]", "INPUTS[:, :, None]"), written("mask", "[:, 1:]", "")), ("logp",)),
        Defect("mask-cut-at-the-other-end", written("mask", "[:, 1:]", "[:, :-1]"), ("mask",)),
        Defect("mean-over-what-is-masked", written("loss", "(logp * mask).sum() / mask.sum()", "(logp * mask).mean()"), ("loss",)),
    )),
)  # fmt: skip
