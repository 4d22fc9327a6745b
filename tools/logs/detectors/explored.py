"""Detectors for reinforcement learning of values in an environment: a game, a recommender, a control task.

It learns what actions are worth and acts at random in a share epsilon of them. There is no model of rewards and no
reference that a penalty would hold it near, so what is known of language models trained by rewards is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding
from ...patterns import bounded
from ...series import Series
from .detector import S2, S3, Track, detector, finding, where, where_zh
from .robust import finite

EPSILON = bounded(r"(?i)(?:^|[/_. ])(?:epsilon|eps(?:_?greedy)?|exploration[_ ]?(?:rate|prob\w*)?|ε|探索率)$")
NO_ACTIONS = bounded(r"(?i)adam|optim|norm|clip|layer|rms|privacy|target|smooth")
"""Epsilons of an optimizer, a norm, a clipped ratio and a budget of privacy."""
VALUES = bounded(
    r"(?i)(?:^|[/_. ])(?:(?:mean_|avg_|max_)?q[_ -]?(?:loss|values?|mean|max)|td[_ -]?(?:error|loss)|bellman\w{0,10}"
    r"|(?:replay|memory)[_ -]?(?:buffer)?[_ -]?(?:size|len\w*))$|^(?:平均)?q\s?值$|时序差分"
)
POLICY = frozenset({"kl", "ppo_kl", "response_length", "clip_fraction"})
"""What is logged of a policy of a language model."""
LEAST, RANDOM = 40, 0.9
"""Values of epsilon, and share of random actions at the end that shows that it hardly fell. Own judgement."""


@detector("values-learned", "the values of actions in an environment are learned: no reward model, no KL", ["reward"])
def values_learned(track: Track) -> Iterator[Finding]:
    """S3, a note: epsilon or a loss of action values is logged beside the reward, and nothing of a policy."""
    shown = _of_values(track)
    if shown is not None:
        en = f"{shown.key} is logged beside the reward: values of actions are learned, and no policy is held by a KL."
        zh = f"除奖励外还记录了 {shown.key}：学习的是动作价值，没有用 KL 约束的策略。"
        yield finding("values-learned", S3, [(shown, 0)], en, zh)


@detector("actions-stay-random", "nearly all actions are still random at the end of the log", ["reward"])
def actions_stay_random(track: Track) -> Iterator[Finding]:
    """S2: epsilon, a share, is above 0.9 from the first of forty values to the last."""
    shown = _of_values(track)
    if shown is None or not EPSILON.search(shown.key) or len(shown) < LEAST:
        return
    if RANDOM <= shown.values.min() <= shown.values.max() <= 1:
        first, last = float(shown.values[0]), float(shown.values[-1])
        en = (f"{shown.key} is {last:.4g} at {where(shown, -1)} and was {first:.4g} at the start: nearly every action "
              "is still drawn at random, so the reward shows chance and not what was learned.")  # fmt: skip
        zh = (f"{shown.key} 开始为 {first:.4g}，到{where_zh(shown, -1)}仍为 {last:.4g}：动作几乎都是随机选的，"
              "奖励反映的是随机性而不是学到的东西。")  # fmt: skip
        yield finding("actions-stay-random", S2, [(shown, -1), (shown, 0)], en, zh, last=last)


def _of_values(track: Track) -> Series | None:
    """The series that shows that values are learned, epsilon first."""
    if any(s.metric in POLICY for s in track.series):
        return None
    for pattern in (EPSILON, VALUES):
        for series in track.series:
            named = pattern.search(series.key) and not NO_ACTIONS.search(series.key)
            if named and len(points := finite(series)):
                return points
    return None
