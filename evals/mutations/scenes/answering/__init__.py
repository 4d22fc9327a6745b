"""Scenes of what is learned from and asked: rows, labels, tokens, answers, figures, rewards."""
