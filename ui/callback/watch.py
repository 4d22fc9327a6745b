"""The looks at a training that runs: `triage scan` in a side process of least priority, and what it found, said once.

The side process is this interpreter without the program's modules and without its devices. If it is killed, breaks or
takes too long, the next look goes on; a look that failed is never "nothing found".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...tools.findings import clean
from ...tools.phrase import Phrase, counted, phrases
from ..output import REASSURING
from .recording import MOST_BYTES, Recording

SIDE = "import os; os.nice(19); from triage.ui.cli import main; main()"
ALONE = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""The side process takes neither the training's device nor its cores."""
LONGEST = 300.0
"""Seconds of one look; the last one holds the end of a program back, at most so long."""
WORDS = phrases(
    "what the callback says",
    ("none", "no finding in what was logged ({lines}); {clear} clear, {short} too short to judge",
     "记录的数据（{lines}）中没有发现；{clear} 项正常，{short} 项太短，无法判断"),
    ("some", '{n}; causes and one change: triage ask "what went wrong?" --run {path}',
     '{n}；原因和一项改动：triage ask "哪里出错了？" --run {path}'),
    ("cut", "a look at the training was cut off ({why}); that is no verdict",
     "一次检查被中断（{why}），不代表没有问题"),
    ("full", "over the limit of {n} MB: what is logged from here on is not recorded",
     "超过 {n} MB 的上限：此后的记录不再保存"),
)  # fmt: skip
FINDINGS, LINES = Phrase("finding", "条发现"), Phrase("line", "行")


class Watch:
    """One training that is looked at, from its first logged line to its end."""

    def __init__(
        self,
        recording: Recording,
        paths: Sequence[Path],
        every: float,
        lang: str,
        tell: Callable[[str], None],
    ):
        self.recording = recording
        self._paths, self._every, self._lang, self._tell = paths, every, lang, tell
        self._told: dict[tuple[str, str], str] = {}
        self._said: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="triage", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """The last look and the last line."""
        self._over.set()
        self._thread.join(LONGEST)
        report = self._look()
        self.recording.close()
        if self._told:
            found = counted(len(self._told), FINDINGS, self._lang)
            self._tell(WORDS["some"].say(self._lang, n=found, path=self._paths[0] if self._paths else self._folder))
        elif report:
            results = [c["result"] for c in report["checks"]]
            lines = counted(self.recording.lines, LINES, self._lang)
            short = sum(bool(c.get("too_short")) for c in report["checks"])
            clear = results.count("clear")
            self._tell(WORDS["none"].say(self._lang, lines=lines, clear=clear, short=short))

    @property
    def _folder(self) -> Path:
        return self.recording.folder

    def _run(self) -> None:
        seen = 0
        while not self._over.wait(self._every):
            if self._paths or self.recording.lines > seen:
                seen = self.recording.lines
                self._look()

    def _look(self) -> dict[str, Any] | None:
        """Scan, and say what is new; the report, unless the side process broke."""
        if self.recording.full:
            self._once(WORDS["full"].say(self._lang, n=MOST_BYTES >> 20))
        try:
            report = self._scan()
            for line in self._new(report):
                self._tell(line)
        except Exception as error:
            self._once(WORDS["cut"].say(self._lang, why=clean(str(error), 200)))
            return None
        return report

    def _scan(self) -> dict[str, Any]:
        """What `triage scan --json` prints over the recording and the run's own paths."""
        words = [sys.executable, "-P", "-c", SIDE, "scan", "--json", "--lang", self._lang, "--"]
        try:
            done = subprocess.run(
                [*words, self._folder, *self._paths],
                env=os.environ | ALONE,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"it took over {LONGEST:.0f} s") from None
        if done.returncode not in (0, 1):
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise RuntimeError(said[-1] if said else f"exit status {done.returncode}")
        return json.loads(done.stdout)

    def _new(self, report: dict[str, Any]) -> Iterator[str]:
        """Findings that were not told yet, or have become graver: one of a code and measure."""
        for finding in report["findings"]:
            where = (finding["evidence"] or [{}])[0]
            key = (finding["code"], where.get("metric") or "")
            if finding["code"] in REASSURING or self._told.get(key, "S9") <= finding["severity"]:
                continue
            self._told[key] = finding["severity"]
            yield f"{finding['code']} {finding['severity']} {clean(finding['message'], 600)}"

    def _once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            with suppress(Exception):  # of a `tell` that a program brought
                self._tell(line)
