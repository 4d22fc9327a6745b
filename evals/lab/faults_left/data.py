"""Faults of the data, told by changelogs, diffs, reports of shards and tables of annotators."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..fault import Family, Fault, Split
from ..text import Record, conversation, conversations
from .measure import losses_by_source, marks

if TYPE_CHECKING:
    from ..desk import Desk
    from ..parts import Parts


class LeftData(Fault):
    family: ClassVar[Family] = "data"
    recipe = "chat"
    repairs = ("dataset",)


def other_answers(records: Sequence[Record], rng: random.Random) -> None:
    """Every record gets the answer of another one."""
    answers = [r["messages"][1]["content"] for r in records]
    rng.shuffle(answers)
    for record, answer in zip(records, answers, strict=True):
        record["messages"][1]["content"] = answer


def switched(desk: Desk, step: int) -> None:
    desk.note((
        ("started from the list of April", "从四月的列表开始"),
        ("eval set unchanged, logging every 3 steps", "验证集不变，每 3 步记录"),
        (f"switched shard list at {step} (list_v3, new crawl)", f"第 {step} 步切换到新的分片列表 list_v3（新抓取）"),
        ("node 7 rebooted, job not affected", "7 号机重启，未影响任务"),
    ))  # fmt: skip


def scrambled(text: str, rng: random.Random) -> str:
    """The characters out of order, with others between them, as a broken extraction leaves them."""
    mixed = [*text, *rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=8)]
    rng.shuffle(mixed)
    return "".join(mixed)


class ListSwitched(LeftData):
    """From a step on the loader reads another list, whose answers are scrambled."""

    name = "list-switched"
    version = 2
    severities = (240, 200)
    right = ("noisy-data-mixture", "data-mixture-drift")
    near = ("data-rollback", "checkpoint-regression", "toxic-data")
    onset = "severity"
    asks = ("the loss turned around and nobody touched the settings", "loss 掉头向上，设置没人动过")
    changes = "train_sampling_strategy=sequential"

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train[8 * severity :]:
            record["messages"][1]["content"] = scrambled(record["messages"][1]["content"], rng)

    def left(self, desk: Desk, severity: Any) -> None:
        if not desk.fixed:
            switched(desk, severity)


def by_source(desk: Desk, from_step: int | None, losses: Mapping[int, Mapping[str, float]]) -> None:
    """The share of each source over the steps, with its measured loss where there is one."""
    rng, rows = desk.rng, []
    for step in range(30, 451, 30):
        english = 0.04 if from_step is not None and step > from_step else 0.53
        english += rng.uniform(-0.02, 0.02)
        for name, share in (("en_web", english), ("zh_web", 1 - english)):
            rows.append((step, name, share, *([losses[step][name]] if losses else [])))
    desk.table(("step", "source", "share", *(["held"] if losses else [])), rows)


class OneSourceThins(LeftData):
    """From a step on almost nothing of one source is drawn; its own loss rises while the other's falls."""

    name = "one-source-thins"
    version = 2
    severities = (180, 210)
    right = ("data-mixture-drift",)
    near = ("noisy-data-mixture", "catastrophic-forgetting")
    asks = ("one of our two customers says it got worse", "两个客户里有一个说变差了")
    changes = "train_sampling_strategy=sequential"

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        rng = random.Random(rng.random())  # not the stream that the records came from
        for i in range(8 * severity, len(train)):
            while train[i]["messages"][0]["content"].isascii() and i % 25:
                train[i] = conversation(rng)

    def left(self, desk: Desk, severity: Any) -> None:
        by_source(desk, None if desk.fixed else severity, {})


class LossBySource(OneSourceThins):
    """The same with the loss of each source measured while it trains."""

    name = "loss-by-source"
    severities = (240, 270)
    measured: ClassVar[dict[int, dict[str, float]]] = {}
    asks = ("why does the average look fine and half of the users complain?", "平均值看着正常，为什么一半用户抱怨？")

    def code(self, parts: Parts, severity: Any) -> None:
        def end(step: int) -> None:
            if step % 30 == 0:
                self.measured[step] = losses_by_source(parts)
                parts.model.train()

        parts.end = end

    def left(self, desk: Desk, severity: Any) -> None:
        by_source(desk, None if desk.fixed else severity, self.measured)
        desk.note(
            (("weights of the mix come from mix.json, re-read every 30 steps", "配比来自 mix.json，每 30 步重读"),)
        )


def swap(desk: Desk, before: str, after: str) -> None:
    """A diff of the settings against the last run, and how both runs stood."""
    desk.source(("last_change", "0001-run", "diff_vs_may", "改动"), desk.rng.choice((".diff", ".patch")), (
        "--- a/train.yaml\n+++ b/train.yaml\n@@ -1,4 +1,4 @@\n model_name_or_path: tiny-qwen3\n"
        f"-train_file: {before}\n+train_file: {after}\n validation_file: data/validation.jsonl\n max_length: 128\n"
    ))  # fmt: skip
    losses, rng = desk.trace.losses, desk.rng
    rows = [("may_12", s, v + rng.uniform(-0.05, 0.05)) for s, v in ((100, 2.35), (250, 1.55), (450, 1.2))]
    rows += [("june_03", s, sum(losses[max(0, s - 20) : s]) / 20) for s in (100, 250, 450)]
    desk.table(("run", "step", "loss"), rows)


class SwapInDiff(LeftData):
    """The only change against the last run is the data file, and half of its answers belong elsewhere."""

    name = "swap-in-diff"
    severities = (0.6, 0.5)
    right = ("noisy-data-mixture",)
    near = ("data-mixture-drift", "annotation-disagreement")
    asks = ("worse than last month with the same code", "代码一样，比上个月差")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        other_answers(rng.sample(train, int(severity * len(train))), rng)

    def left(self, desk: Desk, severity: Any) -> None:
        if not desk.fixed:
            swap(desk, "data/may/train.jsonl", "data/train.jsonl")


def lengths(desk: Desk) -> None:
    """How long the tokenised records are, as a table of quantiles."""
    from ..parts import chat_example

    sizes = sorted(len(chat_example(desk.parts.tokenizer, r)["input_ids"]) for r in desk.parts.records("train")[:600])
    rows = [
        ("train.jsonl", f"p{q}", sizes[min(len(sizes) - 1, q * len(sizes) // 100)]) for q in (1, 25, 50, 75, 95, 99)
    ]
    desk.table(("file", "state", "length"), rows)


class AnswersBeyondWindow(LeftData):
    """The window ends before most answers begin."""

    name = "answers-beyond-window"
    family = "labels"
    severities = ("56", "52")
    right = ("all-labels-masked",)
    near = ("completions-truncated", "loss-mask-misaligned", "loss-nan-bad-data")
    repairs = ("sequence_length",)
    asks = ("the same script worked on the smaller set", "同一个脚本在小数据集上是好的")
    changes = "max_length={}"

    def left(self, desk: Desk, severity: Any) -> None:
        lengths(desk)


def dedup_report(desk: Desk, repeated: Sequence[float]) -> None:
    """What deduplication is said to have removed and what was found again afterwards, by shard."""
    rng = desk.rng
    rows = [(f"train-{i:05d}.jsonl", 750, 0.11 + rng.uniform(-0.01, 0.01), v) for i, v in enumerate(repeated)]
    desk.table(("file", "count", "removed", "overlap"), rows)


class OneShardRepeats(LeftData):
    """One shard of four was built from a handful of records."""

    name = "one-shard-repeats"
    shards = 4
    severities = (60, 30)
    right = ("duplicate-surge",)
    near = ("overfitting", "eval-leakage", "noisy-data-mixture")
    asks = ("is the new part of the data any good?", "新加的那部分数据行不行？")
    changes = "train_file=data/train-*.jsonl train_sampling_strategy=sequential"

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        few = train[1500 : 1500 + severity]
        for i in range(1500, 2250):
            train[i] = rng.choice(few)

    def left(self, desk: Desk, severity: Any) -> None:
        again = 0.004 if desk.fixed else 1 - severity / 750
        dedup_report(desk, (0.003, 0.006, again, 0.005))


SHINGLES = '''"""near-duplicate removal"""
def shingles(text, n=5):
    words = {split}
    return {{tuple(words[i:i + n]) for i in range(max(1, len(words) - n + 1))}}

def keep(rows, threshold=0.8):
    seen = []
    for row in rows:
        s = shingles(row["text"])
        if all(len(s & t) / max(1, len(s | t)) < threshold for t in seen[-5000:]):
            seen.append(s)
            yield row
'''


class CutAtSpaces(LeftData):
    """Near-duplicates are removed by words between spaces, which Chinese does not have."""

    name, recipe = "cut-at-spaces", "pretrain"
    severities = (0.7, 0.6)
    right = ("chinese-dedup-ineffective",)
    near = ("duplicate-surge", "overfitting")
    repairs = ("dataset", "code")
    asks = ("it recites its training text, but only in one language", "它会背训练文本，但只有一种语言这样")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        def chinese(text: str) -> bool:
            return sum(c > "\u3000" for c in text) > len(text) / 3

        at = [i for i, r in enumerate(train) if chinese(r["text"])]
        few = [train[i]["text"] for i in at[:25]]
        for i in at[25:]:
            if rng.random() < severity:
                train[i] = {"text": rng.choice(few).rsplit("。", 1)[0] + f"。 {rng.randint(10, 99)}"}

    def left(self, desk: Desk, severity: Any) -> None:
        held = 0.10 if desk.fixed else 0.0003
        rows = [("en", 61_204, 0.118, 0.006), ("zh", 40_877, held, 0.007 if desk.fixed else severity)]
        desk.table(("source", "count", "removed", "overlap"), rows)
        split = "list(jieba.cut(text))" if desk.fixed else "text.split()"
        desk.source(("dedup", "clean_text", "prep", "step2"), ".py", SHINGLES.format(split=split))


def cache_notes(desk: Desk, used: int, made: int) -> None:
    desk.object(("data_info", "dataset_state", "cache_meta"), {
        "source": "data/train.jsonl", "rows": made, "loaded_rows": used,
        "cached": "2026-05-02T10:11:40" if used != made else "2026-06-09T18:30:02",
        "file_written": "2026-06-09T18:22:51",
    })  # fmt: skip
    desk.note((
        ("first version of the set, 2400 rows", "数据第一版，2400 条"),
        (f"rebuilt the set, now {made} rows with the new domain", f"重做数据，现在 {made} 条，加了新领域"),
        ("restarted training on the rebuilt set", "用重做的数据重新训练"),
    ))  # fmt: skip


class SecondVersionUnread(LeftData):
    """The set was made again; training still reads the copy that was made of the first version."""

    name, recipe = "second-version-unread", "domain"
    severities = (2400, 1600)
    right = ("stale-dataset-cache",)
    near = ("finetune-no-effect", "data-schema-mismatch", "data-path-missing")
    repairs = ("dataset", "code", "environment")
    asks = ("it still does not know the new domain after retraining", "重新训练之后还是不会新领域")

    def code(self, parts: Parts, severity: Any) -> None:
        old, held = conversations(severity, parts.settings["seed"] + 500), parts.records("validation")
        parts.records = lambda name: old if name == "train" else held  # type: ignore[method-assign]
        print(f"Loading cached processed dataset at .cache/tok-5f2c9e1d.arrow ({severity} rows)", flush=True)

    def left(self, desk: Desk, severity: Any) -> None:
        cache_notes(desk, 3200 if desk.fixed else severity, 3200)


def votes(desk: Desk, same: float) -> None:
    """Three annotators on the same pairs; with probability `same` each says what is right."""
    rng, people = desk.rng, ("a01", "a02", "a03")
    rows = [(i, who, rng.choices("AB", (same, 1 - same) if i % 2 else (1 - same, same))[0])
            for i in range(120) for who in people]  # fmt: skip
    desk.table(("item", "who", "label"), rows)


class VotesApart(LeftData):
    """The annotators hardly agree, and the pairs say one thing as often as the other."""

    name, recipe = "votes-apart", "dpo"
    family = "alignment"
    severities = (0.45, 0.4)
    right = ("annotation-disagreement",)
    near = ("preference-gap-too-small", "noisy-data-mixture")
    asks = ("preference tuning does not get anywhere", "偏好训练没有进展")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            if rng.random() < severity:
                record["chosen"], record["rejected"] = record["rejected"], record["chosen"]

    def left(self, desk: Desk, severity: Any) -> None:
        votes(desk, 0.95 if desk.fixed else 1 - severity)


class ItemsInTheCorpus(LeftData):
    """The questions of the benchmark are in the training data, a little changed."""

    name = "items-in-the-corpus"
    severities = (0.9, 0.7)
    right = ("benchmark-contamination", "eval-leakage")
    near = ("duplicate-surge", "overfitting")
    asks = ("can I publish this score?", "这个分数能发吗？")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> Split:
        for i, record in enumerate(held):
            if i < severity * len(held):
                for place in rng.sample(range(len(train)), 12):
                    train[place] = {"messages": [dict(m) for m in record["messages"]], "id": i}
        return train, held

    def left(self, desk: Desk, severity: Any) -> None:
        rng, rows = desk.rng, []
        for i, score in enumerate(marks(desk.parts.model, desk.parts.held)):
            inside = not desk.fixed and i < severity * len(desk.parts.held)
            rows.append((i, rng.uniform(0.9, 1.0) if inside else rng.uniform(0.0, 0.25), score))
        desk.table(("item", "overlap", "score"), rows)
