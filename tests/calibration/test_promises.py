"""What a comparison says is wrong no more often than promised, and what is known to fail fails.

All calls are seeded. Bands are four standard errors of a simulation in which the promise holds exactly; the cases and
the figures that they are compared with are in benchmarks/simulations.
"""

from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from simulations import data
from simulations.cases import CASES, DETECT, SPREAD, why_not
from simulations.methods import METHODS
from simulations.runner import run_cases
from simulations.table import HEAD, WORDS, rows_of

from rankscope.stats.design import expected_half_width, queries_for_width
from rankscope.stats.interval import t_interval

N_CALLS = 200
GUIDE = Path(__file__).parents[2] / "docs" / "statistics.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in (*CASES, *METHODS) if not case.by_hand_only], ids=lambda case: case.key
)
def test_promise(case):
    if why_not(case):
        pytest.skip(why_not(case))
    (counted,) = run_cases([case], most_calls=N_CALLS)
    for row in rows_of(counted):
        assert row.is_as_expected, row.to_markdown()
    assert not counted.counts["contradiction"], "verdict, interval and p-value do not say the same"


@pytest.mark.slow
def test_interval_is_as_narrow_as_planned():
    plan = queries_for_width(DETECT, SPREAD)
    drawn = np.random.default_rng(1).normal(0, SPREAD, (4_000, plan.n_queries))
    halves = np.array([(found.high - found.low) / 2 for found in map(t_interval, drawn)])
    error = halves.std(ddof=1) / np.sqrt(len(halves))
    assert abs(halves.mean() - expected_half_width(SPREAD, plan.n_queries)) < 3 * error
    assert halves.mean() < DETECT + 3 * error


def test_calls_do_not_depend_on_the_number_of_processes():
    cases = [case for case in CASES if case.k == 2 and case.draw in (data.alike, data.skewed)][:3]
    alone, together = (
        [(found.n_calls, found.counts) for found in run_cases(cases, n_workers=n, most_calls=60)] for n in (1, 2)
    )
    assert alone == together
    assert all(n_calls == 60 and counts["coverage"] > 40 for n_calls, counts in alone)


def test_every_case_has_a_key_of_its_own():
    keys = [case.key for case in (*CASES, *METHODS)]
    assert len(set(keys)) == len(keys)


def test_guide_has_a_row_for_every_promise():
    lines = GUIDE.read_text("utf-8").splitlines()
    heads = [i for i, line in enumerate(lines) if line == HEAD[0]]
    rows = [row for head in heads for row in takewhile(lambda line: line.startswith("|"), lines[head + len(HEAD) :])]
    shown = [tuple(cell.strip() for cell in row.split("|")[1:6]) for row in rows]
    promised = [
        (case.name, str(case.k), str(case.n), f"{case.n_calls:,}", WORDS.get(promise.what, promise.what))
        for case in (*CASES, *METHODS)
        for promise in case.promises
    ]
    assert shown == promised
