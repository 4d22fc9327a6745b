"""Which programs belong to a run: those that its logs, scripts and configurations name, and what they import beside it.

Vendored trees are left out. Where nothing names a program, all of a few are taken, for somebody put them there; of many
those at the top of the run's folder, and the few that train.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath

from ..config.syntax.notebook import idle
from ..config.syntax.source import Refused
from ..findings import Check, Finding, Severity, TriageError
from ..kinds import Kind
from ..patterns import bounded
from ..phrase import Phrase
from ..reading import open_unpacked
from ..run import Artifact, Run
from ..settings import Settings
from .check import check_files
from .fact import Fact, Judged
from .program import Program
from .ran.branches import Branches
from .ran.known import known as known_of
from .ran.printed import foreign
from .rules.judging.across import split_elsewhere
from .source import SUFFIXES, read, walk

MOST_PROGRAMS = 100
"""Programs of one run that are judged; what a training is made of is less than fifty files."""
FEW = 8
"""Programs in which nobody has to look for that of the run; a repository has more. Own judgement."""
MOST_NAMED = 1 << 20
"""Bytes at each end of a log, and of a script, in which programs are looked for by name."""
VENDORED = re.compile(
    r"(^|/)(third_?party|vendor(ed)?|external|extern|site-packages|dist-packages|node_modules|build|dist|\.?v?env|submodules"
    r"|transformers|deepspeed|Megatron-LM|__pycache__|\.git)/", re.IGNORECASE
)  # fmt: skip
"""Folders of other people's programs."""
SECONDS = 5.0
"""Time after which the facts of no further program are looked for."""
MOST_LOGS = 16
"""Beginnings and ends of logs in which the words of programs are looked for."""
NAMING: tuple[Kind, ...] = ("script", "log", "stack", "config")
"""Files that may name the programs of a run."""
LOOP = bounded(rb"\.backward\(|Trainer\(|\.fit\(")
MOST_TRAIN = 3
"""Programs that train, up to which they belong to the run beside them though nothing names them."""
WORDS = ("optim", "backward", "Arguments(", "Config(", "DataLoader", "Accelerator(")
"""One of them stands in every program with facts about a training."""
CONFIGURED = bounded(
    r"yaml|json\.load|toml|OmegaConf|hydra|argparse|ArgumentParser|parse_args|HfArgumentParser|getenv|environ"
)
"""What a program that reads settings has."""
_NAMED = bounded(rb"([\w./~-]{1,300}\.(?:py|ipynb))\b")
_MODULE = bounded(rb"-m\s{1,4}([A-Za-z_][\w.]{0,200})")


def programs(run: Run) -> list[Artifact]:
    """Every program under the path that is its own."""
    found = [a for a in run.of("code", "config") if a.path.suffix.lower() in SUFFIXES]
    left = idle(a.path for a in found)
    return [a for a in found if not VENDORED.search(f"/{a.name}") and a.path not in left]


def belonging(run: Run) -> list[Artifact]:
    """The programs that the run is made of, as its other files and their imports tell."""
    known = {a.name: a for a in programs(run)}
    return _with_imports(list(_named(run, known)) or _unnamed(known), known)


def _with_imports(first: Iterable[Artifact], known: dict[str, Artifact]) -> list[Artifact]:
    out: dict[str, Artifact] = {}
    waiting = list(dict.fromkeys(first))
    while waiting and len(out) < MOST_PROGRAMS:
        artifact = waiting.pop(0)
        if artifact.name not in out:
            out[artifact.name] = artifact
            waiting += _imported(artifact, known)
    return list(out.values())


def check_run_code(run: Run, settings: Settings | None = None) -> Judged:
    """Judge the programs that belong to a run; a hazard in them is no measurement, and S2 at most.

    Args:
        run: its files.
        settings: what was read of them; what they rule out is no finding.
    """
    chosen = belonging(run)
    if not chosen:
        return Judged("code")
    report = check_files((a.path, a.name) for a in chosen)
    most = [Check("programs", "failed", f"over the limit of {MOST_PROGRAMS} programs; the others were not judged")]
    across = split_elsewhere((a.path, a.name) for a in chosen) if len(chosen) > 1 else []
    found = tuple(_of_run(run, settings or Settings(), chosen, [_hazard(f) for f in (*across, *report.findings)]))
    cut = len(chosen) >= MOST_PROGRAMS
    told = {f.code for f in found}
    checks = (*(replace(c, result="found" if c.name in told else "clear") if c.result in ("found", "clear") else c
                for c in report.checks), *(most if cut else ()))  # fmt: skip
    return Judged("code", found, checks, {"judged": [a.name for a in chosen]}, facts_of_run(run, chosen))


def _of_run(run: Run, settings: Settings, chosen: list[Artifact], found: list[Finding]) -> Iterator[Finding]:
    """The findings that this run has: of lines that it reaches, and of programs that it ran; the others are notes."""
    scripts = [text for a in run.of("script") for text in _texts(a.path)] if found else []
    logs = islice((text for a in run.of("log", "stack") for text in _texts(a.path)), MOST_LOGS) if found else ()
    seen = known_of(run, settings, scripts, b"\n".join(logs).decode("utf-8", "replace"))
    every = {a.name: a for a in chosen}
    started = {a.name for a in _with_imports(_named(run, every, ("log", "stack", "script")), every)} if found else set()
    imported = {i.name for a in chosen for i in _imported(a, every)} if found and not started else set()

    @cache
    def branches(name: str) -> Branches | None:
        with suppress(Refused, RecursionError):
            return Branches(Program(read(every[name].path, name)), seen, others)
        return None

    def others(word: str) -> Iterator[Branches]:
        holding = (name for name, a in every.items() if any(f"{word}(".encode() in text for text in _texts(a.path)))
        yield from (b for name in holding if (b := branches(name)) is not None)

    @cache
    def other(name: str) -> tuple[Phrase, ...]:
        program = branches(name)
        if started and name not in started:
            return (Phrase(f"the run ran {name}", f"运行的是 {name}"),)
        alone = program is not None and not started and name not in imported
        if alone and program is not None and foreign(program.program, seen.shown):
            return (Phrase(f"{name} wrote the log", f"日志由 {name} 写出"),)
        return ()

    for finding in found:
        name = next((e.file for e in finding.evidence if e.file in every), None)
        program = branches(name) if name else None
        judged = program.judged(finding, *other(name)) if program is not None and name else finding
        yield from () if judged is None else (judged,)


def facts_of_run(run: Run, chosen: Iterable[Artifact]) -> tuple[Fact, ...]:
    """What the programs of a run do; those to which the run's other files lead are marked."""
    from .facts import facts

    known = {a.name: a for a in programs(run)}
    named = {a.name for a in _named(run, known)}
    found: list[Fact] = []
    end = time.monotonic() + SECONDS
    read_ones = []
    for artifact in chosen:
        if time.monotonic() > end:
            break
        with suppress(Refused, RecursionError):
            parsed = read(artifact.path, artifact.name)
            if any(word in parsed.text for word in WORDS):
                read_ones.append(parsed)
    configured = [p for p in read_ones if CONFIGURED.search(p.text)]
    for parsed in read_ones:
        tied = parsed.name in named or (not named and configured == [parsed] and len(read_ones) == 1)
        with suppress(RecursionError):
            found += facts(parsed, tied)
    return tuple(found)


def _hazard(finding: Finding) -> Finding:
    return replace(finding, severity=Severity.S2) if finding.severity in ("S0", "S1") else finding


def _named(run: Run, known: dict[str, Artifact], kinds: tuple[Kind, ...] = NAMING) -> Iterator[Artifact]:
    """Programs whose names stand in files of these kinds."""
    ends: dict[str, list[Artifact]] = {}
    for artifact in known.values():
        ends.setdefault(PurePosixPath(artifact.name).name, []).append(artifact)
    for artifact in run.of(*kinds):
        if artifact.name in known or not ends:
            continue
        for text in _texts(artifact.path):
            names = {m[1].decode("utf-8", "replace") for m in _NAMED.finditer(text)}
            names |= {m[1].decode().replace(".", "/") + ".py" for m in _MODULE.finditer(text)}
            for name in sorted(names):
                same = ends.get(PurePosixPath(name).name, [])
                near = [
                    a
                    for a in same
                    if f"/{name}".endswith(f"/{a.name}") or f"/{a.name}".endswith("/" + name.lstrip("./"))
                ]
                yield from near or (same if len(same) == 1 else [])


def _unnamed(known: Mapping[str, Artifact]) -> list[Artifact]:
    """All of a few programs; of many those at the top, and those that train where these are few."""
    if len(known) <= FEW:
        return list(known.values())
    train = [a for a in known.values() if any(LOOP.search(text) for text in _texts(a.path))]
    top = [a for name, a in known.items() if "/" not in name]
    return list(dict.fromkeys([*(train if len(train) <= MOST_TRAIN else []), *top]))


def _texts(path: Path) -> Iterator[bytes]:
    """The beginning and the end of a file."""
    try:
        with open_unpacked(path) as stream:
            yield stream.read(MOST_NAMED)
            size = path.stat().st_size
            if size > MOST_NAMED and stream.seekable():
                stream.seek(max(MOST_NAMED, size - MOST_NAMED))
                yield stream.read(MOST_NAMED)
    except (OSError, TriageError, ValueError, EOFError):
        return


def _imported(artifact: Artifact, known: dict[str, Artifact]) -> Iterable[Artifact]:
    """The programs of the run that one imports."""
    try:
        tree = read(artifact.path, artifact.name).tree
    except Refused:
        return
    home = PurePosixPath(artifact.name).parent
    for node in walk(tree):
        modules: list[str] = []
        base = home
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            for _ in range(max(0, node.level - 1)):
                base = base.parent
            stem = f"{node.module}." if node.module else ""
            modules = [node.module or "", *(f"{stem}{alias.name}" for alias in node.names)]
        for module in modules:
            part = module.replace(".", "/")
            for folder in dict.fromkeys((base, home, PurePosixPath())):
                for path in (folder / f"{part}.py", folder / part / "__init__.py"):
                    if part and (found := known.get(path.as_posix())):
                        yield found
