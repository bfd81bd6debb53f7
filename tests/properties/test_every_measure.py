"""What every registered measure must satisfy, whatever it computes."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.errors import MeasureError
from rankscope.measures.parameters import PARAMETERS
from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.measures.spec import COMMON, Measure, MeasureExample, MeasureFamily, example_hits, measure
from rankscope.testing import check_measure

K = 3
ALL = list(REGISTRY.values())
SPECS = [spec for spec in ALL if not spec.needs]  # what the others compute is tested where their data is
NEEDED = {"k": K, "recall": 0.5}
MORE = {
    "k": [1, K, 10], "recall": [0, 0.5, 1], "rel": [2], "gain": ["exp2", "binary", {1: 3, 2: 9}], "beta": [0.5, 2],
    "p": [0.5, 0.95], "norm": ["min"], "max_grade": [12, "query"], "mult": [0.4, 2], "rounding": ["nearest"], "T": [2.5],
    "over": ["judged"], "found": [2], "wrong": [-0.5], "missed": [-1], "judged_only": [True], "agg": ["median"],
}  # fmt: skip


def basic(spec):
    """Return the measure with only the parameters that it cannot do without."""
    return Measure.of(spec, {name: value for name, value in NEEDED.items() if is_needed(spec, name)})


def is_needed(spec, name):
    return name in spec.parameters and spec.parameters[name] is not None


def variants():
    """Return every measure as it is by default, and once with each other value of each parameter."""
    for spec in SPECS:
        plain = basic(spec)
        yield plain
        for name in (*spec.parameters, *COMMON):
            for value in MORE[name]:
                try:
                    other = Measure.of(spec, {**plain.options, name: value})
                except MeasureError:
                    continue  # RBP and INST take no map of gains
                if other != plain:
                    yield other


VARIANTS = list(dict.fromkeys(variants()))


def named(value):
    return value.name


of_all = pytest.mark.parametrize("spec", ALL, ids=named)
each_spec = pytest.mark.parametrize("spec", SPECS, ids=named)
each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=named)

CELL = st.sampled_from([None, None, -1, 0, 0, 1, 1, 2, 3, 4])
"""What stands at a rank: nobody's judgment, pooled but unjudged, or a grade."""
QUERY = st.tuples(st.lists(CELL, max_size=8), st.lists(st.sampled_from([-1, 0, 1, 2, 4]), max_size=4))
"""The ranking, and the grades of judged docs that were not retrieved."""
DATA = st.lists(QUERY, min_size=1, max_size=3)


def build(data, *, doc_name="d{}".format, junk=0):
    """Return qrels and a run without ties; every query has its own docs."""
    qrels, run = {"unrelated": {"x": 4}}, {}
    for q, (ranking, unfound) in enumerate(data):
        docs = [doc_name(q * 100 + i) for i in range(len(ranking) + len(unfound))]
        grades = [*ranking, *unfound]
        qrels[f"q{q}"] = {doc: grade for doc, grade in zip(docs, grades, strict=True) if grade is not None}
        retrieved = [*docs[: len(ranking)], *(f"junk{i}" for i in range(junk))]
        run[f"q{q}"] = {doc: float(len(retrieved) - i) for i, doc in enumerate(retrieved)}
    return qrels, run


def hits_of(data, **more):
    qrels, run = build(data, **more)
    return align(rs.Qrels(qrels), rs.Run(run), Policies(missing="skip"))


def scores_of(variant, data, **more):
    return variant.score(hits_of(data, **more)).tolist()


def same(one, other):
    return np.array_equal(one, other, equal_nan=True)


@of_all
def test_worked_example_gives_its_score(spec):
    score = Measure.of(spec, spec.example.params).score(example_hits(spec.example), extras=spec.example.extras)
    assert score == pytest.approx([spec.example.score], abs=1e-12)


@of_all
def test_the_suite_that_authors_of_measures_use_passes(spec):
    check_measure(spec.name)


@of_all
def test_everything_that_is_shown_to_people_is_there(spec):
    assert spec.title
    assert spec.formula
    assert spec.undefined
    assert len(spec.cite) > 10
    assert spec.example.working
    assert spec.better in {"higher", "lower"}
    assert re.match(r"Answers: .+\?$", spec.summary)
    assert spec.description.startswith(spec.summary)


@of_all
def test_every_parameter_is_known(spec):
    assert set(spec.parameters) <= set(PARAMETERS)
    for name in spec.parameters:
        assert spec.parameter(name).meaning


@of_all
def test_an_unknown_parameter_is_refused(spec):
    with pytest.raises(MeasureError, match="has no parameter 'nonsense'"):
        Measure.of(spec, {"nonsense": 1})


@each_variant
def test_canonical_name_parses_back(variant):
    assert rs.parse_measures(variant.name) == (variant,)
    assert str(variant) == variant.name


@each_spec
def test_names_in_any_case_and_all_aliases_are_understood(spec):
    for name in (spec.name, *spec.aliases):
        for text in (name, name.lower(), name.upper()):
            assert ALIASES[text.lower()][0] == spec.name


def test_no_alias_belongs_to_two_measures():
    names = [name.lower() for spec in SPECS for name in {spec.name.lower(), *map(str.lower, spec.aliases)}]
    assert len(names) == len(set(names))


def foreign_names():
    for spec in SPECS:
        for tool, names in spec.names_elsewhere.items():
            if tool in {"gdeval", "BEIR"}:
                continue  # gdeval's columns and BEIR's hole are not names that people type
            for name in re.split(r", (?![^(]*\))", re.sub(r" \(.*", "", names)):
                p = "95" if name.startswith("rbp") else "0.95"
                values = {"k": 5, "recall": "0.10", "mult": "0.20", "p": p, "T": 2, "rel": 1, "max_grade": 4}
                yield spec, name.format(**values, **{"beta squared": "4.0"})


@pytest.mark.parametrize(("spec", "name"), [pytest.param(*pair, id=pair[1]) for pair in foreign_names()])
def test_names_of_other_tools_mean_the_same_measure(spec, name):
    assert {parsed.base for parsed in rs.parse_measures(name)} == {spec.name}


@each_variant
@settings(max_examples=15)
@given(data=DATA)
def test_score_is_within_its_range_or_undefined(variant, data):
    low, high = variant.spec.range
    for score in scores_of(variant, data):
        if math.isnan(score):
            assert not variant.spec.undefined.startswith("never")
        else:
            assert low - 1e-12 <= score <= high + 1e-12
            assert math.isfinite(score)


@each_spec
@settings(max_examples=20)
@given(data=DATA, order=st.randoms(use_true_random=False))
def test_renaming_docs_changes_nothing(spec, data, order):
    variant = basic(spec)
    names = list(range(1000))
    order.shuffle(names)
    assert same(scores_of(variant, data), scores_of(variant, data, doc_name=lambda i: f"x{names[i]}"))


@each_spec
@settings(max_examples=20)
@given(data=DATA, order=st.randoms(use_true_random=False))
def test_order_of_queries_and_rows_changes_nothing(spec, data, order):
    qrels, run = build(data)
    plain = basic(spec)
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    judged = [(query, doc, grade) for query, docs in qrels.items() for doc, grade in docs.items()]
    order.shuffle(rows)
    order.shuffle(judged)
    policies = Policies(missing="skip")
    answered = {query for query, _, _ in rows} & {query for query, _, _ in judged}
    if not answered:
        return
    shuffled = align(rs.Qrels(judged), rs.Run(rows), policies)
    straight = align(rs.Qrels(qrels), rs.Run(run), policies)
    straight = straight.select(np.array([query in answered for query in straight.query_ids]))
    assert shuffled.query_ids == straight.query_ids
    assert same(plain.score(shuffled), plain.score(straight))


LONG = st.tuples(st.lists(CELL, min_size=K, max_size=8), st.lists(st.sampled_from([0, 1, 2]), max_size=4))


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "k" in spec.parameters], ids=named)
@settings(max_examples=40)
@given(data=st.lists(LONG, min_size=1, max_size=3), n=st.integers(1, 5))
def test_junk_below_k_changes_nothing_at_k(spec, data, n):
    at_k = Measure.of(spec, {"k": K})
    assert same(scores_of(at_k, data), scores_of(at_k, data, junk=n))


PROMOTABLE = st.tuples(
    st.lists(CELL, max_size=5), st.sampled_from([None, -1, 0]), st.sampled_from([1, 2, 4]), st.lists(CELL, max_size=5),
    st.lists(st.sampled_from([0, 1, 2]), max_size=3),
)  # fmt: skip
MONOTONE = [
    variant
    for variant in VARIANTS
    if variant.spec.monotone
    and not variant.options.get("judged_only")  # without unjudged docs the swap may not be one
    and variant.options.get("rel") is None  # the doc above is below 1, so it is not relevant
]


@pytest.mark.parametrize("variant", MONOTONE, ids=named)
@settings(max_examples=30)
@given(parts=PROMOTABLE)
def test_promoting_a_relevant_doc_never_makes_it_worse(variant, parts):
    above, wrong, right, below, unfound = parts
    before, after = (
        scores_of(variant, [([*above, *pair, *below], unfound)])[0] for pair in ((wrong, right), (right, wrong))
    )
    if variant.spec.better == "lower":
        before, after = -before, -after
    worst = -math.inf
    assert (worst if math.isnan(after) else after) >= (worst if math.isnan(before) else before) - 1e-12


def test_control_the_promotion_test_catches_a_measure_that_is_not_monotone():
    last = rs.parse_measure("LastRel@2")  # 1, then 2 once the second relevant doc is within the cut-off
    assert not last.spec.monotone
    assert [scores_of(last, [(ranking, [])]) for ranking in ([1, 0, 1], [1, 1, 0])] == [[1], [2]]


NOTHING = {
    "an empty ranking": ([], [1, 0]),
    "no relevant doc": ([0, None], [0]),
    "only docs that were pooled but not judged": ([-1, None], [-1]),
    "no judgment": ([None, None], []),
    "no judgment and no doc": ([], []),
}


@each_variant
@pytest.mark.parametrize("case", NOTHING)
def test_nothing_to_score_is_a_number_or_undefined(variant, case):
    for score in scores_of(variant, [NOTHING[case], ([1], [])]):
        assert not math.isinf(score)


NEED_RELEVANT_DOCS = {
    "no relevant doc is judged for the query",
    "no judged doc of the query has a gain above 0",
    "no relevant doc was found within k",
}


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.undefined in NEED_RELEVANT_DOCS], ids=named)
def test_undefined_means_nan_where_no_relevant_doc_is_judged(spec):
    first, second = scores_of(basic(spec), [([0, None], [0]), ([1, 0], [1])])
    assert math.isnan(first)
    assert not math.isnan(second)


@each_variant
def test_a_second_call_gives_the_same_and_leaves_the_hits_alone(variant):
    hits = hits_of([([0, 1, None, 2, -1], [1, 0]), ([], [1]), ([2, 2], [])])
    fields = ("n_retrieved", "offsets", "ranks", "grades", "ideal_offsets", "ideal_grades")
    before = {name: getattr(hits, name).copy() for name in fields}
    first, second = variant.score(hits), variant.score(hits)
    assert same(first, second)
    assert all(np.array_equal(before[name], getattr(hits, name)) for name in fields)


@each_variant
def test_a_query_scores_the_same_alone_and_among_others(variant):
    data = [([0, 1, None, 2, -1], [1, 0]), ([None, 4], [1]), ([], [1, 3]), ([2, 2], []), ([0], [0])]
    together = scores_of(variant, data)
    alone = [scores_of(variant, [query])[0] for query in data]
    assert together == pytest.approx(alone, abs=1e-12, nan_ok=True)


EXAMPLE = MeasureExample([1], [1], 1.0, {}, "one")
COMPLETE = {"family": MeasureFamily.SET, "formula": "x", "range": (0, 1), "cite": "Somebody, 1999", "example": EXAMPLE}


def with_docstring(hits):
    """Answers: anything?"""
    return np.ones(len(hits))


def without_docstring(hits):
    return np.ones(len(hits))


@pytest.mark.parametrize(
    ("function", "left_out"),
    [(without_docstring, {}), (with_docstring, {"cite": ""}), (with_docstring, {"example": None})],
)
def test_a_measure_without_docstring_citation_or_example_cannot_be_registered(function, left_out):
    before = dict(REGISTRY)
    with pytest.raises(MeasureError, match="needs a docstring, an example and a citation"):
        measure("Incomplete", "Incomplete", **{**COMPLETE, **left_out})(function)
    assert before == REGISTRY


def test_a_name_cannot_be_registered_twice():
    with pytest.raises(MeasureError, match="AP is already registered"):
        measure("AP", "Another", **COMPLETE)(with_docstring)


def test_a_complete_measure_can_be_registered_and_used_by_name():
    try:
        measure("Ones", "Ones", **COMPLETE, aliases=("always_one",))(with_docstring)
        scores = rs.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "Always_One")
        assert scores["run"]["q", "Ones"] == 1
    finally:
        REGISTRY.remove("Ones")
        ALIASES.remove("ones")
        ALIASES.remove("always_one")
