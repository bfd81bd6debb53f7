"""Hybrid search and the tuning of its weights."""

import pytest

from rankscope.errors import OptionError
from rankscope.systems.base import ListDocs, Query
from rankscope.systems.function import PythonFunction
from rankscope.systems.fusion import Fusion
from rankscope.systems.hybrid import Hybrid

A = {"x": 10.0, "y": 6.0, "z": 2.0}
B = {"y": 0.9, "w": 0.8, "x": 0.1}
QUERIES = [Query("1", "one"), Query("2", "two")]


def systems():
    return [PythonFunction(name="a", function=lambda text: A), PythonFunction(name="b", function=lambda text: B)]


def test_rankings_are_fused():
    hybrid = Hybrid(of=systems(), method="combsum")
    hybrid.fit(ListDocs([]))
    expected = Fusion(method="combsum").fuse([list(A.items()), list(B.items())])
    assert hybrid.search(QUERIES, k=10) == [expected, expected]
    assert hybrid.search(QUERIES, k=2) == [expected[:2], expected[:2]]


def test_systems_are_asked_for_the_depth_even_where_fewer_docs_are_wanted():
    asked = []

    def remember(text, k):
        asked.append(k)
        return A

    of = [PythonFunction(function=remember), PythonFunction(function=remember)]
    Hybrid(of=of, depth=50).search(QUERIES[:1], k=5)
    Hybrid(of=of, depth=50).search(QUERIES[:1], k=70)
    assert asked == [50, 50, 70, 70]


def test_all_weights_are_tried_that_add_up_to_one():
    two = Hybrid(of=systems(), method="weighted", weights="tune", step=0.5).tune(QUERIES, len)
    assert sorted(two) == [(0, 1), (0.5, 0.5), (1, 0)]
    tried = []
    of = [*systems(), systems()[0]]
    three = Hybrid(of=of, method="weighted", weights="tune", step=0.25).tune(
        QUERIES, lambda fused: tried.append(1) or 1
    )
    assert len(three) == len(tried) == 15  # 6 choose 2
    assert all(sum(weights) == 1 for weights in three)


def test_weights_are_tuned_on_the_queries_given():
    hybrid = Hybrid(of=systems(), method="weighted", weights="tune", step=0.25)
    assert hybrid.needs_tuning
    with pytest.raises(OptionError, match="have not been tuned"):
        hybrid.search(QUERIES, k=3)
    seen = set()

    def reciprocal_rank_of_w(rankings):
        """Favour the weights that put w, which b alone has, first."""
        seen.update(rankings)
        return sum(1 / (1 + [doc for doc, _ in ranking].index("w")) for ranking in rankings.values()) / len(rankings)

    curve = hybrid.tune(QUERIES[:1], reciprocal_rank_of_w)
    # by hand, with weight v for b: y = .5(1-v) + v, w = .875v, x = 1-v, z = 0. Of these v, w stays behind y, but is
    # before x where .875v > 1-v, that is from v = .75 on: ranks 4 (tied with y at 0; y has the higher id), 3, 3, 2, 2
    assert curve == {(1, 0): 1 / 4, (0.75, 0.25): 1 / 3, (0.5, 0.5): 1 / 3, (0.25, 0.75): 1 / 2, (0, 1): 1 / 2}
    assert not hybrid.needs_tuning
    assert hybrid.fusion.weights == (0.25, 0.75)
    assert hybrid.describe()["tuned_weights"] == [0.25, 0.75]
    assert seen == {"1"}
    assert [doc for doc, _ in hybrid.search(QUERIES, k=2)[1]] == ["y", "w"]


def test_of_equally_good_weights_the_most_even_are_taken():
    hybrid = Hybrid(of=systems(), method="weighted", weights="tune", step=0.2)
    hybrid.tune(QUERIES[:1], lambda rankings: 1.0)
    assert hybrid.tuned_weights == (0.6, 0.4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": systems()[:1]}, "at least two systems"),
        ({"weights": [1, 2, 3]}, "3 weights are given for 2"),
        ({"weights": "tuned"}, "neither numbers nor 'tune'"),
        ({"method": "rff"}, "did you mean rrf"),
        ({"depth": 0}, "depth is 0"),
    ],
)
def test_mistakes_are_told_when_the_system_is_made(options, message):
    with pytest.raises(OptionError, match=message):
        Hybrid(**{"of": systems(), **options})


def test_describes_its_parts():
    described = Hybrid(of=systems(), weights=[1, 2]).describe()
    assert [part["type"] for part in described["of"]] == ["python", "python"]
    assert described["weights"] == [1, 2]
    assert described["k"] == 60, "Cormack et al. 2009: a record holds the constant also where none was given"
    assert Hybrid(of=systems(), k=5).describe()["k"] == 5
    assert Hybrid(of=systems(), method="borda").describe()["k"] is None


def test_weights_cannot_be_tuned_without_queries():
    with pytest.raises(OptionError, match="without training queries"):
        Hybrid(of=systems(), weights="tune").tune([], len)
