"""Fields of the data that a configuration names, against those that the records have, where no error says it yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from ..documents.stated import Stated, stated
from ..findings import Check, Evidence, Finding, Report, Severity, declare
from ..logs.named import ROWS, fields_of
from ..patterns import bounded
from ..reading import head
from ..run import Run

CHECK = "fields that the configuration names, in the records"
CODES = declare(
    "fields", ("fields-not-in-records", CHECK, "the configuration names fields that no record of the data has")
)
ASKS = bounded(r"(?i)(?:^|[_.-])(?:field|column|col|key)s?(?:$|[_.-]"
               r"(?:instruction|input|output|prompt|response|query|answer"
               r"|messages|system|text|history|chosen|rejected|label)$)")  # fmt: skip
NAME = bounded(r"^[A-Za-z_][A-Za-z0-9_-]{1,40}$")
NONE = frozenset(("null", "none", "true", "false", "auto", "default"))
SETTINGS = bounded(r"(?i)\.(?:ya?ml|json|toml|ini|cfg)$")


def check_fields(run: Run) -> Report:
    """One file of settings that names a file of records and fields, none of which any of its records has."""
    said = [s for s in stated(run) if s.how == "said" and SETTINGS.search(s.file)]
    asked = [s for s in said if ASKS.search(s.key) and NAME.match(s.value) and s.value.lower() not in NONE]
    records = [(a.name, fields_of(a.path)) for a in run.of("data", "table") if ROWS.search(a.name)] if asked else []
    where = {a.name: a.path for a in run.of("data", "table")}
    looked = False
    for file in dict.fromkeys(s.file for s in asked):
        mine = [s for s in asked if s.file == file]
        named = {PurePosixPath(s.value).stem for s in said if s.file == file}
        there = [(name, keys) for name, keys in records if keys and PurePosixPath(name).stem in named]
        mine = [s for s in mine if not any(_holds(where[name], s.value) for name, keys in there if s.value not in keys)]
        for name, keys in there:
            looked = True
            if mine and not any(s.value in keys for s in mine):
                return Report("fields", (_told(mine, (name, keys)),), (Check(CHECK, "found"),))
    why = "no configuration names both a file of records that is there and its fields"
    check = Check(CHECK, "clear") if looked else Check(CHECK, "not-applicable", why, "没有同时指定数据文件和字段的配置")
    return Report("fields", (), (check,))


def _holds(path: Path, value: str) -> bool:
    """Whether the first records have the word as a value: what is chosen by it is no field."""
    return f'"{value}"'.encode() in head(path)


def _told(missing: Sequence[Stated], record: tuple[str, set[str]]) -> Finding:
    name, keys = record
    said = ", ".join(f"{s.key}: {s.value}" for s in missing[:4])
    there = ", ".join(sorted(keys)[:8])
    return Finding(
        "fields-not-in-records", Severity.S1,
        f"{missing[0].file}:{missing[0].line} asks for {said}; the records of {name} have {there} and none of these.",
        f"{missing[0].file}:{missing[0].line} 要求字段 {said}，而 {name} 的记录只有 {there}。",
        (missing[0].evidence(), Evidence(name, 1, text=there)),
        {"fields": [s.value for s in missing], "there": sorted(keys)[:40]},
    )  # fmt: skip
