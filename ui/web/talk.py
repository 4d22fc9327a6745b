"""One tab of the page: what was said, what the panels show, what is being answered.

Whoever works on a turn holds a Talk of its own over the same state (`Talk.same`): when the tab moves on to another case
or another person, it gets a new state, and the turn goes on with the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...agent.acceptance.verify import Verdict
from ...agent.conversation import Conversation
from ...agent.evidence import Look, look
from ...tools.findings import TriageError
from .line import Turn
from .messages import Message

Remember = Callable[[Look | None], Callable[[], Look | None]]


@dataclass
class Talk:
    """What one tab knows."""

    owner: str = ""
    lang: str = "en"
    chosen: bool = False
    """Whether the person chose the language; else it follows what they write."""
    messages: list[Message] = field(default_factory=list)
    told: Message | None = None
    """The last answer among them."""
    conversation: Conversation | None = None
    waiting: list[Path] = field(default_factory=list)
    """Attached, and not yet asked about."""
    view: dict[str, Any] | None = None
    """The answer that the panels show, `triage.answer/1`."""
    verdict: Verdict | None = None
    judged: str = ""
    """The last verdict of the case: `fixed`, ..."""
    problem: str = ""
    """Why the last verification could not be made."""
    tab: str = "evidence"
    """The tab that is looked at."""
    picked: str = ""
    """The finding whose lines are shown."""
    turn: Turn | None = None
    """What is being answered, or was last."""
    seen: Callable[[], Look | None] = lambda: None
    """What the tools saw, as long as the server remembers it."""
    next_run: Path | None = None
    """The run that was judged last."""
    next_seen: Callable[[], Look | None] = lambda: None

    @property
    def case(self) -> str:
        return self.conversation.case if self.conversation else ""

    @property
    def busy(self) -> bool:
        return self.turn is not None and not self.turn.over

    @property
    def paths(self) -> list[Path]:
        read = self.conversation.paths if self.conversation else ()
        return list(dict.fromkeys([*read, *self.waiting]))

    def same(self) -> Talk:
        """Another Talk over the same state."""
        other = Talk()
        other.__dict__ = self.__dict__
        return other

    def become(self, other: Talk) -> None:
        """Take over the state of another; whoever held the old one keeps it."""
        self.__dict__ = other.__dict__

    def enter(self, owner: str) -> None:
        """The tab is the owner's; nothing stays of whoever had it before."""
        if self.owner != owner:
            self.become(Talk(owner))

    def fresh(self) -> None:
        """Put everything of the last case away; an answer that is still arriving goes on for its own case."""
        self.become(Talk(self.owner, self.lang, self.chosen, tab=self.tab))

    def look(self) -> Look | None:
        """What the tools saw of this case's run; read again if the server has forgotten.

        Raises:
            TriageError: the run can no longer be read.
        """
        paths = [p for p in self.paths if p not in self.waiting]
        return self.seen() or (look(paths) if paths else None)

    def look_next(self, remember: Remember) -> Look | None:
        """What the tools see of the run that was judged; None without one, or when it can no longer be read."""
        if self.next_run is None:
            return None
        found = self.next_seen()
        if found is None:
            with suppress(TriageError):
                found = look([self.next_run])
            self.next_seen = remember(found)
        return found
