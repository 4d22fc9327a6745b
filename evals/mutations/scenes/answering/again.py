"""Scenes that hold defects of other scenes in a second form: in classes, by other libraries, by position."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("evaluator", """
        import torch
        from sklearn.metrics import roc_auc_score
        from torch.utils.data import DataLoader
        from torchmetrics import MetricCollection
        from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

        class Evaluator:
            def __init__(self, MODEL, loader, classes):
                self.model, self.loader = MODEL, loader
                self.figures = MetricCollection({"acc": MulticlassAccuracy(classes), "f1": MulticlassF1Score(classes)}) #made
                self.correct = 0

            @torch.no_grad()
            def run(self):
                self.model.eval()
                self.correct = 0
                for BATCH in self.loader:
                    LOGITS = self.model(**BATCH).logits
                    self.figures.update(LOGITS, BATCH["labels"])
                    self.correct += LOGITS.argmax(-1).eq(BATCH["labels"]).sum().item() #counted
                told = {k: v.item() for k, v in self.figures.compute().items()} #compute
                self.figures.reset() #reset
                told["exact"] = self.correct / len(self.loader.dataset) #mean
                return told
        ===
        judge = Evaluator(MODEL, DataLoader(HELDSET, batch_size=32), classes=7)
        for EP in range(10):
            PASS(MODEL, DATA, OPT)
            print(EP, judge.run())
    """, (
        Defect("metric-not-reset", without("reset"), ("compute", "made")),
        Defect("count-divided-by-batches", written("mean", ".dataset", ""), ("mean", "counted")),
    )),
    Scene("ranked", """
        import torch
        from sklearn.metrics import average_precision_score, recall_score, roc_auc_score

        def measured(MODEL, val_loader):
            MODEL.eval()
            chances, truths = [], [] #lists
            with torch.no_grad():
                for X, Y in val_loader:
                    p = torch.sigmoid(MODEL(X.cuda())).cpu() #chance
                    chances.extend(p.squeeze(-1).tolist())
                    truths.extend(Y.tolist())
            predicted = [int(c >= 0.5) for c in chances] #predicted
            return {"auc": roc_auc_score(truths, chances), "recall": recall_score(truths, predicted)} #told
        ===
        print(measured(MODEL, HELD))
    """, (
        Defect("ratio-averaged-over-batches", all_of(ahead("lists", "auc = 0.0", "auc"), ahead("chance", "auc += roc_auc_score(Y, MODEL(X.cuda()).cpu())", "each"),
                                                     written("told", "roc_auc_score(truths, chances)", "auc / len(val_loader)")), ("each", "told")),
        Defect("ranking-metric-of-hard-labels", written("told", "roc_auc_score(truths, chances)", "roc_auc_score(truths, predicted)"), ("told", "predicted")),
        Defect("metric-arguments-swapped", written("told", "recall_score(truths, predicted)", "recall_score(predicted, truths)"), ("told",)),
    )),
    Scene("searched-for", """
        import joblib
        from sklearn.ensemble import GradientBoostingClassifier
        from sklearn.model_selection import train_test_split
        from sklearn.preprocessing import MinMaxScaler
        ===
        X_rest, X_test, y_rest, y_test = train_test_split(table, marks, test_size=0.2, random_state=1)
        X_train, X_val, y_train, y_val = train_test_split(X_rest, y_rest, test_size=0.2, random_state=1)
        scale = MinMaxScaler().fit(X_train) #fit
        best_score, best_model = 0.0, None
        for depth in (2, 3, 4, 6):
            clf = GradientBoostingClassifier(max_depth=depth).fit(scale.transform(X_train), y_train)
            score = clf.score(scale.transform(X_val), y_val) #scored
            if score > best_score: #better
                best_score, best_model = score, clf
                joblib.dump(clf, "best.joblib") #dump
        print("test", best_model.score(scale.transform(X_test), y_test))
    """, (
        Defect("test-data-chooses", written("scored", "scale.transform(X_val), y_val", "scale.transform(X_test), y_test"), ("scored", "better")),
    )),
    Scene("compiled", """
        import torch
        from torch import nn

        class Scorer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layers = nn.Sequential(nn.Linear(64, width), nn.GELU(), nn.Linear(width, 1))

            def forward(self, X):
                return self.layers(X).squeeze(-1)

        def train(DATA):
            raw = Scorer(512).cuda()
            MODEL = torch.compile(raw)
            OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-3)
            for X, Y in DATA:
                LOSS = nn.functional.mse_loss(MODEL(X.cuda()), Y.cuda())
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
            torch.save(raw.state_dict(), "scorer.pt") #save

        def load(path):
            net = Scorer(512)
            told = net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True), strict=False) #load
            if told.missing_keys: #check
                raise RuntimeError(told) #raise
            return net.eval()
        ===
        train(DATA)
        scorer = load("scorer.pt")
    """, (
        Defect("wrapped-weights-not-matched", all_of(written("save", "raw.", "MODEL."), unwrapped("check"), without("raise"), written("load", "told = ", "")), ("load", "save")),
        Defect("mismatches-unread", all_of(unwrapped("check"), without("raise"), written("load", "told = ", ""), written("load", "strict=False", "False")), ("load",)),
    )),
    Scene("replayed", """
        import random
        import numpy as np
        import torch
        ===
        random.seed(args.seed) #seed
        np.random.seed(7) #seed
        OPT = torch.optim.RMSprop(MODEL.parameters(), lr=2e-4)
        update = 0
        if args.resume:
            STATE = torch.load(f"{args.out}/state.pt", weights_only=False)
            MODEL.load_state_dict(STATE["model"])
            OPT.load_state_dict(STATE["optimizer"]) #moments
            update = STATE["update"]
            np.random.set_state(STATE["numpy"]) #random
        while update < args.updates: #steps
            picked = np.random.choice(len(examples), size=64, replace=False) #picked
            LOSS = MODEL([examples[p] for p in picked]).mean()
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            update += 1
            if update % 250 == 0:
                torch.save({"model": MODEL.state_dict(), "optimizer": OPT.state_dict(), "update": update, "numpy": np.random.get_state()}, f"{args.out}/state-{update}.pt") #save
    """, (
        Defect("random-numbers-not-kept", all_of(without("random"), written("save", ', "numpy": np.random.get_state()', "")), ("moments", "save", "picked", "seed")),
        Defect("saved-part-has-another-name", written("save", '"optimizer": OPT', '"opt": OPT'), ("moments", "save")),
    )),
    Scene("preferred", """
        from datasets import load_dataset
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from trl import DPOConfig, DPOTrainer
        ===
        pairs = load_dataset("json", data_files="pairs.jsonl", split="train")
        held = pairs.filter(lambda p: p["source"] == "annotator-3") #held
        rest = pairs.filter(lambda p: p["source"] != "annotator-3") #rest
        MODEL = AutoModelForCausalLM.from_pretrained("org/sft-1b")
        settings = DPOConfig(output_dir="out/dpo", beta=0.1, learning_rate=5e-7, bf16=True, eval_strategy="steps", eval_steps=100, save_strategy="steps", save_steps=100, load_best_model_at_end=True, metric_for_best_model="eval_rewards/accuracies", greater_is_better=True) #settings
        trainer = DPOTrainer(MODEL, args=settings, train_dataset=rest, eval_dataset=held, processing_class=AutoTokenizer.from_pretrained("org/sft-1b")) #trainer
        trainer.train()
    """, (
        Defect("evaluation-never-asked-for", written("settings", ', eval_strategy="steps", eval_steps=100, save_strategy="steps", save_steps=100, load_best_model_at_end=True, metric_for_best_model="eval_rewards/accuracies", greater_is_better=True', ""), ("trainer", "settings")),
        Defect("arguments-contradict", written("settings", 'eval_strategy="steps", eval_steps=100', 'eval_strategy="epoch"'), ("settings",)),
        Defect("best-is-the-worst", written("settings", "greater_is_better=True", "greater_is_better=False"), ("settings",)),
        Defect("rows-split-at-random", all_of(written("held", 'pairs.filter(lambda p: p["source"] == "annotator-3")', 'parted["test"]'), written("rest", 'pairs.filter(lambda p: p["source"] != "annotator-3")', 'parted["train"]'),
                                              ahead("held", "parted = pairs.train_test_split(0.05, seed=0)", "parted")), ("parted",)),
    )),
    Scene("averaged-weights", """
        import copy
        import torch

        class Ema:
            def __init__(self, MODEL, decay):
                self.decay = decay
                self.shadow = {k: v.detach().clone() for k, v in MODEL.state_dict().items()} #shadow

            @torch.no_grad()
            def update(self, MODEL):
                for k, v in MODEL.state_dict().items():
                    if v.dtype.is_floating_point:
                        self.shadow[k].lerp_(v, 1 - self.decay)
        ===
        MODEL = DiT(depth=12).cuda()
        ema = copy.deepcopy(MODEL).eval() #ema
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        lowest = float("inf")
        for I, BATCH in enumerate(DATA):
            LOSS = MODEL(BATCH["latent"].cuda(), BATCH["noise"].cuda()).mean()
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            with torch.no_grad():
                for a, p in zip(ema.parameters(), MODEL.parameters()):
                    a.lerp_(p, 1e-4)
            if I % 1000 == 0:
                val_loss = CHECK(ema, HELD)
                if val_loss < lowest: #better
                    lowest = val_loss
                    kept = copy.deepcopy(ema.state_dict()) #kept
        torch.save(kept, "dit.pt")
    """, (
        Defect("copy-is-the-original", written("ema", "copy.deepcopy(MODEL).eval()", "MODEL.eval()"), ("ema",)),
        Defect("best-weights-not-copied", written("kept", "copy.deepcopy(ema.state_dict())", "copy.copy(ema.state_dict())"), ("kept",)),
        Defect("best-never-beaten", written("better", "val_loss < lowest", "val_loss > lowest"), ("better",)),
    )),
)  # fmt: skip
