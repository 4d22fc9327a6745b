"""Measures whose names mean what a server's do only where something is served.

A queue is also one of cars before a light, and an acceptance also that of a sampler: who asks for a server's measure by
a name with `*` is given it where the run holds something else that only a server has.
"""

from __future__ import annotations

from ...tools.operation.places import SERVERS
from ...tools.patterns import bounded
from ...tools.relate.line import Line
from ...tools.relate.relate import Related

ASKS = bounded(r"queue|latency|accept|cache|waiting|tpot|ttft")
"""In the name that a sign asks for: what it is called that a server measures."""
SERVES = bounded(
    r"(?i)ttft|tpot|(?:^|[^a-z])(?:itl|qps|rps|kv|req|reqs)(?:[^a-z]|$)|request|token|prefill|decod|speculat|draft"
    r"|engine|首字|请求|词元"
)
"""In the name of a measure: what nothing but a server of a model has."""
BUSY = bounded(
    r"(?i)latency|p\d\d(?:[^0-9]|$)|throughput|concurren|users|http|gpu|batch|cache|model|worker|延迟|吞吐|并发"
)
"""What a server has, and other machines and simulations have, too."""
LEARNS = frozenset(("reward", "loss", "policy_loss", "value_loss", "episode_length", "success_rate", "epsilon"))
"""Metrics of something that learns: what stands beside them in a file is of what it learns from."""


def means_server(name: str) -> bool:
    """Whether a name with `*` asks for what a server measures."""
    return "*" in name and ASKS.search(name) is not None


def is_served(line: Line, related: Related) -> bool:
    """Whether the run of a measure with such a name serves a model.

    Beside a measure of what learns it takes a word that only servers have, elsewhere one that many machines have.
    """
    if related.settings.framework in SERVERS:
        return True
    keys = {one.line.key for one in related.moves} | {line.key}
    if any(SERVES.search(key) for key in keys):
        return True
    learns = any(one.line.file == line.file and one.line.name in LEARNS for one in related.moves)
    return not learns and any(BUSY.search(key) for key in keys)
