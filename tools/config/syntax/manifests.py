"""Job descriptions as scripts: the commands of Kubernetes, Ray, docker compose and SkyPilot files, with their
environment. Only what a container runs is taken; how it is scheduled is not judged here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...patterns import bounded
from . import yamlfile
from .shell import Launch, Script, Shell
from .shellsyntax import parse
from .shellwords import Traced
from .source import Item, Refused, Source, source

COMMAND = bounded(r"(?:(.*)\.)?(entrypoint|command|args|run|cmd|script|commands)(?:\.\d+)?")
PARTS = ("entrypoint", "command", "args", "run", "cmd", "script", "commands")
"""Keys that make up what one container runs, in the order in which they do."""
ENVIRONMENT = re.compile(
    r"(?:(.*)\.)?(?:env|environment|envs|env_vars|environment_variables)\.([\w]+)(?:\.(name|value))?"
)
MAX_CONTAINERS = 40
"""Most containers of one file that are looked at."""
NESTED = "runtimeEnvYAML"
"""Key under which KubeRay keeps YAML as text."""
SHELL_TEXT = re.compile(r"\s--?\w|\n|&&|\s\w+\.\w+=")


@dataclass
class Container:
    """Commands and environment that stand under one prefix."""

    image: Traced | None = None
    parts: dict[str, list[Traced]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)
    environment: dict[str, Traced] = field(default_factory=dict)


def script(items: list[Item], text: Source, variables: Mapping[str, Traced] | None = None) -> Script | None:
    """What the containers of a job would run, or None if it holds no command.

    Args:
        items: what stands in the file.
        text: the file.
        variables: what its text may name.
    """
    items = [*items, *_nested(items, text)]
    containers: dict[str, Container] = {}
    for item in items:
        if item.text and (match := COMMAND.fullmatch(item.key)):
            if (match[1] or "") not in containers and len(containers) >= MAX_CONTAINERS:
                break
            container = containers.setdefault(match[1] or "", Container())
            container.parts.setdefault(match[2], []).append(traced(item, text))
            if item.key[-1].isdigit():
                container.lists.add(match[2])
    if not containers:
        return None
    found = Script(declared=_surroundings(items, text, containers))
    for container in containers.values():
        _follow(container, found, variables or {})
    return found


def _nested(items: list[Item], text: Source) -> list[Item]:
    """YAML kept as text in a key, under the key that holds it."""
    out = []
    for item in items:
        if item.key.rsplit(".", 1)[-1] == NESTED and item.text:
            body = traced(item, text)
            try:
                inner = yamlfile.read(source(text.name, body.text))
            except Refused:
                continue
            prefix = item.key.removesuffix(NESTED)
            out += [Item(prefix + i.key, i.text, i.style, *_shift(body, i), i.quoted) for i in inner]
    return out


def _shift(body: Traced, item: Item) -> tuple[int, int]:
    return body.start + item.start, body.start + item.end


def _surroundings(items: list[Item], text: Source, containers: dict[str, Container]) -> dict[str, Traced]:
    """Images and environment of the containers; what stands beside or below a container belongs to it.

    What is left is given to the one service beside them whose command is not visible; of several it is nobody's.
    """
    names: dict[str, str] = {}
    left: dict[str, dict[str, Traced]] = {}
    for item in items:
        owner, _, last = item.key.rpartition(".")
        if last == "image" and item.text and owner in containers:
            containers[owner].image = traced(item, text)
        if not item.text or not (match := ENVIRONMENT.fullmatch(item.key)):
            continue
        name, value = match[2], traced(item, text)
        if match[3] == "name":
            names[owner] = item.text
            continue
        if match[3] == "value":
            name = names.get(owner, "")
        elif name.isdigit():
            at = value.text.find("=")
            name, value = value.text[:at], value[at + 1 :]
        prefix, owned = match[1] or "", False
        for place, container in containers.items():
            if prefix == place or not place or prefix.startswith(place + "."):
                container.environment[name] = value
                owned = True
        if not owned and prefix.startswith("services."):
            left.setdefault(prefix, {})[name] = value
    return next(iter(left.values())) if len(left) == 1 else {}


def _follow(container: Container, found: Script, variables: Mapping[str, Traced]) -> None:
    shell = Shell(found)
    shell.variables.update(variables)
    shell.variables.update(container.environment)
    before = len(found.launches)
    words = [container.image] if container.image else []
    lines: list[Traced] = []
    for part in (p for p in PARTS if p in container.parts):
        for value in container.parts[part]:
            if part in container.lists and not _is_shell(value):
                words.append(shell.expand_text(value))
            elif part in container.lists and words and words[-1].text in ("-c", "-lc", "-ec"):
                words.append(value)
            else:
                lines.append(value)
    _run_lines(lines, words, shell)
    if len(words) > 1 and not shell.follow(words, None):
        found.launches.append(Launch(words, {}))
    for launch in found.launches[before:]:
        launch.environment = {**container.environment, **launch.environment}


def _run_lines(lines: list[Traced], words: list[Traced], shell: Shell) -> None:
    """Shell text; what begins with a flag goes on where the text or the words before it end."""
    for i, line in enumerate(lines):
        if line.text.lstrip().startswith("-") and (i or words):
            line = (lines[i - 1] if i else words.pop()) + Traced(" ", [-1]) + line
            lines[i] = line
        if not any(later.text.lstrip().startswith("-") for later in lines[i + 1 : i + 2]):
            shell.block(parse(line))


def _is_shell(value: Traced) -> bool:
    """A list element that is a whole command line."""
    return bool(SHELL_TEXT.search(value.text)) and not value.text.lstrip().startswith("{")


def traced(item: Item, text: Source) -> Traced:
    """The value with the place of every character; lines of a folded value are joined by spaces."""
    raw = text.text[item.start : item.end]
    if item.start == item.end and item.text:
        return _block(item, text)
    start = item.start
    if item.quoted and len(raw) >= 2:
        raw, start = raw[1:-1], start + 1
        if "\\" in raw or "''" in raw:
            return Traced(item.text or "", [item.start] * len(item.text or ""))
    return Traced(_kubernetes(_folded(raw)), range(start, start + len(raw)))


def _block(item: Item, text: Source) -> Traced:
    """A `|` or `>` block: the lines below its key that are indented more than nothing at all."""
    first = text.text.find("\n", item.start) + 1
    if not first:
        return Traced("", [])
    end, indent = first, ""
    while end < len(text.text):
        stop = text.text.find("\n", end) + 1 or len(text.text)
        line = text.text[end:stop]
        if line.strip():
            indent = indent or line[: len(line) - len(line.lstrip(" "))]
            if not indent or not line.startswith(indent):
                break
        end = stop
    raw = text.text[first:end]
    if text.text[item.start : item.start + 1] == ">":
        raw = _folded(raw)
    return Traced(_kubernetes(raw), range(first, end))


def _folded(raw: str) -> str:
    return re.sub(r"\\?\n", lambda m: " " * len(m[0]), raw)


def _kubernetes(raw: str) -> str:
    """`$(NAME)` of Kubernetes as the shell would write it."""
    return re.sub(r"\$\(([A-Z_]\w*)\)", r"${\1}", raw)
