"""Lines of a run's own files that speak to an assistant: named in the answer, followed nowhere.

Settings and scripts are read for them, and every line that a finding shows, wherever it stands. A log is not read once
more for this, and data and generated text may well hold instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from ..knowledge.outside import addressed, hailed, ordered
from ..tools.findings import Finding, TriageError, clean
from ..tools.patterns import bounded
from ..tools.reading import head
from ..tools.run import Artifact, Run

KINDS = ("config", "script")
FILES, BYTES, FORMS = 40, 256 << 10, 2_000
"""Files of a run and bytes of a file that are looked at, and lines of different form in all of them (numbers apart)."""
CLEARLY = 3.0
"""Score from which on a line of a file is an order: files hold far more lines that are none than a message does."""
NAMED = 5
"""Places that are named."""
_DIGITS = re.compile(r"\d")
PROGRAMS = (".py", ".ipynb", ".sh", ".bash", ".sbatch", ".slurm")
CODE = bounded(
    r"^[\s\"']{0,80}(?:[A-Za-z_][\w.]{0,80}(?:\[[^\]\n]{1,80}\])?\s?[-+*|/]?=(?!=)|[A-Za-z_][\w.]{0,80}\(|[@{})\]]"
    r"|(?:def|class|return|import|from|if|elif|for|while|with|raise|assert|except|lambda|yield|await)\b[^.]{0,200}[:(\[=]"
    r"|(?:sudo |exec |srun |nohup )?(?:docker|podman|kubectl|python3?|torchrun|accelerate|deepspeed|export|pip3?|conda"
    r"|git|apt(?:-get)?|curl|wget|mkdir|cp|mv|cd|echo|set)\s+[-\w./$\"'{])"
)
"""How a line of a program begins, which speaks to nobody but in its comments and texts."""
BARE = bounded(
    r"^[\s{\[,-]{0,60}(?:[\"']?[\w.$-]{1,80}[\"']?\s{0,8}[:=]\s{0,8})?[\"']?[!-~]{0,300}[\"']?[\s,}\]]{0,20}$"
)
"""A setting whose value is a name, a number, a path or an address, without a blank or a letter of another script."""
COMMENT = bounded(r"(?:^|\s)(?:#|//)\s?(.{1,600})$")
TEXT = bounded(r"\"((?:[^\"\\\n]|\\.){1,600})\"|'((?:[^'\\\n]|\\.){1,600})'")


def orders(run: Run, findings: Iterable[Finding]) -> tuple[str, ...]:
    """The places, as `file:line`."""
    shown = (
        f"{e.file}:{e.line}" if e.line else e.file
        for f in findings
        for e in f.evidence
        if e.file and e.text and _speaks(e.file, e.text)
    )
    return tuple(islice(dict.fromkeys((*_in_files(run), *map(clean, shown))), NAMED))


def _in_files(run: Run) -> Iterator[str]:
    """Lines that differ in numbers alone are looked at once."""
    forms: set[str] = set()
    for artifact in islice((a for a in run.artifacts if a.kind in KINDS and not a.name.startswith("<")), FILES):
        for number, text in _lines(artifact):
            form = _DIGITS.sub("0", text)
            if form in forms:
                continue
            if len(forms) >= FORMS:
                return
            forms.add(form)
            if _speaks(artifact.name, text, CLEARLY):
                yield f"{clean(artifact.name, 80)}:{number}"


def _speaks(file: str, line: str, *least: float) -> bool:
    """Whether a line speaks to a machine that reads it; of code its comments and texts do, and no name of a type."""
    if not file.lower().endswith(PROGRAMS):
        return not BARE.match(line) and addressed(line, *least)
    parts = [m[1] for m in COMMENT.finditer(line)]
    if not CODE.search(line) and not parts:
        return addressed(line, *least)
    parts += [m[1] or m[2] for m in TEXT.finditer(COMMENT.sub("", line))]
    return any((hailed(part) or ordered(part)) and addressed(part, *least) for part in parts)


def _lines(artifact: Artifact) -> Iterator[tuple[int, str]]:
    try:
        yield from enumerate(head(artifact.path, BYTES).decode("utf-8", "replace").splitlines(), 1)
    except (TriageError, OSError):
        return
