"""Scenes of what is chosen: the best epoch, the folds, averages and targets beside a model."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("patience", """
        import torch

        class EarlyStopping:
            def __init__(self, patience=3):
                self.patience = patience
                self.best = float("inf") #start
                self.waited = 0
                self.weights = None

            def __call__(self, val_loss, MODEL):
                if val_loss < self.best: #better
                    self.best = val_loss
                    self.waited = 0
                    self.weights = {k: v.detach().clone() for k, v in MODEL.state_dict().items()} #kept
                else:
                    self.waited += 1
                return self.waited >= self.patience
        ===
        stopper = EarlyStopping()
        for EP in range(50):
            PASS(MODEL, DATA, OPT)
            if stopper(CHECK(MODEL, HELD), MODEL):
                break
        MODEL.load_state_dict(stopper.weights)
        torch.save(MODEL.state_dict(), "final.pt")
    """, (
        Defect("best-never-beaten", written("start", 'float("inf")', "0.0"), ("start", "better")),
        Defect("best-weights-not-copied", written("kept", "{k: v.detach().clone() for k, v in MODEL.state_dict().items()}", "MODEL.state_dict()"), ("kept",)),
    )),
    Scene("chosen", """
        import torch
        from torch.utils.data import DataLoader

        def accuracy(MODEL, part):
            MODEL.eval()
            right = seen = 0
            with torch.no_grad():
                for X, Y in part:
                    right += (MODEL(X).argmax(-1) == Y).sum().item()
                    seen += len(Y)
            return right / seen
        ===
        val_loader = DataLoader(val_set, batch_size=128)
        test_loader = DataLoader(test_set, batch_size=128)
        best_acc = 0.0
        for EP in range(30):
            PASS(MODEL, DATA, OPT)
            current = accuracy(MODEL, val_loader) #scored
            if current > best_acc: #better
                best_acc = current
                torch.save(MODEL.state_dict(), "best.pt")
        MODEL.load_state_dict(torch.load("best.pt", weights_only=True))
        print("test", accuracy(MODEL, test_loader))
    """, (
        Defect("test-data-chooses", written("scored", "val_loader", "test_loader"), ("scored", "better")),
    )),
    Scene("graphs", """
        import copy
        import torch

        @torch.no_grad()
        def accuracies():
            MODEL.eval()
            found = MODEL(graph.x, graph.edge_index).argmax(-1) == graph.y
            return [found[m].float().mean().item() for m in (graph.train_mask, graph.val_mask, graph.test_mask)]
        ===
        best_val, final = 0.0, 0.0 #start
        for EP in range(1, 201):
            MODEL.train()
            OPT.zero_grad()
            OUT = MODEL(graph.x, graph.edge_index)
            LOSS = torch.nn.functional.cross_entropy(OUT[graph.train_mask], graph.y[graph.train_mask])
            LOSS.backward()
            OPT.step()
            train_acc, val_acc, test_acc = accuracies()
            if val_acc > best_val: #better
                best_val, final = val_acc, test_acc #set
                kept = copy.deepcopy(MODEL.state_dict())
        print(f"val {best_val:.4f} test {final:.4f}")
        torch.save(kept, "gcn.pt")
    """, (
        Defect("test-data-chooses", all_of(written("better", "val_acc > best_val", "test_acc > final")), ("better", "set")),
    )),
    Scene("folds", """
        import torch
        from sklearn.model_selection import StratifiedKFold
        from torch.utils.data import DataLoader, Subset
        ===
        fold_scores = [] #scores
        folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
        for fold, (tr, va) in enumerate(folds.split(rows, labels)): #folds
            MODEL = Tagger(hidden=256).to(device) #made
            OPT = torch.optim.AdamW(MODEL.parameters(), lr=2e-4) #opt
            DATA = DataLoader(Subset(DATASET, tr), batch_size=32, shuffle=True)
            HELD = DataLoader(Subset(DATASET, va), batch_size=64)
            for EP in range(10):
                PASS(MODEL, DATA, OPT)
            fold_scores.append(CHECK(MODEL, HELD)) #scored
        print(sum(fold_scores) / len(fold_scores))
    """, (
        Defect("folds-share-a-model", all_of(without("made", "opt"), ahead("scores", "MODEL = Tagger(hidden=256).to(device)|OPT = torch.optim.AdamW(MODEL.parameters(), lr=2e-4)", "made")), ("folds", "made", "scored")),
        Defect("folds-share-a-model", all_of(without("made"), ahead("scores", "MODEL = Tagger(hidden=256).to(device)", "made")), ("folds", "made", "scored", "opt")),
    )),
    Scene("crossed", """
        import numpy as np
        from sklearn.model_selection import KFold
        from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
        ===
        results = [] #results
        for fold, (tr, va) in enumerate(KFold(5, shuffle=True, random_state=13).split(np.arange(len(DATASET)))): #folds
            MODEL = AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=3) #made
            args = TrainingArguments(f"out/fold-{fold}", num_train_epochs=3, eval_strategy="epoch", save_strategy="no")
            trainer = Trainer(model=MODEL, args=args, train_dataset=DATASET.select(tr), eval_dataset=DATASET.select(va), compute_metrics=metrics) #trainer
            trainer.train()
            results.append(trainer.evaluate()["eval_accuracy"]) #scored
        print(np.mean(results), np.std(results))
    """, (
        Defect("folds-share-a-model", all_of(without("made"), ahead("results", "MODEL = AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=3)", "made")), ("folds", "made", "trainer", "scored")),
    )),
    Scene("dqn", """
        import copy
        import torch
        import torch.nn.functional as F
        ===
        policy_net = QNetwork(n_states, n_actions).to(device)
        target_net = copy.deepcopy(policy_net) #target
        OPT = torch.optim.Adam(policy_net.parameters(), lr=1e-4)
        for I in range(100_000):
            BATCH = memory.sample(128)
            q = policy_net(BATCH["state"]).gather(1, BATCH["action"]).squeeze(1)
            with torch.no_grad():
                future = target_net(BATCH["next_state"]).max(1).values
                wanted = BATCH["reward"] + 0.99 * (1 - BATCH["done"]) * future
            LOSS = F.smooth_l1_loss(q, wanted)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
            with torch.no_grad():
                for t, p in zip(target_net.parameters(), policy_net.parameters()):
                    t.lerp_(p, 0.005) #follow
    """, (
        Defect("copy-is-the-original", written("target", "copy.deepcopy(policy_net)", "policy_net"), ("target",)),
    )),
    Scene("averaged", """
        import copy
        import torch

        class MeanTeacher:
            def __init__(self, MODEL, decay=0.999):
                self.student = MODEL
                self.teacher = copy.deepcopy(MODEL) #teacher
                for p in self.teacher.parameters(): #frozen
                    p.requires_grad_(False) #stopped
                self.decay = decay

            @torch.no_grad()
            def follow(self):
                for t, s in zip(self.teacher.parameters(), self.student.parameters()):
                    t.mul_(self.decay).add_(s, alpha=1 - self.decay)
        ===
        MODEL = SegmentationNet(classes=4).cuda()
        pair = MeanTeacher(MODEL)
        OPT = torch.optim.SGD(MODEL.parameters(), lr=0.01, momentum=0.9)
        for BATCH in DATA:
            with torch.no_grad():
                wanted = pair.teacher(BATCH["weak"].cuda()).softmax(1)
            LOSS = torch.nn.functional.cross_entropy(MODEL(BATCH["strong"].cuda()), wanted)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
            pair.follow()
    """, (
        Defect("copy-is-the-original", all_of(written("teacher", "copy.deepcopy(MODEL)", "MODEL"), unwrapped("frozen"), without("stopped")), ("teacher",)),
    )),
)  # fmt: skip
