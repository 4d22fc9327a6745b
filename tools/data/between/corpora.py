"""What texts beside the data ask of it: a tokenizer that is trained on held-out files, and a request to take content out.

Scripts, lists and letters are read as text, nothing is run. What a script or letter names is looked up in the other
small files of the run.
"""

# ruff: noqa: E501  one pattern on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import NamedTuple

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...patterns import bounded
from ...reading import head
from ...run import Artifact, Run

CHECK = "what texts ask of the data"
CODES = declare(
    "corpora",
    ("tokenizer-trained-on-held-out", CHECK, "the files that a tokenizer is trained on hold validation or test files"),
    ("removal-asked-still-there", CHECK, "content whose removal is asked for still stands in a list of the data"),
)
BYTES, FILES, MOST, LONGEST = 256 << 10, 200, 40, 8000
SMALL = bounded(r"(?i)\.(?:sh|py|txt|md|jsonl?|ya?ml|csv|tsv|eml|log|lst|list)$")
TRAINS = bounded(r"spm_train|SentencePieceTrainer|BpeTrainer|WordPieceTrainer|UnigramTrainer|train_new_from_iterator|train_from_iterator"
                 r"|BPETokenizer\(|train_tokenizer|训练分词器|训练 ?tokenizer")  # fmt: skip
SCRIPT, LETTER = bounded(r"(?i)\.(?:sh|py|md|txt|ya?ml)$"), bounded(r"(?i)\.(?:txt|md|eml)$")
LISTS = bounded(r"(?i)\.(?:jsonl?|csv|tsv|txt|ya?ml|lst|list)$")
OF_DATA = bounded(r"(?i)corpus|corpora|training (?:data|set)|dataset|data set|crawl|语料|训练|数据集")
NAMED = bounded(r"['\"=\s]((?:[\w./*?-]{1,120})\.(?:txt|jsonl?|lst|list|raw|parquet))\b")
GLOB = bounded(r"glob\(\s{0,4}f?['\"]([^'\"]{1,200})['\"]")
HELD = bounded(
    r"(?i)(?:^|[/_.-])(?:test|valid|validation|val|dev|heldout|held_out|eval|benchmark)(?:[_.-]\w{1,20}){0,3}\.\w{1,6}$"
)
PATH = bounded(r"^\s*(?:[-*]\s)?(/?[\w.-]{1,80}(?:/[\w.-]{1,80}){0,12}\.\w{2,6})\s*$")
ASKS = bounded(r"(?i)\b(?:request|demand|ask|require|urge|want)\w{0,5}.{0,60}\b(?:remov|delet|tak(?:e|ing) down|erasure|purg|withdraw)|takedown|"
               r"\b(?:request|demand|ask|require|urge|want)\w{0,5}.{0,40}\b(?:tak(?:e|ing|en)|strip\w{0,4}|pull\w{0,3})\b.{0,60}\b(?:out of|from|off)\b|"
               r"\b(?:remove|delete) (?:our|all|my|the|this)\b.{0,80}(?:corpus|training|dataset|data set)"
               r"|(?:要求|请|请求).{0,20}(?:下架|删除|移除)|(?:投诉|法务|权利人|律师函).{0,60}(?:下架|删除|移除)")  # fmt: skip
THING = bounded(
    r"https?://([\w.-]{3,80}(?:/[\w./%-]{0,120})?)|([\w-]{1,60}(?:/[\w.-]{1,60}){1,6}\.\w{2,6})|《([^》\n]{2,40})》|\b((?:[\w-]{2,40}\.){1,3}(?:com|org|net|io|cn|de|fr|uk|jp))\b"
    r"|(?<![\w./*])([\w-]{3,60}\*[\w*-]{0,40}(?:\.\w{2,6})?)(?![\w*])|[\"“]([^\"”\n]{24,200})[\"”]"
)
"""An address, a path, a title, a site, names with a wildcard, or a sentence that is quoted."""
STATUS = bounded(r"(?i)^(?:is_?)?(?:enabled?|active|in_?use|used|status|state|loaded|启用|在用|状态|是否启用)$")
ON = bounded(r"(?i)^(?:1(?:\.0)?|true|yes|y|on|enabled|active|in_?use|used|loaded|启用|在用|是)$")
NOT_ON = bounded(
    r"(?i)^(?:0(?:\.0)?|false|no|n|off|disabled|removed|deleted|inactive|quarantined|停用|禁用|已删除|已隔离|否)$"
)
LETTERS = bounded(r"[^\W\d_]")
COUNTS = bounded(r"(?i)^(?:n_?)?(?:hits?|count|matches|found|occurrences|命中数?|条数)$")
READ = bounded(r"(?i)(?:^|_)(?:steps?|from|first|start|begin|consumed|tokens?_?seen|batch|步)(?:_|$|\d)")
"""Columns of where on a training's way a part was read."""
OFF = bounded(
    r"(?i)(?:enabled|active|启用|在用)['\"]?\s{0,3}[:=,]\s{0,3}['\"]?(?:false|0|no|否)|(?:^|[,\t|])\s{0,3}(?:false|disabled|removed|停用|已删除)\s{0,3}(?:[,\t|]|$)"
)


class Text(NamedTuple):
    name: str
    lines: list[str]


def _text(artifact: Artifact) -> Text | None:
    with suppress(TriageError, OSError):
        return Text(artifact.name, head(artifact.path, BYTES).decode("utf-8", "replace").split("\n"))
    return None


def check_corpora(run: Run) -> Report:
    """What the scripts and letters of a run name, in its other files."""
    small = [a for a in run.artifacts if SMALL.search(a.name) and a.kind != "log"][:FILES]
    asked = any(SCRIPT.search(a.name) or LETTER.search(a.name) for a in small)
    texts = [t for a in small if asked and (t := _text(a)) is not None]
    scripts = [t for t in texts if SCRIPT.search(t.name) and TRAINS.search("\n".join(t.lines))]
    letters = [t for t in texts if LETTER.search(t.name) and _asks(t)]
    found = [*_tokenizers(scripts, texts), *_removals(letters, texts)]
    said = "found" if found else "clear" if scripts or letters else "not-applicable"
    return Report("corpora", tuple(found), (Check(CHECK, said),))


def _asks(text: Text) -> bool:
    """Whether it is a letter that asks for content to leave the data."""
    said = "\n".join(text.lines[:400])
    one = " ".join(said.split())
    return len(said) <= LONGEST and bool(ASKS.search(one) and OF_DATA.search(one))


def _tokenizers(scripts: Sequence[Text], texts: Sequence[Text]) -> Iterator[Finding]:
    """Held-out files among what a tokenizer is trained on: in a list that its script names, or that its pattern takes."""
    listed = {t.name: {m[1]: i for i, line in enumerate(t.lines, 1) if (m := PATH.match(line[:400]))} for t in texts}
    there = {**{t.name: t.name for t in texts}, **{p: name for name, paths in listed.items() for p in paths}}
    for script in scripts:
        whole = "\n".join(script.lines)
        taken: dict[str, Evidence] = {}
        for named in dict.fromkeys(m[1] for m in NAMED.finditer(whole)):
            base = PurePosixPath(named).name
            for name, paths in listed.items():
                if PurePosixPath(name).name == base and len(paths) > 1:
                    taken |= {p: Evidence(name, line, text=p) for p, line in paths.items()}
            taken[named] = Evidence(script.name, text=named)
        for pattern in GLOB.findall(whole):
            taken |= {
                p: Evidence(where, text=p)
                for p, where in there.items()
                if fnmatch(p, pattern) or fnmatch(p, f"*/{pattern}")
            }
        held = {p: e for p, e in taken.items() if HELD.search(p)}
        if held and len(taken) > len(held):
            names = ", ".join(list(held)[:4])
            yield Finding(
                "tokenizer-trained-on-held-out", Severity.S2,
                f"{script.name} trains the tokenizer on {len(taken)} files, {len(held)} of them held out ({names}).",
                f"{script.name} 用 {len(taken)} 个文件训练分词器，其中 {len(held)} 个是留出集（{names}）。",
                (*list(held.values())[:4], Evidence(script.name)), {"held_out": list(held)[:20], "files": len(taken)},
            )  # fmt: skip
            return


class Rows(NamedTuple):
    """A file of delimited rows under a header."""

    name: str
    header: list[str]
    cells: list[list[str]]
    """Of each line of the file, the header too."""

    def column(self, pattern: re.Pattern[str]) -> int | None:
        return next((i for i, name in enumerate(self.header) if pattern.search(name)), None)


def _rows(text: Text) -> Rows | None:
    if not text.name.lower().endswith((".csv", ".tsv", ".txt")):
        return None
    mark = max("\t,;|", key=text.lines[0].count)
    cells = [[c.strip().strip("\"'").lstrip("\ufeff") for c in line.split(mark)] for line in text.lines]
    return Rows(text.name, cells[0], cells) if len(cells[0]) > 1 else None


class Hit(NamedTuple):
    """A line that names what is asked to go, and the part of the data that it names with it."""

    thing: str
    place: Evidence
    part: str = ""
    """In a list that says which parts are in use; empty where none says it."""


def _in_use(tables: Sequence[Rows]) -> dict[str, tuple[bool, Evidence]]:
    """Part -> whether a list of the data has it in use, and where; of several lists one that has it."""
    out: dict[str, tuple[bool, Evidence]] = {}
    for rows in tables:
        at = rows.column(STATUS)
        for i, cells in enumerate(rows.cells[1:] if at else (), 2):
            if (
                at is None
                or len(cells) <= at
                or not LETTERS.search(cells[0])
                or not (ON.search(cells[at]) or NOT_ON.search(cells[at]))
            ):
                continue
            on = bool(ON.search(cells[at]))
            if on or cells[0] not in out:
                out[cells[0]] = (on, Evidence(rows.name, i, text=f"{cells[0]} {rows.header[at]} {cells[at]}"))
    return out


def _removals(letters: Sequence[Text], texts: Sequence[Text]) -> Iterator[Finding]:
    """What a letter asks to be taken out, in the lists of the data that are in use."""
    tables = {t.name: rows for t in texts if len(t.lines) > 2 and (rows := _rows(t)) is not None}
    used = _in_use([*tables.values()]) if letters else {}
    for letter in letters:
        said = "\n".join(letter.lines[:400])
        things = list(dict.fromkeys(next(filter(None, m.groups())).rstrip("/.") for m in THING.finditer(said)))[:MOST]
        hits = [
            hit
            for thing in things
            for t in texts
            if t not in letters and LISTS.search(t.name) and len(t.lines) > 2
            for hit in _hits(t, tables.get(t.name), thing, used)
        ]
        hits += _searched(
            things, [rows for name, rows in tables.items() if name in {h.place.file for h in hits}], hits, used
        )
        if hits:
            yield _still(letter, hits, used, tables)
            return


def _hits(text: Text, rows: Rows | None, thing: str, used: dict[str, tuple[bool, Evidence]]) -> Iterator[Hit]:
    """Lines that name the thing, but for those that say that it is off, was not found, or stands in a part that is."""
    counts = rows.column(COUNTS) if rows is not None else None
    for i, line in enumerate(text.lines, 1):
        if not _names(line, thing) or OFF.search(line):
            continue
        cells = rows.cells[i - 1] if rows is not None else []
        if counts is not None and len(cells) > counts and cells[counts] in ("0", "0.0"):
            continue
        part = next((c for c in cells if c in used), "")
        if not part or used[part][0]:
            yield Hit(thing, Evidence(text.name, i, text=line.strip()[:200]), part)


def _searched(
    things: Sequence[str], tables: Sequence[Rows], hits: Sequence[Hit], used: dict[str, tuple[bool, Evidence]]
) -> list[Hit]:
    """Further rows of a list of what a search found, most of which name what is asked to go: it found these by words
    that it calls by another name."""
    known = {(h.place.file, h.place.line) for h in hits}
    out = []
    for rows in tables:
        lines = [",".join(cells) for cells in rows.cells]
        naming = sum(any(_names(line, thing) for thing in things) for line in lines[1:])
        if 2 * naming < len([line for line in lines[1:] if line.strip()]):
            continue
        for i, cells in enumerate(rows.cells, 1):
            part = next((c for c in cells if c in used and used[c][0]), "")
            if part and (rows.name, i) not in known:
                out.append(Hit(things[0], Evidence(rows.name, i, text=lines[i - 1][:200]), part))
    return out


def _still(
    letter: Text, hits: Sequence[Hit], used: dict[str, tuple[bool, Evidence]], tables: dict[str, Rows]
) -> Finding:
    thing, file = hits[0].thing, hits[0].place.file
    parts = list(dict.fromkeys(h.part for h in hits if h.part))
    lists = [used[p][1] for p in parts]
    seen = [
        Evidence(rows.name, i, text=" ".join(cells)[:120])
        for rows in tables.values()
        if rows.column(READ) is not None and rows.column(STATUS) is None
        and rows.name not in {h.place.file for h in hits}
        for i, cells in enumerate(rows.cells, 1) if set(cells) & set(parts)
    ]  # fmt: skip
    named = ", ".join(f"{p} ({sum(h.part == p for h in hits)})" for p in parts[:6])
    en = f" Found in {named}, which {lists[0].file}:{lists[0].line} still has in use." if lists else ""
    zh = f"位于 {named}，而 {lists[0].file}:{lists[0].line} 仍在启用它们。" if lists else ""
    if seen:
        en += f" A training has read them ({seen[0].file}:{seen[0].line})."
        zh += f"训练已经读过它们（{seen[0].file}:{seen[0].line}）。"
    each = [next(h.place for h in hits if h.part == p) for p in parts[:3]] or [h.place for h in hits[:4]]
    return Finding(
        "removal-asked-still-there", Severity.S1,
        f"{letter.name} asks for the removal of {thing}; it still stands in {len(hits)} lines of {file}.{en}",
        f"{letter.name} 要求移除 {thing}，而 {file} 中仍有 {len(hits)} 行。{zh}",
        (*each, *lists[:3], *seen[:1], Evidence(letter.name, _asked_at(letter, thing))),
        {"thing": thing, "hits": len(hits), **({"names": ", ".join(parts[:8])} if parts else {})},
    )  # fmt: skip


def _asked_at(letter: Text, thing: str) -> int | None:
    return next((i for i, line in enumerate(letter.lines, 1) if thing in line), None)


def _names(line: str, thing: str) -> bool:
    name = re.escape(thing).replace(r"\*", r"[\w-]{0,40}")
    return bool(re.search(rf"(?<![\w.-]){name}(?![\w-])", line)) and not ASKS.search(line)
