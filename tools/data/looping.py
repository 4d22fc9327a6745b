"""Answers that end in a loop: the same piece again and again until they are cut."""

from __future__ import annotations


def loop_period(text: str) -> int:
    """Length of the piece that the end of the text repeats four times or more, 0 when it does not.

    A loop is at least 60 characters long in all, and its piece has at least two different letters, so that rules
    of dashes, tables and laughter are not loops; one letter alone must go on for 200.
    """
    tail = text.rstrip()[-2400:]
    if tail.find(tail[-16:]) == len(tail) - 16:
        return 0  # the end of a loop stands in it before
    for period in range(2, min(600, len(tail) // 4) + 1):
        piece = tail[-period:]
        letters = len({c for c in piece if c.isalpha()})
        if tail[-2 * period : -period] != piece or not letters:
            continue
        times = 1
        while tail[-(times + 1) * period : -times * period] == piece:
            times += 1
        if times >= 4 and times * period >= (60 if letters > 1 else 200):
            return period
    return 0
