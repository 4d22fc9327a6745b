"""The hand-off bundle: what the makers of a framework ask for, in the order of their issue form, as Markdown.

The forms themselves stand with their frameworks. Only what the run shows is filled in; what is missing is listed
with the way to get it, and what only the reporter can write stays an empty heading.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ..agent.bundle import Bundle, attachments, told
from ..tools.config.frameworks import FRAMEWORKS
from ..tools.findings import TriageError, clean
from ..tools.keeping import reason, whole
from ..tools.registry import table
from ..tools.secrets import redact

FORMS = [(form.name or f.name, form if all(form[:3]) else None) for f in FRAMEWORKS.values() if (form := f.issue_form)]
TEMPLATES = table("issue forms", sorted(FORMS, key=lambda form: form[0]))
"""Name of a project -> its form, from the framework's file in `tools/config/frameworks/`."""
HOW = {
    "hardware": "GPU model, count and memory: `nvidia-smi`",
    "versions": "versions of the software: `pip freeze`, and `{environment}`",
    "command": "the full command line, with all arguments",
    "error": "the complete traceback, from the first error of the first failing rank",
    "variables": "environment variables in effect: `env | grep -E 'NCCL|CUDA|TORCH|HF_|VLLM'`",
    "script": "a minimal script that reproduces it, without your data",
    "tried": "what you have tried, with the result (triage notes it: `triage verify --case ID`)",
}
"""Items of the checklist -> what is wanted and how to get it."""
LISTED = 12


def markdown(b: Bundle, framework: str) -> str:
    """The report, ready to paste."""
    form = TEMPLATES[framework]
    title = clean(b.first.message, 120) if b.first else f"{b.name}: what went wrong"
    lines = [f"# [{form.project}] {title}", "", f"<!-- {form.issues} -- read it through before you post it -->", ""]
    for heading, parts in form.sections:
        body = [line for part in parts.split() for line in PARTS[part](b)]
        empty = "<!-- not in the run: see the end -->" if parts else "<!-- yours to write -->"
        lines += [f"## {heading}", "", *(body or [empty]), ""]
    missing = b.missing()
    lines += ["## Still missing", ""] if missing else []
    lines += [f"- [ ] {HOW[item].format(environment=form.environment)}" for item in missing]
    return redact(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n")


def write(b: Bundle, framework: str, path: Path) -> list[str]:
    """Write the report, with the run's configuration beside it where `path` is a .zip or .tar.gz; names of its files.

    Raises:
        TriageError: the file exists, cannot be written, or is of another kind.
    """
    files = {"report.md": markdown(b, framework)}
    if path.suffix != ".md":
        files |= {f"files/{name}": text for name, text in attachments(b.files)}
    try:
        with whole(path, new=True) as (draft,):
            draft.write_bytes(_packed(files, path))
    except FileExistsError:
        raise TriageError(f"{path}: exists; choose another name") from None
    except OSError as error:
        raise TriageError(f"{path}: cannot be written ({reason(error)}); choose a path you may write to") from None
    return list(files)


def _packed(files: dict[str, str], path: Path) -> bytes:
    out = io.BytesIO()
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    elif path.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            for name, text in files.items():
                info, data = tarfile.TarInfo(name), text.encode()
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    else:
        return files["report.md"].encode()
    return out.getvalue()


def _table(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    if rows:
        yield from ("| | | read in |", "|---|---|---|")
        yield from (f"| {_cell(a)} | {_cell(b)} | {_cell(c)} |" for a, b, c in rows)
        yield ""


def _cell(text: str) -> str:
    return clean(text, 200).replace("|", "\\|")


def _fenced(text: str, kind: str = "text") -> Iterator[str]:
    yield f"```{kind}"
    yield text.replace("```", "'''")
    yield from ("```", "")


def _versions(b: Bundle) -> Iterator[str]:
    yield from _table([(f.name, f.value, told(f)) for f in b.environment.versions])


def _hardware(b: Bundle) -> Iterator[str]:
    world = [s for s in b.settings if s.variable == "world_size"]
    rows = [("processes", s.raw, f"{s.file}:{s.line}") for s in world]
    yield from _table([(f.name, f.value, told(f)) for f in b.environment.hardware] + rows)


def _variables(b: Bundle) -> Iterator[str]:
    yield from _table([(f.name, f.value, told(f)) for f in b.environment.variables])


def _command(b: Bundle) -> Iterator[str]:
    for fact in b.environment.commands:
        yield from (f"`{told(fact)}`", "")
        yield from _fenced(fact.value, "bash")


def _settings(b: Bundle) -> Iterator[str]:
    if b.settings:
        yield from ("Settings in force, as the files spell them:", "")
        yield from _table([(s.key, s.raw, f"{s.file}:{s.line}") for s in b.settings if s.style != "env"])


def _error(b: Bundle) -> Iterator[str]:
    if b.first and b.error:
        yield from (clean(b.first.message, 400), "", f"The first error, `{b.error.file}` line {b.error.line}:", "")
        yield from _fenced("\n".join(f"{number}: {text}" for number, text in b.error.lines))


def _findings(b: Bundle) -> Iterator[str]:
    if b.findings:
        yield from ("What triage measured in the logs and settings:", "")
        yield from (f"- {f.code}: {clean(f.message, 300)} ({clean(f.place())})" for f in b.findings[:LISTED])
        yield ""


def _tried(b: Bundle) -> Iterator[str]:
    if b.tried:
        yield from ("Tried so far:", "", *(f"- {attempt}" for attempt in b.tried), "")


PARTS = {"versions": _versions, "hardware": _hardware, "variables": _variables, "command": _command,
         "settings": _settings, "error": _error, "findings": _findings, "tried": _tried}  # fmt: skip
"""Name -> the Markdown lines of one part of a report; none where the run shows nothing."""
