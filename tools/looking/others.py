"""The tools that look at what is not a log, by name: each is given the run and makes its report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..findings import Check, Report
from ..run import Run
from ..settings import Settings
from .kept import Kept


def tools_of(run: Run, read: tuple[Settings, tuple[Check, ...]], logs: Kept) -> dict[str, Callable[[Run], Report]]:
    """The tools that look at what is not a log, or at the words of one, by name.

    Args:
        run: what they look at.
        read: its settings, and what was read for them.
        logs: what was kept of its logs.
    """
    from ..checkpoints import check_run_checkpoints
    from ..checkpoints.renamed import check_renamed
    from ..config.copies import check_copies
    from ..config.lint import lint
    from ..data import cached, check_run_data, earlier
    from ..data.between import (
        corpora,
        evalrows,
        gathered,
        items,
        marks,
        results,
        seen_again,
        shards,
        splits,
        starts,
        thumbs,
        widths,
    )
    from ..operation import (
        collectives,
        containers,
        engines,
        fields,
        handed,
        launches,
        machines,
        places,
        same_samples,
        sampling,
    )
    from ..scores import check_run_evals

    tools: dict[str, Callable[[Run], Report]] = {
        "lint": partial(lint, read=read), "data": check_run_data, "checkpoints": check_run_checkpoints,
        "evals": check_run_evals, "eval rows": evalrows.check_eval_rows, "gathered": gathered.check_gathered,
        "splits": splits.check_splits, "shards": shards.check_shards, "copies": check_copies,
        "cached": partial(cached.check_cached, logs=logs), "earlier": earlier.check_earlier,
        "places": places.check_places,
        "fields": fields.check_fields, "corpora": corpora.check_corpora, "collectives": collectives.check_collectives,
        "engines": engines.check_engines, "machines": partial(machines.check_machines, settings=read[0]),
        "sampling": sampling.check_sampling, "handed": handed.check_handed, "results": results.check_results,
        "marks": marks.check_marks, "items": items.check_items, "starts": starts.check_starts,
        "thumbs": partial(thumbs.check_thumbs, settings=read[0]),
        "launches": launches.check_launches, "containers": containers.check_containers,
        "renamed": partial(check_renamed, logs=logs),
        "same samples": partial(same_samples.check_same_samples, settings=read[0], logs=logs),
        "widths": partial(widths.check_widths, settings=read[0], logs=logs),
        "seen again": partial(seen_again.check_seen_again, logs=logs),
    }  # fmt: skip
    if any(a.path.suffix in (".py", ".ipynb") for a in run.of("code", "config")):
        from ..code.files import check_run_code  # a hundred rules, which most runs do not need

        tools["code"] = partial(check_run_code, settings=read[0])
    return tools
