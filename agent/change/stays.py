"""What a proposal leaves alone, by name: what people reach for first where the entry's failure looks like another.

Each entry lists it under `stays`; what the person plans and the run does not ask for stands before that. The other
settings stay as well, but these are the ones that somebody is about to change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...tools.phrase import Phrase
from ...tools.settings import CONTEXT, VARIABLES
from ..diagnose import Diagnosis
from ..propose import Nothing, Proposal
from ..respond import NOT_A_SETTING, Weighed, same_variable

THINGS: dict[str, Phrase] = {
    "dataset": Phrase("the data", "数据"),
    "weights": Phrase("the weights", "模型权重"),
    "tokenizer": Phrase("the tokenizer and its cache", "分词器及其缓存"),
    "reward_model": Phrase("the reward model", "奖励模型"),
    "evaluation_set": Phrase("the evaluation set", "评测集"),
    "driver": Phrase("the driver", "驱动"),
}
"""What is no setting -> how it is called."""
NAMES = frozenset((*VARIABLES, *CONTEXT, *THINGS))
"""What `stays` of an entry may name."""
PLANNED = {**NOT_A_SETTING, "reward": "reward_model", "evaluation": "evaluation_set"}
"""What a plan acts on -> what it is called here."""
MOST = 6


def staying(proposal: Proposal | Nothing, diagnosis: Diagnosis, plans: Iterable[Weighed]) -> Proposal | Nothing:
    """The proposal with what it leaves alone: what is planned beside it first, then what its entry names."""
    if isinstance(proposal, Nothing):
        return proposal
    entry = next((h.entry for h in diagnosis.hypotheses if h.entry.id == proposal.entry), None)
    planned = (w.plan.variable for w in plans if w.verdict != "is-the-proposal")
    names = [*(PLANNED.get(name, name) for name in planned), *(entry.stays if entry else ())]
    kept = (n for n in names if n in NAMES and not same_variable(n, proposal.variable))
    return replace(proposal, stays=tuple(dict.fromkeys(kept))[:MOST])


def called(name: str, lang: str) -> str:
    """How it is written in an answer."""
    return THINGS[name].say(lang) if name in THINGS else f"`{name}`"
