"""Every explanation adds up: the terms of its rows are the score, and the score is the one that `evaluate` gives.

Rankings are random: ties, docs that nobody judged, docs that were pooled but not judged (grades below 0), lists shorter
than k, and queries without any list.
"""

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import RankscopeWarning
from rankscope.measures.registry import REGISTRY
from rankscope.measures.spec import Measure
from rankscope.report.explanation import ranking_table

DOCS = [f"d{i}" for i in range(16)]
"""More than ten, so that some rows are printed as one."""

# Data beyond grades. Docs 12 to 15 have no fields, no vector, and are no terms of the ontology.
FIELDS = {
    doc: {
        "topics": [f"topic {i % 3}", f"topic {i % 5}"],
        "source": f"source {i % 4}",
        "category": f"category {i % 3}",
        "group": "small" if i % 2 else "large",
        "date": f"2024-01-{1 + i * i % 9:02}",
    }
    for i, doc in enumerate(DOCS[:12])
}
VECTORS = {doc: [math.cos(i), math.sin(i), i % 3 - 1.0] for i, doc in enumerate(DOCS[:12])}
VECTORS["d7"] = VECTORS["d3"]  # a copy
PARENTS = {"d0": [], **{f"d{i}": [f"d{(i - 1) // 2}"] for i in range(1, 12)}}
SIDE_DATA = {"docs": FIELDS, "embeddings": VECTORS, "ontology": PARENTS}

VALUES = {
    "k": [1, 2, 5, 12], "recall": [0, 0.3, 1], "rel": [1, 2], "gain": ["linear", "exp2", "binary", {1: 3, 2: 9, 3: 1}],
    "beta": [0.5], "p": [0.5, 0.95], "norm": ["min"], "max_grade": [5, "query"], "mult": [0.4, 2], "rounding": ["nearest"],
    "T": [2.5], "over": ["judged"], "found": [2], "wrong": [-0.5], "missed": [-1], "alpha": [0, 0.3], "scale": ["none", "best"],
    "sim": ["resnik", "phentrieve_hybrid"], "distance": ["angular"], "threshold": [0.2], "rel_weight": [0.2],
    "weight": [0.3], "combine": ["arithmetic"], "missing": ["own", "ignore"], "judged_only": [False, False, True],
    "days": [2, 5], "reference": ["2024-01-09", "2024-02-01"],
}  # fmt: skip
NEEDED = {"k": 5, "recall": 0.3}
KEPT = {"ic", "field", "date", "group"}
"""Parameters that are not varied: they name the data above."""

POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "judged_only": st.sampled_from([False, False, True]),
        "min_rel": st.sampled_from([0, 1, 1, 2, 4]),
        "no_relevant": st.just("exclude"),
        "depth": st.sampled_from([2, 5, 100, 100]),
        "ties": st.sampled_from(["given", "ascending"]),
    },
)
GRADES = st.sampled_from([-1, 0, 0, 1, 1, 2, 3])
SUBTOPICS = st.sampled_from(["1", "2", "12"])
RETRIEVED = st.tuples(st.none() | GRADES, SUBTOPICS, st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0]))
"""A doc in the list: its grade (None is unjudged), the subtopics that it was judged for, and its score."""
MISSED = st.tuples(GRADES, SUBTOPICS)
"""A judged doc that is not in the list."""


def needed_parameters(spec):
    """Return values for the parameters without which a measure cannot be."""
    needed = {key: value for key, value in NEEDED.items() if spec.parameters.get(key) is not None}
    return {**needed, "group": "small"} if "group" in spec.parameters else needed


@st.composite
def measures_named(draw, name):
    """Return a measure with some of its parameters set."""
    spec = REGISTRY[name]
    varied = {key: st.sampled_from(VALUES[key]) for key in (*spec.parameters, "judged_only") if key not in KEPT}
    return Measure.of(spec, {**needed_parameters(spec), **draw(st.fixed_dictionaries({}, optional=varied))})


@st.composite
def cases(draw):
    """Return the judgments of one query as rows of query, subtopic, doc and grade, and its ranking with scores."""
    length = draw(st.sampled_from([0, 1, 3, 3, 7, 13]))
    retrieved = draw(st.lists(RETRIEVED, min_size=length, max_size=length))
    missed = draw(st.lists(MISSED, min_size=1, max_size=6))
    docs = iter(draw(st.permutations(DOCS)))
    judged, ranking = [], {}
    for grade, subtopics, score in retrieved:
        doc = next(docs)
        ranking[doc] = score
        judged += [(subtopic, doc, grade) for subtopic in subtopics if grade is not None]
    for (grade, subtopics), doc in zip(missed, docs, strict=False):
        judged += [(subtopic, doc, grade) for subtopic in subtopics]
    return [("q", *row) for row in judged], ranking


def printed_sum(explanation):
    """Add up the last column of the table, as a reader would."""
    return math.fsum(float(row[-1].text) for row in ranking_table(explanation).rows)


def check_explanation(judged, ranking, measure, policies):
    """Explain a query, and compare the sum of the terms with the score, and the score with that of `evaluate`."""
    rows = [*judged, ("other", "1", "d1", 2)]  # a run must answer something, also where it has no list for q
    qrels = [dict(zip(("query", "subtopic", "doc", "grade"), row, strict=True)) for row in rows]
    run = {"other": {"d1": 1.0}, **({"q": ranking} if ranking else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankscopeWarning)
        told = rs.explain(qrels, run, "q", measure, **SIDE_DATA, **policies)
        score = rs.evaluate(qrels, run, measure, **SIDE_DATA, **policies)["run"]["q", measure.name]
    assert (math.nan if told.score is None else told.score) == pytest.approx(score, abs=1e-9, nan_ok=True)
    if measure.spec.over_all_queries:  # it says that it is no sum
        assert (told.total, told.steps) == (None, ())
        return
    added = math.fsum(step.term for step in told.steps)
    assert told.total == pytest.approx(added, abs=1e-9)
    assert printed_sum(told) == pytest.approx(added, abs=1e-6 * (1 + len(told.steps)))
    if told.score is None:
        assert told.why_undefined
    else:
        assert added / (told.divisor or 1) == pytest.approx(told.score, abs=1e-9)
    if told.ideal:
        assert math.fsum(step.term for step in told.ideal) == pytest.approx(told.divisor, abs=1e-9)


@pytest.mark.parametrize("name", list(REGISTRY))
@given(data=st.data(), case=cases(), policies=POLICIES)
@settings(max_examples=40)
def test_terms_add_up_to_the_score_that_evaluate_gives(name, data, case, policies):
    judged, ranking = case
    check_explanation(judged, ranking, data.draw(measures_named(name)), policies)


@pytest.mark.parametrize("name", list(REGISTRY))
@pytest.mark.parametrize(
    ("grades", "missed"),
    [([0, 1, None, None], []), ([1, None], [2, 1, 1]), ([], [1])],
    ids=["longer than there are relevant docs", "shorter than there are relevant docs", "no list at all"],
)
def test_unjudged_docs_and_an_empty_list_have_their_rows(name, grades, missed):
    spec = REGISTRY[name]
    graded = [*zip(DOCS, [*grades, *missed], strict=False)]
    judged = [("q", "1", doc, grade) for doc, grade in graded if grade is not None]
    ranking = {doc: -float(rank) for rank, doc in enumerate(DOCS[: len(grades)])}
    check_explanation(judged, ranking, Measure.of(spec, needed_parameters(spec)), {})
