"""`triage web`: the app in a browser."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import MissingExtra, TriageError
from ..output import HOME_OPTION
from ..roots import LOOPBACK, Roots, installed, listening

HELP = """Serve the web app: conversation, evidence, plots, the one change, verification.

Examples:

  triage web   # this machine only; runs are uploaded

  triage web --root runs   # runs under the folder may be named too

  triage web --host 0.0.0.0 --auth accounts.txt --root runs
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(web)


def web(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine need --auth.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7860,
    root: Annotated[
        list[Path] | None, typer.Option(help="A folder whose runs may be read by path; repeatable.")
    ] = None,
    auth: Annotated[
        list[str] | None, typer.Option(help="user:password, or a file with one of these a line; repeatable.")
    ] = None,
    home: Annotated[Path | None, HOME_OPTION] = None,
) -> None:
    from ...agent.casebook import home as data_home

    accounts = read_accounts(auth or ())
    if host not in LOOPBACK and not accounts:
        raise TriageError(f"--host {host} lets other machines in: add --auth user:password or --auth FILE")
    Roots(root or ())
    if installed("gradio"):
        listening(host, port)
    try:
        from ..web.server import serve
    except ImportError as error:
        raise MissingExtra(f"the web app ({error.name})", "web") from None
    serve(host, port, root or (), accounts, data_home(home))


def read_accounts(given: Sequence[str]) -> dict[str, str]:
    """User -> password.

    Raises:
        TriageError: a file that others may read, or a line that is not user:password.
    """
    accounts: dict[str, str] = {}
    for item in given:
        path = Path(item)
        for number, line in enumerate(_lines(path) if path.is_file() else [item], 1):
            user, colon, password = line.strip().partition(":")
            if not (user and colon and password):
                where = f"{item}:{number}" if path.is_file() else "--auth"
                raise TriageError(f"{where}: expected user:password or a file of such lines")
            accounts[user] = password
    return accounts


def _lines(path: Path) -> list[str]:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise TriageError(f"{path}: others can read these passwords; chmod 600 it")
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
