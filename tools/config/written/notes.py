"""Settings that the notes of a run tell: a README's table of hyperparameters, a list, a sentence, a command in a fence.

They say what somebody meant to run, so they have the lowest standing: a configuration or launch wins, and notes that
contradict it in a number are of another run. Plans, wishes, and what is told of other runs are passed over; so is what
one text says twice in different ways.
"""

# ruff: noqa: E501  one pattern on one line

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from ...documents import words
from ...documents.sentences import sentences
from ...patterns import bounded
from ...reading import Line
from ...settings import Setting
from ..collect import Reading
from ..company import temperature_of
from ..keys import normal
from ..read import read_source
from ..syntax import pairs
from ..syntax.source import Source
from ..telling import stage_in
from ..values import UNSET, convert
from . import latex
from .names import whole
from .prose import Said, named, pair, told
from .values import plain
from .which import LEAST

STYLE = "notes"
FENCES = 8
"""Blocks of code of a text that are looked at."""
_OTHER = bounded(
    r"(?i)\b(?:last (?:week|time|run|month)|previous(?:ly)?|earlier|before|old|older|former(?:ly)?|baseline|instead of|we tried|tried"
    r"|was trained|elsewhere|original(?:ly)?|another|other run|next (?:time|run|week)|in the paper|papers?|reference run|compared|vs\.?"
    r"|would|could|should|might|may|will|plan(?:ned|s)?|try|todo|default(?:s|ed)?|recommend\w*|e\.g\.|for example|such as|sweep|grid"
    r"|ablation|too (?:high|low|large)|failed|diverged|crashed|teacher|critic|reward model|judge|draft"
    r"|no longer|switched (?:from|to)|used to|abandoned|dropped|colleagues?|someone else|other (?:team|group)s?)\b"
    r"|上次|之前|旧|以前|原来|原先|上一|此前|试过|尝试|下次|下一|计划|打算|建议|对比|基线|消融|失败|默认|论文|例如|比如|教师|评委|另一"
    r"|改成|改为|换成|改用|不再|弃用|效果(?:不好|不佳|[较很更]?差)|那边|别人|其他(?:人|组)|[上前]一?[版轮次]"
)
_OTHER_HEADING = bounded(
    r"(?i)\b(?:previous|old|baselines?|comparison|ablations?|next|plans?|future|related|history|changelog|failed|attempts?|sweeps?|grid"
    r"|usage|quick ?start|install\w*|inference example|examples?|faq|teacher|critic|reward model|tips)\b"
    r"|上次|旧|对比|消融|下一步|计划|历史|失败|示例|用法|安装|快速开始|教师|奖励模型"
)
_NOTE_COLUMN = bounded(
    r"(?i)\W{0,3}(?:notes?|comments?|description|remarks?|source|why|reason|meaning|explanation|备注|说明|含义|描述|解释|来源)\W{0,3}"
)
_PAIR = bounded(
    r"\s{0,8}(?:[-*+•·]\s{1,4}|\d{1,2}[.)、]\s{0,4})?(?P<name>(?:[^:：=|`,，;；(（]|[(（][^()（）]{0,40}[)）]){1,60}?)\s{0,8}(?:[:：]|=(?!=))\s{0,8}(?P<value>[^\s].{0,300})$"
)
_BULLET = bounded(r"^\s{0,8}(?:[-*+•·]\s{1,4}|\d{1,2}[.)、]\s{1,4})?")
_CARD = bounded(r"(?m)^The following hyperparameters were used during training:\s*$")
_LISTED = bounded(r"(?m)^- ([a-z_]{3,40}): (.{1,200})$")
_CARDS = {
    "learning_rate": "learning_rate", "train_batch_size": "micro_batch_size", "seed": "seed", "num_devices": "world_size",
    "gradient_accumulation_steps": "grad_accumulation", "total_train_batch_size": "global_batch_size",
    "lr_scheduler_type": "lr_schedule", "lr_scheduler_warmup_ratio": "warmup_ratio",
    "lr_scheduler_warmup_steps": "warmup_steps", "num_epochs": "epochs", "training_steps": "max_steps",
}  # fmt: skip
"""Names of a card -> variable (transformers/modelcard.py, `extract_hyperparameters_from_trainer`)."""
_RULE = re.compile(r"^[\s|:+=-]+$")
_HEADING = re.compile(r"\s{0,3}(?:#{2,6}\s|\*\*)")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_COMMAND = re.compile(
    r"(?m)^\s*(?:[A-Z_]+=\S+\s+)*(?:python3?|torchrun|accelerate|deepspeed|vllm|srun|bash|llamafactory-cli|swift|trl)\s|\s--[a-z][\w-]+"
)
_CHANGED = re.compile(r"->|→|=>|~~")


def is_card(text: str) -> bool:
    """Whether the trainer of Transformers wrote a text at the end of a training."""
    return _CARD.search(text) is not None


def _card(source: Source) -> Reading:
    """What such a card lists: the trainer's own arguments, under names of the card's."""
    reading = Reading(source.name, "notes", "generic", hints=[source.name])
    begin = _CARD.search(source.text)
    for found in _LISTED.finditer(source.text, begin.end() if begin else 0):
        variable = _CARDS.get(found[1])
        value = convert(variable, found[2].strip(), found[1]) if variable else UNSET
        if variable and value is not UNSET:
            line = source.line(found.start(2))
            reading.values[variable] = Setting(
                variable, value, found[2].strip(), found[1], source.name, line, -1, STYLE
            )
    return reading


def read(source: Source, framework: str = "generic") -> Reading:
    """What a text says of the run that it lies beside; no values where it is not about one run's settings."""
    if is_card(source.text):
        return _card(source)
    if source.name.endswith(".tex"):
        source = latex.as_notes(source)
    reading = Reading(source.name, "notes", framework, hints=[source.name])
    found: dict[str, list[tuple[Said, int]]] = {}
    changed: set[str] = set()
    for number, line, said in _lines(source):
        for one in said:
            if _CHANGED.search(line):
                changed.add(one[0])
            found.setdefault(one[0], []).append((one, number))
    for variable, rows in found.items():
        if setting := None if variable in changed else _setting(variable, rows, source):
            reading.values[variable] = setting
    for variable, setting in _fenced(source).items():
        reading.values.setdefault(variable, setting)
    if "use_kl_loss" in reading.values and (coef := reading.values.get("kl_coef")):
        reading.values.setdefault("kl_loss_coef", replace(coef, variable="kl_loss_coef"))
    if (heat := reading.values.pop("temperature", None)) and (of := temperature_of(reading.values)):
        reading.values.setdefault(of, replace(heat, variable=of))
    _served(reading)
    if len(reading.values) < LEAST or _torn(found, source) or _stages(source, reading) > 1:
        reading.values.clear()
    return reading


SERVED = {"tensor_parallel": "engine_tensor_parallel", "pipeline_parallel": "engine_pipeline_parallel",
          "sequence_length": "max_model_len", "precision": "model_dtype"}  # fmt: skip
"""What a name means in a text about an engine alone."""
TRAINS = frozenset(("learning_rate", "weight_decay", "epochs", "max_steps", "grad_accumulation", "warmup_steps",
                    "micro_batch_size", "global_batch_size", "num_generations"))  # fmt: skip
ENGINE = frozenset(("gpu_memory_utilization", "max_num_seqs", "max_model_len", "repetition_penalty"))


def _served(reading: Reading) -> None:
    """Of a text that tells of an engine and trains nothing, what the names mean for that engine."""
    values = reading.values
    if TRAINS.isdisjoint(values) and not ENGINE.isdisjoint(values):
        for variable, of in SERVED.items():
            if variable in values and of not in values:
                values[of] = replace(values.pop(variable), variable=of)


def _stages(source: Source, reading: Reading) -> int:
    """Kinds of training under whose headings a text says something: of several, it is of no one run."""
    told = sorted(s.line for s in reading.values.values())
    heads = [(n, stage_in([line])) for n, line in enumerate(source.text.split("\n"), 1) if _HEADING.match(line)]
    above = [[stage for n, stage in heads if n < line and stage][-1:] for line in told]
    return len({stage for found in above for stage in found})


def _torn(found: dict[str, list[tuple[Said, int]]], source: Source) -> bool:
    """Whether a text gives a variable two values below two headings, or many of them two: it is of several runs."""
    heads = [n for n, line in enumerate(source.text.split("\n"), 1) if _HEADING.match(line)]
    torn = [rows for rows in found.values() if len({said[1] for said, _ in rows}) > 1]
    apart = any(len({bisect_right(heads, line) for _, line in rows}) > 1 for rows in torn)
    return apart or 3 * len(torn) > len(found)


def _setting(variable: str, rows: list[tuple[Said, int]], source: Source) -> Setting | None:
    """The one value that all places give a variable."""
    of = "rollout_temperature" if variable == "temperature" else variable
    values = {repr(convert(of, said[1], normal(said[2]))) for said, _ in rows}
    (_, text, name), line = rows[0]
    value = convert(of, text, normal(name))
    if value is UNSET or len(values) > 1:
        return None
    return Setting(variable, value, text, name.strip()[:80], source.name, line, -1, STYLE, "generic")


def _lines(source: Source) -> Iterator[tuple[int, str, list[Said]]]:
    """The lines that tell of this run, with what each says."""
    raw = source.text.split("\n")
    modes = {s.line: (s.mode, s.heading) for s in sentences([Line(n, t) for n, t in enumerate(raw, 1)], source.name)}
    skipped = {
        n
        for n, (mode, heading) in modes.items()
        if mode in ("wish", "chat", "commit", "body") or _OTHER_HEADING.search(heading)
    }
    yield from _tables(raw, skipped, modes)
    for number, line in enumerate(raw, 1):
        if number in skipped or number not in modes or "|" in line:
            continue
        yield number, line, list(_told(line))


def _told(line: str) -> Iterator[Said]:
    """What a line outside of tables says, sentence by sentence."""
    text = plain(line)
    found = _PAIR.match(text)
    if found and not _OTHER.search(text) and any(named(found["name"], found["value"])):
        yield from pair(found["name"], found["value"])
        return
    for sentence in re.split(r"[。!?]\s*|\.\s+(?=[A-Z])", _BULLET.sub("", text)):
        if not (_OTHER.search(sentence) or words.NOT.search(sentence) or words.WISH_ZH.search(sentence)):
            head, mark, rest = sentence.partition(":")
            yield from told(rest if mark and not whole(head) and len(head) < 30 else sentence)


def _tables(
    raw: list[str], skipped: set[int], modes: dict[int, tuple[str, str]]
) -> Iterator[tuple[int, str, list[Said]]]:
    """Rows of the tables that hold one name and one value each; a table with a column for each run says nothing."""
    at = 0
    while at < len(raw):
        if "|" not in raw[at]:
            at += 1
            continue
        end = at
        while end < len(raw) and "|" in raw[end]:
            end += 1
        block = [(n + 1, _cells(raw[n])) for n in range(at, end) if not _RULE.match(raw[n])]
        inside = any(n + 1 in skipped for n in range(at, end))
        if not inside and any(n + 1 in modes for n in range(at, end)):
            for number, name, value in _pairs(block):
                if not _OTHER.search(f"{name} {value}"):
                    yield number, raw[number - 1], list(pair(name, value))
        at = end


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _pairs(block: list[tuple[int, list[str]]]) -> Iterator[tuple[int, str, str]]:
    """(line, name, value) of the rows of a table."""
    head = block[0][1] if block else []
    if len(block) == 2 and len(head) == len(block[1][1]) >= 3 and sum(bool(whole(cell)) for cell in head) >= 3:
        yield from ((block[1][0], name, value) for name, value in zip(head, block[1][1], strict=True))
        return
    twice = len(head) == 4 and head[0] == head[2] and head[1] == head[3]
    noted = len(head) == 3 and _NOTE_COLUMN.fullmatch(head[2]) is not None
    for number, cells in block:
        if len(cells) == 2 or (noted and len(cells) == 3):
            yield number, cells[0], cells[1]
        elif twice and len(cells) == 4:
            yield number, cells[0], cells[1]
            yield number, cells[2], cells[3]


def _fenced(source: Source) -> dict[str, Setting]:
    """The settings of the one command, or the one block of pairs, that stands in a fence."""
    found = []
    for text in _fences(source.text):
        syntax = "shell" if _COMMAND.search(text) else "pairs" if pairs.holds(text) else ""
        if syntax:
            lines = Source(source.name, text, source.starts)
            values = read_source(lines, syntax).values
            found += [values] if len(values) > 1 else []
    one = found[0] if len(found) == 1 else {}
    return {v: replace(s, column=-1, style=STYLE) for v, s in one.items()}


def _fences(text: str) -> list[str]:
    """Each fenced block in a text of its own, everything else blank, so that lines and offsets stay."""
    lines = text.split("\n")
    marks = [n for n, line in enumerate(lines) if _FENCE.match(line)][: 2 * FENCES]
    return [
        "\n".join(line if start < n < end else " " * len(line) for n, line in enumerate(lines))
        for start, end in zip(marks[::2], marks[1::2], strict=False)
    ]
