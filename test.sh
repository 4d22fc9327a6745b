#!/usr/bin/env bash
# Installs triage with its development tools in a fresh virtual environment and runs every check.
set -euo pipefail
cd "$(dirname "$0")"
venv="${TRIAGE_TEST_VENV:-.venv-test}"
python3 -m venv --clear "$venv"
"$venv/bin/pip" install -q -e '.[dev]'
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check -q .
"$venv/bin/basedpyright" --pythonpath "$venv/bin/python"
"$venv/bin/pytest" -n 2 -m "not slow"
