"""The mark that a program looks for to find the answers, against the chat template that renders the samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, declare
from ...patterns import bounded
from ...reading import head
from ...run import Run

CHECK = "the answers' mark in the chat template"
CODES = declare(
    "marks", ("answer-mark-not-in-template", CHECK, "the mark by which answers are found is not in the chat template")
)
BYTES, FILES = 64 << 10, 60
SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".py", ".sh", ".jinja", ".j2", ".txt")
MARK = bounded(
    r"(?i)(?<![a-z])(?:answer|response|assistant|reply|completion|target|output|bot|回答|助手)_?"
    r"(?:start|begin|template|marker|mark|prefix|header|tag|token|delimiter|split|开头|标记)(?:_?(?:str|text|string|token))?"
    r"[\"']?\s{0,3}[:=]\s{0,3}(?:\"([^\"\n]{2,80})\"|'([^'\n]{2,80})'|([^\s,}\"'#][^\n,}#]{1,60}))"
)
PIECE = bounded(r"<[|｜/]?[^<>\s]{2,30}[|｜]?>|\[/?[A-Z]{3,9}\]|#{2,3} ?[A-Za-z一-鿿]{2,20}")
"""What of a mark is a mark: a special token or a heading."""
TEMPLATE = bounded(r"(?i)chat_?template[\"']?\s{0,3}[:=]\s{0,3}")
WORDS = ("start", "begin", "template", "mark", "prefix", "header", "tag", "token", "delimiter", "split", "开头", "标记")


def check_marks(run: Run) -> Report:
    """The marks that configurations and programs name, and whether any template of the run has them."""
    texts = list(_texts(run))
    templates = [(name, found) for name, text in texts if (found := _template(name, text))]
    if not templates:
        return Report("marks", (), (Check(CHECK, "not-applicable"),))
    looked = False
    for name, text in texts:
        for hit in MARK.finditer(text) if any(word in text.lower() for word in WORDS) else ():
            mark = next(g for g in hit.groups() if g).replace("\\n", "\n").strip()
            pieces = PIECE.findall(mark)
            if not pieces:
                continue
            looked = True
            where, template = templates[0]
            if not any(piece.lower().strip() in t.lower() for piece in pieces for _, t in templates):
                line = text.count("\n", 0, hit.start()) + 1
                told = _told(Evidence(name, line, text=hit[0][:120]), Evidence(where, 1), mark, template)
                return Report("marks", (told,), (Check(CHECK, "found"),))
    return Report("marks", (), (Check(CHECK, "clear" if looked else "not-applicable"),))


def _texts(run: Run) -> Iterator[tuple[str, str]]:
    """The small texts of a run, the templates that no reader knows among them."""
    known = [(a.name, a.path) for a in run.artifacts if a.path.suffix.lower() in SUFFIXES and a.kind != "log"]
    beside = [(s.name, run.root / s.name) for s in run.unknown if s.name.lower().endswith(SUFFIXES)]
    for name, path in (*known, *beside)[:FILES]:
        with suppress(TriageError, OSError):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= BYTES:
                yield name, head(path, BYTES).decode("utf-8", "replace")


def _template(name: str, text: str) -> str:
    """The text of a chat template, where the file is or holds one."""
    low = text.lower()
    if name.lower().endswith((".jinja", ".j2")):
        return text if "role" in low or "message" in low else ""
    hit = TEMPLATE.search(text) if "template" in low else None
    after = text[hit.end() : hit.end() + 8000] if hit else ""
    return after if "{%" in after[:4000] and PIECE.search(after) else ""


def _told(place: Evidence, other: Evidence, mark: str, template: str) -> Finding:
    shown = mark.replace("\n", "\\n")
    has = ", ".join(dict.fromkeys(PIECE.findall(template)[:4]))
    return Finding(
        "answer-mark-not-in-template", Severity.S2,
        f"{place.file}:{place.line} finds the answers by {shown}, which the chat template of {other.file} never "
        f"writes (it has {has}): no answer is found, and the labels are whatever the program does then.",
        f"{place.file}:{place.line} 用 {shown} 定位回答，而 {other.file} 的对话模板里没有它（模板中是 {has}）："
        "找不到任何回答，标签取决于程序此时的做法。",
        (place, other), {"mark": shown},
    )  # fmt: skip
