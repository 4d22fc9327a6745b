"""The attack suite: what a hostile or damaged file, name, folder or machine can make triage do.

By default a part that takes a minute runs; `-m security` runs the whole. What is known to fail stands in
`attack/known.py` and nowhere else: a test fails for whatever is not in there, and for a row that has been mended.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from attack.fence import Fence


@pytest.fixture(scope="session")
def fence(tmp_path_factory):
    made = Fence(tmp_path_factory.mktemp("fence"))
    yield made
    made.close()


def pytest_terminal_summary(terminalreporter):
    """One line per class of attacks."""
    lines = defaultdict(list)
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "attack" and getattr(report, "when", "") == "call":
                    lines[value["about"]].append(value)
    for about, values in sorted(lines.items()):
        broken = sum((Counter(v["broken"]) for v in values), Counter())
        told = ", ".join(f"{count} {promise}" for promise, count in sorted(broken.items())) or "none"
        trials, commands, known = (sum(v[of] for v in values) for of in ("trials", "commands", "known"))
        terminalreporter.write_line(
            f"attacks {about}: {trials} trials, {commands} commands; broken promises: {told} ({known} known);"
            f" slowest {max(v['slowest'] for v in values):.1f} s, largest {max(v['largest'] for v in values) >> 20} MiB"
        )
