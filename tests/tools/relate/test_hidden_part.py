"""A part that is long behind its own best while the mean of all parts goes on."""

import json
import math

import pytest

from triage.agent.evidence import look
from triage.agent.session import ask

SHARES = (0.5, 0.3, 0.17, 0.03)


def parts(fade: float, since: int = 14, count: int = 40):
    """(step, the measure of each part, that of all), less is better; the last part gets worse by `fade` a point."""
    for i in range(1, count + 1):
        own = [a * (1 + 0.8 * math.exp(-i / 8)) * (1 + 0.004 * math.sin(5 * i + a)) for a in (9.0, 6.0, 11.0, 14.0)]
        own[3] += fade * max(0, i - since)
        yield 2000 * i, own, sum(s * v for s, v in zip(SHARES, own, strict=True))


def wide(rows):
    names = "step,cer_zh,cer_en,cer_ja,cer_yue,cer_avg"
    return {"dev.csv": "\n".join([names, *(f"{s}," + ",".join(f"{v:.3f}" for v in (*p, m)) for s, p, m in rows)])}


def nested(rows):
    names = [f"val/ppl/{x}" for x in ("web", "code", "math", "law", "mean")]
    told = (json.dumps({"step": s, **dict(zip(names, (*p, m), strict=True))}) for s, p, m in rows)
    return {"eval.jsonl": "\n".join(told) + "\n"}


def long(rows):
    names = ("法律", "医学", "金融", "古文", "总体")
    each = (f"{s},{n},{1 - v / 30:.4f}" for s, p, m in rows for n, v in zip(names, (*p, m), strict=True))
    return {"评测.csv": "\n".join(["步数,领域,准确率", *each])}


FORMS = {"columns": wide, "keys": nested, "rows": long}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_part_that_the_mean_hides_is_told(tmp_path, form):
    for name, text in form(parts(0.12)).items():
        (tmp_path / name).write_text(text, "utf-8")
    found = ask("the mean is the best ever, shall we ship?", [tmp_path]).diagnosis
    assert (found.state, found.top.entry.id) == ("diagnosed", "silent-degradation")
    (one,) = [f for f in found.findings if f.code == "group-worsens"]
    assert 20_000 <= one.data["at"] <= 60_000
    assert one.data["asks"]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "rows",
    [
        [*parts(0.0)],
        [*parts(0.6, since=36)],  # the last few points alone
        [(s, [v + 0.2 * s / 2000 for v in p], m + 0.2 * s / 2000) for s, p, m in parts(0.0)],  # all of them
    ],
    ids=["level", "late", "all"],
)
def test_parts_that_go_as_the_mean_does_are_silent(tmp_path, form, rows):
    for name, text in form(rows).items():
        (tmp_path / name).write_text(text, "utf-8")
    assert not {"group-worsens", "ability-lost"} & {f.code for f in look([tmp_path]).findings}


def test_the_spread_of_a_measure_is_no_part_of_it(tmp_path):
    rows = [
        f"{10 * i},{0.5 + i / 100:.3f},{0.3 - i / 400:.4f},{0.2 + i / 90:.3f},{0.8 + i / 900:.3f}" for i in range(1, 41)
    ]
    (tmp_path / "m.csv").write_text("\n".join(["step,acc_mean,acc_std,acc_min,acc_max", *rows]), "utf-8")
    assert not {"group-worsens", "ability-lost"} & {f.code for f in look([tmp_path]).findings}
