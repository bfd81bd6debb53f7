"""The ratio of latencies: checked by hand, against scipy's own bootstrap, and by how often its interval holds the truth."""

import numpy as np
import pytest
from scipy import stats

from rankscope.errors import OptionError
from rankscope.stats.latency import latency_ratio


def times(values):
    return {f"q{i:03}": float(value) for i, value in enumerate(values)}


def test_percentiles_by_hand():
    """Of 1, 2, …, 21 the 95th percentile is at place 0.95 * 20 = 19, which is 20; of twice as many it is 40."""
    found = latency_ratio(times(range(1, 22)), times(range(2, 43, 2)), n_resamples=199)
    assert (found.n, found.old_ms, found.new_ms, found.ratio) == (21, 20.0, 40.0, 2.0)
    assert (found.interval.low, found.interval.high) == (2.0, 2.0)  # every query takes exactly twice as long


def test_only_queries_that_both_have_count():
    old = {"a": 1.0, "b": 2.0, "only old": 1000.0}
    found = latency_ratio(old, {"b": 4.0, "a": 1.0, "only new": 9.0}, n_resamples=99)
    assert found.n == 2
    assert found.old_ms == pytest.approx(1.95)
    assert found.new_ms == pytest.approx(3.85)


def test_the_interval_is_the_bca_interval_of_scipy():
    rng = np.random.default_rng(1)
    old = rng.lognormal(3, 0.4, 80)
    new = old * rng.lognormal(0.3, 0.2, 80)
    found = latency_ratio(times(old), times(new))

    def ratio(after, before, axis):
        return np.percentile(after, 95, axis=axis) / np.percentile(before, 95, axis=axis)

    oracle = stats.bootstrap(
        (new, old), ratio, paired=True, vectorized=True, n_resamples=9_999, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    # the ends are quantiles of other random resamples
    assert found.interval.low == pytest.approx(oracle.low, rel=0.03)
    assert found.interval.high == pytest.approx(oracle.high, rel=0.03)
    assert found.ratio == pytest.approx(ratio(new, old, 0))


def test_the_same_times_give_the_same_numbers():
    rng = np.random.default_rng(2)
    old, new = times(rng.lognormal(2, 0.5, 40)), times(rng.lognormal(2, 0.5, 40))
    assert latency_ratio(old, new, n_resamples=999) == latency_ratio(old, new, n_resamples=999)
    assert latency_ratio(old, new, n_resamples=999, seed=1) != latency_ratio(old, new, n_resamples=999)


def test_systems_of_the_same_speed_are_hardly_ever_called_slower():
    """Of 100 pairs that differ by noise alone, the lower end exceeds 1.2 in hardly any; the interval covers 1 in most."""
    rng = np.random.default_rng(3)
    low, covered = [], 0
    for _ in range(100):
        base = rng.lognormal(3, 0.5, 100)
        noise = rng.lognormal(0, 0.2, (2, 100))
        interval = latency_ratio(times(base * noise[0]), times(base * noise[1]), n_resamples=499).interval
        low.append(interval.low)
        covered += 1.0 in interval
    assert sum(end > 1.2 for end in low) == 0
    assert covered >= 88  # 95 are expected; fewer than 88 would be seen once in 600 tries


def test_times_must_be_times():
    with pytest.raises(OptionError, match="times above 0"):
        latency_ratio({"a": 0.0}, {"a": 1.0})
    with pytest.raises(OptionError, match="times above 0"):
        latency_ratio({"a": 1.0}, {"b": 1.0})
