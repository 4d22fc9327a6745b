"""Run a kernel over many items: in this process, on the cores of this machine, or on a Ray cluster.

A kernel is a plain function of one picklable item; results come back in the order of the items, so that every
engine gives the same answer. No cluster engine of our own: `cluster` hands the same kernels to Ray Data.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from ..findings import TriageError
from ..keeping import held

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALL = 2
"""Up to this many items the start of worker processes costs more than it saves."""
ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a worker once it has begun."""


class Engine(Protocol):
    """What the stages of a data tool need from whatever runs them."""

    def map(self, kernel: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The kernel's result for every item, in order."""
        ...


class Local:
    """Worker processes on this machine; one process when there is little to do."""

    def __init__(self, workers: int | None = None, advance: Callable[[float], Any] | None = None):
        self._workers = (
            workers or len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else (workers or os.cpu_count() or 1)
        )
        self._advance = advance or (lambda amount: None)
        """Called with each finished item's `size`, for a progress bar."""

    def map(self, kernel: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        done = self._serial if self._workers == 1 or len(items) <= SMALL else self._parallel
        for item, result in done(kernel, items):
            self._advance(getattr(item, "size", 0))
            yield result

    def _serial(self, kernel: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[Item, Result]]:
        return ((item, kernel(item)) for item in items)

    def _parallel(self, kernel: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[Item, Result]]:
        import multiprocessing
        from concurrent.futures import Future, ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool

        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self._workers, context, _begin_worker)
        waiting: deque[tuple[Item, Future[Result]]] = deque()
        try:
            for item in items:
                with held(signal.SIGINT, *ENDING):  # submitting may start a worker, which must not be left half begun
                    waiting.append((item, pool.submit(kernel, item)))
                if len(waiting) > 2 * self._workers:  # bounds the results held in memory
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        except BrokenProcessPool:
            raise TriageError(
                "a worker process was killed, most likely for want of memory: run again with "
                "--workers 1, or on a smaller part of the data"
            ) from None
        finally:
            _stop(pool)


def _begin_worker() -> None:
    """Ctrl-C is for the parent, which then stops its workers; a parent that is killed takes them along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _stop(pool: Any) -> None:
    """Ends the workers at once; waits for the pool's own thread too, which would write to a closed pipe at exit.

    A worker that is ended while it hands over a result leaves half of it in the pipe: the thread waits for the rest
    for ever, unless nobody can write any more.
    """
    processes, thread, results = (
        list((pool._processes or {}).values()),
        pool._executor_manager_thread,
        pool._result_queue,
    )
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(5)
    results._writer.close()
    if thread:
        thread.join(5)
