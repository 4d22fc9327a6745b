"""What the rows of one table say together: verdicts that follow the order, labels on the prompt, scores that follow the
length, two clocks of one thing, later levels that nobody uses, where a profile's time
goes, items that were changed, rates that were tried.

Each look needs columns of certain names and `ENOUGH` rows, and says nothing where a table does not have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from ..data.statistics import wilson
from ..findings import Finding, Severity
from ..patterns import bounded
from ..tables.table import Column, Table
from .distributions import ENOUGH, named, shown, texts
from .line import plain
from .scores.slots import slots, won_by
from .summed.words import counted_of, shares_of

CLEAR = 3.0
"""Standard errors by which a share must be off before it is told. Own judgement, as all here without a source."""
GAP = 0.1
FIRST = bounded(r"^(?:first|shown_first|first_model|model_first|answer_1|a_model|model_a|left)$")
SECOND = bounded(r"^(?:second|shown_second|second_model|model_second|answer_2|b_model|model_b|right)$")
ORDER = bounded(r"^(?:order|position|swap(?:ped)?|presentation(?:_order)?)$")
WINNER = bounded(r"^(?:winner|verdict|preferred|choice|won|winning_model)$")
ROLE = bounded(r"^(?:role|speaker|from|segment|owner|归属|角色|说话人|片段)$")
LABEL = bounded(r"^(?:label|labels|label_id|target|target_id|trained|in_loss|loss_mask|标签)$")
PERSON = frozenset(("user", "system", "human", "prompt", "tool", "用户", "提示", "系统"))
ANSWER = frozenset(("assistant", "gpt", "model", "bot", "助手", "回答"))
PERSON_NAME = bounded(r"(?:^|_)(?:user|prompt|human|instruction|question)s?(?:_|$)|用户|提示|问题")
IN_LOSS = bounded(r"(?:in|on)_(?:the_)?loss|train(?:ed|able)|labell?ed|unmasked|参与训练|参与损失|计入损失|有标签")
TRAINED_SHARE = 0.05
"""Share of the person's tokens with a label, from which on it is told."""
PASSED = bounded(r"^(?:aligned|actual|true|real|probed|measured|asr|ref|reference|detected)_(.{2,40})$")
TIMED = bounded(r"(?:start|end|begin|onset|offset|time|duration|timestamp|ts|seconds|sec|ms)s?$")
MEDIA = bounded(
    r"(?i)\.(?:wav|mp3|flac|mp4|mkv|webm|m4a|ogg|avi|srt|vtt)$|audio|video|speech|subtitle|caption|clip|utterance"
)
"""What says that the rows are of sound or pictures."""
LEVEL = bounded(r"^(?:level|quantizer|rvq_level|codebook|rvq|vq|q|层|级|层级|码本)(?:_?(?:id|idx|index|no))?$")
USED = bounded(r"(?:entropy|perplexity|utili[sz]ation|usage|used|active|熵|困惑度|使用率)|^h(?:_|$)")
NAME = bounded(r"^(?:name|kernel(?:_name)?|op(?:erator)?|function|key|event)$")
SPENT = bounded(
    r"^(?!.{0,40}(?:avg|mean|min|max|calls|count)).{0,40}(?:time|total|self|dur|_ms|_us)|^(?:[mun]?s|seconds|耗时)$"
    r"|^(?:pct|percent|share|%)(?:_of_\w{1,20})?$|占比$"
)
COPY = re.compile(r"(?i)memcpy\s?htod[^a-z]{0,4}pageable")
FLASH = re.compile(r"(?i)flash|fmha|efficient_attention|cudnn.{0,20}sdpa")
EAGER = re.compile(r"(?i)softmax|masked_fill|::bmm|^bmm|att(?:entio)?n[_ ]scores?")
COPY_SHARE, EAGER_SHARE, LEAST_OFFSET = 0.05, 0.3, 0.3
"""Share of a profile from which on copies, or attention in pieces, are told; seconds that text and sound lie apart."""
ORIGINAL = bounded(r"(?i)^(?:orig(?:inal)?|clean|unchanged|standard)(?:[_ -]|$)|^原(?:题|始|版|文)")
CHANGED = bounded(r"(?i)paraphras|perturb|changed|shuffl|reorder|rephras|renumber|variant|rewritten|swapped"
                  r"|扰动|改[数写编]|变[体式]|换(?:数|序|名)")  # fmt: skip
SCORE = bounded(r"(?:^|_)(?:acc(?:uracy)?|score|em|exact_match|pass_rate|solve_rate)(?:_|$)")
SIZE = bounded(r"^(?:n|count|total|num_?(?:samples|items|examples))$")
RATE = bounded(r"(?:^|_)(?:lr|learning_rate)$")


def looked(tables: Sequence[Table]) -> list[Finding]:
    """What the rows of the tables say; of one that is written again at every step, those of the last step too."""
    found = []
    for table in tables:
        last = table.at_end()
        for look in LOOKS:
            told = [*look(table)]
            found += told or (look(last) if last is not None else ())
    return found


def order_decides(table: Table) -> Iterator[Finding]:
    """Verdicts over the same pairs that go to whichever answer stands first."""
    first, second, winner = (named(table, p, "O") for p in (FIRST, SECOND, WINNER))
    first, second = slots(table) or (first, second)
    if first is None or second is None or winner is None or len(table) < ENOUGH:
        return
    placed = won_by(table, winner)
    a, b, won = texts(first), texts(second), texts(winner) if placed is None else placed
    decided = (won == a) | (won == b)
    both = len({*zip(a, b, strict=True)} & {*zip(b, a, strict=True)}) > 0
    if decided.sum() < ENOUGH or not both:
        return
    share, n = float((won == a)[decided].mean()), int(decided.sum())
    error = sqrt(0.25 / n)
    flips, pairs = _flips(named(table, bounded(r"^(?:pair|item|example|prompt|question)(?:_?id)?$")), won)
    if abs(share - 0.5) < max(CLEAR * error, GAP):
        return
    low, high = wilson(int((won == a)[decided].sum()), n)
    yield Finding(
        "verdicts-follow-order", Severity.S2,
        f"Of {n} verdicts on pairs that were shown in both orders {share:.0%} (95%: {low:.0%} to {high:.0%}) go to the "
        f"answer shown first; {flips} of {pairs} pairs have another winner after the swap.",
        f"{n} 个正反两种顺序的评判中有 {share:.0%}（95% 区间 {low:.0%} 到 {high:.0%}）判给先出现的回答；"
        f"{pairs} 对中有 {flips} 对换序后胜者改变。",
        shown(table, [0, 1], winner.name), {"share": share, "interval": [low, high], "flips": flips, "pairs": pairs},
    )  # fmt: skip


def _flips(pair: Column | None, won: np.ndarray) -> tuple[int, int]:
    """(pairs with more than one winner, pairs judged more than once)."""
    by: dict[str, list[str]] = {}
    for p, w in zip(texts(pair) if pair is not None else [], won, strict=False):
        by.setdefault(str(p), []).append(str(w))
    several = [ws for ws in by.values() if len(ws) > 1]
    return sum(len(set(ws)) > 1 for ws in several), len(several)


def labels_on_prompt(table: Table) -> Iterator[Finding]:
    """Tokens of the person that are trained on, or of the answer that are not."""
    role, label = named(table, ROLE, "O"), named(table, LABEL, "f")
    if role is None or label is None or len(table) < ENOUGH:
        return
    said, values = np.char.lower(texts(role).astype(str)), label.values
    trained = values != -100 if (values == -100).any() else values > 0
    asked, answered = np.isin(said, list(PERSON)), np.isin(said, list(ANSWER))
    if not asked.any() or not answered.any():
        return
    on_prompt, off_answer = float(trained[asked].mean()), 1 - float(trained[answered].mean())
    if on_prompt < 0.05:
        return
    rows = np.flatnonzero(asked & trained)[:3].tolist()
    yield Finding(
        "labels-on-prompt", Severity.S2,
        f"{on_prompt:.0%} of {asked.sum()} tokens of the prompt carry a label and are trained on, and "
        f"{off_answer:.0%} of "
        f"{answered.sum()} tokens of the answer carry none.",
        f"{asked.sum()} 个提示 token 中有 {on_prompt:.0%} 带标签参与训练；{answered.sum()} 个回答 token 中有 "
        f"{off_answer:.0%} 没有标签。",
        shown(table, rows, label.name), {"on_prompt": on_prompt, "off_answer": off_answer},
    )  # fmt: skip


def prompt_trained(table: Table) -> Iterator[Finding]:
    """Shares of the person's tokens that are trained on, one row a language or source."""
    if not 1 <= len(table) <= 200:
        return
    for column in table.columns:
        name = plain(column.name)
        asks, whole = PERSON_NAME.search(name), shares_of(column)
        if not asks or not IN_LOSS.search(name) or whole is None or not (whole > TRAINED_SHARE).any():
            continue
        label = next((texts(c) for c in table.columns if c.values.dtype.kind == "O"), np.full(len(table), ""))
        order = np.argsort(-whole, kind="stable")[:4]
        each = ", ".join(f"{label[i]} {whole[i]:.1%}".strip() for i in order)
        yield Finding(
            "labels-on-prompt", Severity.S2,
            f"{column.name}: {each}: tokens of the person are trained on.",
            f"{column.name}：{each}：用户的 token 参与了训练。",
            shown(table, order[:2].tolist(), column.name), {"on_prompt": float(whole.max())},
        )  # fmt: skip
        return


def clocks_apart(table: Table) -> Iterator[Finding]:
    """Times of one thing that were told and measured, and do not lie about each other: by one and the same amount."""
    said = (str(c.values[0]) for c in table.columns if len(c.values) and c.values.dtype.kind == "O")
    if not any(MEDIA.search(x) for x in (table.file, *(c.name for c in table.columns), *said)):
        return
    for measured in table.of("measure", "axis"):
        match = PASSED.match(measured.name.lower())
        if not match or not TIMED.search(measured.name.lower()) or measured.values.dtype.kind != "f":
            continue
        told = next((c for c in table.columns if c is not measured and c.values.dtype.kind == "f"
                     and not PASSED.match(c.name.lower())
                     and re.fullmatch(rf"(?:\w{{1,20}}_)?{re.escape(match[1])}", c.name.lower())), None)  # fmt: skip
        if told is None:
            continue
        apart = (told.values - measured.values)[np.isfinite(told.values) & np.isfinite(measured.values)]
        if len(apart) < ENOUGH:
            continue
        off = np.abs(apart) > LEAST_OFFSET
        mine = apart[off]
        width = float(np.subtract(*np.percentile(mine, (75, 25)))) if len(mine) else 0.0
        if off.mean() < 0.1 or width > abs(float(np.median(mine))):
            continue
        yield _clock(table, told, measured, mine, float(off.mean()), width)
        return


def _clock(table: Table, told: Column, measured: Column, off: np.ndarray, share: float, width: float) -> Finding:
    middle = float(np.median(off))
    rows = np.flatnonzero(np.abs(told.values - measured.values) > LEAST_OFFSET)[:3].tolist()
    return Finding(
        "clocks-apart", Severity.S2,
        f"{told.name} lies {abs(middle):.2f} {'behind' if middle > 0 else 'before'} {measured.name} in {share:.0%} of "
        f"{len(table)} rows, all by about as much (middle half within {width:.2f}): an offset, not noise.",
        f"{len(table)} 行中有 {share:.0%} 的 {told.name} 与 {measured.name} 相差约 {middle:.2f}（中间一半相差不超过 "
        f"{width:.2f}）：是固定偏移，不是噪声。",
        shown(table, rows, told.name), {"offset": middle, "share": share, "width": width},
    )  # fmt: skip


def later_levels_idle(table: Table) -> Iterator[Finding]:
    """The first levels of a codec are used and later ones hardly."""
    level = next((c for c in table.columns if LEVEL.search(c.name.lower())), None)
    used = next((c for c in table.of("measure") if USED.search(c.name.lower()) and c.values.dtype.kind == "f"), None)
    if level is None or used is None or not 3 <= len(table) <= 64 or len(set(texts(level))) != len(table):
        return
    values = used.values[np.argsort([_number(v) for v in level.values.tolist()], kind="stable")]
    if not np.isfinite(values).all() or values[0] <= 0:
        return
    idle = values < 0.1 * values[0]
    count = int(idle.sum())
    if idle[0] or not idle[-1] or count < len(values) / 4:
        return
    yield Finding(
        "later-levels-idle", Severity.S2,
        f"{used.name} is {values[0]:.3g} at the first level and at most {values[idle].max():.3g} at {count} of the "
        f"{len(values)} levels: the later levels carry nothing.",
        f"{used.name} 在第一层为 {values[0]:.3g}，而 {len(values)} 层中有 {count} 层不超过 {values[idle].max():.3g}"
        "：后面的层几乎没有被使用。",
        shown(table, [0, len(values) - 1], used.name), {"first": float(values[0]), "idle": count},
    )  # fmt: skip


def _number(value: object) -> float:
    found = re.search(r"\d{1,9}", str(value))
    return float(found[0]) if found else 0.0


def kernels(table: Table) -> Iterator[Finding]:
    """Where the time of a profile goes, by the names of its kernels: pageable copies, attention in pieces."""
    name = named(table, NAME, "O")
    spent = next((c for c in table.of("measure") if SPENT.search(c.name.lower()) and c.values.dtype.kind == "f"), None)
    if name is None or spent is None or np.nansum(spent.values) <= 0:
        return
    names, share = texts(name), np.nan_to_num(spent.values) / np.nansum(spent.values)
    copies = np.array([bool(COPY.search(n)) for n in names])
    eager = np.array([bool(EAGER.search(n)) for n in names])
    if (part := float(share[copies].sum())) >= COPY_SHARE:
        yield _profiled(table, name, "pageable-copies", part, names[copies].tolist(), copies,
                        "copies from pageable host memory", "从非锁页内存的拷贝")  # fmt: skip
    part = float(share[eager].sum())
    if part >= EAGER_SHARE and not any(FLASH.search(n) for n in names):
        yield _profiled(table, name, "attention-unfused", part, names[eager].tolist(), eager,
                        "attention in separate kernels, and no fused one is "
                        "there", "未融合的注意力算子（没有融合内核）")  # fmt: skip


def _profiled(
    table: Table, name: Column, code: str, part: float, which: list[str], rows: np.ndarray, en: str, zh: str
) -> Finding:
    said = ", ".join(which[:3])[:160]
    return Finding(
        code, Severity.S2, f"{part:.0%} of the profiled time is {en} ({said}).",
        f"profile 中 {part:.0%} 的时间是{zh}（{said}）。",
        shown(table, np.flatnonzero(rows)[:3].tolist(), name.name), {"share": part, "kernels": which[:8]},
    )  # fmt: skip


def changed_items(table: Table) -> Iterator[Finding]:
    """Scores that fall once the items are changed in ways that leave their difficulty: numbers, words, order."""
    kind = next((c for c in table.columns if c.values.dtype.kind == "O" and _both(texts(c))), None)
    score = next((c for c in table.of("measure") if SCORE.search(c.name.lower()) and c.values.dtype.kind == "f"), None)
    size = named(table, SIZE, "f")
    if kind is not None and size is None and (small := _counted(table, kind)) is not None:
        yield from changed_items(small)
        return
    if kind is None or score is None or size is None or len(table) > 200:
        return
    said = texts(kind)
    model = next(
        (texts(c) for c in table.columns if c is not kind and c.values.dtype.kind == "O"), np.full(len(said), "")
    )
    for who in dict.fromkeys(model.tolist()):
        mine = [next((i for i, (v, m) in enumerate(zip(said, model, strict=True)) if m == who and p.search(v)), None)
                for p in (ORIGINAL, CHANGED)]  # fmt: skip
        i, j = mine
        if i is None or j is None:
            continue
        a, b, n, m = (float(c.values[k]) for c in (score, size) for k in (i, j))
        scale = 100.0 if max(a, b) <= 1 else 1.0
        a, b = a * scale, b * scale
        error = sqrt(max(a * (100 - a), 1) / n + max(b * (100 - b), 1) / m)
        if a - b > max(CLEAR * error, 5.0):
            yield _changed(table, score, said, [i, j], (a, b, error), str(who))
            return


def _counted(table: Table, kind: Column) -> Table | None:
    """Items of a row each, right or wrong, as a row for each kind of item: accuracy and count."""
    right = next(
        (c for c in table.of("measure") if counted_of(c) == "right" and set(c.values.tolist()) == {0.0, 1.0}), None
    )
    said = texts(kind)
    rows = [np.flatnonzero(said == v) for v in dict.fromkeys(said.tolist())]
    if right is None or not 2 <= len(rows) <= 12 or min(map(len, rows)) < ENOUGH:
        return None
    first = np.zeros(len(table), bool)
    first[[int(r[0]) for r in rows]] = True
    small = table.only(first)
    order = sorted(rows, key=lambda r: int(r[0]))
    made = (
        replace(kind, values=np.array([said[r[0]] for r in order], object)),
        Column("accuracy", "measure", "accuracy", "", np.array([float(right.values[r].mean()) for r in order])),
        Column("n", "measure", "n", "", np.array([float(len(r)) for r in order])),
    )
    return replace(small, columns=made)


def _both(values: np.ndarray) -> bool:
    return any(ORIGINAL.search(v) for v in values) and any(CHANGED.search(v) for v in values)


def _changed(
    table: Table, score: Column, said: np.ndarray, rows: list[int], found: tuple[float, float, float], who: str
) -> Finding:
    a, b, error = found
    of = f" of {who}" if who else ""
    return Finding(
        "changed-items-fail", Severity.S2,
        f"{score.name}{of} is {a:.1f} on {said[rows[0]]} items and {b:.1f} on {said[rows[1]]} ones ({a - b:.1f} "
        f"points, standard "
        f"error {error:.1f}): the items are known, not solved.",
        f"{who or '模型'} 的 {score.name} 在 {said[rows[0]]} 题上为 {a:.1f}，在 {said[rows[1]]} 题上为 {b:.1f}（差 "
        f"{a - b:.1f} 个点，标准误 {error:.1f}）：记住了题目，而不是会解。",
        shown(table, rows, score.name), {"original": a, "changed": b, "error": error},
    )  # fmt: skip


def rates_tried(table: Table) -> Iterator[Finding]:
    """Learning rates that were tried for as long, of which the one in the middle, the run's, is not the best."""
    rate, loss = named(table, RATE, "f"), named(table, bounded(r"(?:^|_)loss$"), "f")
    times = named(table, bounded(r"^(?:multiplier|factor|times|scale|mult)$"), "f")
    if rate is None or loss is None or times is None or not 3 <= len(table) <= 30:
        return
    way = [
        c
        for c in table.columns
        if re.search(r"(?i)^(?:steps?|tokens|gbs|batch_size)$", c.name) and c.values.dtype.kind == "f"
    ]
    own = np.flatnonzero(np.isclose(times.values, 1.0))
    if len(own) != 1 or len(set(rate.values.tolist())) != len(table) or any(np.ptp(c.values) for c in way):
        return
    best, mine = int(np.nanargmin(loss.values)), int(own[0])
    gain = 1 - float(loss.values[best] / loss.values[mine])
    if best == mine or gain < 0.03:
        return
    yield Finding(
        "rate-not-best", Severity.S2,
        f"At the same number of steps the loss is {loss.values[mine]:.4g} with the run's own rate "
        f"{rate.values[mine]:.3g} and "
        f"{loss.values[best]:.4g} with {rate.values[best]:.3g} ({times.values[best]:g} times).",
        f"步数相同时，本次学习率 {rate.values[mine]:.3g} 的 loss 为 {loss.values[mine]:.4g}，而 {rate.values[best]:.3g}"
        f"（{times.values[best]:g} 倍）为 {loss.values[best]:.4g}。",
        shown(table, [mine, best], rate.name), 
        {"rate": float(rate.values[mine]), "best": float(rate.values[best]), "gain": gain},
    )  # fmt: skip


LOOKS: tuple[Callable[[Table], Iterator[Finding]], ...] = (
    order_decides, labels_on_prompt, prompt_trained, clocks_apart, later_levels_idle, kernels,
    changed_items, rates_tried,
)  # fmt: skip
