"""Rules on what stands around the loop: data, tokens, what a model writes, what is kept, what trainers are told."""
