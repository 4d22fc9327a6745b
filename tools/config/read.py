"""From a file to its `Reading`: which syntax it is in, whose it is, and which of its commands leads.

What its keys mean is collected in `collect`; which files are in force together is decided in `combine`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePath

from ..patterns import bounded
from . import telling
from .collect import Reading, take
from .company import by_company
from .frameworks import named
from .keys import normal
from .programs import imported
from .scripts import CLEARLY_MORE, behind_variables, job, read_script
from .syntax import jsonfile, pairs, structure, typed, yamlfile
from .syntax.shell import run as run_script
from .syntax.shellwords import Traced
from .syntax.source import ALIAS, Item, Refused, Source, load, short
from .values import STAGES

SYNTAX = {
    suffix: syntax
    for syntax, suffixes in {
        "yaml": ".yaml .yml",
        "json": ".json .jsonc .conf",
        "braces": ".json5 .hocon .jsonnet .libsonnet",
        "shell": ".sh .bash .zsh .slurm .sbatch .pbs .lsf .cmd .run .env",
        "toml": ".toml",
        "python": ".py",
        "notebook": ".ipynb",
        "makefile": ".mk",
        "unit": ".service",
        "pairs": ".ini .cfg .properties .gin",
        "xml": ".xml",
        "keyed": ".tsv .csv",
    }.items()
    for suffix in suffixes.split()
}
OWN = frozenset(("pairs", "braces", "xml", "keyed"))
"""Syntaxes in which people write names of their own: what frameworks read is in their own tables."""
ENVIRONMENT = re.compile(r"^\.env(?:\.|$)|\.env$")
"""Names of files of variables: pairs, where they hold no command."""
NAMES = re.compile(r"(GNU)?[Mm]akefile$")
NOT_READ = (".bat", ".ps1", ".jinja")
"""Formats that hold no settings of trainers we know; said to be unread."""


KEPT = 400_000
"""Characters of a text up to which what it sets is kept for the next who asks; of longer ones only the last few."""
READ_IN = re.compile(r"(?:^|[;&\n])[ \t]*(?:source|\.)[ \t]+[\"']?([^\s;&\"'<>|]{1,200})")
READ_IN_BY = {
    "shell": READ_IN,
    "unit": bounded(r"(?m)^EnvironmentFile=-?([^\s]{1,200})"),
    "yaml": bounded(r"(?m)^services:|^\s{1,12}(?:env_file:\s{1,4}|-\s{1,4})([\w./\-]{0,80}\.env)\s*$"),
}
"""Syntax -> how a file says which others its variables stand in; a composition reads the `.env` beside it."""
MOST_READ_IN, MOST_FOLDERS = 6, 20


def syntax_of(path: Path, name: str) -> str:
    """yaml, json, shell, toml, python or pairs, by the file's suffix, else by its first characters."""
    if path.suffix.lower() in NOT_READ:
        raise Refused(f"{name}: {path.suffix} files are not read")
    if NAMES.match(path.name):
        return "makefile"
    if ENVIRONMENT.search(path.name):
        return "pairs" if pairs.only(_head(path, name).rpartition("\n")[0]) else "shell"
    if known := SYNTAX.get(path.suffix.lower()):
        return known
    head = _head(path, name)
    said = [line for line in head.splitlines() if line.strip() and not line.startswith(("# ", "#\t"))]
    first = said[0].strip() if said else ""
    if typed.holds(head):
        return "typed"
    if first.startswith("#!"):
        return "python" if "python" in first else "shell"
    if pairs.holds(head):
        return "pairs"
    if re.match(r"(--?\w|[A-Z_]+=|(torchrun|python3?|accelerate|deepspeed|vllm|srun|export)\s)", first):
        return "shell"
    return "json" if head.startswith("{") else "yaml"


def _head(path: Path, name: str) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4096).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except OSError as error:
        raise Refused(f"{name}: cannot be read: {error.strerror or error}") from None


def read_file(path: Path, name: str = "") -> Reading:
    """The settings of one file.

    Args:
        path: the file.
        name: what evidence calls it; the file's own name if empty.

    Raises:
        Refused: not readable as a config, with file and reason.
    """
    name = name or path.name
    syntax = syntax_of(path, name)
    whole = load(path, name, syntax)
    return read_source(_with_read_in(whole, path, READ_IN_BY[syntax]) if syntax in READ_IN_BY else whole, syntax)


def _with_read_in(script: Source, path: Path, pattern: re.Pattern[str]) -> Source:
    """A script with the files beside it, or one folder below, that it reads in; no other place is looked at."""
    joined, begin = [], len(script.text) + 1
    told = [m[1] or ".env" for m in pattern.finditer(script.text)]
    for wanted in list(dict.fromkeys(told))[:MOST_READ_IN]:
        beside = _read_in(path, short(wanted))
        if beside is None:
            continue
        try:
            other = load(beside, str(PurePath(script.name).parent / beside.relative_to(path.parent)), "unit")
        except Refused:
            continue
        joined.append((begin, other))
        begin += len(other.text) + 1
    return replace(script, joined=tuple(joined))


def _read_in(path: Path, name: str) -> Path | None:
    """The file of this name beside another; of a template's (`%i.env`) the one whose name fits, if there is but one."""
    if "%" not in name:
        beside = path.parent / name
        return None if beside == path or beside.is_symlink() or not beside.is_file() else beside
    wanted = re.compile(re.sub(r"%[A-Za-z]", r"[\\w.\\-]{1,80}", re.escape(name).replace("\\%", "%")))
    inside = [one for one in path.parent.iterdir() if one.is_dir() and not one.is_symlink()][:MOST_FOLDERS]
    fitting = [
        one
        for folder in (path.parent, *inside)
        for one in folder.iterdir()
        if wanted.fullmatch(one.name) and one.is_file() and not one.is_symlink()
    ]
    return fitting[0] if len(fitting) == 1 else None


def read_source(source: Source, syntax: str) -> Reading:
    """The settings of a text that is in memory; see `read_file`. Several tools of one look read the same files."""
    return (_once if len(source.text) <= KEPT else _large)(source, syntax).copied()


@lru_cache(maxsize=64)
def _once(source: Source, syntax: str) -> Reading:
    return _read(source, syntax)


@lru_cache(maxsize=8)
def _large(source: Source, syntax: str) -> Reading:
    return _read(source, syntax)


def _read(source: Source, syntax: str) -> Reading:
    if syntax == "shell":
        files = {
            PurePath(other.name).name: Traced(other.text, range(begin, begin + len(other.text)))
            for begin, other in source.joined
        }
        return read_script(run_script(_one_command(source.text), files), source)
    if syntax == "typed":
        return read_script(run_script(typed.as_shell(source.text) or source.text), source)
    if syntax == "unit":
        from .syntax import unitfile

        unit = unitfile.as_shell(source.text)
        exported = Traced("set -a\n", [-1] * 7) if source.joined else Traced("", [])
        return read_script(run_script(exported + behind_variables(Traced(unit, range(len(unit))), source)), source)
    if syntax == "makefile":
        from .syntax import makefile

        return read_script(run_script(makefile.as_shell(source.text)), source)
    written = _parse(source, syntax)
    options = {i.key: i.text or "" for i in written if i.style == ALIAS}
    written = [i for i in written if i.style != ALIAS]
    items = structure.resolved(written)
    framework = _framework(source.name, items)
    if framework == "generic" and syntax in ("yaml", "json") and (found := job(written, source)):
        return found
    own = syntax in OWN or source.name.endswith(".conf")
    reading = _believed(source, items, framework, syntax in ("python", "notebook"), own)
    reading.options = options
    return reading


def reading_of(source: Source, items: list[Item]) -> Reading:
    """The settings of items that somebody else found in a text, whatever it is called."""
    items = structure.resolved(items)
    return _believed(source, items, telling.of_file("", {normal(i.key) for i in items}), False)


def _believed(source: Source, items: list[Item], framework: str, programmed: bool, own: bool = False) -> Reading:
    """As the framework spells them that was told, or as nobody does where that explains clearly more."""
    program = programmed and not named(framework).programmed
    readings = [_taken(source, items, one, program) for one in dict.fromkeys((framework, "generic"))]
    if own:
        from .written.fill import fill

        fill(readings[-1], items, source)
    if readings[-1].role != "overrides":
        by_company(readings[-1], items, source)
    known, nobodys = readings[0], readings[-1]
    return nobodys if len(nobodys.values) >= len(known.values) + CLEARLY_MORE else known


def _taken(source: Source, items: list[Item], framework: str, program: bool) -> Reading:
    """The settings as one framework spells them."""
    role = ("program" if framework == "generic" else "generic") if program else named(framework).role
    if items and all(i.style == "override" for i in items):
        role = "overrides"
    reading = Reading(source.name, role, framework)
    if program:
        reading.files |= imported(source.text)
    reading.hints += [source.name, *(i.key.split(".")[0] for i in items if i.key.split(".")[0] in STAGES)]
    take(reading, [i for i in items if i.style != "env"], source, (framework,))
    take(reading, [i for i in items if i.style == "env"], source, ("env",))
    return reading


def _one_command(text: str) -> str:
    """A list of flags, one a line, as the one command that they are arguments of; any other text as it is."""
    lines = text.splitlines()
    said = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if len(said) < 2 or not all(line.lstrip().startswith("--") and not line.rstrip().endswith("\\") for line in said):
        return text
    return "\n".join(f"{line} \\" if line in said[:-1] else line for line in lines)


def _framework(name: str, items: list[Item]) -> str:
    keys = {normal(i.key) for i in items}
    if items and all(i.style == "override" for i in items):
        by_command = telling.of_command("", keys)
        return telling.of_file("", keys) if by_command == "generic" else by_command
    return telling.of_file(name, keys)


def _parse(source: Source, syntax: str) -> list[Item]:
    if syntax == "json":
        try:
            return jsonfile.read(source)
        except Refused:
            if not source.name.endswith(".conf"):
                raise
            return _conf(source)
    if syntax == "toml":
        from .syntax import tomlfile

        return tomlfile.read(source)
    if syntax == "pairs":
        found = pairs.read(source)
        return pairs.of_gin(found) if source.name.endswith(".gin") else found
    if syntax in ("braces", "xml", "keyed"):
        from .written import braces, keyed, xmlfile

        return {"braces": braces, "xml": xmlfile, "keyed": keyed}[syntax].read(source)
    if syntax == "python":
        from .syntax import pythonfile

        return pythonfile.read(source)
    if syntax == "notebook":
        from .syntax import notebook

        return notebook.read(source)
    return yamlfile.read(source)


def _conf(source: Source) -> list[Item]:
    """A `.conf` that is no JSON: blocks in braces, pairs, or YAML."""
    if re.search(r"[\w\"]\s{0,4}\{", source.text):
        from .written import braces

        return braces.read(source)
    if pairs.holds(source.text):
        return pairs.read(source)
    try:
        return yamlfile.read(source)
    except Refused:
        return pairs.read(source)
