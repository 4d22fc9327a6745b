"""The callback that a training calls: Hugging Face's Trainer, Lightning's, or a plain loop.

None of them is imported: each looks its hooks up by name, and those that are not needed answer with nothing. Whatever
breaks in here is said once and leaves the training alone. Nothing is judged here.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .recording import Recording
from .watch import Watch

EVERY = 10.0
"""Minutes from one look to the next."""
RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
"""Where a launcher says which process this is; the first one watches."""


def to_stderr(line: str) -> None:
    print(f"triage: {line}", file=sys.stderr, flush=True)


def harmless(method: Callable[..., None]) -> Callable[..., None]:
    """No exception leaves it: after one, the callback says so and does nothing any more."""

    @functools.wraps(method)
    def guarded(self: TriageCallback, *args: Any, **kwargs: Any) -> None:
        if self._broken:
            return
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self._broken = True
            to_stderr(f"the callback stopped watching ({type(error).__name__}: {error}); the training goes on")

    return guarded


class TriageCallback:
    """Records what a training logs and has it scanned in a side process, every few minutes and at the end.

    Each finding is said once, on standard error. The numbers are kept in triage's own data directory, never in the
    run's folder. Only the first process of a training does anything.

    Args:
        *paths: logs or folders of the run that are scanned as well; they are only read.
        every: minutes from one look to the next.
        lang: `en` or `zh`.
        tell: what is done with a line, in place of standard error.
    """

    state_key = _legacy_state_key = "TriageCallback"
    """Lightning files the states of callbacks under it; this one has none."""

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        every: float = EVERY,
        lang: str = "en",
        tell: Callable[[str], None] = to_stderr,
    ):
        self._settings = (tuple(Path(p).absolute() for p in paths), every, lang, tell)
        self._watch: Watch | None = None
        self._broken = False
        self._process = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in another process too, is one that has not begun."""
        return _again, (type(self), self._settings)

    # A plain loop --------------------------------------------------------------------------------------

    @harmless
    def log(self, step: int, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Note the measures of a step: `watch.log(step, loss=loss, grad_norm=norm)`.

        A tensor is read here, which waits for the device: hand over what you log anyway, as often as you log it.
        """
        first = next((os.environ[name] for name in RANK if name in os.environ), "0") == "0"
        self._note(first, step, {**(values or {}), **more})

    @harmless
    def close(self) -> None:
        """The last look. Called at the end of the program, where a loop does not."""
        watch, self._watch = self._watch, None
        if watch and self._process == os.getpid():
            atexit.unregister(self.close)
            watch.finish()

    def __enter__(self) -> TriageCallback:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # Hugging Face and Lightning ------------------------------------------------------------------------

    @harmless
    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **rest: Any) -> None:
        """Hugging Face: what the Trainer logs."""
        self._note(state.is_world_process_zero, state.global_step, logs or {})

    @harmless
    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any = None, *rest: Any) -> None:
        """Lightning: the measures of a step, as often as its loggers get them."""
        if trainer.global_step % trainer.log_every_n_steps == 0:
            loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
            self._note(trainer.is_global_zero, trainer.global_step, {"loss": loss, **trainer.callback_metrics})

    @harmless
    def on_validation_end(self, trainer: Any, module: Any) -> None:
        """Lightning: the measures of an evaluation."""
        if not trainer.sanity_checking:
            self._note(trainer.is_global_zero, trainer.global_step, trainer.callback_metrics)

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        """Both."""
        self.close()

    def on_exception(self, *args: Any) -> None:
        """Lightning: the training broke."""
        self.close()

    def state_dict(self) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Any:
        """Every other hook of a framework, now and in its next version."""
        if name.startswith("on_") or name in ("setup", "teardown", "load_state_dict"):
            return _nothing
        raise AttributeError(name)

    # -----------------------------------------------------------------------------------------------------

    def _note(self, first: bool, step: int, values: Mapping[str, Any]) -> None:
        if not first:
            return
        if self._watch is None:
            paths, every, lang, tell = self._settings
            self._watch, self._process = Watch(Recording(), paths, every * 60, lang, tell), os.getpid()
            atexit.register(self.close)
        self._watch.recording.note(step, values)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """The answer of a hook that is not needed."""


def _again(kind: type[TriageCallback], settings: tuple[Sequence[Path], float, str, Any]) -> TriageCallback:
    paths, every, lang, tell = settings
    return kind(*paths, every=every, lang=lang, tell=tell)
