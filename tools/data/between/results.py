"""Two results of one model in files of their own: what was set for the measurement, which scores moved, which stayed.

Any JSON is read that has scores and says how they were measured, under whatever names. Told where one model's scores
part together with shots, template, filter or another setting; tasks whose own settings are the same must not part too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from math import hypot, isfinite, sqrt
from typing import Any

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...patterns import bounded
from ...reading import head, parse_json
from ...run import Artifact, Run
from ...scores import GENERAL, QUALITY
from .moved import Moved, Result

CHECK = "two results of one model and how they were measured"
CODES = declare(
    "results",
    ("same-weights-scored-apart", CHECK, "one model has different scores in two results with different settings"),
    ("eval-settings-differ", CHECK, "scores of two results were measured with different settings"),
    ("asked-without-template", CHECK, "the lower one of two results was asked without a chat template, the other with"),
)
BYTES, YAML_BYTES, FILES, TASKS, DEPTH = 1 << 20, 1 << 16, 24, 400, 6
SUFFIXES = (".json", ".yaml", ".yml")
SCORES = (b"result", b"score", b"metric", b"acc", b"task")
HINTS = (b"shot", b"template", b"harness", b"lm_eval", b"filter", b"prompt", b"version", b"split", b"protocol",
         *(word.encode() for word in ("模板", "样例", "评测版本", "提示词")))  # fmt: skip
"""Of which a file that says how it was measured holds one."""
MATERIAL = bounded(
    r"(?i)shots?(?:$|[_-])|(?:^|[_-])(?:filters?|extract(?:or|ion)|answer_regex)(?:$|[_-])|template(?!_\w)|multi_?turn"
    r"|(?:^|_)system_(?:prompt|instruction|message)|(?:^|_)prompt_?(?:style|version|format|type|set)?$|normali[sz]"
    r"|(?:^|_)(?:eval_|test_)?(?:split|subset)$|(?:dataset|data|task_set|suite)_?(?:version|revision|hash|sha\d*)"
    r"|scor(?:ing|er)(?:$|_)|(?:match|metric)_(?:mode|type)$|样例数|少样本|模板|提示词|抽取|过滤|划分"
)
"""Settings that move a score by themselves."""
MEASURED = bounded(r"(?i)(?:^|[_-])(?:rate|acc\w*|f1|precision|recall|ratio|share|score|match|em|mean|avg)$|[率分]$")
"""Of a number: that it was measured, whatever its name says of how (`normalized_exact_rate`)."""
PART = bounded(r"(?i)(?:^|_)(?:split|subset|partition|fold)$|划分|子集")
"""Which part of the items was asked."""
TEMPLATE = bounded(r"(?i)template|multi_?turn|模板")
VERSION = bounded(
    r"(?i)^versions?$|(?:lm_?eval|harness|opencompass|lighteval|eval\w*|framework|suite|task|benchmark|runner)_?"
    r"(?:harness_?)?(?:version|commit|hash|rev(?:ision)?|ver|image)|(?:^|_)git_?(?:hash|sha|commit)|^(?:harness|commit)$"
    r"|框架版本|评测版本"
)
"""Settings that only may."""
INSTALLED = bounded(r"(?i)\b(lm[_-]eval|lighteval|opencompass|evalplus|helm|bigcode-eval)==(\d[\w.+-]{0,20})")
NOT_A_SCORE = bounded(
    r"(?i)std_?err|(?:^|[_-])(?:se|ci|std)(?:$|[_-])|loss|perplexity|ppl|runtime|time|seconds|date|epoch|step|samples?$|alias"
    r"|bits_per|hash|seed|count|config_(?!general)|^configs?$|^n$|^n_|^num_|total|size|max_|batch|length|higher|标准误|题数"
)
PRETRAINED = bounded(r"(?i)(?:pretrained|model_path|peft)=([^,\s\"']{2,200})")
MODEL = (
    "model_sha", "weights_sha256", "weights_hash", "model_hash", "checkpoint_hash", "ckpt_digest", "model_args",
    "model_path", "checkpoint", "ckpt", "ckpt_path", "weights", "model_name", "model_name_or_path",
    "model_name_sanitized", "model_id", "model", "模型", "权重", "检查点",
)  # fmt: skip
"""Keys of what was measured, the surest first."""
BACKENDS = frozenset(
    ("vllm", "hf", "hf-causal", "hf-auto", "sglang", "openai", "local-completions", "local-chat-completions", "nemo",
     "transformers", "tgi", "lmdeploy", "turbomind", "auto", "none")
)  # fmt: skip
MOVING = bounded(r"(?i)^(?:latest|last|current|newest|tmp|output|out|best|model|checkpoint|ckpt|final|nightly|hf)$")
"""Names under which one day other weights lie than on another."""
STUDY = bounded(r"(?i)shots?(?![a-z])|template|ablat|filter|prompt|strict|flexible|对比|消融")
"""In the name of a file whose setting was chosen to be compared."""
NAMES = ("task", "name", "dataset", "benchmark", "bench", "suite", "任务", "数据集")


def check_results(run: Run) -> Report:
    """The pair of results whose scores part most where the measurement does."""
    results = [r for a in _files(run) if (r := _read(a)) is not None]
    found: list[tuple[int, float, Finding]] = []
    for a, b in combinations(sorted(results, key=lambda r: r.file)[:12], 2):
        told = _compared(a, b, results) or _raw(run, a, b)
        if told is not None:
            found.append(told)
    check = Check(CHECK, "found" if found else "clear" if len(results) > 1 else "not-applicable")
    best = max(found, key=lambda one: one[:2], default=None)
    return Report("results", (best[2],) if best else (), (check,))


def _raw(run: Run, a: Result, b: Result) -> tuple[int, float, Finding] | None:
    """Two models of which one was asked without a chat template, and scores lower."""
    from .templated import asked_raw

    moved = [t for t in _both(a, b) if t.clear]
    told = None if STUDY.search(a.file) or STUDY.search(b.file) else asked_raw(run, a, b, moved)
    return (0, max(abs(t.before - t.after) for t in moved), told) if told is not None else None


def _files(run: Run) -> Iterator[Artifact]:
    some = [a for a in run.artifacts if a.path.suffix.lower() in SUFFIXES and a.kind not in ("tokenizer", "checkpoint")]
    yield from some[: 4 * FILES] if len(some) > 1 else ()


def _read(artifact: Artifact) -> Result | None:
    with suppress(TriageError, OSError, ValueError, RecursionError):
        plain = artifact.path.suffix.lower() == ".json"
        if artifact.path.stat().st_size > (BYTES if plain else YAML_BYTES):
            return None
        raw = head(artifact.path, BYTES)
        low = raw.lower()
        if not any(hint in low for hint in HINTS) or not any(word in low for word in SCORES):
            return None
        value = parse_json(raw) if plain else _yaml(raw)
        if isinstance(value, Mapping):
            result = Result(artifact.name, raw.decode("utf-8", "replace"))
            _fill(result, value)
            return result if result.scores and (result.own or result.general or result.versions) else None
    return None


def _yaml(raw: bytes) -> Any:
    import yaml

    with suppress(yaml.YAMLError):
        return None if b"*" in raw else yaml.load(raw, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return None


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value with the keys to it; a row of a list stands under its own name."""
    if isinstance(value, Mapping) and len(path) < DEPTH:
        for key, item in value.items():
            yield from _leaves(item, (*path, str(key)))
    elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value) and len(path) < DEPTH:
        for row in value[:TASKS]:
            name = next((str(row[k]) for k in NAMES if isinstance(row.get(k), str)), "")
            if name:
                yield from _leaves({k: v for k, v in row.items() if k not in NAMES}, (*path, name))
    else:
        yield path, value


def _fill(result: Result, value: Mapping[str, Any]) -> None:
    leaves = list(_leaves(value))
    for path, leaf in leaves:
        if _scored(path, leaf):
            metric = path[-1] if QUALITY.search(path[-1]) and len(path) > 1 and not _wraps(path[-2]) else ""
            task = [*path][-2 if metric else -1]
            if len(result.scores) < TASKS:
                result.scores.setdefault(task, {})[metric] = float(leaf)
    groups = [t for t in result.scores if any(o.startswith(f"{t}_") for o in result.scores)]
    for task in [t for t in result.scores if any(t.startswith(f"{g}_") for g in groups)]:
        del result.scores[task]
    named: dict[str, str] = {}
    for path, leaf in leaves:
        task = next((p for p in reversed(path) if p in result.scores), "")
        key = path[-1]
        if not task and isinstance(leaf, str) and key.lower() in MODEL and leaf:
            named.setdefault(key.lower(), leaf)
        if isinstance(leaf, str):
            for name, version in INSTALLED.findall(leaf):
                result.versions[name, ""] = version
        if isinstance(leaf, (int, float)) and not isinstance(leaf, bool) and task and isfinite(leaf):
            if "stderr" in key.lower() or "标准误" in key:
                result.errors.setdefault(task, {})[key.lower().replace("_stderr", "").replace("stderr", "")] = float(
                    leaf
                )
            elif any(p in ("n-samples", "n_samples", "num_samples", "n", "题数") for p in path):
                result.sizes.setdefault(task, float(leaf))
        _setting(result, path, task, leaf)
    result.model = _model(named)


def _wraps(key: str) -> bool:
    return key.lower() in (
        "results",
        "result",
        "scores",
        "score",
        "metrics",
        "metric",
        "tasks",
        "all",
        "summary",
        "eval",
    )


def _scored(path: Sequence[str], leaf: Any) -> bool:
    if isinstance(leaf, bool) or not isinstance(leaf, (int, float)) or not isfinite(leaf) or not 0 <= leaf <= 100:
        return False
    if any(MATERIAL.search(p.partition(",")[0]) or VERSION.search(p) or NOT_A_SCORE.search(p) for p in path):
        return False
    return bool(QUALITY.search(path[-1]) or GENERAL.search("/".join(path)) or any(_wraps(p) for p in path[:-1]))


def _setting(result: Result, path: Sequence[str], task: str, leaf: Any) -> None:
    """What a value sets, of the whole or of one task."""
    if isinstance(leaf, list):
        return
    name = next((p for p in reversed(path) if p != task and MATERIAL.search(p.partition(",")[0])), "")
    if name and MEASURED.search(name) and isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
        return
    shown = "none" if leaf is None or leaf == "" else f"{leaf:g}" if isinstance(leaf, float) else str(leaf).strip()
    if name and "," not in name and not re.search(r"(?i)seed|_sha$|_hash$", name):
        (result.own.setdefault(task, {}) if task else result.general).setdefault(_plain(name), shown)
    elif name := next((p for p in reversed(path) if VERSION.search(p)), ""):
        result.versions.setdefault((_plain(name), task), shown)


def _plain(name: str) -> str:
    word = name.lower().replace("-", "_")
    return "shots" if "shot" in word and "seed" not in word and "multi" not in word else word


def _model(named: Mapping[str, str]) -> str:
    """The last part of the path, or the name, of what was measured."""
    for key in MODEL:
        said = named.get(key, "")
        inner = PRETRAINED.search(said)
        said = inner[1] if inner else "" if key == "model_args" else said
        parts = [p for p in re.split(r"[/\\]|__", said.strip("/ ")) if p]
        while parts and MOVING.search(parts[-1]):
            if re.search(r"(?i)^(?:latest|last|current|newest|best|tmp|nightly)$", parts.pop()):
                return ""
        if parts and said.lower() not in BACKENDS:
            return "/".join(parts[-2:]) if len(parts[-1]) < 3 or parts[-1].isdigit() else parts[-1]
    return ""


def _points(result: Result, task: str, metric: str) -> tuple[float, float | None]:
    """A score in points and its standard error."""
    scale = 100.0 if max(v for of in result.scores.values() for v in of.values()) <= 1 else 1.0
    value = result.scores[task][metric] * scale
    errors = result.errors.get(task, {})
    error = errors.get(metric.lower(), next(iter(errors.values()), None) if len(errors) == 1 else None)
    if error is not None:
        return value, error * (scale if error < 1 or scale == 1 else 1)
    n, p = result.sizes.get(task), value / 100
    return value, 100 * sqrt(max(p * (1 - p), 1e-4) / n) if n else None


def _both(a: Result, b: Result) -> Iterator[Moved]:
    for task in a.scores:
        mine, theirs = a.scores[task], b.scores.get(task, {})
        apart = [(k, v, b.own[task][k]) for k, v in a.own.get(task, {}).items() if b.own.get(task, {}).get(k, v) != v]
        shared = next((m for m in mine if m in theirs), None)
        x, y = (shared, shared) if shared is not None else _filtered(mine, theirs)
        if x is None or y is None:
            continue
        if x != y:
            apart.append(("filter", x.partition(",")[2] or x, y.partition(",")[2] or y))
        (old, e), (new, f) = _points(a, task, x), _points(b, task, y)
        yield Moved(task, old, new, hypot(e, f) if e is not None and f is not None else None, tuple(apart))


def _filtered(mine: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[str | None, str | None]:
    """The same metric of two ways to take the answer out."""
    for x in mine:
        for y in theirs:
            if x.partition(",")[0] == y.partition(",")[0] and "," in x and "," in y:
                return x, y
    return None, None


def _compared(a: Result, b: Result, every: Sequence[Result]) -> tuple[int, float, Finding] | None:
    tasks = list(_both(a, b))
    moved = [t for t in tasks if t.clear]
    general = [(k, v, b.general[k]) for k, v in a.general.items() if b.general.get(k, v) != v]
    versions = [(k[0], v, b.versions[k]) for k, v in a.versions.items() if b.versions.get(k, v) != v]
    if not moved or STUDY.search(a.file) or STUDY.search(b.file) or _announced(a, b, general):
        return None
    shifted = [t for t in moved if t.apart]
    kept = [t for t in tasks if not t.apart and not t.clear]
    astray = [t for t in moved if not t.apart]
    material = [*general, *(one for t in shifted for one in t.apart)]
    names = {name for name, *_ in material}
    same = bool(a.model) and a.model == b.model
    if not material and not (same and versions):
        return None
    if all(TEMPLATE.search(n) for n in names) and not versions:
        return None  # a matter of the template
    if shifted and len(astray) > len(shifted) and not general:
        return None  # what was measured alike moved too
    if not same and not (shifted and (kept or general or len(shifted) == len(moved)) and not astray):
        return None
    gap = max(abs(t.before - t.after) for t in moved)
    sure = same and bool(material)
    return (2 * sure + same), gap, _told(a, b, moved, kept, [*dict.fromkeys((*material, *versions))], sure, every)


def _announced(a: Result, b: Result, general: Sequence[tuple[str, str, str]]) -> bool:
    """Whether each file's own name says which part of the items it is of: two sets, and both were meant to be."""
    return any(PART.search(name) and x.lower() in a.file.lower() and y.lower() in b.file.lower()
               for name, x, y in general)  # fmt: skip


def _told(a: Result, b: Result, moved: Sequence[Moved], kept: Sequence[Moved], apart: Sequence[tuple[str, str, str]],
          sure: bool, every: Sequence[Result]) -> Finding:  # fmt: skip
    first = max(moved, key=lambda t: abs(t.before - t.after))
    ranked = sorted(moved, key=lambda t: -abs(t.before - t.after))[:4]
    scores = ", ".join(f"{t.task} {t.before:.1f} / {t.after:.1f}" for t in ranked)
    said = ", ".join(f"{name} {_short(x)} / {_short(y)}" for name, x, y in _once(apart)[:6])
    en = zh = ""
    if kept:
        held = ", ".join(f"{t.task} {t.before:.1f} / {t.after:.1f}" for t in kept[:3])
        en, zh = f" Tasks with their settings unchanged hold: {held}.", f"设置没变的任务得分不动：{held}。"
    places: list[Evidence] = []
    for r, value in ((a, first.before), (b, first.after)):
        places.append(Evidence(r.file, r.at(first.task), metric="eval", value=round(value, 4), text=first.task))
        places += [Evidence(r.file, r.at(name)) for name in _written(r, apart)]
    data = {"score": first.task, "task": first.task, "before": first.before, "after": first.after,
            "settings": [list(one) for one in _once(apart)[:12]], "kept": [t.task for t in kept[:8]]}  # fmt: skip
    if sure:
        other = next((r for r in every if r.model and r.model != a.model and r.general == b.general
                      and first.task in r.scores and not _apart_of(r, b, first.task)), None)  # fmt: skip
        if other is not None:
            value = _points(other, first.task, next(iter(other.scores[first.task])))[0]
            en += f" Measured as in {b.file}, {other.model} has {first.task} {value:.1f}."
            zh += f"按 {b.file} 的设置测，{other.model} 的 {first.task} 为 {value:.1f}。"
            places.append(Evidence(other.file, other.at(first.task), metric="eval", value=round(value, 4)))
        return Finding(
            "same-weights-scored-apart", Severity.S1,
            f"{a.model} scores apart in {a.file} and {b.file} ({scores}), measured differently: {said}. The "
            f"measurement changed, not the model.{en}",
            f"同一模型（{a.model}）在 {a.file} 与 {b.file} 中得分不同（{scores}），而测量方式不同：{said}。"
            f"变的是评测，不是模型。{zh}",
            tuple(places), data,
        )  # fmt: skip
    return Finding(
        "eval-settings-differ", Severity.S2,
        f"{a.file} and {b.file} were measured differently ({said}): their scores ({scores}) cannot be compared.{en}",
        f"{a.file} 与 {b.file} 的测量方式不同（{said}），得分（{scores}）不可直接比较。{zh}",
        tuple(places), data,
    )  # fmt: skip


def _apart_of(a: Result, b: Result, task: str) -> bool:
    return a.own.get(task, {}) != b.own.get(task, {}) or not a.scores[task].keys() & b.scores[task].keys()


def _once(apart: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """One of each setting."""
    return list({name: (name, x, y) for name, x, y in reversed(apart)}.values())[::-1]


def _written(result: Result, apart: Sequence[tuple[str, str, str]]) -> list[str]:
    """The names as the file writes them, two of them."""
    keys = {name for name, *_ in apart} | (
        {"n-shot", "num_fewshot", "n_shot"} if any(n == "shots" for n, *_ in apart) else set()
    )
    return [k for k in sorted(keys) if result.at(k)][:2]


def _short(value: str) -> str:
    return value if len(value) <= 24 else f"{value[:20]}…"
