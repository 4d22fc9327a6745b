"""Rows that are not finite where there is padding, or with one implementation of attention."""

# ruff: noqa: E501  one table on one line

import numpy as np
import pytest

from triage.tools.relate.line import Line
from triage.tools.relate.numeric.padded import padded
from triage.tools.tables.read import read_tables


def codes(tmp_path, text, name="rows.csv"):
    (tmp_path / name).write_text(text)
    return {f.code for f in padded(read_tables(tmp_path / name, name))}


def rows(head, row, n=24):
    return "\n".join([head, *(row(i) for i in range(n))])


def kernels(i, bad=lambda pad, attn: pad and attn == "flash_v9", dtype=lambda attn: "bf16"):
    attn, case = ("flash_v9", "math")[i % 2], i // 2
    pad = (case % 3) * 17
    return f"{case},{pad},{attn},{dtype(attn)},{'no' if bad(pad, attn) else 'yes'}"


HEAD = "sample,n_pad,kernel,dtype,out_finite"


@pytest.mark.parametrize("text", [
    rows(HEAD, kernels),
    rows("样本,填充数,注意力内核,结果正常", lambda i: f"{i // 2},{i // 2 % 3 * 9},{('融合', '朴素')[i % 2]},{'否' if i // 2 % 3 and i % 2 == 0 else '是'}"),
    rows("case,T,n_tok,y_flash,y_eager", lambda i: f"{i},640,{640 - i % 3 * 40},{'nan' if i % 3 else 0.4 + i / 99},{0.41 + i / 99}"),
    "# replay\n\n| run | out |\n|---|---|\n| batch 7, flash_attn, bf16 | nan |\n| batch 7, eager, bf16 | 0.31 |\n| batch 7, flash_attn, fp32 | nan |\n",
])  # fmt: skip
def test_one_implementation_alone_is_named(tmp_path, text):
    assert "nan-in-one-kernel" in codes(tmp_path, text, "r.md" if text.startswith("#") else "r.csv")


@pytest.mark.parametrize("text", [
    rows("row,left_pad,score", lambda i: f"{i},{i % 3 * 5},{'nan' if i % 3 else 0.2 + i / 50}"),
    rows("row,width,real_len,nan_count", lambda i: f"{i},900,{900 - i % 4 * 30},{500 if i % 4 else 0}"),
    rows("row,visible_keys,hidden_ok", lambda i: f"{i},{0 if i % 4 == 1 else 30 + i},{'n' if i % 4 == 1 else 'y'}"),
])  # fmt: skip
def test_rows_with_padding_alone_are_named(tmp_path, text):
    assert codes(tmp_path, text) == {"nan-with-padding"}


@pytest.mark.parametrize("text", [
    rows("step,n_pad,loss,approx_kl", lambda i: f"{i},{i % 3 * 40},{0.5 - i / 99},{'nan' if i % 3 else 0.001 + i / 9999}"),
    rows("iter,blank_tokens,entropy,grad_norm", lambda i: f"{i},{i % 2 * 40},{'nan' if i % 2 else 1.2 + i / 99},{0.3 + i / 99}"),
    rows("row,mask,lp_old", lambda i: f"{i // 6},{int(i % 6 < 4)},{-0.3 - i / 99 if i % 6 < 4 else 'nan'}"),
])  # fmt: skip
def test_a_metric_that_is_no_number_beside_a_finite_loss(tmp_path, text):
    assert codes(tmp_path, text) == {"metric-nan-with-padding"}


@pytest.mark.parametrize("text", [
    rows(HEAD, lambda i: kernels(i, lambda pad, attn: False)),  # healthy
    rows(HEAD, lambda i: kernels(i, lambda pad, attn: i // 2 == 5)),  # one bad sample, whatever the kernel
    rows(HEAD, lambda i: kernels(i, lambda pad, attn: attn == "flash_v9", lambda attn: "fp16" if attn != "math" else "fp32")),  # the format may do it
    rows(HEAD, lambda i: kernels(i, lambda pad, attn: i % 5 == 0)),  # nothing in common
    rows(HEAD, kernels, 4),  # too few
    rows("row,left_pad,score", lambda i: f"{i},{i % 3 * 5},{'nan' if i in (4, 7) else 0.2}"),  # two of many padded rows
    "# replay\n\n| run | out |\n|---|---|\n| batch 7, flash_attn, fp16 | nan |\n| batch 8, eager, fp32 | 0.31 |\n",
])  # fmt: skip
def test_anything_else_is_silent(tmp_path, text):
    assert not codes(tmp_path, text, "r.md" if text.startswith("#") else "r.csv")


def two(tmp_path, panel, lengths, names=("panel.csv", "collate.csv")):
    tables = []
    for text, name in zip((panel, lengths), names, strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
        tables += read_tables(tmp_path / name, name)
    return {f.code for f in padded(tables)}


def ragged(i):
    return i % 3 != 0


PANEL = rows(
    "step,obj,kl,reward", lambda i: f"{i + 1},{0.5 - i / 99},{'nan' if ragged(i) else 0.001 + i / 9999},0.4", 40
)
SOUND = rows("step,obj,kl,reward", lambda i: f"{i + 1},{0.5 - i / 99},{0.001 + i / 9999},0.4", 40)
APART = rows("step,obj,kl,reward", lambda i: f"{i + 1},{0.5 - i / 99},{'nan' if i in (7, 8, 30) else 0.001},0.4", 40)
LENGTHS = [
    rows("step,longest,shortest", lambda i: f"{i + 1},512,{130 + i if ragged(i) else 512}", 40),
    rows("step,tokens_total,tokens_real", lambda i: f"{i + 1},8192,{5000 + i if ragged(i) else 8192}", 40),
    rows("step,mask_mean", lambda i: f"{i + 1},{0.6 + i / 999 if ragged(i) else 1.0}", 40),
    "step,row,resp,len\n"
    + "".join(f"{i + 1},{k},{k},{512 - (k * 40 + i if ragged(i) else 0)}\n" for i in range(40) for k in range(4)),
]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_padding_stands_in_another_table(tmp_path, lengths):
    assert two(tmp_path, PANEL, lengths) == {"metric-nan-with-padding"}
    assert two(tmp_path, SOUND, lengths) == set()
    assert two(tmp_path, APART, lengths) == set()


def test_other_steps_are_padded(tmp_path):
    other = rows("step,longest,shortest", lambda i: f"{i + 1},512,{512 if ragged(i) else 100}", 40)
    assert two(tmp_path, PANEL, other) == set()
    assert two(tmp_path, PANEL, LENGTHS[0].replace("step,", "expert,")) == set()


def test_the_padding_stands_in_a_log(tmp_path):
    (tmp_path / "panel.csv").write_text(PANEL)
    x, at = np.arange(1.0, 41), np.arange(1, 41)
    low = np.array([100.0 if ragged(i) else 512 for i in range(40)])
    lines = [
        Line("max_len", "max_len", "a.log", x, np.full(40, 512.0), at),
        Line("min_len", "min_len", "a.log", x, low, at),
    ]
    found = {f.code for f in padded(read_tables(tmp_path / "panel.csv", "panel.csv"), lines)}
    assert found == {"metric-nan-with-padding"}
