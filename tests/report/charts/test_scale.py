"""Ticks are round, cover the data and can be told apart; scales are even."""

import math

from hypothesis import assume, given
from hypothesis import strategies as st

from rankscope.report.charts.axes import Scale, linear_axis, log_axis
from rankscope.report.charts.numbers import shown

MINUS = "\N{MINUS SIGN}"


def parsed(label):
    return float(label.replace(",", "").replace(MINUS, "-"))


@given(st.lists(st.floats(-1e90, 1e90), min_size=1, max_size=5))
def test_ticks_are_round_and_cover_the_data(values):
    axis = linear_axis(values)
    step = axis.ticks[1] - axis.ticks[0]
    slack = 1e-6 * step + 1e-9 * max(map(abs, values))
    assert axis.ticks[0] <= min(values) + slack
    assert axis.ticks[-1] >= max(values) - slack
    assert 2 <= len(axis.ticks) <= 8
    spread = max(values) - min(values)
    if spread > 1e-3 * max(map(abs, values)):
        assert min(abs(step / 10 ** math.floor(math.log10(step) + 1e-6) - nice) for nice in (1, 2, 5)) < 1e-6


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=5))
def test_labels_say_the_ticks_and_differ(values):
    axis = linear_axis(values)
    step = axis.ticks[1] - axis.ticks[0]
    assert len(set(axis.labels)) == len(axis.labels)
    assert all(abs(parsed(label) - tick) < step / 2 for label, tick in zip(axis.labels, axis.ticks, strict=True))


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=5))
def test_logarithmic_ticks_cover_the_data(values):
    axis = log_axis(values)
    assert axis.ticks[0] <= min(values) * 1.0001
    assert axis.ticks[-1] >= max(values) * 0.9999
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert len(axis.ticks) <= 12
    mantissas = [tick / 10 ** math.floor(math.log10(tick) + 1e-9) for tick in axis.ticks]
    assert all(min(abs(m - nice) for nice in (1, 2, 5)) < 1e-6 for m in mantissas)


def test_known_ticks():
    # by hand: about five steps of 1, 2 or 5 times a power of ten
    assert linear_axis([0, 1]).labels == ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")
    assert linear_axis([-0.07, 0.11]).labels == (f"{MINUS}0.10", f"{MINUS}0.05", "0.00", "0.05", "0.10", "0.15")
    assert linear_axis([0, 4300]).labels == ("0", "1,000", "2,000", "3,000", "4,000", "5,000")
    assert linear_axis([0, 2], whole=True).labels == ("0", "1", "2")
    assert linear_axis([0, 3], whole=True).labels == ("0", "1", "2", "3")
    assert log_axis([1, 1000]).labels == ("1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000")
    assert log_axis([3, 40]).labels == ("2", "5", "10", "20", "50")
    assert log_axis([0.003, 2000]).labels == ("0.002", "0.01", "0.1", "1", "10", "100", "1,000", "2,000")


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1))
def test_a_linear_scale_is_even(low, high, share):
    assume(high - low > 1e-3)
    place = Scale(low, high, 40, 700)(low + share * (high - low))
    assert math.isclose(place, 40 + share * 660, abs_tol=1e-4)


@given(st.floats(1e-6, 1e6))
def test_a_logarithmic_scale_is_even_in_powers_of_ten(value):
    place = Scale(1e-6, 1e6, 500, 20, log=True)(value)
    assert math.isclose(place, 500 - 40 * (math.log10(value) + 6), rel_tol=1e-9, abs_tol=1e-6)


def test_what_lies_outside_stands_at_the_edge():
    assert Scale(0, 1, 10, 20)(math.inf) == 20
    assert Scale(0, 1, 10, 20)(-5) == 10
    assert Scale(1, 10, 10, 20, log=True)(0) == 10


def test_numbers_in_words():
    # by hand
    assert [shown(v) for v in (0.51234, 12.345, 4321.9, 1234567.0, 0.0, -0.0, 0.00012345, 1e-9)] == [
        "0.512", "12.3", "4,322", "1.23e6", "0.000", "0.000", "0.00012", f"1.00e{MINUS}9",
    ]  # fmt: skip
    assert shown(-0.25) == f"{MINUS}0.250"
    assert shown(math.nan) == "undefined"
