"""Shares of experts that part, and a balancing term that the loss does not hold."""

# ruff: noqa: E501  one table on one line

import numpy as np
import pytest

from triage.tools.documents.stated import Stated
from triage.tools.relate.line import Line
from triage.tools.relate.numeric.experts import not_added, parted
from triage.tools.tables.read import read_tables

RNG = np.random.default_rng(3)
SAID = [
    Stated("c.yaml", 2, "n_experts", "8", "n_experts: 8"),
    Stated("c.yaml", 5, "aux_loss_coef", "0.0", "aux_loss_coef: 0.0"),
]


def shares(n, drift, noise=0.03, total=1.0):
    """Row by row along the way: even at first, the first expert with `drift` times its share at last."""
    for i in range(20):
        load = np.ones(n) * (1 + noise * RNG.standard_normal(n))
        load[0] *= 1 + (drift * (n - 1) / max(0.1, n - drift) - 1) * i / 19
        load[n // 2 :] *= 1 - 0.9 * (i / 19) * (drift > 2)
        yield 100 * i, total * load / load.sum()


def wide(n, drift, head="step,{}", stem="e{}", total=1.0, row="{i},{v}"):
    lines = [head.format(",".join(stem.format(k) for k in range(n)))]
    return "\n".join(
        [*lines, *(row.format(i=i, v=",".join(f"{x:.4f}" for x in load)) for i, load in shares(n, drift, total=total))]
    )


def long(n, drift):
    return "\n".join(
        [
            "iter,expert_id,tokens",
            *(f"{i},{k},{round(x * 1e6)}" for i, load in shares(n, drift) for k, x in enumerate(load)),
        ]
    )


def codes(tmp_path, text, said=SAID, name="load.csv"):
    (tmp_path / name).write_text(text)
    return [f for f in parted(read_tables(tmp_path / name, name), said)]


@pytest.mark.parametrize("text", [
    wide(8, 3.5), wide(16, 6, "it,layer,{}", "x_{}", 100.0, "{i},4,{v}"), wide(32, 8, "迭代,{}", "专家{}", 4.0), long(16, 6),
])  # fmt: skip
def test_shares_that_part_are_told(tmp_path, text):
    [found] = codes(tmp_path, text)
    assert (found.code, found.severity) == ("experts-part", "S2")
    assert "aux_loss_coef" in found.message


@pytest.mark.parametrize(
    ("key", "value", "weak"),
    [
        ("aux_loss_coef", "1e-5", True),
        ("moe-aux-loss-coeff", "0.00002", True),
        ("router_aux_loss_coef", "0.001", False),
        ("bias_update_rate", "1e-4", False),
    ],
)
def test_a_balancing_term_that_moves_no_router_is_named(tmp_path, key, value, weak):
    [found] = codes(tmp_path, wide(16, 6), [SAID[0], Stated("run.sh", 9, key, value, f"{key} {value}")])
    assert (found.data.get("names") == f"{key} = {value}") is weak
    [bound] = found.data["asks"]
    assert (bound["metric"], bound["is"]) == ("moe_load_imbalance", "at-most")
    assert 1 < bound["bound"] < found.data["now"] / 2


@pytest.mark.parametrize(("text", "said"), [
    (wide(16, 1.0), SAID),  # healthy
    (wide(16, 6), []),  # no experts in the run
    (wide(16, 6, stem="lang{}"), SAID),  # shares of the data
    (wide(16, 6).replace("0.0", "3.0"), SAID),  # rows without one sum
    ("\n".join(wide(16, 6).splitlines()[:4]), SAID),  # too few
    ("\n".join([wide(16, 6).splitlines()[0], *wide(16, 6).splitlines()[15:]]), SAID),  # uneven from the first: as it was trained
])  # fmt: skip
def test_anything_else_is_silent(tmp_path, text, said):
    assert not codes(tmp_path, text, said)


def line(key, values):
    n = len(values)
    return Line(key, key, "a.log", np.arange(n, dtype=float), np.asarray(values, float), np.arange(1, n + 1))


MAIN, GROWS = np.linspace(5, 3, 30), np.linspace(1, 3, 30)


@pytest.mark.parametrize(("total", "main", "term", "values"), [
    ("loss", "lm", "lb", MAIN),
    ("total", "ce", "aux_loss", np.where(np.arange(30) < 12, MAIN + 0.01 * GROWS, MAIN)),
    ("total_loss", "lm_loss", "load_balance_loss", MAIN),
])  # fmt: skip
def test_a_term_that_is_not_added(total, main, term, values):
    [found] = not_added([line(total, values), line(main, MAIN), line(term, GROWS)])
    assert found.code == "balance-not-added"


@pytest.mark.parametrize("lines", [
    [line("loss", MAIN + 0.01 * GROWS), line("lm", MAIN), line("lb", GROWS)],
    [line("loss", MAIN), line("lm", MAIN), line("lb", np.ones(30))],  # nothing parts
    [line("loss", MAIN), line("lm", MAIN), line("z", GROWS)],
    [line("loss", MAIN), line("lb", GROWS)],
])  # fmt: skip
def test_a_term_that_is_added_or_even_is_silent(lines):
    assert not list(not_added(lines))
