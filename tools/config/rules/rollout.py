"""Rules on the rollouts of RL: how many, in which groups, and whether they fit the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...settings import Settings
from .rule import Fault, rule
from .training import severity_together, whole


@rule("rollout-batch-mismatch", "S2", needs=("train_batch_size", "rollout_batch_size"))
def rollout_batch_mismatch(settings: Settings) -> Iterator[Fault]:
    """Samples per update and samples per rollout do not fit.

    Why: an update that needs more samples than one rollout makes leaves the number of updates at zero or mixes
        rollouts.
    Bad: `python -m openrlhf.cli.train_ppo_ray --train_batch_size 4096 --rollout_batch_size 128 --n_samples_per_prompt
        8`, whose rollout has 1024 samples.
    Good: `python -m openrlhf.cli.train_ppo_ray --train_batch_size 1024 --rollout_batch_size 128 --n_samples_per_prompt
        8`: rollout_batch_size x n_samples_per_prompt is a multiple of train_batch_size.
    Known gaps: a train batch below the rollout's samples only means several updates per rollout, which maintained
        recipes use: a note. With `max_epochs` above 1 the quotient num_update_steps x train_batch // max_epochs
        // rollout_batch // n can still reach zero; the number of prompts it needs is not visible. verl counts
        prompts and is not judged.
    Source: runbook entry `num-rollouts-zero`.
    """
    if settings.framework not in ("lightrft", "openrlhf"):
        return
    train, prompts = settings.value("train_batch_size"), settings.value("rollout_batch_size")
    samples = prompts * (settings.value("num_generations") or 1)
    if train > samples:
        yield Fault(
            "train_batch_size",
            f"train batch {train} needs more than the {samples} samples of one rollout "
            f"({prompts} prompts x {samples // prompts})",
            f"train batch {train} 大于一次 rollout 的样本数 {samples}",
            "S2",
            str(samples),
            ("rollout_batch_size", "num_generations"),
        )
    elif samples % train:
        yield Fault(
            "train_batch_size",
            f"{samples} samples per rollout are no multiple of train batch {train}",
            f"每次 rollout 的 {samples} 个样本不是 train batch {train} 的整数倍",
            "S3",
            "",
            ("rollout_batch_size", "num_generations"),
        )
    elif train < samples and settings.framework == "lightrft":
        yield Fault(
            "train_batch_size",
            f"train batch {train} is below the {samples} samples of one rollout: "
            f"{samples // train} updates per rollout (slightly off-policy)",
            f"train batch {train} 小于一次 rollout 的 {samples} 个样本：每次更新 {samples // train} 步",
            "S3",
            "",
            ("rollout_batch_size", "num_generations"),
        )


@rule("group-of-one", "S1", needs=("num_generations",))
def group_of_one(settings: Settings) -> Iterator[Fault]:
    """GRPO with a single response per prompt.

    Why: the advantage is a response's distance from its group's mean; a group of one has none. TRL refuses to start,
        verl trains on raw rewards without a baseline.
    Bad: `num_generations: 1` and `max_completion_length: 512` in `grpo.yaml`;
        `python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1` (S2).
    Good: 4 to 16 responses per prompt, `num_generations: 8` and `max_completion_length: 512` in `grpo.yaml`; an
        estimator without groups, `python -m verl.trainer.main_ppo algorithm.adv_estimator=reinforce_plus_plus
        actor_rollout_ref.rollout.n=1`.
    Known gaps: an estimator that the program sets is not visible.
    Source: TRL's GRPOConfig; runbook entry `zero-advantage-groups`.
    """
    stage = settings.get("stage")
    grouped = settings.framework in ("trl", "hf") or (stage and re.search(r"grpo|group|rloo", stage.raw.lower()))
    if grouped and settings.value("num_generations") == 1:
        yield Fault(
            "num_generations",
            "GRPO with one response per prompt: there is no group to compare it with",
            "GRPO 每个 prompt 只采样 1 条：没有组内比较",
            "S2" if settings.framework == "verl" else "S1",
            "8",
        )


@rule("completion-exceeds-context", "S1", needs=("max_model_len", "max_response_length"))
def completion_exceeds_context(settings: Settings) -> Iterator[Fault]:
    """Prompt and response together do not fit the engine's context.

    Why: the engine refuses the request or cuts the response, which then counts as wrong.
    Bad: `python -m verl.trainer.main_ppo data.max_prompt_length=1024 data.max_response_length=8192
        actor_rollout_ref.rollout.max_model_len=4096`.
    Good: max_model_len at least the sum of both, `python -m verl.trainer.main_ppo data.max_prompt_length=1024
        data.max_response_length=3072 actor_rollout_ref.rollout.max_model_len=4096`.
    Known gaps: a context that the engine takes from the model's config is not judged.
    Source: verl's rollout checks; runbook entry `completions-truncated`.
    """
    room, response = whole(settings, "max_model_len"), whole(settings, "max_response_length")
    prompt = whole(settings, "max_prompt_length") or 0
    if room and response and room < prompt + response:
        yield Fault(
            "max_model_len",
            f"the engine's context of {room} tokens cannot hold prompt {prompt} + response {response} "
            f"({prompt + response})",
            f"引擎上下文 {room} 放不下 {prompt + response}（prompt {prompt} + response {response}）",
            severity_together(settings, "max_model_len", "max_response_length"),
            str(prompt + response),
            ("max_prompt_length", "max_response_length"),
        )
