"""The web app on a free port, and a browser's requests to it without a browser."""

import socket
from contextlib import contextmanager

import httpx

from triage.ui.web.server import running


class Web(httpx.Client):
    """One browser: it keeps its cookies, and sends the events of a tab as Gradio's page does."""

    def log_in(self, user, password, **more):
        return self.post("/login", data={"username": user, "password": password}, **more)

    def event(self, tab, name, *data, **sent):
        """One event; the line with which the server answers it."""
        handlers = {f["api_name"]: f for f in self.get("/config").json()["dependencies"]}
        full = [*data, *[None] * (len(handlers[name]["inputs"]) - len(data))]
        body = {"data": full, "fn_index": handlers[name]["id"], "session_hash": tab, "event_data": sent or None}
        self.post("/gradio_api/queue/join", json=body).raise_for_status()
        with self.stream("GET", "/gradio_api/queue/data", params={"session_hash": tab}, timeout=30) as events:
            for line in events.iter_lines():
                if '"process_completed"' in line:
                    return line
        raise AssertionError("the server gave no answer")

    def begin(self, tab="tab"):
        """Open the page."""
        self.get("/")
        return self.event(tab, "start", "")

    def upload(self, content, name="train.log", **more):
        return self.post("/gradio_api/upload", files={"files": (name, content)}, **more)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def served(home, accounts=None, **more):
    """A browser on a server that runs in this process, and the server's desk."""
    port = free_port()
    with (
        running("127.0.0.1", port, [], accounts or {}, home, **more) as desk,
        Web(base_url=f"http://127.0.0.1:{port}") as web,
    ):
        yield web, desk
