"""The training programs of people who write their own loop: plain, accumulating, and on preferences."""

from __future__ import annotations

from typing import Any

HEAD = """\
import copy
import resource

import torch
import yaml
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

cfg = yaml.safe_load(open("train.yaml"))
torch.set_num_threads(1)
torch.manual_seed(cfg["seed"])
VOCAB, LENGTH = 64, 24
table = torch.softmax(3 * torch.randn(VOCAB, VOCAB), -1)


def sample(count, rows):
    tokens = torch.randint(0, VOCAB, (count, 1))
    for _ in range(LENGTH):
        tokens = torch.cat([tokens, torch.multinomial(rows[tokens[:, -1]], 1)], 1)
    return tokens


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 64)
        self.body = nn.GRU(64, 64, batch_first=True)
        self.head = nn.Linear(64, VOCAB)

    def forward(self, tokens):
        return self.head(self.body(self.embed(tokens))[0])


"""
PLAIN = """\
def evaluate(model, held):
    model.eval()
    with torch.no_grad():
        logits = model(held[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), held[:, 1:].flatten())
    model.train()
    return loss.item()


model = Model()
held = sample(128, table)
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["learning_rate"])
"""
PRINT = """\
    if step % 5 == 0:
        rate = optimizer.param_groups[0]["lr"]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        line = f"step {step} | loss {loss.item():.4f} | grad_norm {float(norm):.4f} | lr {rate:.3e}"
        print(f"{line} | peak_mem_gb {memory:.4f}", flush=True)
    if step % 50 == 0:
        print(f"step {step} | eval_loss {evaluate(model, held):.4f}", flush=True)
"""
LOOP = HEAD + PLAIN + '''\
scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / cfg["warmup_steps"]))
total, history = 0.0, []
for step in range(1, cfg["max_steps"] + 1):
    tokens = sample(cfg["batch_size"], table)
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    total += loss.item()
    history.append(loss.item())
''' + PRINT + '''\
print(f"mean loss {float(total) / cfg['max_steps']:.4f}, lowest {float(min(history)):.4f}")
'''  # fmt: skip
ACCUMULATED = HEAD + PLAIN + '''\
EVERY = cfg["gradient_accumulation_steps"]
scheduler = LambdaLR(optimizer, lambda step: max(0.0, 1 - step / cfg["max_steps"]))
step = 0
for i in range(cfg["max_steps"] * EVERY):
    tokens = sample(cfg["batch_size"], table)
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    (loss / EVERY).backward()
    if (i + 1) % EVERY != 0:
        continue
    step += 1
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
''' + PRINT  # fmt: skip
PREFERRED = (
    HEAD
    + """\
def logps(model, tokens):
    picked = torch.log_softmax(model(tokens[:, :-1]), dim=-1).gather(-1, tokens[:, 1:].unsqueeze(-1))
    return picked.squeeze(-1).sum(-1)


def pairs(count):
    return sample(count, table), sample(count, torch.full((VOCAB, VOCAB), 1 / VOCAB))


def rewards(policy, ref_model, chosen, rejected):
    with torch.no_grad():
        ref_chosen, ref_rejected = logps(ref_model, chosen), logps(ref_model, rejected)
    chosen_reward = logps(policy, chosen) - ref_chosen
    rejected_reward = logps(policy, rejected) - ref_rejected
    return cfg["beta"] * chosen_reward, cfg["beta"] * rejected_reward


policy = Model()
ref_model = copy.deepcopy(policy)
held = pairs(128)
optimizer = torch.optim.AdamW(policy.parameters(), lr=cfg["learning_rate"])
for step in range(1, cfg["max_steps"] + 1):
    chosen_reward, rejected_reward = rewards(policy, ref_model, *pairs(cfg["batch_size"]))
    loss = -nn.functional.logsigmoid(chosen_reward - rejected_reward).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(policy.parameters(), cfg["max_grad_norm"])
    optimizer.step()
    if step % 5 == 0:
        margin = (chosen_reward - rejected_reward).detach()
        told = {"rewards/chosen": chosen_reward.mean(), "rewards/rejected": rejected_reward.mean(),
                "rewards/margins": margin.mean(), "rewards/accuracies": (margin > 0).float().mean()}
        line = f"step {step} | loss {loss.item():.4f} | grad_norm {float(norm):.4f}"
        print(line, *(f"{name} {value.item():.4f}" for name, value in told.items()), sep=" | ", flush=True)
    if step % 50 == 0:
        with torch.no_grad():
            first, second = rewards(policy, ref_model, *held)
        print(f"step {step} | eval_loss {-nn.functional.logsigmoid(first - second).mean().item():.4f}", flush=True)
"""
)
SETTINGS: dict[str, str] = {"learning_rate": "3.0e-3", "max_steps": "400", "batch_size": "32", "warmup_steps": "20",
                            "max_grad_norm": "1.0", "seed": "17"}  # fmt: skip
MORE: dict[str, Any] = {
    "accumulated": {"gradient_accumulation_steps": "4", "max_steps": "300", "batch_size": "8", "warmup_steps": ""},
    "preferred": {"beta": "0.1", "stage": "dpo", "learning_rate": "1.0e-3", "max_steps": "200", "warmup_steps": ""},
}
"""What the others set besides, or not at all."""
