"""What a diagnosis asks of a run's data: the cheap checks, on a bounded sample of every file.

The sample is the head of each file, so that lines can be cited; every check says how much of the data it saw. The
whole data is for `triage data`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from ..findings import Check, Finding, Report, Severity, TriageError
from ..metrics import splits
from ..packed import PACKINGS
from ..patterns import bounded
from ..run import Artifact, Run
from .answering import answer_the_same
from .check import check, check_order
from .dumps import read_dump
from .engine import Local
from .generations import generations
from .labels import check_labels, check_tokenizer
from .pii import pii
from .preference import preference
from .records.blocks import format_of, plan
from .records.record import Part
from .records.shapes import Shape, shape_of
from .similar.dedup import dedup
from .similar.leakage import find_leaks
from .similar.leaked import leak_report
from .similar.versions import origins, parts_of_others
from .statistics import wilson
from .trained import NAMED, only_measured, trained_on

SAMPLE_BYTES = 2 << 20
"""Of each file; compressed and columnar files are sampled by their size on disk."""
TOTAL_BYTES = 4 << 20
BUDGET = 2.0
"""Seconds of processor time; a check that would begin later is left out, and says so."""
EVAL_NAME = re.compile(
    rf"(?:^|[/_.\-])(?:{splits('(?:u?ation)?s?')}|bench(?:mark)?)\d{{0,5}}k?(?:[/_.\-]|$)|评测|测试|验证集|开发集",
    re.IGNORECASE,
)

EXCERPT = re.compile(
    r"(?:^|[_./-])(?:head|samples?|excerpts?|preview|examples?|cases?|groups?|rollouts?|dump|batch|first\d*"
    r"|probes?|repl(?:y|ies)|answers?|prompts?|calib(?:ration)?|peeks?|glance|snippets?|spot_?checks?)(?:[_.\-\d]|$)"
    r"|(?:^|/)(?:samples?|excerpts?|previews?|examples?|peeks?|snippets?|spot_?checks?)/"
    r"|样例|样本|抽样|抽查|示例|片段|探针|回复|校准", re.IGNORECASE
)  # fmt: skip
"""Names of what somebody cut out or wrote to look at or to calibrate with, on which nobody trains: how much of it
repeats says nothing of the data."""
PREDICTED = bounded(
    r"(?i)^(?:pred(?:iction|icted)?s?|(?:model|raw|llm)_(?:output|answer|response|prediction)s?|hyp(?:othes[ie]s)?"
    r"|预测|模型输出|模型回答)$"
)
ANSWER = bounded(r"(?i)^(?:response|completion|generat(?:ed|ion)(?:_?text)?|output|answer|输出|回答)s?$")
REFERENCE = bounded(
    r"(?i)^(?:gold\w{0,8}|ground_?truth|references?|verdicts?|judge\w{0,12}|标准答案|参考答案|评审|裁判|判定)$"
)
"""Fields of what a model answered, and of what that is held against or judged by: rows with both are an
evaluation's."""
COMPARED = bounded(
    r"(?i)(?:^|[/_.-])(?:comparisons?|compared?|side[_-]?by[_-]?side|sbs|versus|vs)(?:[/_.-]|$)|对比|并排"
)
"""Names of tables in which somebody sets answers side by side: nobody trains on them."""
TIMED = bounded(
    r"(?i)(?:^|_)(?:ttft|tpot|latency|tokens?_per_s(?:ec\w{0,4})?|tok_s|elapsed|time_taken)(?:_|$)|耗时|时延|延迟"
)
"""Fields of a request that was measured."""
DRAWN = bounded(
    r"(?i)(?:rand(?:om)?|shuf(?:fled?)?|head|first|top|take|pick(?:ed)?|drawn?|sub(?:set)?|随机|抽取?|前)[_.-]?(\d{2,6})(k?)(?![a-z\d])"
)
"""How many were drawn or cut, in a file's name; believed where it counts the file's own records."""
OF_TRAINING = ("data-schema-mismatch", "exact-duplicates", "near-duplicates", "template-concentration",
               "language-mix-shift", "overlong-records", "unspaced-records")  # fmt: skip
"""What is trouble in what is trained on, and a fact of what a model is only asked."""
REPEATS = ("exact-duplicates", "near-duplicates")
MOSTLY = 0.2
"""Share of records that are copies, at the lower end of its interval, from which on they are trouble whatever else is
seen. Ours: web text has a tenth, and sets of instructions as much."""
NEARLY = 0.5
"""Share of records that nearly repeat, likewise. Ours."""
STORED = bounded(
    r"(?i)^(?:(?:src|source|orig(?:in)?)_?)?(?:shard|part(?:ition)?|file(?:_?name)?|path)s?(?:_?id)?$|^(?:分片|分区|文件名?)$"
)
"""Fields of where in a larger store a record stands."""
FEW = 50
"""Records below which it is no data of a training. Ours."""

SAMPLED = frozenset(("temperature", "top_p", "top_k", "max_tokens", "max_new_tokens", "logprobs", "stream", "stop"))
"""Fields of a request."""
ANSWERED: tuple[Shape, ...] = ("rollout", "prompt-completion", "chat")
"""Records of something asked and its answer."""


@dataclass(frozen=True)
class Sampled:
    """The part of one artifact that is looked at."""

    artifact: Artifact
    parts: tuple[Part, ...]
    shape: Shape
    seen: int
    size: int
    answered: bool = False
    """Whether its records are what a model answered in an evaluation."""
    stored: bool = False
    """Whether its records say where in a larger store they stand."""

    @property
    def is_eval(self) -> bool:
        return bool(EVAL_NAME.search(self.artifact.name))


def check_run_data(run: Run) -> Report:
    """Schema, duplicates, leakage, personal data, labels and generation statistics of a run's data files.

    Bounded by `TOTAL_BYTES` and `BUDGET`, and a check that did not see everything says so. A run without data files
    gets one `not-applicable` check.
    """
    start = time.process_time()
    samples, failed = _sample([*run.of("data"), *run.of("generations")])
    if not samples:
        return Report("data", (), failed or (Check("data", "not-applicable", "no data files in the run"),))
    measured = only_measured(run) or all(s.shape == "other" for s in samples)  # events and tables are no examples
    plans = _stages(samples, run, measured)
    findings: list[Finding] = []
    checks: list[Check] = list(failed)
    summary = {}
    for name, seen, stage in plans:
        if time.process_time() - start > BUDGET:
            checks.append(
                Check(
                    name, "not-applicable", f"left out after {BUDGET:g} s of processor time; run `triage data {name}`"
                )
            )
            continue
        report = _try(name, stage)
        findings += (_as_note(f) if measured and f.code in OF_TRAINING else f for f in report.findings)
        note = _note(seen)
        checks += [replace(c, why="; ".join(w for w in (c.why, note) if w)) for c in report.checks]
        summary[name] = dict(report.summary)
    return Report("data", tuple(findings), tuple(checks), {"data": summary})


Stage = tuple[str, Sequence[Sampled], Callable[[], Report]]


def _as_note(finding: Finding) -> Finding:
    return replace(finding, severity=Severity.S3)


def _leaks(used: Sequence[Sampled], read: Sequence[Sampled], held: Sequence[Sampled], engine: Local) -> Report:
    """Items of evaluations in what is trained on; in other records a note, where nothing says what is trained on."""
    report = leak_report(find_leaks(_parts(used or read), _parts(held), engine=engine))
    return report if used else replace(report, findings=tuple(map(_as_note, report.findings)))


def _stages(samples: Sequence[Sampled], run: Run, measured: bool) -> list[Stage]:
    """(name, samples, tool) of everything that applies, cheapest and most telling first."""
    engine = Local(1)
    data = [s for s in samples if s.artifact.kind == "data" and s.shape not in ("tokens", "codes")]
    several = answer_the_same([(s.artifact.name, s.parts) for s in data if s.shape in ANSWERED])
    several |= {s.artifact.name for s in data if COMPARED.search(s.artifact.name)}
    train = [s for s in data if not (s.is_eval or s.answered) and s.artifact.name not in several]
    held = [s for s in data if s.is_eval]
    pairs = [s for s in data if s.shape in ("preference", "rollout")]
    tokens = [s for s in samples if s.shape == "tokens"]
    given = [s for s in samples if s.artifact.kind == "generations" or s.artifact.name in several]
    answers = [s for s in given if s.shape in ANSWERED]
    out: list[Stage] = []
    if tokens:
        out.append(("labels", tokens, lambda: check_labels(read_dump(_parts(tokens)))))
    for folder in {a.path.parent for a in run.of("tokenizer") if a.path.name == "tokenizer_config.json"}:
        out.append(("labels", (), lambda folder=folder: check_tokenizer(folder, any(s.shape == "chat" for s in train))))
    if train:
        out.append(("check", train, lambda: check(_parts(train), engine=engine)))
    if len({s.artifact.name for s in train}) > 1:
        out.append(("check", train, lambda: check_order(_parts(train), engine)))
    if train and held and not measured:
        before = origins(_named(train), _named(held), NAMED.search)
        read = [s for s in train if s.artifact.name not in before]
        named = trained_on(run, [s.artifact.name for s in read])
        used = [s for s in read if s.artifact.name in named]
        out.append(("dedup", (*(used or read), *held), lambda: _leaks(used, read, held, engine)))
    whole = [s for s in train if not _is_excerpt(s)]
    inside = parts_of_others(_named(whole))
    if whole := [s for s in whole if s.artifact.name not in inside]:
        out.append(("dedup", whole, lambda: _weighed(dedup(_parts(whole), engine=engine)[0], whole)))
    if pairs:
        out.append(("preference", pairs, lambda: preference(_parts(pairs))))
    if answers:
        out.append(("generations", answers, lambda: generations(_parts(answers))))
    answered = [s for s in data if s.answered or (measured and s.shape != "pretrain")]  # texts are there to be read
    if asked := [s for s in data if s not in answered]:
        out.append(("pii", asked, lambda: pii(_parts(asked), engine=engine)))
    if answered:
        out.append(("pii", answered, lambda: _secrets(pii(_parts(answered), engine=engine))))
    return out


def _secrets(report: Report) -> Report:
    """What a scan says of records on which nobody trains: addresses in answers are made up or of no matter, secrets
    are not."""
    findings = tuple(f for f in report.findings if f.code != "pii-found")
    return replace(report, findings=findings, checks=tuple(c for c in report.checks if "personal" not in c.name))


def _named(samples: Sequence[Sampled]) -> list[tuple[str, Sequence[Part]]]:
    return [(s.artifact.name, s.parts) for s in samples]


def _is_excerpt(sample: Sampled) -> bool:
    """Whether somebody cut it out to look at: by its name, or because the name counts the records that it holds."""
    name = sample.artifact.name
    if EXCERPT.search(name):
        return True
    counts = {int(n) * (1000 if k else 1) for n, k in DRAWN.findall(PurePath(name).stem)}
    return bool(counts) and sample.seen == sample.size and _records(sample, max(counts)) in counts


def _records(sample: Sampled, most: int) -> int:
    """Records of it, counted up to one more than so many."""
    from .records.blocks import blocks

    each = (1 for part in sample.parts for block in blocks(part) for _ in block.records)
    return sum(islice(each, most + 1))


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


def _sample(artifacts: Sequence[Artifact]) -> tuple[list[Sampled], tuple[Check, ...]]:
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
        out.append(Sampled(artifact, parts, shape_of(first), seen, size, _is_answered(first), _is_stored(first)))
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


def _is_answered(record: Any) -> bool:
    """Whether a record holds a prediction, an answer beside what it is held against or judged by, or how long its
    answer took: nobody trains on it, and how much of that repeats says nothing of what is trained on."""
    inner = [record, *record.values()] if isinstance(record, Mapping) else []
    names = [k for one in inner if isinstance(one, Mapping) for k in one if isinstance(k, str)]
    held = any(REFERENCE.search(k) for k in names)
    return any(PREDICTED.search(k) or TIMED.search(k) or (held and ANSWER.search(k)) for k in names)


def _is_stored(record: Any) -> bool:
    return isinstance(record, Mapping) and any(isinstance(k, str) and STORED.search(k) for k in record)


def _note(samples: Sequence[Sampled]) -> str:
    cut = [s for s in samples if s.seen < s.size]
    if not cut:
        return ""
    return "sampled: " + ", ".join(
        f"the first {s.seen / 1e6:.1f} of {s.size / 1e6:.1f} MB of {s.artifact.name}" for s in cut[:3]
    )


def _try(name: str, stage: Callable[[], Report]) -> Report:
    try:
        return stage()
    except TriageError as error:
        return Report("data", (), (Check(name, "failed", str(error)),))
