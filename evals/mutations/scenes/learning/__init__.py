"""Scenes of what learns: networks, optimizers, precision, ranks, going on."""
