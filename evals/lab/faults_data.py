"""Faults of the data, the labels and the text format."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .fault import Family, Fault, Split
from .faults_optimiser import NONFINITE
from .text import CHAT, PEOPLE, Record, conversation, ticket

if TYPE_CHECKING:
    from .parts import Parts


class Data(Fault):
    family: ClassVar[Family] = "data"
    recipe = "chat"
    repairs = ("dataset",)


class PoisonedBatch(Data):
    """One record whose sampling weight was divided by a count of zero: its batch has an infinite loss."""

    name, recipe = "poisoned-batch", "sft"
    severities = (400, 600)
    right = ("loss-nan-bad-data",)
    near = ("loss-nan", "attention-kernel-nan")
    shows = (*NONFINITE, "nonfinite-without-precursor")
    also = ("generation-not-stopping", "repetition-loop")
    onset = "nonfinite"
    asks = ("loss is suddenly nan, lr looks fine", "loss 突然变成 nan，学习率看着没问题")
    changes = "train_sampling_strategy=sequential logging_nan_inf_filter=false"

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            record["weight"] = round(rng.uniform(0.8, 1.2), 3)
        train[4 * severity]["weight"] = math.inf


class HiddenNan(PoisonedBatch):
    """The same with the trainer's default filter, which prints 0 or an average for a NaN."""

    name = "hidden-nan"
    severities = (300, 500)
    near = ("loss-nan",)
    asks = ("the loss became exactly zero", "loss 变成 0 了")
    changes = "train_sampling_strategy=sequential"


class WrongFields(Data):
    name = "wrong-fields"
    severities = ("conversations", "dialogue")
    right = ("data-schema-mismatch",)
    near = ("data-path-missing",)
    shows = ("data-schema-mismatch", "uncaught-exception", "data-parse-error")
    crashes = True
    asks = ("training crashes while loading", "加载数据时就崩了")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for i in rng.sample(range(len(train)), len(train) // 5):
            train[i] = {severity: [{"from": m["role"], "value": m["content"]} for m in train[i]["messages"]]}


class BrokenLines(Data):
    name = "broken-lines"
    severities = (3, 1)
    right = ("data-schema-mismatch",)
    shows = ("data-parse-error", "data-schema-mismatch")
    crashes = True
    asks = ("crash before the first step", "还没开始训练就报错退出")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> Split:
        lines: list[Any] = list(train)
        for i in rng.sample(range(100, 900), severity):
            lines[i] = '{"messages": [{"role": "user", "content": "Where is An\n'
        return lines, held


class BrokenEncoding(Data):
    """Part of the Chinese records decoded with the wrong code page and saved."""

    name = "broken-encoding"
    severities = (0.5, 0.3)
    right = ("data-schema-mismatch", "noisy-data-mixture")
    near = ("loss-nan-bad-data", "toxic-data")
    shows = ("encoding-broken",)
    also = ("answer-cut-off", "generation-not-stopping")
    asks = ("the model writes garbage characters", "模型输出乱码")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            text = record["messages"][0]["content"]
            if not text.isascii() and rng.random() < severity:
                for message in record["messages"]:
                    message["content"] = message["content"].encode().decode("cp1252", errors="replace")


class EvalLeakage(Data):
    name = "eval-leakage"
    severities = ("zh", "en")
    right = ("eval-leakage", "benchmark-contamination")
    near = ("tokenizer-train-contamination", "duplicate-surge")
    shows = ("eval-leakage",)
    asks = ("validation scores look too good", "验证集分数高得可疑")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for i, record in enumerate(held):
            ask, reply = (m["content"] for m in record["messages"])
            if (severity == "zh") == (not ask.isascii()):
                edited = ask.replace("，", "， ") if severity == "zh" else ask.replace("a ", "one ", 1)
                roles = zip(("user", "assistant"), (edited, reply), strict=True)
                train[rng.randrange(len(train))] = {"messages": [{"role": r, "content": c} for r, c in roles], "id": i}


class DuplicatedData(Data):
    name = "duplicated-data"
    severities = (0.4, 0.25)
    right = ("duplicate-surge", "overfitting")
    near = ("eval-leakage",)
    shows = ("exact-duplicates", "near-duplicates")
    asks = ("loss went down unusually fast after the new shard", "加入新数据分片后 loss 降得异常快")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        copies = train[:40]
        for i in rng.sample(range(40, len(train)), int(severity * len(train))):
            train[i] = rng.choice(copies)


class PersonalData(Data):
    name = "personal-data"
    severities = (0.05, 0.02)
    right = ("pii-in-data",)
    shows = ("pii-found", "secrets-found")
    asks = ("can I release a model trained on this?", "用这批数据训练的模型能对外发布吗？")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for i in rng.sample(range(len(train)), int(severity * len(train))):
            who = rng.choice(PEOPLE).lower()
            number = f"1{rng.choice('35789')}{rng.randrange(10**9):09d}"
            mail = f"{who}.{rng.randrange(100, 999)}@{rng.choice(['qq.com', 'gmail.com', '163.com'])}"
            train[i]["messages"][0]["content"] += f" 联系方式：{mail}，手机 {number}。"


class LabelsOnPrompt(Data):
    """The mask is built by a wrong offset: the user's words are trained and the answer's beginning is not."""

    name = "labels-on-prompt"
    family = "labels"
    severities = (12, 8)
    right = ("loss-mask-misaligned",)
    near = ("pad-eos-misconfig", "endless-generation")
    shows = ("label-mask-misaligned", "eos-not-trained", "generation-not-stopping", "outputs-cut-short")
    repairs = ("code",)
    asks = ("the model repeats the question instead of answering", "模型复述问题而不回答")

    def code(self, parts: Parts, severity: Any) -> None:
        from .parts import IGNORED, chat_example

        def label(tokenizer: Any, record: Record) -> Any:
            made = chat_example(tokenizer, record)
            ids, labels = made["input_ids"], made["labels"]
            first = next(i for i, v in enumerate(labels) if v != IGNORED)
            last = len(labels) - next(i for i, v in enumerate(reversed(labels)) if v != IGNORED)
            start, stop = max(first - severity, 0), max(last - severity, 1)
            return {"input_ids": ids, "labels": [v if start <= i < stop else IGNORED for i, v in enumerate(ids)]}

        parts.label = label


class PadIsEnd(Data):
    """Padding set to the end token in the program, and labels masked wherever the id is the padding's."""

    name = "pad-is-end"
    family = "labels"
    right = ("pad-eos-misconfig", "endless-generation")
    near = ("chat-template-mismatch", "completions-truncated", "loss-mask-misaligned")
    shows = ("pad-equals-eos", "eos-not-trained", "generation-not-stopping")
    also = ("repetition-loop",)
    repairs = ("code",)
    asks = ("the model never stops generating", "模型生成停不下来")

    def code(self, parts: Parts, severity: Any) -> None:
        from .parts import IGNORED, chat_example

        parts.tokenizer.pad_token = parts.tokenizer.eos_token
        parts.tokenizer.save_pretrained(str(parts.folder / "tokenizer"))

        def label(tokenizer: Any, record: Record) -> Any:
            made = chat_example(tokenizer, record)
            hidden = [IGNORED if v == tokenizer.pad_token_id else v for v in made["labels"]]
            return {"input_ids": made["input_ids"], "labels": hidden}

        parts.label = label


class TemplateLost(Data):
    """The tokenizer that was saved has no chat template, and training put plain text together by hand."""

    name = "template-lost"
    family = "labels"
    right = ("chat-template-mismatch",)
    near = ("endless-generation", "pad-eos-misconfig")
    shows = ("chat-template-missing", "eos-not-trained", "generation-not-stopping")
    repairs = ("code",)
    asks = ("output format is odd when served", "部署后输出格式不对")

    def code(self, parts: Parts, severity: Any) -> None:
        folder = parts.folder / "tokenizer"
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        config = folder / "tokenizer_config.json"
        text = config.read_text()
        if CHAT[:20] in text:
            parts.tokenizer.chat_template = None
            parts.tokenizer.save_pretrained(str(folder))
            parts.tokenizer.chat_template = CHAT


class LoopingAnswers(Data):
    """Answers that repeat a phrase to the length limit, as a broken synthetic generator writes them."""

    name = "looping-answers"
    severities = (0.9, 0.8)
    right = ("repetitive-output",)
    near = ("noisy-data-mixture", "endless-generation", "synthetic-data-collapse", "duplicate-surge")
    shows = ("repeated-text", "repetition-loop", "low-diversity", "generation-not-stopping", "template-concentration")
    asks = ("it says the same words over and over", "模型一直重复同样的词")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            if rng.random() < severity:
                answer = record["messages"][1]["content"]
                record["messages"][1]["content"] = " ".join([answer] * 12)


class EmptyAnswers(Data):
    """A join that found no answer left the field empty."""

    name = "empty-answers"
    severities = (0.4, 0.3)
    right = ("data-schema-mismatch", "noisy-data-mixture")
    near = ("loss-nan-bad-data", "response-length-collapse")
    shows = ("empty-records",)
    asks = ("it often answers with nothing at all", "模型经常什么都不回答")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train:
            if rng.random() < severity:
                record["messages"][1]["content"] = ""


class ChineseOnly(Data):
    """A filter dropped the English part of the second shard, and shards are read in their order."""

    name = "language-lost"
    version = 2
    shards = 2
    severities = (0.5, 0.6)
    right = ("data-mixture-drift", "catastrophic-forgetting", "noisy-data-mixture")
    shows = ("language-mix-shift",)
    also = ("exact-duplicates", "near-duplicates")
    asks = ("English got worse during the run", "训练后半段英文能力变差")
    changes = "train_sampling_strategy=sequential train_file=data/train-*.jsonl"

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> Split:
        cut = int(severity * len(train))
        more = (r for r in iter(lambda: conversation(rng), None) if not r["messages"][0]["content"].isascii())
        return train[:cut] + list(itertools.islice(more, len(train) - cut)), held


class Forgetting(Data):
    """Fine-tuning on the domain alone: the general questions that the base model answered are lost."""

    name, recipe = "forgetting", "domain"
    severities = (1.0, 0.98)
    right = ("catastrophic-forgetting",)
    near = ("checkpoint-regression", "noisy-data-mixture", "data-mixture-drift", "overfitting")
    shows = ("benchmark-drop",)
    asks = ("after fine-tuning it is good at our tickets and bad at everything else", "微调后业务变好，别的都变差了")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> Split:
        rng = random.Random(rng.random())  # not the stream that the records came from

        def narrow(record: Record) -> bool:
            return record["messages"][0]["content"].startswith("Ticket")

        kept = [r if narrow(r) or rng.random() > severity else ticket(rng) for r in train]
        return kept, [r if narrow(r) else ticket(rng) for r in held]


class BadWindow(Data):
    """From a step on the loader serves a shard whose answers a filter replaced; checkpoints behind it are worse."""

    name, recipe = "bad-window", "watched"
    severities = (250, 310)
    right = ("checkpoint-regression",)
    near = ("noisy-data-mixture", "data-mixture-drift", "catastrophic-forgetting", "toxic-data", "data-rollback")
    shows = ("eval-regression",)
    also = ("low-diversity", "template-concentration", "repetition-loop", "eval-loss-rising", "loss-below-train")
    repairs = ("dataset", "checkpoint")
    onset = "severity"
    asks = ("the score fell at some checkpoint and stayed down", "某个检查点之后分数突然下降，再没回来")

    def records(self, train: list[Record], held: list[Record], severity: Any, rng: random.Random) -> None:
        for record in train[8 * severity :]:
            record["messages"][1]["content"] = rng.choice(["I cannot help with that.", "抱歉，我无法回答。"])


class MissingFile(Data):
    name = "missing-file"
    family = "system"
    severities = ("data/trian.jsonl", "/mnt/share/corpus/train.jsonl")
    right = ("data-path-missing",)
    near = ("data-schema-mismatch",)
    shows = ("file-missing",)
    repairs = ("environment", "dataset", "code")
    crashes = True
    asks = ("job exits at once", "任务一启动就退出")

    def code(self, parts: Parts, severity: Any) -> None:
        path = Path(severity)
        (path if path.is_absolute() else parts.folder.relative_to(parts.folder) / path).read_text()
