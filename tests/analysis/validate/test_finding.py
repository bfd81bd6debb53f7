"""Malformed lines, and the words in which findings are put."""

from __future__ import annotations

import pytest

from rankscope.align.finding import percent, quote_id
from rankscope.analysis.validate import malformed_lines
from rankscope.errors import BadLine


def test_malformed_lines():
    bad = [BadLine("run.txt", n, f"line {n}", "5 fields where 6 are needed") for n in range(1, 6)]
    (finding,) = malformed_lines("run.txt", bad)
    assert (finding.level, finding.message) == ("error", "malformed lines, left out here: 5")
    assert finding.examples[0] == 'run.txt:1: 5 fields where 6 are needed: "line 1"'
    assert len(finding.examples) == 3
    assert not list(malformed_lines("run.txt", []))


def test_at_most_three_examples(found, make_run):
    run = make_run([("q1", f"d{i % 5}", i) for i in range(10)])
    assert len(found("duplicate_docs", run=run).examples) == 3


@pytest.mark.parametrize(
    ("n", "total", "expected"),
    [(0, 7, "0.0%"), (1, 10_000, "under 0.1%"), (1, 8, "12.5%"), (9_999, 10_000, "over 99.9%"), (3, 3, "100.0%")],
)
def test_percent(n, total, expected):
    assert percent(n, total) == expected


def test_what_cannot_be_seen_is_escaped():
    assert (quote_id("ä"), quote_id("a\u200bb"), quote_id("\udce4")) == ('"ä"', r"'a\u200bb'", r"'\udce4'")
