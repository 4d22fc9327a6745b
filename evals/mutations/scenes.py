"""Scenes: what training loops stand among, in the manners of public libraries, with the defects planted in each.

They are read and never run: the devices, ranks and models that they name are not there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from .planting import Lines, indent, indented
from .scene import Scene
from .scenes_adapters import ADAPTERS
from .scenes_again import AGAIN
from .scenes_answers import ANSWERS
from .scenes_averages import AVERAGES
from .scenes_best import BEST
from .scenes_data import DATA
from .scenes_figures import FIGURES
from .scenes_heads import HEADS
from .scenes_images import IMAGES
from .scenes_items import ITEMS
from .scenes_labels import LABELLED
from .scenes_logits import LOGITS
from .scenes_losses import LOSSES
from .scenes_models import MODELS
from .scenes_networks import NETWORKS
from .scenes_optimizers import OPTIMIZERS
from .scenes_policy import POLICIES
from .scenes_precision import PRECISION
from .scenes_ranks import RANKS
from .scenes_remade import REMADE
from .scenes_resuming import RESUMING
from .scenes_rewards import REWARDED
from .scenes_rollouts import ROLLOUTS
from .scenes_tables import TABLES
from .scenes_teachers import TEACHERS
from .scenes_tokens import TOKENS
from .scenes_trainers import TRAINERS
from .scenes_training import TRAINING
from .scenes_weighed import WEIGHED

SCENES = (*ADAPTERS, *AGAIN, *ANSWERS, *AVERAGES, *BEST, *DATA, *FIGURES, *HEADS, *IMAGES, *ITEMS, *LABELLED, *LOGITS, *LOSSES, *MODELS, *NETWORKS, *OPTIMIZERS, *POLICIES, *PRECISION, *RANKS, *REMADE, *RESUMING, *REWARDED, *ROLLOUTS, *TABLES, *TEACHERS, *TOKENS, *TRAINERS, *TRAINING, *WEIGHED)  # fmt: skip
BETWEEN = ("# as before", 'print("here")', "# checked by hand", "started = True", 'logger.info("next")')
"""Lines that do nothing."""


def forms(scene: Scene) -> Iterator[tuple[str, Lines]]:
    """The scene as a script, as a function, and as a method of a class; lines that do nothing put between."""
    head, body = scene.parts
    yield "script", _between([*head, *body], scene.name)
    yield "main", _between([*head, "def main():", *indented(body, 4), "main()"], scene.name + "m")
    yield (
        "class",
        _between([*head, "class Job:", "    def run(self):", *indented(body, 8), "Job().run()"], scene.name + "c"),
    )


def _between(lines: Lines, seed: str) -> Lines:
    draw = random.Random(seed)
    out: Lines = []
    depth = 0
    for line in lines:
        plain = (
            depth == 0
            and line.strip()
            and not line.lstrip().startswith(("else", "elif", "except", "finally", "def", "@"))
        )
        if plain and out and not out[-1].lstrip().startswith("@") and draw.random() < 0.2:
            out.append(" " * indent(line) + draw.choice(BETWEEN))
        out.append(line)
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
    return out
