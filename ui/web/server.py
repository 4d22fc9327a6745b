"""The running server: start and stop, accounts, and what is added to every answer it gives.

A page may fetch from nowhere else, and on this machine only its own names are answered.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gradio.themes import Base

from ...tools.findings import TriageError
from ..roots import LOOPBACK, Roots
from ..stopping import Stopped
from .app import HERE, Page
from .desk import KEPT, Desk

FILE_SIZE = "256mb"
"""Largest single upload."""
SWITCH = 0.001
"""Seconds after which a thread that computes lets the others in: the page must answer while questions are worked on."""
THREADS = 512
"""Each waiting question holds one; the work itself is bounded by `Desk.workers`."""

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
"""No picture, script or connection from elsewhere, whatever text of a run got into the page."""
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


class Guarded:
    """ASGI middleware that adds `HEADERS`."""

    def __init__(self, app: Any):
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        await self.app(scope, receive, with_headers)


def middleware(host: str) -> list[Any]:
    """For a server bound to `host`: on this machine only its own names are answered (DNS rebinding)."""
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    layers = [Middleware(Guarded)]
    if host in LOOPBACK:
        layers.append(Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"]))
    return layers


def serve(host: str, port: int, roots: Sequence[Path], accounts: Mapping[str, str], home: Path) -> None:
    """Serve the app until the process is told to stop.

    Raises:
        TriageError: a root does not exist, or the port is taken.
    """
    sys.setswitchinterval(SWITCH)
    with running(host, port, roots, accounts, home) as desk:
        print(f"triage web: http://{host}:{port}  (Ctrl-C stops)", flush=True)
        with suppress(Stopped):
            while True:
                time.sleep(30)
                desk.sweep()


@contextmanager
def running(
    host: str, port: int, roots: Sequence[Path], accounts: Mapping[str, str], home: Path, kept: float = KEPT
) -> Iterator[Desk]:
    """The app, served while the context is open; everything that was uploaded is gone then."""
    with tempfile.TemporaryDirectory(prefix="triage-web-") as scratch:
        incoming = Path(scratch, "incoming")
        incoming.mkdir()
        os.environ.update(GRADIO_TEMP_DIR=str(incoming), GRADIO_ANALYTICS_ENABLED="False")
        desk = Desk(home, Roots(roots), Path(scratch, "kept"), kept)
        blocks = Page(desk, incoming).blocks
        blocks.queue(default_concurrency_limit=None, api_open=False)
        try:
            blocks.launch(
                server_name=host, server_port=port, auth=checker(accounts) if accounts else None, share=False,
                prevent_thread_lock=True, quiet=True, footer_links=[], ssr_mode=False, show_error=False,
                enable_monitoring=False, max_file_size=FILE_SIZE, max_threads=THREADS, state_session_capacity=2_000,
                theme=theme(), css_paths=[HERE / "style.css"], js=(HERE / "page.js").read_text(),
                app_kwargs={"middleware": middleware(host)},
            )  # fmt: skip
        except OSError as error:
            raise TriageError(f"cannot listen there ({error}); choose another --host or --port") from None
        try:
            yield desk
        finally:
            blocks.close(verbose=False)


def checker(accounts: Mapping[str, str]) -> Callable[[str, str], bool]:
    """Compares in constant time, known user or not."""

    def check(user: str, password: str) -> bool:
        known = accounts.get(user)
        right = hmac.compare_digest((known or secrets.token_hex()).encode(), password.encode())
        return right and known is not None

    return check


def theme() -> Base:
    """System fonts only: nothing is fetched."""
    text = ["system-ui", "-apple-system", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "sans-serif"]
    code = ["ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "monospace"]
    return Base(
        primary_hue="teal", neutral_hue="slate", font=text, font_mono=code, radius_size="sm", text_size="md",
        spacing_size="sm",
    ).set(button_primary_background_fill="#0f766e", button_primary_background_fill_hover="#115e59")  # fmt: skip
