"""Chat templates of one model by what the files show of them: a name in the training's configuration, the tokenizer's
own template, and samples as they were rendered for training and for the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ..config.collect import Reading
from ..findings import Evidence, Finding, Severity, TriageError
from ..patterns import bounded
from ..reading import head
from ..run import Run
from ..settings import Setting

BYTES, FILES = 1 << 16, 60
TRAINED = bounded(r"(?i)(?:^|[/_.-])(?:train(?:ing|ed)?|sft|finetune|fine_tune)(?:[/_.-]|$)|训练|微调")
SERVED = bounded(r"(?i)(?:^|[/_.-])(?:serv(?:e|ed|ing|er)|online|request|infer(?:ence)?|deploy(?:ed)?|prod|api|live)"
                 r"(?:[/_.-]|$)|线上|推理|部署|请求")  # fmt: skip
SHOWS = bounded(r"(?i)\.(?:txt|json|jsonl|log|md|prompt)$")
FAMILIES = {
    "chatml": bounded(r"<\|im_start\|>(?:system|user|assistant)"),
    "llama3": bounded(r"<\|start_header_id\|>"),
    "inst": bounded(r"\[INST\]"),
    "gemma": bounded(r"<start_of_turn>"),
    "zephyr": bounded(r"<\|(?:user|assistant)\|>"),
    "deepseek": bounded(r"<｜(?:User|Assistant)｜>"),
    "alpaca": bounded(r"### ?(?:Instruction|Response|指令)"),
    "human": bounded(r"### ?Human:|\n\nHuman:"),
    "vicuna": bounded(r"\bUSER: .{0,400}\bASSISTANT:|\bUSER:"),
}
"""Families of rendered conversations -> their marks of a turn."""


def apart(run: Run) -> Iterator[Finding]:
    """A sample of training and a request to the server whose turns are marked otherwise."""
    shown: dict[str, dict[str, Evidence]] = {"trained": {}, "served": {}}
    for artifact in [a for a in run.artifacts if SHOWS.search(a.name)][:FILES]:
        sides = [bool(TRAINED.search(artifact.name)), bool(SERVED.search(artifact.name))]
        if sides.count(True) != 1 or artifact.kind in ("tokenizer", "script", "log"):
            continue
        with suppress(TriageError, OSError):
            text = head(artifact.path, BYTES).decode("utf-8", "replace").replace("\\n", "\n")
            for name, place in _marks(text, artifact.name):
                shown["trained" if sides[0] else "served"].setdefault(name, place)
    here, there = shown["trained"], shown["served"]
    if len(here) != 1 or len(there) != 1 or here.keys() == there.keys():
        return
    (mine, a), (theirs, b) = *here.items(), *there.items()
    yield Finding(
        "template-differs-when-served", Severity.S1,
        f"{a.file}:{a.line} is rendered with the marks of {mine} ({a.text}), {b.file}:{b.line} with those of {theirs} "
        f"({b.text}): the model is asked in a form that it was not trained on.",
        f"{a.file}:{a.line} 按 {mine} 的标记渲染（{a.text}），{b.file}:{b.line} 按 {theirs} 渲染（{b.text}）：线"
        "上提问的"
        "格式不是训练时的格式。",
        (b, a), {"trained": mine, "served": theirs},
    )  # fmt: skip


def _marks(text: str, file: str) -> Iterator[tuple[str, Evidence]]:
    for name, marks in FAMILIES.items():
        if (found := marks.search(text)) is not None:
            line = text.count("\n", 0, found.start()) + 1
            yield name, Evidence(file, line, text=found[0].strip()[:60])


def not_its_own(
    trained: Setting | None, own: Setting | None, families: tuple[str, str], served: Sequence[Reading]
) -> Iterator[Finding]:
    """A training that names a template of another family than that of the model's own tokenizer."""
    named, shipped = families
    if trained is None or own is None or trained.file == own.file or not named or not shipped or named == shipped:
        return
    if any("chat_template" in r.values for r in served):
        return  # what serves is compared with what trained
    yield Finding(
        "template-not-the-models", Severity.S1,
        f"{trained.file}:{trained.line} trains with the {named} template ({trained.key} {trained.raw[:40]}), {own.file}"
        f":{own.line} of the model ships one of the family {shipped}: whoever serves the model by its own files "
        "asks it "
        "otherwise than it was trained.",
        f"{trained.file}:{trained.line} 训练用 {named} 模板（{trained.key} {trained.raw[:40]}），而模型自带的 "
        f"{own.file}:"
        f"{own.line} 是 {shipped} 类：按模型自己的文件部署时，提问格式与训练不一致。",
        (trained.evidence(), own.evidence()), {"trained": named, "own": shipped},
    )  # fmt: skip
