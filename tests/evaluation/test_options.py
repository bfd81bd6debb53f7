"""Every option in Python is checked: a wrong type or value is an error that names the option, the value and its kind."""

import inspect
import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.errors import MeasureError, OptionError, UnknownKeywordError, UnknownNameError
from rankscope.evaluation import EvaluateRequest

QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
WORSE = {query: ["x", "a"] if i % 2 else ["a", "b"] for i, query in enumerate(QRELS)}
BETTER = {query: ["a", "b"] for query in QRELS}
RUNS = {"worse": WORSE, "better": BETTER}
SCORES = rs.evaluate(QRELS, RUNS, "RR")

EVALUATING = {
    "judged_only": ["no", 1],
    "anyway": ["no", 1],
    "depth": ["10", 0, 2.5, True],
    "min_rel": ["1", -1, True, math.nan],
    "ties": ["trek", 1, ["trec"]],
    "missing": [0],
    "profile": [1, "bier"],
    "options": [{"format": "trec"}],
    "qrels_options": ["trec"],
}
THREADS = {"threads": [-1, 0, "2", 1.5, True]}
COMPARING = {
    "all_pairs": ["yes", 1],
    "pool": ["no"],
    "alpha": ["0.1", 0, True, math.nan],
    "margin": ["a", -1],
    "seed": ["a", -1, 0.5],
    "n_resamples": [10.5, 999.5, "999", 10],
    "correction": [None, 1, "magic"],
    "also": [1, "magic", [1]],
    "by": [1],
    "baseline": [1, "nobody"],
    "primary": [1],
    "cluster": [1],
    "weights": [1],
    "problems": ["better"],
}
POLICIES = {name: values for name, values in EVALUATING.items() if name in ("judged_only", "depth", "min_rel", "ties")}
READING = {name: EVALUATING[name] for name in ("options", "qrels_options")}
CALLS = {
    "evaluate": (lambda **given: rs.evaluate(QRELS, WORSE, "AP", **given), {**EVALUATING, **THREADS}),
    "compare": (
        lambda **given: rs.compare(QRELS, RUNS, "AP", **given),
        {**EVALUATING, **THREADS, **COMPARING, "unjudged": [1, "perhaps"]},
    ),
    "compare_scores": (lambda **given: rs.compare_scores(SCORES, **given), COMPARING),
    "plan": (
        lambda **given: rs.plan(QRELS, RUNS, "RR", **given),
        {
            **EVALUATING,
            "detect": ["a", -0.1, 0, math.nan],
            "queries": [1, 2.5, "9"],
            "systems": [1, 0, "2"],
            "alpha": [0, 1, "0.1"],
            "power": [0, 1, "0.8"],
            "seed": [-1, "a"],
            "scores": ["scores.csv"],
        },
    ),
    "validate": (lambda **given: rs.validate(QRELS, WORSE, **given), READING),
    "diagnose": (
        lambda **given: rs.diagnose(QRELS, WORSE, **given),
        {**POLICIES, **READING, "k": ["3", 0, 2.5, True], "pool_cuts": [5, ["5"], [0]], "anyway": ["no"]},
    ),
    "explain": (lambda **given: rs.explain(QRELS, WORSE, "q1", "AP", **given), {**POLICIES, **READING}),
    "fuse": (
        lambda **given: rs.fuse([WORSE, BETTER], **given),
        {
            "method": [1, "magic"],
            "k": ["60", -1, math.nan],
            "weights": ["ab", [1, "a"], 2],
            "norm": [1, "magic"],
            "depth": [0, "3", 1.5],
            "name": [1],
        },
    ),
    "trec_eval_text": (
        lambda **given: rs.trec_eval_text(QRELS, WORSE, "map", **given),
        {**POLICIES, "per_query": ["no"], "complete": ["no"], "options": ["trec"], "profile": [9, "beir"]},
    ),
    "robustness": (
        lambda **given: rs.robustness(SCORES, "RR", **given),
        {"baseline": [1, "zz"], "alpha": ["1", -1, math.nan]},
    ),
    "load_run": (lambda **given: rs.load_run(WORSE, **given), {"name": [1], "options": ["trec"]}),
    "load_qrels": (
        lambda **given: rs.load_qrels(QRELS, **given),
        {"duplicates": ["frist"], "options": ["trec"], **THREADS},
    ),
    "convert": (
        lambda **given: rs.convert("a.run", "a.csv", **given),
        {"kind": [1, "runs"], "lenient": ["no"], "columns": ["query"], "source_format": [1], "target_format": [1]},
    ),
    "plan by sd": (
        lambda **given: rs.plan(**{"sd": 0.1, "detect": 0.1, **given}),
        {"sd": ["a", 0, -1, math.inf], "depth": ["x"], "judged_only": ["no"]},
    ),
    "write_run": (lambda **given: rs.write_run(WORSE, "b.run", **given) or True, {"format": [1, "magic"]}),
    "aggregate": (SCORES.aggregate, {"how": [1, "med"]}),
    "compare_scores of": (lambda scores=SCORES: rs.compare_scores(scores), {"scores": ["scores.csv"]}),
    "ReadOptions": (rs.ReadOptions, {"lenient": ["no", 1], "format": [1], "columns": ["query"]}),
    "Policies": (rs.Policies, POLICIES),
}
CASES = [
    pytest.param(call, name, value, id=f"{function}-{name}-{value}")
    for function, (call, options) in CALLS.items()
    for name, values in options.items()
    for value in values
]


@pytest.fixture(autouse=True)
def a_run_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rs.write_run(WORSE, "a.run")


@pytest.mark.parametrize(("call", "name", "value"), CASES)
def test_a_wrong_value_is_refused_and_named(call, name, value):
    with pytest.raises(rs.RankscopeError) as caught:
        call(**{name: value})
    message = str(caught.value)
    in_words = {
        "also": "test",
        "source_format": "format",
        "target_format": "format",
        "how": "one of",
        "pool_cuts": "cut-off",
        "baseline": "run",
    }
    assert name in message or in_words.get(name, "?") in message
    assert str(value).strip("[]") in message or repr(value) in message


@pytest.mark.parametrize("function", CALLS)
def test_options_that_are_right_are_taken(function):
    call, _ = CALLS[function]
    assert call() is not None


def test_numbers_and_truths_of_numpy_are_taken():
    given = {"depth": np.int64(1), "min_rel": np.float32(1), "judged_only": np.True_, "threads": np.int32(1)}
    assert rs.evaluate(QRELS, WORSE, "AP", **given) == rs.evaluate(
        QRELS, WORSE, "AP", depth=1, min_rel=1, judged_only=True
    )
    found = rs.compare(QRELS, RUNS, "RR", alpha=np.float64(0.1), seed=np.int64(1), n_resamples=np.int64(999))
    assert found == rs.compare(QRELS, RUNS, "RR", alpha=0.1, seed=1, n_resamples=999)


def test_a_text_is_no_truth():
    with pytest.raises(OptionError, match="judged_only is 'no', but it must be True or False"):
        rs.evaluate(QRELS, WORSE, "AP", judged_only="no")
    with pytest.raises(OptionError, match="all_pairs is 'yes', but it must be True or False"):
        rs.compare(QRELS, RUNS, "AP", all_pairs="yes")


def test_a_request_is_checked_when_it_is_made():
    with pytest.raises(OptionError, match="measures is 'AP', but it must be a tuple of measures") as caught:
        EvaluateRequest(measures="AP")
    assert "EvaluateRequest.decide('AP')" in caught.value.hint
    assert EvaluateRequest(measures=(rs.AP,)) == EvaluateRequest.decide("AP")
    with pytest.raises(OptionError, match="threads is 0"):
        EvaluateRequest(measures=(rs.AP,), threads=0)


@pytest.mark.parametrize("measures", [[], (), "", iter(())])
def test_no_measure_at_all_is_an_error(measures):
    with pytest.raises(MeasureError, match="no measure is named"):
        rs.evaluate(QRELS, WORSE, measures)
    with pytest.raises(MeasureError, match="5 is not the name of a measure"):
        rs.evaluate(QRELS, WORSE, 5)


@pytest.mark.parametrize(
    ("function", "wrong", "right"),
    [
        ("evaluate", "tie", "ties"),
        ("compare", "allpairs", "all_pairs"),
        ("compare_scores", "allpairs", "all_pairs"),
        ("plan", "detct", "detect"),
        ("plan", "tie", "ties"),
        ("diagnose", "pool_cut", "pool_cuts"),
        ("diagnose", "tie", "ties"),
        ("explain", "tie", "ties"),
        ("trec_eval_text", "judged_onl", "judged_only"),
    ],
)
def test_an_unknown_keyword_names_the_function_and_the_closest(function, wrong, right):
    with pytest.raises(
        UnknownKeywordError, match=rf"{function}\(\) got an unexpected keyword argument '{wrong}'"
    ) as caught:
        CALLS[function][0](**{wrong: 1})
    assert right in caught.value.hint
    assert isinstance(caught.value, TypeError)


def test_an_unknown_name_is_an_error_of_ours_and_a_key_error():
    comparison = rs.compare_scores(SCORES)
    lookups = {
        "run": lambda: SCORES["nope"],
        "run of the means": lambda: SCORES.mean()["nope"],
        "measure of the means": lambda: SCORES.mean()["worse", "AP"],
        "query": lambda: SCORES["worse"]["nope"],
        "measure": lambda: SCORES["worse"].column("AP"),
        "baseline": lambda: rs.robustness(SCORES, "RR", baseline="nope"),
        "pair": lambda: comparison["worse", "nope"],
        "query of a run": lambda: rs.Run(WORSE)["nope"],
        "query of qrels": lambda: rs.Qrels(QRELS)["nope"],
    }
    for what, look_up in lookups.items():
        with pytest.raises(UnknownNameError) as caught:
            look_up()
        assert isinstance(caught.value, KeyError), what
        assert "nope" in str(caught.value) or "AP" in str(caught.value)
    assert SCORES.get("nope") is None
    assert "nope" not in SCORES


def test_help_shows_types_as_they_are_written():
    for function in (rs.compare, rs.compare_scores):
        shown = str(inspect.signature(function))
        assert "ForwardRef" not in shown
        assert "margin: 'float | None' = None" in shown


def test_the_scores_of_a_run_go_over_its_queries():
    run = SCORES["worse"]
    assert list(run) == list(QRELS)
    assert len(run) == 6
    assert "q1" in run
    assert "q9" not in run
