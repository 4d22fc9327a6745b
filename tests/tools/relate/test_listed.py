"""Lists of files with their digests."""

import pytest

from triage.tools.relate.listed import listed
from triage.tools.tables.read import read_tables


def codes(folder, *lines, name="files.csv"):
    (folder / name).write_text("\n".join(lines))
    return {f.code for f in listed(read_tables(folder / name, name))}


ROWS = ["{0},tokenizer.json,640,sha1 9f21c07a", "{1},tokenizer.json,640,sha1 {2}"]


@pytest.mark.parametrize("head", ["run,file,n,text", "实验,文件,样本数,输出", "side,path,items,digest"])
@pytest.mark.parametrize("sides", [("base", "this"), ("训练", "线上"), ("checkpoint-500", "served")])
def test_another_tokenizer_where_the_weights_come_from_is_told_and_the_same_is_not(tmp_path, head, sides):
    assert "tokenizer-files-differ" in codes(tmp_path, head, *(r.format(*sides, "c4417be0") for r in ROWS))
    assert "tokenizer-files-differ" not in codes(tmp_path, head, *(r.format(*sides, "9f21c07a") for r in ROWS))


@pytest.mark.parametrize(("served", "told"), [("c4417be0d1", True), ("9f21c07ab3", False)])
def test_a_column_for_each_side_says_the_same(tmp_path, served, told):
    rows = ["config.json,aa01bb22cc,aa01bb22cc", f"tokenizer.json,9f21c07ab3,{served}"]
    assert ("tokenizer-files-differ" in codes(tmp_path, "file,train_sha256,served_sha256", *rows)) is told


def test_tokenizers_of_models_that_have_nothing_to_do_with_each_other_are_not_told(tmp_path):
    rows = [f"{model},tokenizer.json,{i}{i}21c07a" for i, model in enumerate(("qwen", "llama", "gemma", "mistral"))]
    assert not codes(tmp_path, "model,file,sha1", *rows)
    assert not codes(tmp_path, "model,file,sha1", *rows[:2])


def test_weights_that_differ_are_what_training_is_for(tmp_path):
    assert not codes(tmp_path, "run,file,sha1", "base,model.safetensors,9f21c07a", "this,model.safetensors,c4417be0")


A, B = "ab12" * 16, "cd34" * 16
SUMS = ("{a}  /ckpt/base-7b/{t}", "{a}  /ckpt/base-7b/config.json", "{a}  /runs/7/config.json", "{b}  /runs/7/tok/{t}")


@pytest.mark.parametrize("form", ["{d}  {p}", "{d} *{p}", "SHA256 ({p}) = {d}"])
@pytest.mark.parametrize(("other", "told"), [(B, True), (A, False)])
def test_digests_as_the_tools_print_them_tell_another_tokenizer_and_no_copy_of_a_configuration(
    tmp_path, form, other, told
):
    rows = [s.format(a=A, b=other, t="tokenizer.json").split("  ") for s in SUMS]
    found = codes(tmp_path, "# on node 3", *(form.format(d=d, p=p) for d, p in rows), name="sums.txt")
    assert found == ({"tokenizer-files-differ"} if told else set())


def test_data_that_lie_there_twice_are_still_told(tmp_path):
    rows = [f"{d * 8}  /data/part-{i:03d}.jsonl" for i, d in enumerate(("a1b2", "c3d4", "a1b2", "e5f6", "0718"))]
    assert codes(tmp_path, *rows, name="md5sum.txt") == {"files-repeated"}
    assert not codes(tmp_path, "deadbeef is a word", "cafe0123  and so is this", name="words.txt")


@pytest.mark.parametrize("name", ["out/evidence/{}/events.jsonl", "runs/{}/trace.json", "bench/{}/summary.json"])
def test_files_that_two_runs_wrote_alike_are_not_read_twice(tmp_path, name):
    rows = [f"{d * 16}  {name.format(n)}" for d, n in (("ab12", "a"), ("ab12", "b"), ("cd34", "c"), ("ef56", "d"))]
    assert not codes(tmp_path, *rows, f"{'0a9b' * 16}  {name.format('e')}", name="md5sum.txt")
