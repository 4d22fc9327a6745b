"""Weights of a checkpoint that were not taken over because the model calls them otherwise, as the log says.

Loaders print two lists: names that the model misses and makes anew, and names of the checkpoint that nothing takes. One
alone is usual (a new head, a tower that is not needed), and a load that fails for it says so itself (`key(s)`). Where
names of both speak of the same part, the trained weights of that part were lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ..looking.kept import NOT_KEPT, Kept, kept_lines
from ..patterns import bounded
from ..reading import Chunk
from ..run import Artifact, Run

CHECK = "weights missed and weights left over, by name"
CODES = declare(
    "renamed", ("weights-renamed", CHECK, "weights are made anew while the checkpoint's of the same part are left over")
)
FILES, LINES, WIDE, APART = 200, 20_000, 8000, 40
"""Logs, lines and characters of a line that are looked at, and lines between the two lists at most."""
MISSED = bounded(
    r"(?i)newly initiali[sz]ed\b|\bmissing[_ ]?(?:keys?|weights?|params?|parameters?|tensors?)\b(?!\(s\))"
    r"|缺(?:失|少)的?(?:键|权重|参数)"
)
LEFT = bounded(
    r"(?i)were not used\b|\bunexpected[_ ]?(?:keys?|weights?|params?|parameters?|tensors?)\b(?!\(s\))"
    r"|\bunused[_ ](?:keys?|weights?)\b|(?:多余|未使用)的?(?:键|权重|参数)"
)
NAME = bounded(r"['\"]([A-Za-z_][\w-]{0,60}(?:\.[\w-]{1,60}){1,15})['\"]")
NO_MATTER = bounded(
    r"(?i)(?:^|[._])(?:inv_freq|rotary_emb|position_ids|num_batches_tracked|masked_bias|attn_mask|causal_mask|lm_head|score"
    r"|classifier|qa_outputs|pooler|v_head|value_head|reward_head|cls|heads?|fc_out|lora_[ab]|embed_out|mask_token"
    r"|sin_cached|cos_cached)(?:[._]|$)"
)
"""Buffers that are computed, and heads that a task puts in place of another's."""
USUAL = frozenset((
    "model", "module", "weight", "bias", "layers", "layer", "linear", "base", "network", "block", "blocks", "encoder",
    "decoder", "norm", "proj", "transformer", "state", "dict", "orig",
))  # fmt: skip
"""Parts of names that tell no part of a model from another."""
LEAST = 0.5
"""Share of the missed names that a name left over speaks of. Own judgement."""


class Names(NamedTuple):
    """One of the two lists of a loader."""

    line: int
    names: tuple[str, ...]


def check_renamed(run: Run, logs: Kept = NOT_KEPT) -> Report:
    """The two lists of each load that the logs of a run print.

    Args:
        run: whose logs are looked at.
        logs: what was kept of them.
    """
    seen = [(a, lists) for a in islice(run.of("log"), FILES) if any(lists := _lists(a, logs.get(a.name, ())))]
    if not seen:
        why = "no log lists weights that were missed or left over"
        return Report("checkpoints", (), (Check(CHECK, "not-applicable", why, "日志里没有缺失或多余权重的清单"),))
    found = tuple(f for artifact, lists in seen for f in islice(_judged(artifact, *lists), 1))
    return Report("checkpoints", found, (Check(CHECK, "found" if found else "clear"),))


def _lists(artifact: Artifact, kept: Sequence[Chunk]) -> tuple[list[Names], list[Names]]:
    missed: list[Names] = []
    left: list[Names] = []
    try:
        for line in islice(kept_lines(artifact.path, kept), LINES):
            text = line.text[:WIDE]
            both = ((MISSED, missed), (LEFT, left))
            marks = sorted(((m.start(), into) for p, into in both for m in p.finditer(text)), key=lambda m: m[0])
            for i, (start, into) in enumerate(marks):
                end = marks[i + 1][0] if i + 1 < len(marks) else len(text)
                names = tuple(n for n in NAME.findall(text[start:end]) if not NO_MATTER.search(n))
                if names:
                    into.append(Names(line.number, names))
    except (TriageError, OSError):
        return [], []
    return missed, left


def _judged(artifact: Artifact, missed: Sequence[Names], left: Sequence[Names]) -> Iterator[Finding]:
    for m in missed:
        for over in left:
            if abs(m.line - over.line) <= APART and (pairs := _alike(m.names, over.names)):
                yield _told(artifact, m, over, pairs)


def _alike(missed: Sequence[str], left: Sequence[str]) -> list[tuple[str, str]]:
    """The missed names with one left over that speaks of the same part; none where they are too few."""
    pairs = [(n, other) for n in missed if (other := next((o for o in left if _same(n, o)), ""))]
    return pairs if len(pairs) >= LEAST * len(missed) and not set(missed) & set(left) else []


def _same(one: str, other: str) -> bool:
    """Whether one name is the other behind another prefix, or both hold a word that tells a part, and end alike."""
    if one.endswith(f".{other}") or other.endswith(f".{one}"):
        return True
    return one.rpartition(".")[2] == other.rpartition(".")[2] and bool(_words(one) & _words(other))


def _words(name: str) -> set[str]:
    return {w for w in re.split(r"[\W\d_]+", name.lower()) if len(w) > 3} - USUAL


def _told(artifact: Artifact, m: Names, over: Names, pairs: Sequence[tuple[str, str]]) -> Finding:
    new, old = pairs[0]
    return Finding(
        "weights-renamed", Severity.S1,
        f"{artifact.name}:{m.line}: {len(m.names)} weights are made anew (`{new}`) while {len(over.names)} of the "
        f"checkpoint are left over (`{old}`, line {over.line}): the model calls them otherwise, and what was "
        "trained in them is lost.",
        f"{artifact.name}:{m.line}：{len(m.names)} 个权重被重新初始化（`{new}`），而检查点里有 {len(over.names)} "
        f"个权重没有被用到（`{old}`，第 {over.line} 行）：模型里换了名字，训练好的权重丢了。",
        (Evidence(artifact.name, m.line, text=new), Evidence(artifact.name, over.line, text=old)),
        {"missed": len(m.names), "left": len(over.names)},
    )  # fmt: skip
