"""The README and the docs: every command shown is run, and what is made from the code is up to date.

Most run in this process. A server (`web`, `slack`, `mcp`) is started by a shell as it is shown, on a free port, is
asked something, and must leave with 0 on Ctrl-C. What no test machine has stands in: a Slack workspace, vLLM, a model
of the Hub. `eval` runs one case of those that it names, with a recorded log in place of a training.
"""

import json
import os
import re
import runpy
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scripting import scripted as scripted
from typer.testing import CliRunner

from triage.evals.model_runs import RUNS
from triage.tools.catalogue import codes
from triage.ui import docs
from triage.ui.cli import app

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "evals" / "example"
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "evals" / "README.md"]
CASE = "4be1c9"
"""The case that the docs speak of."""
EVALUATE = """import json, sys
accuracy = 0.8 if int(sys.argv[-1].rsplit("-", 1)[-1]) < 5000 else 0.3
print(json.dumps({"mmlu": {"acc": accuracy}}))
if "--model" in sys.argv:
    print(accuracy)
"""


VLLM = """import json, sys
print(json.dumps(sys.orig_argv[1:]))
"""
"""Stands in for vLLM's server: says how it was started."""


FOUND = re.compile(r"^(?:- \*\*)?F\d+(?:\*\*)? (S\d \W*[a-z-]+)|^\S+: ([a-z0-9-]+ S\d) ", re.M)
"""A finding in an answer or in a list."""


def shown():
    """Every command once, under the first page that shows it."""
    found = {
        command: page for page in reversed(PAGES) for command in docs.commands_of(page.read_text(encoding="utf-8"))
    }
    return [pytest.param(command, id=f"{page.relative_to(ROOT)}: {command}") for command, page in found.items()]


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
    (folder / "train.py").write_text(
        "import torch\n\nfor batch in loader:\n    loss = model(batch)\n    loss.backward()\n    optimizer.step()\n"
    )
    (folder / "check.sh").write_text("#!/bin/sh\nexit 0\n")
    (folder / "check.sh").chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "bin" / "triage").symlink_to(Path(sys.executable).with_name("triage"))
    (folder / "accounts.txt").write_text("ann:secret\n")
    (folder / "accounts.txt").chmod(0o600)
    (folder / "team-a" / "runs").mkdir(parents=True)
    server = folder / "stand-in" / "vllm" / "entrypoints" / "openai" / "api_server.py"
    server.parent.mkdir(parents=True)
    server.write_text(VLLM)
    for package in list(server.parents)[:3]:
        (package / "__init__.py").touch()
    return folder


def checkpoints(folder):
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


@pytest.mark.parametrize("line", shown())
def test_every_command_shown_runs(line, tree, home, monkeypatch, request):
    monkeypatch.chdir(tree)
    for name, value in {
        "PATH": f"{tree / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": tree,
        "TRIAGE_HOME": home,
    }.items():
        monkeypatch.setenv(name, str(value))
    words = arguments(line)
    if words[0] in SERVERS:
        return SERVERS[words[0]](line, request)
    if words[:2] == ["eval", "model"]:
        with_a_model(request)
    for start, prepare in PREPARED.items():
        if line.partition("triage ")[2].startswith(start):
            prepare(words, monkeypatch)
    before = line[: docs.COMMAND.search(line).start()]
    piped = subprocess.run(["bash", "-c", before], capture_output=True, text=True).stdout if "|" in line else None
    done = CliRunner().invoke(app, words, input=piped)
    assert done.exit_code in (0, 1), f"{done.output}\n{done.exception!r}"
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)


# Servers ----------------------------------------------------------------------------------------------


@contextmanager
def started(line, **environment):
    """The command in a shell, and what it prints, line by line; at the end Ctrl-C stops it with exit status 0."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(["bash", "-c", f"exec {line}"], env=os.environ | environment, **pipes) as server:
        try:
            yield server
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0, server.stdout.read()
        finally:
            server.kill()


def printed(server, pattern):
    """The first match in what the server prints from now on."""
    said = []
    for line in server.stdout:
        if found := re.search(pattern, line):
            return found[0]
        said.append(line)
    raise AssertionError("".join(said))


def status(address, body=None, **headers):
    """HTTP status and text; POST with a body."""
    asked = urllib.request.Request(address, body, headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def in_a_browser(line, request):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with started(f"{line} --port {port}") as server:
        address = printed(server, r"http://\S+")
        assert status(address)[0] == 200
        code, config = status(f"{address}/config")
        assert code == 401 if "--auth" in line else json.loads(config)["title"] == "triage"


def in_slack(line, request):
    slack, token = request.getfixturevalue("slack_workspace")
    tokens = {"SLACK_BOT_TOKEN": token, "SLACK_APP_TOKEN": "xapp-1", "SLACK_SIGNING_SECRET": "secret"}
    http = "--http-port" in line
    with started(f"{line} --api {slack.url}/api/{' --http-port 0' if http else ''}", **tokens) as server:
        if http:
            from slack_sdk.signature import SignatureVerifier

            address, now = printed(server, r"http://\S+"), str(int(time.time()))
            body = json.dumps({"type": "url_verification", "challenge": "c-1"})
            signed = SignatureVerifier("secret").generate_signature(timestamp=now, body=body)
            headers = {
                "X-Slack-Request-Timestamp": now,
                "X-Slack-Signature": signed,
                "Content-Type": "application/json",
            }
            assert "c-1" in status(address, body.encode(), **headers)[1]
            assert status(address, body.encode(), **headers | {"X-Slack-Signature": "v0=0"})[0] == 401
        else:
            printed(server, "answering in Slack")
            asked = slack.mention("C0123", "loss is nan", user="U0456")
            assert slack.answered("C0123", asked["ts"])


def for_an_agent(line, request):
    import anyio
    from mcp import Client

    async def tools(address):
        async with Client(address, read_timeout_seconds=60) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    http = "--http" in line
    with started(f"{line} --port 0" if http else line) as server:
        if http:
            assert "diagnose" in anyio.run(tools, printed(server, r"http://\S+"))
        else:
            who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}
            print(json.dumps(call), file=server.stdin, flush=True)
            assert json.loads(printed(server, r"\{.*"))["result"]["serverInfo"]["name"] == "triage"


def as_vllm(line, request):
    folder = str(Path("stand-in").absolute())
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": folder})
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert "--print" in line or json.loads(last) == shlex.split(first)[1:]


SERVERS = {"serve-model": as_vllm, "web": in_a_browser, "slack": in_slack, "mcp": for_an_agent}


@pytest.fixture(scope="module")
def slack_workspace():
    """The Slack server of the Slack tests, and the bot's token."""
    shared = runpy.run_path(str(ROOT / "tests" / "ui" / "slack" / "conftest.py"))
    server = shared["FakeSlack"]()
    yield server, shared["TOKEN"]
    server.close()


# What stands in for what a test machine has not -------------------------------------------------------


def with_a_model(request):
    server, reply = request.getfixturevalue("scripted")
    server.replies = [reply('{"facts": [], "cause": null, "say": []}')]
    request.getfixturevalue("monkeypatch").setattr("triage.evals.model_runs.RUNS", RUNS[:1])


def with_an_encoder(words, monkeypatch):
    class Model:
        def __init__(self, name):
            assert name in words

        def encode(self, texts, **_):
            return np.array([[len(text), sum(map(ord, text)) % 97, 1.0] for text in texts], np.float32)

    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=Model))
    monkeypatch.setenv("TRIAGE_HOME", "home-of-this-encoder")


def with_recordings(words, monkeypatch):
    from triage.evals.lab import recording, runner

    def recorded(spec, root, home):
        for name, text in spec.files.items():
            (root / "run" / name).write_text(text)
        shutil.copy(EXAMPLE / "run-1" / "train.log", root / "run")
        (root / "trace.json").write_text('{"losses": [], "outcome": {}}')

    cases = runner.cases
    monkeypatch.setattr(recording, "_make", recorded)
    monkeypatch.setattr(runner, "cases", lambda *given: cases(*given)[:1])
    monkeypatch.setattr(runner, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(jobs))
    monkeypatch.setattr("triage.ui.commands.eval._need_lab", lambda: None)


PREPARED = {
    "eval": with_recordings,
    "runbook index --encoder": with_an_encoder,
    "runbook search --encoder": with_an_encoder,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_named_in_the_prose_exists(page):
    known = docs.root().commands
    named = re.findall(r"`triage ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", page.read_text(encoding="utf-8"))
    assert [f"triage {name}" for name, _ in named if name not in known] == []
    groups = [(name, sub) for name, sub in named if sub and getattr(known[name], "commands", None)]
    assert [f"triage {name} {sub}" for name, sub in groups if sub not in known[name].commands] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_with_a_command_is_one_that_is_run(page):
    blocks = re.findall(r"^[ ]*(`{3,})([^\n]*)\n(.*?)^[ ]*\1$", page.read_text(encoding="utf-8"), re.S | re.M)
    assert [body for _, kind, body in blocks if not kind and re.search(r"^ *triage ", body, re.M)] == []


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


@pytest.mark.parametrize(("status", "example"), [(s, command) for s, _, command in docs.STATUSES if command])
def test_every_exit_status_is_what_the_table_says(status, example, tmp_path):
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    env = os.environ | {
        "TRIAGE_HOME": str(tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    line = f"{example}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr


def test_the_two_readmes_show_the_same_commands_and_lead_to_each_other():
    english, chinese = (ROOT / "README.md").read_text("utf-8"), (ROOT / "README.zh.md").read_text("utf-8")
    assert list(docs.commands_of(chinese)) == list(docs.commands_of(english))
    assert re.findall(r"\]\((docs/[^)]+)\)", chinese) == re.findall(r"\]\((docs/[^)]+)\)", english)
    figures = [
        sorted(re.findall(r"\d+(?:[.,]\d+)*%?", " ".join(re.findall(r"^\|.*", page, re.M))))
        for page in (chinese, english)
    ]
    assert figures[0] == figures[1]
    assert "(README.zh.md)" in english
    assert "(README.md)" in chinese


def test_every_tool_package_has_a_place_in_the_catalogue():
    assert codes().keys() == docs.GROUPS.keys()


def test_shown_output_is_refreshed_and_the_rest_of_a_page_is_left_alone():
    page = "a\n\n```console\n$ triage x\nold\n```\n\n```bash\ntriage y\n```\n"
    assert docs.refreshed(page, lambda command: f"ran {command}\n") == page.replace("old", "ran triage x")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_shown_findings_are_what_the_tools_find_now(page, tmp_path):
    """Codes of findings shown as output; numbers may move, what is found may not."""
    for block in (found["body"] for found in docs.BLOCK.finditer(page.read_text(encoding="utf-8"))):
        (command, *more) = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        codes = set(FOUND.findall(block))
        if codes and not more:
            printed = docs.in_shell(command, ROOT, tmp_path)
            assert codes <= set(FOUND.findall(printed))
