"""How a criterion was measured, or what was missing for it, in Chinese.

`acceptance` words it in English where it arises; here stands the Chinese of what most verdicts say, with `{}` for what
differs. A sentence that is not in the table stays English: it is never left out.
"""

from __future__ import annotations

from ...tools.phrase import in_chinese, sentences

MEASURES = sentences(
    "how criteria are measured",
    (
        ("steps {}..{} of both runs", "两次运行的第 {0}..{1} 步"),
        ("steps {}..{}", "第 {0}..{1} 步"),
        ("{} sequences", "{0} 条序列"),
        ("{} prompts", "{0} 个提示"),
        ("{} tokens each", "每个 {0} 个 token"),
        ("number of non-finite points in the window ({}, {})", "窗口内非有限值的点数（{0}，{1}）"),
        ("median in the window; at most 5% of the points above {} ({}, {})",
         "窗口内的中位数；高于 {0} 的点最多占 5%（{1}，{2}）"),
        ("median in the window ({}, {})", "窗口内的中位数（{0}，{1}）"),
        ("median of the last third minus median of the first third ({}, {})",
         "后三分之一的中位数减去前三分之一的中位数（{0}，{1}）"),
        ("relative change of the median between the two halves; 10% allowed (assumed) ({}, {})",
         "前后两半中位数的相对变化；允许 10%（假定）（{0}，{1}）"),
        ("finding {} of the check {}: not found", "检查 {1} 的发现 {0}：未出现"),
        ("finding {} at {}, by the check {}", "检查 {2} 的发现 {0}，位于 {1}"),
        ("finding {}, by the check {}", "检查 {1} 的发现 {0}"),
        ("the check {} had nothing to look at in this run ({})", "检查 {0} 在这次运行中没有可看的内容（{1}）"),
        ("no {} so far, but too short: the run must reach step {}, it ends at {}",
         "目前没有 {0}，但太短：运行必须到第 {1} 步，它在第 {2} 步结束"),
        ("no {} so far, but no step is logged", "目前没有 {0}，但日志里没有步数"),
        ("too short: the run must reach step {}, it ends at {}", "太短：运行必须到第 {0} 步，它在第 {1} 步结束"),
        ("to be read off the next run: {}", "需从下一次运行中读出：{0}"),
        ("no {} point after step {}; the run must go on", "第 {1} 步之后没有 {0} 的点；运行还要继续"),
        ("only {} points of {}", "{1} 只有 {0} 个点"),
        ("no step is logged", "日志里没有步数"),
        ("the log does not number its steps, and the run must reach step {}", "日志没有步数，而运行必须到第 {0} 步"),
        ("{} is not logged in this run", "这次运行没有记录 {0}"),
        ("sequences per optimizer step, {} before and {} now (micro-batch x accumulation x replicas)",
         "每个优化器步的序列数，之前 {0}，现在 {1}（微批 × 累积 × 副本）"),
        ("the global batch of {} cannot be computed: micro-batch, accumulation and devices are needed",
         "无法算出 {0} 的全局批大小：需要微批、累积步数和设备数"),
        ("the baseline's configuration is needed", "需要基线的配置"),
        ("not visible in the files: {}", "文件中看不到：{0}"),
        ("the run has no log to look at", "这次运行没有日志"),
        ("the run has no log that could be searched for errors", "这次运行没有可以查错的日志"),
        ("the logs show {}", "日志中有 {0}"),
        ("findings: {}", "发现：{0}"),
        ("evaluation results of the baseline and of this run are needed, with the same tasks",
         "需要基线和这次运行在相同任务上的评测结果"),
        ("needs a reference artifact: {}", "需要参照数据：{0}"),
        ("needs reference artifact: {}", "需要参照数据：{0}"),
        ("needs human labels: {}", "需要人工标注：{0}"),
        ("an artifact cannot be read: {}", "有文件无法读取：{0}"),
    ),
)  # fmt: skip


def measure(said: str, lang: str) -> str:
    """The sentence in `lang`, a metric's name and a colon before it if there is one."""
    return in_chinese(said, MEASURES) if lang == "zh" else said
