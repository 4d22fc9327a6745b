"""A job that was ended for another one, by a scheduler's account; and ends that are nobody else's doing."""

import pytest

from triage.tools.operation.yielded import gave_way
from triage.tools.tables.read import read_tables

HEAD = "job,user,partition,host,submit,start,end,exit\n"
DAYS = range(3, 6)


def found(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(gave_way([t for name in files for t in read_tables(folder / name, name)]))


def account(late=40, code=143, host="a07", user="svc", queue="prio", days=DAYS):
    """One long job a day that ends at 02:10:00, and another one handed in `late` seconds before."""
    rows = ""
    for d in days:
        rows += f"vae-{d},kim,scav,a07,2026-03-0{d} 18:00:00,2026-03-0{d} 18:00:05,2026-03-0{d + 1} 02:10:00,{code}\n"
        m, s = divmod(130 * 60 - late, 60)
        rows += f"index-{d},{user},{queue},{host},2026-03-0{d + 1} {m // 60:02d}:{m % 60:02d}:{s:02d},"
        rows += f"2026-03-0{d + 1} 02:10:07,2026-03-0{d + 1} 03:00:00,0\n"
    return HEAD + rows


ZH = account().replace(HEAD, "作业,用户,队列,节点,提交时间,开始时间,结束时间,退出码\n")
RULE = "queue\tpriority\tpreempted_by\nprio\t90\t-\nscav\t5\tprio\n"


@pytest.mark.parametrize(
    ("files", "times"),
    [
        ({"jobs.csv": account()}, 3),
        ({"作业.csv": ZH}, 3),
        ({"jobs.csv": account(code="PREEMPTED").replace(",exit", ",state")}, 3),
        ({"jobs.csv": account(days=[4]), "queues.tsv": RULE}, 1),  # once, by a rule that is written down
    ],
)
def test_a_job_that_gave_way_is_told(tmp_path, files, times):
    (one,) = found(tmp_path, files)
    assert (one.code, one.data["times"], one.data["node"]) == ("job-gave-way", times, "a07")


@pytest.mark.parametrize(
    "files",
    [
        {"jobs.csv": account(code=0)},  # ended by itself
        {"jobs.csv": account(code=1)},  # failed by itself
        {"jobs.csv": account(late=5000)},  # waited for long: it took what was free
        {"jobs.csv": account(host="a08")},
        {"jobs.csv": account(user="kim", queue="scav")},  # one's own next job
        {"jobs.csv": account(days=[4])},  # once, and no rule
    ],
)
def test_ends_of_another_kind_say_nothing(tmp_path, files):
    assert found(tmp_path, files) == []
