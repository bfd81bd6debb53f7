"""Fusion: every method and norm by hand, and reciprocal ranks against runs that somebody else fused."""

import gzip
import math
from collections import Counter
from pathlib import Path

import pytest

from rankscope.data.run import Run
from rankscope.errors import OptionError
from rankscope.systems.fusion import METHODS, NORMS, Fusion, docs_in, fuse, normalise

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "runs" / "scifact-local" / "runs"

A = [("x", 10.0), ("y", 6.0), ("z", 2.0)]
B = [("y", 0.9), ("w", 0.8), ("x", 0.1)]


def fused(*rankings, **options):
    return dict(Fusion(**options).fuse(rankings))


def test_reciprocal_ranks_by_hand():
    # x: ranks 1 and 3; y: 2 and 1; z: 3; w: 2
    assert fused(A, B) == pytest.approx({"y": 1 / 62 + 1 / 61, "x": 1 / 61 + 1 / 63, "w": 1 / 62, "z": 1 / 63})
    assert [doc for doc, _ in Fusion().fuse([A, B])] == ["y", "x", "w", "z"]
    assert fused(A, B, k=0, weights=(1, 2))["x"] == pytest.approx(1 + 2 / 3)


MINMAX = {"x": (1, 0), "y": (0.5, 1), "z": (0,), "w": (0.875,)}  # (6-2)/8; (.8-.1)/.8


@pytest.mark.parametrize(
    ("method", "combine"),
    [
        ("weighted", sum),
        ("combsum", sum),
        ("combmnz", lambda scores: sum(scores) * len(scores)),
        ("combanz", lambda scores: sum(scores) / len(scores)),
        ("combmed", lambda scores: sum(scores) / len(scores)),  # of one or two, the median is the mean
        ("combmax", max),
        ("combmin", min),
    ],
)
def test_scores_by_hand(method, combine):
    assert fused(A, B, method=method) == pytest.approx({doc: combine(scores) for doc, scores in MINMAX.items()})


def test_a_median_of_three():
    assert fused([("x", 3.0)], [("x", 1.0)], [("x", 10.0)], method="combmed", norm="none") == {"x": 3.0}


def test_weights_by_hand():
    assert fused(A, B, method="weighted", weights=(1, 3)) == pytest.approx({"x": 1, "y": 3.5, "z": 0, "w": 2.625})


def test_inverse_squared_ranks_by_hand():
    assert fused(A, B, method="isr") == pytest.approx(
        {"x": 2 * (1 + 1 / 9), "y": 2 * (1 / 4 + 1), "z": 1 / 9, "w": 1 / 4}
    )
    assert fused(A, B, method="log_isr") == pytest.approx(
        {"x": math.log(2) * 10 / 9, "y": math.log(2) * 5 / 4, "z": 0, "w": 0}
    )


def test_borda_by_hand():
    # four candidates: 4, 3, 2 points for the listed, and the one point left for the one that is not
    assert fused(A, B, method="borda") == {"x": 4 + 2, "y": 3 + 4, "z": 2 + 1, "w": 1 + 3}
    # one listed of four gets 4, the others share 3 + 2 + 1: 2 each
    assert fused([("x", 1.0)], [(doc, 1.0) for doc in "wxyz"], method="borda") == {"z": 6, "y": 5, "x": 6, "w": 3}


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("none", [10, 6, 2]),
        ("minmax", [1, 0.5, 0]),
        ("max", [1, 0.6, 0.2]),
        ("sum", [8 / 12, 4 / 12, 0]),
        ("zscore", [math.sqrt(1.5), 0, -math.sqrt(1.5)]),  # mean 6, variance 32/3
        ("rank", [1, 2 / 3, 1 / 3]),
    ],
)
def test_norms_by_hand(norm, expected):
    assert list(normalise(dict(A), norm).values()) == pytest.approx(expected)


@pytest.mark.parametrize(("norm", "value"), [("minmax", 1), ("max", 1), ("sum", 0.5), ("zscore", 0)])
def test_a_list_of_equal_scores_stays_a_list_of_equal_scores(norm, value):
    assert normalise({"x": 3.0, "y": 3.0}, norm) == {"x": value, "y": value}


def test_what_a_list_lacks_counts_as_its_lowest_not_as_its_mean():
    scores = fused(A, B, method="combsum", norm="zscore")
    low = (0.1 - 0.6) / math.sqrt((0.3**2 + 0.2**2 + 0.5**2) / 3)
    assert scores["z"] == pytest.approx(-math.sqrt(1.5) + low)


def test_a_tie_within_a_list_is_broken_as_trec_eval_does():
    assert fused([("a", 1.0), ("b", 1.0)], [], k=0) == {"b": 1.0, "a": 0.5}


BY_RANK = ("rrf", "isr", "log_isr", "borda")


@pytest.mark.parametrize(
    ("method", "norm"),
    [(method, norm) for method in METHODS for norm in (None, *NORMS) if not norm or method not in BY_RANK],
)
def test_empty_lists_are_no_trouble(method, norm):
    fusion = Fusion(method=method, norm=norm)
    assert fusion.fuse([[], []]) == []
    assert next(doc for doc, _ in fusion.fuse([A, []])) in ("x", "z")  # log_isr: all in one list, all 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rff"}, "did you mean rrf"),
        ({"method": "combsum", "norm": "min-max"}, "did you mean minmax"),
        ({"norm": "minmax"}, "rrf looks at ranks alone"),
        ({"weights": (1, 2, 3)}, "3 weights are given for 2 rankings"),
        ({"weights": (0, 0)}, "all 0"),
        ({"k": -1}, "k is -1"),
    ],
)
def test_mistakes_get_a_message_that_helps(options, message):
    with pytest.raises(OptionError, match=message):
        fused(A, B, **options)


def test_max_needs_scores_above_zero():
    with pytest.raises(OptionError, match="use minmax"):
        normalise({"x": -1.0, "y": -2.0}, "max")


def test_runs_are_fused_query_by_query():
    first = Run({"1": dict(A), "2": {"p": 1.0}}, name="first")
    second = Run({"1": dict(B), "3": {}}, name="second")
    run = fuse([first, second], name="both")
    assert run.query_ids == ("1", "2", "3")
    assert docs_in(run, "1") == Fusion().fuse([A, B])
    assert docs_in(run, "2") == [("p", 1 / 61)]
    assert docs_in(run, "3") == docs_in(run, "4") == []
    assert run.rows.rank.tolist() == [1, 2, 3, 4, 1]
    assert run.tag == "both"
    cut = fuse([first, second], depth=1)
    assert dict(docs_in(cut, "1")) == {"y": 1 / 61}
    with pytest.raises(OptionError, match="depth is 0"):
        fuse([first, second], depth=0)
    with pytest.raises(OptionError, match="one run cannot be fused"):
        fuse([first])


def by_given_rank(name):
    """Read a run as {query: {doc: rank}}, by the ranks that its file has."""
    ranks: dict = {}
    with gzip.open(SHARED / f"{name}.gz", "rt") as lines:
        for query, _, doc, rank, score, _ in map(str.split, lines):
            ranks.setdefault(query, {})[doc] = (int(rank), float(score))
    return ranks


def untied(docs):
    """Return the docs whose rank the file leaves no doubt about: no other has that score, and none was cut off."""
    counts = Counter(score for _, score in docs.values())
    return {doc for doc, (rank, score) in docs.items() if counts[score] == 1 and rank < len(docs)}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data folder is not beside the checkout")
@pytest.mark.parametrize("other", ["minilm-l6-v2", "wordllama-256"])
def test_reciprocal_ranks_of_real_runs(other):
    bm25, dense = by_given_rank("bm25-k1.2-b.75"), by_given_rank(other)
    theirs = by_given_rank(f"rrf-bm25-{other.split('-', maxsplit=1)[0]}")
    n_compared = 0
    for query, docs in theirs.items():
        ours = fused(*([(doc, -rank) for doc, (rank, _) in run[query].items()] for run in (bm25, dense)))
        for doc in docs.keys() & untied(bm25[query]) & untied(dense[query]):  # theirs saw 1000 docs, the files have 100
            assert ours[doc] == pytest.approx(docs[doc][1], abs=6e-7), (query, doc)  # printed with six decimals
            n_compared += 1
    assert n_compared > 8000
