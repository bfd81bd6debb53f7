"""A request is decided once, from keywords or from a table of JSON, and says what does not fit."""

import warnings

import pytest

import rankscope as rs
from rankscope.errors import MeasureError, OptionError, RankscopeWarning
from rankscope.evaluation import EvaluateRequest, evaluate_request

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}
RUN = {"q1": {"b": 2.0, "a": 1.0}}


def test_measures_and_policies_are_those_of_the_profile_and_what_is_given_on_top():
    request = EvaluateRequest.decide(profile="gdeval", missing="zero")
    assert [str(measure) for measure in request.measures] == ["nDCG(gain='exp2')@20", "ERR(max_grade=4)@20"]
    assert (request.policies.no_relevant, request.policies.missing) == ("exclude", "zero")


def test_keywords_and_a_table_give_the_same_request():
    keywords = EvaluateRequest.decide(
        ["nDCG@10", "AP"], ties="given", min_rel=2, options=rs.ReadOptions(format="csv", columns={"query": "question"})
    )
    table = {
        "measures": ["nDCG@10", "AP"],
        "ties": "given",
        "min_rel": 2,
        "options": {"format": "csv", "columns": {"query": "question"}},
    }
    assert EvaluateRequest.from_builtins(table) == keywords
    assert EvaluateRequest.from_builtins(keywords.to_builtins()) == keywords


@pytest.mark.parametrize(
    "table", [{}, {"profile": "beir"}, {"measures": "P@5", "weights": "n", "queries": "q.csv", "anyway": True}]
)
def test_a_request_is_read_back_as_it_was(table):
    request = EvaluateRequest.from_builtins(table)
    assert EvaluateRequest.from_builtins(request.to_builtins()) == request


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"tie": "trec"}, "body: unknown key 'tie'\nHint: did you mean ties?"),
        ({"measure": "AP"}, "body: unknown key 'measure'\nHint: did you mean measures?"),
        ({"options": {"formats": "csv"}}, "body: options: unknown key 'formats'\nHint: did you mean format?"),
        ({"depth": "10"}, "body: depth is '10', but it must be a whole number"),
        ({"judged_only": 1}, "body: judged_only is 1, but it must be true or false"),
        ({"threads": True}, "body: threads is True, but it must be a whole number"),
        ({"measures": [1]}, "body: measures is [1], but it must be a text or a list of texts"),
        ({"docs": 3}, "body: docs is 3, but it must be the path of a file, or a table"),
        ([], "body: [] is not a table of options"),
    ],
)
def test_what_does_not_fit_is_named(table, message):
    with pytest.raises(OptionError) as caught:
        EvaluateRequest.from_builtins(table, where="body")
    assert str(caught.value) == message


def test_values_are_checked_as_those_of_keywords():
    with pytest.raises(OptionError, match="ties = 'trek' is not one of trec, given, ascending"):
        EvaluateRequest.from_builtins({"ties": "trek"})
    with pytest.raises(OptionError, match="there is no profile 'bier'"):
        EvaluateRequest.from_builtins({"profile": "bier"})
    with pytest.raises(MeasureError, match="there is no measure 'nDGC'"):
        EvaluateRequest.from_builtins({"measures": "nDGC"})


def test_an_unknown_keyword_gets_a_suggestion():
    with pytest.raises(
        TypeError, match=r"evaluate\(\) got an unexpected keyword argument 'tie'\nHint: did you mean ties\?"
    ):
        rs.evaluate(QRELS, RUN, tie="trec")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'measures_'"):
        EvaluateRequest.decide(measures_="AP")


def test_notes_are_part_of_the_scores_and_only_evaluate_warns_of_them():
    note = "run does not answer 1 of 2 queries: they score 0 and count"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = evaluate_request(EvaluateRequest.decide("AP"), QRELS, RUN)
    assert scores.notes == (note,)
    with pytest.warns(RankscopeWarning, match=note) as caught:
        assert rs.evaluate(QRELS, RUN, "AP") == scores
    assert [warning.filename for warning in caught] == [__file__]


def test_loaded_data_is_taken_as_it_is():
    qrels, run = rs.load_qrels(QRELS), rs.load_run(RUN, name="bm25")
    aligned = []

    def align_and_keep(*args, **kwargs):
        from rankscope.align.alignment import align

        aligned.append(align(*args, **kwargs))
        return aligned[-1]

    scores = evaluate_request(EvaluateRequest.decide("P@1"), qrels, [run], align_run=align_and_keep)
    assert scores["bm25"]["q1", "P@1"] == 1
    assert [hits.query_ids for hits in aligned] == [("q1", "q2")]
