"""Numbers at the ends of half precision."""

import json

import pytest

from triage.tools.relate.numeric.halves import halves
from triage.tools.tables.read import read_tables


def found(tmp_path, **files):
    tables = []
    for name, text in files.items():
        name = name.replace("_csv", ".csv").replace("_json", ".json")
        (tmp_path / name).write_text(text)
        tables += read_tables(tmp_path / name, name)
    return {f.code for f in halves(tables)}


def climbing(head="step,ffn_absmax", top=64800, after="inf", begun=3000, row="{i},{v}"):
    values = [begun + (top - begun) * (i / 19) ** 0.5 for i in range(20)]
    return "\n".join([head, *(row.format(i=10 * i, v=f"{v:.1f}") for i, v in enumerate(values)),
                      *(row.format(i=200 + 10 * i, v=after) for i in range(3))])  # fmt: skip


@pytest.mark.parametrize("text", [
    climbing(),
    climbing("步,最大激活", top=65472),
    climbing("it,block,sq_max", top=62000, row="{i},31,{v}"),
])  # fmt: skip
def test_maxima_that_end_at_the_largest_number(tmp_path, text):
    assert found(tmp_path, a_csv=text) == {"maxima-end-at-half"}


@pytest.mark.parametrize("files", [
    {"a_csv": "layer,fp16_amax,fp32_amax\n1,30,30\n2,900,900\n3,inf,71200\n4,nan,950"},
    {"a_csv": "pass,block7.out\nas trained,inf\nwhole model in float32,70100.5\n"},
    {"h_json": json.dumps({"b": [{"id": k, "mlp_out": "inf", "x": 3.0} for k in "ab"]}),
     "s_json": json.dumps({"b": [{"id": k, "mlp_out": 66000.0, "x": 3.0} for k in "ab"]})},
])  # fmt: skip
def test_what_a_wider_format_holds(tmp_path, files):
    assert found(tmp_path, **files) == {"inf-held-by-wider"}


def dump(rms="rms_min", least=1.5e-5, after="nan"):
    rows = [f"l{i}.{part},{5 + i},{least if (i, part) == (3, 'add') else 0.4 + 0.01 * i}" for i in range(4)
            for part in ("norm", "mlp", "add")]  # fmt: skip
    return "\n".join(
        [f"module,amax,{rms}", *rows, *(f"l{i}.{p},{after},{after}" for i in (4, 5) for p in ("norm", "mlp", "add"))]
    )


@pytest.mark.parametrize("text", [dump(), dump("行rms最小"), dump("mean_sq", 3e-9)])
def test_a_square_that_rounds_to_nothing(tmp_path, text):
    assert "square-lost-in-half" in found(tmp_path, a_csv=text)


@pytest.mark.parametrize("text", [
    climbing(after="64900"),  # never infinite
    climbing(top=30000),  # far below the end of the range
    climbing(top=300000),  # a wider range
    climbing("step,loss_scale"),  # a scale
    climbing("step,grad_norm"),  # may be as large for other reasons
    climbing(begun=64700),  # did not grow
    "step,act_max\n1,64000\n2,inf\n",  # too few
    "layer,fp16_amax,fp32_amax\n1,30,30\n2,inf,900\n3,inf,1200\n",  # finite far below the range: another cause
    dump(least=0.02), dump(after="0.3"),
])  # fmt: skip
def test_anything_else_is_silent(tmp_path, text):
    assert not found(tmp_path, a_csv=text)
