"""What a model is only asked is no data of a training, and a set before its split is no second training set."""

import json
import random

import pytest
from making import fill, prose

from triage.tools.data import check_run_data
from triage.tools.data.roles import only_measured
from triage.tools.data.similar.versions import origins, parts_of_others
from triage.tools.discover import discover

ASKS = {
    "bench/client.py": "def ask(q):\n    return httpx.post('http://127.0.0.1:8000/v1/completions', q)\n",
    "压测/run.sh": "python client.py --concurrency 32 --requests 400\n",
}
LEARNS = {
    "train.py": "optimizer = AdamW(model.parameters(), lr=2e-5)\nloss.backward()\n",
    "conf.yaml": "learning_rate: 2.0e-5\nmodel: small\n",
}


def lines(rows):
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)


def rows(seed, n=120):
    rng = random.Random(seed)
    return [{"instruction": f"{prose(rng, 14)}?", "output": prose(rng, 30)} for _ in range(n)]


def found(tmp_path, files):
    report = check_run_data(discover(fill(tmp_path, files)))
    return {f.code: f.severity.name for f in report.findings}


@pytest.mark.parametrize("program", ASKS)
@pytest.mark.parametrize("names", [("pool.jsonl", "test.jsonl"), ("questions_full.jsonl", "评测.jsonl")])
def test_files_that_a_model_is_only_asked_leak_nothing(tmp_path, program, names):
    some = rows(3)
    files = {names[0]: lines(some), names[1]: lines(some[:40])}
    assert only_measured(discover(fill(tmp_path / "a", {program: ASKS[program]} | files)))
    assert "eval-leakage" not in found(tmp_path / "b", {program: ASKS[program]} | files)


@pytest.mark.parametrize("program", LEARNS)
def test_the_same_files_beside_a_training_do(tmp_path, program):
    some = rows(3)
    files = {"pool.jsonl": lines(some), "test.jsonl": lines(some[:40]), program: LEARNS[program]}
    assert found(tmp_path, files)["eval-leakage"] == "S1"


def test_a_folder_of_data_alone_is_to_be_trained_on(tmp_path):
    some = rows(4)
    assert found(tmp_path, {"mix.jsonl": lines(some), "test.jsonl": lines(some[:40])})["eval-leakage"] == "S1"


@pytest.mark.parametrize(
    "names", [("all.jsonl", "train.jsonl", "test.jsonl"), ("全部.jsonl", "训练.jsonl", "测试.jsonl")]
)
def test_a_set_before_its_split_leaks_nothing_and_a_leak_beside_it_is_told(tmp_path, names):
    whole, train, test = names
    some = rows(5)
    split = {whole: lines(some), train: lines(some[:90]), test: lines(some[90:])}
    assert not {"eval-leakage", "exact-duplicates"} & found(tmp_path / "a", split).keys()
    assert found(tmp_path / "b", split | {train: lines(some[:100])})["eval-leakage"] == "S1"


@pytest.mark.parametrize(
    ("files", "inside"),
    [
        ({"gold.jsonl": 0, "gold_subset.jsonl": 60}, {"gold_subset.jsonl"}),
        ({"v1.jsonl": 0, "small/first.jsonl": 30}, {"small/first.jsonl"}),
        ({"part-000.jsonl": 0, "part-001.jsonl": 60}, set()),
        ({"shard_3.jsonl": 0, "shard_9.jsonl": 60}, set()),
    ],
)
def test_a_part_of_a_larger_file_is_known_and_a_shard_that_came_twice_is_none(tmp_path, files, inside):
    from triage.tools.data.records.blocks import plan

    some = rows(6)
    fill(tmp_path, {name: lines(some[n:]) for name, n in files.items()})
    named = [(name, plan([tmp_path / name])) for name in files]
    assert parts_of_others(named) == inside
    assert origins(named, [], lambda name: True) == set()


@pytest.mark.parametrize("head", [{"_meta": {"n": 90, "seed": 4}}, {"版本": "三", "说明": "抽样"}])
def test_a_head_that_tells_about_the_file_is_no_record(tmp_path, head):
    assert found(tmp_path, {"train.jsonl": lines([head, *rows(7, 60)])}) == {}
    assert found(tmp_path, {"train.jsonl": lines([*rows(7, 60), {"instruction": "", "output": ""}] * 3)})


@pytest.mark.parametrize(("n", "grade"), [(2, "S3"), (40, "S2")])
@pytest.mark.parametrize("said", ["call +44 20 7946 0{} for the rest", "write to m.orlov{}@tallis-mail.eu"])
def test_a_few_values_that_no_checksum_backs_are_a_note(tmp_path, n, grade, said):
    some = [
        r | {"output": f"{r['output']} {said.format(100 + i)}"} if i < n else r for i, r in enumerate(rows(8, 1200))
    ]
    assert found(tmp_path, {"train.jsonl": lines(some)}).get("pii-found") == grade


@pytest.mark.parametrize(("more", "told"), [
    ({"latency": 1.2, "verdict": "PASS"}, False),  # what a model answered and somebody timed
    ({"model_answer": "Sent.", "gold": "Sent."}, False),
    ({}, True),
    ({"topic": "post"}, True),
])  # fmt: skip
def test_addresses_in_answers_that_were_measured_are_no_data_of_a_training(tmp_path, more, told):
    some = [r | {"output": f"{r['output']} sent to ann.k{i}@north-post.org"} | more
            for i, r in enumerate(rows(8, 300))]  # fmt: skip
    assert ("pii-found" in found(tmp_path, {"rows.jsonl": lines(some)})) is told


@pytest.mark.parametrize("more", [{"latency": 1.2}, {}])
def test_a_secret_is_told_wherever_it_stands(tmp_path, more):
    key = "ghp_" + "aB3dE5gH7jK9" * 3
    some = [r | {"output": f"{r['output']} {key}"} | more for r in rows(8, 60)]
    assert "secrets-found" in found(tmp_path, {"rows.jsonl": lines(some)})


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (("original.json", "for_trainer.json"), {"system": "", "history": []}),
        (("corpus_raw.jsonl", "corpus.jsonl"), {}),
        (("数据/原始.jsonl", "数据/sft.jsonl"), {}),
    ],
)
def test_a_set_and_its_converted_form_are_no_duplicates(tmp_path, names, more):
    some = rows(9)
    said = [json.dumps(x) if n.endswith("json") else lines(x) for n, x in
            zip(names, (some, [r | more for r in some]), strict=True)]  # fmt: skip
    assert "exact-duplicates" not in found(tmp_path, dict(zip(names, said, strict=True)))


def test_two_files_of_one_form_with_the_same_rows_are_duplicates(tmp_path):
    some = lines(rows(9))
    assert found(tmp_path, {"north.jsonl": some, "south.jsonl": some})["exact-duplicates"] == "S2"


def test_a_pool_whose_beginning_alone_is_read_is_known_by_its_size(tmp_path):
    some = rows(10, 900)
    whole, train = fill(tmp_path, {"pool.jsonl": lines(some), "train.jsonl": lines(some[:700])}), lines(some[700:])
    (whole / "test.jsonl").write_text(train)
    from triage.tools.data.records.blocks import plan

    def head(name):
        return name, [plan([whole / name], 20_000)[0]]

    assert origins([head("pool.jsonl"), head("train.jsonl")], [head("test.jsonl")], only_train) == {"pool.jsonl"}
    assert parts_of_others([head("pool.jsonl"), head("train.jsonl")]) == {"train.jsonl"}


def only_train(name: str) -> bool:
    return name == "train.jsonl"


@pytest.mark.parametrize("short", ["see you then", "所以你想说什么？"])
def test_a_few_common_phrases_are_no_leak(tmp_path, short):
    train, held = rows(11, 900), [{"id": i, "content": r["output"]} for i, r in enumerate(rows(12, 1500))]
    files = {"train.jsonl": lines([*train, {"instruction": "q", "output": f"{short}"}]), "train.py": "loss.backward()"}
    told = found(tmp_path / "a", files | {"test.jsonl": lines([*held, {"id": 9999, "content": short}])})
    assert "eval-leakage" not in told
    leaked = [*held, *({"id": i, "content": r["output"]} for i, r in enumerate(train[:12]))]
    assert found(tmp_path / "b", files | {"test.jsonl": lines(leaked)})["eval-leakage"] == "S1"
