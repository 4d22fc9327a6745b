"""Sound of another rate than the features: told where resampling is off, a note where nobody says, else nothing."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.documents.stated import stated
from triage.tools.relate.media.rates import otherwise
from triage.tools.tables.read import read_tables


def told(tmp_path, config, key="sample_rate", other=22050, want=44100):
    rows = [{"id": f"c{i:03d}", key: other if i % 5 == 0 else want, "n": 1000 + 7 * i} for i in range(60)]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "conf.yaml").write_text(config)
    tables = read_tables(tmp_path / "list.jsonl", "list.jsonl")
    return [(f.severity, f.data["rates"]) for f in otherwise(tables, stated(discover(tmp_path)))]


@pytest.mark.parametrize(
    ("config", "key", "grade"),
    [
        ("fbank:\n  sample_rate: 44100\ndo_resample: false\n", "sample_rate", "S1"),
        ("resample:\n  enable: false\n  resample_rate: 44100\nsampling_rate: 44100\n", "sr", "S1"),
        ("sampling_rate: 44100\nmel: 80\n", "sampling_rate", "S3"),
    ],
)
def test_sound_of_another_rate_than_its_features(tmp_path, config, key, grade):
    assert told(tmp_path, config, key) == [(grade, [22050.0])]


@pytest.mark.parametrize(
    ("config", "other"),
    [
        ("resample:\n  enable: true\n  resample_rate: 44100\nsampling_rate: 44100\n", 22050),
        ("sampling_rate: 44100\ndo_resample: false\n", 44100),
        ("mel: 80\n", 22050),
    ],
    ids=["converted", "all of one rate", "no rate is set"],
)
def test_sound_that_is_converted_or_of_one_rate_is_nothing(tmp_path, config, other):
    assert told(tmp_path, config, other=other) == []
