"""The MCP server over streamable HTTP: on this machine only, or behind a bearer token."""

from __future__ import annotations

import hmac
import socket
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from ..tools.findings import TriageError
from .roots import LOOPBACK


def serve_http(server: MCPServer, host: str, port: int, token: str) -> None:
    """Streamable HTTP at `/mcp` until interrupted; with a token, every request must carry it.

    Raises:
        TriageError: the address is open to others and there is no token, or the port is taken.
    """
    import uvicorn

    local = host in LOOPBACK
    if not local and not token:
        raise TriageError(
            f"--host {host} is open to others: set TRIAGE_MCP_TOKEN, which clients send as a bearer token"
        )
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise TriageError(f"{host}:{port}: {error.strerror or error}; choose another --port") from None
    open_to_all = None if local else TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: Any = server.streamable_http_app(host=host, transport_security=open_to_all)
    print(f"triage: http://{host}:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(guarded(app, token) if token else app, log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


def guarded(app: Any, token: str) -> Any:
    """The ASGI application behind a bearer token."""
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else ""
        if scope["type"] == "http" and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            refused = PlainTextResponse("send the header Authorization: Bearer TRIAGE_MCP_TOKEN\n", 401)
            await refused(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guard
