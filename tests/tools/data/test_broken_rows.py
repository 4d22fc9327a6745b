"""Rows whose fields hold anything: no tool of `triage data` may fail on them, whatever it makes of them."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triage.tools.data.check import check
from triage.tools.data.codebook import codebook
from triage.tools.data.dumps import read_dump
from triage.tools.data.engine import Local
from triage.tools.data.generations import generations
from triage.tools.data.labels import check_labels
from triage.tools.data.pii import pii
from triage.tools.data.preference import preference
from triage.tools.data.similar.dedup import dedup
from triage.tools.data.similar.leakage import find_leaks
from triage.tools.data.similar.leaked import leak_report
from triage.tools.data.similar.review import false_positive_rate
from triage.tools.findings import TriageError

ONE = Local(1)
TOOLS = {
    "check": lambda p: check([p], context_length=64, reference=[p], engine=ONE),
    "codebook": lambda p: codebook([p], before=[p]),
    "dedup": lambda p: dedup([p], threshold=0.3, engine=ONE)[0],
    "generations": lambda p: generations([p], before=[p]),
    "labels": lambda p: check_labels(read_dump([p])),
    "leakage": lambda p: leak_report(find_leaks([p], [p], engine=ONE)),
    "pii": lambda p: pii([p], engine=ONE),
    "preference": lambda p: preference([p]),
}
FIELDS = [
    *("messages", "conversations", "role", "from", "content", "value", "text", "prompt", "response", "instruction"),
    *("output", "chosen", "rejected", "score_chosen", "score_rejected", "completions", "rewards", "reward", "score"),
    *("finish_reason", "codes", "input_ids", "labels", "attention_mask", "spans", "start", "end", "prompt_length"),
    *("annotator", "item", "label", "ratings", "kept", "filter_reason", "kind", "similarity", "question", "answer"),
]
PLAIN = st.sampled_from(
    (
        *(None, True, False, 0, 1, -1, -100, 2.5, 1e308, 2**63, 10**400, -(10**30), float("nan"), float("inf")),
        *("", " ", "a", "user", "assistant", "中文没有空格", "\ud800", "\x00", "<think></think>", "same words " * 40),
    )
)
VALUE = st.recursive(
    PLAIN | st.lists(st.integers(-100, 50), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)
NUMBERS = st.lists(st.integers(-100, 50), min_size=1, max_size=8)
NEARLY = st.one_of(
    st.fixed_dictionaries(
        {"input_ids": NUMBERS, "labels": NUMBERS},
        optional={"spans": st.lists(st.fixed_dictionaries({"start": PLAIN, "end": PLAIN, "role": PLAIN}), max_size=3)},
    ),
    st.fixed_dictionaries({"messages": st.lists(st.fixed_dictionaries({"role": PLAIN, "content": VALUE}), max_size=3)}),
    st.fixed_dictionaries({"prompt": PLAIN, "chosen": VALUE, "rejected": VALUE, "score_chosen": PLAIN}),
    st.fixed_dictionaries({"prompt": PLAIN, "completions": st.lists(PLAIN), "rewards": st.lists(PLAIN)}),
)
ROW = st.dictionaries(st.sampled_from(FIELDS), VALUE, max_size=6) | VALUE | NEARLY
"""Anything, and rows of the right shape with something wrong inside."""


@pytest.mark.parametrize("tool", TOOLS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(rows=st.lists(ROW, min_size=1, max_size=12), times=st.sampled_from([1, 40]))
def test_any_rows_give_a_report(tool, rows, times):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        lines = [json.dumps(row, ensure_ascii=False) for row in rows] * times
        path.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
        try:
            json.dumps(TOOLS[tool](path).as_json(), allow_nan=False)
        except TriageError:
            return  # nothing of the kind in these rows


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(ROW, max_size=6))
def test_any_rows_are_refused_or_read_as_a_labelled_sample(rows):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sample.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        try:
            false_positive_rate(path)
        except TriageError:
            return
