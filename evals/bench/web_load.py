"""Load on the web app: many conversations at once, each about its own run, in the protocol that a browser speaks.

    python -m triage.evals.bench.web_load --sessions 50 --questions 1000

It starts a real server and prints, for the first round and for all: errors, answers that show another session's run,
p95 of the first event and of the full answer, and the server's memory along the way. It judges nothing but itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import triage.evals

EXAMPLE = Path(triage.evals.__path__[0]) / "example" / "run-1"
QUESTIONS = ("loss is nan at step 3450", "why did it diverge?", "loss 变成 nan 了，先改什么？", "grad norm explodes")


@dataclass
class Measured:
    """What one question took."""

    first: float
    """Seconds to the first event that shows something."""
    whole: float
    problem: str = ""


@dataclass
class Server:
    url: str
    process: subprocess.Popen[str]
    functions: dict[str, int] = field(default_factory=dict)
    """Handler name -> number in the page's configuration."""
    inputs: dict[str, int] = field(default_factory=dict)

    def memory(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def cpu(self) -> float:
        """Processor seconds used so far, which other programs on the machine do not change."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(folder: Path) -> Server:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).with_name("triage"), "web", "--port", str(port), "--root", folder / "runs"]
    env = {**os.environ, "TRIAGE_HOME": str(folder / "home"), "TMPDIR": str(folder)}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, text=True)
    server = Server(f"http://127.0.0.1:{port}", process)
    for _ in range(240):
        try:
            config = httpx.get(f"{server.url}/config", timeout=5).json()
            break
        except httpx.HTTPError:
            time.sleep(0.25)
    else:
        raise SystemExit(f"the server did not start:\n{(folder / 'server.log').read_text()}")
    for function in config["dependencies"]:
        server.functions.setdefault(function["api_name"], function["id"])
        server.inputs[function["api_name"]] = len(function["inputs"])
    return server


class Session:
    """One browser tab."""

    def __init__(self, client: httpx.AsyncClient, server: Server, number: int):
        self.client, self.server, self.number = client, server, number
        self.hash = secrets.token_hex(6)

    async def call(self, name: str, *data: Any) -> AsyncIterator[dict[str, Any]]:
        """The events of one handler until it is done."""
        full = [*data, *[None] * (self.server.inputs[name] - len(data))]
        body = {"data": full, "fn_index": self.server.functions[name], "session_hash": self.hash, "event_data": None}
        joined = await self.client.post(f"{self.server.url}/gradio_api/queue/join", json=body)
        joined.raise_for_status()
        address = f"{self.server.url}/gradio_api/queue/data?session_hash={self.hash}"
        async with self.client.stream("GET", address) as events:
            async for line in events.aiter_lines():
                if line.startswith("data:"):
                    event = json.loads(line[5:])
                    yield event
                    if event["msg"] in ("process_completed", "close_stream"):
                        return

    async def begin(self) -> None:
        for name, data in (("start", [""]), ("add_path", [f"run-{self.number}"])):
            async for _ in self.call(name, *data):
                pass

    async def ask(self, question: str) -> Measured:
        began, first, text, good = time.monotonic(), 0.0, "", True
        for name, data in (("begin", [{"text": question, "files": []}]), ("ask", []), ("finish", [])):
            async for event in self.call(name, *data):
                if event["msg"] in ("process_generating", "process_completed"):
                    first = first or time.monotonic() - began
                    text += json.dumps(event.get("output"), ensure_ascii=False)
                    good = good and event.get("success", False)
        seen = set(re.findall(r"session-(\d+)\.log", text))
        problem = "" if good else "failed: " + text[:200]
        if not problem and seen != {str(self.number)}:
            why = re.findall(r"could not be.{0,300}", text)[:1]
            problem = f"session {self.number} was shown {sorted(seen)} {why}"
        return Measured(first, time.monotonic() - began, problem)


def report(name: str, measured: list[Measured]) -> None:
    def p95(values: list[float]) -> float:
        return sorted(values)[max(0, round(0.95 * len(values)) - 1)]

    problems = [m.problem for m in measured if m.problem]
    print(
        f"{name}: {len(measured)} questions, {len(problems)} problems, first event p95 "
        f"{p95([m.first for m in measured]):.2f} s, full answer p95 {p95([m.whole for m in measured]):.2f} s",
        flush=True,
    )
    for problem in problems[:3]:
        print(f"  {problem}")


async def load(server: Server, sessions: int, questions: int) -> None:
    # No idle connections: the server closes them after 5 s, and unlike a browser httpx does not ask again.
    limits = httpx.Limits(max_connections=4 * sessions, max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=300, limits=limits) as client:
        people = [Session(client, server, i) for i in range(sessions)]
        await asyncio.gather(*(p.begin() for p in people))
        everything: list[Measured] = []
        print(f"memory before: {server.memory():.0f} MB")
        while len(everything) < questions:
            used = server.cpu()
            text = QUESTIONS[(len(everything) // sessions) % len(QUESTIONS)]
            answers = await asyncio.gather(*(p.ask(text) for p in people))
            everything += answers
            report(f"round {len(everything) // sessions}", list(answers))
            spent = (server.cpu() - used) / sessions
            print(f"  {spent:.2f} processor seconds a question; memory {server.memory():.0f} MB", flush=True)
        report("all", everything)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--questions", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="web-load-") as name:
        folder = Path(name)
        for i in range(options.sessions):
            shutil.copytree(EXAMPLE, folder / "runs" / f"run-{i}")
            (folder / "runs" / f"run-{i}" / "train.log").rename(folder / "runs" / f"run-{i}" / f"session-{i}.log")
        server = start(folder)
        try:
            asyncio.run(load(server, options.sessions, options.questions))
        finally:
            server.process.terminate()
            server.process.wait(30)


if __name__ == "__main__":
    main()
