"""The interval of one system's mean, against scipy, statsmodels and hand calculation, and by simulation."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from rankscope.errors import OptionError
from rankscope.stats.interval import inside_range, mean_and_error, mean_interval, percent

RNG = np.random.default_rng(1)
MIDDLE = RNG.uniform(0.2, 0.8, 30)
FEW_HITS = np.r_[np.zeros(22), 0.1, 0.9, 0.4]
UNIT = (0, 1)


def ends(interval):
    return [interval.low, interval.high]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_in_the_middle_it_is_students(level):
    found = mean_interval(MIDDLE, level=level, range=UNIT)
    wanted = stats.t.interval(level, len(MIDDLE) - 1, MIDDLE.mean(), stats.sem(MIDDLE))
    assert ends(found) == pytest.approx(wanted)
    assert (found.method, found.level) == ("t", level)


@pytest.mark.parametrize(("successes", "n"), [(1, 12), (7, 12), (11, 12), (499, 500)])
def test_zeros_and_ones_have_wilsons(successes, n):
    values = np.r_[np.ones(successes), np.zeros(n - successes)]
    found = mean_interval(values, range=UNIT)
    assert ends(found) == pytest.approx(proportion_confint(successes, n, method="wilson"))
    assert found.method == "Wilson"


def test_wilsons_is_for_independent_queries_that_count_the_same():
    values = np.array([0.0, 1, 1, 0, 1, 1, 0, 1])
    assert mean_interval(values, range=UNIT, weights=np.arange(1.0, 9)).method != "Wilson"
    assert mean_interval(values, range=UNIT, clusters=np.array(list("aabbccdd"))).method != "Wilson"
    assert mean_interval(values, range=(0, 2)).method == "t"


def test_clusters():
    groups = np.arange(30) // 4
    found = mean_interval(MIDDLE, range=UNIT, clusters=groups)
    fit = sm.OLS(MIDDLE, np.ones(30)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert ends(found) == pytest.approx(fit.conf_int()[0])
    assert found.method == "cluster t"


def test_weights():
    """The linearised error of a weighted mean is HC1's of a weighted regression on nothing but a constant."""
    weights = RNG.integers(1, 9, 30).astype(float)
    found = mean_interval(MIDDLE, range=UNIT, weights=weights)
    fit = sm.WLS(MIDDLE, np.ones(30), weights=weights).fit(cov_type="HC1", use_t=True)
    assert ends(found) == pytest.approx(fit.conf_int()[0])
    assert found.method == "t"


def test_weights_and_clusters():
    weights, groups = RNG.integers(1, 9, 30).astype(float), np.arange(30) // 4
    found = mean_interval(MIDDLE, weights=weights, clusters=groups)
    model = sm.WLS(MIDDLE, np.ones(30), weights=weights)
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert ends(found) == pytest.approx(fit.conf_int()[0])


def test_a_weight_of_0_is_as_if_the_query_were_not_there():
    weights = np.r_[np.ones(20), np.zeros(10)]
    assert mean_interval(MIDDLE, weights=weights) == mean_interval(MIDDLE[:20], weights=np.ones(20))
    assert ends(mean_interval(MIDDLE[:20], weights=np.full(20, 3.0))) == pytest.approx(ends(mean_interval(MIDDLE[:20])))


def test_by_hand():
    """Mean 0.1, s = 0.2, s/√4 = 0.1; t(3) at 97.5 % is 3.1824, so t gives -0.218 to 0.418.

    On the logit scale: ln(0.1/0.9) ± 3.1824·0.1/(0.1·0.9) = -2.1972 ± 3.5360.
    """
    found = mean_interval(np.array([0, 0, 0, 0.4]), range=UNIT)
    low, high = (1 / (1 + math.exp(-x)) for x in (-2.1972246 - 3.5360515, -2.1972246 + 3.5360515))
    assert ends(found) == pytest.approx([low, high], rel=1e-6)
    assert found.method == "logit-t"
    twice = mean_interval(np.array([0, 0, 0, 0.8]), range=(0, 2))
    assert ends(twice) == pytest.approx([2 * low, 2 * high], rel=1e-6)
    mirrored = mean_interval(1 - np.array([0, 0, 0, 0.4]), range=UNIT)
    assert ends(mirrored) == pytest.approx([1 - high, 1 - low], rel=1e-6)


def robust(values, family):
    """Return the interval of the constant of a model with a link, its error being robust to the family's variance."""
    n = len(values)
    fit = sm.GLM(values, np.ones(n), family=family).fit(cov_type="HC0")
    half = stats.t.ppf(0.975, n - 1) * fit.bse[0] * math.sqrt(n / (n - 1))
    return [fit.params[0] - half, fit.params[0] + half]


def test_logit_t_is_the_robust_interval_of_a_logit_model():
    found = mean_interval(FEW_HITS, range=UNIT)
    assert found.method == "logit-t"
    assert ends(found) == pytest.approx(expit(robust(FEW_HITS, sm.families.Binomial())))


def test_log_t_is_the_robust_interval_of_a_log_model():
    days = 300 * FEW_HITS
    found = mean_interval(days, range=(0, math.inf))
    assert found.method == "log-t"
    assert ends(found) == pytest.approx(np.exp(robust(days, sm.families.Poisson())))
    ranks = mean_interval(1 + days, range=(1, math.inf))
    assert ends(ranks) == pytest.approx([1 + end for end in ends(found)])
    losses = mean_interval(-days, range=(-math.inf, 0))
    assert ends(losses) == pytest.approx([-end for end in reversed(ends(found))])


def test_endless_ranges_keep_students():
    found = mean_interval(FEW_HITS, range=(-math.inf, math.inf))
    assert (found.method, found.low < 0) == ("t", True)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_where_every_query_scores_the_same_there_is_none(value):
    assert mean_interval(np.full(20, value), range=UNIT) is None
    assert mean_interval(np.array([0.1 + 0.2, 0.3, 0.3]), range=UNIT) is None  # the same up to rounding


@pytest.mark.parametrize("ends", [(1.0, math.inf), (-math.inf, -1.0)])
def test_every_end_is_a_number_that_can_be_written(ends):
    side = 1.0 if ends[0] == 1.0 else -1.0
    found = mean_interval(side * np.array([1.5, 1.5, 1e100]), level=0.9999, range=ends)
    assert found.method == "log-t"
    assert np.isfinite([found.low, found.high]).all()
    assert found.low < side * 3e99 < found.high


def test_two_ranks_say_nothing_of_where_their_mean_may_lie():
    """By hand: t of two is 12.7, so that log-t of the ranks 1 and 2 would reach 1 + 0.5 · exp(12.7) = 164895."""
    ranks = np.array([1.0, 2.0])
    assert mean_interval(ranks, range=(1, math.inf)) is None
    assert mean_interval(-ranks, range=(-math.inf, -1)) is None
    four = np.array([1.0, 1.0, 2.0, 2.0])
    assert mean_interval(four, range=(1, math.inf), clusters=np.array([0, 0, 1, 1])) is None
    assert mean_interval(np.array([1.0, 1.0, 2.0]), range=(1, math.inf)).method == "log-t"
    assert mean_interval(np.array([1000.0, 1001.0]), range=(1, math.inf)).method == "t"  # which stays within the range


def test_too_few_units_have_none():
    assert mean_interval(np.array([0.3]), range=UNIT) is None
    assert mean_interval(np.array([]), range=UNIT) is None
    assert mean_interval(MIDDLE, clusters=np.zeros(30)) is None
    assert mean_interval(MIDDLE, weights=np.r_[1.0, np.zeros(29)]) is None
    assert mean_interval(np.array([0.2, 0.4, 0.4, 0.2]), clusters=np.array(list("aabb"))) is None  # clusters agree


def test_scores_beyond_the_range_show_that_it_is_not_theirs():
    assert mean_interval(np.array([0.0, 0, 0, 40]), range=UNIT).method == "t"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1.0}, "level = 1.0 is not between 0 and 1"),
        ({"weights": np.ones(3)}, "30 scores need as many weights"),
        ({"weights": np.r_[np.ones(29), -1]}, "numbers from 0 up"),
        ({"weights": np.r_[np.ones(29), math.inf]}, "numbers from 0 up"),
        ({"clusters": np.ones(3)}, "3 cluster labels for 30 queries"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(OptionError, match=words):
        mean_interval(MIDDLE, **options)


def test_undefined_scores_are_refused():
    with pytest.raises(OptionError, match="leave undefined scores out first"):
        mean_interval(np.array([0.1, math.nan]))


RANGES = st.sampled_from([(0, 1), (0, 2), (0, math.inf), (1, math.inf), (-math.inf, 1), (-math.inf, math.inf)])


@given(
    shares=st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), min_size=2, max_size=12),
    range_=RANGES,
    level=st.sampled_from([0.5, 0.95, 0.9999]),
    weighted=st.booleans(),
    n_clusters=st.sampled_from([None, 2, 4]),
)
def test_it_lies_within_the_range_and_holds_the_mean(shares, range_, level, weighted, n_clusters):
    low, high = range_
    start = low if math.isfinite(low) else high - 1 if math.isfinite(high) else -0.5
    values = start + np.array(shares) * (high - low if math.isfinite(high - low) else 1)
    values = np.clip(values, low, high)
    weights = np.arange(1.0, len(values) + 1) if weighted else None
    clusters = None if n_clusters is None else np.arange(len(values)) % n_clusters
    found = mean_interval(values, level=level, range=range_, weights=weights, clusters=clusters)
    assume(found is not None)
    mean = np.average(values, weights=weights)
    assert low <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= high
    assert found.low < found.high


def test_levels_are_named():
    assert [percent(level) for level in (0.95, 0.9, 0.999, 1 - 0.05, 0.07)] == ["95%", "90%", "99.9%", "95%", "7%"]


N_SIMULATED = 2_000


def some_hits(rng, n):
    """Return queries of which a tenth find anything at all."""
    return np.where(rng.random(n) < 0.1, rng.beta(2, 2, n), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [25, 100])
@pytest.mark.parametrize(("a", "b"), [(0.5, 5), (5, 0.5), (20, 0.4)], ids=["low", "high", "near 1"])
def test_logit_t_covers_the_mean(a, b, n):
    rng = np.random.default_rng([20, n])
    covered = 0
    for values in rng.beta(a, b, (N_SIMULATED, n)):
        mean, error, df = mean_and_error(values, None, None)
        covered += a / (a + b) in inside_range(mean, stats.t.ppf(0.975, df) * error, UNIT, 0.95)
    assert covered / N_SIMULATED >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("n", [25, 100])
def test_the_interval_shown_covers_the_mean_of_scores_that_are_mostly_0(n):
    rng = np.random.default_rng([21, n])
    found = [mean_interval(some_hits(rng, n), range=UNIT) for _ in range(N_SIMULATED)]
    shown = [interval for interval in found if interval is not None]
    assert {"logit-t"} <= {interval.method for interval in shown}
    assert len(shown) >= 0.9 * N_SIMULATED  # at n = 25, 0.9^25 = 7 % have no hit
    assert sum(0.05 in interval for interval in shown) / len(shown) >= 0.90


def test_scores_that_differ_by_rounding_alone_have_no_interval():
    assert mean_interval(np.array([0.1, 0.1 + 5e-13, 0.1]), range=UNIT) is None
    assert mean_interval(np.array([0.1, 0.1 + 5e-12, 0.1]), range=UNIT) is not None
    assert mean_interval(np.array([1e6, 1e6 + 5e-7, 1e6]), range=(0, math.inf)) is None


def test_one_unit_has_a_mean_but_neither_error_nor_degrees_of_freedom():
    mean, error, df = mean_and_error(np.array([0.2, 0.6]), np.array(["a", "a"]), None)
    assert (mean, df) == (pytest.approx(0.4), 0)
    assert math.isnan(error)


@pytest.mark.parametrize("n", [2, 4])
def test_there_are_as_many_weights_as_scores(n):
    with pytest.raises(OptionError, match="3 scores need as many weights"):
        mean_interval(np.array([0.2, 0.6, 0.4]), range=UNIT, weights=np.ones(n))
