"""How a model's reply stands beside triage's own answer: facts and cause printed by code, then its words under a label.

Its text is made inert here: no link, image, markup or control character of it lives. Marks are written into the text
where they belong; nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...tools.patterns import bounded
from ...tools.phrase import phrases
from ...tools.secrets import redact
from ...tools.secrets.inert import inert
from ..narrate.entry import next_check
from .ledger import Ledger
from .marks import Mark, marks, shared
from .reply import Reply, Said

SAID = phrases(
    "beside a model's words",
    ("label", "**Words of the model {model}** (it read only; nothing was run; triage's own answer above stands)",
     "**以下是模型 {model} 的话**（它只读取，没有运行任何东西；以上 triage 自己的回答不变）"),
    ("fact", "measured: {text}", "已测得：{text}"),
    ("cause", "cause, as triage ranks it: {text}", "原因（triage 的判断）：{text}"),
    ("disagrees", "**the model disagrees with the diagnosis**: it holds {other}, triage holds {ours}. "
     "What decides: {check}",
     "**模型与诊断意见不同**：模型认为是 {other}，triage 认为是 {ours}。可由此判定：{check}"),
    ("answer", "{text}", "{text}"),
    ("because", "because: {text}", "理由：{text}"),
    ("general", "general knowledge, not of this run: {text}", "一般知识，与本次运行无关：{text}"),
    ("explain", "explained: {text}", "解释：{text}"),
    ("next", "the model's suggestion, not triage's proposal: {text}", "模型的建议，不是 triage 的方案：{text}"),
    ("unknown", "not known: {text}", "未知：{text}"),
    ("number", "[in no evidence]", "[证据中没有]"),
    ("file", "[no such file here]", "[此处没有该文件]"),
    ("name", "[not named in the evidence]", "[证据中没有此名称]"),
    ("elsewhere", "[in {id}, not cited]", "[在 {id} 中，未引用]"),
)  # fmt: skip

AROUND, MOST = 30, 3
"""Letters of a row around a number that a statement tells of it, and such stretches of one row."""
_ADDRESS = bounded(
    r"(?i)(?:\b[a-z][a-z0-9+.-]{1,12}://|\b(?:javascript|data|vbscript|mailto|file):|\bwww\.)[^\s<>\"')\]，。；、]{2,400}"
)


@dataclass(frozen=True)
class Shown:
    """The second tier of an answer."""

    text: str
    """Markdown."""
    statements: int
    marked: int
    """Statements with a mark."""


def display(reply: Reply, ledger: Ledger, model: str) -> Shown:
    """The reply as it is shown: the label, the facts, the cause, then each statement with its citations."""
    lang, marked, lines = ledger.answer.lang, 0, list[str]()
    lines += [_item("fact", ledger.rows[id].said(), lang) for id in reply.facts]
    lines += _cause(reply, ledger)
    for said in (one.model_copy(update={"text": redact(one.text)}) for one in reply.say):
        found = marks(said, ledger)
        marked += bool(found)
        kind = "general" if said.kind == "because" and not said.cites else said.kind
        kind = "general" if said.kind == "explain" and not said.cites else kind
        lines.append(_item(kind, _marked(said, found, lang) + _cited(said, ledger, reply.facts), lang))
    label = SAID["label"].say(lang, model=inert(model)[:80])
    return Shown("\n".join((label, "", *lines)), len(reply.say), marked)


def _item(kind: str, text: str, lang: str) -> str:
    return f"- {SAID[kind].say(lang, text=inert(text) if kind == 'fact' else text)}"


def _cause(reply: Reply, ledger: Ledger) -> Iterator[str]:
    """The cause with the status that code gives it; where the model holds another, the disagreement."""
    if reply.cause is None:
        return
    lang, row = ledger.answer.lang, ledger.rows[reply.cause]
    yield _item("cause", inert(row.said()), lang)
    if ledger.leader and reply.cause != ledger.leader:
        hypotheses = ledger.answer.diagnosis.hypotheses
        other = hypotheses[int(reply.cause[1:]) - 1]
        check = other.entry.check_first.say(lang) or next_check(ledger.answer.diagnosis, lang)
        ours = hypotheses[0].entry.id
        yield f"- {SAID['disagrees'].say(lang, other=f'`{other.entry.id}`', ours=f'`{ours}`', check=check)}"


def _marked(said: Said, found: list[Mark], lang: str) -> str:
    """The text with its marks behind what they are about; of an address, which is made inert as a whole, behind it."""
    out, at = "", 0
    links = [m.span() for m in _ADDRESS.finditer(said.text)]
    notes: dict[tuple[int, str], None] = {}
    for mark in found:
        note = SAID["elsewhere" if mark.elsewhere else mark.what].say(lang, id=mark.elsewhere)
        notes[next((z for a, z in links if a < mark.end < z), mark.end), note] = None
    for end, note in notes:
        out += inert(said.text[at:end]).rstrip() + note
        out += " " if said.text[end : end + 1].isspace() else ""
        at = end
    return out + inert(said.text[at:])


def _cited(said: Said, ledger: Ledger, told: Sequence[str]) -> str:
    """The citations, each with the place that it leads to and, where the statement tells a number of a row that is not
    told in full above, the row's own words about it: what was measured stands beside what is made of it."""
    own = {id: "" if id in told else _own(said, ledger.rows[id].text) for id in said.cites}
    cites = [f"{id} {ledger.rows[id].place}".strip() + words for id, words in own.items()]
    return f" ({inert('; '.join(cites))})" if cites else ""


def _own(said: Said, row: str) -> str:
    """The row's words around the numbers that a statement shares with it."""
    windows = list[list[int]]()
    for start, end in shared(said, row):
        if windows and start - AROUND <= windows[-1][1]:
            windows[-1][1] = end + AROUND
        else:
            windows.append([max(0, start - AROUND), end + AROUND])
    return "".join(f" “…{' '.join(row[a:z].split())}…”" for a, z in windows[:MOST])
