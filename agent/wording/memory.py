"""What the model remembers of a case from turn to turn: questions and guarded answers, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ..casebook import private


@contextmanager
def remembered(home: Path | None, case: str) -> Iterator[Memory]:
    """The conversation so far; without a data directory or a case it begins empty and is forgotten."""
    path = private(home / "conversations.sqlite3") if home and case else ":memory:"
    with closing(sqlite3.connect(path, check_same_thread=False)) as db:
        yield Memory(SqliteSaver(db), case or "none")


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
