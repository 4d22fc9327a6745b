"""The `triage` command: one Typer application whose commands live in `ui.commands`.

Exit status: 0 nothing wrong, 1 findings, 2 it could not run. No traceback for bad input.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys
import time
from types import FrameType

import typer

from ..tools.findings import TriageError, clean
from . import commands

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find out what went wrong with a training, alignment or serving run.",
)

for module in pkgutil.iter_modules(commands.__path__):
    importlib.import_module(f"{commands.__name__}.{module.name}").register(app)


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DEAF = 10.0
"""Seconds after a stopping signal in which further ones are not heard, so that nothing stays half cleaned up."""


class Stopped(BaseException):
    """A signal asks to stop. No KeyboardInterrupt, which Typer would turn into a silent status of its own."""


class _Stop:
    """Turns Ctrl-C, SIGTERM and a closed terminal into one exception, so that every `finally` runs."""

    heard = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.heard or time.monotonic() - self.heard > DEAF:
            self.heard = time.monotonic()
            raise Stopped


def main() -> None:
    """Entry point: every expected failure becomes one line on standard error and exit status 2."""
    stop = _Stop()
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a background job of a shell
            signal.signal(number, stop)
    try:
        app()
    except TriageError as error:
        fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except (Stopped, KeyboardInterrupt):
        fail("interrupted")
    except Exception as error:
        from ..knowledge.entry import RunbookError

        if isinstance(error, RunbookError):
            fail(str(error))
        if os.environ.get("TRIAGE_DEBUG"):
            raise
        fail(
            f"internal error: {type(error).__name__}: {error}. This is a defect of triage, not of the run; "
            "TRIAGE_DEBUG=1 shows the traceback."
        )
    finally:
        for number in STOPPING:
            if signal.getsignal(number) is stop:
                # nothing is left to clean up: a signal just ends us, and one more of the same is not needed
                signal.signal(number, signal.SIG_IGN if stop.heard else signal.SIG_DFL)


def fail(message: str) -> None:
    print(f"triage: {clean(message, 2000)}", file=sys.stderr)
    sys.exit(2)
