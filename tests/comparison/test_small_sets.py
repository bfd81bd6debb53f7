"""Three to nine queries: no verdict and no interval that cannot be, but who won where and the exact sign test."""

import itertools
import json
import re
from math import comb

import numpy as np
import pytest

import rankscope as rs
from rankscope.comparison.gate import GatePolicy, gate_of
from rankscope.measures.score_files import ScoreFile, as_scores
from rankscope.report.comparison import report_of
from rankscope.report.comparison_json import comparison_table
from rankscope.report.evaluation_report import report_of as evaluation_report_of
from rankscope.report.render import render
from rankscope.report.render.junit import cases
from rankscope.report.table import to_csv

NUMBER = r"[-+\N{MINUS SIGN}]?\d+\.\d+"
INTERVALS = (re.compile(rf"\\?\[({NUMBER}), ?({NUMBER})\\?\]"), re.compile(rf"CI ({NUMBER}) to ({NUMBER})"))
FORMS = ("text", "markdown", "html", "latex")
KINDS = {
    "anything": lambda rng, n: rng.random(n),
    "found or not": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "near the ends": lambda rng, n: rng.choice([0, 1, 1, 1, 0.999, 0.001], n),
    "all the same": lambda _, n: np.full(n, 0.5),
}


def scores_of(columns, *, measure="nDCG@10", lower=False):
    """Return scores of several systems, as another tool could have computed them."""
    ids = [f"q{i:03}" for i in range(len(next(iter(columns.values()))))]
    by_system = {name: {measure: dict(zip(ids, map(float, column), strict=True))} for name, column in columns.items()}
    return as_scores(ScoreFile(by_system, lower_is_better=frozenset([measure] if lower else [])), where="here")


def only(comparison):
    (pair,) = comparison
    return pair


def rendered(report, form):
    text = render(report, form)
    return re.sub(r"<[^>]*>", " ", text) if form == "html" else text


def by_hand(wins, losses):
    """Return the p-value of the exact sign test: the tail of a fair coin, doubled."""
    n = wins + losses
    return min(1, 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n)


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", ["nDCG@10", "theirs"])
def test_no_interval_leaves_the_range_and_none_decides(n, kind, measure):
    rng = np.random.default_rng(n)
    a, b = KINDS[kind](rng, n), KINDS[kind](rng, n)
    scores = scores_of({"a": a, "b": b, "copy": a}, measure=measure)
    found = rs.compare_scores(scores, n_resamples=199)
    texts = [rendered(report, form) for report in (report_of(found), evaluation_report_of(scores)) for form in FORMS]
    for low, high in itertools.chain(*(pattern.findall(text) for pattern in INTERVALS for text in texts)):
        lowest = -1 if low[0] + high[0] != "00" and not (low[0] + high[0]).isdigit() else 0
        ends = [float(end.replace("\N{MINUS SIGN}", "-")) for end in (low, high)]
        assert lowest <= ends[0] <= ends[1] <= 1
    for place in found.groups[0].leaderboard:
        assert place.ci is None or 0 <= place.ci.low <= place.mean <= place.ci.high <= 1
    for pair in found:
        checks = (pair.ci, pair.ci_equivalence, pair.ci_check.t, pair.ci_check.bca)
        assert all(ci is None or ci.low is None or -1 <= ci.low <= ci.high <= 1 for ci in checks)
        assert pair.mde.value is None or 0 < pair.mde.value <= 1
        assert pair.verdict.code == ("too_few" if pair.differs else "same")
        assert ("too few" in pair.verdict.text.lower()) == pair.differs


@pytest.mark.parametrize(("wins", "ties", "losses"), [(1, 0, 2), (5, 0, 0), (6, 0, 0), (3, 2, 4), (1, 0, 7), (0, 1, 1)])
def test_wins_losses_and_the_exact_sign_test_are_the_same_everywhere(wins, ties, losses):
    gains = np.array([0.1 + 0.01 * i for i in range(wins)] + [0.0] * ties + [-0.2 - 0.01 * i for i in range(losses)])
    found = rs.compare_scores(scores_of({"a": np.full(len(gains), 0.5), "b": 0.5 + gains}))
    pair, names = only(found), [f"q{i:03}" for i in range(len(gains))]
    small = pair.small_set
    assert small.won == tuple(reversed(names[:wins]))  # the largest gain first
    assert small.tied == tuple(names[wins : wins + ties])
    assert small.lost == tuple(reversed(names[wins + ties :]))
    assert small.sign_p == pytest.approx(by_hand(wins, losses))
    assert small.smallest_p == pytest.approx(2 / 2 ** (wins + losses))
    assert (len(pair.best), len(pair.worst)) == (wins, losses)  # all of them, not the first few
    p = f"p = {by_hand(wins, losses):.4g}"
    least = f"cannot be below {2 / 2 ** (wins + losses):.4g}."
    stored = json.loads(found.to_json())["groups"][0]["comparisons"][0]
    assert stored["small_set"]["lost"] == list(small.lost)
    assert (stored["small_set"]["sign_p"], stored["small_set"]["smallest_p"]) == (small.sign_p, small.smallest_p)
    junit = " ".join(case.words for case in gate_of(found, GatePolicy()).checks)
    for text in (
        *(rendered(report_of(found), form) for form in FORMS),
        repr(found),
        junit,
        stored["verdict"]["reason"],
    ):
        words = re.sub(r"\s+", " ", text.replace("\\_", "_"))
        assert p in words
        assert least in words
        assert all(query in words for query in (*small.won, *small.lost))
    row = to_csv(comparison_table(found)).splitlines()[1].split(",")
    assert row[-2:] == [repr(small.sign_p), repr(small.smallest_p)]
    assert cases(gate_of(found, GatePolicy()))


def test_lower_is_better_turns_who_won():
    scores = scores_of({"a": [2.0, 2, 2], "b": [1.0, 3, 2]}, measure="FirstRel", lower=True)
    small = only(rs.compare_scores(scores)).small_set
    assert (small.won, small.lost, small.tied) == (("q000",), ("q001",), ("q002",))


def test_of_several_pairs_each_says_who_won_where():
    columns = {"a": [0.5, 0.5, 0.5], "b": [0.6, 0.4, 0.5], "c": [0.7, 0.8, 0.9]}
    found = rs.compare_scores(scores_of(columns))
    text = re.sub(r"\s+", " ", rendered(report_of(found), "text"))
    assert (
        "c vs a: It wins 3 queries (q002, q001, q000) and loses none. Exact sign test: p = 0.25, not adjusted" in text
    )
    assert "b vs a: It wins 1 query (q000) and loses 1 query (q001), and ties on 1 query (q002)." in text


def test_clusters_are_what_the_sign_test_counts_and_weights_are_what_it_does_not_know():
    scores = scores_of({"a": [0.5] * 6, "b": [0.6, 0.6, 0.6, 0.6, 0.4, 0.7]})
    queries = [{"id": f"q{i:03}", "text": f"what is {i}", "who": i // 2, "often": i + 1} for i in range(6)]
    pair = only(rs.compare_scores(scores, queries=queries, cluster="who"))
    assert (pair.small_set.n_differ, pair.small_set.sign_p) == (3, pytest.approx(0.25))  # 3 clusters, all won
    assert "with 3 clusters that differ" in pair.verdict.reason
    assert pair.worst[0].text == "what is 4"
    weighted = only(rs.compare_scores(scores, queries=queries, weights="often"))
    assert (weighted.small_set.sign_p, weighted.small_set.smallest_p) == (None, None)
    assert "The sign test knows no weights." in weighted.verdict.reason


def test_ten_queries_get_a_verdict_and_no_sign_test():
    rng = np.random.default_rng(0)
    found = only(rs.compare_scores(scores_of({"a": rng.random(10), "b": rng.random(10)})))
    assert (found.small_set, found.verdict.code) == (None, "cannot_tell")
    assert "sign test" not in found.verdict.reason


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 12, 40])
def test_identical_systems_are_called_so_and_nothing_is_planned_from_them(n):
    qrels = {f"q{i}": {"x": 1, "y": 0} for i in range(n)}
    run = {query: ["x", "y"] if i % 2 else ["y", "x"] for i, query in enumerate(qrels)}
    found = rs.compare(qrels, {"a": run, "b": run})
    pair = only(found)
    assert (pair.verdict.code, pair.verdict.text) == ("identical", "The rankings are identical.")
    assert (pair.mde.value, pair.n_needed, pair.bayes, pair.small_set) == (None, None, None, None)
    assert pair.verdict.cautions == ()
    text = re.sub(r"\s+", " ", rendered(report_of(found), "text"))
    assert "The two systems are identical, so nothing can be said of what this set could find." in text
    assert "no query's score differs, so there is no interval" in text
    assert not re.search("can find \\(|you need about|too few queries to|best mean|rough", text)
    if n > 1:
        with pytest.raises(rs.InputError, match="b has the same nDCG@10 as a on every query"):
            rs.plan(qrels, {"a": run, "b": run}, detect=0.02)


def test_systems_that_differ_by_rounding_alone_are_no_spread():
    columns = {"a": [0.3, 0.6, 0.7], "b": [0.1 + 0.2, 0.2 * 3, 0.7], "c": [0.4, 0.7, 0.8]}
    with pytest.raises(rs.InputError, match=r"b has the same .* c differs from a by the same nDCG@10 .*\+0\.1\)"):
        rs.plan(scores=scores_of(columns), detect=0.02)
    found = rs.plan(scores=scores_of(columns | {"d": [0.1, 0.9, 0.2]}), detect=0.02)
    assert [system.name for system in found.left_out_systems] == ["b", "c"]
    assert [pair.b for pair in found.pairs] == ["d"]


@pytest.mark.parametrize(("gain", "code"), [(0.3, "better"), (0.004, "same"), (-0.3, "worse"), (0.01004, "better")])
def test_a_difference_that_never_varies_has_no_interval_anywhere(gain, code):
    found = rs.compare_scores(scores_of({"a": [0.5] * 12, "b": [0.5 + gain] * 12}))
    pair = only(found)
    assert pair.verdict.code == code
    assert (pair.ci.low, pair.ci_equivalence.low, pair.ci_check.t.low, pair.mde.value) == (None, None, None, None)
    assert "so there is no interval" in pair.verdict.reason
    assert f"by {abs(gain):.4f}" in pair.verdict.reason or f"by {abs(gain):.5f}" in pair.verdict.reason
    assert "rough" not in " ".join(pair.verdict.cautions)
    text = re.sub(r"\s+", " ", rendered(report_of(found), "text"))
    assert not any(pattern.search(text) for pattern in INTERVALS)
    assert "Every query differs by the same amount, so nothing can be said" in text
    gate = gate_of(found, GatePolicy(require="non-inferior"))
    assert gate.outcome == ("passed" if gain > 0 else "failed")


def test_gains_that_even_out_up_to_rounding_are_equal_on_average():
    pair = only(rs.compare_scores(scores_of({"a": [0.0, 0.0, 0.0], "b": [0.1, 0.2, 0.0]}), n_resamples=99))
    assert pair.delta > 0
    even = only(rs.compare_scores(scores_of({"a": [0.3, 0.1, 0.2], "b": [0.1, 0.2, 0.3]})))
    assert (even.delta, even.effect.d_z) == (0, 0)
    assert "Its nDCG@10 is equal on average." in even.verdict.reason


def test_systems_that_share_the_best_mean_are_all_named():
    found = rs.compare_scores(scores_of({"a": [0.5, 0.1], "b": [0.1, 0.5], "c": [0.0, 0.1]}))
    assert "a and b share the best mean nDCG@10: 0.300" in re.sub(r"\s+", " ", rendered(report_of(found), "text"))
    same = rs.compare_scores(scores_of({"a": [0.5, 0.1], "b": [0.5, 0.1], "c": [0.5, 0.1]}))
    assert "All 3 systems have the same mean" in re.sub(r"\s+", " ", rendered(report_of(same), "text"))


def test_what_a_few_queries_could_find_is_never_more_than_there_is():
    rng = np.random.default_rng(2)
    few = only(rs.compare_scores(found := scores_of({"a": [0, 1, 0, 1, 0], "b": [1, 0, 1, 0, 1]})))
    assert few.mde.value is None  # it would be above 1
    assert rs.plan(scores=found, detect=0.1).decisive.mde is None
    nine = rs.compare_scores(scores_of({"a": rng.random(9), "b": rng.random(9)}))
    text = re.sub(r"\s+", " ", rendered(report_of(nine), "text"))
    assert re.search(
        r"A test of 9 queries could find differences from 0\.\d+ up .*, but fewer than 10 get no verdict", text
    )
    assert "fewer than 10 queries: p and interval decide nothing" in text
    assert "Smallest difference this set can find" not in text


@pytest.mark.parametrize(("n", "systems", "finds"), [(5, 1, False), (6, 1, True), (6, 2, False), (7, 2, True)])
def test_compare_and_plan_promise_no_difference_that_no_flip_of_signs_can_find(n, systems, finds):
    # a clean sweep has p = 2 / 2^n: 0.0625 for 5 queries, 0.03125 for 6, 0.0156 for 7; two comparisons have 0.025 each
    base = np.full(n, 0.2)
    others = {f"b{i}": base + 0.3 + 0.01 * (i + 1) * np.arange(n) for i in range(systems)}
    scores = scores_of({"a": base, **others})
    pair = next(iter(rs.compare_scores(scores)))
    plan = rs.plan(scores=scores)
    assert (pair.mde.value is not None) == (plan.decisive.mde is not None) == finds
    if finds and systems == 1:
        assert pair.mde.value == pytest.approx(plan.decisive.mde)
    text = rendered(report_of(rs.compare_scores(scores)), "text")
    assert ("can find nothing at this level" in text) == (n == 5)
    assert rs.plan(sd=0.001, detect=0.5).decisive.queries_needed == 6
    assert rs.plan(sd=0.1, queries=5).decisive.mde is None


def test_few_queries_that_differ_cannot_reach_the_level_wherever_the_interval_ends():
    base = np.full(12, 0.5)
    few, enough = base.copy(), base.copy()
    few[:4] += [0.5, 0.4, 0.3, 0.2]  # 2 of 2^4 flips: 0.125
    enough[:6] += [0.5, 0.4, 0.3, 0.2, 0.2, 0.2]  # 2 of 2^6: 0.03125
    pair = only(rs.compare_scores(scores_of({"a": base, "b": few})))
    assert pair.p.adjusted == pytest.approx(0.125)
    said = "Only 4 of 12 queries differ in nDCG@10: too few for p to reach 0.05, wherever the interval ends."
    assert said in pair.verdict.cautions
    assert not any(
        "wherever" in words for words in only(rs.compare_scores(scores_of({"a": base, "b": enough}))).verdict.cautions
    )


def test_few_queries_that_differ_by_another_measure_are_a_note():
    ids = [f"q{i:02}" for i in range(12)]
    by_system = {
        "a": {"one": dict.fromkeys(ids, 0.5), "two": dict.fromkeys(ids, 0.5)},
        "b": {"one": {q: 0.5 + 0.01 * i for i, q in enumerate(ids)}, "two": {**dict.fromkeys(ids, 0.5), "q03": 1.0}},
    }
    found = rs.compare_scores(as_scores(ScoreFile(by_system), where="here"), primary="one")
    text = " ".join(rendered(report_of(found), "text").split())
    assert "Only 1 of 12 queries differs in two: too few for p to reach 0.05, wherever the interval ends" in text
    assert "differ in one" not in text


@pytest.mark.parametrize("measure", ["minPosition", "averagePosition", "mean_rank"])
def test_the_mean_of_foreign_positions_has_no_interval_below_1(measure):
    found = rs.compare_scores(scores_of({"a": [1, 1, 4, 1, 1], "b": [2, 1, 1, 1, 3]}, measure=measure, lower=True))
    for place in found.groups[0].leaderboard:
        assert 1 <= place.ci.low < place.mean < place.ci.high


def test_other_foreign_scores_may_go_below_1():
    found = rs.compare_scores(scores_of({"a": [1, 1, 4, 1, 1], "b": [2, 1, 1, 1, 3]}, measure="seconds", lower=True))
    assert min(place.ci.low for place in found.groups[0].leaderboard) < 1
