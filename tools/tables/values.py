"""What values in a column say where its name says nothing: hosts, languages, numbered labels; numbers that go on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..patterns import bounded
from .raw import words_of
from .vocabulary import metric_of

_LANGUAGES = words_of(
    "en zh de fr es it pt ru ja ko ar hi vi th id tr nl pl sv uk cs ro el he fa bn ta te ur sw fi da no hu bg sr "
    "hr sk ms zh-cn zh-tw en-us eng zho cmn deu fra spa rus jpn kor ara english chinese german french spanish "
    "italian portuguese russian japanese korean arabic hindi vietnamese thai indonesian turkish dutch polish "
    "swedish ukrainian python java cpp c++ javascript typescript go rust php ruby kotlin swift scala 中文 英文 "
    "英语 汉语 日语 法语 德语 俄语 韩语 西班牙语 阿拉伯语 葡萄牙语 意大利语 日文 韩文 法文 德文 俄文"
)
_PHASES = words_of(
    "before after pre post baseline base control treatment warmup train eval test val valid validation dev "
    "prefill decode forward backward pretrain sft dpo rlhf ppo grpo midtrain cooldown decay stable training "
    "evaluation 前 后 之前 之后 训练 验证 测试 基线 预训练 微调 升级前 升级后 变更前 变更后 改动前 改动后"
)
_SOURCES = words_of(
    "wikipedia wiki github arxiv c4 books book3 books3 commoncrawl common_crawl cc stackexchange pile fineweb "
    "refinedweb web code papers news dolma redpajama slimpajama starcoder openwebtext oscar mc4 the_stack pubmed "
    "gutenberg reddit twitter 网页 百科 书籍 新闻 代码 论文 维基 知乎 微博 小说 维基百科"
)
TASKS = re.compile(
    r"(?i)(?:^|[^a-z])(?:c?mmlu\w*|c-?eval|hellaswag|arc|winogrande|truthfulqa\w*|boolq|piqa|bbh|agieval|gsm8k\w*|lambada\w*"
    r"|openbookqa|triviaqa|nq|humaneval|mbpp|ifeval|mt_?bench|math\d*|aime\d*|gpqa\w*|drop|siqa|copa|sciq|squad\w*|race|livecodebench"
    r"|swe-?bench|needle\w*|longbench|ruler|alpacaeval|arena\w*)(?:[^a-z]|$)"
)
_ROW = bounded(
    r"^(global_step|step|iter(?:ation)?|epoch|ckpt|checkpoint|rank|gpu|cuda|npu|node|host|worker|expert|shard|layer|part"
    r"|fold|seed|run|exp|第)[-_ .:#]{0,2}(\d{1,9})(?:\s?([步轮层周天期次])|\.\w{1,8}|/)?$",
    re.IGNORECASE,
)
_ROW_OF = {"global_step": "step", "iter": "step", "iteration": "step", "ckpt": "checkpoint", "cuda": "gpu",
           "npu": "gpu",
           "node": "host", "worker": "rank", "part": "shard", "fold": "phase", "seed": "variant",
           "run": "variant",
    "exp": "variant", "第步": "step", "第轮": "epoch", "第层": "layer", "第周": "time", "第天": "time", "第期": "time",
           "第次": "index", "第": "index"}  # fmt: skip
AXIS_KINDS = frozenset(("step", "epoch", "checkpoint", "time", "index"))
_HOST = bounded(
    r"^(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|(?:node|host|gpu|worker|server|dgx|cn|compute|ip|hgx|h100|a100|slurm|nid|pod"
    r"|rack)[-_]?[\w.-]*\d[\w.-]*)$",
    re.I,
)
_GPU = re.compile(
    r"(?i)^(?:(?:nvidia|amd|tesla|geforce|ascend|huawei|intel)[ -]|cuda:\d|gpu-?\d|[ah]\d{2,3}|[bv]100|rtx|mi\d{3}"
    r"|npu\d|910b)"
)
_ANNOTATOR = bounded(r"^(?:annotator|rater|ann|labeler|reviewer|judge|标注员|评审|标注)[-_ ]?\w{1,8}$", re.I)
STATUS = words_of(
    "ok ko pass passed fail failed failure error errors success succeeded successful running completed complete "
    "done pending queued active inactive idle ready notready unknown cancelled canceled timeout out_of_memory oom "
    "node_fail true false yes no on off warning warn info debug critical fatal healthy unhealthy degraded skipped "
    "stopped started finished crashloopbackoff terminating imagepullbackoff r pd cg cd f ca to good bad normal "
    "abnormal excellent poor enabled disabled up down stop length default 成功 失败 正常 异常 运行中 完成 已完成 "
    "等待 超时 错误 通过 未通过 中断 排队 已取消 健康 警告 告警 偏高 偏低 崩溃 是 否 合格 不合格 优 良 差 中"
)
_IDENTIFIER = bounded(
    r"^(?:[0-9a-f]{6,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]{1,12}[-_#]?\d{3,}|\d{4,}(?:[._]\w{1,12})?"
    r"|\w{0,20}[-_][0-9a-f]{6,40}|\S{0,200}/\S{1,200}|[\w.-]{1,80}\.(?:json|jsonl|txt|py|pt|bin|parquet|safetensors|csv))$",
    re.I,
)
SHARE = 0.7
"""Part of the values that must be of a kind."""
RISING = 0.8
"""Part of the differences that may not be negative on the way of a run; restarts and ranks go back now and then."""
TURNED_UP = 8
"""Times that a load is turned up at least from the first row of a benchmark to the last."""


def kind_of(texts: Sequence[str]) -> str:
    """Kind of group that most of the texts are, `metric` where they are names of metrics; empty for none."""
    values = list(dict.fromkeys(t for t in texts if t))[:200]
    if not values:
        return ""
    low = [v.lower() for v in values]
    tests = (
        ("language", lambda v: v in _LANGUAGES),
        ("phase", lambda v: v in _PHASES),
        ("source", lambda v: v in _SOURCES),
        ("metric", lambda v: metric_of(v) is not None and v not in ("loss/",)),
        ("task", lambda v: TASKS.search(v) is not None),
        ("annotator", lambda v: _ANNOTATOR.match(v) is not None),
        ("gpu", lambda v: _GPU.match(v) is not None),
        ("host", lambda v: _HOST.match(v) is not None),
    )
    for kind, fits in tests:
        if sum(map(fits, low)) >= SHARE * len(low):
            return kind
    return ""


def numbered(texts: Sequence[str]) -> tuple[str, list[float]] | None:
    """Kind and number of labels like `step_100`, `checkpoint-500`, `rank3`; None where one is not such a label."""
    kinds: set[str] = set()
    numbers: list[float] = []
    for text in texts:
        match = _ROW.match(text.rsplit("/", 1)[-1]) if text else None
        if text and not match:
            return None
        if match:
            kinds.add((match[1] + (match[3] or "") if match[1] == "第" else match[1]).lower())
        numbers.append(float(match[2]) if match else float("nan"))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    return _ROW_OF.get(kind, kind), numbers


def status_words(texts: Sequence[str]) -> bool:
    """Whether the column says how something went."""
    values = {t.lower().split(" ")[0] for t in texts if t}
    return sum(v in STATUS for v in values) >= SHARE * len(values) if values else False


def identifying(texts: Sequence[str]) -> bool:
    """Whether the texts name one thing each: hashes, paths, numbered names, no two alike."""
    values = [t for t in texts if t]
    if len(set(values)) < 0.9 * len(values) or len(values) < 2:
        return False
    return sum(_IDENTIFIER.match(v) is not None for v in values[:500]) >= SHARE * min(len(values), 500)


def _told(numbers: np.ndarray) -> np.ndarray:
    """The values that stand there, endless ones as the largest."""
    return np.clip(numbers[~np.isnan(numbers)], -1e300, 1e300)


def rising(numbers: np.ndarray, strictly: bool = False) -> bool:
    """Whether values go on as on the way of a run."""
    finite = _told(numbers)
    if len(finite) < 2 or finite.max() == finite.min():
        return len(finite) == 1
    steps = np.diff(finite)
    return bool((steps > 0 if strictly else steps >= 0).mean() >= (RISING if not strictly or len(finite) > 5 else 1.0))


def is_whole(numbers: np.ndarray) -> bool:
    finite = numbers[np.isfinite(numbers)]
    return bool(len(finite)) and bool((finite == np.floor(finite)).all())


def few(numbers: np.ndarray) -> bool:
    """Whether a few values come again and again, or there are but a few."""
    finite = numbers[np.isfinite(numbers)]
    distinct = len(np.unique(finite))
    return distinct <= 64 or distinct * 2 <= len(finite)


def is_sweep(numbers: np.ndarray) -> bool:
    """Whether values were chosen and not measured: going up or down, or a few of them in every combination."""
    finite = _told(numbers)
    if len(finite) < 2 or finite.max() == finite.min():
        return False
    distinct = len(np.unique(finite))
    return rising(finite) or rising(-finite) or distinct * 2 <= len(finite)


def multiplied(numbers: np.ndarray) -> bool:
    """Whether each value is a like multiple of the one before (1, 2, 4, 8): a load turned up, and no steps."""
    finite = _told(numbers)
    if len(finite) < 4 or finite.min() <= 0 or finite[-1] < TURNED_UP * finite[0]:
        return False
    added, times = np.diff(finite), np.diff(np.log(finite))
    return bool(np.std(times) / np.mean(times) < np.std(added) / np.mean(added) / 2)


def steady(numbers: np.ndarray) -> bool:
    """Whether values hardly move: the time of one step, not the time since the start."""
    finite = numbers[np.isfinite(numbers)]
    return bool(len(finite)) and finite.max() < 2 * max(finite.min(), 1e-9)


def steps_by_one(numbers: np.ndarray) -> bool:
    """Whether values count up: the same distance between all of them, which for a few is one."""
    steps = np.diff(numbers[np.isfinite(numbers)])
    return (
        len(steps) > 1 and bool((steps == steps[0]).all()) and bool(steps[0] == 1 or (steps[0] > 0 and len(steps) > 9))
    )
