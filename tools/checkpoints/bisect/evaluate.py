"""Runs the person's evaluation command on one checkpoint and reads the number it prints.

The command comes from the command line and nowhere else. It runs without a shell, in a process group of its own that
is ended with it, with a time limit; what it prints is bounded. A command that fails, hangs or prints no number gives
no observation, never a bad value. A checkpoint's name, which the run chose, is an argument and never text of a command.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from ...findings import TriageError, clean
from .row import Point

Reading = Literal["number", "pass"]
TAIL = 1 << 20
"""Bytes of the output that are read, from its end."""
MAX_OUTPUT = 256 << 20
"""A command that prints more is ended."""
GRACE = 5.0
"""Seconds between asking a process group to end and killing it."""
SKIP = 125
"""Exit status with which a command says that this checkpoint cannot be judged, as in `git bisect run`."""
NUMBER = re.compile(r"^(?:[-+]?(?:\d[\d_]*+\.?+\d*+|\.\d++)(?:e[-+]?\d++)?+%?|[-+]?(?:nan|inf(?:inity)?))$", re.I)
PLACES = ("checkpoint", "step", "repeat", "job")
VARIABLE = "TRIAGE_CHECKPOINT"
"""Holds the checkpoint's path in the environment of the command."""
INTERPRETERS = {
    r"(?:ba|z|da|k|mk|a|fi|tc|c|xon|pw)?sh|(?:python|pypy)[\d.]*": "cC",
    r"(?:perl|ruby|lua)[\d.]*|node|bun|julia|Rscript": "eEp",
    r"php[\d.]*": "r",
}
"""Programs that run text -> the letters of the options that give it to them."""
TAKES_VALUE = re.compile(r"[-+][A-Za-z]*[oOWXIr]|--(?:rcfile|init-file|require|import)")
"""Options before that text whose value is the next word."""
READ_AGAIN = {"ssh", "rsh", "pdsh", "mosh", "eval", "watch", "parallel"}
"""Programs that join their words to a line for a shell."""
PLAIN_PATH = re.compile(r"[\w@%+=:,./-]+")
PLAIN_WORD = re.compile(r"[^\s;|&<>()`$\"'\\]*")
INSTEAD = f"""sh -c 'eval.py "$1"' _ {{checkpoint}}, or sh -c 'eval.py "${VARIABLE}"'"""


@dataclass(frozen=True)
class Command:
    """The evaluation command and how its result is read."""

    text: str
    reading: Reading = "number"
    key: str = ""
    """Dotted key of the number in a JSON object that the command prints; empty: the last line is the number."""
    timeout: float = 3600.0
    """Seconds for one evaluation."""

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.text)
        except ValueError as error:
            raise TriageError(f"--eval: {error}; quote it as in a shell: --eval 'eval.py {{checkpoint}}'") from None
        if not words:
            raise TriageError("--eval: no command given")
        if "{checkpoint}" not in self.text and VARIABLE not in self.text:
            raise TriageError("--eval: the command needs {checkpoint} where the path of the checkpoint goes")
        if any("{checkpoint}" in text for text in _texts(words)):
            raise TriageError(
                "--eval: {checkpoint} stands inside text that is run, and the run chose the checkpoints' names; "
                f"give it as an argument instead: {INSTEAD}"
            )

    @property
    def identity(self) -> str:
        """What must be equal for a cached result to count."""
        return json.dumps([self.text, self.reading, self.key])

    def words(self, point: Point, repeat: int, job: int = 0) -> list[str]:
        """The argument vector: every placeholder is replaced inside its own word, so nothing needs quoting.

        Raises:
            TriageError: the path is more than a plain name, and its word looks like text that some shell will read.
        """
        path, words = str(point.path.resolve()), shlex.split(self.text)
        risky = any("{checkpoint}" in w and not PLAIN_WORD.fullmatch(w) for w in words) or not READ_AGAIN.isdisjoint(
            Path(word).name for word in words
        )
        if risky and not PLAIN_PATH.fullmatch(path):
            raise TriageError(
                f"--eval: {clean(path)!r} holds more than letters, digits and @%+=:,./_-, and a shell may read what "
                f"stands around {{checkpoint}}; give it as an argument of its own: {INSTEAD}"
            )
        values = {"checkpoint": path, "step": str(point.step), "repeat": str(repeat), "job": str(job)}
        return [_PLACE.sub(lambda m: values[m[1]], word) for word in words]


_PLACE = re.compile("{(" + "|".join(PLACES) + ")}")


def _texts(words: list[str]) -> Iterator[str]:
    """The words that are text which a program among them runs: after its `-c` or `-e`, or joined to it."""
    for at, word in enumerate(words):
        for letters in (found for name, found in INTERPRETERS.items() if re.fullmatch(name, Path(word).name)):
            yield from _run_by(words[at + 1 :], re.compile(rf"-[A-Za-z]*[{letters}]|--(?:command|eval|print)\b"))


def _run_by(words: list[str], runs: re.Pattern[str]) -> Iterator[str]:
    code = value = False
    for word in words:
        if value:
            value = False
            continue
        option = len(word) > 1 and word[0] in "-+"
        code |= option and bool(runs.match(word))
        value = option and bool(TAKES_VALUE.fullmatch(word)) and not runs.fullmatch(word)
        yield from [word] if code else []
        if not option or (code and not word.strip("-+").isalpha()):
            return


@dataclass
class Job:
    """One evaluation under way."""

    point: Point
    index: int
    repeat: int
    slot: int
    tries: int
    process: subprocess.Popen
    out: IO[bytes]
    err: IO[bytes]
    started: float
    deadline: float
    ended: str = ""
    """Why it was ended by us."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def poll(self) -> bool:
        """Whether it finished; ends it when its time or its output is used up."""
        if self.process.poll() is not None:
            return True
        if time.monotonic() > self.deadline:
            self.stop(f"took longer than {self.deadline - self.started:g} s (--timeout)")
        elif os.fstat(self.out.fileno()).st_size + os.fstat(self.err.fileno()).st_size > MAX_OUTPUT:
            self.stop(f"printed more than {MAX_OUTPUT >> 20} MiB")
        return self.process.poll() is not None

    def stop(self, why: str) -> None:
        """End the whole process group, first with a request, then by force."""
        self.ended = why
        for sign, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
            try:
                os.killpg(self.process.pid, sign)
            except ProcessLookupError:
                break
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
        kill_group(self.process.pid)

    def result(self, command: Command) -> tuple[float | None, str]:
        """The value, or None and why there is none."""
        kill_group(self.process.pid)  # children that outlived it
        status = self.process.returncode
        out, err = _tail(self.out), _tail(self.err)
        self.out.close()
        self.err.close()
        if self.ended:
            return None, self.ended
        if status == SKIP:
            return None, f"skipped by the command (exit status {SKIP})"
        if status < 0 or status > SKIP:
            return None, f"{_ended(status)}{_last_words(err or out)}"
        if command.reading == "pass":
            return (1.0 if status == 0 else 0.0), ""
        if status:
            return None, f"{_ended(status)}{_last_words(err or out)}"
        value, why = read_value(out, command.key)
        return value, why


def start(command: Command, point: Point, index: int, repeat: int, slot: int, tries: int) -> Job:
    """Start one evaluation.

    Raises:
        TriageError: there is no such program.
    """
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  # closed by Job.result
    words = command.words(point, repeat, slot)
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                   preexec_fn=_die_with_parent if sys.platform == "linux" else None,
                                   env=os.environ | {VARIABLE: str(point.path.resolve())})  # fmt: skip
    except OSError as error:
        raise TriageError(f"--eval: cannot start {clean(words[0])!r}: {error.strerror}") from None
    now = time.monotonic()
    return Job(point, index, repeat, slot, tries, process, out, err, now, now + command.timeout)


def _die_with_parent() -> None:
    """In the child: end when the bisection is killed, so that no evaluation keeps a device busy unseen."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, 2)
    file.seek(max(0, size - TAIL))
    return file.read().decode("utf-8", "replace")


def _ended(status: int) -> str:
    if status < 0:
        return f"ended by signal {-status}" + (" (out of memory?)" if status == -signal.SIGKILL else "")
    return f"exit status {status}"


def _last_words(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f": {clean(lines[-1], 200)}" if lines else ""


def read_value(out: str, key: str) -> tuple[float | None, str]:
    """The number in the output: the last word of its last line, or `key` of the last JSON object.

    >>> read_value('loading...\\naccuracy: 71.5%\\n', '')
    (71.5, '')
    """
    if key:
        found = _json_value(out, key)
        value, why = found if isinstance(found, tuple) else (found, "")
    else:
        lines = [line.split() for line in out.splitlines() if line.strip()]
        word = lines[-1][-1].rstrip(",;") if lines else ""
        if not NUMBER.match(word):
            last = clean(" ".join(lines[-1]), 100) if lines else ""
            return None, f"its last line ends in no number: {last!r}" if lines else "it printed nothing"
        value, why = float(word.rstrip("%").replace("_", "")), ""
    if value is not None and not math.isfinite(value):
        return None, f"it printed {value}, which says nothing about where the metric changed"
    return value, why


def _json_value(out: str, key: str) -> float | tuple[None, str]:
    """The number under a dotted key of the last JSON object that holds it."""
    for text in (*reversed(out.splitlines()), out):
        text = text.strip()
        if not text.startswith("{"):
            continue
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for found in (_dig(value, key.split(".")), value.get(key) if isinstance(value, dict) else None):
            if isinstance(found, (int, float)) and not isinstance(found, bool):
                return float(found)
            if isinstance(found, bool):
                return float(found)
            if isinstance(found, str) and NUMBER.match(found.strip()):
                return float(found.strip().rstrip("%").replace("_", ""))
    return None, f"it printed no JSON object with the number {key!r}"


def _dig(value: Any, keys: list[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def default_cache(home: Path, root: Path, command: Command) -> Path:
    """Where the evaluations of one command on one directory are kept."""
    import hashlib

    name = hashlib.sha256(json.dumps([str(root.resolve()), command.identity]).encode()).hexdigest()[:16]
    return home / "bisect" / f"{name}.jsonl"
