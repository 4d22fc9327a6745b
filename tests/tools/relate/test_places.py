"""Several rows at each place of a way, and changes that go all along it."""

import pytest

from triage.tools.relate.line import lines_of
from triage.tools.relate.moves import moves, told
from triage.tools.tables.read import read_tables

RATE = {2000: 1.0, 6000: 1.0, 10000: 0.92, 14000: 0.9, 20000: 0.4, 30000: 0.05, 40000: 0.0, 60000: 0.0}


def lines(folder, text):
    (folder / "t.csv").write_text(text)
    return lines_of((), read_tables(folder / "t.csv", "t.csv"))


def needles(each=12):
    """Rows of single tries: at each length so many, of which a share is found, those at the end of the text last."""
    rows = [f"{n},{round(100 * i / each)},{int(i < r * each)}" for n, r in RATE.items() for i in range(each)]
    return "context_length,depth,found\n" + "\n".join(rows) + "\n"


def test_rows_at_one_place_are_measured_together(tmp_path):
    (line,) = [x for x in lines(tmp_path, needles()) if x.key == "found"]
    assert dict(zip(line.x.tolist(), line.values.round(2).tolist(), strict=True)) == {
        n: pytest.approx(r, abs=0.09) for n, r in RATE.items()
    }


def test_a_row_that_takes_the_place_of_another_counts_alone(tmp_path):
    steps = [*range(1, 30), *range(20, 60)]  # a restart
    text = "step,loss\n" + "\n".join(f"{s},{3 - s / 100 + (0.5 if i < 29 else 0)}" for i, s in enumerate(steps)) + "\n"
    (line,) = [x for x in lines(tmp_path, text) if x.key == "loss"]
    assert (len(line), float(line.values[line.x == 25][0])) == (59, 2.75)


def test_what_goes_all_along_is_not_told_of_its_first_place(tmp_path):
    (found,) = told(moves([x for x in lines(tmp_path, needles()) if x.key == "found"]))
    assert "along the way, half of it by length 20000" in found.message


@pytest.mark.parametrize(
    ("columns", "groups"),
    [
        (("code_entropy/q0", "code_entropy/q1", "code_entropy/q2"), {"q0", "q1", "q2"}),
        (("grad_norm.layer_3", "grad_norm.layer_7", "grad_norm.layer_11"), {"layer_3", "layer_7", "layer_11"}),
        (("code_entropy/q0", "code_entropy/q1", "commit"), {""}),
        (("mystery/q0", "mystery/q1", "mystery/q2"), {""}),
        (("loss/policy", "loss/value", "loss/aux"), {""}),
    ],
    ids=["levels", "layers", "two parts only", "a name of no metric", "parts without numbers"],
)
def test_numbered_parts_of_a_known_measure_are_groups_of_it(tmp_path, columns, groups):
    rows = [f"{step}," + ",".join(str(6 - step / 9 + k) for k in range(3)) for step in range(12)]
    assert {x.group for x in lines(tmp_path, "\n".join((",".join(("step", *columns)), *rows)) + "\n")} == groups
