"""What names in a Python program say: which classes and variables hold settings, and under which section."""

from __future__ import annotations

import ast
import re

from ....patterns import bounded

CONFIGURATION = re.compile(
    r"(Arguments|Args|Config|ConfigContainer|[a-z]_recipe|Trainer|Cfg|CFG|Configuration|H?[Pp]arams|Settings|Options)$|^dict$"
)
"""Calls whose keywords are settings."""
_CONFIG_WORDS = """arguments args configuration config cfg conf container options option opts opt hparams hparam hp
    params hyperparameters hyperparams settings setting recipe flags kwargs parameters defaults default"""
_CONFIG = frozenset(_CONFIG_WORDS.split())
CLASSES = bounded(
    r"(?:Arguments|Args|Configuration|Config|Cfg|CFG|Conf|Options|Opts?|H?[Pp]arams|HP|Hyper(?:[Pp]aram(?:eter)?s)|Settings"
    r"|Flags)$|^(?:config|cfg|args|hparams|params|opts?|C)$"
)
"""Classes whose attributes are settings."""
OF_TESTS = re.compile(r"Eval|Validation|Test")
"""Classes of settings that are none of the training itself: `EvalArgs.max_iters` is no length of the run."""
HOLDER = bounded(
    r"(?i)(^|_)(recipe|cfg|config|conf|args|arguments|h?params|hp|hps|hyperparameters|settings|kwargs|options|opts?|defaults"
    r"|flags)$"
)
"""Names of variables that hold a whole configuration: their own name is no section."""
LITERALS = re.compile(
    r"dict|OrderedDict|SimpleNamespace|Namespace|[Ee]asy[Dd]ict|edict|AttrDict|AttributeDict|Munch|Box|ConfigDict|DictConfig|create"
)
"""Calls that only hold what they are given."""
WHOLE = ("args", "config", "training_args", "train_args", "parameters")
"""Keywords that pass a whole configuration and are no section of it."""
ENTRY = bounded(r"main|train|run|run_training|fine_?tune|pretrain|fit")
"""Functions whose own constants and defaults are those of the program."""
COUNTED_UP = (ast.Add, ast.Sub)
SIZE = re.compile(
    r"hidden_size|intermediate_size|d_model|n_embd|embed_dim|(num_(hidden_)?|n_)layers?|depth|num_attention_heads"
)
"""Sizes of a model: classes that give one differently are two models, and nothing of one holds for the other."""
_SORTING = """
    model optim optimizer optimiser sched scheduler schedule lr data dataset loader dataloader engine rollout actor
    policy sampling sampler rope lora peft dist distributed parallel checkpoint ckpt log logging vllm sglang runner
    solver algorithm
"""
SORTING = frozenset(_SORTING.split())
"""What a name may say beside that it holds settings."""
_ANOTHER = """
    eval evaluation val valid validation test critic value reward rm ref reference teacher judge draft old prev smoke
    debug discriminator disc
"""
ANOTHER = frozenset(_ANOTHER.split())
"""What a name says of settings that are not those of the training."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def section_of(name: str, whole: bool = True) -> str:
    """`optim.` for `OptimCfg` and `OPTIM`; empty where the name says nothing else than that it holds settings.

    Args:
        name: of a class or a variable.
        whole: a name that is nothing but a section counts, too (`ENGINE = dict(...)`).
    """
    words = [w.lower() for w in _PARTS.findall(name)]
    rest = [w for w in words if w not in _CONFIG]
    if not whole and len(rest) == len(words):
        return ""
    if any(word in ANOTHER for word in rest):
        return "_".join(rest) + "."
    return f"{rest[0]}." if len(rest) == 1 and rest[0] in SORTING else ""
