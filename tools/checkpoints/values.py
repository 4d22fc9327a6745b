"""What strange values in a checkpoint mean: non-finite, all zero or constant, and norms that jump between two saves.

Takes the statistics that `tensors.Reader` measured; reads nothing itself. Silent where such values are normal: masks,
biases, norms, LoRA B before training, and layers that every block of the design starts at zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..findings import Evidence, Finding, Severity, clean
from ..patterns import bounded
from .files.layout import Checkpoint
from .files.tensors import Stats, Tensor

Measured = Mapping[str, tuple[Tensor, Stats]]
"""Tensor name -> its place and what its values look like."""

NAMED = 8
"""Most tensors given as evidence of one finding."""
JUMP = math.log(3)
"""A norm that triples or falls to a third between two saves."""
AGAINST_OTHERS = 8
"""And by this many times the median change of all tensors; a trained matrix moves by a few percent between saves."""
JUMP_SIZE = 1024
"""Smallest tensor whose norm is followed, in values."""

_MASK = bounded(
    r"(?:^|[._])(?:\w*mask\w*|masked_bias|bias_mask|attn_bias|causal)(?:$|\.)|\.attn\.bias$|attention\.bias$"
)
_LORA = re.compile(r"lora_|\.dora_|vera_|adapter")
_LAYER = re.compile(r"(?<=[._])\d+(?=[._])")
_PROJECTION = bounded(
    r"(?:q|k|v|o|qkv|kv|out|in|up|down|gate|gate_up|c|c_attn|c_fc|proj|dense|fc|linear|query|key|value|attn|mlp|w)_?\d?"
    r"(?:_?proj|_?attn|_?fc|_?proj_with_mqa|_h_to_4h|_4h_to_h|_?linear)?\.(?:base_layer\.)?weight$|linear_\w+\.weight$"
)
_TABLE = re.compile(r"(?:embed_tokens|wte|word_embeddings|lm_head|embed_in|embed_out|tok_embeddings|output)\.weight$")


def strange(checkpoint: Checkpoint, measured: Measured) -> Iterator[Finding]:
    yield from nonfinite(checkpoint, measured)
    yield from constant(checkpoint, measured)


def _evidence(checkpoint: Checkpoint, items: list[tuple[Tensor, Any]], metric: str) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(file=checkpoint.file(t.file), step=checkpoint.step, metric=metric, value=value, text=clean(t.name))
        for t, value in items[:NAMED]
    )


def nonfinite(checkpoint: Checkpoint, measured: Measured) -> Iterator[Finding]:
    """NaN or infinite weights: S0 with NaN, for whatever resumes from here is lost; infinities in masks are meant."""
    bad = [(t, s) for t, s in measured.values() if s.nan or (s.inf and not _MASK.search(t.name))]
    if not bad:
        return
    tensor, stats = bad[0]
    nan, inf = sum(s.nan for _, s in bad), sum(s.inf for _, s in bad)
    files = sorted({checkpoint.file(t.file) for t, _ in bad})
    yield Finding(
        "checkpoint-nonfinite",
        Severity.S0 if nan else Severity.S1,
        f"{checkpoint.file(tensor.file)}: {nan} NaN and {inf} infinite values in {len(bad)} tensors, the first in "
        f"{clean(tensor.name)} at flat index {stats.first}; do not resume from this checkpoint, go back to a sound one",
        f"{checkpoint.file(tensor.file)}：{len(bad)} 个张量中有 {nan} 个 NaN、{inf} 个无穷值，首个在 "
        f"{clean(tensor.name)} 的第 {stats.first} 个元素；不要从此检查点恢复，请退回更早的正常检查点",
        _evidence(checkpoint, [(t, s.nan + s.inf) for t, s in bad], "nonfinite"),
        {"tensor": tensor.name, "nan": nan, "inf": inf, "tensors": [t.name for t, _ in bad[:50]], "files": files},
    )


def constant(checkpoint: Checkpoint, measured: Measured) -> Iterator[Finding]:
    """Weight matrices that are all zero or all one value, where the same matrix of other layers is not."""
    groups: dict[str, list[tuple[Tensor, Stats]]] = {}
    for name, item in measured.items():
        if len(item[0].shape) >= 2 and item[0].count > 1 and not _LORA.search(name):
            groups.setdefault(_LAYER.sub("#", name), []).append(item)
    for key, items in groups.items():
        flat = [i for i in items if i[1].constant]
        if not flat or not (_PROJECTION.search(key) or _TABLE.search(key)):
            continue
        if len(flat) == len(items) and (len(items) > 1 or not _TABLE.search(key)):
            continue  # every layer alike: the design starts it so (zero-initialised projections)
        if len(flat) * 2 > len(items) > 2:
            continue
        yield _constant(checkpoint, flat, len(items))


def _constant(checkpoint: Checkpoint, flat: list[tuple[Tensor, Stats]], of: int) -> Finding:
    tensor, stats = flat[0]
    en, zh = ("all zero", "全为零") if stats.zero else ("one constant value", "全为同一个值")
    file = checkpoint.file(tensor.file)
    return Finding(
        "checkpoint-tensor-constant",
        Severity.S1,
        f"{file}: {clean(tensor.name)} is {en} ({len(flat)} of {of} such tensors); "
        "the layer was not saved or not loaded",
        f"{file}：{clean(tensor.name)} {zh}（同类张量 {of} 个中有 {len(flat)} 个）；该层没有被正确保存或加载",
        _evidence(checkpoint, [(t, s.rms) for t, s in flat], "rms"),
        {"tensor": tensor.name, "tensors": [t.name for t, _ in flat[:50]], "zero": stats.zero},
    )


def norm_jumps(before: Checkpoint, after: Checkpoint, old: Measured, new: Measured) -> Iterator[Finding]:
    """Tensors whose norm changed threefold between two saves while the others hardly moved."""
    changes: dict[str, float] = {}
    for name in old.keys() & new.keys():
        (tensor, a), (other, b) = old[name], new[name]
        same = tensor.shape == other.shape and tensor.count >= JUMP_SIZE and len(tensor.shape) >= 2
        if same and not _LORA.search(name) and min(a.rms or 0, b.rms or 0) > 1e-8:
            changes[name] = math.log((b.rms or 1) / (a.rms or 1))
    if len(changes) < 4:
        return
    usual = float(np.median([abs(c) for c in changes.values()]))
    odd = sorted(
        (n for n, c in changes.items() if abs(c) > max(JUMP, AGAINST_OTHERS * usual)), key=lambda n: -abs(changes[n])
    )
    if not odd or len(odd) * 4 > len(changes):
        return
    tensor, ratio = new[odd[0]][0], math.exp(changes[odd[0]])
    yield Finding(
        "checkpoint-norm-jump",
        Severity.S2,
        f"{after.name}: the norm of {clean(odd[0])} is {ratio:.3g} times that in {before.name}, while the median "
        f"tensor changed by {math.expm1(usual):.2%} ({len(odd)} such tensors); look at the steps between the two",
        f"{after.name}：{clean(odd[0])} 的范数是 {before.name} 中的 {ratio:.3g} 倍，而张量变化的中位数为 "
        f"{math.expm1(usual):.2%}（共 {len(odd)} 个）；请检查两者之间的训练步",
        _evidence(after, [(new[n][0], math.exp(changes[n])) for n in odd], "norm_ratio"),
        {"tensor": tensor.name, "ratio": ratio, "median_change": math.expm1(usual), "tensors": odd[:50],
         "before": before.step, "after": after.step},
    )  # fmt: skip
