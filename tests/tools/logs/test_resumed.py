"""A training that goes on in another log of the same folder, and starts higher than it was."""

import pytest
from making import fill

from triage.agent.evidence import look


def part(first: int, last: int, level: float) -> str:
    return "".join(f"it={i} loss={level + 0.01 * (i * 7 % 5):.4f}\n" for i in range(first, last, 10))


@pytest.mark.parametrize(
    ("names", "second", "jumps"),
    [
        (("run.part1.log", "run.part2.log"), (4000, 6000, 2.6), True),
        (("job_811.out", "job_812.out"), (4600, 6000, 2.6), True),
        (("run.part1.log", "run.part2.log"), (4000, 6000, 2.31), False),
        (("seed1.log", "seed2.log"), (2010, 4600, 2.6), False),
        (("run.log", "other.log"), (3000, 4000, 2.6), False),
    ],
)
def test_the_loss_after_a_restart_in_a_log_of_its_own(tmp_path, names, second, jumps):
    fill(tmp_path, dict(zip(names, (part(2000, 4600, 2.3), part(*second)), strict=True)))
    assert ("loss-jump-on-resume" in {f.code for f in look([tmp_path]).findings}) == jumps
