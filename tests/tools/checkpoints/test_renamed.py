"""Weights that are lost because the model calls them otherwise, and lists of loaders that are as they should be."""

import pytest
from making import fill

from triage.tools.checkpoints.renamed import check_renamed
from triage.tools.discover import discover

UNUSED = "Some weights of the model checkpoint at {p} were not used when initializing {m}: {n}"
NEW = "Some weights of {m} were not initialized from the model checkpoint at {p} and are newly initialized: {n}"


def hf(left, new):
    said = [UNUSED.format(p="/c", m="SeeLM", n=left)] if left else []
    return [*said, *([NEW.format(p="/c", m="SeeLM", n=new)] if new else [])]


def told(tmp_path, lines):
    text = "\n".join((*lines, *(f"step {i} loss {3 - i / 100:.3f}" for i in range(1, 40)))) + "\n"
    return [f.code for f in check_renamed(discover(fill(tmp_path, {"run.log": text}))).findings]


@pytest.mark.parametrize(
    "lines",
    [
        hf(["vis_resampler.query.weight", "vis_resampler.kv.weight"], ["model.resampler.queries.weight"]),
        ["load_state_dict: missing_keys=['tower.stem.conv.weight'], unexpected_keys=['module.tower.stem.conv.weight']"],
        ["缺失的键: ['audio.connector.fc.weight', 'audio.connector.fc.bias']",
         "多余的键: ['speech_connector.dense.weight', 'speech_connector.dense.bias']"],
    ],
)  # fmt: skip
def test_weights_that_another_name_lost_are_told(tmp_path, lines):
    assert told(tmp_path, lines) == ["weights-renamed"]


@pytest.mark.parametrize(
    "lines",
    [
        hf([], ["model.resampler.queries.weight"]),  # a part that is new
        hf(["vision_tower.stem.conv.weight"], []),  # a part that is not needed
        hf(["lm_head.weight", "cls.predictions.bias"], ["score.weight"]),
        ["missing keys: ['model.rotary_emb.inv_freq'], unexpected keys: ['rotary.inv_freq']"],
        hf(["vision_tower.stem.conv.weight"], ["model.resampler.queries.weight"]),
        ["missing_keys=[], unexpected_keys=[]"],
    ],
)
def test_lists_that_are_usual_are_not(tmp_path, lines):
    assert told(tmp_path, lines) == []
