"""Scenes of figures: what an evaluation counts and averages, and what is kept as the best."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("accuracy", """
        import torch
        import torch.nn.functional as F
        from torch.utils.data import DataLoader

        @torch.no_grad()
        def CHECK(MODEL, HELD, device):
            MODEL.eval()
            right, TOTAL, seen = 0, 0.0, 0
            for BATCH in HELD:
                X = BATCH["image"].to(device, non_blocking=True)
                Y = BATCH["label"].to(device, non_blocking=True)
                OUT = MODEL(X)
                LOSS = F.cross_entropy(OUT, Y)
                TOTAL += LOSS.item() * Y.size(0) #summed
                right += (OUT.argmax(-1) == Y).sum().item() #counted
                seen += Y.size(0)
            return {"loss": TOTAL / seen, "acc": right / seen} #mean
        ===
        HELD = DataLoader(HELDSET, batch_size=64, num_workers=4, pin_memory=True)
        print(CHECK(MODEL, HELD, "cuda"))
    """, (
        Defect("count-divided-by-batches", written("mean", "right / seen", "right / len(HELD)"), ("mean", "counted")),
        Defect("count-divided-by-batches", all_of(ahead("mean", "passes = len(HELD)", "passes"), written("mean", "right / seen", "right / passes")), ("mean", "counted")),
        Defect("means-divided-by-items", written("summed", " * Y.size(0)", ""), ("mean", "summed")),
    )),
    Scene("meter", """
        import torch
        from torch import nn

        class AverageMeter:
            def __init__(self, name):
                self.name = name
                self.total = 0.0
                self.count = 0

            def update(self, value, n=1):
                self.total += value * n #added
                self.count += n

            @property
            def avg(self):
                return self.total / self.count #mean
        ===
        criterion = nn.CrossEntropyLoss()
        losses, top1 = AverageMeter("loss"), AverageMeter("acc@1")
        MODEL.eval()
        with torch.no_grad():
            for BATCH in HELD:
                Y = BATCH["label"].cuda()
                OUT = MODEL(BATCH["image"].cuda())
                losses.update(criterion(OUT, Y).item(), len(Y)) #loss
                top1.update((OUT.argmax(1) == Y).float().mean().item(), len(Y)) #acc
        print(f"loss {losses.avg:.3f} acc {top1.avg:.3f}")
    """, (
        Defect("means-divided-by-items", written("added", "value * n", "value"), ("added", "mean", "loss", "acc")),
    )),
    Scene("glue", """
        import numpy as np
        import torch
        from sklearn.metrics import f1_score, precision_score, roc_auc_score
        from torch.utils.data import DataLoader
        ===
        HELD = DataLoader(HELDSET, batch_size=32, shuffle=False, collate_fn=collate) #loader
        MODEL.eval()
        golds, scored = [], [] #lists
        with torch.no_grad():
            for BATCH in HELD:
                OUT = MODEL(input_ids=BATCH["input_ids"], attention_mask=BATCH["attention_mask"])
                chance = torch.softmax(OUT.logits.float(), dim=-1)[:, 1] #chance
                scored.append(chance.cpu().numpy())
                golds.append(BATCH["labels"].cpu().numpy())
        y_true = np.concatenate(golds) #gold
        chances = np.concatenate(scored)
        decided = (chances > 0.5).astype(int)
        print("auc", roc_auc_score(y_true, chances)) #auc
        print("precision", precision_score(y_true, decided)) #precision
        print("f1", f1_score(y_true, decided)) #f1
    """, (
        Defect("ranking-metric-of-hard-labels", written("auc", "chances", "decided"), ("auc",)),
        Defect("metric-arguments-swapped", written("precision", "(y_true, decided)", "(decided, y_true)"), ("precision",)),
        Defect("ratio-averaged-over-batches", all_of(
            ahead("lists", "f1s = []", "f1s"), ahead("chance", "f1s.append(f1_score(BATCH['labels'].cpu(), OUT.logits.argmax(-1).cpu()))", "each"),
            written("f1", "f1_score(y_true, decided)", "np.mean(f1s)")), ("each",)),
        Defect("predictions-in-another-order", all_of(
            written("loader", "shuffle=False", "shuffle=True"), written("gold", "np.concatenate(golds)", 'np.array(HELDSET["labels"])')), ("loader", "gold", "auc")),
    )),
    Scene("references", """
        import evaluate
        import torch
        from sklearn.metrics import average_precision_score, classification_report
        from torch.utils.data import DataLoader

        def predict(MODEL, DATA):
            scores = []
            for BATCH in DATA:
                with torch.inference_mode():
                    LOGITS = MODEL(**BATCH).logits
                scores.append(LOGITS.softmax(-1).cpu())
            return torch.cat(scores)
        ===
        metric = evaluate.load("glue", "mrpc")
        MODEL.eval()
        DATA = DataLoader(HELDSET, batch_size=64, collate_fn=collate) #loader
        scores = predict(MODEL, DATA)
        y_pred = scores.argmax(-1).numpy()
        references = HELDSET["label"]
        print(metric.compute(predictions=y_pred, references=references)) #score
        print("ap", average_precision_score(references, scores[:, 1].numpy())) #ap
        print(classification_report(references, y_pred, digits=3)) #report
    """, (
        Defect("predictions-in-another-order", written("loader", "collate_fn=collate", "collate_fn=collate, shuffle=True"), ("loader", "score")),
        Defect("ranking-metric-of-hard-labels", written("ap", "scores[:, 1].numpy()", "y_pred"), ("ap",)),
        Defect("metric-arguments-swapped", written("report", "(references, y_pred,", "(y_pred, references,"), ("report",)),
    )),
    Scene("perplexity", """
        import math
        import torch

        @torch.no_grad()
        def CHECK(MODEL, HELD, device):
            MODEL.eval()
            nll, tokens = 0.0, 0
            for BATCH in HELD:
                INPUTS, mask = BATCH["input_ids"].to(device), BATCH["attention_mask"].to(device)
                LABELS = INPUTS.masked_fill(mask == 0, -100)
                LOSS = MODEL(INPUTS, attention_mask=mask, labels=LABELS).loss
                n = (LABELS[:, 1:] != -100).sum().item()
                nll += LOSS.item() * n #summed
                tokens += n
            return math.exp(nll / tokens) #mean
        ===
        print("ppl", CHECK(MODEL, HELD, "cuda"))
    """, (
        Defect("perplexity-averaged", all_of(written("summed", "LOSS.item() * n", "math.exp(LOSS.item())"), written("mean", "math.exp(nll / tokens)", "nll / len(HELD)")), ("summed", "mean")),
    )),
    Scene("estimated", """
        import torch

        @torch.no_grad()
        def estimate(MODEL):
            result = {}
            MODEL.eval()
            for part in ("train", "val"):
                losses = torch.zeros(eval_iters)
                for k in range(eval_iters):
                    X, Y = get_batch(part)
                    OUT, LOSS = MODEL(X, Y)
                    losses[k] = LOSS.item() #kept
                result[part] = losses.mean() #mean
            MODEL.train()
            return result
        ===
        best_val_loss = 1e9 #start
        for I in range(max_iters):
            X, Y = get_batch("train")
            OUT, LOSS = MODEL(X, Y)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad(set_to_none=True)
            if I % eval_interval == 0:
                losses = estimate(MODEL) #asked
                if losses["val"] < best_val_loss: #better
                    best_val_loss = losses["val"]
                    torch.save({"model": MODEL.state_dict(), "iter": I}, f"best-{I}.pt")
    """, (
        Defect("perplexity-averaged", written("kept", "LOSS.item()", "LOSS.exp().item()"), ("kept", "mean")),
        Defect("best-never-beaten", written("start", "1e9", "0.0"), ("start", "better")),
    )),
    Scene("best", """
        import copy
        import torch
        from torchmetrics.classification import MulticlassF1Score
        ===
        figure = MulticlassF1Score(num_classes=5).to(device)
        best_f1 = 0.0 #start
        best_state = None
        for EP in range(20):
            MODEL.train()
            for BATCH in DATA:
                LOSS = criterion(MODEL(BATCH["x"].to(device)), BATCH["y"].to(device))
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
            MODEL.eval()
            figure.reset() #reset
            with torch.no_grad():
                for BATCH in HELD:
                    figure.update(MODEL(BATCH["x"].to(device)), BATCH["y"].to(device))
            f1 = figure.compute().item() #compute
            if f1 > best_f1: #better
                best_f1 = f1
                best_state = copy.deepcopy(MODEL.state_dict()) #kept
        MODEL.load_state_dict(best_state)
        torch.save(MODEL.state_dict(), "best.pt")
    """, (
        Defect("metric-not-reset", without("reset"), ("compute",)),
        Defect("best-never-beaten", written("start", "0.0", 'float("inf")'), ("start", "better")),
        Defect("best-is-the-worst", all_of(written("better", "f1 > best_f1", "f1 < best_f1"), written("start", "0.0", "1.0")), ("better", "start")),
        Defect("best-weights-not-copied", written("kept", "copy.deepcopy(MODEL.state_dict())", "MODEL.state_dict()"), ("kept",)),
        Defect("best-weights-not-copied", written("kept", "copy.deepcopy(MODEL.state_dict())", "MODEL.state_dict().copy()"), ("kept",)),
    )),
)  # fmt: skip
