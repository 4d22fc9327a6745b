"""A message in parts: the person's own sentences, what was pasted, and what in the paste is addressed to a model.

Which line is pasted is told by its shape (pairs of names and numbers, timestamps, tracebacks, tables), not by its
words. A single line is always the person's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...knowledge.outside import ordered
from ...tools.patterns import bounded

OWN_LIMIT = 4000
"""Characters of the person's own words that are understood; more is a paste, whatever it looks like."""
_PASTED = bounded(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d{1,2}:\d\d:\d\d|\[?rank ?\d|\d+:\s|(?:INFO|WARN(?:ING)?|ERROR"
    r"|DEBUG"
    r"|CRITICAL)\b"
    r"|Traceback|File \"|\{.*[:=]|[A-Z]\w*(?:Error|Exception|Warning):|\|.*\||(?:step|iter(?:ation)?"
    r"|epoch)\b\W{0,3}\d"
    r"|[-+\w./]+(?:\s*[,;\t]\s*[-+\w./%]+){2,}\s*$|\s*[\w.-]+\s*[:=]\s*\S{1,60}\s*$|[#$>]\s|Processing"
    r"|\s{2,}\S"
    r"|at \S+\(|[@+-]{2,})",
    re.IGNORECASE,
)
_PAIR = bounded(r"[\w/.-]+\s*[:=]\s*[-+]?(?:\d|nan|inf)", re.IGNORECASE)
_SENTENCE = bounded(r"(?<=[.!?。！？;；])(?=\s|[\u3400-\u9fff]|$)\s*|\n+")
_CLAUSE = bounded(
    r"[,，;；:：]\s*|\s+-+\s+|\s+(?=(?:but|so(?! (?:sure|certain|convinced|much|far|many|high|low|big|small|bad))"
    r"|and (?:i|we|my|then|now)|because|since|although|though"
    r"|whereas|yet"
    r"|instead)\b)"
    r"|(?<!不是)(?=但是?|不过|所以|因为|而且|然后|虽然)",
    re.IGNORECASE,
)


def split(text: str) -> tuple[str, str]:
    """The person's own words, and the pasted lines; either may be empty."""
    lines = text.splitlines()
    if len(lines) < 2:
        return (text, "") if len(text) <= OWN_LIMIT else (text[:OWN_LIMIT], text)
    own, pasted, fenced = [], [], False
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or _PASTED.match(line) or len(_PAIR.findall(line)) > 1 or len(line) > 600:
            pasted.append(line)
        elif line.strip():
            own.append(line)
    return "\n".join(own)[:OWN_LIMIT], "\n".join(pasted)


def sentences(text: str) -> list[str]:
    """Sentences and lines, without empty ones."""
    return [s for part in _SENTENCE.split(text) if (s := part.strip())]


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence that say one thing each."""
    return [c for part in _CLAUSE.split(sentence) if (c := part.strip())]


def orders(pasted: str) -> Iterator[int]:
    """One-based numbers of the pasted lines that are addressed to an assistant."""
    return (n for n, line in enumerate(pasted.splitlines(), 1) if ordered(line[:2000]))
