"""Every channel by which text of a run leaves, each the real one: what came out of it for a few shapes."""

import json
import sqlite3
import zipfile
from collections.abc import Sequence
from pathlib import Path

import anyio
from attack.fence import EXAMPLE
from mcp import Client
from slack_sdk import WebClient

from triage.agent.conversation import Conversation
from triage.ui.mcp import build
from triage.ui.roots import Roots
from triage.ui.slack import blocks
from triage.ui.web import panels, turns
from triage.ui.web.desk import Desk
from triage.ui.web.turns import Talk

LAUNCH = """#!/bin/bash
{above}
torchrun train.py --learning_rate 0.3 --max_grad_norm 0
cat > /dev/null <<'END_OF_NOTE'
{below}
END_OF_NOTE
"""


def plant(folder: Path, lines: Sequence[str]) -> Path:
    """A run that fails, with the shapes beside the setting that is changed, at the failure, and in an error."""
    folder.mkdir()
    log = EXAMPLE.joinpath("train.log").read_text().splitlines()
    flat = [" ".join(line.split("\n")) for line in lines]
    log[347:347] = "\n".join(lines).split("\n")
    log += [*(f"RuntimeError: CUDA out of memory while {line}" for line in flat), *lines]
    (folder / "train.log").write_text("\n".join(log) + "\n")
    above = "\n".join(f"# {line}" for line in flat)
    (folder / "launch.sh").write_text(LAUNCH.format(above=above, below="\n".join(lines)))
    return folder


def by_command(fence, listener, run, question, folder) -> dict[str, str]:
    home, page, bundle = folder / "home", folder / "page.html", folder / "bug.zip"
    model = {"TRIAGE_MODEL_URL": listener.url}

    def call(*argv, **env):
        [outcome] = fence.run([str(a) for a in argv], home=home, env=env, cpu=30.0)
        assert outcome["code"] in (0, 1), outcome
        return outcome["out"] + outcome["err"]

    short = call("ask", question, "--run", run, "--html", page, **model)
    out = {"terminal": short + call("ask", question, "--run", run, "-v", **model)}
    out["model"] = listener.take()
    out["json"] = call("ask", question, "--run", run, "--json")
    out["report"] = call("report", run, "--bug", "trl", "--out", bundle)
    with zipfile.ZipFile(bundle) as packed:
        out["bundle"] = "\n".join(packed.read(name).decode() for name in packed.namelist())
    out["html"] = page.read_text()
    out["trace"] = "\n".join(file.read_text() for file in (home / "traces").glob("*.jsonl"))
    [case, *_] = json.loads(call("cases", "--json"))["cases"]
    out["cases"] = call("cases", "show", case["id"]) + call("cases")
    with sqlite3.connect(home / "cases.sqlite3") as book:
        out["casebook"] = "\n".join(book.iterdump())
    patch = json.loads(out["json"])["proposal"]["patch"]
    assert patch
    return out | {"patch": patch}


def by_mcp(run, question, home) -> dict[str, str]:
    async def talk():
        async with Client(build(Roots([run.parent]), home)) as client:
            asked = {"question": question, "paths": [run.name]}
            calls = {"diagnose": asked, "scan": {"paths": [run.name]}}
            return {name: await client.call_tool(name, arguments) for name, arguments in calls.items()}

    done = anyio.run(talk)
    assert not [name for name, result in done.items() if result.is_error]
    return {f"mcp {name}": result.model_dump_json() + said(result) for name, result in done.items()}


def said(result) -> str:
    return "\n".join(part.text for part in result.content if hasattr(part, "text"))


def by_slack(listener, run, question, home) -> dict[str, str]:
    talk = Conversation(home, use_model=False)
    answer = talk.ask(question, [run])
    findings = talk.last()["findings"]
    shown = {f["id"]: talk.excerpts(f["id"]) for f in findings}
    web = WebClient("xoxb-none", base_url=f"{listener.url}/api/")
    messages = [
        blocks.answer(answer, [question]),
        blocks.evidence(findings, shown, "en"),
        blocks.failure(question, "en"),
    ]
    for message in messages:
        web.chat_postMessage(channel="C1", text=message.text + message.attachment, blocks=list(message.blocks))
    return {"slack": listener.take()}


def by_web(page, desk: Desk, run, question) -> dict[str, str]:
    """The conversation and every panel, as the page gets them."""
    talk = Talk("user:ann")
    for _ in turns.ask(desk, talk, question, [run]):
        pass
    assert talk.view
    lines = [one for f in talk.view["findings"] for one in turns.lines(talk, f["id"])]
    drawn = [panels.findings(talk.view, "en", talk.picked, lines), *page.shown(talk).values()]
    for talk.tab in ("plots", "labels"):
        drawn += page.lazy(talk).values()
    return {"web chat": json.dumps(talk.messages, ensure_ascii=False), "web panels": "\n".join(map(str, drawn))}
