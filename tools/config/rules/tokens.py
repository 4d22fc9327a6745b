"""Rules on special tokens: padding and the end of a sequence."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Setting, Settings
from .rule import Fault, rule

WORTH = ("tokenizer", "model", "generation")
"""Files that name special tokens, the one that training masks by first; the trainer's own config goes before."""


def named(settings: Settings, variable: str) -> Iterator[Setting]:
    """Every place that sets the variable, the one in force last."""
    yield from (s for s in settings.shadowed if s.variable == variable)
    if setting := settings.get(variable):
        yield setting


@rule("pad-equals-eos", "S2", needs=("pad_token_id", "eos_token_id"))
def pad_equals_eos(settings: Settings) -> Iterator[Fault]:
    """The padding token is the end-of-sequence token.

    Why: where labels are masked by the pad id, the end token is masked too and the model never learns to stop.
    Bad: SFT with `base_model: m`, `learning_rate: 1.0e-5`,
        `special_tokens: {pad_token: "<|endoftext|>", eos_token: "<|endoftext|>"}`.
    Good: a pad token of its own, `base_model: m`, `learning_rate: 1.0e-5`,
        `special_tokens: {pad_token: "<|pad|>", eos_token: "<|endoftext|>"}`; or labels masked by attention mask or
        length.
    Known gaps: equality is no fault where masking does not use the id; the tokenizer must be visible. Where a program
        sets pad = eos it is only noted here: whether the program masks by the id is read from it (`end-token-masked`).
    Source: runbook entry `pad-eos-misconfig`.
    """
    pads, ends = ({s.framework: s for s in named(settings, v)} for v in ("pad_token_id", "eos_token_id"))
    both = [name for name in pads if name in ends]
    if not both:
        return
    last = min(both, key=lambda name: WORTH.index(name) if name in WORTH else -1)
    pad, eos = pads[last], ends[last]
    if pad.value != eos.value:
        return
    trained = pad.framework not in ("model", "tokenizer", "generation") or bool(settings.value("learning_rate"))
    mild = not trained or settings.value("packing") is True or pad.file.endswith((".py", ".ipynb"))
    yield Fault(
        "pad_token_id",
        f"pad and eos are the same token ({pad.value}); if labels are masked by pad id the end token is never learned",
        f"pad 与 eos 是同一个 token（{pad.value}）；若按 pad id 屏蔽 label，模型学不会停止",
        "S3" if mild else "S2",
        beside=("eos_token_id",),
    )


@rule("eos-ids-differ", "S2", needs=("eos_token_id",))
def eos_ids_differ(settings: Settings) -> Iterator[Fault]:
    """The model's config and its generation config name different end tokens.

    Why: what was trained as the end is not what generation stops at; answers run to the length limit.
    Bad: `{"model_type": "qwen3", "hidden_size": 4096, "eos_token_id": 151645}` in `config.json` with
        `{"eos_token_id": 151643}` in `generation_config.json`.
    Good: `{"model_type": "qwen3", "hidden_size": 4096, "eos_token_id": 151645}` in `config.json` with
        `{"eos_token_id": [151645, 151643]}` in `generation_config.json`: generation stops at least at the model's own
        end token, and at a chat model's end of turn.
    Known gaps: tokens that are written as text are not compared with ids; an engine's own stop list is not visible.
    Source: Transformers takes generation's end tokens from generation_config.json; entry `endless-generation`.
    """
    ids: dict[str, dict[int, str]] = {"model": {}, "generation": {}}
    more = (s for k, s in settings.others.items() if k.startswith("eos_token_id."))
    for setting in (*named(settings, "eos_token_id"), *more):
        where = setting.framework if setting.framework in ids else ""
        if where and setting.raw.isdigit():
            ids[where][int(setting.raw)] = setting.file
    model, generation = ids.values()
    if model and generation and not model.keys() & generation.keys():
        ours, theirs = (f"{', '.join(map(str, sorted(x)))} ({min(x.values())})" for x in (model, generation))
        yield Fault(
            "eos_token_id",
            f"the model ends with token {ours}, generation stops at {theirs}",
            f"模型的结束 token 是 {ours}，生成却在 {theirs} 处停止",
        )
