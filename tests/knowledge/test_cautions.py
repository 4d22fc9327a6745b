"""No step that is known to be dangerous or stale stands in an entry without its caution."""

import re

import pytest

from triage.knowledge.runbook import load

BOOK = load()
LISTED = [f"{kind}-{n:02}" for kind, last in (("X", 23), ("I", 12), ("U", 16), ("D", 18)) for n in range(1, last + 1)]
"""Codes of the list of contradictions, undefined thresholds and dangerous steps."""
DANGEROUS = {
    "D-01": r"SIGQUIT|kill -QUIT|kill -3",
    "D-02": r"tail -20|outputs/latest",
    "D-03": r"NCCL_TIMEOUT|NCCL_BACKEND",
    "D-04": r"--(num_workers|prefetch_factor|log_interval|dataloader_pin_memory|max_ckpt_num|enable_engine_sleep)",
    "D-06": r"0\.5\.3\.post1",
    "D-07": r"DataCollatorForCompletionOnlyLM",
    "D-13": r"torch\.load",
    "D-15": r"[Ss]peculative",
    "D-17": r"kubectl|pip install (-U|--upgrade)|rm -rf",
    "D-18": r"empty_cache",
}


def test_every_item_of_the_list_is_in_some_entry():
    told = {note.ref for entry in BOOK for note in (*entry.cautions, *entry.conflicts)}
    assert [code for code in LISTED if code not in told] == []


@pytest.mark.parametrize(("code", "step"), DANGEROUS.items())
def test_a_dangerous_step_stands_beside_its_caution(code, step):
    for entry in BOOK:
        texts = [text for part in entry.body.values() for text in part.values()]
        if any(re.search(step, text) for text in (*texts, str(entry.fix), entry.check_first.en)):
            assert code in {note.ref for note in (*entry.cautions, *entry.conflicts)}, entry.id


def test_a_conflict_is_decided_by_an_observation():
    for entry in BOOK:
        for conflict in entry.conflicts:
            assert min(len(conflict.decided_by.en), len(conflict.decided_by.zh)) > 5
            assert set(conflict.decided_by_findings.values()) <= set(range(len(conflict.positions))), entry.id
