"""The sampling that a server ran with, as its log writes it, against what was asked of it.

A request that leaves a parameter out, or puts it where the endpoint does not look, is answered with the defaults that
ship with the weights. The log writes what was used and the caller's files what was meant. A value that any file asks
for is meant, whoever asks; requests at several values are a comparison or several callers: of neither is anything told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isclose

from ..findings import Check, Evidence, Finding, Report, Severity, declare
from ..heads import beginning
from ..patterns import bounded
from ..run import Artifact, Run

CHECK = "sampling of a server against what was asked of it"
CODES = declare(
    "sampling", ("served-otherwise-than-asked", CHECK, "a server samples with defaults that no caller asked for")
)
FILES, BYTES, SMALL, REQUESTS = 60, 1 << 20, 256 << 10, 4000
LEAST, SHARE = 3, 0.9
"""Requests that a log must show, and their share with one and the same value."""
NUMBER = r"[\"']?\s{0,3}[:=：]\s{0,3}[\"']?(-?\d{1,3}(?:\.\d{1,6})?)(?![\w.])"
NAMES = {
    "temperature": rf"(?i)(?<![\w.])temp(?:erature)?{NUMBER}|(?<!\w)(?:采样)?温度{NUMBER}",
    "repetition_penalty": rf"(?i)(?<![\w.])rep(?:etition)?_penalty{NUMBER}|重复惩罚{NUMBER}",
}
PARAMETERS = {name: bounded(pattern) for name, pattern in NAMES.items()}
GREEDY = bounded(r"(?i)(?<!\w)do_sample[\"']?\s{0,3}[:=]\s{0,3}(?:false|0)\b|(?<![\w-])greedy\b|贪心")
"""What says temperature 0 in other words."""
REQUEST = bounded(
    r"(?i)SamplingParams\(|sampling_params="
    r"|\b(?:req(?:uest)?(?:_id)?|rid|id)[ =:#\[][\w.-]{1,60}.{0,400}temperature[=:]"
)
"""A line of a server about one request that it runs."""
DEFAULTS = bounded(r"(?i)default (?:chat |completion )?sampling (?:params|parameters)\b.{0,60}?(?:from|:)[^{]{0,80}\{")
"""A line of a server about what it fills in where a request is silent."""
SERVES = bounded(r"\bvllm serve\b|vllm\.entrypoints\.\S{0,40}api_server")
OWN = "--generation-config vllm"
"""A server that fills in what ships with the weights, and what keeps it from that."""
SETS = (".yaml", ".yml", ".toml", ".ini", ".cfg")
SHIPPED = bounded(r"(?:^|/)generation_config\.json$")
TALK = (".md", ".rst")
"""Notes tell of values that were tried; what they say is not what is asked."""
NEUTRAL = {"temperature": 0.0, "repetition_penalty": 1.0}
CLOSE = 0.011


@dataclass(frozen=True)
class Value:
    """One value, and where it stands."""

    of: str
    value: float
    file: str
    line: int
    text: str

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.line, metric=self.of, value=self.value, text=self.text)


def check_sampling(run: Run) -> Report:
    """What the servers' logs say of their requests, against what callers and evaluations of the run ask for."""
    logs = list(islice(run.of("log"), FILES))
    used = [(value, *rest) for artifact in logs for value, *rest in _used(artifact)]
    shipped = [v for a in run.artifacts if SHIPPED.search(a.name) for v in _values(a)]
    if not used and not shipped:
        return Report("sampling", (), (Check(CHECK, "not-applicable"),))
    asked = [v for a in _callers(run) for v in _values(a)]
    used = used or [(v, 0, 0) for v in _by_default(run, asked, shipped)]
    found = [f for value, n, of_all in used if (f := _judged(value, n, of_all, asked, shipped)) is not None]
    first = list({f.data["of"]: f for f in found}.values())
    return Report("sampling", tuple(first[:2]), (Check(CHECK, "found" if first else "clear"),))


def _used(artifact: Artifact) -> Iterator[tuple[Value, int, int]]:
    """(value, requests with it, requests) of each parameter that a log writes for requests, or fills in."""
    text = beginning(artifact.path, BYTES)
    if "emperature" not in text:
        return
    seen: dict[str, list[Value]] = {}
    filled: dict[str, Value] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if "emperature" not in line and "penalty" not in line:
            continue
        request, default = REQUEST.search(line[:4000]), DEFAULTS.search(line[:4000])
        for name, pattern in PARAMETERS.items() if request or default else ():
            if (match := pattern.search(line[:4000])) and len(seen.get(name, ())) < REQUESTS:
                value = Value(name, _number(match), artifact.name, number, line.strip()[:200])
                filled.setdefault(name, value) if default else seen.setdefault(name, []).append(value)
    for values in seen.values():
        (most, n), *_ = Counter(v.value for v in values).most_common(1)
        if len(values) >= LEAST and n >= SHARE * len(values):
            yield next(v for v in values if v.value == most), n, len(values)
    for name, value in filled.items():
        if name not in seen:
            yield value, 0, 0


def _by_default(run: Run, asked: Sequence[Value], shipped: Sequence[Value]) -> Iterator[Value]:
    """The penalty that a launched server takes from beside the weights, where only settings of others name one."""
    for artifact in islice(run.of("script", "config", "log"), FILES):
        text = beginning(artifact.path, SMALL)
        if (match := SERVES.search(text)) is None or OWN in text:
            continue
        own = [v for v in asked if v.of == "repetition_penalty"]
        for v in shipped if own and all(v.file.endswith(SETS) for v in own) else ():
            if v.of == "repetition_penalty":
                line = text.count("\n", 0, match.start()) + 1
                yield Value(v.of, v.value, artifact.name, line, text.splitlines()[line - 1].strip()[:200])
        return


def _number(match: re.Match[str]) -> float:
    return float(next(g for g in match.groups() if g is not None))


def _callers(run: Run) -> Iterator[Artifact]:
    """Files that may ask for something: programs, settings, bodies of requests; no log, no note, no card of weights."""
    kinds = ("code", "config", "script", "data", "table", "metrics", "document")
    for a in islice((a for a in run.artifacts if a.kind in kinds), FILES):
        if not SHIPPED.search(a.name) and a.path.suffix not in TALK and not a.path.is_dir():
            yield a


def _values(artifact: Artifact) -> list[Value]:
    """Every value of a parameter in the first part of a file, the first place of each."""
    found: dict[tuple[str, float], Value] = {}
    for number, line in enumerate(beginning(artifact.path, SMALL).splitlines(), 1):
        cut = line[:4000]
        if cut.lstrip().startswith(("#", "//")) or "SamplingParams(n=" in cut:
            continue
        hits = [(name, _number(m)) for name, pattern in PARAMETERS.items() for m in islice(pattern.finditer(cut), 4)]
        if GREEDY.search(cut):
            hits.append(("temperature", 0.0))
        for key in hits:
            found.setdefault(key, Value(*key, artifact.name, number, line.strip()[:200]))
    return list(found.values())


def _judged(used: Value, n: int, of_all: int, asked: Sequence[Value], shipped: Sequence[Value]) -> Finding | None:
    """What was used, where files ask for something and none for this."""
    meant = [v for v in asked if v.of == used.of]
    if used.value == NEUTRAL[used.of] or not meant:
        return None
    if any(isclose(v.value, used.value, abs_tol=CLOSE) for v in meant):
        return None
    source = next((v for v in shipped if v.of == used.of and isclose(v.value, used.value, abs_tol=CLOSE)), None)
    if source is None and not n:
        return None
    first = meant[0]
    counted = (
        f"{n} of {of_all} requests in {used.file} ran" if n else f"{used.file} fills in where a request is silent:"
    )
    counted_zh = f"{used.file} 中 {of_all} 个请求有 {n} 个" if n else f"{used.file} 在请求未给出时填入"
    ships = f", as {source.file}:{source.line} ships it" if source else ""
    ships_zh = f"，与随权重发布的 {source.file}:{source.line} 相同" if source else ""
    return Finding(
        "served-otherwise-than-asked", Severity.S2,
        f"{counted} with {used.of} {used.value:g} (line {used.line}{ships}); {first.file}:{first.line} asks for "
        f"{first.value:g}, and nothing asks for {used.value:g}.",
        f"{counted_zh} {used.of} {used.value:g}（第 {used.line} 行{ships_zh}）；{first.file}:{first.line} 要求的是 "
        f"{first.value:g}，没有任何文件要求 {used.value:g}。",
        (used.evidence(), first.evidence(), *((source.evidence(),) if source else ())),
        {"of": used.of, "used": used.value, "asked": first.value, "requests": of_all},
    )  # fmt: skip
