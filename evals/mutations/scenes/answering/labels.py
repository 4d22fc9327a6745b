"""Scenes of labels in measures and batches: accuracies, classes, splits, decoded references, padding."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("scored", """
        import torch
        from transformers import AutoModelForCausalLM

        @torch.no_grad()
        def token_accuracy(model, loader):
            model.eval()
            hits, count = 0, 0
            for batch in loader:
                labels = batch["labels"]
                logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
                guesses = logits[:, :-1].argmax(-1) #guesses
                labels = labels[:, 1:] #labels
                counted = labels != -100
                hits += ((guesses == labels) & counted).sum().item() #compared
                count += counted.sum().item()
            return hits / count
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        print(token_accuracy(MODEL, HELD))
    """, (
        Defect("accuracy-not-shifted", all_of(without("labels"), written("guesses", "[:, :-1]", "")), ("compared", "guesses")),
    )),
    Scene("monitored", """
        from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)

        def compute_metrics(eval_preds):
            logits, labels = eval_preds
            preds = logits.argmax(axis=-1)
            preds, labels = preds[:, :-1], labels[:, 1:] #shift
            kept = labels != -100
            return {"accuracy": (preds == labels)[kept].mean()} #accuracy

        trainer = Trainer(model=MODEL, train_dataset=DATASET, eval_dataset=HELDSET, compute_metrics=compute_metrics)
        trainer.train()
    """, (
        Defect("accuracy-not-shifted", without("shift"), ("accuracy",)),
    )),
    Scene("entities", """
        import torch
        import torch.nn.functional as F
        from torch.nn.utils.rnn import pad_sequence
        from torch.utils.data import DataLoader

        def collate(examples):
            words = pad_sequence([torch.tensor(e["words"]) for e in examples], batch_first=True)
            tags = pad_sequence([torch.tensor(e["tags"]) for e in examples], batch_first=True, padding_value=-100) #tags
            return words, tags
        ===
        names = sorted({tag for ROW in corpus for tag in ROW["tags"]}) #names
        tag_ids = {tag: k for k, tag in enumerate(names)} #numbered
        DATA = DataLoader(encode(corpus, tag_ids), batch_size=16, shuffle=True, collate_fn=collate)
        MODEL = Tagger(len(tag_ids))
        OPT = torch.optim.Adam(MODEL.parameters())
        for words, tags in DATA:
            LOSS = F.cross_entropy(MODEL(words).transpose(1, 2), tags)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("labels-padded-with-a-class", written("tags", ", padding_value=-100", ""), ("tags",)),
        Defect("labels-numbered-by-a-set", written("names", "sorted({tag for ROW in corpus for tag in ROW[\"tags\"]})", "{tag for ROW in corpus for tag in ROW[\"tags\"]}"), ("names", "numbered")),
    )),
    Scene("topics", """
        import hashlib
        import pandas as pd
        from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer

        def stable(text):
            return int(hashlib.sha1(text.encode()).hexdigest(), 16) #stable

        def is_held_out(doc_id):
            return stable(doc_id) % 100 < 5 #held
        ===
        frame = pd.read_json("articles.jsonl", lines=True)
        classes = sorted(set(frame["topic"])) #classes
        label2id = dict(zip(classes, range(len(classes)))) #numbered
        MODEL = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=len(classes), label2id=label2id) #model
        TOK = AutoTokenizer.from_pretrained("roberta-base") #tok
        held = frame["doc_id"].map(is_held_out)
        train_part, test_part = encode(frame[~held], TOK, label2id), encode(frame[held], TOK, label2id)
        Trainer(model=MODEL, train_dataset=train_part, eval_dataset=test_part).train()
    """, (
        Defect("labels-numbered-by-a-set", written("classes", 'sorted(set(frame["topic"]))', 'list(set(frame["topic"]))'), ("classes", "numbered")),
        Defect("split-by-salted-hash", written("held", "stable(doc_id)", "hash(doc_id)"), ("held",)),
        Defect("tokenizer-of-another-model", written("tok", "roberta-base", "bert-base-uncased"), ("tok",)),
    )),
    Scene("sharded", """
        import zlib
        import torch
        ===
        parts = {"train": [], "dev": [], "test": []}
        for ROW in rows:
            bucket = zlib.crc32(ROW["url"].encode()) % 20 #bucket
            parts["dev" if bucket == 0 else "test" if bucket == 1 else "train"].append(ROW) #chosen
        torch.save(parts, "parts.pt")
    """, (
        Defect("split-by-salted-hash", written("bucket", 'zlib.crc32(ROW["url"].encode())', 'hash(ROW["url"])'), ("bucket",)),
    )),
    Scene("summaries", """
        import evaluate
        import numpy as np
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer
        ===
        TOK = AutoTokenizer.from_pretrained("google-t5/t5-small")
        MODEL = AutoModelForSeq2SeqLM.from_pretrained("google-t5/t5-small")
        rouge = evaluate.load("rouge")

        def rouge_scores(eval_pred):
            generated, references = eval_pred
            references = np.where(references != -100, references, TOK.pad_token_id) #replaced
            said = TOK.batch_decode(generated, skip_special_tokens=True)
            wanted = TOK.batch_decode(references, skip_special_tokens=True) #decoded
            return rouge.compute(predictions=said, references=wanted)

        trainer = Seq2SeqTrainer(model=MODEL, train_dataset=DATASET, eval_dataset=HELDSET, compute_metrics=rouge_scores)
        trainer.train()
    """, (
        Defect("ignored-labels-decoded", without("replaced"), ("decoded",)),
    )),
    Scene("translated", """
        import numpy as np
        import sacrebleu
        from transformers import AutoTokenizer, DataCollatorForSeq2Seq, Seq2SeqTrainer
        ===
        TOK = AutoTokenizer.from_pretrained("Helsinki-NLP/opus-mt-en-de")

        def compute_metrics(p):
            preds = p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions
            label_ids = np.where(p.label_ids < 0, TOK.pad_token_id, p.label_ids) #replaced
            decoded_preds = [t.strip() for t in TOK.batch_decode(preds, skip_special_tokens=True)]
            decoded_labels = [[t.strip() for t in TOK.batch_decode(label_ids, skip_special_tokens=True)]] #decoded
            return {"bleu": sacrebleu.corpus_bleu(decoded_preds, decoded_labels).score}

        trainer = Seq2SeqTrainer(model=MODEL, data_collator=DataCollatorForSeq2Seq(TOK), compute_metrics=compute_metrics)
    """, (
        Defect("ignored-labels-decoded", all_of(without("replaced"), written("decoded", "label_ids", "p.label_ids")), ("decoded",)),
    )),
    Scene("filled", """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        class Packer:
            def __init__(self, tokenizer):
                self.tokenizer = tokenizer

            def __call__(self, examples):
                enc = self.tokenizer([e["text"] for e in examples], padding="longest", truncation=True, max_length=1024, return_tensors="pt")
                enc["labels"] = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100) #labels
                return enc
        ===
        TOK = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
        TOK.pad_token = TOK.unk_token
        MODEL = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
        DATA = torch.utils.data.DataLoader(DATASET, batch_size=8, shuffle=True, collate_fn=Packer(TOK))
    """, (
        Defect("padding-masked-by-token", written("labels", 'enc["attention_mask"] == 0', 'enc["input_ids"] == self.tokenizer.pad_token_id'), ("labels",)),
    )),
    Scene("listed", """
        import torch
        from transformers import AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained("bigscience/bloom-560m")

        def add_labels(BATCH):
            return {"labels": [[t if kept else -100 for t, kept in zip(row, seen)] for row, seen in zip(BATCH["input_ids"], BATCH["attention_mask"])]} #labels

        DATASET = raw.map(lambda b: TOK(b["text"], padding="max_length", truncation=True, max_length=256), batched=True)
        DATASET = DATASET.map(add_labels, batched=True)
    """, (
        Defect("padding-masked-by-token", written("labels", '[[t if kept else -100 for t, kept in zip(row, seen)] for row, seen in zip(BATCH["input_ids"], BATCH["attention_mask"])]',
                                                  '[[-100 if t == TOK.pad_token_id else t for t in row] for row in BATCH["input_ids"]]'), ("labels",)),
    )),
)  # fmt: skip
