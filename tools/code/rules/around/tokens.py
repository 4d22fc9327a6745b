"""Rules on tokens and the numbers that stand for classes: markers twice, rows that are missing, order that changes."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import FUNCTIONS, Program, key, last, receiver
from ...source import walk
from ..meaning.ways import given, opaque, peeled, reached, returns
from ..rule import Fault, View, rule
from .generation import without_specials

NO_START = re.compile(
    r"qwen|gpt2|gpt-2|phi-[234]|smollm|pythia|neox|deepseek-coder|bos_token\s{0,4}=\s{0,4}None|add_bos_token", re.I
)
"""Models whose tokenizers add no start token of their own."""


@rule("special-tokens-twice", "S2", "double-bos", "apply_chat_template",
      bad="""
      text = tokenizer.apply_chat_template(messages, tokenize=False)
      ids = tokenizer(text)["input_ids"]
      """,
      good=("""
      text = tokenizer.apply_chat_template(messages, tokenize=False)
      ids = tokenizer(text, add_special_tokens=False)["input_ids"]
      """, """
      text = prompt + answer
      ids = tokenizer(text)["input_ids"]
      """))  # fmt: skip
def special_tokens_twice(view: View) -> Iterator[Fault]:
    """Text that a chat template has finished is tokenised with special tokens again.

    Why: most templates write the start token; the tokenizer puts another before it.
    Known gaps: whether a model has a start token is told by its name.
    """
    program = view.program
    if NO_START.search(program.text) or re.search(
        r"removeprefix|lstrip\(|\.replace\(\s{0,4}\w{0,40}\.?bos", program.text
    ):
        return
    for call in program.each(ast.Call):
        named = last(program.path(call.func))
        whose = call.func if named not in ("encode", "encode_plus", "batch_encode_plus", "__call__") else receiver(call)
        if not call.args or whose is None or view.roles.of(whose) != "tokenizer" or named == "apply_chat_template":
            continue
        if named in ("decode", "batch_decode", "from_pretrained", "pad") or given(view, call, "add_special_tokens")[0] or opaque(view, call):  # fmt: skip
            continue
        template = _rendered(view, call.args[0])
        if template is not None:
            yield Fault(call, "the template has written the special tokens, and the tokenizer adds them again",
                        "模板已写入特殊 token，分词器又加了一遍", without_specials(view, call), beside=(template,))  # fmt: skip


def _rendered(view: View, expr: ast.expr) -> ast.Call | None:
    """The template call that wrote a text, here or in a function of this file."""
    for node in reached(view, expr, 3):
        if isinstance(node, ast.Call) and last(view.program.path(node.func)) == "apply_chat_template":
            told, tokenised = given(view, node, "tokenize")
            if told and tokenised is False:
                return node
    return None


@rule("embeddings-not-resized", "S1", "vocab-size-mismatch", "add_special_tokens add_tokens",
      bad="""
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      tokenizer.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["<user>"]})
      model = AutoModelForCausalLM.from_pretrained("gpt2")
      """,
      good=("""
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      tokenizer.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["<user>"]})
      model = AutoModelForCausalLM.from_pretrained("gpt2")
      model.resize_token_embeddings(len(tokenizer))
      """, """
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      tokenizer.add_special_tokens({"pad_token": tokenizer.eos_token})
      model = AutoModelForCausalLM.from_pretrained("gpt2")
      """))  # fmt: skip
def embeddings_not_resized(view: View) -> Iterator[Fault]:
    """Tokens are added to the tokenizer, and the model gets no rows for them.

    Why: their ids lie outside of the embedding: an index error, or a device-side assert.
    Known gaps: a model with spare rows; told only where the model is loaded in the same file.
    """
    program = view.program
    if re.search(
        r"resize_token_embeddings|smart_tokenizer|resize_vocab|setup_chat_format|vocab_size\s{0,4}=", program.text
    ):
        return
    models = [c for c in program.find("from_pretrained") if view.roles.of(c) == "model"]
    for call in program.find("add_special_tokens", "add_tokens"):
        if not models or view.roles.of(receiver(call)) != "tokenizer" or not call.args:
            continue
        if _new_tokens(view, call.args[0]):
            yield Fault(call, "tokens are added and the embedding is never resized",
                        "加了 token，却从未调整 embedding 的行数", beside=(models[0],))  # fmt: skip


def _new_tokens(view: View, expr: ast.expr) -> bool:
    """Whether literal tokens are added, which the tokenizer does not have by another name."""
    value = view.program.origin(expr)
    parts = value.values if isinstance(value, ast.Dict) else [value]
    flat = [e for p in parts for e in (p.elts if isinstance(p, (ast.List, ast.Tuple)) else [p])]
    return any(
        isinstance(p, ast.Constant)
        and isinstance(p.value, str)
        and p.value not in ("[PAD]", "[MASK]", "[CLS]", "[SEP]", "</s>", "<s>", "<|endoftext|>")
        for p in flat
    )


@rule("ignored-labels-decoded", "S2", "eval-harness-drift", "batch_decode",
      bad="""
      def compute_metrics(eval_pred):
          predictions, labels = eval_pred
          texts = tokenizer.batch_decode(predictions, skip_special_tokens=True)
          wanted = tokenizer.batch_decode(labels, skip_special_tokens=True)
          return rouge.compute(predictions=texts, references=wanted)
      """,
      good="""
      def compute_metrics(eval_pred):
          predictions, labels = eval_pred
          labels = np.where(labels != -100, labels, tokenizer.pad_token_id)
          texts = tokenizer.batch_decode(predictions, skip_special_tokens=True)
          wanted = tokenizer.batch_decode(labels, skip_special_tokens=True)
          return rouge.compute(predictions=texts, references=wanted)
      """)  # fmt: skip
def ignored_labels_decoded(view: View) -> Iterator[Fault]:
    """Labels are decoded with their -100 in them.

    Why: -100 is no token: decoding fails, or gives text that is not the reference.
    """
    program = view.program
    if program.mentions("-100", "ignore_index", "IGNORE_INDEX", "label_pad_token_id", "ignore_pad_token"):
        return
    handed = handed_metrics(program)
    for call in program.find("batch_decode"):
        scope = program.scope(call)
        if not call.args or not isinstance(scope, FUNCTIONS) or scope not in handed:
            continue
        named = scope.name == "compute_metrics" and re.search(r"label", last(key(call.args[0])) or "", re.I)
        made = program.origin(call.args[0], inside=False)
        if (named and not isinstance(made, ast.Call)) or as_handed(program, call.args[0], handed) == 1:
            yield Fault(call, "labels are decoded with -100 in them", "解码标签时没有替换其中的 -100")


def handed_metrics(program: Program) -> set[ast.AST]:
    """The functions that a trainer hands its predictions and labels."""
    given = {key(k.value) for n in program.calls if n.endswith("Trainer") for c in program.find(n) for k in c.keywords
             if k.arg == "compute_metrics"}  # fmt: skip
    named = [f for n in ("compute_metrics", *given) for f in program.functions.get(last(n), ())]
    return set(named)


def as_handed(program: Program, expr: ast.expr, functions: set[ast.AST], deep: int = 3) -> int | None:
    """0 for the predictions and 1 for the labels that a trainer has handed on, as they came."""
    scope, found = program.scope(expr), program.binding(expr)
    if not isinstance(scope, FUNCTIONS) or scope not in functions:
        return None
    first = scope.args.args[-1].arg if scope.args.args else ""
    if isinstance(expr, ast.Attribute) and key(expr.value) == first:
        return {"predictions": 0, "label_ids": 1}.get(expr.attr)
    if found is None or found.how != "assign" or found.value is None:
        return None
    if found.part is not None:
        return found.part if key(found.value) == first else None
    named = deep and isinstance(found.value, (ast.Name, ast.Attribute))
    return as_handed(program, found.value, functions, deep - 1) if named else None


@rule("labels-numbered-by-a-set", "S2", "eval-harness-drift", "set( enumerate zip(",
      bad="""
      from transformers import AutoModelForSequenceClassification
      labels = set(row["label"] for row in rows)
      label2id = {name: i for i, name in enumerate(labels)}
      model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=len(label2id))
      """,
      good=("""
      from transformers import AutoModelForSequenceClassification
      labels = sorted(set(row["label"] for row in rows))
      label2id = {name: i for i, name in enumerate(labels)}
      model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=len(label2id))
      """, """
      import torch
      for i, name in enumerate(set(names)):
          print(i, name)
      """))  # fmt: skip
def labels_numbered_by_a_set(view: View) -> Iterator[Fault]:
    """Classes or words are numbered in the order of a set.

    Why: the order of a set of strings changes with every start of Python: other ranks and later runs number otherwise.
    Known gaps: where the table is saved and loaded again, which is looked for by name.
    """
    program = view.program
    for call in (*program.find("enumerate"), *program.find("zip")):
        if not call.args or not _is_set(view, call.args[0]):
            continue
        above = next((n for n in program.up(call) if isinstance(n, (ast.DictComp, ast.stmt))), None)
        each = isinstance(above, ast.DictComp) and any(g.iter is call for g in above.generators)
        if last(program.path(call.func)) == "zip":
            each = len(call.args) == 2 and _counts(program, call.args[1]) and (each or _table_of(program, call))
        if each:
            statement = program.statement(call)
            name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            kept = (
                re.search(
                    rf"(dump|save|write)\w{{0,20}}\([^\n]{{0,80}}{re.escape(last(name))}|PYTHONHASHSEED", program.text
                )
                if name
                else None
            )
            if name and not kept:
                yield Fault(call, "numbered in the order of a set, which changes from run to run",
                            "按集合的顺序编号：每次运行次序都不同")  # fmt: skip


def _counts(program: Program, expr: ast.expr) -> bool:
    """`range(n)`, `count()`."""
    return isinstance(expr, ast.Call) and last(program.path(expr.func)) in ("range", "count", "arange")


def _table_of(program: Program, call: ast.Call) -> bool:
    """Whether pairs are made a dictionary as they are."""
    above = program.parent.get(call)
    return isinstance(above, ast.Call) and key(above.func) == "dict" and above.args == [call]


def _is_set(view: View, expr: ast.expr) -> bool:
    """Whether a value is a set, or a list of one in its own order."""
    value = peeled(view, expr, frozenset(("list", "tuple")))
    made = isinstance(value, ast.Call) and view.program.path(value.func) == "set" and bool(value.args)
    numbers = isinstance(value, ast.Call) and any(
        last(view.program.path(n.func)) in ("range", "int") for n in walk(value) if isinstance(n, ast.Call)
    )
    return (made or isinstance(value, ast.SetComp)) and not numbers


@rule("split-by-salted-hash", "S2", "eval-leakage", "hash(",
      bad="""
      import torch
      train = [r for r in rows if hash(r["id"]) % 10 != 0]
      test = [r for r in rows if hash(r["id"]) % 10 == 0]
      """,
      good="""
      import torch
      def bucket(name):
          return int(hashlib.md5(name.encode()).hexdigest(), 16) % 10
      train = [r for r in rows if bucket(r["id"]) != 0]
      """)  # fmt: skip
def split_by_salted_hash(view: View) -> Iterator[Fault]:
    """Examples are split, or sharded, by Python's `hash` of a text.

    Why: it is salted anew in each process: what was trained on yesterday, or on another rank, is test data here.
    """
    program = view.program
    for call in program.find("hash"):
        above = program.parent.get(call)
        if isinstance(above, ast.Call) and last(program.path(above.func)) == "abs":
            above = program.parent.get(above)
        plain = (
            isinstance(call.func, ast.Name)
            and not program.functions.get("hash")
            and "PYTHONHASHSEED" not in program.text
        )
        if (
            plain
            and call.args
            and isinstance(above, ast.BinOp)
            and isinstance(above.op, ast.Mod)
            and not isinstance(call.args[0], ast.Constant)
        ):
            function = program.scope(call)
            textual = re.search(
                r"id\b|name|text|path|file|key|url|str\(|question|prompt|doc|user|uid", program.code(call.args[0]), re.I
            )
            if (
                textual
                and not (isinstance(function, FUNCTIONS) and re.search(r"seed|rng", function.name))
                and _splits(view, above)
            ):
                yield Fault(call, "`hash` of a text is salted anew in each process: the split changes",
                            "`hash` 在每个进程里加盐不同：划分会变")  # fmt: skip
                return


SPLITS = r"train|test|val|dev|split|fold|shard|hold_?out|held_?out|rank"
"""Words of what examples are chosen for."""


def _splits(view: View, node: ast.AST) -> bool:
    """Whether a value chooses examples: it is compared, or returned by what is called a split or bucket."""
    program = view.program
    scope = program.scope(node)
    if any(isinstance(a, ast.Compare) for a in program.up(node)):
        return bool(
            re.search(
                SPLITS,
                program.code(program.statement(node), 2000) + getattr(scope, "name", ""),
                re.I,
            )
        )
    kept = program.statement(node)
    if isinstance(kept, ast.Assign) and kept.value is node and isinstance(kept.targets[0], ast.Name):
        name = kept.targets[0].id
        for test in program.within(scope, ast.Compare):
            chosen = (
                program.statement(test) if any(isinstance(n, ast.Name) and n.id == name for n in walk(test)) else None
            )
            if chosen is not None and re.search(SPLITS, program.code(chosen, 400), re.I):
                return True
    named = re.search(r"split|bucket|fold|shard|partition", getattr(scope, "name", ""), re.I)
    return bool(named) and any(n is node for v in returns(scope) for n in walk(v))
