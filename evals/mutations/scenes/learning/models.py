"""Scenes of models and their parts: attention, sampling, contrastive scores, adapters, variational models."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, without, written
from ...scene import Scene

SCENES = (
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
                self.down = nn.Linear(hidden_size, hidden_size // reduction, bias=False) #a
                self.up = nn.Linear(hidden_size // reduction, hidden_size, bias=False) #b
                nn.init.zeros_(self.up.weight) #init-b

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
