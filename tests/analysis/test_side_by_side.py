"""Two rankings of one query beside one another: every number by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.data.texts import Texts, beginning

QRELS = {"q": {"a": 3, "b": 1, "c": 0, "z": 2}}
OLD = {"q": ["x", "b", "c", "a"]}
NEW = {"q": ["a", "b", "y", "x"]}


def log2(rank: int) -> float:
    return math.log2(rank + 1)


def test_contributions_add_up_to_the_scores_and_moves_are_seen_from_the_first_list() -> None:
    found = rs.side_by_side(QRELS, OLD, NEW, "q", "nDCG@10", n_shown=3)
    ideal = 3 / log2(1) + 2 / log2(2) + 1 / log2(3)
    assert found.a.score == pytest.approx((1 / log2(2) + 3 / log2(4)) / ideal)
    assert found.b.score == pytest.approx((3 / log2(1) + 1 / log2(2)) / ideal)
    assert [(doc.doc, doc.grade, doc.other_rank, doc.move) for doc in found.a.docs] == [
        ("x", None, 4, "lost"),  # it is there, but not among those that are shown
        ("b", 1.0, 2, "same"),
        ("c", 0.0, None, "lost"),
    ]
    assert [(doc.doc, doc.other_rank, doc.move) for doc in found.b.docs] == [
        ("a", 4, "new"),
        ("b", 2, "same"),
        ("y", None, "new"),
    ]
    assert [doc.adds for doc in found.b.docs] == pytest.approx([3 / ideal, 1 / log2(2) / ideal, 0.0])
    assert found.missed == ("z",)
    assert [(one.doc, one.rank_a, one.rank_b) for one in found.changes] == [("a", 4, 1)]  # b stays where it is
    assert math.fsum(one.change for one in found.changes) == pytest.approx(found.difference)
    assert rs.SideBySide.from_json(found.to_json()) == found


@given(
    st.permutations("abcdefgh"),
    st.permutations("abcdefgh"),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3)),
)
@settings(deadline=None, max_examples=50)
def test_what_docs_add_is_the_score(old: list[str], new: list[str], grades: dict[str, int]) -> None:
    qrels = {"q": {"a": 1, **grades}}
    found = rs.side_by_side(qrels, {"q": old}, {"q": new}, "q", "AP", n_shown=8)
    by_evaluate = rs.evaluate(qrels, {"old": {"q": old}, "new": {"q": new}}, "AP")
    assert math.fsum(one.change for one in found.changes) == pytest.approx(found.difference, abs=1e-9)
    for shown, name in ((found.a, "old"), (found.b, "new")):
        assert math.fsum(doc.adds for doc in shown.docs) == pytest.approx(by_evaluate[name]["q", "AP"])


def test_words_stand_for_ids() -> None:
    docs = {"a": {"title": "Heart", "body": "The heart is a muscle."}, "x": {"text": "no title " * 30}}
    found = rs.side_by_side(QRELS, OLD, NEW, "q", queries={"q": "Heart muscle of a\n horse"}, docs=docs)
    assert found.query_text == "Heart muscle of a horse"
    first = found.b.docs[0]
    assert (first.title, first.snippet) == ("Heart", ())  # `text` is the better name, and `a` has none
    assert found.a.docs[0].title.startswith("no title no title")
    assert found.a.docs[0].title.endswith("…")


def test_a_snippet_shows_where_the_words_are() -> None:
    body = "word " * 200 + "the Heart, a muscle; " + "tail " * 200
    snippet = Texts({"q": "heart muscle"}, {}, {"d": body}).snippet("q", "d", 100)
    text = "".join(piece for piece, _ in snippet)
    assert [piece for piece, is_word in snippet if is_word] == ["Heart", "muscle"]
    assert len(text) <= 102
    assert text.startswith("…")
    assert text.endswith("…")


@given(st.text(max_size=300), st.text(max_size=40), st.integers(10, 120))
@settings(deadline=None)
def test_marks_are_words_of_the_query(body: str, query: str, length: int) -> None:
    snippet = Texts({"q": query}, {}, {"d": body}).snippet("q", "d", length)
    asked = query.casefold()
    assert all(piece.casefold() in asked for piece, is_word in snippet if is_word)
    text = "".join(piece for piece, _ in snippet).strip("…")
    assert len(text) <= length
    assert text in " ".join(body.split())


def test_a_beginning_ends_with_a_word_where_one_ends_near() -> None:
    assert beginning("one two three", 40) == "one two three"
    assert beginning("one two three four", 14) == "one two three…"
    assert beginning("a " + "b" * 50, 10) == "a bbbbbbb…"


def test_measures_that_docs_have_no_share_in_are_refused() -> None:
    with pytest.raises(rs.MeasureError, match="docs have no share"):
        rs.side_by_side(QRELS, OLD, NEW, "q", "ILD@10")
    with pytest.raises(rs.MeasureError, match="one measure at a time"):
        rs.side_by_side(QRELS, OLD, NEW, "q", ["AP", "RR"])
