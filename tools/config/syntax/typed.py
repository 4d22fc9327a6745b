"""Commands as they were typed, kept in a text: after a prompt, numbered as a history, with what they printed below.

Only the last launch is a command; every other line is left out, assignments above it apart.
"""

from __future__ import annotations

from ...patterns import bounded
from .shellwords import Traced

PROMPT = bounded(
    r"[ \t]{0,8}(?:\d{1,6}\*?[ \t]{1,4}(?:\[?\d{4}-\d\d-\d\d[ T][\d:]{5,8}\]?[ \t]{1,4})?"
    r"|(?:\([\w.\-]{1,40}\)[ \t]?)?(?:[\w.\-]{1,40}@[\w.@:~/\- ]{1,80}[$#%]|[$%>❯»])[ \t]{1,3})"
)
"""A number of a history, with its time, or the prompt of a shell. A lone `#` may be a comment."""
LAUNCH = bounded(
    r"(?:[A-Za-z_]\w{0,60}=\S{0,200}[ \t]{1,4}){0,12}(?:(?:nohup|exec|time|sudo|env|uv run|poetry run)[ \t]{1,4}){0,3}"
    r"(?:[\w./\-]{0,120}/)?(?:torchrun|accelerate[ \t]{1,4}launch|deepspeed|python[\d.]{0,5}|vllm[ \t]{1,4}\w+|srun"
    r"|mpirun|swift|llamafactory-cli|axolotl|lm[_-]eval|xtuner|tune[ \t]{1,4}run|litgpt|trl|docker[ \t]{1,4}run"
    r"|(?:ba)?sh)[ \t]{1,4}\S"
)
ASSIGNMENT = bounded(r"(?:export[ \t]{1,4})?[A-Za-z_]\w{0,60}=\S{0,400}[ \t]{0,4}$")
FLAGGED = bounded(r"[ \t](?:--?[A-Za-z]|[\w.+/]{1,80}=\S)")


def as_shell(text: str) -> Traced | None:
    """The last launch with the assignments above it, each character at its place; None where nothing was launched."""
    lines: list[tuple[int, str]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        lines.append((offset, line))
        offset += len(line)
    kept: list[tuple[int, str]] = []
    launch: list[tuple[int, str]] = []
    i = 0
    while i < len(lines):
        start, line = lines[i]
        prompt = PROMPT.match(line)
        skip = prompt.end() if prompt else 0
        bare = line[skip:].strip()
        whole = [(start + skip, line[skip:])]
        while whole[-1][1].rstrip().endswith("\\") and i + 1 < len(lines):
            i += 1
            whole.append(lines[i])
        if ASSIGNMENT.match(bare):
            kept += whole
        elif LAUNCH.match(bare) and any(FLAGGED.search(part) for _, part in whole):
            launch = whole
        i += 1
    if not launch:
        return None
    out = [part for part in (*kept, *launch) if part[0] <= launch[-1][0]]
    return Traced("".join(part for _, part in out), [at + j for at, part in out for j in range(len(part))])


def holds(head: str) -> bool:
    """Whether a text begins with a launch as it was typed, or is a history with one in it."""
    lines = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith("# ")][:200]
    numbered = [line for line in lines if line.lstrip()[:1].isdigit() and PROMPT.match(line)]
    first = lines[:1] if len(numbered) * 2 < len(lines) else numbered
    for line in first:
        prompt = PROMPT.match(line)
        bare = line[prompt.end() if prompt else 0 :]
        if LAUNCH.match(bare) and (FLAGGED.search(bare) or bare.rstrip().endswith("\\")):
            return True
    return False
