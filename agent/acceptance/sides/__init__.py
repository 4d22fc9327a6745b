"""The two sides of a verdict: which runs they are, what was changed between them, what the fault made look good."""
