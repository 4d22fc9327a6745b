"""Relations over several tables and lines of one run, in one pass: their findings, and the codes that they have."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.event import Event
from ...findings import Evidence, Finding, Severity, declare
from ...operation.unwitnessed import slowed, unwitnessed
from ...operation.yielded import gave_way
from ...settings import Settings
from ...tables.table import Table
from ..courses.remembered import remembered
from ..line import Line
from ..moves import Move
from ..scores import formats
from ..scores.apart import turned
from ..scores.broken import broken
from ..scores.unlearned import all_at_guessing, below_guessing, unlearned
from ..summed.carried import carried
from . import (
    abilities,
    best,
    buckets,
    counters,
    derived,
    families,
    grown,
    guessing,
    modules,
    preceded,
    repeats,
    restarts,
    shared,
    tail,
    terms,
    tried,
    twins,
)

MOST_TABLES = 2000
JOINED = "what goes wrong together"
CODES = declare(
    "joined",
    ("trouble-shares-padding", JOINED, "all steps or rows that went wrong share padding or empty rows, the others not"),
    ("trouble-shares-machine", JOINED, "all steps or rows that went wrong share a machine or rank, the others do not"),
    ("trouble-shares-data", JOINED, "all steps or rows that went wrong share a shard, file or source, the others not"),
    ("trouble-shares-length", JOINED, "all steps or rows that went wrong share a length, the others do not"),
    ("trouble-shares-value", JOINED, "all steps or rows that went wrong share a value, the others do not"),
    ("nonfinite-begins-in-op", JOINED, "a dump stops being finite at one that divides, exponentiates or masks"),
    ("nonfinite-begins-in-module", JOINED, "a dump stops being finite at one module"),
    ("source-lost-by-kind", JOINED, "a stage that sorts by language or kind keeps nearly nothing of one of them"),
    ("source-lost", JOINED, "of one source nearly nothing is kept, of the others a usual share"),
    ("dedup-removed-nothing", JOINED, "deduplication removed nothing of some parts, of the others a usual share"),
    ("filter-removed-nothing", JOINED, "a filter removed nothing of some parts, of the others a usual share"),
    ("duplicates-in-one-part", JOINED, "one part repeats what was there before, the others hardly do"),
    ("part-poor-all-round", JOINED, "one part of the data is far off the others in several measures of its quality"),
    ("repeats-rise", JOINED, "the documents of a sampled stream begin to repeat"),
    ("reference-off", JOINED, "log-probabilities of the reference are off, while two other columns agree"),
    ("column-off", JOINED, "two of three columns of log-probabilities agree, the third is off to one side"),
    ("reference-equals-policy", JOINED, "the reference's log-probabilities are the policy's while it learns"),
    ("reference-off-at-start", JOINED, "rewards against the reference are not zero before the first update"),
    ("variety-falls", JOINED, "a measure of variety falls from the first model of a table to the last"),
    ("variety-follows-setting", JOINED, "variety goes with a setting of which the run has a poor value"),
    ("runs-differ-in-many", JOINED, "the runs of a table differ in many settings at once, and no pair in one alone"),
    ("scores-within-noise", JOINED, "scores on one set of items differ by less than their standard errors allow"),
    ("ability-lost", JOINED, "scores of one ability fall from one version or checkpoint to the next while others stay"),
    ("group-worsens", JOINED, "one part has long been behind its best, while the mean of all parts goes on"),
    ("setting-not-to-blame", JOINED, "a further version has the suspected setting and not the fall"),
    ("source-added", JOINED, "a source that is new in a version makes a large share of its rows"),
    ("fields-renamed", JOINED, "files of one family call the field of their text differently"),
    ("prediction-field-renamed", JOINED, "files of one family call the field of their predictions differently"),
    ("questions-empty", JOINED, "nearly all questions of a file of predictions are empty"),
    ("outputs-empty", JOINED, "nearly all outputs of a file are empty"),
    ("references-empty", JOINED, "a held-out file holds what is asked, and none of the answers to compare with"),
    ("lr-starts-over", JOINED, "the learning rate falls at once and climbs beyond what it was: its schedule restarts"),
    ("rate-off-since-restart", JOINED, "a rate follows its beginning again from amid a run, and the loss rises"),
    ("lr-raised", JOINED, "the learning rate is raised at one place behind its warm-up, and stays there"),
    ("experts-idle", JOINED, "a part of the experts gets hardly any tokens, and one far more than its share"),
    ("gradients-fade", JOINED, "gradients by layer fade by orders of magnitude from the last to the first"),
    ("layers-without-gradient", JOINED, "some layers have no gradient at all, the others do"),
    ("job-gave-way", JOINED, "a job was ended on a machine on which another, handed in a moment before, then began"),
    ("trained-items-learned-alone", JOINED, "scores of the trained items climb along the training, others do not"),
    ("jump-unwitnessed", JOINED, "the one number of a log jumps and stays, and nothing beside it was written down"),
    ("steps-do-more", JOINED, "a step takes longer from one place on, and the throughput beside it does not fall"),
    ("slowdown-unwitnessed", JOINED, "a training slows down for good, and only the whole step was timed"),
    ("score-without-terms", JOINED, "of two scores on one set only one says how it was measured"),
    ("failures-preceded-by", JOINED, "a row before each failure of a log has a value that hardly another row has"),
    ("loss-above-guessing", JOINED, "the loss stays above that of guessing among the model's tokens, and hardly moves"),
    ("loss-times-accumulation", JOINED, "the training loss is as many times the evaluation's as steps are accumulated"),
    ("rate-far-below-size", JOINED, "the loss hardly leaves guessing, at a rate far below what the size takes"),
    ("rate-far-below-stage", JOINED, "the loss has not levelled off, at a rate far below that of any fine-tuning"),
    ("score-falls-where-loss-breaks", JOINED, "a score that climbs falls where the training loss jumps"),
    ("nothing-was-processed", JOINED, "loss and throughput are exactly zero at every point: no batch was processed"),
    ("score-behind-best", JOINED, "a measure ends far behind its own best, which is logged beside it"),
    ("measure-contradicts-itself", JOINED, "a measure is not what the other numbers of its row make it"),
    ("reward-carried-by-part", JOINED, "a reward is the sum of measures beside it; one of them rises, another falls"),
    ("evidence-not-kept", JOINED, "notes say that logs, results or versions were not kept"),
    ("perplexity-unlearned", JOINED, "the best perplexity of a table of results is in the thousands"),
    ("scores-all-at-guessing", JOINED, "everything with choices is answered as by guessing, easy benchmarks too"),
    ("score-below-guessing", JOINED, "one model is right far less often than guessing where another one answers well"),
    ("quality-lost-in-format", JOINED, "a perplexity or score is clearly worse in a smaller number format"),
    ("less-fed-part-suffers", JOINED, "less of a part is trained from one place on, and its evaluation turns worse"),
    ("memory-follows-length", JOINED, "memory goes with the length of the batch, and the longest takes far more"),
    ("memory-follows-load", JOINED, "memory grows with the load beside it"),
    ("memory-grows-on", JOINED, "memory grows in every part of its record and does not level off"),
    ("memory-ends-at-longest", JOINED, "memory goes with the length, and its record ends at a batch far longer yet"),
    ("long-documents-plenty", JOINED, "a good share of the tokens stands in documents of half the window or more"),
    ("documents-far-below-window", JOINED, "a table of lengths has nearly all documents far below the window"),
)  # fmt: skip


def joined(
    tables: Sequence[Table],
    lines: Sequence[Line],
    settings: Settings,
    failures: Sequence[tuple[str, Evidence]] = (),
    parts: Sequence[Move] = (),
    events: Sequence[Event] = (),
) -> list[Finding]:
    """What the tables and lines of a run say together, before the failures that a log times, and its events; `parts`
    are what the columns of wide tables do, by their group."""
    some = tables[:MOST_TABLES]
    return [
        *shared.shared(some, lines),
        *modules.nonfinite(some),
        *counters.counted(some),
        *repeats.repeated(some, settings),
        *twins.twins(some, lines, settings),
        *tried.tried(some, settings),
        *(() if (short := [*buckets.short(some, settings)]) else buckets.by_source(some, settings)),
        *short,
        *buckets.plenty(some, settings),
        *abilities.abilities(some),
        *families.families(some),
        *restarts.restarted(lines),
        *restarts.raised(lines),
        *restarts.begun_again(lines),
        *restarts.extended(lines),
        *grown.grown(lines),
        *grown.growing(lines),
        *tail.tails(some),
        *preceded.preceded(some, failures),
        *terms.unstated(some),
        *best.behind(lines),
        *guessing.above_guessing(lines, settings),
        *guessing.times_accumulation(lines, settings),
        *guessing.nothing_counted(lines),
        *guessing.rate_far_below(lines, settings),
        *derived.derived(some),
        *formats.in_formats(some),
        *(f for table in some for f in unlearned(table)),
        *below_guessing(some),
        *all_at_guessing(some),
        *carried(lines),
        *turned([*lines, *(m.line for m in parts)]),
        *broken(lines),
        *gave_way(some),
        *unwitnessed(lines),
        *slowed(lines),
        *(f for table in some for f in remembered(table)),
        *unkept(events),
    ]


def unkept(events: Sequence[Event]) -> list[Finding]:
    """What the notes say was not kept, which would have told what happened."""
    lost = [e for e in events if e.what == "lost"]
    if not lost:
        return []
    said, zh = "; ".join(e.text[:120] for e in lost[:3]), "；".join(e.text[:120] for e in lost[:3])
    return [Finding(
        "evidence-not-kept", Severity.S3, f"What would tell was not kept, as the notes say: {said}.",
        f"按记录，能说明问题的材料没有保存：{zh}。",
        tuple(Evidence(e.file, e.line, text=e.text) for e in lost[:4]), {"places": len(lost)},
    )]  # fmt: skip
