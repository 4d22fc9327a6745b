"""Parts of an evaluation in lists, logs and scripts: one is missing from what was merged, or none is."""

import pytest

from triage.tools.data.between.shards import check_shards
from triage.tools.discover import discover


def codes(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
    return {f.code: f for f in check_shards(discover(tmp_path)).findings}


def counts(*rows, name="eval/pred_rank{}.jsonl", merged=None):
    lines = [f"  {n} {name.format(i)}" for i, n in enumerate(rows)]
    return "\n".join([*lines, *([f"  {merged} eval/all.jsonl"] if merged is not None else []), ""])


def test_an_empty_part_in_the_output_of_wc(tmp_path):
    found = codes(tmp_path, wc__txt=counts(200, 200, 0, 200, merged=600))
    assert found["part-without-rows"].evidence[0].line == 3


def test_a_short_part_written_name_first(tmp_path):
    text = "".join(f"- out/answers_{i}.jsonl: {n} lines\n" for i, n in enumerate((125, 125, 31, 125, 125, 118)))
    assert "part-without-rows" in codes(tmp_path, notes__md="# counted this morning\n" + text)


@pytest.mark.parametrize("text", [
    counts(200, 200, 200, 200, merged=800),
    counts(200, 200, 200, 40, merged=640),  # the last part is what is left
    counts(200, 200, 0),  # too few parts
    counts(10, 400, 0, 90),  # parts of any size
    counts(200, 200, 0, 200, name="corpus/train_{}.jsonl"),  # data of a training
])  # fmt: skip
def test_lists_that_say_nothing(tmp_path, text):
    assert codes(tmp_path, wc__txt=text) == {}


def listing(*times, merged):
    lines = [f"-rw-r--r-- 1 u u {9000 + i} 2025-01-02 {t} gen_{i}.json" for i, t in enumerate(times)]
    return "\n".join([*lines, f"-rw-r--r-- 1 u u 400 2025-01-02 {merged} merged.json", ""])


def test_a_merged_file_that_is_older_than_a_part(tmp_path):
    found = codes(tmp_path, ls__txt=listing("10:00:01", "10:00:05", "10:31:00", "10:00:09", merged="10:20:00"))
    assert found["merged-before-part"].data["late"] == ["gen_2.json"]
    assert codes(tmp_path, ls__txt=listing("10:00:01", "10:00:05", "10:19:00", "10:00:09", merged="10:20:00")) == {}


def progress(merge, again=""):
    rows = [(f"09:{m:02d}:{w}0", f"worker {w} {min(60, m * (4 if w < 3 else 2))}/60 items") for m in (5, 10, 15, 30, 35)
            for w in range(1, 5)]  # fmt: skip
    rows += [(merge, "merging 4 files -> report.json"), *([(again, "merging 4 files -> report.json")] if again else [])]
    return "\n".join(f"{t} {said}" for t, said in sorted(rows)) + "\n"


def test_a_merge_in_the_log_while_workers_go_on(tmp_path):
    assert codes(tmp_path, run__log=progress("09:16:00"))["merged-before-part"].data["late"] == ["worker3", "worker4"]


def test_so_with_chinese_words(tmp_path):
    text = progress("09:16:00").replace("worker ", "卡").replace("merging 4 files", "汇总 4 个文件")
    assert "merged-before-part" in codes(tmp_path, run__log=text)


@pytest.mark.parametrize("text", [
    progress("09:40:00"),  # when all were done
    progress("09:06:00"),  # none was done: a merge of something else
    progress("09:16:00", "09:41:00"),  # and once more at the end
    progress("09:16:00").replace("merging", "all-gather of"),
])  # fmt: skip
def test_logs_that_say_nothing(tmp_path, text):
    assert codes(tmp_path, run__log=text) == {}


START = "for i in 0 1 2 3; do\n  python answer.py --part $i --out a_$i.jsonl > $i.log 2>&1 &\ndone\n"


@pytest.mark.parametrize("then", ["sleep 900\npython merge.py --dir .\n", "cat a_*.jsonl > all.jsonl\n",
                                  "# wait\nsleep $T\npython3 tools/score_all.py\n"])  # fmt: skip
def test_a_script_that_does_not_wait(tmp_path, then):
    found = codes(tmp_path, run__sh="#!/bin/bash\n" + START + then)
    assert found["merges-without-waiting"].severity == "S3"


@pytest.mark.parametrize("text", [
    START + "wait\npython merge.py\n",
    START + "wait || exit 1\ncat a_*.jsonl > all.jsonl\n",
    START + "while [ $(ls *.done | wc -l) -lt 4 ]; do sleep 5; done\npython merge.py\n",
    START.replace(" &\n", "\n") + "python merge.py\n",  # one after another
    START + "sleep 900\necho started\n",  # merges nothing
])  # fmt: skip
def test_scripts_that_say_nothing(tmp_path, text):
    assert codes(tmp_path, run__sh=text) == {}
