"""All logs and tables under a path as courses of training, before one training is chosen: what they say together."""

from __future__ import annotations

from collections.abc import Sequence

from ...documents.event import Event
from ...findings import Check, Report, declare
from ...run import Run
from ...series import SeriesTable
from ...tables.table import Table
from ..earlier.back import gone_back
from ..earlier.started_over import started_over
from ..paced.seen import seen_less
from .clipped import clipped
from .critics import unlearned
from .finer import finer
from .held import held
from .leashed import leashed
from .left import Left
from .norms import shrunk
from .ramped import ramped
from .read import courses
from .reads import reread
from .reference import begins_above, followed
from .resumed import resumed
from .rewarmed import rewarmed
from .scaled import scaled
from .stands import stands

CHECK = "courses of training side by side"
CODES = declare(
    "courses",
    ("restart-with-fresh-optimizer", CHECK, "behind a restart loss and norm climb and fall as with empty moments"),
    ("restart-without-state", CHECK, "the loss is higher since a restart for which files say what was not loaded"),
    ("loss-higher-since-restart", CHECK, "the loss is higher since a restart, the learning rate goes on"),
    ("loss-lower-since-restart", CHECK, "the loss is lower at once since a restart, the learning rate goes on"),
    ("data-not-resumed", CHECK, "since a restart the data are read again: a count of them, or a lower loss, says so"),
    ("rate-off-since-restart", CHECK, "behind a restart the learning rate is another, and the loss higher"),
    ("lr-starts-over", CHECK, "the learning rate starts over in the middle of a run, and climbs beyond what it was"),
    ("data-read-again-since-restart", CHECK, "from a restart on a record of reads begins again from its first row"),
    ("weights-shrink-under-decay", CHECK, "norms of parameters shrink, the loss stands, and the decay is large or new"),
    ("weights-shrink-loss-stands", CHECK, "norms of parameters shrink to less than half while the loss stands"),
    (
        "critic-explains-nothing",
        CHECK,
        "the explained variance is about 0 or below to the end, the reward does not rise",
    ),
    ("critic-behind", CHECK, "the explained variance is about 0 or below to the end"),
    ("values-far-from-returns", CHECK, "the value estimates lie far from the returns to the end"),
    ("old-loss-rises-with-restarted-rate", CHECK, "after an annealed stage the rate climbs again, a loss with it"),
    ("old-loss-rises-in-warm-up", CHECK, "a loss of old data rises with the rate of a stage, and stays above"),
    ("policy-held-by-penalty", CHECK, "the reward stands under a KL penalty far above that of a run that learned"),
    ("clipped-throughout-and-behind", CHECK, "nearly all steps are clipped at a higher rate, and the loss is behind"),
    ("step-sees-too-little", CHECK, "a step sees a whole factor less than another run's, or than is set"),
    ("marked-part-was-read", CHECK, "a part of the data that a list marks as bad was read, from a step on"),
    ("last-state-before-bad-data", CHECK, "the last whole state that a list names from before bad data were read"),
    ("batch-fell-rate-kept", CHECK, "the batch is several times smaller at one learning rate, and the loss suffers"),
    ("loss-follows-other-run", CHECK, "smoothed, the loss falls as that of another run, step by step"),
    ("starts-above-other", CHECK, "a loss begins far above that of another run at the same step and rate"),
    ("loss-printed-finer", CHECK, "a loss is noisier since its log writes more often, and as smooth once averaged"),
    (
        "turned-at-end-of-ramp",
        CHECK,
        "the loss turns up as a warm-up ends that is far shorter than another's to the same peak",
    ),
    ("loss-stands-above-other", CHECK, "the loss stands still far above that of a run like it"),
    ("loss-stands-with-setting", CHECK, "the loss stands far above that of a run that differs in a few flags"),
    ("norm-held-by-clip", CHECK, "the gradient norm is logged at the clip to the end, and is far above it before"),
    ("norm-at-ceiling", CHECK, "the gradient norm lies at one ceiling to the end, as behind a clip"),
)


def side_by_side(run: Run, series: SeriesTable, tables: Sequence[Table] = (), events: Sequence[Event] = ()) -> Report:
    """What the courses of all logs and tables say together."""
    found = courses(series, tables)
    told = [
        *started_over(found), *resumed(found, Left(run)), *reread(tables, found), *shrunk(run, found, events),
        *unlearned(found), *rewarmed(found), *clipped(run, found), *held(run, found), *scaled(run, found),
        *stands(run, found), *followed(found), *begins_above(found), *finer(found), *ramped(found),
        *leashed(run, found), *seen_less(run, found), *gone_back(run, tables, found),
    ]  # fmt: skip
    if not found and not told:
        return Report("courses", (), (Check(CHECK, "not-applicable", "no measures along steps"),))
    return Report("courses", tuple(told), (Check(CHECK, "found" if told else "clear"),))
