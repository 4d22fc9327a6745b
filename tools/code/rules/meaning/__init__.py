"""Rules that follow what a value is (scores, labels, a mask, a split) from where it is made to where it is used."""
