"""Sound of another sampling rate than the features are computed for, as the list of the data gives it.

Features of 8 kHz sound that is taken for 16 kHz are of no use, and only its own part of the data suffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.stated import Stated
from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..line import plain

RATE = bounded(
    r"^(?:audio_|orig(?:inal)?_|target_|feature_|fbank_)?(?:sr|sample_?rate|sampling_?rate|samplerate|fs)(?:_hz)?$|采样率"
)
AGAIN = bounded(r"resampl|重采样")
SWITCH = bounded(r"^(?:enabled?|use|apply|do|on|active)$|resampl|重采样")
LOW, HIGH, LEAST, SHARE = 4000.0, 200_000.0, 20, 0.02
"""Rates in Hz that sound has, rows of a list, and share of them from which on it is told. Own judgement."""
NEAR = 3
"""Lines of a configuration within which a switch belongs to a key."""


def otherwise(tables: Sequence[Table], stated: Sequence[Stated]) -> Iterator[Finding]:
    """Rows of another rate than the one that configurations agree on, where nothing converts them."""
    said = [s for s in stated if s.how == "said" and RATE.search(plain(s.key)) and _is_rate(s.number)]
    if len({s.number for s in said}) != 1 or _converts(stated):
        return
    want = float(said[0].number or 0)
    for table in tables:
        for column in table.columns:
            if column.values.dtype.kind == "f" and RATE.search(plain(column.name)) and len(table) >= LEAST:
                values = column.values[np.isfinite(column.values)]
                other = column.values != want
                rates = len(values) == len(table) and _is_rate(values.min()) and _is_rate(values.max())
                if rates and SHARE <= other.mean() < 1:
                    yield _told(table, column, said[0], other, _switched_off(stated))
                    return


def _is_rate(value: float | None) -> bool:
    return value is not None and LOW <= value <= HIGH


def _near(stated: Sequence[Stated], value: str) -> Stated | None:
    """A switch of resampling that has this value: by its own name, or beside a key of it."""
    keys = [s for s in stated if AGAIN.search(plain(s.key))]
    return next(
        (s for s in stated if s.value.lower() == value and SWITCH.search(plain(s.key))
         and any(k.file == s.file and abs(k.line - s.line) <= NEAR for k in keys)), None
    )  # fmt: skip


def _converts(stated: Sequence[Stated]) -> bool:
    return _near(stated, "true") is not None


def _switched_off(stated: Sequence[Stated]) -> Stated | None:
    return _near(stated, "false")


def _told(table: Table, column: Column, want: Stated, other: np.ndarray, off: Stated | None) -> Finding:
    rates = sorted(set(column.values[other].tolist()))
    said = ", ".join(f"{r:g}" for r in rates[:3])
    i = int(np.argmax(other))
    en = f" and resampling is off ({off.file}:{off.line})" if off else ""
    zh = f"，且重采样关闭（{off.file}:{off.line}）" if off else ""
    return Finding(
        "sampling-rates-mixed", Severity.S1 if off else Severity.S3,
        f"{other.sum()} of {len(table)} rows ({other.mean():.0%}) of {table.file} have {column.name} {said}, and "
        f"{want.file}:{want.line} sets {want.key} {want.value}{en}: their features are computed as if they were of "
        "that rate.",
        f"{table.file} 的 {len(table)} 行中有 {other.sum()} 行（{other.mean():.0%}）的 {column.name} 为 {said}，而 "
        f"{want.file}:{want.line} 的 {want.key} 为 {want.value}{zh}：这些音频的特征会按错误的采样率计算。",
        (Evidence(table.file, int(table.lines[i]) or None, metric=column.name, value=float(column.values[i])),
         want.evidence(), *((off.evidence(),) if off else ())),
        {"share": float(other.mean()), "rates": rates[:4], "wanted": want.number},
    )  # fmt: skip
