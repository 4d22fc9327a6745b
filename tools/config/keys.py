"""What each framework calls the canonical variables.

One table: framework -> canonical variable -> that framework's keys, best first. Keys are compared after
`normal`: lower case, dashes as underscores, hydra's `+` and flag dashes dropped; dots separate levels and `N`
stands for any list index. A framework inherits the rows of its parents; its own rows come first.
"""

from __future__ import annotations

import re
from functools import cache

from .aliases_engines import ENGINES
from .aliases_rl import RL_SUITES
from .aliases_suites import SUITES
from .aliases_trainers import TRAINERS

PARENTS: dict[str, tuple[str, ...]] = {
    "trl": ("hf",),
    "llama-factory": ("hf",),
    "axolotl": ("hf",),
    "open-instruct": ("hf",),
    "deepspeed-chat": ("hf",),
    "gpt-neox": ("deepspeed",),
    "megatron-deepspeed": ("megatron",),
    "lightrft": ("openrlhf",),
    "ms-swift": ("hf",),
    "paddlenlp": ("hf",),
    "slime": ("megatron",),
    "olmo": ("llm-foundry",),
}

ALIASES: dict[str, dict[str, str]] = TRAINERS | ENGINES | SUITES | RL_SUITES
"""Framework -> variable -> keys."""


def normal(key: str) -> str:
    """A key without the spelling differences of flags, overrides and files."""
    return key.lstrip("-+~").replace("-", "_").lower()


@cache
def table(framework: str) -> dict[str, tuple[str, int]]:
    """Normalised key -> (variable, rank); a lower rank is the better of two keys of one variable."""
    rows: dict[str, tuple[str, int]] = {}
    for generation, name in enumerate((framework, *PARENTS.get(framework, ()))):
        for variable, keys in ALIASES.get(name, {}).items():
            for rank, key in enumerate(keys.split()):
                rows.setdefault(key, (variable, 20 * generation + rank))
    return rows


def primary(framework: str, variable: str, levels: bool = False) -> str | None:
    """The key under which this framework would write the variable, or None if it has none.

    Args:
        framework: a row of `ALIASES`.
        variable: canonical variable.
        levels: prefer a dotted key, for files whose other keys are dotted.
    """
    for name in (framework, *PARENTS.get(framework, ())):
        if keys := ALIASES.get(name, {}).get(variable):
            return next((k for k in keys.split() if ("." in k) == levels), keys.split()[0])
    return None


UNIMPORTANT = re.compile(
    r"(^|[._])(output|out|save|log|logs|logging|logger|wandb|swanlab|mlflow|tensorboard|hub|run|exp|experiment|"
    r"project|job|report|cache|caches|overwrite|trackio|comet|profiler|monitor|verbose|debug|tags|notes|timestamp|"
    r"port|host|master|rdzv|rank|plot|tracking|print|printed|api|default_local|ckpt|checkpoint|checkpoints|"
    r"served|revision|wall_clock|push|load|resume|resume_from_checkpoint|workspace|cluster|budget|priority)"
    r"(_[a-z0-9_]+)?(\.|$)"
    r"|(^|[._])(dir|name|names|log|logs|path_prefix)$|_(dir|log|logs|name)$"
)
"""Keys whose change does not change the training: names, places, logging."""
