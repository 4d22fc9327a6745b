"""What keeps a turn of the model within its budget: no tools in the last call, no call twice, an end in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage


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
