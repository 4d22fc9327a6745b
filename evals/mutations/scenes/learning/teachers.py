"""Scenes of slow copies of a network, and of teachers."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, placed, without, written
from ...scene import Scene

SCENES = (
    Scene("byol", """
        import copy
        import torch
        import torch.nn.functional as F

        class EMA:
            def __init__(self, beta):
                self.beta = beta

            def update_average(self, old, new):
                return old * self.beta + (1 - self.beta) * new #mix

        def update_moving_average(updater, ma_model, current_model):
            with torch.no_grad(): #nograd
                for current, ma_p in zip(current_model.parameters(), ma_model.parameters()):
                    ma_p.data = updater.update_average(ma_p.data, current.data) #each
        ===
        online, predictor = encoder().cuda(), head().cuda()
        target = copy.deepcopy(online) #target
        target.requires_grad_(False)
        updater = EMA(0.99)
        OPT = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=3e-4)
        for one, two in DATA:
            with torch.no_grad(): #closed
                wanted_one, wanted_two = target(one.cuda()), target(two.cuda())
            LOSS = 4 - 2 * F.cosine_similarity(predictor(online(one.cuda())), wanted_two).mean() - 2 * F.cosine_similarity(predictor(online(two.cuda())), wanted_one).mean()
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
            update_moving_average(updater, target, online)
    """, (
        Defect("ema-weights-swapped", written("mix", "old * self.beta + (1 - self.beta) * new", "old * (1 - self.beta) + self.beta * new"), ("mix",)),
    )),
    Scene("sac", """
        import copy
        import torch
        import torch.nn.functional as F
        ===
        actor, qf = Actor().cuda(), SoftQ().cuda()
        qf_target = copy.deepcopy(qf)
        q_optimizer = torch.optim.Adam(qf.parameters(), lr=1e-3)
        actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
        tau, alpha = 0.005, 0.2
        for I in range(100000):
            BATCH = replay.sample(256)
            with torch.no_grad():
                next_action, next_logp = actor.get_action(BATCH.next_obs)
                goal = BATCH.rewards + 0.99 * (1 - BATCH.dones) * (qf_target(BATCH.next_obs, next_action) - alpha * next_logp)
            q_loss = F.mse_loss(qf(BATCH.obs, BATCH.actions), goal)
            q_optimizer.zero_grad() #q-zero
            q_loss.backward()
            torch.nn.utils.clip_grad_norm_(qf.parameters(), 10.0) #q-clip
            q_optimizer.step() #q-step
            action, logp = actor.get_action(BATCH.obs) #action
            actor_loss = (alpha * logp - qf(BATCH.obs, action)).mean() #actor-loss
            actor_optimizer.zero_grad()
            actor_loss.backward() #actor-back
            actor_optimizer.step() #actor-step
            for param, target_param in zip(qf.parameters(), qf_target.parameters()):
                target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data) #soft
    """, (
        Defect("soft-update-swapped", written("soft", "tau * param.data + (1 - tau) * target_param.data", "tau * target_param.data + (1 - tau) * param.data"), ("soft",)),
        Defect("gradients-of-another-loss", placed("q-zero", "q-step"), ("q-zero", "q-step", "actor-back")),
        Defect("clip-on-another-model", written("q-clip", "qf.parameters()", "actor.parameters()"), ("q-clip",)),
        Defect("loss-misses-the-model", written("actor-loss", "(alpha * logp - qf(BATCH.obs, action)).mean()", "(alpha * logp.detach() - qf(BATCH.obs, action.detach())).mean()"), ("actor-loss", "actor-back", "action")),
    )),
    Scene("dqn", """
        import torch
        import torch.nn.functional as F

        def polyak_update(params, target_params, tau):
            with torch.no_grad():
                for param, target_param in zip(params, target_params):
                    target_param.data.mul_(1 - tau) #keep
                    torch.add(target_param.data, param.data, alpha=tau, out=target_param.data) #take
        ===
        q_net, q_net_target = QNetwork(), QNetwork()
        q_net_target.load_state_dict(q_net.state_dict())
        OPT = torch.optim.Adam(q_net.parameters(), lr=1e-4)
        for I in range(50000):
            BATCH = buffer.sample(128)
            with torch.no_grad():
                best = q_net_target(BATCH.next_obs).max(dim=1).values
                wanted = BATCH.rewards + 0.99 * (1 - BATCH.dones) * best
            LOSS = F.smooth_l1_loss(q_net(BATCH.obs).gather(1, BATCH.actions).squeeze(1), wanted)
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
            polyak_update(q_net.parameters(), q_net_target.parameters(), 0.01)
    """, (
        Defect("soft-update-swapped", all_of(written("keep", "1 - tau", "tau"), written("take", "alpha=tau", "alpha=1 - tau")), ("keep", "take")),
    )),
    Scene("distilled", """
        import timm
        import torch
        import torch.nn.functional as F
        ===
        teacher = timm.create_model("regnety_160", pretrained=True, num_classes=1000).cuda()
        teacher.eval() #mood
        MODEL = timm.create_model("deit_small_patch16_224").cuda()
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=5e-4)
        for X, Y in DATA:
            X, Y = X.cuda(non_blocking=True), Y.cuda(non_blocking=True)
            with torch.no_grad():
                wanted = teacher(X) #teacher
            OUT = MODEL(X)
            LOSS = 0.5 * F.cross_entropy(OUT, Y) + 0.5 * F.kl_div(F.log_softmax(OUT / 3.0, dim=1), F.log_softmax(wanted / 3.0, dim=1), reduction="batchmean", log_target=True) * 9.0
            OPT.zero_grad()
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
            OPT.step()
    """, (
        Defect("teacher-in-training-mode", without("mood"), ("teacher",)),
        Defect("clip-on-another-model", written("clip", "MODEL.parameters()", "teacher.parameters()"), ("clip",)),
    )),
    Scene("hinted", """
        import torch
        from torch import nn

        class Tagger(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.embed = nn.Embedding(20000, width)
                self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 9))

            def forward(self, INPUTS):
                return self.body(self.embed(INPUTS))

        def load_big(path):
            big = Tagger(1024)
            big.load_state_dict(torch.load(path, weights_only=True))
            return big.eval() #mood
        ===
        big_teacher = load_big("big.pt")
        MODEL = Tagger(128)
        OPT = torch.optim.Adam(MODEL.parameters(), lr=1e-3)
        for INPUTS, LABELS in DATA:
            with torch.no_grad():
                hints = big_teacher(INPUTS) #teacher
            LOSS = nn.functional.mse_loss(MODEL(INPUTS), hints)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("teacher-in-training-mode", written("mood", "big.eval()", "big"), ("teacher", "mood")),
    )),
)  # fmt: skip
