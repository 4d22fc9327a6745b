"""Faults that are a line of the training program itself, which lies in the run and is run as it stands."""
