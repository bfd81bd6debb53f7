"""Calibration: does each test and interval keep its promise, on data of which the truth is known?

`worlds` makes the data, `cases` says which promise is checked on which data, `measure` counts how often it is kept.
The tests run all cases with few simulations; `python -m simulations` prints the table with more of them.
"""
