"""Cheap facts about one text: script, characters that should not be there, openings, token estimate.

No language model and no tokenizer: scripts stand for languages, and tokens are estimated.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache

SCRIPTS = {"latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff", "han": "\u3400-\u9fff\uf900-\ufaff", "kana": "\u3040-\u30ff",
           "hangul": "\uac00-\ud7a3\u1100-\u11ff", "cyrillic": "\u0400-\u052f",
           "arabic": "\u0600-\u06ff\u0750-\u077f", "devanagari": "\u0900-\u097f", "thai": "\u0e00-\u0e7f",
           "greek": "\u0370-\u03ff", "hebrew": "\u0590-\u05ff"}  # fmt: skip
SCRIPT_SAMPLE = 300
"""Characters of a text, evenly spread, that its script is judged by."""
TOKENS_PER_CHAR = {"latin": 0.26, "han": 0.65, "kana": 0.7, "hangul": 0.65}
"""Rough rate of current 100k-250k vocabularies; other scripts 0.4. Within a third of the truth on plain text."""

CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""C0 controls and direction overrides; zero-width spaces and icon fonts are common in good web text and stay out."""
MOJIBAKE = re.compile("\ufffd|Ã[\x80-\xbf©¨¼¶¤³±¡]|â€[™œ\x9d“”¦˜]|ï»¿|锟斤拷|烫烫烫|屯屯屯|[åæçèé][\x80-\xbf]{2}")
"""U+FFFD, UTF-8 read as Latin-1 or Windows-1252, and the three classics of GBK."""
LEADING_TAG = re.compile(r"^\s*<[a-z_]{1,20}>\s*")
LETTER = re.compile("[A-Za-z]")
BLOB = re.compile(r"[A-Za-z0-9+/=_\-]{400,}")
"""A run without a space that no language has: base64, hashes, minified data."""
SPECIAL = re.compile(
    r"<\|(?:im_start|im_end|endoftext|begin_of_text|eot_id|start_header_id|end_header_id|eom_id|end|user"
    r"|assistant|system)\|>|<s>|</s>|\[/?INST\]|<<SYS>>|<start_of_turn>|<end_of_turn>|<｜[^｜]{1,30}｜>"
)
DOUBLE_BOS = re.compile(r"^\s*(<s>|<\|begin_of_text\|>|<bos>|<｜begin▁of▁sentence｜>)\s*\1")


@cache
def _script_pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>[{ranges}])" for name, ranges in SCRIPTS.items()))


@lru_cache(20_000)
def script_of(char: str) -> str:
    """The script of one letter, an empty string for anything else."""
    found = _script_pattern().match(char)
    return str(found.lastgroup) if found else ""


def main_script(text: str) -> str:
    """The script of most letters, `none` without letters; Japanese is kana from one fifth of its letters on."""
    if text.isascii():
        return "latin" if LETTER.search(text) else "none"
    counts = Counter(map(script_of, text[:: len(text) // SCRIPT_SAMPLE + 1]))
    del counts[""]
    if counts["kana"] * 5 >= counts["kana"] + counts["han"] > 0:
        counts["kana"] += counts.pop("han", 0)
    return max(counts, key=lambda name: counts[name]) if counts.total() else "none"


def token_estimate(text: str, script: str) -> int:
    """About how many tokens a current tokenizer makes of a text in this script."""
    return int(len(text) * TOKENS_PER_CHAR.get(script, 0.4)) + 1 if text else 0


def opening(text: str) -> str:
    """The first words (or characters, without spaces) that a template would repeat; empty for a short answer.

    A leading tag such as `<think>` is passed over.
    """
    head = " ".join(LEADING_TAG.sub("", text[:240]).casefold().split())
    words = head.split(" ")
    if len(words) > 8:
        return " ".join(words[:4])
    return head[:8] if len(head) >= 20 and not head.isascii() else ""
