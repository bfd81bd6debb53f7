"""Bands: the predecessors' tables without gaps, tables of one's own, and the words beside scores.

The limits are those of the predecessors' documents (shared/predecessors, MEASURES.md section 4, rows 25 and 26).
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.analysis.bands import BANDS, Band, band_of, find_bands, in_one_line, parse_bands
from rankscope.errors import MeasureError, OptionError
from rankscope.measures.registry import REGISTRY
from rankscope.report.evaluation import load_bands

OURS = """\
description = "what our shop calls good"

[bands]
"NDCG@10" = [[0, 0.4, "weak"], [0.4, 0.7, "fine"], [0.7, 1, "great"]]
nDCG = [[0.5, 1, "upper half"], [0, 0.5, "lower half"]]
best_position = [[1, 4, "seen"], [4, inf, "overlooked"]]
"""


@pytest.mark.parametrize(
    ("profile", "measure", "score", "word"),
    [
        ("doctor-search", "nDCG@5", 0.8, "very good"),
        ("doctor-search", "nDCG@5", 0.7999, "good"),
        ("doctor-search", "nDCG", 0.5, "good"),
        ("doctor-search", "nDCG", 0.49, "poor"),
        ("doctor-search", "nDCG", 1.0, "perfect"),
        # its example of SVT ablation: good precision, moderate recall and MRR, good nDCG
        ("doctor-search", "P@3", 2 / 3, "good"),
        ("doctor-search", "R@5", 0.60, "moderate"),
        ("doctor-search", "MRR", 0.5, "moderate"),
        ("doctor-search", "nDCG@5", 0.75, "good"),
        ("doctor-search", "P@5", 1.0, "perfect"),
        ("doctor-search", "R@3", 0.0, "zero"),
        ("doctor-search", "RR", 0.33, "poor"),
        # podcast coverage: 1.0 maximum diversity, 0.5 two results per podcast, 0.1 low diversity
        ("podcast", "Distinct(field='podcast_id')", 1.0, "maximum"),
        ("podcast", "podcast_coverage", 0.5, "medium"),
        ("podcast", "podcast_coverage", 0.1, "low"),
        ("podcast", "result_uniqueness", 1.0, "full"),
        ("podcast", "result_uniqueness", 0.8, "reduced by duplicates"),
        ("podcast-release", "Uniqueness", 1.0, "excellent"),
        ("podcast-release", "Uniqueness", 0.99, "below target"),
        ("podcast", "nDCG@10", 0.85, "excellent"),
        ("podcast-release", "nDCG@10", 0.85, "good"),
        ("podcast", "nDCG@10", 0.6, "good"),
        ("podcast-release", "nDCG@10", 0.6, "poor"),
        ("podcast-release", "nDCG@10", 0.75, "fair"),
        ("podcast", "P@10", 0.6, "good"),
        ("podcast-release", "P@10", 0.55, "fair"),
        ("podcast", "RR", 0.5, "below target"),
        ("podcast", "MRR@10", 0.7, "good"),
        ("rag", "nDCG@10", 0.7123, "very good"),
        ("rag", "nDCG@10", 0.9, "excellent"),
        ("rag", "nDCG@10", 0.3, "fair"),
        ("rag", "nDCG@10", 0.29, "poor"),
        ("rag", "Recall@10", 0.8, "excellent"),
        ("rag", "R@10", 0.39, "poor"),
        ("rag", "MAP@100", 0.5, "good"),
    ],
)
def test_words_of_the_documents(profile, measure, score, word):
    assert band_of(score, measure, profile).word == word


@pytest.mark.skipif("ILD" not in REGISTRY, reason="the measures by embedding are not in this build")
def test_the_gap_in_semantic_diversity_is_closed():
    assert band_of(0.85, "ILD@10", "podcast") == Band(0.6, 0.9, "diverse")
    assert band_of(0.9, "ILD@10", "podcast").word == "very different"
    assert band_of(0.85, "ILD@10", "rag").word == "high"
    assert band_of(1.7, "ILD@10", "podcast").word == "very different"  # cosine distances go up to 2


def test_a_cut_off_of_its_own_is_for_that_cut_off_alone():
    assert band_of(0.9, "P@5", "podcast") is None
    assert band_of(0.9, "nDCG@5", "rag") is None
    assert band_of(0.9, "P(rel=2)@10", "podcast").word == "good"


@pytest.mark.parametrize("score", [math.nan, -0.1, 1.1])
def test_no_word_for_what_is_not_a_score(score):
    assert band_of(score, "nDCG@10", "rag") is None


def test_rounding_does_not_cost_the_top_word():
    assert band_of(1.0000000000000002, "nDCG@10", "rag").word == "excellent"


@pytest.mark.parametrize("profile", BANDS.values(), ids=lambda profile: profile.name)
def test_bands_follow_one_another_over_the_whole_range(profile):
    for name, bands in profile.bands.items():
        assert all(band.low < band.high for band in bands[1:-1])
        assert all(band.low <= band.high for band in (bands[0], bands[-1]))  # 0 or 1 may have a word of its own
        assert all(one.high == other.low for one, other in itertools.pairwise(bands))
        base = name.partition("@")[0]
        if base in REGISTRY:  # families of measures may come as plugins
            assert (bands[0].low, bands[-1].high) == REGISTRY[base].range
    assert profile.notes, "what was repaired is told"


def test_a_band_in_words():
    assert str(Band(0.7, 0.9, "very good")) == "very good, 0.7-0.9"
    assert str(Band(4, math.inf, "overlooked")) == "overlooked, 4+"
    assert str(Band(1, 1, "perfect")) == "perfect, 1"


def test_one_line_in_words():
    """The doctor search's example: 2 of 3, 3 of 5, first at rank 2; its nDCG of .75 is impossible, .51 is good, too."""
    qrels, run = {"SVT": list("abcde")}, {"SVT": ["x", "a", "b", "y", "c"]}
    scores = rs.evaluate(qrels, run, "P@3 R@5 RR nDCG@5 Judged@3")["run"]
    line = "good precision@3, moderate recall@5, moderate reciprocal rank, good nDCG@5"
    assert in_one_line(scores, find_bands("doctor-search")) == line
    assert rs.diagnose(qrels, run, k=5, bands="doctor-search").in_words == (
        "moderate precision@5, moderate recall@5, moderate reciprocal rank, good nDCG@5"
    )
    diverse = rs.evaluate({"q": ["a"]}, {"q": ["a", "b"]}, "ILD P@10", embeddings={"a": [1, 0], "b": [1, 0.1]})["run"]
    assert in_one_line(diverse, find_bands("podcast")) == "very similar content, precision@10 below target"


def test_a_word_for_the_best_score_alone(toml):
    ours = load_bands(toml('[bands]\nP = [[0, 0, "none"], [0, 1, "some"], [1, 1, "all"]]\n'))
    assert [band_of(score, "P@5", ours).word for score in (0, 0.2, 1)] == ["none", "some", "all"]


@pytest.fixture
def toml(tmp_path):
    """Return a function that writes a TOML file and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "ours.toml"
        path.write_text(text)
        return str(path)

    return write


def test_bands_of_ones_own(toml):
    ours = load_bands(toml(OURS))
    assert (ours.name, ours.description) == ("ours", "what our shop calls good")
    assert band_of(0.4, "nDCG@10", ours).word == "fine"
    assert band_of(0.4, "nDCG@5", ours).word == "lower half"
    assert band_of(1, "FirstRel", ours).word == "seen"
    assert band_of(900, "FirstRel", ours).word == "overlooked"
    assert band_of(0.4, "P@5", ours) is None


@pytest.mark.parametrize(
    ("bands", "problem", "hint"),
    [
        ('[[0, 0.4, "a"], [0.5, 1, "b"]]', "no word from 0.4 to 0.5, between 'a' and 'b'", "end 'a' at 0.5"),
        ('[[0, 0.6, "a"], [0.5, 1, "b"]]', r"'a' \(0-0.6\) and 'b' \(0.5-1\) overlap", "end 'a' at 0.5"),
        ('[[0.2, 1, "a"]]', "no word below 0.2, but scores start at 0", "start 'a' at 0"),
        ('[[0, 0.9, "a"]]', "no word above 0.9, but scores go up to 1", "end 'a' at 1"),
        ("[[0, 1]]", r"is not \[low, high, word\]", "bands"),
        ('[[0, 1, ""]]', r"is not \[low, high, word\]", "bands"),
        ('[[0, 0.5, "a"], [0.5, 0.5, "b"], [0.5, 1, "c"]]', "does not go from a number up to a larger one", "bands"),
        ('[[1, 0, "a"]]', "does not go from a number up to a larger one", "bands"),
        ('[["0", 1, "a"]]', "does not go from a number", "bands"),
        ("[]", "bands are a list", "bands"),
        ("0.5", "bands are a list", "bands"),
    ],
)
def test_bands_that_will_not_do(toml, bands, problem, hint):
    with pytest.raises(OptionError, match=problem) as raised:
        load_bands(toml(f"[bands]\nnDCG = {bands}\n"))
    assert hint in raised.value.hint
    assert raised.value.message.startswith("ours: nDCG: ")


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ('[bands]\nnDGC = [[0, 1, "a"]]', "there is no measure 'nDGC'", "did you mean nDCG"),
        ('[bands]\nndcg_burges = [[0, 1, "a"]]', "is a form of nDCG", "write nDCG"),
        ('[bands]\n"Bpref@10" = [[0, 1, "a"]]', "gives a cut-off", "leave it out"),
        ('[bands]\n"nDCG@0" = [[0, 1, "a"]]', "k = '0' is not valid", ""),
    ],
)
def test_measures_that_will_not_do(toml, text, problem, hint):
    with pytest.raises(MeasureError, match=problem) as raised:
        load_bands(toml(text))
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[bands]\nnDCG@10 = 1", "is not TOML"),
        ("", "there are no bands"),
        ("[band]\nnDCG = 1", "there is no setting 'band'"),
        ('[bands]\nnDCG = [[0, 1, "a"]]\nNDCG = [[0, 1, "a"]]', "nDCG has bands twice, here as 'NDCG'"),
    ],
)
def test_files_that_will_not_do(toml, text, problem):
    with pytest.raises(OptionError, match=problem):
        load_bands(toml(text))


def test_unknown_bands():
    with pytest.raises(OptionError, match="there are no bands 'podcasts'") as raised:
        find_bands("podcasts")
    assert raised.value.hint.startswith("did you mean podcast")
    with pytest.raises(OptionError, match="cannot read"):
        load_bands(str(Path("nowhere") / "ours.toml"))


def test_a_record_may_name_itself():
    assert parse_bands({"name": "shop", "bands": {"AP": [[0, 1, "any"]]}}, name="file").name == "shop"
