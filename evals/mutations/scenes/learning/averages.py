"""Scenes of averages of weights."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("ema-of-state", """
        import torch
        from metrics import CHECK

        class ModelEMA:
            def __init__(self, MODEL, decay=0.9995):
                self.decay = decay
                self.shadow = {k: v.detach().clone() for k, v in MODEL.state_dict().items()} #shadow
                self.backup = {}

            @torch.no_grad()
            def update(self, MODEL):
                for k, v in MODEL.state_dict().items():
                    if v.is_floating_point():
                        self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay) #mix

            def apply_shadow(self, MODEL):
                self.backup = {k: v.clone() for k, v in MODEL.state_dict().items()}
                MODEL.load_state_dict(self.shadow)

            def restore(self, MODEL):
                MODEL.load_state_dict(self.backup)
        ===
        MODEL = build().cuda()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        ema = ModelEMA(MODEL)
        for EP in range(3):
            MODEL.train()
            for BATCH in DATA:
                LOSS = MODEL(**BATCH).loss
                LOSS.backward()
                OPT.step()
                OPT.zero_grad()
                ema.update(MODEL)
            ema.apply_shadow(MODEL) #put
            print(CHECK(MODEL, HELD))
            ema.restore(MODEL) #back
    """, (
        Defect("average-refers-to-the-model", written("shadow", "v.detach().clone()", "v.detach()"), ("shadow",)),
        Defect("average-refers-to-the-model", written("shadow", "{k: v.detach().clone() for k, v in MODEL.state_dict().items()}", "MODEL.state_dict()"), ("shadow",)),
        Defect("ema-weights-swapped", written("mix", ".mul_(self.decay).add_(v, alpha=1 - self.decay)", ".mul_(1 - self.decay).add_(v, alpha=self.decay)"), ("mix",)),
        Defect("ema-weights-swapped", written("mix", ".mul_(self.decay).add_(v, alpha=1 - self.decay)", ".lerp_(v, self.decay)"), ("mix",)),
        Defect("average-not-taken-back", without("back"), ("put",)),
    )),
    Scene("ema-by-hand", """
        import copy
        import torch
        from metrics import CHECK
        ===
        MODEL = build().cuda()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        averaged = {n: p.detach().clone() for n, p in MODEL.named_parameters()} #averaged
        for EP in range(20):
            MODEL.train()
            for X, Y in DATA:
                LOSS = torch.nn.functional.cross_entropy(MODEL(X.cuda()), Y.cuda())
                OPT.zero_grad(set_to_none=True)
                LOSS.backward()
                OPT.step()
                with torch.no_grad(): #nograd
                    for name, p in MODEL.named_parameters():
                        averaged[name] = 0.999 * averaged[name] + 0.001 * p #mix
            trained = copy.deepcopy(MODEL.state_dict())
            MODEL.load_state_dict(averaged, strict=False) #put
            print(CHECK(MODEL, HELD))
            MODEL.load_state_dict(trained) #back
    """, (
        Defect("average-refers-to-the-model", all_of(written("averaged", "p.detach().clone()", "p.data"),
                                                     written("mix", "averaged[name] = 0.999 * averaged[name] + 0.001 * p", "averaged[name].mul_(0.999).add_(p, alpha=0.001)")), ("averaged",)),
        Defect("average-keeps-the-graph", unwrapped("nograd"), ("mix",)),
        Defect("average-not-taken-back", without("back"), ("put",)),
        Defect("ema-weights-swapped", written("mix", "0.999 * averaged[name] + 0.001 * p", "0.001 * averaged[name] + 0.999 * p"), ("mix",)),
    )),
    Scene("diffusion", """
        import copy
        import torch
        from diffusers import UNet2DModel
        from sampling import sample_images

        def update_average(ema_unet, unet, decay):
            for slow, fast in zip(ema_unet.parameters(), unet.parameters()):
                slow.data.lerp_(fast.data.float(), 1 - decay) #mix
        ===
        weight_dtype = torch.bfloat16
        unet = UNet2DModel.from_pretrained(path, torch_dtype=weight_dtype).cuda() #unet
        ema_unet = copy.deepcopy(unet).to(dtype=torch.float32) #copy
        ema_unet.requires_grad_(False)
        OPT = torch.optim.AdamW(unet.parameters(), lr=1e-4)
        for I, BATCH in enumerate(DATA):
            noise = torch.randn_like(BATCH["latents"])
            noisy = add_noise(BATCH["latents"], noise, BATCH["t"])
            LOSS = torch.nn.functional.mse_loss(unet(noisy, BATCH["t"]).sample.float(), noise.float())
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            update_average(ema_unet, unet, 0.9999)
            if I % 1000 == 0:
                sample_images(ema_unet)
    """, (
        Defect("average-kept-in-half", all_of(written("copy", "torch.float32", "weight_dtype"), written("mix", "fast.data.float()", "fast.data")), ("copy",)),
        Defect("average-kept-in-half", all_of(written("copy", ".to(dtype=torch.float32)", ""), written("mix", "fast.data.float()", "fast.data")), ("copy", "unet")),
        Defect("ema-weights-swapped", written("mix", "1 - decay", "decay"), ("mix",)),
    )),
    Scene("stored", """
        import torch
        from torch_ema import ExponentialMovingAverage
        from metrics import CHECK
        ===
        MODEL = build().cuda()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=1e-4)
        ema = ExponentialMovingAverage(MODEL.parameters(), decay=0.995)
        for EP in range(10):
            for X, Y in DATA:
                LOSS = torch.nn.functional.mse_loss(MODEL(X), Y)
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
                ema.update()
            ema.store() #store
            ema.copy_to() #put
            print(EP, CHECK(MODEL, HELD))
            ema.restore() #back
    """, (
        Defect("average-not-taken-back", without("store", "back"), ("put",)),
        Defect("average-not-taken-back", without("back"), ("put", "store")),
    )),
    Scene("shadowed", """
        import torch

        class WeightAverage:
            def __init__(self, MODEL, decay):
                self.decay = decay
                self.shadow = {}
                for n, p in MODEL.named_parameters():
                    if p.requires_grad:
                        self.shadow[n] = p.detach().clone() #shadow

            @torch.no_grad() #nograd
            def step(self, MODEL):
                for n, p in MODEL.named_parameters():
                    if n in self.shadow:
                        self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p #mix
        ===
        average = WeightAverage(MODEL, 0.9999)
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            average.step(MODEL)
        torch.save({"average": average.shadow}, "average.pt")
    """, (
        Defect("average-refers-to-the-model", all_of(written("shadow", "p.detach().clone()", "p.data"),
                                                     written("mix", "self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p", "self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)")), ("shadow",)),
        Defect("average-keeps-the-graph", without("nograd"), ("mix",)),
        Defect("ema-weights-swapped", written("mix", "self.decay * self.shadow[n] + (1 - self.decay) * p", "(1 - self.decay) * self.shadow[n] + self.decay * p"), ("mix",)),
    )),
)  # fmt: skip
