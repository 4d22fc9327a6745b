"""An agent that learns values or searches in an environment: no advantages, no groups of answers, no reference model.

What is said of reinforcement learning is mostly said of language models and policy gradients. A table of values, a DQN
or a search with self-play logs a reward, too, and none of what those remedies assume.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...findings import Finding, Severity, declare
from ...patterns import bounded
from ...series import SeriesTable
from ..detectors.detector import finding
from ..signatures.signature import CHECK
from ..texts import Text

CODES = declare(
    "scan", ("learns-without-advantages", CHECK, "an agent in an environment, of which no policy gradient is logged")
)
LEAST = 20
"""Rewards from which on something learns by them."""
ACTS = bounded(
    r"(?i)(?:^|[^a-z])(?:epsilon|eps|episodes?|ep_(?:len|rew)\w{0,12}|episode_\w{1,20}|q_?(?:table|values?|max|mean)?\w{0,8}"
    r"|td_?(?:error|loss)|bellman\w{0,10}|(?:replay_?)?buffer(?:_?size)?|replay|mcts|self_?play|env_?steps|avg_steps)(?:[^a-z]|$)"
    r"|ε|回合|探索率|q\s?值|时序差分"
)
"""What an agent logs that explores, keeps what it saw, or looks up values."""
EPISODE = bounded(r"(?i)(?:^|[^a-z])episodes?\W{0,4}\d|第\s?\d+\s?回合|回合\W{0,3}\d")
WON = bounded(r"(?i)(?:^|[^a-z])win_?rate(?:[^a-z]|$)|胜率")
POLICY = frozenset(("kl", "ppo_kl", "clip_fraction", "entropy", "response_length", "frac_reward_zero_std"))
"""Metrics of a policy gradient, or of a model that writes."""
WRITES = bounded(
    r"(?i)advantage|(?:^|[^a-z])(?:tokens?|completions?|responses?|prompts?|rollouts?|generations?|answers?|actor|grpo|ppo"
    r"|a2c|reinforce|rlhf|objective|policy_entropy|approx_kl)(?:[^a-z]|$)|优势"
)


def agents(table: SeriesTable, texts: Mapping[str, Text], columns: Iterable[str] = ()) -> Iterator[Finding]:
    """One note where the rewards are those of such an agent; `columns` are the names in the tables of the run."""
    rewards = table.all("reward") or [s for s in table if WON.search(s.key)]
    keys = {s.key for s in table} | {*columns}
    if sum(map(len, rewards)) < LEAST or POLICY & set(table.metrics()) or any(WRITES.search(key) for key in keys):
        return
    one = max(rewards, key=len)
    acts = sorted(key for key in keys if ACTS.search(key))
    if not acts and not _counts_episodes(texts.get(one.file)):
        return
    by, zh_by = (", ".join(acts[:3]), "、".join(acts[:3])) if acts else ("its episodes are counted", "按回合计数")
    en = (
        f"{one.key} is that of an agent in an environment ({by}), and nothing of a policy gradient is logged: what is "
        "said of advantages, groups of answers or a reference model does not apply."
    )
    zh = f"{one.key} 是环境中智能体的奖励（{zh_by}），没有记录任何策略梯度的量："
    zh += "关于优势、同组回答或参考模型的说法都不适用。"
    yield finding("learns-without-advantages", Severity.S3, [(one, 0)], en, zh, by=acts)


def _counts_episodes(text: Text | None) -> bool:
    return text is not None and sum(bool(EPISODE.search(line)) for _, line in [*text.head][:60]) >= 3
