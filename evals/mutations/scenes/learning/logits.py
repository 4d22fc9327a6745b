"""Scenes of losses and what they are given: logits, probabilities, shapes."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, written
from ...scene import Scene

SCENES = (
    Scene("distilled", """
        import torch
        import torch.nn.functional as F

        def soft_target_loss(student_logits, teacher_logits, temperature):
            log_p = F.log_softmax(student_logits / temperature, dim=-1) #first
            q = F.softmax(teacher_logits / temperature, dim=-1) #second
            return F.kl_div(log_p, q, reduction="batchmean") * temperature ** 2 #kl
        ===
        for BATCH in DATA:
            with torch.no_grad():
                guide = teacher(BATCH["x"])
            OUT = MODEL(BATCH["x"])
            LOSS = 0.5 * F.cross_entropy(OUT, BATCH["y"]) + 0.5 * soft_target_loss(OUT, guide, 2.0)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("kl-of-probabilities", written("first", "F.log_softmax", "F.softmax"), ("kl", "first")),
        Defect("kl-of-probabilities", written("second", "F.softmax", "F.log_softmax"), ("kl", "second")),
    )),
    Scene("consistent", """
        import torch
        from torch import nn
        ===
        divergence = nn.KLDivLoss(reduction="batchmean", log_target=True) #made
        for weak, strong in DATA:
            with torch.no_grad():
                wanted = MODEL(weak).log_softmax(dim=1) #wanted
            LOSS = divergence(MODEL(strong).log_softmax(dim=1), wanted) #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("kl-of-probabilities", written("made", ", log_target=True", ""), ("loss", "made", "wanted")),
        Defect("kl-of-probabilities", written("loss", "MODEL(strong).log_softmax(dim=1)", "MODEL(strong).softmax(dim=1)"), ("loss",)),
    )),
    Scene("lit", """
        import lightning as L
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Classifier(nn.Module):
            def __init__(self, width, classes):
                super().__init__()
                self.encoder = nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
                self.fc = nn.Linear(width, classes)

            def forward(self, images):
                hidden = self.encoder(images)
                return self.fc(hidden) #out

        class LitModel(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = Classifier(64, 10)

            def training_step(self, batch, batch_idx):
                images, targets = batch
                scores = self.net(images)
                loss = F.cross_entropy(scores, targets, label_smoothing=0.1) #loss
                self.log("train_loss", loss)
                return loss

            def configure_optimizers(self):
                return torch.optim.AdamW(self.parameters(), lr=1e-3)
        ===
        trainer = L.Trainer(max_epochs=10)
        trainer.fit(LitModel(), DATA)
    """, (
        Defect("probabilities-of-the-model-as-logits", written("out", "self.fc(hidden)", "F.softmax(self.fc(hidden), dim=1)"), ("loss", "out")),
        Defect("scores-without-their-function", written("loss", "F.cross_entropy(scores, targets, label_smoothing=0.1)", "F.nll_loss(scores, targets)"), ("loss",)),
    )),
    Scene("tagged", """
        import torch
        from torch import nn
        ===
        head = nn.Linear(256, 12) #head
        MODEL = nn.Sequential(nn.Linear(768, 256), nn.GELU(), nn.Dropout(0.1), head) #model
        criterion = nn.BCEWithLogitsLoss() #criterion
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-3)
        for EP in range(5):
            for X, Y in DATA:
                LOSS = criterion(MODEL(X), Y.float()) #loss
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
    """, (
        Defect("probabilities-of-the-model-as-logits", written("model", "head)", "head, nn.Sigmoid())"), ("loss", "model")),
        Defect("scores-without-their-function", written("criterion", "BCEWithLogitsLoss", "BCELoss"), ("loss", "criterion", "model")),
    )),
    Scene("tabular", """
        import pandas as pd
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        ===
        frame = pd.read_csv("housing.csv")
        X = torch.tensor(frame.drop(columns=["price"]).values, dtype=torch.float32)
        Y = torch.tensor(frame["price"].values, dtype=torch.float32)
        DATA = DataLoader(TensorDataset(X, Y), batch_size=64, shuffle=True)
        MODEL = nn.Sequential(nn.Linear(X.shape[1], 128), nn.ReLU(), nn.Linear(128, 1)) #model
        OPT = torch.optim.Adam(MODEL.parameters(), lr=1e-3)
        loss_fn = nn.MSELoss()
        for EP in range(100):
            for xb, yb in DATA: #steps
                pred = MODEL(xb).squeeze(1) #pred
                LOSS = loss_fn(pred, yb) #loss
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
    """, (
        Defect("loss-broadcasts", written("pred", ".squeeze(1)", ""), ("loss", "pred")),
    )),
    Scene("forecast", """
        import torch
        from torch import nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset

        class Forecaster(nn.Module):
            def __init__(self, n_features):
                super().__init__()
                self.rnn = nn.GRU(n_features, 64, batch_first=True)
                self.out = nn.Linear(64, 1)

            def forward(self, window):
                states, _ = self.rnn(window)
                return self.out(states[:, -1]).squeeze(-1) #out
        ===
        demand = torch.from_numpy(table["demand"].to_numpy()).float()
        DATA = DataLoader(TensorDataset(windows, demand), batch_size=32, shuffle=True)
        MODEL = Forecaster(windows.size(-1))
        OPT = torch.optim.Adam(MODEL.parameters())
        for window, wanted in DATA:
            LOSS = F.l1_loss(MODEL(window), wanted) #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("loss-broadcasts", written("out", ".squeeze(-1)", ""), ("loss", "out")),
    )),
)  # fmt: skip
