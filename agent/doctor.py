"""Is everything there that triage can use? One line for each part: what was found, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ..tools.findings import TriageError, clean
from .wording.reply import read, schema
from .wording.server import Model, configured, resolve

ENOUGH = 6_000
"""Tokens of context below which the evidence is cut."""
EXTRAS = {
    "llm": "langchain", "embed": "sentence_transformers", "serve": "vllm", "web": "gradio", "slack": "slack_bolt",
    "mcp": "mcp", "ray": "ray", "lab": "trl",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One part: `ok`, `absent` (optional and not set up), or `bad` (set up and broken)."""

    name: str
    result: Literal["ok", "absent", "bad"]
    found: str
    todo: str = ""


def examine(home: Path) -> Iterator[Line]:
    """Every part in turn; network only to the configured model server."""
    yield from _data(home)
    yield _try("runbook index", lambda: _index(home), "triage runbook index")
    for extra, module in EXTRAS.items():
        there = find_spec(module) is not None
        yield Line(f"extra {extra}", "ok" if there else "absent", module, "" if there else f"pip install '.[{extra}]'")
    try:
        model = configured()
    except TriageError as error:
        yield Line("model server", "bad", str(error), "correct the variable")
        return
    if model is None:
        yield Line("model server", "absent", "TRIAGE_MODEL_URL is not set", "optional: triage serve-model, then set it")
        return
    yield from _server(model)


def _data(home: Path) -> Iterator[Line]:
    from .casebook import Casebook

    def writable() -> str:
        probe = home / ".probe"
        probe.write_text("")
        probe.unlink()
        return f"{home}, {len(Casebook(home).cases(1000))} cases"

    yield _try("data directory", writable, "pass --home DIR or set TRIAGE_HOME to a folder you may write")


def _index(home: Path) -> str:
    from .session import index

    books = index(home)
    hits = books.search("loss is nan")
    return f"{len(list(books.runbook))} entries, encoder {books.compiled.corpus.encoder.name}, {len(hits)} hits"


def _try(name: str, look: Callable[[], str], todo: str) -> Line:
    try:
        return Line(name, "ok", look())
    except (OSError, ValueError, TriageError) as error:
        return Line(name, "bad", clean(str(error)), todo)


def _server(model: Model) -> Iterator[Line]:
    try:
        model = resolve(model)
    except OSError as error:
        yield Line("model server", "bad", f"{model.url}: {clean(str(error))}", "start it: triage serve-model")
        return
    except ValueError as error:
        yield Line(
            "model name", "bad", clean(str(error)), "set TRIAGE_MODEL to a name that the server lists, or unset it"
        )
        return
    yield Line("model server", "ok", f"{model.url} serves {clean(model.name)}")
    if not model.context:
        yield Line("context length", "absent", "the server does not say", f"{ENOUGH} tokens or more are needed")
    else:
        enough = model.context >= ENOUGH
        todo = "" if enough else f"serve it with --max-model-len {ENOUGH} or more"
        yield Line("context length", "ok" if enough else "bad", f"{model.context} tokens", todo)
    yield _probe(
        "tool calling", model, TOOL_CALL, _called, "serve it with --enable-auto-tool-choice and its --tool-call-parser"
    )
    yield _probe(
        "structured output",
        model,
        STRUCTURED,
        _structured,
        "serve it with --structured-outputs-config, or another model",
    )


PARAMETERS = {
    "type": "object", "properties": {"metric": {"type": "string", "enum": ["loss"]}}, "required": ["metric"],
    "additionalProperties": False,
}  # fmt: skip
TOOL_CALL: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Call the tool grep with metric loss."}],
    "tools": [{"type": "function", "function": {"name": "grep", "description": "Search.", "parameters": PARAMETERS}}],
    "max_tokens": 200,
}
IDS = ("F1", "C1")
STRUCTURED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "[F1] loss is nan. [C1] too high a learning rate. Why is it nan? Reply "
                  "as JSON with facts, cause and say (kind, text, cites), in one short statement."}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema(IDS), "strict": True}},
    "max_tokens": 600,
}  # fmt: skip
"""The form that replies really have."""


def _probe(name: str, model: Model, body: dict[str, Any], read: Callable[[Any], str], todo: str) -> Line:
    """One real request."""
    data = json.dumps({"model": model.name, "temperature": 0, **body}).encode()
    headers = {"Authorization": f"Bearer {model.key}", "Content-Type": "application/json"}
    try:
        with urlopen(Request(f"{model.url}/chat/completions", data, headers), timeout=model.seconds) as answer:
            return Line(name, "ok", read(json.loads(answer.read(1_000_000))["choices"][0]["message"]))
    except HTTPError as error:
        return Line(name, "bad", f"HTTP {error.code}: {clean(error.read(2000).decode(errors='replace'), 200)}", todo)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        return Line(name, "bad", clean(f"no usable answer ({error})", 200), todo)


def _called(message: Any) -> str:
    calls = message.get("tool_calls") or []
    if not calls:
        raise ValueError("the model answered in words")
    return f"{clean(calls[0]['function']['name'])}({json.loads(calls[0]['function']['arguments'])})"


def _structured(message: Any) -> str:
    json.loads(message["content"])
    reply = read(message["content"], IDS)
    if reply is None:
        raise ValueError("the reply has not the form that was asked for")
    return f"{len(reply.say)} statements, cause {reply.cause}"
