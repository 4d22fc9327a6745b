"""The walk over a path: what in it is part of a run.

Everything found is untrusted: paths are confined to the one the user gave, links out of it are not followed,
and nothing is executed or unpickled. What a file is, its name and first bytes say (`tools.kinds`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .findings import TriageError, clean
from .heads import sniffed
from .kinds import OPEN, Kind, Recognised, Refused, recognise, shows, wanted
from .run import STREAM, STREAMS, Artifact, Run, Skipped, natural
from .secrets import redact, unstyled

FILE_LIMIT = 5_000
"""Most files looked at in one run."""
NAME_LIMIT = 20_000
"""Most files named in one run, looked at or not."""
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
_PACKAGED = {
    ".aim": "Aim keeps its runs in RocksDB, which needs Aim itself: write them out there"
    " (`Repo.query_metrics(...)`, `.dataframe()`, `.to_csv(...)`) and name that table"
}
"""Folders that only their own program can read -> what to do."""
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
_MLFLOW_METRIC = re.compile(r"((?:[^/]{1,255}/){0,30}?[0-9a-f]{32})/metrics/")
_RANK = re.compile(r"(?:^|[^A-Za-z])(?:global_|local_)?rank[_.-]?(\d{1,5})(?!\d)", re.IGNORECASE)
_TORCHRUN_RANK = re.compile(r"(?:^|/)attempt_\d+/(\d{1,5})/std(?:out|err)\.log$")
RANKED = ("log", "metrics", "stack", *OPEN)
LOOKED_FOR = (
    "logs (*.log, *.out, *.txt), metrics (trainer_state.json, *.jsonl, *.csv), configurations (*.yaml, *.json, *.toml),"
    " launch scripts (*.sh, *.slurm), tokenizer files, data files, checkpoints, evaluation results, stack dumps,"
    " tables, trackers' files (TensorBoard, W&B, MLflow), notes and changelogs, programs (*.py)"
)


UNKNOWN = "no reader knows this kind of file"


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


def _one_file(path: Path) -> Run:
    """The user chose this very file: everything readable is an artifact, unknown text is a log."""
    found = _recognised(path, alone=True)
    if isinstance(found, Refused):
        raise TriageError(f"{path.name} {found.why}")
    if found is None:
        raise TriageError(f"{path.name} is none of: {LOOKED_FOR}")
    rank = _rank(path.name) if found.kind in RANKED else None
    return Run(path.parent, (Artifact(found.kind, path, _plain_name(path.name), found.why, "", rank),))


def _recognised(path: Path, alone: bool = False) -> Recognised | Refused | None:
    """What a file is; NUL bytes before its text are passed over, and said."""
    start, nul = sniffed(path, SNIFF)
    found = recognise(path.name, start, alone)
    if nul and isinstance(found, Recognised):
        return found._replace(why=f"{found.why}; its first {nul} bytes are NUL and were passed over")
    return found


def _other_stream(path: Path) -> bool:
    """Whether what a job wrote stands in the log of its other stream, so that this one has nothing to say."""
    for stream, other in STREAMS.items():
        name = STREAM.sub(lambda m, stream=stream, other=other: m[1] + other if m[2] == stream else m[0], path.name)
        if name != path.name:
            with suppress(OSError):
                return path.with_name(name).stat().st_size > 0
    return False


def _plain_name(name: str) -> str:
    text = unstyled(name)
    return redact(text) if text.isprintable() else clean(text)


class _Walk:
    """One pass over a directory tree, links not followed out of it."""

    def __init__(self, root: Path):
        self.root = root
        self.artifacts: list[Artifact] = []
        self.skipped: list[Skipped] = []
        self.seen: dict[tuple[int, int], Path] = {}
        self.links: list[Path] = []
        """Links inside the run, which are followed last: what they lead to is named where it lies."""
        self.unknown: list[tuple[Path, str]] = []
        """Files of no known kind, or seen elsewhere, with the reason; the first `UNKNOWN_LIMIT` are read as logs if
        the run has nothing else."""
        self.names: dict[str, Path] = {}
        self.files = 0

    def run(self) -> Run:
        self.seen[_inode(self.root.stat())] = self.root
        self.directory(self.root, 0)
        for link in self.links:
            self.linked(link)
        self.latest_state()
        if all(a.kind in ("document", "code") for a in self.artifacts):
            self.take_unknown()
        if not self.artifacts and not self.skipped:
            raise TriageError(f"{self.root} holds nothing to triage; looked for {LOOKED_FOR}")
        homes = _attempts(self.artifacts)
        placed = [replace(a, attempt=homes.get(a.name, "")) for a in self.artifacts]
        placed.sort(key=lambda a: natural(a.name))
        unknown = (
            Skipped(self.name(p), why, why == UNKNOWN, p if p.name in _NOT_ENTERED and p.is_dir() else None)
            for p, why in self.unknown
        )
        return Run(self.root, tuple(placed), tuple(self.skipped), tuple(unknown))

    def skip(self, path: Path, why: str, evidence: bool | None = None, folder: bool = False) -> None:
        """Note what was not used; unless said, its name tells whether it could have shown a fault."""
        said = shows(path.name) if evidence is None else evidence
        self.skipped.append(Skipped(self.name(path), why, said, path if folder else None))

    def take_unknown(self) -> None:
        """Nothing but prose was recognised: text that the user's directory does hold is read as a log, the rest is
        listed."""
        prose = {a.path for a in self.artifacts if a.kind == "document"}
        waiting = [*sorted(prose), *(path for path, why in self.unknown if why == UNKNOWN)]
        looked = dict.fromkeys(waiting[:UNKNOWN_LIMIT])
        self.artifacts = [a for a in self.artifacts if a.path not in looked]
        self.unknown = [(path, why) for path, why in self.unknown if path not in looked]
        for path in looked:
            found = _recognised(path, alone=True)
            if isinstance(found, Recognised) and found.kind != "code":
                self.add(found.kind, path, f"{found.why}; nothing else in the directory is part of a run")
            else:
                self.skip(
                    path,
                    found.why
                    if isinstance(found, Refused)
                    else "is neither a log nor a known part of a run; name it directly",
                )

    def name(self, path: Path) -> str:
        """The path relative to the root as text: no byte that is not UTF-8, no control character, no credential; two
        files that would be called the same are told apart."""
        plain = name = _plain_name(path.relative_to(self.root).as_posix())
        for i in range(2, 1000):
            if self.names.setdefault(name, path) == path:
                break
            name = f"{plain}~{i}"
        return name

    def directory(self, path: Path, depth: int) -> None:
        try:
            entries = sorted(os.scandir(path), key=lambda e: natural(e.name))
        except OSError as error:
            if path == self.root:
                raise TriageError(f"cannot list {path}: {error.strerror}; check its permissions") from error
            self.skip(path, f"cannot list the directory: {error.strerror}", evidence=True, folder=True)
            return
        names = [e.name for e in entries]
        if path != self.root and _is_checkpoint(path.name, names):
            self.add("checkpoint", path, "checkpoint directory")
            return
        shards = [n for n in names if _WEIGHTS.search(n)]
        if shards:
            self.add("checkpoint", path, f"directory with weights ({shards[0]})")
        for folder in [Path(e.path) for e in entries if self.enters(e, shards)]:
            if folder.name in _NOT_ENTERED:
                self.pass_over(folder)
            elif folder.name in _PACKAGED:
                self.skip(folder, _PACKAGED[folder.name], evidence=True, folder=True)
            elif depth >= DEPTH_LIMIT:
                why = f"deeper than {DEPTH_LIMIT} directories; name it directly to look into it"
                self.skip(folder, why, folder=True)
            else:
                self.directory(folder, depth + 1)

    def enters(self, entry: os.DirEntry[str], shards: Collection[str]) -> bool:
        """Look at an entry of a directory; whether it is one to enter."""
        weights = entry.name in shards and entry.name != "adapter_config.json"
        return not weights and self.entry(Path(entry.path)) == "directory"

    def pass_over(self, folder: Path) -> None:
        """A folder of tools beside a run, which is no part of it."""
        self.unknown.append((folder, f"inside {folder.name}, which is no part of a run"))

    def linked(self, path: Path) -> None:
        """Follow a link inside the run: to what was seen, it is one name more."""
        try:
            info = path.resolve(strict=True).stat()
        except (OSError, RuntimeError) as error:
            why = f"cannot be followed: {getattr(error, 'strerror', None) or 'a loop of links'}"
            self.skip(path, why, wanted(path.name))
            return
        if (known := self.seen.get(_inode(info))) is not None:
            self.unknown.append((path, f"a link to {self.name(known) if known != self.root else 'the run itself'}"))
        elif stat.S_ISDIR(info.st_mode):
            self.unknown.append((path, "a link to a folder that was not looked into"))
        else:
            self.entry(path, follow=True)

    def entry(self, path: Path, follow: bool = False) -> str:
        """Recognise a file; say `directory` for one to enter."""
        try:
            real = path.resolve(strict=True) if path.is_symlink() else path
            if not real.is_relative_to(self.root):
                why = "is a link out of the run; name its target directly if you want it read"
                self.skip(path, why, shows(path.name, data=False))  # data sets are kept elsewhere as a rule
                return ""
            info = real.stat()
        except (OSError, RuntimeError) as error:
            why = f"cannot be followed: {getattr(error, 'strerror', None) or 'a loop of links'}"
            self.skip(path, why, wanted(path.name))
            return ""
        if real is not path and not follow:
            self.links.append(path)
            return ""
        if (known := self.seen.setdefault(_inode(info), path)) != path:
            self.unknown.append((path, f"the same file as {self.name(known)}"))
            return ""
        if stat.S_ISDIR(info.st_mode):
            return "directory"
        if not stat.S_ISREG(info.st_mode):
            self.skip(path, "is a pipe, socket or device; not opened")
            return ""
        self.files += 1
        if self.files <= FILE_LIMIT:
            self.file(path)
        elif self.files == FILE_LIMIT + 1:
            why = f"more than {FILE_LIMIT} files: this and later ones were not looked at; name a subdirectory"
            self.skip(path, why, evidence=True)
        elif self.files <= NAME_LIMIT:
            self.unknown.append((path, f"over the limit of {FILE_LIMIT} files"))
        return "file"

    def file(self, path: Path) -> None:
        try:
            found = _recognised(path)
        except TriageError as error:
            if wanted(path.name):
                self.skip(path, str(error))
            else:
                self.unknown.append((path, str(error)))
            return
        if isinstance(found, Refused) and found.empty and _other_stream(path):
            self.unknown.append((path, found.why))
        elif isinstance(found, Refused):
            self.skip(path, found.why, False if found.empty else None)
        elif found:
            self.add(found.kind, path, found.why)
        else:
            self.unknown.append((path, UNKNOWN if path.stat().st_size else "is empty"))

    def add(self, kind: Kind, path: Path, why: str) -> None:
        name = self.name(path)
        rank = _rank(name) if kind in RANKED else None
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


def _inode(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


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
    homes = {_home(a) for a in artifacts if a.kind in ("log", "metrics", "tracker")} - {""}
    placed = {}
    for artifact in artifacts:
        home = _home(artifact)
        while home and home not in homes:
            home = home.rpartition("/")[0]
        placed[artifact.name] = home
    return placed


def _home(artifact: Artifact) -> str:
    """Directory of the artifact without the parts at its end that only group files, or name a metric of MLflow."""
    run = _MLFLOW_METRIC.match(artifact.name)
    parts = run.group(1).split("/") if run else artifact.name.split("/")[:-1]
    while parts and (_GROUPING.match(parts[-1]) or _CHECKPOINT_DIR.match(parts[-1])):
        parts.pop()
    return "/".join(parts)
