"""The tools of one turn as one message that unfolds."""

from __future__ import annotations

import time

from ...agent.events import Event, Notice, ToolStarted
from .messages import Message, escaped
from .words import WORDS


class Steps:
    """The tools of one turn as one message that unfolds, the last of `messages`: the tab may move on to others."""

    def __init__(self, lang: str, messages: list[Message]):
        self.lang, self.messages, self.start, self.done = lang, messages, time.monotonic(), list[str]()
        self.message: Message = {
            "role": "assistant", "content": "", "metadata": {"title": WORDS["working"].say(lang), "status": "pending"}
        }  # fmt: skip
        self._now: tuple[str, float] | None = None
        messages.append(self.message)

    def take(self, event: Event) -> bool:
        """Note the event; whether it shows."""
        if isinstance(event, ToolStarted):
            self._finish()
            self._now = (self._named(event.name), time.monotonic())
            self._say(f"{WORDS['working'].say(self.lang)}: {self._now[0]}")
        elif isinstance(event, Notice):
            self._say(escaped(event.text))
        else:
            return False
        return True

    def end(self) -> None:
        self._finish()
        looked = WORDS["looked-1" if len(self.done) == 1 else "looked"]
        self._say(looked.say(self.lang, n=len(self.done), s=time.monotonic() - self.start), "done")

    def _named(self, tool: str) -> str:
        return WORDS[key].say(self.lang) if (key := f"tool-{tool}") in WORDS else escaped(tool)

    def _finish(self) -> None:
        if self._now:
            self.done.append(f"- {self._now[0]}: {time.monotonic() - self._now[1]:.2f} s")
            self._now = None

    def _say(self, title: str, status: str = "pending") -> None:
        self.message["content"] = "\n".join(self.done)
        self.message["metadata"] = {"title": title, "status": status}
