"""An OpenAI-compatible server that says what a test tells it to, over real HTTP."""

import itertools
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Reply:
    """One answer of the server, in order: wait, then an error, tool calls, or text, perhaps cut off."""

    text: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    """(name, arguments as a JSON text)"""
    status: int = 200
    error: str = "broken"
    wait: float = 0.0
    pause: float = 0.0
    """Seconds between two pieces."""
    cut: int | None = None
    """Pieces after which the connection breaks."""
    endless: dict | None = None
    """A delta that is sent again and again."""


@dataclass
class Scripted:
    """The server's script and what it received."""

    replies: list[Reply] = field(default_factory=list)
    """The last one is repeated."""
    requests: list[dict] = field(default_factory=list)
    context: int = 32_768
    url: str = ""
    gone: int = 0
    """Streams that the client broke off."""

    def sent(self) -> str:
        return json.dumps(self.requests, ensure_ascii=False)


def make_handler(server: Scripted):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def _json(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            if self.path == "/v1/models":
                self._json(200, {"object": "list", "data": [{"id": "scripted", "max_model_len": server.context}]})
            else:
                self._json(404, {})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(body)
            reply = server.replies[min(len(server.requests), len(server.replies)) - 1]
            time.sleep(reply.wait)
            if reply.status != 200:
                self._json(reply.status, {"error": {"message": reply.error, "type": "x", "code": reply.status}})
            elif body.get("stream"):
                self._stream(reply)
            else:
                message = {"role": "assistant", "content": reply.text or None, "tool_calls": calls(reply)}
                self._json(200, {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": message}]})

        def _stream(self, reply):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for number, delta in enumerate(deltas(reply)):
                    if reply.cut is not None and number >= reply.cut:
                        self.close_connection = True
                        self.connection.shutdown(2)
                        return
                    self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
                    time.sleep(reply.pause)
                reason = "tool_calls" if reply.tools else "stop"
                self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
                self._event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}})
                self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                server.gone += 1
            self.close_connection = True

        def _event(self, change):
            event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", **change}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    return Handler


def calls(reply):
    return [
        {"index": i, "id": f"call-{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(reply.tools)
    ]


def deltas(reply):
    yield {"role": "assistant", "content": ""}
    if reply.endless:
        yield from itertools.repeat(reply.endless)
    if reply.tools:
        yield {"tool_calls": calls(reply)}
    for start in range(0, len(reply.text), 7):
        yield {"content": reply.text[start : start + 7]}


@pytest.fixture
def scripted(monkeypatch):
    """A running server; TRIAGE_MODEL_URL points at it."""
    server = Scripted()
    http = ThreadingHTTPServer(("127.0.0.1", 0), make_handler(server))
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    monkeypatch.setenv("TRIAGE_MODEL_URL", server.url)
    monkeypatch.setenv("TRIAGE_MODEL_SECONDS", "60")
    for name in ("TRIAGE_MODEL", "TRIAGE_API_KEY", "TRIAGE_REDACT"):
        monkeypatch.delenv(name, raising=False)
    yield server, Reply
    http.shutdown()
    http.server_close()
