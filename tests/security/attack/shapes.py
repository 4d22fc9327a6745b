"""Credentials as they stand in text: 75 that attacks gave, 75 written by somebody who had not seen the table.

A line of the two files holds templates (`{a34}`: 34 letters and digits), so the repository holds no credential. What is
drawn for them is drawn anew at every occurrence, from a seed.
"""

import json
import random
import re
import string
from dataclasses import dataclass
from pathlib import Path

LETTERS = {
    "a": string.ascii_letters + string.digits, "l": string.ascii_lowercase, "d": string.digits,
    "h": "0123456789abcdef", "u": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
}  # fmt: skip
TEMPLATE = re.compile(r"(\{[aldhub]\d+\})")
PIECE = 8
"""Characters drawn in one go of which none may be seen, even where the rest is hidden."""


@dataclass(frozen=True)
class Shape:
    issuer: str
    line: str
    """May be several lines."""
    secret: str
    pieces: tuple[str, ...]

    def out(self, text: str) -> bool:
        return any(piece in text for piece in (self.secret, *self.pieces))


def drawn(row: dict[str, str], seed: int) -> Shape:
    chance = random.Random(f"{seed}/{row['issuer']}")

    def draw(part: str) -> str:
        if not TEMPLATE.fullmatch(part):
            return part
        return "".join(chance.choice(LETTERS[part[1]]) for _ in range(int(part[2:-1])))

    parts = [(part, draw(part)) for part in TEMPLATE.split(row["secret"])]
    secret = "".join(made for _, made in parts)
    before, after = ("".join(map(draw, TEMPLATE.split(side))) for side in row["line"].split(row["secret"]))
    return Shape(row["issuer"], before + secret + after, secret,
                 tuple(made for part, made in parts if part != made and len(made) >= PIECE))  # fmt: skip


def shapes(name: str, seed: int = 0) -> list[Shape]:
    lines = Path(__file__).with_name(f"{name}_shapes.jsonl").read_text(encoding="utf-8").splitlines()
    return [drawn(row, seed) for line in lines if "secret" in (row := json.loads(line))]
