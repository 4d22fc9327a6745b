"""A served model words the answer: one LangChain agent over the case's evidence and tools, guarded, within a budget.

LangChain is known here, to `memory` and to `limits`, and imported when a server is configured. The built-in answer
exists before anything here is called; whatever goes wrong ends in `Unanswered` with one reason, and that answer stands.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import Any

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")  # who can write the checkpoint file runs no code here

import langsmith
import openai
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
)
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from pydantic import ValidationError

from ...tools.boundary import Boundary
from ...tools.phrase import Phrase
from ..answer import Answer
from ..events import Cancelled, Listen, Token
from .guards.guard import Guard
from .limits import LastWord, NoRepeats, Watch
from .memory import remembered
from .server import Model, resolve
from .shown import LONGEST, Shown, brief
from .thoughts import Thoughts
from .toolbox import Toolbox

logging.getLogger("langchain_core.callbacks.manager").setLevel(logging.ERROR)  # it warns when `Watch` does its work

CALLS_WHEN_COMPLETE = 2
CALLS = 5
"""Most model calls of one turn; the last of them gets no tools."""
TOOL_CALLS = 8
ANSWER_TOKENS = 900
"""Longest reply of the model, its thoughts included."""
KEPT_MESSAGES = 8
"""Messages of earlier turns that stay whole when the rest is summarised."""
HEARTBEAT = 0.3
"""Seconds without a word after which an empty one is told."""
LANGUAGE = Phrase("English", "Chinese (简体中文)")


class Unanswered(Exception):
    """The model gave no usable answer; the argument is the reason, a key of `turn.NO_MODEL`."""


@dataclass
class Turn:
    """What one turn with the model came to; filled while it runs, so that a trace has it even when it fails."""

    model: Model
    text: str = ""
    """What passed the guards."""
    calls: int = 0
    tools: list[dict[str, Any]] = field(default_factory=list)
    """`{"name", "args", "seconds", "chars"}` of each call."""
    messages: list[dict[str, str]] = field(default_factory=list)
    """What was sent and what came back, as it left and arrived."""
    tokens: dict[str, int] = field(default_factory=dict)
    kept: int = 0
    """Sentences that passed the guards."""
    dropped: dict[str, int] = field(default_factory=dict)


def word(
    turn: Turn, question: str, answer: Answer, home: Path | None, case: str, boundary: Boundary, listen: Listen
) -> None:
    """Ask the model, streaming what passes the guards as `Token` events; `turn.text` is all of it.

    Raises:
        Unanswered: no usable answer came in time.
    """
    limit = LONGEST
    for attempt in (1, 2):
        try:
            _Words(turn, answer, home, case, boundary, listen, limit).run(question)
            return
        except Unanswered as error:
            again = str(error) in ("error", "malformed", "context") and attempt == 1 and not turn.text
            if not again:
                raise
            limit = LONGEST // 3


class _Words:
    """One attempt."""

    def __init__(
        self, turn: Turn, answer: Answer, home: Path | None, case: str, boundary: Boundary, listen: Listen, limit: int
    ):
        self.turn, self.answer, self.home, self.case = turn, answer, home, case
        self.boundary, self.listen = boundary, listen
        self.shown = Shown(answer)
        self.evidence = brief(self.shown, limit)
        self.fresh = limit < LONGEST
        """The second attempt leaves the history of the conversation out."""
        self.guard = Guard(self.shown, answer.lang)
        self.watch = Watch(turn.model.seconds)
        self.history: list[AnyMessage] = []
        self.cut_off = False
        self._told = 0.0

    def run(self, question: str) -> None:
        try:
            self.turn.model = resolve(self.turn.model)
            with langsmith.tracing_context(enabled=False):
                self._stream(question)
        except (Unanswered, Cancelled):
            raise
        except Exception as error:
            raise Unanswered("slow" if self.watch.late else reason(error)) from error
        finally:
            self.turn.kept, self.turn.dropped = self.guard.kept, dict(self.guard.dropped)
        if not self.guard.kept:
            raise Unanswered("unusable")

    def _stream(self, question: str) -> None:
        thoughts, agent = Thoughts(), self._agent()
        asked = HumanMessage(self.boundary.hide(question), id="question")
        self._note("user", asked.text)
        with remembered(None if self.fresh else self.home, self.case) as memory:
            self.history = memory.read()
            config: Any = {"recursion_limit": 8 * CALLS, "callbacks": [self.watch]}
            sent: Any = {"messages": [*self.history, asked]}
            events = agent.stream(sent, config, stream_mode=["messages", "updates"])
            try:
                for kind, data in events:
                    if kind == "updates":
                        self._update(data)
                    elif isinstance(data[0], AIMessageChunk) and data[1].get("langgraph_node") == "model":
                        self._say(self.guard.feed(self.boundary.restore(thoughts.feed(data[0].text))))
            except Cancelled:
                self.watch.stop()
                with suppress(Exception):  # LangGraph's threads end only with the stream itself
                    for _ in events:
                        pass
                raise
            self._say(self.guard.feed(self.boundary.restore(thoughts.close())) + self.guard.close(self.cut_off))
            if self.guard.kept:
                memory.write([*self.history, asked, AIMessage(self.boundary.hide(self.turn.text))])

    def _say(self, passed: str) -> None:
        """Tell what passed; nothing, too, now and then, so that a listener that has gone is noticed."""
        if not self.turn.text:
            passed = passed.lstrip()
        if passed or time.monotonic() - self._told > HEARTBEAT:
            self._told = time.monotonic()
            self.turn.text += passed
            self.listen(Token(passed))

    def _update(self, data: dict[str, Any]) -> None:
        """Note what the model and the tools said, and the history after it was summarised."""
        for node, change in data.items():
            messages = change.get("messages", []) if isinstance(change, dict) else []
            if messages and "Summarization" in node:
                self.history = [m for m in messages if isinstance(m, (HumanMessage, AIMessage)) and m.id != "question"]
                continue
            for message in messages:
                if isinstance(message, AIMessage):
                    self._count(message)
                elif isinstance(message, ToolMessage):
                    self._note("tool", message.text)

    def _count(self, message: AIMessage) -> None:
        ended = message.response_metadata.get("finish_reason")
        if not ended:
            raise Unanswered("error")  # the stream broke off, which the client takes for its end
        self.cut_off = ended == "length"
        self.turn.calls += 1
        for key in ("input_tokens", "output_tokens"):
            self.turn.tokens[key] = self.turn.tokens.get(key, 0) + (message.usage_metadata or {}).get(key, 0)
        self._note("assistant", message.text)

    def _note(self, role: str, text: str) -> None:
        self.turn.messages.append({"role": role, "content": text})

    def _agent(self) -> Any:
        context = self.turn.model.context
        limit = CALLS_WHEN_COMPLETE if complete(self.answer) else CALLS
        system = prompt(
            "system.md", language=LANGUAGE.say(self.answer.lang), evidence=self.boundary.hide(self.evidence)
        )
        self._note("system", system)
        chat = ChatOpenAI(
            model=self.turn.model.name,
            base_url=self.turn.model.url,
            api_key=self.turn.model.key,  # pyright: ignore[reportArgumentType]
            timeout=self.turn.model.seconds / 3,
            max_retries=0,
            max_tokens=min(ANSWER_TOKENS, context // 4) if context else ANSWER_TOKENS,  # pyright: ignore[reportCallIssue]
            temperature=0.2,
            stream_usage=True,
        )
        trigger = ("tokens", max(1_500, (context or 16_000) // 3))
        middleware: list[Any] = [
            SummarizationMiddleware(chat, trigger=trigger, keep=("messages", KEPT_MESSAGES)),
            ModelCallLimitMiddleware(run_limit=limit, exit_behavior="error"),
            ToolCallLimitMiddleware(run_limit=TOOL_CALLS),
            ToolErrorMiddleware(lambda error, request: f"{request.tool_call['name']}: the tool broke"),
            LastWord(limit),
            NoRepeats(),
        ]
        tools = [_tool(function, self) for function in Toolbox(self.shown, self.home, self.listen).tools()]
        return create_agent(chat, tools, system_prompt=system, middleware=middleware)


def complete(answer: Answer) -> bool:
    """Whether the evidence answers without a further tool: the run was read, and the state is a clear one."""
    top, state = answer.diagnosis.top, answer.diagnosis.state
    believed = top is not None and top.status in ("established", "supported")
    return answer.seen is not None and (state == "healthy" or (state == "diagnosed" and believed))


def prompt(name: str, **values: str) -> str:
    """A prompt file with its marks filled; a missing mark is an error."""
    return (files(__package__ or "") / "prompts" / name).read_text(encoding="utf-8").format(**values)


def _tool(function: Callable[..., str], words: _Words) -> StructuredTool:
    """The function as a tool whose result leaves through the boundary; arguments it does not have are ignored."""

    @wraps(function)
    def call(**args: Any) -> str:
        start = time.monotonic()
        text = words.boundary.hide(function(**args))
        words.turn.tools.append(
            {"name": function.__name__, "args": args, "seconds": time.monotonic() - start, "chars": len(text)}
        )
        return text

    return StructuredTool.from_function(call, name=function.__name__, parse_docstring=True)


def reason(error: Exception) -> str:
    """Why a model call failed, as a key of `turn.NO_MODEL`."""
    text = str(error).lower()
    if isinstance(error, openai.BadRequestError) and ("context" in text or "token" in text or "length" in text):
        return "context"
    if isinstance(error, (openai.APITimeoutError, TimeoutError)):
        return "slow"
    if isinstance(error, (ValidationError, openai.LengthFinishReasonError)):
        return "malformed"
    if isinstance(error, openai.InternalServerError):
        return "error"
    if isinstance(error, (openai.APIConnectionError, OSError)) and not isinstance(error, openai.APIStatusError):
        return "no-server"
    if isinstance(error, (openai.NotFoundError, ValueError)):
        return "no-such-model"
    return "unusable"
