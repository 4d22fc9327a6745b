"""One link below all others, in tables of strangers."""

import pytest

from triage.tools.relate.layout.links import slow_links
from triage.tools.tables.read import read_tables

HOSTS = ("a01", "a02", "a03", "a04", "a05")


def pairs(slow="a03", low=11.0, high=24.0, join=" <-> "):
    rows = [(a, b) for i, a in enumerate(HOSTS) for b in HOSTS[i + 1 :]]
    return "pair,busbw_GBs\n" + "".join(
        f"{a}{join}{b},{(low if slow in (a, b) else high) + 0.1 * i:.1f}\n" for i, (a, b) in enumerate(rows)
    )


def ports(odd=(3, 5), rate=100, state="Active", layer="IB", hosts=4):
    rows = ["node,hca,link_layer,state,rate_gbps"]
    for host in range(hosts):
        for port in range(8):
            here = (host, port) == odd
            rows.append(
                f"n{host},mlx5_{port},{layer if here else 'IB'},{state if here else 'Active'},{rate if here else 400}"
            )
    return "\n".join(rows)


def cards(slow=2, directions=("H2D", "D2H"), low=0.25):
    rows = ["卡,方向,带宽(GB/s)"]
    for card in range(8):
        for i, way in enumerate(directions):
            rows.append(f"{card},{way},{(25.0 - 9 * i) * (low if card == slow else 1) + 0.03 * card:.2f}")
    return "\n".join(rows)


def later(slow="n2", start=12):
    rows = ["minute,host,ib_write_bw_GBps"]
    for t in range(24):
        rows += [f"{t},{h},{(9.0 if h == slow and t >= start else 46.0) + 0.1 * (t % 3):.1f}"
                 for h in ("n0", "n1", "n2", "n3")]  # fmt: skip
    return "\n".join(rows)


def found(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return list(slow_links(read_tables(folder / name, name)))


@pytest.mark.parametrize(("name", "text", "who"), [
    ("nccl_pairs.csv", pairs(), "a03"),
    ("sendrecv.csv", pairs(join="-"), "a03"),
    ("ports.csv", ports(), "mlx5_5"),
    ("拷贝.csv", cards(), "2"),
    ("bw.csv", later(), "n2"),
])  # fmt: skip
def test_the_link_that_is_below_all_others_is_named(tmp_path, name, text, who):
    (one,) = found(tmp_path, name, text)
    assert (one.code, one.severity) == ("link-below-others", "S2")
    assert who in one.data["who"]
    assert one.evidence[0].line


@pytest.mark.parametrize(("name", "text"), [
    ("nccl_pairs.csv", pairs(slow="none")),  # all level
    ("nccl_pairs.csv", pairs(low=20.0)),  # within what a fabric spreads
    ("nccl_pairs.csv", "pair,busbw_GBs\na-b,24\na-c,11\n"),  # too few
    ("ports.csv", ports(state="Down")),  # a port that nobody plugged in
    ("ports.csv", ports(layer="Ethernet", rate=25)),  # of another network
    ("拷贝.csv", cards(slow=9)),  # one direction is slower for all
    ("ports.csv", ports().replace("rate_gbps", "rx_traffic_gbps")),  # what was carried
    ("size.csv", "size,busbw_GBs\n" + "".join(f"{2**i},{min(350, 2**i / 40):.1f}\n" for i in range(6, 20))),
    ("disk.csv", "host,read_GBps\n" + "".join(f"n{i},{2 if i == 3 else 9}\n" for i in range(8))),
])  # fmt: skip
def test_what_is_level_or_no_link_is_none(tmp_path, name, text):
    assert not found(tmp_path, name, text)


def lanes(odd=4, util=97, head="pcie.link.width.current", form="{}"):
    rows = [f"host, index, utilization.gpu [%], {head}"]
    for i in range(16):
        here = i == 5
        rows.append(f"n{i // 8}, {i % 8}, {util if here else 97}, {form.format(odd if here else 16)}")
    return "\n".join(rows)


def parts(slow="c3", low=6.0, head="## {}", names=("c1", "c2", "c3", "c4")):
    text = ""
    for name in names:
        text += head.format(name) + "\n#  size  count  type  time  busbw\n"
        for k in range(5):
            rate = (low if name == slow else 21.0) + 0.1 * k
            text += f"  {2 ** (26 + k)}  {2 ** (24 + k)}  float  {2 ** (26 + k) / rate / 1e3:.0f}  {rate:.2f}\n"
        text += "\n"
    return text


@pytest.mark.parametrize(("name", "text"), [
    ("smi.csv", lanes()),
    ("lanes.csv", lanes(head="link_width", form="x{}")),
    ("带宽.csv", lanes(head="链路位宽", form="{} lanes")),
    ("nccl.txt", parts()),
    ("all_reduce_perf.md", parts(head="## node {} (8 cards)")),
])  # fmt: skip
def test_a_link_in_percent_units_and_parts_is_named(tmp_path, name, text):
    assert [f.code for f in found(tmp_path, name, text)] == ["link-below-others"]


@pytest.mark.parametrize(("name", "text"), [
    ("smi.csv", lanes(odd=16)),
    ("smi.csv", lanes(util=0)),  # at rest
    ("nccl.txt", parts(slow="")),
    ("nccl.txt", parts(names=("c1", "c3"))),  # too few
    ("nccl.txt", parts(slow="nodes 4", names=("nodes 1", "nodes 2", "nodes 4"))),  # of other widths
    ("nccl.txt", parts(slow="all_gather", names=("all_reduce", "all_gather", "sendrecv"))),
])  # fmt: skip
def test_a_link_at_rest_and_parts_of_other_sorts_are_none(tmp_path, name, text):
    assert not found(tmp_path, name, text)
