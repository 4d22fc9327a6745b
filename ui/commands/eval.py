"""`triage eval`: measure triage itself on recorded failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...tools.keeping import whole
from ..output import HOME_OPTION, JSON_OPTION, console, print_json

if TYPE_CHECKING:
    from ...evals.lab.fault import Case

HELP = """Measure triage: the fault lab and the strengths of the runbook's findings.

Examples:

  triage eval lab --quick

  triage eval lab --faults lr-too-high,eval-leakage --seeds 2

  triage eval lab --jobs 2 --json results.json --report report.md

  triage eval fit --seeds 2

  TRIAGE_MODEL_URL=http://127.0.0.1:8000/v1 triage eval model --json turns.json
"""
group = typer.Typer(help=HELP, no_args_is_help=True)
Home = Annotated[Path | None, HOME_OPTION]
Faults = Annotated[str, typer.Option(help="Comma-separated names; `a+b` puts two faults into one run. Default: all.")]
Seeds = Annotated[int, typer.Option(min=1, help="Runs of each fault; odd seeds are the fit part, even the test part.")]


def register(app: typer.Typer) -> None:
    group.command("lab", help=LAB_HELP)(lab)
    group.command("fit", help=FIT_HELP)(fit)
    group.command("model", help=MODEL_HELP)(model)
    app.add_typer(group, name="eval")


LAB_HELP = """Train tiny models with one fault each, diagnose, apply the proposal, train again, verify.

Recordings are kept and found again, so a second run only diagnoses. Needs the extra `lab`.
"""
MODEL_HELP = """Play 60 recorded turns against the model server that TRIAGE_MODEL_URL names, and report what it found.

English and Chinese, first questions and follow-ups, runs whose decisive evidence no detector knows. No other model
judges: causes, citations, marks, tool calls, tokens and seconds are counted. Needs the extra `llm`.
"""
FIT_HELP = "Report the measured likelihood ratio of each finding beside the strength word that the entry gives it."


def _home(home: Path | None) -> Path:
    from ...agent.casebook import home as data_home

    folder = data_home(home) / "lab"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _need_lab() -> None:
    import importlib.util

    from ...tools.findings import TriageError, install

    if missing := [m for m in ("torch", "transformers", "trl", "datasets") if importlib.util.find_spec(m) is None]:
        raise TriageError(f"the fault lab needs {', '.join(missing)}: {install('lab')}")


def lab(
    faults: Faults = "",
    seeds: Seeds = 2,
    first_seed: Annotated[int, typer.Option(min=1, help="The first seed; an even one is a fresh test part.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A handful of faults, a few minutes.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    attempts: Annotated[int, typer.Option(min=0, help="Changes tried per run; 0 only diagnoses.")] = 3,
    baseline_repairs: Annotated[
        bool, typer.Option("--baseline-repairs", help="Train the baselines' proposals too (much longer).")
    ] = False,
    without: Annotated[str, typer.Option(help="Comma-separated finding codes whose detectors are taken away.")] = "",
    show: Annotated[bool, typer.Option("--list", help="Show the faults and leave.")] = False,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write the Markdown report to this file.")] = None,
    home: Home = None,
) -> None:
    if show:
        _list()
        return
    _need_lab()
    from ...evals.lab import report as rendering
    from ...evals.lab.runner import Plan, cases, run
    from ...evals.lab.scoring import Score

    chosen = cases(_names(faults), seeds, quick, first_seed)
    plan = Plan(chosen, _home(home), attempts, baseline_repairs=baseline_repairs, hidden=tuple(_names(without)))
    with _progress(len(chosen)) as say:

        def done(case: Case, scores: list[Score]) -> None:
            say(_line(scores[0]))

        scores = run(plan, jobs, done)
    out = rendering.results(scores)
    if json_out:
        with whole(json_out) as (draft,):
            draft.write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if report:
        with whole(report) as (draft,):
            draft.write_text(rendering.report(out, _command(faults, seeds, first_seed, quick, jobs)), encoding="utf-8")
    _print_table(rendering.table(out["summary"].get("test") or out["summary"]["all"]))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _command(faults: str, seeds: int, first_seed: int, quick: bool, jobs: int) -> str:
    part = f"--seeds {seeds}" + (f" --first-seed {first_seed}" if first_seed > 1 else "")
    part = "--quick" if quick else part + (f" --faults {faults}" if faults else "")
    return f"triage eval lab {part} --jobs {jobs}"


def _line(score: Any) -> str:
    """One case in one line."""
    first = score.ranked[0] if score.ranked else "nothing"
    if score.family == "healthy":
        return f"{score.case}: {score.state}, alarms: {', '.join(score.alarms) or 'none'}"
    word = "right" if score.rank1 else ("in the top 3" if score.top3 else "wrong")
    fixed = f"repaired at attempt {score.repaired}" if score.repaired else "not repaired"
    return f"{score.case}: {score.state}, {first} ({word}), {fixed}"


def _progress(total: int) -> Any:
    """A bar on a terminal, and a line for every case in any output."""
    from contextlib import contextmanager

    from ..output import progress

    @contextmanager
    def show() -> Any:
        err = console(stderr=True)
        with progress("fault lab", total) as advance:

            def say(line: str) -> None:
                err.print(line)
                advance()

            yield say

    return show()


def _print_table(rows: list[list[str]]) -> None:
    from rich.table import Table

    shown = Table(*rows[0])
    for row in rows[1:]:
        shown.add_row(*row)
    console().print(shown)


def _list() -> None:
    from ...evals.lab.fault import faults as known

    out = console()
    for name, fault in sorted(known().items(), key=lambda f: (f[1].family, f[0])):
        out.print(f"{fault.family:10} {name:24} {fault.recipe:12} {', '.join(fault.right) or 'healthy'}")


def fit(
    faults: Faults = "",
    seeds: Seeds = 2,
    part: Annotated[str, typer.Option(help="fit, test, or all.")] = "fit",
    home: Home = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    _need_lab()
    from ...evals.lab.fit import idle, observe, ratios
    from ...evals.lab.runner import cases
    from ..output import progress

    if part not in ("fit", "test", "all"):
        raise typer.BadParameter("--part is fit, test or all")
    chosen = [c for c in cases(_names(faults), seeds) if part in ("all", c.split)]
    with progress("looking at the recorded runs"):
        seen = observe(chosen, _home(home))
    found, never = ratios(chosen, seen), idle(chosen, seen)
    if as_json:
        print_json({"schema": "triage.fit/1", "ratios": [r.as_json() for r in found], "never_discriminate": never})
        return
    rows = [["entry", "finding", "word", "ratio", "measured", "runs"]]
    rows += [[r.entry, r.code, r.word, f"{r.ratio:.1f}", r.fitted, str(r.cases)] for r in found]
    _print_table(rows)
    console().print(f"as frequent in healthy runs as in faulty ones: {', '.join(never) or 'none'}")


def model(
    runs: Annotated[str, typer.Option(help="Comma-separated names of runs. Default: all.")] = "",
    json_out: Annotated[Path | None, typer.Option("--json", help="Write every turn to this file.")] = None,
) -> None:
    from ...agent.wording.server import configured
    from ...evals.model import as_json, line, play, summary
    from ...evals.model_runs import RUNS
    from ...tools.findings import TriageError

    if configured() is None:
        raise TriageError("no model server: set TRIAGE_MODEL_URL, for example to http://127.0.0.1:8000/v1")
    names = [name for name in runs.split(",") if name]
    if unknown := set(names) - {run.name for run in RUNS}:
        raise TriageError(f"no run {sorted(unknown)[0]!r}; there are {', '.join(run.name for run in RUNS)}")
    out = console()
    outcomes = play(lambda o: out.print(line(o)), [run for run in RUNS if not names or run.name in names])
    for key, value in summary(outcomes).items():
        out.print(f"{key}: {value}")
    if json_out:
        with whole(json_out) as (made,):
            made.write_text(as_json(outcomes), encoding="utf-8")
