"""Scenes of what a policy is trained towards: preference losses, groups of rewards, ratios, values, parts of a reward."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("margins", """
        import torch
        import torch.nn.functional as F

        def preference_loss(policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps, beta, label_smoothing=0.0):
            pi_logratios = policy_chosen_logps - policy_rejected_logps
            ref_logratios = reference_chosen_logps - reference_rejected_logps
            logits = pi_logratios - ref_logratios #logits
            losses = -F.logsigmoid(beta * logits) * (1 - label_smoothing) - F.logsigmoid(-beta * logits) * label_smoothing #losses
            chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
            rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
            return losses, chosen_rewards, rejected_rewards
        ===
        for BATCH in DATA:
            chosen, rejected = concatenated_forward(POLICY, BATCH)
            with torch.no_grad():
                ref_chosen, ref_rejected = concatenated_forward(REF, BATCH)
            losses, better, worse = preference_loss(chosen, rejected, ref_chosen, ref_rejected, beta=0.1)
            LOSS = losses.mean()
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
            writer.add_scalar("accuracy", (better > worse).float().mean())
    """, (
        Defect("reference-sign-flipped", written("logits", "pi_logratios - ref_logratios", "ref_logratios - pi_logratios"), ("logits", "losses")),
    )),
    Scene("pairs", """
        import torch
        import torch.nn.functional as F
        ===
        beta = 0.2
        for BATCH in DATA:
            with torch.no_grad():
                ref_pos, ref_neg = sequence_logp(REF, BATCH["pos"]), sequence_logp(REF, BATCH["neg"])
            pos_reward = beta * (sequence_logp(POLICY, BATCH["pos"]) - ref_pos) #pos
            neg_reward = beta * (sequence_logp(POLICY, BATCH["neg"]) - ref_neg) #neg
            LOSS = -F.logsigmoid(pos_reward - neg_reward).mean() #loss
            LOSS.backward()
            torch.nn.utils.clip_grad_norm_(POLICY.parameters(), 1.0)
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("reference-sign-flipped", all_of(written("pos", '(sequence_logp(POLICY, BATCH["pos"]) - ref_pos)', '(ref_pos - sequence_logp(POLICY, BATCH["pos"]))'),
                                                written("neg", '(sequence_logp(POLICY, BATCH["neg"]) - ref_neg)', '(ref_neg - sequence_logp(POLICY, BATCH["neg"]))')), ("pos", "neg", "loss")),
    )),
    Scene("grouped", """
        import re
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        SHAPE = re.compile(r"<think>.*</think>\\s*<answer>.*</answer>", re.S)

        def reward_of(text, gold):
            format_score = 1.0 if SHAPE.search(text) else 0.0
            answer_score = 1.0 if last_number(text) == gold else 0.0
            return 0.2 * format_score + answer_score #paid

        def per_token_logps(model, input_ids, attention_mask, keep):
            logits = model(input_ids=input_ids, attention_mask=attention_mask).logits
            logits = logits[:, :-1, :] #shift-logits
            input_ids = input_ids[:, 1:] #shift-ids
            logps = torch.gather(logits.log_softmax(-1), dim=2, index=input_ids.unsqueeze(2)).squeeze(2) #gather
            return logps[:, -keep:] #keep
        ===
        num_generations = 8
        TOK = AutoTokenizer.from_pretrained("openai-community/gpt2-large", padding_side="left")
        POLICY = AutoModelForCausalLM.from_pretrained("openai-community/gpt2-large")
        OPT = torch.optim.AdamW(POLICY.parameters(), lr=1e-6)
        POLICY.train()
        for BATCH in DATA:
            prompts = TOK(BATCH["prompt"], return_tensors="pt", padding=True)
            POLICY.eval() #eval
            with torch.no_grad():
                rows = POLICY.generate(**prompts, do_sample=True, temperature=1.0, max_new_tokens=256, num_return_sequences=num_generations) #generate
            POLICY.train()
            texts = TOK.batch_decode(rows[:, prompts["input_ids"].shape[1]:], skip_special_tokens=True)
            REWARDS = torch.tensor([reward_of(t, g) for t, g in zip(texts, BATCH["gold"])])
            mean_grouped = REWARDS.view(-1, num_generations).mean(dim=1) #mean
            std_grouped = REWARDS.view(-1, num_generations).std(dim=1) #std
            mean_grouped = mean_grouped.repeat_interleave(num_generations, dim=0) #spread
            std_grouped = std_grouped.repeat_interleave(num_generations, dim=0) #spread-std
            ADV = (REWARDS - mean_grouped) / (std_grouped + 1e-4) #adv
            mask = completion_mask(rows, prompts)
            logps = per_token_logps(POLICY, rows, rows.ne(TOK.pad_token_id).long(), mask.size(1))
            ratio = torch.exp(logps - logps.detach()) #ratio
            per_token_loss = -ratio * ADV.unsqueeze(1) #each
            LOSS = (per_token_loss * mask).sum() / mask.sum() #loss
            LOSS.backward() #backward
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("group-statistics-of-the-wrong-axis", all_of(written("mean", "dim=1", "dim=0"), written("std", "dim=1", "dim=0"),
                                                            written("spread", "repeat_interleave(num_generations, dim=0)", "repeat(len(BATCH['prompt']))"),
                                                            written("spread-std", "repeat_interleave(num_generations, dim=0)", "repeat(len(BATCH['prompt']))")), ("mean", "std", "adv")),
        Defect("rollout-in-training-mode", without("eval"), ("generate",)),
        Defect("format-outweighs-answer", written("paid", "0.2 * format_score + answer_score", "format_score + 0.5 * answer_score"), ("paid",)),
        Defect("logprobs-not-shifted", without("shift-logits", "shift-ids"), ("gather",)),
        Defect("mean-over-what-is-masked", written("loss", "(per_token_loss * mask).sum() / mask.sum()", "(per_token_loss * mask).mean()"), ("loss",)),
    )),
    Scene("loo", """
        import torch

        def judge_answer(said, solution):
            fmt_ok = float(said.count("<answer>") == 1)
            correct = float(verify(said, solution))
            score = 0.1 * fmt_ok #format
            score += 0.9 * correct #right
            return score
        ===
        k = 4
        for prompts, gold in DATA:
            rolled = [(p, POLICY.sample(p)) for p in prompts for _ in range(k)]
            rlhf_reward = torch.tensor([judge_answer(s, g) for (_, s), g in zip(rolled, repeat_each(gold, k))])
            rlhf_reward = rlhf_reward.reshape(len(prompts), k)
            baseline = (rlhf_reward.sum(1, keepdim=True) - rlhf_reward) / (k - 1) #baseline
            ADV = (rlhf_reward - baseline).flatten()
            logp = torch.stack([POLICY.log_prob(p, s) for p, s in rolled])
            LOSS = -(ADV * logp).mean() #loss
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("group-statistics-of-the-wrong-axis", all_of(written("baseline", "sum(1, keepdim=True)", "sum(0, keepdim=True)"), written("baseline", "(k - 1)", "(len(prompts) - 1)")), ("baseline",)),
        Defect("surrogate-not-negated", written("loss", "-(ADV * logp)", "(ADV * logp)"), ("loss",)),
        Defect("format-outweighs-answer", all_of(written("format", "0.1", "0.6"), written("right", "0.9", "0.4")), ("format", "right")),
    )),
    Scene("clipped", """
        import torch
        import torch.nn as nn

        class PolicyLoss(nn.Module):
            def __init__(self, clip_eps=0.2):
                super().__init__()
                self.clip_eps = clip_eps

            def forward(self, log_probs, old_log_probs, advantages, action_mask):
                ratio = (log_probs - old_log_probs).exp() #ratio
                surr1 = ratio * advantages
                surr2 = ratio.clamp(1 - self.clip_eps, 1 + self.clip_eps) * advantages
                loss = -torch.min(surr1, surr2) #surrogate
                return (loss * action_mask).sum() / action_mask.sum() #mean
        ===
        actor_loss_fn = PolicyLoss(0.2)
        for experience in DATA:
            action_log_probs = POLICY(experience.sequences, experience.num_actions, attention_mask=experience.attention_mask)
            LOSS = actor_loss_fn(action_log_probs, experience.action_log_probs, experience.advantages, experience.action_mask)
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("ratio-upside-down", written("ratio", "(log_probs - old_log_probs)", "(old_log_probs - log_probs)"), ("ratio",)),
        Defect("surrogate-not-negated", written("surrogate", "-torch.min", "torch.min"), ("surrogate", "mean")),
        Defect("mean-over-what-is-masked", written("mean", "(loss * action_mask).sum() / action_mask.sum()", "(loss * action_mask).mean()"), ("mean",)),
    )),
    Scene("cartpole", """
        import numpy as np
        import torch

        def compute_gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
            advantages = torch.zeros_like(rewards)
            running = 0.0
            for t in reversed(range(len(rewards))):
                nonterminal = 1.0 - dones[t] #nonterminal
                following = last_value if t == len(rewards) - 1 else values[t + 1]
                delta = rewards[t] + gamma * following * nonterminal - values[t] #delta
                running = delta + gamma * lam * nonterminal * running #running
                advantages[t] = running
            return advantages
        ===
        for update in range(500):
            obs, actions, logprobs, rewards, dones, values, last_value = collect(envs, agent, 128)
            gains = compute_gae(rewards, values, dones, last_value)
            returns = gains + values
            for I in np.array_split(np.random.permutation(len(obs)), 4):
                dist = agent(obs[I])
                logratio = dist.log_prob(actions[I]) - logprobs[I] #logratio
                ratio = logratio.exp() #ratio
                mb_adv = (gains[I] - gains[I].mean()) / (gains[I].std() + 1e-8)
                pg_loss1 = -mb_adv * ratio #first
                pg_loss2 = -mb_adv * torch.clamp(ratio, 0.8, 1.2) #second
                pg_loss = torch.max(pg_loss1, pg_loss2).mean() #larger
                v_loss = 0.5 * ((CRITIC(obs[I]).view(-1) - returns[I]) ** 2).mean()
                LOSS = pg_loss - 0.01 * dist.entropy().mean() + 0.5 * v_loss #loss
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
    """, (
        Defect("bootstrap-through-the-end", all_of(without("nonterminal"), written("delta", " * nonterminal", ""), written("running", " * nonterminal", "")), ("delta", "running")),
        Defect("ratio-upside-down", written("logratio", "dist.log_prob(actions[I]) - logprobs[I]", "logprobs[I] - dist.log_prob(actions[I])"), ("logratio", "ratio")),
        Defect("surrogate-not-negated", all_of(written("first", "-mb_adv", "mb_adv"), written("second", "-mb_adv", "mb_adv"), written("larger", "torch.max", "torch.min")), ("first", "second", "larger", "loss")),
    )),
    Scene("dqn", """
        import torch
        import torch.nn.functional as F

        class Agent:
            def __init__(self, build, lr=1e-3, discount=0.99):
                self.online, self.frozen = build(), build()
                self.optimizer = torch.optim.Adam(self.online.parameters(), lr=lr)
                self.discount = discount

            def learn(self, batch):
                states, actions, rewards, next_states, dones = batch
                with torch.no_grad(): #nograd
                    best = self.online(next_states).argmax(1, keepdim=True)
                    following = self.frozen(next_states).gather(1, best).squeeze(1) #following
                    target = rewards + self.discount * (1 - dones) * following #target
                predicted = self.online(states).gather(1, actions).squeeze(1)
                loss = F.smooth_l1_loss(predicted, target) #loss
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                return loss.item()
        ===
        agent = Agent(build)
        for I in range(10000):
            agent.learn(buffer.sample(64))
            if I % 500 == 0:
                agent.frozen.load_state_dict(agent.online.state_dict())
    """, (
        Defect("bootstrap-through-the-end", written("target", "(1 - dones) * ", ""), ("target",)),
        Defect("target-with-graph", all_of(unwrapped("nograd"), written("following", "self.frozen", "self.online")), ("following", "target", "loss")),
    )),
    Scene("td", """
        import torch
        ===
        gamma = 0.99
        for obs, reward, next_obs, terminal in DATA:
            value = CRITIC(obs).squeeze(-1)
            next_value = CRITIC(next_obs).squeeze(-1).detach() #next
            goal = reward + gamma * next_value * (1.0 - terminal) #goal
            LOSS = (value - goal).pow(2).mean() #loss
            OPT.zero_grad()
            LOSS.backward()
            OPT.step()
    """, (
        Defect("target-with-graph", written("next", ".detach()", ""), ("next", "goal", "loss")),
        Defect("bootstrap-through-the-end", written("goal", " * (1.0 - terminal)", ""), ("goal",)),
    )),
)  # fmt: skip
