"""A log that stops while the program starts up, with no error: nothing else in the run says so.

The stages of a start are told by what frameworks and engines print in them. What a program does once it runs, and
why it was stopped, is not told here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..findings import Evidence, Finding, Severity, clean, declare
from ..patterns import bounded
from ..reading import split_prefix
from ..run import one_log
from .ends.newest import EARLIER
from .signatures.signature import CHECK
from .texts import Text

CODES = declare(
    "starting",
    ("log-ends-in-startup", CHECK, "the log stops in the middle of the start-up, with no error"),
    ("log-ends-at-meeting", CHECK, "the log stops where the processes form their group, before any weights are loaded"),
    (
        "starts-without-a-step",
        CHECK,
        "a training was started several times, and none of the starts logs a step or an end",
    ),
)

SHORT = 8
"""Lines below which a log is a few pasted lines, which end anywhere."""
AGAIN = 3
"""Starts of which none logs anything from which on that is no accident: one was stopped to change something."""
STAGES = 2
"""Different stages of a start that a log must show."""
NEAR_END = 25
"""Lines at the end of which one belongs to a stage."""
RECENT, FRESH = 15 * 60, 2
"""Seconds since the last line within which the program may still be starting (loading a large model takes minutes),
and since a change of a file whose lines have no clock that fits it: it may have been copied."""
UNDATED = 1e9
"""Clocks below it have no date, see `texts`."""


@dataclass(frozen=True)
class Stage:
    """A stage of a start, and lines by which it is told."""

    name: str
    zh: str
    tells: re.Pattern[str]


KNOWN = tuple(
    Stage(name, zh, bounded("|".join(words), re.IGNORECASE))
    for name, zh, words in (
        ("the launch", "启动命令", (
            r"launch_server|torchrun|world.?size|nproc|server_args|engine args|non-default args|launching",
            r"^\s*start(?:ing|ed)?\b")),
        ("the process group", "进程组初始化", (
            r"init(?:ializ\w+)? (?:torch )?distributed|process.?group|rendezvous|NCCL (?:INFO|version)",
            r"Bootstrap ?: Using")),
        ("loading the weights", "加载权重", (
            r"load(?:ing)? (?:\w+ ){0,3}(?:weights?|shards?|checkpoint|safetensors|model)",
            r"checkpoint shards|start(?:ing)? to load model")),
        ("building the model", "构建模型", (
            r"(?:build|creat|initializ|instantiat)\w* (?:the |an? )?(?:\w+ ){0,2}(?:model|tokenizer|engine|optimizer)",
            r"number of parameters|resolved architecture|enabled custom fusions")),
        ("loading the data", "加载数据", (
            r"load(?:ing)? (?:the )?(?:\w+ ){0,2}data(?:set|loader)?s?\b|generating \w+ split|tokenizing",)),
        ("the KV cache", "分配 KV 缓存", (
            r"kv ?cache (?:is )?(?:allocat|size|memory)|memory pool|# ?GPU blocks",)),
        ("compiling and capturing", "编译与图捕获", (
            r"captur\w+ (?:\w+ ){0,4}(?:graph|num tokens)|cuda ?graphs?\b|torch\.?compile|compil\w+ a graph",
            r"dynamo bytecode|aot compiled|autotun"
            r"|(?<!lr )(?<!rate )(?<!linear )\bwarm(?:ing)?.?up\b(?!.{0,40}(?:steps|epochs|ratio|loss|lr|rate)\b)")),
        ("the first step", "第一步之前", (
            r"\*{3,} ?running training|num(?:ber of)? examples ?=|total optimization steps",
            r"start(?:ing)? (?:the )?training")),
    )
)  # fmt: skip
"""In the order in which programs go through them."""
OVER = bounded(
    r"\b(?:done|finish\w*|complete[d!.]*|exit(?:ed|ing|s)?|bye|goodbye|shut\w*.?down|terminated|stopped|succe\w+|aborted"
    r"|results?|elapsed|traceback|error|exception|usage|cancel\w+|killed|saved? (?:to|the model)|ready)\b"
    r"|结束|完成|训练完毕",
    re.IGNORECASE,
)
"""What a program that ended, or ran, says in its last line, or anywhere behind the last stage of its start."""
_RUNS = bounded(
    r"\bepoch:?\s{0,3}\[?\d+\s?(?:/|of)\s?\d+|\b(?:step|iter(?:ation)?|batch):?\s{0,3}\[?\d+\s?(?:/|of)\s?\d+"
    r"|第\s?\d+\s?(?:/\s?\d+\s?)?(?:轮|个 ?epoch|步)",
    re.IGNORECASE,
)
"""A line of the training itself: the start is behind it."""
_LOADED = bounded(
    r"\b(?:model|weights|adapter|checkpoint)s?\b.{0,20}\bloaded\b"
    r"|\bloaded (?:the )?(?:\w+ ){0,3}(?:model|weights|adapter)"
    r"|(?:模型|权重).{0,8}加载(?:完成|成功|完毕)|已加载.{0,8}(?:模型|权重)",
    re.IGNORECASE,
)
"""What a program says last that has its model and waits for somebody."""
_ANSWERED = bounded(
    r"\brequests? (?:\w+ )?(?:processed|handled|served|completed|finished|took)|\btokens generated\b"
    r"|\"(?:GET|POST) /\S{0,80} HTTP|\b(?:GET|POST) /\S{1,80}.{0,20}\b200\b|请求.{0,6}(?:处理|完成)|响应完成",
    re.IGNORECASE,
)
"""A request was answered: the program is a service, which says nothing while nobody asks."""
MEETS, LOADS = "the process group", ("loading the weights", "building the model", "the KV cache", "the first step")
"""The stage in which processes wait for each other, and those that take memory."""
_BESIDE = bounded(r"warn|deprecat|resource_tracker|\[W\d", re.IGNORECASE)
"""Lines that say nothing about where the program is."""
_LEAKED = "resource_tracker"


def starting(texts: Mapping[str, Text], found: Iterable[Finding], trained: bool) -> Iterator[Finding]:
    """One finding for each log that ends in the start-up, or of which no start got any further.

    Silent where the program trains or serves, where anything explains the end, where a line behind the last stage says
    that it is over, in a few pasted lines, and while the log may still be written.

    Args:
        texts: what each log says, by its name.
        found: what else was found; a log with an error is left to it.
        trained: whether any file of the run has steps.
    """
    ends = [f for f in found if f.severity < Severity.S3 or EARLIER in f.data]
    blamed = {one_log(e.file) for f in ends for e in f.evidence if e.file}
    for name, text in texts.items():
        if trained or one_log(name) in blamed:
            continue
        said = [(n, line) for n, line in (*text.head, *text.tail) if line.strip() and not _BESIDE.search(line)]
        if none := _none_of_many(name, text, said):
            yield none
        if none or not _quiet(text):
            continue
        told = [(n, line) for n, line in said if n > text.lines - NEAR_END]
        stages = [s for s in KNOWN if any(s.tells.search(line) for _, line in said)]
        if len(stages) < STAGES or not told or OVER.search(told[-1][1]) or _past_start(said, told):
            continue
        last = next(((i, s) for i in range(len(told) - 1, -1, -1) for s in KNOWN if s.tells.search(told[i][1])), None)
        if last is not None and not any(OVER.search(line) for _, line in told[last[0] + 1 :]):
            meets = last[1].name == MEETS and not any(s.name in LOADS for s in stages)
            yield _at_meeting(name, *told[-1]) if meets else _finding(name, text, last[1], *told[-1])


def _none_of_many(name: str, text: Text, said: Sequence[tuple[int, str]]) -> Finding | None:
    """The finding on a log of many starts of a training, of which none says a number, an error or an end."""
    life, n = text.life, len(text.life.starts) + 1
    counts = any(c.done > 1 for c in text.counts.values())
    logged = life.attempts or life.serves or life.alive > max(life.starts, default=0) or counts or text.broken
    trains = any(KNOWN[-1].tells.search(line) or _RUNS.search(line) for _, line in said)
    if n < AGAIN or logged or not trains or any(OVER.search(line) for _, line in said) or _still_written(text):
        return None
    line, words = max(said)
    last = clean(split_prefix(words)[1])
    return Finding(
        "starts-without-a-step", Severity.S2,
        f"{name}: {n} starts, none reached a logged step, and none says an error or an end; the last stops after "
        f"`{last}` (line {line}). If nothing was logged elsewhere, each was stopped or killed in or before its first "
        "epoch: look at the terminal, the scheduler and the kernel's log of the last one.",
        f"{name}：共启动 {n} 次，没有一次记录到任何一步，也没有报错或结束；最后一次停在 `{last}`（第 {line} 行）之后。"
        "若别处也没有日志，则每次都在第一个 epoch 之前或之中被中断：请查看最后一次的终端、调度器与内核日志。",
        (Evidence(name, line, text=last), *(Evidence(name, at) for at in life.starts[-2:])), {"starts": n},
    )  # fmt: skip


def _past_start(said: Sequence[tuple[int, str]], told: Sequence[tuple[int, str]]) -> bool:
    """Whether the last lines are those of a training under way, or of a service that waits for its next request."""
    waits = any(_ANSWERED.search(line) for _, line in said) and _LOADED.search(told[-1][1])
    return bool(waits) or _RUNS.search(told[-1][1]) is not None


def _quiet(text: Text) -> bool:
    """Whether a log of some length shows no step, no server and no end, and is not being written."""
    life, begun = text.life, max(text.life.starts, default=0)
    if text.lines - begun < SHORT or max(life.alive, life.serves) > begun or text.broken:
        return False
    return not any(last > begun for _, _, last in life.attempts) and not _still_written(text)


def _finding(name: str, text: Text, stage: Stage, line: int, words: str) -> Finding:
    killed = any(_LEAKED in said for _, said in text.tail)
    more = " Only the warning of a leaked semaphore follows: the process was killed from outside." if killed else ""
    more_zh = "之后只有泄漏信号量的警告：进程是从外部被杀掉的。" if killed else ""
    return Finding(
        "log-ends-in-startup",
        Severity.S1 if killed else Severity.S2,
        f"{name}:{line}: the log stops in the start-up (last stage: {stage.name}), with no error and before any step "
        f"or request.{more} Look for a kill by the system (dmesg, the scheduler), first of all for the host's memory.",
        f"{name}:{line}：日志在启动过程中中断（最后阶段：{stage.zh}），没有报错，也还没有任何步或请求。{more_zh}"
        "请查看系统是否杀掉了进程（dmesg、调度器），首先看主机内存。",
        (Evidence(name, line, text=clean(split_prefix(words)[1])),),
        {"stage": stage.name},
    )


def _at_meeting(name: str, line: int, words: str) -> Finding:
    return Finding(
        "log-ends-at-meeting", Severity.S2,
        f"{name}:{line}: the log stops where the processes form their group, with no error and before any weights are "
        "loaded: they wait for each other. Do all of them dial one address, and does it answer?",
        f"{name}:{line}：日志停在进程组初始化，没有报错，也还没有加载权重：进程在互相等待。请确认所有进程连接的是同一个"
        "地址，并且有应答。",
        (Evidence(name, line, text=clean(split_prefix(words)[1])),), {"stage": MEETS},
    )  # fmt: skip


def _still_written(text: Text) -> bool:
    """Whether the file was changed just now: long enough ago where its own clock says the same, whatever the zone."""
    gone, clock = time.time() - text.written, text.end
    same_day = clock is not None and (clock < UNDATED or abs(text.written - clock) < 26 * 3600)
    fits = clock is not None and same_day and (text.written - clock + 60) % 3600 < 120
    return gone < (RECENT if fits else FRESH)
