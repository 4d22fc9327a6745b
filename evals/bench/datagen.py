# ruff: noqa: E501  (patterns are read as a table)
"""Text for the data benches, made from seeds: English and Chinese prose, word problems, code tasks, personal data.

The prose is drawn from a Zipf distribution over made-up words (English) or common characters (Chinese), so that
frequent n-grams repeat as in real text. Nothing here is anybody's real data.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

HAN = "".join(chr(c) for c in range(0x4E00, 0x4E00 + 3500))


class Prose:
    """Endless documents of one language."""

    def __init__(self, language: str, seed: int):
        self.rng = random.Random(seed)
        self.language = language
        letters = "etaoinshrdlucmfwypvbgk"
        self.words = (
            [self.rng.choice(HAN) + self.rng.choice(HAN) * (self.rng.random() < 0.7) for _ in range(8000)]
            if language == "zh"
            else ["".join(self.rng.choices(letters, k=self.rng.randint(2, 10))) for _ in range(30000)]
        )
        self.weights = [1 / (i + 5) for i in range(len(self.words))]
        self.cumulative: list[float] = []
        total = 0.0
        for weight in self.weights:
            total += weight
            self.cumulative.append(total)

    def tokens(self, count: int) -> list[str]:
        return self.rng.choices(self.words, cum_weights=self.cumulative, k=count)

    def text(self, tokens: list[str]) -> str:
        return "".join(tokens) if self.language == "zh" else " ".join(tokens)

    def document(self, size: int = 1000) -> list[str]:
        """Tokens of about `size` bytes of text."""
        return self.tokens(size // (5 if self.language == "zh" else 7))

    def edited(self, tokens: list[str], edits: int) -> list[str]:
        """A copy with some tokens replaced."""
        out = list(tokens)
        for _ in range(edits):
            out[self.rng.randrange(len(out))] = self.tokens(1)[0]
        return out


def documents(language: str, count: int, seed: int, copies: float = 0.05, size: int = 1000) -> Iterator[str]:
    """Documents, a share of which are copies of an earlier one with 0 to 40 edits."""
    prose = Prose(language, seed)
    kept: list[list[str]] = []
    for _ in range(count):
        if kept and prose.rng.random() < copies:
            tokens = prose.edited(prose.rng.choice(kept), prose.rng.choice((0, 1, 2, 4, 6, 8, 12, 20, 40)))
        else:
            tokens = prose.document(size)
            if len(kept) < 20000:
                kept.append(tokens)
        yield prose.text(tokens)


NAMES = ["Ana", "Ben", "Chloe", "Dev", "Elif", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mona",
         "Nils", "Olga", "Pia", "Ravi", "Sara", "Tom", "Uma"]  # fmt: skip
THINGS = ["apples", "pencils", "marbles", "tickets", "bricks", "stickers", "cookies", "bottles", "lamps", "shells",
          "tiles", "coins", "books", "ropes"]  # fmt: skip
PLACES = ["market", "library", "harbour", "garden", "school", "bakery", "workshop", "museum", "station", "farm",
          "theatre", "clinic"]  # fmt: skip
VERBS = ["buys", "collects", "paints", "sorts", "packs", "borrows", "repairs", "plants", "sells", "counts", "washes",
         "delivers"]  # fmt: skip


def word_problem(rng: random.Random, half: int = 0) -> str:
    """A school word problem of three to five sentences; the two halves are about different things."""
    name, other = rng.sample(NAMES, 2)
    thing, second = rng.sample(THINGS[half::2], 2)
    numbers = [rng.randint(3, 97) for _ in range(5)]
    openers = (
        f"{name} {rng.choice(VERBS)} {numbers[0]} {thing} at the {rng.choice(PLACES)} every {rng.choice(('morning', 'Friday', 'week'))}.",
        f"At the {rng.choice(PLACES)}, {name} {rng.choice(VERBS)} {numbers[0]} {thing} and {numbers[1]} {second}.",
        f"A {rng.choice(PLACES)} has {numbers[0]} boxes, and {name} {rng.choice(VERBS)} {numbers[1]} {thing} from each of them.",
    )
    middles = (
        f"Then {other} {rng.choice(VERBS)} {numbers[2]} of them before lunch and leaves the rest near the {rng.choice(PLACES)}.",
        f"Each of the {second} costs {numbers[3]} cents, but {other} pays only half for the first {numbers[4]}.",
        f"Because it rains, {other} brings {numbers[2]} {second} back from the {rng.choice(PLACES)} in {numbers[3]} small bags.",
        f"Her neighbour {other} {rng.choice(VERBS)} {numbers[4]} times as many {second} as {thing} in two days.",
    )
    ends = (
        f"How many {thing} does {name} have left after {numbers[3]} days?",
        f"What is the total price in dollars if {name} keeps {numbers[4]} {second}?",
        f"How much more does {other} need to fill {numbers[1]} shelves with {thing}?",
    )
    return " ".join((rng.choice(openers), *rng.sample(middles, rng.randint(2, 3)), rng.choice(ends)))


KINDS = ["nested", "sparse", "weekly", "signed", "cyclic", "partial", "dense", "ordered", "cached", "rolling",
         "nightly", "binary", "padded", "frozen", "local"]  # fmt: skip
NOUNS = ["queue", "matrix", "ledger", "sensor", "recipe", "playlist", "graph", "invoice", "calendar", "tree", "grid",
         "histogram", "route", "token", "packet"]  # fmt: skip
ACTIONS = ["merge", "rotate", "filter", "compress", "rank", "validate", "split", "count", "normalise", "schedule",
           "deduplicate", "interpolate", "reverse"]  # fmt: skip
RULES = (
    "Ignore entries whose {a} is negative and keep the original order.",
    "Return an empty list when the {a} has no {b}.",
    "Two {a}s are equal when their {b} and their position agree.",
    "Raise a ValueError if the {b} is larger than {n}.",
    "The {a} is given as a list of tuples of a {b} and an integer below {n}.",
    "Run in time linear in the number of {b}s, using at most {n} extra slots.",
)


def code_task(rng: random.Random, half: int = 0) -> str:
    """An instruction to write a function; the two halves are about different things."""
    a, b = (f"{rng.choice(KINDS)} {noun}" for noun in rng.sample(NOUNS[half::2], 2))
    rules = " ".join(r.format(a=a, b=b, n=rng.randint(2, 900)) for r in rng.sample(RULES, 3))
    return f"Write a Python function that can {rng.choice(ACTIONS)} a {a} by {b} and {rng.choice(ACTIONS)} the result. {rules}"


LEAKS = ("verbatim", "case and punctuation", "paraphrased numbers", "embedded", "translated")


def leaked(kind: str, text: str, prose: Prose, rng: random.Random) -> str:
    """A training record that leaks an evaluation item in one of five ways."""
    import re

    if kind == "case and punctuation":
        return text.upper().replace(".", " !").replace(",", ";")
    if kind == "paraphrased numbers":
        return re.sub(r"\d+", lambda m: str(rng.randint(2, 99)), text)
    if kind == "embedded":
        return f"{prose.text(prose.document(1500))} {text} {prose.text(prose.document(1500))}"
    if kind == "translated":
        words = {w: rng.choice(HAN) + rng.choice(HAN) for w in set(re.findall(r"[A-Za-z]+", text))}
        return re.sub(r"[A-Za-z]+", lambda m: words[m[0]], text).replace(" ", "")
    return text
