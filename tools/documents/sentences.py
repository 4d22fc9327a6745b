"""The sentences of a note, chat, timeline or commit log, each with when it was said and what its heading makes of it.

Fenced code is passed over, a heading's date and meaning (plan, to-do) holds for what is below it, a message's or a
commit's for its lines. What a sentence says is `changes` and `claims`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..patterns import bounded
from ..reading import Line
from .stamps import Calendar, Stamp, steps
from .words import PLAN_HEADING, WISH_HEADING

LINE_LIMIT = 4000
"""Characters of a line that are read: more is a blob and no sentence."""
Mode = Literal["told", "plan", "wish", "chat", "commit", "body"]
"""`body` is what a commit says below its subject."""


@dataclass(frozen=True)
class Sentence:
    line: int
    text: str
    """Normalised: half-width marks, one kind of arrow, no thousands separators, no stamp at its head."""
    raw: str
    """The whole line as it stands."""
    stamp: Stamp
    mode: Mode
    item: bool
    """Begins a list item or a table row."""
    heading: str = ""
    entry: bool = False
    """It stands below, or is, a heading that begins with a date: the entry of a log."""


_WIDE = str.maketrans("，：；（）！？“”‘’【】　～", ",:;()!?\"\"''[] ~") | {ord("。"): ". ", ord("、"): ", "}
_ARROW = bounded(r"\s*(?:-{1,3}>|={1,2}>|[→⇒➜⟶➔↦»]|~>|—>|–>|➡️?)\s*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MARKS = re.compile(r"\*\*|__|`|~~")
_ITEM = bounded(
    r"^\s*(?:>\s*)*(?:[-*+•·▪–—]\s+|\d{1,3}[.)]\s+|[（(]?[一二三四五六七八九十]{1,3}[、.)）]\s*"
    r"|#\d+\s+)?(?P<box>\[[ xX✓✔]\]\s*)?"
)
_HEADING = bounded(
    r"^\s{0,3}(#{1,6})\s+(?P<text>.+?)\s*#*$|^\s{0,3}\*\*(?P<bold>[^*]{2,60})\*\*:?\s*$"
    r"|^(?P<bare>[^\d\W][^:：.。,，=→]{1,38})[:：]\s*$"
)
_UNDERLINE = re.compile(r"^\s{0,3}(?:={3,}|-{3,})\s*$")
_COMMENT = re.compile(r"^\s+#|^\s*(?://|/\*|<!--)")
_STEP_CELL = bounded(
    r"^(?:global |train(?:ing)? )?(?:step|iter(?:ation)?|update)s?$|^(?:训练)?(?:步数?|迭代(?:次数|步数)?|step)$"
)
_COUNT = re.compile(r"^\d{1,9}(?:\.\d)?[kKM]?$")
_NUMBERED = re.compile(r"^\s{0,3}(\d{1,9}[kK]?)\s?:\s")
_RULE = re.compile(r"^[\s|:+=-]+$")
_WEEKDAY = bounded(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\b|(?:周|星期)[一二三四五六日天]|\b(?:date|day)\b|日期", re.I
)
_NUMBER = bounded(r"^[-+~≈*]{0,3}\d[\d.]*(?:[eE][-+]?\d+)?\s?[%a-zA-Z/]{0,8}[*]{0,2}$|^-{0,2}$")
_HASHES = re.compile(r"^\s{0,3}#{1,6}\s+")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_COMMIT = re.compile(r"^commit ([0-9a-f]{7,40})\b")
_FIELD = bounded(
    r"^(?:Author|Date|AuthorDate|Commit|CommitDate|Merge|Signed-off-by|Co-authored-by"
    r"|Change-Id|Reviewed-by):\s*(.*)$"
)
_ONELINE = bounded(r"^[*|\\/ ]*\b(?=[0-9a-f]*\d)(?=[0-9]*[a-f])[0-9a-f]{7,40}\s(?:\([^)]*\)\s)?")
_NAME = r"[^\W\d][\w.@ -]{0,30}"
_SPEAKER = bounded(rf"^[\s\])|,-]*<?@?({_NAME}?)>?(?:\s?\([^)]*\))?\s?:(?:\s|(?=[\u4e00-\u9fff]))")
_SAID = bounded(
    rf"^(?:(?P<who>{_NAME}?)\s{{1,4}}\[?(?:\d{{4}}[-/]\d\d?[-/]\d\d?\s)?\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?\]?\s*"
    rf"|\[?(?:\d{{4}}[-/]\d\d?[-/]\d\d?\s)?\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?\]?\s{{1,4}}(?P<who2>{_NAME}))$"
)
_END = re.compile(
    r"(?<=[a-z\u4e00-\u9fff)\"'%\d])(?:[.!]\s+(?=[A-Z\u4e00-\u9fff\"(])|;\s+|(?<=\?)\s+)"
    r"|(?<=[\u4e00-\u9fff])\.\s|\?\s+"
)


def normal(text: str) -> str:
    """The text as the patterns of this package expect it."""
    text = _THOUSANDS.sub("", text[:LINE_LIMIT].translate(_WIDE).replace("\u00a0", " "))
    return _ARROW.sub(" → ", _MARKS.sub("", text).replace("−", "-"))


def sentences(lines: Sequence[Line], name: str) -> Iterator[Sentence]:
    """The sentences of a document's lines, in order."""
    return _Reader(lines, name).run()


class _Reader:
    def __init__(self, lines: Sequence[Line], name: str):
        self.lines = lines
        self.calendar = Calendar()
        self.calendar.heading(name.rpartition("/")[2])
        self.calendar.forget()  # a file is written on a day, and tells of others
        self.mode: Mode = _heading_mode(re.sub(r"[_.-]", " ", name.rpartition("/")[2]), "told")
        self.title_mode: Mode = self.mode
        self.heading = ""
        self.levels: list[tuple[int, Mode]] = []
        self.dated = 0
        self.entry = False
        self.said = Stamp()
        self.talk: Mode | None = None
        self.fenced = False
        self.subject = True
        self.column: int | None = None
        self.numbered = _numbered(lines)
        self.speakers = _speakers(lines)
        self.heads = _heads(lines)

    def run(self) -> Iterator[Sentence]:
        for i, (number, raw) in enumerate(self.lines):
            raw = raw[:LINE_LIMIT]
            if _FENCE.match(raw):
                self.fenced = not self.fenced
            elif not self.fenced and raw.strip() and not _COMMENT.match(raw) and not self._frame(raw, i):
                yield from self._said(number, raw)

    def _frame(self, raw: str, i: int) -> bool:
        """Whether the line only frames others: a heading, a commit's or message's head, a rule."""
        if _COMMIT.match(raw):
            self.said, self.talk, self.subject = Stamp(), "commit", True
            return True
        if self.talk == "commit" and (field := _FIELD.match(raw.strip())):
            if "Date" in raw[:12]:
                self.said = Stamp(at=Calendar().read(field[1])[0], dated=True)
            return True
        plain = normal(raw)
        if len(plain) < 70 and (said := _SAID.match(plain.strip())) and (said["who"] or said["who2"]) in self.heads:
            at, dated, _ = self.calendar.read(re.sub(rf"^{_NAME}?\s{{1,4}}\[?(?=\d)", "", plain.strip()))
            self.said, self.talk = Stamp(at=at, dated=dated), "chat"
            return True
        at, (start, end) = self.calendar.read(plain)[1:]
        if (
            at
            and not re.search(r"[^\W\d_]{4}|\d", _WEEKDAY.sub("", plain[:start] + plain[end:]))
            and not re.search(r"\d:\d", plain)
        ):
            self._headed(plain, 6)
            return True
        follows = self.lines[i + 1][1] if i + 1 < len(self.lines) else ""
        found = _HEADING.match(raw)
        if found or (_UNDERLINE.match(follows) and len(raw) < 80 and "|" not in raw):
            text = next((g for g in found.group("text", "bold", "bare") if g), raw) if found else raw
            self._headed(normal(text), len(found[1]) if found and found[1] else 7 if found else 1)
            rest = re.sub(r"[\W\d_]", "", text)
            told = steps(normal(text))[0] is not None or (self.entry and self.dated and len(rest) > 3)
            return not (found and found["text"] and told)
        if "|" in raw and "-" in follows and _RULE.match(follows):
            cells = [cell.strip().lower() for cell in plain.strip(" |").split("|")]
            self.column = next((n for n, cell in enumerate(cells) if _STEP_CELL.match(cell)), None)
            if "UTC" in plain:
                self.calendar.heading(plain)
            return True
        return bool(_UNDERLINE.match(raw) or _RULE.match(raw))

    def _headed(self, text: str, level: int) -> None:
        dated, (start, _) = self.calendar.read(text)[1:]
        if self.calendar.heading(text):
            self.dated, self.entry = level, dated and start <= 2
        elif level <= self.dated:
            self.calendar.forget()
            self.dated, self.entry = 0, False
        while self.levels and self.levels[-1][0] >= level:
            self.levels.pop()
        above = self.levels[-1][1] if self.levels else self.title_mode if level > 1 else "told"
        self.mode = _heading_mode(text, above)
        self.levels.append((level, self.mode))
        self.heading = text
        if self.talk == "chat" and level < 7:
            self.talk = None

    def _said(self, number: int, raw: str) -> Iterator[Sentence]:
        plain = normal(raw)
        mode: Mode = self.talk or self.mode
        if mode == "commit":
            mode, self.subject = "commit" if self.subject else "body", False
        if one := _ONELINE.match(plain):
            plain, mode = plain[one.end() :], "commit"
        plain = _HASHES.sub("", plain)
        item = _ITEM.match(plain)
        body = plain[item.end() :] if item else plain
        row = body.startswith("|")
        body = body.strip("| \t") if row else body.strip()
        if item and item["box"]:
            mode = "wish" if item["box"].strip() == "[ ]" else "told"
        if row and _is_numbers(body):
            return  # of a table, which is read as such
        body = self._counted(body, row)
        stamp, body = self._stamp(body)
        if (speaker := _SPEAKER.match(body)) and speaker[1].strip().lower() in self.speakers and mode == "told":
            body, mode = body[speaker.end() :], "chat"
        listed = row or bool(item and item.end() > 0 and plain[: item.end()].strip())
        first = True
        for part in _END.split(body):
            if part and part.strip():
                own = stamp if first else replace(self._stamp(part, keep=True)[0], head=False)
                yield Sentence(
                    number, part.strip(), raw, _or(own, stamp), mode, listed and first, self.heading, self.entry
                )
                first = False

    def _counted(self, body: str, row: bool) -> str:
        """The line with its step called so, where a column or the number at its head is one."""
        cells = body.split("|") if row and self.column is not None else []
        if self.column is not None and len(cells) > self.column and _COUNT.match(cells[self.column].strip()):
            return f"step {cells.pop(self.column).strip()}: {'|'.join(cells).strip()}"
        if self.numbered and (head := _NUMBERED.match(body)):
            return f"step {head[1]}: {body[head.end() :]}"
        return body

    def _stamp(self, body: str, keep: bool = False) -> tuple[Stamp, str]:
        """The stamp of a line, and the line without one at its head."""
        at, dated, (start, end) = self.calendar.read(body)
        step, back, span = steps(body)
        head = (dated and start <= 2) or (step is not None and span[0] <= 4 and bool(span[1]))
        if not dated and self.talk:
            at, dated = self.said.at, self.said.dated
        elif not dated and self.calendar.day and not keep:
            at = self.calendar.at
        stamp = Stamp(step, back, at, dated or at is not None, head)
        if keep:
            return stamp, body
        if dated and end and start <= 2:
            body = body[end:].lstrip(" -–—:|,.~)]起\t")
            _, _, span = steps(body)
        if step is not None and span[1] and span[0] <= 4 and not body[: span[0]].strip("([ at@"):
            rest = body[span[1] :].lstrip(" ")
            if rest[:1] in ":-–—|,)" or rest[:1] > "\u2e80":
                body = rest.lstrip(" -–—:|,)\t")
        return stamp, body


def _or(own: Stamp, line: Stamp) -> Stamp:
    """A sentence's stamp, with what only the line says."""
    step = own.step if own.step is not None else line.step
    back = own.resumed if own.resumed is not None else line.resumed
    if own.at is None or line.head:
        return Stamp(
            step, back, line.at if line.at is not None else own.at, own.dated or line.dated, own.head or line.head
        )
    return replace(own, step=step, resumed=back)


def _heading_mode(text: str, above: Mode) -> Mode:
    if WISH_HEADING.search(text):
        return "wish"
    if PLAN_HEADING.search(text):
        return "plan"
    return above if above in ("wish", "plan") else "told"


def _speakers(lines: Sequence[Line]) -> frozenset[str]:
    """Names that begin two or more dated lines: the document is a chat."""
    calendar, count = Calendar(), Counter[str]()
    for _, raw in lines[:400]:
        plain = normal(raw[:200])
        _, dated, (start, end) = calendar.read(plain)
        if dated and start <= 2 and (speaker := _SPEAKER.match(plain[end:])):
            count[speaker[1].strip().lower()] += 1
    often = frozenset(name for name, n in count.items() if n > 1)
    return frozenset(count) if often else often


def _heads(lines: Sequence[Line]) -> frozenset[str]:
    """Names that stand alone with a time, above what they said: after it twice or more, before it in two lines."""
    found = [m for _, raw in lines[:2000] if len(raw) < 70 and (m := _SAID.match(normal(raw).strip()))]
    first = [m["who"] for m in found if m["who"] and len(m["who"].split()) < 4]
    behind = Counter(m["who2"] for m in found if m["who2"])
    return frozenset(first if len(first) > 1 else ()) | {name for name, n in behind.items() if n > 1}


def _numbered(lines: Sequence[Line]) -> bool:
    """Whether the lines begin with a number and a colon, growing past what numbers a list: with their steps."""
    heads = [_NUMBERED.match(normal(raw[:40])) for _, raw in lines[:400] if raw.strip()]
    found = [int(head[1].rstrip("kK")) for head in heads if head]
    return len(found) > 2 and 2 * len(found) > len(heads) and found == sorted(found) and found[-1] > 10 * len(found)


def _is_numbers(row: str) -> bool:
    """Whether half of three or more cells of a row are numbers."""
    cells = [cell.strip() for cell in row.split("|")]
    return len(cells) > 2 and 2 * sum(_NUMBER.match(cell) is not None for cell in cells) >= len(cells)
