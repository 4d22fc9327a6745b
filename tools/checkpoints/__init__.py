"""Checkpoints: finding them, reading them without running anything, health, comparison and bisection."""
