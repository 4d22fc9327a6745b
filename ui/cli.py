"""The `triage` command: one Typer application whose commands live in `ui.commands`.

Exit status: 0 nothing wrong, 1 findings, 2 it could not run. No traceback for bad input.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys

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


def main() -> None:
    """Entry point: every expected failure becomes one line on standard error and exit status 2."""
    try:
        app()
    except TriageError as error:
        fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except KeyboardInterrupt:
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


def fail(message: str) -> None:
    print(f"triage: {clean(message, 2000)}", file=sys.stderr)
    sys.exit(2)
