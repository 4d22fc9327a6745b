"""What is installed with triage: licences are told and permissive, nothing is known to be vulnerable, all is listed."""

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {
    "MIT": "MIT",
    "BSD": "BSD",
    "Apache": "Apache-2.0",
    "Python Software Foundation": "PSF",
    "Mozilla": "MPL-2.0",
}
"""Word of an old-style classifier -> how the table calls it."""


def needed() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]]


def canonical(package: str) -> str:
    """A name as the index compares it: `prompt_toolkit` and `prompt-toolkit` are one."""
    return re.sub(r"[-_.]+", "-", package).lower()


def told() -> dict[str, str]:
    return dict(re.findall(r"^\| ([\w.-]+) \| ([^|]+) \|$", (ROOT / "SECURITY.md").read_text(), re.M))


def declared(package: str) -> str:
    """The licence as the installed package declares it."""
    about = metadata.metadata(package)
    classifiers = [c for c in about.get_all("Classifier") or [] if c.startswith("License")]
    if expression := about["License-Expression"]:
        return expression
    return " ".join(name for word, name in KINDS.items() if any(word in c for c in classifiers))


@pytest.mark.parametrize("package", needed())
def test_the_licence_of_every_dependency_is_told_and_as_declared(package):
    assert told()[package] in declared(package)
    assert not re.search(r"\bA?GPL", declared(package))


def test_no_licence_is_told_of_a_package_that_is_not_needed():
    assert set(told()) - {"package"} == set(needed())


@pytest.fixture(scope="module")
def audit(tmp_path_factory) -> Path:
    """The programs of an environment that holds only the two auditors."""
    home = tmp_path_factory.mktemp("audit")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    subprocess.run([home / "bin" / "pip", "install", "-q", "cyclonedx-bom", "pip-audit"], check=True)
    return home / "bin"


@pytest.mark.security
def test_the_bill_of_materials_holds_every_dependency(audit, tmp_path):
    out = tmp_path / "sbom.json"
    subprocess.run([audit / "cyclonedx-py", "environment", sys.executable, "--of", "JSON", "-o", out], check=True)
    names = {canonical(c["name"]) for c in json.loads(out.read_text())["components"]}
    assert set(map(canonical, needed())) <= names


@pytest.mark.security
def test_nothing_installed_is_known_to_be_vulnerable(audit):
    done = subprocess.run(
        [audit / "pip-audit", "--path", Path(pytest.__file__).parents[1], "-f", "json", "--progress-spinner", "off"],
        capture_output=True,
        text=True,
    )
    packages = json.loads(done.stdout)["dependencies"]
    looked_at = [p for p in packages if "vulns" in p]
    if len(looked_at) < len(packages) / 2:
        pytest.skip(f"the index gave advisories for {len(looked_at)} of {len(packages)} packages")
    assert not [(p["name"], p["version"], v["id"]) for p in looked_at for v in p["vulns"]]
