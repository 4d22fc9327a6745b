"""What an agent reads of a result: text of at most 2,000 characters, in the words of tools, not of a terminal.

The structured result beside it is whole. A reason that a command line would give with its options is put into the
names of the tools and their arguments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from . import mcp_results as results
from .mcp_results import Result

MOST_SAID = 2000
"""Characters of an answer's text; a look into a file has the bound of its own tool."""
COMMANDS = {
    "ask": "diagnose", "scan": "scan", "lint": "lint", "verify": "verify", "checkpoint check": "check_checkpoint",
    "data check": "check_data", "data pii": "check_data", "data labels": "check_data", "data dedup": "find_duplicates",
    "runbook list": "search_runbook", "runbook search": "search_runbook", "runbook show": "read_entry",
    "explain": "read_entry", "sql": "sql", "tables": "files",
}  # fmt: skip
"""Command -> the tool that does the same here."""
_COMMAND = re.compile(
    rf"`?triage (?P<what>{'|'.join(sorted(COMMANDS, key=len, reverse=True))})\b(?: [A-Z]{{2,9}}\b)?`?"
)
_OWN = re.compile(r"(?:;|, or)? (?:pass|move it away or pass) --home DIR(?: or set TRIAGE_HOME)?")
_OPTION = re.compile(r"(?P<pass>\b(?:pass|give) )?(?<![\w-])--(?P<name>[a-z][a-z-]{1,20})(?: [A-Z][A-Z_]{1,12}\b)?")


def told(result: Result) -> CallToolResult:
    """The text of a result, and the result."""
    text = SAYS[type(result)](result)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=result.model_dump(mode="json", by_alias=True)
    )


def in_tools(text: str) -> str:
    """A reason without commands and options of a terminal."""
    text = _OWN.sub("; whoever runs this server can mend it", text)
    text = _COMMAND.sub(lambda m: f"`{COMMANDS[m['what']]}`", text)
    return _OPTION.sub(lambda m: f"{'give ' if m['pass'] else ''}`{m['name'].replace('-', '_')}`", text)


def misread(error: ValidationError) -> str:
    """Arguments that do not fit, each with what is wrong."""
    parts = [f"`{'.'.join(map(str, e['loc'][:1]))}`: {e['msg'][:1].lower()}{e['msg'][1:]}" for e in error.errors()]
    return "; ".join(parts[:5])


def compact(schema: Any) -> Any:
    """A JSON schema without the titles that repeat the names."""
    if isinstance(schema, list):
        return [compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: compact(v) for k, v in schema.items() if k != "title" or not isinstance(v, str)}


def _lines(lines: Iterator[str], rest: str) -> str:
    """As many lines as fit, and that there are more."""
    every = list(lines)
    sizes = accumulate(len(line) + 1 for line in every)
    most = sum(size <= MOST_SAID - len(rest) - 1 for size in sizes)
    return "\n".join(every if most == len(every) else [*every[:most], rest])


def _findings(r: results.Findings) -> str:
    def lines() -> Iterator[str]:
        of = Counter(r.counts)
        short = of.pop("too-short", 0)
        yield (
            f"{len(r.findings) + r.left_out} found; of {of.total()} checks {of['found']} found something, "
            f"{of['clear']} clear, {short} too short to judge, {of['failed']} could not be checked"
        )
        yield from (f"could not be checked: {c.name}: {c.why}"[:300] for c in r.checks if c.result == "failed")
        for f in r.findings:
            where = next((f" ({e.file}:{e.line})" if e.line else f" ({e.file})" for e in f.evidence if e.file), "")
            yield f"{f.id} {f.severity} {f.code}: {f.message[:400]}{where}"

    return _lines(lines(), "… more in the structured result")


def _proposed(r: results.Proposed) -> str:
    p = r.proposal
    if p is None:
        return f"{r.state}: no change yet: {r.no_proposal}"[:MOST_SAID]
    change = f"```diff\n{p.patch.rstrip()}\n```" if p.patch else f"Change `{p.key}`: {p.new}"
    where = f"{p.file}:{p.line} `{p.key}` {p.old} -> {p.new}" if p.file else f"`{p.key}`: {p.new}"
    said = f"{r.state}: {where}\n{change}\nWhy: {p.why}\nExpect: {p.expect}\nUndo: {p.undo}"
    return said if len(said) <= MOST_SAID else f"{r.state}: {where}\nWhy: {p.why}"[:MOST_SAID]


def _search(r: results.Search) -> str:
    def lines() -> Iterator[str]:
        if not r.covers:
            yield "Not about training, aligning or serving language models."
        yield from (f"`{h.entry}` {h.severity} {h.title} / {h.title_zh} ({h.score:.2f})" for h in r.hits)
        yield from (f"{p.file}:{p.line} (your own): {p.text[:300]}" for p in r.passages)

    return _lines(lines(), "… more in the structured result")


def _cut(text: str, rest: str) -> str:
    return text if len(text) <= MOST_SAID else f"{text[: MOST_SAID - len(rest) - 2]}\n{rest}"


SAYS: dict[type[Result], Callable[[Any], str]] = {
    results.Findings: _findings,
    results.Diagnosis: lambda r: _cut(r.short, "…"),
    results.Proposed: _proposed,
    results.Verdict: lambda r: _cut(r.answer, "… the criteria are in the structured result"),
    results.Search: _search,
    results.Page: lambda r: _cut(r.markdown, f"… whole: the structured result, or triage://runbook/{r.id}"),
    results.Shown: lambda r: r.text,
}
"""Kind of result -> its text."""
