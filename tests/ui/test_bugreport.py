"""`triage report --bug`: the checklist filled from a run, redacted, in the order of each project's form."""

import re
import tarfile
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.ui.bugreport import HOW, PARTS, TEMPLATES
from triage.ui.cli import app
from triage.ui.commands.report import HELP

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"
TOKEN = "hf_" + "aB3d" * 9
ERROR = f"""Traceback (most recent call last):
  File "/app/train.py", line 12, in <module>
    main(token="{TOKEN}")
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB
"""


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "exp"
    folder.mkdir()
    steps = "".join(f"step: {i} loss: {2 - i / 900:.4f}\n" for i in range(600))
    (folder / "train.log").write_text("torch version: 2.3.0\n" + steps + ERROR)
    (folder / "config.yaml").write_text(f"learning_rate: 0.001\nhub_token: {TOKEN}\n")
    (folder / "launch.sh").write_text("export NCCL_DEBUG=INFO\ntorchrun --nproc_per_node=8 train.py\n")
    return folder


def test_the_help_names_every_form():
    named = re.search(r"Issue forms of ([^.]*)\.", HELP)[1]
    assert re.split(r",\s+|\s+and\s+", named) == [*TEMPLATES]


@pytest.fixture
def triage(tmp_path):
    def call(*args):
        return CliRunner().invoke(app, [*map(str, args)], env={"TRIAGE_HOME": str(tmp_path / "home")})

    return call


def test_the_report_holds_what_the_run_shows_and_says_what_is_missing(triage, run):
    text = triage("report", run, "--bug", "pytorch").stdout
    for shown in (
        "# [PyTorch]",
        "| torch | 2.3.0 | train.log:1 |",
        "602: Traceback (most recent call last)",
        "605: torch.OutOfMemoryError: CUDA out of memory",
        "torchrun --nproc_per_node=8 train.py",
        "| NCCL_DEBUG | INFO | launch.sh:1 |",
        "| learning_rate | 0.001 | config.yaml:1 |",
        "total capacity of 79.15 GiB",
    ):
        assert shown in text
    assert [line for line in text.splitlines() if line.startswith("- [ ]")] == [
        f"- [ ] {HOW['script']}",
        f"- [ ] {HOW['tried']}",
    ]


def test_no_secret_leaves(triage, run, tmp_path):
    assert TOKEN not in triage("report", run, "--bug", "trl").stdout
    triage("report", run, "--bug", "trl", "--out", tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert sorted(texts) == ["files/config.yaml", "files/launch.sh", "report.md"]
    assert not any(TOKEN in text for text in texts.values())
    assert "learning_rate: 0.001" in texts["files/config.yaml"]


@pytest.mark.parametrize("framework", TEMPLATES)
def test_every_form_asks_for_versions_command_settings_and_error(framework):
    parts = " ".join(parts for _, parts in TEMPLATES[framework].sections).split()
    assert {"versions", "hardware", "variables", "command", "settings", "error", "tried"} <= set(parts) <= set(PARTS)


def test_what_was_tried_comes_from_the_case(triage):
    asked = triage("ask", "loss is nan", "--run", EXAMPLE / "run-1").stdout
    case = re.search(r"case (\w{6})", asked)[1]
    triage("verify", "--baseline", EXAMPLE / "run-1", "--candidate", EXAMPLE / "run-2", "--case", case)
    for more in ([], ["--case", case]):
        text = triage("report", EXAMPLE / "run-1", "--bug", "transformers", *more).stdout
        assert "proposed: learning_rate from 0.3 to 0.15" in text
        assert "ran again with learning_rate 0.3 -> 0.15: fixed" in text


def test_a_run_without_an_error_shows_its_first_bad_step(triage):
    text = triage("report", EXAMPLE / "run-1", "--bug", "verl").stdout
    assert "The first error, `train.log` line 347" in text
    assert "347: {'loss': 'nan'" in text


@pytest.mark.parametrize("name", ["r.md", "b.tar.gz"])
def test_a_file_that_exists_is_left_alone(triage, run, tmp_path, name):
    assert triage("report", run, "--bug", "vllm", "--out", tmp_path / name).exit_code == 0
    written = (tmp_path / name).read_bytes()
    again = triage("report", run, "--bug", "vllm", "--out", tmp_path / name)
    assert "choose another name" in str(again.exception)
    assert (tmp_path / name).read_bytes() == written
    if name.endswith("gz"):
        with tarfile.open(tmp_path / name) as archive:
            assert "report.md" in archive.getnames()


@pytest.mark.parametrize(
    ("args", "told"), [(["--bug", "nope"], "known are accelerate"), (["--bug", "trl", "--out", "x.pdf"], "ends in .md")]
)
def test_a_wrong_option_names_the_right_ones(triage, run, args, told):
    assert told in str(triage("report", run, *args).exception)
