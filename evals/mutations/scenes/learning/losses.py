"""Scenes of several losses and several models: adversaries, penalties, actors and critics."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, placed, written
from ...scene import Scene

SCENES = (
    Scene("wgan", """
        import torch

        def gradient_penalty(CRITIC, real, fake):
            share = torch.rand(real.size(0), 1, 1, 1, device=real.device)
            mixed = (share * real + (1 - share) * fake).requires_grad_(True)
            verdict = CRITIC(mixed)
            (slopes,) = torch.autograd.grad(verdict, mixed, grad_outputs=torch.ones_like(verdict), create_graph=True, retain_graph=True) #slopes
            return ((slopes.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
        ===
        generator, CRITIC = Generator().cuda(), Critic().cuda()
        opt_gen = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.5, 0.9)) #opt-gen
        opt_critic = torch.optim.Adam(CRITIC.parameters(), lr=1e-4, betas=(0.5, 0.9))
        for real in DATA:
            real = real.cuda()
            fake = generator(torch.randn(len(real), 128, device="cuda")) #fake
            critic_loss = CRITIC(fake.detach()).mean() - CRITIC(real).mean() + 10 * gradient_penalty(CRITIC, real, fake.detach())
            opt_critic.zero_grad() #zero-critic
            critic_loss.backward()
            opt_critic.step() #critic-step
            gen_loss = -CRITIC(fake).mean() #gen-loss
            opt_gen.zero_grad() #zero-gen
            gen_loss.backward() #gen-back
            torch.nn.utils.clip_grad_norm_(generator.parameters(), 1.0) #clip
            opt_gen.step() #gen-step
    """, (
        Defect("penalty-without-graph", written("slopes", "create_graph=True, ", ""), ("slopes",)),
        Defect("loss-misses-the-model", written("gen-loss", "CRITIC(fake)", "CRITIC(fake.detach())"), ("gen-loss", "gen-back")),
        Defect("clip-on-another-model", written("clip", "generator", "CRITIC"), ("clip",)),
    )),
    Scene("translation", """
        import torch
        import torch.nn.functional as F

        def adversarial(verdict, real):
            return F.binary_cross_entropy_with_logits(verdict, torch.full_like(verdict, float(real)))
        ===
        G, D = UNet().cuda(), PatchNet().cuda()
        optimizer_G = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
        optimizer_D = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
        for source, wanted in DATA:
            source, wanted = source.cuda(), wanted.cuda()
            made = G(source) #made
            loss_G = adversarial(D(torch.cat([source, made], 1)), True) + 100 * F.l1_loss(made, wanted) #loss-g
            optimizer_G.zero_grad()
            loss_G.backward() #g-back
            optimizer_G.step() #g-step
            loss_D = 0.5 * (adversarial(D(torch.cat([source, wanted], 1)), True) + adversarial(D(torch.cat([source, made.detach()], 1)), False))
            optimizer_D.zero_grad() #d-zero
            loss_D.backward()
            optimizer_D.step() #d-step
    """, (
        Defect("gradients-of-another-loss", placed("d-zero", "d-step"), ("d-zero", "d-step", "g-back")),
        Defect("gradients-of-another-loss", placed("d-zero", "made"), ("d-zero", "d-step", "g-back")),
        Defect("loss-misses-the-model", all_of(written("loss-g", "made], 1)", "made.detach()], 1)"), written("loss-g", "F.l1_loss(made, wanted)", "F.l1_loss(made.detach(), wanted)")), ("loss-g", "g-back")),
    )),
    Scene("r1", """
        import torch
        import torch.nn.functional as F

        def r1_reg(verdict, real):
            grads = torch.autograd.grad(outputs=verdict.sum(), inputs=real, create_graph=True)[0] #grads
            return 0.5 * grads.pow(2).reshape(len(real), -1).sum(1).mean()
        ===
        OPT = torch.optim.Adam(MODEL.parameters(), lr=2e-3, betas=(0.0, 0.99))
        for real, fake in DATA:
            real.requires_grad_()
            verdict = MODEL(real)
            LOSS = F.softplus(-verdict).mean() + F.softplus(MODEL(fake)).mean() + 10.0 * r1_reg(verdict, real)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("penalty-without-graph", written("grads", "create_graph=True", "retain_graph=True"), ("grads",)),
    )),
    Scene("cleanrl", """
        import torch

        class Args:
            ent_coef, vf_coef, clip_coef, max_grad_norm = 0.01, 0.5, 0.2, 0.5

        args = Args()
        ===
        agent = Agent(envs).cuda()
        OPT = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5) #opt
        for EP in range(4):
            for BATCH in DATA:
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(BATCH.obs, BATCH.actions.long())
                RATIO = (newlogprob - BATCH.logprobs).exp()
                ADV = (BATCH.advantages - BATCH.advantages.mean()) / (BATCH.advantages.std() + 1e-8)
                pg_loss = torch.max(-ADV * RATIO, -ADV * RATIO.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - BATCH.returns) ** 2).mean()
                entropy_loss = entropy.mean()
                LOSS = pg_loss - args.ent_coef * entropy_loss + v_loss * args.vf_coef #loss
                OPT.zero_grad()
                LOSS.backward()
                torch.nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm) #clip
                OPT.step()
    """, (
        Defect("entropy-punished", written("loss", "- args.ent_coef", "+ args.ent_coef"), ("loss",)),
        Defect("clip-on-a-part", written("clip", "agent.parameters()", "agent.actor.parameters()"), ("clip",)),
    )),
    Scene("a2c", """
        import torch

        def losses_of(net, BATCH):
            dist, value = net(BATCH["obs"])
            ADV = BATCH["returns"] - value.detach()
            actor = -(dist.log_prob(BATCH["act"]) * ADV).mean()
            return actor, (BATCH["returns"] - value).pow(2).mean(), dist.entropy().mean()
        ===
        beta = 0.01
        OPT = torch.optim.RMSprop(POLICY.parameters(), lr=7e-4)
        for BATCH in DATA:
            actor, value_error, entropy = losses_of(POLICY, BATCH)
            LOSS = actor + 0.5 * value_error
            LOSS = LOSS - beta * entropy #bonus
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("entropy-punished", written("bonus", "LOSS - beta * entropy", "LOSS + beta * entropy"), ("bonus",)),
        Defect("entropy-punished", written("bonus", "LOSS = LOSS - beta * entropy", "LOSS += beta * entropy"), ("bonus",)),
    )),
    Scene("two-towers", """
        import torch
        import torch.nn.functional as F
        ===
        image_tower, text_tower = ImageTower().cuda(), TextTower().cuda()
        trained = [*image_tower.parameters(), *text_tower.parameters()]
        OPT = torch.optim.AdamW(trained, lr=5e-4, weight_decay=0.01)
        for images, texts in DATA:
            one = F.normalize(image_tower(images.cuda()), dim=-1)
            two = F.normalize(text_tower(texts.cuda()), dim=-1)
            LOGITS = one @ two.T / 0.07
            at = torch.arange(len(LOGITS), device=LOGITS.device)
            LOSS = (F.cross_entropy(LOGITS, at) + F.cross_entropy(LOGITS.T, at)) / 2 #loss
            OPT.zero_grad()
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0) #clip
            OPT.step()
    """, (
        Defect("clip-on-a-part", written("clip", "trained", "image_tower.parameters()"), ("clip",)),
        Defect("loss-clamped", written("loss", "LOSS = (F.cross_entropy(LOGITS, at) + F.cross_entropy(LOGITS.T, at)) / 2", "LOSS = torch.minimum((F.cross_entropy(LOGITS, at) + F.cross_entropy(LOGITS.T, at)) / 2, torch.tensor(5.0, device=at.device))"), ("loss",)),
    )),
)  # fmt: skip
