"""Answers that are judged one by one (KTO): how many are good and bad, against the weights that the loss gives them.

The loss weighs each kind by its number times its weight; the method asks for a proportion of 1 to 4/3 (Ethayarajh et
al. 2024, equation 8; the TRL documentation). Far from it the rarer kind has no say: what is bad is hardly unlearned.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from ...findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ...patterns import bounded
from ...reading import iter_lines
from ...run import Artifact, Run
from ...settings import Settings

CHECK = "good and bad answers against their weights"
CODES = declare(
    "thumbs",
    (
        "labels-outweighed",
        CHECK,
        "one kind of single judgements outweighs the other, and no weight evens it",
    ),
)
GOOD = ("desirable_weight", "kto_chosen_weight", "lambda_d", "lambda_desirable", "chosen_weight")
BAD = ("undesirable_weight", "kto_rejected_weight", "lambda_u", "lambda_undesirable", "rejected_weight")
"""What frameworks call the two weights (TRL, LLaMA-Factory, the paper)."""
FIELDS = ("label", "kto_tag", "kto_label", "desirable", "is_desirable", "thumbs_up", "feedback", "good", "标签")
BESIDE = ("prompt", "completion", "response", "messages", "conversations", "instruction", "output", "answer")
"""Names of the judgement in a record, and what stands beside it."""
_YES, _NO = (
    r"(?:(?:label\W{0,3})?(?:true|desirable|desired|positive|good|thumbs?[_ ]?up|liked|chosen|正样本|好评|正例)"
    r"|label\W{0,3}1)",
    r"(?:(?:label\W{0,3})?(?:false|undesirable|undesired|negative|bad|thumbs?[_ ]?down|disliked|rejected|负样本|差评"
    r"|负例)|label\W{0,3}0)",
)
_NUMBER = r"['\"]?\s?(?:[:=：]|examples|rows|samples|条)?\s{0,3}(?P<%s>\d[\d,]{0,11})(?![\d.])"
COUNTS = bounded(rf"(?i)(?<![a-z0-9.]){_YES}{_NUMBER % 'good'}.{{1,40}}?(?<![a-z0-9.]){_NO}{_NUMBER % 'bad'}")
"""How a log counts the two when it loads the data."""
TALKS = bounded(r"(?i)label|desirable|thumb|row|example|sample|样本|评|正例|标签|条")
LINES, RECORDS = 2_000, 20_000
"""Lines of a log, and records of a file, that are read."""
LEAST, FAR = 50, 4.0
"""Judgements, and the proportion of the weighted numbers from which on one kind is outweighed. Own judgement: three
times the upper bound of the method."""


def check_thumbs(run: Run, settings: Settings) -> Report:
    """Weigh the numbers of good and bad answers of a run that learns from single judgements."""
    good, good_at = _weight(settings, GOOD)
    bad, bad_at = _weight(settings, BAD)
    if settings.value("stage") != "kto" and not (good_at or bad_at):
        why = "the run does not learn from answers that are judged one by one"
        return Report("data", (), (Check(CHECK, "not-applicable", why, "训练用的不是逐条评判的回答"),))
    told = next((c for a in run.of("log") if (c := _told(a))), None) or next(
        (c for a in run.of("data") if (c := _counted(a))), None
    )
    if told is None:
        why = "no log or data file says how many answers are good and bad"
        return Report("data", (), (Check(CHECK, "not-applicable", why, "没有文件说明好、坏回答各有多少"),))
    many, few, where = told
    share = many * good / (few * bad) if few * bad else float("inf")
    found = [] if 1 / FAR <= share <= FAR else [_finding(many, few, good, bad, share, (where, *good_at, *bad_at))]
    return Report("data", tuple(found), (Check(CHECK, "found" if found else "clear", f"{many} good, {few} bad"),))


def _finding(n: int, m: int, good: float, bad: float, share: float, at: tuple[Evidence, ...]) -> Finding:
    more, name = (n / m if m else 0.0, "undesirable") if share > 1 else (m / n if n else 0.0, "desirable")
    even = more * (good if share > 1 else bad)
    times = share if share > 1 else 1 / share if share else float("inf")
    en = f"A weight of about {even:.3g} for the {name} ones would even it." if even else "One kind is missing."
    zh = f"{'不' if share > 1 else ''}合意一类的权重约取 {even:.3g} 才能平衡。" if even else "其中一类完全没有。"
    return Finding(
        "labels-outweighed", Severity.S2,
        f"{n} answers are judged good and {m} bad, with the weights {good:g} and {bad:g}: one kind outweighs the other "
        f"{times:.3g} times (the method asks for 1 to 1.33), so the rarer kind has hardly any say. {en}",
        f"{n} 条回答判为好、{m} 条判为坏，权重为 {good:g} 和 {bad:g}：一类的分量是另一类的 {times:.3g} 倍"
        f"（方法要求 1 至 1.33），较少的一类几乎不起作用。{zh}",
        at, {"good": n, "bad": m, "weights": [good, bad], "even": even, "share": times},
    )  # fmt: skip


def _weight(settings: Settings, names: tuple[str, ...]) -> tuple[float, tuple[Evidence, ...]]:
    """The weight of one kind and where it is set; 1 where nothing sets it, as all frameworks have it."""
    for key, setting in settings.others.items():
        if key.replace("-", "_").rpartition(".")[2] in names:
            with suppress(ValueError):
                return float(str(setting.value)), (setting.evidence(),)
    return 1.0, ()


def _told(artifact: Artifact) -> tuple[int, int, Evidence] | None:
    """How many are good and bad as a log counts them."""
    with suppress(TriageError, OSError):
        for number, text in islice(iter_lines(artifact.path), LINES):
            match = COUNTS.search(text[:400]) if TALKS.search(text[:400]) else None
            if match is not None:
                n, m = (int(match[of].replace(",", "")) for of in ("good", "bad"))
                if n + m >= LEAST:
                    return n, m, Evidence(artifact.name, number, text=clean(text, 200))
    return None


def _counted(artifact: Artifact) -> tuple[int, int, Evidence] | None:
    """How many are good and bad among the first records of a file of lines."""
    count: Counter[bool] = Counter()
    with suppress(TriageError, OSError, ValueError):
        for _, text in islice(iter_lines(artifact.path), RECORDS):
            count.update(_judgements(text))
    if sum(count.values()) < LEAST:
        return None
    return count[True], count[False], Evidence(artifact.name, text=f"{count[True]} / {count[False]}")


def _judgements(text: str) -> Iterator[bool]:
    record = json.loads(text) if _RECORD.match(text) else None
    if isinstance(record, dict) and any(key in record for key in BESIDE):
        value = next((record[key] for key in FIELDS if key in record), None)
        if isinstance(value, (bool, int)) and value in (0, 1):
            yield bool(value)


_RECORD = re.compile(r"\s*\{")
