"""Scenes of heads on a body: how they are pooled, which of their parameters are trained, what is frozen."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("pooled", """
        import torch
        from torch import nn
        from transformers import AutoModel

        class Pooled(nn.Module):
            def __init__(self, path, kinds):
                super().__init__()
                self.encoder = AutoModel.from_pretrained(path)
                width = self.encoder.config.hidden_size
                self.pooler = nn.Linear(width, 1)
                self.classifier = nn.Linear(width, kinds)

            def forward(self, INPUTS, mask):
                hidden = self.encoder(INPUTS, attention_mask=mask).last_hidden_state
                weights = self.pooler(hidden).squeeze(-1).masked_fill(mask == 0, -1e4)
                weights = weights - weights.amax(dim=1, keepdim=True) #shift
                weights = weights.exp() #exp
                weights = weights / weights.sum(dim=1, keepdim=True) #weights
                return self.classifier((weights.unsqueeze(-1) * hidden).sum(1))
        ===
        MODEL = Pooled("org/encoder", 14).cuda()
        groups = [
            {"params": MODEL.encoder.parameters(), "lr": 2e-5},
            {"params": MODEL.pooler.parameters(), "lr": 1e-3}, #pooler
            {"params": MODEL.classifier.parameters(), "lr": 1e-3},
        ]
        OPT = torch.optim.AdamW(groups) #opt
        for BATCH in DATA:
            OUT = MODEL(BATCH["input_ids"].cuda(), BATCH["attention_mask"].cuda())
            LOSS = nn.functional.cross_entropy(OUT, BATCH["labels"].cuda()) #loss
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
            OPT.step() #step
            OPT.zero_grad()
    """, (
        Defect("exp-without-maximum", without("shift"), ("exp", "weights")),
        Defect("parameters-left-out", without("pooler"), ("opt", "step")),
        Defect("loss-clamped", written("loss", 'BATCH["labels"].cuda())', 'BATCH["labels"].cuda()).clamp(max=6.0)'), ("loss",)),
        Defect("clip-on-a-part", written("clip", "MODEL.parameters()", "MODEL.encoder.parameters()"), ("clip",)),
    )),
    Scene("linear-attention", """
        import itertools
        import torch
        from torch import nn

        def soft(scores, dim):
            shifted = scores - scores.max(dim, keepdim=True).values #shift
            raised = torch.exp(shifted)
            total = raised.sum(dim, keepdim=True)
            return raised / total #soft

        class Mixer(nn.Module):
            def __init__(self, width, vocab):
                super().__init__()
                self.embed = nn.Embedding(vocab, width)
                self.keys, self.queries = nn.Linear(width, width), nn.Linear(width, width)
                self.values = nn.Linear(width, width)
                self.out = nn.Linear(width, vocab)

            def forward(self, tokens):
                hidden = self.embed(tokens)
                weights = soft(self.queries(hidden) @ self.keys(hidden).transpose(1, 2), -1)
                return self.out(weights @ self.values(hidden))
        ===
        MODEL = Mixer(256, 1000)
        trained = itertools.chain(MODEL.embed.parameters(), MODEL.keys.parameters(), MODEL.queries.parameters(), MODEL.values.parameters(), MODEL.out.parameters()) #trained
        OPT = torch.optim.AdamW(trained, lr=1e-3) #opt
        for X, Y in DATA:
            losses = nn.functional.cross_entropy(MODEL(X).flatten(0, 1), Y.flatten(), reduction="none") #losses
            LOSS = losses.mean() #mean
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("exp-without-maximum", all_of(without("shift"), lambda lines: [x.replace("torch.exp(shifted)", "torch.exp(scores) #exp") for x in lines]), ("soft", "exp")),
        Defect("parameters-left-out", written("trained", "MODEL.queries.parameters(), ", ""), ("opt", "trained")),
        Defect("loss-clamped", written("mean", "losses.mean()", "torch.clamp(losses, max=8.0).mean()"), ("mean",)),
    )),
    Scene("frozen-tower", """
        import torch
        from transformers import AutoModelForVision2Seq
        ===
        MODEL = AutoModelForVision2Seq.from_pretrained(path)
        MODEL.vision_tower.requires_grad_(False) #tower
        for layer in MODEL.language_model.model.layers[:4]:
            layer.requires_grad_(False) #layer
        trained = [p for p in MODEL.parameters() if p.requires_grad]
        OPT = torch.optim.AdamW(trained, lr=1e-5)
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0) #clip
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("frozen-in-name-only", written("tower", "requires_grad_(False)", "requires_grad = False"), ("tower",)),
        Defect("frozen-in-name-only", written("layer", "requires_grad_(False)", "requires_grad = False"), ("layer",)),
    )),
    Scene("frozen-children", """
        import torch
        import torchvision
        from torch import nn

        def freeze(module):
            for p in module.parameters():
                p.requires_grad = False
        ===
        MODEL = torchvision.models.resnet50(weights="DEFAULT")
        for name, child in MODEL.named_children():
            if name not in ("layer4", "fc"):
                freeze(child) #freeze
        MODEL.fc = nn.Linear(MODEL.fc.in_features, 37)
        OPT = torch.optim.SGD((p for p in MODEL.parameters() if p.requires_grad), lr=0.01, momentum=0.9)
        for X, Y in DATA:
            LOSS = nn.functional.cross_entropy(MODEL(X), Y)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("frozen-in-name-only", written("freeze", "freeze(child)", "child.requires_grad = False"), ("freeze",)),
    )),
    Scene("split-projection", """
        import torch
        import torch.nn.functional as F
        from torch import nn

        class RowSplit(nn.Module):
            def __init__(self, width, out, ranks):
                super().__init__()
                self.kernel = nn.Parameter(torch.empty(out // ranks, width))
                nn.init.normal_(self.kernel, mean=0.0, std=0.02) #drawn

            def forward(self, x):
                return F.linear(x, self.kernel)
        ===
        HEAD = RowSplit(512, 4096, 4)
        OPT = torch.optim.AdamW(HEAD.parameters(), lr=3e-4)
        for X, Y in DATA:
            LOSS = F.cross_entropy(HEAD(X), Y)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("weights-drawn-with-unit-spread", written("drawn", ", mean=0.0, std=0.02", ""), ("drawn",)),
    )),
    Scene("kept-outputs", """
        import torch
        import torch.nn.functional as F

        class Fit:
            def __init__(self, model, optimizer, loader):
                self.model, self.optimizer, self.loader = model, optimizer, loader
                self.heat = []

            def epoch(self):
                for x, y in self.loader:
                    out = self.model(x.cuda())
                    self.heat = out.detach() #kept
                    loss = F.cross_entropy(out, y.cuda())
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
        ===
        FIT = Fit(NET, OPT, DATA)
        for ROUND in range(20):
            FIT.epoch()
    """, (
        Defect("outputs-gathered-while-training", written("kept", "self.heat = out.detach()", "self.heat.append(out.detach())"), ("kept",)),
    )),
    Scene("items-with-features", """
        import torch
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, Dataset

        class Clips(Dataset):
            def __init__(self, paths):
                self.paths = paths

            def __len__(self):
                return len(self.paths)

            def __getitem__(self, i):
                wave = torch.load(self.paths[i])
                return wave #item
        ===
        BATCHES = DataLoader(Clips(PATHS), batch_size=16, shuffle=True, num_workers=6)
        OPT = torch.optim.AdamW(NET.parameters(), lr=1e-4)
        for WAVE in BATCHES:
            LOSS = NET(WAVE.cuda()).square().mean()
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("gpu-work-in-the-data-set", written("item", "return wave", "return wave.cuda()"), ("item",)),
    )),
)  # fmt: skip
