"""Rounds of one table that get worse with the share of what a model made."""

import pytest

from triage.tools.relate.earlier.rounds import worse_unless_left_out, worse_with_made
from triage.tools.tables.read import read_tables

HEAD = "run,warmup,num_generated,num_human,self_bleu,hallucination_rate,bleu"
SHARES = (0.05, 0.2, 0.4, 0.65, 0.9)


def told(tmp_path, rows, head=HEAD):
    (tmp_path / "rounds.csv").write_text("\n".join([head, *rows]))
    return [*worse_with_made(read_tables(tmp_path / "rounds.csv", "rounds.csv"))]


def row(name, share, worse, warmup=50, n=40_000):
    parts = f"{n * share:.0f},{n * (1 - share):.0f}"
    return f"{name},{warmup},{parts},{0.2 + 0.3 * worse:.3f},{2 + 9 * worse:.2f},31.{name[-1]}"


def test_rounds_that_get_worse_with_made_data_and_the_setting_that_has_no_part_in_it(tmp_path):
    rows = [row(f"g{i}", s, s, 200 if i == 4 else 50) for i, s in enumerate(SHARES)]
    [found] = told(tmp_path, [*rows, row("g4-w5", 0.9, 0.91)])
    assert (found.code, found.severity) == ("worse-with-made-data", "S1")
    assert found.data["measures"] == ["self_bleu", "hallucination_rate"]
    assert found.data["cleared"] == "warmup"
    assert "5% to 90%" in found.message


@pytest.mark.parametrize("worse", [(0.5, 0.1, 0.4, 0.2, 0.3), (0.11, 0.1, 0.12, 0.1, 0.11)])
def test_rounds_that_do_not_follow_the_share_are_none(tmp_path, worse):
    assert not told(tmp_path, [row(f"g{i}", s, w) for i, (s, w) in enumerate(zip(SHARES, worse, strict=True))])


def test_one_measure_alone_and_parts_that_nobody_made_say_nothing(tmp_path):
    rows = [row(f"g{i}", s, s) for i, s in enumerate(SHARES)]
    assert not told(tmp_path, rows, HEAD.replace("hallucination_rate", "chrf"))
    assert not told(tmp_path, rows, HEAD.replace("num_generated", "num_web"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model,data,distinct-2,hallucination_rate\na,mix9 all,0.03,0.19\nb,mix9 without synthetic,0.08,0.06\n", True),
        ("模型,数据,多样性,编造率\n甲,三版 全部,0.02,0.21\n乙,三版 去掉合成,0.07,0.05\n丙,三版 全部,0.03,0.2\n", True),
        ("model,data,distinct-2,hallucination_rate\na,mix9 all,0.08,0.06\nb,mix9 without synthetic,0.08,0.06\n", False),
        ("model,data,distinct-2,hallucination_rate\na,mix9 all,0.03,0.05\nb,mix9 without synthetic,0.08,0.06\n", False),
        ("model,data,distinct-2,hallucination_rate\na,mix9 all,0.03,0.19\nb,mix9 without forum,0.08,0.06\n", False),
        ("model,data,latency,accuracy\na,mix9 all,30,0.19\nb,mix9 without synthetic,8,0.66\n", False),
    ],
    ids=["en", "zh", "alike", "one is better", "another source", "other measures"],
)
def test_what_is_better_once_made_data_are_left_out(tmp_path, text, told):
    (tmp_path / "ab.csv").write_text(text)
    assert bool([*worse_unless_left_out(read_tables(tmp_path / "ab.csv", "ab.csv"))]) is told
