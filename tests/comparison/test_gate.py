"""The gate: exit codes and test cases for every verdict, from one object."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rankscope.align.hits import Counts
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.gate import GatePolicy, gate_of
from rankscope.errors import OptionError
from rankscope.measures.scores import QrelsInfo, RunScores, Scores
from rankscope.records import replace
from rankscope.report.render.junit import cases, to_junit

STEADY = np.random.default_rng(0).normal(0, 0.01, 40)
STEADY -= STEADY.mean()


def scores_of(columns, *, answered=None):
    runs = []
    for name, column in columns.items():
        values = np.asarray(column, dtype=float)[:, None]
        yes = np.ones(len(values), dtype=bool) if answered is None or name not in answered else answered[name]
        runs.append(
            RunScores(
                name=name, query_ids=tuple(f"q{i}" for i in range(len(values))), measures=("nDCG@10",), values=values,
                undefined=np.isnan(values), answered=yes, counts=Counts(len(values), int((~yes).sum()), 0, 0, 0, 0),
                aggregates=("mean",), lower_is_better=frozenset(),
            )
        )  # fmt: skip
    return Scores(tuple(runs), qrels=QrelsInfo(len(values)), policies={})


def compared(shift, *, noise=1.0, n=40, **options):
    d = STEADY[:n] * noise + shift
    return compare_scores(scores_of({"old": np.full(n, 0.5), "new": 0.5 + d}), n_resamples=999, **options)


def with_verdict(comparison, code):
    """Return the comparison with another verdict, as evidence that scores alone do not have would make it."""
    group = comparison.groups[0]
    item = group.compared[0]
    changed = replace(item, verdict=replace(item.verdict, code=code))
    return replace(comparison, groups=(replace(group, comparisons=(changed,)),))


@pytest.mark.parametrize(
    ("make", "outcome", "codes"),
    [
        (lambda: compared(-0.1), "failed", (1, 1, 1)),
        (lambda: compared(-0.012), "failed", (1, 1, 1)),
        (lambda: compared(0.0), "passed", (0, 0, 0)),
        (lambda: compared(0.0, noise=0), "passed", (0, 0, 0)),
        (lambda: compared(0.1), "passed", (0, 0, 0)),
        (lambda: compared(0.012), "passed", (0, 0, 0)),
        (lambda: compared(-0.02, noise=20), "inconclusive", (0, 1, 0)),
        (lambda: with_verdict(compared(-0.1), "not_safe"), "failed", (1, 1, 1)),
        (lambda: with_verdict(compared(0.1), "not_safe"), "inconclusive", (0, 1, 0)),
        (lambda: compared(-0.1, n=5), "failed", (1, 1, 1)),
        (lambda: compared(0.1, n=5), "inconclusive", (0, 1, 0)),
        (lambda: compared(0.0, problems={"new": "ids match nothing"}), "error", (2, 2, 2)),
    ],
    ids=[
        "worse", "probably worse", "same", "no score differs", "better", "probably better", "cannot tell",
        "not safe, lower", "not safe, higher", "too few, lower", "too few, higher", "not comparable",
    ],
)  # fmt: skip
def test_every_verdict_has_its_outcome(make, outcome, codes):
    comparison = make()
    for word, code in zip(("warn", "fail", "pass"), codes, strict=True):
        gate = gate_of(comparison, GatePolicy(on_inconclusive=word))
        assert (gate.outcome, gate.exit_code) == (outcome, code)
        suite = ET.fromstring(to_junit(cases(gate))).find("testsuite")
        counted = {name: int(suite.get(name)) for name in ("failures", "errors", "skipped")}
        assert counted == {"failures": int(code == 1), "errors": int(code == 2), "skipped": 0}
        last = list(gate.lines())[-1]
        assert f"exit code {code}" in last


def test_without_a_margin_anything_lower_fails_where_nothing_is_safe():
    lower = with_verdict(compared(-0.001, margin=0), "not_safe")
    assert gate_of(lower, GatePolicy()).exit_code == 1
    assert gate_of(with_verdict(compared(-0.001), "not_safe"), GatePolicy()).exit_code == 0


def test_unanswered_queries_are_an_error_beyond_what_is_allowed():
    answered = np.arange(40) >= 20
    values = np.where(answered, 0.9, 0.0)
    scores = scores_of({"old": np.full(40, 0.5), "new": values}, answered={"new": answered})
    comparison = compare_scores(scores, n_resamples=999)
    gate = gate_of(comparison, GatePolicy())
    assert (gate.outcome, gate.exit_code) == ("error", 2)
    assert "new does not answer 20 of 40 queries (50%; at most 10% are allowed)" in next(iter(gate.lines()))
    assert gate_of(comparison, GatePolicy(allow_missing=0.5)).outcome != "error"


@pytest.mark.parametrize(("allowed", "is_error"), [(0.24, True), (0.25, False), (0.26, False)])
def test_scores_that_one_side_lacks_are_an_error_beyond_what_is_allowed(allowed, is_error):
    values = np.where(np.arange(40) < 10, np.nan, 0.5 + STEADY)
    scores = scores_of({"old": np.full(40, 0.5), "new": values})
    gate = gate_of(compare_scores(scores, n_resamples=999), GatePolicy(allow_missing=allowed))
    assert (gate.outcome == "error") is is_error
    assert ("on 10 of 40 queries (25%" in next(iter(gate.lines()))) is is_error


def test_non_inferior_needs_the_whole_interval():
    policy = GatePolicy(require="non-inferior")
    assert gate_of(compared(0.0), policy).exit_code == 0
    assert gate_of(compared(-0.012), policy).exit_code == 1
    assert gate_of(compared(0.0, noise=20), policy).exit_code == 1  # cannot tell is not enough
    assert gate_of(compared(-0.012, margin=0.05), policy).exit_code == 0


def test_the_worst_of_several_systems_decides():
    scores = scores_of({"old": np.full(40, 0.5), "good": 0.6 + STEADY, "bad": 0.4 + STEADY})
    gate = gate_of(compare_scores(scores, n_resamples=999), GatePolicy())
    assert [check.outcome for check in gate.checks] == ["passed", "failed"]
    assert gate.exit_code == 1
    assert list(gate.lines())[-1] == "gate: failed (1 of 2 passed), exit code 1"


def test_policies_that_make_no_sense_are_refused():
    for options in ({"on_inconclusive": "maybe"}, {"allow_missing": 1.5}, {"require": "best"}):
        with pytest.raises(OptionError, match=next(iter(options))):
            GatePolicy(**options)
    with pytest.raises(OptionError, match="needs a baseline"):
        gate_of(compared(0.1, all_pairs=True), GatePolicy())
