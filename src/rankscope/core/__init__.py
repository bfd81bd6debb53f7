"""Runs, qrels, ranking and the alignment of the two: arrays only, no files, clock, network or randomness."""
