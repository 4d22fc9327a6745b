"""Where the served model is, read once from the environment, and the two questions any server can be asked cheaply.

No chat and no LangChain here: that is `llm`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ...tools.boundary import Identity
from ...tools.findings import TriageError


@dataclass(frozen=True)
class Model:
    """An OpenAI-compatible server."""

    url: str
    """Base address, ending in `/v1`."""
    name: str = ""
    """Model to ask for; empty until the server has been asked which it serves."""
    key: str = "EMPTY"
    seconds: float = 60.0
    """Longest turn; a third of it may pass without a token."""
    context: int = 0
    """Longest prompt and answer together, in tokens; 0 where the server does not say."""
    hide: tuple[Identity, ...] = ()
    """What is hidden from it beside credentials and personal data."""


def configured(env: Mapping[str, str] = os.environ) -> Model | None:
    """The server that TRIAGE_MODEL_URL names, or None.

    TRIAGE_MODEL is its model's name, TRIAGE_API_KEY its key, TRIAGE_MODEL_SECONDS the longest turn, TRIAGE_REDACT a
    comma-separated list of `hosts`, `users`, `paths` to hide from it too.

    Raises:
        TriageError: one of them is malformed.
    """
    url = env.get("TRIAGE_MODEL_URL", "").strip().rstrip("/")
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        raise TriageError(f"TRIAGE_MODEL_URL={url!r} is no address; give one such as http://127.0.0.1:8000/v1")
    hide = tuple(part for part in env.get("TRIAGE_REDACT", "").replace(" ", "").split(",") if part)
    if unknown := set(hide) - set(get_args(Identity)):
        raise TriageError(f"TRIAGE_REDACT: {sorted(unknown)[0]!r} is not one of {', '.join(get_args(Identity))}")
    try:
        seconds = float(env.get("TRIAGE_MODEL_SECONDS") or 60)
    except ValueError:
        raise TriageError("TRIAGE_MODEL_SECONDS is not a number of seconds") from None
    base = url if url.endswith("/v1") else f"{url}/v1"
    key = env.get("TRIAGE_API_KEY") or "EMPTY"
    return Model(base, env.get("TRIAGE_MODEL", ""), key, seconds, hide=hide)  # pyright: ignore[reportArgumentType]


def served(model: Model, timeout: float = 3.0) -> list[dict[str, Any]]:
    """What the server says it serves: objects with `id` and, from vLLM, `max_model_len`.

    Raises:
        OSError: the server does not answer (refused, timed out, or an HTTP error).
        ValueError: the answer is not a list of models.
    """
    request = Request(f"{model.url}/models", headers={"Authorization": f"Bearer {model.key}"})
    with urlopen(request, timeout=timeout) as answer:
        listed = json.loads(answer.read(1_000_000))
    if not isinstance(listed, dict) or not isinstance(listed.get("data"), list):
        raise ValueError("not a list of models")
    return [m for m in listed["data"] if isinstance(m, dict) and isinstance(m.get("id"), str)]


def resolve(model: Model) -> Model:
    """The model with the name and context length that the server gives.

    Raises:
        OSError: the server does not answer.
        ValueError: it serves nothing, or not the model that was asked for.
    """
    try:
        listed = served(model, min(3.0, model.seconds))
    except HTTPError as error:
        if error.code == 404 and model.name:
            return model  # a server that lists no models
        raise
    found = next((m for m in listed if model.name in ("", m["id"])), None)
    if found is None:
        raise ValueError(f"the server does not serve {model.name!r}")
    return replace(model, name=found["id"], context=int(found.get("max_model_len") or 0))
