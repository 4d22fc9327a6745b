"""What a search for evaluation items in training data found, as rows and as a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ...findings import Check, Evidence, Finding, Report, Severity
from .leakage import FEW, KIND_MEANING, LEAK_ACCEPTED, LONG, SHOWN, WIDESPREAD, Leak, Leaks


def leak_rows(leaks: Leaks) -> Iterator[dict[str, Any]]:
    """Every match as a row: kind, containment, both places, the stretch and the matched text."""
    for file, line, leak in leaks.rows:
        item = leaks.index.items[leak.item]
        row = {
            "kind": f"leak-{leak.kind}",
            "similarity": leak.containment,
            "measure": "containment",
            "a": {"file": item.file, "line": item.line},
            "b": {"file": file, "line": line, "byte": leak.byte, "start": leak.start, "end": leak.end},
            "text": leak.text,
        }
        yield row | ({"benign": leak.benign} if leak.benign else {})


def leak_report(leaks: Leaks) -> Report:
    items = leaks.items()
    total = len(leaks.index.items)
    kinds: Counter[str] = Counter(leak.kind for leak in items.values())
    benign = Counter(leak.benign for _, _, leak in leaks.rows if leak.benign)
    summary = {
        "leaked": len(items),
        "leak_rate": len(items) / total,
        "eval_items": total,
        "leaked_by_kind": dict(kinds),
        "leak_threshold": leaks.index.threshold,
        "leak_unit": "evaluation items; containment of their word 3-grams "
        "(character 3-5-grams where the script has no spaces) in one stretch of a training record",
        "leak_denominator": "evaluation items with text",
        "train_records_with_leak": len({(f, n) for f, n, _ in leaks.counted()}),
        "widespread_items": sum(n >= WIDESPREAD for n in Counter(k.item for _, _, k in leaks.rows).values()),
        "benign_overlap": dict(benign),
        "eval_items_matched_whole_only": leaks.index.short,
        "eval_items_of_a_template": leaks.index.templated,
    }
    findings = (_finding(leaks, items, kinds, total),) if items else ()
    report = leaks.account.on(Report("data dedup", findings, tuple(_checks(leaks, items)), summary))
    return leaks.index.account.on(report, "evaluation data", accepted=0)  # any item may be the leaked one


def _finding(leaks: Leaks, items: dict[int, Leak], kinds: Counter[str], total: int) -> Finding:
    rate = len(items) / total
    counts = ", ".join(f"{kind} {kinds[kind]}" for kind in KIND_MEANING if kinds[kind])
    certain = sum(n for k, n in kinds.items() if k != "numbers-changed")
    evidence = tuple(_evidence(leaks, items))
    data = {"leaked": len(items), "items": total, "rate": rate, "by_kind": dict(kinds)}
    if not certain:
        return Finding(
            "eval-items-renumbered",
            Severity.S2,
            f"{len(items)} of {total} evaluation items ({rate:.2%}) stand in the training data with other numbers, "
            "none with its own: rewritten items, or two sets of one source.",
            f"{total} 条评测样本中有 {len(items)} 条（{rate:.2%}）只换了数字后出现在训练数据中，没有一条原样出现："
            "可能是改写过的题，也可能两份数据出自同一来源。",
            evidence,
            data,
        )
    whole = sum(leak.kind in ("verbatim", "normalised", "embedded") and _telling(leaks.index.items[item].text)
                for item, leak in items.items())  # fmt: skip
    if whole / total < LEAK_ACCEPTED and certain / total < FEW:
        return Finding(
            "eval-items-alike",
            Severity.S3,
            f"{len(items)} of {total} evaluation items ({rate:.2%}) resemble rows of the training data ({counts}), and "
            f"{whole} longer one(s) stand there whole: common phrases do so, a leak is not shown by it.",
            f"{total} 条评测样本中有 {len(items)} 条（{rate:.2%}）与训练数据相似（{counts}），其中较长且整条出现的有 "
            f"{whole} 条：常用语句也会如此，不足以说明泄漏。",
            evidence,
            data,
        )
    return Finding(
        "eval-leakage",
        Severity.S1 if certain / total >= LEAK_ACCEPTED else Severity.S2,
        f"{len(items)} of {total} evaluation items ({rate:.2%}) are in the training data ({counts}); "
        "the runbook accepts less than 0.1%. Scores on these items measure memory.",
        f"{total} 条评测样本中有 {len(items)} 条（{rate:.2%}）出现在训练数据中（{counts}）；手册要求低于 0.1%。",
        evidence,
        data,
    )


def _telling(text: str) -> bool:
    """Whether an item is long enough to be one that nobody writes twice by chance."""
    return len(text) + sum(c > "\u2e80" for c in text) >= LONG


def _evidence(leaks: Leaks, items: Iterable[int]) -> Iterator[Evidence]:
    order, left = list(KIND_MEANING), dict.fromkeys(items)
    for file, line, leak in sorted(leaks.counted(), key=lambda row: order.index(row[2].kind)):
        if leak.item in left and len(left):
            del left[leak.item]
            item = leaks.index.items[leak.item]
            yield Evidence(file, line, value=f"{leak.kind} of {item.file}:{item.line}", text=leak.text)
        if len(left) + SHOWN <= len(leaks.items()):
            return


def _checks(leaks: Leaks, items: dict[int, Leak]) -> Iterator[Check]:
    why = (
        f"{len(leaks.index.items)} evaluation items looked for in {leaks.records} training records; translations "
        f"and free paraphrases are not visible to n-grams; {leaks.index.short} short items are only matched whole"
    )
    if leaks.index.templated:
        why += f"; {leaks.index.templated} items are of a template, and looked for with their own numbers only"
    yield Check("evaluation items in the training data", "found" if items else "clear", why)
    if benign := Counter(leak.benign for _, _, leak in leaks.rows if leak.benign):
        counts = ", ".join(f"{kind} {n}" for kind, n in benign.items())
        yield Check("benign overlap", "clear", f"{counts} matches listed apart (--pairs, --sample), not counted")
