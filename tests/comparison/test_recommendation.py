"""The recommendation never says more than the verdicts, and is the same wherever it stands."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.align.hits import Counts
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.recommendation import code_over, recommend_in
from rankscope.comparison.verdict import WORDS, about
from rankscope.measures.scores import QrelsInfo, RunScores, Scores
from rankscope.records import replace
from rankscope.report.comparison import report_of
from rankscope.report.render import render


def scores_of(columns, *, measure="nDCG@10", lower=False):
    """Return scores of several systems, as another tool could have computed them."""
    names = frozenset([measure] if lower else [])
    runs = []
    for name, column in columns.items():
        values, n = np.asarray(column, dtype=float)[:, None], len(column)
        ids, answered = tuple(f"q{i:03}" for i in range(n)), np.ones(n, dtype=bool)
        runs.append(
            RunScores(
                name=name, query_ids=ids, measures=(measure,), values=values, undefined=np.isnan(values),
                answered=answered, counts=Counts(n, 0, 0, 0, 0, 0), aggregates=("mean",), lower_is_better=names,
            )
        )  # fmt: skip
    return Scores(tuple(runs), qrels=QrelsInfo(len(runs[0].query_ids)), policies={})


RNG = np.random.default_rng(4)
BASE = RNG.random(60)
NOISY = {name: BASE + RNG.normal(0, 0.1, 60) for name in ("dense", "hybrid", "tuned")}
SCORES = scores_of({"bm25": BASE, **NOISY})
COMPARED = {all_pairs: compare_scores(SCORES, all_pairs=all_pairs, n_resamples=199) for all_pairs in (False, True)}
BETTER, ALIKE = {"better", "probably_better"}, {"same", "identical"}
TURNED = {
    "better": "worse",
    "worse": "better",
    "probably_better": "probably_worse",
    "probably_worse": "probably_better",
}


def with_codes(group, codes):
    """Return the group with other verdicts on its pairs."""
    pairs = [
        replace(pair, verdict=replace(pair.verdict, code=code, because=None))
        for pair, code in zip(group.compared, codes, strict=True)
    ]
    return replace(group, comparisons=tuple(pairs), recommendation=None)


def verdicts_on(system, group):
    turned = {pair.b: TURNED.get(pair.verdict.code, pair.verdict.code) for pair in group.compared if pair.a == system}
    return turned | {pair.a: pair.verdict.code for pair in group.compared if pair.b == system}


def check_baseline(advice, group):
    codes = {pair.b: pair.verdict.code for pair in group.compared}
    found = set(codes.values())
    if advice.action in ("use", "prefer"):
        wanted = "better" if advice.action == "use" else "probably_better"
        assert {codes[name] for name in advice.systems} == {wanted}
        assert advice.action == "use" or "better" not in found
        assert re.match(rf"{advice.action.capitalize()} {advice.systems[0]}\b", advice.text)
    else:
        assert not found & BETTER
        assert not re.match("Use|Prefer", advice.text)
    if advice.action == "keep":
        assert advice.systems == ("bm25",)
        assert advice.text.startswith("Keep bm25: ")
        if "is better on" in advice.text:  # none is better, full stop
            assert found <= {"worse", "probably_worse", *ALIKE}
    assert (advice.action == "either") == (found <= ALIKE)
    assert advice.action != "none" or found == {"not_comparable"}


def check_all_pairs(advice, group):
    top = group.leaderboard[0].system
    codes = verdicts_on(top, group)
    everything = {pair.verdict.code for pair in group.compared}
    if advice.action == "use":
        assert set(codes.values()) == {"better"}
        assert advice.systems == (top,)
    elif advice.action == "prefer":
        assert set(codes.values()) <= BETTER
        assert advice.systems == (top,)
    elif advice.action == "choose":
        assert advice.systems[0] == top
        for name in advice.systems:
            assert not {"worse", "probably_worse"} & set(verdicts_on(name, group).values())
        assert not BETTER & {codes[name] for name in advice.systems[1:]}
    else:
        assert advice.action in ("either", "none")
        assert not re.match("Use|Prefer|Keep|Choose", advice.text)
    assert (advice.action == "either") == (everything <= ALIKE)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(sorted(WORDS)), min_size=3, max_size=3))
def test_against_a_baseline_no_verdict_is_contradicted(codes):
    group = with_codes(COMPARED[False].groups[0], codes)
    advice = recommend_in(group, "bm25")
    check_baseline(advice, group)
    assert advice.code in codes
    assert advice.text.endswith(".")


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(sorted(WORDS)), min_size=6, max_size=6))
def test_among_all_pairs_no_verdict_is_contradicted(codes):
    group = with_codes(COMPARED[True].groups[0], codes)
    check_all_pairs(recommend_in(group, None), group)


@pytest.mark.parametrize(("code", "baseline"), list(itertools.product(WORDS, ["bm25", None])))
def test_a_single_pair_is_recommended_by_its_verdict(code, baseline):
    scores = scores_of({"bm25": BASE, "dense": NOISY["dense"]})
    group = with_codes(compare_scores(scores, n_resamples=199).groups[0], [code])
    advice = recommend_in(group, baseline)
    wanted = {"better": ("use", "dense"), "probably_better": ("prefer", "dense")}
    if baseline is None:
        wanted |= {"worse": ("use", "bm25"), "probably_worse": ("prefer", "bm25")}
    if code in wanted:
        assert (advice.action, advice.systems) == (wanted[code][0], (wanted[code][1],))
    else:
        kept = "keep" if baseline else "none"
        assert advice.action == {"same": "either", "identical": "either", "not_comparable": "none"}.get(code, kept)
        assert not re.match("Use|Prefer", advice.text)


def test_it_is_the_first_thing_that_is_said_everywhere():
    found = compare_scores(scores_of({"bm25": BASE, "dense": BASE + 0.05 + NOISY["dense"] / 100}), n_resamples=999)
    text = found.recommendation.text
    assert text.startswith("Use dense: it is better than bm25, by 0.05")
    assert repr(found).splitlines()[0] == text
    assert json.loads(found.to_json())["recommendation"]["text"] == text
    assert rs.Comparison.from_json(found.to_json()).recommendation == found.recommendation
    report = report_of(found)
    assert report.first_screen[0].headline == text
    assert all(text in " ".join(render(report, form).split()) for form in ("text", "markdown", "html"))


def test_more_queries_are_those_of_the_records():
    group = COMPARED[False].groups[0]
    open_ones = with_codes(group, ["cannot_tell"] * 3)
    assert all(pair.delta > 0 for pair in open_ones.compared)
    needed = dict(zip(("dense", "hybrid", "tuned"), (11_646, 400, 61), strict=True))
    pairs = tuple(
        replace(pair, n_needed=needed[pair.b], mde=replace(pair.mde, value=2 * pair.gain))
        for pair in open_ones.compared
    )
    advice = recommend_in(replace(open_ones, comparisons=pairs), "bm25")
    assert advice.text.endswith(
        "none of the 3 others is shown to be better on this set; hybrid, dense or tuned may be."
    )
    # 11,646 less the 60 there are; where twice the difference can be found, four times as many queries find it
    as_found = "about 180 if the differences are as large as found here"
    assert advice.more == f"About 12,000 more queries would be enough to detect a difference of 0.01, {as_found}."
    unknown = replace(open_ones, comparisons=tuple(replace(pair, n_needed=None) for pair in open_ones.compared))
    assert recommend_in(unknown, "bm25").more == ""


@pytest.mark.parametrize(
    ("number", "words"),
    [(9, "9"), (61, "61"), (100, "100"), (101, "110"), (517, "520"), (996, "1,000"), (11_586, "12,000")],
)
def test_how_many_queries_it_would_take_has_two_digits_and_is_never_too_low(number, words):
    assert about(number) == words


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(sorted(WORDS)), min_size=6, max_size=6), st.sampled_from(["bm25", None]))
def test_the_headline_is_one_short_sentence(codes, baseline):
    group = COMPARED[baseline is None].groups[0]
    advice = recommend_in(with_codes(group, codes[: len(group.compared)]), baseline)
    assert len(advice.text) <= 120
    assert ". " not in advice.text
    if "than another" in advice.text:
        inside = [pair for pair in with_codes(group, codes).compared if {pair.a, pair.b} <= set(advice.systems)]
        assert not {pair.verdict.code for pair in inside} & set(TURNED)


def test_a_long_headline_names_fewer_systems():
    columns = {f"{'x' * 20}{i}": BASE + RNG.normal(0, 0.1, 60) for i in range(5)}
    group = compare_scores(scores_of(columns), all_pairs=True, n_resamples=199).groups[0]
    names = [place.system for place in group.leaderboard]
    advice = recommend_in(with_codes(group, ["cannot_tell"] * 10), None)
    assert advice.systems == tuple(names)
    shown = f"{names[0]}, {names[1]} and 3 more"
    assert advice.text == f"Choose among {shown}: none of them is shown to be better than another."


def test_the_reason_does_not_repeat_the_headline():
    found = compare_scores(scores_of({"bm25": BASE, "dense": BASE + 0.05 + NOISY["dense"] / 100}), n_resamples=999)
    (pair,) = found
    block = report_of(found).first_screen[0]
    ends = f"{pair.ci.low:+.5f} to {pair.ci.high:+.5f}"
    assert block.reason == f"The 95% CI of the difference (dense - bm25) is {ends}, beyond the margin of 0.01."
    assert pair.verdict.text == "dense is better."
    assert pair.verdict.reason.startswith("Its nDCG@10 is higher by 0.05")
    for text in (render(report_of(found), form) for form in ("text", "markdown", "html")):
        assert "dense is better." not in " ".join(text.split())


@pytest.mark.parametrize("all_pairs", [False, True])
def test_a_column_of_differences_has_the_same_decimals_in_every_row(all_pairs):
    columns = {"bm25": BASE, "wide": BASE + NOISY["dense"], "narrow": BASE + 0.05 + NOISY["tuned"] / 5000}
    report = report_of(compare_scores(scores_of(columns), all_pairs=all_pairs, n_resamples=199))
    table = next(block.table for block in report.first_screen if getattr(block, "title", "") == "Verdicts")
    estimates = next(block for block in report.first_screen if hasattr(block, "estimates"))
    written = [cell.text for row in table.rows for cell in row[-5:-3] if cell.text != "-"]
    drawn = [row.short for row in estimates.estimates if row.short]
    assert (len(written), len(drawn)) == ((6, 2) if all_pairs else (4, 2))
    for column in (written, drawn):
        assert len({len(digits) for text in column for digits in re.findall(r"[+-]\d\.(\d+)", text)}) == 1
    assert all_pairs or (len(written[0]), drawn[0][:9]) == (9, written[0])


def test_where_lower_is_better_the_lower_one_is_used():
    columns = {"old": 3 + BASE, "new": 2.5 + BASE + NOISY["dense"] / 50}
    found = compare_scores(scores_of(columns, measure="seconds", lower=True), n_resamples=999)
    assert found.recommendation.text.startswith("Use new: it is better than old, by 0.4")
    assert (found.recommendation.action, found.recommendation.systems) == ("use", ("new",))


def test_groups_that_differ_get_a_sentence_of_their_own():
    half = np.where(np.arange(60) < 30, 0.2, -0.2) + NOISY["dense"] / 50
    queries = {f"q{i:03}": {"language": "de" if i < 30 else "en"} for i in range(60)}
    found = compare_scores(scores_of({"bm25": BASE, "dense": BASE + half}), queries=queries, n_resamples=999)
    assert found.recommendation.text == "Use dense in de; keep bm25 in en."
    assert (found.recommendation.action, found.recommendation.systems) == ("by_group", ())
    assert [group.recommendation.action for group in found.groups] == ["use", "keep"]
    assert report_of(found).first_screen[0].headline == "Use dense in de; keep bm25 in en."


def test_means_over_different_queries_have_no_best():
    columns = {name: values.copy() for name, values in {"bm25": BASE, **NOISY}.items()}
    columns["dense"][:5] = np.nan
    found = compare_scores(scores_of(columns), all_pairs=True, n_resamples=199)
    assert found.recommendation.action == "none"
    assert "not over the same queries" in found.recommendation.text


@pytest.mark.parametrize("order", ["score", "given"])
def test_reports_list_the_best_system_first_unless_asked_otherwise(order):
    columns = {"middle": BASE, "worst": BASE - 0.1 + NOISY["dense"] / 50, "best": BASE + 0.1 + NOISY["tuned"] / 50}
    found = compare_scores(scores_of(columns), n_resamples=199, order=order)
    expected = ["best", "middle", "worst"] if order == "score" else ["middle", "worst", "best"]
    report = report_of(found)
    estimates = next(block for block in report.first_screen if hasattr(block, "estimates"))
    assert [row.name for row in estimates.estimates] == expected
    table = next(block.table for block in report.first_screen if getattr(block, "title", "") == "Verdicts")
    assert [row[0].text for row in table.rows] == expected
    assert [row[1].text for row in table.rows if row[0].text == "middle"] == ["baseline"]
    assert [row[0].text for row in table.rows if any(cell.best for cell in row)] == ["best"]


def test_what_is_not_told_apart_from_the_best_is_marked_with_it():
    columns = {"a": BASE, "b": BASE + NOISY["dense"] / 20 - NOISY["dense"].mean() / 20, "c": BASE - 0.2}
    found = compare_scores(scores_of(columns), all_pairs=True, order="given", n_resamples=999)
    codes = {(pair.a, pair.b): pair.verdict.code for pair in found}
    assert codes["a", "b"] in ("cannot_tell", "same")
    assert {codes["a", "c"], codes["b", "c"]} == {"worse"}
    board = next(section for section in report_of(found).sections if section.title == "Systems").blocks[0].table
    assert sorted(row[1].text.split()[-1] for row in board.rows if any(cell.best for cell in row)) == ["a", "b"]
    with pytest.raises(rs.OptionError, match="order 'worst' is not one of score, given"):
        compare_scores(scores_of(columns), order="worst")


def test_groups_in_which_nothing_is_comparable():
    qrels = {f"{code}{i}": {"d": 1} for code in ("de", "en") for i in range(20)}
    runs = {name: {q: ["d" if i % 2 == at else "x"] for i, q in enumerate(qrels)} for at, name in enumerate("ab")}
    languages = {query: {"language": query[:2]} for query in qrels}
    with pytest.warns(rs.errors.RankscopeWarning, match="undefined for 20 of 40"):
        found = rs.compare(qrels, runs, "FirstRel", queries=languages)
    assert found.recommendation.action == "none"
    assert found.recommendation.text == "Nothing can be recommended in de and en."


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        ({"worse"}, "worse"),
        ({"worse", "probably_worse"}, "probably_worse"),
        ({"better", "probably_better"}, "probably_better"),
        ({"better", "worse"}, "cannot_tell"),
        ({"worse", "cannot_tell"}, "cannot_tell"),
        ({"worse", "not_safe"}, "cannot_tell"),
    ],
)
def test_groups_that_go_the_same_way_are_not_said_to_be_open(codes, together):
    assert code_over(codes) == together
