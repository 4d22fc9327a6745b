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

from ...tools.keeping import damaged, lost, mend
from ..casebook import private

CONVERSATIONS = "conversations.sqlite3"


@contextmanager
def remembered(home: Path | None, case: str) -> Iterator[Memory]:
    """The conversation so far; without a data directory or a case it begins empty and is forgotten.

    So it does where the file cannot be used, which is said; a damaged one is set aside.
    """
    with closing(_opened(home / CONVERSATIONS) if home and case else _connected(":memory:")) as db:
        yield Memory(SqliteSaver(db), case or "none", home / CONVERSATIONS if home else None)


def _opened(path: Path) -> sqlite3.Connection:
    try:
        try:
            return _connected(private(path))
        except sqlite3.DatabaseError as error:
            if not damaged(error):
                raise
            mend(path)
            return _connected(private(path))
    except (sqlite3.Error, OSError) as error:
        lost(path, "not used", error)
        return _connected(":memory:")


def _connected(path: Path | str) -> sqlite3.Connection:
    """Open and whole as far as one look at its tables tells."""
    db = sqlite3.connect(path, check_same_thread=False)
    try:
        SqliteSaver(db).setup()
        db.execute("select count(*) from checkpoints").fetchone()
    except BaseException:
        db.close()
        raise
    return db


class Memory:
    """Questions and guarded answers of one case, in LangGraph's SQLite checkpoints; a failed turn leaves no trace."""

    def __init__(self, saver: SqliteSaver, case: str, path: Path | None = None):
        graph = StateGraph(MessagesState)
        graph.add_node("turn", lambda state: {})
        graph.add_edge(START, "turn")
        self._path = path
        self._graph, self._config = graph.compile(checkpointer=saver), RunnableConfig(configurable={"thread_id": case})

    def read(self) -> list[AnyMessage]:
        try:
            return self._graph.get_state(self._config).values.get("messages", [])
        except sqlite3.Error as error:
            lost(self._path or Path(CONVERSATIONS), "not used", error)
            return []

    def write(self, messages: list[AnyMessage]) -> None:
        fresh = [m.model_copy(update={"id": None}) for m in messages]
        new: Any = {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *fresh]}
        try:
            self._graph.update_state(self._config, new, as_node="turn")
        except sqlite3.Error as error:
            lost(self._path or Path(CONVERSATIONS), "not kept", error)
