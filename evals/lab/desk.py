"""A stranger's desk: tables, notes and reports left beside a run, in a shape drawn at random.

File and folder names, separators, headers, units, language and decimals follow from the seed alone; what a file says
comes from the caller. Writes files only: what is in them is decided, and where it can be is measured, elsewhere.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .parts import Parts, Trace

Variant = tuple[str, float]
"""A header and what the base unit is multiplied by to fit it."""
COLUMNS: dict[str, tuple[Variant, ...]] = {
    "step": (("step", 1), ("iter", 1), ("global_step", 1), ("it", 1), ("步数", 1)),
    "rank": (("rank", 1), ("local_rank", 1), ("gpu", 1), ("device_id", 1), ("卡号", 1)),
    "host": (("host", 1), ("node", 1), ("hostname", 1), ("机器", 1)),
    "step_time": (("step_time_s", 1), ("step_ms", 1e3), ("sec/iter", 1), ("iter time (ms)", 1e3), ("单步耗时", 1)),
    "compute_time": (("compute_s", 1), ("fwd_bwd_ms", 1e3), ("t_compute (ms)", 1e3), ("计算耗时(ms)", 1e3)),
    "sync_time": (("comm_s", 1), ("allreduce_ms", 1e3), ("t_sync (ms)", 1e3), ("通信耗时(ms)", 1e3)),
    "data_time": (("data_time", 1), ("loader_wait_ms", 1e3), ("t_data [ms]", 1e3), ("取数等待(ms)", 1e3)),
    "clock": (("sm_clock_mhz", 1), ("clocks.sm [MHz]", 1), ("SM clock (GHz)", 1e-3), ("核心频率MHz", 1)),
    "heat": (("temp_c", 1), ("temperature.gpu", 1), ("GPU temp [C]", 1), ("温度", 1)),
    "bandwidth": (("busbw_gbps", 1), ("busbw (MB/s)", 1e3), ("bus bandwidth [GB/s]", 1), ("总线带宽GB/s", 1)),
    "width": (("pcie.link.width.current", 1), ("link width", 1), ("lanes", 1), ("链路宽度", 1)),
    "memory": (("rss_mib", 1), ("mem_used_GiB", 1 / 1024), ("resident (MiB)", 1), ("占用内存(MiB)", 1)),
    "lr": (("lr", 1), ("learning_rate", 1), ("lr (1e-3)", 1e3), ("学习率", 1)),
    "batch": (("gbs", 1), ("global batch", 1), ("seqs/step", 1), ("全局批大小", 1)),
    "loss": (("loss", 1), ("train_loss", 1), ("ce", 1), ("训练loss", 1)),
    "held": (("val_loss", 1), ("dev_ce", 1), ("eval/loss", 1), ("验证loss", 1)),
    "source": (("source", 1), ("domain", 1), ("subset", 1), ("数据来源", 1)),
    "share": (("share", 1), ("mix (%)", 100), ("weight", 1), ("占比(%)", 100)),
    "score": (("score", 1), ("score (%)", 100), ("f1", 1), ("得分(%)", 100)),
    "error": (("stderr", 1), ("± (%)", 100), ("se", 1), ("标准误(%)", 100)),
    "count": (("n", 1), ("items", 1), ("n_samples", 1), ("样本数", 1)),
    "file": (("file", 1), ("shard", 1), ("path", 1), ("文件", 1)),
    "removed": (("removed", 1), ("removed_pct", 100), ("drop_ratio", 1), ("去除比例(%)", 100)),
    "length": (("tokens", 1), ("len", 1), ("n_tokens", 1), ("长度", 1)),
    "item": (("item_id", 1), ("qid", 1), ("id", 1), ("题号", 1)),
    "pair": (("pair_id", 1), ("pair", 1), ("cmp", 1), ("对比编号", 1)),
    "who": (("annotator", 1), ("labeler", 1), ("rater", 1), ("标注员", 1)),
    "label": (("label", 1), ("choice", 1), ("preferred", 1), ("标注结果", 1)),
    "order": (("order", 1), ("shown_first", 1), ("first_position", 1), ("展示顺序", 1)),
    "judge": (("judge", 1), ("judge_model", 1), ("grader", 1), ("评审模型", 1)),
    "winner": (("verdict", 1), ("winner", 1), ("judgement", 1), ("胜者", 1)),
    "overlap": (("max_ngram_overlap", 1), ("overlap (%)", 100), ("containment", 1), ("重合率(%)", 100)),
    "right": (("correct", 1), ("hit", 1), ("is_correct", 1), ("是否正确", 1)),
    "precision": (("weights", 1), ("dtype", 1), ("format", 1), ("权重格式", 1)),
    "reward": (("reward", 1), ("rm_score", 1), ("r", 1), ("奖励分", 1)),
    "temperature": (("temperature", 1), ("temp", 1), ("sampling.temperature", 1), ("采样温度", 1)),
    "job": (("job", 1), ("JobID", 1), ("attempt", 1), ("任务号", 1)),
    "why": (("why", 1), ("finish_reason", 1), ("stopped_by", 1), ("结束原因", 1)),
    "text": (("text", 1), ("output", 1), ("response", 1), ("输出", 1)),
    "state": (("state", 1), ("status", 1), ("State", 1), ("状态", 1)),
    "run": (("run", 1), ("exp", 1), ("run_name", 1), ("实验", 1)),
}  # fmt: skip
"""What a column means, and how people head it; the base unit is seconds, MHz, degrees, GB/s, MiB, or a share of one."""
FOLDERS = ("", "", "notes/", "monitor/", "exports/", "stuff/", "out/", "docs/", "杂项/")
TABLES = (
    "dump",
    "export",
    "sheet1",
    "table",
    "stats",
    "report",
    "20260611",
    "data_0611",
    "untitled",
    "汇总",
    "记录",
    "v2",
)
NOTES = ("notes", "NOTES", "log", "worklog", "diary", "handover", "readme_first", "changes", "交接", "备忘", "运行记录")
PLANS = ("plan", "proposal", "spec", "budget", "方案", "计划")


@dataclass
class Desk:
    """Where the files of one run are left; everything drawn comes from `rng`."""

    parts: Parts
    trace: Trace
    rng: random.Random
    fixed: bool
    """Whether a repair has put right what the files tell of."""
    taken: set[str] = field(default_factory=set)

    @property
    def chinese(self) -> bool:
        return self.rng.random() < 0.35

    def _file(self, stems: Sequence[str], ending: str) -> Any:
        """A file that is not there yet, in a folder that may have to be made."""
        while (name := f"{self.rng.choice(FOLDERS)}{self.rng.choice(stems)}{ending}") in self.taken:
            stems = [f"{s}{self.rng.choice(['_2', '-b', '_new', '(1)'])}" for s in stems]
        self.taken.add(name)
        file = self.parts.folder / name
        file.parent.mkdir(exist_ok=True)
        return file

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """A table of base-unit values under drawn headers, as CSV with a drawn separator, Markdown or JSON lines."""
        named = self.rng.random() < 0.25
        drawn = [self.rng.choice([v for v in COLUMNS[c] if v[0].isascii() != named] or COLUMNS[c]) for c in columns]
        digits = self.rng.choice((3, 4, 5))
        heads = [head for head, _ in drawn]
        cells = [[_cell(v, f, digits) for v, (_, f) in zip(row, drawn, strict=True)] for row in rows]
        shape = self.rng.choice(("csv", "csv", "csv", "tsv", "semicolon", "markdown", "lines"))
        if shape == "lines":
            text = "".join(json.dumps(dict(zip(heads, row, strict=True)), ensure_ascii=False) + "\n" for row in cells)
            self._file(TABLES, ".jsonl").write_text(text, encoding="utf-8")
            return
        if shape == "markdown":
            body = ["| " + " | ".join(map(str, row)) + " |" for row in [heads, ["---"] * len(heads), *cells]]
            self._file(TABLES, ".md").write_text("\n".join(body) + "\n", encoding="utf-8")
            return
        mark, ending = {"csv": (",", ".csv"), "tsv": ("\t", ".tsv"), "semicolon": (";", ".csv")}[shape]
        with self._file(TABLES, ending).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=mark, lineterminator="\n").writerows([heads, *cells])

    def note(self, lines: Sequence[tuple[str, str]], plan: bool = False) -> None:
        """Lines in one of two languages (English, Chinese), as bullets, dated or plain."""
        which, style = int(self.chinese), self.rng.choice(("dated", "bullets", "plain"))
        if plan and style == "dated":
            style = "bullets"
        days = sorted(self.rng.sample(range(1, 28), len(lines)))
        month = self.rng.randint(1, 12)
        marks = {"dated": [f"2026-{month:02d}-{day:02d} " for day in days], "bullets": ["- "] * len(lines)}
        heads = marks.get(style, [""] * len(lines))
        text = "".join(f"{head}{line[which]}\n" for head, line in zip(heads, lines, strict=True))
        self._file(PLANS if plan else NOTES, self.rng.choice((".md", ".txt"))).write_text(text, encoding="utf-8")

    def object(self, stems: Sequence[str], told: Mapping[str, Any]) -> None:
        """A JSON object, indented or not."""
        text = json.dumps(told, indent=self.rng.choice((None, 1, 2, 4)), ensure_ascii=False)
        self._file(stems, ".json").write_text(text + "\n", encoding="utf-8")

    def source(self, stems: Sequence[str], ending: str, text: str) -> None:
        """A file of code, or a diff."""
        self._file(stems, ending).write_text(text, encoding="utf-8")


def _cell(value: Any, factor: float, digits: int) -> Any:
    if isinstance(value, float):
        scaled = value * factor
        return round(scaled, digits) if abs(scaled) >= 0.01 or scaled == 0 else float(f"{scaled:.3g}")
    return round(value * factor, digits) if isinstance(value, int) and factor != 1 else value
