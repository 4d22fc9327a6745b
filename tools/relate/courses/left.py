"""What the files of a run say was not loaded when it went on: flags, settings, and the first lines of its log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...findings import Evidence
from ...heads import beginning
from ...patterns import bounded
from ...run import Artifact, Run
from ..earlier.within import fewer_listed
from .read import Course, Joint

MOST_FILES, BYTES, LOG_BYTES = 40, 32_768, 6_144
KINDS = ("config", "script", "document", "code", "log")
_PARTS = {
    "optimizer": r"(?:optim\w*|opt(?:_states?)?|moments?|momenta|adam\w*|exp_avg\w*|优化器\S{0,4}|动量)",
    "data": r"(?:data(?:_?loader|_?state|_?cursor|_?position)?|loader\w*|sampler\w*|consumed\w*|数据\S{0,4}|采样器)",
    "any": r"(?:optim\w*|opt(?:_states?)?|moments?|rng\w*|random_states?|(?:lr_?)?sched\w*|scaler|优化器\S{0,4}|动量"
    r"|随机\S{0,4}|调度\S{0,3})",
}
_NO = r"(?:false|no|off|none|null|0)\b"


def _forms(part: str) -> re.Pattern[str]:
    between = r"[-_ ]?(?:lr[-_])?"
    return bounded(
        rf"(?i)--?(?:no|skip|ignore|reset|drop)[-_](?:load[-_]|restore[-_]|resume[-_])?{part}\b(?!\S?[= ]\s?{_NO})"
        rf"|\b(?:load|restore|resume|keep){between}{part}[\"']?\s?[:=]\s?{_NO}"
        rf"|\b{part}[\"']?\s?[:=]\s?(?:not (?:loaded|restored|found)|skipped|fresh|reset|(?:re-?)init\w*|missing)"
        rf"|\b(?:reset|skip|ignore|fresh|reinit\w*|override)[-_ ]?(?:load_)?{part}[\"']?\s?[:=]\s?(?:true|yes|on|1)\b"
        rf"|\b{part}(?: states?| shards?| parts?)? (?:were |was |is |are )?(?:not (?:found|loaded|restored|saved|in\b)"
        rf"|missing|skipped|re-?initiali[sz]ed|left out)"
        rf"|\b{part}\W{{1,4}}0\s?/\s?[1-9]\d{{0,6}}\b"
        rf"|(?:未找到|未加载|没有加载|没加载|跳过|不加载|未恢复|没有恢复|没恢复|缺少)\s?{part}"
        rf"|{part}\s?(?:未找到|未加载|没有加载|没加载|未恢复|没有恢复|没恢复|缺失|重新初始化|从零开始|清零)"
    )


FORMS = {name: _forms(part) for name, part in _PARTS.items()}
GONE = {name: bounded(rf"(?i)^{part}") for name, part in _PARTS.items()}
BEGINS_ANEW = bounded(
    rf"(?i)(?<![\w-])--?(?:finetune|ignore[-_]data[-_]skip|reset[-_](?:dataloader|iterator|sampler|data))(?![\w-])"
    rf"(?!\S?[= ]\s?{_NO})|\b(?:finetune|ignore_data_skip|reset_(?:dataloader|iterator|data_position))[\"']?\s?[:=]\s?"
    r"(?:true|yes|on|1)\b"
)
"""Flags with which a trainer that goes on begins its data anew: of Megatron, of Hugging Face, of fairseq and others."""
WORDS = (
    "load",
    "read",
    "restor",
    "resum",
    "reset",
    "skip",
    "fresh",
    "missing",
    "not ",
    "init",
    "no-",
    "no_",
    "finetune",
    "ignore",
    "未",
    "没",
    "跳过",
    "零",
    "optim",
    "恢复",
    "载",
)
LISTS = bounded(
    r"(?i)(?:\b(?:re)?load|\brestor|\bresum|\bread|恢复|加载|载入|读取)[^\n,+&、]{0,40}"
    r"(?:\b(?:params?|weights?|model|module)\b|权重|模型)[^\n,+&、]{0,24}[,+&、]"
)
"""A line that lists what is loaded, the weights among it."""
PARTS = bounded(
    r"(?i)^\W{0,4}(?:[\d\-:.T, \[\]]{0,40})?(?:\[?\w+\]?\s)?\s{0,4}"
    r"(weights?|params?|model|rng|clock|cursor|sched\w*|loader|sampler|权重|随机\S{0,3}|调度\S{0,2})\b"
)
HAS = bounded(r"(?i)\bopt(?:im\w*|s|_\w+)?\b|moment|adam|exp_avg|\ball\b|优化器|动量|全部")


@dataclass(frozen=True)
class Left:
    """The run's files, looked at only once there is a restart to explain."""

    run: Run

    def fewer(self, joint: Joint, what: str) -> tuple[Evidence, ...]:
        """The line that lists fewer parts than an earlier one, if one of those that are gone is of this kind."""
        missing, places = fewer_listed(self.run, joint.before, joint.after)
        return places if any(GONE[what].match(part) for part in missing) else ()

    def of(self, what: str, course: Course) -> tuple[Evidence, ...]:
        """The first place that says that a part was not loaded; of logs only that of the course."""
        small = [a for a in self.run.artifacts if a.kind in KINDS and (a.kind != "log" or a.name == course.file)]
        small.sort(key=lambda a: (a.name != course.file, a.attempt != course.attempt.partition("#")[0]))
        for artifact in small[:MOST_FILES]:
            own = (
                course.head
                if artifact.name == course.file and course.head
                else enumerate(_text(artifact).splitlines(), 1)
            )
            if found := _said(artifact, own, what):
                return (found,)
        return ()

    def unlisted(self, course: Course) -> tuple[Evidence, ...]:
        """The lines that the log begins with, where they name several parts that were loaded and no optimizer."""
        artifact = next((a for a in self.run.artifacts if a.name == course.file and a.kind == "log"), None)
        if artifact is None or course.loss is None or not (course.head or 3 <= course.loss.at[0] <= 400):
            return ()
        head = course.head or tuple(enumerate(_text(artifact).splitlines()[: int(course.loss.at[0]) - 1], 1))
        named = {m[1].lower()[:4]: (i, line) for i, line in head if len(line) <= 400 and (m := PARTS.search(line))}
        if len(named) < 3 or any(HAS.search(line) for _, line in head):
            return ()
        return tuple(Evidence(artifact.name, i, text=line.strip()) for i, line in list(named.values())[:3])


def _text(artifact: Artifact) -> str:
    return beginning(artifact.path, LOG_BYTES if artifact.kind == "log" else BYTES)


def _said(artifact: Artifact, lines: Iterable[tuple[int, str]], what: str) -> Evidence | None:
    for number, line in lines:
        if len(line) > 400 or not any(word in line.lower() for word in WORDS):
            continue
        if what == "data" and (anew := BEGINS_ANEW.search(line)):
            return Evidence(artifact.name, number, text=anew[0].strip())
        listed = what == "optimizer" and LISTS.search(line) and not HAS.search(line)
        if (listed and artifact.kind in ("log", "script", "config")) or FORMS[what].search(line):
            return Evidence(artifact.name, number, text=line.strip())
    return None
