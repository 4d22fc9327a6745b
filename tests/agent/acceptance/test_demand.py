"""A server that is asked for less puts out less, and is none the worse for it."""

import numpy as np
import pytest

from triage.agent.acceptance.verify import compare
from triage.agent.evidence import look
from triage.knowledge.runbook import load


def laid(folder, retries, columns, **levels):
    """An engine's minutely table with each column at a level, from which it strays by 2%."""
    folder.mkdir()
    (folder / "client.yaml").write_text(f"max_retries: {retries}\nbackoff_s: 2\n")
    rng = np.random.default_rng(len(folder.name))
    rows = ["ts," + ",".join(columns)]
    for minute in range(24):
        values = (str(round(levels[c] * (1 + 0.02 * rng.standard_normal()), 2)) for c in columns)
        rows.append(f"2026-05-04 09:{minute:02}:00," + ",".join(values))
    (folder / "engine.csv").write_text("\n".join(rows) + "\n")
    return look([folder])


def judged(tmp_path, columns, old, new) -> dict[str, str]:
    sides = [
        laid(tmp_path / name, retries, columns, **levels)
        for name, retries, levels in (("was", 5, old), ("now", 0, new))
    ]
    return {n.metric: n.result for n in compare(*sides, load().get("inference-slow")).neighbours}


@pytest.mark.parametrize(
    ("columns", "old", "new"),
    [
        (("gen_tok_s", "arrivals_per_s"), (9000, 30), (4000, 12)),
        (("gen_tok_s", "incoming_rps", "running"), (9000, 30, 90), (5000, 12, 90)),
        (("gen_tok_s", "running", "waiting"), (9000, 128, 400), (4000, 40, 1)),
        (("gen_tok_s", "num_requests_running", "num_requests_waiting"), (9000, 64, 0.1), (4000, 30, 0.1)),
    ],
)
def test_a_rate_that_falls_with_what_is_asked_is_not_judged(tmp_path, columns, old, new):
    found = judged(tmp_path, columns, dict(zip(columns, old, strict=True)), dict(zip(columns, new, strict=True)))
    assert "tokens_per_second" not in found


@pytest.mark.parametrize(
    ("columns", "old", "new"),
    [
        (("gen_tok_s", "arrivals_per_s"), (9000, 30), (4000, 30)),  # as many come in
        (("gen_tok_s", "arrivals_per_s"), (9000, 30), (2000, 25)),  # fewer, and not by so much
        (("gen_tok_s", "running", "waiting"), (9000, 128, 0), (4000, 128, 0)),  # as many run, each more slowly
        (("gen_tok_s", "running", "waiting"), (9000, 128, 0), (4000, 40, 90)),  # they wait
        (("gen_tok_s", "qps"), (9000, 30), (4000, 13)),  # those that were done
        (("gen_tok_s", "gpu_util"), (9000, 90), (4000, 60)),
    ],
)
def test_a_rate_that_falls_by_itself_is_worse(tmp_path, columns, old, new):
    found = judged(tmp_path, columns, dict(zip(columns, old, strict=True)), dict(zip(columns, new, strict=True)))
    assert found["tokens_per_second"] == "fail"
