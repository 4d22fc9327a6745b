"""Fields of the data that a configuration names, against those that the records have, where no error says it yet."""

from __future__ import annotations

from collections.abc import Sequence

from ..documents.stated import Stated, stated
from ..findings import Check, Evidence, Finding, Report, Severity, declare
from ..logs.named import ROWS, fields_of
from ..patterns import bounded
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
    """One file of settings all of whose fields are missing from every file of records."""
    asked = [s for s in stated(run) if s.how == "said" and SETTINGS.search(s.file) and ASKS.search(s.key)
             and NAME.match(s.value) and s.value.lower() not in NONE]  # fmt: skip
    records = [(a.name, keys) for a in run.artifacts if ROWS.search(a.name) and (keys := fields_of(a.path))]
    if not asked or not records:
        why = "no configuration names fields, or no records are there"
        return Report("fields", (), (Check(CHECK, "not-applicable", why, "没有指定字段的配置，或没有数据记录"),))
    missing = [s for s in asked if not any(s.value in keys for _, keys in records)]
    file = next((s.file for s in missing if all(o in missing for o in asked if o.file == s.file)), "")
    found = (_told([s for s in missing if s.file == file], records[0]),) if file else ()
    return Report("fields", found, (Check(CHECK, "found" if found else "clear"),))


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
