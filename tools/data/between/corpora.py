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
ASKS = bounded(r"(?i)(?:request|demand|ask|require)\w{0,5}.{0,60}\b(?:remov|delet|tak(?:e|ing) down|erasure)|takedown|\b(?:remove|delete) (?:our|all|my|the|this)\b.{0,80}(?:corpus|training|dataset|data set)"
               r"|(?:要求|请|请求).{0,20}(?:下架|删除|移除)|(?:投诉|法务|权利人|律师函).{0,60}(?:下架|删除|移除)")  # fmt: skip
THING = bounded(
    r"https?://([\w.-]{3,80}(?:/[\w./%-]{0,120})?)|([\w-]{1,60}(?:/[\w.-]{1,60}){1,6}\.\w{2,6})|《([^》\n]{2,40})》|\b((?:[\w-]{2,40}\.){1,3}(?:com|org|net|io|cn|de|fr|uk|jp))\b"
)
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
    return len(said) <= LONGEST and bool(ASKS.search(said) and OF_DATA.search(said))


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


def _removals(letters: Sequence[Text], texts: Sequence[Text]) -> Iterator[Finding]:
    """What a letter asks to be taken out, in the lists of the data that are in use."""
    for letter in letters:
        said = "\n".join(letter.lines[:400])
        things = list(dict.fromkeys(next(filter(None, m.groups())).rstrip("/.") for m in THING.finditer(said)))[:MOST]
        for thing in things:
            hits = [Evidence(t.name, i, text=line.strip()[:200]) for t in texts if t not in letters and LISTS.search(t.name)
                    and len(t.lines) > 2 for i, line in enumerate(t.lines, 1)
                    if _names(line, thing) and not OFF.search(line)]  # fmt: skip
            if hits:
                yield Finding(
                    "removal-asked-still-there", Severity.S1,
                    f"{letter.name} asks for the removal of {thing}; it still stands in {len(hits)} lines of {hits[0].file}.",
                    f"{letter.name} 要求移除 {thing}，而 {hits[0].file} 中仍有 {len(hits)} 行。",
                    (*hits[:4], Evidence(letter.name)), {"thing": thing, "hits": len(hits)},
                )  # fmt: skip
                return


def _names(line: str, thing: str) -> bool:
    return bool(re.search(rf"(?<![\w.-]){re.escape(thing)}(?![\w-])", line)) and not ASKS.search(line)
