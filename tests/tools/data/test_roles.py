"""What each data file of a run is for, by all that lies beside it."""

import json
import random

import pytest
from making import fill, prose

from triage.tools.data.roles import with_roles
from triage.tools.data.rundata import check_run_data, samples_of
from triage.tools.run import Artifact, Run

rng = random.Random(11)
POOL = [{"instruction": f"{prose(rng, 12)}?", "output": prose(rng, 25)} for _ in range(120)]
ITEMS = [{"question": f"{prose(rng, 12)}?", "answer": prose(rng, 8)} for _ in range(40)]
GRADED = [{"question": r["question"], "prediction": "so", "gold": r["answer"]} for r in ITEMS]
PLAIN = [{"prompt": r["question"], "response": r["answer"]} for r in ITEMS]
MEANT = [{**r, "expected_behavior": "stays calm"} for r in PLAIN]
TALK = [{"role": who, "content": f"{who} speaks, {i}"} for i in range(4) for who in ("user", "assistant")]
KINDS = {".py": "code", ".yaml": "config", ".log": "log"}
FIT = "data = load('sft_rows.jsonl')\nloss.backward()\n"


def roles(tmp_path, **files):
    texts = {
        name.replace("__", "."): "".join(json.dumps(r) + "\n" for r in rows) if isinstance(rows, list) else rows
        for name, rows in files.items()
    }
    kinds = {name: next((k for end, k in KINDS.items() if name.endswith(end)), "data") for name in texts}
    root = fill(tmp_path, texts)
    run = Run(root, tuple(Artifact(kinds[n], root / n, n, "test") for n in texts))
    samples, _ = samples_of([*run.of("data")])
    return {s.name.split(".")[0]: s.role for s in with_roles(samples, run)}, run


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"harvest__jsonl": POOL}, {"harvest": "trained"}),  # data alone
        ({"harvest__jsonl": POOL, "test__jsonl": ITEMS}, {"harvest": "trained", "test": "held-out"}),
        ({"sft_rows__jsonl": POOL, "kb__jsonl": ITEMS, "fit__py": FIT}, {"sft_rows": "trained", "kb": "beside"}),
        ({"kb__jsonl": ITEMS, "fit__py": FIT}, {"kb": "beside"}),
        ({"kb__jsonl": ITEMS, "serve__py": "print('ready')\n"}, {"kb": "asked"}),
        ({"kb__jsonl": ITEMS, "opt__yaml": "learning_rate: 1e-4\n"}, {"kb": "trained"}),  # it names no file at all
        ({"scored__jsonl": GRADED, "sft_rows__jsonl": POOL}, {"scored": "answered", "sft_rows": "trained"}),
        ({"dpo_results__jsonl": PLAIN, "sft_rows__jsonl": POOL}, {"dpo_results": "answered", "sft_rows": "trained"}),
        ({"results_sft__jsonl": PLAIN, "fit__py": FIT}, {"results_sft": "trained"}),  # the rows made from results
        ({"sft_tried__jsonl": MEANT, "sft_rows__jsonl": POOL}, {"sft_tried": "answered", "sft_rows": "trained"}),
        ({"pool__jsonl": POOL, "pool_mixed__jsonl": POOL[::-1]}, {"pool": "part", "pool_mixed": "trained"}),
        ({"pool__jsonl": POOL, "barn__jsonl": POOL[::-1]}, {"pool": "trained", "barn": "trained"}),  # read twice
        ({"talk__json": json.dumps(TALK), "sft_rows__jsonl": POOL}, {"talk": "answered", "sft_rows": "trained"}),
        ({"talks__jsonl": [{"messages": TALK}] * 4}, {"talks": "trained"}),
        ({"whole__jsonl": POOL + ITEMS, "sft_rows__jsonl": POOL, "test__jsonl": ITEMS},
         {"whole": "origin", "sft_rows": "trained", "test": "held-out"}),
        ({"pool__jsonl": POOL, "pool_small__jsonl": POOL[:50]}, {"pool": "trained", "pool_small": "part"}),
    ],
)  # fmt: skip
def test_a_file_has_the_role_that_those_beside_it_give_it(tmp_path, files, told):
    assert roles(tmp_path, **files)[0] == told


def test_what_repeats_is_trouble_in_what_is_trained_on_and_a_note_elsewhere(tmp_path):
    twice = POOL[:80] * 2
    for files, grades in (
        ({"sft_rows__jsonl": twice, "fit__py": FIT}, {"S1", "S2"}),
        ({"sft_rows__jsonl": POOL[80:], "kb__jsonl": twice, "fit__py": FIT}, {"S3"}),
    ):
        report = check_run_data(roles(tmp_path / str(len(files)), **files)[1])
        found = {f.severity for f in report.findings if f.code == "exact-duplicates"}
        assert found, files
        assert found <= grades
