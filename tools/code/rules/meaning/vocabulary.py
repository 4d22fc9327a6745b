"""Rules on the vocabulary of a model and its tokenizer."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import key
from ..look import option
from ..rule import Fault, View, rule

FAMILY = re.compile(
    r"(?i)(qwen|llama|mistral|mixtral|gemma|phi|gpt2|gpt-neo|pythia|opt|bloom|falcon|bert|roberta|deberta|t5|bart|smollm|olmo|internlm|baichuan|chatglm|glm|yi|deepseek|starcoder|codellama|electra|albert|xlnet|mpt|stablelm|cerebras)"
)


ALIKE = ({"bert", "electra"}, {"gpt2", "opt"}, {"gpt-neo", "gpt2"}, {"pythia", "mpt"}, {"llama", "mistral"}, {"llama", "codellama"}, {"gpt2", "cerebras"}, {"roberta", "gpt2"}, {"deepseek", "qwen"}, {"deepseek", "llama"}, {"smollm", "llama"}, {"t5", "flan"}, {"mistral", "mixtral"}, {"stablelm", "pythia"})  # fmt: skip
"""Families of which some share a tokenizer."""


@rule("resized-without-the-new", "S1", "vocab-size-mismatch", "resize_token_embeddings",
      bad="""
      tokenizer.add_special_tokens({"additional_special_tokens": ["<think>"]})
      model.resize_token_embeddings(tokenizer.vocab_size)
      """,
      good="""
      tokenizer.add_special_tokens({"additional_special_tokens": ["<think>"]})
      model.resize_token_embeddings(len(tokenizer))
      """)  # fmt: skip
def resized_without_the_new(view: View) -> Iterator[Fault]:
    """The embedding is resized to `vocab_size`, which does not count added tokens.

    Why: the new ids lie outside of the embedding: an index error, or a device-side assert.
    """
    program = view.program
    added = [c for c in program.find("add_special_tokens", "add_tokens") if c.args]
    for call in program.find("resize_token_embeddings"):
        value = call.args[0] if call.args else None
        origin = program.origin(value) if value is not None else None
        if (
            added
            and isinstance(origin, ast.Attribute)
            and origin.attr == "vocab_size"
            and view.roles.of(origin.value) == "tokenizer"
        ):
            yield Fault(call, "`vocab_size` does not count the added tokens",
                        "`vocab_size` 不包含新加的 token", (instead(value, f"len({key(origin.value)})"),), beside=(added[0],))  # pyright: ignore[reportArgumentType]  # fmt: skip


@rule("tokenizer-of-another-model", "S2", "tokenizer-version-mismatch", "from_pretrained",
      bad="""
      tokenizer = AutoTokenizer.from_pretrained("gpt2")
      model = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-410m")
      import torch
      """,
      good="""
      tokenizer = AutoTokenizer.from_pretrained("EleutherAI/pythia-410m")
      model = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-410m")
      import torch
      """)  # fmt: skip
def tokenizer_of_another_model(view: View) -> Iterator[Fault]:
    """The only tokenizer of a program is of another family than its only model.

    Why: the same number is another token: text goes in, and comes out, as noise.
    """
    program = view.program
    named: dict[str, list[tuple[str, ast.Call]]] = {"tokenizer": [], "model": []}
    for call in program.find("from_pretrained"):
        role = view.roles.of(call)
        told = option(program, call, "pretrained_model_name_or_path") or (call.args[0] if call.args else None)
        if role in named and told is not None:
            value = program.const(program.origin(told))
            named[role].append((str(value) if isinstance(value, str) else "", call))
    if any(len({n for n, _ in found}) != 1 for found in named.values()):
        return
    (one, call), (two, _) = named["tokenizer"][0], named["model"][0]
    first, second = (m.group(1).lower() if (m := FAMILY.search(n.rsplit("/", 1)[-1])) else "" for n in (one, two))
    if first and second and first != second and {first, second} not in ALIKE and not re.search(r"clip|vision|encoder_?decoder|from_encoder", program.text, re.I):  # fmt: skip
        yield Fault(call, f"the tokenizer is of `{one}`, the model is `{two}`",
                    f"分词器来自 `{one}`，模型却是 `{two}`", beside=(named["model"][0][1],))  # fmt: skip
