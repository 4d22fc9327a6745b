"""Scenes of preference and policy optimisation: references, advantages, objectives, rollout engines."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("pairs-judged", """
        import torch
        import torch.nn.functional as F
        from transformers import AutoModelForCausalLM

        def said_by(net, part):
            scores = torch.log_softmax(net(part["input_ids"]).logits[:, :-1], dim=-1)
            return (scores.gather(-1, part["labels"][:, 1:].unsqueeze(-1)).squeeze(-1) * part["mask"][:, 1:]).sum(-1)

        @torch.no_grad()
        def held_out(net, ref, pairs, beta):
            net.eval()
            right = total = lost = 0
            for pair in pairs:
                chosen, rejected = said_by(net, pair["chosen"]), said_by(net, pair["rejected"])
                ref_chosen, ref_rejected = said_by(ref, pair["chosen"]), said_by(ref, pair["rejected"])
                right += int((chosen - ref_chosen > rejected - ref_rejected).sum()) #right
                lost += -F.logsigmoid(beta * ((chosen - ref_chosen) - (rejected - ref_rejected))).sum().item()
                total += len(chosen)
            return right / total, lost / total
        ===
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        REF = AutoModelForCausalLM.from_pretrained(start)
        print(held_out(MODEL, REF, PAIRS, 0.1))
    """, (
        Defect("pairs-judged-without-reference", written("right", "chosen - ref_chosen > rejected - ref_rejected", "chosen > rejected"), ("right",)),
    )),
    Scene("dpo", """
        import copy
        import torch
        import torch.nn.functional as F
        from transformers import AutoModelForCausalLM

        def logps(net, part):
            scores = net(part["input_ids"]).logits[:, :-1]
            per_token = torch.log_softmax(scores, dim=-1).gather(-1, part["labels"][:, 1:].unsqueeze(-1)).squeeze(-1) #logp
            return (per_token * part["mask"][:, 1:]).sum(-1)
        ===
        POLICY = AutoModelForCausalLM.from_pretrained(path)
        REF = AutoModelForCausalLM.from_pretrained(path) #ref
        OPT = torch.optim.AdamW(POLICY.parameters(), lr=5e-7)
        beta = 0.1
        for BATCH in DATA:
            policy_chosen = logps(POLICY, BATCH["chosen"])
            policy_rejected = logps(POLICY, BATCH["rejected"])
            with torch.no_grad(): #nograd
                ref_chosen = logps(REF, BATCH["chosen"]) #first
                ref_rejected = logps(REF, BATCH["rejected"]) #second
            chosen_ratio = policy_chosen - ref_chosen
            rejected_ratio = policy_rejected - ref_rejected
            LOSS = -F.logsigmoid(beta * (chosen_ratio - rejected_ratio)).mean() #loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("reference-is-the-policy", written("ref", "AutoModelForCausalLM.from_pretrained(path)", "POLICY"), ("ref",)),
        Defect("preference-sign-flipped", written("loss", "(chosen_ratio - rejected_ratio)", "(rejected_ratio - chosen_ratio)"), ("loss",)),
        Defect("preference-sign-flipped", written("loss", "-F.logsigmoid", "F.logsigmoid"), ("loss",)),
        Defect("reference-with-gradients", unwrapped("nograd"), ("first", "second")),
        Defect("log-of-softmax", written("logp", "torch.log_softmax(scores, dim=-1)", "torch.log(torch.softmax(scores, dim=-1))"), ("logp",)),
    )),
    Scene("ppo", """
        import torch
        import torch.nn.functional as F
        ===
        for EP in range(4): #epochs
            for BATCH in DATA: #steps
                VALUES = CRITIC(BATCH["states"]).squeeze(-1)
                ADV = (BATCH["returns"] - VALUES).detach() #adv
                ADV = (ADV - ADV.mean()) / (ADV.std() + 1e-8) #norm
                logp = POLICY.log_prob(BATCH["states"], BATCH["actions"])
                old_logp = BATCH["old_logp"] #old
                RATIO = (logp - old_logp).exp() #ratio
                clipped = torch.clamp(RATIO, 0.8, 1.2) * ADV
                policy_loss = -torch.min(RATIO * ADV, clipped).mean() #surrogate
                value_loss = F.mse_loss(VALUES, BATCH["returns"])
                kl = (BATCH["ref_logp"] - logp).exp().mean() - 1 - (BATCH["ref_logp"] - logp).mean()
                LOSS = policy_loss + 0.5 * value_loss + kl_coef * kl #loss
                OPT.zero_grad()
                LOSS.backward() #backward
                OPT.step()
    """, (
        Defect("advantage-with-graph", written("adv", ".detach()", ""), ("adv", "surrogate", "norm")),
        Defect("advantage-divided-by-zero", written("norm", "(ADV.std() + 1e-8)", "ADV.std()"), ("norm",)),
        Defect("surrogate-takes-the-larger", written("surrogate", "torch.min", "torch.max"), ("surrogate",)),
        Defect("kl-sign-flipped", written("loss", "+ kl_coef * kl", "- kl_coef * kl"), ("loss",)),
        Defect("old-logprobs-recomputed", written("old", 'BATCH["old_logp"]', 'POLICY.log_prob(BATCH["states"], BATCH["actions"]).detach()'), ("old", "ratio")),
    )),
    Scene("grpo", """
        import torch
        from vllm import LLM, SamplingParams
        ===
        ENGINE = LLM(model=path) #engine
        for I, prompts in enumerate(DATA):
            samples = ENGINE.generate(prompts, SamplingParams(n=8)) #generate
            REWARDS = torch.tensor([score(s) for s in samples]).view(-1, 8)
            REWARDS = REWARDS.clamp(-5.0, 5.0) #clip
            ADV = (REWARDS - REWARDS.mean(1, keepdim=True)) / (REWARDS.std(1, keepdim=True) + 1e-4) #norm
            LOSS = policy_loss(POLICY, samples, ADV)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            ENGINE.llm_engine.model_executor.driver_worker.model_runner.model.load_weights(POLICY.state_dict().items()) #sync
    """, (
        Defect("engine-weights-not-synced", without("sync"), ("engine", "generate")),
        Defect("advantage-divided-by-zero", written("norm", " + 1e-4", ""), ("norm",)),
        Defect("reward-clipped-away", written("clip", "(-5.0, 5.0)", "(1.0, 1.0)"), ("clip",)),
    )),
)  # fmt: skip
