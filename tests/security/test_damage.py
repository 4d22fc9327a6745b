"""Every kind of file, damaged in every way, under every command that fits it."""

import random
from pathlib import Path

import pytest
from attack.damage import NOTHING_LEFT, PART_LEFT, WAYS
from attack.fence import Tally, attempt
from attack.kinds import ASK, KINDS, lay

NAMES = sorted(WAYS)
SPARSE = (
    "log",
    "trainer-state",
    "yaml",
    "launch",
    "safetensors",
    "config-json",
    "bin",
    "data-jsonl",
    "zst",
    "parquet",
    "npy",
)
"""Readers that meet a file of 300 GB, nearly all hole: seconds each, so not every kind."""


def ways_of(kind: str) -> list[str]:
    """Two ways of each kind, so that the fast part meets every way with several kinds."""
    quick = [name for name in NAMES if name != "sparse"]
    first = 5 * sorted(KINDS).index(kind)
    return [quick[(first + i * 9) % len(quick)] for i in range(2)]


def damage(fence, tally, kind, way, folder):
    victim = lay(kind, folder / "run")
    moved = WAYS[way](victim, random.Random(f"{kind.name}/{way}"))
    victim = moved if isinstance(moved, Path) else victim
    places = {"victim": victim, "folder": victim.parent, "run": folder / "run"}
    skips = (NAMES.index(way) + sorted(KINDS).index(kind.name)) % 4 > 0  # `ask` takes longer than all the others
    chosen = [command for command in kind.commands if command is not ASK or not skips or kind.commands == (ASK,)]
    commands = [[part.format_map(places) for part in command] for command in chosen]
    unread = "all" if way in NOTHING_LEFT else "part" if way in PART_LEFT and kind.structured else ""
    attempt(fence, tally, f"{kind.name}/{way}", folder, commands, unread)


def matrix(fence, kind, ways, tmp_path, record_property):
    tally = Tally("damage")
    for way in ways:
        damage(fence, tally, KINDS[kind], way, tmp_path / way)
    tally.settle(record_property)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_damage_keeps_every_promise_in_part(fence, kind, tmp_path, record_property):
    matrix(fence, kind, ways_of(kind), tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_damage_keeps_every_promise(fence, kind, tmp_path, record_property):
    ways = [name for name in NAMES if name != "sparse" or kind in SPARSE]
    matrix(fence, kind, ways, tmp_path, record_property)


@pytest.mark.security
def test_undamaged_files_keep_every_promise(fence, tmp_path, record_property):
    tally = Tally("undamaged")
    for name, kind in KINDS.items():
        victim = lay(kind, tmp_path / name / "run")
        places = {"victim": victim, "folder": victim.parent, "run": tmp_path / name / "run"}
        commands = [[part.format_map(places) for part in command] for command in kind.commands]
        attempt(fence, tally, f"{name}/none", tmp_path / name, commands)
    tally.settle(record_property)
