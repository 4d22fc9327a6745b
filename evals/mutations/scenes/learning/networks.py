"""Scenes of networks that a file makes itself: blocks, stages, rotary positions."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, written
from ...scene import Scene

SCENES = (
    Scene("decoder", """
        import math
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Attention(nn.Module):
            def __init__(self, width, heads, rate):
                super().__init__()
                self.heads, self.rate = heads, rate
                self.qkv = nn.Linear(width, 3 * width, bias=False)
                self.out = nn.Linear(width, width, bias=False)
                self.gain = nn.Parameter(torch.ones(heads, 1, 1)) #gain

            def forward(self, hidden):
                n, t, c = hidden.shape
                q, k, v = (z.view(n, t, self.heads, -1).transpose(1, 2) for z in self.qkv(hidden).chunk(3, dim=-1))
                att = self.gain * (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
                att = att.masked_fill(torch.ones(t, t, device=hidden.device).tril() == 0, float("-inf")) #masked
                att = F.dropout(att.softmax(-1), self.rate, training=self.training) #drop
                return self.out((att @ v).transpose(1, 2).reshape(n, t, c))

        class Block(nn.Module):
            def __init__(self, width, heads, rate):
                super().__init__()
                self.norm_a, self.norm_b = nn.LayerNorm(width), nn.LayerNorm(width)
                self.attn = Attention(width, heads, rate)
                self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

            def forward(self, hidden):
                hidden = hidden + self.attn(self.norm_a(hidden))
                return hidden + self.mlp(self.norm_b(hidden))

        class Decoder(nn.Module):
            def __init__(self, vocab, width=512, depth=8, heads=8, rate=0.1):
                super().__init__()
                self.embed = nn.Embedding(vocab, width)
                self.blocks = nn.ModuleList(Block(width, heads, rate) for _ in range(depth)) #blocks
                self.norm = nn.LayerNorm(width)
                self.head = nn.Linear(width, vocab, bias=False)

            def forward(self, INPUTS):
                hidden = self.embed(INPUTS)
                for block in self.blocks:
                    hidden = block(hidden)
                return self.head(self.norm(hidden)) #scores
        ===
        MODEL = Decoder(50304).cuda()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=3e-4)
        for INPUTS, LABELS in DATA:
            LOSS = F.cross_entropy(MODEL(INPUTS.cuda()).flatten(0, 1), LABELS.cuda().flatten())
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("layers-in-a-plain-list", written("blocks", "nn.ModuleList(Block(width, heads, rate) for _ in range(depth))", "[Block(width, heads, rate) for _ in range(depth)]"), ("blocks",)),
        Defect("layers-in-a-plain-list", all_of(ahead("blocks", "self.blocks = []|for _ in range(depth):", "blocks-made"),
                                                written("blocks", "self.blocks = nn.ModuleList(Block(width, heads, rate) for _ in range(depth))", "    self.blocks.append(Block(width, heads, rate))")), ("blocks", "blocks-made")),
        Defect("layers-are-one", all_of(ahead("blocks", "one = Block(width, heads, rate)", "one"), written("blocks", "Block(width, heads, rate) for", "one for")), ("blocks", "one")),
        Defect("layer-made-in-forward", written("scores", "self.norm(hidden)", "nn.LayerNorm(hidden.size(-1), device=hidden.device)(hidden)"), ("scores",)),
        Defect("dropout-always-on", written("drop", ", training=self.training", ""), ("drop",)),
        Defect("parameter-not-registered", written("gain", "nn.Parameter(torch.ones(heads, 1, 1))", "nn.Parameter(torch.ones(heads, 1, 1)).to('cuda')"), ("gain",)),
        Defect("result-thrown-away", written("masked", "att = att.masked_fill", "att.masked_fill"), ("masked",)),
    )),
    Scene("convolutions", """
        import torch
        from torch import nn
        from torch.nn import functional

        def stage(cin, cout, norm=nn.BatchNorm2d):
            return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), norm(cout), nn.ReLU(inplace=True))

        class Encoder(nn.Module):
            def __init__(self, widths=(64, 128, 256), kinds=100):
                super().__init__()
                self.stem = stage(3, widths[0])
                stages = [stage(a, b) for a, b in zip(widths[:-1], widths[1:])]
                self.stages = nn.Sequential(*stages) #stages
                heads = {"coarse": nn.Linear(widths[-1], 20), "fine": nn.Linear(widths[-1], kinds)}
                self.heads = nn.ModuleDict(heads) #heads
                self.temperature = nn.Parameter(torch.full((1,), 0.07)) #temperature
                refine = [nn.Conv2d(widths[-1], widths[-1], 3, padding=1) for _ in range(4)] #refine
                self.refine = nn.Sequential(*refine) #refined

            def forward(self, X):
                X = self.refine(self.stages(self.stem(X))) #features
                X = functional.dropout2d(X, p=0.2, training=self.training) #drop
                X = X.mean((2, 3))
                return {name: head(X) / self.temperature for name, head in self.heads.items()}
        ===
        MODEL = Encoder().cuda()
        OPT = torch.optim.SGD(MODEL.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        for X, Y in DATA:
            OUT = MODEL(X.cuda(non_blocking=True))
            LOSS = sum(functional.cross_entropy(OUT[name], Y[name].cuda()) for name in OUT)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("layers-in-a-plain-list", written("heads", "nn.ModuleDict(heads)", "heads"), ("heads",)),
        Defect("layers-are-one", all_of(ahead("refine", "conv = nn.Conv2d(widths[-1], widths[-1], 3, padding=1)", "conv"), written("refine", "[nn.Conv2d(widths[-1], widths[-1], 3, padding=1) for _ in range(4)]", "[conv] * 4")), ("refine", "refined", "conv")),
        Defect("parameter-not-registered", written("temperature", "nn.Parameter(torch.full((1,), 0.07))", "0.07 * nn.Parameter(torch.ones(1))"), ("temperature",)),
        Defect("layer-made-in-forward", ahead("features", "X = nn.Conv2d(X.size(1), 3, 1).to(X.device)(X)", "conv-made"), ("conv-made",)),
        Defect("dropout-always-on", written("drop", ", training=self.training", ""), ("drop",)),
    )),
    Scene("rope", """
        import torch
        from torch import nn

        def build_rope_cache(seq_len, n_elem, dtype, device, base=10000):
            theta = 1.0 / (base ** (torch.arange(0, n_elem, 2, device=device).float() / n_elem))
            seq_idx = torch.arange(seq_len, device=device) #places
            idx_theta = torch.outer(seq_idx, theta).repeat(1, 2) #angles
            return torch.cos(idx_theta).to(dtype), torch.sin(idx_theta).to(dtype)

        class GatedMLP(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.gate, self.up = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)
                self.down = nn.Linear(4 * width, width)

            def forward(self, hidden):
                gate = nn.functional.silu(self.gate(hidden)).float() #gate
                up = self.up(hidden).float() #up
                return self.down((gate * up).to(hidden.dtype)) #down
        ===
        MODEL = build(GatedMLP).to("cuda", dtype=torch.bfloat16)
        MODEL.cos, MODEL.sin = build_rope_cache(8192, 128, torch.bfloat16, "cuda")
        print(MODEL(INPUTS).shape)
    """, (
        Defect("positions-in-half", written("places", "device=device)", "device=device, dtype=dtype)"), ("places",)),
        Defect("positions-in-half", written("angles", ".repeat(1, 2)", ".to(dtype).repeat(1, 2)"), ("angles",)),
        Defect("cast-to-half", all_of(written("gate", ".float()", ".to(torch.float16)"), written("up", ".float()", ".to(torch.float16)")), ("gate", "up", "down")),
    )),
    Scene("rotary", """
        import torch
        from torch import nn
        from transformers import AutoModelForCausalLM

        class LlamaRotary(nn.Module):
            def __init__(self, dim, theta=500000.0):
                super().__init__()
                self.register_buffer("inv_freq", 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim), persistent=False)

            @torch.no_grad()
            def forward(self, hidden, position_ids):
                inv_freq = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1)
                positions = position_ids[:, None, :].float() #positions
                freqs = (inv_freq @ positions).transpose(1, 2)
                emb = torch.cat((freqs, freqs), dim=-1)
                return emb.cos().to(hidden.dtype), emb.sin().to(hidden.dtype)

        class Scores(nn.Module):
            def forward(self, q, k):
                q, k = q.float(), k.float() #operands
                return torch.matmul(q, k.transpose(-1, -2)) #product
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16)
        rotary = LlamaRotary(MODEL.config.head_dim)
        hidden = MODEL.get_input_embeddings()(INPUTS)
        position_ids = torch.arange(INPUTS.shape[1], device=INPUTS.device).unsqueeze(0) #ids
        cos, sin = rotary(hidden, position_ids)
    """, (
        Defect("positions-in-half", written("positions", ".float()", ".to(hidden.dtype)"), ("positions", "ids")),
        Defect("cast-to-half", written("operands", "q.float(), k.float()", "q.half(), k.half()"), ("operands", "product")),
    )),
)  # fmt: skip
