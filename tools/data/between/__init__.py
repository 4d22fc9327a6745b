"""What the files of a run say of each other: rows that results count, parts of an evaluation, texts in two sets."""
