"""Calibration: how often is what `rankscope.compare_scores` says wrong, on scores of which the truth is known?

`data` and `real_scores` make scores, `cases` says which promise is checked on which of them, `counting` makes one call
and counts what it got wrong, `runner` makes many calls in several processes, `table` prints what came of them, and
`methods` has the few cases that no verdict rests on. The tests run most cases with few calls; `python -m simulations`
runs all of them.
"""
