"""Versions of one model against each other: what a table of slices or of seeds measures of each."""
