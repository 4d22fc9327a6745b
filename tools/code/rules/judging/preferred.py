"""What an evaluation of preferences counts as right: beside a loss that compares with the reference, without it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...flow import made_of
from ...program import FUNCTIONS, Program, key, last
from ...source import walk
from ..rule import Fault, View, rule

CHOSEN = re.compile(r"chosen|preferred|winner|(?:^|_)(?:win|pos|good|better|w)(?:_|$)|positive", re.I)
REJECTED = re.compile(r"reject|dispreferred|loser|(?:^|_)(?:lose|neg|bad|worse|l)(?:_|$)|negative", re.I)
REFERENCE = re.compile(r"(?:^|_)(?:ref\w{0,24}|base\w{0,12}|frozen\w{0,12}|sft\w{0,12}|initial\w{0,12})(?:_|$)", re.I)


@rule("pairs-judged-without-reference", "S2", "eval-harness-drift", "logsigmoid log_sigmoid",
      bad="""
      def validate(policy, reference, pairs, beta):
          right = 0
          for pair in pairs:
              chosen = sequence_logp(policy, pair["chosen"])
              rejected = sequence_logp(policy, pair["rejected"])
              right += int(chosen > rejected)
              ref_chosen = sequence_logp(reference, pair["chosen"])
              ref_rejected = sequence_logp(reference, pair["rejected"])
              loss = -F.logsigmoid(beta * ((chosen - rejected) - (ref_chosen - ref_rejected)))
          return right / len(pairs)
      """,
      good="""
      def validate(policy, reference, pairs, beta):
          right = 0
          for pair in pairs:
              chosen = sequence_logp(policy, pair["chosen"]) - sequence_logp(reference, pair["chosen"])
              rejected = sequence_logp(policy, pair["rejected"]) - sequence_logp(reference, pair["rejected"])
              right += int(chosen > rejected)
              loss = -F.logsigmoid(beta * (chosen - rejected))
          return right / len(pairs)
      """)  # fmt: skip
def pairs_judged_without_reference(view: View) -> Iterator[Fault]:
    """The accuracy of pairs compares log-probabilities of the policy alone, beside a loss that has the reference.

    Why: of two answers the shorter or plainer one is likelier under any model; what is trained is the margin over the
    reference, so this accuracy hardly moves, and a checkpoint that is chosen by it is chosen by chance.
    Known gaps: a function that counts pairs both ways is left alone, and losses without a reference (SimPO, ORPO).
    """
    program = view.program
    for function in program.each(*FUNCTIONS):
        nodes = [*walk(function)]
        losses = [
            n for n in nodes if isinstance(n, ast.Call) and last(program.path(n.func)) in ("logsigmoid", "log_sigmoid")
        ]
        if not any(_with_reference(program, call) for call in losses):
            continue
        pairs = [n for n in nodes if isinstance(n, ast.Compare) and _of_a_pair(n)]
        if pairs and not any(_with_reference(program, n) for n in pairs):
            yield Fault(
                pairs[0],
                "pairs are counted as right without the reference that the loss compares with",
                "统计成对准确率时没有减去 loss 所对比的参考模型",
            )


def _of_a_pair(node: ast.Compare) -> bool:
    """Whether a comparison asks which of two answers is the likelier one, as their names tell."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
        return False
    names = [_names(side) for side in (node.left, node.comparators[0])]
    first, second = ([bool(p.search(n)) for p in (CHOSEN, REJECTED)] for n in names)
    return first[0] != first[1] and first == second[::-1] and "len" not in "".join(names)


def _names(expr: ast.expr) -> str:
    return " ".join(last(key(n)) for n in walk(expr) if isinstance(n, (ast.Name, ast.Attribute)))


def _with_reference(program: Program, node: ast.AST) -> bool:
    """Whether the reference model, or what it gave, is in what a value is made of."""
    made = (s.node for s in made_of(program, node) if isinstance(s.node, (ast.Name, ast.Attribute, ast.Constant)))
    return any(REFERENCE.search(str(n.value) if isinstance(n, ast.Constant) else last(key(n))) for n in made)
