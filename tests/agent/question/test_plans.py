"""What a message plans: variable, direction and value; and what is no plan."""

import pytest

from triage.agent.question.understand import understand


@pytest.mark.parametrize(
    ("text", "planned"),
    [
        ("I'm going to double the LR, ok?", {"learning_rate": "raise"}),
        ("bump num_workers to 16 and pin memory", {"num_workers": "raise", "pin_memory": "enable"}),
        ("set max_grad_norm=0.5 and warmup_steps=2000", {"grad_clip": "set", "warmup_steps": "set"}),
        (
            "temperature up to 1.2 and drop the KL term, good plan?",
            {"rollout_temperature": "raise", "kl_coef": "disable"},
        ),
        ("plateaued, the lr is too low. bump it to 6e-4?", {"learning_rate": "raise"}),
        ("let's filter that batch out", {"data": "remove"}),
        ("ill halve the batch and double grad accum", {"global_batch_size": "lower", "grad_accumulation": "raise"}),
        ("why not gradient clipping at 1.0", {"grad_clip": "set"}),
        ("resume from 12k with a lower lr?", {"checkpoint": "do", "learning_rate": "lower"}),
        ("should the lr be 3e-5 instead", {"learning_rate": "set"}),
        ("change the lr from 1e-4 to 5e-5?", {"learning_rate": "lower"}),
        ("how do i turn on clipping in torchtune? I want it at 1.0", {"grad_clip": "set"}),
        ("going to set my_own_option to 3", {"my_own_option": "set"}),
        ("把预热加到五百步，可以吗", {"warmup_steps": "raise"}),
        ("我打算把学习率减半再从4万步接着训", {"learning_rate": "lower", "checkpoint": "do"}),
        ("先关掉 packing 看看", {"packing": "disable"}),
        (
            "我想把学习率、预热、批大小一起调低",
            {v: "lower" for v in ("learning_rate", "warmup_steps", "global_batch_size")},
        ),
        ("权重衰减太大了吧，去掉算了", {"weight_decay": "disable"}),
        ("重启一下就好了吧", {"run": "do"}),
    ],
)
def test_a_plan_is_read(text, planned):
    assert {p.variable: p.direction for p in understand(text).plans} == planned


@pytest.mark.parametrize(
    "text",
    [
        "I already halved the learning rate and it still diverges",
        "which checkpoint should I ship",
        "ok, which of these ckpts should we deploy?",
        "what step should I roll back to?",
        "哪个检查点可以发布？",
        "该上线哪个 checkpoint",
        "Don't touch the LR. I'm not going to touch the LR.",
        "it spiked right on resume",
        "reward goes up and up",
        "whoever bumped vllm from 0.6 to 0.8 broke this",
        "ruled out hardware, dcgm is clean on all 8 nodes",
        "with tp=1 the outputs are sane, with tp=4 it's word salad",
        "学习率我早就减半了，没用",
        "跟精度无关",
        "模型停不下来",
        "一恢复训练损失就跳",
    ],
)
def test_what_was_done_denied_or_seen_is_no_plan(text):
    assert understand(text).plans == ()


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("I'd like to try the lora rank at 8, currently 4", ("lora_rank", "raise")),
        ("lowering util from .9 to .4", ("gpu_memory_utilization", "lower")),
        ("rerun with the batch size halved", ("global_batch_size", "lower")),
        ("any reason not to raise warmup?", ("warmup_steps", "raise")),
        ("turning checkpointing on tonight", ("activation_checkpointing", "enable")),
        ("packing=true next run", ("packing", "enable")),
        ("学习率 8 改 4", ("learning_rate", "lower")),
        ("加 warmup 有用吗", ("warmup_steps", "raise")),
    ],
)
def test_where_a_setting_goes_is_read_from_what_stands_around_it(text, plan):
    assert plan in [(p.variable, p.direction) for p in understand(text).plans]


@pytest.mark.parametrize(
    "text",
    [
        "half the corpus was dupes, minhash says so",
        "tokens/sec fell with no code change",
        "升级 lm-eval 之后分就不对了",
        "读数据跟不上，数据在 ceph 上",
        "到半夜进程就被杀",
    ],
)
def test_what_was_or_happened_is_no_plan(text):
    assert understand(text).plans == ()


@pytest.mark.parametrize(
    ("text", "planned"),
    [
        ("clip is at 1.0 and fires on every step. going to loosen it to 5?", {"grad_clip": "raise"}),
        (
            "someone left clipping off in the config so weights broke. turning it on at 1.0",
            {"grad_clip": "enable"},
        ),
        ("decay is 0.5 in this yaml. dropping it to 0.1", {"weight_decay": "lower"}),
        ("can I take the nccl timeout from 30 min up to 2h", {"nccl_timeout": "raise"}),
        ("we stop at 512 new tokens right now, want 2048", {"max_response_length": "raise"}),
        ("weight decay 谁设的 0.5？改回 0.1", {"weight_decay": "lower"}),
        ("freeze_llm=True 之后 loss 一动不动", {}),
        ("could be the judge, could be the policy. i go back and forth", {}),
        ("whether or not I smell test questions in there", {}),
    ],
)
def test_it_is_the_setting_spoken_of_and_its_value_is_compared(text, planned):
    assert {p.variable: p.direction for p in understand(text).plans} == planned
