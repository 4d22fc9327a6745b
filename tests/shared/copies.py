"""A copy of triage in which some files read otherwise, and its command line: what others add, without touching ours."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_with(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """The environment of a copy of triage below `folder` with these files (path -> text); all else is linked.

    What Python has compiled of ours is read through the links and never written.
    """
    house = folder / "copy" / "triage"
    house.mkdir(parents=True)
    for room in ("agent", "evals", "knowledge", "tools", "ui"):
        (house / room).symlink_to(ROOT / room)
    for path, text in files.items():
        for parent in reversed(Path(path).parents[:-1]):
            _opened(house / parent)
        (house / path).unlink(missing_ok=True)
        (house / path).write_text(text, encoding="utf-8")
    own = {"PYTHONPATH": str(house.parent), "PYTHONDONTWRITEBYTECODE": "1", "TRIAGE_HOME": str(folder / "home")}
    return os.environ | own


def _opened(folder: Path) -> None:
    """A link to a folder becomes a folder of links."""
    if folder.is_symlink():
        ours = folder.readlink()
        folder.unlink()
        folder.mkdir()
        for path in ours.iterdir():
            (folder / path.name).symlink_to(path)
    folder.mkdir(exist_ok=True)


def python(env: Mapping[str, str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of code in that environment."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)


def triage(env: Mapping[str, str], *arguments: str) -> str:
    """What `triage ARGUMENTS` prints there; it may find something, but must run."""
    done = python(env, "from triage.ui.cli import main; main()", *arguments)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
