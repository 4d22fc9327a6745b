"""Causes that no table names are suspected, denied and doubted by the entries they mean; what was only seen is not."""

import re

import pytest

from triage.agent.question import blamed
from triage.agent.question.understand import understand
from triage.agent.session import index


def suspected(text):
    books = index(None)
    return understand(text, books.corrected, books.search).suspicions


@pytest.mark.parametrize(
    ("text", "entry", "polarity"),
    [
        ("GPUs idle between steps, i think the loader cant keep up", "dataloader-bottleneck", "suspects"),
        (
            "MMLU fell by 14 after the medical SFT, it simply forgot the old stuff",
            "catastrophic-forgetting",
            "suspects",
        ),
        ("我觉得是偏好对太像了，模型分不出来", "preference-gap-too-small", "suspects"),
        ("感觉策略已经塌成一个答案了吧", "entropy-collapse", "suspects"),
        ("the loader is innocent: forget the dataloader, it sits idle and waits", "dataloader-bottleneck", "denies"),
        ("host ram grows all night, my bet is the collator leaks", "memory-leak", "suspects"),
        ("a colleague says someone called all_gather on the main process only", "collective-mismatch", "suspects"),
    ],
)
def test_any_entry_of_the_runbook_can_be_suspected(text, entry, polarity):
    found = [s for s in suspected(text) if s.topic.id == entry or re.fullmatch(s.topic.entries, entry)]
    assert [s.polarity for s in found] == [polarity]


@pytest.mark.parametrize(
    "text",
    [
        "loss 2.3 一直横着，3000 步了",
        "GPU util sawtooth 0 to 100 every few seconds",
        "entropy at 0.02 and every group is identical",
        "val loss rises since epoch 2 while train keeps falling",
        "host ram +2GB per hour until the job is killed at 3am",
        "训练速度比上周慢了三成，从哪查起",
        "thanks, that was it",
        "how many tokens did we see at iteration 48200",
        "gonna turn packing off for the next run",
        "the weather is nice",
        "the fine-tuned model is not better than the base, why?",
        "the reward model is not better than chance",
        "KL is not going down",
        "the retrieval head isn't getting any better since the restart",
        "",
    ],
)
def test_what_was_seen_or_asked_or_planned_is_no_suspicion(text):
    assert suspected(text) == ()


def test_a_topic_that_is_named_is_not_said_again_by_an_entry():
    assert [s.topic.id for s in suspected("I think the learning rate is too high")] == ["learning-rate"]


def test_without_a_runbook_to_search_no_entry_is_suspected():
    assert understand("i think the loader cant keep up").suspicions == () or all(
        s.topic.id == "dataloader" for s in understand("i think the loader cant keep up").suspicions
    )


@pytest.mark.parametrize(
    ("text", "entry", "polarity"),
    [
        ("peak is 3e-3 on a 30B. pretty sure we're just stepping too hard", "loss-nan-high-lr", "suspects"),
        ("显存一直涨，感觉是哪里泄漏了", "memory-leak", "suspects"),
        ("support says our torch was built for another cuda. true?", "cuda-version-mismatch", "suspects"),
        ("Ravi says someone put a barrier inside if rank == 0. I don't buy it.", "collective-mismatch", "doubts"),
        ("I think flash attention simply isn't being picked up", "kernel-not-optimized", "suspects"),
    ],
)
def test_a_cause_is_found_by_how_people_name_it(text, entry, polarity):
    found = [s for s in suspected(text) if s.topic.id == entry or re.fullmatch(s.topic.entries, entry)]
    assert [s.polarity for s in found] == [polarity]


def test_what_a_clause_clearly_means_stands_for_a_name_that_it_only_holds():
    assert "contamination" not in {s.topic.id for s in suspected("显存一直涨，感觉是哪里泄漏了")}


def test_every_phrase_belongs_to_an_entry_and_finds_it():
    known = blamed.phrases()
    assert set(known.entries) <= set(index(None).runbook.entries)
    rows = [line.split(": ", 1) for line in blamed.FILE.read_text().splitlines() if not line.startswith("#")]
    said = [(id, phrase) for id, phrases in rows for phrase in phrases.split(" | ")][::25]
    right = sum(next(iter(blamed.ranked(p, p, p, index(None).search).scores)) == id for id, p in said)
    assert right >= 0.95 * len(said)


@pytest.mark.parametrize(
    "asked",
    [
        "Did the LoRA training work?",
        "Why did the 8-GPU job die with an NCCL timeout?",
        "Did the model server answer everything?",
        "Anything wrong in this LoRA run?",
        "Are these benchmark scores of the chat model sensible?",
        "推理服务日志里有异常吗？",
        "第二轮 QLoRA 微调之后评测结果怎么样，可以用了吗？",
    ],
)
def test_an_open_question_names_what_was_run_and_blames_nothing(asked):
    books = index(None)
    question = understand(asked, books.corrected, books.search)
    assert (question.suspicions, question.plans) == ((), ())


@pytest.mark.parametrize(
    "asked",
    ["Why did it hang? Is it the network?", "Is the tokenizer to blame?", "是不是网络的问题？", "学习率有问题吗？"],
)
def test_a_question_that_names_a_cause_still_suspects_it(asked):
    assert suspected(asked)


@pytest.mark.parametrize(
    ("text", "topic", "polarity"),
    [
        ("nothing wrong with the loader, it never waits. GPUs are idle", "dataloader", "denies"),
        ("数据加载我看过了，一点不慢，GPU 还是闲着", "dataloader", "denies"),
        ("pretty sure the reference policy never moved, so i doubt the KL story", "kl-coefficient", "doubts"),
        ("群里有人说是奖励被钻了空子，我不太信，回答长度没变", "reward-model", "doubts"),
    ],
)
def test_what_is_said_of_a_cause_is_read_from_the_clause_whatever_it_is_called(text, topic, polarity):
    assert (topic, polarity) in [(s.topic.id, s.polarity) for s in suspected(text)]


@pytest.mark.parametrize(
    "text",
    [
        "step 4100, loss 2.31, grad norm 0.8, rank 3 logs attached",
        "训练到 4100 步，rank 3 的日志在附件里，学习率 1e-5",
        "we log rank 0 only. I'd cut the learning rate to a third and watch the loss for a day, then decide",
    ],
)
def test_a_name_in_a_clause_that_says_no_opinion_is_none(text):
    assert suspected(text) == ()


def test_a_name_that_is_far_from_what_the_clause_means_is_not_meant():
    found = suspected("six of the ranks wait in all_gather, rank 12 never got there i guess, one of them skipped it")
    assert found
    assert "lora" not in [s.topic.id for s in found]
