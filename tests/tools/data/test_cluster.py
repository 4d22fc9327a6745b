"""The Ray engine gives what the local engine gives, also when a worker dies."""

import contextlib
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from making import prose

from triage.tools.data.check import check
from triage.tools.data.engine import Local
from triage.tools.data.pii import pii
from triage.tools.data.records.blocks import plan
from triage.tools.data.similar.corpus import Options
from triage.tools.data.similar.dedup import find_matches
from triage.tools.data.similar.leakage import find_leaks

pytest.importorskip("ray")
from triage.tools.data.cluster import cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
DOCUMENTS = int(os.environ.get("TRIAGE_TEST_DOCUMENTS", "20000"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng, folder, kept = random.Random(1), tmp_path_factory.mktemp("ray"), []
    with (folder / "train.jsonl").open("w") as out:
        for i in range(DOCUMENTS):
            text = prose(rng, 60)
            if kept and i % 20 == 0:
                words = rng.choice(kept).split()
                words[rng.randrange(60)] = rng.choice(["edited", words[0]])
                text = " ".join(words)
            if i % 50 == 0:
                text += " call 13912345678"
            kept = [*kept, text] if len(kept) < 500 else kept
            out.write(json.dumps({"prompt": text[:40], "completion": text}) + "\n")
    (folder / "eval.jsonl").write_text("".join(json.dumps({"question": t}) + "\n" for t in kept[:20]))
    return folder


@pytest.fixture(scope="module")
def engine():
    with cluster(processes=2) as engine:
        yield engine


def groups(matches):
    return sorted(
        (matches.corpus.place(i)[1], matches.corpus.place(leader)[1], rule)
        for i, (leader, rule) in matches.removable().items()
    )


@pytest.fixture(scope="module")
def local_groups(data):
    found = groups(find_matches(plan([data / "train.jsonl"], 1 << 18), Options(), Local()))
    assert len(found) > DOCUMENTS // 50
    return found


def test_the_groups_are_the_same(data, engine, local_groups):
    assert groups(engine.find_matches(plan([data / "train.jsonl"], 1 << 18), Options(), engine)) == local_groups


def ray_workers(parent=None):
    """Processes that Ray started under this one and that run its tasks."""
    children, out = [parent or os.getpid()], []
    for pid in children:
        # A process may end between any two of these reads.
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    children += [int(p) for p in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    for pid in children:
        try:
            name = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        if name.startswith("ray::") and not any(w in name for w in ("IDLE", "Stats", "Actor", "Agent")):
            out.append(pid)
    return out


def test_a_killed_worker_loses_and_doubles_nothing(data, engine, local_groups):
    killed = []

    def kill():
        until = time.monotonic() + 120
        while len(killed) < 2 and time.monotonic() < until:
            for pid in ray_workers()[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                time.sleep(2)
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    found = groups(engine.find_matches(plan([data / "train.jsonl"], 1 << 18), Options(), engine))
    thread.join()
    assert killed
    assert found == local_groups


def test_check_personal_data_and_leakage_are_the_same(data, engine):
    paths = plan([data / "train.jsonl"], 1 << 18)
    assert pii(paths, engine=engine).as_json() == pii(paths, engine=Local()).as_json()
    assert check(paths, engine=engine).as_json() == check(paths, engine=Local()).as_json()
    here, there = (find_leaks(paths, [data / "eval.jsonl"], engine=e) for e in (Local(), engine))
    assert here.rows == there.rows
    assert len(here.items()) == 20
