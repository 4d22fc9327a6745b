"""One model in several number formats: what is lost, and sweeps in which nothing is."""

import json

import pytest

from triage.tools.kinds import recognise
from triage.tools.relate.scores.formats import in_formats
from triage.tools.tables.read import read_tables

GGUF = [("Q2_K", 6.78), ("Q3_K_M", 6.08), ("Q4_K_M", 5.96), ("Q5_K_M", 5.93), ("Q6_K", 5.91), ("F16", 5.9066)]
ZH = "| 模型 | 位宽 | C-Eval 准确率 | 样本数 |\n|---|---|---|---|\n"
ZH += "| Q-1.8B | BF16 | 55.6 | 1346 |\n| Q-1.8B | GPTQ-Int4 | {} | 1346 |\n"
RESULT = {"fp16": {"perplexity": 5.47, "size_gb": 13.5}, "int4_awq": {"perplexity": 6.92, "size_gb": 3.9}}
KEPT = {"fp16": {"perplexity": 5.47}, "int4_awq": {"perplexity": 5.55}, "int8": {"perplexity": 5.48}}
MIXED = [{"variant": "baseline", "strategy": "No quantization", "ppl": 12.90},
         {"variant": "uniform", "strategy": "All Q4_0", "ppl": 14.16},
         {"variant": "last8", "strategy": "Last 8 layers Q8, rest Q4_0", "ppl": 13.67}]  # fmt: skip


VARIANTS = "variant\tVRAM GB\tmath_acc\tcode_acc\nv2 bf16\t30.1\t66.0\t48.1\n{}\nv2-i4-g64\t9.4\t65.1\t47.2\n"
VARIANTS += "v2-w8a16\t16.0\t65.9\t48.0\nv1 bf16\t30.1\t60.2\t44.0\n"


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("box.tsv", VARIANTS.format("v2-i4 (prod)\t9.1\t47.5\t40.2"), "quality-lost-in-format"),
        ("对比.tsv", VARIANTS.format("v2-i4（线上）\t9.1\t45.5\t40.2"), "quality-lost-in-format"),
        ("box.tsv", VARIANTS.format("v2-i4\t9.1\t47.5\t40.2"), ""),  # a bad one of several that nobody serves
        ("box.tsv", VARIANTS.format("v2-i4 (prod)\t9.1\t65.5\t47.9"), ""),
        ("ppl.csv", "file,ppl_v2,ppl_v2_int4\nnews,6.1,8.4\ncode,2.9,4.0\n", "quality-lost-in-format"),
        ("ppl.csv", "file,ppl_v2,ppl_v2_int4\nnews,6.1,6.15\ncode,2.9,2.92\n", "formats-score-alike"),
        ("ppl.csv", "file,ppl_v1,ppl_v2_int4\nnews,6.1,8.4\ncode,2.9,4.0\n", ""),  # another model
        ("r.json", json.dumps(RESULT), "quality-lost-in-format"),
        ("r.json", json.dumps(MIXED), "quality-lost-in-format"),
        ("r.csv", "model,fp16_ppl,w4a16_ppl,w8a8_ppl\nopt-125m,27.6,38.4,31.3\n", "quality-lost-in-format"),
        ("README.md", ZH.format(44.3), "quality-lost-in-format"),
        ("README.md", ZH.format(54.9), ""),
        ("r.json", json.dumps(KEPT), "formats-score-alike"),
        ("gguf.csv", "quant,perplexity\n" + "".join(f"{q},{p}\n" for q, p in GGUF), ""),
        ("sizes.csv", "model,ppl\nm-7b-fp16,5.9\nm-1b-int4,9.2\n", ""),
        ("models.csv", "model,dtype,ppl\nllama,fp16,5.9\nqwen,int8,9.2\n", ""),
        ("runs.csv", "dtype,lr,ppl\nfp16,1e-4,5.9\nint8,3e-5,9.2\n", ""),
    ],
)
def test_what_a_smaller_format_loses_is_told(tmp_path, name, text, code):
    (tmp_path / name).write_text(text)
    assert [f.code for f in in_formats(read_tables(tmp_path / name, name))] == ([code] if code else [])


def results(model, scores):
    return json.dumps({"model": model, "harness": "h 2.3", "temperature": 0, "max_tokens": 1024,
                       "results": {task: {"n": 400, "score": score} for task, score in scores.items()}})  # fmt: skip


@pytest.mark.parametrize(
    ("w4", "codes"),
    [
        ({"zh_qa": 0.62, "zh_sum": 0.56, "en_qa": 0.82}, ["quality-lost-in-format"]),
        ({"zh_qa": 0.83, "zh_sum": 0.76, "en_qa": 0.82}, []),
    ],
)
def test_tasks_that_one_format_loses_are_told_from_one_file_a_format(tmp_path, w4, codes):
    whole = {"zh_qa": 0.84, "zh_sum": 0.77, "en_qa": 0.83}
    sides = {"a.json": ("rose-14b bf16", whole), "b.json": ("rose-14b w8a16", whole), "c.json": ("rose-14b w4g128", w4)}
    tables = []
    for name, (model, scores) in sides.items():
        (tmp_path / name).write_text(results(model, scores))
        tables += read_tables(tmp_path / name, name)
    found = [*in_formats(tables)]
    assert [f.code for f in found] == codes
    assert all(f.data["tasks"] == ["zh_qa", "zh_sum"] for f in found)


def test_results_beside_how_they_were_sampled_are_no_configuration():
    assert recognise("0709_w4.json", results("m w4", {"zh_qa": 0.62}).encode()).kind == "table"
