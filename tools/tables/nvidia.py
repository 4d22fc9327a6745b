"""The box that `nvidia-smi` prints: several lines for each GPU, several values in a cell."""

from __future__ import annotations

from collections.abc import Sequence

from ..reading import Line
from .cells import number
from .raw import Raw

NAMES = ("GPU", "Name", "Persistence-M", "Bus-Id", "Disp.A", "Volatile Uncorr. ECC", "Fan", "Temp", "Perf",
         "Pwr:Usage/Cap", "Memory-Usage", "Memory-Total", "GPU-Util", "Compute M.", "MIG M.")  # fmt: skip


def read_smi(lines: Sequence[Line]) -> tuple[list[Raw], list[Line]]:
    """The table of GPUs, if it is there, and the lines that are no part of such a box."""
    if not any("NVIDIA-SMI" in line.text for line in lines):
        return [], list(lines)
    rows, at = [], []
    boxes = [(line.number, [cell.split() for cell in line.text.strip("|│ ").split("|")]) for line in lines]
    for i, (place, cells) in enumerate(boxes[:-1]):
        row = _gpu(cells, boxes[i + 1][1], boxes[i + 2][1] if i + 2 < len(boxes) else [])
        if row:
            rows.append(row)
            at.append(place)
    if not rows:
        return [], list(lines)
    rest = [line for line in lines if line.text[:1] not in "|│+" and "NVIDIA-SMI" not in line.text]
    return [Raw.of_rows("GPUs", NAMES, rows, at)], rest


def _gpu(first: list[list[str]], second: list[list[str]], third: list[list[str]]) -> list[str] | None:
    """The values of one GPU, None where the lines are of something else."""
    if [len(first), len(second)] != [3, 3] or len(first[0]) < 3 or len(first[1]) != 2 or not first[0][0].isdecimal():
        return None
    shown, memory, load = second
    if len(shown) < 4 or memory[1:2] != ["/"] or len(memory) != 3 or len(load) < 1 or not first[2]:
        return None
    if number(memory[2]) is None:
        return None
    name, mig = " ".join(first[0][1:-1]), " ".join(third[-1]) if third and len(third) == 3 else ""
    return [first[0][0], name, first[0][-1], *first[1], first[2][0], *shown[:4], memory[0], memory[2], load[0],
            " ".join(load[1:]), mig]  # fmt: skip
