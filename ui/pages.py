"""Reports to attach to a ticket: one HTML file with everything in it, that asks for nothing from outside.

The look is in `report.html`; here is what goes into it. Every text is made clean and escaped on its way into the page,
and the page's own policy forbids scripts and requests, so a run's words stay words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..tools.findings import Check, Finding, Report, TriageError, clean
from ..tools.keeping import reason, whole
from ..tools.phrase import phrases
from ..tools.secrets import visible

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

    from ..agent.answer import Answer
    from ..tools.looking.lines import Excerpt
    from ..tools.run import Run

GENERATOR = "triage report"
"""Stands in every page's head; a file without it is never overwritten."""
EXCERPTS = frozenset({"log", "config", "script", "stack", "metrics"})
"""Kinds of artifacts whose lines are quoted; lines of data sets are not."""
QUOTED = 2
"""Places of one finding whose lines are quoted."""
WORDS = phrases(
    "words of a page",
    ("findings", "What was found", "发现"),
    ("none", "Nothing wrong was found.", "没有发现问题。"),
    ("none-in-part", "Nothing wrong was found in what could be checked; not all could.",
     "在能检查的内容中没有发现问题；并非全部都能检查。"),
    ("none-judged", "Nothing was judged.", "没有可判断的内容。"),
    ("pictures", "Plots", "曲线"),
    ("change", "The one change", "唯一的改动"),
    ("before", "before", "改动前"),
    ("after", "after", "改动后"),
    ("answer", "Answer", "回答"),
    ("checks", "What was looked at", "检查范围"),
    ("question", "Question", "问题"),
    ("run", "Run", "运行"),
    ("case", "Case", "案例"),
    ("made", "Made", "生成时间"),
    ("found", "found something", "有发现"),
    ("clear", "clear", "正常"),
    ("too-short", "too short to judge", "太短，无法判断"),
    ("not-applicable", "nothing to look at", "没有对应文件"),
    ("failed", "could not be checked", "未能检查"),
    ("caption", "Series of the run; F1, F2, ... are the findings below", "运行的指标曲线；F1、F2……即下文的发现"),
    ("skim", "Redacted by triage; read it before you share it.", "已由 triage 脱敏；分享前请再读一遍。"),
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
    caption: str
    svg: str


@dataclass(frozen=True)
class Row:
    """One finding in the page."""

    id: str
    finding: Finding
    message: str
    place: str
    excerpts: tuple[Excerpt, ...]


def answer_page(answer: Answer) -> str:
    """An answer: question, answer, plots, findings with the lines around them, the change side by side, checks."""
    from .plots.figure import series_figure

    d, seen = answer.diagnosis, answer.seen
    drawing = series_figure(seen.table, d.findings, answer.lang) if seen else None
    patch = getattr(answer.proposal, "patch", "")
    lead, _, rest = re.sub(r"```diff\n(?:[^`]++|`(?!``))*+```\n", "", answer.text).partition("\n### ")
    asked = answer.question.strip()
    return _page(
        answer.lang,
        title=clean(asked, 120),
        facts=[
            ("question", asked[:2000] if len(asked) > 120 or "\n" in asked else ""),
            ("run", seen.run.root.name if seen else ""),
            ("case", answer.case),
        ],
        lead=lead,
        rest=f"### {rest}" if rest else "",
        pictures=_pictures([(WORDS["caption"].say(answer.lang), drawing)]),
        rows=list(_rows(d.findings, answer.lang, seen.run if seen else None)),
        diff=list(side_by_side(patch)),
        checks=d.checks,
    )


Figures = Sequence[tuple[str, "Figure | None"]]
"""Captions and pictures."""


def findings_page(report: Report, about: str, figures: Figures = (), run: Run | None = None, lang: str = "en") -> str:
    """The report of one tool.

    Args:
        about: what was looked at, in the person's words (paths).
        run: where the lines around findings are read; without it none are quoted.
        lang: en or zh.
    """
    return _page(
        lang,
        title=f"triage {report.tool}: {about}",
        facts=[],
        lead="",
        rest="",
        pictures=_pictures(figures),
        rows=list(_rows(report.findings, lang, run)),
        diff=[],
        checks=report.checks,
    )


def write(page: str, path: Path) -> None:
    """Write the page whole or not at all; a file that is not a report of triage is never overwritten.

    Raises:
        TriageError: the file is something else, or cannot be written.
    """
    try:
        if path.exists() and GENERATOR not in path.read_bytes()[:400].decode("utf-8", "replace"):
            raise TriageError(f"{path}: exists and is not a report of triage; choose another name")
        with whole(path) as (draft,):
            draft.write_text(page, encoding="utf-8")
    except OSError as error:
        raise TriageError(f"{path}: cannot write it ({reason(error)}); choose a path you may write to") from None


def markdown(text: str) -> str:
    """Markdown as HTML without links, pictures or raw HTML, so that nothing in it can lead or load anywhere."""
    from markdown_it import MarkdownIt

    plain = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    return plain.render(visible(text))


def side_by_side(patch: str) -> Iterator[tuple[str, str, str]]:
    """`(kind, old line, new line)` of a unified diff; kind is `same`, `changed` or `hunk`."""
    old: list[str] = []
    new: list[str] = []
    for line in [*patch.splitlines(), "end"]:
        if line.startswith("-") and not line.startswith("---"):
            old.append(line[1:])
        elif line.startswith("+") and not line.startswith("+++"):
            new.append(line[1:])
        else:
            for i in range(max(len(old), len(new))):
                yield "changed", old[i] if i < len(old) else "", new[i] if i < len(new) else ""
            old, new = [], []
            if line.startswith("@@"):
                yield "hunk", line, ""
            elif line.startswith(" "):
                yield "same", line[1:], line[1:]


def _pictures(figures: Figures) -> list[Picture]:
    from .plots.figure import svg

    return [Picture(caption, svg(figure, caption)) for caption, figure in figures if figure is not None]


def _rows(findings: Sequence[Finding], lang: str, run: Run | None) -> Iterator[Row]:
    from ..tools.looking.lines import excerpts

    files = {a.name: a.path for a in run.artifacts if a.kind in EXCERPTS and a.path.is_file()} if run else {}
    places = [(f, e) for f in findings for e in f.evidence[:QUOTED] if e.file in files and e.line]
    quoted: dict[int, list[Excerpt]] = {}
    for name, path in files.items():
        here = [(f, e) for f, e in places if e.file == name]
        for (finding, _), lines in zip(here, excerpts(path, [e for _, e in here]) if here else (), strict=True):
            quoted.setdefault(id(finding), []).append(lines)
    for i, f in enumerate(findings, 1):
        yield Row(f"F{i}", f, clean(f.say(lang), 800), clean(f.place()), tuple(quoted.get(id(f), ())))


def _page(lang: str, checks: Sequence[Check], **parts: Any) -> str:
    from importlib.metadata import version

    results = ("failed", "found", "clear", "too-short", "not-applicable")
    said = {c.result for c in checks}
    nothing = "none-in-part" if "failed" in said else "none" if said & {"found", "clear"} else "none-judged"
    return _template().render(
        lang="zh" if lang == "zh" else "en",
        nothing=WORDS[nothing].say(lang),
        say={key: phrase.say(lang) for key, phrase in WORDS.items()},
        generator=f"{GENERATOR} {version('llm-triage')}",
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        checks={result: [c for c in checks if c.result == result] for result in results},
        why=lambda check: check.say(lang),
        **parts,
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    env = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    env.filters["markdown"] = lambda text: Markup(markdown(text))
    env.filters["drawn"] = lambda picture: Markup(picture.svg)
    return env.from_string((Path(__file__).parent / "report.html").read_text(encoding="utf-8"))
