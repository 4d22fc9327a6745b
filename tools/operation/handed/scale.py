"""By how much a merge multiplies an adapter's difference against what the adapter's own settings ask for."""

# ruff: noqa: E501  one sentence, pattern or case on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import sqrt

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import Text

CLOSE = 0.02
KEY = r"(?<![\w.-])[\"']?{}[\"']?\s?[:=]\s?[\"']?"
ALPHA = bounded(r"(?i)(?<![\w.-])[\"']?lora_?alpha[\"']?\s?[:=]\s?(\d[\d.]*)")
RANK = bounded(r"(?i)(?<![\w.-])[\"']?(?:r|lora_?r(?:ank)?|rank)[\"']?\s?[:=]\s?(\d{1,5})(?![\d.])")
ROOTED = bounded(r"(?i)[\"']?use_?rslora[\"']?\s?[:=]\s?[\"']?(true|1|yes|on)\b")
PATTERNS = bounded(r"[\"']?(?:alpha|rank)_pattern[\"']?\s?:\s?\{\s{0,12}[\"']")
BY = r"(?<![a-z])(?:lora_?)?alpha[\w\"'\])]{0,6}\s?/\s?(?:float\()?(?!.{0,20}sqrt)(?:[\w.\[\"']{0,24}[.\[\"'_])?(?:r|rank|lora_r|lora_rank)\b"
DIVIDES = bounded(rf"(?i){BY}")
ROOT = bounded(r"(?i)sqrt|\*\*\s?-?0?\.5|rslora")
SETS = bounded(
    r"(?i)(?<![a-z_.])(?<![a-z]-)(?:lora[ _-]?|adapter[ _-]?|merge[ _-]?|delta[ _-]?)?(?:scal(?:e|ing)(?:[ _-]?factor)?|缩放(?:系数|倍数)?|alpha\s?/\s?r(?:ank)?)"
    r"[\"']?(?:\s?[:=]{1,2}\s?|\s|为|是)(\d+(?:\.\d+)?)(?![\w.%])"
)
FLAG = r"(?i)--(?:lora[-_])?{}[ =](\d[\d.]*)(?!\S)"
FLAGS = bounded(FLAG.format("alpha")), bounded(FLAG.format("r(?:ank)?"))
NOT_SCALE = bounded(r"(?i)loss|rope|rotary|lr\b|quant|grad|softmax|image|amp\b|clip|token")


def scaled_otherwise(texts: Sequence[Text]) -> Iterator[Finding]:
    """A merge's program or log with another scale than the adapter's alpha and rank give."""
    asked = [a for t in texts if (a := _asked(t)) is not None]
    if len({round(want, 6) for _, want, _, _ in asked}) != 1:
        return
    name, want, where, plain = asked[0]
    for text in [t for t in texts if t.role == "merge" and "alpha_pattern" not in t.whole]:
        used = _used(text, plain, want)
        if used is not None:
            yield _told(used, (name, want, where))
            return


def _asked(text: Text) -> tuple[str, float, Evidence, float] | None:
    """The scale that one file with both alpha and rank asks for; none where single modules have their own."""
    if (text.role == "merge" and "peft_type" not in text.whole) or not ALPHA.search(text.whole):
        return None
    alpha, rank, rooted = (_first(text, p) for p in (ALPHA, RANK, ROOTED))
    if alpha[1] is None or rank[1] is None or PATTERNS.search(text.whole) or float(rank[1][1]) <= 0:
        return None
    a, r = float(alpha[1][1]), float(rank[1][1])
    if rooted[1] is not None:
        return f"alpha / sqrt(r) = {a:g} / sqrt({r:g})", a / sqrt(r), text.at(rooted[0]), a / r
    return f"alpha / r = {a:g} / {r:g}", a / r, text.at(alpha[0]), a / r


def _first(text: Text, pattern: re.Pattern[str]) -> tuple[int, re.Match[str] | None]:
    """The first line that a pattern finds, and what it found."""
    for number, line in enumerate(text.lines[:200], 1):
        if (found := pattern.search(line)) is not None:
            return number, found
    return 0, None


def _used(text: Text, plain: float, want: float) -> tuple[float, int, Text] | None:
    """(scale, line, file) where the merge says one that is not the one asked for; none where any line says that."""
    said: list[tuple[float, int]] = []
    for number, line in enumerate(text.lines[:3000], 1):
        if NOT_SCALE.search(line) or line.lstrip().startswith("#"):
            continue
        if text.name.endswith(".py") and DIVIDES.search(line) and not ROOT.search(text.whole):
            said.append((_divided(text, plain), number))
        said += [(float(m[1]), number) for m in SETS.finditer(line) if 1e-3 <= float(m[1]) <= 1e3]
    (_, alpha), (number, rank) = (_first(text, p) for p in FLAGS)
    if alpha is not None and rank is not None and float(rank[1]) > 0:
        given = float(alpha[1]) / float(rank[1])
        said += [(given, number)] if abs(given / plain - 1) > CLOSE else [(want, number)]
    apart = [s for s in said if abs(s[0] / want - 1) > CLOSE]
    one = {round(s[0], 4) for s in said}
    return (*apart[0], text) if apart and len(apart) == len(said) and len(one) == 1 else None


def _divided(text: Text, plain: float) -> float:
    """What `alpha / r` comes to: of the program's own numbers, else of the adapter's."""
    numbers = {"alpha": 0.0, "r": 0.0}
    for line in text.lines:
        if (m := re.match(r"\s*([\w, ]{1,60})=\s?([\d., ]{1,60})\s*(?:#.*)?$", line)) is not None:
            for name, value in zip(m[1].split(","), m[2].split(","), strict=False):
                last = name.strip().lower().removeprefix("lora_")
                key = "alpha" if last == "alpha" else "r" if last in ("r", "rank") else ""
                if key and value.strip():
                    numbers[key] = float(value)
    if numbers["alpha"] and numbers["r"]:
        return numbers["alpha"] / numbers["r"]
    return plain


def _told(used: tuple[float, int, Text], asked: tuple[str, float, Evidence]) -> Finding:
    (scale, number, text), (name, want, where) = used, asked
    times = max(scale, want) / min(scale, want)
    way, zh = ("little", "小") if scale < want else ("much", "大")
    return Finding(
        "merge-scaled-otherwise", Severity.S1,
        f"{text.name}:{number} merges the adapter with the scale {scale:.4g}, and {where.file}:{where.line} asks for "
        f"{name} = {want:.4g}: {times:.3g} times too {way}.",
        f"{text.name}:{number} 合并适配器时的缩放是 {scale:.4g}，而 {where.file}:{where.line} 要求 {name} = {want:.4g}："
        f"{zh}了 {times:.3g} 倍。",
        (text.at(number), where), {"want": want, "is": scale},
    )  # fmt: skip
