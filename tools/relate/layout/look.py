"""What the layout of a run over machines, and tables of its ranks and devices, say: their findings and the codes."""

from __future__ import annotations

from collections.abc import Sequence

from ...findings import Finding, declare
from ...settings import Settings
from ...tables.table import Table
from ..moves import Move
from . import (
    awaited,
    called,
    entered,
    faulty,
    held,
    kernels,
    links,
    profiled,
    replicas,
    scaling,
    stays,
    topology,
    wider,
)

MOST_TABLES = 200
LAYOUT = "the layout over machines"
CODES = declare(
    "layout",
    ("parallel-group-across-nodes", LAYOUT, "a group that talks in every layer has more devices than a machine"),
    ("communication-fills-step", LAYOUT, "a large share of a step is communication, on all ranks alike"),
    ("copies-fill-time", LAYOUT, "a profile spends its time on single copies between host and device"),
    ("kernels-contradict-precision", LAYOUT, "a profile has products in 32 bits where 16 are set"),
    ("collectives-fill-profile", LAYOUT, "a profile spends most of its time in collectives between cards"),
    ("loader-fills-profile", LAYOUT, "a profile spends its time in the loader of the data"),
    ("link-below-others", LAYOUT, "the link of one port, card, host or pair is slower or narrower than all others"),
    ("slower-when-group-wider", LAYOUT, "trainings whose inner group is wider than a machine are the slow ones"),
    ("clock-held-on-one", LAYOUT, "the clock of one card or machine alone is held down while it works"),
    ("others-wait-for-one", LAYOUT, "the work of one member takes longer, and the others wait by as much"),
    ("slow-on-either-machine", LAYOUT, "one part of a training is the slowest on one machine, and on the next as well"),
    ("card-with-faults", LAYOUT, "one card of an inventory alone has errors that its memory could not correct"),
    ("scaling-falls", LAYOUT, "each device brings less, the more of them there are"),
    ("ranks-differ-in-weights", LAYOUT, "digests of the weights are alike on all ranks, and from a place on are not"),
    ("clocks-steady", LAYOUT, "the clocks of all cards stay where they are, with no reason to hold them down"),
)


def laid_out(tables: Sequence[Table], settings: Settings, moves: Sequence[Move] = ()) -> list[Finding]:
    """The layout of a run over its machines, and what its ranks spend their time on."""
    some = tables[:MOST_TABLES]
    return [
        *topology.wider_than_machine(some, settings),
        *profiled.looked(some),
        *called.copied(some),
        *entered.entered(some),
        *kernels.looked(some, settings),
        *scaling.scaled(some),
        *links.slow_links(some),
        *held.held_down(some),
        *faulty.faulty(some),
        *replicas.replicas(some),
        *stays.stays_slow(some),
        *awaited.awaited(moves),
        *wider.slower_when_wider(some, settings),
    ]
