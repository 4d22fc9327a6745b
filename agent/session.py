"""One question about one run: look, search, diagnose, propose, narrate, and note it in the casebook."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any

from ..knowledge.embedding import BUILT_IN
from ..knowledge.search import MEANT, Hit, Index
from ..knowledge.words import tokens
from ..tools.findings import Finding, clean
from ..tools.keeping import lost
from ..tools.logs.detectors.detector import stage_of
from ..tools.logs.signatures.match import QUOTED
from ..tools.run import Run
from ..tools.secrets import redact
from ..tools.settings import Settings
from .answer import Answer
from .casebook import BOOK, Casebook, Unusable
from .change.stays import staying
from .diagnose import Diagnosis, diagnose
from .events import Event, FindingMade, Listen, ToolStarted, ignore
from .evidence import Look, look, named_or_worst
from .leads.starts import of_the_asked
from .leads.weighed import Leads
from .missing import FINE, missing
from .narrate.answer import answer_text, headline, lead
from .narrate.floors import floored, restates
from .narrate.measured import measured
from .narrate.reply import about, lines, order_lines
from .paths import PASTED, path_of
from .printed import printed_scores
from .propose import Nothing, Proposal, propose
from .question.parts import DECODED, as_run, is_message
from .question.understand import Question, understand
from .ranking import ASKED, SERIOUS, SHOWN
from .respond import respond
from .signs.standing import UNNAMED
from .signs.trained import fitting
from .untold import Missing, scores_of, shown_beside
from .wording.tongue import PLEASE, UNSAID, third

NAMED = 3
"""Words from which on a question without a run can name a failure that it does not name clearly."""
UNREAD = "metrics-not-recognised"
"""The finding of a log in which nothing was read."""
FIRST = "why not the data? I plan to halve the learning rate. 不是数据的问题吧？我打算把学习率减半"
"""A message that needs all by which one is understood, see `ready`."""
UNREAD_QUESTION = Missing("your question was not understood", "你的问题没有读懂")
"""What is missing where a question is in neither language: what its author complains of may be there."""
QUESTION_LIMIT = 20_000
"""Longest question kept, in characters; a longer one (a pasted log) is scanned whole, then cut in the middle."""


@dataclass(frozen=True)
class ProposalMade(Event):
    proposal: Proposal


@cache
def index(home: Path | None = None, encoder: str = BUILT_IN) -> Index:
    """The runbook, with a person's own under `home`; TRIAGE_CHROMA_URL names a server for its vectors."""
    return Index(home, encoder, os.environ.get("TRIAGE_CHROMA_URL") or None)


def ready(home: Path | None = None, encoder: str = BUILT_IN) -> Thread:
    """Load all by which a message is understood, in a thread, while a person types or reads: then answers come at once.

    What fails here fails again when somebody asks, and is told then.
    """

    def load() -> None:
        from ..tools.catalogue import checks  # imports every tool

        with suppress(Exception):
            books = index(home, encoder)
            understand(FIRST, books.corrected, books.search)
            checks("")

    thread = Thread(target=load, name="ready", daemon=True)
    thread.start()
    return thread


def language(text: str) -> str:
    """`zh` when the text has Han characters in more than stray use, else `en`."""
    prose = "\n".join(text.splitlines()[:3])
    han = len(re.findall(r"[\u3400-\u9fff]", prose))
    return "zh" if han * 6 >= len(re.findall(r"[A-Za-z]+", prose)) and han else "en"


def ask(
    question: str,
    paths: Sequence[Path] = (),
    lang: str = "auto",
    home: Path | None = None,
    case: str | None = None,
    keep: bool = True,
    encoder: str = BUILT_IN,
    listen: Listen = ignore,
    seen: Look | None = None,
) -> Answer:
    """Answer one question, with or without a run.

    Args:
        question: what the person typed, in either language; may contain pasted log lines.
        paths: run directories or files.
        lang: `en`, `zh`, or `auto` for the language of the question.
        home: the data directory (casebook, index, the person's own runbooks); None for neither cache nor case.
        case: continue this case instead of opening one.
        keep: whether to note the answer in the casebook.
        encoder: the built-in encoder, or a sentence-transformers model.
        listen: told of each tool before it runs, each finding, and the proposal.
        seen: what an earlier turn saw of the same paths, which are then not read again.

    Raises:
        TriageError: a path does not exist, or nothing can be read.
        RunbookError: there is no such encoder.
    """
    listen(ToolStarted("search"))
    books = index(home, encoder)
    asked = understand(question, books.corrected, books.search)
    lang = language(asked.own or question) if lang == "auto" else lang
    foreign = third(asked.own)
    if foreign and not (paths or asked.pasted):
        please = PLEASE.say(lang)
        answer = Answer(shown(question), lang, Diagnosis("out-of-scope"), Nothing(please, please), please, only=please)
    else:
        if foreign:
            asked = replace(asked, own="", described="", symptoms=(), suspicions=(), plans=(), complaints=())
        opening = (UNSAID.say(lang),) if foreign else ()
        seen = _looked(asked, paths, seen, books, listen)
        answer = _answer(question, asked, seen, paths, books, lang, listen, opening)
    return note(answer, paths, home, case) if home and keep else answer


def _looked(asked: Question, paths: Sequence[Path], seen: Look | None, books: Index, listen: Listen) -> Look | None:
    """What the tools see in the paths and in what was pasted; None without either."""
    pasted = as_run(asked.pasted)
    if not paths and not pasted:
        return None
    if paths and pasted and not _tells(pasted, books):
        pasted = ""
    if seen and not pasted:
        return seen
    return look(paths, pasted, lambda tool: listen(ToolStarted(tool)), named_or_worst(_words(asked)), books.runbook)


def _tells(pasted: str, books: Index) -> bool:
    """Whether anything is read in a paste; a quoted chat beside a run is no log of it."""
    alone = look((), pasted, entries=books.runbook)
    return len(alone.table) > 0 or any(f.code != UNREAD for f in alone.findings)


def _answer(
    question: str,
    asked: Question,
    seen: Look | None,
    paths: Sequence[Path],
    books: Index,
    lang: str,
    listen: Listen,
    opening: Sequence[str] = (),
) -> Answer:
    """The answer, before it is noted; tells of each finding and of the proposal."""
    looked, words = seen is not None, _words(asked)
    in_field = books.covers(words)
    told = replace(asked, complaints=tuple(c for c in asked.complaints if in_field or c.compared))
    diagnosis = _diagnosed(told, seen, bool(paths), books, in_field)
    for i, finding in enumerate(diagnosis.findings, 1):
        listen(FindingMade(f"F{i}", finding))
    files, settings = (seen.run, seen.settings) if seen else (Run(Path()), Settings())
    table, checks = (seen.table, seen.checks) if seen else (None, ())
    proposal = propose(diagnosis, settings, files, lang, table)
    if isinstance(proposal, Proposal):
        listen(ProposalMade(proposal))
    reply = respond(asked, books.runbook, diagnosis, proposal, table, checks)
    proposal = staying(proposal, diagnosis, reply.plans)
    orders = tuple(order_lines(asked.orders, seen.orders if seen else (), lang))
    which, beside = about(seen, lang, place(seen.about, paths)) if seen else ((), ())
    said = (*opening, *which, *orders, *lines(reply, diagnosis, proposal, lang, looked), *beside)
    begins = (headline(diagnosis, lang, looked), *lead(diagnosis, lang, looked))
    grave = diagnosis.state == "diagnosed" or any(f.severity in SERIOUS for f in diagnosis.findings)
    read = measured(seen, asked, lang) if seen and not grave else ()
    head = (*begins, *(orders if diagnosis.state == "out-of-scope" else (*said, *read)))
    run = place(seen.about if seen else "", paths)
    candidate = place(seen.others[0].run, paths) if seen and len(seen.others) == 1 else ""
    passages = tuple(p for p in books.passages(words, 3) if p.score >= MEANT) if in_field or paths else ()
    return Answer(
        question=shown(question),
        lang=lang,
        diagnosis=diagnosis,
        proposal=proposal,
        text=answer_text(diagnosis, proposal, lang, head, looked, passages, run, candidate),
        passages=passages,
        seen=seen,
        asked=asked,
        reply=reply,
        head=head,
        run=run,
        candidate=candidate,
    )


def _diagnosed(asked: Question, seen: Look | None, paths: bool, books: Index, in_field: bool) -> Diagnosis:
    """The causes ranked: beside a run by what it shows, without one by the words."""
    words = _words(asked)
    hits = _hits(asked, seen, paths, books)
    if not seen:
        if len(tokens(words)) < NAMED and hits and hits[0].score < MEANT:
            hits = []
        return diagnose(books.runbook, hits, (), (), in_field, paths)
    if not (asked.symptoms or asked.suspicions or asked.plans or asked.pasted):
        hits = [hit for hit in hits if hit.score >= ASKED]  # "what went wrong?" names no failure
    stage = str(seen.settings.value("stage") or stage_of(seen.series))
    judged = (
        seen.coverage,
        asked,
        seen.checks,
        seen.findings,
        seen.series,
        stage,
        scores_of(seen.tables, printed_scores(seen.logs)) if asked.complaints else (),
    )
    unread = (UNREAD_QUESTION,) if not (asked.own or asked.pasted) else ()
    unsaid = (*missing(*judged), *floored(seen, asked, books.runbook), *unread) if paths else ()
    mine = of_the_asked(_unreassured(seen.findings, asked), asked, seen.series)
    made = (mine, seen.checks, in_field, paths)
    book = fitting(books.runbook, seen, asked.text) if paths else books.runbook
    more: dict[str, Any] = {
        "leads": partial(_leads, seen, books),
        "named": partial(_named, asked, words, books, seen.findings),
        "stopped": any(s.kind.ends for s in asked.symptoms),
        "complains": bool(asked.symptoms or asked.complaints),
        "restates": partial(restates, asked),
    }
    found = diagnose(book, hits, *made, stage=stage, missing=unsaid, **more)
    return replace(found, findings=(*found.findings, *_versions(seen))) if found.state == "diagnosed" else found


def _hits(asked: Question, seen: Look | None, paths: bool, books: Index) -> Sequence[Hit]:
    """The entries that the words mean; beside a run what was described. Of a paste what was read of it counts as that
    and not as words too, and the rest of it only where it says more clearly than the person what is meant."""
    if not seen or not asked.pasted or paths:
        return books.search(_words(asked, (seen and asked.described) or None))
    named = [f for f in seen.findings if f.severity in SHOWN and f.code != UNNAMED]
    own = asked.described or asked.own if named else asked.own
    rest = replace(asked, pasted=_unread(asked, named))
    alone, both = books.search(own), books.search(_words(rest, own))
    return alone if alone and alone[0].score >= both[0].score else both


def _unread(asked: Question, named: Sequence[Finding]) -> str:
    """The paste without records of data and decoded prompts, whose words are about anything; where something was
    read of it, without the lines that a finding names and messages that a signature knows."""
    read = {e.line for f in named for e in f.evidence if e.file == PASTED}
    lines = enumerate(asked.pasted.splitlines(), 1)
    data = [(n, x) for n, x in lines if not (QUOTED.match(x) or DECODED.match(x))]
    return "\n".join(x for n, x in data if not named or (n not in read and not is_message(x)))


def _unreassured(findings: Sequence[Finding], asked: Question) -> tuple[Finding, ...]:
    """The findings; without the reassurance, which is of one curve alone, where a better run beside it shows what the
    person complains of."""
    shown = any(shown_beside(c, findings) for c in asked.complaints)
    return tuple(f for f in findings if not (shown and f.code == FINE))


def _named(asked: Question, words: str, books: Index, findings: Sequence[Finding]) -> Sequence[Hit]:
    """Entries that the words may mean, those about what the person suspects, and what is normal of a measure that the
    person complains of."""
    blamed = {m for c in (*asked.complaints, *(s.kind for s in asked.symptoms)) for m in c.metrics}
    normal = {f.code for f in findings if any(e.metric in blamed for e in f.evidence)}
    suspected = [s.topic for s in asked.suspicions if s.polarity == "suspects"]
    about = [Hit(e, 1.0) for e in books.runbook if any(t.about(e) for t in suspected)] if suspected else []
    calm = [Hit(e, 1.0) for e in books.runbook if e.kind == "benign"
            and any(word == "decisive" and code in normal for code, word in e.speaks.for_.items())]  # fmt: skip
    return [*books.search(words), *about, *calm]


def _versions(seen: Look) -> list[Finding]:
    """What two configurations of the run set otherwise: notes beside a diagnosis, which they do not move."""
    if len([a for a in seen.run.artifacts if a.kind in ("config", "script")]) < 2:
        return []
    from .leads.told import differing  # what reads statements, which most answers do not need

    return [one.finding for one in differing(replace(seen, elsewhere=())) if one.variables]


def _leads(seen: Look, books: Index) -> Leads:
    """What the run's files say that could matter, and what they are about, whatever is asked of it."""
    from .leads.possible import possible, survived
    from .leads.subject import Subject
    from .leads.told import told

    parts = (survived(seen.findings, books), possible(told(seen), books), Subject(seen, books.runbook).leads)
    return {id: tuple(lead for part in parts for lead in part.get(id, ())) for id in dict.fromkeys(chain(*parts))}


def _words(asked: Question, own: str | None = None) -> str:
    """What is searched for: the person's sentences, and the beginning of what they pasted."""
    lines = (asked.own if own is None else own).splitlines() + asked.pasted.splitlines()
    return "\n".join(lines[:40])[:4000]


def place(training: str, paths: Sequence[Path]) -> str:
    """Where a training lies that `Look` names, as the person gave the paths; empty without any."""
    return str(path_of(paths, training)) if paths else ""


def absolute(paths: Sequence[Path]) -> list[str]:
    """The paths as a case keeps them: the next question may be asked elsewhere."""
    return [str(p.absolute()) for p in paths]


def shown(question: str) -> str:
    """The question as it may be kept and repeated: bounded, without credentials."""
    half = QUESTION_LIMIT // 2
    return redact(question if len(question) <= QUESTION_LIMIT else f"{question[:half]}\n…\n{question[-half:]}")


def note(answer: Answer, paths: Sequence[Path], home: Path, case: str | None) -> Answer:
    """The answer with its case, recorded there; a case that is not in the book is opened, under `case` or its own id.

    Where the casebook cannot be used, the answer has no case, and that is said.
    """
    try:
        book = Casebook(home)
        id = book.open_case(clean(answer.question, 500), absolute(paths), case or answer.case)
        noted = replace(answer, case=id)
        book.record(id, "answer", noted.as_json())
    except Unusable as error:
        lost(home / BOOK, "not kept", error.why)
        return replace(answer, case="")
    return noted
