"""Rules on what one step is made of: number formats, which parameters it moves, how its loss is weighed."""
