"""What a diagnosis asks of a run's data: the cheap checks, on a bounded sample of every file.

The sample is the head of each file, so that lines can be cited; every check says how much of the data it saw. The
whole data is for `triage data`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..findings import Check, Finding, Report, Severity, TriageError
from ..packed import PACKINGS
from ..run import Artifact, Run
from .check import check, check_order
from .dumps import read_dump
from .engine import Local
from .generations import generations
from .labels import check_labels, check_tokenizer
from .pii import pii
from .preference import preference
from .records.blocks import format_of, plan
from .records.record import Part
from .records.shapes import shape_of
from .roles import ANSWERED, Role, Sampled, with_roles
from .similar.dedup import dedup
from .similar.leakage import find_leaks
from .similar.leaked import leak_report
from .statistics import wilson

SAMPLE_BYTES = 2 << 20
"""Of each file; compressed and columnar files are sampled by their size on disk."""
TOTAL_BYTES = 4 << 20
BUDGET = 2.0
"""Seconds of processor time; a check that would begin later is left out, and says so."""
OF_TRAINING = ("eval-leakage", "pii-found", "data-schema-mismatch", "exact-duplicates", "near-duplicates",
               "template-concentration", "language-mix-shift", "overlong-records", "unspaced-records")  # fmt: skip
"""What is trouble in what is trained on, and a fact of what a model is only asked."""
REPEATS = ("exact-duplicates", "near-duplicates")
MOSTLY = 0.2
"""Share of records that are copies, at the lower end of its interval, from which on they are trouble whatever else is
seen. Ours: web text has a tenth, and sets of instructions as much."""
NEARLY = 0.5
"""Share of records that nearly repeat, likewise. Ours."""
FEW = 50
"""Records below which it is no data of a training. Ours."""
SAMPLED = frozenset(("temperature", "top_p", "top_k", "max_tokens", "max_new_tokens", "logprobs", "stream", "stop"))
"""Fields of a request."""


def check_run_data(run: Run) -> Report:
    """Schema, duplicates, leakage, personal data, labels and generation statistics of a run's data files.

    Bounded by `TOTAL_BYTES` and `BUDGET`, and a check that did not see everything says so. A run without data files
    gets one `not-applicable` check.
    """
    start = time.process_time()
    samples, failed = samples_of([*run.of("data"), *run.of("generations")])
    if not samples:
        return Report("data", (), failed or (Check("data", "not-applicable", "no data files in the run"),))
    findings: list[Finding] = []
    checks: list[Check] = list(failed)
    summary = {}
    for stage in _stages(with_roles(samples, run), run):
        if time.process_time() - start > BUDGET:
            why = f"left out after {BUDGET:g} s of processor time; run `triage data {stage.name}`"
            checks.append(Check(stage.name, "not-applicable", why))
            continue
        report = _try(stage)
        notes = OF_TRAINING if stage.notes else ()
        findings += (replace(f, severity=Severity.S3) if f.code in notes else f for f in report.findings)
        note = _note(stage.seen)
        checks += [replace(c, why="; ".join(w for w in (c.why, note) if w)) for c in report.checks]
        summary[stage.name] = dict(report.summary)
    return Report("data", tuple(findings), tuple(checks), {"data": summary})


@dataclass(frozen=True)
class Stage:
    """A tool with the samples that it sees."""

    name: str
    seen: Sequence[Sampled]
    run: Callable[[], Report]
    notes: bool = False
    """Whether what is trouble of a training is a note: nobody says that these are trained on."""


LOOKED_THROUGH: tuple[tuple[frozenset[Role], bool], ...] = (
    (frozenset(("trained",)), False),
    (frozenset(("origin", "part", "beside", "asked")), True),
)
"""Roles whose records are checked as those of a training, and whether what is found there is a note."""
COPIES: frozenset[Role] = frozenset(("origin", "part"))
"""Roles of what is a copy by what it is, as an excerpt is: among these no copies are looked for."""


def _stages(samples: Sequence[Sampled], run: Run) -> Iterator[Stage]:
    """Everything that applies, cheapest and most telling first."""
    engine = Local(1)

    def of(*roles: Role) -> list[Sampled]:
        return [s for s in samples if s.role in roles]

    if tokens := [s for s in samples if s.shape == "tokens"]:
        yield Stage("labels", tokens, lambda: check_labels(read_dump(_parts(tokens))))
    chats = any(s.shape == "chat" for s in of("trained", "part"))
    for folder in {a.path.parent for a in run.of("tokenizer") if a.path.name == "tokenizer_config.json"}:
        yield Stage("labels", (), lambda folder=folder: check_tokenizer(folder, chats))
    for roles, notes in LOOKED_THROUGH:
        if some := of(*roles):
            yield Stage("check", some, lambda some=some: check(_parts(some), engine=engine), notes)
        if len(some) > 1:
            yield Stage("check", some, lambda some=some: check_order(_parts(some), engine), notes)
    held, used = of("held-out"), of("trained", "part")
    if held and (read := used or of("beside")):
        leaks = lambda: leak_report(find_leaks(_parts(read), _parts(held), engine=engine))  # noqa: E731
        yield Stage("dedup", (*read, *held), leaks, not used)
    for roles, notes in LOOKED_THROUGH:
        if some := [s for s in of(*(roles - COPIES)) if not s.cut]:
            again = lambda some=some: _weighed(dedup(_parts(some), engine=engine)[0], some)  # noqa: E731
            yield Stage("dedup", some, again, notes)
    if pairs := [s for s in samples if s.artifact.kind == "data" and s.shape in ("preference", "rollout")]:
        yield Stage("preference", pairs, lambda: preference(_parts(pairs)))
    if answers := [s for s in of("answered") if s.shape in ANSWERED]:
        yield Stage("generations", answers, lambda: generations(_parts(answers)))
    named = [s for s in samples if s.artifact.kind == "data" and s.role != "tokens"]
    nobodys = [s for s in named if s.role == "answered" or (s.role == "asked" and s.shape != "pretrain")]
    others = [s for s in named if s.role in ("held-out", "beside")]
    for some, notes in (([s for s in named if s not in nobodys and s not in others], False), (others, True)):
        if some:
            yield Stage("pii", some, lambda some=some: pii(_parts(some), engine=engine), notes)
    if nobodys:
        yield Stage("pii", nobodys, lambda: _secrets(pii(_parts(nobodys), engine=engine)))


def _secrets(report: Report) -> Report:
    """What a scan says of records on which nobody trains: addresses in answers are made up or of no matter, secrets
    are not."""
    findings = tuple(f for f in report.findings if f.code != "pii-found")
    return replace(report, findings=findings, checks=tuple(c for c in report.checks if "personal" not in c.name))


def _weighed(report: Report, samples: Sequence[Sampled]) -> Report:
    """The report, its findings as notes unless a large share of all that is trained on is copied word for word, or
    most of it nearly repeats.

    Records that nearly repeat (facts, templates, one form of question) are a standing fact of a file, and records that
    say which shard they stand in are a look into more: what they repeat explains nothing by itself.
    """
    total, copied, near = (int(report.summary.get(k) or 0) for k in ("records", "exact_duplicates", "near_duplicates"))
    whole = total >= FEW and not all(s.stored for s in samples)
    if whole and (wilson(copied, total)[0] >= MOSTLY or wilson(near, total)[0] >= NEARLY):
        return report
    notes = (replace(f, severity=Severity.S3) if f.code in REPEATS else f for f in report.findings)
    return replace(report, findings=tuple(notes))


def _parts(samples: Iterable[Sampled]) -> list[Part]:
    return [part for s in samples for part in s.parts]


def samples_of(artifacts: Sequence[Artifact]) -> tuple[list[Sampled], tuple[Check, ...]]:
    """The head of each artifact, sharing `TOTAL_BYTES`; artifacts that cannot be opened become failed checks."""
    share = max(64 << 10, min(SAMPLE_BYTES, TOTAL_BYTES // max(len(artifacts), 1)))
    out, failed, left = [], [], TOTAL_BYTES
    for artifact in artifacts:
        if artifact.path.is_file() and (format_of(artifact.path) is None or _is_one_object(artifact.path)):
            continue
        try:
            size = artifact.path.stat().st_size
            parts = _head(artifact, share)
        except (TriageError, OSError) as error:
            failed.append(Check(f"read {artifact.name}", "failed", str(error)))
            continue
        first = _first(parts)
        if artifact.kind == "data" and _is_request(first):
            failed.append(
                Check(f"sample {artifact.name}", "not-applicable", "requests to a server, no data to train on")
            )
            continue
        seen = sum(p.size for p in parts)
        if not parts or (out and left < seen):
            failed.append(
                Check(f"sample {artifact.name}", "not-applicable", "left out: larger than the sample's budget")
            )
            continue
        left -= seen
        out.append(Sampled(artifact, parts, shape_of(first), seen, size, first))
    return out, tuple(failed)


def _is_one_object(path: Path) -> bool:
    """Whether a `.json` file holds one object (a request, a result) and no records."""
    if path.suffix != ".json":
        return False
    with path.open("rb") as file:
        return file.read(1 << 10).lstrip().startswith(b"{")


def _head(artifact: Artifact, share: int) -> tuple[Part, ...]:
    """The first parts of one file; a file that is one part (compressed, a table) is taken only when it is small."""
    parts = [p for p in plan([artifact.path], share) if p.start == 0 or p.format == "parquet"]
    size = artifact.path.stat().st_size if artifact.path.is_file() else sum(p.size for p in parts)
    factor = 4 if Path(artifact.path).suffix in PACKINGS else 1
    kept = parts[:1] if parts and parts[0].size * factor <= max(share, size if size <= share else 0) else []
    return tuple(replace(p, name=artifact.name) for p in kept)


def _first(parts: Sequence[Part]) -> Any:
    """The first record; None where there is none."""
    from .records.blocks import blocks

    return next((record.value for part in parts for block in blocks(part) for record in block.records), None)


def _is_request(record: Any) -> bool:
    """Whether a record says how a server is to sample: what was sent to it is no data of a training."""
    inner = [record, *record.values()] if isinstance(record, Mapping) else []
    return any(isinstance(one, Mapping) and len(SAMPLED.intersection(one)) > 1 for one in inner)


def _note(samples: Sequence[Sampled]) -> str:
    cut = [s for s in samples if s.seen < s.size]
    if not cut:
        return ""
    return "sampled: " + ", ".join(
        f"the first {s.seen / 1e6:.1f} of {s.size / 1e6:.1f} MB of {s.artifact.name}" for s in cut[:3]
    )


def _try(stage: Stage) -> Report:
    try:
        return stage.run()
    except TriageError as error:
        return Report("data", (), (Check(stage.name, "failed", str(error)),))
