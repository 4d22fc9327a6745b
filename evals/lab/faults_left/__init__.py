"""Faults whose evidence lies in the tables, notes, code and evaluation files that people leave beside a run."""
