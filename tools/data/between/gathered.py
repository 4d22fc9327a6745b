"""Files of one evaluation against each other: what was asked, what was answered, what may be answered.

Rows are told apart by an identifier of their own, answers by the name of their field. An evaluation of the first rows
alone is no loss; a share that is gone from the middle, or that stands there twice, is one. Whether the answers are
right is judged elsewhere.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from ...findings import Check, Evidence, Finding, Report, Severity, declare
from ...patterns import bounded
from ...reading import head
from ...run import Artifact, Run
from .holes import part_gone
from .rows import Rows
from .scored import read_otherwise, results, scored_nothing

ROWS, CLOSED, INDEXED = "rows of an evaluation, file against file", "answers against the catalogue", "items of an index"
CODES = declare(
    "gathered",
    ("merged-rows-missing", ROWS, "a share of what was asked is gone from the merged answers"),
    ("merged-rows-repeated", ROWS, "a share of the answers stands twice in the merged file"),
    ("scored-nothing", ROWS, "a result is no number because nothing was scored"),
    ("scorer-reads-other-field", ROWS, "a scorer reads a field that the rows of the answers do not have"),
    ("answers-outside-catalogue", CLOSED, "answers that must come from a catalogue are not in it"),
    ("index-short-of-items", INDEXED, "items of the data have no entry in the index"),
    ("index-path-not-there", INDEXED, "the index that is set is not there, and one of nearly the same name is"),
)
GOLD = bounded(r"(?i)^(?:output|gold\w{0,8}|targets?|labels?|references?|answers?|truth|标准答案|参考答案)$")
ITEM = bounded(r"(?i)^(?:target_)?(?:item|product|goods|video|song|movie)[_-]?id$|^(?:iid|asin|物品id|商品id)$")
CATALOGUE = bounded(
    r"(?i)(?:^|[/_.-])(?:info|catalog(?:ue)?|items?|index|candidates?|allowed|legal|entit\w+|codes?)(?:[/_.-]|$)"
)
SET = bounded(r"(?i)\b\w{0,20}index_?(?:path|file)[\"']?[\s=:]{1,3}[\"']?([\w./-]{1,200}\.json)\b")
TOKEN, LEVELS = bounded(r"^(?:<[^<>]{1,40}>|\[[^\[\]]{1,40}\]|[a-z]_?\d{1,6})$"), 16
FILES, BYTES = 80, 8 << 20
"""Files that are looked at, and bytes of each from which on it is left alone."""
LEAST, MOST = 20, 200_000
"""Rows from which on, and up to which, files are compared."""
TWICE, OUTSIDE, KNOWN = 0.5, 0.005, 0.95
"""Share of repeated rows beyond which each is asked several times by intention; of answers outside; of gold answers
that a catalogue has at least. Own judgement."""
COVERED = 0.3
"""Share of the items that an index has at least to be that of the data."""
NEAR = 0.85


def check_gathered(run: Run) -> Report:
    """Compare the files of an evaluation, and an index with the data that it is for."""
    small = [a for a in run.artifacts if a.path.suffix.lower() in (".json", ".jsonl", ".csv", ".tsv", ".txt")]
    read = [(a, _load(a)) for a in small[:FILES] if _size(a) <= BYTES]
    tables = [Rows(a.name, value) for a, value in read if _is_rows(value)]
    void = [*scored_nothing([r for a, v in read for r in results(a.name, v)])]
    found = {
        ROWS: [*void, *read_otherwise(run, tables, bool(void)), *_merged(tables)],
        CLOSED: [*_closed(tables, [(a.name, v) for a, v in read if CATALOGUE.search(a.name)])],
        INDEXED: [*_indexed(tables, [(a.name, v) for a, v in read if _is_index(v)]), *_set_elsewhere(run)],
    }
    some = bool(found[ROWS]) or any(t.answered for t in tables)
    checks = [Check(n, "found" if f else "clear" if some else "not-applicable") for n, f in found.items()]
    return Report("gathered", tuple(f for each in found.values() for f in each[:2]), tuple(checks))


def _size(artifact: Artifact) -> int:
    with suppress(OSError):
        return artifact.path.stat().st_size
    return BYTES + 1


def _load(artifact: Artifact) -> Any:
    """What stands in a file: JSON, records of JSON lines or of a table, or lines."""
    text, suffix = head(artifact.path, BYTES).decode("utf-8", "replace"), artifact.path.suffix.lower()
    with suppress(ValueError, RecursionError, csv.Error):
        if suffix == ".json":
            return json.loads(text)
        if suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        if suffix in (".csv", ".tsv"):
            return list(csv.DictReader(io.StringIO(text), delimiter="\t" if suffix == ".tsv" else ","))
        return text.splitlines()
    return None


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and LEAST <= len(value) <= MOST and all(isinstance(r, dict) and r for r in value)


def _is_index(value: Any) -> bool:
    """Item -> its tokens, which are those of a codebook."""
    return (
        isinstance(value, dict)
        and len(value) >= LEAST
        and all(
            isinstance(v, list) and 0 < len(v) <= LEVELS and all(isinstance(t, str) and TOKEN.match(t) for t in v)
            for v in value.values()
        )
    )


def _merged(tables: Sequence[Rows]) -> Iterator[Finding]:
    """Merged answers from which a share is gone, or in which one stands twice."""
    answered = [t for t in tables if t.answered and t.ids]
    merged = max(answered, key=lambda t: len(t.rows), default=None)
    if merged is None:
        return
    there = Counter(merged.ids)
    asked = [t for t in tables if t is not merged and len(t.ids) == len(set(t.ids)) and not there.keys() - set(t.ids)]
    whole = max(asked, key=lambda t: len(t.rows), default=None)
    if whole is not None:
        yield from _gone(merged, whole, there, [t for t in tables if t not in (merged, whole)])
    else:
        yield from part_gone(merged)
    twice = [i for i, one in enumerate(merged.ids) if there[one] == 2]
    second = twice[len(twice) // 2 :]
    if (
        max(there.values()) == 2 and len(second) >= LEAST // 2 and len(second) < TWICE * len(there)
        and second == list(range(second[0], second[-1] + 1))
    ):  # fmt: skip
        yield Finding(
            "merged-rows-repeated", Severity.S1,
            f"{merged.name} has {len(merged.rows)} rows of {len(there)} different ones: {len(second)} in one piece "
            "stand twice, so a part was merged twice or an old one was taken along.",
            f"{merged.name} 共 {len(merged.rows)} 行，只有 {len(there)} 条不同：有连续 {len(second)} 条出现两次，"
            "某一份被合并了两次，或混进了旧的一份。",
            (Evidence(merged.name, second[0] + 1, text=merged.ids[second[0]]),),
            {"rows": len(merged.rows), "different": len(there), "repeated": len(second)},
        )  # fmt: skip


def _gone(merged: Rows, whole: Rows, there: Counter[str], parts: Sequence[Rows]) -> Iterator[Finding]:
    missing = [i for i, one in enumerate(whole.ids) if one not in there]
    if not missing or not there:
        return
    gone = {whole.ids[i] for i in missing}
    part = next((p for p in parts if not p.answered and p.ids and set(p.ids) == gone), None)
    middle = missing == list(range(missing[0], missing[-1] + 1)) and missing[-1] < len(whole.ids) - 1
    if part is None and not (middle and len(missing) >= LEAST // 2):
        return
    which, zh = (
        (f", all of {part.name}", f"，正是 {part.name} 的全部") if part else (", in one piece", "，且是连续的一段")
    )
    yield Finding(
        "merged-rows-missing", Severity.S1,
        f"{merged.name} answers {len(there)} of the {len(whole.ids)} rows of {whole.name}: {len(missing)} are gone"
        f"{which}. The scores are those of the rest.",
        f"{whole.name} 共 {len(whole.ids)} 条，{merged.name} 只有其中 {len(there)} 条：缺 {len(missing)} 条{zh}。"
        "得到的分数只是其余部分的。",
        (Evidence(whole.name, missing[0] + 1, text=whole.ids[missing[0]]), Evidence(merged.name)),
        {"whole": len(whole.ids), "merged": len(there), "missing": len(missing)},
    )  # fmt: skip


def _closed(tables: Sequence[Rows], lists: Sequence[tuple[str, Any]]) -> Iterator[Finding]:
    """Answers that are not in the catalogue in which all the right answers are."""
    for table in tables:
        gold = table.field(GOLD)
        if not table.answered or not gold:
            continue
        right = {str(r.get(gold)).strip() for r in table.rows}
        for name, value in lists:
            known = set(_listed(value))
            if name == table.name or len(right) < LEAST // 2 or len(right & known) < KNOWN * len(right):
                continue
            given = [one.strip() for r in table.rows for one in _flat(r.get(table.answered))]
            filled = [one for one in given if one]
            outside = [one for one in filled if one not in known]
            if len(filled) >= LEAST and len(outside) > OUTSIDE * len(filled):
                yield _outside(table, name, filled, outside)
                return


def _outside(table: Rows, name: str, filled: Sequence[str], outside: Sequence[str]) -> Finding:
    share = len(outside) / len(filled)
    return Finding(
        "answers-outside-catalogue", Severity.S1,
        f"{len(outside)} of {len(filled)} answers of {table.name} ({share:.1%}) are not in {name}, which has all the "
        f"right answers, such as {outside[0][:60]}: a working constraint leaves none.",
        f"{table.name} 的 {len(filled)} 个答案中有 {len(outside)} 个（{share:.1%}）不在 {name} 里（标准答案都在），"
        f"例如 {outside[0][:60]}：约束正常时应为 0。",
        (Evidence(table.name, value=round(share, 4), text=outside[0][:80]), Evidence(name)),
        {"share": round(share, 4), "outside": len(outside), "answers": len(filled)},
    )  # fmt: skip


def _listed(value: Any) -> Iterator[str]:
    """What a catalogue has: the first cell of its lines, what its index makes of each item, its keys."""
    if isinstance(value, list):
        for one in value:
            yield from (
                (str(v).strip() for v in one.values()) if isinstance(one, dict) else [str(one).split("\t")[0].strip()]
            )
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from ["".join(map(str, one))] if isinstance(one, list) else [one] if isinstance(one, str) else ()


def _flat(value: Any) -> Iterable[str]:
    return (
        [v for v in value if isinstance(v, str)]
        if isinstance(value, list)
        else [value]
        if isinstance(value, str)
        else ()
    )


def _indexed(tables: Sequence[Rows], indices: Sequence[tuple[str, Any]]) -> Iterator[Finding]:
    """Items of the data that the index of the same run does not have."""
    for name, index in indices:
        for table in tables:
            if (key := table.field(ITEM)) is None:
                continue
            items = {str(r.get(key)).strip() for r in table.rows if r.get(key) not in (None, "")}
            lost = sorted(items - index.keys())
            if lost and COVERED * len(items) <= len(items) - len(lost):
                yield Finding(
                    "index-short-of-items", Severity.S1,
                    f"{len(lost)} of the {len(items)} items of {table.name} have no entry in {name} "
                    f"({', '.join(lost[:4])}): the index was built of other data.",
                    f"{table.name} 的 {len(items)} 个物品中有 {len(lost)} 个在 {name} 里没有条目"
                    f"（{', '.join(lost[:4])}）：索引对应的是另一份数据。",
                    (Evidence(table.name, text=key), Evidence(name)),
                    {"items": len(items), "missing": len(lost), "coverage": round(1 - len(lost) / len(items), 4)},
                )  # fmt: skip
                return


def _set_elsewhere(run: Run) -> Iterator[Finding]:
    """An index whose path is set, which is not there, beside one whose name is nearly the same."""
    names = [*(a.name for a in run.artifacts), *(s.name for s in (*run.skipped, *run.unknown))]
    for artifact in run.of("script", "config"):
        for number, line in enumerate(head(artifact.path, 1 << 18).decode("utf-8", "replace").splitlines(), 1):
            match = SET.search(line)
            path = PurePosixPath(match[1]).as_posix().removeprefix("./") if match else ""
            if not path or any(n == path or n.endswith(f"/{path}") or path.endswith(f"/{n}") for n in names):
                continue
            others = {PurePosixPath(n).name: n for n in names if n.endswith(".json")}
            near = get_close_matches(PurePosixPath(path).name, others, 1, NEAR)
            if near:
                yield Finding(
                    "index-path-not-there", Severity.S1,
                    f"{artifact.name}:{number}: {path} is not among the files of the run, {others[near[0]]} is. A path "
                    "that leads nowhere may be skipped in silence, and then no token is added.",
                    f"{artifact.name}:{number}：{path} 不在该运行的文件中，而 {others[near[0]]} 在。路径不存在时"
                    "程序可能直接跳过，不会新增任何 token。",
                    (Evidence(artifact.name, number, text=line.strip()[:200]), Evidence(others[near[0]])),
                    {"path": path, "nearest": others[near[0]]},
                )  # fmt: skip
                return
