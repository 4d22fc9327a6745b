"""The same kernels on a Ray cluster, as Ray Data stages.

Signatures, band keys, candidate pairs, texts and verification are Ray Data stages over the kernels of `corpus` and
`matching`; grouping ends on the driver, where pairs are few. Every stage is a pure function of its input and shuffles
are made of tasks, so that Ray can repeat what a dead worker was doing: nothing is lost or counted twice. The data
must be on paths that every node can read.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ..findings import MissingExtra, TriageError
from .engine import Item, Result
from .records.record import Part
from .similar.corpus import (
    ID_SHIFT,
    SAMPLE_DOCUMENTS,
    Corpus,
    Options,
    PickTask,
    Signed,
    SignTask,
    pick,
    pick_tasks,
    sign,
)
from .similar.dedup import PAIRS_PER_TASK, Matches
from .similar.features import I64, U64
from .similar.matching import candidate_pairs, common_grams, compare, equal_pairs, unique_pairs

KEY_PARTITIONS = 8
"""Each band's keys are cut into this many ranges, so that one group of the shuffle fits a worker."""


class Cluster:
    """Runs kernels as Ray Data stages."""

    def __init__(self, ray: Any):
        self._ray = ray

    def map(self, kernel: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The kernel's result for every item, in order."""
        if not items:
            return
        rows = [{"n": n, "item": pickle.dumps(item)} for n, item in enumerate(items)]
        done: dict[int, bytes] = {}
        due = 0
        for row in self._dataset(rows).map(partial(_apply, kernel)).iter_rows():
            done[int(row["n"])] = row["result"]
            while due in done:
                yield pickle.loads(done.pop(due))  # made by our own kernel
                due += 1

    def _dataset(self, rows: list[dict[str, Any]]) -> Any:
        return self._ray.data.from_items(rows, override_num_blocks=max(1, min(len(rows), 200)))

    def find_matches(self, parts: Sequence[Part], options: Options, engine: Any) -> Matches:
        """As `dedup.find_matches`, with the shuffles on the cluster."""
        each = -(-SAMPLE_DOCUMENTS // max(len(parts), 1))
        tasks = [SignTask(part, options, each) for part in parts]
        rows = [{"item": pickle.dumps(task)} for task in tasks]
        signed = self._dataset(rows).flat_map(_sign_rows).materialize()
        meta = sorted(signed.flat_map(_meta_rows).take_all(), key=lambda row: row["part"])
        corpus = Corpus(parts, (pickle.loads(row["meta"]) for row in meta), options)
        found = signed.flat_map(_band_rows).groupby("group").map_groups(_candidates, batch_format="numpy").take_all()
        pairs = unique_pairs([np.frombuffer(row["pairs"], np.int64).reshape(-1, 2) for row in found])
        similarity, template = self._verify(parts, pairs, options, common_grams(corpus.sample))
        return Matches(corpus, options, equal_pairs(corpus.exact, corpus.ids), pairs, similarity, template)

    def _verify(self, parts: Sequence[Part], pairs: I64, options: Options, frame: U64) -> tuple[Any, Any]:
        """Texts of the candidates are sent to the slices of pairs that need them, and compared there."""
        similarity, template = np.full(len(pairs), np.nan), np.zeros(len(pairs), bool)
        if not len(pairs):
            return similarity, template
        slices = {n: pairs[i : i + PAIRS_PER_TASK] for n, i in enumerate(range(0, len(pairs), PAIRS_PER_TASK))}
        needed: dict[int, list[int]] = defaultdict(list)
        for n, piece in slices.items():
            for id in np.unique(piece).tolist():
                needed[id].append(n)
        tasks = pick_tasks(parts, np.unique(pairs), options.field)
        rows = [{"item": pickle.dumps((task, _needs(task, needed)))} for task in tasks]
        texts = self._dataset(rows).flat_map(_text_rows)
        verify = partial(_compare_group, self._ray.put(slices), options, frame)
        for row in texts.groupby("slice").map_groups(verify, batch_format="numpy").iter_rows():
            begin = int(row["slice"]) * PAIRS_PER_TASK
            values = np.frombuffer(row["similarity"], np.float64)
            similarity[begin : begin + len(values)] = values
            template[begin : begin + len(values)] = np.frombuffer(row["template"], bool)
        return similarity, template


@contextmanager
def cluster(address: str | None = None, processes: int | None = None) -> Iterator[Cluster]:
    """Join a Ray cluster, or start one on this machine; one that was started here is stopped at the end.

    Raises:
        MissingExtra: Ray is not installed.
        TriageError: no cluster answers at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = importlib.import_module("ray")
        ray.data = importlib.import_module("ray.data")
    except ImportError:
        raise MissingExtra("the Ray engine", "ray") from None
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(
                address=address,
                num_cpus=None if address else processes,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise TriageError(f"no Ray cluster at {address or 'this machine'}: {str(error)[:200]}") from None
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context.shuffle_strategy = ray.data.context.ShuffleStrategy.SORT_SHUFFLE_PULL_BASED  # tasks, which can be repeated
    try:
        yield Cluster(ray)
    finally:
        if started:
            ray.shutdown()


def _apply(kernel: Callable[[Any], Any], row: dict[str, Any]) -> dict[str, Any]:
    return {"n": row["n"], "result": pickle.dumps(kernel(pickle.loads(row["item"])))}


def _meta_rows(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row] if row["group"] < 0 else []


def _band_rows(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row] if row["group"] >= 0 else []


def _sign_rows(row: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for the driver (places, exact hashes), and one per band and key range for the shuffle."""
    signed: Signed = sign(pickle.loads(row["item"]))
    keys, signed.keys = signed.keys, np.zeros((0, 0), np.uint64)
    out = [{"group": -1, "part": signed.part, "meta": pickle.dumps(signed), "keys": b"", "ids": b"", "exact": b""}]
    for band, values in enumerate(keys):
        shard = (values >> np.uint64(60)).astype(np.int64) * KEY_PARTITIONS // 16
        for s in np.unique(shard).tolist():
            at = shard == s
            out.append(
                {
                    "group": band * KEY_PARTITIONS + s,
                    "part": signed.part,
                    "meta": b"",
                    "keys": values[at].tobytes(),
                    "ids": signed.ids[at].tobytes(),
                    "exact": signed.exact[at].tobytes(),
                }
            )
    return out


def _candidates(group: dict[str, Any]) -> dict[str, Any]:
    keys = np.concatenate([np.frombuffer(b, np.uint64) for b in group["keys"]])
    ids = np.concatenate([np.frombuffer(b, np.int64) for b in group["ids"]])
    exact = np.concatenate([np.frombuffer(b, np.uint64) for b in group["exact"]])
    return {"pairs": np.array([candidate_pairs(keys, ids, exact).tobytes()], object)}


def _needs(task: PickTask, needed: dict[int, list[int]]) -> list[list[int]]:
    first = task.part.number << ID_SHIFT
    return [needed[first + i] for i in task.wanted]


def _text_rows(row: dict[str, Any]) -> list[dict[str, Any]]:
    task, needs = pickle.loads(row["item"])
    first = task.part.number << ID_SHIFT
    return [
        {"slice": n, "id": first + i, "text": text.encode("utf-8", "surrogatepass")}
        for i, text, slices in zip(task.wanted, pick(task), needs, strict=True)
        for n in slices
    ]


def _compare_group(slices: Any, options: Options, frame: U64, group: dict[str, Any]) -> dict[str, Any]:
    number = int(group["slice"][0])
    texts = {
        int(id): text.decode("utf-8", "surrogatepass") for id, text in zip(group["id"], group["text"], strict=True)
    }
    done = compare(importlib.import_module("ray").get(slices)[number], texts, options.unit, options.threshold, frame)
    return {
        "slice": np.array([number]),
        "similarity": np.array([done.similarity.tobytes()], object),
        "template": np.array([done.template.tobytes()], object),
    }
