"""All relations of one run, computed once: what changed where and with what, which group differs, which scores do,
how values are spread, what contradicts the arithmetic or another place.

`relate` is the whole of it. What the relations mean is said by the runbook's entries, in their signs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..code.fact import Fact
from ..documents.counted import Counted
from ..documents.event import Claim, Event
from ..documents.stated import Stated
from ..findings import Check, Evidence, Finding, Report, declare
from ..operation import counters, jobs, staged, steady, untold
from ..operation.requests import budget, drafted, laden, prefix, retried, runaway, serving, streamed, worsening
from ..patterns import bounded
from ..series import SeriesTable
from ..settings import CONTEXT, VARIABLES, Setting, Settings
from ..tables.table import Table
from . import (
    answers,
    arithmetic,
    capacity,
    contrast,
    disagreement,
    distributions,
    listed,
    moves,
    onset,
    placed,
    programs,
    rows,
    sampled,
    schedule,
)
from .arithmetic import Quantity
from .clock import Clock, clock_of
from .contrast import Contrast
from .earlier.look import EARLIER, earlier
from .joined.experiment import Experiments, experiments
from .joined.look import JOINED, joined
from .kinds.look import KINDS_OF_QUANTITY, related_by_kind
from .layout.look import LAYOUT, laid_out
from .line import Line, lines_of
from .media.look import MEDIA, heard
from .members.apart import not_learned
from .members.read import families
from .moves import Move
from .numeric.look import NUMERIC, numeric
from .onset import ONSET, Onset
from .paced.look import PACED, paced
from .preferred.look import PREFERRED, preferred
from .reported.look import REPORTED, of_reports
from .results.left_out import around
from .results.look import RESULTS, of_results
from .scores import against, alike, compared, judged, paired, pairs, raters, traded
from .scores.recounted import recounted
from .summed import look
from .summed.endings import endings
from .summed.suffers import suffering
from .summed.uncounted import uncounted
from .texts.look import TEXTS, of_texts
from .trials.follows import TRIALS, tried
from .trials.sweep import sweeps
from .versions.look import VERSIONS, of_versions

CHANGES, CONTRAST = "changes of every measure", "groups against each other"
SCORES, SPREAD, ARITHMETIC = "scores in tables", "distributions in tables", "arithmetic of the run"
STATEMENTS, SERVING, JOBS = "statements against each other", "requests of a server", "jobs and counters of machines"
PROGRAM, ROWS, ANSWERS = "the program against its settings", "rows of tables together", "answers of two models"
ENDS, SAMPLING = "answers and what was counted of them", "outputs against the sampling that was set"
CODES = declare(
    "relate",
    ("metric-changed", CHANGES, "a measure changed for good: where, by how much, in a step or a drift"),
    ("group-differs", CONTRAST, "a measure differs by rank, host, shard, source or another group"),
    ("group-parts", CONTRAST, "one group of a measure moves along the run while the others do not"),
    ("group-worsens", CONTRAST, "one group of a measure gets worse, slowly and with no break, while no other does"),
    ("part-not-learned", CONTRAST, "a part of a loss stays where it began while other parts of it fall"),
    ("source-stays-apart", CONTRAST, "the loss of one source stays far above those of all others and does not fall"),
    ("toxic-share-rises", CONTRAST, "a monitor counts far more toxic samples from one place on, in one source"),
    ("masking-saw-nothing", CONTRAST, "a stage that takes personal data out saw nothing of one source"),
    ("stage-saw-nothing", CONTRAST, "a stage of the data pipeline saw nothing of one source"),
    ("pii-share-rises", CONTRAST, "a monitor counts far more personal data from one place on, in one source"),
    ("same-weights-scored-apart", SCORES, "the same weights have different scores under different ways of measuring"),
    ("eval-settings-differ", SCORES, "scores of two models in tables were measured with different settings"),
    ("score-falls-from-start", SCORES, "scores of a row of checkpoints fall behind the first of them, and stay there"),
    ("score-falls-at-checkpoint", SCORES, "scores of a row of checkpoints fall at one of them, by their posterior"),
    ("score-changes-at-checkpoint", SCORES, "scores of a row of checkpoints change at one of them, not to the worse"),
    ("score-differs", SCORES, "two scores differ by more than their standard errors allow"),
    ("score-behind-reference", SCORES, "the same items score clearly less than in the reference, item by item"),
    ("abilities-traded", SCORES, "general scores fall beyond their errors while others rise, in one or two tables"),
    ("instructions-lost-alone", SCORES, "of several scores those of following instructions fall, knowledge does not"),
    ("score-follows-template", SCORES, "one model scores otherwise in another chat template, all else equal"),
    ("ranking-follows-judge", SCORES, "one judge prefers the first of two models, another the second"),
    ("verdicts-follow-length", SCORES, "a judge prefers the longer of two answers"),
    ("outputs-unchanged", SPREAD, "the outputs to fixed prompts stay the same while training goes on"),
    ("sampled-otherwise", SAMPLING, "all outputs of a table were sampled otherwise than a file of the run sets"),
    ("outputs-cut-short", SPREAD, "outputs end at the length limit after a few characters"),
    ("lengths-over-window", SPREAD, "rows are longer than the window"),
    ("annotator-disagreement", (SPREAD, SCORES), "annotators of a table agree too little for the labels to be learned"),
    ("generation-not-stopping", (SPREAD, SCORES), "outputs of a table run into the length limit instead of stopping"),
    ("verdicts-follow-order", (ROWS, SCORES), "a judge prefers whichever answer stands first"),
    ("labels-on-prompt", ROWS, "tokens of the prompt carry labels, by a dump of them"),
    ("score-follows-length", ROWS, "a scorer prefers the longer answer where the shorter one is the better"),
    ("clocks-apart", ROWS, "two times of one thing lie apart by one and the same amount"),
    ("later-levels-idle", ROWS, "later levels of a codec are hardly used, the first are"),
    ("pageable-copies", ROWS, "a profile spends its time on copies from pageable host memory"),
    ("attention-unfused", ROWS, "a profile has attention in separate kernels and no fused one"),
    ("changed-items-fail", ROWS, "a score falls where items are changed without becoming harder"),
    ("rate-not-best", (ROWS, TRIALS), "of the learning rates that were tried, the run's own is not the best"),
    ("window-hardly-filled", SPREAD, "documents are far shorter than the long window that is trained"),
    ("files-repeated", ROWS, "files of different names in a list have one digest"),
    ("tokenizer-files-differ", ROWS, "a list of files has another tokenizer where weights come from and are used"),
    ("answers-longer", ANSWERS, "a later model answers the same prompts at greater length"),
    ("answers-alike", ANSWERS, "a later model answers different prompts alike, the earlier did not"),
    ("answers-emptied", ANSWERS, "a later model's answers are blank where the earlier model's were not"),
    ("empty-answer-rewarded", ANSWERS, "a later model's answers are blank, and paid no less than the earlier ones"),
    ("answers-break-off", ENDS, "most longer answers of a results file break off in the middle of a sentence"),
    ("answers-go-on", ENDS, "answers of a results file go on with the next question or turn"),
    ("answers-stop-less", ENDS, "under one limit, the answers of one model break off far more often than another's"),
    ("answers-hardly-counted", ENDS, "the counts of a result make up hardly any of its total"),
    ("part-not-evaluated", ENDS, "a result holds an error in place of one of its parts"),
    ("batch-contradicts-plan", ARITHMETIC, "the batch that was planned is not the one that its parts make"),
    ("batch-contradicts-log", ARITHMETIC, "the batch that the parts make is not the one that the log counts"),
    ("steps-contradict-tokens", ARITHMETIC, "the steps that are set are not those that the planned tokens need"),
    ("lr-not-decayed", ARITHMETIC, "the learning rate is near its peak at the end, though its schedule falls"),
    ("lr-floor-early", ARITHMETIC, "the learning rate reaches its floor long before the run's planned end"),
    ("kv-pool-below-need", ARITHMETIC, "the engine's memory share leaves less cache than one sequence needs"),
    ("training-above-card", ARITHMETIC, "weights, gradients, optimizer and activations need more than the card has"),
    ("window-above-positions", ARITHMETIC, "sequences are longer than the positions that the model was built for"),
    ("requests-wait-at-limit", SERVING, "requests wait for a limit on how many run at once, the cache has room"),
    ("rollout-requests-wait", SERVING, "the same in the engine that samples for a reinforcement learning"),
    ("cache-full-requests-wait", SERVING, "requests wait or are preempted because the cache is full"),
    ("answers-run-to-context", SERVING, "a server goes on writing answers until the context is full, again and again"),
    ("memory-flat-under-load", SERVING, "memory of a server's cards stays at one level while its load moves"),
    ("latency-grows", SERVING, "a latency rises and stays there, and not with the load beside it"),
    ("queue-grows", SERVING, "a queue grows and does not drain"),
    ("acceptance-falls", SERVING, "fewer tokens of the draft are accepted than at first, for good"),
    ("host-memory-grows", SERVING, "the host's memory in use grows and is not given back"),
    ("queue-before-first-token", SERVING, "the first token takes longer, each further one does not"),
    ("run-healthy", SERVING, "a load test, or a speed test that was run again, is sound"),
    ("requests-failed", SERVING, "a load test in which a good part of the requests fails"),
    ("latency-explodes-with-load", SERVING, "a server's latency grows far more than the load, which is not served"),
    ("load-not-served", SERVING, "a load test in which many requests fail or are not run together"),
    ("pairs-not-told-apart", SCORES, "held-out pairs are ranked as by guessing, those of the training are not"),
    ("rows-paired-by-place", SCORES, "a reported score is that of answers and right answers in different orders"),
    ("failures-share-node", JOBS, "every job that failed ran on a machine on which none succeeded"),
    ("nothing-tells-the-end", JOBS, "a log ends like any line, its errors were not kept, and no record moves"),
    ("job-ended-badly", JOBS, "the last job of a scheduler's account ended badly, and none went on after it"),
    ("link-counters-grow", JOBS, "counters of link errors grow on one port or machine alone"),
    ("fault-counters-grow", JOBS, "counters of card faults grow on one card or machine alone"),
    ("corrected-errors-few", JOBS, "the memory of one card corrected a few errors, and no counter of worse ones grew"),
    ("resumed-without-state", JOBS, "a job went on from weights alone, without the optimizer's state"),
    ("checkpoint-smaller", JOBS, "a list of checkpoints has one that is far smaller than the others"),
    ("shm-full", JOBS, "a list of file systems has the shared memory full"),
    ("quota-reached", JOBS, "a list of quotas or disks has one that is at its limit"),
    ("said-differently", STATEMENTS, "two places of the run say different numbers for one quantity"),
    ("rate-not-as-set", PROGRAM, "the program writes out another learning rate than the one that is set"),
    ("batch-not-as-set", PROGRAM, "the program writes out another batch or accumulation than the one that is set"),
    ("setting-without-effect", PROGRAM, "the program writes out another number than the one that is set"),
)

CONFIGURES = bounded(r"(?i)\.(?:ya?ml|json|toml|ini|cfg|conf)$|(?:^|[/_.-])(?:args|config|params|flags|cmd)\w*\.txt$")
"""Files that set, rather than plan or report."""


@dataclass(frozen=True)
class Related(Report):
    """The relations of a run: their findings, and what signs are asked over."""

    moves: tuple[Move, ...] = ()
    onset: Onset | None = None
    contrasts: tuple[Contrast, ...] = ()
    quantities: dict[str, Quantity] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    settings: Settings = field(default_factory=Settings)
    compared: frozenset[tuple[str, str, str]] = frozenset()
    """(metric, its own name, group) of what could differ by a group."""
    experiments: Experiments = field(default_factory=Experiments)


@dataclass(frozen=True)
class _Read:
    """What `relate` was given, and what more than one of its parts looks at."""

    series: SeriesTable
    tables: Sequence[Table]
    settings: Settings
    events: Sequence[Event]
    claims: Sequence[Claim]
    facts: Sequence[Fact]
    failures: Sequence[tuple[str, Evidence]]
    stated: Sequence[Stated]
    counts: Sequence[Counted]
    cases: Sequence[Table]
    clock: Clock
    lines: Sequence[Line]
    moved: tuple[Move, ...]
    families: Sequence[Table]
    parts: tuple[Move, ...]
    """What the members of the families of columns do."""
    begun: Onset | None
    apart: Sequence[Contrast]
    said: Sequence[Finding]
    made: dict[str, Quantity]

    @property
    def values(self) -> Mapping[str, Setting]:
        return self.settings.values


def relate(
    series: SeriesTable,
    tables: Sequence[Table] = (),
    settings: Settings | None = None,
    events: Sequence[Event] = (),
    claims: Sequence[Claim] = (),
    facts: Sequence[Fact] = (),
    failures: Sequence[tuple[str, Evidence]] = (),
    stated: Sequence[Stated] = (),
    counts: Sequence[Counted] = (),
    cases: Sequence[Table] = (),
) -> Related:
    """Every relation between what a run measured, set, planned and told.

    Args:
        series: series of its logs.
        tables: everything that was read as rows.
        settings: in force.
        events: what happened, by step or time.
        claims: what was planned or promised.
        facts: what the run's programs do.
        failures: times of failures as a log writes them, and where.
        stated: what its small files say of any quantity.
        counts: what its lines count of a whole.
        cases: rows of single cases in files of metrics.

    Returns:
        Findings, worst first, in one grade the onset before what only accompanies it; and the relations themselves.
    """
    settings, events = filled(settings or Settings(), claims), placed.placed(events)
    clock = clock_of(tables, events)
    lines = [clock.on_steps(line) for line in lines_of(series, tables)]
    moved = moves.moves(lines)
    kin = families(tables)
    parts = moves.moves([clock.on_steps(line) for line in lines_of((), kin)])
    of = experiments(lines)
    begun = onset.onset(moved, [e for e in events if e.what != "lost"], clock, of)
    apart = contrast.contrasts(series, [t for t in tables if not t.cumulative])
    said, groups = look.summed(tables)
    made = _quantities(settings, lines, tables, claims)
    found, checks = _run(_Read(series, tables, settings, events, claims, facts, failures, stated, counts, cases,
                               clock, lines, moved, kin, parts, begun, apart, said, made))  # fmt: skip
    summary = {"lines": len(lines), "changed": sum(bool(m.lasting) for m in moved),
               "quantities": {q.name: q.value for q in made.values()}}  # fmt: skip
    return Related("relate", tuple(found), tuple(checks), summary, moved, begun, (*apart, *groups), made, tuple(events),
                   settings, contrast.compared(tables), of)  # fmt: skip


def filled(settings: Settings, claims: Sequence[Claim]) -> Settings:
    """The settings, and what a configuration says that no known framework's reader read."""
    said: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.of in VARIABLES.keys() | CONTEXT.keys() and CONFIGURES.search(claim.file):
            said.setdefault(claim.of, []).append(claim)
    agreed = {of: c for of, c in said.items() if of not in settings and len({one.value for one in c}) == 1}
    values = {of: _setting(c[0]) for of, c in agreed.items()}
    return replace(settings, values={**values, **settings.values}) if values else settings


def _setting(claim: Claim) -> Setting:
    variable = (VARIABLES | CONTEXT)[claim.of]
    value = int(claim.value) if variable.type == "int" else claim.value
    key = claim.text.partition(":")[0].strip(" \"'-")[:80]
    return Setting(claim.of, value, f"{claim.value:g}", key, claim.file, claim.line)


def _quantities(
    settings: Settings, lines: Sequence[Line], tables: Sequence[Table], claims: Sequence[Claim]
) -> dict[str, Quantity]:
    made = arithmetic.quantities(settings, lines, claims) | capacity.capacity(settings, tables, claims)
    speed = next((x for x in lines if x.name == "tokens_per_second" and len(x) >= 5), None)
    rate = float(np.nanmedian(speed.values)) if speed is not None else None
    if (share := capacity.throughput(settings, tables, rate)) is not None:
        made[share.name] = share
    return made


PARTS: dict[str, tuple[tuple[str, ...], Callable[[_Read], Sequence[Finding]]]] = {
    ARITHMETIC: (
        ("made",),
        lambda r: [
            *arithmetic.contradictions(r.settings, r.lines, r.claims, r.made),
            *schedule.warming(r.settings, r.series),
            *capacity.limits(r.settings, r.made),
        ],
    ),
    SCORES: (
        ("tables",),
        lambda r: [
            *around(compared.related(r.tables), r.moved, r.events),
            *pairs.held_out(r.tables, r.lines),
            *recounted(r.tables, r.stated),
            *traded.traded(r.tables),
            *alike.of_the_base(r.tables),
            *against.behind_reference(r.tables),
            *(f for table in r.tables for look in (*judged.LOOKS, *paired.LOOKS, raters.raters) for f in look(table)),
        ],
    ),
    ONSET: (("lines",), lambda r: [f for look in onset.LOOKS if (f := look(r.begun))] if r.begun else []),
    CONTRAST: (
        ("series", "tables"),
        lambda r: [
            *contrast.told(r.apart),
            *map(contrast.parted, contrast.partings((*r.moved, *r.parts))),
            *not_learned((*r.moved, *r.parts), r.settings),
            *streamed.streamed([*r.tables, *r.families]),
            *staged.staged(r.tables),
        ],
    ),
    SPREAD: (("tables",), lambda r: distributions.spread(r.tables, r.settings)),
    ROWS: (("tables",), lambda r: [*rows.looked(r.tables), *listed.listed(r.tables)]),
    ANSWERS: (("tables",), lambda r: [*answers.compared(r.tables), *answers.emptied(r.tables)]),
    ENDS: (("tables",), lambda r: [*endings(r.tables), *uncounted(r.tables)]),
    SAMPLING: (("tables",), lambda r: sampled.otherwise(r.tables, r.settings, r.claims)),
    look.SUMMARIES: (("tables",), lambda r: r.said),
    TEXTS: (("tables", "cases"), lambda r: of_texts(r.tables, r.cases, r.settings, r.stated, r.lines)),
    PREFERRED: (("tables",), lambda r: preferred(r.tables)),
    RESULTS: (("tables",), lambda r: of_results(r.tables, r.lines, r.settings)),
    VERSIONS: (("tables", "stated"), lambda r: of_versions(r.tables, r.stated, r.lines, r.counts)),
    REPORTED: (("tables", "stated"), lambda r: of_reports(r.tables, r.stated, r.lines)),
    JOINED: (
        ("tables", "events"),
        lambda r: [*joined(r.tables, r.lines, r.settings, r.failures, r.parts, r.events), *suffering(r.moved, r.said)],
    ),
    MEDIA: (("tables",), lambda r: heard(r.tables, r.stated)),
    NUMERIC: (("tables", "lines"), lambda r: numeric(r.tables, r.lines, r.settings, r.stated)),
    PACED: (("series", "tables"), lambda r: paced(r.series, r.tables, r.lines, r.stated, r.claims, r.settings)),
    TRIALS: (("tables",), lambda r: [*tried(r.tables, r.settings, r.lines), *sweeps(r.tables, r.settings)]),
    EARLIER: (("tables", "lines"), lambda r: earlier(r.tables, r.lines, r.settings, r.events)),
    LAYOUT: (("tables",), lambda r: laid_out(r.tables, r.settings, r.moved)),
    SERVING: (
        ("series", "tables"),
        lambda r: [
            *serving.served(r.tables, r.lines, r.settings, r.events),
            *runaway.run_on(r.lines, r.settings),
            *worsening.worsened(r.lines),
            *worsening.scores_fell(r.lines),
            *laden.of_load_tests(r.tables, r.lines, r.stated),
            *steady.kept(r.lines, r.settings),
            *prefix.prefix_lost(r.tables, r.lines),
            *(*drafted.drafted(r.tables, r.lines), *budget.at_budget(r.lines, r.settings), *retried.retried(r.tables)),
        ],
    ),
    JOBS: (
        ("tables", "stated"),
        lambda r: [
            *jobs.ran(r.tables),
            *jobs.resumed(r.tables, r.events),
            *counters.counted(r.tables),
            *jobs.stored(r.tables),
            *jobs.ended(r.tables),
            *untold.untold(r.stated, r.lines, r.tables),
        ],
    ),
    STATEMENTS: (("claims", "values"), lambda r: disagreement.disagreements(r.settings, r.claims, r.lines, r.made)),
    PROGRAM: (("facts",), lambda r: programs.without_effect(r.settings, r.facts, r.lines)),
    KINDS_OF_QUANTITY: (
        ("tables", "stated", "counts"),
        lambda r: related_by_kind(
            r.tables, r.stated, r.moved, r.events, r.clock, contrast.told(r.apart), r.cases, r.counts
        ),
    ),
    CHANGES: (("lines",), lambda r: moves.told(r.moved)),
}
"""Of each part: what there has to be for it, and its findings."""


def _run(read: _Read) -> tuple[list[Finding], list[Check]]:
    """The findings of all parts, and what came of each."""
    found, checks = list[Finding](), list[Check]()
    for name, (asks, part) in PARTS.items():
        try:
            with np.errstate(all="ignore"):  # a log holds NaN and inf; what follows from them is judged, not warned of
                new = part(read)
        except (ArithmeticError, ValueError, IndexError, TypeError, KeyError) as error:
            why = f"{type(error).__name__}: {error}"
            checks.append(Check(name, "failed", f"the relation broke: {why}", f"计算出错：{why}"))
            continue
        found += new
        none = Check(name, "not-applicable", "the run has nothing to compare", "没有可供比较的内容")
        there = new or any(len(getattr(read, of)) for of in asks)
        checks.append(Check(name, "found" if new else "clear") if there else none)
    return sorted(found, key=lambda f: f.severity), checks
