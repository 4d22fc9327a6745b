"""What one side of a run hands to another, looked at once over all its text files."""

from __future__ import annotations

from ...findings import Check, Finding, Report, declare
from ...run import Run
from .attention import attends_otherwise
from .base import another_base, another_sum
from .evaluated import left_out
from .partly import one_part_sent, part_unmoved
from .pushed import branch_never_sent, lands_short, named_otherwise
from .read import texts
from .requests import unnamed
from .scale import scaled_otherwise
from .small import beside_larger, too_small
from .unmoved import unmoved

MERGE = "the base and scale of a merge against those of the training"
SAVED = "the bytes of saved weights against the parameters that were trained"
ASKED, SYNC = "requests against the adapters that an engine holds", "weights pushed against weights landed"
ATTENDS = "the attention of training against that of the service"
CODES = declare(
    "handed",
    ("attention-differs-when-served", ATTENDS, "the service attends otherwise, and agrees with training up to a place"),
    ("attention-set-otherwise", ATTENDS, "the service is set to another attention than training, which may be as good"),
    ("merged-into-another-base", MERGE, "an adapter is merged into another base than the one it was trained on"),
    ("base-changed-before-merge", MERGE, "the base's checksum at the merge is not the one that training wrote"),
    ("merge-scaled-otherwise", MERGE, "a merge scales an adapter otherwise than its settings ask"),
    ("weights-below-parameters", SAVED, "a file of trained weights is smaller than what was trained can be"),
    ("adapter-never-asked-for", ASKED, "an engine loads an adapter again and again, and no request asks for it"),
    ("adapter-served-base-asked", ASKED, "a server holds an adapter, and what asks it names the base"),
    ("adapter-left-out-of-evaluation", ASKED, "an evaluation is meant for an adapter and is given the base alone"),
    ("push-lands-short", SYNC, "fewer tensors land in the engine than are pushed and than it holds, at every push"),
    ("push-leaves-out-branch", SYNC, "every push lacks one branch of the trained tensors, by number and by name"),
    ("engine-part-never-changes", SYNC, "some tensors of the engine keep their first value, the others follow"),
    ("fewer-tensors-land", SYNC, "fewer tensors land than are pushed, which an engine that fuses them would also show"),
    ("adapter-left-behind", SYNC, "the engine's digest is the same after all pushes while an adapter is trained"),
    ("engine-never-changes", SYNC, "the engine's digest is the same after all pushes of a training"),
    ("names-differ-between-sides", SYNC, "many parameters have another prefix on one side than on the other"),
)  # fmt: skip


def check_handed(run: Run) -> Report:
    """Where what one side was handed is not what the other side has."""
    some = texts(run)
    found: dict[str, list[Finding]] = {
        MERGE: [*another_base(some), *another_sum(some), *scaled_otherwise(some)],
        SAVED: [*too_small(some), *beside_larger(some)],
        ASKED: [*unnamed(some), *left_out(some)],
        ATTENDS: [*attends_otherwise(some)],
        SYNC: [
            *(list(lands_short(some)) or list(one_part_sent(some)) or branch_never_sent(some)),
            *part_unmoved(some),
            *named_otherwise(some),
            *unmoved(some),
        ],
    }
    roles = {t.role for t in some}
    looked = {
        MERGE: {"merge", "train"} <= roles,
        SAVED: bool(found[SAVED]),
        ASKED: bool(found[ASKED]),
        ATTENDS: {"serve", "train"} <= roles,
        SYNC: bool(found[SYNC]),
    }
    checks = tuple(
        Check(name, "found" if found[name] else "clear" if looked[name] else "not-applicable") for name in found
    )
    return Report("handed", tuple(f for part in found.values() for f in part), checks)
