"""Wrong log-ins slow down: for one name from one place, for one name from everywhere, and for one place.

A few mistakes cost nothing; after them each wrong one doubles the time during which nothing is even compared. Names
that exist and names that do not are treated alike. Whoever signed in from a place before is not held up there by what
strangers try with the same name, and one name that is held up holds up no other.
"""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

FREE = {"both": 5, "name": 30, "place": 30}
"""Wrong ones before the first wait; more where several people may be behind it."""
LONGEST = 900.0
"""Seconds of the longest wait."""
FORGOTTEN = 3600.0
"""Seconds after the last wrong one from which it counts no more."""
MOST = 10_000
"""Names, places and pairs that are remembered; the one that was quiet for longest goes first."""


@dataclass
class _Count:
    wrong: int = 0
    last: float = 0.0
    until: float = 0.0
    good: bool = False
    """This name was signed in from this place."""


class Attempts:
    """What was tried of late. Safe among threads."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, bytes], _Count] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str, place: str) -> float:
        """Seconds until this name may be tried from this place; 0 or less for now."""
        with self._lock:
            counts = {of: self._counts.get(key, _Count()) for of, key in _keys(name, place).items()}
        if counts["both"].good:
            del counts["name"]
        return max(count.until for count in counts.values()) - time.monotonic()

    def wrong(self, name: str, place: str) -> None:
        with self._lock:
            now = time.monotonic()
            for of, key in _keys(name, place).items():
                count = self._counts.pop(key, _Count())
                count.wrong = 1 if now - count.last > FORGOTTEN else count.wrong + 1
                count.last, over = now, count.wrong - FREE[of]
                count.until = now + min(LONGEST, 2.0 ** min(over, 30)) if over >= 0 else 0.0
                self._keep(key, count)

    def right(self, name: str, place: str) -> None:
        with self._lock:
            self._keep(_keys(name, place)["both"], _Count(good=True))

    def _keep(self, key: tuple[str, bytes], count: _Count) -> None:
        self._counts[key] = count
        self._counts.move_to_end(key)
        while len(self._counts) > MOST:
            self._counts.popitem(last=False)


def _keys(name: str, place: str) -> dict[str, tuple[str, bytes]]:
    """Of a fixed size each, however long the name is."""
    place = _network(place)
    said = {"both": f"{place} {name}", "name": name, "place": place}
    return {of: (of, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()) for of, text in said.items()}


def _network(place: str) -> str:
    """An address; of version 6 the network, of which one person has all."""
    try:
        address = ipaddress.ip_address(place)
    except ValueError:
        return place
    return place if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
