"""Every kind of file, damaged in every way, under every command that fits it."""

import random

import pytest
from attack.damage import NOTHING_LEFT, PART_LEFT, WAYS
from attack.fence import Tally, attempt
from attack.kinds import KINDS, lay

NAMES = sorted(WAYS)
SLOW = ("sparse",)


def ways_of(kind: str) -> list[str]:
    """Three ways of each kind, so that the fast part meets every way with several kinds."""
    quick = [name for name in NAMES if name not in SLOW]
    first = 5 * sorted(KINDS).index(kind)
    return [quick[(first + i * 9) % len(quick)] for i in range(3)]


def damage(fence, tally, kind, way, folder):
    victim = lay(kind, folder / "run")
    victim = WAYS[way](victim, random.Random(f"{kind.name}/{way}")) or victim
    places = {"victim": victim, "folder": victim.parent, "run": folder / "run"}
    commands = [[part.format_map(places) for part in command] for command in kind.commands]
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
    matrix(fence, kind, NAMES, tmp_path, record_property)


def test_undamaged_files_keep_every_promise(fence, tmp_path, record_property):
    tally = Tally("undamaged")
    for name, kind in KINDS.items():
        victim = lay(kind, tmp_path / name / "run")
        places = {"victim": victim, "folder": victim.parent, "run": tmp_path / name / "run"}
        commands = [[part.format_map(places) for part in command] for command in kind.commands]
        attempt(fence, tally, f"{name}/none", tmp_path / name, commands)
    tally.settle(record_property)
