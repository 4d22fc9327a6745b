"""Rules on numbers in 16 bits."""
