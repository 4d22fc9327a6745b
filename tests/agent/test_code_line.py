"""The change of a program stands at the line where the cause was found, and in no other script."""

import json

import pytest
from making import fill

from triage.agent.propose import Proposal
from triage.agent.session import ask

MASKED = (
    "from transformers import AutoTokenizer\n"
    'tokenizer = AutoTokenizer.from_pretrained("base")\n'
    "tokenizer.pad_token = tokenizer.eos_token\n"
    "\n"
    "def collate(texts):\n"
    '    batch = tokenizer(texts, padding=True, return_tensors="pt")\n'
    '    batch["labels"] = {}\n'
    "    return batch\n"
)
WAYS = {
    "where": 'batch["input_ids"].masked_fill(batch["input_ids"] == tokenizer.pad_token_id, -100)',
    "list": '[[-100 if t == tokenizer.pad_token_id else t for t in row] for row in batch["input_ids"].tolist()]',
}
ENDLESS = "\n".join(
    json.dumps(
        {"prompt": f"question {n}", "response": "and so on " * 60, "finish_reason": "length", "completion_tokens": 512}
    )
    for n in range(60)
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("question", ["the model never stops", "模型停不下来"])
def test_an_end_token_that_was_never_trained_is_mended_where_the_labels_are_made(tmp_path, way, question):
    files = {"collate.py": MASKED.format(WAYS[way]), "samples.jsonl": ENDLESS}
    answer = ask(question, [fill(tmp_path, files)])
    assert answer.diagnosis.top.entry.id == "pad-eos-misconfig"
    change = answer.proposal
    assert isinstance(change, Proposal)
    assert (change.file, change.line) == ("collate.py", 7)
    assert "evaluation script" not in change.new


def test_where_no_program_masks_it_no_line_is_named(tmp_path):
    answer = ask("the model never stops", [fill(tmp_path, {"samples.jsonl": ENDLESS})])
    assert getattr(answer.proposal, "file", None) is None
