"""What gets worse for good in a service, a machine or a row of checkpoints, whatever its measure is called.

A latency, a queue, a memory or an acceptance is known by the words of its name. What goes with the load beside it is
its work, and what comes back at the end is over: neither is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Finding, Severity
from ...logs.detectors.robust import running_share
from ...patterns import bounded
from ...relate.line import Line, means, plain
from ..steady import WORK


class Kind(NamedTuple):
    """One kind of measure that has a bad way."""

    code: str
    name: str
    """Pattern of its names, in words joined by `_`."""
    not_: str
    """What its names do not hold."""
    way: int
    """1 where more is worse, -1 where less is."""
    times: float
    """Level at the end over that at the beginning, or the other way round, from which on it is told. Own judgement."""
    least: float
    """By how much it differs at least."""
    en: str
    zh: str


_END = r"(?:_|$)"
_P = "p(?:50|90|95|99)"
_UNIT = "(?:ms|us|s|secs?|seconds?|time|req(?:uests?)?|http|api|respon[cs]e|query|serve|decode|prefill|e2e)"
_TIMES = (rf"(?:^|_)(?:latency|latencies|ttft|tpot|itl|response_time|ms_per_token|{_P}_{_UNIT}|{_UNIT}_{_P}){_END}"
          rf"|^{_P}$|延迟|时延")  # fmt: skip
"""A quantile of which nothing says that it is of a time may be of anything."""
_NO_TIME = (r"std|stdev|count|target|limit|min_|diff|gap|prob|loss|norm|(?<!per_)tokens?(?:_|$)|len(?:gth)?|util|mem"
            r"|size|score|reward|ratio|acc(?:_|$)|share|pct|percent|长度|利用|显存|占比")  # fmt: skip
"""What a quantile may be of beside a time."""
_QUEUES = rf"(?:^|_)(?:queued?|waiting|pending|backlog|queue_(?:len|size|depth|req)|lag){_END}|排队|等待数"
_MEMORIES = rf"(?:^|_)(?:rss|vm_?rss|(?:kb)?mem_?used|used_mem(?:ory)?|resident|uss|pss|host_memory){_END}"
_ACCEPTED = rf"(?:^|_)(?:accept(?:ance|ed)?_(?:rate|length|ratio|len)|mean_acceptance_length){_END}|接受率"
KINDS = (
    Kind("latency-grows", _TIMES, _NO_TIME, 1, 1.5, 0.0,
         "requests take longer and longer", "请求越来越慢"),
    Kind("queue-grows", _QUEUES, r"time|_ms|_s$|seconds|rate", 1, 3.0, 10.0,
         "more comes in than is done", "进来的比处理的多"),
    Kind("host-memory-grows", _MEMORIES, r"gpu|cuda|vram|free|total|limit", 1, 1.5, 0.0,
         "memory of the host is taken and not given back", "内存只增不减"),
    Kind("acceptance-falls", _ACCEPTED, r"policy|hmc|mcmc", -1, 1.2, 0.0,
         "fewer drafted tokens are accepted", "被接受的草稿 token 变少"),
)  # fmt: skip
_LOADS = bounded(r"(?:^|_)(?:users?(?:_count)?|concurrency|rps|qps|requests?_(?:per_)?s(?:ec)?|arrivals?|running|load|"
                 r"batch_size|arrivals_per_s|requests_s)(?:_|$)")  # fmt: skip
OF_ROWS = "host-memory-grows"
"""Told by its first and last row, as other findings tell of a memory that grows; the others, which are restless, by
levels."""
BEGINS, ALIKE = 20, 0.99
"""A memory has begun to grow beyond this part of its whole way, and what is kept there goes with it so closely."""
LEAST = 8
LASTING = 0.75
"""Share of the later half that lies beyond the level of the beginning by half the way."""
ALONG = 0.8
"""Share of its way that a measure may go with a load beside it, by their growth."""
_PATTERNS = {kind.code: (bounded(kind.name), bounded(kind.not_)) for kind in KINDS}


def of_time(name: str) -> bool:
    """Whether a name is that of a latency."""
    named, never = _PATTERNS["latency-grows"]
    key = plain(name)
    return bool(named.search(key)) and not never.search(key)


def worsened(lines: Sequence[Line]) -> Iterator[Finding]:
    """The clearest of each kind."""
    some = [x for x in lines if np.isfinite(x.values).sum() >= LEAST]
    loads = [x for x in some if means(_LOADS, x.key)]
    for kind in KINDS:
        named, never = _PATTERNS[kind.code]
        found = []
        for line in some:
            key = plain(line.key)
            if kind.code in ("latency-grows", "queue-grows") and means(WORK, line.axis):
                continue
            if named.search(key) and not never.search(key) and (ends := _gone(line.finite().values, kind)):
                near = [x for x in loads if x.file == line.file and x.group == line.group and x is not line]
                if kind.code != "latency-grows" or not any(_with(x, ends) for x in near):
                    found.append((abs(np.log(max(ends[1], 1e-9) / max(ends[0], 1e-9))), line, ends))
        if found:
            _, line, ends = max(found, key=lambda f: f[0])
            yield _told(line.finite(), kind, ends[0], ends[1], some)


def _gone(values: np.ndarray, kind: Kind) -> tuple[float, float] | None:
    """Levels of the first quarter and of the end, where it went the bad way and stayed there."""
    n = len(values)
    early, late = values[: max(3, n // 5)], values[-max(2, n // 10) :]
    first, last = float(np.median(early)), float(np.median(late))
    spread = 1.4826 * float(np.median(np.abs(early - first)))
    moved = kind.way * (last - first)
    high, low = max(first, last), min(first, last)
    if moved < max(kind.least, 6 * spread, 1e-9) or high < kind.times * max(low, 1e-9):
        return None
    half = kind.way * (values[-max(3, n // 4) :] - first)
    best = float(np.max(kind.way * (values - first)))
    stays = (half > moved / 3).mean() >= LASTING and moved >= 0.6 * best
    return (first, last) if stays else None


def _with(load: Line, ends: tuple[float, float]) -> bool:
    """Whether a load beside it grew nearly as much."""
    values = load.finite().values
    n = len(values)
    first, last = float(np.median(values[: max(3, n // 5)])), float(np.median(values[-max(2, n // 10) :]))
    return last > first > 0 and (last / first - 1) >= ALONG * (ends[1] / max(ends[0], 1e-9) - 1) * 0.5


def _told(line: Line, kind: Kind, first: float, last: float, lines: Sequence[Line]) -> Finding:
    bound = first + (last - first) / (BEGINS if kind.code == OF_ROWS else 4)
    i = _since(kind.way * line.values, kind.way * bound)
    begin, end = (line.values[0], line.values[-1]) if kind.code == OF_ROWS else (first, last)
    verb, zh = ("grows", "上升") if kind.way > 0 else ("falls", "下降")
    kept = _kept(line, i, lines) if kind.code == OF_ROWS else None
    en, too = (f", and {kept.said} with it", f"，{kept.said} 与之同步") if kept is not None else ("", "")
    return Finding(
        kind.code, Severity.S2,
        f"{line.said} {verb} from {begin:.4g} to {end:.4g}, for good from {line.where(i)} on{en}: {kind.en}.",
        f"{line.said} 从 {begin:.4g} {zh}到 {end:.4g}（自{line.where(i)}起未恢复）{too}：{kind.zh}。",
        tuple(x.evidence(at) for x, at in ((line, i), (line, -1), (kept, -1)) if x is not None),
        {"metric": line.name, "before": first, "after": last, "at": float(line.x[i])}
        | ({"names": kept.said} if kept is not None else {}),
    )  # fmt: skip


def _since(values: np.ndarray, bound: float) -> int:
    """From where on all values are above a bound."""
    inside = np.flatnonzero(~(values > bound))
    return min(int(inside[-1]) + 1 if len(inside) else 0, len(values) - 1)


def _kept(memory: Line, at: int, lines: Sequence[Line]) -> Line | None:
    """The measure that was level as long as the memory was, and went the same way since. Where the memory grows from
    the beginning, all that counts up goes with it, and nothing is named."""
    near = (x for x in lines if (x.file, x.group, x.attempt) == (memory.file, memory.group, memory.attempt))
    for x in near if min(at, len(memory) - at) >= max(LEAST, len(memory) // 20) else ():
        key = plain(x.key)
        if _PATTERNS[OF_ROWS][0].search(key) or of_time(key) or not np.array_equal(x.x, memory.x):
            continue
        y, first = x.values, float(np.median(x.values[:at]))
        level = np.abs(y[:at] - first).max() <= (y[-1] - first) / BEGINS
        if level and y[-1] > 2 * abs(first) and np.corrcoef(y[at:], memory.values[at:])[0, 1] >= ALIKE:
            return x
    return None


SCORE = bounded(
    r"(?:^|_)(?:acc(?:uracy)?|score|f1|bleu|em|exact_match|pass_?(?:at_|k_)?\d{1,3}|win_?rate|wins?|pref(?:erence)?|judge\w{0,10}|recall"
    r"|precision|map\w{0,6}|miou|humaneval|mbpp|gsm8k|math\w{0,5}|mmlu\w{0,8}|ifeval|bbh|drop|hellaswag|arc\w{0,10}|triviaqa"
    r"|winogrande|piqa|boolq|truthfulqa|mt_bench|alpaca\w{0,8}|准确率|胜率|得分)(?:_|$)"
)
MANY = bounded(r"(?:pass|maj|cons|best_of|bon|coverage)_{0,2}(?:at_|k_)?(\d{1,4})(?:_|$)|(?:^|_)(?:at|k|n)_?(\d{1,4})$")
"""Of how many answers a share tells."""
NO_SCORE = bounded(r"stderr|error|std|loss|reward_model|^reward$|(?:^|_)n(?:_|$)|count|time|train")
JUDGES = bounded(
    r"gold|human|proxy|hidden|held|judge|reward|(?:^|_)(?:rm|orm|prm|eval|val|test)\d?(?:_|$)|人工|裁判|留出|奖励"
)
"""Groups by who judges, of which one may rise while the other falls."""
CLOCK = "time"
"""A way on which scores of single pieces of work stand in the order in which they were done, and none of a model."""
HELD = 3
"""Evaluations in a row that a score that was reached by a leap must have held."""
POINTS, SHARE, ROWS = 0.05, 0.15, 5
"""Share of the scale and of its own peak that a score has lost, and evaluations, from which on it is told."""


def scores_fell(lines: Sequence[Line]) -> Iterator[Finding]:
    """Scores along the checkpoints that fall from their peak to the end, and what others of the same file do."""
    by_file: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        key = plain(line.key)
        if line.axis == CLOCK:
            continue
        if SCORE.search(key) and not NO_SCORE.search(key) and ROWS <= np.isfinite(line.values).sum() <= 2000:
            by_file.setdefault((line.file, line.attempt, line.group), []).append(line.finite())
    for (file, attempt, group), same in by_file.items():
        fell = [x for x in same if _from_peak(x)]
        kept = [x for x in same if not _from_peak(x, 0.5)]
        if fell and group and not kept and not JUDGES.search(plain(group)):
            beside = [
                x for (f, a, g), some in by_file.items() for x in some if (f, a) == (file, attempt) and g != group
            ]
            kept = [
                x for x in beside if x.key in {y.key for y in fell} and _rises(x) and not JUDGES.search(plain(x.group))
            ]
        if fell and len({x.key for x in same}) == len(same):
            yield _of_many(fell, once) if (once := _once(fell, same)) is not None else _scores(fell, kept)


def _tries(line: Line) -> int:
    """Of how many answers one must be right, `pass@16`; 0 where the name does not say."""
    found = MANY.search(plain(line.key))
    return int(found[1] or found[2]) if found else 0


def _once(fell: Sequence[Line], same: Sequence[Line]) -> Line | None:
    """The share that one answer gets right, where all that falls is that of several answers, and it does not."""
    once = next((x for x in same if _tries(x) == 1), None)
    return once if once is not None and once not in fell and all(_tries(x) > 1 for x in fell) else None


def _of_many(fell: Sequence[Line], once: Line) -> Finding:
    """What is lost is that the answers differ, not that they are right."""
    worst = max(fell, key=_tries)
    top = int(worst.values.argmax())
    many = f"{worst.said} {worst.values.max():.4g} -> {worst.values[-1]:.4g}"
    one = f"{once.said} {once.values[0]:.4g} -> {once.values[-1]:.4g}"
    return Finding(
        "further-answers-bring-less", Severity.S2,
        f"From its peak at {worst.where(top)} to the end {many} falls while {one} does not: several answers to one "
        "problem solve ever less that the first does not, they have become alike.",
        f"从 {worst.where(top)} 的峰值到末尾，{many} 下降，而 {one} 没有：同一题多采几个回答也解不出更多题，"
        "回答越来越雷同。",
        (worst.evidence(top), worst.evidence(len(worst) - 1), once.evidence(len(once) - 1)),
        {"fell": [x.key for x in fell], "stayed": [once.key], "part": worst.key},
    )  # fmt: skip


def _rises(line: Line) -> bool:
    """Whether it ends clearly above where it began."""
    k = max(2, len(line.values) // 10)
    begin, end = float(np.median(line.values[:k])), float(np.median(line.values[-k:]))
    return end - begin >= max(POINTS * (100.0 if line.values.max() > 1.5 else 1.0), SHARE * abs(begin))


def _from_peak(line: Line, part: float = 1.0) -> bool:
    values = line.values
    scale = 100.0 if np.nanmax(values) > 1.5 else 1.0
    top = int(values.argmax())
    k = max(2, len(values) // 10)
    end, peak = float(np.median(values[-k:])), float(np.median(np.sort(values)[-k:]))
    lost = peak - end
    usual = float(np.median(np.abs(np.diff(values, 2)))) if len(values) > 12 else 0.0
    if values[-1] > peak - lost / 2 or running_share(values, line.x) or _bounces(values, peak - lost / 2, lost / 2):
        return False
    return (
        values.min() >= 0 and scale >= peak and top < len(values) - k
        and lost >= part * max(POINTS * scale, SHARE * peak, 4 * usual)
    )  # fmt: skip


def _bounces(values: np.ndarray, middle: float, far: float) -> bool:
    """Whether the score is above the middle of its fall only where it leaps there and back: nothing was ever held."""
    high, moves = values > middle, np.diff(values)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], high.astype(int), [0]))))
    stays = [(a, b) for a, b in edges.reshape(-1, 2) if b - a >= HELD or a == 0]
    leaps = any(a > 0 and moves[a - 1] >= far for a, _ in edges.reshape(-1, 2))
    return leaps and not stays


def _scores(fell: Sequence[Line], kept: Sequence[Line]) -> Finding:
    alone = (len(kept) >= 2 or bool(kept and kept[0].group != fell[0].group)) and len(fell) <= len(kept)

    def told(line: Line) -> str:
        return f"{line.said} {line.values.max():.4g} -> {line.values[-1]:.4g}"

    names, zh = ", ".join(map(told, fell[:3])), "、".join(map(told, fell[:3]))
    worst = max(fell, key=lambda x: float(x.values.max() - x.values[-1]))
    top = int(worst.values.argmax())
    beside = f" while {', '.join(x.said for x in kept[:4])} do not: one ability is lost, not all" if alone else ""
    beside_zh = f"，而 {'、'.join(x.said for x in kept[:4])} 没有：丢的是一种能力，不是整体" if alone else ""
    return Finding(
        "ability-lost" if alone else "share-falls-from-peak", Severity.S2,
        f"From its peak at {worst.where(top)} to the end {names} fall{beside}.",
        f"从 {worst.where(top)} 的峰值到末尾，{zh} 下降{beside_zh}。",
        (worst.evidence(top), worst.evidence(len(worst) - 1)),
        {"fell": [x.key for x in fell], "stayed": [x.key for x in kept[:8]], "part": worst.key},
    )  # fmt: skip
