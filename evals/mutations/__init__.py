"""Defects planted in small training programs: are they found, on the right line, and does the safe edit mend them?

    python -m triage.evals.mutations            # found and on the right line
    python -m triage.evals.mutations --run      # and what the mended programs train to, on this machine's CPU

Twenty-five loops that run (`loops`), and scenes of what loops stand among: ranks, engines, preference and policy
losses, data, evaluation, checkpoints (`scenes`), each in three forms; every name drawn anew, lines put between. The
programs are made here and are the only ones that are run.
"""
