"""Points and spans of time in any usual writing, as seconds.

A clock without a zone is taken as UTC, one without a date as seconds of its day. Whether `03/04` is in March is decided
by all the values of a column together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import numpy as np

from ..patterns import bounded

_CLOCK = (
    r"(?P<h>\d{1,2})[:时](?P<mi>\d{1,2})(?:[:分](?P<s>\d{1,2})(?:[.,:](?P<f>\d{1,9}))?秒?|分)?\s?(?P<pm>[AaPp][Mm])?"
)
_ZONE = r"\s?(?P<z>Z|UTC|GMT|CST|[+-]\d{2}:?\d{2}|[+-]\d{2})?"
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAMED = rf"(?P<mo>{'|'.join(_MONTHS)})[a-z]*\.?"
_FORMS = tuple(
    bounded(rf"(?:{form})$", re.IGNORECASE)
    for form in (
        rf"(?P<y>\d{{4}})[-/.年](?P<mo>\d{{1,2}})[-/.月](?P<d>\d{{1,2}})日?(?:[T _-]+{_CLOCK}{_ZONE})?",
        r"(?P<y>\d{4})(?P<mo>\d{2})(?P<d>\d{2})[T _-]?(?P<h>\d{2}):?(?P<mi>\d{2}):?(?P<s>\d{2})"
        rf"(?:[.,_](?P<f>\d{{1,9}}))?{_ZONE}",
        r"(?P<y>(?:19|20)\d{2})(?P<mo>[01]\d)(?P<d>[0-3]\d)",
        rf"(?P<a>\d{{1,2}})[-/.](?P<b>\d{{1,2}})[-/.](?P<y>\d{{4}}|\d{{2}})(?:,?[T ]+{_CLOCK}{_ZONE})?",
        rf"(?P<mo>\d{{1,2}})[-/月](?P<d>\d{{1,2}})日?[T ]+{_CLOCK}",
        rf"(?P<d>\d{{1,2}})[-/ ]{_NAMED}[-/ ,]+(?P<y>\d{{4}}|\d{{2}})(?:[: T]+{_CLOCK}{_ZONE})?",
        rf"(?:[a-z]{{3}},?\s+)?{_NAMED}\s+(?P<d>\d{{1,2}})(?:,?\s+(?P<y>\d{{4}}))?(?:,?\s+{_CLOCK}{_ZONE})?(?:\s+(?P<y2>\d{{4}}))?",
        rf"(?:[a-z]{{3}},?\s+)?(?P<d>\d{{1,2}})\s+{_NAMED}\s+(?P<y>\d{{4}})(?:,?\s+{_CLOCK}{_ZONE})?",
    )
)
"""Year first, all digits, a day, day or month first, no year, names of months."""
_CLOCK_ONLY = bounded(rf"{_CLOCK}$")
_SPAN = bounded(
    r"[-+]?(?:(?P<d>\d+)(?:-|\s?d(?:ays?)?,?\s?|天))?(?P<h>\d{1,5}):(?P<mi>[0-5]?\d)(?::(?P<s>[0-5]?\d(?:\.\d+)?))?$"
)
_WORDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "天": 86400.0, "小时": 3600.0,
          "时": 3600.0, "分钟": 60.0, "分": 60.0, "秒": 1.0}  # fmt: skip
_SPAN_PART = bounded(
    r"(\d+(?:\.\d+)?)\s?(ms|us|d|h|m|s|天|小时|时|分钟|分|秒)(?:ays?|ours?|rs?|in(?:ute)?s?|ec(?:ond)?s?)?[:,]?\s?",
    re.I,
)
_ONLY_M = bounded(r"\d+(?:\.\d+)?m$")
EPOCH = (("s", 1e8, 4.2e9, 1.0), ("ms", 1e11, 4.2e12, 1e-3), ("us", 1e14, 4.2e15, 1e-6), ("ns", 1e17, 4.2e18, 1e-9))
"""Unit of a number of seconds since 1970 by its size: from 1973 to 2103."""
NO_YEAR = 1970


def times(texts: Sequence[str]) -> np.ndarray | None:
    """Seconds since the epoch of points of time (dates with or without a clock), NaN for empty ones; None if not."""
    day_first = any((match := _FORMS[3].match(text)) and int(match["a"]) > 12 for text in texts[:5000])
    day_first |= not any(_FORMS[3].match(text) and "/" in text for text in texts[:50])
    return _all(texts, partial(_point, day_first=day_first))


def clocks(texts: Sequence[str]) -> np.ndarray | None:
    """Seconds of the day, past midnight counted on; None if these are no clocks."""
    found = _all(texts, _clock)
    if found is None:
        return None
    days = np.concatenate([[0.0], np.cumsum(np.nan_to_num(np.diff(found)) < -43200)])
    return found + 86400.0 * days[: len(found)]


def spans(texts: Sequence[str]) -> np.ndarray | None:
    """Seconds of spans of time (`1-02:03:04`, `00:12:33`, `5m20s`, `3h`); None if these are none.

    A number with nothing but `m` behind it may be anything: millicores, metres, millions.
    """
    return None if all(not t or _ONLY_M.match(t) for t in texts[:50]) else _all(texts, span)


def _all(texts: Sequence[str], one) -> np.ndarray | None:
    """Every text by one function; None where one in twenty is not understood."""
    found, wrong, known = np.full(len(texts), np.nan), 0, {}
    for i, text in enumerate(texts):
        if not text:
            continue
        if text not in known:
            known[text] = one(text)
        if known[text] is None:
            wrong += 1
            if wrong * 20 > len(texts):
                return None
        else:
            found[i] = known[text]
    return found if len(known) > (None in known.values()) else None


def _point(text: str, day_first: bool) -> float | None:
    if len(text) > 60 or not any(map(str.isdigit, text)):
        return None
    for form in _FORMS:
        if match := form.match(text):
            try:
                return _when(match.groupdict(), day_first)
            except (ValueError, OverflowError):
                return None
    return None


def _when(part: dict[str, str | None], day_first: bool) -> float:
    if part.get("a"):
        part["d"], part["mo"] = (part["a"], part["b"]) if day_first else (part["b"], part["a"])
    month = str(part["mo"]).lower()
    year = int(part.get("y") or part.get("y2") or NO_YEAR)
    year += 2000 if year < 100 else 0
    hour = int(part.get("h") or 0) % (12 if part.get("pm") else 24)
    hour += 12 if (part.get("pm") or "").lower() == "pm" else 0
    day = datetime(
        year, _MONTHS.index(month[:3]) + 1 if month[:3] in _MONTHS else int(month), int(part["d"] or 1), hour,
        int(part.get("mi") or 0), min(int(part.get("s") or 0), 59), tzinfo=_zone(part.get("z"))
    )  # fmt: skip
    return day.timestamp() + _fraction(part.get("f"))


def _zone(text: str | None) -> timezone:
    if not text or text[0] not in "+-":
        return timezone(timedelta(hours=8)) if text == "CST" else UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:] if len(text) > 3 else 0)
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _fraction(text: str | None) -> float:
    return float(f"0.{text}") if text else 0.0


def _clock(text: str) -> float | None:
    match = _CLOCK_ONLY.match(text)
    if not match or int(match["h"]) > 23 or int(match["mi"]) > 59:
        return None
    hour = int(match["h"]) % 12 + 12 * (match["pm"].lower() == "pm") if match["pm"] else int(match["h"])
    return hour * 3600.0 + int(match["mi"]) * 60 + int(match["s"] or 0) + _fraction(match["f"])


def span(text: str) -> float | None:
    """Seconds of a span of time, None where the text is none."""
    if len(text) > 40:
        return None
    if match := _SPAN.match(text):
        parts = [float(match[name] or 0) for name in ("d", "h", "mi", "s")]
        if match["s"] is None and match["d"] is None:
            return parts[1] * 60 + parts[2]
        return parts[0] * 86400 + parts[1] * 3600 + parts[2] * 60 + parts[3]
    at, total = 0, 0.0
    while match := _SPAN_PART.match(text, at):
        total, at = total + float(match[1]) * _WORDS[match[2].lower()], match.end()
    return total if at == len(text) and at else None
