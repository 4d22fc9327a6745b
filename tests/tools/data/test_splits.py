"""Rows of a test file that stand in the training file are counted, whatever they look like; chance is not."""

import pytest
from making import fill

from triage.tools.data.between.splits import check_splits
from triage.tools.discover import discover


def rows(first, n, word="osmain,driverentry_start,created wdf,interrupt resource"):
    return [f"Init,{word},idx0x{first + i:x},affinity0xf,ERROR_{first + i}" for i in range(n)]


def checked(tmp_path, **files):
    report = check_splits(
        discover(fill(tmp_path, {k.replace("__", "/"): "\n".join(v) + "\n" for k, v in files.items()}))
    )
    return [(f.code, str(f.severity), f.data["shared"], f.data["rows"]) for f in report.findings], report.checks[
        0
    ].result


def test_test_rows_that_stand_in_the_training_file_are_counted(tmp_path):
    files = {"data__LOG_TRAIN.csv": rows(0, 110), "data__LOG_TEST.csv": rows(50, 5)}
    assert checked(tmp_path, **files) == ([("test-rows-in-training", "S1", 5, 5)], "found")


@pytest.mark.parametrize(
    ("files", "result"),
    [
        ({"data__LOG_TRAIN.csv": rows(0, 110), "data__LOG_TEST.csv": rows(900, 30)}, "clear"),
        ({"data__LOG_TRAIN.csv": rows(0, 110), "data__LOG_TEST.csv": rows(109, 30)}, "clear"),
        ({"data__train.csv": ["0,1,2"] * 9, "data__test.csv": ["0,1,2"] * 9}, "clear"),
        ({"a__LOG_TRAIN.csv": rows(0, 110), "b__LOG_TEST.csv": rows(0, 30)}, "not-applicable"),
        ({"data__one_train.csv": rows(0, 110), "data__other_test.csv": rows(0, 30)}, "not-applicable"),
        ({"data__latest.csv": rows(0, 30), "data__la*.csv": rows(0, 30)}, "not-applicable"),
    ],
    ids=["others", "one by chance", "labels", "two folders", "two sets", "no such word"],
)
def test_other_pairs_are_not(tmp_path, files, result):
    assert checked(tmp_path, **files) == ([], result)


def letters(first, n):
    """Records of a CSV whose text goes over lines that all letters have."""
    return ["name,body", *(f'guest{i},"Dear guest number {i}\nWe thank you for your visit\nThe whole team"'
                           for i in range(first, first + n))]  # fmt: skip


def test_a_record_is_a_record_however_many_lines_its_cells_have(tmp_path):
    files = {"data__mail_train.csv": letters(0, 40), "data__mail_test.csv": letters(35, 10)}
    assert checked(tmp_path / "shared", **files) == ([("test-rows-in-training", "S1", 5, 10)], "found")
    files = {"data__mail_train.csv": letters(0, 40), "data__mail_test.csv": letters(70, 10)}
    assert checked(tmp_path / "apart", **files) == ([], "clear")


def test_a_quote_that_never_closes_makes_no_record_of_many_lines(tmp_path):
    train = [*rows(0, 60), '"' + rows(60, 1)[0], *rows(61, 30)]
    files = {"data__LOG_TRAIN.csv": train, "data__LOG_TEST.csv": rows(70, 10)}
    assert checked(tmp_path, **files) == ([("test-rows-in-training", "S1", 10, 10)], "found")
