"""What an error names, looked up in the run's own files: the path that is missing, the package, the collective.

The person would look there first; the files can answer. What the error itself means is `signatures`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path, PurePosixPath

from ..findings import Check, Evidence, Finding, Report, Severity, declare
from ..patterns import bounded
from ..reading import head
from ..run import Run

CHECK = "what the errors name, in the run's files"
CODES = declare(
    "named",
    ("path-not-there", CHECK, "the data path that an error names is not among the run's files"),
    ("path-missing-on-one", CHECK, "a path is missing for one machine or rank of the job, and another one reads it"),
    ("index-not-there", CHECK, "the index of semantic identifiers that an error names is not among the run's files"),
    ("field-not-in-records", CHECK, "no record of the data has the field that an error misses"),
    ("package-not-listed", CHECK, "the package that an error misses is not in the list of installed packages"),
    (
        "package-listed",
        CHECK,
        "the package that an error misses is in the list of installed packages: another interpreter ran",
    ),
    (
        "ranks-at-different-collectives",
        CHECK,
        "at the time limit the ranks waited in different collectives, or with different sizes in one",
    ),
    (
        "sample-shorter-than-labels",
        CHECK,
        "beside the first bad step the log names a sample with fewer frames than labels",
    ),
    ("ranks-at-one-collective", CHECK, "at the time limit all ranks waited in the same collective"),
)
PATH = bounded(r"(?:directory|found|denied|exist)[^'\"]{0,40}['\"]([^'\"]{1,300})['\"]|['\"]([^'\"]{1,300})['\"]")
DATA = bounded(r"(?i)\.(?:csv|tsv|jsonl?|parquet|arrow|txt|npy|npz|zst|gz|tar|bin|idx|wav|mp4)$")
INDEX = bounded(r"(?i)\.(?:index|item)\.json$|codebook")
MODULE = bounded(r"No module named ['\"]([\w.]{1,80})['\"]")
FIELD = bounded(r"KeyError: ['\"](\w{1,60})['\"]|Column name \[?['\"](\w{1,60})['\"]\]? not in")
ROWS = bounded(r"(?i)\.jsonl$|(?:^|[/_.-])(?:train|sft|data)[\w.-]{0,40}\.(?:csv|tsv)$")
GONE = bounded(r"(?i)no such file|not found|does not exist|missing|error|denied|不存在|找不到")
FREEZE = bounded(r"(?i)(?:^|[/_.-])(?:pip[_-]?(?:freeze|list)|freeze|conda[_-]?list|packages)[\w.-]{0,20}$")
WORK = bounded(r"SeqNum=(\d{1,12}), OpType=([A-Z_]{3,40})(?:, NumelIn=(\d{1,20}))?")
RANK = bounded(r"\[?[Rr]ank\]?\s?(\d{1,6})")
FREEZE_BYTES = ROWS_BYTES = 1 << 20
MOST_ROWS, LEAST_ROWS = 200, 3
"""Records of a data file whose fields are looked at, and how many must be there to speak for the rest."""
LOG_BYTES, LINE = 1 << 23, 600
"""Of a file with waiting ranks what is looked through, and of its lines what is looked at."""
MADE = frozenset(("input_ids", "labels", "label", "attention_mask", "pixel_values"))
"""Fields that a tokenizer or collator makes, which no record has to have."""
DEEP = 4
"""Levels of a record that are looked into."""
ALIAS = {
    "cv2": "opencv",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "faiss": "faiss",
    "flash_attn": "flash-attn",
}
"""Modules whose package has another name."""
NEAR = 0.8
BESIDE = 6
"""Lines around the first bad step in which the log may name what it was fed."""
FRAMES = bounded(
    r"(?i)(?<![a-z])(?:n_?|num_?)?(?:(?:enc\w{0,8}|inputs?|feats?|x|h|src)_?(?:lens?|lengths?)|(?:enc\w{0,8}_)?frames"
    r"|帧数|帧)\s?[=:：]\s?(\d{1,7})\b"
)
LABELS = bounded(
    r"(?i)(?<![a-z])(?:n_?|num_?)?(?:(?:labels?|targets?|tgt|y|text|token)_?(?:lens?|lengths?)|labels|targets|phones|标签数"
    r"|标签|字数)\s?[=:：]\s?(\d{1,7})\b"
)
ALIGNS = re.compile(rb"(?i)ctc|rnn-?t\b|transducer")
"""Lengths of one sample as logs write them; what was aligned needs as many frames as labels at least."""
LEAST_RANKS = 2


def look_up(run: Run, findings: Sequence[Finding]) -> Report:
    """Look up what the findings of the logs name."""
    named = {f.code for f in findings}
    found = [one for look in LOOKS.values() for one in look(run, findings)]
    asked = bool(named & LOOKS.keys())
    return Report("named", tuple(found), (Check(CHECK, "found" if found else "clear" if asked else "not-applicable"),))


def _said(findings: Sequence[Finding], code: str) -> Iterator[Evidence]:
    return (e for f in findings if f.code == code for e in f.evidence[:8] if e.text)


def paths(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The path that an error names against the run's listing: not there, and what comes nearest."""
    listing = [*(a.name for a in run.artifacts), *(s.name for s in (*run.skipped, *run.unknown))]
    for said in _said(findings, "file-missing"):
        match = PATH.search(said.text or "")
        path = (match[1] or match[2]) if match else ""
        if not (DATA.search(path) or INDEX.search(path)) or any(
            name == path or path.endswith(f"/{name}") for name in listing
        ):
            continue
        base = PurePosixPath(path).name
        by_base = {PurePosixPath(name).name: name for name in listing}
        near = get_close_matches(base, by_base, 1, NEAR)
        code = "index-not-there" if INDEX.search(path) else "path-not-there"
        also = f"; the nearest that is there is {by_base[near[0]]}" if near else "; nothing there has a name like it"
        also_zh = f"；最接近的是 {by_base[near[0]]}" if near else "；没有名字相近的文件"
        yield Finding(code, Severity.S2, f"{path} is named at {said.file}:{said.line} and is not among the "
                      f"{len(listing)} files of the run{also}.",
                      f"{said.file}:{said.line} 处用到的 {path} 不在该运行的 {len(listing)} 个文件中"
                      f"{also_zh}。", (said,),
                      {"path": path, "nearest": by_base[near[0]] if near else None})  # fmt: skip
        return


def missing(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """A missing path against the other logs of the job, else against the listing."""
    yield from (one := [*_on_one(run, findings)])
    if not one:
        yield from paths(run, findings)


def _on_one(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The path is missing in one log of a family of logs, and another of them has it with no complaint."""
    for said in _said(findings, "file-missing"):
        match = PATH.search(said.text or "")
        path = (match[1] or match[2]) if match else ""
        family = re.sub(r"\d+", "", said.file or "")
        beside = [a for a in run.of("log") if a.name != said.file and re.sub(r"\d+", "", a.name) == family]
        if not path or "/" not in path or not beside:
            continue
        for artifact in beside[:64]:
            lines = head(artifact.path, FREEZE_BYTES).decode("utf-8", "replace").splitlines()
            told = [(i, line) for i, line in enumerate(lines, 1) if path in line]
            if not told or any(GONE.search(line) for _, line in told):
                continue
            line, text = told[0]
            yield Finding(
                "path-missing-on-one", Severity.S1,
                f"{path} is missing in {said.file}:{said.line} and is there for {artifact.name}:{line}: the machines "
                "of this job do not see the same files.",
                f"{said.file}:{said.line} 找不到 {path}，而 {artifact.name}:{line} 能读到：各机器看到的文件不一致。",
                (said, Evidence(artifact.name, line, text=text[:200])), {"path": path, "beside": artifact.name},
            )  # fmt: skip
            return


def fields(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The field that an error misses against the records of the run's data: not in one of them, and what is there."""
    for said in _said(findings, "data-schema-mismatch"):
        match = FIELD.search(said.text or "")
        field = (match[1] or match[2]) if match else ""
        tables = [(a.name, keys) for a in run.artifacts if ROWS.search(a.name) and (keys := fields_of(a.path))]
        if not field or field in MADE or not tables or any(field in keys for _, keys in tables):
            continue
        name, keys = tables[0]
        there, place = ", ".join(sorted(keys)[:8]), f"{said.file}:{said.line}"
        yield Finding("field-not-in-records", Severity.S2,
                      f"{field} is asked for at {place} and no record of {name} has it; they have {there}.",
                      f"{place} 处要求的字段 {field} 在 {name} 的记录中都没有；其字段为 {there}。",
                      (Evidence(name, 1, text=there), said), {"field": field, "there": sorted(keys)[:40]})  # fmt: skip
        return


def fields_of(path: Path) -> set[str]:
    """The fields of the first records of a file, empty where they cannot be told."""
    lines = head(path, ROWS_BYTES).decode("utf-8", "replace").split("\n")[: MOST_ROWS + 1]
    if path.suffix.lower() != ".jsonl":
        names = next(csv.reader(lines[:1], delimiter="\t" if path.suffix.lower() == ".tsv" else ","), [])
        return {n.strip() for n in names} if len(lines) > LEAST_ROWS else set()
    found: set[str] = set()
    rows = 0
    for line in lines[:-1]:
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict):
                rows, found = rows + 1, found | set(_keys(record, DEEP))
    return found if rows >= LEAST_ROWS else set()


def _keys(value: object, deep: int) -> Iterator[str]:
    """The fields of a record and of what it holds."""
    if isinstance(value, dict):
        yield from map(str, value)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in islice(inside, 50) if deep else ():
        yield from _keys(one, deep - 1)


def packages(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The module that is missing against the list of installed packages."""
    lists = [(a.name, a.path) for a in run.artifacts if FREEZE.search(PurePosixPath(a.name).stem)]
    lists += [(s.name, run.root / s.name) for s in run.unknown if FREEZE.search(PurePosixPath(s.name).stem)]
    for said in _said(findings, "import-error"):
        match = MODULE.search(said.text or "")
        for name, path in lists[:4] if match else ():
            listed = head(path, FREEZE_BYTES).decode("utf-8", "replace").splitlines()
            first = (re.split(r"[=<>@~!\s]", line.strip(), maxsplit=1)[0] for line in listed if line.strip())
            installed = {one.lower().replace("_", "-") for one in first}
            module = match[1].split(".")[0] if match else ""
            wanted = ALIAS.get(module, module).lower().replace("_", "-")
            there = any(one == wanted or one.startswith(f"{wanted}-") for one in installed)
            en, zh = ("is in", "在") if there else ("is not in", "不在")
            why = ": the interpreter that ran is another one" if there else ""
            why_zh = "：实际运行的是另一个环境" if there else ""
            yield Finding("package-listed" if there else "package-not-listed", Severity.S2,
                          f"{wanted} {en} {name}, which lists {len(installed)} packages{why}.",
                          f"{wanted} {zh} {name} 列出的 {len(installed)} 个包中{why_zh}。", (said, Evidence(name)),
                          {"module": module, "list": name})  # fmt: skip
            return


def collectives(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Where each rank waited when the time limit came."""
    at: dict[str, tuple[str, str, str]] = {}
    shown: dict[str, Evidence] = {}
    for said in (*_said(findings, "nccl-timeout"), *_waits(run, findings)):
        work, rank = WORK.search(said.text or ""), RANK.search(said.text or "")
        if work and rank and rank[1] not in at:
            at[rank[1]], shown[rank[1]] = (work[1], work[2], work[3] or ""), said
    if len(at) < LEAST_RANKS:
        return
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for rank, where in at.items():
        kinds.setdefault(where, []).append(rank)
    said = "; ".join(
        f"rank {', '.join(sorted(r, key=int)[:8])} in {op} number {n}{_of(size)}"
        for (n, op, size), r in sorted(kinds.items())
    )
    said_zh = "；".join(
        f"rank {', '.join(sorted(r, key=int)[:8])} 在第 {n} 个 {op}{_of(size)}"
        for (n, op, size), r in sorted(kinds.items())
    )
    apart = len({op for _, op, _ in kinds}) > 1 or (len({n for n, *_ in kinds}) == 1 and len(kinds) > 1)
    if len(kinds) > 1 and not apart:
        return  # counters of different groups, or one that came later: no proof
    alone = sorted(kinds.values(), key=len)[0] if apart else []
    shown = {rank: shown[rank] for rank in (*alone[:4], *(r for r in shown if r not in alone[:4]))}
    code = "ranks-at-different-collectives" if apart else "ranks-at-one-collective"
    yield Finding(code, Severity.S2 if apart else Severity.S3, f"At the time limit: {said}.", f"超时时：{said_zh}。",
                  tuple(shown.values())[:8], {"ranks": {r: list(w) for r, w in at.items()}})  # fmt: skip


def _of(size: str) -> str:
    return f" ({size})" if size else ""


def _waits(run: Run, findings: Sequence[Finding]) -> Iterator[Evidence]:
    """Every line that says which collective a rank waited in, of the files in which some did."""
    files = {e.file for f in findings if f.code == "nccl-timeout" for e in f.evidence}
    for artifact in run.artifacts:
        if artifact.name in files:
            text = head(artifact.path, LOG_BYTES).decode("utf-8", "replace")
            for number, line in enumerate(text.split("\n"), 1):
                if "SeqNum=" in line and RANK.search(line[:LINE]):
                    yield Evidence(artifact.name, number, text=line[:LINE])


def lengths(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The sample that the log names beside the first bad step, where it has fewer frames than labels.

    An alignment (CTC) of such a sample does not exist: its loss is infinite, whatever the model says.
    """
    bad = [(e.file, e.line) for f in findings if f.code == "loss-nonfinite" for e in f.evidence[:1] if e.line]
    aligned = bad and any(ALIGNS.search(head(a.path, FREEZE_BYTES)) for a in run.of("log", "code", "config"))
    for artifact in run.artifacts if aligned else ():
        for at in [line for file, line in bad if file == artifact.name]:
            text = head(artifact.path, LOG_BYTES).decode("utf-8", "replace").split("\n")
            for number in range(max(1, at - BESIDE), min(len(text), at + BESIDE) + 1):
                last = text[number - 1][:LINE]
                frames, labels = FRAMES.findall(last), LABELS.findall(last)
                if frames and labels and 0 < int(frames[-1]) < int(labels[-1]):
                    yield Finding(
                        "sample-shorter-than-labels", Severity.S1,
                        f"{artifact.name}:{number} names a sample of {frames[-1]} frames and {labels[-1]} labels: no "
                        "alignment of so many labels exists, and the loss of it is infinite.",
                        f"{artifact.name}:{number} 给出一个样本：{frames[-1]} 帧、{labels[-1]} 个标签，无法对齐，"
                        "它的 loss 必为无穷。",
                        (Evidence(artifact.name, number, text=last.strip()[:200]),),
                        {"frames": int(frames[-1]), "labels": int(labels[-1])},
                    )  # fmt: skip
                    return


LOOKS: dict[str, Callable[[Run, Sequence[Finding]], Iterator[Finding]]] = {
    "file-missing": missing, "data-schema-mismatch": fields, "import-error": packages, "nccl-timeout": collectives,
    "loss-nonfinite": lengths,
}  # fmt: skip
"""Code of an error -> where what it names is looked up."""
