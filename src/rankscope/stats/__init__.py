"""Statistics over scores: arrays in, frozen records out. NumPy and scipy only; every resampling takes a seed."""
