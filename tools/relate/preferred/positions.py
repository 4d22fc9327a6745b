"""Verdicts that go to a place, whichever model stands there: the same two models exchanged, one model against itself,
and one fixed order whose winner people do not see.

Of one table that holds both orders, `..rows` and `..summed.items` tell too; here the orders may lie in several files,
in rows of a summary, or in the names of the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np

from ...data.statistics import wilson
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import texts
from ..rows import order_decides
from ..summed.items import orders
from .beaten import beaten
from .bout import LEAST, Bout
from .places import PEOPLE, PLACES, SCORE, SIZE, TIES, by_people, cells, pairs_of, placed, sides_of, spelled

MOST_NAMES, LEAST_SELF, LEAST_PEOPLE = 12, 60, 50
CLEAR, GAP, EVEN, BALANCED = 3.0, 0.07, 0.03, 1.25
"""Standard errors, how far above one half the mean share of a place lies, how far the lesser of two orders may lie on
the other side, and how near the numbers of both orders are in a design that takes both. Own judgement."""
GAP_BALANCED = 0.1
AGAIN = bounded(
    r"[\W_]{1,3}(?:seed|sample|(?:re)?run|rep|repeat|copy|dup|again|same|bis|重复|副本|重跑|再跑)[\W_]{0,2}\d{0,6}\W?$|['′]$"
)
VERSUS = bounded(r"^(.{1,60}?)[\s_\-.]{0,3}(?:\bvs\b|_vs_|-vs-|versus|对阵|对战|against)[\s_\-.]{0,3}(.{1,60})$")
WON = bounded(r"(?:^|_)(?:wins?|won|winrate|win_rate|preferred|picked|votes?)(?:_|$)|胜|赢|得票|判给")
SIZED = bounded(r"^(?:n|count|total|items|pairs|num_?\w{0,12}|votes|games|题数|条数|对数|场次|场数|局数|次数|总数)$")
SHOWN = bounded(r"shown|first|order|position|slot|left|top|先|左|上|位置|展示")
STANDS = {**PLACES, "前": 0, "后": 1}
"""Places of models, where `前` and `后` are no before and after."""
VERDICT = bounded(r"winner|verdict|pick|prefer|choice|judg|vote|decision|better|result|裁决|判|胜|选|结论|更好|更喜欢")


def positions(tables: Sequence[Table]) -> Iterator[Finding]:
    """What the verdicts of all tables together say of the place."""
    bouts: dict[tuple[str, str], Bout] = {}
    for number, table in enumerate(tables):
        if by_people(table):
            continue
        for one in (*_rows(table), *_summary(table)):
            kept = bouts.setdefault((one.first, one.second), Bout(one.first, one.second))
            kept.won, kept.of = kept.won + one.won, kept.of + one.of
            kept.places += one.places[:2]
            kept.tables.add(number)
    told = next(_exchanged(bouts, tables), None) or next(_itself(bouts), None)
    if told is not None:
        yield told
        return
    yield from _people(bouts, tables)
    yield from beaten(bouts.values())


def _exchanged(bouts: dict[tuple[str, str], Bout], tables: Sequence[Table]) -> Iterator[Finding]:
    for (x, y), one in bouts.items():
        other = bouts.get((y, x))
        if other is None or x >= y or min(one.of, other.of) < LEAST:
            continue
        mean, low = (one.share + other.share) / 2, min(one.share, other.share)
        error = sqrt(0.25 * (1 / one.of + 1 / other.of)) / 2
        both = max(one.of, other.of) <= BALANCED * min(one.of, other.of) and one.tables == other.tables
        same = mean > 0.5 or max(one.share, other.share) < 0.5
        off, low = (abs(mean - 0.5), low if mean > 0.5 else 1 - max(one.share, other.share))
        gap = GAP_BALANCED if both or low < 0.5 + EVEN else GAP
        if not same or off < max(gap, CLEAR * error) or low < 0.5 - EVEN:
            continue
        if one.tables == other.tables and any(
            f for i in one.tables for f in (*order_decides(tables[i]), *orders(tables[i]))
        ):
            return
        place, zh = ("first", "前") if mean > 0.5 else ("second", "后")
        yield Finding(
            "verdicts-follow-order", Severity.S2,
            f"The {place} place wins whichever of two models stands there: the first wins {one.said()} and "
            f"{other.said()}. Over both orders {x} wins {(one.share + 1 - other.share) / 2:.0%}: a win in one order is "
            "that of the place.",
            f"无论哪个模型站在{zh}面，胜的都是{zh}面那个位置：前位获胜 {one.said_zh()}，{other.said_zh()}。两种顺序平均"
            f" {x} 胜率 {(one.share + 1 - other.share) / 2:.0%}：单一顺序下的胜率是位置带来的。",
            (*one.places[:2], *other.places[:2]),
            {"first": one.share, "exchanged": other.share, "verdicts": [one.of, other.of], "models": [x, y]},
        )  # fmt: skip
        return


def _itself(bouts: dict[tuple[str, str], Bout]) -> Iterator[Finding]:
    for one in bouts.values():
        same = AGAIN.sub("", one.first) == AGAIN.sub("", one.second)
        if not same or one.of < LEAST_SELF or abs(one.share - 0.5) < max(GAP, CLEAR * sqrt(0.25 / one.of)):
            continue
        low, high = wilson(round(one.won), round(one.of))
        yield Finding(
            "verdicts-follow-order", Severity.S2,
            f"A model against itself ({one.first} and {one.second}): the first place wins {one.share:.0%} of "
            f"{one.of:.0f} verdicts (95%: {low:.0%} to {high:.0%}), where half would be right: the judge prefers a "
            "place.",
            f"同一模型对自己（{one.first} 与 {one.second}）：{one.of:.0f} 次评判中前位获胜 {one.share:.0%}（95% 区间 "
            f"{low:.0%} 到 {high:.0%}），本应各半：评审偏向位置。",
            tuple(one.places[:3]), {"share": one.share, "interval": [low, high], "models": [one.first, one.second]},
        )  # fmt: skip
        return


def _people(bouts: dict[tuple[str, str], Bout], tables: Sequence[Table]) -> Iterator[Finding]:
    """One fixed order, in which a model wins clearly that people do not prefer."""
    for (x, y), one in bouts.items():
        if (y, x) in bouts or x == y or one.of < LEAST_SELF:
            continue
        if abs(one.share - 0.5) < max(GAP, CLEAR * sqrt(0.25 / one.of)):
            continue
        whom, share = (x, one.share) if one.share > 0.5 else (y, 1 - one.share)
        for table in tables:
            voted = _votes(table, {x, y})
            if voted is None:
                continue
            column, won = voted
            k, n = int((won == whom).sum()), len(won)
            low, high = wilson(k, n)
            if n < LEAST_PEOPLE or k / n > 0.5 + EVEN or high >= wilson(round(share * one.of), round(one.of))[0]:
                continue
            yield Finding(
                "people-prefer-otherwise", Severity.S2,
                f"The judge, with {x} always first and {y} second, lets {whom} win {share:.0%} of {one.of:.0f}; people "
                f"({table.file}) prefer it in {k} of {n} ({k / n:.0%}, 95%: {low:.0%} to {high:.0%}).",
                f"评审（{x} 总在前，{y} 总在后）判 {whom} 在 {one.of:.0f} 次中胜 {share:.0%}；而人（{table.file}）在"
                f" {n} 次中只有 {k} 次更喜欢它（{k / n:.0%}，95% 区间 {low:.0%} 到 {high:.0%}）。",
                (*one.places[:2], Evidence(table.file, int(table.lines[0]) or None, metric=column.name)),
                {"judge": share, "people": k / n, "votes": n, "of": whom},
            )  # fmt: skip
            return


def _votes(table: Table, names: set[str]) -> tuple[Column, np.ndarray] | None:
    """Whom people voted for of two models, ties left out."""
    who = [spelled(table.file.rpartition("/")[2]), *(spelled(c.name) for c in table.columns)]
    if len(table) < LEAST_PEOPLE or not any(PEOPLE.search(n) for n in who):
        return None
    for column in table.columns:
        if column.values.dtype.kind == "O" and not SHOWN.search(spelled(column.name)):
            won = np.array([v.strip() for v in texts(column).tolist()], object)
            decided = np.isin(won.astype(str), list(names))
            if set(won[decided].tolist()) == names and all(TIES.search(v) for v in set(won[~decided].tolist())):
                return column, won[decided]
    return None


def _rows(table: Table) -> Iterator[Bout]:
    """Verdicts of a table with a row each, by the order in which the models stood."""
    if len(table) < LEAST:
        return
    arranged = next(_arranged(table), None)
    if arranged is None:
        return
    first, second, skip = arranged
    others = [c for c in table.columns if c.name not in skip and not PEOPLE.search(spelled(c.name))]
    for column in sorted(others, key=lambda c: not VERDICT.search(spelled(c.name))):
        won = _won(column, first, second)
        if won is None:
            continue
        for x, y in sorted({*zip(first.tolist(), second.tolist(), strict=True)}):
            mine = np.flatnonzero((first == x) & (second == y) & np.isfinite(won))
            if len(mine):
                spots = [Evidence(table.file, int(table.lines[i]) or None, metric=column.name,
                                  text=f"{x} / {y}: {column.values[i]}") for i in mine[:2]]  # fmt: skip
                yield Bout(x, y, float((won[mine] == 0).sum()), float(len(mine)), spots)
        return


def _won(column: Column, first: np.ndarray, second: np.ndarray) -> np.ndarray | None:
    """(n,) 0 where the first place won, 1 where the second did, NaN for a tie; None for no column of verdicts."""
    if column.values.dtype.kind == "f" and not VERDICT.search(spelled(column.name)):
        return None
    said = np.array([v.strip() for v in cells(column).tolist()], object)
    a, b = said == first, said == second
    if column.values.dtype.kind != "O" or not a.any() or not b.any() or (a & b).any():
        return placed(column)
    if any(not TIES.search(v) for v in set(said[~(a | b)].tolist())):
        return None
    return np.where(a, 0.0, np.where(b, 1.0, np.nan))


def _arranged(table: Table) -> Iterator[tuple[np.ndarray, np.ndarray, set[str]]]:
    """(who stood first, who second, columns that say so)."""
    for _, one, two in pairs_of(table, "O", STANDS):
        a, b = (np.array([v.strip() for v in texts(c).tolist()], object) for c in (one, two))
        names = {*a.tolist(), *b.tolist()}
        if len(names) <= MOST_NAMES and len(names) <= len(table) / 5 and "" not in names and placed(one) is None:
            yield a, b, {one.name, two.name}
    for column in table.columns:
        if column.values.dtype.kind != "O":
            continue
        said, name = texts(column), spelled(column.name)
        names = sorted(set(said.tolist()))
        side = next((s for s, _ in sides_of(column.name, PLACES)), None)
        if len(names) == 2 and SHOWN.search(name) and side is not None and placed(column) is None:
            other = np.array([names[1] if v == names[0] else names[0] for v in said.tolist()], object)
            yield (said, other, {column.name}) if side == 0 else (other, said, {column.name})
    name = table.part or table.file.rpartition("/")[2].rpartition(".")[0]
    if m := VERSUS.search(name):
        yield np.full(len(table), m[1].strip(" _-"), object), np.full(len(table), m[2].strip(" _-"), object), set()


def _summary(table: Table) -> Iterator[Bout]:
    """Rows that count who won in one order each."""
    if not 1 <= len(table) <= LEAST:
        return
    for first, second, i in _labelled(table):
        found = _shares(table, i)
        if found is not None:
            column, won, of = found
            yield Bout(first, second, won, of, [Evidence(table.file, int(table.lines[i]) or None, metric=column.name,
                                                         value=float(column.values[i]))])  # fmt: skip


def _labelled(table: Table) -> Iterator[tuple[str, str, int]]:
    pair = next(((a, b) for _, a, b in pairs_of(table, "O", STANDS) if placed(a) is None), None)
    for i in range(len(table)):
        if pair is not None:
            first, second = (str(c.values[i]).strip() for c in pair)
            if first and second:
                yield first, second, i
            continue
        for column in table.columns:
            if column.values.dtype.kind == "O" and (m := VERSUS.search(str(column.values[i])[:120])):
                yield m[1].strip(" _-"), m[2].strip(" _-"), i
                break


def _shares(table: Table, i: int) -> tuple[Column, float, float] | None:
    """(column, wins of the first place, verdicts) of one row, from two counts or shares, or from one share."""
    sized = next((float(c.values[i]) for c in table.columns
                  if c.values.dtype.kind == "f" and SIZED.search(spelled(c.name))), float("nan"))  # fmt: skip
    for _, a, b in pairs_of(table, "f", STANDS):
        name = spelled(a.name)
        if SIZE.search(name) or (SCORE.search(name) and not WON.search(name)):
            continue
        x, y = float(a.values[i]), float(b.values[i])
        if WON.search(name) and x >= 0 and y >= 0 and x + y > 0:
            whole = x + y if x + y > 101 and float(x).is_integer() else sized
            return (a, x / (x + y) * whole, whole) if np.isfinite(whole) else None
    for column in table.columns:
        name = spelled(column.name)
        side = next((s for s, _ in sides_of(column.name, STANDS)), None)
        if column.values.dtype.kind != "f" or side is None or not WON.search(name) or not np.isfinite(sized):
            continue
        value = float(column.values[i])
        share = value / 100 if 1 < value <= 100 else value
        if 0 <= share <= 1 and sized >= LEAST:
            return column, (share if side == 0 else 1 - share) * sized, sized
    return None
