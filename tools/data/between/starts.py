"""Token ids as logs and dumps write them: whether sequences begin with the begin-of-sequence token twice."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...patterns import bounded
from ...reading import head
from ...run import Run

CHECK = "begin token once, in logs of requests"
CODES = declare("starts", ("double-bos", CHECK, "requests or samples begin with the begin-of-sequence token twice"))
BYTES, FILES, LISTS = 128 << 10, 40, 200
LEAST, SHARE, PART = 3, 0.9, 0.3
"""Sequences of a file, the share that begins alike, and the share that does so twice where nothing parts them."""
WORDS = (b"ids", b"tok", b"encoded", b"id_0", b"id0", "词元".encode())
NAMED = r"(?:prompt_?|input_?|token_?|tok_?|first_?|enc(?:oded)?_?){0,3}(?:ids?|tokens|toks|encoded)"
AFTER = r"(?:\[:\d{1,3}\]|\[0\]|\[0, ?:\d{1,3}\]|_\d{1,3})?[\"']?\s{0,3}(?:[:=]|->)?\s{0,3}"
MADE = r"(?:tensor|array|np\.array)?\(?\s{0,3}(?:\[\s{0,12}){1,2}"
ITEM = r"[\"']?(\d{1,7}|<[^<>\s\"']{1,40}>|\[[A-Z]{2,8}\])[\"']?"
ANY = r"[\"']?([^\s,;|\]\"']{1,40})[\"']?"
BETWEEN = r"\s{0,12}[,;|\s]\s{0,12}"
IDS = bounded(
    rf"(?i)(?<![a-z]){NAMED}{AFTER}{MADE}{ITEM}{BETWEEN}{ANY}{BETWEEN}{ANY}"
    rf"|(?<![a-z])(?:prompt|input|token|tok|first)_?(?:\d{{1,2}}_?)?(?:token_?)?(?:ids|toks){AFTER}[\"'`]?"
    rf"{ITEM}[, |]{{1,3}}{ITEM}[, |]{{1,3}}{ITEM}"
)
"""The first three of a list of ids or of tokens, after its name, with brackets or without."""
OTHER = bounded(
    r"(?i)(?:position|expert|gpu|device|type|segment|seq\w{0,8}|doc|group|rank|sample|request|user|node|block|label|slot"
    r"|cache|adapter)_?$"
)
"""What stands before `ids` that are not those of tokens."""
HEADED = bounded(r"(?i)^(?:\w{0,20}_)?(?:ids|tokens|toks)(?:_?\w{0,8})?$"
                 r"|^(?:首|前|开头)\w{0,6}(?:token|id|词元)s?$")  # fmt: skip
CELL = bounded(rf"^\W{{0,4}}?{ITEM}[, |;]{{1,3}}{ITEM}[, |;]{{1,3}}{ITEM}")
PLACES = bounded(r"(?i)^(?:tok|token|id)s?_?\[?([0-3])\]?$")
TEXT = bounded(
    r"(<s>|<bos>|<\|begin_of_text\|>|<\|begin▁of▁sentence\|>|<｜begin▁of▁sentence｜>|\[BOS\]|<\|startoftext\|>)\s?\1"
)
NAMES = ("id", "tok", "enc")
MARKS = ("<s>", "<bos>", "<|begin_of_text|>", "begin▁of▁sentence", "[BOS]", "<|startoftext|>")
SUFFIXES = (".log", ".jsonl", ".txt", ".json", ".out", ".csv", ".tsv", ".md")


Start = tuple[str, str, str, int, str]
"""First three of a sequence, the line, and the words beside it."""


def check_starts(run: Run) -> Report:
    """Files in which nearly every sequence begins with one id twice, and one in which it stands once."""
    twice: list[tuple[str, list[Start], list[Start], str]] = []
    once: list[tuple[str, Start]] = []
    for name, starts in _files(run):
        first = Counter(s[0] for s in starts).most_common(1)[0][0]
        alike = [s for s in starts if s[0] == first]
        if len(starts) < LEAST or len(alike) < SHARE * len(starts):
            continue
        double = [s for s in alike if s[1] == first and s[2] != first]
        single = [s for s in alike if s[1] != first]
        if len(double) >= SHARE * len(starts):
            twice.append((name, double, [], ""))
        elif len(double) + len(single) == len(alike) and len(double) >= LEAST:
            parting = _parting(double, single)
            if parting or len(double) >= PART * len(starts):
                twice.append((name, double, single, parting))
        elif len(single) == len(alike):
            once.append((name, alike[0]))
    if not twice:
        return Report("starts", (), (Check(CHECK, "clear" if once else "not-applicable"),))
    name, double, single, parting = twice[0]
    first, _, third, line, _ = double[0]
    other = next((o for o in once if o[1][0] == first), None)
    en = f", where those of {other[0]} begin with it once" if other else ""
    zh = f"，而 {other[0]} 中只有一个" if other else ""
    beside = [Evidence(other[0], other[1][3])] if other else []
    if single:
        en = f", where {len(single)} others there begin with it once" + (
            f" (twice with “{parting}”)" if parting else ""
        )
        zh = f"，而其中另外 {len(single)} 条只有一个" + (f"（两个的都带有“{parting}”）" if parting else "")
        beside = [Evidence(name, single[0][3], text=", ".join(single[0][:3]))]
    found = Finding(
        "double-bos", Severity.S2,
        f"{len(double)} sequences of {name} begin with token {first} twice{en}: the begin-of-sequence token is added "
        "to a text that has it.",
        f"{name} 中有 {len(double)} 条序列以 token {first} 连续两次开头{zh}：文本里已有 BOS，编码时又加了一个。",
        (Evidence(name, line, text=f"{first}, {first}, {third}"), *beside),
        {"token": int(first) if first.isdigit() else first, "sequences": len(double), "standing": True},
    )  # fmt: skip
    return Report("starts", (found,), (Check(CHECK, "found"),))


def _parting(double: list[Start], single: list[Start]) -> str:
    """A word that stands beside all sequences of the one kind and beside none of the other; empty where none does."""
    if len(single) < LEAST:
        return ""
    with_it = set.intersection(*(set(s[4].split()) for s in double))
    return min((w for w in with_it - {w for s in single for w in s[4].split()} if w[0].isalpha()), default="")


def _files(run: Run) -> Iterator[tuple[str, list[Start]]]:
    """Of each file its first sequences."""
    some = [a for a in run.artifacts if a.path.suffix.lower() in SUFFIXES and a.kind not in ("tokenizer", "checkpoint")]
    for artifact in some[:FILES]:
        with suppress(TriageError, OSError):
            raw = head(artifact.path, BYTES)
            if not any(word in raw for word in WORDS) and not any(m.encode() * 2 in raw for m in MARKS):
                continue
            text, suffix = raw.decode("utf-8", "replace"), artifact.path.suffix.lower()
            if starts := _listed(text) or _headed(text, suffix) or (_written(text) if suffix != ".md" else []):
                yield artifact.name, starts[:LISTS]


def _listed(text: str) -> list[Start]:
    """Lists of ids behind a name that says so, one a line; a list may go on over lines."""
    starts: list[Start] = []
    for number, line in enumerate(lines := text.split("\n"), 1):
        if len(starts) >= LISTS:
            break
        opened = line.rstrip().endswith("[")
        if not ("[" in line or "ids" in line or "toks" in line) or not any(w in line.lower() for w in NAMES):
            continue
        said = "\n".join(lines[number - 1 : number + 4]) if opened else line[:6000]
        if (hit := IDS.search(said)) and not OTHER.search(line[max(0, hit.start() - 12) : hit.start()]):
            a, b, c = (g for g in hit.groups() if g is not None)
            starts.append((a, b, c, number, line[: hit.start()]))
    return starts


def _headed(text: str, suffix: str) -> list[Start]:
    """Rows of a table with a column of first ids, or with a column for each of the first three."""
    lines = text.split("\n")
    split = "\t" if "\t" in lines[0] else "|" if lines[0].startswith("|") else ","
    if suffix not in (".csv", ".tsv", ".txt", ".md"):
        return []
    names = [n.strip().strip('"') for n in lines[0].split(split)]
    places = [i for i, n in enumerate(names) if PLACES.match(n)]
    column = next((i for i, n in enumerate(names) if HEADED.match(n)), None)
    starts: list[Start] = []
    for number, line in enumerate(lines[1 : LISTS + 1], 2):
        cells = next(csv.reader([line.strip("\r")], delimiter=split), []) if "\r" not in line.strip("\r") else []
        if len(cells) < len(names):
            continue
        hit = CELL.match(cells[column].strip()) if column is not None else None
        if len(places) >= 3:
            three = [cells[i].strip() for i in places[:3]]
            if all(t.isdigit() for t in three):
                starts.append((three[0], three[1], three[2], number, ""))
        elif hit is not None:
            beside = " ".join(c for i, c in enumerate(cells) if i != column)
            starts.append((hit[1], hit[2], hit[3], number, beside))
    return starts


def _written(text: str) -> list[Start]:
    """Texts that were written out with their begin token twice."""
    if not any(m * 2 in text or f"{m} {m}" in text for m in MARKS):
        return []
    hits = (
        (n, line, TEXT.search(line[:6000])) for n, line in enumerate(text.split("\n"), 1) if "<" in line or "[" in line
    )
    return [(h[1], h[1], line[h.end() : h.end() + 12].strip(), n, line[: h.start()]) for n, line, h in hits if h]
