"""What two systems have in common, counted by hand: also where one of them does not answer."""

import pytest

from rankscope.align.policies import Policies
from rankscope.analysis.overview import run_overlap
from rankscope.data.loading import load_qrels, load_run
from rankscope.report.charts.heat import OverlapChart


def test_a_query_that_only_one_system_answers_shares_nothing_and_one_that_neither_does_is_left_out():
    qrels = load_qrels({query: {"a": 1} for query in ("q1", "q2", "q3", "q4")})
    short = load_run({"q1": {"a": 3.0}, "q2": {"a": 2.0, "x": 1.0}}, name="short")
    long = load_run(
        {"q1": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5}, "q2": {"a": 2.0, "y": 1.0}, "q3": {"a": 1.0}}, name="long"
    )
    found = run_overlap(qrels, [short, long], Policies())
    # q1 1 of 4 docs, q2 1 of 3, q3 0 of 1; nobody answers q4
    assert found.shared[0, 1] == pytest.approx((1 / 4 + 1 / 3 + 0) / 3)
    assert found.shared[0, 0] == 1
    chart = OverlapChart.from_overlap(found).render()
    assert chart.alt.startswith("short and long share 0.194 of their first 10 docs")
    assert "docs in both, of all docs in either" in chart.svg
    assert "at least one of the two answers; 0 where only one does" in chart.svg
