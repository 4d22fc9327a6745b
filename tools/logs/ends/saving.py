"""A process that died while it wrote a checkpoint: the last line before its end says that it begins to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...findings import Evidence, Finding, Severity, clean, declare
from ...patterns import bounded
from ..signatures.signature import CHECK
from ..texts import Text

CODES = declare("saving", ("ended-while-saving", CHECK, "the process died while it wrote a checkpoint"))
ENDED = ("native-crash", "process-killed", "killed-without-reason", "host-oom", "disk-full")
"""What says that a process is gone, behind the line that says what it was doing."""
SAVES = bounded(
    r"(?i)(?:^|[^a-z])(?:saving|writing|dumping|storing|serializing)\s.{0,60}?(?:checkpoints?|ckpt|weights?|state|model)"
    r"|(?:^|[^a-z])save_(?:checkpoint|state|model)(?:[^a-z]|$)|(?:开始|正在)?(?:保存|写入)\s?(?:检查点|模型|权重|checkpoint)"
)
DONE = bounded(
    r"(?i)(?:^|[^a-z])(?:saved|wrote|written|finished|done|complete[d]?|took)(?:[^a-z]|$)|完成|成功|已保存|已写入"
)


def ended_while_saving(texts: Mapping[str, Text], matched: Sequence[Finding]) -> Iterator[Finding]:
    """S1: the line before a death says that a checkpoint is being written, and none that it was."""
    for place in (f.evidence[0] for f in matched if f.code in ENDED and f.evidence):
        text = texts.get(place.file or "")
        said = [(n, line) for n, line in text.tail if n < (place.line or 0) and line.strip()] if text else []
        if said and SAVES.search(said[-1][1]) and not DONE.search(said[-1][1]):
            number, line = said[-1]
            yield Finding(
                "ended-while-saving", Severity.S1,
                f"{place.file}:{number} begins to write a checkpoint, and the next thing is the end of the process "
                f"({place.file}:{place.line}): that checkpoint is not whole, and writing it may be what ended the run.",
                f"{place.file}:{number} 开始写检查点，紧接着进程就结束了（{place.file}:{place.line}）："
                "这个检查点不完整，而且可能正是写检查点导致了退出。",
                (Evidence(place.file, number, text=clean(line.strip(), 200)), place),
            )  # fmt: skip
            return
