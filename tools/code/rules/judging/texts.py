"""Texts that are compared by a metric, and pairs whose answers are cut."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from ...flow import made_of
from ...program import Program, argument, key, last
from ..look import keyword
from ..rule import Fault, View
from .measures import STRONG

METRICS = {
    "wer": ("reference", "hypothesis"), "cer": ("reference", "hypothesis"), "mer": ("reference", "hypothesis"),
    "wil": ("reference", "hypothesis"), "process_words": ("reference", "hypothesis"),
    "process_characters": ("reference", "hypothesis"), "compute_measures": ("truth", "hypothesis"),
    "word_error_rate": ("preds", "target"), "char_error_rate": ("preds", "target"),
    "compute": ("predictions", "references"), "add_batch": ("predictions", "references"),
    "corpus_bleu": ("", ""), "corpus_chrf": ("", ""), "sentence_bleu": ("", ""), "sentence_chrf": ("", ""),
    "corpus_score": ("hypotheses", "references"), "edit_distance": ("", ""), "levenshtein": ("", ""),
}  # fmt: skip
"""Calls that compare texts -> how they name the two sides, in their order."""
WAYS = re.compile(
    r"(^|_)(normali[sz]\w{0,12}|norm|clean\w{0,10}|canonical\w{0,8}|standardi[sz]e\w{0,6}|preprocess\w{0,8}|postprocess\w{0,8})$",
    re.I,
)
TOLD = re.compile(r"_transform$|^(lowercase|tokenize|normalize|ignore_case|ignore_punctuation)$")
READ = ("batch_decode", "decode", "generate", "transcribe", "pipeline")
RIGHT = ("chosen", "rejected")
TALK = re.compile(r"history|dialog|turns|conversation|messages|prompt|context", re.I)


def one_side_of_a_metric(view: View) -> Iterator[Fault]:
    """Answers and references that a metric compares, one side alone of which is made alike first."""
    program = view.program
    for call in program.find(*METRICS):
        sides = _sides(program, call)
        if len(sides) != 2 or any(TOLD.search(k.arg or "") for k in call.keywords):
            continue
        calls = [[n for n, _, _ in islice(made_of(program, s, (), 10), 300) if isinstance(n, ast.Call)] for s in sides]
        done = [any(_alike(program, n) for n in each) for each in calls]
        if done[0] is done[1]:
            continue
        bare = sides[0] if done[1] else sides[1]
        if _of_data(program, bare, calls[0] if done[1] else calls[1]):
            yield Fault(call, "one side of the comparison is normalised and the other is not", "比较时只规范化了一侧")


def _sides(program: Program, call: ast.Call) -> list[ast.expr]:
    names = METRICS[last(program.path(call.func))]
    found = [argument(call, n, i) for i, n in enumerate(names)]
    if last(program.path(call.func)) in ("compute", "add_batch") and call.args:
        return []
    return [f for f in found if f is not None and not isinstance(f, ast.Constant)]


def _alike(program: Program, call: ast.Call) -> bool:
    """Whether a call makes texts alike: by a method of texts, by its own word, or by the class of its object."""
    name = last(program.path(call.func))
    if name in STRONG or WAYS.search(name):
        return True
    if any(k.arg in ("normalize", "basic_normalize") and program.const(k.value) is True for k in call.keywords):
        return True
    made = program.origin(call.func) if key(call.func) else None
    return isinstance(made, ast.Call) and re.search(r"Normali[sz]er$", last(program.path(made.func))) is not None


def _of_data(program: Program, expr: ast.expr, calls: list[ast.Call]) -> bool:
    """Whether a side comes from data or from a model, by nothing whose work is unknown."""
    plain = {"strip", "zip", "get", "rstrip", "lstrip", "enumerate", "list", "tqdm", "range", "len", "append", "extend", "split",
             *READ, "to", "cuda", "eval", "load_dataset", "select", "open", "loads", "readlines"}  # fmt: skip
    known = all(last(program.path(c.func)) in plain or program.function(c) is not None for c in calls)
    read = any(last(program.path(c.func)) in READ for c in calls)
    nodes = (n for n, _, _ in islice(made_of(program, expr, (), 10), 200))
    seen = any(
        isinstance(n, (ast.Subscript, ast.comprehension)) or any(b.how == "for" for b in program.bindings(n))
        for n in nodes
    )
    return read or (known and seen)


def pairs_cut_on_the_right(view: View) -> Iterator[Fault]:
    """Chosen and rejected conversations that a reward model is given, cut where their answers stand."""
    program = view.program
    if not all(w in program.text for w in RIGHT) or re.search(r"truncation_side\s{0,4}=\s{0,4}['\"]left", program.text):
        return
    right = re.search(r"truncation_side\s{0,4}=\s{0,4}['\"]right", program.text) is not None
    for call in program.each(ast.Call):
        if keyword(call, "truncation", program) is not True or not call.args or not _tokenises(view, call):
            continue
        nodes = [n for a in call.args for n, _, _ in islice(made_of(program, a, (), 8), 200)]
        words = " ".join(str(n.value) for n in nodes if isinstance(n, ast.Constant)) + " ".join(key(n) for n in nodes)
        near = program.code(program.scope(call), 4000)
        if all(w in near for w in RIGHT) and TALK.search(words):
            yield Fault(call, "conversations are cut on the right, where the answer stands that is to be judged: chosen and rejected become the same",
                        "对话在右侧被截断，正是待比较的回答所在：chosen 与 rejected 变得相同", severity="" if right else "S3")  # fmt: skip
            return


def _tokenises(view: View, call: ast.Call) -> bool:
    return (
        view.roles.of(call.func) == "tokenizer"
        or re.search(r"(^|\.)(self\.)?tok(enizer)?$", key(call.func)) is not None
    )
