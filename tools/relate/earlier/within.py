"""A training that goes on in the log in which it stopped: its course before and behind the lines of the new start, and
what those lines list fewer of than the lines of an earlier start or save.

Which lists belong together no name has to say: the shorter one holds nothing that the longer one does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...findings import Evidence
from ...heads import beginning
from ...patterns import bounded
from ...run import Run
from ..courses.read import CLEAR, FIRST, SHARE, Course, noise

MOST_LOG, MOST_PLACES, MOST_LINES, LONGEST = 4 << 20, 3, 60, 300
"""Bytes of a log; places, lines of a start and characters of a line that are looked at."""
STARTS = bounded(
    r"(?i)(?<![a-z])(?:(?:re)?launch|(?:re)?start|resum|restor|init|(?:re)?load|continu)(?:ed|ing|e)?(?![a-z])"
    r"|(?<![a-z])(?:world|ranks?)(?![a-z])|恢复|续训|加载|载入|启动|重启"
)
USUAL = 0.8
"""Share of the lines of a start that so much else has elsewhere, where it is no start but what is written often."""
ITEM = bounded(r"^(?:and )?[\"']?([a-z_]\w{1,24}(?:[ _](?:states?|params?))?|[\u3400-\u9fff]{2,8})[\"']?$")
LIST = bounded(r"(?:^|[:：=(\[{→>]|\s{2})\s{0,3}([^:：=()\[\]{}→>]{3,160})[)\]}]?\s{0,3}$")
SPLIT = re.compile(r"\s{0,8}[,，、+|;&]\s{0,8}")


def halves(run: Run, course: Course) -> Iterator[tuple[Course, Course]]:
    """A course cut where its log begins anew and its loss is higher behind, the highest first."""
    loss = course.loss
    artifact = next((a for a in run.artifacts if a.name == course.file and a.kind == "log"), None)
    if loss is None or artifact is None or len(loss) < 2 * FIRST or not (places := _higher(loss.at, loss.values)):
        return
    lines = beginning(artifact.path, MOST_LOG).splitlines()
    for i in places:
        begin, end = int(loss.at[i]), int(loss.at[i + 1])
        head = [(n, lines[n - 1]) for n in range(begin + 1, min(end, begin + MOST_LINES)) if n <= len(lines)]
        if any(STARTS.search(text[:LONGEST]) for _, text in head):
            old, new = ([x.only(keep) for x in course.lines if (keep := side(x.at)).any()]
                        for side in (lambda at, b=begin: at <= b, lambda at, e=end: at >= e))  # fmt: skip
            yield replace(course, lines=tuple(old)), replace(course, lines=tuple(new), head=tuple(head))


def _higher(at: np.ndarray, values: np.ndarray) -> list[int]:
    """Points behind which other lines stand, and the loss is higher from there on."""
    wide = np.diff(at)
    rows = np.flatnonzero(wide > max(1.0, float(np.median(wide))))
    rows = [i for i in rows if (wide >= USUAL * wide[i]).sum() <= MOST_PLACES]  # samples are written again and again
    rows = [int(i) for i in rows if i + 1 >= FIRST and len(values) - i - 1 >= FIRST]
    rises = {
        i: float(np.median(values[i + 1 : i + 1 + FIRST]) - np.median(values[i + 1 - FIRST : i + 1])) for i in rows
    }
    enough = max(CLEAR * noise(values), SHARE * abs(float(np.median(values)))) / 2
    return sorted((i for i in rows if rises[i] >= enough), key=lambda i: -rises[i])[:MOST_PLACES]


def fewer_listed(run: Run, before: Course, after: Course) -> tuple[tuple[str, ...], tuple[Evidence, ...]]:
    """What a start lists fewer of than an earlier line does, with the two lines."""
    earlier = next((a for a in run.artifacts if a.name == before.file), None)
    if earlier is None or not after.head:
        return (), ()
    text = beginning(earlier.path, MOST_LOG).splitlines()[: after.head[0][0] - 1]
    known = [(n, items) for n, line in enumerate(text, 1) if len(items := _items(line)) > 2]
    for n, line in after.head:
        own = _items(line)
        for m, items in reversed(known) if len(own) > 1 else ():
            if own < items:
                places = (n, line), (m, text[m - 1])
                return tuple(sorted(items - own)), tuple(
                    Evidence(after.file, k, text=t.strip()[:200]) for k, t in places
                )
    return (), ()


def _items(line: str) -> frozenset[str]:
    """The words that a line lists at its end."""
    found = LIST.search(line) if len(line) <= LONGEST else None
    items = [ITEM.match(part.strip().lower()) for part in SPLIT.split(found[1].strip())] if found else []
    return frozenset(m[1] for m in items if m) if len(items) > 1 and all(items) else frozenset()
