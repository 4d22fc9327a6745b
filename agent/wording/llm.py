"""A served model adds to an answer: it looks with tools over the case's ledger, then replies in the typed form.

LangChain is known here and to `limits`, and imported when a server is configured. System prompt and tools
are the same for all cases and all calls, the ledger is the first message of a person, turns follow: a server that keeps
prefixes reads each of them once. Whatever goes wrong ends in `Unanswered` with one reason.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from importlib.resources import files
from pathlib import Path
from typing import Any

import langsmith
import openai
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, ToolCallLimitMiddleware, ToolErrorMiddleware
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from pydantic import ValidationError

from ...tools.boundary import Boundary
from ...tools.findings import TriageError
from ...tools.phrase import Phrase
from ..answer import Answer
from ..events import Cancelled, Listen, Token, ToolStarted
from ..session import index
from . import trace
from .ledger import Ledger, cost
from .limits import Endless, Watch
from .reply import Reply, read, schema, spoken
from .server import Model, resolve
from .toolbox import Toolbox

logging.getLogger("langchain_core.callbacks.manager").setLevel(logging.ERROR)  # it warns when `Watch` does its work

CALLS, TOOL_CALLS = 6, 10
"""Most calls of the model while it looks, and of tools, in one turn; half as many where the context is small."""
SMALL, USUAL, LARGE = 12_000, 16_000, 32_000
"""Tokens of context: where all is halved below, what is taken where the server does not say, the most that is used."""
SHARE = {"ledger": 0.35, "history": 0.15, "answer": 0.18, "results": 0.2}
"""Of the context; the rest is for the system prompt and the tools."""
AGAIN = "this was called with these arguments already; its result is above: answer now"
FULL = "there is no room for more results in this turn: answer now"
HEARTBEAT = 0.3
"""Seconds without a word after which an empty one is told."""
LANGUAGE = Phrase("Reply in English.", "请用简体中文回复。")


class Unanswered(Exception):
    """The model gave no usable answer; the argument is the reason, a key of `turn.NO_MODEL`."""


@dataclass
class Turn:
    """What one turn with the model came to; filled while it runs, so that a trace has it even when it fails."""

    model: Model
    reply: Reply | None = None
    statements: int = 0
    marked: int = 0
    calls: int = 0
    tools: list[dict[str, Any]] = field(default_factory=list)
    """`{"name", "args", "seconds", "chars"}` of each call."""
    messages: list[dict[str, str]] = field(default_factory=list)
    """What was sent and what came back, as it left and arrived."""
    tokens: dict[str, int] = field(default_factory=dict)
    orders: list[str] = field(default_factory=list)
    """Places in what it was shown that speak to a machine."""
    ledger: Ledger | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    """The turn as the next one begins with it."""


def word(
    turn: Turn, question: str, answer: Answer, home: Path | None, case: str, boundary: Boundary, listen: Listen
) -> None:
    """Ask the model; `turn.reply` is what it says, over `turn.ledger`.

    Raises:
        Unanswered: no usable answer came in time.
    """
    for attempt in (1, 2):
        try:
            _Words(turn, answer, home, case, boundary, listen, attempt).run(question)
            return
        except Unanswered as error:
            if attempt == 2 or str(error) not in ("error", "malformed", "context"):
                raise


class _Words:
    """One attempt; the second has a third of the ledger, and no history."""

    def __init__(
        self, turn: Turn, answer: Answer, home: Path | None, case: str, boundary: Boundary, listen: Listen, attempt: int
    ):
        self.turn, self.answer, self.home, self.case = turn, answer, home if attempt == 1 else None, case
        self.boundary, self.listen, self.attempt = boundary, listen, attempt
        self.watch = Watch(turn.model.seconds, self._beat)
        self.toolbox = Toolbox(answer.seen, lambda: index(home), answer.lang)
        self._told = time.monotonic()
        self.called: set[tuple[str, str]] = set()

    def run(self, question: str) -> None:
        try:
            self.turn.model = resolve(self.turn.model)
            with langsmith.tracing_context(enabled=False):
                self._turn(question)
        except (Unanswered, Cancelled):
            self.watch.stop()
            raise
        except Exception as error:
            raise Unanswered("endless" if self.watch.long else "slow" if self.watch.late else reason(error)) from error
        finally:
            self.toolbox.close()
            self.turn.orders = self.turn.ledger.orders if self.turn.ledger else []

    def _turn(self, question: str) -> None:
        context = min(self.turn.model.context or USUAL, LARGE)
        self.small, self.room = context < SMALL, context * SHARE["results"]
        ledger = Ledger.of(self.answer, int(context * SHARE["ledger"]))
        if self.attempt == 2:
            ledger = Ledger.of(self.answer, int(cost(ledger.prompt()) / 3))
        self.turn.ledger = ledger
        history = shortened(earlier(self.home, self.case), context * SHARE["history"])
        ledger.recall(self.boundary.restore(m.text) for m in history if not isinstance(m, AIMessage))
        said = HumanMessage(self.boundary.hide(f"{ledger.asked(question)}\n{LANGUAGE.say(self.answer.lang)}"))
        opened = opening(ledger, self.boundary, [*history, said])
        self.turn.messages.append({"role": "user", "content": opened[-1].text})
        chat = self._chat(max(900, int(context * SHARE["answer"])))
        made = self._look(chat, opened)
        text = spoken(made[-1].text) if made and _spoke(made[-1]) else ""
        made = [m for m in made if not _spoke(m)]
        reply = read(text, ledger.rows.keys())
        if reply is None or '"say"' not in text:
            text = self._final(chat, [*opened, *made]) or text
            reply = read(text, ledger.rows.keys())
        if reply is None:
            raise Unanswered("unusable")
        if _foreign(reply, self.answer.lang):
            raise Unanswered("language")
        replied = AIMessage(self.boundary.hide(reply.model_dump_json()))
        self.turn.history = messages_to_dict([said, *made, replied])
        for one in reply.say:
            one.text = self.boundary.restore(one.text)
        self.turn.reply = reply

    def _look(self, chat: ChatOpenAI, opened: Sequence[AnyMessage]) -> list[AnyMessage]:
        """What the model and its tools said until it had seen enough, or had used up its calls."""
        calls, tool_calls = (CALLS, TOOL_CALLS) if not self.small else (CALLS // 2, TOOL_CALLS // 2)
        middleware: list[Any] = [
            ModelCallLimitMiddleware(run_limit=calls, exit_behavior="error"),
            ToolCallLimitMiddleware(run_limit=tool_calls),
            ToolErrorMiddleware(lambda error, request: f"{request.tool_call['name']}: the tool broke"),
        ]
        agent = create_agent(chat, self._tools(), middleware=middleware)
        made: list[AnyMessage] = []
        config: Any = {"recursion_limit": 10 * CALLS, "callbacks": [self.watch]}
        events = agent.stream({"messages": list(opened)}, config, stream_mode="updates")  # pyright: ignore[reportArgumentType]
        try:
            for update in events:
                for change in update.values():
                    new = change.get("messages", []) if isinstance(change, dict) else []
                    made += [m for m in new if isinstance(m, (AIMessage, ToolMessage))]
                    for m in new:
                        self._note(m)
        except ModelCallLimitExceededError:
            return made
        except Cancelled:
            with suppress(Exception):  # LangGraph's threads end only with the stream itself
                for _ in events:
                    pass
            raise
        return made

    def _final(self, chat: ChatOpenAI, messages: Sequence[AnyMessage]) -> str:
        """One call whose answer the server decodes by the schema, or, where it cannot, a plain one."""
        ids = self.turn.ledger.rows.keys() if self.turn.ledger else ()
        form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema(ids), "strict": True}}
        bare = chat.bind_tools(self._tools(), tool_choice="none")
        for typed in (True, False):
            bound = bare.bind(extra_body={"response_format": form}) if typed else bare
            try:
                whole: Any = None
                for chunk in bound.stream(list(messages), {"callbacks": [self.watch]}):
                    whole = chunk if whole is None else whole + chunk
            except openai.BadRequestError as error:
                if reason(error) == "context" or not typed:
                    raise
                continue
            if whole is not None:
                self._note(whole)
                return spoken(whole.text)
        return ""

    def _note(self, message: AnyMessage) -> None:
        role = "tool" if isinstance(message, ToolMessage) else "assistant"
        self.turn.messages.append({"role": role, "content": message.text})
        if not isinstance(message, AIMessage):
            return
        if not message.response_metadata.get("finish_reason"):
            raise Unanswered("error")  # the stream broke off, which the client takes for its end
        self.turn.calls += 1
        for key in ("input_tokens", "output_tokens"):
            self.turn.tokens[key] = self.turn.tokens.get(key, 0) + (message.usage_metadata or {}).get(key, 0)
        cached = ((message.usage_metadata or {}).get("input_token_details") or {}).get("cache_read", 0)
        self.turn.tokens["cached_tokens"] = self.turn.tokens.get("cached_tokens", 0) + (cached or 0)

    def _beat(self) -> None:
        """Tell nothing, now and then, so that a listener that has gone is noticed."""
        if time.monotonic() - self._told > HEARTBEAT:
            self._told = time.monotonic()
            self.listen(Token(""))

    def _chat(self, tokens: int) -> ChatOpenAI:
        return ChatOpenAI(
            model=self.turn.model.name,
            base_url=self.turn.model.url,
            api_key=self.turn.model.key,  # pyright: ignore[reportArgumentType]
            timeout=self.turn.model.seconds / 3,
            max_retries=0,
            max_tokens=tokens,  # pyright: ignore[reportCallIssue]
            temperature=0.2,
            streaming=True,
            stream_usage=True,
        )

    def _tools(self) -> list[StructuredTool]:
        return [self._tool(name, function) for name, function in self.toolbox.tools().items()]

    def _tool(self, name: str, function: Callable[..., str]) -> StructuredTool:
        """The function as a tool whose result becomes a row of the ledger and leaves through the boundary."""

        @wraps(function)
        def call(**args: Any) -> str:
            self.listen(ToolStarted(name))
            start = time.monotonic()
            given = {k: self.boundary.restore(v) if isinstance(v, str) else v for k, v in args.items()}
            again, self.called = (name, str(given)) in self.called, self.called | {(name, str(given))}
            text = AGAIN if again else self.toolbox.call(name, given) if self.room > 0 else FULL
            text = text[: len(text) // 2] if self.small and len(text) > 1_500 else text
            self.room -= cost(text)
            row = self.turn.ledger.result(name, given, text) if self.turn.ledger else text
            seconds = time.monotonic() - start
            self.turn.tools.append({"name": name, "args": args, "seconds": seconds, "chars": len(row)})
            return self.boundary.hide(row)

        return StructuredTool.from_function(call, name=name, parse_docstring=True)


def prompt() -> str:
    """The system prompt, the same for every case."""
    return (files(__package__ or "") / "prompts" / "system.md").read_text(encoding="utf-8")


def opening(ledger: Ledger, boundary: Boundary, turns: Sequence[AnyMessage]) -> list[AnyMessage]:
    """System prompt, the ledger in the first message of the person, and the turns."""
    first, *rest = turns
    begun = HumanMessage(f"{boundary.hide(ledger.prompt())}\n\n{first.text}")
    return [SystemMessage(prompt()), begun, *rest]


def earlier(home: Path | None, case: str) -> list[AnyMessage]:
    """What was said in the turns of the case that the model answered, word for word, out of its trace."""
    try:
        turns = trace.read(home, case) if home and case else []
        return [m for t in turns for m in messages_from_dict(t.get("history") or [])]  # pyright: ignore[reportReturnType]
    except (TriageError, ValueError, KeyError, TypeError, AttributeError):
        return []  # nothing was traced, or by another version


def shortened(history: Sequence[AnyMessage], tokens: float) -> list[AnyMessage]:
    """The latest whole turns that fit; what is older is left out, and never made shorter, so that prefixes stay."""
    turns: list[list[AnyMessage]] = []
    for message in history:
        if isinstance(message, HumanMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    while turns and sum(cost(m.text) for t in turns for m in t) > tokens:
        turns = turns[(len(turns) + 1) // 2 :]
    return [m for t in turns for m in t]


def _spoke(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls


def _foreign(reply: Reply, lang: str) -> bool:
    """Whether the reply is in another language than the answer."""
    text = " ".join(one.text for one in reply.say)
    han, latin = len(re.findall(r"[\u3400-\u9fff]", text)), len(re.findall(r"[A-Za-z]{2,}", text))
    other = len(re.findall(r"[\u0400-\u06ff\u3040-\u30ff\uac00-\ud7af]", text))
    return other > 20 or (han == 0 and latin > 8 if lang == "zh" else han > max(8, latin))


def reason(error: Exception) -> str:
    """Why a model call failed, as a key of `turn.NO_MODEL`."""
    text = str(error).lower()
    if isinstance(error, Endless):
        return "endless"
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
