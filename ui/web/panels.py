"""Answers, verdicts and cases as HTML. Templates escape everything that they are given.

A panel is drawn from the public JSON of an answer, so that a case of last week looks like the one just asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...agent.acceptance.verify import Verdict
from ...agent.casebook import Case
from ...agent.evidence import Look
from ...agent.narrate.entry import criterion
from ...agent.narrate.sources import cite
from ...agent.narrate.verdict import Row, reason, rows
from ...agent.narrate.words import WORDS as NARRATED
from ...knowledge.runbook import Runbook
from ...tools.data.dumps import IGNORED, Dump
from ...tools.findings import Evidence, Finding, Severity, TriageError
from ...tools.looking.lines import Excerpt
from ...tools.run import Run
from ..plots.live import WORDS as PLOTTED
from ..plots.live import compared_picture, series_picture
from .desk import FILES_LIMIT
from .words import WORDS

if TYPE_CHECKING:
    from jinja2 import Environment

SEQUENCES_SHOWN, TOKENS_SHOWN = 8, 400
"""Of a token dump, and of each sequence."""
TOKENIZER_LIMIT = 64 << 20
"""Largest tokenizer file that is read, in bytes."""


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, lang: str, **values: Any) -> str:
    """The template with these values; `t(key)` in it gives the words of the interface."""
    page = _templates().get_template(f"{name}.html")
    return page.render(t=lambda key, **v: WORDS[key].say(lang, **v), lang=lang, **values)


def head(
    view: Mapping[str, Any] | None,
    runbook: Runbook,
    lang: str,
    case: str = "",
    loading: bool = False,
    judged: str = "",
    runs: Sequence[str] = (),
    tabs: Collection[str] = (),
) -> str:
    """The diagnosis in one glance: cause, the finding that carries it, the one change, what became of it.

    Args:
        view: the answer, None before the first.
        runbook: names the cause in the language of the page.
        lang: en or zh.
        case: its id.
        loading: whether an answer is on its way.
        judged: the last verdict of the case.
        runs: names of its runs, for the title of the page.
        tabs: those that have something to show.
    """
    top = view["hypotheses"][0] if view and view["hypotheses"] else None
    named = [id for id in top["for"] if view] if top else []
    failed = [c for c in view["checks"] if c["result"] == "failed"] if view else []
    healthy = bool(view) and view["state"] == "healthy"
    telling = (
        f for f in (view["findings"] if view else ()) if (f["severity"] != "S3" if healthy else f["id"] in named)
    )
    strongest = next(telling, None)
    cause = _cause(runbook, top["entry"], lang) if view and top and view["state"] == "diagnosed" else ""
    return render(
        "head", lang, view=view, top=top, failed=failed, case=case, loading=loading, judged=judged, strongest=strongest,
        cause=cause or (top["title"] if top else ""), title=_titled(cause, runs) if view else "", share=share,
        proposal=view["proposal"] if view else None, tabs=" ".join(sorted(tabs)),
    )  # fmt: skip


def share(probability: float) -> str:
    """A probability as a percentage that is never none at all."""
    return "<1%" if 0 < probability < 0.01 else f"{100 * probability:.0f}%"


def _cause(runbook: Runbook, id: str, lang: str) -> str:
    entry = runbook.get(id)
    return entry.title.say(lang) if entry else ""


def _titled(cause: str, runs: Sequence[str], question: str = "") -> str:
    """What a case is called: its cause and its run, else what was asked."""
    return " · ".join(filter(None, (cause or question, ", ".join(runs[:2])))) if cause or not question else question


def with_content(view: Mapping[str, Any] | None, paths: Sequence[Path]) -> set[str]:
    """The tabs that have something to show."""
    if not view:
        return {"evidence"}
    read = view.get("coverage", ())
    there = {
        "evidence": True,
        "causes": bool(view["hypotheses"]),
        "change": bool(view["proposal"] or view["no_proposal"]) and view["state"] != "out-of-scope",
        "plots": any(c["points"] > 1 for c in read),
        "verify": bool(paths) and bool(view["hypotheses"]),
        "labels": any(c["read_as"] in ("data", "generations") for c in read),
    }
    return {name for name, has in there.items() if has}


def findings(
    view: Mapping[str, Any] | None,
    lang: str,
    picked: str = "",
    excerpts: Sequence[Excerpt] = (),
    problem: str = "",
) -> str:
    """Findings as buttons, worst first, the picked one with the log lines around its places; what was looked at."""
    groups: dict[str, list[Any]] = {name: [] for name in ("failed", "found", "clear", "too-short", "not-applicable")}
    for check in view["checks"] if view else ():
        groups[check["result"]].append(check)
    found = next((f for f in view["findings"] if f["id"] == picked), None) if view else None
    place = next(iter(found["evidence"]), None) if found else None
    return render(
        "findings", lang, view=view, groups=groups, picked=picked, excerpts=excerpts, problem=problem,
        plotted=bool(place and place["metric"] and place["step"] is not None), show_plot=PLOTTED["show"].say(lang),
    )  # fmt: skip


def causes(view: Mapping[str, Any] | None, runbook: Runbook, lang: str) -> str:
    """The differential with what speaks for and against each cause."""
    rows = []
    for h in view["hypotheses"] if view else ():
        entry = runbook.get(h["entry"])
        cause = next((c for c in entry.causes if c.id == h["cause"]), None) if entry else None
        sources = [cite(source, lang) for source in entry.cited] if entry else []
        title = entry.title.say(lang) if entry else h["title"]
        rows.append(dict(h, title=title, how=cause.text.say(lang) if cause else "", sources=sources))
    codes = {f["id"]: f["code"] for f in view["findings"]} if view else {}
    own = [c for c in view["citations"] if c.get("own")] if view else []
    return render("causes", lang, view=view, rows=rows, codes=codes, own=own, share=share)


def change(view: Mapping[str, Any] | None, runbook: Runbook, lang: str) -> str:
    """The one change as a side-by-side diff, why, and how to tell that it worked."""
    proposal = view["proposal"] if view else None
    entry = runbook.get(proposal["entry"]) if proposal else None
    return render(
        "change",
        lang,
        view=view,
        p=proposal,
        hidden=NARRATED["hidden"].say(lang).replace("`", ""),
        rows=side_by_side(proposal["patch"]) if proposal else [],
        acceptance=[criterion(c, lang).replace("`", "") for c in entry.acceptance] if entry else [],
        cautions=view["cautions"] if view and proposal else [],
    )


Side = tuple[int | None, str, str]
"""Line number, `same`, `gone` or `come`, text."""


def side_by_side(patch: str) -> list[tuple[Side, Side]]:
    """The rows of a unified diff: old on the left, new on the right."""
    rows: list[tuple[Side, Side]] = []
    gone: list[Side] = []
    come: list[Side] = []
    old = new = 0

    def flush() -> None:
        empty: Side = (None, "none", "")
        rows.extend(zip_longest(gone, come, fillvalue=empty))
        gone.clear()
        come.clear()

    for line in patch.splitlines():
        if line.startswith(("--- ", "+++ ")) and not old:
            continue
        if line.startswith("@@"):
            flush()
            old, new = (abs(int(part.split(",")[0])) for part in line.split()[1:3])
        elif line.startswith("-"):
            gone.append((old, "gone", line[1:]))
            old += 1
        elif line.startswith("+"):
            come.append((new, "come", line[1:]))
            new += 1
        elif not line.startswith("\\"):
            flush()
            rows.append(((old, "same", line[1:]), (new, "same", line[1:])))
            old, new = old + 1, new + 1
    flush()
    return rows


def verdict(v: Verdict | None, lang: str, problem: str = "", loading: bool = False) -> str:
    """What the next run proves."""
    sentence = reason(v, lang) if v else ""
    told = [Row(*(part.replace("`", "") for part in row)) for row in rows(v, lang)] if v else []
    return render("verdict", lang, v=v, sentence=sentence, rows=told, problem=problem, loading=loading)


def plots(look: Look | None, view: Mapping[str, Any] | None, lang: str, after: Look | None = None) -> str:
    """The series with bad steps, spikes and attempts; with `after`, those of the next run in the same panels."""
    picture = ""
    if look and view and after:
        picture = compared_picture(look.table, after.table, as_findings(view), lang)
    elif look and view:
        picture = series_picture(look.table, as_findings(view), lang)
    return render("plots", lang, view=view, picture=picture)


def as_findings(view: Mapping[str, Any]) -> list[Finding]:
    """The findings of an answer's JSON as objects again."""
    return [
        Finding(
            f["code"],
            Severity(f["severity"]),
            f["message"],
            evidence=tuple(Evidence(**{**e, "value": _number(e["value"])}) for e in f["evidence"]),
            data=f["data"],
        )
        for f in view["findings"]
    ]


def _number(value: object) -> Any:
    return float(value) if value in ("nan", "inf", "-inf") else value


def labels(dump: Dump | None, run: Run | None, lang: str) -> str:
    """Which tokens the loss is on, sequence by sequence."""
    words = _decoder(run) if dump and run else None
    rows = []
    for s in dump.sequences[:SEQUENCES_SHOWN] if dump else ():
        on = s.labels != IGNORED
        tokens = [
            (words(int(i)) if words else str(int(i)), bool(t))
            for i, t in zip(s.ids[:TOKENS_SHOWN], on[:TOKENS_SHOWN], strict=True)
        ]
        place = f"{s.file}:{s.line}"
        rows.append({"place": place, "share": float(on.mean()), "tokens": tokens, "more": len(on) - len(tokens)})
    return render("labels", lang, dump=dump, rows=rows, ids=words is None, summary=_labels_summary(dump, lang))


def _labels_summary(dump: Dump | None, lang: str) -> str:
    if not dump or not dump.sequences:
        return ""
    total = sum(len(s.ids) for s in dump.sequences)
    trained = sum(int((s.labels != IGNORED).sum()) for s in dump.sequences)
    return WORDS["labels-sum"].say(lang, share=trained / max(total, 1), tokens=total, n=len(dump.sequences))


def _decoder(run: Run) -> Any:
    """`id -> text` by the run's own tokenizer.json, None without a readable one."""
    from tokenizers import Tokenizer

    for artifact in run.of("tokenizer"):
        if artifact.path.name == "tokenizer.json" and artifact.path.stat().st_size <= TOKENIZER_LIMIT:
            try:
                tokenizer = Tokenizer.from_file(str(artifact.path))
            except Exception:  # the library has no error class of its own; ids are shown instead
                continue
            return lambda id: tokenizer.decode([id], skip_special_tokens=False) or tokenizer.id_to_token(id) or str(id)
    return None


def token_dump(run: Run) -> Dump | None:
    """The first dump of input_ids and labels among the run's data files: its head, a few megabytes at most."""
    from ...tools.data.dumps import read_dump
    from ...tools.data.records.blocks import plan

    for artifact in run.of("data", "generations"):
        try:
            dump = read_dump(plan([artifact.path])[:1])
        except TriageError:
            continue
        if dump.sequences:
            return dump
    return None


def cases(found: Sequence[Case], runbook: Runbook, lang: str, current: str = "", searched: bool = False) -> str:
    """The case list; `searched` tells an empty result from an empty book."""
    rows = [(c, _titled(_cause(runbook, c.cause, lang), [Path(r).name for r in c.runs], c.question)) for c in found]
    return render("cases", lang, cases=rows, current=current, searched=searched)


def reads(names: Sequence[str], lang: str, problem: str = "") -> str:
    """What the next question reads."""
    return render("reads", lang, names=names, problem=problem)


def line(labels: Sequence[str], lang: str) -> str:
    """What waits to be answered."""
    return render("line", lang, labels=labels)


def upload(lang: str) -> str:
    """The buttons that upload a folder or files."""
    return render("upload", lang, limit=FILES_LIMIT)
