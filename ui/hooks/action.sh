#!/usr/bin/env bash
# The working part of action.yml: PATHS, RUN, QUESTION, FAIL_ON and SARIF come from the environment.
# Exit status: as triage's own, the worst of what was done.
set -uo pipefail

worst=0
heard() { if [ "$1" -gt "$worst" ]; then worst=$1; fi; }

mapfile -t paths < <(printf '%s\n' "${PATHS:-}" | sed '/^[[:space:]]*$/d')
if [ "${#paths[@]}" -gt 0 ]; then
  triage lint --format github --fail-on "$FAIL_ON" -- "${paths[@]}"
  heard $?
  if [ -n "${SARIF:-}" ]; then
    triage lint --format sarif --fail-on "$FAIL_ON" -- "${paths[@]}" > "$SARIF"
  fi
fi

if [ -n "${RUN:-}" ]; then
  {
    echo '## triage'
    triage ask "$QUESTION" --run "$RUN" --full
  } >> "$GITHUB_STEP_SUMMARY"
  if [ $? -gt 1 ]; then heard 2; fi
  triage scan --quiet --fail-on "$FAIL_ON" -- "$RUN"
  heard $?
fi

echo "status=$worst" >> "$GITHUB_OUTPUT"
exit "$worst"
