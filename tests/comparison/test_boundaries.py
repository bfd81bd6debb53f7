"""The numbers at which answers change, each met exactly: one query less or more would be another answer."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

import rankscope as rs
from rankscope.align.hits import Counts
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.groups import SMALLEST_SLICE
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.measures.scores import QrelsInfo, RunScores, Scores

NOISE = np.random.default_rng(11).normal(0, 0.02, 60)


def scores_of(columns, *, measure="nDCG@10", lower=False):
    """Return scores of several systems, as another tool could have computed them."""
    runs = []
    for name, column in columns.items():
        values = np.asarray(column, dtype=float)[:, None]
        n = len(values)
        runs.append(
            RunScores(
                name=name, query_ids=tuple(f"q{i:03}" for i in range(n)), measures=(measure,), values=values,
                undefined=np.isnan(values), answered=np.ones(n, dtype=bool), counts=Counts(n, 0, 0, 0, 0, 0),
                aggregates=("mean",), lower_is_better=frozenset([measure] if lower else []),
            )
        )  # fmt: skip
    return Scores(tuple(runs), qrels=QrelsInfo(n), policies={})


def only(comparison):
    (pair,) = comparison
    return pair


@pytest.mark.parametrize(("n", "code"), [(MIN_UNITS - 1, "too_few"), (MIN_UNITS, "better")])
def test_exactly_enough_queries_are_enough(n, code):
    found = only(compare_scores(scores_of({"a": np.full(n, 0.3), "b": 0.6 + NOISE[:n]})))
    assert MIN_UNITS == 10
    assert found.verdict.code == code


@pytest.mark.parametrize("n_few", [SMALLEST_SLICE - 1, SMALLEST_SLICE])
def test_exactly_enough_queries_make_a_stratum(n_few):
    kinds = {f"q{i:03}": {"kind": "rare" if i < n_few else "usual"} for i in range(40)}
    found = only(compare_scores(scores_of({"a": np.full(40, 0.3), "b": 0.4 + NOISE[:40]}), queries=kinds))
    assert SMALLEST_SLICE == 5
    assert [part.value for part in found.strata] == (["rare", "usual"] if n_few == 5 else ["usual"])
    asked = only(compare_scores(scores_of({"a": np.full(40, 0.3), "b": 0.4 + NOISE[:40]}), queries=kinds, by="kind"))
    assert [part.value for part in asked.strata] == ["rare", "usual"]


def test_where_lower_is_better_the_worst_queries_are_those_that_rose():
    first = np.full(20, 5.0)
    second = first + np.array([3, 2, 1, -4, -2, *[-0.5] * 15])
    found = compare_scores(scores_of({"first": first, "second": second}, measure="latency", lower=True), all_pairs=True)
    pair = only(found)
    assert [change.query for change in pair.worst] == ["q000", "q001", "q002"]
    assert [change.delta for change in pair.worst] == [3, 2, 1]
    assert [change.query for change in pair.best][:2] == ["q003", "q004"]
    assert [row.system for row in found.groups[0].leaderboard] == ["second", "first"]  # 4.6 before 5
    higher = compare_scores(scores_of({"first": first, "second": second}, measure="speed"), all_pairs=True)
    assert [change.query for change in only(higher).worst][:2] == ["q003", "q004"]
    assert [row.system for row in higher.groups[0].leaderboard] == ["first", "second"]


def test_the_judged_share_is_that_of_the_ranks_that_the_measure_sees():
    # every run returns 20 docs: of the first 5 the first run has 3 judged, the second 4; deeper docs are all unjudged
    queries = [f"q{i}" for i in range(12)]
    qrels = {query: {"d0": 1, "d1": 0, "d2": 1, "d3": 0} for query in queries}
    first = {query: ["d0", "x0", "d1", "x1", "d2", *(f"x{i}" for i in range(2, 17))] for query in queries}
    second = {query: ["d0", "d1", "d2", "d3", *(f"y{i}" for i in range(16))] for query in queries}
    pair = only(rs.compare(qrels, {"first": first, "second": second}, "P@5"))
    assert (pair.judged.a, pair.judged.b, pair.judged.depth) == (pytest.approx(3 / 5), pytest.approx(4 / 5), 5)
    deeper = only(rs.compare(qrels, {"first": first, "second": second}, "P@10"))
    assert (deeper.judged.a, deeper.judged.b) == (pytest.approx(3 / 10), pytest.approx(4 / 10))
    whole = only(rs.compare(qrels, {"first": first, "second": second}, "AP"))
    assert (whole.judged.a, whole.judged.b) == (pytest.approx(3 / 20), pytest.approx(4 / 20))


def languages(n):
    return {f"q{i:03}": {"language": "de" if i < n // 2 else "en"} for i in range(n)}


def test_the_groups_of_a_comparison_are_one_family():
    scores = scores_of({"a": np.full(60, 0.3), "b": 0.305 + NOISE})
    corrected = list(compare_scores(scores, queries=languages(60), correction="bonferroni"))
    assert [pair.group for pair in corrected] == ["de", "en"]
    for pair, part in zip(corrected, (NOISE[:30], NOISE[30:]), strict=True):
        theirs = scipy_stats.ttest_1samp(part + 0.005, 0)
        assert pair.p.family_size == 2
        assert pair.p.alone_t == pytest.approx(theirs.pvalue)
        assert pair.p.adjusted == pytest.approx(min(1, 2 * theirs.pvalue))
        interval = scipy_stats.ttest_1samp(part + 0.005, 0).confidence_interval(1 - 0.05 / 2)
        assert (pair.ci.low, pair.ci.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    joint = list(compare_scores(scores, queries=languages(60)))
    alone = list(compare_scores(scores, queries=languages(60), correction="none"))
    for together, single in zip(joint, alone, strict=True):
        assert together.mde.critical > single.mde.critical
        assert together.p.adjusted >= together.p.alone_permutation


@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_intervals_are_at_the_levels_that_they_name(alpha):
    """Bonferroni's intervals of one pair are Student's: at 1 - alpha, and at 1 - 2 alpha for being small."""
    found = compare_scores(
        scores_of({"a": np.full(60, 0.3), "b": 0.305 + NOISE}), correction="bonferroni", alpha=alpha, margin=0.05
    )
    pair, test = only(found), scipy_stats.ttest_1samp(NOISE + 0.005, 0)
    for ci, level in ((pair.ci, 1 - alpha), (pair.ci_check.t, 1 - alpha), (pair.ci_equivalence, 1 - 2 * alpha)):
        theirs = test.confidence_interval(level)
        assert ci.level == pytest.approx(level)
        assert (ci.low, ci.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    row = found.groups[0].leaderboard[0]
    assert row.ci.level == pytest.approx(1 - alpha)
    theirs = scipy_stats.ttest_1samp(0.305 + NOISE, 0).confidence_interval(1 - alpha)
    assert (row.ci.low, row.ci.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


def test_small_is_what_the_narrower_interval_shows():
    """At level 1 - 2 alpha the interval fits into the margin, at 1 - alpha it does not."""
    narrow = scipy_stats.ttest_1samp(NOISE, 0).confidence_interval(0.90)
    wide = scipy_stats.ttest_1samp(NOISE, 0).confidence_interval(0.95)
    reach = [max(-ci.low, ci.high) for ci in (narrow, wide)]
    scores = scores_of({"a": np.full(60, 0.3), "b": 0.3 + NOISE})
    between = only(compare_scores(scores, correction="bonferroni", margin=sum(reach) / 2))
    assert (between.verdict.code, between.tost) == ("same", True)
    below = only(compare_scores(scores, correction="bonferroni", margin=reach[0] * 0.999))
    assert (below.verdict.code, below.tost) == ("cannot_tell", False)
