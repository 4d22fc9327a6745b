"""A new log format and a new alias are one declaration: added to a copy of the tools, they are read by the scan."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools"
SCAN = """
import sys, json
from pathlib import Path
from triage.tools.discover import discover
from triage.tools.logs.scan import scan
report = scan(discover(Path(sys.argv[1])))
print(json.dumps([report.summary["series"], sorted(report.codes())]))
"""


@pytest.fixture
def scan_with(tmp_path):
    def run(file: str, old: str, new: str, log: str):
        """What a copy of the tools with one change says of a log."""
        copy = tmp_path / "copy" / "triage" / "tools"
        shutil.copytree(TOOLS, copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = (copy / file).read_text("utf-8")
        assert text.count(old) == 1
        (copy / file).write_text(text.replace(old, new), "utf-8")
        path = tmp_path / "train.log"
        path.write_text(log, "utf-8")
        done = subprocess.run(
            [sys.executable, "-c", SCAN, path], env={"PYTHONPATH": str(copy.parents[1])}, capture_output=True, text=True
        )
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    return run


FORMAT = r"""
    Format(
        "clocked",
        ("[t ",),
        AFTER_KEY,
        gaps(r"^\[t\s+(\d+)\]"),
        samples=(Sample("[t 120] ppl 12.3 kl 0.05", 120, {"perplexity": 12.3, "kl": 0.05}),),
    ),
    Format(
        "generic",
"""
GENERIC = '\n    Format(\n        "generic",\n'


KL = '"kl objective/kl '


def test_a_new_format_with_words_of_its_own_is_read(scan_with):
    log = "".join(f"[t {i * 10}] ppl {12.3 - i / 100} kl 0.05\n" for i in range(200))
    series, codes = scan_with("logs/points/formats.py", GENERIC, FORMAT, log)
    assert series["perplexity"]["points"] == series["kl"]["points"] == 200
    assert series["kl"]["last_step"] == 1990
    assert "metrics-not-recognised" not in codes


def test_a_new_alias_is_one_word(scan_with):
    log = "".join(f"{{'zorkiness': {1 + i / 100}}}\n" for i in range(200))
    series, codes = scan_with("vocabulary.py", KL, '"kl zorkiness objective/kl ', log)
    assert series["kl"]["points"] == 200
    assert "metrics-not-recognised" not in codes


MUTE = '\n    Format("mute", ("mute",), AFTER_KEY),' + GENERIC


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("vocabulary.py", KL, '"kl lm_loss objective/kl ', "aliases of VOCABULARY: 'lm_loss' is declared twice"),
        ("vocabulary.py", '"num_zeros")', '"")', "VOCABULARY: 'num_zeros' is empty"),
        ("vocabulary.py", '_metric("num_zeros"', '_metric("kl"', "VOCABULARY: 'kl' is declared twice"),
        ("logs/points/formats.py", '"clu",', '"keras",', "FORMATS: 'keras' is declared twice"),
        ("logs/points/formats.py", GENERIC, MUTE, "FORMATS: 'mute' is empty"),
    ],
)
def test_what_is_said_twice_or_not_at_all_fails_by_its_name(scan_with, file, old, new, said):
    assert said in scan_with(file, old, new, "step 1 loss 2\n")
