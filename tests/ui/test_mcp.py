"""The MCP server through the official SDK's client: over both transports, every tool, typed results, refusals."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_type_hints

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

import triage.evals
from triage.agent.wording.toolbox import LONGEST
from triage.tools.findings import TriageError
from triage.ui import mcp_results, mcp_told
from triage.ui.mcp import NAMES, Tools, build
from triage.ui.roots import Roots

EXAMPLES = Path(triage.evals.__path__[0]) / "example"
TRIAGE = str(Path(sys.executable).with_name("triage"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The allowed folder: runs, data and a home; `outside` beside it must never be read."""
    base = tmp_path_factory.mktemp("mcp")
    root = base / "root"
    shutil.copytree(EXAMPLES, root)
    (base / "outside").mkdir()
    (base / "outside" / "train.log").write_text("step: 1 loss: nan OUTSIDEWORD\n" * 50)
    (root / "link").symlink_to(base / "outside")
    (root / "data.jsonl").write_text(
        "".join(f'{{"text": "the same line of training data {i % 3}"}}\n' for i in range(9))
    )
    (root / "eval.jsonl").write_text('{"text": "an evaluation question about something else entirely"}\n')
    (root / "labels.jsonl").write_text('{"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}\n' * 4)
    return root


CALLS = {
    "diagnose": {"question": "loss is nan at step 4000", "paths": ["run-1"]},
    "propose": {"paths": ["run-1"], "question": "loss is nan"},
    "verify": {"baseline": "run-1", "candidate": "run-2"},
    "scan": {"paths": ["run-1"]},
    "lint": {"paths": ["run-1"]},
    "check_data": {"paths": ["data.jsonl"]},
    "find_duplicates": {"train": ["data.jsonl"], "against": ["eval.jsonl"]},
    "check_checkpoint": {"paths": ["model.safetensors"]},
    "search_runbook": {"words": "卡死了，没有日志"},
    "read_entry": {"id": "loss-nan-high-lr", "lang": "zh"},
    "files": {"paths": ["run-1"]},
    "read": {"paths": ["run-1"], "file": "train.yaml", "last": 9},
    "grep": {"paths": ["run-1"], "pattern": "loss.*nan"},
    "sql": {"paths": ["run-1"], "query": "select metric, count(*) from series group by 1"},
    "relate": {"paths": ["run-1"], "metric": "grad_norm"},
    "compare": {"paths": ["run-1", "run-2"], "first": "train.yaml", "second": "run-2/train.yaml"},
    "calc": {"expression": "0.3 / 2"},
}


@pytest.fixture(scope="module", autouse=True)
def checkpoint(folder):
    import numpy as np
    from safetensors.numpy import save_file

    save_file({"embed.weight": np.full((4, 4), np.nan, np.float32)}, folder / "model.safetensors")


@asynccontextmanager
async def over_stdio(folder):
    environment = {"TRIAGE_HOME": str(folder.parent / "home")}
    server = StdioServerParameters(command=TRIAGE, args=["mcp", "--root", str(folder)], env=environment)
    async with Client(stdio_client(server), read_timeout_seconds=120) as client:
        yield client


@pytest.fixture(scope="module")
def address(folder):
    """A server over streamable HTTP on a free port."""
    environment = os.environ | {"TRIAGE_HOME": str(folder.parent / "home")}
    command = [TRIAGE, "mcp", "--http", "--port", "0", "--root", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        yield server.stderr.readline().split()[-1]
        server.terminate()


async def every_call(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == set(NAMES) == set(CALLS)
    answers = {}
    for name, arguments in CALLS.items():
        assert tools[name].annotations.read_only_hint
        done = await client.call_tool(name, arguments)
        assert not done.is_error, (name, done.content)
        assert tools[name].output_schema is None
        jsonschema.validate(done.structured_content, published(name).model_json_schema())
        check_text(name, done)
        answers[name] = done.structured_content
    return answers


def published(name):
    """The model of what a tool returns."""
    return get_type_hints(getattr(Tools, name), include_extras=False)["return"]


def check_text(name, done):
    """What an agent reads is text, in few words and without a terminal's commands; JSON is the structured result."""
    text = done.content[0].text
    assert len(text) <= (
        mcp_told.MOST_SAID if name not in ("files", "read", "grep", "sql", "compare") else LONGEST + 50
    )
    assert text[:1] not in "{["
    assert not re.search(r"\btriage (?:ask|scan|verify|lint)\b|--[a-z]", text)
    if name == "diagnose":
        assert text == done.structured_content["short"]
        assert "Then: `verify`" in text
        assert "### One change" in done.structured_content["answer"]


def check_answers(answers):
    assert answers["diagnose"]["schema"] == "triage.answer/1"
    assert answers["diagnose"]["hypotheses"][0]["entry"] == "loss-nan-high-lr"
    assert answers["propose"]["proposal"]["new"] == "0.15"
    assert answers["verify"]["verdict"] == "fixed"
    assert "loss-nonfinite" in {f["code"] for f in answers["scan"]["findings"]}
    assert "exact-duplicates" in {f["code"] for f in answers["find_duplicates"]["findings"]}
    assert "checkpoint-nonfinite" in {f["code"] for f in answers["check_checkpoint"]["findings"]}
    assert answers["search_runbook"]["covers"]
    assert "## 修复" in answers["read_entry"]["markdown"]


async def talk(client):
    """What every client may do beside calling tools."""
    assert (await client.list_resources()).resources == []
    found = await client.read_resource("triage://search/loss%20becomes%20nan")
    assert "triage://runbook/loss-nan" in found.contents[0].text
    page = await client.read_resource("triage://runbook/loss-nan-high-lr")
    assert "loss-nan-high-lr" in page.contents[0].text
    with pytest.raises(MCPError, match="no runbook entry"):
        await client.read_resource("triage://runbook/no-such-entry")
    prompts = {p.name for p in (await client.list_prompts()).prompts}
    assert prompts == {"diagnose_run", "verify_change", "preflight"}
    said = await client.get_prompt("diagnose_run", {"path": "run-1"})
    assert "run-1" in said.messages[0].content.text


async def refusals(client, folder):
    for path in ("../outside", str(folder.parent / "outside" / "train.log"), "/etc/passwd", "link", "link/train.log"):
        for name, arguments in (("scan", {"paths": [path]}), ("diagnose", {"question": "nan?", "paths": [path]})):
            done = await client.call_tool(name, arguments)
            assert done.is_error
            assert "outside the allowed folders" in done.content[0].text
            assert "OUTSIDEWORD" not in done.content[0].text


def test_over_stdio(folder):
    async def main():
        async with over_stdio(folder) as client:
            check_answers(await every_call(client))
            await talk(client)
            await refusals(client, folder)

    anyio.run(main)


def test_over_http(folder, address):
    async def main():
        async with Client(address, read_timeout_seconds=120) as client:
            check_answers(await every_call(client))
            await talk(client)
            await refusals(client, folder)

    anyio.run(main)


def test_a_call_cancelled_over_http_ends_and_the_server_goes_on(folder, address):
    """Twenty megabytes take seconds to scan; the call is given up as soon as it reports progress."""
    log = folder / "long.log"
    log.write_bytes(b"".join(b"step: %d loss: 2.0 grad_norm: 1.0\n" % i for i in range(500_000)))

    async def main():
        async with Client(address, read_timeout_seconds=120) as client:
            async with anyio.create_task_group() as tasks:
                progress = anyio.Event()

                async def told(done, total, message):
                    progress.set()

                async def call():
                    await client.call_tool("scan", {"paths": ["long.log"]}, progress_callback=told)

                tasks.start_soon(call)
                await progress.wait()
                tasks.cancel_scope.cancel()
            assert not (await client.call_tool("read_entry", {"id": "loss-nan-high-lr"})).is_error

    anyio.run(main)
    log.unlink()


@pytest.fixture
def here(folder):
    return build(Roots([folder]), folder.parent / "home")


@pytest.mark.parametrize("what", ["records", "personal", "preference", "generations", "labels", "codebook"])
def test_every_data_check_answers_or_says_what_is_missing(here, what):
    async def main():
        async with Client(here) as client:
            path = "labels.jsonl" if what == "labels" else "data.jsonl"
            return await client.call_tool("check_data", {"paths": [path], "what": what})

    done = anyio.run(main)
    if what == "codebook":
        assert done.is_error
        assert "no codes" in done.content[0].text
    else:
        assert done.structured_content["tool"].startswith("data ")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("scan", {"paths": ["nowhere"]}, "cannot open"),
        ("scan", {"paths": []}, "paths"),
        ("verify", {"baseline": "run-1", "candidate": "run-2", "entry": "no-such"}, "no runbook entry"),
        ("read_entry", {"id": "no-such"}, "search_runbook"),
        ("scan", {"paths": ["\0"]}, "outside"),
        ("scan", {}, "`paths`: field required"),
        ("diagnose", {"question": "  "}, "`question` is empty"),
        ("verify", {"baseline": "run-2", "candidate": "run-1"}, "give `entry`"),
    ],
)
def test_an_error_names_the_next_step(here, name, arguments, says):
    async def main():
        async with Client(here) as client:
            return await client.call_tool(name, arguments)

    done = anyio.run(main)
    assert done.is_error
    assert says in done.content[0].text
    assert "Traceback" not in done.content[0].text
    assert "pydantic" not in done.content[0].text
    assert not re.search(r"`triage |--[a-z]", done.content[0].text)


@pytest.mark.parametrize(
    ("said", "here"),
    [
        ("so there is nothing to verify; pass --entry ID", "so there is nothing to verify; give `entry`"),
        ("no runbook entry 'x'; `triage runbook list` shows them", "no runbook entry 'x'; `search_runbook` shows them"),
        (
            "cannot be used (full); move it away or pass --home DIR",
            "cannot be used (full); whoever runs this server can mend it",
        ),
        ("with text in a; name the field with --field", "with text in a; name the field with `field`"),
        ("loss-scale-of-2 -- kept, a--b too", "loss-scale-of-2 -- kept, a--b too"),
    ],
)
def test_a_reason_speaks_of_tools_and_not_of_a_terminal(said, here):
    assert mcp_told.in_tools(said) == here


def test_a_path_may_be_a_string(here):
    async def main():
        async with Client(here) as client:
            return [await client.call_tool("scan", {"paths": given}) for given in ("run-1", ["run-1"])]

    one, listed = anyio.run(main)
    assert one.structured_content["findings"] == listed.structured_content["findings"] != []


def test_what_is_listed_costs_an_agent_ten_kilobytes_in_all(here):
    async def main():
        async with Client(here) as client:
            lists = (await client.list_tools(), await client.list_resources(), await client.list_resource_templates(),
                     await client.list_prompts())  # fmt: skip
            return [listed.model_dump_json(by_alias=True, exclude_none=True) for listed in lists]

    assert sum(map(len, anyio.run(main))) <= 10 << 10


def test_an_internal_error_is_never_an_empty_result(here, monkeypatch):
    def broken(*_):
        raise RuntimeError("SECRET PATH")

    monkeypatch.setattr("triage.tools.logs.scan.scan", broken)

    async def main():
        async with Client(here) as client:
            return await client.call_tool("scan", {"paths": ["run-1"]})

    done = anyio.run(main)
    assert done.is_error
    assert "defect of triage" in done.content[0].text
    assert "SECRET" not in done.content[0].text


def test_a_cancelled_call_stops_reading(folder, monkeypatch):
    """The tool reads without end; only the cancellation can end it, and the server goes on answering."""
    stopped = []

    def endless(run):
        from triage.tools.reading import iter_lines

        try:
            while True:
                for _ in iter_lines(folder / "run-1" / "train.log"):
                    pass
        except BaseException as error:
            stopped.append(type(error).__name__)
            raise

    monkeypatch.setattr("triage.agent.evidence.read_logs", endless)

    async def main():
        async with Client(build(Roots([folder]), folder.parent / "home")) as client, anyio.create_task_group() as tasks:
            progress = anyio.Event()

            async def told(done, total, message):
                progress.set()

            async def call():
                await client.call_tool("scan", {"paths": ["run-1"]}, progress_callback=told)

            tasks.start_soon(call)
            await progress.wait()
            tasks.cancel_scope.cancel()
        async with Client(build(Roots([folder]), folder.parent / "home")) as client:
            assert not (await client.call_tool("read_entry", {"id": "loss-nan-high-lr"})).is_error
        with anyio.fail_after(60):
            while not stopped:
                await anyio.sleep(0.01)

    anyio.run(main)
    assert stopped == ["CancelledError"]


def test_results_are_bounded_and_say_what_is_left_out():
    many = [
        {
            "id": f"F{i}",
            "code": "x",
            "severity": "S3" if i else "S0",
            "message": "m",
            "evidence": [{}] * 900,
            "data": {},
        }
        for i in range(500, -1, -1)
    ]
    report = {
        "schema": "triage.findings/1",
        "tool": "scan",
        "findings": many,
        "checks": [],
        "summary": {"a": "b" * 10**6},
    }
    cut = mcp_results.findings(report)
    assert (len(cut.findings), cut.left_out, cut.findings[0].severity) == (40, 461, "S0")
    assert len(cut.model_dump_json()) < 200_000


def test_neither_a_secret_nor_a_persons_address_leaves_in_any_field():
    for value in ("hf_" + "aB3d" * 9, "jane.doe" + "@corp-lab.cn"):
        found = {"id": "F1", "code": "x", "severity": "S0", "message": f"by {value}", "data": {"d": value}}
        summary = {value: {"x": [f"a {value}"]}}
        report = {"schema": "triage.findings/1", "tool": "scan", "checks": [], "summary": summary, "findings": [found]}
        assert value not in mcp_results.findings(report).model_dump_json()


def test_nothing_is_written_and_no_case_is_opened(folder, tmp_path):
    async def main():
        async with Client(build(Roots([folder]), tmp_path)) as client:
            await client.call_tool("diagnose", CALLS["diagnose"])

    before = sorted(p.name for p in folder.rglob("*"))
    anyio.run(main)
    assert sorted(p.name for p in folder.rglob("*")) == before
    assert not (tmp_path / "cases.sqlite3").exists()


class TestHttpIsClosedToOthers:
    def test_another_host_needs_a_token(self, folder):
        command = [TRIAGE, "mcp", "--http", "--host", "0.0.0.0", "--port", "0", "--root", str(folder)]
        environment = {k: v for k, v in os.environ.items() if k != "TRIAGE_MCP_TOKEN"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 2
        assert "TRIAGE_MCP_TOKEN" in done.stderr

    def test_a_foreign_page_is_refused(self, address):
        import httpx2

        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 421)):
            assert httpx2.post(address, json=body, headers=headers).status_code == status

    def test_the_token_is_asked_for(self, here):
        from starlette.testclient import TestClient

        from triage.ui.mcp_http import guarded

        app = guarded(here.streamable_http_app(), "t0ken")
        with TestClient(app, base_url="http://127.0.0.1:1") as client:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert client.post("/mcp", json=body).status_code == 401
            assert client.post("/mcp", json=body, headers={"Authorization": "Bearer t0ken"}).status_code != 401


class TestRoots:
    def test_a_relative_path_is_found_under_any_root(self, tmp_path):
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
        (tmp_path / "b" / "run").mkdir()
        roots = Roots([tmp_path / "a", tmp_path / "b"])
        assert roots.path("run") == tmp_path / "b" / "run"
        assert roots.path(str(tmp_path / "a")) == tmp_path / "a"

    def test_a_sibling_with_the_same_beginning_is_outside(self, tmp_path):
        for name in ("runs", "runs-private"):
            (tmp_path / name).mkdir()
        with pytest.raises(TriageError, match="outside"):
            Roots([tmp_path / "runs"]).path(str(tmp_path / "runs-private"))

    def test_the_paths_that_a_message_names(self, tmp_path):
        (tmp_path / "runs" / "exp42").mkdir(parents=True)
        (tmp_path / "outside").mkdir()
        roots = Roots([tmp_path / "runs"])
        whole = str(tmp_path / "runs" / "exp42")
        assert roots.named("why did exp42/ diverge?") == ["exp42/"]
        assert roots.named(f"look at {whole}, please") == [whole]
        assert roots.named(f"{tmp_path}/outside or ../outside/ or exp99/?\nexp42/") == []

    def test_a_root_must_exist(self, tmp_path):
        with pytest.raises(TriageError, match="cannot be opened"):
            Roots([tmp_path / "nowhere"])

    def test_without_folders_nothing_is_inside(self):
        with pytest.raises(TriageError, match="outside"):
            Roots([]).path("/etc")


def test_the_listed_tools_are_all_there_are():
    names = {n for kind in Tools.__mro__[:-1] for n in vars(kind) if not n.startswith("_")}
    public = names - {"entry", "roots", "home"}
    assert public == set(NAMES)


REFUSED = {
    "read": {"file": "nothing.log"},
    "grep": {"pattern": "(unclosed"},
    "sql": {"query": "select * from nowhere"},
    "relate": {"metric": "no_such_measure"},
    "compare": {"first": "train.log", "second": "train.log"},
}


@pytest.mark.parametrize("tool", REFUSED)
def test_a_call_that_gives_nothing_is_an_error_with_the_reason(here, tool):
    async def main():
        async with Client(here) as client:
            return await client.call_tool(tool, {"paths": ["run-1"], **REFUSED[tool]})

    result = anyio.run(main)
    assert result.is_error
    assert len("".join(block.text for block in result.content)) > 20


def test_the_tables_are_listed_without_a_query(here):
    async def main():
        async with Client(here) as client:
            return await client.call_tool("sql", {"paths": ["run-1"]})

    assert "trainer_state_json" in anyio.run(main).structured_content["text"]


LOOKS = {
    "read": {"file": "/etc/passwd"},
    "grep": {"pattern": "OUTSIDE", "file": "../outside/train.log"},
    "compare": {"first": "train.log", "second": "../../outside/train.log"},
    "sql": {"query": "select * from read_text('/etc/passwd')"},
}


@pytest.mark.parametrize("tool", LOOKS)
def test_tools_that_look_open_nothing_but_the_runs_own_files(here, tool):
    async def main():
        async with Client(here) as client:
            return await client.call_tool(tool, {"paths": ["run-1"], **LOOKS[tool]})

    result = anyio.run(main)
    text = "".join(block.text for block in result.content)
    assert result.is_error
    assert "OUTSIDEWORD" not in text
    assert "root:" not in text
