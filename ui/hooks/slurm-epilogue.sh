#!/usr/bin/env bash
# What went wrong with a job, when it ends: at the end of an sbatch script, or as the cluster's Epilog.
#
#   trap 'bash slurm-epilogue.sh' EXIT        in the script, before `srun`: the answer stands at the end of the log
#   Epilog=/opt/triage/slurm-epilogue.sh      in slurm.conf: the answer goes to the system log of the node
#
# TRIAGE_RUN names the run's folder; without it the job's log alone is read. It always leaves with 0, because an
# epilogue that fails drains its node; it takes at most TRIAGE_SECONDS, at the least priority, and writes no file of the
# job. As root it becomes the job's user before it reads anything.
set -u
triage=${TRIAGE:-triage}
seconds=${TRIAGE_SECONDS:-60}
export PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}

if [ "$(id -u)" = 0 ] && [ -n "${SLURM_JOB_USER:-}" ] && [ "$SLURM_JOB_USER" != root ]; then
  exec runuser -u "$SLURM_JOB_USER" -- env HOME="$(getent passwd "$SLURM_JOB_USER" | cut -d: -f6)" "$0"
fi
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}}
log=${SLURM_JOB_STDOUT:-${SLURM_SUBMIT_DIR:-${SLURM_JOB_WORK_DIR:-$PWD}}/slurm-${job:-${SLURM_JOB_ID:-}}.out}
run=${TRIAGE_RUN:-$log}
say() { if [ -n "${SLURM_SCRIPT_CONTEXT:-}" ]; then logger -t triage; else cat; fi; }
if [ ! -r "$run" ]; then
  echo "triage: nothing to read at $run; name the run in TRIAGE_RUN" | say
  exit 0
fi
nice -n 19 timeout -k 5 "$seconds" "$triage" ask "what went wrong with this job?" --run "$run" 2>&1 | say
if [ "${PIPESTATUS[0]}" = 124 ]; then echo "triage: stopped after $seconds s; that is no verdict" | say; fi
exit 0
