"""Prints the scores; see the package."""

from __future__ import annotations

import sys

from .scoring import measure, restored


def main() -> None:
    scores, missed, alarms = measure()
    for code, s in sorted(scores.items()):
        print(f"{code:34} planted {s.planted:3} found {s.found:3} right line {s.on_line:3}")
    planted, found, on_line = (
        sum(getattr(s, name) for s in scores.values()) for name in ("planted", "found", "on_line")
    )
    shares = f"recall {found / planted:.3f}, right line {on_line / max(found, 1):.3f}"
    print(f"{len(scores)} defects, {planted} planted: {shares}")
    print(f"sound programs: {dict(alarms) or 'no finding'}", *missed, sep="\n")
    if "--run" in sys.argv[1:]:
        good, tried, others = restored()
        print(f"mended and trained as before: {good} of {tried}", *others, sep="\n")


if __name__ == "__main__":
    main()
