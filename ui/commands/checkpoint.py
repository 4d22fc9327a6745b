"""`triage checkpoint`: are checkpoints sound, and what moved between two of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import HTML_OPTION, JSON_OPTION, Html, console, emit, progress

if TYPE_CHECKING:
    from ...tools.findings import Report

HELP = """Look into checkpoints without loading them: nothing is unpickled, imported or changed.

Reads Hugging Face (safetensors and .bin, sharded or not), PEFT adapters, torch distributed checkpoints, Megatron,
DeepSpeed, Lightning, torchtune and plain torch or safetensors files.

Examples:

  triage checkpoint check runs/exp42

  triage checkpoint check model/ --json

  triage checkpoint diff runs/exp42/checkpoint-500 runs/exp42/checkpoint-1000
"""
checkpoint = typer.Typer(help=HELP, no_args_is_help=True)
LISTED = 20
"""Tensors shown of each kind; --json has more."""

Json = Annotated[bool, JSON_OPTION]
Page = Annotated[Path | None, HTML_OPTION]


def register(app: typer.Typer) -> None:
    app.add_typer(checkpoint, name="checkpoint")


def _size(paths: list[Path]) -> int:
    from ...tools.checkpoints.files.layout import find_checkpoints

    weights = (w for p in paths for c in find_checkpoints(p) for w in c.weights if os.access(w, os.R_OK))
    return sum(w.stat().st_size for w in weights)


@checkpoint.command()
def check(
    paths: Annotated[list[Path], typer.Argument(help="Checkpoints, weight files, or directories that hold them.")],
    html: Page = None,
    as_json: Json = False,
) -> None:
    """Missing or cut shards, NaN, zeroed layers, wrong shapes, tokenizer and adapter against the weights.

    Example: triage checkpoint check runs/exp42
    """
    from ...tools.checkpoints.health import check_checkpoints

    with progress("reading", _size(paths) or None) as advance:
        report = check_checkpoints(paths, advance)
    if not as_json:
        _list(report)
    emit(report, as_json, Html(html, ", ".join(map(str, paths))))


def _list(report: Report) -> None:
    out = console()
    for one in report.summary["checkpoints"]:
        step = f"step {one['step']}" if one["step"] is not None else ""
        state = "" if one["complete"] else "INCOMPLETE"
        kinds = " ".join(one["dtypes"])
        out.print(f"{one['name']}  {one['layout']}  {step}  {one['tensors']} tensors  {kinds}  {state}".rstrip())


@checkpoint.command()
def diff(
    before: Annotated[Path, typer.Argument(help="A checkpoint.")],
    after: Annotated[Path, typer.Argument(help="A later checkpoint of the same model.")],
    html: Page = None,
    as_json: Json = False,
) -> None:
    """Which tensors moved and by how much relative to their norm, and what the trainer recorded.

    Example: triage checkpoint diff checkpoint-500 checkpoint-1000
    """
    from ...tools.checkpoints.compare import compare

    with progress("comparing", _size([before, after]) or None) as advance:
        report = compare(before, after, advance)
    if not as_json:
        _moved(report)
    emit(report, as_json, Html(html, f"{before} -> {after}"))


def _moved(report: Report) -> None:
    out, summary = console(), report.summary
    for key, value in summary["recorded"].items():
        out.print(f"{key:18} {value['before']} -> {value['after']}")
    out.print(f"{summary['moved_count']} tensors moved (median {summary['median_change']:.3%} of their norm):")
    for item in summary["moved"][:LISTED]:
        out.print(f"  {item['relative_change']:10.3%}  {item['tensor']}")
    for key, label in (("unmoved", "did not move"), ("reshaped", "changed shape"), ("only_before", "only before"),
                       ("only_after", "only after")):  # fmt: skip
        if names := summary[key]:
            out.print(f"{summary.get(f'{key}_count', len(names))} {label}: {', '.join(names[:LISTED])}")
