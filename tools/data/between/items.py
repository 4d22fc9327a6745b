"""Questions of an evaluation that stand word for word in a sample of a corpus, by the fields of the two files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...findings import Check, Evidence, Finding, Report, Severity, declare
from ...heads import beginning
from ...patterns import bounded
from ...run import Run

CHECK = "questions of an evaluation in a sample of a corpus"
CODES = declare(
    "items",
    ("eval-leakage", CHECK, "questions of an evaluation stand word for word in a sample of a corpus"),
    ("changed-items-fail", CHECK, "the same items are answered far less often once they are reworded"),
)
BYTES, FILES, ITEMS, CORPORA = 1 << 20, 24, 300, 4
QUESTION = bounded(r"(?i)^(?:question|problem|prompt|stem|query|题目|问题|题面)$")
ANSWER = bounded(r"(?i)^(?:target|answers?|gold|label|solution|choices|reference|标准答案|答案)$")
OUTCOME = bounded(r"(?i)^(?:is_)?(?:right|correct|hit|pass(?:ed)?|acc|solved|score|对错|命中)(?:_|$)")
REWORDED = bounded(
    r"(?i)_?(?:reworded|paraphras\w{1,3}|rephras\w{1,3}|rewritten|changed|perturbed|renamed|variant|改写|改题)$"
)
TEXT = bounded(r"(?i)^(?:text|content|body|raw|raw_content|document|正文|内容)$")
SHORT, LEAST, SHARE, FALL = 24, 5, 0.03, 0.2
"""Weight of a question that is asked for, questions found and their share, and what an outcome falls by."""


def check_items(run: Run) -> Report:
    """Each file of questions with answers against each file of texts without."""
    asked: list[tuple[str, str, list[tuple[int, Mapping[str, Any]]]]] = []
    corpora: list[tuple[str, list[tuple[int, str]]]] = []
    some = [a for a in run.artifacts if a.path.suffix.lower() == ".jsonl"]
    for artifact in some[:FILES] if len(some) > 1 else ():
        rows = list(_rows(artifact.path))
        keys = list(rows[0][1]) if rows else []
        question = next((k for k in keys if QUESTION.match(k)), None)
        text = next((k for k in keys if TEXT.match(k)), None)
        if question is not None and any(ANSWER.match(k) or OUTCOME.match(k) for k in keys):
            asked.append((artifact.name, question, rows[:ITEMS]))
        elif text is not None and question is None:
            corpora.append((artifact.name, [(n, _plain(str(r.get(text)))) for n, r in rows]))
    found: list[Finding] = []
    for name, question, rows in asked if corpora else ():
        told = next((f for corpus in corpora[:CORPORA] if (f := _found(name, question, rows, corpus))), None)
        if told is not None:
            found += [told, *_reworded(name, rows)]
    state = "found" if found else "clear" if asked and corpora else "not-applicable"
    return Report("items", tuple(found), (Check(CHECK, state),))


def _rows(path: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(beginning(path, BYTES).split("\n"), 1):
        with suppress(ValueError, RecursionError):
            value = json.loads(line) if line.startswith("{") else None
            if isinstance(value, dict):
                yield number, value


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _found(name: str, question: str, rows: Sequence[tuple[int, Mapping[str, Any]]],
           corpus: tuple[str, list[tuple[int, str]]]) -> Finding | None:  # fmt: skip
    whole = "\n".join(text for _, text in corpus[1])
    sought = [(n, _plain(str(r.get(question)))) for n, r in rows]
    sought = [(n, q) for n, q in sought if len(q) >= SHORT or (not q.isascii() and len(q) >= SHORT // 2)]
    hits = [(n, q) for n, q in sought if q in whole]
    if len(hits) < max(LEAST, SHARE * len(sought)):
        return None
    line, text = hits[0]
    place = next((n for n, t in corpus[1] if text in t), None)
    return Finding(
        "eval-leakage", Severity.S1,
        f"{len(hits)} of {len(sought)} questions of {name} stand word for word in {corpus[0]} "
        f"({len(corpus[1])} texts of a corpus).",
        f"{name} 的 {len(sought)} 道题中有 {len(hits)} 道逐字出现在 {corpus[0]}（{len(corpus[1])} 篇语料文本）中。",
        (Evidence(name, line, text=text[:120]), Evidence(corpus[0], place, text=text[:120])),
        {"items": len(sought), "found": len(hits), "share": len(hits) / len(sought)},
    )  # fmt: skip


def _reworded(name: str, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Finding]:
    """Outcomes of the items as they stand, and reworded, in two fields of one row."""
    for key in rows[0][1] if len(rows) >= 30 else ():
        base = REWORDED.sub("", key)
        if base == key or base not in rows[0][1]:
            continue
        pairs = [(r.get(base), r.get(key)) for _, r in rows]
        kept = [(float(a), float(b)) for a, b in pairs if isinstance(a, int | float) and isinstance(b, int | float)]
        old, new = (sum(side) / len(kept) for side in zip(*kept, strict=True)) if kept else (0.0, 0.0)
        if len(kept) >= 30 and max(max(p) for p in kept) <= 1 and old - new >= FALL:
            yield Finding(
                "changed-items-fail", Severity.S2,
                f"{name}: {base} is {old:.0%} over {len(kept)} items as they stand and {new:.0%} reworded ({key}).",
                f"{name}：{len(kept)} 道原题 {base} 为 {old:.0%}，改写后（{key}）为 {new:.0%}。",
                (Evidence(name, rows[0][0], text=key),), {"before": old, "after": new, "items": len(kept)},
            )  # fmt: skip
            return
