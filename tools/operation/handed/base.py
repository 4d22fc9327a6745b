"""The base that an adapter was trained on against the one that a merge put it into: names, links, checksums.

Two names are of one model where they differ by the folder, by case, or by a word for the number format. Names that
have nothing in common may be one model under two names, so they are not set against each other.
"""

# ruff: noqa: E501  one sentence, pattern or case on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...findings import Evidence, Finding, Severity
from ...patterns import bounded
from .read import ADAPTER as LEARNED
from .read import Text

_NAME = r"[\"']?(?:\$\{\w{1,30}:-)?([\w~.@][\w.@:+-]*(?:/[\w.@:+-]+)*/?|/[\w./@:+-]+|\$\{?\w{1,30}\}?)"
TRAINED_ON = bounded(rf"(?i)base_model_name_or_path[\"']?\s?[:=]\s?{_NAME}")
_BASE = (r"(?:(?<![\w./-])(?:--?)?[\"']?(?:base(?:[ _-]?model)?(?:[ _-]?(?:name(?:[ _-]or[ _-]path)?|path|dir|ckpt|weights))?|model_name_or_path"
         r"|backbone|pretrained(?:_model)?(?:_name_or_path)?|foundation)|(?:底座|基座|基础模型)(?:模型|权重|路径)?)")  # fmt: skip
SAYS = bounded(rf"(?i){_BASE}[\"']?\s?(?:[:=：]|\bfrom\b|为|是)?\s{{0,3}}(?:from\s|loaded from\s)?{_NAME}")
MODEL = bounded(
    rf"(?i)(?<![\w./-])(?:--)?[\"']?(?:model(?:_path|_dir|_id)?|init(?:_from)?|start(?:_from)?|src|source)[\"']?\s?[:=]\s?{_NAME}"
)
INTO = bounded(
    rf"(?i)(?<![\w./-])(?:--into|into|onto|(?:read(?:ing)?|load(?:ed|ing)?|shards?|weights|tensors|bf16|fp16|fp32|W|dense)\b.{{0,60}}?\bfrom|并入|合(?:并)?到"
    rf"|融合(?:进|到))[\"']?\s?[=:：]?\s{{0,3}}{_NAME}"
)
NAMES_ITSELF = bounded(rf"[\"']_name_or_path[\"']\s?:\s?{_NAME}")
HANDED = bounded(r"(?i)merged?|fused?|fold(?:ed)?|baked?|合并|融合")
PRETRAINED = bounded(rf"(?i)(?:AutoModel\w{{0,30}}|model\w{{0,20}})\.from_pretrained\(\s?{_NAME}")
ASSIGNS = bounded(
    r"^\s*(?:export\s|readonly\s|local\s)?([A-Za-z_]\w{0,30})\s?=\s?[\"']?(?:\$\{\w+:-)?([\w~./@:+-]+)\}?[\"']?\s*(?:#.*)?$"
)
LINK = bounded(r"(?:^|\s)(\d{4}-\d\d-\d\d)?(?: \d\d:\d\d\S{0,20})? ?([\w./@+-]+) -> ([\w./@+-]+)")
NOT_BASE = bounded(r"(?i)tokeni[sz]er|template|vocab|config\.json|\bcp\b|分词|模板|\bteacher\b|reward|judge|draft")
TELLS = bounded(r"(?i)\bhelp\s?=|\busage\b|\be\.g\.|\bexamples?\b|用法|示例|例如|比如")
"""From here on a line tells how something may be called."""
NOT_NAME = bounded(r"(?i)^(?:model|models|base|dtype|from|path|name|none|null|true|false|the|a|an|and|is|was|with|for|of|in|to|on"
                   r"|load\w*|read\w*|weights?|merg\w+|fus\w+|adapter\w*|lora\w*|float\d+|bfloat\d+|bf16|fp16|fp32|cpu|cuda|args|same|this|that|it"
                   r"|self|\d[\d.]*[kmb]?)$")  # fmt: skip
ADAPTER = bounded(r"(?i)adapter|lora|checkpoint-\d|ckpt-?\d|delta|merged|safetensors$|\.(?:py|sh|log|ya?ml|json)$")
FORMATS = frozenset(
    [
        "hf",
        "bnb",
        "4bit",
        "8bit",
        "int4",
        "int8",
        "nf4",
        "gptq",
        "awq",
        "fp8",
        "fp16",
        "bf16",
        "fp32",
        "unsloth",
        "dynamic",
        "model",
        "models",
        "local",
        "copy",
    ]
)
ANY = frozenset(
    [
        "model",
        "models",
        "base",
        "chat",
        "instruct",
        "it",
        "hf",
        "the",
        "data",
        "hub",
        "weights",
        "release",
        "v1",
        "v2",
        "final",
        "latest",
        "main",
        "ckpt",
        "checkpoint",
        "对话",
        "底座",
        "模型",
        "基座",
    ]
)
GENERIC = bounded(r"(?i)^(?:base|model|hf|final|latest|snapshot\w*|weights|main|current|stable)$")
REVISION = bounded(r"(?:^|[/@])(?=[a-f]{0,39}\d)([0-9a-f]{7,40})/?$")


@dataclass(frozen=True)
class Named:
    """A base as one line names it."""

    name: str
    leaf: str
    where: Evidence


def another_base(texts: Sequence[Text]) -> Iterator[Finding]:
    """The merge names a base of the family that the adapter was trained on, but another one."""
    into = [n for t in texts if t.role == "merge" and not t.name.endswith("adapter_config.json")
            for n in _named(t, (SAYS, INTO, PRETRAINED, MODEL))]  # fmt: skip
    into += [n for t in texts if t.role == "model" and HANDED.search(t.name) for n in _named(t, (NAMES_ITSELF,))]
    if not into:
        return
    own = [n for t in texts if t.role != "merge" or t.name.endswith("adapter_config.json") for n in _trained_on(t)]
    logs = [n for t in texts if t.role == "train" for n in _named(t, (SAYS, MODEL))]
    links = dict(_links(texts))
    before = own or (logs if any(t.has(LEARNED) for t in texts if t.role == "train") else [])
    if not before:
        return
    known = {*(n.leaf for n in before), *(n.leaf for n in logs)}
    said = [n for n in into if n.where.file and not n.where.file.endswith((".sh", ".py", ".yaml", ".yml"))] or into
    revised = _revised(before, said)
    if revised is not None:
        yield _other(*revised, None)
        return
    for now in said:
        link = links.get(now.leaf)
        if now.leaf in known or (link and link[0] in known):
            return
    for now in said:
        link = links.get(now.leaf)
        was = next((n for n in before if _kindred(n.leaf, link[0] if link else now.leaf)), None)
        if was is not None:
            yield _other(was, now, link)
            return


def _revised(before: Sequence[Named], after: Sequence[Named]) -> tuple[Named, Named] | None:
    """One model in two revisions that both sides name, none of them in both."""
    mine, theirs = ([(m[1], n) for n in side if (m := REVISION.search(n.name))] for side in (before, after))
    pairs = [(a, b) for a in mine for b in theirs if a[1].leaf == b[1].leaf]
    alike = any(a[0].startswith(b[0]) or b[0].startswith(a[0]) for a, b in pairs)
    return (pairs[0][0][1], pairs[0][1][1]) if pairs and not alike else None


def _trained_on(text: Text) -> Iterator[Named]:
    for number, line in enumerate(text.lines[:400], 1):
        if (found := TRAINED_ON.search(line)) is not None:
            yield Named(found[1], leaf(found[1]), text.at(number))


def _named(text: Text, patterns: Sequence[re.Pattern[str]]) -> Iterator[Named]:
    """The bases that a file names, with the variables of its own resolved."""
    set_ = {m[1]: m[2] for line in text.run[:400] if (m := ASSIGNS.match(line))}
    for number, line in enumerate(text.run[:400], 1):
        if NOT_BASE.search(line.split("--")[0][:60]) or line.lstrip().startswith("#"):
            continue
        said = TELLS.split(line)[0]
        for pattern in patterns:
            for found in pattern.finditer(said):
                name = set_.get(found[1].strip("${}"), found[1])
                if said[found.end() :].lstrip("\"'").startswith("("):
                    continue  # what is called is no name
                real = "/" in name or any(c.isdigit() for c in name)
                if real and "$" not in name and not NOT_NAME.match(name) and not ADAPTER.search(name) and len(name) > 3:
                    yield Named(name, leaf(name), text.at(number))


def leaf(name: str) -> str:
    """The model that a path or hub name names, without case, punctuation and words for the number format."""
    parts = [p for p in REVISION.sub("", name.strip("\"'").rstrip("/")).split("/") if p and p != "snapshots"]
    cached = next((p for p in parts if p.startswith("models--")), "")
    last = cached.rpartition("--")[2] if cached else parts[-1] if parts else ""
    if GENERIC.match(last) and len(parts) > 1:
        last = f"{parts[-2]}-{last}"
    return "-".join(w for w in re.split(r"[-_.@:+]+", last.lower()) if w and w not in FORMATS)


def _kindred(one: str, other: str) -> bool:
    """Whether two names share a word that names a family, and are not one name."""
    if one == other or one.replace("-", "") == other.replace("-", ""):
        return False
    mine, theirs = (set(re.findall(r"[a-z]{3,}|[\u3400-\u9fff]{2,}", n)) - ANY for n in (one, other))
    return bool(mine & theirs)


def _links(texts: Sequence[Text]) -> Iterator[tuple[str, tuple[str, Evidence]]]:
    for text in texts:
        for number, line in enumerate(text.lines[:400], 1):
            if " -> " in line and (line[:1] == "l" or line.count("/") or "ln" in line):
                for found in LINK.finditer(line):
                    if not found[2].isdigit():
                        yield leaf(found[2]), (leaf(found[3]), text.at(number))


def _other(was: Named, now: Named, link: tuple[str, Evidence] | None) -> Finding:
    over = f", which {link[1].file}:{link[1].line} links to {link[0]}" if link else ""
    over_zh = f"（{link[1].file}:{link[1].line} 指向 {link[0]}）" if link else ""
    return Finding(
        "merged-into-another-base", Severity.S1,
        f"{was.where.file}:{was.where.line} trains the adapter on {was.name}, and {now.where.file}:{now.where.line} "
        f"merges it into {now.name}{over}: the difference was learned for other weights.",
        f"{was.where.file}:{was.where.line} 适配器训练用的底座是 {was.name}，而 {now.where.file}:{now.where.line} 合并时用的是 "
        f"{now.name}{over_zh}：增量是为另一份权重学的。",
        (was.where, now.where, *([link[1]] if link else [])), {"trained": was.name, "merged": now.name},
    )  # fmt: skip


MADE = bounded(
    r"(?i)(?:^|[^a-z])(?:wrote|writ\w+|sav(?:ed|ing)|outputs?|merged|data\w*|results?)(?:$|[^a-z])|写入|保存|数据"
)
HASH = bounded(r"(?i)(?<![\w/.-])(?:(\d{1,4}):)?(?:sha\d{0,3}[:=])?([0-9a-f]{6,64})(?![\w/.-])")
LABEL = bounded(
    r"(?i)tokeni[sz]er|template|config|adapter|lora|data(?:set)?|commit|\bgit\b|vocab|\bid\b|req|uuid|trace|seed"
    r"|optimi[sz]er|out(?:put)?|merged|saved|wrote|result"
    r"|shards?|index|base|weights?|model(?:\.safetensors)?|safetensors|embed\w*|lm_head|revision|snapshot|底座|基座|权重|分片|版本"
)
WEIGHTS = bounded(
    r"(?i)^(?:shards?|index|base|weights?|model|model\.safetensors|safetensors|embed\w*|lm_head|revision|snapshot|底座|基座|权重|分片|版本)$"
)


def another_sum(texts: Sequence[Text]) -> Iterator[Finding]:
    """A checksum of the base that training wrote, and the merge's of the same name, which is another."""
    sides = [[(t, *s) for t in texts if t.role == role for s in _sums(t)] for role in ("train", "merge")]
    before, after = ({} for _ in sides)
    for side, into in zip(sides, (before, after), strict=True):
        for text, number, label, value in side:
            into.setdefault(label, {}).setdefault(value, text.at(number))
    for label in before:
        mine, theirs = before[label], after.get(label, {})
        if theirs and len(mine) == 1 and len(theirs) == 1 and not mine.keys() & theirs.keys():
            (one, a), (other, b) = next(iter(mine.items())), next(iter(theirs.items()))
            if len(one) == len(other):
                yield _unlike(label, (one, a), (other, b), before, after)
                return


def _sums(text: Text) -> Iterator[tuple[int, str, str]]:
    """(line, label, checksum) of the weights that a file names at its beginning."""
    for number, line in enumerate(text.lines[:120], 1):
        for found in HASH.finditer(line):
            value = found[2].lower()
            if value.isdigit() or value.isalpha():
                continue
            words = LABEL.findall(line[: found.start()])
            if words and not MADE.search(line[: found.start()]) and WEIGHTS.match(words[-1]):
                yield number, f"{words[-1].lower()} {found[1] or ''}".strip(), value


def _unlike(label: str, was: tuple[str, Evidence], now: tuple[str, Evidence], before: dict, after: dict) -> Finding:
    same = [k for k in before if k in after and before[k].keys() & after[k].keys()]
    apart = sum(1 for k in before if k in after and not before[k].keys() & after[k].keys())
    also = f"; {apart} such sums differ, {len(same)} agree" if apart > 1 else ""
    also_zh = f"；共 {apart} 个校验值不同、{len(same)} 个相同" if apart > 1 else ""
    return Finding(
        "base-changed-before-merge", Severity.S1,
        f"{was[1].file}:{was[1].line} trains on a base whose {label} has the checksum {was[0]}, and "
        f"{now[1].file}:{now[1].line} merges into one with {now[0]}{also}: the name may be the same, the weights are not.",
        f"{was[1].file}:{was[1].line} 训练时底座 {label} 的校验值为 {was[0]}，{now[1].file}:{now[1].line} 合并时为 "
        f"{now[0]}{also_zh}：名字可能相同，权重已不是同一份。",
        (was[1], now[1]), {"label": label, "trained": was[0], "merged": now[0]},
    )  # fmt: skip
