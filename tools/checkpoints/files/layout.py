"""Which checkpoints lie under a path: their layout, step, weight files, what lies beside, and what is missing.

Looks at names, sizes, small JSON and tracker files only; the weight files themselves are opened by `health`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...findings import Evidence, Finding, Severity, TriageError, clean
from ...patterns import bounded
from .tensors import Broken, bounded_json

JSON_LIMIT = 64 << 20
"""Largest JSON file read, in bytes; an index of 100,000 tensors takes about 10 MB, a big tokenizer 35 MB."""
DIRECTORY_LIMIT = 5_000
DEPTH = 6

_SHARD = bounded(r"^(.*?)(\d+)-of-(\d+)(\..+)$")
_STEP = re.compile(r"(?:step|iter|checkpoint|ckpt|epoch)[-_=]?(\d+)", re.IGNORECASE)
_FOLDER = re.compile(r"^(?:tmp-)?(?:checkpoint|ckpt|global_?step|iter|step|epoch)[-_]?(\d+)$", re.IGNORECASE)
_HF = re.compile(r"^(?:model|pytorch_model|adapter_model)[\w.-]*\.(?:safetensors|bin)$")
_TORCHTUNE = re.compile(
    r"^(?:hf_model_\d+_\d+|ft-model-.*|meta_model_\d+|consolidated\.\d+)\.(?:pt|pth|bin|safetensors)$"
)
_DEEPSPEED = re.compile(
    r"^(?:(?:bf16_)?zero_pp_rank_\d+_)?mp_rank_\d+_(?:model|optim)_states\.pt$|^layer_\d+-model.*\.pt$"
)
_PLAIN = re.compile(r"\.(?:safetensors|ckpt|pth?)$|^(?:pytorch_)?model[\w.-]*\.bin$", re.IGNORECASE)
_NO_WEIGHTS = re.compile(r"^(?:optimizer|scheduler|rng_state|random_states?|training_args|scaler|recipe_state)", re.I)
BESIDE: dict[str, re.Pattern[str]] = {
    "optimizer": re.compile(r"^optimizer|optim_states\.pt$|^optim$|^distrib_optim"),
    "scheduler": re.compile(r"^scheduler"),
    "rng": re.compile(r"^rng_state|^random_states?|^model_optim_rng"),
    "trainer-state": re.compile(r"^trainer_state\.json$|^recipe_state"),
    "data-state": bounded(r"^(?:data|dataloader|sampler|train_dataloader)[\w-]*(?:state)?[\w-]*\.(?:pt|json|pth|pkl)$"),
    "tokenizer": re.compile(r"^tokenizer|^vocab\.json$|\.model$"),
    "config": re.compile(r"^(?:config|adapter_config|params)\.json$"),
}
"""What lies beside the weights, told by name."""


@dataclass(frozen=True)
class Checkpoint:
    """One saved state of a model: a directory or a file."""

    path: Path
    name: str
    """Relative to the place that was searched."""
    layout: str
    """`huggingface`, `adapter`, `deepspeed`, `megatron`, `torch-dcp`, `lightning`, `torchtune` or `file`."""
    weights: tuple[Path, ...]
    root: Path
    """What file names in findings are relative to."""
    step: int | None = None
    time: float = 0.0
    """When the newest weight file was written, seconds since 1970."""
    beside: tuple[str, ...] = ()
    problems: tuple[Finding, ...] = ()

    @property
    def folder(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    def file(self, path: Path) -> str:
        """The name under which findings cite a file."""
        return clean(path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name)

    def json(self, name: str) -> Any:
        """A JSON file beside the weights, or an empty object where there is none that can be read."""
        return read_json(self.folder / name) if inside(self.folder / name, self.root) else {}


def read_json(path: Path) -> Any:
    try:
        if not path.is_file() or path.stat().st_size > JSON_LIMIT:
            return {}
        value = bounded_json(path.read_bytes())
    except (OSError, ValueError, RecursionError, Broken):
        return {}
    return value if isinstance(value, dict) else {}


def inside(path: Path, root: Path) -> bool:
    """Whether the path, links followed, stays in what the user named (or in the blobs of the same hub cache)."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return False
    cache = root.parents[1] if root.parent.name == "snapshots" and len(root.parents) > 1 else root
    return real.is_relative_to(cache)


def incomplete(root: Path, path: Path, en: str, zh: str, severity: Severity = Severity.S1, **data: Any) -> Finding:
    name = clean(path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name)
    return Finding(
        "checkpoint-incomplete",
        severity,
        f"{name}: {en}",
        f"{name}：{zh}",
        (Evidence(file=name, text=clean(en)),),
        data,
    )


def find_checkpoints(
    path: Path, root: Path | None = None, unseen: Callable[[Path, str], None] = lambda path, why: None
) -> list[Checkpoint]:
    """The checkpoints at or under a path, by folder and step.

    Args:
        path: a checkpoint, a file of weights, or a directory of checkpoints.
        root: what names are relative to and what no link may leave; the path itself (or its folder) by default.
        unseen: told which folder was not looked into, and why.

    Raises:
        TriageError: the path does not exist.
    """
    try:
        path = Path(path).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise TriageError(f"cannot open {path}: name a checkpoint or a directory of checkpoints") from error
    root = (root or (path if path.is_dir() else path.parent)).resolve()
    if path.is_file():
        return [_single(path, root)]
    found = list(_walk(path, root, unseen))
    found.sort(key=lambda c: (c.path.parent.as_posix(), c.step if c.step is not None else -1, c.name))
    return found


def _walk(top: Path, root: Path, unseen: Callable[[Path, str], None]) -> Iterator[Checkpoint]:
    waiting, looked = [(top, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        looked += 1
        if looked > DIRECTORY_LIMIT:
            unseen(folder, f"and {len(waiting)} more folders were not searched, after {DIRECTORY_LIMIT:,} others")
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
            kept = [e for e in entries if inside(Path(e.path), root)]
            names = [e.name for e in kept if e.is_file()]
            folders = [e.name for e in kept if e.is_dir() and not (e.name.startswith(".") or e.name == "__pycache__")]
            own = list(_here(folder, names, folders, root))
        except OSError as error:
            unseen(folder, f"cannot be opened ({error.strerror}); what it holds was not looked at")
            continue
        yield from own
        if not (own and own[0].path == folder and _FOLDER.match(folder.name)) and depth < DEPTH:
            waiting += [(folder / name, depth + 1) for name in folders if not name.startswith("mp_rank_")]


def _here(folder: Path, names: list[str], folders: list[str], root: Path) -> Iterator[Checkpoint]:
    """The checkpoint that a folder is, or those that are single files in it."""
    for layout, recognise in LAYOUTS.items():
        weights = recognise(folder, names, folders)
        if weights is not None:
            files = tuple(p for p in weights if inside(p, root))
            problems = (*MISSING.get(layout, _nothing)(root, folder, names, folders), *_trackers(root, folder, names))
            yield Checkpoint(
                folder, _name(folder, root), layout, files, root, _step(folder), _time(files),
                _beside([*names, *folders]), problems,
            )  # fmt: skip
            return
    for name in names:
        if _PLAIN.search(name) and not _NO_WEIGHTS.match(name):
            yield _single(folder / name, root)


def _single(path: Path, root: Path) -> Checkpoint:
    layout = "lightning" if path.suffix == ".ckpt" else "file"
    found = _STEP.findall(path.name)
    step = re.search(r"step[-_=]?(\d+)", path.name)
    number = int(step.group(1)) if step else (int(found[-1]) if found else None)
    return Checkpoint(path, _name(path, root), layout, (path,), root, number, _time((path,)))


def _name(path: Path, root: Path) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return clean(path.name if name == "." else name)


def _step(folder: Path) -> int | None:
    match = _FOLDER.match(folder.name)
    if match:
        return int(match.group(1)[:18])
    step = read_json(folder / "trainer_state.json").get("global_step")
    return step if type(step) is int else None


def _time(files: tuple[Path, ...]) -> float:
    return max((p.stat().st_mtime for p in files if os.access(p, os.F_OK)), default=0.0)


def _beside(names: list[str]) -> tuple[str, ...]:
    return tuple(what for what, pattern in BESIDE.items() if any(pattern.search(n) for n in names))


def _huggingface(folder: Path, names: list[str], folders: list[str]) -> list[Path] | None:
    for index in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        if index in names:
            listed = weight_map(folder / index)
            shards = {
                n for n in names if (m := _SHARD.match(n)) and m.group(4) == Path(index.split(".index")[0]).suffix
            }
            return [folder / n for n in sorted((set(listed.values()) | shards) & set(names))]
    for suffix in (".safetensors", ".bin"):
        found = [n for n in names if _HF.match(n) and n.endswith(suffix) and not n.startswith("adapter_")]
        if found:
            return [folder / n for n in found]
    saved = "optimizer.pt" in names and "trainer_state.json" in names and "adapter_config.json" not in names
    return [] if saved and not any(f.startswith("global_step") for f in folders) else None


def _adapter(folder: Path, names: list[str], folders: list[str]) -> list[Path] | None:
    found = [n for n in ("adapter_model.safetensors", "adapter_model.bin") if n in names][:1]
    return [folder / n for n in found] if found or "adapter_config.json" in names else None


def _deepspeed(folder: Path, names: list[str], folders: list[str]) -> list[Path] | None:
    if any(_DEEPSPEED.match(n) for n in names):
        return [folder / n for n in names if "optim_states" not in n and _DEEPSPEED.match(n)]
    return None


def _megatron(folder: Path, names: list[str], folders: list[str]) -> list[Path] | None:
    ranks = [folder / f for f in folders if f.startswith("mp_rank_")]
    if ranks:
        return [p for r in ranks for p in sorted(r.glob("*.pt")) if not p.name.startswith("distrib_optim")]
    return None


def _dcp(folder: Path, names: list[str], folders: list[str]) -> list[Path] | None:
    pieces = [folder / n for n in names if n.endswith(".distcp")]
    return pieces if pieces or (".metadata" in names and "metadata.json" in names) else None


def _torchtune(folder: Path, names: list[str], folders: list[str]) -> list[Path] | None:
    return [folder / n for n in names if _TORCHTUNE.match(n)] or None


LAYOUTS: dict[str, Callable[[Path, list[str], list[str]], list[Path] | None]] = {
    "torch-dcp": _dcp,
    "megatron": _megatron,
    "deepspeed": _deepspeed,
    "torchtune": _torchtune,
    "huggingface": _huggingface,
    "adapter": _adapter,
}
"""Layout -> the weight files if a folder has that layout (perhaps none of them left), else None; the first wins."""


def weight_map(index: Path) -> dict[str, str]:
    """Tensor -> shard, as the index says; empty where it cannot be read."""
    listed = read_json(index).get("weight_map")
    return {str(k): str(v) for k, v in listed.items()} if isinstance(listed, dict) else {}


def _nothing(root: Path, folder: Path, names: list[str], folders: list[str]) -> Iterator[Finding]:
    yield from ()


def _hf_missing(root: Path, folder: Path, names: list[str], folders: list[str]) -> Iterator[Finding]:
    for index in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        if index in names:
            yield from _index_missing(root, folder / index, names)
            return
    yield from _numbered(root, folder, names)
    if not any(_HF.match(n) for n in names):
        en = "holds an optimizer but no weights; the save was cut off or the weights were removed"
        yield incomplete(root, folder, en, "有优化器状态却没有权重；保存被中断或权重被删除", Severity.S2)


def _index_missing(root: Path, index: Path, names: list[str]) -> Iterator[Finding]:
    listed = weight_map(index)
    if not listed:
        yield incomplete(root, index, "the index lists no tensor or is no JSON", "索引不是 JSON，或没有列出任何张量")
    lost = sorted(set(listed.values()) - set(names))
    whole = len(lost) == len(set(listed.values()))
    for shard in lost[:1] if whole else lost[:20]:
        tensors = [t for t, s in listed.items() if s == shard]
        what, zh = (("none of the shards is here", "所有分片都不在") if whole else
                    (f"shard {shard} is missing, with {len(tensors)} tensors such as {tensors[0]}",
                     f"缺少分片 {shard}，其中有 {len(tensors)} 个张量，如 {tensors[0]}"))  # fmt: skip
        yield incomplete(
            root, index.parent / shard, what, zh, Severity.S2 if whole else Severity.S1,
            shard=shard, tensors=tensors[:20],
        )  # fmt: skip


def _numbered(root: Path, folder: Path, names: list[str]) -> Iterator[Finding]:
    """`model-00001-of-00003` without an index: the index is written last."""
    shards: dict[tuple[str, int, str], set[int]] = {}
    for name in names:
        if (match := _SHARD.match(name)) and _HF.match(name):
            head, number, total, tail = match.groups()
            shards.setdefault((head, int(total), tail), set()).add(int(number))
    for (head, total, tail), have in shards.items():
        lost = [n for n in range(1, min(total, 10_000) + 1) if n not in have]
        en = f"{len(have)} of {total} shards {head}*{tail} and no index" + (
            f"; number {lost[0]} is missing" if lost else ""
        )
        yield incomplete(
            root, folder, en, f"{head}*{tail} 有 {len(have)}/{total} 个分片，且没有索引文件", missing=lost[:20]
        )


def _adapter_missing(root: Path, folder: Path, names: list[str], folders: list[str]) -> Iterator[Finding]:
    weights = any(n.startswith("adapter_model.") for n in names)
    if not weights and "optimizer.pt" in names:
        en = "adapter_config.json has no adapter_model.safetensors beside it, though the optimizer was saved"
        yield incomplete(root, folder, en, "有 adapter_config.json 和优化器，却没有 adapter_model.safetensors")


def _rank_gaps(root: Path, folder: Path, names: list[str], folders: list[str]) -> Iterator[Finding]:
    """Files of ranks 0..n-1 with one left out; the last ones cannot be told from a smaller job."""
    groups: dict[str, dict[int, str]] = {}
    for name in [*names, *folders]:
        for match in re.finditer(r"(?:pp|mp)_rank_(\d{1,6})", name):
            key = name[: match.start(1)] + "#" + name[match.end(1) :]
            groups.setdefault(key, {})[int(match.group(1))] = name
    for key, ranks in groups.items():
        lost = [n for n in range(max(ranks)) if n not in ranks]
        if lost and len(lost) <= len(ranks):
            en = f"{clean(key)}: the file of rank {lost[0]} is missing ({len(ranks)} of {max(ranks) + 1} are here)"
            zh = f"{clean(key)}：缺少 rank {lost[0]} 的文件（{len(ranks)}/{max(ranks) + 1}）"
            yield incomplete(root, folder, en, zh, missing=lost[:20])


def _dcp_missing(root: Path, folder: Path, names: list[str], folders: list[str]) -> Iterator[Finding]:
    if ".metadata" not in names:
        en = ".metadata is missing; it is written last, so that the save did not finish"
        yield incomplete(root, folder, en, "缺少 .metadata；它最后写入，说明保存没有完成")


MISSING: dict[str, Callable[[Path, Path, list[str], list[str]], Iterator[Finding]]] = {
    "huggingface": _hf_missing,
    "adapter": _adapter_missing,
    "deepspeed": _rank_gaps,
    "megatron": _rank_gaps,
    "torch-dcp": _dcp_missing,
}


def _trackers(root: Path, folder: Path, names: list[str]) -> Iterator[Finding]:
    if folder.name.startswith("tmp-checkpoint"):
        en = "the name says that the save was not finished"
        yield incomplete(root, folder, en, "目录名表明保存没有完成", Severity.S2)
    yield from _tracker(root, folder, "latest", "global_step", "")
    yield from _tracker(root, folder.parent, "latest_checkpointed_iteration.txt", "iter_", folder.name)


def _tracker(root: Path, folder: Path, file: str, prefix: str, newest: str) -> Iterator[Finding]:
    """The file that names the newest checkpoint, against the checkpoints beside it."""
    path = folder / file
    if not (inside(path, root) and path.is_file() and os.access(path, os.R_OK) and os.access(folder, os.R_OK)):
        return
    with path.open("rb") as handle:
        named = handle.read(100).decode("utf-8", "replace").strip()
    present = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name.startswith(prefix))
    wanted = f"iter_{int(named):07d}" if prefix == "iter_" and named.isascii() and named.isdigit() else named
    if newest and newest != (present[-1] if present else ""):
        return
    if wanted not in present and present and named != "release":
        en = f"{file} names {clean(wanted)}, which is not here; resuming will fail (here: {', '.join(present[-3:])})"
        yield incomplete(root, path, en, f"{file} 指向 {clean(wanted)}，但它不在；恢复训练会失败", named=clean(wanted))
    elif newest and wanted in present and present[-1] > wanted:
        en = f"is newer than {file} says ({clean(wanted)}): its save did not finish; resuming starts from the older one"
        yield incomplete(root, folder / newest, en, f"比 {file} 记录的（{clean(wanted)}）新：保存没有完成", Severity.S2)
