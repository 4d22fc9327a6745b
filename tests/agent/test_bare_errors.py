"""What only the type or the place of an error leads to is possible; its own words, or what stands beside it, diagnose."""

# One line of a log per line, however long.
# ruff: noqa: E501

import pytest

from triage.agent.diagnose import diagnose
from triage.agent.narrate.entry import stopped
from triage.agent.session import ask
from triage.knowledge.runbook import load
from triage.tools.logs.signatures.match import TABLE
from triage.tools.logs.signatures.parts import PARTS

TOP = 'Traceback (most recent call last):\n  File "/work/go.py", line 31, in <module>\n    main()\n'


def answer(tmp_path, inside: str, said: str, rank: str = ""):
    frame = f'  File "{inside.split(":")[0]}", line 12, in {inside.split(":")[1]}\n    step()\n' if inside else ""
    lines = f"loading\n{TOP if inside else ''}{frame}{said}\n".splitlines()
    (tmp_path / "console.log").write_text("".join(f"{rank}{line}\n" for line in lines))
    return ask("why did it stop?", [tmp_path])


UNNAMED = [
    ("/w/shards.py:__getitem__", "OSError: [Errno 116] Stale file handle: '/nfs/c/part_7.bin'"),
    ("/w/io/reader.py:fill", "OSError: [Errno 116] Stale file handle"),
    (
        "/env/site-packages/peft/tuners/tuners_utils.py:inject_adapter",
        "ValueError: Target modules {'wq'} not found in the base model. Please check the target modules and try again.",
    ),
    (
        "/env/site-packages/peft/tuners/tuners_utils.py:inject_adapter",
        "ValueError: No modules were targeted for adaptation.",
    ),
    (
        "/env/site-packages/transformers/trainer.py:__init__",
        "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on top",
    ),
    (
        "/w/batches.py:collate",
        "RuntimeError: stack expects each tensor to be equal size, but got [90] at entry 0 and [71] at entry 1",
    ),
    ("/w/batches.py:collate_fn", "ValueError: expected sequence of length 96 at dim 1 (got 71)"),
    ("/w/store.py:open_index", "OSError: [Errno 24] Too many open files: '/c/part_3.idx'"),
    (
        "/w/ckpt.py:load_checkpoint",
        "AssertionError: hidden_size from checkpoint (4096) is not equal to the argument (2048)",
    ),
    ("/w/ckpt.py:resume_run", "ValueError: --restart-from must name a step"),
    ("/w/lr_scheduler.py:get_lr", "TypeError: unsupported operand type(s) for *: 'str' and 'float'"),
    ("/w/judge.py:ask_model", "KeyError: 'content'"),
    ("/w/tools/call.py:arguments", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    ("/usr/lib/python3.11/multiprocessing/spawn.py:spawn_main", "EOFError: Ran out of input"),
]


@pytest.mark.parametrize(("inside", "said"), UNNAMED)
@pytest.mark.parametrize("rank", ["", "[rank2]: "])
def test_an_error_whose_words_name_nothing_is_no_diagnosis(tmp_path, inside, said, rank):
    got = answer(tmp_path, inside, said, rank)
    assert got.diagnosis.state == "inconclusive"
    assert all(h.status == "possible" for h in got.diagnosis.hypotheses)


@pytest.mark.parametrize(("inside", "said"), [(i, s) for i, s in UNNAMED if "open files" not in s])
def test_it_is_told_as_an_error_that_no_entry_names(tmp_path, inside, said):
    got = answer(tmp_path, inside, said)
    error = stopped(got.diagnosis)
    assert error is not None
    assert error.evidence[0].text == said
    assert "an error that no entry of the runbook names" in got.head[0]


@pytest.mark.parametrize(
    ("inside", "said", "entry"),
    [
        ("/w/rows.py:__getitem__", "KeyError: 'answer'", "data-schema-mismatch"),
        ("/w/train.py:load_jsonl", "json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 80)", "data-schema-mismatch"),
        ("/w/rows.py:read_records", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xb5 in position 9: invalid start byte", "data-schema-mismatch"),
        ("/env/site-packages/torch/serialization.py:_legacy_load", "EOFError: Ran out of input", "checkpoint-load-failure"),
        ("/w/ckpt.py:load_checkpoint", "RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: 'a.b'", "checkpoint-load-failure"),
        ("/w/queue.py:get", "RuntimeError: received 0 items of ancdata", "shared-memory-exhausted"),
        ("", "KeyError: 'prompt'", "data-schema-mismatch"),
    ],
)  # fmt: skip
def test_words_that_name_the_failure_or_a_place_that_agrees_diagnose(tmp_path, inside, said, entry):
    got = answer(tmp_path, inside, said)
    assert (got.diagnosis.state, got.diagnosis.hypotheses[0].entry.id) == ("diagnosed", entry)


def test_what_else_was_found_diagnoses_beside_a_bare_error(tmp_path):
    (tmp_path / "train.log").write_text(
        "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group\n"
    )
    got = answer(tmp_path, "/w/ckpt.py:load_checkpoint", "ValueError: the file is odd")
    assert got.diagnosis.state == "diagnosed"
    assert stopped(got.diagnosis) is None


def test_nothing_stopped_where_nothing_was_found():
    assert stopped(diagnose(load(), (), (), (), looked=True)) is None


def test_every_row_that_wants_a_part_names_one():
    assert {row.within for row in TABLE if row.within} <= {part.code for part in PARTS}
