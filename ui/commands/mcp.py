"""`triage mcp`: triage as a tool of coding agents."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import MissingExtra
from ..output import HOME_OPTION
from ..roots import Roots, installed, listening

HELP = """Serve triage's tools to coding agents over the Model Context Protocol; they can only read, under --root.

Examples:

  triage mcp --root ~/runs

  triage mcp --http --port 8765 --root runs

  claude mcp add triage -- triage mcp --root ~/runs
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(mcp)


def mcp(
    root: Annotated[
        list[Path] | None, typer.Option(help="Folder that may be read; repeatable. Default: the working directory.")
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option(help="Address for --http; other than localhost needs TRIAGE_MCP_TOKEN.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port for --http; 0 takes a free one.", min=0, max=65535)] = 8765,
    home: Annotated[Path | None, HOME_OPTION] = None,
) -> None:
    roots = Roots(root or [Path.cwd()])
    if http and port and installed("mcp"):
        listening(host, port)
    try:
        from ..mcp import build
        from ..mcp_http import serve_http
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("mcp", "anyio", "uvicorn"):
            raise
        raise MissingExtra("triage mcp", "mcp") from None
    from ...agent.casebook import home as data_home
    from ..stopping import STOPPING, Stopped

    server = build(roots, data_home(home))
    if http:
        with suppress(Stopped):
            serve_http(server, host, port, os.environ.get("TRIAGE_MCP_TOKEN", ""))
    else:
        for number in STOPPING:  # no exception: the SDK's thread that reads standard input would be waited for
            signal.signal(number, lambda *_: os._exit(0))
        server.run("stdio")
