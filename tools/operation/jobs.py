"""Machines by what is kept about them: which jobs failed on which of them, what was stored.

Read from tables of a scheduler (`sacct`, `squeue`, `kubectl`) and from lists of checkpoints and quotas. A machine is
named only where it tells the jobs that failed from those that did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..documents.event import Event
from ..findings import Evidence, Finding, Severity
from ..patterns import bounded
from ..relate.line import means
from ..tables.table import Column, Table

STATE = bounded(r"^(?:job_?)?(?:state|status|result|outcome|phase|ending|状态|结果|结局|结束状态)$")
NODES = bounded(r"^(?:nodes?_?list|nodes?|hosts?|hostnames?|machines?|exec_host|nodes_used|节点|节点列表|机器)$")
JOB = bounded(r"^(?:job_?id|job|run|id|name|pod|jobname|作业|作业号|任务)$")
CODE = bounded(r"^exit_?(?:code|status)$|^(?:退出码|返回码)$")
BAD = bounded(r"(?i)fail|error|node_fail|crash|abort|hang|hung|killed|失败|报错|崩溃|挂")
GOOD = bounded(r"(?i)complet|succe|finish|done|\bok\b|成功|完成|正常")
LEAST_FAILED = 2
"""Jobs that failed from which on what they share may be their cause."""
MOST_NAMED = 1
"""Machines that every failed job may share, and be named: of more, one hides behind the others."""
_RANGE = bounded(r"([A-Za-z][\w.-]{0,60}?)\[([\d,\s-]{1,400})\]([\w.-]{0,40})")
_NAME = bounded(r"[A-Za-z][\w.-]{0,60}\d[\w.-]{0,60}")
MOST_NODES = 4096

MOST_JOBS = 2000
"""Rows of a list of jobs; what is longer is no list that people keep."""
AGAIN = bounded(r"(?i)\b(?:resum|restart|continu|restor|reload)\w{0,4}\b(?:\D{0,20}?(?:at|from) (?:step )?(\d{1,9}))?"
                r"|续跑|续训|恢复|重启")  # fmt: skip
BARE = bounded(r"(?i)weights?[ -]only|model[ -]only|only (?:the )?(?:model )?weights"
               r"|(?:without|no) (?:the )?optimi[sz]er"
               r"|optimi[sz]er (?:states? )?(?:was |were )?(?:not|lost|dropped|reset)"
               r"|(?:只|仅).{0,4}权重|没.{0,4}优化器")  # fmt: skip
KEPT = bounded(r"(?i)\b(?:with|and|incl\w*) (?:the )?optimi[sz]er|weights and optimi[sz]er|never|would|should|if ")
CHECKPOINT = bounded(r"(?i)(?:step|ckpt|checkpoint|iter|global_step|epoch|save)[_-]{0,2}(\d{1,9})(?!\d)")
FILES = bounded(r"(?i)(\d{1,7})\s{0,3}(?:files?|个文件|entries|shards?)\b")
LEAST_SAVED, SMALLER = 4, 0.8
"""Checkpoints of which one may be told from the others, and share of their size below which it is."""
AT_QUOTA = 0.985
SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s?([KMGTPE])?i?[Bb]?\*?$")
SHARED = bounded(r"/(?:dev|run)/shm(?![\w.-])|(?:^|\s)shm(?:\s|$)|(?:^|\s)shmfs(?:\s|$)")
"""What makes a row of `df` that of the shared memory: where it is mounted, or what it is called in a container."""
SEALED = bounded(r"/dev/loop\d|squashfs|iso9660|(?:^|[\s/])snap/|/dev/sr\d")
"""What is full by nature: images that nobody writes to."""
PERCENT = bounded(r"(?i)^(?:use|used|iuse)[_ ]?(?:%|percent|pct)$|^(?:已用%|使用率|占用率|已用百分比)$")
USED = bounded(r"^(?:used|usage|blocks|kbytes|space|已用)$")
MOST = bounded(r"^(?:quota|limit|hard|soft|size|hard_limit|capacity|1k_blocks|配额|上限|容量|大小)$")


class Job(NamedTuple):
    """One job: how it ended, and on what."""

    name: str
    failed: bool
    nodes: frozenset[str]
    evidence: Evidence


def ran(tables: Sequence[Table]) -> Iterator[Finding]:
    """The machine on which every job that failed ran, and none that succeeded."""
    for table in tables:
        jobs = _jobs(table)
        failed, fine = [j for j in jobs if j.failed], [j for j in jobs if not j.failed]
        if len(failed) < LEAST_FAILED or not fine:
            continue
        shared = frozenset.intersection(*(j.nodes for j in failed))
        alone = sorted(shared - frozenset.union(*(j.nodes for j in fine)))
        if len(alone) != MOST_NAMED:
            continue
        node, names = alone[0], ", ".join(j.name for j in failed[:6])
        yield Finding(
            "failures-share-node", Severity.S2,
            f"All {len(failed)} jobs that failed ({names}) ran on {node}, none of the {len(fine)} that succeeded "
            f"did ({table.file}).",
            f"{len(failed)} 个失败的作业（{names}）都用到节点 {node}，{len(fine)} 个成功的作业都没有用它"
            f"（{table.file}）。",
            tuple(j.evidence for j in (*failed[:4], *fine[:2])),
            {"node": node, "failed": [j.name for j in failed], "fine": len(fine), "names": node},
        )  # fmt: skip
        return


def ended(tables: Sequence[Table]) -> Iterator[Finding]:
    """The last job of a scheduler's account, where it ended badly and nothing went on after it."""
    for table in tables:
        state, job, code = (_column(table, p) for p in (STATE, JOB, CODE))
        if state is None or job is None or code is None or state is job or not 0 < len(table) <= MOST_JOBS:
            continue
        names = [str(name).removesuffix(".0") if job.values.dtype.kind == "f" else str(name) for name in job.values]
        i = max((i for i, name in enumerate(names) if "." not in name), default=len(names) - 1)
        name, said = names[i], str(state.values[i])
        if not BAD.search(said) or GOOD.search(said):
            continue
        text = f"{name} {said} {code.values[i]}"
        place = Evidence(table.file, int(table.lines[i]) or None, text=text[:200])
        yield Finding(
            "job-ended-badly", Severity.S3, f"{place.file}:{place.line} says that job {name} ended as {said} ({text}).",
            f"{place.file}:{place.line} 记录作业 {name} 以 {said} 结束（{text}）。",
            (place,), {"job": name, "state": said},
        )  # fmt: skip
        return


def _jobs(table: Table) -> list[Job]:
    state, nodes, job = (_column(table, p) for p in (STATE, NODES, JOB))
    if state is None or nodes is None:
        return []
    out = []
    for i, (said, where) in enumerate(zip(state.values.tolist(), nodes.values.tolist(), strict=True)):
        bad, good = BAD.search(str(said)), GOOD.search(str(said))
        on = frozenset(expanded(str(where)))
        if on and bool(bad) != bool(good):
            name = str(job.values[i]) if job is not None else str(i + 1)
            text = f"{name} {where} {said}"
            out.append(Job(name, bool(bad), on, Evidence(table.file, int(table.lines[i]) or None, text=text[:200])))
    return out


def _column(table: Table, pattern: re.Pattern[str]) -> Column | None:
    return next((c for c in table.columns if means(pattern, c.name) or pattern.search(c.name)), None)


def expanded(text: str) -> Iterator[str]:
    """The machines of a list as schedulers shorten it: `gn[11-13,23],ga07`."""
    count = 0
    for match in _RANGE.finditer(text):
        for piece in match[2].split(","):
            first, _, last = piece.strip().partition("-")
            if not first.isdigit() or (last and not last.isdigit()):
                continue
            for n in range(int(first), min(int(last or first), int(first) + MOST_NODES) + 1):
                count += 1
                if count > MOST_NODES:
                    return
                yield f"{match[1]}{n:0{len(first)}d}{match[3]}"
    yield from _NAME.findall(_RANGE.sub(" ", text))[:MOST_NODES]


def resumed(tables: Sequence[Table], events: Sequence[Event]) -> Iterator[Finding]:
    """A job that was started again from weights alone: its optimizer begins anew."""
    told = chain(((e.text, e.text, e.file, e.line, e.step) for e in events), _cells(tables))
    for text, shown, file, line, step in told:
        again = AGAIN.search(text)
        if again and BARE.search(text) and not KEPT.search(text):
            at = int(again[1]) if again[1] else None
            yield _bare(text.strip()[:100], at, Evidence(file, line, step, text=shown))
            return


def _cells(tables: Sequence[Table]) -> Iterator[tuple[str, str, str, int | None, None]]:
    """(what is read, what is shown, file, line, step) of the texts of short tables."""
    for table in [t for t in tables if len(t) <= MOST_JOBS]:
        for column in [c for c in table.columns if c.values.dtype.kind == "O"]:
            for text, line in zip(column.texts.tolist(), table.lines.tolist(), strict=True):
                yield text[:1000], text[:200], table.file, line or None, None


def _bare(text: str, at: int | None, place: Evidence) -> Finding:
    where, where_zh = (f" at step {at}", f"第 {at} 步") if at is not None else ("", "")
    return Finding(
        "resumed-without-state", Severity.S2,
        f"{place.file}:{place.line} says that the run went on{where} from weights alone ({text}): the optimizer's "
        "state and the schedule began anew.",
        f"{place.file}:{place.line} 说明训练在{where_zh}只用权重续跑（{text}）：优化器状态与学习率进度从头开始。",
        (place,), {"at": at},
    )  # fmt: skip


def stored(tables: Sequence[Table]) -> Iterator[Finding]:
    """A checkpoint that is far smaller than the others, a quota that is at its limit, shared memory that is full."""
    small = next((f for t in tables for f in _smaller(t)), None)
    full: dict[str, Finding] = {}
    for found in (f for t in tables for f in _reached(t)):
        full.setdefault(found.code, found)
    yield from (f for f in (small, *full.values()) if f is not None)


def _smaller(table: Table) -> Iterator[Finding]:
    names = next((c for c in table.columns if sum(map(_saved, _names(c))) >= LEAST_SAVED), None)
    if names is None:
        return
    said = _names(names)
    rows = [i for i, name in enumerate(said) if _saved(name)]
    last = max(rows, key=lambda i: int(CHECKPOINT.search(said[i])[1]))  # type: ignore[index]
    for what, sizes in _sizes(table, names, rows):
        others = np.array([sizes[i] for i in rows if i != last and np.isfinite(sizes[i])])
        if len(others) < LEAST_SAVED - 1 or np.ptp(others) > 0.1 * np.median(others) or not np.median(others) > 0:
            continue
        usual, mine = float(np.median(others)), float(sizes[last])
        if np.isfinite(mine) and mine < SMALLER * usual:
            name = said[last].split()[0]
            yield Finding(
                "checkpoint-smaller", Severity.S1,
                f"{name} has {what} {mine:g}, the {len(others)} others {usual:g} each ({table.file}): it was not "
                "written whole.",
                f"{name} 的 {what} 为 {mine:g}，其余 {len(others)} 个均为 {usual:g}（{table.file}）：没有写完整。",
                tuple(Evidence(table.file, int(table.lines[i]) or None, text=said[i][:200]) for i in (last, rows[0])),
                {"checkpoint": name, "has": mine, "others": usual, "count": len(others)},
            )  # fmt: skip
            return


def _names(column: Column) -> list[str]:
    """Its cells as text; numbers of checkpoints with that word."""
    if column.values.dtype.kind == "O":
        return [str(v) for v in column.values.tolist()]
    if column.role != "axis" or column.of != "checkpoint":
        return []
    return [f"checkpoint-{v:.0f}" if np.isfinite(v) else "" for v in column.values]


def _saved(name: str) -> bool:
    return CHECKPOINT.search(name) is not None


def _sizes(table: Table, names: Column, rows: Sequence[int]) -> Iterator[tuple[str, np.ndarray]]:
    """What a list says of the size of each row: numbers, sizes as people write them, counts of files."""
    for column in table.columns:
        if column is names:
            continue
        if column.values.dtype.kind == "f" and column.role != "axis":
            yield "a size of", column.values
        elif column.values.dtype.kind == "O":
            read = np.array([_bytes(str(v)) for v in column.values.tolist()])
            if np.isfinite(read[list(rows)]).all():
                yield "a size of", read
    files = [FILES.search(name) for name in _names(names)]
    if all(files[i] for i in rows):
        yield "files:", np.array([float(m[1]) if m else np.nan for m in files])


def _bytes(text: str) -> float:
    match = SIZE.match(text.strip())
    return float(match[1]) * 1024 ** " KMGTPE".index(match[2] or " ") if match else float("nan")


def _reached(table: Table) -> Iterator[Finding]:
    """The first row whose use is at its quota, and the first such one that is shared memory and no disk."""
    used, most, share = (_column(table, p) for p in (USED, MOST, PERCENT))
    told = set[str]()
    for i in range(min(len(table), 1000)):
        said = " ".join(str(c.values[i]) for c in table.columns[:8])
        if SEALED.search(said) or not _is_full(used, most, share, i):
            continue
        code = "shm-full" if SHARED.search(said) else "quota-reached"
        if code not in told:
            told.add(code)
            yield _full(code, table, i, said, used, most)


def _is_full(used: Column | None, most: Column | None, share: Column | None, i: int) -> bool:
    pair = [_amount(c, i) for c in (used, most) if c is not None]
    if len(pair) == 2:
        marked = used is not None and str(used.values[i]).endswith("*")
        return marked or (pair[1] > 0 and pair[0] >= AT_QUOTA * pair[1])
    return share is not None and _percent(share, i) >= 100 * AT_QUOTA


def _percent(column: Column, i: int) -> float:
    value = column.values[i]
    if column.values.dtype.kind == "f":
        return float(value)
    digits = str(value).strip().removesuffix("%")
    return float(digits) if digits.replace(".", "", 1).isdigit() else float("nan")


def _full(code: str, table: Table, i: int, said: str, used: Column | None, most: Column | None) -> Finding:
    place = Evidence(table.file, int(table.lines[i]) or None, text=said[:200])
    of = [c.values[i] for c in (used, most) if c is not None]
    data = {name: _amount(c, i) for name, c in (("used", used), ("limit", most)) if c is not None}
    if code == "shm-full":
        return Finding(
            code, Severity.S1,
            f"{table.file}: the shared memory is full ({said[:100]}): it is a file system of its own in memory, and no "
            "disk.",
            f"{table.file}：共享内存已满（{said[:100]}）：它是内存里单独的文件系统，不是磁盘。",
            (place,), data,
        )  # fmt: skip
    what = " of ".join(map(str, of)) or said[:100]
    return Finding(
        code, Severity.S1, f"{table.file}: what is used is at its limit ({what}).",
        f"{table.file}：已用量到达上限（{' / '.join(map(str, of)) or said[:100]}）。", (place,), data,
    )  # fmt: skip


def _amount(column: Column, i: int) -> float:
    value = column.values[i]
    return float(value) if column.values.dtype.kind == "f" else _bytes(str(value))
