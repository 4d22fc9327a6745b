"""A source of the mixture whose loss stays far above the others; a part of poor quality all round."""

import json

import numpy as np
import pytest

from triage.agent.evidence import look
from triage.knowledge.runbook import load


def told(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {f.code: f for f in look([folder], entries=load()).findings}


def wide(last, names, slope=0.9, tail=""):
    r = np.random.default_rng(5)
    levels = dict(zip(names, (2.6, 2.2, last), strict=True))
    rows = [",".join(["step", *(n + tail for n in names)])]
    for i in range(40):
        fall = 1 - (1 - slope) * i / 40
        steps = [v * (fall if n != names[-1] or last < 4 else 1) * (1 + r.normal(0, 0.004)) for n, v in levels.items()]
        rows.append(f"{500 * i}," + ",".join(f"{v:.3f}" for v in steps))
    return "\n".join(rows) + "\n"


MAPPED = "lr: 1e-4\nmixture:\n  law_web: 0.45\n  law_books: 0.25\n  law_scans: 0.3\n"
PARTS = (("wiki_zh", 55), ("forum", 40), ("dump", 5))
LISTED = json.dumps({"lr": 1e-4, "corpora": [{"path": f"/d/{name}", "pct": pct} for name, pct in PARTS]}, indent=1)


@pytest.mark.parametrize(
    ("config", "names", "tail", "grade", "share"),
    [
        (("train.yaml", MAPPED), ("law_web", "law_books", "law_scans"), "", "S1", 0.3),
        (("run.json", LISTED), ("wiki_zh", "forum", "dump"), "_loss", "S2", 0.05),
    ],
)
def test_a_source_that_stays_far_above_the_others_is_named_with_its_weight(tmp_path, config, names, tail, grade, share):
    file = "nll_by_part.csv" if not tail else "parts.csv"
    found = told(tmp_path, dict([config, (file, wide(6.1, names, tail=tail))]))["source-stays-apart"]
    assert (found.severity, found.data["source"], found.data["share"]) == (grade, names[-1], share)
    assert found.data["names"].endswith("-> 0)")


def test_a_source_in_rows_of_its_own_is_told_without_a_weight(tmp_path):
    rows = ["step,domain,loss"]
    for i in range(30):
        levels = (("news", 2.4 - 0.01 * i), ("patents", 2.0 - 0.008 * i), ("pdf_raw", 5.4))
        rows += [f"{100 * i},{name},{v:.3f}" for name, v in levels]
    assert told(tmp_path, {"by_domain.csv": "\n".join(rows)})["source-stays-apart"].severity == "S2"


@pytest.mark.parametrize("last", [3.4, 3.9])
def test_a_harder_source_and_one_that_falls_are_no_noise(tmp_path, last):
    names = ("law_web", "law_books", "law_scans")
    assert "source-stays-apart" not in told(tmp_path, {"c.yaml": MAPPED, "loss_by_source.csv": wide(last, names)})


def test_columns_that_no_mixture_names_are_no_sources(tmp_path):
    text = wide(6.1, ("token", "image", "balance"))
    assert "source-stays-apart" not in told(tmp_path, {"c.yaml": MAPPED, "loss_terms.csv": text})


HEAD = "source,repeated_line_ratio,non_word_ratio,lang_conf,readable"
OTHERS = ["web,0.02,0.011,0.97,0.96", "books,0.01,0.014,0.98,0.97", "code,0.03,0.012,0.96,0.95"]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("scans,0.31,0.28,0.44,0.3", "part-poor-all-round"),
        ("mirror,0.55,0.013,0.97,0.96", "duplicates-in-one-part"),
        ("wiki,0.02,0.012,0.97,0.96", None),
    ],
)
def test_what_is_poor_all_round_has_not_lost_its_deduplication(tmp_path, row, code):
    found = told(tmp_path, {"audit.csv": "\n".join([HEAD, *OTHERS, row])})
    assert [c for c in ("part-poor-all-round", "duplicates-in-one-part") if c in found] == ([code] if code else [])


def test_how_much_there_is_of_a_part_is_no_quality(tmp_path):
    rows = [
        "分片,重复率,文档数,字节数",
        "a,0.02,1000,51000",
        "b,0.01,1020,52000",
        "c,0.02,1010,50500",
        "d,0.6,5000,260000",
    ]
    found = told(tmp_path, {"统计.csv": "\n".join(rows)})
    assert "duplicates-in-one-part" in found
    assert "part-poor-all-round" not in found
