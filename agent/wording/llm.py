"""A served model words the answer: one LangChain agent over the case's evidence and tools, guarded, within a budget.

The only module that knows LangChain, imported when a server is configured. The built-in answer exists before anything
here is called; whatever goes wrong here ends in `Unanswered` with one reason, and that answer stands.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
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
    AgentMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import ValidationError

from ...tools.boundary import Boundary
from ..events import Cancelled, Listen, Token
from ..session import Answer
from .guards.guard import Guard
from .server import Model, resolve
from .shown import LONGEST, Shown, brief
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
LANGUAGE = {"en": "English", "zh": "Chinese (简体中文)"}


class Unanswered(Exception):
    """The model gave no usable answer; the argument is the reason, a key of `narrate.NO_MODEL`."""


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
        with self._memory() as memory:
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

    @contextmanager
    def _memory(self) -> Iterator[Memory]:
        """The conversation so far; a second attempt starts without it."""
        path = str(self.home / "conversations.sqlite3") if self.home and self.case and not self.fresh else ":memory:"
        with closing(sqlite3.connect(path, check_same_thread=False)) as db:
            yield Memory(SqliteSaver(db), self.case or "none")

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
        system = prompt("system.md", language=LANGUAGE[self.answer.lang], evidence=self.boundary.hide(self.evidence))
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


class Memory:
    """Questions and guarded answers of one case, in LangGraph's SQLite checkpoints; a failed turn leaves no trace."""

    def __init__(self, saver: SqliteSaver, case: str):
        graph = StateGraph(MessagesState)
        graph.add_node("turn", lambda state: {})
        graph.add_edge(START, "turn")
        self._graph, self._config = graph.compile(checkpointer=saver), RunnableConfig(configurable={"thread_id": case})

    def read(self) -> list[AnyMessage]:
        return self._graph.get_state(self._config).values.get("messages", [])

    def write(self, messages: list[AnyMessage]) -> None:
        fresh = [m.model_copy(update={"id": None}) for m in messages]
        new: Any = {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *fresh]}
        self._graph.update_state(self._config, new, as_node="turn")


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


class LastWord(AgentMiddleware):
    """The last call that the budget allows gets no tools, so that it must answer."""

    def __init__(self, limit: int):
        super().__init__()
        self._limit, self._count = limit, 0

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self._count += 1
        return handler(request.override(tools=[]) if self._count >= self._limit else request)


class NoRepeats(AgentMiddleware):
    """An identical call is refused: its result stands above."""

    def __init__(self):
        super().__init__()
        self._made: set[str] = set()

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = request.tool_call
        key = f"{call['name']} {sorted(call['args'].items(), key=str)}"
        if key in self._made:
            text = f"{call['name']} was called with these arguments already; its result is above. Answer now."
            return ToolMessage(text, tool_call_id=call["id"], status="error")
        self._made.add(key)
        return handler(request)


class Watch(BaseCallbackHandler):
    """Ends a model call from inside, at its next token: when the turn is late, or nobody listens any more."""

    raise_error = True

    def __init__(self, seconds: float):
        self._end, self._stopped = time.monotonic() + seconds, threading.Event()

    @property
    def late(self) -> bool:
        return time.monotonic() > self._end

    def stop(self) -> None:
        self._stopped.set()

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        if self.late or self._stopped.is_set():
            raise TimeoutError("the turn is over")


class Thoughts:
    """Takes `<think>...</think>` out of a stream; thoughts that never end are never shown."""

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self):
        self._buffer, self._inside = "", False

    def feed(self, text: str) -> str:
        self._buffer += text
        return "".join(self._pieces())

    def _pieces(self) -> Iterator[str]:
        while True:
            mark = self.CLOSE if self._inside else self.OPEN
            before, found, after = self._buffer.partition(mark)
            if not found:
                break
            if not self._inside:
                yield before
            self._buffer, self._inside = after, not self._inside
        held = next((n for n in range(len(mark) - 1, 0, -1) if self._buffer.endswith(mark[:n])), 0)
        ready, self._buffer = self._buffer[: len(self._buffer) - held], self._buffer[len(self._buffer) - held :]
        if not self._inside:
            yield ready

    def close(self) -> str:
        rest, self._buffer = self._buffer, ""
        return "" if self._inside else rest


def reason(error: Exception) -> str:
    """Why a model call failed, as a key of `narrate.NO_MODEL`."""
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
