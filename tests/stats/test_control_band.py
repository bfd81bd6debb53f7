import numpy as np
import pytest

from rankscope.errors import OptionError
from rankscope.stats.control_band import control_band

# By hand: sorted 0.37 0.38 0.39 0.40 0.40 0.41 0.41 0.42 0.43 0.60, median (0.40 + 0.41) / 2 = 0.405; distances, sorted:
# 0.005 0.005 0.005 0.005 0.015 0.015 0.025 0.025 0.035 0.195, so MAD = 0.015; 3 * 1.4826 * 0.015 = 0.066717.
TEN = [0.41, 0.39, 0.40, 0.42, 0.60, 0.38, 0.40, 0.43, 0.37, 0.41]


def test_band_by_hand():
    band = control_band(np.array(TEN))
    assert band.n == 10
    assert band.median == pytest.approx(0.405, abs=1e-12)
    assert band.mad == pytest.approx(0.015, abs=1e-12)
    assert band.low == pytest.approx(0.338283, abs=1e-9)
    assert band.high == pytest.approx(0.471717, abs=1e-9)


def test_mad_is_that_of_scipy_for_normal_values():
    from scipy.stats import median_abs_deviation

    values = np.random.default_rng(5).normal(0.4, 0.02, 10)
    band = control_band(values)
    wide = 3 * 1.4826 * median_abs_deviation(values)
    assert (band.low, band.high) == (pytest.approx(np.median(values) - wide), pytest.approx(np.median(values) + wide))


def test_only_the_last_ten_count():
    assert control_band(np.array([9.0, 9.0, 9.0, *TEN])) == control_band(np.array(TEN))


def test_fewer_than_five_runs_make_no_band():
    assert control_band(np.array([0.4, 0.5, 0.4, 0.5])) is None
    assert control_band(np.array([0.4, 0.5, 0.4, 0.5, 0.4])).n == 5


@pytest.mark.parametrize(
    ("value", "side"),
    [(0.3382, "worse"), (0.3383, "inside"), (0.4717, "inside"), (0.4718, "better"), (0.405, "inside")],
)
def test_what_lies_outside(value, side):
    assert control_band(np.array(TEN)).side(value, margin=0.01) == side


def test_lower_is_better_turns_the_sides():
    band = control_band(np.array([30.0, 31, 29, 30, 32]))
    assert band.side(60, lower_is_better=True) == "worse"
    assert band.side(3, lower_is_better=True) == "better"


class TestRunsThatAreAllAlike:
    band = control_band(np.full(7, 0.4))

    def test_the_band_is_one_value(self):
        assert (self.band.mad, self.band.low, self.band.high) == (0, 0.4, 0.4)

    @pytest.mark.parametrize(
        ("value", "side"), [(0.391, "negligible"), (0.4, "inside"), (0.389, "worse"), (0.411, "better")]
    )
    def test_with_a_margin_a_change_has_to_exceed_it(self, value, side):
        assert self.band.side(value, margin=0.01) == side

    @pytest.mark.parametrize(("value", "side"), [(0.4 - 1e-15, "inside"), (0.3999, "worse"), (0.4001, "better")])
    def test_without_one_any_change_beyond_rounding_counts(self, value, side):
        assert self.band.side(value) == side


def test_a_hair_beyond_a_narrow_band_is_no_drop_where_it_is_below_the_margin():
    band = control_band(np.array([0.4000, 0.4001, 0.4002, 0.4001, 0.4000]))
    assert band.high < 0.401
    assert band.side(0.395, margin=0.01) == "negligible"


def test_an_undefined_mean_is_refused():
    with pytest.raises(OptionError, match="finite"):
        control_band(np.array([0.4, np.nan, 0.4, 0.5, 0.4]))
