"""A sentence in the two languages that triage speaks; the one thing of `tools` that `knowledge` may use.

Why a file was not read is worded in English where it arises, in many places; what that is in Chinese stands here, with
`{}` for what differs. A reason that is not in the table stays English: it is never left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .registry import table


def pick(lang: str, en: str, zh: str) -> str:
    """The Chinese where `lang` is `zh` and there is any; anything else is English."""
    return zh if lang == "zh" and zh else en


@dataclass(frozen=True)
class Phrase:
    """The same sentence in English and Chinese, with `{names}` for what differs each time."""

    en: str
    zh: str

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  # read where an entry's front matter holds one

    def __post_init__(self):
        if not (self.en and self.zh):
            raise ValueError(f"a sentence needs both languages: {self}")

    def say(self, lang: str, **values: object) -> str:
        """The sentence in `lang` (`zh`, anything else is English), its names filled in."""
        text = pick(lang, self.en, self.zh)
        return text.format(**values) if values else text


def phrases(name: str, *rows: tuple[str, str, str]) -> dict[str, Phrase]:
    """A table of sentences, each row its key and the two languages.

    Raises:
        ValueError: a key is given twice, or something is empty; the message names the table and the key.
    """
    table(name, ((key, en and zh) for key, en, zh in rows))
    return {key: Phrase(en, zh) for key, en, zh in rows}


def counted(n: int, what: Phrase, lang: str = "en") -> str:
    """`1 line`, `2 lines`, `3 checks`, `4 entries`: a number with its noun, which is given in the singular."""
    if lang == "zh":
        return f"{n} {what.zh}"
    return f"{n} {what.en if n == 1 else plural(what.en)}"


LINE, POINT, LOG = Phrase("line", "行"), Phrase("point", "个点"), Phrase("log", "个日志")
"""What findings count most."""


def plural(noun: str) -> str:
    """The plural of a regular English noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


# Reasons ----------------------------------------------------------------------------------------------

_REASONS = (
    ("is an archive; unpack it and name the directory", "是压缩包；请解压后指定目录"),
    ("is empty", "是空文件"),
    ("requests to a server, no data to train on", "是发给服务的请求，不是训练数据"),
    ("is empty, or packed data that breaks off before its first block", "是空文件，或压缩数据在第一块之前就中断"),
    ("holds only NUL bytes (an interrupted write or a full disk)", "只有 NUL 字节（写入中断或磁盘已满）"),
    ("is binary, not the text that its name promises", "是二进制文件，与文件名所示的文本不符"),
    ("no line in a known metric format", "没有已知格式的指标行"),
    ("the file ends in the middle of its JSON (a save that was cut off?)", "文件在 JSON 中间结束（保存被中断？）"),
    ("no reader knows this kind of file", "没有读取器认识这种文件"),
    ("is a link out of the run; name its target directly if you want it read",
     "是指向运行目录之外的链接；需要读取请直接指定目标"),
    ("is a pipe, socket or device; not opened", "是管道、套接字或设备；没有打开"),
    ("is neither a log nor a known part of a run; name it directly",
     "既不是日志也不是运行的已知部分；需要时请直接指定"),
    ("cannot be followed: a loop of links", "无法跟随：链接成环"),
    ("cannot be followed: {}", "无法跟随：{0}"),
    ("cannot list the directory: {}", "无法列出目录：{0}"),
    ("deeper than {} directories; name it directly to look into it", "目录嵌套超过 {0} 层；需要时请直接指定"),
    ("more than {} files: this and later ones were not looked at; name a subdirectory",
     "超过 {0} 个文件：从这个开始都没有查看；请指定子目录"),
    ("over the limit of {} files", "超过 {0} 个文件的上限"),
    ("inside {}, which is no part of a run", "在 {0} 里，不是运行的一部分"),
    ("a link to the run itself", "指向运行目录自身的链接"),
    ("a link to a folder that was not looked into", "指向未查看目录的链接"),
    ("a link to {}", "指向 {0} 的链接"),
    ("the same file as {}", "与 {0} 是同一个文件"),
    ("holds more than {} files; those from {} on were not looked at", "超过 {0} 个文件；从 {1} 开始没有查看"),
    ("belongs to another training under the same path, of which only the logs were judged",
     "属于同一路径下的另一次训练，其中只判断了日志"),
    ("a program that no log, script or configuration of this run names", "这次运行的日志、脚本和配置都没有提到的程序"),
    ("only error lines were looked for: no line in a known metric format", "只查找了错误行：没有已知格式的指标行"),
    ("no known setting in it is in force", "其中没有生效的已知设置"),
    ("only whether the dump is whole was looked at", "只查看了转储是否完整"),
    ("no table was found in it", "其中没有找到表格"),
    ("cannot read {}: Compressed file ended before the end-of-stream marker was reached; check that the file is whole "
     "and you may read it", "无法读取 {0}：压缩数据中断，没有结束标记；请检查文件是否完整"),
    ("cannot read {}: compressed file ended before the end of its last frame; check that the file is whole and you may "
     "read it", "无法读取 {0}：压缩数据在最后一帧结束前中断；请检查文件是否完整"),
    ("cannot read {}: it unpacks to over {} MiB and {} times its size and is not read further; check that the file is "
     "whole and you may read it", "无法读取 {0}：解压后超过 {1} MiB 且为原大小的 {2} 倍，不再继续读取"),
    ("it unpacks to over {} MiB and {} times its size and is not read further",
     "解压后超过 {0} MiB 且为原大小的 {1} 倍，不再继续读取"),
    ("a hole of {} bytes from byte {} on, where nothing was ever written",
     "从第 {1} 字节起有 {0} 字节的空洞，从未写入"),
    ("compressed file ended before the end of its last frame", "压缩数据在最后一帧结束前中断"),
    ("cannot read {}: Permission denied; check that the file is whole and you may read it", "无法读取 {0}：没有权限"),
    ("cannot read {}: {}; check that the file is whole and you may read it",
     "无法读取 {0}：{1}；请检查文件是否完整、是否有权限读取"),
    ("cannot read {}: {}", "无法读取 {0}：{1}"),
    ("over the limit of {} MiB for one document", "超过单个文档 {0} MiB 的上限"),
    ("over the limit of {} MiB for YAML", "超过 YAML {0} MiB 的上限"),
    ("over the limit of {} cells from row {} on", "从第 {1} 行起超过 {0} 个单元格的上限"),
    ("over the limit of {} cells from line {} on", "从第 {1} 行起超过 {0} 个单元格的上限"),
    ("over the limit of {} cells", "超过 {0} 个单元格的上限"),
    ("over the limit of {} lines of text", "超过 {0} 行文本的上限"),
    ("over the limit of {} points", "超过 {0} 个点的上限"),
    ("over the limit of {} points: the later ones were not read", "超过 {0} 个点的上限：后面的没有读取"),
    ("over the limit of {} runs: the others were not read", "超过 {0} 次运行的上限：其余没有读取"),
    ("{} lines are no JSON", "{0} 行不是 JSON"),
    ("no JSON: {}", "不是 JSON：{0}"),
    ("no YAML: {}", "不是 YAML：{0}"),
    ("cannot be read: {}", "无法读取：{0}"),
    ("line {}: not JSON: {}", "第 {0} 行：不是 JSON：{1}"),
    ("line {}: nested deeper than {} levels; not read", "第 {0} 行：嵌套超过 {1} 层；没有读取"),
    ("nested deeper than {} levels; not read", "嵌套超过 {0} 层；没有读取"),
    ("more than {} values; not read", "超过 {0} 个值；没有读取"),
    ("larger than {} MB; a {} config of that size is not read", "大于 {0} MB；这么大的 {1} 配置不读取"),
    ("binary file, not a {} config", "是二进制文件，不是 {0} 配置"),
    ("not TOML: {}", "不是 TOML：{0}"),
    ("not YAML: {}", "不是 YAML：{0}"),
    ("not Python that can be read: {}", "不是可读的 Python：{0}"),
)  # fmt: skip


# Names of checks --------------------------------------------------------------------------------------

_NAMES = (
    ("evidence read", "读取证据"),
    ("records read of the {}", "读取的记录（{0}）"),
    ("records read", "读取的记录"),
    ("read {} to its end", "把 {0} 读到末尾"),
    ("read the rest of {}", "读取 {0} 的其余部分"),
    ("read {}", "读取 {0}"),
    ("metrics in {}", "{0} 中的指标"),
    ("signatures in {}", "{0} 中的错误特征"),
    ("error signatures", "错误特征"),
    ("planned length", "计划的长度"),
    ("changes of every measure", "各项指标的变化"),
    ("the run beside an earlier one", "与较早的 run 对比"),
    ("onset and its company", "起始点与同时变化的量"),
    ("groups against each other", "分组对比"),
    ("signs of the runbook", "手册列出的迹象"),
    ("scores before and after training", "训练前后的分数"),
    ("scores in tables", "表格中的分数"),
    ("rows of training and evaluation", "训练与评测的数据行"),
    ("rows of the test file in the training file", "测试文件中的行出现在训练文件里"),
    ("rows of tables together", "多张表格的行放在一起"),
    ("summary tables", "汇总表"),
    ("distributions in tables", "表格中的分布"),
    ("copies of a model's files", "模型文件的各份副本"),
    ("prepared data against its source", "预处理数据与其源文件"),
    ("earlier runs and stages in tables", "表格中以前的运行与阶段"),
    ("parts and results of an evaluation", "评测的各部分与结果"),
    ("training, export and serving against each other", "训练、导出与服务相互对照"),
    ("what the errors name, in the run's files", "报错点名的内容在运行文件中的情况"),
    ("arithmetic of the run", "运行中的数量关系"),
    ("answers of two models", "两个模型的回答"),
    ("outputs against the sampling that was set", "输出的采样参数与设定对照"),
    ("requests of a server", "服务的请求"),
    ("jobs and counters of machines", "作业与机器计数"),
    ("statements against each other", "各处说法相互对照"),
    ("the program against its settings", "程序与其设置相互对照"),
    ("checkpoint files", "检查点文件"),
    ("checkpoint values", "检查点数值"),
    ("checkpoint neighbours", "相邻检查点"),
    ("checkpoint series", "检查点序列"),
    ("text and roles", "文本与角色"),
    ("field types", "字段类型"),
    ("script mixture", "文字混杂"),
    ("filter reasons", "过滤原因"),
    ("exact duplicates", "完全重复"),
    ("near duplicates", "近似重复"),
    ("personal data", "个人数据"),
)


Sentences = Mapping[str, tuple[list[str], str]]


def sentences(name: str, rows: Iterable[tuple[str, str]]) -> Sentences:
    """A table of English sentences, with `{}` for what differs, and their Chinese, with `{0}`, `{1}`, ... for it.

    Raises:
        ValueError: a sentence is given twice; the message names the table.
    """
    return table(name, ((en, (en.split("{}"), zh)) for en, zh in rows))


def in_chinese(why: str, known: Sentences | None = None) -> str:
    """The reason in Chinese, with a name and a colon before it if there is one; as it is where nobody has put it.

    Args:
        why: the sentence in English.
        known: a table of sentences; without it, the reasons.
    """
    name, colon, rest = why.partition(": ")
    for said, before in ((why, ""), (rest, f"{name}：") if colon else (why, "")):
        if (zh := _from(REASONS if known is None else known, said)) is not None:
            return before + zh
    return why


def name_in_chinese(name: str) -> str:
    """The name of a check in Chinese; as it is where nobody has put it, as with codes of findings."""
    return _from(NAMES, name) or name


REASONS, NAMES = sentences("reasons", _REASONS), sentences("names of checks", _NAMES)


def _from(rows: Sentences, said: str) -> str | None:
    for parts, zh in rows.values():
        if (values := _values(parts, said)) is not None:
            return zh.format(*values)
    return None


def _values(parts: Sequence[str], text: str) -> list[str] | None:
    """What stands where the sentence has `{}`; None for another sentence."""
    if len(parts) == 1:
        return [] if text == parts[0] else None
    if not (text.startswith(parts[0]) and text.endswith(parts[-1])):
        return None
    values, at, end = [], len(parts[0]), len(text) - len(parts[-1])
    for part in parts[1:-1]:
        found = text.find(part, at, end)
        if found < 0:
            return None
        values.append(text[at:found])
        at = found + len(part)
    return [*values, text[at:end]] if at < end else None
