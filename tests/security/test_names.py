"""Names of files and folders that are commands, escapes, markup or options, in every form of output."""

import os
import shutil

import pytest
from attack.fence import EXAMPLE, Tally, name_of
from attack.kinds import CANARY, KINDS, lay
from attack.oracle import UNSAFE, Truth, prints

NAMES = {
    "newline": "a\nb",
    "escape": "a\x1b[2J\x1b[31mb",
    "title": "a\x1b]0;owned\x07b",
    "right-to-left": "a\u202eb\u2066c",
    "csi": "a\x9b31mb",
    "c1-bytes": os.fsdecode(b"a\x9b31m\x85b"),
    "bad-utf-8": os.fsdecode(b"a\xff\xfe\xc3b"),
    "surrogate": os.fsdecode(b"a\xed\xa0\x80b"),
    "markup": "a[red]b[/red][link=x]",
    "image": "a`<img src=x onerror=alert(1)>`",
    "tag": "<img src=x>",
    "script": "<script>alert(1)<",
    "option": "--help",
    "option-short": "-rf",
    "shell": "a$(touch $CANARY)`touch $CANARY`;touch $CANARY",
    "quotes": "a'\"b\\",
    "braces": "{0}%s%n{checkpoint}",
    "carriage": "a\rb\bc\x7f",
    "tabs": "a\tb\x0bc\x0c",
    "long": "n" * 240,
    "dots": "...",
    "blank": " ",
    "glob": "*?[a-z]",
    "separators": "a\u2028b\u2029c\u200bd\ufeff",
    "zip-slip": "..\\..\\a",
}
PLACES = {"log": ".log", "yaml": ".yaml", "launch": ".sh", "data-jsonl": ".jsonl"}
OUT = "{out}"
COMMANDS = (
    ("scan", "{run}"), ("scan", "{run}", "--json"), ("scan", "{run}", "--html", OUT), ("lint", "{run}"),
    ("lint", "{run}", "--format", "sarif"), ("lint", "{run}", "--format", "github"),
    ("ask", "loss is nan", "--run", "{run}"), ("ask", "loss is nan", "--run", "{run}", "--json"),
    ("ask", "loss is nan", "--run", "{run}", "--html", OUT), ("report", "{run}", "--bug", "trl"),
    ("data", "check", "{data}", "--workers", "1"), ("data", "dedup", "{data}", "--workers", "1", "--json"),
    ("checkpoint", "check", "{run}"), ("checkpoint", "check", "{run}", "--json"),
    ("verify", "--baseline", "{example}", "--candidate", "{run}", "--json"), ("cases",),
    ("bisect", "{run}", "--eval", "./eval.sh {{checkpoint}}", "--dry-run"),
    ("bisect", "{run}", "--eval", "sh -c 'echo \"$1\"; exit 1' _ {{checkpoint}}", "--pass-fail", "--budget", "3"),
)  # fmt: skip
IN_PART = ("ask --json", "lint github", "bisect --dry-run")
NAMES_IN_PART = ("newline", "escape", "right-to-left", "csi", "surrogate", "image", "option", "shell")


def called(command) -> str:
    told = name_of(command)
    told += next((f" {part}" for part in ("--json", "--html", "sarif", "github", "--dry-run") if part in command), "")
    return told


def build(folder, name):
    """The name as that of the run, of files in it, of a data file and of a checkpoint's folder."""
    run = folder / f"run{name}"
    for kind, suffix in PLACES.items():
        made = lay(KINDS[kind], run)
        if kind == "data-jsonl":
            made.write_bytes(made.read_bytes() * 2 + b"{broken\n")
        made.rename(made.with_name(name + suffix))
    for step in (100, 200):
        lay(KINDS["safetensors"], run / f"{name}x")
        (run / f"{name}x" / "checkpoint-100").rename(run / f"checkpoint-{step}")
        (run / f"checkpoint-{step}" / f"{name}.safetensors").write_bytes(b"broken")
    return run


def markup(path) -> list[str]:
    """What a page holds that it must not."""
    if not path.exists():
        return []
    page = path.read_text(errors="surrogateescape")
    found = ["page-markup"] if any(tag in page for tag in ("<img src=x", "<script>alert")) else []
    return found + (["page-control"] if UNSAFE.search(page) else [])


def name_attack(fence, name, commands, tmp_path, record_property):
    tally = Tally("names", trials=1)
    run = build(tmp_path / "work", NAMES[name])
    out = tmp_path / "page.html"
    places = {"run": run, "data": run / "data", "out": out, "example": EXAMPLE}
    for command in commands:
        argv = [part.format(**places) if "{" in part else part for part in command]
        before = prints(tmp_path / "work")
        [outcome] = fence.run(argv, home=tmp_path / "home", env={"CANARY": str(CANARY)})
        truth = Truth("", before, prints(tmp_path / "work"))
        tally.add(f"{name}/name", called(command), outcome, truth, markup(out))
        out.unlink(missing_ok=True)
    shutil.rmtree(tmp_path / "work")
    tally.settle(record_property)


@pytest.mark.parametrize("name", NAMES_IN_PART)
def test_names_stay_names_in_part(fence, name, tmp_path, record_property):
    commands = [c for c in COMMANDS if called(c) in IN_PART]
    name_attack(fence, name, commands, tmp_path, record_property)


@pytest.mark.security
@pytest.mark.parametrize("name", NAMES)
def test_names_stay_names(fence, name, tmp_path, record_property):
    name_attack(fence, name, COMMANDS, tmp_path, record_property)
