"""Rules on ranks that part: who leaves, and who does not wait."""
