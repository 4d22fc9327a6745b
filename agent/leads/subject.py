"""What the files of a run are about, where nothing is believed of it, and the lines that say it most.

A healthy run of the same kind holds the same words: so the subject makes a cause possible, and never more. What
documents think of the cause, and what speaks to an assistant, is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ...knowledge.outside import addressed
from ...knowledge.runbook import Runbook
from ...knowledge.subject import file_words, subjects
from ...tools.findings import Evidence, Finding, Severity, TriageError, clean
from ...tools.phrase import Phrase
from ...tools.reading import head, is_binary, iter_lines
from ...tools.run import Artifact
from ..evidence import Look
from .told import OPINION, TEXT, THEORY

FILES, ALIKE = 64, 4
"""Files that are read for words, and files of one folder and ending: a thousand samples are about one thing."""
READ, LINES = 300, 4000
"""Lines that are read, of a file and in all: half a second of work."""
SET = ("config", "script", "code", "checkpoint")
"""Kinds of files that every run has."""
OF_A_MODEL = re.compile(r"^(?:generation_)?config\.json$")
"""Files beside the weights of any model, which say what it is and nothing of the run; tokenizers too."""
SAYING = 12
"""Different words of all files from which on they are about something."""
LEAST = 0.02
"""Probability from which on the folder is said to be about an entry."""
MOST = 3
"""Entries that it is said to be about."""
SHOWN, OF_A_FILE = 4, 2
"""Lines that are shown for an entry, and lines of one file."""
SAID = Phrase(
    "The words of {files} are those of “{title}”; whether it happened they do not show.",
    "{files} 中的用词属于“{title}”；但不能说明它确实发生。",
)
MEASURED, SAYS = 3, 1.0
"""Measured facts that are shown beside the lines, and the log odds of the words of one from which on it is of them."""
SCORE = 2.0
"""Score of a lead to an entry that the files are surely about, on the scale of `weighed.LEAD`."""


@dataclass(frozen=True)
class Subject:
    """What the files of a run are about; read when first asked for."""

    seen: Look
    runbook: Runbook

    @cached_property
    def lines(self) -> dict[str, list[tuple[int, str]]]:
        """The first lines of each file that has words, with their numbers; of each kind of file in a folder a few.

        What the scan notes and the run outlived is left out. Of a run that only its settings and programs are left of,
        nothing is read: every run has those.
        """
        files = self._unjudged()
        if all(a.kind in SET for a in files):
            return {}
        kinds: Counter[tuple[str, str]] = Counter()
        noted = {(e.file, e.line) for f in self.seen.scan.findings if f.severity == Severity.S3 for e in f.evidence}
        out: dict[str, list[tuple[int, str]]] = {}
        for a in files:
            place = PurePosixPath(a.name)
            kind = (str(place.parent), place.suffix)
            kinds[kind] += 1
            if kinds[kind] <= ALIKE and not THEORY.search(place.stem) and (lines := _lines(a)) is not None:
                out[a.name] = [(n, text) for n, text in lines if (a.name, n) not in noted]
            if len(out) == FILES or sum(map(len, out.values())) > LINES:
                break
        return out

    def _unjudged(self) -> list[Artifact]:
        """The files of the run, without the model's, and without those whose curves were judged and are sound: what
        these are about is not what is wrong."""
        sound = any(f.code == "run-healthy" for f in self.seen.findings)
        judged = {s.file for s in self.seen.table} if sound else set()
        own = (a for a in self.seen.run.artifacts if a.kind != "tokenizer" and not OF_A_MODEL.search(a.path.name))
        return [a for a in own if a.name not in judged and a.path.is_file()]

    @cached_property
    def share(self) -> dict[str, float]:
        """The probability of each entry, by the words of the files."""
        texts = [file_words(name, (text for _, text in some)) for name, some in self.lines.items()]
        return subjects().about(texts) if len({word for text in texts for word in text.split()}) >= SAYING else {}

    @cached_property
    def leads(self) -> dict[str, tuple[tuple[float, Finding], ...]]:
        """The entries that the files are about most, each with its score and a note of the lines that say it."""
        about = (id for id in sorted(self.share, key=lambda id: -self.share[id]) if self.share[id] >= LEAST)
        failures = (id for id in about if (e := self.runbook.get(id)) and e.kind == "failure")
        found = {id: self._telling(id) for id in islice(failures, MOST)}
        return {
            id: ((SCORE * self.share[id], self._note(id, lines)), *((0.0, f) for f in self._measured(id)))
            for id, lines in found.items()
            if lines
        }

    def _measured(self, id: str) -> list[Finding]:
        """What was measured of the things that the entry is about, whatever it means: changes and differences. What
        speaks against the entry is none of them."""
        against = entry.speaks.against if (entry := self.runbook.get(id)) else {}
        related = (f for report in self.seen.reports if report.tool == "relate" for f in report.findings)
        found = [f for f in related if f.severity >= Severity.S2 and f.evidence and f.code not in against]
        if not found:
            return []
        known = subjects()
        scores = known.scores([file_words(f.evidence[0].file or "", [f.message]) for f in found])
        ranked = scores[:, known.entries.index(id)]
        return [found[int(i)] for i in ranked.argsort()[::-1][:MEASURED] if ranked[i] >= SAYS]

    def _note(self, id: str, found: list[Evidence]) -> Finding:
        files = ", ".join(dict.fromkeys(clean(e.file or "", 80) for e in found))
        title = self.runbook.entries[id].title
        en, zh = (SAID.say(lang, files=files, title=title.say(lang)) for lang in ("en", "zh"))
        return Finding("lead-subject", Severity.S3, en, zh, tuple(found))

    @cached_property
    def _scored(self) -> tuple[list[tuple[str, int, str]], NDArray[np.float32]]:
        """The first line of each shape, numbers aside, with its file and number; and how much it is of each entry."""
        places: dict[str, tuple[str, int, str]] = {}
        for name, some in self.lines.items():
            for n, text in some:
                places.setdefault(file_words(name, [text]), (name, n, text))
        return list(places.values()), subjects().scores(list(places))

    def _telling(self, id: str) -> list[Evidence]:
        """The lines whose words are the entry's most, of a few files."""
        places, scores = self._scored
        out: list[Evidence] = []
        for i in scores[:, subjects().entries.index(id)].argsort()[::-1]:
            name, n, text = places[int(i)]
            if len(out) == SHOWN:
                break
            if sum(e.file == name for e in out) < OF_A_FILE and not addressed(text):
                out.append(Evidence(name, n, text=clean(text, TEXT)))
        return out


def _lines(a: Artifact) -> list[tuple[int, str]] | None:
    """What can be read as text; None of a binary file or one that cannot be opened. Prose may speak to an assistant."""
    with suppress(TriageError, OSError):
        if not is_binary(head(a.path)):
            some = ((n, text) for n, text in islice(iter_lines(a.path), READ) if not OPINION.search(text[:TEXT]))
            return [(n, text) for n, text in some if not (a.kind == "document" and addressed(text))]
    return None
