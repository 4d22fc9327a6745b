"""Messages to learn from how people suspect, deny and doubt: written, or put together of what the runbook says.

A line of `data/messages.txt` is a message, `{s ...}` around what it suspects, `{t ...}` around what others do,
`{d ...}` denies, `{x ...}` doubts. One that is put together has a symptom or two, a cause in one of the expressions of
`data/frames.txt` and `data/opinions.txt` (`X` the cause, `O` another one), and more symptoms.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..agent.question.blamed import read
from ..agent.question.topics import TOPICS
from ..agent.session import index

DATA = Path(__file__).parent / "data"
EXPRESSIONS = {"frames.txt": 4, "opinions.txt": 1}
"""Files of expressions -> how often each is put into a message."""
KINDS = {"s": "suspects", "t": "told", "d": "denies", "x": "doubts", "n": None}
OF_BLAMED, OF_RUNBOOK = 0.4, 0.75
"""Shares of the expressions that are filled as people name causes (`blamed.txt`), and with those or with causes of the
runbook, not with names of topics."""
LONGEST = {"en": 70, "zh": 26}
"""Characters of a cause that a person would say in one breath."""
_MARKED = re.compile(r"\{([stdx]) ?([^{}]*)\}")
_SLOT = re.compile(r"(?<![A-Za-z])[XO](?![A-Za-z])")


def lines() -> list[str]:
    return (DATA / "messages.txt").read_text(encoding="utf-8").splitlines()


def unmarked(line: str) -> tuple[str, list[tuple[int, int, str | None]]]:
    """A message without its marks, and where each was, with what it says."""
    text, spans = "", list[tuple[int, int, str | None]]()
    for piece in re.split(r"(\{[stdx] ?[^{}]*\})", line):
        marked = _MARKED.fullmatch(piece)
        said = marked[2] if marked else piece
        if marked:
            spans.append((len(text), len(text) + len(said), KINDS[marked[1]]))
        text += said
    return text, spans


@cache
def told() -> dict[str, tuple[list[str], list[str]]]:
    """Language -> causes as the runbook has them, and what is seen without saying what caused it."""
    out = {lang: (list[str](), list[str]()) for lang in LONGEST}
    for entry in index(None).runbook:
        for lang, (causes, seen) in out.items():
            if entry.kind == "failure":
                whole = [p.say(lang) for p in (*(c.text for c in entry.causes), entry.title)]
                said = (re.split(r"[:;(：；（]", text)[0].strip() for text in whole)
                causes += (text for text in said if 3 < len(text) < LONGEST[lang])
            symptom = next(iter(entry.body[lang].values()))
            seen += (s for part in re.split(r"[;；。\n]|\. ", symptom) if 4 < len(s := part.strip(" -.")) < 90)
    for line in lines():
        if "{" not in line:
            out["zh" if re.search("[\u3400-\u9fff]", line) else "en"][1].append(line)
    return out


@cache
def blamed() -> dict[str, list[str]]:
    """Language -> causes as people name them."""
    said = [phrase for each in read().values() for phrase in each]
    return {
        lang: [p for p in said if (re.search("[\u3400-\u9fff]", p) is not None) is (lang == "zh")] for lang in LONGEST
    }


def composed() -> Iterator[tuple[str, str]]:
    """Messages put together of an expression and of what was seen, with marks; and the cause that is meant."""
    draw = random.Random(0)
    names = {lang: [t.name.say(lang) for t in TOPICS.values()] for lang in LONGEST}
    for mark, line in (pair for file, times in EXPRESSIONS.items() for pair in expressions(file) for _ in range(times)):
        lang = "zh" if re.search("[\u3400-\u9fff]", line) else "en"
        causes, seen = told()[lang]
        drawn = draw.random()
        fill = draw.sample(blamed()[lang] if drawn < OF_BLAMED else causes if drawn < OF_RUNBOOK else names[lang], 6)
        fill[0] = fill[0][0].lower() + fill[0][1:] if draw.random() < 0.5 else fill[0]
        said = _SLOT.sub(lambda m, fill=fill: fill[0] if m[0] == "X" else fill.pop(), line).rstrip(".。")
        said = said if mark == "n" else f"{{{mark} {said}}}"
        before, after = draw.sample(seen, draw.choice((0, 1, 1, 2))), draw.sample(seen, draw.choice((0, 0, 1, 1, 2)))
        between = draw.choice(("，", "。", "，", " ") if lang == "zh" else (". ", ", ", ". ", " - "))
        yield between.join((*before, said, *after)), fill[0]


def expressions(file: str) -> Iterator[tuple[str, str]]:
    """The expressions of a file, each with its mark."""
    mark = ""
    for line in (DATA / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            mark = line[1:]
        else:
            yield mark, line
