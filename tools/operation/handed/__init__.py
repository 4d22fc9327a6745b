"""What one side hands to another: a base to a merge, positions to a server, an adapter or weights to an engine."""
