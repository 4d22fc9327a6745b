"""Whether a checkpoint agrees with what lies beside it: config.json, the tokenizer, adapter_config.json.

Only what every architecture shares is compared (embedding size, number of layers, LoRA rank and targets), so that an
unusual but sound model stays silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..findings import Evidence, Finding, Severity, clean
from .files.layout import Checkpoint
from .files.tensors import FLOATS, Reader, Stats, Tensor

EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|wte|word_embeddings|embed_in|tok_embeddings)\.weight$")
_BLOCK = re.compile(r"(?:^|\.)(?:layers|h|blocks|block)\.(\d{1,5})\.")
_ELSEWHERE = re.compile(r"(?:^|[._])(?:visual|vision|audio|encoder|decoder|talker|tower|mtp)(?:[._]|$)")
_MEDIA = re.compile(r"image|audio|video|vision|media", re.IGNORECASE)
_LORA = re.compile(r"^(.*)\.lora_(embedding_)?([AB])(?:\.\w+)?(?:\.weight)?$")
ROWS_LOOKED_AT = 256
MOVED_SHARE = 0.5
"""Share of ordinary rows that must have moved before still rows of special tokens are worth a word."""


def agreement(
    checkpoint: Checkpoint, tensors: Mapping[str, Tensor], measured: Mapping[str, tuple[Tensor, Stats]], whole: bool
) -> list[Finding]:
    """Every contradiction; of a checkpoint that is not `whole`, none that its missing tensors would explain."""
    if checkpoint.layout == "adapter":
        return [*adapter(checkpoint, tensors, measured, whole)]
    if checkpoint.layout != "huggingface" or not tensors:
        return []
    return [*empty_tensors(checkpoint, tensors), *shapes(checkpoint, tensors, whole), *vocabulary(checkpoint, tensors)]


def _finding(
    checkpoint: Checkpoint, code: str, severity: Severity, tensor: Tensor | None, en: str, zh: str, **data: Any
) -> Finding:
    file = checkpoint.file(tensor.file) if tensor else checkpoint.file(checkpoint.folder / "adapter_config.json")
    evidence = Evidence(file=file, step=checkpoint.step, text=clean(tensor.name) if tensor else "")
    if tensor:
        data["tensor"] = tensor.name
    return Finding(code, severity, f"{file}: {en}", f"{file}：{zh}", (evidence,), data)


def embedding(tensors: Mapping[str, Tensor]) -> Tensor | None:
    """The token embedding: the matrix of that name that is not in another tower."""
    found = [t for n, t in tensors.items() if EMBEDDING.search(n) and not _ELSEWHERE.search(n) and len(t.shape) == 2]
    return min(found, key=lambda t: len(t.name), default=None)


def empty_tensors(checkpoint: Checkpoint, tensors: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Weights of shape [0]: a ZeRO-3 save without gathering."""
    empty = [t for n, t in tensors.items() if t.count == 0 and n.endswith("weight")]
    if empty and len(empty) * 2 > len([n for n in tensors if n.endswith("weight")]):
        yield _finding(
            checkpoint, "empty-tensors", Severity.S1, empty[0],
            f"{len(empty)} weights are empty, such as {clean(empty[0].name)} {list(empty[0].shape)}: ZeRO-3 shards were"
            " saved without gathering; save with stage3_gather_16bit_weights_on_model_save or zero_to_fp32.py",
            f"{len(empty)} 个权重为空，如 {clean(empty[0].name)} {list(empty[0].shape)}：ZeRO-3 分片未聚合就保存；"
            "请开启 stage3_gather_16bit_weights_on_model_save 或用 zero_to_fp32.py",
            tensors=[t.name for t in empty[:50]],
        )  # fmt: skip


def shapes(checkpoint: Checkpoint, tensors: Mapping[str, Tensor], whole: bool) -> Iterator[Finding]:
    """Embedding rows and columns, and the number of layers, against config.json."""
    config = checkpoint.json("config.json")
    config = config["text_config"] if isinstance(config.get("text_config"), dict) else config
    table = embedding(tensors)
    if table is not None and table.count and "quantization_config" not in config:
        wanted = {"vocab_size": 0, "hidden_size": 1}
        for key, axis in wanted.items():
            value = config.get(key)
            unusual = axis == 1 and any(k in config for k in ("word_embed_proj_dim", "embedding_size", "emb_dim"))
            if type(value) is int and value != table.shape[axis] and not unusual:
                yield _shape(checkpoint, table, key, value, table.shape[axis])
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    have = {int(m.group(1)) for n in tensors if not _ELSEWHERE.search(n) and (m := _BLOCK.search(n))}
    if type(layers) is int and have and whole and 0 < len(have) < layers <= 1000:
        lost = min(set(range(layers)) - have)
        yield _shape(checkpoint, next(iter(tensors.values())), "num_hidden_layers", layers, len(have), lost)


def _shape(checkpoint: Checkpoint, tensor: Tensor, key: str, said: int, have: int, lost: int | None = None) -> Finding:
    what = f"layer {lost} is missing" if lost is not None else f"{clean(tensor.name)} is {list(tensor.shape)}"
    zh = f"缺少第 {lost} 层" if lost is not None else f"{clean(tensor.name)} 为 {list(tensor.shape)}"
    return _finding(
        checkpoint, "checkpoint-shape-mismatch", Severity.S1, tensor,
        f"config.json says {key} {said} but the weights have {have}: {what}; "
        "the config is of another model or was edited",
        f"config.json 的 {key} 为 {said}，权重却是 {have}：{zh}；配置属于别的模型或被改过",
        key=key, config=said, weights=have,
    )  # fmt: skip


def tokens(checkpoint: Checkpoint) -> dict[str, int]:
    """Token -> id of the tokenizer beside; tokens of other media than text are left out."""
    tokenizer = checkpoint.json("tokenizer.json")
    model = tokenizer.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    ids = {k: v for k, v in vocab.items() if type(v) is int} if isinstance(vocab, dict) else {}
    if isinstance(vocab, list):
        ids = {str(pair[0]): i for i, pair in enumerate(vocab) if isinstance(pair, list) and pair}
    if not tokenizer:
        vocab = checkpoint.json("vocab.json")
        ids = {k: v for k, v in vocab.items() if type(v) is int}
    return ids | {k: v for k, v in added_tokens(checkpoint, tokenizer).items() if not _MEDIA.search(k)}


def added_tokens(checkpoint: Checkpoint, tokenizer: Mapping[str, Any]) -> dict[str, int]:
    added = tokenizer.get("added_tokens")
    found = {}
    for item in added if isinstance(added, list) else ():
        if isinstance(item, dict) and type(item.get("id")) is int:
            found[str(item.get("content"))] = item["id"]
    beside = checkpoint.json("added_tokens.json")
    return found | {k: v for k, v in beside.items() if type(v) is int}


def vocabulary(checkpoint: Checkpoint, tensors: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Tokens whose id has no embedding row; more rows than tokens is padding and normal."""
    table = embedding(tensors)
    ids = tokens(checkpoint) if table is not None else {}
    if table is None or not ids or not table.count:
        return
    rows, size = table.shape[0], max(ids.values()) + 1
    if rows >= size:
        return
    beyond = sorted((v, k) for k, v in ids.items() if v >= rows)
    yield _finding(
        checkpoint, "vocab-embedding-mismatch", Severity.S1, table,
        f"the tokenizer has ids up to {size - 1} but {clean(table.name)} only {rows} rows: {len(beyond)} tokens, such "
        f"as {clean(beyond[0][1], 40)!r} (id {beyond[0][0]}), index past the end; resize the embedding or take the "
        "right tokenizer",
        f"分词器的 id 最大为 {size - 1}，而 {clean(table.name)} 只有 {rows} 行：{len(beyond)} 个 token 越界，如 "
        f"{clean(beyond[0][1], 40)!r}（id {beyond[0][0]}）；请 resize 嵌入或换用正确的分词器",
        rows=rows, tokenizer=size, beyond=len(beyond),
    )  # fmt: skip


def rows_unmoved(
    before: Checkpoint, after: Checkpoint, old: Mapping[str, Tensor], new: Mapping[str, Tensor], reader: Reader
) -> Iterator[Finding]:
    """Rows of special tokens that the chat template uses, bit for bit equal in both, while ordinary rows moved."""
    one, two = embedding(old), embedding(new)
    if one is None or two is None or one.shape != two.shape or one.dtype != two.dtype or not one.count:
        return
    tokenizer = after.json("tokenizer.json")
    template = _template(after)
    special = {k: v for k, v in added_tokens(after, tokenizer).items() if k in template and v < one.shape[0]}
    width = one.length // one.shape[0]
    if not special or one.length != two.length or width * one.shape[0] != one.length:
        return

    def moved(row: int) -> bool:
        rows = [b"".join(bytes(b) for b in reader.blocks(t.file, t.start + row * width, width)) for t in (one, two)]
        return rows[0] != rows[1]

    ordinary = [int(r) for r in np.linspace(0, one.shape[0] - 1, ROWS_LOOKED_AT) if int(r) not in special.values()]
    if not ordinary or sum(map(moved, ordinary)) < MOVED_SHARE * len(ordinary):
        return
    still = sorted(k for k, v in special.items() if not moved(v))
    if still:
        shown = ", ".join(clean(s, 30) for s in still[:5])
        yield _finding(
            after, "embedding-rows-unmoved", Severity.S2, two,
            f"the rows of {len(still)} special tokens of the chat template ({shown}) are the same bits as in "
            f"{before.name}, while ordinary rows moved; these tokens were never trained",
            f"对话模板使用的 {len(still)} 个特殊 token（{shown}）的嵌入与 {before.name} 逐位相同，而普通行已更新；"
            "这些 token 没有被训练",
            tokens=still[:50], rows=[special[s] for s in still[:50]],
        )  # fmt: skip


def _template(checkpoint: Checkpoint) -> str:
    path = checkpoint.folder / "chat_template.jinja"
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
        return path.read_text(encoding="utf-8", errors="replace")
    return str(checkpoint.json("tokenizer_config.json").get("chat_template") or "")


def adapter(
    checkpoint: Checkpoint, tensors: Mapping[str, Tensor], measured: Mapping[str, tuple[Tensor, Stats]], whole: bool
) -> Iterator[Finding]:
    config = checkpoint.json("adapter_config.json")
    if checkpoint.weights and not checkpoint.problems and (tensors or whole):
        yield from _empty(checkpoint, tensors, measured)
    if tensors and config.get("peft_type") == "LORA":
        yield from _lora(checkpoint, tensors, config)


def _empty(
    checkpoint: Checkpoint, tensors: Mapping[str, Tensor], measured: Mapping[str, tuple[Tensor, Stats]]
) -> Iterator[Finding]:
    """No tensors, tensors of shape [0], or every LoRA B zero although steps were made."""
    path = checkpoint.weights[0]
    first = next(iter(tensors.values()), Tensor("", "F32", (), path, 0, 0))
    none = [t for t in tensors.values() if t.count == 0]
    b = [s for n, (_, s) in measured.items() if (m := _LORA.match(n)) and m.group(3) == "B"]
    trained = bool(checkpoint.step) or "optimizer" in checkpoint.beside
    if not tensors and path.exists() and path.stat().st_size > 8:
        why = ("holds no tensors: the adapter was saved without its weights", "没有任何张量：适配器没有存下权重")
    elif none and len(none) * 2 >= len(tensors):
        why = (f"{len(none)} of {len(tensors)} tensors are empty (shape [0]): ZeRO-3 shards saved without gathering",
               f"{len(tensors)} 个张量中 {len(none)} 个为空（形状 [0]）：ZeRO-3 分片未聚合就保存")  # fmt: skip
    elif b and trained and all(s.zero for s in b):
        why = (f"all {len(b)} LoRA B matrices are exactly zero after training: the adapter changes nothing",
               f"训练后全部 {len(b)} 个 LoRA B 矩阵仍为零：适配器没有任何作用")  # fmt: skip
    else:
        return
    yield _finding(checkpoint, "adapter-empty", Severity.S1, none[0] if none else first, *why, tensors=len(tensors))


def _lora(checkpoint: Checkpoint, tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Iterator[Finding]:
    """Rank, pairs of A and B, and targets."""
    pairs: dict[str, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if (match := _LORA.match(name)) and tensor.count:
            pairs.setdefault(match.group(1), {})[match.group(3) + (match.group(2) or "")] = tensor
    rank = config.get("r")
    if type(rank) is int and not config.get("rank_pattern"):
        for tensor in (p["A"] for p in pairs.values() if "A" in p):
            if tensor.shape and tensor.shape[0] not in (rank, *_stacked(config, rank, tensor)):
                yield _finding(
                    checkpoint, "adapter-mismatch", Severity.S1, tensor,
                    f"{clean(tensor.name)} has rank {tensor.shape[0]} but adapter_config.json says r={rank}",
                    f"{clean(tensor.name)} 的秩为 {tensor.shape[0]}，而 adapter_config.json 中 r={rank}",
                    rank=tensor.shape[0], config=rank,
                )  # fmt: skip
                break
    for module, parts in pairs.items():
        if len(parts) == 1:
            have = next(iter(parts.values()))
            yield _finding(
                checkpoint, "adapter-mismatch", Severity.S1, have,
                f"{clean(module)} has only one of lora_A and lora_B; the file is not whole",
                f"{clean(module)} 只有 lora_A 与 lora_B 之一；文件不完整",
            )  # fmt: skip
            break
    targets = config.get("target_modules")
    if pairs and isinstance(targets, list) and targets and not config.get("target_parameters"):
        hit = [m for m in pairs if any(m == t or m.endswith("." + str(t)) for t in targets)]
        if not hit:
            some = next(iter(next(iter(pairs.values())).values()))
            yield _finding(
                checkpoint, "adapter-mismatch", Severity.S1, some,
                f"no tensor belongs to the target_modules {clean(', '.join(map(str, targets)), 120)}; the first is "
                f"{clean(some.name)}: weights and adapter_config.json are of different adapters",
                f"没有张量属于 target_modules {clean(', '.join(map(str, targets)), 120)}；"
                f"首个张量是 {clean(some.name)}：权重与 adapter_config.json 不属于同一个适配器",
            )  # fmt: skip


def against_base(
    checkpoint: Checkpoint, tensors: Mapping[str, Tensor], base: Checkpoint, weights: Mapping[str, Tensor]
) -> Iterator[Finding]:
    """The widths of A and B, and the layers they are for, against the model they are to be laid over.

    Silent where no module is found by name (the base names its modules otherwise) and on packed base weights.
    """
    turned = bool(checkpoint.json("adapter_config.json").get("fan_in_fan_out"))
    missing: list[Tensor] = []
    found = 0
    for name, tensor in tensors.items():
        match = _LORA.match(name)
        if not match or match.group(2) or len(tensor.shape) != 2:
            continue
        module = match.group(1).removeprefix("base_model.model.").removesuffix(".base_layer")
        weight = weights.get(f"{module}.weight") or weights.get(f"{module}.base_layer.weight")
        if weight is None:
            missing.append(tensor)
        elif weight.dtype in FLOATS and len(weight.shape) == 2:
            found += 1
            width = tensor.shape[1] if match.group(3) == "A" else tensor.shape[0]
            wanted = weight.shape[(match.group(3) == "A") != turned]
            if width != wanted:
                yield _base(checkpoint, base, tensor, f"is {list(tensor.shape)} but needs {wanted} for", weight)
                return
    if found and missing:
        yield _base(checkpoint, base, missing[0], "is for a layer that is not in", None)


def _base(checkpoint: Checkpoint, base: Checkpoint, tensor: Tensor, en: str, weight: Tensor | None) -> Finding:
    named = checkpoint.json("adapter_config.json").get("base_model_name_or_path")
    where = f"{clean(weight.name)} {list(weight.shape)} of {base.name}" if weight else base.name
    return _finding(
        checkpoint, "adapter-mismatch", Severity.S1, tensor,
        f"{clean(tensor.name)} {en} {where}; the adapter was trained for another base, adapter_config.json names "
        f"{clean(str(named), 120)!r}",
        f"{clean(tensor.name)} {list(tensor.shape)} 与 {where} 不符；适配器是为别的基座训练的，"
        f"adapter_config.json 写的是 {clean(str(named), 120)!r}",
        base=base.name, named=str(named)[:200],
    )  # fmt: skip


def _stacked(config: Mapping[str, Any], rank: int, tensor: Tensor) -> tuple[int, ...]:
    """Adapters on stacked expert parameters have a rank of r times the experts."""
    return (tensor.shape[0],) if config.get("target_parameters") and tensor.shape[0] % rank == 0 else ()
