"""The text files of a run with what each is for, and `key value` pairs with the section that they stand in.

A role is told by the words of a file and of its name; a file of no role is not compared with any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from ...findings import Evidence, TriageError
from ...patterns import bounded
from ...reading import head
from ...run import Run

BYTES, LINES, FILES, WIDE = 1 << 20, 20_000, 120, 2000
"""Bytes and lines of a file, files of a run, and letters of a line that are read."""
BINARY = frozenset((".safetensors", ".bin", ".pt", ".pth", ".npz", ".npy", ".gz", ".zst", ".zip", ".png", ".jpg",
                    ".pdf", ".parquet", ".arrow", ".model", ".ipynb", ".pkl", ".gguf"))  # fmt: skip
Role = Literal["model", "merge", "serve", "train", ""]
MERGES = bounded(
    r"(?i)(?:^|[^a-z])(?:merge[sdr]?|merging|fus(?:e[sd]?|ing)|fold(?:s|ed|ing)?|bak(?:e[sd]?|ing)|merge_and_unload"
    r"|merge_?lora|export_dir|collapse[sd]?|flatten(?:ed)?)(?:$|[^a-z])|合并|融合|并入|折叠"
)
NO_MERGE = bounded(
    r"(?i)n_merges|(?:tokenizer|bpe|ggml|vocab\w{0,10})[\w.\[\]\"': -]{0,24}merges"
    r"|merges(?:\.txt|_file|[\"']?\s?[:=]\s?\[)|merged? (?:branch|pull|request|commit)"
    r"|(?:^|[^a-z])fused[ _-]?(?:adam\w*|optim\w*|attn|attention|qkv|mlp|moe|norm|rms\w*|rope|softmax|kernels?"
    r"|layer\w*|ops?|bias\w*|gelu|swiglu|cross\w*|ce|linear\w*|recurrent|gdn|gated)"
    r"|(?:adamw?|optim|attn|kernel)\w{0,12}[ _-]fused|[\"']?fused[\"']?\s?[:=]|(?:cuda|hip|metal|vulkan) graph"
)
"""The merges of a tokenizer, fused kernels, and branches of a repository: nothing is merged into a model there."""
PACKS = bounded(r"(?i)(?:^|[^a-z])(?:exports?|export(?:ed|ing)|pack(?:s|ed|er|ing)?|releases?)(?:$|[^a-z])|导出|打包")
ESCAPED = bounded(r"\\u([2-9a-f][0-9a-fA-F]{3})")
EVALUATES = bounded(r"(?i)(?:^|[^a-z])(?:evals?|bench\w*|scores?|tests?|probe)(?:$|[^a-z])|评测|测试")
RATE = bounded(r"(?i)(?:^|[^a-z])(?:lr|learning_?rate)[\"']?\s?[:=]\s?[\"']?\d")
SCORED = bounded(r"(?i)[\"'][^\"']{0,40}(?:acc|f1|score|temperature|rubric|em|pass@\d)[^\"']{0,20}[\"']\s?:")
ADAPTER = bounded(r"(?i)adapter|lora|\bdelta\b|\|d\w?\||适配器")
SERVES = bounded(
    r"(?i)\bvllm\b|sglang|lmdeploy|llama-server|text-generation-launcher|trtllm|--hf-overrides|--max-model-len"
    r"|api_server|--json-model-override"
)
SERVED = bounded(
    r"(?i)(?:^|[^a-z])(?:serv(?:e|ed|er|ing|ice)|svc|deploy(?:ed|ment)?|export(?:ed|s)?|infer(?:ence)?|release[sd]?|prod"
    r"|online|to_?hf|hf_?out|gateway|convert(?:ed)?)(?:$|[^a-z])|部署|线上|推理|导出|上线|服务|转换|发布"
)
TRAINED = bounded(
    r"(?i)(?:^|[^a-z])(?:train(?:ed|er|ing)?|cpt|sft|dpo|pretrain|finetune|tun(?:e|ing)|stage\d?|fit)(?:$|[^a-z])"
    r"|训练|微调|续训|预训|长文阶段"
)
LEARNS = bounded(
    r"(?i)(?:^|[^a-z])(?:lr|learning_?rate|eta|grad_?norm|gn|lm_?loss|loss|optim(?:izer)?|warm(?:_?up)?)[\"']?\s?[:= ]"
    r"|损失|学习率"
)

QUOTES = bounded(r"\"\"\"|'''")


@dataclass(frozen=True)
class Text:
    """One text file of a run."""

    name: str
    path: Path
    lines: tuple[str, ...]

    @cached_property
    def role(self) -> Role:
        """What the file is for, by its name and its words."""
        learns = sum(1 for line in self.lines if LEARNS.search(line[:400]))
        base = PurePosixPath(self.name).name
        if any(key in self.whole for key in ('"hidden_size"', '"num_attention_heads"')) and self.lines[0][:1] == "{":
            return "model"
        log = learns >= 8
        if not log and self._merges(base):
            return "merge"
        if not log and (self.has(SERVES) or (SERVED.search(self.name) and not TRAINED.search(self.name))):
            return "serve"
        if base.endswith((".yaml", ".yml", ".toml", ".json", ".cfg", ".ini")) and self.has(RATE):
            return "train"
        return "train" if learns >= 2 or (learns and TRAINED.search(self.name)) or TRAINED.search(base) else ""

    def _merges(self, base: str) -> bool:
        named = MERGES.search(base) or MERGES.search(self.name)
        some = any(
            MERGES.search(line[:400]) and not NO_MERGE.search(line[:400]) and not line.lstrip().startswith(("#", "//"))
            for line in self.run[:200]
        )
        packs = PACKS.search(self.name) and any(ADAPTER.search(line[:400]) for line in self.lines[:200])
        suffix = base.rpartition(".")[2].lower()
        told = suffix in ("md", "csv", "tsv", "jsonl") or (suffix == "txt" and not (named or PACKS.search(self.name)))
        return bool(
            (named or some or packs)
            and not told
            and not EVALUATES.search(base)
            and not (suffix == "json" and SCORED.search(self.whole))
        )

    @cached_property
    def whole(self) -> str:
        return "\n".join(self.lines[:400])

    @cached_property
    def run(self) -> tuple[str, ...]:
        """The lines, of a program those in texts over several lines left empty: what they say is told, and not done."""
        if not self.name.endswith(".py"):
            return self.lines
        kept, open_ = list[str](), ""
        for line in self.lines:
            inside, rest = bool(open_), line
            while (found := (re.search(re.escape(open_), rest) if open_ else QUOTES.search(rest))) is not None:
                open_, rest = "" if open_ else found[0], rest[found.end() :]
            kept.append("" if inside or open_ else line)
        return tuple(kept)

    def has(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(line[:WIDE]) for line in self.lines[:400])

    def at(self, number: int) -> Evidence:
        return Evidence(self.name, number, text=self.lines[number - 1].strip()[:200])


def texts(run: Run) -> list[Text]:
    """The text files of a run, also those that no reader knows."""
    paths = {a.name: a.path for a in run.artifacts} | {s.name: run.root / s.name for s in run.unknown}
    for artifact in [a for a in run.of("checkpoint") if a.path.is_dir()][:20]:
        below = (p for p in sorted(artifact.path.glob("*.json"))[:8])
        paths |= {(f"{artifact.name}/{p.name}").removeprefix("./"): p for p in below}
    found = []
    for name, path in list(paths.items())[:FILES]:
        with suppress(TriageError, OSError):
            if path.is_file() and path.suffix.lower() not in BINARY:
                text = head(path, BYTES).decode("utf-8", "replace")
                if path.suffix == ".json" and "\\u" in text:
                    text = ESCAPED.sub(lambda m: chr(int(m[1], 16)), text)
                if "\0" not in text[:4096] and (lines := tuple(line[:WIDE] for line in text.splitlines()[:LINES])):
                    found.append(Text(name, path, lines))
    return found


def rows(text: Text) -> Iterator[tuple[int, str]]:
    """The lines of a file, those of a table with a header as `name=value name=value`."""
    cut = {"csv": ",", "tsv": "\t"}.get(text.name.rpartition(".")[2].lower())
    if cut is None:
        yield from enumerate(text.lines, 1)
        return
    names = [n.strip().strip('"') for n in text.lines[0].split(cut)]
    for number, line in enumerate(text.lines[1:], 2):
        yield number, " ".join(f"{n}={v.strip()}" for n, v in zip(names, line.split(cut), strict=False))


SECTION = bounded(r"^\s*\[{1,2}([\w. -]{1,60})\]{1,2}\s*$")
HEADING = bounded(r"^(\s*)(?:- )?[\"']?([A-Za-z_\u3400-\u9fff][\w./-]{0,60})[\"']?\s?:\s?\{?\s*$")


def sections(text: Text) -> Iterator[tuple[int, str, str]]:
    """(line number, line without its comment, the headings that it stands below)."""
    part, open_ = "", list[tuple[int, str]]()
    for number, raw in enumerate(text.lines, 1):
        line = raw.split(" #")[0] if not text.name.endswith((".md", ".txt")) else raw
        if not line.strip() or line.lstrip().startswith(("#", "//", ";")):
            continue
        if (found := SECTION.match(line)) is not None:
            part, open_ = found[1], []
            continue
        deep = len(line) - len(line.lstrip())
        open_ = [(d, name) for d, name in open_ if d < deep]
        if (found := HEADING.match(line)) is not None:
            open_.append((deep, found[2]))
        yield number, line, ".".join((part, *(name for _, name in open_)))
