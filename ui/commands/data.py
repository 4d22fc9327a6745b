"""`triage data`: duplicates, leakage, personal data, preferences, generations, codebooks, labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..listing import View
from ..output import HTML_OPTION, JSON_OPTION, LANG_OPTION, VERBOSE_OPTION, Html, console, emit, progress

if TYPE_CHECKING:
    from ...tools.data.engine import Engine
    from ...tools.data.similar.dedup import Matches
    from ...tools.data.similar.leakage import Leaks
    from ...tools.findings import Report
    from ..plots.live import Picture

HELP = """Look at training data: schema, duplicates, leakage, personal data, labels.

Reads JSON lines, JSON, CSV/TSV, Parquet, Arrow and Hugging Face folders, WebDataset tar and text, plain or
compressed. Data is never changed: --write makes a clean copy.

Examples:

  triage data check train.jsonl --context-length 8192

  triage data dedup train.jsonl --against gsm8k_test.jsonl --pairs pairs.jsonl

  triage data pii shards/ --json
"""
data = typer.Typer(help=HELP, no_args_is_help=True)

Paths = Annotated[list[Path], typer.Argument(help="Data files or folders.")]
Json = Annotated[bool, JSON_OPTION]
Page = Annotated[Path | None, HTML_OPTION]
Lang = Annotated[str, LANG_OPTION]
Verbose = Annotated[bool, VERBOSE_OPTION]
Field = Annotated[str | None, typer.Option(help="Look at this field only.")]
EngineName = Annotated[
    str, typer.Option("--engine", help="`local`, or `ray` for a Ray cluster (needs the extra `ray`).")
]
Address = Annotated[str | None, typer.Option(help="Ray cluster to join; without it one starts here.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; default one per core.")]
Write = Annotated[Path | None, typer.Option(help="Write a clean copy (JSON lines) to this new file.")]
Removed = Annotated[Path | None, typer.Option(help="Write what the clean copy leaves out, and why.")]


def register(app: typer.Typer) -> None:
    app.add_typer(data, name="data")


@contextmanager
def engine_for(
    name: str, address: str | None, workers: int | None, paths: list[Path], label: str, passes: int = 1
) -> Iterator[Engine]:
    """The engine that the options ask for, with a progress bar over the bytes read."""
    from ...tools.data.engine import Local
    from ...tools.data.records.blocks import plan
    from ...tools.findings import TriageError

    if name not in ("local", "ray"):
        raise TriageError(f"no engine {name!r}: use `local` or `ray`")
    with progress(label, passes * sum(p.size for p in plan(paths)) or None) as advance:
        if name == "local":
            yield Local(workers, advance)
            return
        from ...tools.data.cluster import cluster

        with cluster(address) as engine:
            yield engine


@data.command()
def check(
    paths: Paths,
    context_length: Annotated[int | None, typer.Option(min=1, help="Tokens of the training context.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Wanted share per script, like `han=0.5,latin=0.5`.")] = None,
    reference: Annotated[list[Path] | None, typer.Option(help="Earlier shards whose mixture is the norm.")] = None,
    field: Field = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Schema, role tags, encoding, lengths, script mixture, openings, filter reasons of every record."""
    from ...tools.data.check import check as run

    with engine_for(engine, address, workers, [*paths, *(reference or ())], "checking") as chosen:
        report = run(
            paths,
            context_length=context_length,
            recipe=_shares(recipe),
            reference=reference or (),
            field=field,
            engine=chosen,
        )
    _finish(report, paths, as_json, html, View(lang, verbose))


def _shares(recipe: str | None) -> dict[str, float]:
    from ...tools.data.records.text_stats import SCRIPTS
    from ...tools.findings import TriageError

    try:
        shares = {k.strip(): float(v) for k, v in (p.split("=") for p in (recipe or "").split(",") if p)}
    except ValueError:
        raise TriageError(f"--recipe {recipe!r}: write it like han=0.5,latin=0.5") from None
    if unknown := shares.keys() - SCRIPTS.keys() - {"none"}:
        raise TriageError(f"--recipe: no script {min(unknown)!r}; known are {', '.join(SCRIPTS)}")
    return shares


HISTOGRAMS = {
    "length_histogram": "records by estimated tokens (upper edge)",
    "histogram": "candidate pairs by true similarity",
}
"""Keys of a summary that are drawn, with their captions."""


def _finish(report: Report, paths: list[Path], as_json: bool, html: Path | None, view: View) -> None:
    """Draw the report's histograms, write its page, print it, and leave with the exit status."""
    drawn = {caption: report.summary[key] for key, caption in HISTOGRAMS.items() if report.summary.get(key)}
    if not as_json:
        for caption, counts in drawn.items():
            _bars(caption, counts)

    def pictures() -> list[Picture]:
        from ..plots.live import of_bars

        return [of_bars(caption, counts) for caption, counts in drawn.items()]

    emit(report, as_json, Html(html, ", ".join(map(str, paths)), pictures), view)


def _bars(caption: str, counts: dict[str, int]) -> None:
    from rich.text import Text

    out, most = console(), max(counts.values())
    out.print(Text(caption, style="dim"))
    for edge, count in counts.items():
        out.print(Text(f"  {edge:>9} {'█' * max(1, round(40 * count / most))} {count}", style="dim"))


@data.command()
def dedup(
    train: Annotated[list[Path], typer.Argument(help="Training data.")],
    against: Annotated[
        list[Path] | None, typer.Option(help="Evaluation data to look for in the training data.")
    ] = None,
    threshold: Annotated[float, typer.Option(min=0.05, max=1.0, help="Similarity from which records count.")] = 0.8,
    unit: Annotated[str, typer.Option(help="`auto` (by script), `char` or `word` n-grams.")] = "auto",
    pairs: Annotated[Path | None, typer.Option(help="Write every pair to this JSON lines file.")] = None,
    sample: Annotated[Path | None, typer.Option(help="Write a sample of pairs to label by hand.")] = None,
    labels: Annotated[Path | None, typer.Option(help="A labelled sample: prints the false-positive rate.")] = None,
    write: Write = None,
    removed: Removed = None,
    field: Field = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Exact and near duplicates, and evaluation items inside the training data."""
    from ...tools.data.similar.dedup import dedup as run
    from ...tools.data.similar.dedup import find_matches
    from ...tools.data.similar.leakage import find_leaks
    from ...tools.data.similar.leaked import leak_report
    from ...tools.findings import Report, TriageError, merge

    if unit not in ("auto", "char", "word"):
        raise TriageError(f"no unit {unit!r}: use auto, char or word")
    _both(write, removed)
    with engine_for(engine, address, workers, train, "comparing", 2 if against else 1) as chosen:
        report, matches = run(
            train,
            threshold=threshold,
            unit=unit,
            field=field,
            engine=chosen,
            matcher=getattr(chosen, "find_matches", find_matches),
        )
        leaks = find_leaks(train, against, threshold=threshold, field=field, engine=chosen) if against else None
    if leaks is not None:
        report = merge("data dedup", [report, leak_report(leaks)])
        report = replace(report, checks=tuple(dict.fromkeys(report.checks)))  # both say what was not read
    if labels:
        from ...tools.data.similar.review import false_positive_rate

        report = merge("data dedup", [report, Report("", summary={"review": false_positive_rate(labels)})])
    _write_pairs(pairs, sample, matches, leaks)
    if write and removed:
        _write_clean(train, write, removed, matches, leaks)
    _numbers(report, as_json)
    _finish(report, train, as_json, html, View(lang, verbose))


def _numbers(report: Report, as_json: bool) -> None:
    if as_json:
        return
    s = report.summary
    leaked = f", leaked {s['leaked']} of {s['eval_items']} items ({s['leak_rate']:.2%})" if s.get("eval_items") else ""
    console().print(
        f"{s['records']} records: exact duplicates {s['exact_duplicates']}, near duplicates "
        f"{s['near_duplicates']} ({s['near_duplicate_rate']:.2%}){leaked}\n  unit: {s['unit']}"
    )


def _write_pairs(pairs: Path | None, sample: Path | None, matches: Matches, leaks: Leaks | None) -> None:
    from ...tools.data.cleanup import whole_files
    from ...tools.data.similar.dedup import pair_rows
    from ...tools.data.similar.leaked import leak_rows
    from ...tools.data.similar.review import write_sample

    def rows() -> Iterator[dict[str, Any]]:
        yield from pair_rows(matches)
        yield from leak_rows(leaks) if leaks else ()

    import json

    if pairs:
        with whole_files((), pairs) as (out,):
            for row in rows():
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    if sample:
        with whole_files((), sample) as (out,):
            write_sample(rows(), out)


def _both(write: Path | None, removed: Path | None) -> None:
    from ...tools.findings import TriageError

    if (write is None) != (removed is None):
        raise TriageError("--write and --removed go together: what is left out must be written down")


def _write_clean(train: list[Path], write: Path, removed: Path, matches: Matches, leaks: Leaks | None) -> None:
    from ...tools.data.cleanup import duplicate_removals, leak_removals, whole_files, write_clean

    with whole_files(train, write, removed) as (clean, gone):
        kept, out = write_clean(
            matches.corpus.parts, duplicate_removals(matches), leak_removals(leaks) if leaks else {}, clean, gone
        )
    console(stderr=True).print(f"kept {kept} records in {write}, removed {out}, listed in {removed}")


@data.command()
def pii(
    paths: Paths,
    write: Write = None,
    removed: Removed = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Personal data and secrets; values are masked in every output. --write makes a masked copy."""
    from ...tools.data.pii import pii as run

    _both(write, removed)
    with engine_for(engine, address, workers, paths, "scanning") as chosen:
        report = run(paths, engine=chosen)
    if write and removed:
        from ...tools.data.cleanup import whole_files, write_masked
        from ...tools.data.records.blocks import plan

        with whole_files(paths, write, removed) as (clean, gone):
            total, changed = write_masked(plan(paths), clean, gone)
        console(stderr=True).print(f"wrote {total} records to {write}, {changed} of them masked, listed in {removed}")
    _finish(report, paths, as_json, html, View(lang, verbose))


@data.command()
def preference(
    paths: Paths,
    level: Annotated[str | None, typer.Option(help="Level of measurement: nominal, ordinal, interval, ratio.")] = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Length bias, gaps, length against reward, annotator agreement."""
    from ...tools.data.preference import preference as run
    from ...tools.findings import TriageError

    if level not in (None, "nominal", "ordinal", "interval", "ratio"):
        raise TriageError(f"no level of measurement {level!r}: use nominal, ordinal, interval or ratio")
    with progress("reading"):
        report = run(paths, level=level)
    _finish(report, paths, as_json, html, View(lang, verbose))


@data.command()
def generations(
    paths: Paths,
    before: Annotated[list[Path] | None, typer.Option(help="Answers of an earlier run to the same prompts.")] = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Diversity, loops, stopping, empty and format-gaming answers, growth between two runs."""
    from ...tools.data.generations import generations as run

    with progress("reading"):
        report = run(paths, before=before or ())
    _finish(report, paths, as_json, html, View(lang, verbose))


@data.command()
def codebook(
    paths: Paths,
    size: Annotated[int | None, typer.Option(min=2, help="Codes per level.")] = None,
    before: Annotated[list[Path] | None, typer.Option(help="A dump of an earlier, healthy time.")] = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Use, entropy and balance of the codebook levels in a dump of codes."""
    from ...tools.data.codebook import codebook as run

    with progress("reading"):
        report = run(paths, size=size, before=before or ())
    _finish(report, paths, as_json, html, View(lang, verbose))


@data.command()
def labels(
    paths: Paths,
    tokenizer: Annotated[Path | None, typer.Option(help="Tokenizer folder, for its chat template.")] = None,
    html: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
    lang: Lang = "en",
) -> None:
    """Token labels of a dump with input_ids and labels: masks, end token, padding."""
    from ...tools.data.dumps import read_dump
    from ...tools.data.labels import check_labels, check_tokenizer
    from ...tools.findings import merge

    with progress("reading"):
        reports = [check_labels(read_dump(paths))]
    if tokenizer:
        reports.append(check_tokenizer(tokenizer, chat_data=True))
    _finish(merge("data labels", reports), paths, as_json, html, View(lang, verbose))
