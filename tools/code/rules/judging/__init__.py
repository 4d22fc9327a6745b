"""Rules on evaluations, prompts and texts: what a score is made of."""
