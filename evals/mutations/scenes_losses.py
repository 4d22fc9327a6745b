"""Scenes of losses and what they are given: logits, probabilities, masks, shapes; adapters and variational models."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from .planting import Defect, ahead, all_of, without, written
from .scene import Scene

LOSSES = (
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
    Scene("nanogpt", """
        import math
        import torch
        import torch.nn as nn
        from torch.nn import functional as F

        class CausalSelfAttention(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
                self.c_proj = nn.Linear(config.n_embd, config.n_embd)
                self.n_head = config.n_head
                self.register_buffer("bias", torch.tril(torch.ones(config.block_size, config.block_size)))

            def forward(self, x):
                B, T, C = x.size()
                q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
                att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
                att = att.masked_fill(self.bias[:T, :T] == 0, float("-inf")) #fill
                att = F.softmax(att, dim=-1)
                return self.c_proj((att @ v).transpose(1, 2).reshape(B, T, C))

        @torch.no_grad()
        def sample(model, idx, max_new_tokens, temperature=0.8, top_k=200):
            for _ in range(max_new_tokens):
                logits = model(idx)[0][:, -1, :] / temperature #scaled
                v, _ = torch.topk(logits, top_k)
                logits[logits < v[:, [-1]]] = -float("inf")
                probs = F.softmax(logits, dim=-1) #probs
                idx_next = torch.multinomial(probs, num_samples=1) #draw
                idx = torch.cat((idx, idx_next), dim=1)
            return idx
        ===
        SCALER = torch.amp.GradScaler("cuda")
        for I in range(5000):
            X, Y = get_batch("train")
            with torch.autocast("cuda", dtype=torch.float16):
                _, LOSS = MODEL(X, Y)
            SCALER.scale(LOSS).backward()
            SCALER.step(OPT)
            SCALER.update()
            OPT.zero_grad(set_to_none=True)
        print(decode(sample(MODEL, start, 100)[0].tolist()))
    """, (
        Defect("fill-too-large-for-half", written("fill", 'float("-inf")', "-1e9"), ("fill",)),
        Defect("temperature-multiplied", written("scaled", "/ temperature", "* temperature"), ("scaled",)),
        Defect("drawn-from-raw-scores", all_of(without("probs"), written("draw", "probs", "logits")), ("draw",)),
    )),
    Scene("pooling", """
        import torch
        import torch.nn as nn

        class AttentionPool(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.query = nn.Parameter(torch.randn(width) * 0.02)

            def forward(self, states, padding):
                weights = torch.matmul(states, self.query)
                blocked = torch.finfo(weights.dtype).min #blocked
                weights = weights.masked_fill(padding, blocked) #fill
                return (torch.softmax(weights, dim=1).unsqueeze(-1) * states).sum(1)
        ===
        MODEL = Encoder(pool=AttentionPool(512)).cuda()
        SCALER = torch.cuda.amp.GradScaler()
        for BATCH in DATA:
            with torch.cuda.amp.autocast():
                LOSS = MODEL(BATCH["x"], BATCH["padding"], BATCH["y"])
            SCALER.scale(LOSS).backward()
            SCALER.step(OPT)
            SCALER.update()
            OPT.zero_grad()
    """, (
        Defect("fill-too-large-for-half", written("blocked", "torch.finfo(weights.dtype).min", "-1e30"), ("fill", "blocked")),
    )),
    Scene("contrastive", """
        import torch
        import torch.nn.functional as F

        def info_nce(left, right, tau=0.05):
            sim = F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).T
            return F.cross_entropy(sim / tau, torch.arange(sim.size(0), device=sim.device)) #nce
        ===
        for BATCH in DATA:
            LOSS = info_nce(MODEL(BATCH["query"]), MODEL(BATCH["passage"]))
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("temperature-multiplied", written("nce", "sim / tau", "sim * tau"), ("nce",)),
    )),
    Scene("lowrank", """
        import math
        import torch
        import torch.nn as nn

        class LoraLinear(nn.Module):
            def __init__(self, linear, rank=8, alpha=16):
                super().__init__()
                self.linear = linear
                self.scaling = alpha / rank
                self.lora_A = nn.Parameter(torch.empty(rank, linear.in_features)) #a
                self.lora_B = nn.Parameter(torch.empty(linear.out_features, rank)) #b
                self.reset_parameters()

            def reset_parameters(self):
                nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5)) #init-a
                nn.init.zeros_(self.lora_B) #init-b

            def forward(self, x):
                return self.linear(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling
        ===
        for layer in MODEL.layers:
            layer.q_proj = LoraLinear(layer.q_proj)
            layer.v_proj = LoraLinear(layer.v_proj)
    """, (
        Defect("adapter-starts-dead", written("init-a", "kaiming_uniform_(self.lora_A, a=math.sqrt(5))", "zeros_(self.lora_A)"), ("a", "b", "init-a", "init-b")),
    )),
    Scene("bottleneck", """
        import torch
        from torch import nn

        class Adapter(nn.Module):
            def __init__(self, hidden_size, reduction=16):
                super().__init__()
                self.down = nn.Linear(hidden_size, hidden_size // reduction) #a
                self.up = nn.Linear(hidden_size // reduction, hidden_size) #b
                nn.init.zeros_(self.up.weight) #init-b
                nn.init.zeros_(self.up.bias)

            def forward(self, hidden_states):
                return hidden_states + self.up(torch.relu(self.down(hidden_states)))
        ===
        for block in MODEL.encoder.layer:
            block.output.adapter = Adapter(768)
    """, (
        Defect("adapter-starts-dead", ahead("init-b", "nn.init.zeros_(self.down.weight)", "init-a"), ("a", "b", "init-a", "init-b")),
    )),
    Scene("vae", """
        import torch
        from torch import nn
        from torch.nn import functional as F

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.to_mean, self.to_logvar = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
                self.decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

            def reparameterize(self, mu, logvar):
                std = torch.exp(0.5 * logvar) #std
                return mu + torch.randn_like(std) * std

            def forward(self, x):
                hidden = F.relu(self.body(x))
                mu, logvar = self.to_mean(hidden), self.to_logvar(hidden)
                return self.decoder(self.reparameterize(mu, logvar)), mu, logvar

        def elbo(recon, target, mu, logvar):
            bce = F.binary_cross_entropy_with_logits(recon, target, reduction="sum")
            kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) #kld
            return bce + kld #elbo
        ===
        MODEL = VAE()
        OPT = torch.optim.Adam(MODEL.parameters(), lr=1e-3)
        for images, _ in DATA:
            images = images.view(-1, 784)
            recon, mu, logvar = MODEL(images)
            LOSS = elbo(recon, images, mu, logvar) / len(images)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("deviation-from-variance", written("std", "0.5 * logvar", "logvar"), ("std",)),
        Defect("divergence-sign-flipped", written("kld", "-0.5", "0.5"), ("kld", "elbo")),
    )),
    Scene("latent", """
        import torch
        ===
        beta = 4.0
        for BATCH in DATA:
            mean, log_var = MODEL.encode(BATCH["x"])
            sigma = (0.5 * log_var).exp() #sigma
            OUT = MODEL.decode(mean + sigma * torch.randn_like(mean))
            reconstruction = torch.nn.functional.mse_loss(OUT, BATCH["x"])
            kl_loss = torch.mean(-0.5 * (1 + log_var - mean ** 2 - log_var.exp()).sum(dim=1)) #kl
            LOSS = reconstruction + beta * kl_loss #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("deviation-from-variance", written("sigma", "(0.5 * log_var).exp()", "log_var.exp()"), ("sigma",)),
        Defect("divergence-sign-flipped", written("kl", "-0.5", "0.5"), ("kl", "loss")),
    )),
)  # fmt: skip
