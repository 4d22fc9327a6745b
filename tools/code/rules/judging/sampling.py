"""The rule on rollouts that the policy writes in training mode."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import Program, key, last, receiver
from ...training import Event, Training
from ..apart.moods import OTHERS, trained
from ..rule import Fault, View, rule

DROPS = re.compile(r"gpt2|opt-\d|bloom|bart|\bt5|flan|blenderbot|pegasus|marian|galactica|dropout", re.I)
"""Models that are known to have dropout, and what says that there is some."""
NONE = re.compile(r"disable_dropout|(dropout|pdrop|drop_rate)\w{0,20}[\"']?\s{0,2}[=:]\s{0,2}0(\.0)?\b", re.I)
DEEP = 16
"""Names and calls from a loss back to the model: through a function of log-probabilities, ratios, losses of tokens."""
ROLLOUT = """
policy = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
policy.train()
for prompts in loader:
    {mode}
    with torch.no_grad():
        answers = policy.generate(**prompts, do_sample=True, max_new_tokens=64)
    policy.train()
    loss = -(log_probs(policy, answers) * rewards(answers)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@rule("rollout-in-training-mode", "S2", "rl-instability", "generate(",
      bad=ROLLOUT.format(mode="pass"), good=ROLLOUT.format(mode="policy.eval()"))  # fmt: skip
def rollout_in_training_mode(view: View) -> Iterator[Fault]:
    """The policy writes its rollouts in training mode.

    Why: dropout is on, so that the answers are drawn from another policy than the one that is trained; with gradient
    checkpointing the cache is off, too, and each token costs a whole pass.
    Known gaps: models without dropout and checkpointing, of which this is said with less weight.
    """
    program = view.program
    if not view.trainings or NONE.search(program.text) or _ever_off(view):
        return
    for training in view.trainings:
        backward = next((e for e in training.events if e.kind == "backward"), None)
        for event in training.of("call"):
            found = _generated(program, event)
            if backward is None or found is None or not _put_in_training(view, training, found):
                continue
            recomputed = "gradient_checkpointing_enable" in program.text or re.search(
                r"gradient_checkpointing\s{0,2}=\s{0,2}True", program.text)  # fmt: skip
            heavy = recomputed or DROPS.search(program.text)
            name = key(found)
            yield Fault(event.node, f"`{name}` writes its rollouts in training mode: dropout is on, and the cache may be off",
                        f"`{name}` 在训练模式下生成：dropout 仍然开启，缓存也可能被关闭", severity="" if heavy else "S3")  # fmt: skip
            return


def _ever_off(view: View) -> bool:
    """Whether a model that is no helper is ever put into evaluation mode."""
    program = view.program
    calls = [c for c in program.find("eval") if not c.args]
    calls += [
        c for c in program.find("train") if receiver(c) is not None and c.args and program.const(c.args[0]) is not True
    ]
    for call in calls:
        on = receiver(call)
        helper = on is not None and OTHERS.search(last(key(on)) or program.code(on))
        whole = program.statement(call)
        given = key(whole.targets[0]) if isinstance(whole, ast.Assign) else ""
        if not helper and not OTHERS.search(given):
            return True
    return False


def _generated(program: Program, event: Event) -> ast.expr | None:
    """The model that writes an answer."""
    call = event.node
    if not isinstance(call, ast.Call) or last(program.path(call.func)) != "generate":
        return None
    on = receiver(call)
    while isinstance(on, ast.Call):
        on = on.args[0] if last(program.path(on.func)) in ("unwrap_model", "unwrap") and on.args else receiver(on)
    if isinstance(on, ast.Attribute) and on.attr == "module":
        on = on.value
    return on if on is not None and key(on) else None


def _put_in_training(view: View, training: Training, model: ast.expr) -> bool:
    """Whether a model is the one that is trained, and the program puts it into training mode."""
    program = view.program
    names = {key(n) for n, _, _ in made_of(program, model, (), 3) if isinstance(n, (ast.Name, ast.Attribute))}
    called = {last(key(receiver(c))) for c in program.find("train") if receiver(c) is not None}
    used = {last(key(n)) for b in training.of("backward") if b.on is not None
            for n, cut, _ in made_of(program, b.on, b.calls, DEEP) if not cut and isinstance(n, (ast.Name, ast.Attribute))}  # fmt: skip
    used |= {last(k) for k in trained(view, training)}
    mine = {last(n) for n in names}
    return bool(mine & called) and bool(mine & used) and not OTHERS.search(last(key(model)))
