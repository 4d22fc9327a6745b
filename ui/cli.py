"""The `triage` command: one Typer application whose commands live in `ui.commands`.

Exit status: 0 nothing wrong or a server that was stopped, 1 findings, 2 it could not run, 141 nobody read the output to
its end. No traceback for bad input.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from ..tools.findings import TriageError, clean
from ..tools.registry import modules, table
from . import commands
from .output import telling_losses
from .stopping import STOPPING, Stop, Stopped

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find out what went wrong with a training, alignment or serving run.",
)


def told_version(asked: bool) -> None:
    if asked:
        print(f"triage {version('llm-triage')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version and leave.", is_eager=True, callback=told_version)
    ] = False,
) -> None:
    """What stands before a command."""


for module in modules(commands.__name__):
    module.register(app)
COMMANDS = [(one.name or getattr(one.callback, "__name__", ""), one.help) for one in app.registered_commands]
GROUPS = [(str(one.name), one.typer_instance) for one in app.registered_groups]
table("commands", (*COMMANDS, *GROUPS))

CLOSED = 128 + signal.SIGPIPE
"""Exit status when whoever read the output has gone (`| head`), as a shell shows it of other tools."""
CYCLES = 1_000_000
"""Objects after which unreachable cycles are sought: most of what a look makes stays. Python's 700 cost a start a
tenth, a single search at 200,000 costs a look 0.1 s."""


def main() -> None:
    """Entry point: every expected failure becomes one line on standard error and exit status 2."""
    gc.set_threshold(CYCLES, *gc.get_threshold()[1:])
    stop = Stop()
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a background job of a shell
            signal.signal(number, stop)
    try:
        with telling_losses():
            try:
                app()
            finally:
                sys.stdout.flush()
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):  # Typer and Rich leave with 1, which means findings
            raise
        _unread()
    except BrokenPipeError:
        _unread()
    except TriageError as error:
        fail(str(error))
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


def _unread() -> None:
    """Leave quietly: nobody reads the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(CLOSED)


def fail(message: str) -> None:
    print(f"triage: {clean(message, 2000)}", file=sys.stderr)
    sys.exit(2)
