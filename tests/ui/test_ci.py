"""`triage lint` as CI runs it: the steps of docs/ci.md in a checkout, SARIF for GitHub, the pre-commit hook."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
STEPS = "warmup_steps: 2000\nmax_steps: 1000\n"
BAD = f"learning_rate: 1.0e-5\n{STEPS}per_device_train_batch_size: 4\nbf16: true\nfp16: true\n"
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}


def of(required: str, plain: bool = False, **properties) -> dict:
    """The schema of an object."""
    known = {"required": required.split(), "properties": properties}
    return known if plain else {"type": "object", **known}


def many(items: dict, **more) -> dict:
    return {"type": "array", "items": items, **more}


LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = of("id", shortDescription=TEXT, fullDescription=TEXT, help=TEXT,
          defaultConfiguration={"properties": {"level": LEVEL}})  # fmt: skip
PLACE = of("artifactLocation region", plain=True,
           artifactLocation=of("uri", plain=True, uri={"type": "string", "pattern": r"^[^\s\\]+$"}),
           region=of("startLine", plain=True, startLine={"type": "integer", "minimum": 1}))  # fmt: skip
RESULT = of("message ruleId locations", message=TEXT, ruleIndex={"type": "integer", "minimum": 0}, level=LEVEL,
            locations=many(of("physicalLocation", plain=True, physicalLocation=PLACE), minItems=1))  # fmt: skip
DONE = of("executionSuccessful", plain=True, executionSuccessful={"type": "boolean"})
RUN = of("tool results", tool=of("driver", driver=of("name", rules=many(RULE, uniqueItems=True))), results=many(RESULT),
         invocations=many(DONE))  # fmt: skip
SARIF = of("version runs", version={"const": "2.1.0"}, runs=many(RUN))
"""What the SARIF 2.1.0 schema and GitHub's code scanning ask of what we write."""


@pytest.fixture
def checkout(tmp_path):
    """A repository with a good and a bad config, and a file that is none."""
    (tmp_path / "configs" / "my sft").mkdir(parents=True)
    (tmp_path / "configs" / "my sft" / "train.yaml").write_text(BAD)
    (tmp_path / "configs" / "compose.yml").write_text("services: {web: {image: nginx}}\n")
    return tmp_path


def run(checkout, command):
    """One step, as a runner does it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PATH": path},
    )


def blocks():
    """The YAML examples of the page, in order."""
    return re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.DOTALL)


def test_a_lint_remarks_on_lines_and_writes_a_report(checkout):
    remarks = run(checkout, "triage lint configs --format github --fail-on S1")
    report = run(checkout, "triage lint configs --format sarif > triage.sarif || test $? -eq 1")
    assert remarks.returncode == 1
    assert "::error file=configs/my sft/train.yaml,line=5,title=precision-conflict::" in remarks.stdout
    assert report.returncode == 0, report.stderr
    log = json.loads((checkout / "triage.sarif").read_text())
    jsonschema.validate(log, SARIF)
    found = log["runs"][0]["results"]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert {r["ruleId"] for r in found} == {"precision-conflict", "warmup-exceeds-training"}
    for result in found:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "configs/my%20sft/train.yaml"
        named = BAD.splitlines()[place["region"]["startLine"] - 1]
        assert named.startswith(("warmup_steps", "bf16", "fp16"))


def test_every_rule_is_described_within_what_github_shows():
    from triage.tools.config.lint import RULES
    from triage.ui.ci import _rule

    assert all(len(_rule(code)["fullDescription"]["text"]) <= 1024 for code in RULES)


def test_what_cannot_be_read_makes_the_report_unsuccessful(checkout):
    (checkout / "configs" / "broken.yaml").write_text("learning_rate: [1\n  x: {")
    done = run(checkout, "triage lint configs --format sarif || true")
    log = json.loads(done.stdout)
    jsonschema.validate(log, SARIF)
    [invocation] = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "broken.yaml" in json.dumps(invocation["toolExecutionNotifications"])


def test_the_hook_fails_on_the_bad_file_only(checkout):
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert yaml.safe_load(blocks()[0])["repos"][0]["hooks"][0]["id"] == hook["id"] == "triage-lint"
    assert run(checkout, f"{hook['entry']} 'configs/compose.yml'").returncode == 0
    done = run(checkout, f"{hook['entry']} 'configs/compose.yml' 'configs/my sft/train.yaml'")
    assert done.returncode == 1
    assert "configs/my sft/train.yaml:5" in done.stdout


@pytest.mark.parametrize(("fail_on", "status"), [("S0", 0), ("S1", 0), ("S2", 0), ("S3", 1)])
def test_a_note_fails_only_where_notes_count(tmp_path, fail_on, status):
    (tmp_path / "train.yaml").write_text("learning_rate: 3e-5\nper_device_train_batch_size: 4\nmax_steps: 1000\n")
    done = run(tmp_path, f"triage lint train.yaml --fail-on {fail_on}")
    assert "number-read-as-string" in done.stdout
    assert done.returncode == status


def test_an_unknown_severity_is_refused(checkout):
    assert run(checkout, "triage lint configs --fail-on S9").returncode == 2
