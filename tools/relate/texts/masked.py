"""What the loss is taken over: the tokens of a dump, whose they are and which are trained on; the share along a log.

Whose a token is says a column, or the marks of the template among the tokens themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...documents.stated import Stated
from ...findings import Finding, Severity
from ...patterns import bounded
from ...tables.table import Column, Table
from ..distributions import ENOUGH, named, shown, texts
from ..line import Line, means, plain
from ..rows import ANSWER, PERSON, ROLE, TRAINED_SHARE, labels_on_prompt

WHOSE = bounded(r"^(?:role|roles|speaker|from|who|whose|segment|seg|owner|author|party|side|span|说话人|归属|角色|谁)$")
PIECE = bounded(
    r"^(?:piece|token|tok|tokens|text|str|string|decoded|word|subword|token_?(?:str|text|piece)|词元|片段|内容)$"
)
TRAINED = bounded(
    r"(?:^|_)(?:label|labels|lbl|lab|target|targets|tgt|y|mask|loss|trained|train|in_loss|on_loss|scored|supervised"
    r"|weight|w|loss_?mask|label_?id|learn(?:ed)?|标签|掩码|损失|是否训练|参与训练|计入损失)(?:_|$)"
)
HIDDEN = bounded(r"ignor|(?:^|_)masked|skipped|excluded|忽略|屏蔽")
"""Columns that are set where a token is not trained on."""
OFF = frozenset(("", "-100", "-100.0", ".", "-", "–", "—", "_", "x0", "0", "0.0", "no", "n", "false", "ign", "ignore",
                 "ignored", "ignore_index", "none", "null", "nan", "masked", "off", "否", "不", "无"))  # fmt: skip
BEGINS = bounded(r"(?i)^<[|｜]?(?:im_start|start_header_id|start_of_turn|begin_of_role|start_of_role)[|｜]?>$")
NAMES = bounded(
    r"(?i)^(?:<[|｜]?|\[|#{2,3} ?)(user|human|person|assistant|bot|model|gpt|system|tool|response|instruction)"
    r"(?:[|｜]?>|\]|:)?$"
)
ENDS = bounded(
    r"(?i)^(?:<[|｜]?(?:im_end|eot_id|end_of_turn|end|eot|eos|end_of_text|endoftext|turn_end|/s)[|｜]?>|\[/?INST\])$"
)
SPECIAL = bounded(r"^(?:<[|｜/]?[\w▁ ]{1,30}[|｜]?>|\\n|\n|\[/?[A-Z]{2,8}\])$")
PEOPLE = PERSON | {"person", "customer", "instruction", "u", "问", "客户", "人"}
ANSWERS = ANSWER | {"response", "completion", "answer", "reply", "output", "a", "答", "机器人"}
ROWS, LEAST, TURNS = 20_000, 10, 3
COUNTED = bounded(
    r"(?:^|_)(?:n_?|num_?)?(?:loss|label(?:led|ed)?|target|tgt|train(?:ed|able)?|supervised|unmasked|valid_?label)s?"
    r"_?(?:tok(?:en)?s?)?$"
)
WHOLE = bounded(r"(?:^|_)(?:n_?|num_?|total_?|all_?|batch_?|input_?)?(?:tok(?:en)?s?)(?:_?(?:total|all|in))?$")
SHARE = bounded(
    r"(?:label|loss|target|tgt|train(?:ed|able)?|supervised|unmasked|mask)(?:led|ed)?_?(?:tok(?:en)?s?_?)?"
    r"(?:frac(?:tion)?|ratio|share|pct|rate|density)$|标签占比|训练占比|有效(?:token)?占比"
)
SAID = bounded(r"(?:^|_)(?:assistant|answer|response|reply|bot|completion|助手|回答)")
NEARLY, LESS, POINTS = 0.95, 0.75, 5
"""Share of trained tokens that is nearly all, that of answers at most, and points of a log."""


def misplaced(table: Table) -> Iterator[Finding]:
    """Tokens of the person in the loss, or windows of labels that begin or end beside the answers."""
    if not ENOUGH <= len(table) <= ROWS or any(True for _ in labels_on_prompt(table)):
        return
    piece = next((c for c in table.columns if c.values.dtype.kind == "O" and means(PIECE, c.name)), None)
    found = in_loss(table, piece)
    whose = _whose(table, piece)
    if found is None or whose is None:
        return
    column, trained = found
    special = (
        np.array([bool(SPECIAL.match(t)) for t in texts(piece)]) if piece is not None else np.zeros(len(table), bool)
    )
    asked, answered = (whose == "p") & ~special, (whose == "a") & ~special
    if min(asked.sum(), answered.sum()) < LEAST or not trained.any():
        return
    on, off = float(trained[asked].mean()), 1 - float(trained[answered].mean())
    if on >= TRAINED_SHARE:
        rows = np.flatnonzero(asked & trained)[:3].tolist()
        yield Finding(
            "labels-on-prompt", Severity.S2,
            f"{int((asked & trained).sum())} of {asked.sum()} tokens of the person ({on:.0%}) are trained on by "
            f"{column.name}, and {int((answered & ~trained).sum())} of {answered.sum()} tokens of the answer "
            f"({off:.0%}) are not.",
            f"按 {column.name}，用户的 {asked.sum()} 个 token 中有 {int((asked & trained).sum())} 个（{on:.0%}）"
            f"参与训练，回答的 {answered.sum()} 个中有 {int((answered & ~trained).sum())} 个（{off:.0%}）没有。",
            shown(table, [*rows, *np.flatnonzero(answered & ~trained)[:2].tolist()], column.name),
            {"on_prompt": on, "off_answer": off},
        )  # fmt: skip
        return
    cut = [w for w in _windows(answered) if not trained[w].all() and trained[w].any()]
    whole = [w for w in _windows(answered) if trained[w].any()]
    edge = [w for w in cut if trained[w[0]] != trained[w[-1]] and (np.diff(trained[w].astype(int)) != 0).sum() == 1]
    if len(edge) >= TURNS and len(edge) >= 0.6 * len(whole):
        yield Finding(
            "labels-beside-answers", Severity.S2,
            f"In {len(edge)} of {len(whole)} answers the tokens trained on by {column.name} begin or end in the middle "
            f"of the answer ({off:.0%} of its tokens are left out).",
            f"{len(whole)} 段回答中有 {len(edge)} 段，{column.name} 的训练区间在回答中间才开始或提前结束"
            f"（漏掉 {off:.0%} 的回答 token）。",
            shown(table, [int(w[0]) for w in edge[:3]], column.name), {"answers": len(whole), "cut": len(edge)},
        )  # fmt: skip


def _windows(rows: np.ndarray) -> list[np.ndarray]:
    """Runs of rows that follow each other, of four tokens or more."""
    at = np.flatnonzero(rows)
    return [w for w in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(w) > 3]


def in_loss(table: Table, piece: Column | None) -> tuple[Column, np.ndarray] | None:
    """The column that tells which tokens are trained on: labels before a mask, which may be that of the attention."""
    others = [c for c in table.columns if c is not piece]
    others.sort(key=lambda c: not (c.values.dtype.kind == "f" and bool((c.values == -100).any())))
    return next((flags for c in others if (flags := trained_rows(c)) is not None), None)


def trained_rows(column: Column) -> tuple[Column, np.ndarray] | None:
    """Which rows are trained on, where the column is of that kind and both are there."""
    name = plain(column.name) or column.name
    hidden = bool(HIDDEN.search(name))
    if not (hidden or TRAINED.search(name)):
        return None
    cells = column.values
    if cells.dtype.kind == "f":
        known = np.isfinite(cells)
        if (cells == -100).any():
            on = known & (cells != -100)
        elif set(np.unique(cells[known]).tolist()) <= {0.0, 1.0} and known.any():
            on = known & (cells > 0)
        elif not known.all():
            on = known
        else:
            return None
    else:
        said = [t.strip().lower() for t in texts(column)]
        on = np.array([t not in OFF for t in said])
        if len({t for t in said if t in OFF}) > 2:
            return None
    on = ~on if hidden else on
    return (column, on) if 0 < on.sum() < len(on) else None


def _whose(table: Table, piece: Column | None) -> np.ndarray | None:
    """`p` for the person's tokens, `a` for the answer's, empty for the others."""
    column = named(table, WHOSE, "O") or named(table, ROLE, "O")
    if column is not None:
        said = [t.strip().lower() for t in texts(column)]
        whose = np.array(["p" if t in PEOPLE else "a" if t in ANSWERS else "" for t in said])
        return whose if {"p", "a"} <= set(whose.tolist()) else None
    if piece is None:
        return None
    out, now, awaited = [], "", False
    for token in texts(piece):
        word = token.strip(" ▁Ġ")
        if BEGINS.match(word):
            now, awaited = "", True
        elif awaited:
            said = word.lower()
            now = "p" if said in PEOPLE else "a" if said in ANSWERS else now
            awaited = not now and said not in ("system", "tool")
            out.append("")
            continue
        elif hit := NAMES.match(word):
            now = "p" if hit[1].lower() in PEOPLE - {"system", "tool"} else "a" if hit[1].lower() in ANSWERS else ""
            out.append("")
            continue
        elif ENDS.match(word):
            out.append("")
            now = ""
            continue
        out.append("" if awaited else now)
    whose = np.array(out)
    return whose if {"p", "a"} <= set(out) else None


def nearly_all(lines: Sequence[Line], stated: Sequence[Stated]) -> Iterator[Finding]:
    """The loss is taken over nearly all tokens, where another log or the data's own counts say a part of them."""
    shares = [s for file in dict.fromkeys(x.file for x in lines) if (s := _share([x for x in lines if x.file == file]))]
    most = max(shares, key=lambda one: one[0], default=None)
    if most is None or most[0] < NEARLY:
        return
    least = min(shares, key=lambda one: one[0])
    said = [(v, s) for s in stated if s.how == "said" and SAID.search(plain(s.key)) and (v := _part(s)) is not None]
    if least[0] <= LESS:
        share, place, where = least[0], least[1].evidence(-1), least[1].file
    elif said and said[0][0] <= LESS:
        share, place, where = said[0][0], said[0][1].evidence(), f"{said[0][1].file}:{said[0][1].line} {said[0][1].key}"
    else:
        return
    yield Finding(
        "loss-over-all-tokens", Severity.S2,
        f"In {most[1].file} {most[0]:.1%} of the tokens are in the loss ({most[1].key}), where {where} says "
        f"{share:.1%}: the prompt is trained on as the answer is.",
        f"{most[1].file} 中有 {most[0]:.1%} 的 token 计入损失（{most[1].key}），而 {where} 为 {share:.1%}："
        "提示也和回答一样被训练了。",
        (most[1].evidence(0), most[1].evidence(-1), place), {"share": most[0], "other": share},
    )  # fmt: skip


def _share(lines: Sequence[Line]) -> tuple[float, Line] | None:
    """The middle share of the tokens of a log that are in the loss."""
    some = [x for x in lines if len(x) >= POINTS and not x.group]
    for x in some:
        values = x.values[np.isfinite(x.values)]
        if SHARE.search(plain(x.key)) and len(values) >= POINTS and values.min() >= 0:
            top = float(np.median(values))
            return (top / 100 if top > 1.01 else top, x) if top <= 100 else None
    counted = next((x for x in some if COUNTED.search(plain(x.key)) and np.nanmax(x.values, initial=0) > 100), None)
    whole = next((x for x in some if x is not counted and WHOLE.search(plain(x.key))), None)
    if counted is None or whole is None or len(counted) != len(whole):
        return None
    with np.errstate(all="ignore"):
        share = counted.values / whole.values
    share = share[np.isfinite(share)]
    inside = len(share) >= POINTS and bool((share <= 1.0).all()) and float(np.ptp(whole.values)) > 0
    return (float(np.median(share)), counted) if inside else None


def _part(said: Stated) -> float | None:
    """A share of tokens that a file says of the answers."""
    if not bounded(r"tok|词元|share|frac|ratio|占比").search(plain(said.key)):
        return None
    try:
        value = float(said.value)
    except ValueError:
        return None
    return value if 0.01 < value < 1 else None
