"""The training program as evidence: read with `ast`, never run and never imported."""
