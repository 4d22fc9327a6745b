"""The rule on models that are scored as they were made: neither trained nor loaded."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...program import Program, key, last, receiver
from ...roles import KEEPS
from ...source import walk
from ..rule import Fault, View, rule

LOADS = re.compile(
    r"load_?(?!dataset|_?data\b|s\b|_json|_jsonl|_yaml|_text|_config|_prompts|er)\w{0,40}|restore\w{0,20}|from_checkpoint|resume\w{0,20}"
    r"|get_peft_model|set_state|copy_|init_from\w{0,20}|fit|train_\w{1,20}|finetune|fine_tune|backward|manual_backward"
)
"""Names of calls that bring weights from somewhere, or train them."""
PRETRAINED = re.compile(r"token|process|extractor|config|scheduler|vocab", re.I)
"""What is loaded by `from_pretrained` beside a model."""
SCORE = re.compile(
    r"(?:^|_)(?:perplexit(?:y|ies)|ppl|accuracy|acc|bleu|rouge\w{0,3}|exact_match|f1|wer|cer|pass_at_\w)(?:_|$)|困惑度|准确率"
)
"""What a result is called that only weights which learned something can have."""
BARE = re.compile(r"(?:^|_|[a-z0-9])(?:config|cfg|conf|hparams|hp|model_?args)\w{0,8}$", re.I)
"""Names of what says how large a model is."""
PLACE = re.compile(r"path|ckpt|checkpoint|weights|pretrained|file|dir", re.I)


@rule("untrained-model-scored", "S2", "checkpoint-load-failure", "perplexity ppl accuracy bleu rouge exact_match f1 wer",
      bad=("""
      import torch
      config = ModelConfig(layers=6, width=256, vocab=32000)
      model = TinyLM(config)
      model.eval()
      with torch.no_grad():
          losses = [model(x, y).item() for x, y in windows(text)]
      perplexity = math.exp(sum(losses) / len(losses))
      """, """
      from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
      model.eval()
      results = {"accuracy": score(model, tokenizer, questions)}
      """),
      good=("""
      import torch
      config = ModelConfig(layers=6, width=256, vocab=32000)
      model = TinyLM(config)
      model.load_state_dict(torch.load("last.pt"))
      model.eval()
      with torch.no_grad():
          losses = [model(x, y).item() for x, y in windows(text)]
      perplexity = math.exp(sum(losses) / len(losses))
      """, """
      from transformers import AutoModelForCausalLM, AutoTokenizer
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      model = AutoModelForCausalLM.from_pretrained("gpt2")
      model.eval()
      results = {"accuracy": score(model, tokenizer, questions)}
      """))  # fmt: skip
def untrained_model_scored(view: View) -> Iterator[Fault]:
    """A model is built, put into evaluation and scored, and nothing trains it or loads weights into it.

    Why: the weights are those of the initialiser: the score is that of guessing, and so is every comparison made by it.
    Known gaps: a constructor of another file that loads weights by what its configuration says is not seen.
    """
    program = view.program
    if view.trainings or program.name.rpartition("/")[2].startswith("test_") or _brought(program):
        return
    scored = _scored(program)
    for call in program.find("eval") if scored is not None else ():
        on = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = program.origin(on) if on is not None and key(on) else None
        while isinstance(made, ast.Call) and last(program.path(made.func)) in KEEPS and receiver(made) is not None:
            made = receiver(made)
        if isinstance(made, ast.Call) and _fresh(view, made, on):
            yield Fault(made, "this model is scored as it was made: nothing trains it, and no weights are loaded into it",
                        "这个模型刚构造出来就被评测：既没有训练，也没有加载权重", beside=(call, *([scored] if scored is not None else [])))  # fmt: skip
            return


def _brought(program: Program) -> bool:
    """Whether the program trains anything, or brings weights from somewhere."""
    for name, calls in program.calls.items():
        if name == "from_pretrained":
            if any(not PRETRAINED.search(program.path(c.func)) for c in calls):
                return True
            continue
        plain = all(program.path(c.func).partition(".")[0] in ("json", "yaml") for c in calls)
        if (name == "train" and any(not c.args for c in calls)) or (LOADS.fullmatch(name) and not plain):
            return True
    return False


def _fresh(view: View, made: ast.Call, on: ast.expr | None) -> bool:
    """Whether a call makes a model of nothing but its sizes."""
    program = view.program
    name = last(program.path(made.func))
    given = [*made.args, *(k.value for k in made.keywords)]
    if (
        any(isinstance(n, ast.Constant) and isinstance(n.value, str) for v in given for n in walk(v))
        and name != "from_config"
    ):
        return False
    if any(k.arg is None or PLACE.search(k.arg) for k in made.keywords) or any(PLACE.search(key(v)) for v in given):
        return False
    if name == "from_config" or name in view.roles.modules:
        return True
    words = (last(program.path(v.func)) if isinstance(v, ast.Call) else last(key(v)) for v in made.args)
    sized = (
        all(BARE.search(w) or isinstance(program.const(v), int) for v, w in zip(made.args, words, strict=True))
        and given
    )
    return bool(sized) and name[:1].isupper() and "model" in (view.roles.of(made), view.roles.of(on))


def _scored(program: Program) -> ast.AST | None:
    """Where a result of a score's name is made."""
    for node in program.each(ast.Assign, ast.Dict):
        if isinstance(node, ast.Dict):
            found = next(
                (k for k in node.keys if isinstance(k, ast.Constant) and SCORE.search(str(k.value).lower())), None
            )
            if found is not None:
                return found
        elif any(SCORE.search(last(key(t)).lower()) for n in node.targets for t in walk(n)):
            return node
    return None
