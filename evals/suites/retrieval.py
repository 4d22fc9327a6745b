"""Words only: does retrieval find the entry that a question means, and refuse what is no question of this field?

`python -m triage.evals.suites.retrieval FILE.jsonl [--split test]` prints one row a method and a language group.
Questions have `id`, `lang`, `text`, `expected` (entry ids, any of them right) and `kind`. With `--documents DIR
--inventory ROWS.jsonl`, one more method is plain BM25 over the passages of those Markdown documents; rows have `seed`
(how the document's name begins), `source_lines` and `merge_key` (the entry), and a passage on those lines is a hit.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...agent.session import ask
from ...knowledge.lexical import Lexical
from ...knowledge.markdown import pieces
from ...knowledge.relevance import entry_features
from ...knowledge.search import Index
from ...knowledge.words import tokens

Rank = Callable[[str], Any]
"""Question -> `[entries]` scores."""


REFUSED = (("out-of-scope",), ("out-of-scope", "inconclusive"))
"""States of an answer that is out of scope, and of one that states no diagnosis."""


@dataclass(frozen=True)
class Row:
    """Figures of one method on one group of questions."""

    method: str
    group: str
    questions: int
    top1: float
    top3: float
    mrr: float


def ranks(questions: Sequence[Mapping[str, Any]], rank: Rank, ids: Sequence[str]) -> list[tuple[str, int]]:
    """(language group, rank of the first expected entry) of every question that has an answer."""
    out = []
    for question in questions:
        expected = [ids.index(id) for id in question["expected"] if id in ids]
        if expected:
            scores = rank(question["text"])
            best = max(scores[i] for i in expected)
            group = "en" if question["lang"] == "en" else "zh and mixed"
            out.append((group, 1 + int((scores > best).sum()) if best > 0 else len(ids)))
    return out


def table(questions: Sequence[Mapping[str, Any]], methods: Mapping[str, Rank], ids: Sequence[str]) -> list[Row]:
    rows = []
    for name, rank in methods.items():
        found = ranks(questions, rank, ids)
        for group in ("all", "en", "zh and mixed"):
            at = np.array([r for g, r in found if group in ("all", g)])
            if len(at):
                rows.append(Row(name, group, len(at), *(float(x) for x in (
                    (at == 1).mean(), (at <= 3).mean(), (1 / at).mean()))))  # fmt: skip
    return rows


def documents(folder: Path, inventory: Path, ids: Sequence[str]) -> Rank:
    """Plain BM25 over Markdown passages: an entry's score is that of the best passage on the lines it comes from."""
    names, passages, owners = sorted(folder.iterdir()), [], []
    rows = [json.loads(line) for line in inventory.read_text(encoding="utf-8").splitlines()]
    for file in names:
        for piece in pieces(file.read_text(encoding="utf-8")):
            end = piece.line + piece.text.count("\n")
            passages.append(tokens("\n".join([*piece.headings, piece.text])))
            owners.append(
                {
                    row["merge_key"]
                    for row in rows
                    if file.name.startswith(row["seed"])
                    and any(first <= end and piece.line <= last for first, last in row["source_lines"])
                }
            )
    lexical = Lexical.build(passages)

    def rank(text: str) -> Any:
        scores = lexical.scores(tokens(text))
        return np.array([max((s for s, own in zip(scores, owners, strict=True) if id in own), default=0) for id in ids])

    return rank


def methods(index: Index) -> dict[str, Rank]:
    """Lexical, dense and fused rankings of the entries."""
    weights = index.relevance.entry

    def part(*columns: int) -> Rank:
        chosen = np.zeros_like(weights)
        chosen[list(columns)] = weights[list(columns)]
        return lambda text: np.exp((entry_features(index.signals(text)) @ chosen) / 10)

    return {"lexical": part(0), "dense": part(1), "fused": lambda text: index.relevance.entries(index.signals(text))}


def through_ask(ids: Sequence[str]) -> Rank:
    """The order of the hypotheses that `ask` names for words alone: an entry that is not named scores 0."""

    def rank(text: str) -> Any:
        named = [h.entry.id for h in ask(text).diagnosis.hypotheses]
        return np.array([len(named) - named.index(id) if id in named else 0 for id in ids])

    return rank


def states(questions: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """kind -> (text, state of the answer) of every question; `answered` for those with an answer.

    A question that has no answer is refused when the state is not `diagnosed`: out of scope, or the answer says that
    nothing is established and that the source runbooks do not cover it.
    """
    out: dict[str, list[tuple[str, str]]] = {}
    for question in questions:
        kind = "answered" if question["expected"] else question["kind"]
        out.setdefault(kind, []).append((question["text"], ask(question["text"]).diagnosis.state))
    return out


def calibration(questions: Sequence[Mapping[str, Any]], index: Index) -> list[tuple[float, int, float, float]]:
    """(lower bound, hits, mean score, share right) of the best hit, in five bins."""
    pairs = [
        (hit.score, hit.entry.id in question["expected"])
        for question in questions
        if index.covers(question["text"])
        for hit in index.search(question["text"], 1)
    ]
    bins = []
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = [(s, right) for s, right in pairs if low <= s < low + 0.2 + (low == 0.8)]
        if inside:
            scores, right = zip(*inside, strict=True)
            bins.append((low, len(inside), float(np.mean(scores)), float(np.mean(right))))
    return bins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--split", help="only questions of this split")
    parser.add_argument("--documents", type=Path, help="folder of Markdown for the baseline")
    parser.add_argument("--inventory", type=Path, help="rows that say which lines an entry comes from")
    parser.add_argument("--wrong", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    questions = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    questions = [q for q in questions if options.split in (None, q.get("split"))]
    index = Index()
    ids = list(index.runbook.entries)
    print(f"{'method':12} {'language':14} {'n':>4} {'top-1':>6} {'top-3':>6} {'MRR':>6}")
    ranked = methods(index)
    if options.documents and options.inventory:
        ranked = {"documents": documents(options.documents, options.inventory, ids), **ranked}
    ranked["ask"] = through_ask(ids)
    for row in table(questions, ranked, ids):
        print(f"{row.method:12} {row.group:14} {row.questions:4} {row.top1:6.3f} {row.top3:6.3f} {row.mrr:6.3f}")
    for kind, rows in states(questions).items():
        outside, unsaid = (np.mean([state in refused for _, state in rows]) for refused in REFUSED)
        print(f"{kind:12} {len(rows):4} out of scope {outside:.3f}, not stated as a diagnosis {unsaid:.3f}")
        if options.wrong:
            wrong = [r for r in rows if r[1] in REFUSED[0] or (kind != "answered" and r[1] not in REFUSED[1])]
            print(*(f"    {state:13} {text}" for text, state in wrong), sep="\n")
    for low, n, score, right in calibration(questions, index):
        print(f"score {low:.1f}+: {n:4} hits, mean score {score:.2f}, right {right:.2f}")
    if options.wrong:
        for question in questions:
            hits = index.search(question["text"], 3)
            if question["expected"] and hits[0].entry.id not in question["expected"]:
                print(question["text"], question["expected"], [(h.entry.id, round(h.score, 2)) for h in hits])


if __name__ == "__main__":
    main()
