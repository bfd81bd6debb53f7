"""Rules by which several grades of a doc become one: expected grades by hand."""

from __future__ import annotations

import statistics
import uuid
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.data.tasks import again_name
from rankscope.errors import InputError, OptionError
from rankscope.store.labels import RULES, label_docs

SCALE = (0.0, 1.0, 2.0, 3.0)


def said(doc="d1", grade=1.0, *, rater="ada", **more) -> SingleJudgment:
    source = JudgmentSource("person", id=rater)
    return SingleJudgment(
        query="q1", doc=doc, source=source, grade=grade, collection="c", uuid=str(uuid.uuid4()), **more
    )


def label(rule, *grades, **more):
    given_by = {f"r{i}": float(grade) for i, grade in enumerate(grades)}
    return label_docs({("q", "d"): given_by}, rule, scale=SCALE, **more).grades["q", "d"]


@pytest.mark.parametrize(
    ("rule", "grades", "expected"),
    [
        ("lower median", (0, 3), 0),
        ("lower median", (3,), 3),
        ("lower median", (3, 1, 2), 2),
        ("lower median", (3, 1, 2, 2), 2),
        ("lower median", (0, 1, 2, 3), 1),
        ("majority", (3, 3, 0), 3),
        ("majority", (3, 0), 0),
        ("majority", (0, 0, 1, 3, 3), 0),  # of two that are as frequent the lower, also below the median
        ("mean", (0, 3), 1),  # 1.5 lies between 1 and 2
        ("mean", (1, 2, 2), 2),
        ("mean", (0, 0, 3, 3, 3), 2),  # 1.8
        ("max", (0, 3, 1), 3),
        ("latest", (3, 0, 1), 1),
        ("only", (2, 2), 2),
    ],
)
def test_a_label_by_rule(rule, grades, expected):
    assert label(rule, *grades) == expected


many = st.lists(st.sampled_from(SCALE), min_size=1, max_size=9)


@given(many)
def test_rules_equal_the_standard_library(grades):
    assert label("lower median", *grades) == statistics.median_low(grades)
    counts = Counter(grades).most_common()
    assert label("majority", *grades) == min(grade for grade, n in counts if n == counts[0][1])
    nearest = label("mean", *grades)
    assert nearest in SCALE
    assert abs(nearest - statistics.mean(grades)) <= 0.5


def test_the_trusted_rater_counts_and_else_the_lower_median():
    grades = {("q", "a"): {"x": 0.0, "y": 3.0}, ("q", "b"): {"x": 1.0, "z": 2.0}}
    found = label_docs(grades, "trusted", trusted="y")
    assert found.grades == {("q", "a"): 3.0, ("q", "b"): 1.0}
    assert found.facts["n_untrusted"] == 1
    with pytest.raises(InputError, match="it is not said which rater is trusted"):
        label_docs(grades, "trusted")
    with pytest.raises(InputError, match="no grade here: 'w'"):
        label_docs(grades, "trusted", trusted="w")


def test_the_model_outvotes_a_rater_who_turns_the_scale_around():
    """Five raters, one of whom gives 0 for 3 and 3 for 0: a doc that only this one and a good one graded is not a tie."""
    grades = {}
    for i in range(30):
        truth = 3.0 * (i % 2)
        grades["q", f"d{i:02}"] = {f"r{r}": 3.0 - truth if r == 4 else truth for r in range(5)}
    grades["q", "tie"] = {"r0": 3.0, "r4": 0.0}
    found = label_docs(grades, "dawid-skene", scale=SCALE)
    assert found.grades["q", "tie"] == 3.0
    assert label_docs(grades, "lower median").grades["q", "tie"] == 0.0
    assert found.facts["raters"] == ["r0", "r1", "r2", "r3", "r4"]
    assert found.facts["errors"][4][0][3] > 0.5


def test_the_model_needs_five_raters_with_twenty_grades_each():
    four = {("q", f"d{i}"): {f"r{r}": 1.0 for r in range(4)} for i in range(30)}
    with pytest.raises(InputError, match="needs 5 raters with 20 grades each, but there are 4"):
        label_docs(four, "dawid-skene")
    few = {**four, ("q", "d0"): {f"r{r}": 1.0 for r in range(5)}}
    with pytest.raises(InputError, match="but r4 has 1"):
        label_docs(few, "dawid-skene")


def test_unknown_rules_are_refused(store):
    with pytest.raises(OptionError, match="is not one of lower median, majority"):
        label("mode", 1)
    store.judgments.add(said())
    with pytest.raises(OptionError, match="is not one of"):
        store.judgments.to_qrels("c", rule="mode")
    with pytest.raises(OptionError, match="is for people"):
        store.judgments.to_qrels("c", kind="judge", rule="dawid-skene")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in ("trusted", "dawid-skene")])
def test_every_rule_makes_qrels_of_one_grade(store, rule):
    store.judgments.add(said(grade=2.0, scale=SCALE))
    assert store.qrels.judgments(store.judgments.to_qrels("c", rule=rule))["q1"] == {"d1": 2.0}


def test_of_a_rater_who_judged_again_the_newest_counts_and_as_the_latest(store):
    store.judgments.add([said(grade=0.0), said(grade=1.0, rater="bo"), said(grade=3.0)])
    assert store.qrels.judgments(store.judgments.to_qrels("c", rule="latest"))["q1"] == {"d1": 3.0}
    trusted = store.judgments.to_qrels("c", rule="trusted", trusted="bo")
    assert store.qrels.judgments(trusted)["q1"] == {"d1": 1.0}


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (("2026-06-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00"), 3.0),
        (("2026-06-01T00:00:00+00:00", "2026-06-01T01:00:00+02:00"), 3.0),  # that is 23 h in UTC, the day before
        (("2026-06-01T00:00:00+00:00", "2026-06-01T00:00:00"), 0.0),  # the same moment: the last that came
        (("2026-06-01T00:00:00+00:00", None), 0.0),
    ],
)
def test_the_latest_grade_is_that_of_the_latest_time(store, times, expected):
    store.judgments.add([said(grade=3.0, rater="ada", at=times[0]), said(grade=0.0, rater="bo", at=times[1])])
    assert store.qrels.judgments(store.judgments.to_qrels("c", rule="latest"))["q1"] == {"d1": expected}


def test_means_are_rounded_to_the_scale_that_judgments_name(store):
    store.judgments.add([said(grade=0.0, scale=SCALE), said(grade=3.0, rater="bo", scale=SCALE)])
    assert store.qrels.judgments(store.judgments.to_qrels("c", rule="mean"))["q1"] == {"d1": 1.0}


def test_docs_shown_a_second_time_and_known_grades(store):
    store.judgments.add([said(grade=1.0, task="7"), said(grade=3.0, task=again_name("7")), said("d2", 0.0, task="7")])
    made = store.judgments.to_qrels("c", rule="lower median", known={("q1", "d2"): 2.0, ("q9", "x"): 1.0})
    assert store.qrels.judgments(made)["q1"] == {"d1": 1.0, "d2": 2.0}
    assert made.facts["n_known"] == 1
    assert "q9" not in store.qrels.judgments(made)
