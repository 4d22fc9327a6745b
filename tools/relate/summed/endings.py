"""How the answers in a table end: broken off in the middle of a sentence, or going on after the answer is given.

No count of tokens is needed: an answer that a limit cuts ends in the middle of a word or a clause, and one whose model
never ends its turn goes on with the next question. What was stored shortened, code, and short answers are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...findings import Evidence, Finding, Severity, clean
from ...patterns import bounded
from ...tables.table import Column, Table

ANSWER = bounded(
    r"(?i)(?:^|[_.])(?:response|output|completion|prediction|generation|generated(?:_text)?|reply|sample|generated_answer"
    r"|(?:model|assistant|predicted|full|raw)_(?:answer|text))$"
)
"""Columns that a model wrote."""
GIVEN = bounded(r"(?i)gold|refer|expect|target|correct|label|truth|tool|chosen|rejected|sql|code|input|prompt|id$")
"""What makes such a column somebody else's, or no prose."""
RESULTS = bounded(
    r"(?i)result|eval|generat|predict|output|sample|rollout|infer|respons|completion|bench|test|judge|compar"
)
"""Paths of files in which answers are results; a table of `output` elsewhere may be training data."""
TRAINED = bounded(r"(?i)(?:^|[/_.\-])(?:train|sft_data|dataset|corpus|alpaca|sharegpt|pairs|preference)(?:[/_.\-]|$)")
MODELS = bounded(r"(?i)^(?:model(?:_name|_id|_path)?|variant|system|checkpoint|ckpt|policy|stage|method|run)$")
"""Columns that say who answered."""
SENTENCE = bounded(r"(?<!\d)[.!?](?=\s)|[。！？]")
OPEN = frozenset(",，、(（[【{«“‘\\/&=+<�")
"""Marks that nothing ends with."""
NEXT = bounded(
    r"(?:\n\s{0,4}(?:#{1,4}\s?)?(?:Question|Q|User|Human|Instruction|用户|问题|问|人类)\s{0,2}\d{0,3}\s{0,2}[:：]"
    r"|<\|(?:im_start|start_header_id|user)\|>|\[INST\]|<start_of_turn>user)"
)
"""The next turn, which is not the model's to write."""
SIGNED = bounded(
    r"(?i)\n\s{0,4}(?:(?:(?:kind|best|warm|many) )?(?:regards|wishes|thanks)|best|sincerely|cheers|yours [^\n]{1,20}"
    r"|此致|敬礼|祝好|顺祝[^\n]{1,12})\s?[,，.!！]?\s{0,4}\n[^\n]{1,80}(?:\n[^\n]{0,80}){0,5}$"
    r"|(?:^|[\s(<])(?:https?://|www\.|[\w.+-]{1,60}@)[\w.-]{1,80}\.[a-z]{2,8}(?:/[^\s]{0,120})?$"
)
"""A letter that is signed, or an address at the end: what ends without a mark."""
LONG, OF_LONGEST, SENTENCES = 80, 0.5, 2
"""Characters, and their share of those of a long answer, from which on an answer is judged; sentences in its inside."""
LEAST, MOST_CUT, GOES_ON = 15, 0.5, 0.1
"""Answers that are judged; share of them that break off, or go on, from which on it is a fault. Our choice."""
ALIKE = 0.5
"""Share of the broken answers with one and the same length from which on they were stored shortened."""
APART, SURE = 0.2, 3.0
"""Difference of the shares of two models, and its standard errors, from which on one stops less."""
NAMED = 4


@dataclass(frozen=True)
class Ended:
    """How the answers of one column, of one model where the table has several, end."""

    file: str
    column: str
    who: str
    rows: int
    judged: int
    cut: tuple[int, ...]
    """Lines of the answers that break off."""
    on: tuple[int, ...]
    """Lines of those that go on with another turn."""
    texts: tuple[str, ...]
    """The ends of a few."""

    @property
    def name(self) -> str:
        return f"{self.file} ({self.column}{f', {self.who}' if self.who else ''})"

    @property
    def places(self) -> tuple[Evidence, ...]:
        some = self.cut or self.on
        return tuple(Evidence(self.file, line or None, metric=self.column, text=clean(text, 120))
                     for line, text in zip(some[:NAMED], self.texts, strict=False))  # fmt: skip


def endings(tables: Sequence[Table]) -> list[Finding]:
    """What the ends of all answers say, the worst of each kind."""
    found = [
        e for table in tables if _results(table) for c in table.of("text") if _written(c) for e in _ended(table, c)
    ]
    broken = [e for e in found if e.judged >= LEAST and len(e.cut) >= MOST_CUT * e.judged]
    on = [e for e in found if len(e.on) >= max(LEAST / 3, GOES_ON * e.rows)]
    return [*_less(found), *_broken(broken), *_on(on)]


def _results(table: Table) -> bool:
    return len(table) >= LEAST and bool(RESULTS.search(table.file)) and not TRAINED.search(table.file)


def _written(column: Column) -> bool:
    name = column.name.rpartition(".")[2]
    return bool(ANSWER.search(name)) and not GIVEN.search(name) and column.values.dtype == object


def _ended(table: Table, column: Column) -> Iterator[Ended]:
    who = next((c for c in table.of("group", "identifier") if MODELS.search(c.name)), None)
    names = [""] * len(table) if who is None else [str(v) for v in who.values]
    several = list(dict.fromkeys(names))
    texts = [v.strip() if isinstance(v, str) else "" for v in column.values]
    for name in several[:8]:
        rows = [i for i, n in enumerate(names) if n == name and texts[i]]
        if len(rows) >= LEAST:
            yield _of(table, column, name, rows, texts)


def _of(table: Table, column: Column, who: str, rows: Sequence[int], texts: Sequence[str]) -> Ended:
    least = max(LONG, OF_LONGEST * float(np.percentile([len(texts[i]) for i in rows], 90)))
    judged = [i for i in rows if len(texts[i]) >= least and len(SENTENCE.findall(texts[i])) >= SENTENCES]
    cut = [i for i in judged if breaks_off(texts[i])]
    sizes = [len(texts[i]) for i in cut]
    if cut and max(map(sizes.count, set(sizes))) > ALIKE * len(cut):
        cut = []
    on = [i for i in rows if goes_on(texts[i])]
    lines = table.lines
    return Ended(table.file, column.name, who, len(rows), len(judged), tuple(int(lines[i]) for i in cut),
                 tuple(int(lines[i]) for i in on), tuple(texts[i][-100:] for i in (cut or on)[:NAMED]))  # fmt: skip


def breaks_off(text: str) -> bool:
    """Whether a text ends in the middle of a sentence: with a letter or an opening mark."""
    last = text[-1:]
    return (last.isalpha() or last in OPEN) and not SIGNED.search(text[-400:])


def goes_on(text: str) -> bool:
    """Whether a turn of the other side follows the answer; a text that begins with one is a transcript."""
    m = NEXT.search(text)
    return m is not None and m.start() > 0 and not NEXT.match("\n" + text)


def _broken(broken: Sequence[Ended]) -> Iterator[Finding]:
    if not broken:
        return
    worst = max(broken, key=lambda e: len(e.cut) / e.judged)
    share, more = len(worst.cut) / worst.judged, len(broken) - 1
    yield Finding(
        "answers-break-off", Severity.S2,
        f"{len(worst.cut)} of {worst.judged} longer answers of {worst.name} ({share:.0%}) break off in the middle of a "
        f"sentence{f', and so it is in {more} more' if more else ''}: a limit cuts them, or they were stored so.",
        f"{worst.name} 较长的 {worst.judged} 条回答中有 {len(worst.cut)} 条（{share:.0%}）断在句子中间"
        f"{f'，另有 {more} 处也如此' if more else ''}：被长度上限截断，或存下来时就不完整。",
        worst.places, {"share": share, "judged": worst.judged, "files": [e.file for e in broken][:8]},
    )  # fmt: skip


def _on(on: Sequence[Ended]) -> Iterator[Finding]:
    if not on:
        return
    worst = max(on, key=lambda e: len(e.on) / e.rows)
    share = len(worst.on) / worst.rows
    yield Finding(
        "answers-go-on", Severity.S2,
        f"{len(worst.on)} of {worst.rows} answers of {worst.name} ({share:.0%}) go on with the next question or turn: "
        "generation does not stop where the answer ends.",
        f"{worst.name} 的 {worst.rows} 条回答中有 {len(worst.on)} 条（{share:.0%}）答完又接着写下一个问题或轮次："
        "生成没有在答案结束处停下。",
        tuple(Evidence(worst.file, line or None, metric=worst.column) for line in worst.on[:NAMED]),
        {"share": share, "rows": worst.rows, "files": [e.file for e in on][:8]},
    )  # fmt: skip


def _less(found: Sequence[Ended]) -> Iterator[Finding]:
    """One model of a table stops less than another one: not the limit, which is the same for both."""
    pairs = [(a, b) for a in found for b in found if a.who and (a.file, a.column) == (b.file, b.column)]
    clear = [(a, b) for a, b in pairs if _apart(a, b)]
    if not clear:
        return
    a, b = max(clear, key=lambda pair: len(pair[0].cut) / pair[0].rows - len(pair[1].cut) / pair[1].rows)
    more, less = (len(e.cut) / e.rows for e in (a, b))
    yield Finding(
        "answers-stop-less", Severity.S2,
        f"In {a.file} {more:.0%} of the answers of {a.who} break off in the middle of a sentence and {less:.0%} of "
        f"those of {b.who}, under one limit: {a.who} does not end its answers where {b.who} does.",
        f"{a.file}：{a.who} 的回答有 {more:.0%} 断在句子中间，{b.who} 只有 {less:.0%}，上限相同：{a.who} 不像 "
        f"{b.who} 那样会结束回答。",
        a.places, {"who": a.who, "share": more, "other": b.who, "other_share": less},
    )  # fmt: skip


def _apart(a: Ended, b: Ended) -> bool:
    """Whether the first breaks off more, by more than chance."""
    both = (len(a.cut) + len(b.cut)) / (a.rows + b.rows)
    error = float(np.sqrt(both * (1 - both) * (1 / a.rows + 1 / b.rows))) or 1.0
    apart = len(a.cut) / a.rows - len(b.cut) / b.rows
    return apart >= APART and apart >= SURE * error
