"""Comparisons as records: what is written as JSON is read back equal, and follows the schema."""

import json
import pickle
from typing import get_args

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.records import Comparison, PairResult
from rankscope.errors import InputError
from rankscope.records import from_json, json_schema, to_json
from rankscope.report.comparison import report_of
from rankscope.report.comparison_json import json_schema as published_schema
from rankscope.report.render import render

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")

QUERIES = [f"q{i:02}" for i in range(24)]
ATTRIBUTES = {
    query: {"kind": "ab"[i % 2], "topic": f"t{i // 2}", "traffic": i % 5, "language": "de" if i < 12 else "en"}
    for i, query in enumerate(QUERIES)
}
NO_LANGUAGE = {query: {k: v for k, v in values.items() if k != "language"} for query, values in ATTRIBUTES.items()}


def data(n_runs=3):
    rng = np.random.default_rng(7)
    qrels = {q: {f"d{j}": int(g) for j, g in enumerate(rng.integers(0, 3, 8))} for q in QUERIES}
    runs = {}
    for r in range(n_runs):
        runs[f"s{r}"] = {
            q: {f"d{j}": float(rng.random() + r * 0.15 * qrels[q].get(f"d{j}", 0)) for j in rng.permutation(14)[:9]}
            for q in QUERIES[r:]  # the first queries are not answered by all
        }
    return qrels, runs


def test_a_margin_of_which_a_record_does_not_say_whose_it_is_is_nobodys():
    record = json.loads(rs.compare(*data(2), margin=0.02).to_json())
    assert record["settings"].pop("margin_given") is True
    assert not Comparison.from_json(json.dumps(record)).settings.margin_given


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"all_pairs": True},
        {"all_pairs": True, "correction": "bonferroni"},
        {"correction": "none", "margin": 0.05, "alpha": 0.1},
        {"queries": NO_LANGUAGE, "by": "kind", "cluster": "topic", "also": "wilcoxon,sign,bootstrap"},
        {"queries": NO_LANGUAGE, "weights": "traffic", "by": ["kind"]},
        {"queries": ATTRIBUTES, "pool": True, "by": "kind"},
        {"unjudged": "irrelevant", "missing": "skip"},
        {"unjudged": "uncertain", "primary": "AP", "baseline": "s1", "seed": 3, "n_resamples": 499},
        {"problems": {"s1": "its ids match nothing."}},
        {"judged_only": True, "depth": 5, "min_rel": 2},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_a_comparison_is_read_back_equal(options):
    qrels, runs = data()
    found = rs.compare(qrels, runs, "nDCG@5 AP RR@10", **options)
    text = found.to_json()
    again = from_json(Comparison, text)
    assert again == found
    assert again.to_json() == text
    jsonschema.Draft202012Validator(published_schema()).validate(json.loads(text))
    with pytest.raises(InputError, match="no scores of queries"):
        report_of(again)
    with_scores = again.with_scores(found.scores).with_lists(found.lists).with_texts(found.texts)
    with_scores = with_scores.with_rankings(found.rankings)
    assert render(report_of(with_scores), "html") == render(report_of(found), "html")


def test_scores_alone_and_measures_without_a_test_are_read_back_equal():
    qrels, runs = data()
    scores = rs.evaluate(qrels, runs, "nDCG@5 Success@1")
    found = compare_scores(scores)
    assert from_json(Comparison, to_json(found)) == found
    few = compare_scores(rs.evaluate({"q00": qrels["q00"]}, {"a": runs["s0"], "b": runs["s0"]}, "RR"))
    assert next(iter(few)).ci.low is None
    assert from_json(Comparison, to_json(few)) == few


def test_a_comparison_goes_to_another_process_with_its_scores():
    qrels, runs = data(2)
    found = rs.compare(qrels, runs, "RR@10")
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.scores.to_dict() == found.scores.to_dict()


def test_a_notebook_shows_a_comparison():
    qrels, runs = data(2)
    found = rs.compare(qrels, runs, "RR@10")
    html = found._repr_html_()
    assert html.startswith('<div class="rs-card">')
    assert found.recommendation.text in html
    assert found.report()._repr_html_().startswith("<iframe")


@pytest.mark.parametrize("n_runs", [2, 3])
def test_a_notebook_shows_what_it_can_of_a_comparison_that_was_read_back(n_runs):
    qrels, runs = data(n_runs)
    found = rs.compare(qrels, runs, "RR@10 AP")
    again = rs.Comparison.from_json(found.to_json())
    html = again._repr_html_()
    assert "with_scores(scores)" in html
    assert found.recommendation.text in html
    assert not again.has_scores
    with pytest.raises(InputError, match="no scores of queries") as raised:
        again.report()
    assert "with_scores(rs.Scores.from_json(text))" in raised.value.hint
    whole = again.with_scores(found.scores).with_lists(found.lists).with_texts(found.texts)
    whole = whole.with_rankings(found.rankings)
    assert whole.report() == found.report()


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
PLAIN = {
    msgspec.inspect.NoneType: st.none(), msgspec.inspect.BoolType: st.booleans(), msgspec.inspect.StrType: st.text(max_size=5),
    msgspec.inspect.IntType: st.integers(-9, 99), msgspec.inspect.FloatType: NUMBERS,
    msgspec.inspect.AnyType: st.none() | st.text(max_size=3),
}  # fmt: skip


def values_of(info):
    """Return a strategy for any type that our records are made of."""
    if type(info) in PLAIN:
        return PLAIN[type(info)]
    if isinstance(info, msgspec.inspect.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, msgspec.inspect.UnionType):
        return st.one_of([values_of(each) for each in info.types])
    if isinstance(info, msgspec.inspect.VarTupleType):
        return st.lists(values_of(info.item_type), max_size=2).map(tuple)
    if isinstance(info, msgspec.inspect.DictType):
        return st.dictionaries(st.text(max_size=3), values_of(info.value_type), max_size=2)
    if info.cls.__name__ == "Settings":
        return st.builds(info.cls, seed=st.integers(0, 9), margin=st.floats(0, 1))
    return st.builds(info.cls, **{field.name: values_of(field.type) for field in info.fields})


@pytest.mark.parametrize("kind", [PairResult, Comparison])
def test_any_record_is_read_back_equal(kind):
    validator = jsonschema.Draft202012Validator(json_schema(kind))

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(msgspec.inspect.type_info(kind)))
    def check(record):
        text = to_json(record)
        assert from_json(kind, text) == record
        validator.validate(json.loads(text))

    check()


def test_the_verdict_codes_have_words():
    from rankscope.comparison.records import Code
    from rankscope.comparison.verdict import WORDS

    assert set(get_args(Code)) == set(WORDS)


def test_json_that_is_written_piece_by_piece_is_that_of_the_whole_record(monkeypatch):
    monkeypatch.setattr("rankscope.comparison.records.PAIRS_IN_A_PIECE", 2)
    several = rs.compare(*data(4), all_pairs=True, queries=ATTRIBUTES, n_resamples=99)
    one = rs.compare(*data(2), n_resamples=99)
    assert [len(group.comparisons) > 2 for group in several.groups] == [True, True]
    for comparison in (several, one):
        whole = json.dumps(json.loads(to_json(comparison, indent=None)), indent=1, ensure_ascii=False) + "\n"
        assert comparison.to_json() == whole
    without = msgspec.structs.replace(one, groups=(msgspec.structs.replace(one.groups[0], comparisons=()),))
    assert without.to_json() == json.dumps(without.to_dict(), indent=1, ensure_ascii=False) + "\n"


def test_ids_that_are_no_text_are_written_piece_by_piece_too():
    runs = {"a": {"q\udcff": {"d": 1.0}}, "b\udc80": {"q\udcff": {"d": 1.0}}}
    comparison = rs.compare({"q\udcff": {"d": 1}}, runs, n_resamples=99)
    assert Comparison.from_json(comparison.to_json().encode()) == comparison
