"""A case as people talk about it: questions and follow-ups on the same runs, the next check, the next run's verdict.

The terminal chat, the web app and Slack are views of this one object. It keeps no thread and no open file; everything
that must survive is in the casebook.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..knowledge.embedding import BUILT_IN
from ..knowledge.entry import Entry
from ..tools.boundary import Boundary
from ..tools.findings import Evidence, TriageError, clean
from ..tools.keeping import losses, lost
from ..tools.looking.lines import Excerpt, excerpts
from ..tools.phrase import Phrase, phrases
from ..tools.run import newest, stamped
from .answer import Answer
from .casebook import BOOK, Casebook, Unusable, new_id
from .events import Event, Listen, Notice, Token, ToolStarted, ignore
from .evidence import Look
from .paths import gather
from .question.parts import split
from .question.understand import understand
from .session import absolute, ask, index, language, note, shown
from .turns.followup import follow_up
from .turns.rejoinder import rejoin, verdicts
from .wording.server import configured
from .wording.tongue import PLEASE, third
from .wording.turn import Wording, same, worded

if TYPE_CHECKING:
    from .acceptance.verify import Verdict

NEXT_CHANGE = Phrase(
    "No check is left: what was found answers it. Change one thing: `{key}` {old} -> {new}",
    "没有需要再做的检查：已有发现给出了答案。只改一处：`{key}` {old} -> {new}",
)

SAID = phrases(
    "what became of the run of a case",
    ("gone", "The run of this case is no longer at {gone}; what is given now is read instead.",
     "本案例的运行已不在 {gone}；改为读取现在给出的路径。"),
    ("changed", "The run has changed since the last answer: it was read and diagnosed anew.",
     "上次回答之后运行内容有变化：已重新读取并诊断。"),
)  # fmt: skip


@dataclass(frozen=True)
class VerdictMade(Event):
    verdict: Verdict


@dataclass(frozen=True)
class Answered(Event):
    """The last event of a turn that answers: all of it again, whole."""

    answer: Answer


class Conversation:
    """One case, opened by its first question or continued from the casebook.

    Args:
        home: the data directory, as `casebook.home` gives it.
        case: a case to continue; its runs are read again at the next question.
        lang: `en`, `zh`, or `auto` for the language of each message.
        use_model: whether the model server that the environment names adds to the answers.
        brief: whether an answer streams as what fits a screen; the whole one is what a turn returns.

    Raises:
        TriageError: there is no such case, or the environment names a malformed server.
    """

    def __init__(
        self,
        home: Path,
        case: str = "",
        lang: str = "auto",
        encoder: str = BUILT_IN,
        use_model: bool = True,
        brief: bool = False,
    ):
        self.home, self.case, self.lang, self.encoder, self.brief = home, case, lang, encoder, brief
        self.model = configured() if use_model else None
        self._by = Wording(self.model, Boundary(self.model.hide if self.model else ()), home, brief)
        self.answer: Answer | None = None
        self._stamp: tuple[object, ...] = ()
        self.paths: tuple[Path, ...] = ()
        self._said, self._since = "", 0.0
        if case:
            kept = Casebook(home).get(case)
            self.paths, self._said = tuple(map(Path, kept.runs)), kept.question
            answered = [event["at"] for event in kept.events if event["kind"] == "answer"]
            self._since = datetime.fromisoformat(answered[-1]).timestamp() if answered else 0.0

    def ask(self, text: str, paths: Sequence[Path] = (), listen: Listen = ignore) -> Answer:
        """One turn. Paths given now are read together with those of earlier turns.

        Raises:
            TriageError: a path does not exist, or nothing can be read.
        """
        with losses() as told:
            answer = self._answer(text, paths, listen)
        for line in told:
            listen(Notice(line))
        listen(Answered(answer))
        return answer

    def _answer(self, text: str, paths: Sequence[Path], listen: Listen) -> Answer:
        together = self._together(paths, listen)
        stamp, case = stamped(together), self.case or new_id()
        if together == self.paths and self._changed(stamp):
            listen(Notice(SAID["changed"].say(self._lang(text))))
        seen = self.answer.seen if self.answer and stamp == self._stamp else None
        if follow := self._follow_up(text, together, seen):
            return self._told(follow, listen)
        whole = self._whole(text)
        answer = ask(whole, together, self.lang, self.home, None, False, self.encoder, listen, seen)
        before = self.answer if together == self.paths else None
        unmoved = before and stamp == self._stamp and not self.model
        if before and unmoved and answer.seen and same(answer, before):
            answer = replace(answer, only=verdicts(replace(answer, lang=self._lang(text)), whole == text))
        answer = worded(replace(answer, case=case), text, self._by, listen, before)
        answer = note(answer, together, self.home, self.case)
        if self.case and answer.case and together != self.paths:
            Casebook(self.home).set_runs(case, absolute(together))
        self.paths, self.case, self.answer, self._stamp = together, answer.case, answer, stamp
        return answer

    def _together(self, paths: Sequence[Path], listen: Listen) -> tuple[Path, ...]:
        """The runs of earlier turns and those given now, each once.

        Raises:
            TriageError: the case's runs are gone, and none is given in their place.
        """
        gone = [p for p in self.paths if not p.exists()]
        where = clean(", ".join(map(str, gone)), 300)
        if gone and len(gone) == len(self.paths) and not paths:
            raise TriageError(f"the run of case {self.case} is no longer at {where}; give the path where it is now")
        if gone:
            listen(Notice(SAID["gone"].say(self._lang(""), gone=where)))
        there = tuple(p for p in self.paths if p not in gone)
        known = absolute(there)
        return (*there, *(p for p in dict.fromkeys(paths) if str(p.absolute()) not in known))

    def _changed(self, stamp: tuple[object, ...]) -> bool:
        """Whether the runs are others than at the last answer, of this process or of the case."""
        if self.answer:
            return bool(self._stamp) and stamp != self._stamp and not isinstance(stamp[-1], float)
        return bool(self._since) and newest(stamp) > self._since + 1  # a case keeps whole seconds

    def _lang(self, text: str) -> str:
        return language(text or self._said) if self.lang == "auto" else self.lang

    def _follow_up(self, text: str, together: Sequence[Path], seen: Look | None) -> Answer | None:
        """The last answer with what this message is told, if nothing has to be looked at anew for it."""
        if not self.answer or together != self.paths or (self.paths and seen is None):
            return None
        lang = self._lang(text)
        last = replace(self.answer, lang=lang, only="")
        if third(split(text)[0]):
            told = PLEASE.say(lang)
        else:
            books = index(self.home, self.encoder)
            asked = understand(text, books.corrected)
            about = None if asked.pasted or self.model else rejoin(asked, last, books)
            told = about or follow_up(asked, last, self.excerpts)
        return replace(last, question=shown(text), only=told) if told else None

    def _told(self, answer: Answer, listen: Listen) -> Answer:
        for piece in answer.text.splitlines(keepends=True):
            listen(Token(piece, lines=True))
        return answer

    def _whole(self, text: str) -> str:
        """A follow-up that names no failure of its own ("and now?") is read together with what was asked before."""
        if self._said and "\n" not in text and not index(self.home, self.encoder).covers(text):
            return f"{self._said} {text}"
        self._said = text
        return text

    def drop(self, path: Path) -> None:
        """Read this run no more; the answer stands until the next question."""
        self.paths, self._stamp = tuple(p for p in self.paths if p != path), ()
        if self.case:
            Casebook(self.home).set_runs(self.case, absolute(self.paths))

    def verify(self, candidate: Path, entry: str = "", listen: Listen = ignore) -> Verdict:
        """Judge the next run against the case's first run, by the entry that its answer leads with, and note it.

        Raises:
            TriageError: no run to compare with, no diagnosis, an unknown entry, or an unreadable path.
        """
        if not self.paths:
            raise TriageError("this case has no run to compare with: give the failed run first")
        listen(ToolStarted("verify"))
        from .acceptance.verify import verify
        from .narrate.verdict import verdict_text

        chosen, last = self._entry(entry), self.last()
        verdict = verify(self.paths, candidate, chosen, last.get("run") or "", to_leave(last, chosen))
        text = verdict_text(verdict, self._language())
        with losses() as told:
            keep_verdict(self.home, self.case, verdict, text)
        for line in told:
            listen(Notice(line))
        listen(VerdictMade(verdict))
        for piece in text.splitlines(keepends=True):
            listen(Token(piece))
        return verdict

    def last(self) -> dict[str, Any]:
        """The last answer in its public form, a continued case's too; empty before the first one."""
        if self.answer:
            return self.answer.as_json()
        return next(answers(self.case, self.home), {})

    def _language(self) -> str:
        return self.last().get("lang", "en") if self.lang == "auto" else self.lang

    def _entry(self, named: str) -> Entry:
        return criteria_entry(named, self.case, self.paths[0], self.home)

    def next_check(self) -> str:
        """The cheapest read-only check that would tell the leading causes apart, or the change where none is left."""
        last = self.last()
        leading, change = last.get("hypotheses", [])[:1], last.get("proposal")
        if leading and not leading[0]["check_first"] and change:
            return NEXT_CHANGE.say(last["lang"], key=change["key"], old=change["old"], new=change["new"])
        return leading[0]["check_first"] if leading else ""

    def excerpts(self, finding_id: str) -> list[Excerpt]:
        """The lines around every place that a finding of the last answer (`F1`, ...) names.

        Raises:
            TriageError: the last answer has no such finding, or its run cannot be read any more.
        """
        findings = {f["id"]: f for f in self.last().get("findings", [])}
        if finding_id not in findings:
            raise TriageError(f"no finding {finding_id!r} in the last answer; it has F1 to F{len(findings)}")
        with gather(self.paths) as run:
            files = {a.name: a.path for a in run.artifacts}
        places = [Evidence(**place) for place in findings[finding_id]["evidence"]]
        return [e for p in places if p.file in files and p.line for e in excerpts(files[p.file], [p])]


def keep_verdict(home: Path, case: str, verdict: Verdict, text: str) -> None:
    """Note it in the case, if there is one; a casebook that cannot be used is said."""
    if case:
        try:
            Casebook(home).record(case, "verdict", verdict.as_json(text), status=verdict.verdict)
        except Unusable as error:
            lost(home / BOOK, "not kept", error.why)


def answers(case: str, home: Path) -> Iterator[dict[str, Any]]:
    """The answers of a case in their public form, the last first; nothing without a case."""
    events = Casebook(home).get(case).events if case else []
    return (e["content"] for e in reversed(events) if e["kind"] == "answer")


def to_leave(answer: Mapping[str, Any], entry: Entry) -> Sequence[str] | None:
    """What the answer's proposal for this entry said to leave alone; None where it made none for it."""
    proposal = answer.get("proposal") or {}
    return proposal.get("stays", ()) if proposal.get("entry") == entry.id else None


def criteria_entry(named: str, case: str, baseline: Path, home: Path) -> Entry:
    """The entry named; else the one that the case's last answer leads with; else the diagnosis of the baseline.

    Raises:
        TriageError: an unknown entry, or no cause that the evidence supports.
    """
    if not named and case:
        named = next((a["hypotheses"][0]["entry"] for a in answers(case, home) if a["hypotheses"]), "")
        if not named:
            raise TriageError(f"case {case} has no diagnosis to verify; name an entry (`triage runbook list`)")
    if named:
        if found := index(home).runbook.get(named):
            return found
        raise TriageError(f"no runbook entry {named!r}; `triage runbook list` shows them")
    top = ask("what went wrong with this run?", [baseline]).diagnosis.top
    if top is None or top.status not in ("established", "supported"):
        raise TriageError(
            f"{baseline}: no cause is supported by its evidence, so there is nothing to verify; pass --entry ID"
        )
    return top.entry
