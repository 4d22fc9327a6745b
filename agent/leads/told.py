"""What the files of a run say that could matter where nothing is established: statements of notes and changelogs, odd
lines of logs, what tables count that no loop logs, settings that differ between two configurations.

Each is a note with its file and line. What it could mean is `agent.leads.possible`; nothing here believes a note's own
theory of the cause, and what speaks to an assistant is passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import PurePosixPath

import numpy as np

from ...knowledge.outside import addressed
from ...tools.config.combine import settings_of
from ...tools.config.diff import Difference, diff
from ...tools.config.read import read_file
from ...tools.documents.sentences import sentences
from ...tools.findings import Evidence, Finding, Severity, TriageError, clean
from ...tools.logs.signatures.software import GENERIC
from ...tools.metrics import named, tells
from ...tools.patterns import bounded
from ...tools.phrase import phrases
from ...tools.reading import iter_lines
from ...tools.relate.kinds.look import CODES as KIND_CODES
from ...tools.run import Artifact
from ...tools.settings import Settings
from ...tools.tables.table import Column, Table
from ..evidence import Look
from ..question.polarity import by_phrases

BYTES = 4 << 20
"""Of a file that is read for statements: more than anybody writes by hand, and the odd lines of a log lie in it."""
LINES = 20_000
STATEMENTS, OF_A_FILE = 160, 24
"""Statements of a run and of one file that are looked up: a second of work."""
TEXT = 240
"""Characters of one that are looked up and shown."""
RARE = 3
"""Times that a line of a log stands there at most to be odd, numbers aside."""
FILES = 8
"""Configurations that are compared with each other."""
FEW = 3
"""Settings that differ up to which each may be the cause; of more there is no telling."""
ALIKE = 0.5
"""Share of the settings of two files that both have, from which on they are configurations of one thing."""
SHIFT, SHIFT_BY = 0.05, 1.5
"""Share of the whole, and factor, by which a part of the data shifts at least. Own judgement."""
EVEN = 2.0
"""Times by which the rows of such a table may differ in all: windows of one length."""
SAID = phrases(
    "leads",
    ("says", "{file} says: {said}", "{file} 写道：{said}"),
    ("writes", "{file} says: {said}", "{file} 写道：{said}"),
    ("differs", "{variable} is {old} in {other} and {new} in {file}",
     "{variable} 在 {other} 为 {old}，在 {file} 为 {new}"),
    ("changed", "{file} says that {variable} went from {old} to {new}", "{file} 写道 {variable} 由 {old} 变为 {new}"),
    ("many", "{n} settings differ between {other} and {file} ({said}): which of them did it is not told",
     "{other} 与 {file} 之间有 {n} 项设置不同（{said}）：无法分辨是哪一项所致"),
    ("emptied", "{name} is 0 for {group} alone in {file}", "{file} 中只有 {group} 的 {name} 为 0"),
    ("share", "the share of {name} in {file} goes from {old:.0%} to {new:.0%}",
     "{file} 中 {name} 的占比从 {old:.0%} 变为 {new:.0%}"),
    ("factor", "{name} differs by {by}: {value:.4g} for {group}, {others:.4g} elsewhere",
     "{name} 随 {by} 不同：{group} 为 {value:.4g}，其余为 {others:.4g}"),
)  # fmt: skip
TROUBLE = bounded(
    r"\b(?:warn(?:ing)?|skip(?:s|ped|ping)?|not found|missing|empty|ignor\w+|fall(?:s|ing)? ?back|fallback|mismatch\w*"
    r"|nothing|drop(?:s|ped)?|discard\w*|truncat\w*|reset\w*|disabl\w*|unsupported|deprecat\w*|instead|already"
    r"|cached?|reus(?:e[ds]?|ing)|stale|invalid|no valid|unexpected|unused"
    r"|not (?:set|used|loaded|given|supported|available)"
    r"|0 (?:rows|files|samples|of)|without|failed|fails|retry\w*|slow|exceed\w*|clipp\w*|offload\w*"
    r"|differ\w*|renamed)\b|kept = "
    r"|警告|跳过|找不到|缺少|为空|忽略|回退|不匹配|丢弃|截断|重置|禁用|缓存|无效|未(?:加载|使用|设置|找到)|没有|失败|不一致|走的",
    re.IGNORECASE,
)
"""What a program says when it does something else than it was meant to."""
OPINION = bounded(
    r"\b(?:i (?:think|bet|guess|believe|suspect|have seen|am sure)|i'?m sure|imo|imho|must be|has to be|got to be"
    r"|100 ?%|obviously|clearly|surely|probably|definitely|no doubt|culprit|to blame|theory|my money|finally shows"
    r"|worked!|from memory|as far as i (?:remember|know)|confidence:)"
    r"|肯定|应该是|八成|怀疑|估计|我看|我觉得|一定是|多半|显然|就是.{1,20}(?:的锅|害|导致)|见效|大家都说|都说是",
    re.IGNORECASE,
)
"""What makes a statement somebody's theory."""
THEORY = bounded(r"theor|hypothes|opinion|guess|suspicion|my[_ -]?take|猜想|猜测|推测|看法|观点", re.IGNORECASE)
"""Names of documents that are somebody's theory from beginning to end."""
_CONSUMED = bounded(r"consum|mix|blend|source|配比|占比|消耗|来源", re.IGNORECASE)
"""Names of tables of what was trained on."""
_TOTAL, _WINDOW = bounded(r"total|\bsum\b|合计|总", re.IGNORECASE), bounded(r"\s*\d+\s?[-–~]\s?\d+\s*$")
_FAULTS = bounded(
    r"empty|missing|error|fail|invalid|unpars|skipped|dropped|refus|time_?out|nan(?:_|$)|violat|not_|without|lost"
    r"|空|缺失|错误|失败|无效|跳过|丢弃|拒",
    re.IGNORECASE,
)
"""Names of counts of what ought not to be: none of it is as it should be."""
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_PROSE = bounded(r"[A-Za-z]{3,}|[\u3400-\u9fff]{2}")
_CODE = bounded(
    r"^\s*(?:import |from \S+ import|def |class |return |for .*:$|if .*:$|File \"|Traceback|@@|[-+]{3} |[-+]?\s*--?\w"
    r"|[-+]?\s*[\w.\"'-]+ ?[:=] ?[^\s,;，]{0,60}[,;]?\s*$)|[{}();]\s*$|<\|"
)
"""Lines that are a program's or a configuration's, or a prompt: others read them."""
_LINK = re.compile(r"\[([^\[\]]{1,80})\]\([^()\s]{1,200}\)|https?://\S{1,300}")
"""Where a link leads to says nothing of the run."""
_ASIDE = re.compile(r"\([^()]{0,200}\)")
_STAMP = bounded(r"^[\[\s]*(?:\d{4}[-/]\d\d[-/]\d\d[T ]?)?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\S*\s*")


RELATIONS = frozenset(KIND_CODES) - {"named-elsewhere", "set-otherwise", "columns-in-proportion"}
"""Relations by the kind of quantity that tell something by themselves."""


@dataclass(frozen=True)
class Told:
    """Something that a file of the run says."""

    text: str
    """What is looked up."""
    finding: Finding
    variables: tuple[str, ...] = ()
    """Settings that it is about."""
    entries: tuple[str, ...] = ()
    """What it is a lead to by itself."""
    ended: bool = False
    """Whether the run ended with it."""


def told(seen: Look) -> Iterator[Told]:
    """Everything that the files of the run say, what differs and what is counted first."""
    yield from stopped(seen)
    yield from differing(seen)
    yield from changed(seen)
    yield from factors(seen)
    yield from of_kinds(seen)
    yield from shifted(seen.tables)
    yield from counted(seen.tables)
    yield from islice(stated(seen), STATEMENTS)


def stopped(seen: Look) -> Iterator[Told]:
    """The message of the exception that a run ended with, where no signature knows it."""
    for f in seen.findings:
        if f.code == GENERIC.code and f.evidence and (said := str(f.data.get("message", ""))):
            yield Told(_LINK.sub(r"\1", clean(said, TEXT)), f, ended=True)


def _note(key: str, evidence: Sequence[Evidence], **parts: object) -> Finding:
    data = {k: v for k, v in parts.items() if k != "said"}
    en, zh = (SAID[key].say(lang, **parts) for lang in ("en", "zh"))
    return Finding(f"lead-{key}", Severity.S3, f"{en}.", f"{zh}。", tuple(evidence), data)


def stated(seen: Look) -> Iterator[Told]:
    """The statements of documents, and the odd lines of logs; no theory of a cause, and no order."""
    for artifact in seen.run.artifacts:
        prose = artifact.kind in ("document", "log", "table") and not THEORY.search(PurePosixPath(artifact.name).stem)
        lines, how = _prose(artifact) if prose else (), "says" if artifact.kind == "log" else "writes"
        for number, text in islice(lines, OF_A_FILE):
            said = clean(text, TEXT)
            if addressed(text) or OPINION.search(said) or by_phrases([_ASIDE.sub("", said)], ()):
                continue
            where = Evidence(artifact.name, number, text=said)
            yield Told(_LINK.sub(r"\1", said), _note(how, [where], file=clean(artifact.name, 80), said=said))


def _prose(artifact: Artifact) -> Iterator[tuple[int, str]]:
    with suppress(TriageError, OSError):
        if artifact.path.stat().st_size > BYTES:
            return
        lines = list(islice(iter_lines(artifact.path), LINES))
        if artifact.kind == "document":
            said = (s for s in sentences(lines, artifact.name) if s.mode not in ("plan", "wish"))
            yield from ((s.line, s.text) for s in said if _is_prose(s.text))
            return
        shapes = Counter(_NUMBERS.sub("#", text) for _, text in lines)
        for number, text in lines:
            rare = shapes[_NUMBERS.sub("#", text)] <= RARE
            if rare and TROUBLE.search(text) and not ADVICE.search(text) and _is_prose(text):
                yield number, _STAMP.sub("", text)


ADVICE = bounded(
    r"\b(?:please (?:set|use|consider|install|pass|upgrade|note|specify)\b.{0,80}\b(?:to (?:enable|get|avoid|silence"
    r"|suppress|improve|speed|benefit|make)|for (?:better|best|faster|higher|optimal|improved))\b"
    r"|(?:to|in order to) (?:silence|suppress|disable|hide|avoid) this (?:warning|message)"
    r"|(?:you )?(?:can|may|should) (?:safely )?(?:be )?ignore[d]?\b|for (?:better|best|optimal|improved) performance"
    r"|will be (?:removed|deprecated|changed|renamed)|(?:is|are|has been|have been|was) deprecated|DeprecationWarning"
    r"|FutureWarning|PendingDeprecation)",
    re.IGNORECASE,
)
"""What a library advises whoever runs it: it does so in every run, and this one goes on as it is."""
_DUMP = bounded(r"\w \.{4,200} \S|\.py:\d{1,6}:print\w{0,12}\]|\bINFO\b[^\n]{0,40}\[\w{1,60}\.py:\d{1,6}\]")
"""A setting that a program prints among all of its settings, and what a server always notes of its start."""


def _is_prose(text: str) -> bool:
    return len(_PROSE.findall(text)) >= 3 and not _CODE.search(text) and not _DUMP.search(text)


def changed(seen: Look) -> Iterator[Told]:
    """Settings that a changelog or a diff says were changed."""
    for event in islice((e for e in seen.events if e.variable and e.old and e.new), STATEMENTS):
        where = Evidence(event.file, event.line, event.step, text=event.text)
        parts = {"variable": event.variable, "old": clean(event.old, 40), "new": clean(event.new, 40)}
        note = _note("changed", [where], file=clean(event.file, 80), **parts)
        yield Told("", note, (event.variable,))


def differing(seen: Look) -> Iterator[Told]:
    """What is set otherwise in two configurations of one thing: each of a few settings, or that there are many."""
    found = [
        s for a in (*seen.run.artifacts, *seen.elsewhere) if a.kind in ("config", "script") and (s := _settings(a))
    ][:FILES]
    pairs = [(a, b, d) for a, b in combinations(found, 2) if (d := _differences(a, b))]
    if not pairs:
        return
    a, b, least = min(pairs, key=lambda pair: len(pair[2]))
    other, file = clean(a.files[0], 80), clean(b.files[0], 80)
    places = [Evidence(f, int(n), text=f"{d.variable} {d.new}") for d in least if (f := d.where.rpartition(":")[0])
              and (n := d.where.rpartition(":")[2]).isdecimal()]  # fmt: skip
    if len(least) > FEW:
        said = ", ".join(
            f"{clean(d.variable, 40)} {clean(str(d.old), 24)} / {clean(str(d.new), 24)}" for d in least[:8]
        )
        yield Told(
            "", _note("many", places[:8], n=len(least), other=other, file=file, said=said), entries=("panic-tuning",)
        )
        return
    for d, place in zip(least, places, strict=False):
        parts = {"variable": d.variable, "old": clean(str(d.old), 40), "new": clean(str(d.new), 40)}
        yield Told(
            f"{d.variable} {PurePosixPath(str(d.new)).name}",
            _note("differs", [place], file=file, other=other, **parts),
            (d.variable,),
        )


def _settings(artifact: Artifact) -> Settings | None:
    with suppress(TriageError, OSError):
        if artifact.path.stat().st_size <= BYTES:
            found = settings_of(read_file(artifact.path, artifact.name))
            return found if len(found.values) + len(found.others) >= FEW else None
    return None


def _differences(a: Settings, b: Settings) -> list[Difference]:
    """What two configurations of one thing set otherwise; nothing where they are of two things. A score is not set."""
    mine, theirs = ({*s.values, *s.others} for s in (a, b))
    if PurePosixPath(a.files[0]).suffix != PurePosixPath(b.files[0]).suffix:
        return []
    if len(mine & theirs) < ALIKE * len(mine | theirs):
        return []
    return [d for d in diff(a, b) if d.counts and (d.variable in a.values or not tells(d.variable))]


def factors(seen: Look) -> Iterator[Told]:
    """What differs by a group of a table: the measure, and the kind of group that it follows."""
    for f in seen.findings:
        if f.code == "group-differs" and f.severity == Severity.S3 and f.evidence:
            name, by = clean(str(f.data["key"]), 60), clean(str(f.data["by"]), 40)
            group = clean(", ".join(map(str, f.data["groups"][:3])), 60)
            numbers = {"value": float(f.data["value"]), "others": float(f.data["others"])}
            note = _note("factor", f.evidence[:2], name=name, by=by, group=group, **numbers)
            yield Told(f"{name} {by}".replace("_", " "), note)


def of_kinds(seen: Look) -> Iterator[Told]:
    """What was found of a kind of quantity, whatever it is called: entries that ask for the kind are led to."""
    for f in seen.findings:
        if f.code in RELATIONS and f.severity == Severity.S3 and f.evidence:
            yield Told(str(f.data.get("names", ""))[:TEXT].replace("_", " "), f)


def counted(tables: Sequence[Table]) -> Iterator[Told]:
    """Counts that are nothing for one group alone."""
    for table in tables[:STATEMENTS]:
        groups = [c for c in table.of("group", "identifier", "text") if len(set(map(str, c.values))) == len(table)]
        for column in table.of("measure") if groups else ():
            if _FAULTS.search(column.name):
                continue
            yield from _emptied(table, groups[0], column)


def shifted(tables: Sequence[Table]) -> Iterator[Told]:
    """A part of the data whose share of the whole is another in the later third of a table of what was consumed."""
    for table in tables[:STATEMENTS]:
        columns = [c for c in table.of("measure") if not _TOTAL.search(c.name) and named(c.name) is None]
        if len(columns) < FEW or not _ordered(table) or not _CONSUMED.search(f"{table.file} {table.part}"):
            continue
        counts = np.nan_to_num(np.stack([c.values for c in columns], axis=1).astype(float))
        whole, third = counts.sum(axis=1), len(counts) // 3
        if third < FEW or (counts < 0).any() or not whole.all() or whole.max() > EVEN * whole.min():
            continue
        shares = counts / whole[:, None]
        first, last = (np.median(part, axis=0) for part in (shares[:third], shares[-third:]))
        i = int(np.argmax(np.abs(last - first)))
        if abs(last[i] - first[i]) < SHIFT or max(first[i], last[i]) < SHIFT_BY * min(first[i], last[i]):
            continue
        past = np.abs(shares[:, i] - first[i]) > abs(last[i] - first[i]) / 2
        where = Evidence(table.file, int(table.lines[int(np.argmax(past))]) or None, metric=columns[i].name)
        parts = {"name": clean(columns[i].name, 60), "old": float(first[i]), "new": float(last[i])}
        note = _note("share", [where], file=clean(table.file, 80), **parts)
        yield Told("", note, entries=("data-mixture-drift",))


def _ordered(table: Table) -> bool:
    """Whether its rows go along something: an axis, or windows from one number to another."""
    return bool(table.of("axis")) or any(
        all(_WINDOW.match(str(v)) for v in c.values) for c in table.of("group", "text")
    )


def _emptied(table: Table, group: Column, column: Column) -> Iterator[Told]:
    """One group that has nothing of a count of which all others have something."""
    zero = [i for i, v in enumerate(column.values) if v == 0]
    if (
        len(column.values) > FEW
        and len(zero) == 1
        and all(not v <= 0 for i, v in enumerate(column.values) if i != zero[0])
    ):
        i = zero[0]
        where = Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=0.0)
        name, of = clean(column.name, 60), clean(str(group.values[i]), 60)
        yield Told(f"{name} 0", _note("emptied", [where], file=clean(table.file, 80), name=name, group=of))
