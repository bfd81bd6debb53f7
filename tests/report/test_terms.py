"""Terms are found where they stand, whole and only as words, and each has a meaning."""

import pytest

from rankscope.report.terms import TERMS, meaning, measure_meaning, split_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("p (adj.)", ["p (adj.)"]),
        ("W / T / L", ["won / tied / lost"]),
        ("effect d_z", ["d_z"]),
        ("more than your margin of 0.01 (95% CI 0.01 to 0.07)", ["margin", "confidence interval"]),
        ("simultaneous 95% CI", ["confidence interval"]),
        ("marginal and unmarginal, bid_z, d_zero", []),
        ("", []),
    ],
)
def test_terms_are_found_as_words(text, terms):
    pieces = list(split_terms(text))
    assert "".join(piece for piece, _ in pieces) == text
    assert [term for _, term in pieces if term] == terms


@pytest.mark.parametrize("name", TERMS)
def test_a_meaning_is_a_sentence_on_one_line(name):
    assert meaning(name).endswith(".")
    assert meaning(name) == " ".join(meaning(name).split())
    assert len(meaning(name)) < 260


def test_measures_are_explained_by_their_own_words():
    assert measure_meaning("nDCG@10").startswith("Normalised discounted cumulative gain. Answers: how close")
    assert measure_meaning("system") == measure_meaning("a@10 b") == measure_meaning("nosuchmeasure@10") == ""
