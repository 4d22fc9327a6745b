"""Reports to attach to a ticket: one HTML file with everything in it, that asks for nothing from outside.

The look is in `report.html`; here is what goes into it. Every text is made clean and escaped on its way into the page,
and the page's own policy forbids requests and every script but the one that draws its plots: a run's words stay words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agent.narrate.verdict import changes, headline, rows
from ..agent.narrate.words import RESULTS
from ..agent.narrate.words import WORDS as NARRATED
from ..agent.propose import Nothing
from ..tools.findings import Check, Report, TriageError, clean
from ..tools.keeping import reason, whole
from ..tools.phrase import phrases
from ..tools.secrets import visible
from .quoted import Place, places

if TYPE_CHECKING:
    from jinja2 import Template

    from ..agent.acceptance.verify import Verdict
    from ..agent.answer import Answer
    from ..agent.evidence import Look
    from ..tools.run import Run
    from .plots.live import Picture

GENERATOR = "triage report"
"""Stands in every page's head; a file without it is never overwritten."""
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
    ("notes", "{n} more of lower grade", "另有 {n} 条较轻的发现"),
    ("also-in", "also in", "另见"),
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
    ("criteria", "What must hold", "验收条件"),
    ("criterion", "criterion", "条件"),
    ("result", "result", "结果"),
    ("value", "value", "数值"),
    ("points", "points", "点数"),
    ("baseline", "Baseline", "基线"),
    ("candidate", "Next run", "新运行"),
    ("entry", "Runbook entry", "手册条目"),
    ("baseline-shows", "What the baseline shows", "基线中看到的"),
    ("next-shows", "What the next run shows", "新运行中看到的"),
    ("next-checks", "What was looked at in the next run", "对新运行的检查范围"),
    ("both-runs", "Both runs over each other; F1, F2, ... are the findings of the baseline",
     "两次运行叠加；F1、F2……是基线中的发现"),
    ("skim", "Redacted by triage; read it before you share it.", "已由 triage 脱敏；分享前请再读一遍。"),
)  # fmt: skip


def answer_page(answer: Answer) -> str:
    """An answer: its headline, the one change, plots, findings by place, and the rest folded."""
    from .plots.live import of_series

    d, seen, lang = answer.diagnosis, answer.seen, answer.lang
    text = answer.text.removesuffix(visible(answer.beside)) if answer.beside else answer.text
    told, folded = sections(text)
    if isinstance(answer.proposal, Nothing) and d.state == "diagnosed":
        told = NARRATED["no-change"].say(lang, why=answer.proposal.say(lang))
    asked = answer.question.strip()
    return _page(
        lang,
        title=clean(asked, 120),
        facts=[
            ("question", asked[:2000]),
            ("run", seen.run.root.name if seen else ""),
            ("case", answer.case),
        ],
        headline=answer.head[0] if answer.head and not answer.only else text,
        lead="" if answer.only else "\n".join(f"- {line}" for line in answer.head[1:]),
        opened=told,
        beside=answer.beside,
        folded=folded,
        pictures=of_series(WORDS["caption"].say(lang), seen.table, d.findings, lang) if seen else [],
        **_graded(places(d.findings, lang, seen.run if seen else None)),
        diff=list(side_by_side(getattr(answer.proposal, "patch", ""))),
        checks=d.checks,
    )


def findings_page(
    report: Report, about: str, pictures: Sequence[Picture] = (), run: Run | None = None, lang: str = "en"
) -> str:
    """The report of one tool.

    Args:
        report: what was found.
        about: what was looked at, in the person's words (paths).
        pictures: what is drawn of it.
        run: where the lines around findings are read; without it none are quoted.
        lang: en or zh.
    """
    worst = min(report.findings, key=lambda f: f.severity, default=None)
    return _page(
        lang,
        title=f"triage {report.tool}: {about}",
        facts=[("run", about)],
        headline=f"{worst.severity} `{worst.code}`: {clean(worst.say(lang), 400)}" if worst else "",
        lead="",
        opened="",
        beside="",
        folded=[],
        pictures=pictures,
        **_graded(places(report.findings, lang, run)),
        diff=[],
        checks=report.checks,
    )


def verdict_page(v: Verdict, before: Look, after: Look, lang: str = "en", case: str = "") -> str:
    """A verdict: its headline, what changed, the criteria with their numbers, both runs over each other, and what
    either shows."""
    from .plots.live import compared_panels, of_panels

    shown = [f for f in after.findings if f.severity != "S3"]
    told = [f"- {f.severity} `{f.code}`: {clean(f.say(lang), 400)} ({clean(f.place())})" for f in shown]
    title = "triage verify: " + clean(f"{before.run.root.name} → {after.run.root.name}", 120)
    return _page(
        lang,
        title=title,
        facts=[("baseline", v.baseline), ("candidate", v.candidate), ("entry", v.entry.id), ("case", case)],
        headline=headline(v, lang),
        lead="\n".join(changes(v, lang)),
        opened="",
        beside="",
        judged=[(row, RESULTS[row.result].say(lang)) for row in rows(v, lang)],
        folded=[(WORDS["next-shows"].say(lang), "\n".join(told) or WORDS["none"].say(lang))],
        pictures=of_panels(
            WORDS["both-runs"].say(lang), compared_panels(before.table, after.table, before.findings, lang), lang
        ),
        **_graded(places(before.findings, lang, before.run)),
        diff=[],
        checks=after.checks,
        titles=(("findings", "baseline-shows"), ("checks", "next-checks")),
    )


def _graded(found: Sequence[Place]) -> dict[str, Any]:
    """The places of what is more than a note, and those of notes alone."""
    grave = [p for p in found if any(row.finding.severity != "S3" for row in p.rows)]
    return {"grave": grave, "slight": [p for p in found if p not in grave]}


def sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Of an answer's Markdown: what stands open, and title and text of what is folded.

    What the page shows in a form of its own is left out.
    """
    told, folded = list[str](), list[tuple[str, str]]()
    plain = re.sub(r"```diff\n(?:[^`]++|`(?!``))*+```\n", "", text)
    for section in re.split(r"^### ", plain, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        key = section_of(title)
        if key == "change":
            told.append(body.strip())
        elif key == "acceptance":
            told.append(f"### {section.strip()}")
        elif key not in ("shows", "looked"):
            folded.append((title.strip(), body.strip()))
    return "\n\n".join(told), folded


def section_of(title: str) -> str:
    """The key of a section of an answer by its title, in either language; empty for another."""
    for key in ("shows", "causes", "conflicts", "change", "acceptance", "cautions", "own", "looked", "sources"):
        for lang in ("en", "zh"):
            known = NARRATED[key].en if lang == "en" else NARRATED[key].zh
            if title.startswith(known.removeprefix("### ").partition("{")[0]):
                return key
    return ""


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


def markdown(text: str, inline: bool = False) -> str:
    """Markdown as HTML without links, pictures or raw HTML, so that nothing in it can lead or load anywhere."""
    from markdown_it import MarkdownIt

    plain = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
    return plain.renderInline(visible(text)) if inline else plain.render(visible(text))


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


def _page(
    lang: str,
    headline: str,
    checks: Sequence[Check],
    judged: Sequence[Any] = (),
    titles: Sequence[tuple[str, str]] = (),
    **parts: Any,
) -> str:
    from importlib.metadata import version

    from .plots.live import WORDS as PLOTTED
    from .plots.live import permit, script, style

    words = PLOTTED | WORDS
    results = ("failed", "found", "clear", "too-short", "not-applicable")
    said = {c.result for c in checks}
    nothing = "none-in-part" if "failed" in said else "none" if said & {"found", "clear"} else "none-judged"
    live = any(picture.live for picture in parts["pictures"])
    return _template().render(
        lang="zh" if lang == "zh" else "en",
        headline=headline or WORDS[nothing].say(lang),
        nothing=WORDS[nothing].say(lang),
        say={key: words[key].say(lang) for key in words} | {key: words[of].say(lang) for key, of in titles},
        judged=judged,
        generator=f"{GENERATOR} {version('llm-triage')}",
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        checks={result: [c for c in checks if c.result == result] for result in results},
        why=lambda check: check.say(lang),
        live=live,
        policy=f"script-src {permit()}; " if live else "",
        script=script() if live else "",
        plot_style=style() if live else "",
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
    env.filters["inline"] = lambda text: Markup(markdown(text, inline=True))
    env.filters["drawn"] = lambda picture: Markup(picture.svg)
    env.filters["ours"] = Markup
    return env.from_string((Path(__file__).parent / "report.html").read_text(encoding="utf-8"))
