"""Rules on the objective of preference and policy training: signs, ratios, groups, the end of an episode."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...patch import instead
from ...program import FUNCTIONS, Program, argument, key, last, receiver
from ...source import walk
from ..apart.grouping import mixed_groups
from ..look import source
from ..rule import Fault, View, rule
from .ways import SHAPES, whole


def leaves(program: Program, expr: ast.expr, sign: int = 1, deep: int = 5) -> Iterator[tuple[str, int]]:
    """(the words of a term, its sign) of a sum, through names; factors and shapes are passed over."""
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
        yield from leaves(program, expr.operand, -sign, deep)
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
        yield from leaves(program, expr.left, sign, deep)
        yield from leaves(program, expr.right, sign if isinstance(expr.op, ast.Add) else -sign, deep)
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Mult, ast.Div)):
        turned = sum(isinstance(s, ast.UnaryOp) and isinstance(s.op, ast.USub) for s in (expr.left, expr.right)) % 2
        sums = [s for s in (expr.left, expr.right) if not isinstance(s, ast.Constant) and not _scale(s)]
        if len(sums) == 1:
            one = sums[0].operand if isinstance(sums[0], ast.UnaryOp) else sums[0]
            yield from leaves(program, one, -sign if turned else sign, deep)
    elif (
        isinstance(expr, ast.Call)
        and isinstance(expr.func, ast.Attribute)
        and expr.func.attr in (*SHAPES, "sum", "mean")
        and key(expr.func.value) not in ("torch", "F")
    ):
        yield from leaves(program, expr.func.value, sign, deep)
    elif deep and isinstance(expr, (ast.Name, ast.Attribute)):
        found = program.binding(expr)
        if (
            found is not None
            and found.value is not None
            and found.how == "assign"
            and found.part is None
            and found.value is not expr
        ):
            if isinstance(found.value, (ast.BinOp, ast.UnaryOp, ast.Name)):
                yield from leaves(program, found.value, sign, deep - 1)
                return
            yield f"{key(expr)} {program.code(found.value)}", sign
        else:
            yield key(expr), sign
    else:
        yield program.code(expr), sign


def _scale(expr: ast.expr) -> bool:
    inner = expr.operand if isinstance(expr, ast.UnaryOp) else expr
    return bool(re.search(r"beta|alpha|coef|tau|scale|temp|lambda", last(key(inner)), re.I)) or isinstance(
        inner, ast.Constant
    )


CHOSEN = re.compile(r"chosen|preferred|(^|_|\b)(win|pos|w)(_|\b|$)|winner", re.I)


REJECTED = re.compile(r"reject|dispreferred|(^|_|\b)(lose|loser|neg|l)(_|\b|$)", re.I)


REF = re.compile(r"(^|_|\b)ref(erence)?(_|\b|\.|$)|reference", re.I)


@rule("reference-sign-flipped", "S1", "dpo-chosen-reward-falling", "logsigmoid",
      bad="""
      pi_margin = policy_chosen_logps - policy_rejected_logps
      ref_margin = ref_chosen_logps - ref_rejected_logps
      loss = -F.logsigmoid(beta * (ref_margin - pi_margin)).mean()
      """,
      good="""
      pi_margin = policy_chosen_logps - policy_rejected_logps
      ref_margin = ref_chosen_logps - ref_rejected_logps
      loss = -F.logsigmoid(beta * (pi_margin - ref_margin)).mean()
      """)  # fmt: skip
def reference_sign_flipped(view: View) -> Iterator[Fault]:
    """In a preference loss, policy and reference stand with each other's signs.

    Why: the loss falls where the policy prefers what people rejected.
    """
    program = view.program
    for call in program.find("logsigmoid", "log_sigmoid"):
        value = call.args[0] if call.args else None
        if value is None:
            continue
        terms = [(text, sign) for text, sign in leaves(program, value)]
        kinds = {(bool(CHOSEN.search(t)) and not REJECTED.search(t), bool(REF.search(t))): s for t, s in terms
                 if bool(CHOSEN.search(t)) != bool(REJECTED.search(t))}  # fmt: skip
        statement = program.statement(call)
        minus = any(
            isinstance(a, ast.UnaryOp) and isinstance(a.op, ast.USub) for a in program.up(call) if a is not statement
        )
        direct = isinstance(value, ast.Name) or not (
            isinstance(value, ast.BinOp) and any(isinstance(n, ast.UnaryOp) for n in walk(value))
        )
        if len(terms) == 4 and len(kinds) == 4 and minus and direct:
            wanted = {(True, False): 1, (False, False): -1, (True, True): -1, (False, True): 1}
            if all(kinds.get(k) == -s for k, s in wanted.items()):
                place = next(
                    (n for n in program.traced(value, 2) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)),
                    call,
                )
                yield Fault(place, "policy and reference stand with each other's signs: the rejected answer is made likelier",
                            "策略与参考模型的符号颠倒：损失在抬高被拒绝的回答", beside=(call,))  # fmt: skip
                return


@rule("group-statistics-of-the-wrong-axis", "S1", "rl-no-convergence", "mean sum(",
      bad="""
      grouped = rewards.view(-1, num_generations)
      advantages = (grouped - grouped.mean(dim=0)) / (grouped.std(dim=0) + 1e-4)
      """,
      good="""
      grouped = rewards.view(-1, num_generations)
      advantages = (grouped - grouped.mean(dim=1, keepdim=True)) / (grouped.std(dim=1, keepdim=True) + 1e-4)
      """)  # fmt: skip
def group_statistics_of_the_wrong_axis(view: View) -> Iterator[Fault]:
    """Rewards are compared across prompts, not among the answers to one prompt.

    Why: an easy prompt's answers all look good and a hard one's all bad: the advantage says nothing of the answer.
    """
    program = view.program
    yield from _over_everything(program)
    for call in (*program.find("mean"), *_sums_of_others(program)):
        on, axis = receiver(call), argument(call, "dim", 0) or argument(call, "axis")
        if (
            on is None
            or axis is None
            or not re.search(r"reward|score", program.code(program.origin(on)) + key(on), re.I)
        ):
            continue
        found = mixed_groups(program, on, program.const(axis))
        if found is not None:
            what, zh, beside = found
            yield Fault(call, what, zh, beside=beside)


def _sums_of_others(program: Program) -> Iterator[ast.Call]:
    """The sum of a baseline that leaves one out: `r.sum(1, keepdim=True) - r`."""
    for call in program.find("sum"):
        above, on = program.parent.get(call), key(receiver(call))
        less = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and above.left is call
        if on and less and isinstance(above, ast.BinOp) and key(above.right) == on:
            yield call


def _over_everything(program: Program) -> Iterator[Fault]:
    """Rewards that are laid out in groups, and then measured by one mean of all of them."""
    for call in program.find("mean"):
        on = receiver(call)
        made = program.origin(on) if isinstance(on, ast.Name) and not call.args and not call.keywords else None
        if (
            not isinstance(made, ast.Call)
            or last(program.path(made.func)) not in ("view", "reshape")
            or len(made.args) != 2
        ):
            continue
        above = program.parent.get(call)
        less = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and above.right is call
        if not less or not isinstance(above, ast.BinOp) or key(above.left) != key(on):
            continue
        uses = [n for n in program.within(program.scope(call), ast.Call) if key(receiver(n)) == key(on)]
        along = any((n.args or n.keywords) and last(program.path(n.func)) in AXES for n in uses)
        paid = re.search(r"reward|score|\br\b|ret", program.code(made), re.I)
        grouped = program.const(made.args[0]) == -1 and GROUP.search(program.code(made.args[1]))
        if paid and grouped and not along:
            yield Fault(call, "rewards are laid out in groups and measured by the mean of all: answers to other prompts count",
                        "奖励已按组排列，却用全体的均值来标准化：混入了其他提示的回答", severity="S2", beside=(made,))  # fmt: skip


AXES = ("mean", "std", "var", "sum", "max", "min")
GROUP = re.compile(r"gen|group|samples|^[kgnKGN]$|rollouts|per_prompt")
"""Words of how many answers there are to one prompt."""


@rule("bootstrap-through-the-end", "S2", "rl-no-convergence", "gamma discount gae advantage",
      bad="""
      def update(batch):
          s, a, r, s2, done = batch
          with torch.no_grad():
              target = r + gamma * target_net(s2).max(dim=1).values
          loss = F.mse_loss(q_net(s).gather(1, a).squeeze(1), target)
          return loss
      """,
      good="""
      def update(batch):
          s, a, r, s2, done = batch
          with torch.no_grad():
              target = r + gamma * (1 - done) * target_net(s2).max(dim=1).values
          loss = F.mse_loss(q_net(s).gather(1, a).squeeze(1), target)
          return loss
      """)  # fmt: skip
def bootstrap_through_the_end(view: View) -> Iterator[Fault]:
    """The value after the last state of an episode is added to the target.

    Why: the end of an episode has no value behind it: values grow without end, and ending is worth nothing.
    """
    program = view.program
    for node in program.each(ast.BinOp):
        if not isinstance(node.op, ast.Add) or not isinstance(node.right, ast.BinOp):
            continue
        factors = [n for n in walk(node.right) if re.search(r"^(gamma|discount\w{0,10})$", last(key(n)), re.I) or (
            isinstance(n, ast.Name) and n.id == "g" and re.search(r"gae|advantage|td_target", getattr(program.scope(node), "name", "")))]  # fmt: skip
        scope = program.scope(node)
        if not factors or not isinstance(scope, (*FUNCTIONS, ast.Module)):
            continue
        for name, bound in program.bound.get(scope, {}).items():
            if re.fullmatch(
                r"d|dones?|done_mask|terminals?|terminated|terms?|is_done|not_done|masks?", name, re.I
            ) and any(
                (b.how in ("assign", "for") and b.part is not None) or (b.how == "parameter" and "mask" not in name)
                for b in bound
            ):
                read = any(n.id == name and isinstance(n.ctx, ast.Load) for n in program.within(scope, ast.Name))
                if not read:
                    yield Fault(node, f"the target goes on behind the end of an episode: `{name}` is not used",
                                f"目标越过了回合结束：`{name}` 没有被使用")  # fmt: skip
                    break


@rule("ratio-upside-down", "S1", "rl-no-convergence", "ratio",
      bad="""
      ratio = torch.exp(old_logp - logp)
      loss = -torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()
      """,
      good="""
      ratio = torch.exp(logp - old_logp)
      loss = -torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()
      """)  # fmt: skip
def ratio_upside_down(view: View) -> Iterator[Fault]:
    """The ratio of probabilities is old over new.

    Why: its gradient points the other way: good actions become rarer.
    """
    program = view.program
    for call in program.find("exp"):
        value = call.args[0] if call.args else receiver(call)
        value = program.origin(value) if value is not None else None
        statement = program.statement(call)
        target = last(key(statement.targets[0])) if isinstance(statement, ast.Assign) else ""
        if (
            not isinstance(value, ast.BinOp)
            or not isinstance(value.op, ast.Sub)
            or not re.fullmatch(r"(pg_|policy_|prob_|importance_)?ratios?", target)
        ):
            continue
        old = [
            bool(re.search(r"(^|_|\b|\.|\[['\"])(old|behavio\w{0,3}r|rollout|sampled)(_|\b)|_old\b", program.code(s)))
            for s in (value.left, value.right)
        ]
        if not any(old):
            old = _drawn_before(program, value)
        clipped = re.search(
            rf"clamp\(\s{{0,9}}{target}|clip\(\s{{0,9}}{target}|{target}\.(clamp|clip)", whole(program, call)
        )
        if old == [True, False] and clipped:
            a, b = source(program, value.left), source(program, value.right)
            yield Fault(call, "the ratio is old over new: good actions become rarer",
                        "比值是旧策略除以新策略：好的动作反而变少", (instead(value, f"{b} - {a}"),))  # fmt: skip


def _drawn_before(program: Program, value: ast.BinOp) -> list[bool]:
    """Which side of a difference is old, where no name says so: part of a table, the other side asked of the policy now."""
    sides = (value.left, value.right)
    asked = [any(isinstance(n, ast.Call) and last(program.path(n.func)) == "log_prob" for n in program.traced(s, 3)) for s in sides]  # fmt: skip
    kept = [isinstance(s, ast.Subscript) for s in sides]
    return [kept[i] and not asked[i] and asked[1 - i] for i in (0, 1)]


@rule("surrogate-not-negated", "S1", "rl-no-convergence", "ratio log_prob",
      bad="""
      for batch in loader:
          ratio = torch.exp(policy(batch) - batch["old_logp"])
          loss = torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      for batch in loader:
          ratio = torch.exp(policy(batch) - batch["old_logp"])
          loss = -torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def surrogate_not_negated(view: View) -> Iterator[Fault]:
    """The objective that is to grow is minimised.

    Why: the optimizer goes down: what was rewarded becomes rarer.
    """
    program = view.program
    for training in view.trainings:
        for event in training.of("backward"):
            if event.on is None:
                continue
            nodes = [n for n, _, _ in made_of(program, event.on, event.calls)]
            smaller = [n for n in nodes if isinstance(n, ast.Call) and last(program.path(n.func)) in ("min", "minimum") and len(n.args) == 2
                       and all(re.search(r"adv|surr|ratio", program.code(a) + " " + program.code(program.origin(a)), re.I) for a in n.args)]  # fmt: skip
            smaller = smaller or _weighted(program, nodes)
            turned = any(
                isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub) and not isinstance(n.operand, ast.Constant)
                for n in nodes
            )
            turned |= any(
                isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and any(s in set(walk(n.right)) for s in smaller)
                for n in nodes
            )
            turned |= any(isinstance(n, ast.Constant) and n.value in (-1, -1.0) for n in nodes) or any(
                isinstance(n, ast.AugAssign) for n in nodes
            )
            if (
                smaller
                and not turned
                and not re.search(r"maximize\s{0,4}=\s{0,4}True|\bneg\(", program.text)
                and "-=" not in whole(program, smaller[0])
                and not _minus_uses(program, event.on)
            ):
                yield Fault(smaller[0], "what is to grow is minimised: the surrogate is not negated",
                            "应增大的目标被最小化：代理目标没有取负", beside=(event.node,))  # fmt: skip


def _weighted(program: Program, nodes: list[ast.AST]) -> list[ast.expr]:
    """Products of a log-probability and what it was worth, where nothing of the loss is a cross-entropy."""
    called = {last(program.path(n.func)) for n in nodes if isinstance(n, ast.Call)}
    if "log_prob" not in called or any(re.search(r"nll|entropy|loss", n) for n in called):
        return []
    return [n for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and re.search(
        r"adv|return|reward|(^|_)(g|ret)$", " ".join(last(key(s)) for s in (n.left, n.right)), re.I) and re.search(
        r"log_?p", program.code(n), re.I)]  # fmt: skip


def _minus_uses(program: Program, expr: ast.expr) -> bool:
    """Whether a sum that makes the loss subtracts anything that is not a constant."""
    value = program.origin(expr)
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub)
