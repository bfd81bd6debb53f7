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
