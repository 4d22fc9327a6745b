"""A real HTTP server on this machine that stands for a model's and for Slack's, and keeps what it was sent."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote_plus


class Listener:
    def __init__(self, url: str):
        self.url, self.bodies = url, list[str]()

    def take(self) -> str:
        """What came since the last time."""
        came, self.bodies = self.bodies, []
        return "\n".join(came)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "any", "max_model_len": 32_768}]})

    def do_POST(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.listener.bodies += [sent, unquote_plus(sent)]
        if "/v1/" not in self.path:
            self.answer({"ok": True, "ts": "1.0", "channel": "C1"})
        elif not json.loads(sent).get("stream"):
            message = {"role": "assistant", "content": "The loss is nan."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self.answer({"id": "1", "object": "chat.completion", "choices": [choice]})
        else:
            self.stream("The loss is nan.")

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for delta, reason in (({"role": "assistant", "content": text}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "any", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


@contextmanager
def listening():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.listener = Listener(f"http://127.0.0.1:{server.server_port}")
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.listener
    finally:
        server.shutdown()
        server.server_close()
