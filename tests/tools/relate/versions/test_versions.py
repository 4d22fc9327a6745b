"""Versions of one model against each other: slices in columns or rows, seeds of each checkpoint, what each was fed."""

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.documents.stated import stated
from triage.tools.relate.versions.look import of_versions
from triage.tools.tables.read import read_tables

HEAD = "topic,items,{a}_decline_rate,{b}_decline_rate\n"
SLICES = HEAD + "cooking,500,{x[0]},{y[0]}\ntax,420,{x[1]},{y[1]}\nlaw,380,{x[2]},{y[2]}\n"
SAME, MORE = (0.02, 0.04, 0.03), (0.021, 0.36, 0.29)


def slices(x=SAME, y=MORE, a="v7", b="v8"):
    return SLICES.format(a=a, b=b, x=x, y=y)


def seeds(of, head="checkpoint,seed,exact_match", first=900):
    rows = [f"{first + 300 * i},{n},{v}" for i, values in enumerate(of) for n, v in enumerate(values)]
    return "\n".join([head, *rows]) + "\n"


LONG = "模型版本,领域,题数,准确率\n" + "".join(
    f"{v},{d},600,{a}\n"
    for v, row in (("v1.2", (0.71, 0.64)), ("v1.3", (0.7, 0.41)))
    for d, a in zip(("医", "法"), row, strict=True)
)


def found(folder, files):
    run = discover(fill(folder, files))
    tables = [t for name in files if name.endswith("csv") for t in read_tables(folder / name, name)]
    return {f.code: f for f in of_versions(tables, list(stated(run)))}


@pytest.mark.parametrize(
    "text",
    [
        slices(),
        slices(a="old", b="new"),
        LONG.replace("模型版本", "版本"),
        seeds([(0.612, 0.605, 0.618, 0.609), (0.571, 0.566, 0.579, 0.573)]),
        seeds([(71.2, 70.4, 72.0), (71.0, 71.6, 70.7), (64.1, 65.3, 64.8)], head="step,run,f1"),
    ],
    ids=["columns", "old and new", "rows", "seeds", "last of three"],
)
def test_a_later_version_that_is_worse_is_told(tmp_path, text):
    told = next(f for code, f in found(tmp_path, {"t.csv": text}).items() if code.endswith("-worse"))
    assert told.severity == "S2"
    assert told.evidence[0].line


@pytest.mark.parametrize(
    "text",
    [
        seeds([(0.612, 0.585, 0.631, 0.604), (0.601, 0.622, 0.588, 0.599)]),
        seeds([(41.0, 44.5, 39.8, 42.2, 43.1), (40.1, 42.9, 43.8, 38.7, 41.3)], head="ckpt,seed,pass_rate"),
        slices(y=(0.018, 0.045, 0.026)),
    ],
    ids=["seeds", "seeds in percent", "slices"],
)
def test_what_is_within_the_noise_is_said_to_be(tmp_path, text):
    assert {*found(tmp_path, {"t.csv": text})} == {"versions-within-noise"}


@pytest.mark.parametrize(
    "text",
    [
        slices(a="p50", b="p99"),
        slices(a="top1", b="top5"),
        "model,topic,n,acc\nkite,law,500,0.7\nheron,law,500,0.3\nkite,tax,500,0.7\nheron,tax,500,0.3\n",
        "step,loss,acc\n100,2.1,0.41\n200,1.9,0.38\n",
        "topic,v7_score,v8_score\nlaw,7.8,6.1\ntax,7.7,6.3\n",
    ],
    ids=["percentiles", "ranks", "two models", "a curve", "no noise is known"],
)
def test_what_is_no_row_of_versions_says_nothing(tmp_path, text):
    assert not found(tmp_path, {"t.csv": text})


def test_refusing_what_is_harmful_and_a_rise_of_a_score_are_not_worse(tmp_path):
    text = (
        slices(a="v3", b="v4")
        .replace("decline_rate", "refusal_rate")
        .replace("tax", "jailbreak")
        .replace("law", "unsafe")
    )
    assert {*found(tmp_path, {"t.csv": text})} == {"versions-differ"}
    better = seeds([(0.5, 0.51, 0.505), (0.62, 0.63, 0.61)])
    assert {*found(tmp_path, {"u.csv": better})} == {"versions-differ"}


PART = "  - name: {}\n    weight: {}\n"
OLD = "mix:\n" + PART.format("chat_en", 0.6) + PART.format("decline_pairs", 0.1) + PART.format("code", 0.3)
NEW = OLD.replace("0.6", "0.35").replace("0.1\n", "0.35\n")
KEYED = "[sources]\nchat_en = {}\ncode = 30\ndecline_pairs = {}\n"


@pytest.mark.parametrize(
    "mixes",
    [
        {"data_v7.yaml": OLD, "data_v8.yaml": NEW},
        {"recipe-v7.toml": KEYED.format(60, 10), "recipe-v8.toml": KEYED.format(35, 35)},
    ],
    ids=["named", "keyed"],
)
def test_the_part_of_the_data_that_came_up_is_told_with_what_got_worse(tmp_path, mixes):
    told = found(tmp_path, {"t.csv": slices(), **mixes})["fed-otherwise-and-worse"]
    assert (told.data["part"], told.data["linked"]) == ("decline_pairs", True)


@pytest.mark.parametrize(
    "files",
    [
        {"t.csv": slices(y=SAME), "data_v7.yaml": OLD, "data_v8.yaml": NEW},
        {"t.csv": slices(), "data_v7.yaml": OLD, "data_v8.yaml": OLD.replace("0.6", "0.58").replace("0.3\n", "0.32\n")},
        {"t.csv": slices(), "data_v7.yaml": OLD},
    ],
    ids=["not worse", "hardly moved", "one file"],
)
def test_a_recipe_alone_and_one_that_hardly_moves_say_nothing(tmp_path, files):
    assert "fed-otherwise-and-worse" not in found(tmp_path, files)


FLAT, LOOSE = (0.6183,) * 4, (0.602, 0.611, 0.595, 0.607)


def answers(folder, changed=()):
    """Answers of four repeats, of which some differ in a row."""
    for n in range(4):
        rows = "".join(f"{i},{n},{(i * 7 + (i == 3 and n in changed)) % 11}\n" for i in range(60))
        fill(folder, {f"out/seed_{n}/answers.csv": f"item,seed,prediction\n{rows}"})
    return {f"out/seed_{n}/answers.csv": (folder / f"out/seed_{n}/answers.csv").read_text() for n in range(4)}


@pytest.mark.parametrize(
    "text",
    [
        seeds([FLAT, LOOSE], head="model,seed,acc"),
        seeds([LOOSE, tuple(100 * v for v in FLAT)], head="checkpoint,run,accuracy"),
    ],
    ids=["the first", "the second"],
)
def test_seeds_that_all_come_out_the_same_are_one_measurement_and_no_error(tmp_path, text):
    told = found(tmp_path, {"t.csv": text})
    assert set(told) == {"seeds-all-alike"}
    assert told["seeds-all-alike"].data["repeats"] == 4


def test_with_the_answers_beside_them_the_error_is_that_of_the_items(tmp_path):
    files = {"t.csv": seeds([FLAT, LOOSE], head="model,seed,acc"), **answers(tmp_path)}
    told = found(tmp_path, files)["seeds-all-alike"]
    assert told.data["error"] == pytest.approx((0.6183 * 0.3817 / 60) ** 0.5)


def test_answers_that_are_the_same_in_all_repeats_are_told_by_themselves(tmp_path):
    assert found(tmp_path, answers(tmp_path))["seeds-all-alike"].data == {"repeats": 4, "rows": 60}


@pytest.mark.parametrize("changed", [(2,), (1, 3)])
def test_answers_of_which_one_differs_are_not(tmp_path, changed):
    assert found(tmp_path, answers(tmp_path, changed)) == {}


@pytest.mark.parametrize("same", [(1.0,) * 4, (0.6,) * 4, (0.6183, 0.6183, 0.6183, 0.6184), (0.6183,) * 2])
def test_coarse_scores_and_few_seeds_may_be_the_same_by_chance(tmp_path, same):
    assert "seeds-all-alike" not in found(tmp_path, {"t.csv": seeds([same, LOOSE], head="model,seed,acc")})


def suite(shares, sizes, head="area,n,accuracy"):
    rows = "".join(f"{a},{n},{p}\n" for a, n, p in zip(("logic", "poems", "maps"), sizes, shares, strict=True))
    total = sum(n * p for n, p in zip(sizes, shares, strict=True)) / sum(sizes)
    return f"{head}\n{rows}total,{sum(sizes)},{total:.4f}\n"


LOW, FEW, MANY = (0.38, 0.55, 0.91), (900, 700, 400), (900, 700, 2600)
DOWN = (0.36, 0.54, 0.90)


def both(x, n, y, m, whole=1):
    rows = [f"{v},{a},{k},{whole * p}\n" for v, ps, ns in (("v3", x, n), ("v4", y, m))
            for a, k, p in zip(("甲", "乙", "丙"), ns, ps, strict=True)]  # fmt: skip
    return "version,科目,题数,准确率\n" + "".join(rows)


@pytest.mark.parametrize(
    "files",
    [
        {"e/s_100.csv": suite(LOW, FEW), "e/s_200.csv": suite(DOWN, MANY)},
        {"e/s_100.csv": suite(DOWN, MANY), "e/s_200.csv": suite(LOW, FEW)},
        {"t.csv": both(LOW, FEW, DOWN, MANY)},
        {"t.csv": both(LOW, FEW, DOWN, MANY, 100)},
    ],
    ids=["it rises", "it falls", "versions in rows", "per cent"],
)
def test_a_whole_that_moves_against_all_its_slices_is_of_other_items(tmp_path, files):
    told = found(tmp_path, files)["total-moved-by-mix"]
    assert (told.data["after"] - told.data["before"]) * (told.data["kept"] - told.data["before"]) < 0


@pytest.mark.parametrize(
    "files",
    [
        {"e/s_100.csv": suite(LOW, FEW), "e/s_200.csv": suite(DOWN, FEW)},
        {"e/s_100.csv": suite(LOW, FEW), "e/s_200.csv": suite((0.36, 0.6, 0.9), MANY)},
        {"e/s_100.csv": suite(DOWN, FEW), "e/s_200.csv": suite(LOW, MANY)},
        {"e/s_100.csv": suite(LOW, FEW), "f/s_200.csv": suite(DOWN, MANY)},
        {"t.csv": both(LOW, FEW, DOWN, FEW)},
    ],
    ids=["the same items", "one slice rises", "all rise", "other folders", "rows of the same items"],
)
def test_a_whole_that_moves_as_its_slices_do_is_not(tmp_path, files):
    assert "total-moved-by-mix" not in found(tmp_path, files)
