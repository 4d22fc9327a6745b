"""The running server: start and stop, accounts, and what is added to every answer it gives.

A page may fetch from nowhere else, and on this machine only its own names are answered.
"""

from __future__ import annotations

import fcntl
import hmac
import math
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gradio.themes import Base

from ...agent.session import ready
from ...tools.findings import TriageError
from ..plots.live import script, style
from ..roots import LOOPBACK, Roots
from ..stopping import Stopped
from .app import Page
from .attempts import Attempts
from .desk import KEPT, Desk
from .door import PLACE, Door
from .layout import HERE

FILE_SIZE = "256mb"
"""Largest single upload."""
SWITCH = 0.001
"""Seconds after which a thread that computes lets the others in: the page must answer while questions are worked on."""
SCRATCH = "triage-web-"
"""How the folders of uploads begin, in the folder for temporary files."""
LOCK = "lock"
"""Held by the server whose folder it is."""
THREADS = 512
"""Each waiting question holds one; the work itself is bounded by `Desk.workers`."""


def middleware(host: str, desk: Desk) -> list[Any]:
    """For a server bound to `host`: on this machine only its own names are answered (DNS rebinding)."""
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    layers = [Middleware(Door, desk=desk)]
    if host in LOOPBACK:
        layers.append(Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"]))
    return layers


def serve(host: str, port: int, roots: Sequence[Path], accounts: Mapping[str, str], home: Path) -> None:
    """Serve the app until the process is told to stop.

    Raises:
        TriageError: a root does not exist, or the port is taken.
    """
    sys.setswitchinterval(SWITCH)
    ready(home)
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
    with scratch_folder() as scratch:
        incoming = scratch / "incoming"
        incoming.mkdir()
        os.environ.update(GRADIO_TEMP_DIR=str(incoming), GRADIO_ANALYTICS_ENABLED="False")
        desk = Desk(home, Roots(roots), scratch / "kept", kept)
        blocks = Page(desk).blocks
        blocks.queue(default_concurrency_limit=None, api_open=False)
        try:
            blocks.launch(
                server_name=host, server_port=port, auth=checker(accounts) if accounts else None, share=False,
                prevent_thread_lock=True, quiet=True, footer_links=[], ssr_mode=False, show_error=False,
                enable_monitoring=False, max_file_size=FILE_SIZE, max_threads=THREADS, state_session_capacity=2_000,
                theme=theme(), css_paths=[HERE / "style.css"], js=(HERE / "page.js").read_text(),
                css=style(), head=f"<script>{script()}</script>",
                app_kwargs={"middleware": middleware(host, desk)},
            )  # fmt: skip
        except OSError as error:
            raise TriageError(f"cannot listen there ({error}); choose another --host or --port") from None
        try:
            yield desk
        finally:
            blocks.close(verbose=False)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for uploads, and what servers that were killed left of theirs is removed first.

    A server holds a lock in its folder for as long as it lives, and the folder has its name only once the lock is held.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        _sweep(left)
    new = Path(tempfile.mkdtemp(prefix="new-" + SCRATCH)).resolve()
    folder = new.with_name(new.name.removeprefix("new-"))
    with Path(new, LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        new.rename(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove the folder if it is ours and its server is gone."""
    with suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return
        with suppress(FileNotFoundError), open(os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)


def checker(accounts: Mapping[str, str]) -> Callable[[str, str], bool]:
    """Compares in constant time, known user or not; whoever was wrong too often waits."""
    from starlette.exceptions import HTTPException

    attempts = Attempts()

    def check(user: str, password: str) -> bool:
        if (seconds := math.ceil(attempts.wait(user, PLACE.get()))) > 0:
            raise HTTPException(
                429, f"too many wrong log-ins; try again in {seconds} s", headers={"Retry-After": str(seconds)}
            )
        known = accounts.get(user)
        right = hmac.compare_digest((known or secrets.token_hex()).encode(), password.encode()) and known is not None
        (attempts.right if right else attempts.wrong)(user, PLACE.get())
        return right

    return check


def theme() -> Base:
    """System fonts only: nothing is fetched."""
    text = ["system-ui", "-apple-system", "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "sans-serif"]
    code = ["ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "monospace"]
    return Base(
        primary_hue="teal", neutral_hue="slate", font=text, font_mono=code, radius_size="sm", text_size="md",
        spacing_size="sm",
    ).set(button_primary_background_fill="#0f766e", button_primary_background_fill_hover="#115e59")  # fmt: skip
