"""What the run directories of the failures are made of: tables, logs and texts as strangers leave them.

A builder is a function of one flag: the files of a run that shows the failure, or of one that is healthy or shows the
rival it must be told from. It knows nothing of how the failure is found.
"""

import csv
import io
import json
import random
from collections.abc import Callable, Iterable

from making import prose

Files = dict[str, str]
Builder = Callable[[bool], Files]
FAILURES: dict[str, Builder] = {}
RIVALS: dict[str, str] = {}
"""Key -> the entry that the variant without the failure shows instead; absent: it is healthy, or nothing is claimed."""


def failure(key: str, rival: str = "") -> Callable[[Builder], Builder]:
    """Enter a builder under the key of the failure that it shows."""

    def enter(builder: Builder) -> Builder:
        assert key not in FAILURES, key
        FAILURES[key] = builder
        if rival:
            RIVALS[key] = rival
        return builder

    return enter


def g(i: int, scale: float = 1.0, seed: object = 0) -> float:
    """The i-th of a fixed row of normal draws."""
    return random.Random(f"{seed}:{i}").gauss(0, scale)


def rows(count: int, /, start: int = 1, by: int = 1, axis: str = "step", **columns) -> list[dict]:
    """Records along an axis; a column is a function of the axis, or a constant."""
    steps = range(start, start + count * by, by)
    return [{axis: s, **{k: c(s) if callable(c) else c for k, c in columns.items()}} for s in steps]


def neat(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def table(records: Iterable[dict], sep: str = ",") -> str:
    """Records as a table with a header."""
    records = list(records)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), delimiter=sep, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: neat(v) for k, v in r.items()} for r in records)
    return text.getvalue()


def lines(records: Iterable[dict]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps({k: neat(v) for k, v in r.items()}, ensure_ascii=False) + "\n" for r in records)


def said(records: Iterable[dict]) -> str:
    """Records as the Trainer prints them."""
    return "".join(f"{ {k: neat(v) for k, v in r.items()} }\n" for r in records)


def js(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def ramp(step: float, peak: float, warmup: int, total: int, least: float = 0.1) -> float:
    """Warm-up, then linear decay to a share of the peak."""
    if step < warmup:
        return peak * step / warmup
    return peak * max(least, 1 - (1 - least) * (step - warmup) / (total - warmup))


def decay(step: float, top: float = 9.0, floor: float = 2.6, tau: float = 300) -> float:
    return floor + (top - floor) / (1 + step / tau) ** 1.2


def training(n: int = 200, /, by: int = 10, peak: float = 3e-4, warmup: int = 200, **more) -> list[dict]:
    """The records of a healthy training; a column given replaces the usual one."""
    total = n * by
    usual = {
        "loss": lambda s: decay(s) + g(s, 0.02, "loss"),
        "grad_norm": lambda s: 0.8 + 0.5 / (1 + s / 200) + g(s, 0.05, "grad"),
        "learning_rate": lambda s: ramp(s, peak, warmup, total),
    }
    return rows(n, by, by, **(usual | more))


def fine(n: int = 60, by: int = 10) -> str:
    """A healthy fine-tuning as the Trainer prints it."""
    return said(
        rows(
            n,
            by,
            by,
            loss=lambda s: 1.1 + 0.9 / (1 + s / 60) + g(s, 0.01, "sft"),
            grad_norm=lambda s: 1.1 + g(s, 0.08, "sftg"),
            learning_rate=lambda s: ramp(s, 1e-5, 30, n * by, 0.0),
            epoch=lambda s: s / (n * by) * 2,
        )
    )


def texts(n: int, seed: object, words: int = 40) -> list[str]:
    rng = random.Random(str(seed))
    return [prose(rng, words) for _ in range(n)]


def trace(*frames: str, error: str) -> str:
    """A traceback through these places."""
    body = "".join(f'  File "{frame}\n    ...\n' for frame in frames)
    return f"Traceback (most recent call last):\n{body}{error}\n"
