"""What can go wrong in `knowledge`, apart from the entry types so that a command can catch it without loading them."""

from __future__ import annotations


class RunbookError(ValueError):
    """What `knowledge` cannot do with what it was given; the message names the thing and the next step."""


class EntryError(RunbookError):
    """An entry file is wrong; the message names the file and what to change."""
