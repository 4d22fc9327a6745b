"""Steps that are a part of the batch off what the tokens need, and a mixture that leaves its plan."""

import numpy as np
import pytest

from triage.tools.documents.event import Claim
from triage.tools.documents.stated import Stated
from triage.tools.relate.line import Line
from triage.tools.relate.paced.frames import Frame
from triage.tools.relate.paced.mixed import leaving_plan
from triage.tools.relate.paced.planned import beyond_plan
from triage.tools.tables.read import read_tables


def counter(each, key="tokens_B", scale=1e9, rows=20):
    x = np.arange(1, rows + 1) * 500.0
    return Line(key, key, "progress.csv", x, x * each / scale, np.arange(2, rows + 2))


def says(**values):
    return [Stated("run.toml", i + 1, k, str(v), f"{k} = {v}") for i, (k, v) in enumerate(values.items())]


def tokens(value):
    return [Claim("train_tokens", value, "tokens", "120B", "plan.md", 3)]


def test_steps_that_forget_the_accumulation():
    [f] = beyond_plan([counter(2e6)], says(max_steps=400_000, grad_accum=8, lr=1e-4), tokens(1e11))
    assert f.code == "steps-off-by-batch-part"
    assert f.data["needed"] == pytest.approx(50_000)
    assert "grad_accum is 8" in f.message


def test_so_with_a_budget_in_the_configuration_and_cards():
    some = says(train_iters=3125, token_budget=100_000_000_000, gpus=16)
    [f] = beyond_plan([counter(2e6, "consumed_tokens", 1)], some, ())
    assert f.data["part"] == "gpus"
    assert "1/16" in f.message


def test_so_with_chinese_names():
    [f] = beyond_plan([counter(2e6, "已见token(B)")], says(iters=200_000, accum=4), tokens(1e11))
    assert "恰为 accum 4" in f.zh


@pytest.mark.parametrize(("line", "some", "claims"), [
    (counter(2e6), says(max_steps=50_000, grad_accum=8), tokens(1e11)),  # as planned
    (counter(2e6), says(max_steps=400_000, lr=1e-4), tokens(1e11)),  # no part of the batch
    (counter(2e6), says(max_steps=400_000, grad_accum=8, epochs=8), tokens(1e11)),  # eight passes
    (counter(2e6), says(max_steps=370_000, grad_accum=8), tokens(1e11)),  # no whole number
    (counter(2e6, "tokens_per_s"), says(max_steps=400_000, grad_accum=8), tokens(1e11)),
    (counter(2e6, rows=4), says(max_steps=400_000, grad_accum=8), tokens(1e11)),
    (counter(2e6), says(max_steps=400_000, grad_accum=8), tokens(1e11) + tokens(2e11)),  # which plan
])  # fmt: skip
def test_steps_that_say_nothing(line, some, claims):
    assert list(beyond_plan([line], some, claims)) == []


N, R = 40, np.random.default_rng(5)


def fed(late, scale=1.0, at=20):
    first = np.array([0.5, 0.3, 0.2])
    rows = np.array([first if i < at else late for i in range(N)]) * scale
    rows = rows * (1 + R.normal(0, 0.01, rows.shape))
    return Frame("fed.csv", dict(zip(("web", "zh", "code"), rows.T, strict=True)), np.arange(2, N + 2))


PLAN = says(web=0.5, zh=0.3, code=0.2)
LATE = np.array([0.65, 0.08, 0.27])


def test_a_part_that_is_fed_far_less_than_planned_from_one_place_on():
    [f] = leaving_plan([fed(LATE)], (), PLAN)
    assert f.code == "shares-leave-plan"
    assert f.data["part"] == "zh"
    assert f.data["after"] == pytest.approx(0.08, abs=0.01)


def test_so_in_tokens_and_with_weights_inside_of_the_parts():
    plan = [Stated("mix.yaml", i, "weight", str(w), f"  {n}: {{weight: {w}, path: x}}")
            for i, (n, w) in enumerate((("web", 0.5), ("zh", 0.3), ("code", 0.2)), 2)]  # fmt: skip
    [f] = leaving_plan([fed(LATE, 4e9)], (), plan)
    assert f.data["part"] == "zh"


def test_so_in_a_table_with_a_row_for_each_language_and_day(tmp_path):
    rows = [(f"2025-03-{d + 1:02d}", n, round(1000 * w)) for d in range(28)
            for n, w in zip(("en", "zh", "code"), (0.5, 0.3, 0.2) if d < 14 else LATE, strict=True)]  # fmt: skip
    (tmp_path / "daily.csv").write_text("day,lang,tokens_M\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    [f] = leaving_plan((), read_tables(tmp_path / "daily.csv", "daily.csv"), says(en=0.5, zh=0.3, code=0.2))
    assert f.data["part"] == "zh"


@pytest.mark.parametrize(("frame", "plan"), [
    (fed(np.array([0.5, 0.3, 0.2])), PLAN),
    (fed(np.array([0.55, 0.25, 0.2])), PLAN),  # a little less
    (fed(LATE), says(web=0.2, zh=0.6, code=0.2)),  # never as planned
    (fed(LATE), PLAN + says(web=0.65, zh=0.08, code=0.27)),  # a plan of two stages
    (fed(LATE), says(lr=0.1, wd=0.2)),
    (fed(LATE), says(web=0.75, zh=0.45, code=0.3)),  # more than a whole: ratios of other things
    (fed(LATE), says(web=0.95, zh=0.57)),
    (fed(LATE, at=37), PLAN),  # the last rows alone
])  # fmt: skip
def test_mixtures_that_say_nothing(frame, plan):
    assert list(leaving_plan([frame], (), plan)) == []
