"""Faults whose evidence lies in the tables, notes, code and evaluation files that people leave beside a run."""

from . import calm, data, machines, plans, scores

__all__ = ["calm", "data", "machines", "plans", "scores"]
