"""Versions of two things that must match and do not: the draft of an old model beside a new one, the tokenizer that was
trained with and the one that serves, a digest in two lists.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from ...documents.stated import Stated
from ...findings import Finding, Severity
from ...patterns import bounded
from ..line import means, plain
from .names import kinds

REVISION = bounded(r"(?:^|_)(?:revision|rev|version|commit|sha\d{0,3}|md5|digest|hash|build|checksum)(?:_|$)|版本|校验")
MODEL = bounded(
    r"model|draft|tokenizer|template|adapter|lora|base|reference|policy|target|checkpoint|weights|engine|serve"
)
NAMED = bounded(
    r"([A-Za-z][A-Za-z0-9]{1,30}(?:[-_][A-Za-z][A-Za-z0-9]{0,20}){0,4}?)[-_.]?(?:v|step|ckpt)[-_]?(\d+(?:\.\d+){0,2})"
)
CALLED = bounded(r"^(?:(?:model|ckpt|checkpoint|run|candidate|variant)(?:_?(?:name|id))?|name|模型)$")
OF_WEIGHTS = bounded(r"model|weights?|ckpt|checkpoint|adapter|权重")
MOST, FEW = 3, 12


def apart(said: Sequence[Stated]) -> list[Finding]:
    """Pairs of statements about one thing with different versions."""
    some = [s for s in said if s.how == "said" and s.value]
    by: dict[str, list[Stated]] = defaultdict(list)
    for s in some:
        if means(REVISION, s.key) and re.search(r"\d", s.value) and not _named_by(s):
            by[plain(s.key)].append(s)
    called = {s.file: s.value for s in some if CALLED.search(plain(s.key))}
    found = [_told(x[0], next(s for s in x if s.value != x[0].value)) for x in by.values()
             if len(x) <= FEW and len({s.value for s in x}) > 1 and len({s.file for s in x}) > 1
             and not (OF_WEIGHTS.search(plain(x[0].key)) and _of_models(x, called))]  # fmt: skip
    return [*found, *_models(some)][:MOST]


def _named_by(s: Stated) -> bool:
    """Whether the file is called by the version that it says: `prompt_v2.yaml` is of version 2."""
    return (
        re.search(rf"(?:^|[/_.-])v(?:er(?:sion)?)?[_.-]?{re.escape(s.value)}(?!\d)", s.file, re.IGNORECASE) is not None
    )


def _of_models(some: Sequence[Stated], called: dict[str, str]) -> bool:
    """Whether each file is of a model of its own, by its name: other weights are what tells them apart."""
    names = {called.get(s.file, "") for s in some}
    return "" not in names and len(names) == len({s.file for s in some})


def _models(some: Sequence[Stated]) -> list[Finding]:
    """Names of models in one file that are one family's, of different versions."""
    files: dict[str, list[tuple[Stated, str, str]]] = defaultdict(list)
    for s in some:
        for stem, version in NAMED.findall(s.text) if means(MODEL, s.key) else ():
            files[s.file].append((s, stem.lower(), version))
    for named in files.values():
        for a, stem, version in named:
            other = next((b for b, st, v in named if st == stem and v != version and means(MODEL, b.key)), None)
            if other is not None and len({v for _, st, v in named if st == stem}) == 2:
                return [_told(a, other)]
    return []


def _told(a: Stated, b: Stated) -> Finding:
    one, other = (f"{s.file}:{s.line} {s.text[:100]}" for s in (a, b))
    same = a.line == b.line and a.file == b.file
    en, zh = (one, one) if same else (f"{one} / {other}", f"{one} / {other}")
    return Finding(
        "versions-apart", Severity.S3,
        f"Two versions of what should be one: {en}.", f"本应一致的版本不同：{zh}。",
        (a.evidence(), b.evidence()),
        {"of": plain(a.key), "kinds": kinds(a.key, b.key, a.text, b.text), "names": en[:160], "standing": True},
    )  # fmt: skip
