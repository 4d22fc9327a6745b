"""Rules on how text is sampled, in generation and in rollouts."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule
from .training import in_rl


@rule("sampling-contradicts", "S2")
def sampling_contradicts(settings: Settings) -> Iterator[Fault]:
    """Random sampling is asked for at temperature 0.

    Why: Transformers refuses to generate and vLLM refuses several samples of one prompt; where it runs, the samples
        are identical, and a group of identical answers has no advantage.
    Bad: `{"do_sample": true, "temperature": 0}` in `generation_config.json`; GRPO with `num_generations: 8`,
        `temperature: 0` and `max_completion_length: 512` in `grpo.yaml` (S1).
    Good: `{"do_sample": false, "temperature": 0}` in `generation_config.json`; a temperature above 0, in RL 0.6 to 1.0,
        `num_generations: 8`, `temperature: 0.9` and `max_completion_length: 512` in `grpo.yaml`.
    Known gaps: parameters of single requests are not visible.
    Source: the temperature checks of Transformers and vLLM; runbook entry `sampling-params-wrong`.
    """
    if settings.value("sampling") is True and settings.value("sampling_temperature") == 0:
        yield Fault(
            "sampling_temperature",
            "do_sample is on at temperature 0: generation fails or is greedy after all",
            "do_sample 开启但 temperature 为 0：生成报错，或实际为贪心解码",
            "S2",
            beside=("sampling",),
        )
    group = settings.value("num_generations") or 1
    if in_rl(settings) and group > 1 and settings.value("rollout_temperature") == 0:
        yield Fault(
            "rollout_temperature",
            f"{group} rollouts per prompt at temperature 0: they are identical, or the engine refuses",
            f"每个 prompt 采样 {group} 条但 temperature 为 0：结果完全相同，或引擎报错",
            "S1",
            "1.0",
            ("num_generations",),
        )


EXTREME_PENALTY = 1.5
"""Repetition penalty that no model is known to need."""


@rule("repetition-penalty-extreme", "S2", needs=("repetition_penalty",))
def repetition_penalty_extreme(settings: Settings) -> Iterator[Fault]:
    """The repetition penalty is so strong that each token that has occurred becomes improbable, or rewards repetition.

    Why: it also acts on the end token and on words that a sentence needs, so that texts derail or do not end; below 1
        it makes what has occurred likelier, so that texts go round in circles.
    Bad: `{"model": "m", "messages": [{"role": "user", "content": "hi"}], "repetition_penalty": 1.9}` in `request.json`;
        `{"do_sample": true, "repetition_penalty": 1.5}` in `generation_config.json`;
        `{"do_sample": true, "repetition_penalty": 0.8}` in `generation_config.json`.
    Good: 1.0 (off) to 1.2, `{"do_sample": true, "repetition_penalty": 1.2}` in `generation_config.json`.
    Known gaps: parameters that only the program sets are not visible; from 1.2 to 1.5 it depends on the model.
    Source: Keskar et al. 2019 (CTRL) found 1.2 a good balance; the limit of 1.5 is our own judgement.
    """
    penalty = settings.value("repetition_penalty")
    if isinstance(penalty, (int, float)) and penalty >= EXTREME_PENALTY:
        yield Fault(
            "repetition_penalty",
            f"repetition_penalty {penalty:g}: end tokens and needed words are suppressed, outputs derail or do not end",
            f"repetition_penalty 为 {penalty:g}：结束符和必要的词也被压制，输出会跑偏或停不下来",
            fix="1.0",
        )
    elif isinstance(penalty, (int, float)) and 0 < penalty < 1:
        yield Fault(
            "repetition_penalty",
            f"repetition_penalty {penalty:g} is below 1: what has occurred becomes likelier, outputs repeat themselves",
            f"repetition_penalty 为 {penalty:g}，小于 1：出现过的词更容易再出现，输出会自我重复",
            fix="1.0",
        )
