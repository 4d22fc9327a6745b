"""The walk over a path: what in it is part of a run.

Everything found is untrusted: paths are confined to the one the user gave, links out of it are not followed,
and nothing is executed or unpickled. What a file is, its name and first bytes say (`tools.kinds`).
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from pathlib import Path

from .findings import TriageError, clean
from .kinds import Kind, Recognised, Refused, recognise, shows, wanted
from .reading import head, open_unpacked
from .run import Artifact, Run, Skipped, natural
from .secrets import redact, unstyled

FILE_LIMIT = 5_000
"""Most files looked at in one run."""
DEPTH_LIMIT = 8
"""Deepest directory below the root that is looked into."""
UNKNOWN_LIMIT = 20
"""Most files of no known kind that are looked at again when a directory holds nothing else."""
SNIFF = 8 << 10
"""Bytes read of each file to recognise it: a JSON header or a banner can push the telling keys past the first KiB."""
_NOT_ENTERED = frozenset((
    ".git", ".hg", ".svn", "node_modules", "__pycache__", ".cache", ".venv", "venv", "site-packages", ".idea", ".tox",
    ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".vscode", ".locks",
))  # fmt: skip
_CHECKPOINT_DIR = re.compile(
    r"^(?:checkpoint|ckpt|global_?step|iter|step|epoch|model|tmp-checkpoint)[-_]?(\d+)(?:[-_]\w+)?$", re.IGNORECASE
)
_WEIGHTS = re.compile(
    r"\.(?:safetensors|distcp|gguf)$|^(?:pytorch_model|adapter_model|model)[\w.-]*\.bin$|^mp_rank_\d+|_model_states\.pt$"
    r"|^(?:consolidated|model_optim_rng|optimizer)[\w.]*\.(?:pth?|bin)$|^\.metadata$|^adapter_config\.json$",
    re.IGNORECASE,
)
_GROUPING = re.compile(
    r"^(?:logs?|outputs?|files|metrics|configs?|checkpoints?|data|datasets?|eval\w*|results?|wandb|lightning_logs|tensorboard"
    r"|tb|runs|scripts?|hydra|\.hydra|stdout|stderr|debug|stacks?|traces?|rank_?\d+|node_?\d+|\d+|attempt_\d+|none_\w+)$",
    re.IGNORECASE,
)
"""Directories that group the files of one run and are no attempt of their own."""
_RANK = re.compile(r"(?:^|[^A-Za-z])(?:global_|local_)?rank[_.-]?(\d{1,5})(?!\d)", re.IGNORECASE)
_TORCHRUN_RANK = re.compile(r"(?:^|/)attempt_\d+/(\d{1,5})/std(?:out|err)\.log$")
LOOKED_FOR = (
    "logs (*.log, *.out, *.txt), metrics (trainer_state.json, *.jsonl, *.csv), configurations (*.yaml, *.json, *.toml),"
    " launch scripts (*.sh, *.slurm), tokenizer files, data files, checkpoints, evaluation results, stack dumps"
)


def discover(path: Path) -> Run:
    """Recognise the artifacts under `path` (a directory or one file).

    Raises:
        TriageError: the path does not exist or cannot be read at all.
    """
    path = Path(path).expanduser()
    try:
        root = path.resolve(strict=True)
        mode = root.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TriageError(f"cannot open {path}: {reason}; name a run directory or one of its files") from error
    if stat.S_ISDIR(mode):
        return _Walk(root).run()
    if not stat.S_ISREG(mode):
        raise TriageError(f"{path} is neither a file nor a directory; name a run directory or one of its files")
    return _one_file(root)


HOLE = 64 << 20
"""Bytes of a hole at the beginning of a file behind which text is looked for."""


def _one_file(path: Path) -> Run:
    """The user chose this very file: everything readable is an artifact, unknown text is a log."""
    found = recognise(path.name, _beginning(path), alone=True)
    if isinstance(found, Refused):
        raise TriageError(f"{path.name} {found.why}")
    if found is None:
        raise TriageError(f"{path.name} is none of: {LOOKED_FOR}")
    rank = _rank(path.name) if found.kind in ("log", "metrics", "stack") else None
    return Run(path.parent, (Artifact(found.kind, path, _plain_name(path.name), found.why, "", rank),))


def _beginning(path: Path) -> bytes:
    """The first bytes; where they are a hole (a log emptied while it was written to), those behind it."""
    first = head(path, SNIFF)
    if not first or first.strip(b"\0"):
        return first
    with open_unpacked(path) as stream:
        for _ in range(HOLE >> 20):
            block = stream.read(1 << 20).lstrip(b"\0")
            if block:
                return block[:SNIFF]
    return first


def _plain_name(name: str) -> str:
    text = unstyled(name)
    return redact(text) if text.isprintable() else clean(text)


class _Walk:
    """One pass over a directory tree, links not followed out of it."""

    def __init__(self, root: Path):
        self.root = root
        self.artifacts: list[Artifact] = []
        self.skipped: list[Skipped] = []
        self.seen: set[tuple[int, int]] = set()
        self.unknown: list[Path] = []
        """Files of no known kind; the first `UNKNOWN_LIMIT` are read as logs if the run has nothing else."""
        self.files = 0
        self.full = False

    def run(self) -> Run:
        self.directory(self.root, 0)
        self.latest_state()
        if not self.artifacts:
            self.take_unknown()
        if not self.artifacts and not self.skipped:
            raise TriageError(f"{self.root} holds nothing to triage; looked for {LOOKED_FOR}")
        homes = _attempts(self.artifacts)
        placed = [replace(a, attempt=homes.get(a.name, "")) for a in self.artifacts]
        placed.sort(key=lambda a: natural(a.name))
        unknown = (Skipped(self.name(path), "no reader knows this kind of file") for path in self.unknown)
        return Run(self.root, tuple(placed), tuple(self.skipped), tuple(unknown))

    def skip(self, path: Path, why: str, evidence: bool | None = None) -> None:
        """Note what was not used; unless said, its name tells whether it could have shown a fault."""
        self.skipped.append(Skipped(self.name(path), why, shows(path.name) if evidence is None else evidence))

    def take_unknown(self) -> None:
        """Nothing was recognised: text that the user's directory does hold is read as a log, the rest is listed."""
        looked, self.unknown = self.unknown[:UNKNOWN_LIMIT], self.unknown[UNKNOWN_LIMIT:]
        for path in looked:
            found = recognise(path.name, _beginning(path), alone=True)
            if isinstance(found, Recognised):
                self.add(found.kind, path, f"{found.why}; nothing else in the directory is part of a run")
            else:
                self.skip(path, found.why if found else "is neither a log nor a known part of a run; name it directly")

    def name(self, path: Path) -> str:
        """The path relative to the root as text: no byte that is not UTF-8, no control character, no credential."""
        return _plain_name(path.relative_to(self.root).as_posix())

    def directory(self, path: Path, depth: int) -> None:
        try:
            entries = sorted(os.scandir(path), key=lambda e: natural(e.name))
        except OSError as error:
            if path == self.root:
                raise TriageError(f"cannot list {path}: {error.strerror}; check its permissions") from error
            self.skip(path, f"cannot list the directory: {error.strerror}", evidence=True)
            return
        names = [e.name for e in entries]
        if path != self.root and _is_checkpoint(path.name, names):
            self.add("checkpoint", path, "checkpoint directory")
            return
        shards = [n for n in names if _WEIGHTS.search(n)]
        if shards:
            self.add("checkpoint", path, f"directory with weights ({shards[0]})")
        folders = []
        for entry in entries:
            if self.full or (entry.name in shards and entry.name != "adapter_config.json"):
                continue
            kind = self.entry(Path(entry.path))
            if kind == "directory" and entry.name not in _NOT_ENTERED:
                folders.append(Path(entry.path))
        for folder in folders:
            if depth >= DEPTH_LIMIT:
                self.skip(folder, f"deeper than {DEPTH_LIMIT} directories; name it directly to look into it")
            elif not self.full:
                self.directory(folder, depth + 1)

    def entry(self, path: Path) -> str:
        """Recognise a file; say `directory` for one to enter."""
        try:
            real = path.resolve(strict=True) if path.is_symlink() else path
            if not real.is_relative_to(self.root):
                why = "is a link out of the run; name its target directly if you want it read"
                self.skip(path, why, shows(path.name, data=False))  # data sets are kept elsewhere as a rule
                return ""
            info = real.stat()
        except (OSError, RuntimeError) as error:
            self.skip(path, f"cannot be followed: {getattr(error, 'strerror', None) or 'a loop of links'}")
            return ""
        if (info.st_dev, info.st_ino) in self.seen:
            return ""
        self.seen.add((info.st_dev, info.st_ino))
        if stat.S_ISDIR(info.st_mode):
            return "directory"
        if not stat.S_ISREG(info.st_mode):
            self.skip(path, "is a pipe, socket or device; not opened")
            return ""
        self.files += 1
        if self.files > FILE_LIMIT:
            self.full = True
            self.skip(
                path,
                f"more than {FILE_LIMIT} files: this and later ones were not looked at; name a subdirectory",
                evidence=True,
            )
            return ""
        self.file(path)
        return "file"

    def file(self, path: Path) -> None:
        try:
            found = recognise(path.name, _beginning(path))
        except TriageError as error:
            if wanted(path.name):
                self.skip(path, str(error))
            return
        if isinstance(found, Refused):
            self.skip(path, found.why, False if found.empty else None)
        elif found:
            self.add(found.kind, path, found.why)
        else:
            self.unknown.append(path)

    def add(self, kind: Kind, path: Path, why: str) -> None:
        name = self.name(path)
        rank = _rank(name) if kind in ("log", "metrics", "stack") else None
        self.artifacts.append(Artifact(kind, path, name, why, "", rank))

    def latest_state(self) -> None:
        """The trainer state of the latest checkpoint, if the run keeps none elsewhere."""
        if any(a.kind == "metrics" and a.path.name == "trainer_state.json" for a in self.artifacts):
            return
        latest: dict[Path, Path] = {}
        for artifact in self.artifacts:
            if artifact.kind == "checkpoint" and artifact.path.is_dir() and artifact.path != self.root:
                state = artifact.path / "trainer_state.json"
                if state.is_file() and not state.is_symlink():
                    latest[artifact.path.parent] = state
        for state in latest.values():
            self.add("metrics", state, "trainer state of the latest checkpoint")


def _is_checkpoint(name: str, names: list[str]) -> bool:
    if not _CHECKPOINT_DIR.match(name):
        return False
    strong = re.match(r"(?:checkpoint|ckpt|global_?step|iter|tmp-)", name, re.IGNORECASE) is not None
    logs = any(n.endswith((".log", ".out")) for n in names)
    return any(_WEIGHTS.search(n) or n.startswith(("mp_rank", "trainer_state", "actor", "layer_")) for n in names) or (
        strong and not logs
    )


def _rank(name: str) -> int | None:
    """Rank from a file name or path (`rank_3.log`, `rank3/stdout.log`, torchrun's `attempt_0/3/stdout.log`)."""
    match = _TORCHRUN_RANK.search(name) or (list(_RANK.finditer(name)) or [None])[-1]
    return int(match.group(1)) if match else None


def _attempts(artifacts: list[Artifact]) -> dict[str, str]:
    """Artifact name -> directory of its attempt: the deepest that holds its own log or metrics."""
    homes = {_home(a) for a in artifacts if a.kind in ("log", "metrics")} - {""}
    placed = {}
    for artifact in artifacts:
        home = _home(artifact)
        while home and home not in homes:
            home = home.rpartition("/")[0]
        placed[artifact.name] = home
    return placed


def _home(artifact: Artifact) -> str:
    """Directory of the artifact without the parts at its end that only group files."""
    parts = artifact.name.split("/")[:-1]
    while parts and (_GROUPING.match(parts[-1]) or _CHECKPOINT_DIR.match(parts[-1])):
        parts.pop()
    return "/".join(parts)
