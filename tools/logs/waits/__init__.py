"""Runs that wait: for one another, for a process that is still at work, for nothing."""
