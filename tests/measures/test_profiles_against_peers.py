"""Profiles of ir_measures, ranx and scikit-learn: the numbers of the packages themselves, on random rankings.

Each test compares query by query. What a package does that its profile does not follow is kept out of the data, and
shown by a test of its own, so that the notes of the profiles stay true.
"""

import math
import shutil
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import RankscopeWarning

DOCS = [f"d{i}" for i in range(12)]
few_examples = settings(max_examples=40, deadline=None)
compiles_first = settings(max_examples=25, deadline=None)
"""For ranx, which translates each of its measures to machine code when it is first used."""


@pytest.fixture(scope="session")
def peer():
    """Return a function that imports a package of the dev group, or skips the test and says what is missing."""

    def imported(name: str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a package warns of at its import is not ours to mend
            return pytest.importorskip(
                name, reason=f"{name} is not installed, but is in the dev group of pyproject.toml"
            )

    return imported


@pytest.fixture(scope="session")
def from_ir_measures(peer):
    """Return a function that asks ir_measures for a measure, by query and over all."""
    package = peer("ir_measures")

    def computed(qrels, run, name):
        measure = eval(name, dict(vars(package)))  # its names are expressions of Python
        found = package.calc([measure], qrels, run)
        return {one.query_id: float(one.value) for one in found.per_query}, float(found.aggregated[measure])

    return computed


@pytest.fixture(scope="session")
def from_ranx(peer):
    """Return a function that asks ranx for measures, by query."""
    package = peer("ranx")

    def computed(qrels, run, *names):
        found = package.Run(run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            package.evaluate(package.Qrels(qrels), found, list(names), make_comparable=True)
        return {name: {query: float(value) for query, value in found.scores[name].items()} for name in names}

    return computed


@pytest.fixture(scope="session")
def bpref_of_ranx(peer):
    """Return ranx's bpref of one query, as written in Python: to translate it takes a minute in every process."""
    function = peer("ranx.metrics.bpref")._bpref.py_func

    def computed(grades, scores):
        docs = {doc: float(i) for i, doc in enumerate({**grades, **scores})}
        judged = np.array([[docs[doc], grade] for doc, grade in grades.items()])
        ranked = np.array([[docs[doc], scores[doc]] for doc in sorted(scores, key=lambda doc: -scores[doc])])
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(function(judged, ranked, 1))

    return computed


@pytest.fixture(scope="session")
def sklearn_metrics(peer):
    """Return the metrics of scikit-learn."""
    peer("sklearn")
    return peer("sklearn.metrics")


@st.composite
def rankings(draw, *, ties=False, grades=(0, 0, 1, 1, 2, 3), missing=True, all_judged=False):
    """Return qrels and a run of one to three queries; the first one is always answered."""
    qrels, run = {}, {}
    for query in ("1", "2", "3")[: draw(st.integers(1, 3))]:
        judged = draw(st.lists(st.sampled_from(DOCS), min_size=2, max_size=9, unique=True))
        qrels[query] = {doc: draw(st.sampled_from(grades)) for doc in judged}
        if missing and run and draw(st.integers(0, 4)) == 0:
            continue
        found = draw(st.lists(st.sampled_from(DOCS), min_size=1, max_size=12, unique=True))
        if all_judged:
            found = draw(st.permutations(sorted({*found, *judged})))
        scores = draw(st.lists(st.integers(-2, 3), min_size=12, max_size=12)) if ties else range(12, 0, -1)
        run[query] = {doc: score / 4 for doc, score in zip(found, scores, strict=False)}
    return qrels, run


def ours(qrels, run, name, profile):
    """Return a measure of each query, and what is reported for all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankscopeWarning)  # queries that the run does not answer
        scores = rs.evaluate(qrels, run, name, profile=profile)["run"]
    (measure,) = scores.measures
    return {query: scores[query, measure] for query in scores.query_ids}, scores.mean()[measure].value


class TestIrMeasures:
    BY_PYTREC_EVAL = (
        "P@3", "P@20", "P(rel=2)@3", "P(judged_only=True)@3", "R@3", "R(rel=2)@5", "AP", "AP@3", "AP(rel=2)@3",
        "AP(judged_only=True)", "RR", "RR(rel=2)", "Rprec", "Rprec(rel=2)", "nDCG", "nDCG@3", "nDCG@20",
        "nDCG(gains={1: 3, 2: 9})@5", "nDCG(judged_only=True)@3", "Bpref", "infAP", "SetP", "SetP(rel=2)", "SetRelP",
        "SetR", "SetF", "SetAP", "Success@1", "Success(rel=2)@3", "IPrec@0.0", "IPrec@0.2", "IPrec@0.5", "IPrec@1.0",
        "NumRet", "NumRelRet", "NumRelRet(rel=2)",
    )  # fmt: skip
    BY_OTHERS = ("RR@3", "RR(rel=2)@5", "Judged@3", "Judged@20", "Judged")
    """Of these the package orders equal scores otherwise."""
    BY_CWL_EVAL = (("RBP(rel=1)", 1e-12), ("RBP(p=0.5, rel=2)", 1e-12), ("INST(max_rel=3)", 2e-3))
    """With how far they may differ: INST goes on behind rank 1000 here."""
    BY_NDEVAL = (
        *("alpha_nDCG@5", "alpha_nDCG(alpha=0.3)@5", "alpha_DCG@5", "ERR_IA@5", "nERR_IA@5", "NRBP", "nNRBP"),
        *("StRecall@5", "P_IA@5", "AP_IA"),
    )

    @pytest.mark.parametrize("name", [*BY_PYTREC_EVAL, *BY_OTHERS])
    def test_measures_without_ties(self, from_ir_measures, name):
        @few_examples
        @given(rankings())
        def check(case):
            by_query, mean = from_ir_measures(*case, name)
            our_values, our_mean = ours(*case, name, "ir_measures")
            assert our_values == pytest.approx(by_query, abs=1e-12)
            assert our_mean == pytest.approx(mean, abs=1e-12)

        check()

    @pytest.mark.parametrize("name", ["P@3", "AP", "RR", "nDCG@3", "Bpref", "infAP", "IPrec@0.5"])
    def test_ties_and_grades_below_0_as_in_pytrec_eval(self, from_ir_measures, name):
        @few_examples
        @given(rankings(ties=True, grades=(-1, 0, 1, 1, 2)))
        def check(case):
            qrels, run = case
            # the program reads past the end of an array where no doc was judged
            judged = {query: {**grades, "d99": 1} for query, grades in qrels.items()}
            assert ours(judged, run, name, "ir_measures")[0] == pytest.approx(
                from_ir_measures(judged, run, name)[0], abs=1e-12
            )

        check()

    def test_scores_are_compared_in_single_precision(self, from_ir_measures):
        qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 0.1 + 1e-10, "b": 0.1}}
        assert from_ir_measures(qrels, run, "RR")[0] == ours(qrels, run, "RR", "ir_measures")[0] == {"1": 0.5}

    @pytest.mark.parametrize(("name", "tolerance"), BY_CWL_EVAL)
    def test_measures_of_cwl_eval(self, peer, from_ir_measures, name, tolerance):
        peer("cwl")

        @few_examples
        @given(rankings(missing=False, grades=(0, 1, 2, 3)))
        def check(case):
            by_query, _ = from_ir_measures(*case, name)
            assert ours(*case, name, "ir_measures")[0] == pytest.approx(by_query, abs=tolerance)

        check()

    @pytest.mark.parametrize("name", BY_NDEVAL)
    def test_measures_by_subtopic(self, peer, from_ir_measures, name):
        peer("pyndeval")
        package = peer("ir_measures")

        @few_examples
        @given(rankings(missing=False), st.lists(st.sampled_from("123"), min_size=30, max_size=30))
        def check(case, subtopics):
            qrels, run = case
            rows = [(query, doc, grade) for query, grades in qrels.items() for doc, grade in grades.items()]
            rows = [(*row, subtopic) for row, subtopic in zip(rows, subtopics, strict=False)]
            rows += [(query, "d99", 1, "4") for query in qrels]  # nNRBP is NaN there where nothing is relevant
            by_query, _ = from_ir_measures([package.Qrel(*row) for row in rows], run, name)
            named = [dict(zip(("query", "doc", "grade", "subtopic"), row, strict=True)) for row in rows]
            assert ours(named, run, name, "ir_measures")[0] == pytest.approx(by_query, abs=1e-12)

        check()

    @pytest.mark.skipif(
        shutil.which("perl") is None, reason="ERR of ir_measures is gdeval.pl, and there is no perl here"
    )
    @pytest.mark.parametrize("name", ["ERR@3", "nDCG(dcg='exp-log2')@3"])
    def test_measures_of_gdeval(self, from_ir_measures, name):
        qrels = {"1": {"a": 3, "b": 1, "c": 0, "d": 4}, "2": {"a": 0, "b": 2}, "3": {"a": 0}, "4": {"a": 1}}
        run = {"1": {"c": 4.0, "b": 3.0, "a": 2.0, "d": 1.0}, "2": {"b": 1.0, "x": 2.0}, "3": {"a": 1.0}}
        by_query, _ = from_ir_measures(qrels, run, name)
        assert ours(qrels, run, name, "ir_measures")[0] == pytest.approx(by_query, abs=5e-6)  # five decimals

    # Where the package is not followed

    def test_the_beta_of_set_f_is_squared_there(self, from_ir_measures):
        qrels, run = {"1": {"a": 1, "b": 1, "c": 1}}, {"1": {"a": 2.0, "x": 1.0}}
        precision, recall, beta = 1 / 2, 1 / 3, 2
        by_hand = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
        assert ours(qrels, run, "SetF(beta=2)", "ir_measures")[1] == pytest.approx(by_hand)
        assert from_ir_measures(qrels, run, "SetF(beta=4.0)")[1] == pytest.approx(by_hand)

    def test_compat_goes_on_behind_the_end_of_the_lists(self, from_ir_measures):
        qrels, run = {"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}
        p = 0.95
        # they agree on a from depth 2 on; the ideal ranking agrees with itself from depth 1 on, and both stop at 2
        assert from_ir_measures(qrels, run, "Compat")[1] == pytest.approx((p / 2) / (1 + p / 2))
        # here both go on: the sum of p^(d-1)/d over all d is -ln(1-p)/p, and what is left out beyond 1000 is below 1e-22
        whole = -math.log(1 - p) / p
        assert ours(qrels, run, "Compat", "ir_measures")[1] == pytest.approx((whole - 1) / whole)

    def test_other_measures_order_ties_by_ascending_id_there(self, from_ir_measures):
        qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}
        assert from_ir_measures(qrels, run, "RR@3")[1] == 1.0
        assert from_ir_measures(qrels, run, "RR")[1] == ours(qrels, run, "RR", "ir_measures")[1] == 0.5
        assert ours(qrels, run, "RR@3", "ir_measures")[1] == 0.5

    def test_judged_and_num_rel_count_otherwise_there(self, from_ir_measures):
        qrels, run = {"1": {"a": 1, "b": -1}, "2": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}}
        assert (
            from_ir_measures(qrels, run, "Judged@2")[0]["1"],
            ours(qrels, run, "Judged@2", "ir_measures")[0]["1"],
        ) == (1, 0.5)
        assert (from_ir_measures(qrels, run, "NumRel")[1], ours(qrels, run, "NumRel", "ir_measures")[1]) == (1, 2)


@pytest.mark.slow
class TestRanx:
    NAMES = (
        "hits", "hits@3", "hit_rate@1", "hit_rate@5", "precision@3", "precision@20", "recall", "recall@3", "f1@3", "f1@20",
        "r-precision", "mrr", "mrr@3", "map", "map@3", "dcg", "dcg@3", "dcg_burges@3", "ndcg", "ndcg@3", "ndcg@20",
        "ndcg_burges@3", "precision@3-l2", "recall@3-l2", "f1@3-l2", "r-precision-l2", "mrr-l2", "map@3-l2", "ndcg-l2",
        "ndcg@3-l2", "ndcg_burges@3-l2", "dcg@3-l2", "hits@3-l2", "hit_rate@2-l2",
    )  # fmt: skip

    @pytest.mark.parametrize("ties", [False, True])
    def test_measures(self, from_ranx, ties):
        @compiles_first
        @given(rankings(ties=ties, grades=(-1, 0, 0, 1, 1, 2, 3)))
        def check(case):
            by_name = from_ranx(*case, *self.NAMES)
            for name in self.NAMES:
                assert ours(*case, name, "ranx")[0] == pytest.approx(by_name[name], abs=1e-12), name

        check()

    def test_rbp_is_divided_by_the_highest_grade(self, from_ranx):
        @compiles_first
        @given(rankings(ties=True))
        def check(case):
            names = ("rbp.80", "rbp.95-l2")
            top = max(grade for grades in case[0].values() for grade in grades.values())
            by_name = from_ranx(*case, *names)
            for name in names:
                values = {query: value * top for query, value in ours(*case, name, "ranx")[0].items()}
                assert values == pytest.approx(by_name[name], abs=1e-12)

        check()

    def test_bpref_where_docs_were_judged_relevant_and_not(self, bpref_of_ranx):
        @compiles_first
        @given(rankings())
        def check(case):
            qrels, run = case
            judged = {query: {**grades, "d98": 1, "d99": 0} for query, grades in qrels.items()}
            values, _ = ours(judged, run, "bpref", "ranx")
            for query in run:
                assert values[query] == pytest.approx(bpref_of_ranx(judged[query], run[query]), abs=1e-12)

        check()

    def test_precision_and_f1_without_a_cut_off_are_measures_of_sets(self, from_ranx):
        @compiles_first
        @given(rankings(missing=False))
        def check(case):
            by_name = from_ranx(*case, "precision", "f1")
            assert ours(*case, "SetP", "ranx")[0] == pytest.approx(by_name["precision"], abs=1e-12)
            assert ours(*case, "SetF", "ranx")[0] == pytest.approx(by_name["f1"], abs=1e-12)

        check()

    # Where the package is not followed

    def test_bpref_is_not_a_number_there_where_no_doc_was_judged_not_relevant(self, bpref_of_ranx):
        qrels, run = {"a": 1, "b": 1}, {"a": 2.0, "c": 1.0}
        assert math.isnan(bpref_of_ranx(qrels, run))
        assert ours({"1": qrels}, {"1": run}, "bpref", "ranx")[1] == 0.5  # trec_eval: one of two, none wrong above it


class TestSklearn:
    def rows_of(self, qrels, run):
        """Return the grades and scores of each query's docs, as scikit-learn takes them."""
        for query, scores in run.items():
            yield (
                query,
                np.array([[qrels[query].get(doc, 0) for doc in scores]]),
                np.array([list(scores.values())]),
            )

    @pytest.mark.parametrize(
        ("name", "function", "options"),
        [
            ("nDCG", "ndcg_score", {}),
            ("nDCG@3", "ndcg_score", {"k": 3}),
            ("DCG", "dcg_score", {}),
            ("DCG@3", "dcg_score", {"k": 3}),
        ],
    )
    @pytest.mark.parametrize("ignore_ties", [False, True])
    def test_gains(self, sklearn_metrics, name, function, options, ignore_ties):
        @few_examples
        @given(rankings(missing=False, all_judged=True, grades=(0, 0.5, 1, 2, 3.5)))
        def check(case):
            values, _ = ours(*case, name, "sklearn")
            for query, grades, scores in self.rows_of(*case):
                theirs = getattr(sklearn_metrics, function)(grades, scores, ignore_ties=ignore_ties, **options)
                assert values[query] == pytest.approx(theirs, abs=1e-12)

        check()

    @pytest.mark.parametrize(
        ("name", "function", "options"),
        [
            ("AP", "label_ranking_average_precision_score", {}),
            ("AP", "average_precision_score", {"average": "samples"}),
            ("LastRel", "coverage_error", {}),
        ],
    )
    def test_relevant_or_not(self, sklearn_metrics, name, function, options):
        @few_examples
        @given(rankings(missing=False, all_judged=True, grades=(0, 1)))
        def check(case):
            values, _ = ours(*case, name, "sklearn")
            for query, grades, scores in self.rows_of(*case):
                if 0 < grades.sum() < grades.size:  # else scikit-learn does not see labels of two kinds
                    theirs = getattr(sklearn_metrics, function)(grades, scores, **options)
                    assert values[query] == pytest.approx(theirs, abs=1e-12)

        check()

    @few_examples
    @given(st.lists(st.permutations(range(5)), min_size=5, max_size=8), st.integers(1, 4))
    def test_one_relevant_doc_among_the_first_k(self, sklearn_metrics, scores, k):
        right = [i % 5 for i in range(len(scores))]  # every label has to be there
        qrels = {str(i): {str(label): 1} for i, label in enumerate(right)}
        run = {str(i): {str(label): float(score) for label, score in enumerate(row)} for i, row in enumerate(scores)}
        theirs = sklearn_metrics.top_k_accuracy_score(right, np.array(scores, dtype=float), k=k)
        assert ours(qrels, run, f"Success@{k}", "sklearn")[1] == pytest.approx(theirs)

    def test_means_over_queries_count_those_without_relevant_docs(self, sklearn_metrics):
        grades, scores = np.array([[3, 0, 1], [0, 0, 0]]), np.array([[1.0, 3.0, 2.0], [1.0, 2.0, 3.0]])
        qrels = {str(i): {f"d{j}": int(grade) for j, grade in enumerate(row)} for i, row in enumerate(grades)}
        run = {str(i): {f"d{j}": score for j, score in enumerate(row)} for i, row in enumerate(scores)}
        assert ours(qrels, run, "nDCG", "sklearn")[1] == pytest.approx(sklearn_metrics.ndcg_score(grades, scores))

    # Where the package is not followed

    def test_ties_are_averaged_there(self, sklearn_metrics):
        # the example of its documentation: the grades 10 and 5 are tied for rank 1, so (10/10 + 5/10) / 2
        grades = [10, 0, 0, 1, 5]
        scores = [1.0, 0.0, 0.0, 0.0, 1.0]
        assert sklearn_metrics.ndcg_score([grades], [scores], k=1) == 0.75
        qrels, run = ({"1": dict(zip("abcde", row, strict=True))} for row in (grades, scores))
        assert ours(qrels, run, "nDCG@1", "sklearn")[1] in {0.5, 1.0}

    def test_a_doc_that_is_not_in_its_row_is_no_part_of_the_ideal_there(self, sklearn_metrics):
        qrels, run = {"1": {"a": 1, "b": 0, "c": 3}}, {"1": {"a": 2.0, "b": 1.0}}
        assert sklearn_metrics.ndcg_score([[1, 0]], [[2.0, 1.0]]) == 1.0
        assert ours(qrels, run, "nDCG", "sklearn")[1] == pytest.approx(1 / (3 + 1 / math.log2(3)))

    def test_a_query_without_relevant_docs_is_perfect_there(self, sklearn_metrics):
        assert sklearn_metrics.label_ranking_average_precision_score([[0, 0]], [[2.0, 1.0]]) == 1.0
        assert ours({"1": {"a": 0, "b": 0}}, {"1": {"a": 2.0, "b": 1.0}}, "AP", "sklearn")[1] == 0.0
