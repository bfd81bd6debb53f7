"""Scores that are written as JSON and read back are the scores that they were."""

import json
import math
import warnings

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import OptionError, RankscopeError, RankscopeWarning
from rankscope.measures.scores_record import scores_schema

SCHEMA = jsonschema.Draft202012Validator(scores_schema())
MEASURES = ["nDCG@3", "P(rel=2)@2", "FirstRel", "NumRel", "AP(agg='gmean')", "Judged@2", "ERR", "Bpref"]
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4).filter(
    lambda text: text.strip() == text
)


@st.composite
def evaluations(draw):
    """Draw qrels, runs and how they are scored."""
    queries = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    docs = draw(st.lists(IDS, min_size=1, max_size=5, unique=True))
    judged = {q: draw(st.dictionaries(st.sampled_from(docs), st.integers(-1, 3), min_size=1)) for q in queries}
    names = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    answered = st.lists(st.sampled_from(queries), min_size=1, unique=True)
    runs = {
        name: {q: draw(st.dictionaries(st.sampled_from(docs), st.floats(0, 1), min_size=1)) for q in draw(answered)}
        for name in names
    }
    options = {
        "missing": draw(st.sampled_from(["zero", "skip"])),
        "no_relevant": draw(st.sampled_from(["zero", "exclude"])),
        "undefined": draw(st.sampled_from(["zero", "skip"])),
        "profile": draw(st.sampled_from([None, "beir", "ranx"])),
        "min_rel": draw(st.sampled_from([None, 2, 0.5])),
        "depth": draw(st.sampled_from([None, 2])),
    }
    measures = draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=4, unique=True))
    if draw(st.booleans()) and "NumRel" not in measures:
        options["queries"] = {q: {"asked": draw(st.integers(0, 9))} for q in queries}
        options["weights"] = "asked"
    return judged, runs, measures, options


@given(evaluations())
def test_scores_are_read_back_as_they_were(evaluation):
    judged, runs, measures, options = evaluation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = rs.evaluate(judged, runs, measures, anyway=True, **options)
        except rs.RankscopeError:
            return  # such as weights that are all 0
    text = scores.to_json()
    SCHEMA.validate(json.loads(text))
    stored = rs.Scores.from_json(text)
    assert stored == scores
    assert stored.to_json() == text
    for name in ("qrels", "policies", "profile", "weighted_by", "versions", "notes"):
        assert getattr(stored, name) == getattr(scores, name), name
    assert stored.mean().to_dict() == scores.mean().to_dict()


def test_scores_of_files_are_read_back_with_what_is_known_of_the_files(tmp_path):
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 b 0\nr 0 c 1\n")
    (tmp_path / "bm25.run").write_text("q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\nr Q0 c 1 1.0 x\n")
    scores = rs.evaluate(tmp_path / "qrels.txt", tmp_path / "bm25.run", "AP nDCG@10")
    stored = rs.Scores.from_json(scores.to_json())
    assert stored == scores
    assert stored["bm25"].origin.sha256 == scores["bm25"].origin.sha256
    assert stored.qrels.origin.format == "trec"
    assert stored.versions == {"AP": 1, "nDCG@10": 1}


def test_other_scores_are_not_equal():
    qrels = {"q": {"a": 1, "b": 2}}
    scores = rs.evaluate(qrels, {"q": ["a", "b"]}, "nDCG")
    assert scores == rs.evaluate(qrels, {"q": ["a", "b"]}, "nDCG")
    assert scores != rs.evaluate(qrels, {"q": ["b", "a"]}, "nDCG")
    assert scores != rs.evaluate(qrels, {"q": ["a", "b"]}, "nDCG", ties="given")
    assert scores != rs.evaluate(qrels, {"other": {"q": ["a", "b"]}}, "nDCG")


def test_what_an_earlier_version_wrote_is_read():
    old = {
        "rankscope": "0.0.9",
        "profile": None,
        "policies": {"missing": "zero"},
        "qrels": {"path": None, "sha256": None, "n_queries": 2},
        "runs": [
            {
                "name": "x",
                "path": None,
                "sha256": None,
                "mean": {"AP": 0.5},
                "queries": {"1": {"AP": 0.5}, "2": {"AP": None}},
            }
        ],
    }
    run = rs.Scores.from_json(json.dumps(old))["x"]
    assert run["1", "AP"] == 0.5
    assert math.isnan(run["2", "AP"])
    assert run.undefined.tolist() == [[False], [True]]


def test_what_is_no_record_is_said():
    with pytest.raises(rs.RankscopeError, match="there must be the key 'runs'"):
        rs.Scores.from_json("{}")
    with pytest.raises(rs.RankscopeError, match="not JSON"):
        rs.Scores.from_json("runs")


def test_scores_are_compared_with_their_arrays():
    scores = rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "AP")
    run = scores["run"]
    assert run == rs.RunScores(**{**vars(run), "values": np.array([[1.0]])})
    assert run != rs.RunScores(**{**vars(run), "values": np.array([[0.5]])})


@pytest.fixture
def stored():
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    runs = {"one": {"q1": ["a", "b"], "q2": ["b", "a"]}, "two": {"q1": ["b"], "q2": ["a"]}}
    return json.loads(rs.evaluate(qrels, runs, ["NumRelRet", "FirstRel", "AP"]).to_json())


def test_two_runs_of_one_name_are_refused(stored):
    stored["runs"][1]["name"] = "one"
    with pytest.raises(OptionError, match="several runs are called 'one'"):
        rs.Scores.from_json(json.dumps(stored))


@pytest.mark.parametrize("left_out", [["NumRelRet", "FirstRel", "AP"], ["NumRelRet"], ["AP"]])
def test_what_a_record_does_not_say_of_a_measure_is_as_it_is_defined(stored, left_out):
    whole = rs.Scores.from_json(json.dumps(stored))
    for name in left_out:
        del stored["measures"][name]
    read = rs.Scores.from_json(json.dumps(stored))
    assert {name: mean.value for name, mean in read.mean()["one"].items()} == {
        name: mean.value for name, mean in whole.mean()["one"].items()
    }
    assert read.mean()["one"]["NumRelRet"].value == 3  # a sum: 2 docs for q1, 1 for q2
    assert read.runs[0].lower_is_better == whole.runs[0].lower_is_better


def test_another_version_of_a_definition_is_a_warning(stored):
    stored["measures"]["AP"]["version"] = 99
    with pytest.warns(RankscopeWarning, match="AP was computed by version 99 of its definition, today's is 1"):
        assert rs.Scores.from_json(json.dumps(stored)).versions["AP"] == 99


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_numbers_that_are_none_are_refused(stored, number):
    text = json.dumps(stored).replace('"AP": 1.0', f'"AP": {number}')
    assert number in text
    with pytest.raises(OptionError, match=f"{number} is not a finite number"):
        rs.Scores.from_json(text)


@pytest.mark.parametrize("text", ["null", "[]", "{", None, "[" * 100_000])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(RankscopeError):
        rs.Scores.from_json(text)
