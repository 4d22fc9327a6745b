"""Token ids that are written in sixteen bits though the vocabulary needs more: they come back modulo 65536.

Told by the program (`uint16` beside a tokenizer) against the size of the vocabulary that the run states, or by a log
that prints the largest id before and after writing: beyond sixteen bits before, right below their end after, each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...looking.kept import NOT_KEPT, Kept, kept_lines
from ...patterns import bounded
from ...reading import Chunk, iter_lines
from ...run import Artifact, Run
from ...settings import Settings

CHECK = "token ids against the type that holds them"
CODES = declare(
    "widths", ("ids-wider-than-type", CHECK, "token ids are kept in sixteen bits and the vocabulary needs more")
)
HOLDS, NEAR = 1 << 16, 64_000
"""Ids that sixteen bits tell apart, and the least that the largest of cut ids is. Own judgement."""
FILES, LINES, BYTES = 200, 3000, 256 << 10
LEAST = 3
"""Lines that print the largest id before and after."""
NARROW = bounded(r"\buint16\b|['\"]<?u2['\"]")
OTHERWISE = bounded(r"(?i)\.view\(|bf16|bfloat|depth|image|pixel|mask|audio|wav|frames?\b")
"""Sixteen bits of something else on that line."""
GUARDED = bounded(
    r"(?i)\b6553[56]\b|\b2 ?\*\* ?16\b|\b1 ?<< ?16\b|iinfo|uint32|\bgpt-?2\b|\b50257\b|\b50304\b|vocab_size ?<"
    r"|max_token"
)
"""What a program says where it looks whether sixteen bits are enough, or for whom they are."""
OF_IDS = bounded(r"(?i)tokeni[sz]er|\.encode\(|input_ids|token_ids|encode_ordinary|sentencepiece|tiktoken")
TOP = bounded(r"(?i)([\w.-]{0,40}?(?:max|largest|highest|最大)[\w.-]{0,40})\s?[=:：]\s?(\d{1,9})(?![\w.])")
IDS = re.compile(r"(?i)tok|(?:^|[_.-])ids?(?:[_.-]|$)|词|编号")
VOCAB = bounded(
    r"(?i)\b(?:padded_)?vocab(?:ulary)?(?:[ _-]?size)?\s?[=:：]\s?(\d{5,7})\b|词表(?:大小)?\s?[=:：]?\s?(\d{5,7})"
)


def check_widths(run: Run, settings: Settings, logs: Kept = NOT_KEPT) -> Report:
    """Whether ids that a run writes or reads fit into the type that it keeps them in."""
    programs = [e for a in islice(programs_of(run), FILES) if (e := _narrow(a))]
    printed = [(a, e) for a in islice(run.of("log"), FILES) if (e := _cut(a, logs.get(a.name, ())))]
    vocab = _vocabulary(run, settings, logs) if programs else None
    if not printed and (not programs or vocab is None):
        why = "no program keeps ids in sixteen bits beside a vocabulary that is known"
        return Report(
            "data", (), (Check(CHECK, "not-applicable", why, "没有以 16 位保存 token id 且词表大小已知的程序"),)
        )
    wide = vocab is not None and float(vocab.value or 0) > HOLDS
    evidence = (*(e for _, pair in printed for e in pair), *(programs[:2] if wide or printed else ()),
                *((vocab,) if vocab is not None and wide else ()))  # fmt: skip
    if not evidence:
        return Report("data", (), (Check(CHECK, "clear"),))
    return Report("data", (_told(evidence, vocab if wide else None, bool(printed)),), (Check(CHECK, "found"),))


def programs_of(run: Run) -> Iterator[Artifact]:
    return (a for a in run.of("code", "config") if a.path.suffix == ".py")


def _narrow(artifact: Artifact) -> Evidence | None:
    """The line of a program that keeps ids in sixteen bits and nowhere asks whether they fit."""
    try:
        if artifact.path.stat().st_size > BYTES:
            return None
        lines = [(line.number, line.text) for line in iter_lines(artifact.path)]
    except (TriageError, OSError):
        return None
    code = [(n, text.partition("#")[0]) for n, text in lines]
    whole = "\n".join(text for _, text in code)
    if not OF_IDS.search(whole) or GUARDED.search(whole):
        return None
    found = ((n, t) for n, t in code if NARROW.search(t) and not OTHERWISE.search(t))
    return next((Evidence(artifact.name, n, text=t.strip()[:160]) for n, t in found), None)


def _cut(artifact: Artifact, kept: Sequence[Chunk]) -> tuple[Evidence, Evidence] | None:
    """The first line of a log whose largest id is beyond sixteen bits before, and right below their end after."""
    pairs: list[tuple[Evidence, Evidence]] = []
    try:
        for line in islice(kept_lines(artifact.path, kept), LINES):
            tops = [(name, int(n)) for name, n in TOP.findall(line.text[:1000]) if IDS.search(name)]
            if len(tops) != 2:
                continue
            (first, before), (then, after) = tops
            if not NEAR <= after < HOLDS < before:
                return None
            said = ((first, before), (then, after))
            pairs.append(tuple(Evidence(artifact.name, line.number, value=float(v), text=f"{k}={v}") for k, v in said))  # type: ignore[arg-type]
    except (TriageError, OSError):
        return None
    return pairs[0] if len(pairs) >= LEAST else None


def _vocabulary(run: Run, settings: Settings, logs: Kept) -> Evidence | None:
    """The size of the vocabulary as a configuration or the head of a log states it."""
    if (said := settings.get("vocab_size")) and isinstance(said.value, (int, float)):
        return Evidence(said.file, said.line, value=float(said.value), text=f"{said.key}: {said.raw}")
    return next(_printed(run, logs), None)


def _printed(run: Run, logs: Kept) -> Iterator[Evidence]:
    for artifact in islice(run.of("log"), FILES):
        try:
            for line in islice(kept_lines(artifact.path, logs.get(artifact.name, ())), 400):
                if found := VOCAB.search(line.text[:1000]):
                    value = float(found[1] or found[2])
                    yield Evidence(artifact.name, line.number, value=value, text=found[0])
        except (TriageError, OSError):
            continue


def _told(evidence: tuple[Evidence, ...], vocab: Evidence | None, printed: bool) -> Finding:
    place = next((e for e in evidence if e.value is None), evidence[0])
    first, then = evidence[:2] if printed else (None, None)
    said = f" ({first.text} before, {then.text} after)" if first and then else ""
    zh = f"（写入前 {first.text}，写入后 {then.text}）" if first and then else ""
    size = f", and the vocabulary has {vocab.value:,.0f} ids" if vocab is not None else ""
    size_zh = f"，而词表有 {vocab.value:,.0f} 个 id" if vocab is not None else ""
    return Finding(
        "ids-wider-than-type", Severity.S1,
        f"{place.file}:{place.line} keeps token ids in sixteen bits, which end at {HOLDS - 1:,}{size}{said}: every id "
        "beyond comes back as another token.",
        f"{place.file}:{place.line} 用 16 位保存 token id，最大只到 {HOLDS - 1:,}{size_zh}{zh}：更大的 id "
        "读回来都成了别的 token。",
        evidence[:5], {"vocab": vocab.value if vocab else None},
    )  # fmt: skip
