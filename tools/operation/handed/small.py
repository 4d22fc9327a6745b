"""A file of weights against the parameters that it ought to hold: by a listing and by what the training counts.

No format keeps a parameter in less than half a byte; a file below that holds headers and shapes, and no weights. So
does a whole model in a few kilobytes beside others of many gigabytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import Text

TRAINED = bounded(
    r"(?i)(?:trainable(?:[ _]params?(?:eters)?)?|可训练参数(?:量)?|params? to (?:train|learn))\D{0,16}?"
    r"(\d{1,3}(?:[,_]\d{3}){1,4}|\d{5,14})(?![\d.%])"
)
LISTED = bounded(
    r"^[-l][rwxsStT-]{9}\S?\s+\d+\s+\S+\s+\S+\s+(\d{1,15})\s.{5,40}\s(\S*(?:adapter|lora)\S*\.(?:safetensors|bin|pt))$"
    r"|^\s*(\d{1,15})\s{1,8}(?:\S{4,20}\s+){0,3}(\S*(?:adapter|lora)\S*\.(?:safetensors|bin|pt))$"
)
"""A file of an adapter's weights with its bytes, as `ls -l` or `find -printf` print it."""
PART = bounded(r"\d+-of-\d+|_\d{5}\b|shard|rank[_-]?\d")
LEAST, HALF = 100_000, 0.5
"""Parameters from which on a header is no matter, and bytes of one at least."""
ENDINGS = (".safetensors", ".bin", ".pt", ".ckpt")
WEIGHTS = bounded(r"(?i)\.(?:safetensors|bin|pth?|ckpt)$")
WHOLE = bounded(
    r"(?i)(?:^|/)(?:(?:pytorch_|merged_?|full_?)?(?:model|weights)|consolidated)(?:[._]\d{2})?\.(?:safetensors|bin|pth?)$"
)
"""A file of weights, and one that holds a whole model by its name."""
SIZE, UNITS = (
    re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?"),
    {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40},
)
MODE, POINTER, HEADER, TIMES = re.compile(r"[-l][rwxsStT-]{9}\S?"), 1000, 500_000, 10_000
"""How `ls -l` begins a file; bytes of a pointer to a file that was not fetched; of the header of a large model; and how
many times larger the others are. Own judgement."""


def too_small(texts: Sequence[Text]) -> Iterator[Finding]:
    """The saved adapter has far fewer bytes than the parameters that were trained."""
    trained = next((hit for t in texts if t.role == "train" or t.name.endswith((".log", ".txt", ".out", ".err"))
                    for hit in _counted(t)), None)  # fmt: skip
    if trained is None:
        return
    count, where = trained
    for text in texts:
        for number, line in enumerate(text.lines, 1):
            hit = LISTED.match(line) if "adapter" in line or "lora" in line else None
            if hit is None:
                continue
            size, name = int(hit[1] or hit[3]), PurePosixPath(hit[2] or hit[4]).name
            if size >= HALF * count or PART.search(name) or size == 0:
                continue
            yield Finding(
                "weights-below-parameters", Severity.S1,
                f"{name} has {size:,} bytes ({text.name}:{number}), and {count:,} parameters were trained "
                f"({where.file}:{where.line}): at two bytes each that is {2 * count:,}. It holds no weights.",
                f"{name} 只有 {size:,} 字节（{text.name}:{number}），而训练了 {count:,} 个参数"
                f"（{where.file}:{where.line}）：每个两字节应有 {2 * count:,}。文件里没有权重。",
                (text.at(number), where), {"bytes": size, "parameters": count},
            )  # fmt: skip
            return


def beside_larger(texts: Sequence[Text]) -> Iterator[Finding]:
    """A whole model of the size of a header, in a listing in which another folder's weights are beyond comparison."""
    for text in texts:
        files = [*_listed(text)]
        folders = Counter[str]()
        for _, name, size in files:
            folders[str(PurePosixPath(name).parent)] += size
        for number, name, size in files:
            own = str(PurePosixPath(name).parent)
            most = max((total for folder, total in folders.items() if folder != own), default=0)
            if not WHOLE.search(name) or not POINTER < size < HEADER or folders[own] > HEADER or most < TIMES * size:
                continue
            yield Finding(
                "weights-below-parameters", Severity.S1,
                f"{name} has {size:,} bytes ({text.name}:{number}); the weights of another folder of the same listing "
                f"have {most:,}. It holds headers and shapes, and no weights.",
                f"{name} 只有 {size:,} 字节（{text.name}:{number}），同一清单中另一目录的权重有 {most:,} 字节。"
                "文件里只有头部和形状，没有权重。",
                (text.at(number),), {"bytes": size, "others": most},
            )  # fmt: skip
            return


def _listed(text: Text) -> Iterator[tuple[int, str, int]]:
    """(line, path, bytes) of the files of weights in a listing; a line that ends in a colon names the folder."""
    folder = ""
    for number, line in enumerate(text.lines, 1):
        if line.endswith(":") and " " not in line:
            folder = line[:-1]
        if not any(ending in line for ending in ENDINGS):
            continue
        words = line[:400].replace(",", " ").split()
        name = next((w.strip("\"'") for w in words if WEIGHTS.search(w.strip("\"'"))), "")
        if not name or (not (long := len(words) > 5 and MODE.fullmatch(words[0]) is not None) and len(words) > 3):
            continue
        said = words[4:5] if long else [w for w in words if not WEIGHTS.search(w)]
        hit = next((m for w in said if (m := SIZE.fullmatch(w))), None)
        if hit is not None:
            yield number, f"{folder}/{name}" if folder else name, int(float(hit[1]) * UNITS[hit[2]])


def _counted(text: Text) -> Iterator[tuple[int, Evidence]]:
    for number, line in enumerate(text.lines[:2000], 1):
        hit = TRAINED.search(line[:400]) if "rain" in line or "训练" in line else None
        if hit is not None and (count := int(hit[1].replace(",", "").replace("_", ""))) >= LEAST:
            yield count, text.at(number)
