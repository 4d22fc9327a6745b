"""Results of an evaluation in which nothing was scored, and the program that looks for answers under another name.

A result is void where what it counts is 0 and its scores are no numbers, or where it has none of the scores that
another result with the same names has. In one file with a result for each checkpoint the others are those beside it; a
class of an evaluation that has no rows is no such result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...reading import head
from ...run import Run
from .rows import Rows

COUNTED = bounded(
    r"(?i)^(?:n|num|count|total|samples|n_?samples|support)$|^(?:n|num|number)_|_(?:count|total|n|scored|samples)$"
    r"|^(?:scored|evaluated|answered|judged|valid)$|数量|样本数|题数|条数"
)
PART = bounded(
    r"(?i)^(?:(?:ckpt|checkpoint|(?:global_?)?step|iter(?:ation)?|epoch|run|model|version|v)[-_ ]?)?\d[\d_.]*[km]?$"
)
"""What a checkpoint, a step or a version is called: `step_3000`, `12k`, `v2`."""
NAMED = bounded(
    r"(?i)^(?:ckpt|checkpoint|(?:global_?)?step|iter(?:ation)?|epoch|run|model|version|检查点|模型|版本|步数)$"
)
"""Fields that say of which of them a row is."""
VOID = ("", "nan", "null", "none", "n/a", "-")
MOST, SCORES = 20, 2
"""Names of a result, and scores of it that another one must have to show that they are missing here."""
SCORE = bounded(
    r"(?i)(?:^|[^a-z])(?:acc(?:uracy)?|em|f1|bleu|chrf|rouge\w{0,6}|meteor|comet|score|exact_?match|pass|recall|auc|auroc|ppl"
    r"|perplexity|wer|cer|mrr|ndcg|hits?|map|hr|mse|mae|(?:eval|val|test)_loss|(?:trunc\w*|error|win|pass|success)_?rate"
    r"|solved|correct|resolved)(?:$|[^a-z])|得分|分数|准确率|正确率|召回|胜率|指标"
)
"""What scores are called; other names may be empty by intention, as settings are."""
READS = bounded(r"\.(?:get|pop)\(\s*[\"'](\w{2,40})[\"']|\[\s*[\"'](\w{2,40})[\"']\s*\]")
PREDICTION = bounded(
    r"(?i)^(?:predict(?:ion|ed)?s?|preds?|responses?|generat(?:ed|ion)(?:_?text)?s?|completions?|answers?|outputs?"
    r"|(?:model|raw|llm)_(?:output|answer|response|prediction)s?|hyp(?:othes[ie]s)?|output_text|预测|模型输出|回答)$"
)
SCORER = bounded(r"(?i)score|metric|\beval|accuracy|\bem\b|\bf1\b|exact_?match|评测|评分|指标")
PROGRAM = 1 << 18
"""Bytes of a program that are read."""


@dataclass(frozen=True)
class Result:
    """One result: the scalars that stand together."""

    file: str
    part: str
    """Of which of several results in the file it is."""
    values: Mapping[str, Any]
    line: int | None = None

    @property
    def where(self) -> str:
        return f"{self.file} ({self.part})" if self.part else self.file

    @property
    def void(self) -> list[str]:
        """The scores that are no numbers."""
        return [k for k, v in self.values.items() if v != v or (SCORE.search(k) and _is_void(v))]

    @property
    def count(self) -> str | None:
        """The name of a count that is 0."""
        zero = (k for k, v in self.values.items() if COUNTED.search(k) and not isinstance(v, bool) and _number(v) == 0)
        return next(zero, None)


def results(name: str, value: Any) -> Iterator[Result]:
    """The results of one file: its own names, or those under each checkpoint or in each row for one."""
    if isinstance(value, dict):
        if own := _scalars(value):
            yield Result(name, "", own)
        for key, inner in islice(value.items(), 200):
            if isinstance(inner, dict) and PART.search(str(key)) and (own := _scalars(inner)):
                yield Result(name, str(key), own)
    elif isinstance(value, list):
        for i, row in enumerate(islice(value, 200)):
            key = next((k for k in row if NAMED.search(str(k))), None) if isinstance(row, dict) else None
            if key is not None and (own := _scalars(row)):
                table = name.endswith((".csv", ".tsv"))
                yield Result(
                    name, f"{key} {row[key]}", own, i + (2 if table else 1) if table or name.endswith("l") else None
                )


def _scalars(value: Mapping[Any, Any]) -> dict[str, Any]:
    own = {str(k): v for k, v in value.items() if v is None or isinstance(v, (int, float, str))}
    return own if len(value) <= MOST and len(own) > 1 else {}


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _is_void(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and value.strip().lower() in VOID)


def scored_nothing(found: Sequence[Result]) -> Iterator[Finding]:
    """Results whose scores are no numbers: because nothing was counted, or while another result has them."""
    for one in found:
        if not (void := one.void):
            continue
        beside = next((o for o in found if o is not one and _has(o, one, void)), None)
        row = one.part and not one.file.endswith(".json")
        other = beside is None or bool(_numbers(one))  # a log has rows of the training between those of an evaluation
        if (row and other) or (one.count is None and beside is None):
            continue
        yield _nothing(one, void, beside)
        return


def _has(other: Result, one: Result, void: Sequence[str]) -> bool:
    """Whether another result of the same names has numbers where all of this one's scores are none."""
    if other.values.keys() != one.values.keys():
        return False
    theirs = _numbers(other)
    lost = [k for k in theirs if k in void]
    return len(lost) >= SCORES and len(lost) == len(theirs)


def _numbers(one: Result) -> list[str]:
    """What of a result is a number, and neither counts nor says which it is."""
    numbers = ((k, _number(v)) for k, v in one.values.items() if not COUNTED.search(k) and not NAMED.search(k))
    return [k for k, n in numbers if n is not None and n == n]


def _nothing(one: Result, void: Sequence[str], beside: Result | None) -> Finding:
    names, n = ", ".join(void[:4]), one.count
    en, zh = (f"{n} is 0 and ", f"{n} 为 0，") if n else ("", "")
    other = ""
    other_zh = ""
    if beside is not None:
        has = ", ".join(f"{k} {beside.values[k]}" for k in (*((n,) if n else ()), *void[:2]))
        other, other_zh = f" ({beside.where} has {has})", f"（{beside.where} 则有 {has}）"
    places = [Evidence(one.file, one.line, metric=n or void[0], value=0.0 if n else None, text=f"{void[0]}: null")]
    return Finding(
        "scored-nothing", Severity.S1,
        f"{one.where}: {en}{names} {'are' if len(void) > 1 else 'is'} no number{other}: nothing was scored.",
        f"{one.where}：{zh}{names} 不是数{other_zh}：没有任何样本被计分。",
        (*places, *([Evidence(beside.file, beside.line)] if beside else [])),
        {"count": n or "", "score": void[0], "file": one.file},
    )  # fmt: skip


def read_otherwise(run: Run, tables: Sequence[Rows], void: bool) -> Iterator[Finding]:
    """A scorer of the run that asks the rows for a field which they do not have, while their answers have another name.

    The rows are those of the scorer: it reads other fields of theirs. Told where a result is void, or other rows of the
    run have the field.
    """
    for artifact in run.artifacts:
        if artifact.path.suffix != ".py":
            continue
        text = head(artifact.path, PROGRAM).decode("utf-8", "replace")
        read = {name: m.start() for m in READS.finditer(text) for name in m.groups() if name}
        wants = [name for name in read if PREDICTION.search(name)]
        if not SCORER.search(f"{artifact.name}\n{text[:4000]}") or not wants:
            continue
        for table in tables:
            has = [k for k in table.rows[0] if isinstance(k, str)]
            other = [k for k in has if PREDICTION.search(k) and k not in read]
            if not read.keys() & set(has) or set(wants) & set(has) or len(other) != 1:
                continue
            before = next((t for t in tables if t is not table and wants[0] in t.rows[0]), None)
            if not void and before is None:
                continue
            if before is not None and not (read.keys() & before.rows[0].keys()) - set(wants) <= set(has):
                continue  # the rows of another kind, of which the scorer reads something else besides
            line = text.count("\n", 0, read[wants[0]]) + 1
            yield _otherwise(artifact.name, line, text.splitlines()[line - 1], wants[0], table, other[0], before)
            return


def _otherwise(program: str, line: int, said: str, wants: str, table: Rows, has: str, before: Rows | None) -> Finding:
    en = f", and those of {before.name} have `{wants}`" if before else ""
    zh = f"，而 {before.name} 的字段正是 `{wants}`" if before else ""
    sample = json.dumps(table.rows[0].get(has), ensure_ascii=False)[:80]
    return Finding(
        "scorer-reads-other-field", Severity.S1,
        f"{program}:{line} reads `{wants}` of each row, and all {len(table.rows)} rows of {table.name} have `{has}` "
        f"instead{en}: the predictions are there, and the scorer does not see them.",
        f"{program}:{line} 读取每行的 `{wants}`，而 {table.name} 的 {len(table.rows)} 行用的是 `{has}`{zh}：预测都在，"
        "只是评分程序读不到。",
        (Evidence(program, line, text=said.strip()[:200]), Evidence(table.name, 1, metric=has, text=f"{has}: {sample}"),
         *([Evidence(before.name, 1, metric=wants)] if before else [])),
        {"wants": wants, "has": has, "rows": len(table.rows), "names": f"{wants} -> {has} ({program}:{line})",
         "asks": [{"metric": "scored_rows", "is": "at-least", "bound": float(len(table.rows)),
                   "en": f"all {len(table.rows)} rows of {table.name} are scored",
                   "zh": f"{table.name} 的 {len(table.rows)} 行全部被计分"}]},
    )  # fmt: skip
