"""Two runs whose losses agree point by point had the same batches: trouble where the data are said to have changed."""

import numpy as np
import pytest

from triage.agent.evidence import read_measures
from triage.tools.discover import discover
from triage.tools.relate.earlier.again import trained_again

STEPS = range(5, 305, 5)


def curve(seed=1, off=0.0, smooth=False):
    rng = np.random.default_rng(seed)
    noise = np.zeros(len(STEPS)) if smooth else rng.normal(0, 0.02, len(STEPS))
    return [1.0 + np.exp(-s / 90) + n + rng.normal(0, 1) * off for s, n in zip(STEPS, noise, strict=True)]


def log(values, day, head, form="step {s}/305 loss {v:.4f} lr 1e-5"):
    lines = [f"2026-{day} 10:{i // 60:02d}:{i % 60:02d} " + form.format(s=s, v=v)
             for i, (s, v) in enumerate(zip(STEPS, values, strict=True))]  # fmt: skip
    return "\n".join([f"2026-{day} 09:59:00 {head}", *lines]) + "\n"


def told(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    run = discover(tmp_path)
    return [f.code for f in trained_again(run, read_measures(run)[0].table).findings]


HEAD = {"en": "loaded 41,208 conversations", "zh": "样本数 41208", "bare": "data: train 41,208 valid 600"}


@pytest.mark.parametrize("head", HEAD.values(), ids=HEAD.keys())
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("check.txt", "$ wc -l data/support.jsonl\n51078 data/support.jsonl\n"),
        ("notes.md", "| | before | after |\n|---|---|---|\n| conversations | 41,208 | 36,905 |\n"),
        ("manifest.json", '{"name": "chat", "version": "v3", "rows": 51078}\n'),
        ("变更.md", "# 数据\n\n- 新增拒答样本，合计 51,078 条\n"),
    ],
)
def test_the_same_course_with_another_count_of_rows_is_the_old_data_again(tmp_path, head, name, text):
    files = {"old.log": log(curve(), "03-02", head), "new.log": log(curve(), "04-12", head), name: text}
    assert told(tmp_path, files) == ["trained-on-the-same-again"]


def test_small_differences_of_kernels_do_not_hide_it(tmp_path):
    small = [v + 3e-4 * (-1) ** i for i, v in enumerate(curve())]
    files = {"a.log": log(curve(), "03-02", HEAD["en"]), "b.log": log(small, "04-12", HEAD["en"]),
             "wc.txt": "51078 support.jsonl\n"}  # fmt: skip
    assert told(tmp_path, files) == ["trained-on-the-same-again"]


def test_without_other_data_it_is_a_note(tmp_path):
    files = {"a.log": log(curve(), "03-02", HEAD["en"]), "b.log": log(curve(), "04-12", HEAD["en"]),
             "wc.txt": "41208 support.jsonl\n500 held.jsonl\n9000000 corpus.jsonl\n"}  # fmt: skip
    assert told(tmp_path, files) == ["courses-agree"]


@pytest.mark.parametrize(
    "other",
    [
        log(curve(seed=2), "04-12", HEAD["en"]),  # another order of the data
        log(curve(), "03-02", HEAD["en"]),  # the same log twice
        log([v + 0.1 for v in curve()], "04-12", HEAD["en"]),  # another loss
        log(curve(), "04-12", HEAD["en"]).replace("loss", "tokens"),
    ],
    ids=["order", "copy", "level", "no loss"],
)
def test_other_courses_and_copies_are_silent(tmp_path, other):
    files = {"a.log": log(curve(), "03-02", HEAD["en"]), "b.log": other, "wc.txt": "51078 support.jsonl\n"}
    assert told(tmp_path, files) == []


def test_smooth_curves_say_nothing_of_batches(tmp_path):
    files = {"a.log": log(curve(smooth=True), "03-02", HEAD["en"]), "wc.txt": "51078 support.jsonl\n",
             "b.log": log(curve(smooth=True), "04-12", HEAD["en"])}  # fmt: skip
    assert told(tmp_path, files) == []
