"""The README and the docs: every command shown is run, and what is made from the code is up to date."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.ui import docs
from triage.ui.cli import app

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "evals" / "example"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "evals" / "README.md"]
CASE = "4be1c9"
"""The case that the docs speak of."""
EVALUATE = """import json, sys
accuracy = 0.8 if int(sys.argv[-1].rsplit("-", 1)[-1]) < 5000 else 0.3
print(json.dumps({"mmlu": {"acc": accuracy}}))
if "--model" in sys.argv:
    print(accuracy)
"""


def shown():
    """Every command once, under the first page that shows it."""
    found = {
        command: page for page in reversed(PAGES) for command in docs.commands_of(page.read_text(encoding="utf-8"))
    }
    return [pytest.param(*command, id=f"{page.relative_to(ROOT)}: {command[0]}") for command, page in found.items()]


def arguments(line):
    """The words after `triage`, without redirections and what the output is piped to."""
    words = shlex.split(docs.COMMAND.search(line)["arguments"])
    ends = [i for i, word in enumerate(words) if re.match(r"\d?>|[|]$|&&$|;$", word)]
    return words[: ends[0]] if ends else words


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder with everything that the docs name, and a case that they go on with."""
    folder = tmp_path_factory.mktemp("docs")
    for name, run in {"exp42": "run-1", "exp43": "run-2", "exp44": "run-2"}.items():
        shutil.copytree(EXAMPLE / run, folder / "runs" / name)
    shutil.copytree(EXAMPLE / "run-1", folder / "configs" / "sft")
    (folder / "evals").symlink_to(ROOT / "evals")
    checkpoints(folder)
    for name in ("train.log", "train.yaml", "launch.sh"):
        shutil.copy(EXAMPLE / "run-1" / name, folder / name)
    rows = [f'{{"prompt": "what is {i} + {i}?", "text": "record {i}: {i * 37} and {i * 91}"}}\n' for i in range(60)]
    (folder / "shards").mkdir()
    for name in ("train.jsonl", "eval.jsonl", "gsm8k_test.jsonl", "shards/0.jsonl"):
        (folder / name).write_text("".join(rows[: 60 if name == "train.jsonl" else 9]))
    (folder / "docs" / "oncall").mkdir(parents=True)
    (folder / "docs" / "oncall" / "old.md").write_text("# NCCL\n\nAsk the network team first.\n")
    (folder / "eval.py").write_text(EVALUATE)
    (folder / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    (folder / "check.sh").chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


def checkpoints(folder):
    import numpy as np
    from safetensors.numpy import save_file

    weights = {"model.embed_tokens.weight": np.ones((4, 4), np.float32)}
    for place in ("runs/exp42/checkpoint-{}", "checkpoint-{}", "model"):
        for step in (500, 900, 1000, 3000, 5000, 9000):
            one = folder / place.format(step)
            one.mkdir(parents=True, exist_ok=True)
            save_file(weights, one / "model.safetensors", metadata={"format": "pt"})
            (one / "config.json").write_text('{"model_type": "llama", "hidden_size": 4}')


@pytest.fixture(scope="module")
def home(tree):
    """A data directory with the case and the own runbook that the docs name."""
    folder = tree / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree)
        patch.setattr("triage.agent.casebook.secrets.token_hex", lambda n: CASE)
        for command in (
            "ask 'loss is nan' --run runs/exp42",
            f"verify --baseline runs/exp42 --candidate runs/exp43 --case {CASE}",
            "runbook add docs/oncall",
        ):
            done = CliRunner().invoke(app, shlex.split(command), env={"TRIAGE_HOME": str(folder)})
            assert done.exit_code in (0, 1), done.output
    return folder


@pytest.mark.parametrize(("line", "parse_only"), shown())
def test_every_command_shown_runs(line, parse_only, tree, home, monkeypatch):
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", f"{tree / 'bin'}{os.pathsep}{os.environ['PATH']}")
    words = arguments(line)
    if parse_only:
        parse(docs.root(), words)
        return
    before = line[: docs.COMMAND.search(line).start()]
    piped = subprocess.run(["bash", "-c", before], capture_output=True, text=True).stdout if "|" in line else None
    done = CliRunner().invoke(app, words, input=piped, env={"TRIAGE_HOME": str(home)})
    assert done.exit_code in (0, 1), f"{done.output}\n{done.exception!r}"
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)


def parse(command, words):
    """Read the arguments as the command would; a usage error fails the test."""
    for name in words:
        inner = getattr(command, "commands", {})
        if name not in inner:
            break
        command, words = inner[name], words[1:]
    command.make_context("triage", list(words)).close()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_named_in_the_prose_exists(page):
    known = docs.root().commands
    named = re.findall(r"`triage ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", page.read_text(encoding="utf-8"))
    assert [f"triage {name}" for name, _ in named if name not in known] == []
    groups = [(name, sub) for name, sub in named if sub and getattr(known[name], "commands", None)]
    assert [f"triage {name} {sub}" for name, sub in groups if sub not in known[name].commands] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_pages_made_from_the_code_are_up_to_date():
    made = docs.pages()
    on_disk = {p: (ROOT / "docs" / p).read_text(encoding="utf-8") for p in made if (ROOT / "docs" / p).exists()}
    stale = [p for p in made if on_disk.get(p) != made[p]]
    extra = {f"commands/{p.name}" for p in (ROOT / "docs" / "commands").iterdir()} - made.keys()
    assert (stale, extra) == ([], set()), "run: python -m triage.ui.docs"


def test_every_tool_package_has_a_place_in_the_catalogue():
    assert docs.codes().keys() == docs.GROUPS.keys()


def test_shown_output_is_refreshed_and_the_rest_of_a_page_is_left_alone():
    page = "a\n\n```console\n$ triage x\nold\n```\n\n```bash\ntriage y\n```\n"
    assert docs.refreshed(page, lambda command: f"ran {command}\n") == page.replace("old", "ran triage x")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_shown_findings_are_what_the_tools_find_now(page, tmp_path):
    """Codes of findings shown as output; numbers may move, what is found may not."""
    for block in (found["body"] for found in docs.BLOCK.finditer(page.read_text(encoding="utf-8"))):
        (command, *more) = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        codes = set(re.findall(r"^(?:- \*\*)?F\d+(?:\*\*)? (S\d \W*[a-z-]+)", block, re.M))
        if codes and not more:
            printed = docs.in_shell(command, ROOT, tmp_path)
            assert codes <= set(re.findall(r"^(?:- \*\*)?F\d+(?:\*\*)? (S\d \W*[a-z-]+)", printed, re.M))
