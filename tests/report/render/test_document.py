"""A report is data: it can be written, read back equal, and rendered elsewhere."""

import math

import pytest
from report_samples import many_systems, two_systems

from rankscope.records import from_json, to_json
from rankscope.report.document import Estimate, Report
from rankscope.report.render import FORMS, render

REPORTS = {"two": two_systems(), "many": many_systems(["a", "b_c", "d|e"])}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_read_back_as_it_was_written(name):
    report = REPORTS[name]
    again = from_json(Report, to_json(report))
    assert again == report
    assert all(render(again, form) == render(report, form) for form in FORMS)


def test_an_estimate_without_an_interval_can_be_written():
    estimate = Estimate("a", 0.1, math.nan, math.inf, "+0.100")
    assert (estimate.low, estimate.high, estimate.numbers) == (None, None, None)
    assert from_json(Estimate, to_json(estimate)) == estimate
    assert Estimate("a", 0.1, 0.0, 0.2, "").numbers == (0.0, 0.1, 0.2)
