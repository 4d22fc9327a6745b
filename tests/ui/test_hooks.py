"""The GitHub Action and the Slurm epilogue, run by a shell as GitHub and Slurm would run them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "ui" / "hooks"
EXAMPLE = ROOT / "evals" / "example"
ACTION = YAML(typ="safe").load((HOOKS / "action.yml").read_text())
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "TRIAGE", "GITHUB"))}
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def acted(tmp_path):
    """Run the step that judges as GitHub would, over a checkout; gives the process, the summary and the outputs."""
    shutil.copytree(EXAMPLE, tmp_path / "checkout" / "runs")
    files = {name: tmp_path / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}

    def act(**given):
        inputs = {name: given.get(name.replace("-", "_"), spec["default"]) for name, spec in ACTION["inputs"].items()}
        step = next(s for s in ACTION["runs"]["steps"] if s.get("id") == "judge")
        asked = {k: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: inputs[m[1]], v) for k, v in step["env"].items()}
        for path in files.values():
            path.write_text("")
        env = CLEAN | asked | {k: str(v) for k, v in files.items()}
        env |= {"PATH": PATH, "GITHUB_ACTION_PATH": str(HOOKS), "TRIAGE_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=tmp_path / "checkout", env=env, capture_output=True, text=True
        )
        return done, *(path.read_text() for path in files.values())

    return act


def test_what_a_person_gives_is_never_part_of_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_every_input_is_said_and_reaches_the_script():
    used = {name for step in ACTION["runs"]["steps"] for value in step["env"].values()
            for name in re.findall(r"inputs\.([\w-]+)", value)}  # fmt: skip
    assert used == set(ACTION["inputs"])
    assert all(spec["description"] for spec in ACTION["inputs"].values())


def test_faults_of_configs_stand_on_their_lines_and_fail_the_job(acted):
    done, _, outputs = acted(paths="runs/run-1/train.yaml\n\n", fail_on="S3", sarif="triage.sarif")
    assert "::warning file=runs/run-1/train.yaml,line=" in done.stdout
    assert (done.returncode, outputs) == (1, "status=1\n")
    done, _, outputs = acted(paths="runs/run-1/train.yaml", fail_on="S0")
    assert (done.returncode, outputs) == (0, "status=0\n")


def test_a_report_for_code_scanning_is_written_where_it_is_named(acted, tmp_path):
    acted(paths="runs/run-1", sarif="triage.sarif")
    assert '"version": "2.1.0"' in (tmp_path / "checkout" / "triage.sarif").read_text()


def test_a_run_that_failed_is_explained_in_the_summary(acted):
    done, summary, _ = acted(run="runs/run-1")
    assert done.returncode == 1
    assert "loss-nan-high-lr" in summary
    assert "loss-nonfinite S0" in done.stdout
    assert acted(run="runs/run-2")[0].returncode == 0


def test_what_could_not_be_judged_fails_the_job_with_2(acted):
    done, _, outputs = acted(paths="no-such-folder")
    assert (done.returncode, outputs) == (2, "status=2\n")


@pytest.mark.parametrize("name", ["runs/$(touch made)", "--json", "a b; touch made"])
def test_a_hostile_name_is_a_name(acted, tmp_path, name):
    assert acted(paths=name, run=name, question='"; touch made; "')[0].returncode == 2
    assert not list((tmp_path / "checkout").glob("**/made"))


# Slurm ------------------------------------------------------------------------------------------------


def epilogue(cwd, **env):
    """The epilogue as a trap of a batch script that failed, in a job's environment."""
    script = f"trap 'bash {HOOKS}/slurm-epilogue.sh' EXIT; exit 7"
    env = CLEAN | {"PATH": PATH, "SLURM_JOB_ID": "1234", "SLURM_SUBMIT_DIR": str(cwd)} | env
    return subprocess.run(["bash", "-c", script], cwd=cwd, env=env, capture_output=True, text=True)


def test_a_jobs_own_log_is_explained_at_its_end_and_the_jobs_status_stays(tmp_path):
    shutil.copy(EXAMPLE / "run-1" / "train.log", tmp_path / "slurm-1234.out")
    done = epilogue(tmp_path, TRIAGE_HOME=str(tmp_path / "home"))
    assert done.returncode == 7
    assert "F1 S0 loss is nan from" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["home", "slurm-1234.out"]


def test_the_runs_folder_can_be_named_and_an_array_has_its_own_log(tmp_path):
    done = epilogue(tmp_path, TRIAGE_RUN=str(EXAMPLE / "run-1"), TRIAGE_HOME=str(tmp_path / "home"))
    assert "`learning_rate` 0.3 -> 0.15" in done.stdout
    done = epilogue(tmp_path, SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID="2")
    assert f"nothing to read at {tmp_path}/slurm-7_2.out" in done.stdout


@pytest.mark.parametrize(("triage", "said"), [("false", ""), ("no-such-command", "No such file"), ("sleep", "verdict")])
def test_it_always_leaves_with_0_in_time(tmp_path, triage, said):
    (tmp_path / "slurm-1234.out").write_text("step 1\n")
    slow = tmp_path / "sleep"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    env = CLEAN | {"PATH": PATH, "SLURM_JOB_ID": "1234", "SLURM_SUBMIT_DIR": str(tmp_path), "TRIAGE_SECONDS": "1"}
    env["TRIAGE"] = str(slow) if triage == "sleep" else triage
    done = subprocess.run([HOOKS / "slurm-epilogue.sh"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert said in done.stdout
