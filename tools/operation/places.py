"""Training, export and serving of one model against each other: positions, chat template, number format.

Each place says what it does in a file of its own, and nothing compares them when the model is handed on. What one file
says against itself is judged in `tools.config.lint`, copies of one file in `tools.config.copies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..config.collect import Reading
from ..config.read import read_file
from ..config.syntax.source import Refused
from ..findings import PROPOSES, Check, Evidence, Finding, Report, Severity, TriageError, declare
from ..patterns import bounded
from ..reading import head
from ..run import Run
from ..settings import Setting
from . import rendered
from .handed.read import texts
from .handed.rotary import START, rotary

CHECK = "training, export and serving against each other"
CODES = declare(
    "places",
    ("rope-lost-at-export", CHECK, "positions are scaled in training and not in the exported model"),
    ("rope-differs-at-export", CHECK, "positions are scaled in the exported model, but not as in training"),
    ("template-differs-when-served", CHECK, "the model is served with a chat template it was not trained with"),
    ("template-not-the-models", CHECK, "training names a chat template of another family than the model's own"),
    ("dtype-differs-when-served", CHECK, "the model is trained in bf16 and served in fp16"),
)
FILES, BYTES = 60, 1 << 18
"""Files that are looked at, and bytes of a template or program."""
SERVERS = frozenset(
    ("vllm", "sglang", "lmdeploy", "tgi", "tensorrt-llm", "tensorrt_llm", "llama.cpp", "llama_cpp", "llama-cpp")
)
TRAINS = ("learning_rate", "epochs", "max_steps", "grad_accumulation", "train_tokens")
FAMILIES = {
    "chatml": (bounded(r"<\|im_start\|>"), bounded(r"(?i)chat_?ml|qwen|^yi\b|im_start")),
    "llama3": (bounded(r"<\|start_header_id\|>"), bounded(r"(?i)llama-?_?3")),
    "inst": (bounded(r"\[/?INST\]"), bounded(r"(?i)llama-?_?2|mi[sx]tral|(?:^|[_/-])inst(?:[_.-]|$)")),
    "gemma": (bounded(r"<start_of_turn>"), bounded(r"(?i)gemma")),
    "zephyr": (bounded(r"<\|user\|>"), bounded(r"(?i)zephyr|phi-?_?3|glm-?_?4|chatglm3")),
    "deepseek": (bounded(r"<｜User｜>"), bounded(r"(?i)deepseek")),
    "alpaca": (bounded(r"### ?Instruction"), bounded(r"(?i)alpaca")),
    "vicuna": (bounded(r"\bUSER:"), bounded(r"(?i)vicuna")),
}
"""Families of chat templates -> (what stands in such a template, what such a template is called)."""
WRITES_NONE = bounded(r"[\"']rope_scaling[\"']\s*[\]:]\s*(?:=\s*)?None\b|\brope_scaling\s*=\s*None\b")


@dataclass(frozen=True)
class Places:
    """The files of a run by what they are for."""

    trained: tuple[Reading, ...]
    exported: tuple[Reading, ...]
    tokenizers: tuple[Reading, ...]
    served: tuple[Reading, ...]


def check_places(run: Run) -> Report:
    """Where what training, export and serving say of one model is not the same."""
    places = _places(run)
    positions = [*_positions(places, run), *_scaled_otherwise(places)] or [*rotary(texts(run))]
    found = [*positions, *_templates(places, run), *_formats(places)]
    if not any(f.code == "template-differs-when-served" for f in found):
        found += rendered.apart(run)
    trained, own = _first(places.trained, "chat_template"), _first(places.tokenizers, "chat_template")
    families = tuple(_template(run, s) if s is not None else "" for s in (trained, own))
    found += rendered.not_its_own(trained, own, (families[0], families[1]), places.served)
    looked = found or bool(places.trained and (places.exported or places.served))
    result = "found" if found else "clear" if looked else "not-applicable"
    return Report("places", tuple(found), (Check(CHECK, result),))


def _places(run: Run) -> Places:
    readings = []
    for artifact in [a for a in run.of("config", "script", "tokenizer") if a.path.suffix != ".ipynb"][:FILES]:
        with suppress(Refused, TriageError, OSError, RecursionError):
            readings.append(read_file(artifact.path, artifact.name))
    servers = tuple(r for r in readings if r.framework in SERVERS or _serves(r))
    return Places(
        tuple(r for r in readings if r not in servers and any(v in r.values for v in TRAINS)),
        tuple(r for r in readings if r.role == "model"),
        tuple(r for r in readings if r.role == "tokenizer"),
        servers,
    )


def _serves(reading: Reading) -> bool:
    engine = any(v in reading.values for v in ("gpu_memory_utilization", "max_num_seqs"))
    return engine and not any(v in reading.values for v in TRAINS)


def _first(readings: Sequence[Reading], variable: str) -> Setting | None:
    return next((r.values[variable] for r in readings if variable in r.values), None)


def _number(setting: Setting | None) -> float | None:
    value = setting.value if setting is not None else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _positions(places: Places, run: Run) -> Iterator[Finding]:
    """Scaling of positions that the exported configuration has lost."""
    kind, factor, original = (_first(places.trained, v) for v in
                              ("rope_scaling_type", "rope_scaling_factor", "rope_original_positions"))  # fmt: skip
    said = kind or factor
    if said is None or _first(places.served, "rope_scaling_factor") or (_number(factor) or 2.0) <= 1:
        return
    long = _number(_first(places.trained, "sequence_length"))
    for export in places.exported:
        positions = _number(export.values.get("max_position_embeddings"))
        kept = "rope_scaling_type" in export.values or "rope_scaling_factor" in export.values
        stretched = positions and ((long and positions >= long) or ((n := _number(original)) and positions > n))
        if not kept and stretched:
            yield _lost(export, [s for s in (kind, factor, original) if s is not None], run)
            return


def _scaled_otherwise(places: Places) -> Iterator[Finding]:
    """Scaling of positions that is in the exported configuration with other numbers than in training."""
    if _first(places.served, "rope_scaling_factor"):
        return  # the server overrides what was exported
    for export in [e for e in places.exported if not START.search(e.name.rpartition("/")[0])]:
        for variable in (*KEYS, "rope_theta"):
            was, now = _first(places.trained, variable), export.values.get(variable)
            if was is None or now is None or now.value in [r.values[variable].value for r in places.trained
                                                          if variable in r.values]:  # fmt: skip
                continue
            reach = [_reach([_first(places.trained, v) for v in REACH]), _reach([export.values.get(v) for v in REACH])]
            far = f", which reaches {reach[1]:.0f} positions and not {reach[0]:.0f}" if all(reach) else ""
            far_zh = f"，只能到 {reach[1]:.0f} 个位置，而不是 {reach[0]:.0f}" if all(reach) else ""
            farther = all(reach) and (reach[1] or 0) > (reach[0] or 0)
            yield Finding(
                "rope-differs-at-export", Severity.S2 if farther else Severity.S1,
                f"{was.file}:{was.line} trains with {was.key} {was.raw}, the exported {now.file}:{now.line} has "
                f"{now.raw}{far}: the served model sees positions at other angles than it learned.",
                f"{was.file}:{was.line} 训练时 {was.key} 为 {was.raw}，导出的 {now.file}:{now.line} 为 {now.raw}"
                f"{far_zh}：线上模型看到的位置角度与训练不同。",
                (was.evidence(), now.evidence()),
                {"variable": variable, "trained": was.value, "exported": now.value,
                 PROPOSES: {"variable": variable, "new": was.value, "file": now.file, "line": now.line,
                            "key": now.key, "old": now.raw}},
            )  # fmt: skip
            return


REACH = ("rope_scaling_factor", "rope_original_positions")


def _reach(said: Sequence[Setting | None]) -> float | None:
    """How many positions a scaling reaches."""
    factor, original = map(_number, said)
    return factor * original if factor and original else None


def _lost(export: Reading, said: Sequence[Setting], run: Run) -> Finding:
    line, text = _line_of(run, export.name, "rope_scaling")
    words = ", ".join(f"{s.key.rpartition('.')[2]} {s.raw}" for s in said)
    spelled = "{" + ", ".join(f'"{KEYS[s.variable]}": {_spelled(s)}' for s in said) + "}"
    program = list(_none_in_code(run))
    by = f"; {program[0].file}:{program[0].line} writes it so" if program else ""
    by_zh = f"；由 {program[0].file}:{program[0].line} 写成" if program else ""
    there = text.strip().rstrip(",") or "has no rope_scaling"
    return Finding(
        "rope-lost-at-export", Severity.S1,
        f"{said[0].file}:{said[0].line} trains with scaled positions ({words}), the exported {export.name}"
        f"{f':{line}' if line else ''} does not scale them ({there}){by}: beyond the original length the served model "
        "sees positions that it never learned.",
        f"{said[0].file}:{said[0].line} 训练时缩放了位置编码（{words}），导出的 {export.name}"
        f"{f':{line}' if line else ''} 没有（{there}）{by_zh}：超过原长度后，线上模型看到的位置从未学过。",
        (*(s.evidence() for s in said[:2]), Evidence(export.name, line, text=text.strip()), *program[:1]),
        {"trained": {s.variable: s.value for s in said}, "exported": export.name,
         PROPOSES: {"variable": said[0].variable, "new": spelled, "file": export.name, "line": line,
                    "key": "rope_scaling", "old": text.partition(":")[2].strip().rstrip(",") or ""}},
    )  # fmt: skip


KEYS = {"rope_scaling_type": "rope_type", "rope_scaling_factor": "factor",
        "rope_original_positions": "original_max_position_embeddings"}  # fmt: skip


def _spelled(setting: Setting) -> str:
    return f'"{setting.value}"' if isinstance(setting.value, str) else f"{setting.value}"


def _path(run: Run, name: str) -> Path | None:
    return next((a.path for a in run.artifacts if a.name == name), None)


def _line_of(run: Run, name: str, word: str) -> tuple[int | None, str]:
    path = _path(run, name)
    with suppress(TriageError, OSError):
        text = head(path, BYTES).decode("utf-8", "replace") if path else ""
        return next(((i, t[:200]) for i, t in enumerate(text.splitlines(), 1) if word in t), (None, ""))
    return None, ""


def _none_in_code(run: Run) -> Iterator[Evidence]:
    """Lines of the run's programs that write no scaling into a configuration."""
    for artifact in [a for a in run.of("code", "config") if a.path.suffix == ".py"][:FILES]:
        with suppress(TriageError, OSError):
            text = head(artifact.path, BYTES).decode("utf-8", "replace")
            for i, line in enumerate(text.splitlines(), 1):
                if WRITES_NONE.search(line[:1000]):
                    yield Evidence(artifact.name, i, text=line.strip()[:200])


def family(text: str) -> str:
    """The family of a template, by what stands in it or by what it is called; empty where neither says."""
    inside = next((name for name, (marks, _) in FAMILIES.items() if marks.search(text)), "")
    short = len(text) < 200 and "{" not in text
    return inside or (next((n for n, (_, named) in FAMILIES.items() if named.search(text)), "") if short else "")


def _template(run: Run, setting: Setting) -> str:
    """The family of the template that a setting names: of the file where the run has it."""
    value, files = (
        str(setting.value),
        {a.name: a.path for a in run.artifacts} | {s.name: run.root / s.name for s in run.unknown},
    )
    base = PurePosixPath(value).name
    names = [n for n in files if n == value.removeprefix("./") or PurePosixPath(n).name == base] if base else []
    for name in sorted(names, key=lambda n: not value.endswith(n)):
        with suppress(TriageError, OSError):
            if found := family(head(files[name], BYTES).decode("utf-8", "replace")):
                return found
    return family(value)


def _templates(places: Places, run: Run) -> Iterator[Finding]:
    """The template of the server against that of training, or the tokenizer's own."""
    served = _first(places.served, "chat_template")
    own, trained = _first(places.tokenizers, "chat_template"), _first(places.trained, "chat_template")
    before = trained or own
    if served is None or before is None or before.file == served.file:
        return
    there, here = _template(run, served), _template(run, before)
    if not there or not here or there == here:
        return
    also = [own.evidence()] if own is not None and own is not before and _template(run, own) == here else []
    new = f"remove it: the tokenizer's own template ({here}) is the one of training" if also else f"the {here} template"
    yield Finding(
        "template-differs-when-served", Severity.S1,
        f"{before.file}:{before.line} trains with the {here} template ({_short(before)}), {served.file}:{served.line} "
        f"serves with {_short(served)}, of the family {there}: the model has never seen its marks, and its turns do "
        "not end where the server stops.",
        f"{before.file}:{before.line} 训练用的是 {here} 模板（{_short(before)}），{served.file}:{served.line} "
        f"线上用的是 {_short(served)}（{there} 类）：模型没见过它的标记，轮次结束符也对不上。",
        (served.evidence(), before.evidence(), *also),
        {"trained": here, "served": there,
         PROPOSES: {"variable": "chat_template", "new": new, "file": served.file, "line": served.line,
                    "key": served.key, "old": served.raw}},
    )  # fmt: skip


def _short(setting: Setting) -> str:
    text = f"{setting.key} {setting.raw}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _formats(places: Places) -> Iterator[Finding]:
    """Weights trained in bf16 that are served in fp16."""
    trained = _first(places.trained, "precision") or _first(places.trained, "bf16")
    served = _first(places.served, "precision") or _first(places.served, "model_dtype")
    if trained is None or served is None or trained.file == served.file:
        return
    was_bf16 = trained.value is True or "bf16" in str(trained.value) or "bfloat16" in str(trained.value)
    if was_bf16 and str(served.value).lower() in ("fp16", "float16", "half", "torch.float16"):
        yield Finding(
            "dtype-differs-when-served", Severity.S2,
            f"{trained.file}:{trained.line} trains in bf16, {served.file}:{served.line} serves in {served.raw}: what "
            "exceeds 65504 becomes infinite.",
            f"{trained.file}:{trained.line} 用 bf16 训练，{served.file}:{served.line} 用 {served.raw} 部署：超过 "
            "65504 的值会变成无穷大。",
            (served.evidence(), trained.evidence()),
            {PROPOSES: {"variable": "model_dtype", "new": "bfloat16", "file": served.file, "line": served.line,
                        "key": served.key, "old": served.raw}},
        )  # fmt: skip
