"""Statistics that reports give by name: told beyond their limit, under any head, and silent within it."""

import json

import numpy as np
import pytest

from triage.tools.documents.stated import Stated
from triage.tools.relate.line import Line
from triage.tools.relate.reported.look import of_reports
from triage.tools.tables.read import read_tables


def csv(*rows) -> str:
    return "\n".join(",".join(map(str, r)) for r in rows) + "\n"


def codes(folder, files, stated=()):
    tables = []
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        tables += read_tables(folder / name, name)
    return {f.code for f in of_reports(tables, stated)}


def said(file, **values) -> list[Stated]:
    return [Stated(file, i, k, str(v), f"{k}: {v}") for i, (k, v) in enumerate(values.items(), 1)]


ENDS = ("finish_reason", "count"), ("length", 1800), ("stop", 200)
BEYOND = [
    ("annotator-disagreement", "iaa.csv", [("batch", "krippendorff_alpha", "n"), ("w1", 0.81, 400), ("w2", 0.49, 400)]),
    ("annotator-disagreement", "标注.csv", [("批次", "抽检一致率"), ("一", "0.62"), ("二", "0.66")]),
    ("length-reward-correlation", "rm.csv", [("split", "spearman_len_score"), ("a", 0.61), ("b", 0.58)]),
    ("length-reward-correlation", "pair.csv", [("arm", "length_corr"), ("a", 0.55), ("b", 0.6)]),
    ("length-reward-correlation", "rm2.csv", [("arm", "kendall_tokens"), ("a", 0.55), ("b", 0.6)]),
    ("pii-found", "scan.csv", [("source", "rows", "id_card_hits"), ("web", 9000, 0), ("logs", 9000, 81)]),
    ("ineffective-dedup-features", "dedup.csv", [("lang", "avg_tokens_per_doc"), ("zh", 1.02), ("en", 412.0)]),
    ("repetition-loop", "gen.csv", [("temperature", "rep4"), (0.1, 0.52), (1.0, 0.04)]),
    ("nothing-was-kept", "prep.csv", [("file", "rows_in", "rows_out"), ("a", 2000, 1990), ("b", 2000, 0)]),
    ("labels-on-prompt", "mask.csv", [("i", "user_tokens", "user_tokens_in_loss"), *((i, 30, 30) for i in range(9))]),
    ("generation-not-stopping", "ends.csv", ENDS),
    ("cut-at-every-limit", "cut.csv", [("max_tokens", "cut_share"), (512, 0.9), (1024, 0.9), (4096, 0.91)]),
    ("target-missed", "b.csv", [("setting", "tpot_ms"), ("target", 15), ("measured", 61)]),
]
WITHIN = [
    ("iaa.csv", [("batch", "krippendorff_alpha", "n"), ("w1", 0.81, 400), ("w2", 0.79, 400)]),
    ("标注.csv", [("批次", "抽检一致率"), ("一", "0.92"), ("二", "0.96")]),
    ("cfg.csv", [("lora_alpha", "label"), (0.5, 1), (0.6, 2)]),
    ("rm.csv", [("split", "spearman_len_score"), ("a", 0.11), ("b", -0.08)]),
    ("mc.csv", [("arm", "challenge_correct", "silence_correct"), ("a", 41, 40), ("b", 43, 38)]),
    ("tags.csv", [("arm", "correct_tokens", "corrupt_len"), ("a", 41, 40), ("b", 43, 38)]),
    ("scan.csv", [("source", "rows", "id_card_masked"), ("web", 9000, 0), ("logs", 9000, 81)]),
    ("dedup.csv", [("lang", "avg_tokens_per_doc"), ("zh", 380.0), ("en", 412.0)]),
    ("gen.csv", [("temperature", "repetition_penalty", "rep4"), (0.1, 1.1, 0.06), (1.0, 1.1, 0.04)]),
    ("gen.csv", [("text", "rep4"), ("reference", 0.52), ("human", 0.5)]),
    ("prep.csv", [("file", "rows_in", "rows_out"), ("a", 2000, 1990), ("b", 2000, 1400)]),
    ("mask.csv", [("i", "user_tokens", "user_tokens_in_loss"), *((i, 30, 0) for i in range(9))]),
    ("ends.csv", [("finish_reason", "count"), ("length", 20), ("stop", 1980)]),
    ("cut.csv", [("max_tokens", "cut_share"), (512, 0.9), (1024, 0.4), (4096, 0.02)]),
    ("b.csv", [("setting", "tpot_ms"), ("target", 15), ("measured", 14.2)]),
    ("gpu.csv", [("step", "mem_leak_mb", "eval_rows"), (1, 3, 100), (2, 5, 100)]),
]


@pytest.mark.parametrize(("code", "name", "rows"), BEYOND, ids=[f"{c}-{n}" for c, n, _ in BEYOND])
def test_a_statistic_beyond_its_limit_is_told(tmp_path, code, name, rows):
    assert code in codes(tmp_path, {name: csv(*rows)})


@pytest.mark.parametrize(("name", "rows"), WITHIN, ids=[f"{i}-{n}" for i, (n, _) in enumerate(WITHIN)])
def test_a_statistic_within_it_and_a_namesake_are_not(tmp_path, name, rows):
    assert not codes(tmp_path, {name: csv(*rows)})


def test_reports_of_one_object_are_read_as_rows_are(tmp_path):
    leak = said("overlap.json", eval_items=4000, items_found_in_train=212)
    assert codes(tmp_path, {}, leak) == {"eval-leakage"}
    assert not codes(tmp_path, {}, said("overlap.json", eval_items=4000, items_found_in_train=2))
    assert codes(tmp_path, {}, said("c.json", rows=50000, rows_ending_with_eos=112)) == {"eos-not-trained"}
    assert not codes(tmp_path, {}, said("tok.json", eos_token_id=2, rows=9))
    rm = said("rm.json", accuracy_chosen_longer=0.88, accuracy_chosen_shorter=0.31)
    assert codes(tmp_path, {}, rm) == {"score-follows-length"}
    assert not codes(tmp_path, {}, said("rm.json", accuracy_chosen_longer=0.88, accuracy_chosen_shorter=0.71))


def test_a_promise_and_a_measurement_lie_in_two_files(tmp_path):
    bench = json.dumps({"p95_latency_ms": 6120.7, "qps": 4.3, "failed": 0})
    assert codes(tmp_path, {"bench.json": bench}, said("sla.yaml", p95_latency_ms=2000)) == {"target-missed"}
    assert not codes(tmp_path, {"bench.json": bench}, said("sla.yaml", p95_latency_ms=7000))


@pytest.mark.parametrize(("goal", "missed"), [
    ("| P99 TTFT | < 0.6 s |", True), ("| ttft p99 | ≤ 600 ms |", True), ("| TTFT P99 | 不超过 600 毫秒 |", True),
    ("| TTFT p99 | < 0.8 s |", False), ("| TTFT p95 | < 100 ms |", False), ("| TTFT p99 before | 600 ms |", False),
])  # fmt: skip
def test_a_bound_in_a_table_is_a_promise_whatever_its_unit_and_the_order_of_words(tmp_path, goal, missed):
    bench = json.dumps({"p50_ttft_ms": 120.0, "ttft_ms_p99": 742.0, "failed": 0})
    goals = f"| measure | wanted | by |\n|---|---|---|\n{goal} ops |\n| tokens/s | > 10 | ops |\n| e2e | < 9 s | qa |\n"
    files = {"bench.json": bench, "goals.md": goals}
    assert ("target-missed" in codes(tmp_path, files)) is missed


@pytest.mark.parametrize(("kinds", "missed"), [
    (("limit", "seen"), True), (("CONTENT_REQUIREMENT:SHORT_AND_TO_THE_POINT_AND_ON_TOPIC", "TONE:POLITE"), False),
])  # fmt: skip
def test_a_kind_of_row_that_speaks_of_a_requirement_is_no_promise(tmp_path, kinds, missed):
    rows = [("id", "kind", "tool_latency_s"), ("q1", kinds[0], 2), ("q2", kinds[1], 8)]
    assert ("target-missed" in codes(tmp_path, {"each.csv": csv(*rows)})) is missed


CARD = """# Cache study

## {head}

| Method | TTFT (ms) | Throughput (tok/s) |
| --- | --- | --- |
| full | {first} | 88.1 |
{more}
"""


@pytest.mark.parametrize(
    ("head", "more", "missed"),
    [("Fixed budget of 96 slots", "| window | 7.9 | 131.0 |\n| sink | 8.4 | 129.5 |", False),
     ("固定目标长度 2048", "| 滑动窗口 | 7.9 | 131.0 |", False), ("Targets", "", True), ("目标", "", True)],
)  # fmt: skip
def test_results_of_several_methods_under_a_target_of_something_else_are_no_promise(tmp_path, head, more, missed):
    bench = json.dumps({"method": "full", "ttft_ms": 71.5, "throughput_tok_s": 90.2})
    files = {"results/bench.json": bench, "README.md": CARD.format(head=head, first=52.0, more=more)}
    assert ("target-missed" in codes(tmp_path, files)) is missed


@pytest.mark.parametrize(("name", "missed"), [("budget_2048.json", False), ("latency_budget.json", True)])
def test_a_file_that_is_named_after_a_value_that_was_tried_is_no_promise(tmp_path, name, missed):
    files = {"runs/plain.json": json.dumps({"output_throughput": 280.0, "ttft_ms": 71.5}),
             f"runs/{name}": json.dumps({"output_throughput": 315.7, "ttft_ms": 12.5})}  # fmt: skip
    (tmp_path / "runs").mkdir()
    assert ("target-missed" in codes(tmp_path, files)) is missed


def test_attempts_that_differ_and_fail_with_one_batch_show_the_batch(tmp_path):
    head = ("attempt", "lr", "first_nan_step", "sample_ids")
    same = csv(head, ("a", "3e-4", 4117, "88 91"), ("b", "1e-4", 4117, "88 91"))
    apart = csv(head, ("a", "3e-4", 4117, "88 91"), ("b", "1e-4", 5003, "12 13"))
    assert codes(tmp_path, {"replay.csv": same}) == {"same-batch-nonfinite-again"}
    assert not codes(tmp_path, {"replay.csv": apart})


AUDIT = {"total_records": 5200, "bad_records": 910, "pass_rate": 0.825, "missing_answer": 610, "duplicate_prompt": 300}


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("sft_audit.json", AUDIT, True),
        ("data/质检.json", {"总数": 800, "问题样本数": 120, "重复": 90, "字段缺失": 45}, True),
        ("validate_dataset.json", {"rows": 4000, "valid_rate": 71.0, "empty_output": 700, "schema_error": 520}, True),
        ("sft_audit.json", AUDIT | {"total_records": 52000, "pass_rate": 0.9825}, False),
        ("sft_audit.json", AUDIT | {"kept": 4290}, False),
        ("sft_audit.json", AUDIT | {"accuracy": 0.825}, False),
        ("sft_audit.json", AUDIT | {"missing_answer": 2610}, False),
        ("requests.json", {"total": 5200, "failed": 910, "not_found": 610, "invalid_key": 300}, False),
    ],
)  # fmt: skip
def test_the_faults_that_a_check_of_the_data_counts_are_told_where_the_counts_fit(tmp_path, name, values, told):
    assert ("audit-found-faults" in codes(tmp_path, {}, said(name, **values))) == told


def test_of_several_lists_of_counts_the_one_that_fits_is_taken(tmp_path):
    checks = {k: AUDIT[k] for k in ("missing_answer", "duplicate_prompt")}
    summary = {k: v for k, v in AUDIT.items() if k not in checks}
    report = {"file": "sft.jsonl", "summary": summary | {"checks": checks | {"empty_turn": 0}},
              "by_kind": {"missing_context": 2100, "unknown_tool": 1500, "plain": 1600},
              "by_turns": {str(i): 700 - 50 * i for i in range(1, 9)}}  # fmt: skip
    assert "audit-found-faults" in codes(tmp_path, {"sft_audit.json": json.dumps(report)})
    report["summary"] |= {"checks": {"missing_answer": 10, "duplicate_prompt": 4}, "pass_rate": 0.4}
    assert "audit-found-faults" not in codes(tmp_path, {"sft_audit.json": json.dumps(report)})


@pytest.mark.parametrize(("bad", "told"), [(910, True), (60, False)])
def test_a_report_with_the_faulty_rows_beside_its_counts_is_read_whole(tmp_path, bad, told):
    values = AUDIT | {"bad_records": bad, "pass_rate": 1 - bad / 5200, "missing_answer": bad - 20}
    issues = {"issues": {"missing_answer": [{"id": f"r{i}"} for i in range(40)]}}
    values |= {"duplicate_prompt": 30}
    found = codes(tmp_path, {"sft_audit.json": json.dumps(issues)}, said("sft_audit.json", **values))
    assert ("audit-found-faults" in found) == told


@pytest.mark.parametrize(("taken", "told"), [(910, False), (4, True)])
def test_faults_that_were_taken_out_before_a_training_are_none_of_it(tmp_path, taken, told):
    out = said("cleaning.json", rows_removed=taken)
    lines = [Line("loss", "loss", "log.csv", np.arange(9.0), np.arange(9.0), np.arange(9))]
    found = of_reports([], [*said("sft_audit.json", **AUDIT), *out], lines)
    assert ("audit-found-faults" in {f.code for f in found}) == told


@pytest.mark.parametrize(
    ("leak", "told"),
    [
        ({"test_questions_total": 800, "test_questions_in_train": 44}, True),
        ({"eval_docs": 800, "in_train": 44}, True),
        ({"num_samples": 8, "eval_rows": 16, "pad_to_multiple_in_train": 4}, False),
        ({"eval_items": 640, "leakage.items": 51}, True),
        ({"test_docs": 640, "contamination.exact": 51}, True),
        ({"eval_items": 640, "leakage.subcalls": 51}, False),  # what an agent let into its window
        ({"test_turns": 640, "leakage.vars_n": 30, "total": 640}, False),
        ({"test_size": 64, "dropout_in_train": 1, "micro_batch_in_train": 2}, False),
    ],
)
def test_what_stands_in_the_training_data_are_items_and_not_its_settings(tmp_path, leak, told):
    assert (codes(tmp_path, {}, said("resolved.json", **leak)) == {"eval-leakage"}) is told
