"""What each data file of a run is for: decided once, by all that is known of it, and asked by every check.

A folder of data alone is what a training will read. Beside programs, settings and logs a file has its part: trained on,
held out, answered by a model, the set before it was split, another form of a file that is read, or there for something
else. What repeats in it, who is named there and what two of them share is trouble of a training
only in what is trained on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

from ..answered import called_results, fields_of, is_answered, is_turn
from ..metrics import splits
from ..patterns import bounded
from ..run import Artifact, Run
from .answering import answer_the_same
from .records.blocks import blocks
from .records.record import Part
from .records.shapes import Shape
from .similar.versions import origins, parts_of_others

Role = Literal["trained", "origin", "part", "beside", "asked", "held-out", "answered", "tokens"]
"""`trained`: what a training reads, and what is taken for it where nothing says otherwise. `origin`: the set before it
was split. `part`: a part or another form of a file that is read too. `beside`: the training names other files. `asked`:
a run without a training reads it. `held-out`: an evaluation's. `answered`: a model said it. `tokens`: tokenised."""
EVAL_NAME = re.compile(
    rf"(?:^|[/_.\-])(?:{splits('(?:u?ation)?s?')}|bench(?:mark)?)\d{{0,5}}k?(?:[/_.\-]|$)|评测|测试|验证集|开发集",
    re.IGNORECASE,
)

EXCERPT = re.compile(
    r"(?:^|[_./-])(?:head|samples?|excerpts?|preview|examples?|cases?|groups?|rollouts?|dump|batch|first\d*"
    r"|probes?|repl(?:y|ies)|answers?|prompts?|calib(?:ration)?|peeks?|glance|snippets?|spot_?checks?)(?:[_.\-\d]|$)"
    r"|(?:^|/)(?:samples?|excerpts?|previews?|examples?|peeks?|snippets?|spot_?checks?)/"
    r"|样例|样本|抽样|抽查|示例|片段|探针|回复|校准", re.IGNORECASE
)  # fmt: skip
"""Names of what somebody cut out or wrote to look at or to calibrate with, on which nobody trains: how much of it
repeats says nothing of the data."""
COMPARED = bounded(
    r"(?i)(?:^|[/_.-])(?:comparisons?|compared?|side[_-]?by[_-]?side|sbs|versus|vs)(?:[/_.-]|$)|对比|并排"
)
"""Names of tables in which somebody sets answers side by side: nobody trains on them."""
DRAWN = bounded(
    r"(?i)(?:rand(?:om)?|shuf(?:fled?)?|head|first|top|take|pick(?:ed)?|drawn?|sub(?:set)?|随机|抽取?|前)[_.-]?(\d{2,6})(k?)(?![a-z\d])"
)
"""How many were drawn or cut, in a file's name; believed where it counts the file's own records."""
STORED = bounded(
    r"(?i)^(?:(?:src|source|orig(?:in)?)_?)?(?:shard|part(?:ition)?|file(?:_?name)?|path)s?(?:_?id)?$|^(?:分片|分区|文件名?)$"
)
"""Fields of where in a larger store a record stands."""
ANSWERED: tuple[Shape, ...] = ("rollout", "prompt-completion", "chat")
"""Records of something asked and its answer."""


NAMED = bounded(
    r"(?i)(?:^|[^a-z])(?:pre|re|un)?train(?!scr)|fine[_-]?tun|(?:^|[^a-z])(?:sft|dpo|grpo|ppo|orpo|kto|rlhf|q?lora|peft|corpus|corpora"
    r"|distill\w{0,5}|pairs|preferences?|adapters?|checkpoints?)(?:[^a-z]|$)|训练|微调|语料|预训练|偏好|蒸馏"
)
"""Names of what belongs to a training."""
SAID = bounded(
    r"\.backward\(|learning_rate|(?:^|\W)lr\s{0,3}[=:]|optimi[sz]er|Trainer\(|\.fit\(|LoraConfig|trainable|fine[_-]?tun"
    r"|loss[ _]?scale|grad(?:ient)?[ _]?norm|zero_optimization|(?:^|\W)loss\W{1,4}\d"
    r"|num_train|train_(?:batch|loader|data|set|df|steps)|(?:^|\W)(?:sft|dpo|grpo)(?:\W|$)|学习率|微调|训练(?:集|数据|步)",
    re.IGNORECASE,
)
"""What a program, a setting or a log of a training says."""
FILE = bounded(r"(?i)[\w-]\.(?:jsonl?|csv|tsv|parquet|arrow)\b")
"""A file of data in a text."""
KINDS = ("code", "script", "config", "log", "metrics", "checkpoint")
HEAD, MOST = 64 << 10, 60
"""Bytes of each, and files, that are looked at."""


@dataclass(frozen=True)
class Sampled:
    """The part of one artifact that is looked at."""

    artifact: Artifact
    parts: tuple[Part, ...]
    shape: Shape
    seen: int
    size: int
    first: Any = None
    """Its first record."""
    role: Role = "trained"

    @property
    def name(self) -> str:
        return self.artifact.name

    @property
    def named(self) -> tuple[str, Sequence[Part]]:
        return self.name, self.parts

    @property
    def stored(self) -> bool:
        """Whether its records say where in a larger store they stand."""
        return isinstance(self.first, Mapping) and any(isinstance(k, str) and STORED.search(k) for k in self.first)

    @property
    def cut(self) -> bool:
        """Whether somebody cut it out to look at: by its name, or because the name counts the records that it holds."""
        if EXCERPT.search(self.name):
            return True
        counts = {int(n) * (1000 if k else 1) for n, k in DRAWN.findall(PurePath(self.name).stem)}
        return bool(counts) and self.seen == self.size and self._records(max(counts)) in counts

    def _records(self, most: int) -> int:
        """Records of it, counted up to one more than so many."""
        each = (1 for part in self.parts for block in blocks(part) for _ in block.records)
        return sum(islice(each, most + 1))


def with_roles(samples: Sequence[Sampled], run: Run) -> list[Sampled]:
    """The samples, each with its role. What a file says of itself comes before what the other files say of it."""
    several = answer_the_same([s.named for s in samples if s.artifact.kind == "data" and s.shape in ANSWERED])
    own = {s.name: role for s in samples if (role := "answered" if s.name in several else _own(s))}
    left, held = ([s for s in samples if own.get(s.name) == role] for role in (None, "held-out"))
    if only_measured(run) or all(s.shape == "other" for s in samples):  # events and tables are no examples
        own |= dict.fromkeys([s.name for s in left], "asked")
    else:
        own |= _among(left, held, run)
    return [replace(s, role=own[s.name]) for s in samples]


def _own(sample: Sampled) -> Role | None:
    """What a file's kind, shape, name or first record says that it is for; None where they leave it open."""
    if sample.shape in ("tokens", "codes"):
        return "tokens"
    if sample.artifact.kind == "generations" or COMPARED.search(sample.name):
        return "answered"
    if EVAL_NAME.search(sample.name):
        return "held-out"
    answers = sample.shape in ANSWERED and called_results(sample.name)
    return "answered" if answers or is_turn(sample.first) or is_answered(fields_of(sample.first)) else None


def _among(left: Sequence[Sampled], held: Sequence[Sampled], run: Run) -> dict[str, Role]:
    """What a training does with each of the files that do not tell it themselves."""
    before = origins([s.named for s in left], [s.named for s in held], _called) if held else set[str]()
    used = trained_on(run, [s.name for s in left if s.name not in before])
    inside = parts_of_others([s.named for s in left if s.name in used and not s.cut])

    def role(name: str) -> Role:
        if name in before:
            return "origin"
        return "part" if name in inside else "trained" if name in used else "beside"

    return {s.name: role(s.name) for s in left}


def only_measured(run: Run) -> bool:
    """Whether the run has programs, settings or logs, and none of its files speaks of a training."""
    others = [a for a in run.artifacts if a.kind in KINDS]
    if not others or any(a.kind in ("metrics", "checkpoint") for a in others):
        return False
    if any(NAMED.search(a.name) for a in run.artifacts):
        return False
    return next(_speaking(run), None) is None


def trained_on(run: Run, names: Collection[str]) -> set[str]:
    """Those of some data files that are trained on: that their own names call so, or that a program, a setting or a
    log which speaks of a training names; where none does, those in a folder that is called so; all of them where
    nothing names a file of data at all.

    A raw original, a store that is searched and what an agent was shown lie beside a training, too.
    """
    texts = list(_speaking(run))
    if told := {n for n in names if _called(n) or any(PurePosixPath(n).name in text for text in texts)}:
        return told
    inside = {n for n in names if NAMED.search(n)}
    return inside if inside or any(map(FILE.search, texts)) else set(names)


def _called(name: str) -> bool:
    """Whether a file's own name, its folders apart, says that it belongs to a training."""
    return bool(NAMED.search(PurePosixPath(name).name))


def _speaking(run: Run) -> Iterator[str]:
    """The heads of programs, settings and logs that speak of a training."""
    others = [a for a in run.artifacts if a.kind in KINDS]
    yield from (text for a in others[:MOST] if SAID.search(text := _head(a.path)))


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
