"""Codebooks of audio and video tokenizers: how much of each level's codes is used, from dumps of codes.

Dumps are JSON records with `codes`, `audio_codes` or `codebook_ids` (levels x time, time x levels, or flat), or
`.npy`/`.npz` arrays, never unpickled. The seeds give no number for "high entropy" (001 C.5), so our limits are
far from healthy and the comparison with an earlier dump is offered first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..findings import Check, Finding, Report, Severity, TriageError, declare
from .records.blocks import Stream, walk
from .records.record import Account, Broken

CODES = declare(
    "data codebook",
    ("codebook-collapse", "codebook use", "a codebook level uses only a few of its codes"),
    ("codebook-level-imbalance", "codebook use", "later codebook levels carry far less information than the first"),
)  # fmt: skip

LEVELS_MOST = 64
"""A dimension of at most this many is the levels; residual quantisers have 2 to 32."""
USED_COLLAPSED = 0.1
"""exp(entropy) below this share of the codes is collapse: ten times fewer codes than paid for."""
IMBALANCE = 0.5
"""A level's share of log K below half of the first level's."""
ENOUGH_PER_CODE = 10
"""Observations per code below which entropy says more about the sample than about the codebook."""
CODE_LIMIT = 1 << 20
"""No codebook is larger: a greater number is no code."""
NAMES = ("codes", "audio_codes", "codebook_ids", "code_ids", "indices")


@dataclass(frozen=True)
class Level:
    """Use of one codebook level."""

    codes: int
    observed: int
    used: int
    entropy: float
    """In nats."""

    @property
    def share(self) -> float:
        """Entropy / log K, 1 when all codes are equally frequent."""
        return self.entropy / np.log(self.codes) if self.codes > 1 else 0.0

    @property
    def effective(self) -> float:
        """exp(entropy): the number of codes that an even use would have."""
        return float(np.exp(self.entropy))


def codebook(paths: Sequence[Path], *, size: int | None = None, before: Sequence[Path] = ()) -> Report:
    """Use of each level in the dumps under `paths`.

    Args:
        paths: dumps.
        size: codes per level; None takes the smallest power of two above the largest code seen.
        before: a dump of an earlier, healthy time to compare with.

    Raises:
        TriageError: a path does not exist or holds no codes.
    """
    account, then = Account(), Account()
    levels = measure(count(paths, account), size)
    earlier = measure(count(before, then), size) if before else []
    findings = (*_collapse(levels), *_imbalance(levels), *_fall(levels, earlier))
    enough = [lv.observed >= ENOUGH_PER_CODE * lv.codes for lv in levels]
    checks = [
        Check(
            "codebook use",
            "found" if findings else "clear" if any(enough) else "not-applicable",
            f"{len(levels)} levels, {sum(enough)} with {ENOUGH_PER_CODE} or more observations per code",
        )
    ]
    summary = {
        "levels": [
            {
                "codes": lv.codes,
                "observed": lv.observed,
                "used": lv.used,
                "used_share": lv.used / lv.codes,
                "entropy_nats": lv.entropy,
                "entropy_share": lv.share,
                "effective_codes": lv.effective,
            }
            for lv in levels
        ],
        "codebook_size_given": size is not None,
    }
    report = account.on(Report("data codebook", findings, tuple(checks), summary))
    return then.on(report, "earlier dump")


def count(paths: Sequence[Path], account: Account) -> list[NDArray[np.int64]]:
    """Occurrences of each code, one array per level."""
    out: list[NDArray[np.int64]] = []
    for array in _arrays(paths, account):
        for i, level in enumerate(_levels(array)):
            found = np.bincount(level[level >= 0])
            if i == len(out):
                out.append(np.zeros(0, np.int64))
            both = np.zeros(max(len(out[i]), len(found)), np.int64)
            both[: len(out[i])] += out[i]
            both[: len(found)] += found
            out[i] = both
    if not any(len(level) for level in out):
        raise TriageError(
            f"no codes in {', '.join(map(str, paths))}: expected records with `codes`, or .npy/.npz arrays "
            f"of whole numbers{''.join(f'; {name}: {why}' for name, why in account.ended[:3])}"
        )
    return out


def _arrays(paths: Sequence[Path], account: Account) -> Iterator[NDArray[np.int64]]:
    for path in map(Path, paths):
        files, shut = walk(path) if path.is_dir() else ([path], [])
        numeric = [f for f in files if f.suffix in (".npy", ".npz")]
        for file in numeric:
            yield from _numpy(file, account)
        if numeric:
            for folder, why in shut:
                account.add(str(folder), 0, [Broken(0, None, why, ends_file=True)])
            continue
        stream = Stream([path])
        stream.account = account
        for _, _, record in stream:
            value = record.value
            if isinstance(value, Mapping):
                value = next((value[n] for n in NAMES if n in value), None)
            if (array := _whole(value)) is not None:
                yield array


def _numpy(file: Path, account: Account) -> Iterator[NDArray[np.int64]]:
    try:
        if not file.is_file():
            raise OSError("not a file")
        loaded: Any = np.load(file, allow_pickle=False, mmap_mode="r" if file.suffix == ".npy" else None)
        for array in (loaded[n] for n in loaded.files) if file.suffix == ".npz" else (loaded,):
            if np.issubdtype(array.dtype, np.integer):
                if array.size and array.max() >= CODE_LIMIT:
                    raise ValueError(f"{array.max()} is no code of a codebook")
                account.add(file.name, 1, ())
                yield np.asarray(array, np.int64)
    except Exception as error:  # whatever the library makes of a damaged file
        why = f"could not be read as numpy arrays: {type(error).__name__}: {str(error)[:120]}"
        account.add(file.name, 0, [Broken(0, None, why, ends_file=True)])


def _whole(value: Any) -> NDArray[np.int64] | None:
    if not isinstance(value, list) or not value:
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    good = np.issubdtype(array.dtype, np.integer) and array.size and array.max() < CODE_LIMIT
    return array.astype(np.int64) if good else None


def _levels(array: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """One flat array per level; leading dimensions (batch) are joined."""
    if array.ndim == 1:
        return [array]
    array = array.reshape(-1, *array.shape[-2:])
    rows, columns = array.shape[1:]
    by_row = rows <= LEVELS_MOST and (rows <= columns or columns > LEVELS_MOST)
    return [array[:, i].ravel() for i in range(rows)] if by_row else [array[:, :, i].ravel() for i in range(columns)]


def measure(counts: Sequence[NDArray[np.int64]], size: int | None) -> list[Level]:
    """Entropy and use of each level."""
    largest = max((len(c) for c in counts), default=0)
    codes = size or 1 << max(largest - 1, 1).bit_length()
    out = []
    for found in counts:
        share = found[found > 0] / max(found.sum(), 1)
        out.append(Level(max(codes, len(found)), int(found.sum()), len(share), float(-(share * np.log(share)).sum())))
    return out


def _collapse(levels: Sequence[Level]) -> Iterator[Finding]:
    for i, lv in enumerate(levels):
        if lv.observed >= ENOUGH_PER_CODE * lv.codes and lv.effective < USED_COLLAPSED * lv.codes:
            yield Finding(
                "codebook-collapse",
                Severity.S1 if i == 0 else Severity.S2,
                f"Level {i} uses {lv.used} of {lv.codes} codes, and as evenly as {lv.effective:.0f} would be: entropy "
                f"{lv.entropy:.2f} nats, {lv.share:.0%} of log K ({lv.observed} observations).",
                f"第 {i} 层用了 {lv.codes} 个码字中的 {lv.used} 个，等效 {lv.effective:.0f} 个："
                f"熵 {lv.entropy:.2f} nats，为 log K 的 {lv.share:.0%}（{lv.observed} 次观测）。",
                data={"level": i, "entropy": lv.entropy, "share": lv.share, "used": lv.used, "codes": lv.codes},
            )


def _imbalance(levels: Sequence[Level]) -> Iterator[Finding]:
    first = levels[0].share if levels else 0.0
    weak = [
        i for i, lv in enumerate(levels) if lv.observed >= ENOUGH_PER_CODE * lv.codes and lv.share < IMBALANCE * first
    ]
    if weak:
        shares = ", ".join(f"{lv.share:.0%}" for lv in levels)
        yield Finding(
            "codebook-level-imbalance",
            Severity.S2,
            f"Levels {', '.join(map(str, weak))} carry less than half of the first level's information "
            f"(entropy / log K per level: {shares}).",
            f"第 {', '.join(map(str, weak))} 层的信息量不到第一层的一半（各层熵 / log K：{shares}）。",
            data={"levels": weak, "shares": [lv.share for lv in levels]},
        )


def _fall(levels: Sequence[Level], earlier: Sequence[Level]) -> Iterator[Finding]:
    for i, (now, then) in enumerate(zip(levels, earlier, strict=False)):
        if now.observed >= ENOUGH_PER_CODE * now.codes and now.effective < 0.5 * then.effective:
            yield Finding(
                "codebook-collapse",
                Severity.S2,
                f"Level {i} fell from {then.effective:.0f} to {now.effective:.0f} effective codes.",
                f"第 {i} 层等效码字数从 {then.effective:.0f} 降到 {now.effective:.0f}。",
                data={"level": i, "before": then.effective, "after": now.effective},
            )
