"""Bad parts of the data that were read, and the last whole state from before."""

import numpy as np
import pytest

from tests.tools.relate.courses.test_courses import report

ORDER = ["step,shard", *(f"{s},s-{s // 500:03d}" for s in range(100, 6001, 100))]


def found(folder, files):
    return {f.code: f for f in report(folder, {n: "\n".join(rows) + "\n" for n, rows in files.items()}).findings}


@pytest.mark.parametrize(
    ("listed", "order", "told_"),
    [
        (["shard,status", *(f"s-{k:03d},{'contaminated' if k == 7 else 'ok'}" for k in range(13))], ORDER, True),
        (["file,quality", *(f"p{k}.jsonl,{'bad' if k in (3, 4) else 'good'}" for k in range(12))],
         ["iter,file", *(f"{10 * k},p{k}.jsonl" for k in range(12))], True),
        (["shard,corrupt", *(f"s-{k:03d},{str(k == 7).lower()}" for k in range(13))], ORDER, True),
        (["分片,乱码率", *(f"s-{k:03d},{40 if k == 7 else 0.2 + 0.01 * k}" for k in range(13))],
         ["step,分片", *(f"{100 * k},s-{k:03d} s-{k + 1:03d}" for k in range(12))], True),
        (["shard,error_pct", *(f"s-{k:03d},{1.4 if k == 7 else 0.2 + 0.01 * k}" for k in range(13))], ORDER, False),
        (["shard,error_pct", *(f"s-{k:03d},{5.5 * k}" for k in range(13))], ORDER, False),
        (["shard,docs", *(f"s-{k:03d},{9000 if k == 7 else 40}" for k in range(13))], ORDER, False),
        (["shard,status", *(f"s-{k:03d},ok" for k in range(13))], ORDER, False),
        (["shard,status", *(f"s-{k:03d},{'contaminated' if k == 40 else 'ok'}" for k in range(30, 43))], ORDER, False),
        (["shard,status", *(f"s-{k:03d},failed" for k in range(13))], ORDER, False),
    ],
    ids=["a shard", "files", "a yes", "several in a cell", "a percent", "a slope", "no fault", "none marked",
         "not read", "another word"],
)  # fmt: skip
def test_marked_parts_that_were_read(tmp_path, listed, order, told_):
    assert ("marked-part-was-read" in found(tmp_path, {"manifest.csv": listed, "order.csv": order})) is told_


MANIFEST = ["shard,invalid_share", *(f"s-{k:03d},{0.62 if k == 7 else 0.001 * k}" for k in range(13))]
LISTS = {
    "kept.txt": "drwxr-xr-x {n} root {gb}G ckpt-{s}",
    "saved.csv": "iter_{s:07d},{n},{gb}00000",
    "状态.md": "- checkpoint_{s}：{n} 个文件，{gb} GB",
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("cut", "last"), [(3500, 3000), (1000, 3500)])
def test_the_last_whole_state_from_before(tmp_path, name, cut, last):
    rows = [LISTS[name].format(s=s, n=40 if s == cut else 64, gb=31 if s == cut else 55) for s in range(500, 6001, 500)]
    one = found(tmp_path, {"scan.csv": MANIFEST, "order.csv": ORDER, name: rows})["last-state-before-bad-data"]
    assert (one.data["step"], one.data["first_bad"]) == (last, 3500)


@pytest.mark.parametrize("steps", [range(4000, 6001, 500), range(500, 3001, 500)])
def test_no_state_from_before_and_none_from_behind(tmp_path, steps):
    rows = [LISTS["kept.txt"].format(s=s, n=64, gb=55) for s in steps]
    assert "last-state-before-bad-data" not in found(
        tmp_path, {"scan.csv": MANIFEST, "order.csv": ORDER, "kept.txt": rows}
    )


def test_the_price_is_counted_in_steps_and_hours(tmp_path):
    noise = np.random.default_rng(1).normal(0, 0.01, 120)
    log = ["step,loss,step_time", *(f"{50 * k},{2.3 + v:.4f},3.6" for k, v in enumerate(noise, 1))]
    rows = [LISTS["kept.txt"].format(s=s, n=64, gb=55) for s in range(500, 6001, 500)]
    files = {"scan.csv": MANIFEST, "order.csv": ORDER, "kept.txt": rows, "train.csv": log}
    assert "2,500 steps, about 2.5 h" in found(tmp_path, files)["last-state-before-bad-data"].message
