"""Whether checkpoints are sound: structure of every file, values as far as asked, agreement with what lies beside.

`check_checkpoints` reads everything (the command); `check_run_checkpoints` takes part in a diagnosis and stays within a
budget of bytes and time. Nothing is loaded, unpickled or changed.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare, looked_for
from .agreement import against_base, agreement, rows_unmoved
from .files.beside import harmless, unsound
from .files.layout import Checkpoint, find_checkpoints, inside, weight_map
from .files.tensors import Broken, Reader, Stats, Tensor, read_safetensors
from .files.torchfile import dcp_items, read_torch
from .values import norm_jumps, strange

if TYPE_CHECKING:
    from ..run import Run

CODES = declare(
    "checkpoints",
    ("checkpoint-incomplete", "checkpoint files",
     "a shard is missing or cut off, or the index and the shards disagree"),
    ("checkpoint-unreadable", "checkpoint files", "a weight file is damaged or not what its name says"),
    ("checkpoint-not-fetched", "checkpoint files",
     "a weight file is a Git LFS pointer: its content was not fetched, so nothing is known of it"),
    ("checkpoint-unsafe-pickle", "checkpoint files",
     "a weight file is a pickle that is not made of tensors only; it was not loaded"),
    ("checkpoint-nonfinite", "checkpoint values", "weights are NaN or infinite"),
    ("checkpoint-tensor-constant", "checkpoint values", "a weight matrix is all zero or one constant value"),
    ("checkpoint-shape-mismatch", "checkpoint neighbours", "tensor shapes contradict config.json"),
    ("vocab-embedding-mismatch", "checkpoint neighbours", "the tokenizer has more tokens than the embedding has rows"),
    ("empty-tensors", "checkpoint neighbours", "most weights of a saved model hold no values"),
    ("adapter-mismatch", "checkpoint neighbours", "an adapter's tensors contradict adapter_config.json"),
    ("adapter-empty", "checkpoint neighbours", "an adapter holds no tensors, empty ones, or only zeros after training"),
    ("checkpoint-norm-jump", "checkpoint series", "the norm of a tensor changed severalfold between two checkpoints"),
    ("embedding-rows-unmoved", "checkpoint series", "rows of special tokens in use never moved in training"),
)  # fmt: skip
GROUPS = looked_for(CODES)

BUDGET_SECONDS = 1.5
BUDGET_BYTES = 2 << 30
"""What a diagnosis may read of the values; about what the page cache gives in the time."""
THREADS = min(4, os.cpu_count() or 1)
"""That look at values at once: reading and numpy both leave the interpreter free for each other."""
LATE = Stats()
"""Stands for a tensor that was not looked at, for want of time."""
STRUCTURES = 200
"""Most checkpoints whose headers a diagnosis opens, newest first."""


@dataclass
class Opened:
    """A checkpoint with its headers parsed."""

    checkpoint: Checkpoint
    tensors: dict[str, Tensor] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    measured: dict[str, tuple[Tensor, Stats]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left: int = 0
    """Tensors whose values were not looked at, for want of time."""

    @property
    def whole(self) -> bool:
        """Whether every tensor of its files is known."""
        return not {f.code for f in self.findings} & GROUPS["checkpoint files"]


def open_checkpoint(checkpoint: Checkpoint, others: Collection[Path] = ()) -> Opened:
    """Headers of all its weight files, whether they agree with the index, and whether what lies beside is sound.

    Args:
        checkpoint: what to open.
        others: folders of other checkpoints, which may lie in this one.
    """
    opened = Opened(checkpoint, findings=list(checkpoint.problems))
    if checkpoint.layout == "torch-dcp":
        _guarded(opened, checkpoint.path / ".metadata", lambda p: _pieces(opened, p))
    else:
        for path in checkpoint.weights:
            _guarded(opened, path, lambda p: read_safetensors(p) if p.suffix == ".safetensors" else read_torch(p))
    for index in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        opened.findings += _index(opened, weight_map(checkpoint.folder / index), index)
    if checkpoint.path.is_dir():
        beside(opened, checkpoint.path, others)
    return opened


def beside(opened: Opened, folder: Path, others: Collection[Path], read: Collection[Path] = ()) -> None:
    """What of the folder is harmful, cut or unread; a file that is named already is not named twice."""
    checkpoint = opened.checkpoint
    known = {e.file for f in opened.findings for e in f.evidence}
    read = {*checkpoint.weights, *read, *([folder / ".metadata"] if checkpoint.layout == "torch-dcp" else ())}
    for path, broken in unsound(folder, checkpoint.root, read, others):
        if checkpoint.file(path) not in known:
            opened.findings.append(broken_finding(checkpoint, path, broken))


def _guarded(opened: Opened, path: Path, read: Callable[[Path], Iterable[Tensor]]) -> None:
    if path.name == ".metadata" and not os.path.lexists(path):
        return
    try:
        for tensor in read(path):
            name = _unique(opened, tensor)
            opened.tensors[name] = replace(tensor, name=name)
    except Broken as broken:
        opened.findings.append(broken_finding(opened.checkpoint, path, broken))
    except OSError as error:
        broken = Broken("checkpoint-unreadable", f"cannot be read: {error.strerror}", "无法读取")
        opened.findings.append(broken_finding(opened.checkpoint, path, broken))


def _unique(opened: Opened, tensor: Tensor) -> str:
    """Its name; with its file, and the place in it, where ranks keep their parts under one name."""
    file = tensor.file.relative_to(opened.checkpoint.folder).as_posix()
    names = (tensor.name, f"{file}:{tensor.name}", f"{file}@{tensor.start}:{tensor.name}")
    return next((n for n in names if n not in opened.tensors), names[-1])


def broken_finding(checkpoint: Checkpoint, path: Path, broken: Broken) -> Finding:
    """Something that cannot be read; a format merely not read here is a note."""
    severity = Severity.S3 if broken.data.get("unread") else Severity.S1
    severity = Severity(broken.data.pop("severity", severity))
    name = checkpoint.file(path)
    evidence = Evidence(file=name, step=checkpoint.step, text=clean(str(broken.data.get("tensor", broken.why))))
    return Finding(
        broken.code, severity, f"{name}: {clean(broken.why, 600)}", f"{name}：{clean(broken.zh, 600)}", (evidence,),
        {"file": name, **broken.data},
    )  # fmt: skip


def _pieces(opened: Opened, metadata: Path) -> Iterator[Tensor]:
    """The tensors of a distributed checkpoint; a missing or short file is named once."""
    folder, root = metadata.parent, opened.checkpoint.root
    bad: set[str] = set()
    for name, file, offset, length in dcp_items(metadata):
        path = folder / file
        if file in bad:
            continue
        size = path.stat().st_size if inside(path, root) and os.path.isfile(path) else -1
        if offset + length > size:
            bad.add(file)
            why = (f"is truncated: {offset + length - size} bytes of {clean(name)} are missing" if size >= 0
                   else f"is missing; it holds {clean(name)}")  # fmt: skip
            zh = (
                f"被截断：{clean(name)} 缺少 {offset + length - size} 字节"
                if size >= 0
                else f"缺失；其中有 {clean(name)}"
            )
            broken = Broken("checkpoint-incomplete", why, zh, tensor=name)
            opened.findings.append(broken_finding(opened.checkpoint, path, broken))
            continue
        with path.open("rb") as handle:
            handle.seek(offset)
            is_tensor = handle.read(2) == b"PK"
        if is_tensor and not name.startswith(("optimizer", "optim")):
            for tensor in read_torch(path, offset, length):
                label = name if tensor.name == "tensor" else f"{name}.{tensor.name}"
                yield Tensor(label, tensor.dtype, tensor.shape, tensor.file, tensor.start, tensor.length)
        elif length:
            harmless(path, offset, length)


def _index(opened: Opened, listed: dict[str, str], index: str) -> Iterator[Finding]:
    """Every tensor of the index in the shard that the index names."""
    here = {p.name for p in opened.checkpoint.weights} & {t.file.name for t in opened.tensors.values()}
    wrong = [
        (name, shard, opened.tensors.get(name))
        for name, shard in listed.items()
        if shard in here and (name not in opened.tensors or opened.tensors[name].file.name != shard)
    ]
    wrong = [w for w in wrong if w[2] is None or w[2].file.name in here]
    if not wrong:
        return
    name, shard, found = wrong[0]
    en = f"is in {found.file.name}" if found else "is in no shard"
    zh = f"实际在 {found.file.name}" if found else "不在任何分片中"
    checkpoint = opened.checkpoint
    file = checkpoint.file(checkpoint.folder / shard)
    yield Finding(
        "checkpoint-incomplete",
        Severity.S1,
        f"{checkpoint.file(checkpoint.folder / index)}: {clean(name)} is for {shard} but {en} ({len(wrong)} of them);"
        " index and shards are of different saves",
        f"{checkpoint.file(checkpoint.folder / index)}：{clean(name)} 应在 {shard}，{zh}（共 {len(wrong)} 个）；"
        "索引与分片不是同一次保存",
        (Evidence(file=file, step=checkpoint.step, text=clean(name)),),
        {"tensor": name, "tensors": [w[0] for w in wrong[:50]], "shard": shard},
    )


def measure(opened: Opened, reader: Reader, deadline: float = math.inf, budget: float = math.inf) -> None:
    """Look at the values, tensor by tensor, while time and bytes last."""
    chosen: list[Tensor] = []
    for tensor in sorted(opened.tensors.values(), key=lambda t: (t.file, t.start)):
        if tensor.length <= budget:
            budget -= tensor.length
            chosen.append(tensor)
    opened.left = len(opened.tensors) - len(chosen)

    def look(tensor: Tensor) -> Stats | Broken | None:
        if time.monotonic() > deadline:
            return LATE
        try:
            return reader.stats(tensor)
        except Broken as broken:
            return broken

    with ThreadPoolExecutor(THREADS) as pool:
        for tensor, seen in zip(chosen, pool.map(look, chosen), strict=True):
            if seen is LATE:
                opened.left += 1
            elif isinstance(seen, Broken):
                opened.findings.append(broken_finding(opened.checkpoint, tensor.file, seen))
                return
            elif seen is not None:
                opened.measured[tensor.name] = (tensor, seen)
    opened.findings += strange(opened.checkpoint, opened.measured)


def check_checkpoints(paths: Sequence[Path], listen: Callable[[int], None] = lambda n: None) -> Report:
    """Everything about the checkpoints under the paths: structure, all values, neighbours.

    Args:
        paths: checkpoints, weight files, or directories that hold checkpoints.
        listen: told how many bytes were read.

    Raises:
        TriageError: a path does not exist, or holds no checkpoint.
    """
    opened: list[Opened] = []
    loose: list[Opened] = []
    for path in paths:
        unseen: list[tuple[Path, str]] = []
        found = find_checkpoints(path, unseen=lambda folder, why, into=unseen: into.append((folder, why)))
        around = _around(path, found, unseen)
        if not found and not around.findings:
            raise TriageError(
                f"{path} holds no checkpoint; name a checkpoint, a weight file, or the directory above them"
            )
        folders = {c.path for c in found}
        opened += [open_checkpoint(c, folders - {c.path}) for c in found]
        loose.append(around)
    with Reader(listen) as reader:
        for one in opened:
            measure(one, reader)
            one.findings += agreement(one.checkpoint, one.tensors, one.measured, one.whole)
        for one, base in adapters(opened, paths):
            one.findings += against_base(one.checkpoint, one.tensors, base.checkpoint, base.tensors)
        for before, after in consecutive(opened):
            after.findings += norm_jumps(before.checkpoint, after.checkpoint, before.measured, after.measured)
        for before, after in ends(opened):
            after.findings += rows_unmoved(before.checkpoint, after.checkpoint, before.tensors, after.tensors, reader)
    return report(opened, [f for one in loose for f in one.findings])


def _around(path: Path, found: Sequence[Checkpoint], unseen: Sequence[tuple[Path, str]]) -> Opened:
    """What was named, as far as it is no checkpoint itself: loose pickles in it, folders that were not looked into."""
    path = Path(path).resolve()
    around = Opened(Checkpoint(path, path.name, "file", (), path if path.is_dir() else path.parent))
    for folder, why in unseen:
        broken = Broken("checkpoint-unreadable", why, "没有查看其中的内容", severity="S2")
        around.findings.append(broken_finding(around.checkpoint, folder, broken))
    folders = {c.path for c in found}
    if path.is_dir() and path not in folders:
        beside(around, path, folders, {w for c in found for w in c.weights})
    return around


def adapters(opened: Sequence[Opened], given: Sequence[Path]) -> Iterator[tuple[Opened, Opened]]:
    """Every adapter with its base: the model that it names by path or folder, else the only model that was given."""
    models = [o for o in opened if o.checkpoint.layout == "huggingface" and o.tensors and o.whole]
    only = [m for m in models if m.checkpoint.path in given]
    for one in opened:
        if one.checkpoint.layout == "adapter" and one.tensors:
            named = str(one.checkpoint.json("adapter_config.json").get("base_model_name_or_path") or "")
            same = [m for m in models if Path(named).name == m.checkpoint.path.resolve().name]
            if len(same or only) == 1:
                yield one, (same or only)[0]


def consecutive(opened: Sequence[Opened]) -> Iterator[tuple[Opened, Opened]]:
    """Pairs of checkpoints of one series: same folder, same layout, rising step."""
    for a, b in pairwise(opened):
        one, two = a.checkpoint, b.checkpoint
        if one.path.parent == two.path.parent and one.layout == two.layout and _rises(one, two):
            yield a, b


def ends(opened: Sequence[Opened]) -> Iterator[tuple[Opened, Opened]]:
    """The first and the last checkpoint of every series."""
    series: dict[tuple[Path, str], list[Opened]] = {}
    for one in opened:
        series.setdefault((one.checkpoint.path.parent, one.checkpoint.layout), []).append(one)
    for members in series.values():
        if len(members) > 1 and _rises(members[0].checkpoint, members[-1].checkpoint):
            yield members[0], members[-1]


def _rises(one: Checkpoint, two: Checkpoint) -> bool:
    return one.step is not None and two.step is not None and one.step < two.step


def report(opened: Sequence[Opened], more: Sequence[Finding] = ()) -> Report:
    findings = [*more, *(f for one in opened for f in one.findings)]
    findings.sort(key=lambda f: f.severity)
    codes = {f.code for f in findings}
    files = sum(len(o.checkpoint.weights) for o in opened)
    values = sum(len(o.measured) for o in opened)
    left = sum(o.left for o in opened)
    pairs = sum(1 for _ in consecutive(opened))
    seen = {
        "checkpoint files": (files, f"{files} weight files of {len(opened)} checkpoints"),
        "checkpoint values": (
            values,
            f"{values} tensors read" + (f", {left} left out for want of time" if left else ""),
        ),
        "checkpoint neighbours": (sum(len(o.tensors) for o in opened), "config, tokenizer and adapter_config beside"),
        "checkpoint series": (pairs, f"{pairs} pairs of consecutive checkpoints"),
    }
    checks = [
        Check(name, "found" if codes & group else ("clear" if seen[name][0] else "not-applicable"), seen[name][1])
        for name, group in GROUPS.items()
    ]
    unread = [f.data["file"] for f in findings if f.data.get("unread")]
    if unread:
        checks.append(Check("what the files hold", "failed", f"not read: {', '.join(unread[:20])}"))
    return Report("checkpoints", tuple(findings), tuple(checks), {"checkpoints": [_summary(o) for o in opened]})


def _summary(opened: Opened) -> dict:
    checkpoint = opened.checkpoint
    dtypes: dict[str, int] = {}
    for tensor in opened.tensors.values():
        dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0) + 1
    return {
        "name": checkpoint.name, "layout": checkpoint.layout, "step": checkpoint.step, "time": checkpoint.time,
        "complete": not any(f.code in ("checkpoint-incomplete", "empty-tensors") for f in opened.findings),
        "beside": checkpoint.beside,
        "files": len(checkpoint.weights), "tensors": len(opened.tensors), "values_read": len(opened.measured),
        "bytes": sum(t.length for t in opened.tensors.values()), "dtypes": dtypes,
    }  # fmt: skip


def check_run_checkpoints(run: Run) -> Report:
    """The checkpoints of a run within a budget: headers of all, values of the newest as far as time allows."""
    start = time.monotonic()
    found: dict[Path, Checkpoint] = {}
    for artifact in run.of("checkpoint"):
        if time.monotonic() - start > BUDGET_SECONDS / 2:
            break
        for checkpoint in find_checkpoints(artifact.path, run.root):
            found.setdefault(checkpoint.path, checkpoint)
    if not found:
        return Report("checkpoints", (), (Check("checkpoints", "not-applicable", "no checkpoints in the run"),))
    newest = sorted(found.values(), key=lambda c: (c.step if c.step is not None else -1, c.time), reverse=True)
    opened = []
    for checkpoint in newest[:STRUCTURES]:
        if time.monotonic() - start > BUDGET_SECONDS / 2:
            break
        opened.append(open_checkpoint(checkpoint, found.keys() - {checkpoint.path}))
    if not opened:
        why = f"{len(found)} checkpoints took longer to find than there was time; none was opened"
        return Report("checkpoints", (), (Check("checkpoint files", "failed", why),))
    with Reader() as reader:
        measure(opened[0], reader, start + BUDGET_SECONDS, BUDGET_BYTES)
    for one in opened:
        one.findings += agreement(one.checkpoint, one.tensors, one.measured, one.whole)
    result = report(opened[::-1])
    skipped = len(found) - len(opened)
    note = f"values of the newest ({newest[0].name}) only" + (f"; {skipped} older ones not opened" if skipped else "")
    checks = tuple(Check(c.name, c.result, f"{c.why}; {note}") for c in result.checks)
    return Report(result.tool, result.findings, checks, {"checkpoint_health": result.summary["checkpoints"]})
