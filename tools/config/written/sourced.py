"""A launch script with the file of variables that it sources: `. ./serve.env`, `source config.sh`.

The text of the file is put before the script, and what is set there keeps its place in that file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ...settings import Setting
from ..collect import Reading
from ..syntax.source import Refused, Source, load, source

_SOURCES = re.compile(
    r"(?m)(?:^|[;&]\s{0,8})[ \t]{0,16}(?:source|\.)[ \t]{1,8}[\"']?"
    r"(?:\$\{?\w{1,40}\}?/|\$\(dirname[^)]{0,60}\)/|\./)?([\w.-]{1,80}(?:/[\w.-]{1,80}){0,3})[\"']?"
)
MOST = 4
"""Files that a script sources."""


def read(script: Source, path: Path, as_shell: Callable[[Source], Reading]) -> Reading:
    """The settings of a script, those of a file that it sources with their place there.

    Args:
        script: its text.
        path: where it lies; only files beside and below it are read.
        as_shell: reads a text as a script.
    """
    pieces: list[tuple[str, str]] = []
    for name in dict.fromkeys(_SOURCES.findall(script.text)):
        other = path.parent / name
        if ".." not in PurePosixPath(name).parts and other.is_file() and not other.is_symlink() and len(pieces) < MOST:
            try:
                text = load(other, name, "shell").text
            except Refused:
                continue
            pieces.append((str(PurePosixPath(script.name).parent / name), text.rstrip("\n") + "\n"))
    if not pieces:
        return as_shell(script)
    whole = as_shell(source(script.name, "".join(text for _, text in pieces) + script.text))
    ends: list[tuple[int, str]] = []
    for name, text in pieces:
        ends.append(((ends[-1][0] if ends else 0) + text.count("\n"), name))

    def placed(setting: Setting) -> Setting:
        begin = 0
        for end, name in ends:
            if setting.line <= end:
                return replace(setting, file=name, line=setting.line - begin)
            begin = end
        return replace(setting, line=setting.line - begin)

    whole.values = {v: placed(s) for v, s in whole.values.items()}
    whole.others = {v: placed(s) for v, s in whole.others.items()}
    whole.shadowed = [placed(s) for s in whole.shadowed]
    whole.broken = [placed(s) for s in whole.broken]
    return whole
