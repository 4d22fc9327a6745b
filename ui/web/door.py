"""What every request passes before Gradio sees it: from where it comes, whose it is, and how much it may send.

A browser is known by a cookie that the page sets; the page's opening event ties it to an owner (`Desk.enter`). Uploads
count from their first byte: one of a browser that nobody is known to use is refused, and so is one over the limits.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import PlainTextResponse, RedirectResponse

from ...tools.findings import TriageError
from .desk import Desk, TooMuch

COOKIE = "triage-browser"
BODY_LIMIT = 16 << 20
"""Most bytes of a request that is no upload; a question with a pasted log is far smaller."""
TOO_LONG = f"over the limit of {BODY_LIMIT >> 20} MiB for a request"
CASE = re.compile(r"/case/([0-9a-f]{1,40})/?")
"""The address of a case; the page that answers it opens the case, if it is the visitor's."""
PLACE: ContextVar[str] = ContextVar("place", default="")
"""Address of the client whose request is answered."""
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


def browser(headers: Mapping[str, str]) -> str:
    """The browser's cookie as the page sets it, or nothing."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found and re.fullmatch(r"[\w-]{43}", found.value) else ""


def foreign(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site sent the request: a browser says so itself, or names are compared."""
    if site := headers.get("sec-fetch-site"):
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    own = {headers.get("host", "").lower(), headers.get("x-forwarded-host", "").lower()}
    return origin is not None and urlsplit(origin).netloc.lower() not in own - {""}


class Door:
    """ASGI middleware; `desk` knows the owners."""

    def __init__(self, app: Any, desk: Desk):
        self.app, self.desk = app, desk

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        declared = int(said) if (said := headers.get("content-length", "")).isdigit() else 0
        PLACE.set((scope.get("client") or ("",))[0])
        app: Any = self.app
        if scope["method"] in ("GET", "HEAD") and (link := CASE.fullmatch(scope["path"])):
            app = RedirectResponse(f"{scope.get('root_path', '')}/?case={link[1]}", 303)
        elif scope["method"] not in ("GET", "HEAD", "OPTIONS") and foreign(headers):
            app = PlainTextResponse("the request comes from a page of another site", 403)
        elif scope["method"] == "POST" and scope["path"].rstrip("/").endswith("/upload"):
            app = self._uploading(browser(headers), declared)
        elif declared > BODY_LIMIT:
            app = PlainTextResponse(TOO_LONG, 413)
        else:
            receive = bounded(receive)
        await app(scope, receive, marked(send, new=not browser(headers)))

    def _uploading(self, key: str, declared: int) -> Any:
        """Gradio's upload, counted; or the refusal."""
        try:
            arriving = Arriving(self.desk, self.desk.begin(key))
        except TriageError as error:
            return PlainTextResponse(str(error), 403)
        try:
            arriving.declare(declared)
        except TooMuch as error:
            arriving.end([])
            return PlainTextResponse(str(error), 413)

        async def upload(scope: Any, receive: Any, send: Any) -> None:
            try:
                await self.app(scope, arriving.counted(receive), arriving.noted(send))
            finally:
                arriving.end([])

        return upload


class Arriving:
    """One upload under way; its bytes are the owner's from the first on, its files when they are stored."""

    def __init__(self, desk: Desk, owner: str):
        self.desk, self.owner, self.held, self.came = desk, owner, 0, 0
        self.ended = self.whole = False

    def declare(self, size: int) -> None:
        """Hold what the request says it will send.

        Raises:
            TooMuch: it does not fit.
        """
        self.desk.hold(self.owner, size)
        self.held += size

    def counted(self, receive: Any) -> Any:
        """The request's body; it ends with an error that makes Gradio remove what it has written."""

        async def next_part() -> Any:
            message = await receive()
            if self.whole:
                return message
            if message["type"] == "http.disconnect":
                raise MultiPartException("the upload was cut off")
            self.came += len(message.get("body", b""))
            self.whole = not message.get("more_body")
            try:
                self.declare(max(0, self.came - self.held))
            except TooMuch as error:
                raise MultiPartException(f"over the maximum allowed size: {error}") from None
            return message

        return next_part

    def noted(self, send: Any) -> Any:
        """The answer; the files it names are the owner's before anybody reads of them."""
        status, body = 0, b""

        async def pass_on(message: Any) -> None:
            nonlocal status, body
            status = message.get("status", status)
            body += message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self.end([Path(path) for path in json.loads(body)] if status == 200 else [])
            await send(message)

        return pass_on

    def end(self, paths: list[Path]) -> None:
        if not self.ended:
            self.ended = True
            self.desk.received(self.owner, self.held, paths)


def bounded(receive: Any) -> Any:
    """The body of a request, up to `BODY_LIMIT`."""
    came = 0

    async def next_part() -> Any:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > BODY_LIMIT:
            raise HTTPException(413, TOO_LONG)
        return message

    return next_part


def marked(send: Any, new: bool) -> Any:
    """Adds `HEADERS`, and to a page for a new browser its cookie."""

    async def pass_on(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *HEADERS]
            if new and any(k.lower() == b"content-type" and v.startswith(b"text/html") for k, v in headers):
                cookie = f"{COOKIE}={secrets.token_urlsafe(32)}; Path=/; HttpOnly; SameSite=Strict"
                headers.append((b"set-cookie", cookie.encode()))
            message = {**message, "headers": headers}
        await send(message)

    return pass_on
