"""Small inputs that ask for much time or memory end soon, in little memory, and with a reason."""

import subprocess

import pytest
from attack.bombs import BOMBS, Bomb
from attack.fence import Tally, name_of
from attack.oracle import Truth


def light(fence, bomb: Bomb, tmp_path, record_property) -> None:
    tally = Tally("bombs", trials=1)
    run = tmp_path / "run"
    bomb.make(run)
    try:
        for command in bomb.commands:
            argv = [part.format(run=run) for part in command]
            [outcome] = fence.run(argv, home=tmp_path / "home")
            tally.add(f"{bomb.name}/-", name_of(command), outcome, Truth(bomb.unread))
            if outcome["why"]:
                break  # the others would meet the same reader
    finally:
        subprocess.run(["rm", "-rf", run], check=True)  # Python's own cannot remove what is nested deeply
    tally.settle(record_property)


@pytest.mark.parametrize("name", [name for name, bomb in BOMBS.items() if bomb.quick])
def test_bombs_end_with_a_reason(fence, name, tmp_path, record_property):
    light(fence, BOMBS[name], tmp_path, record_property)


@pytest.mark.security
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name, bomb in BOMBS.items() if not bomb.quick])
def test_bombs_end_with_a_reason_in_whole(fence, name, tmp_path, record_property):
    light(fence, BOMBS[name], tmp_path, record_property)
