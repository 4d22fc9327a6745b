"""The settings that a program prints when it starts, found in the text of its console log.

A dump is one of: a literal (`Namespace(...)`, `config: {...}`, over one line or many), `key ..... value` lines, a drawn
table, a block of `key: value` lines, or one line of several pairs. Whether its keys are settings decides the caller.
Prefixes of loggers and colours are blanked out, so that every offset is that of the log.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...patterns import bounded
from ..syntax.source import PRINTED, Item
from . import literal


@dataclass
class Dump:
    """Pairs that were printed together."""

    title: str
    """The words in front of it, without numbers: dumps of one title are the same one of several starts."""
    kind: str
    """literal, dotted, table, block, line."""
    start: int
    items: list[Item] = field(default_factory=list)
    named: bool = False
    """The title says that these are settings."""
    made_by: str = ""
    """The class that a literal names."""


NAMED = bounded(
    r"(?i)config|\bcfg\b|(?<!kw)arg(?:ument)?s\b|param(?:eter)?s\b|hparams|\boptions?\b|settings?\b"
    r"|\bflags\b|namespace|munch|recipe|running training|training setup|配置|参数|設定|设置|超参"
)
OTHERS = bounded(
    r"""(?ix)(?<!non-)(?<!non\ )\bdefaults?\b | \bprevious | \bearlier\b | \bold\b | \blast\ run\b | \binherit
    | checkpoint\ (?:arg|config) | from\ (?:the\ )?(?:checkpoint|ckpt) | \bcritic\b | \breference\b | \bref[ _]
    | \bteacher\b | \bjudge\b | \bdraft\b | \btokenizer\b | \bgenerat(?:e|ion)[ _]?config | parameter\ group
    | \beval(?:uation)?[ _](?:arg|config|param|setting) | reward[ _]model | 默认 | 上次 | 之前 | 旧 | 评测 | 教师"""
)
"""What is in force no more, was never, or belongs to another model or to measuring."""
METRIC = bounded(
    r"(?i)(?:(?:train|val|valid|eval|test|lm|avg|mean|total)[ _/.]?)?loss|(?:grad|gradient)[ _]?norm|gnorm"
    r"|acc(?:uracy)?|ppl|perplexity|eta|elapsed|(?:global[ _])?steps?_?time|iter(?:ation)?|(?:global[ _])?step|mfu"
    r"|tok(?:ens?)?[_ /](?:per[_ ])?s(?:ec)?|train_runtime|损失"
)
COUNTER = bounded(r"(?i)epoch|batch|step|iter|iteration|轮次|步")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_PREFIX = bounded(
    r"""(?:\[(?!\d+\s*[,\]])[^\]'"\n{(=]{1,120}\]{1,2}:?(?=\s*\S)
    | \(?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\d.,+Z]*\)?
    | \d\d[-/]\d\d(?:[-/]\d{4})?\ \d\d:\d\d:\d\d[\d.,]* | \d\d:\d\d:\d\d[\d.,]*
    | [IWE]\d{4}\ [\d:.]+\s+\d+\ [\w.]+:\d+\] | (?:INFO|WARN(?:ING)?|DEBUG|NOTICE)\b:?
    | (?:rank|worker|node|gpu)[ _-]?\d{1,5}\b\s?[:|]? | \[?[\w.]{1,80}\.py:\d+\]? | wandb:
    | \((?:[\w.:@-]{1,60}\ )?pid=\d+[^)\n]{0,80}\) | >> )\s*""",
    re.VERBOSE,
)
_BEHIND = bounded(r"(?:[\w.]{1,60}\s-\s|[-|:]\s|>>\s)\s*")
"""What may stand behind a clock or level alone."""
_OPENED = bounded(
    r"""(?P<call>\b[A-Za-z_][\w.]{0,80})\((?=\s{0,80}[A-Za-z_]\w*=)
    | (?<![\w.$]){(?=\s{0,80}(?:['"][A-Za-z_][\w.\-/ ]*['"]|[A-Za-z_]\w*)\s?:)""",
    re.VERBOSE,
)  # fmt: skip
_KEY = r"[A-Za-z_\u4e00-\u9fff][\w./\-]{0,60}(?:[ ][\w./\-()+&,]{1,40}){0,8}?"
_DOTTED = bounded(rf"\s{{0,400}}(?:--)?({_KEY})\s*\.{{3,300}}\s*(\S[^\n]{{0,400}})")
_BAR = "|│┃║"
_CELLS = bounded(rf"\s{{0,400}}[{_BAR}]?([^{_BAR}\n]+(?:[{_BAR}][^{_BAR}\n]*)+?)[{_BAR}]?\s*")
_RULE = re.compile(r"[\s\-=_*#+|─-╿]{3,}+$")
_PAIR = bounded(rf"(\s{{0,400}}(?:[-*•·]\s+|--)?)({_KEY})\s*(?:[:=：]|=>)(?:\s+|(?=[^\s:=/\\]))(\S[^\n]{{0,400}})")
_COLUMN = bounded(r"(\s{0,400})([a-z][\w.]{1,60})\s{2,80}(\S{1,200})")
_SECTION = bounded(r"(\s{0,400}(?:[-*•]\s+)?)([A-Za-z_][\w.\-]{0,60})\s*:\s*")
_INLINE = bounded(
    r"""(?<![\w.\-])([A-Za-z_][\w.\-]{0,60})\s?[=:]\s?"""
    r"""('[^'\n]{0,200}'|"[^"\n]{0,200}"|[^\s,;|'"(){}=]{1,200})(?=[\s,;|)]|$)"""
)
_PIECE = bounded(rf"\s*({_KEY})\s*[:=]\s*([^\s:=]{{1,200}})\s*\.?")
_NUMBER = bounded(r"-?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_VALUE_HEADS = frozenset(("value", "values", "setting", "current", "used", "值", "取值", "设置", "当前值"))
COMMAND = bounded(
    r"""(?:^|[=\s$+>'"`])((?:[\w.\-~]*/[\w./\-~]{0,200}/)?(?:python3?|torchrun|accelerate|deepspeed|srun|mpirun|vllm|swift|xtuner
    |llamafactory-cli|(?:[\w\-]*train[\w\-]*|run|launch)\.sh)(?=\s)[^\n]{0,4000}?\s--?[A-Za-z][^\n]{0,6000})$""",
    re.VERBOSE | re.MULTILINE,
)
"""A command with flags, as a launcher or `set -x` prints it."""
SUGGESTED = bounded(r"(?i)usage|example|\be\.g\.|\btry\b|please|hint|instead|\bcan (?:be )?run|用法|例如|建议|请")
"""Words in front of a command that nobody has run."""
MOST_OPENED = 400
"""Opening brackets that are tried in one log: every one costs the length of what it holds."""


def read(text: str) -> Iterator[Dump]:
    """Every group of pairs of the text, in its order within each kind."""
    bare = blanked(text)
    lines = _lines(bare)
    taken: list[tuple[int, int]] = []
    for dump, end in _literals(bare):
        taken.append((dump.start, end))
        yield dump
    starts = [a for a, _ in taken]  # they follow each other: the last that begins before a line ends can reach into it
    free = [line for line in lines if not (i := bisect_left(starts, line[1])) or taken[i - 1][1] <= line[0]]
    yield from _groups(bare, free)
    yield from _single(bare, free)


def commands(text: str) -> Iterator[tuple[int, str]]:
    """Offset and text of the commands that were started."""
    bare = blanked(text)
    for match in COMMAND.finditer(bare):
        before = bare[bare.rfind("\n", 0, match.start(1)) + 1 : match.start(1)]
        if not SUGGESTED.search(before):
            yield match.start(1), match[1]


def blanked(text: str) -> str:
    """The text with colours and what loggers put in front as blanks."""
    text = _COLOUR.sub(lambda m: " " * len(m[0]), text)
    out = []
    for line in text.split("\n"):
        at = _prefix(line)
        out.append(" " * at + line[at:])
    return "\n".join(out)


def _prefix(line: str) -> int:
    at = len(line) - len(line.lstrip())
    start = at
    for _ in range(8):
        match = _PREFIX.match(line, at) or (_BEHIND.match(line, at) if at > start else None)
        if not match or match.end() == at:
            break
        at = match.end()
    if at == start:
        return 0
    # the blanks behind a prefix are the indentation of what stands there
    while at > start + 1 and line[at - 1] == " " and line[at - 2] == " ":
        at -= 1
    return at


def _lines(text: str) -> list[tuple[int, int]]:
    out, at = [], 0
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        out.append((at, end))
        at = end + 1
    return out


def _title(text: str, start: int, lines: int = 3) -> str:
    """The words before an offset: of its line, else of the nearest of some lines above that says something."""
    line = text.rfind("\n", 0, start) + 1
    words = text[line:start].strip()
    above = line - 1
    for _ in range(lines):
        if words or above <= 0:
            break
        line = text.rfind("\n", 0, above) + 1
        words = text[line:above].strip(" \t\r=-*#─━")
        above = line - 1
    return re.sub(r"\d+", "", words[-120:]).strip(" \t:=-").lower()


def _literals(text: str) -> Iterator[tuple[Dump, int]]:
    past = 0
    for tried, match in enumerate(_OPENED.finditer(text)):
        if tried >= MOST_OPENED:
            return
        if match.start() < past:
            continue
        items, end = literal.read(text, match.end() - 1, len(text))
        if len(items) < 2:
            continue
        past = end
        call = match["call"] or ""
        told = bool(NAMED.search(call))
        title = f"{call.lower()} {_title(text, match.start(), 0 if told else 3)}".strip()
        yield Dump(title, "literal", match.start(), items, bool(NAMED.search(title[-80:])), call), end


def _groups(text: str, lines: list[tuple[int, int]]) -> Iterator[Dump]:
    """Neighbouring lines of one form."""
    group: list[tuple[int, int, re.Match[str]]] = []
    form = ""
    for start, end in [*lines, (len(text), len(text))]:
        line = text[start:end].rstrip()
        found, match = _form(line, form)
        passes = form and not found and (not line.strip() or _RULE.match(line)) and start < len(text)
        if passes and form != "block":
            continue
        if found != form or (group and text.count("\n", group[-1][1], start) > 2):
            yield from _made(text, form, group)
            group, form = [], found
        if match:
            group.append((start, end, match))


def _form(line: str, before: str) -> tuple[str, re.Match[str] | None]:
    if len(line) > 600 or not line.strip():
        return "", None
    if match := _DOTTED.fullmatch(line):
        return "dotted", match
    if any(bar in line for bar in _BAR) and not _RULE.match(line) and (match := _CELLS.fullmatch(line)):
        return "table", match
    if (match := _PAIR.fullmatch(line)) or (match := _SECTION.fullmatch(line)):
        return "block", match
    if match := _COLUMN.fullmatch(line):
        return "columns", match
    return "", None


def _made(text: str, form: str, group: list[tuple[int, int, re.Match[str]]]) -> Iterator[Dump]:
    if len(group) < 3:
        return
    start = group[0][0]
    items = list(_table(group) if form == "table" else _nested(group) if form == "block" else _flat(group))
    title = _title(text, start)
    if form == "block" and len(items) < len(group) and group[0][2].re.pattern == _SECTION.pattern:
        title = f"{title} {group[0][2][2].lower()}"
    yield Dump(title, form, start, items, bool(NAMED.search(title)))


def _item(key: str, text: str, start: int) -> Item:
    text = text.strip()
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    bare = text[1:-1] if quoted else text.rstrip(",;")
    none = bare.lower() in ("none", "null", "n/a", "-", "")
    return Item(key, None if none else bare, PRINTED, start, start + len(text), quoted)


def _flat(group: list[tuple[int, int, re.Match[str]]]) -> Iterator[Item]:
    for start, _, match in group:
        last = match.lastindex or 0
        yield _item(match[last - 1], match[last], start + match.start(last))


def _table(group: list[tuple[int, int, re.Match[str]]]) -> Iterator[Item]:
    """Rows of a name and its value; of more columns the one whose head says value."""
    rows = [(start, m.start(1), re.split(f"[{_BAR}]", m[1])) for start, _, m in group]
    usual = Counter(len(cells) for _, _, cells in rows).most_common(1)[0][0]
    while len(rows[0][2]) != usual:  # a line of the log above it that has bars, too
        rows = rows[1:]
    heads = [cell.strip().lower() for cell in rows[0][2]]
    column = next((i for i, head in enumerate(heads) if head in _VALUE_HEADS and i), 1 if len(heads) == 2 else 0)
    if not column:
        return
    for start, offset, cells in rows:
        if len(cells) != len(heads) or not cells[0].strip() or not cells[column].strip():
            continue
        at = start + offset + sum(len(c) + 1 for c in cells[:column])
        lead = len(cells[column]) - len(cells[column].lstrip())
        yield _item(cells[0].strip(), cells[column], at + lead)


def _nested(group: list[tuple[int, int, re.Match[str]]]) -> Iterator[Item]:
    """Pairs below headings that stand further left: YAML as it was printed."""
    above: list[tuple[int, str]] = []
    for start, _, match in group:
        indent, name = len(match[1].replace("--", "")), match[2]
        while above and above[-1][0] >= indent:
            above.pop()
        key = ".".join([*(k for _, k in above), name])
        if match.re.pattern == _SECTION.pattern:
            above += [] if NAMED.search(name) and not above else [(indent, name)]
        else:
            yield _item(key, match[3], start + match.start(3))


def _single(text: str, lines: list[tuple[int, int]]) -> Iterator[Dump]:
    """Lines of several pairs that are not printed again with other numbers."""
    shapes: dict[str, set[str]] = defaultdict(set)
    held = []
    for start, end in lines:
        line = text[start:end].strip()
        if not 8 <= len(line) <= 8000 or not ("=" in line or ":" in line):
            continue
        shape = _NUMBER.sub("0", line)
        shapes[shape].add(line)
        held.append((start, end, shape))
    for start, end, shape in held:
        if len(shapes[shape]) > 1:
            continue
        items = list(_pairs(text, start, end))
        if len(items) > 1 and not any(COUNTER.fullmatch(i.key) for i in items):
            yield Dump("line " + re.sub(r"0", "", shape)[:60], "line", start, items)


def _pairs(text: str, start: int, end: int) -> Iterator[Item]:
    at = start
    for piece in re.split(r"([,;|])(?=\s)", text[start:end]):
        if match := _PIECE.fullmatch(piece):
            yield _item(match[1], match[2], at + match.start(2))
        else:
            for one in _INLINE.finditer(piece):
                yield _item(one[1], one[2], at + one.start(2))
        at += len(piece)
