"""`triage slack`: triage in Slack."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ...tools.findings import MissingExtra, TriageError
from ..output import HOME_OPTION

HELP = """Answer in Slack: mention triage, write to it, or use the message shortcut; a case is a thread.

Reads SLACK_BOT_TOKEN and, for Socket Mode, SLACK_APP_TOKEN, or, for HTTP, SLACK_SIGNING_SECRET. docs/slack.md has the
app's manifest.

Examples:

  triage slack --root runs

  triage slack --channel C0123 --root C0123=team-a/runs --user U0456

  triage slack --http-port 3000
"""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(slack)


def slack(
    root: Annotated[
        list[str] | None,
        typer.Option(metavar="[CHANNEL=]PATH", help="Folder that may be read, everywhere or in one channel (or dm)."),
    ] = None,
    channel: Annotated[
        list[str] | None, typer.Option(help="Answer only here; repeatable. Default: everywhere.")
    ] = None,
    user: Annotated[list[str] | None, typer.Option(help="Answer only these members; repeatable.")] = None,
    http_port: Annotated[
        int | None, typer.Option(help="Listen for HTTP here instead of Socket Mode; 0 takes a free port.", max=65535)
    ] = None,
    host: Annotated[str, typer.Option(help="Address for HTTP, behind a proxy with TLS.")] = "127.0.0.1",
    api: Annotated[str, typer.Option(help="API address, for GovSlack.")] = "https://slack.com/api/",
    home: Annotated[Path | None, HOME_OPTION] = None,
) -> None:
    try:
        from slack_sdk import WebClient
    except ModuleNotFoundError:
        raise MissingExtra("triage slack", "slack") from None
    from ...agent.casebook import home as data_home
    from ..slack.app import over_http, over_socket, serve
    from ..slack.permissions import Permissions

    secret = "" if http_port is None else _variable("SLACK_SIGNING_SECRET")
    connect = over_socket(_variable("SLACK_APP_TOKEN")) if http_port is None else over_http(host, http_port)
    web = WebClient(_variable("SLACK_BOT_TOKEN"), base_url=api)
    serve(web, Permissions.given(channel or (), user or (), root or ()), data_home(home), connect, secret)


def _variable(name: str) -> str:
    if value := os.environ.get(name):
        return value
    raise TriageError(f"{name} is not set; docs/slack.md says where Slack shows it")
