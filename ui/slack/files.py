"""Attachments of a thread: downloaded once, bounded, from Slack only, into the thread's own folder.

Nothing is unpacked or opened here; the tools read what was written.
"""

from __future__ import annotations

import filecmp
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ...tools.findings import TriageError, clean
from .inbox import KEEP_DAYS, Inbox, Request

FILE_LIMIT = 64 << 20
THREAD_LIMIT = 256 << 20
MOST_FILES = 50
NOT_TEXT = ("image/", "video/", "audio/", "application/pdf", "application/vnd.openxmlformats", "application/msword")
"""Kinds that no tool reads."""


class Attachments:
    """Downloads with the app's token, which is only ever sent to the host of `api` and its subdomains.

    Args:
        folder: where the folders of the threads are made.
        token: the bot token.
        api: address of the API, `https://slack.com/api/`.
    """

    def __init__(self, folder: Path, inbox: Inbox, token: str, api: str):
        self._folder, self._inbox, self._token = folder, inbox, token
        self._host = urllib.parse.urlsplit(api).hostname or ""
        self._opener = urllib.request.build_opener(_NoRedirect)

    def folder(self, request: Request, part: str = "run") -> Path:
        return self._folder / _safe(request.channel) / _safe(request.thread) / _safe(part)

    def fetch(self, request: Request, files: Iterable[Mapping[str, Any]], part: str = "run") -> list[str]:
        """Download what is new; returns what was not read, each with its reason."""
        folder, skipped = self.folder(request, part), []
        for file in files:
            if self._inbox.has_file(file["id"]):
                continue
            try:
                self._download(file, folder)
            except TriageError as error:
                skipped.append(f"{clean(str(file.get('name') or file['id']), 80)} ({error})")
                continue
            self._inbox.add_file(file["id"], request.where)
        return skipped

    def _download(self, file: Mapping[str, Any], folder: Path) -> None:
        url, kind = (
            str(file.get("url_private_download") or file.get("url_private") or ""),
            str(file.get("mimetype", "")),
        )
        if kind.startswith(NOT_TEXT):
            raise TriageError("not text: attach logs, configs or data")
        if int(file.get("size") or 0) > FILE_LIMIT:
            raise TriageError(
                f"larger than {FILE_LIMIT >> 20} MB: attach the part around the failure, or name its path"
            )
        held = [p.stat().st_size for p in folder.parent.rglob("*") if p.is_file()]
        if len(held) >= MOST_FILES or sum(held) + int(file.get("size") or 0) > THREAD_LIMIT:
            raise TriageError("the thread has too many attachments: open a new one")
        if not self._ours(url):
            raise TriageError("it is not stored in Slack: attach the file itself")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = folder / f".{_safe(file['id'])}.part"
        try:
            self._read(url, part)
            part.replace(_place(folder / _name(file), part))
        finally:
            part.unlink(missing_ok=True)

    def _ours(self, url: str) -> bool:
        host = urllib.parse.urlsplit(url).hostname or ""
        return host == self._host or host.endswith(f".{self._host}")

    def _read(self, url: str, part: Path) -> None:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})
        try:
            with self._opener.open(request, timeout=60) as response, part.open("wb") as out:
                if response.headers.get_content_type() == "text/html":
                    raise TriageError("Slack did not give the file: the app needs the scope files:read")
                while block := response.read(1 << 16):
                    if out.tell() + len(block) > FILE_LIMIT:
                        raise TriageError(f"larger than {FILE_LIMIT >> 20} MB")
                    out.write(block)
        except urllib.error.HTTPError as error:
            if error.code == 429 or error.code >= 500:
                raise  # the whole turn is tried again
            raise TriageError(f"Slack answered {error.code} to the download") from None

    def forget_old(self) -> None:
        """Remove the folders of threads to which nothing was attached for `KEEP_DAYS`."""
        for thread in self._folder.glob("*/*"):
            newest = max((p.stat().st_mtime for p in (thread, *thread.rglob("*"))), default=0)
            if newest < time.time() - KEEP_DAYS * 86400:
                shutil.rmtree(thread, ignore_errors=True)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token elsewhere; Slack redirects to its login page when a scope is missing."""

    def redirect_request(self, *args: Any, **named: Any) -> None:
        return None


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name).lstrip(".")[:100] or "_"


def _name(file: Mapping[str, Any]) -> str:
    name = _safe(str(file.get("name") or "attachment"))
    return name if "." in name else f"{name}.txt"


def _place(path: Path, part: Path) -> Path:
    """The path itself, or with a number; one that holds the same content is written again."""
    numbered = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, MOST_FILES + 2))
    free = (p for p in chain([path], numbered) if not p.exists() or filecmp.cmp(p, part, shallow=False))
    return next(free, path)
