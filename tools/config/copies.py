"""Copies of a model's small files in several folders of a run, against each other; and the files of an evaluation that
was split, against its parts.

A model that is trained, exported and served has its `config.json` and its tokenizer in each place; where two of them
say different things about positions or the chat template, training and serving are not of one model. The file says so
itself, nothing is computed here. Which setting is in force is judged in `lint`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

from ..data.records.plain import load_json
from ..findings import STANDING, Check, Evidence, Finding, Report, Severity, TriageError, declare
from ..patterns import bounded
from ..reading import head
from ..run import Artifact, Run
from .keys import normal
from .spelled import near

CHECK, PARTS = "copies of a model's files", "parts and results of an evaluation"
DUMP = "the configuration that a log prints against its file"
CODES = declare(
    "copies",
    ("rope-differs-between-copies", CHECK, "two copies of the model's configuration scale positions differently"),
    ("template-differs-between-copies", CHECK, "two copies of the tokenizer have different chat templates"),
    ("stop-token-not-set", CHECK, "generation does not stop at the token that ends a turn in the template"),
    ("zero-not-as-dumped", DUMP, "the log prints another ZeRO stage than the DeepSpeed file of the run sets"),
    ("parts-missing", PARTS, "an evaluation that was split has fewer results than splits"),
    ("metrics-empty", PARTS, "the file of the final metrics is empty"),
)  # fmt: skip
FILES, TEMPLATE = 200, 1 << 18
"""Files that are looked at, each up to the limit of a JSON file."""
SCALING = ("type", "factor", "rope_theta", "original_max_position_embeddings")
ROPE = ("rope_theta", "rope_scaling", "rope_parameters")
SIZES = ("model_type", "hidden_size", "num_hidden_layers", "vocab_size")
IDENTITY = {
    "config.json": (*SIZES[:-1],),
    "adapter_config.json": ("base_model_name_or_path",),
    "tokenizer_config.json": ("tokenizer_class", "processor_class", "added_tokens_decoder"),
    "preprocessor_config.json": ("processor_class", "image_processor_type"),
}
"""Keys by which small files say of which model they are; a vocabulary may grow in training."""
SIZED = bounded(r"(?<![a-z0-9.])(?!\d?bit|int\d|fp\d)[a-z]{0,12}\d+(?:\.\d+)?[bm]?(?![a-z0-9.])")
"""A family with its version (`qwen2`, `v0.3`), or a number of parameters (`7b`), in a model's name."""
ENDS = bounded(r"<\|im_end\|>|<\|eot_id\|>|<\|end\|>|<end_of_turn>|<\|endofturn\|>|<\|eot\|>|<\|end_of_turn\|>")
"""Tokens that end a turn in the chat templates of public models."""
SPLIT = bounded(r"(?i)(?:^|[^a-z])(?:split|input|chunk|in)[_-]?(?:gpu|rank|part)?[_-]?(\d{1,4})\.\w{2,6}$")
PART = bounded(
    r"(?i)(?:^|[^a-z])(?:result|output|pred|prediction|out|part|gen)s?[_-]?(?:gpu|rank|part)?[_-]?(\d{1,4})\.\w{2,6}$"
)
STAGE = bounded(r"\bzero_optimization_stage\b[\s.:=]{1,80}(\d)\b")
ZERO = "zero_optimization"
JSONS = bounded(r"[\w./-]{1,200}\.json\b")
SMALL, DUMPED, NAMED = 1 << 18, 1 << 20, 1 << 14
"""Bytes of a configuration, of a log that is searched for the printed one, and of its beginning, which names files."""
OF_RESULTS = bounded(r"(?i)final|eval|results?|test|merged")
METRICS = bounded(r"(?i)(?:^|[^a-z])(?:metrics?|scores?|results?)\.json$")
MERGED = bounded(r"(?i)merged?|combined|all_results|predictions?")


def check_copies(run: Run) -> Report:
    """What copies of one file, and the parts of one evaluation, say of each other."""
    files: dict[str, list[Artifact]] = {}
    small = [a for a in run.artifacts if a.name.endswith(".json")][:FILES]
    for artifact in small:
        files.setdefault(PurePosixPath(artifact.name).name, []).append(artifact)
    models = [a for a in small if "config" in PurePosixPath(a.name).name.lower()]
    found = [*_rope(models), *_templates(files), *_jinjas(run, files), *_stops(files)]
    parts = [*_parts(run), *_empty(run)]
    dumped = [*_dumped(run, small)]
    looked = len(files.get("config.json", ())) > 1 or len(files.get("tokenizer_config.json", ())) > 1 or found
    checks = (
        _check(CHECK, found, bool(looked)),
        _check(PARTS, parts, any(SPLIT.search(a.name) for a in run.artifacts)),
        _check(DUMP, dumped, bool(small)),
    )
    return Report("copies", (*found, *parts, *dumped), checks)


def _check(name: str, found: list[Finding], looked: bool) -> Check:
    return Check(name, "found" if found else "clear" if looked else "not-applicable")


def _read(some: list[Artifact] | tuple[()], wanted: Callable[[Mapping[str, Any]], Any]) -> list[tuple[str, Any]]:
    """(file, what it says) of the files that say it."""
    told = ((a.name, load_json(a.path)) for a in some)
    said = ((name, wanted(value)) for name, value in told if isinstance(value, Mapping))
    return [(name, value) for name, value in said if value]


def _positions(value: Mapping[str, Any]) -> dict[str, Any]:
    """How the file scales positions, without the keys that only some releases write."""
    inner = value.get("text_config")
    value = inner if isinstance(inner, Mapping) and "rope_theta" in inner else value
    out: dict[str, Any] = {}
    for key in ROPE:
        part = value.get(key)
        if isinstance(part, Mapping):
            out |= {"type" if k == "rope_type" else str(k): v for k, v in part.items()}
        elif part is not None:
            out[key] = part
    return out


def _rope(some: list[Artifact] | tuple[()]) -> Iterator[Finding]:
    sizes = dict(_read(some, lambda value: [value.get(key) for key in SIZES]))
    for (a, one), (b, other) in combinations(_read(some, _positions), 2):
        if any(None not in pair and pair[0] != pair[1] for pair in zip(sizes[a], sizes[b], strict=True)):
            continue  # of two models
        both = {k: (one.get(k), other.get(k)) for k in SCALING}
        apart = {k: v for k, v in both.items() if v[0] != v[1] and (k != "rope_theta" or None not in v)}
        if apart:
            said = ", ".join(f"{k} {x} / {y}" for k, (x, y) in apart.items())
            yield _apart(
                "rope-differs-between-copies", a, b, f"scale positions differently: {said}", f"位置缩放不同：{said}"
            )
            return


def _told_of_model(folder: PurePosixPath, files: Mapping[str, list[Artifact]]) -> dict[str, Any]:
    """What the small files of a folder say of the model that they are of."""
    told: dict[str, Any] = {}
    for name, keys in IDENTITY.items():
        for artifact in files.get(name, ()):
            value = load_json(artifact.path) if PurePosixPath(artifact.name).parent == folder else None
            if isinstance(value, Mapping):
                told |= {k: value[k] for k in keys if value.get(k) not in (None, "", [], {})}
    return told


def _two_models(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two folders are of two models, by one thing that both say: kind, size, class, base, or hardly a special
    token in common."""
    for key in one.keys() & other.keys():
        a, b = one[key], other[key]
        if key == "added_tokens_decoder":
            mine, theirs = ({str(t.get("content")) for t in v.values() if isinstance(t, Mapping)} for v in (a, b))
            if min(len(mine), len(theirs)) >= 3 and 4 * len(mine & theirs) < min(len(mine), len(theirs)):
                return True
        elif key == "base_model_name_or_path":
            mine, theirs = (set(SIZED.findall(PurePosixPath(str(v)).name.lower())) for v in (a, b))
            if mine and theirs and not (mine <= theirs or theirs <= mine):
                return True
        elif key == "tokenizer_class":
            mine, theirs = (str(v).removesuffix("Fast") for v in (a, b))
            if mine != theirs and not {mine, theirs} & {"PreTrainedTokenizer", "TokenizersBackend"}:
                return True
        elif a != b:
            return True
    return False


def _jinjas(run: Run, files: Mapping[str, list[Artifact]]) -> Iterator[Finding]:
    """Templates in files of their own, in several folders."""
    some = [a for a in run.artifacts if PurePosixPath(a.name).suffix in (".jinja", ".jinja2")][:FILES]
    read = []
    for artifact in some:
        with suppress(TriageError, OSError):
            read.append((artifact.name, head(artifact.path, TEMPLATE).decode("utf-8", "replace")))
    yield from _unlike(read, files)


def _templates(files: Mapping[str, list[Artifact]]) -> Iterator[Finding]:
    read = _read(files.get("tokenizer_config.json", []), lambda value: value.get("chat_template"))
    yield from _unlike(read, files)


def _unlike(read: Sequence[tuple[str, Any]], files: Mapping[str, list[Artifact]]) -> Iterator[Finding]:
    """The first two templates that differ and are of one model, as far as their folders say."""
    apart = [pair for pair in combinations(read, 2) if all(isinstance(t, str) for _, t in pair)]
    apart = [pair for pair in apart if pair[0][1].split() != pair[1][1].split()]
    folders = {PurePosixPath(name).parent for pair in apart for name, _ in pair}
    models = {folder: _told_of_model(folder, files) for folder in folders}
    for (a, one), (b, other) in apart:
        if not _two_models(models[PurePosixPath(a).parent], models[PurePosixPath(b).parent]):
            i = next((i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
            said = f"from character {i} on: {one[i : i + 40]!r} / {other[i : i + 40]!r}"
            yield _apart("template-differs-between-copies", a, b, f"have different chat templates, {said}",
                         f"的聊天模板不同（第 {i} 个字符起：{one[i : i + 40]!r} / {other[i : i + 40]!r}）")  # fmt: skip
            return


def _apart(code: str, a: str, b: str, en: str, zh: str) -> Finding:
    return Finding(code, Severity.S2, f"{a} and {b} {en}.", f"{a} 与 {b} {zh}。", (Evidence(a), Evidence(b)),
                   {"files": [a, b], STANDING: True})  # fmt: skip


def _stops(files: Mapping[str, list[Artifact]]) -> Iterator[Finding]:
    """A turn's end that generation does not stop at."""
    for name, tokenizer in _read(files.get("tokenizer_config.json", []), dict):
        template, tokens = tokenizer.get("chat_template"), tokenizer.get("added_tokens_decoder")
        ends = list(dict.fromkeys(ENDS.findall(template))) if isinstance(template, str) else []
        folder = PurePosixPath(name).parent
        beside = [a for a in files.get("generation_config.json", []) if PurePosixPath(a.name).parent == folder]
        for other, eos in _read(beside, lambda value: value.get("eos_token_id")):
            ids = {str(v) for v in (eos if isinstance(eos, list) else [eos])}
            known = (
                {str(t.get("content")): str(i) for i, t in tokens.items() if isinstance(t, Mapping)}
                if isinstance(tokens, Mapping)
                else {}
            )
            mine = [known[e] for e in ends if e in known]
            if mine and ids.isdisjoint(mine):
                stops = ", ".join(sorted(ids))
                en = f"differ: a turn ends with {ends[0]} (id {mine[0]}), generation stops at {stops} only"
                zh = f"对结束符不一致：模板每轮以 {ends[0]}（id {mine[0]}）结束，生成只在 {stops} 处停止"
                yield _apart("stop-token-not-set", other, name, en, zh)
                return


@dataclass(frozen=True)
class _Asked:
    """What a DeepSpeed file asks of ZeRO."""

    file: str
    block: str
    """The key of the block as it is spelled."""
    stage: int

    @property
    def slip(self) -> bool:
        return self.block != ZERO


def _zero(artifact: Artifact) -> _Asked | None:
    value = load_json(artifact.path) if artifact.path.stat().st_size < SMALL else None
    if not isinstance(value, Mapping):
        return None
    for key, block in value.items():
        meant = key == ZERO or (ZERO not in value and near(normal(str(key)), ZERO))
        if meant and isinstance(block, Mapping) and isinstance(block.get("stage"), int):
            return _Asked(artifact.name, str(key), block["stage"])
    return None


def _dumped(run: Run, small: list[Artifact]) -> Iterator[Finding]:
    """The stage that DeepSpeed prints as its own, where the file of the run sets another: what it sets was not read.

    A log that names one of the run's JSON files is held against that one, any other against the one stage that all set.
    """
    asked = [one for a in small if (one := _zero(a)) is not None]
    names = {PurePosixPath(a.name).name for a in small}
    for artifact in run.of("log"):
        text = head(artifact.path, DUMPED).decode("utf-8", "replace")
        given = names & {PurePosixPath(word).name for word in JSONS.findall(text[:NAMED])}
        mine = [one for one in asked if not given or PurePosixPath(one.file).name in given]
        if len({one.stage for one in mine}) != 1:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if (match := STAGE.search(line[:400])) and int(match[1]) != mine[0].stage:
                yield _not_in_force(mine[0], artifact.name, number, line, int(match[1]))
                return


def _not_in_force(one: _Asked, log: str, number: int, line: str, used: int) -> Finding:
    why, why_zh = "the file is not the one that was read", "实际读到的不是这个文件"
    if one.slip:
        why = f"the block is spelled {one.block}, and DeepSpeed reads {ZERO}, so all of it was passed over"
        why_zh = f"配置段写成了 {one.block}，DeepSpeed 读取的键是 {ZERO}（拼写错误），整段未被读取"
    return Finding(
        "zero-not-as-dumped", Severity.S1,
        f"{one.file} sets ZeRO stage {one.stage}, and {log}:{number} prints stage {used} as the one in force: {why}.",
        f"{one.file} 设置 ZeRO stage {one.stage}，而 {log}:{number} 打印的生效值是 {used}：{why_zh}。",
        (Evidence(log, number, text=line.strip()[:200]), Evidence(one.file)),
        {"set": one.stage, "used": used},
    )  # fmt: skip


def _parts(run: Run) -> Iterator[Finding]:
    """Splits of an evaluation without a result."""
    splits, results = ({m[1]: a.name for a in run.artifacts if (m := p.search(a.name))} for p in (SPLIT, PART))
    missing = sorted(splits.keys() - results.keys(), key=int)
    if len(splits) > 1 and results and missing:
        yield Finding(
            "parts-missing", Severity.S2,
            f"{len(splits)} parts were split off ({splits[missing[0]]} and others) and {len(results)} have a result; "
            f"none for "
            f"{', '.join(missing[:8])}: what was merged is incomplete.",
            f"共拆分 {len(splits)} 份（{splits[missing[0]]} 等），只有 {len(results)} 份有结果，缺 "
            f"{', '.join(missing[:8])}：合并不完整。",
            tuple(Evidence(splits[m]) for m in missing[:3]),
            {"splits": len(splits), "results": len(results), "missing": missing[:50]},
        )  # fmt: skip


def _empty(run: Run) -> Iterator[Finding]:
    """Final metrics that hold nothing, where results were merged or not."""
    merged = next(
        (a for a in run.artifacts if MERGED.search(PurePosixPath(a.name).name) and a.path.stat().st_size > 64), None
    )
    names = [
        *((a.name, a.path) for a in run.artifacts),
        *((s.name, run.root / s.name) for s in (*run.unknown, *run.skipped)),
    ]
    for name, path in names:
        if (
            METRICS.search(name)
            and path.is_file()
            and path.stat().st_size < 64
            and (merged is None or name != merged.name)
        ):
            text = re.sub(rb"\s", b"", path.read_bytes())
            sure = merged is not None or OF_RESULTS.search(name)
            if (text in (b"{}", b"[]", b"null") and sure) or (text == b"" and merged is not None):
                beside, zh = (
                    (f" beside {merged.name}, which holds results", f"，而 {merged.name} 中有结果")
                    if merged
                    else ("", "")
                )
                yield Finding(
                    "metrics-empty", Severity.S2,
                    f"{name} holds no metric ({text.decode() or 'nothing'}){beside}.",
                    f"{name} 中没有任何指标（{text.decode() or '空'}）{zh}。",
                    (Evidence(name), *([Evidence(merged.name)] if merged else [])),
                    {"file": name, "merged": merged.name if merged else ""},
                )  # fmt: skip
                return
