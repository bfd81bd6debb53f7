"""What evaluate returns: access, means with their counts, tables, and how it looks."""

import builtins
import hashlib
import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.arrays import LOG2_TABLE_SIZES, in_order_sum, log2
from rankscope.errors import InputError, OptionError, RankscopeWarning

QRELS = {"q1": {"a": 1}, "q2": {"b": 1, "c": 0}, "q10": {"a": 0}}
RUNS = {
    "bm25": {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}, "q10": {"a": 1.0}},
    "den<s>e": {"q1": {"a": 1.0}, "q2": {"c": 2.0, "b": 1.0}, "q10": {"x": 1.0}},
}


@pytest.fixture
def scores():
    with pytest.warns(RankscopeWarning, match="FirstRel is undefined for 1 of 3 queries"):
        return rs.evaluate(QRELS, RUNS, ["RR", "FirstRel", "NumRet"])


def test_scores_are_reached_by_run_query_and_measure(scores):
    assert list(scores) == ["bm25", "den<s>e"]
    assert len(scores) == 2
    assert scores.measures == ("RR", "FirstRel", "NumRet")
    assert scores["bm25"]["q1", "RR"] == 0.5
    assert scores["bm25"]["q1"] == {"RR": 0.5, "FirstRel": 2, "NumRet": 2}
    assert scores["bm25"].query_ids == ("q1", "q10", "q2")  # by bytes, as trec_eval orders them
    assert scores["bm25"].column("RR").tolist() == [0.5, 0, 1]


def test_what_is_not_there_is_named(scores):
    with pytest.raises(KeyError, match="no run 'bm52'; the runs are bm25, den<s>e"):
        scores["bm52"]
    with pytest.raises(InputError, match="no query 'q3' among the scores"):
        scores["bm25"]["q3", "RR"]
    with pytest.raises(InputError, match=r"no measure 'nDCG' among the scores\nHint: e\.g\."):
        scores["bm25"].column("nDCG")
    with pytest.raises(OptionError, match=r"'maen' is not one of mean, .*\n.*did you mean mean"):
        scores.aggregate("maen")


def test_means_come_with_the_number_of_queries_and_of_undefined_scores(scores):
    mean = scores.mean()["bm25"]["RR"]
    assert (mean.value, mean.n, mean.undefined, mean.missing) == (0.5, 3, 1, 0)
    assert float(mean) == 0.5
    assert scores.mean()["bm25", "FirstRel"].n == 2
    assert scores.mean()["bm25", "NumRet"].value == 4  # counts are summed
    assert scores.aggregate("median")["bm25", "RR"].value == 0.5
    assert len(scores.mean()) == 2
    assert list(scores.mean()) == ["bm25", "den<s>e"]


def test_the_mean_of_nothing_is_undefined_not_zero():
    scores = rs.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, ["RR", "NumRel"], no_relevant="exclude")
    assert math.isnan(scores.mean()["run", "RR"].value)
    assert scores.mean()["run", "RR"].n == 0
    assert scores.mean().to_dict() == {"run": {"RR": None, "NumRel": 0}}
    assert scores.to_dict() == {"run": {"q": {"RR": None, "NumRel": 0}}}
    assert repr(scores).splitlines() == ["run  RR  NumRel", "run   -       0"]


def test_as_plain_dicts(scores):
    assert scores.to_dict()["bm25"]["q10"] == {"RR": 0, "FirstRel": None, "NumRet": 1}
    assert scores.mean().to_dict()["bm25"] == {"RR": 0.5, "FirstRel": 1.5, "NumRet": 4}


def test_as_a_polars_table(scores):
    frame = scores.to_polars()
    assert frame.columns == ["run", "query", "RR", "FirstRel", "NumRet"]
    assert frame.rows()[1] == ("bm25", "q10", 0.0, None, 1.0)
    assert frame.shape == (6, 5)


def test_as_a_pandas_table(scores):
    frame = scores.to_pandas()
    assert list(frame.columns) == ["run", "query", "RR", "FirstRel", "NumRet"]
    assert frame["RR"].tolist() == [0.5, 0, 1, 1, 0, 0.5]
    assert frame["FirstRel"].dtype == np.float64
    assert frame["FirstRel"].isna().tolist() == [False, True, False, False, True, False]


def test_without_pandas_the_error_says_what_to_do(scores, monkeypatch):
    real_import = builtins.__import__

    def no_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    with pytest.raises(OptionError, match="pip install pandas; or use to_polars"):
        scores.to_pandas()


def test_how_it_looks_in_a_terminal(scores):
    assert repr(scores).splitlines() == [
        "run          RR      FirstRel  NumRet",
        "bm25     0.5000  1.5000 (n=2)       4",
        "den<s>e  0.5000  1.5000 (n=2)       4",
    ]
    assert repr(scores.mean()) == repr(scores)


def test_how_it_looks_in_a_notebook(scores):
    html = scores._repr_html_()
    for shown in (html, scores.mean()._repr_html_()):
        assert '<th scope="col" class="rs-n">RR</th>' in shown
        assert "0.5000" in shown
        assert "den&lt;s&gt;e" in shown  # what a user writes is not taken for a tag


def test_policies_profile_and_qrels_are_remembered(scores):
    assert scores.policies["ties"] == "trec"
    assert scores.profile is None
    assert scores.qrels.n_queries == 3
    assert scores.qrels.origin is None
    named = rs.evaluate(QRELS, RUNS, "RR", profile="trec_eval-9")
    assert named.profile == "trec_eval-9"
    assert named.policies["precision"] == "single"


def test_scores_of_files_know_their_files(tmp_path):
    run, qrels = tmp_path / "a.run", tmp_path / "qrels"
    run.write_text("q1 Q0 a 1 1.0 mytag\n")
    qrels.write_text("q1 0 a 1\n")
    scores = rs.evaluate(qrels, run, "RR")
    assert scores["a"].origin.path == str(run)
    assert scores["a"].origin.sha256 == hashlib.sha256(run.read_bytes()).hexdigest()
    assert scores.qrels.origin.path == str(qrels)


def test_the_default_measures():
    measures = rs.evaluate(QRELS, RUNS).measures
    assert measures == ("nDCG@10", "RR@10", "AP", "R@100", "P@10", "Judged@10")


def test_number_of_threads_changes_nothing():
    runs = {f"r{i}": RUNS["bm25"] for i in range(5)}
    one, many = (rs.evaluate(QRELS, runs, threads=n) for n in (1, 4))
    assert one.to_dict() == many.to_dict()
    assert list(one) == list(many) == list(runs)


@pytest.mark.parametrize("size", LOG2_TABLE_SIZES)
def test_a_logarithm_at_the_end_of_a_table_and_beyond_is_the_c_librarys(size):
    for numbers in ([size - 1], [1, size - 1, size], [size - 1, size, 3 * size + 1]):
        assert log2(np.array(numbers)).tolist() == [math.log2(n) for n in numbers]
    assert log2(np.array([], dtype=np.int64)).tolist() == []


def test_sums_run_from_left_to_right():
    values = np.array([1e16, 1.0, -1e16, 1.0])  # a compensated or pairwise sum would give 2 or another number
    assert in_order_sum(values) == ((1e16 + 1.0) - 1e16) + 1.0
    assert in_order_sum(np.array([])) == 0.0
