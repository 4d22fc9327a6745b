"""The ledger of one case: everything that may be cited, each row with an id. It makes the prompt, vouches for what a
reply says, and draws the evidence beside it.

Ids are stable from turn to turn: the rows of the case come first and in the same order, then each turn adds the
person's words (`P`), triage's own answer to them (`A`) and the results of tools (`T`). Text of a run is fenced as data;
a line in it that speaks to a machine is kept, because it may be the evidence, and noted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ...knowledge.outside import addressed
from ...tools.findings import Finding, clean
from ...tools.looking.search import quote
from ...tools.looking.told import apart, exact, measured, together
from ...tools.relate.moves import described
from ...tools.relate.relate import Related
from ...tools.series import Series
from ...tools.vocabulary import VOCABULARY
from ..answer import Answer
from ..evidence import Look
from ..narrate.answer import headline
from ..narrate.entry import answered, criterion, standing
from ..propose import Proposal

MOST = {"F": 20, "V": 40, "R": 16, "M": 16, "Q": 6, "L": 8, "B": 8}
"""Rows of a kind in a prompt; which kinds there are is said in `prompts/system.md`."""
GROUPS = 3
"""Groups or ranks from which on a measure is one row."""
QUOTED = 1_500
"""Bytes up to which a file that no reader knows is quoted whole."""
_ROW = re.compile(r"^\[([PAT]\d+)\] ", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One thing that may be cited."""

    id: str
    text: str
    """In the language of the answer."""
    place: str = ""
    """`file:line`, where a file shows it."""

    def said(self) -> str:
        return f"[{self.id}] {self.text}" + (f" ({self.place})" if self.place and self.place not in self.text else "")


@dataclass
class Ledger:
    """The rows of one case, growing with every turn and tool result."""

    answer: Answer
    rows: dict[str, Row] = field(default_factory=dict)
    orders: list[str] = field(default_factory=list)
    """Places whose text speaks to a machine."""
    leader: str = ""
    """The row of the diagnosis's leading cause, if the evidence supports one."""

    @classmethod
    def of(cls, answer: Answer, tokens: int = 6_000) -> Ledger:
        """The case's rows, the most telling kinds first, as many as fit."""
        ledger = cls(answer)
        room, used, told = float(tokens), Counter[str](), set[str]()
        for kind, text, place in ledger._case():
            if text in told or used[kind] >= MOST.get(kind, 100):
                continue  # two files of a run may tell the same
            told.add(text)
            room -= cost(text) + 8
            if room > 0:
                used[kind] += 1
                ledger._put(f"{kind}{used[kind]}", text, place)
        top = answer.diagnosis.top
        ledger.leader = "C1" if top and answer.diagnosis.state == "diagnosed" and "C1" in ledger.rows else ""
        return ledger

    def prompt(self) -> str:
        """The case's rows, one a line."""
        return "\n".join(row.said() for row in self.rows.values() if row.id[0] not in "PAT")

    def asked(self, question: str) -> str:
        """The person's words of this turn and triage's own answer to them, as two new rows."""
        n = self._next("P")
        own = " ".join(self.answer.head) or headline(self.answer.diagnosis, self.answer.lang, bool(self.answer.seen))
        self._put(f"P{n}", self._quote(question, "the question", 2_000))
        self._put(f"A{n}", clean(own.replace("**", ""), 1_200))
        return f"{self.rows[f'P{n}'].said()}\n{self.rows[f'A{n}'].said()}"

    def result(self, tool: str, args: dict[str, Any], text: str) -> str:
        """A tool's result as a new row: its text with the id before it."""
        n = self._next("T")
        called = f"{tool}({', '.join(f'{k}={clean(str(v), 120)}' for k, v in args.items())})"
        self.noted(text, f"T{n}")
        text = text.replace("«", "<").replace("»", ">")
        self._put(f"T{n}", f"{called}:\n«{text}»", called)
        return f"[T{n}] {called}:\n«{text}»"

    def recall(self, said: Iterable[str]) -> None:
        """The rows of earlier turns, out of what was sent then."""
        for text in said:
            parts = _ROW.split(text)
            for id, body in zip(parts[1::2], parts[2::2], strict=True):
                self._put(id, body.strip(), body.partition(":\n")[0] if id[0] == "T" else "")

    def noted(self, text: str, place: str) -> None:
        """Note the place where the text speaks to a machine."""
        if any(addressed(line) for line in text.splitlines()[:200]) and place not in self.orders:
            self.orders.append(place)

    def _next(self, kind: str) -> int:
        """The number of the next row of a kind: earlier turns may have been left out."""
        return 1 + max((int(id[1:]) for id in self.rows if id[0] == kind), default=0)

    def _put(self, id: str, text: str, place: str = "") -> None:
        self.rows[id] = Row(id, text, place)

    def _quote(self, text: str, place: str, limit: int = 240) -> str:
        """A run's words as fenced data."""
        text = clean(text, limit).replace("«", "<").replace("»", ">")
        self.noted(text, place)
        return f"«{text}»"

    def _case(self) -> Iterator[tuple[str, str, str]]:
        """(kind, text, place) of every row of the case, the most telling kinds first."""
        a = self.answer
        yield "L", f"state of the diagnosis: {a.diagnosis.state}" + ("" if a.seen else "; no run was given"), ""
        for f in a.diagnosis.findings:
            yield "F", self._finding(f), _place(f)
        yield from (("C", text, "") for text in self._causes())
        yield from (("X", text, place) for text, place in self._change())
        if a.seen:
            yield from (("Q", *one) for one in self._unread(a.seen))
            yield from (("R", text, place) for text, place in _relations(a.seen))
            yield from (("R", *one) for one in self._told(a.seen))
            yield from (("M", text, place) for text, place in _measures(a.seen))
            yield from (("V", *one) for one in self._settings(a.seen))
        yield from (("L", text, "") for text in self._looked())
        yield from (("B", *one) for one in self._books())

    def _finding(self, f: Finding) -> str:
        words = next((e.text for e in f.evidence if e.text), None)
        said = clean(f.say(self.answer.lang), 500)
        if addressed(said) or (words and words[:30] in said):  # the message holds the run's own words
            said, words = self._quote(said, _place(f), 500), None
        return f"{f.severity} {f.code}: {said}" + (f" {self._quote(words, _place(f))}" if words else "")

    def _causes(self) -> Iterator[str]:
        d, lang = self.answer.diagnosis, self.answer.lang
        number = {id(f): f"F{i}" for i, f in enumerate(d.findings, 1)}
        for h in d.hypotheses:
            cause = f"; {h.cause.text.say(lang)}" if h.cause else ""
            sides = "; ".join(
                f"{side} {', '.join(number[id(f)] for f in found)}"
                for side, found in (("for", h.for_), ("against", h.against))
                if found
            )
            yield f"{h.entry.id}: {h.entry.title.say(lang)}{cause}; {standing(h, lang)}, {h.percent}; {sides}"

    def _change(self) -> Iterator[tuple[str, str]]:
        p, lang = self.answer.proposal, self.answer.lang
        if not isinstance(p, Proposal):
            yield f"triage proposes no change: {p.say(lang)}", ""
            return
        old = f" {clean(p.old)} ->" if p.old else ":"
        yield f"triage's one change: {p.key}{old} {p.new}. {p.why} {p.expect}", f"{p.file}:{p.line}" if p.file else ""
        yield "it is fixed when: " + "; ".join(criterion(c, lang) for c in p.acceptance), ""

    def _unread(self, seen: Look) -> Iterator[tuple[str, str]]:
        """Small files that no reader knew, whole."""
        paths = {s: seen.run.root / s for s in (c.file for c in seen.coverage if c.read_as is None)}
        for name, path in islice(paths.items(), 40):
            if not path.is_symlink() and path.is_file() and (text := quote(path, QUOTED)):
                yield f"{clean(name, 120)}, no reader knew it: {self._quote(text, name, QUOTED)}", clean(name, 120)

    def _told(self, seen: Look) -> Iterator[tuple[str, str]]:
        """What documents and logs tell happened, and what they plan or promise."""
        for e in islice(seen.events, 6):
            place = clean(f"{e.file}:{e.line}", 120)
            yield (
                f"{e.what} event" + (f" at step {e.step}" if e.step else "") + f": {self._quote(e.text, place, 160)}",
                place,
            )
        for c in islice(seen.claims, 6):
            place = clean(f"{c.file}:{c.line}", 120)
            yield f"said of {clean(c.of, 60)}: {c.value:.10g} {c.unit}: {self._quote(c.text, place, 160)}", place

    def _settings(self, seen: Look) -> Iterator[tuple[str, str]]:
        for s in seen.settings:
            place = f"{clean(s.file or '', 80)}:{s.line}"
            yield f"{s.variable} = {self._quote(str(s.value), place, 60)} ({clean(s.key, 60)})", place

    def _looked(self) -> Iterator[str]:
        groups: dict[str, list[str]] = {}
        for check in self.answer.diagnosis.checks:
            why = f" ({clean(check.say(self.answer.lang), 120)})" if check.result == "failed" else ""
            groups.setdefault(check.result, []).append(clean(check.name, 60) + why)
        for result in ("failed", "too-short", "clear", "not-applicable"):
            if names := list(dict.fromkeys(groups.get(result, ()))):
                yield f"checks {result}: {', '.join(names[:30])}"
        seen = self.answer.seen
        if files := [f"{clean(c.file, 80)} ({c.read_as or 'not read'})" for c in (seen.coverage if seen else ())]:
            yield f"files: {', '.join(files[:40])}" + (f" and {len(files) - 40} more" if files[40:] else "")
        if unread := [clean(c.file, 80) for c in (seen.coverage if seen else ()) if c.missed]:
            yield f"files not read: {', '.join(unread[:20])}"

    def _books(self) -> Iterator[tuple[str, str]]:
        a = self.answer
        for h in a.diagnosis.hypotheses[:3]:
            check = "" if answered(h, a.diagnosis) else h.entry.check_first.say(a.lang)
            says = clean(next(iter(h.entry.said(a.lang).values()), ""), 300)
            yield f"runbook on {h.entry.id}: {says}" + (f" Check first: {check}" if check else ""), ""
        for p in a.passages:
            place = clean(f"{p.file}:{p.line}", 160)
            yield f"the person's own runbook: {self._quote(p.text, place, 400)}", place


def cost(text: str) -> float:
    """Tokens of a text, about: three letters of English make one, a Chinese character most of one."""
    wide = sum(c > "\u2e80" for c in text)
    return (len(text) - wide) / 3 + wide * 0.8


def _place(f: Finding) -> str:
    e = next((e for e in f.evidence if e.file), None)
    return "" if e is None else clean(f"{e.file}:{e.line}" if e.line else str(e.file), 160)


def _relations(seen: Look) -> Iterator[tuple[str, str]]:
    """The quantities of the run's arithmetic, and the clearest changes of its measures."""
    related = next((r for r in seen.reports if isinstance(r, Related)), None)
    if related is None:
        return
    for q in islice(related.quantities.values(), 8):
        yield f"{q.name} = {exact(float(q.value))}: {clean(q.formula, 160)}", ""
    moves = [(m, max(m.lasting, key=lambda c: c.strength)) for m in related.moves if m.lasting]
    for m, c in sorted(moves, key=lambda mc: -mc[1].strength):
        yield f"{clean(described(m, c)[0], 160)} at {m.line.where(c.i)}", f"{clean(m.line.file, 80)}:{m.line.at[c.i]}"


def _measures(seen: Look) -> Iterator[tuple[str, str]]:
    """Every measure with its ends and extremes, the known ones first; one of many groups or ranks in one row."""
    alike: dict[tuple[object, ...], list[Series]] = {}
    for s in sorted(seen.series, key=lambda s: s.metric not in VOCABULARY):
        alone = () if apart(s) else (id(s),)
        if len(s):
            alike.setdefault((s.key, s.file if s.rank is None else "", s.attempt, *alone), []).append(s)
    for found in alike.values():
        many = len(found) >= GROUPS
        for s in found[: 1 if many else None]:
            rank = f" rank {s.rank}" if s.rank is not None and not many else ""
            told = together(found) if many else measured(s) + (f" ({apart(s)})" if s.group else "")
            yield f"{clean(s.key, 60)}{rank}: {told}", clean(s.file, 80)
