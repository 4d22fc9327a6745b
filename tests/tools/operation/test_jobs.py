"""Which machine the failed jobs share, whose counters grew, which checkpoint is short, which quota is reached."""

import pytest

from triage.tools.operation.counters import counted
from triage.tools.operation.jobs import expanded, ran, resumed, stored
from triage.tools.tables.read import read_tables


def tables(path, text):
    path.write_text(text)
    return read_tables(path, path.name)


SACCT = """\
JobID     JobName      NodeList                State       ExitCode
--------- ------------ ----------------------- ----------- --------
501       run          n[01-04]                COMPLETED        0:0
502       run          n[01-03,07]             FAILED         134:0
503       run          n[02-04,08]             COMPLETED        0:0
504       run          n[05-07,09]             {state}         134:0
"""


def test_the_node_that_every_failed_job_had_and_no_other_is_named(tmp_path):
    [found] = ran(tables(tmp_path / "sacct.txt", SACCT.format(state="NODE_FAIL")))
    assert found.data["node"] == "n07"
    assert {e.line for e in found.evidence} >= {4, 6}


def test_one_failed_job_names_no_node(tmp_path):
    assert list(ran(tables(tmp_path / "sacct.txt", SACCT.format(state="COMPLETED")))) == []


def test_a_node_on_which_a_job_succeeded_is_not_named(tmp_path):
    text = SACCT.format(state="FAILED") + "505       run          n[07,10-12]             COMPLETED        0:0\n"
    assert list(ran(tables(tmp_path / "sacct.txt", text))) == []


def test_two_nodes_that_fail_together_are_not_told_apart(tmp_path):
    rows = ["job,nodes,state", "1,a1 a2 a3,failed", "2,a1 a2 a4,failed", "3,a5 a6,completed", "4,a3 a4,completed"]
    assert list(ran(tables(tmp_path / "jobs.csv", "\n".join(rows) + "\n"))) == []


@pytest.mark.parametrize(("text", "nodes"), [
    ("gn[11-13,23]", ["gn11", "gn12", "gn13", "gn23"]),
    ("h07,h12", ["h07", "h12"]),
    ("c[008-010]-ib", ["c008-ib", "c009-ib", "c010-ib"]),
    ("(None)", []),
    ("n[1-999999999]", None),
])  # fmt: skip
def test_lists_of_nodes_are_spelled_out_within_bounds(text, nodes):
    found = list(expanded(text))
    assert len(found) <= 4200 if nodes is None else found == nodes


def counters(path, errors, name="node_infiniband_symbol_error_total"):
    rows = [f'{name}{{device="mlx5_{i % 4}",instance="n{i // 4}:9100"}} {e}' for i, e in enumerate(errors)]
    return tables(path, f"# TYPE {name} counter\n" + "\n".join(rows) + "\n")


def test_the_port_whose_counter_grows_alone_is_named(tmp_path):
    before, after = [0, 1, 0, 2, 0, 500, 0, 0], [0, 1, 1, 2, 0, 2900, 0, 0]
    [found] = counted([*counters(tmp_path / "a.prom", before), *counters(tmp_path / "b.prom", after)])
    assert found.code == "link-counters-grow"
    assert "mlx5_1" in found.data["names"]
    assert "n1:9100" in found.data["names"]
    assert found.evidence[0].file == "b.prom"
    assert found.evidence[0].line == 7


@pytest.mark.parametrize("after", [[0, 1, 0, 2, 0, 500, 0, 0], [9, 8, 9, 9, 7, 508, 9, 8], [0, 1, 0, 2, 0, 501, 0, 0]])
def test_counters_that_stand_still_or_grow_everywhere_say_nothing(tmp_path, after):
    before = counters(tmp_path / "a.prom", [0, 1, 0, 2, 0, 500, 0, 0])
    assert list(counted([*before, *counters(tmp_path / "b.prom", after)])) == []


def health(path, heads, *last):
    """Two times of six cards, whose fourth has these counts at the second."""
    rows = [f"{at},g{i},{','.join(last if at == '09:40' and i == 3 else '0' * len(last))}"
            for at in ("08:00", "09:40") for i in range(6)]  # fmt: skip
    return tables(path, f"time,gpu,{heads}\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize(("heads", "last", "code"), [
    ("ecc_corrected_total,ecc_uncorrected_total", "70", ["corrected-errors-few"]),
    ("ecc_single_bit_count,ecc_double_bit_count", "40", ["corrected-errors-few"]),
    ("ecc_corrected_total,ecc_uncorrected_total", "73", ["fault-counters-grow"]),
    ("ecc_uncorrectable_total,ecc_correctable_total", "90", ["fault-counters-grow"]),
    ("ecc_corrected_total,xid_count", ("90000", "0"), ["fault-counters-grow"]),  # a flood is no usual wear
    ("ecc_corrected_total,xid_count", "00", []),
])  # fmt: skip
def test_a_few_corrected_errors_are_wear(tmp_path, heads, last, code):
    assert [f.code for f in counted(health(tmp_path / "h.csv", heads, *last))] == code


def test_a_row_is_named_by_what_tells_it_from_others_and_a_time_as_people_read_it(tmp_path):
    rows = [
        f"{at},g,{i},none,{8 * (i == 2) * late}" for late, at in enumerate((1795399867, 1795411267)) for i in range(6)
    ]
    text = "time,host,gpu,xid,ecc_uncorrected_total\n" + "\n".join(rows) + "\n"
    [found] = counted(tables(tmp_path / "h.csv", text))
    assert found.data["names"] == "gpu 2"
    assert "2026-" in found.message
    assert "1795399867" not in found.message


def test_counters_of_traffic_are_no_errors(tmp_path):
    name, same = "node_network_receive_bytes_total", [100] * 8
    before = counters(tmp_path / "a.prom", same, name)
    assert list(counted([*before, *counters(tmp_path / "b.prom", [*same[:7], 10**9], name)])) == []


def listing(last):
    return "size,path\n" + "".join(f"84.2,out/checkpoint-{n}\n" for n in range(500, 3000, 500)) + last


def test_the_last_checkpoint_that_is_short_is_told(tmp_path):
    [found] = stored(tables(tmp_path / "du.csv", listing("11.0,out/checkpoint-3000\n")))
    assert (found.code, found.data["checkpoint"]) == ("checkpoint-smaller", "checkpoint-3000")


def test_checkpoints_of_one_size_and_those_that_always_differ_are_not(tmp_path):
    assert list(stored(tables(tmp_path / "du.csv", listing("84.3,out/checkpoint-3000\n")))) == []
    grows = "size,path\n" + "".join(f"{n / 10},out/checkpoint-{n}\n" for n in (500, 1000, 1500, 2000, 100))
    assert list(stored(tables(tmp_path / "du2.csv", grows))) == []


def test_a_quota_that_is_reached_is_told_and_one_with_room_is_not(tmp_path):
    assert [f.code for f in stored(tables(tmp_path / "q.csv", "filesystem,used,quota\n/s,2T,2T\n"))] == [
        "quota-reached"
    ]
    assert list(stored(tables(tmp_path / "r.csv", "filesystem,used,quota\n/s,1.1T,2T\n"))) == []


DF = """Filesystem      Size  Used Avail Use% Mounted on
overlay         900G  310G  590G  35% /
{shm}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DF.format(shm="tmpfs           8.0G  8.0G     0 100% /dev/shm"), ["shm-full"]),
        (DF.format(shm="shm              64M   64M     0 100% /dev/shm\n/dev/sdb1       2.0T  2.0T     0 100% /ckpt"),
         ["shm-full", "quota-reached"]),
        ("文件系统        容量  已用  可用 已用% 挂载点\n/dev/sda1       900G  310G  590G   35% /\n"
         "tmpfs           16G   16G     0  100% /dev/shm\n", ["shm-full"]),
        ("Mounted on,Use%\n/,40%\n/run/shm,100%\n", ["shm-full"]),
        (DF.format(shm="shm              64M     0   64M   0% /dev/shm"), []),
        (DF.format(shm="/dev/loop3       64M   64M     0 100% /snap/core20/1405"), []),  # an image, full by nature
    ],
)  # fmt: skip
def test_a_full_mount_of_shared_memory_is_no_disk(tmp_path, text, found):
    name = "df.csv" if "," in text else "df.txt"
    assert [f.code for f in stored(tables(tmp_path / name, text))] == found


@pytest.mark.parametrize(
    "text", ["resumed at 500: weights only", "restarted without optimizer state", "500 步续跑，只加载权重"]
)
def test_a_job_that_went_on_from_weights_alone_is_told(tmp_path, text):
    rows = f"job;state;note\n1;PREEMPTED;-\n2;COMPLETED;{text}\n"
    [found] = resumed(tables(tmp_path / "jobs.csv", rows), ())
    assert found.evidence[0].line == 3


@pytest.mark.parametrize("text", [
    "resumed at 500 with optimizer", "weights only were exported", "resumed at 500",
    "never restarted without optimizer",
])  # fmt: skip
def test_a_job_that_kept_its_state_is_not(tmp_path, text):
    rows = f"job;state;note\n1;PREEMPTED;-\n2;COMPLETED;{text}\n"
    assert list(resumed(tables(tmp_path / "jobs.csv", rows), ())) == []
