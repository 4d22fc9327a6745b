"""Rules on programs that score answers: judges that compare two of them, and rewards made of parts."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program
from ..rule import Fault, View, rule

COMPARES = re.compile(r"(?i)\bjudge|better|prefer|winner|which (?:one|answer|response)|裁判|更好|哪个|评判")
TWO = tuple(re.compile(rf"(?i)(?:answer|response|assistant|output|candidate|model|reply|completion|回答|答案|回复)\s?[_(（\[:#]?\s?{which}(?![a-z0-9])")
            for which in ("(?:1|a|one|一|甲)", "(?:2|b|two|二|乙)"))  # fmt: skip
BOTH = re.compile(
    r"(?i)shuffle|random\.|rng\.|randint|\bswap|both_orders|both orders|for [\w, ]{1,40} in (?:orders|ORDERS|\(|\[)|permutations|reversed\(|\[::-1\]"
)
FORMAT = re.compile(r"(?i)(?:^|_)(?:fmt|format\w*|tags?|structure|template|style)(?:_|$)")
RIGHT = re.compile(r"(?i)(?:^|_)(?:acc\w*|correct\w*|answer\w*|match\w*|em|right|solved|passed|outcome|result)(?:_|$)")


@rule("judge-sees-one-order", "S2", "judge-bias", "judge Judge better Better 裁判 更好 winner",
      bad="""
      TEMPLATE = "Which answer is better, 1 or 2?\\nAnswer 1: {first}\\nAnswer 2: {second}"

      def ask(row):
          out = chat("judge-72b", TEMPLATE.format(first=row["new"], second=row["old"]), temperature=0)
          return "new" if out.strip().startswith("1") else "old"
      """,
      good="""
      TEMPLATE = "Which answer is better, 1 or 2?\\nAnswer 1: {first}\\nAnswer 2: {second}"

      def ask(row):
          votes = []
          for a, b in [("new", "old"), ("old", "new")]:
              out = chat("judge-72b", TEMPLATE.format(first=row[a], second=row[b]), temperature=0)
              votes.append(a if out.strip().startswith("1") else b)
          return votes[0] if votes[0] == votes[1] else "tie"
      """)  # fmt: skip
def judge_sees_one_order(view: View) -> Iterator[Fault]:
    """A judge compares two answers, and one of the two always stands first.

    Why: judges prefer a place, often the first, by as much as models differ; of one order nobody can tell which it was.
    Known gaps: an order that the caller turns round, or that the data already mix, is not visible in the program.
    """
    program = view.program
    for node in program.each(ast.Constant, ast.JoinedStr):
        text = _template(node)
        if text and COMPARES.search(text) and all(p.search(text) for p in TWO):
            if BOTH.search(program.text):
                return
            yield Fault(node, "the judge is shown the two answers in one order only: the candidate always stands in one place",
                        "评审只看到一种先后顺序：候选回答总在同一个位置")  # fmt: skip
            return


def _template(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a template, or of one that is filled where it stands."""
    if isinstance(node, ast.JoinedStr):
        parts = (str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
        return "".join(parts) if len(node.values) > 1 else ""
    return node.value if isinstance(node.value, str) and ("{" in node.value or "%s" in node.value) else ""


@rule("format-outweighs-answer", "S2", "rlvr-answer-guessing", "format fmt tag",
      bad="""
      def compute_score(text, truth):
          fmt = 1.0 if FMT.match(text) else 0.0
          acc = 1.0 if pick(text) == truth else 0.0
          return 0.7 * fmt + 0.3 * acc
      """,
      good="""
      def compute_score(text, truth):
          fmt = 1.0 if FMT.match(text) else 0.0
          acc = 1.0 if pick(text) == truth else 0.0
          return 0.1 * fmt + 0.9 * acc
      """)  # fmt: skip
def format_outweighs_answer(view: View) -> Iterator[Fault]:
    """A reward pays as much for the format as for the right answer, or more.

    Why: the format is learned in a few steps whatever the answer is; from then on what pays is to write it and guess.
    Known gaps: weights that come from a configuration, and format as a condition of the rest, are not seen.
    """
    program = view.program
    for node in program.each(ast.BinOp, ast.AugAssign):
        if not isinstance(node.op, ast.Add):
            continue
        weights: dict[str, float] = {}
        told = False
        for term in _parts(program, node):
            kind, weight, written = _weighed(program, term)
            if kind and weight > 0:
                weights.setdefault(kind, weight)
                told |= written
        if told and len(weights) == 2 and weights["format"] >= weights["right"]:
            form, right = weights["format"], weights["right"]
            yield Fault(node, f"the reward weighs the format {form:g} and the answer {right:g}: well-formed guesses pay, and nothing looks at the thought itself",
                        f"奖励中格式权重 {form:g}、答案权重 {right:g}：格式对的瞎猜也能得分，推理内容没有检查")  # fmt: skip
            return


def _parts(program: Program, node: ast.BinOp | ast.AugAssign) -> Iterator[ast.expr]:
    """The terms of a sum, or of all that a name is given and raised by."""
    if isinstance(node, ast.BinOp):
        yield from _terms(node)
    else:
        for binding in program.bindings(node.target):
            yield from (
                _terms(binding.value) if binding.value is not None and binding.how in ("assign", "augment") else ()
            )


def _weighed(program: Program, term: ast.expr) -> tuple[str, float, bool]:
    """(`format`, `right` or nothing, its weight, whether that is written) of a term of a reward."""
    pairs = [(None, term)]
    if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult):
        pairs = [(term.left, term.right), (term.right, term.left)]
    for factor, part in pairs:
        weight, name = 1.0 if factor is None else program.const(factor), _name(part)
        kind = "format" if FORMAT.search(name) else "right" if RIGHT.search(name) else ""
        if kind and isinstance(weight, (int, float)):
            return kind, float(weight), factor is not None
    return "", 0.0, False


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _name(node: ast.expr) -> str:
    """What a part of a reward is called: a name, a field, or what is called for it."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
