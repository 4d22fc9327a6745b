"""A message in parts: the person's own sentences, what was pasted, and what in the paste is addressed to a model.

Which line is pasted is told by its shape (pairs of names and numbers, timestamps, tracebacks, tables), not by its
words. A single line is always the person's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ...knowledge.outside import addressed
from ...tools.patterns import bounded

OWN_LIMIT = 4000
"""Characters of the person's own words that are understood; more is a paste, whatever it looks like."""
SPECIAL = r"(?:<\|?[\w/-]{1,30}\|?>|\[(?:PAD|CLS|SEP|UNK|INST)\])"
"""A token that a tokenizer adds: a line that begins with one is a decoded prompt."""
DECODED = bounded(rf"(?i)^\s*{SPECIAL}")
_PASTED = bounded(
    r"^\s*(?:\[[\w./: -]+\][\s:]|\"[\w./-]+\"\s*:|\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d{1,2}:\d\d:\d\d|\[?rank ?\d|\d+:\s"
    r"|(?:INFO|WARN(?:ING)?|ERROR"
    r"|DEBUG|CRITICAL|FATAL|PANIC)\b|[A-Z]:[\\/]\w"
    r"|(?:wandb|srun|slurmstepd|torchrun|deepspeed|swanlab|kernel|dmesg)\S*: "
    r"|Traceback|File \"|\{.*[:=]|(?:[a-z]\w{0,30}\.){0,4}(?:[A-Z]\w*)?(?:Error|Exception|Warning)\s{0,8}:|\|.*\|"
    r"|[\w./-]+ ?\| ?[-+]?[\d.]+\s*$|[\w./-]{2,40}\.(?:json|log|txt|ya?ml|py|csv|err|out)(?::\d+)?: "
    r"|[\w./-]{1,80}\.[a-z]{1,4}:\d{1,6}[\])]? "
    r"|[\w./-]{2,40} [-+]?(?:\d+(?:\.\d+)?(?:e-?\d+)?|nan|inf)\s*$|(?:step|iter(?:ation)?"
    r"|epoch)\b\W{0,3}\d"
    r"|[-+\w./]+(?:\s*[,;\t]\s*[-+\w./%]+){2,}\s*$|[-+\w./]+(?:[,;\t][-+\w./%]+)+\s*$"
    r"|\s*[\w.-]+\s*[:=]\s*\S{1,60}\s*$|[a-z_]{2,20} [a-z_]{2,20}: (?:[-+\d.e]{1,20}|true|false|none)\s*$"
    r"|[IWEF]\d{4} |[#$>]\s|Processing"
    r"|\s{2,}\S"
    r"|at \S+\(|[@+-]{2,}|" + SPECIAL + r"\s{0,2}\S)",
    re.IGNORECASE,
)
_NUMBER = bounded(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?%?(?![\w.]*\w)", re.IGNORECASE)
_WORD = bounded(r"[a-z]{2,}|[\u3400-\u9fff]", re.IGNORECASE)
_RESULT = bounded(r"\S\s*=\s*[-+]?(?:\d|nan|inf)[^?？。!]*$", re.IGNORECASE)
_CURVES = bounded(
    r"\W*(?:epoch|step|iter(?:ation)?)s?[\s,;|]+train(?:ing)?[\s,;|]+(?:val(?:id(?:ation)?)?|eval)\W*$", re.IGNORECASE
)
_FIGURE = bounded(r"[-+]?\d[\d.,]{0,20}(?:e[-+]?\d{1,3})?")
MESSAGES = 200
"""Lines of a message in which known error messages are looked for."""
ROW = 120
"""Characters of a line up to which it can be a row like another."""
_CODED = bounded(r"[()\[\]{}=<>_]|--\w|::|\w\.\w{2}")
"""What programs write and a person telling of a trouble seldom does: calls, options, members."""
_WITHIN = bounded(
    r"\b(?:this|the) (?:file|log|line|script|config\w*|document|table)\b|\b(?:reads?|reading|parsing|sees) this\b"
    r"|[本此][文行段]件?|本日志|[读看]到[这此本]",
    re.IGNORECASE,
)
"""What speaks of the text in which it stands: a person does not, in a message of their own."""
_VALUE = bounded(r"[-+\d.e]*\d")
_FENCE = bounded(r"\s*```")
FENCE = "```"
MOSTLY_LOG, LOG_LINES = 0.5, 3
"""A message is a paste with a few words where more than this share of its lines, and so many, have a paste's shape."""
_VOICE = bounded(
    r"[?？]\W*$|(?<![\w./])I(?![\w./])|\b(?:I'|i'|i (?:am|have|had|was|think|guess|see|get|got|use|want|will"
    r"|set|tried) )|\b(?:[Mm]y|[Oo]ur|we(?! (?:recommend|will|strongly|use|cannot)\b))\b|^\W*[Hh]ere(?:'s| is| are)\b"
    r"|^[a-z][^=]{2,80}:\s*$"
    r"|[我咱]|为什么|为啥|怎么|是不是|吗|帮|如下|^[\u3400-\u9fff\w，,、 ]{2,30}[：:]\s*$"
)
"""What a person says around a log: asks, speaks of themselves, or announces what follows; programs say "you"."""
_PAIR = bounded(
    r"(?<![a-z])(?!(?:cuda|npu|xpu|gpu|localhost):)[a-z_/.-][\w/.-]*\s*[:=]\s*[-+]?(?:\d|nan|inf)", re.IGNORECASE
)
_SENTENCE = bounded(r"(?<=[.!?;])(?=\s|[\u3400-\u9fff]|$)\s*|(?<=[。！？；])(?![。！？；…”’」』）)])\s*|\n+")
_CLAUSE = bounded(
    r"[,，;；](?!\s{0,3}(?:no|right|huh|eh|yes|yeah|correct|agree|innit)\W{0,3}$)\s*|(?<!bet)(?<!guess)(?<!theory)(?<!hunch)(?<!suspect)(?<!verdict)(?<!diagnosis)[:：](?!\s?\d)\s*|\s+-+\s+"
    r"|\s+(?=(?:(?<!anything )(?<!thing )(?<!nothing )(?<!no one )(?<!could be )(?<!all )but|so(?! (?:sure"
    r"|certain|convinced|much|far|many|high|low|big|small|bad))"
    r"|and (?:i|we|my|then|now)|because|since|although|though"
    r"|whereas|yet"
    r"|instead(?! of\b))\b)"
    r"|(?<!不是)(?=但是?|不过|所以|因为|而且|然后|虽然)",
    re.IGNORECASE,
)


def split(text: str) -> tuple[str, str, tuple[int, ...]]:
    """The person's own words, the pasted lines, and the numbers of the lines that speak to an assistant.

    The last are in neither part: whatever they say is no evidence and no question.
    """
    lines = text.splitlines()
    if len(lines) < 2:
        return (text, "", ()) if len(text) <= OWN_LIMIT else (text[:OWN_LIMIT], text, ())
    pasted = _with_messages(lines, list(_pasted(lines)))
    orders = set(_orders(lines, pasted))
    kept = [(line, paste) for n, (line, paste) in enumerate(zip(lines, pasted, strict=True), 1) if n not in orders]
    lines = [line for line, _ in kept]
    kept = list(zip(lines, _within(lines, [paste for _, paste in kept]), strict=True))
    own = [line for line, paste in kept if not paste and line.strip() and not _FENCE.match(line)]
    log = [line for line, paste in kept if paste and not _FENCE.match(line)]
    return "\n".join(own)[:OWN_LIMIT], "\n".join(log), tuple(sorted(orders))


def _pasted(lines: Sequence[str]) -> Iterator[bool]:
    """Of each line, whether it was pasted; what stands between fences was, whatever it looks like, and so were short
    lines that differ in their numbers alone."""
    fenced, columns = False, 0
    forms = Counter(_FIGURE.sub("0", line) for line in dict.fromkeys(lines) if len(line) <= ROW)
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        row = columns > 1 and line.count(",") >= columns and " " not in line.split(",")[0]
        alike = "0" in (form := _FIGURE.sub("0", line)) and forms[form] > 1
        paste = fenced or row or alike or _looks_pasted(line)
        columns = line.count(",") if paste else 0
        yield paste


def _with_messages(lines: Sequence[str], pasted: Sequence[bool]) -> list[bool]:
    """Of each line, whether it was pasted: so is a message of a library that a signature knows, in which nobody
    speaks, beside what was pasted or with a program's marks in it; the first line is a person's."""
    out = list(pasted)
    for n, line in enumerate(lines[:MESSAGES]):
        beside = (n and out[n - 1]) or (n + 1 < len(lines) and pasted[n + 1])
        if n and not out[n] and (beside or _CODED.search(line)) and not _VOICE.search(line):
            out[n] = is_message(line)
    return out


def is_message(line: str) -> bool:
    """Whether a row of the error signatures is proven by the line."""
    from ...tools.logs.signatures.match import says  # the table takes a while to load, and most messages are short

    return bool(line.strip()) and says(line)


def _within(lines: Sequence[str], pasted: Sequence[bool]) -> list[bool]:
    """Of each line, whether it is the paste's: in a paste so is what no person would say there, whatever its shape,
    between its lines and right behind them; before it people write as they like."""
    if not mostly_log(lines, pasted):
        return list(pasted)
    out, inside, near, last = list(pasted), False, False, max(n for n, paste in enumerate(pasted) if paste)
    for n, line in enumerate(lines):
        inside, blank = inside or pasted[n], not line.strip()
        near = pasted[n] or (near and not blank)
        out[n] = pasted[n] or (inside and not blank and (n < last or near) and not _VOICE.search(line))
    return out


def mostly_log(lines: Sequence[str], pasted: Sequence[bool] | None = None) -> bool:
    """Whether most lines have the shape of a log's."""
    told = [paste for line, paste in zip(lines, pasted or list(_pasted(lines)), strict=True) if line.strip()]
    return sum(told) >= LOG_LINES and sum(told) > MOSTLY_LOG * len(told)


def has_log(lines: Sequence[str]) -> bool:
    """Whether any of the lines has the shape of a log's."""
    return any(_pasted(lines))


def fenced(text: str) -> str:
    """A text between fences, by which all of it is a paste."""
    return "\n".join((FENCE, *(re.sub(r"^\s*```", "'''", line) for line in text.splitlines()), FENCE))


def piped(text: str) -> str:
    """What came through a pipe: of a log only the first and the last lines can be a person's, where they speak like
    one; what is no log is left as it is."""
    lines = text.splitlines()
    if not mostly_log(lines):
        return text
    spoken = [_spoken(line) for line in lines]
    begin = next((n for n, own in enumerate(spoken) if not own), 0)
    end = len(lines) - next((n for n, own in enumerate(reversed(spoken)) if not own), 0)
    return "\n".join((*lines[:begin], fenced("\n".join(lines[begin:end])), *lines[end:]))


def _spoken(line: str) -> bool:
    return not line.strip() or (not _looks_pasted(line) and _VOICE.search(line) is not None)


def _looks_pasted(line: str) -> bool:
    if _PASTED.match(line) or _RESULT.search(line) or len(_PAIR.findall(line)) > 1 or len(line) > 600:
        return True
    numbers = len(_NUMBER.findall(line))
    return numbers > 2 and len(_WORD.findall(line)) <= numbers


def _orders(lines: Sequence[str], pasted: Sequence[bool]) -> Iterator[int]:
    """One-based numbers of the lines that speak to an assistant, in a message that holds evidence or where they speak
    of the text in which they stand.

    Whether such a line looks pasted does not matter: who orders takes care that it does not. What people ask of triage
    themselves is told by its wording.
    """
    evidence = any(pasted)
    spoken = ((n, line) for n, line in enumerate(lines, 1) if evidence or _WITHIN.search(line))
    yield from (n for n, line in spoken if addressed(line))


def as_run(pasted: str) -> str:
    """The paste as the tools read it: a table headed `epoch, train, val` that falls is one of losses."""
    lines = pasted.splitlines()
    for n, line in enumerate(lines):
        if _CURVES.match(line):
            rows = [found for row in lines[n + 1 :] if len(found := _VALUE.findall(row)) > 2]
            if len(rows) > 1 and _falls(rows[0][1], rows[-1][1]):
                lines[n] = re.sub(r"(?i)\b(train|val|eval)\w*", lambda m: m[1].lower() + "_loss", line)
    return "\n".join(lines)


def _falls(first: str, last: str) -> bool:
    try:
        return float(first) > float(last)
    except ValueError:
        return False


def sentences(text: str) -> list[str]:
    """Sentences and lines, without empty ones."""
    return [s for part in _SENTENCE.split(text) if (s := part.strip())]


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence that say one thing each."""
    return [c for part in _CLAUSE.split(sentence) if (c := part.strip())]
