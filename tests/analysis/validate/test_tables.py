"""What the checks look at."""

from __future__ import annotations

from rankscope.analysis.validate.tables import CheckedRun


def test_positions_are_those_of_trec_eval(make_run):
    """By score, then by doc id, descending by bytes: ~ is above letters, and ä above both."""
    run = CheckedRun("run", make_run([("q", "b", 1), ("q", "ä", 1), ("q", "~", 1), ("q", "a", 2), ("p", "a", 0)]))
    assert run.position.tolist() == [3, 1, 2, 0, 0]
