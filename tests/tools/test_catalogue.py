"""A finding code is declared once, with its meaning and with checks that its tool really makes."""

import numpy as np
import pytest
from making import write

from triage.tools.catalogue import checks, codes, tables
from triage.tools.checkpoints.health import check_checkpoints
from triage.tools.checkpoints.renamed import check_renamed
from triage.tools.code.check import check_files
from triage.tools.config.combine import read_settings
from triage.tools.config.copies import check_copies
from triage.tools.config.lint import lint
from triage.tools.data.between.corpora import check_corpora
from triage.tools.data.between.evalrows import check_eval_rows
from triage.tools.data.between.gathered import check_gathered
from triage.tools.data.between.items import check_items
from triage.tools.data.between.marks import check_marks
from triage.tools.data.between.results import check_results
from triage.tools.data.between.seen_again import check_seen_again
from triage.tools.data.between.shards import check_shards
from triage.tools.data.between.splits import check_splits
from triage.tools.data.between.starts import check_starts
from triage.tools.data.between.thumbs import check_thumbs
from triage.tools.data.between.widths import check_widths
from triage.tools.data.cached import check_cached
from triage.tools.data.check import check
from triage.tools.data.codebook import codebook
from triage.tools.data.dumps import read_dump
from triage.tools.data.earlier import check_earlier
from triage.tools.data.generations import generations
from triage.tools.data.labels import check_labels, check_tokenizer
from triage.tools.data.pii import pii
from triage.tools.data.preference import preference
from triage.tools.data.similar.dedup import dedup
from triage.tools.data.similar.leakage import find_leaks
from triage.tools.data.similar.leaked import leak_report
from triage.tools.discover import discover
from triage.tools.documents.left_out import left_out
from triage.tools.findings import declare
from triage.tools.logs.ends.going_on import still_written
from triage.tools.logs.named import look_up
from triage.tools.logs.scan import scan
from triage.tools.operation.collectives import check_collectives
from triage.tools.operation.containers import check_containers
from triage.tools.operation.engines import check_engines
from triage.tools.operation.fields import check_fields
from triage.tools.operation.handed import check_handed
from triage.tools.operation.launches import check_launches
from triage.tools.operation.machines import check_machines
from triage.tools.operation.places import check_places
from triage.tools.operation.same_samples import check_same_samples
from triage.tools.operation.sampling import check_sampling
from triage.tools.relate.courses.look import side_by_side
from triage.tools.relate.earlier.again import trained_again
from triage.tools.relate.earlier.attempts import since_restart
from triage.tools.relate.earlier.beside import Side, beside
from triage.tools.relate.earlier.grown import since_raised
from triage.tools.relate.earlier.transport import transported
from triage.tools.relate.paced.books import prepared
from triage.tools.relate.relate import relate
from triage.tools.relate.siblings import against
from triage.tools.scores import check_run_evals
from triage.tools.series import SeriesTable
from triage.tools.settings import Settings

RECORDS = {
    "train.jsonl": [{"prompt": "a", "chosen": "long answer", "rejected": "short"}],
    "dump.jsonl": [{"input_ids": [1, 2], "labels": [1, 2]}],
    "codes.jsonl": [{"codes": [[1, 2], [3, 4]]}],
    "empty.jsonl": [],
}
TOOLS = {
    "logs": lambda p: [
        scan(discover(p), planned_steps=300),
        look_up(discover(p), []),
        still_written(discover(p), {}, {}, SeriesTable()),
    ],
    "config.copies": lambda p: [check_copies(discover(p))],
    "code": lambda p: [check_files([(p / "train.py", "train.py")])],
    "config.lint": lambda p: [lint(read_settings(discover(p))[0])],
    "data.defects": lambda p: [check([p / "train.jsonl"]), check([p / "empty.jsonl"])],
    "data.labels": lambda p: [check_labels(read_dump([p / "dump.jsonl"])), check_tokenizer(p, True)],
    "data.generations": lambda p: [generations([p / "train.jsonl"], before=[p / "train.jsonl"])],
    "data.preference": lambda p: [preference([p / "train.jsonl"])],
    "data.pii": lambda p: [pii([p / "train.jsonl"])],
    "data.between.evalrows": lambda p: [check_eval_rows(discover(p))],
    "data.between.splits": lambda p: [check_splits(discover(p))],
    "data.cached": lambda p: [check_cached(discover(p))],
    "documents.left_out": lambda p: [left_out(discover(p), {}, Settings(), SeriesTable())],
    "data.earlier": lambda p: [check_earlier(discover(p))],
    "data.codebook": lambda p: [codebook([p / "codes.jsonl"])],
    "data.similar.dedup": lambda p: [dedup([p / "train.jsonl"])[0]],
    "data.similar.leakage": lambda p: [leak_report(find_leaks([p / "train.jsonl"], [p / "train.jsonl"]))],
    "checkpoints.health": lambda p: [check_checkpoints([p / "model.safetensors"])],
    "data.between.gathered": lambda p: [check_gathered(discover(p))],
    "scores": lambda p: [check_run_evals(discover(p))],
    "operation.fields": lambda p: [check_fields(discover(p))],
    "operation.collectives": lambda p: [check_collectives(discover(p))],
    "data.between.corpora": lambda p: [check_corpora(discover(p))],
    "operation.engines": lambda p: [check_engines(discover(p))],
    "operation.machines": lambda p: [check_machines(discover(p), Settings())],
    "operation.containers": lambda p: [check_containers(discover(p))],
    "operation.requests": lambda p: [relate(SeriesTable())],
    "operation.same_samples": lambda p: [check_same_samples(discover(p), Settings())],
    "operation.launches": lambda p: [check_launches(discover(p))],
    "operation.sampling": lambda p: [check_sampling(discover(p))],
    "data.between.results": lambda p: [check_results(discover(p))],
    "data.between.shards": lambda p: [check_shards(discover(p))],
    "data.between.thumbs": lambda p: [check_thumbs(discover(p), Settings())],
    "data.between.starts": lambda p: [check_starts(discover(p))],
    "data.between.marks": lambda p: [check_marks(discover(p))],
    "data.between.seen_again": lambda p: [check_seen_again(discover(p))],
    "data.between.widths": lambda p: [check_widths(discover(p), Settings())],
    "checkpoints.renamed": lambda p: [check_renamed(discover(p))],
    "data.between.items": lambda p: [check_items(discover(p))],
    "operation.handed": lambda p: [check_handed(discover(p))],
    "operation.places": lambda p: [check_places(discover(p))],
    "relate": lambda p: [
        relate(SeriesTable()),
        against(SeriesTable(), Settings(), []),
        since_restart(discover(p), SeriesTable()),
        trained_again(discover(p), SeriesTable()),
        transported(discover(p), SeriesTable(), []),
        since_raised(discover(p), SeriesTable(), (), ()),
        beside(Side("", SeriesTable()), []),
        side_by_side(discover(p), SeriesTable()),
        prepared(discover(p), (), {}),
    ],
}
"""Tool, or wing that is one tool -> its reports on artefacts as small as can be; `bisect` is in its own tests."""


@pytest.mark.parametrize("tool", TOOLS)
def test_every_check_of_a_code_is_made_by_its_tool(tmp_path, tool):
    from safetensors.numpy import save_file

    (tmp_path / "train.log").write_text("".join(f"step: {i} loss: {9 - i / 40}\n" for i in range(1, 301)))
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "train.yaml").write_text("learning_rate: 1e-4\n")
    (tmp_path / "tokenizer_config.json").write_text("{}")
    save_file({"a.weight": np.eye(4, dtype=np.float32)}, tmp_path / "model.safetensors")
    for name, records in RECORDS.items():
        write(tmp_path / name, records)
    declared = {name for module, table in tables() if module.startswith(tool) for c in table.values() for name in c[0]}
    made = {c.name for report in TOOLS[tool](tmp_path) for c in report.checks}
    assert declared
    assert declared <= made


def test_every_module_that_declares_codes_is_tried():
    assert {m for m, _ in tables() if not m.startswith(tuple(TOOLS))} == {"checkpoints.bisect.result"}


def test_every_code_has_a_check_and_a_meaning():
    assert [(w, c) for w, wing in codes().items() for c, (names, said) in wing.items() if not (names and said)] == []


def test_what_two_tools_find_has_the_checks_of_both():
    assert checks("double-bos") == ("begin token once, in logs of requests", "text and roles", "begin token once")
    assert checks("no-such-code") == ()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("a", "x", "m"), ("a", "y", "m")], "CODES of tool: 'a' is declared twice"),
        ([("", "x", "m")], "CODES of tool: '' is empty"),
        ([("a", "", "m")], "CODES of tool: 'a' is empty"),
        ([("a", (), "m")], "CODES of tool: 'a' is empty"),
        ([("a", ("x", ""), "m")], "CODES of tool: 'a' is empty"),
        ([("a", "x", "")], "CODES of tool: 'a' is empty"),
    ],
)
def test_a_code_said_twice_or_not_at_all_fails_with_its_own_name(rows, says):
    with pytest.raises(ValueError, match=says):
        declare("tool", *rows)
