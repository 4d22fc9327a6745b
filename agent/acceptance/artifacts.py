"""What several families of metrics read of a run: lines of its logs, its files, samples of its data, its answers.

Everything is bounded, and read once for a subject. What it says of a criterion is judged in the families.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...knowledge.entry import Criterion
from ...tools.data.preference import rewards_of
from ...tools.data.records.blocks import Stream, format_of, plan
from ...tools.data.records.record import Part
from ...tools.data.records.shapes import STOP, responses_of, shape_of, view
from ...tools.data.roles import EVAL_NAME
from ...tools.findings import TriageError
from ...tools.packed import PACKINGS
from ...tools.reading import iter_chunks, split_prefix
from ...tools.run import Artifact, Run
from ...tools.scores import BASE_MODEL
from .subject import Subject, once, too_short

LOG_BYTES = 64 << 20
"""Bytes of each log that are searched."""
HITS = 20_000
SERVED = r"Application startup complete|Uvicorn running on|server is fired up|Avg (?:prompt|generation) throughput"
"""Lines by which an inference server says that it is up."""


@dataclass(frozen=True)
class Hit:
    """One match in a log."""

    file: str
    rank: int | None
    match: re.Match[str]


@once
def search(subject: Subject, pattern: str) -> list[Hit]:
    """Matches of a pattern in the run's logs, line by line, the first `LOG_BYTES` of each."""
    return list(_search(subject, re.compile(pattern)))


def _search(subject: Subject, pattern: re.Pattern[str]) -> Iterator[Hit]:
    left = HITS
    for artifact in subject.run.of("log"):
        read = 0
        try:
            for chunk in iter_chunks(artifact.path):
                text = chunk.data.decode("utf-8", "replace")
                for match in pattern.finditer(text):
                    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
                    rank = split_prefix(line[:200] + " x")[0]
                    yield Hit(artifact.name, artifact.rank if rank is None else rank, match)
                    left -= 1
                    if not left:
                        return
                read += len(chunk.data)
                if read > LOG_BYTES:
                    break
        except TriageError:
            continue  # an unreadable log is already a failed check of the scan


def started(subject: Subject, criterion: Criterion) -> str:
    """Why the log does not show that the run got past the failure; empty when it does.

    A serving run counts as started by its own lines; a training run must reach the step of the baseline's failure.
    """
    short = too_short(subject, criterion)
    if short == "no step is logged" and not subject.must_reach and search(subject, SERVED):
        return ""
    return short


FILE_LIMIT = 5000
DEPTH = 6


def files(subject: Subject, pattern: str) -> list[Path]:
    """Regular files below the run's root whose name matches, links left out, in a stable order."""
    wanted = re.compile(pattern)
    return [p for p in _below(subject) if wanted.search(p.name)]


@once
def _below(subject: Subject) -> list[Path]:
    return sorted(_walk(subject.run.root)) if subject.run.artifacts else []


def _walk(root: Path) -> Iterator[Path]:
    count = 0
    for folder, folders, names in os.walk(root, followlinks=False):
        deep = len(Path(folder).relative_to(root).parts)
        folders[:] = [] if deep >= DEPTH else [d for d in folders if not d.startswith(".")]
        for name in names:
            count += 1
            path = Path(folder) / name
            if count > FILE_LIMIT:
                return
            if path.is_file() and not path.is_symlink():
                yield path


FILE_BYTES = 8 << 20
"""Read of each file."""
TOTAL_BYTES = 24 << 20
SPECIAL_NAMES = re.compile(r"(?i)takedown|notice|quarantin|blocklist|recipe|mixture|incident|manifest|canary")
"""Lists beside the data, which are not training data."""


@dataclass(frozen=True)
class Sample:
    """The part of some data files that is looked at."""

    parts: tuple[Part, ...] = ()
    names: tuple[str, ...] = ()
    whole: bool = True
    """Whether that is all of them."""

    @property
    def window(self) -> str:
        some = ", ".join(self.names[:3]) + (f" and {len(self.names) - 3} more" if len(self.names) > 3 else "")
        return some if self.whole else f"{some} (the first {FILE_BYTES >> 20} MiB of each, {TOTAL_BYTES >> 20} in all)"


def sample(artifacts: Sequence[Artifact]) -> Sample:
    """The heads of data files, within the budget; files that cannot be opened are left to the data checks."""
    parts: list[Part] = []
    names, left, whole = [], TOTAL_BYTES, True
    for artifact in artifacts:
        packed = artifact.path.suffix.lower() in PACKINGS
        try:
            if artifact.path.is_file() and format_of(artifact.path) is None:
                continue
            every = plan([artifact.path], FILE_BYTES)
        except (TriageError, OSError):
            whole = False
            continue
        kept = [p for p in every if p.start == 0 and p.size * (4 if packed else 1) <= min(left, FILE_BYTES)]
        kept = every if sum(p.size for p in every) * (4 if packed else 1) <= min(left, FILE_BYTES) else kept[:1]
        whole = whole and len(kept) == len(every)
        left -= sum(p.size for p in kept)
        parts += [replace(p, name=artifact.name) for p in kept]
        names += [artifact.name] if kept else []
    return Sample(tuple(parts), tuple(names), whole)


@once
def training_data(subject: Subject) -> Sample:
    return sample([a for a in data_of(subject.run) if not EVAL_NAME.search(a.name)])


@once
def held_out(subject: Subject) -> Sample:
    return sample([a for a in data_of(subject.run) if EVAL_NAME.search(a.name)])


def data_of(run: Run) -> list[Artifact]:
    return [a for a in run.of("data") if not SPECIAL_NAMES.search(a.name)]


def texts(data: Sample) -> Iterator[str]:
    for _, _, record in Stream(data.parts):
        if text := view(record.value).text.strip():
            yield text


ANSWERS = 20_000


@dataclass(frozen=True)
class Answer:
    """One generated answer."""

    prompt: str
    text: str
    reason: str
    """Finish reason, empty where none is given."""
    reward: float | None


@once
def answers(subject: Subject) -> list[Answer]:
    """The answers of the run's generation dumps and rollouts."""
    return answers_of(subject.run)


def answers_of(run: Run, base: bool = False) -> list[Answer]:
    """The answers of any run; `base` picks dumps of the model before training."""
    chosen = [
        a for a in (*run.of("generations"), *run.of("data"))
        if bool(BASE_MODEL.search(a.path.stem)) == base
    ]  # fmt: skip
    data = sample(chosen)
    out: list[Answer] = []
    generated = {a.name for a in run.of("generations")}
    for file, _, record in Stream(data.parts) if data.parts else ():
        shape = shape_of(record.value)
        if shape == "rollout" or (file in generated and shape in ("prompt-completion", "chat", "instruction")):
            out += _answers(record.value)
        if len(out) >= ANSWERS:
            break
    return out


def _answers(value: object) -> list[Answer]:
    seen_as = view(value)
    if not isinstance(value, Mapping) or seen_as.shape != "rollout":
        return [Answer(seen_as.prompt, seen_as.response, "", None)]
    reasons = next((value[k] for k in STOP if k in value), "")
    texts, rewards = responses_of(value), rewards_of(value)
    each = reasons if isinstance(reasons, list) else [reasons] * len(texts)
    return [
        Answer(
            seen_as.prompt,
            text,
            str(each[i] or "") if i < len(each) else "",
            rewards[i] if i < len(rewards) else None,
        )
        for i, text in enumerate(texts)
    ]
