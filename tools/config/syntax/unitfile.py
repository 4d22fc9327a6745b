"""Units of systemd as shell scripts: what it executes is a command, what it sets a variable; the rest is a comment.

Every character keeps its place, so that a value is shown and changed where it stands.
"""

from __future__ import annotations

from ...patterns import bounded

SAID = bounded(r"(?:Exec(?:Start|StartPre|Reload)=[-@+!]{0,3}|Environment=)")


def as_shell(text: str) -> str:
    """The unit as a script of the same length."""
    out, continued = [], False
    for line in text.splitlines(keepends=True):
        said = SAID.match(line)
        if continued or not line.strip():
            out.append(line)
        elif said and line.startswith("Environment="):
            out.append("     export " + line[said.end() :])
        elif said:
            out.append(" " * said.end() + line[said.end() :])
        else:
            out.append("#" + line[1:])
        continued = line.rstrip("\r\n").endswith("\\") and (continued or bool(said))
    return "".join(out)
