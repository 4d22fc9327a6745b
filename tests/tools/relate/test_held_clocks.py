"""The clock of one card or machine that is held down, and trainings whose inner group is wider than a machine."""

import pytest

from triage.tools.relate.layout.held import held_down
from triage.tools.relate.layout.wider import slower_when_wider
from triage.tools.settings import Settings
from triage.tools.tables.read import read_tables


def cards(
    odd=5,
    names="minute,gpu,sm_clock_mhz,temp_c,util,reason",
    low=1100,
    hot=88,
    why="SW Thermal",
    start=6,
    util=99,
    many=8,
):
    rows = [names]
    for t in range(12):
        for card in range(many):
            held = card == odd and t >= start
            rows.append(f"{t},{card},{low if held else 1980 - 15 * (t % 2)},{hot if held else 62 + card % 3},"
                        f"{util if held else 98},{why if held else 'none'}")  # fmt: skip
    return "\n".join(rows)


def hosts(odd="n3", low=1300):
    rows = ["host,rank,核心频率,温度"]
    for h in range(6):
        rows += [
            f"n{h},{8 * h + k},{low if f'n{h}' == odd else 1755},{90 if f'n{h}' == odd else 64 + k}" for k in range(8)
        ]
    return "\n".join(rows)


def layouts(wide="TP=16/PP=1/DP=4", names="date,split,nodes,gpus,tok/s/gpu", slow=2500, nodes=8):
    rows = [names]
    for day in range(1, 9):
        split, speed = ("TP=8/PP=2/DP=4", 5700) if day < 5 else (wide, slow)
        rows.append(f"2025-01-{day:02d},{split},{nodes},64,{speed + 7.3 * day:.1f}")
    return "\n".join(rows)


def read(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return read_tables(folder / name, name)


@pytest.mark.parametrize(("text", "who"), [
    (cards(), "5"),
    (cards(why="none"), "5"),  # hotter, and no reason is kept
    (cards(hot=64, why="HW Power Brake"), "5"),
    (cards(start=0), "5"),
    (hosts(), "n3"),
])  # fmt: skip
def test_the_one_that_is_held_down_is_named(tmp_path, text, who):
    (one,) = held_down(read(tmp_path, "poll.csv", text))
    assert (one.code, one.severity, one.data["who"]) == ("clock-held-on-one", "S2", who)
    assert one.evidence[0].line


@pytest.mark.parametrize("text", [
    cards(odd=99),  # all alike
    cards(util=2),  # at rest
    cards(hot=64, why="none"),  # lower for no reason that is told
    cards(low=1900),  # a little lower
    cards(many=2, odd=1),  # one of two
    hosts(low=1700),
])  # fmt: skip
def test_clocks_that_are_alike_or_at_rest_are_none(tmp_path, text):
    assert not list(held_down(read(tmp_path, "poll.csv", text)))


@pytest.mark.parametrize("text", [
    layouts(),
    layouts("t16 p1 d4").replace("TP=8/PP=2/DP=4", "t8 p2 d4"),
    layouts("16", "日期,张量并行,机器数,卡数,吞吐").replace("TP=8/PP=2/DP=4", "8"),
])  # fmt: skip
def test_the_split_over_the_edge_of_a_machine_is_told_with_what_it_costs(tmp_path, text):
    (one,) = slower_when_wider(read(tmp_path, "runs.csv", text), Settings())
    assert (one.code, one.data["width"], one.data["devices"]) == ("slower-when-group-wider", 16, 8)


@pytest.mark.parametrize("text", [
    layouts(slow=5400),  # hardly slower
    layouts(wide="TP=4/PP=4/DP=4"),  # narrower
    layouts(nodes=4),  # sixteen devices in one machine
    layouts(names="date,split,site,gpus,tok/s/gpu"),  # nobody says how many a machine has
    "\n".join(layouts().splitlines()[:3]),
])  # fmt: skip
def test_a_split_inside_a_machine_is_none(tmp_path, text):
    assert not list(slower_when_wider(read(tmp_path, "runs.csv", text), Settings()))
