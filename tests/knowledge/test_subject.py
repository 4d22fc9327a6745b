"""What a folder's files are about: an order of what to look at, from words alone, in both languages."""

import numpy as np
import pytest

from triage.evals.train_subjects import fitted, held_out, outlines
from triage.knowledge.runbook import load
from triage.knowledge.subject import NOTHING, file_words, subjects, words

FOLDERS = {
    "collective-mismatch": {
        "last_ops.csv": "rank,last_seq,last_op\n0,8812,allreduce\n1,8812,allreduce\n2,8811,allgather",
        "trace_r2.txt": "rank 2 waits in all_gather\nrank 0 waits in all_reduce",
    },
    "annotation-disagreement": {
        "标注结果.csv": "题号,标注员,偏好\n1,甲,A\n1,乙,B\n1,丙,A",
        "一致率.csv": "标注员,与多数一致\n甲,0.91\n乙,0.48",
    },
}


@pytest.mark.parametrize(("entry", "files"), FOLDERS.items(), ids=FOLDERS)
def test_a_folder_is_about_what_its_owner_collected(entry, files):
    share = subjects().about([file_words(name, text.splitlines()) for name, text in files.items()])
    assert entry in sorted(share, key=lambda id: -share[id])[:2]
    assert sum(share.values()) == pytest.approx(1)


def test_words_are_the_parts_of_names_without_numbers():
    assert words("numWaiting_p99 KVCacheUsage=0.93 队列长度") == [
        "num", "waiting", "kv", "cache", "usage", "队列", "列长", "长度",
    ]  # fmt: skip
    assert file_words("a.csv", ["loss,loss,step"]) == "csv loss step"


def test_nothing_is_about_nothing():
    assert subjects().about([]) == {}
    assert subjects().scores([""]).shape == (1, len(subjects().entries))


def test_the_shipped_directions_are_those_of_the_outlines_and_of_the_runbook():
    rows, shipped = outlines(), subjects()
    made = fitted(rows)
    assert made.entries == shipped.entries
    assert set(shipped.entries) - {NOTHING} <= load().entries.keys()
    assert np.abs(made.directions - shipped.directions).max() < np.abs(made.directions).max() / 50
    first, three = held_out(rows)
    assert (first > 0.4, three > 0.6) == (True, True)
