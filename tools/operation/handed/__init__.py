"""What one side hands to another: a base to a merge, positions to a server, an adapter or weights to an engine."""

from .look import check_handed

__all__ = ["check_handed"]
