"""Measures by subtopic: values worked out by hand, names, thresholds, and what has no score."""

import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.data.subtopics import subtopics_of
from rankscope.errors import MeasureError, RankscopeWarning
from rankscope.measures.extras import Need
from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.measures.spec import MeasureFamily

SPECS = [spec for spec in REGISTRY.values() if spec.family is MeasureFamily.DIVERSITY]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
ALPHA = "\N{GREEK SMALL LETTER ALPHA}"
SINGLE = ["alpha_DCG@3", "alpha_nDCG@3", "ERR_IA@3", "nERR_IA@3", "NRBP", "nNRBP", "StRecall@3", "P_IA@3", "AP_IA"]


def judged(text):
    """Return qrels from lines such as `q 1 a 1`: query, subtopic, doc, grade."""
    columns = ("query", "subtopic", "doc", "grade")
    rows = [dict(zip(columns, line.split(), strict=True)) for line in text.strip().splitlines()]
    return rs.Qrels([{**row, "grade": int(row["grade"])} for row in rows])


def ranked(docs, query="q"):
    return {query: {doc: -float(rank) for rank, doc in enumerate(docs)}}


def scores(qrels, run, measures, query="q", **options):
    found = rs.evaluate(qrels, run, measures, **options)["run"]
    return {name: found[query, name] for name in found.measures}


def score(qrels, docs, measure, **options):
    (only,) = scores(qrels, ranked(docs), measure, **options).values()
    return only


def test_the_measures_of_the_issue_are_there():
    assert [spec.name for spec in SPECS] == [
        "alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "StRecall", "P_IA", "AP_IA",
    ]  # fmt: skip
    assert all(spec.needs == {Need.SUBTOPICS} for spec in SPECS)


@each_spec
def test_every_alias_in_any_case_means_the_measure_and_no_other(spec):
    for name in {spec.name, *spec.aliases}:
        for text in (name, name.lower(), name.upper()):
            assert ALIASES[text.lower()][0] == spec.name
        others = [other for other in REGISTRY.values() if other is not spec]
        assert not any(name.lower() in map(str.lower, (other.name, *other.aliases)) for other in others)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("alpha-nDCG@10", "alpha_nDCG@10"), ("alphaNDCG@10", "alpha_nDCG@10"), (f"{ALPHA}-nDCG@10", "alpha_nDCG@10"),
        (f"{ALPHA}NDCG@5", "alpha_nDCG@5"), (f"{ALPHA.upper()}-NDCG@5", "alpha_nDCG@5"), ("ALPHA_NDCG", "alpha_nDCG"),
        ("alpha_nDCG(alpha=0.5)@10", "alpha_nDCG@10"), ("alpha_nDCG(alpha=.25,rel=2)@10", "alpha_nDCG(alpha=0.25, rel=2)@10"),
        ("alpha-DCG@5", "alpha_DCG@5"), ("err-ia@20", "ERR_IA@20"), ("nERR-IA@20", "nERR_IA@20"), ("strec@5", "StRecall@5"),
        ("strec_5", "StRecall@5"), ("SRecall@5", "StRecall@5"), ("P-IA@5", "P_IA@5"), ("map-ia", "AP_IA"),
        ("NRBP(alpha=0.25, beta=0.8)", "NRBP(alpha=0.25, beta=0.8)"), ("nnrbp", "nNRBP"),
    ],
)  # fmt: skip
def test_names_of_papers_and_other_tools_are_understood(written, canonical):
    assert rs.parse_measure(written).name == canonical


def test_several_cutoffs_may_be_given_at_once():
    assert [measure.name for measure in rs.parse_measures("strec.5,10")] == ["StRecall@5", "StRecall@10"]


FIVE = judged("""
    q 1 a 1
    q 2 a 1
    q 1 b 1
    q 3 c 1
    q 4 d 1
    q 5 d 1
""")


def test_alpha_half_halves_the_worth_of_each_repetition():
    qrels = judged("q 1 a 1\nq 1 b 1\nq 1 c 1")
    assert score(qrels, "abc", "alpha_DCG@3") == pytest.approx(1 + 1 / 2 / math.log2(3) + 1 / 4 / 2)


def test_alpha_0_does_not_mind_repetition_and_alpha_1_does_not_count_it():
    qrels = judged("q 1 a 1\nq 1 b 1")
    assert score(qrels, "ab", "alpha_DCG(alpha=0)@2") == pytest.approx(1 + 1 / math.log2(3))
    assert score(qrels, "ab", "alpha_DCG(alpha=1)@2") == 1


def test_several_alphas_in_one_call():
    names = [f"alpha_DCG(alpha={alpha})@2" for alpha in (0, 0.25, 0.75, 1)]
    found = scores(judged("q 1 a 1\nq 1 b 1"), ranked("ab"), names)
    assert found == pytest.approx({
        f"alpha_DCG(alpha={alpha})@2": 1 + (1 - alpha) / math.log2(3) for alpha in (0, 0.25, 0.75, 1)
    })  # fmt: skip


def test_the_ideal_takes_the_doc_that_adds_most_at_each_rank():
    # d adds 2, a adds 2 (last by id first), c adds 1, b repeats 1
    ideal = 2 + 2 / math.log2(3) + 1 / 2 + 0.5 / math.log2(5)
    assert score(FIVE, "dacb", "alpha_nDCG@4") == pytest.approx(1)
    reverse = 1 + 1 / math.log2(3) + (0.5 + 1) / 2 + 2 / math.log2(5)
    assert score(FIVE, "bcad", "alpha_nDCG@4") == pytest.approx(reverse / ideal)


def test_normalised_at_rank_1_too():
    found = scores(FIVE, ranked("bd"), ["alpha_nDCG@1", "nERR_IA@1", "ERR_IA@1", "alpha_DCG(scale='best')@1"])
    assert found == {
        "alpha_nDCG@1": 1 / 2, "nERR_IA@1": 1 / 2, "ERR_IA@1": 1 / 5, "alpha_DCG(scale='best')@1": 1 / 5,
    }  # fmt: skip


def test_greedy_ideal_can_be_beaten():
    # All three docs add 2 at first. The greedy ideal takes y, the last by id, after which w and x add 1 each.
    qrels = judged("q 1 y 1\nq 3 y 1\nq 1 w 1\nq 2 w 1\nq 3 x 1\nq 4 x 1")
    assert score(qrels, "wx", "alpha_nDCG(alpha=1)@2") == pytest.approx((2 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))


def test_err_ia_unscaled_is_the_mean_over_subtopics_of_err_with_binary_relevance():
    # Chapelle et al. 2009: a relevant doc of a scale up to grade 1 satisfies with chance (2^1 - 1) / 2^1 = 1/2
    err_1 = 1 / 2 + 1 / 2 * 1 / 2 / 3  # relevant at ranks 1 and 3
    err_2 = 1 / 2 / 2  # relevant at rank 2
    qrels = judged("q 1 a 1\nq 2 b 1\nq 1 c 1")
    assert score(qrels, "abc", "ERR_IA(scale='none')@3") == pytest.approx((err_1 + err_2) / 2)
    plain = score(judged("q 1 a 1\nq 1 c 1\nq 2 z 0"), "abc", "ERR(max_grade=1)@3")
    assert plain == pytest.approx(err_1)


def test_nrbp_is_1_for_a_ranking_that_always_serves_everything():
    many = [f"d{i}" for i in range(60)]
    qrels = judged("\n".join(f"q {subtopic} {doc} 1" for doc in many for subtopic in "12"))
    assert score(qrels, many, "NRBP") == pytest.approx(1)
    assert score(qrels, many, "NRBP@1") == pytest.approx(1 - 0.25)


def test_patience_is_a_chance():
    with pytest.raises(MeasureError, match="NRBP: beta = 1 is not valid"):
        score(FIVE, "ab", "NRBP(beta=1)")


def test_subtopics_without_a_relevant_doc_are_dropped():
    qrels = judged("q 1 a 1\nq 2 a 0\nq 2 b 0\nq 3 b 1")
    assert score(qrels, "a", "StRecall@5") == 1 / 2
    assert score(qrels, "a", "P_IA@5") == 1 / 5 / 2


def test_rel_is_the_lowest_grade_that_counts_also_from_the_evaluation():
    qrels = judged("q 1 a 1\nq 1 b 2\nq 2 b 1\nq 2 c 2")
    assert score(qrels, "ab", "StRecall@2") == 1
    assert score(qrels, "ab", "StRecall(rel=2)@2") == 1 / 2
    assert score(qrels, "ab", "StRecall@2", min_rel=2) == 1 / 2
    assert score(qrels, "ab", "StRecall(rel=3)@2") == 0  # undefined, and so 0


def test_grades_are_binary():
    assert score(judged("q 1 a 4\nq 2 b 1"), "ab", "alpha_DCG@2") == pytest.approx(1 + 1 / math.log2(3))


def test_one_subtopic_and_alpha_0_is_plain_binary_ndcg_and_precision_and_average_precision():
    qrels = judged("q 1 a 1\nq 1 b 1\nq 1 c 1\nq 2 z 0")
    found = scores(
        qrels, ranked("axbz"), ["alpha_nDCG(alpha=0)@3", "nDCG@3", "P_IA@3", "P@3", "AP_IA", "AP", "AP_IA@2", "AP@2"]
    )
    values = list(found.values())
    assert values[::2] == pytest.approx(values[1::2])


def test_a_query_without_relevant_docs_is_undefined_and_an_unanswered_one_scores_0():
    qrels = judged("p 1 a 1\nq 1 a 0\nq 2 a 0\nr 2 a 1")
    run = {"p": {"a": 1.0}, "q": {"a": 1.0}}
    with pytest.warns(RankscopeWarning, match="does not answer 1 of 3"):
        found = rs.evaluate(qrels, run, SINGLE)["run"]
    assert found.undefined.tolist() == [[False] * 9, [True] * 9, [False] * 9]
    for name in found.measures:
        assert found["p", name] > 0
        assert found["q", name] == found["r", name] == 0
        assert all(np.isfinite(found[query, name]) for query in "pqr")


def test_no_relevant_doc_in_the_whole_file():
    found = rs.evaluate(judged("q 1 a 0\nq 2 a 0"), ranked("a"), SINGLE)["run"]
    assert found.undefined.all()


def test_queries_left_out_of_the_run_do_not_shift_the_others():
    qrels = judged("p 1 a 1\np 2 b 1\nq 1 a 1\nr 1 b 1\nr 2 b 1")
    run = {"r": {"b": 1.0}, "p": {"b": 1.0}}
    with pytest.warns(RankscopeWarning, match="left out"):
        found = rs.evaluate(qrels, run, ["StRecall@1", "alpha_nDCG@1"], missing="skip")["run"]
    assert found.query_ids == ("p", "r")
    assert found.values.tolist() == [[0.5, 1], [1, 1]]


def test_a_doc_judged_twice_for_a_subtopic_counts_once_where_the_first_is_kept():
    rows = [("q", "1", "a", 1), ("q", "1", "a", 1), ("q", "2", "a", 0), ("q", "2", "a", 1)]
    table = [dict(zip(("query", "subtopic", "doc", "grade"), row, strict=True)) for row in rows]
    found = scores(table, ranked("a"), ["alpha_DCG@1", "P_IA@1"], duplicates="first")
    assert found == {"alpha_DCG@1": 1, "P_IA@1": 1}


def test_a_cutoff_is_needed_where_the_divisor_depends_on_it():
    for name in ("ERR_IA", "alpha_DCG", "P_IA"):
        with pytest.raises(MeasureError, match="needs a cut-off"):
            rs.parse_measure(name)


def test_qrels_without_subtopics_are_refused_with_the_next_step():
    with pytest.raises(MeasureError, match=r"alpha_nDCG@5 needs subtopics\nHint: give qrels with a subtopic column"):
        rs.evaluate({"q": {"a": 1}}, ranked("a"), "alpha_nDCG@5")


def test_ties_in_the_ideal_are_found_for_alphas_that_are_not_exact_in_binary():
    # after a, both b and c repeat three subtopics, added up in another order
    qrels = judged("\n".join(f"q {t} {doc} 1" for doc, ts in [("a", "123456"), ("b", "612"), ("c", "345")] for t in ts))
    subtopics = subtopics_of(qrels, rel=1.0)
    ideal = subtopics.ideal(["q"], alpha=0.3, k=3)
    assert ideal.seen.tolist() == [0] * 6 + [1] * 6
    assert score(qrels, "acb", "alpha_nDCG(alpha=0.3)@3") == pytest.approx(1)


def test_a_deeper_ideal_is_made_when_it_is_asked_for():
    many = [f"d{i:02}" for i in range(40)]
    qrels = judged("\n".join(f"q {i % 3} {doc} 1" for i, doc in enumerate(many)))
    subtopics = subtopics_of(qrels, rel=1.0)
    depths = [subtopics.ideal(["q"], alpha=0.5, k=k).ranks.max() for k in (5, 30, 10, None, 25)]
    assert depths == [5, 30, 10, 40, 25]


def test_subtopics_are_found_once_per_threshold():
    assert subtopics_of(FIVE, rel=1.0) is subtopics_of(FIVE, rel=1.0)
    assert subtopics_of(FIVE, rel=2.0) is not subtopics_of(FIVE, rel=1.0)
