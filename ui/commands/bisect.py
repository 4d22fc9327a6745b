"""`triage bisect`: which checkpoint broke it?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...tools.findings import clean
from ..output import HOME_OPTION, HTML_OPTION, JSON_OPTION, Html, console, emit

if TYPE_CHECKING:
    from ...tools.checkpoints.bisect.drive import Outcome, Plan
    from ..plots.series import Panel

HELP = """Find the checkpoint at which an evaluated metric changed, with as few evaluations as its noise allows.

The command is run on one checkpoint at a time and prints a number on its last line, or a JSON object (--key), or says
pass or fail by its exit status (--pass-fail; 125 skips). {checkpoint} stands for the path, {step}, {repeat} (0, 1, ...
to vary a seed) and {job} (0 to jobs - 1, to choose a device) may be used too. It runs without a shell; the path is also
in the variable TRIAGE_CHECKPOINT. A run chooses its checkpoints' names, so {checkpoint} inside the text of a shell or
another interpreter is refused; it is given as an argument.

Examples:

  triage bisect runs/exp42 --good 1000 --bad 9000 --eval 'python eval.py --model {checkpoint}'

  triage bisect runs/exp42 --key mmlu.acc --jobs 4 --eval 'env CUDA_VISIBLE_DEVICES={job} python eval.py {checkpoint}'

  triage bisect runs/exp42 --eval './check.sh {checkpoint}' --pass-fail --dry-run

  triage bisect runs/exp42 --eval 'sh -c "python eval.py --model \\"$1\\" | tail -1" _ {checkpoint}'

Exit status: 0 nothing changed, 1 something did or it could not be settled, 2 it could not run. Killed or interrupted,
the same command continues and repeats no evaluation.
"""
CHART = 12
"""Lines of the plot."""
LONGEST = 4_000
"""Characters shown of a command."""


def register(app: typer.Typer) -> None:
    app.command(help=HELP)(bisect)


def bisect(
    directory: Annotated[Path, typer.Argument(help="The run, or the directory that holds its checkpoints.")],
    evaluate: Annotated[str, typer.Option("--eval", help="Command with {checkpoint}.")],
    good: Annotated[int | None, typer.Option(help="Step of a good checkpoint; the first if left out.")] = None,
    bad: Annotated[int | None, typer.Option(help="Step of a bad checkpoint; the last if left out.")] = None,
    key: Annotated[str, typer.Option(help="Dotted key of the number in printed JSON.")] = "",
    pass_fail: Annotated[bool, typer.Option("--pass-fail", help="Exit status 0 is good, 1 to 124 bad.")] = False,
    confidence: Annotated[float, typer.Option(help="Stop at this probability.")] = 0.95,
    budget: Annotated[int, typer.Option(min=0, help="Most evaluations; 0 for as many as are predicted.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Evaluations at a time.")] = 1,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds for one evaluation.")] = 3600.0,
    retries: Annotated[int, typer.Option(min=0, help="How often a failed evaluation is tried again.")] = 1,
    cache: Annotated[Path | None, typer.Option(help="File of the evaluations made.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try again what gave no number.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, run nothing.")] = False,
    html: Annotated[Path | None, HTML_OPTION] = None,
    home: Annotated[Path | None, HOME_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    from ...agent.casebook import home as data_home
    from ...tools.checkpoints.bisect.drive import Plan
    from ...tools.checkpoints.bisect.evaluate import Command, default_cache
    from ...tools.checkpoints.bisect.result import bisect_checkpoints
    from ...tools.checkpoints.bisect.row import between, find_row

    command = Command(evaluate, "pass" if pass_fail else "number", key, timeout)
    points = between(find_row(directory), good, bad)
    plan = Plan(points, command, confidence, budget, jobs, retries)
    where = cache or default_cache(data_home(home), directory, command)
    err = console(stderr=True)
    for line in _forecast(plan, where):
        err.print(line)
    if dry_run:
        first = [points[i] for i in (len(points) - 1, (len(points) - 2) // 2)]
        for point in dict.fromkeys(first):
            err.print("would run: " + clean(shlex.join(command.words(point, 0)), LONGEST))
        raise typer.Exit(0)
    with _live(plan) as tell:
        report, outcome = bisect_checkpoints(plan, where, directory, retry_failed, tell)
    from ..plots.live import of_panels
    from ..plots.terminal import text

    shown = panel(outcome)
    if shown and not as_json:
        print(text(shown, min(console().width, 80), CHART), end="\n\n")
    pictures = lambda: of_panels("metric of the checkpoints", [shown] if shown else [])  # noqa: E731
    emit(report, as_json, Html(html, str(directory), pictures))


def _forecast(plan: Plan, cache: Path) -> Iterator[str]:
    from ...tools.checkpoints.bisect import search

    points = plan.points
    yield f"{len(points)} checkpoints from step {points[0].step} (good) to {points[-1].step} (bad)"
    expected = ", ".join(f"{n} if {name}" if name != "no noise" else f"{n} without noise"
                         for name, n in search.predicted(len(points)).items())  # fmt: skip
    yield f"expected evaluations: {expected}; at most {plan.most}"
    yield f"evaluations are kept in {cache}" + (" (used again)" if cache.exists() else "")


@contextmanager
def _live(plan: Plan) -> Iterator[Callable[[Any], None]]:
    """A table that follows the search on a terminal, one line an evaluation in a pipe; both on standard error."""
    if not sys.stderr.isatty():
        said = 0

        def tell(outcome: Outcome) -> None:
            nonlocal said
            for done in outcome.history[said:]:
                result = f"{done.value:.6g}" if done.value is not None else f"no observation: {done.why}"
                print(f"step {done.step} -> {result}{' (on file)' if done.cached else ''}  {_status(outcome)}",
                      file=sys.stderr, flush=True)  # fmt: skip
            said = len(outcome.history)

        yield tell
        return
    from rich.live import Live

    with Live(console=console(stderr=True), transient=True) as live:
        yield lambda outcome: live.update(_table(outcome))


def _status(outcome: Outcome) -> str:
    from ...tools.checkpoints.bisect.result import SHARE

    if outcome.end is None:
        return ""
    first, last = (outcome.plan.points[i].step for i in outcome.end.interval(SHARE))
    step = outcome.end.stories["step"] + outcome.end.stories["several"]
    return f"[change {step:.0%}; first bad {first}..{last}]"


def _table(outcome: Outcome):
    from rich.table import Table

    table = Table("step", "values", "mean", "", title=_status(outcome), title_justify="left")
    by_step: dict[int, list[float]] = {}
    for done in outcome.history:
        by_step.setdefault(done.step, [])
        if done.value is not None:
            by_step[done.step].append(done.value)
    best = outcome.plan.points[outcome.end.best].step if outcome.end else None
    for step in sorted(by_step):
        values = by_step[step]
        mean = f"{sum(values) / len(values):.5g}" if values else "no observation"
        shown = " ".join(f"{v:.5g}" for v in values[-6:])
        table.add_row(str(step), shown, mean, "<- first bad?" if step == best else "")
    return table


def panel(outcome: Outcome) -> Panel | None:
    """Means over steps, the single values, and the steps between which the first bad checkpoint lies."""
    import numpy as np

    from ...tools.checkpoints.bisect.result import SHARE
    from ..plots.series import Line, Panel

    values: dict[int, list[float]] = {}
    for done in outcome.history:
        if done.value is not None:
            values.setdefault(done.step, []).append(done.value)
    if not values or outcome.end is None:
        return None
    first, last = (outcome.plan.points[i].step for i in outcome.end.interval(SHARE))
    changed = outcome.end.stories["step"] + outcome.end.stories["several"] > 0.5
    steps = sorted(values)
    singles = [(step, value) for step in steps for value in values[step]]
    return Panel(
        "metric",
        (
            Line("mean", np.array(steps), np.array([np.mean(values[s]) for s in steps])),
            Line("value", np.array([s for s, _ in singles]), np.array([v for _, v in singles]), 1, joined=False),
        ),
        band=(first, last) if changed else None,
        note=_status(outcome),
    )
