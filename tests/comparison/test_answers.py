"""Parts of one answer never contradict each other, and change at exactly the numbers they should; much of it was wrong."""

import json
import math
import re

import numpy as np
import pytest
from scipy import stats as scipy_stats

import rankscope as rs
from rankscope.align.hits import Counts
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.groups import SMALLEST_SLICE
from rankscope.comparison.known_measures import range_of
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.demo import demo_file
from rankscope.errors import OptionError
from rankscope.light import replace
from rankscope.measures.scores import QrelsInfo, RunScores, Scores
from rankscope.report.comparison import report_of
from rankscope.report.document import VerdictCounts
from rankscope.report.render import render

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


def text_of(comparison):
    return render(report_of(comparison, with_figures=False), "text")


def joined_text(comparison):
    return " ".join(text_of(comparison).split())


def test_copies_of_a_system_do_not_decide_other_pairs():
    rng = np.random.default_rng(3)
    a, b = rng.beta(0.6, 0.9, (2, 60))
    alone = compare_scores(scores_of({"a": a, "b": b}), n_resamples=1_999)["a", "b"]
    copies = {"a": a, "b": b, **{f"copy{i}": b for i in range(18)}}
    crowded = compare_scores(scores_of(copies), all_pairs=True, order="given", n_resamples=1_999)["a", "b"]
    assert crowded.pair.p.adjusted == alone.pair.p.adjusted
    assert crowded.pair.ci.low == pytest.approx(alone.pair.ci.low)
    assert crowded.verdict.code == alone.verdict.code


def test_junk_systems_do_not_hide_a_clear_difference():
    rng = np.random.default_rng(3)
    a = rng.beta(2, 2, 40)
    close = np.clip(a + rng.normal(0.06, 0.03, 40), 0, 1)
    junk = {f"junk{i}": rng.beta(0.05, 3, 40) for i in range(12)}
    found = compare_scores(scores_of({"a": a, "close": close, **junk}), all_pairs=True, n_resamples=1_999)
    assert found["a", "close"].verdict.code in ("better", "probably_better")


def clustered(n_clusters=30, size=5, seed=5):
    """Return scores in which clusters, not queries, differ, and the clusters' labels."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(0, 0.15, (n_clusters, 3))
    values = 0.5 + np.repeat(effect, size, axis=0) + rng.normal(0, 0.01, (n_clusters * size, 3))
    queries = {f"q{i:03}": {"topic": i // size} for i in range(n_clusters * size)}
    return scores_of(dict(zip("abc", values.T, strict=True))), queries


def test_clusters_count_once_in_every_part_of_the_answer():
    scores, queries = clustered()
    plain = compare_scores(scores, all_pairs=True, n_resamples=1_999)
    found = compare_scores(scores, all_pairs=True, queries=queries, cluster="topic", n_resamples=1_999)
    for item in found:
        pair = item.pair
        assert (pair.n_queries, pair.n_units) == (150, 30)
        wide, narrow = pair.ci.high - pair.ci.low, plain[pair.a, pair.b].pair.ci
        assert wide > 1.5 * (narrow.high - narrow.low)
        assert pair.mde.value > 1.5 * plain[pair.a, pair.b].mde.value
        assert pair.p.alone_t > plain[pair.a, pair.b].pair.p.alone_t
    for place, before in zip(found.groups[0].leaderboard, plain.groups[0].leaderboard, strict=True):
        assert place.ci.high - place.ci.low > 1.5 * (before.ci.high - before.ci.low)
    beaten = {(place.system, other) for place in found.groups[0].leaderboard for other in place.beats}
    called = {
        (item.pair.b, item.pair.a) if "better" in item.verdict.code else (item.pair.a, item.pair.b)
        for item in found
        if item.verdict.code in ("better", "worse", "probably_better", "probably_worse")
    }
    assert beaten == called
    assert "in 30 clusters" in text_of(compare_scores(scores, queries=queries, cluster="topic", n_resamples=999))


def test_few_clusters_are_few_however_many_queries():
    scores, queries = clustered(n_clusters=4, size=20)
    for item in compare_scores(scores, queries=queries, cluster="topic"):
        assert item.verdict.text == "Too few clusters to call (n=4)."


def test_tests_on_request_follow_seed_resamples_and_clusters():
    scores, queries = clustered(seed=7)
    options = {"also": "bootstrap,wilcoxon,sign", "n_resamples": 499}
    seeded = {"queries": queries, "cluster": "topic", **options}
    seeds = {next(iter(compare_scores(scores, seed=seed, **seeded))).also_tested[0].p for seed in range(4)}
    assert len(seeds) > 1
    by_query = next(iter(compare_scores(scores, **options))).also_tested
    by_cluster = next(iter(compare_scores(scores, queries=queries, cluster="topic", **options))).also_tested
    assert by_query[0].n_resamples == 499
    assert all(few.p > many.p for few, many in zip(by_cluster, by_query, strict=True))


def test_where_less_is_better_every_part_is_turned():
    rng = np.random.default_rng(0)
    fast = rng.integers(1, 4, 30).astype(float)
    slow = fast + rng.integers(0, 3, 30)
    found = compare_scores(scores_of({"fast": fast, "slow": slow}, measure="FirstRel", lower=True))
    item = found["fast", "slow"]
    assert item.verdict.code == "worse"
    assert (item.wins, item.losses) == (0, int((slow > fast).sum()))
    assert item.effect.superiority < 0.5
    assert item.effect.d_z < 0
    assert item.pair.bayes.worse > 0.9
    assert [place.system for place in found.groups[0].leaderboard] == ["fast", "slow"]
    assert all(change.b > change.a for change in item.worst)
    assert not item.best
    assert "slow wins 0 queries" in text_of(found)


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
    assert (only(found).b, only(higher).b) == ("second", "first")  # the one with the better mean
    assert [change.query for change in only(higher).best][:2] == ["q003", "q004"]
    assert [row.system for row in higher.groups[0].leaderboard] == ["first", "second"]


def test_measures_that_are_not_between_0_and_1_have_no_margin_unless_given():
    scores = scores_of({"a": np.arange(30.0), "b": np.arange(30.0) + 0.2}, measure="DCG")
    assert compare_scores(scores).settings.margin == 0
    assert next(iter(compare_scores(scores))).verdict.code == "better"
    given = compare_scores(scores, margin=0.5)
    assert (given.settings.margin, given.settings.margin_given) == (0.5, True)
    own = scores_of({"a": np.linspace(0, 1, 30), "b": np.linspace(0, 1, 30)}, measure="our score")
    assert compare_scores(own).settings.margin == 0.01


def test_a_measure_of_the_whole_set_cannot_decide():
    qrels = {f"q{i}": {f"d{i}": 1, "x": 0} for i in range(20)}
    rng = np.random.default_rng(1)
    runs = {
        name: {query: {f"d{j}": 20.0 - r for r, j in enumerate(rng.permutation(20)[:5])} for query in qrels}
        for name in "ab"
    }
    docs = [{"id": f"d{i}", "topic": i % 3} for i in range(25)]
    with pytest.raises(OptionError, match="one number for the whole set of queries"):
        rs.compare(qrels, runs, "CatalogCoverage@5", docs=docs)
    found = rs.compare(qrels, runs, "RR@10 CatalogCoverage@5 Gini@5", docs=docs)
    for pair in found.groups[0].exploratory(next(iter(found))):
        assert pair.p.adjusted is None
        assert pair.mean.a is not None
    json.dumps(found.to_dict(), allow_nan=False)
    row = next(line for line in text_of(found).splitlines() if "CatalogCoverage@5" in line)
    assert row.split()[-3:] == ["-", "-", "-"]


def test_one_query_is_too_few_and_no_error():
    for options in ({}, {"all_pairs": True}, {"correction": "none"}, {"correction": "bonferroni"}):
        found = compare_scores(scores_of({"a": [0.1], "b": [0.4], "c": [0.2]}), **options)
        assert {item.verdict.code for item in found} == {"too_few"}
        text_of(found)
        json.dumps(found.to_dict(), allow_nan=False)


def test_slices_are_controlled_over_all_pairs_of_the_page():
    """Forty systems that differ from the baseline by noise: no slice of any of them may stand out, most of the time."""
    rng = np.random.default_rng(11)
    found_any = 0
    for _ in range(20):
        base = rng.random(60)
        columns = {"base": base, **{f"s{i}": base + rng.normal(0, 0.1, 60) for i in range(8)}}
        queries = {f"q{i:03}": {"kind": "abcd"[i % 4]} for i in range(60)}
        found = compare_scores(scores_of(columns), queries=queries, by="kind", n_resamples=199)
        found_any += any(part.stands_out for item in found for part in item.strata)
    assert found_any <= 6  # 10 % of pages at most; per pair it was 38 %


def test_undefined_scores_of_one_side_are_left_out_and_said():
    a, b = np.full(40, 0.5), np.full(40, 0.6) + np.random.default_rng(0).normal(0, 0.01, 40)
    b[:6] = math.nan
    item = next(iter(compare_scores(scores_of({"a": a, "b": b}))))
    assert (item.pair.n_queries, item.pair.n_undefined) == (34, 6)
    assert item.mean.a == pytest.approx(0.5)
    assert any("6 queries left out" in caution and "15%" in caution for caution in item.verdict.cautions)


def test_labels_follow_alpha_everywhere():
    rng = np.random.default_rng(0)
    a = rng.random(40)
    scores = scores_of({"a": a, "b": a + rng.normal(0.02, 0.05, 40), "c": a + rng.normal(0, 0.05, 40)})
    for options in ({}, {"all_pairs": True}):
        for form in ("text", "html", "markdown", "latex"):
            page = render(report_of(compare_scores(scores, alpha=0.01, n_resamples=1_999, **options)), form)
            shown = re.sub(r"\\%", "%", page)
            assert "99%" in shown
            assert "95% CI" not in shown
            assert "95% interval" not in shown


def test_nobodys_margin_is_called_yours():
    rng = np.random.default_rng(0)
    a = rng.random(40)
    scores = scores_of({"a": a, "b": a + rng.normal(0.1, 0.05, 40)})
    assert "your margin" not in text_of(compare_scores(scores))
    assert "your margin of 0.02" in text_of(compare_scores(scores, margin=0.02))


def test_sensitivity_is_not_fine_where_the_margin_cannot_be_found():
    rng = np.random.default_rng(0)
    a = rng.random(40)
    page = text_of(compare_scores(scores_of({"a": a, "b": a + rng.normal(0.2, 0.2, 40)})))
    assert re.search(r"look +Sensitivity", page)
    assert re.search(r"times the\s+margin\s+of\s+0.01", page)


def test_weights_by_hand_through_compare():
    qrels = {f"q{i}": {"good": 1, "bad": 0} for i in range(12)}
    first = {query: {"bad": 2.0, "good": 1.0} for query in qrels}  # RR 0.5
    second = {query: ({"good": 2.0, "bad": 1.0} if i % 3 else {"bad": 2.0}) for i, query in enumerate(qrels)}  # RR 1, 0
    traffic = {query: {"traffic": 10 if i % 3 == 0 else 1} for i, query in enumerate(qrels)}
    plain = rs.compare(qrels, {"first": first, "second": second}, "RR@10")
    heavy = rs.compare(qrels, {"first": first, "second": second}, "RR@10", queries=traffic, weights="traffic")
    assert next(iter(plain)).pair.delta == pytest.approx((8 * 0.5 - 4 * 0.5) / 12)
    pair = next(iter(heavy)).pair
    assert pair.delta == pytest.approx((8 * 0.5 - 40 * 0.5) / 48)
    assert (pair.mean.a, pair.mean.b) == (pytest.approx(0.5), pytest.approx(8 / 48))
    assert pair.n_effective == pytest.approx(48**2 / (8 + 400))
    residuals = np.array([10 * (-0.5 - pair.delta)] * 4 + [0.5 - pair.delta] * 8)
    assert pair.standard_error == pytest.approx(math.sqrt(12 / 11 * (residuals**2).sum()) / 48)
    assert heavy.scores["second"].mean()["RR@10"].value == pytest.approx(8 / 48)
    assert "weighted by traffic" in text_of(heavy)


def two_qrels(n=30):
    """Return judgments and two runs: the first has its relevant doc at rank 1, the other at rank 3."""
    qrels = {f"q{i:02}": {"good": 1, "x": 0, "y": 0} for i in range(n)}
    first = {query: {"good": 3.0, "x": 2.0, "y": 1.0} for query in qrels}
    third = {query: {"x": 3.0, "y": 2.0, "good": 1.0 + i % 2 / 10} for i, query in enumerate(qrels)}
    return qrels, {"first": first, "third": third}


def test_the_direction_of_a_measure_survives_a_file(tmp_path):
    """Scores that were saved know no direction, but the name of the measure does."""
    from rankscope.measures.score_files import read_scores

    rng = np.random.default_rng(0)
    rows = [f"q{i},{1 + rng.integers(2)},{4 + rng.integers(2)}" for i in range(30)]
    (tmp_path / "ranks.csv").write_text("query,quick,slow\n" + "\n".join(rows) + "\n")
    found = compare_scores(read_scores([tmp_path / "ranks.csv"], measure="FirstRel"))
    assert found["quick", "slow"].verdict.code == "worse"
    assert "lower is better" in text_of(found)
    assert found.scores["quick"].lower_is_better == {"FirstRel"}


def test_huge_scores_have_intervals_that_are_read_back_equal():
    from rankscope.comparison.records import Comparison
    from rankscope.records import from_json, to_json

    scores = scores_of({"a": [1.5, 1.5, 1e100], "b": [2, 2, 3]}, measure="FirstRel", lower=True)
    found = compare_scores(scores, alpha=0.0005)
    assert all(math.isfinite(place.ci.high) for place in found.groups[0].leaderboard)
    assert from_json(Comparison, to_json(found)) == found


def test_scores_that_are_given_a_direction_keep_all_else_that_is_known_of_them():
    from rankscope.light import replace

    qrels, runs = two_qrels()
    scores = rs.evaluate(qrels, runs, "FirstRel")
    unturned = tuple(replace(run, lower_is_better=frozenset()) for run in scores.values())
    found = compare_scores(replace(scores, runs=unturned, notes=("one run is short",))).scores
    assert found["first"].lower_is_better == {"FirstRel"}
    assert found.versions == scores.versions
    assert found.notes == ("one run is short",)


def test_being_non_inferior_needs_a_verdict():
    from rankscope.comparison.gate import GatePolicy, gate_of

    few = compare_scores(scores_of({"a": [0.5] * 9, "b": [0.5, 0.9, 0.1, 0.6, 0.6, 0.5, 0.4, 0.8, 0.5]}))
    assert gate_of(few, GatePolicy(require="non-inferior")).exit_code == 1
    assert gate_of(few, GatePolicy()).exit_code == 0


def test_the_headline_says_no_more_than_the_verdicts():
    rng = np.random.default_rng(2)
    base = rng.random(60)
    steady = {"top": base + 0.05, "near": base + 0.035 + rng.normal(0, 0.02, 60), "low": base - 0.2}
    found = compare_scores(scores_of(steady), all_pairs=True)
    assert found["near", "top"].verdict.code == "probably_better"
    assert "Prefer top: it is better, or probably better, than each of the 2 others." in joined_text(found)
    assert "Use top" not in text_of(found)
    same = compare_scores(scores_of({"a": base, "copy": base, "low": base - 0.2}), all_pairs=True)
    told = "Choose between a and copy: neither is shown to be better."
    assert told in joined_text(same)
    assert "a and copy share the best mean nDCG@10" in joined_text(same)
    clear = {"a": base, "low": base - 0.2, "lower": base - 0.3}
    told = "Use a: it is better than each of the 2 others, by 0.2000 in nDCG@10 or more."
    assert told in joined_text(compare_scores(scores_of(clear), all_pairs=True))


def test_parts_of_a_weighted_difference_add_up():
    qrels, runs = two_qrels()
    runs["mixed"] = {query: runs["first" if i % 3 else "third"][query] for i, query in enumerate(qrels)}
    traffic = {query: {"traffic": 1 + i % 5} for i, query in enumerate(qrels)}
    found = rs.compare(qrels, runs, "nDCG@10", baseline="third", queries=traffic, weights="traffic")
    for item in found:
        assert item.movement.difference == pytest.approx(item.pair.delta)
        assert sum(part.mean for part in item.movement.kinds.values()) == pytest.approx(item.pair.delta)
        assert sum(item.movement.by_rank.b) == pytest.approx(item.mean.b)


def test_queries_of_weight_0_are_no_evidence():
    a, b = np.full(40, 0.5), np.full(40, 0.6) + np.random.default_rng(0).normal(0, 0.01, 40)
    queries = {f"q{i:03}": {"asked": 0 if i < 35 else 3} for i in range(40)}
    item = next(iter(compare_scores(scores_of({"a": a, "b": b}), queries=queries, weights="asked")))
    assert (item.pair.n_queries, item.pair.n_units) == (5, 5)
    assert item.wins == 5
    assert item.verdict.code == "too_few"


def test_only_means_decide():
    qrels, runs = two_qrels()
    with pytest.raises(OptionError, match="comparisons are about means"):
        rs.compare(qrels, runs, "nDCG(agg='median')@10")
    found = rs.compare(qrels, runs, "NumRelRet")
    assert "NumRelRet: means per query here" in text_of(found)


def test_queries_that_are_left_out_are_not_called_empty_or_undefined():
    qrels, runs = two_qrels()
    runs["half"] = {query: docs for query, docs in runs.pop("third").items() if query < "q15"}
    with pytest.warns(rs.RankscopeWarning):
        item = next(iter(rs.compare(qrels, runs, "RR@10", missing="skip")))
    told = " ".join(item.verdict.cautions)
    assert "15 queries left out, as one side does not answer them." in told
    assert "undefined" not in told
    with pytest.warns(rs.RankscopeWarning):
        page = text_of(rs.compare(qrels, runs, "RR@10", missing="skip"))
    assert "(left out)" in page
    assert "counted as empty" not in page
    assert "counts as empty" not in page


def test_pages_of_many_systems_give_their_reasons():
    qrels = {f"q{i:02}": {f"d{j}": int((i + j) % (2 if j < 6 else 5) == 0) for j in range(10)} for i in range(30)}
    known = [f"d{j}" for j in range(10)]
    runs = {"old": known, "copy": known[::-1], "unsafe": [f"new{j}" for j in range(4)] + known[:6]}
    given = {n: {q: {d: 20.0 - r for r, d in enumerate(docs)} for q in qrels} for n, docs in runs.items()}
    found = rs.compare(qrels, given, "P@10")
    assert found["old", "unsafe"].verdict.code == "not_safe"
    text = " ".join(render(report_of(found, with_figures=False, every_pair=False), "text").split())
    assert "unsafe vs old: Not safe to call: too many unjudged results. unsafe is lower by" in text
    assert "--details" in text


def test_a_forest_without_a_margin():
    from rankscope.report.charts import figure

    scores = scores_of({"a": np.arange(30.0), "b": np.arange(30.0) + 0.2 + np.arange(30) % 3 / 10}, measure="DCG")
    found = compare_scores(scores)
    assert "better" in figure("forest", "comparison", found).svg


def test_few_queries_that_always_differ_are_no_trouble():
    columns = {"A": np.zeros(5), "B": np.ones(5), "C": [0.2, 0.1, 0, 0.3, 0.4]}
    for options in ({}, {"all_pairs": True}, {"alpha": 0.1}):
        for item in compare_scores(scores_of(columns), **options):
            assert item.verdict.code == "too_few"


def test_weights_of_any_size_are_ratios():
    a, b = np.full(20, 0.5), np.full(20, 0.6) + np.random.default_rng(0).normal(0, 0.01, 20)
    deltas = set()
    for scale in (1.0, 1e300, 1e-200):
        queries = {f"q{i:03}": {"asked": (1 + i % 3) * scale} for i in range(20)}
        deltas.add(
            round(
                only(compare_scores(scores_of({"a": a, "b": b}), queries=queries, weights="asked")).ci.low,
                12,
            )
        )
    assert len(deltas) == 1


def test_strata_of_weight_0_are_no_trouble():
    a = np.linspace(0.2, 0.8, 30)
    queries = {f"q{i:03}": {"asked": 0 if i < 6 else 2, "kind": "old" if i < 6 else "new"} for i in range(30)}
    scores = scores_of({"a": a, "b": a + 0.1 + np.arange(30) % 3 / 100})
    found = compare_scores(scores, queries=queries, weights="asked", by="kind")
    assert next(iter(found)).pair.n_queries == 24
    assert found.groups[0].uncounted == tuple(f"q{i:03}" for i in range(6))
    text_of(found)


def test_the_interval_of_one_of_several_pairs_is_called_simultaneous():
    systems = {"old": np.full(60, 0.5), "new": 0.6 + NOISE, "other": 0.4 - NOISE}
    found = list(compare_scores(scores_of(systems), n_resamples=999))
    assert len(found) == 2
    assert all("(simultaneous 95% CI " in pair.verdict.reason for pair in found)


@pytest.mark.parametrize(("n_kinds", "shown"), [(1, 0), (2, 2), (3, 3), (20, 0)])  # of 3 queries each in the last case
def test_strata_nobody_asked_for_are_those_of_few_values(n_kinds, shown):
    kinds = {f"q{i:03}": {"kind": f"kind {i % n_kinds:02}"} for i in range(60)}
    found = only(compare_scores(scores_of({"a": np.full(60, 0.3), "b": 0.4 + NOISE}), queries=kinds))
    assert len(found.strata) == shown


def test_a_page_with_a_system_without_scores():
    found = compare_scores(scores_of({"a": np.full(12, 0.5), "b": np.full(12, math.nan)}))
    assert next(iter(found)).verdict.code == "not_comparable"
    for form in ("text", "html", "markdown", "latex"):
        shown = " ".join(render(report_of(found), form).split())
        assert "b and a are not comparable." in shown
        assert "No query has a score of both." in shown


def test_what_a_verdict_rests_on_is_found_by_leaving_it_out():
    """The caution stands exactly where the comparison without the query gives another verdict."""
    rng = np.random.default_rng(5)
    said = 0
    for _ in range(60):
        d = np.round(rng.normal(0.06, 0.12, 14), 2)
        d[rng.integers(14)] += 0.3
        full = next(iter(compare_scores(scores_of({"a": np.full(14, 0.4), "b": 0.4 + d}), n_resamples=20_000)))
        if full.verdict.code not in ("better", "probably_better"):
            continue
        kept = np.arange(14) != np.argmax(d)
        rest = next(iter(compare_scores(scores_of({"a": np.full(13, 0.4), "b": 0.4 + d[kept]}), n_resamples=20_000)))
        told = any("rests on" in caution for caution in full.verdict.cautions)
        assert told == (rest.verdict.code != full.verdict.code)
        said += told
    assert said > 3


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


def test_an_interval_holds_no_difference_that_is_impossible():
    a, b = np.ones(12), np.array([1.0] + 11 * [0.0])
    pair = only(compare_scores(scores_of({"a": a, "b": b}, measure="RR@10")))
    half = pair.mde.critical * pair.standard_error
    assert pair.delta - half < -1
    assert (pair.ci.low, pair.ci.high) == (-1.0, pytest.approx(pair.delta + half))
    assert (pair.ci.high < 0) == (pair.p.adjusted <= 0.05)
    assert min(pair.ci_equivalence.low, pair.ci_check.t.low) >= -1
    unknown = only(compare_scores(scores_of({"a": a, "b": b}, measure="theirs")))
    assert unknown.ci == pair.ci  # scores between 0 and 1 are taken to be made so
    unknown = only(compare_scores(scores_of({"a": 2 * a, "b": 2 * b}, measure="theirs")))
    assert unknown.ci.low == pytest.approx(2 * (pair.delta - half))


def test_the_family_of_exploratory_measures_is_named(demo_comparison):
    """With qrels, parts of the queries are looked at too, and adjusted p-values are larger than without."""
    text = " ".join(text_of(demo_comparison).split())
    (size,) = {result.p.family_size for result in demo_comparison.groups[0].comparisons if result.role != "primary"}
    n_parts = len(only(demo_comparison).strata)
    words = f"over {size} comparisons, {size - n_parts} by other measures and {n_parts} on part of the queries"
    assert n_parts
    assert f"{words} (by relevant docs)" in text
    alone = text_of(compare_scores(demo_comparison.scores))
    assert f"over {size - n_parts} comparisons, {size - n_parts} by other measures (Benj" in " ".join(alone.split())


def test_columns_of_a_pair_are_rounded_alike_and_say_their_n(demo_comparison):
    text = text_of(demo_comparison)
    table = text[text.index("All measures") : text.index("primary: sign flips")].splitlines()[3:-1]
    assert {len(number.partition(".")[2]) for line in table for number in re.findall(r" \d\.\d+ ", line)} != set()
    for column in (r"\) +(\d\.\d+)|^ +\S+ +(\d\.\d+)", r" ([+-]\d\.\d+) ", r"\[([+-]\d\.\d+)", r"\] +(\d\.\d+)"):
        found = [next(filter(None, match.groups())) for line in table if (match := re.search(column, line))]
        assert len(found) == 6
        assert len({len(number.partition(".")[2]) for number in found}) == 1
    assert "Judged@10: n = 14, the queries for which both systems have a score" in text


@pytest.fixture(scope="module")
def demo_comparison():
    with pytest.warns(rs.RankscopeWarning, match="does not answer"):
        return rs.compare(demo_file("qrels.txt"), [demo_file("hybrid.run"), demo_file("bm25.run")], n_resamples=999)


def test_levels_and_signs_are_written_as_people_do(demo_comparison):
    pair = only(demo_comparison)
    assert (pair.ci.level, pair.ci_equivalence.level) == (0.95, 0.9)
    odd = only(compare_scores(demo_comparison.scores, alpha=0.07))
    assert (odd.ci.level, odd.ci_equivalence.level) == (0.93, 0.86)
    page = render(report_of(demo_comparison), "html")
    assert f"\N{MINUS SIGN}{abs(pair.delta):.3f}" in page
    assert f"-{abs(pair.delta):.3f}" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)


def test_verdicts_on_several_systems_are_counted_in_words_that_can_be_read():
    scores = scores_of({"a": 0.5 + 3 * NOISE, "b": 0.5 + 3 * NOISE[::-1], "c": 0.5 - 3 * NOISE})
    comparison = compare_scores(scores, n_resamples=999)
    assert [item.final_verdict.code for item in comparison] == ["cannot_tell", "cannot_tell"]
    counts = next(block for block in report_of(comparison).first_screen if isinstance(block, VerdictCounts))
    assert [(group.words, group.names, group.mark) for group in counts.groups] == [
        ("cannot tell", ("c", "b"), "unsure")
    ]
    assert "○ 2 cannot tell" in text_of(comparison)


@pytest.mark.parametrize(("shift", "margin"), [(0.0, 0.01), (-0.5, 0.0), (0.8, 0.0)])
def test_a_measure_that_nobody_knows_has_the_usual_margin_where_its_scores_are_shares(shift, margin):
    scores = scores_of({"a": 0.3 + shift + NOISE, "b": 0.4 + shift - NOISE}, measure="ours")
    assert only(compare_scores(scores, n_resamples=999)).margin == margin
    assert range_of("ours") == (-math.inf, math.inf)
    assert range_of("nDCG@10") == (0, 1)


@pytest.mark.parametrize(("n_pairs", "n_strata"), [(1, 2), (2, 2), (3, 0)])
def test_strata_nobody_asked_for_are_left_out_where_there_are_many_pairs(n_pairs, n_strata, monkeypatch):
    monkeypatch.setattr("rankscope.comparison.groups.MANY_PAIRS", 2)
    kinds = {f"q{i:03}": {"kind": "even" if i % 2 else "odd"} for i in range(60)}
    systems = {"old": np.full(60, 0.3), **{f"new {i}": 0.4 + NOISE * i for i in range(1, n_pairs + 1)}}
    found = list(compare_scores(scores_of(systems), queries=kinds, n_resamples=999))
    assert [len(pair.strata) for pair in found] == [n_strata] * n_pairs


@pytest.mark.parametrize(("n_few", "too_few"), [(MIN_UNITS - 1, True), (MIN_UNITS, False), (MIN_UNITS + 1, False)])
def test_a_stratum_has_enough_queries_from_the_number_on_that_a_verdict_needs(n_few, too_few):
    kinds = {f"q{i:03}": {"kind": "rare" if i < n_few else "usual"} for i in range(40)}
    scores = scores_of({"a": np.full(40, 0.3), "b": np.where(np.arange(40) < n_few, 0.9, 0.3) + NOISE[:40]})
    rare, usual = only(compare_scores(scores, queries=kinds, by="kind")).strata
    assert (rare.too_few, usual.too_few) == (too_few, False)
    assert rare.stands_out is not too_few


@pytest.mark.parametrize(("n", "in_full"), [(999, True), (1_000, False)])
def test_other_measures_over_very_many_queries_are_left_without_resamples_of_their_own(n, in_full):
    noise = np.resize(NOISE, n)
    columns = {name: np.column_stack([0.5 + sign * noise] * 2) for name, sign in (("a", 1), ("b", -1))}
    scores = scores_of({name: column[:, 0] for name, column in columns.items()})
    both = tuple(
        replace(run, measures=("nDCG@10", "AP"), values=columns[name], undefined=np.isnan(columns[name]),
                aggregates=("mean", "mean"))
        for name, run in scores.items()
    )  # fmt: skip
    (group,) = compare_scores(replace(scores, runs=both), n_resamples=99, alpha=0.1).groups
    primary, other = group.comparisons
    assert (primary.measure, primary.bayes is not None) == ("nDCG@10", True)
    assert (other.measure, other.bayes is not None) == ("AP", in_full)


ONE_DOC = {  # at P@1: of 200 docs of the first system 100 are judged, 42 of them relevant; r95 is about 0.5
    "stands": 100,  # 58 of 100 unjudged docs would have to be relevant, which is more than 0.8 * 0.5
    "cautious": 77,  # 35 of 100, between 0.6 * 0.5 and 0.8 * 0.5
    "not_safe": 62,  # 20 of 100
}


@pytest.mark.parametrize(("n_more", "known"), [(0, set(ONE_DOC)), (23, {"not_safe"})])
def test_among_many_pairs_tipping_points_are_looked_for_only_where_nothing_is_safe(n_more, known):
    found = {**ONE_DOC, **{f"more {i}": 100 for i in range(n_more)}}
    queries = [f"q{i:03}" for i in range(200)]
    qrels = {query: {"low": int(i < 42)} if i < 100 else {} for i, query in enumerate(queries)}
    runs = {"low": {query: {"low": 1.0} for query in queries}}
    for name, n_relevant in found.items():
        runs[name] = {query: {name: 1.0} for query in queries}
        for i, query in enumerate(queries):
            qrels[query][name] = int(i < n_relevant)
    checks = {
        item.pair.b: item.unjudged for item in rs.compare(qrels, runs, "P@1", unjudged="uncertain", n_resamples=999)
    }
    assert {name: checks[name].strength for name in ONE_DOC} == {name: name for name in ONE_DOC}
    assert {name for name in ONE_DOC if checks[name].tipping_point_known} == known
    assert checks["not_safe"].tipping_point == pytest.approx(0.2, abs=0.02)


def test_what_unjudged_docs_could_change_is_not_asked_where_nothing_is_claimed():
    queries = [f"q{i:03}" for i in range(40)]
    qrels = {query: {"a": int(i % 2), "b": int(i % 3 == 0), "c": 1, "d": 0} for i, query in enumerate(queries)}
    runs = {name: {query: {name: 2.0, f"unjudged {name}": 1.0} for query in queries} for name in ("a", "b")} | {
        "copy": {query: {"a": 2.0, "unjudged c": 1.0} for query in queries}
    }
    unclear, same = rs.compare(qrels, runs, "P@2", unjudged="uncertain")
    assert (unclear.final_verdict.code, unclear.unjudged) == ("cannot_tell", None)
    assert (same.pair.delta, same.unjudged) == (0, None)


@pytest.mark.parametrize("all_pairs", [False, True])
@pytest.mark.parametrize(("n_unanswered", "code"), [(20, "not_comparable"), (19, "same")])
def test_alike_on_less_than_half_of_the_queries_is_not_called_alike(n_unanswered, code, all_pairs):
    """Everything retrieved is judged, so that Judged@10 is 1 wherever there is an answer; 40 queries."""
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(40)}
    less = {query: ["b", "a"] for query in list(qrels)[n_unanswered:]}
    with pytest.warns(rs.RankscopeWarning, match="does not answer"):
        found = rs.compare(qrels, {"x": {q: ["a", "b"] for q in qrels}, "y": less}, "Judged@10", all_pairs=all_pairs)
    assert only(found).final_verdict.code == code
    said = joined_text(found)
    assert ("Either will do" in said) == (code == "same")
    if code == "not_comparable":
        named = (
            "x and y" if all_pairs else "y and x"
        )  # with the same mean the one named first is held against the other
        assert f"Nothing can be recommended: {named} are not comparable." in said
        assert (
            "Only 20 of 40 queries have a Judged@10 of both; that they are alike there says nothing of the others."
            in said
        )
