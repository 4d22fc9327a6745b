"""The pages of `docs/` that are made from the code: `python -m triage.ui.docs` writes them, a test compares them.

One page per command, the catalogues of findings and rules, the formats that are read. It also runs the commands of
every ```console block of the README and the hand-written pages again, puts what they print below them, and names those
that print much less than they did.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .formats import formats_page

COMMAND = re.compile(r"(?:^|[|&]\s{0,9}|bin/)(?:[A-Z_]{1,80}=\S{1,200}\s{1,9}){0,9}triage\s{1,9}(?P<arguments>.+)")
"""A line that runs triage, also at the end of a pipe or of a chain."""


def pages() -> dict[str, str]:
    """Path below `docs/` -> text of every page made from the code."""
    made = {f"commands/{name}.md": text for name, text in command_pages()}
    made["commands/README.md"] = index()
    made["findings.md"] = findings_page()
    made["rules.md"] = rules_page()
    made["code-rules.md"] = code_rules_page()
    made["formats.md"] = formats_page()
    return {path: text.rstrip() + "\n" for path, text in made.items()}


# Commands ---------------------------------------------------------------------------------------------


def root() -> Any:
    """The click group of all commands."""
    import typer

    from .cli import app

    return typer.main.get_command(app)


def index() -> str:
    lines = [
        "# Commands",
        "",
        "Made from the code by `python -m triage.ui.docs`.",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    for name, command in sorted(root().commands.items()):
        lines.append(f"| [`triage {name}`]({name}.md) | {_first(command.help)} |")
    lines += ["", "## Exit status", "", "| status | when | for example |", "|---|---|---|"]
    for status, when, example in STATUSES:
        shown = example.replace("|", "\\|")
        lines.append(f"| {status} | {when} | {f'`{shown}`' if shown else ''} |")
    return "\n".join([*lines, "", "Shell completion: `triage --install-completion`."])


STATUSES = (
    (0, "nothing wrong was found", "triage scan evals/example/run-2"),
    (0, "what was found is milder than `--fail-on`", "triage lint evals/example/run-1 --fail-on S0"),
    (
        0,
        "the answer is that the run is healthy, or that the question is out of scope",
        "triage ask 'what went wrong?' --run evals/example/run-2",
    ),
    (0, "the verdict is `fixed`", "triage verify --baseline evals/example/run-1 --candidate evals/example/run-2"),
    (0, "something was shown, written or listed, one answer a line of `ask --batch` too", "triage explain S1"),
    (
        0,
        "a server (`web`, `slack`, `mcp`) was stopped by Ctrl-C or SIGTERM, or its client left",
        "triage mcp < /dev/null",
    ),
    (1, "something was found", "triage scan evals/example/run-1"),
    (1, "the answer names causes, or is inconclusive", "triage ask 'loss is nan' --run evals/example/run-1"),
    (
        1,
        "the verdict is `not-fixed`, `confounded` or `inconclusive`",
        "triage verify --baseline evals/example/run-1 --candidate evals/example/run-4",
    ),
    (
        1,
        "evidence was not read to its end, or a record could not be read",
        'printf \'{"text": "a"}\\n{"te\' > cut.jsonl; triage data check cut.jsonl',
    ),
    (
        1,
        "`doctor` found a part that does not work, `runbook check` a problem, `runbook index` a skipped file",
        "TRIAGE_MODEL_URL=nowhere triage doctor",
    ),
    (2, "it could not run: no such path, a wrong option, nothing there that it reads", "triage scan no-such-folder"),
    (
        2,
        "nothing of what it read could be checked",
        "mkdir run; printf '\\0' > run/events.out.tfevents.1; triage scan run",
    ),
    (2, "Ctrl-C, SIGTERM or a closed terminal stopped it", ""),
    (2, "a defect of triage itself (`internal error`)", ""),
    (141, "whoever read its output has gone", "triage scan evals/example/run-1 | true"),
)
"""Exit status, when a command leaves with it, and a command that does."""


def command_pages() -> Iterator[tuple[str, str]]:
    for name, command in root().commands.items():
        yield name, "\n".join(_command(f"triage {name}", command, "#"))


def _command(name: str, command: Any, level: str) -> Iterator[str]:
    text, _, examples = (command.help or "").partition("Examples:")
    yield from (f"{level} {name}", "", text.replace("\b", "").strip(), "")
    if examples:
        yield from _examples(examples)
    if table := list(_parameters(command)):
        yield from ("| | | default |", "|---|---|---|", *table, "")
    for sub, inner in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {sub}", inner, level + "#")


def _examples(text: str) -> Iterator[str]:
    """Lines that run something go into a block; what follows them is prose again."""
    lines = [line.strip() for line in text.splitlines()]
    commands = [line for line in lines if COMMAND.search(line)]
    prose = [line for line in lines if line not in commands]
    yield from ("```bash", *commands, "```", "")
    if rest := "\n".join(prose).strip():
        yield from (rest, "")


def _parameters(command: Any) -> Iterator[str]:
    for p in command.params:
        if p.name in ("help", "install_completion", "show_completion") or getattr(p, "hidden", False):
            continue
        names = (
            ", ".join(f"`{o}`" for o in (*p.opts, *p.secondary_opts))
            if p.opts[0].startswith("-")
            else f"`{p.name.upper()}`"
        )
        default = p.default if p.default not in (None, False, "", ()) and not callable(p.default) else ""
        needed = "required" if p.required else f"`{default}`" if default != "" else ""
        help = (p.help or "").replace("|", "\\|").replace("\n", " ")
        yield f"| {names} | {help}{f' Environment: `{p.envvar}`.' if p.envvar else ''} | {needed} |"


def _first(help: str | None) -> str:
    return (help or "").strip().split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


# Catalogues -------------------------------------------------------------------------------------------


GROUPS = {"logs": "Logs and metrics", "config": "Configuration", "code": "Programs", "data": "Data",
          "checkpoints": "Checkpoints",
          "scores": "Evaluation results", "relate": "Relations", "documents": "What lines say",
          "operation": "Servers, machines and hand-overs"}  # fmt: skip


FINDINGS = """\
Every code that a tool may report. Made from the code by `python -m triage.ui.docs`. Severity is set for each finding:
S0 stops the run now, S3 is worth knowing. `triage runbook search CODE` finds the entries that speak of it."""


def findings_page() -> str:
    from ..tools.catalogue import codes

    lines = ["# Findings", "", FINDINGS, ""]
    for group, known in sorted(codes().items(), key=lambda item: list(GROUPS).index(item[0])):
        lines += [f"## {GROUPS[group]}", "", "| code | meaning |", "|---|---|"]
        for code, (_, meaning) in sorted(known.items()):
            page = {"config": "rules.md", "code": "code-rules.md"}.get(group)
            link = f"[`{code}`]({page}#{code})" if page else f"`{code}`"
            lines.append(f"| {link} | {meaning.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines)


def rules_page() -> str:
    from ..tools.config.lint import RULES

    lines = [
        "# Lint rules",
        "",
        "`triage lint --explain CODE` prints one. Made from the code by `python -m triage.ui.docs`.",
        "",
    ]
    for code, rule in sorted(RULES.items()):
        lines += [f"## {code}", "", f"Severity {rule.severity}.", "", _listed(rule.page), ""]
    return "\n".join(lines)


def code_rules_page() -> str:
    from ..tools.code.check import RULES
    from ..tools.secrets import redact

    lines = [
        "# Rules on programs",
        "",
        "What is read of a program, and what is not: [code.md](code.md). `triage lint --explain CODE` prints one rule.",
        "Made from the code by `python -m triage.ui.docs`.",
        "",
        "| code | severity | what it finds |",
        "|---|---|---|",
        *(f"| [`{code}`](#{code}) | {rule.severity} | {rule.title} |" for code, rule in sorted(RULES.items())),
        "",
    ]
    for code, rule in sorted(RULES.items()):
        lines += [f"## {code}", "", f"Severity {rule.severity}.", "", redact(_listed(rule.page)), ""]
    return "\n".join(lines)


def _listed(page: str) -> str:
    """The headings of a rule's docstring (`Why:`, `Bad:`, ...) as list items."""
    from ..tools.config.rules.rule import HEADINGS

    return re.sub(rf"^({'|'.join(HEADINGS)}):", r"- **\1:**", page.strip(), flags=re.M)


# What the hand-written pages show ---------------------------------------------------------------------

BLOCK = re.compile(r"^(?P<fence>`{3,})console\n(?P<body>(?:(?!(?P=fence)).*\n)*+)(?P=fence)$", re.M)


def refreshed(text: str, run: Callable[[str], str]) -> str:
    """The page with the output of every `$ command` of its console blocks made anew by `run`."""

    def again(block: re.Match[str]) -> str:
        commands = [line[2:] for line in block["body"].splitlines() if line.startswith("$ ")]
        shown = "\n\n".join(f"$ {command}\n{run(command).rstrip()}" for command in commands)
        fence = "````" if "```" in shown else "```"
        return f"{fence}console\n{shown}\n{fence}"

    return BLOCK.sub(again, text)


def shrunk(old: str, new: str) -> Iterator[str]:
    """Commands that print less than half of what the page showed: a filter behind one may no longer fit its output."""
    before, after = ({c: body for c, body in _shown(page)} for page in (old, new))
    for command, body in after.items():
        was, now = before.get(command, "").count("\n"), body.count("\n")
        if 2 * now < was:
            yield f"{command}: {now} lines, {was} before"


def _shown(page: str) -> Iterator[tuple[str, str]]:
    """Every command of the console blocks, with what is shown below it."""
    for block in BLOCK.finditer(page):
        for one in re.split(r"^\$ ", block["body"], flags=re.M)[1:]:
            command, _, body = one.partition("\n")
            yield command, body.strip() + "\n"


def commands_of(text: str) -> Iterator[str]:
    """Every command that runs triage in the bash and console blocks of a page."""
    for block in re.finditer(r"^[ ]*(`{3,})(bash|console)\n((?:(?! *\1).*\n)*+) *\1$", text, re.M):
        for line in re.sub(r"\\\n\s*", "", block.group(3)).splitlines():
            line = line.strip()
            if block.group(2) == "console":
                line = line[2:] if line.startswith("$ ") else ""
            if not line.startswith("#") and COMMAND.search(_uncommented(line)):
                yield _uncommented(line)


def _uncommented(line: str) -> str:
    return re.sub(r"(?<!\s)\s++#\s.*", "", line)


def in_shell(command: str, cwd: Path, home: Path) -> str:
    """What a command prints, with what changes from run to run (case, paths of this machine) made plain."""
    import os
    import subprocess

    env = os.environ | {
        "TRIAGE_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    text = re.sub(r"\bcase [0-9a-f]{6}\b", "case 4be1c9", done.stdout or done.stderr)
    return text.replace(str(cwd), ".").replace(str(home), "~/.local/share/triage").replace("\u2800", " ")


def main() -> None:
    """Write everything below the `docs` folder of a checkout, and refresh the hand-written pages."""
    import tempfile

    here = Path(__file__).parents[1]
    folder = here / "docs"
    (folder / "commands").mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        (folder / path).write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as home:
        for page in (*sorted(here.glob("README*.md")), *sorted(folder.glob("*.md"))):
            text = page.read_text(encoding="utf-8")
            new = refreshed(text, lambda command: in_shell(command, here, Path(home)))
            if new != text:
                page.write_text(new, encoding="utf-8")
                print(f"refreshed {page.relative_to(here)}", *shrunk(text, new), sep="\n  look at: ")


if __name__ == "__main__":
    main()
