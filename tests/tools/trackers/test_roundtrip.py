"""The same run of 200 steps, written by each tracker's own package: the same series. They are in the extra `dev`."""

import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import writers
from curves import FILES, same, series

from triage.agent.session import ask
from triage.tools.reading import head
from triage.tools.trackers.read import is_tracker, read_tracker

NEEDS = {
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "mlflow_sqlite": "alembic",
    "trackio": "trackio",
    "lightning": "pytorch_lightning",
    "trainer": "tensorboard",
}
"""Writer -> the module without which it does not run."""


@pytest.fixture(scope="module")
def run_of(tmp_path_factory):
    """The folder of the run, written once."""
    made: dict[tuple[str, str], Path] = {}

    def write(writer: str, state: str) -> Path:
        if find_spec(NEEDS[writer]) is None:
            pytest.skip(f"{NEEDS[writer]} is not installed")
        if (writer, state) not in made:
            folder = tmp_path_factory.mktemp(f"{writer}-{state}")
            command = [sys.executable, writers.__file__, writer, state, str(folder)]
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "HOME": str(folder)},
                capture_output=True,
                text=True,
                timeout=240,
            )
            assert done.returncode == 0, done.stderr[-2000:]
            made[writer, state] = folder
        return made[writer, state]

    return write


@pytest.mark.parametrize("state", ["nan", "healthy"])
@pytest.mark.parametrize("writer", NEEDS)
def test_each_tracker_gives_the_same_series(run_of, writer, state):
    folder = run_of(writer, state)
    before = {p: p.stat().st_size for p in folder.rglob("*") if p.is_file()}
    found = {}
    for path in sorted(before):
        name = path.relative_to(folder).as_posix()
        if is_tracker(name, head(path)):
            for of, points in series(read_tracker(path, name)).items():
                found[of] = max(found.get(of, []), points, key=len)
    same(found, state)
    assert {p: p.stat().st_size for p in folder.rglob("*") if p.is_file()} == before


def diagnosed(folder: Path):
    """What `triage ask` makes of it: state, leading causes with their probabilities, findings with their steps."""
    diagnosis = ask("what is wrong?", (folder,), keep=False).diagnosis
    causes = [(h.entry.id, h.status, round(h.probability, 3)) for h in diagnosis.hypotheses[:3]]
    told = [(f.code, f.data.get("first_step")) for f in diagnosis.findings if f.code != "log-still-written"]
    return diagnosis.state, causes, told  # it was written just now, indeed


@cache
def expected(state: str):
    """What it makes of the same run as plain lines of JSON, which no tracker wrote."""
    with TemporaryDirectory() as folder:
        lines = (json.dumps({"step": step, **row}) for step, row in writers.rows(state))
        Path(folder, "metrics.jsonl").write_text("\n".join(lines))
        return diagnosed(Path(folder))


def test_the_plain_run_is_diagnosed():
    state, causes, findings = expected("nan")
    assert (state, causes[0][0], findings[0]) == ("diagnosed", "loss-nan-bad-data", ("loss-nonfinite", writers.BREAKS))
    assert expected("healthy")[:2] == ("healthy", [])


@pytest.mark.parametrize("state", ["nan", "healthy"])
@pytest.mark.parametrize("writer", NEEDS)
def test_each_tracker_gives_the_same_diagnosis(run_of, writer, state):
    assert diagnosed(run_of(writer, state)) == expected(state)


@pytest.mark.parametrize("name", FILES)
def test_each_recorded_file_gives_the_same_diagnosis(recorded, name):
    assert diagnosed(recorded(name).parent) == expected("nan")
