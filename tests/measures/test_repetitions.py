"""Scores over several runs of one system: means per query and spreads, against numbers made with a pencil."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.measures.repetitions import (
    mean_scores,
    means_by_repetition,
    scores_repeat,
    spread_of_means,
    with_repetitions,
)

QRELS = {"q1": {"r1": 1}, "q2": {"r2": 1}}


def ranking(query: str, rank: int) -> list[str]:
    """Return a ranking with the relevant doc of a query at a rank."""
    return [*(f"x{i}" for i in range(1, rank)), f"r{query[1]}"]


def run_with(q1: int, q2: int) -> dict[str, list[str]]:
    return {"q1": ranking("q1", q1), "q2": ranking("q2", q2)}


def repeated(*ranks: tuple[int, int], measures: str = "RR") -> rs.Scores:
    """Return the scores of a system `s` that finds the relevant docs of both queries at these ranks, run after run."""
    each = [rs.evaluate(QRELS, {"s": run_with(*pair)}, measures) for pair in ranks]
    return with_repetitions(each[0], {"s": [scores["s"] for scores in each[1:]]})


class TestByPencil:
    """q1 at ranks 1, 2, 4: RR 1, 1/2, 1/4, mean 7/12; q2 at ranks 2, 1, 1: RR 1/2, 1, 1, mean 10/12."""

    def test_a_query_has_the_mean_over_repetitions(self):
        scores = repeated((1, 2), (2, 1), (4, 1))
        assert scores["s"]["q1", "RR"] == pytest.approx(7 / 12)
        assert scores["s"]["q2", "RR"] == pytest.approx(10 / 12)
        assert scores["s"].mean()["RR"].value == pytest.approx(17 / 24)

    def test_the_spread_is_that_of_the_means_of_whole_runs(self):
        # means 3/4, 3/4, 5/8; off their mean 17/24 by 1, 1 and -2 of 1/24; (1 + 1 + 4) / 2 = 3, so sqrt(3) / 24
        scores = repeated((1, 2), (2, 1), (4, 1))
        means = means_by_repetition(scores, "s", "RR")
        assert means == pytest.approx((3 / 4, 3 / 4, 5 / 8))
        assert spread_of_means(means) == pytest.approx(math.sqrt(3) / 24)

    def test_what_always_is_the_same_stays_so_to_the_last_bit(self):
        scores = repeated((3, 3), (3, 3), (3, 3))  # (1/3 + 1/3 + 1/3) / 3 need not be 1/3 in floating point
        assert scores["s"]["q1", "RR"] == 1 / 3
        assert spread_of_means(means_by_repetition(scores, "s", "RR")) == 0.0
        assert scores_repeat(scores, "s")
        assert not scores_repeat(repeated((1, 1), (1, 2)), "s")

    def test_of_one_run_no_spread_is_known(self):
        assert math.isnan(spread_of_means([0.5]))

    def test_weights_count_in_the_means_of_repetitions(self):
        # RR of q1 counts three times as much: run 1 (3 * 1 + 1/2) / 4, run 2 (3 * 1/2 + 1) / 4
        queries = {"q1": {"traffic": 3}, "q2": {"traffic": 1}}
        each = [
            rs.evaluate(QRELS, {"s": run_with(*ranks)}, "RR", queries=queries, weights="traffic")
            for ranks in ((1, 2), (2, 1))
        ]
        scores = with_repetitions(each[0], {"s": [each[1]["s"]]})
        assert means_by_repetition(scores, "s", "RR") == pytest.approx((7 / 8, 5 / 8))
        assert scores["s"].mean()["RR"].value == pytest.approx(6 / 8)


class TestWhatIsMissing:
    def test_a_score_is_undefined_where_one_repetition_has_none(self):
        first = rs.evaluate(QRELS, {"s": run_with(1, 2)}, "FirstRel")["s"]
        with pytest.warns(UserWarning, match="FirstRel is undefined for 1 of 2"):
            second = rs.evaluate(QRELS, {"s": {"q1": ["x1"], "q2": ranking("q2", 4)}}, "FirstRel")["s"]
        mean = mean_scores([first, second])
        assert math.isnan(mean["q1", "FirstRel"]), "it was found in one of two, and 1 would flatter"
        assert mean["q2", "FirstRel"] == 3.0
        assert (mean.aggregate_of("FirstRel").n, mean.aggregate_of("FirstRel").left_out) == (1, 1)

    def test_a_query_counts_as_answered_where_each_run_answers_it(self):
        first = rs.evaluate(QRELS, {"s": run_with(1, 1)}, "RR")["s"]
        with pytest.warns(UserWarning, match="does not answer 1 of 2"):
            second = rs.evaluate(QRELS, {"s": {"q1": ranking("q1", 1)}}, "RR")["s"]
        mean = mean_scores([first, second])
        assert mean.answered.tolist() == [True, False]
        assert mean.counts.missing == 1
        assert mean["q2", "RR"] == 0.5

    def test_runs_that_were_not_asked_the_same_are_refused(self):
        first = rs.evaluate(QRELS, {"s": run_with(1, 1)}, "RR")["s"]
        other = rs.evaluate({"q1": {"r1": 1}}, {"s": run_with(1, 1)}, "RR")["s"]
        with pytest.raises(InputError, match="not scored on the same queries"):
            mean_scores([first, other])


class TestStored:
    def test_they_are_read_back_equal(self):
        scores = repeated((1, 2), (2, 1), (4, 1), measures="RR P@1")
        again = rs.Scores.from_json(scores.to_json())
        assert again == scores
        assert [run["q1", "RR"] for run in again.repetitions["s"]] == [1.0, 0.5, 0.25]

    def test_some_measures_and_systems_keep_theirs(self):
        scores = repeated((1, 2), (2, 1), measures="RR P@1").only("s", measures="P@1")
        assert [run.measures for run in scores.repetitions["s"]] == [("P@1",), ("P@1",)]
        assert np.array_equal(scores.repetitions["s"][1].values, [[0.0], [1.0]])
