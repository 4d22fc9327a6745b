"""Outputs that end at a limit: how many, how they are scored beside the others, which line of the run sets the limit,
and where another limit of the same kind is said.

Of two tables with the same items the ones that ended by themselves are compared with the same items of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...documents.stated import Stated, near
from ...findings import PROPOSES, Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..line import Line, means
from .names import demand

LEAST, SHARE, MUCH = 5, 0.03, 0.1
"""Rows at the limit, and shares of all rows from which on they are told and are more than a note. Own judgement."""
HEAP = 5.0
"""Times that more rows end at the largest length than in the twentieth below it."""
SIZE = bounded(
    r"(?:^|_)n_?(?:out|gen|tok\w*)(?:_|$)|(?:^|_)(?:out\w*|completion|response|resp|answer|gen\w*|new|reply)_?"
    r"(?:len\w*|tokens?|toks?|n)(?:_|$)|(?:^|_)(?:tokens?|toks?)_(?:generated|produced|emitted|out(?:put)?)(?:_|$)|^(?:tokens|length|len|n_tokens)$|(?:输出|回答|回复|生成)(?:长度|token)"
)
ENDS = bounded(r"stop|finish|end_?reason|eos|结束")
CUT = frozenset(("length", "max_tokens", "max_length", "limit", "truncated", "cut", "maxlen", "max_new_tokens"))
ENDED = frozenset(("stop", "eos", "end_turn", "stop_sequence", "tool_calls", "function_call", "eos_token"))
SCORE = bounded(r"(?:^|_)(?:score|correct|acc\w*|right|pass\w*|solved|reward|em|f1|ok|hit)(?:_|$)|得分|正确|通过")
PACE = bounded(
    r"(?:^|_)(?:ttft|tpot|itl|tps|tok\w{0,5}_?(?:per_?|/)s\w{0,6}|throughput|latency|e2e\w{0,8}|prefill\w{0,6}|decode\w{0,6}"
    r"|total_?time\w{0,3}|duration\w{0,3}|elapsed\w{0,3}|wall\w{0,6})(?:_|$)|吞吐|延迟|耗时|首字|速度"
)
PACED = 2
"""Columns of speed or time from which on a table without a score or an end is one of a benchmark of speed. Ours."""
LIMIT = bounded(r"max_?(?:gen|new|out|completion|response|tok|len)|gen\w*_(?:len|tok|limit)"
                r"|(?:token|length)_(?:limit|budget)"
                r"|最大(?:输出|生成|长度)|max_tokens")  # fmt: skip
NOT_OURS = bounded(r"prompt|input|model_len|position|context|grad|norm|seq")


@dataclass(frozen=True)
class Capped:
    """The length column of one table that ends at a limit."""

    table: Table
    size: Column
    limit: float
    at: np.ndarray
    score: Column | None


def capped(tables: Sequence[Table], said: Sequence[Stated], lines: Sequence[Line] = ()) -> list[Finding]:
    """What ends at a limit, the largest share first."""
    found = sorted((c for t in tables if (c := _of(t)) is not None), key=lambda c: -float(c.at.mean()))
    return [_told(c, tables, said, lines) for c in found[:3]]


def _of(table: Table) -> Capped | None:
    size = next((c for c in table.columns if c.values.dtype.kind == "f" and means(SIZE, c.name)
                 and not means(NOT_OURS, c.name)), None)  # fmt: skip
    if size is None or len(table) < 4 * LEAST:
        return None
    finite = size.values[np.isfinite(size.values)]
    limit = float(finite.max()) if len(finite) else 0.0
    ends = next((c for c in table.columns if c.values.dtype.kind == "O" and means(ENDS, c.name)), None)
    if ends is not None:
        why = np.char.lower(texts(ends).astype(str))
        at = np.isin(why, list(CUT))
        if not at.any() and np.isin(why, list(ENDED)).mean() > 0.5:
            return None  # most say that they ended by themselves, and none that it was cut
        limit = float(np.nanmedian(size.values[at])) if at.any() else limit
    else:
        at = size.values == limit
        if np.ptp(np.unique(finite, return_counts=True)[1]) == 0:
            return None  # lengths that somebody chose, so many of each
        below = ((size.values >= 0.95 * limit) & ~at).sum()
        if at.sum() < HEAP * max(float(below), 1.0) or limit < 16:
            return None
    if at.sum() < LEAST or at.mean() < SHARE or at.all():
        return None
    score = next((c for c in table.columns if c.values.dtype.kind == "f" and means(SCORE, c.name)
                  and np.isfinite(c.values).any()), None)  # fmt: skip
    if score is None and ends is None and len([c for c in table.columns if means(PACE, c.name)]) >= PACED:
        return None  # a benchmark of speed writes as many tokens as it was asked to
    return Capped(table, size, limit, at, score)


def _along(c: Capped) -> tuple[float, float] | None:
    """Shares at the limit at the first and the last step of a training whose outputs the table keeps."""
    axis = next((a for a in c.table.of("axis") if a.of == "step" and a.values.dtype.kind == "f"), None)
    if axis is None or not np.isfinite(axis.values).all() or len(np.unique(axis.values)) < 2:
        return None
    first, last = (c.at[axis.values == at] for at in (axis.values.min(), axis.values.max()))
    return (float(first.mean()), float(last.mean())) if min(len(first), len(last)) >= LEAST else None


def _told(c: Capped, tables: Sequence[Table], said: Sequence[Stated], lines: Sequence[Line]) -> Finding:
    k, n = int(c.at.sum()), len(c.table)
    share = k / n
    en = [f"{k} of {n} rows of {c.table.file} ({share:.0%}) end at {c.size.name} {c.limit:.0f}"]
    zh = [f"{c.table.file} 的 {n} 行中有 {k} 行（{share:.0%}）停在 {c.size.name} {c.limit:.0f}"]
    rows = np.flatnonzero(c.at)[:2].tolist()
    places = [Evidence(c.table.file, int(c.table.lines[i]) or None, metric=c.size.name, value=float(c.size.values[i]))
              for i in rows]  # fmt: skip
    data: dict[str, object] = {
        "share": share,
        "limit": c.limit,
        "metric": "truncated_share",
    }
    worse = False
    if c.score is not None:
        cut, rest = float(np.nanmean(c.score.values[c.at])), float(np.nanmean(c.score.values[~c.at]))
        worse, top = cut < 0.7 * rest, float(np.nanmax(c.score.values))
        en.append(
            f"{c.score.name} is {cut:.3g} there and {rest:.4g}{_share(rest, top)} in the {n - k} that end by themselves"
        )
        zh.append(f"这些行的 {c.score.name} 为 {cut:.3g}，自行结束的 {n - k} 行为 {rest:.4g}{_share(rest, top)}")
        data |= {"score_cut": cut, "score_rest": rest}
        if (other := _same_items(c, tables)) is not None:
            name, theirs, of = other
            en.append(f"on the same {of} items {name} has {theirs:.4g}{_share(theirs, top)}")
            zh.append(f"同样的 {of} 题 {name} 为 {theirs:.4g}{_share(theirs, top)}")
            data["score_other"] = theirs
    about, along = ["limit", "output"], _along(c)
    if along is not None:
        first, last = along
        about.append("rollout")
        data["first"], data["last"] = first, last
        en.append(f"their share goes from {first:.1%} at the first step of the table to {last:.1%} at the last")
        zh.append(f"其占比从表中第一步的 {first:.1%} 变为最后一步的 {last:.1%}")
    sets = next((s for s in said if s.how == "said" and near(s, c.limit) and means(LIMIT, s.key)), None)
    if sets is not None:
        en.append(f"{sets.file}:{sets.line} sets {sets.key} {sets.value}")
        zh.append(f"{sets.file}:{sets.line} 设 {sets.key} 为 {sets.value}")
        places.append(sets.evidence())
    higher = _higher(c, lines, said)
    if higher is not None:
        en.append(f"elsewhere {higher[0]} is {higher[1]:.0f} ({higher[2].file}:{higher[2].line})")
        zh.append(f"别处 {higher[0]} 为 {higher[1]:.0f}（{higher[2].file}:{higher[2].line}）")
        places.append(higher[2])
        about.append("lower")
    data["kinds"], grave = about, share >= MUCH and worse
    data["asks"] = [demand("truncated_share", "at-most", min(0.05, share / 2), f"{share:.0%} end at {c.limit:.0f}",
                           f"{share:.0%} 停在 {c.limit:.0f}")]  # fmt: skip
    if grave and sets is not None:
        new = higher[1] if higher is not None else (4 if along is None else 2) * c.limit
        data[PROPOSES] = {"variable": "max_completion_length", "new": int(new)}
    code = "answers-lost-at-limit" if grave else "rows-at-limit"
    return Finding(code, Severity.S2 if grave else Severity.S3, "; ".join(en) + ".", "；".join(zh) + "。",
                   tuple(places), data)  # fmt: skip


def _share(mean: float, top: float) -> str:
    """A mean of scores as a percentage, where they are counted in parts of one: not one of points out of ten or 100."""
    return f" ({mean:.1%})" if top <= 1.0 else ""


def _same_items(c: Capped, tables: Sequence[Table]) -> tuple[str, float, int] | None:
    """(file, score, items) of another table on the items that ended by themselves here."""
    own = next((x for x in c.table.of("identifier") if len(set(texts(x).tolist())) == len(c.table)), None)
    if own is None or c.score is None:
        return None
    kept = set(texts(own)[~c.at].tolist())
    for table in tables:
        ids, score = (next((x for x in table.columns if x.name == name), None) for name in (own.name, c.score.name))
        if table is c.table or ids is None or score is None or score.values.dtype.kind != "f":
            continue
        rows = np.array([v in kept for v in texts(ids).tolist()])
        if rows.sum() >= 0.9 * len(kept):
            return table.file, float(np.nanmean(score.values[rows])), int(rows.sum())
    return None


def _higher(c: Capped, lines: Sequence[Line], said: Sequence[Stated]) -> tuple[str, float, Evidence] | None:
    """A limit of the same kind that another place of the run says, and that is higher."""
    for one in said:
        if one.how == "said" and means(LIMIT, one.key) and (n := one.number) is not None and n > c.limit:
            return one.key, n, one.evidence()
    for line in lines:
        values = line.values
        if means(LIMIT, line.key) and (values == values[0]).all() and values[0] > c.limit:
            return line.key, float(values[0]), line.evidence(0)
    return None
