"""`triage serve-model`: start vLLM with the flags that the agent needs."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from typing import Annotated

import typer

from ..output import console

HELP = """Start a vLLM server for triage in this process, after printing its command.

Without MODEL it takes the recommended one for --memory. Arguments after -- go to vLLM. docs/serving.md has the table.

Examples:

  triage serve-model --memory 24

  triage serve-model Qwen/Qwen3-14B-AWQ -- --gpu-memory-utilization 0.8

  triage serve-model --print
"""


def register(app: typer.Typer) -> None:
    app.command("serve-model", help=HELP)(serve_model)


def serve_model(
    model: Annotated[str, typer.Argument(help="Name on the Hub, or a folder.")] = "",
    more: Annotated[list[str] | None, typer.Argument(help="Further arguments of vLLM, after --.")] = None,
    memory: Annotated[int, typer.Option(help="GPU memory in GB, to choose a model by.")] = 24,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    context: Annotated[int, typer.Option(help="Longest prompt and answer in tokens; 0 for the recommended.")] = 0,
    only_print: Annotated[bool, typer.Option("--print", help="Only print the command and the models.")] = False,
) -> None:
    import os

    from ...agent.wording.serving import MODELS, command, recommended
    from ...tools.findings import MissingExtra, TriageError

    chosen = model
    if not chosen:
        best = recommended(memory)
        if best is None:
            raise TriageError(f"no recommended model fits {memory} GB; name one, or use triage without a model")
        chosen = best.name
    start = command(chosen, host, port, context, tuple(more or ()))
    out = console()
    out.print(shlex.join(start))
    out.print(f"\nthen: export TRIAGE_MODEL_URL=http://{host}:{port}/v1 && triage doctor")
    if only_print:
        for m in MODELS:
            out.print(f"{m.gpu:4} GB  {m.name}  ({m.licence}, {m.context} tokens): {m.note}")
        return
    if find_spec("vllm") is None:
        raise MissingExtra("triage serve-model", "serve")
    os.execv(start[0], start)
